"""Structured control: bodies of loops and branches are traced once, to graphs of their own.

What a body uses of the function around it becomes a further operand. Outside of any trace, and
where no traced value is involved, these functions simply run in Python.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from ..arraytype import ArrayType
from ..errors import (
    BranchMismatchError,
    CarryError,
    MutationError,
    Origin,
    PolicyError,
    PredicateError,
    SnapshotsError,
    TripCountError,
)
from ..graph import CURRENT, Builder, Graph, Guard, Node, topological
from ..ops import arithmetic, branching, calling, comparison, contraction, layout, looping
from ..ops.body import as_type, with_inputs, with_outputs
from ..ops.looping import Loop
from ..ops.row import Op
from .builder import TraceBuilder, is_traced
from .captures import Captures, captured_by
from .locate import locate, parameters_unpacked
from .stage import (
    Staged,
    definition,
    function_name,
    inline_call,
    is_traceable,
    leaf_names,
    leaf_type,
    path_names,
    stage,
)
from .tracer import Tracer, enter
from .tree import flatten, places, unflatten

Function = Callable[..., Any]


def cond(pred: Any, yes: Function, no: Function, *operands: Any) -> Any:
    """See ``wengert.cond``."""
    builder = _trace_here(pred)
    if builder is None or (is_traced(pred) and builder.is_constant(builder.lift(pred))):
        return (yes if _truth(pred, "wengert.cond", None) else no)(*map(_copied, operands))
    return enter(_cond, builder, (builder, pred, yes, no, operands), {}, sys._getframe(2))


def while_loop(test: Function, body: Function, init: Any, snapshots: int | None = None) -> Any:
    """See ``wengert.while_loop``."""
    _check_snapshots(snapshots)
    builder = _current()
    if builder is not None:
        return enter(_loop, builder, (builder, "wengert.while_loop", test, body, init),
                     {"snapshots": snapshots}, sys._getframe(2))
    carry = init
    while _truth(test(carry), "wengert.while_loop", test):
        carry = body(_copied(carry))
    return carry if carry is not init else _copied(init)


def fori_loop(lower: Any, upper: Any, body: Function, init: Any, snapshots: int | None = None,
              on_disk: int | None = None) -> Any:
    """See ``wengert.fori_loop``."""
    _check_snapshots(snapshots, on_disk)
    builder = _current()
    if builder is None:
        carry = init
        for i in range(lower, upper):
            carry = body(i, _copied(carry))
        return carry if carry is not init else _copied(init)
    frame = sys._getframe(2)
    bounds = [_known(builder, v) for v in (lower, upper)]
    if None in bounds:
        if on_disk is not None:
            raise SnapshotsError("A loop whose number of steps is a traced value keeps no states "
                                 "in a file.", "Leave on_disk out, or pass plain integers as "
                                 "bounds.", locate(frame))
        return enter(_counting, builder, (builder, lower, upper, body, init, snapshots), {}, frame)
    start, stop = cast(tuple[int, int], bounds)
    return enter(_loop, builder, (builder, "wengert.fori_loop", None, body, init),
                 {"start": start, "length": max(0, stop - start), "snapshots": snapshots,
                  "on_disk": on_disk}, frame)


def scan(body: Function, init: Any, xs: Any = None, length: int | None = None,
         snapshots: int | None = None, on_disk: int | None = None) -> Any:
    """See ``wengert.scan``."""
    _check_snapshots(snapshots, on_disk)
    leaves, spec = flatten(xs)
    lengths = {np.shape(x)[0] if np.ndim(x) else None for x in leaves}
    if length is not None:
        lengths.add(int(length))
    if len(lengths) != 1 or None in lengths:
        raise TripCountError(
            "The number of steps of wengert.scan is not given." if not lengths else
            "The arrays that wengert.scan takes slices of, and its length, do not agree in their "
            f"number of steps: {', '.join(map(str, sorted(map(str, lengths))))}.",
            "Pass length=, or arrays with equally many rows.", definition(body))
    (n,) = lengths
    builder = _current()
    if builder is not None:
        return enter(_loop, builder, (builder, "wengert.scan", None, body, init),
                     {"xs": xs, "length": n, "snapshots": snapshots, "on_disk": on_disk},
                     sys._getframe(2))
    if n == 0:
        kinds = [ArrayType(np.shape(x)[1:], leaf_type(x).dtype) for x in leaves]
        staged = _trace_body(None, "wengert.scan", body, (init, unflatten(spec, kinds)))
        shown = _pair(staged, body)
        rows = [np.zeros((0, *node.type.shape), node.type.dtype)
                for node in staged.graph.outputs[len(flatten(shown[0])[0]):staged.n_outputs]]
        return _copied(init), unflatten(flatten(shown[1])[1], rows)
    carry, made = init, None
    taken: list[list[Any]] = []
    for step in range(n or 0):
        carry, y = body(_copied(carry), _copied(unflatten(spec, [x[step] for x in leaves])))
        row, made = flatten(y)
        taken.append(row)
    return carry, unflatten(made, [np.stack(column) for column in zip(*taken, strict=True)])


def checkpoint(function: Function, policy: Any, args: Any, kwargs: Any) -> Any:
    """See ``wengert.checkpoint``."""
    builder = _current()
    if builder is None or policy == "everything":
        return function(*args, **kwargs)
    return enter(_checkpoint, builder, (builder, function, policy, args, kwargs), {},
                 sys._getframe(2))


def _current() -> TraceBuilder | None:
    builder = CURRENT.builder
    return builder if isinstance(builder, TraceBuilder) else None


def _check_snapshots(*numbers: Any) -> None:
    for number in numbers:
        if number is not None and (not isinstance(number, (int, np.integer)) or number < 1):
            raise SnapshotsError(f"The number of states to keep is {number!r}.",
                                 "Pass a positive integer, or leave it out.", locate())


def _trace_here(pred: Any) -> TraceBuilder | None:
    return _current() if is_traced(pred) else None


def _known(builder: TraceBuilder, value: Any) -> int | None:
    """A bound of a counted loop, if it is no traced value."""
    if is_traced(value) and not (value.builder is builder and builder.is_constant(value.node)):
        return None
    return int(value)


def _copied(tree: Any) -> Any:
    """Bodies may write to their arguments, which are theirs."""
    leaves, spec = flatten(tree)
    return unflatten(spec, [x.copy() if isinstance(x, np.ndarray) else x for x in leaves])


def _truth(value: Any, what: str, function: Any) -> Any:
    if np.size(value) != 1:
        raise PredicateError(f"The condition of {what} has shape {np.shape(value)}, not one truth "
                             "value.", "Say np.all or np.any of it.",
                             definition(function) if function else None)
    return bool(value)


# -- tracing of bodies ----------------------------------------------------------------------------


def _trace_body(builder: TraceBuilder | None, what: str, function: Function, args: Sequence[Any],
                names: Sequence[str] | None = None, kwargs: Mapping[str, Any] | None = None
                ) -> Staged:
    """Trace a body on the types of its arguments; its guards are moved to the trace around it.

    With keywords it is traced on the arguments themselves, whose values may decide branches.
    """
    leaves, spec = flatten((tuple(args), dict(kwargs or {})))
    types = [leaf_type(leaf) if is_traceable(leaf) and kwargs is None else leaf for leaf in leaves]
    captures = Captures(captured_by(function).places,
                        list(builder.by_reference.values()) if builder else [])
    staged = stage(function, types, spec, names or _names(function, args), values=False,
                   captures=captures, body_of=what)
    graph = with_outputs(staged.graph, range(staged.n_outputs))
    if builder is not None:
        own = [leaf for leaf in leaves if is_traceable(leaf)] if kwargs is not None else []
        _move_guards(builder, graph, [*own, *staged.lifted])
    kept = set(topological([*graph.inputs, *graph.outputs]))
    nodes = tuple([n for n in graph.nodes if n in kept])
    return replace(staged, graph=Graph(graph.name, graph.inputs, graph.outputs, nodes))


def _names(function: Function, args: Sequence[Any]) -> list[str]:
    """A name for each leaf: the parameter's, or that under which the body unpacks it first."""
    bases = leaf_names(function, tuple([0.0] * len(args)), {})
    unpacked = parameters_unpacked(function)
    out = []
    for base, arg in zip(bases, args, strict=True):
        parts = unpacked.get(base, ())
        if isinstance(arg, (tuple, list)) and len(arg) == len(parts):
            for i, (name, part) in enumerate(zip(parts, arg, strict=True)):
                out += path_names(f"{base}_{i}" if name == "_" else name, part)
        else:
            out += path_names(base, arg)
    return out


