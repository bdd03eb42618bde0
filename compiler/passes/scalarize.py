"""From small arrays to their elements: the graph as straight-line arithmetic on numbers.

Every array of the graph becomes a NumPy object array of traced numbers, and each operator's own
NumPy callable is applied to it: layout, joins, contractions and sums of object arrays are
element arithmetic by themselves. Elementwise operators are applied element by element.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from ..graph import CAPTURED, CONSTANT, INPUT, Graph, Guard, Node
from ..ops import arithmetic, comparison, contraction, indexing, layout, reduction, transcendental
from ..ops.row import Op
from ..trace.tracer import TraceBuilder, Tracer

_BY_OBJECTS = frozenset((
    layout.reshape, layout.transpose, layout.broadcast_to, layout.concatenate, layout.stack,
    layout.roll, layout.pad, layout.tril, layout.triu, indexing.getitem, indexing.setitem,
    indexing.scatter_add, reduction.sum, reduction.prod, reduction.cumsum, reduction.cumprod,
    contraction.matmul, contraction.tensordot, contraction.einsum))
_DTYPES = frozenset(map(np.dtype, (float, np.int64, bool)))
_CONTRACTIONS = frozenset((contraction.matmul, contraction.tensordot, contraction.einsum))
_EXTREMA = {reduction.max: comparison.maximum, reduction.min: comparison.minimum,
            reduction.any: comparison.logical_or, reduction.all: comparison.logical_and}


_OF_FLOATS = _CONTRACTIONS | {arithmetic.power, arithmetic.fmod, reduction.prod,
                               reduction.cumprod}
_ARITHMETIC = _CONTRACTIONS | {reduction.sum, reduction.prod, reduction.cumsum, reduction.cumprod,
                              indexing.scatter_add}


class _Product:
    """A number whose products with structural zeros are zero, for contractions of tangents."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __mul__(self, other: "_Product") -> "_Product":
        return _Product(arithmetic.scale(self.value, other.value))

    def __add__(self, other: Any) -> "_Product":
        return _Product(self.value + (other.value if isinstance(other, _Product) else other))

    __radd__ = __add__


def is_scalarizable(graph: Graph, limit: int) -> bool:
    """Whether the graph consists of small real float64 arrays and operators on elements."""
    total = 0
    for node in graph.nodes:
        type = node.type
        if not isinstance(type, ArrayType) or type.dtype not in _DTYPES or type.size == 0:
            return False
        total += type.size
        if total > limit:
            return False
        if type.dtype.kind == "i" and node.op in _OF_FLOATS:
            return False                    # math's is a float, and Python's whole numbers grow
        if node.op in (INPUT, CONSTANT, CAPTURED) or node.op in _BY_OBJECTS or \
                node.op in _EXTREMA or node.op is reduction.norm or node.op is arithmetic.as_float:
            continue
        if node.op is arithmetic.convert:
            if type.dtype.kind != "f" and node.args[0].type.dtype.kind == "f":
                return False
            continue
        if node.op.batch is not None or node.op.params:
            return False
    return all(_static_index(node) for node in graph.nodes)


def _static_index(node: Node) -> bool:
    n_data = {indexing.getitem: 1, indexing.setitem: 2, indexing.scatter_add: 2}.get(node.op)
    return n_data is None or all(a.op is CONSTANT for a in node.args[n_data:])


