"""``float(x)`` of a traced value.

The built-in type cannot be intercepted: it is looked up among the built-in names, it is compared
and passed on as an object, and what its instances' ``__float__`` returns becomes a plain number.
But the bytecode of a *call* differs from that of any other use. So when a function is found to
call ``float`` on a traced value, these calls are redirected, in a copy of its code that it has for
the time of a trace only, and the trace starts again.
"""

import dis
import gc
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import ConversionError
from ..ops import arithmetic
from .builder import is_traced
from .locate import is_stage, is_user

_MARK = "_wengert_"
_LOAD = dis.opmap["LOAD_GLOBAL"]
_EXTENDED = dis.opmap["EXTENDED_ARG"]
_MOST_NAMES = 127          # that one byte can tell apart
_CODES: "WeakKeyDictionary[FunctionType, tuple[CodeType, CodeType]]" = WeakKeyDictionary()


def as_float(x: Any) -> Any:
    """A traced number as a traced Python float."""
    if x.size != 1:
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    if x.shape:
        x = np.reshape(x, ())
    return x if x.type.weak and x.dtype.kind == "f" else arithmetic.as_float(x)


def _float(x: Any = 0.0, /) -> Any:
    return as_float(x) if is_traced(x) else float(x)


def _complex(*args: Any, **kwargs: Any) -> Any:
    if not any(map(is_traced, (*args, *kwargs.values()))):
        return complex(*args, **kwargs)
    real, imag = (*args, 0.0)[:2] if not kwargs else (kwargs.get("real", 0.0), kwargs["imag"])
    return real + 1j * imag


REDIRECTED = {"float": _float, "complex": _complex}


def is_formatting(frame: FrameType) -> bool:
    """Whether the conversion is made for text, by ``"%f" % x``."""
    return _instruction(frame) == "BINARY_OP"


def is_assignment(frame: FrameType) -> bool:
    """Whether the conversion is made by an assignment into a plain array."""
    return _instruction(frame) == "STORE_SUBSCR"


def _instruction(frame: FrameType) -> str:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]


def redirect(error: ConversionError) -> bool:
    """Redirect the calls in the code that raised an error; whether that may help."""
    frames = _frames(error)
    if not frames:
        return False
    old = frames[-1].f_code
    new = _redirected(old)
    if new is None:
        return False
    for frame in reversed(frames[:-1]):         # functions that the code is made in
        if old in frame.f_code.co_consts:
            outer = frame.f_code
            new = outer.replace(co_consts=tuple(new if c is old else c for c in outer.co_consts))
            old = outer
    found = False
    for function, (original, redirected) in list(_CODES.items()):
        if redirected is old:
            _CODES[function] = original, new
            found = True
    for function in gc.get_referrers(old):
        if type(function) is FunctionType and function.__code__ is old:
            _CODES[function] = old, new
            found = True
    return found


def exchanged() -> Iterator[tuple[FunctionType, CodeType, CodeType]]:
    """Functions with their own code and the one with redirected calls."""
    for function, (original, redirected) in list(_CODES.items()):
        if function.__code__ is original:
            yield function, original, redirected


def marked_names() -> dict[str, Any]:
    """What the redirected calls call, by name."""
    return {_MARK + name: function for name, function in REDIRECTED.items()}


def _frames(error: ConversionError) -> list[FrameType]:
    """The user's frames from the traced function down to where the error was raised."""
    frames: list[FrameType] = []
    traceback = error.__traceback__
    while traceback is not None:
        if is_stage(traceback.tb_frame):
            frames = []
        elif is_user(traceback.tb_frame):
            frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    return frames


def _redirected(code: CodeType) -> CodeType | None:
    """The code with its calls of ``float`` redirected; None if there are none."""
    names, instructions = list(code.co_names), bytearray(code.co_code)
    for name in set(REDIRECTED) & set(names):
        index = names.index(name) << 1 | 1          # the low bit: with room for a callee
        calls = [i for i in range(0, len(instructions), 2) if instructions[i] == _LOAD
                 and instructions[i + 1] == index and instructions[i - 2] != _EXTENDED]
        if calls and len(names) < _MOST_NAMES:
            for i in calls:
                instructions[i + 1] = len(names) << 1 | 1
            names.append(_MARK + name)
    if len(names) == len(code.co_names):
        return None
    return code.replace(co_names=tuple(names), co_code=bytes(instructions))
