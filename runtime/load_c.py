"""Compiling C text with the machine's compiler, and loading it: all effects of native code.

Libraries are kept in a folder of the user's own, named by a hash of everything they depend on (the
text, the compiler, its flags, the processor), written under another name first and then renamed,
with a digest at their end: two processes may build the same one, and a damaged one is built anew.
"""

import atexit
import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..codegen.source import KernelCall, Source
from ..compiler.errors import NoCompilerError
from .options import cache_folder, compiler_command
from .threads import MODULE, num_threads

FLAGS = ("-O3", "-march=native", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math",
         "-ffp-contract=off", "-fwrapv")
# sin and cos of one argument must not become one call of sincos, which has no vector version; no
# iterations may be peeled off for alignment, since results would then depend on addresses.
GCC_FLAGS = ("-fno-builtin-sin", "-fno-builtin-cos", "-fno-builtin-sinf", "-fno-builtin-cosf",
             "--param=vect-max-peeling-for-alignment=0")
# The compiler's time grows faster than the text: long loops get no vectorised rest, the longest
# no costly passes (SIMD stays, and sums over its lanes are written out).
LONG, LONGEST = 300, 800                # lines
_SUPPORT = Path(__file__).with_name("native_support.c")
_MARK = b"wengert"
_LOCK = threading.RLock()


class _Damaged(Exception):
    """A library in the cache is not what was written there."""


def load_kernels(source: Source) -> dict[str, Callable[..., Any]]:
    """The kernels of a module by name, compiled now unless they are in the cache.

    Raises:
        NoCompilerError: if there is no C compiler.
    """
    with _LOCK:
        flags = list(FLAGS)
        libraries = ["-lm"]
        if sys.platform == "linux" and "VECTOR" in source.c:
            libraries = ["-lmvec", "-lm"] if os.uname().machine == "x86_64" else libraries
        pending = _start_support()
        path = _library(source.c, flags, libraries, processor())
        support = _support(pending)
        return {call.name: _bound(support, path, call) for call in source.kernels}


def _bound(support: Any, path: Path, call: KernelCall) -> Callable[..., Any]:
    def kinds(types: Any) -> tuple[tuple[int, int, int, tuple[int, ...]], ...]:
        return tuple((np.dtype(name).num, int(shape == ()), int(weak), shape)
                     for name, shape, weak in types)
    kernel: Callable[..., Any] = support.bind(os.fspath(path), call.name, kinds(call.inputs),
                                              kinds(call.outputs), call.scratch, call.work)
    return kernel


# -- the folder -------------------------------------------------------------------------------


@cache
def folder() -> Path:
    """Where libraries are kept: nobody else may write there. A temporary one if need be."""
    wanted = cache_folder()
    try:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = wanted.stat()
        safe = state.st_uid == os.getuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if safe and os.access(wanted, os.R_OK | os.W_OK | os.X_OK):
            return wanted
    except OSError:
        pass
    return _temporary()


