"""What a trace may not pass over in silence: lost slopes, single points, values left behind."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.errors import (
    ConstantResultWarning,
    EqualityBranchError,
    LeakedTracerError,
    MutationError,
)
from ..compiler.graph import Graph, Node, reachable
from ..compiler.ops import indexing, layout, ties
from ..compiler.trace.captures import captured_by
from ..compiler.trace.stage import Staged, definition
from ..compiler.transforms.jvp import is_differentiable
from .compile import Selection
from .load_cuda import share_memory


def refuse_aliases(inputs: Sequence[Any], written: Sequence[int]) -> None:
    """An array that the function writes to is none of its other arguments."""
    for i in written:
        for j, other in enumerate(inputs):
            if i != j and share_memory(inputs[i], other):
                raise MutationError(
                    "The function writes to an argument that shares memory with another one; the "
                    "compiled function takes them as separate arrays.", "Pass a copy of one.")


def refuse_leaks(function: Any, changed: Callable[[], bool] | None) -> None:
    """The function has left no traced value behind, in an object or a list, say."""
    if changed is not None and changed() and captured_by(function).traced:
        raise LeakedTracerError(
            "The function stores a value computed from its arguments outside of itself; compiled "
            "code computes its results only.", "Return the value as well.", definition(function))


# What a guard says of its two operands: the first is at least, at most, or equal to the second.
_BOUNDS = {("greater_equal", True): {1}, ("less", False): {1}, ("less_equal", True): {-1},
           ("greater", False): {-1}, ("equal", True): {1, -1}, ("not_equal", False): {1, -1}}


def refuse_equality(staged: Staged, selection: Selection, function: Any) -> None:
    """A branch that holds at a single point says nothing about the slope there.

    Two branches may say so together: ``x >= y`` holds and ``x > y`` does not.
    """
    graph = staged.graph
    selected = {graph.inputs[i] for i in selection.inputs}
    known: dict[tuple[Node, ...], set[int]] = {}
    for guard in graph.guards:
        bounds, sides = _BOUNDS.get((guard.node.op.name, guard.expected)), guard.node.args
        if bounds is None:
            continue
        known.setdefault(sides, set()).update(bounds)
        known.setdefault(sides[::-1], set()).update(-b for b in bounds)
        # An iteration that has converged compares two values of the same inputs.
        if len(known[sides]) == 2 and _elements(sides[0], selected) != _elements(
                sides[1], selected):
            raise EqualityBranchError(
                "This branch (if) is taken because a value equals a number exactly; the "
                "derivative at such a point is not that of the branch.",
                "Use the limit's formula, np.where with an interval, or evaluate beside the "
                "point.", guard.origin or definition(function))


def _elements(node: Node, selected: set[Node]) -> set[Node]:
    """The selected inputs, or elements of them, that a value is computed from."""
    found, seen, stack = set(), set(), [node]
    while stack:
        n = stack.pop()
        if n in seen:
            continue
        seen.add(n)
        if n in selected or (n.op is indexing.getitem and n.type.shape == ()
                             and n.args[0] in selected):
            found.add(n)
        elif is_differentiable(n.type):         # what is not carries no derivative
            stack.extend(n.args)
    return found


# Decisions on how to compute or differentiate, not on what.
_NO_SLOPE = (layout.is_contiguous, ties.coincide)


def warn_constant(staged: Staged, selection: Selection, function: Any) -> None:
    """Warn of inputs, or elements of them, that reach the result only through decisions."""
    graph = staged.graph
    if not graph.guards:
        return
    results = reachable(graph.outputs[:staged.n_outputs])
    decisions = reachable([g.node for g in graph.guards
                           if g.node.op not in _NO_SLOPE])
    for position in selection.inputs:
        node = graph.inputs[position]
        parts = _read_parts(graph, node)
        lost = [i for i, part in parts.items() if part in decisions and part not in results]
        if not lost:
            continue
        name = node.origin.name if node.origin and node.origin.name else f"argument {position}"
        whole = len(lost) == len(parts)
        shown = [repr(name)] if whole else [f"'{name}[{', '.join(map(str, i))}]'" for i in lost]
        warnings.warn(
            f"{graph.guards[0].origin}: the result depends on {' and '.join(shown)} only through "
            "comparisons, so its derivative is zero everywhere. Smooth the decision, for "
            "example with 1/(1 + exp(-x/tau)), if that is not what you mean.",
            ConstantResultWarning, stacklevel=6)


def _read_parts(graph: Graph, node: Node) -> dict[tuple[int, ...], Node]:
    """The elements of an input that are read, if it is only read so; else the input itself."""
    users = [n for n in graph.nodes if node in n.args]
    if node in graph.outputs or not users or any(
            n.op is not indexing.getitem or n.type.shape or len(n.args) > 1 for n in users):
        return {(): node}
    return {n.params[0]: n for n in users}
