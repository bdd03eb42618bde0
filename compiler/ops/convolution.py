"""Convolution along all axes of two arrays; ``valid`` needs the first operand to be the larger."""

from typing import Any

import numpy as np
import scipy  # loads its submodules when they are first used

from ..arraytype import ArrayType
from .flow import PAIRS, Collect, Gather, along, numbers
from .row import General, Multilinear, Op, sample


def _call(a: Any, v: Any, mode: Any) -> Any:
    if np.ndim(a) == 1:
        return np.convolve(a, v, mode)
    return scipy.signal.convolve(a, v, mode, method="direct")


def _type(a: ArrayType, v: ArrayType, mode: str) -> ArrayType:
    pairs = zip(a.shape, v.shape, strict=True)
    shape = tuple(n + m - 1 if mode == "full" else n - m + 1 for n, m in pairs)
    return ArrayType(shape, np.result_type(a.dtype, v.dtype))


def _text(args: Any, params: Any, types: Any) -> str:
    mode = "" if params["mode"] == "full" else f', "{params["mode"]}"'
    if types[0].ndim == 1:
        return f"np.convolve({args[0]}, {args[1]}{mode})"
    return f'signal.convolve({args[0]}, {args[1]}{mode}, method="direct")'


def _transpose_first(ct: Any, a: Any, v: Any, mode: str) -> Any:
    # out_k = Σ_j a_{k−j} v_j, so ā_i = Σ_j c_{i+j} v_j: a correlation.
    return convolve(ct, np.flip(v), mode="valid" if mode == "full" else "full")


def _transpose_second(ct: Any, a: Any, v: Any, mode: str) -> Any:
    if mode == "full":
        return convolve(ct, np.flip(a), mode="valid")
    return np.flip(convolve(a, np.flip(ct), mode="valid"))


def _batch(args: Any, batched: Any, mode: str) -> Any:
    """One batch axis is convolved with an axis of length one; two are taken example by example."""
    a, v = args
    if all(batched):
        return np.stack([convolve(a[i], v[i], mode=mode) for i in range(a.shape[0])])
    if batched[0]:
        return convolve(a, v[None], mode=mode)
    if mode == "full":
        return convolve(a[None], v, mode=mode)
    return np.stack([convolve(a, v[i], mode=mode) for i in range(v.shape[0])])


def _flow(i: Any, types: Any, out: Any, known: Any, mode: str) -> Any:
    """Each element meets those of the other operand that are not zero for good."""
    mine, theirs = types[i].shape, types[1 - i].shape
    other = known(1 - i)
    shifts = np.argwhere(np.ones(theirs, bool) if other is None else other)
    n = types[i].size
    if shifts.shape[0] * n > PAIRS:
        return along(range(len(mine)), mine, out.shape)
    at = np.indices(mine).reshape(len(mine), n)
    # out_k = Σ a_i v_j over i + j = k, counted from where ``valid`` begins.
    place = np.zeros((shifts.shape[0], n), np.intp)
    inside = np.ones((shifts.shape[0], n), bool)
    for axis, length in enumerate(out.shape):
        k = at[axis] + shifts[:, axis, None] - (0 if mode == "full" else types[1].shape[axis] - 1)
        inside &= (k >= 0) & (k < length)
        place = place * length + k
    sources = np.broadcast_to(numbers((n,)), inside.shape)
    return Gather(sources[inside]), Collect(place[inside], out.size)


convolve = Op("convolve", _call, _type, Multilinear((_transpose_first, _transpose_second)),
              params=("mode",), batch=_batch, python=_text, flow=_flow,
              samples=(sample((4,), (3,), mode="full"), sample((2,), (3,), mode="full"),
                       sample((4,), (2,), mode="valid"), sample((3,), (3,), mode="valid"),
                       sample((3, 4), (2, 2), mode="full"), sample((3, 4), (2, 3), mode="valid")))


# -- recursive filters: a₀ y_n = Σ_k b_k x_{n−k} − Σ_{k≥1} a_k y_{n−k} along the last axis --------


def _filter_type(b: ArrayType, a: ArrayType, x: ArrayType) -> ArrayType:
    kinds = [np.ones(1, t.dtype) for t in (b, a, x)]
    return ArrayType(x.shape, scipy.signal.lfilter(*kinds).dtype)


def _filter_jvp(args: Any, tangents: Any, out: Any) -> Any:
    # A y = B x, so that A ẏ = Ḃ x + B ẋ − Ȧ y.
    (b, a, x), (tb, ta, tx) = args, tangents
    terms = [*[lfilter(tb, a, x) for _ in [0] if tb is not None],
             *[lfilter(b, a, tx) for _ in [0] if tx is not None],
             *[-lfilter(ta, a, out) for _ in [0] if ta is not None]]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _filter_transpose_b(ct: Any, b: Any, a: Any, x: Any) -> Any:
    w, n = lfilter(np.ones(1, x.dtype), a, x), x.shape[-1]
    return np.stack([np.sum(ct[..., k:] * w[..., :max(n - k, 0)]) for k in range(b.shape[0])])


def _filter_transpose_x(ct: Any, b: Any, a: Any, x: Any) -> Any:
    return np.flip(lfilter(b, a, np.flip(ct, -1)), -1)       # backwards in time


def _filter_batch(args: Any, batched: Any) -> Any:
    b, a, x = args
    if batched == (False, False, True):
        return lfilter(b, a, x)
    size = next(v.shape[0] for v, flag in zip(args, batched, strict=True) if flag)
    return np.stack([lfilter(*[v[i] if flag else v for v, flag in zip(args, batched, strict=True)])
                     for i in range(size)])


lfilter = Op("lfilter", lambda b, a, x: scipy.signal.lfilter(b, a, x), _filter_type,
             General(_filter_jvp, {0: _filter_transpose_b, 2: _filter_transpose_x}),
             batch=_filter_batch, python="signal.lfilter",
             samples=(sample((2,), np.array([2.0, -0.6, 0.3]), (5,)),
                      sample((3,), np.array([1.0, 0.5]), (2, 4))))
