"""Host code with calls of compiled kernels, and the kernels' C text."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..compiler.arraytype import ArrayType
from ..compiler.graph import Graph, Node
from ..compiler.ops.row import Op
from ..compiler.passes.fuse import KernelOp
from .c_source import CText, c_source
from .clusters import fused
from .dialect import C
from .kernel import Kernel
from .native_program import Native
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


def native_source(graph: Graph, annotate: bool = True, accuracy: str = "fast") -> Source:
    """Source of a lowered graph with compiled kernels.

    Args:
        graph: after the whole pipeline.
        annotate: whether to put the user's lines above the statements that come from them.
        accuracy: ``"fast"`` or ``"strict"``; see :func:`c_source`.
    """
    native = Native(C)
    whole, found = fused(native.rebuild(graph))
    routines = [native.made[n.op] for n in whole.nodes if n.op in native.made]
    kernels = [*[k for _, k in found], *[k for r in routines for k in r.kernels]]
    if not kernels:
        return array_source(graph, annotate)
    printed = c_source(kernels, accuracy, below=[f for r in routines for f in r.functions])
    source = host_source(whole, found, printed, annotate, [r.name for r in routines])
    return replace(source, kernels=(*source.kernels, *[
        KernelCall(r.name, _kinds(r.inputs), _kinds(r.outputs), r.scratch, r.work)
        for r in routines]))


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


def _kinds(types: Iterable[ArrayType]) -> tuple[tuple[str, tuple[int, ...], bool], ...]:
    return tuple((t.dtype.name, t.shape, t.weak) for t in types)
