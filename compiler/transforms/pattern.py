"""Patterns of non-zeros, row by row, as two arrays of integers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import PatternTooLargeError
from ..ops.flow import Collect, Flow

LIMIT = 50_000_000       # non-zeros of a pattern
TOO_LARGE = ("Products with vectors (jvp, vjp, hvp) need no pattern; or split off what couples all "
             "elements with each other.")

Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]


@dataclass(frozen=True, eq=False)
class Pattern:
    """Which entries of a matrix may differ from zero, in compressed rows.

    Attributes:
        indptr: where each row begins in ``indices``, and the end; int64.
        indices: columns, ascending within a row, each once; int32.
        n_columns: of the matrix.

    >>> p = from_entries(np.array([0, 1, 1]), np.array([2, 0, 2]), 2, 3)
    >>> p.shape, p.nnz, p.dense().astype(int).tolist()
    ((2, 3), 3, [[0, 0, 1], [1, 0, 1]])
    """

    indptr: Ints
    indices: Ints
    n_columns: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.n_columns

    @property
    def nnz(self) -> int:
        """Number of entries that may differ from zero."""
        return len(self.indices)

    @property
    def counts(self) -> Ints:
        """Entries of each row."""
        return np.diff(self.indptr)

    def rows(self) -> Ints:
        """The row of each entry."""
        return np.repeat(np.arange(self.n_rows, dtype=np.int32), self.counts)

    def keys(self) -> Ints:
        """Entries as single numbers, ascending."""
        return np.repeat(np.arange(self.n_rows) * self.n_columns, self.counts) + self.indices

    def dense(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """As a boolean array."""
        out = np.zeros(self.shape, bool)
        out[self.rows(), self.indices] = True
        return out

    @property
    def transposed(self) -> "Pattern":
        """Pattern of the transposed matrix."""
        keys = self.indices * np.int64(self.n_rows) + self.rows()
        keys.sort()
        return _from_keys(keys, self.n_columns, self.n_rows)


def empty(n_rows: int, n_columns: int) -> Pattern:
    """Nothing but zeros."""
    return Pattern(np.zeros(n_rows + 1, np.int64), np.zeros(0, np.int32), n_columns)


def identity(n: int, first: int, n_columns: int) -> Pattern:
    """Ones on a diagonal that begins in column ``first``."""
    return Pattern(np.arange(n + 1), np.arange(first, first + n, dtype=np.int32), n_columns)


def _from_keys(keys: Ints, n_rows: int, n_columns: int) -> Pattern:
    first = np.arange(n_rows + 1) * n_columns              # key of each row's first column
    indptr = np.searchsorted(keys, first).astype(np.int64, copy=False)
    columns = keys - np.repeat(first[:-1], np.diff(indptr))
    return Pattern(indptr, columns.astype(np.int32), n_columns)


def from_entries(rows: Ints, columns: Ints, n_rows: int, n_columns: int) -> Pattern:
    """Pattern of entries in any order, repeated or not."""
    return _from_unsorted(rows * np.int64(n_columns) + columns, n_rows, n_columns)


def _from_unsorted(keys: Ints, n_rows: int, n_columns: int) -> Pattern:
    keys.sort(kind="stable")        # a merge, linear in time where the parts are in order
    if len(keys):
        fresh = np.empty(len(keys), bool)
        fresh[0] = True
        np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
        keys = keys[fresh]
    return _from_keys(keys, n_rows, n_columns)


def union(a: Pattern, b: Pattern) -> Pattern:
    """Entries of either."""
    if a is b or not b.nnz:
        return a
    if not a.nnz:
        return b
    if a.nnz == b.nnz and np.array_equal(a.indptr, b.indptr) and \
            np.array_equal(a.indices, b.indices):
        return a
    _check(a.nnz + b.nnz)
    return _from_unsorted(np.concatenate([a.keys(), b.keys()]), a.n_rows, a.n_columns)


def stack(patterns: list[Pattern], n_columns: int) -> Pattern:
    """One below the other."""
    starts = np.cumsum([0, *[p.nnz for p in patterns]])
    indptr = [p.indptr[1:] + start for p, start in zip(patterns, starts, strict=False)]
    return Pattern(np.concatenate([np.zeros(1, np.int64), *indptr]),
                   np.concatenate([np.zeros(0, np.int32), *[p.indices for p in patterns]]),
                   n_columns)


def block_of(pattern: Pattern, rows: Sequence[int], columns: Sequence[int]
             ) -> tuple[Pattern, Ints]:
    """The rows and columns from a first to before a last; and the numbers of their entries."""
    first, last = pattern.indptr[rows[0]], pattern.indptr[rows[1]]
    entries = np.arange(first, last)
    if columns[0] == 0 and columns[1] == pattern.n_columns:
        return Pattern(pattern.indptr[rows[0]:rows[1] + 1] - first, pattern.indices[first:last],
                       pattern.n_columns), entries
    at = pattern.indices[first:last]
    inside = (at >= columns[0]) & (at < columns[1])
    counted = np.concatenate([[0], np.cumsum(inside)])
    indptr = counted[pattern.indptr[rows[0]:rows[1] + 1] - first]
    return Pattern(indptr, at[inside] - np.int32(columns[0]), columns[1] - columns[0]), \
        entries[inside]


def gather(pattern: Pattern, index: Ints) -> Pattern:
    """Rows by their numbers; none for −1."""
    index = index.astype(np.intp, copy=False)
    absent = index < 0
    counts = pattern.counts[index] if pattern.n_rows else np.zeros(len(index), np.int64)
    counts[absent] = 0
    indptr = np.zeros(len(index) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    _check(int(indptr[-1]))
    if pattern.n_rows == 0 or indptr[-1] == 0:
        return Pattern(indptr, np.zeros(0, np.int32), pattern.n_columns)
    source = np.repeat(pattern.indptr[:-1][index] - indptr[:-1], counts)
    source += np.arange(len(source))
    return Pattern(indptr, pattern.indices[source], pattern.n_columns)


def collect(pattern: Pattern, target: Ints, n_rows: int) -> Pattern:
    """Put each row into the row ``target``, together with others that go there; −1 for nowhere."""
    inverse = np.full(n_rows, -1, np.intp)
    kept = np.flatnonzero(target >= 0)
    inverse[target[kept]] = kept
    if np.array_equal(inverse[target[kept]], kept):            # no two go to the same
        return gather(pattern, inverse)
    if len(kept) < len(target):
        pattern = gather(pattern, kept)
    keys = np.repeat(target[kept].astype(np.int64) * pattern.n_columns, pattern.counts)
    keys += pattern.indices
    return _from_unsorted(keys, n_rows, pattern.n_columns)


def follow(pattern: Pattern, flow: Flow, n_rows: int) -> Pattern:
    """Pattern of a result from that of an operand."""
    if flow is None:
        return empty(n_rows, pattern.n_columns)
    for step in flow:
        pattern = collect(pattern, step.target, step.size) if isinstance(step, Collect) \
            else gather(pattern, step.index)
    return pattern


def _check(count: int) -> None:
    if count > LIMIT:
        raise PatternTooLargeError(
            f"The sparsity pattern would have {count:,} non-zeros here, more than the limit of "
            f"{LIMIT:,}.", TOO_LARGE)
