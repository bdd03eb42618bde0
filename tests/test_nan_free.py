"""Elements that are not selected contribute no NaN, whatever lies between them and the loss."""

import numpy as np
import pytest
import wengert as wg

A = np.array
X = A([[0.0, 2.0, -1.0], [4.0, 0.0, 0.5]])
MASK = X > 0
W = A([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]])
P = A([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]])
OFF_DIAGONAL = ~np.eye(3, dtype=bool)


def pairs(x):
    d = x[:, None, :] - x[None, :, :]
    return np.sqrt(np.sum(d * d, axis=-1))


def filled(x):
    y = np.log(x)
    y[x <= 0] = 0.0
    return np.sum(y.T @ A([1.0, 2.0]))


def filled_by_index(x):
    y = 1.0 / x
    y[0, 0] = 0.0
    y[0, 2] = y[1, 1] = 1.0
    return np.sum(y)


def written_through_a_view(x):
    y = np.zeros((2, 3))
    y[:, 1:] = np.sqrt(np.abs(x[:, 1:]) + 1.0)
    rows = y.reshape(-1)
    return np.sum(rows[1:3] ** 2)


def scatter(x):
    y = np.zeros(6)
    np.add.at(y, A([1, 3, 3]), np.log(x[MASK]))
    return np.sum(y ** 2)


SELECTED = {
    "where": lambda x: np.sum(np.where(MASK, np.sqrt(x), 0.0)),
    "where_other_branch": lambda x: np.sum(np.where(x <= 0, 0.0, np.log(x))),
    "safe": lambda x: np.sum(np.where(MASK, np.sqrt(np.where(MASK, x, 1.0)), 0.0)),
    "unsafe": lambda x: np.sum(np.where(x > 0, x * np.log(x), 0.0)),
    "nested": lambda x: np.sum(np.where(MASK, np.where(x < 3, np.log(x), np.sqrt(x)), 0.0)),
    "mask_product": lambda x: np.sum((x > 0) * np.sqrt(np.abs(x))),
    "mask_as_float": lambda x: np.sum((x > 0).astype(float) * np.sqrt(np.abs(x))),
    "reshape": lambda x: np.sum(np.where(MASK.reshape(-1), np.sqrt(x).reshape(-1), 0.0)),
    "transpose": lambda x: np.sum(np.where(MASK.T, np.log(x).T, 0.0) ** 2),
    "sum_then_select": lambda x: np.sum(np.where(A([False, True]), np.sum(
        np.sqrt(np.abs(x[:, :1])), axis=1), 0.0)),
    "matmul_then_select": lambda x: np.sum(np.where(A([[False], [True]]), np.sqrt(
        np.where(x > 0, x, A([[0.0], [1.0]]))) @ W, 0.0)),
    "fancy": lambda x: np.sum(np.log(x)[MASK] ** 2),
    "fancy_integers": lambda x: np.sum(np.log(x)[A([0, 1, 1]), A([1, 0, 2])] ** 2),
    "take": lambda x: np.sum(np.take(np.sqrt(x), [1, 3])),
    "slices": lambda x: np.sum(np.log(x)[1, ::2]),
    "filled": filled,
    "filled_by_index": filled_by_index,
    "written_through_a_view": written_through_a_view,
    "scatter": scatter,
    "clipped_log": lambda x: np.sum(np.log(np.clip(x, 1e-3, None))),
    "arccos_clip": lambda x: np.sum(np.arccos(np.clip(x, -0.9, 0.9))),
    "concatenate": lambda x: np.sum(np.concatenate([np.sqrt(x), x], axis=1)[:, 3:] ** 2),
    "stack": lambda x: np.stack([np.log(x[0]), x[1]])[1] @ A([1.0, 2.0, 3.0]),
    "where_of_exp": lambda x: np.sum(np.where(x > 3, 0.0, np.exp(250.0 * x))[0, :1]),
    "mean_of_selected": lambda x: np.sum(np.where(MASK, np.log(x), 0.0)) / np.sum(MASK),
    "sum_where": lambda x: np.sum(np.log(x), where=MASK),
    "mean_where": lambda x: np.mean(np.sqrt(x), where=MASK),
    "maximum": lambda x: np.sum(np.sqrt(np.maximum(x, 0.25))),
    "constant_weights": lambda x: np.sum(MASK.astype(float) * np.sqrt(np.abs(x))),
}
PAIRS = {
    "distances": lambda p: np.sum(pairs(p)),
    "masked": lambda p: np.sum(np.where(OFF_DIAGONAL, pairs(p), 0.0)),
    "masked_inverse": lambda p: np.sum(np.where(OFF_DIAGONAL, 1.0 / pairs(p), 0.0)),
    "masked_log": lambda p: np.sum(np.where(OFF_DIAGONAL, np.log(pairs(p)), 0.0)),
    "indexed": lambda p: np.sum(pairs(p)[OFF_DIAGONAL] ** 2),
    "triangle": lambda p: np.sum(pairs(p)[np.triu_indices(3, 1)]),
    "norms": lambda p: np.sum(np.linalg.norm(p[:, None] - p[None, :], axis=-1)),
    "added_eye": lambda p: np.sum(1.0 / (pairs(p) + np.eye(3))),
}
ALL = [pytest.param(f, X, id=k) for k, f in SELECTED.items()] + [
    pytest.param(f, P, id=k) for k, f in PAIRS.items()]


def differences(function, x, h=1e-5):
    out = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[i] = h
        out[i] = (function(x + step) - function(x - step)) / (2 * h)
    return out


@pytest.mark.parametrize(("function", "x"), ALL)
def test_gradient(function, x):
    with np.errstate(all="ignore"):
        reverse = wg.grad(function)(x)
        forward = wg.grad(function, mode="forward")(x)
        near = differences(function, x)
    assert np.isfinite(reverse).all(), wg.grad(function)
    np.testing.assert_allclose(forward, reverse, rtol=1e-12, atol=1e-14)
    known = np.isfinite(near) & (np.abs(near) < 1e3)    # differences straddle the edges
    np.testing.assert_allclose(reverse[known & (x != 0)], near[known & (x != 0)], rtol=1e-6,
                               atol=1e-7)


@pytest.mark.parametrize(("function", "x"), [
    p for p in ALL if p.id not in ("distances", "norms", "added_eye", "indexed")])
def test_hessian(function, x):
    with np.errstate(all="ignore"):
        found = {mode: wg.hessian(function, mode=mode)(x) for mode in ("forward", "reverse")}
    assert np.isfinite(found["forward"]).all()
    np.testing.assert_allclose(found["reverse"], found["forward"], rtol=1e-10, atol=1e-12)
    n = x.size
    matrix = found["forward"].reshape(n, n)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("function", "x"), ALL)
def test_products(function, x):
    direction = np.ones_like(x)
    with np.errstate(all="ignore"):
        _, along = wg.jvp(function)(x, direction)
        _, back = wg.vjp(function)(x, 1.0)
    assert np.isfinite(along)
    np.testing.assert_allclose(along, np.sum(back), rtol=1e-12)


def test_a_direction_that_is_zero_meets_no_infinity():
    with np.errstate(all="ignore"):
        _, along = wg.jvp(np.sqrt)(A([0.0, 4.0]), A([0.0, 1.0]))
        _, back = wg.vjp(np.sqrt)(A([0.0, 4.0]), A([0.0, 1.0]))
    assert not np.isnan(along[1])
    assert not np.isnan(back[1])
