"""Selecting, placing and replacing elements."""

from typing import Any

import numpy as np

from ...errors import MutationError
from ...ops import comparison, indexing, layout
from .. import mutation
from ..locate import locate
from ..registry import FUNCTIONS, stands_for
from ..tracer import Tracer
from .common import as_array, call_user, one_axis
from .creation import cast, fresh


@stands_for(np.where)
def where(condition: Any, *branches: Any) -> Any:
    """Elements of one array or the other; with a condition alone, its non-zero positions."""
    if not branches:
        return nonzero(condition)
    x, y = branches
    condition = as_array(condition)
    if condition.dtype != bool:
        condition = condition != 0
    return comparison.where(condition, x, y)


@stands_for(np.nonzero, method="nonzero")
def nonzero(a: Any) -> tuple[Any, ...]:
    """Positions of the non-zero elements (their number is a decision on values)."""
    a = as_array(a)
    mask = a if a.dtype == bool else a != 0
    return tuple(np.broadcast_to(np.reshape(np.arange(n), (-1,) + (1,) * (a.ndim - 1 - i)),
                                 a.shape)[mask]
                 if not isinstance(mask, Tracer) else
                 as_traced(mask, np.ascontiguousarray(np.broadcast_to(np.reshape(
                     np.arange(n), (-1,) + (1,) * (a.ndim - 1 - i)), a.shape)))[mask]
                 for i, n in enumerate(a.shape))


def as_traced(like: Tracer, value: Any) -> Tracer:
    """A plain array as a traced value of the same trace."""
    return Tracer(like.builder, like.builder.lift(value), boxed=True)


