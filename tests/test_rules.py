"""Every rewrite row in its class: EXACT to the bit, STABLE never less accurate than its pattern."""

import ast
import itertools

import mpmath
import numpy as np
import pytest
import wengert as wg
from wengert.compiler.arraytype import ArrayType, is_python_number
from wengert.compiler.graph import CONSTANT, INPUT, Graph, Node, topological
from wengert.compiler.ops.table import TABLE
from wengert.compiler.passes import rules
from wengert.compiler.passes.pattern import _OPERATORS, rule
from wengert.compiler.passes.rules import EXACT, SIMPLIFY, STABLE
from wengert.compiler.passes.simplify import Simplifier, simplify
from wengert.compiler.transforms.vjp import vjp

DERIVATIVE = tuple(r for r in STABLE if r.root.name == "scale")
ORDINARY = tuple(r for r in STABLE if r.root.name != "scale")
NUMBERS = {"c": 3.0, "d": -0.7, "k": 2.0}


def by_text(rows):
    return pytest.mark.parametrize("row", rows, ids=lambda r: r.text)


def variables(row):
    """Names of the variables that are not constants."""
    names = {n.id for n in ast.walk(row.pattern) if isinstance(n, ast.Name)}
    return sorted(n for n in names if n not in TABLE and n not in NUMBERS)


def evaluate(expr, apply, env):
    """The value of a pattern, with ``apply(operator name, operands)`` doing the work."""
    if isinstance(expr, ast.Constant):
        return float(expr.value)
    if isinstance(expr, ast.UnaryOp) and isinstance(expr.operand, ast.Constant):
        return -float(expr.operand.value)
    if isinstance(expr, ast.Name):
        return env[expr.id]
    if isinstance(expr, ast.BinOp):
        name, operands = _OPERATORS[type(expr.op)], (expr.left, expr.right)
    elif isinstance(expr, ast.UnaryOp):
        name, operands = "neg", (expr.operand,)
    else:
        name, operands = expr.func.id, expr.args
    return apply(name, [evaluate(e, apply, env) for e in operands])


def apply_row(name, args):
    """Apply a row to arrays or traced values; on Python numbers the result is one, too."""
    out = TABLE[name](*args)
    return out.item() if all(map(is_python_number, args)) else out


def in_numpy(expr, env):
    with np.errstate(all="ignore"):
        return np.asarray(evaluate(expr, apply_row, env))


# -- EXACT -------------------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 3.3, np.pi, np.inf, -np.inf, np.nan]


def special_values(dtype):
    kind = np.dtype(dtype)
    if kind.kind == "f":
        info = np.finfo(kind)
        extra = [info.smallest_subnormal, -info.smallest_subnormal, info.tiny, info.max, -info.max,
                 1 + info.eps]
        return np.array([*SPECIAL, *extra], kind)
    if kind.kind == "c":
        finite = [0.0, -0.0, 1.0, -2.5]
        return np.array([complex(a, b) for a in finite for b in finite], kind)
    if kind.kind == "b":
        return np.array([False, True])
    info = np.iinfo(kind)
    return np.array([0, 1, 2, 7, info.max, info.min], kind)


def same_bits(a, b):
    """Equal to the bit; only the sign of NaN is free."""
    if a.dtype.kind == "c":
        return same_bits(a.real.copy(), b.real.copy()) and same_bits(a.imag.copy(), b.imag.copy())
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    nan = np.isnan(a)
    return np.array_equal(nan, np.isnan(b)) and np.array_equal(
        a[~nan], b[~nan]) and np.array_equal(np.signbit(a[~nan]), np.signbit(b[~nan]))


PAIRS = [("float64", "float64"), ("float32", "float32"), ("float32", "float64"),
         ("int64", "float64"), ("float64", "uint8"), ("uint8", "int64"), ("int64", "int64"),
         ("int8", "int8"), ("uint8", "uint8"), ("bool", "float64"), ("complex128", "complex128")]


def allowed(row, dtypes):
    """Whether the row's condition admits operands of these dtypes."""
    if row.when in (None, rules._x_is_nonnegative):
        return True
    bound = {name: Node(INPUT, (), (), ArrayType((3,), np.dtype(d)))
             for name, d in zip(variables(row), dtypes, strict=False)}
    return row.when(bound)


def numpy_can(row, dtypes):
    """Whether NumPy has the row's operations on these dtypes."""
    env = {n: np.array([0, 1, 1]).astype(d) for n, d in zip(variables(row), dtypes, strict=False)}
    try:
        in_numpy(row.pattern, env | NUMBERS)
        in_numpy(row.replacement, env | NUMBERS)
    except (TypeError, OverflowError):
        return False
    return True


# Complex products with derivatives are nobody's contract.
ROWS_AND_DTYPES = [(row, dtypes) for row in EXACT for dtypes in PAIRS if allowed(row, dtypes)
                   and not (row.root.name == "scale" and "complex128" in dtypes)
                   and numpy_can(row, dtypes)]


