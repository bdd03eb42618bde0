"""Matrix decompositions: Cholesky, QR, LU, eigenvalues and eigenvectors, singular values.

Derivatives are those of the function NumPy computes: ``cholesky`` and ``eigh`` read one triangle
of their operand, so the other one has derivative zero. (Giles, "An extended collection of
matrix derivative results", 2008; Walter, Lehmann 2012 for QR.)

Vectors that belong to equal eigenvalues or singular values are not determined; see ``ties.py`` for
what becomes of their derivative.
"""

from typing import Any

import numpy as np
import scipy  # loads its submodules when they are first used

from ..arraytype import ArrayType
from .matrix import (
    COMPLEX,
    GENERAL,
    POSITIVE,
    STACK,
    TALL,
    adjoint,
    astype_text,
    batch_leading,
    batch_one_by_one,
    complex_dtype,
    conj,
    dtype_of,
    real_dtype,
    square_shape,
    transposed,
)
from .row import DerivativeNotImplemented, General, Op, cubic, sample
from .solvers import lu_solve, solve, solve_triangle, solve_triangular
from .ties import Over, Ties, apart, coincide, differences, distinct, parted, split_of, sums


def hermitian_of(t: Any, lower: bool = True) -> Any:
    """The Hermitian matrix that is stored in one triangle."""
    if not lower:
        t = adjoint(t)
    above = np.triu(adjoint(t), 1)
    if t.dtype.kind != "c":
        return np.tril(t) + above
    diagonal = np.real(t) * np.eye(t.shape[-1], dtype=real_dtype(t.dtype))
    return np.tril(t, -1) + above + diagonal


# -- Cholesky --------------------------------------------------------------------------------


def _cholesky_type(a: ArrayType) -> ArrayType:
    return ArrayType(square_shape("cholesky", a), dtype_of(np.linalg.cholesky, a.dtype))


def _cholesky_jvp(args: Any, tangents: Any, out: Any) -> Any:
    # L⁻¹ Ȧ L⁻ᴴ = L⁻¹ L̇ + (L⁻¹ L̇)ᴴ, whose lower triangle has half of the diagonal.
    n = out.shape[-1]
    inner = solve_triangle(out, hermitian_of(tangents[0]), lower=True)
    inner = solve_triangle(out, adjoint(inner), lower=True)
    halved = 1.0 - 0.5 * np.eye(n, dtype=real_dtype(out.dtype))
    return out @ (np.tril(inner) * halved)


cholesky = Op("cholesky", np.linalg.cholesky, _cholesky_type, General(_cholesky_jvp),
              python="np.linalg.cholesky", batch=batch_leading(lambda: cholesky),
              work=cubic,
              samples=(sample(POSITIVE), sample(np.stack([POSITIVE, POSITIVE + np.eye(3)])),
                       sample(POSITIVE + 0.3j * (np.tri(3, k=-1) - np.tri(3, k=-1).T))))


# -- QR --------------------------------------------------------------------------------------


