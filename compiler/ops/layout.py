"""Rearranging elements: reshape, transpose, broadcast, join, pad, roll, triangles."""

import math
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from .flow import moves
from .row import Linear, Op, ZeroDerivative, broadcast_shapes, sample, shift_axes


def _call_text(callee: Any) -> Any:
    def text(args: Any, params: Any, types: Any) -> Any:
        settings = "".join(f", {v!r}" for v in params.values())
        return f"{callee}({args[0]}{settings})"
    return text


def _shape_text(shape: Any) -> Any:
    return str(shape[0]) if len(shape) == 1 else repr(shape)


def _reshape_type(x: Any, shape: Any) -> Any:
    if math.prod(shape) != x.size:
        raise ValueError(f"cannot reshape array of size {x.size} into shape {shape}")
    return ArrayType(shape, x.dtype)


def _reshape_text(args: Any, params: Any, types: Any) -> Any:
    (x,), shape = types, params["shape"]
    if len(shape) == x.ndim + 1:                       # one new axis: x[:, None]
        for k in range(len(shape)):
            if shape[:k] + shape[k + 1:] == x.shape and shape[k] == 1 and x.ndim:
                parts = [":"] * len(shape)
                parts[k] = "None"
                while len(parts) > k + 1:
                    parts.pop()
                return f"{args[0]}[{', '.join(parts)}]"
    if x.ndim == 0:
        return f"np.reshape({args[0]}, {shape!r})"
    if len(shape) == 1:
        return f"{args[0]}.reshape(-1)" if x.size else f"{args[0]}.reshape({shape[0]})"
    return f"{args[0]}.reshape({', '.join(map(str, shape)) or '()'})"


reshape: Op = Op("reshape", lambda x, shape: np.reshape(x, shape)[()], _reshape_type,
                 Linear(lambda ct, x, shape: np.reshape(ct, x.shape)), params=("shape",),
                 python=_reshape_text, fresh=False,
                 flow=moves(np.reshape), copies=True,
                 batch=lambda args, batched, shape: reshape(
                     args[0], shape=(args[0].shape[0], *shape)),
                 samples=(sample((2, 3), shape=(3, 2)), sample((), shape=(1, 1)),
                          sample((0, 3), shape=(3, 0)), sample((6,), shape=(1, 2, 3))))


def _transpose_type(x: Any, axes: Any) -> Any:
    return ArrayType(tuple(x.shape[a] for a in axes), x.dtype)


def _transpose_text(args: Any, params: Any, types: Any) -> Any:
    axes = params["axes"]
    if axes == tuple(range(len(axes)))[::-1]:
        return f"{args[0]}.T"
    if len(axes) > 2 and axes[:-2] == tuple(range(len(axes) - 2)):
        return f"{args[0]}.mT"
    return f"{args[0]}.transpose({', '.join(map(str, axes))})"


def inverse_permutation(axes: Any) -> Any:
    """The permutation that undoes ``axes``."""
    return tuple(axes.index(i) for i in range(len(axes)))


transpose: Op = Op("transpose", lambda x, axes: np.transpose(x, axes), _transpose_type,
                   Linear(lambda ct, x, axes: np.transpose(ct, inverse_permutation(axes))),
                   params=("axes",), python=_transpose_text, fresh=False,
                   flow=moves(np.transpose), copies=True,
                   batch=lambda args, batched, axes: transpose(
                       args[0], axes=(0, *shift_axes(axes))),
                   samples=(sample((2, 3), axes=(1, 0)), sample((2, 3, 4), axes=(2, 0, 1))))


def _broadcast_type(x: Any, shape: Any) -> Any:
    if broadcast_shapes(x.shape, shape) != shape:
        raise ValueError(f"an array of shape {x.shape} cannot be broadcast to {shape}")
    return ArrayType(shape, x.dtype)