@pytest.mark.parametrize(("row", "dtypes"), ROWS_AND_DTYPES,
                         ids=lambda v: v.text if hasattr(v, "text") else "-".join(v))
def test_exact_rows_keep_every_bit(row, dtypes):
    names = variables(row)
    grid = np.meshgrid(*[special_values(d) for d, _ in zip(dtypes, names, strict=False)])
    env = dict(zip(names, [g.ravel() for g in grid], strict=True)) | NUMBERS
    left = in_numpy(row.pattern, env)
    right = in_numpy(row.replacement, env)
    if left.dtype != right.dtype:       # the simplifier refuses what changes the type
        assert dtypes not in PAIRS[:3]
        return
    assert same_bits(np.broadcast_to(left, grid[0].size), np.broadcast_to(right, grid[0].size))


# -- STABLE ------------------------------------------------------------------------------------

_MP = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "scale": lambda x, y: x * y, "div": lambda x, y: x / y, "neg": lambda x: -x,
    "power": lambda x, y: x ** y, "exp": mpmath.exp, "log": mpmath.log,
    "tanh": mpmath.tanh, "log1p": mpmath.log1p, "expm1": mpmath.expm1, "sqrt": mpmath.sqrt,
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
    "expit": lambda x: 1 / (1 + mpmath.exp(-x)),
    "log_expit": lambda x: -mpmath.log1p(mpmath.exp(-x)), "abs": abs, "maximum": max, "minimum": min,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
}


def exactly(expr, env):
    """The pattern's value to fifty digits; None where it has no real value."""
    with mpmath.workdps(600):       # 1 + exp(−1000) must not round to 1
        exact = {k: mpmath.mpf(float(v)) for k, v in env.items()}
        try:
            value = evaluate(expr, lambda name, args: _MP[name](*args), exact)
        except (ZeroDivisionError, ValueError):
            return None
        return value if mpmath.im(value) == 0 and mpmath.isfinite(value) else None


def error_in_ulps(value, exact, dtype):
    info = np.finfo(dtype)
    if mpmath.fabs(exact) > mpmath.mpf(float(info.max)):
        return 0.0 if np.isinf(value) else np.inf
    if not np.isfinite(value):
        return np.inf
    with mpmath.workdps(50):
        ulp = max(abs(float(np.spacing(np.array(float(exact), dtype)))),
                  float(info.smallest_subnormal))
        return float(mpmath.fabs(mpmath.mpf(float(value)) - exact) / mpmath.mpf(ulp))


def points(names, dtype, widest, seed):
    """Special and random values of the variables, as separate scalars."""
    rng = np.random.default_rng(seed)
    special = [0.0, 1.0, -1.0, 0.5, -2.0, 1e-8, -1e-8, 17.0, -17.0, 40.0, -40.0]
    if widest:
        special += [1e-30, 80.0, -80.0, 700.0, -700.0, 1000.0, -1000.0]
    pairs = list(itertools.product(special, repeat=len(names)))
    drawn = rng.standard_normal((60, len(names))) * 10.0 ** rng.uniform(-6, 2, (60, len(names)))
    for values in [*pairs, *drawn.tolist()]:
        yield {n: np.dtype(dtype).type(v) for n, v in zip(names, values, strict=True)}


@by_text(ORDINARY)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_stable_rows_are_never_less_accurate(row, dtype):
    names = variables(row)
    compared = 0
    for env in points(names, dtype, True, seed=7):
        if row.when is rules._x_is_nonnegative:
            env["x"] = abs(env["x"])
        exact = exactly(row.pattern, env)
        if exact is None:
            continue
        before = in_numpy(row.pattern, env)[()]
        after = in_numpy(row.replacement, env)[()]
        if before.dtype != after.dtype:
            continue
        allowed = max(error_in_ulps(before, exact, dtype), 2.0)
        assert error_in_ulps(after, exact, dtype) <= allowed, (env, before, after, exact)
        compared += 1
    assert compared > 30


@by_text(DERIVATIVE)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_of_derivative_products_round_no_more(row, dtype):
    """At moderate values: a product of constants is not to overflow."""
    names = variables(row)
    compared = 0
    for env in points(names, dtype, False, seed=8):
        env |= NUMBERS
        exact = exactly(row.pattern, env)
        if exact is None:
            continue
        before = in_numpy(row.pattern, env)[()]
        after = in_numpy(row.replacement, env)[()]
        assert before.dtype == after.dtype
        allowed = max(error_in_ulps(before, exact, dtype), 3.0)
        assert error_in_ulps(after, exact, dtype) <= allowed, (env, before, after, exact)
        compared += 1
    assert compared > 30


