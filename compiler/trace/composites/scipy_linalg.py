"""The functions of ``scipy.linalg`` over the linear algebra rows.

Whatever is not written here refuses traced values, naming the function. ``scipy.linalg`` is
loaded when first needed.
"""

from typing import Any

import numpy as np

from ...errors import UnsupportedArgumentError
from ...ops import decompositions, solvers
from ...ops import linalg as rows
from ...ops.matrix import adjoint, transposed
from ..locate import locate
from ..registry import CLOSED_LATE, stands_for_late
from . import linalg as numpy_linalg
from .common import as_array
from .layout import ravel
from .reduction import norm

_MODULE = "scipy.linalg"
CLOSED_LATE.add(_MODULE)


def _double(x: Any) -> Any:
    """In double precision, where SciPy computes in nothing less."""
    x = as_array(x)
    dtype = np.dtype(complex if x.dtype.kind == "c" else float)
    return x if x.dtype == dtype else x.astype(dtype)


stands_for_late(_MODULE, "inv")(lambda a, *_, **__: numpy_linalg.inv(a))
stands_for_late(_MODULE, "det")(lambda a, *_, **__: numpy_linalg.det(_double(a)))
stands_for_late(_MODULE, "svdvals")(lambda a, *_, **__: numpy_linalg.svdvals(a))


@stands_for_late(_MODULE, "norm")
def scipy_norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False,
               check_finite: bool = True) -> Any:
    """Vector and matrix norms."""
    out = norm(a, ord, axis, keepdims)
    by_lapack = axis is None and not keepdims and (
        (out.ndim == 0 and as_array(a).ndim == 1 and ord in (None, 2))
        or (as_array(a).ndim == 2 and ord in (1, np.inf)))
    return _double(out) if by_lapack else out


def _refuse(function: str, **options: Any) -> None:
    """Raise for options that are set; each is given as (value, neutral)."""
    for name, (value, neutral) in options.items():
        if value is not neutral and value != neutral:
            raise UnsupportedArgumentError(
                f"scipy.linalg.{function} with {name}= is not supported on traced values.",
                "Leave the option out.", locate())


def _stored(a: Any, lower: bool) -> Any:
    """The Hermitian matrix of which one triangle is read."""
    return decompositions.hermitian_of(a, lower)


@stands_for_late(_MODULE, "solve")
def solve(a: Any, b: Any, lower: bool = False, overwrite_a: bool = False,
          overwrite_b: bool = False, check_finite: bool = True, assume_a: Any = None,
          transposed: bool = False) -> Any:
    """Solution of a linear system."""
    a = as_array(a)
    kind = {"symmetric": "sym", "hermitian": "her", "positive definite": "pos", "general": "gen",
            None: "gen"}.get(assume_a, assume_a)
    if kind in ("her", "pos") or (kind == "sym" and a.dtype.kind != "c"):
        a = _stored(a, lower)
    elif kind != "gen":
        _refuse("solve", assume_a=(assume_a, None))
    return numpy_linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


@stands_for_late(_MODULE, "pinv")
def pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False,
         check_finite: bool = True) -> Any:
    """Pseudo-inverse."""
    _refuse("pinv", atol=(atol, None))
    a = as_array(a)
    rtol = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps) if rtol is None else rtol
    out = numpy_linalg.pinv(a, rtol)
    return (out, numpy_linalg.matrix_rank(a, rtol=rtol)) if return_rank else out


@stands_for_late(_MODULE, "cholesky")
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
             ) -> Any:
    """Cholesky factor; upper unless told otherwise."""
    return numpy_linalg.cholesky(a, upper=not lower)


@stands_for_late(_MODULE, "cho_factor")
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
               ) -> Any:
    """Cholesky factor for :func:`cho_solve`."""
    return cholesky(a, lower), lower


@stands_for_late(_MODULE, "cho_solve")
def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
              ) -> Any:
    """Solution by a Cholesky factor."""
    c, lower = c_and_lower
    first, second = (0, 2) if lower else (2, 0)
    return solve_triangular(c, solve_triangular(c, b, first, lower), second, lower)


