"""Systems with a sparse matrix, given by its entries and their places.

Every entry is an operand of its own, so the derivative by the matrix has as many elements as the
matrix has entries. Entries at the same place are added up.
"""

from functools import cache
from typing import Any

import numpy as np
import scipy  # loads its submodules when they are first used

from ..arraytype import ArrayType
from ..errors import ShapeError, UnsupportedArgumentError
from .matrix import as_columns, batch_one_by_one
from .row import General, Op, sample


def _solve(data: Any, b: Any, rows: Any, columns: Any, transposed: bool) -> Any:
    n = len(b)
    matrix = scipy.sparse.coo_array((data, (rows, columns)), shape=(n, n))
    return scipy.sparse.linalg.splu(matrix.tocsc()).solve(b, "T" if transposed else "N")


def _factor_text(args: Any, params: Any, types: Any) -> str:
    data, _, rows, columns = args
    n = types[1].shape[0]
    return (f"sparse.linalg.splu(sparse.coo_array(({data}, ({rows}, {columns})), "
            f"shape=({n}, {n})).tocsc())")


def _text(args: Any, params: Any, types: Any) -> str:
    factors, b = args
    return f"{factors}.solve({b}, 'T')" if params["transposed"] else f"{factors}.solve({b})"


@cache
def _dtype(data: Any, b: Any) -> Any:
    place = np.zeros(1, int)
    return _solve(np.ones(1, data), np.ones(1, b), place, place, False).dtype


def _type(data: ArrayType, b: ArrayType, rows: ArrayType, columns: ArrayType, transposed: bool
          ) -> ArrayType:
    if b.ndim not in (1, 2) or not data.ndim == rows.ndim == columns.ndim == 1 or \
            not data.shape == rows.shape == columns.shape:
        raise ShapeError(f"sparse_solve: {data.shape[0] if data.ndim else 'a number of'} entries, "
                         f"places of shapes {rows.shape} and {columns.shape}, a right-hand side "
                         f"of shape {b.shape}.")
    return ArrayType(b.shape, _dtype(data.dtype, b.dtype))


def _product(data: Any, x: Any, rows: Any, columns: Any) -> Any:
    """A @ x."""
    picked = x[columns]
    terms = data * picked if x.ndim == 1 else data[:, None] * picked
    out = np.zeros_like(terms, shape=x.shape)
    np.add.at(out, rows, terms)
    return out


def _jvp(args: Any, tangents: Any, out: Any, transposed: bool) -> Any:
    data, _, rows, columns = args                              # A ẋ = ḃ − Ȧ x
    t_data, t_b = tangents[:2]
    right = t_b
    if t_data is not None:
        change = _product(t_data, out, *((columns, rows) if transposed else (rows, columns)))
        right = -change if t_b is None else t_b - change
    return sparse_solve(data, right, rows, columns, transposed=transposed)


def _transpose(ct: Any, data: Any, b: Any, rows: Any, columns: Any, transposed: bool) -> Any:
    return sparse_solve(data, ct, rows, columns, transposed=not transposed)


def _batch(args: Any, batched: Any, transposed: bool) -> Any:
    data, b, rows, columns = args
    if batched[2] or batched[3]:
        raise UnsupportedArgumentError("The pattern of a sparse matrix differs within a batch.",
                                       "Give all matrices the entries of all patterns.")
    if batched != (False, True, False, False):
        return batch_one_by_one(lambda: sparse_solve)(args, batched, transposed=transposed)
    side_by_side, back = as_columns(b)
    return back(sparse_solve(data, side_by_side, rows, columns, transposed=transposed))


# A tridiagonal matrix with a corner; its last entry is at the place of another.
_PLACES = (np.array([0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 0, 2]),
           np.array([0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 3, 2]))
_ENTRIES = np.array([2.0, -0.6, 0.5, 1.7, -0.8, 0.9, 1.4, 0.4, -0.3, 2.2, 0.7, 1.0])

sparse_solve = Op(
    "sparse_solve", _solve, _type, General(_jvp, {1: _transpose}), params=("transposed",),
    python=_text, factor=((0, 2, 3), _factor_text), batch=_batch, fixed=(2, 3), samples=(
        sample(_ENTRIES, (4,), *_PLACES, transposed=False),
        sample(_ENTRIES, (4, 2), *_PLACES, transposed=True),
        sample(np.zeros(0), (0,), np.zeros(0, int), np.zeros(0, int), transposed=False)))
