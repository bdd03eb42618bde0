"""Zeros by construction."""

import numpy as np

from ..graph import CONSTANT, Node
from ..ops import layout

_SMALL = 64       # elements; a larger constant is not looked at


def is_zero(node: Node) -> bool:
    """Whether the node is zero everywhere by construction."""
    if node.op is layout.broadcast_to:
        node = node.args[0]
    if node.op is not CONSTANT:
        return False
    if node.type.shape == ():
        return not node.value
    return node.type.size <= _SMALL and not np.any(node.value)
