"""``np.pad``: with constants, ramps, statistics, or the array's own elements."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import UnsupportedArgumentError
from ...ops import layout
from ..locate import locate
from ..registry import stands_for
from ..tracer import contains_tracer
from .common import as_array, one_axis

Block = Callable[[Any, int, int, int], Any]      # (array, axis, side, width) -> what is put there


def _widths(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    if isinstance(pad_width, dict):
        found = {one_axis(axis, ndim): width for axis, width in pad_width.items()}
        pad_width = [np.broadcast_to(found.get(axis, 0), (2,)) for axis in range(ndim)]
    return tuple((int(a), int(b)) for a, b in np.broadcast_to(pad_width, (ndim, 2)))


def _slab(a: Any, axis: int, index: Any) -> Any:
    return a[(slice(None),) * axis + (index,)]


def _edge(a: Any, axis: int, side: int) -> Any:
    return _slab(a, axis, slice(-1, None) if side else slice(0, 1))


def _wide(value: Any, a: Any, axis: int, width: int) -> Any:
    shape = (*a.shape[:axis], width, *a.shape[axis + 1:])
    return np.broadcast_to(value, shape).astype(a.dtype)


def _constants(constant_values: Any = 0) -> Callable[[int], Block]:
    def of(ndim: int) -> Block:
        values = np.broadcast_to(as_array(constant_values), (ndim, 2))
        return lambda a, axis, side, width: _wide(values[axis, side], a, axis, width)
    return of


def _ramp(end_values: Any = 0) -> Callable[[int], Block]:
    def of(ndim: int) -> Block:
        values = np.broadcast_to(as_array(end_values), (ndim, 2))

        def block(a: Any, axis: int, side: int, width: int) -> Any:
            end, edge = values[axis, side], np.squeeze(_edge(a, axis, side), axis)
            ramp = np.linspace(end, edge, width, endpoint=False, axis=axis)
            return _wide(np.flip(ramp, axis) if side else ramp, a, axis, width)
        return block
    return of


def _statistic(function: Callable[..., Any]) -> Callable[..., Callable[[int], Block]]:
    def with_length(stat_length: Any = None) -> Callable[[int], Block]:
        def of(ndim: int) -> Block:
            lengths = None if stat_length is None else np.broadcast_to(stat_length, (ndim, 2))

            def block(a: Any, axis: int, side: int, width: int) -> Any:
                n = a.shape[axis]
                length = n if lengths is None else min(int(lengths[axis, side]), n)
                part = _slab(a, axis, slice(n - length, n) if side else slice(0, length))
                return _wide(function(part, axis=axis, keepdims=True), a, axis, width)
            return block
        return of
    return with_length


_BLOCKS: dict[str, Callable[..., Callable[[int], Block]]] = {
    "constant": _constants, "linear_ramp": _ramp, "mean": _statistic(np.mean),
    "maximum": _statistic(np.max), "minimum": _statistic(np.min)}


def _by_blocks(a: Any, widths: tuple[tuple[int, int], ...], block: Block) -> Any:
    """One axis after the other, each padding the corners of those before, as NumPy does."""
    inside = a
    for axis, pair in enumerate(widths):
        # Statistics see the elements of the array itself along the axis.
        parts = [block(inside, axis, side, width) for side, width in enumerate(pair)]
        inside = np.concatenate([parts[0], inside, parts[1]], axis=axis)
    return inside


def _by_index(a: Any, widths: tuple[tuple[int, int], ...], mode: str, reflect_type: str) -> Any:
    """Element i of the result is element j(i) of the array, or twice the edge minus it."""
    for axis, (before, after) in enumerate(widths):
        n = a.shape[axis]
        source = np.pad(np.arange(n), (before, after), mode)    # type: ignore[call-overload]
        padded = _slab(a, axis, source)
        if reflect_type == "odd":
            if max(before, after) > n - (mode == "reflect"):
                raise UnsupportedArgumentError(
                    "np.pad with reflect_type='odd' beyond the array's own length is not "
                    "supported on traced values.", "Pad in several steps.", locate())
            place = np.reshape(np.arange(before + n + after), (-1,) + (1,) * (a.ndim - 1 - axis))
            padded = np.where(place < before, 2 * _edge(a, axis, 0) - padded, np.where(
                place >= before + n, 2 * _edge(a, axis, 1) - padded, padded))
        a = padded
    return a


@stands_for(np.pad)
def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """Padded with constants, ramps, statistics, the edge, a reflection, or periodically."""
    a = as_array(array)
    widths = _widths(pad_width, a.ndim)
    if mode in ("edge", "reflect", "symmetric", "wrap"):
        return _by_index(a, widths, mode, kwargs.get("reflect_type", "even"))
    values = kwargs.get("constant_values", 0)
    if mode == "constant" and not contains_tracer(values) and not np.any(np.asarray(values) != 0):
        return layout.pad(a, widths=widths)
    if mode not in _BLOCKS:
        raise UnsupportedArgumentError(
            f"np.pad with mode={mode!r} is not supported on traced values.",
            f"Use {', '.join(_BLOCKS)}, edge, reflect, symmetric or wrap.", locate())
    return _by_blocks(a, widths, _BLOCKS[mode](**kwargs)(a.ndim))