def sum_to(x: Any, shape: Any) -> Any:
    """Undo broadcasting: sum over the axes that were added or stretched."""
    if x.shape == shape:
        return x
    n_added = x.ndim - len(shape)
    axes = tuple(range(n_added)) + tuple(
        n_added + i for i, n in enumerate(shape) if n == 1 and x.shape[n_added + i] != 1)
    if axes:
        x = np.sum(x, axis=axes)
    return np.reshape(x, shape) if x.shape != shape else x


def broadcast(x: Any, shape: Any) -> Any:
    """``broadcast_to``, or ``x`` itself where the shape is already that."""
    return x if np.shape(x) == shape else broadcast_to(x, shape=shape)


def _broadcast_batch(args: Any, batched: Any, shape: Any) -> Any:
    (x,) = args
    missing = len(shape) - (x.ndim - 1)
    x = np.reshape(x, (x.shape[0], *(1,) * missing, *x.shape[1:]))
    return broadcast_to(x, shape=(x.shape[0], *shape))


broadcast_to = Op("broadcast_to", lambda x, shape: np.broadcast_to(x, shape), _broadcast_type,
                  Linear(lambda ct, x, shape: sum_to(ct, x.shape)), params=("shape",),
                  python=lambda args, params, types:
                      f"np.broadcast_to({args[0]}, {_shape_text(params['shape'])})",
                  batch=_broadcast_batch, fresh=False,
                  flow=moves(np.broadcast_to), copies=True,
                  samples=(sample((3,), shape=(2, 3)), sample((), shape=(2,)),
                           sample((2, 1), shape=(3, 2, 4)), sample((1,), shape=(0,))))


def _same_rank(args: Any, batched: Any) -> Any:
    """All operands with a batch axis in front."""
    size = next(a.shape[0] for a, b in zip(args, batched, strict=True) if b)
    return [a if b else np.broadcast_to(a, (size, *np.shape(a)))
            for a, b in zip(args, batched, strict=True)]


def _list_text(callee: Any) -> Any:
    def text(args: Any, params: Any, types: Any) -> Any:
        axis = f", axis={params['axis']}" if params["axis"] else ""
        return f"{callee}([{', '.join(args)}]{axis})"
    return text


def _stack_text(args: Any, params: Any, types: Any) -> Any:
    if types[0].ndim == 0:
        return f"np.array([{', '.join(args)}])"
    return _list_text("np.stack")(args, params, types)


def _common_dtype(types: Any) -> Any:
    # Joining makes arrays of Python numbers first, so that they are not weak here.
    return np.result_type(*[t.dtype for t in types])


def _concatenate_type(*types: Any, axis: Any) -> Any:
    first = types[0].shape
    for t in types:
        if t.ndim != len(first) or any(
                i != axis and n != m for i, (n, m) in enumerate(zip(t.shape, first, strict=True))):
            raise ValueError("all the input array dimensions except for the concatenation axis "
                             f"must match exactly, but they are {[t.shape for t in types]}")
    total = sum(t.shape[axis] for t in types)
    return ArrayType((*first[:axis], total, *first[axis + 1:]), _common_dtype(types))


def _concatenate_transpose(ct: Any, *args: Any, axis: Any) -> Any:
    parts, start = [], 0
    for arg in args:
        stop = start + arg.shape[axis]
        parts.append(ct[(slice(None),) * axis + (slice(start, stop),)])
        start = stop
    return tuple(parts)


concatenate: Op = Op("concatenate", lambda *args, axis: np.concatenate(args, axis),
                     _concatenate_type, Linear(_concatenate_transpose, None), params=("axis",),
                     python=_list_text("np.concatenate"),
                     flow=moves(lambda *args, axis: np.concatenate(args, axis)), copies=True,
                     batch=lambda args, batched, axis: concatenate(*_same_rank(args, batched),
                                                                   axis=axis + 1),
                     samples=(sample((2, 3), (1, 3), axis=0),
                              sample((2, 3), (2, 0), (2, 1), axis=1)))


def _stack_type(*types: Any, axis: Any) -> Any:
    shape = types[0].shape
    if any(t.shape != shape for t in types):
        raise ValueError("all input arrays must have the same shape, but they are "
                         f"{[t.shape for t in types]}")
    return ArrayType((*shape[:axis], len(types), *shape[axis:]), _common_dtype(types))


