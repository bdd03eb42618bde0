"""Linear algebra."""

import numpy as np

from cases.case import A, case


@case("HIPS/autograd#549", (np.zeros((3, 3)),), np.zeros((3, 3)))
def det_zero_matrix(a):
    """rank 0: cofactors are all 0; LinAlgError in autograd."""
    return np.linalg.det(a)


@case("HIPS/autograd#536", (4.0,), 1.0)
def slogdet_of_scaled_identity(x):
    """slogdet(x*I)[1]: forward mode missing in a peer; unused sign output must not block."""
    return np.linalg.slogdet(x * np.eye(4))[1]


def _solve_grad():
    a, b = (A([[2.0, 1.0], [1.0, 3.0]]), A([1.0, 2.0]))
    return -np.outer(np.linalg.solve(a.T, b), np.linalg.solve(a, b))


@case("HIPS/autograd#23", (A([[2.0, 1.0], [1.0, 3.0]]),), _solve_grad())
def solve_vector_rhs(a):
    """solve(A, b) with 1-D b: transposes are no-ops on vectors, gradient got the wrong shape."""
    b = A([1.0, 2.0])
    return np.dot(b, np.linalg.solve(a, b))


def _solve_batched_grad():
    matrices = A([[[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [4.0, 5.0]]])
    right, left = A([1.0, 2.0]), A([1.0, 10.0])
    return A([-np.outer(np.linalg.solve(a.T, left), np.linalg.solve(a, right)) for a in matrices])


@case(
    "jax-ml/jax#1151",
    (A([[[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [4.0, 5.0]]]),),
    _solve_batched_grad(),
)
def solve_batched(a):
    """stack of systems, right side (2,1) broadcast over the batch."""
    return np.sum(np.linalg.solve(a, A([[1.0], [2.0]])) * A([[1.0], [10.0]]))


_SYM = A([[0.0, 1.0, 2.0], [1.0, -1.0, 0.5], [2.0, 0.5, 3.0]])


def _logdet_chol():
    m = A([[4.0, 1.0, 0.0], [1.0, 5.0, 1.0], [0.0, 1.0, 6.0]]) + 0.3 * _SYM
    return float(np.trace(np.linalg.solve(m, _SYM)))


@case("HIPS/autograd#56", (0.3,), _logdet_chol(), tol=1e-08)
def logdet_by_cholesky(t):
    """2*sum(log(diag(chol(A0 + tB)))): independent of the symmetric/lower-triangle convention."""
    m = A([[4.0, 1.0, 0.0], [1.0, 5.0, 1.0], [0.0, 1.0, 6.0]]) + t * _SYM
    return 2.0 * np.sum(np.log(np.diag(np.linalg.cholesky(m))))


@case(
    "jax-ml/jax#8732",
    (np.diag([1.0, 1.0, 2.0, 3.0]),),
    np.diag([1.0, 1.0, 2.0, 3.0]) / np.sqrt(15.0),
    tol=1e-08,
)
def svd_reconstruction_repeated(a):
    """norm(U S V) = Frobenius norm with two equal singular values: all NaN."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.linalg.norm(u * s @ vh)


@case("HIPS/autograd#522", (2.0,), -2 / np.sqrt(4.25))
def eigh_hermitian_parameter(a):
    """lowest eigenvalue of a complex Hermitian matrix with imaginary off-diagonal: gradient was
    0."""
    m = A([[1.0 + 0j, 1j * a], [-1j * a, 2.0 + 0j]])
    return np.linalg.eigh(m)[0][0]


@case("HIPS/autograd#42", (A([[3.0, 0.0], [0.0, -2.0]]),), A([[1.0, 0.0], [0.0, -1.0]]), tol=1e-08)
def nuclear_norm(a):
    """norm(A, 'nuc') = U V^T; ord was ignored."""
    return np.linalg.norm(a, "nuc")


@case(
    "HIPS/autograd#42",
    (A([3.0, -4.0]),),
    A([1.0, -1.0]) + A([9.0, -16.0]) / 91 ** (2 / 3.0) + A([0.0, -1.0]),
    tol=1e-09,
)
def norm_orders(x):
    """vector norms ord=1, 3 and inf together."""
    return np.linalg.norm(x, 1) + np.linalg.norm(x, 3) + np.linalg.norm(x, np.inf)


def _inv_grad():
    a = np.linalg.inv(A([[0.0, -1.0, 0.5], [1.0, 0.0, 0.0], [0.0, 2.0, 1.0]]))
    return -a.T @ A([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]]) @ a.T


@case(
    "pytorch/pytorch.github.io#2135",
    (A([[0.0, -1.0, 0.5], [1.0, 0.0, 0.0], [0.0, 2.0, 1.0]]),),
    _inv_grad(),
)
def inv_nonsymmetric(a):
    """transpose placement in -A^-T G A^-T only shows for non-symmetric A and G."""
    return np.sum(np.linalg.inv(a) * A([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]]))
