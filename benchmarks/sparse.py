"""Sparse derivatives: against right-hand sides, SciPy's differences, and other libraries.

Every line times both sides in one run, best of some repeats, and prints their ratio. What happens
once (compiling, solving) is given in seconds of the processor.
"""

import argparse
import resource
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize._numdiff as numdiff
import sparse_peers
import wengert as wg
from wengert.compiler.transforms.coloring import color_columns
from wengert.compiler.transforms.pattern import Pattern

N = 64
A, B, DIFFUSION = 3.4, 1.0, 0.1 * N ** 2


def brusselator_by_roll(t: float, y: Any) -> Any:
    """Periodic borders."""
    u, v = y.reshape(2, N, N)

    def laplacian(w: Any) -> Any:
        return (np.roll(w, 1, 0) + np.roll(w, -1, 0) + np.roll(w, 1, 1) + np.roll(w, -1, 1)
                - 4.0 * w)
    du = B + u * u * v - (A + 1.0) * u + DIFFUSION * laplacian(u)
    dv = A * u - u * u * v + DIFFUSION * laplacian(v)
    return np.concatenate([du.ravel(), dv.ravel()])


def brusselator_by_slices(t: float, y: Any) -> Any:
    """No flux through the borders."""
    u, v = y.reshape(2, N, N)

    def laplacian(w: Any) -> Any:
        p = np.pad(w, 1, mode="edge")
        return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * w
    du = B + u * u * v - (A + 1.0) * u + DIFFUSION * laplacian(u)
    dv = A * u - u * u * v + DIFFUSION * laplacian(v)
    return np.stack([du, dv]).ravel()


def brusselator_in_place(t: float, y: Any) -> Any:
    """No flux through the borders; neighbours are added one after the other."""
    u, v = y.reshape(2, N, N)
    out = np.zeros((2, N, N))
    for d, w in zip(out, (u, v), strict=True):
        d[1:] += w[:-1] - w[1:]
        d[:-1] += w[1:] - w[:-1]
        d[:, 1:] += w[:, :-1] - w[:, 1:]
        d[:, :-1] += w[:, 1:] - w[:, :-1]
        d *= DIFFUSION
    reaction = u * u * v
    out[0] += B + reaction - (A + 1.0) * u
    out[1] += A * u - reaction
    return out.ravel()


def rosenbrock(x: Any) -> Any:
    """Chained."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def stencil(x: Any) -> Any:
    """Five neighbours of a cell on a square grid, and something of its own."""
    n = round(len(x) ** 0.5)
    u = x.reshape(n, n)
    return (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
            + np.sin(u[1:-1, 1:-1])).ravel()


def elementwise(x: Any) -> Any:
    """One entry an element."""
    return np.exp(-x) * np.sin(x)


def best(call: Callable[[], Any], repeats: int) -> float:
    """Seconds of the fastest of some calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def line(name: str, *values: tuple[str, float]) -> None:
    """One line of the table."""
    print(f"{name:28}" + "  ".join(f"{label} {value:.4g}" for label, value in values), flush=True)


def brusselator(repeats: int, until: float) -> None:
    """Jacobians of three spellings, and a stiff solution with each kind of Jacobian."""
    y = initial()
    for rhs in (brusselator_by_roll, brusselator_by_slices, brusselator_in_place):
        start = time.process_time()
        jac = wg.jacobian(rhs, 1, sparse=True)
        jac.specialize(0.0, y)
        compiled = time.process_time() - start
        pattern = jac.pattern
        groups = numdiff.group_columns(pattern)
        swept = wg.jacobian(rhs, 1, sparse=True, mode="forward")
        swept.specialize(0.0, y)
        once = best(lambda f=rhs: f(0.0, y), 5 * repeats)
        mine = best(lambda f=jac: f(0.0, y), 5 * repeats)
        sweeps = best(lambda f=swept: f(0.0, y), repeats)
        differences = best(lambda f=rhs, p=pattern, g=groups: numdiff.approx_derivative(
            lambda x: f(0.0, x), y, sparsity=(p, g)), repeats)
        line(rhs.__name__, ("compile s", compiled), ("colours", jac.colors),
             ("jac/(colours*rhs)", mine / once / jac.colors),
             ("sweeps/(colours*rhs)", sweeps / once / jac.colors),
             ("SciPy/jac", differences / mine))
    times = {}
    solutions = {}
    for name, options in (("jac", {"jac": jac}), ("jac_sparsity", {"jac_sparsity": pattern})):
        start = time.process_time()
        found = scipy.integrate.solve_ivp(rhs, (0.0, until), y, "BDF", rtol=1e-6, atol=1e-8,
                                          **options)
        times[name], solutions[name] = time.process_time() - start, found
    gap = np.max(np.abs(solutions["jac"].y[:, -1] - solutions["jac_sparsity"].y[:, -1]))
    line("solve_ivp BDF", ("jac_sparsity/jac", times["jac_sparsity"] / times["jac"]),
         ("jac s", times["jac"]), ("largest gap", gap),
         ("nfev", solutions["jac"].nfev), ("nfev", solutions["jac_sparsity"].nfev),
         ("njev", solutions["jac"].njev))


