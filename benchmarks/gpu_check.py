"""What only a GPU can show of ``target="cupy"``, in under two minutes.

1. every program of the corpus, value and vector-Jacobian product: as with NumPy, the same bits at
   five runs; 2. errors of elementary functions in units of the last place; 3. which launches CuPy
   makes of none, and what it does to subnormal numbers; 4. times of gradients beside CuPy's own
   elementwise code, with the time of a launch.

Run ``python benchmarks/gpu_check.py`` where CuPy and a GPU are; elsewhere it says what is missing.
"""

import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import wengert as wg
from wengert.compiler.ops.table import TABLE
from wengert.compiler.trace.tree import flatten, unflatten
from wengert.runtime.load_cuda import status

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
LIMIT = 50.0             # seconds for the corpus
NAMES = ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "arcsin", "arctan", "sinh", "cosh",
         "tanh", "arcsinh", "cbrt")


def main() -> int:
    """Check, and print a line a fact; the exit status is the number of programs that differ."""
    usable, reason = status()
    if not usable:
        print(f"no GPU: {reason}")
        return 0
    import cupy as cp
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"cupy {cp.__version__}, {device}, {reason}", flush=True)
    failed = corpus(cp)
    accuracy(cp)
    facts(cp)
    times(cp)
    return failed


def corpus(cp: Any) -> int:
    """Programs of the tests, and how many of them differ from NumPy."""
    programs = importlib.import_module("corpus").PROGRAMS
    close = importlib.import_module("gpu.harness").close
    like = importlib.import_module("test_programs").like
    failed, done, start, first = 0, 0, time.perf_counter(), 0.0
    for program in programs:
        if time.perf_counter() - start > LIMIT:
            print(f"  stopped after {done} programs")
            break
        args = program.args
        calls = [(wg.compile(program.function), args)]
        if program.argnums:
            ct = like(program.function(*args), 5)
            calls.append((wg.vjp(program.function, program.argnums), (*args, ct)))
        for f, given in calls:
            done += 1
            try:
                with np.errstate(all="ignore"):
                    wanted = [np.asarray(v) for v in flatten(f(*given))[0]]
                on_device = moved(cp, given)
                before = time.perf_counter()
                runs = [[bits(cp, v) for v in flatten(f(*on_device))[0]] for _ in range(5)]
                first += time.perf_counter() - before
                close([np.asarray(v) for v in runs[0]], wanted, program.name)
                assert all(a.tobytes() == b.tobytes() for run in runs[1:]
                           for a, b in zip(run, runs[0], strict=True)), "bits differ between runs"
            except Exception as error:          # all are to be seen
                failed += 1
                text = " ".join(str(error).split())[:200]
                print(f"  {program.name} {f.request.kind}: {type(error).__name__}: {text}")
    print(f"corpus: {done - failed} of {done} as with NumPy, "
          f"{time.perf_counter() - start:.1f} s, of these {first:.1f} s on the GPU", flush=True)
    return failed


def moved(cp: Any, tree: Any) -> Any:
    """The tree with its arrays in the GPU's memory."""
    leaves, spec = flatten(tree)
    return unflatten(spec, [cp.asarray(v) if isinstance(v, np.ndarray) and v.ndim and
                            v.dtype.kind in "biufc" else v for v in leaves])


def bits(cp: Any, value: Any) -> Any:
    """A result on the host."""
    return value.get() if isinstance(value, cp.ndarray) else np.asarray(value)


def accuracy(cp: Any) -> None:
    """Greatest errors of elementary functions."""
    rng = np.random.default_rng(0)
    cells = []
    for name in NAMES:
        (low, high), = TABLE[name].domain
        x = rng.uniform(low, high, 20_001)
        call = TABLE[name].call
        got = wg.compile(lambda v, call=call: call(v))(cp.asarray(x)).get()
        exact = call(x.astype(np.longdouble))
        cells.append(f"{name} {np.max(np.abs((got - exact) / np.spacing(np.abs(got)))):.2f}")
    print("ulps:", ", ".join(cells), flush=True)


def facts(cp: Any) -> None:
    """What documents say of CuPy and no test can show."""
    count = cp.RawKernel('extern "C" __global__ void blocks(int *x) { atomicAdd(x, gridDim.x); }',
                         "blocks")
    x = cp.zeros(1, np.int32)
    count((0,), (1,), (x,))
    print("a grid of no blocks is launched as", int(x[0]))
    half = wg.compile(lambda v: v * np.float32(0.5))
    tiny = np.array([1.1754944e-38], np.float32)
    print("the smallest normal float32, halved:", half(cp.asarray(tiny)).get()[0])


def best(cp: Any, call: Callable[[], Any], samples: int = 15) -> float:
    """Least time of a call, until the GPU has done it."""
    call()
    cp.cuda.Stream.null.synchronize()
    found = float("inf")
    for _ in range(samples):
        start = time.perf_counter()
        for _ in range(5):
            call()
        cp.cuda.Stream.null.synchronize()
        found = min(found, (time.perf_counter() - start) / 5)
    return found


def times(cp: Any) -> None:
    """Gradients beside the same by hand in CuPy."""
    def energy(x: Any) -> Any:
        return np.sum(np.sin(x) * np.exp(-x ** 2))

    def by_hand(x: Any) -> Any:
        e = cp.exp(-x ** 2)
        return e * cp.cos(x) - 2.0 * x * e * cp.sin(x)

    def cross_entropy(z: Any, labels: Any) -> Any:
        z = z - np.max(z, axis=1, keepdims=True)
        log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
        return -np.mean(log_p[np.arange(len(labels)), labels])

    def rows_by_hand(z: Any, labels: Any) -> Any:
        e = cp.exp(z - cp.max(z, axis=1, keepdims=True))
        p = e / cp.sum(e, axis=1, keepdims=True)
        p[cp.arange(len(labels)), labels] -= 1.0
        return p / len(labels)

    def gathered(x: Any, k: Any) -> Any:
        return np.sum(x[k] ** 2)

    def gathered_by_hand(x: Any, k: Any) -> Any:
        out = cp.zeros_like(x)
        cp.add.at(out, k, 2.0 * x[k])
        return out

    rng = np.random.default_rng(0)
    z, labels = cp.asarray(rng.normal(size=(4096, 1000))), cp.asarray(rng.integers(0, 1000, 4096))
    x, k = cp.asarray(rng.normal(size=100_000)), cp.asarray(rng.integers(0, 100_000, 1_000_000))
    rows = [(f"sin·exp, n = {n:.0e}", energy, by_hand, (cp.asarray(rng.normal(size=n)),), {})
            for n in (1000, 1_000_000, 30_000_000)]
    rows += [("cross entropy, 4096 × 1000", cross_entropy, rows_by_hand, (z, labels), {}),
             ("gather, sorted", gathered, gathered_by_hand, (x, k), {}),
             ("gather, atomic", gathered, gathered_by_hand, (x, k), {"deterministic": False})]
    for title, f, hand, args, options in rows:
        g = wg.grad(f, **options)
        error = float(cp.max(cp.abs(g(*args) - hand(*args))))
        ours, theirs = best(cp, lambda g=g, a=args: g(*a)), best(cp, lambda h=hand, a=args: h(*a))
        print(f"{title:<28} {ours * 1e6:9.1f} µs   CuPy by hand {theirs * 1e6:9.1f} µs "
              f"[{theirs / ours:.2f}]   difference {error:.1e}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
