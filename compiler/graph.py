"""The graph: a static, topologically sorted list of nodes (a Wengert list), and its builder.

Nodes are immutable by convention and compared by identity; graphs are compared by structure.
"""

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arraytype import ArrayType, is_python_number, type_of
from .errors import Origin
from .ops.row import NoDerivative, Op, ZeroDerivative

Params = tuple[Any, ...]


class Node:
    """One application of an operator.

    ``value`` is set for constants only. ``origin`` is where the user computed it. The type of
    an operator with several results is a tuple; ``pick`` nodes select from it.
    """

    __slots__ = ("args", "op", "origin", "params", "type", "value")

    def __init__(self, op: Op, args: "tuple[Node, ...]", params: Params, type: Any,
                 origin: Origin | None = None, value: Any = None) -> None:
        self.op = op
        self.args = args
        self.params = params
        self.type = type
        self.origin = origin
        self.value = value

    @property
    def settings(self) -> dict[str, Any]:
        """Static parameters by name."""
        return dict(zip(self.op.params, self.params, strict=True))

    @property
    def bodies(self) -> "tuple[Graph, ...]":
        """The graphs among the parameters: branches, and bodies of loops."""
        return tuple([p for p in self.params if isinstance(p, Graph)]) if self.op.bodies else ()

    def __repr__(self) -> str:
        return f"<{self.op.name}: {self.type}>"


def _not_callable(*_: Any, **__: Any) -> Any:
    raise AssertionError("inputs and constants are not computed")


def _leaf(name: str) -> Op:
    return Op(name, _not_callable, _not_callable, NoDerivative("It is not an operation."))


INPUT = _leaf("input")
CONSTANT = _leaf("constant")    # a value that can never change
CAPTURED = _leaf("captured")    # an array of the user's, held by reference
PICK = Op("pick", lambda values, index: values[index], lambda types, index: types[index],
          ZeroDerivative(), params=("index",), fresh=False,
          python=lambda args, params, types: f"{args[0]}[{params['index']}]")