@cache
def _temporary() -> Path:
    made = Path(tempfile.mkdtemp(prefix="wengert-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def _read(path: Path) -> None:
    """Check the digest at a library's end."""
    content = path.read_bytes()
    body, tail = content[:-len(_MARK) - 32], content[-len(_MARK) - 32:]
    if not tail.startswith(_MARK) or hashlib.sha256(body).digest() != tail[len(_MARK):]:
        raise _Damaged(path)


def _finish(built: Path, path: Path) -> None:
    """Add the digest to what was built, and give it its name."""
    body = built.read_bytes()
    built.write_bytes(body + _MARK + hashlib.sha256(body).digest())
    built.chmod(0o700)
    os.replace(built, path)


# -- the compiler -----------------------------------------------------------------------------


def compiler() -> tuple[str, ...]:
    """The C compiler's command.

    Raises:
        NoCompilerError: if none is found.
    """
    return _found(tuple(compiler_command()))


@cache
def _found(named: tuple[str, ...]) -> tuple[str, ...]:
    usual = (str(sysconfig.get_config_var("CC") or "cc").split()[:1], ["gcc"], ["cc"], ["clang"])
    for command in [named] if named else usual:
        if command and (found := shutil.which(command[0])):
            return (found, *command[1:])
    missing = f"{named[0]}, which CC names, was not found" if named else \
        "none was found (looked for gcc, cc and clang)"
    raise NoCompilerError(
        f"target=\"native\" needs a C compiler, and {missing}.",
        "Install one (Debian and Ubuntu: apt install gcc; Fedora: dnf install gcc; "
        "macOS: xcode-select --install), name it in CC, or use target=\"numpy\".")


def compiler_identity() -> str:
    """What changes when the compiler does."""
    state = Path(compiler()[0]).resolve().stat()
    return f"{compiler()} {state.st_size} {state.st_mtime_ns}"


@cache
def processor() -> str:
    """What ``-march=native`` depends on."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            text = file.read(1 << 15)           # the first processor says it
    except OSError:
        return " ".join(os.uname()[4:])
    first = text.split("\n\n")[0]
    wanted = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU part")
    return "\n".join(line for line in first.splitlines() if line.startswith(wanted))


def _library(text: str, flags: Sequence[str], libraries: Sequence[str], key: str) -> Path:
    """The library of a C text, from the cache or built."""
    lines = text.count("\n")
    if lines > LONGEST:
        flags = ["-O1", *[f for f in flags if not f.startswith("-O")]]
    if "clang" not in Path(compiler()[0]).name:
        flags = [*flags, *GCC_FLAGS, *(["--param=vect-epilogues-nomask=0"] * (lines > LONG)),
                 *(["-fpeel-loops"] * (lines > LONGEST))]
    name = hashlib.sha256("\0".join(
        [text, compiler_identity(), *flags, *libraries, key]).encode()).hexdigest()[:32]
    path = folder() / f"{name}.so"
    if _is_there(path):
        return path
    _wait(_start(text, flags, libraries, path), path)
    return path


def _is_there(path: Path) -> bool:
    try:
        _read(path)
    except (OSError, _Damaged):
        return False
    return True


def _start(text: str, flags: Sequence[str], libraries: Sequence[str], path: Path
           ) -> tuple[subprocess.Popen[bytes], Path]:
    """Begin to compile."""
    handle, built = tempfile.mkstemp(prefix=f"{path.stem}-", suffix=".tmp", dir=path.parent)
    os.close(handle)
    command = [*compiler(), *flags, "-fPIC", "-shared", "-x", "c", "-", "-o", built, *libraries]
    environment = {**os.environ, "LC_ALL": "C"}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env=environment)
    assert process.stdin is not None
    process.stdin.write(text.encode())
    process.stdin.close()
    process.stdin = None
    return process, Path(built)


def _wait(begun: tuple[subprocess.Popen[bytes], Path], path: Path) -> None:
    process, built = begun
    said, _ = process.communicate()
    if process.returncode != 0:
        built.unlink(missing_ok=True)
        raise NoCompilerError(
            f"The C compiler {compiler()[0]} failed:\n{said.decode(errors='replace').strip()}\n",
            "Name another compiler in CC, install the headers of Python (Debian and Ubuntu: apt "
            "install python3-dev) if Python.h is missing, or use target=\"numpy\".")
    _finish(built, path)


# -- the support module -----------------------------------------------------------------------


def _support_path() -> tuple[Path, str, list[str]]:
    text = _SUPPORT.read_text(encoding="utf-8")
    includes = [f"-I{sysconfig.get_paths()['include']}", f"-I{np.get_include()}"]
    if sysconfig.get_paths()["platinclude"] != sysconfig.get_paths()["include"]:
        includes.append(f"-I{sysconfig.get_paths()['platinclude']}")
    key = "\0".join([text, compiler_identity(), *includes, np.__version__,
                     sysconfig.get_config_var("SOABI") or sys.version])
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    return folder() / f"support-{name}.so", text, includes


def _start_support() -> tuple[subprocess.Popen[bytes], Path] | None:
    """Begin to compile the support module, if it has to be."""
    if MODULE in sys.modules:
        return None
    path, text, includes = _support_path()
    if _is_there(path):
        return None
    return _start(text, ["-O2", *includes], ["-lpthread", "-ldl"], path)


def _support(pending: tuple[subprocess.Popen[bytes], Path] | None) -> Any:
    module = sys.modules.get(MODULE)
    if module is not None:
        return module
    path, _, _ = _support_path()
    if pending is not None:
        _wait(pending, path)
    loader = importlib.machinery.ExtensionFileLoader(MODULE, os.fspath(path))
    spec = importlib.util.spec_from_file_location(MODULE, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[MODULE] = module
    module.set_threads(num_threads())
    return module
