"""The fast way into a compiled function: a generated ``__call__`` for one signature.

General dispatch flattens the arguments, looks their types up and packs the results. Where the
arguments are plain numbers and arrays, a few identity tests say the same, so they are printed as
code; anything else falls through, to the code for another signature or to the general way.
"""

import ast
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..codegen.source import Source
from ..compiler.arraytype import ArrayType
from ..compiler.trace.watch import Watch
from .compile import Packing

_PLAIN: dict[Any, Any] = {np.dtype(float): float, np.dtype(np.int64): int, np.dtype(bool): bool,
                          np.dtype(complex): complex}


MISSING = object()

Entry: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


class Call(NamedTuple):
    """One call, parameter by parameter.

    Attributes:
        parameters: names, in the order of the signature.
        kinds: for each parameter that was given, its type (traced; a scalar of NumPy's by its
            class) or value (static).
        leaves: names of the traced parameters in the order of the program's inputs.
    """

    parameters: tuple[str, ...]
    kinds: dict[str, Any]
    leaves: tuple[str, ...]


def describe_call(function: Callable[..., Any], n_operands: int, args: Sequence[Any],
                  kwargs: dict[str, Any], kind_of: Callable[[Any], Any]) -> Call | None:
    """The call in terms of parameters; None if it is not one of plain values.

    Args:
        function: whose signature names the parameters.
        n_operands: 1 if a tangent, cotangent or vector follows the function's own arguments.
        args: positional arguments.
        kwargs: keyword arguments.
        kind_of: type of a traced argument, the argument itself if it is static, or MISSING for
            a container.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    names = []
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY) or \
                not parameter.name.isascii():
            return None
        names.append(parameter.name)
    if any(n.startswith(_PREFIX) for n in names):
        return None
    if n_operands:
        if len(args) != len(names) + 1 or kwargs:
            return None
        names.append(f"{_PREFIX}operand")
    if len(args) > len(names) or len(set(names)) != len(names):
        return None
    given = dict(zip(names, args, strict=False)) | dict(sorted(kwargs.items()))
    kinds = {name: kind_of(value) for name, value in given.items()}
    if not set(given) <= set(names) or any(kind is MISSING for kind in kinds.values()):
        return None
    leaves = tuple(n for n, kind in kinds.items() if isinstance(kind, (ArrayType, type)))
    return Call(tuple(names), kinds, leaves)


_PREFIX = "_w_"     # of our names, beside the parameters
_OTHERS = f"{_PREFIX}others"
_CERTAIN = 4        # more tests of captured values are left to their own function
_SHORT = 600        # bytes of code; a longer function costs more than calling it


class Target(NamedTuple):
    """What a recognised call runs.

    Attributes:
        raw: the generated function, from the traced leaves to flat results.
        source: its module.
        packing: from flat results to the caller's.
        n_results: how many flat results there are.
        finished: class of results that another branch has packed already; None without guards.
    """

    raw: Any
    source: Source
    packing: Callable[..., Any]
    n_results: int
    finished: type | None


def make_entry(call: Call, target: Target, watch: Watch, changed: Callable[[], bool] | None,
               ) -> Entry | None:
    """What makes a ``__call__`` that recognises calls like this one; None if no test can.

    It takes the function that is to be called with the values of all parameters of other calls.

    Args:
        call: to be recognised.
        target: to be run.
        watch: tests that captured values are what they were.
        changed: the same as a function; None if nothing is captured.
    """
    names: dict[str, Any] = {
        "_w_raw": target.raw, "_w_ndarray": np.ndarray, "_w_changed": changed, "_w_type": type,
        "_w_finished": target.finished, "_w_packing": target.packing, "_w_missing": MISSING}
    tests = _watching(watch, changed, names)
    for name in call.parameters:
        test = f"{name} is _w_missing" if name not in call.kinds else \
            _test(name, call.kinds[name], names)
        if test is None:
            return None
        tests.append(test)
    parameters = [f"{p}=_w_missing" for p in call.parameters]
    function = ast.parse("\n".join([
        f"def __call__({', '.join(parameters)}):",
        f"    if {' and '.join(tests) or 'True'}:",
        *[f"        {line}" for line in _invocation(call, target)],
        f"    return {_OTHERS}({', '.join(call.parameters)})"])).body[0]
    body = _short_body(call, target, {*names})
    if body is not None:
        function.body[0].body = body  # type: ignore[attr-defined]
    return _with_names(function, names, target.raw if body is not None else None)


def _watching(watch: Watch, changed: Callable[[], bool] | None, names: dict[str, Any]
              ) -> list[str]:
    """Tests of the captured values: in place if they are few and simple."""
    if changed is None:
        return []
    if not watch.certain or len(watch.tests) > _CERTAIN:
        return ["not _w_changed()"]
    names.update((k, v) for k, v in watch.space.items() if k.startswith(_PREFIX))
    return list(watch.tests)


def _invocation(call: Call, target: Target) -> list[str]:
    """Statements that call the generated function and return packed results."""
    packed = _packed_text(target.packing, target.n_results)
    invoke = f"_w_raw({', '.join(call.leaves)})"
    if target.finished is not None:
        return [f"_w_r = {invoke}", "if _w_type(_w_r) is _w_finished:", "    return _w_r.value",
                f"return {packed}"]
    return [f"return {invoke}"] if packed == "_w_r" else [f"_w_r = {invoke}", f"return {packed}"]


def _short_body(call: Call, target: Target, names: set[str]) -> list[ast.stmt] | None:
    """Body of a short generated function, to stand in the entry itself; lines keep their numbers.

    None if it is long, or if its names or results are not those of the call.
    """
    code = target.raw.__code__
    if len(code.co_code) > _SHORT or target.source.parameters != call.leaves or \
            target.finished is not None or names & {*code.co_varnames, *code.co_names} or \
            {*call.parameters} & {*code.co_varnames[len(call.leaves):], *code.co_names} or \
            _packed_text(target.packing, target.n_results) != "_w_r":
        return None
    for node in ast.parse(target.source.text).body:
        if isinstance(node, ast.FunctionDef) and node.name == target.source.name:
            return node.body
    return None


def _with_names(function: ast.stmt, names: dict[str, Any], raw: Any) -> Entry:
    """The function, with the names of the entry bound, in the module of the generated function."""
    maker = ast.parse(f"def make({', '.join([_OTHERS, *names])}):\n    return __call__")
    maker.body[0].body.insert(0, function)  # type: ignore[attr-defined]
    filename, space = ("<wengert entry>", {}) if raw is None else \
        (raw.__code__.co_filename, raw.__globals__)
    made: dict[str, Any] = {}
    exec(compile(maker, filename, "exec"), space, made)      # the text is our own
    return functools.partial(made["make"], **names)


def rebind(function: Callable[..., Any], values: Sequence[Any]
           ) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments from the values of all parameters, some missing."""
    names = list(inspect.signature(function).parameters)
    n = next((i for i, v in enumerate(values) if v is MISSING), len(values))
    rest = {name: v for name, v in zip(names[n:], values[n:], strict=False) if v is not MISSING}
    return tuple(values[:n]), rest


