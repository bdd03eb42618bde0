"""Linear algebra where rules go wrong: singular and repeated cases, conventions, source, errors.

The rows themselves are checked with all others; the calls are in ``calls_matrices``.
"""

import numpy as np
import pytest
import scipy.linalg as linalg
import wengert as wg
from check import differences
from scipy import fft
from wengert.compiler.errors import (
    NotDifferentiableError,
    UnsupportedArgumentError,
    UnsupportedFunctionError,
)
from wengert.compiler.interpret import interpret
from wengert.compiler.passes.pipeline import run
from wengert.compiler.text import format_graph, parse
from wengert.compiler.trace.registry import FUNCTIONS, REFUSED
from wengert.compiler.transforms.batch import batch

MODES = ("reverse", "forward")
A = np.array([[2.0, 1.0], [1.0, 3.0]])
B = np.array([[0.0, -1.0, 0.5], [1.0, 0.0, 0.0], [0.0, 2.0, 1.0]])
W = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])


def rotation(n, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]


def cofactors(a):
    """By the definition."""
    n = len(a)
    return np.array([[(-1.0) ** (i + j) * np.linalg.det(
        np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)] for i in range(n)])


def close(found, wanted, tolerance=1e-10):
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


# -- known gradients ------------------------------------------------------------------------------

SYMMETRIC = np.array([[1.0, 2.0, 0.0], [2.0, -1.0, 0.5], [0.0, 0.5, 3.0]])
BASE = np.array([[4.0, 1.0, 0.0], [1.0, 5.0, 1.0], [0.0, 1.0, 6.0]])


def inverse_loss(a):
    return np.sum(np.linalg.inv(a) * W)


def vector_loss(a):
    b = np.array([1.0, 2.0])
    return b @ np.linalg.solve(a, b)


def logdet_by_cholesky(t):
    return 2.0 * np.sum(np.log(np.diag(np.linalg.cholesky(BASE + t * SYMMETRIC))))


def hermitian_ground_state(a):
    m = np.array([[1.0 + 0j, 1j * a], [-1j * a, 2.0 + 0j]])
    return np.linalg.eigh(m)[0][0]


def reconstruction_norm(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.linalg.norm((u * s) @ vh)


def lowest(a):
    return np.linalg.eigh(a)[0][0]


_V = np.linalg.eigh(A)[1][:, 0]
_REPEATED = np.diag([1.0, 1.0, 2.0, 3.0])

KNOWN = {
    "solve, vector": (vector_loss, A, -np.outer(np.linalg.solve(A.T, [1.0, 2.0]),
                                                np.linalg.solve(A, [1.0, 2.0]))),
    "inv": (inverse_loss, B, -np.linalg.inv(B).T @ W @ np.linalg.inv(B).T),
    "slogdet of a multiple of the identity": (
        lambda x: np.linalg.slogdet(x * np.eye(4))[1], 4.0, 1.0),
    "cholesky of a family": (logdet_by_cholesky, 0.3,
                             np.trace(np.linalg.solve(BASE + 0.3 * SYMMETRIC, SYMMETRIC))),
    "eigh of a Hermitian family": (hermitian_ground_state, 2.0, -2 / np.sqrt(4.25)),
    "eigh reads the lower triangle": (lowest, A, np.array(
        [[_V[0] ** 2, 0.0], [2 * _V[0] * _V[1], _V[1] ** 2]])),
    "repeated singular values": (reconstruction_norm, _REPEATED, _REPEATED / np.sqrt(15.0)),
    "nuclear norm": (lambda a: np.linalg.norm(a, "nuc"), np.diag([3.0, -2.0]),
                     np.diag([1.0, -1.0])),
    "largest singular value": (lambda a: np.linalg.norm(a, 2), np.diag([3.0, -2.0]),
                               np.diag([1.0, 0.0])),
    "det at zero": (np.linalg.det, np.zeros((3, 3)), np.zeros((3, 3))),
    "det of a 1x1 matrix": (np.linalg.det, np.zeros((1, 1)), np.ones((1, 1))),
    "rank": (lambda a: np.linalg.matrix_rank(a) * a[0, 0], A, np.array([[2.0, 0], [0, 0]])),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", KNOWN)
def test_gradient(name, mode):
    function, x, wanted = KNOWN[name]
    close(wg.grad(function, mode=mode)(x), wanted)


# -- determinants of singular matrices ------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("n", "rank"), [(n, n - k) for n in (2, 3, 4, 6) for k in (1, 2)])
def test_gradient_of_the_determinant_of_a_singular_matrix(n, rank, mode):
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n))
    close(wg.grad(np.linalg.det, mode=mode)(a), cofactors(a), 1e-9)
    exactly = np.diag(np.arange(n) * (np.arange(n) >= n - rank)).astype(float)
    close(wg.grad(np.linalg.det, mode=mode)(exactly), cofactors(exactly))