@dataclass(frozen=True)
class Guard:
    """The trace is valid only where ``node`` has the value ``expected``."""

    node: Node
    expected: Any
    origin: Origin | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """A topologically sorted list of nodes with inputs, outputs and guards.

    >>> import numpy as np
    >>> from wengert import trace
    >>> print(trace(lambda x: np.sin(x) * 2.0)(1.0))
    graph f(%0 x: float) {
      %1: f64[] = sin(%0)
      %2: float = constant(2.0)
      %3: f64[] = mul(%1, %2)
      return %3
    }
    """

    name: str
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    nodes: tuple[Node, ...]
    guards: tuple[Guard, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and signature(self) == signature(other)

    def __hash__(self) -> int:
        return hash((self.name, len(self.nodes)))

    def count(self, *names: str) -> int:
        """How many nodes apply one of the named operators, inside of bodies too."""
        return sum((node.op.name in names) + sum(body.count(*names) for body in node.bodies)
                   for node in self.nodes)


def constant_key(value: Any) -> tuple[Any, ...]:
    """Identity of a constant: −0.0 differs from 0.0, 1 from 1.0, NaN equals itself."""
    array = np.asarray(value)
    kind = type(value) if is_python_number(value) else "array"
    if array.dtype.char in "gG":          # their bytes hold padding
        return (kind, array.dtype.str, array.shape, tuple(map(str, array.ravel())))
    return (kind, array.dtype.str, array.shape, array.tobytes())


def _constant_memo(value: Any) -> Any:
    """Under what a constant is remembered in a builder; None if it is too large to compare."""
    if type(value) is float:
        return (CONSTANT, float, value, math.copysign(1.0, value)) if value == value else \
            (CONSTANT, float, "nan")
    small = is_python_number(value) or np.size(value) <= 64
    return (CONSTANT, constant_key(value)) if small else None


def signature(graph: Graph) -> tuple[Any, ...]:
    """A hashable value that is equal for graphs of the same structure.

    Captured arrays are compared by identity: their content may change.
    """
    index = {node: i for i, node in enumerate(graph.nodes)}
    rows = tuple(
        (node.op, tuple(index[a] for a in node.args), node.params, node.type,
         constant_key(node.value) if node.op is CONSTANT
         else id(node.value) if node.op is CAPTURED else None,
         node.origin.name if node.origin and node.op is INPUT else None)
        for node in graph.nodes)
    guards = tuple((index[g.node], constant_key(g.expected)) for g in graph.guards)
    return (graph.name, tuple(index[n] for n in graph.inputs),
            tuple(index[n] for n in graph.outputs), rows, guards)


def topological(outputs: Iterable[Node]) -> list[Node]:
    """All nodes the outputs depend on, operands first, in a deterministic order."""
    order: list[Node] = []
    done: set[Node] = set()
    stack: list[tuple[Node, int]] = [(node, 0) for node in reversed(list(outputs))]
    while stack:
        node, next_arg = stack.pop()
        if node in done:
            continue
        args = node.args
        while next_arg < len(args) and args[next_arg] in done:
            next_arg += 1
        if next_arg < len(args):
            stack.append((node, next_arg + 1))
            stack.append((args[next_arg], 0))
        else:
            done.add(node)
            order.append(node)
    return order


def reachable(outputs: Iterable[Node]) -> set[Node]:
    """The set of nodes the outputs depend on."""
    seen: set[Node] = set()
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(node.args)
    return seen


def needed(nodes: Sequence[Node], roots: Iterable[Node]) -> tuple[Node, ...]:
    """Those of some topologically sorted nodes that the roots depend on, in order."""
    kept = set(roots)
    for node in reversed(nodes):
        if node in kept:
            kept.update(node.args)
    return tuple([node for node in nodes if node in kept])


_TYPES: dict[tuple[Any, ...], Any] = {}


def infer(op: Op, types: tuple[Any, ...], params: Params) -> Any:
    """Type of a node; results are cached, since programs repeat few combinations."""
    if op.bodies:                                              # made for these bodies
        return op.type_rule(*types, **dict(zip(op.params, params, strict=True)))
    key = (op, types, params)
    found = _TYPES.get(key)
    if found is None:
        found = op.type_rule(*types, **dict(zip(op.params, params, strict=True)))
        if op.expand is None and op.reference is None:     # else made for one call: not kept
            _TYPES[key] = found
    return found


def _type_again(node: Node, args: tuple[Node, ...]) -> Any:
    """Type of the same application on other operands."""
    for new, old in zip(args, node.args, strict=True):
        if new.type is not old.type:
            return infer(node.op, tuple([a.type for a in args]), node.params)
    return node.type


class _Depth(threading.local):
    builder: "Builder | None" = None


CURRENT = _Depth()


@dataclass(eq=False)
class Builder:
    """Appends nodes to a growing graph; equal applications are shared as they are made.

    Attributes:
        depth: nesting of traces; a value of an outer trace enters an inner one as an input.
        by_reference: ids of arrays that are captured by reference rather than copied.
    """

    name: str = "f"
    depth: int = 0
    nodes: list[Node] = field(default_factory=list)
    inputs: list[Node] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    memo: dict[Any, Node] = field(default_factory=dict)
    origin: Origin | None = None
    by_reference: dict[int, Any] = field(default_factory=dict)
    closed: bool = False

    def input(self, type: ArrayType, name: str | None = None) -> Node:
        """A new input."""
        node = Node(INPUT, (), (), type, Origin("", 0, name) if name else None)
        self.nodes.append(node)
        self.inputs.append(node)
        return node

    def emit(self, op: Op, args: tuple[Node, ...], params: Params = ()) -> Node:
        """Apply an operator, or find the node that already does."""
        key = (op, args, params)
        node = self.memo.get(key)
        if node is None:
            node = Node(op, args, params, infer(op, tuple([a.type for a in args]), params),
                        self.origin)
            self.memo[key] = node
            self.nodes.append(node)
        return node

    def again(self, node: Node, args: tuple[Node, ...]) -> Node:
        """A node of another graph, on operands of this one; itself if they are the same."""
        key = (node.op, args, node.params)
        found = self.memo.get(key)
        if found is None:
            found = node if args == node.args else Node(
                node.op, args, node.params, _type_again(node, args), node.origin)
            self.memo[key] = found
            self.nodes.append(found)
        return found

    def constant(self, value: Any) -> Node:
        """A constant: captured arrays by reference, all others by value."""
        if id(value) in self.by_reference:
            key: Any = (CAPTURED, id(value))
            op = CAPTURED
        else:
            op = CONSTANT
            if isinstance(value, np.ndarray) and not value.dtype.isnative:
                value = value.astype(value.dtype.newbyteorder("="))
            key = _constant_memo(value)
        node = self.memo.get(key) if key is not None else None
        if node is None:
            if op is CONSTANT and isinstance(value, np.ndarray):
                value = value.copy()
                value.flags.writeable = False
            node = Node(op, (), (), type_of(value), None, value)
            self.nodes.append(node)
            if key is not None:
                self.memo[key] = node
        return node

    def keep_constant(self, node: Node) -> Node:
        """A constant of another graph."""
        if node.op is CAPTURED:
            self.by_reference[id(node.value)] = node.value
            key: Any = (CAPTURED, id(node.value))
        else:
            key = _constant_memo(node.value) or node
        found = self.memo.get(key)
        if found is None:
            self.memo[key] = found = node
            self.nodes.append(node)
        return found

    def graph(self, outputs: Sequence[Node]) -> Graph:
        """The finished graph."""
        return Graph(self.name, tuple(self.inputs), tuple(outputs), tuple(self.nodes),
                     tuple(self.guards))


def rebuild(graph: Graph, change: Callable[[Builder, Node, tuple[Node, ...]], Node],
            new: dict[Node, Node] | None = None) -> Graph:
    """Copy a graph node by node through ``change(builder, node, new_args)``; leaves are kept.

    What each node became is entered into ``new``.
    """
    builder = Builder(graph.name)
    new = {} if new is None else new
    for node in graph.inputs:
        new[node] = keep_leaf(builder, node)
    for node in graph.nodes:
        if node.op is INPUT:
            continue
        if node.args or node.op.bodies:
            builder.origin = node.origin
            new[node] = change(builder, node, tuple([new[a] for a in node.args]))
        else:
            new[node] = keep_leaf(builder, node)
    for guard in graph.guards:
        builder.guards.append(Guard(new[guard.node], guard.expected, guard.origin))
    return builder.graph([new[n] for n in graph.outputs])


def has_bodies(graph: Graph) -> bool:
    """Whether there are loops or branches."""
    return any(node.op.bodies for node in graph.nodes)


def with_bodies(graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
    """The graph with ``change`` applied to the bodies that its nodes hold."""
    if not has_bodies(graph):
        return graph

    def changed(builder: Builder, node: Node, args: tuple[Node, ...]) -> Node:
        if not args and not node.op.bodies:
            return keep_leaf(builder, node)
        return builder.emit(node.op, args, tuple(
            [change(p) if isinstance(p, Graph) else p for p in node.params]))
    return rebuild(graph, changed)


def keep_leaf(builder: Builder, node: Node) -> Node:
    """Take an input or constant over into another builder as it is."""
    if node.op is INPUT:
        builder.nodes.append(node)
        builder.inputs.append(node)
        return node
    if node.op in (CONSTANT, CAPTURED):
        return builder.keep_constant(node)
    return builder.again(node, ())


def inline(builder: Builder, graph: Graph, args: Sequence[Node]) -> list[Node]:
    """Copy a graph into a builder with its inputs replaced; gives the outputs."""
    new = dict(zip(graph.inputs, args, strict=True))
    outer = builder.origin
    for node in graph.nodes:
        if node in new:
            continue
        if not node.args:
            new[node] = keep_leaf(builder, node)
            continue
        builder.origin = node.origin or outer
        new[node] = builder.emit(node.op, tuple([new[a] for a in node.args]), node.params)
    builder.origin = outer
    for guard in graph.guards:
        builder.guards.append(Guard(new[guard.node], guard.expected, guard.origin))
    return [new[n] for n in graph.outputs]
