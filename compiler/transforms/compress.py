"""Compressed sweeps: all columns (rows) of one colour at once, all colours along a batch axis.

Curtis, Powell and Reid (*On the estimation of sparse Jacobian matrices*, 1974) difference along
sums of unit vectors; here the tangents of the graph are batched over them, or its cotangents. Each
entry that may differ from zero is then read from one place of the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from ..graph import Graph, Node, inline, keep_leaf
from ..ops import arithmetic, comparison, indexing
from ..trace.tracer import TraceBuilder, Tracer
from .batch import batch
from .derive import select_outputs
from .jvp import jvp, zeros
from .pattern import Ints
from .symmetric import Substitution
from .vjp import vjp

FORWARD, REVERSE = 0, 1


@dataclass(frozen=True, eq=False)
class Sweeps:
    """Colours of the columns or rows of a Jacobian; −1 for those that are not swept."""

    direction: int
    colors: Ints
    count: int


@dataclass(frozen=True, eq=False)
class Read:
    """Where the entries of one block are found.

    ``sources`` are (direction, position): results of the forward sweeps at an output, or of the
    reverse sweeps at an input, each of shape (colours, elements); ``index`` numbers the elements
    of all of them, one after the other; ``dtype`` is that of the entries.
    """

    sources: tuple[tuple[int, int], ...]
    index: Ints
    dtype: Any


def compressed(graph: Graph, wrt: Sequence[int], outputs: Sequence[int],
               sweeps: Sequence[Sweeps], reads: Sequence[Read], name: str) -> Graph:
    """Graph of the entries of all blocks, one vector a block.

    Args:
        graph: the function.
        wrt: positions of its inputs, whose elements in order are the Jacobian's columns.
        outputs: positions of its outputs, whose elements in order are the rows.
        sweeps: at most one for each direction.
        reads: one a block.
        name: of the new graph.
    """
    builder = TraceBuilder(name)
    args = [keep_leaf(builder, node) for node in graph.inputs]
    found: dict[tuple[int, int], Any] = {}
    for one in sweeps:
        sweep = _forward if one.direction == FORWARD else _reverse
        for position, value in enumerate(sweep(builder, graph, args, wrt, outputs, one)):
            found[one.direction, position] = value
    entries = []
    for read in reads:
        if not len(read.index):
            entries.append(builder.constant(np.zeros(0, read.dtype)))
            continue
        parts: list[Any] = [np.reshape(found[s], (-1,)) for s in read.sources]
        joined: Any = parts[0] if len(parts) == 1 else np.concatenate(parts)
        entries.append(arithmetic.match_dtype(joined[read.index], read.dtype).node)
    builder.closed = True
    builder.guards = list(dict.fromkeys(builder.guards))
    return builder.graph(entries)


def chunk(graph: Graph, wrt: int, output: int, direction: int, size: int, name: str) -> Graph:
    """Graph of some sweeps whose seeds are a further argument: booleans, one row a sweep.

    Args:
        graph: the function.
        wrt: position of the input.
        output: position of the output.
        direction: FORWARD or REVERSE.
        size: how many sweeps.
        name: of the new graph.
    """
    builder = TraceBuilder(name)
    args = [keep_leaf(builder, node) for node in graph.inputs]
    derived = jvp(graph, [wrt]) if direction == FORWARD else vjp(graph, [wrt], seeded=[output])
    place = output if direction == FORWARD else 0
    derived = select_outputs(derived, [len(graph.outputs) + place])
    type = derived.inputs[-1].type
    mask = builder.input(ArrayType((size, *type.shape), np.dtype(bool)), "seeds")
    seeds = builder.emit(comparison.where, (mask, *[
        builder.constant(type.dtype.type(v)) for v in (1, 0)]))
    (sums,) = _batched(builder, derived, args, [seeds], size)
    builder.closed = True
    return builder.graph([sums.node])


def substituted(graph: Graph, levels: Sequence[Substitution], parts: Sequence[Ints]) -> Graph:
    """From sums to entries, level by level; then the entries of each block.

    Args:
        graph: whose one output has a sum for each entry of a symmetric pattern.
        levels: which of them to subtract from which.
        parts: numbers of the entries of each block.
    """
    builder = TraceBuilder(graph.name)
    args = [keep_leaf(builder, node) for node in graph.inputs]
    (node,) = inline(builder, graph, args)
    data: Any = Tracer(builder, node)
    for level in levels:
        if len(level.owner):
            data = indexing.scatter_add(data, -data[level.subtracted],
                                        level.entries[level.owner], index=(("a",),))
    whole = len(parts) == 1 and np.array_equal(parts[0], np.arange(node.type.size))
    chosen = [data.node if whole else data[p].node for p in parts]
    builder.closed = True
    builder.guards = list(dict.fromkeys(builder.guards))
    return builder.graph(chosen)


def _forward(builder: TraceBuilder, graph: Graph, args: list[Node], wrt: Sequence[int],
             outputs: Sequence[int], sweeps: Sweeps) -> list[Any]:
    """Sums of columns: for each output, one of its shape for each colour."""
    pushed = jvp(graph, wrt)
    pushed = select_outputs(pushed, [len(graph.outputs) + o for o in outputs])
    seeds = _seeds(builder, [graph.inputs[i].type for i in wrt], sweeps)
    return _batched(builder, pushed, args, seeds, sweeps.count)


def _reverse(builder: TraceBuilder, graph: Graph, args: list[Node], wrt: Sequence[int],
             outputs: Sequence[int], sweeps: Sweeps) -> list[Any]:
    """Sums of rows: for each input, one of its shape for each colour."""
    pulled = vjp(graph, wrt, seeded=outputs)
    pulled = select_outputs(pulled, range(len(graph.outputs), len(graph.outputs) + len(wrt)))
    seeds = _seeds(builder, [node.type for node in pulled.inputs[len(args):]], sweeps)
    return _batched(builder, pulled, args, seeds, sweeps.count)


def _seeds(builder: TraceBuilder, types: Sequence[Any], sweeps: Sweeps) -> list[Node]:
    """Sums of unit vectors, one a colour; their zeros are structural."""
    chosen = sweeps.colors == np.arange(sweeps.count)[:, None]
    seeds, start = [], 0
    for type in types:
        mask = chosen[:, start:start + type.size].reshape(sweeps.count, *type.shape)
        start += type.size
        seeds.append(builder.emit(comparison.where, tuple(
            [builder.constant(v) for v in (mask, type.dtype.type(1), type.dtype.type(0))])))
    return seeds


def _batched(builder: TraceBuilder, graph: Graph, args: list[Node], seeds: list[Node], count: int
             ) -> list[Any]:
    many, has_axis = batch(graph, count, [False] * len(args) + [True] * len(seeds))
    out = []
    for node, is_batched in zip(inline(builder, many, [*args, *seeds]), has_axis, strict=True):
        out.append(Tracer(builder, node) if is_batched else zeros(
            builder, node.type._replace(shape=(count, *node.type.shape))))
    return out
