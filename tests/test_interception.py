"""Modules are as they were after every trace, and other threads see no change."""

import functools
import importlib
import math
import random
import sys
import threading
import types

import numpy as np
import pytest
import scipy.special
import scipy.stats
import wengert as wg
from wengert.compiler.errors import LeakedTracerError, RandomnessError

MODULES = (np, np.linalg, np.random, math, random, scipy.special, scipy.stats)
RNG = np.random.default_rng(3)
LEGACY = np.random.RandomState(3)


def namespaces():
    """The dictionaries of all modules that a trace may touch (hypothesis counts collections)."""
    return {name: dict(vars(module)) for name, module in list(sys.modules.items())
            if isinstance(getattr(module, "__dict__", None), dict)
            and not name.startswith("hypothesis.")}


def assert_restored(before):
    after = namespaces()
    for name, names in before.items():
        changed = [key for key, value in names.items() if after[name].get(key) is not value]
        assert not changed, (name, changed)
        assert list(after[name]) == list(names), name


def plain(x):
    return np.array([math.sin(x[0]), x[1]]).sum() + np.zeros(2)[0] + scipy.special.logsumexp(x)


def fails(x):
    np.array([x[0]])
    raise ZeroDivisionError


def interrupted(x):
    np.array([x[0]])
    raise KeyboardInterrupt


def swallows(x):
    try:
        return np.float64(x[0]) * x[1]
    except TypeError:
        return x[1]


@pytest.mark.parametrize(("function", "error"), [
    (plain, None), (fails, ZeroDivisionError), (interrupted, KeyboardInterrupt),
    (swallows, wg.WengertError)])
def test_modules_are_as_they_were(function, error):
    wg.grad(plain)(np.array([0.3, 0.4]))          # modules that are loaded on first use
    before = namespaces()
    if error is None:
        wg.grad(function)(np.array([0.3, 0.4]))
    else:
        with pytest.raises(error):
            wg.grad(function)(np.array([0.3, 0.4]))
    assert_restored(before)
    assert type(np) is types.ModuleType
    assert type(np.array([0.5])) is np.ndarray
    assert math.sin(0.5) == pytest.approx(0.479425538604203)


def test_an_error_inside_a_derivative_inside_a_trace():
    before = namespaces()

    def outer(x):
        return wg.grad(fails)(x).sum()
    with pytest.raises(ZeroDivisionError):
        wg.grad(outer)(np.array([0.3, 0.4]))
    assert_restored(before)


def test_eight_threads_compile_and_use_one_function():
    @wg.value_and_grad
    def f(x):
        y = np.zeros(3)
        y[0] = math.exp(x[0])
        y[1:] = x * np.where(x > 0.5, x, 1.0)
        if x[1] > 0.6:
            y *= 2
        return np.array([y.sum(), x[0]]) @ np.array([1.0, 3.0])

    points = [np.array([0.1 * i, 1.2 - 0.1 * i]) for i in range(12)]
    expected = [wg.value_and_grad(f.function)(x) for x in points]
    results, failures = {}, []
    barrier = threading.Barrier(8)

    def work(k):
        try:
            barrier.wait()
            results[k] = [[f(x) for x in points] for _ in range(5)]
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(f.programs) == 2
    for rounds in results.values():
        for values in rounds:
            for (value, slope), (value_1, slope_1) in zip(values, expected, strict=True):
                assert value == value_1
                assert np.array_equal(slope, slope_1)


def test_plain_numpy_in_another_thread_is_not_disturbed():
    stop, wrong, rounds = threading.Event(), [], [0]

    def plain_work():
        while not stop.is_set():
            made = [np.zeros(3), np.array([1.0, 2.0]), np.linspace(0, 1, 3), np.eye(2),
                    np.asarray([1, 2]), np.empty((2, 2)), np.full(2, 7.0), np.arange(3)]
            if any(type(a) is not np.ndarray for a in made) or type(math.sin(1.0)) is not float:
                wrong.append(made)
            random.random()
            np.random.default_rng().normal()
            rounds[0] += 1
    thread = threading.Thread(target=plain_work)
    thread.start()
    try:
        for _ in range(20):
            wg.grad(lambda x: plain(x) + np.zeros(3).sum())(np.array([0.3, 0.4]))
    finally:
        stop.set()
        thread.join()
    assert not wrong
    assert rounds[0] > 20


# -- ways of binding a function's name ---------------------------------------------------------

def in_a_closure():
    from math import sin  # noqa: PLC0415

    def f(x):
        return sin(x)
    return f


def in_a_default(x, sin=math.sin):
    return sin(x)


def in_a_keyword_default(x, *, sin=math.sin):
    return sin(x)


