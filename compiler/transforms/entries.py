"""Entries of a sparse Jacobian by formulas: whole diagonals at a time, where a stencil repeats.

A tangent depends linearly on the input tangents. It is held as a sum of *terms*: coefficients, and
for each the element of the tangent (row) and of the input tangents (column) that it connects. Rows
and columns are known numbers; only coefficients are computed. Moving elements about thus costs
nothing, products cost what they cost the function itself, and what comes out is what a person
would write: a diagonal that is ``2 * u * v - 4.4``, another that is the constant 50. (Forward mode
with sparse vectors, Griewank and Walther 2008, section 7.1, for arrays.)
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..arraytype import ArrayType
from ..graph import CONSTANT, INPUT, Graph, Guard, Node, keep_leaf
from ..ops import arithmetic, indexing, layout
from ..ops.flow import Collect, Gather, elements
from ..ops.row import Elementwise, Linear, Multilinear
from ..trace.tracer import TraceBuilder, Tracer, wrap
from .pattern import Ints, Pattern
from .sparsity import Constants

_FEW = 8                 # terms of numbers that are left as they are
_LARGEST = 20_000_000    # entries of a tangent that are held one by one
_MOST = 40               # terms of a tangent; more are not worth a formula each


class Term(NamedTuple):
    """Coefficients and what they connect.

    ``coefficient`` is one number for all, or an array: of the tangent's shape where ``rows`` is
    None and every element has a coefficient, else a vector as long as ``rows``. A row or column of
    −1 says that the coefficient is not used.
    """

    coefficient: Any
    rows: Ints | None
    columns: Ints


class _Unsupported(Exception):
    """An operator that has no such form."""


class Formulas(NamedTuple):
    """The graph of the entries, and an estimate of how many elements are computed for them."""

    graph: Graph
    cost: int


def formulas(pushed: Graph, n_args: int, outputs: Sequence[int], pattern: Pattern,
             parts: Sequence[Ints], dtypes: Sequence[Any], name: str) -> Formulas | None:
    """Graph of the entries of each part of a pattern; None where no formulas are found.

    Args:
        pushed: values and tangents, such as those of ``jvp``.
        n_args: how many of its inputs are no tangents.
        outputs: positions of the tangents whose elements are the rows of the pattern.
        pattern: of the Jacobian.
        parts: numbers of the entries of each block.
        dtypes: of the entries of each block.
        name: of the new graph.
    """
    builder = TraceBuilder(name)
    walk = _Walk(builder, {}, {}, Constants())
    first = 0
    for position, node in enumerate(pushed.inputs):
        if node.type.dtype.kind == "c":
            return None
        if position < n_args:
            walk.new[node] = keep_leaf(builder, node)
        else:
            columns = np.arange(first, first + node.type.size)
            walk.terms[node] = [Term(1.0, None, columns)]
            first += node.type.size
    try:
        with np.errstate(all="ignore"):       # of numbers; the code itself says what it says
            for node in pushed.nodes:
                walk.visit(node)
    except _Unsupported:
        return None
    for guard in pushed.guards:
        builder.guards.append(Guard(walk.new[guard.node], guard.expected, guard.origin))
    terms, row = [], 0
    for o in outputs:
        node = pushed.outputs[o]
        for t in walk.terms.get(node, ()):
            rows = np.arange(node.type.size) if t.rows is None else t.rows
            terms.append(Term(t.coefficient, np.where(rows >= 0, rows + row, -1), t.columns))
        row += node.type.size
    entries, gathered = _assemble(builder, terms, pattern, parts, dtypes)
    builder.closed = True
    return Formulas(builder.graph(entries), walk.cost + gathered)


class _Walk:
    def __init__(self, builder: TraceBuilder, new: dict[Node, Node],
                 terms: dict[Node, list[Term]], constants: Constants) -> None:
        self.builder = builder
        self.new = new                   # copies of the values
        self.terms = terms               # of the tangents
        self.constants = constants
        self.cost = 0

    def visit(self, node: Node) -> None:
        """Copy a value; find the terms of a tangent."""
        self.constants.mark(node)
        if node.op is INPUT:
            return
        if not any(a in self.terms for a in node.args):
            self.builder.origin = node.origin
            self.new[node] = keep_leaf(self.builder, node) if not node.args else \
                self.builder.emit(node.op, tuple([self.new[a] for a in node.args]), node.params)
            return
        if not isinstance(node.type, ArrayType):
            raise _Unsupported
        self.builder.origin = node.origin._replace(name=None) if node.origin else None
        start = len(self.builder.nodes)
        found: list[Term] = []
        for i, arg in enumerate(node.args):
            found += [self.through(node, i, term) for term in self.terms.get(arg, ())]
        self.terms[node] = _merged(found, node.type.size)
        if len(self.terms[node]) > _MOST or sum(
                len(t.columns) for t in self.terms[node]) > _LARGEST:
            raise _Unsupported
        self.cost += sum(n.type.size for n in self.builder.nodes[start:] if n.args)

    def value(self, node: Node) -> Any:
        """A copied value; of a constant the number itself."""
        new = self.new[node]
        if new.op is CONSTANT and new.type.shape == () and new.type.dtype.kind in "biuf":
            return bool(new.value) if new.type.dtype.kind == "b" else float(new.value)
        return wrap(self.builder, new)

    def through(self, node: Node, i: int, term: Term) -> Term:
        """A term of an operand as one of the result."""
        derivative = node.op.derivative
        shape, out = node.args[i].type.shape, node.type.shape
        if isinstance(derivative, Elementwise):
            term = self.moved(term, elements(i, [a.type for a in node.args], node.type, None),
                              shape, lambda c: layout.broadcast(c, out))
            partial = derivative.partials[i]
            if isinstance(partial, (int, float)):
                return term._replace(coefficient=term.coefficient if partial == 1 else
                                     -term.coefficient if partial == -1 else
                                     term.coefficient * partial)
            if partial is None or sum(a in self.terms for a in node.args) > 1:
                raise _Unsupported       # not linear in one operand alone
            return self.applied(node, i, term)
        if isinstance(derivative, Multilinear):
            return self.weighted(node, i, term)
        if not isinstance(derivative, Linear) or not (
                node.op.batch is None or node.op.copies or node.op.flow is elements):
            raise _Unsupported
        if not node.op.copies:
            term = self.moved(term, elements(i, [a.type for a in node.args], node.type, None),
                              shape, lambda c: layout.broadcast(c, out))
            return self.applied(node, i, term)
        if any(a not in self.terms and a.type.dtype.kind in "biu" and self.constants.varies[a]
               for a in node.args):
            raise _Unsupported           # an index that can change: where to is not known
        flow = node.op.flow(  # type: ignore[misc]
            i, tuple(a.type for a in node.args), node.type,
            lambda j: self.constants(node.args[j]), **node.settings)
        if any(isinstance(a, Collect) and isinstance(b, Gather) for a, b in pairwise(flow or ())):
            raise _Unsupported           # all of some elements for all of others: says too much
        again = None
        if derivative.operands == (0,) and not any(isinstance(s, Collect) for s in flow):
            rest = [self.value(a) for a in node.args[1:]]

            def again(c: Any) -> Any:
                return node.op(c, *rest, **node.settings)
        return self.moved(term, flow, shape, again)

    def weighted(self, node: Node, i: int, term: Term) -> Term:
        """A contraction with a constant that has zeros."""
        flow = node.op.flow and node.op.flow(
            i, tuple(a.type for a in node.args), node.type,
            lambda j: self.constants(node.args[j]), **node.settings)
        if not flow or not isinstance(flow[0], Gather) or flow[0].weights is None:
            raise _Unsupported
        return self.moved(term, flow, node.args[i].type.shape, None)

    def applied(self, node: Node, i: int, term: Term) -> Term:
        """An operator that is linear in its operand ``i``, element by element."""
        out = node.type.shape
        args = [0.0 if a in self.terms else self.value(a) for a in node.args]
        if term.rows is not None:
            args = [self.taken(a, out, term.rows) for a in args]
        args[i] = term.coefficient
        coefficient = node.op(*args, **node.settings)
        if not isinstance(coefficient, Tracer):
            if np.iscomplexobj(coefficient):
                raise _Unsupported
            return term._replace(coefficient=float(coefficient))
        if term.rows is None and coefficient.shape not in ((), out):
            coefficient = layout.broadcast_to(coefficient, shape=out)
        return term._replace(coefficient=coefficient)

    def taken(self, value: Any, shape: tuple[int, ...], rows: Ints) -> Any:
        """Elements of a value that is broadcast to a shape."""
        if not isinstance(value, Tracer) or value.shape == ():
            return value
        flat: Any = np.reshape(layout.broadcast(value, shape), (-1,))
        if len(rows) and rows[0] >= 0 and np.array_equal(
                rows, np.arange(rows[0], rows[0] + len(rows))):
            return flat if len(rows) == flat.shape[0] else flat[int(rows[0]):int(rows[-1]) + 1]
        return flat[np.maximum(rows, 0)]

    def moved(self, term: Term, flow: Any, shape: tuple[int, ...],
              again: Callable[[Any], Any] | None) -> Term:
        """The term after some steps; ``again`` does them to an array of coefficients."""
        if flow is None or flow == ():
            return term
        coefficient, rows, columns = term
        is_array = isinstance(coefficient, Tracer) and coefficient.shape != ()
        if rows is None and len(flow) == 1 and not isinstance(flow[0], Collect) and (
                again is not None or not is_array):
            index = flow[0].index
            columns = np.where(index >= 0, columns[index], -1) if len(columns) else \
                np.full(len(index), -1)
            if is_array and again is not None:
                coefficient = again(coefficient)
            return Term(coefficient, None, columns)
        if rows is None:
            n = 1
            for length in shape:
                n *= length
            rows = np.arange(n)
            if is_array:
                coefficient = np.reshape(coefficient, (-1,))
        for step in flow:
            if isinstance(step, Collect):
                rows = np.where(rows >= 0, step.target[rows], -1) if len(step.target) else rows
                continue
            if not len(step.index):                # nothing is read any more
                nowhere = np.zeros(0, np.intp)
                return Term(0.0, nowhere, nowhere)
            entry, rows = _spread(rows, step.index)
            if is_array and not np.array_equal(entry, np.arange(len(columns))):
                coefficient = coefficient[entry]
            columns = columns[entry]
            if step.weights is not None:
                weights = step.weights[rows]
                coefficient = coefficient * wrap(self.builder, self.builder.constant(weights))
                is_array = True
        if not is_array and len(rows):
            used = (rows >= 0) & (columns >= 0)
            rows, columns = rows[used], columns[used]
        return Term(coefficient, rows, columns)


def _spread(rows: Ints, index: Ints) -> tuple[Ints, Ints]:
    """Entries and their new rows, where new element k is the old element ``index[k]``."""
    known = np.flatnonzero(index >= 0)
    n = max(int(index.max(initial=-1)), int(rows.max(initial=-1))) + 1
    inverse = np.full(n + 1, -1)
    inverse[index[known]] = known
    if np.array_equal(inverse[index[known]], known):       # no element is used twice
        return np.arange(len(rows)), inverse[rows]
    order = np.argsort(rows, kind="stable")
    low = np.searchsorted(rows[order], index[known], side="left")
    counts = np.searchsorted(rows[order], index[known], side="right") - low
    ends = np.cumsum(counts)
    if len(ends) and ends[-1] > _LARGEST:
        raise _Unsupported
    entry = order[np.repeat(low - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)]
    return entry, np.repeat(known, counts)


def _merged(terms: list[Term], n_rows: int) -> list[Term]:
    """Terms that connect the same elements, added up."""
    out: list[Term] = []
    places: dict[Any, list[int]] = {}
    for term in terms:
        if not len(term.columns) or term.columns.max() < 0:
            continue
        key = (None if term.rows is None else hash(term.rows.tobytes()),
               hash(term.columns.tobytes()))
        for k in places.setdefault(key, []):
            if np.array_equal(out[k].columns, term.columns) and (
                    term.rows is None or np.array_equal(out[k].rows, term.rows)):  # type: ignore[arg-type]
                out[k] = term._replace(coefficient=out[k].coefficient + term.coefficient)
                break
        else:
            places[key].append(len(out))
            out.append(term)
    plain = [t for t in out if not isinstance(t.coefficient, Tracer)]
    if len(plain) > _FEW or (len(plain) > 1 and any(t.rows is not None for t in plain)):
        out = [t for t in out if isinstance(t.coefficient, Tracer)] + _by_weight(plain, n_rows)
    return out


def _by_weight(terms: list[Term], n_rows: int) -> list[Term]:
    """The same with few terms, each of one number and of all rows.

    Assignments to parts of an array leave terms of parts of its rows behind.
    """
    rows = np.concatenate([np.arange(n_rows) if t.rows is None else t.rows for t in terms])
    columns = np.concatenate([t.columns for t in terms])
    weights = np.repeat([float(t.coefficient) for t in terms], [len(t.columns) for t in terms])
    used = (rows >= 0) & (columns >= 0)
    rows, columns, weights = rows[used], columns[used], weights[used]
    n_columns = int(columns.max(initial=0)) + 1
    keys, which = np.unique(rows.astype(np.int64) * n_columns + columns, return_inverse=True)
    weights = np.bincount(which, weights, len(keys))
    rows, columns = np.divmod(keys, n_columns)
    values = np.unique(weights)
    if len(values) > _MOST:
        return terms
    out = []
    for value in values.tolist():
        mine = np.flatnonzero(weights == value)
        row, column = rows[mine], columns[mine]
        # The k-th entry of each row that has this weight; rows are ascending.
        rank = np.arange(len(mine)) - np.searchsorted(row, row)
        for k in range(int(rank.max(initial=-1)) + 1):
            chosen = rank == k
            full = np.full(n_rows, -1)
            full[row[chosen]] = column[chosen]
            out.append(Term(value, None, full))
    return out if len(out) <= len(terms) or len(out) <= _MOST else terms


def _assemble(builder: TraceBuilder, terms: Sequence[Term], pattern: Pattern,
              parts: Sequence[Ints], dtypes: Sequence[Any]) -> tuple[list[Node], int]:
    """The entries of each part, gathered from all coefficients; and what that costs."""
    keys = pattern.keys()
    fixed = np.zeros(pattern.nnz)             # sums of the coefficients that are plain numbers
    vectors: list[Any] = []
    entries: list[Ints] = [np.zeros(0, np.intp)]
    sources: list[Ints] = [np.zeros(0, np.intp)]
    size = 0
    for term in terms:
        entry, used = _positions(keys, term, pattern.n_columns)
        if not isinstance(term.coefficient, Tracer):
            np.add.at(fixed, entry, term.coefficient)
            continue
        entries.append(entry)
        sources.append((used if term.coefficient.shape else np.zeros_like(used)) + size)
        vectors.append(np.reshape(term.coefficient, (-1,)))
        size += vectors[-1].shape[0]
    # Numbers stand first among the coefficients; 0 for entries that no term reaches.
    computed = np.zeros(pattern.nnz, bool)
    computed[np.concatenate(entries)] = True
    plain = np.flatnonzero(~computed | (fixed != 0))
    if len(plain) or not vectors:
        numbers = np.unique(fixed[plain])
        vectors.insert(0, Tracer(builder, builder.constant(
            numbers.astype(np.result_type(*dtypes)))))
        sources = [s + len(numbers) for s in sources]
        entries.append(plain)
        sources.append(np.searchsorted(numbers, fixed[plain]))
    entry, source = np.concatenate(entries), np.concatenate(sources)
    # Of several coefficients of an entry the first is read, and the others are added.
    leading = np.zeros(pattern.nnz, np.intp)
    leading[entry[::-1]] = np.arange(len(entry))[::-1]     # the last to be written stays
    rest = np.flatnonzero(leading[entry] != np.arange(len(entry)))
    joined: Any = vectors[0] if len(vectors) == 1 else np.concatenate(vectors)
    out = []
    for part, dtype in zip(parts, dtypes, strict=True):
        index = source[leading][part]
        whole = np.array_equal(index, np.arange(joined.shape[0]))
        data: Any = joined if whole else joined[index]
        place = np.full(pattern.nnz, -1, np.intp)
        place[part] = np.arange(len(part))
        mine = rest[place[entry[rest]] >= 0]
        if len(mine):
            data = indexing.scatter_add(data, joined[source[mine]], place[entry[mine]],
                                        index=(("a",),))
        out.append(arithmetic.match_dtype(data, dtype).node)
    return out, joined.shape[0] + 2 * pattern.nnz + 6 * len(rest)


def _positions(keys: Ints, term: Term, n_columns: int) -> tuple[Ints, Ints]:
    """Entries of the pattern that the term contributes to, and its coefficients that do."""
    rows, columns = term.rows, term.columns
    assert rows is not None
    used = np.flatnonzero((rows >= 0) & (columns >= 0))
    wanted = rows[used].astype(np.int64) * n_columns + columns[used]
    at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    inside = keys[at] == wanted if len(keys) else np.zeros(len(at), bool)
    return at[inside], used[inside]            # outside of the pattern are zeros for good
