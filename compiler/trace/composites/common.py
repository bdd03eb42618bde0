"""Helpers of the composite functions: axes, operands, unsupported options."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import UnsupportedArgumentError
from ...graph import CURRENT
from ..locate import locate
from ..registry import FUNCTIONS
from ..tracer import Tracer
from .creation import cast
from .creation import shape_of as shape_of


def as_array(x: Any) -> Any:
    """A tracer as it is; sequences holding tracers stacked; all else by ``np.asarray``."""
    if isinstance(x, Tracer):
        return x
    return FUNCTIONS[np.asarray](x)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axis argument as a tuple of non-negative axes; None means all."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list, np.ndarray)) and np.ndim(axis) \
        else (axis,)
    out = tuple(one_axis(a, ndim) for a in axes)
    if len(set(out)) != len(out):
        raise ValueError("duplicate value in 'axis'")
    return out


def one_axis(axis: Any, ndim: int) -> int:
    """One axis, non-negative."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return int(axis % ndim)


def refuse(function: str, **options: Any) -> None:
    """Raise for options that were set although they are not supported.

    An option is given as ``name=(value, neutral)``.
    """
    for name, (value, neutral) in options.items():
        if value is not neutral and not (isinstance(value, (str, int)) and value == neutral):
            raise UnsupportedArgumentError(
                f"np.{function} with {name}= is not supported on traced values.",
                "Leave the option out.", locate())


def call_user(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of the user's from inside one of ours: its lines count as user code."""
    builder = CURRENT.builder
    if builder is None:
        return function(*args, **kwargs)
    origin, builder.origin = builder.origin, None
    try:
        return function(*args, **kwargs)
    finally:
        builder.origin = origin


def slices(ndim: int, axis: int, part: Any) -> tuple[Any, ...]:
    """The index that applies ``part`` to one axis."""
    return (slice(None),) * axis + (part,) + (slice(None),) * (ndim - axis - 1)


def of_dtype(x: Any, dtype: Any) -> Any:
    """A traced or plain array in another dtype."""
    return cast(x, dtype) if isinstance(x, Tracer) else np.asarray(x, dtype)


def floating(x: Any) -> Any:
    """The array itself, integers and booleans as float64."""
    x = as_array(x)
    return x if x.dtype.kind in "fc" else of_dtype(x, float)