def _test(name: str, kind: Any, names: dict[str, Any]) -> str | None:
    if isinstance(kind, ArrayType):
        if kind.weak:
            names[f"_w_type_{name}"] = _PLAIN[kind.dtype]
            return f"_w_type({name}) is _w_type_{name}"
        names[f"_w_dtype_{name}"] = kind.dtype
        return (f"_w_type({name}) is _w_ndarray and {name}.shape == {kind.shape} "
                f"and {name}.dtype is _w_dtype_{name}")
    if isinstance(kind, type):
        names[f"_w_type_{name}"] = kind
        return f"_w_type({name}) is _w_type_{name}"
    if kind is None or isinstance(kind, bool):
        return f"{name} is {kind}"
    if type(kind) is str:
        return f"{name} == {kind!r}"
    return None


def _packed_text(packing: Callable[..., Any], n: int) -> str:
    """How the flat results ``_w_r`` are packed, as an expression where that is simple."""
    if not isinstance(packing, Packing):              # it makes more of the results
        return "_w_packing((_w_r,))" if n == 1 else "_w_packing(_w_r)"
    if n == 1:
        shown = packing([0])
        text = _spell(shown, single=True)
        return text if text is not None else "_w_packing((_w_r,))"
    shown = packing(list(range(n)))
    if shown == tuple(range(n)):
        return "_w_r"
    text = _spell(shown, single=False)
    return text if text is not None else "_w_packing(_w_r)"


def _spell(value: Any, single: bool) -> str | None:
    if type(value) is int:
        return "_w_r" if single else f"_w_r[{value}]"
    if type(value) in (tuple, list):
        parts = [_spell(v, single) for v in value]
        if any(p is None for p in parts):
            return None
        inside = ", ".join(p for p in parts if p is not None)
        if type(value) is list:
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if type(value) is dict and all(type(k) is str for k in value):
        items = [(k, _spell(v, single)) for k, v in value.items()]
        if any(t is None for _, t in items):
            return None
        return f"{{{', '.join(f'{k!r}: {t}' for k, t in items)}}}"
    return None
