"""The Jacobian ∂r/∂x of an implicit function, dense or sparse, and linear systems with it.

Newton's method needs it for numbers, the derivative rule for traced values. A sparse one is held by
its entries, which are found by formulas or compressed sweeps like those of any sparse Jacobian, and
is factored by SuperLU.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy  # loads its submodules when they are first used

from ..compiler.errors import (
    InputTypeError,
    Origin,
    PatternTooLargeError,
    SingularSystemError,
)
from ..compiler.graph import Builder, Graph, Node
from ..compiler.ops.sparse import sparse_solve
from ..compiler.trace.stage import (
    Staged,
    function_name,
    inline_call,
    is_traceable,
    leaf_names,
    no_trace,
    stage,
)
from ..compiler.trace.tracer import Tracer
from ..compiler.trace.tree import flatten
from .api import jacobian
from .compile import Request, Selection, select
from .sparse import build_sparse
from .sparse_packing import SparsePacking

Function = Callable[..., Any]

LEAST = 200              # unknowns from which on a sparse Jacobian may be worth its overhead
DENSE = 0.05             # share of entries that may differ from zero, from which on it is not
_SHIFT = 1e-12           # μ, relative to the square of the largest entry
_KEPT = 8                # graphs of entries, for residuals of different types or paths
_MOST_STEPS, _HALVINGS = 100, 30
_NEAR = 1e-9             # a step relative to x; what is left is done by whoever checks the root
_EPS = float(np.finfo(float).eps)


class _Entries(NamedTuple):
    """Entries of a sparse Jacobian as a graph, their rows and columns, and what that rests on."""

    of: Graph
    graph: Graph
    places: tuple[Node, Node]
    consulted: tuple[tuple[Any, Any], ...]


class Linearized:
    """∂r/∂x of ``residual(x, *parameters)``.

    Args:
        residual: with a result of the shape of ``x``.
        sparse: True, False, or "auto": sparse from ``LEAST`` unknowns on, if at most the share
            ``DENSE`` of the entries may differ from zero.
        where: the residual is defined.
    """

    def __init__(self, residual: Function, sparse: bool | str, where: Origin | None) -> None:
        if sparse not in (True, False, "auto"):
            raise InputTypeError(f"sparse={sparse!r} says nothing about the Jacobian.",
                                 'Use True, False or "auto".', where)
        self.residual, self.sparse = residual, sparse
        self.dense = jacobian(residual)
        self.entries = jacobian(residual, sparse="csc" if sparse is True else "auto")
        self.derived: tuple[_Entries, ...] = ()

    def may_be_sparse(self, n: int) -> bool:
        """Whether a pattern is worth looking for, with so many unknowns."""
        return bool(n) and (self.sparse is True or (self.sparse == "auto" and n >= LEAST))

    def matrix(self, x: Any, parameters: Sequence[Any]) -> Any:
        """The Jacobian at a point, of numbers: an array, or a SciPy array in CSC format."""
        found = self._sparse_matrix(x, parameters) if self.may_be_sparse(x.size) else None
        if found is None:
            found = np.asarray(self.dense(x[()], *parameters), float).reshape(x.size, x.size)
        return found

    def _sparse_matrix(self, x: Any, parameters: Sequence[Any]) -> Any:
        try:
            found = self.entries(x[()], *parameters)
        except PatternTooLargeError:
            if self.sparse is True:
                raise
            return None
        if not scipy.sparse.issparse(found):
            return np.asarray(found, float).reshape(x.size, x.size)
        if self.sparse == "auto" and found.nnz > DENSE * x.size ** 2:
            return found.toarray().astype(float, copy=False)
        return found.tocsc().astype(float, copy=False)

    def solve(self, x: Any, parameters: Sequence[Any], b: Any) -> Any:
        """(∂r/∂x)⁻¹ b, recorded for a traced ``x``."""
        if self.may_be_sparse(x.size):
            found = self._traced_entries((x, *parameters))
            if found is not None:
                data, rows, columns = found
                flat = sparse_solve(data, np.reshape(b, (b.size,)), rows, columns, transposed=False)
                return np.reshape(flat, b.shape)
        matrix = self.dense(x, *parameters)
        if not b.shape:
            return b / matrix
        rows = np.reshape(matrix, (b.size, b.size))
        return np.reshape(np.linalg.solve(rows, np.reshape(b, (b.size,))), b.shape)

    def _traced_entries(self, args: tuple[Any, ...]) -> tuple[Any, Any, Any] | None:
        """Entries row by row, rows and columns; None where a dense Jacobian is preferred."""
        leaves, spec = flatten((args, {}))
        selection = select(self.residual, args, {}, leaves, 0)
        staged = stage(self.residual, leaves, spec, leaf_names(self.residual, args, {}))
        found = self._derived(staged, selection)
        if found is None:
            return None
        inputs = [leaf for leaf in leaves if is_traceable(leaf)]
        (data,) = inline_call(found.graph, [*inputs, *staged.lifted])
        # Zeros of captured arrays were made use of: the program holds while they stay the same.
        builder = data.builder
        for captured, before in found.consulted:
            same = np.all(Tracer(builder, builder.constant(captured)) == before)
            builder.presume(same.node, True)
        return data, *[Tracer(builder, builder.keep_constant(n)) for n in found.places]

    def _derived(self, staged: Staged, selection: Selection) -> "_Entries | None":
        """The graph of the entries, the same for the same residual: its constants are shared."""
        for found in self.derived:
            if found.of == staged.graph and all(np.array_equal(*pair) for pair in found.consulted):
                return found
        request = Request("jacobian", sparse="csr" if self.sparse is True else "auto")
        try:
            with no_trace():
                graph, packing = build_sparse(request, staged, selection, function_name(
                    self.residual), "array", dense=DENSE, whole=True)
        except PatternTooLargeError:
            if self.sparse is True:
                raise
            return None
        if not isinstance(packing, SparsePacking):
            return None
        (block,) = packing.blocks
        rows, columns = map(Builder().constant, (block.pattern.rows(), block.pattern.indices))
        found = _Entries(staged.graph, graph, (rows, columns), packing.plan.consulted)
        self.derived = (found, *self.derived[:_KEPT - 1])
        return found


def newton_step(matrix: Any, residual: Any) -> Any:
    """Zero at a root, whatever the matrix; not finite where there is none."""
    if not residual.any():
        return np.zeros(residual.shape)
    return _solver(matrix)(residual.ravel()).reshape(residual.shape)


def _solver(matrix: Any) -> Function:
    """Solves with a matrix; in the sense of least squares if it is singular.

    So the steps of Newton's method lead to the solutions where these are not isolated, and it can
    be said what is wrong there. What it gives is not finite where there is no step.
    """
    if not scipy.sparse.issparse(matrix):
        return functools.partial(_dense_solution, matrix)
    if not np.all(np.isfinite(matrix.data)):
        return functools.partial(np.full_like, fill_value=np.nan)
    try:
        return scipy.sparse.linalg.splu(matrix).solve  # type: ignore[no-any-return]
    except RuntimeError:                         # SuperLU's word for singular
        return _least_squares(matrix)


def _least_squares(matrix: Any) -> Function:
    """x of (AᵀA + μ) x = Aᵀ b, from a system in which products of A's rows do not appear."""
    n, largest = matrix.shape[0], np.max(np.abs(matrix.data), initial=0.0)
    if not largest:
        return functools.partial(np.full_like, fill_value=np.nan)
    one = scipy.sparse.eye_array(n)
    factors = scipy.sparse.linalg.splu(scipy.sparse.block_array(
        [[one, matrix / largest], [matrix.T / largest, -_SHIFT * one]], format="csc"))
    return lambda b: factors.solve(np.concatenate([b / largest, np.zeros(n)]))[n:]


