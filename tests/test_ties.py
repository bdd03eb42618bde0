"""Equal eigenvalues and singular values: whatever is smooth there has its derivative.

The oracles are SciPy's Fréchet derivative of the exponential, and differences of eighth order
of the functions themselves, which are smooth however their vectors turn.
"""

import numpy as np
import pytest
import wengert as wg
from scipy import linalg
from wengert.compiler.errors import NotDifferentiableError
from wengert.compiler.interpret import interpret
from wengert.compiler.ops.ties import coincide
from wengert.compiler.transforms.batch import batch

MODES = ("reverse", "forward")
RNG = np.random.default_rng(3)
C = RNG.normal(size=(4, 4))
Q = linalg.qr(RNG.normal(size=(4, 4)))[0]
P = linalg.qr(RNG.normal(size=(3, 3)))[0]
B = RNG.normal(size=3)


def turned(*w):
    return P @ np.diag(w) @ P.T


SYMMETRIC = {"identity": np.eye(3), "diagonal": np.diag([1.0, 1.0, 2.0]),
             "turned": turned(1.0, 2.0, 2.0), "three": turned(1.5, 1.5, 1.5),
             "distinct": turned(1.0, 2.0, 4.0)}
ANY = {**SYMMETRIC, "tall": Q[:, :3] @ np.diag([2.0, 2.0, 1.0]) @ P,
       "wide": (Q[:, :3] @ np.diag([2.0, 2.0, 1.0]) @ P).T, "product": P @ np.diag([1, 1, 2.0]) @ Q[:3, :3]}
LOW = {"zero": np.zeros((3, 3)), "rank 1": P @ np.diag([2.0, 0.0, 0.0]) @ P.T,
       "tall zero": np.zeros((4, 3)), "tall rank 1": Q[:, :3] @ np.diag([2.0, 0.0, 0.0]) @ P,
       "wide rank 2": (Q[:, :3] @ np.diag([2.0, 1.0, 0.0]) @ P).T}


