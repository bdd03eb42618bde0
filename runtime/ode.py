"""Solutions of ordinary differential equations as differentiable functions.

SciPy's integrators are run, not differentiated. The derivatives are solutions of equations of
their own: forward, of the variational equation Ṡ = (∂f/∂y) S + ∂f/∂p along with y; in adjoint
form, of λ̇ = −(∂f/∂y)ᵀ λ backwards in time, along a solution that is kept as a function of time.
(Cao, Li, Petzold, Serban, SIAM J. Sci. Comput. 24, 2003.)
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # loads its submodules when they are first used

from ..compiler.arraytype import ArrayType
from ..compiler.errors import (
    BatchedBranchError,
    ConvergenceError,
    InputTypeError,
    NotDifferentiableError,
    ShapeError,
    TimesError,
)
from ..compiler.trace.stage import definition, function_name, leaf_type, no_trace
from ..compiler.trace.tracer import Tracer
from ..compiler.trace.tree import flatten, unflatten
from .api import compile as compiled
from .api import jacobian, stop_gradient, vjp, vmap
from .application import linear_call
from .implicit import Implicit, ImplicitReverse, by_leaves, moving_leaves
from .linearized import LEAST
from .pickling import pack_spec, unpack_spec

Function = Callable[..., Any]

_EPS = float(np.finfo(float).eps)
_STUCK = 10_000        # evaluations at one time; Newton's method takes a few
_IMPLICIT = ("Radau", "BDF", "LSODA")       # methods that take a Jacobian
_SPARSE = ("Radau", "BDF")                  # and those that take a sparse one


class _Rate:
    """f(t, y, p) as one array, whatever container the user's function returns."""

    def __init__(self, function: Function) -> None:
        self.function = function
        functools.update_wrapper(self, function, updated=())

    def __call__(self, t: Any, y: Any, *parameters: Any) -> Any:
        out = self.function(t, y, *parameters)
        out = np.stack(out) if isinstance(out, (list, tuple)) else out
        if np.shape(out) != np.shape(y):
            raise ShapeError(f"The right-hand side has shape {np.shape(out)}, the state has shape "
                             f"{np.shape(y)}.", "Return one rate for each element of the state.",
                             definition(self.function))
        return out

    def __reduce__(self) -> Any:
        return type(self), (self.function,)


