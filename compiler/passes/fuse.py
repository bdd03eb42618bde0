"""Fusion: what compiled kernels can compute is gathered into few nodes, one call each.

Every node gets a *level*: the number of changes between kernels and host calls on the longest way
to it. Nodes of kernels on one level make one cluster; no way between two of them leads through a
host call, since that would have raised the level. Views belong to nobody: a kernel reads through
them, and the host takes them for free.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..graph import (
    CAPTURED,
    CONSTANT,
    INPUT,
    PICK,
    Builder,
    Graph,
    Guard,
    Node,
    keep_leaf,
)
from ..interpret import interpret
from ..ops import layout
from ..ops.row import NoDerivative, Op
from .computable import ARRANGING, CONVERSIONS, as_range, is_computable, is_view

_LEAVES = (INPUT, CONSTANT, CAPTURED)
TABLE = 64               # elements of a constant that a kernel holds itself


@dataclass(frozen=True, eq=False)
class KernelOp(Op):
    """The operator of one cluster: what it computes is a graph of its own.

    ``members`` are the nodes of the fused graph that it stands for.
    """

    body: Graph | None = None
    members: frozenset[Node] = frozenset()


def kernel_op(body: Graph, members: frozenset[Node] = frozenset()) -> KernelOp:
    """A cluster as an operator; NumPy's meaning of it is its graph, interpreted."""
    def call(*args: Any) -> Any:
        results = tuple(interpret(body, *args))
        return results[0] if len(results) == 1 else results
    types = tuple(n.type for n in body.outputs)
    return KernelOp(body.name, call, lambda *args: types[0] if len(types) == 1 else types,
                    NoDerivative("It is compiled code."), python=body.name, reference=call,
                    body=body, members=members)


def fuse(graph: Graph, left: frozenset[Node] = frozenset(), all_worth: bool = False) -> Graph:
    """The graph with kernels for all clusters worth one; nodes in ``left`` stay with the host.

    With ``all_worth`` clusters that only move elements are kernels as well.
    """
    return _Fusion(graph, left, all_worth).run()


