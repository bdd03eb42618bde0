"""Checking derivatives against differences, element by element."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiler.errors import ArgnumsError, GradientMismatchError
from ..compiler.trace.stage import definition, function_name, is_traceable, leaf_names, leaf_type
from ..compiler.trace.tree import flatten, places, unflatten
from .api import grad

Function = Callable[..., Any]

_FIRST_STEP = 2.0 ** -4      # relative to max(1, |x|)
_SHRINK = 4.0
_STEPS = 9
_UNDEFINED = (ValueError, ZeroDivisionError, OverflowError, FloatingPointError)


def check_grads(f: Function, args: Sequence[Any], order: int = 2,
                modes: Sequence[str] = ("forward", "reverse"),
                argnums: int | Sequence[int] | None = None, rtol: float | None = None,
                atol: float = 0.0, seed: int = 0) -> None:
    """Compare derivatives with differences; return nothing if they agree.

    The result is contracted with random weights, a different one for each element, and the
    gradient of that sum is compared in every element with central differences in double
    precision, extrapolated to step zero (Ridders 1982), together with a bound of their error.
    The gradient is then treated in the same way, up to the given order, in all combinations of
    the modes. An element is right if it differs by no more than
    ``rtol·|difference quotient| + atol + its error bound``; so an error next to zero counts.

    Args:
        f: of numbers, arrays and nested containers.
        args: where to check, as a tuple.
        order: highest order of derivative.
        modes: which of ``"forward"`` and ``"reverse"``.
        argnums: positions of the arguments; by default all of floating-point numbers.
        rtol: relative tolerance; by default about 1e-6 in double, 2e-3 in single precision.
        atol: absolute tolerance.
        seed: of the weights.

    Raises:
        GradientMismatchError: naming the worst element, or an element where the differences
            themselves do not settle (the function is not smooth there).

    >>> import numpy as np, wengert as wg
    >>> wg.check_grads(lambda x: np.sin(x) / x, (np.array([0.5, 2.0]),))
    """
    if not isinstance(args, (tuple, list)):
        raise TypeError("check_grads takes the arguments as a tuple: check_grads(f, (x, y)).")
    if order < 1 or not modes or set(modes) - {"forward", "reverse"}:
        raise ValueError(f"order={order!r} must be at least 1 and modes={modes!r} be of "
                         "'forward' and 'reverse'.")
    wanted = _positions(f, args, argnums)
    rng = np.random.default_rng(seed)
    names = _names(f, args, wanted)
    functions: dict[tuple[str, ...], Function] = {(): f}
    for n in range(order):
        for path in itertools.product(modes, repeat=n):
            scalar = _weighted(functions[path], args, rng)
            quotients = None
            for mode in modes:
                gradient = grad(scalar, wanted, mode=mode)
                functions[*path, mode] = gradient
                quotients = quotients or _differences(scalar, args, wanted, names)
                with np.errstate(all="ignore"):
                    found = gradient(*_copies(args))
                _compare(f, (*path, mode), found, quotients, rtol, atol)


def _positions(f: Function, args: Sequence[Any], argnums: int | Sequence[int] | None
               ) -> tuple[int, ...]:
    if argnums is not None:
        chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        if not all(isinstance(i, int) and -len(args) <= i < len(args) for i in chosen):
            raise ArgnumsError(f"argnums={argnums!r} does not fit a call with {len(args)} "
                               "arguments.", "Give positions.", definition(f))
        return tuple(i % len(args) for i in chosen)
    found = tuple(i for i, arg in enumerate(args) if _is_floating(arg))
    if not found:
        raise ArgnumsError("No argument is of floating-point numbers: there is nothing to check.",
                           "Pass floats.", definition(f))
    return found


def _is_floating(arg: Any) -> bool:
    leaves, _ = flatten(arg)
    return bool(leaves) and all(is_traceable(leaf) and leaf_type(leaf).dtype.kind == "f"
                                for leaf in leaves)


def _copies(args: Sequence[Any]) -> list[Any]:
    """A function that writes to its arguments must not spoil the next call."""
    leaves, spec = flatten(list(args))
    return unflatten(spec, [leaf.copy() if isinstance(leaf, np.ndarray)  # type: ignore[no-any-return]
                            else leaf for leaf in leaves])


def _weighted(function: Function, args: Sequence[Any], rng: np.random.Generator) -> Function:
    """Scalar function: all results, each element times a weight of its own."""
    with np.errstate(all="ignore"):
        results, _ = flatten(function(*_copies(args)))
    weights: list[Any] = []
    for result in results:
        if not is_traceable(result) or leaf_type(result).dtype.kind not in "fc":
            weights.append(None)
            continue
        shape = np.shape(result)
        weight = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
        if leaf_type(result).dtype.kind == "c":
            weight = weight + 1j * rng.uniform(0.5, 1.5, shape)
        weights.append(weight.astype(leaf_type(result).dtype) if shape else weight)
    if all(w is None for w in weights):
        raise GradientMismatchError("The function returns no floating-point number.", "",
                                    definition(function))

    def scalar(*args: Any) -> Any:
        leaves, _ = flatten(function(*args))
        terms = [np.sum(np.real(w * leaf)) for w, leaf in zip(weights, leaves, strict=True)
                 if w is not None]
        return sum(terms[1:], terms[0])
    scalar.__name__ = function_name(function)
    return scalar


@dataclass(frozen=True)
class _Quotient:
    """A derivative by differences: of which element, its value, and a bound of its error."""

    place: str
    value: float
    error: float


def _differences(scalar: Function, args: Sequence[Any], wanted: Sequence[int],
                 names: Sequence[str]) -> list[list[_Quotient]]:
    """For every selected leaf, the derivatives by its elements."""
    leaves, spec = flatten([args[i] for i in wanted])
    wide = [np.array(leaf, dtype=np.float64) for leaf in leaves]

    def at(which: int, place: tuple[int, ...], x: float) -> float:
        moved = list(_copies(args))
        new = [w.copy() for w in wide]
        new[which][place] = x
        for i, part in zip(wanted, unflatten(spec, [n if n.shape else float(n) for n in new]),
                           strict=True):
            moved[i] = part
        try:
            with np.errstate(all="ignore"):
                return float(scalar(*moved))
        except _UNDEFINED:
            return float("nan")
    return [[_quotient(lambda x, k=k, place=place: at(k, place, x), float(w[place]),
                       names[k] + (f"[{', '.join(map(str, place))}]" if place else ""))
             for place in np.ndindex(w.shape)] for k, w in enumerate(wide)]


def _names(f: Function, args: Sequence[Any], wanted: Sequence[int]) -> list[str]:
    """Every selected leaf as the user would write it, such as ``weights['a'][0]``."""
    parameters = leaf_names(f, (0,) * len(args), {})
    return [place for i in wanted for place in places(args[i], parameters[i])]


def _quotient(function: Callable[[float], float], x: float, place: str) -> _Quotient:
    """Central differences with shrinking steps, extrapolated; the best by its own estimate."""
    best, best_error = float("nan"), float("inf")
    row: list[float] = []
    step = _FIRST_STEP * max(1.0, abs(x))
    for _ in range(_STEPS):
        right, left = x + step, x - step
        high, low = function(right), function(left)
        noise = 8 * np.finfo(float).eps * max(abs(high), abs(low)) / step
        new = [(high - low) / (right - left)]
        for j, before in enumerate(row):
            factor = _SHRINK ** (2 * (j + 1))
            new.append((factor * new[j] - before) / (factor - 1))
            error = max(abs(new[j + 1] - new[j]), abs(new[j + 1] - before)) + 2 * noise
            if error < best_error:
                best, best_error = new[j + 1], error
        row = new if np.isfinite(new[0]) else []
        step /= _SHRINK
    return _Quotient(place, best, best_error)


def _compare(f: Function, path: tuple[str, ...], gradient: Any,
             quotients: list[list[_Quotient]], rtol: float | None, atol: float) -> None:
    leaves, _ = flatten(gradient)
    wrong = []
    for leaf, expected in zip(leaves, quotients, strict=True):
        relative = np.finfo(leaf_type(leaf).dtype).eps ** 0.4 if rtol is None else rtol
        largest = max((abs(q.value) for q in expected), default=0.0)
        rounding = 100 * np.finfo(leaf_type(leaf).dtype).eps * largest
        for value, q in zip(np.ravel(leaf), expected, strict=True):
            allowed = relative * abs(q.value) + atol + rounding
            what = f"{' over '.join(reversed(path))} derivative of order {len(path)}"
            if not q.error <= max(allowed, 1e-4 * (1 + abs(q.value))):
                raise GradientMismatchError(
                    f"The {what} of {function_name(f)} by {q.place} cannot be checked: "
                    "differences do not settle, so the function is not smooth there.",
                    "Choose another point.", definition(f))
            off = abs(float(value) - q.value)
            if not off <= allowed + q.error:
                wrong.append((off / (allowed + q.error), float(value), q, what))
    if wrong:
        _, value, q, what = max(wrong, key=lambda w: float("inf") if w[0] != w[0] else w[0])
        count = sum(map(len, quotients))
        raise GradientMismatchError(
            f"The {what} of {function_name(f)} is wrong in {len(wrong)} of {count} elements; "
            f"worst is {q.place}: {value!r} instead of {q.value!r} (± {q.error:.1g}).",
            "Compare the rules of the operations it depends on.", definition(f))
