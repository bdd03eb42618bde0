"""Making and converting arrays: array, asarray, zeros_like, full_like, copy, astype."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arraytype import is_python_number
from ...graph import CURRENT
from ...ops import arithmetic, layout
from .. import mutation
from ..registry import stands_for
from ..tracer import Tracer, contains_tracer, deepest


def shape_of(shape: Any) -> tuple[int, ...]:
    """Shape argument as a tuple of ints."""
    if isinstance(shape, (int, np.integer)) or not isinstance(shape, (Sequence, np.ndarray)):
        return (int(shape),)
    return tuple(int(n) for n in shape)


def current_builder() -> Any:
    """The trace that is going on in this thread."""
    return CURRENT.builder


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


def fresh(x: Tracer, packed: bool = False) -> Tracer:
    """The same value as an array of its own, as ``copy`` gives."""
    return Tracer(x.builder, x.node, boxed=True, packed=packed)


def cast(x: Any, dtype: Any) -> Any:
    """``x`` in another dtype."""
    if dtype is None or (np.dtype(dtype) == x.dtype and not getattr(x.type, "weak", False)):
        return x
    return arithmetic.convert(x, dtype=np.dtype(dtype).name)


def _constant(value: Any) -> Any:
    """A plain array of numbers as a traced constant, which may be assigned into."""
    builder = current_builder()
    if builder is None or not isinstance(value, np.ndarray) or value.dtype.kind not in "biufc":
        return value
    return Tracer(builder, builder.lift(value), boxed=True)


def _is_numeric(dtype: Any) -> bool:
    """Whether arrays of this dtype can be traced; object arrays hold their elements as they are."""
    return np.dtype(dtype).kind in "biufc"


def _object_array(value: Any) -> Any:
    """A sequence with traced values in it as an array of objects."""
    stacked = _nested(value)
    out = np.empty(np.shape(stacked), dtype=object)
    for index in np.ndindex(out.shape):
        out[index] = stacked[index]
    return out


def _full(value: Any, shape: Any, dtype: Any) -> Any:
    """``broadcast_to`` of a number: stays code, however large."""
    builder = current_builder()
    shape = shape_of(shape)
    if not _is_numeric(dtype):
        return np.full(shape, value, dtype)
    node = builder.constant(np.dtype(dtype).type(value))
    if shape:
        node = builder.emit(layout.broadcast_to, (node,), (shape,))
    return Tracer(builder, node, boxed=True)


@stands_for(np.zeros, creates=True)
def zeros(shape: Any, dtype: Any = float, order: str = "C", **_: Any) -> Any:
    """Zeros."""
    return _full(0, shape, float if dtype is None else dtype)


@stands_for(np.empty, creates=True)
def empty(shape: Any, dtype: Any = float, order: str = "C", **_: Any) -> Any:
    """Zeros, since the contents are undefined anyway (of objects: None)."""
    dtype = float if dtype is None else dtype
    return _full(0 if _is_numeric(dtype) else None, shape, dtype)


@stands_for(np.ones, creates=True)
def ones(shape: Any, dtype: Any = None, order: str = "C", **_: Any) -> Any:
    """Ones."""
    return _full(1, shape, float if dtype is None else dtype)


@stands_for(np.full, creates=True)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **_: Any) -> Any:
    """An array filled with a value."""
    value = asarray(fill_value)
    if not isinstance(value, Tracer):
        dtype = value.dtype if dtype is None else dtype
        if value.ndim == 0:
            return _full(value, shape, dtype)
        return _constant(np.full(shape, value, dtype))
    value = cast(value, value.dtype if dtype is None else dtype)
    return fresh(layout.broadcast(value, shape_of(shape)))


@stands_for(np.eye, creates=True)
def eye(*args: Any, **kwargs: Any) -> Any:
    """Ones on a diagonal."""
    return _constant(np.eye(*args, **kwargs))


@stands_for(np.identity, creates=True)
def identity(n: int, dtype: Any = None, **_: Any) -> Any:
    """Ones on the main diagonal."""
    return _constant(np.identity(n, dtype))


@stands_for(np.arange, creates=True)
def arange(*args: Any, **kwargs: Any) -> Any:
    """Evenly spaced numbers; their count is a decision where bounds are traced."""
    if not any(isinstance(a, Tracer) for a in (*args, *kwargs.values())):
        return _constant(np.arange(*args, **kwargs))
    start, stop, step = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
    count = max(0, int(np.ceil((stop - start) / step)))
    return start + np.arange(count) * step


@stands_for(np.linspace, creates=True)
def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
             dtype: Any = None, axis: int = 0, **_: Any) -> Any:
    """Evenly spaced numbers over an interval."""
    if not contains_tracer((start, stop)):
        plain: Any = np.linspace
        out = plain(start, stop, num, endpoint, retstep, dtype, axis)
        return (_constant(out[0]), out[1]) if retstep else _constant(out)
    start, stop = (1.0 * (v if is_python_number(v) else asarray(v)) for v in (start, stop))
    num = int(num)
    intervals = num - 1 if endpoint else num
    delta = stop - start
    weights = (np.arange(num) / max(intervals, 1)).astype(delta.dtype)
    weights = np.reshape(weights, (-1,) + (1,) * np.ndim(delta))
    out = start + weights * delta
    if axis:
        out = np.moveaxis(out, 0, axis)
    out = cast(out, dtype)
    return (out, delta / intervals) if retstep else out


@stands_for(np.logspace, creates=True)
def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0,
             dtype: Any = None, axis: int = 0) -> Any:
    """Powers of the base with evenly spaced exponents."""
    if not contains_tracer((start, stop, base)):
        return _constant(np.logspace(start, stop, num, endpoint, base, dtype, axis))
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    base = np.expand_dims(base, axis) if np.ndim(base) else base
    return cast(np.power(base, exponents), dtype)


@stands_for(np.geomspace, creates=True)
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None,
              axis: int = 0) -> Any:
    """Numbers with a constant ratio, from the first to the last."""
    if not contains_tracer((start, stop)):
        return _constant(np.geomspace(start, stop, num, endpoint, dtype, axis))
    start, stop = np.multiply(1.0, start), np.multiply(1.0, stop)
    shape = np.broadcast_shapes(np.shape(start), np.shape(stop))
    powers = linspace(np.zeros(shape), np.log(stop / start), num, endpoint, axis=axis)
    first = np.expand_dims(start, axis) if np.ndim(start) else start
    return cast(first * np.exp(powers), dtype)


@stands_for(np.array, creates=True)
def array(object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K",
          subok: bool = False, ndmin: int = 0, like: Any = None) -> Any:
    """An array of its own from numbers, sequences and traced values."""
    if dtype is not None and not _is_numeric(dtype):
        return _object_array(object) if contains_tracer(object) else np.array(
            object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)
    value = _nested(object)
    if not isinstance(value, Tracer):
        return _constant(np.array(value, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin))
    if dtype is None and value.type.weak:
        dtype = value.dtype
    value = cast(value, dtype)
    if value.ndim < ndmin:
        value = layout.reshape(value, shape=(1,) * (ndmin - value.ndim) + value.shape)
    return fresh(value)


@stands_for(np.fromiter, creates=True)
def fromiter(iter: Any, dtype: Any, count: int = -1, **_: Any) -> Any:
    """An array of what an iterable yields."""
    items = list(iter)
    return array(items if count < 0 else items[:count], dtype)


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


@stands_for(np.copy)
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """A copy."""
    return fresh(asarray(a), packed=order == "C")


@stands_for(method="copy")
def copy_method(a: Any, order: Any = "C") -> Any:
    """A copy, packed row by row unless told otherwise."""
    return copy(a, order)


@stands_for(method="astype")
def astype(x: Tracer, dtype: Any, *_: Any, **__: Any) -> Any:
    """A copy in another dtype."""
    return fresh(cast(x, dtype))


@stands_for(method="item")
def item(x: Tracer, *index: Any) -> Any:
    """The element as a scalar."""
    if index:
        if len(index) == 1 and not isinstance(index[0], tuple):
            return item(layout.reshape(x, shape=(x.size,))[index[0]])
        return item(x[index[0] if len(index) == 1 else index])
    if x.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    x = mutation.reshape_scalar(x)
    return arithmetic.as_float(x) if x.dtype.kind == "f" else x


@stands_for(method="tolist")
def tolist(x: Tracer) -> Any:
    """Nested lists of scalars."""
    if not x.shape:
        return item(x)
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