@stands_for_late(_MODULE, "solve_triangular")
def solve_triangular(a: Any, b: Any, trans: Any = 0, lower: bool = False,
                     unit_diagonal: bool = False, overwrite_b: bool = False,
                     check_finite: bool = True) -> Any:
    """Solution with a triangular matrix."""
    a, b = as_array(a), as_array(b)
    trans = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    options = {"lower": bool(lower), "unit_diagonal": bool(unit_diagonal)}
    if trans == 2 and a.dtype.kind == "c":
        return np.conj(solvers.solve_triangle(a, np.conj(b), trans=1, **options))
    return solvers.solve_triangle(a, b, trans=1 if trans else 0, **options)


@stands_for_late(_MODULE, "lu_factor")
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Packed LU factorization and row exchanges."""
    return decompositions.lu_factor(as_array(a))


@stands_for_late(_MODULE, "lu_solve")
def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False,
             check_finite: bool = True) -> Any:
    """Solution by an LU factorization."""
    lu, piv = map(as_array, lu_and_piv)
    b = as_array(b)
    if trans == 2 and lu.dtype.kind == "c":
        return np.conj(solvers.lu_solve(lu, piv, np.conj(b), trans=1))
    return solvers.lu_solve(lu, piv, b, trans=1 if trans else 0)


@stands_for_late(_MODULE, "lu")
def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True,
       p_indices: bool = False) -> Any:
    """P, L and U of a square matrix."""
    packed, piv = lu_factor(a)
    unit = np.eye(packed.shape[0], dtype=packed.dtype)
    p = solvers.lu_solve(unit, piv, unit, trans=1)
    low, up = np.tril(packed, -1) + unit, np.triu(packed)
    if permute_l:
        return p @ low, up
    return (np.argmax(np.real(p), axis=1) if p_indices else np.real(p)), low, up


@stands_for_late(_MODULE, "qr")
def qr(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full",
       pivoting: bool = False, check_finite: bool = True) -> Any:
    """QR decomposition."""
    _refuse("qr", pivoting=(pivoting, False))
    a = as_array(a)
    if mode == "economic":
        return tuple(numpy_linalg.qr(a))
    if mode not in ("full", "r"):
        _refuse("qr", mode=(mode, "full"))
    q, r = numpy_linalg.qr(a, "complete")
    if mode == "r" and a.shape[-2] > a.shape[-1]:
        reduced = numpy_linalg.qr(a, "r")
        r = np.concatenate([reduced, np.zeros_like(a)[..., a.shape[-1]:, :]], axis=-2)
    return (r,) if mode == "r" else (q, r)


@stands_for_late(_MODULE, "eigh")
def eigh(a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False,
         subset_by_index: Any = None, subset_by_value: Any = None, type: int = 1,
         **_: Any) -> Any:
    """Eigenvalues and eigenvectors of a Hermitian matrix; generalized ones with ``b``."""
    _refuse("eigh", subset_by_index=(subset_by_index, None), type=(type, 1),
            subset_by_value=(subset_by_value, None))
    a = as_array(a)
    if b is None:
        w, v = numpy_linalg.factor_eigh(a, bool(lower))
    else:                                   # b = L Lᴴ: L⁻¹ a L⁻ᴴ y = w y, v = L⁻ᴴ y
        factor = decompositions.cholesky(_stored(as_array(b), lower))
        inner = solvers.solve_triangle(factor, _stored(a, lower), lower=True)
        inner = solvers.solve_triangle(factor, adjoint(inner), lower=True)
        w, y = numpy_linalg.factor_eigh(inner, True)
        v = solve_triangular(factor, y, 2, True)
    return w if eigvals_only else (w, v)


@stands_for_late(_MODULE, "eigvalsh")
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, **options: Any) -> Any:
    """Eigenvalues of a Hermitian matrix."""
    return eigh(a, b, lower=lower, eigvals_only=True, **options)


@stands_for_late(_MODULE, "eigvals")
def eigvals(a: Any, b: Any = None, *_: Any, **__: Any) -> Any:
    """Eigenvalues, always complex."""
    return eig(a, b, right=False)


@stands_for_late(_MODULE, "eig")
def eig(a: Any, b: Any = None, left: bool = False, right: bool = True, *_: Any, **__: Any) -> Any:
    """Eigenvalues (always complex) and right eigenvectors."""
    _refuse("eig", b=(b, None), left=(left, False))
    a = as_array(a)
    w, v = numpy_linalg.factor_eig(a)
    if not right:
        return w
    return w, v if a.dtype.kind == "c" else numpy_linalg.real_if_all(w, v)[0]


@stands_for_late(_MODULE, "svd")
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, *_: Any, **__: Any) -> Any:
    """Singular value decomposition."""
    out = numpy_linalg.svd(a, full_matrices, compute_uv)
    return tuple(out) if compute_uv else out


@stands_for_late(_MODULE, "polar")
def polar(a: Any, side: str = "right") -> Any:
    """Unitary and positive factor."""
    u, s, vh = numpy_linalg.factor_svd(as_array(a))
    if side == "right":
        return u @ vh, (adjoint(vh) * s[..., None, :]) @ vh
    return u @ vh, (u * s[..., None, :]) @ adjoint(u)


@stands_for_late(_MODULE, "orthogonal_procrustes")
def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> Any:
    """The orthogonal matrix that maps A closest to B, and the sum of singular values."""
    u, s, vh = numpy_linalg.factor_svd(transposed(transposed(as_array(B)) @ np.conj(as_array(A))))
    return u @ vh, np.sum(s)


@stands_for_late(_MODULE, "lstsq")
def lstsq(a: Any, b: Any, cond: Any = None, *_: Any, **__: Any) -> Any:
    """Least-squares solution, residuals, rank, singular values."""
    a = as_array(a)
    cond = float(np.finfo(a.dtype).eps) if cond is None else cond
    x, residuals, rank, s = numpy_linalg.lstsq(a, b, cond)
    return x, residuals, rank.astype(np.int64), s


@stands_for_late(_MODULE, "solve_banded")
def solve_banded(l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False,
                 overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Solution with a banded matrix."""
    lower, upper = map(int, l_and_u)
    return solvers.solve_banded(as_array(ab), as_array(b), lower=lower, upper=upper)


