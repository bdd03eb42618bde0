"""Derivatives as graphs: gradients, Jacobians by batched sweeps, Hessians."""

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np

from ..arraytype import ArrayType
from ..graph import Graph, Node, inline, keep_leaf
from ..ops import arithmetic, comparison
from ..trace.tracer import TraceBuilder, Tracer
from .batch import batch
from .jvp import jvp, zeros
from .vjp import vjp

Mode = Literal["auto", "forward", "reverse"]


def select_outputs(graph: Graph, positions: Sequence[int]) -> Graph:
    """The graph with some of its outputs only."""
    return Graph(graph.name, graph.inputs, tuple(graph.outputs[i] for i in positions),
                 graph.nodes, graph.guards)


def _size(nodes: Sequence[Node]) -> int:
    return sum(node.type.size for node in nodes)


def sweeps(graph: Graph, wrt: Sequence[int], outputs: Sequence[int], mode: Mode) -> str:
    """Direction of the Jacobian: along the shorter side."""
    if mode != "auto":
        return mode
    n_in = _size([graph.inputs[i] for i in wrt])
    n_out = _size([graph.outputs[i] for i in outputs])
    return "reverse" if n_out < n_in else "forward"


def jacobian(graph: Graph, wrt: Sequence[int], outputs: Sequence[int], mode: Mode = "auto",
             name: str | None = None) -> Graph:
    """Graph of all blocks ∂output/∂input, output by output, each of shape out + in.

    Forward mode pushes the columns of the identity through the tangents, reverse mode pulls its
    rows back through the cotangents, all at once along a batch axis.
    """
    builder = TraceBuilder(name or f"{graph.name}_jacobian")
    args = [keep_leaf(builder, node) for node in graph.inputs]
    blocks: dict[tuple[int, int], Any] = {}
    if sweeps(graph, wrt, outputs, mode) == "forward":
        for i in wrt:
            for o, block in zip(outputs, _columns(builder, graph, args, i, outputs), strict=True):
                blocks[o, i] = block
    else:
        for o in outputs:
            for i, block in zip(wrt, _rows(builder, graph, args, wrt, o), strict=True):
                blocks[o, i] = block
    builder.closed = True
    builder.guards = list(dict.fromkeys(builder.guards))
    return builder.graph([blocks[o, i].node for o in outputs for i in wrt])


def _basis(builder: TraceBuilder, type: ArrayType, unit: complex = 1) -> Node:
    """All unit vectors, times a unit; their zeros are structural."""
    eye = np.eye(type.size, dtype=bool).reshape(type.size, *type.shape)
    one, zero = type.dtype.type(unit), type.dtype.type(0)
    return builder.emit(comparison.where, tuple([builder.constant(v) for v in (eye, one, zero)]))


def _columns(builder: TraceBuilder, graph: Graph, args: list[Node], i: int,
             outputs: Sequence[int]) -> list[Any]:
    pushed = jvp(graph, [i])
    pushed = select_outputs(pushed, [len(graph.outputs) + o for o in outputs])
    type = graph.inputs[i].type
    columns = _pushed(builder, graph, pushed, args, type, 1.0, outputs)
    if type.dtype.kind == "c":
        # A complex direction has two real ones: ∂/∂x − i·∂/∂y, as reverse mode gives it.
        imaginary = _pushed(builder, graph, pushed, args, type, 1j, outputs)
        columns = [c - 1j * d if graph.outputs[o].type.dtype.kind != "c" else c
                   for c, d, o in zip(columns, imaginary, outputs, strict=True)]
    # In the precision of the input, as reverse mode gives it.
    return [arithmetic.match_dtype(c, type.dtype) if c.dtype.kind == type.dtype.kind else c
            for c in columns]


