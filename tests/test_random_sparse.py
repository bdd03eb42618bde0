"""Random sparse programs: no entry is missing, and all are those of the dense derivative."""

from unittest import mock

import numpy as np
import pytest
import scipy
import wengert as wg
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sparse_agreement import check
from wengert.runtime import sparse

# Statements on vectors of one length; v and w are earlier results, m a matrix with many zeros.
STATEMENTS = (
    "np.roll({v}, {k})", "{v} * {w}", "{v} + {w}", "{v} - 0.5 * {w}", "np.sin({v})",
    "np.exp(-{v} ** 2)", "{v}[::-1]", "np.where({v} > 0.1, {w}, 0.3 * {v})",
    "np.concatenate([{v}[{k}:], {w}[:{k}]])", "np.pad({v}, 1)[2:] * {w}",
    "np.pad({v}[1:], (0, 1)) - {w}", "filled({v}, {w})", "scattered({v}, {w})", "M @ {v}",
    "{v} @ M", "{v}[P]", "np.maximum({v}, {w})", "{v} / (2.0 + {w} ** 2)", "{v} * K",
    "np.where(MASK, {v}, {w})", "{v} * {w}[{k}]", "np.cumsum({v}) * K", "np.tanh({v}) * {w}[P]",
    "np.convolve({v}, [1.0, 0.0, -2.0], 'same')", "np.repeat({v}[: N // 2], 2)",
    "{v}.reshape(2, -1).T.ravel()", "np.sum({v}.reshape(-1, 2), axis=1).repeat(2)", "1.5 * {v}",
    "np.abs({v}) * K", "np.diff({v}, append=0.25)", "np.stack([{v}, {w}])[1]",
    "np.linalg.norm({v}[:3]) * {w}", "np.max({v}) * K", "updated({v}, {w})",
    "np.outer({v}[:2], {w}[: N // 2]).ravel()")
