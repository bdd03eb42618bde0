"""Calls of linear algebra and of Fourier transforms: data for the tests of composites.

Matrices are drawn as small random numbers on top of one that is far from singular.
"""

import numpy as np
from calls import a, by_name, call, cplx, of
from calls import positive as above_zero
from scipy import fft, linalg, signal

BASE = np.array([[3.0, -0.6, 0.3], [0.5, 2.0, -0.8], [-0.4, 0.9, 4.0]])
TALL = np.array([[2.0, 0.5], [-0.3, 1.5], [0.4, -0.6], [0.1, 0.9]])
TRIPLE = np.stack([BASE, BASE.T + 1.0])


def near(x):
    """A matrix that is far from singular, in the precision of x."""
    base = {2: BASE, 3: TRIPLE}[x.ndim] if x.shape[-1] == 3 else TALL
    return x * 0.2 + base.astype(x.real.dtype)


def positive(x):
    """A positive definite matrix."""
    m = near(x)
    return m @ np.conj(np.swapaxes(m, -1, -2))


def on(function, *shapes, made=near, **options):
    """``function(matrix, …)`` for a matrix made from the first operand."""
    operands = [s if hasattr(s, "kind") else a(*s) for s in shapes]
    named = by_name(function)
    return of(function, lambda x, *rest: named(made(x), *rest, **options), *operands)


def signless(result):
    """Eigenvalues, and the squares of the eigenvectors, whose signs LAPACK chooses at will."""
    return result[0], result[1] * result[1]


