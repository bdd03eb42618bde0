"""Docstring examples of the engineering library ``fluids``: its derivatives against differences."""

import ast
import doctest
import importlib
import inspect
import itertools
import math
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import fluids
import numpy as np
import wengert as wg

TOLERANCE = 2e-6
# Modules that hold no functions of their own, or need optional packages.
_SKIPPED = ("numba", "numba_vectorized", "numba_tests", "vectorized", "optional", "units",
            "constants")


@dataclass(frozen=True)
class Example:
    """A call from a docstring that takes floats and returns one."""

    module: str
    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    value: float = field(compare=False)

    @property
    def floats(self) -> list[int | str]:
        """Positions and names of the arguments that are floats."""
        return [k for k, v in [*enumerate(self.args), *self.kwargs.items()] if type(v) is float]

    def at(self, which: int | str, x: float) -> Any:
        """The function with one argument replaced."""
        if isinstance(which, int):
            args = list(self.args)
            args[which] = x
            return self.function(*args, **self.kwargs)
        return self.function(*self.args, **{**self.kwargs, which: x})


@dataclass(frozen=True)
class Outcome:
    """What became of an example: ``agrees``, ``one-sided``, ``differs``, ``nan`` or ``refused``."""

    kind: str
    argument: int | str = ""
    detail: str = ""


def modules() -> list[Any]:
    """The library's modules."""
    return [importlib.import_module(f"fluids.{m.name}")
            for m in pkgutil.iter_modules(fluids.__path__) if m.name not in _SKIPPED]


def examples() -> Iterator[Example]:
    """The first suitable example of every public function."""
    seen = set()
    for module in modules():
        for name in getattr(module, "__all__", ()):
            function = getattr(module, name, None)
            if inspect.isfunction(function) and function not in seen:
                seen.add(function)
                example = _example(module, name, function)
                if example is not None:
                    yield example


def _example(module: Any, name: str, function: Any) -> Example | None:
    try:
        statements = doctest.DocTestParser().get_examples(function.__doc__ or "")
    except ValueError:
        return None
    space = {**vars(fluids), **vars(module), "pi": math.pi, "log": math.log, "sqrt": math.sqrt,
             "exp": math.exp}
    for statement in statements:
        text = statement.source.strip()
        try:
            call = ast.parse(text, mode="eval").body
        except SyntaxError:                      # an assignment that later lines need
            _quietly(exec, text, space)
            continue
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
                and call.func.id == name):
            continue
        args = _quietly(lambda: tuple(_value(a, space) for a in call.args))       # noqa: B023
        kwargs = _quietly(lambda: {k.arg: _value(k.value, space) for k in call.keywords})  # noqa: B023
        if args is None or kwargs is None:
            continue
        value = _quietly(function, *args, **kwargs)
        if type(value) is float and any(type(v) is float for v in (*args, *kwargs.values())):
            return Example(module.__name__, name, function, args, kwargs, value)
    return None


def _value(node: ast.expr, space: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "<docstring>", "eval"), space)


def _quietly(function: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except Exception:
        return None


def _extrapolated(values: list[float], ratio: int) -> tuple[float, float]:
    """Limit of a sequence at halved steps, and how sure it is."""
    table = [values]
    for k in range(1, len(values)):
        factor = ratio ** k
        last = table[-1]
        table.append([(factor * b - a) / (factor - 1)
                      for a, b in itertools.pairwise(last)])
    return table[-1][0], abs(table[-1][0] - table[-2][-1])


def differences(example: Example, which: int | str, side: int = 0) -> tuple[float, float] | None:
    """Derivative by differences, and its uncertainty; on one side of the point, or on both."""
    x = example.args[which] if isinstance(which, int) else example.kwargs[which]
    best = None
    for scale in range(5 if side == 0 else 7):
        h = (abs(x) if x else 1.0) * 10.0 ** (-2 - 0.7 * scale)
        steps = [h / 2 ** k for k in range(4)]
        try:
            if side == 0:
                found = _extrapolated([(example.at(which, x + s) - example.at(which, x - s))
                                       / (2 * s) for s in steps], 4)
            else:
                found = _extrapolated([(example.at(which, x + side * s) - example.value)
                                       / (side * s) for s in steps], 2)
        except Exception:           # outside of the function's domain
            continue
        if not isinstance(found[0], complex) and found[0] == found[0] and (
                best is None or found[1] < best[1]):
            best = found
    return best


def check(example: Example) -> Outcome:
    """Compare the gradient by every float argument with differences."""
    try:
        slopes = wg.grad(example.function, tuple(example.floats))(*example.args, **example.kwargs)
    except wg.WengertError as error:
        return Outcome("refused", detail=f"{type(error).__name__}: {error}")
    corners = []
    for which, slope in zip(example.floats, slopes, strict=True):
        x = example.args[which] if isinstance(which, int) else example.kwargs[which]
        found = differences(example, which)
        if found is None or _close(slope, found[0], example.value, x):
            continue
        if math.isnan(slope):
            return Outcome("nan", which)
        sides = [differences(example, which, side) for side in (-1, 1)]
        if not any(s is not None and _close(slope, s[0], example.value, x, 1e-4) for s in sides):
            shown = ", ".join("none" if s is None else f"{s[0]:.8g} (±{s[1]:.1g})"
                              for s in (found, *sides))
            return Outcome("differs", which, f"{slope:.8g}; differences: both sides, left, "
                                             f"right: {shown}")
        corners.append(which)
    return Outcome("one-sided" if corners else "agrees", ", ".join(map(str, corners)))


def _close(slope: Any, expected: float, value: float, x: float, tol: float = TOLERANCE) -> bool:
    scale = max(abs(expected), abs(value / x) if x else 0.0, 1e-300)
    return bool(np.isfinite(slope)) and abs(slope - expected) <= tol * scale
