"""Loops and branches inside of native code, against the same programs in NumPy."""

import numpy as np
import pytest
import wengert as wg
from native_harness import support
from test_random_control import P, Q, program
from wengert.codegen import native_loop

X = np.linspace(-0.9, 1.1, 7)
MATRIX = np.linspace(-0.4, 0.5, 49).reshape(7, 7)
CAPTURED = np.linspace(0.5, 1.5, 7)


def is_native(compiled):
    """Whether no loop or branch is left to Python."""
    text = "\n".join(line for line in compiled.source.split("# The kernels, in C:")[0].splitlines()
                     if not line.strip().startswith("#"))
    assert "compiled from C" in compiled.source
    return not any(word in text for word in ("for ", "while ", "if ", "def step"))


def rnn(x, w):
    h, out = wg.scan(lambda h, row: (np.tanh(w @ h + row), np.sum(h * row)),
                     np.zeros(7), np.outer(np.arange(1.0, 6.0), x))
    return np.sum(h) + np.sum(out ** 2)


def nested(x, w):
    def inner(j, z, i):
        return z + 0.1 * np.cos(z) * x * (i + j)
    return np.sum(wg.fori_loop(0, 4, lambda i, y: wg.fori_loop(
        1, 4, lambda j, z: inner(j, z, i), y) * 0.9, x * w[0]))


def branches(x, w):
    def step(i, y):
        y = wg.cond(i % 2 == 0, lambda: np.sin(y) * x, lambda: y + w[1] ** 2)
        return wg.cond(np.sum(y) > 1.0, lambda: y * 0.5, lambda: y)
    return np.sum(wg.fori_loop(0, 6, step, x))


def kinds(x, w):
    """Whole numbers, truth values and several shapes are carried along."""
    def step(i, state):
        k, seen, y, m = state
        return (k + i, seen | (k > 3), y * (1.0 + 0.1 * k) + np.where(seen, 0.5, m[0]),
                m @ w * 0.5 + y[:, None] * 0.01)
    k, seen, y, m = wg.fori_loop(0, 5, step, (1, False, x, w))
    return np.sum(y) * k + np.sum(m) + np.where(seen, 1.0, 0.0)


def filled(x, w):
    """Arrays that are filled by the loop's counter, and rows read by one that is computed."""
    def step(i, out):
        out = out.copy()
        out[i] = x[i] * w[(3 * i) % 7, i] + out[i - 1]
        return out
    return np.sum(np.sin(wg.fori_loop(0, 7, step, np.zeros(7))))


def captured(x, w):
    return np.sum(wg.fori_loop(0, 5, lambda i, y: np.sin(y) * CAPTURED + w[0], x))


def untouched(x, w):
    """Carried values that stay as they are, are constant, or are twice the same."""
    a, b, c = wg.fori_loop(0, 3, lambda i, s: (s[0], s[0] * 2.0, s[0] * 2.0), (x, w[0], w[1]))
    return np.sum(a * b + c)


PROGRAMS = {f.__name__: f for f in (rnn, nested, branches, kinds, filled, captured, untouched)}


def same(found, expected, tol=1e-12):
    found, expected = (wg.compiler.trace.tree.flatten(v)[0] for v in (found, expected))
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives(name):
    f = PROGRAMS[name]
    transforms = {
        "value": lambda t: wg.compile(f, target=t),
        "gradient": lambda t: wg.value_and_grad(f, (0, 1), target=t),
        "forward": lambda t: wg.jacobian(f, (0, 1), mode="forward", target=t),
        "second": lambda t: wg.grad(lambda x, w: np.sum(wg.grad(f)(x, w) ** 2), 1, target=t)}
    for what, transform in transforms.items():
        native, numpy = transform("native"), transform("numpy")
        expected = numpy(X, MATRIX)
        for _ in range(2):
            same(native(X, MATRIX), expected)
        if what in ("value", "gradient"):
            assert is_native(native), native.source
    wg.check_grads(f, (X, MATRIX))
    many = wg.vmap(wg.grad(f), (0, None), target="native")
    batch = np.stack([X, X[::-1]])
    same(many(batch, MATRIX), np.stack([wg.grad(f)(x, MATRIX) for x in batch]))


def until(x, limit):
    return wg.while_loop(lambda s: np.sum(s[0] ** 2) > limit, lambda s: (s[0] * 0.7, s[1] + 1),
                         (x, 0))


