"""Host code with calls of compiled kernels, and the kernels' C text."""

from collections.abc import Callable
from typing import Any

from ..compiler.graph import Graph, Node
from ..compiler.ops.row import Op
from ..compiler.passes.fuse import KernelOp, fuse
from .c_source import c_source
from .dialect import C
from .kernel import Kernel
from .lower import lower
from .numpy_source import NumpyPrinter, numpy_source
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


def kernels_of(graph: Graph) -> list[tuple[Node, Kernel]]:
    """The kernel nodes of a fused graph, lowered."""
    return [(n, lower(n.op.body, C.reserved)) for n in graph.nodes
            if isinstance(n.op, KernelOp) and n.op.body is not None]


def native_source(graph: Graph, annotate: bool = True, accuracy: str = "fast",
                  source_of: Callable[[Graph, bool], Source] = numpy_source) -> Source:
    """Source of a lowered graph with compiled kernels.

    Args:
        graph: after the whole pipeline.
        annotate: whether to put the user's lines above the statements that come from them.
        accuracy: ``"fast"`` or ``"strict"``; see :func:`c_source`.
        source_of: prints the version without kernels.
    """
    fused = fuse(graph)
    found = kernels_of(fused)
    if not found:
        return source_of(graph, annotate)
    printed = c_source([k for _, k in found], accuracy)
    taken = [n.op.name for n, _ in found]
    source = HostPrinter(fused, annotate, taken).run()
    calls = tuple(_call(n, k, printed.scratch[k.name]) for n, k in found)
    return Source(source.name, source.text, source.parameters, source.data, source.captured,
                  source.calls_other_branch, printed.text, calls, "", accuracy)


def _call(node: Node, kernel: Kernel, scratch: int) -> KernelCall:
    body: Any = node.op.body            # type: ignore[attr-defined]

    def kinds(nodes: Any) -> tuple[tuple[str, tuple[int, ...], bool], ...]:
        return tuple((n.type.dtype.name, n.type.shape, n.type.weak) for n in nodes)
    return KernelCall(kernel.name, kinds(body.inputs), kinds(body.outputs), scratch, kernel.work)
