"""How much memory a printed program takes: its peak, predicted from its statements.

The statements are gone through in order, as Python and NumPy would run them: a name holds memory
until it is given up or the function returns, what is written inside of an expression until the
expression around it is computed, a view as long as anybody looks at it, and NumPy computes sums and
products of large temporary arrays in the temporary's memory.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiler.arraytype import ArrayType
from ..compiler.cost import workspace
from ..compiler.graph import CAPTURED, CONSTANT, INPUT, PICK, Node
from ..compiler.ops import branching, indexing, layout, looping
from ..compiler.ops.looping import Loop, Pull
from .buffers import LARGE, STORES, elides, is_ufunc, owns
from .kept import Held, held, held_all, keeps_all, schedule, state_bytes, used_by
from .loop_source import loop_of, pull_of
from .numpy_source import NumpyPrinter

TRIPS = 100              # steps of a loop whose number is not known before it runs
_OBJECT = 112            # bytes of an array beside its elements
Buffers = tuple[int, ...]


class BodyPeak(NamedTuple):
    """Bytes that a body takes.

    Attributes:
        first: at most, when it runs for the first time.
        later: at most, when its variables have values of the step before.
        left: that its variables hold in the end, its results not counted.
    """

    first: int
    later: int
    left: int


class Footprint:
    """Runs the statements of one printed function; see :func:`peak_of`."""

    def __init__(self, printer: NumpyPrinter, trips: int) -> None:
        self.printer, self.trips = printer, trips
        self.sizes: dict[int, int] = {}            # of the buffers that are in use
        self.count: dict[int, int] = {}            # who holds them
        self.total = self.peak = self.made = 0
        self.names: dict[str, Buffers] = {}
        self.named: dict[Node, str] = {}
        self.parts: dict[Node, tuple[Buffers, ...]] = {}
        self.kept: dict[Node, Buffers] = {}        # states for a way back, until it has been gone

    # -- memory -----------------------------------------------------------------------------

    def _new(self, size: int) -> Buffers:
        if size <= 0:
            return ()
        self.made += 1
        self.sizes[self.made] = size + _OBJECT
        self.count[self.made] = 0
        self.total += size + _OBJECT
        self.peak = max(self.peak, self.total)
        return (self.made,)

    def _hold(self, buffers: Buffers) -> Buffers:
        for b in buffers:
            self.count[b] += 1
        return buffers

    def _drop(self, buffers: Buffers) -> None:
        for b in buffers:
            self.count[b] -= 1
            if not self.count[b]:
                self.total -= self.sizes.pop(b)

    def _passing(self, size: int) -> None:
        """Memory that is taken and given back."""
        self.peak = max(self.peak, self.total + size)

    # -- expressions --------------------------------------------------------------------------

    def value(self, node: Node) -> tuple[Buffers, bool]:
        """The memory of an operand, held once more, and whether it is a temporary array."""
        name = self.named.get(node)
        if name is not None:
            return self._hold(self.names.get(name, ())), False
        if node.op in (INPUT, CONSTANT, CAPTURED):
            return (), False
        if node.op is PICK and node.args[0] in self.parts:
            return self._hold(self.parts[node.args[0]][node.params[0]]), False
        return self.compute(node), True

    def compute(self, node: Node) -> Buffers:
        """Evaluate one application, and the temporary ones inside; its memory, held."""
        args = [self.value(a) for a in node.args]
        kind = node.type
        if not isinstance(kind, ArrayType):
            result: Buffers = self._structured(node, args) if node.op.bodies else ()
            if not node.op.bodies:
                self.parts[node] = tuple([self._new(_size(t)) for t in kind])
                result = tuple(b for part in self.parts[node] for b in part)
            self._passing(workspace(node))
        elif _is_filled(node) or owns(node):
            taken = self._elided(node, args)
            result = taken if taken is not None else self._new(_size(kind))
            self._passing(workspace(node))
        elif must_copy(node):
            result = self._new(_size(kind))
        else:
            result = tuple(dict.fromkeys(b for buffers, _ in args for b in buffers))
        self._hold(result)
        for buffers, _ in args:
            self._drop(buffers)
        return result

    def _elided(self, node: Node, args: Sequence[tuple[Buffers, bool]]) -> Buffers | None:
        """The memory of a temporary operand in which NumPy computes by itself."""
        if not is_ufunc(node) or _size(node.type) < LARGE:
            return None
        for i, ((buffers, temporary), a) in enumerate(zip(args, node.args, strict=True)):
            if temporary and len(buffers) == 1 and self.count[buffers[0]] == 1 and \
                    a.type == node.type and owns(a) and elides(node, i):
                return buffers
        return None

    def _structured(self, node: Node, args: Sequence[tuple[Buffers, bool]]) -> Buffers:
        """A loop, branch or call: its results, beside what one run of its bodies takes.

        The results of a loop stand for its state of the step before.
        """
        again = self._forget(node) if node.op is not branching.cond else False
        results = tuple([self._new(_size(t)) for t in node.type])
        self.parts[node] = results
        bodies = self._bodies(node)
        peaks = [body.later for body in bodies]
        if node.op is looping.loop:
            self._forward(node, args, max(peaks, default=0))
        elif node.op is looping.pull_loop:
            self._back(node, args, bodies, again)
        else:
            known = sum(map(_size, node.type))
            self._passing(max([peak - known for peak in peaks], default=0))
        self._replace(node, "left", max([body.left for body in bodies], default=0))
        return tuple(b for part in results for b in part)

    def _forget(self, node: Node) -> bool:
        """Variables that a loop sets before it begins; whether its body's have values already."""
        picks = self.printer.picks.get(node, {}).values()
        names = [self.printer.expressions[pick].text for pick in picks]
        for name in [*names, f"rest of {id(node)}", f"states {id(node)}"]:
            self._drop(self.names.pop(name, ()))
        left = self.names.pop(f"left {id(node)}", None)
        self._drop(left or ())
        return left is not None

    def _bodies(self, node: Node) -> list[BodyPeak]:
        """Peaks of the bodies that were printed for a node, and what they leave in variables."""
        found = []
        for printer in self.printer.printed.get(node, ()):
            body = Footprint(printer, self.trips).run_body()
            inside = printer.repeats or node.op is branching.cond     # of this very function
            found.append(body if inside else body._replace(left=0))
        return found

    def _replace(self, node: Node, what: str, size: int) -> None:
        """Variables that a node's statements have set, instead of those of the step before."""
        held = self._hold(self._new(size))
        self._drop(self.names.pop(f"{what} {id(node)}", ()))
        self.names[f"{what} {id(node)}"] = held

    def _forward(self, node: Node, args: Sequence[tuple[Buffers, bool]], peak: int) -> None:
        """A loop, and the states that it keeps for the way back."""
        pulls = [pull for pull, mate in self.printer.mates.items() if mate is node]
        loop = loop_of(node)
        if not pulls:
            self._passing(peak - self._replaced(args[:loop.carried]))
            return
        ways = [pull_of(pull) for pull in pulls]
        size, states = _states(loop, ways, self.trips)
        self._passing(states.forward * size + peak)
        if keeps_all(loop, used_by(loop, ways)):             # a list lives as long as its name
            self._replace(node, "states", states.between * size)
        else:
            self.kept[pulls[-1]] = self._hold(self._new(states.between * size))

    def _replaced(self, args: Sequence[tuple[Buffers, bool]]) -> int:
        """Bytes of temporary operands that are given up after the first step."""
        return sum(self.sizes[b] for buffers, temporary in args if temporary
                   for b in buffers if self.count[b] == 1)

    def _back(self, node: Node, args: Sequence[tuple[Buffers, bool]],
              bodies: Sequence[BodyPeak], again: bool) -> None:
        """The way back: each step beside the states that are left.

        At first cotangents are the operands, which are counted already.
        """
        loop, way = loop_of(node), pull_of(node)
        mate = self.printer.mates.get(node)
        ways = [way] if mate is None else [
            pull_of(n) for n, m in self.printer.mates.items() if m is mate]
        size, states = _states(loop, ways, self.trips)
        steps = bodies[:-1] if mate is None else self._bodies(mate)
        step = max([body.later for body in steps], default=0)
        if mate is None:                                     # it goes forward for itself
            carried = sum(_size(n.type) for n in loop.inputs[:loop.carried])
            self._passing(carried + states.forward * size + step)
        elif keeps_all(loop, used_by(loop, ways)):
            size = 0                                         # the list is held
        else:
            self._drop(self.kept.pop(node, ()))
        n, n_active = len(loop.inputs), len(way.active)
        seeds = sum(map(_size, node.type[:n_active]))
        gone = self._replaced(args[n:n + n_active])
        pulled = bodies[-1]
        later = pulled.left, pulled.later              # variables that are set already, and all
        first = later if again else (0, pulled.first)
        for (stepping, pulling), (left, peak), known in ((states.opening, first, seeds),
                                                         (states.later, later, gone)):
            self._passing(stepping * size + left + step - known)
            self._passing(pulling * size + peak - known)

    # -- statements ---------------------------------------------------------------------------

    def run(self) -> int:
        """The peak of a function."""
        self._statements()
        for node in self.printer.graph.outputs:
            held, _ = self.value(node)
            if not owns(node) and not _is_filled(node) and isinstance(node.type, ArrayType):
                self._new(_size(node.type))                      # a copy of a view
                self._drop(held)
        return self.peak

    def run_body(self) -> BodyPeak:
        """The peak of a body within a function, and what its variables hold when it is over.

        Those of the step before are still there in the next one, until they are assigned again.
        """
        first = 0
        for _ in range(2 if self.printer.repeats else 1):
            first, self.peak = self.peak, self.total
            self.named.clear()
            self.parts.clear()
            self._statements()
            outputs = self.printer.graph.outputs
            results = [self.value(node)[0] for node in outputs]
            # They are assigned to variables that are accounted for around the body.
            for name in {self.named[node] for node in outputs if node in self.named}:
                self._drop(self.names.pop(name, ()))
            for buffers in results:
                self._drop(buffers)
        return BodyPeak(first or self.peak, self.peak, self.total)

    def _statements(self) -> None:
        unnamed: Buffers = ()
        for node, name, into in self.printer.trail:
            if unnamed and (node is None or node.op is not PICK):
                self._drop(unnamed)
                unnamed = ()
            if node is None:
                self._drop(self.names.pop(name, ()))
            elif node.op in STORES:
                self._store(node, name, into)
            elif into:
                held = self._hold(self.names.get(into, ()))
                others = [self.value(a)[0] for a in node.args]
                self._set(node, name, held)
                for buffers in others:
                    self._drop(buffers)
            else:
                held = self._hold(self.parts[node.args[0]][node.params[0]]) if \
                    node.op is PICK and node.args[0] in self.parts else self.compute(node)
                if node in self.parts:          # its parts are named next; held until then
                    unnamed = self._unnamed(node, held)
                    continue
                if name:
                    self._set(node, name, held)
                else:
                    self._drop(held)
        self._drop(unnamed)

    def _unnamed(self, node: Node, held: Buffers) -> Buffers:
        """Of the results of a structured node those that are named next.

        The others are in variables, too, which nobody reads.
        """
        picked = self.printer.picks.get(node, {})
        named = [b for i in picked for b in self.parts[node][i]]
        if node.op.bodies:
            self.names[f"rest of {id(node)}"], before = tuple(
                b for b in held if b not in named), self.names.get(f"rest of {id(node)}", ())
            self._drop(before)
            return tuple(named)
        return held

    def _set(self, node: Node, name: str, held: Buffers) -> None:
        before = self.names.get(name, ())
        self.names[name] = held
        self._drop(before)
        self.named[node] = name

    def _store(self, node: Node, name: str, into: str) -> None:
        base = node.args[0]
        if into:
            self.named[node] = into
        else:
            held, temporary = self.value(base)
            if not (temporary and len(held) == 1):
                self._drop(held)
                held = self._hold(self._new(_size(node.type)))
            self._set(node, name, held)
        for buffers in [self.value(a)[0] for a in node.args[1:]]:
            self._drop(buffers)


