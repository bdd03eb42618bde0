"""How array constants are spelled in source."""

from typing import Any

import numpy as np

from .expression import number

SMALL = 64               # elements; larger constants are stored beside the source


def array_text(value: np.ndarray[Any, Any]) -> str | None:
    """A short spelling of an array constant, or None if it has none."""
    dtype = "" if value.dtype in (np.float64, np.int64, np.bool_, np.complex128) \
        else f", np.{value.dtype.name}"
    if value.ndim == 2 and value.shape[0] == value.shape[1] > 1 and np.array_equal(
            value, np.eye(len(value))) and value.dtype.kind == "f":
        return f"np.eye({len(value)}{', dtype=np.' + value.dtype.name if dtype else ''})"
    if value.ndim == 1 and value.size > 1 and value.dtype == np.int64 and np.array_equal(
            value, np.arange(len(value))):
        return f"np.arange({len(value)})"
    if value.size > SMALL:
        return None
    if value.size == 0:
        return f"np.zeros({value.shape}, np.{value.dtype.name})"

    def spell(item: Any) -> str:
        return f"[{', '.join(map(spell, item))}]" if isinstance(item, list) else number(item).text
    return f"np.array({spell(value.tolist())}{dtype})"
