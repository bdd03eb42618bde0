"""Loops inside of native code: a C function that calls the kernels of a loop's bodies.

What one step computes is a kernel like any other. The loop around it is plain C: it hands each step
pointers to the state of the step before, to rows of the arrays that are sliced, and to room for the
next state. The state is in turn in two places, so that nothing is copied.

The way back through a counted loop keeps all states while they take little memory. Otherwise it
keeps the first state of each of about √n segments, and goes through a segment once more before it
is pulled back (the two-level scheme of Griewank and Walther, Evaluating Derivatives, 2008, 12.2).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from ..compiler.arraytype import ArrayType
from ..compiler.graph import Graph, Node
from ..compiler.ops import looping
from ..compiler.ops.body import with_outputs
from ..compiler.ops.looping import Loop
from .c_source import ALIGNMENT
from .evaluate import Unreachable
from .loop_source import loop_of, pull_of
from .routine import SCRATCH, Routine, call, finished

Make: TypeAlias = Callable[[Graph, str, Sequence[Node]], Routine]

KEPT = 64 * 2 ** 20          # bytes of states that the way back keeps without segments
class _Place(NamedTuple):
    """Where something is: an expression of type ``char *`` or ``void *``, and bytes of a part."""

    text: str
    size: int

    def part(self, number: str) -> str:
        """The part of a number."""
        return f"{self.text} + {number} * {self.size}"


def loop_routine(node: Node, name: str, leaves: Sequence[Node], make: Make) -> Routine:
    """The C function of a loop, or of the way back through one.

    Args:
        node: the loop.
        name: of the function.
        leaves: constants that are arguments, behind the operands.
        make: gives what computes a body.

    Raises:
        Unreachable: if it must stay with the host.
    """
    driver = _Driver(node, name, leaves, make)
    return driver.back() if node.op is looping.pull_loop else driver.forward()


class _Driver:
    def __init__(self, node: Node, name: str, leaves: Sequence[Node], make: Make) -> None:
        self.node, self.name, self.leaves, self.make = node, name, leaves, make
        self.loop: Loop = loop_of(node)
        self.called: list[Routine] = []
        self.room = 0                        # bytes of memory, so far
        loop = self.loop
        types: list[ArrayType] = [n.type for n in (*node.args, *leaves)]
        results: Sequence[ArrayType] = node.type
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

    def _body(self, graph: Graph, suffix: str) -> Routine:
        """What computes a body.

        Raises:
            Unreachable: if it needs the host.
        """
        found = self.make(graph, f"{self.name}_{suffix}", self.leaves)
        self.called.append(found)
        return found

    def _call(self, routine: Routine, pointers: Sequence[str], indent: str) -> list[str]:
        return call(routine.name, [*pointers, f"room + {SCRATCH}",
                                   f"p[{self.n + len(self.outputs) + 1}]"], indent)

    def _finished(self, lines: Sequence[str], steps: int) -> Routine:
        return finished(self.name, lines, self.called, self.room, self.inputs, self.outputs,
                        steps * sum(r.work for r in self.called))

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

    def forward(self) -> Routine:
        """The loop itself."""
        loop, carried = self.loop, range(self.loop.carried)
        body = self._body(loop.body, "step")
        test = None if loop.test is None else self._body(loop.test, "test")
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

    def back(self) -> Routine:
        """The way back, and first the way forward."""
        loop, length = self.loop, self.loop.length
        if length is None:
            raise Unreachable(self.node)
        types = [n.type for n in loop.inputs[:loop.carried]]
        step = self._body(with_outputs(loop.body, range(loop.carried)), "step")
        pulled = self._body(pull_of(self.node).pulled, "pulled")
        if length * sum(_bytes(kind, row=False) for kind in types) <= KEPT:
            states = [self._memory(kind, length) for kind in types]
            lines = [*self._head(),
                     *_first(states),
                     *self._stepping(step, states, "i", "0", str(length - 1)),
                     *self._seeds(), *self._pulling(pulled, states, "i", "0", str(length - 1)), "}"]
            return self._finished(lines, length)
        m = math.isqrt(length - 1) + 1
        states = [self._memory(kind, m + 1) for kind in types]
        marks = [self._memory(kind, -(-length // m)) for kind in types]
        forward = [f"static void {self.name}_forward(void **p, const struct host *host, long from, "
                   "long to)", "{", f"    char *room = p[{self.n + len(self.outputs)}];",
                   *self._stepping(step, states, "(i - from)", "from", "to"), "}", ""]
        lines = [*forward, *self._head(),
                 *_first(states),
                 *self._marking(states, marks, m, -(-length // m)), *self._seeds(),
                 f"    for (long from = {(length - 1) // m * m}; from >= 0; from -= {m}) {{",
                 f"        const long to = MIN(from + {m}, {length});",
                 *[f"        memcpy({s.text}, {k.part(f'(from / {m})')}, {s.size});"
                   for k, s in zip(marks, states, strict=True)],
                 f"        {self.name}_forward(p, host, from, to - 1);",
                 *[f"    {line}" for line in self._pulling(pulled, states, "(i - from)", "from",
                                                           "to - 1")],
                 "    }", "}"]
        return self._finished(lines, length)

    def _stepping(self, step: Routine, states: Sequence[_Place], place: str, low: str, high: str
                  ) -> list[str]:
        """The way forward, from the state at ``low`` to that at ``high``."""
        there = [s.part(f"({place.strip('()')} + 1)") for s in states]
        return [f"    for (long i = {low}; i < {high}; i++) {{", *self._counter("        "),
                *self._call(step, [*self._step("i", [s.part(place) for s in states]),
                                   *self._given(), *there], "        "), "    }"]

    def _marking(self, states: Sequence[_Place], marks: Sequence[_Place], m: int, segments: int
                 ) -> list[str]:
        """Go forward, and note the first state of each segment."""
        last = str(segments - 1)
        return [f"    for (long g = 0; g < {last}; g++) {{",
                *[f"        memcpy({k.part('g')}, {s.text}, {s.size});"
                  for k, s in zip(marks, states, strict=True)],
                f"        {self.name}_forward(p, host, g * {m}, (g + 1) * {m});",
                *[f"        memcpy({s.text}, {s.part(str(m))}, {s.size});" for s in states],
                "    }",
                *[f"    memcpy({k.part(last)}, {s.text}, {s.size});"
                  for k, s in zip(marks, states, strict=True)]]

    def _chained(self) -> tuple[int, list[int]]:
        """How many slices are made, and which results are handed from step to step."""
        pull = pull_of(self.node)
        n_made = sum(i < self.loop.carried + self.loop.sliced for i in pull.returned)
        n_active = len(pull.active)
        return n_made, [*range(n_active), *range(n_active + n_made, len(self.outputs))]

    def _seeds(self) -> list[str]:
        """The cotangents given, and sums of nothing; both are in turn in two places."""
        n_active, length = len(pull_of(self.node).active), self.loop.length or 0
        _, chained = self._chained()
        self.spare = [self._memory(self.outputs[j]) for j in chained]
        begin = [f"p[{len(self.loop.inputs) + j}]" for j in range(n_active)]
        lines = []
        for j, place in zip(chained[n_active:], self.spare[n_active:], strict=True):
            begin.append(place.text if length % 2 else f"p[{self.n + j}]")
            lines.append(f"    memset({begin[-1]}, 0, {place.size});")
        return [*lines, *[f"    void *ct[] = {{{', '.join(begin)}}};"] * bool(begin)]

    def _pulling(self, pulled: Routine, states: Sequence[_Place], place: str, low: str, high: str
                 ) -> list[str]:
        """The way back, from the last step to the one at ``low``."""
        n_active, n_args = len(pull_of(self.node).active), len(self.loop.inputs)
        n_made, chained = self._chained()
        lines = [f"    for (long i = {high}; i >= {low}; i--) {{", *self._counter("        ")]
        lines += [f"        void *next_{j} = i % 2 ? (void *)({spare.text}) : p[{self.n + k}];"
                  for j, (k, spare) in enumerate(zip(chained, self.spare, strict=True))]
        now = [f"ct[{j}]" for j in range(len(chained))]
        seeds = [self._rows(n_args + n_active + j).part("i")
                 for j in range(len(pull_of(self.node).seeded))]
        rows = [self._rows(self.n + n_active + j).part("i") for j in range(n_made)]
        there = [f"next_{j}" for j in range(len(chained))]
        lines += self._call(pulled, [
            *self._step("i", [s.part(place) for s in states]), *now[:n_active], *seeds,
            *now[n_active:], *self._given(), *there[:n_active], *rows, *there[n_active:]],
            "        ")
        return [*lines, *[f"        ct[{j}] = next_{j};" for j in range(len(chained))], "    }"]


def _first(states: Sequence[_Place]) -> list[str]:
    """The first state is the operand."""
    return [f"    memcpy({s.text}, p[{i}], {s.size});" for i, s in enumerate(states)]


def _bytes(kind: ArrayType, row: bool) -> int:
    """Of a value, or of one of its rows."""
    return kind.nbytes // kind.shape[0] if row else max(kind.size, 1) * kind.dtype.itemsize
