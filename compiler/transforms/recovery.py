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
from .pattern import Ints, Pattern

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
    """

    sweeps: tuple[Sweeps, ...]
    direction: Ints
    color: Ints
    position: Ints
    order: str

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
        columns = color_columns(pattern)
        if columns.count <= rows_bound:
            return _by_columns(pattern, columns)
        rows = color_columns(flipped)
    else:
        rows = color_columns(flipped)
        if _REVERSE_COST * rows.count <= columns_bound:
            return _by_rows(pattern, rows)
        columns = color_columns(pattern)
    if columns.count <= _REVERSE_COST * rows.count:
        return _by_columns(pattern, columns)
    return _by_rows(pattern, rows)


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
          column_starts: Sequence[int]) -> Read:
    """Where some entries are found among the results of the sweeps.

    Args:
        recovery: of the whole matrix.
        entries: their numbers in its pattern.
        row_starts: first row of each output, and the end.
        column_starts: first column of each input, and the end.
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
    return Read(tuple(sources), index)


def starts(sizes: Sequence[int]) -> list[int]:
    """Where parts of these sizes begin, and the end."""
    out: Any = np.cumsum([0, *sizes])
    return out.tolist()  # type: ignore[no-any-return]
