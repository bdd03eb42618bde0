"""Functions of matrices: inverse, determinant, pseudo-inverse, rank, exponential, square root."""

from typing import Any

import numpy as np
import scipy  # loads its submodules when they are first used

from ..arraytype import ArrayType
from .flow import blocks
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
    dtype_of,
    real_dtype,
    square_shape,
    transposed,
)
from .row import General, Op, ZeroDerivative, cubic, sample
from .solvers import solve_sylvester

# -- inverse ---------------------------------------------------------------------------------


def _inv_type(a: ArrayType) -> ArrayType:
    return ArrayType(square_shape("inv", a), dtype_of(np.linalg.inv, a.dtype))


def _inv_jvp(args: Any, tangents: Any, out: Any) -> Any:
    return -(out @ tangents[0] @ out)                        # A A⁻¹ = 1


inv = Op("inv", np.linalg.inv, _inv_type, General(_inv_jvp), python="np.linalg.inv",
         batch=batch_leading(lambda: inv),
         work=cubic,
         samples=(sample(GENERAL), sample(STACK), sample(COMPLEX), sample((0, 0))))


def _pinv_type(a: ArrayType, rcond: Any, hermitian: bool) -> ArrayType:
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"pinv: {a.ndim}-dimensional array given. Array must be at "
                                    "least two-dimensional")
    return ArrayType((*a.shape[:-2], a.shape[-1], a.shape[-2]), dtype_of(np.linalg.pinv, a.dtype))


def _pinv_jvp(args: Any, tangents: Any, out: Any, rcond: Any, hermitian: bool) -> Any:
    # Golub, Pereyra, SIAM J. Numer. Anal. 10, 1973, at constant rank.
    (a,), (t,) = args, tangents
    if hermitian:
        t = (t + adjoint(t)) / 2.0
    left = adjoint(t) @ adjoint(out) @ out
    right = out @ adjoint(out) @ adjoint(t)
    return right - right @ a @ out + left - out @ a @ left - out @ t @ out


def _pinv_text(args: Any, params: Any, types: Any) -> str:
    options = "" if params["rcond"] is None else f", {params['rcond']!r}"
    options += ", hermitian=True" if params["hermitian"] else ""
    return f"np.linalg.pinv({args[0]}{options})"


def _pinv(a: Any, rcond: Any, hermitian: bool) -> Any:
    return np.linalg.pinv(a, rcond, hermitian)


pinv = Op("pinv", _pinv, _pinv_type, General(_pinv_jvp), params=("rcond", "hermitian"),
          python=_pinv_text, batch=batch_leading(lambda: pinv),
          work=cubic,
          samples=(sample(GENERAL, rcond=None, hermitian=False),
                   sample(TALL, rcond=1e-10, hermitian=False),
                   sample(TALL.T.copy(), rcond=None, hermitian=False)))


def _rank_text(args: Any, params: Any, types: Any) -> str:
    options = "".join(f", {k}={v!r}" for k, v in params.items() if v)
    return f"np.linalg.matrix_rank({args[0]}{options})"


def _matrix_rank(a: Any, tol: Any, hermitian: bool, rtol: Any) -> Any:
    return np.linalg.matrix_rank(a, tol, hermitian) if rtol is None else \
        np.linalg.matrix_rank(a, tol, hermitian, rtol=rtol)


matrix_rank = Op("matrix_rank", _matrix_rank,
                 lambda a, tol, hermitian, rtol: ArrayType(a.shape[:-2], np.dtype(np.intp)),
                 ZeroDerivative(), params=("tol", "hermitian", "rtol"), python=_rank_text,
                 batch=batch_leading(lambda: matrix_rank),
                 samples=(sample((3, 2), tol=None, hermitian=False, rtol=None),))


# -- determinant -----------------------------------------------------------------------------


MINORS_UP_TO = 8


def cofactors(a: Any) -> Any:
    """The matrix of cofactors, the gradient of the determinant.

    Small ones are polynomials of the elements, so that all derivatives are right at singular
    matrices too; large ones need an inverse.
    """
    n = a.shape[-1]
    if n > MINORS_UP_TO:
        return det(a)[..., None, None] * transposed(np.linalg.inv(a))
    if n == 1:
        return np.ones(a.shape, a.dtype)
    if n == 2:                                              # [[d, −c], [−b, a]]
        return np.flip(a, (-2, -1)) * np.array([[1.0, -1.0], [-1.0, 1.0]], real_dtype(a.dtype))
    if n == 3:                                              # products of the two other rows
        return np.cross(np.roll(a, -1, axis=-2), np.roll(a, -2, axis=-2))
    others = np.array([[j for j in range(n) if j != i] for i in range(n)])
    minors = a[..., others[:, None, :, None], others[None, :, None, :]]
    i = np.arange(n)
    signs = (1.0 - 2.0 * ((i[:, None] + i) % 2)).astype(real_dtype(a.dtype))
    return np.linalg.det(minors) * signs


