"""Long and wide graphs."""

import math

import numpy as np

from cases.case import A, case


def _long():
    x, d = (0.5, 1.0)
    for _ in range(3000):
        d = d * (1.0 + 0.001 * math.cos(x))
        x = x + 0.001 * math.sin(x)
    return d


@case("Theano/Theano#689", (0.5,), _long(), how="time", limit_s=60, tol=1e-08)
def long_loop(x):
    """3000-step recurrence: RecursionError or minutes of compiling."""
    for _ in range(3000):
        x = x + 0.001 * np.sin(x)
    return x


@case(
    "Theano/Theano#1795",
    (A([0.3, 0.7]),),
    A(
        [
            -0.7 * sum(i * math.sin(0.3 * i) for i in range(400)),
            sum(math.cos(0.3 * i) for i in range(400)),
        ]
    ),
    how="time",
    limit_s=30,
)
def wide_sum_of_terms(p):
    """400 independent terms added together (argument lists, C compiler limits)."""
    s = 0.0
    for i in range(400):
        s = s + np.cos(p[0] * i) * p[1]
    return s