class Holder:
    sin = staticmethod(math.sin)

    def __init__(self):
        self.function = math.sin

    def attribute(self, x):
        return self.function(x)

    def class_attribute(self, x):
        return self.sin(x)


TABLE = {"sin": math.sin, "list": [np.sin, math.sin]}


def in_a_table(x):
    return TABLE["sin"](x)


def in_a_list(x):
    return TABLE["list"][1](x)


def imported_inside(x):
    from math import sin  # noqa: PLC0415
    return sin(x)


def by_getattr(x):
    return getattr(math, "sin")(x)                                   # noqa: B009


def by_import_module(x):
    return importlib.import_module("math").sin(x)


def made_by_exec():
    names = {}
    exec("from math import sin as s\ndef helper(x):\n    return s(x)", names)
    other = {"helper": names["helper"]}
    exec("def f(x):\n    return helper(x)", other)
    return other["f"]


def in_a_loose_module():
    module = types.ModuleType("loose")
    exec("from math import sin", module.__dict__)
    return lambda x: module.sin(x)


@pytest.mark.parametrize("function", [
    in_a_closure(), in_a_default, in_a_keyword_default, Holder().attribute,
    Holder().class_attribute, in_a_table, in_a_list, imported_inside, by_getattr,
    by_import_module, made_by_exec(), in_a_loose_module(), functools.partial(in_a_default),
    math.sin, functools.lru_cache(in_a_default)])
def test_ways_to_bind_a_function(function):
    before = namespaces()
    assert wg.grad(function)(0.3) == pytest.approx(math.cos(0.3), rel=1e-14)
    assert_restored(before)
    assert TABLE["sin"] is math.sin
    assert in_a_default.__defaults__ == (math.sin,)


# -- what must not be drawn or left behind -----------------------------------------------------

@pytest.mark.parametrize("draw", [
    lambda x: x * np.random.rand(), lambda x: x * np.random.normal(size=3).sum(),
    lambda x: x * random.gauss(0, 1), lambda x: x * RNG.normal(), lambda x: x * LEGACY.rand(),
    lambda x: x * np.random.default_rng().normal(), lambda x: x + random.choice([1, 2])])
def test_random_numbers_are_refused(draw):
    with pytest.raises(RandomnessError, match="Draw them outside"):
        wg.grad(draw)(1.5)


def test_a_generator_with_a_seed_gives_the_same_numbers_each_time():
    def f(x):
        return x * np.random.default_rng(5).normal()
    assert wg.grad(f)(1.5) == f(1.0)


def test_swallowed_randomness_is_raised_again():
    def f(x):
        try:
            return x * np.random.rand()
        except RuntimeError:
            return x
    with pytest.raises(RandomnessError):
        wg.grad(f)(1.5)


def test_values_left_behind_are_refused():
    history = []

    def logs(x):
        history.append(x * 2)
        return x * x
    with pytest.raises(LeakedTracerError, match="Return the value"):
        wg.grad(logs)(1.5)

    class Model:
        last = None

        def loss(self, x):
            self.last = x * 2
            return x * x
    with pytest.raises(LeakedTracerError, match="Return the value"):
        wg.grad(Model().loss)(1.5)


def test_a_module_that_is_loaded_during_a_trace_keeps_its_arrays(tmp_path, monkeypatch):
    (tmp_path / "loaded_in_a_trace.py").write_text(
        "import numpy as np\nfrom numpy import arange\nTABLE, STEPS = np.ones(3), arange(3.0)\n"
        "def weighted(x):\n    out = np.zeros(3)\n    out[1] = x[1] * STEPS[1]\n"
        "    return out + x * TABLE\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "loaded_in_a_trace", raising=False)

    def f(x):
        from loaded_in_a_trace import weighted  # noqa: PLC0415
        return np.sum(weighted(x))
    assert wg.grad(f)(np.ones(3)).tolist() == [1.0, 2.0, 1.0]
    module = sys.modules["loaded_in_a_trace"]
    assert type(module.TABLE) is type(module.STEPS) is np.ndarray
    assert wg.grad(lambda x: f(x) * 2.0)(np.ones(3)).tolist() == [2.0, 4.0, 2.0]
    assert f(np.ones(3)) == 4.0


class Deprecated:
    """An object of a module's that warns if it is asked for its class, as some libraries have."""

    @property
    def __class__(self):
        raise DeprecationWarning("use another object")


def test_objects_of_modules_are_not_asked_for_their_class(monkeypatch):
    module = types.ModuleType("some_library")
    module.old = Deprecated()
    monkeypatch.setitem(sys.modules, "some_library", module)
    assert wg.grad(lambda x: np.sum(np.sin(x)))(np.zeros(2)).tolist() == [1.0, 1.0]
