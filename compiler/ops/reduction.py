"""Reductions and cumulative operations. ``axis`` is a tuple of non-negative axes."""

from functools import cache
from typing import Any

import numpy as np
import scipy.special as special

from ..arraytype import ArrayType
from .arithmetic import ratio, scale
from .flow import accumulates, reduces
from .row import General, Linear, Op, ZeroDerivative, batch_by_axis, sample


def kept_shape(shape: Any, axis: Any) -> Any:
    """Shape after reducing with ``keepdims=True``."""
    return tuple(1 if i in axis else n for i, n in enumerate(shape))


def _reduced_type(call: Any) -> Any:
    @cache
    def dtype_of(dtype: Any) -> Any:
        return np.asarray(call(np.ones(1, dtype), axis=(0,), keepdims=False)).dtype

    def rule(x: Any, axis: Any, keepdims: Any) -> Any:
        shape = kept_shape(x.shape, axis)
        if not keepdims:
            shape = tuple(n for i, n in enumerate(shape) if i not in axis)
        return ArrayType(shape, dtype_of(x.dtype))
    return rule


def axis_text(types: Any, axis: Any) -> Any:
    """How an axis tuple is spelled: nothing for all axes, a number for one."""
    if len(axis) == types[0].ndim:
        return ""
    return f", axis={axis[0] if len(axis) == 1 else axis}"


def _spelling(callee: Any) -> Any:
    def text(args: Any, params: Any, types: Any) -> Any:
        keep = ", keepdims=True" if params["keepdims"] else ""
        return f"{callee}({args[0]}{axis_text(types, params['axis'])}{keep})"
    return text


_SAMPLES = (sample((2, 3), axis=(0,), keepdims=False), sample((2, 3), axis=(1,), keepdims=True),
            sample((2, 3, 2), axis=(0, 2), keepdims=False), sample((), axis=(), keepdims=False),
            sample((4,), axis=(0,), keepdims=False))
_EMPTY = (sample((0, 3), axis=(0,), keepdims=False), sample((2, 0), axis=(0,), keepdims=True))


def _reduction(name: Any, call: Any, derivative: Any, callee: Any = None, samples: Any = _SAMPLES,
               **fields: Any) -> Any:
    def reduce(x: Any, axis: Any, keepdims: Any) -> Any:
        return call(x, axis=axis, keepdims=keepdims)

    row = Op(name, reduce, _reduced_type(call), derivative, params=("axis", "keepdims"),
             python=fields.pop("python", _spelling(callee or f"np.{name}")), samples=samples,
             batch=batch_by_axis(lambda: row), flow=reduces, **fields)
    return row


def expand(value: Any, like: Any, axis: Any, keepdims: Any) -> Any:
    """A reduced value with its reduced axes back, of length one."""
    if keepdims or not axis:
        return value
    return np.reshape(value, kept_shape(like.shape, axis))


