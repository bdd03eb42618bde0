"""Batching of indexed reads and writes, which must follow NumPy's placement of result axes.

Integer and boolean arrays (with integers beside them) form one block of result axes. The block
stays in place where they are adjacent and moves to the front otherwise, and a batch axis in
front can change which of the two happens; ``move`` undoes that.
"""

from typing import Any

import numpy as np

from ..errors import UnsupportedArgumentError
from .index_form import getitem_shape


def _is_advanced(part: Any, has_arrays: Any) -> Any:
    if isinstance(part, int):
        return has_arrays
    return isinstance(part, tuple) and part[0] in "am"


def _block(template: Any, has_arrays: Any) -> Any:
    """Whether the block is adjacent, and the result axis where it starts."""
    places = [i for i, p in enumerate(template) if _is_advanced(p, has_arrays)]
    adjacent = not places or places == list(range(places[0], places[-1] + 1))
    return adjacent, places[0] if places and adjacent else 0


def batched_index(x_shape: Any, template: Any, arrays: Any, x_batched: Any,
                  array_batched: Any) -> Any:
    """Index of the batched operation, its arrays, and the result axes to move.

    Returns:
        ``(template, arrays, source, destination)``: moving the axes ``source`` of the result to
        ``destination`` puts the batch axis first and all others where they were.
    """
    has_arrays = any(isinstance(p, tuple) and p[0] in "am" for p in template)
    adjacent, start = _block(template, has_arrays)
    masks = [a for p, a in zip([p for p in template if isinstance(p, tuple) and p[0] in "am"],
                               arrays, strict=True) if p[0] == "m"]
    if any(array_batched) and masks:
        raise UnsupportedArgumentError("A boolean index differs within a batch: the result's "
                                       "length would too.", "Use np.where instead.")
    if not any(array_batched):
        new = (("s", 0, x_shape[0], 1), *template)
        n_block = _block_ndim(template, arrays)
        if adjacent:
            return new, arrays, (), ()
        return new, arrays, (n_block,), (0,)          # the block went before the batch axis
    ndims = [a.ndim - b for a, b in zip(arrays, array_batched, strict=True)]
    n_block = max(ndims)
    aligned = [np.reshape(a, (a.shape[0], *(1,) * (n_block - n), *a.shape[1:])) if b else a
               for a, b, n in zip(arrays, array_batched, ndims, strict=True)]
    if not x_batched:
        return template, aligned, (start,), (0,)      # the batch axis leads the block
    rows = np.arange(x_shape[0]).reshape((-1,) + (1,) * n_block)
    new = (("a",), *template)
    if not adjacent or start == 0:
        return new, [rows, *aligned], (), ()
    block = tuple(range(1, 1 + n_block))
    return new, [rows, *aligned], block, tuple(b + start for b in block)


def _block_ndim(template: Any, arrays: Any) -> Any:
    ndims = [1 if a.dtype == bool else a.ndim for a in arrays]
    return max(ndims, default=0)


def batch_read(op: Any) -> Any:
    """Batching rule of an operator that reads elements."""
    def batch(args: Any, batched: Any, index: Any) -> Any:
        x, *arrays = args
        new, arrays, source, destination = batched_index(x.shape, index, arrays, batched[0],
                                                         batched[1:])
        out = op()(x, *arrays, index=new)
        return np.moveaxis(out, source, destination) if source else out
    return batch


def batch_write(op: Any) -> Any:
    """Batching rule of an operator that writes elements."""
    def batch(args: Any, batched: Any, index: Any) -> Any:
        x, value, *arrays = args
        size = next(a.shape[0] for a, b in zip(args, batched, strict=True) if b)
        if not batched[0]:
            x = np.broadcast_to(x, (size, *x.shape))
        new, arrays, source, destination = batched_index(x.shape, index, arrays, True, batched[2:])
        if batched[1]:
            selected = getitem_shape(x.shape, new, [np.shape(a) for a in arrays])
            ndim = len(selected) - 1
            value = np.reshape(value, (size, *(1,) * (ndim - (value.ndim - 1)), *value.shape[1:]))
        elif source and value.ndim:
            selected = getitem_shape(x.shape, new, [np.shape(a) for a in arrays])
            value = np.reshape(value, (1,) * (len(selected) - value.ndim) + value.shape)
        if source and value.ndim:
            value = np.moveaxis(value, destination, source)
        return op()(x, value, *arrays, index=new)
    return batch