def scalarize(graph: Graph) -> Graph:
    """The same function on numbers; array inputs are read element by element."""
    builder = TraceBuilder(graph.name)
    values: dict[Node, Any] = {}
    tangents = depends_on_basis(graph)
    for node in graph.inputs:
        builder.nodes.append(node)
        builder.inputs.append(node)
        values[node] = _elements(builder, node)
    for node in graph.nodes:
        if node.op is INPUT:
            continue
        builder.origin = node.origin and node.origin.unnamed
        values[node] = _value(builder, node, [values[a] for a in node.args], tangents)
        if node.type.shape == () and node.origin and node.origin.name:
            made = values[node].node
            elements = node.op is indexing.getitem or made.op is not indexing.getitem
            if elements and made.args and (made.origin is None or made.origin.name is None):
                made.origin = node.origin
    builder.origin = None
    for guard in graph.guards:
        builder.guards.append(Guard(_lift(builder, values[guard.node]), guard.expected,
                                    guard.origin))
    outputs = [_assembled(builder, values[n], n.type) for n in graph.outputs]
    builder.closed = True
    return builder.graph(outputs)


def _lift(builder: TraceBuilder, value: Any) -> Node:
    if isinstance(value, np.ndarray) and not value.ndim and value.dtype == object:
        value = value.item()
    node: Node = builder.lift(value)
    return node


def _object_array(shape: tuple[int, ...], items: Sequence[Any]) -> Any:
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out.reshape(shape)


def _elements(builder: TraceBuilder, node: Node) -> Any:
    """An input or captured array as an object array of its elements."""
    if node.type.shape == ():
        return Tracer(builder, node)
    return _object_array(node.type.shape, [
        Tracer(builder, builder.emit(indexing.getitem, (node,), (index,)))
        for index in np.ndindex(node.type.shape)])


def _value(builder: TraceBuilder, node: Node, args: list[Any], tangents: set[Node]) -> Any:
    if node.op is CAPTURED:
        builder.by_reference[id(node.value)] = node.value
        return _elements(builder, builder.constant(node.value))
    if node.op is CONSTANT:
        value = np.asarray(node.value)
        return Tracer(builder, builder.constant(value.item())) if not value.ndim else \
            _object_array(value.shape, [Tracer(builder, builder.constant(v))
                                        for v in value.ravel().tolist()])
    if node.op in (arithmetic.convert, arithmetic.as_float):
        return _of_kind(builder, args[0], node.args[0].type, node.type.dtype.kind)
    if node.op in _EXTREMA:
        if node.op in (reduction.any, reduction.all) and node.args[0].type.dtype != bool:
            args = [_elementwise(builder, comparison.not_equal, [args[0], 0],
                                 node.args[0].type.shape)]
        return _extremum(builder, _EXTREMA[node.op], args[0], node.settings)
    if node.op is reduction.norm:
        squares = _elementwise(builder, transcendental.square, args, node.args[0].type.shape)
        total = reduction.sum.call(np.asarray(squares, dtype=object) if not isinstance(
            squares, Tracer) else _object_array((), [squares]), **node.settings)
        return _elementwise(builder, transcendental.sqrt, [total], node.type.shape)
    if node.op in _BY_OBJECTS:
        n_data = len(args)
        if node.op in _ARITHMETIC:
            args = [_numbers(builder, v) if a.type.dtype == bool else v
                    for v, a in zip(args, node.args, strict=True)]
            if node.type.dtype == bool:                     # whether there is any
                count = node.op.call(*[np.asarray(v, dtype=object) for v in args],
                                     **node.settings)
                return _elementwise(builder, comparison.not_equal, [count, 0], node.type.shape)
        if node.op in (indexing.getitem, indexing.setitem, indexing.scatter_add):
            n_data = 1 if node.op is indexing.getitem else 2
        kind = node.type.dtype.kind
        args = [_of_kind(builder, v, a.type, kind) if i < n_data else v
                for i, (v, a) in enumerate(zip(args, node.args, strict=True))]
        data = [np.asarray(a, dtype=object) if not isinstance(a, Tracer) else _object_array(
            (), [a]) for a in args[:n_data]]
        index = [np.asarray(a.value) for a in node.args[n_data:]]
        if node.op in _CONTRACTIONS and any(a in tangents for a in node.args):
            out = node.op.call(*[_map(_Product, d) for d in data], *index, **node.settings)
            return _map(lambda v: v.value if isinstance(v, _Product) else v, out)
        out = node.op.call(*data, *index, **node.settings)
        return out.item() if isinstance(out, np.ndarray) and out.ndim == 0 else out
    return _elementwise(builder, node.op, args, node.type.shape)


