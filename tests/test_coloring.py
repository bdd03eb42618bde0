"""Colourings against their textbook definitions, known counts, and those of CasADi."""

import itertools

import numpy as np
import pytest
from wengert.compiler.transforms import symmetric
from wengert.compiler.transforms.coloring import color_columns, greedy, is_valid
from wengert.compiler.transforms.lattice import lattices
from wengert.compiler.transforms.pattern import Pattern, block_of, from_entries, gather, union
from wengert.compiler.transforms.recovery import hessian_recovery, jacobian_recovery
from wengert.compiler.transforms.symmetric import (
    acyclic_coloring,
    color_symmetric,
    star_coloring,
)


def pattern_of(matrix):
    rows, columns = np.nonzero(matrix)
    return from_entries(rows, columns, *np.shape(matrix))


def symmetric_pattern(n, edges, diagonal=True):
    a, b = np.array(edges, np.int64).reshape(-1, 2).T
    i = np.arange(n) if diagonal else np.zeros(0, np.int64)
    return from_entries(np.concatenate([i, a, b]), np.concatenate([i, b, a]), n, n)


def grid_edges(n, m, corners=False):
    steps = [(1, 0), (0, 1)] + ([(1, 1), (1, -1)] if corners else [])
    return [(x * m + y, (x + dx) * m + y + dy)
            for x in range(n) for y in range(m) for dx, dy in steps
            if 0 <= x + dx < n and 0 <= y + dy < m]


def random_edges(seed, n, count):
    edges = np.random.default_rng(seed).integers(0, n, (count, 2))
    return edges[edges[:, 0] != edges[:, 1]]


