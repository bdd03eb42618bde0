"""Functions with rules of the user's own: in all modes, orders, structures and batches."""

import functools
from collections import namedtuple

import numpy as np
import pytest
import wengert as wg
from scipy import special
from wengert.compiler.errors import (
    CustomRuleError,
    NonlinearRuleError,
    UnsupportedFunctionError,
)
from wengert.compiler.ops.table import TABLE

X = np.array([0.3, -0.7, 1.9])

ORDERS = [
    wg.grad,
    functools.partial(wg.grad, mode="forward"),
    wg.hessian,
    functools.partial(wg.hessian, mode="reverse"),
    lambda f: wg.jacobian(wg.hessian(f)),
    lambda f: lambda x: wg.jvp(f)(x, np.cos(x))[1],
    lambda f: lambda x: wg.hvp(f)(x, np.cos(x)),
    lambda f: wg.jacobian(lambda x: wg.hvp(f)(x, np.cos(x))),
    lambda f: wg.grad(lambda x: np.sum(wg.jacobian(lambda y: f(y * x))(x))),
]
NAMES = ["grad", "grad forward", "hessian", "hessian reverse", "third", "jvp", "hvp",
         "jacobian of hvp", "grad of jacobian"]


def softplus_jvp():
    @wg.custom_jvp
    def softplus(x):
        return np.log(1 + np.exp(x))

    @softplus.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return softplus(x), t / (1 + np.exp(-x))
    return softplus


def softplus_vjp():
    @wg.custom_vjp
    def softplus(x):
        return np.log(1 + np.exp(x))

    def forward(x):
        return softplus(x), x

    def backward(x, ct):
        return (ct / (1 + np.exp(-x)),)
    softplus.defvjp(forward, backward)
    return softplus


def softplus_row():
    if "softplus_of_tests" in TABLE:
        return lambda x: TABLE["softplus_of_tests"](x)
    return wg.elementwise("softplus_of_tests", "log(1 + exp(x))")


@pytest.fixture(autouse=True, scope="module")
def _take_back():
    yield
    TABLE.pop("softplus_of_tests", None)


