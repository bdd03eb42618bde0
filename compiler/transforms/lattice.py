"""Colourings of grids: the colour of the cell (x, y, z) is (x + b·y + c·z) mod k.

Patterns of stencils on grids repeat, and a colouring that repeats as well often takes the fewest
colours there can be: 5 for the five-point stencil, where greedy ones take 7 or more. (Goldfarb and
Toint: *Optimal estimation of Jacobian and Hessian matrices that arise in finite difference
calculations*, Math. Comp. 43, 1984.) The strides of the grid are guessed from how far apart the
entries of some rows are, the multipliers tried on these rows; a colouring is kept only if it is
valid for the whole pattern.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .pattern import Ints, Pattern

_ROWS = 64               # that are looked at
_STRIDES = 6             # most frequent distances that may be strides
_WIDEST = 40             # colours, above which nothing is tried
_MORE = 6                # colours beyond the fewest
_DISTANCES = 64          # between entries of a row; more are no stencil's


def lattices(pattern: Pattern, fewest: int, below: int) -> Iterator[tuple[str, Ints]]:
    """Colourings with at least ``fewest`` and fewer than ``below`` colours, to be verified.

    Fewest colours first; one for each number of colours and choice of strides.
    """
    below = min(below, _WIDEST, fewest + _MORE)
    if pattern.nnz == 0 or fewest >= below:
        return
    if fewest == 1:                               # no row has two entries
        yield "one for all", np.zeros(pattern.n_columns, np.int32)
        return
    rows = np.unique(np.linspace(0, pattern.n_rows - 1, _ROWS).astype(np.intp))
    pairs = _pairs(pattern, rows)
    distances = pairs[:, 1] - pairs[:, 0]
    found, counts = np.unique(np.abs(distances[distances != 0]), return_counts=True)
    if len(found) > _DISTANCES:
        return                                    # no grid
    frequent = found[np.argsort(-counts, kind="stable")]
    candidates = sorted(_strides(frequent, pattern)[:_STRIDES])
    j = np.arange(pattern.n_columns)
    for k in range(max(fewest, 1), below):
        for strides in itertools.chain([()], ((s,) for s in candidates),
                                       itertools.combinations(candidates, 2)):
            differences = np.stack([d[:, 1] - d[:, 0] for d in _digits(pairs, strides)])
            factors = _multipliers(np.unique(differences, axis=1), k)
            if factors is not None:
                colors = sum(f * d for f, d in zip(factors, _digits(j, strides), strict=True)) % k
                name = f"grid of strides {(1, *strides)}" if strides else "one after the other"
                yield name, np.asarray(colors).astype(np.int32)


def _pairs(pattern: Pattern, rows: Ints) -> Ints:
    """All pairs of columns with entries in the same of these rows."""
    found = []
    for i in rows:
        columns = pattern.indices[pattern.indptr[i]:pattern.indptr[i + 1]]
        if 1 < len(columns) <= _WIDEST:
            a, b = np.triu_indices(len(columns), 1)
            found.append(np.stack([columns[a], columns[b]], axis=1))
    return np.concatenate(found).astype(np.int64) if found else np.zeros((0, 2), np.int64)


def _strides(frequent: Ints, pattern: Pattern) -> list[int]:
    """Distances that may be strides: those from which a grid has its neighbours first."""
    known = set(frequent.tolist())
    # A stride s has s − 1 and s + 1 beside it where its stencil has corners.
    return sorted((s for s in frequent.tolist() if 2 < s < pattern.n_columns),
                  key=lambda s: -((s - 1 in known) + (s + 1 in known)))


def _digits(numbers: Ints, strides: Any) -> list[Ints]:
    """Coordinates of a cell from its number."""
    digits: list[Ints] = []
    rest = numbers
    for s in reversed(strides):
        high, rest = np.divmod(rest, s)
        digits.insert(0, high)
    return [rest, *digits]


def _multipliers(differences: Ints, k: int) -> tuple[int, ...] | None:
    """Multipliers with which no difference is 0 mod k; the first coordinate has 1."""
    n = len(differences) - 1
    grid = np.indices((k,) * n).reshape(n, -1) if n else np.zeros((0, 1), np.int64)
    values = (differences[0] + grid.T @ differences[1:]) % k
    good = np.flatnonzero(np.all(values != 0, axis=1))
    return (1, *grid[:, good[0]].tolist()) if len(good) else None
