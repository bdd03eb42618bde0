"""Functions that are given by an equation: their solver is run, not differentiated.

At a solution of r(x, p) = 0 the implicit function theorem gives ∂r/∂x ẋ = −∂r/∂p ṗ. That is the
rule of an opaque operation, written in plain NumPy over the derivatives of ``r``; both modes, all
orders and batching follow from it. The solver runs when generated code runs, and what it returns is
checked and improved by Newton's method, since a derivative at a point that is no solution would be
wrong without a sign of it.
"""

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

import numpy as np
import scipy  # loads its submodules when they are first used

from ..compiler.arraytype import ArrayType
from ..compiler.errors import (
    ConvergenceError,
    CustomRuleError,
    InputTypeError,
    Origin,
    ShapeError,
    SingularSystemError,
)
from ..compiler.graph import CURRENT
from ..compiler.trace.captures import captured_by
from ..compiler.trace.stage import definition, function_name, no_trace
from ..compiler.trace.tracer import Tracer
from ..compiler.trace.tree import flatten, unflatten
from .api import jvp
from .application import Opaque
from .custom import Custom, CustomJVP, CustomVJP, pairs
from .linearized import Linearized, damped_newton, newton_step, refuse_singular

Function = Callable[..., Any]

_NEWTON_STEPS = 20       # after the solver; it converges quadratically, or not at all
_BESIDE = 1e-12          # relative to the solution
_EPS = float(np.finfo(float).eps)


