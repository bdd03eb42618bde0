"""Host code with calls of compiled kernels, and the kernels' C text."""

from dataclasses import replace
from typing import Any

from ..compiler.graph import Graph, Node
from ..compiler.ops.row import Op
from ..compiler.passes.dead import remove_dead
from ..compiler.passes.fuse import KernelOp, fuse
from ..compiler.passes.pipeline import NATIVE, run
from .c_source import CText, c_source
from .dialect import C, Dialect
from .evaluate import Unreachable
from .kernel import Kernel
from .lower import lower
from .numpy_source import NumpyPrinter
from .reuse import array_source
from .source import KernelCall, Source


class HostPrinter(NumpyPrinter):
    """Prints a graph some of whose nodes are kernels."""

    def reference(self, op: Op) -> str:
        """Name of a kernel, or of a function of the user's."""
        if not isinstance(op, KernelOp):
            return super().reference(op)
        name = self.references.get(op)
        if name is None:
            name = self.references[op] = op.name
            self.constants.append(f"# {name}: compiled from C")
        return name


MOST = 1000              # arguments and results of one kernel


def fused(graph: Graph, dialect: Dialect = C) -> tuple[Graph, list[tuple[Node, Kernel]]]:
    """The graph with kernel nodes, and these lowered. What cannot be lowered stays with NumPy."""
    left: frozenset[Node] = frozenset()
    device = dialect.launches
    while True:
        whole = remove_dead(fuse(graph, left, device) if left or device else run(graph, NATIVE))
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


def native_source(graph: Graph, annotate: bool = True, accuracy: str = "fast") -> Source:
    """Source of a lowered graph with compiled kernels.

    Args:
        graph: after the whole pipeline.
        annotate: whether to put the user's lines above the statements that come from them.
        accuracy: ``"fast"`` or ``"strict"``; see :func:`c_source`.
    """
    whole, found = fused(graph)
    if not found:
        return array_source(graph, annotate)
    return host_source(whole, found, c_source([k for _, k in found], accuracy), annotate)


def host_source(whole: Graph, found: list[tuple[Node, Kernel]], printed: CText,
                annotate: bool = True) -> Source:
    """Source of a fused graph whose kernels have been printed."""
    source = HostPrinter(whole, annotate, [n.op.name for n, _ in found]).run()
    calls = tuple(_call(n, k, printed.scratch[k.name]) for n, k in found)
    return replace(source, c=printed.text, kernels=calls)


def _call(node: Node, kernel: Kernel, scratch: int) -> KernelCall:
    body: Any = node.op.body            # type: ignore[attr-defined]

    def kinds(nodes: Any) -> tuple[tuple[str, tuple[int, ...], bool], ...]:
        return tuple((n.type.dtype.name, n.type.shape, n.type.weak) for n in nodes)
    return KernelCall(kernel.name, kinds(body.inputs), kinds(body.outputs), scratch, kernel.work)
