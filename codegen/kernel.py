"""The second intermediate form: fused loop nests over flat buffers.

A kernel is what one call of compiled code does. It reads its parameters, fills its results, and
consists of *nests* that run one after the other. The outermost loop of a nest may be cut into
*chunks*, whose number depends on the shapes alone; chunks may run in any order or at once. What a
nest reduces over its chunks goes into one place a chunk, and the ``finish`` of the nest combines
those in order: no result depends on how many threads there were.

Statements are in three-address form: operands are atoms (numbers, names, elements of buffers),
every element is addressed by an *index*, an affine expression of loop variables and whole-number
names. ``kernel_text`` prints and parses kernels, ``kernel_verify`` states their rules,
``kernel_interpret`` runs them slowly and obviously right, ``c_source`` prints them as C.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..compiler.ops.row import Op

DType = np.dtype[Any]


class Index(NamedTuple):
    """An affine expression: the sum of ``coefficient * name`` and an offset."""

    terms: tuple[tuple[str, int], ...] = ()
    offset: int = 0

    def __add__(self, other: "Index | int") -> "Index":         # type: ignore[override]
        """The sum of two indices, or of an index and a number."""
        if isinstance(other, int):
            return Index(self.terms, self.offset + other)
        total = dict(self.terms)
        for name, coefficient in other.terms:
            total[name] = total.get(name, 0) + coefficient
        return Index(tuple(sorted((n, c) for n, c in total.items() if c)),
                     self.offset + other.offset)

    def times(self, factor: int) -> "Index":
        """The index multiplied by a number."""
        if factor == 0:
            return Index()
        return Index(tuple((n, c * factor) for n, c in self.terms), self.offset * factor)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables it depends on."""
        return tuple(n for n, _ in self.terms)


def variable(name: str) -> Index:
    """The index that is one variable."""
    return Index(((name, 1),))


class Const(NamedTuple):
    """A number of a dtype."""

    value: Any
    dtype: DType


class Ref(NamedTuple):
    """A named value."""

    name: str
    dtype: DType


class Load(NamedTuple):
    """An element of a buffer."""

    buffer: str
    index: Index         # type: ignore[assignment]
    dtype: DType


class Position(NamedTuple):
    """An index as a value."""

    index: Index         # type: ignore[assignment]
    dtype: DType = np.dtype(np.int64)


Atom = Const | Ref | Load | Position


class Let(NamedTuple):
    """``name = op(args)``; operands have the dtype the operator computes in."""

    name: str
    dtype: DType
    op: Op
    args: tuple[Atom, ...]
    hint: str | None = None          # what the user called it


class Wrap(NamedTuple):
    """``name = value``, an index along an axis of ``size``: negative ones count from its end.

    One that is out of range fails the call, and counts as 0 until then.
    """

    name: str
    value: Atom
    size: int


class Start(NamedTuple):
    """``name = value``: an accumulator begins."""

    name: str
    dtype: DType
    value: Any


class Update(NamedTuple):
    """``name = op(name, value)``."""

    name: str
    op: Op
    value: Atom


class Local(NamedTuple):
    """A buffer of the chunk's own."""

    name: str
    dtype: DType
    size: int


class Store(NamedTuple):
    """An element of a buffer gets a value, or ``op`` of what it holds and the value."""

    buffer: str
    index: Index         # type: ignore[assignment]
    value: Atom
    op: Op | None = None


class Loop(NamedTuple):
    """``for name in range(start, stop)``; iterations are independent but for updates if simd.

    Where ``when`` is false there are none.
    """

    name: str
    start: int
    stop: int
    body: "tuple[Statement, ...]"
    simd: bool = False
    when: Atom | None = None


Statement = Let | Wrap | Start | Update | Local | Store | Loop


@dataclass(frozen=True)
class Nest:
    """Loops, cut into chunks of ``chunk`` iterations of the outermost loop variable ``axis``.

    Without an axis the body runs once. Loops over ``axis`` in the body run over what the chunk
    has in common with their range. ``work`` is an estimate of the cost of all chunks, in additions.
    """

    body: tuple[Statement, ...]
    axis: str | None = None
    extent: int = 1
    chunk: int = 1
    finish: tuple[Statement, ...] = ()
    work: int = 0

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return -(-self.extent // self.chunk)


CHUNK = "chunk"          # its number, as a variable in indices of partial results


@dataclass(frozen=True)
class Buffer:
    """Memory of a kernel.

    ``role`` is ``in`` for an argument, ``scalar`` for one that is a single number, ``out`` for a
    result, ``scratch`` for memory during the call, ``table`` for constants.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    role: str
    value: Any = field(default=None, compare=False)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class Kernel:
    """What one call of compiled code does."""

    name: str
    buffers: tuple[Buffer, ...]
    nests: tuple[Nest, ...]

    def having(self, *roles: str) -> tuple[Buffer, ...]:
        """The buffers of these roles, in order."""
        return tuple(b for b in self.buffers if b.role in roles)

    @property
    def work(self) -> int:
        """Estimated cost, in additions."""
        return sum(nest.work for nest in self.nests)


def walk(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, outer before inner."""
    for s in statements:
        yield s
        if isinstance(s, Loop):
            yield from walk(s.body)


def atoms(statement: Statement) -> tuple[Atom, ...]:
    """The operands a statement reads itself."""
    if isinstance(statement, Let):
        return statement.args
    if isinstance(statement, (Wrap, Update, Store)):
        return (statement.value,)
    if isinstance(statement, Loop) and statement.when is not None:
        return (statement.when,)
    return ()


def names_in(statement: Statement) -> Iterator[str]:
    """Names a statement reads itself, those in indices included."""
    for atom in atoms(statement):
        if isinstance(atom, Ref):
            yield atom.name
        elif isinstance(atom, (Load, Position)):
            yield from atom.index.names
    if isinstance(statement, Store):
        yield from statement.index.names


def without_dead(body: tuple[Statement, ...], finish: tuple[Statement, ...] = ()
                 ) -> tuple[Statement, ...]:
    """The statements without those whose results nobody reads."""
    while True:
        everything = (*body, *finish)
        used = {name for s in walk(everything) for name in names_in(s)}
        local = {s.name for s in walk(everything) if isinstance(s, Local)}
        read = {a.buffer for s in walk(everything) for a in atoms(s) if isinstance(a, Load)}
        new = _drop(body, used, local - read)
        if new == body:
            return body
        body = new


def _drop(body: tuple[Statement, ...], used: set[str], unread: set[str]
          ) -> tuple[Statement, ...]:
    out: list[Statement] = []
    for s in body:
        if isinstance(s, (Let, Wrap)) and s.name not in used:
            continue
        if isinstance(s, (Store, Local)) and (
                s.buffer if isinstance(s, Store) else s.name) in unread:
            continue
        if isinstance(s, Loop):
            s = s._replace(body=_drop(s.body, used, unread))
            if not s.body:
                continue
        out.append(s)
    return tuple(out)


def renamed(index: Index, change: Mapping[str, Index]) -> Index:
    """The index with variables replaced."""
    total = Index((), index.offset)
    for name, coefficient in index.terms:
        total = total + change.get(name, variable(name)).times(coefficient)
    return total
