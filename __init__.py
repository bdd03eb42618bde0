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
    vmap,
)
from .runtime.check import check_grads
from .runtime.control import checkpoint, cond, fori_loop, scan, while_loop
from .runtime.custom import custom_jvp, custom_vjp
from .runtime.elementwise import elementwise
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
from .runtime.threads import set_num_threads

__version__ = "0.1.0"

__all__ = ["WengertError", "bvp_jacobian", "check_grads", "checkpoint", "compile", "cond",
           "curve_jacobian", "custom_jvp", "custom_vjp", "elementwise", "explain", "explain_nan",
           "fori_loop", "from_sympy", "grad", "hessian", "hessp", "hvp", "implicit_fixed_point",
           "implicit_root", "jacobian", "jvp", "linear_operator", "ode_solution", "scan",
           "set_num_threads", "sparse_solve", "stop_gradient", "to_sympy", "trace",
           "value_and_grad", "vjp", "vmap", "wengert_table", "while_loop"]
