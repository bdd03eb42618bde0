"""Calls of programs for the GPU: which are chosen, what is refused, what is the same as NumPy's."""

import importlib
import importlib.util
import pickle
import re
import sys

import numpy as np
import pytest
import wengert as wg
from gpu import nvrtc
from gpu.harness import standin
from wengert.compiler import errors
from wengert.compiler.arraytype import ArrayType
from wengert.runtime import load_cuda


@pytest.fixture
def cp():
    with standin() as found:
        yield found


def energy(x):
    return np.sum(np.sin(x) * np.exp(-x ** 2))


def test_the_gpu_is_chosen_by_the_arguments(cp):
    f = wg.grad(energy)
    x = np.linspace(0.0, 1.0, 7)
    first = f(x)
    got = f(cp.asarray(x))
    assert isinstance(got, cp.ndarray)
    np.testing.assert_allclose(got.get(), first, rtol=1e-12)
    assert type(f(x)) is np.ndarray


@pytest.mark.parametrize("transform", [wg.compile, wg.grad, wg.value_and_grad, wg.jacobian,
                                       wg.hessian])
def test_every_transform_takes_arrays_of_the_gpu(transform, cp):
    x = np.linspace(0.1, 1.0, 4)
    for got, wanted in zip(leaves(transform(energy)(cp.asarray(x))), leaves(transform(energy)(x)),
                           strict=True):
        assert isinstance(got, cp.ndarray)
        np.testing.assert_allclose(got.get(), wanted, rtol=1e-12)


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


def test_products_take_arrays_of_the_gpu(cp):
    x, v = np.linspace(0.1, 1.0, 4), np.arange(4.0)
    for got, wanted in ((wg.hvp(energy)(cp.asarray(x), cp.asarray(v)), wg.hvp(energy)(x, v)),
                        (wg.jvp(energy)(cp.asarray(x), cp.asarray(v))[1], wg.jvp(energy)(x, v)[1]),
                        (wg.vjp(energy)(cp.asarray(x), 2.0)[1], wg.vjp(energy)(x, 2.0)[1]),
                        (wg.vmap(wg.grad(energy))(cp.asarray([x, v])),
                         wg.vmap(wg.grad(energy))(np.array([x, v])))):
        np.testing.assert_allclose(got.get(), wanted, rtol=1e-12, atol=1e-12)


def test_numbers_containers_and_keywords(cp):
    def f(p, *, scale):
        return np.sum(p["w"] * scale) + p["b"] ** 2
    p = {"w": np.arange(3.0), "b": 2.0}
    on_device = {"w": cp.asarray(p["w"]), "b": 2.0}
    got = wg.grad(f)(on_device, scale=np.float32(3))
    wanted = wg.grad(f)(p, scale=np.float32(3))
    np.testing.assert_allclose(got["w"].get(), wanted["w"])
    assert float(got["b"]) == wanted["b"]
    zero_d = wg.grad(f)({"w": on_device["w"], "b": cp.asarray(2.0)}, scale=1.0)
    assert float(zero_d["b"]) == 4.0


def test_views_that_are_not_contiguous(cp):
    def f(x):
        return np.sum(np.tanh(x) * np.arange(6.0).reshape(3, 2))
    x = np.random.default_rng(0).normal(size=(2, 3))
    np.testing.assert_allclose(wg.grad(f)(cp.asarray(x).T).get(), wg.grad(f)(x.T), rtol=1e-12)


def test_branches_look_at_values(cp):
    def f(x):
        return np.sum(x ** 2) if x[0] > 0 else np.sum(x ** 3)
    g = wg.grad(f)
    for x in (np.array([1.0, 2.0]), np.array([-1.0, 2.0]), np.array([3.0, 2.0])):
        np.testing.assert_allclose(g(cp.asarray(x)).get(), wg.grad(f)(x))


def test_arguments_that_are_written_to(cp):
    def f(x):
        x[0] = 5.0
        return np.sum(x)
    x = cp.asarray(np.ones(3))
    assert float(wg.compile(f)(x)) == 7.0
    assert x.get().tolist() == [5.0, 1.0, 1.0]


def test_captured_arrays_are_copied_when_they_are_needed(cp):
    w = np.arange(3.0)
    g = wg.grad(lambda x: np.sum(w * x))
    x = cp.asarray(np.ones(3))
    assert g(x).get().tolist() == [0.0, 1.0, 2.0]
    w[0] = 7.0
    assert g(x).get().tolist() == [7.0, 1.0, 2.0]


def test_an_index_out_of_range_is_an_error(cp):
    f = wg.grad(lambda x, k: np.sum(x[k] ** 2))
    with pytest.raises(IndexError, match="out of bounds for axis with size 3"):
        f(cp.asarray(np.ones(3)), cp.asarray(np.array([0, 3])))


def test_empty_arrays(cp):
    assert wg.grad(energy)(cp.asarray(np.empty(0))).get().shape == (0,)


