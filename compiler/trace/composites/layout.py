"""Reshaping, joining and splitting arrays."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...ops import layout
from .. import mutation
from ..registry import stands_for
from ..tracer import Tracer
from .common import as_array, axes_of, one_axis, refuse, shape_of
from .creation import fresh


def _known_shape(new: Any, size: int) -> tuple[int, ...]:
    """The shape, with the one −1 in it worked out."""
    shape = shape_of(new)
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        if rest == 0 or size % rest:
            raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
        shape = tuple(size // rest if n == -1 else n for n in shape)
    return shape


def _reshaped(a: Any, shape: tuple[int, ...]) -> Any:
    if not isinstance(a, Tracer):
        return np.reshape(a, shape)
    if not a.shape and not a.boxed:
        return fresh(layout.reshape(a, shape=shape))
    return mutation.reshaped(a, shape)


@stands_for(np.reshape)
def reshape(a: Any, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    """The elements in another shape; a view."""
    a = as_array(a)
    shape = _known_shape(shape, a.size)
    if order == "F":
        return np.transpose(_reshaped(np.transpose(a), shape[::-1]))
    return _reshaped(a, shape)


@stands_for(method="reshape")
def reshape_method(a: Any, *shape: Any, order: str = "C", **_: Any) -> Any:
    """``a.reshape(2, 3)`` and ``a.reshape((2, 3))``."""
    return reshape(a, shape[0] if len(shape) == 1 else shape, order)


@stands_for(np.ravel, method="ravel")
def ravel(a: Any, order: str = "C") -> Any:
    """The elements in one row; a view where the order is that of memory."""
    a = as_array(a)
    if order == "F":
        a = np.transpose(a)
    if not isinstance(a, Tracer):
        return np.ravel(a)
    return mutation.raveled(a) if a.shape or a.boxed else reshape(a, -1)


@stands_for(method="flatten")
def flatten(a: Any, order: str = "C") -> Any:
    """The elements in one row; a copy."""
    return fresh(ravel(a, order), packed=True)


@stands_for(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Any:
    """The axes in another order (default: reversed); a view."""
    a = as_array(a)
    if axes is None:
        axes = tuple(reversed(range(a.ndim)))
    axes = axes_of(axes, a.ndim)
    if len(axes) != a.ndim:
        raise ValueError("axes don't match array")
    if axes == tuple(range(a.ndim)):
        return a
    return mutation.layout_view(
        a, layout.transpose,
        lambda t: (layout.transpose, (layout.inverse_permutation(axes),)), axes=axes)


@stands_for(method="transpose")
def transpose_method(a: Any, *axes: Any) -> Any:
    """``a.transpose(1, 0)`` and ``a.transpose((1, 0))``."""
    if not axes or axes == (None,):
        return transpose(a)
    return transpose(a, axes[0] if isinstance(axes[0], (tuple, list)) else axes)


@stands_for(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any) -> Any:
    """The last two axes exchanged."""
    return swapaxes(x, -1, -2)


@stands_for(np.swapaxes, method="swapaxes")
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    a = as_array(a)
    order = list(range(a.ndim))
    i, j = one_axis(axis1, a.ndim), one_axis(axis2, a.ndim)
    order[i], order[j] = order[j], order[i]
    return transpose(a, order)


@stands_for(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Axes moved to new places."""
    a = as_array(a)
    sources, targets = axes_of(source, a.ndim), axes_of(destination, a.ndim)
    order = [n for n in range(a.ndim) if n not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return transpose(a, order)


@stands_for(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """An axis moved to just before another one."""
    n = as_array(a).ndim
    axis = one_axis(axis, n)
    start = start + n if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


@stands_for(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    """New axes of length one."""
    a = as_array(a)
    ndim = a.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    axes = axes_of(axis, ndim)
    old = iter(a.shape)
    return _reshaped(a, tuple(1 if i in axes else next(old) for i in range(ndim)))


@stands_for(np.squeeze, method="squeeze")
def squeeze(a: Any, axis: Any = None) -> Any:
    """Without the axes of length one."""
    a = as_array(a)
    axes = [i for i, n in enumerate(a.shape) if n == 1] if axis is None else axes_of(axis, a.ndim)
    if any(a.shape[i] != 1 for i in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return _reshaped(a, tuple(n for i, n in enumerate(a.shape) if i not in axes))


def _at_least(ndim: int, where: str, *arrays: Any) -> Any:
    out = []
    for x in arrays:
        a = as_array(x)
        if a.ndim < ndim:
            missing = ndim - a.ndim
            shape = (1,) * missing + a.shape
            if where == "3d":
                shape = {0: (1, 1, 1), 1: (1, *a.shape, 1), 2: (*a.shape, 1)}[a.ndim]
            a = _reshaped(a, shape) if isinstance(a, Tracer) else np.reshape(a, shape)
        out.append(a)
    return out[0] if len(out) == 1 else tuple(out)


@stands_for(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    """Arrays of at least one axis."""
    return _at_least(1, "front", *arys)


@stands_for(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    """Arrays of at least two axes."""
    return _at_least(2, "front", *arys)


@stands_for(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    """Arrays of at least three axes."""
    return _at_least(3, "3d", *arys)


@stands_for(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """Stretched to a shape; read-only, as in NumPy."""
    a, shape = as_array(array), shape_of(shape)
    if a.shape == shape:
        return a
    return mutation.view_of(a, mutation.View(
        lambda b, n: b.emit(layout.broadcast_to, (n,), (shape,)), None,
        lambda array: np.broadcast_to(array, shape)))


@stands_for(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """Arrays stretched to their common shape."""
    arrays = [as_array(a) for a in args]
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    return tuple(broadcast_to(a, shape) if isinstance(a, Tracer) else np.broadcast_to(a, shape)
                 for a in arrays)


@stands_for(np.concatenate, np.concat)
def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None,
                casting: str = "same_kind") -> Any:
    """Arrays joined along an axis; flattened first where the axis is None."""
    refuse("concatenate", dtype=(dtype, None))
    parts = [as_array(a) for a in arrays]
    if axis is None:
        parts, axis = [np.ravel(p) for p in parts], 0
    if any(p.ndim == 0 for p in parts):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    result = layout.concatenate(*parts, axis=one_axis(axis, parts[0].ndim))
    return mutation.write_out(result, out)


@stands_for(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, **_: Any) -> Any:
    """Arrays joined along a new axis."""
    parts = [as_array(a) for a in arrays]
    result = layout.stack(*parts, axis=one_axis(axis, parts[0].ndim + 1))
    return mutation.write_out(result, out)


@stands_for(np.vstack)
def vstack(tup: Any, **_: Any) -> Any:
    """Joined along the first axis."""
    return concatenate([atleast_2d(t) for t in tup], 0)


@stands_for(np.hstack)
def hstack(tup: Any, **_: Any) -> Any:
    """Joined along the second axis (the first, of rows)."""
    parts = [atleast_1d(t) for t in tup]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1)


@stands_for(np.dstack)
def dstack(tup: Any) -> Any:
    """Joined along the third axis."""
    return concatenate([atleast_3d(t) for t in tup], 2)


@stands_for(np.column_stack)
def column_stack(tup: Any) -> Any:
    """Rows as columns, joined along the second axis."""
    parts = [as_array(t) for t in tup]
    return concatenate([p[:, None] if p.ndim == 1 else np.reshape(p, (1, 1)) if p.ndim == 0 else p
                        for p in parts], 1)


@stands_for(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Values joined to the end."""
    return concatenate([arr, values] if axis is not None else
                       [np.ravel(arr), np.ravel(as_array(values))], axis or 0)


def _sections(sections: Any, n: int, uneven: bool) -> list[tuple[int, int]]:
    if not isinstance(sections, (Sequence, np.ndarray)):
        count = int(sections)
        if not uneven and n % count:
            raise ValueError("array split does not result in an equal division")
        small, extra = divmod(n, count)
        lengths = [small + 1] * extra + [small] * (count - extra)
        stops = np.cumsum(lengths)
        return [(int(s - m), int(s)) for s, m in zip(stops, lengths, strict=True)]
    cuts = [0, *[int(s) for s in sections], n]
    return [(slice(a, b).indices(n)[0], slice(a, b).indices(n)[1])
            for a, b in pairwise(cuts)]


@stands_for(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts of nearly equal length; views."""
    a = as_array(ary)
    axis = one_axis(axis, a.ndim)
    return [a[(slice(None),) * axis + (slice(i, j),)]
            for i, j in _sections(indices_or_sections, a.shape[axis], uneven=True)]


@stands_for(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts of equal length, or cut at the given places; views."""
    a = as_array(ary)
    axis = one_axis(axis, a.ndim)
    return [a[(slice(None),) * axis + (slice(i, j),)]
            for i, j in _sections(indices_or_sections, a.shape[axis], uneven=False)]


@stands_for(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split along the second axis (the first, of rows)."""
    return split(ary, indices_or_sections, 0 if as_array(ary).ndim == 1 else 1)


@stands_for(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split along the first axis."""
    return split(ary, indices_or_sections, 0)


@stands_for(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split along the third axis."""
    return split(ary, indices_or_sections, 2)


@stands_for(np.unstack)
def unstack(x: Any, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts along an axis."""
    return tuple(moveaxis(x, axis, 0))


@stands_for(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    """Reversed along axes; a view."""
    a = as_array(m)
    axes = axes_of(axis, a.ndim)
    return a[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(a.ndim))]


@stands_for(np.fliplr)
def fliplr(m: Any) -> Any:
    """Reversed along the second axis."""
    return flip(m, 1)


@stands_for(np.flipud)
def flipud(m: Any) -> Any:
    """Reversed along the first axis."""
    return flip(m, 0)


@stands_for(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Rotated by quarter turns in the plane of two axes."""
    a = as_array(m)
    first, second = axes_of(axes, a.ndim)
    k %= 4
    if k == 0:
        return a
    if k == 2:
        return flip(a, (first, second))
    if k == 1:
        return swapaxes(flip(a, second), first, second)
    return flip(swapaxes(a, first, second), second)


@stands_for(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Elements moved round along axes."""
    a = as_array(a)
    if axis is None:
        return np.reshape(roll(ravel(a), shift, 0), a.shape)
    total: dict[int, int] = {}
    for step, along in np.broadcast(shift, axis):
        along = one_axis(along, a.ndim)
        total[along] = total.get(along, 0) + int(step)
    return layout.roll(a, shift=tuple(total.values()), axis=tuple(total)) if total else fresh(a)


@stands_for(np.repeat, method="repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element, or slice along an axis, repeated."""
    a = as_array(a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = one_axis(axis, a.ndim)
    source = np.repeat(np.arange(a.shape[axis]), np.asarray(repeats))
    return a[(slice(None),) * axis + (source,)]


@stands_for(np.tile)
def tile(A: Any, reps: Any) -> Any:
    """The array repeated as a whole along axes."""
    a, reps = as_array(A), shape_of(reps)
    ndim = max(a.ndim, len(reps))
    reps = (1,) * (ndim - len(reps)) + reps
    shape = (1,) * (ndim - a.ndim) + a.shape
    pairs = [n for pair in zip((1,) * ndim, shape, strict=True) for n in pair]
    wide = [n for pair in zip(reps, shape, strict=True) for n in pair]
    final = tuple(r * n for r, n in zip(reps, shape, strict=True))
    return fresh(layout.reshape(layout.broadcast(
        layout.reshape(a, shape=tuple(pairs)), tuple(wide)), shape=final))


@stands_for(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    """Lower triangle."""
    a = as_array(m)
    return layout.tril(a if a.ndim > 1 else np.broadcast_to(a, (a.size, a.size)), k=int(k))


@stands_for(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    """Upper triangle."""
    a = as_array(m)
    return layout.triu(a if a.ndim > 1 else np.broadcast_to(a, (a.size, a.size)), k=int(k))


@stands_for(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """Repeated or cut off to fill a shape."""
    a, shape = ravel(a), shape_of(new_shape)
    return np.reshape(a[np.arange(math.prod(shape)) % a.size], shape)


@stands_for(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinate arrays of a grid."""
    arrays = [np.ravel(as_array(x)) for x in xi]
    n = len(arrays)
    out = [np.reshape(a, (1,) * i + (-1,) + (1,) * (n - 1 - i)) for i, a in enumerate(arrays)]
    if indexing == "xy" and n > 1:
        out = [swapaxes(a, 0, 1) for a in out]
    return tuple(out) if sparse else broadcast_arrays(*out)
