"""Indexing, views and assignment of traced values, with NumPy's meaning.

Nodes never change; assignment makes a new node and lets the tracer stand for it. A view is a
tracer with a base: it reads itself anew when the base has changed, and writing to it writes the
base. ``read``/``write`` of a :class:`View` are that pair of directions.
"""

import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import MutationError, UnsupportedArgumentError
from ..graph import CURRENT, INPUT, Builder, Node
from ..ops import arithmetic, comparison, indexing, layout
from ..ops.index_form import canonical_index as canonical_form
from ..ops.index_form import getitem_shape, numpy_index
from ..ops.table import BY_FUNCTION
from .builder import inmost
from .locate import locate
from .registry import FUNCTIONS, unsupported

if TYPE_CHECKING:
    from .tracer import Tracer


class View(NamedTuple):
    """How a view is read from its base node, and how a new value is written into the base.

    ``probe`` takes the same view of an ordinary array. Where NumPy gives a copy for some memory
    layouts, ``is_view`` tells which it is for a base that lies like a given array; the question
    is put off until either is written to, since it makes no difference before.
    """

    read: Callable[[Builder, Node], Node]
    write: Callable[[Builder, Node, Node], Node] | None
    probe: Callable[[Any], Any]
    is_view: Callable[[Any], bool] | None = None


def read_view(view: View, builder: Builder, base: Node) -> Node:
    """The view's node; it belongs to the base's trace, also where a body looks at it."""
    around = CURRENT.builder
    CURRENT.builder = builder
    try:
        return view.read(builder, base)
    finally:
        CURRENT.builder = around


def view_of(base: "Tracer", view: View) -> "Tracer":
    """A tracer that is a view of another one."""
    node = base.node
    out = type(base)(base.builder, read_view(view, base.builder, node), boxed=True)
    out._base, out._view, out._seen = base, view, node
    return out


def layout_view(base: "Tracer", op: Any, back: Any, **params: Any) -> "Tracer":
    """A view by an operator that only rearranges; ``back(type) -> (op, params)`` undoes it."""
    values = tuple(params[name] for name in op.params)

    def read(builder: Builder, node: Node) -> Node:
        return builder.emit(op, (node,), values)

    def write(builder: Builder, node: Node, new: Node) -> Node:
        back_op, back_params = back(node.type)
        return builder.emit(back_op, (new,), back_params)
    return view_of(base, View(read, write, lambda array: op.call(array, **params)))


def reshaped(x: "Tracer", shape: tuple[int, ...]) -> "Tracer":
    """``x`` in another shape: a view where NumPy makes one, else a copy."""
    if x.ndim <= 1 or [n for n in shape if n != 1] == [n for n in x.shape if n != 1]:
        return layout_view(x, layout.reshape, _undo_reshape, shape=shape)
    return _view_or_copy(x, shape, partial(_reshapes_in_place, shape=shape))


def raveled(x: "Tracer") -> "Tracer":
    """``x`` in one row: a view where it lies in memory like that, else a copy."""
    return _view_or_copy(x, (x.size,), lambda array: array.flags.c_contiguous)


def _reshapes_in_place(array: Any, shape: tuple[int, ...]) -> bool:
    try:
        np.reshape(array, shape, copy=False)
    except ValueError:
        return False
    return True


def _view_or_copy(x: "Tracer", shape: tuple[int, ...], is_view: Callable[[Any], bool]) -> "Tracer":
    out = layout_view(x, layout.reshape, _undo_reshape, shape=shape)
    assert out._view is not None
    out._view = out._view._replace(is_view=is_view)
    if memory_probe(x) is not None:
        settle(out)
    return out


def settle(x: "Tracer") -> None:
    """Find out whether this is a view or a copy.

    The layout of an argument is looked up in the call's own, and guarded.

    Raises:
        MutationError: if it depends on a layout that is not known.
    """
    view, base = x._view, x._base
    assert view is not None
    assert view.is_view is not None
    assert base is not None
    probe = memory_probe(base, ask=True)
    if probe is None:
        raise MutationError(
            "An array is written to after it was reshaped (or raveled); whether NumPy makes a "
            "view or a copy there depends on how the array lies in memory, which is not known "
            "here.", "Copy the array explicitly, with .copy(), before one of the two.", locate())
    if view.is_view(probe):
        x._view = view._replace(is_view=None)
    else:
        x._base = x._view = None


def row_of(x: "Tracer") -> "Tracer":
    """The elements in one row, in any case as a view: what ``x.flat`` iterates over."""
    return layout_view(x, layout.reshape, _undo_reshape, shape=(x.size,))


