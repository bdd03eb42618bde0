"""NumPy's functions written over the core operators; importing this registers them all."""

from . import (
    contraction,
    creation,
    elementary,
    indexing,
    interpolation,
    layout,
    padding,
    reduction,
    special,
)

__all__ = [
    "contraction",
    "creation",
    "elementary",
    "indexing",
    "interpolation",
    "layout",
    "padding",
    "reduction",
    "special",
]
