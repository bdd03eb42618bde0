"""Which sweeps a Jacobian or Hessian of known pattern takes, and where each entry is read.

Forward sweeps give sums of columns, reverse sweeps sums of rows; the entry (r, c) is read from
the sum with the colour of c, at r, or from that with the colour of r, at c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .coloring import Coloring, color_columns
from .compress import FORWARD, REVERSE, Read, Sweeps
from .pattern import Ints, Pattern, gather
from .symmetric import Substitution, color_symmetric, stars

_REVERSE_COST = 1.3      # of a reverse sweep, in forward sweeps


@dataclass(frozen=True, eq=False)
class Recovery:
    """Sweeps, and the place of each entry of the pattern, row by row.

    Attributes:
        sweeps: at most one for each direction.
        direction: FORWARD or REVERSE, an entry.
        color: of the sweep, an entry.
        position: row in a forward sweep, column in a reverse one, an entry.
        order: how the colours were found.
        levels: for recovery by substitution, see ``symmetric``.
    """

    sweeps: tuple[Sweeps, ...]
    direction: Ints
    color: Ints
    position: Ints
    order: str
    levels: tuple[Substitution, ...] = ()

    @property
    def n_colors(self) -> int:
        """How many sweeps there are."""
        return sum(s.count for s in self.sweeps)


def jacobian_recovery(pattern: Pattern, mode: str = "auto") -> Recovery:
    """Sweeps of a Jacobian: by columns, by rows, or by both, whichever costs least."""
    if mode == "forward":
        return _by_columns(pattern, color_columns(pattern))
    flipped = pattern.transposed
    if mode == "reverse":
        return _by_rows(pattern, color_columns(flipped))
    # A side needs at least as many colours as its fullest row or column has entries.
    columns_bound = int(pattern.counts.max(initial=0))
    rows_bound = _REVERSE_COST * int(flipped.counts.max(initial=0))
    if columns_bound <= rows_bound:
        best = _by_columns(pattern, color_columns(pattern))
        if best.n_colors > rows_bound:
            best = min(best, _by_rows(pattern, color_columns(flipped)), key=_cost)
    else:
        best = _by_rows(pattern, color_columns(flipped))
        if _cost(best) > columns_bound:
            best = min(best, _by_columns(pattern, color_columns(pattern)), key=_cost)
    if pattern.nnz < _cost(best) * max(pattern.shape) / 4:       # few of the sums' places are used
        best = _by_both(pattern, _cost(best)) or best
    return best


def _cost(recovery: Recovery) -> float:
    return sum(s.count * (_REVERSE_COST if s.direction == REVERSE else 1)
               for s in recovery.sweeps)


def hessian_recovery(pattern: Pattern, mode: str = "auto") -> Recovery:
    """Forward sweeps of a gradient, as many as a star colouring has colours.

    With ``mode="substitution"`` as many as an acyclic one has, if these are fewer.
    """
    found = color_symmetric(pattern) if mode == "substitution" else stars(pattern)
    rows, columns = pattern.rows(), pattern.indices
    own, colors = found.own, found.coloring.colors
    return Recovery((Sweeps(FORWARD, colors, found.coloring.count),),
                    np.full(pattern.nnz, FORWARD, np.int8),
                    np.where(own, colors[columns], colors[rows]),
                    np.where(own, rows, columns), found.coloring.order, found.levels)


def _by_both(pattern: Pattern, below: float) -> Recovery | None:
    """Full rows by reverse sweeps, all others by columns; None if that is not below a cost.

    A partition of the entries by rows, after Coleman and Verma (*The efficient computation of
    sparse Jacobian matrices using automatic differentiation*, 1998).
    """
    counts = pattern.counts
    order = np.argsort(-counts, kind="stable")
    best = None
    # Without its t fullest rows the matrix needs at least as many colours as the next one has.
    steps = np.unique(np.concatenate([[0], np.flatnonzero(np.diff(counts[order])) + 1]))[1:9]
    for t in steps.tolist():
        if _REVERSE_COST + counts[order[t]] >= below:
            continue
        full = np.zeros(pattern.n_rows, bool)
        full[order[:t]] = True
        numbers = np.arange(pattern.n_rows)
        columns = color_columns(gather(pattern, np.where(full, -1, numbers)))
        rows = color_columns(gather(pattern, np.where(full, numbers, -1)).transposed)
        cost = columns.count + _REVERSE_COST * rows.count
        if cost < below:
            below, best = cost, (full, columns, rows)
    if best is None:
        return None
    full, columns, rows = best
    row = pattern.rows()
    by_row = full[row]
    return Recovery((Sweeps(FORWARD, columns.colors, columns.count),
                     Sweeps(REVERSE, rows.colors, rows.count)),
                    np.where(by_row, REVERSE, FORWARD).astype(np.int8),
                    np.where(by_row, rows.colors[row], columns.colors[pattern.indices]),
                    np.where(by_row, pattern.indices, row),
                    f"columns, {columns.order}, and rows, {rows.order}")


def _by_columns(pattern: Pattern, found: Coloring) -> Recovery:
    return Recovery((Sweeps(FORWARD, found.colors, found.count),),
                    np.full(pattern.nnz, FORWARD, np.int8), found.colors[pattern.indices],
                    pattern.rows(), f"columns, {found.order}")


def _by_rows(pattern: Pattern, found: Coloring) -> Recovery:
    rows = pattern.rows()
    return Recovery((Sweeps(REVERSE, found.colors, found.count),),
                    np.full(pattern.nnz, REVERSE, np.int8), found.colors[rows],
                    pattern.indices, f"rows, {found.order}")


def reads(recovery: Recovery, entries: Ints, row_starts: Sequence[int],
          column_starts: Sequence[int], dtype: Any) -> Read:
    """Where some entries are found among the results of the sweeps.

    Args:
        recovery: of the whole matrix.
        entries: their numbers in its pattern.
        row_starts: first row of each output, and the end.
        column_starts: first column of each input, and the end.
        dtype: of the entries.
    """
    direction = recovery.direction[entries]
    color = recovery.color[entries].astype(np.intp)
    position = recovery.position[entries]
    sources: list[tuple[int, int]] = []
    index = np.zeros(len(entries), np.intp)
    offset = 0
    for one in recovery.sweeps:
        starts = row_starts if one.direction == FORWARD else column_starts
        part = np.searchsorted(np.asarray(starts), position, side="right") - 1
        mine = direction == one.direction
        for p in np.unique(part[mine]).tolist():
            here = mine & (part == p)
            length = starts[p + 1] - starts[p]
            index[here] = offset + color[here] * length + position[here] - starts[p]
            sources.append((one.direction, p))
            offset += one.count * length
    return Read(tuple(sources), index, dtype)


def starts(sizes: Sequence[int]) -> list[int]:
    """Where parts of these sizes begin, and the end."""
    out: Any = np.cumsum([0, *sizes])
    return out.tolist()  # type: ignore[no-any-return]