def test_a_wrong_row_would_be_found():
    wrong = rule("STABLE", "exp(x) - 1 -> exp(x)")
    with pytest.raises(AssertionError):
        test_stable_rows_are_never_less_accurate(wrong, "float64")
    worse = rule("STABLE", "expm1(x) -> exp(x) - 1")
    with pytest.raises(AssertionError):
        test_stable_rows_are_never_less_accurate(worse, "float64")
    inexact = rule("EXACT", "x + 0 -> x")
    with pytest.raises(AssertionError):
        test_exact_rows_keep_every_bit(inexact, PAIRS[0])


# -- rows at work --------------------------------------------------------------------------------


def graph_of(row, expr, dtype):
    names = variables(row)

    def f(*args):
        env = dict(zip(names, args, strict=True))
        if row.when is rules._x_is_nonnegative:
            env["x"] = env["x"] * env["x"]
        return evaluate(expr, apply_row, env | NUMBERS)
    return wg.trace(f)(*[np.ones(3, dtype)] * len(names))


def in_order(graph):
    """Without dead nodes, in the order the outputs ask for them."""
    return Graph(graph.name, graph.inputs, graph.outputs, tuple(topological(
        [*graph.inputs, *graph.outputs])))


@by_text(SIMPLIFY)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_row_fires(row, dtype):
    pattern = graph_of(row, row.pattern, dtype)
    left = in_order(simplify(pattern))
    right = in_order(simplify(graph_of(row, row.replacement, dtype)))
    assert left == right
    assert left != in_order(pattern)
    assert left.outputs[0].type == pattern.outputs[0].type


@pytest.mark.parametrize(("row", "kind"), [
    (row, kind) for row in rules.EXACT + ORDINARY for kind in ("bool", "uint8", "int64", "complex128")
    if numpy_can(row, (kind,) * 4)],
    ids=lambda v: v.text if hasattr(v, "text") else v)
def test_rows_never_change_the_type(row, kind):
    """Integers, booleans and complex numbers go through, rewritten or not."""
    names = variables(row)
    values = [np.array([0, 1, 1]).astype(kind)] * len(names)

    def f(*args):
        env = dict(zip(names, args, strict=True)) | NUMBERS
        return evaluate(row.pattern, apply_row, env)
    with np.errstate(all="ignore"):
        expected = np.asarray(f(*values))
    compiled = wg.compile(f)
    with np.errstate(all="ignore"):
        found = np.asarray(compiled(*values))
    assert found.dtype == expected.dtype
    finite = np.isfinite(expected)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("text", ["log(exp(x))", "1 / (1 + exp(-x))", "exp(x) / (1 + exp(x))",
                                  "log(exp(x) + exp(x * 2))"])
def test_complex_numbers_keep_their_branch(text):
    f = eval(f"lambda x: {text}", {"log": np.log, "exp": np.exp})
    z = np.array([1 + 5j, -2 - 9j, 0.5 + 40j])
    np.testing.assert_allclose(wg.compile(f)(z), f(z), rtol=1e-13)


def test_constants_fold_but_fractions_stay_readable():
    graph = simplify(wg.trace(lambda x: x * (2.0 * 3.0 - 1.0))(1.0))
    values = [n.value for n in graph.nodes if n.op is CONSTANT]
    assert 5.0 in values
    assert graph.count("sub") == 0
    mean = wg.grad(lambda x: np.mean(x ** 2))
    mean(np.ones(7))
    assert "/ 7" in mean.source


# -- work ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda n: lambda x: _repeat(x, n, lambda y, x: np.sin(y) * x),
    lambda n: lambda x: _repeat(x, n, lambda y, x: np.where(x > 0, y * 1.01, 0.0)),
    lambda n: lambda x: _repeat(x, n, lambda y, x: y / 1.01 + x),
    lambda n: lambda x: _repeat(x, n, lambda y, x: -np.exp(-y)),
    lambda n: lambda x: _repeat(x, n, _store),
], ids=["products", "selections", "quotients", "signs", "stores"])
def test_work_is_linear(make, monkeypatch):
    calls = []
    original = Simplifier.make

    def counted(self, op, args, params=()):
        calls.append(op)
        return original(self, op, args, params)
    monkeypatch.setattr(Simplifier, "make", counted)
    per_step = []
    for n in (50, 100, 200):
        calls.clear()
        f = make(n)
        graph = vjp(wg.trace(lambda x, f=f: np.sum(f(x)))(np.array([0.5, 0.25, 2.0])), [0],
                    unit=True)
        simplify(graph)
        per_step.append(len(calls) / n)
    assert per_step[2] <= 1.1 * per_step[1]
    assert per_step[1] <= 1.2 * per_step[0]


def _repeat(x, n, step):
    y = x
    for _ in range(n):
        y = step(y, x)
    return y


def _store(y, x):
    y = y * x
    y[1] = y[0] + x[1]
    return y
