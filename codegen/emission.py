"""Emitting the statements of one nest: scopes, memory of what is computed, splitting of loops."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..compiler.graph import CONSTANT, INPUT, Node
from ..compiler.passes.computable import as_range
from .evaluate import Rule, Undecided, linear, rule
from .kernel import (
    Atom,
    Const,
    DType,
    Index,
    Let,
    Load,
    Loop,
    Position,
    Ref,
    Statement,
    Wrap,
    variable,
)
from .names import Names, ascii_name

VARIABLES = "ijklmnqrs"          # "p" is what a C function is given
Key = tuple[Node, tuple[Index, ...]]


def loop_name(position: int) -> str:
    """Name of the loop variable of the axis at a position."""
    return VARIABLES[position] if position < len(VARIABLES) else f"i{position}"


@dataclass
class Scope:
    """Statements of one loop body, and what they have computed."""

    name: str | None
    statements: list[Statement] = field(default_factory=list)
    memo: dict[tuple[Node, tuple[Index, ...]], Atom] = field(default_factory=dict)
    wraps: dict[tuple[Atom, int], Index] = field(default_factory=dict)


class Emission:
    """Statements of one nest in the making.

    ``read(node, index)`` gives the atom of a node that is kept in memory or registers, or None
    for one that is to be computed here; ``stored(node, place)`` that of one in memory at a place;
    ``buffers`` names the memory of inputs and constants.
    """

    def __init__(self, names: Names, buffers: Mapping[Node, tuple[str, bool]],
                 read: Callable[["Emission", Node, tuple[Index, ...]], Atom | None],
                 stored: Callable[[Node, Index], Atom | None]) -> None:
        self.names = names
        self.buffers = buffers
        self.read = read
        self.stored = stored
        self.scopes = [Scope(None)]
        self.depth: dict[str, int] = {}              # of named values
        self.ranges: dict[str, tuple[int, int]] = {}
        self.loops: set[str] = set()
        self.asked: dict[Key, set[Key]] = {}         # what each element was computed from
        self.wanted: list[Key] = []                  # what was asked for from outside

    # -- what rules use -----------------------------------------------------------------------

    def bounds(self, index: Index) -> tuple[int, int]:
        """Smallest and largest value of an index."""
        low = high = index.offset
        for name, c in index.terms:
            first, last = self.ranges[name]
            low += c * (first if c > 0 else last)
            high += c * (last if c > 0 else first)
        return low, high

    def is_loop(self, name: str) -> bool:
        """Whether a name is a variable of a loop that can be split."""
        return name in self.loops

    def let(self, op: Any, dtype: DType, args: tuple[Atom, ...], hint: str | None = None) -> Atom:
        """A named intermediate value, in the outermost scope that knows its operands."""
        depth = max(map(self.depth_of, args), default=0)
        name = self.names.unique(ascii_name(hint) if hint else "t")
        self.depth[name] = depth
        self.scopes[depth].statements.append(Let(name, dtype, op, args, hint))
        return Ref(name, dtype)

    def wrap(self, value: Atom, size: int) -> Index:
        """A value as an index along an axis, within its bounds."""
        if isinstance(value, Position):
            low, high = self.bounds(value.index)
            if low >= 0 and high < size:
                return value.index
        depth = self.depth_of(value)
        found = self.scopes[depth].wraps.get((value, size))
        if found is not None:
            return found
        name = self.names.unique("at")
        self.depth[name] = depth
        self.ranges[name] = (0, size - 1)
        self.scopes[depth].statements.append(Wrap(name, value, size))
        self.scopes[depth].wraps[value, size] = variable(name)
        return variable(name)

    def memory(self, node: Node, place: Index) -> Atom | None:
        """The element at a place in memory of a node that is stored before this nest."""
        if node in self.buffers:
            return Load(self.buffers[node][0], place, node.type.dtype)
        return self.stored(node, place)

    # -- values -------------------------------------------------------------------------------

    def depth_of(self, atom: Atom) -> int:
        """Number of the scope from which on an atom is known."""
        if isinstance(atom, Ref):
            return self.depth.get(atom.name, 0)
        if isinstance(atom, (Load, Position)):
            return max((self.depth.get(n, 0) for n in atom.index.names), default=0)
        return 0

    def value(self, node: Node, index: tuple[Index, ...]) -> Atom:
        """An element of a node's value."""
        self.wanted.append((node, index))
        found = self._known(node, index)
        if found is not None:
            return found
        asked = self.asked
        stack: list[tuple[Node, tuple[Index, ...], Rule]] = [self._begin(node, index)]
        answer: Atom | None = None
        while stack:
            node, index, running = stack[-1]
            try:
                wanted = next(running) if answer is None else running.send(answer)
            except StopIteration as end:
                answer = end.value
                assert answer is not None
                self._remember(node, index, answer)
                stack.pop()
                continue
            asked[node, index].add(wanted)
            answer = self._known(*wanted)
            if answer is None:
                stack.append(self._begin(*wanted))
        assert answer is not None
        return answer

    def _begin(self, node: Node, index: tuple[Index, ...]) -> tuple[Node, tuple[Index, ...], Rule]:
        self.asked.setdefault((node, index), set())
        return node, index, rule(node)(node, index, self)

    def _known(self, node: Node, index: tuple[Index, ...]) -> Atom | None:
        for scope in reversed(self.scopes):
            found = scope.memo.get((node, index))
            if found is not None:
                return found
        if node.op is CONSTANT and node.type.shape == ():
            return Const(np.asarray(node.value)[()], node.type.dtype)
        counted = as_range(node)
        if counted is not None:
            start, step = counted
            (along,) = [i for i, n in zip(index, node.type.shape, strict=True) if n != 1]
            return Position(along.times(step) + start, node.type.dtype)
        if node in self.buffers:
            name, is_scalar = self.buffers[node]
            if is_scalar:
                return Ref(name, node.type.dtype)
            return Load(name, linear(index, node.type.shape), node.type.dtype)
        assert node.op is not INPUT
        return self.read(self, node, index)

    def _remember(self, node: Node, index: tuple[Index, ...], atom: Atom) -> None:
        # Not further out than the index's variables: elsewhere in their range another piece of
        # the value may be meant.
        depth = max([self.depth_of(atom), *[self.depth.get(n, 0) for i in index for n in i.names]])
        self.scopes[depth].memo[node, index] = atom

    # -- loops ----------------------------------------------------------------------------------

    def add(self, statement: Statement) -> None:
        """A statement in the innermost scope."""
        self.scopes[-1].statements.append(statement)

    @contextmanager
    def scope(self, name: str | None) -> Iterator[Scope]:
        """A scope of its own for a loop body."""
        opened = Scope(name)
        self.scopes.append(opened)
        if name is not None:
            self.depth[name] = len(self.scopes) - 1
        try:
            yield opened
        finally:
            self.scopes.pop()
            self.depth = {n: d for n, d in self.depth.items() if d < len(self.scopes)}

    def loop(self, name: str, start: int, stop: int, body: Callable[[], None]) -> None:
        """A loop over ``body``, split where that needs it."""
        pending = [(start, stop)]
        while pending:
            first, last = pending.pop()
            self.ranges[name] = (first, last - 1)
            self.loops.add(name)
            try:
                with self.scope(name) as opened:
                    body()
            except Undecided as cut:
                if cut.name != name:
                    raise
                pending += [(cut.at, last), (first, cut.at)]
                continue
            finally:
                self.loops.discard(name)
            self.add(Loop(name, first, last, tuple(opened.statements)))
