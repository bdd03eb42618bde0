"""Assignment, views and aliases have NumPy's meaning; what cannot have it is refused."""

import copy
import pickle

import numpy as np
import pytest
import wengert as wg
from agreement import assert_agrees, same
from wengert.compiler.errors import MutationError, WengertError

M = np.array([[1.0, 2.0, 0.55], [0.3, 0.2, 1.1]])
X = np.array([0.7, 1.3, 0.4])
CASES = []


def case(*args):
    def register(function):
        CASES.append(pytest.param(function, args, id=function.__name__))
        return function
    return register


@case(X)
def overlapping_copies(x):
    y = x * 2
    y[1:] = y[:-1]
    y[:-1] += y[1:]
    y[:] = y[::-1]
    return y


@case(X)
def views_of_views(x):
    y = x * 1
    v = y[1:]
    w = v[::-1]
    w[0] = 5 * x[0]
    v[0] += 1
    y[2] *= 3
    return y * w[0] + v.sum()


@case(M)
def rows_are_views_and_elements_are_not(x):
    y = x.copy()
    row, element = y[0], y[1, 1]
    row[:] = row * row
    y[1, 1] = 7.0
    element += 1.0
    for r in y:
        r /= np.linalg.norm(r)
    return y * element


@case(M)
def views_through_calls(x):
    y = x.copy()

    def centre(v):
        v -= v.mean()
        return v
    first = centre(y[0])
    centre(y[:, 1])
    first[0] = 2 * x[0, 0]
    return y


@case(M)
def transposed_writes(x):
    y = x.copy()
    y.T[...] *= 2
    y.T[0] += 1
    y.swapaxes(0, 1)[2] = x[0, :2]
    return y


@case(M)
def ravel_and_reshape_of_packed_arrays_are_views(x):
    y = x.copy()
    y.ravel()[0] = x[1, 1] * 3
    y.reshape(3, 2)[:, 0] = x[0] * 2
    y.reshape(-1)[1:3] *= 2
    return y


@case(M)
def ravel_and_reshape_of_others_are_copies(x):
    y = x.copy()
    y.T.ravel()[0] = 99.0
    y[::-1].ravel()[0] = 99.0
    y[:, :2].reshape(-1)[0] = 99.0
    y.flatten()[0] = 99.0
    z = x.T.copy().T
    z.reshape(-1)[0] = 99.0
    return y + z


@case(M)
def ravel_of_an_argument(x):
    x.ravel()[0] = 2.0 * x[1, 1]
    return x * 3.0


@case(M)
def diagonals_follow_and_are_read_only(x):
    y = x[:, :2].copy()
    d = np.diag(y)
    y[0, 0] = 5.0 * x[0, 1]
    return d * np.diagonal(y).flags.writeable if False else d


@case(M)
def flat_reaches_the_array(x):
    y = x.copy()
    y.T.flat[1] = x[0, 0] * 5
    y.flat = y.flat[::-1]
    return y


@case(M)
def functions_that_write_by_flat_position(x):
    y = x.copy()
    np.put(y.T, [1, 4], x[0, :2])
    np.place(y[::-1], y[::-1] > 1.05, [0.5, x[0, 1]])
    np.putmask(y.T, y.T < 0.25, x.T)
    return y


@case(X)
def parts_of_complex_arrays_are_views(x):
    z = x + 1j * x[::-1]
    z.real[0] = 5 * x[1]
    z.imag *= 2
    part = np.real(z)
    z.real = part * x
    return z.real * z.imag + part


@case(X)
def copies_are_their_own(x):
    y = x * 1.0
    copies = [y.copy(), np.copy(y), np.array(y), copy.copy(y), copy.deepcopy(y), y + 0, y[[0, 1, 2]]]
    for i, c in enumerate(copies):
        c[0] = i
    y[1] = 3 * x[2]
    return sum(copies) * y


@case(X)
def masks_and_positions(x):
    y = x.copy()
    y[y > 0.5] *= 2
    y[y < 0.5] = 0
    y[[0, 0]] += 1.0            # once, as in NumPy
    np.add.at(y, [0, 0], x[0])  # twice
    y[[0, 1]] = y[[1, 0]]
    return y


@case(X)
def outputs_and_copyto(x):
    y = np.empty(3)
    np.multiply(x, x, out=y)
    np.sin(y, out=y)
    np.add(y, 1.0, out=y, where=x > 0.5)
    np.copyto(y[1:], x[0])
    return y


@case(X)
def swaps(x):
    y = x.copy()
    y[0], y[1] = y[1], y[0]
    m = np.outer(y, x)
    m[0], m[2] = m[2], m[0]     # rows are views: the second assignment sees the first
    return m


@case(np.array(1.3))
def zero_dimensional_arrays(x):
    y = x.copy()
    y[...] = x * 2
    y[()] += x
    y *= y
    alias = y
    alias += 1
    return y


@case(1.5)
def numbers_are_not_aliased(x):
    p = x
    q = p
    p += 1
    p *= x
    return p * q


@case(X)
def arguments_written_to(x):
    x[0] = 10.0 * x[1]
    x *= 2
    v = x[1:]
    v += x[0]
    return x.sum() * v


@case(X)
def lists_of_views(x):
    y = x.copy()
    for i, part in enumerate([y[i:i + 1] for i in range(3)]):
        part *= i + 1
    return y


@case(X)
def integers_take_floats_by_truncation(x):
    y = np.array([1, 2, 3])
    y[0] = 7.9
    return y * x


