"""Which values of a cluster are stored, and which loops they are computed in.

A *root* is a value that gets loops of its own or a share in some: a result, a reduction, or what
must be kept since it would be computed too often, or is read where no loop can follow. Everything
else is computed where it is needed. Roots with a common outermost part of their iteration space
share a *nest*; inside, a value that depends on a reduction over the rest of the space comes in a
later loop (rows of a softmax: a loop for the maximum, one for the sum, one for the quotients).
"""

from dataclasses import dataclass, field
from typing import Any

from ..compiler.graph import CAPTURED, CONSTANT, INPUT, Graph, Node
from ..compiler.ops import arithmetic, indexing, layout, transcendental
from ..compiler.passes.computable import as_range
from .decompose import PLAIN
from .emission import Emission, Key, loop_name
from .kernel import Atom, Index, Load
from .names import Names
from .roots import (
    Root,
    are_numbers,
    chain,
    index_of,
    nested,
    reduction,
    run_writes,
    space,
    writes_of,
)

_LEAVES = (INPUT, CONSTANT, CAPTURED)
PIECES = 4               # of more, a value is assembled in memory,
STATIC = 12              # or of so many, if their places are known
ACCUMULATORS = 6         # of one inner loop; registers are few
DEAR = 16                # additions: what is dearer is not computed twice in a nest
DEAREST = 80             # nor in two
_COSTS = {arithmetic.div: 4, transcendental.sqrt: 4, transcendental.reciprocal: 4}


@dataclass(eq=False)
class PlannedLoop:
    """Roots that share the loops inside a frame."""

    domain: tuple[int, ...]
    roots: list[Root] = field(default_factory=list)


@dataclass(eq=False)
class PlannedNest:
    """Roots that share their outermost loops."""

    domain: tuple[int, ...]
    frame: int = 0
    roots: list[Root] = field(default_factory=list)
    loops: list[PlannedLoop] = field(default_factory=list)
    alone: bool = False


class Keep(Exception):
    """Values are to be stored after all."""

    def __init__(self, nodes: set[Node]) -> None:
        super().__init__(nodes)
        self.nodes = nodes


