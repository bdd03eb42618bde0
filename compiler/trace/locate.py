"""Where in the user's code are we, and which variable will hold the result?

The frame's next instruction tells: a result that is stored by ``STORE_FAST y`` is ``y``. This
needs no source text, so it also works for code made by ``exec`` or typed at a prompt.
"""

import dis
import sys
import sysconfig
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import scipy

from ..errors import Origin

_PACKAGE = Path(__file__).parents[2]        # as code objects spell it, links included
_OWN = tuple(str(_PACKAGE / part) for part in ("compiler", "codegen", "runtime", "__init__.py"))
_NUMPY = str(Path(np.__file__).parent)
_SCIPY = str(Path(scipy.__file__).parent)
_STANDARD = sysconfig.get_path("stdlib")
_STORES = ("STORE_FAST", "STORE_NAME", "STORE_DEREF", "STORE_GLOBAL")

_UNPACKED: dict[tuple[int, int], tuple[str, ...]] = {}

# The code object is kept beside its table so that its id stays unique.
_TABLES: dict[int, tuple[CodeType, dict[int, Origin] | None]] = {}


def _table(code: CodeType) -> dict[int, Origin] | None:
    """Origin of every instruction of a code object; None for our own, NumPy's and Python's code."""
    file = code.co_filename
    if file.startswith(_STANDARD) and "site-packages" not in file:
        return None
    if file.startswith((*_OWN, _NUMPY, _SCIPY, "<__array_function__", "<frozen",
                         "<wengert ")):
        return None
    table: dict[int, Origin] = {}
    line = code.co_firstlineno
    previous: tuple[str, int] | None = None
    for instruction in dis.get_instructions(code):
        if instruction.starts_line is not None:
            line = instruction.starts_line
        if previous is not None and instruction.opname in _STORES and previous[0] not in (
                "UNPACK_SEQUENCE", "FOR_ITER"):
            at = table[previous[1]]
            table[previous[1]] = Origin(at.file, at.line, instruction.argval)
        table[instruction.offset] = Origin(file, line)
        previous = (instruction.opname, instruction.offset)
    for offset in range(0, len(code.co_code), 2):
        if offset not in table:         # a specialized instruction may stand on its inline cache
            table[offset] = table[offset - 2]
    return table


def unpacked_names(frame: FrameType) -> tuple[str, ...]:
    """Names of ``a, b, c = x``, or of ``= f(x)`` during the call; empty for all other code."""
    code, at = frame.f_code, frame.f_lasti
    key = (id(code), at)
    found = _UNPACKED.get(key)
    if found is None:
        found = ()
        while dis.opname[code.co_code[at]] == "CACHE":
            at -= 2
        if dis.opname[code.co_code[at]].startswith("CALL"):
            at = next(i.offset for i in dis.get_instructions(code) if i.offset > at)
        if dis.opname[code.co_code[at]] == "UNPACK_SEQUENCE":
            n = code.co_code[at + 1]
            after = [i for i in dis.get_instructions(code) if i.offset > at][:n]
            if len(after) == n and all(i.opname in _STORES for i in after):
                found = tuple(i.argval for i in after)
        _UNPACKED[key] = found
    return found


def parameters_unpacked(function: Any) -> dict[str, tuple[str, ...]]:
    """For ``a, b = state`` in a function, where ``state`` is a parameter: the names it gives."""
    code = getattr(function, "__code__", None)
    out: dict[str, tuple[str, ...]] = {}
    if code is None:
        return out
    parameters = code.co_varnames[:code.co_argcount]
    instructions = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
    for at, (load, unpack) in enumerate(pairwise(instructions)):
        if unpack.opname == "UNPACK_SEQUENCE" and load.argval in parameters:
            stores = instructions[at + 2:at + 2 + (unpack.arg or 0)]
            if all(i.opname in _STORES for i in stores):
                out.setdefault(load.argval, tuple(i.argval for i in stores))
    return out


def locate(frame: FrameType | None = None) -> Origin | None:
    """Origin of the innermost user frame at or above ``frame`` (default: the caller's)."""
    if frame is None:
        frame = sys._getframe(1)
    while frame is not None:
        table = _entry(frame.f_code)
        if table is not None:
            # During a call of a Python function the frame stands at the call's last cache slot.
            at = frame.f_lasti
            while at >= 0 and at not in table:
                at -= 2
            return table.get(at)
        frame = frame.f_back
    return None


def _public_name(frame: FrameType) -> str:
    """What users call the function that a frame runs; "" if it is not one for them."""
    module = ".".join(p for p in frame.f_globals["__name__"].split(".") if p[0] != "_")
    path = frame.f_code.co_qualname
    if "<locals>" in path:                             # what a decorator has made of it
        return f"A function of {module}"
    own = getattr(frame.f_locals.get("self"), "__name__", None)
    name = own or ".".join(p for p in path.split(".") if p[0] != "_")
    return f"{module}.{name}" if name else ""


def inside_scipy(error: BaseException) -> tuple[str, Origin] | None:
    """The function of SciPy's in whose Python code an exception came up, and where it was called.

    None if the innermost code that is not ours is the user's.
    """
    trace = error.__traceback__
    user: Origin | None = None
    found: tuple[str, Origin] | None = None
    while trace is not None:
        frame = trace.tb_frame
        if is_user(frame):
            user, found = Origin(frame.f_code.co_filename, trace.tb_lineno), None
        elif user is not None and found is None and \
                frame.f_code.co_filename.startswith(_SCIPY):
            name = _public_name(frame)
            found = (name, user) if name else None
        trace = trace.tb_next
    return found


_STAGE = str(_PACKAGE / "compiler" / "trace" / "stage.py")
_PROTECTED: dict[int, tuple[CodeType, list[tuple[int, int]]]] = {}


def is_stage(frame: FrameType) -> bool:
    """Whether this is where a trace begins."""
    return frame.f_code.co_filename == _STAGE


def is_user(frame: FrameType) -> bool:
    """Whether a frame runs a user's code."""
    return _entry(frame.f_code) is not None


def _entry(code: CodeType) -> dict[int, Origin] | None:
    entry = _TABLES.get(id(code))
    if entry is None:
        entry = _TABLES[id(code)] = (code, _table(code))
    return entry[1]


def in_try(frame: FrameType | None) -> bool:
    """Whether an exception raised at this point might be handled inside the traced function."""
    while frame is not None and not is_stage(frame):
        code = frame.f_code
        entry = _PROTECTED.get(id(code))
        if entry is None:
            bytecode: Any = dis.Bytecode(code)
            ranges = [(e.start, e.end) for e in bytecode.exception_entries]
            entry = _PROTECTED[id(code)] = (code, ranges)
        if any(start <= frame.f_lasti < end for start, end in entry[1]):
            return True
        frame = frame.f_back
    return False
