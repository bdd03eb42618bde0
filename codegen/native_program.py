"""Loops and branches inside of native code: bodies as C functions, whatever they are made of.

A body is one kernel if everything in it is what kernels compute. Otherwise it is a function that
calls its kernels, and the loops and branches between them, one after the other. What needs the
host (a solver, a function of SciPy's) keeps all loops around it in Python.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..compiler.arraytype import ArrayType
from ..compiler.graph import CAPTURED, CONSTANT, INPUT, PICK, Builder, Graph, Node, keep_leaf
from ..compiler.ops import (
    arithmetic,
    branching,
    comparison,
    contraction,
    layout,
    looping,
    reduction,
)
from ..compiler.passes.computable import as_range, is_computable, is_view
from ..compiler.passes.dead import remove_dead
from ..compiler.passes.fuse import TABLE, KernelOp, plain
from .bodies import label, live
from .c_source import ALIGNMENT
from .clusters import fused
from .dialect import Dialect
from .element import literal
from .evaluate import Unreachable
from .kernel import Kernel
from .lower import lower
from .native_loop import loop_routine
from .routine import SCRATCH, Routine, call, finished

PRODUCTS = 2 ** 14           # multiplications of a matrix product up to which it is written out
_LEAVES = (INPUT, CONSTANT, CAPTURED)


class Native:
    """Makes loops and branches of a module native.

    Attributes:
        made: the routines that the host calls, by the operator of their node.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.made: dict[KernelOp, Routine] = {}
        self.names: set[str] = set()

    def rebuild(self, graph: Graph, must: bool = False) -> Graph:
        """The graph with kernels for structured nodes; the others stay statements of Python.

        Raises:
            Unreachable: if there are others, and there ``must`` not be.
        """
        builder = Builder(graph.name)
        new: dict[Node, Node] = {}
        for node in graph.nodes:
            args = tuple([new[a] for a in node.args])
            builder.origin = node.origin
            if node.op in _LEAVES:
                new[node] = keep_leaf(builder, node)
            elif node.op is PICK and isinstance(args[0].type, ArrayType):
                new[node] = args[0]                     # the only result of a kernel
            elif node.op.bodies:
                found = self._native(builder, node, args, must)
                if found is None and must:
                    raise Unreachable(node)
                new[node] = builder.emit(node.op, args, node.params) if found is None else found
            else:
                new[node] = builder.emit(node.op, args, node.params)
        for guard in graph.guards:
            builder.guards.append(replace(guard, node=new[guard.node]))
        return remove_dead(builder.graph([new[n] for n in graph.outputs]))

    def _native(self, builder: Builder, node: Node, args: tuple[Node, ...], inside: bool
                ) -> Node | None:
        """The node of a kernel for a loop or branch; None if it needs the host."""
        leaves = list(dict.fromkeys(_given(node)))
        types = [n.type for n in (*args, *leaves)]
        if any(t.size == 0 or t.dtype.name not in self.dialect.types
               for t in (*types, *node.type)):
            return None
        suffix = {looping.loop: "loop", looping.pull_loop: "back", branching.cond: "choice"}
        if node.op not in suffix:
            return None
        name = self._name(f"{plain(builder.name)}_{suffix[node.op]}")
        try:
            routine = self._choice(node, name, leaves) if node.op is branching.cond else \
                loop_routine(node, name, leaves, self.routine)
        except Unreachable:
            return None
        kinds = routine.outputs if len(routine.outputs) > 1 else routine.outputs[0]
        op = KernelOp(name, node.op.call, lambda *_: kinds, node.op.derivative, python=name,
                      reference=node.op.call)
        self.made[op] = routine
        if inside:
            args = tuple([_computed(builder, a) if is_view(a) else a for a in args])
        return builder.emit(op, (*args, *[keep_leaf(builder, leaf) for leaf in leaves]))

    def _name(self, wish: str) -> str:
        name, number = wish, 1
        while name in self.names:
            number += 1
            name = f"{wish}_{number}"
        self.names.add(name)
        return name

    # -- bodies -----------------------------------------------------------------------------

    def routine(self, graph: Graph, name: str, leaves: Sequence[Node]) -> Routine:
        """What computes a body, with some of its leaves as arguments behind its own.

        Raises:
            Unreachable: if it needs the host.
        """
        graph = _written_out(_opened(live(graph), self._name(name), leaves))
        if all(n.op in _LEAVES or is_computable(n) for n in graph.nodes):
            return _of_kernel(lower(graph, self.dialect.reserved), graph)
        return self._sequence(self.rebuild(_with_own_results(graph), must=True))

    def _choice(self, node: Node, name: str, leaves: Sequence[Node]) -> Routine:
        """A branch: its arguments behind the condition are those of both bodies."""
        n = len(node.args) + len(leaves)
        bodies = [self.routine(body, f"{name}_{which}", leaves)
                  for body, which in zip(node.bodies, ("yes", "no"), strict=True)]
        for body in bodies:
            if [t.dtype for t in body.outputs] != [t.dtype for t in node.type]:
                raise Unreachable(node)
        yes, no = bodies
        lines = [f"void {name}(void **p, const struct host *host)", "{",
                 "    if (*(const bool *)p[0])", f"        {yes.name}(p + 1, host);", "    else",
                 f"        {no.name}(p + 1, host);", "}"]
        types = [a.type for a in (*node.args, *leaves)]
        assert len(types) == n
        return finished(name, lines, bodies, 0, types, node.type, max(yes.work, no.work))

    def _sequence(self, graph: Graph) -> Routine:
        """A body as calls of kernels, loops and branches."""
        whole, found = fused(graph, self.dialect, every=True)
        routines: dict[Any, Routine] = {
            node.op: _of_kernel(kernel, node.op.body) for node, kernel in found}  # type: ignore[attr-defined]
        routines |= {node.op: self.made[node.op] for node in whole.nodes if node.op in self.made}
        return _Sequence(whole, routines, self.dialect).run()


