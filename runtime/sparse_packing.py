"""From the entries of sparse derivatives to SciPy's matrices; patterns, colours, reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy  # loads its submodules when they are first used

from ..compiler.arraytype import ArrayType
from ..compiler.errors import NotSquareError, Origin, SingularPatternError
from ..compiler.graph import Graph
from ..compiler.transforms.pattern import Ints, Pattern, block_of
from ..compiler.transforms.recovery import Recovery, hessian_recovery, jacobian_recovery
from .chunks import Chunks
from .compile import Packing


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
        return hessian_recovery(self.pattern, self.mode) if self.symmetric else \
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
    """Packs flat results, of which the last are the entries of blocks, into matrices.

    With ``chunks`` the generated function sweeps some colours only, and is to be called for each.
    """

    packing: Packing
    blocks: tuple[Block, ...]
    plan: Plan
    chunks: Chunks | None = None

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

    def require_solvable(self, name: str, where: Origin | None) -> None:
        """The matrix is square, and not singular by its pattern alone.

        Raises:
            NotSquareError: if it has another number of rows than of columns.
            SingularPatternError: if it is singular for every argument, naming a row or column.
        """
        pattern = self.plan.pattern
        n, m = pattern.shape
        if n != m:
            raise NotSquareError(f"{name} is a matrix of {n} rows and {m} columns: a linear system "
                                 "with it has no unique solution.",
                                 "Solve for as many unknowns as there are equations, or use least "
                                 "squares.", where)
        reasons = [(np.flatnonzero(pattern.counts == 0), "row", "is empty: this element of the "
                    "result depends on no element of the argument"),
                   (np.flatnonzero(np.bincount(pattern.indices, minlength=n) == 0), "column",
                    "is empty: no result depends on this element of the argument")]
        filled = scipy.sparse.csr_array((np.ones(pattern.nnz), pattern.indices, pattern.indptr),
                                        shape=pattern.shape)
        matching = scipy.sparse.csgraph.maximum_bipartite_matching(filled, "column")
        reasons.append((np.flatnonzero(matching < 0), "row", "has no pivot: this element of the "
                        "result depends only on what determines others"))
        for found, side, why in reasons:
            if len(found):
                more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
                raise SingularPatternError(
                    f"{name} is singular for every argument: {side} {found[0]}{more} {why}.",
                    "Leave it out, or say what determines it.", where)

    def is_current(self) -> bool:
        """Whether the captured arrays are still what the pattern was found from."""
        return all(np.array_equal(array, before) for array, before in self.plan.consulted)


class Part(NamedTuple):
    """A block and its entries' numbers in the whole pattern, rows and columns in the block."""

    block: Block
    entries: Ints
    rows: Ints
    columns: Ints


def part_of(pattern: Pattern, rows: Sequence[int], columns: Sequence[int], format: str) -> Part:
    """The block of a range of rows and columns, in a form."""
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
    return Part(block, entries, r, c)


def _shared(array: Ints) -> Ints:
    """An array of indices that all results share: nobody may write to it."""
    array = np.array(array, np.int32)
    array.flags.writeable = False
    return array