def _pushed(builder: TraceBuilder, graph: Graph, pushed: Graph, args: list[Node], type: Any,
            unit: complex, outputs: Sequence[int]) -> list[Any]:
    """Tangents of the outputs along all unit directions of one input, as Jacobian columns."""
    if type.shape == ():
        seed = builder.constant(type.dtype.type(unit))
        return [Tracer(builder, n) for n in inline(builder, pushed, [*args, seed])]
    many, has_axis = batch(pushed, type.size, [False] * len(args) + [True])
    found = inline(builder, many, [*args, _basis(builder, type, unit)])
    out: list[Any] = []
    for node, is_batched, o in zip(found, has_axis, outputs, strict=True):
        shape = graph.outputs[o].type.shape
        if is_batched:
            block: Any = np.moveaxis(cast(Any, Tracer(builder, node)), 0, -1)
            out.append(np.reshape(block, (*shape, *type.shape)))
        else:                                              # no dependence: zero
            block_type = node.type._replace(shape=(*shape, *type.shape))
            out.append(zeros(builder, block_type))
    return out


def _rows(builder: TraceBuilder, graph: Graph, args: list[Node], wrt: Sequence[int], o: int
          ) -> list[Any]:
    pulled = vjp(graph, wrt, seeded=[o])
    pulled = select_outputs(pulled, range(len(graph.outputs), len(graph.outputs) + len(wrt)))
    rows = _pulled(builder, graph, pulled, args, wrt, o, 1)
    real_inputs = [graph.inputs[i].type.dtype.kind != "c" for i in wrt]
    if graph.outputs[o].type.dtype.kind == "c" and any(real_inputs):
        # A real input receives the real part of ct·J only; ct = −i brings the imaginary part.
        imaginary = _pulled(builder, graph, pulled, args, wrt, o, -1j)
        rows = [r + 1j * m if is_real else r
                for r, m, is_real in zip(rows, imaginary, real_inputs, strict=True)]
    return rows


def _pulled(builder: TraceBuilder, graph: Graph, pulled: Graph, args: list[Node],
            wrt: Sequence[int], o: int, unit: complex) -> list[Any]:
    """Cotangents of the inputs for all unit cotangents of one output, as Jacobian rows."""
    type, seed_type = graph.outputs[o].type, pulled.inputs[-1].type
    if type.shape == ():
        seed = builder.constant(seed_type.dtype.type(unit))
        return [Tracer(builder, n) for n in inline(builder, pulled, [*args, seed])]
    many, has_axis = batch(pulled, type.size, [False] * len(args) + [True])
    found = inline(builder, many, [*args, _basis(builder, seed_type, unit)])
    out: list[Any] = []
    for node, is_batched, i in zip(found, has_axis, wrt, strict=True):
        shape = (*type.shape, *graph.inputs[i].type.shape)
        block: Any = Tracer(builder, node)
        out.append(np.reshape(block, shape) if is_batched
                   else zeros(builder, node.type._replace(shape=shape)))
    return out


def gradient(graph: Graph, wrt: Sequence[int], output: int = 0, name: str | None = None) -> Graph:
    """Graph of a scalar output's gradient alone."""
    pulled = vjp(graph, wrt, seeded=[output], unit=True, name=name)
    return select_outputs(pulled, range(len(graph.outputs), len(pulled.outputs)))


def gradient_forward(graph: Graph, wrt: Sequence[int], output: int = 0, name: str | None = None
                     ) -> Graph:
    """The same by forward mode: a Jacobian of one row."""
    return jacobian(graph, wrt, [output], "forward", name)


def hessian(graph: Graph, wrt: Sequence[int], output: int = 0, mode: Mode = "auto",
            name: str | None = None) -> Graph:
    """Graph of all blocks ∂²output/∂input∂input: forward over reverse unless told otherwise."""
    first = gradient(graph, wrt, output)
    return jacobian(first, wrt, range(len(wrt)), "forward" if mode == "auto" else mode, name)


def hvp(graph: Graph, wrt: Sequence[int], output: int = 0, name: str | None = None) -> Graph:
    """Graph of a Hessian times a vector: the tangent of the gradient."""
    first = gradient(graph, wrt, output)
    pushed = jvp(first, wrt, name)
    return select_outputs(pushed, range(len(wrt), 2 * len(wrt)))