NUMPY = [
    on(np.linalg.solve, (3, 3), (3,)), on(np.linalg.solve, (3, 3), (3, 2)),
    on(np.linalg.solve, (2, 3, 3), (3,)), on(np.linalg.solve, (2, 3, 3), (3, 1)),
    on(np.linalg.solve, cplx(3, 3), (3,)), on(np.linalg.solve, (3, 3), cplx(2, 3, 2)),
    on(np.linalg.inv, (3, 3)), on(np.linalg.inv, (2, 3, 3)), on(np.linalg.inv, cplx(3, 3)),
    call(np.linalg.det, a(3, 3)), call(np.linalg.det, a(2, 4, 4)), call(np.linalg.det, a(1, 1)),
    call(np.linalg.det, cplx(2, 2)), on(np.linalg.det, (3, 3)),
    on(np.linalg.slogdet, (3, 3)), on(np.linalg.slogdet, (2, 3, 3)),
    on(np.linalg.slogdet, cplx(3, 3)),
    on(np.linalg.pinv, (3, 3)), on(np.linalg.pinv, (4, 2)),
    on(np.linalg.pinv, (3, 3), rcond=1e-12), on(np.linalg.pinv, (3, 3), rtol=1e-12),
    on(np.linalg.pinv, (3, 3), made=positive, hermitian=True),
    on(np.linalg.matrix_rank, (3, 3)), on(np.linalg.matrix_rank, (3, 3), tol=100.0),
    on(np.linalg.cholesky, (3, 3), made=positive),
    on(np.linalg.cholesky, (2, 3, 3), made=positive),
    on(np.linalg.cholesky, cplx(3, 3), made=positive),
    on(np.linalg.cholesky, (3, 3), made=positive, upper=True),
    on(np.linalg.cholesky, cplx(3, 3), made=positive, upper=True),
    on(np.linalg.qr, (3, 3)), on(np.linalg.qr, (4, 2)), on(np.linalg.qr, (2, 3, 3)),
    on(np.linalg.qr, (3, 3), mode="complete"), on(np.linalg.qr, (4, 2), mode="r"),
    call(np.linalg.qr, a(2, 4)), call(np.linalg.qr, cplx(4, 2)),
    on(np.linalg.eigh, (3, 3), made=positive), on(np.linalg.eigh, (3, 3), made=positive, UPLO="U"),
    on(np.linalg.eigh, (2, 3, 3), made=positive), on(np.linalg.eigh, cplx(3, 3), made=positive),
    on(np.linalg.eigvalsh, (3, 3), made=positive),
    on(np.linalg.eig, (3, 3)), on(np.linalg.eig, (3, 3), made=positive),
    call(np.linalg.eig, cplx(3, 3)),
    of(np.linalg.eig, lambda x: signless(np.linalg.eig(x - np.swapaxes(x, 0, 1))), a(3, 3)),
    on(np.linalg.eigvals, (3, 3), made=positive), on(np.linalg.eigvals, (2, 3, 3)),
    of(np.linalg.eigvals, lambda x: np.linalg.eigvals(x - np.swapaxes(x, 0, 1)), a(3, 3)),
    call(np.linalg.eigvals, cplx(3, 3)),
    on(np.linalg.svd, (3, 3)), on(np.linalg.svd, (4, 2), full_matrices=False),
    on(np.linalg.svd, (4, 2), compute_uv=False), on(np.linalg.svd, (2, 3, 3)),
    of(np.linalg.svd, lambda x: np.linalg.svd(near(x)).S, a(4, 2)),
    on(np.linalg.svdvals, (4, 2)),
    of(np.linalg.lstsq, lambda x, b: np.linalg.lstsq(near(x), b)[0], a(4, 2), a(4)),
    of(np.linalg.lstsq, lambda x, b: np.linalg.lstsq(near(x), b), a(4, 2), a(4, 3)),
    of(np.linalg.lstsq, lambda x, b: np.linalg.lstsq(near(x), b, rcond=-1), a(3, 3), a(3)),
    of(np.linalg.lstsq, lambda x, b: np.linalg.lstsq(near(x).T, b, 1e-10)[0], a(4, 2), a(2)),
    *[on(np.linalg.matrix_power, (3, 3), n=n) for n in (0, 1, 2, 3, 7, -1, -2)],
    *[on(np.linalg.cond, (3, 3), p=p) for p in (None, 2, -2, 1, np.inf, "fro")],
    *[on(np.linalg.norm, (3, 3), ord=p) for p in ("nuc", 2, -2)],
    on(np.linalg.norm, (2, 3, 3), ord="nuc", axis=(1, 2), keepdims=True),
    on(np.linalg.matrix_norm, (2, 3, 3)), on(np.linalg.matrix_norm, (3, 3), ord=1, keepdims=True),
    of(np.linalg.tensorsolve, lambda x, b: np.linalg.tensorsolve(
        np.reshape(near(x), (3, 1, 3)), b), a(3, 3), a(3, 1)),
    of(np.linalg.tensorsolve, lambda x, b: np.linalg.tensorsolve(
        np.reshape(near(x), (1, 3, 3)), b, axes=(1,)), a(3, 3), a(1, 3)),
    of(np.linalg.tensorinv, lambda x: np.linalg.tensorinv(
        np.reshape(near(x), (3, 1, 3)), ind=2), a(3, 3)),
]

