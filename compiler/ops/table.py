"""All operator rows: the list to read first. Families are independent of one another."""

from typing import Any

from . import (
    arithmetic,
    bessel,
    branching,
    calling,
    comparison,
    contraction,
    control,
    convolution,
    decompositions,
    fft,
    indexing,
    lambertw,
    layout,
    linalg,
    looping,
    reduction,
    solvers,
    special,
    splines,
    transcendental,
)
from .row import Op

FAMILIES = (
    arithmetic,
    transcendental,
    comparison,
    special,
    bessel,
    reduction,
    layout,
    indexing,
    contraction,
    control,
    branching,
    looping,
    calling,
    convolution,
    splines,
    lambertw,
    solvers,
    linalg,
    decompositions,
    fft,
)

TABLE: dict[str, Op] = {}
BY_FUNCTION: dict[Any, Op] = {}      # NumPy and SciPy ufuncs that are rows themselves


def register(op: Op) -> Op:
    """Add a row; its name must be new.

    Raises:
        ValueError: when another row has that name.
    """
    if op.name in TABLE:
        raise ValueError(f"There are two rows named {op.name}.")
    TABLE[op.name] = op
    if op.python and op.name != "scale":
        BY_FUNCTION.setdefault(op.call, op)
    return op


for _family in FAMILIES:
    for _row in vars(_family).values():
        if isinstance(_row, Op) and _row.name not in TABLE:
            register(_row)