# Symmetric matrices, and CasADi's (3.8) numbers of colours: of columns, and of star colourings.
MATRICES = {
    "tridiagonal": (symmetric_pattern(1000, [(i, i + 1) for i in range(999)]), 3, 3),
    "pentadiagonal": (symmetric_pattern(
        1000, [(i, i + d) for d in (1, 2) for i in range(1000 - d)]), 5, 5),
    "five points": (symmetric_pattern(900, grid_edges(30, 30)), 7, 6),
    "nine points": (symmetric_pattern(400, grid_edges(20, 20, True)), 9, 11),
    "arrow": (symmetric_pattern(500, [(0, i) for i in range(1, 500)]), 500, 2),
    "ring": (symmetric_pattern(100, [(i, (i + 1) % 100) for i in range(100)]), 4, 4),
    "tree": (symmetric_pattern(511, [(i, (i - 1) // 2) for i in range(1, 511)]), 4, 3),
    "random 200": (symmetric_pattern(200, random_edges(1, 200, 400)), 14, 8),
    "random 100": (symmetric_pattern(100, random_edges(2, 100, 600)), 39, 22),
    "two arrows": (symmetric_pattern(300, [(i % 2, i) for i in range(2, 300)] + [
        (i, i + 1) for i in range(2, 299)]), 151, 4),
}


# -- definitions ----------------------------------------------------------------------------------


def is_distance_2(matrix, colors):
    """No row has two entries whose columns have one colour."""
    return all(len({colors[j] for j in np.flatnonzero(row)}) == np.count_nonzero(row)
               for row in matrix)


def adjacency(pattern):
    dense = pattern.dense()
    return [[int(j) for j in np.flatnonzero(row) if j != i] for i, row in enumerate(dense)]


def is_star(neighbours, colors):
    """Neighbours differ, and every path of four vertices has three colours."""
    if any(colors[v] == colors[w] for v, near in enumerate(neighbours) for w in near):
        return False
    return all(len({colors[a], colors[b], colors[c], colors[d]}) > 2
               for b in range(len(neighbours)) for c in neighbours[b]
               for a in neighbours[b] if a != c for d in neighbours[c] if d not in (a, b))


def is_acyclic(neighbours, colors):
    """Neighbours differ, and the vertices of any two colours form a forest."""
    if any(colors[v] == colors[w] for v, near in enumerate(neighbours) for w in near):
        return False
    for pair in itertools.combinations(sorted(set(colors)), 2):
        inside = {v for v in range(len(neighbours)) if colors[v] in pair}
        n_edges = sum(w in inside for v in inside for w in neighbours[v]) // 2
        parts, seen = 0, set()
        for v in inside:
            if v not in seen:
                parts += 1
                stack = [v]
                while stack:
                    u = stack.pop()
                    if u not in seen:
                        seen.add(u)
                        stack += [w for w in neighbours[u] if w in inside]
        if n_edges != len(inside) - parts:
            return False
    return True


def random_matrix(seed, rows, columns, density):
    return np.random.default_rng(seed).random((rows, columns)) < density


# -- columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_columns_of_one_color_share_no_row(seed):
    matrix = random_matrix(seed, 12 + seed, 20 - seed, 0.05 + 0.03 * seed)
    pattern = pattern_of(matrix)
    found = color_columns(pattern)
    used = matrix.any(axis=0)
    assert np.all((found.colors >= 0) == used)
    colors = np.where(used, found.colors, -1 - np.arange(len(used)))
    assert is_distance_2(matrix, colors)
    assert found.count == len(set(found.colors[used])) >= matrix.sum(axis=1).max()
    for order in (range(matrix.shape[1]), np.arange(matrix.shape[1])[::-1]):
        assert is_distance_2(matrix, greedy(pattern, pattern.transposed, order))


@pytest.mark.parametrize("seed", range(6))
def test_validity_is_the_definition(seed):
    matrix = random_matrix(seed, 9, 6, 0.25)
    rng = np.random.default_rng(seed)
    answers = set()
    for _ in range(40):
        colors = rng.integers(0, 5, 6).astype(np.int32)
        answers.add(is_valid(pattern_of(matrix), colors))
        assert is_valid(pattern_of(matrix), colors) == is_distance_2(matrix, colors)
    assert False in answers


def test_an_invalid_coloring_of_many_rows_is_found_late():
    i = np.arange(5000)
    pattern = from_entries(np.concatenate([i, i[-1:]]), np.concatenate([i, i[:1]]), 5000, 5000)
    assert not is_valid(pattern, np.zeros(5000, np.int32))
    assert is_valid(pattern, np.r_[np.zeros(4999), 1].astype(np.int32))


def test_known_counts():
    def band(n, width):
        i = np.arange(n)
        pairs = [(i[max(0, -d):n - max(0, d)], i[max(0, d):n + min(0, d)])
                 for d in range(-width, width + 1)]
        rows, columns = map(np.concatenate, zip(*pairs, strict=True))
        return from_entries(rows, columns, n, n)
    assert color_columns(band(10_000, 1)).count == 3
    assert color_columns(band(1000, 3)).count == 7
    assert color_columns(symmetric_pattern(3600, grid_edges(60, 60))).count == 5
    assert color_columns(pattern_of(np.eye(7))).count == 1
    assert color_columns(pattern_of(np.zeros((3, 4)))).count == 0
    full = color_columns(pattern_of(np.ones((4, 30))))
    assert (full.count, full.order) == (30, "none needed")


@pytest.mark.parametrize(("n", "m"), [(12, 12), (7, 30), (16, 24)])
def test_grids_take_the_fewest_colors(n, m):
    pattern = symmetric_pattern(n * m, grid_edges(n, m))
    assert color_columns(pattern).count == 5
    for _, colors in lattices(pattern, 5, 9):
        if is_valid(pattern, colors):
            assert is_distance_2(pattern.dense(), colors)
            break
    else:
        pytest.fail("no grid was found")


# -- symmetric matrices ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("ahead", [False, True])
def test_star_colorings_are_star_colorings(seed, ahead):
    neighbours = adjacency(symmetric_pattern(24, random_edges(seed, 24, 20 + 5 * seed)))
    order = np.random.default_rng(seed).permutation(24).tolist()
    for one in (range(24), order):
        assert is_star(neighbours, star_coloring(neighbours, one, ahead))


@pytest.mark.parametrize("seed", range(10))
def test_acyclic_colorings_are_acyclic(seed):
    neighbours = adjacency(symmetric_pattern(24, random_edges(seed, 24, 20 + 5 * seed)))
    colors = acyclic_coloring(neighbours, range(24))
    assert is_acyclic(neighbours, colors.tolist())


def test_definitions_refuse_what_they_should():
    path = [[1], [0, 2], [1, 3], [2]]
    assert not is_star(path, [0, 1, 0, 1])
    assert is_star(path, [0, 1, 2, 0])
    assert is_acyclic(path, [0, 1, 0, 1])
    assert not is_acyclic([[1, 3], [0, 2], [1, 3], [2, 0]], [0, 1, 0, 1])


@pytest.mark.parametrize("name", MATRICES)
def test_counts_are_at_most_those_of_casadi(name):
    pattern, columns, theirs = MATRICES[name]
    found = symmetric.stars(pattern)
    assert color_columns(pattern).count <= columns
    assert found.levels == ()
    assert found.coloring.count <= theirs


def test_counts_of_casadi():
    casadi = pytest.importorskip("casadi", reason="CasADi is not installed (extra: peers)")
    for pattern, columns, star in MATRICES.values():
        theirs = casadi.Sparsity(pattern.n_columns, pattern.n_rows, pattern.indptr.tolist(),
                                 pattern.indices.tolist())
        assert (theirs.uni_coloring().size2(), theirs.star_coloring().size2()) == (columns, star)


def test_arrows():
    arrow = MATRICES["arrow"][0]
    assert hessian_recovery(arrow).n_colors == 2
    both = jacobian_recovery(arrow)
    assert both.n_colors <= 3
    assert len(both.sweeps) == 2


def test_an_acyclic_coloring_has_fewer_colors_where_it_is_used():
    pattern = MATRICES["random 100"][0]
    found = color_symmetric(pattern)
    assert found.levels
    assert found.coloring.count < symmetric.stars(pattern).coloring.count


# -- recovery -------------------------------------------------------------------------------------


def recovered(matrix, recovery, pattern):
    """Entries from sums of columns and rows, as the sweeps give them."""
    sums = {}
    for one in recovery.sweeps:
        seeds = (one.colors[:, None] == np.arange(one.count)).astype(float)
        sums[one.direction] = (matrix @ seeds).T if one.direction == 0 else (matrix.T @ seeds).T
    values = np.array([sums[d][c, p] for d, c, p in zip(
        recovery.direction, recovery.color, recovery.position, strict=True)])
    for level in recovery.levels:
        np.subtract.at(values, level.entries[level.owner], values[level.subtracted])
    out = np.zeros(matrix.shape)
    out[pattern.rows(), pattern.indices] = values
    return out


def filled(pattern, seed, is_symmetric=False):
    matrix = np.zeros(pattern.shape)
    matrix[pattern.rows(), pattern.indices] = np.random.default_rng(seed).normal(size=pattern.nnz)
    return matrix + matrix.T if is_symmetric else matrix


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("seed", range(8))
def test_jacobians_are_recovered(seed, mode):
    dense = random_matrix(seed, 15, 11 + seed, 0.2)
    if seed % 2:
        dense[3] = dense[:, 2] = True
    pattern = pattern_of(dense)
    matrix = filled(pattern, seed)
    np.testing.assert_allclose(recovered(matrix, jacobian_recovery(pattern, mode), pattern),
                               matrix, atol=1e-13)


@pytest.mark.parametrize("name", MATRICES)
def test_hessians_are_recovered(name):
    pattern = MATRICES[name][0]
    matrix = filled(pattern, 3, is_symmetric=True)
    for mode, tolerance in (("auto", 1e-15), ("substitution", 1e-9)):
        np.testing.assert_allclose(recovered(matrix, hessian_recovery(pattern, mode), pattern),
                                   matrix, atol=tolerance)


@pytest.mark.parametrize("seed", range(8))
def test_hessians_without_a_diagonal_are_recovered_with_no_color_too_many(seed):
    pattern = symmetric_pattern(30, random_edges(seed, 30, 25 + 8 * seed), diagonal=seed % 2 == 0)
    matrix = filled(pattern, seed, is_symmetric=True)
    recovery = hessian_recovery(pattern)
    np.testing.assert_allclose(recovered(matrix, recovery, pattern), matrix, atol=1e-10)
    assert set(recovery.color.tolist()) == set(range(recovery.n_colors))


def test_colors_that_nothing_is_read_from_are_dropped():
    star = symmetric_pattern(6, [(0, i) for i in range(1, 6)], diagonal=False)
    assert symmetric.stars(star).coloring.count == 1        # the column of the hub has it all


# -- patterns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_patterns_as_boolean_matrices(seed):
    a, b = random_matrix(seed, 7, 9, 0.3), random_matrix(seed + 100, 7, 9, 0.3)
    p, q = pattern_of(a), pattern_of(b)
    assert np.array_equal(p.dense(), a)
    assert np.array_equal(union(p, q).dense(), a | b)
    assert np.array_equal(p.transposed.dense(), a.T)
    index = np.array([3, -1, 0, 3])
    assert np.array_equal(gather(p, index).dense(), np.where(index[:, None] < 0, False, a[index]))
    part, entries = block_of(p, (2, 6), (1, 5))
    assert np.array_equal(part.dense(), a[2:6, 1:5])
    assert np.array_equal(p.rows()[entries] - 2, part.rows())
    assert isinstance(p, Pattern)
