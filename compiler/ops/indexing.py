"""Reading and writing elements; ``index`` is in the canonical form of ``index_form``."""

from typing import Any

import numpy as np

from ..arraytype import ArrayType
from .flow import Collect, Gather, everything, moves, numbers, spread
from .index_batching import batch_read, batch_write
from .index_form import getitem_shape, index_text, numpy_index
from .layout import sum_to
from .row import Linear, Op, ZeroDerivative, sample


def _getitem_text(args: Any, params: Any, types: Any) -> Any:
    return f"{args[0]}[{index_text(params['index'], args[1:], types[0].shape)}]"


def _getitem_type(x: Any, *arrays: Any, index: Any) -> Any:
    return ArrayType(getitem_shape(x.shape, index, [a.shape for a in arrays]), x.dtype)


def _getitem_transpose(ct: Any, x: Any, *arrays: Any, index: Any) -> Any:
    if not x.shape and not arrays:                       # x[None]: only new axes
        return np.reshape(ct, ())
    return scatter_add(np.zeros_like(x), ct, *arrays, index=index)


def _indices(known: Any, positions: Any) -> list[Any] | None:
    """The arrays of an index; None if one of them can change."""
    arrays = [known(j) for j in positions]
    return None if any(a is None for a in arrays) else arrays


def _getitem_flow(i: Any, types: Any, out: Any, known: Any, index: Any) -> Any:
    arrays = _indices(known, range(1, len(types)))
    if arrays is None:
        return everything(types[0].size, out.size)
    return (Gather(np.ravel(numbers(types[0].shape)[numpy_index(index, arrays)])),)


getitem: Op = Op("getitem", lambda x, *arrays, index: np.asarray(x)[numpy_index(index, arrays)],
                 _getitem_type, Linear(_getitem_transpose), params=("index",),
                 python=_getitem_text, fresh=False, batch=batch_read(lambda: getitem),
                 flow=_getitem_flow, copies=True,
                 samples=(sample((4,), index=(2,)), sample((4, 3), index=(("s", 3, None, -2), 1)),
                          sample((4,), np.array([0, 2, 2, -1]), index=(("a",),)),
                          sample((2, 3), index=(None, ("s", 0, 2, 1), ("s", 1, 3, 1))),
                          sample((2, 3), np.array([[True, False, True], [False, False, True]]),
                                 index=(("m", 3),)),
                          sample((2, 3, 4), np.array([0, 1]), np.array([3, 0]),
                                 index=(("a",), ("s", 0, 3, 1), ("a",)))))


def _written_type(x: Any, value: Any, *arrays: Any, index: Any) -> Any:
    selected = getitem_shape(x.shape, index, [a.shape for a in arrays])
    if np.broadcast_shapes(value.shape, selected) != selected:
        raise ValueError(f"could not broadcast input array from shape {value.shape} into "
                         f"shape {selected}")
    return ArrayType(x.shape, x.dtype)


def _setitem_call(x: Any, value: Any, *arrays: Any, index: Any) -> Any:
    out = np.array(x)
    out[numpy_index(index, arrays)] = value
    return out


def _setitem_transpose(ct: Any, x: Any, value: Any, *arrays: Any, index: Any) -> Any:
    ct_value = getitem(ct, *arrays, index=index)
    if ("a",) in index and ct_value.size > 1:     # where places repeat, the last value stays
        order = np.reshape(np.arange(ct_value.size), ct_value.shape)
        last = setitem(np.zeros(x.shape, order.dtype), order, *arrays, index=index)
        ct_value = np.where(getitem(last, *arrays, index=index) == order, ct_value, 0.0)
    return (setitem(ct, np.zeros((), ct.dtype), *arrays, index=index),
            sum_to(ct_value, value.shape))


def _setitem_flow(i: Any, types: Any, out: Any, known: Any, index: Any) -> Any:
    arrays = _indices(known, range(2, len(types)))
    if arrays is None:
        return () if i == 0 else everything(types[1].size, out.size)

    fixed = arrays

    def call(x: Any, value: Any, *_: Any, index: Any) -> Any:
        return _setitem_call(x, value, *fixed, index=index)
    return moves(call)(i, types, out, known, index=index)


setitem: Op = Op("setitem", _setitem_call, _written_type, Linear(_setitem_transpose, (0, 1)),
                 params=("index",), batch=batch_write(lambda: setitem), flow=_setitem_flow,
                 copies=True,
                 samples=(sample((4,), (), index=(2,)),
                          sample((4, 3), (3,), index=(("s", 1, 3, 1),)),
                          sample((4,), (2,), np.array([0, 2]), index=(("a",),)),
                          sample((4,), (3,), np.array([0, 2, 0]), index=(("a",),)),
                          sample((4,), (2,), np.array([True, False, False, True]),
                                 index=(("m", 2),))))


def _scatter_add_call(x: Any, value: Any, *arrays: Any, index: Any) -> Any:
    out = np.array(x)
    np.add.at(out, numpy_index(index, arrays), value)
    return out


def _scatter_add_transpose(ct: Any, x: Any, value: Any, *arrays: Any, index: Any) -> Any:
    return ct, sum_to(getitem(ct, *arrays, index=index), value.shape)


def _scatter_add_flow(i: Any, types: Any, out: Any, known: Any, index: Any) -> Any:
    if i == 0:
        return ()
    arrays = _indices(known, range(2, len(types)))
    if arrays is None:
        return everything(types[1].size, out.size)
    places = numbers(out.shape)[numpy_index(index, arrays)]
    return (*spread(types[1].shape, np.shape(places)), Collect(np.ravel(places), out.size))


scatter_add: Op = Op("scatter_add", _scatter_add_call, _written_type,
                     Linear(_scatter_add_transpose, (0, 1)), params=("index",),
                     batch=batch_write(lambda: scatter_add), flow=_scatter_add_flow,
                     copies=True,
                     samples=(sample((4,), (), index=(2,)),
                              sample((4, 3), (3,), index=(("s", 1, 3, 1),)),
                              sample((4,), (3,), np.array([0, 2, 2]), index=(("a",),))))



def _searchsorted_call(a: Any, v: Any, side: Any) -> Any:
    return np.searchsorted(a, v, side)


def _batch_searchsorted(args: Any, batched: Any, side: Any) -> Any:
    a, v = args
    if not batched[0]:
        return searchsorted(a, v, side=side)
    # Each value has a table of its own: count the entries before it.
    n_axes = v.ndim - batched[1]
    a = np.reshape(a, (a.shape[0], *(1,) * n_axes, a.shape[1]))
    v = v[..., None] if batched[1] else v[None, ..., None]
    return np.sum(a < v if side == "left" else a <= v, axis=-1)


searchsorted = Op("searchsorted", _searchsorted_call,
                  lambda a, v, side: ArrayType(v.shape, np.dtype(np.intp)), ZeroDerivative(),
                  params=("side",), batch=_batch_searchsorted,
                  python=lambda args, params, types:
                      f"np.searchsorted({args[0]}, {args[1]}, {params['side']!r})",
                  samples=(sample(np.array([0.0, 1.0, 2.0]), (3,), side="left"),
                           sample(np.array([0.0, 1.0, 2.0]), (), side="right")))
