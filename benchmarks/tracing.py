"""Processor time of tracing alone, for each node. The target is at most 40 µs."""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import wengert as wg

TARGET = 40e-6


def operators(x: Any, n: int) -> Any:
    y = x
    for _ in range(n // 4):
        y = (y * x + x) * 0.5 - x
    return y


def ufuncs(x: Any, n: int) -> Any:
    y = x
    for _ in range(n // 2):
        y = np.sin(np.cos(y))
    return y


def functions(x: Any, n: int) -> Any:
    y = x
    for _ in range(n // 2):
        y = np.reshape(np.concatenate([y[:2], y[2:]]), y.shape)
    return y


def indexing(x: Any, n: int) -> Any:
    y = x
    for i in range(n):
        y = y + x[i % 4]
    return y


def seconds(function: Callable[..., Any], n: int, repeats: int) -> tuple[float, int]:
    """Best time of a trace, and how many nodes it made."""
    x = np.linspace(0.1, 0.9, 4)
    traced = wg.trace(lambda x: function(x, n))
    best, nodes = float("inf"), 0
    for _ in range(repeats):
        start = time.process_time()
        graph = traced(x)
        best = min(best, time.process_time() - start)
        nodes = sum(bool(node.args) for node in graph.nodes)
    return best, nodes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=4_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{'program':<12} {'nodes':>7} {'ms':>8} {'µs/node':>9} {'of target':>10}")
    for function in (operators, ufuncs, functions, indexing):
        total, nodes = seconds(function, options.operations, options.repeats)
        print(f"{function.__name__:<12} {nodes:>7,} {1e3 * total:>8.1f} "
              f"{1e6 * total / nodes:>9.1f} {total / nodes / TARGET:>10.2f}")


if __name__ == "__main__":
    main()
