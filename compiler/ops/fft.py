"""Discrete Fourier, cosine and sine transforms.

``s`` holds the lengths along ``axes``: operands are cropped or padded with zeros to them. The
matrix of a Fourier transform is symmetric, so ``fft`` and ``ifft`` are their own transposes;
for the transforms of real values see the rules.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy  # loads its submodules when they are first used

from ..arraytype import ArrayType
from .flow import by_axes
from .row import Linear, Op, Rule, sample, shift_axes

OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def resize(x: Any, s: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Cropped or padded with zeros at the end, to lengths ``s`` along axes."""
    index = [slice(None)] * x.ndim
    widths = [(0, 0)] * x.ndim
    for n, axis in zip(s, axes, strict=True):
        if n < x.shape[axis]:
            index[axis] = slice(0, n)
        widths[axis] = (0, max(n - x.shape[axis], 0))
    if any(part != slice(None) for part in index):
        x = x[tuple(index)]
    return np.pad(x, widths) if any(after for _, after in widths) else x


@cache
def _dtype(call: Callable[..., Any], dtype: np.dtype[Any]) -> np.dtype[Any]:
    out: np.dtype[Any] = np.asarray(call(np.ones(2, dtype))).dtype
    return out


def _resized(x: ArrayType, s: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    shape = list(x.shape)
    for n, axis in zip(s, axes, strict=True):
        if n < 1:
            raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
        shape[axis] = n
    return tuple(shape)


def _text(one: str, two: str, many: str) -> Callable[..., str]:
    """Spelled as the transform of as many axes as there are."""
    real_result = one == "np.fft.irfft"

    def text(args: Any, params: Any, types: Any) -> str:
        (x,), s, axes = types, params["s"], params["axes"]
        natural = [x.shape[a] for a in axes]
        if real_result:
            natural[-1] = 2 * (natural[-1] - 1)
        options = ""
        if len(axes) == 1:
            callee = one
            options += f", {s[0]}" if s[0] != natural[0] else ""
            options += f", axis={axes[0]}" if axes[0] != x.ndim - 1 else ""
        else:
            callee = two if len(axes) == 2 else many
            last = tuple(range(x.ndim - len(axes), x.ndim))
            options += f", {s}" if list(s) != natural else ""
            if list(s) != natural and callee == many:
                options += f", {axes}"
            else:
                options += f", axes={axes}" if axes != last else ""
        norm = params["norm"]
        return f"{callee}({args[0]}{options}{f', norm={norm!r}' if norm != 'backward' else ''})"
    return text


def _fourier(name: str, stem: str, call: Any, result: Any, transpose: Rule,
             samples: tuple[Any, ...]) -> Op:
    def type_rule(x: ArrayType, s: Any, axes: Any, norm: str) -> ArrayType:
        return ArrayType(result(_resized(x, s, axes), axes), _dtype(call, x.dtype))

    def compute(x: Any, s: Any, axes: Any, norm: str) -> Any:
        return call(x, s, axes, norm)

    def batch(args: Any, batched: Any, s: Any, axes: Any, norm: str) -> Any:
        return row(args[0], s=s, axes=shift_axes(axes), norm=norm)

    row = Op(name, compute, type_rule, Linear(transpose), params=("s", "axes", "norm"),
             batch=batch, samples=samples, flow=by_axes("axes"),
             python=_text(*[f"np.fft.{stem}{suffix}" for suffix in ("", "2", "n")]))
    return row


def _same_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return shape


def _half_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    last = axes[-1]
    return (*shape[:last], shape[last] // 2 + 1, *shape[last + 1:])


def _lengths(x: Any, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(x.shape[a] for a in axes)


def _fft_transpose(ct: Any, x: Any, s: Any, axes: Any, norm: str) -> Any:
    return resize(fftn(ct, s=s, axes=axes, norm=norm), _lengths(x, axes), axes)


def _ifft_transpose(ct: Any, x: Any, s: Any, axes: Any, norm: str) -> Any:
    return resize(ifftn(ct, s=s, axes=axes, norm=norm), _lengths(x, axes), axes)


def _rfft_transpose(ct: Any, x: Any, s: Any, axes: Any, norm: str) -> Any:
    # rfft keeps the first half of fft, so its transpose pads to the whole; x is real.
    return resize(np.real(fftn(ct, s=s, axes=axes, norm=norm)), _lengths(x, axes), axes)


def _irfft_transpose(ct: Any, x: Any, s: Any, axes: Any, norm: str) -> Any:
    # Each frequency but the first (and, of an even length, the last) stands for its mirror
    # image too: out_j = Re Σ_k w_k x_k exp(2πijk/n)/n with w = 1, 2, …, 2 (, 1).
    n, last = s[-1], axes[-1]
    half = np.conj(rfftn(ct, s=(n,), axes=(last,), norm=OPPOSITE[norm]))
    weights = np.full(n // 2 + 1, 2.0)
    weights[0] = 1.0
    if n % 2 == 0:
        weights[-1] = 1.0
    shape = [1] * ct.ndim
    shape[last] = n // 2 + 1
    half = half * weights.reshape(shape).astype(ct.dtype)
    if len(axes) > 1:
        half = ifftn(half, s=s[:-1], axes=axes[:-1], norm=norm)
    return resize(half, _lengths(x, axes), axes)


_SAMPLES = (sample((4,), s=(4,), axes=(0,), norm="backward"),
            sample((5, 2), s=(3,), axes=(0,), norm="ortho"),
            sample((2, 3), s=(4,), axes=(1,), norm="forward"),
            sample((2, 3, 4), s=(3, 4), axes=(1, 2), norm="backward"),
            sample((2, 3, 4), s=(5, 2, 2), axes=(2, 0, 1), norm="ortho"))
_HALF = (sample((3,), s=(4,), axes=(0,), norm="backward"),
         sample((3, 2), s=(5,), axes=(0,), norm="ortho"),
         sample((2, 4), s=(3,), axes=(1,), norm="forward"),
         sample((2, 3, 3), s=(3, 4), axes=(1, 2), norm="backward"),
         sample((2, 3, 4), s=(5, 2, 3), axes=(2, 0, 1), norm="ortho"))

fftn = _fourier("fftn", "fft", np.fft.fftn, _same_shape, _fft_transpose, _SAMPLES)
ifftn = _fourier("ifftn", "ifft", np.fft.ifftn, _same_shape, _ifft_transpose, _SAMPLES)
rfftn = _fourier("rfftn", "rfft", np.fft.rfftn, _half_shape, _rfft_transpose, _SAMPLES)
irfftn = _fourier("irfftn", "irfft", np.fft.irfftn, _same_shape, _irfft_transpose, _HALF)


# -- cosine and sine transforms ----------------------------------------------------------------

PARTNER = {1: 1, 2: 3, 3: 2, 4: 4}     # type of the inverse, up to a factor


def _weights(n: int, positions: tuple[int, ...], axis: int, like: Any) -> Any:
    """Twos at some positions along an axis, ones elsewhere."""
    weights = np.ones(n)
    weights[list(positions)] = 2.0
    shape = [1] * like.ndim
    shape[axis] = n
    return weights.reshape(shape).astype(like.dtype)


def _trigonometric(name: str, end: int) -> Op:
    """``end`` is the element that types 2 and 3 treat apart: the first or the last."""
    def call(*args: Any) -> Any:
        return getattr(scipy.fft, name)(*args)

    def compute(x: Any, type: int, axis: int, norm: str) -> Any:
        return call(x, type, None, axis, norm)

    def transpose(ct: Any, x: Any, type: int, axis: int, norm: str) -> Any:
        # Without norm="ortho" the matrices are orthogonal and symmetric but for factors of two
        # at the ends: C₂ᵀ = C₃ D and C₃ᵀ = D⁻¹ C₂ with D = diag(2, 1, …); C₁ᵀ = D C₁ D⁻¹ with
        # D = diag(1, 2, …, 2, 1).
        partner, n = PARTNER[type], ct.shape[axis]
        if norm == "ortho" or type == 4 or (type == 1 and name == "dst"):
            return row(ct, type=partner, axis=axis, norm=norm)
        ends = _weights(n, tuple(range(1, n - 1)) if type == 1 else (end,), axis, ct)
        if type == 2:
            return row(ct * ends, type=partner, axis=axis, norm=norm)
        if type == 3:
            return row(ct, type=partner, axis=axis, norm=norm) / ends
        return row(ct / ends, type=partner, axis=axis, norm=norm) * ends

    def text(args: Any, params: Any, types: Any) -> str:
        kind, axis, norm = params["type"], params["axis"], params["norm"]
        options = f", {kind}" if kind != 2 else ""
        options += f", axis={axis}" if axis != types[0].ndim - 1 else ""
        options += f", norm={norm!r}" if norm != "backward" else ""
        return f"fft.{name}({args[0]}{options})"

    def type_rule(x: ArrayType, type: int, axis: int, norm: str) -> ArrayType:
        if type == 1 and name == "dct" and x.shape[axis] < 2:
            raise ValueError("DCT-I is not defined for size < 2")
        return ArrayType(x.shape, _dtype(call, x.dtype))

    row = Op(name, compute, type_rule, Linear(transpose), params=("type", "axis", "norm"),
             python=text, flow=by_axes("axis"),
             batch=lambda args, batched, type, axis, norm: row(args[0], type=type, axis=axis + 1,
                                                               norm=norm),
             samples=(*[sample((2, 4), type=kind, axis=1, norm=norm) for kind in (1, 2, 3, 4)
                        for norm in ("backward", "ortho", "forward")],
                      sample((3, 2), type=2, axis=0, norm="backward"),
                      sample((3,), type=1, axis=0, norm="backward")))
    return row


dct = _trigonometric("dct", 0)
dst = _trigonometric("dst", -1)
