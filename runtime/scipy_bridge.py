"""Derivatives in the shapes SciPy's solvers ask for, where these are not the plain ones.

Most solvers take a compiled function as it is. These do not, since they put the vector of a
product in the middle of the arguments, vectorise over mesh points, want parameters as columns, or
a matrix that is known by its products only.
"""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # loads its submodules when they are first used

from ..compiler.errors import (
    InputTypeError,
    ShapeError,
    SingularSystemError,
    UnsupportedArgumentError,
)
from ..compiler.ops.sparse import sparse_solve as SPARSE_SOLVE
from ..compiler.trace.locate import locate
from ..compiler.trace.stage import definition
from ..compiler.trace.tracer import deepest, enter
from .api import compile as compiled
from .api import hvp, jacobian, jvp, vjp, vmap

Function = Callable[..., Any]


@dataclass(frozen=True)
class _Wrapped:
    """A function made of the user's; named after it, and picklable with it."""

    function: Function

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.function, updated=())
        del self.__dict__["__wrapped__"]             # the arguments are others


class _VectorSecond(_Wrapped):
    def __call__(self, x: Any, p: Any, *args: Any) -> Any:
        """Hessian times ``p``."""
        return hvp(self.function)(x, *args, p)


def hessp(function: Function) -> Any:
    """Hessian times vector for ``scipy.optimize.minimize(hessp=...)``: ``hessp(f)(x, p, *args)``.

    :func:`hvp` takes the vector last, after ``args``; SciPy puts it second.

    Args:
        function: of ``(x, *args)``, with a scalar result; ``x`` and ``p`` have shape (n,).

    >>> import numpy as np, wengert as wg
    >>> wg.hessp(lambda x, k: k * np.sum(x ** 4))(np.ones(2), np.array([1.0, 0.0]), 2.0)
    array([24.,  0.])
    """
    return compiled(_VectorSecond(function))


class _OnePoint(_Wrapped):
    def __call__(self, x: Any, y: Any, *p: Any) -> Any:
        """The right-hand side at a mesh of a single point."""
        out = np.asarray(self.function(np.reshape(x, (1,)), np.reshape(y, (-1, 1)), *p))
        if out.shape != (len(y), 1):
            raise ShapeError(
                f"The right-hand side has shape {out.shape} at a mesh of one point, for y of "
                f"shape {(len(y), 1)}.", "Let it give one row an equation and one column a mesh "
                "point, as scipy.integrate.solve_bvp asks for.", definition(self.function))
        return np.reshape(out, (len(y),))


class _PointJacobian(_Wrapped):
    def __call__(self, x: Any, y: Any, *p: Any) -> Any:
        """Derivatives at one point by y, and by the parameters if there are any."""
        return jacobian(_OnePoint(self.function), (1, 2) if p else 1)(x, y, *p)


def bvp_jacobian(function: Function) -> Any:
    """``fun_jac`` for ``scipy.integrate.solve_bvp`` from its right-hand side.

    Args:
        function: ``fun(x, y)`` or ``fun(x, y, p)``, vectorised as SciPy wants it: ``x`` has shape
            (m,), ``y`` and the result (n, m), ``p`` (k,). Mesh points do not depend on each other.

    Returns:
        A compiled function of the same arguments: ∂f/∂y of shape (n, n, m), or the pair of it and
        ∂f/∂p of shape (n, k, m). For ``bc_jac``, ``jacobian(bc, argnums=(0, 1))`` will do.

    Raises:
        ShapeError: if a mesh of one point does not give one column.

    >>> import numpy as np, wengert as wg
    >>> J = wg.bvp_jacobian(lambda x, y: np.vstack((y[1], np.exp(y[0]))))
    >>> J(np.linspace(0.0, 1.0, 5), np.zeros((2, 5)))[:, :, 0]
    array([[0., 1.],
           [1., 0.]])
    """
    return vmap(_PointJacobian(function), {"x": 0, "y": 1}, -1)


class _ByParameters(_Wrapped):
    def __call__(self, x: Any, parameters: Any) -> Any:
        """The model with its parameters in one array."""
        return self.function(x, *parameters)


class _Columns(_Wrapped):
    def __call__(self, x: Any, *parameters: Any) -> Any:
        """One column a parameter."""
        return jacobian(_ByParameters(self.function), 1)(x, np.stack(parameters))


def curve_jacobian(function: Function) -> Any:
    """``jac`` for ``scipy.optimize.curve_fit`` from its model ``f(xdata, a, b, ...)``.

    Args:
        function: of the data and of one number for each parameter; the result has shape (m,).

    Returns:
        A compiled function of the same arguments; its result has shape (m, parameters).

    >>> import numpy as np, wengert as wg
    >>> wg.curve_jacobian(lambda x, a, b: a * x + b)(np.array([1.0, 2.0]), 3.0, 4.0)
    array([[1., 1.],
           [2., 1.]])
    """
    return compiled(_Columns(function))