@pytest.mark.parametrize(("n", "rank"), [(2, 0), (2, 1), (3, 1), (4, 2), (5, 3)])
def test_second_derivative_of_the_determinant_of_a_singular_matrix(n, rank):
    a = np.diag(np.where(np.arange(n) < rank, 2.0, 0.0))
    found = wg.hessian(np.linalg.det)(a)
    h = 1e-5
    wanted = np.empty((n,) * 4)
    for i, j in np.ndindex(n, n):
        step = np.zeros((n, n))
        step[i, j] = h
        wanted[..., i, j] = (cofactors(a + step) - cofactors(a - step)) / (2 * h)
    close(found, wanted, 1e-8)


def test_the_determinant_of_a_large_matrix():
    a = np.random.default_rng(0).normal(size=(12, 12))
    close(wg.grad(np.linalg.det)(a), np.linalg.det(a) * np.linalg.inv(a).T)


# -- the logarithm --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("a", [np.eye(3), np.diag([1.0, 1.0, 3.0]), np.array(
    [[4.0, 1.0, 0.3], [0.2, 3.0, 0.5], [0.1, -0.4, 2.5]]), np.array(
        [[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]])])
def test_the_logarithm_undoes_the_exponential(a, mode):
    rng = np.random.default_rng(1)
    c, t = rng.normal(size=(2, 3, 3))
    found = wg.grad(lambda x: np.sum(c * linalg.logm(x)), mode=mode)(a)
    log = linalg.logm(a)                       # L_exp(log A, L_log(A, E)) = E
    step = wg.jvp(linalg.logm)(a, t)[1]
    close(linalg.expm_frechet(log, step, compute_expm=False), t, 1e-11)
    close(np.sum(found * t), np.sum(c * step), 1e-11)


# -- equal eigenvalues and singular values --------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_eigenvalues_up_to_rounding(dtype, mode):
    q = rotation(5)
    a = (q @ np.diag([1.0, 1.0, 1.0, 2.0, 2.0]) @ q.T).astype(dtype)

    def norm(x):
        w, v = np.linalg.eigh(x)
        return np.linalg.norm((v * w) @ v.T)
    found = wg.grad(norm, mode=mode)(a)
    wanted = np.tril(a) + np.tril(a, -1)
    close(found, wanted / np.linalg.norm(a), 1e-12 if dtype == np.float64 else 1e-5)
    assert found.dtype == dtype


@pytest.mark.parametrize("mode", MODES)
def test_eigenvalues_alone_need_no_gap(mode):
    def power_sum(x):
        return np.sum(np.linalg.eigvalsh(x) ** 3)          # tr A³, with derivative 3 A²
    close(wg.grad(power_sum, mode=mode)(np.eye(3)), 3.0 * np.eye(3))


@pytest.mark.parametrize("mode", MODES)
def test_the_polar_factor_of_the_identity(mode):
    def skew(x):
        u, _, vh = np.linalg.svd(x)
        return np.sum(u @ vh * W)
    close(wg.grad(skew, mode=mode)(np.eye(3)), (W - W.T) / 2.0)


def test_singular_values_of_a_matrix_of_low_rank():
    def energy(x):
        _, s, _ = np.linalg.svd(x, full_matrices=False)
        return np.sum(s ** 2)
    a = np.outer([1.0, 2.0, 3.0, 4.0], [1.0, -1.0])
    close(wg.grad(energy)(a), 2.0 * a)