def initial() -> Any:
    """Of the Brusselator, smooth."""
    x = np.linspace(0.0, 1.0, N)
    return np.stack([22.0 * (x * (1.0 - x))[:, None] ** 1.5 * np.ones(N),
                     27.0 * (x * (1.0 - x))[None, :] ** 1.5 * np.ones((N, 1))]).ravel()


def hessian(n: int, repeats: int) -> None:
    """Of the chained Rosenbrock function, against its analytic form and one gradient."""
    x = np.linspace(-1.2, 1.0, n)
    hess, grad = wg.hessian(rosenbrock, sparse=True), wg.grad(rosenbrock)
    start = time.process_time()
    hess.specialize(x)
    compiled = time.process_time() - start
    pattern = _pattern_of(hess)
    start = time.process_time()
    color_columns(pattern)
    colouring = time.process_time() - start
    diagonal = np.zeros(n)
    diagonal[:-1] = 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
    diagonal[1:] += 200.0
    found = hess(x)
    wrong = max(np.max(np.abs(found.diagonal() - diagonal)),
                np.max(np.abs(found.diagonal(1) + 400.0 * x[:-1])),
                np.max(np.abs(found.diagonal(-1) + 400.0 * x[:-1])))
    grad(x)
    line(f"Rosenbrock {n}", ("detection, colouring, code s", compiled + colouring),
         ("colours", hess.colors), ("error", wrong), ("hessian/gradient", best(
             lambda: hess(x), repeats) / best(lambda: grad(x), repeats)))


def _pattern_of(compiled: Any) -> Pattern:
    return compiled.programs[0].packing.plan.pattern  # type: ignore[no-any-return]


def growth(largest: int) -> None:
    """Memory and time of detection, by size; both should be linear.

    The time of the system, which clears pages whenever they are asked for, depends on what has been
    given back before and is printed apart.
    """
    for function in (elementwise, stencil):
        wg.jacobian(function, sparse=True).specialize(np.linspace(0.0, 1.0, 100))
        for n in (largest // 100, largest // 10, largest):
            x = np.linspace(0.0, 1.0, round(n ** 0.5) ** 2)
            before = resource.getrusage(resource.RUSAGE_SELF)
            compiled = wg.jacobian(function, sparse=True)
            compiled.specialize(x)
            after = resource.getrusage(resource.RUSAGE_SELF)
            nnz = _pattern_of(compiled).nnz
            start = time.process_time()
            count = compiled.colors
            colouring = time.process_time() - start
            tracemalloc.start()
            wg.jacobian(function, sparse=True).specialize(x)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            line(f"{function.__name__} {len(x)}", ("non-zeros", nnz),
                 ("ns/non-zero", 1e9 * (after.ru_utime - before.ru_utime) / nnz),
                 ("and system", 1e9 * (after.ru_stime - before.ru_stime) / nnz),
                 ("colouring ns/non-zero", 1e9 * colouring / nnz), ("colours", count),
                 ("peak bytes/non-zero", peak / nnz),
                 ("pattern bytes/non-zero", pattern_bytes(function, x) / nnz))


def pattern_bytes(function: Callable[[Any], Any], x: Any) -> int:
    """Peak memory of the detection alone."""
    from_graph = wg.compiler.transforms.sparsity.sparsity
    run, jvp = wg.compiler.passes.pipeline.run, wg.compiler.transforms.jvp.jvp
    tangents = run(jvp(wg.trace(function)(x), [0]), wg.compiler.passes.pipeline.SIMPLE)
    tracemalloc.start()
    from_graph(tangents, [1])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def others(n: int, repeats: int) -> None:
    """The same derivatives by other libraries, as far as they are installed."""
    x = np.linspace(-1.2, 1.0, n)
    mine = wg.hessian(rosenbrock, sparse=True)
    mine.specialize(x)
    reference = best(lambda: mine(x), repeats)
    for name, make in sparse_peers.hessians().items():
        start = time.process_time()
        call = make(x)
        first = time.process_time() - start
        assert abs(call() - mine(x)).max() < 1e-6
        line(f"Hessian {n}, {name}", ("first s", first), (f"{name}/wengert",
                                                         best(call, repeats) / reference))
    y = initial()
    jac = wg.jacobian(brusselator_by_roll, 1, sparse=True)
    jac.specialize(0.0, y)
    reference = best(lambda: jac(0.0, y), repeats)
    for name, make in sparse_peers.jacobians(N, (A, B, DIFFUSION)).items():
        start = time.process_time()
        call = make(y)
        first = time.process_time() - start
        assert abs(call() - jac(0.0, y)).max() < 1e-6
        line(f"Brusselator, {name}", ("first s", first), (f"{name}/wengert",
                                                         best(call, repeats) / reference))


def main() -> None:
    """Print all lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--until", type=float, default=1.0, help="end of the stiff solution")
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args()
    brusselator(options.repeats, options.until)
    hessian(100_000, options.repeats)
    growth(options.largest)
    if options.peers:
        others(10_000, options.repeats)


if __name__ == "__main__":
    main()
