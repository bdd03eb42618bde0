"""What speed rests on, without a clock: sizes that grow linearly, calls that take the short way."""

import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
import wengert as wg
from wengert.compiler.passes import pipeline
from wengert.runtime.executable import Compiled

# -- growth ---------------------------------------------------------------------------------------


def chain(n):
    def function(x):
        y = x
        for _ in range(n // 4):
            y = np.sin(y)
            y = y * x
            y = y + x
            y = np.tanh(y)
        return np.sum(y)
    return function


def lorenz(steps):
    def slope(u, p):
        x, y, z = u
        return [p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z]

    def last(p):
        u = [1.0, 1.0, 1.0]
        for _ in range(steps):
            k1 = slope(u, p)
            k2 = slope([a + 0.005 * k for a, k in zip(u, k1, strict=True)], p)
            k3 = slope([a + 0.005 * k for a, k in zip(u, k2, strict=True)], p)
            k4 = slope([a + 0.01 * k for a, k in zip(u, k3, strict=True)], p)
            u = [a + 0.01 / 6 * (q + 2 * r + 2 * s + t)
                 for a, q, r, s, t in zip(u, k1, k2, k3, k4, strict=True)]
        return u[0]
    return last


def sizes(derivative, *args):
    """Nodes of the graph and lines of the source."""
    program = derivative.specialize(*args)
    return np.array([len(program.graph.nodes), len(program.source.text.splitlines())])


@pytest.mark.parametrize(("make", "x"), [(chain, 0.5), (chain, np.full(3, 0.5)),
                                     (lorenz, np.array([10.0, 28.0, 2.5]))],
                         ids=["numbers", "arrays", "unrolled steps"])
def test_graph_and_source_grow_linearly(make, x):
    small, middle, large = (sizes(wg.grad(make(n)), x) for n in (8, 16, 24))
    assert np.all(large - middle <= 1.01 * (middle - small) + 2)
    assert np.all(middle > small)


def test_second_derivative_grows_linearly():
    small, middle, large = (sizes(wg.grad(wg.grad(chain(n))), 0.5) for n in (40, 80, 120))
    assert np.all(large - middle <= 1.05 * (middle - small) + 2)


@pytest.mark.parametrize(("n", "x"), [
    (2_000, 0.5), (5_000, np.linspace(0.1, 0.9, 3)),
    pytest.param(50_000, np.linspace(0.1, 0.9, 3), marks=pytest.mark.slow)],
    ids=["number", "array", "hundred thousand operations"])
def test_chains_far_beyond_the_limit_of_recursion(n, x, monkeypatch):
    monkeypatch.setattr(pipeline, "VERIFY_AFTER_EVERY_PASS", False)

    def function(x):
        y = x
        for _ in range(n):
            y = y * 0.9999 + x
        return np.sum(y)
    found = wg.grad(function)(x)
    expected = 0.9999 ** n + (1 - 0.9999 ** n) / (1 - 0.9999)
    np.testing.assert_allclose(found, np.full(np.shape(x), expected), rtol=1e-9)


def test_second_derivative_of_a_long_chain():
    def function(x):
        y = x
        for _ in range(200):
            y = y + x * y * 0.001
        return y
    found = wg.grad(wg.grad(function))(0.5)          # x(1 + x/1000)²⁰⁰
    a = 1 + 0.5 / 1000
    np.testing.assert_allclose(found, 0.4 * a ** 199 + 0.5 * 0.0398 * a ** 198, rtol=1e-10)


# -- the short way into a compiled function -----------------------------------------------------


@pytest.fixture
def general_calls(monkeypatch):
    """Arguments of the calls that went the general way."""
    seen = []
    general = Compiled.__call__

    def counted(self, *args, **kwargs):
        seen.append(args)
        return general(self, *args, **kwargs)
    monkeypatch.setattr(Compiled, "__call__", counted)
    return seen


def lecture(x1, x2=5.0):
    return np.log(x1) + x1 * x2 - np.sin(x2)


EXPECTED = (0.5 + 5.0, 2.0 - math.cos(5.0))


def test_a_call_of_the_same_kind_takes_the_short_way(general_calls):
    gradient = wg.grad(lecture, argnums=(0, 1))
    for _ in range(3):
        assert gradient(2.0, 5.0) == pytest.approx(EXPECTED, rel=1e-15)
    assert len(general_calls) == 2                     # the second brings the short way
    assert gradient(x1=2.0, x2=5.0) == pytest.approx(EXPECTED, rel=1e-15)
    assert gradient(2.0, x2=5.0) == pytest.approx(EXPECTED, rel=1e-15)
    assert len(general_calls) == 2                     # keywords bind to the same parameters


@pytest.mark.parametrize(("args", "kwargs"), [
    ((2,), {"x2": 5}), ((np.float64(2.0), 5.0), {}), ((np.float32(2.0), np.float32(5.0)), {}),
    ((np.array(2.0), 5.0), {}), ((np.array([2.0]), np.array([5.0])), {}),
], ids=["integers", "numpy number", "single precision", "array without axes", "array"])
def test_a_call_of_another_kind_is_compiled_anew(general_calls, args, kwargs):
    gradient = wg.compile(lecture)
    for _ in range(3):
        gradient(2.0, 5.0)
    found = gradient(*args, **kwargs)
    assert len(general_calls) == 3
    wanted = lecture(*args, **kwargs)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert gradient(2.0, 5.0) == pytest.approx(lecture(2.0, 5.0), rel=1e-15)


def test_callers_may_alternate(general_calls):
    """A solver passes a number once, and a scalar of NumPy's from then on."""
    gradient = wg.grad(lambda t, y: t * np.sum(y ** 2), argnums=1)
    kinds = [2.0, np.float64(2.0), np.float32(2.0), np.array(2.0)]
    for _ in range(5):
        for t in kinds:
            for n in (1, 2):
                found = gradient(t, np.ones(n))
                assert found.tolist() == [4.0] * n
                assert found.dtype == np.float64
    assert len(general_calls) == 2 * 2 * len(kinds)


def test_more_kinds_than_are_remembered():
    gradient = wg.grad(lambda x: np.sum(x ** 3))
    for _ in range(6):
        for n in range(20):
            x = np.arange(float(n))
            assert gradient(x).tolist() == (3 * x ** 2).tolist()


def test_what_was_pickled_has_the_short_way_again(general_calls):
    gradient = wg.grad(lecture)
    assert gradient(2.0) == gradient(2.0)
    copied = pickle.loads(pickle.dumps(gradient))
    before = len(general_calls)
    assert copied(2.0) == copied(2.0) == copied(2.0) == gradient(2.0)
    assert len(general_calls) <= before + 2


def test_defaults_and_missing_arguments(general_calls):
    gradient = wg.grad(lecture)
    for _ in range(3):
        gradient(2.0, 5.0)
    assert gradient(2.0) == pytest.approx(EXPECTED[0], rel=1e-15)
    assert len(general_calls) == 3
    with pytest.raises(wg.WengertError, match="x1"):
        gradient()
    with pytest.raises(TypeError):
        gradient(1.0, 2.0, 3.0)
    with pytest.raises(TypeError):
        gradient(1.0, x3=3.0)


def test_shape_and_dtype_are_looked_at():
    gradient = wg.grad(lambda x: np.sum(x ** 3))
    for x in (np.arange(3.0), np.arange(4.0), np.ones((2, 3)), np.arange(3.0, dtype=np.float32),
              np.arange(3.0)):
        found = gradient(x)
        assert found.shape == x.shape
        assert found.dtype == x.dtype
        np.testing.assert_allclose(found, 3 * x ** 2, rtol=1e-6)


def test_traced_values_are_recorded_in_the_enclosing_trace():
    inner = wg.grad(lambda x: x ** 3)
    assert inner(2.0) == inner(2.0) == 12.0
    assert wg.grad(lambda x: inner(x))(2.0) == 12.0
    assert wg.jacobian(lambda x: np.array([inner(x[0]), x[1]]))(np.ones(2)).tolist() == [
        [6.0, 0.0], [0.0, 1.0]]


FACTOR = 2.0


def scaled(x):
    return FACTOR * x


def test_changed_captures_are_noticed(monkeypatch):
    gradient = wg.grad(scaled)
    assert gradient(1.0) == gradient(1.0) == 2.0
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 3.0)
    assert gradient(1.0) == gradient(1.0) == 3.0


