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
from .runtime.custom import custom_jvp, custom_vjp
from .runtime.elementwise import elementwise
from .runtime.explain_nan import explain_nan

__version__ = "0.1.0"

__all__ = ["WengertError", "check_grads", "compile", "custom_jvp", "custom_vjp", "elementwise",
           "explain_nan",
           "grad", "hessian", "hvp", "jacobian", "jvp", "stop_gradient", "trace",
           "value_and_grad", "vjp"]
