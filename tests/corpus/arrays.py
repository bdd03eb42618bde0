"""Products, selection and indexing, containers, dtypes and shapes."""

import numpy as np
from scipy import special

from .base import Parameters, normal, positive, program

# -- distances, products, contractions -----------------------------------------------------------


@program(normal(4, 2), normal(3, 2))
def pairwise_distances(a, b):
    return np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))


@program(normal(4, 2), 0.8)
def rbf_kernel(x, length):
    n = np.sum(x ** 2, axis=1)
    d2 = n[:, None] + n[None, :] - 2 * x @ x.T
    return np.exp(-0.5 * d2 / length ** 2)


@program(normal(3, 3), normal(3))
def quadratic_form(A, x):
    return x @ A @ x


@program(normal(2, 3), normal(3, 4), normal(4))
def matrix_chain(a, b, c):
    return a @ b @ c


@program(normal(2, 3, 4), normal(2, 4, 2))
def batched_matmul(a, b):
    return np.matmul(a, b)


@program(normal(2, 1, 2, 3), normal(3, 3, 2))
def broadcast_matmul(a, b):
    return a @ b


@program(normal(3), normal(2, 3, 2))
def vector_times_stack(x, a):
    return x @ a


@program(normal(2, 3), normal(3, 2), normal(2))
def einsum_bilinear(a, b, c):
    return np.einsum("ij,jk,k->i", a, b, c)


@program(normal(3, 3), normal(3, 3))
def einsum_traces(a, b):
    return np.einsum("ii", a) * np.einsum("ij,ji->", a, b) + np.einsum("ii->i", b).sum()


@program(normal(2, 3, 4), normal(2, 4))
def einsum_batched(a, b):
    return np.einsum("bij,bj->bi", a, b)


@program(normal(2, 3), normal(3, 2, 2))
def tensor_products(a, b):
    return np.tensordot(a, b, axes=([1], [0])) + np.outer(a[0, :2], a[1, :2])


@program(normal(2, 2), normal(2, 3))
def kronecker(a, b):
    return np.kron(a, b)


@program(normal(2, 3), normal(2, 3))
def cross_products(a, b):
    return np.cross(a, b)


@program(normal(5))
def norms(x):
    return np.linalg.norm(x) + np.linalg.norm(x, 1) + np.linalg.norm(x, 3)


@program(normal(4, 3))
def normalized_rows(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@program(normal(3, 1, 4), normal(2, 1), normal(4))
def broadcasting_3d(a, b, c):
    return np.sum(a * b + c, axis=(0, 2)) * b[:, 0]


@program(normal(3, 4))
def logsumexp_by_hand(x):
    top = x.max(axis=1, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=1)) + top[:, 0]


@program(normal(3, 4))
def logsumexp_columns(x):
    return special.logsumexp(x, axis=0)


# -- selection, indexing, kinks ------------------------------------------------------------------


@program(normal(4), np.array([0, 2, 2, 1, 3, 0]))
def gather_repeats(x, index):
    return x[index] ** 2


@program(normal(4, 3), np.array([3, 0, 3]), np.array([1, 1, 2]))
def fancy_pairs(x, rows, columns):
    return np.sin(x[rows, columns]) + x[rows][:, 0]


@program(normal(6), np.array([True, False, True, True, False, True]))
def boolean_selection(x, keep):
    return x[keep] ** 2


@program(normal(6))
def boolean_mask_of_values(x):
    return np.sum(x[x > 0] ** 2)


@program(normal(6), 0.1)
def leaky_relu(x, slope):
    return np.where(x > 0, x, slope * x)


@program(np.array([-1.0, 0.5, 2.0, 4.0]))
def clipped(x):
    return np.clip(x, 0.0, 3.0) ** 2


@program(normal(5), normal(5))
def max_and_min(x, y):
    return np.maximum(x, y) * np.minimum(x, 0.5)


@program(np.array([-1.5, -0.5, 0.3, 1.7]))
def piecewise(x):
    return np.select([x < -1, x < 1], [x ** 2, 2 + x], np.exp(-x))


@program(normal(3, 4), order=1)
def extrema(x):
    return np.max(x, axis=1) - np.min(x, axis=1)


@program(normal(6))
def sorted_weights(x):
    return np.sort(x) * np.arange(6.0)


@program(np.array([2.0, 0.0, -1.0, 3.0]))
def product_with_zero(x):
    return np.prod(x)


@program(np.array([[2.0, 0.0, -1.0], [0.5, 3.0, 0.0]]))
def cumulative_products(x):
    return np.cumprod(x, axis=1)


@program(np.array([0.5, np.nan, 2.0]), np.array([1.0, 2.0, 3.0]), order=1)
def masked_loss(y, x):
    valid = ~np.isnan(y)
    return np.sum((x[valid] - y[valid]) ** 2)


@program(np.array([-1.0, 2.0, 0.5]))
def guarded_log(x):
    return np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), 0.0)


@program(positive(5))
def fill_by_slices(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1] * 2
    y[0] = x[-1] ** 2
    return y


@program(normal(4))
def update_in_place(x):
    y = x * 2
    y += x ** 2
    y *= x
    y[::2] -= 1.0
    return y


@program(normal(5))
def recurrence_in_array(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, 5):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


@program(normal(4), normal(3))
def joined(a, b):
    both = np.concatenate([a, b, a[::-1]])
    return np.vstack([both[:4], both[-4:] ** 2])


@program(normal(2, 6))
def reshaped(x):
    return x.reshape(3, 4).T[1:, ::2] * np.swapaxes(x, 0, 1)[:3, :1]


# -- containers, dtypes, degenerate shapes -------------------------------------------------------


@program({"a": 2.0, "nested": (normal(3), [normal(2)])}, 0.5)
def nested_arguments(tree, x):
    first, (second,) = tree["nested"]
    return tree["a"] * np.sum(first) * x + np.sum(second ** 2)


@program(Parameters(normal(3), 0.5), normal(3))
def affine_named(parameters, x):
    return {"value": parameters.scale * x + parameters.offset, "size": np.sum(x ** 2)}


@program(normal(4).astype(np.float32), np.float32(0.5))
def single_precision(x, scale):
    return np.mean(np.tanh(2.0 * x) ** 2) * scale


@program(normal(3, 2).astype(np.float32), normal(2).astype(np.float32))
def single_precision_layer(x, w):
    return 1 / (1 + np.exp(-(x @ w) / 3))


@program(np.array(0.7))
def zero_dimensional(x):
    return np.sin(x) * x


@program(np.zeros((0, 3)), normal(3))
def empty_batch(x, w):
    return np.sum((x @ w) ** 2) + np.sum(w)


@program(0.3, 2)
def python_numbers(x, n):
    return x ** n + 2 / x - x / 4


@program(normal(3), normal(3))
def complex_inside(a, b):
    z = a + 1j * b
    return np.sum(np.abs(z * np.exp(1j * a)) ** 2)