def _move_guards(builder: TraceBuilder, graph: Graph, values: Sequence[Any]) -> None:
    """Decisions inside of a body depend on its last inputs only, and are made around it."""
    given = graph.inputs[len(graph.inputs) - len(values):]
    new: dict[Node, Node] = {n: builder.lift(t) for n, t in zip(given, values, strict=True)}
    for guard in graph.guards:
        for node in topological([guard.node]):
            if node not in new:
                new[node] = builder.emit(node.op, tuple([new[a] for a in node.args]), node.params) \
                    if node.args else builder.constant(node.value)
        if new[guard.node] not in builder.decided:
            builder.decided.add(new[guard.node])
            builder.guards.append(Guard(new[guard.node], guard.expected, guard.origin))


def _common(staged: Sequence[Staged], own: Sequence[int]) -> tuple[list[Graph], list[Tracer]]:
    """Bodies that take the same values of the function around them, after inputs of their own."""
    lifted: dict[Node, Tracer] = {}
    for one in staged:
        lifted.update({t.node: t for t in one.lifted})
    bodies = []
    for one, n in zip(staged, own, strict=True):
        inputs = one.graph.inputs
        mine = dict(zip([t.node for t in one.lifted], inputs[n:], strict=True))
        bodies.append(with_inputs(one.graph, [*inputs[:n], *[
            mine.get(node, t.type) for node, t in lifted.items()]]))
    return bodies, list(lifted.values())