# Running sums, solvers, transforms, loops, empty and 0-d arrays, broadcasting, selections by the
# data, complex numbers between real ones.
HARD = (
    "np.cumsum({v})", "np.cumsum({v}[::-1])[::-1] * {w}", "np.cumprod(0.5 + 0.1 * {v})",
    "np.cumsum({v}.reshape(2, 4), axis=0).ravel()", "np.cumsum({v} * K)[P]",
    "np.linalg.solve(T, {v})", "np.linalg.solve(T + np.diag({v} ** 2), {w})",
    "linalg.solve_triangular(T, {v}, lower=True)", "linalg.solve_banded((1, 1), BANDS, {v})",
    "linalg.solve_banded((1, 1), BANDS + {v} ** 2, {w})", "wg.sparse_solve(D, PATTERN, {v})",
    "wg.sparse_solve(D + 0.1 * {v}[COLUMNS], PATTERN, {w})", "np.linalg.inv(T + np.diag({v}))[0]",
    "np.linalg.det(np.diag(2.0 + {v} ** 2)) * K", "np.linalg.lstsq(T[:, :4], {v})[0].repeat(2)",
    "np.fft.ifft(np.fft.fft({v}) * K).real", "np.abs(np.fft.rfft({v}) + 0.5)[:4].repeat(2)",
    "np.fft.irfft(np.fft.rfft({v} * {w}), 8)", "np.fft.fftshift({v})",
    "np.real(np.exp(1j * {v}) * {w})", "np.imag((1 + 2j) * {v} * np.roll({w} * 1j, {k}))",
    "np.abs({v} + 2.5 + 1j * {w})", "np.angle({v} + 3.0 + 1j * {w})", "(({v} + 1j * {w}) @ M).imag",
    "wg.fori_loop(0, 3, lambda i, u: np.roll(u, 1) * 0.5, {v})",
    "wg.scan(lambda c, u: (0.5 * c + u, c * u), 0.3, {v})[1]",
    "wg.cond({v}[0] > 0.0, lambda u: u[::-1] * 2.0, lambda u: np.roll(u, 1), {w})",
    "looped({v}, {w})", "halved({v}, {w})", "np.concatenate([{v}[:0], {w}])",
    "np.sum({v}[:0]) + {w}", "({v}[:0] @ {w}[:0]) * {v}", "np.zeros((8, 0)) @ {v}[:0] + {w}",
    "np.array({v}[2]) * {w}", "{v}[[2]].squeeze() + {w}", "np.broadcast_to({v}[3], (8,)) * {w}",
    "np.where({v} > {w}, {v} * {w}, np.where({w} > 0.0, {w}, {v}[::-1]))", "np.clip({v}, -0.3, 0.4)",
    "np.minimum({v}, {w}[::-1])", "np.sort({v}) * K", "{v}[np.argsort({w})]",
    "np.where(MASK[:, None], {v}, {w}[:, None]).sum(axis=0)", "{v}[np.abs({w}) > -1.0]",
    "np.select([{v} > 0.2, {w} > 0.0], [{w}, {v} ** 2], 0.5)", "np.where({v} > 0.0, K, {w})",
    "({v}[:, None] * {w}[None, :]) @ K", "({v}[:, None] * M).sum(axis=0)", "np.tile({v}[:4], 2)",
    "({v}.reshape(4, 2) * {w}[:2]).ravel()", "np.kron({v}[:2], {w}[:4])", "M.T @ (M @ {v})",
    "np.einsum('i,ij,j->i', {v}, M, {w})", "np.einsum('ij,jk->ki', M, np.outer({v}, {w}))[{k}]",
    "np.diag({v})[P].sum(axis=1)", "np.trace(np.outer({v}, {w})) * K", "(np.outer({v}, K) @ M)[{k}]",
    "np.triu(np.outer({v}, {w})).sum(axis=1)", "np.diagonal(np.outer({v}, {w}), 1).repeat(2)[:8]",
    "np.rot90({v}.reshape(2, 4), {k}).ravel()", "{v}.reshape(2, 2, 2).swapaxes(0, 2).ravel()",
    "np.roll({v}.reshape(2, 4), ({k}, 1), (0, 1)).ravel()", "np.gradient({v})",
    "np.interp({v}, X, K)", "np.prod({v}[:3]) * {w}", "np.prod({v}.reshape(4, 2), axis=1).repeat(2)",
    "np.var({v}) + {w}", "np.max({v}.reshape(2, 4), axis=0).repeat(2)", "np.logaddexp({v}, {w})",
    "np.sign({v}) * {w}", "(M != 0) @ {v}", "np.append({v}[1:], {w}[0])", "np.insert({v}, 3, {w}[0])[:8]",
    "np.delete({v}, 2).repeat(2)[:8]", "np.convolve({v}, {w}, 'same')", "{v}[P][P[::-1]]",
    "np.correlate({v}, {w}[:3], 'same')", "np.take({v}, P + 2, mode='wrap')", "in_place({v}, {w})",
    "overwritten({v}, {w})", "doubly({v}, {w})", "added({v}, {w})", "through_views({v}, {w})",
    "np.matmul(M.reshape(2, 4, 8), {v}).ravel()", "({v}.reshape(2, 4) @ M[:4, :4]).ravel()",
    "(M[:2, :4] @ {v}.reshape(4, 2) @ M[:2, :4]).ravel()", "np.stack([{v}, K]).max(axis=0)",
    "np.vdot({v}, {w}) * K", "np.linalg.norm({v}.reshape(4, 2) + 0.1, axis=1).repeat(2)",
    "np.expand_dims({v}, 0).T[:, 0]", "np.pad({v}[1:7], 1, mode='edge')", "np.maximum({v}, 0.0) * {w}",
    "np.pad({v}[2:6], 2, mode='wrap')", "np.apply_along_axis(np.cumsum, 0, {v})", "np.ptp({v}) * {w}",
    "np.mean({v}) * np.ones(8)", "0.0 * {v} + {w}", "np.zeros(8) * {v} + K", "{v} ** 2 - {v} * {v}",
    "np.outer({v}, {w})[P, P]", "np.outer({v}, {w})[1:3, ::2].ravel()", "-{v}", "{v} - {v} + {w}")
REDUCTIONS = ("np.sum({r} ** 2)", "np.sum({r} * np.roll({r}, 1))", "np.sum(np.sin({r})) * {r}[0]",
              "np.sum(np.exp({r}[:-1] * {r}[1:]))", "np.sum(np.log1p({r} ** 2))")
