"""Sparse Jacobians and Hessians: from the pattern to sweeps, and from their results to matrices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy  # loads its submodules when they are first used

from ..codegen.emit import is_by_element
from ..compiler.arraytype import ArrayType
from ..compiler.errors import SparseRequestError
from ..compiler.graph import Graph, inline, keep_leaf
from ..compiler.passes.pipeline import PREPARE, SIMPLE, run
from ..compiler.trace.locate import locate
from ..compiler.trace.stage import Staged
from ..compiler.trace.tracer import TraceBuilder, Tracer
from ..compiler.transforms import derive
from ..compiler.transforms.compress import compressed, substituted
from ..compiler.transforms.entries import formulas
from ..compiler.transforms.jvp import jvp
from ..compiler.transforms.pattern import Ints, Pattern, block_of, stack, union
from ..compiler.transforms.recovery import Recovery, hessian_recovery, jacobian_recovery, reads, starts
from ..compiler.transforms.sparsity import sparsity
from .compile import Packing, Request, Selection, build, check_aux, check_scalar, with_values

FORMATS = ("csr", "csc", "coo")
DENSE = 0.25             # share of entries from which on "auto" gives a dense array
_ENTRY_BY_ENTRY = 4096   # entries, with zeros, of a matrix that is worth a formula each


@dataclass(frozen=True, eq=False)
class Block:
    """One matrix: a result (rows) by an argument (columns), and the order of its entries."""

    pattern: Pattern
    format: str
    first: Ints              # CSR: indptr, CSC: indptr, COO: rows
    second: Ints             # CSR: indices, CSC: indices, COO: columns

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.first.flags.writeable = self.second.flags.writeable = False

    def matrix(self, data: Any) -> Any:
        """The matrix with these entries; the arrays of indices are shared and read-only."""
        shape = self.pattern.shape
        if self.format == "coo":
            return scipy.sparse.coo_array((data, (self.first, self.second)), shape=shape)
        make = scipy.sparse.csr_array if self.format == "csr" else scipy.sparse.csc_array
        out = make((data, self.second, self.first), shape=shape)
        out.has_canonical_format = True
        return out


@dataclass(eq=False)
class Plan:
    """How a sparse derivative is evaluated.

    Attributes:
        pattern: of the whole matrix.
        symmetric: whether it is a Hessian, swept by columns.
        mode: direction of the sweeps.
        by_entry: whether entries have formulas, and no sweeps are needed.
        consulted: captured arrays whose zeros were made use of, with their values then.
    """

    pattern: Pattern
    symmetric: bool
    mode: str
    by_entry: bool = False
    consulted: tuple[tuple[Any, Any], ...] = ()

    @cached_property
    def recovery(self) -> Recovery:
        """The sweeps; those that it would take, if entries have formulas."""
        return hessian_recovery(self.pattern) if self.symmetric else \
            jacobian_recovery(self.pattern, self.mode)

    @property
    def fewest(self) -> int:
        """Colours that there are at least."""
        columns = int(self.pattern.counts.max(initial=0))
        if self.symmetric:
            return min(columns, 2)
        rows = np.bincount(self.pattern.indices, minlength=1).max(initial=0)
        return min(columns, int(rows))


@dataclass(frozen=True, eq=False)
class SparsePacking:
    """Packs flat results, of which the last are the entries of blocks, into matrices."""

    packing: Packing
    blocks: tuple[Block, ...]
    plan: Plan

    def __call__(self, flat: Sequence[Any]) -> Any:
        """Pack the results."""
        n = len(flat) - len(self.blocks)
        return self.packing([*flat[:n], *[b.matrix(d) for b, d in
                                          zip(self.blocks, flat[n:], strict=True)]])

    @property
    def patterns(self) -> Any:
        """Boolean matrices, structured like the result."""
        n = self.packing.n_outputs
        filled = [b.matrix(np.ones(b.pattern.nnz, bool)).tocsr() for b in self.blocks]
        packed = self.packing([*[None] * n, *filled])
        return packed[0] if self.packing.has_aux else packed

    def report(self, graph: Graph) -> str:
        """Sizes, colours, sweeps, operations and memory, in words."""
        pattern, recovery = self.plan.pattern, self.plan.recovery
        n, m = pattern.shape
        share = pattern.nnz / max(n * m, 1)
        how = "entries by formulas, without sweeps" if self.plan.by_entry else \
            ", ".join(f"{s.count} {('forward', 'reverse')[s.direction]} sweeps"
                      for s in recovery.sweeps)
        elements = sum(node.type.size for node in graph.nodes if node.args and
                       isinstance(node.type, ArrayType))
        largest = max((node.type.nbytes for node in graph.nodes
                       if isinstance(node.type, ArrayType)), default=0)
        held = sum(b.first.nbytes + b.second.nbytes for b in self.blocks)
        return (f"{n} x {m}, {pattern.nnz} entries that may differ from zero ({share:.2%})\n"
                f"{recovery.n_colors} colours ({recovery.order}); {how}\n"
                f"about {elements} operations on elements at each call; largest value "
                f"{largest} bytes, indices {held} bytes")

    def is_current(self) -> bool:
        """Whether the captured arrays are still what the pattern was found from."""
        return all(np.array_equal(array, before) for array, before in self.plan.consulted)


def build_sparse(request: Request, staged: Staged, selection: Selection, name: str, lane: str
                 ) -> tuple[Graph, Any]:
    """Graph of the entries of a sparse Jacobian or Hessian, and their packing.

    Dense if that is what ``sparse="auto"`` prefers. The graph's outputs are the function's own
    results (only those that the request returns), then the entries, one vector a block.

    Raises:
        SparseRequestError: for complex arguments or results.
        PatternTooLargeError: for patterns beyond the limit.
    """
    graph = run(staged.graph, PREPARE)
    graph = Graph(name, graph.inputs, graph.outputs, graph.nodes, graph.guards)
    own = graph = derive.select_outputs(graph, range(staged.n_outputs))
    wrt, n_main = selection.inputs, check_aux(request, staged)
    outputs: Sequence[int] = range(n_main)
    _refuse_complex(request, graph, wrt, n_main, staged)
    if request.kind == "hessian":
        check_scalar(graph, staged, n_main, "hessian")
        graph, outputs = run(derive.gradient(graph, wrt), SIMPLE), range(len(wrt))
    columns = starts([graph.inputs[i].type.size for i in wrt])
    rows = starts([graph.outputs[o].type.size for o in outputs])
    tangents = run(jvp(graph, wrt), SIMPLE)
    pattern, consulted = _pattern(graph, wrt, outputs, tangents)
    if request.kind == "hessian":
        pattern = union(pattern, pattern.transposed)
    if request.sparse == "auto" and pattern.nnz > DENSE * pattern.n_rows * pattern.n_columns:
        return build(replace(request, sparse=""), staged, selection, name)
    format = request.sparse if request.sparse in FORMATS else "csr"
    parts = [_part(pattern, rows[o:o + 2], columns[i:i + 2], format)
             for o in range(len(outputs)) for i in range(len(wrt))]
    plan = Plan(pattern, request.kind == "hessian" and request.mode != "reverse", request.mode,
                consulted=consulted)
    plan.by_entry = lane != "array" and is_by_element(staged.graph) and \
        pattern.n_rows * pattern.n_columns <= _ENTRY_BY_ENTRY
    written = None if plan.by_entry or request.mode != "auto" else formulas(
        tangents, len(graph.inputs), [len(graph.outputs) + o for o in outputs], pattern,
        [p.entries for p in parts], name)
    if plan.by_entry:
        derived = _picked(derive.jacobian(graph, wrt, outputs, name=name), parts)
    elif written is not None and _is_cheap(written.cost, _elements(tangents, wrt), plan):
        derived, plan.by_entry = written.graph, True
    else:
        recovery = plan.recovery
        chosen = [np.arange(pattern.nnz)] if recovery.levels else [p.entries for p in parts]
        derived = compressed(graph, wrt, outputs, recovery.sweeps,
                             [reads(recovery, e, rows, columns) for e in chosen], name)
        if recovery.levels:
            derived = substituted(derived, recovery.levels, [p.entries for p in parts])
    n = staged.n_outputs if request.has_aux else 0
    if request.has_aux:
        derived = with_values(own, derived, name)
    out_spec = staged.out_spec if request.kind == "jacobian" else None
    packing = Packing(request.kind, out_spec, selection.spec, n, len(wrt), request.has_aux)
    return derived, SparsePacking(packing, tuple(p.block for p in parts), plan)


def _is_cheap(cost: int, sweep: int, plan: Plan) -> bool:
    """Whether formulas cost no more than sweeps; colours are counted only where that decides."""
    return cost <= plan.fewest * sweep or cost <= plan.recovery.n_colors * sweep


def _pattern(graph: Graph, wrt: Sequence[int], outputs: Sequence[int], tangents: Graph
             ) -> tuple[Pattern, tuple[tuple[Any, Any], ...]]:
    """Pattern of a Jacobian, and the captured arrays it was found from."""
    found = sparsity(tangents, range(len(graph.inputs), len(tangents.inputs)))
    n_columns = sum(graph.inputs[i].type.size for i in wrt)
    pattern = stack([found.outputs[len(graph.outputs) + o] for o in outputs], n_columns)
    return pattern, tuple((array, np.array(array)) for array in found.consulted)


def _elements(tangents: Graph, wrt: Sequence[int]) -> int:
    """How many elements one sweep computes."""
    varied = set(tangents.inputs[len(tangents.inputs) - len(wrt):])
    total = 0
    for node in tangents.nodes:
        if any(a in varied for a in node.args):
            varied.add(node)
            total += node.type.size if isinstance(node.type, ArrayType) else 0
    return total


def _refuse_complex(request: Request, graph: Graph, wrt: Sequence[int], n_main: int,
                    staged: Staged) -> None:
    for what, nodes in (("argument", [graph.inputs[i] for i in wrt]),
                        ("result", graph.outputs[:n_main])):
        if any(node.type.dtype.kind == "c" for node in nodes):
            raise SparseRequestError(
                f"A sparse {request.kind} needs real arguments and results, but there is a "
                f"complex {what}.", f"Leave out sparse=, or take the {what}'s real and imaginary "
                "part as two.", staged.where)


def no_sparse_trace(kind: str) -> SparseRequestError:
    """The error for a sparse derivative inside of a traced function."""
    return SparseRequestError(
        f"A sparse {kind} is taken of traced values: SciPy's sparse arrays hold numbers only.",
        "Take it outside of the traced function, or a dense one inside.", locate())


class _Part(NamedTuple):
    """A block and its entries' numbers in the whole pattern, rows and columns in the block."""

    block: Block
    entries: Ints
    rows: Ints
    columns: Ints


