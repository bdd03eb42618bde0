"""Reading and writing elements; ``index`` is in the canonical form of ``index_form``."""

import numpy as np

from ..arraytype import ArrayType
from ..errors import UnsupportedArgumentError
from .index_batching import batch_read, batch_write
from .index_form import getitem_shape, index_text, numpy_index
from .layout import sum_to
from .row import Linear, Op, ZeroDerivative, sample


def _getitem_text(args, params, types):  # type: ignore[no-untyped-def]
    return f"{args[0]}[{index_text(params['index'], args[1:], types[0].shape)}]"


def _getitem_type(x, *arrays, index):  # type: ignore[no-untyped-def]
    return ArrayType(getitem_shape(x.shape, index, [a.shape for a in arrays]), x.dtype)


def _getitem_transpose(ct, x, *arrays, index):  # type: ignore[no-untyped-def]
    return scatter_add(np.zeros_like(x), ct, *arrays, index=index)


getitem = Op("getitem", lambda x, *arrays, index: np.asarray(x)[numpy_index(index, arrays)],
             _getitem_type, Linear(_getitem_transpose), params=("index",),
             python=_getitem_text, fresh=False, batch=batch_read(lambda: getitem),
             samples=(sample((4,), index=(2,)), sample((4, 3), index=(("s", 3, None, -2), 1)),
                      sample((4,), np.array([0, 2, 2, -1]), index=(("a",),)),
                      sample((2, 3), index=(None, ("s", 0, 2, 1), ("s", 1, 3, 1))),
                      sample((2, 3), np.array([[True, False, True], [False, False, True]]),
                             index=(("m", 3),)),
                      sample((2, 3, 4), np.array([0, 1]), np.array([3, 0]),
                             index=(("a",), ("s", 0, 3, 1), ("a",)))))


def _written_type(x, value, *arrays, index):  # type: ignore[no-untyped-def]
    selected = getitem_shape(x.shape, index, [a.shape for a in arrays])
    if np.broadcast_shapes(value.shape, selected) != selected:
        raise ValueError(f"could not broadcast input array from shape {value.shape} into "
                         f"shape {selected}")
    return ArrayType(x.shape, x.dtype)


def _setitem_call(x, value, *arrays, index):  # type: ignore[no-untyped-def]
    out = np.array(x)
    out[numpy_index(index, arrays)] = value
    return out


def _setitem_transpose(ct, x, value, *arrays, index):  # type: ignore[no-untyped-def]
    ct_value = sum_to(getitem(ct, *arrays, index=index), value.shape)
    return setitem(ct, np.zeros((), ct.dtype), *arrays, index=index), ct_value


setitem = Op("setitem", _setitem_call, _written_type, Linear(_setitem_transpose, (0, 1)),
             params=("index",), batch=batch_write(lambda: setitem),
             samples=(sample((4,), (), index=(2,)), sample((4, 3), (3,), index=(("s", 1, 3, 1),)),
                      sample((4,), (2,), np.array([0, 2]), index=(("a",),)),
                      sample((4,), (2,), np.array([True, False, False, True]),
                             index=(("m", 2),))))


def _scatter_add_call(x, value, *arrays, index):  # type: ignore[no-untyped-def]
    out = np.array(x)
    np.add.at(out, numpy_index(index, arrays), value)
    return out


def _scatter_add_transpose(ct, x, value, *arrays, index):  # type: ignore[no-untyped-def]
    return ct, sum_to(getitem(ct, *arrays, index=index), value.shape)


scatter_add = Op("scatter_add", _scatter_add_call, _written_type,
                 Linear(_scatter_add_transpose, (0, 1)), params=("index",),
                 batch=batch_write(lambda: scatter_add),
                 samples=(sample((4,), (), index=(2,)),
                          sample((4, 3), (3,), index=(("s", 1, 3, 1),)),
                          sample((4,), (3,), np.array([0, 2, 2]), index=(("a",),))))



def _searchsorted_call(a, v, side):  # type: ignore[no-untyped-def]
    return np.searchsorted(a, v, side)


def _batch_searchsorted(args, batched, side):  # type: ignore[no-untyped-def]
    if batched[0]:
        raise UnsupportedArgumentError("np.searchsorted with tables that differ within a batch "
                                       "is not supported.", "Loop over the batch.")
    return searchsorted(*args, side=side)


searchsorted = Op("searchsorted", _searchsorted_call,
                  lambda a, v, side: ArrayType(v.shape, np.dtype(np.intp)), ZeroDerivative(),
                  params=("side",), batch=_batch_searchsorted,
                  python=lambda args, params, types:
                      f"np.searchsorted({args[0]}, {args[1]}, {params['side']!r})",
                  samples=(sample(np.array([0.0, 1.0, 2.0]), (3,), side="left"),
                           sample(np.array([0.0, 1.0, 2.0]), (), side="right")))