def _condition(graph: Graph, what: str, function: Any) -> Graph:
    """A test whose one output is a truth value."""
    if len(graph.outputs) != 1 or graph.outputs[0].type.size != 1:
        shown = ", ".join(str(n.type) for n in graph.outputs)
        raise PredicateError(f"The condition of {what} is {shown}, not one truth value.",
                             "Say np.all or np.any of it.", _place(graph, function))
    builder = Builder(graph.name)
    node = _as_truth(builder, _copy(builder, graph)[0])
    return Graph(graph.name, graph.inputs, (node,), tuple(builder.nodes))


def _copy(builder: Builder, graph: Graph) -> list[Node]:
    new: dict[Node, Node] = {}
    for node in graph.inputs:
        builder.nodes.append(node)
        new[node] = node
    for node in graph.nodes:
        if node not in new:
            builder.origin = node.origin
            new[node] = builder.emit(node.op, tuple([new[a] for a in node.args]), node.params) \
                if node.args else builder.constant(node.value)
    return [new[n] for n in graph.outputs]


def _as_truth(builder: Builder, node: Node) -> Node:
    if node.type.shape:
        node = builder.emit(layout.reshape, (node,), ((),))
    if node.type.dtype != bool:
        node = builder.emit(comparison.not_equal, (node, builder.constant(0)))
    return node


def _place(graph: Graph, function: Any) -> Origin | None:
    """The user's line where an output was computed, or where the function is defined."""
    for node in graph.outputs:
        if node.origin is not None and node.origin.line:
            return node.origin
    return definition(function)


# -- branches -------------------------------------------------------------------------------------


def _cond(builder: TraceBuilder, pred: Any, yes: Function, no: Function, operands: Any) -> Any:
    node = builder.lift(pred)
    if node.type.size != 1:
        raise PredicateError(f"The condition of wengert.cond is {node.type}, not one truth value.",
                             "Say np.all or np.any of it, or use np.where for a choice by element.")
    node = _as_truth(builder, node)
    leaves = [leaf for leaf in flatten(operands)[0] if is_traceable(leaf)]
    staged = [_trace_body(builder, "wengert.cond", branch, operands) for branch in (yes, no)]
    if staged[0].out_spec != staged[1].out_spec:
        raise BranchMismatchError(
            f"The branches of wengert.cond return different structures: {function_name(yes)} "
            f"{_shown(staged[0].out_spec)}, {function_name(no)} {_shown(staged[1].out_spec)}.",
            "Return the same structure from both.", staged[1].where)
    kinds = []
    pairs = zip(staged[0].graph.outputs, staged[1].graph.outputs, strict=True)
    for position, (x, y) in enumerate(pairs):
        if (x.type.weak and y.type.weak and x.type.dtype != y.type.dtype) or \
                x.type[:2] != y.type[:2]:
            raise BranchMismatchError(
                f"The branches of wengert.cond return different types: {function_name(yes)} "
                f"{x.type}, {function_name(no)} {y.type}" + (
                    f" (result {position})." if len(staged[0].graph.outputs) > 1 else "."),
                "Return the same shape and dtype from both, 0.0 rather than 0, say.",
                y.origin if y.origin and y.origin.line else staged[1].where)
        kinds.append(str(x.type if x.type == y.type else x.type.strong))
    bodies, lifted = _common(staged, [len(leaves)] * 2)
    results = branching.cond(Tracer(builder, node), *leaves, *lifted, types=tuple(kinds),
                             yes=bodies[0], no=bodies[1])
    return unflatten(staged[0].out_spec, list(results))