KINDS = [softplus_jvp, softplus_vjp, softplus_row]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ORDERS, ids=NAMES)
def test_rules_work_in_every_mode_and_order(kind, order):
    softplus = kind()

    def custom(x):
        return np.sum(softplus(np.sin(x)) ** 2 * x)

    def plain(x):
        return np.sum(np.logaddexp(0, np.sin(x)) ** 2 * x)
    np.testing.assert_allclose(order(custom)(X), order(plain)(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_check_grads_accepts_the_rules(kind):
    softplus = kind()
    wg.check_grads(lambda x, y: {"s": [softplus(x * y)]}, (X, 0.7))


@pytest.mark.parametrize("kind", KINDS)
def test_the_body_is_visible_when_not_differentiated(kind):
    softplus = kind()
    f = wg.compile(lambda x: softplus(x) * 2.0)
    f(X)
    assert "return np.logaddexp(0.0, x) * 2.0" in f.source


@pytest.mark.parametrize("kind", KINDS)
def test_plain_calls_do_not_trace(kind):
    softplus = kind()
    np.testing.assert_allclose(softplus(X), np.logaddexp(0, X), rtol=1e-15)
    assert softplus(0.5) == pytest.approx(np.logaddexp(0, 0.5))


def test_the_rule_is_used_and_printed_as_ordinary_code():
    softplus = softplus_jvp()
    g = wg.grad(lambda x: np.sum(softplus(x)))
    g(X)
    assert "return special.expit(x)" in g.source


def test_wrong_rule_gives_the_rules_derivative():
    """The rule is the derivative, whatever the function does."""
    @wg.custom_jvp
    def f(x):
        return x ** 2
    f.defjvp(lambda p, t: (p[0] ** 2, 100.0 * t[0]))
    assert wg.grad(f)(3.0) == 100.0
    assert wg.jvp(f)(3.0, 2.0) == (9.0, 200.0)


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize("reverse", [False, True])
def test_nested_arguments_and_results(reverse):
    def body(p, n, scale=2.0):
        return {"u": p.a * p.b[0], "v": (scale * p.b[0] ** n, None)}
    if reverse:
        f = wg.custom_vjp(body)
        f.defvjp(lambda p, n, scale: (body(p, n, scale), (p, n, scale)),
                 lambda r, ct: (Pair(ct["u"] * r[0].b[0],
                                     [np.sum(ct["u"] * r[0].a)
                                      + ct["v"][0] * r[2] * r[1] * r[0].b[0] ** (r[1] - 1)]),
                                None, ct["v"][0] * r[0].b[0] ** r[1]))
    else:
        f = wg.custom_jvp(body)

        @f.defjvp
        def rule(primals, tangents):
            (p, n, scale), (t, t_n, t_scale) = primals, tangents
            assert t_n is None
            return body(*primals), {
                "u": t.a * p.b[0] + p.a * t.b[0],
                "v": (scale * n * p.b[0] ** (n - 1) * t.b[0] + t_scale * p.b[0] ** n, None)}

    def total(g, x, y, s):
        out = g(Pair(x, [y]), 3, scale=s)
        return np.sum(out["u"] * np.sin(out["v"][0]))
    x, y, s = np.array([1.0, 2.0]), 0.5, 1.5
    for argnums in ((0,), (1,), (0, 1, 2)):
        for mode in ("forward", "reverse"):
            got = wg.grad(functools.partial(total, f), argnums, mode=mode)(x, y, s)
            want = wg.grad(functools.partial(total, body), argnums, mode=mode)(x, y, s)
            for g, w in zip(got, want, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-13)
    wg.check_grads(lambda x, y: total(f, x, y, 1.5), (x, y))


def test_unselected_elements_stay_strong_zeros():
    """A rule's own product with an infinite partial is not formed where nothing is selected."""
    @wg.custom_jvp
    def root(x):
        return np.sqrt(x)
    root.defjvp(lambda p, t: (np.sqrt(p[0]), t[0] * 0.5 / np.sqrt(p[0])))

    def f(x):
        return np.sum(np.where(x > 0, root(x), 0.0))
    x = np.array([0.0, 4.0])
    with np.errstate(divide="ignore"):
        for mode in ("forward", "reverse"):
            assert wg.grad(f, mode=mode)(x).tolist() == [0.0, 0.25]


def test_branches_in_bodies_and_rules():
    @wg.custom_jvp
    def hinge(x):
        return x ** 2 if x > 0 else 0.0 * x

    @hinge.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return hinge(x), 2 * x * t if x > 0 else 0 * t
    g = wg.grad(lambda x: 3.0 * hinge(x - 1.0))
    assert [g(3.0), g(0.5), g(2.0)] == [12.0, 0.0, 6.0]
    assert wg.grad(g)(3.0) == 6.0


def test_methods_can_have_rules():
    class Layer:
        def __init__(self, w):
            self.w = w

        @wg.custom_jvp
        def apply(self, x):
            return self.w * x ** 2

        @apply.defjvp
        def _rule(primals, tangents):
            (self, x), (_, t) = primals, tangents
            return self.w * x ** 2, 2.0 * self.w * x * t
    layer = Layer(3.0)
    g = wg.grad(lambda x: layer.apply(x))
    assert g(2.0) == 12.0
    layer.w = 5.0
    assert g(2.0) == 20.0


def test_redeclared_rules_take_effect():
    @wg.custom_jvp
    def f(x):
        return x ** 2
    f.defjvp(lambda p, t: (p[0] ** 2, 2 * p[0] * t[0]))
    g = wg.grad(lambda x: f(x))
    assert g(3.0) == 6.0
    f.defjvp(lambda p, t: (p[0] ** 2, 7.0 * t[0]))
    assert g(3.0) == 7.0


def test_single_precision_stays():
    x = X.astype(np.float32)
    for kind in KINDS:
        softplus = kind()
        assert wg.grad(lambda x, f=softplus: np.sum(f(x)))(x).dtype == np.float32
        assert wg.hessian(lambda x, f=softplus: np.sum(f(x)))(x).dtype == np.float32


# -- reverse rules that are not linear ------------------------------------------------------------


def clip_gradient():
    @wg.custom_vjp
    def clip(x):
        return x
    clip.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1, 1),))
    return clip


def test_clipped_gradients_work_in_reverse_mode():
    clip = clip_gradient()
    g = wg.grad(lambda x: np.sum(clip(x) ** 2))
    assert g(np.array([0.1, 3.0, -2.0])).tolist() == [0.2, 1.0, -1.0]


def test_and_are_refused_in_forward_mode():
    clip = clip_gradient()
    with pytest.raises(NonlinearRuleError, match="clip is not linear in its cotangents"):
        wg.jvp(lambda x: np.sum(clip(x) ** 2))(X, X)


