"""Bugs planted into generated kernels, and into their calls: the checker finds every kind."""

import numpy as np
import pytest
import wengert as wg
from gpu import nvrtc
from gpu.harness import ARCHITECTURES, modules, standin

rng = np.random.default_rng(1)
BARRIER = "__syncthreads();"
ADDS = "static __device__ void add(double *p, double v) { *p += v; }\n\n"


@pytest.fixture(autouse=True, scope="module")
def cp():
    with standin() as found:
        yield found


def total(x):
    return np.sum(np.sin(x) * x)


def cross_entropy(logits, labels):
    z = logits - np.max(logits, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(len(labels)), labels])


def gathered(x, k):
    return np.sum(x[k] ** 2)


def bias(x, b):
    return np.sum(np.tanh(x + b))


PROGRAMS = {
    "total": (total, (rng.normal(size=1000),), 0, {}),
    "rows": (cross_entropy, (rng.normal(size=(7, 100)), rng.integers(0, 100, 7)), 0, {}),
    "scatter": (gathered, (rng.normal(size=50), rng.integers(0, 50, 400)), 0, {}),
    "atomics": (gathered, (rng.normal(size=50), rng.integers(0, 50, 400)), 0,
                {"deterministic": False}),
    "column": (bias, (rng.normal(size=(300, 10)), rng.normal(size=10)), 1, {})}

# Of each: the program, what is replaced in its kernels by what, and what the checker says.
BUGS = {
    "one iteration too many": ("total", "i < 1000;", "i <= 1000;", "out-of-bounds read"),
    "the next element": ("total", "cos(x[i])", "cos(x[i + 1])", "out-of-bounds read"),
    "a stride of one block": ("total", "i += (long long)gridDim.x * blockDim.x", "i += blockDim.x",
                              "write-write between blocks"),
    "no barrier before the tree": ("total", f"= value;\n    {BARRIER}", "= value;",
                                   "race|before it was written"),
    "no barrier between its levels": ("total", f"}}\n        {BARRIER}", "}", "race"),
    "a barrier for some": ("total", f"+= other;\n        }}\n        {BARRIER}",
                           f"+= other;\n            {BARRIER}\n        }}",
                           "race"),
    "threads that leave early": ("total", "    double total = 0.0;",
                                 "    if (threadIdx.x > 99) return;\n    double total = 0.0;",
                                 "returned|before it was written"),
    "a level that overlaps": ("total", "threadIdx.x < k)", "threadIdx.x <= k)", "race|past the"),
    "every thread stores": ("total", "if (threadIdx.x == 0) {\n        parts", "{\n        parts",
                            "write-write"),
    "blocks share a part": ("total", "parts[blockIdx.x] =", "parts[0] =", "between blocks"),
    "a part too many": ("total", "c < 4;", "c <= 4;", "out-of-bounds read"),
    "a tree begun too soon": ("rows", f"value = part[0];\n    {BARRIER}", "value = part[0];",
                              "race"),
    "rows share elements": ("rows", "[100 * i + j] = ", "[99 * i + j] = ", "between blocks|write"),
    "an index that is not checked": ("scatter", "wrap(k_1[i], 50, fail)", "k_1[i] + 50",
                                     "out-of-bounds"),
    "owners of one place": ("scatter", "continue;", ";", "race"),
    "a sum that is not atomic": ("atomics", "atomicAdd(", "add(", "race"),
    "a slice too long": ("column", "(slice + 1) * 75, 300LL", "(slice + 1) * 76, 310LL", "out-of-bounds"),
    "slices share a part": ("column", "10 * slice", "0 * slice", "race")}


def planted(name):
    """The module of a program with a bug, and its arguments."""
    program, old, new, _ = BUGS[name]
    function, args, argnum, options = PROGRAMS[program]
    graph = wg.value_and_grad(function, argnum).specialize(*args).graph
    (module,) = modules([graph], **options)
    changed = 0
    for key, kernel in module.kernels.items():
        if old in kernel.code:
            code = kernel.code.replace(old, new).replace('extern "C"', ADDS + 'extern "C"')
            raw = type(kernel)(code, key)
            module.space[key] = raw
            changed += 1
    assert changed, f"{old} is in no kernel of {program}:\n{module.source.text}"
    return module, args


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name, cp):
    module, args = planted(name)
    with pytest.raises(cp.LaunchError, match=BUGS[name][3]):
        module(*args)


def test_the_programs_are_right_without_bugs():
    named = [(f, args, wg.value_and_grad(f, n).specialize(*args).graph, options)
             for f, args, n, options in PROGRAMS.values()]
    for f, args, graph, options in named:
        (module,) = modules([graph], **options)
        assert module(*args)[0] == pytest.approx(f(*args), rel=1e-12)


LONG = 'extern "C" __global__ void k(const double *__restrict__ x, double *__restrict__ y, ' \
    "const long long n) { if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x]; }"


@pytest.mark.parametrize(("what", "args"), [
    ("int32 passed", lambda cp, x, y: (x, y, np.int32(4))),
    ("float64 passed", lambda cp, x, y: (x, y, 4.0)),
    ("2 arguments", lambda cp, x, y: (x, y)),
    ("float32 array", lambda cp, x, y: (cp.ones(4, np.float32), y, np.int64(4))),
    ("overlap", lambda cp, x, y: (x, x, np.int64(4))),
    ("not contiguous", lambda cp, x, y: (cp.ones((4, 2)).T, y, np.int64(4))),
    ("out-of-bounds", lambda cp, x, y: (x, y, np.int64(5))),
    ("a number for a pointer", lambda cp, x, y: (np.float64(1), y, np.int64(4)))])
def test_a_wrong_call_is_found(what, args, cp):
    kernel = cp.RawKernel(LONG, "k")
    x, y = cp.ones(4), cp.empty(4)
    kernel((1,), (32,), (x, y, np.int64(4)))
    assert (y.get() == 1).all()
    with pytest.raises((cp.LaunchError, TypeError), match=what):
        kernel((1,), (32,), args(cp, x, y))


def test_the_stand_in_is_as_strict_as_cupy(cp):
    x = cp.ones(3)
    for wrong in (lambda: np.ones(3) + x, lambda: x + np.ones(3), lambda: np.asarray(x),
                  lambda: cp.sin(np.ones(3)), lambda: cp.add([1], [2]), lambda: np.sin(x)):
        with pytest.raises(TypeError):
            wrong()
    assert np.isnan(cp.empty(3).get()).all()
    assert isinstance(cp.sum(x), cp.ndarray)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_kind_of_launch_compiles(architecture):
    if nvrtc.library() is None:
        pytest.skip("the wheel nvidia-cuda-nvrtc is not installed")
    for f, args, n, options in PROGRAMS.values():
        graph = wg.value_and_grad(f, n).specialize(*args).graph
        (module,) = modules([graph], **options)
        for name, kernel in module.kernels.items():
            binary, log = nvrtc.compiled(kernel.code, architecture, kernel.options)
            assert name.encode() in binary
            assert not log.strip("\0 \n"), log
