"""The canonical form of an index, and its spelling.

An index is stored as a tuple of parts: an integer (non-negative), ``None`` for a new axis,
``("s", start, stop, step)`` for a slice (``stop`` None when a negative step runs past 0),
``("a",)`` for the next integer array operand, and ``("m", count)`` for the next boolean mask
operand, which selects ``count`` elements. Ellipses are expanded.
"""

from functools import cache
from typing import Any

import numpy as np


def canonical_index(shape: Any, index: Any, count_mask: Any) -> Any:
    """Parts and array operands of ``x[index]`` for ``x`` of the given shape."""
    parts = list(index) if isinstance(index, tuple) else [index]
    parts = [_as_index_part(p) for p in parts]
    used = sum(_axes_used(p) for p in parts)
    if used > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, "
                         f"but {used} were indexed")
    missing = [slice(None)] * (len(shape) - used)
    dots = [i for i, p in enumerate(parts) if p is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = dots[0] if dots else len(parts)
    parts[at:at + len(dots)] = missing
    template: list[Any] = []
    arrays: list[Any] = []
    axis = 0
    for part in parts:
        if part is None:
            template.append(None)
            continue
        if isinstance(part, slice):
            template.append(_slice_part(part, shape[axis]))
        elif type(part) is int:
            template.append(_integer_part(part, shape[axis], axis))
        elif part.dtype == bool:
            if tuple(part.shape) != tuple(shape[axis:axis + part.ndim]):
                raise IndexError(f"boolean index of shape {part.shape} does not match the "
                                 f"indexed shape {tuple(shape[axis:axis + part.ndim])}")
            template.append(("m", count_mask(part)))
            arrays.append(part)
            axis += part.ndim - 1
        else:
            _check_bounds(part, shape[axis], axis)
            template.append(("a",))
            arrays.append(part)
        axis += 1
    return tuple(template), arrays


def _as_index_part(part: Any) -> Any:
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if hasattr(part, "_record_"):
        if part.dtype.kind not in "iub":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        return part
    if isinstance(part, (bool, np.bool_)):
        return np.asarray(part)
    if isinstance(part, (int, np.integer)):
        return int(part)
    array = np.asarray(part)
    if array.size == 0 and not isinstance(part, np.ndarray):
        array = array.astype(np.intp)
    if array.dtype == object:
        return _stack_parts(part)
    if array.dtype.kind not in "iub":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return array


def _stack_parts(part: Any) -> Any:
    return np.stack([_as_index_part(p) for p in part])


def _axes_used(part: Any) -> Any:
    if part is None or part is Ellipsis:
        return 0
    if type(part) not in (int, slice) and part.dtype == bool:
        return part.ndim
    return 1


def _slice_part(part: Any, length: Any) -> Any:
    start, stop, step = part.indices(length)
    n = len(range(start, stop, step))
    if n == 0:
        return ("s", 0, 0, 1)
    if n == 1:
        return ("s", start, start + 1, 1)
    stop = start + (n - 1) * step + (1 if step > 0 else -1)
    return ("s", start, None if stop < 0 else stop, step)


def _integer_part(part: Any, length: Any, axis: Any) -> Any:
    if not -length <= part < length:
        raise IndexError(f"index {part} is out of bounds for axis {axis} with size {length}")
    return part % length


def _check_bounds(part: Any, length: Any, axis: Any) -> Any:
    if not hasattr(part, "_record_") and part.size and not (
            -length <= part.min() and part.max() < length):
        bad = part.max() if part.max() >= length else part.min()
        raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {length}")


def numpy_index(template: Any, arrays: Any) -> Any:
    """The index as NumPy takes it."""
    operands = iter(arrays)
    return tuple(
        slice(*part[1:]) if isinstance(part, tuple) and part[0] == "s"
        else next(operands) if isinstance(part, tuple) else part
        for part in template)


@cache
def _indexed_shape(shape: Any, template: Any, array_shapes: Any) -> Any:
    # Ask NumPy, with one element of memory behind the array and with zeros as indices.
    probe = np.broadcast_to(np.zeros((), np.int8), shape)
    index: list[Any] = []
    operands = iter(array_shapes)
    for part in template:
        if isinstance(part, tuple) and part[0] == "m":
            index += [np.zeros(part[1], np.intp)] * len(next(operands))
        elif isinstance(part, tuple) and part[0] == "a":
            index.append(np.zeros(next(operands), np.intp))
        else:
            index.append(slice(*part[1:]) if isinstance(part, tuple) else part)
    return probe[tuple(index)].shape


def getitem_shape(shape: Any, template: Any, array_shapes: Any) -> Any:
    """Shape of ``x[index]``."""
    return _indexed_shape(tuple(shape), template, tuple(map(tuple, array_shapes)))


def index_text(template: Any, arrays: Any, shape: Any) -> Any:
    """The index as Python spells it."""
    operands, texts, axis = iter(arrays), [], 0
    for part in template:
        if part is None:
            texts.append("None")
            continue
        if isinstance(part, int):
            texts.append(str(part))
        elif part[0] == "s":
            texts.append(_slice_text(part, shape[axis]))
        else:
            texts.append(next(operands))
        axis += 1
    while len(texts) > 1 and texts[-1] == ":":
        texts.pop()
    return ", ".join(texts)


def _slice_text(part: Any, length: Any) -> Any:
    _, start, stop, step = part
    if step < 0:
        first = "" if start == length - 1 else str(start)
        return f"{first}:{'' if stop is None else stop}:{step}"
    first = "" if start == 0 else str(start)
    if stop > length - step and stop >= start + step and _reaches(part, length):
        last = ""
    else:
        last = "-1" if stop == length - 1 and step == 1 and stop > start + 1 else str(stop)
    return f"{first}:{last}" + (f":{step}" if step != 1 else "")


def _reaches(part: Any, length: Any) -> Any:
    _, start, stop, step = part
    return len(range(start, stop, step)) == len(range(start, length, step))
