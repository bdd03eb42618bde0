"""A graph with kernel nodes, and the kernels themselves."""

from typing import TYPE_CHECKING

from ..compiler.graph import Graph, Node
from ..compiler.passes.dead import remove_dead
from ..compiler.passes.fuse import KernelOp, fuse
from ..compiler.passes.pipeline import NATIVE, run

if TYPE_CHECKING:
    from .dialect import Dialect
    from .kernel import Kernel

MOST = 1000              # arguments and results of one kernel


def fused(graph: Graph, dialect: "Dialect | None" = None, every: bool = False
          ) -> "tuple[Graph, list[tuple[Node, Kernel]]]":
    """The graph with kernel nodes, and these lowered. What cannot be lowered stays with NumPy.

    Args:
        graph: after the whole pipeline.
        dialect: the language; C if None.
        every: whether kernels also move elements without computing anything.
    """
    every = every or (dialect is not None and dialect.launches)
    return lowered(graph, with_kernels(graph, frozenset(), every), dialect, every)


def with_kernels(graph: Graph, left: frozenset[Node] = frozenset(), every: bool = False) -> Graph:
    """The graph with kernel nodes; those in ``left`` stay with the host."""
    return remove_dead(fuse(graph, left, every) if left or every else run(graph, NATIVE))


def kernels_of(whole: Graph) -> list[tuple[Node, KernelOp, Graph]]:
    """Kernel nodes, their operators and their bodies."""
    return [(n, n.op, n.op.body) for n in whole.nodes
            if isinstance(n.op, KernelOp) and n.op.body is not None]


def lowered(graph: Graph, whole: Graph, dialect: "Dialect | None" = None, every: bool = False
            ) -> "tuple[Graph, list[tuple[Node, Kernel]]]":
    """The kernels of a fused graph; if some cannot be lowered, it is fused again without them."""
    # Kernels that were printed before need none of this, and importing it takes a while.
    from .dialect import C  # noqa: PLC0415
    from .evaluate import Unreachable  # noqa: PLC0415
    from .lower import lower  # noqa: PLC0415
    dialect = C if dialect is None else dialect
    left: frozenset[Node] = frozenset()
    while True:
        found: list[tuple[Node, Kernel]] = []
        for node, op, body in kernels_of(whole):
            try:
                kernel = lower(body, dialect.reserved, chunks=not dialect.launches)
                if len(kernel.having("in", "scalar", "out")) > MOST:
                    raise Unreachable(node)
            except Unreachable:
                left |= op.members
                break
            found.append((node, kernel))
        else:
            return whole, found
        whole = with_kernels(graph, left, every)
