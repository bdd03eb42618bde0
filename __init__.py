"""wengert: derivatives of plain NumPy functions, as readable source code."""

from .compiler.errors import WengertError
from .runtime.api import compile, grad, hessian, hvp, jacobian, jvp, trace, value_and_grad, vjp

__version__ = "0.1.0"

__all__ = ["WengertError", "compile", "grad", "hessian", "hvp", "jacobian", "jvp", "trace",
           "value_and_grad", "vjp"]