def test_reversed_gradient():
    @wg.custom_vjp
    def flip(x):
        return x
    flip.defvjp(lambda x: (x, None), lambda _, ct: (-ct,))
    assert wg.grad(lambda x: np.sum(flip(x) ** 2))(X).tolist() == (-2 * X).tolist()


# -- opaque functions -----------------------------------------------------------------------------


def opaque_gamma(calls):
    @wg.custom_jvp(opaque=True)
    def gamma(x):
        calls.append(type(x))
        return special.gamma(x)

    @wg.custom_jvp(opaque=True)
    def polygamma(n, x):
        return special.polygamma(n, x)
    polygamma.defjvp(lambda p, t: (polygamma(*p), polygamma(p[0] + 1, p[1]) * t[1]))
    gamma.defjvp(lambda p, t: (gamma(p[0]), gamma(p[0]) * polygamma(0, p[0]) * t[0]))
    return gamma


def test_opaque_functions_are_called_by_reference():
    calls = []
    gamma = opaque_gamma(calls)
    x = np.array([1.5, 2.5])
    g = wg.grad(lambda x: np.sum(gamma(x)))
    np.testing.assert_allclose(g(x), special.gamma(x) * special.digamma(x), rtol=1e-14)
    assert "gamma(x) * polygamma(x)" in g.source
    assert set(calls) <= {np.ndarray}
    before = len(calls)
    g(x)
    assert len(calls) == before + 1


