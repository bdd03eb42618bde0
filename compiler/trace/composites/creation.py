"""Making and converting arrays: array, asarray, zeros_like, full_like, copy, astype."""

from typing import Any

import numpy as np

from ...ops import arithmetic, layout
from .. import mutation
from ..registry import stands_for
from ..tracer import Tracer, contains_tracer, deepest
from .common import shape_of


def _nested(value: Any) -> Any:
    """A nested sequence with tracers somewhere in it as one array."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = list(value) if value.ndim else value.item()
    if isinstance(value, (list, tuple)):
        parts = [_nested(v) for v in value]
        shapes = {np.shape(p) for p in parts}
        if len(shapes) > 1:
            raise ValueError("setting an array element with a sequence. The requested array has "
                             f"an inhomogeneous shape: parts of shapes {sorted(shapes)}")
        return layout.stack(*parts, axis=0) if contains_tracer(parts) else np.asarray(parts)
    return value


def fresh(x: Tracer) -> Tracer:
    """The same value as an array of its own, as ``copy`` gives."""
    return Tracer(x.builder, x.node, boxed=True)


def cast(x: Any, dtype: Any) -> Any:
    """``x`` in another dtype."""
    if dtype is None or (np.dtype(dtype) == x.dtype and not getattr(x.type, "weak", False)):
        return x
    return arithmetic.convert(x, dtype=np.dtype(dtype).name)


@stands_for(np.array)
def array(object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K",
          subok: bool = False, ndmin: int = 0, like: Any = None) -> Any:
    """An array of its own from numbers, sequences and traced values."""
    value = _nested(object)
    if not isinstance(value, Tracer):
        return np.array(value, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)
    if dtype is None and value.type.weak:
        dtype = value.dtype
    value = cast(value, dtype)
    if value.ndim < ndmin:
        value = layout.reshape(value, shape=(1,) * (ndmin - value.ndim) + value.shape)
    return fresh(value)


@stands_for(np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require,
            np.asarray_chkfinite)
def asarray(a: Any, dtype: Any = None, order: Any = None, **_: Any) -> Any:
    """The array itself if it is one of that dtype already."""
    if isinstance(a, Tracer):
        if a.type.weak:
            return fresh(cast(a, dtype or a.dtype))
        return a if dtype is None or np.dtype(dtype) == a.dtype else cast(a, dtype)
    if contains_tracer(a):
        return array(a, dtype)
    return np.asarray(a, dtype, order)


@stands_for(np.copy, method="copy")
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """A copy."""
    return fresh(asarray(a))


@stands_for(method="astype")
def astype(x: Tracer, dtype: Any, *_: Any, **__: Any) -> Any:
    """A copy in another dtype."""
    return fresh(cast(x, dtype))


@stands_for(method="item")
def item(x: Tracer, *index: Any) -> Any:
    """The element as a scalar."""
    if index:
        if len(index) == 1 and not isinstance(index[0], tuple):
            return layout.reshape(x, shape=(x.size,))[index[0]]
        return x[index[0] if len(index) == 1 else index]
    if x.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return mutation.reshape_scalar(x)


@stands_for(method="tolist")
def tolist(x: Tracer) -> Any:
    """Nested lists of scalars."""
    if not x.shape:
        return x
    return [tolist(v) for v in x]


@stands_for(method="fill")
def fill(x: Tracer, value: Any) -> None:
    """Set all elements."""
    mutation.setitem(x, ..., value)


def _filled(a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    builder = deepest([a, value])
    assert builder is not None
    dtype = np.dtype(dtype) if dtype is not None else a.dtype
    shape = a.shape if shape is None else shape_of(shape)
    node = builder.lift(value if isinstance(value, Tracer) else dtype.type(value))
    if node.type.dtype != dtype:
        node = builder.emit(arithmetic.convert, (node,), (dtype.name,))
    if node.type.shape != shape:
        node = builder.emit(layout.broadcast_to, (node,), (shape,))
    return Tracer(builder, node, boxed=True)


@stands_for(np.zeros_like)
def zeros_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None,
               *, device: Any = None) -> Any:
    """Zeros of the shape and dtype of ``a``."""
    return _filled(a, 0, dtype, shape)


@stands_for(np.empty_like)
def empty_like(prototype: Any, dtype: Any = None, order: Any = "K", subok: bool = True,
               shape: Any = None, *, device: Any = None) -> Any:
    """Zeros, since the contents are undefined anyway."""
    return _filled(prototype, 0, dtype, shape)


@stands_for(np.ones_like)
def ones_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None,
              *, device: Any = None) -> Any:
    """Ones of the shape and dtype of ``a``."""
    return _filled(a, 1, dtype, shape)


@stands_for(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True,
              shape: Any = None, *, device: Any = None) -> Any:
    """An array of the shape and dtype of ``a``, filled with a value."""
    a = asarray(a)
    if isinstance(fill_value, Tracer) and fill_value.shape:
        value = cast(fill_value, dtype or a.dtype)
        return fresh(layout.broadcast(value, a.shape if shape is None else shape_of(shape)))
    return _filled(a, fill_value, dtype, shape)


@stands_for(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    """Shape."""
    return asarray(a).shape  # type: ignore[no-any-return]


@stands_for(np.size)
def size(a: Any, axis: Any = None) -> int:
    """Number of elements, in all or along an axis."""
    a = asarray(a)
    return int(a.size if axis is None else np.prod(np.take(a.shape, axis)))


@stands_for(np.ndim)
def ndim(a: Any) -> int:
    """Number of axes."""
    return asarray(a).ndim  # type: ignore[no-any-return]


@stands_for(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return asarray(x).dtype.kind == "c"  # type: ignore[no-any-return]


@stands_for(np.isrealobj)
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


@stands_for(np.result_type)
def result_type(*args: Any) -> np.dtype[Any]:
    """The dtype NumPy would give."""
    values = [a.dtype.type(0).item() if isinstance(a, Tracer) and a.type.weak
              else a.dtype if isinstance(a, Tracer) else a for a in args]
    return np.result_type(*values)


@stands_for(np.may_share_memory, np.shares_memory)
def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two arrays are, or are views of, the same one."""
    def root(x: Any) -> Any:
        while isinstance(x, Tracer) and x._base is not None:
            x = x._base
        return x
    return root(a) is root(b)