def _dense_solution(matrix: Any, b: Any) -> Any:
    try:
        return np.linalg.solve(matrix, b)
    except np.linalg.LinAlgError:
        if not matrix.any() or not np.all(np.isfinite(matrix)):
            return np.full(b.shape, np.nan)
        return np.linalg.lstsq(matrix, b)[0]


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
        SingularSystemError: else, naming a row or column that makes it so for its zeros alone.
    """
    n = matrix.shape[0]
    if not n:
        return
    size = abs(matrix)
    rows, columns = (_flat(size.max(axis=axis)) for axis in (1, 0))
    for largest, what in ((rows, "equation {} depends on no unknown"),
                          (columns, "unknown {} is in no equation")):
        empty = np.flatnonzero(largest == 0.0)
        if len(empty):
            raise _singular(name, f": {what.format(empty[0])} there", "The solution is no "
                            "differentiable function of the parameters; give as many independent "
                            "equations as unknowns.", where)
    left = 1.0 / rows
    right = 1.0 / _flat((_scaled(size, left, np.ones(n))).max(axis=0))
    inverse = _inverse_norm(_scaled(matrix, left, right))
    change = _flat(abs(_scaled(beside - matrix, left, right)).sum(axis=0)).max()
    if not inverse * (10 * _EPS * n + change) < 0.5:
        raise _singular(name, _without_pivot(matrix), "The solution is no differentiable function "
                        "of the parameters there, such as at a double root.", where)


def _flat(x: Any) -> Any:
    return np.ravel(x.toarray() if scipy.sparse.issparse(x) else x)


def _scaled(matrix: Any, left: Any, right: Any) -> Any:
    if scipy.sparse.issparse(matrix):
        return (scipy.sparse.diags_array(left) @ matrix @ scipy.sparse.diags_array(right)).tocsc()
    return left[:, None] * matrix * right


def _inverse_norm(matrix: Any) -> float:
    """1-norm of the inverse; estimated for a sparse matrix (Higham, Tisseur 2000)."""
    try:
        if not scipy.sparse.issparse(matrix):
            return float(np.linalg.norm(np.linalg.inv(matrix), 1))
        factors = scipy.sparse.linalg.splu(matrix)
    except (np.linalg.LinAlgError, RuntimeError):
        return np.inf
    inverse = scipy.sparse.linalg.LinearOperator(
        matrix.shape, matvec=factors.solve, rmatvec=lambda v: factors.solve(v, "T"),
        matmat=factors.solve, rmatmat=lambda v: factors.solve(v, "T"), dtype=float)
    # One column at a time: more would be drawn from NumPy's global generator.
    return float(scipy.sparse.linalg.onenormest(inverse, t=1))


def _without_pivot(matrix: Any) -> str:
    """The equation for which no unknown is left, if zeros alone make a matrix singular."""
    matching = scipy.sparse.csgraph.maximum_bipartite_matching(
        scipy.sparse.csr_array(matrix), "column")
    lonely = np.flatnonzero(matching < 0)
    return f": the unknowns of equation {lonely[0]} are determined by others" if len(lonely) else ""


def _singular(name: str, why: str, instead: str, where: Origin | None) -> SingularSystemError:
    return SingularSystemError(f"The Jacobian of {name} is singular at the solution{why}.",
                               instead, where)


def damped_newton(residual: Function, matrix: Function, x: Any) -> Any:
    """Newton's method, with steps halved until the next one would be shorter.

    Lengths of steps do not depend on the units of the equations (Deuflhard, *Newton Methods for
    Nonlinear Problems*, 2004, section 3.3). Goes as far as it gets; whether that is a root is for
    the caller to judge.
    """
    value = np.asarray(residual(x[()]), float)
    for _ in range(_MOST_STEPS):
        solve = _solver(matrix(x))
        step = solve(value.ravel()).reshape(x.shape)
        length = np.linalg.norm(step)
        if not np.isfinite(length) or length <= _NEAR * np.linalg.norm(x):
            break
        for damping in 0.5 ** np.arange(_HALVINGS):
            there = x - damping * step
            with np.errstate(all="ignore"):      # a step too far may leave the domain
                value = np.asarray(residual(there[()]), float)
            if np.linalg.norm(solve(value.ravel())) < (1.0 - 0.25 * damping) * length:
                break
        else:
            break
        x = there
    return x
