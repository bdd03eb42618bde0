"""Which functions of NumPy and SciPy have derivatives: every one is called and classified.

``python tests/coverage_table.py`` writes ``docs/coverage.md``. A function is called on plain
values first, then traced with respect to each of its operands of floats, and its derivatives in
both modes are held against differences. What it is, is what happened; only what cannot have a
derivative by its nature (input and output, types, settings) is listed by hand.
"""

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.special as special
import wengert as wg
from coverage_samples import NOT_APPLICABLE, SAMPLES
from wengert.compiler.errors import WengertError
from wengert.compiler.interpret import interpret
from wengert.compiler.transforms.jvp import jvp
from wengert.compiler.transforms.vjp import vjp

NAMESPACES = {"numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft,
              "scipy.special": special}

DERIVATIVE = "derivative in both modes"
ZERO = "zero derivative"
STRUCTURE = "integer, boolean or structural result"
CREATION = "array creation from plain arguments"
RAISES = "raises"
NOT = "not applicable"
CLASSES = (DERIVATIVE, ZERO, STRUCTURE, CREATION, RAISES, NOT)

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"

_X = np.array([0.31, 0.82, 0.57])
_Y = np.array([0.43, 0.29, 0.91])
_MATRIX = np.array([[0.9, 0.21, 0.35], [0.12, 0.8, 0.4], [0.33, 0.14, 0.7]])
# Operands that are tried one after the other until the plain function takes them.
_POOL = ((_X,), (_MATRIX,), (_X, _Y), (_MATRIX, _X), (_X, _Y, _X + 0.1), (2, _X),
         (_X, _Y, _Y + 0.05, _X * 0.5), (2, 1, _X), (1, 2, _X),
         (1, 2, _X, _Y), (2, 1.5, _X),
         (1, 2, 1.3, 1.5, 1.6), (2.0, 1.0, 1, 1.5), (0.5,), ([_X, _Y],), (_X, 2), (_MATRIX, 1),
         (_MATRIX, 0, 1), (_X, 0), (3,), (2, 3), (), (1, 0.4))


class Found(NamedTuple):
    """What a function is."""

    kind: str
    note: str = ""


