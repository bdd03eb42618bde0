"""What NumPy's protocols do not reach is intercepted while a trace is going on.

``np.array([x, y])``, ``np.zeros(3)``, ``math.log(x)`` and SciPy functions that are not ufuncs
never ask their operands. For the time of a trace they are exchanged, by identity, in the
dictionaries of all loaded modules but NumPy's and SciPy's inner ones, so that every way of
binding the name is reached: ``math.log``, ``from numpy import zeros``, ``from math import log as
ln``, in helpers, methods and installed packages. The stand-ins call the original whenever no
traced value is involved and in every other thread, and all is put back even after errors.
Methods of library classes, such as the call of a spline, are exchanged in the class. Modules of
SciPy that take long to load are reached as soon as somebody else loads them, even during a trace.
"""

import builtins
import dis
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    ExtensionFileLoader,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
)
from types import ModuleType
from typing import Any

import numpy as np

from ..graph import CURRENT
from . import conversions, python_math
from .builder import TraceBuilder, contains_tracer
from .captures import Place
from .locate import is_stage
from .randomness import drawing_functions
from .registry import CLOSED_LATE, CREATION, FUNCTIONS, LATE, refuse_others
from .tracer import enter

# Modules of NumPy and SciPy whose public names users call.
_PUBLIC = frozenset(("numpy", "numpy.linalg", "numpy.fft", "numpy.random", "scipy.special",
                     "scipy.linalg", "scipy.fft", "scipy.integrate", "scipy.signal",
                     "scipy.interpolate", "scipy.optimize", "math", "cmath"))
_OWN = __name__.partition(".compiler.")[0]

_CACHED = type(lru_cache(maxsize=1)(len))

_LOCK = threading.RLock()
_depth = 0
_undo: list[Callable[[], Any]] = []
_sites: dict[str, tuple[int, int, list[tuple[str, Any]]]] = {}
_replacements: dict[int, tuple[Any, Any]] = {}      # id of the original: (original, stand-in)
_careful: dict[int, Any] = {}           # stand-ins that never make a traced array of plain values
_methods: list[tuple[type, str, Any, Any]] = []     # class, name, original, stand-in
_waiting = set(LATE)                                # modules that are not loaded yet


def _called_by_user(frame: Any) -> bool:
    """Whether user code makes this call, rather than one of our rules, NumPy or SciPy itself."""
    builder = CURRENT.builder
    if builder is None or builder.origin is not None:
        return False
    return not _is_inner(frame.f_globals.get("__name__", "")) and not _is_importing(frame)


def _is_importing(frame: Any) -> bool:
    """Whether a module is being loaded by the traced function: its arrays outlive the trace."""
    while frame is not None and not is_stage(frame):
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _traced_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    for value in args:
        if contains_tracer(value):
            return True
    return bool(kwargs) and any(contains_tracer(v) for v in kwargs.values())


def _stand_in(original: Any, ours: Callable[..., Any], creates: bool) -> Callable[..., Any]:
    """Our function where a traced value is involved (or made), else the original."""
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        builder = CURRENT.builder
        if builder is None or not (_traced_arguments(args, kwargs)
                                   or (creates and _called_by_user(sys._getframe(1)))):
            return original(*args, **kwargs)
        assert isinstance(builder, TraceBuilder)
        return enter(ours, builder, args, kwargs, sys._getframe(1))
    stand_in.__name__ = getattr(original, "__name__", "stand_in")
    stand_in.__doc__ = getattr(original, "__doc__", None)
    stand_in.__wrapped__ = original  # type: ignore[attr-defined]
    return stand_in


def _prepare() -> None:
    """Make the stand-ins, once, when all of our functions have been registered."""
    pairs: list[tuple[Any, Callable[..., Any], bool]] = []
    for original, ours in FUNCTIONS.items():
        if callable(original) and not isinstance(original, (np.ufunc, type)):
            pairs.append((original, ours, original in CREATION))
    pairs += [(original, ours, False) for original, ours in python_math.FUNCTIONS.items()]
    _waiting.update(LATE)
    pairs += [(original, ours, True) for original, ours in drawing_functions()]
    for original, ours, creates in pairs:
        _replace(original, ours, creates)


def _replace(original: Any, ours: Callable[..., Any], creates: bool = False) -> None:
    if id(original) not in _replacements:
        stand_in = _stand_in(original, ours, creates)
        _replacements[id(original)] = (original, stand_in)
        _careful[id(original)] = _stand_in(original, ours, False) if creates else stand_in
        for function in (stand_in, _careful[id(original)]):
            FUNCTIONS[function] = ours       # our own code looks functions up while swapped


def _admit(module: ModuleType) -> None:
    """Make the stand-ins for a module's functions and methods, now that it is loaded."""
    _waiting.discard(module.__name__)
    for path, (ours, creates) in LATE[module.__name__].items():
        owner, _, name = path.rpartition(".")
        if not hasattr(module, owner or name):      # not in this version of the library
            continue
        if owner:
            mro = getattr(module, owner).__mro__
            cls = next(c for c in mro if name in vars(c))
            original = vars(cls)[name]
            _methods.append((cls, name, original, _stand_in(original, ours, creates)))
        else:
            original = getattr(module, name)
            FUNCTIONS[original] = ours
            _replace(original, ours, creates)
    if module.__name__ in CLOSED_LATE:
        for original in refuse_others(module):
            _replace(original, FUNCTIONS[original])
    _sites.clear()


