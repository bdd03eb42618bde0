"""What a function reads besides its arguments: closure cells, globals, defaults, attributes.

A compiled program has these values built in, so each call first makes sure that they are what
they were. The walk finds every *place* from which the function's code, or that of the functions
it calls, can take a value, and what is inside these values; ``watch.py`` watches them.
"""

import builtins
import dis
import sys
from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from . import randomness
from .builder import is_traced
from .watch import Watch

_SIMPLE = (bool, int, float, complex, str, bytes, type(None), np.generic)
_MAX_DEPTH = 8
_MISSING = object()
# Libraries whose functions, and whose objects, are taken as constant.
_FIXED = frozenset(("numpy", "scipy", "sympy", "builtins", "wengert"))
# Modules of the standard library whose objects hold a user's values.
_HOLDERS = frozenset(("types", "argparse", "collections", "dataclasses"))
# Where library objects keep a user's function: compiled ones, np.vectorize, functools' wrappers.
_RULES = ("rule", "fwd", "bwd")
_INNER = ("function", "rule", "fwd", "bwd", "pyfunc", "func", "fget", "__func__", "__wrapped__")
# Names in code that may read attributes which the code does not name.
_BY_NAME = frozenset(("getattr", "hasattr", "vars", "__dict__", "asdict", "astuple", "fields",
                      "replace", "copy", "deepcopy", "__getattribute__"))


class Place(NamedTuple):
    """Where a value is found: a cell, item, attribute, member of a class, or default."""

    owner: Any
    kind: str
    key: Any
    value: Any

    def get(self) -> Any:
        """What is there now."""
        match self.kind:
            case "cell":
                return self.owner.cell_contents
            case "item":
                return self.owner[self.key]
            case "attribute":
                return getattr(self.owner, self.key)
            case "member":
                return vars(self.owner)[self.key]
            case "defaults":
                return self.owner.__defaults__[self.key]
            case _:
                return self.owner.__kwdefaults__[self.key]

    def set(self, value: Any) -> None:
        """Put another value there; places that cannot be written to keep theirs."""
        match self.kind:
            case "cell":
                self.owner.cell_contents = value
            case "item" if isinstance(self.owner, (dict, list, deque)):
                self.owner[self.key] = value
            case "attribute":
                object.__setattr__(self.owner, self.key, value)
            case "member":
                setattr(self.owner, self.key, value)
            case "defaults" if self.owner.__defaults__:
                values = list(self.owner.__defaults__)
                values[self.key] = value
                self.owner.__defaults__ = tuple(values)
            case "kwdefaults" if self.owner.__kwdefaults__:
                self.owner.__kwdefaults__[self.key] = value


@dataclass
class Captures:
    """What was found.

    Attributes:
        places: that hold anything but a plain number.
        arrays: of numbers.
        functions: whose code was looked at.
        generators: random generators with their state.
        traced: traced values, which a function has left behind or takes from an enclosing one.
        watch: tests that everything is as it was.
    """

    places: list[Place] = field(default_factory=list)
    arrays: list[np.ndarray[Any, Any]] = field(default_factory=list)
    functions: list[FunctionType] = field(default_factory=list)
    generators: list[tuple[Any, Any]] = field(default_factory=list)
    traced: list[Any] = field(default_factory=list)
    watch: Watch = field(default_factory=Watch)

    def with_(self, other: "Captures") -> "Captures":
        """What either has found, without the tests."""
        return Captures([*self.places, *other.places], [*self.arrays, *other.arrays])

    def check_generators(self) -> None:
        """No captured random generator has been drawn from since.

        Raises:
            RandomnessError: else, since the numbers would be the same at every call.
        """
        for generator, state in self.generators:
            if randomness.state_of(generator) != state:
                raise randomness.error()


def captured_by(*functions: Any) -> Captures:
    """Record everything that functions capture, through the helper functions they call."""
    walk = _Walk()
    for function in functions:
        walk.value(function, 0)
    walk.attributes()
    return walk.out


