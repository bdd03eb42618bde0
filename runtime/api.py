"""The public transforms: thin, and usable as decorators and as functions."""

import functools
from collections.abc import Callable
from typing import Any, Literal

from ..compiler.errors import ModeError, NotAFunctionError
from ..compiler.graph import Graph
from ..compiler.ops import control
from ..compiler.trace.locate import locate
from ..compiler.trace.stage import leaf_names, stage
from ..compiler.trace.tracer import Tracer
from ..compiler.trace.tree import flatten, unflatten
from .compile import Argnums, Request
from .executable import Compiled
from .options import Options

Mode = Literal["auto", "forward", "reverse"]
Function = Callable[..., Any]


def _transform(function: Function | None, request: Request, options: Options) -> Any:
    if request.mode not in ("auto", "forward", "reverse"):
        raise ModeError(f"mode={request.mode!r} is not a direction.",
                        'Use "forward", "reverse" or "auto".', locate())
    if function is None:                       # used as @grad(argnums=1)
        return functools.partial(_transform, request=request, options=options)
    if isinstance(function, (staticmethod, classmethod)):      # decorated the other way round
        return type(function)(_transform(function.__func__, request, options))
    if not callable(function):
        raise NotAFunctionError(f"{request.kind} takes a function, not {function!r} of type "
                                f"{type(function).__name__}.", f"Write {request.kind}(f)(x): the "
                                "derivative is a function of the same arguments.", locate())
    return Compiled(function, request, options)


def _normal(argnums: Argnums | list[int | str]) -> Argnums:
    return tuple(argnums) if isinstance(argnums, list) else argnums


def compile(function: Function | None = None, *, target: str = "numpy", lane: str = "auto",
            accuracy: str = "fast") -> Any:
    """The function itself, traced and compiled.

    >>> import numpy as np, wengert as wg
    >>> f = wg.compile(lambda x: np.sum(np.sin(x) ** 2))
    >>> float(f(np.array([0.0, np.pi / 2])))
    1.0
    """
    return _transform(function, Request("compile"),
                      Options(target, lane, accuracy=accuracy))