def test_changed_code_is_noticed():
    def function(x):
        return x ** 2
    gradient = wg.grad(function)
    assert gradient(3.0) == gradient(3.0) == 6.0
    function.__code__ = (lambda x: x ** 3).__code__
    assert gradient(3.0) == gradient(3.0) == 27.0


def test_a_builtin_that_becomes_hidden_is_noticed(monkeypatch):
    def function(x):
        return abs(x) * 2
    gradient = wg.grad(function)
    assert gradient(-3.0) == gradient(-3.0) == -2.0
    monkeypatch.setitem(globals(), "abs", lambda x: 5.0 * x)
    assert gradient(-3.0) == 10.0


@pytest.mark.parametrize("names", ["raw, type", "missing, rebind", "r, self", "_w_v3, _w_v4",
                                   "ndarray, changed", "cos, sin", "out, table"])
def test_names_of_arguments_do_not_matter(names):
    first, second = names.split(", ")
    space = {"np": np}
    exec(f"def function({names}):\n    return np.sin({first}) * {second}", space)
    gradient = wg.grad(space["function"], argnums=(0, 1))
    for _ in range(2):
        expected = pytest.approx((5.0 * math.cos(2.0), math.sin(2.0)), rel=1e-15)
        assert gradient(2.0, 5.0) == expected
        assert gradient(**{first: 2.0, second: 5.0}) == expected


