"""wengert: derivatives of plain NumPy functions, as readable source code."""

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Importing makes many objects that stay; searching them for cycles would take a third of the time.
_COLLECTS = gc.isenabled()
gc.disable()
try:
    from .compiler.errors import WengertError
    from .runtime.api import (
        compile,
        grad,
        hessian,
        hvp,
        jacobian,
        jvp,
        stop_gradient,
        trace,
        value_and_grad,
        vjp,
        vmap,
    )
    from .runtime.control import checkpoint, cond, fori_loop, scan, while_loop
    from .runtime.custom import custom_jvp, custom_vjp
    from .runtime.elementwise import elementwise
    from .runtime.threads import set_num_threads
finally:
    if _COLLECTS:
        gc.enable()

if TYPE_CHECKING:
    from .runtime.check import check_grads
    from .runtime.explain import explain
    from .runtime.explain_nan import explain_nan
    from .runtime.implicit import implicit_fixed_point, implicit_root
    from .runtime.ode import ode_solution
    from .runtime.scipy_bridge import (
        bvp_jacobian,
        curve_jacobian,
        hessp,
        linear_operator,
        sparse_solve,
    )
    from .runtime.show import wengert_table
    from .runtime.sympy_bridge import from_sympy, to_sympy

# Loaded when first needed, with the modules of ``runtime`` that have them.
_LATER = {"bvp_jacobian": "scipy_bridge", "check_grads": "check", "curve_jacobian": "scipy_bridge",
          "explain": "explain", "explain_nan": "explain_nan", "from_sympy": "sympy_bridge",
          "hessp": "scipy_bridge", "implicit_fixed_point": "implicit", "implicit_root": "implicit",
          "linear_operator": "scipy_bridge", "ode_solution": "ode", "sparse_solve": "scipy_bridge",
          "to_sympy": "sympy_bridge", "wengert_table": "show"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".runtime.{_LATER[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__version__ = "0.1.0"

__all__ = ["WengertError", "bvp_jacobian", "check_grads", "checkpoint", "compile", "cond",
           "curve_jacobian", "custom_jvp", "custom_vjp", "elementwise", "explain", "explain_nan",
           "fori_loop", "from_sympy", "grad", "hessian", "hessp", "hvp", "implicit_fixed_point",
           "implicit_root", "jacobian", "jvp", "linear_operator", "ode_solution", "scan",
           "set_num_threads", "sparse_solve", "stop_gradient", "to_sympy", "trace",
           "value_and_grad", "vjp", "vmap", "wengert_table", "while_loop"]