class _LateLoader(SourceFileLoader):
    """Loads a module during a trace and exchanges its functions at once."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code, then exchange what we stand for."""
        super().exec_module(module)
        with _LOCK:
            _admit(module)
            if _depth:
                _swap_methods(_methods)
                _swap(vars(module), _scan(module.__name__, vars(module)))


class _LateFinder(MetaPathFinder):
    """Finds the modules that we wait for."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None
                  ) -> ModuleSpec | None:
        """The usual specification with our loader."""
        if name not in _waiting:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _LateLoader(name, spec.loader.path)
        return spec


_FINDER = _LateFinder()


def stand_in_for(function: Any) -> Any:
    """The stand-in of an intercepted (or cached) function; else the function."""
    # A traced value is no key: call without the cache. Some objects warn if asked for their class.
    if issubclass(type(function), _CACHED):
        _replace(function, function.__wrapped__)
    entry = _replacements.get(id(function))
    return entry[1] if entry is not None and entry[0] is function else function


def _scan(name: str, names: dict[str, Any]) -> list[tuple[str, Any]]:
    """Names in a module's dictionary that are bound to intercepted functions (cached)."""
    known = _sites.get(name)
    if known is not None and known[0] == id(names) and known[1] == len(names):
        return known[2]
    found = []
    for key, value in list(names.items()):
        stand_in = stand_in_for(value)
        if stand_in is not value:
            found.append((key, stand_in))
    _sites[name] = (id(names), len(names), found)
    return found


class _Accessed(ModuleType):
    """NumPy while a trace lasts: Python code that reads ``np.zeros`` gets the stand-in.

    C code that does so, inside a random generator for example, must get NumPy's own, since it
    relies on a real array. It shows by the instruction that Python is executing.
    """

    def __getattribute__(self, name: str) -> Any:
        value = ModuleType.__getattribute__(self, name)
        entry = _replacements.get(id(value))
        if entry is None or entry[0] is not value:
            return value
        frame = sys._getframe(1)
        if dis.opname[frame.f_code.co_code[frame.f_lasti]] in _READS:
            return entry[1]
        return _careful[id(value)]


_READS = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")


def _is_compiled(module: Any) -> bool:
    return isinstance(getattr(getattr(module, "__spec__", None), "loader", None),
                      ExtensionFileLoader)


def _is_inner(name: str) -> bool:
    root = name.partition(".")[0]
    if name in _PUBLIC or name.startswith("scipy.stats."):
        return False
    return root in ("numpy", "scipy", "sympy", "optree", "jinja2", "importlib") or \
        name == _OWN or name.startswith((f"{_OWN}.compiler", f"{_OWN}.runtime", f"{_OWN}.codegen"))


def _swap(names: dict[str, Any], found: list[tuple[str, Any]]) -> None:
    for key, stand_in in found:
        current = names.get(key)
        entry = _replacements.get(id(current))
        if entry is not None and entry[1] is stand_in:
            _undo.append(partial(names.__setitem__, key, current))
            names[key] = stand_in


_reached: dict[str, tuple[Any, bool]] = {}


def _is_reached(name: str, module: Any) -> bool:
    """Whether functions are exchanged in a module (remembered, since there are a thousand)."""
    known = _reached.get(name)
    if known is None or known[0] is not module:
        reached = module is not np and not _is_inner(name) and (
            name in _PUBLIC or not _is_compiled(module))
        known = _reached[name] = (module, reached)
    return known[1]


def _exchange(place: Place) -> None:
    """A function bound in a closure, a default, an attribute, a table or a user's namespace."""
    if isinstance(place.value, staticmethod):
        stand_in = stand_in_for(place.value.__func__)
        stand_in = place.value if stand_in is place.value.__func__ else staticmethod(stand_in)
    else:
        stand_in = stand_in_for(place.value)
    if stand_in is not place.value and place.get() is place.value:
        _undo.append(partial(place.set, place.value))
        place.set(stand_in)


def _redirect_conversions() -> None:
    """Give functions that convert traced values their redirected code."""
    for name, function in conversions.marked_names().items():
        if not hasattr(builtins, name):
            setattr(builtins, name, function)
            _undo.append(partial(delattr, builtins, name))
    for function, code, redirected in conversions.exchanged():
        function.__code__ = redirected
        _undo.append(partial(setattr, function, "__code__", code))


def _swap_methods(methods: Sequence[tuple[type, str, Any, Any]]) -> None:
    for cls, name, original, stand_in in methods:
        if vars(cls)[name] is original:
            _undo.append(partial(setattr, cls, name, original))
            setattr(cls, name, stand_in)


@contextmanager
def intercept(places: Iterable[Place] = ()) -> Iterator[None]:
    """Exchange the functions while the context lasts (nesting allowed), also in some places."""
    global _depth
    with _LOCK:
        try:
            _depth += 1
            if _depth == 1:
                if not _replacements:
                    _prepare()
                for module in [sys.modules[n] for n in _waiting if n in sys.modules]:
                    if not getattr(module.__spec__, "_initializing", False):
                        _admit(module)
                if _waiting:
                    sys.meta_path.insert(0, _FINDER)
                    _undo.append(partial(sys.meta_path.remove, _FINDER))
                _swap_methods(_methods)
                np.__class__ = _Accessed
                _undo.append(partial(setattr, np, "__class__", ModuleType))
                for name, module in list(sys.modules.items()):
                    names = getattr(module, "__dict__", None)
                    if isinstance(names, dict) and _is_reached(name, module):
                        _swap(names, _scan(name, names))
            for place in places:
                _exchange(place)
            _redirect_conversions()
            yield
        finally:
            _depth -= 1
            if _depth == 0:
                while _undo:
                    _undo.pop()()
