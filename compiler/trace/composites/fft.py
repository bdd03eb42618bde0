"""The transforms of ``numpy.fft`` and ``scipy.fft``."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import UnsupportedArgumentError
from ...ops import fft as rows
from ..locate import locate
from ..registry import CLOSED_LATE, FUNCTIONS, stands_for_late
from .common import as_array, axes_of, one_axis

_SCIPY = "scipy.fft"         # loaded when first needed
CLOSED_LATE.add(_SCIPY)


def _register(name: str, function: Callable[..., Any]) -> None:
    """Our function for those of a name in both modules."""
    stands_for_late(_SCIPY, name)(function)
    if hasattr(np.fft, name):
        FUNCTIONS[getattr(np.fft, name)] = function


def _norm(norm: Any) -> str:
    if norm is None:
        return "backward"
    if norm not in rows.OPPOSITE:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return str(norm)


def _lengths(x: Any, s: Any, axes: Any, inverse_real: bool = False
             ) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Lengths and axes of a transform; without ``s`` those of the operand."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(tuple(s)), x.ndim)
    axes = axes_of(tuple(axes), x.ndim)
    natural = [x.shape[a] for a in axes]
    if inverse_real:
        natural[-1] = 2 * (natural[-1] - 1)
    given = list(natural) if s is None else [int(n) for n in s]
    if len(given) != len(axes):
        raise ValueError("when given, axes and shape arguments have to be of the same length")
    return tuple(m if n == -1 else n for n, m in zip(given, natural, strict=True)), axes


def _many(row: Any, default_axes: Any) -> Callable[..., Any]:
    def transform(x: Any, s: Any = None, axes: Any = default_axes, norm: Any = None,
                  *_: Any, **__: Any) -> Any:
        x = as_array(x)
        lengths, axes = _lengths(x, s, axes, row is rows.irfftn)
        return row(x, s=lengths, axes=axes, norm=_norm(norm)) if axes else x
    return transform


def _one(row: Any) -> Callable[..., Any]:
    many = _many(row, None)

    def transform(x: Any, n: Any = None, axis: Any = -1, norm: Any = None, *_: Any, **__: Any
                  ) -> Any:
        return many(x, None if n is None else (n,), (axis,), norm)
    return transform


for _name, _row in (("fft", rows.fftn), ("ifft", rows.ifftn), ("rfft", rows.rfftn),
                    ("irfft", rows.irfftn)):
    _register(_name, _one(_row))
    _register(f"{_name}2", _many(_row, (-2, -1)))
    _register(f"{_name}n", _many(_row, None))


def _hermitian(default_axes: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Transforms between Hermitian and real values, and back: those of the conjugate."""
    inverse, forward = _many(rows.irfftn, default_axes), _many(rows.rfftn, default_axes)

    def hfft(x: Any, s: Any = None, axes: Any = default_axes, norm: Any = None,
             *_: Any, **__: Any) -> Any:
        return inverse(np.conj(as_array(x)), s, axes, rows.OPPOSITE[_norm(norm)])

    def ihfft(x: Any, s: Any = None, axes: Any = default_axes, norm: Any = None,
              *_: Any, **__: Any) -> Any:
        return np.conj(forward(x, s, axes, rows.OPPOSITE[_norm(norm)]))
    return hfft, ihfft


_hfftn, _ihfftn = _hermitian(None)
for _names, _pair in ((("hfft2", "ihfft2"), _hermitian((-2, -1))),
                      (("hfftn", "ihfftn"), (_hfftn, _ihfftn))):
    for _name, _function in zip(_names, _pair, strict=True):
        _register(_name, _function)


def hfft(x: Any, n: Any = None, axis: Any = -1, norm: Any = None, *_: Any, **__: Any) -> Any:
    """Transform of a signal with Hermitian symmetry."""
    return _hfftn(x, None if n is None else (n,), (axis,), norm)


_register("hfft", hfft)


def ihfft(x: Any, n: Any = None, axis: Any = -1, norm: Any = None, *_: Any, **__: Any) -> Any:
    """Inverse of :func:`hfft`."""
    return _ihfftn(x, None if n is None else (n,), (axis,), norm)


_register("ihfft", ihfft)


def _shift(sign: int) -> Callable[..., Any]:
    def shift(x: Any, axes: Any = None) -> Any:
        x = as_array(x)
        axes = axes_of(axes, x.ndim)
        half = [x.shape[a] // 2 for a in axes]
        return np.roll(x, [sign * h for h in half], axes)
    return shift


_register("fftshift", _shift(1))
_register("ifftshift", _shift(-1))


def _trigonometric(row: Any, inverse: bool) -> Callable[..., Any]:
    def transform(x: Any, type: int = 2, n: Any = None, axis: Any = -1, norm: Any = None,
                  overwrite_x: bool = False, workers: Any = None, orthogonalize: Any = None
                  ) -> Any:
        x, norm = as_array(x), _norm(norm)
        if x.dtype.kind not in "fc":
            x = x.astype(float)
        axis = one_axis(axis, x.ndim)
        if orthogonalize is not None and bool(orthogonalize) != (norm == "ortho"):
            raise UnsupportedArgumentError(
                f"scipy.fft with norm={norm!r} and orthogonalize={orthogonalize} is not "
                "supported on traced values.", "Leave the option out.", locate())
        if n is not None:
            x = rows.resize(x, (int(n),), (axis,))
        if inverse:
            type, norm = rows.PARTNER[type], rows.OPPOSITE[norm]
        return row(x, type=type, axis=axis, norm=norm)
    return transform


def _trigonometric_many(one: Callable[..., Any]) -> Callable[..., Any]:
    def transform(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None,
                  overwrite_x: bool = False, workers: Any = None, *, orthogonalize: Any = None
                  ) -> Any:
        x = as_array(x)
        lengths, axes = _lengths(x, s, axes)
        for n, axis in zip(lengths, axes, strict=True):
            x = one(x, type, None if n == x.shape[axis] else n, axis, norm,
                    orthogonalize=orthogonalize)
        return x
    return transform


for _name, _row in (("dct", rows.dct), ("dst", rows.dst)):
    for _prefix in ("", "i"):
        _single = _trigonometric(_row, inverse=bool(_prefix))
        _register(f"{_prefix}{_name}", _single)
        _register(f"{_prefix}{_name}n", _trigonometric_many(_single))

# SciPy's converts the spacing to an array; NumPy's divides by it.
stands_for_late(_SCIPY, "fftfreq")(lambda n, d=1.0, **_: np.fft.fftfreq(n, d))
stands_for_late(_SCIPY, "rfftfreq")(lambda n, d=1.0, **_: np.fft.rfftfreq(n, d))
