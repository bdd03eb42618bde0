"""Colourings of symmetric patterns: star for direct recovery, acyclic for recovery by substitution.

In a *star colouring* every path of four vertices has three colours, so that of the entries (i, j)
and (j, i) at least one stands alone in its row among the columns of its colour. In an *acyclic
colouring* every cycle has three colours; the entries of two colours then form trees, and are found
from the leaves on. (Coleman and Moré 1984, Coleman and Cai 1986; Gebremedhin, Tarafdar, Manne,
Pothen: *New acyclic and star coloring algorithms with application to computing Hessians*, SIAM J.
Sci. Comput. 29, 2007, Algorithms 4.1 and 3.1.) Colours that no entry is read from are dropped, as
in Montoison, Dalle, Gebremedhin: *Revisiting sparse matrix coloring and bicoloring*, 2025.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .coloring import Coloring, color_columns, incidence_degree, smallest_last
from .pattern import Ints, Pattern

_VISITS = 4_000_000      # entries that the slower orders may look at
_LEVELS = 8              # steps of substitution, at most


@dataclass(frozen=True, eq=False)
class Substitution:
    """Entries found one level after the other.

    From each of the ``entries`` of a level those ``subtracted`` are taken away that have its number
    within the level as their ``owner``; they have been found before.
    """

    entries: Ints
    subtracted: Ints
    owner: Ints


@dataclass(frozen=True, eq=False)
class SymmetricColoring:
    """A colouring, and which entries are read in their own row rather than in their mirror's.

    ``levels`` is empty where all are read directly.
    """

    coloring: Coloring
    own: np.ndarray[Any, np.dtype[np.bool_]]
    levels: tuple[Substitution, ...] = ()


def color_symmetric(pattern: Pattern) -> SymmetricColoring:
    """An acyclic colouring where that has fewer colours than the best star colouring.

    Substitution subtracts: an entry's rounding error is relative to the largest entries that it is
    summed with, which may be much larger than the entry itself. Direct recovery has none.

    Args:
        pattern: symmetric.
    """
    best = stars(pattern)
    neighbours = _neighbours(pattern)
    degree = _degree(neighbours)
    if best.coloring.count <= _fewest(degree) or not _is_small(degree):
        return best
    for name, order in _orders(neighbours):
        colors = acyclic_coloring(neighbours, order)
        count = int(colors.max(initial=-1)) + 1
        if count < best.coloring.count:
            levels = substitution(pattern, colors)
            if levels is not None:
                best = SymmetricColoring(Coloring(colors, count, f"acyclic, {name}"), *levels)
    return best


def stars(pattern: Pattern) -> SymmetricColoring:
    """The star colouring with the fewest colours of several orders."""
    best = _finish(pattern, color_columns(pattern))
    assert best is not None
    neighbours = _neighbours(pattern)
    fewest = _fewest(_degree(neighbours))
    for name, order in _orders(neighbours):
        for ahead in (False, True):
            if best.coloring.count <= fewest:
                return best
            colors = star_coloring(neighbours, order, ahead)
            found = _finish(pattern, _as_coloring(colors, f"star, {name}"))
            assert found is not None
            if found.coloring.count < best.coloring.count:
                best = found
    return best


def _orders(neighbours: list[list[int]]) -> Iterator[tuple[str, Any]]:
    degree = _degree(neighbours)
    yield "natural", range(len(neighbours))
    yield "largest first", np.argsort(-degree, kind="stable").tolist()
    if _is_small(degree):
        yield "smallest last", smallest_last(neighbours).tolist()
        yield "incidence degree", incidence_degree(neighbours).tolist()


def _degree(neighbours: list[list[int]]) -> Ints:
    return np.array([len(near) for near in neighbours])


def _is_small(degree: Ints) -> bool:
    return int((degree * degree).sum()) <= _VISITS


def _fewest(degree: Ints) -> int:
    """Star colourings rarely have fewer: of vertices, of stars, of paths of four vertices."""
    return 1 if not degree.any() else 2 if np.count_nonzero(degree > 1) <= 1 else 3


def _as_coloring(colors: Ints, order: str) -> Coloring:
    return Coloring(colors, int(colors.max(initial=-1)) + 1, order)


def _neighbours(pattern: Pattern) -> list[list[int]]:
    starts, columns = pattern.indptr.tolist(), pattern.indices.tolist()
    return [[j for j in columns[starts[i]:starts[i + 1]] if j != i]
            for i in range(pattern.n_rows)]


def star_coloring(neighbours: list[list[int]], order: Any, ahead: bool = True) -> Ints:
    """Each vertex the smallest colour that makes no path of four vertices with two colours.

    Such a path has its last vertex coloured at an end or inside. Inside: two neighbours of v have
    the same colour a; then no neighbour of theirs may have the colour of v. At the end: v, w, x, y
    with w and y of one colour; x is then the *hub* of a star that w is a leaf of. So it is enough
    to know, as bits of integers, which colours are around a vertex, which of them twice, and the
    colours of the hubs it is a leaf of (the two-coloured stars of 2007, Algorithm 4.1). With
    ``ahead`` v also avoids the colours around neighbours that have none yet, as in 2005, Algorithm
    4.1, which leaves these more choice.
    """
    n = len(neighbours)
    bit, around, twice, hubs = [0] * n, [0] * n, [0] * n, [0] * n
    only: dict[tuple[int, int], int] = {}         # the first neighbour of a vertex in a colour
    for v in order:
        near = neighbours[v]
        taken, repeated = around[v], twice[v]
        for w in near:
            if bit[w]:
                taken |= around[w] if bit[w] & repeated else hubs[w]
            elif ahead:
                taken |= around[w]
        c = ~taken & (taken + 1)                  # its lowest zero
        bit[v] = c
        for x in near:
            if around[x] & c:
                if bit[x]:
                    if not twice[x] & c:          # x has become a hub: so for its first leaf
                        hubs[only[x, c]] |= bit[x]
                    hubs[v] |= bit[x]
                twice[x] |= c
            else:
                around[x] |= c
                only[x, c] = v
        if repeated:
            for w in near:                        # v is a hub
                if bit[w] & repeated:
                    hubs[w] |= c
    return np.array([b.bit_length() - 1 for b in bit], np.int32)


def acyclic_coloring(neighbours: list[list[int]], order: Any) -> Ints:
    """Each vertex the smallest colour that closes no cycle of two colours (2007, Algorithm 3.1).

    Trees of two colours are disjoint sets; ``(w, c)`` stands for w in its tree with colour c.
    """
    n = len(neighbours)
    colors = [-1] * n
    around: list[set[int]] = [set() for _ in range(n)]
    parent: dict[tuple[int, int], tuple[int, int]] = {}

    def find(a: tuple[int, int]) -> tuple[int, int]:
        root = a
        while parent.get(root, root) != root:
            root = parent[root]
        while parent.get(a, a) != root:
            parent[a], a = root, parent[a]
        return root

    for v in order:
        taken = around[v].copy()
        trees: dict[tuple[int, int], int] = {}
        for w in neighbours[v]:
            if colors[w] >= 0:
                for c in around[w]:
                    if trees.setdefault(find((w, c)), w) != w:
                        taken.add(c)              # v would join a tree to itself
        c = 0
        while c in taken:
            c += 1
        colors[v] = c
        for w in neighbours[v]:
            around[w].add(c)
            if colors[w] >= 0:
                parent[find((v, colors[w]))] = find((w, c))
    return np.array(colors, np.int32)


# -- recovery -------------------------------------------------------------------------------------


def mirrored(pattern: Pattern) -> Ints:
    """For each entry (i, j) of a symmetric pattern the number of the entry (j, i)."""
    rows = pattern.rows()
    keys = pattern.indices * np.int64(pattern.n_rows) + rows
    out = np.empty(pattern.nnz, np.intp)
    out[np.argsort(keys, kind="stable")] = np.arange(pattern.nnz)
    return out


def alone(pattern: Pattern, colors: Ints) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For each entry whether no other one of its row has a column of its colour."""
    keys = pattern.rows() * np.int64(colors.max(initial=0) + 1) + colors[pattern.indices]
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse] == 1)


