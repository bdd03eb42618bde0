"""One bottom-up walk: fold constants, share common nodes, apply the rewrite rows.

Each node is rebuilt from simplified operands and rewritten until no row matches; a replacement
is made of simplified nodes in turn, so one walk reaches the fixed point. Work is linear in the
size of the graph: a row looks at no more than a few levels below its root.
"""

from functools import cache
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from ..graph import CONSTANT, INPUT, PICK, Builder, Graph, Guard, Node, infer, keep_leaf
from ..interpret import compute
from ..ops import arithmetic, comparison, indexing, layout
from ..ops.row import Op
from ..transforms.transpose import is_zero
from .cancel import WITH_ROOTS
from .pattern import Bindings, Rule, constant_number, first_operators
from .rules import SIMPLIFY
from .structural import STRUCTURAL
from .support import selects

FOLD_LIMIT = 64          # elements; larger constants stay code rather than become data


class Index:
    """Which rules may match an operator applied to results of others; made once for a table."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.by_root: dict[Op, list[tuple[Rule, tuple[Op | None, ...]]]] = {}
        for row in rules:
            self.by_root.setdefault(row.root, []).append((row, first_operators(row.pattern)))
        self.known: dict[tuple[Op, ...], tuple[Rule, ...]] = {}

    def candidates(self, op: Op, args: tuple[Node, ...]) -> tuple[Rule, ...]:
        """Rules whose root and operands have these operators."""
        key = (op, *[a.op for a in args])
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = tuple(
                row for row, wanted in self.by_root.get(op, ())
                if any(all(w is None or w is a for w, a in zip(order, key[1:], strict=True))
                       for order in ((wanted, wanted[::-1]) if op.commutative else (wanted,))))
        return found


_index = cache(Index)


class Simplifier:
    """Rewrites nodes as they are added to a builder."""

    def __init__(self, builder: Builder, rules: tuple[Rule, ...], narrow: bool = True) -> None:
        self.builder = builder
        self.narrow = narrow
        self.index = _index(rules)
        self.supports: dict[Node, Node | None] = {}      # see support.py
        self.far_supports: dict[Node, Node | bool] = {}  # see strong.py
        self.infinite: dict[Node, bool] = {}             # see range.py
        self.roots = True                                # whether any may cancel: cancel.py
        self.selects = True                              # whether any may: support.py
        self.guarded: set[tuple[Node, Node]] = set()     # products under a selection already

    def make(self, op: Op, args: tuple[Node, ...], params: tuple[Any, ...] = ()) -> Node:
        """Apply an operator, simplified."""
        builder = self.builder
        found = builder.memo.get((op, args, params))
        if found is None:
            found = self._fold(op, args, params) or self._rewrite(op, args, params)
            if found is None:
                found = builder.emit(op, args, params)
                self.selects = self.selects or selects(found)
                return found
            builder.memo[op, args, params] = found
        return found

    def again(self, node: Node, args: tuple[Node, ...]) -> Node:
        """A node of another graph on simplified operands, simplified; itself if nothing is new."""
        if args != node.args:
            return self.make(node.op, args, node.params)
        key = (node.op, args, node.params)
        memo = self.builder.memo
        found = memo.get(key)
        if found is None:
            found = memo[key] = self._fold(*key) or self._rewrite(*key) or self.builder.again(
                node, args)
        return found

    def _fold(self, op: Op, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
        if not args or op is PICK:
            return None
        for a in args:
            if a.op is not CONSTANT:
                return None
        node = Node(op, args, params, _type(op, args, params))
        if not isinstance(node.type, ArrayType) or node.type.size > FOLD_LIMIT:
            return None
        if _stays_code(op, args, params):
            return None
        with np.errstate(all="ignore"):
            value = compute(node, [a.value for a in args])
        if op is arithmetic.div and not _divides_exactly(args, value):
            return None
        if np.ndim(value) == 0 and not node.type.weak:
            value = node.type.dtype.type(value)
        return self.builder.constant(value)

    def _rewrite(self, op: Op, args: tuple[Node, ...], params: tuple[Any, ...]
                 ) -> Node | None:
        for structural in STRUCTURAL.get(op, ()):
            node = structural(self, args, params)
            if node is not None and self.fits(node.type, _type(op, args, params)):
                return node
        if params:
            return None
        for row in self.index.candidates(op, args):
            bound: Bindings = {}
            if not row.matches(args, bound):
                continue
            if row.when is not None and not row.when(bound):
                continue
            try:
                node = row.build(bound, self.builder, self.make)
            except TypeError:        # NumPy has no such operation on these types: −x of booleans
                continue
            if self.fits(node.type, _type(op, args, params)):
                return node
        return None

    def fits(self, new: ArrayType, old: ArrayType) -> bool:
        """Whether a replacement's type will do.

        Without arrays of lower precision, a plain Python number and a NumPy scalar promote alike.
        """
        return new == old or (not self.narrow and new[:2] == old[:2])


def _stays_code(op: Op, args: tuple[Node, ...], params: tuple[Any, ...]) -> bool:
    """Stretched constants are absorbed by their users, and selections keep their zeros."""
    if op in (layout.broadcast_to, layout.reshape):
        return True
    if op is indexing.getitem:
        return None in params[0]
    return op is comparison.where and any(map(is_zero, args[1:])) and args[0].type.shape != ()


def _type(op: Op, args: tuple[Node, ...], params: tuple[Any, ...]) -> ArrayType:
    from_types = tuple([a.type for a in args])
    return infer(op, from_types, params)  # type: ignore[no-any-return]


def _divides_exactly(args: tuple[Node, ...], value: Any) -> bool:
    """A quotient of constants is folded only when exact, so that 1/52 stays readable."""
    numerator, denominator = args[0].value, args[1].value
    with np.errstate(all="ignore"):
        exact = np.all(np.multiply(value, denominator) == numerator)
    return bool(exact) and len(repr(np.asarray(value).ravel().tolist())) <= 10 * np.size(value)


def simplify(graph: Graph, rules: tuple[Rule, ...] = SIMPLIFY) -> Graph:
    """The simplified graph (see the module's text)."""
    builder = Builder(graph.name)
    narrow = any(_is_narrow(node.type) for node in graph.nodes)
    simplifier = Simplifier(builder, rules, narrow)
    simplifier.roots = any(node.op.name in WITH_ROOTS for node in graph.nodes)
    simplifier.selects = any(map(selects, graph.nodes))
    new: dict[Node, Node] = {}
    for node in graph.inputs:
        new[node] = keep_leaf(builder, node)
    for node in graph.nodes:
        if node.op is INPUT:
            continue
        if not node.args:
            new[node] = keep_leaf(builder, node)
            continue
        # Only the node that stands for the whole application takes its name.
        origin = node.origin
        builder.origin = origin and origin.unnamed
        n_before = len(builder.nodes)
        made = new[node] = simplifier.again(node, tuple([new[a] for a in node.args]))
        if origin and origin.name and made.origin is not origin and made.args and \
                made in builder.nodes[n_before:] and not (made.origin and made.origin.name):
            made.origin = origin
    builder.origin = None
    for guard in graph.guards:
        node = new[guard.node]
        value = constant_number(node)
        if value is None or value != guard.expected:       # else it holds whatever the input
            builder.guards.append(Guard(node, guard.expected, guard.origin))
    return builder.graph([new[n] for n in graph.outputs])


_WIDE = frozenset(map(np.dtype, (np.float64, np.complex128, np.int64, np.bool_)))


def _is_narrow(type: object) -> bool:
    return isinstance(type, ArrayType) and type.dtype not in _WIDE
