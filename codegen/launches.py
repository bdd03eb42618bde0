"""From a kernel to launches on a GPU: who computes which iterations, and how parts are combined.

A launch gives every thread (or, for long rows, every block) values of some loop variables, its
*space*; loops over these become tests, all other loops run inside of a thread. What a nest reduces
to one number is summed by threads, then by blocks in a tree, then by one block over the blocks'
parts. A reduction that keeps inner axes belongs to the thread of each element it keeps. What is
stored through index arrays is sorted by place first (a stable sort), and each place belongs to one
thread that adds in the order in which the array says: every result has one owner, and the shape of
each tree is a function of the shapes alone, so results are the same at every run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..compiler.ops import arithmetic
from .kernel import (
    Buffer,
    Const,
    Index,
    Kernel,
    Let,
    Load,
    Loop,
    Nest,
    Position,
    Ref,
    Start,
    Statement,
    Store,
    Update,
    Wrap,
    atoms,
    names_in,
    variable,
    walk,
    without_dead,
)
from .kernel_interpret import interpret_kernel
from .names import Names

BLOCK = 256              # threads of a block
MOST_BLOCKS = 1024
LONG_ROW = 64            # elements, from which on a block has a row
FEW = 16_384             # threads that are too few for a GPU: a column's sum is then cut
SLICE = 64               # rows, at least, of a part of it
SLICE_NAME = "slice"
Space = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Total:
    """An accumulator of a whole launch; ``parts`` has room for one number a block."""

    start: Start
    update: Update
    parts: str = ""


@dataclass(frozen=True)
class Launch:
    """One launch.

    Attributes:
        name: of the function in the CUDA text.
        kind: ``threads`` (each has a point of the space), ``rows`` (each block has one),
            ``finish`` (one block combines parts, one thread does the rest), or ``owners`` (each
            thread has a run of equal ``keys``, and a point of the space).
        space: loop variables and their extents.
        body: statements, with their loops over the space.
        before: statements that every thread does first.
        totals: what is reduced over the whole space.
        ends: statements that one thread does when the totals are known.
        points: of ``owners``: loop variables that number the keys.
        cut: of a column's sum: the loop variable that parts share out, its extent, and the size
            of a part.
        keys: of ``owners``: the buffer of places.
        order: of ``owners``: the buffer of their order.
        atomic: whether additions are atomic.
    """

    name: str
    kind: str
    space: Space = ()
    body: tuple[Statement, ...] = ()
    before: tuple[Statement, ...] = ()
    totals: tuple[Total, ...] = ()
    ends: tuple[Statement, ...] = ()
    points: Space = ()
    cut: tuple[str, int, int] | None = None
    keys: str = ""
    order: str = ""
    atomic: bool = False

    @property
    def block(self) -> int:
        """Number of threads of a block, a power of two."""
        return BLOCK

    @property
    def size(self) -> int:
        """Number of points of the space."""
        return _count(self.space) * _count(self.points)

    @property
    def grid(self) -> int:
        """Number of blocks, which depends on shapes alone."""
        if self.kind == "finish":
            return 1
        wanted = self.size if self.kind == "rows" else -(-self.size // self.block)
        return min(max(1, wanted), MOST_BLOCKS)


@dataclass(frozen=True)
class Sort:
    """``order`` is set to the places of ``keys`` in ascending order, equal ones as they were."""

    keys: str
    order: str


Step = Launch | Sort


def launches(kernel: Kernel, deterministic: bool = True,
             constants: Mapping[str, Any] | None = None) -> tuple[Kernel, tuple[Step, ...]]:
    """The kernel, with the memory that launches need, and the launches.

    Args:
        kernel: that was lowered without chunks.
        deterministic: whether results are to be the same at every run; if not, numbers are added
            through index arrays in whatever order threads come.
        constants: values of arguments that are known; index arrays among them are sorted now, and
            buffers of the role ``fixed`` have their keys and order.
    """
    found = _Launches(kernel, deterministic, constants or {})
    found.run()
    kernel = replace(kernel, buffers=(*kernel.buffers, *found.extra))
    launched = [s for s in found.steps if isinstance(s, Launch)]
    if len(launched) == 1:
        return kernel, tuple(replace(s, name=kernel.name) if isinstance(s, Launch) else s
                             for s in found.steps)
    return kernel, tuple(found.steps)


class _Launches:
    def __init__(self, kernel: Kernel, deterministic: bool, constants: Mapping[str, Any]) -> None:
        self.kernel = kernel
        self.constants = constants
        self.deterministic = deterministic
        taken = {b.name for b in kernel.buffers} | {SLICE_NAME}
        for nest in kernel.nests:
            for s in walk((*nest.body, *nest.finish)):
                taken.update(names_in(s))
                taken.add(getattr(s, "name", ""))
        self.names = Names(taken)
        self.extra: list[Buffer] = []
        self.steps: list[Step] = []

    def run(self) -> None:
        for nest in self.kernel.nests:
            assert nest.axis is None, "kernels for launches have no chunks"
            if self._columns(nest.body):
                continue
            self.pure: list[Statement] = []
            self.starts: dict[str, Start] = {}
            self.open: dict[str, Total] = {}         # totals whose parts are in memory
            self.last: list[Statement] = []
            for group in _groups(nest.body):
                self._group(group)
            self._flush()

    def _add(self, launch: Launch) -> None:
        number = 1 + sum(isinstance(s, Launch) for s in self.steps)
        self.steps.append(replace(launch, name=f"{self.kernel.name}_{number}"))

    def _buffer(self, wish: str, dtype: np.dtype, size: int, role: str = "scratch") -> str:
        name = self.names.unique(wish)
        self.extra.append(Buffer(name, dtype, (size,), role))
        return name

    # -- loops ----------------------------------------------------------------------------------

    def _group(self, group: list[Statement]) -> None:
        first = group[0]
        if isinstance(first, Start):
            self.starts[first.name] = first
        elif isinstance(first, Loop):
            loops = tuple(group)
            self._flush(only_if=not self.starts)
            if _is_serial(loops) or (self.starts and _is_scan(loops)):
                self.last += [*self.starts.values(), *loops]
                self.starts = {}
            elif (key := _scattered(loops)) is not None:
                self._scatter(loops, key)
            else:
                self._share(loops)
        elif isinstance(first, (Let, Wrap)) and not self._needs_totals(first):
            self.pure.append(first)
        else:
            self.last.append(first)

    def _needs_totals(self, s: Statement) -> bool:
        late = {*self.starts, *[x.name for x in self.last if isinstance(x, Let)]}
        stored = {x.buffer for x in self.last if isinstance(x, Store)}
        return any(n in late for n in names_in(s)) or any(
            isinstance(a, Load) and a.buffer in stored for a in atoms(s))

    def _before(self, body: Sequence[Statement]) -> tuple[Statement, ...]:
        """What the statements need of those that precede the loops."""
        return without_dead(tuple(self.pure), tuple(body))

    def _share(self, loops: tuple[Statement, ...]) -> None:
        """A launch in which threads, or blocks, have iterations."""
        space = _space(loops)
        names = {n for n, _ in space}
        inner = [s.stop - s.start for s in walk(loops) if isinstance(s, Loop)
                 and s.name not in names]
        kind = "rows" if max(inner, default=0) >= LONG_ROW and any(
            isinstance(s, Start) for s in walk(loops)) and not _is_scan(loops) else "threads"
        begun = {s.name for s in walk(loops) if isinstance(s, Start)}
        updates = {s.name: s for s in walk(loops) if isinstance(s, Update) and
                   s.name not in begun}
        launch = Launch("", kind, space, loops, self._before(loops))
        totals = []
        for name, update in updates.items():
            assert name not in self.open, "a total of two launches"
            total = Total(self.starts[name], update)
            if launch.grid > 1:
                total = replace(total, parts=self._buffer("parts", total.start.dtype,
                                                          launch.grid))
            totals.append(total)
            self.open[name] = total
        self._add(replace(launch, totals=tuple(totals)))

    def _flush(self, only_if: bool = True) -> None:
        """A launch of one thread for what stands outside of loops."""
        if not self.last or not only_if:
            return
        used = {n for s in walk(tuple(self.last)) for n in names_in(s)}
        totals = tuple(t for n, t in self.open.items() if n in used)
        last = self.steps[-1] if self.steps else None
        ends = tuple(self.last)
        self.last = []
        if totals and isinstance(last, Launch) and last.grid == 1 and all(
                t in last.totals for t in totals):
            self.steps[-1] = replace(last, ends=ends, before=without_dead(
                tuple(self.pure), (*last.body, *ends)))
            return
        self._add(Launch("", "finish", before=self._before(ends), totals=totals, ends=ends))

    # -- sums that keep inner axes ----------------------------------------------------------------

    def _columns(self, body: tuple[Statement, ...]) -> bool:
        """A launch for reductions that keep inner axes, if this nest is one."""
        found = [(s, around) for s, around in _stores(body) if s.op is not None and not
                 _wrapped(s, body) and set(around) - set(s.index.names)]
        if not found:
            return False
        kept = [n for n in found[0][1] if n in found[0][0].index.names]
        assert all([n for n in around if n in s.index.names] == kept for s, around in found)
        self.pure = [s for s in body if isinstance(s, (Let, Wrap))]
        loops: tuple[Statement, ...] = tuple(s for s in body if not isinstance(s, (Let, Wrap)))
        extents = _extents(loops)
        space = tuple((n, extents[n]) for n in kept)
        along = next(n for n in found[0][1] if n not in kept)
        n_slices = min(extents[along] // SLICE, FEW // max(1, _count(space)))
        size = -(-extents[along] // n_slices) if n_slices > 1 else extents[along]
        n_slices = -(-extents[along] // size)
        begin: list[Statement] = []
        end: list[Statement] = []
        combined: list[Statement] = []
        for store in {s.buffer: s for s, _ in found}.values():
            buffer = next(b for b in self.kernel.buffers if b.name == store.buffer)
            fill = next(s for s, _ in _stores(body) if s.buffer == store.buffer)
            assert isinstance(fill.value, Const)
            assert store.op is not None
            start = Start(self.names.unique("total"), buffer.dtype, fill.value.value)
            total = Ref(start.name, buffer.dtype)
            loops = tuple(x for s in loops for x in _accumulated(s, store.buffer, start.name))
            begin.append(start)
            if n_slices == 1:
                end.append(Store(store.buffer, store.index, total))
                continue
            parts = self._buffer("parts", buffer.dtype, buffer.size * n_slices)
            end.append(Store(parts, store.index + variable(SLICE_NAME).times(buffer.size), total))
            part = Load(parts, variable("c").times(buffer.size) + store.index, buffer.dtype)
            combined += [start, Loop("c", 0, n_slices, (Update(start.name, store.op, part),)),
                         Store(store.buffer, store.index, total)]
        whole = (*begin, *loops, *end)
        if n_slices == 1:
            self._add(Launch("", "threads", space, whole, self._before(whole)))
            return True
        self._add(Launch("", "threads", ((SLICE_NAME, n_slices), *space), whole,
                         self._before(whole), cut=(along, extents[along], size)))
        self._add(Launch("", "threads", space, tuple(combined)))
        return True

    # -- stores through index arrays --------------------------------------------------------------

    def _scatter(self, loops: tuple[Statement, ...], key: Store) -> None:
        assert all(s.buffer == key.buffer and _points(loops, s) == _points(loops, key)
                   for s, _ in _stores(loops)), "stores of several kinds"
        assert not any(isinstance(s, Update) for s in walk(loops)), "a sum among stores"
        extents = _extents(loops)
        points = tuple((n, extents[n]) for n in _points(loops, key))
        if not self.deterministic and key.op is arithmetic.add and (
                key.value.dtype in (np.float32, np.float64)):
            space = tuple(extents.items())
            self._add(Launch("", "threads", space, loops, self._before(loops), atomic=True))
            return
        n = _count(points)
        number = np.dtype(np.int64)
        keys = self._buffer("keys", number, n)
        order = self._buffer("order", number, n, "order")
        inside = {n for n, _ in points}
        place = Index()
        for name, extent in points:
            place = place.times(extent) + variable(name)
        wraps = {s.name for s in walk(loops) if isinstance(s, Wrap)}
        numbering = without_dead(_numbering(loops, inside, wraps, keys, place))
        before = self._before(numbering)
        found = self._known(keys, n, (*before, *numbering))
        if found is None:
            self._add(Launch("", "threads", points, numbering, before))
            self.steps.append(Sort(keys, order))
        else:
            sorted_now = np.argsort(found, kind="stable")
            self.extra[-2:] = [Buffer(keys, number, (n,), "fixed", found),
                               Buffer(order, number, (n,), "fixed", sorted_now)]
        space = tuple((n, e) for n, e in extents.items() if n not in inside)
        self._add(Launch("", "owners", space, loops, self._before(loops), points=points,
                         keys=keys, order=order))


    def _known(self, keys: str, n: int, numbering: tuple[Statement, ...]) -> Any:
        """The keys, if they depend on constants alone."""
        loads = {a.buffer for s in walk(numbering) for a in atoms(s) if isinstance(a, Load)}
        scalars = {b.name for b in self.kernel.having("scalar")}
        tables = {b.name for b in self.kernel.having("table")}
        if loads - tables - set(self.constants) or any(
                name in scalars for s in walk(numbering) for name in names_in(s)):
            return None
        given = [b for b in self.kernel.having("in") if b.name in self.constants]
        out = Buffer(keys, np.dtype(np.int64), (n,), "out")
        small = Kernel("keys", (*given, *self.kernel.having("table"), out), (Nest(numbering),))
        return interpret_kernel(small, [self.constants[b.name] for b in given])[0]


# -- what loops are like --------------------------------------------------------------------------


def _count(space: Space) -> int:
    return int(np.prod([n for _, n in space], dtype=np.int64))


def _groups(body: tuple[Statement, ...]) -> Iterator[list[Statement]]:
    """Statements one by one; loops together that are pieces of one.

    What is computed between two pieces, for the second one, precedes the first.
    """
    pieces: list[Statement] = []
    between: list[Statement] = []
    for s in body:
        last = pieces[-1] if pieces else None
        if isinstance(s, Loop) and isinstance(last, Loop) and s.name == last.name and \
                s.start == last.stop:
            yield from ([x] for x in between)
            pieces.append(s)
            between = []
        elif pieces and isinstance(s, (Let, Wrap)):
            between.append(s)
        else:
            if pieces:
                yield pieces
            yield from ([x] for x in between)
            pieces, between = ([s], []) if isinstance(s, Loop) else ([], [])
            if not pieces:
                yield [s]
    if pieces:
        yield pieces
    yield from ([x] for x in between)


def _is_serial(loops: tuple[Statement, ...]) -> bool:
    """Whether this is the copy of constants into a stack of numbers, which are stored later."""
    return len(loops) == 1 and isinstance(loops[0], Loop) and loops[0].name == "c"


def _is_scan(loops: tuple[Statement, ...]) -> bool:
    """Whether a loop reads what it accumulates, so that its iterations have an order."""
    for loop in walk(loops):
        if isinstance(loop, Loop):
            sums = {s.name for s in loop.body if isinstance(s, Update)}
            if any(n in sums for s in loop.body for n in names_in(s)):
                return True
    return False


def _prefix(loop: Loop) -> tuple[str, ...]:
    """Variables of the outer loops in which nothing but pure statements precede inner loops."""
    inner = [s for s in loop.body if isinstance(s, Loop)]
    if not inner or any(not isinstance(s, (Let, Wrap, Loop)) for s in loop.body):
        return (loop.name,)
    return (loop.name, *_common([_prefix(x) for x in inner]))


def _common(prefixes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    out = []
    for names in zip(*prefixes, strict=False):
        if len(set(names)) > 1:
            break
        out.append(names[0])
    return tuple(out)


def _extents(loops: tuple[Statement, ...]) -> dict[str, int]:
    extents: dict[str, int] = {}
    for s in walk(loops):
        if isinstance(s, Loop):
            extents[s.name] = max(extents.get(s.name, 0), s.stop)
    return extents


def _space(loops: tuple[Statement, ...]) -> Space:
    """The loop variables that threads or blocks have values of."""
    extents = _extents(loops)
    return tuple((n, extents[n]) for n in _common(
        [_prefix(x) for x in loops if isinstance(x, Loop)]))


def _stores(body: tuple[Statement, ...], around: tuple[str, ...] = ()
            ) -> Iterator[tuple[Store, tuple[str, ...]]]:
    """All stores, with the variables of the loops around them."""
    for s in body:
        if isinstance(s, Store):
            yield s, around
        elif isinstance(s, Loop):
            yield from _stores(s.body, (*around, s.name))


def _wrapped(store: Store, body: tuple[Statement, ...]) -> bool:
    wraps = {s.name for s in walk(body) if isinstance(s, Wrap)}
    return any(n in wraps for n in store.index.names)


def _scattered(loops: tuple[Statement, ...]) -> Store | None:
    """A store whose place depends on an index array, if there is one."""
    for store, _ in _stores(loops):
        if _wrapped(store, loops) and _points(loops, store):
            return store
    return None


def _points(loops: tuple[Statement, ...], store: Store) -> list[str]:
    """The loop variables on which the wrapped parts of a store's index depend."""
    reads = {s.name: set(names_in(s)) for s in walk(loops) if isinstance(s, (Let, Wrap))}
    seen: set[str] = set()
    wraps = {s.name for s in walk(loops) if isinstance(s, Wrap)}
    stack = [n for n in store.index.names if n in wraps]
    while stack:
        name = stack.pop()
        if name not in seen:
            seen.add(name)
            stack += reads.get(name, ())
    return [n for n in _extents(loops) if n in seen]


def _numbering(body: tuple[Statement, ...], inside: set[str], wraps: set[str], keys: str,
               place: Index) -> tuple[Statement, ...]:
    """The statements, storing the places they store at; loops over other variables once."""
    out: list[Statement] = []
    seen: set[str] = set()
    for s in body:
        if isinstance(s, Store):
            at = Index(tuple((n, c) for n, c in s.index.terms if n in wraps))
            out.append(Store(keys, place, Position(at)))
        elif not isinstance(s, Loop):
            out.append(s)
        else:
            inner = _numbering(s.body, inside, wraps, keys, place)
            if s.name in inside:
                out.append(s._replace(body=inner))
            elif s.name not in seen:
                seen.add(s.name)
                out += inner
    return tuple(out)


def _accumulated(s: Statement, buffer: str, total: str) -> tuple[Statement, ...]:
    """A statement that adds to an accumulator what it would add to a buffer's elements."""
    if isinstance(s, Loop):
        body = tuple(x for b in s.body for x in _accumulated(b, buffer, total))
        return (s._replace(body=body),) if body else ()
    if isinstance(s, Store) and s.buffer == buffer:
        return () if s.op is None else (Update(total, s.op, s.value),)
    return (s,)
