"""Checkpointing by budget: which values to keep from the way forward, and which to compute again.

A program is a list of steps in order. Its *turn* is the step at which most memory is in use: what
is computed before it and read after it is *saved*. A plan keeps some values across the turn and
drops the others; a dropped value is computed again, once, just before it is first read after the
turn, from what is kept or itself computed again, and stays until its last read.

Small programs get the plan of least work within the budget, by branch and bound over the sets of
kept values. For large ones a one-parameter family of plans is searched by bisection. It keeps what
is alive at *cuts* of the way forward: the first gap between cuts holds as much as a limit allows,
the next one less by what has been kept since, and so on, since what is kept early is given up last
(unlike the equal gaps of T. Chen, B. Xu, C. Zhang, C. Guestrin, *Training deep nets with sublinear
memory cost*, 2016, algorithm 3). More values are then kept as long as they fit, and single ones
exchanged, in a bounded number of trials, so that planning stays linear in the size of the program.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

EXACT_CANDIDATES = 22        # values up to which all sets of kept ones are looked at
_LEAVES = 6_000              # plans that the exact search evaluates at most
_TRIALS = 240                # plans that the improvement of a large one evaluates at most,
_TRIAL_STEPS = 300_000       # and steps of them, all together


@dataclass(frozen=True)
class Step:
    """One step of a program, by shapes alone.

    Attributes:
        args: positions of the steps it reads.
        size: bytes of new memory that its result takes; zero for views.
        work: what it costs to compute.
        views: whether the result may lie in the operands' memory, or keeps it from being given up.
        takes: which operands' memory it computes in, where nobody reads it afterwards.
        extra: bytes it needs while it is computed.
        fixed: never computed again: an argument, a constant, or a call that may not be repeated.
    """

    args: tuple[int, ...]
    size: int
    work: float
    views: bool = False
    takes: tuple[int, ...] = ()
    extra: int = 0
    fixed: bool = False


class Plan(NamedTuple):
    """What is kept, and what follows from it.

    ``order`` has the positions of the steps in the order of computation; a position that comes
    twice is computed again. ``exact`` says that no set of kept values needs less work.
    """

    kept: frozenset[int]
    order: tuple[int, ...]
    work: float
    peak: int
    exact: bool = False


@dataclass
class Task:
    """A program to be planned: its steps, and which results are returned."""

    steps: Sequence[Step]
    outputs: frozenset[int]
    evaluated: dict[frozenset[int], Plan] = field(default_factory=dict)

    @cached_property
    def roots(self) -> list[tuple[int, ...]]:
        """The steps in whose memory each result lies."""
        found: list[tuple[int, ...]] = []
        for i, step in enumerate(self.steps):
            own = (i,) if step.size or not step.views else ()
            found.append(tuple(dict.fromkeys([*own, *[r for a in step.args for r in found[a]]]))
                         if step.views else (i,))
        return found

    @cached_property
    def plain(self) -> Plan:
        """Everything kept."""
        order = tuple(range(len(self.steps)))
        return Plan(frozenset(order), order, 0.0, max(self.usage(order), default=0), True)

    @cached_property
    def turn(self) -> int:
        """The last step before memory is given up for good: where most of it is in use."""
        order = range(len(self.steps))
        usage = self.usage(order)
        return usage.index(max(usage)) if usage else 0

    @cached_property
    def pinned(self) -> list[bool]:
        """What is kept whatever the plan: leaves, results, and what is too small to matter."""
        small = self.plain.peak // 2000
        out = {r for o in self.outputs for r in self.roots[o]}
        return [step.fixed or i in out or (not step.views and step.size <= small)
                for i, step in enumerate(self.steps)]

    @cached_property
    def saved(self) -> list[int]:
        """Values that are computed before the turn and read after it, and may be dropped."""
        read = {r for step in self.steps[self.turn + 1:] for a in step.args if a <= self.turn
                for r in self.roots[a]}
        return [i for i in sorted(read) if not self.pinned[i]]

    @cached_property
    def candidates(self) -> list[int]:
        """Values that a plan may keep: the saved ones, and those from which they are computed.

        A value with a single reader whose result is no larger is left out: it is better to keep
        the result.
        """
        found, stack = set(self.saved), list(self.saved)
        while stack:
            for a in self.steps[stack.pop()].args:
                if a not in found and not self.steps[a].fixed:
                    found.add(a)
                    stack.append(a)
        return [i for i in sorted(found) if not self.pinned[i] and not self.steps[i].views
                and not self._is_better_kept_later(i)]

    @cached_property
    def readers(self) -> list[set[int]]:
        """The steps that read each result."""
        found: list[set[int]] = [set() for _ in self.steps]
        for i, step in enumerate(self.steps):
            for a in step.args:
                found[a].add(i)
        return found

    def _is_better_kept_later(self, i: int) -> bool:
        if len(self.readers[i]) != 1:
            return False
        (reader,) = self.readers[i]
        step = self.steps[reader]
        return reader <= self.turn and not step.views and step.size <= self.steps[i].size

    @cached_property
    def crossing(self) -> list[int | None]:
        """Up to the turn: the last step that reads a value's memory; None for what is pinned."""
        last: list[int | None] = [None] * (self.turn + 1)
        for i in range(self.turn + 1):
            for r in {r for a in self.steps[i].args for r in self.roots[a]}:
                if not self.pinned[r]:
                    last[r] = i
        return last

    @cached_property
    def ending(self) -> dict[int, list[int]]:
        """The values of which each step is the last reader on the way forward."""
        found: dict[int, list[int]] = {}
        for i, end in enumerate(self.crossing):
            if end is not None:
                found.setdefault(end, []).append(i)
        return found

    # -- what follows from what is kept --------------------------------------------------------

    def order(self, kept: frozenset[int]) -> tuple[list[int], float]:
        """Positions of the steps in the order of computation, and the work that is added."""
        steps, roots, pinned = self.steps, self.roots, self.pinned
        order = list(range(self.turn + 1))
        work = 0.0
        there = set()
        for i in order:
            if (pinned[i] or i in kept) and not steps[i].views:
                there.add(i)
        for i in order:
            if steps[i].views and not steps[i].size and all(r in there for r in roots[i]):
                there.add(i)
        for b in range(self.turn + 1, len(steps)):
            stack = [b]
            while stack:
                i = stack[-1]
                if i in there:
                    stack.pop()
                    continue
                missing = [a for a in steps[i].args if a not in there]
                if missing:
                    stack += reversed(missing)
                    continue
                stack.pop()
                there.add(i)
                order.append(i)
                if i <= self.turn:
                    work += steps[i].work
        return order, work

    def plan(self, kept: frozenset[int]) -> Plan:
        """The plan that keeps some values."""
        found = self.evaluated.get(kept)
        if found is None:
            order, work = self.order(kept)
            usage = self.usage(order)
            found = Plan(kept, tuple(order), work, max(usage, default=0))
            if len(self.steps) < 200:
                self.evaluated[kept] = found
        return found

    def usage(self, order: Sequence[int]) -> list[int]:
        """Bytes in use at each step of an order: when it is done, and before what it ends goes."""
        steps = self.steps
        latest: dict[int, int] = {}                # which computation a position stands for now
        roots: list[tuple[int, ...]] = []
        last = [0] * len(order)
        reads: list[tuple[int, ...]] = []
        for t, i in enumerate(order):
            args = tuple([latest[a] for a in steps[i].args])
            reads.append(args)
            own = (t,) if steps[i].size else ()
            roots.append(tuple(dict.fromkeys([*own, *[r for a in args for r in roots[a]]]))
                         if steps[i].views else (t,))
            last[t] = t
            for a in args:
                for r in roots[a]:
                    last[r] = t
            latest[i] = t
        for o in self.outputs:
            for r in roots[latest[o]]:
                last[r] = len(order)
        held = [0] * len(order)
        ending: dict[int, list[int]] = {}
        for t, end in enumerate(last):
            ending.setdefault(end, []).append(t)
        total, usage = 0, []
        for t, i in enumerate(order):
            step = steps[i]
            size = step.size
            for position in step.takes:
                a = reads[t][position]
                if last[a] == t and held[a] == size and roots[a] == (a,):
                    size, held[a] = 0, 0
                    held[t] = step.size
                    break
            total += size
            held[t] = step.size
            usage.append(total + step.extra)
            for r in ending.get(t, ()):
                total -= held[r]
        return usage