def test_least_squares_of_low_rank_is_differentiated_at_constant_rank():
    rng = np.random.default_rng(0)
    left, right, b = rng.normal(size=(5, 2)), rng.normal(size=(2, 3)), rng.normal(size=5)

    def by_lstsq(x):
        return np.sum(np.linalg.lstsq(x @ right, b, rcond=1e-10)[0] ** 2)

    def by_pinv(x):
        return np.sum((np.linalg.pinv(x @ right, 1e-10) @ b) ** 2)
    graph = wg.trace(by_lstsq)(left)
    t = rng.normal(size=left.shape)
    for function in (by_lstsq, by_pinv):
        for mode in MODES:
            close(np.sum(wg.grad(function, mode=mode)(left) * t),
                  differences(graph, [left], [0], [t])[0], 1e-8)


def test_second_derivative_of_the_logarithm_of_the_determinant():
    found = wg.hessian(lambda a: np.linalg.slogdet(a)[1])(B)
    inverse = np.linalg.inv(B)
    close(found, -np.einsum("jk,li->ijkl", inverse, inverse))


# -- the meaning of NumPy's functions -------------------------------------------------------------


def test_results_have_the_names_numpy_gives_them():
    def f(a):
        return (np.linalg.eigh(a).eigenvalues[0] * np.linalg.svd(a).S[1]
                + np.linalg.slogdet(a).logabsdet + np.linalg.qr(a).R[0, 0]
                + np.real(np.linalg.eig(a).eigenvectors[0, 0]))
    close(wg.compile(f)(A), f(A))


def test_whether_eigenvalues_are_real_is_decided_by_the_numbers():
    def size(a):
        w = np.linalg.eigvals(a)
        return np.sum(w) if w.dtype.kind == "f" else np.sum(np.imag(w) ** 2)
    slope = wg.grad(size)
    close(slope(np.array([[2.0, 1.0], [1.0, 3.0]])), np.eye(2))
    # For [[a, b], [c, d]] with complex eigenvalues: 2 Im² = −(a − d)²/2 − 2bc
    close(slope(np.array([[2.0, 1.0], [-1.0, 3.0]])), [[1.0, 2.0], [-2.0, -1.0]])
    close(slope(np.array([[2.0, 1.0], [1.0, 3.0]])), np.eye(2))


def test_a_singular_system_raises_when_it_is_run():
    slope = wg.grad(lambda a: np.sum(np.linalg.solve(a, np.ones(2))))
    slope(A)
    with pytest.raises(np.linalg.LinAlgError):
        slope(np.ones((2, 2)))


def test_a_matrix_that_is_not_square_raises_as_in_numpy():
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        wg.grad(lambda a: np.linalg.det(a))(np.ones((2, 3)))


def test_single_precision_stays_single():
    x, b = A.astype(np.float32), np.ones(2, np.float32)
    for function in (lambda a: np.sum(np.linalg.solve(a, b)), lowest, np.linalg.det,
                     reconstruction_norm, np.linalg.cond, lambda a: np.linalg.slogdet(a)[1],
                     lambda a: np.sum(np.linalg.cholesky(a)), lambda a: np.sum(linalg.expm(a))):
        assert wg.grad(function)(x).dtype == np.float32
        assert wg.grad(function, mode="forward")(x).dtype == np.float32


def test_sylvester_equations_with_operands_of_which_some_are_complex():
    rng = np.random.default_rng(0)
    a = np.array([[0.0, 1.0, 0.0], [-1.0, 0.3, 0.2], [0.0, 0.1, 1.0]])
    b = np.eye(3) * 2.0
    b[0, 1], b[1, 0] = 1.0, -1.0
    q = rng.normal(size=(3, 3))

    @wg.compile
    def rest(a, b, q):
        x = linalg.solve_sylvester(a, b, q)
        return a @ x + x @ b - q
    for turn in ((1j, 1, 1), (1, 1j, 1), (1, 1, 1j), (1, 1j, 1j)):
        close(rest(*[v * t for v, t in zip((a, b, q), turn, strict=True)]), 0.0, 1e-13)


# -- what is refused ------------------------------------------------------------------------------


