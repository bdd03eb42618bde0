"""Implicit functions with sparse and with dense Jacobians: where one begins to be worth it.

Every line times both in one run, best of some repeats, and prints dense/sparse: the value with its
gradient, and the value alone.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import wengert as wg


def rod(u: Any, k: Any) -> Any:
    """A line: 3 unknowns in each equation."""
    p = np.pad(u, 1)
    return 2.0 * u - p[2:] - p[:-2] + k * u ** 3 - 1.0


def plate(u: Any, k: Any) -> Any:
    """A square: 5 unknowns."""
    n = round(len(u) ** 0.5)
    w = np.reshape(u, (n, n))
    p = np.pad(w, 1)
    around = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
    return np.ravel(4.0 * w - around + k * w ** 3 - 1.0)


def network(share: float, n: int) -> Callable[..., Any]:
    """A share of all unknowns, at random: factors fill up."""
    rng = np.random.default_rng(0)
    links = max(round(share * n), 1)
    neighbours = rng.integers(0, n, (links, n))

    def residual(u: Any, k: Any) -> Any:
        total = 2.0 * u - 1.0
        for row in neighbours:
            total = total + k * np.sin(u[row]) / links
        return total
    return residual


def best(call: Callable[[], Any], repeats: int) -> float:
    """Seconds of the fastest of some calls."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def compare(name: str, residual: Callable[..., Any], n: int, repeats: int) -> None:
    """One line of the table."""
    seconds: dict[bool, list[float]] = {}
    for sparse in (True, False):
        root = wg.implicit_root(residual, sparse=sparse)
        both = wg.value_and_grad(lambda k, root=root: np.sum(root(np.zeros(n), k) ** 2))
        seconds[sparse] = [best(lambda f=both: f(0.5), repeats),
                           best(lambda r=root: r(np.zeros(n), 0.5), repeats)]
    ratios = [dense / sparse for sparse, dense in zip(seconds[True], seconds[False], strict=True)]
    print(f"{name:16} {n:6}  value and gradient {ratios[0]:8.2f}  value {ratios[1]:8.2f}  "
          f"sparse ms {1e3 * seconds[True][0]:.2f}", flush=True)


def main() -> None:
    """Print all lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    for n in (100, 196, 400, 784):
        compare("rod", rod, n, options.repeats)
        compare("plate", plate, n, options.repeats)
        for share in (0.02, 0.05, 0.1):
            if share * n < 45:
                compare(f"network {share:.0%}", network(share, n), n, options.repeats)


if __name__ == "__main__":
    main()