class _Sequence:
    """Writes the C function of a body that is no single kernel."""

    def __init__(self, graph: Graph, routines: Mapping[Any, Routine], dialect: Dialect) -> None:
        self.graph, self.routines, self.dialect = graph, routines, dialect
        self.places = {n: f"p[{i}]" for i, n in enumerate(graph.inputs)}
        self.outputs = {n: f"p[{len(graph.inputs) + i}]" for i, n in enumerate(graph.outputs)}
        self.room = 0
        self.constants: list[str] = []
        self.lines: list[str] = []
        self.parts: dict[Node, list[str]] = {}

    def run(self) -> Routine:
        graph = self.graph
        called = []
        if len(self.outputs) < len(graph.outputs):
            raise Unreachable(graph.outputs[0])
        users: dict[Node, dict[int, Node]] = {}
        for n in graph.nodes:
            if n.op is PICK:
                users.setdefault(n.args[0], {})[n.params[0]] = n
        for node in graph.nodes:
            if node.op in _LEAVES:
                continue
            if node.op is PICK:
                self.places[node] = self.parts[node.args[0]][node.params[0]]
                continue
            routine = self.routines.get(node.op)
            if routine is None:
                raise Unreachable(node)
            called.append(routine)
            results = [users.get(node, {}).get(i) for i in range(len(routine.outputs))] \
                if not isinstance(node.type, ArrayType) else [node]
            self.parts[node] = [self._result(n, kind) for n, kind in zip(
                results, routine.outputs, strict=True)]
            if isinstance(node.type, ArrayType):
                self.places[node] = self.parts[node][0]
            end = len(graph.inputs) + len(graph.outputs)
            self.lines += ["    {", *call(routine.name, [
                *[self._place(a) for a in node.args], *self.parts[node], f"room + {SCRATCH}",
                f"p[{end + 1}]"], "        "), "    }"]
        for n in graph.outputs:
            if self.places[n] != self.outputs[n]:
                raise Unreachable(n)
        head = [f"void {graph.name}(void **p, const struct host *host)", "{",
                f"    char *room = p[{len(graph.inputs) + len(graph.outputs)}];", *self.constants]
        return finished(graph.name, [*head, *self.lines, "}"], called, self.room,
                        [n.type for n in graph.inputs], [n.type for n in graph.outputs],
                        sum(r.work for r in called))

    def _result(self, node: Node | None, kind: ArrayType) -> str:
        if node in self.outputs:
            return self.outputs[node]
        place = f"room + {self.room}" if self.room else "room"
        self.room += -(-max(kind.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        return place

    def _place(self, node: Node) -> str:
        """A pointer to a value."""
        if node not in self.places:
            if node.op is not CONSTANT or node.type.size > TABLE:
                raise Unreachable(node)
            name = f"constant_{len(self.constants)}"
            numbers = ", ".join(literal(v, node.type.dtype, self.dialect).text
                                for v in np.ravel(node.value))
            self.constants.append(f"    static const {self.dialect.types[node.type.dtype.name]} "
                                  f"{name}[] = {{{numbers}}};")
            self.places[node] = f"(void *){name}"
        return self.places[node]


# -- graphs of bodies -------------------------------------------------------------------------


def _of_kernel(kernel: Kernel, graph: Graph) -> Routine:
    scratch = sum(-(-b.size * b.dtype.itemsize // ALIGNMENT) * ALIGNMENT
                  for b in kernel.having("scratch"))
    return Routine(kernel.name, (kernel,), (), scratch, kernel.work,
                   tuple(n.type for n in graph.inputs), tuple(n.type for n in graph.outputs))


def _given(node: Node) -> list[Node]:
    """Leaves of bodies that are arguments: those that may change, and long ones."""
    out = []
    for body in node.bodies:
        for n in body.nodes:
            if n.op is CAPTURED or (n.op is CONSTANT and n.type.size > TABLE
                                    and as_range(n) is None):
                out.append(n)
            elif n.op.bodies:
                out += _given(n)
    return out


def _opened(graph: Graph, name: str, leaves: Sequence[Node]) -> Graph:
    """The graph with some of its leaves as further inputs."""
    builder = Builder(name)
    new = {n: builder.input(n.type, label(n, "") or None) for n in graph.inputs}
    new |= {n: builder.input(n.type, label(n, "") or None) for n in leaves}
    for node in graph.nodes:
        if node in new:
            continue
        builder.origin = node.origin
        new[node] = keep_leaf(builder, node) if node.op in _LEAVES else \
            builder.emit(node.op, tuple([new[a] for a in node.args]), node.params)
    return builder.graph([new[n] for n in graph.outputs])


def _changed(graph: Graph, change: Callable[[Builder, Node, tuple[Node, ...]], Node | None]
             ) -> tuple[Builder, dict[Node, Node]]:
    builder = Builder(graph.name)
    new: dict[Node, Node] = {}
    for node in graph.nodes:
        builder.origin = node.origin
        args = tuple([new[a] for a in node.args])
        new[node] = keep_leaf(builder, node) if node.op in _LEAVES else \
            change(builder, node, args) or builder.emit(node.op, args, node.params)
    return builder, new


def _written_out(graph: Graph) -> Graph:
    """The graph with small products of matrices as sums of products."""
    builder, new = _changed(graph, _product)
    return builder.graph([new[n] for n in graph.outputs])


def _product(builder: Builder, node: Node, args: tuple[Node, ...]) -> Node | None:
    if node.op is not contraction.matmul or any(a.type.ndim > 2 for a in args):
        return None
    x, y = args
    if node.type.size * x.type.shape[-1] > PRODUCTS or node.type.dtype.kind not in "fi":
        return None
    rows = x.type.shape if y.type.ndim == 1 else (*x.type.shape[:-1], 1, x.type.shape[-1])
    x = builder.emit(layout.reshape, (x,), (rows,))
    if y.type.ndim == 2:
        y = builder.emit(layout.transpose, (y,), ((1, 0),))
    terms = builder.emit(arithmetic.mul, (x, y))
    return builder.emit(reduction.sum, (terms,), ((terms.type.ndim - 1,), False))


def _with_own_results(graph: Graph) -> Graph:
    """The graph with results that are computed by kernels or structured nodes, each but once."""
    builder, new = _changed(graph, lambda *_: None)
    outputs: list[Node] = []
    for n in graph.outputs:
        made = new[n]
        own = made.op is PICK or not (made.op in _LEAVES or is_view(made))
        outputs.append(made if own and made not in outputs else _computed(builder, made))
    return builder.graph(outputs)


def _computed(builder: Builder, node: Node) -> Node:
    """The same value, as what a kernel computes: times one, which changes nothing."""
    if node.type.dtype.kind == "b":
        return builder.emit(comparison.logical_or, (node, builder.constant(np.False_)))
    return builder.emit(arithmetic.mul, (node, builder.constant(node.type.dtype.type(1))))