@stands_for_late(_MODULE, "solveh_banded")
def solveh_banded(ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False,
                  lower: bool = False, check_finite: bool = True) -> Any:
    """Solution with a Hermitian banded matrix, of which one half is given."""
    ab = as_array(ab)
    n = ab.shape[0] - 1
    half = ab if lower else ab[::-1]                # half[d, j]: A[j + d, j], or A[j − d, j]
    shift = 1 if lower else -1
    other = [np.roll(np.conj(half[d]), shift * d) for d in range(n, 0, -1)]
    rest = [half[d] for d in range(n + 1)]
    bands = np.stack([*other, *rest] if lower else [*rest[::-1], *other[::-1]])
    return solvers.solve_banded(bands, as_array(b), lower=n, upper=n)


@stands_for_late(_MODULE, "toeplitz")
def toeplitz(c: Any, r: Any = None) -> Any:
    """Matrix of constant diagonals."""
    c = ravel(as_array(c))
    r = np.conj(c) if r is None else ravel(as_array(r))
    values = np.concatenate([r[:0:-1], c])
    m, n = c.shape[0], r.shape[0]
    return values[np.arange(m)[:, None] - np.arange(n) + (n - 1)]


def _toeplitz_of(c_or_cr: Any) -> Any:
    columns = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)
    return toeplitz(*map(_double, columns))


@stands_for_late(_MODULE, "hankel")
def hankel(c: Any, r: Any = None) -> Any:
    """Matrix of constant anti-diagonals."""
    c = ravel(as_array(c))
    r = np.zeros_like(c) if r is None else ravel(as_array(r))
    values = np.concatenate([c, r[1:]])
    return values[np.arange(c.shape[0])[:, None] + np.arange(r.shape[0])]


@stands_for_late(_MODULE, "circulant")
def circulant(c: Any) -> Any:
    """Matrix whose columns are the shifts of a vector."""
    c = as_array(c)
    n = c.shape[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)) % n]


@stands_for_late(_MODULE, "block_diag")
def block_diag(*arrs: Any) -> Any:
    """Matrices along the diagonal, zeros elsewhere."""
    blocks = [_as_matrix(a) for a in arrs]
    columns = sum(b.shape[1] for b in blocks)
    padded, start = [], 0
    for block in blocks:
        stop = start + block.shape[1]
        padded.append(np.pad(block, ((0, 0), (start, columns - stop))))
        start = stop
    return np.concatenate(padded)


