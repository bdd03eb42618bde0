"""Host code with calls of compiled kernels, and the kernels' C text."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..compiler.arraytype import ArrayType
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
from .native_loop import LoopKernel, with_native_loops
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
    graph, loops = with_native_loops(graph, C)
    whole, found = fused(graph)
    kernels = [*[k for _, k in found], *[k for _, loop in loops for k in loop.kernels]]
    if not kernels:
        return array_source(graph, annotate)
    printed = c_source(kernels, accuracy, below=[loop.lines for _, loop in loops])
    source = host_source(whole, found, printed, annotate, [loop.name for _, loop in loops])
    return replace(source, kernels=(*source.kernels, *[
        _loop_call(loop, printed) for _, loop in loops]))


def host_source(whole: Graph, found: list[tuple[Node, Kernel]], printed: CText,
                annotate: bool = True, others: Sequence[str] = ()) -> Source:
    """Source of a fused graph whose kernels, and other functions, have been printed."""
    source = HostPrinter(whole, annotate, [*[n.op.name for n, _ in found], *others]).run()
    calls = tuple(_call(n, k, printed.scratch[k.name]) for n, k in found)
    return replace(source, c=printed.text, kernels=calls)


def _call(node: Node, kernel: Kernel, scratch: int) -> KernelCall:
    body: Any = node.op.body            # type: ignore[attr-defined]

    return KernelCall(kernel.name, _kinds(n.type for n in body.inputs),
                      _kinds(n.type for n in body.outputs), scratch, kernel.work)


def _loop_call(loop: LoopKernel, printed: CText) -> KernelCall:
    scratch = loop.scratch + max(printed.scratch[k.name] for k in loop.kernels)
    return KernelCall(loop.name, _kinds(loop.inputs), _kinds(loop.outputs), scratch, loop.work)


def _kinds(types: Iterable[ArrayType]) -> tuple[tuple[str, tuple[int, ...], bool], ...]:
    return tuple((t.dtype.name, t.shape, t.weak) for t in types)