@pytest.mark.parametrize(("function", "args"), CASES)
def test_meaning_of_numpy(function, args):
    assert_agrees(function, *args)


def test_written_arguments_come_back():
    def f(x, y, k=2.0):
        x[1:] *= k
        y.T[0] = x[0]
        return x.sum()
    args = X.copy(), M.copy()
    expected = X.copy(), M.copy()
    assert wg.compile(f)(*args) == f(*expected)
    for mine, theirs in zip(args, expected, strict=True):
        assert same(mine, theirs)
    strided = np.zeros((3, 2))
    strided[:, 0] = X
    wg.compile(f)(strided[:, 0], args[1])
    assert same(strided[:, 0], expected[0])
    before = X.copy(), M.copy()
    wg.grad(f)(*before)
    wg.jvp(f)(*before, np.ones(3))
    assert same(before[0], X)
    assert same(before[1], M)


def test_writing_to_a_read_only_argument():
    def f(x):
        x *= 2
        return x.sum()
    frozen = X.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        wg.compile(f)(frozen)
    np.testing.assert_array_equal(wg.grad(f)(frozen), [2.0, 2.0, 2.0])


def test_aliased_arguments_that_are_written_to_are_refused():
    def f(x, y):
        x *= 2
        return (x * y).sum()
    g = wg.compile(f)
    g(X.copy(), X.copy())
    shared = np.arange(4.0)
    for pair in ((shared, shared), (shared[:3], shared[1:])):
        with pytest.raises(MutationError, match="shares memory"):
            g(*pair)
    assert same(shared, np.arange(4.0))
    assert wg.compile(lambda x, y: x @ y)(shared, shared) == 14.0      # only read: no matter


def test_layout_of_an_argument_is_looked_at_in_each_call():
    def f(x):
        row = x.ravel()
        row[0] = 7.0
        return x.sum() + row.sum()
    g = wg.compile(f)
    for _ in range(2):
        for x in (M.copy(), M.T.copy().T):
            mine, theirs = x.copy(order="K"), x.copy(order="K")
            if x.flags.c_contiguous:
                assert g(mine) == f(theirs)
                assert same(mine, theirs)
            else:
                with pytest.raises(MutationError, match="lies in memory"):
                    g(mine)
    assert "flags.c_contiguous" in g.programs[0].source.text


def test_layouts_do_not_matter_where_nothing_is_written():
    f = wg.compile(lambda x: x.ravel() * x.T.reshape(-1))
    for x in (M, M.T.copy().T):
        assert same(f(x), x.ravel() * x.T.reshape(-1))
    assert not f.graph.guards


@pytest.mark.parametrize("index", [0, slice(None)])
def test_assignment_into_a_plain_array_names_the_way_out(index):
    table = np.ones(3)

    def by_method(x):
        y = table.copy()
        y[index] = x[index]
        return y.sum()

    def by_function(x):
        y = np.array(table)
        y[index] = x[index]
        return y.sum()
    with pytest.raises(WengertError, match=r"np\.array\(a\), say, instead of a\.copy\(\)"):
        wg.grad(by_method)(X)
    np.testing.assert_array_equal(wg.grad(by_function)(X), [1.0, *[float(index != 0)] * 2])


@pytest.mark.parametrize(("function", "words"), [
    (lambda x: np.broadcast_to(x, (2, 3)).__setitem__(0, 1.0), "read-only"),
    (lambda x: np.diagonal(np.outer(x, x)).__setitem__(0, 1.0), "read-only"),
    (lambda x: x[0].__setitem__(0, 1.0), "item assignment"),
    (lambda x: x.__iadd__(np.ones((2, 3))), "broadcast"),
    (lambda x: np.array([1, 2, 3]).__iadd__(x), "[Cc]ast"),
    (lambda x: (x * 1).__setitem__(5, 1.0), "out of bounds"),
    (lambda x: (x * 1).__setitem__(slice(1, None), np.ones(3)), ""),
    (lambda x: M.__setitem__(0, x), "derivative would be lost"),
    (lambda x: np.add(x, 1.0, out=M[0]), "plain array"),
    (lambda x: pickle.dumps(x), "Return it")])
def test_what_numpy_refuses_is_refused(function, words):
    before = M.copy()

    def f(x):
        function(x)
        return x.sum()
    with pytest.raises((ValueError, TypeError, IndexError, WengertError), match=words or None):
        wg.grad(f)(X.copy())
    assert same(M, before)


@pytest.mark.parametrize(("shape", "mask"), [
    ((6,), lambda x: x > 0), ((6, 2), lambda x: x > 0), ((6, 2), lambda x: x[:, 0] > 0)])
def test_a_number_put_where_a_mask_holds_needs_no_count(shape, mask):
    def f(x):
        y = x ** 2
        y[mask(x)] = 1.5
        return np.sum(y * x)

    rng = np.random.default_rng(0)
    xs = rng.normal(size=(5, *shape))
    slope = wg.grad(f)
    wanted = 3 * xs ** 2
    for w, x in zip(wanted, xs, strict=True):
        w[mask(x)] = 1.5
    for x, w in zip(xs, wanted, strict=True):
        np.testing.assert_allclose(slope(x), w, rtol=1e-14)
    assert len(slope.programs) == 1
    np.testing.assert_allclose(wg.vmap(slope)(xs), wanted, rtol=1e-14)