def test_errors_show_the_generated_source():
    """Also of a short program, which stands in the entry itself."""
    compiled = wg.compile(lambda x: x * 2.0)
    assert compiled(1.0) == compiled(1.0) == 2.0
    assert type(compiled).__call__.__code__.co_filename.startswith("<wengert")
    assert type(compiled).__call__.__code__.co_filename == compiled.specialize(
        1.0).raw.__code__.co_filename


# -- the generated function itself --------------------------------------------------------------


def test_raw_takes_flat_inputs_and_gives_flat_results():
    def function(p, t):
        return p["a"] * t + p["b"]
    gradient = wg.grad(function)
    arguments = {"a": 2.0, "b": 3.0}, 5.0
    assert gradient(*arguments) == {"a": 5.0, "b": 1.0}
    program = gradient.specialize(*arguments)
    assert program.raw(2.0, 3.0, 5.0) == (5.0, 1.0)
    assert program.raw.__code__.co_argcount == 3


def test_raw_is_what_a_solver_calls():
    integrate = pytest.importorskip("scipy.integrate")
    def robertson(t, y):
        slow, fast, mixed = 0.04 * y[0], 3e7 * y[1] ** 2, 1e4 * y[1] * y[2]
        return np.array([mixed - slow, slow - mixed - fast, fast])
    y = np.array([1.0, 0.0, 0.0])
    jacobian = wg.jacobian(robertson, argnums=1)
    raw = jacobian.specialize(0.0, y).raw
    np.testing.assert_array_equal(raw(0.0, y + 0.5), jacobian(0.0, y + 0.5))
    assert raw(0.0, y) is not raw(0.0, y)
    options = {"method": "BDF", "rtol": 1e-6, "atol": 1e-10}
    with_it = integrate.solve_ivp(robertson, (0.0, 40.0), y, jac=raw, **options)
    without = integrate.solve_ivp(robertson, (0.0, 40.0), y, **options)
    np.testing.assert_allclose(with_it.y[:, -1], without.y[:, -1], rtol=1e-4)
    assert with_it.njev > 0


# -- both lanes give the same -------------------------------------------------------------------

ELEMENTWISE = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "tanh": np.tanh,
    "reciprocal": lambda x: 1.0 / x, "power": lambda x: x ** 2.5, "cube": lambda x: x ** 3,
    "arctan": np.arctan, "quotient": lambda x: (x + 1.0) / (x - 1.0),
    "log1p": np.log1p, "maximum": lambda x: np.maximum(x, 0.0) * x}
