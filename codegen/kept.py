"""Which states of a loop are kept for the way back, and how many are in memory at once.

A counted loop whose states take little memory keeps them all in a list. All other loops keep some
of them in a class that the module brings along, ``templates/snapshots.py.j2``.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from ..compiler.ops.looping import Loop, Pull
from .bodies import reads
from .template import render

KEEP_ALL = 2 ** 20           # bytes of states up to which all of them are kept
_OBJECT = 112                # bytes of an array or scalar beside its data
_SIMULATED = 20_000          # steps up to which a schedule is gone through


class Schedule(NamedTuple):
    """Arguments of the class that keeps states.

    Attributes:
        slots: how many are kept.
        steps: the number of steps; None if it is not known before.
        bounded: whether the slots are a limit also for an unknown number.
        on_disk: how many states are kept in a file; 0 for none.
    """

    slots: int
    steps: int | None
    bounded: bool = False
    on_disk: int = 0


def state_bytes(loop: Loop, carry: Sequence[int] | None = None) -> int:
    """Memory of a state, with that of the objects."""
    return sum(loop.inputs[i].type.nbytes + _OBJECT
               for i in (range(loop.carried) if carry is None else carry))


def used(loop: Loop, pull: Pull) -> list[int]:
    """Of the carry, what pulling back reads."""
    return [i for i in range(loop.carried) if reads(pull.pulled, pull.pulled.inputs[
        loop.first + i])]


def used_by(loop: Loop, pulls: Sequence[Pull]) -> list[int]:
    """Of the carry, what any of several ways back reads."""
    return sorted({i for pull in pulls for i in used(loop, pull)})


def keeps_all(loop: Loop, read: Sequence[int]) -> bool:
    """Whether the states are kept in a list, or none if nothing of them is read."""
    if loop.length is None:
        return False
    free = loop.snapshots is None and loop.on_disk is None
    return not read or (free and loop.length * state_bytes(loop, read) <= KEEP_ALL)


def schedule(loop: Loop) -> Schedule:
    """How a loop that does not keep all states keeps some."""
    if loop.length is None:
        if loop.snapshots:
            return Schedule(loop.snapshots, None, bounded=True)
        return Schedule(max(1, KEEP_ALL // state_bytes(loop)), None)
    between = -(-(loop.length + 1) // loop.on_disk) if loop.on_disk else loop.length
    slots = loop.snapshots or math.isqrt(2 * between) + 1
    return Schedule(slots, loop.length, on_disk=loop.on_disk or 0)


# -- how many at once -------------------------------------------------------------------------


class Held(NamedTuple):
    """States in memory, the first one (the loop's operand) not counted.

    Attributes:
        forward: at most, in the loop itself, besides the state of the step.
        between: after it, in front of the way back.
        opening: until the last step is pulled back, which is the first on the way back: where
            steps are computed again, and where it is pulled back.
        later: the same for the other steps.
        repeated: how many steps are computed again.
    """

    forward: int
    between: int
    opening: tuple[int, int]
    later: tuple[int, int]
    repeated: int


def held_all(steps: int) -> Held:
    """If all states are kept in a list; none is computed again."""
    n = max(steps - 1, 0)
    return Held(max(n - 1, 0), n, (0, n), (0, n), 0)


@cache
def held(chosen: Schedule, steps: int) -> Held:
    """What a schedule has in memory for a number of steps, by going through it.

    Of a long loop it is a part: numbers follow from the slots.
    """
    if chosen.on_disk:                    # a block is in memory, its first state read from the file
        apart = -(-(steps + 1) // chosen.on_disk)
        block = held(Schedule(chosen.slots, apart), apart)
        (a, b), (c, d) = block.opening, block.later
        return Held(block.forward, block.between, (a + 1, b + 1), (c + 1, d + 1),
                    block.repeated * chosen.on_disk)
    if steps > _SIMULATED:
        part = held(chosen._replace(steps=chosen.steps and _SIMULATED), _SIMULATED)
        longer = steps / _SIMULATED
        grows = 1.0 if chosen.steps is not None or chosen.bounded else math.sqrt(longer)
        (a, b), (c, d) = part.opening, part.later
        return Held(round(part.forward * grows), round(part.between * grows),
                    (round(a * grows), round(b * grows)), (round(c * grows), round(d * grows)),
                    round(part.repeated * longer))
    keeper = _snapshots()(chosen.slots, chosen.steps, bounded=chosen.bounded)
    forward = stepping = repeated = 0
    for state in range(steps):
        keeper.keep(state)
        forward = max(forward, _alive(keeper, state) - (state > 0))
    between, before = _alive(keeper), steps          # the caller's variable has the last state
    phases: list[tuple[int, int]] = []

    def step(_: int, state: int) -> int:
        nonlocal stepping, repeated
        repeated += 1
        stepping = max(stepping, _alive(keeper, state, before))
        return state + 1
    for _, state in keeper.backwards(step):
        phases.append((stepping, _alive(keeper, state)))
        before, stepping = state, 0
    opening, later = phases[:1] or [(0, 0)], phases[1:] or [(0, 0)]
    return Held(forward, between, opening[0],
                (max(a for a, _ in later), max(b for _, b in later)), repeated)


def _alive(keeper: Any, *others: int) -> int:
    return len({*(state for _, state in keeper.saved), *others} - {0})


@cache
def _snapshots() -> Any:
    """The class that generated modules bring along."""
    made: dict[str, Any] = {}
    exec(render("snapshots.py.j2", name="Snapshots"), made)      # the text is our own
    return made["Snapshots"]