class _Typed(Custom):
    """An opaque function whose result's type follows from those of its arguments."""

    def __init__(self, function: MethodType, like: Callable[[Sequence[Any]], ArrayType], name: str
                 ) -> None:
        super().__init__(function, opaque=True)
        self.like = like
        self.name = name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run, or record; an equation must not hold a traced value besides its operands."""
        if CURRENT.builder is not None and captured_by(self.function.__self__).traced:
            raise CustomRuleError(
                f"The equation of {self.name} uses a traced value of an enclosing function, by "
                "which its solution would not be differentiated.",
                "Pass the value as a parameter.", self.where)
        return super().__call__(*args, **kwargs)

    @property
    def where(self) -> Origin | None:
        """Where the equation is defined."""
        return definition(self.function.__self__)

    def _run_once(self, given: list[Any], operands: Sequence[int], spec: Any
                  ) -> tuple[Opaque, tuple[ArrayType, ...], Any]:
        out_type = self.like(unflatten(spec, given))
        static = tuple(None if i in operands else leaf for i, leaf in enumerate(given))
        return (Opaque(self.function, static, tuple(operands), spec, (out_type,)), (out_type,),
                flatten(0.0)[1])


class Implicit(_Typed, CustomJVP):
    """With a rule in forward form."""


class ImplicitReverse(_Typed, CustomVJP):
    """With a rule in reverse form."""


def moving_leaves(values: Any, tangents: Any) -> tuple[list[int], list[Any]]:
    """Positions among the leaves of ``values`` that have a tangent, and these tangents."""
    found = pairs(values, tangents)
    assert found is not None
    moving = [i for i, (_, t) in enumerate(found) if isinstance(t, Tracer)]
    return moving, [found[i][1] for i in moving]


def by_leaves(function: Function, values: Any, moving: Sequence[int]) -> Function:
    """``function(*values)`` as a function of some leaves of its arguments, the others fixed."""
    leaves, spec = flatten(values)

    def of_leaves(*changed: Any) -> Any:
        filled = list(leaves)
        for i, value in zip(moving, changed, strict=True):
            filled[i] = value
        return function(*unflatten(spec, filled))
    return of_leaves


class ImplicitRoot:
    """x(p) with r(x, p) = 0; see :func:`implicit_root`."""

    def __init__(self, residual: Function, solver: Function | None, tol: float,
                 sparse: bool | str = "auto") -> None:
        self.residual, self.solver, self.tol, self.sparse = residual, solver, tol, sparse
        self.where = definition(residual)
        self.jacobian = Linearized(residual, sparse, self.where)
        self.solve = Implicit(self.find, self._type, f"{function_name(residual)}_root")
        self.solve.defjvp(self._rule)
        functools.update_wrapper(self, residual, updated=())

    def __call__(self, x0: Any, *parameters: Any) -> Any:
        """The solution near ``x0``."""
        return self.solve(x0, *parameters)

    def __reduce__(self) -> Any:
        return type(self), (self.residual, self.solver, self.tol, self.sparse)

    def __repr__(self) -> str:
        return f"<wengert implicit root of {function_name(self.residual)}>"

    # -- the rule -----------------------------------------------------------------------------

    def _rule(self, primals: Any, tangents: Any) -> Any:
        x = self.solve(*primals)
        moving, moved = moving_leaves(primals[1:], tangents[1:])
        if not moving:
            return x, np.zeros_like(x)
        parameters = primals[1:]
        at = by_leaves(functools.partial(self.residual, x), parameters, moving)
        leaves = flatten(parameters)[0]
        change = jvp(at, tuple(range(len(moving))))(*[leaves[i] for i in moving], tuple(moved))[1]
        self._check(change.shape, x.shape)
        return x, -self.jacobian.solve(x, parameters, change)

    def _type(self, arguments: Sequence[Any]) -> ArrayType:
        """The solution has the shape of the initial guess, and at least single precision."""
        x0 = arguments[0]
        kind = x0.type if isinstance(x0, Tracer) else None
        shape, dtype = (kind.shape, kind.dtype) if kind else (np.shape(x0), np.asarray(x0).dtype)
        return ArrayType(shape, self._dtype(dtype))

    def _dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        if dtype.kind not in "fiub":
            raise InputTypeError(
                f"The initial guess has dtype {dtype}: implicit functions solve for real unknowns.",
                "Take real and imaginary part as two unknowns.", self.where)
        return dtype if dtype.kind == "f" else np.dtype(float)

    # -- the solution -------------------------------------------------------------------------

    def find(self, x0: Any, *parameters: Any) -> Any:
        """Run the solver; improve and check what it returns.

        Raises:
            ConvergenceError: if that is no solution.
            SingularSystemError: if the Jacobian there is singular.
            ShapeError: if there are more or fewer equations than unknowns.
        """
        start = np.asarray(x0)
        dtype = self._dtype(start.dtype)
        start = start.astype(float)
        with no_trace():
            self._check(np.shape(self.residual(start[()], *parameters)), start.shape)
            found = np.asarray(self._solved(start, parameters), dtype=float)
            if found.shape != start.shape:
                raise ShapeError(f"The solver returned an array of shape {found.shape} for "
                                 f"unknowns of shape {start.shape}.", "", self.where)
            return self._polished(found, start, parameters).astype(dtype)[()]

    def _check(self, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
        if shape != wanted:
            raise ShapeError(f"The residual has shape {shape}, the unknown has shape {wanted}.",
                             "An implicit function needs as many equations as unknowns.",
                             self.where)

    def _solved(self, start: Any, parameters: Sequence[Any]) -> Any:
        def of_x(x: Any) -> Any:
            return self.residual(x, *parameters)
        if self.solver is not None:
            return self.solver(of_x, start.copy()[()])
        if scipy.sparse.issparse(self.jacobian.matrix(start, parameters)):
            return damped_newton(of_x, lambda x: self.jacobian.matrix(x, parameters), start)
        # MINPACK's hybrid method (Powell 1970) on the unknowns in one row.
        done = scipy.optimize.root(
            lambda v: np.ravel(of_x(v.reshape(start.shape)[()])), start.ravel(),
            jac=lambda v: self.jacobian.matrix(v.reshape(start.shape), parameters))
        return done.x.reshape(start.shape)       # judged by what it is, not by its message

    def _polished(self, x: Any, start: Any, parameters: Sequence[Any]) -> Any:
        """Newton's method until the step is rounding.

        At a regular root it converges quadratically, until rounding makes the steps irregular; at a
        multiple root each step is the same fraction of the one before.
        """
        name, last, before, pace, even = function_name(self.residual), None, np.inf, 0.0, 0
        for _ in range(_NEWTON_STEPS):
            matrix = self.jacobian.matrix(x, parameters)
            residual = np.asarray(self.residual(x[()], *parameters), float)
            step = newton_step(matrix, residual)
            size, scale = _largest(step), _largest(x)
            if not np.isfinite(size):
                break
            ratio = size / before if before else 0.0
            same = last is not None and np.vdot(step, last) > 0 and abs(ratio - pace) < 0.1
            near = size <= 1e-3 * max(scale, _largest(start))
            even = even + 1 if same and near and 0.3 < ratio < 0.85 else 0
            if even == 4:
                raise SingularSystemError(
                    f"{name} has a multiple root here: Newton's method comes nearer by a factor of "
                    f"{1 / ratio:.2g} a step only.", "Its root is no differentiable function of "
                    "the parameters.", self.where)
            if size <= 4 * _EPS * scale or size == 0.0:
                return self._regular(x - step, start, parameters)
            if ratio > 0.85 and before <= max(self.tol * scale, 1e-14 * _largest(start)):
                return self._regular(x, start, parameters)     # as near as rounding allows
            if ratio > 4.0:
                break
            x, last, before, pace = x - step, step, size, ratio
        step_is = f"is {size:.3g} long" if np.isfinite(size) else "does not exist"
        raise ConvergenceError(
            f"The solver found no root of {name}: from the initial guess it came to residuals of "
            f"up to {_largest(residual):.3g}, where a Newton step {step_is}.",
            "Start nearer to a solution, or give a solver of your own with solver=.", self.where)

    def _regular(self, x: Any, start: Any, parameters: Sequence[Any]) -> Any:
        """The solution, if its Jacobian is regular."""
        nudge = _BESIDE * max(_largest(x), _largest(start))
        at, beside = (self.jacobian.matrix(v, parameters) for v in (x, x + nudge))
        refuse_singular(at, beside, function_name(self.residual), self.where)
        return x


def _largest(x: Any) -> float:
    return float(np.max(np.abs(x), initial=0.0))


class _Difference:
    """x − g(x, p), whose roots are the fixed points of g."""

    def __init__(self, function: Function) -> None:
        self.function = function
        functools.update_wrapper(self, function, updated=())

    def __call__(self, x: Any, *parameters: Any) -> Any:
        return x - self.function(x, *parameters)

    def __reduce__(self) -> Any:
        return type(self), (self.function,)


class _Iteration:
    """x = g(x) until it hardly changes; Newton's method goes on from there."""

    def __init__(self, max_iterations: int) -> None:
        self.max_iterations = max_iterations

    def __call__(self, difference: Function, x: Any) -> Any:
        for _ in range(self.max_iterations):
            step = difference(x)
            x = x - step
            if not _largest(step) > 1e-6 * _largest(x):
                break
        return x