def _finish(pattern: Pattern, coloring: Coloring) -> SymmetricColoring | None:
    """Where entries are read directly, without colours nobody needs; None if that is impossible."""
    if not pattern.nnz:
        return SymmetricColoring(Coloring(np.full(pattern.n_columns, -1, np.int32), 0,
                                          coloring.order), np.zeros(0, bool))
    colors = coloring.colors
    direct = alone(pattern, colors)
    mirror = mirrored(pattern)
    if not np.all(direct | direct[mirror]):
        return None
    # Entries with one way only need the colour of their column; the others join them if they can.
    column_color = colors[pattern.indices]
    row_color = column_color[mirror]
    own = direct & ~direct[mirror]
    free = direct & direct[mirror]
    needed = np.zeros(coloring.count, bool)
    needed[column_color[own]] = True
    needed[row_color[~own & ~free]] = True
    diagonal = free & (pattern.rows() == pattern.indices)
    needed[column_color[diagonal]] = True
    open_ = free & ~needed[column_color] & ~needed[row_color]
    while open_.any():
        needed[np.bincount(column_color[open_], minlength=coloring.count).argmax()] = True
        open_ &= ~needed[column_color] & ~needed[row_color]
    own |= free & needed[column_color] & (~needed[row_color] | (column_color <= row_color))
    number = np.cumsum(needed) - 1
    kept = np.where(needed[colors] & (colors >= 0), number[colors], -1).astype(np.int32)
    return SymmetricColoring(Coloring(kept, int(needed.sum()), coloring.order), own)


def substitution(pattern: Pattern, colors: Ints
                 ) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], tuple[Substitution, ...]] | None:
    """Levels in which the entries of an acyclic colouring are found; None if there are many.

    An entry is found once it is the only one left in its row with its column's colour.
    """
    rows, mirror = pattern.rows(), mirrored(pattern)
    keys = rows * np.int64(colors.max(initial=0) + 1) + colors[pattern.indices]
    _, group = np.unique(keys, return_inverse=True)
    left = np.bincount(group)
    members = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(left)])
    own = np.zeros(pattern.nnz, bool)
    found = np.zeros(pattern.nnz, bool)
    levels: list[Substitution] = []
    while not found.all():
        ready = ~found & (left[group] == 1)
        ready &= ~(ready[mirror] & (mirror < np.arange(pattern.nnz)))     # one of two ways
        entries = np.flatnonzero(ready)
        if len(levels) == _LEVELS or not len(entries):
            return None
        own[entries] = True
        mirrors = mirror[entries]
        entries = np.concatenate([entries, mirrors[mirrors != entries]])
        owner, subtracted = [], []
        for k, e in enumerate(entries.tolist()):
            place = group[e if own[e] else mirror[e]]
            before = members[starts[place]:starts[place + 1]]
            before = before[found[before]]
            owner += [k] * len(before)
            subtracted += before.tolist()
        levels.append(Substitution(entries, np.array(subtracted, np.intp),
                                   np.array(owner, np.intp)))
        found[entries] = True
        np.subtract.at(left, group[entries], 1)
    return own, tuple(levels)