def must_copy(node: Node) -> bool:
    """Whether a change of shape is one that NumPy cannot express as a view."""
    if node.op is not layout.reshape or not _size(node.type):
        return False
    try:
        np.reshape(_outline(node.args[0]), node.params[0], copy=False)
    except ValueError:
        return True
    return False


def _outline(node: Node) -> Any:
    """An array without memory of its own, of the shape and strides of a value."""
    if node.op in (layout.transpose, layout.broadcast_to) and not _is_filled(node):
        return node.op.call(_outline(node.args[0]), **node.settings)
    if node.op is indexing.getitem and len(node.args) == 1 and not owns(node):
        return node.op.call(_outline(node.args[0]), **node.settings)
    shape, size = node.type.shape, node.type.dtype.itemsize
    strides = [size * math.prod(shape[i + 1:]) for i in range(len(shape))]
    return np.lib.stride_tricks.as_strided(np.empty(1, node.type.dtype), shape, strides)


def _size(kind: object) -> int:
    return kind.nbytes if isinstance(kind, ArrayType) and kind.shape else 0


def _is_filled(node: Node) -> bool:
    """One number everywhere, which is printed as an array of its own."""
    return node.op is layout.broadcast_to and node.args[0].type.shape == ()


def peak_of(printer: NumpyPrinter, trips: int = TRIPS) -> int:
    """Bytes that a printed function has in use at most, its results included, its arguments not.

    Args:
        printer: after it has printed.
        trips: number of steps of loops for which it is not known.
    """
    return Footprint(printer, trips).run()


def _states(loop: Loop, ways: Sequence[Pull], trips: int) -> tuple[int, Held]:
    """Bytes of a state, and how many of them are in memory."""
    read = used_by(loop, ways)
    steps = trips if loop.length is None else loop.length
    # A carry that steps hand on as it is takes no memory of its own.
    mine = [i for i in range(loop.carried) if loop.body.outputs[i] is not loop.inputs[i]]
    if keeps_all(loop, read):
        return state_bytes(loop, [i for i in read if i in mine]), held_all(steps)
    return state_bytes(loop, mine), held(schedule(loop), steps)