def test_loops_of_unknown_length():
    native = wg.compile(until, target="native")
    for limit in (1.0, 1e-6, 100.0):                       # the last one takes no step
        same(native(X, limit), until(X, limit))
    assert is_native(native)
    pushed = wg.jvp(lambda x: until(x, 1e-3)[0], target="native")
    same(pushed(X, np.ones(7)), wg.jvp(lambda x: until(x, 1e-3)[0])(X, np.ones(7)))
    back = wg.grad(lambda x: np.sum(until(x, 1e-3)[0] ** 3), target="native")
    same(back(X), wg.grad(lambda x: np.sum(until(x, 1e-3)[0] ** 3))(X))


@pytest.mark.parametrize("steps", [1, 2, 3, 10, 16, 17])
def test_segments_give_the_same_bits(steps, monkeypatch):
    def f(x, w):
        y, rows = wg.scan(lambda y, r: (np.sin(y) * w[0] + r, np.sum(y)), x,
                          np.outer(np.arange(1.0, steps + 1), x))
        return np.sum(y) + np.sum(rows ** 2)
    whole = wg.grad(f, (0, 1), target="native")
    expected = whole(X, MATRIX)
    same(expected, wg.grad(f, (0, 1))(X, MATRIX))
    monkeypatch.setattr(native_loop, "KEPT", 0)
    cut = wg.grad(f, (0, 1), target="native")
    for a, b in zip(cut(X, MATRIX), expected, strict=True):
        assert a.tobytes() == b.tobytes()
    assert steps < 3 or "memcpy" in cut.source


def test_no_step_at_all():
    def f(x):
        return np.sum(wg.fori_loop(0, 0, lambda i, y: np.sin(y), x) ** 2)
    same(wg.grad(f, target="native")(X), 2 * X)


def test_what_needs_the_host_stays_there():
    def f(x):
        return np.sum(wg.fori_loop(0, 3, lambda i, y: np.linalg.solve(MATRIX + np.eye(7), y), x))
    native = wg.grad(f, target="native")
    same(native(X), wg.grad(f)(X), 1e-11)
    assert "linalg.solve" in native.source


def test_single_precision():
    x = X.astype(np.float32)

    def f(x):
        return np.sum(wg.fori_loop(0, 4, lambda i, y: np.tanh(y) * x + np.float32(0.5), x))
    found = wg.grad(f, target="native")(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wg.grad(f)(x), rtol=1e-5)


def test_captured_arrays_are_read_anew():
    kept = CAPTURED.copy()
    native = wg.grad(captured, target="native")
    native(X, MATRIX)
    CAPTURED[:] = 2.0
    try:
        same(native(X, MATRIX), wg.grad(captured)(X, MATRIX))
    finally:
        CAPTURED[:] = kept


def test_an_index_out_of_range_is_noticed():
    def f(x, k):
        return np.sum(wg.fori_loop(0, 4, lambda i, y: y + x[k + i], np.zeros(())))
    native = wg.compile(f, target="native")
    assert native(X, 2) == pytest.approx(np.sum(X[2:6]))
    with pytest.raises(IndexError):
        native(X, 5)


def test_large_steps_do_not_depend_on_threads():
    x = np.linspace(0.1, 1.0, 200_000)

    def f(x):
        return np.sum(wg.fori_loop(0, 3, lambda i, y: np.sin(y) * x + np.mean(y), x) ** 2)
    native = wg.grad(f, target="native")
    results = []
    for threads in (1, 2, 3):
        support(threads)
        results.append(native(x).tobytes())
    support(1, 150_000)
    assert len(set(results)) == 1
    np.testing.assert_allclose(native(x), wg.grad(f)(x), rtol=1e-11)


def test_a_long_sequence_takes_little_code():
    def f(x, rows):
        h, _ = wg.scan(lambda h, r: (np.tanh(h * x + r), None), np.zeros(7), rows)
        return np.sum(h)
    short, long = (wg.grad(f, target="native").specialize(X, np.ones((n, 7)))
                   for n in (10, 10_000))
    assert len(short.source.c.splitlines()) == len(long.source.c.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_random_control_is_the_same_in_c(seed):
    f = program(seed)
    same(wg.value_and_grad(f, (0, 1), target="native")(P, Q), wg.value_and_grad(f, (0, 1))(P, Q))