def test_single_precision_stays_single(cp):
    x = np.linspace(0.1, 1.0, 5, dtype=np.float32)
    got = wg.grad(energy)(cp.asarray(x)).get()
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wg.grad(energy)(x), rtol=1e-5)


def test_arrays_of_numpys_are_refused(cp):
    with pytest.raises(errors.DeviceArrayError, match=r"shape \(3,\).*cupy.asarray"):
        wg.grad(energy, target="cupy")(np.ones(3))
    with pytest.raises(errors.DeviceArrayError, match="target='native'"):
        wg.grad(energy, target="native")(cp.asarray(np.ones(3)))
    with pytest.raises(errors.DeviceArrayError, match="target='numpy'"):
        wg.grad(energy, target="numpy")(cp.asarray(np.ones(3)))


def test_functions_that_cupy_lacks_are_refused():
    def f(x):
        return np.sum(np.linalg.eigvals(np.outer(x, x)).real)
    with pytest.raises(errors.NotOnDeviceError, match=r"test_cupy_runtime.py:\d+: .*eig"):
        wg.compile(f, target="cupy").specialize(np.ones(3))


def test_the_source_needs_neither_cupy_nor_a_gpu():
    assert "cupy" not in sys.modules or "fake" not in sys.modules["cupy"].__version__
    f = wg.grad(energy, target="cupy")
    f.specialize(np.ones(3))
    assert "import cupy as cp" in f.source
    assert "cp.RawKernel" in f.source
    wg.grad(energy, target="cupy").specialize(ArrayType((3,), np.dtype(np.float32)))


def test_without_a_gpu_the_error_says_what_is_missing():
    usable, reason = load_cuda.status()
    if usable:
        pytest.skip("there is a GPU")
    f = wg.grad(energy, target="cupy")
    with pytest.raises(errors.NoDeviceError, match="pip install") as caught:
        f(np.ones(3))
    assert reason in str(caught.value)
    f.specialize(np.ones(3))
    with pytest.raises(errors.NoDeviceError):
        f.programs[0].raw(np.ones(3))


@pytest.mark.parametrize(("part", "break_it", "said"), [
    ("getDeviceCount", lambda cp, m: m.setattr(cp.cuda.runtime, "getDeviceCount", lambda: 0),
     "no GPU is visible"),
    ("no driver", lambda cp, m: m.setattr(cp.cuda.runtime, "getDeviceCount", failing),
     "no GPU can be used: RuntimeError: driver"),
    ("no compiler", lambda cp, m: m.setattr(cp.cuda.nvrtc, "getVersion", failing),
     "NVRTC cannot be loaded: driver")])
def test_each_missing_part_has_its_words(part, break_it, said, cp, monkeypatch):
    break_it(cp, monkeypatch)
    with pytest.raises(errors.NoDeviceError, match=said):
        wg.grad(energy)(cp.asarray(np.ones(3)))


def failing():
    raise RuntimeError("driver")


def test_a_cupy_that_cannot_be_imported(monkeypatch):
    def unable(name):
        raise FileNotFoundError("no cache folder")
    monkeypatch.setattr(importlib, "import_module", unable)
    assert load_cuda.status() == (
        False, "cupy cannot be imported: FileNotFoundError: no cache folder")


def test_options_are_in_the_text():
    strict = wg.grad(energy, target="cupy", accuracy="strict")
    strict.specialize(np.ones(3))
    assert "-fmad=false" in strict.source

    def gathered(x, k):
        return np.sum(x[k] ** 2)
    args = np.ones(3), np.array([0, 0, 2])
    loose = wg.grad(gathered, target="cupy", deterministic=False)
    loose.specialize(*args)
    assert "atomicAdd(&" in loose.source
    fixed = wg.grad(gathered, target="cupy")
    fixed.specialize(*args)
    assert "atomicAdd(" not in fixed.source
    assert "cp.argsort" in fixed.source


def test_atomic_sums_are_the_same_up_to_rounding(cp):
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=20), rng.integers(0, 20, 300)
    f = wg.grad(lambda x, k: np.sum(x[k] ** 2), deterministic=False)
    np.testing.assert_allclose(f(cp.asarray(x), cp.asarray(k)).get(),
                               wg.grad(lambda x, k: np.sum(x[k] ** 2))(x, k), rtol=1e-12)


def test_long_chains_call_costly_functions_out_of_line(cp):
    def chain(x):
        for _ in range(60):
            x = np.sin(x) + 0.5 * np.cos(x)
        return np.sum(x)
    f = wg.grad(chain, target="cupy")
    f.specialize(np.ones(4))
    text = "".join(re.findall(r"r'''(.*?)'''", f.source, re.DOTALL))
    body = text[text.index('extern "C"'):]
    assert len(re.findall(r"\bsin\(", body)) == 0
    assert "call_sin(" in body
    if nvrtc.library() is not None:
        nvrtc.compiled(re.findall(r"r'''(.*?)'''", f.source, re.DOTALL)[-1], "sm_80")
    x = np.linspace(0.1, 1.0, 4)
    np.testing.assert_allclose(f(cp.asarray(x)).get(), wg.grad(chain)(x), rtol=1e-12)


