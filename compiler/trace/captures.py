"""What a function reads besides its arguments: closure cells, globals, defaults, attributes.

A compiled program has these values built in, so each call first makes sure that they are what
they were. Arrays are compared by content (they can be written to in place), containers element
by element, objects by the attributes that the function's code names.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..errors import RandomnessError

_SIMPLE = (bool, int, float, complex, str, bytes, type(None), np.generic)
_LIBRARIES = frozenset(("numpy", "scipy", "sympy", "builtins", "wengert", *sys.stdlib_module_names))
_MAX_DEPTH = 8


def _same_number(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and (a == b or (a != a and b != b)))


def _same_array(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@dataclass
class Captures:
    """A record of captured values; ``changed`` tells whether any differs now."""

    checks: list[Callable[[], bool]] = field(default_factory=list)
    arrays: list[np.ndarray[Any, Any]] = field(default_factory=list)
    functions: list[Any] = field(default_factory=list)
    generators: list[tuple[Any, Any]] = field(default_factory=list)

    def changed(self) -> bool:
        """Whether a captured value is no longer what it was."""
        return not all(same() for same in self.checks)

    def check_generators(self) -> None:
        """No captured random generator has been drawn from since.

        Raises:
            RandomnessError: else, since the numbers would be the same at every call.
        """
        for generator, state in self.generators:
            if str(generator.bit_generator.state) != state:
                raise RandomnessError(
                    "The function draws random numbers; compiled code would use the same ones at "
                    "every call.", "Draw them outside and pass them as an argument.")


def captured_by(function: Any) -> Captures:
    """Record everything the function captures, through the helper functions it calls."""
    out = Captures()
    _Walk(out).value(function, 0)
    return out


class _Walk:
    def __init__(self, out: Captures) -> None:
        self.out = out
        self.seen: set[int] = set()
        self.kept: list[Any] = []           # keeps ids unique while walking
        self.names: set[str] = set()

    def read(self, get: Callable[[], Any], depth: int) -> None:
        """Watch a place that can be rebound, and what it holds now."""
        value = get()
        if isinstance(value, _SIMPLE):
            self.out.checks.append(partial(_unchanged_number, get, value))
        else:
            self.out.checks.append(partial(_unchanged_identity, get, value))
            self.value(value, depth + 1)

    def value(self, value: Any, depth: int) -> None:
        """Watch what is inside a value."""
        if hasattr(type(value), "_record_"):     # a traced value of an enclosing function
            return
        if isinstance(value, (_SIMPLE, BuiltinFunctionType, np.ufunc)) or depth > _MAX_DEPTH \
                or id(value) in self.seen:
            return
        self.seen.add(id(value))
        self.kept.append(value)
        if isinstance(value, np.ndarray):
            self.array(value)
        elif isinstance(value, MethodType):
            self.value(value.__func__, depth)
            self.instance(value.__self__, depth)
        elif isinstance(value, FunctionType):
            self.function(value, depth)
        elif isinstance(value, partial):
            self.value(value.func, depth)
            for i in range(len(value.args)):
                self.read(partial(_item, value.args, i), depth)
            for key in value.keywords:
                self.read(partial(_item, value.keywords, key), depth)
        elif isinstance(value, (list, tuple)):
            self.sequence(value, depth)
        elif isinstance(value, dict):
            self.mapping(value, depth)
        elif isinstance(value, (set, frozenset)):
            self.out.checks.append(partial(_unchanged_set, value, frozenset(value)))
        elif isinstance(value, np.random.Generator):
            self.out.generators.append((value, str(value.bit_generator.state)))
        elif isinstance(value, ModuleType):
            self.module(value, depth)
        elif isinstance(value, type):
            self.class_(value, depth)
        else:
            self.instance(value, depth)

    def array(self, value: np.ndarray[Any, Any]) -> None:
        if value.dtype.kind not in "biufc":
            return
        self.out.arrays.append(value)
        if value.flags.writeable or value.base is not None:
            self.out.checks.append(partial(_unchanged_array, value, value.copy()))

    def sequence(self, value: Any, depth: int) -> None:
        if isinstance(value, list):
            self.out.checks.append(partial(_unchanged_length, value, len(value)))
        for i in range(min(len(value), 10_000)):
            self.read(partial(_item, value, i), depth)

    def mapping(self, value: dict[Any, Any], depth: int) -> None:
        self.out.checks.append(partial(_unchanged_keys, value, tuple(value)))
        for key in list(value):
            self.read(partial(_item, value, key), depth)

    def function(self, function: FunctionType, depth: int) -> None:
        if _is_library(function.__module__):
            return
        self.out.functions.append(function)
        for cell in function.__closure__ or ():
            self.read(partial(_cell, cell), depth)
        for i in range(len(function.__defaults__ or ())):
            self.read(partial(_default, function, i), depth)
        for key in function.__kwdefaults__ or {}:
            self.read(partial(_kwdefault, function, key), depth)
        names = set(_names(function.__code__))
        self.names |= names
        for name in sorted(names):
            if name in function.__globals__:
                self.read(partial(_global, function.__globals__, name), depth)

    def instance(self, value: Any, depth: int) -> None:
        """Attributes of an object that any function met so far may read."""
        state = getattr(value, "__dict__", None)
        if _is_library(type(value).__module__):
            for name in ("function", "rule", "fwd", "bwd"):  # a compiled or custom one of ours
                if callable(getattr(value, name, None)):
                    self.read(partial(_attribute, value, name), depth)
            return
        self.value(type(value), depth)
        names = set(state or ()) | {n for c in type(value).__mro__
                                    for n in getattr(c, "__slots__", ())}
        for name in sorted(names):
            if isinstance(name, str) and not name.startswith("_wengert_"):
                self.read(partial(_attribute, value, name), depth)

    def class_(self, value: type, depth: int) -> None:
        if _is_library(value.__module__):
            return
        for name, member in list(vars(value).items()):
            if isinstance(member, (staticmethod, classmethod)):
                self.value(member.__func__, depth + 1)
            elif isinstance(member, property):
                self.value(member.fget, depth + 1)
            elif isinstance(member, FunctionType):
                self.value(member, depth + 1)
            elif not name.startswith("__"):
                self.read(partial(_attribute, value, name), depth)

    def module(self, value: ModuleType, depth: int) -> None:
        """Attributes of a user's module that the code names."""
        if _is_library(value.__name__):
            return
        for name in sorted(self.names & set(vars(value))):
            self.read(partial(_attribute, value, name), depth)