def functions(namespace: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public callables of a module, but not its classes."""
    for name in sorted(getattr(namespace, "__all__", None) or dir(namespace)):
        value = getattr(namespace, name, None)
        if callable(value) and not name.startswith("_"):
            yield name, value


def classify(path: str, name: str) -> Found:
    """Call a function and see."""
    full = f"{path}.{name}"
    if full in NOT_APPLICABLE:
        return Found(NOT, NOT_APPLICABLE[full])
    namespace = NAMESPACES[path]
    value = getattr(namespace, name)
    if isinstance(value, type) and full not in SAMPLES:
        return Found(NOT, "a type")

    def by_name(*args: Any) -> Any:
        return getattr(namespace, name)(*args)
    function, args = SAMPLES[full] if full in SAMPLES else (by_name, _operands(by_name, value))
    if args is None:
        raise LookupError(f"No operands are known for {full}.")
    return _probe(function, args)


def _operands(function: Callable[..., Any], original: Any) -> Any:
    ufunc = original if isinstance(original, np.ufunc) else None
    for args in _POOL:
        if ufunc is not None and len(args) != ufunc.nin:
            continue
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out = function(*map(_own, args))
        except Exception:
            continue
        leaves = _leaves(out)
        if leaves and all(v.dtype.kind not in "fc" or np.all(np.isfinite(v)) for v in leaves):
            return args
    return None


def _own(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in _leaves(v)]
    array = np.asarray(value)
    return [array] if array.dtype.kind in "biufc" else []


def _is_float(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_float(v) for v in value)
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind in "fc")


def _probe(function: Callable[..., Any], args: tuple[Any, ...]) -> Found:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = function(*map(_own, args))
        positions = [i for i, v in enumerate(args) if _is_float(v)]
        if not positions:
            return Found(CREATION)
        found = [_by_operand(function, args, i, out) for i in positions]
    for kind in (DERIVATIVE, STRUCTURE, ZERO, RAISES):
        if any(f.kind == kind for f in found):
            notes = [f"operand {i + 1}: {f.note}" if len(found) > 1 and kind != RAISES else f.note
                     for i, f in zip(positions, found, strict=True) if f.note]
            return Found(kind, "; ".join(dict.fromkeys(notes)))
    raise AssertionError


def _by_operand(function: Callable[..., Any], args: tuple[Any, ...], position: int, out: Any
                ) -> Found:
    """Trace with respect to one operand (or list of them) and check the derivatives."""
    parts = args[position] if isinstance(args[position], list) else [args[position]]

    def of_parts(*values: Any) -> Any:
        mine = list(values) if isinstance(args[position], list) else values[0]
        result = function(*args[:position], mine, *args[position + 1:])
        return tuple(_numbers(result)) or 0
    try:
        graph = wg.trace(of_parts)(*map(_own, parts))
        if not any(v.dtype.kind in "fc" for v in _leaves(out)):
            return Found(STRUCTURE)
        wrt = tuple(range(len(parts)))
        forward, backward = jvp(graph, wrt), vjp(graph, wrt)
    except WengertError as error:
        return Found(RAISES, _plain_text(error))
    except (TypeError, ValueError) as error:
        return Found(RAISES, f"{type(error).__name__}: {_plain_text(error)}")
    return _checked(of_parts, parts, graph, forward, backward)


def _numbers(value: Any) -> list[Any]:
    """The results that are numbers, in a row."""
    if isinstance(value, (list, tuple)):
        return [v for item in value for v in _numbers(item)]
    if isinstance(value, (int, float, complex, np.ndarray, np.generic)):
        return [value]
    return []


def _checked(function: Callable[..., Any], parts: list[Any], graph: Any, forward: Any,
             backward: Any) -> Found:
    rng = np.random.default_rng(0)
    tangents = [rng.uniform(0.5, 1.5, np.shape(p)) for p in parts]
    n = len(graph.outputs)
    pushed = interpret(forward, *parts, *tangents)[n:]
    h = 1e-5

    def shifted(step: float) -> Any:
        return function(*[p + step * t for p, t in zip(parts, tangents, strict=True)])
    slopes = [(np.asarray(p, complex) - m) / (2 * h) if node.type.differentiable else 0.0
              for p, m, node in zip(shifted(h), shifted(-h), graph.outputs, strict=True)]
    largest = 0.0
    for t, slope, node in zip(pushed, slopes, graph.outputs, strict=True):
        if node.type.differentiable:
            np.testing.assert_allclose(t, slope, rtol=2e-4, atol=2e-4 * max(
                1.0, float(np.max(np.abs(slope), initial=0.0))))
            largest = max(largest, float(np.max(np.abs(t), initial=0.0)))
    cts = [np.asarray(rng.uniform(0.5, 1.5, node.type.shape), node.type.dtype)
           if node.type.differentiable else np.zeros(node.type.shape) for node in graph.outputs]
    pulled = interpret(backward, *parts, *cts)[n:]
    left = sum(np.sum(c * t) for c, t, node in zip(cts, pushed, graph.outputs, strict=True)
               if node.type.differentiable)
    right = sum(np.sum(c * t) for c, t in zip(pulled, tangents, strict=True))
    np.testing.assert_allclose(np.real(right), np.real(left), rtol=1e-9, atol=1e-9)
    return Found(DERIVATIVE if largest > 1e-12 else ZERO)


def _plain_text(error: Exception) -> str:
    """The message without places and addresses."""
    text = error.what if isinstance(error, WengertError) else str(error)
    return re.sub(r"0x[0-9a-f]+", "…", text).split("\n")[0].replace("|", "/")


def table() -> dict[str, dict[str, Found]]:
    """What every function is, by namespace and name."""
    return {path: {name: classify(path, name) for name, _ in functions(namespace)}
            for path, namespace in NAMESPACES.items()}


def page(found: dict[str, dict[str, Found]]) -> str:
    """The table as Markdown."""
    lines = ["# Coverage", "",
             "Every public function of four namespaces, in the class that calling it gave. "
             "Derivatives are",
             "checked against differences as the page is made "
             "(`python tests/coverage_table.py`).", "",
             "| class | " + " | ".join(NAMESPACES) + " |", "| --- |" + " ---: |" * len(found)]
    for kind in CLASSES:
        counts = [sum(f.kind == kind for f in rows.values()) for rows in found.values()]
        lines.append(f"| {kind} | " + " | ".join(map(str, counts)) + " |")
    for path, rows in found.items():
        lines += ["", f"## {path}"]
        for kind in CLASSES:
            chosen = {name: f for name, f in rows.items() if f.kind == kind}
            if not chosen:
                continue
            lines += ["", f"**{kind[0].upper()}{kind[1:]}** ({len(chosen)})", ""]
            noted = {name: f.note for name, f in chosen.items() if f.note}
            plain = [f"`{name}`" for name in chosen if name not in noted]
            lines += _filled(plain)
            if plain and noted:
                lines.append("")
            by_note: dict[str, list[str]] = {}
            for name, note in noted.items():
                by_note.setdefault(re.sub(rf"^{re.escape(path)}.{name} (?=has|is not in)", "it ", note), []).append(f"`{name}`")
            for note, names in by_note.items():
                lines += _filled([*names[:-1], f"{names[-1]}: {note}"], "- ")
    return "\n".join(lines) + "\n"


def _filled(names: list[str], start: str = "") -> list[str]:
    lines, line = [], start
    for i, name in enumerate(names):
        piece = name + (", " if i < len(names) - 1 else "")
        if len(line) + len(piece) > 96 and line.strip(" -"):
            lines.append(line.rstrip())
            line = " " * len(start)
        line += piece
    return [*lines, line.rstrip()] if line.strip() else lines


if __name__ == "__main__":
    if "--list" in sys.argv:
        for path, namespace in NAMESPACES.items():
            for name, _ in functions(namespace):
                try:
                    result: Any = classify(path, name)
                except Exception as error:
                    result = f"!! {type(error).__name__}: {str(error).strip()[:150]!r}"
                print(path, name, result)
    else:
        PAGE.write_text(page(table()))