def _det_jvp(args: Any, tangents: Any, out: Any) -> Any:
    (a,), (t,) = args, tangents
    return np.sum(cofactors(a) * t, axis=(-2, -1)) if a.shape[-1] else None


def _det_type(a: ArrayType) -> ArrayType:
    return ArrayType(square_shape("det", a)[:-2], dtype_of(np.linalg.det, a.dtype))


det = Op("det", np.linalg.det, _det_type, General(_det_jvp), python="np.linalg.det",
         batch=batch_leading(lambda: det),
         work=cubic,
         samples=(sample((2, 2)), sample((3, 3)), sample((2, 4, 4)), sample((0, 0)),
                  sample(np.zeros((3, 3))), sample(COMPLEX)))


def _slogdet_type(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    shape = square_shape("slogdet", a)[:-2]
    dtype = dtype_of(np.linalg.inv, a.dtype)
    return ArrayType(shape, dtype), ArrayType(shape, real_dtype(dtype))


def _slogdet_jvp(args: Any, tangents: Any, out: Any) -> Any:
    (a,), (t,) = args, tangents
    if not a.shape[-1]:
        return None
    change = np.sum(transposed(np.linalg.inv(a)) * t, axis=(-2, -1))          # tr(A⁻¹ Ȧ)
    if a.dtype.kind != "c":
        return None, change
    return out[0] * (1j * np.imag(change)), np.real(change)


slogdet = Op("slogdet", lambda a: tuple(np.linalg.slogdet(a)), _slogdet_type,
             General(_slogdet_jvp), python="np.linalg.slogdet", results=("sign", "logabsdet"),
             batch=batch_leading(lambda: slogdet),
             work=cubic,
             samples=(sample(GENERAL), sample(STACK), sample(COMPLEX)))


# -- functions of matrices -------------------------------------------------------------------


def _expm_type(a: ArrayType) -> ArrayType:
    return ArrayType(square_shape("expm", a), dtype_of(scipy.linalg.expm, a.dtype))


expm = Op("expm", lambda a: scipy.linalg.expm(a), _expm_type,
          General(lambda args, tangents, out: expm_frechet(args[0], tangents[0])),
          python="linalg.expm", batch=batch_leading(lambda: expm),
          work=cubic,
          samples=(sample((2, 2)), sample((2, 2, 2))))


def _blocks(a: Any, b: Any, c: Any, d: Any) -> Any:
    """[[a, b], [c, d]]."""
    return np.concatenate([np.concatenate([a, b], axis=-1), np.concatenate([c, d], axis=-1)],
                          axis=-2)


def _frechet(a: Any, e: Any) -> Any:
    if a.ndim == 2:
        out: Any = scipy.linalg.expm_frechet(a, e, compute_expm=False)
    else:
        n = a.shape[-1]
        out = scipy.linalg.expm(_blocks(a, e, np.zeros_like(a), a))[..., :n, n:]
    dtype = np.result_type(a, e)
    return out.astype(dtype, copy=False) if dtype.kind in "fc" else out


def _frechet_text(args: Any, params: Any, types: Any) -> str:
    a, e = args
    if types[0].ndim == 2:
        dtype = np.result_type(types[0].dtype, types[1].dtype)
        cast = astype_text(dtype) if dtype in (np.float32, np.complex64) else ""
        return f"linalg.expm_frechet({a}, {e}, compute_expm=False){cast}"
    n = types[0].shape[-1]
    blocks = f"np.block([[{a}, {e}], [np.zeros_like({a}), {a}]])"
    return f"linalg.expm({blocks})[..., :{n}, {n}:]"


def _frechet_type(a: ArrayType, e: ArrayType) -> ArrayType:
    return ArrayType(square_shape("expm_frechet", a), dtype_of(_frechet, a.dtype, e.dtype))


def _frechet_jvp(args: Any, tangents: Any, out: Any) -> Any:
    # L(A, E) is a block of exp [[A, E], [0, A]] (Al-Mohy, Higham 2009), and so is its own
    # derivative; L is linear in E.
    (a, e), (ta, te) = args, tangents
    n = a.shape[-1]
    total = None if te is None else expm_frechet(a, te)
    if ta is not None:
        zero = np.zeros_like(a)
        change = expm_frechet(_blocks(a, e, zero, a), _blocks(ta, zero, zero, ta))[..., :n, n:]
        total = change if total is None else total + change
    return total


def _frechet_batch(args: Any, batched: Any) -> Any:
    size = next(a.shape[0] for a, b in zip(args, batched, strict=True) if b)
    return expm_frechet(*[a if b else np.broadcast_to(a, (size, *a.shape))
                          for a, b in zip(args, batched, strict=True)])


expm_frechet = Op("expm_frechet", _frechet, _frechet_type,
                  General(_frechet_jvp,
                          {1: lambda ct, a, e: expm_frechet(transposed(a), ct)}),
                  python=_frechet_text, batch=_frechet_batch, flow=blocks(lambda i, types: 2),
                  work=cubic,
                  samples=(sample((2, 2), (2, 2)), sample((1, 2, 2), (1, 2, 2))))


def _sqrtm_type(a: ArrayType) -> ArrayType:
    shape = square_shape("sqrtm", a)
    return ArrayType(shape, complex_dtype(dtype_of(np.linalg.inv, a.dtype)))


def _sqrtm_jvp(args: Any, tangents: Any, out: Any) -> Any:
    return solve_sylvester(out, out, tangents[0] + 0j)       # Ẋ X + X Ẋ = Ȧ


def _sqrtm(a: Any) -> Any:
    return scipy.linalg.sqrtm(a).astype(complex_dtype(a.dtype))


# Always complex; the composite takes the real part where SciPy's result is real.
sqrtm = Op("sqrtm", _sqrtm, _sqrtm_type, General(_sqrtm_jvp),
           python=lambda args, params, types:
               f"linalg.sqrtm({args[0]}){astype_text(complex_dtype(types[0].dtype))}",
           batch=batch_one_by_one(lambda: sqrtm),
           work=cubic, samples=(sample(POSITIVE),))



# L of the logarithm is a block of log [[A, E], [0, A]], like that of the exponential
# (Al-Mohy, Higham, Relton 2013).
def _log_frechet(a: Any, e: Any) -> Any:
    n = a.shape[-1]
    return _logm(_blocks(a, e, np.zeros_like(a), a))[:n, n:]


def _log_frechet_text(args: Any, params: Any, types: Any) -> str:
    a, e = args
    n = types[0].shape[-1]
    blocks = f"np.block([[{a}, {e}], [np.zeros_like({a}), {a}]])"
    dtype = np.result_type(types[0].dtype, types[1].dtype)
    log = f"linalg.logm({_double_text(blocks, dtype)})"
    return f"{log}[:{n}, {n}:]{astype_text(complex_dtype(dtype))}"


def _log_frechet_jvp(args: Any, tangents: Any, out: Any) -> Any:
    (a, e), (ta, te) = args, tangents
    n = a.shape[-1]
    total = None if te is None else logm_frechet(a, te)
    if ta is not None:
        zero = np.zeros_like(a)
        change = logm_frechet(_blocks(a, e, zero, a), _blocks(ta, zero, zero, ta))[..., :n, n:]
        total = change if total is None else total + change
    return total


def _logm(a: Any) -> Any:                    # of single precision, SciPy warns of its own accuracy
    return scipy.linalg.logm(_as_double(a)).astype(complex_dtype(a.dtype))


def _as_double(a: Any) -> Any:
    return a.astype(complex if a.dtype.kind == "c" else float, copy=False)


def _double_text(text: str, dtype: Any) -> str:
    wide = "complex" if dtype.kind == "c" else "float"
    return text if dtype in (np.float64, np.complex128) else f"({text}).astype({wide})"


# Always complex, like sqrtm.
logm = Op("logm", _logm, _sqrtm_type,
          General(lambda args, tangents, out: logm_frechet(args[0], tangents[0])),
          python=lambda args, params, types:
              f"linalg.logm({_double_text(args[0], types[0].dtype)})"
              f"{astype_text(complex_dtype(types[0].dtype))}",
          batch=batch_one_by_one(lambda: logm),
          work=cubic, samples=(sample(POSITIVE),))
logm_frechet = Op("logm_frechet", _log_frechet, lambda a, e: ArrayType(
                      square_shape("logm", a), complex_dtype(np.result_type(a.dtype, e.dtype))),
                  General(_log_frechet_jvp,
                          {1: lambda ct, a, e: logm_frechet(transposed(a), ct)}),
                  python=_log_frechet_text, batch=batch_one_by_one(lambda: logm_frechet),
                  samples=(sample(POSITIVE, (3, 3)),))
