"""Random sparse programs: no entry is missing, and all are those of the dense derivative."""

from unittest import mock

import numpy as np
import pytest
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


@st.composite
def programs(draw):
    """Source of a vector function, and of a scalar one on top of it."""
    names, lines = ["x"], []
    for number in range(draw(st.integers(2, 7))):
        statement = draw(st.sampled_from(STATEMENTS)).format(
            v=draw(st.sampled_from(names)), w=draw(st.sampled_from(names)),
            k=draw(st.integers(1, 3)))
        lines.append(f"    v{number} = {statement}")
        names.append(f"v{number}")
    body = "\n".join(lines)
    reduction = draw(st.sampled_from(REDUCTIONS)).format(r="r")
    return (f"{PRELUDE}def f(x):\n{body}\n    return {names[-1]}\n\n"
            f"def g(x):\n    r = f(x)\n    return {reduction}\n")


def check_program(source, derivatives=(("f", wg.jacobian), ("g", wg.hessian))):
    namespace = {"np": np}
    exec(source, namespace)
    x = np.array([0.31, -0.52, 0.73, 0.14, -0.25, 0.66, -0.87, 0.48])
    for name, derivative in derivatives:
        for mode in ("auto", "forward", "reverse"):
            check(namespace[name], x, derivative, mode=mode)
        with mock.patch.object(sparse, "is_cheap", return_value=True):
            check(namespace[name], x, derivative)


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