def _shown(spec: Any) -> Any:
    return unflatten(spec, ["*"] * spec.num_leaves)


# -- checkpoints ----------------------------------------------------------------------------------

_CONTRACTIONS = frozenset(op for op in vars(contraction).values() if isinstance(op, Op))


def _checkpoint(builder: TraceBuilder, function: Function, policy: Any, args: Any, kwargs: Any
                ) -> Any:
    """Record a call, of which reverse mode keeps what the policy says."""
    leaves = [leaf for leaf in flatten((args, kwargs))[0] if is_traceable(leaf)]
    names = leaf_names(function, args, kwargs)
    staged = _trace_body(builder, "wengert.checkpoint", function, args, names, kwargs)
    if staged.written:
        raise MutationError("A function under wengert.checkpoint assigns into its arguments.",
                            "Copy them first, and return what is new.", staged.where)
    if not any(is_traced(leaf) for leaf in [*leaves, *staged.lifted]):
        return function(*args, **kwargs)
    graph = staged.graph
    kept = _kept(graph, policy, staged)
    body = Graph(graph.name, graph.inputs, (*graph.outputs, *kept), graph.nodes)
    saved = tuple(range(len(graph.outputs), len(body.outputs)))
    results = calling.call(*[Tracer(builder, builder.lift(v)) for v in leaves], *staged.lifted,
                           types=tuple([str(n.type) for n in body.outputs]), body=body,
                           saved=saved)
    return unflatten(staged.out_spec, list(results[:len(graph.outputs)]))


def _kept(graph: Graph, policy: Any, staged: Staged) -> list[Node]:
    """The values that are kept besides the arguments and the results."""
    if policy == "nothing":
        return []
    if policy == "contractions":
        return [n for n in graph.nodes if n.op in _CONTRACTIONS]
    named = {n.origin.name: n for n in graph.nodes if n.args and n.origin and n.origin.name}
    wanted = (policy,) if isinstance(policy, str) else policy
    missing = [name for name in wanted if name not in named]
    if missing:
        raise PolicyError(
            f"The policy of wengert.checkpoint names {missing[0]!r}, which is no variable that "
            f"{graph.name} computes.", 'Say "everything", "nothing", "contractions", or names of '
            f"variables: {', '.join(sorted(filter(None, named))) or 'it has none'}.", staged.where)
    return [n for n in graph.nodes if n.args and n.origin and n.origin.name in wanted]


# -- loops ----------------------------------------------------------------------------------------


def _loop(builder: TraceBuilder, what: str, test: Function | None, body: Function, init: Any,
          start: int | None = None, length: int | None = None, xs: Any = None,
          snapshots: int | None = None, names: Sequence[str] | None = None,
          on_disk: int | None = None) -> Any:
    """Record a loop."""
    sliced, xs_spec = flatten(xs)
    kinds = [ArrayType(leaf_type(x).shape[1:], leaf_type(x).dtype) for x in sliced]
    rest: tuple[Any, ...] = (unflatten(xs_spec, kinds),) if what == "wengert.scan" else ()
    counter = () if start is None else (0,)
    carry, spec = flatten(init)
    _check_carry(carry, init, what, body)
    types = [leaf_type(leaf) for leaf in carry]
    while True:
        staged = _trace_body(builder, what, body, (
            *counter, unflatten(spec, types), *rest), names)
        wider = _carried(staged, types, spec, init, what, body)
        if wider == types:
            break
        types = wider
    parts, own = [staged], [len(counter) + len(carry) + len(sliced)]
    if test is not None:
        parts.append(_trace_body(builder, what, test, (unflatten(spec, types),), names))
        own.append(len(carry))
    bodies, lifted = _common(parts, own)
    condition = _condition(bodies[1], what, test) if test is not None else None
    first = [as_type(v, t) if not is_traced(v) and not t.shape else
             arithmetic.convert(v, dtype=t.dtype.name) if leaf_type(v) != t else v
             for v, t in zip(carry, types, strict=True)]
    if length == 0 and what == "wengert.fori_loop":
        return unflatten(spec, first)
    loop = Loop(condition, bodies[0], length, start, len(carry), len(sliced), snapshots,
                on_disk)
    out = _record(builder, loop, [*first, *sliced, *lifted])
    done = unflatten(spec, out[:len(carry)])
    if what != "wengert.scan":
        return done
    return done, unflatten(flatten(_pair(staged, body)[1])[1], out[len(carry):])


