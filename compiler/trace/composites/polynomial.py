"""Polynomials by their coefficients, and Vandermonde matrices."""

from typing import Any

import numpy as np

from ..registry import stands_for
from .common import as_array, floating, of_dtype, refuse


@stands_for(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """Value of a polynomial, highest power first, by Horner's rule."""
    p, x = as_array(p), as_array(x)
    y = np.zeros_like(x)
    for coefficient in p:
        y = y * x + coefficient
    return y


@stands_for(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Powers of the elements, one a column."""
    x = as_array(x)
    x = of_dtype(x, np.promote_types(x.dtype, int))
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = x.shape[0] if N is None else int(N)
    powers = [np.ones_like(x)]
    for _ in range(n - 1):
        powers.append(powers[-1] * x)
    if n == 0:
        return np.zeros((x.shape[0], 0), x.dtype)
    return np.stack(powers if increasing else powers[::-1], axis=1)


def _padded(p: Any, n: int) -> Any:
    return np.pad(p, (n - p.shape[0], 0))


def _combine(operation: Any) -> Any:
    def combine(a1: Any, a2: Any) -> Any:
        a, b = np.atleast_1d(as_array(a1)), np.atleast_1d(as_array(a2))
        n = max(a.shape[0], b.shape[0])
        return operation(_padded(a, n), _padded(b, n))
    return combine


polyadd = stands_for(np.polyadd)(_combine(np.add))
polysub = stands_for(np.polysub)(_combine(np.subtract))


@stands_for(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """Product of two polynomials."""
    return np.convolve(np.atleast_1d(as_array(a1)), np.atleast_1d(as_array(a2)))


@stands_for(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    """Quotient and remainder of two polynomials."""
    u, v = (np.atleast_1d(floating(p)) for p in (u, v))
    n, scale = v.shape[0], 1.0 / v[0]
    quotient, rest = [], of_dtype(u, np.result_type(u, v))
    for k in range(u.shape[0] - n + 1):
        quotient.append(scale * rest[k])
        rest = np.concatenate([rest[:k], rest[k:k + n] - quotient[k] * v, rest[k + n:]])
    while rest.shape[0] > 1 and np.abs(rest[0]) <= 1e-8:       # as NumPy does
        rest = rest[1:]
    return (np.stack(quotient) if quotient else np.zeros(1, rest.dtype)), rest


@stands_for(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    """Coefficients of the derivative."""
    p = as_array(p)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in range(int(m)):
        p = p[:-1] * np.arange(p.shape[0] - 1, 0, -1)
    return p


@stands_for(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Coefficients of the antiderivative."""
    p = floating(p)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.zeros(m) if k is None else np.atleast_1d(as_array(k))
    if constants.shape[0] == 1 and m > 1:
        constants = np.broadcast_to(constants, (m,))
    for i in range(int(m)):
        p = np.concatenate([p / np.arange(p.shape[0], 0, -1), constants[i:i + 1]])
    return p


@stands_for(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """Coefficients of the polynomial with given roots (or of a matrix' eigenvalues)."""
    roots = floating(seq_of_zeros)
    if roots.ndim == 2:
        roots = np.linalg.eigvals(roots)
    out: Any = np.ones(1, roots.dtype)
    for root in np.ravel(roots):
        out = np.convolve(out, np.stack([np.ones((), roots.dtype), -root]))
    return out


@stands_for(np.polyfit)
def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None,
            cov: Any = False) -> Any:
    """Coefficients of the polynomial with the least squares of deviations."""
    refuse("polyfit", full=(full, False), cov=(cov, False))
    x, y = floating(x), floating(y)
    columns = vander(x, int(deg) + 1)
    if w is not None:
        w = as_array(w)
        columns = columns * w[:, None]
        y = y * (w[:, None] if y.ndim == 2 else w)
    scale = np.sqrt(np.sum(columns * columns, axis=0))
    columns = columns / scale
    solution = np.linalg.pinv(columns) @ y      # full rank, or NumPy warns
    return (solution.T / scale).T
