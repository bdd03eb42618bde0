"""Options of a compilation, and the one place that reads the environment."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ..compiler.errors import BudgetError
from ..compiler.trace.locate import locate

LIMIT_VARIABLE = "WENGERT_MAX_SPECIALIZATIONS"
CACHE_VARIABLE = "WENGERT_CACHE_DIR"
THREADS_VARIABLE = "WENGERT_NUM_THREADS"
TARGETS = ("auto", "numpy", "native", "cupy")


@dataclass(frozen=True)
class Options:
    """How to compile.

    Attributes:
        target: what is emitted; ``"numpy"``, ``"native"`` for compiled C, ``"cupy"`` for a GPU, or
            ``"auto"``: ``"cupy"`` where an argument is an array of CuPy's, else ``"numpy"``.
        lane: ``"scalar"`` for straight-line code on floats, ``"array"``, or ``"auto"`` by an
            estimate of cost.
        accuracy: of compiled functions; ``"fast"`` or ``"strict"``.
        deterministic: whether programs for the GPU give the same bits at every run.
        annotate: whether the user's lines stand in the source as comments.
        max_specializations: branch paths kept for one signature before tracing at each call.
        memory: bytes that a program may have in use, results included and arguments not; a float
            is a fraction of what it would have otherwise, and None leaves it free.
    """

    target: str = "auto"
    lane: str = "auto"
    annotate: bool = True
    accuracy: str = "fast"
    deterministic: bool = True
    max_specializations: int = int(os.environ.get(LIMIT_VARIABLE, "32"))
    memory: int | float | None = None

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise ValueError(f"target={self.target!r} is not available; use \"numpy\", "
                             "\"native\" or \"cupy\".")
        if self.lane not in ("auto", "scalar", "array"):
            raise ValueError(f"lane={self.lane!r} is not one of auto, scalar and array.")
        if self.accuracy not in ("fast", "strict"):
            raise ValueError(f"accuracy={self.accuracy!r} is neither fast nor strict.")
        if self.memory is not None and self.target not in ("auto", "numpy"):
            raise ValueError(f"memory= plans NumPy code, not target={self.target!r}.")


def cache_folder() -> Path:
    """Where compiled libraries are to be kept."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "wengert"


def compiler_command() -> list[str]:
    """The C compiler the user names."""
    return os.environ.get("CC", "").split()


def thread_count() -> int:
    """Threads for large kernels: as the user says, or as many as there are processors."""
    given = os.environ.get(THREADS_VARIABLE, "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_UNITS = {"": 1, "KB": 10 ** 3, "MB": 10 ** 6, "GB": 10 ** 9, "KIB": 2 ** 10, "MIB": 2 ** 20,
          "GIB": 2 ** 30}
_AMOUNT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(?:([KMG]i?B)|B)?", re.IGNORECASE)


def parse_memory(memory: str | int | float | None) -> int | float | None:
    """Bytes of ``"64 MiB"`` or an integer; a fraction between 0 and 1 as it is.

    Raises:
        BudgetError: for anything else.

    >>> parse_memory("64 MiB"), parse_memory("1.5 kB"), parse_memory(0.25)
    (67108864, 1500, 0.25)
    """
    if memory is None:
        return None
    if isinstance(memory, str):
        found = _AMOUNT.fullmatch(memory.strip())
        if found is not None:
            return int(float(found[1]) * _UNITS[(found[2] or "").upper()])
    elif isinstance(memory, float):
        if 0.0 < memory <= 1.0:
            return memory
    elif isinstance(memory, int) and not isinstance(memory, bool) and memory > 0:
        return memory
    raise BudgetError(f"memory={memory!r} is no amount of memory.",
                      'Write memory="64 MiB", a number of bytes, or a fraction of what the '
                      "program takes without a budget, memory=0.25.", locate())
