"""Every row of the operator table, by the one shared checker; and that the checker can fail."""

from dataclasses import replace

import numpy as np
import pytest
import wengert as wg
from check import check_op, is_elementwise
from wengert.compiler.arraytype import ArrayType
from wengert.compiler.ops import arithmetic, indexing, layout, reduction, table, transcendental
from wengert.compiler.ops.row import (
    DerivativeNotImplemented,
    Elementwise,
    General,
    Linear,
    Multilinear,
    NoDerivative,
    Op,
    ZeroDerivative,
    sample,
)
from wengert.compiler.ops.table import FAMILIES, TABLE

SLOTS = (Elementwise, Linear, Multilinear, General, ZeroDerivative, NoDerivative,
         DerivativeNotImplemented)


# Rows with bodies take operands of their bodies' types only; test_control.py checks them.
ROWS = sorted({row.name for family in FAMILIES for row in vars(family).values()
               if isinstance(row, Op) and not row.bodies})


@pytest.mark.parametrize("name", ROWS)
def test_row(name):
    check_op(TABLE[name])


# -- the table is complete ------------------------------------------------------------------------


def test_every_row_of_every_family_is_in_the_table():
    rows = {row for family in FAMILIES for row in vars(family).values() if isinstance(row, Op)}
    assert rows <= set(TABLE.values())            # tests may have declared rows of their own
    assert len(rows) >= 120


@pytest.mark.parametrize("name", ROWS)
def test_row_is_complete(name):
    row = TABLE[name]
    assert row.name == name
    assert isinstance(row.derivative, SLOTS)
    assert row.python or row.infix or row.expand or row in (indexing.setitem,
                                                            indexing.scatter_add)
    if is_elementwise(row):
        assert not row.params
        assert not row.samples
        assert row.domain
        if isinstance(row.derivative, Elementwise):
            assert len(row.derivative.partials) == len(row.domain)
    else:
        assert row.samples, "a row that is not elementwise needs samples"
    for one in row.samples:
        assert {key for key, _ in one.params} == set(row.params)


def test_a_second_row_of_the_same_name_is_refused():
    with pytest.raises(ValueError, match="two rows named add"):
        table.register(replace(arithmetic.add))


# -- the checker finds what is wrong --------------------------------------------------------------

WRONG = {
    "partial": replace(transcendental.tanh, derivative=Elementwise((lambda x, out: 1.0 - out,))),
    "partial of one operand": replace(arithmetic.mod, derivative=Elementwise((1.0, None))),
    "second derivative": replace(transcendental.sin, derivative=Elementwise(
        (lambda x, out: wg.compiler.ops.comparison.floor(np.cos(x) * 1e12) / 1e12,))),
    "zero derivative": replace(arithmetic.neg, derivative=ZeroDerivative()),
    "transpose": replace(layout.roll, derivative=Linear(
        lambda ct, x, shift, axis: layout.roll(ct, shift=shift, axis=axis))),
    "jvp": replace(reduction.prod, derivative=General(
        lambda args, tangents, out, axis, keepdims: np.sum(tangents[0], axis=axis,
                                                           keepdims=keepdims))),
    "multilinear transpose": replace(
        TABLE["matmul"], derivative=Multilinear((lambda ct, x, y: 0.0 * x, lambda ct, x, y: y))),
    "shape": replace(layout.transpose, type_rule=lambda x, axes: x),
    "dtype": replace(transcendental.exp, type_rule=lambda x: ArrayType(
        x.shape, np.dtype(np.float64))),
    "batching": replace(reduction.cumsum, batch=lambda args, batched, axis: reduction.cumsum(
        args[0], axis=axis)),
    "source": replace(transcendental.log, python="np.log2"),
    "precision": replace(transcendental.cos, derivative=Elementwise(
        (lambda x, out: -np.sin(x) * np.float64(1.0),))),
    "missing refusal": replace(transcendental.cosh, derivative=DerivativeNotImplemented("")),
}


