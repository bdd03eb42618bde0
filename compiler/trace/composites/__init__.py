"""NumPy's functions written over the core operators; importing this registers them all."""

from . import (
    contraction,
    creation,
    elementary,
    fft,
    indexing,
    interpolation,
    layout,
    linalg,
    padding,
    reduction,
    special,
    scipy_linalg,
)

__all__ = [
    "contraction",
    "creation",
    "elementary",
    "fft",
    "indexing",
    "interpolation",
    "layout",
    "linalg",
    "padding",
    "reduction",
    "special",
    "scipy_linalg",
]
