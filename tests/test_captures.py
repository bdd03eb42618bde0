"""What a function captures never goes stale, and costs little to check."""

import collections
import copy
import dataclasses
import functools
import operator
import sys
import types

import numpy as np
import pytest
import wengert as wg

FACTOR = 2.0
WEIGHTS = np.array([1.0, 2.0])
TABLE = {"k": 2.0, "rows": [1.0, {"deep": np.array([2.0, 3.0])}]}
NAMESPACE = types.SimpleNamespace(k=2.0)
MODULE = types.ModuleType("settings")
MODULE.k = 2.0
exec("def scaled(x):\n    return k * x", MODULE.__dict__)
HELPERS = {"f": lambda x: 2.0 * x}


def helper(x):
    return FACTOR * x


class Base:
    bias = 1.0

    def shifted(self, x):
        return x + self.bias


class Slotted:
    __slots__ = ("__hidden", "k")

    def __init__(self):
        self.k = 2.0
        self.__hidden = 3.0

    def loss(self, x):
        return self.k * x * self.__hidden

    def set_hidden(self, value):
        self.__hidden = value


@dataclasses.dataclass
class Settings:
    k: float = 2.0
    nested: dict = dataclasses.field(default_factory=lambda: {"w": np.array([1.0, 2.0])})


class Model(Base):
    power = 1.0
    table = [2.0, 3.0]          # noqa: RUF012

    def __init__(self):
        self.k = 2.0
        self.settings = Settings()
        self.array = np.array([1.0, 2.0])
        self.slotted = Slotted()

    @property
    def scale(self):
        return self.k * self.table[0]

    @staticmethod
    def doubled(x):
        return 2.0 * x

    def loss(self, x):
        return np.sum(self.scale * self.settings.k * x ** self.power * self.array
                      * self.settings.nested["w"]) + self.slotted.loss(np.sum(self.shifted(x)))

    def dynamic(self, x):
        return getattr(self, "k") * x                              # noqa: B009

    def listed(self, x):
        return sum(v for v in vars(self).values() if isinstance(v, float)) * x


def check(function, x, *changes):
    """After each change the compiled derivative is that of the function as it is now."""
    compiled = wg.grad(function)
    for change in (lambda: None, *changes, lambda: None):
        change()
        expected = (function(x + 1e-3) - function(x - 1e-3)) / 2e-3 if np.ndim(x) == 0 else \
            [(function(x + e) - function(x - e)) / 2e-3 for e in 1e-3 * np.eye(len(x))]
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-5, atol=1e-10)
    return compiled


def test_globals(monkeypatch):
    check(lambda x: FACTOR * x ** 2, 1.5,
          lambda: monkeypatch.setitem(globals(), "FACTOR", 5.0),
          lambda: monkeypatch.setitem(globals(), "FACTOR", 6),
          lambda: monkeypatch.setitem(globals(), "FACTOR", -0.0))


def test_helpers(monkeypatch):
    check(lambda x: helper(x) ** 2, 1.5,
          lambda: monkeypatch.setitem(globals(), "FACTOR", 5.0),
          lambda: monkeypatch.setitem(globals(), "helper", lambda x: 7.0 * x),
          lambda: monkeypatch.setattr(helper, "__code__", (lambda x: 9.0 * x).__code__))


def test_a_global_that_hides_a_builtin(monkeypatch):
    check(lambda x: abs(x) * 3.0, 1.5,
          lambda: monkeypatch.setitem(globals(), "abs", lambda v: v * v))


def test_closure_cells():
    k, w = 2.0, np.array([1.0, 2.0])

    def set_k(value):
        nonlocal k
        k = value

    def set_w(value):
        nonlocal w
        w = value
    check(lambda x: k * np.sum(w * x), np.array([0.5, 1.5]), lambda: set_k(5.0),
          lambda: w.__setitem__(0, 9.0), lambda: set_w(np.array([4.0, 4.0])))


def test_arrays_changed_in_place():
    big = np.arange(2000.0)
    read_only = np.arange(3.0)
    view = read_only[:]
    view.flags.writeable = False
    check(lambda x: x * np.sum(big * 0.001) + view.sum() * x, 1.5,
          lambda: big.__setitem__(77, 5.0), lambda: big.__imul__(-1.0),
          lambda: read_only.__setitem__(1, 8.0))
    bits = np.array([0.0, np.nan])
    check(lambda x: x * np.copysign(1.0, bits[0]), 1.5, lambda: bits.__setitem__(0, -0.0))


def test_containers():
    check(lambda x: TABLE["k"] * np.sum(TABLE["rows"][1]["deep"] * x) + TABLE["rows"][0] * x[0],
          np.array([0.5, 1.5]), lambda: TABLE.__setitem__("k", 5.0),
          lambda: TABLE["rows"].__setitem__(0, 4.0),
          lambda: TABLE["rows"][1]["deep"].__setitem__(1, 7.0),
          lambda: TABLE["rows"][1].__setitem__("deep", np.array([3.0, 3.0])))
    queue, names, lookup = collections.deque([1.0, 2.0]), {"a"}, {"a": 2.0}
    get = lookup.get
    check(lambda x: sum(queue) * x * (3.0 if "b" in names else 1.0) * get("a"), 1.5,
          lambda: queue.append(5.0), lambda: names.add("b"), lambda: lookup.update(a=4.0))


def test_defaults():
    def f(x, k=2.0, *, w=(1.0, [2.0])):
        return x * k * w[1][0]

    def set_defaults(positional, keyword):
        f.__defaults__, f.__kwdefaults__ = positional, keyword
    check(f, 1.5, lambda: f.__kwdefaults__["w"][1].__setitem__(0, 5.0),
          lambda: set_defaults((3.0,), f.__kwdefaults__),
          lambda: set_defaults((3.0,), {"w": (0.0, [7.0])}))