def _stack_transpose(ct: Any, *args: Any, axis: Any) -> Any:
    return tuple(ct[(slice(None),) * axis + (i,)] for i in range(len(args)))


stack: Op = Op("stack", lambda *args, axis: np.stack(args, axis), _stack_type,
               Linear(_stack_transpose, None), params=("axis",), python=_stack_text,
               flow=moves(lambda *args, axis: np.stack(args, axis)), copies=True,
               batch=lambda args, batched, axis: stack(*_same_rank(args, batched), axis=axis + 1),
               samples=(sample((), (), axis=0), sample((2, 3), (2, 3), axis=1)))


def _roll_text(args: Any, params: Any, types: Any) -> Any:
    shift, axis = params["shift"], params["axis"]
    if len(axis) == 1:
        where = "" if types[0].ndim == 1 else f", axis={axis[0]}"
        return f"np.roll({args[0]}, {shift[0]}{where})"
    return f"np.roll({args[0]}, {shift}, axis={axis})"


def _roll_transpose(ct: Any, x: Any, shift: Any, axis: Any) -> Any:
    return roll(ct, shift=tuple(-s for s in shift), axis=axis)


roll: Op = Op("roll", lambda x, shift, axis: np.roll(x, shift, axis),
              lambda x, shift, axis: ArrayType(x.shape, x.dtype), Linear(_roll_transpose),
              params=("shift", "axis"), python=_roll_text,
              flow=moves(np.roll), copies=True,
              batch=lambda args, batched, shift, axis: roll(args[0], shift=shift,
                                                            axis=shift_axes(axis)),
              samples=(sample((5,), shift=(2,), axis=(0,)),
                       sample((2, 3), shift=(1, -4), axis=(0, 1))))


def _pad_type(x: Any, widths: Any) -> Any:
    return ArrayType(tuple(n + a + b for n, (a, b) in zip(x.shape, widths, strict=True)), x.dtype)


def _pad_transpose(ct: Any, x: Any, widths: Any) -> Any:
    return ct[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True))]


def _pad_text(args: Any, params: Any, types: Any) -> Any:
    widths = params["widths"]
    return f"np.pad({args[0]}, {widths[0] if len(widths) == 1 else widths})"


pad: Op = Op("pad", lambda x, widths: np.pad(x, widths) if widths else x, _pad_type,
             Linear(_pad_transpose), params=("widths",), python=_pad_text,
             flow=moves(lambda x, widths: np.pad(x, widths) if widths else x), copies=True,
             batch=lambda args, batched, widths: pad(args[0], widths=((0, 0), *widths)),
             samples=(sample((3,), widths=((1, 2),)), sample((2, 3), widths=((0, 1), (2, 0)))))


def _triangle(name: Any, call: Any) -> Any:
    def text(args: Any, params: Any, types: Any) -> Any:
        k = f", {params['k']}" if params["k"] else ""
        return f"np.{name}({args[0]}{k})"

    row = Op(name, lambda x, k: call(x, k), lambda x, k: ArrayType(x.shape, x.dtype),
             Linear(lambda ct, x, k: row(ct, k=k)), params=("k",), python=text,
             flow=moves(call), copies=True,
             batch=lambda args, batched, k: row(args[0], k=k),
             samples=(sample((3, 3), k=0), sample((2, 3), k=1), sample((2, 3, 4), k=-1)))
    return row


tril = _triangle("tril", np.tril)
triu = _triangle("triu", np.triu)

# Whether an array lies in memory row by row, without gaps; asked for arguments only.
is_contiguous = Op("is_contiguous", lambda x: np.asarray(x).flags.c_contiguous,
                   lambda x: ArrayType((), np.dtype(bool)), ZeroDerivative(),
                   python=lambda args, params, types: f"{args[0]}.flags.c_contiguous",
                   batch=lambda args, batched: np.ones(args[0].shape[0], bool),
                   samples=(sample((2, 3)),))
