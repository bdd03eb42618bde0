"""Linear systems with the Jacobian of an equation: dense, or sparse where they are large.

Dense matrices are solved by LAPACK, sparse ones by SuperLU; which of them it is follows from the
number of unknowns and from the pattern of the Jacobian, and is the same for numbers and in traces.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy  # loads its submodules when they are first used

from ..compiler.errors import CustomRuleError, Origin, SingularSystemError
from ..compiler.trace.stage import definition, function_name
from .api import jacobian
from .scipy_bridge import sparse_solve
from .sparse_packing import Block, SparsePacking

Function = Callable[..., Any]

SPARSE_FROM = 100        # unknowns; a smaller dense system is solved faster than a sparse one
_EPS = float(np.finfo(float).eps)
_DAMPED_STEPS = 100
_LEAST_DAMPING = 1e-6


class Linearized:
    """The Jacobian of ``residual(x, *parameters)`` by ``x``, and systems with it.

    Args:
        residual: as many equations as ``x`` has elements.
        sparse: whether to make use of zeros; with ``"auto"`` from ``SPARSE_FROM`` unknowns on, if
            at most a quarter of the entries can differ from zero.
    """

    def __init__(self, residual: Function, sparse: bool | str) -> None:
        self.residual, self.sparse = residual, sparse
        self.dense = jacobian(residual)
        self.compressed = jacobian(residual, sparse="csr" if sparse is True else "auto")
        self.recorded: list[SparsePacking] = []      # what derivative code relies on

    def _takes_zeros(self, x: Any) -> bool:
        return np.ndim(x) > 0 and (self.sparse is True or (
            self.sparse == "auto" and np.size(x) >= SPARSE_FROM))

    def matrix(self, x: Any, parameters: Sequence[Any]) -> Any:
        """The Jacobian as numbers, of shape (x.size, x.size): an array, or a SciPy matrix.

        Raises:
            CustomRuleError: if a captured array has other zeros than derivatives were made for.
        """
        if any(not packing.is_current() for packing in self.recorded):
            raise CustomRuleError(
                f"An array that {function_name(self.residual)} captures has other zeros than when "
                "the derivative was compiled, so the pattern of its Jacobian has changed.",
                "Pass the array as a parameter.", definition(self.residual))
        if self._takes_zeros(x):
            found = self.compressed(x[()], *parameters)
            if scipy.sparse.issparse(found):
                return found.astype(float)
        else:
            found = self.dense(x[()], *parameters)
        return np.asarray(found, float).reshape(x.size, x.size)

    def solve(self, x: Any, parameters: Sequence[Any], b: Any) -> Any:
        """The solution of a system with the Jacobian, recorded in the current trace."""
        if not b.shape:
            return b / self.dense(x, *parameters)
        right = np.reshape(b, (b.size,))
        if self._takes_zeros(x):
            found, packing = self.compressed.entries(x, *parameters)
            if packing is not None:
                self.recorded.append(packing)
                return np.reshape(sparse_solve(found, _places(packing.blocks[0]), right), b.shape)
        else:
            found = self.dense(x, *parameters)
        return np.reshape(np.linalg.solve(np.reshape(found, (b.size, b.size)), right), b.shape)


def _places(block: Block) -> Any:
    return block.matrix(np.ones(len(block.second)))


# -- with numbers -----------------------------------------------------------------------------

def newton_step(matrix: Any, residual: Any) -> Any:
    """Zero at a root, whatever the matrix; not finite where there is none."""
    if not residual.any():
        return np.zeros(residual.shape)
    try:
        return _solver(matrix)(residual.ravel()).reshape(residual.shape)
    except (np.linalg.LinAlgError, RuntimeError):        # the latter is SuperLU's
        return np.full(residual.shape, np.nan)


def _solver(matrix: Any) -> Callable[[Any], Any]:
    """Solves systems with a matrix; a sparse one is factored once."""
    if scipy.sparse.issparse(matrix):
        solve: Callable[[Any], Any] = scipy.sparse.linalg.splu(matrix.tocsc()).solve
        return solve
    return lambda b: np.linalg.solve(matrix, b)


def damped_newton(residual: Callable[[Any], Any], matrix: Callable[[Any], Any], x: Any) -> Any:
    """A root, or as near to one as it gets: Newton's method with natural damping.

    A step is shortened until the *simplified* Newton step behind it, with the same matrix, is
    shorter than the step itself: a test that does not depend on the scale of equations. (Deuflhard,
    Newton Methods for Nonlinear Problems, 2004, section 3.3.)

    Args:
        residual: of an array like ``x``.
        matrix: its Jacobian there, sparse or dense.
        x: where to start.
    """
    damping = 1.0
    for _ in range(_DAMPED_STEPS):
        try:
            solve = _solver(matrix(x))
        except RuntimeError:
            return x
        step = solve(residual(x).ravel()).reshape(x.shape)
        length = np.linalg.norm(step)
        if not np.isfinite(length) or length <= 1e-8 * np.linalg.norm(x):
            return x - step if np.isfinite(length) else x
        while True:
            with np.errstate(all="ignore"):
                behind = solve(residual(x - damping * step).ravel())
            if np.linalg.norm(behind) <= (1.0 - damping / 4.0) * length:
                break
            damping /= 2.0
            if damping < _LEAST_DAMPING:
                return x
        x, damping = x - damping * step, min(1.0, 4.0 * damping)
    return x


# -- regular matrices -------------------------------------------------------------------------

def refuse_singular(matrix: Any, beside: Any, name: str, where: Origin | None) -> None:
    """A regular Jacobian is what the implicit function theorem asks for.

    It must be regular beyond its rounding, and beyond its change within the rounding of the
    solution. Rows and columns are scaled by their largest entries first: units do not matter.

    Args:
        matrix: the Jacobian at the solution.
        beside: at a point that is hardly another.
        name: of the residual.
        where: it is defined.

    Raises:
        SingularSystemError: else, naming an empty row or column.
    """
    for axis, what in ((1, "equation {} depends on no unknown"),
                       (0, "unknown {} is in no equation")):
        empty = np.flatnonzero(~(_largest_along(matrix, axis) > 0))
        if len(empty):
            raise SingularSystemError(
                f"The Jacobian of {name} is singular at the solution: {what.format(empty[0])} "
                f"there.", "The solution is no differentiable function of the parameters; give "
                "as many independent equations as unknowns.", where)
    rows = 1.0 / _largest_along(matrix, 1)
    columns = 1.0 / _largest_along(_scaled(matrix, rows, np.ones(len(rows))), 0)
    inverse = _norm_of_inverse(_scaled(matrix, rows, columns))
    blur = 10 * _EPS * len(rows) + _norm(_scaled(beside - matrix, rows, columns))
    if not inverse * blur < 0.5:
        raise SingularSystemError(
            f"The Jacobian of {name} is singular at the solution.", "The solution is no "
            "differentiable function of the parameters there, such as at a double root.", where)


def _largest_along(matrix: Any, axis: int) -> Any:
    size = abs(matrix)
    if scipy.sparse.issparse(matrix):
        return np.ravel(size.max(axis=axis).toarray())
    return size.max(axis=axis, initial=0.0)


def _scaled(matrix: Any, rows: Any, columns: Any) -> Any:
    if scipy.sparse.issparse(matrix):
        diagonal = scipy.sparse.diags_array
        return diagonal(rows) @ matrix @ diagonal(columns)
    return rows[:, None] * matrix * columns


def _norm(matrix: Any) -> float:
    """The largest sum of a column."""
    return float(np.max(abs(matrix).sum(axis=0), initial=0.0))


def _norm_of_inverse(matrix: Any) -> float:
    """Exact for a dense matrix, estimated (within a small factor) for a sparse one."""
    if not scipy.sparse.issparse(matrix):
        try:
            return _norm(np.linalg.inv(matrix)) if matrix.size else 0.0
        except np.linalg.LinAlgError:
            return np.inf
    try:
        solve = scipy.sparse.linalg.splu(matrix.tocsc()).solve
    except RuntimeError:
        return np.inf
    inverse = scipy.sparse.linalg.LinearOperator(
        matrix.shape, solve, rmatvec=lambda b: solve(b, "T"), matmat=solve,
        rmatmat=lambda b: solve(b, "T"), dtype=float)
    # One column at a time: more would be chosen at random, with NumPy's global generator.
    return float(scipy.sparse.linalg.onenormest(inverse, t=1))
