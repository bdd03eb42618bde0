"""Linear systems: general, triangular, factored, banded, least squares, Sylvester.

All are linear in their right-hand side, which therefore has a transpose of its own, and are
differentiated in the matrix by A ẋ = ḃ − Ȧ x.
"""

from typing import Any

import numpy as np
import scipy  # loads its submodules when they are first used

from ..arraytype import ArrayType
from ..errors import ShapeError
from .flow import blocks
from .layout import sum_to
from .matrix import (
    COMPLEX,
    GENERAL,
    POSITIVE,
    STACK,
    TALL,
    adjoint,
    apply,
    as_columns,
    astype_text,
    batch_one_by_one,
    complex_dtype,
    dtype_of,
    square_shape,
    transposed,
)
from .row import General, Op, broadcast_shapes, cubic, sample


def _minus(tb: Any, ta_x: Any) -> Any:
    """ḃ − Ȧ x, where a tangent may be missing."""
    if ta_x is None:
        return tb
    return -ta_x if tb is None else tb - ta_x


def _fit(name: str, n: int, b: ArrayType) -> None:
    rows = b.shape[0] if b.ndim == 1 else b.shape[-2] if b.ndim else None
    if rows != n:
        raise ShapeError(f"{name}: the matrix has {n} rows, but the right-hand side has shape "
                         f"{b.shape}.")


# -- general ---------------------------------------------------------------------------------


def _solve_type(a: ArrayType, b: ArrayType) -> ArrayType:
    shape = square_shape("solve", a)
    _fit("solve", shape[-1], b)
    dtype = dtype_of(np.linalg.solve, a.dtype, b.dtype)
    if b.ndim == 1:
        return ArrayType(shape[:-1], dtype)
    batch = broadcast_shapes(shape[:-2], b.shape[:-2])
    return ArrayType((*batch, *b.shape[-2:]), dtype)


def solve_columns(a: Any, b: Any, is_vector: bool) -> Any:
    """Solve with a stack of vectors (along the last axis) or of matrices."""
    if is_vector and b.ndim > 1:
        return solve(a, b[..., None])[..., 0]
    return solve(a, b)


def _solve_jvp(args: Any, tangents: Any, out: Any) -> Any:
    (a, b), (ta, tb) = args, tangents
    is_vector = b.ndim == 1
    right = _minus(tb, None if ta is None else apply(ta, out, is_vector))
    return solve_columns(a, right, is_vector)


def _solve_transpose(ct: Any, a: Any, b: Any) -> Any:
    return sum_to(solve_columns(transposed(a), ct, b.ndim == 1), b.shape)


def _solve_batch(args: Any, batched: Any) -> Any:
    (a, b), (a_batched, b_batched) = args, batched
    if not a_batched and a.ndim == 2 and b.ndim <= 3:
        columns, back = as_columns(b)             # one factorization for the whole batch
        return back(solve(a, columns))
    is_vector = b.ndim - b_batched == 1
    if is_vector:
        if not b_batched:
            return solve(a, b)
        b = b[..., None]
        if a_batched:
            b = np.reshape(b, (b.shape[0], *(1,) * (a.ndim - 3), *b.shape[1:]))
        else:
            b = np.reshape(b, (b.shape[0], *(1,) * (a.ndim - 2), *b.shape[1:]))
        return solve(a, b)[..., 0]
    ndim = max(a.ndim - a_batched, b.ndim - b_batched)
    if a_batched:
        a = np.reshape(a, (a.shape[0], *(1,) * (ndim + 1 - a.ndim), *a.shape[1:]))
    if b_batched:
        b = np.reshape(b, (b.shape[0], *(1,) * (ndim + 1 - b.ndim), *b.shape[1:]))
    return solve(a, b)


def _n_core(i: int, types: Any) -> int:
    """Trailing axes of the matrix, and of the right-hand side: one only if that is a vector."""
    return 1 if types[i].ndim == 1 else 2


