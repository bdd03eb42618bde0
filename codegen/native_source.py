"""Host code with calls of compiled kernels, and the kernels' C text."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..compiler.graph import Graph, Node
from ..compiler.ops.row import Op
from ..compiler.passes.dead import remove_dead
from ..compiler.passes.fuse import KernelOp, fuse
from ..compiler.passes.pipeline import NATIVE, run
from .numpy_source import NumpyPrinter
from .recall import Printed, Shelf, key_of, leave, take
from .reuse import array_source
from .source import KernelCall, Source

if TYPE_CHECKING:
    from .c_source import CText
    from .dialect import Dialect
    from .kernel import Kernel


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


def fused(graph: Graph, dialect: "Dialect | None" = None
          ) -> "tuple[Graph, list[tuple[Node, Kernel]]]":
    """The graph with kernel nodes, and these lowered. What cannot be lowered stays with NumPy.

    Args:
        graph: after the whole pipeline.
        dialect: the language; C if None.
    """
    whole = _with_kernels(graph, frozenset(), dialect is not None and dialect.launches)
    return _lowered(graph, whole, dialect)


def _with_kernels(graph: Graph, left: frozenset[Node], device: bool) -> Graph:
    return remove_dead(fuse(graph, left, device) if left or device else run(graph, NATIVE))


def _kernels(whole: Graph) -> list[tuple[Node, KernelOp, Graph]]:
    """Kernel nodes, their operators and their bodies."""
    return [(n, n.op, n.op.body) for n in whole.nodes
            if isinstance(n.op, KernelOp) and n.op.body is not None]


def _lowered(graph: Graph, whole: Graph, dialect: "Dialect | None" = None
             ) -> "tuple[Graph, list[tuple[Node, Kernel]]]":
    # Kernels that were printed before need none of this, and importing it takes a while.
    from .dialect import C  # noqa: PLC0415
    from .evaluate import Unreachable  # noqa: PLC0415
    from .lower import lower  # noqa: PLC0415
    dialect = C if dialect is None else dialect
    device = dialect.launches
    left: frozenset[Node] = frozenset()
    while True:
        found: list[tuple[Node, Kernel]] = []
        for node, op, body in _kernels(whole):
            try:
                kernel = lower(body, dialect.reserved, chunks=not device)
                if len(kernel.having("in", "scalar", "out")) > MOST:
                    raise Unreachable(node)
            except Unreachable:
                left |= op.members
                break
            found.append((node, kernel))
        else:
            return whole, found
        whole = _with_kernels(graph, left, device)


def native_source(graph: Graph, annotate: bool = True, accuracy: str = "fast",
                  shelf: Shelf | None = None) -> Source:
    """Source of a lowered graph with compiled kernels.

    Args:
        graph: after the whole pipeline.
        annotate: whether to put the user's lines above the statements that come from them.
        accuracy: ``"fast"`` or ``"strict"``; see :func:`c_source`.
        shelf: where kernels that were printed before are kept.
    """
    whole = _with_kernels(graph, frozenset(), False)
    bodies = [body for _, _, body in _kernels(whole)]
    if not bodies:
        return array_source(graph, annotate)
    key = key_of(bodies, accuracy)
    printed = take(shelf, key)
    if printed is None:
        from .c_source import c_source  # noqa: PLC0415
        first = whole
        whole, found = _lowered(graph, whole)
        if not found:
            return array_source(graph, annotate)
        printed = _printed(found, c_source([k for _, k in found], accuracy))
        if whole is first:
            leave(shelf, key, printed)
    return _host_source(whole, printed, annotate)


def host_source(whole: Graph, found: "list[tuple[Node, Kernel]]", text: "CText",
                annotate: bool = True) -> Source:
    """Source of a fused graph whose kernels have been printed."""
    return _host_source(whole, _printed(found, text), annotate)


def _printed(found: "list[tuple[Node, Kernel]]", text: "CText") -> Printed:
    return Printed(text.text, text.scratch, {k.name: k.work for _, k in found})


def _host_source(whole: Graph, printed: Printed, annotate: bool) -> Source:
    kernels = _kernels(whole)
    source = HostPrinter(whole, annotate, [op.name for _, op, _ in kernels]).run()
    return replace(source, c=printed.text,
                   kernels=tuple(_call(body, printed) for *_, body in kernels))


def _call(body: Graph, printed: Printed) -> KernelCall:
    def kinds(nodes: Iterable[Node]) -> tuple[tuple[str, tuple[int, ...], bool], ...]:
        return tuple((n.type.dtype.name, n.type.shape, n.type.weak) for n in nodes)
    return KernelCall(body.name, kinds(body.inputs), kinds(body.outputs),
                      printed.scratch[body.name], printed.work[body.name])