def _of_kind(builder: TraceBuilder, value: Any, type: ArrayType, kind: str) -> Any:
    """Elements as truth values, whole numbers or floats; floats stay what they are."""
    old = type.dtype.kind
    if old in (kind, "f"):
        return value
    if kind == "f":
        return _elementwise(builder, arithmetic.as_float, [value], type.shape)
    if kind == "b":
        return _elementwise(builder, comparison.not_equal, [value, 0], type.shape)
    return _numbers(builder, value)


def _numbers(builder: TraceBuilder, value: Any) -> Any:
    """Truth values as whole numbers: their sums count, where truth values only say whether."""
    def number(v: Any) -> Any:
        return _apply(builder, comparison.where, [v, 1, 0])
    return number(value) if isinstance(value, Tracer) else _map(number, value)


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return function(value)
    if not value.ndim:
        return _object_array((), [function(value.item())])
    return _object_array(value.shape, [function(v) for v in value.ravel()])


def _elementwise(builder: TraceBuilder, op: Op, args: list[Any], shape: tuple[int, ...]) -> Any:
    if shape == ():
        return _apply(builder, op, [a.item() if isinstance(a, np.ndarray) and a.dtype == object
                                    else a for a in args])
    wide = [np.broadcast_to(_object_array((), [a]) if not isinstance(a, np.ndarray)
                            or (isinstance(a, Tracer) and not a.shape and type(a) is Tracer)
                            else a, shape).ravel() for a in args]
    return _object_array(shape, [_apply(builder, op, items) for items in zip(*wide, strict=True)])


def _apply(builder: TraceBuilder, op: Op, items: Sequence[Any]) -> Tracer:
    """One application on elements, some of which may be plain numbers."""
    return Tracer(builder, builder.emit(op, tuple([builder.lift(v) for v in items])))


def _extremum(builder: TraceBuilder, op: Op, x: Any, settings: dict[str, Any]) -> Any:
    x = np.asarray(x, dtype=object) if not isinstance(x, Tracer) else _object_array((), [x])
    axis = settings["axis"]
    kept = [i for i in range(x.ndim) if i not in axis]
    rows = x.transpose(*kept, *axis).reshape(*[x.shape[i] for i in kept], -1)
    flat = []
    for row in rows.reshape(-1, rows.shape[-1]):
        total = row[0]
        for v in row[1:]:
            total = _apply(builder, op, (total, v))
        flat.append(total)
    shape = tuple(1 if i in axis else n for i, n in enumerate(x.shape)) if settings["keepdims"] \
        else rows.shape[:-1]
    return _object_array(shape, flat) if shape else flat[0]


def _assembled(builder: TraceBuilder, value: Any, type: ArrayType) -> Node:
    """An output array from its elements: a row of them, reshaped."""
    if type.shape == ():
        return _lift(builder, value)
    flat = [_lift(builder, v) for v in value.ravel()]
    node = builder.emit(layout.stack, tuple(flat), (0,))
    if len(type.shape) > 1:
        node = builder.emit(layout.reshape, (node,), (type.shape,))
    return node


def depends_on_basis(graph: Graph) -> set[Node]:
    """Nodes that depend on a basis of unit vectors, whose zeros are structural."""
    found: set[Node] = set()
    for node in graph.nodes:
        if (node.op is CONSTANT and _is_basis(node.value)) or any(a in found for a in node.args):
            found.add(node)
    return found


def _is_basis(value: Any) -> bool:
    array = np.asarray(value)
    if array.ndim < 2:
        return False
    rows = array.reshape(len(array), -1)
    return rows.shape[0] == rows.shape[1] and bool(np.array_equal(rows, np.eye(len(rows))))