def implicit_root(residual: Function, *, solver: Function | None = None, tol: float = 1e-8,
                  sparse: bool | str = "auto") -> Any:
    """The root of ``residual(x, *parameters)`` as a differentiable function of the parameters.

    The solver runs whenever the function is called; its steps are not differentiated. Derivatives
    follow from the implicit function theorem, ∂r/∂x dx = −∂r/∂p dp, in both modes and to any order.
    A linear system with the Jacobian ∂r/∂x is solved for each of them, a sparse one where there are
    many unknowns, and few in each equation.

    Args:
        residual: as many equations as ``x`` has elements, of the same shape; plain NumPy.
        solver: ``solver(f, x0) -> x`` with f(x) = residual(x, *parameters); by default MINPACK's
            hybrid method (``scipy.optimize.root``) with the compiled Jacobian.
        tol: how long the Newton step at the solver's result may be, relative to the result;
            Newton's method improves it from there to rounding.
        sparse: whether ∂r/∂x is a sparse matrix, for Newton's method and for derivatives; "auto":
            from 200 unknowns on, if at most 5 % of its entries may differ from zero. The solver is
            then a damped Newton method by default.

    Returns:
        ``root(x0, *parameters) -> x`` of the shape of ``x0``. Which root is found depends on the
        initial guess ``x0`` (a number or an array); the derivative by it is zero.

    Raises:
        ConvergenceError: when called, if the solver comes to no root.
        SingularSystemError: when called, if the Jacobian at the root is singular.
        ShapeError: when called, if the shapes of residual and unknown differ.
        PatternTooLargeError: when called, with ``sparse=True``, if the Jacobian is not sparse.

    >>> import numpy as np, wengert as wg
    >>> root = wg.implicit_root(lambda x, a: x ** 3 + x - a)
    >>> value, slope = wg.value_and_grad(root, argnums=1)(1.0, 2.0)
    >>> round(float(value), 12), round(float(slope), 12)
    (1.0, 0.25)
    """
    return ImplicitRoot(residual, solver, tol, sparse)


def implicit_fixed_point(function: Function, *, max_iterations: int = 1000, tol: float = 1e-8,
                         sparse: bool | str = "auto") -> Any:
    """The fixed point x = ``function(x, *parameters)``, differentiable by the parameters.

    Iterates from ``x0`` until the change is below 1e-6 of the value, then goes on with Newton's
    method; derivatives as for :func:`implicit_root`, so that their cost does not depend on the
    number of iterations.

    Args:
        function: of ``x`` and parameters, with a result of the shape of ``x``.
        max_iterations: of the plain iteration.
        tol: as for :func:`implicit_root`.
        sparse: as for :func:`implicit_root`.

    Returns:
        ``fixed_point(x0, *parameters) -> x``.

    Raises:
        ConvergenceError: when called, if the iteration comes to no fixed point.
        SingularSystemError: when called, if 1 − ∂g/∂x is singular there.

    >>> import numpy as np, wengert as wg
    >>> heron = wg.implicit_fixed_point(lambda x, a: (x + a / x) / 2.0)
    >>> float(wg.grad(heron, argnums=1)(1.0, 4.0))
    0.25
    """
    return ImplicitRoot(_Difference(function), _Iteration(max_iterations), tol, sparse)