class _Fusion:
    def __init__(self, graph: Graph, left: frozenset[Node], all_worth: bool) -> None:
        self.graph = graph
        self.all_worth = all_worth
        self.left = left
        guards = [g.node for g in graph.guards]
        self.results = {*graph.outputs, *guards}
        self.computes: set[Node] = set()
        self.source: dict[Node, Node] = {}         # a view's origin; any other node itself
        self.level: dict[Node, int] = {}
        self.users: dict[Node, list[Node]] = {}
        for node in graph.nodes:
            for a in node.args:
                self.users.setdefault(a, []).append(node)

    def run(self) -> Graph:
        self._set_levels()
        self._sink()
        clusters: dict[int, list[Node]] = {}
        for node in self.graph.nodes:
            if node in self.computes:
                clusters.setdefault(self.level[node], []).append(node)
        for level, nodes in list(clusters.items()):
            if not (self.all_worth or _is_worthwhile(nodes)):
                self.computes.difference_update(nodes)
                del clusters[level]
        return self._rebuild(clusters)

    def _set_levels(self) -> None:
        for node in self.graph.nodes:
            self.source[node] = node
            if node.op in _LEAVES:
                self.level[node] = 0
                continue
            view = is_view(node) and is_computable(node)
            if view:
                origin = self.source[node.args[0]]
                if node not in self.results or origin not in self.computes:
                    self.source[node] = origin
                    self.level[node] = self.level[origin]
                    continue
            computes = node not in self.left and is_computable(node)
            if computes:
                self.computes.add(node)
            origins = [self.source[a] for a in node.args]
            self.level[node] = max((self.level[o] + (
                o.op not in _LEAVES and (o in self.computes) != computes) for o in origins),
                default=0)

    def _sink(self) -> None:
        """Compute later what is only needed later, if its operands are at hand there anyway."""
        for node in reversed(self.graph.nodes):
            if node not in self.computes or node in self.results:
                continue
            users = list(self._users(node))
            mine = self.level[node]
            if not users or any(u not in self.computes or self.level[u] <= mine for u in users):
                continue
            new = [o for o in {self.source[a] for a in node.args}
                   if o in self.computes and o not in self.results
                   and all(u is node or (u in self.computes and self.level[u] == self.level[o])
                           for u in self._users(o))]
            if sum(o.type.nbytes for o in new) <= node.type.nbytes and len(new) <= 1:
                self.level[node] = min(self.level[u] for u in users)

    def _users(self, node: Node) -> Iterable[Node]:
        """Who reads the value, through views."""
        for user in self.users.get(node, ()):
            if self.source[user] is user:
                yield user
            else:
                yield from self._users(user)

    def _rebuild(self, clusters: dict[int, list[Node]]) -> Graph:
        graph = self.graph
        builder = Builder(graph.name)
        new: dict[Node, Node] = {}
        inside = {n for nodes in clusters.values() for n in nodes}
        needed = self._needed_on_host(inside)
        levels: dict[int, list[Node]] = {}
        for node in graph.nodes:
            if node.op in _LEAVES:
                new[node] = keep_leaf(builder, node)
            elif node not in inside and node in needed:
                levels.setdefault(self.level[node], []).append(node)
        several = len(clusters) > 1
        for level in sorted({*levels, *clusters}):
            later = []
            for node in levels.get(level, ()):
                if self.source[node] in inside and self.source[node] is not node:
                    later.append(node)
                else:
                    self._copy(builder, node, new)
            if level in clusters:
                nodes = clusters[level]
                suffix = f"_{sum(k <= level for k in clusters)}" if several else ""
                outputs = [n for n in nodes if n in needed or self._leaves_cluster(n, level)]
                self._emit(builder, f"{plain(graph.name)}_kernel{suffix}", nodes, outputs, new)
            for node in later:
                self._copy(builder, node, new)
        for guard in graph.guards:
            builder.guards.append(Guard(new[guard.node], guard.expected, guard.origin))
        return builder.graph([new[n] for n in graph.outputs])

    def _needed_on_host(self, inside: set[Node]) -> set[Node]:
        """Nodes whose value the host reads: results, and operands of host calls."""
        needed = set(self.results)
        for node in reversed(self.graph.nodes):
            if node.op not in _LEAVES and node not in inside and (
                    node in needed or self.source[node] is node):
                needed.add(node)
                needed.update(node.args)
        return needed

    def _leaves_cluster(self, node: Node, level: int) -> bool:
        return any(u in self.computes and self.level[u] != level for u in self._users(node))

    def _copy(self, builder: Builder, node: Node, new: dict[Node, Node]) -> None:
        builder.origin = node.origin
        new[node] = builder.emit(node.op, tuple(new[a] for a in node.args), node.params)

    def _emit(self, builder: Builder, name: str, nodes: list[Node], outputs: list[Node],
              new: dict[Node, Node]) -> None:
        """One kernel node, and a pick for each of its results if they are several."""
        body = Builder(name)
        copies: dict[Node, Node] = {}
        given: list[Node] = []
        members = set(nodes)
        for node in self.graph.nodes:
            if node in members:
                self._copy_into(body, node, members, copies, given)
        graph = body.graph([copies[n] for n in outputs])
        op = kernel_op(graph, frozenset(members))
        builder.origin = outputs[0].origin
        call = builder.emit(op, tuple(new[n] for n in given))
        if len(outputs) == 1:
            new[outputs[0]] = call
            return
        for i, node in enumerate(outputs):
            builder.origin = node.origin
            new[node] = builder.emit(PICK, (call,), (i,))

    def _copy_into(self, body: Builder, node: Node, members: set[Node],
                   copies: dict[Node, Node], given: list[Node]) -> None:
        """Copy a member with the views and leaves that it reads."""
        stack = [node]
        while stack:
            n = stack[-1]
            if n in copies:
                stack.pop()
                continue
            if n.op is CONSTANT and (n.type.size <= TABLE or as_range(n) is not None):
                copies[n] = keep_leaf(body, n)
            elif n not in members and self.source[n] is n:
                copies[n] = body.input(n.type, _name(n))
                given.append(n)
            else:
                missing = [a for a in n.args if a not in copies]
                if missing:
                    stack.extend(missing)
                    continue
                body.origin = n.origin
                copies[n] = body.emit(n.op, tuple(copies[a] for a in n.args), n.params)
            stack.pop()


def plain(name: str) -> str:
    """A name of letters that every compiler and linker knows."""
    return re.sub(r"\W", lambda c: f"u{ord(c[0]):x}", name, flags=re.ASCII)


def _name(node: Node) -> str | None:
    while node.op is PICK and not (node.origin and node.origin.name):
        node = node.args[0]
    return node.origin.name if node.origin else None


def _is_worthwhile(nodes: list[Node]) -> bool:
    """Whether there is something to compute; moving elements alone is left to NumPy."""
    moving = (*ARRANGING, *CONVERSIONS, layout.reshape, layout.transpose, layout.broadcast_to)
    return any(n.op not in moving for n in nodes)