POINTS = (0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 700.0, -745.0, 1e-300, 1e300, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_lanes_agree(name):
    f = ELEMENTWISE[name]
    def function(y):
        return f(y[0]) * y[1]
    lanes = [wg.jacobian(wg.grad(function), lane=lane) for lane in ("scalar", "array")]
    with np.errstate(all="ignore"):
        for x in POINTS:
            scalar, array = (lane(np.array([x, 2.0])) for lane in lanes)
            np.testing.assert_allclose(scalar, array, rtol=4e-15, err_msg=str(x))


@pytest.mark.parametrize("n", [3, 5, 12])
def test_sparse_jacobians_of_elements(n):
    """Small ones are copies of their constants, large ones start from zeros."""
    def function(t, y):
        out = [y[i] * y[(i + 1) % n] - 2.0 * y[i] for i in range(n)]
        return np.array(out)
    y = np.linspace(0.5, 1.5, n)
    jacobian = wg.jacobian(function, argnums=1)
    found = jacobian(0.0, y)
    expected = np.zeros((n, n))
    for i in range(n):
        expected[i, i] += y[(i + 1) % n] - 2.0
        expected[i, (i + 1) % n] += y[i]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    found[:] = np.nan                                  # the result is the caller's own
    np.testing.assert_allclose(jacobian(0.0, y), expected, rtol=1e-15)
    np.testing.assert_allclose(wg.jacobian(function, argnums=1, lane="array")(0.0, y), expected,
                               rtol=1e-15)


# -- what is loaded when ------------------------------------------------------------------------


def run(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_loads_little():
    slow = ("jinja2", "sympy", "scipy.linalg", "scipy.fft", "scipy.signal", "scipy.interpolate",
            "scipy.integrate", "scipy.stats", "scipy.optimize")
    assert run(f"import sys, wengert; print(*[m for m in {slow} if m in sys.modules])") == []


@pytest.mark.parametrize("bound", ["import scipy.linalg as linalg", "from scipy import linalg"])
@pytest.mark.parametrize("order", ["before", "after", "during"])
def test_functions_of_modules_that_are_loaded_later(bound, order):
    code = "import numpy as np\n"
    code += f"{bound}\n" if order == "before" else ""
    code += "import wengert as wg\n"
    code += f"{bound}\n" if order == "after" else ""
    code += "def f(a):\n"
    code += f"    {bound}\n" if order == "during" else ""
    code += "    return linalg.det(a) + linalg.norm(linalg.inv(a))\n"
    code += "a = np.array([[2.0, 1.0], [0.5, 3.0]])\nwg.check_grads(f, (a,))\nprint('fine')"
    assert run(code) == ["fine"]


def test_functions_that_are_refused_are_refused_although_loaded_later():
    code = ("import wengert as wg, numpy as np\nimport scipy.fft, scipy.linalg\n"
            "for f in (lambda a: np.sum(scipy.linalg.signm(a)), lambda a: scipy.fft.fht(a[0], 1, 1)):"
            "\n    try:\n        wg.grad(f)(np.eye(2))\n"
            "    except wg.WengertError as error:\n        print(type(error).__name__)")
    assert run(code) == ["UnsupportedFunctionError"] * 2


def test_the_version_for_what_mathematics_refuses_is_compiled_when_needed():
    gradient = wg.grad(lambda x: np.log(x) ** 2)
    gradient(2.0)
    (program,) = gradient.programs
    names, name = program.raw.__globals__, program.source.deferred
    waiting = names[name]
    with np.errstate(all="ignore"):
        assert gradient(0.0) == -np.inf
    assert names[name] is not waiting
    lines = program.source.text.splitlines()
    assert lines[names[name].__code__.co_firstlineno - 1].startswith(f"def {name}(")


def test_short_arrays_are_written_out_where_that_is_shorter():
    def rosenbrock(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    gradient = wg.grad(rosenbrock)
    x = np.array([1.2, 0.7])
    np.testing.assert_allclose(gradient(x), [355.6, -148.0], rtol=1e-13)
    assert "return np.array([-2.0 * (1.0 - x0) - 400.0 * t * x0, 200.0 * t])" in gradient.source
    gradient(np.arange(5.0))
    assert "tolist" not in gradient.source


def test_integers_become_floats_by_element():
    f = wg.compile(lambda i: np.array([i[0], i[1] * i[1]]).astype(float) * 1.0, lane="scalar")
    found = f(np.array([1, 2]))
    assert "tolist" in f.source
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 4.0]


def test_elements_that_are_constants():
    def f(x):
        y = np.zeros_like(x)
        y[0] = x[1]
        return np.sin(y) + np.cos(y)
    assert wg.compile(f, lane="scalar")(np.array([1.0, 0.0])).tolist() == [1.0, 1.0]