@dataclass(frozen=True)
class _Variational:
    """Right-hand side of the state and its sensitivities, side by side in one row.

    The sensitivities are those by the leaves ``moving`` of the parameters, multiplied by the
    parameter's size so that they have the size of the state; or, if ``moving`` is None, those by
    the initial state.
    """

    function: Function
    moving: tuple[int, ...] | None

    @property
    def __name__(self) -> str:
        return f"{function_name(self.function)}_sensitivities"

    def __call__(self, t: Any, z: Any, *parameters: Any) -> Any:
        leaves = [flatten(parameters)[0][i] for i in self.moving or ()]
        sizes = _sizes(leaves)
        n = int(np.sqrt(z.size)) if self.moving is None else z.size // (1 + sizes.size)
        columns = np.reshape(z, (n, z.size // n))
        y, s = columns[:, 0], columns[:, 1:]
        s_dot = jacobian(self.function, 1)(t, y, *parameters) @ s
        if self.moving is not None:
            at = by_leaves(functools.partial(self.function, t, y), parameters, self.moving)
            blocks = jacobian(at, tuple(range(len(leaves))))(*leaves)
            s_dot = s_dot + sizes * np.concatenate(
                [np.reshape(b, (n, b.size // n)) for b in blocks], axis=1)
        y_dot = self.function(t, y, *parameters)
        return np.ravel(np.concatenate([y_dot[:, None], s_dot], axis=1))


def _sizes(leaves: Sequence[Any]) -> Any:
    """Sizes of the parameters, in one row; 1 for zeros."""
    sizes = np.abs(_row(leaves))
    return stop_gradient(np.where(sizes == 0.0, 1.0, sizes))


def _row(leaves: Sequence[Any]) -> Any:
    """Arrays and numbers in one row."""
    rows = [np.reshape(leaf, (-1,)) for leaf in leaves]
    return np.concatenate(rows) if len(rows) > 1 else rows[0] if rows else np.zeros(0)


class OdeSolution:
    """y(t; y0, p) with ẏ = f(t, y, p); see :func:`ode_solution`."""

    def __init__(self, function: Function, method: str, rtol: float, atol: Any, sensitivity: str
                 ) -> None:
        self.function, self.method, self.rtol, self.atol = function, method, rtol, atol
        self.sensitivity = sensitivity
        self.where = definition(function)
        self.rate = _Rate(function)
        # The user's own function is called as it is; those made here would be slow.
        self.evaluate = compiled(self.rate) if isinstance(function, _Variational) else self.rate
        self.jacobian = jacobian(self.rate, 1)
        self.sparse_jacobian = jacobian(self.rate, 1, sparse="auto")
        self.augmented: dict[Any, OdeSolution] = {}
        self.name = function_name(function) if isinstance(function, _Variational) else \
            f"{function_name(function)}_solution"
        if sensitivity == "forward":
            self.solve: Any = Implicit(self.integrate, self._type, self.name)
            self.solve.defjvp(self._push)
        elif sensitivity == "adjoint":
            self.solve = ImplicitReverse(self.integrate, self._type, self.name)
            self.solve.defvjp(self._forward, self._backward)
        else:
            raise InputTypeError(f"sensitivity={sensitivity!r} is neither \"forward\" nor "
                                 "\"adjoint\".", "", self.where)
        functools.update_wrapper(self, function, updated=())

    def __call__(self, t_span: Any, y0: Any, *parameters: Any, t_eval: Any = None) -> Any:
        """The state at the end of ``t_span``, or at all of ``t_eval``."""
        t0, t1 = t_span
        y0 = np.stack(y0) if isinstance(y0, (list, tuple)) else y0
        kind = leaf_type(y0)
        if kind.dtype.kind not in "fiub" or kind.ndim != 1:
            raise InputTypeError(f"The initial state is {kind}: a vector of real numbers is "
                                 "needed.", "Give a one-dimensional array.", self.where)
        if kind.dtype.kind != "f":
            y0 = y0 * 1.0
        if t_eval is None:
            return self.solve(_time(t0), _times(np.reshape(t1, (1,))), y0, *parameters)[:, 0]
        t_eval = np.stack(t_eval) if isinstance(t_eval, (list, tuple)) and t_eval else \
            np.asarray(t_eval) if not isinstance(t_eval, Tracer) else t_eval
        times = _times(t_eval)
        if not any(isinstance(t, Tracer) for t in (t0, t1, times)) and len(times) and \
                not min(t0, t1) <= min(times) <= max(times) <= max(t0, t1):
            raise TimesError(f"Times from {min(times):g} to {max(times):g} are asked for, in a "
                             f"span from {t0:g} to {t1:g}.", "Give a span that holds all times.",
                             self.where)
        return self.solve(_time(t0), times, y0, *parameters)

    def __reduce__(self) -> Any:
        return type(self), (self.function, self.method, self.rtol, self.atol, self.sensitivity)

    def __repr__(self) -> str:
        return f"<wengert solution of {function_name(self.function)}>"

    # -- numbers --------------------------------------------------------------------------------

    def _type(self, arguments: Sequence[Any]) -> ArrayType:
        _, times, y0, *_ = arguments
        return ArrayType((*np.shape(y0), len(times)), np.dtype(float))

    def _run(self, function: Function, span: tuple[float, float], start: Any, jac: Function,
             atol: Any, **options: Any) -> Any:
        """SciPy's integrator.

        Raises:
            ConvergenceError: if it does not come to the end, or to numbers.
        """
        if self.method in _IMPLICIT:
            options["jac"] = jac
        step = 8 * _EPS * max(map(abs, span))
        last, calls = span[0], 0

        def watched(t: float, y: Any) -> Any:        # at a pole LSODA goes on forever
            nonlocal last, calls
            if abs(t - last) > step:
                last, calls = t, 0
            calls += 1
            if calls > _STUCK:
                raise self._stopped(span, "it makes no progress there.", t)
            return function(t, y)
        found = scipy.integrate.solve_ivp(watched, span, start, method=self.method,
                                          atol=atol, **{"rtol": self.rtol, **options})
        if not found.success:
            raise self._stopped(span, found.message, last)
        if not np.all(np.isfinite(found.y)):
            raise self._stopped(span, "the state is not finite.", last)
        return found

    def _stopped(self, span: tuple[float, float], reason: str, t: float) -> ConvergenceError:
        return ConvergenceError(
            f"The integration of {function_name(self.function)} from t = {span[0]:g} to "
            f"{span[1]:g} stopped at t = {t:g}: {reason}", "Try a method for stiff equations "
            '(method="Radau" or "BDF"), or look at the equation there.', self.where)

    def integrate(self, t0: Any, times: Any, y0: Any, *parameters: Any) -> Any:
        """The states at ``times``, one column each."""
        times, y0 = np.asarray(times, float), np.asarray(y0, float)
        steps = np.diff(times, prepend=float(t0)) * np.sign(times[-1:] - t0)
        if np.any(steps[:1] < 0.0) or np.any(steps[1:] <= 0.0):
            raise TimesError(f"From t = {t0:g}, the solution is asked for at the times "
                             f"{', '.join(f'{t:g}' for t in times[:4])}"
                             f"{', …' if len(times) > 4 else ''}, which do not go one way.",
                             "Sort them, and leave out what is there twice.", self.where)
        if not len(times) or times[-1] == t0:
            return np.repeat(y0[:, None], len(times), axis=1)
        span = float(t0), float(times[-1])
        with no_trace():
            return self._run(self._with(self.evaluate, parameters), span, y0,
                             self._jacobian_for(y0.size, parameters), self.atol, t_eval=times).y

    @staticmethod
    def _with(function: Function, parameters: Sequence[Any]) -> Function:
        return lambda t, y: np.asarray(function(float(t), y, *parameters), float)

    def _jacobian_for(self, n: int, parameters: Sequence[Any]) -> Function:
        """The Jacobian for the integrator: sparse for many unknowns, if it takes such a matrix."""
        if n < LEAST or self.method not in _SPARSE or isinstance(self.function, _Variational):
            return self._with(self.jacobian, parameters)
        return lambda t, y: self.sparse_jacobian(float(t), y, *parameters)

    # -- forward: the variational equation ------------------------------------------------------

    def _push(self, primals: Any, tangents: Any) -> Any:
        t0, times, y0, *parameters = primals
        t_t0, t_times, t_y0, *t_parameters = tangents
        y = self.solve(*primals)
        total = np.zeros_like(y)
        by_initial = None
        if isinstance(t_y0, Tracer) or isinstance(t_t0, Tracer):
            by_initial = self._sensitivities(t0, times, y0, parameters, None, np.ones(y0.size))
        if isinstance(t_y0, Tracer):
            total = total + np.einsum("ijk,j->ik", by_initial, t_y0)
        if isinstance(t_t0, Tracer):
            first = self.rate(t0, y0, *parameters)
            total = total - np.einsum("ijk,j->ik", by_initial, first) * t_t0
        if isinstance(t_times, Tracer):
            total = total + self._rates(times, y, parameters) * t_times
        moving, moved = moving_leaves(tuple(parameters), tuple(t_parameters))
        if moving:
            leaves = flatten(tuple(parameters))[0]
            found = self._sensitivities(t0, times, y0, parameters, tuple(moving),
                                        _sizes([leaves[i] for i in moving]))
            total = total + np.einsum("ijk,j->ik", found, _row(moved))
        return y, total

    def _sensitivities(self, t0: Any, times: Any, y0: Any, parameters: Sequence[Any],
                       moving: tuple[int, ...] | None, sizes: Any) -> Any:
        """∂y(t_k)/∂p_j, of shape (state, parameters, times)."""
        n, q = y0.size, sizes.size
        solution = self.augmented.get((moving, n, q))
        if solution is None:
            atol = np.repeat(np.broadcast_to(np.asarray(self.atol, float), (n,)), 1 + q)
            solution = self.augmented[moving, n, q] = OdeSolution(
                _Variational(self.rate, moving), self.method, self.rtol, atol, "forward")
        start = np.zeros((n, q)) if moving is not None else np.eye(n)
        z0 = np.ravel(np.concatenate([y0[:, None], start], axis=1))
        z = solution.solve(t0, times, z0, *parameters)
        return np.reshape(z, (n, 1 + q, len(times)))[:, 1:] / sizes[:, None]

    def _rates(self, times: Any, y: Any, parameters: Sequence[Any]) -> Any:
        """f at each of the times; the derivative by the time itself."""
        try:
            axes = (0, 1, *[None] * len(parameters))
            return vmap(self.rate, axes, 1)(times, y, *parameters)
        except BatchedBranchError:
            return np.stack([self.rate(times[k], y[:, k], *parameters)
                             for k in range(len(times))], axis=1)

    # -- adjoint --------------------------------------------------------------------------------

    def _forward(self, *primals: Any) -> Any:
        return self.solve(*primals), primals

    def _backward(self, primals: Any, ct: Any) -> Any:
        t0, times, y0, *parameters = primals
        leaves, spec = flatten(tuple(parameters))
        moving = tuple(i for i, leaf in enumerate(leaves)
                       if isinstance(leaf, Tracer) and leaf.type.differentiable)
        static = tuple(None if i in moving else leaf for i, leaf in enumerate(leaves))
        pull = _Pull(self, _AtLeaves(self.rate, spec, static, moving))
        sizes = [leaves[i].size for i in moving]
        n = y0.size
        pulled = linear_call(
            pull, (t0, _array(times), y0, *[leaves[i] for i in moving], ct),
            ArrayType((n + sum(sizes),), np.dtype(float)), f"{self.name}_adjoint",
            NotDifferentiableError(
                f"The adjoint of {function_name(self.function)} gives first derivatives in reverse "
                "mode only.", 'Use sensitivity="forward" for forward mode and higher orders.',
                self.where))
        by_initial, cts, start = pulled[:n], [None] * len(leaves), n
        for i in moving:
            cts[i] = np.reshape(pulled[start:start + leaves[i].size], leaves[i].shape)
            start += leaves[i].size
        ct_times = ct_t0 = None
        if isinstance(times, Tracer):
            y = self.solve(*primals)
            ct_times = np.sum(self._rates(times, y, parameters) * ct, axis=0)
        if isinstance(t0, Tracer):
            ct_t0 = -np.sum(self.rate(t0, y0, *parameters) * by_initial)
        return ct_t0, ct_times, by_initial, *unflatten(spec, cts)


def _time(t: Any) -> Any:
    return t if isinstance(t, Tracer) else float(t)


def _times(times: Any) -> Any:
    """Times that are plain numbers are no operands: nothing is differentiated by them."""
    if len(np.shape(times)) != 1:
        raise ShapeError(f"The times have shape {np.shape(times)}.", "Give a row of them.")
    return times if isinstance(times, Tracer) else tuple(map(float, times))


def _array(times: Any) -> Any:
    return times if isinstance(times, Tracer) else np.array(times)


@dataclass(frozen=True)
class _AtLeaves:
    """f(t, y, p) as a function of those leaves of its parameters that have cotangents."""

    function: Function
    spec: Any
    static: tuple[Any, ...]          # leaves of the parameters; None for the moving ones
    moving: tuple[int, ...]

    def __call__(self, t: Any, y: Any, *values: Any) -> Any:
        return self.function(t, y, *self.parameters(values))

    def parameters(self, values: Sequence[Any]) -> Any:
        """The parameters as the user's function takes them."""
        leaves = list(self.static)
        for i, value in zip(self.moving, values, strict=True):
            leaves[i] = value
        return unflatten(self.spec, leaves)

    def __reduce__(self) -> Any:
        return _at_leaves, (self.function, pack_spec(self.spec), self.static, self.moving)


def _at_leaves(rate: Function, spec: Any, *rest: Any) -> _AtLeaves:
    return _AtLeaves(rate, unpack_spec(spec), *rest)


class _Pull:
    """Cotangents of initial state and parameters, in one row, from those of the states."""

    def __init__(self, solution: OdeSolution, at: _AtLeaves) -> None:
        self.solution, self.at = solution, at
        self.vjp = vjp(at, tuple(range(1, 2 + len(at.moving))))

    def __reduce__(self) -> Any:
        return _Pull, (self.solution, self.at)

    def __call__(self, t0: Any, times: Any, y0: Any, *values_and_ct: Any) -> Any:
        """Integrate backwards from the last time to the first."""
        *values, ct = values_and_ct
        with no_trace():
            return self._integrate(float(t0), np.asarray(times), np.asarray(y0, float), values,
                                   np.asarray(ct))

    def _integrate(self, t0: float, times: Any, y0: Any, values: Sequence[Any], ct: Any) -> Any:
        solution, parameters = self.solution, self.at.parameters(values)
        sizes = _sizes(values)
        n, scale = y0.size, float(np.max(np.abs(ct), initial=0.0))
        row = np.zeros(n + sizes.size)               # λ, and the integrals of λᵀ ∂f/∂p times p
        if scale == 0.0:
            return row
        states: Any = None
        if times[-1] != t0:
            states = solution._run(
                solution._with(solution.evaluate, parameters), (t0, float(times[-1])), y0,
                solution._jacobian_for(y0.size, parameters), np.asarray(solution.atol) / 100,
                dense_output=True, rtol=solution.rtol / 100).sol

        def rates(t: float, row: Any) -> Any:
            _, (by_y, *others) = self.vjp(float(t), states(t), *values, row[:n])
            return -np.concatenate([by_y, _row(others) * sizes])

        def jac(t: float, row: Any) -> Any:          # linear in λ, independent of the integrals
            out = np.zeros((row.size, row.size))
            out[:, :n] = np.stack([rates(t, unit) for unit in np.eye(n)], axis=1)
            return out
        for k in reversed(range(len(times))):
            row = row + np.concatenate([ct[:, k] / scale, np.zeros(sizes.size)])
            before = float(times[k - 1]) if k else t0
            if before != times[k]:
                row = solution._run(rates, (float(times[k]), before), row, jac,
                                    solution.rtol * 1e-4, rtol=solution.rtol / 10).y[:, -1]
        return row * scale / np.concatenate([np.ones(n), sizes])


def ode_solution(function: Function, *, method: str = "LSODA", rtol: float = 1e-8,
                 atol: Any = 1e-10, sensitivity: str = "forward") -> Any:
    """The solution of ẏ = ``function(t, y, *parameters)``, differentiable by all it depends on.

    ``scipy.integrate.solve_ivp`` runs whenever the solution is called; its steps are not
    differentiated. Derivatives solve an equation of their own, to the same tolerances.

    Args:
        function: the right-hand side, plain NumPy; gives an array or a list of the rates.
        method: of ``solve_ivp``; Radau, BDF and LSODA are given the compiled Jacobian.
        rtol: relative tolerance, of derivatives as well.
        atol: absolute tolerance, a number or one for each element of the state. Of derivatives by
            a parameter p it is that of p·∂y/∂p.
        sensitivity: ``"forward"`` solves the variational equation, with a column for each
            parameter: any mode, any order. ``"adjoint"`` solves one equation of the size of the
            state backwards in time, however many parameters there are: first derivatives in
            reverse mode.

    Returns:
        ``solution(t_span, y0, *parameters, t_eval=None)``: the state at the end of
        ``t_span = (t0, t1)``, of shape (n,); or at the times ``t_eval``, of shape (n, times).
        Parameters may be numbers, arrays and nested containers of them. It is differentiable by
        parameters, initial state and times.

    Raises:
        ConvergenceError: when called, if the integrator does not come to the end.
        TimesError: when called, if ``t_eval`` does not go one way from ``t0``.
        ShapeError: when called, if there is not one rate for each element of the state.
        NotDifferentiableError: for forward mode or second derivatives in adjoint form.

    >>> import numpy as np, wengert as wg
    >>> decay = wg.ode_solution(lambda t, y, k: -k * y)
    >>> end = decay((0.0, 1.0), np.array([2.0]), 3.0)
    >>> slope = wg.grad(lambda k: decay((0.0, 1.0), np.array([2.0]), k)[0])(3.0)
    >>> bool(np.isclose(end[0], 2 * np.exp(-3))), bool(np.isclose(slope, -2 * np.exp(-3)))
    (True, True)
    """
    return OdeSolution(function, method, rtol, atol, sensitivity)
