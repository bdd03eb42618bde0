"""Time from a fresh function to its first gradient, for chains of growing length.

The target is linear growth at no more than 1 ms for 10 operations: tracing, differentiation,
simplification, printing, loading and the first run together. It is processor time, so that other
load on the machine hardly matters.
"""

import argparse
import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import wengert as wg

LENGTHS = (100, 1_000, 10_000)
OPERANDS = {"array of 1000": np.linspace(0.1, 0.9, 1000), "array of 5": np.linspace(0.1, 0.9, 5),
            "number": 0.5}
TARGET = 1e-3 / 10       # seconds an operation


def chain(n: int) -> Callable[[Any], Any]:
    """A fresh function of ``n`` elementwise operations, four kinds in turn."""
    def function(x: Any) -> Any:
        y = x
        for _ in range(n // 4):
            y = np.sin(y)
            y = y * x
            y = y + x
            y = np.tanh(y)
        return np.sum(y)
    return function


def seconds(n: int, x: Any, repeats: int) -> float:
    """Best time of some repeats, each with a function that was never seen before."""
    best = float("inf")
    for _ in range(repeats):
        gradient = wg.grad(chain(n))
        gc.collect()
        start = time.process_time()
        gradient(x)
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--longest", type=int, default=LENGTHS[-1])
    options = parser.parse_args()
    print(f"{'operand':<13} {'operations':>10} {'total ms':>10} {'µs/operation':>13} "
          f"{'growth':>7} {'of target':>10}")
    for operand, x in OPERANDS.items():
        seconds(40, x, 1)                              # fill the caches of type rules
        before = None
        for n in LENGTHS:
            if n > options.longest:
                continue
            total = seconds(n, x, options.repeats)
            growth = "" if before is None else f"{total / before:.1f}×"
            print(f"{operand:<13} {n:>10,} {1e3 * total:>10.1f} "
                  f"{1e6 * total / n:>13.1f} {growth:>7} {total / n / TARGET:>10.2f}")
            before = total


if __name__ == "__main__":
    main()
