"""The last argument of a product: the tangent, cotangent or vector."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..compiler.arraytype import ArrayType
from ..compiler.errors import TangentError
from ..compiler.graph import Graph, inline, keep_leaf
from ..compiler.ops import arithmetic
from ..compiler.trace.stage import definition, is_traceable, leaf_type
from ..compiler.trace.tracer import TraceBuilder
from ..compiler.trace.tree import flatten, unflatten
from .compile import Packing, Request

_NAMES = {"jvp": "tangent", "vjp": "cotangent", "hvp": "vector"}


def check_call(request: Request, function: Callable[..., Any], args: Sequence[Any],
               kwargs: dict[str, Any]) -> None:
    """What is left without the operand must be a call of the function.

    Raises:
        TangentError: if the operand has been forgotten.
    """
    name = _NAMES[request.kind]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        signature = None
    reason = "" if args else "no positional argument was given"
    if args and signature is not None:
        try:
            signature.bind(*args[:-1], **kwargs)
        except TypeError as error:
            reason = str(error)
    if reason:
        raise TangentError(
            f"{request.kind} takes the function's arguments and then a {name}; without the last "
            f"one this is no call of the function: {reason}.",
            f"Write {request.kind}(f)(*args, {name}).", definition(function))


def check_operand(request: Request, graph: Graph, operand: Any, packing: Packing,
                  function: Any) -> None:
    """The operand has the structure, shapes and dtypes of what it belongs to.

    Plain Python numbers take the dtype they meet, as everywhere in NumPy.

    Raises:
        TangentError: if it does not.
    """
    name, where = _NAMES[request.kind], definition(function)
    owner = "result" if request.kind == "vjp" else "argument it belongs to"
    wanted_spec = packing.out_spec if request.kind == "vjp" else packing.in_spec
    given, spec = flatten(operand)
    if spec != wanted_spec:
        raise TangentError(f"The {name} has the structure {_shown(spec)}, the {owner} has "
                           f"{_shown(wanted_spec)}.", "Give both the same structure.", where)
    wanted = graph.inputs[len(graph.inputs) - len(given):]
    for leaf, node in zip(given, wanted, strict=True):
        if not is_traceable(leaf):
            raise TangentError(f"The {name} holds {leaf!r} of type {type(leaf).__name__}, which "
                               "is not a number or an array of numbers.",
                               f"Give a {name} of numbers.", where)
        type_, value = leaf_type(leaf), node.type
        if type_.shape != value.shape:
            raise TangentError(f"The {name} has shape {type_.shape}, the {owner} has shape "
                               f"{value.shape}.", "Give both the same shape.", where)
        if not _fits(type_, value):
            raise TangentError(f"The {name} has dtype {type_.dtype}, the {owner} has dtype "
                               f"{value.dtype}.",
                               f"Convert it: {name}.astype(np.{value.dtype}).", where)


def _fits(given: ArrayType, wanted: ArrayType) -> bool:
    if given.weak:
        return given.dtype.kind != "c" or wanted.dtype.kind == "c"
    return given.dtype == wanted.dtype


class _Leaf:
    def __repr__(self) -> str:
        return "*"


def _shown(spec: Any) -> str:
    """A structure with a star for each number or array."""
    return repr(unflatten(spec, [_Leaf()] * spec.num_leaves))


def with_operand(graph: Graph, operand: Sequence[Any]) -> Graph:
    """The graph taking Python numbers where the value is of another precision."""
    types = [leaf_type(leaf) for leaf in operand]
    first = len(graph.inputs) - len(types)
    if all(not t.weak or t.dtype == n.type.dtype
           for t, n in zip(types, graph.inputs[first:], strict=True)):
        return graph
    builder = TraceBuilder(graph.name)
    args = [keep_leaf(builder, node) for node in graph.inputs[:first]]
    for type_, node in zip(types, graph.inputs[first:], strict=True):
        if not type_.weak or type_.dtype == node.type.dtype:
            args.append(keep_leaf(builder, node))
            continue
        number = builder.input(type_, node.origin.name if node.origin else None)
        args.append(builder.emit(arithmetic.convert, (number,), (node.type.dtype.name,)))
    return builder.graph(inline(builder, graph, args))


def in_call_order(graph: Graph, operand: Sequence[Any], keywords: Sequence[Any]) -> Graph:
    """The operand stands before the keyword arguments in a call, but after them in the graph."""
    n_keywords = sum(map(is_traceable, keywords))
    n_own = len(graph.inputs) - len(operand)
    first = n_own - n_keywords
    inputs = (*graph.inputs[:first], *graph.inputs[n_own:], *graph.inputs[first:n_own])
    return Graph(graph.name, inputs, graph.outputs, graph.nodes, graph.guards)