def linear_operator(function: Function, x: Any, *args: Any) -> Any:
    """The Jacobian of ``function(x, *args)`` by ``x`` as a ``scipy.sparse.linalg.LinearOperator``.

    It is known by its products: ``J @ v`` is a forward sweep, ``J.T @ u`` a reverse one, and the
    matrix is never formed. Of ``grad(f)`` it is the Hessian.

    Args:
        function: of an array ``x`` with an array as its result; of any shapes, which the operator
            sees in one row.
        x: where to linearize.
        args: further arguments.

    Raises:
        InputTypeError: if ``x`` or the result is complex.

    >>> import numpy as np, wengert as wg
    >>> H = wg.linear_operator(wg.grad(lambda x: np.sum(x ** 3)), np.array([1.0, 2.0]))
    >>> H @ np.ones(2)
    array([ 6., 12.])
    """
    x = np.array(x, dtype=np.result_type(x, np.float32))
    push, pull = jvp(function), vjp(function)
    shared = [None] * (1 + len(args))
    push_all, pull_all = vmap(push, (*shared, -1), -1), vmap(pull, (*shared, -1), -1)
    out = np.asarray(push(x, *args, np.zeros_like(x))[0])

    if np.iscomplexobj(x) or np.iscomplexobj(out):
        raise InputTypeError("linear_operator takes real functions of real arrays.",
                             "Pass real and imaginary parts side by side in one array.",
                             definition(function))

    def pushed(product: Function, v: Any) -> Any:
        v = np.asarray(v, x.dtype)
        return np.reshape(product(x, *args, v.reshape(*x.shape, *v.shape[1:]))[1],
                          (out.size, *v.shape[1:]))

    def pulled(product: Function, u: Any) -> Any:
        u = np.asarray(u, out.dtype)
        return np.reshape(product(x, *args, u.reshape(*out.shape, *u.shape[1:]))[1],
                          (x.size, *u.shape[1:]))
    return scipy.sparse.linalg.LinearOperator(
        (out.size, x.size), matvec=lambda v: pushed(push, np.ravel(v)),
        rmatvec=lambda u: pulled(pull, np.ravel(u)), matmat=functools.partial(pushed, push_all),
        rmatmat=functools.partial(pulled, pull_all), dtype=np.result_type(out, x))


def sparse_solve(data: Any, pattern: Any, b: Any) -> Any:
    """The solution of A x = b for a sparse matrix A, differentiable by its entries and by ``b``.

    Args:
        data: the entries of A, of shape (entries,), in the order of ``pattern.data``.
        pattern: where they are: a square SciPy matrix or array in CSR, CSC or COO format, whose own
            entries are not looked at. Entries at the same place are added up.
        b: right-hand side of shape (n,), or (n, k) for several.

    Returns:
        x, of the shape of ``b``, by SuperLU. The derivative by ``data`` has one element for each
        entry; zeros that are not stored have none.

    Raises:
        ShapeError: if the shapes do not fit.
        SingularSystemError: if a row or column has no entry, or A turns out to be singular. (Code
            that was saved raises SciPy's RuntimeError for the latter.)

    >>> import numpy as np, scipy.sparse as sparse, wengert as wg
    >>> A = sparse.csr_array(np.array([[2.0, 1.0], [0.0, 4.0]]))
    >>> wg.sparse_solve(A.data, A, np.array([4.0, 8.0]))
    array([1., 2.])
    >>> wg.grad(lambda d: wg.sparse_solve(d, A, np.array([4.0, 8.0]))[0])(A.data)
    array([-0.5 , -1.  ,  0.25])
    """
    if not scipy.sparse.issparse(pattern) or pattern.format not in ("csr", "csc", "coo"):
        raise UnsupportedArgumentError(
            f"The pattern is {type(pattern).__name__}, not a SciPy matrix in CSR, CSC or COO "
            "format.", "Convert it with scipy.sparse.csr_array.", locate(sys._getframe(1)))
    places = pattern.tocoo()
    n, m = pattern.shape
    if n != m or np.shape(data) != places.row.shape or np.shape(b)[:1] != (n,):
        raise ShapeError(
            f"The pattern has shape {pattern.shape} and {len(places.row)} entries, the data has "
            f"shape {np.shape(data)}, the right-hand side {np.shape(b)}.",
            "A square pattern, one number for each of its entries and a right-hand side as long "
            "as the pattern are needed.", locate(sys._getframe(1)))
    for kind, filled in (("row", places.row), ("column", places.col)):
        empty = np.setdiff1d(np.arange(n), filled)
        if len(empty):
            raise SingularSystemError(f"The pattern has no entry in {kind} {empty[0]}, so every "
                                      "matrix with it is singular.", "", locate(sys._getframe(1)))
    operands = (data, b, places.row, places.col)
    builder = deepest(operands)
    if builder is not None:
        return enter(SPARSE_SOLVE, builder, operands, {"transposed": False}, sys._getframe(1))
    try:
        return SPARSE_SOLVE(*[np.asarray(v) for v in operands], transposed=False)
    except RuntimeError as error:
        raise SingularSystemError(f"The matrix is singular: {error}.", "",
                                  locate(sys._getframe(1))) from None
