"""Trace a function once: call it with tracers and collect the graph of what it did."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arraytype import ArrayType, is_python_number, type_of
from ..errors import (
    LOSSES,
    ConversionError,
    NoOutputError,
    ObjectArrayError,
    Origin,
    UnsupportedFunctionError,
    WengertError,
)
from ..graph import CURRENT, Graph, Node, inline
from . import composites  # noqa: F401  (registers NumPy's functions)
from .builder import TraceBuilder, inmost, stack_objects
from .captures import Captures, captured_by
from .conversions import redirect
from .interception import intercept, stand_in_for
from .locate import inside_scipy
from .tracer import Tracer
from .tree import flatten, paths, unflatten

_MAX_ATTEMPTS = 50        # functions in one trace whose calls of float() are redirected


@dataclass(frozen=True)
class Staged:
    """What one trace found.

    Attributes:
        graph: inputs are the traced leaves of the arguments; outputs the traced results, then
            the final values of arguments that the function wrote to.
        out_spec: structure of the result.
        n_outputs: how many of the graph's outputs belong to the result.
        written: positions of the inputs that the function assigned into.
        lifted: values of an enclosing trace that the function used, as extra inputs.
        where: where the function is defined.
    """

    graph: Graph
    out_spec: Any
    n_outputs: int
    written: tuple[int, ...]
    lifted: tuple[Tracer, ...]
    where: Origin | None = None


def is_traceable(leaf: Any) -> bool:
    """Whether a leaf is a number or an array of numbers; all else is static."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype.kind in "biufc"
    return is_python_number(leaf) or isinstance(leaf, (Tracer, ArrayType))


def leaf_type(leaf: Any) -> ArrayType:
    """Type of a traceable leaf."""
    if isinstance(leaf, Tracer):
        return leaf.type
    return leaf if isinstance(leaf, ArrayType) else type_of(leaf)