SCIPY = [
    on(linalg.solve, (3, 3), (3,)), on(linalg.solve, cplx(3, 3), (3, 2)),
    on(linalg.solve, (3, 3), (3,), transposed=True),
    on(linalg.solve, (3, 3), (3,), made=positive, assume_a="pos"),
    on(linalg.solve, (3, 3), (3,), assume_a="sym", lower=True),
    on(linalg.inv, (3, 3)), on(linalg.det, (3, 3)), on(linalg.pinv, (4, 2)),
    on(linalg.svdvals, (3, 3)), on(linalg.eigvals, (3, 3), made=positive),
    on(linalg.norm, (3, 3)), on(linalg.norm, (3, 3), ord=1),
    on(linalg.cholesky, (3, 3), made=positive), on(linalg.cholesky, (3, 3), made=positive,
                                                   lower=True),
    of(linalg.cho_factor, lambda x: np.triu(linalg.cho_factor(positive(x))[0]), a(3, 3)),
    *[of(linalg.cho_solve, lambda x, b, low=low: linalg.cho_solve(
        linalg.cho_factor(positive(x), lower=low), b), x, a(3))
      for low in (True, False) for x in (a(3, 3), cplx(3, 3))],
    *[on(linalg.solve_triangular, x, (3, 2), trans=trans, lower=low, unit_diagonal=unit)
      for x in ((3, 3), cplx(3, 3)) for trans in (0, "T", 2) for low in (True, False)
      for unit in (True, False)],
    on(linalg.lu_factor, (3, 3)), on(linalg.lu_factor, cplx(3, 3)),
    *[of(linalg.lu_solve, lambda x, b, trans=trans: linalg.lu_solve(
        linalg.lu_factor(near(x)[::-1]), b, trans), x, a(3))
      for trans in (0, 1, 2) for x in (a(3, 3), cplx(3, 3))],
    of(linalg.lu, lambda x: linalg.lu(near(x)[::-1]), a(3, 3)),
    of(linalg.lu, lambda x: linalg.lu(near(x)[::-1], permute_l=True), a(3, 3)),
    of(linalg.lu, lambda x: linalg.lu(near(x)[::-1], p_indices=True)[1:], a(3, 3)),
    on(linalg.qr, (3, 3)), on(linalg.qr, (4, 2), mode="economic"), on(linalg.qr, (4, 2), mode="r"),
    *[of(linalg.eigh, lambda x, low=low: signless(linalg.eigh(positive(x), lower=low)), a(3, 3))
      for low in (True, False)],
    of(linalg.eigh, lambda x, b: linalg.eigh(positive(x), positive(b), eigvals_only=True),
       a(3, 3), a(3, 3)),
    of(linalg.eigh, lambda x, b: np.abs(linalg.eigh(positive(x), positive(b))[1]),
       a(3, 3), a(3, 3)),
    on(linalg.eigvalsh, (3, 3), made=positive),
    of(linalg.eig, lambda x: signless(linalg.eig(x - x.T)), a(3, 3)),
    of(linalg.eig, lambda x: signless(linalg.eig(positive(x))), a(3, 3)),
    on(linalg.eig, (3, 3), made=positive, right=False),
    on(linalg.svd, (3, 3)), on(linalg.svd, (4, 2), full_matrices=False),
    on(linalg.svd, (4, 2), compute_uv=False),
    on(linalg.polar, (3, 3)), on(linalg.polar, (4, 2)), on(linalg.polar, cplx(3, 3), side="left"),
    on(linalg.orthogonal_procrustes, (4, 2), (4, 2)),
    of(linalg.lstsq, lambda x, b: linalg.lstsq(near(x), b), a(4, 2), a(4, 2)),
    of(linalg.solve_banded, lambda m, b: linalg.solve_banded((1, 2), np.stack(
        [m[0], m[1], m[2] + 6.0, m[3]]), b), a(4, 5), a(5)),
    *[of(linalg.solveh_banded, lambda m, b, low=low: linalg.solveh_banded(np.stack(
        [m[0] + 7.0, m[1], m[2]] if low else [m[2], m[1], m[0] + 7.0]), b, lower=low),
        a(3, 5), a(5, 2)) for low in (True, False)],
    of(linalg.solveh_banded, lambda m, b: linalg.solveh_banded(np.stack(
        [m[0].real + 7.0, m[1]]), b, lower=True), cplx(2, 4), a(4)),
    call(linalg.toeplitz, a(3)), call(linalg.toeplitz, a(3), a(4)), call(linalg.toeplitz, cplx(3)),
    call(linalg.hankel, a(3)), call(linalg.hankel, a(3), a(4)), call(linalg.circulant, a(4)),
    call(linalg.block_diag, a(2, 3), a(1, 2), a(2)),
    of(linalg.solve_toeplitz, lambda c, b: linalg.solve_toeplitz(
        c + np.array([6.0, 0, 0, 0], c.dtype), b), a(4), a(4)),
    of(linalg.solve_toeplitz, lambda c, r, b: linalg.solve_toeplitz(
        (c + np.array([6.0, 0, 0, 0], c.dtype), r), b), a(4), a(4), a(4, 2)),
    of(linalg.solve_circulant, lambda c, b: linalg.solve_circulant(
        c + np.array([6.0, 0, 0, 0], c.dtype), b), a(4), a(4)),
    call(linalg.matmul_toeplitz, (a(3), a(4)), a(4, 2)), call(linalg.matmul_toeplitz, a(3), a(3)),
    of(linalg.solve_sylvester, lambda x, y, q: linalg.solve_sylvester(near(x), near(y), q),
       a(3, 3), a(3, 3), a(3, 3)),
    on(linalg.solve_continuous_lyapunov, (3, 3), (3, 3)),
    on(linalg.solve_continuous_lyapunov, cplx(3, 3), cplx(3, 3)),
    of(linalg.solve_discrete_lyapunov, lambda x, q: linalg.solve_discrete_lyapunov(x / 5.0, q),
       a(2, 2), a(2, 2)),
    call(linalg.expm, a(3, 3)), call(linalg.expm, cplx(2, 2)), call(linalg.expm, a(2, 2, 2)),
    call(linalg.expm_frechet, a(2, 2), a(2, 2)),
    *[call(f, a(2, 2)) for f in (linalg.cosm, linalg.sinm, linalg.coshm, linalg.sinhm)],
    of(linalg.tanm, lambda x: linalg.tanm(x / 5.0), a(2, 2)),
    of(linalg.tanhm, lambda x: linalg.tanhm(x / 5.0), a(2, 2)), call(linalg.cosm, cplx(2, 2)),
    on(linalg.sqrtm, (3, 3), made=positive), on(linalg.sqrtm, cplx(3, 3)),
    of(linalg.sqrtm, lambda x: linalg.sqrtm(near(x) - np.eye(3, dtype=x.dtype) * 3), a(3, 3)),
]

