"""Unusual arguments: the right answer, or an error that names the argument."""

import array
import datetime
import decimal
import fractions
import warnings

import numpy as np
import pytest
import sympy
import wengert as wg
from wengert.compiler import text

A = np.array
BASE = A([0.5, 1.5, 2.0])


def f(x):
    return np.sum(x * x * np.sin(x))


def slope(x):
    x = np.asarray(x, float)
    return 2 * x * np.sin(x) + x * x * np.cos(x)


class Duck:
    """Anything that can become an array, like a column of a table."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


class Subclass(np.ndarray):
    pass


class Quantity(np.ndarray):
    """An array with units: its operations are its own."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        raise TypeError("metres and seconds")


def matrix(values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(values)


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


LAYOUTS = {
    "read_only": read_only(BASE), "every_other": np.repeat(BASE, 2)[::2], "reversed": BASE[::-1],
    "fortran": np.asfortranarray(np.outer(BASE, BASE)),
    "strided": np.arange(12.0).reshape(3, 4)[::2, ::-2], "transposed": np.outer(BASE, BASE[:2]).T,
    "broadcast": np.broadcast_to(BASE, (2, 3)), "big_endian": BASE.astype(">f8"),
    "big_endian_single": BASE.astype(">f4"), "empty": A([]), "zero_rank": A(0.5),
    "unaligned": np.frombuffer(b"." + BASE.tobytes(), np.float64, offset=1),
}
SCALARS = {"float32": np.float32(0.5), "float16": np.float16(0.5), "float64": np.float64(0.5),
           "longdouble": np.longdouble(0.5)}
REFUSED = {
    "object": BASE.astype(object), "datetime": A(["2020-01-01"], "M8[D]"),
    "timedelta": A([1, 2], "m8[s]"), "strings": A(["a"]), "bytes": b"abc",
    "masked": np.ma.masked_array(BASE, [0, 1, 0]), "unmasked": np.ma.masked_array(BASE),
    "duck": Duck(BASE), "matrix": matrix(BASE), "subclass": BASE.view(Subclass),
    "quantity": BASE.view(Quantity),
    "structured": A([(1.0, 2.0)], [("a", "f8"), ("b", "f8")]),
    "record": np.rec.array([(1.0, 2.0)], dtype=[("a", "f8"), ("b", "f8")]),
    "memoryview": memoryview(BASE), "array.array": array.array("d", BASE),
    "bytearray": bytearray(b"abc"), "Decimal": decimal.Decimal("0.5"),
    "Fraction": fractions.Fraction(1, 2), "sympy_rational": sympy.Rational(1, 2),
    "sympy_float": sympy.Float(0.5), "sympy_symbol": sympy.Symbol("s"), "none": None, "text": "abc",
    "int": 3, "bool": True, "numpy_int": np.int64(3), "integers": A([1, 2]), "truths": A([True]),
    "range": range(3), "set": {1.0}, "function": len, "huge_int": 10 ** 30,
    "object_scalar": A(0.5, object), "date": datetime.date(2020, 1, 1),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("transform", [wg.grad, wg.jacobian, wg.value_and_grad])
def test_errors_name_the_argument(value, transform):
    def g(voltage, other=1.0):
        return f(voltage)
    with pytest.raises(wg.WengertError, match="voltage"):
        transform(g)(value)


@pytest.mark.parametrize("value", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_layouts(value, mode):
    before = np.array(value)
    found = wg.grad(f, mode=mode)(value)
    np.testing.assert_allclose(found, slope(value), rtol=1e-5 if value.dtype.itemsize == 4
                               else 1e-13)
    assert np.shape(found) == value.shape
    assert np.asarray(found).dtype == value.dtype.newbyteorder("=")
    np.testing.assert_array_equal(value, before)


@pytest.mark.parametrize("value", SCALARS.values(), ids=SCALARS)
def test_scalars_keep_their_dtype(value):
    found = wg.grad(f)(value)
    np.testing.assert_allclose(float(found), slope(0.5), rtol=2e-3)
    assert np.asarray(found).dtype == value.dtype


PROGRAMS = {
    "power": lambda x: np.sum(x ** 3), "mean": lambda x: np.mean(x * x),
    "norm": np.linalg.norm, "where": lambda x: np.sum(np.where(x > 0.3, x * x, 0)),
    "matmul": lambda x: x @ x, "max": np.max, "log": lambda x: np.sum(np.log(x)),
    "third": lambda x: np.sum(np.arctan(x) / 3), "prod": np.prod, "std": np.std,
    "cumprod": lambda x: np.sum(np.cumprod(x)), "index": lambda x: x[0] * x[1] ** 2,
    "clip": lambda x: np.sum(np.clip(x, 0, 0.3) ** 2), "tan": lambda x: np.sum(np.tan(x)),
    "logsumexp": lambda x: np.log(np.sum(np.exp(x))), "sqrt": lambda x: np.sum(x * np.sqrt(x)),
}


@pytest.mark.parametrize("function", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize(("dtype", "tolerance"), [
    (np.float16, 2e-2), (np.float32, 1e-5), (np.longdouble, 1e-14)])
def test_precisions(function, dtype, tolerance):
    x = (A([1, 2], np.longdouble) / A([3, 7], np.longdouble))
    want = wg.grad(function)(x.astype(float))
    value, found = wg.value_and_grad(function)(x.astype(dtype))
    forward = wg.grad(function, mode="forward")(x.astype(dtype))
    assert np.asarray(value).dtype == np.asarray(function(x.astype(dtype))).dtype
    assert found.dtype == forward.dtype == dtype
    np.testing.assert_allclose(found.astype(float), want, rtol=tolerance, atol=tolerance / 10)
    np.testing.assert_allclose(forward.astype(float), want, rtol=tolerance, atol=tolerance / 10)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="longdouble is double here")
def test_long_doubles_keep_all_their_digits():
    tenth = np.longdouble("0.1")
    weights = A(["0.1", "0.3"]).astype(np.longdouble)
    x = A([1, 2], np.longdouble) / 3
    for function, want in ((lambda x: np.sum(x * tenth), A([tenth, tenth])),
                           (lambda x: np.sum(x * weights), weights),
                           (lambda x: np.sum(x * x) / 3, 2 * x / 3)):
        value, found = wg.value_and_grad(function)(x)
        np.testing.assert_allclose(value, function(x), rtol=2e-19)
        np.testing.assert_allclose(found, want, rtol=2e-19)


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble, np.float16, np.complex64, ">f8",
                                   ">c16"])
def test_graphs_of_all_precisions_read_back(dtype):
    weights = A(["0.1", "-3e-5"]).astype(np.longdouble).astype(dtype)
    if weights.dtype.kind == "c":
        weights = weights * weights.dtype.type(1 - 1e-7j)
    graph = wg.trace(lambda x: np.sum(x * weights[:2] * weights[0]))(weights)
    assert text.parse(str(graph)) == graph


@pytest.mark.parametrize(("other", "value"), [
    (fractions.Fraction(1, 2), 0.5), (Duck(BASE), BASE), (memoryview(BASE), BASE),
    (array.array("d", BASE), BASE), (BASE.astype(">f8"), BASE), ([0.5, 1.5, 2.0], BASE),
    (BASE.astype(np.float32), BASE), (sympy.Rational(1, 2), 0.5)],
    ids=["Fraction", "duck", "memoryview", "array", "big_endian", "list", "float32", "sympy"])
def test_other_operands(other, value):
    x = A([1.0, 2.0, 3.0])
    for function in (lambda x: np.sum(x * other), lambda x: np.sum(x / other)):
        found = wg.grad(function)(x)
        want = np.broadcast_to(1.0, 3) * function(np.ones(3)) / 3
        reference = value if function(np.ones(3)) == np.sum(np.ones(3) * value) else 1 / value
        assert np.shape(want) == (3,)
        np.testing.assert_allclose(found, np.broadcast_to(reference, 3), rtol=1e-12)


@pytest.mark.parametrize("other", [
    decimal.Decimal("0.5"), np.ma.masked_array(BASE, [0, 1, 0]), BASE.view(Quantity),
    A(["2020-01-01"] * 3, "M8[D]"), sympy.Symbol("s"), "text", None],
    ids=["Decimal", "masked", "quantity", "datetime", "symbol", "text", "none"])
def test_operands_that_are_refused(other):
    with pytest.raises(TypeError):
        wg.grad(lambda x: np.sum(x * other))(A([1.0, 2.0, 3.0]))


def test_unusual_arguments_that_are_not_differentiated():
    def g(x, factor, label, when):
        return np.sum(x * factor) if label == "a" and when.year == 2020 else np.sum(x)
    found = wg.grad(g)(BASE, fractions.Fraction(1, 2), "a", datetime.date(2020, 1, 1))
    np.testing.assert_array_equal(found, [0.5, 0.5, 0.5])
    found = wg.grad(g)(BASE, fractions.Fraction(1, 4), "a", datetime.date(2020, 1, 1))
    np.testing.assert_array_equal(found, [0.25, 0.25, 0.25])


def test_containers_of_several_lengths():
    def g(rows):
        return sum(np.sum(np.asarray(row) ** 2) for row in rows)
    assert wg.grad(g)([[1.0], [1.0, 2.0]]) == [[2.0], [2.0, 4.0]]