def leaf_names(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
               ) -> list[str]:
    """A name for every leaf of the arguments: the parameter's, with the path inside it."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = []
    for i, arg in enumerate(args):
        kind = parameters[min(i, len(parameters) - 1)] if parameters else None
        if kind is None or (i >= len(parameters) and kind.kind is not kind.VAR_POSITIONAL):
            base = f"x{i}"
        elif kind.kind is kind.VAR_POSITIONAL:
            base = f"{kind.name}{i - len(parameters) + 1}"
        else:
            base = kind.name
        names += path_names(base, arg)
    for key, value in sorted(kwargs.items()):
        names += path_names(key, value)
    return names


def path_names(base: str, value: Any) -> list[str]:
    """A name for every leaf of one argument."""
    if is_traceable(value):
        return [base]
    return ["_".join([base, *map(str, path)]) for path in paths(value)]


def function_name(function: Any) -> str:
    """A name for the graph of a function."""
    if isinstance(function, functools.partial):
        return function_name(function.func)
    name = getattr(function, "__name__", type(function).__name__)
    return "f" if name == "<lambda>" else str(name)


def stage(function: Callable[..., Any], leaves: Sequence[Any], spec: Any, names: Sequence[str],
          values: bool = True, captures: Captures | None = None, body_of: str | None = None
          ) -> Staged:
    """Trace a function.

    Args:
        function: any callable on numbers and arrays.
        leaves: of ``(args, kwargs)``; numbers, arrays, types or traced values, or static objects.
        spec: structure of ``(args, kwargs)``.
        names: one a leaf.
        values: whether the leaves' values may decide branches.
        captures: of the function and of static arguments; looked for here if not given.
        body_of: the structured operator that this is a body of.
    """
    if captures is None:
        captures = captured_by(function, *[leaf for leaf in leaves if not is_traceable(leaf)])
    for _ in range(_MAX_ATTEMPTS):
        try:
            return _stage(function, leaves, spec, names, values, captures, body_of)
        except ConversionError as error:
            if not redirect(error):
                raise
    return _stage(function, leaves, spec, names, values, captures, body_of)


def _stage(function: Callable[..., Any], leaves: Sequence[Any], spec: Any, names: Sequence[str],
           values: bool, captures: Captures, body_of: str | None) -> Staged:
    builder = TraceBuilder(function_name(function), locates=True)
    builder.body_of = body_of
    builder.by_reference = {id(a): a for a in captures.arrays}
    inputs: list[Tracer] = []
    given: list[Any] = []
    for leaf, name in zip(leaves, names, strict=True):
        if not is_traceable(leaf):
            given.append(leaf)
            continue
        node = builder.input(leaf_type(leaf), name)
        boxed = isinstance(leaf, np.ndarray) or (isinstance(leaf, Tracer) and leaf.boxed)
        tracer = Tracer(builder, node, boxed)
        if isinstance(leaf, Tracer):
            builder.sources[node] = leaf.builder, leaf.node
        elif values and not isinstance(leaf, ArrayType):
            builder.values[node] = leaf
        inputs.append(tracer)
        given.append(tracer)
    args, kwargs = unflatten(spec, given)
    first = [t.node for t in inputs]
    outer = CURRENT.builder
    CURRENT.builder = builder
    n_losses = len(LOSSES.errors)
    try:
        with intercept(captures.places):
            try:
                result = stand_in_for(function)(*args, **kwargs)
            except Exception as error:            # NumPy may have put its own in place of ours
                first_loss = LOSSES.errors[n_losses:n_losses + 1]
                _refuse_foreign(error, bool(first_loss))
                if first_loss and not isinstance(error, WengertError):
                    raise first_loss[0] from error
                raise
        if len(LOSSES.errors) > n_losses:         # caught by the function's own except
            raise LOSSES.errors[n_losses]
        out_leaves, out_spec = flatten(result)
        outputs = [_output_node(builder, leaf, function) for leaf in out_leaves]
        written = tuple(i for i, t in enumerate(inputs) if t.node is not first[i])
        finals = [inputs[i].node for i in written]
    finally:
        CURRENT.builder = outer
        builder.closed = True
        del LOSSES.errors[n_losses:]
    if not outputs:
        raise NoOutputError(f"The function {builder.name} returned {result!r}.",
                            "Return the value to differentiate.", definition(function))
    n_args = len(inputs)
    lifted = tuple(Tracer(*builder.sources[node]) for node in builder.inputs[n_args:])
    return Staged(builder.graph([*outputs, *finals]), out_spec, len(outputs), written, lifted,
                  definition(function))


def _refuse_foreign(error: Exception, is_loss: bool) -> None:
    """Name the function of SciPy's whose own code cannot be run with traced values.

    Raises:
        UnsupportedFunctionError: if the error comes from the code of one.
    """
    if not (is_loss or isinstance(error, (WengertError, TypeError, AttributeError, RuntimeError))):
        return
    found = inside_scipy(error)
    if found is not None:
        name, where = found
        raise UnsupportedFunctionError(
            f"{name} is not in the table of operators, and its own code cannot be traced.",
            "Write it in terms of supported NumPy functions, or declare it with "
            "wengert.custom_jvp.", where) from error


@contextmanager
def no_trace() -> Iterator[None]:
    """Our own rules run outside of any trace of user code."""
    outer = CURRENT.builder
    CURRENT.builder = None
    try:
        yield
    finally:
        CURRENT.builder = outer


def _output_node(builder: TraceBuilder, leaf: Any, function: Any) -> Node:
    if isinstance(leaf, np.ndarray) and leaf.dtype == object:
        stacked = stack_objects(leaf)
        leaf = leaf if stacked is None else stacked
    if not is_traceable(leaf):
        raise NoOutputError(
            f"The function {builder.name} returned {leaf!r} of type {type(leaf).__name__}, which "
            "is not a number or an array of numbers.", "Return numbers and arrays only.",
            definition(function))
    try:
        node: Node = builder.lift(leaf)
        return node
    except ObjectArrayError as error:
        raise NoOutputError(error.what, error.instead, definition(function)) from None


def definition(function: Any) -> Origin | None:
    """Where a function is defined."""
    while isinstance(function, functools.partial) or hasattr(function, "__wrapped__"):
        function = function.func if isinstance(function, functools.partial) else \
            function.__wrapped__
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(type(function).__call__, "__code__", None)
    return Origin(code.co_filename, code.co_firstlineno) if code else None


def inline_call(graph: Graph, args: Sequence[Any]) -> list[Any]:
    """Apply a graph to operands of which some are traced, inside their trace."""
    tracers = [a for a in args if isinstance(a, Tracer)]
    builder = inmost(max((t.builder for t in tracers), key=lambda b: b.depth))
    nodes = inline(builder, graph, [builder.lift(a) for a in args])
    return [Tracer(builder, n) for n in nodes]
