"""Host code with calls of compiled kernels, and the kernels' C text."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

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
from .routine import Routine
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
    module = compilable(graph)
    kernels, functions = module.text
    if not kernels:
        return array_source(graph, annotate)
    return host_source(module, c_source(kernels, accuracy, below=functions), annotate)


class Module(NamedTuple):
    """A graph with nodes that are compiled code.

    Attributes:
        graph: what the host does.
        found: nodes that are kernels.
        routines: loops and branches that call kernels of their own.
    """

    graph: Graph
    found: list[tuple[Node, Kernel]]
    routines: list[Routine]

    @property
    def text(self) -> tuple[list[Kernel], list[tuple[str, ...]]]:
        """The kernels, and the functions that call them, as lines."""
        return ([*[k for _, k in self.found], *[k for r in self.routines for k in r.kernels]],
                [f for r in self.routines for f in r.functions])


def compilable(graph: Graph) -> Module:
    """The graph with kernels, in loops and branches as well."""
    native = Native(C)
    whole, found = fused(native.rebuild(graph))
    return Module(whole, found, [native.made[n.op] for n in whole.nodes if n.op in native.made])


def host_source(module: Module, printed: CText, annotate: bool = True) -> Source:
    """Source of a module whose C text has been printed."""
    whole, found, routines = module
    names = [*[n.op.name for n, _ in found], *[r.name for r in routines]]
    source = HostPrinter(whole, annotate, names).run()
    calls = [_call(n, k, printed.scratch[k.name]) for n, k in found]
    calls += [KernelCall(r.name, _kinds(r.inputs), _kinds(r.outputs), r.scratch, r.work)
              for r in routines]
    return replace(source, c=printed.text, kernels=tuple(calls))


def _call(node: Node, kernel: Kernel, scratch: int) -> KernelCall:
    body: Any = node.op.body            # type: ignore[attr-defined]
    return KernelCall(kernel.name, _kinds(n.type for n in body.inputs),
                      _kinds(n.type for n in body.outputs), scratch, kernel.work)


def _kinds(types: Iterable[ArrayType]) -> tuple[tuple[str, tuple[int, ...], bool], ...]:
    return tuple((t.dtype.name, t.shape, t.weak) for t in types)
