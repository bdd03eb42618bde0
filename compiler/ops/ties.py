"""Equal eigenvalues and singular values: where the vectors' derivative divides by zero.

A function of a matrix that is smooth, but written with the vectors, has a derivative there
nevertheless: the limit of the one at distinct values. A trace therefore asks whether values
coincide (a guard); if none do, the rules divide by the gaps; if some do, the rules leave the
pairs of equal values out, and ``transforms/ties.py`` adds their limit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from .matrix import identity
from .row import (
    DerivativeNotImplemented,
    Op,
    ZeroDerivative,
    broadcast_shapes,
    elementwise,
    sample,
)

_LATER = DerivativeNotImplemented(
    "Where eigenvalues or singular values coincide, only the first derivative of a function of "
    "their vectors is known. Use a function that needs no vectors, such as scipy.linalg.expm, "
    "sqrtm or numpy.linalg.inv.")

Over = Callable[..., Any]       # over(gaps, size, split, hollow): 1/gaps, in one of three meanings


def differences(w: Any) -> Any:
    """w_j − w_i."""
    return w[..., None, :] - w[..., :, None]


def sums(w: Any) -> Any:
    """w_j + w_i."""
    return w[..., None, :] + w[..., :, None]


def split_of(w: Any) -> Any:
    """The direction along which equal values part: 1, 2, 3, …."""
    n = w.shape[-1]
    return np.broadcast_to(np.arange(1, n + 1).astype(w.dtype), w.shape)


def tolerance(n: int, dtype: Any) -> float:
    """Values that differ by less, relative to the largest one, are equal but for rounding."""
    return float(f"{10.0 * n * float(np.finfo(dtype).eps):.1e}")


# -- whether values coincide ----------------------------------------------------------------------


def _coincide(w: Any, zero: bool, ordered: bool) -> Any:
    limit = tolerance(w.shape[-1], w.dtype) * np.max(np.abs(w), axis=-1, keepdims=True)
    if ordered:
        gaps = np.diff(w, append=0.0) if zero else np.diff(w)
        return np.any(np.abs(gaps) <= limit)
    n = w.shape[-1]
    return np.any(np.abs(differences(w))[..., *np.tril_indices(n, -1)] <= limit)


def _coincide_text(args: Any, params: Any, types: Any) -> str:
    (w,), (type,) = args, types
    limit = f"{tolerance(type.shape[-1], type.dtype)!r} * np.max(np.abs({w})" + (
        ")" if type.ndim == 1 else ", axis=-1, keepdims=True)")
    if params["ordered"]:
        gaps = f"np.diff({w}, append=0.0)" if params["zero"] else f"np.diff({w})"
    else:
        pairs = "" if type.ndim == 1 else "..., "
        gaps = f"({w}[..., None, :] - {w}[..., None])[{pairs}*np.tril_indices(" \
               f"{type.shape[-1]}, -1)]"
    return f"np.any(np.abs({gaps}) <= {limit})"


# Whether any two values, or a value and zero, are equal to rounding; asked by guards only.
coincide = Op("coincide", _coincide, lambda w, zero, ordered: ArrayType((), np.dtype(bool)),
              ZeroDerivative(), params=("zero", "ordered"), python=_coincide_text,
              batch=lambda args, batched, **params: np.stack(
                  [coincide(w, **params) for w in args[0]]),
              samples=(sample((3,), zero=False, ordered=True),
                       sample((2, 3), zero=True, ordered=True),
                       sample((3,), zero=False, ordered=False)))


# -- reciprocal gaps ------------------------------------------------------------------------------


def _vanishes(gaps: Any, size: Any) -> Any:
    return np.abs(gaps) <= tolerance(gaps.shape[-1], gaps.dtype) * size


def _apart(gaps: Any, size: Any) -> Any:
    vanishes = _vanishes(gaps, size)
    return np.where(vanishes, 0.0, 1.0 / np.where(vanishes, 1.0, gaps))


def _split(gaps: Any, size: Any, split: Any) -> Any:
    vanishes = _vanishes(gaps, size) & (split != 0)
    return np.where(vanishes, 1.0 / np.where(vanishes, split, 1.0), 0.0)


def _broadcast_type(*types: ArrayType) -> ArrayType:
    return ArrayType(broadcast_shapes(*[t.shape for t in types]), types[::2][-1].dtype)


# 1/gap where no gap is zero; where some are: of those that are not, and of those that are, once
# they have been split. The latter two have no derivative themselves. All operands of a row have
# as many axes.
gap = elementwise("gap", lambda gaps: 1.0 / gaps, lambda gaps, out: -out * out, python="",
                  expand=lambda gaps: 1.0 / gaps, domain=((0.5, 2.0),))
gap_apart = Op("gap_apart", _apart, _broadcast_type, _LATER, expand=_apart,
               batch=lambda args, batched: gap_apart(*args),
               samples=(sample(np.array([[0.0, 1.5], [-1.5, 0.0]]), np.array([[2.0]])),))
gap_split = Op("gap_split", _split, _broadcast_type, _LATER, expand=_split,
               batch=lambda args, batched: gap_split(*args),
               samples=(sample(np.array([[0.0, 0.0], [0.0, 0.0]]), np.array([[2.0]]),
                               np.array([[0.0, 1.0], [-1.0, 0.0]])),))
GAPS = (gap, gap_apart, gap_split)


def _size(w: Any, gaps: Any) -> Any:
    largest = np.max(np.abs(w), axis=-1)
    return largest[(..., *(None,) * (gaps.ndim - largest.ndim))]


def distinct(gaps: Any, w: Any, split: Any, hollow: bool) -> Any:
    """1/gaps; on the diagonal of a hollow matrix 0."""
    if not hollow:
        return gap(gaps)
    unit = identity(gaps.shape[-1], w)
    return gap(gaps + unit) - unit


def apart(gaps: Any, w: Any, split: Any, hollow: bool) -> Any:
    """1/gaps, but 0 where they vanish."""
    return gap_apart(gaps, _size(w, gaps))


def parted(gaps: Any, w: Any, split: Any, hollow: bool) -> Any:
    """1/gaps where they vanish, when values move along ``split_of(w)``; 0 elsewhere."""
    return gap_split(gaps, _size(w, gaps), split)


@dataclass(frozen=True)
class Ties:
    """A factorization at coinciding values.

    Attributes:
        op: its row at such points.
        values: which of its results are the values that coincide.
        vectors: which are the vectors that may turn.
        turn: ``turn(a, t, results, params)``, how the vectors turn along t as the gaps open.
    """

    op: Op
    values: int
    vectors: tuple[int, ...]
    turn: Callable[..., tuple[Any, ...]]
