"""Compiled C (``target="native"``) beside NumPy by hand, wengert's NumPy code and JAX, in one run.

Arguments and results are NumPy arrays for all of them. Times of all columns are taken in turn, so
that other load on the machine hits all of them alike; the best of the samples is shown, and in
brackets its ratio to native.

Run ``python benchmarks/native.py [group ...]``; groups are ``arrays``, ``networks``, ``small`` and
``first``. ``gradbench.py`` has GradBench's problems.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import problems
import wengert as wg

COLUMNS = ("native", "wengert", "hand", "jax", "empty")
Row = dict[str, Callable[[], Any]]


def best_times(row: Row, samples: int, seconds: float = 0.004) -> dict[str, float]:
    """Least time of one call of each; samples of all are interleaved."""
    counts = {}
    for name, call in row.items():
        call()
        n = 1
        while _time(call, n) < seconds and n < 1_000_000:
            n *= 2
        counts[name] = n
    times = dict.fromkeys(row, float("inf"))
    for _ in range(samples):
        for name, call in row.items():
            times[name] = min(times[name], _time(call, counts[name]) / counts[name])
    return times


def _time(call: Callable[[], Any], n: int) -> float:
    repeats = range(n)
    start = time.perf_counter()
    for _ in repeats:
        call()
    return time.perf_counter() - start


def show(title: str, row: Row, samples: int = 40) -> None:
    """Measure and print one line."""
    times = best_times(row, samples)
    cells = [f"{name} {times[name] * 1e6:9.2f} µs [{times[name] / times['native']:5.2f}]"
             for name in COLUMNS if name in times]
    print(f"{title:<34}", "  ".join(cells), flush=True)


def row_of(problem: problems.Problem) -> Row:
    """A call of each column."""
    derive = {"grad": wg.grad, "jacobian": wg.jacobian}[problem.kind]
    native = derive(problem.function, argnums=problem.argnums, target="native")
    usual = derive(problem.function, argnums=problem.argnums)
    args = problem.args
    row: Row = {"native": lambda: native(*args), "wengert": lambda: usual(*args),
                "hand": lambda: problem.hand(*args)}
    if importlib.util.find_spec("jax"):
        row["jax"] = _jax(problem)
    expected = row["hand"]()
    for name, call in row.items():
        for a, b in zip(_several(call()), _several(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=name)
    return row


def _several(result: Any) -> Any:
    return result if isinstance(result, (tuple, list)) else (result,)


def _jax(problem: problems.Problem) -> Callable[[], Any]:
    """Jitted, from NumPy arrays to NumPy arrays."""
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    derive = {"grad": jax.grad, "jacobian": jax.jacfwd}[problem.kind]
    compiled = jax.jit(derive(problem.generic(jnp), argnums=problem.argnums))
    return lambda: jax.tree.map(np.asarray, compiled(*problem.args))


def sine_gauss(n: int) -> problems.Problem:
    """Sum of sin x · exp(−x²)."""
    def generic(np: Any) -> Callable[..., Any]:
        return lambda x: np.sum(np.sin(x) * np.exp(-x ** 2))
    return problems.Problem(f"sum(sin x · exp(-x²)), {n}", generic, (np.linspace(0.0, 2.0, n),),
                            lambda x: np.exp(-x ** 2) * (np.cos(x) - 2.0 * x * np.sin(x)))


def three_functions(n: int) -> problems.Problem:
    """Sum of tanh x · log(1 + x²) · sqrt(1 + x²)."""
    def generic(np: Any) -> Callable[..., Any]:
        return lambda x: np.sum(np.tanh(x) * np.log(1 + x ** 2) * np.sqrt(1 + x ** 2))

    def hand(x: Any) -> Any:
        s = 1 + x * x
        t, log, root = np.tanh(x), np.log(s), np.sqrt(s)
        return (1.0 - t * t) * log * root + x * t * (2.0 + log) / root
    return problems.Problem(f"sum(tanh · log · sqrt), {n}", generic, (np.linspace(0.1, 2.0, n),),
                            hand)


def cross_entropy(n: int, m: int) -> problems.Problem:
    """Softmax cross entropy of n rows of m."""
    rng = np.random.default_rng(0)

    def generic(np: Any) -> Callable[..., Any]:
        def loss(z: Any, labels: Any) -> Any:
            z = z - np.max(z, axis=1, keepdims=True)
            log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
            return -np.mean(log_p[np.arange(n), labels])
        return loss

    def hand(z: Any, labels: Any) -> Any:
        e = np.exp(z - np.max(z, axis=1, keepdims=True))
        e /= np.sum(e, axis=1, keepdims=True)
        e[np.arange(n), labels] -= 1.0
        return e / n
    return problems.Problem(f"cross entropy {n} × {m}", generic,
                            (rng.normal(size=(n, m)), rng.integers(0, m, n)), hand)


def arrays() -> None:
    """Gradients of sums over arrays."""
    for n in (1_000, 1_000_000):
        for problem in (sine_gauss(n), problems.rosenbrock(n), three_functions(n)):
            show(problem.name, row_of(problem))


def networks() -> None:
    """A network with one hidden layer, and a loss by rows."""
    network = problems.perceptron()
    show(network.name, row_of(network))
    show_steps(network.name, row_of(network))
    for problem in (cross_entropy(64, 10), cross_entropy(512, 1000), cross_entropy(4096, 128)):
        show(problem.name, row_of(problem))


def show_steps(title: str, row: Row, samples: int = 60, calls: int = 10) -> None:
    """Medians of wall time, and of this process' time on all processors.

    Threads that wait for a processor that others use make best times a matter of luck.
    """
    walls: dict[str, list[float]] = {name: [] for name in row}
    work: dict[str, list[float]] = {name: [] for name in row}
    for _ in range(samples):
        for name, call in row.items():
            start, used = time.perf_counter(), time.process_time()
            for _ in range(calls):
                call()
            walls[name].append((time.perf_counter() - start) / calls)
            work[name].append((time.process_time() - used) / calls)
    cells = [f"{name} {1e6 * np.median(walls[name]):.0f} µs, processors "
             f"{1e6 * np.median(work[name]):.0f} µs" for name in row]
    print(f"{title + ', medians':<34}", "  ".join(cells), flush=True)


def small() -> None:
    """Jacobians of systems of differential equations, and what a call costs at least."""
    for problem in (problems.LECTURE, problems.ROBERTSON, problems.HIRES, problems.POLLUTION,
                    problems.PENDULUM):
        row = row_of(problem)
        args = problem.args
        row["empty"] = lambda args=args: _nothing(*args)
        show(problem.name, row)
    x = np.ones(3)
    add = wg.compile(lambda x: x + 1.0, target="native")
    show("x + 1, 3 elements", {"native": lambda: add(x), "hand": lambda: x + 1.0,
                               "empty": lambda: _nothing(x)})


def _nothing(*args: Any) -> None:
    pass


_SCRIPT = """
import time, numpy as np, wengert as wg
def f(x):
    for i in range({steps}):
        x = np.sin(x) * x + 0.5
    return np.sum(x)
x = np.linspace(0.0, 1.0, 100)
start = time.perf_counter()
wg.grad(f, target="{target}")(x)
print(time.perf_counter() - start)
"""


def first() -> None:
    """From a fresh function to its first gradient, in processes of their own."""
    for steps in (10, 100, 300):
        times = {}
        with tempfile.TemporaryDirectory() as folder:
            for label, target in (("numpy", "numpy"), ("native, no cache", "native"),
                                  ("native, second process", "native")):
                done = subprocess.run(
                    [sys.executable, "-c", _SCRIPT.format(steps=steps, target=target)],
                    env={**os.environ, "WENGERT_CACHE_DIR": folder}, text=True,
                    capture_output=True, check=True)
                times[label] = float(done.stdout)
        print(f"first gradient, {3 * steps} operations", "  ".join(
            f"{k} {1e3 * v:.0f} ms" for k, v in times.items()), flush=True)


GROUPS: dict[str, Callable[[], None]] = {"arrays": arrays, "networks": networks, "small": small,
                                         "first": first}

if __name__ == "__main__":
    chosen = sys.argv[1:] or list(GROUPS)
    for one in chosen:
        GROUPS[one]()
