"""A custom function's traced call as an operator, made on the fly.

Its meaning is the graph of the function's body, which takes the operator's place once
derivatives have been taken; an *opaque* function has no graph and is called by reference. Its
derivative is a graph too: the user's rule, with the operands and the tangents (or cotangents) as
inputs. Being linear in the latter, it is applied by forward mode, whose products keep structural
zeros strong, and it is transposed for the other direction.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiler.arraytype import ArrayType, is_python_number, type_of
from ..compiler.errors import (
    LOSSES,
    ConcreteValueError,
    CustomRuleError,
    NonlinearRuleError,
    NotDifferentiableError,
    Origin,
)
from ..compiler.graph import INPUT, Graph, Node, constant_key, topological
from ..compiler.interpret import compute, interpret
from ..compiler.ops import layout, reduction
from ..compiler.ops.row import General, Op, Pullback
from ..compiler.trace.stage import definition, function_name, inline_call
from ..compiler.trace.tracer import TraceBuilder, Tracer
from ..compiler.trace.tree import flatten, unflatten
from ..compiler.transforms.batch import batch
from ..compiler.transforms.jvp import push_forward
from ..compiler.transforms.transpose import discard, transpose_map

Function = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Application:
    """One traced call of a custom function, in terms of its flat operands.

    Attributes:
        name: of the function.
        where: its definition.
        body: what it computes; None for an opaque function.
        reference: the opaque function on flat operands.
        in_types: of the operands.
        out_types: of the results.
        rule: gives the rule's graph. Inputs: the operands, then tangents of the differentiable
            operands; outputs: tangents of the differentiable results. If ``reverse``: cotangents
            of the differentiable results, and of the differentiable operands.
        reverse: whether the rule is that of reverse mode.
    """

    name: str
    where: Origin | None
    body: Graph | None
    reference: Function | None
    in_types: tuple[ArrayType, ...]
    out_types: tuple[ArrayType, ...]
    rule: Callable[[], Graph]
    reverse: bool

    def operator(self) -> Op:
        """The operator for this application."""
        type: Any = self.out_types[0] if len(self.out_types) == 1 else self.out_types
        derivative = Pullback(self._pull, self._push) if self.reverse else General(self._push)
        return Op(self.name, self._compute, lambda *_: type, derivative, batch=self._batch,
                  expand=None if self.body is None else self._expand, reference=self.reference,
                  fresh=False)

    def _single(self, results: Sequence[Any]) -> Any:
        return results[0] if len(self.out_types) == 1 else tuple(results)

    def _compute(self, *args: Any) -> Any:
        if self.body is None:
            assert self.reference is not None
            return self.reference(*args)
        return self._single(interpret(self.body, *args))

    def _expand(self, *args: Any) -> Any:
        assert self.body is not None
        return self._single(inline_call(self.body, args))

    def _push(self, args: tuple[Any, ...], tangents: tuple[Any, ...], out: Any) -> Any:
        builder = args[0].builder
        varied = _differentiable(tangents, self.in_types)
        if not self.reverse:
            pushed = self._linear(builder, args, varied)
        else:
            def pulled(cts: Sequence[Any]) -> Sequence[Any]:
                return self._linear(builder, args, cts)
            types = _differentiable(self.out_types, self.out_types)
            pushed = transpose_map(builder, pulled, [t.strong for t in types],
                                   _differentiable(self.in_types, self.in_types), varied,
                                   self.name)
        found = iter(pushed)
        return self._single([next(found) if t.differentiable else None for t in self.out_types])

    def _pull(self, args: tuple[Any, ...], out: Any, ct: Any) -> list[Any]:
        cts = (ct,) if len(self.out_types) == 1 else ct
        try:
            pulled = self._linear(args[0].builder, args, _differentiable(cts, self.out_types))
        except NonlinearRuleError:     # such as a clipped gradient: right in reverse mode
            pulled = self._as_written(args, _differentiable(cts, self.out_types))
        found = iter(pulled)
        return [next(found) if t.differentiable else None for t in self.in_types]

    def _linear(self, builder: TraceBuilder, args: Sequence[Any], tangents: Sequence[Any]
                ) -> list[Any]:
        """The rule as a linear map: no product with a structural zero is ever formed."""
        graph = self.rule()
        found = apply_linear(builder, graph, [a.node for a in args], tangents)
        if found is None:
            mode = "forward" if self.reverse else "any"
            raise NonlinearRuleError(
                f"The derivative rule of {self.name} is not linear in its "
                f"{'cotangents' if self.reverse else 'tangents'}: it has no meaning in {mode} "
                "mode.", "Use each of them as a factor, once in every term.", self.where)
        return found

    def _as_written(self, args: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        types = _differentiable(self.out_types, self.out_types)
        filled = [np.zeros(t.shape, t.dtype) if c is None else c
                  for c, t in zip(cts, types, strict=True)]
        return inline_call(self.rule(), [*args, *filled])

    def _batch(self, args: tuple[Any, ...], batched: tuple[bool, ...]) -> Any:
        """The same function of many examples: body and rule are batched, each by itself."""
        size = next(a.shape[0] for a, b in zip(args, batched, strict=True) if b)
        in_types = tuple(a.type for a in args)
        out_types = tuple(ArrayType((size, *t.shape), t.dtype) for t in self.out_types)

        def rule() -> Graph:
            graph = self.rule()
            if not self.reverse:
                moved = _differentiable(batched, self.in_types)
                return batch_all(graph, size, [*batched, *moved])
            n = len(_differentiable(self.out_types, self.out_types))
            many = batch_all(graph, size, [*batched, *[True] * n])
            return _sum_shared(many, _differentiable(batched, self.in_types))
        body = None if self.body is None else batch_all(self.body, size, batched)
        reference = None if self.reference is None else Mapped(
            self.reference, size, batched, out_types)
        op = Application(self.name, self.where, body, reference, in_types, out_types, rule,
                         self.reverse).operator()
        return op(*args)


def _differentiable(values: Sequence[Any], kinds: Sequence[ArrayType]) -> list[Any]:
    return [v for v, kind in zip(values, kinds, strict=True) if kind.differentiable]


def apply_linear(builder: TraceBuilder, graph: Graph, args: Sequence[Node],
                 tangents: Sequence[Any]) -> list[Any] | None:
    """Outputs of a graph that is linear in its last inputs; None if it turns out not to be.

    A linear map is its own derivative, so forward mode applies it, with None for zeros.
    """
    start = len(builder.nodes)
    linear = graph.inputs[len(args):]
    holders = [Node(INPUT, (), (), node.type) for node in linear]
    new = dict(zip(graph.inputs, [*args, *holders], strict=True))
    given = {node: t for node, t in zip(linear, tangents, strict=True) if t is not None}
    origin = builder.origin
    push_forward(builder, graph, new, given)
    builder.origin = origin
    # Values computed from the tangents' place holders are of no use, and must be of none.
    useless = discard(builder, start, holders)
    out = [given.get(node) for node in graph.outputs]
    return None if any(t is not None and t.node in useless for t in out) else out


def batch_all(graph: Graph, size: int, batched: Sequence[bool]) -> Graph:
    """Batched graph all of whose outputs have the batch axis."""
    many, has_axis = batch(graph, size, batched)
    builder = TraceBuilder(many.name)
    builder.nodes += many.nodes
    builder.inputs += many.inputs
    builder.guards += many.guards
    outputs = [node if has else builder.emit(layout.broadcast_to, (node,),
                                             ((size, *node.type.shape),))
               for node, has in zip(many.outputs, has_axis, strict=True)]
    return builder.graph(outputs)


def _sum_shared(graph: Graph, batched: Sequence[bool]) -> Graph:
    """Cotangents of operands that all examples share are summed over the examples."""
    builder = TraceBuilder(graph.name)
    builder.nodes += graph.nodes
    builder.inputs += graph.inputs
    builder.guards += graph.guards
    return builder.graph([node if b else builder.emit(reduction.sum, (node,), ((0,), False))
                          for node, b in zip(graph.outputs, batched, strict=True)])


# -- opaque functions -----------------------------------------------------------------------------

@dataclass(frozen=True, eq=False)
class Opaque:
    """A function that cannot be traced, from flat operands to flat results of promised types."""

    function: Function
    leaves: tuple[Any, ...]      # those that are not operands
    operands: tuple[int, ...]
    spec: Any
    out_types: tuple[ArrayType, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        static = tuple(constant_key(leaf) if is_python_number(leaf) else id(leaf)
                       for leaf in self.leaves)      # 1, 1.0 and True differ
        return (id(self.function), static, self.operands, self.spec, self.out_types)

    def __call__(self, *args: Any) -> Any:
        """Run it, and check that it keeps its promise."""
        results, _ = flatten(call_flat(self.function, self.leaves, self.operands, self.spec, args))
        found = tuple(type_of(r) for r in results)
        if [t[:2] for t in found] != [t[:2] for t in self.out_types]:
            raise CustomRuleError(
                f"The opaque function {function_name(self.function)} returned "
                f"{', '.join(map(str, found))}; when it was traced with operands of the same "
                f"types, it returned {', '.join(map(str, self.out_types))}.",
                "Let shapes and dtypes of its results depend on those of its operands only.",
                definition(self.function))
        fitted = tuple(np.asarray(r)[()] for r in results)
        return fitted[0] if len(fitted) == 1 else fitted


@dataclass(frozen=True)
class Mapped:
    """An opaque function applied to each of many examples."""

    reference: Function
    size: int
    batched: tuple[bool, ...]
    out_types: tuple[ArrayType, ...]

    def __call__(self, *args: Any) -> Any:
        """Loop over the examples."""
        single = len(self.out_types) == 1
        if not self.size:
            empty = tuple(np.empty(t.shape, t.dtype) for t in self.out_types)
            return empty[0] if single else empty
        rows = [self.reference(*[a[i] if b else a
                                 for a, b in zip(args, self.batched, strict=True)])
                for i in range(self.size)]
        return np.stack(rows) if single else tuple(map(np.stack, zip(*rows, strict=True)))


def linear_call(function: Function, args: Sequence[Any], out_type: ArrayType, name: str,
                refusal: NotDifferentiableError) -> Any:
    """Record an opaque function that is linear in its last operand and has no other derivative.

    Args:
        function: of the operands; called by reference.
        args: the operands, the last of them traced.
        out_type: of the result.
        name: of the operator.
        refusal: raised for a derivative by any other operand, or for the transpose.
    """
    def push(args: tuple[Any, ...], tangents: tuple[Any, ...], out: Any) -> Any:
        if any(t is not None for t in tangents[:-1]):
            raise refusal
        return op(*args[:-1], tangents[-1])

    def pull(ct: Any, *args: Any) -> Any:
        raise refusal

    def batched(args: tuple[Any, ...], flags: tuple[bool, ...]) -> Any:
        size = next(a.shape[0] for a, b in zip(args, flags, strict=True) if b)
        many = ArrayType((size, *out_type.shape), out_type.dtype)
        return linear_call(Mapped(function, size, flags, (many,)), args, many, name, refusal)
    op = Op(name, function, lambda *_: out_type, General(push, {len(args) - 1: pull}),
            batch=batched, reference=function, fresh=False)
    return op(*args)


def call_flat(function: Function, leaves: Sequence[Any], operands: Sequence[int], spec: Any,
              args: Sequence[Any]) -> Any:
    """Call a function with operands among its leaves."""
    filled = list(leaves)
    for i, value in zip(operands, args, strict=True):
        filled[i] = value
    return function(*unflatten(spec, filled))


def example(tracer: Tracer) -> Any:
    """A value of the type of a traced value: its own where that is known, else of ones."""
    found = _known(tracer, tracer.node)
    if found is not None:
        return found
    values: dict[Node, Any] = {}
    for node in topological([tracer.node]):
        if node.op is INPUT:
            known = _known(tracer, node)
            values[node] = np.ones(node.type.shape, node.type.dtype)[()] if known is None else known
        else:
            values[node] = compute(node, [values[a] for a in node.args])
    return values[tracer.node]


def _known(tracer: Tracer, node: Node) -> Any:
    """The node's value; None where only its type is known, which is no loss here."""
    n_losses = len(LOSSES.errors)
    try:
        return tracer.builder.concrete(node)
    except ConcreteValueError:
        del LOSSES.errors[n_losses:]
        return None