_ONE = ({}, {"n": 3}, {"n": 6, "norm": "ortho"}, {"axis": 0, "norm": "forward"})
_MANY = ({}, {"s": (3, 5)}, {"axes": (1, 0), "norm": "ortho"})
FOURIER = [
    *[call(getattr(m, f), x, **options) for m in (np.fft, fft) for options in _ONE
      for f in ("fft", "ifft", "irfft", "hfft") for x in (a(2, 4), cplx(2, 5))],
    *[call(getattr(m, f), a(2, 4), **options) for m in (np.fft, fft) for options in _ONE
      for f in ("rfft", "ihfft")],
    *[call(getattr(m, f), cplx(3, 4), **options) for m in (np.fft, fft) for options in _MANY
      for f in ("fft2", "ifft2", "irfft2")],
    *[call(m.rfft2, a(3, 4), **options) for m in (np.fft, fft) for options in _MANY],
    *[call(getattr(m, f), cplx(2, 3, 4)) for m in (np.fft, fft)
      for f in ("fftn", "ifftn", "irfftn")],
    *[call(m.rfftn, a(2, 3, 4)) for m in (np.fft, fft)],
    call(np.fft.fftn, a(2, 3, 4), s=(2, 5), axes=(2, 0)), call(fft.fftn, a(2, 3, 4), s=(2, 5)),
    call(fft.hfft2, cplx(3, 4)), call(fft.ihfft2, a(3, 4)), call(fft.hfftn, cplx(2, 3)),
    call(fft.ihfftn, a(2, 3), norm="forward"),
    *[call(getattr(m, f), a(3, 4), **options) for m in (np.fft, fft)
      for f in ("fftshift", "ifftshift") for options in ({}, {"axes": 1}, {"axes": (0, 1)})],
    *[call(getattr(fft, f), a(2, 4), type=kind, norm=norm) for f in ("dct", "idct", "dst", "idst")
      for kind in (1, 2, 3, 4) for norm in (None, "ortho", "forward")],
    *[call(getattr(fft, f), a(4, 3), 2, n, 0) for f in ("dct", "idst") for n in (3, 6)],
    *[call(getattr(fft, f), a(3, 4)) for f in ("dctn", "idctn", "dstn", "idstn")],
    *[call(f, 5, d=above_zero()) for f in (fft.fftfreq, fft.rfftfreq)],
    call(fft.dctn, a(3, 4), 3, s=(4,), axes=(1,), norm="ortho"),
    *[call(signal.fftconvolve, a(5), a(3), mode=mode) for mode in ("full", "same", "valid")],
    call(signal.fftconvolve, a(3), a(5), "valid"), call(signal.fftconvolve, a(2, 5), a(2, 4)),
    call(signal.fftconvolve, cplx(1, 5), a(1, 4)),
]

TABLE = NUMPY + SCIPY + FOURIER
