"""GradBench's derivatives by native code on one thread, beside other tools: a table of ratios.

Run ``python benchmarks/gradbench.py FOLDER [numpy] [eval ...]``, where FOLDER has the benchmark's
stored arguments and answers with ``gbdata.py``, which loads them; ``numpy`` is for NumPy's code.
Every result is compared with the stored answer. JAX, PyTorch and autograd are timed in turn with
native code, where they are installed, in formulations of their own; ``-`` where there is none here.
Published times of Enzyme (C++) and of the fastest of these Python tools are from the benchmark's
own runs on a machine like this.
"""

import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CORE = min(os.sched_getaffinity(0))
if __name__ == "__main__":
    os.sched_setaffinity(0, {CORE})           # of everybody: some have threads of their own

import gradbench_impl  # noqa: E402
import numpy as np  # noqa: E402
import wengert as wg  # noqa: E402
from scipy.special import multigammaln  # noqa: E402

Calls = dict[str, Callable[[], Any]]

# ms: Enzyme, and the fastest of JAX, PyTorch and autograd; S, M
PUBLISHED = {"gmm": ((0.43, 0.24), (157, 33)), "ba": ((12, 92), (114, 743)),
             "ht": ((239, 860), (227, 750)), "kmeans": ((0.13, 0.09), (11, 12)),
             "llsq": ((0.0038, 0.062), (0.223, 0.766)), "lse": ((0.04, 0.1), (0.92, 0.77)),
             "lstm": ((3.8, 758), (34, 7920))}
LIMITS = {"ba": 3.0, "ht": 3.0}               # times Enzyme; 2 elsewhere
ROUNDS = 15
SECONDS = 60.0                                # for one line


def lse(xp: Any, logsumexp: Any, x: Any) -> Any:
    """log Σ exp as a library function."""
    return logsumexp(x)


def llsq(xp: Any, logsumexp: Any, x: Any, n: Any) -> Any:
    """Misfit of a polynomial to a step."""
    t = -1.0 + xp.arange(n) * 2.0 / (n - 1)
    powers = t[:, None] ** xp.arange(len(x))
    return 0.5 * xp.sum((xp.sign(t) - powers @ x) ** 2)


def kmeans(xp: Any, logsumexp: Any, points: Any, centroids: Any) -> Any:
    """All distances at once."""
    distances = xp.sum((points[:, None, :] - centroids[None, :, :]) ** 2, -1)
    smallest = xp.amin if hasattr(xp, "amin") else xp.min
    return xp.sum(smallest(distances, 1))


def gmm(xp: Any, logsumexp: Any, alpha: Any, mu: Any, q: Any, lower: Any, x: Any, m: Any,
        gamma: Any) -> Any:
    """Log posterior of a mixture without assignments."""
    n, d = x.shape
    k = len(alpha)
    column, row = np.triu_indices(d, 1)
    places = np.zeros((len(row), d * d))
    places[np.arange(len(row)), row * d + column] = 1.0
    array = xp.asarray if hasattr(xp, "asarray") else xp.array
    factors = (lower @ array(places)).reshape(k, d, d) + xp.exp(q)[:, :, None] * array(np.eye(d))
    logdet = xp.sum(q, 1)
    y = xp.einsum("kij,nkj->nki", factors, x[:, None, :] - mu[None, :, :])
    terms = alpha + logdet - 0.5 * xp.sum(y ** 2, -1)
    likelihood = xp.sum(logsumexp(terms, 1)) - n * (0.5 * d * np.log(2 * np.pi)
                                                    + logsumexp(alpha, 0))
    freedom = d + m + 1
    prior = (k * (freedom * d * np.log(gamma / np.sqrt(2)) - multigammaln(0.5 * freedom, d))
             - 0.5 * gamma ** 2 * xp.sum(factors ** 2) + m * xp.sum(logdet))
    return likelihood + prior


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "lse": (lse, (0,)), "llsq": (llsq, (0,)), "kmeans": (kmeans, (1,)),
    "gmm": (gmm, (0, 1, 2, 3))}


def _jax(name: str, args: tuple[Any, ...]) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    function, argnums = FUNCTIONS[name]
    static = [i for i, a in enumerate(args) if not isinstance(a, np.ndarray)]
    arrays = [a for a in args if isinstance(a, np.ndarray)]

    def whole(*given: Any) -> Any:
        rest = iter(given)
        return function(jnp, jax.scipy.special.logsumexp, *[
            a if i in static else next(rest) for i, a in enumerate(args)])
    gradient = jax.grad(whole, argnums)

    def direction(points: Any, centroids: Any) -> Any:
        def slope(c: Any) -> Any:
            return gradient(points, c)[0]
        value, product = jax.jvp(slope, (centroids,), (jnp.ones_like(centroids),))
        return (value / product,)
    compiled = jax.jit(direction if name == "kmeans" else gradient)
    return lambda: jax.tree.map(np.asarray, compiled(*arrays))


