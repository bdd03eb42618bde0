"""The same sparse derivatives by other libraries, as far as they are installed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from peers import installed

# From an argument to a warm call that returns a matrix.
Make = Callable[[Any], Callable[[], Any]]


def hessians() -> dict[str, Make]:
    """Of the chained Rosenbrock function."""
    out: dict[str, Make] = {}
    if installed("asdex"):
        out["jax + asdex"] = _asdex_hessian
    if installed("casadi"):
        out["casadi"] = _casadi_hessian
    return out


def jacobians(n: int, constants: tuple[float, float, float]) -> dict[str, Make]:
    """Of the Brusselator on an n × n grid with periodic borders."""
    out: dict[str, Make] = {}
    if installed("asdex"):
        out["jax + asdex"] = lambda y: _asdex_jacobian(y, n, *constants)
    if installed("casadi"):
        out["casadi"] = lambda y: _casadi_jacobian(y, n, *constants)
    return out


def _bcoo(call: Callable[[], Any]) -> Callable[[], Any]:
    import jax

    def warm() -> Any:
        found = jax.block_until_ready(call())
        rows, columns = np.asarray(found.indices).T
        return scipy.sparse.coo_array((np.asarray(found.data), (rows, columns)), found.shape)
    warm()
    return warm


def _asdex_hessian(x: Any) -> Callable[[], Any]:
    import asdex
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)

    def rosenbrock(x: Any) -> Any:
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    argument = jnp.asarray(x)
    compiled = jax.jit(asdex.hessian(rosenbrock, argument))
    return _bcoo(lambda: compiled(argument))


def _asdex_jacobian(y: Any, n: int, a: float, b: float, diffusion: float) -> Callable[[], Any]:
    import asdex
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)

    def rhs(y: Any) -> Any:
        u, v = y.reshape(2, n, n)

        def laplacian(w: Any) -> Any:
            return (jnp.roll(w, 1, 0) + jnp.roll(w, -1, 0) + jnp.roll(w, 1, 1)
                    + jnp.roll(w, -1, 1) - 4.0 * w)
        du = b + u * u * v - (a + 1.0) * u + diffusion * laplacian(u)
        dv = a * u - u * u * v + diffusion * laplacian(v)
        return jnp.concatenate([du.ravel(), dv.ravel()])
    argument = jnp.asarray(y)
    compiled = jax.jit(asdex.jacobian(rhs, argument))
    return _bcoo(lambda: compiled(argument))


def _casadi_call(function: Any, x: Any) -> Callable[[], Any]:
    sparsity = function.sparsity_out(0)
    colind, row = np.array(sparsity.colind()), np.array(sparsity.row())

    def call() -> Any:
        data = np.array(function(x).nonzeros())
        return scipy.sparse.csc_array((data, row, colind), shape=sparsity.shape)
    return call


def _casadi_hessian(x: Any) -> Callable[[], Any]:
    import casadi
    symbol = casadi.SX.sym("x", len(x))
    value = casadi.sumsqr(10.0 * (symbol[1:] - symbol[:-1] ** 2)) + \
        casadi.sumsqr(1.0 - symbol[:-1])
    return _casadi_call(casadi.Function("h", [symbol], [casadi.hessian(value, symbol)[0]]), x)


def _casadi_jacobian(y: Any, n: int, a: float, b: float, diffusion: float) -> Callable[[], Any]:
    import casadi
    symbol = casadi.SX.sym("y", len(y))
    at = np.arange(n * n).reshape(n, n)
    u, v = symbol[:n * n], symbol[n * n:]

    def laplacian(w: Any) -> Any:
        near = [np.roll(at, k, axis).ravel().tolist() for axis in (0, 1) for k in (1, -1)]
        return sum((w[i] for i in near), -4.0 * w)
    du = b + u * u * v - (a + 1.0) * u + diffusion * laplacian(u)
    dv = a * u - u * u * v + diffusion * laplacian(v)
    rhs = casadi.vertcat(du, dv)
    return _casadi_call(casadi.Function("j", [symbol], [casadi.jacobian(rhs, symbol)]), y)
