"""The same derivatives by other libraries, as far as they are installed."""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import problems

Calls = dict[str, Callable[[], Any]]


def installed(name: str) -> bool:
    """Whether a library can be imported."""
    return importlib.util.find_spec(name) is not None


def calls(problem: problems.Problem) -> Calls:
    """A compiled and warm call of each library that can do the problem."""
    out: Calls = {}
    if installed("jax"):
        out["jax"] = _jax(problem)
    if installed("autograd") and problem.kind == "grad":
        out["autograd"] = _autograd(problem)
    if installed("casadi") and problem.elements:
        out["casadi"] = _casadi(problem)
    return out


def _jax(problem: problems.Problem) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    derive = {"grad": jax.grad, "jacobian": jax.jacfwd}[problem.kind]
    compiled = jax.jit(derive(problem.generic(jnp), argnums=problem.argnums))
    args = tuple(jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in problem.args)
    return lambda: jax.block_until_ready(compiled(*args))


def _autograd(problem: problems.Problem) -> Callable[[], Any]:
    import autograd
    import autograd.numpy as anp
    argnums = problem.argnums
    if isinstance(argnums, tuple):
        gradient = autograd.grad(lambda args: problem.generic(anp)(*args))
        return lambda: tuple(gradient(problem.args)[i] for i in argnums)
    gradient = autograd.grad(problem.generic(anp), argnums)
    return lambda: gradient(*problem.args)


def _casadi(problem: problems.Problem) -> Callable[[], Any]:
    """Of functions of elements: symbols in, one compiled expression graph out."""
    import casadi
    shapes = [np.shape(a) for a in problem.args]
    symbols = [casadi.SX.sym(f"x{i}", *(shape or (1,))) for i, shape in enumerate(shapes)]
    result = problem.generic(casadi)(*symbols)
    argnums = problem.argnums if isinstance(problem.argnums, tuple) else (problem.argnums,)
    if problem.kind == "jacobian":
        wanted = [casadi.jacobian(casadi.vertcat(*result), symbols[argnums[0]])]
    else:
        wanted = [casadi.gradient(result, symbols[i]) for i in argnums]
    function = casadi.Function("f", symbols, wanted)

    def call() -> Any:
        out = function(*problem.args)
        return tuple(float(v) for v in out) if isinstance(out, tuple) else out.full()
    return call


def first_gradients(p: Any) -> dict[str, Callable[[Any], Any]]:
    """From a function of a vector to its gradient at ``p``, once."""
    out: dict[str, Callable[[Any], Any]] = {}
    if installed("autograd"):
        import autograd
        out["autograd"] = lambda f: autograd.grad(f)(p)
    if installed("jax"):
        import jax
        jax.config.update("jax_enable_x64", True)
        out["jax"] = lambda f: jax.jit(jax.grad(f))(p)
    return out