PRELUDE = """\
N = 8
P = np.array([3, 1, 0, 2, 2, 7, 5, 6])
K = np.array([1.0, 0.0, 2.0, 0.0, -1.0, 0.5, 0.0, 3.0])
MASK = np.array([True, False, False, True, True, False, True, False])
M = np.zeros((8, 8))
M[[0, 0, 2, 3, 5, 6, 7], [1, 4, 2, 0, 5, 7, 3]] = [1.0, -2.0, 0.5, 1.5, 1.0, 0.25, -1.0]

def filled(v, w):
    out = np.zeros(N)
    out[1:-1] = v[2:] - v[:-2]
    out[0] = w[0] * v[1]
    return out

def scattered(v, w):
    out = np.zeros(N)
    np.add.at(out, P, v * w)
    return out

def updated(v, w):
    out = v.copy()
    out[::2] *= w[1::2]
    out[[1, 4]] = out[[4, 1]]
    return out

"""
HARD_PRELUDE = """\
T = np.tril(np.ones((8, 8)), -6) + 2.0 * np.eye(8) + np.diag(np.ones(7), -1)
BANDS = np.array([[0.3] * 8, [4.0] * 8, [-0.2] * 8])
PATTERN = sparse.csr_array(T)
D, COLUMNS = PATTERN.data, PATTERN.indices
X = np.linspace(-2.0, 2.0, 8)

def looped(v, w):
    u = v.copy()
    for i in range(1, 8):
        u[i] = u[i - 1] * w[i] + v[i]
    return u

def halved(v, w):
    while np.max(np.abs(v)) > 0.4:
        v = 0.5 * v
    return v * w[::-1]

def in_place(v, w):
    out = v.copy()
    out[1:] += w[:-1]
    out[:-1] *= w[1:]
    out[P[:4]] = w[:4]
    out[MASK] -= v[MASK]
    return out

def overwritten(v, w):
    out = np.zeros((3, 8))
    out[0] = v
    out[1:, ::2] = w[:4]
    out[:, 3] = 0.0
    out[2, P] = v
    return out.sum(axis=0)

def doubly(v, w):
    out = np.zeros(8)
    out[P] = v * w
    return out

def added(v, w):
    out = w.copy()
    out[P] += v
    np.subtract.at(out, P[::2], v[:4])
    return out

def through_views(v, w):
    out = np.outer(v, K)
    row, column = out[2], out[:, 1]
    row += w
    column *= 2.0
    return out.sum(axis=0) + row

"""


@st.composite
def programs(draw, statements=STATEMENTS, prelude=PRELUDE):
    """Source of a vector function, and of a scalar one on top of it."""
    names, lines = ["x"], []
    for number in range(draw(st.integers(2, 7))):
        statement = draw(st.sampled_from(statements)).format(
            v=draw(st.sampled_from(names)), w=draw(st.sampled_from(names)),
            k=draw(st.integers(1, 3)))
        lines.append(f"    v{number} = {statement}")
        names.append(f"v{number}")
    body = "\n".join(lines)
    reduction = draw(st.sampled_from(REDUCTIONS)).format(r="r")
    return (f"{prelude}def f(x):\n{body}\n    return {names[-1]}\n\n"
            f"def g(x):\n    r = f(x)\n    return {reduction}\n")


POINT = np.array([0.31, -0.52, 0.73, 0.14, -0.25, 0.66, -0.87, 0.48])


def check_program(source, derivatives=(("f", wg.jacobian), ("g", wg.hessian))):
    namespace = {"np": np, "wg": wg, "linalg": scipy.linalg, "sparse": scipy.sparse}
    exec(source, namespace)
    for name, derivative in derivatives:
        for mode in ("auto", "forward", "reverse"):
            check(namespace[name], POINT, derivative, mode=mode)
        with mock.patch.object(sparse, "is_cheap", return_value=True):
            check(namespace[name], POINT, derivative)


FIXED = {"derandomize": True, "deadline": None, "database": None, "phases": [Phase.generate],
         "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}


@settings(max_examples=20, **FIXED)
@given(programs())
def test_random_sparse_program(source):
    check_program(source)


@pytest.mark.slow
@settings(max_examples=2000, **FIXED)
@given(programs())
def test_many_random_sparse_programs(source):
    check_program(source)


HARD_PROGRAMS = programs(HARD + STATEMENTS[::3], PRELUDE + HARD_PRELUDE)


@settings(max_examples=10, **FIXED)
@given(HARD_PROGRAMS)
def test_random_hard_program(source):
    check_program(source)


@pytest.mark.slow
@settings(max_examples=1000, **FIXED)
@given(HARD_PROGRAMS)
def test_many_random_hard_programs(source):
    check_program(source)


@pytest.mark.slow
@pytest.mark.parametrize("statement", HARD)
def test_every_hard_statement(statement):
    for v, w in (("x", "x"), ("x", "np.sin(x[::-1])"), ("x[P] * x", "x")):
        body = statement.format(v="v", w="w", k=2)
        check_program(f"{PRELUDE}{HARD_PRELUDE}def f(x):\n    v = {v}\n    w = {w}\n    return {body}"
                      "\n\ndef g(x):\n    r = f(x)\n    return np.sum(r * np.roll(r, 1))\n")
