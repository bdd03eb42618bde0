"""Host code with calls of compiled kernels, and the kernels' C text."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..compiler.arraytype import ArrayType
from ..compiler.graph import Graph, Node
from ..compiler.ops.row import Op
from ..compiler.passes.fuse import KernelOp
from .clusters import kernels_of, lowered, with_kernels
from .numpy_source import NumpyPrinter
from .recall import Printed, Shelf, key_of, leave, take
from .reuse import array_source
from .source import KernelCall, Source

if TYPE_CHECKING:
    from .c_source import CText
    from .kernel import Kernel
    from .routine import Routine


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


def native_source(graph: Graph, annotate: bool = True, accuracy: str = "fast",
                  shelf: Shelf | None = None) -> Source:
    """Source of a lowered graph with compiled kernels.

    Args:
        graph: after the whole pipeline.
        annotate: whether to put the user's lines above the statements that come from them.
        accuracy: ``"fast"`` or ``"strict"``; see :func:`c_source`.
        shelf: where kernels that were printed before are kept; those of loops are not.
    """
    if any(node.op.bodies for node in graph.nodes):
        from .c_source import c_source  # noqa: PLC0415
        module = compilable(graph)
        kernels, functions = module.text
        return host_source(module, c_source(kernels, accuracy, below=functions), annotate) \
            if kernels else array_source(graph, annotate)
    whole = with_kernels(graph)
    bodies = [body for _, _, body in kernels_of(whole)]
    if not bodies:
        return array_source(graph, annotate)
    key = key_of(bodies, accuracy)
    printed = take(shelf, key)
    if printed is None:
        from .c_source import c_source  # noqa: PLC0415
        first = whole
        whole, found = lowered(graph, whole)
        if not found:
            return array_source(graph, annotate)
        printed = _printed(found, c_source([k for _, k in found], accuracy))
        if whole is first:
            leave(shelf, key, printed)
    return _host_source(whole, printed, annotate)


class Module(NamedTuple):
    """A graph with nodes that are compiled code.

    Attributes:
        graph: what the host does.
        found: nodes that are kernels.
        routines: loops and branches that call kernels of their own.
    """

    graph: Graph
    found: "list[tuple[Node, Kernel]]"
    routines: "list[Routine]"

    @property
    def text(self) -> "tuple[list[Kernel], list[tuple[str, ...]]]":
        """The kernels, and the functions that call them, as lines."""
        return ([*[k for _, k in self.found], *[k for r in self.routines for k in r.kernels]],
                [f for r in self.routines for f in r.functions])


def compilable(graph: Graph) -> Module:
    """The graph with kernels, in loops and branches as well."""
    from .dialect import C  # noqa: PLC0415
    from .native_program import Native  # noqa: PLC0415
    native = Native(C)
    rebuilt = native.rebuild(graph)
    whole, found = lowered(rebuilt, with_kernels(rebuilt))
    return Module(whole, found, [native.made[n.op] for n in whole.nodes
                                 if isinstance(n.op, KernelOp) and n.op in native.made])


def host_source(module: Module, text: "CText", annotate: bool = True) -> Source:
    """Source of a module whose C text has been printed."""
    return _host_source(module.graph, _printed(module.found, text), annotate, module.routines)


def _printed(found: "list[tuple[Node, Kernel]]", text: "CText") -> Printed:
    return Printed(text.text, text.scratch, {k.name: k.work for _, k in found})


def _host_source(whole: Graph, printed: Printed, annotate: bool,
                 routines: "Sequence[Routine]" = ()) -> Source:
    kernels = kernels_of(whole)
    names = [*[op.name for _, op, _ in kernels], *[r.name for r in routines]]
    source = HostPrinter(whole, annotate, names).run()
    calls = [_call(body, printed) for *_, body in kernels]
    calls += [KernelCall(r.name, _kinds(r.inputs), _kinds(r.outputs), r.scratch, r.work)
              for r in routines]
    return replace(source, c=printed.text, kernels=tuple(calls))


def _call(body: Graph, printed: Printed) -> KernelCall:
    return KernelCall(body.name, _kinds(n.type for n in body.inputs),
                      _kinds(n.type for n in body.outputs), printed.scratch[body.name],
                      printed.work[body.name])


def _kinds(types: Iterable[ArrayType]) -> tuple[tuple[str, tuple[int, ...], bool], ...]:
    return tuple((t.dtype.name, t.shape, t.weak) for t in types)