def _is_library(module: str | None) -> bool:
    if module is None:
        return True
    root = module.partition(".")[0]
    if root == "__main__":
        return False
    return root in _LIBRARIES or _is_installed(root)


_INSTALLED: dict[str, bool] = {}


def _is_installed(root: str) -> bool:
    """Whether a module comes from site-packages, whose globals are taken as constant."""
    known = _INSTALLED.get(root)
    if known is None:
        file = getattr(sys.modules.get(root), "__file__", None) or ""
        known = _INSTALLED[root] = "site-packages" in file or "dist-packages" in file
    return known


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


_MISSING = object()


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _item(container: Any, key: Any) -> Any:
    try:
        return container[key]
    except (KeyError, IndexError):
        return _MISSING


def _global(names: dict[str, Any], name: str) -> Any:
    return names.get(name, _MISSING)


def _default(function: FunctionType, i: int) -> Any:
    defaults = function.__defaults__ or ()
    return defaults[i] if i < len(defaults) else _MISSING


def _kwdefault(function: FunctionType, key: str) -> Any:
    return (function.__kwdefaults__ or {}).get(key, _MISSING)


def _attribute(value: Any, name: str) -> Any:
    return getattr(value, name, _MISSING)


def _unchanged_number(get: Callable[[], Any], value: Any) -> bool:
    return _same_number(get(), value)


def _unchanged_identity(get: Callable[[], Any], value: Any) -> bool:
    return get() is value


def _unchanged_array(array: np.ndarray[Any, Any], content: np.ndarray[Any, Any]) -> bool:
    return _same_array(array, content)


def _unchanged_length(value: Any, length: int) -> bool:
    return len(value) == length


def _unchanged_keys(value: dict[Any, Any], keys: tuple[Any, ...]) -> bool:
    return tuple(value) == keys


def _unchanged_set(value: Any, content: frozenset[Any]) -> bool:
    return bool(value == content)
