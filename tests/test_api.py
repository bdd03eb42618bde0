"""The public transforms: what they may be applied to, their arguments, and dtypes."""

import dataclasses
import functools
import keyword
import math
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
import wengert as wg

X = np.array([1.0, 2.0])


# -- what can be differentiated -------------------------------------------------------------------


class Spring:
    exponent = 2.0

    def __init__(self, k):
        self.k = k

    def energy(self, x):
        return self.k * x ** 2

    force = wg.grad(energy)
    by_name = wg.grad(energy, argnums="x")

    @wg.grad
    def decorated(self, x):
        return self.k * x ** 3

    @wg.grad(argnums=1)
    def second(self, x, y):
        return self.k * x * y ** 3

    @staticmethod
    @wg.grad
    def inner_static(x):
        return x ** 2

    @wg.grad
    @staticmethod
    def outer_static(x):
        return x ** 2

    @classmethod
    @wg.grad
    def inner_class(cls, x):
        return cls.exponent * x ** 2

    @wg.grad
    @classmethod
    def outer_class(cls, x):
        return cls.exponent * x ** 2

    def __call__(self, x):
        return self.k * x ** 4


def test_methods():
    spring = Spring(3.0)
    assert wg.grad(spring.energy)(2.0) == 12.0
    assert wg.grad(Spring.energy, argnums=1)(spring, 2.0) == 12.0
    assert spring.force(2.0) == spring.by_name(2.0) == 12.0
    assert spring.decorated(2.0) == 36.0
    assert spring.second(2.0, 3.0) == 162.0
    assert wg.grad(spring)(2.0) == 96.0
    assert spring.force is spring.force


def test_methods_follow_their_object():
    spring = Spring(3.0)
    assert (spring.force(2.0), wg.grad(spring)(2.0)) == (12.0, 96.0)
    spring.k = 5.0
    assert (spring.force(2.0), spring.decorated(2.0), wg.grad(spring)(2.0)) == (20.0, 60.0, 160.0)
    assert Spring(1.0).force(2.0) == 4.0


def test_static_and_class_methods_either_way_round():
    for owner in (Spring, Spring(1.0)):
        assert owner.inner_static(2.0) == owner.outer_static(2.0) == 4.0
        assert owner.inner_class(2.0) == owner.outer_class(2.0) == 8.0

    class Stiff(Spring):
        exponent = 3.0
    assert Stiff.inner_class(2.0) == Stiff.outer_class(2.0) == 12.0
    assert Spring.inner_class(2.0) == 8.0


def test_functions_without_source():
    space = {}
    exec("import numpy as np\ndef f(x):\n    return np.sin(x) * np.array([x, x]).sum()", space)
    assert wg.grad(space["f"])(2.0) == pytest.approx(2 * math.sin(2) + 4 * math.cos(2))