solve = Op("solve", np.linalg.solve, _solve_type, General(_solve_jvp, {1: _solve_transpose}),
           python="np.linalg.solve", batch=_solve_batch, flow=blocks(_n_core),
           work=cubic,
           samples=(sample(GENERAL, (3,)), sample(GENERAL, (3, 2)), sample(STACK, (3,)),
                    sample(STACK, (3, 2)), sample(STACK, (2, 3, 1)), sample(GENERAL, (2, 3, 1)),
                    sample(COMPLEX, (3,)), sample((0, 0), (0,))))


# -- triangular --------------------------------------------------------------------------------


def _triangular_type(a: ArrayType, b: ArrayType, **_: Any) -> ArrayType:
    shape = square_shape("solve_triangular", a)
    _fit("solve_triangular", shape[-1], b)
    if a.ndim != 2 or b.ndim > 2:
        raise ShapeError("solve_triangular: stacks of matrices are not supported; use "
                         "np.linalg.solve.")
    return ArrayType(b.shape, dtype_of(scipy.linalg.solve_triangular, a.dtype, b.dtype))


def _triangular_text(args: Any, params: Any, types: Any) -> str:
    options = "".join(f", {k}={v!r}" for k, v in params.items() if v)
    return f"linalg.solve_triangular({args[0]}, {args[1]}{options})"


def triangle(a: Any, lower: bool, unit_diagonal: bool = False) -> Any:
    """The part of a matrix that a triangular solver reads."""
    k = 1 if unit_diagonal else 0
    return np.tril(a, -k) if lower else np.triu(a, k)


def solve_triangle(a: Any, b: Any, *, trans: int = 0, lower: bool = False,
                   unit_diagonal: bool = False) -> Any:
    """Solve with a triangular matrix, or a stack of them by ``np.linalg.solve``."""
    if a.ndim == 2 and b.ndim <= 2:
        return solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit_diagonal)
    part = triangle(a, lower, unit_diagonal)
    if unit_diagonal:
        part = part + np.eye(a.shape[-1], dtype=a.dtype)
    return solve(transposed(part) if trans else part, b)


def _triangular_jvp(args: Any, tangents: Any, out: Any, trans: int, lower: bool,
                    unit_diagonal: bool) -> Any:
    (a, _), (ta, tb) = args, tangents
    ta_x = None
    if ta is not None:
        part = triangle(ta, lower, unit_diagonal)
        ta_x = (transposed(part) if trans else part) @ out
    return solve_triangular(a, _minus(tb, ta_x), trans=trans, lower=lower,
                            unit_diagonal=unit_diagonal)


def _triangular_transpose(ct: Any, a: Any, b: Any, trans: int, lower: bool, unit_diagonal: bool
                          ) -> Any:
    return solve_triangular(a, ct, trans=1 - trans, lower=lower, unit_diagonal=unit_diagonal)


def _triangular_batch(args: Any, batched: Any, **params: Any) -> Any:
    (a, b), (a_batched, b_batched) = args, batched
    if not a_batched:
        columns, back = as_columns(b)
        return back(solve_triangular(a, columns, **params))
    if b.ndim - b_batched == 1:
        b = b if b_batched else np.broadcast_to(b, (a.shape[0], *b.shape))
        return solve_triangle(a, b[..., None], **params)[..., 0]
    return solve_triangle(a, b, **params)


def _solve_triangular(a: Any, b: Any, trans: Any, lower: bool, unit_diagonal: bool) -> Any:
    return scipy.linalg.solve_triangular(a, b, trans, lower, unit_diagonal)


solve_triangular = Op(
    "solve_triangular", _solve_triangular, _triangular_type,
    General(_triangular_jvp, {1: _triangular_transpose}),
    params=("trans", "lower", "unit_diagonal"), python=_triangular_text, batch=_triangular_batch,
    samples=(sample(GENERAL, (3,), trans=0, lower=True, unit_diagonal=False),
             sample(GENERAL, (3, 2), trans=1, lower=True, unit_diagonal=True),
             sample(COMPLEX, (3,), trans=1, lower=False, unit_diagonal=False)))