@pytest.mark.parametrize("what", sorted(set(WRONG) - {"missing refusal"}))
def test_check_op_fails_on_a_wrong(what):
    with pytest.raises(AssertionError):
        check_op(WRONG[what])


def test_check_op_accepts_a_row_that_refuses():
    check_op(WRONG["missing refusal"])


def test_every_sample_is_checked():
    wrong_for_pairs = replace(layout.stack, derivative=Linear(
        lambda ct, *args, axis: tuple(ct[(slice(None),) * axis + (i,)] if ct.ndim < 3 else 2.0 * a
                                      for i, a in enumerate(args)), None))
    with pytest.raises(AssertionError):
        check_op(wrong_for_pairs)
    check_op(replace(wrong_for_pairs, samples=(sample((), (), axis=0),)))


# -- points where rules go wrong ------------------------------------------------------------------


@pytest.mark.parametrize(("function", "x", "slope"), [
    (np.prod, [2.0, 3.0, 4.0], [12, 8, 6]),
    (np.prod, [2.0, 0.0, 4.0], [0, 8, 0]),
    (np.prod, [0.0, 0.0, 4.0], [0, 0, 0]),
    (lambda x: np.cumprod(x)[2], [2.0, 0.0, 4.0], [0, 8, 0]),
    (np.max, [1.0, -2.0, 3.0], [0, 0, 1]),
    (np.max, [3.0, -2.0, 3.0], [0.5, 0, 0.5]),
    (np.min, [3.0, 3.0, 3.0], [1 / 3, 1 / 3, 1 / 3]),
    (lambda x: np.maximum(x[0], x[1]), [2.0, 2.0], [0.5, 0.5]),
    (lambda x: np.minimum(x[0], x[1]), [2.0, 2.0], [0.5, 0.5]),
    (lambda x: np.abs(x[0]), [0.0], [0]),
    (lambda x: x[0] ** 0 + x[1] ** 1 + x[2] ** 2, [0.0, 0.0, 0.0], [0, 1, 0]),
    (lambda x: x[0] ** x[1], [0.0, 2.0], [0, 0]),
    (lambda x: x[0] ** 3.0, [-2.0], [12]),
    (lambda x: np.arctan2(x[0], x[1]), [1e-200, -1e-200], [-5e199, -5e199]),
    (lambda x: np.hypot(x[0], x[1]), [0.0, 0.0], [0, 0]),
    (lambda x: np.hypot(x[0], x[1]), [3e200, 4e200], [0.6, 0.8]),
    (lambda x: np.logaddexp(x[0], x[1]), [1000.0, 1000.0], [0.5, 0.5]),
    (lambda x: np.logaddexp(x[0], x[1]), [-np.inf, 1.0], [0, 1]),
    (lambda x: np.sinc(x[0]), [0.0], [0]),
    (lambda x: np.sinc(x[0]), [0.15], [-0.482608252104987]),
    (lambda x: np.linalg.norm(x), [0.0, 0.0], [0, 0]),
    (lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0).sum(), [0.0, 2.0], [0, 0.5]),
    (lambda x: np.where(x > 0, np.sqrt(x), 0.0).sum(), [0.0, 4.0], [0, 0.25]),
    (lambda x: np.tanh(x[0]), [800.0], [0]),
    (lambda x: np.sum(x[[0, 0, 0, 1]]), [5.0, 6.0], [3, 1]),
])
def test_gradient_at_a_special_point(function, x, slope):
    x = np.asarray(x)
    for mode in ("reverse", "forward"):
        with np.errstate(all="ignore"):
            found = wg.grad(function, mode=mode)(x)
        np.testing.assert_allclose(found, slope, rtol=1e-9, atol=1e-12)


def test_derivative_of_the_sign_of_a_complex_number():
    def phase(x):
        return np.real(np.sign(x[0] + 1j * x[1]))
    # x/√(x² + y²): d/dx = y²/r³, d/dy = −xy/r³
    np.testing.assert_allclose(wg.grad(phase)(np.array([3.0, 4.0])), [16 / 125, -12 / 125])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(wg.grad(phase)(np.array([0.0, 0.0])), [0.0, 0.0])