@stands_for(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    """Positions of the non-zero elements in the flattened array."""
    return nonzero(np.ravel(a))[0]


@stands_for(np.argwhere)
def argwhere(a: Any) -> Any:
    """Positions of the non-zero elements, one a row."""
    return np.stack(nonzero(a), axis=1)


@stands_for(np.take, method="take")
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """Elements at indices along an axis."""
    a, indices = as_array(a), as_array(indices)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = one_axis(axis, a.ndim)
    n = a.shape[axis]
    indices = _inside(indices, n, mode)
    return mutation.write_out(mutation.getitem(
        _traced(a, indices), (slice(None),) * axis + (indices,)), out)


def _inside(indices: Any, n: int, mode: str) -> Any:
    """Indices brought into range."""
    if mode == "wrap":
        return indices % n
    return np.minimum(np.maximum(indices, 0), n - 1) if mode == "clip" else indices


def _traced(a: Any, other: Any) -> Tracer:
    return a if isinstance(a, Tracer) else as_traced(other, a)


def _along(shape: tuple[int, ...], indices: Any, axis: int) -> tuple[Any, ...]:
    """Full index of ``take_along_axis``."""
    grids = []
    for i in range(len(shape)):
        if i == axis:
            grids.append(indices)
        else:
            n = indices.shape[i]
            grids.append(np.arange(n).reshape([n if j == i else 1 for j in range(len(shape))]))
    return tuple(grids)


@stands_for(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Elements at indices that differ from row to row."""
    a, indices = as_array(arr), as_array(indices)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = one_axis(axis, a.ndim)
    return mutation.getitem(_traced(a, indices), _along(a.shape, indices, axis))


@stands_for(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Set elements at indices that differ from row to row."""
    _writable(arr)
    indices = as_array(indices)
    target: Any = mutation.row_of(arr) if axis is None else arr
    axis = 0 if axis is None else one_axis(axis, arr.ndim)
    mutation.setitem(target, _along(target.shape, indices, axis), values)


def _writable(target: Any) -> None:
    if not isinstance(target, Tracer):
        raise MutationError(
            "Traced values are written into a plain array.",
            "Make that array inside the function.", locate())


@stands_for(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Copy values into an array."""
    _writable(dst)
    if where is True:
        mutation.setitem(dst, ..., src)
    else:
        src = as_array(src)
        mutation.assign(dst, layout.broadcast(np.where(where, src, dst), dst.shape)
                        .astype(dst.dtype).node)


@stands_for(np.put, method="put")
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Set elements of the flattened array."""
    _writable(a)
    ind, v = np.ravel(as_array(ind)), np.ravel(as_array(v))
    flat: Any = mutation.row_of(a)
    mutation.setitem(flat, _inside(ind, a.size, mode), v[np.arange(ind.size) % v.size])


@stands_for(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Set elements where a mask holds, to the values at the same places."""
    _writable(a)
    values = as_array(values)
    new = np.reshape(values, ()) if values.size == 1 else np.resize(values, a.shape)
    mutation.assign(a, cast(np.where(mask, new, a), a.dtype).node)


@stands_for(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Set the elements where a mask holds to the values, one after the other."""
    _writable(arr)
    vals = np.ravel(as_array(vals))
    mask = as_array(mask)
    mask = mask if mask.dtype == bool else mask != 0
    if vals.size == 1:
        putmask(arr, mask, vals)
    else:
        count = int(np.count_nonzero(mask))
        flat: Any = mutation.row_of(arr)
        mutation.setitem(flat, np.ravel(mask), vals[np.arange(count) % vals.size])


def _at(combine: Any) -> Any:
    def at(a: Any, indices: Any, b: Any) -> None:
        _writable(a)
        template, arrays = mutation.canonical_index(a, indices)
        if combine is np.subtract:
            b = -as_array(b)
        mutation.assign(a, indexing.scatter_add(a, b, *arrays, index=template).node)
    return at


FUNCTIONS[(np.add, "at")] = _at(np.add)
FUNCTIONS[(np.subtract, "at")] = _at(np.subtract)


@stands_for(np.diagonal, method="diagonal")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Diagonal of two axes, as the last axis; read-only."""
    a = as_array(a)
    axes = one_axis(axis1, a.ndim), one_axis(axis2, a.ndim)
    return mutation.view_of(a, mutation.View(
        lambda builder, node: _diagonal(type(a)(builder, node), offset, *axes).node, None,
        lambda array: np.diagonal(array, offset, *axes)))


def _diagonal(a: Any, offset: int, axis1: int, axis2: int) -> Any:
    a = np.moveaxis(a, (axis1, axis2), (-2, -1))
    rows = np.arange(max(0, min(a.shape[-2], a.shape[-1] - offset) if offset >= 0
                         else min(a.shape[-2] + offset, a.shape[-1])))
    shift_row, shift_column = (0, offset) if offset >= 0 else (-offset, 0)
    return a[..., rows + shift_row, rows + shift_column]


@stands_for(np.linalg.diagonal)
def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Diagonals of the matrices in the last two axes."""
    return diagonal(x, offset, -2, -1)


@stands_for(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """A diagonal of a matrix, or the matrix that has it."""
    v = as_array(v)
    if v.ndim == 2:
        return diagonal(v, k)
    n = v.shape[0] + abs(k)
    rows = np.arange(v.shape[0]) + max(0, -k)
    zeros = np.zeros((), v.dtype)
    matrix = layout.broadcast_to(as_traced(v, zeros), shape=(n, n))
    return fresh(indexing.setitem(matrix, v, rows, rows + k, index=(("a",), ("a",))))


@stands_for(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix with the flattened array on a diagonal."""
    return diag(np.ravel(v), k)


@stands_for(np.trace, method="trace")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None,
          out: Any = None) -> Any:
    """Sum of a diagonal."""
    return mutation.write_out(np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype), out)


@stands_for(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Sums of the diagonals of the matrices in the last two axes."""
    return trace(x, offset, -2, -1, dtype)


@stands_for(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Set the main diagonal; values are repeated, or cut off, to fill it."""
    _writable(a)
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ValueError("All dimensions of input must be of equal length")
    step = a.shape[1] + 1 if a.ndim == 2 else 1 + sum(a.shape[0] ** i for i in range(1, a.ndim))
    end = a.shape[1] ** 2 if a.ndim == 2 and not wrap else a.size
    places = np.unravel_index(np.arange(0, min(end, a.size), step), a.shape)
    values = np.ravel(as_array(val))
    mutation.setitem(a, places, values[np.arange(len(places[0])) % values.size])


@stands_for(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Without the elements at an index, slice or list of indices."""
    a = as_array(arr)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = one_axis(axis, a.ndim)
    kept = np.delete(np.arange(a.shape[axis]), obj)
    return a[(slice(None),) * axis + (kept,)]


@stands_for(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """With values inserted before an index, or before each of several."""
    a, values = as_array(arr), as_array(values)
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = one_axis(axis, a.ndim)
    n = a.shape[axis]
    places = np.arange(*obj.indices(n)) if isinstance(obj, slice) else np.asarray(obj)
    if places.dtype == bool:
        places = np.flatnonzero(places)
    if np.any((places < -n) | (places > n)):
        raise IndexError(f"index {obj} is out of bounds for axis {axis} with size {n}")
    if places.size == 1:               # one place takes as many slices as there are values
        values = np.reshape(values, (1,) * (a.ndim - values.ndim) + values.shape)
        if places.ndim == 0:
            values = np.moveaxis(values, 0, axis)
        first = int(places.ravel()[0])
        new = (first + n if first < 0 else first) + np.arange(values.shape[axis])
    else:
        new = np.where(places < 0, places + n, places)
        new[np.argsort(new, kind="stable")] += np.arange(len(new))
    old = np.setdiff1d(np.arange(n + len(new)), new)
    before = (slice(None),) * axis
    zero = as_traced(_traced(a, values), np.zeros((), a.dtype))
    result = fresh(layout.broadcast(zero, (*a.shape[:axis], n + len(new), *a.shape[axis + 1:])))
    mutation.setitem(result, (*before, old), a)
    mutation.setitem(result, (*before, new), values)
    return result


@stands_for(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """Slices where a condition holds."""
    a = as_array(a)
    if axis is None:
        a, axis = np.ravel(a), 0
    kept = np.flatnonzero(condition)
    return mutation.write_out(take(a, kept, axis), out)


@stands_for(method="compress")
def compress_method(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    """``a.compress(condition)``."""
    return compress(condition, a, axis, out)


@stands_for(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """Elements where a condition holds."""
    return np.ravel(as_array(arr))[np.ravel(as_array(condition) != 0)]


@stands_for(np.choose, method="choose")
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Each element from one of several arrays."""
    options = [as_array(c) for c in choices]
    index = as_array(a)
    index = _inside(index, len(options), mode)
    result = options[-1]
    for i in reversed(range(len(options) - 1)):
        result = np.where(index <= i, options[i], result)
    return mutation.write_out(result, out)


@stands_for(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The first choice whose condition holds."""
    result = as_array(default) if isinstance(default, Tracer) else default
    for condition, choice in zip(reversed(list(condlist)), reversed(list(choicelist)),
                                 strict=True):
        result = np.where(condition, choice, result)
    shape = np.broadcast_shapes(*[np.shape(v) for v in (*condlist, *choicelist, default)])
    return layout.broadcast(result, shape)


@stands_for(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Functions applied where their conditions hold; unselected elements are not evaluated."""
    x = as_array(x)
    conditions = [as_array(c) for c in (condlist if isinstance(condlist, (list, tuple))
                                        else [condlist])]
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        conditions.append(~np.any(np.stack([np.broadcast_to(c, x.shape) for c in conditions]),
                                  axis=0))
    result = np.zeros_like(x)
    for condition, function in zip(conditions, functions, strict=True):
        if not callable(function):
            result = np.where(condition, function, result)
        elif x.ndim == 0:
            if condition:
                result = call_user(function, x, *args, **kw)
        else:
            result[condition] = call_user(function, x[condition], *args, **kw)
    return result


@stands_for(np.searchsorted, method="searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where values would be inserted to keep an array sorted."""
    a = as_array(a)
    if sorter is not None:
        a = np.take(a, sorter)
    return indexing.searchsorted(a, as_array(v), side=side)


@stands_for(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Numbers of the bins that values fall into."""
    bins = as_array(bins)
    if isinstance(bins, Tracer) or np.all(np.diff(bins) >= 0):
        return searchsorted(bins, x, "left" if right else "right")
    return len(bins) - searchsorted(bins[::-1], x, "right" if right else "left")