class Plan:
    """Roots, nests and loops of a cluster's graph."""

    def __init__(self, graph: Graph, kept: set[Node], assembled: set[Node],
                 apart: bool = False) -> None:
        self.graph = graph
        self.apart = apart                       # whether columns have nests of their own
        self.kept = kept
        self.assembled = assembled
        self.users: dict[Node, list[Node]] = {}
        for node in graph.nodes:
            for a in node.args:
                self.users.setdefault(a, []).append(node)
        self.roots: dict[Node, Root] = {}
        self.nest_of: dict[Node, PlannedNest] = {}
        self.loop_of: dict[Node, PlannedLoop] = {}
        self.nests: list[PlannedNest] = []
        self.readers: dict[Node, list[Root]] = {}
        self.position: dict[PlannedNest, int] = {}
        self.keys: list[Key] = []
        self.numbers: dict[Key, int] = {}
        self.buffers: dict[Node, tuple[str, bool]] = {
            n: ("?", n.type.shape == ()) for n in graph.nodes if n.op in _LEAVES
            and not (n.op is CONSTANT and (n.type.shape == () or as_range(n) is not None))}

    def run(self) -> None:
        """Make the plan."""
        outputs = set(self.graph.outputs)
        wanted = [n for n in self.graph.nodes if n.op not in _LEAVES and (
            n in outputs or n in self.kept or n in self.assembled or n.op in PLAIN)]
        wanted += [n for n in self.graph.nodes if n.op not in _LEAVES and n not in wanted
                   and self._is_long(n)]
        self._swallow(wanted)
        for node in self.graph.nodes:
            if node in self._wanted:
                self.roots[node] = self._root(node)
        for group in self._groups():
            self._try(group)
        for root in self.roots.values():
            for node in dict.fromkeys(n for n, _ in root.reads):
                self.readers.setdefault(node, []).append(root)
            self._place(root)
        for nest in self.nests:
            self._arrange(nest)
        self._find_repeated()

    # -- roots --------------------------------------------------------------------------------

    def _is_long(self, node: Node) -> bool:
        """Whether the value is put together from many pieces."""
        if node.op in (layout.stack, layout.concatenate):
            return len(node.args) > PIECES
        if node.op in (indexing.setitem, indexing.scatter_add):
            pieces = chain(node, self.users)
            most = PIECES if any(n.args[2:] for n in pieces) else STATIC
            return len(pieces) > most and not any(
                u.op in (indexing.setitem, indexing.scatter_add) and u.args[0] is node
                for u in self.users.get(node, ()) if len(self.users[node]) == 1)
        return False

    def _swallow(self, wanted: list[Node]) -> None:
        """A stack of numbers that is only wanted in another shape is stored in that shape."""
        self._wanted = set(wanted)
        for node in wanted:
            source = node.args[0] if node.op is layout.reshape else None
            if source is not None and are_numbers(source) and source in self._wanted and \
                    source not in self.graph.outputs and len(self.users[source]) == 1:
                self._wanted.discard(source)

    def _root(self, node: Node) -> Root:
        source = node.args[0] if node.op is layout.reshape and node.args else node
        if are_numbers(source) and (source is node or source not in self._wanted):
            stores = [(i, a) for i, a in enumerate(source.args)]
            return Root(node, "scalars", (), writes=[(i, a, (), False) for i, a in stores])
        if node.op in PLAIN:
            return reduction(node)
        shape = node.type.shape
        if node in self.assembled or self._is_long(node):
            return Root(node, "writes", shape, index_of(shape), index_of(shape), space(shape),
                        writes=writes_of(node, self.users))
        return Root(node, "map", shape, index_of(shape), index_of(shape), space(shape))

    def _groups(self) -> list[list[Root]]:
        """Roots that can be tried out together: those with the same loops."""
        groups: dict[Any, list[Root]] = {}
        for root in self.roots.values():
            alone = root if root.kind in ("writes", "scalars") else root.domain
            groups.setdefault(alone, []).append(root)
        return list(groups.values())

    def _try(self, roots: list[Root]) -> None:
        """Evaluate roots to see what they read; equal elements are looked at once."""
        anywhere: dict[Node, Node] = {}
        first = roots[0]
        targets = {r.node: r for r in roots}

        def read(emission: Emission, node: Node, index: tuple[Index, ...]) -> Atom | None:
            root = targets.get(node)
            if node not in self.roots or (root is not None and node in starting
                                          and index == root.index):
                return None
            return Load("?", Index(), node.type.dtype)

        def stored(node: Node, place: Index) -> Atom | None:
            if node not in self.roots or node in starting:
                return None
            anywhere[node] = node
            return Load("?", Index(), node.type.dtype)

        emission = Emission(Names(), self.buffers, read, stored)
        starting: set[Node] = set()
        tops: list[tuple[Root, list[Key]]] = []
        if first.kind == "scalars":
            tops.append((first, [(n, ()) for _, n, _, _ in first.writes]))
            for key in tops[0][1]:
                emission.value(*key)
        elif first.kind == "writes":
            starting.add(first.node)
            run_writes(emission, first, lambda *_: None)
            tops.append((first, emission.wanted))
        else:
            for root in roots:
                target = root.node.args[0] if root.kind == "reduce" else root.node
                tops.append((root, [(target, root.index)]))

            def body() -> None:
                for root, ((target, index),) in tops:
                    if root.kind == "map":
                        starting.add(root.node)
                    emission.value(target, index)
                    starting.discard(root.node)
            nested(emission, first.domain, 0, body)
        self._note(emission, tops, set(anywhere))

    def _note(self, emission: Emission, tops: list[tuple[Root, list[Key]]],
              anywhere: set[Node]) -> None:
        """Which elements each root is computed from, and which of other roots it reads."""
        masks: dict[Key, int] = {}
        for root, keys in tops:
            root.computed = 0
            for key in keys:
                own = key == (root.node, root.index)
                for part in emission.asked.get(key, ()) if own else (key,):
                    self._mask(part, emission.asked, masks)
                    root.computed |= masks[part]
            for node, index in self._keys_of(root.computed):
                if node in self.roots:
                    root.reads.append((node, index))
            computed = {n for n, _ in self._keys_of(root.computed)}
            root.reads += [(n, None) for n in self.roots if n in anywhere and any(
                u in computed or u is root.node for u in self.users[n])]

    def _bit(self, key: Key) -> int:
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.keys)
            self.keys.append(key)
        return 1 << number

    def _keys_of(self, mask: int) -> list[Key]:
        out = []
        while mask:
            low = mask & -mask
            out.append(self.keys[low.bit_length() - 1])
            mask ^= low
        return out

    def _mask(self, key: Key, asked: dict[Key, set[Key]], masks: dict[Key, int]) -> None:
        """A bit for each element that one is computed from, itself included."""
        stack = [key]
        while stack:
            top = stack[-1]
            if top in masks:
                stack.pop()
                continue
            children = asked.get(top, set()) if top[0] not in self.roots else set()
            missing = [c for c in children if c not in masks]
            if missing:
                stack.extend(missing)
                continue
            mask = self._bit(top) if top in asked or top[0] in self.roots else 0
            for c in children:
                mask |= masks[c]
            masks[top] = mask
            stack.pop()

    # -- nests --------------------------------------------------------------------------------

    def _place(self, root: Root) -> None:
        if root.kind != "writes":
            earliest = 0
            inside: dict[int, bool] = {}
            for node, index in root.reads:
                at = self.position[self.nest_of[node]]
                inside[at] = inside.get(at, True) and self._is_at_hand(root, node, index)
            for at, at_hand in inside.items():
                earliest = max(earliest, at if at_hand else at + 1)
            for nest in self.nests[earliest:]:
                if self._fits(root, nest):
                    self._join(root, nest)
                    return
        nest = PlannedNest(root.domain, root.frame or 0, alone=root.kind == "writes")
        self.position[nest] = len(self.nests)
        self.nests.append(nest)
        self._join(root, nest)

    def _is_at_hand(self, root: Root, node: Node, index: tuple[Index, ...] | None) -> bool:
        """Whether a root of the same nest is computed by the time this one reads it."""
        if index is None:                            # somewhere in memory
            return False
        other, nest = self.roots[node], self.nest_of[node]
        if other.kind == "map" and index == other.index and other.domain == root.domain and \
                nest.frame == 0 and not root.is_row:
            return True
        k = nest.frame if nest.frame else root.frame or 0
        if k == 0 or other.kind not in ("map", "reduce") or root.domain[:k] != nest.domain[:k]:
            return False
        if other.kind == "reduce" and other.frame != k:
            return False
        return _leading(index, node.type.shape, k)

    def _fits(self, root: Root, nest: PlannedNest) -> bool:
        if nest.alone:
            return False
        if self.apart and (root.is_column or any(r.is_column for r in nest.roots)):
            return root.is_column and all(
                r.is_column and (r.outputs, r.domain) == (root.outputs, root.domain)
                for r in nest.roots)
        if nest.frame:
            return root.domain[:nest.frame] == nest.domain[:nest.frame] and \
                root.frame in (None, nest.frame)
        if root.is_row:
            return nest.domain[:root.frame] == root.domain[:root.frame] and \
                bool(nest.domain)
        return root.domain == nest.domain

    def _join(self, root: Root, nest: PlannedNest) -> None:
        if root.is_row and not nest.frame:
            nest.frame = root.frame or 0
        nest.roots.append(root)
        self.nest_of[root.node] = nest

    def _arrange(self, nest: PlannedNest) -> None:
        """The order of loops inside of a nest."""
        position: dict[PlannedLoop, int] = {}
        for root in nest.roots:
            inner = root.domain[nest.frame:]
            first = 0
            for node, index in root.reads:
                if self.nest_of[node] is not nest:
                    continue
                other = self.roots[node]
                at = position[self.loop_of[node]]
                same = other.kind == "map" and index == other.index and \
                    nest.loops[at].domain == inner
                first = max(first, at if same else at + 1)
            for loop in nest.loops[first:]:
                if loop.domain == inner and not (
                        nest.frame and inner and root.kind == "reduce" and _is_full(loop)):
                    break
            else:
                loop = PlannedLoop(inner)
                position[loop] = len(nest.loops)
                nest.loops.append(loop)
            loop.roots.append(root)
            self.loop_of[root.node] = loop

    # -- what is computed too often -------------------------------------------------------------

    def _find_repeated(self) -> None:
        costs = self._costs()
        loops: dict[Node, int] = {}
        nests: dict[Node, int] = {}
        kept: set[Node] = set()
        for nest in self.nests:
            in_nest: set[Node] = set()
            for loop in nest.loops:
                mask = 0
                for root in loop.roots:
                    mask |= root.computed
                indices: dict[Node, int] = {}
                for node, _ in self._keys_of(mask):
                    if node not in self.roots and node.op not in _LEAVES:
                        indices[node] = indices.get(node, 0) + 1
                for node, n in indices.items():
                    loops[node] = loops.get(node, 0) + 1
                    if n > 1 and loop.domain and node.type.size > 1 and \
                            costs[node] * (n - 1) > 4 * DEAR:
                        kept.add(node)
                in_nest.update(indices)
            for node in in_nest:
                nests[node] = nests.get(node, 0) + 1
        for node, where in loops.items():
            limit = DEAR if nests[node] == 1 or node.type.size <= 64 else DEAREST
            if where > 1 and costs[node] * (where - 1) > limit:
                kept.add(node)
        # What is inside of something that is kept is not repeated.
        inner = {a for n in kept for a in n.args}
        top = {n for n in kept if any(u not in kept for u in self.users.get(n, ()))}
        if kept:
            raise Keep(top or kept - inner or kept)

    def _costs(self) -> dict[Node, int]:
        """Additions an element takes."""
        costs: dict[Node, int] = {}
        for node in self.graph.nodes:
            if node.op in _LEAVES or node.op in PLAIN:
                costs[node] = 0
                continue
            costs[node] = own_cost(node.op) + sum(
                costs[a] for a in node.args if a not in self.roots)
        return costs


def own_cost(op: Any) -> int:
    """Additions one application takes."""
    if op in _COSTS:
        return _COSTS[op]
    if callable(op.c):
        return 4
    return 12 if op.c is not None and "(" in op.c else int(op.c is not None)


def _is_full(loop: PlannedLoop) -> bool:
    return sum(r.kind == "reduce" for r in loop.roots) >= ACCUMULATORS


def _leading(index: tuple[Index, ...], shape: tuple[int, ...], k: int) -> bool:
    """Whether the first k axes that have loops are read at the variables of the first k loops."""
    position = 0
    for i, n in zip(index, shape, strict=True):
        if n != 1:
            if i.terms != ((loop_name(position), 1),) or i.offset:
                return False
            position += 1
            if position == k:
                break
    return position == k
