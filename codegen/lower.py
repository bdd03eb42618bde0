"""From a cluster's graph to a kernel: the planned loops become statements, loops become chunks."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..compiler.graph import CAPTURED, CONSTANT, Graph, Node
from ..compiler.ops import arithmetic, comparison, indexing, layout, reduction
from ..compiler.passes.computable import as_range
from .chunks import cut
from .decompose import decompose
from .emission import Emission, loop_name
from .evaluate import Unreachable, addition, linear, to_dtype
from .kernel import (
    Atom,
    Buffer,
    Const,
    DType,
    Index,
    Kernel,
    Load,
    Local,
    Loop,
    Nest,
    Ref,
    Start,
    Statement,
    Store,
    Update,
    renamed,
    variable,
)
from .names import Names, ascii_name
from .plan import Keep, Plan, PlannedLoop, PlannedNest
from .roots import Root, nested, run_writes, shape_size

COMBINE = {reduction.sum: arithmetic.add, reduction.prod: arithmetic.mul,
           reduction.max: comparison.maximum, reduction.min: comparison.minimum,
           reduction.any: comparison.logical_or, reduction.all: comparison.logical_and}
UNROLLED = 12            # iterations of an inner loop that are written out,
OUTER = 64               # where the outer loop has at least so many
SPARSE = 16              # constants among numbers
WRITTEN = 240            # statements that may come of it where the outer loop has no SIMD
LOCAL = 2048             # elements of a row that is kept during a chunk


def lower(graph: Graph, reserved: Iterable[str] = (), chunks: bool = True) -> Kernel:
    """The kernel of a cluster.

    Args:
        graph: what it computes; its inputs and outputs are the kernel's.
        reserved: names the target's language does not allow.
        chunks: whether outermost loops are cut into chunks, one after the other on a thread. If
            not, whoever prints the kernel shares its iterations out: every reduction that keeps
            inner axes has a nest of its own, and rows are kept in memory that all can see.
    """
    graph = decompose(graph)
    kept: set[Node] = set()
    assembled: set[Node] = set()
    while True:
        plan = Plan(graph, kept, assembled, apart=not chunks)
        try:
            plan.run()
            return _Lowering(plan, reserved, chunks).run()
        except Keep as keep:
            kept |= keep.nodes
        except Unreachable as unreachable:
            node = unreachable.node
            may_be_assembled = node.op in (indexing.setitem, indexing.scatter_add, layout.stack,
                                           layout.concatenate)
            if node in assembled or (node in kept and not may_be_assembled):
                raise
            (assembled if may_be_assembled else kept).add(node)


class _Lowering:
    def __init__(self, plan: Plan, reserved: Iterable[str], chunks: bool) -> None:
        self.plan = plan
        self.chunks = chunks
        self.graph = plan.graph
        self.names = Names(reserved)
        for position in range(8):
            self.names.unique(loop_name(position))
        self.buffers: list[Buffer] = []
        self.leaves: dict[Node, tuple[str, bool]] = {}
        self.memory: dict[Node, tuple[str, bool]] = {}      # name, whether local to a chunk
        self.ready: dict[Node, Atom] = {}                   # in registers
        self.running: list[Root] = []
        self.fixed: dict[str, Index] = {}
        self.partial: list[tuple[str, Any, DType, DType, Node]] = []
        self.columns: list[tuple[Root, str]] = []

    def run(self) -> Kernel:
        for node in self.graph.inputs:
            is_scalar = node.type.shape == ()
            name = self._buffer(node, "x", "scalar" if is_scalar else "in")
            self.leaves[node] = (name, is_scalar)
        for node in self.graph.nodes:
            if node.op in (CONSTANT, CAPTURED) and node.type.shape != () and \
                    as_range(node) is None:
                self.leaves[node] = (self._buffer(node, "table", "table", node.value), False)
        for node in self.graph.outputs:
            self.memory[node] = (self._buffer(node, "out", "out"), False)
        for root in self.plan.roots.values():
            if root.node not in self.memory:
                self._give_memory(root)
        nests = tuple(self._nest(nest) for nest in self.plan.nests)
        return Kernel(self.graph.name, tuple(self.buffers), nests)

    def _buffer(self, node: Node, wish: str, role: str, value: Any = None) -> str:
        origin = node.origin.name if node.origin else None
        name = self.names.unique(ascii_name(origin) if origin and role != "table" else wish)
        self.buffers.append(Buffer(name, node.type.dtype, node.type.shape, role, value))
        return name

    def _give_memory(self, root: Root) -> None:
        """Room for a value that other loops read."""
        node, nest = root.node, self.plan.nest_of[root.node]
        loop = self.plan.loop_of[node]
        readers = self.plan.readers.get(node, [])
        outside = [r for r in readers if self.plan.nest_of[r.node] is not nest]
        others = [r for r in readers if self.plan.loop_of[r.node] is not loop]
        column = root.kind == "reduce" and not root.is_row and not root.full
        if outside or column or root.kind in ("writes", "scalars") or (root.full and readers):
            self.memory[node] = (self._buffer(node, "kept", "scratch"), False)
        elif others and root.kind == "map" and loop.domain:
            row = shape_size(loop.domain)
            local = self.chunks and nest.frame > 0 and row <= LOCAL
            if local:
                self.memory[node] = (self.names.unique("row"), True)
            else:
                self.memory[node] = (self._buffer(node, "kept", "scratch"), False)

    # -- one nest -----------------------------------------------------------------------------

    def _nest(self, nest: PlannedNest) -> Nest:
        emission = Emission(self.names, self.leaves, self._read, self._stored)
        self.ready, self.partial, self.columns = {}, [], []
        if nest.alone:
            (root,) = nest.roots
            name, _ = self.memory[root.node]
            shape, dtype = root.node.type.shape, root.node.type.dtype

            def store(index: tuple[Index, ...], atom: Atom, adds: bool) -> None:
                emission.add(Store(name, linear(index, shape), to_dtype(emission, atom, dtype),
                                   addition(dtype) if adds else None))
            run_writes(emission, root, store)
            return Nest(tuple(emission.scopes[0].statements),
                        work=shape_size(shape) * 4)
        for root in nest.roots:
            self._begin(emission, root)

        def body() -> None:
            self.ready = {n: a for n, a in self.ready.items()
                          if not self.plan.roots[n].is_row}
            for loop in nest.loops:
                self._loop(emission, nest, loop)
        nested(emission, nest.domain[:nest.frame], 0, body)
        return cut(emission.scopes[0].statements, self.partial,
                   [(root.node, name, COMBINE[root.node.op], root) for root, name in
                    self.columns], self)

    def _begin(self, emission: Emission, root: Root) -> None:
        """What precedes the loops of a nest."""
        node = root.node
        if root.kind == "map" and node in self.memory and self.memory[node][1]:
            row = shape_size(self.plan.loop_of[node].domain)
            emission.add(Local(self.memory[node][0], node.type.dtype, row))
        if root.kind != "reduce" or root.is_row:
            return
        if root.full:
            name = self._accumulator(emission, root)
            self.partial.append((name, COMBINE[node.op], _wide(node), node.type.dtype, node))
        else:
            self.columns.append((root, self.memory[node][0]))

    def _accumulator(self, emission: Emission, root: Root) -> str:
        node = root.node
        dtype = _wide(node)
        hint = node.origin.name if node.origin else None
        name = self.names.unique(ascii_name(hint) if hint and root.is_row else "total")
        emission.add(Start(name, dtype, identity(node.op, dtype)))
        emission.depth[name] = len(emission.scopes) - 1
        self.ready[node] = Ref(name, dtype)
        return name

    def _loop(self, emission: Emission, nest: PlannedNest, loop: PlannedLoop) -> None:
        for root in loop.roots:
            if root.is_row:
                self._accumulator(emission, root)
        outer = shape_size(nest.domain[:nest.frame])
        written = sum(len(x.roots) * shape_size(x.domain) for x in nest.loops)
        written_out = nest.frame and shape_size(loop.domain) <= UNROLLED and \
            outer >= OUTER and (not self.columns or written <= WRITTEN)
        before, self.running = self.running, loop.roots
        if written_out:
            for place in np.ndindex(loop.domain):
                self.fixed = {loop_name(nest.frame + p): Index((), i)
                              for p, i in enumerate(place)}
                self._body(emission, nest, loop)
            self.fixed = {}
        else:
            whole = nest.domain[:nest.frame] + loop.domain
            nested(emission, whole, nest.frame, lambda: self._body(emission, nest, loop))
        self.running = before
        for root in loop.roots:
            if root.is_row:
                self._end_row(emission, root)

    def _body(self, emission: Emission, nest: PlannedNest, loop: PlannedLoop) -> None:
        for root in loop.roots:
            node = root.node
            if root.kind == "scalars":
                self._numbers(emission, root)
                continue
            index = self._at(root.index)
            if root.kind == "map":
                atom = emission.value(node, index)
                if node in self.memory:
                    emission.add(Store(self.memory[node][0], self._place(node, index), atom))
                continue
            atom = emission.value(node.args[0], index)
            if root.full or root.is_row:
                accumulator = self.ready[node]
                assert isinstance(accumulator, Ref)
                wide = to_dtype(emission, atom, accumulator.dtype)
                emission.add(Update(accumulator.name, COMBINE[node.op], wide))
            else:
                atom = to_dtype(emission, atom, node.type.dtype)
                emission.add(Store(self.memory[node][0], linear(self._at(root.outputs),
                                   node.type.shape), atom, COMBINE[node.op]))

    def _numbers(self, emission: Emission, root: Root) -> None:
        """Numbers side by side; where most are constants, a copy of those comes first."""
        name, _ = self.memory[root.node]
        dtype = root.node.type.dtype
        fixed = {i: v.value for i, v, _, _ in root.writes if v.op is CONSTANT}
        copied = len(fixed) > SPARSE and 2 * len(fixed) >= len(root.writes)
        if copied:
            n = len(root.writes)
            values = np.array([fixed.get(i, 0) for i in range(n)], dtype)
            source: Atom = Const(dtype.type(0), dtype)
            if values.any():
                table = self.names.unique("table")
                self.buffers.append(Buffer(table, dtype, (n,), "table", values))
                source = Load(table, variable("c"), dtype)
            emission.add(Loop("c", 0, n, (Store(name, variable("c"), source),), simd=True))
        for i, value, _, _ in root.writes:
            if not copied or i not in fixed:
                atom = to_dtype(emission, emission.value(value, ()), dtype)
                emission.add(Store(name, Index((), i), atom))

    def _end_row(self, emission: Emission, root: Root) -> None:
        node = root.node
        total = self.ready[node]
        atom = to_dtype(emission, total, node.type.dtype)
        if atom is not total and isinstance(atom, Ref):
            emission.depth[atom.name] = len(emission.scopes) - 1
        self.ready[node] = atom
        if node in self.memory:
            emission.add(Store(self.memory[node][0], linear(root.outputs, node.type.shape), atom))

    # -- reading --------------------------------------------------------------------------------

    def _at(self, index: tuple[Index, ...]) -> tuple[Index, ...]:
        return tuple(renamed(i, self.fixed) for i in index) if self.fixed else index

    def _place(self, node: Node, index: tuple[Index, ...]) -> Index:
        """Where in its memory an element of a root is."""
        shape = node.type.shape
        if not self.memory[node][1]:
            return linear(index, shape)
        skip = self.plan.nest_of[node].frame
        inner: list[Index] = []
        sizes: list[int] = []
        for i, n in zip(index, shape, strict=True):
            if n != 1:
                skip -= 1
                if skip < 0:
                    inner.append(i)
                    sizes.append(n)
        return linear(tuple(inner), tuple(sizes))

    def _read(self, emission: Emission, node: Node, index: tuple[Index, ...]) -> Atom | None:
        root = self.plan.roots.get(node)
        if root is None:
            return None
        if root in self.running and root.kind == "map" and index == self._at(root.index):
            return None
        if node in self.ready and root.is_row:
            return self.ready[node]
        name, _ = self.memory[node]
        return Load(name, self._place(node, index), node.type.dtype)

    def _stored(self, node: Node, place: Index) -> Atom | None:
        if node not in self.plan.roots:
            return None
        return Load(self.memory[node][0], place, node.type.dtype)

    # -- combining chunks -----------------------------------------------------------------------

    def scratch(self, wish: str, dtype: DType, size: int) -> str:
        """A buffer for partial results."""
        name = self.names.unique(wish)
        self.buffers.append(Buffer(name, dtype, (size,), "scratch"))
        return name

    def identity_of(self, node: Node) -> Atom:
        """What the sums of a reduction begin with."""
        return Const(identity(node.op, node.type.dtype), node.type.dtype)

    def finish_number(self, node: Node, total: str, wide: DType) -> list[Statement]:
        """Statements that put a number where it belongs."""
        if node not in self.memory:
            return []
        name, _ = self.memory[node]
        if wide == node.type.dtype:
            return [Store(name, Index(), Ref(total, wide))]
        emission = Emission(self.names, {}, self._read, self._stored)
        atom = to_dtype(emission, Ref(total, wide), node.type.dtype)
        return [*emission.scopes[0].statements, Store(name, Index(), atom)]


def identity(op: Any, dtype: DType) -> Any:
    """What a reduction begins with."""
    if op is reduction.sum or op is reduction.any:
        return dtype.type(0)
    if op in (reduction.prod, reduction.all):
        return dtype.type(1)
    if dtype.kind == "f":
        return dtype.type(-np.inf if op is reduction.max else np.inf)
    info = np.iinfo(dtype)
    return dtype.type(info.min if op is reduction.max else info.max)


def _wide(node: Node) -> DType:
    """The dtype in which a reduction of a row or of everything accumulates."""
    dtype: DType = node.type.dtype
    narrow = dtype == np.float32 and node.op in (reduction.sum, reduction.prod)
    return np.dtype(float) if narrow else dtype
