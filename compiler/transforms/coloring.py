"""Colouring: which columns (rows) of a matrix of known pattern can be computed in one sweep.

Columns that share no row are told apart in their sum. So a Jacobian takes as many sweeps as a
*distance-2 colouring* of its columns has colours. (Gebremedhin, Manne, Pothen: *What color is your
Jacobian? Graph coloring for computing derivatives*, SIAM Review 47, 2005.) Colours are found
greedily, so that the order matters; several are tried and the best is kept. For Hessians see
``symmetric``, for both sides at once ``bidirectional``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .lattice import lattices
from .pattern import Ints, Pattern

_LARGE = 6_000_000       # entries from which on one greedy order has to do
_VISITS = 4_000_000      # neighbours of neighbours that an order may look at


@dataclass(frozen=True, eq=False)
class Coloring:
    """A colour for each column (row, vertex), from 0; −1 for those that need no sweep.

    Attributes:
        colors: int32.
        count: how many colours there are.
        order: how it was found.
    """

    colors: Ints
    count: int
    order: str


def color_columns(pattern: Pattern) -> Coloring:
    """Colours of columns such that no two of the same share a row; the best of several orders.

    >>> from .pattern import from_entries
    >>> i = np.arange(10)
    >>> j = np.concatenate([i[1:] - 1, i, i[:-1] + 1])
    >>> tridiagonal = from_entries(np.concatenate([i[1:], i, i[:-1]]), j, 10, 10)
    >>> color_columns(tridiagonal).count
    3
    """
    bound = int(pattern.counts.max(initial=0))
    by_column = pattern.transposed
    used = by_column.counts > 0
    if bound == int(used.sum()):                  # a full row: each column on its own
        each: Ints = np.full(pattern.n_columns, -1, np.int32)
        each[used] = np.arange(bound)
        return Coloring(each, bound, "none needed")
    best: Coloring | None = None
    for name, colors in _candidates(pattern, by_column, bound):
        colors[~used] = -1
        found = Coloring(colors, int(colors.max(initial=-1)) + 1, name)
        if best is None or found.count < best.count:
            best = found
        if best.count == bound:
            break
    assert best is not None
    return best


def _candidates(pattern: Pattern, by_column: Pattern, bound: int) -> Iterator[tuple[str, Ints]]:
    n = pattern.n_columns
    for name, colors in lattices(pattern, bound, bound + 1):      # as few as there can be
        if is_valid(pattern, colors):
            yield name, colors
    natural = greedy(pattern, by_column, range(n))
    yield "natural", natural
    for name, colors in lattices(pattern, bound + 1, int(natural.max(initial=-1)) + 1):
        if is_valid(pattern, colors):
            yield name, colors
            break
    if pattern.nnz > _LARGE:
        return
    counts = pattern.counts
    rows = by_column.indices
    # How many columns share a row with each, counted once a row.
    sharing = np.bincount(by_column.rows(), weights=counts[rows] - 1, minlength=n)
    yield "largest first", greedy(pattern, by_column, np.argsort(-sharing, kind="stable"))
    if sharing.sum() <= _VISITS:
        neighbours = _distance_2(pattern, by_column)
        order = smallest_last(neighbours)
        yield "smallest last", greedy(pattern, by_column, order)
        yield "incidence degree", greedy(pattern, by_column, incidence_degree(neighbours))


def greedy(pattern: Pattern, by_column: Pattern, order: Any) -> Ints:
    """Each column the smallest colour that none of its rows has seen (2005, Algorithm 3.1).

    The colours in a row are the bits of an integer, so that a column costs its own entries only.
    """
    seen = [0] * pattern.n_rows
    colors = [0] * pattern.n_columns
    starts, rows = by_column.indptr.tolist(), by_column.indices.tolist()
    for j in order.tolist() if isinstance(order, np.ndarray) else order:
        mine = rows[starts[j]:starts[j + 1]]
        taken = 0
        for i in mine:
            taken |= seen[i]
        free = ~taken & (taken + 1)               # its lowest zero
        colors[j] = free.bit_length() - 1
        for i in mine:
            seen[i] |= free
    return np.array(colors, np.int32)


def is_valid(pattern: Pattern, colors: Ints) -> bool:
    """Whether no two entries of a row have columns of the same colour."""
    if not pattern.nnz:
        return True
    count = int(colors.max()) + 1
    head = int(np.searchsorted(pattern.indptr, 4096))
    if 0 < head < pattern.n_rows and not is_valid(
            Pattern(pattern.indptr[:head + 1], pattern.indices[:pattern.indptr[head]],
                    pattern.n_columns), colors):
        return False                              # most mistakes show early
    keys = pattern.rows() * np.int64(count) + colors[pattern.indices]
    keys.sort()
    return not np.any(keys[1:] == keys[:-1])


# -- orders ---------------------------------------------------------------------------------------


def _distance_2(pattern: Pattern, by_column: Pattern) -> list[list[int]]:
    """For each column, the columns that share a row with it."""
    starts, columns = pattern.indptr.tolist(), pattern.indices.tolist()
    found = []
    firsts, rows = by_column.indptr.tolist(), by_column.indices.tolist()
    for j in range(pattern.n_columns):
        near: set[int] = set()
        for i in rows[firsts[j]:firsts[j + 1]]:
            near.update(columns[starts[i]:starts[i + 1]])
        near.discard(j)
        found.append(list(near))
    return found


def smallest_last(neighbours: list[list[int]]) -> Ints:
    """Repeatedly the vertex with the fewest neighbours left goes to the end (2005, section 7)."""
    degree = [len(near) for near in neighbours]
    buckets: list[set[int]] = [set() for _ in range(max(degree, default=0) + 1)]
    for v, d in enumerate(degree):
        buckets[d].add(v)
    order, smallest = [], 0
    for _ in range(len(neighbours)):
        smallest = max(smallest - 1, 0)
        while not buckets[smallest]:
            smallest += 1
        v = buckets[smallest].pop()
        order.append(v)
        degree[v] = -1
        for w in neighbours[v]:
            d = degree[w]
            if d >= 0:
                buckets[d].discard(w)
                buckets[d - 1].add(w)
                degree[w] = d - 1
    return np.array(order[::-1], np.intp)


def incidence_degree(neighbours: list[list[int]]) -> Ints:
    """Always the vertex with the most neighbours placed already (2005, section 7)."""
    degree = [0] * len(neighbours)
    most_first = sorted(range(len(neighbours)), key=lambda v: -len(neighbours[v]))
    buckets: list[dict[int, None]] = [dict.fromkeys(most_first)]
    order, largest = [], 0
    for _ in range(len(neighbours)):
        while not buckets[largest]:
            largest -= 1
        v = next(iter(buckets[largest]))
        del buckets[largest][v]
        order.append(v)
        degree[v] = -1
        for w in neighbours[v]:
            d = degree[w]
            if d >= 0:
                del buckets[d][w]
                if d + 1 == len(buckets):
                    buckets.append({})
                buckets[d + 1][w] = None
                degree[w] = d + 1
                largest = max(largest, d + 1)
    return np.array(order, np.intp)
