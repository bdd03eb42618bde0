"""Every function that stands for one of NumPy's or SciPy's, called in many ways.

Each call of the table is compared with the plain function in value, shape and dtype, also in
single precision, and its derivatives with differences. A function that is registered but not in
the table fails the suite.
"""

import zlib

import numpy as np
import pytest
import scipy.special as special
import wengert as wg
from calls import TABLE as ARRAYS
from calls import A, name_of
from calls_matrices import TABLE as MATRICES
from calls_numerical import TABLE as NUMERICAL
from check import check_derivatives, differentiable
from wengert.compiler.errors import WengertError
from wengert.compiler.passes.dead import remove_dead
from wengert.compiler.trace.registry import FUNCTIONS, METHODS, REFUSED

TABLE = ARRAYS + NUMERICAL + MATRICES


def _draw(one, rng):
    low, high = (0.5, 2.0) if one.kind == "p" else (-2.0, 2.0)
    if one.kind == "i":
        return rng.integers(0, 2, one.shape)
    if one.kind == "b":
        return rng.integers(0, 2, one.shape).astype(bool)
    value = rng.uniform(low, high, one.shape)
    return value + 1j * rng.uniform(-1, 1, one.shape) if one.kind == "c" else value


def _drawn(tree, rng, single):
    if isinstance(tree, A):
        value = _draw(tree, rng)
        if single and value.dtype.kind in "fc":
            value = value.astype(np.complex64 if tree.kind == "c" else np.float32)
        return value
    if type(tree) in (list, tuple):
        return type(tree)(_drawn(v, rng, single) for v in tree)
    return tree


def _operands(row, single=False):
    """The call's operands with the drawn ones in a list of their own, and how to put them back."""
    rng = np.random.default_rng(zlib.crc32(row.text.encode()))
    return _drawn(row.operands, rng, single)


def _split(row, operands):
    """Drawn arrays, and the function of them alone."""
    arrays = []

    def collect(tree, value):
        if isinstance(tree, A):
            arrays.append(value)
        elif type(tree) in (list, tuple):
            for t, v in zip(tree, value, strict=True):
                collect(t, v)
    collect(row.operands, operands)

    def function(*given):
        queue = list(given)

        def put(tree, value):
            if isinstance(tree, A):
                return queue.pop(0)
            if type(tree) in (list, tuple):
                return type(tree)(put(t, v) for t, v in zip(tree, value, strict=True))
            return value
        return row.function(*put(row.operands, operands))
    return arrays, function


def _leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value]


def _compare(found, wanted, single):
    assert isinstance(found, (list, tuple)) == isinstance(wanted, (list, tuple))
    assert len(_leaves(found)) == len(_leaves(wanted))
    for f, w in zip(_leaves(found), _leaves(wanted), strict=True):
        f, w = np.asarray(f), np.asarray(w)
        assert f.shape == w.shape
        assert f.dtype == w.dtype
        rtol = 1e-5 if single or w.dtype.itemsize <= 4 else 2e-14
        np.testing.assert_allclose(f, w, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("row", TABLE, ids=[row.text for row in TABLE])
@pytest.mark.filterwarnings("ignore:.*(divide by zero|invalid value)")
def test_value(row, single):
    arrays, function = _split(row, _operands(row, single))
    wanted = function(*[v.copy() for v in arrays])
    _compare(wg.compile(function)(*arrays), wanted, single)


@pytest.mark.parametrize("row", TABLE, ids=[row.text for row in TABLE])
@pytest.mark.filterwarnings("ignore:.*(divide by zero|invalid value)")
def test_derivative(row):
    arrays, function = _split(row, _operands(row))
    graph = remove_dead(wg.trace(function)(*arrays))
    wrt = differentiable(graph)
    if wrt:
        rng = np.random.default_rng(0)
        check_derivatives(graph, arrays, wrt, rng, row.text, order=2)


def _is_stand_in(function):
    """Whether tracing made it, to stand for a registered function under its public name."""
    return getattr(function, "__module__", None) == "wengert.compiler.trace.interception"


def _is_tested_elsewhere(function, ours):
    """Families with tests of their own; methods of ufuncs made by one rule."""
    family = ours.__module__.rpartition(".")[2]
    return family in ("complex_math", "fft", "interpolation", "linalg", "quadrature",
                      "scipy_linalg") or (
        isinstance(function, tuple) and function[1] in ("outer", "__call__"))


ORDERS = (special.expn, special.kn, special.yn)      # their first operand is a whole number
OUTER = sorted((key[0] for key in FUNCTIONS if isinstance(key, tuple) and key[1] == "outer"),
               key=lambda ufunc: ufunc.__name__)


@pytest.mark.parametrize("ufunc", OUTER)
def test_outer(ufunc):
    x, y = np.array([0.3, 0.6]), np.array([0.2, 0.5, 0.9])
    if ufunc in ORDERS or "dd->" not in str(ufunc.types):
        x = np.array([1, 2])
    if ufunc not in ORDERS and "dd->" not in str(ufunc.types):
        y = np.array([0, 1, 3])
    found = wg.compile(lambda x, y: ufunc.outer(x, y))(x, y)
    _compare(found, ufunc.outer(x, y), single=False)


def test_every_registered_function_is_in_the_table():
    keys = {row.key for row in TABLE}
    missing = [name_of(f) for f, ours in FUNCTIONS.items()
               if f not in keys and f not in REFUSED and not _is_stand_in(f)
               and not _is_tested_elsewhere(f, ours)]
    missing += sorted(set(METHODS) - keys)
    assert not missing


def test_elements_that_nan_to_num_replaces_have_no_derivative():
    def f(x):
        return np.sum(np.nan_to_num(x / np.array([1.0, 0.0, np.nan])))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(wg.grad(f)(np.array([1.0, 2.0, 3.0])), [1.0, 0.0, 0.0])
        np.testing.assert_array_equal(wg.grad(f, mode="forward")(np.array([1.0, 2.0, 3.0])),
                                      [1.0, 0.0, 0.0])


@pytest.mark.parametrize("function", [
    lambda x: np.pad(x, 1, mode="median"),
    lambda x: np.pad(x, 9, mode="reflect", reflect_type="odd"),
    lambda x: special.logsumexp(x, return_sign=True),
    lambda x: np.einsum("i->", x, dtype=np.float32),
    lambda x: np.multiply.at(x.copy(), [0, 1], 2.0),
])
def test_unsupported_options_are_refused(function):
    with pytest.raises(WengertError, match="not supported"):
        wg.grad(lambda x: np.sum(function(x)))(np.ones(3))
