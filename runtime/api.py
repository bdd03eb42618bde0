"""The public transforms: thin, and usable as decorators and as functions."""

import functools
from collections.abc import Callable
from typing import Any, Literal

from ..compiler.errors import BudgetError, ModeError, NotAFunctionError, SparseRequestError
from ..compiler.graph import Graph
from ..compiler.ops import control
from ..compiler.trace.locate import locate
from ..compiler.trace.stage import leaf_names, stage
from ..compiler.trace.tracer import Tracer
from ..compiler.trace.tree import flatten, unflatten
from .compile import Argnums, Request
from .executable import Compiled
from .options import Options, parse_memory
from .sparse import FORMATS

Mode = Literal["auto", "forward", "reverse"]
Function = Callable[..., Any]


def _transform(function: Function | None, request: Request, options: Options) -> Any:
    modes = ("auto", "forward", "reverse", *["substitution"] * (
        request.kind == "hessian" and bool(request.sparse)))
    if request.mode not in modes:
        raise ModeError(f"mode={request.mode!r} is not a direction.",
                        'Use "forward", "reverse" or "auto".', locate())
    if options.memory is not None and request.sparse:
        raise BudgetError("A budget of memory is planned for dense derivatives only.",
                          "Leave out memory= or sparse=.", locate())
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


def _format(sparse: bool | str) -> str:
    if sparse is True or sparse is False:
        return "csr" if sparse else ""
    if sparse not in (*FORMATS, "auto"):
        raise SparseRequestError(f"sparse={sparse!r} is no form of a sparse matrix.",
                                 'Use True, "auto", "csr", "csc" or "coo".', locate())
    return sparse


def compile(function: Function | None = None, *, target: str = "auto", lane: str = "auto",
            accuracy: str = "fast",
            deterministic: bool = True) -> Any:
    """The function itself, traced and compiled.

    >>> import numpy as np, wengert as wg
    >>> f = wg.compile(lambda x: np.sum(np.sin(x) ** 2))
    >>> float(f(np.array([0.0, np.pi / 2])))
    1.0
    """
    return _transform(function, Request("compile"),
                      Options(target, lane, accuracy=accuracy, deterministic=deterministic))


