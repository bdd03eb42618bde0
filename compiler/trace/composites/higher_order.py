"""Functions that call the user's functions: on slices, on elements, on index arrays."""

from typing import Any

import numpy as np

from ...errors import UnsupportedArgumentError
from ..locate import locate
from ..registry import stands_for, stands_for_late
from ..tracer import Tracer, contains_tracer
from .common import as_array, call_user, of_dtype, one_axis
from .creation import array


@stands_for(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of a row, applied to every row along an axis."""
    a = as_array(arr)
    axis = one_axis(axis, a.ndim)
    rows = np.moveaxis(a, axis, -1)
    outer = rows.shape[:-1]
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [as_array(call_user(func1d, rows[index] if index else rows, *args, **kwargs))
               for index in np.ndindex(outer)]
    out = np.reshape(np.stack(results), outer + results[0].shape)
    inner = results[0].ndim
    # The axes of the result take the place of the axis of the row.
    order = [*range(axis), *range(len(outer), len(outer) + inner), *range(axis, len(outer))]
    return np.transpose(out, order)


@stands_for(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """A function of an array and an axis, applied to one axis after the other."""
    a = as_array(a)
    ndim = a.ndim
    for axis in np.atleast_1d(axes):
        axis = one_axis(axis, ndim)
        result = call_user(func, a, axis)
        if result.ndim != ndim:
            result = np.expand_dims(result, axis)
        if result.ndim != ndim:
            raise ValueError("function is not returning an array of the correct shape")
        a = result
    return a


@stands_for_late("numpy", "vectorize.__call__")
def vectorized(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of scalars, applied element by element."""
    if self.signature is not None or not hasattr(self, "pyfunc"):
        raise UnsupportedArgumentError(
            "np.vectorize with a signature is not supported on traced values.",
            "Use np.apply_along_axis, or wengert.vmap.", locate())
    names = [*range(len(args)), *kwargs]
    values = dict(zip(names, [*args, *kwargs.values()], strict=True))
    varying = [n for n in names if n not in self.excluded]
    if not varying:
        return array(call_user(self.pyfunc, *args, **kwargs))
    arrays = np.broadcast_arrays(*[as_array(values[n]) for n in varying])
    shape = arrays[0].shape
    if 0 in shape:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    results = []
    for index in np.ndindex(shape):
        values.update((n, a[index] if index else _scalar(a))
                      for n, a in zip(varying, arrays, strict=True))
        results.append(call_user(self.pyfunc, *[values[i] for i in range(len(args))],
                                 **{k: values[k] for k in kwargs}))
    if isinstance(results[0], tuple):
        parts = zip(*results, strict=True)
        return tuple(_gathered(list(p), shape, self.otypes, i) for i, p in enumerate(parts))
    return _gathered(results, shape, self.otypes, 0)


def _scalar(a: Any) -> Any:
    return np.reshape(a, ()) if isinstance(a, Tracer) else a[()]


def _gathered(results: list[Any], shape: tuple[int, ...], otypes: Any, i: int) -> Any:
    """Results in the shape of the arguments, in the dtype of the first one as NumPy has it."""
    dtype = otypes[i] if otypes else as_array(results[0]).dtype
    return np.reshape(array(results, dtype), shape)


@stands_for(np.fromiter, creates=True)
def fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    """An array of what an iterable yields."""
    items = list(iter) if count < 0 else [v for v, _ in zip(iter, range(count), strict=False)]
    if not contains_tracer(items):
        return np.fromiter(items, dtype, count)
    return array(items, dtype)


@stands_for(np.block)
def block(arrays: Any) -> Any:
    """An array put together from nested lists of blocks."""
    depth = _depth(arrays)
    ndim = max(depth, _largest_ndim(arrays))
    return _joined(arrays, depth, ndim)


def _depth(arrays: Any) -> int:
    return 1 + max(map(_depth, arrays)) if isinstance(arrays, list) else 0


def _largest_ndim(arrays: Any) -> int:
    return max(map(_largest_ndim, arrays)) if isinstance(arrays, list) else np.ndim(arrays)


def _joined(arrays: Any, depth: int, ndim: int) -> Any:
    if not isinstance(arrays, list):
        a = as_array(arrays)
        return np.reshape(a, (1,) * (ndim - a.ndim) + a.shape)
    return np.concatenate([_joined(a, depth - 1, ndim) for a in arrays], axis=ndim - depth)


@stands_for(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    """The real part if all imaginary parts are tiny, which is a decision on values."""
    a = as_array(a)
    if a.dtype.kind != "c":
        return a
    limit = tol if tol < 1 else tol * np.finfo(a.dtype).eps
    return np.real(a) if np.all(np.abs(np.imag(a)) < limit) else a


@stands_for(np.isin)
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
         kind: Any = None) -> Any:
    """Which elements are among others."""
    element = as_array(element)
    found = np.any(element[..., None] == np.ravel(as_array(test_elements)), axis=-1)
    return ~found if invert else found


@stands_for(np.common_type)
def common_type(*arrays: Any) -> Any:
    """The inexact type that holds all arrays."""
    return np.common_type(*[np.empty(0, a.dtype) for a in map(as_array, arrays)])


@stands_for(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    """Indices of the lower triangle of a matrix."""
    return np.tril_indices(arr.shape[-2], k, arr.shape[-1])


@stands_for(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    """Indices of the upper triangle of a matrix."""
    return np.triu_indices(arr.shape[-2], k, arr.shape[-1])


@stands_for(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    """Indices of the main diagonal."""
    return np.diag_indices(arr.shape[0], arr.ndim)


@stands_for(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
              ) -> Any:
    """Sorted, which is a partition at every place; NumPy leaves the order of the rest open."""
    return np.sort(a, axis=axis)


@stands_for(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
                 ) -> Any:
    """Indices that sort, which is a partition at every place."""
    return np.argsort(a, axis=axis)


@stands_for(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """Indices that sort by the last key, then by the one before it, and so on."""
    keys = [as_array(k) for k in keys]
    order = np.argsort(keys[0], axis=axis)
    for key in keys[1:]:
        turn = np.argsort(np.take_along_axis(key, order, axis=axis), axis=axis)
        order = np.take_along_axis(order, turn, axis=axis)
    return order


@stands_for(np.iscomplex)
def iscomplex(x: Any) -> Any:
    """Which elements have an imaginary part."""
    return np.imag(as_array(x)) != 0


@stands_for(np.isreal)
def isreal(x: Any) -> Any:
    """Which elements have no imaginary part."""
    return np.imag(as_array(x)) == 0


@stands_for(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether arrays are equal once they are broadcast; a decision on values."""
    a, b = as_array(a1), as_array(a2)
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return bool(np.all(a == b))


@stands_for(np.sort_complex)
def sort_complex(a: Any) -> Any:
    """Sorted by real part, then by imaginary part, as complex numbers."""
    a = np.sort(as_array(a))
    return a if a.dtype.kind == "c" else of_dtype(a, complex)


@stands_for(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """In another dtype."""
    return x.astype(dtype)
