"""Which function of ours stands for which function of NumPy and SciPy."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..errors import UnsupportedFunctionError
from .locate import locate

F = TypeVar("F", bound=Callable[..., Any])

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
CREATION: set[Any] = set()       # functions that make arrays from nothing traced
# By module that need not be loaded and name in it: our function, and whether it creates.
LATE: dict[str, dict[str, tuple[Callable[..., Any], bool]]] = {}
REFUSED: set[Any] = set()        # functions that take no traced values
CLOSED_LATE: set[str] = set()    # modules of LATE whose other functions are refused


def stands_for(*functions: Any, method: str | None = None, creates: bool = False
               ) -> Callable[[F], F]:
    """Register the decorated function as the meaning of NumPy functions on traced values.

    It is called with the original's arguments. With ``method`` it is also the ndarray method
    of that name, the array being the first argument. With ``creates`` it is called for every
    such call of the traced function, since its result may be assigned into.
    """
    if creates:
        CREATION.update(functions)
    def register(function: F) -> F:
        for original in functions:
            FUNCTIONS[original] = function
        if method is not None:
            METHODS[method] = function
        return function
    return register


def stands_for_late(module: str, *names: str, creates: bool = False) -> Callable[[F], F]:
    """Register for names of a module that is not imported for it, since that takes long.

    A name is that of a function or of a method, such as ``"BSpline.__call__"``; methods are
    called with the object first. ``creates`` is that of ``stands_for``.
    """
    def register(function: F) -> F:
        for name in names:
            LATE.setdefault(module, {})[name] = (function, creates)
        return function
    return register


def refuse_others(module: Any) -> list[Any]:
    """Refuse traced values in all public functions of a module that nothing stands for.

    Functions that ask their operands do so anyway; others would convert them in their depths.
    Gives the functions that are refused.
    """
    refused = []
    for name in module.__all__:
        function = getattr(module, name)
        if callable(function) and not isinstance(function, type) and function not in FUNCTIONS:
            FUNCTIONS[function] = _refusing(function)
            refused.append(function)
    REFUSED.update(refused)
    return refused


def _refusing(function: Any) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise unsupported(function, locate())
    return refuse


def unsupported(function: Any, where: Any) -> UnsupportedFunctionError:
    """The error for a function that is not in the table."""
    name = getattr(function, "__name__", str(function))
    module = getattr(function, "__module__", None) or (
        "numpy" if getattr(np, name, None) is function else "scipy.special")
    full = f"{module}.{name}"
    return UnsupportedFunctionError(
        f"{full} has no derivative here: it is not in the table of operators.",
        "Write it in terms of supported NumPy functions, or declare it with wengert.custom_jvp.",
        where)
