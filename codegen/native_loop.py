"""Loops inside of native code: a C function that calls the kernels of a loop's bodies.

What one step computes is a kernel like any other. The loop around it is plain C: it hands each step
pointers to the state of the step before, to rows of the arrays that are sliced, and to room for the
next state. The state is in turn in two places, so that nothing is copied.

The way back through a counted loop keeps all states while they take little memory. Otherwise it
keeps the first state of each of about √n segments, and goes through a segment once more before it
is pulled back (the two-level scheme of Griewank and Walther, Evaluating Derivatives, 2008, 12.2).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..compiler.arraytype import ArrayType
from ..compiler.graph import CAPTURED, CONSTANT, INPUT, PICK, Builder, Graph, Node, keep_leaf
from ..compiler.ops import looping
from ..compiler.ops.body import with_outputs
from ..compiler.ops.looping import Loop
from ..compiler.passes.computable import as_range, is_computable
from ..compiler.passes.dead import remove_dead
from ..compiler.passes.fuse import TABLE, KernelOp, plain
from .bodies import label, live
from .c_source import ALIGNMENT
from .dialect import Dialect
from .evaluate import Unreachable
from .kernel import Kernel
from .loop_source import loop_of, pull_of
from .lower import lower

KEPT = 64 * 2 ** 20          # bytes of states that the way back keeps without segments
_LEAVES = (INPUT, CONSTANT, CAPTURED)


@dataclass(frozen=True, eq=False)
class LoopKernel:
    """A loop as C.

    Attributes:
        name: of the function.
        kernels: of the bodies, which it calls.
        lines: of C text.
        scratch: bytes of memory that it needs while it runs, those of the kernels included.
        work: an estimate of its cost, in additions.
        inputs: types of the arguments.
        outputs: types of the results.
    """

    name: str
    kernels: tuple[Kernel, ...]
    lines: tuple[str, ...]
    scratch: int
    work: int
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]


def with_native_loops(graph: Graph, dialect: Dialect
                      ) -> tuple[Graph, list[tuple[Node, LoopKernel]]]:
    """The graph with loops that can be native as kernels; the others stay statements of Python."""
    builder = Builder(graph.name)
    new: dict[Node, Node] = {}
    found: list[tuple[Node, LoopKernel]] = []
    names: set[str] = set()
    for node in graph.nodes:
        args = tuple([new[a] for a in node.args])
        builder.origin = node.origin
        if node.op in _LEAVES:
            new[node] = keep_leaf(builder, node)
        elif node.op is PICK and isinstance(args[0].type, ArrayType):
            new[node] = args[0]                         # the only result of a kernel
        elif node.op in (looping.loop, looping.pull_loop) and (
                made := _native(builder, node, args, dialect, names)) is not None:
            new[node] = made[0]
            found.append(made)
        else:
            new[node] = builder.emit(node.op, args, node.params)
    for guard in graph.guards:
        builder.guards.append(replace(guard, node=new[guard.node]))
    return remove_dead(builder.graph([new[n] for n in graph.outputs])), found


def _native(builder: Builder, node: Node, args: tuple[Node, ...], dialect: Dialect,
            names: set[str]) -> tuple[Node, LoopKernel] | None:
    """The node of a kernel for a loop, and the kernel; None if its bodies need the host."""
    leaves = list(dict.fromkeys(n for body in node.bodies for n in body.nodes if _is_given(n)))
    name = base = plain(f"{label(node, '') or builder.name}_{'back' if _is_back(node) else 'loop'}")
    while name in names:
        name = f"{base}_{len(names)}"
    names.add(name)
    try:
        printer = _Driver(node, name, leaves, dialect)
        kernel = printer.back() if _is_back(node) else printer.forward()
    except Unreachable:
        return None
    given = (*args, *[keep_leaf(builder, leaf) for leaf in leaves])
    types = kernel.outputs if len(kernel.outputs) > 1 else kernel.outputs[0]
    op = KernelOp(name, node.op.call, lambda *_: types, node.op.derivative, python=name,
                  reference=node.op.call)
    return builder.emit(op, given), kernel


def _is_back(node: Node) -> bool:
    return node.op is looping.pull_loop


def _is_given(node: Node) -> bool:
    """Whether a leaf of a body is an argument of the loop: it may change, or is long."""
    return node.op is CAPTURED or (
        node.op is CONSTANT and node.type.size > TABLE and as_range(node) is None)


class _Place(NamedTuple):
    """Where something is: an expression of type ``char *`` or ``void *``, and bytes of a part."""

    text: str
    size: int

    def part(self, number: str) -> str:
        """The part of a number."""
        return f"{self.text} + {number} * {self.size}"


class _Driver:
    """Writes the C function of one loop."""

    def __init__(self, node: Node, name: str, leaves: Sequence[Node], dialect: Dialect) -> None:
        self.node, self.name, self.leaves, self.dialect = node, name, leaves, dialect
        self.loop: Loop = loop_of(node)
        self.kernels: list[Kernel] = []
        self.room = 0                        # bytes of memory, so far
        loop = self.loop
        types: list[ArrayType] = [n.type for n in (*node.args, *leaves)]
        results: Sequence[ArrayType] = node.type
        if any(t.size == 0 or t.dtype.name not in dialect.types for t in (*types, *results)):
            raise Unreachable(node)
        if loop.length == 0 or loop.snapshots is not None or loop.on_disk is not None:
            raise Unreachable(node)
        for given, inner in zip(node.args, loop.inputs, strict=False):
            if given.type.dtype != inner.type.dtype:
                raise Unreachable(node)
        self.inputs, self.outputs = tuple(types), tuple(results)
        self.n = len(types)

    # -- memory -----------------------------------------------------------------------------

    def _rows(self, i: int) -> _Place:
        """Of an argument or result, by the first axis."""
        kind = (*self.inputs, *self.outputs)[i]
        return _Place(f"(char *)p[{i}]", _bytes(kind, row=True))

    def _memory(self, kind: ArrayType, count: int = 1) -> _Place:
        """Room of the function's own, for some values of a type."""
        offset = self.room
        size = _bytes(kind, row=False)
        self.room += -(-size * count // ALIGNMENT) * ALIGNMENT
        return _Place(f"room + {offset}" if offset else "room", size)

    # -- kernels ----------------------------------------------------------------------------

    def _kernel(self, graph: Graph, suffix: str) -> Kernel:
        """The kernel of a body.

        Raises:
            Unreachable: if it needs the host.
        """
        graph = _opened(live(graph), f"{self.name}_{suffix}", self.leaves)
        for n in graph.nodes:
            if n.op not in _LEAVES and not is_computable(n):
                raise Unreachable(n)
        kernel = lower(graph, self.dialect.reserved)
        self.kernels.append(kernel)
        return kernel

    def _call(self, kernel: Kernel, pointers: Sequence[str], indent: str) -> list[str]:
        lines = [f"{indent}void *q[] = {{"]
        for text in (*pointers, f"room + {_SCRATCH}", f"p[{self.n + len(self.outputs) + 1}]"):
            if len(lines[-1]) + len(text) > 96:
                lines.append(f"{indent}    ")
            lines[-1] += text + ", "
        lines[-1] = lines[-1].rstrip(", ") + "};"
        return [*[line.rstrip() for line in lines], f"{indent}{kernel.name}(q, host);"]

    def _finished(self, lines: Sequence[str], steps: int) -> LoopKernel:
        scratch = self.room
        text = tuple(line.replace(_SCRATCH, str(scratch)) for line in lines)
        work = steps * sum(k.work for k in self.kernels)
        return LoopKernel(self.name, tuple(self.kernels), text, scratch, work, self.inputs,
                          self.outputs)

    def _step(self, step: str, state: Sequence[str]) -> list[str]:
        """Pointers of a step's inputs: the counter, the state, slices, and what all steps read."""
        loop = self.loop
        slices = range(loop.carried, loop.carried + loop.sliced)
        return [*["(void *)&counter"] * loop.first, *state,
                *[self._rows(i).part(step) for i in slices],
                *[f"p[{i}]" for i in range(loop.carried + loop.sliced, len(loop.inputs))]]

    def _given(self) -> list[str]:
        return [f"p[{i}]" for i in range(len(self.node.args), self.n)]

    def _counter(self, indent: str) -> list[str]:
        if not self.loop.first:
            return []
        start = self.loop.start or 0
        return [f"{indent}const long counter = i{f' + {start}' if start else ''};"]

    # -- the loop -----------------------------------------------------------------------------

    def forward(self) -> LoopKernel:
        """The loop itself."""
        loop, carried = self.loop, range(self.loop.carried)
        body = self._kernel(loop.body, "step")
        test = None if loop.test is None else self._kernel(loop.test, "test")
        spare = [self._memory(loop.inputs[i].type) for i in carried]
        results = [f"p[{self.n + i}]" for i in carried]
        rows = [self._rows(self.n + loop.carried + i).part("i") for i in range(loop.n_slices)]
        lines = self._head()
        lines += [f"    void *state[] = {{{', '.join(f'p[{i}]' for i in carried)}}};"] * (
            loop.carried > 0)
        if test is None:
            lines.append(f"    for (long i = 0; i < {loop.length}; i++) {{")
            turn, first = f"({loop.length} - i) % 2", results
        else:
            first = [self._memory(loop.inputs[i].type).text for i in carried]
            turn = "i % 2"
            lines += ["    for (long i = 0;; i++) {", "        bool more;", "        {"]
            fixed = [f"p[{i}]" for i in range(loop.carried + loop.sliced, len(loop.inputs))]
            lines += self._call(test, [*[f"state[{i}]" for i in carried], *fixed, *self._given(),
                                       "&more"], "            ")
            lines += ["        }", "        if (!more)", "            break;"]
        lines += self._counter("        ")
        for i in carried:
            lines.append(f"        void *next_{i} = {turn} ? (void *)({first[i]}) : "
                         f"(void *)({spare[i].text});")
        lines += self._call(body, [*self._step("i", [f"state[{i}]" for i in carried]),
                                   *self._given(), *[f"next_{i}" for i in carried], *rows],
                            "        ")
        lines += [f"        state[{i}] = next_{i};" for i in carried]
        lines.append("    }")
        if test is not None:
            lines += [f"    memcpy({results[i]}, state[{i}], {spare[i].size});" for i in carried]
        return self._finished([*lines, "}"], loop.length or 1)

    def _head(self) -> list[str]:
        return [f"void {self.name}(void **p, const struct host *host)", "{",
                f"    char *room = p[{self.n + len(self.outputs)}];"]

    # -- the way back ---------------------------------------------------------------------------

    def back(self) -> LoopKernel:
        """The way back, and first the way forward."""
        loop, length = self.loop, self.loop.length
        if length is None:
            raise Unreachable(self.node)
        types = [n.type for n in loop.inputs[:loop.carried]]
        step = self._kernel(with_outputs(loop.body, range(loop.carried)), "step")
        pulled = self._kernel(pull_of(self.node).pulled, "pulled")
        whole = length * sum(_bytes(kind, row=False) for kind in types) <= KEPT
        m = length if whole else math.isqrt(length - 1) + 1
        states = [self._memory(kind, m + 1) for kind in types]
        marks = [] if whole else [self._memory(kind, -(-length // m)) for kind in types]
        lines = [*self._stepping(step, states), "", *self._head(),
                 *[f"    memcpy({s.text}, p[{i}], {s.size});" for i, s in enumerate(states)],
                 *self._marking(states, marks, m, -(-length // m)),
                 *self._pulling(pulled, states, marks, m), "}"]
        return self._finished(lines, length)

    def _stepping(self, step: Kernel, states: Sequence[_Place]) -> list[str]:
        """A function that goes forward within a segment, from its first state."""
        here = [s.part("(i - from)") for s in states]
        there = [s.part("(i - from + 1)") for s in states]
        return [f"static void {self.name}_forward(void **p, const struct host *host, long from, "
                "long to)", "{", f"    char *room = p[{self.n + len(self.outputs)}];",
                "    for (long i = from; i < to; i++) {", *self._counter("        "),
                *self._call(step, [*self._step("i", here), *self._given(), *there], "        "),
                "    }", "}"]

    def _marking(self, states: Sequence[_Place], marks: Sequence[_Place], m: int, segments: int
                 ) -> list[str]:
        """Go forward, and note the first state of each segment."""
        if not marks:
            return []
        last = str(segments - 1)
        return [f"    for (long g = 0; g < {last}; g++) {{",
                *[f"        memcpy({k.part('g')}, {s.text}, {s.size});"
                  for k, s in zip(marks, states, strict=True)],
                f"        {self.name}_forward(p, host, g * {m}, (g + 1) * {m});",
                *[f"        memcpy({s.text}, {s.part(str(m))}, {s.size});" for s in states],
                "    }",
                *[f"    memcpy({k.part(last)}, {s.text}, {s.size});"
                  for k, s in zip(marks, states, strict=True)]]

    def _pulling(self, pulled: Kernel, states: Sequence[_Place], marks: Sequence[_Place], m: int
                 ) -> list[str]:
        """Segment by segment, the last one first; cotangents and sums are in turn in two places."""
        pull, length, n_args = pull_of(self.node), self.loop.length or 0, len(self.loop.inputs)
        n_active = len(pull.active)
        n_made = sum(i < self.loop.carried + self.loop.sliced for i in pull.returned)
        chained = [*range(n_active), *range(n_active + n_made, len(self.outputs))]
        results = [f"p[{self.n + j}]" for j in chained]
        spare = [self._memory(self.outputs[j]) for j in chained]
        begin = [f"p[{n_args + j}]" for j in range(n_active)]
        begin += [result if length % 2 == 0 else place.text
                  for result, place in zip(results[n_active:], spare[n_active:], strict=True)]
        lines = [f"    memset({text}, 0, {place.size});"
                 for text, place in zip(begin[n_active:], spare[n_active:], strict=True)]
        if chained:
            lines.append(f"    void *ct[] = {{{', '.join(begin)}}};")
        lines.append(f"    for (long from = {(length - 1) // m * m}; from >= 0; from -= {m}) {{")
        lines.append(f"        const long to = MIN(from + {m}, {length});")
        lines += [f"        memcpy({s.text}, {k.part(f'(from / {m})')}, {s.size});"
                  for k, s in zip(marks, states, strict=False)]
        lines += [f"        {self.name}_forward(p, host, from, to - 1);",
                  "        for (long i = to - 1; i >= from; i--) {", *self._counter(" " * 12)]
        for j, (result, place) in enumerate(zip(results, spare, strict=True)):
            lines.append(f"            void *next_{j} = i % 2 ? (void *)({place.text}) : "
                         f"{result};")
        now = [f"ct[{j}]" for j in range(len(chained))]
        seeds = [self._rows(n_args + n_active + j).part("i") for j in range(len(pull.seeded))]
        rows = [self._rows(self.n + n_active + j).part("i") for j in range(n_made)]
        there = [f"next_{j}" for j in range(len(chained))]
        lines += self._call(pulled, [
            *self._step("i", [s.part("(i - from)") for s in states]), *now[:n_active], *seeds,
            *now[n_active:], *self._given(), *there[:n_active], *rows, *there[n_active:]],
            " " * 12)
        lines += [f"            ct[{j}] = next_{j};" for j in range(len(chained))]
        return [*lines, "        }", "    }"]


_SCRATCH = "@scratch"


def _bytes(kind: ArrayType, row: bool) -> int:
    """Of a value, or of one of its rows."""
    return kind.nbytes // kind.shape[0] if row else max(kind.size, 1) * kind.dtype.itemsize


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
