"""Texts of kernels from earlier processes, beside the compiled libraries.

A text's name is a hash of what it was printed from, and of all of this library's code that has a
part in it: another version never finds it. What is damaged is not found either.
"""

import hashlib
import os
from functools import cache
from pathlib import Path

import numpy as np

_ROOT = Path(__file__).parent.parent


class FolderShelf:
    """Texts as files of the cache."""

    def get(self, key: str) -> str | None:
        """The text that was put there, if it was and nobody changed it."""
        path = _path(key)
        try:
            content = path.read_bytes() if path is not None else b""
        except OSError:
            return None
        digest, text = content[:32], content[32:]
        return text.decode() if hashlib.sha256(text).digest() == digest else None

    def put(self, key: str, text: str) -> None:
        """Keep a text, if the folder lets us."""
        path = _path(key)
        if path is None:
            return
        body = text.encode()
        part = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            part.write_bytes(hashlib.sha256(body).digest() + body)
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)


SHELF = FolderShelf()


def _path(key: str) -> Path | None:
    # Only functions that are compiled get here.
    from .load_c import folder  # noqa: PLC0415
    code = _code()
    if code is None:
        return None
    name = hashlib.sha256(f"{code} {np.__version__}\n{key}".encode()).hexdigest()[:32]
    return folder() / f"{name}.text"


@cache
def _code() -> str | None:
    """A hash of the code that makes kernels; None where it is in no files."""
    total = hashlib.sha256()
    for part in ("compiler", "codegen"):
        paths = [p for kind in ("*.py", "*.j2") for p in (_ROOT / part).rglob(kind)]
        if not paths:
            return None
        for path in sorted(paths):
            total.update(os.fsencode(path.relative_to(_ROOT)) + b"\0" + path.read_bytes())
    return total.hexdigest()
