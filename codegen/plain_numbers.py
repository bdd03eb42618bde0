"""Where a plain Python number and NumPy's scalar differ: in promotion, and in raising errors."""

import numpy as np

from ..compiler.arraytype import ArrayType
from ..compiler.graph import CONSTANT, INPUT, Graph, Node, infer
from ..compiler.ops import arithmetic, comparison

RAISING = (arithmetic.div, arithmetic.power, arithmetic.mod, arithmetic.fmod,
            comparison.floor_divide)


def to_widen(graph: Graph) -> list[Node]:
    """Inputs that are plain Python numbers with which Python's arithmetic might raise."""
    found: dict[Node, None] = {}
    for node in graph.nodes:
        if node.op in RAISING and all(a.type.weak or is_scalar(a) for a in node.args):
            found.update({a: None for operand in node.args for a in _weak_inputs(operand)
                          if a.type.dtype.kind == "f"})
    return list(found)


def _weak_inputs(node: Node) -> list[Node]:
    found, stack, seen = [], [node], set()
    while stack:
        n = stack.pop()
        if n in seen or not isinstance(n.type, ArrayType) or not n.type.weak:
            continue
        seen.add(n)
        if n.op is INPUT:
            found.append(n)
        stack.extend(n.args)
    return found


def promotes(node: Node, position: int) -> bool:
    """Whether a plain number would change the result's dtype if it were NumPy's."""
    types = [a.type for a in node.args]
    types[position] = types[position].strong
    new = infer(node.op, tuple(types), node.params)
    return isinstance(new, ArrayType) and new.dtype != node.type.dtype


def same_when_weak(node: Node, position: int) -> bool:
    """Whether a NumPy scalar may be written as a plain number without changing the dtype.

    Other scalar constants of the application may be written so too.
    """
    types = [weak_type(a.type) if is_scalar(a) else a.type for a in node.args]
    kind = node.args[position].type
    if kind.dtype not in (np.float64, np.int64, np.bool_, np.complex128, np.float32, np.float16):
        return False
    if kind.dtype == np.complex128 and node.op in RAISING:
        return False                    # Python's complex division by np.float64(0) raises
    if kind.dtype in (np.float32, np.float16) and all(
            t.weak or i == position for i, t in enumerate(types)):
        return False
    new = infer(node.op, tuple(types), node.params)
    return isinstance(new, ArrayType) and bool(new.dtype == node.type.dtype)


def weak_type(kind: ArrayType) -> ArrayType:
    """The plain Python number of the kind."""
    dtype = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_, "c": np.complex128}[
        kind.dtype.kind]
    return ArrayType((), np.dtype(dtype), weak=True)


def is_scalar(node: Node) -> bool:
    """Whether a node is a constant number."""
    return node.op is CONSTANT and node.type.shape == ()