def _part(pattern: Pattern, rows: Sequence[int], columns: Sequence[int], format: str) -> _Part:
    mine, entries = block_of(pattern, rows, columns)
    r, c = mine.rows(), mine.indices
    if format == "csc":
        order = np.lexsort((r, c))
        entries, r, c = entries[order], r[order], c[order]
        flipped = mine.transposed
        block = Block(mine, format, _shared(flipped.indptr), _shared(flipped.indices))
    elif format == "coo":
        block = Block(mine, format, _shared(r), _shared(c))
    else:
        block = Block(mine, format, _shared(mine.indptr), _shared(mine.indices))
    return _Part(block, entries, r, c)


def _shared(array: Ints) -> Ints:
    """An array of indices that all results share: nobody may write to it."""
    array = np.array(array, np.int32)
    array.flags.writeable = False
    return array


def _picked(dense: Graph, parts: Sequence[_Part]) -> Graph:
    """The entries of dense blocks, for code that computes nothing but them."""
    builder = TraceBuilder(dense.name)
    args = [keep_leaf(builder, node) for node in dense.inputs]
    out = []
    for node, part in zip(inline(builder, dense, args), parts, strict=True):
        index = part.rows.astype(np.intp) * part.block.pattern.n_columns + part.columns
        out.append(np.reshape(Tracer(builder, node), (-1,))[index].node)
    builder.closed = True
    builder.guards = list(dict.fromkeys(builder.guards))
    return builder.graph(out)
