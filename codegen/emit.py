"""Choosing the lane: straight-line code on floats, or array code."""

from typing import TYPE_CHECKING

from ..compiler.arraytype import ArrayType
from ..compiler.graph import CAPTURED, CONSTANT, INPUT, Graph
from ..compiler.ops import indexing, layout
from ..compiler.passes.computable import is_computable
from ..compiler.passes.pipeline import LOWER, SCALAR, SIMPLE, run
from ..compiler.passes.scalarize import is_scalarizable
from .reuse import array_source
from .scalar_source import can_print, scalar_source
from .source import Source

if TYPE_CHECKING:
    from .recall import Shelf

ELEMENT_LIMIT = 40_000       # elements of all values; more is array code, unless made of numbers
_FEW = 4
_LEAVES = (INPUT, CONSTANT, CAPTURED)
_PLACING = (indexing.getitem, indexing.setitem, layout.stack, layout.broadcast_to, layout.reshape)


def is_by_element(graph: Graph) -> bool:
    """Whether a traced function mostly computes with single numbers.

    Such functions (of Python floats, or of ``y[0]``, ``y[1]``, …) are what the scalar lane is for;
    array expressions stay array expressions, however small the arrays are.
    """
    numbers = arrays = 0
    for node in graph.nodes:
        if node.op not in _LEAVES and node.op not in _PLACING:
            if not isinstance(node.type, ArrayType) or node.type.shape:
                arrays += 1
            else:
                numbers += 1
    return numbers > 4 * arrays


def _is_short(graph: Graph) -> bool:
    """Whether arrays are so short that code by element may be shorter than theirs."""
    return all(isinstance(node.type, ArrayType) and node.type.size <= _FEW for node in graph.nodes)


def _operations(graph: Graph) -> int:
    return sum(node.op not in _LEAVES and node.op not in _PLACING for node in graph.nodes)


def lowered(graph: Graph) -> Graph:
    """A differentiated graph as array code is printed from it."""
    return run(run(graph, SIMPLE), LOWER)


def emit(graph: Graph, lane: str, by_element: bool, annotate: bool = True,
         target: str = "numpy", accuracy: str = "fast", deterministic: bool = True,
         shelf: "Shelf | None" = None) -> tuple[Source, Graph]:
    """Source of a differentiated graph, and the graph it was printed from.

    Args:
        graph: to print.
        lane: ``"scalar"``, ``"array"`` or ``"auto"``.
        by_element: whether the user's function mostly computes with single numbers.
        annotate: whether to put the user's lines above the statements that come from them.
        target: ``"numpy"``, which ``"auto"`` means here, ``"native"`` or ``"cupy"``.
        accuracy: of compiled functions.
        deterministic: of functions on the GPU.
        shelf: where compiled kernels' texts are kept.
    """
    simple = run(graph, SIMPLE)
    arrays = run(simple, LOWER)
    short = lane == "auto" and not by_element and _is_short(simple)
    wanted = lane == "scalar" or (lane == "auto" and by_element) or short
    if target == "cupy":
        # Importing wengert is to be quick.
        from .cupy_source import cupy_source  # noqa: PLC0415
        return cupy_source(arrays, annotate, deterministic, accuracy == "strict"), arrays
    if target == "native":
        return _native(simple, arrays, wanted, annotate, accuracy, shelf)
    limit = max(ELEMENT_LIMIT, _FEW * len(simple.nodes))
    if wanted and is_scalarizable(simple, limit):
        all_numbers = all(node.type.shape == () for node in arrays.nodes)
        scalars = arrays if all_numbers and can_print(arrays) else run(simple, SCALAR)
        if (scalars is arrays or can_print(scalars)) and not (
                short and _operations(scalars) >= _operations(arrays)):
            return scalar_source(scalars, arrays, annotate), scalars
    if lane == "scalar":
        raise ValueError("lane=\"scalar\" needs small float64 arrays and functions that have a "
                         "counterpart in Python's math module.")
    return array_source(arrays, annotate), arrays


def _native(simple: Graph, arrays: Graph, by_element: bool, annotate: bool, accuracy: str,
            shelf: "Shelf | None") -> tuple[Source, Graph]:
    """Native source; functions of numbers become straight-line C."""
    # Importing wengert is to be quick, and this is a good part of it.
    from .native_source import native_source  # noqa: PLC0415
    if by_element and is_scalarizable(simple, ELEMENT_LIMIT):
        scalars = run(simple, SCALAR)
        if all(is_computable(n) for n in scalars.nodes if n.op not in _LEAVES):
            return native_source(scalars, annotate, accuracy, shelf), arrays
    return native_source(arrays, annotate, accuracy, shelf), arrays