# -- with an LU factorization ---------------------------------------------------------------------


def _lu_solve_type(lu: ArrayType, piv: ArrayType, b: ArrayType, trans: int) -> ArrayType:
    n = square_shape("lu_solve", lu)[-1]
    _fit("lu_solve", n, b)
    if lu.ndim != 2 or b.ndim > 2:
        raise ShapeError("lu_solve: stacks of matrices are not supported; use np.linalg.solve.")
    return ArrayType(b.shape, dtype_of(scipy.linalg.solve_triangular, lu.dtype, b.dtype))


def _lu_solve_jvp(args: Any, tangents: Any, out: Any, trans: int) -> Any:
    # P A = L U, with L and U packed in one matrix and P given by row exchanges.
    (lu, piv, _), (t_lu, _, tb) = args, tangents
    if t_lu is None:
        return lu_solve(lu, piv, tb, trans=trans)
    unit = np.eye(lu.shape[0], dtype=lu.dtype)
    low, up = np.tril(lu, -1) + unit, np.triu(lu)
    t_low, t_up = np.tril(t_lu, -1), np.triu(t_lu)
    if trans:
        px = lu_solve(unit, piv, out, trans=0)
        change = t_up.T @ (low.T @ px) + up.T @ (t_low.T @ px)
        return lu_solve(lu, piv, _minus(tb, change), trans=1)
    change = lu_solve(unit, piv, t_low @ (up @ out) + low @ (t_up @ out), trans=1)
    return lu_solve(lu, piv, _minus(tb, change), trans=0)


def _lu_solve_transpose(ct: Any, lu: Any, piv: Any, b: Any, trans: int) -> Any:
    return lu_solve(lu, piv, ct, trans=1 - trans)


def _lu_solve_batch(args: Any, batched: Any, trans: int) -> Any:
    lu, piv, b = args
    if batched[0] or batched[1]:
        return batch_one_by_one(lambda: lu_solve)(args, batched, trans=trans)
    columns, back = as_columns(b)
    return back(lu_solve(lu, piv, columns, trans=trans))


def _lu_solve_text(args: Any, params: Any, types: Any) -> str:
    trans = ", trans=1" if params["trans"] else ""
    return f"linalg.lu_solve(({args[0]}, {args[1]}), {args[2]}{trans})"


lu_solve = Op("lu_solve", lambda lu, piv, b, trans: scipy.linalg.lu_solve((lu, piv), b, trans),
              _lu_solve_type, General(_lu_solve_jvp, {2: _lu_solve_transpose}), params=("trans",),
              python=_lu_solve_text, batch=_lu_solve_batch,
              samples=(sample(GENERAL, np.array([2, 2, 2]), (3,), trans=0),
                       sample(GENERAL, np.array([1, 1, 2]), (3, 2), trans=1)))


# -- banded ------------------------------------------------------------------------------------


def _banded_type(ab: ArrayType, b: ArrayType, lower: int, upper: int) -> ArrayType:
    if ab.ndim != 2 or ab.shape[0] != lower + upper + 1:
        raise ShapeError(f"solve_banded: {lower} + {upper} + 1 diagonals are announced, the "
                         f"matrix of diagonals has shape {ab.shape}.")
    _fit("solve_banded", ab.shape[1], b)
    if b.ndim > 2:
        raise ShapeError("solve_banded: a stack of right-hand sides is not supported.")
    return ArrayType(b.shape, dtype_of(_diagonal_solve, ab.dtype, b.dtype))


def _diagonal_solve(a: Any, b: Any) -> Any:
    return scipy.linalg.solve_banded((0, 0), a[:1] + 1, b)