@pytest.mark.parametrize("order", ORDERS[:6], ids=NAMES[:6])
def test_opaque_functions_at_every_order(order):
    gamma = opaque_gamma([])
    digamma, trigamma = special.digamma, functools.partial(special.polygamma, 1)
    x = np.array([1.5, 2.5])
    found = order(lambda x: np.sum(gamma(x)))(x)
    first = special.gamma(x) * digamma(x)
    second = special.gamma(x) * (digamma(x) ** 2 + trigamma(x))
    third = special.gamma(x) * (digamma(x) ** 3 + 3 * digamma(x) * trigamma(x)
                                + special.polygamma(2, x))
    expected = {0: first, 1: first, 2: np.diag(second), 3: np.diag(second),
                4: np.einsum("i,ij,ik->ijk", third, np.eye(2), np.eye(2)),
                5: np.sum(first * np.cos(x))}[ORDERS.index(order)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_opaque_functions_in_batches():
    gamma = opaque_gamma([])
    x = np.array([1.5, 2.5])
    found = wg.jacobian(wg.jacobian(lambda x: gamma(x) * x[0]))(x)
    assert found.shape == (2, 2, 2)
    h = 1e-5
    for k in range(2):
        step = np.eye(2)[k] * h
        jac = wg.jacobian(lambda x: gamma(x) * x[0])
        np.testing.assert_allclose(found[..., k], (jac(x + step) - jac(x - step)) / (2 * h),
                                   rtol=1e-8, atol=1e-8)


def test_opaque_reverse_rule_with_several_results():
    @wg.custom_vjp(opaque=True)
    def both(x, y):
        return np.array(x) * 2.0, float(np.sum(x * y))
    both.defvjp(lambda x, y: (both(x, y), (x, y)),
                lambda r, ct: (2.0 * ct[0] + r[1] * ct[1], r[0] * ct[1]))

    def f(x, y):
        double, dot = both(x, y)
        return np.sum(double ** 2) * dot
    wg.check_grads(f, (X, np.array([1.0, 2.0, -1.0])))


def test_opaque_result_must_keep_its_promise():
    lengths = iter([2, 2, 3])

    @wg.custom_jvp(opaque=True)
    def odd(x):
        return np.ones(next(lengths)) * float(x)
    f = wg.compile(lambda x: odd(x))
    f(1.0)
    with pytest.raises(CustomRuleError, match=r"odd returned f64\[3\].*returned f64\[2\]"):
        f(1.0)


def test_equal_calls_of_an_opaque_function_become_one():
    calls = []

    @wg.custom_jvp(opaque=True)
    def f(x):
        calls.append(1)
        return special.gamma(x)
    f.defjvp(lambda p, t: (f(*p), f(*p) * t[0]))
    g = wg.value_and_grad(lambda x: f(x) + f(x))
    g(2.0)
    calls.clear()
    g(2.0)
    assert len(calls) == 1


# -- stop_gradient --------------------------------------------------------------------------------


def test_stop_gradient_in_both_modes_and_all_orders():
    def f(x):
        return np.sum(wg.stop_gradient(np.sin(x)) * x ** 2)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(wg.grad(f, mode=mode)(X), 2 * np.sin(X) * X, rtol=1e-15)
    np.testing.assert_allclose(wg.hessian(f)(X), np.diag(2 * np.sin(X)), rtol=1e-15)
    value, t = wg.jvp(lambda x: wg.stop_gradient(x))(X, X)
    assert value.tolist() == X.tolist()
    assert t.tolist() == [0.0, 0.0, 0.0]


def test_stop_gradient_prints_nothing_and_takes_containers():
    g = wg.grad(lambda x: np.sum(wg.stop_gradient({"a": [np.sin(x), None]})["a"][0] * x))
    g(X)
    assert "return np.sin(x)" in g.source
    assert "stop_gradient(" not in g.source.replace("wg.stop_gradient(", "")
    assert wg.stop_gradient({"a": 1.0, "b": "text"}) == {"a": 1.0, "b": "text"}


def test_stop_gradient_result_is_a_copy():
    f = wg.compile(lambda x: wg.stop_gradient(x))
    x = X.copy()
    f(x)[0] = 100.0
    assert x.tolist() == X.tolist()


# -- elementwise ----------------------------------------------------------------------------------


@pytest.fixture
def named(request):
    """A fresh name, taken back afterwards."""
    name = f"own_{request.node.name.partition('[')[0]}"
    yield name
    TABLE.pop(name, None)


EXPRESSIONS = [
    ("exp(-(x - m)**2 / (2*s**2))", ("x", "m", "s"), (0.3, 1.1, 0.8)),
    ("x**3 - 2*x/y + sqrt(y)", ("x", "y"), (0.3, 1.1)),
    ("where(x > 1, 2*x - 1, x*abs(x)*maximum(x, y))", ("x", "y"), (0.3, 0.2)),
    ("arctan2(y, x) + hypot(x, y) + log2(y) + exp2(x)", None, (0.3, 0.7)),
    ("tanh(pi*x) * expit(y) - log1p(y) + expm1(x) + square(x)", ("x", "y"), (0.3, 0.7)),
]


@pytest.mark.parametrize(("text", "names", "values"), EXPRESSIONS)
def test_partials_by_sympy(named, text, names, values):
    f = wg.elementwise(named, text, args=names)
    arrays = tuple(v + np.array([0.0, 0.05, 0.4]) for v in values)
    wg.check_grads(f, arrays, order=2)
    wg.check_grads(f, values, order=2)


def test_operands_are_named_in_order_of_appearance(named):
    f = wg.elementwise(named, "a / b + 2*c")
    assert f(1.0, 2.0, 3.0) == 6.5
    assert f.__doc__ == f"{named}(a, b, c) = a / b + 2*c"
    g = wg.grad(f, "b")
    assert g(1.0, 2.0, 3.0) == -0.25
    with pytest.raises(TypeError, match=r"takes 3 operands \(a, b, c\), not 1"):
        f(1.0)


def test_stable_forms_are_used(named):
    f = wg.elementwise(named, "log(1 + exp(x))")
    big = np.array([-1000.0, 0.0, 1000.0])
    assert f(big).tolist() == [0.0, np.log(2.0), 1000.0]
    assert wg.grad(lambda x: np.sum(f(x)))(big).tolist() == [0.0, 0.5, 1.0]
    second = wg.hessian(lambda x: np.sum(f(x)))(big)
    assert np.diag(second).tolist() == [0.0, 0.25, 0.0]


def test_lists_and_broadcasting(named):
    f = wg.elementwise(named, "x * y")
    assert f([1.0, 2.0], [[1.0], [10.0]]).tolist() == [[1.0, 2.0], [10.0, 20.0]]
    assert wg.grad(lambda x: np.sum(f(x, np.ones((2, 3)))))(np.ones(3)).tolist() == [2.0] * 3


@pytest.mark.parametrize(("text", "message"), [
    ("x ^ 2", r"BitXor is not allowed in 'x \^ 2'. Powers are written with \*\*."),
    ("nothing(x)", r"nothing\(x\) in .* is not a call that is known"),
    ("x if x else 1", "IfExp is not allowed"),
    ("x.real", "Attribute is not allowed"),
    ("0 < x < 1", "chained comparison"),
    ("1 + 2", "has no operand"),
    ("x +", "is not a Python expression"),
    ("__import__('os')", "not a call that is known"),
])
def test_bad_expressions(named, text, message):
    with pytest.raises(CustomRuleError, match=message):
        wg.elementwise(named, text)
    assert named not in TABLE


def test_bad_declarations(named):
    with pytest.raises(CustomRuleError, match="operator named sin already"):
        wg.elementwise("sin", "x")
    with pytest.raises(CustomRuleError, match="is not a name"):
        wg.elementwise("a b", "x")
    with pytest.raises(CustomRuleError, match="'y' is missing"):
        wg.elementwise(named, "x*y", args=("x",))
    with pytest.raises(CustomRuleError, match="1 intervals for 2 operands"):
        wg.elementwise(named, "x*y", domain=[(0, 1)])


def test_the_row_is_in_the_table(named):
    from_table = wg.elementwise(named, "x**2 * y", domain=[(0.1, 1), (-1, 1)])
    row = TABLE[named]
    assert row.domain == ((0.1, 1), (-1, 1))
    assert row(2.0, 3.0) == from_table(2.0, 3.0) == 12.0


# -- rules that are malformed ---------------------------------------------------------------------


def jvp_with(rule):
    @wg.custom_jvp
    def f(x, y=2.0):
        return x * y
    f.defjvp(rule)
    return f


@pytest.mark.parametrize(("rule", "message"), [
    (lambda p, t: p[0] * t[0], "must return a pair"),
    (lambda p, t: (p[0], np.ones(7)), r"tangent of shape \(7,\) for a value of shape \(3,\)"),
    (lambda p, t: (p[0], (t[0], t[0])), "another structure"),
    (lambda p, t: (p[0], t[0] + 1.0), "adds something that does not depend on the tangents"),
    (lambda p, t: (p[0], t[0] * t[0]), "not linear in its tangents"),
    (lambda p, t: (p[0], np.abs(t[0])), "not linear in its tangents"),
    (lambda p, t: (p[0], t[0] if t[0][0] > 0 else -t[0]), "depends on a tangent"),
    (lambda p, t: (p[0], np.unpackbits(t[0])), "numpy.unpackbits"),
])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_malformed_forward_rules(rule, message, mode):
    f = jvp_with(rule)
    error = UnsupportedFunctionError if "unpackbits" in message else CustomRuleError
    with pytest.raises(error, match=message):
        wg.grad(lambda x: np.sum(f(x)), mode=mode)(X)


@pytest.mark.parametrize(("fwd", "bwd", "message"), [
    (lambda x: x, lambda r, ct: (ct,), r"must return a pair \(out, residuals\)"),
    (lambda x: (x, x), lambda r, ct: ct, "must return a tuple of 1 cotangents"),
    (lambda x: (x, x), lambda r, ct: (ct, ct), "must return a tuple of 1 cotangents"),
    (lambda x: (x, x), lambda r, ct: (np.sum(ct),), r"shape \(\) for a value of shape \(3,\)"),
    (lambda x: (x, x), lambda r, ct: ([ct],), "another structure|of shape"),
])
def test_malformed_reverse_rules(fwd, bwd, message):
    @wg.custom_vjp
    def f(x):
        return x * 1.0
    f.defvjp(fwd, bwd)
    with pytest.raises(CustomRuleError, match=message):
        wg.grad(lambda x: np.sum(f(x)))(X)


def test_missing_rules():
    with pytest.raises(CustomRuleError, match=r"f has no derivative rule. Declare one with f.def"):
        wg.grad(wg.custom_jvp(named_f))(1.0)
    with pytest.raises(CustomRuleError, match=r"Declare one with f.defvjp\(fwd, bwd\)"):
        wg.grad(wg.custom_vjp(named_f))(1.0)
    assert wg.compile(wg.custom_jvp(named_f))(3.0) == 9.0


def named_f(x):
    return x * x


named_f.__name__ = "f"


def test_enclosing_traced_values_are_refused():
    def outer(x):
        @wg.custom_jvp
        def inner(y):
            return x * y
        inner.defjvp(lambda p, t: (p[0], t[0]))
        return inner(x)
    with pytest.raises(CustomRuleError, match="traced value of an enclosing function"):
        wg.grad(outer)(1.0)


def test_writing_into_arguments_is_refused():
    @wg.custom_jvp
    def f(x):
        x[0] = 1.0
        return np.sum(x)
    with pytest.raises(CustomRuleError, match=r"assigns into its arguments.*x = x.copy\(\)"):
        wg.grad(lambda x: f(x * 2))(X)


def test_keyword_only_arguments_are_refused():
    @wg.custom_jvp
    def f(x, *, k):
        return x * k
    with pytest.raises(CustomRuleError, match=r"keyword-only arguments \(k\)"):
        f(1.0, k=2.0)
    with pytest.raises(CustomRuleError, match="is not a function"):
        wg.custom_jvp(3.0)