def _record(builder: TraceBuilder, loop: Loop, operands: Sequence[Any]) -> list[Any]:
    """The results of a loop, as a node.

    With a given number of snapshots, the last step of a counted loop is taken out of it: reverse
    mode then need not repeat what it keeps of that step.
    """
    apart = loop.snapshots is not None and (loop.length or 0) > 1 and loop.sliced == 0 and \
        loop.n_slices == 0
    nodes = [Tracer(builder, builder.lift(v)) for v in operands]
    if not apart:
        return list(looping.loop(*nodes, **loop.params))
    assert loop.length is not None
    shorter = replace(loop, length=loop.length - 1)
    carry = looping.loop(*nodes, **shorter.params)
    counter = [] if loop.start is None else [loop.start + loop.length - 1]
    last = inline_call(loop.body, [*counter, *carry, *nodes[loop.carried:]])
    return [arithmetic.convert(v, dtype=n.type.dtype.name) if v.type.weak and not n.type.weak else v
            for v, n in zip(last, loop.inputs, strict=False)]


def _counting(builder: TraceBuilder, lower: Any, upper: Any, body: Function, init: Any,
              snapshots: int | None) -> Any:
    """A counted loop whose number of steps is known at run time only."""
    def test(carry: Any) -> Any:
        return carry[0] < upper

    def step(carry: Any) -> Any:
        i, inner = carry
        return i + 1, body(i, inner)
    step.__name__ = function_name(body)
    return _loop(builder, "wengert.fori_loop", test, step, (lower, init), snapshots=snapshots,
                 names=_names(body, (0, init)))[1]


def _check_carry(leaves: Sequence[Any], init: Any, what: str, body: Function) -> None:
    for leaf, place in zip(leaves, places(init, "init"), strict=True):
        if not is_traceable(leaf):
            raise CarryError(f"{what} carries {place} = {leaf!r} of type {type(leaf).__name__}, "
                             "which is not a number or an array of numbers.",
                             "Carry numbers and arrays only; use others from the function around "
                             "the body.", definition(body))


def _pair(staged: Staged, body: Function) -> Any:
    shown = unflatten(staged.out_spec, list(range(staged.n_outputs)))
    if not isinstance(shown, tuple) or len(shown) != 2:
        raise CarryError("The body of wengert.scan does not return a pair (carry, y).",
                         "Return carry, y; y may be None.", _place(staged.graph, body))
    return shown


def _carried(staged: Staged, types: list[ArrayType], spec: Any, init: Any, what: str,
             body: Function) -> list[ArrayType]:
    """The types of the carry: a plain number that is to become NumPy's is so from the start."""
    shown = unflatten(staged.out_spec, list(range(staged.n_outputs)))
    if what == "wengert.scan":
        shown = _pair(staged, body)[0]
    made, made_spec = flatten(shown)
    if made_spec != spec:
        raise CarryError(
            f"The carry of {what} goes in as {_shown(spec)} and comes out of "
            f"{function_name(body)} as {_shown(made_spec)}.",
            "Return the carry in the structure in which it comes in.",
            _place(staged.graph, body))
    out = []
    for i, place, old in zip(made, places(init, "init"), types, strict=True):
        node = staged.graph.outputs[i]
        new = node.type
        if new[:2] == old[:2]:
            out.append(new if old.weak else old)
        elif old.weak and not new.weak and not new.shape and new.dtype.kind == old.dtype.kind:
            out.append(new)
        else:
            start = f"{float(0)!r}" if old.weak and old.dtype.kind == "i" else None
            raise CarryError(
                f"What {what} carries as {place} goes in as {old} and comes out of "
                f"{function_name(body)} as {new}.",
                f"Start from {start}, or another float." if start and new.dtype.kind == "f"
                and not new.shape else "Start from a value of the shape and dtype that it is to "
                "keep, or convert what the body returns.",
                node.origin if node.origin and node.origin.line else staged.where)
    return out
