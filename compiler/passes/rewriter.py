"""What the rewriting functions share: the simplifier as they see it, and small tests of form."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ..graph import CONSTANT, Builder, Node
from ..ops import layout
from ..ops.row import Op
from ..transforms.transpose import is_zero
from .pattern import constant_number


class Rewriter(Protocol):
    """The simplifier, as rewriting functions see it."""

    builder: Builder
    supports: dict[Node, Node | None]
    far_supports: dict[Node, Node | bool]
    infinite: dict[Node, bool]
    roots: bool
    selects: bool
    guarded: set[tuple[Node, Node]]
    narrow: bool

    def make(self, op: Op, args: tuple[Node, ...], params: tuple[Any, ...] = ()) -> Node:
        """Apply an operator, simplified."""


# Takes the operands and parameters of one application; gives an equivalent node, or None.
Rewrite = Callable[[Rewriter, tuple[Node, ...], tuple[Any, ...]], Node | None]

Shape = tuple[int, ...]


def filled(s: Rewriter, value: Node, shape: Shape) -> Node:
    """A value stretched to a shape."""
    return value if value.type.shape == shape else s.make(layout.broadcast_to, (value,), (shape,))


def zeros(s: Rewriter, dtype: Any, shape: Shape) -> Node:
    """Zeros, by construction."""
    return filled(s, s.builder.constant(np.dtype(dtype).type(0)), shape)


def is_true(node: Node) -> bool:
    """Whether a boolean constant holds everywhere."""
    return node.op is CONSTANT and bool(np.all(node.value))


def reshapes_by_ones(old: Shape, new: Shape) -> bool:
    """Whether ``new`` is ``old`` with axes of length one in front."""
    extra = len(new) - len(old)
    return extra >= 0 and new == (1,) * extra + old


__all__ = ["Rewrite", "Rewriter", "constant_number", "filled", "is_true", "is_zero",
           "reshapes_by_ones", "zeros"]