def plan(task: Task, budget: int) -> Plan:
    """The plan of least work whose peak is within the budget; of least peak if there is none.

    >>> chain = [Step((), 0, 0, fixed=True)] + [Step((i,), 8, 1) for i in range(8)]
    >>> back = [Step((7 - i, 8 + i), 8, 1, takes=(1,)) for i in range(8)]
    >>> task = Task(chain + back, frozenset([16]))
    >>> task.plain.peak, plan(task, 48).peak, plan(task, 48).work, plan(task, 48).exact
    (64, 48, 2.0, True)
    """
    if task.plain.peak <= budget:
        return task.plain
    if len(task.candidates) <= EXACT_CANDIDATES:
        return _exact(task, budget)
    return _improved(task, _family(task, budget), budget)


def least(task: Task) -> Plan:
    """A plan of little memory: the least budget that is met, to a hundredth."""
    best = plan(task, 0)
    low, high = 0, min(best.peak, task.plain.peak)
    while high - low > max(high // 100, 1):
        middle = (low + high) // 2
        found = plan(task, middle)
        if found.peak <= middle:
            best, high = found, found.peak
        else:
            low = middle
            if found.peak < best.peak:
                best, high = found, min(high, found.peak)
    return best


def _better(new: Plan, old: Plan | None, budget: int) -> bool:
    if old is None:
        return True
    if new.peak <= budget and old.peak <= budget:
        return (new.work, new.peak) < (old.work, old.peak)
    return (new.peak, new.work) < (old.peak, old.work)


# -- small programs ---------------------------------------------------------------------------

def _exact(task: Task, budget: int) -> Plan:
    """Branch and bound over the sets of kept values.

    A dropped value that is read after the turn is computed again for certain, and a kept one takes
    its memory at the turn: both bound what a set can still become.
    """
    saved = set(task.saved)
    names = sorted(task.candidates, key=lambda i: (i not in saved, -task.steps[i].work))
    best = _improved(task, _family(task, budget), budget)
    leaves = 0
    stack: list[tuple[int, frozenset[int], float, int]] = [(0, frozenset(), 0.0, 0)]
    while stack:
        depth, kept, work, held = stack.pop()
        if (best.peak <= budget and work > best.work) or (held > budget and best.peak <= budget):
            continue
        if depth == len(names):
            leaves += 1
            if leaves > _LEAVES:
                return best
            found = task.plan(kept)
            if _better(found, best, budget):
                best = found
            continue
        i = names[depth]
        if i in saved:
            stack.append((depth + 1, kept, work + task.steps[i].work, held))
            stack.append((depth + 1, kept | {i}, work, held + task.steps[i].size))
        else:
            stack.append((depth + 1, kept | {i}, work, held))
            stack.append((depth + 1, kept, work, held))
    return best._replace(exact=True)


# -- large programs ---------------------------------------------------------------------------

def _cuts(task: Task, limit: int) -> frozenset[int]:
    """What is kept if gaps between cuts hold as much as the limit leaves beside what is kept.

    A *cut* at a step keeps what is alive there on the way forward, so that nothing before it is
    needed to compute again what comes after it. Of the later half of each gap, the cheapest is
    taken. What fits after the last cut is kept altogether.
    """
    steps, saved, may = task.steps, set(task.saved), set(task.candidates)
    rest = sum(steps[i].size for i in saved)
    kept: set[int] = set()
    alive: dict[int, None] = {}
    held = gap = since = 0        # bytes: of what is kept; saved since the last cut, and the next
    blocked = 0                   # how many are alive that no plan keeps
    best: tuple[int, list[int]] | None = None
    for i in range(task.turn + 1):
        if i in saved:
            size = steps[i].size
            rest -= size
            gap += size
            since += size
            if held + gap + rest <= limit:
                return frozenset(kept | {j for j in saved if j >= i})
        if task.crossing[i] is not None:
            alive[i] = None
            blocked += i not in may
        for j in task.ending.get(i, ()):
            if j in alive:
                del alive[j]
                blocked -= j not in may
        if 2 * gap > limit - held and not blocked:
            new = [j for j in alive if j not in kept]
            price = sum(steps[j].size * (1 if j in saved else 2) for j in new)
            if best is None or price <= best[0]:
                best, since = (price, new), 0
        if held + gap >= limit and best is not None:
            kept.update(best[1])
            held += sum(steps[j].size for j in best[1])
            gap, best = since, None
    return frozenset(kept)


def _family(task: Task, budget: int) -> Plan:
    """The best plan with gaps that shrink as kept values gather."""
    best = task.plan(frozenset())
    low, high = 0, 2 * task.plain.peak
    while high - low > max(high // 200, 1):
        middle = (low + high) // 2
        found = task.plan(_cuts(task, middle))
        if _better(found, best, budget):
            best = found
        if found.peak <= budget:
            low = middle
        else:
            high = middle
    for part in range(1, 16):          # the peak is not monotonic: small limits keep too much, too
        found = task.plan(_cuts(task, budget * part // 12))
        if _better(found, best, budget):
            best = found
    return _filled(task, best, budget)


def _filled(task: Task, best: Plan, budget: int) -> Plan:
    """Keep more: as many values as fit, in two orders."""
    if best.peak > budget:
        return best
    dropped = [i for i in task.saved if i not in best.kept]
    start = best.kept
    for values in (dropped[::-1], dropped,
                   sorted(dropped, key=lambda i: -task.steps[i].work / task.steps[i].size)):
        low, high = 0, len(values)
        while low < high:
            middle = (low + high + 1) // 2
            found = task.plan(start.union(values[:middle]))
            if found.peak <= budget:
                low = middle
                best = found if _better(found, best, budget) else best
            else:
                high = middle - 1
    return best


def _improved(task: Task, best: Plan, budget: int) -> Plan:
    """Keep or drop single values where that is better, in a bounded number of trials."""
    trials, most = 0, min(_TRIALS, _TRIAL_STEPS // len(task.steps))
    improved = True
    while improved:
        improved = False
        recomputed = sorted(set(task.candidates) - best.kept, key=lambda i: -task.steps[i].work)
        for i in [*recomputed, *sorted(best.kept)]:
            trials += 1
            if trials > most:
                return best
            found = task.plan(best.kept ^ {i})
            if _better(found, best, budget):
                best, improved = found, True
    return best