def _qr_type(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    if a.ndim < 2:
        raise np.linalg.LinAlgError("qr: the array must be at least two-dimensional")
    *batch, m, n = a.shape
    k = min(m, n)
    dtype = dtype_of(np.linalg.qr, a.dtype)
    return ArrayType((*batch, m, k), dtype), ArrayType((*batch, k, n), dtype)


def _divide(x: Any, r: Any) -> Any:
    """X R⁻¹ for an upper triangular R."""
    if r.ndim == 2:
        return transposed(solve_triangular(r, transposed(x), trans=1, lower=False,
                                           unit_diagonal=False))
    return transposed(solve(transposed(r), transposed(x)))


def _qr_jvp(args: Any, tangents: Any, out: Any) -> Any:
    # With X = Qᴴ Ȧ R⁻¹ = Ω + Ṙ R⁻¹, Ω skew-Hermitian and Ṙ R⁻¹ upper triangular with a real
    # diagonal, Ω is known from the lower triangle of X.
    (t,), (q, r) = tangents, out
    m, n = t.shape[-2:]
    k = min(m, n)
    qt = adjoint(q) @ t
    x = _divide(qt[..., :k], r[..., :k])
    below = np.tril(x, -1)
    skew = below - adjoint(below)
    if x.dtype.kind == "c":
        skew = skew + 1j * np.imag(x) * np.eye(k, dtype=real_dtype(x.dtype))
    t_q = q @ skew
    if m > n:
        t_q = t_q + _divide(t - q @ qt, r)
    return t_q, np.triu(qt - skew @ r)


qr = Op("qr", lambda a: tuple(np.linalg.qr(a)), _qr_type, General(_qr_jvp),
        python="np.linalg.qr", results=("q", "r"), batch=batch_leading(lambda: qr),
        work=cubic,
        samples=(sample(GENERAL), sample(TALL), sample(GENERAL[:2]), sample(STACK),
                 sample(COMPLEX), sample(COMPLEX[:, :2])))


def _complete_type(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    *batch, m, n = a.shape
    dtype = dtype_of(np.linalg.qr, a.dtype)
    return ArrayType((*batch, m, m), dtype), ArrayType((*batch, m, n), dtype)


qr_complete = Op("qr_complete", lambda a: tuple(np.linalg.qr(a, "complete")), _complete_type,
                 DerivativeNotImplemented("The columns that complete Q are not determined by "
                                          "the matrix. Use mode='reduced'."),
                 python=lambda args, params, types: f"np.linalg.qr({args[0]}, \"complete\")",
                 results=("q", "r"), batch=batch_leading(lambda: qr_complete),
                 samples=(sample(TALL),))


# -- LU --------------------------------------------------------------------------------------


def _lu_type(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    n = square_shape("lu_factor", a)[-1]
    if a.ndim != 2:
        raise np.linalg.LinAlgError("lu_factor: stacks of matrices are not supported.")
    return (ArrayType((n, n), dtype_of(scipy.linalg.lu_factor, a.dtype)),
            ArrayType((n,), scipy.linalg.lu_factor(np.ones((1, 1)))[1].dtype))


def _lu_jvp(args: Any, tangents: Any, out: Any) -> Any:
    # P Ȧ = L̇ U + L U̇, so that L⁻¹ P Ȧ U⁻¹ splits into its triangles.
    (t,), (lu, piv) = tangents, out
    unit = np.eye(lu.shape[0], dtype=lu.dtype)
    x = lu_solve(unit, piv, t, trans=0)                      # P Ȧ
    x = solve_triangular(lu, x, trans=0, lower=True, unit_diagonal=True)
    x = _divide(x, lu)
    low = np.tril(lu, -1) + unit
    return low @ np.tril(x, -1) + np.triu(x) @ np.triu(lu), None


lu_factor = Op("lu_factor", lambda a: scipy.linalg.lu_factor(a), _lu_type, General(_lu_jvp),
               python="linalg.lu_factor", results=("lu", "piv"),
               batch=batch_one_by_one(lambda: lu_factor),
               work=cubic,
               samples=(sample(GENERAL), sample(GENERAL[::-1].copy()), sample(COMPLEX)))


# -- eigenvalues -------------------------------------------------------------------------------


def _eigh_type(a: ArrayType, lower: bool) -> tuple[ArrayType, ArrayType]:
    shape = square_shape("eigh", a)
    dtype = dtype_of(np.linalg.inv, a.dtype)
    return ArrayType(shape[:-1], real_dtype(dtype)), ArrayType(shape, dtype)


def _eigh_jvp(args: Any, tangents: Any, out: Any, lower: bool, over: Over = distinct) -> Any:
    w, v = out
    if not w.shape[-1]:
        return None
    tv = hermitian_of(tangents[0], lower) @ v
    t_w = np.real(np.sum(conj(v) * tv, axis=-2))
    gaps = over(differences(w), w, differences(split_of(w)), True)
    t_v = v @ ((adjoint(v) @ tv) * gaps)
    if v.dtype.kind == "c":
        t_v = t_v - v * turn(v, t_v, 0 if lower else -1)
    return t_w, t_v


def turn(v: Any, t: Any, row: int) -> Any:
    """The multiple of each column that keeps one row real, as LAPACK's complex vectors have it."""
    real = np.real(v[..., row, :])
    phase = np.where(real == 0, 0.0, np.imag(t[..., row, :]) / np.where(real == 0, 1.0, real))
    return 1j * phase[..., None, :]


def _uplo(params: Any) -> str:
    return "" if params["lower"] else ", \"U\""


eigh = Op("eigh", lambda a, lower: tuple(np.linalg.eigh(a, "L" if lower else "U")), _eigh_type,
          General(_eigh_jvp), params=("lower",), results=("w", "v"),
          python=lambda args, params, types: f"np.linalg.eigh({args[0]}{_uplo(params)})",
          batch=batch_leading(lambda: eigh),
          work=cubic,
          samples=(sample(POSITIVE, lower=True), sample(STACK, lower=False),
                   sample(COMPLEX, lower=True)))


def _eigvalsh_jvp(args: Any, tangents: Any, out: Any, lower: bool) -> Any:
    t = _eigh_jvp(args, tangents, eigh(args[0], lower=lower), lower)
    return None if t is None else t[0]


eigvalsh = Op("eigvalsh", lambda a, lower: np.linalg.eigvalsh(a, "L" if lower else "U"),
              lambda a, lower: _eigh_type(a, lower)[0], General(_eigvalsh_jvp), params=("lower",),
              python=lambda args, params, types: f"np.linalg.eigvalsh({args[0]}{_uplo(params)})",
              batch=batch_leading(lambda: eigvalsh),
              work=cubic,
              samples=(sample(POSITIVE, lower=True), sample(STACK, lower=False)))


def _eig_type(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    shape = square_shape("eig", a)
    dtype = complex_dtype(dtype_of(np.linalg.inv, a.dtype))
    return ArrayType(shape[:-1], dtype), ArrayType(shape, dtype)


def _eig(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    return w.astype(complex_dtype(w.dtype)), v.astype(complex_dtype(v.dtype))


def _eig_jvp(args: Any, tangents: Any, out: Any, over: Over = distinct) -> Any:
    # LAPACK gives columns of length one whose largest element is real; the tangent of each
    # column has the multiple of the column that keeps both.
    w, v = out
    n = w.shape[-1]
    if not n:
        return None
    x = solve(v, tangents[0] @ v)
    diagonal = np.eye(n, dtype=bool)
    t_w = np.sum(np.where(diagonal, x, 0.0), axis=-2)
    t_v = v @ (x * over(differences(w), w, differences(split_of(w)), True))
    length = np.real(np.sum(conj(v) * t_v, axis=-2, keepdims=True))
    size = np.abs(v)
    largest = np.argmax(size, axis=-2)[..., None, :]
    phase = np.imag(np.take_along_axis(t_v, largest, -2)) / np.take_along_axis(size, largest, -2)
    sign = np.sign(np.real(np.take_along_axis(v, largest, -2)))
    return t_w, t_v - v * (length + 1j * (phase * sign))


def _cast(types: Any) -> str:
    return "" if types[0].dtype.kind == "c" else astype_text(_eig_type(*types)[0].dtype)


def _eig_text(args: Any, params: Any, types: Any) -> str:
    text = f"np.linalg.eig({args[0]})"
    return f"(z{_cast(types)} for z in {text})" if _cast(types) else text


def _eigvals_text(args: Any, params: Any, types: Any) -> str:
    return f"np.linalg.eigvals({args[0]}){_cast(types)}"


# Always complex; the composites take the real parts where NumPy's results are real.
eig = Op("eig", _eig, _eig_type, General(_eig_jvp), python=_eig_text, results=("w", "v"),
         batch=batch_leading(lambda: eig),
         work=cubic,
         samples=(sample(GENERAL), sample(STACK), sample(COMPLEX)))


def _eigvals_jvp(args: Any, tangents: Any, out: Any) -> Any:
    t = _eig_jvp(args, tangents, eig(args[0]))
    return None if t is None else t[0]


def _eigvals(a: Any) -> Any:
    w = np.linalg.eigvals(a)
    return w.astype(complex_dtype(w.dtype))


eigvals = Op("eigvals", _eigvals, lambda a: _eig_type(a)[0], General(_eigvals_jvp),
             python=_eigvals_text, batch=batch_leading(lambda: eigvals),
             work=cubic,
             samples=(sample(GENERAL), sample(COMPLEX)))


# -- singular values ---------------------------------------------------------------------------


def _svd_type(a: ArrayType) -> tuple[ArrayType, ArrayType, ArrayType]:
    if a.ndim < 2:
        raise np.linalg.LinAlgError("svd: the array must be at least two-dimensional")
    *batch, m, n = a.shape
    k = min(m, n)
    dtype = dtype_of(np.linalg.inv, a.dtype)
    return (ArrayType((*batch, m, k), dtype), ArrayType((*batch, k), real_dtype(dtype)),
            ArrayType((*batch, k, n), dtype))


def _svd_jvp(args: Any, tangents: Any, out: Any, over: Over = distinct) -> Any:
    # With P = Uᴴ Ȧ V: its Hermitian part over s_j − s_i turns U and V alike, its skew part over
    # s_j + s_i turns them against each other.
    (t,), (u, s, vh) = tangents, out
    m, n = t.shape[-2:]
    k = min(m, n)
    if not k:
        return None
    v = adjoint(vh)
    tv = t @ v
    p = adjoint(u) @ tv
    split, is_real = split_of(s), u.dtype.kind != "c"
    alike = (p + adjoint(p)) * (0.5 * over(differences(s), s, differences(split), True))
    against = (p - adjoint(p)) * (0.5 * over(sums(s), s, sums(split), is_real))
    t_s = np.real(np.sum(conj(u) * tv, axis=-2))
    t_u = u @ (alike + against)
    t_v = v @ (alike - against)
    if m != n:
        inverse = over(s, s, split, False)[..., None, :]
        if m > n:
            t_u = t_u + (tv - u @ p) * inverse
        else:
            t_v = t_v + (adjoint(t) @ u - v @ adjoint(p)) * inverse
    if not is_real:
        phase = turn(v, t_v, 0) if m >= n else turn(u, t_u, 0)
        t_u, t_v = t_u - u * phase, t_v - v * phase
    return t_u, t_s, adjoint(t_v)


svd = Op("svd", lambda a: tuple(np.linalg.svd(a, full_matrices=False)), _svd_type,
         General(_svd_jvp), results=("u", "s", "vh"), batch=batch_leading(lambda: svd),
         python=lambda args, params, types: f"np.linalg.svd({args[0]}, full_matrices=False)",
         work=cubic,
         samples=(sample(GENERAL), sample(TALL), sample(TALL.T.copy()), sample(STACK),
                  sample(COMPLEX), sample(COMPLEX[:, :2])))


def _svdvals_jvp(args: Any, tangents: Any, out: Any) -> Any:
    t = _svd_jvp(args, tangents, svd(args[0]))
    return None if t is None else t[1]


svdvals = Op("svdvals", lambda a: np.linalg.svd(a, compute_uv=False), lambda a: _svd_type(a)[1],
             General(_svdvals_jvp), batch=batch_leading(lambda: svdvals),
             python=lambda args, params, types: f"np.linalg.svd({args[0]}, compute_uv=False)",
             work=cubic,
             samples=(sample(GENERAL), sample(TALL)))


# -- equal values ------------------------------------------------------------------------------


def _at_ties(op: Op, rule: Any, values: int, vectors: tuple[int, ...]) -> Ties:
    """A factorization where values coincide; its row there leaves their pairs out."""
    tied = Op(f"{op.name}_tied", op.call, op.type_rule,
              General(lambda args, tangents, out, **params: rule(
                  args, tangents, out, **params, over=apart)),
              params=op.params, results=op.results, python=op.python,
              batch=batch_leading(lambda: tied), samples=op.samples[:1])

    def turn(a: Any, t: Any, out: Any, params: Any) -> Any:
        found = rule((a,), (t,), out, **params, over=parted)
        return tuple(found[i] for i in vectors)
    return Ties(tied, values, vectors, turn)


eigh_ties = _at_ties(eigh, _eigh_jvp, 0, (1,))
eig_ties = _at_ties(eig, _eig_jvp, 0, (1,))
svd_ties = _at_ties(svd, _svd_jvp, 1, (0, 2))
eigh_tied, eig_tied, svd_tied = eigh_ties.op, eig_ties.op, svd_ties.op
TIES = {ties.op: ties for ties in (eigh_ties, eig_ties, svd_ties)}


def eigh_coincide(w: Any) -> Any:
    """Whether two eigenvalues are equal to rounding."""
    return coincide(w, zero=False, ordered=True)


def eig_coincide(w: Any) -> Any:
    """Whether two eigenvalues, in no order, are equal to rounding."""
    return coincide(w, zero=False, ordered=False)


def svd_coincide(s: Any, zero: bool) -> Any:
    """Whether two singular values, or (``zero``) one and zero, are equal to rounding."""
    return coincide(s, zero=zero, ordered=True)


# The rows that compute one result of a factorization alone.
ALONE = {(eigh, 0): eigvalsh, (eig, 0): eigvals, (svd, 1): svdvals, (eigh_tied, 0): eigvalsh,
         (eig_tied, 0): eigvals, (svd_tied, 1): svdvals}


def _full_type(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    *batch, m, n = a.shape
    dtype = dtype_of(np.linalg.inv, a.dtype)
    return ArrayType((*batch, m, m), dtype), ArrayType((*batch, n, n), dtype)


svd_complete = Op("svd_complete", lambda a: tuple(np.linalg.svd(a))[::2], _full_type,
                  DerivativeNotImplemented("The columns that complete U and V are not determined "
                                           "by the matrix. Use full_matrices=False."),
                  python=lambda args, params, types: f"np.linalg.svd({args[0]})[::2]",
                  results=("u", "vh"), batch=batch_leading(lambda: svd_complete),
                  samples=(sample(TALL),))