SPECIAL = (0.1, -0.0, 1e300, 5e-324, 2.2250738585072014e-308, 1 / 3, -1.5, 123456789.0, 1e22,
           float("inf"), float("-inf"), float("nan"))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_are_exact(dtype, cp):
    with np.errstate(over="ignore"):
        values = np.array(SPECIAL).astype(dtype)
    got = wg.compile(lambda x: np.where(x > 0, x, values))(cp.asarray(np.zeros(12, dtype))).get()
    assert got.dtype == dtype
    assert got.tobytes() == values.tobytes()


@pytest.mark.parametrize(("shape", "axis"), [((5000,), None), ((5000, 3), 0), ((3, 5000), 1),
                                             ((70, 9, 40), (0, 2)), ((2, 3000, 2), 1),
                                             ((300, 70), None)])
def test_reductions_of_many_sizes(shape, axis, cp):
    x = np.random.default_rng(0).normal(size=shape)
    for f in (np.sum, np.max, np.mean, np.linalg.norm if axis != (0, 2) else np.var, np.std):
        def g(x, f=f):
            return f(x, axis=axis)
        if f is np.linalg.norm and axis is None:
            continue
        np.testing.assert_allclose(wg.compile(g)(cp.asarray(x)).get(), g(x), rtol=1e-12)


def test_long_runs_of_one_index(cp):
    x, k = np.arange(4.0), np.repeat([2, 0], [700, 300])
    f = wg.grad(lambda x, k: np.sum(x[k] ** 2))
    assert f(cp.asarray(x), cp.asarray(k)).get().tolist() == f(x, k).tolist()


def test_the_last_of_several_assignments_counts(cp):
    def f(x, k, v):
        y = x * 1.0
        y[k] = v
        return y
    k, v = np.array([2, 0, 2, -2]), np.array([1.0, 2.0, 3.0, 4.0])
    got = wg.compile(f)(cp.asarray(np.zeros(4)), cp.asarray(k), cp.asarray(v)).get()
    assert got.tolist() == f(np.zeros(4), k, v).tolist()


def test_constant_index_arrays_are_sorted_once(cp):
    k = np.random.default_rng(0).integers(-20, 20, 300)

    def f(x):
        return np.sum(x[np.array(list(map(int, k)))] ** 3) + np.sum(x[[2, 2, 0]] ** 2)
    g = wg.grad(f)
    x = np.linspace(0.0, 1.0, 20)
    assert g(cp.asarray(x)).get().tobytes() == g(cp.asarray(x)).get().tobytes()
    np.testing.assert_allclose(g(cp.asarray(x)).get(), g(x), rtol=1e-12)
    text = wg.grad(f, target="cupy").specialize(x).source.text
    assert "argsort" not in text
    assert "order = cp.asarray(" in text


def test_arguments_that_share_memory_and_are_written_to(cp):
    def f(x, y):
        x[0] = 5.0
        return np.sum(x * y)
    x = cp.asarray(np.ones(3))
    with pytest.raises(errors.MutationError, match="shares memory"):
        wg.compile(f)(x, x)
    assert float(wg.compile(f)(x, cp.asarray(np.ones(3)))) == 7.0


def test_programs_for_the_gpu_are_saved_and_pickled(cp, tmp_path):
    f = wg.value_and_grad(energy)
    x = cp.asarray(np.linspace(0.0, 1.0, 5))
    value, slope = f(x)
    device = f._device
    path = device.save(tmp_path / "energy.py")
    spec = importlib.util.spec_from_file_location("energy", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    again, slope_again = module.energy_value_and_grad(x)
    assert float(again) == float(value)
    assert slope_again.get().tobytes() == slope.get().tobytes()
    copied = pickle.loads(pickle.dumps(wg.grad(energy, target="cupy")))
    assert copied(x).get().tobytes() == slope.get().tobytes()


def test_what_stays_on_the_processor_is_refused(cp):
    x = cp.asarray(np.ones(3))
    with pytest.raises(errors.NotOnDeviceError, match="Sparse derivatives"):
        wg.jacobian(lambda x: x ** 2, sparse=True)(x)

    @wg.custom_vjp
    def doubled(x):
        return x * 2.0
    doubled.defvjp(lambda x: (x * 2.0, None), lambda residual, ct: (2.0 * ct,))
    assert wg.grad(lambda x: np.sum(doubled(x)))(x).get().tolist() == [2.0, 2.0, 2.0]


def test_arrays_of_the_gpu_are_not_captured(cp):
    w = cp.asarray(np.ones(3))
    with pytest.raises(TypeError):
        wg.grad(lambda x: np.sum(x * w))(cp.asarray(np.ones(3)))
