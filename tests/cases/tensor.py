"""Products and rearrangements of arrays."""

import numpy as np

from cases.case import A, case

_I9 = np.arange(9.0).reshape(3, 3)


@case("HIPS/autograd#115", (_I9,), 24.0 * np.eye(3))
def einsum_trace(x):
    """einsum('ii->', x)**2: reverse subscripts repeat an output index (ValueError)."""
    return np.einsum("ii->", x) ** 2


@case("HIPS/autograd#510", (np.arange(6.0).reshape(3, 2), _I9), np.diag([1.0, 5.0, 9.0]), argnum=1)
def einsum_diag_and_contract(x, w):
    """einsum('nd,nn->d', x, W) wrt W: only the diagonal gets gradient."""
    return np.sum(np.einsum("nd,nn->d", x, w))


def _naked():
    x = np.arange(36.0).reshape(3, 2, 3, 2) / 10
    return np.broadcast_to(2 * x.sum((0, 2))[None, :, None, :], x.shape)


@case("HIPS/autograd#242", (np.arange(36.0).reshape(3, 2, 3, 2) / 10,), _naked())
def einsum_summed_out_index(x):
    """einsum('abcd->bd'): index appearing in one operand only."""
    y = np.einsum("abcd->bd", x)
    return np.sum(y**2)


def _iij():
    g = np.zeros((3, 3, 2))
    w = A([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for i in range(3):
        g[i, i] = w[i]
    return g


@case("tinygrad/tinygrad#18229", (np.arange(18.0).reshape(3, 3, 2),), _iij())
def einsum_repeated_not_last(x):
    """einsum('iij->ij'): diagonal over leading axes, axis order lost."""
    return np.sum(A([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]) * np.einsum("iij->ij", x))


@case("numpy/numpy#12703", (np.arange(6.0).reshape(2, 3),), A([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]))
def einsum_implicit_output(x):
    """implicit mode sorts labels: einsum('ba', x) is a transpose."""
    return np.sum(A([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]) * np.einsum("ba", x))


@case("HIPS/autograd#209", (A([1.0, 2.0, 3.0, 4.0]),), A([7.0, 7.0, 3.0, 3.0]))
def kron_one_d(x):
    """kron of 1-D slices (IndexError)."""
    return np.sum(np.kron(x[:2], x[2:]))


def _mm():
    a, b = (np.arange(6.0).reshape(2, 3), np.arange(24.0).reshape(4, 3, 2))
    return 2 * np.einsum("bik,bjk->ij", a @ b, b)


@case(
    "flashlight/flashlight#760",
    (np.arange(6.0).reshape(2, 3), np.arange(24.0).reshape(4, 3, 2)),
    _mm(),
)
def matmul_broadcast_batch(a, b):
    """(2,3) @ (4,3,2): unbatched operand's gradient must be (2,3)."""
    return np.sum((a @ b) ** 2)


@case(
    "pytorch/pytorch#171704",
    (np.arange(8.0).reshape(4, 2),),
    A([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]),
)
def trace_tall_matrix(x):
    """trace of 4x2: a third 1 appeared at (3,0)."""
    return np.trace(x)


@case("tensorflow/tensorflow#1293", (A([1.0, 2.0]),), A([6.0, 14.0]))
def diag_build_with_k(v):
    """np.diag(v, k=-1) builds a matrix: extract the same diagonal back."""
    m = np.diag(v, k=-1)
    return np.sum(m * A([[1.0, 2.0, 3.0], [6.0, 5.0, 4.0], [7.0, 14.0, 9.0]])) + 0.0 * np.sum(
        np.diag(m)
    )


@case("tinygrad/tinygrad#15081", (_I9,), A([[1.0, 1.0, 0.0], [2.0, 1.0, 1.0], [2.0, 2.0, 1.0]]))
def tril_triu_offsets(x):
    """tril(k=1) + tril(k=-1)."""
    return np.sum(np.tril(x, 1) + np.tril(x, -1))


@case("HIPS/autograd#447", (A([1.0, 2.0, 4.0, 8.0]),), A([-2.0, -0.5, 0.0, 2.5]))
def gradient_function(x):
    """np.gradient: one-sided ends, central middle."""
    return np.sum(A([1.0, 2.0, 3.0, 1.0]) * np.gradient(x))


@case("google/tangent#59", (A([1.0, 2.0, 3.0]), A([4.0, 5.0, 6.0])), A([24.0, 35.0, 26.0]))
def dot_of_row_vectors(a, b):
    """np.dot of (3,) with (3,), and (2,3) with (3,): reshape in the rule not aligned."""
    return (
        np.dot(a, b)
        + np.sum(np.dot(np.arange(6.0).reshape(2, 3) ** 2, a) * A([10.0, 0.0]))
        + 20.0 * a[0]
        + 20.0 * a[1]
        - 20.0 * a[2]
    )


def _chain():
    i = np.arange(24).reshape(2, 3, 4)
    g = np.zeros(24)
    g[np.moveaxis(np.swapaxes(i, 0, 2), 1, 0).reshape(-1)] += np.arange(24.0)
    g[np.ravel(i, order="F")] += np.arange(24.0) ** 2
    return g.reshape(2, 3, 4)


@case("pytorch/pytorch#192575", (np.arange(24.0).reshape(2, 3, 4),), _chain())
def shapes_through_swapaxes_ravel(x):
    """moveaxis / swapaxes / ravel(order='F') / reshape(-1) chain."""
    y = np.moveaxis(np.swapaxes(x, 0, 2), 1, 0).reshape(-1)
    return np.sum(np.arange(24.0) * y) + np.sum(np.arange(24.0) ** 2 * np.ravel(x, order="F"))