def differences(f, a, t, h=2e-3):
    """Directional derivative to eighth order."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    return sum(w * (f(a + k * h * t) - f(a - k * h * t)) for k, w in enumerate(weights, 1)) / h


def weighted(m):
    return np.sum(C[:m.shape[-2], :m.shape[-1]] * m)


def of_eigh(g):
    def f(a):
        w, v = np.linalg.eigh(a)
        return weighted((v * g(w)) @ v.T)
    return f


def of_svd(g):
    def f(a):
        u, s, vt = np.linalg.svd(a, full_matrices=False)
        return weighted(u @ (g(s)[:, None] * vt))
    return f


def by_einsum(a):
    w, v = np.linalg.eigh(a)
    return weighted(np.einsum("ik,k,jk->ij", v, np.log(w), v)) ** 2


def whitened(a):
    w, v = np.linalg.eigh(a)
    return np.sum(np.sin((v / np.sqrt(w)) @ v.T @ B) * B)


def by_diag(a):
    w, v = np.linalg.eigh(a)
    m = v @ np.diag(np.sqrt(w)) @ v.T
    return weighted(m @ a @ m)


def by_parts(a):
    w, v = np.linalg.eigh(a)
    total = np.zeros((3, 3))
    for k in range(3):
        total = total + np.tanh(w[k]) * np.outer(v[:, k], v[:, k])
    return weighted(total)


def by_eig(a):
    w, v = np.linalg.eig(a)
    return weighted(np.real((v * np.exp(w)) @ np.linalg.inv(v)))


def in_a_stack(a):
    w, v = np.linalg.eigh(np.stack([a, a @ a.T, a + np.diag([1.0, 2.0, 3.0])]))
    return np.sum(np.sin((v * np.exp(-w)[:, None, :]) @ np.swapaxes(v, -1, -2))[:, 0] * B)


def by_scipy(a):
    w, v = linalg.eigh(a)
    return weighted((v * w ** 3) @ v.T)


def polar(a):
    u, _, vt = np.linalg.svd(a, full_matrices=False)
    return weighted(u @ vt)


def stretch(a):
    _, s, vt = np.linalg.svd(a, full_matrices=False)
    return weighted((vt.T * s) @ vt)


EIGH = {"exp": of_eigh(np.exp), "cube": of_eigh(lambda w: w ** 3), "einsum": by_einsum,
        "whitened": whitened, "diag": by_diag, "parts": by_parts, "eig": by_eig,
        "stack": in_a_stack, "scipy": by_scipy}
SVD = {"tanh": of_svd(np.tanh), "itself": of_svd(lambda s: s), "polar": polar, "stretch": stretch,
       "nuclear norm": lambda a: np.linalg.norm(a, "nuc")}
CASES = [("exp", a) for a in SYMMETRIC] + [(f, "turned") for f in EIGH] + [
    ("tanh", a) for a in (*ANY, *LOW)] + [(f, "turned") for f in SVD] + [
    (f, a) for f in ("polar", "nuclear norm") for a in ("identity", "product")] + [
    ("cube", "zero"), ("itself", "tall rank 1"), ("eig", "diagonal"), ("eig", "identity")]


def check(f, a, mode, rtol=1e-10):
    found = wg.grad(f, mode=mode)(a)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        t = rng.normal(size=a.shape)
        if np.iscomplexobj(a):
            t = t + 1j * rng.normal(size=a.shape)
        wanted = differences(f, a, t)
        assert abs(np.real(np.sum(found * t)) - wanted) <= rtol * max(1.0, abs(wanted))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("function", "matrix"), CASES)
def test_gradient(function, matrix, mode):
    check({**EIGH, **SVD}[function], {**ANY, **LOW}[matrix], mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("w", [(1, 1, 1), (1, 1, 2), (2, 1, 0)])
def test_complex_matrices(w, mode):
    rng = np.random.default_rng(5)
    u, v = (linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))[0][:, :3]
            for _ in "uv")
    d = C[:3, :3] + 1j * C[1:, 1:]

    def of_hermitian(a):
        w, v = np.linalg.eigh(a)
        return np.sum(np.real(d * ((v * np.exp(w)) @ np.conj(v).T)))

    def of_any(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sum(np.real(d[0, 0] * ((u * np.sin(s)) @ vh) ** 2))
    a = u[:3, :3] * np.array(w) @ np.conj(u[:3, :3]).T
    q = linalg.qr(u[:3, :3])[0]
    check(of_hermitian, (q * np.array(w)) @ np.conj(q).T, mode)
    for a in ((u * np.array(w)) @ np.conj(v[:3]), (q * np.array(w)) @ linalg.qr(v[:3])[0]):
        check(of_any, a, mode)


def test_the_exponential_to_rounding():
    a = SYMMETRIC["turned"]
    for mode in MODES:
        found = wg.grad(of_eigh(np.exp), mode=mode)(a)
        for i, j in ((0, 0), (1, 0), (2, 1)):
            t = np.zeros((3, 3))
            t[i, j] = t[j, i] = 1.0
            wanted = np.sum(C[:3, :3] * linalg.expm_frechet(a, t, compute_expm=False))
            assert found[i, j] == pytest.approx(wanted, rel=1e-13)


def test_single_precision():
    a = SYMMETRIC["turned"].astype(np.float32)
    for function in (of_eigh(np.exp), of_svd(np.tanh)):
        found = wg.grad(function)(a)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wg.grad(function)(SYMMETRIC["turned"]), rtol=2e-5,
                                   atol=2e-5)


def test_jacobian_in_both_modes():
    def root(a):
        w, v = np.linalg.eigh(a)
        return (v * np.sqrt(w)) @ v.T
    a = SYMMETRIC["turned"]
    for mode in MODES:
        found = wg.jacobian(root, mode=mode)(a)
        for i, j in np.ndindex(3, 3):
            t = np.zeros((3, 3))
            t[i, j] = 1.0
            t = np.tril(t) + np.tril(t, -1).T
            r = linalg.sqrtm(a)
            np.testing.assert_allclose(found[..., i, j], linalg.solve_sylvester(r, r, t),
                                       rtol=1e-12, atol=1e-12)


# -- what is not smooth, and what is not known ----------------------------------------------------


@pytest.mark.parametrize(("function", "values"), [
    (lambda a: np.linalg.eigh(a)[1][1, 0], (1.0, 1.0, 2.0)),
    (lambda a: np.sum(np.linalg.svd(a)[2][2, 1:]), (2.0, 1.0, 1.0)),
    (lambda a: np.sum(np.linalg.svd(a)[0][1:, 2]) * np.exp(a[0, 0]), (2.0, 1.0, 1.0)),
    (lambda a: np.real(np.linalg.eig(a)[1][1, 0]), (2.0, 2.0, 1.0))])
def test_one_vector_of_several_has_no_derivative(function, values):
    assert np.isnan(wg.grad(function)(np.diag(values))).any()


def test_a_vector_of_a_single_value_has_one():
    def tip(a):
        return np.linalg.eigh(a)[1][1, 2]
    for mode in MODES:
        np.testing.assert_allclose(wg.grad(tip, mode=mode)(np.diag([1.0, 1.0, 2.0])),
                                   [[0, 0, 0], [0, 0, 0], [0, 1, 0]], atol=1e-15)


def test_second_derivatives_of_functions_of_the_values():
    found = wg.hessian(lambda a: np.sum(np.linalg.eigvalsh(a) ** 3))(np.eye(2))    # tr A³
    wanted = np.zeros((2, 2, 2, 2))
    wanted[0, 0, 0, 0] = wanted[1, 1, 1, 1] = 6.0
    wanted[1, 0, 1, 0] = 12.0                       # 3·(a00 + a11)·2 of 3·(a00 + a11)·a10²
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_second_derivatives_through_the_vectors_are_refused():
    hessian = wg.hessian(of_eigh(np.exp))
    assert np.isfinite(hessian(SYMMETRIC["distinct"])).all()
    with pytest.raises(NotDifferentiableError, match="coincide"):
        hessian(np.eye(3))


# -- programs -------------------------------------------------------------------------------------


def test_distinct_and_equal_values_have_programs_of_their_own():
    gradient = wg.grad(of_eigh(np.exp))
    gradient(SYMMETRIC["distinct"])
    assert "if np.any(np.abs(np.diff(w)) <=" in gradient.source
    assert gradient.source.count("np.where") == 0
    gradient(SYMMETRIC["identity"])
    assert len(gradient.programs) == 2
    gradient(SYMMETRIC["turned"])
    gradient(SYMMETRIC["distinct"])
    assert len(gradient.programs) == 2


def test_no_branch_where_nothing_is_divided_by_gaps():
    for request in (wg.compile(of_eigh(np.exp)), wg.grad(lambda a: np.sum(
            np.linalg.eigvalsh(a) ** 3)), wg.grad(lambda a: np.linalg.norm(a, "nuc") ** 2)):
        request(SYMMETRIC["distinct"])
        assert "other_branch" not in request.source.split("def other")[0]


def test_a_batch_takes_the_branch_if_any_example_does():
    graph = wg.trace(of_eigh(np.exp))(SYMMETRIC["distinct"])
    many, _ = batch(graph, 2, [True])
    (guard,) = many.guards
    assert guard.node.op is coincide
    stack = np.stack([SYMMETRIC["distinct"], np.eye(3)])
    assert coincide(np.linalg.eigh(stack)[0], zero=False, ordered=True)
    assert not coincide(np.linalg.eigh(stack[:1])[0], zero=False, ordered=True)
    assert interpret(many, np.stack([stack[0], stack[0] + 1e-3]))[0].shape == (2,)


def test_types_alone_presume_that_values_differ():
    program = wg.grad(of_eigh(np.exp)).specialize(wg.trace(of_eigh(np.exp))(
        np.eye(3)).inputs[0].type)
    assert "other_branch" in program.source.text