def banded_product(ab: Any, x: Any, lower: int, upper: int) -> Any:
    """A @ x for a matrix given by its diagonals, ``ab[upper + i − j, j] = A[i, j]``."""
    n = ab.shape[1]
    total = None
    for row, shift in enumerate(range(upper, -lower - 1, -1)):    # A[i, i + shift]
        first, last = max(shift, 0), n + min(shift, 0)
        if first >= last:
            continue
        diagonal = ab[row, first:last] if x.ndim == 1 else ab[row, first:last, None]
        widths = [(first - shift, n - last + shift)] + [(0, 0)] * (x.ndim - 1)
        term = np.pad(diagonal * x[first:last], widths)
        total = term if total is None else total + term
    return total


def transposed_bands(ab: Any, lower: int, upper: int) -> Any:
    """The diagonals of the transposed matrix (entries outside of it are never read)."""
    return np.stack([np.roll(ab[row], row - upper) for row in range(lower + upper + 1)][::-1])


def _banded_jvp(args: Any, tangents: Any, out: Any, lower: int, upper: int) -> Any:
    (ab, _), (t_ab, tb) = args, tangents
    change = None if t_ab is None else banded_product(t_ab, out, lower, upper)
    return solve_banded(ab, _minus(tb, change), lower=lower, upper=upper)


def _banded_transpose(ct: Any, ab: Any, b: Any, lower: int, upper: int) -> Any:
    return solve_banded(transposed_bands(ab, lower, upper), ct, lower=upper, upper=lower)


def _banded_batch(args: Any, batched: Any, **params: Any) -> Any:
    ab, b = args
    if batched[0]:
        return batch_one_by_one(lambda: solve_banded)(args, batched, **params)
    columns, back = as_columns(b)
    return back(solve_banded(ab, columns, **params))


def _solve_banded(ab: Any, b: Any, lower: int, upper: int) -> Any:
    return scipy.linalg.solve_banded((lower, upper), ab, b)


_BANDS = np.array([[0.4, 0.7, -0.3, 0.2, 1.1], [2.0, 1.8, 2.2, 1.9, -1.7],
                   [0.5, -0.2, 0.6, 0.8, 0.3], [0.1, 0.3, -0.4, 0.9, 0.5]])
solve_banded = Op(
    "solve_banded", _solve_banded, _banded_type, General(_banded_jvp, {1: _banded_transpose}),
    params=("lower", "upper"), batch=_banded_batch,
    python=lambda args, params, types:
        f"linalg.solve_banded(({params['lower']}, {params['upper']}), {args[0]}, {args[1]})",
    samples=(sample(_BANDS, (5,), lower=2, upper=1), sample(_BANDS, (5, 2), lower=1, upper=2)))


# -- least squares ----------------------------------------------------------------------------


def _lstsq_type(a: ArrayType, b: ArrayType, rcond: Any) -> ArrayType:
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise np.linalg.LinAlgError(f"lstsq: shapes {a.shape} and {b.shape}; a matrix and a "
                                    "vector or matrix are needed.")
    _fit("lstsq", a.shape[0], b)
    return ArrayType((a.shape[1], *b.shape[1:]), dtype_of(np.linalg.solve, a.dtype, b.dtype))


def _lstsq_jvp(args: Any, tangents: Any, out: Any, rcond: Any) -> Any:
    # x = A⁺ b with the derivative of the pseudo-inverse at constant rank
    # (Golub, Pereyra, SIAM J. Numer. Anal. 10, 1973); two of its terms vanish at full rank, but
    # the rank is known only when the numbers are.
    (a, b), (ta, tb) = args, tangents
    if ta is None:
        return lstsq(a, tb, rcond=rcond)
    inverse = pinv_of(a, rcond)
    residual = b - a @ out
    change = adjoint(ta) @ (adjoint(inverse) @ out)
    t_out = inverse @ _minus(tb, ta @ out) + inverse @ (adjoint(inverse) @ (adjoint(ta) @ residual))
    return t_out + change - inverse @ (a @ change)