def _as_matrix(a: Any) -> Any:
    a = as_array(a)
    return np.reshape(a, (1,) * (2 - a.ndim) + a.shape)


@stands_for_late(_MODULE, "solve_toeplitz")
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Solution with a Toeplitz matrix."""
    return numpy_linalg.solve(_toeplitz_of(c_or_cr), _double(b))


@stands_for_late(_MODULE, "solve_circulant")
def solve_circulant(c: Any, b: Any, *_: Any, **options: Any) -> Any:
    """Solution with a circulant matrix."""
    _refuse("solve_circulant", **{k: (v, None) for k, v in options.items()})
    return numpy_linalg.solve(circulant(c), b)


@stands_for_late(_MODULE, "matmul_toeplitz")
def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """Product with a Toeplitz matrix."""
    return _toeplitz_of(c_or_cr) @ _double(x)


@stands_for_late(_MODULE, "solve_sylvester")
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solution of ``a @ x + x @ b = q``."""
    return solvers.solve_sylvester(as_array(a), as_array(b), as_array(q))


@stands_for_late(_MODULE, "solve_continuous_lyapunov", "solve_lyapunov")
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solution of ``a @ x + x @ aᴴ = q``."""
    a = as_array(a)
    return solvers.solve_sylvester(a, adjoint(a), as_array(q))


@stands_for_late(_MODULE, "solve_discrete_lyapunov")
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """Solution of ``a @ x @ aᴴ − x + q = 0``, by its linear system of n² equations."""
    a, q = as_array(a), as_array(q)
    n = a.shape[-1]
    system = np.eye(n * n) - np.kron(a, np.conj(a))
    return np.reshape(numpy_linalg.solve(system, ravel(q)), (n, n))


@stands_for_late(_MODULE, "expm")
def expm(A: Any) -> Any:
    """Matrix exponential."""
    return rows.expm(as_array(A))


@stands_for_late(_MODULE, "expm_frechet")
def expm_frechet(A: Any, E: Any, method: Any = None, compute_expm: bool = True,
                 check_finite: bool = True) -> Any:
    """Matrix exponential and its derivative in a direction."""
    A = _double(A)
    derivative = rows.expm_frechet(A, _double(E))
    return (rows.expm(A), derivative) if compute_expm else derivative


def _rotation(part: Any, factor: complex, sign: float) -> Any:
    """(exp(cA) ± exp(−cA)) / 2c or / 2; the real part of it for a real matrix."""
    def function(A: Any) -> Any:
        A = as_array(A)
        plus, minus = rows.expm(factor * A), rows.expm(-factor * A)
        value = (plus + sign * minus) / (2.0 if part else 2.0 * factor)
        return value if A.dtype.kind == "c" else np.real(value)
    return function


cosm = stands_for_late(_MODULE, "cosm")(_rotation(True, 1j, 1.0))
sinm = stands_for_late(_MODULE, "sinm")(_rotation(False, 1j, -1.0))
coshm = stands_for_late(_MODULE, "coshm")(_rotation(True, 1.0, 1.0))
sinhm = stands_for_late(_MODULE, "sinhm")(_rotation(False, 1.0, -1.0))


@stands_for_late(_MODULE, "tanm")
def tanm(A: Any) -> Any:
    """Matrix tangent."""
    return numpy_linalg.solve(cosm(A), sinm(A))


@stands_for_late(_MODULE, "tanhm")
def tanhm(A: Any) -> Any:
    """Hyperbolic matrix tangent."""
    return numpy_linalg.solve(coshm(A), sinhm(A))


@stands_for_late(_MODULE, "sqrtm")
def sqrtm(A: Any, *_: Any, **__: Any) -> Any:
    """Matrix square root; real where a real matrix has a real one."""
    A = as_array(A)
    root = rows.sqrtm(A)
    return root if A.dtype.kind == "c" else numpy_linalg.real_if_all(root, root)[0]


@stands_for_late(_MODULE, "logm")
def logm(A: Any, disp: Any = True) -> Any:
    """Matrix logarithm; real where a real matrix has a real one."""
    _refuse("logm", disp=(disp, True))
    A = _double(A)
    log = rows.logm(A)
    return log if A.dtype.kind == "c" else numpy_linalg.real_if_all(log, log)[0]
