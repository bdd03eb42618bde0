"""What a compiled function sees of a leaf of its arguments: keys of caches, types, conversions."""

from typing import Any

import numpy as np

from ..compiler.arraytype import ArrayType, python_number
from ..compiler.trace.stage import is_traceable, leaf_type
from .entry import MISSING


def kind_of(value: Any) -> Any:
    """For ``entry``: type of a traced argument, a static one itself, MISSING for a container."""
    if isinstance(value, np.generic):
        return type(value) if is_traceable(value) else MISSING
    if is_traceable(value):
        return leaf_type(value)
    return value if value is None or isinstance(value, (bool, str)) else MISSING


def of_type(value: Any, type: ArrayType) -> Any:
    """A number that generated code has converted for itself, as the number it was."""
    if type.weak:
        return python_number(value, type.dtype)
    return type.dtype.type(value) if isinstance(value, (bool, int, float, complex)) and \
        not isinstance(value, np.generic) else value


def leaf_key(leaf: Any) -> Any:
    """Equal for values that one program serves: dtypes, shapes, and static values themselves."""
    if type(leaf) is float:
        return float
    if isinstance(leaf, np.ndarray):
        if type(leaf) is not np.ndarray:
            return (type(leaf), leaf.shape, leaf.dtype)
        return (leaf.shape, leaf.dtype) if leaf.dtype.kind in "biufc" else id(leaf)
    if isinstance(leaf, ArrayType):      # the key of the values of that type
        if leaf.weak:
            return type(leaf.dtype.type(0).item())
        return (leaf.shape, leaf.dtype) if leaf.shape else leaf.dtype.type
    if is_traceable(leaf):
        return type(leaf)
    try:
        hash(leaf)
    except (TypeError, ValueError):      # a writable memoryview raises the latter
        return id(leaf)
    return (type(leaf), leaf)