def _sum_transpose(ct: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    return np.broadcast_to(expand(ct, x, axis, keepdims), x.shape)


def _prod_jvp(args: Any, tangents: Any, out: Any, axis: Any, keepdims: Any) -> Any:
    # Products of all other elements from exclusive running products of both sides: right with
    # any number of zeros, 3n multiplications.
    (x,), (t,) = args, tangents
    n_reduced = int(np.prod([x.shape[a] for a in axis]))
    kept = [a for a in range(x.ndim) if a not in axis]
    order = (*kept, *axis)
    flat_shape = (*[x.shape[a] for a in kept], n_reduced)
    flat = np.reshape(np.transpose(x, order), flat_shape)
    t_flat = np.reshape(np.transpose(t, order), flat_shape)
    one = np.ones((*flat_shape[:-1], 1), x.dtype)
    before = np.concatenate([one, np.cumprod(flat, axis=-1)[..., :-1]], axis=-1)
    after = np.concatenate([one, np.cumprod(flat[..., ::-1], axis=-1)[..., :-1]],
                           axis=-1)[..., ::-1]
    if n_reduced == 0:
        return None
    result = np.sum(scale(t_flat, before * after), axis=-1)
    return np.reshape(result, kept_shape(x.shape, axis)) if keepdims else result


def _extremum_jvp(args: Any, tangents: Any, out: Any, axis: Any, keepdims: Any) -> Any:
    # The derivative is shared evenly by all elements that attain the extremum.
    (x,), (t,) = args, tangents
    chosen = x == expand(out, x, axis, keepdims)
    count = np.sum(chosen, axis=axis, keepdims=keepdims)
    return np.sum(np.where(chosen, t, 0.0), axis=axis, keepdims=keepdims) / \
        count.astype(out.dtype)


def _logsumexp_jvp(args: Any, tangents: Any, out: Any, axis: Any, keepdims: Any) -> Any:
    (x,), (t,) = args, tangents
    top = expand(out, x, axis, keepdims)
    weights = np.exp(x - np.where(np.isfinite(top), top, 0.0))
    return np.sum(scale(t, weights), axis=axis, keepdims=keepdims)


def _logsumexp_call(x: Any, axis: Any, keepdims: Any) -> Any:
    return special.logsumexp(x, axis=axis if len(axis) < np.ndim(x) else None, keepdims=keepdims)


def _norm_call(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    if axis is None or len(axis) == np.ndim(x):
        return np.linalg.norm(x, keepdims=keepdims)
    if len(axis) not in (1, 2):
        return np.sqrt(np.sum(np.square(np.abs(x)), axis=axis, keepdims=keepdims))
    return np.linalg.norm(x, axis=axis[0] if len(axis) == 1 else axis, keepdims=keepdims)


def _norm_text(args: Any, params: Any, types: Any) -> Any:
    if len(params["axis"]) not in (1, 2, types[0].ndim):   # np.linalg.norm takes two at most
        squares = _spelling("np.sum")([f"np.square(np.abs({args[0]}))"], params, types)
        return f"np.sqrt({squares})"
    return _spelling("np.linalg.norm")(args, params, types)


def _norm_jvp(args: Any, tangents: Any, out: Any, axis: Any, keepdims: Any) -> Any:
    (x,), (t,) = args, tangents
    length = expand(out, x, axis, keepdims)
    if x.dtype.kind == "c":
        return np.sum(np.real(scale(t, np.conj(x) / np.where(length == 0, np.inf, length))),
                      axis=axis, keepdims=keepdims)
    return np.sum(scale(t, ratio(x, length)), axis=axis, keepdims=keepdims)


sum = _reduction("sum", np.sum, Linear(_sum_transpose), copies=True, samples=_SAMPLES + _EMPTY)
norm = _reduction("norm", _norm_call, General(_norm_jvp), python=_norm_text,
                  samples=(*_SAMPLES, sample((2, 3, 2, 2), axis=(0, 1, 3), keepdims=False)))
prod = _reduction("prod", np.prod, General(_prod_jvp), samples=_SAMPLES + _EMPTY)
max = _reduction("max", np.max, General(_extremum_jvp))
min = _reduction("min", np.min, General(_extremum_jvp))
any = _reduction("any", np.any, ZeroDerivative())
all = _reduction("all", np.all, ZeroDerivative())
count_nonzero = _reduction("count_nonzero", np.count_nonzero, ZeroDerivative())
# SciPy's function shifts, compares and masks in arrays of its own.
logsumexp = _reduction("logsumexp", _logsumexp_call, General(_logsumexp_jvp),
                       callee="special.logsumexp", work=8.0,
                       workspace=lambda x, axis, keepdims: 5 * x.nbytes + x.size)


def _one_axis_text(callee: Any) -> Any:
    def text(args: Any, params: Any, types: Any) -> Any:
        return f"{callee}({args[0]}{axis_text(types, (params['axis'],))})"
    return text


_AXIS_SAMPLES = (sample((4,), axis=0), sample((2, 3), axis=1), sample((2, 3, 2), axis=0))


def _cumulative(name: Any, call: Any, derivative: Any, copies: bool = False) -> Any:
    def type_rule(x: Any, axis: Any) -> Any:
        return ArrayType(x.shape, np.asarray(call(np.ones(1, x.dtype))).dtype)

    row = Op(name, lambda x, axis: call(x, axis=axis), type_rule, derivative, params=("axis",),
             python=_one_axis_text(f"np.{name}"), samples=_AXIS_SAMPLES,
             batch=batch_by_axis(lambda: row), flow=accumulates, copies=copies)
    return row


def _cumsum_transpose(ct: Any, x: Any, axis: Any) -> Any:
    return np.flip(np.cumsum(np.flip(ct, axis), axis=axis), axis)


def _cumprod_jvp(args: Any, tangents: Any, out: Any, axis: Any) -> Any:
    # ∂out_k/∂x_i = x_0…x_{i−1} · x_{i+1}…x_k: a lower triangular array, right with any zeros.
    (x,), (t,) = args, tangents
    n = x.shape[axis]
    x, t, out = (np.moveaxis(v, axis, -1) for v in (x, t, out))
    one = np.ones((*x.shape[:-1], 1), x.dtype)
    before = np.concatenate([one, out[..., :-1]], axis=-1)
    later = np.tri(n, k=-1, dtype=bool)                                # k > i
    between = np.cumprod(np.where(later, x[..., :, None], 1.0), axis=-2)
    product = np.where(np.tri(n, dtype=bool), before[..., None, :] * between, 0.0)
    return np.moveaxis(np.sum(scale(t[..., None, :], product), axis=-1), -1, axis)


cumsum = _cumulative("cumsum", np.cumsum, Linear(_cumsum_transpose), copies=True)
cumprod = _cumulative("cumprod", np.cumprod, General(_cumprod_jvp))


def _arg_row(name: Any, call: Any, keeps_axis: Any) -> Any:
    def type_rule(x: Any, axis: Any) -> Any:
        shape = x.shape if keeps_axis else x.shape[:axis] + x.shape[axis + 1:]
        return ArrayType(shape, np.dtype(np.intp))

    row = Op(name, lambda x, axis: call(x, axis=axis), type_rule, ZeroDerivative(),
             params=("axis",), samples=_AXIS_SAMPLES,
             python=lambda args, params, types: f"np.{name}({args[0]}, axis={params['axis']})",
             batch=batch_by_axis(lambda: row))
    return row


argmax = _arg_row("argmax", np.argmax, keeps_axis=False)
argmin = _arg_row("argmin", np.argmin, keeps_axis=False)


def _stable_argsort(x: Any, axis: Any) -> Any:
    return np.argsort(x, axis=axis, kind="stable")


argsort: Op = Op("argsort", _stable_argsort, lambda x, axis: ArrayType(x.shape, np.dtype(np.intp)),
                 ZeroDerivative(), params=("axis",), samples=_AXIS_SAMPLES,
                 python=lambda args, params, types:
                     f"np.argsort({args[0]}, axis={params['axis']}, kind=\"stable\")",
                 batch=batch_by_axis(lambda: argsort))