def _undo_reshape(type: Any) -> Any:
    return layout.reshape, (type.shape,)


def memory_probe(x: "Tracer", ask: bool = False) -> Any:
    """An array that lies in memory as ``x`` would in NumPy (without its memory), if known."""
    if x._base is not None:
        if x._view.is_view is not None:
            if not ask:
                return None
            settle(x)
            return memory_probe(x, ask)
        base = memory_probe(x._base, ask)
        return None if base is None else x._view.probe(base)
    if x.made.op is INPUT:
        if not (ask and x.builder.decide(x.builder.emit(layout.is_contiguous, (x.made,)))):
            return None
    elif not (x.packed or x.builder.is_row_major(x.made)):
        return None
    strides = [x.itemsize]
    for n in reversed(x.shape[1:]):
        strides.insert(0, strides[0] * n)
    return np.lib.stride_tricks.as_strided(np.zeros((), x.dtype), x.shape, strides[:x.ndim])


def assign(target: "Tracer", node: Node) -> None:
    """Let the target, and what it is a view of, stand for a new node of the same type."""
    base = target._base
    if base is None:
        target._node = node
        return
    view = target._view
    assert view is not None
    if view.is_view is not None:
        settle(target)
        assign(target, node)
        return
    if view.write is None:
        raise MutationError("assignment destination is read-only", where=locate())
    assign(base, view.write(target.builder, base.node, node))
    target._node = node
    target._seen = None


def getitem(x: "Tracer", index: Any) -> Any:
    """``x[index]``: a view for basic indexing, a copy for integer and boolean arrays."""
    template, arrays = canonical_index(x, index)
    if not arrays:
        if all(part == ("s", 0, n, 1) for part, n in zip(template, x.shape, strict=False)) \
                and len(template) == x.ndim:
            view = View(lambda b, n: n, lambda b, base, new: new, lambda array: array)
            return view_of(x, view)
        keeps_array = any(isinstance(part, tuple) or part is None for part in template)
        if not keeps_array and not _has_ellipsis(index):
            return indexing.getitem(x, index=template)          # a scalar, not a view
        return view_of(x, View(
            lambda b, n: b.emit(indexing.getitem, (n,), (template,)),
            lambda b, base, new: b.emit(indexing.setitem, (base, new), (template,)),
            lambda array: array[numpy_index(template, ())]))
    return indexing.getitem(x, *arrays, index=template)


def _has_ellipsis(index: Any) -> bool:
    return index is Ellipsis or (isinstance(index, tuple) and any(i is Ellipsis for i in index))


def setitem(x: "Tracer", index: Any, value: Any) -> None:
    """``x[index] = value``, cast to the dtype of ``x`` as NumPy does."""
    if not (x.shape or x.boxed):
        raise TypeError("'float' object does not support item assignment")
    builder = x.builder
    _refuse_outer(x)
    value_node = builder.lift(value)
    if value_node.type.dtype != x.dtype:
        value_node = builder.emit(arithmetic.convert, (value_node,), (x.dtype.name,))
    mask = _mask_alone(x, index)
    if mask is not None and value_node.type.shape == ():
        assign(x, builder.emit(comparison.where, (builder.lift(mask), value_node, x.node)))
        return
    template, arrays = canonical_index(x, index)
    selected = getitem_shape(x.shape, template, [a.shape for a in arrays])
    value_node = _drop_leading_ones(builder, value_node, len(selected))
    nodes = tuple(builder.lift(a) for a in arrays)
    new = builder.emit(indexing.setitem, (x.node, value_node, *nodes), (template,))
    assign(x, new)


def _mask_alone(x: "Tracer", index: Any) -> Any:
    """The mask of ``x[mask] = number``, which is a ``where``; nobody needs to count it."""
    (mask,) = index if isinstance(index, tuple) and len(index) == 1 else (index,)
    kind = getattr(getattr(mask, "dtype", None), "kind", None)
    if kind != "b" or not mask.ndim or mask.shape != x.shape[:mask.ndim]:
        return None
    return mask.reshape(*mask.shape, *(1,) * (x.ndim - mask.ndim))


def _drop_leading_ones(builder: Builder, value: Node, ndim: int) -> Node:
    shape = value.type.shape
    while len(shape) > ndim and shape[0] == 1:
        shape = shape[1:]
    if shape == value.type.shape:
        return value
    return builder.emit(layout.reshape, (value,), (shape,))