class _Walk:
    def __init__(self) -> None:
        self.out = Captures()
        self.seen: dict[int, Any] = {}          # by id; keeps what it has seen alive
        self.names: set[str] = set()            # in the code of the functions met so far
        self.holders: list[tuple[Any, int]] = []    # objects whose named attributes are read
        self.read: set[tuple[int, str]] = set()

    def place(self, owner: Any, kind: str, key: Any, value: Any, depth: int) -> None:
        """Watch a place that can be rebound, and what it holds now."""
        if value is _MISSING:
            self.out.watch.missing(owner, key)
            return
        if not (isinstance(value, ModuleType) and _is_fixed(value.__name__)):
            self.out.watch.place(owner, kind, key, value)
        self.inside(owner, kind, key, value, depth)

    def inside(self, owner: Any, kind: str, key: Any, value: Any, depth: int) -> None:
        """Watch what a place holds only."""
        if is_traced(value):
            self.out.traced.append(value)
        elif not isinstance(value, _SIMPLE):
            self.out.places.append(Place(owner, kind, key, value))
            self.value(value, depth + 1)

    def value(self, value: Any, depth: int) -> None:
        """Watch what is inside a value."""
        if is_traced(value) or isinstance(value, (_SIMPLE, np.ufunc)) or \
                depth > _MAX_DEPTH or id(value) in self.seen:
            return
        self.seen[id(value)] = value
        if isinstance(value, np.ndarray):
            self.array(value, depth)
        elif isinstance(value, BuiltinFunctionType):
            if not isinstance(value.__self__, ModuleType):
                self.value(value.__self__, depth)           # d.get of a dictionary d
        elif isinstance(value, MethodType):
            self.value(value.__func__, depth)
            self.value(value.__self__, depth)
        elif isinstance(value, FunctionType):
            self.function(value, depth)
        elif isinstance(value, CellType):
            self.place(value, "cell", None, value.cell_contents, depth)
        elif isinstance(value, partial):
            for part in (value.func, value.args, value.keywords):
                self.value(part, depth)
        elif isinstance(value, (list, tuple, deque)):
            self.out.watch.sequence(value)
            for i, item in enumerate(value):
                self.inside(value, "item", i, item, depth)
        elif isinstance(value, dict):
            self.out.watch.mapping(value)
            for key, item in value.items():
                self.inside(value, "item", key, item, depth)
        elif isinstance(value, (set, frozenset)):
            self.out.watch.set_(value)
        elif isinstance(value, array):
            self.out.watch.buffer(value)
        else:
            self.holder(value, depth)

    def array(self, value: np.ndarray[Any, Any], depth: int) -> None:
        if value.dtype == object:
            self.out.watch.objects(value)
            for item in value.flat:
                self.value(item, depth + 1)
        elif value.dtype.kind in "biufc":
            self.out.arrays.append(value)
            if value.flags.writeable or value.base is not None:
                self.out.watch.array(value)
        elif not value.dtype.hasobject:
            self.out.watch.array(value)

    def function(self, function: FunctionType, depth: int) -> None:
        module = function.__globals__.get("__name__", "__main__")   # __module__ may be copied
        if _root(module) in _FIXED:
            return
        self.out.functions.append(function)
        self.out.watch.code(function)
        for cell in function.__closure__ or ():
            try:
                contents = cell.cell_contents
            except ValueError:              # not bound yet: an inner function's own name, say
                continue
            self.place(cell, "cell", None, contents, depth)
        for i, value in enumerate(function.__defaults__ or ()):
            self.place(function, "defaults", i, value, depth)
        for key, value in (function.__kwdefaults__ or {}).items():
            self.place(function, "kwdefaults", key, value, depth)
        if _is_library(module):
            return
        names = set(_names(function.__code__))
        self.names |= names
        space = function.__globals__
        for name in sorted(names & space.keys()):
            self.place(space, "item", name, space[name], depth)
        hidden = names & vars(builtins).keys() - space.keys()
        self.out.watch.absent(space, hidden and hidden & _globals(function.__code__))

    def holder(self, value: Any, depth: int) -> None:
        """An object, class or module, whose attributes are looked at when all code is known."""
        state = randomness.state_of(value)
        if state is not None:
            self.out.generators.append((value, state))
            return
        kind = value if isinstance(value, type) else type(value)
        module = value.__name__ if isinstance(value, ModuleType) else str(kind.__module__)
        # An opaque function of ours is called by reference, not built in; its rules are.
        for name in _RULES if getattr(value, "opaque", False) is True else _INNER:
            inner = vars(value).get(name) if isinstance(getattr(value, "__dict__", None), dict) \
                else getattr(value, name, None)
            if callable(inner) and name in _RULES and hasattr(value, "__dict__"):
                self.place(vars(value), "item", name, inner, depth)     # may be declared anew
            elif callable(inner):
                self.value(inner, depth)
        if _root(module) in _FIXED:
            return
        if isinstance(value, (type, ModuleType)):
            if _is_library(module):
                return
        elif _is_standard(module) and _root(module) not in _HOLDERS:
            return
        else:
            for base in kind.__mro__:
                self.value(base, depth)
        if not isinstance(value, ModuleType) and hasattr(value, "__dict__"):
            self.out.watch.length(vars(value))      # a new attribute hides that of the class
        self.holders.append((value, depth))

    def attributes(self) -> None:
        """Watch the attributes that the code names, until no more code is found by it."""
        done = -1
        while done != len(self.read) + len(self.holders) + len(self.names):
            done = len(self.read) + len(self.holders) + len(self.names)
            for value, depth in list(self.holders):
                for name, place in list(_attributes(value)):
                    if (id(value), name) not in self.read and self.may_read(value, name):
                        self.read.add((id(value), name))
                        self.place(*place, depth)

    def may_read(self, value: Any, name: str) -> bool:
        """Whether some code may read the attribute."""
        if isinstance(value, ModuleType):
            return name in self.names
        if isinstance(value, type):
            return name in self.names or name.startswith("__")
        return name in self.names or bool(self.names & _BY_NAME) or any(
            c is not object and _is_library(c.__module__) for c in type(value).__mro__)


