"""The graph under construction, with the concrete values of the call that is being traced."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arraytype import ArrayType, is_python_number
from ..errors import BodyBranchError, ConcreteValueError, LeakedTracerError, ObjectArrayError
from ..graph import CAPTURED, CONSTANT, CURRENT, INPUT, Builder, Guard, Node
from ..interpret import compute
from ..ops import arithmetic, contraction, indexing, layout, reduction
from .locate import locate
from .registry import FUNCTIONS

Source = tuple["TraceBuilder", Node]


def is_traced(value: Any) -> bool:
    """Whether the value is a tracer."""
    return hasattr(type(value), "_record_")


class TraceBuilder(Builder):
    """A builder that knows the concrete arguments of the call that is being traced."""

    def __init__(self, name: str = "f", locates: bool = False) -> None:
        outer = CURRENT.builder
        super().__init__(name, depth=outer.depth + 1 if outer else 0)
        self.outer = outer
        self.locates = locates          # whether user code runs, whose lines are worth knowing
        self.values: dict[Node, Any] = {}
        self.lifted: dict[Node, Node] = {}         # an enclosing trace's node: our input for it
        self.sources: dict[Node, Source] = {}      # our input: the enclosing trace and node
        self.decided: set[Node] = set()
        self.constancy: dict[Node, bool] = {}
        self.row_major: dict[Node, bool] = {}
        self.body_of: str | None = None     # the structured operator whose body is traced here

    def lift(self, value: Any) -> Any:
        """The node that stands for any operand: tracer, number, array or sequence."""
        if is_traced(value):
            if value.builder is self:
                return value.node
            return self._lift_outer(value)
        if isinstance(value, (list, tuple)):
            value = self._array_of(value)
            if is_traced(value):
                return value.node
        if not is_python_number(value):
            if not isinstance(value, (np.ndarray, np.generic)):
                value = np.asarray(value)
            if value.dtype == object:
                stacked = stack_objects(value)
                if stacked is not None:
                    return self.lift(stacked)
                raise ObjectArrayError(
                    "An array of Python objects that are not numbers takes part in traced "
                    "arithmetic.", "Build it from numbers or traced values only.", locate())
        return self.constant(value)

    def _array_of(self, value: Sequence[Any]) -> Any:
        if contains_tracer(value):
            return FUNCTIONS[np.array](value)
        return np.asarray(value)

    def _lift_outer(self, tracer: Any) -> Node:
        if tracer.builder.closed:
            raise LeakedTracerError(
                "A traced value is used after its function has returned.",
                "Return it from the function instead of storing it elsewhere.", locate())
        if tracer.builder.depth >= self.depth:
            raise LeakedTracerError(
                "A traced value of an inner derivative is used outside of it.",
                "Return it from the inner function.", locate())
        node = tracer.node
        entry = self.lifted.get(node)
        if entry is None:
            entry = self.lifted[node] = self.input(
                node.type, node.origin.name if node.origin else None)
            self.sources[entry] = tracer.builder, node
        return entry

    def concrete(self, node: Node) -> Any:
        """The node's value for the arguments of this call.

        Raises:
            ConcreteValueError: when only types were given.
        """
        def rule(n: Node) -> Any:
            return self._input_value(n) if n.op is INPUT else compute(
                n, [self.values[a] for a in n.args])
        with np.errstate(all="ignore"):
            return _settle(node, self.values, rule)

    def _input_value(self, node: Node) -> Any:
        source = self.sources.get(node)
        if source is not None:
            builder, outer_node = source
            return builder.concrete(outer_node)
        if self.body_of:
            raise BodyBranchError(
                f"Something inside of {self.body_of} (an if or while, int, a slice's bound, an "
                "opaque function) needs a value that differs from step to step, or is known at run "
                "time only.",
                "Use wengert.cond or np.where, or decide outside of it.", locate())
        raise ConcreteValueError(
            "A decision depends on a value of which only the type is known.",
            "Pass an example value instead of a type.", locate())

    def decide(self, node: Node) -> Any:
        """The node's value, recorded as a guard unless it is a constant."""
        value = self.concrete(node)
        if np.ndim(value) == 0 and not is_python_number(value):
            value = np.asarray(value).item()
        if node not in self.decided and not self.is_constant(node):
            self.decided.add(node)
            self.guards.append(Guard(node, value, locate(sys._getframe(1))))
        return value

    def is_constant(self, node: Node) -> bool:
        """Whether the node can never have another value (captured arrays can)."""
        known = self.constancy
        return bool(_settle(node, known, lambda n: n.op not in (INPUT, CAPTURED)
                            and all(known[a] for a in n.args)))

    def is_row_major(self, node: Node) -> bool:
        """Whether NumPy certainly makes this result with its last axis packed closest."""
        known = self.row_major

        def rule(n: Node) -> bool:
            if not isinstance(n.type, ArrayType):
                return False
            if n.type.ndim <= 1 or n.op is layout.broadcast_to:
                return True
            if n.op in (CONSTANT, CAPTURED):
                return bool(n.value.flags.c_contiguous)
            if n.op in (indexing.setitem, indexing.scatter_add):
                return known[n.args[0]]
            return (n.op.batch is None or n.op in _KEEP_ORDER) and bool(n.args) and \
                all(known[a] for a in n.args)
        return bool(_settle(node, known, rule))


# Operators besides the elementwise ones whose results lie in memory as their operands do.
_KEEP_ORDER = frozenset((arithmetic.convert, layout.stack, layout.concatenate, reduction.sum,
                         contraction.matmul))


def _settle(node: Node, known: dict[Node, Any], rule: Callable[[Node], Any]) -> Any:
    """Apply a rule to a node after its operands; ``known`` holds and receives the answers."""
    stack = [node]
    while stack:
        n = stack[-1]
        missing = [a for a in n.args if a not in known] if n not in known else []
        if missing:
            stack.extend(missing)
            continue
        if n not in known:
            known[n] = rule(n)
        stack.pop()
    return known[node]


def contains_tracer(value: Any) -> bool:
    """Whether a (nested) sequence or object array holds a traced value."""
    if is_traced(value):
        return True
    if isinstance(value, (list, tuple)):
        return any(contains_tracer(v) for v in value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return any(is_traced(v) for v in value.flat)
    return False


def stack_objects(array: np.ndarray[Any, Any]) -> Any:
    """An object array of traced values as one traced value; None if it holds anything else."""
    if not all(is_traced(v) or is_python_number(v) or isinstance(v, np.generic)
               for v in array.flat):
        return None
    if not contains_tracer(array):
        return None
    return FUNCTIONS[np.array](array.tolist())


def deepest(values: Sequence[Any]) -> "TraceBuilder | None":
    """The innermost trace among the operands, or that of the body where they are used."""
    found = _deepest(values)
    return found if found is None or found is CURRENT.builder else inmost(found)


def inmost(builder: TraceBuilder) -> TraceBuilder:
    """Where to record what happens to a trace's value: inside of a body that uses it.

    What a branch computes from outer values alone must not be computed when it is not taken.
    """
    current: Any = CURRENT.builder
    while current is not None and current.depth > builder.depth:
        if current.body_of:
            return current  # type: ignore[no-any-return]
        current = current.outer
    return builder


def _deepest(values: Sequence[Any]) -> "TraceBuilder | None":
    found: TraceBuilder | None = None
    for value in values:
        if is_traced(value):
            if found is None or value.builder.depth > found.depth:
                found = value.builder
        elif isinstance(value, (list, tuple)):
            inner = _deepest(value)
            if inner is not None and (found is None or inner.depth > found.depth):
                found = inner
    return found
