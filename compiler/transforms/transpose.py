"""Transposition: pull a cotangent of a result back to the operands.

This is reverse mode's only rule interpreter. At an elementwise operator the cotangent is
multiplied by the partial; a linear operator has its transpose; a general operator is linearized
in place, and the linear nodes its jvp rule recorded are themselves transposed, one by one.
(Radul, Paszke, Frostig, Johnson, Maclaurin: "You only linearize once", POPL 2023.)
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from ..errors import NonlinearRuleError, Origin
from ..graph import CONSTANT, INPUT, PICK, Node
from ..ops import arithmetic, indexing, layout
from ..ops.decompositions import TIES
from ..ops.row import (
    DerivativeNotImplemented,
    Elementwise,
    General,
    Linear,
    Multilinear,
    Pullback,
    Structured,
    ZeroDerivative,
)
from ..trace.tracer import TraceBuilder, Tracer, wrap
from .bodies import HOW
from .jvp import (
    evaluate_partial,
    fit_tangent,
    is_differentiable,
    linear_operands,
    product,
    refuse,
)
from .zero import is_zero as is_zero

Cotangents = dict[Node, Any]



def fit_cotangent(ct: Any, type: ArrayType) -> Any:
    """A cotangent in the shape and dtype of its value: broadcasting is summed over."""
    if ct.shape != type.shape:
        if len(ct.shape) < len(type.shape) or any(
                n == 1 and m != 1 for n, m in zip(ct.shape[-len(type.shape):] if type.shape
                                                  else (), type.shape, strict=False)):
            ct = layout.broadcast_to(ct, shape=_broadcast(ct.shape, type.shape))
        ct = layout.sum_to(ct, type.shape)
    return arithmetic.match_dtype(ct, type.dtype)


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    from_end = max(len(a), len(b))
    a = (1,) * (from_end - len(a)) + a
    b = (1,) * (from_end - len(b)) + b
    return tuple(m if n == 1 else n for n, m in zip(a, b, strict=True))


def pull_back(builder: TraceBuilder, node: Node, args: Sequence[Tracer], out: Any, ct: Any,
              wanted: Sequence[bool]) -> list[Any]:
    """Cotangents of the wanted operands of one application; None for zero.

    Args:
        builder: where to record.
        node: the application, for its operator and parameters.
        args: the operands' values.
        out: the result's value (a tuple for several results).
        ct: the result's cotangent (a tuple with None for zero, for several results).
        wanted: which operands' cotangents are needed.
    """
    derivative = node.op.derivative
    cts: list[Any] = [None] * len(args)
    match derivative:
        case ZeroDerivative():
            pass
        case Elementwise(partials):
            for i, partial in enumerate(partials):
                if wanted[i] and isinstance(partial, DerivativeNotImplemented):
                    raise refuse(node, partial)
                if wanted[i] and partial is not None:
                    # The result may be smaller than the broadcast shape only if ct is scalar.
                    ct = fit_tangent(ct, node.type)
                    cts[i] = product(ct, evaluate_partial(partial, args, out))
        case Linear(transpose):
            operands = linear_operands(derivative, len(args))
            parts = transpose(ct, *args, **node.settings)
            if derivative.operands is not None and len(operands) == 1:
                parts = (parts,)
            for i, part in zip(operands, parts, strict=True):
                if wanted[i]:
                    cts[i] = part
        case Multilinear(transposes):
            for i, want in enumerate(wanted):
                if want:
                    rule = transposes[i]
                    assert rule is not None
                    cts[i] = rule(ct, *args, **node.settings)
        case General(transposes=own):
            if any(want and i not in own for i, want in enumerate(wanted)):
                cts = _through_linearization(builder, node, args, out, ct, wanted)
            else:
                cts = [own[i](ct, *args, **node.settings) if want else None
                       for i, want in enumerate(wanted)]
        case Pullback(pull):
            cts = list(pull(tuple(args), out, ct, **node.settings))
        case Structured(pull=pull):
            fitted = [None if c is None or not kind.differentiable else fit_tangent(c, kind)
                      for c, kind in zip(ct, node.type, strict=True)]
            cts = pull(HOW, args, fitted, wanted, **node.settings)
        case _:
            raise refuse(node)
    return [None if c is None else fit_cotangent(c, arg.type)
            for c, arg in zip(cts, args, strict=True)]


def _through_linearization(builder: TraceBuilder, node: Node, args: Sequence[Tracer], out: Any,
                           ct: Any, wanted: Sequence[bool]) -> list[Any]:
    derivative = node.op.derivative
    assert isinstance(derivative, General)
    rule = derivative.jvp

    def linear(tangents: Sequence[Any]) -> Sequence[Any]:
        t_out = rule(tuple(args), tuple(tangents), out, **node.settings)
        if isinstance(node.type, ArrayType):
            return (t_out,)
        return (None,) * len(node.type) if t_out is None else t_out

    types = [arg.type.strong if want else None for arg, want in zip(args, wanted, strict=True)]
    if isinstance(node.type, ArrayType):
        return transpose_map(builder, linear, types, (node.type,), (ct,), node.op.name)
    return transpose_map(builder, linear, types, node.type, ct, node.op.name)


def transpose_map(builder: TraceBuilder, linear: Callable[[Sequence[Any]], Sequence[Any]],
                  in_types: Sequence[ArrayType | None], out_types: Sequence[ArrayType],
                  cts: Sequence[Any], name: str) -> list[Any]:
    """Pull cotangents back through a linear map, by transposing the nodes it records.

    Args:
        builder: where to record.
        linear: from tangents to results; None stands for zero.
        in_types: of the tangents; None for those that are zero.
        out_types: of the results.
        cts: of the results.
        name: of the rule that the map belongs to, for the error if it is not linear.
    """
    start = len(builder.nodes)
    holders = [None if type is None else Node(INPUT, (), (), type) for type in in_types]
    results = linear([None if h is None else Tracer(builder, h) for h in holders])
    found: Cotangents = {}
    for t, c, type in zip(results, cts, out_types, strict=True):
        if t is not None and c is not None:
            accumulate(builder, found, fit_tangent(t, type).node, c)
    varied: set[Node] = {h for h in holders if h is not None}
    recorded = []
    for new in builder.nodes[start:]:
        if any(a in varied for a in new.args):
            varied.add(new)
            recorded.append(new)
    origin = builder.origin
    sweep(builder, recorded, varied, found, {})
    builder.origin = origin
    pulled = [None if h is None else found.get(h) for h in holders]
    moved = discard(builder, start, [h for h in holders if h is not None])
    if any(p is not None and p.node in moved for p in pulled):
        raise NonlinearRuleError(f"The derivative rule of {name} is not linear in its tangents.",
                                 "Use each tangent as a factor, once in every term.")
    return pulled


def discard(builder: TraceBuilder, start: int, holders: Sequence[Node]) -> set[Node]:
    """Take out the nodes recorded since ``start`` that depend on place holders; gives them."""
    dependent = set(holders)
    kept = []
    for node in builder.nodes[start:]:
        if any(a in dependent for a in node.args):
            dependent.add(node)
        else:
            kept.append(node)
    builder.nodes[start:] = kept
    return dependent


def accumulate(builder: TraceBuilder, cts: Cotangents, node: Node, ct: Any) -> None:
    """Add to a node's cotangent; a scatter into zeros goes into the sum there is so far."""
    so_far = cts.get(node)
    if so_far is None:
        cts[node] = ct
        return
    for first, second in ((so_far, ct), (ct, so_far)):
        recorded = second.node
        if recorded.op is indexing.scatter_add and is_zero(recorded.args[0]):
            cts[node] = wrap(builder, builder.emit(
                indexing.scatter_add, (first.node, *recorded.args[1:]), recorded.params))
            return
    cts[node] = so_far + ct


