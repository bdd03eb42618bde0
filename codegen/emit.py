"""Choosing the lane: straight-line code on floats, or array code."""

from ..compiler.graph import CAPTURED, CONSTANT, INPUT, Graph
from ..compiler.ops import indexing, layout
from ..compiler.passes.pipeline import LOWER, SCALAR, SIMPLE, run
from ..compiler.passes.scalarize import is_scalarizable
from .numpy_source import numpy_source
from .scalar_source import can_print, scalar_source
from .source import Source

ELEMENT_LIMIT = 4000         # elements of all values; more is certainly array code
SCALAR_COST = 0.045          # microseconds of one operation on Python floats
ARRAY_COST = 0.7             # microseconds of one NumPy call on a small array


def emit(graph: Graph, lane: str = "auto", annotate: bool = True) -> tuple[Source, Graph]:
    """Source of a differentiated graph, and the graph it was printed from."""
    simple = run(graph, SIMPLE)
    arrays = run(simple, LOWER)
    if lane != "array" and is_scalarizable(simple, ELEMENT_LIMIT):
        scalars = run(simple, SCALAR)
        if can_print(scalars) and (lane == "scalar" or _is_cheaper(scalars, arrays)):
            return scalar_source(scalars, arrays, annotate), scalars
    if lane == "scalar":
        raise ValueError("lane=\"scalar\" needs small float64 arrays and functions that have a "
                         "counterpart in Python's math module.")
    return numpy_source(arrays, annotate), arrays


def _is_cheaper(scalars: Graph, arrays: Graph) -> bool:
    """Estimate both lanes by their numbers of operations."""
    leaves = (INPUT, CONSTANT, CAPTURED)
    n_scalar = sum(n.op not in (*leaves, indexing.getitem) for n in scalars.nodes)
    n_scalar += sum(len(n.args) for n in scalars.nodes if n.op is layout.stack)
    calls = sum(n.op not in leaves and n.type.shape != () for n in arrays.nodes)
    numbers = sum(n.op not in leaves and n.type.shape == () for n in arrays.nodes)
    return bool(n_scalar * SCALAR_COST < calls * ARRAY_COST + numbers * 2 * SCALAR_COST)
