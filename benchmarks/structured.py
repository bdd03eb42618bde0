"""Structured loops against unrolled ones, and checkpointed gradients against plain ones.

Both sides run in turns; times are the best of some repeats, and the columns that matter are ratios.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import wengert as wg

STEPS = 300
LAYERS, EVERY = 96, 8


def step(i: Any, y: Any, x: Any) -> Any:
    return y + 0.1 * np.sin(y * x)


def looped(x: Any) -> Any:
    return np.sum(wg.fori_loop(0, STEPS, lambda i, y: step(i, y, x), x))


def snapshots(x: Any) -> Any:
    return np.sum(wg.fori_loop(0, STEPS, lambda i, y: step(i, y, x), x, snapshots=20))


def unrolled(x: Any) -> Any:
    y = x
    for i in range(STEPS):
        y = step(i, y, x)
    return np.sum(y)


def layers(wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    """A chain of layers in blocks."""
    def block(x: Any, weights: Any) -> Any:
        for w in weights:
            x = np.tanh(x * w + 0.1)
        return x

    def loss(x: Any, weights: Any) -> Any:
        for i in range(0, LAYERS, EVERY):
            x = wrap(block)(x, weights[i:i + EVERY])
        return np.sum(x ** 2)
    return loss


def in_turns(functions: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Best time of each of some functions, run one after the other."""
    best = [float("inf")] * len(functions)
    for _ in range(repeats):
        for k, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def peak(function: Callable[[], Any]) -> int:
    """Most memory of NumPy's arrays at a time."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--size", type=int, default=131_072)
    options = parser.parse_args()
    print(f"{'gradient':<22} {'first call':>10} {'time':>6} {'peak':>7} {'lines':>6}")
    x = np.linspace(0.1, 1.0, 1000)
    rows: list[tuple[str, Any, tuple[Any, ...]]] = [
        ("loop, unrolled", unrolled, (x,)), ("loop", looped, (x,)),
        ("loop, 20 snapshots", snapshots, (x,))]
    report(rows, options.repeats)
    big, weights = np.linspace(0.1, 1.0, options.size), list(np.linspace(0.5, 1.5, LAYERS))
    report([("96 layers", layers(lambda f: f), (big, weights)),
            ("96 layers, checkpoints", layers(wg.checkpoint), (big, weights))], options.repeats)


def report(rows: list[tuple[str, Any, tuple[Any, ...]]], repeats: int) -> None:
    """One line a function; times relative to the first, peaks in arrays of the argument's size."""
    gradients, first = [], []
    for _, function, args in rows:
        start = time.perf_counter()
        gradients.append(wg.grad(function))
        gradients[-1](*args)
        first.append(time.perf_counter() - start)
    calls = [lambda g=g, args=args: g(*args)
             for g, (_, _, args) in zip(gradients, rows, strict=True)]
    times = in_turns(calls, repeats)
    for (name, _, args), g, call, begun, took in zip(rows, gradients, calls, first, times,
                                                    strict=True):
        print(f"{name:<22} {begun * 1e3:>7.0f} ms {took / times[0]:>6.2f} "
              f"{peak(call) / args[0].nbytes:>7.1f} {len(g.source.splitlines()):>6}")


if __name__ == "__main__":
    main()