def test_attributes(monkeypatch):
    model = Model()
    check(model.loss, np.array([0.5, 1.5]),
          lambda: setattr(model, "k", 3.0),
          lambda: setattr(model.settings, "k", 4.0),
          lambda: model.settings.nested["w"].__setitem__(0, 6.0),
          lambda: setattr(model, "array", np.array([2.0, 2.0])),
          lambda: setattr(model.slotted, "k", 4.0),
          lambda: model.slotted.set_hidden(6.0),
          lambda: setattr(model, "settings", Settings(k=1.0)),
          lambda: monkeypatch.setattr(Model, "power", 2.0),
          lambda: monkeypatch.setattr(Model, "table", [7.0]),
          lambda: Model.table.__setitem__(0, 8.0),
          lambda: setattr(model, "power", 3.0),         # hides the attribute of the class
          lambda: delattr(model, "power"),
          lambda: monkeypatch.setattr(Base, "shifted", lambda self, x: x * self.bias * 9.0),
          lambda: monkeypatch.setattr(Base, "bias", 4.0),
          lambda: setattr(model, "shifted", lambda x: x * 11.0))
    check(model.dynamic, 1.5, lambda: setattr(model, "k", 8.0))
    check(model.listed, 1.5, lambda: setattr(model, "extra", 8.0))


def test_objects_passed_around():
    model = Model()
    getter = operator.attrgetter("k")
    check(lambda x: getter(model) * x + NAMESPACE.k * x, 1.5, lambda: setattr(model, "k", 8.0),
          lambda: setattr(NAMESPACE, "k", 8.0))


def test_modules_of_the_user(monkeypatch):
    monkeypatch.setitem(sys.modules, "settings", MODULE)
    check(lambda x: MODULE.scaled(x) * MODULE.k, 1.5, lambda: setattr(MODULE, "k", 5.0),
          lambda: setattr(MODULE, "scaled", lambda x: x))


def test_functions_in_other_clothes():
    k = [2.0]

    def f(scale, x):
        return scale[0] * k[0] * x
    partial = functools.partial(f, [3.0])
    check(partial, 1.5, lambda: k.__setitem__(0, 5.0), lambda: partial.args[0].__setitem__(0, 4.0))
    check(functools.lru_cache(functools.partial(f, (3.0,))), 1.5)

    @functools.wraps(f)
    def wrapper(x):
        return f((1.0,), x)
    check(wrapper, 1.5, lambda: k.__setitem__(0, 8.0))
    check(lambda x: np.vectorize(lambda v: k[0] * v)(x).sum(), np.array([1.0, 2.0]),
          lambda: k.__setitem__(0, 9.0))
    inner = wg.grad(lambda x: k[0] * x ** 3)
    check(lambda x: inner(x) * x, 1.5, lambda: k.__setitem__(0, 3.0))
    check(lambda x: HELPERS["f"](x) * x, 1.5,
          lambda: HELPERS.__setitem__("f", lambda x: 5.0 * x))


def test_functions_that_change_what_they_capture():
    calls = [0]

    def f(x):
        calls[0] += 1
        return x * calls[0]
    compiled = wg.grad(f)
    assert [float(compiled(1.5)) for _ in range(3)] == [1.0, 2.0, 3.0]


def test_changed_content_of_the_same_graph_is_not_compiled_again():
    data, weights = np.arange(6.0).reshape(3, 2), [np.ones(3)]

    @wg.grad
    def loss(w):
        return np.sum(weights[0] * (data @ w) ** 2)
    w = np.array([0.5, -1.0])

    def expected():
        return 2 * data.T @ (weights[0] * (data @ w))
    np.testing.assert_allclose(loss(w), expected())
    first = loss.programs
    data[1] = 7.0
    np.testing.assert_allclose(loss(w), expected())
    assert loss.programs == first
    weights[0][2] = 4.0
    np.testing.assert_allclose(loss(w), expected())
    assert loss.programs == first
    weights[0] = np.full(3, 5.0)          # another array: another program
    np.testing.assert_allclose(loss(w), expected())
    assert loss.programs != first


def test_an_equal_number_in_place_of_another_is_no_change():
    model = Model()
    compiled = wg.grad(model.dynamic)
    assert compiled(1.5) == 2.0
    first = compiled.programs
    model.k = float("2")                   # equal, but another object
    assert compiled(1.5) == 2.0
    assert compiled.programs == first
    model.k = 2
    assert compiled(1.5) == 2.0


def test_content_decides_branches():
    limit = np.array([1.0])

    def f(x):
        return x ** 2 if x > limit[0] else x ** 3
    check(f, 1.5, lambda: limit.__setitem__(0, 2.0), lambda: limit.__setitem__(0, 1.0))


def test_derivatives_of_deep_copies_are_independent():
    model = Model()
    other = copy.deepcopy(model)
    first, second = wg.grad(model.dynamic), wg.grad(other.dynamic)
    assert (first(1.5), second(1.5)) == (2.0, 2.0)
    other.k = 5.0
    assert (first(1.5), second(1.5)) == (2.0, 5.0)


@pytest.mark.parametrize("n", [10, 1000])
def test_tests_are_few(n):
    data = [float(i) for i in range(n)]

    def f(x):
        return x * data[0] * np.sum(WEIGHTS)
    compiled = wg.grad(f)
    compiled(1.5)
    watch = compiled._changed.__globals__
    assert sum(name.startswith("v") for name in watch) < 20     # a list is one test
