"""A graph with kernel nodes, and the kernels themselves."""

from ..compiler.graph import Graph, Node
from ..compiler.passes.dead import remove_dead
from ..compiler.passes.fuse import KernelOp, fuse
from ..compiler.passes.pipeline import NATIVE, run
from .dialect import C, Dialect
from .evaluate import Unreachable
from .kernel import Kernel
from .lower import lower

MOST = 1000              # arguments and results of one kernel


def fused(graph: Graph, dialect: Dialect = C, every: bool = False
          ) -> tuple[Graph, list[tuple[Node, Kernel]]]:
    """The graph with kernel nodes, and these lowered. What cannot be lowered stays with NumPy.

    With ``every``, kernels also move elements without computing anything.
    """
    left: frozenset[Node] = frozenset()
    device = dialect.launches
    while True:
        whole = remove_dead(fuse(graph, left, device or every) if left or device or every
                            else run(graph, NATIVE))
        found: list[tuple[Node, Kernel]] = []
        for node in whole.nodes:
            if not isinstance(node.op, KernelOp) or node.op.body is None:
                continue
            try:
                kernel = lower(node.op.body, dialect.reserved, chunks=not device)
                if len(kernel.having("in", "scalar", "out")) > MOST:
                    raise Unreachable(node)
            except Unreachable:
                left |= node.op.members
                break
            found.append((node, kernel))
        else:
            return whole, found