def test_functions_of_numpy_and_math():
    assert wg.grad(np.sin)(2.0) == math.cos(2.0)
    assert wg.grad(np.multiply, (0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert wg.jacobian(np.exp)(np.zeros(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert wg.grad(np.sum)(X).tolist() == [1.0, 1.0]
    assert wg.grad(math.sin)(2.0) == math.cos(2.0)


def test_partials_lambdas_and_compiled_functions():
    def f(x, y):
        return x * y ** 2
    assert wg.grad(functools.partial(f, y=3.0))(2.0) == 9.0
    assert wg.grad(functools.partial(f, 2.0))(3.0) == 12.0
    assert wg.compile(wg.compile(lambda x: x ** 2))(3.0) == 9.0
    assert wg.grad(wg.compile(wg.grad(lambda x: x ** 3)))(3.0) == 18.0


def test_decorators_keep_name_and_documentation():
    @wg.grad
    def energy(x):
        """Energy of a spring."""
        return x ** 2
    assert energy.__name__ == "energy"
    assert energy.__doc__ == "Energy of a spring."
    assert repr(energy) == "<wengert grad of energy>"


# -- argnums, keywords, auxiliary values ----------------------------------------------------------


def g(x, y, *, z=2.0, **options):
    return x * y * z * options.get("q", 1.0)


@pytest.mark.parametrize(("argnums", "args", "kwargs", "expected"), [
    (1, (2.0, 3.0), {}, 4.0), (-1, (2.0, 3.0), {}, 4.0), (-2, (2.0, 3.0), {}, 6.0),
    ((0, 1), (2.0, 3.0), {}, (6.0, 4.0)), ([0, "y"], (2.0, 3.0), {}, (6.0, 4.0)),
    ((1, 0), (2.0, 3.0), {}, (4.0, 6.0)), (np.int64(1), (2.0, 3.0), {}, 4.0),
    ("z", (2.0, 3.0), {"z": 4.0}, 6.0), (("x", "q"), (2.0, 3.0), {"q": 4.0}, (24.0, 12.0)),
    ("x", (), {"x": 2.0, "y": 3.0}, 6.0), (1, (), {"y": 3.0, "x": 2.0}, 4.0),
    (0, (), {"y": 3.0, "x": 2.0}, 6.0), (("y", "z"), (2.0,), {"z": 4.0, "y": 3.0}, (8.0, 6.0)),
])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_argnums(argnums, args, kwargs, expected, mode):
    assert wg.grad(g, argnums, mode=mode)(*args, **kwargs) == expected
    value, gradient = wg.value_and_grad(g, argnums, mode=mode)(*args, **kwargs)
    assert gradient == expected
    assert value == g(*args, **kwargs)


def test_products_with_keywords():
    def f(x, *, z):
        return x * z
    assert wg.jvp(f)(2.0, 1.0, z=5.0) == (10.0, 5.0)
    assert wg.jvp(f, "z")(2.0, 1.0, z=5.0) == (10.0, 2.0)
    assert wg.vjp(f, ("x", "z"))(2.0, 3.0, z=5.0) == (10.0, (15.0, 6.0))
    assert wg.hvp(lambda x, *, k: k * x ** 3)(2.0, 1.0, k=5.0) == 60.0


def test_star_arguments():
    def f(*xs, **options):
        return sum(x ** 2 for x in xs) * options.get("s", 1.0)
    assert wg.grad(f, 2)(1.0, 2.0, 3.0) == 6.0
    assert wg.grad(f, (0, 2))(1.0, 2.0, 3.0, s=2.0) == (4.0, 12.0)
    assert wg.grad(f, "s")(1.0, 2.0, s=3.0) == 5.0
    many = wg.grad(f, tuple(range(300)))(*np.arange(300.0))
    assert [float(m) for m in many] == [2.0 * i for i in range(300)]


def test_defaults_are_used():
    def f(x, n=2, scale=3.0):
        return scale * x ** n
    assert wg.grad(f)(2.0) == 12.0
    assert wg.grad(f)(2.0, 3) == 36.0
    assert wg.grad(f, "scale")(2.0, scale=1.0) == 4.0


AWKWARD = ["np", "x_bar", "ct", "t", "special", "math", "other_branch", "sum", "len", "θ", "ℓ",
           "self", "raw", "f", "table", "x_1", "_", "print", "match", "type", "operand_", "missing"]


def test_awkward_argument_names():
    assert not any(map(keyword.iskeyword, AWKWARD))
    space = {}
    exec(f"def f({', '.join(AWKWARD)}):\n    return {' * '.join(AWKWARD)}", space)
    values = np.linspace(0.5, 1.5, len(AWKWARD))
    found = wg.grad(space["f"], tuple(range(len(AWKWARD))))(*values)
    np.testing.assert_allclose(found, np.prod(values) / values, rtol=1e-13)
    _, t = wg.jvp(space["f"], (0, 1))(*values, (1.0, 0.0))
    assert t == pytest.approx(np.prod(values) / values[0])


def test_keys_that_are_no_identifiers():
    keys = ["a b", "1", "lambda", "np", "", "x-y", "é"]

    def f(d):
        return math.prod(d[k] for k in keys)
    d = {k: float(i + 2) for i, k in enumerate(keys)}
    found = wg.grad(f)(d)
    assert list(found) == list(d)
    for k in keys:
        assert found[k] == pytest.approx(f(d) / d[k])


def test_auxiliary_values():
    def f(x):
        return np.sum(x ** 2), {"x": x, "n": len(x)}
    for mode in ("reverse", "forward"):
        gradient, aux = wg.grad(f, has_aux=True, mode=mode)(X)
        assert gradient.tolist() == [2.0, 4.0]
        assert (aux["x"].tolist(), aux["n"]) == ([1.0, 2.0], 2)
        (value, aux), gradient = wg.value_and_grad(f, has_aux=True, mode=mode)(X)
        assert (value, aux["n"], gradient.tolist()) == (5.0, 2, [2.0, 4.0])
    jacobian, aux = wg.jacobian(lambda x: (x ** 2, x[0]), has_aux=True)(X)
    assert jacobian.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert aux == 1.0


# -- containers and static arguments --------------------------------------------------------------


Pair = namedtuple("Pair", "a b")


@dataclasses.dataclass
class Body:
    mass: object
    name: object = None


def test_nested_arguments():
    def f(t):
        return t["p"].a * t["p"].b[0] * t["d"].mass * t["o"]["z"]
    tree = {"p": Pair(1.0, [2.0, None]), "d": Body(3.0),
            "o": OrderedDict(z=np.float64(4.0), y=np.array(5.0)), "t": (1.0, ())}
    found = wg.grad(f)(tree)
    assert isinstance(found["p"], Pair)
    assert isinstance(found["d"], Body)
    assert isinstance(found["o"], OrderedDict)
    assert (found["p"].a, found["p"].b[0], found["p"].b[1]) == (24.0, 12.0, None)
    assert (found["d"].mass, found["d"].name) == (8.0, None)
    assert (found["o"]["z"], found["o"]["y"], found["t"]) == (6.0, 0.0, (0.0, ()))


def test_nested_jacobian():
    found = wg.jacobian(lambda p: {"s": p["a"] * p["b"], "t": [p["a"] ** 2]})(
        {"a": 3.0, "b": np.array([1.0, 2.0])})
    assert found["s"]["a"].tolist() == [1.0, 2.0]
    assert found["s"]["b"].tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert found["t"][0]["a"] == 6.0
    assert found["t"][0]["b"].tolist() == [0.0, 0.0]


def test_static_arguments():
    def f(x, kind, flag, function, nothing):
        assert nothing is None
        return (function(x) if kind == "a" else x) if flag else x * 3.0
    g = wg.grad(f)
    found = [g(2.0, kind, flag, np.sin, None) for kind in "ab" for flag in (True, False)]
    assert found == [math.cos(2.0), 3.0, 1.0, 3.0]
    assert g(2.0, "a", True, np.cos, None) == -math.sin(2.0)


def test_static_arguments_never_go_stale():
    class Model:
        def __init__(self):
            self.w, self.k = np.array([1.0, 2.0]), 2.0
    model = Model()
    g = wg.grad(lambda m, x: np.sum(m.w * x ** 2) * m.k, argnums=1)
    assert g(model, np.ones(2)).tolist() == [4.0, 8.0]
    model.k = 3.0
    assert g(model, np.ones(2)).tolist() == [6.0, 12.0]
    model.w[0] = 5.0
    assert g(model, np.ones(2)).tolist() == [30.0, 12.0]
    names = {"a"}
    h = wg.grad(lambda x, names: x * len(names))
    assert h(1.0, names) == 1.0
    names.add("b")
    assert h(1.0, names) == 2.0


# -- dtypes ---------------------------------------------------------------------------------------


def layer(p, x):
    return np.tanh(p["w"] @ x + p["b"]) * 2.0


def test_single_precision_everywhere():
    rng = np.random.default_rng(0)
    p = {"w": rng.normal(size=(2, 3)).astype(np.float32), "b": np.zeros(2, np.float32)}
    x = np.linspace(0, 1, 3).astype(np.float32)

    def loss(p, x):
        return np.mean(layer(p, x) ** 2) / 2 + 0.5 * np.sum(x ** 2)
    results = [wg.compile(loss)(p, x), wg.value_and_grad(loss, (0, 1))(p, x),
               wg.jacobian(layer, (0, 1))(p, x), wg.hessian(loss)(p, x),
               wg.hessian(loss, 1, mode="reverse")(p, x),
               wg.jvp(layer, 1)(p, x, x), wg.vjp(layer)(p, x, np.ones(2, np.float32)),
               wg.hvp(loss, 1)(p, x, x), wg.grad(loss, 1, mode="forward")(p, x)]

    def leaves(tree):
        if isinstance(tree, dict):
            tree = list(tree.values())
        return [leaf for part in tree for leaf in leaves(part)] \
            if isinstance(tree, (list, tuple)) else [tree]
    assert {leaf.dtype for leaf in leaves(results)} == {np.dtype(np.float32)}


def test_python_numbers_beside_single_precision():
    x = X.astype(np.float32)

    def f(s, x):
        return np.sum(s * x ** 2)
    value, (ds, dx) = wg.value_and_grad(f, (0, 1))(3.0, x)
    assert (value.dtype, dx.dtype) == (np.float32, np.float32)
    assert isinstance(ds, float)
    assert ds == 5.0
    assert wg.jvp(f)(3.0, x, 1)[1] == 5.0
    assert wg.jvp(lambda x: x)(np.float32(2.0), 1.0)[1].dtype == np.float32


@pytest.mark.parametrize("x", [2.0, np.float64(2.0), np.float32(2.0), np.array(2.0),
                               np.array(2.0, np.float32)])
def test_scalars(x):
    found = wg.grad(lambda x: x * x * x)(x)
    assert found == 12.0
    assert np.ndim(found) == 0
    assert np.asarray(found).dtype == np.asarray(x).dtype
    if type(x) is float:
        assert isinstance(found, float)


def test_public_names():
    assert set(wg.__all__) <= set(dir(wg))
    assert {"grad", "value_and_grad", "jacobian", "hessian", "jvp", "vjp", "hvp", "compile",
            "trace", "stop_gradient", "elementwise", "custom_jvp", "custom_vjp", "check_grads"} <= \
        set(wg.__all__)