def grad(function: Function | None = None, argnums: Argnums = 0, has_aux: bool = False,
         mode: Mode = "auto", *, holomorphic: bool = False,
         target: str = "numpy", lane: str = "auto", accuracy: str = "fast") -> Any:
    """Gradient of a function with a scalar result, structured like the argument(s).

    Args:
        function: any function of numbers, arrays and nested containers of them.
        argnums: position or name of the argument(s) to differentiate with respect to; with a
            tuple, a tuple of gradients is returned.
        has_aux: the function returns ``(value, auxiliary)``; the gradient function then returns
            ``(gradient, auxiliary)``.
        mode: ``"reverse"`` (also for ``"auto"``) or ``"forward"``.
        holomorphic: the function is a holomorphic one of complex arguments; its complex
            derivative is returned. Without it the gradient of a real result by a complex argument
            x + iy is ∂/∂x − i·∂/∂y, and a complex result is refused.
        target: what is emitted: ``"numpy"``, or ``"native"`` for C that the machine's compiler
            makes fast; see docs/native.md.
        lane: ``"scalar"`` for straight-line code on floats, ``"array"``, or ``"auto"``: scalar
            where the function mostly computes with single numbers.
        accuracy: of native functions: ``"fast"`` for errors of at most 4 units in the last place,
            ``"strict"`` for those of the C library.

    Raises:
        NonScalarOutputError: if the result is not a scalar.
        InputTypeError: if a selected argument is not of floating-point numbers.

    >>> import numpy as np, wengert as wg
    >>> @wg.grad
    ... def energy(x):
    ...     return np.sum(x ** 2)
    >>> energy(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return _transform(function, Request("grad", _normal(argnums), has_aux, mode, holomorphic),
                      Options(target, lane, accuracy=accuracy))


def value_and_grad(function: Function | None = None, argnums: Argnums = 0, has_aux: bool = False,
                   mode: Mode = "auto", *, holomorphic: bool = False,
                   target: str = "numpy", lane: str = "auto", accuracy: str = "fast") -> Any:
    """Value and gradient at once: ``(value, gradient)``, or ``((value, auxiliary), gradient)``.

    >>> import numpy as np, wengert as wg
    >>> value, slope = wg.value_and_grad(lambda x: x * x + 3.0 * x)(2.0)
    >>> float(value), float(slope)
    (10.0, 7.0)
    """
    request = Request("value_and_grad", _normal(argnums), has_aux, mode, holomorphic)
    return _transform(function, request, Options(target, lane, accuracy=accuracy))


def jacobian(function: Function | None = None, argnums: Argnums = 0, has_aux: bool = False,
             mode: Mode = "auto", *, holomorphic: bool = False,
             target: str = "numpy", lane: str = "auto", accuracy: str = "fast") -> Any:
    """All first derivatives: shape of the result followed by shape of the argument.

    ``mode="auto"`` sweeps along the shorter side: forward for few inputs, reverse for few
    outputs. Results and arguments may be nested; so is then the Jacobian.

    >>> import numpy as np, wengert as wg
    >>> wg.jacobian(lambda x: np.array([x[0] * x[1], x[0] ** 2]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [4., 0.]])
    """
    request = Request("jacobian", _normal(argnums), has_aux, mode, holomorphic)
    return _transform(function, request, Options(target, lane, accuracy=accuracy))


def hessian(function: Function | None = None, argnums: Argnums = 0, mode: Mode = "auto", *,
            target: str = "numpy", lane: str = "auto", accuracy: str = "fast") -> Any:
    """All second derivatives of a function with a scalar result.

    ``mode`` is the direction of the outer sweeps over the (reverse-mode) gradient.

    >>> import numpy as np, wengert as wg
    >>> wg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]))
    array([[6., 4.],
           [4., 0.]])
    """
    return _transform(function, Request("hessian", _normal(argnums), False, mode),
                      Options(target, lane, accuracy=accuracy))


def jvp(function: Function | None = None, argnums: Argnums = 0, *, target: str = "numpy",
        lane: str = "auto", accuracy: str = "fast") -> Any:
    """Forward mode: ``jvp(f)(*args, t) -> (out, t_out)``, with ``t`` structured like argnums.

    >>> import numpy as np, wengert as wg
    >>> out, t_out = wg.jvp(lambda x: (2.0 * x + 3.0) ** 2)(2.0, 1.0)
    >>> float(out), float(t_out)
    (49.0, 28.0)
    """
    return _transform(function, Request("jvp", _normal(argnums)),
                      Options(target, lane, accuracy=accuracy))


def vjp(function: Function | None = None, argnums: Argnums = 0, *, target: str = "numpy",
        lane: str = "auto", accuracy: str = "fast") -> Any:
    """Reverse mode: ``vjp(f)(*args, ct) -> (out, cts)``, with ``ct`` structured like the result.

    >>> import numpy as np, wengert as wg
    >>> out, ct = wg.vjp(lambda x: x ** 2)(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    >>> ct
    array([ 2., 40.])
    """
    return _transform(function, Request("vjp", _normal(argnums)),
                      Options(target, lane, accuracy=accuracy))


def hvp(function: Function | None = None, argnums: Argnums = 0, *, target: str = "numpy",
        lane: str = "auto", accuracy: str = "fast") -> Any:
    """Hessian times vector: ``hvp(f)(*args, v)``, with ``v`` structured like argnums.

    >>> import numpy as np, wengert as wg
    >>> wg.hvp(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]), np.array([1.0, 0.0]))
    array([6., 4.])
    """
    return _transform(function, Request("hvp", _normal(argnums)),
                      Options(target, lane, accuracy=accuracy))


def stop_gradient(value: Any) -> Any:
    """The value itself, seen as a constant by every derivative: arrays of zeros come back.

    Args:
        value: a number, an array or a nested container of them.

    >>> import numpy as np, wengert as wg
    >>> wg.grad(lambda x: np.sum(x * wg.stop_gradient(x)))(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    leaves, spec = flatten(value)
    return unflatten(spec, [control.stop_gradient(leaf) if isinstance(leaf, Tracer) else leaf
                            for leaf in leaves])


def trace(function: Function) -> Callable[..., Graph]:
    """The graph of a function as it was written, before any pass.

    >>> import wengert as wg
    >>> wg.trace(lambda x, y: x * y)(2.0, 5.0).count("mul")
    1
    """
    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Graph:
        leaves, spec = flatten((args, kwargs))
        return stage(function, leaves, spec, leaf_names(function, args, kwargs)).graph
    return traced
