"""Arrays made of traced values."""

import numpy as np

from cases.case import A, case


@case("HIPS/autograd#304", (A([1.0, 2.0, 3.0, 4.0]),), A([4.0, -3.0, -2.0, 1.0]))
def array_with_dtype_argument(t):
    """np.array(list_of_traced, np.float64): dtype argument made it fail."""
    m = A([[t[0], t[1]], [t[2], t[3]]], np.float64)
    return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]


@case("HIPS/autograd#160", (A([1.0, 2.0]),), A([2 * np.exp(1.0), np.exp(2.0)]))
def dstack_of_products(p):
    """np.dstack over a comprehension made an object array."""
    masks = [A([[1.0, 0.0], [1.0, 0.0]]), A([[0.0, 1.0], [0.0, 0.0]])]
    return np.sum(np.exp(np.sum(np.dstack([m * p[i] for i, m in enumerate(masks)]), 2)))


@case("jax-ml/jax#1271", (A([[1.0, 2.0], [3.0, 4.0]]),), A([[1.0, 2.0], [10.0, 20.0]]))
def stack_rows_of_input(x):
    """np.stack(x) where x itself is the traced array."""
    return np.sum(A([[1.0, 2.0], [10.0, 20.0]]) * np.stack(x))


@case("HIPS/autograd#515", (A([1.0, 2.0]),), A([3.0, 20.0]))
def append_and_concatenate_scalars(x):
    """np.append(x, const), hstack of 0-d values, concatenate(axis=None)."""
    a = np.append(x, 1.0)
    b = np.hstack([x[0], 5.0])
    c = np.concatenate([a, b], axis=None)
    return np.sum(A([1.0, 20.0, 7.0, 2.0, 9.0]) * c)


@case("google/tangent#57", (A([1.0, 2.0, 3.0]),), A([2.0, 4.0, 6.0]))
def python_sum_of_list(x):
    """list.append in a loop, builtin sum over the list."""
    out = []
    for i in range(3):
        out.append(x[i] ** 2)  # noqa: PERF401 (the point of the case)
    return sum(out)
