"""Sparse Jacobians and Hessians: from a traced function to the graph of the entries."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..codegen.emit import is_by_element
from ..compiler.arraytype import ArrayType
from ..compiler.errors import SparseRequestError
from ..compiler.graph import Graph, inline, keep_leaf
from ..compiler.passes.pipeline import PREPARE, SIMPLE, run
from ..compiler.trace.locate import locate
from ..compiler.trace.stage import Staged
from ..compiler.trace.tracer import TraceBuilder, Tracer
from ..compiler.transforms import derive
from ..compiler.transforms.compress import chunk, compressed, substituted
from ..compiler.transforms.entries import formulas
from ..compiler.transforms.jvp import jvp
from ..compiler.transforms.pattern import Pattern, stack, union
from ..compiler.transforms.recovery import reads, starts
from ..compiler.transforms.sparsity import sparsity
from . import chunks
from .chunks import Chunks
from .compile import Packing, Request, Selection, build, check_aux, check_scalar, with_values
from .sparse_packing import Part, Plan, SparsePacking, part_of

FORMATS = ("csr", "csc", "coo")
DENSE = 0.25             # share of entries from which on "auto" gives a dense array
_ENTRY_BY_ENTRY = 4096   # entries, with zeros, of a matrix that is worth a formula each


def build_sparse(request: Request, staged: Staged, selection: Selection, name: str, lane: str,
                 dense: float = DENSE, whole: bool = False) -> tuple[Graph, Any]:
    """Graph of the entries of a sparse Jacobian or Hessian, and their packing.

    Dense if that is what ``sparse="auto"`` prefers, at more than the share ``dense`` of entries;
    never in chunks if it is to be ``whole``. The graph's outputs are the function's own
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
        graph, outputs = derive.gradient(graph, wrt), range(len(wrt))
    columns = starts([graph.inputs[i].type.size for i in wrt])
    rows = starts([graph.outputs[o].type.size for o in outputs])
    tangents = run(jvp(graph, wrt), SIMPLE)
    pattern, consulted = _pattern(graph, wrt, outputs, tangents)
    if request.kind == "hessian":
        pattern = union(pattern, pattern.transposed)
    if request.sparse == "auto" and pattern.nnz > dense * pattern.n_rows * pattern.n_columns:
        mode = "auto" if request.mode == "substitution" else request.mode
        return build(replace(request, sparse="", mode=mode), staged, selection, name)
    out_spec = staged.out_spec if request.kind == "jacobian" else None
    packing = Packing(request.kind, out_spec, selection.spec,
                      staged.n_outputs if request.has_aux else 0, len(wrt), request.has_aux)
    format = request.sparse if request.sparse in FORMATS else "csr"
    parts = [part_of(pattern, rows[o:o + 2], columns[i:i + 2], format)
             for o in range(len(outputs)) for i in range(len(wrt))]
    # In the precision of the argument, as in a dense Jacobian.
    dtypes = [graph.inputs[i].type.dtype for i in wrt] * len(outputs)
    plan = Plan(pattern, request.kind == "hessian" and request.mode != "reverse", request.mode,
                consulted=consulted)
    plan.by_entry = request.mode == "auto" and lane != "array" and is_by_element(staged.graph) and \
        pattern.n_rows * pattern.n_columns <= _ENTRY_BY_ENTRY
    written = None if plan.by_entry or request.mode != "auto" else formulas(
        tangents, len(graph.inputs), [len(graph.outputs) + o for o in outputs], pattern,
        [p.entries for p in parts], dtypes, name)
    if plan.by_entry:
        derived = _picked(derive.jacobian(graph, wrt, outputs, name=name), parts)
    elif written is not None and is_cheap(written.cost, _elements(tangents, wrt), plan):
        derived, plan.by_entry = written.graph, True
    elif not whole and _is_large(plan, tangents, parts, request):
        return _in_chunks(graph, wrt[0], plan, parts[0], tangents, packing, name)
    else:
        recovery = plan.recovery
        chosen = [np.arange(pattern.nnz)] if recovery.levels else [p.entries for p in parts]
        derived = compressed(graph, wrt, outputs, recovery.sweeps, [
            reads(recovery, e, rows, columns, dtype)
            for e, dtype in zip(chosen, dtypes, strict=False)], name)
        if recovery.levels:
            derived = substituted(derived, recovery.levels, [p.entries for p in parts])
    if request.has_aux:
        derived = with_values(own, derived, name)
    return derived, SparsePacking(packing, tuple(p.block for p in parts), plan)


def _is_large(plan: Plan, tangents: Graph, parts: Sequence[Part], request: Request) -> bool:
    """Whether to sweep some colours at a time: where that is possible, and memory is at stake."""
    return len(parts) == 1 and not request.has_aux and not tangents.guards and \
        not plan.recovery.levels and len(plan.recovery.sweeps) == 1 and \
        plan.recovery.n_colors * _largest(tangents) > chunks.LIMIT


def _largest(graph: Graph) -> int:
    return max(n.type.size for n in graph.nodes if isinstance(n.type, ArrayType))


def _in_chunks(graph: Graph, wrt: int, plan: Plan, part: Part, tangents: Graph, packing: Packing,
               name: str) -> tuple[Graph, Any]:
    (sweeps,) = plan.recovery.sweeps
    size = min(max(chunks.LIMIT // _largest(tangents), 1), sweeps.count)
    derived = chunk(graph, wrt, 0, sweeps.direction, size, name)
    n_chunks = -(-sweeps.count // size)
    seeds = sweeps.colors == np.arange(n_chunks * size)[:, None]
    seeds = seeds.reshape(n_chunks, *derived.inputs[-1].type.shape)
    n_rows, n_columns = plan.pattern.shape
    read = reads(plan.recovery, part.entries, [0, n_rows], [0, n_columns],
                 graph.inputs[wrt].type.dtype)
    return derived, SparsePacking(packing, (part.block,), plan, Chunks(seeds, read.index))


def is_cheap(cost: int, sweep: int, plan: Plan) -> bool:
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


def _picked(dense: Graph, parts: Sequence[Part]) -> Graph:
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
