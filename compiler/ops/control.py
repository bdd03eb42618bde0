"""Operators that say how to differentiate rather than what to compute."""

from typing import Any

from ..arraytype import ArrayType
from .row import Op, ZeroDerivative


def _itself(x: Any) -> Any:
    return x


def _same_type(kind: ArrayType) -> ArrayType:
    return kind


# Batching is elementwise; nothing is printed, since the operand takes its place (``expand``).
stop_gradient = Op("stop_gradient", _itself, _same_type, ZeroDerivative(), expand=_itself,
                   fresh=False)