def test_functions_without_a_row_refuse_traced_values():
    assert {linalg.signm, linalg.schur, linalg.null_space, fft.fht} <= REFUSED
    for function in REFUSED:
        with pytest.raises(UnsupportedFunctionError, match=function.__name__):
            wg.trace(lambda x, refused=FUNCTIONS[function]: refused(x))(np.eye(2))


def test_a_refused_function_is_named_at_the_user_s_line():
    with pytest.raises(UnsupportedFunctionError, match=r"test_linalg\.py.*signm"):
        wg.grad(lambda a: np.sum(linalg.signm(a)))(A)


@pytest.mark.parametrize("function", [
    lambda a: np.linalg.qr(a, "complete")[0], lambda a: linalg.qr(a)[0],
    lambda a: np.linalg.svd(a)[0], lambda a: np.linalg.svd(a).Vh.sum() + np.linalg.svd(a)[0],
])
def test_vectors_that_complete_a_basis_have_no_derivative(function):
    tall = np.array([[1.0, 0.5], [0.2, 2.0], [-0.3, 0.4]])
    for mode in MODES:
        with pytest.raises(NotDifferentiableError, match="not determined"):
            wg.jacobian(function, mode=mode)(tall)


@pytest.mark.parametrize("function", [
    lambda a: np.linalg.qr(a, "raw"), lambda a: linalg.qr(a, pivoting=True),
    lambda a: linalg.eig(a, left=True), lambda a: linalg.solve(a, a, assume_a="tridiagonal"),
    lambda a: linalg.eigh(a, subset_by_index=[0, 0]),
])
def test_options_without_a_rule_are_refused(function):
    with pytest.raises(UnsupportedArgumentError, match="not supported"):
        wg.compile(function)(A)


# -- graphs and source ----------------------------------------------------------------------------


def eigen(a):
    w, v = np.linalg.eigh(a)
    return np.sum(w) * v[0, 0]


def test_several_results_print_and_parse():
    graph = wg.trace(eigen)(A)
    text = format_graph(graph)
    assert "(f64[2], f64[2,2]) = eigh(%0; lower=True)" in text
    assert format_graph(parse(text)) == text
    assert parse(text) == graph


def body(function, *args):
    function(*args)
    lines = function.source.split("):\n", 1)[1].splitlines()
    return [line.strip() for line in lines if line.strip() and "#" not in line]


def test_the_source_names_the_results_as_the_user_does():
    assert "w, v = np.linalg.eigh(a)" in body(wg.compile(eigen), A)


def test_the_source_computes_one_result_alone():
    assert "np.linalg.eigvalsh(a)" in "".join(body(wg.compile(lowest), A))
    assert "compute_uv=False" in "".join(body(wg.compile(lambda a: np.linalg.svd(a)[1]), A))
    both = wg.value_and_grad(lowest)
    assert both(A)[0] == np.linalg.eigh(A)[0][0]
    assert sum("np.linalg.eig" in line for line in body(both, A)) == 1


def test_the_gradient_of_a_linear_system_solves_it_once_each_way():
    def loss(a, b):
        x = np.linalg.solve(a, b)
        return b @ x
    lines = body(wg.grad(loss, (0, 1)), A, np.ones(2))
    assert sum(line.count("np.linalg.solve") for line in lines) == 2
    assert any("np.linalg.solve(a.T, b)" in line for line in lines)


def test_a_batch_of_right_hand_sides_is_one_system():
    graph = wg.trace(np.linalg.solve)(A, np.ones(2))
    many, _ = batch(graph, 7, [False, True])
    solved = [node for node in run(many).nodes if node.op.name == "solve"]
    assert [node.type.shape for node in solved] == [(2, 7)]


def test_examples_one_by_one_keep_several_results_apart():
    graph = wg.trace(lambda a: linalg.lu_factor(a))(A)
    many, flags = batch(graph, 3, [True])
    assert flags == [True, True]
    stack = np.stack([A, A[::-1], A.T])
    lu, piv = interpret(many, stack)
    for i in range(3):
        close(lu[i], linalg.lu_factor(stack[i])[0])
        np.testing.assert_array_equal(piv[i], linalg.lu_factor(stack[i])[1])
