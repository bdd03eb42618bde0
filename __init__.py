"""wengert: derivatives of plain NumPy functions, as readable source code."""

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
)
from .runtime.check import check_grads
from .runtime.control import checkpoint, cond, fori_loop, scan, while_loop
from .runtime.custom import custom_jvp, custom_vjp
from .runtime.elementwise import elementwise
from .runtime.explain_nan import explain_nan
from .runtime.show import wengert_table
from .runtime.sympy_bridge import from_sympy, to_sympy

__version__ = "0.1.0"

__all__ = ["WengertError", "check_grads", "checkpoint", "compile", "cond", "custom_jvp",
           "custom_vjp", "elementwise", "explain_nan", "fori_loop", "from_sympy", "grad", "hessian",
           "hvp", "jacobian", "jvp", "scan", "stop_gradient", "to_sympy", "trace",
           "value_and_grad", "vjp", "wengert_table", "while_loop"]
