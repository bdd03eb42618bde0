"""wengert beside JAX, autograd, CasADi and a derivative written by hand, in one run.

Each line is one problem. The columns are the median times of a call, the ratio to the time by hand
in brackets; a peer that is not installed, or that cannot do the problem as written, has none. Times
of all columns are taken in turn, so that other load on the machine hits all of them alike.

Run ``python benchmarks/compare.py [group ...]``; groups are ``scalar``, ``rosenbrock``, ``arrays``,
``jacobians``, ``solver``, ``unrolled``, ``imports`` and ``memory``.
"""

import importlib.util
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import peers
import problems
import wengert as wg
from scipy.integrate import solve_ivp

SECONDS = 0.001       # of one sample
SAMPLES = 200
COLUMNS = ("hand", "wengert", "raw", "jax", "autograd", "casadi")
Row = dict[str, Callable[[], Any]]


def median_times(row: Row, samples: int = SAMPLES, seconds: float = SECONDS) -> dict[str, float]:
    """Median time of one call of each; samples of all are interleaved."""
    counts = {}
    for name, call in row.items():
        call()
        n, spent = 1, 0.0
        while spent < seconds and n < 1_000_000:
            n *= 2
            spent = _time(call, n)
        counts[name] = n
    times: dict[str, list[float]] = {name: [] for name in row}
    for _ in range(samples):
        for name, call in row.items():
            times[name].append(_time(call, counts[name]) / counts[name])
    return {name: statistics.median(t) for name, t in times.items()}


def _time(call: Callable[[], Any], n: int) -> float:
    repeats = range(n)
    start = time.perf_counter()
    for _ in repeats:
        call()
    return time.perf_counter() - start


def show(title: str, row: Row, samples: int = SAMPLES) -> None:
    """Measure and print one line."""
    times = median_times(row, samples)
    base = times.get("hand")
    cells = []
    for name in COLUMNS:
        if name not in times:
            cells.append(f"{'':>20}")
            continue
        ratio = f" [{times[name] / base:6.2f}]" if base else ""
        cells.append(f"{_spell(times[name]):>11}{ratio}".rjust(20))
    print(f"{title:<26}{''.join(cells)}", flush=True)


def _spell(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def calls(problem: problems.Problem) -> Row:
    """A call of each column for one problem."""
    args = problem.args
    derive = {"grad": wg.grad, "jacobian": wg.jacobian}[problem.kind]
    ours = derive(problem.function, argnums=problem.argnums)
    ours(*args)
    raw = ours.specialize(*args).raw
    row: Row = {"hand": lambda: problem.hand(*args), "wengert": lambda: ours(*args),
                "raw": lambda: raw(*args)}
    row.update(peers.calls(problem))
    _check(row)
    return row


def _check(row: Row) -> None:
    """All columns give the same derivative."""
    expected = row["hand"]()
    for name, call in row.items():
        found = call()
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else \
            [(found, expected)]
        for got, wanted in pairs:
            np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-7, atol=1e-9,
                                       err_msg=name)


def scalar() -> None:
    show("ln x₁ + x₁x₂ − sin x₂", calls(problems.LECTURE))


def rosenbrock() -> None:
    for n in (2, 10, 100, 1_000, 10_000, 100_000, 1_000_000):
        show(f"Rosenbrock, n = {n:,}", calls(problems.rosenbrock(n)), 60 if n < 1e5 else 15)


def arrays() -> None:
    for make in (problems.sine_exponential, problems.tanh_log_sqrt):
        for n in (10_000, 100_000, 1_000_000):
            show(f"{make.__name__}, n = {n:,}", calls(make(n)), 40 if n < 1e5 else 15)
    show("MLP 784-256-10, batch 64", calls(problems.perceptron()), 15)


def jacobians() -> None:
    for problem in (problems.ROBERTSON, problems.HIRES, problems.POLLUTION, problems.PENDULUM):
        show(problem.name, calls(problem))


def solver() -> None:
    """Integration of stiff systems with and without our Jacobian."""
    for problem, end in ((problems.ROBERTSON, 1e5), (problems.HIRES, 300.0),
                         (problems.POLLUTION, 60.0)):
        jacobian = wg.jacobian(problem.function, argnums=1)
        y = problem.args[1]

        def integrate(jac: Any, f: Any = problem.function, y: Any = y, end: float = end) -> Any:
            return solve_ivp(f, (0.0, end), y, method="BDF", jac=jac, rtol=1e-6, atol=1e-10)
        times = median_times({"with": partial(integrate, jacobian),
                              "without": partial(integrate, None)}, samples=15)
        print(f"solve_ivp BDF, {problem.name:<12} with {_spell(times['with'])}, without "
              f"{_spell(times['without'])}, ratio {times['with'] / times['without']:.2f}")


def unrolled() -> None:
    """From a fresh function to the first gradient of unrolled Runge-Kutta steps."""
    p = np.array([10.0, 28.0, 8.0 / 3.0])
    wg.grad(problems.lorenz(2))(p)
    for steps in (1, 10, 100, 200, 1_000):
        cells = []
        for name, first in {"wengert": lambda f: wg.grad(f)(p), **peers.first_gradients(p)}.items():
            if name == "jax" and steps > 10:          # XLA takes minutes
                continue
            start = time.process_time()
            first(problems.lorenz(steps))
            total = time.process_time() - start
            cells.append(f"{name} {_spell(total)}, {_spell(total / steps)} a step")
        print(f"Lorenz, {steps:>5,} RK4 steps   {'   '.join(cells)}", flush=True)


def imports() -> None:
    """Time of fresh interpreters."""
    codes = {"numpy, scipy.special": "import numpy, scipy.special", "wengert": "import wengert"}
    codes |= {name: f"import {name}" for name in ("jax", "autograd", "casadi")
              if importlib.util.find_spec(name)}
    times: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(11):
        for name, code in codes.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times[name].append(time.perf_counter() - start)
    base = statistics.median(times["numpy, scipy.special"])
    for name, measured in times.items():
        median = statistics.median(measured)
        print(f"import {name:<22} {_spell(median):>9} [{median / base:.2f}]")


def memory() -> None:
    """Peak of the memory that NumPy allocates in one call."""
    for problem in (problems.rosenbrock(1_000_000), problems.sine_exponential(1_000_000),
                    problems.tanh_log_sqrt(1_000_000), problems.perceptron()):
        ours = wg.grad(problem.function, argnums=problem.argnums)
        ours(*problem.args)
        peaks = [_peak(problem.hand, problem.args), _peak(ours, problem.args)]
        print(f"peak of {problem.name:<28} hand {peaks[0] / 1e6:.1f} MB, wengert "
              f"{peaks[1] / 1e6:.1f} MB, ratio {peaks[1] / peaks[0]:.2f}")


def _peak(function: Callable[..., Any], args: tuple[Any, ...]) -> int:
    tracemalloc.start()
    function(*args)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


GROUPS = {f.__name__: f for f in (scalar, rosenbrock, arrays, jacobians, solver, unrolled, imports,
                                  memory)}


def main(arguments: list[str]) -> None:
    print(f"{'':<26}{''.join(f'{name:>20}' for name in COLUMNS)}")
    for name in arguments or GROUPS:
        GROUPS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
