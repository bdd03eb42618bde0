"""Convolution, correlation and filters."""

from typing import Any

import numpy as np

from ...errors import UnsupportedArgumentError
from ...ops import convolution
from ..locate import locate
from ..registry import stands_for, stands_for_late
from .common import as_array, one_axis

_MODULE = "scipy.signal"


def _convolved(a: Any, v: Any, mode: str) -> Any:
    """``full``, or ``valid`` with the larger operand first."""
    if mode == "full":
        return convolution.convolve(a, v, mode="full")
    larger = [n >= m for n, m in zip(a.shape, v.shape, strict=True)]
    if not all(larger):
        if any(n > m for n, m in zip(a.shape, v.shape, strict=True)):
            raise ValueError("For 'valid' mode, one must be at least as large as the other in "
                             "every dimension")
        a, v = v, a
    return convolution.convolve(a, v, mode="valid")


def _middle(full: Any, shape: tuple[int, ...]) -> Any:
    """The centre of an array, of a given shape."""
    starts = [(n - m) // 2 for n, m in zip(full.shape, shape, strict=True)]
    return full[tuple(slice(s, s + m) for s, m in zip(starts, shape, strict=True))]


def _rows(a: Any, v: Any) -> tuple[Any, Any]:
    a, v = np.atleast_1d(as_array(a)), np.atleast_1d(as_array(v))
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError("object too deep for desired array")
    for x, which in ((a, "a"), (v, "v")):
        if x.size == 0:
            raise ValueError(f"{which} cannot be empty")
    return a, v


def _mode(mode: Any) -> str:
    names = {0: "valid", 1: "same", 2: "full"}
    mode = names.get(mode, mode)
    if mode not in names.values():
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    return str(mode)


@stands_for(np.convolve)
def convolve_rows(a: Any, v: Any, mode: Any = "full") -> Any:
    """Convolution of two rows."""
    a, v = _rows(a, v)
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    if _mode(mode) == "same":
        return _middle(_convolved(a, v, "full"), a.shape)
    return _convolved(a, v, _mode(mode))


@stands_for(np.correlate)
def correlate_rows(a: Any, v: Any, mode: Any = "valid") -> Any:
    """Sums of products of a row with the conjugate of a shifted row."""
    a, v = _rows(a, v)
    if v.shape[0] > a.shape[0]:
        # ``same`` is cut out of the reversed result, as NumPy does it.
        return np.conj(correlate_rows(v, a, mode))[::-1]
    return convolve_rows(a, np.conj(v)[::-1], mode)


@stands_for_late(_MODULE, "convolve")
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Convolution along all axes."""
    a, v = as_array(in1), as_array(in2)
    if a.ndim != v.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if a.ndim == 0:
        return a * v
    if _mode(mode) == "same":
        return _middle(_convolved(a, v, "full"), a.shape)
    return _convolved(a, v, _mode(mode))


@stands_for_late(_MODULE, "fftconvolve", "oaconvolve")
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolution along all axes."""
    if axes is not None and sorted(np.atleast_1d(axes) % np.ndim(in1)) != list(
            range(np.ndim(in1))):
        raise UnsupportedArgumentError("Convolution along some axes only is not supported on "
                                       "traced values.", "Loop over the other axes.", locate())
    return convolve(in1, in2, mode)


@stands_for_late(_MODULE, "correlate")
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Sums of products of an array with the conjugate of a shifted one."""
    a, v = as_array(in1), as_array(in2)
    if a.ndim == 0 and v.ndim == 0:
        return a * np.conj(v)
    if _mode(mode) == "valid" and any(n < m for n, m in zip(a.shape, v.shape, strict=True)):
        return np.flip(np.conj(correlate(v, a, mode)))
    return convolve(a, np.flip(np.conj(v)), mode)


def _extended(a: Any, v: Any, boundary: str, fillvalue: Any) -> Any:
    """The first operand continued beyond its edges, as far as the second one reaches."""
    if boundary == "fill" and not np.any(fillvalue):
        return a
    for axis, n in enumerate(v.shape):
        source = np.arange(1 - n, a.shape[axis] + n - 1)
        inside = (source >= 0) & (source < a.shape[axis])
        if boundary == "symm":
            source = source % (2 * a.shape[axis])
            source = np.minimum(source, 2 * a.shape[axis] - 1 - source)
        taken = np.take(a, source % a.shape[axis], axis=axis)
        if boundary == "fill":
            inside = np.reshape(inside, [-1 if i == axis else 1 for i in range(a.ndim)])
            taken = np.where(inside, taken, fillvalue)
        a = taken
    return a


@stands_for_late(_MODULE, "convolve2d")
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill",
               fillvalue: Any = 0) -> Any:
    """Convolution of two matrices, of which the first may be continued beyond its edges."""
    a, v = as_array(in1), as_array(in2)
    if a.ndim != 2 or v.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    mode = _mode(mode)
    boundary = {"pad": "fill", "circular": "wrap", "symmetric": "symm"}.get(boundary, boundary)
    if mode == "valid":
        return _convolved(a, v, mode)
    wide = _extended(a, v, boundary, fillvalue)
    full = _convolved(wide, v, "full" if wide is a else "valid")
    return full if mode == "full" else _middle(full, a.shape)


@stands_for_late(_MODULE, "correlate2d")
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill",
                fillvalue: Any = 0) -> Any:
    """Sums of products of a matrix with the conjugate of a shifted one."""
    a, v = as_array(in1), as_array(in2)
    if _mode(mode) == "valid" and any(n < m for n, m in zip(a.shape, v.shape, strict=True)):
        return np.flip(np.conj(correlate2d(v, a, mode)))
    kernel = np.flip(np.conj(v))
    if _mode(mode) == "same":       # cut out one further on where the kernel's length is even
        full = convolve2d(a, kernel, "full", boundary, fillvalue)
        starts = [m - 1 - (m - 1) // 2 for m in v.shape]
        return full[tuple(slice(s, s + n) for s, n in zip(starts, a.shape, strict=True))]
    return convolve2d(a, kernel, mode, boundary, fillvalue)


@stands_for_late(_MODULE, "lfilter")
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """A rational filter along an axis."""
    b, a, x = np.atleast_1d(as_array(b)), np.atleast_1d(as_array(a)), as_array(x)
    if zi is not None:
        raise UnsupportedArgumentError(
            "lfilter with zi= is not supported on traced values.",
            "Leave the option out: put the samples before in front of x.", locate())
    axis = one_axis(axis, x.ndim)
    if a.shape[0] != 1:
        return np.moveaxis(convolution.lfilter(b, a, np.moveaxis(x, axis, -1)), -1, axis)
    kernel = np.reshape(b / a[0], [-1 if i == axis else 1 for i in range(x.ndim)])
    full = _convolved(x, kernel, "full")
    return full[(slice(None),) * axis + (slice(0, x.shape[axis]),)]


@stands_for(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False,
                        writeable: bool = False) -> Any:
    """All windows of a shape, as trailing axes (a copy)."""
    x = as_array(x)
    sizes = tuple(np.atleast_1d(window_shape))
    axes = tuple(range(x.ndim)) if axis is None else tuple(
        one_axis(a, x.ndim) for a in np.atleast_1d(axis))
    if len(sizes) != len(axes):
        raise ValueError("Must provide matching length window_shape and axis")
    for size, a in zip(sizes, axes, strict=True):
        if size > x.shape[a]:
            raise ValueError("window shape cannot be larger than input array shape")
        places = np.arange(x.shape[a] - size + 1)[:, None] + np.arange(size)
        x = np.moveaxis(x[(slice(None),) * a + (places,)], a + 1, -1)
    return x