def in_place(x: "Tracer", new: "Tracer") -> "Tracer":
    """``x op= y``: write the result into the array ``x`` is, or is a view of."""
    _refuse_outer(x)
    if new.shape != x.shape:
        raise MutationError(
            f"non-broadcastable output operand with shape {x.shape} doesn't match the broadcast "
            f"shape {new.shape}", where=locate())
    if new.dtype != x.dtype:
        if not np.can_cast(new.dtype, x.dtype, "same_kind"):
            raise MutationError(
                f"Cannot cast the result from {new.dtype} to {x.dtype} in an assignment in place.",
                "Make the array of the result's dtype first.", locate())
        new = arithmetic.convert(new, dtype=x.dtype.name)
    if new.builder is not x.builder:
        raise MutationError(
            "A value of an inner derivative is assigned into an array of the outer function.",
            "Return it from the inner function and assign it outside.", locate())
    assign(x, new.node)
    return x


def _refuse_outer(x: "Tracer") -> None:
    """A body may write to its own arrays only."""
    inner = inmost(x.builder)
    if inner is not x.builder:
        raise MutationError(
            f"A body of {inner.body_of} assigns into an array of the function around it.",
            "Carry the array: take it as an argument and return it.", locate())


def reshape_scalar(x: "Tracer") -> "Tracer":
    """A one-element array as a scalar."""
    return layout.reshape(x, shape=()) if x.shape else x


def ufunc_method(ufunc: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc call with options (``out=``, ``where=``, ``dtype=``), or one of its methods."""
    if method != "__call__":
        function = FUNCTIONS.get((ufunc, method))
        if function is None:
            raise UnsupportedArgumentError(
                f"np.{ufunc.__name__}.{method} is not supported on traced values.",
                "Use the NumPy function of that meaning.", locate())
        return function(*args, **kwargs)
    out = kwargs.pop("out", None)
    where = kwargs.pop("where", True)
    dtype = kwargs.pop("dtype", None)
    kwargs.pop("casting", None)
    kwargs.pop("order", None)
    kwargs.pop("subok", None)
    if kwargs and not (ufunc.signature and ufunc in FUNCTIONS):
        raise UnsupportedArgumentError(
            f"np.{ufunc.__name__} with {', '.join(kwargs)}= is not supported on traced values.",
            "Leave the option out.", locate())
    if dtype is not None:
        name = np.dtype(dtype).name
        args = tuple(arithmetic.convert(a, dtype=name) if hasattr(a, "builder")
                     else np.asarray(a, dtype) for a in args)
    op = BY_FUNCTION.get(ufunc)
    if op is not None:
        result = op(*args)
    elif ufunc in FUNCTIONS:
        result = FUNCTIONS[ufunc](*args, **kwargs)
    elif all(set(types) <= set("O->") for types in ufunc.types):      # made by np.frompyfunc
        result = FUNCTIONS[np.frompyfunc, "__call__"](ufunc, *args)
    else:
        raise unsupported(ufunc, locate())
    return write_out(result, out, where)


def write_out(result: Any, out: Any, where: Any = True) -> Any:
    """Store a result in ``out``, if there is one, only where the mask holds."""
    if isinstance(out, tuple):
        if len(out) > 1:
            return tuple(write_out(r, o, where) for r, o in zip(result, out, strict=True))
        (out,) = out
    if out is None:
        if where is not True:
            return comparison.where(where, result, 0.0)
        return result
    if not hasattr(out, "builder"):
        raise MutationError(
            "A traced result is written to a plain array by out=.",
            "Make that array inside the function, or leave out= away.", locate())
    if where is not True:
        result = comparison.where(where, result, out)
    return in_place(out, layout.broadcast(result, out.shape))


def canonical_index(x: "Tracer", index: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """Index in canonical form, and its array parts; see ``ops/index_form.py``."""
    parts = index if isinstance(index, tuple) else (index,)
    if any(hasattr(p, "builder") or isinstance(p, slice) for p in parts):
        index = tuple(_plain_part(p) for p in parts)
    template, arrays = canonical_form(x.shape, index, _mask_count(x))
    return template, arrays


def _plain_part(part: Any) -> Any:
    """Constants and slice bounds as plain values; a traced bound is a decision."""
    if isinstance(part, slice):
        return slice(*[v if v is None else operator.index(v)
                       for v in (part.start, part.stop, part.step)])
    if hasattr(part, "builder") and part.builder.is_constant(part.node):
        value = part.builder.concrete(part.node)
        return value if np.ndim(value) or np.asarray(value).dtype == bool else int(value)
    return part


def _mask_count(x: "Tracer") -> Callable[[Any], int]:
    def count(mask: Any) -> int:
        if isinstance(mask, np.ndarray):
            return int(np.count_nonzero(mask))
        total = FUNCTIONS[np.count_nonzero](mask)
        return int(mask.builder.decide(total.node))
    return count
