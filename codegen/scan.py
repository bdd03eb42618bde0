"""Cumulative sums and products as kernels: a thread has a line, and goes along it."""

from ..compiler.graph import Node
from ..compiler.ops import arithmetic, reduction
from .emission import loop_name
from .kernel import (
    Buffer,
    Index,
    Kernel,
    Load,
    Loop,
    Nest,
    Ref,
    Start,
    Statement,
    Store,
    Update,
    variable,
)
from .lower import identity

_SCANS = {reduction.cumsum: (arithmetic.add, reduction.sum),
          reduction.cumprod: (arithmetic.mul, reduction.prod)}


def is_scan(node: Node) -> bool:
    """Whether :func:`scan` has a kernel for the node."""
    return node.op in _SCANS and node.type.dtype.kind in "if" and bool(node.type.size) and \
        node.args[0].type.dtype == node.type.dtype


def scan(node: Node, name: str) -> Kernel:
    """The kernel of a cumulative sum or product; it adds in the order in which NumPy does."""
    op, whole = _SCANS[node.op]
    shape, dtype, along = node.type.shape, node.type.dtype, node.params[0]
    at, stride = Index(), 1
    for axis in reversed(range(len(shape))):
        at = at + variable(loop_name(axis)).times(stride)
        stride *= shape[axis]
    total = Ref("total", dtype)
    step = Loop(loop_name(along), 0, shape[along], (
        Update("total", op, Load("x", at, dtype)), Store("out", at, total)))
    body: tuple[Statement, ...] = (Start("total", dtype, identity(whole, dtype)), step)
    for axis in reversed(range(len(shape))):
        if axis != along:
            body = (Loop(loop_name(axis), 0, shape[axis], body),)
    buffers = Buffer("x", dtype, shape, "in"), Buffer("out", dtype, shape, "out")
    return Kernel(name, buffers, (Nest(body, work=node.type.size),))
