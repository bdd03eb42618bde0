"""Budgets of memory: predicted and measured peaks, added work and added time.

Run it as ``python benchmarks/memory.py``. Peaks are those of ``tracemalloc``; times are the best of
some calls, both programs in turn.
"""

import time
import tracemalloc

import numpy as np
import wengert as wg
from wengert.compiler.errors import BudgetError

X = np.linspace(0.1, 1.0, 2 ** 17)           # 1 MiB
LAYERS, DEPTH, LEVELS, STEPS, REPEATS = 96, 8, 4, 32, 7


def chain(x, weights):
    """Layers of tanh, one after the other."""
    for w in weights:
        x = np.tanh(x * w + 0.1)
    return np.sum(x ** 2)


def u_shaped(x, weights):
    """Down by halves and up again, with a connection across at each level."""
    weights = iter(weights)

    def block(x):
        for _ in range(DEPTH):
            x = np.tanh(x * next(weights) + 0.1)
        return x
    skips = []
    for _ in range(LEVELS):
        x = block(x)
        skips.append(x)
        x = np.mean(np.reshape(x, (-1, 2)), axis=1)
    x = block(x)
    for skip in reversed(skips):
        x = block(np.reshape(x[:, None] * np.ones(2), -1) + skip)
    return np.sum(x ** 2)


def unrolled_ode(x, rates):
    """Steps of Runge and Kutta."""
    h = 0.05

    def f(y):
        return y * (1.0 - y) * rates[0] - rates[1] * y / (1.0 + y * y)
    for _ in range(STEPS):
        k1 = f(x)
        k2 = f(x + h / 2 * k1)
        k3 = f(x + h / 2 * k2)
        k4 = f(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.sum(x ** 2)


def peak(function, *args):
    """Bytes in use at most during a call."""
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def ratio(function, other, *args):
    """Time of one function over that of another, the best of calls in turn."""
    best = [np.inf, np.inf]
    for _ in range(REPEATS):
        for i, one in enumerate((function, other)):
            start = time.perf_counter()
            one(*args)
            best[i] = min(best[i], time.perf_counter() - start)
    return best[0] / best[1]


def main():
    """Print one line for each program and budget."""
    print(f"{'program':14} {'budget':>8} {'MiB':>7} {'predicted':>9} {'measured':>9} {'work':>6} "
          f"{'time':>6} {'plan':>7}")
    for function, n in ((chain, LAYERS), (u_shaped, DEPTH * (2 * LEVELS + 1)), (unrolled_ode, 2)):
        weights = list(np.linspace(0.5, 1.5, n))
        plain = wg.value_and_grad(function, (0, 1))
        plain(X, weights)
        for budget in (0.5, 0.25, "24 MiB", "12 MiB"):
            tight = wg.value_and_grad(function, (0, 1), memory=budget)
            start = time.perf_counter()
            try:
                tight(X, weights)
            except BudgetError as error:
                print(f"{function.__name__:14} {budget!s:>8} {error}")
                continue
            taken = time.perf_counter() - start
            planned = tight.specialize(X, weights).memory
            print(f"{function.__name__:14} {budget!s:>8} {planned.budget / 2 ** 20:7.1f} "
                  f"{planned.peak / 2 ** 20:9.2f} {peak(tight, X, weights) / 2 ** 20:9.2f} "
                  f"{1 + planned.extra_work:6.2f} {ratio(tight, plain, X, weights):6.2f} "
                  f"{taken:6.1f}s")


if __name__ == "__main__":
    main()