def grad(function: Function | None = None, argnums: Argnums = 0, has_aux: bool = False,
         mode: Mode = "auto", *, holomorphic: bool = False,
         target: str = "auto", lane: str = "auto", accuracy: str = "fast",
         deterministic: bool = True,
        memory: str | float | None = None) -> Any:
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
        target: what is emitted: ``"numpy"``, ``"native"`` for C that the machine's compiler makes
            fast (see docs/native.md), or ``"cupy"`` for a GPU (docs/cupy.md); ``"auto"`` is that
            where an argument is an array of CuPy's, else NumPy.
        lane: ``"scalar"`` for straight-line code on floats, ``"array"``, or ``"auto"``: scalar
            where the function mostly computes with single numbers.
        accuracy: of native functions: ``"fast"`` for errors of at most 4 units in the last place,
            ``"strict"`` for those of the C library; on a GPU, ``"strict"`` rounds products and
            sums one by one.
        deterministic: on a GPU, whether the same bits are to come out at every run; if not, numbers
            are added through index arrays in whatever order threads come.
        memory: how much the program may have in use, results included and arguments not:
            ``"64 MiB"``, bytes, or a fraction of what it would take; values of the way forward
            are computed again where keeping them takes too much, see ``docs/memory.md``.

    Raises:
        NonScalarOutputError: if the result is not a scalar.
        InputTypeError: if a selected argument is not of floating-point numbers.
        BudgetError: if no program fits into ``memory``, naming the least that one needs.

    >>> import numpy as np, wengert as wg
    >>> @wg.grad
    ... def energy(x):
    ...     return np.sum(x ** 2)
    >>> energy(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return _transform(function, Request("grad", _normal(argnums), has_aux, mode, holomorphic),
                      Options(target, lane, accuracy=accuracy, deterministic=deterministic,
                              memory=parse_memory(memory)))


def value_and_grad(function: Function | None = None, argnums: Argnums = 0, has_aux: bool = False,
                   mode: Mode = "auto", *, holomorphic: bool = False,
                   target: str = "auto", lane: str = "auto", accuracy: str = "fast",
                   deterministic: bool = True,
        memory: str | float | None = None) -> Any:
    """Value and gradient at once: ``(value, gradient)``, or ``((value, auxiliary), gradient)``.

    >>> import numpy as np, wengert as wg
    >>> value, slope = wg.value_and_grad(lambda x: x * x + 3.0 * x)(2.0)
    >>> float(value), float(slope)
    (10.0, 7.0)
    """
    request = Request("value_and_grad", _normal(argnums), has_aux, mode, holomorphic)
    return _transform(function, request,
                      Options(target, lane, accuracy=accuracy, deterministic=deterministic,
                              memory=parse_memory(memory)))


def jacobian(function: Function | None = None, argnums: Argnums = 0, has_aux: bool = False,
             mode: Mode = "auto", *, holomorphic: bool = False, sparse: bool | str = False,
             target: str = "auto", lane: str = "auto", accuracy: str = "fast",
             deterministic: bool = True,
        memory: str | float | None = None) -> Any:
    """All first derivatives: shape of the result followed by shape of the argument.

    ``mode="auto"`` sweeps along the shorter side: forward for few inputs, reverse for few
    outputs. Results and arguments may be nested; so is then the Jacobian.

    With ``sparse`` a SciPy sparse array comes back instead, one for each pair of a result and an
    argument, of shape (elements of the result, elements of the argument). Its pattern is found
    from the graph and holds for all arguments of these shapes. It is evaluated by as few sweeps as
    a colouring of its columns (or rows, with ``mode="auto"`` the better) has colours, or by
    formulas for whole diagonals where that computes less. ``True`` and ``"csr"`` give compressed
    rows, ``"csc"`` columns, ``"coo"`` triples, ``"auto"`` rows or, where more than a quarter of
    the entries may differ from zero, a dense array. The arrays of indices are shared by all
    results and cannot be written to; ``.copy()`` makes ones that can.
    ``.pattern``, ``.colors`` and ``.report()`` are there once specialized.

    Raises:
        SparseRequestError: for another ``sparse``, or complex arguments or results.
        PatternTooLargeError: for a pattern of more than 50 million entries.

    >>> import numpy as np, wengert as wg
    >>> wg.jacobian(lambda x: np.array([x[0] * x[1], x[0] ** 2]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [4., 0.]])
    >>> J = wg.jacobian(lambda x: x[1:] * x[:-1] ** 2, sparse=True)
    >>> J(np.array([1.0, 2.0, 3.0, 4.0])).toarray()
    array([[ 4.,  1.,  0.,  0.],
           [ 0., 12.,  4.,  0.],
           [ 0.,  0., 24.,  9.]])
    >>> J.colors
    2
    """
    request = Request("jacobian", _normal(argnums), has_aux, mode, holomorphic,
                      sparse=_format(sparse))
    return _transform(function, request,
                      Options(target, lane, accuracy=accuracy, deterministic=deterministic,
                              memory=parse_memory(memory)))


def hessian(function: Function | None = None, argnums: Argnums = 0,
            mode: Mode | Literal["substitution"] = "auto", *, sparse: bool | str = False,
            target: str = "auto", lane: str = "auto", accuracy: str = "fast",
            deterministic: bool = True,
            memory: str | float | None = None) -> Any:
    """All second derivatives of a function with a scalar result.

    ``mode`` is the direction of the outer sweeps over the (reverse-mode) gradient. ``sparse`` is as
    for ``jacobian``; sweeps are then saved by symmetry, too, and are forward ones. With
    ``mode="substitution"`` there may be fewer still, but entries are then found from differences,
    with rounding errors that are relative to the largest entries.

    >>> import numpy as np, wengert as wg
    >>> wg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]))
    array([[6., 4.],
           [4., 0.]])
    """
    request = Request("hessian", _normal(argnums), False, mode, sparse=_format(sparse))
    return _transform(function, request,
                      Options(target, lane, accuracy=accuracy, deterministic=deterministic,
                              memory=parse_memory(memory)))


def jvp(function: Function | None = None, argnums: Argnums = 0, *, target: str = "auto",
        lane: str = "auto", accuracy: str = "fast",
        deterministic: bool = True) -> Any:
    """Forward mode: ``jvp(f)(*args, t) -> (out, t_out)``, with ``t`` structured like argnums.

    >>> import numpy as np, wengert as wg
    >>> out, t_out = wg.jvp(lambda x: (2.0 * x + 3.0) ** 2)(2.0, 1.0)
    >>> float(out), float(t_out)
    (49.0, 28.0)
    """
    return _transform(function, Request("jvp", _normal(argnums)),
                      Options(target, lane, accuracy=accuracy, deterministic=deterministic))


def vjp(function: Function | None = None, argnums: Argnums = 0, *, target: str = "auto",
        lane: str = "auto", accuracy: str = "fast",
        deterministic: bool = True,
        memory: str | float | None = None) -> Any:
    """Reverse mode: ``vjp(f)(*args, ct) -> (out, cts)``, with ``ct`` structured like the result.

    >>> import numpy as np, wengert as wg
    >>> out, ct = wg.vjp(lambda x: x ** 2)(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    >>> ct
    array([ 2., 40.])
    """
    return _transform(function, Request("vjp", _normal(argnums)),
                      Options(target, lane, accuracy=accuracy, deterministic=deterministic,
                              memory=parse_memory(memory)))


def hvp(function: Function | None = None, argnums: Argnums = 0, *, target: str = "auto",
        lane: str = "auto", accuracy: str = "fast",
        deterministic: bool = True) -> Any:
    """Hessian times vector: ``hvp(f)(*args, v)``, with ``v`` structured like argnums.

    >>> import numpy as np, wengert as wg
    >>> wg.hvp(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0]), np.array([1.0, 0.0]))
    array([6., 4.])
    """
    return _transform(function, Request("hvp", _normal(argnums)),
                      Options(target, lane, accuracy=accuracy, deterministic=deterministic))


def vmap(function: Function | None = None, in_axes: Any = 0, out_axes: Any = 0, *,
         target: str = "auto", lane: str = "auto", accuracy: str = "fast",
         deterministic: bool = True) -> Any:
    """The function of one example, applied to a batch of them at once.

    The function is traced on the first example and batched operation by operation, as one would
    vectorise it by hand; ``vmap(f)(xs)`` equals ``np.stack([f(x) for x in xs])``.

    Args:
        function: of one example; any function of numbers, arrays and nested containers of them.
        in_axes: which axis of each argument counts the examples: an integer, None for an
            argument that all examples share, a tuple with one entry for each argument, or a
            dictionary of them by the arguments' names (arguments it does not name are shared).
            An entry may itself be nested as its argument is. One integer holds for all arguments.
        out_axes: where the results have the batch axis, likewise; None for a result that is the
            same for all examples, which is then returned once.
        target: what is emitted.
        lane: as for :func:`grad`.
        accuracy: as for :func:`grad`.
        deterministic: as for :func:`grad`.

    Raises:
        BatchAxisError: if an argument lacks the axis, or the lengths differ.
        BatchedBranchError: if a branch depends on a value that differs within the batch.
        MutationError: if the function assigns into an argument that all examples share.

    >>> import numpy as np, wengert as wg
    >>> def loss(w, x, y):
    ...     return (x @ w - y) ** 2
    >>> per_sample = wg.vmap(wg.grad(loss), in_axes=(None, 0, 0))
    >>> per_sample(np.ones(2), np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros(2))
    array([[ 6., 12.],
           [42., 56.]])
    """
    return _transform(function, Request("vmap", in_axes=in_axes, out_axes=out_axes),
                      Options(target, lane, accuracy=accuracy, deterministic=deterministic))


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