def sweep(builder: TraceBuilder, nodes: Sequence[Node], varied: set[Node], cts: Cotangents,
          new: dict[Node, Node]) -> None:
    """Pull cotangents back through nodes in reverse order.

    Args:
        builder: where to record.
        nodes: in topological order.
        varied: nodes whose cotangents are needed.
        cts: cotangents known so far; extended to the operands.
        new: nodes' copies in the builder; a node without one stands for itself.
    """
    for node in reversed(nodes):
        ct = cts.get(node)
        if ct is None or node not in varied or not node.args:
            continue
        wanted = [a in varied and is_differentiable(a.type) for a in node.args]
        if not any(wanted):
            continue
        if node.op is PICK:
            parts = cts.setdefault(node.args[0], [None] * len(node.args[0].type))
            index = node.params[0]
            parts[index] = ct if parts[index] is None else parts[index] + ct
            continue
        if node.origin:
            builder.origin = node.origin.unnamed
        args = [wrap(builder, new.get(a, a)) for a in node.args]
        out = wrap(builder, new.get(node, node))
        found = pull_back(builder, node, args, out, ct, wanted)
        if node.op in TIES and found[0] is not None:
            found[0] = found[0] + _choice(builder, node, args, out, ct)
        for arg, part in _by_operand(node.args, found).items():
            accumulate(builder, cts, arg, part)
            _name_bar(builder, cts[arg], arg)
    builder.origin = None


def _choice(builder: TraceBuilder, node: Node, args: Sequence[Tracer], out: Any, ct: Any) -> Any:
    """NaN if a result depends on the choice of the vectors of equal values; else zero.

    It does not if turning those vectors changes nothing: if their cotangents, pulled back
    through the turn, vanish but for rounding.
    """
    ties = TIES[node.op]
    bars = [ct[i] for i in ties.vectors]
    given = [np.max(np.abs(bar), axis=(-2, -1), keepdims=True) for bar in bars if bar is not None]
    if not given:
        return 0.0
    (lost,) = transpose_map(builder, lambda t: ties.turn(args[0], t[0], out, node.settings),
                            [args[0].type.strong], [node.type[i] for i in ties.vectors], bars,
                            node.op.name)
    if lost is None:
        return 0.0
    size = given[0] if len(given) == 1 else np.maximum(*given)
    limit = float(np.sqrt(np.finfo(size.dtype).eps))
    return np.where(np.max(np.abs(lost), axis=(-2, -1), keepdims=True) > limit * size,
                    np.array(np.nan, size.dtype), np.array(0.0, size.dtype))


def _by_operand(args: Sequence[Node], parts: Sequence[Any]) -> Cotangents:
    """Cotangents of the distinct operands: x·x has one, 2·ct·x."""
    out: Cotangents = {}
    for arg, part in zip(args, parts, strict=True):
        if part is not None:
            out[arg] = out[arg] + part if arg in out else part
    return out


def _name_bar(builder: TraceBuilder, ct: Any, arg: Node) -> None:
    """Name a cotangent after the user's variable: ``y_bar`` for ``y``."""
    node = ct.node
    if arg.origin and arg.origin.name and (node.origin is None or node.origin.name is None) \
            and node.op is not CONSTANT and node.op is not INPUT:
        place = node.origin or arg.origin
        node.origin = Origin(place.file, place.line, f"{arg.origin.name}_bar")