def pinv_of(a: Any, rcond: Any) -> Any:
    """The pseudo-inverse with the cut-off of ``lstsq``."""
    return np.linalg.pinv(a, default_rcond(a) if rcond is None else rcond)


def default_rcond(a: Any) -> float:
    """The cut-off of ``np.linalg.lstsq``, relative to the largest singular value."""
    return float(np.finfo(a.dtype).eps * max(a.shape[-2:]))


def _lstsq_transpose(ct: Any, a: Any, b: Any, rcond: Any) -> Any:
    return lstsq(transposed(a), ct, rcond=rcond)               # (A⁺)ᵀ = (Aᵀ)⁺


def _lstsq_batch(args: Any, batched: Any, rcond: Any) -> Any:
    a, b = args
    if batched[0]:
        return batch_one_by_one(lambda: lstsq)(args, batched, rcond=rcond)
    columns, back = as_columns(b)
    return back(lstsq(a, columns, rcond=rcond))


def _lstsq_text(args: Any, params: Any, types: Any) -> str:
    rcond = "" if params["rcond"] is None else f", rcond={params['rcond']!r}"
    return f"np.linalg.lstsq({args[0]}, {args[1]}{rcond})[0]"


lstsq = Op("lstsq", lambda a, b, rcond: np.linalg.lstsq(a, b, rcond)[0], _lstsq_type,
           General(_lstsq_jvp, {1: _lstsq_transpose}), params=("rcond",), python=_lstsq_text,
           batch=_lstsq_batch,
           work=cubic,
           samples=(sample(TALL, (4,), rcond=None), sample(TALL, (4, 2), rcond=None),
                    sample(TALL.T.copy(), (2,), rcond=None), sample(GENERAL, (3,), rcond=None)))


# -- Sylvester -------------------------------------------------------------------------------------


def _sylvester_type(a: ArrayType, b: ArrayType, q: ArrayType) -> ArrayType:
    m, n = square_shape("solve_sylvester", a)[-1], square_shape("solve_sylvester", b)[-1]
    if a.ndim != 2 or b.ndim != 2 or q.shape != (m, n):
        raise ShapeError(f"solve_sylvester: shapes {a.shape}, {b.shape} and {q.shape} do not fit.")
    return ArrayType(q.shape, dtype_of(_solve_sylvester, a.dtype, b.dtype, q.dtype))


def _solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    # SciPy 1.17 is wrong for operands some of which are complex: real Schur forms have blocks.
    if any(map(np.iscomplexobj, (a, b, q))):
        a, b = (v.astype(complex_dtype(v.dtype), copy=False) for v in (a, b))
    return scipy.linalg.solve_sylvester(a, b, q)


def _sylvester_text(args: Any, params: Any, types: Any) -> str:
    if any(t.dtype.kind == "c" for t in types):
        args = [arg if kind.dtype.kind == "c" or i == 2 else
                f"{arg}{astype_text(complex_dtype(kind.dtype))}"
                for i, (arg, kind) in enumerate(zip(args, types, strict=True))]
    return f"linalg.solve_sylvester({', '.join(args)})"


def _sylvester_jvp(args: Any, tangents: Any, out: Any) -> Any:
    (a, b, _), (ta, tb, tq) = args, tangents
    right = _minus(tq, None if ta is None else ta @ out)
    return solve_sylvester(a, b, _minus(right, None if tb is None else out @ tb))


def _sylvester_transpose(ct: Any, a: Any, b: Any, q: Any) -> Any:
    return solve_sylvester(transposed(a), transposed(b), ct)


# A X + X B = Q
solve_sylvester = Op(
    "solve_sylvester", _solve_sylvester, _sylvester_type,
    General(_sylvester_jvp, {2: _sylvester_transpose}), python=_sylvester_text,
    batch=batch_one_by_one(lambda: solve_sylvester),
    samples=(sample(GENERAL, POSITIVE, (3, 3)), sample(GENERAL, POSITIVE[:2, :2], (3, 2))))