def _torch(name: str, args: tuple[Any, ...]) -> Callable[[], Any]:
    import torch
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    function, argnums = FUNCTIONS[name]

    def logsumexp(x: Any, dim: int = 0) -> Any:
        return torch.logsumexp(x, dim)

    def call() -> Any:
        given = [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args]
        wanted = [given[i].clone().requires_grad_() for i in argnums]
        for i, w in zip(argnums, wanted, strict=True):
            given[i] = w
        value = function(torch, logsumexp, *given)
        if name != "kmeans":
            return tuple(g.numpy() for g in torch.autograd.grad(value, wanted))
        slope, = torch.autograd.grad(value, wanted, create_graph=True)
        product, = torch.autograd.grad(slope.sum(), wanted)
        return ((slope.detach() / product).numpy(),)
    return call


def _autograd(name: str, args: tuple[Any, ...]) -> Callable[[], Any]:
    import autograd
    import autograd.numpy as anp
    from autograd.scipy.special import logsumexp
    function, argnums = FUNCTIONS[name]

    def whole(wanted: tuple[Any, ...]) -> Any:
        given = list(args)
        for i, w in zip(argnums, wanted, strict=True):
            given[i] = w
        return function(anp, logsumexp, *given)
    gradient = autograd.grad(whole)
    chosen = tuple(args[i] for i in argnums)
    if name == "kmeans":
        ones = np.ones_like(chosen[0])
        product = autograd.grad(lambda w: anp.sum(gradient(w)[0] * ones))
        return lambda: (gradient(chosen)[0] / product(chosen)[0],)
    return lambda: gradient(chosen)


PEERS = {"jax": _jax, "torch": _torch, "autograd": _autograd}


def leaves(result: Any) -> list[Any]:
    """Arrays of a result."""
    return [leaf for part in result for leaf in leaves(part)] \
        if isinstance(result, (tuple, list)) else [np.asarray(result)]


def error(name: str, got: Any, want: Any) -> float:
    """Largest difference over max(1, |right|)."""
    if name == "ba":                          # stored: the first entries of an array, and the last
        got = tuple(np.append(a[:30], a[-1]) for a in got)
    pairs = zip(leaves(got), leaves(want), strict=True)
    return max(float(np.max(np.abs(g - w) / np.maximum(1.0, np.abs(w)), initial=0.0))
               for g, w in pairs)


def best_times(calls: Calls) -> dict[str, float]:
    """Least time of one call of each; samples are taken in turn."""
    times = dict.fromkeys(calls, float("inf"))
    start = time.perf_counter()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begun = time.perf_counter()
            n = 0
            while n == 0 or (n < 1000 and time.perf_counter() - begun < 0.005):
                call()
                n += 1
            times[name] = min(times[name], (time.perf_counter() - begun) / n)
        if time.perf_counter() - start > SECONDS:
            break
    return times


def line(gbdata: Any, name: str, size: str, target: str) -> None:
    """Measure and print one row."""
    args, expected = gbdata.load(name, size)
    which = list(expected)[-1]
    native = gradbench_impl.functions(target)[name][which]
    begun = time.perf_counter()
    wrong = error(name, native(*args), expected[which])
    first = time.perf_counter() - begun
    calls: Calls = {"native": lambda: native(*args)}
    for tool, make in PEERS.items():
        if name in FUNCTIONS and importlib.util.find_spec(tool):
            calls[tool] = make(name, args)
            got = error(name, calls[tool](), expected[which])
            if got > 1e-8:
                raise ArithmeticError(f"{tool} is off by {got:.1e} in {name} {size}")
    times = best_times(calls)
    mine = times["native"]
    enzyme, python = (1e-3 * t for t in PUBLISHED[name]["SM".index(size)])
    cells = [f"{times[t] / mine:8.2f}" if t in times else f"{'-':>8}" for t in PEERS]
    print(f"{name:7} {size}  {1e3 * mine:9.4f} ms  {mine / enzyme:5.2f} "
          f"({LIMITS.get(name, 2.0):.0f})  {python / mine:8.2f}  {' '.join(cells)}   "
          f"{wrong:.0e}   {first:5.2f} s", flush=True)


def main(folder: Path, names: list[str]) -> None:
    """Print the table; of the target ``numpy`` if that is among the names, else of ``native``."""
    target = "numpy" if "numpy" in names else "native"
    names = [name for name in names if name != "numpy"]
    sys.path.insert(0, os.fspath(folder))
    gbdata = importlib.import_module("gbdata")
    wg.set_num_threads(1)
    print(f"eval size     {target}  / Enzyme (limit)  published / native: jax, torch, autograd / "
          "native   error   first call")
    for name in names or PUBLISHED:
        for size in "SM":
            line(gbdata, name, size, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