def _attributes(value: Any) -> Iterator[tuple[str, tuple[Any, str, Any, Any]]]:
    """Name and place of every attribute that an object itself holds."""
    state = getattr(value, "__dict__", {})
    if isinstance(value, (type, ModuleType)):
        is_class = isinstance(value, type)
        for name, member in list(state.items()):
            if not name.startswith("__") or isinstance(member, FunctionType):
                yield name, ((value, "member", name, member) if is_class else
                             (state, "item", name, member))
        return
    for name, member in list(state.items()):
        if isinstance(name, str) and not name.startswith("_wengert_"):
            yield name, (state, "item", name, member)
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            hidden = slot.startswith("__") and not slot.endswith("__")
            name = f"_{kind.__name__.lstrip('_')}{slot}" if hidden else slot
            if name not in ("__dict__", "__weakref__"):
                yield name, (value, "attribute", name, getattr(value, name, _MISSING))


def _root(module: str) -> str:
    return module.partition(".")[0]


def _is_fixed(module: str) -> bool:
    """Whether a name that stands for this module, as ``np`` does, is taken to do so for good."""
    return _root(module) in _FIXED or _is_standard(module)


def _is_standard(module: str) -> bool:
    root = _root(module)
    return root in sys.stdlib_module_names and root != "__main__"


def _is_library(module: str) -> bool:
    """Whether a module is none of the user's, so that its globals are taken as constant."""
    root = _root(module)
    return root != "__main__" and (
        _is_fixed(module) or _is_installed(root))


_INSTALLED: dict[str, bool] = {}


def _is_installed(root: str) -> bool:
    known = _INSTALLED.get(root)
    if known is None:
        file = getattr(sys.modules.get(root), "__file__", None) or ""
        known = _INSTALLED[root] = "site-packages" in file or "dist-packages" in file
    return known


@lru_cache(maxsize=1024)
def _globals(code: CodeType) -> frozenset[str]:
    """Names in the code that are looked up in the module, then in Python: no attributes."""
    found = {i.argval for i in dis.get_instructions(code)
             if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = [_globals(c) for c in code.co_consts if isinstance(c, CodeType)]
    return frozenset(found.union(*inner))


def _names(code: CodeType) -> Iterator[str]:
    """Names and strings in the code, which may be those of globals and attributes."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            yield constant
