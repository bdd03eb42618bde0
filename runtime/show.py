"""The evaluation trace of a function as a table: values forward, adjoints backward."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..compiler.errors import NonScalarOutputError
from ..compiler.graph import Graph, Node, inline, keep_leaf, reachable
from ..compiler.interpret import interpret
from ..compiler.text import wengert_lines
from ..compiler.trace.tracer import TraceBuilder, Tracer
from ..compiler.transforms.jvp import push_forward
from ..compiler.transforms.transpose import Cotangents, sweep
from ..compiler.transforms.vjp import vary
from .api import trace

_MACRON = "\u0304"


class Row(NamedTuple):
    """One line of the trace; ``adjoint`` is ∂result/∂value, None where there is none."""

    name: str
    expression: str
    value: Any
    adjoint: Any
    tangent: Any


@dataclass(frozen=True)
class Table:
    """The trace, printed in the order of computation and then backward."""

    rows: tuple[Row, ...]

    def __str__(self) -> str:
        forward = [(f"{r.name} = {r.expression}", _number(r.value)) for r in self.rows]
        if any(r.tangent is not None for r in self.rows):
            forward = [(*cells, _number(r.tangent))  # type: ignore[misc]
                       for cells, r in zip(forward, self.rows, strict=True)]
        backward = [(f"{r.name[0]}{_MACRON}{r.name[1:]}", _number(r.adjoint))
                    for r in reversed(self.rows) if r.adjoint is not None]
        return "\n".join([*_aligned(forward), "", *_aligned(backward)])


def wengert_table(function: Graph | Callable[..., Any], *args: Any,
                  tangents: Sequence[Any] | None = None) -> Table:
    """The evaluation trace of a scalar function, with the adjoint of every value.

    Args:
        function: a graph, or a function to be traced.
        args: where.
        tangents: one for each number or array in ``args``; adds the values carried by forward
            mode.

    >>> import numpy as np
    >>> print(wengert_table(lambda x, y: np.log(x) + x * y, 2.0, 5.0))
    v₋₁ = x         2
    v₀ = y          5
    v₁ = ln v₋₁     0.693147
    v₂ = v₋₁·v₀     10
    v₃ = v₁ + v₂    10.6931
    <BLANKLINE>
    v̄₃     1
    v̄₂     1
    v̄₁     1
    v̄₀     2
    v̄₋₁    5.5
    """
    graph = function if isinstance(function, Graph) else trace(function)(*args)
    if len(graph.outputs) != 1 or graph.outputs[0].type.shape != ():
        raise NonScalarOutputError("A table of adjoints needs a function with a scalar result.")
    lines = wengert_lines(graph)
    values = dict(zip([n for n, _, _ in lines], _values(graph, lines, args), strict=True))
    adjoints = _adjoints(graph, args)
    moving = {} if tangents is None else _tangents(graph, args, tangents)
    return Table(tuple(Row(name, text, values[n], adjoints.get(n), moving.get(n))
                       for n, name, text in lines))


def _values(graph: Graph, lines: Sequence[tuple[Node, str, str]], args: Sequence[Any]
            ) -> list[Any]:
    return interpret(Graph(graph.name, graph.inputs, tuple(n for n, _, _ in lines), graph.nodes,
                           graph.guards), *args)


def _adjoints(graph: Graph, args: Sequence[Any]) -> dict[Node, Any]:
    """Derivative of the result with respect to every value it depends on."""
    builder = TraceBuilder(graph.name)
    new = {node: keep_leaf(builder, node) for node in graph.inputs}
    copies = inline(builder, Graph(graph.name, graph.inputs, graph.nodes, graph.nodes,
                                   graph.guards), [new[n] for n in graph.inputs])
    new = dict(zip(graph.nodes, copies, strict=True))
    (out,) = graph.outputs
    cts: Cotangents = {out: Tracer(builder, builder.constant(out.type.dtype.type(1)))}
    varied = vary(graph, range(len(graph.inputs))) & reachable([out])
    sweep(builder, graph.nodes, varied, cts, new)
    nodes = [n for n in graph.nodes if n in cts and not isinstance(cts[n], list)]
    found = interpret(builder.graph([cts[n].node for n in nodes]), *args)
    return dict(zip(nodes, found, strict=True))


def _tangents(graph: Graph, args: Sequence[Any], tangents: Sequence[Any]) -> dict[Node, Any]:
    """What forward mode carries along."""
    builder = TraceBuilder(graph.name)
    new = {node: keep_leaf(builder, node) for node in graph.inputs}
    moving: dict[Node, Any] = {
        node: Tracer(builder, builder.constant(np.asarray(t, node.type.dtype)[()]))
        for node, t in zip(graph.inputs, tangents, strict=True)}
    push_forward(builder, graph, new, moving)
    nodes = [n for n, t in moving.items() if isinstance(t, Tracer)]
    found = interpret(builder.graph([moving[n].node for n in nodes]), *args)
    return dict(zip(nodes, found, strict=True))


def _number(value: Any) -> str:
    if value is None:
        return ""
    if np.size(value) == 1:
        return f"{np.asarray(value).item():.6g}"
    return np.array2string(np.asarray(value), precision=6, threshold=6)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns under one another; combining marks take no room."""
    width = max((_width(r[0]) for r in rows), default=0)
    second = max((len(r[1]) for r in rows), default=0)
    return ["    ".join([r[0] + " " * (width - _width(r[0])), *[c.ljust(second) for c in r[1:]]])
            .rstrip() for r in rows]


def _width(text: str) -> int:
    return len(text) - text.count(_MACRON)
