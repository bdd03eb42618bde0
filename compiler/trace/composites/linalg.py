"""The functions of ``numpy.linalg`` over the linear algebra rows.

A factorization is always the whole row; where only one of its results is used, a late pass
replaces it by the function that computes just that one.
"""

import math
import operator
from typing import Any

import numpy as np

from ...errors import UnsupportedArgumentError
from ...ops import decompositions, solvers
from ...ops import linalg as rows
from ...ops.matrix import adjoint
from ...ops.ties import Ties
from ..builder import is_traced
from ..locate import locate
from ..registry import stands_for
from .common import as_array
from .contraction import matmul
from .reduction import norm

_NO = np._NoValue
_ONE = np.eye(1)

# NumPy's own result types, whose fields user code may name.
EigResult = type(np.linalg.eig(_ONE))
EighResult = type(np.linalg.eigh(_ONE))
QRResult = type(np.linalg.qr(_ONE))
SlogdetResult = type(np.linalg.slogdet(_ONE))
SVDResult = type(np.linalg.svd(_ONE))


@stands_for(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """Solution of ``a @ x = b``; one-dimensional ``b`` is one vector."""
    return solvers.solve(as_array(a), as_array(b))


@stands_for(np.linalg.inv)
def inv(a: Any) -> Any:
    """Inverse."""
    return rows.inv(as_array(a))


@stands_for(np.linalg.det)
def det(a: Any) -> Any:
    """Determinant."""
    return rows.det(as_array(a))


@stands_for(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """Sign and logarithm of the absolute value of the determinant."""
    return SlogdetResult(*rows.slogdet(as_array(a)))


@stands_for(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NO) -> Any:
    """Pseudo-inverse, differentiated at constant rank."""
    return rows.pinv(as_array(a), rcond=_static(rcond if rtol is _NO else rtol),
                     hermitian=hermitian)


def _static(value: Any) -> Any:
    """A tolerance as a plain number."""
    return None if value is None else float(value)


@stands_for(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Rank; its derivative is zero."""
    return rows.matrix_rank(as_array(A), tol=_static(tol), hermitian=hermitian,
                            rtol=_static(rtol))


@stands_for(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Cholesky factor; only the lower (with ``upper``, the upper) triangle is read."""
    a = as_array(a)
    return adjoint(decompositions.cholesky(adjoint(a))) if upper else decompositions.cholesky(a)


@stands_for(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """QR decomposition: reduced, complete, or R alone."""
    a = as_array(a)
    if mode == "raw":
        raise UnsupportedArgumentError("np.linalg.qr with mode='raw' is not supported on traced "
                                       "values.", "Use mode='reduced'.", locate())
    if mode == "complete" and a.shape[-2] > a.shape[-1]:
        return QRResult(*decompositions.qr_complete(a))
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode {mode!r}")
    q, r = decompositions.qr(a)
    return r if mode == "r" else QRResult(q, r)


def is_lower(uplo: str) -> bool:
    """Whether the lower triangle is meant."""
    if uplo.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return uplo.upper() == "L"


def _by_ties(ties: Ties, outs: Any, coincide: Any, a: Any, **params: Any) -> Any:
    """The results of a factorization, of its row for coinciding values if there are any."""
    if not is_traced(a) or not a.size or a.size < 2:
        return outs
    tie = coincide(outs[ties.values])        # of the trace in whose body this is, maybe
    return ties.op(a, **params) if tie.builder.presume(tie.node, False) else outs


def factor_eigh(a: Any, lower: bool) -> Any:
    """Eigenvalues and eigenvectors of a Hermitian matrix."""
    return _by_ties(decompositions.eigh_ties, decompositions.eigh(a, lower=lower),
                    decompositions.eigh_coincide, a, lower=lower)


def factor_eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors, always complex."""
    return _by_ties(decompositions.eig_ties, decompositions.eig(a), decompositions.eig_coincide, a)


def factor_svd(a: Any) -> Any:
    """Singular values and vectors, reduced."""
    exactly = a.shape[-1] == a.shape[-2] and a.dtype.kind != "c"
    return _by_ties(decompositions.svd_ties, decompositions.svd(a),
                    lambda s: decompositions.svd_coincide(s, not exactly), a)


@stands_for(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of the Hermitian matrix stored in one triangle."""
    return EighResult(*factor_eigh(as_array(a), is_lower(UPLO)))


@stands_for(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of the Hermitian matrix stored in one triangle."""
    return eigh(a, UPLO)[0]


def real_if_all(decisive: Any, *values: Any) -> tuple[Any, ...]:
    """The real parts if ``decisive`` has no imaginary part, as NumPy decides by the numbers."""
    if bool(np.all(np.imag(decisive) == 0)):
        return tuple(np.real(v) for v in values)
    return values


@stands_for(np.linalg.eig)
def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors; real ones where a real matrix has only real ones."""
    a = as_array(a)
    w, v = factor_eig(a)
    return EigResult(*((w, v) if a.dtype.kind == "c" else real_if_all(w, w, v)))


@stands_for(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """Eigenvalues; real where a real matrix has only real ones."""
    a = as_array(a)
    w, _ = factor_eig(a)
    return w if a.dtype.kind == "c" else real_if_all(w, w)[0]


@stands_for(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
        ) -> Any:
    """Singular value decomposition.

    Only the reduced vectors are differentiable; those that complete a basis are arbitrary.
    """
    a = as_array(a)
    u, s, vh = factor_svd(a)
    if not compute_uv:
        return s
    if full_matrices and a.shape[-1] != a.shape[-2]:
        u, vh = decompositions.svd_complete(a)
    return SVDResult(u, s, vh)


@stands_for(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """Singular values."""
    return svd(x, compute_uv=False)


@stands_for(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Least-squares solution, residuals, rank, singular values.

    The residuals are given for more rows than columns, as NumPy does at full rank.
    """
    a, b = as_array(a), as_array(b)
    rcond = _static(rcond)
    if rcond == -1:
        rcond = float(np.finfo(a.dtype).eps)
    x = solvers.lstsq(a, b, rcond=rcond)
    m, n = a.shape
    residuals: Any = np.zeros((0,), x.dtype)
    if m > n:
        rest = b - a @ x
        squares = np.real(rest * np.conj(rest))
        residuals = np.sum(np.reshape(squares, (m, -1)), axis=0)
    s = svdvals(a)
    cut = solvers.default_rcond(a) if rcond is None else rcond
    rank = np.sum(s > cut * np.max(s)).astype(np.int32) if min(m, n) else 0
    return x, residuals, rank, s


@stands_for(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    """Integer power by repeated squaring; negative powers by the inverse."""
    a, n = as_array(a), operator.index(n)
    if n < 0:
        a, n = inv(a), -n
    if n == 0:
        return np.zeros_like(a) + np.eye(a.shape[-1], dtype=a.dtype)
    result = None
    while True:
        if n % 2:
            result = a if result is None else matmul(result, a)
        n //= 2
        if not n:
            return result
        a = matmul(a, a)


@stands_for(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """Condition number."""
    x = as_array(x)
    if p in (None, 2, -2):
        s = svdvals(x)
        largest, smallest = s[..., 0], s[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    return norm(x, p, axis=(-2, -1)) * norm(inv(x), p, axis=(-2, -1))


@stands_for(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Norm of matrices along the last two axes."""
    return norm(as_array(x), ord, axis=(-2, -1), keepdims=keepdims)


@stands_for(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """Solution of ``tensordot(a, x, x.ndim) = b``."""
    a, b = as_array(a), as_array(b)
    if axes is not None:
        last = [k % a.ndim for k in axes]
        a = np.transpose(a, [k for k in range(a.ndim) if k not in last] + last)
    shape = a.shape[b.ndim:]
    n = math.prod(shape)
    if a.size != n ** 2:
        raise np.linalg.LinAlgError("Input arrays must satisfy the requirement "
                                    "prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return np.reshape(solve(np.reshape(a, (n, n)), np.reshape(b, (n,))), shape)


@stands_for(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """Inverse in the sense of ``tensordot(., ., ind)``."""
    a = as_array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    n = math.prod(a.shape[ind:])
    return np.reshape(inv(np.reshape(a, (n, -1))), a.shape[ind:] + a.shape[:ind])
