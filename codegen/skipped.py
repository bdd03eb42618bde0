"""Additions of zeros where a condition does not hold are left out.

``total[j] += where(c, x[j], 0)`` for all j, where ``c`` is the same for all of them, becomes a loop
that runs where ``c`` holds: of many sums, of which an iteration contributes to one (the nearest
centroid, the largest of a window), the others cost a test each. Sums begin with the zero that would
be added, and thus never are -0.0; so nothing changes, not even in the last bit.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ..compiler.ops import comparison
from .kernel import (
    Atom,
    Const,
    Let,
    Load,
    Loop,
    Ref,
    Statement,
    Store,
    Update,
    atoms,
    names_in,
)
from .names import Names
from .plan import own_cost

FLAG = np.dtype(bool)
LENGTH = 8               # iterations that pay for a branch that is foretold wrongly
REPEATED = 4             # additions an iteration that may be done twice to take a loop apart


def skipped(statements: Sequence[Statement], neutral: Mapping[str, Atom], names: Names
            ) -> list[Statement]:
    """The statements with loops taken apart by conditions.

    Args:
        statements: all loops over their whole ranges.
        neutral: the sums by the names of their buffers, and what each begins with.
        names: for conditions that are turned round.
    """
    out: list[Statement] = []
    for s in statements:
        if not isinstance(s, Loop) or not neutral:
            out.append(s)
        elif any(not isinstance(b, (Let, Store, Update)) for b in s.body):
            out.append(s._replace(body=tuple(skipped(s.body, neutral, names))))
        else:
            out += _parts(s, neutral, names)
    return out


def _parts(loop: Loop, neutral: Mapping[str, Atom], names: Names) -> list[Statement]:
    """The loop, or one for each condition and one for what is done in any case."""
    if loop.stop - loop.start < LENGTH:
        return [loop]
    lets = {s.name: s for s in loop.body if isinstance(s, Let)}
    stored = {s.buffer for s in loop.body if isinstance(s, Store)}
    totals = {s.name for s in loop.body if isinstance(s, Update)}
    uses: dict[str, int] = {}
    for s in loop.body:
        for name in names_in(s):
            uses[name] = uses.get(name, 0) + 1
    if totals & uses.keys() or any(
            isinstance(a, Load) and a.buffer in stored for s in loop.body for a in atoms(s)):
        return [loop]
    groups: dict[tuple[str, bool], list[Statement]] = {}
    rest: list[Statement] = []
    for s in loop.body:
        found = _condition(s, lets, uses, neutral)
        if found is not None:
            name, holds, value = found
            groups.setdefault((name, holds), []).append(s._replace(value=value))  # type: ignore
        elif not isinstance(s, Let):
            rest.append(s)
    if not groups:
        return [loop]
    bodies = [_with_lets(part, lets) for part in (rest, *groups.values())]
    often = Counter(s.name for body in bodies for s in body if isinstance(s, Let))
    repeated = sum((n - 1) * own_cost(lets[name].op) for name, n in often.items())
    if repeated > REPEATED * len(groups):
        return [loop]
    out: list[Statement] = [loop._replace(body=bodies[0])] if rest else []
    for (name, holds), body in zip(groups, bodies[1:], strict=True):
        when = Ref(name, FLAG)
        if not holds:
            turned = names.unique("t")
            out.append(Let(turned, FLAG, comparison.logical_not, (when,)))
            when = Ref(turned, FLAG)
        out.append(loop._replace(body=body, when=when))
    return out


def _condition(s: Statement, lets: Mapping[str, Let], uses: Mapping[str, int],
               neutral: Mapping[str, Atom]) -> tuple[str, bool, Atom] | None:
    """Which condition must (not) hold for a statement to matter, and what it adds then."""
    if not isinstance(s, Store) or s.op is None or s.buffer not in neutral or \
            not isinstance(s.value, Ref) or uses[s.value.name] != 1:
        return None
    chosen = lets.get(s.value.name)
    if chosen is None or chosen.op is not comparison.where:
        return None
    condition, *branches = chosen.args
    if not isinstance(condition, Ref) or condition.name in lets:
        return None
    zero = neutral[s.buffer]
    for holds, (value, other) in ((True, branches), (False, reversed(branches))):
        if isinstance(other, Const) and isinstance(zero, Const) and other.value == zero.value:
            return condition.name, holds, value
    return None


def _with_lets(last: Sequence[Statement], lets: Mapping[str, Let]) -> tuple[Statement, ...]:
    """Statements, after those values of the loop's that they are computed from."""
    needed: set[str] = set()
    pending = [name for s in last for name in names_in(s)]
    while pending:
        name = pending.pop()
        if name in lets and name not in needed:
            needed.add(name)
            pending += names_in(lets[name])
    return (*[s for name, s in lets.items() if name in needed], *last)
