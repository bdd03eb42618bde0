"""Functions with derivative rules of the user's own.

A traced call becomes one operator (see ``application.py``); the compiler knows nothing of such
functions. The user's rule is traced when it is first needed.
"""

import functools
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

from ..compiler.arraytype import ArrayType, is_python_number, type_of
from ..compiler.errors import BodyBranchError, ConcreteValueError, CustomRuleError, Origin
from ..compiler.graph import Graph
from ..compiler.interpret import interpret
from ..compiler.passes.pipeline import PREPARE, run
from ..compiler.trace.captures import captured_by
from ..compiler.trace.locate import locate
from ..compiler.trace.stage import definition, function_name, is_traceable, leaf_names, stage
from ..compiler.trace.tracer import TraceBuilder, Tracer, deepest, enter
from ..compiler.trace.tree import NAMESPACE, flatten, unflatten
from .application import Application, Opaque, call_flat, example

Function = Callable[..., Any]


class Custom:
    """A function with a derivative rule; see :func:`custom_jvp` and :func:`custom_vjp`."""

    reverse = False

    def __init__(self, function: Function, opaque: bool) -> None:
        if not callable(function):
            raise CustomRuleError(f"{function!r} is not a function.")
        self.function = function
        self.name = function_name(function)
        self.opaque = opaque
        functools.update_wrapper(self, function)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The function itself on numbers and arrays; one operator on traced values."""
        args = self._positional(args, kwargs)
        leaves, spec = flatten(args)
        builder = deepest(leaves)
        if builder is None:
            return self.function(*args)
        return enter(self._record, builder, (builder, leaves, spec), {}, sys._getframe(1))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method."""
        return self if instance is None else types.MethodType(self, instance)

    @property
    def where(self) -> Origin | None:
        """Where the user's function is defined."""
        return definition(self.function)

    def __repr__(self) -> str:
        return f"<wengert {type(self).__name__} {function_name(self.function)}>"

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, defaults filled in: rules see one tuple."""
        try:
            bound = inspect.signature(self.function).bind(*args, **kwargs)
        except ValueError:
            bound = None
        if bound is not None:
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            raise CustomRuleError(
                f"{function_name(self.function)} has keyword-only arguments "
                f"({', '.join(kwargs)}), which a derivative rule cannot be given.",
                "Declare them as ordinary parameters.", definition(self.function))
        return args

    def _record(self, builder: TraceBuilder, leaves: list[Any], spec: Any) -> Any:
        operands = tuple(i for i, leaf in enumerate(leaves)
                         if isinstance(leaf, (Tracer, np.ndarray)) and is_traceable(leaf))
        given = list(leaves)
        for i in operands:
            boxed = not isinstance(leaves[i], Tracer) or leaves[i].boxed
            given[i] = Tracer(builder, builder.lift(leaves[i]), boxed)
        traced = [given[i] for i in operands]
        if self.opaque:
            reference, out_types, out_spec = self._run_once(given, operands, spec)
            body = None
        else:
            body, out_spec = self._trace_body(given, operands, spec)
            out_types, reference = tuple(n.type for n in body.outputs), None
        call = _Call(self, tuple(given), operands, spec, out_types, out_spec)
        application = Application(
            self.name, definition(self.function), body, reference,
            tuple(t.type for t in traced), out_types, functools.cache(call.rule), self.reverse)
        out = application.operator()(*traced)
        return unflatten(out_spec, out if isinstance(out, tuple) else [out])

    def _trace_body(self, given: list[Any], operands: Sequence[int], spec: Any
                    ) -> tuple[Graph, Any]:
        names = leaf_names(self.function, unflatten(spec, given), {})
        flat = functools.partial(_flat, self.function, given, tuple(operands), spec)
        staged = stage(flat, *_call_of([given[i] for i in operands]),
                       [names[i] for i in operands], captures=captured_by(self.function))
        self._refuse_captured(staged.lifted)
        if staged.written:
            raise CustomRuleError(
                f"{function_name(self.function)} assigns into its arguments, which a function "
                "with a derivative rule must not.", "Work on a copy: x = x.copy().",
                definition(self.function))
        return run(staged.graph, PREPARE), staged.out_spec

    def _refuse_captured(self, lifted: Sequence[Tracer]) -> None:
        if lifted:
            raise CustomRuleError(
                f"{function_name(self.function)} or its rule uses a traced value of an enclosing "
                "function, to which its derivative rule does not apply.",
                "Pass the value as an argument.", definition(self.function))

    def _run_once(self, given: list[Any], operands: Sequence[int], spec: Any
                  ) -> tuple[Opaque, tuple[ArrayType, ...], Any]:
        """Types of an opaque function's results are those for the values at hand."""
        values = [example(given[i]) for i in operands]
        out_leaves, out_spec = flatten(call_flat(self.function, given, operands, spec, values))
        out_types = tuple(type_of(leaf).strong for leaf in out_leaves)
        if not out_types:
            raise CustomRuleError(f"{function_name(self.function)} returned nothing.", "",
                                  definition(self.function))
        static = tuple(None if i in operands else leaf for i, leaf in enumerate(given))
        return (Opaque(self.function, static, tuple(operands), spec, out_types), out_types,
                out_spec)


class CustomJVP(Custom):
    """A function with a forward rule."""

    rule: Function | None = None

    def defjvp(self, rule: Function) -> Function:
        """Declare ``rule(primals, tangents) -> (out, t_out)``; usable as a decorator."""
        self.rule = rule
        return rule


class CustomVJP(Custom):
    """A function with a reverse rule."""

    reverse = True
    fwd: Function | None = None
    bwd: Function | None = None

    def defvjp(self, fwd: Function, bwd: Function) -> None:
        """Declare ``fwd(*args) -> (out, residuals)`` and ``bwd(residuals, ct) -> cts``."""
        self.fwd, self.bwd = fwd, bwd


def _flat(function: Function, leaves: Sequence[Any], operands: Sequence[int], spec: Any,
          *args: Any) -> Any:
    return call_flat(function, leaves, operands, spec, args)


def _call_of(args: Sequence[Any]) -> tuple[list[Any], Any]:
    return list(args), flatten((tuple([0] * len(args)), {}))[1]


@dataclass(frozen=True, eq=False)
class _Call:
    """A traced call, kept to trace the rule for it when a derivative is wanted."""

    custom: Any
    leaves: tuple[Any, ...]
    operands: tuple[int, ...]
    spec: Any
    out_types: tuple[ArrayType, ...]
    out_spec: Any

    def rule(self) -> Graph:
        """Graph of the user's rule (see :class:`Application`)."""
        custom = self.custom
        function = custom.bwd if custom.reverse else custom.rule
        if function is None:
            name = function_name(custom.function)
            raise CustomRuleError(
                f"{name} has no derivative rule.",
                f"Declare one with {name}.{'defvjp(fwd, bwd)' if custom.reverse else 'defjvp'}.",
                definition(custom.function))
        moving = [t for t in self._types() if t.differentiable] if not custom.reverse else \
            [t for t in self.out_types if t.differentiable]
        leaves, spec = _call_of([*[self.leaves[i] for i in self.operands],
                                 *[t.strong for t in moving]])
        names = [*[f"x{i}" for i in self.operands], *[f"t{i}" for i in range(len(moving))]]
        traced = self._reverse if custom.reverse else self._forward
        try:
            staged = stage(functools.partial(traced, function), leaves, spec, names,
                           captures=captured_by(function))
        except ConcreteValueError as error:
            raise CustomRuleError(
                f"A decision in the derivative rule of {function_name(custom.function)} depends "
                "on a tangent or cotangent.", "Rules are linear in them: decide on the operands "
                "only.", error.where) from None
        custom._refuse_captured(staged.lifted)
        if staged.graph.guards and self._is_in_a_body():
            raise BodyBranchError(
                f"The derivative of {custom.name} rests on what is in an array that its equation "
                "captures, which cannot be looked at inside of a loop or branch.",
                "Pass the array as a parameter, or give sparse=False.",
                custom.where)
        self._check_homogeneous(staged.graph, function)
        return _without_names(run(staged.graph, PREPARE), len(self.operands), locate())

    def _is_in_a_body(self) -> bool:
        """Whether the function is called inside of a structured loop or branch."""
        builder: Any = self._builder()
        while builder is not None and not builder.body_of:
            builder = builder.outer
        return builder is not None

    def _check_homogeneous(self, graph: Graph, function: Function) -> None:
        """Zero tangents give zero: a rule must not add anything of its own."""
        values = [example(self.leaves[i]) for i in self.operands]
        zeros = [np.zeros(n.type.shape, n.type.dtype)[()] for n in graph.inputs[len(values):]]
        results = interpret(graph, *values, *zeros)
        if any(np.any(np.isfinite(r) & (np.asarray(r) != 0)) for r in results):
            raise self._malformed(function, "adds something that does not depend on the "
                                  "tangents or cotangents it is given")

    def _builder(self) -> TraceBuilder:
        return self.leaves[self.operands[0]].builder  # type: ignore[no-any-return]

    def _types(self) -> list[ArrayType]:
        return [self.leaves[i].type for i in self.operands]

    def _fill(self, args: Sequence[Any]) -> list[Any]:
        filled = list(self.leaves)
        for i, value in zip(self.operands, args, strict=True):
            filled[i] = value
        return filled

    def _forward(self, rule: Function, *args: Any) -> tuple[Any, ...]:
        n = len(self.operands)
        tangents = iter(args[n:])
        moving = [_zero_tangent(leaf) for leaf in self.leaves]
        for i in self.operands:
            moving[i] = next(tangents) if self.leaves[i].type.differentiable else None
        given = rule(unflatten(self.spec, self._fill(args[:n])), unflatten(self.spec, moving))
        if not isinstance(given, tuple) or len(given) != 2:
            raise self._malformed(rule, "must return a pair (out, t_out)")
        return self._matched(rule, given[1], "tangent", unflatten(
            self.out_spec, self.out_types), self.out_types)

    def _reverse(self, bwd: Function, *args: Any) -> tuple[Any, ...]:
        n = len(self.operands)
        found = iter(args[n:])
        ct = unflatten(self.out_spec, [next(found) if t.differentiable else None
                                       for t in self.out_types])
        primals = unflatten(self.spec, self._fill(args[:n]))
        forward = self.custom.fwd(*primals)
        if not isinstance(forward, tuple) or len(forward) != 2:
            raise self._malformed(self.custom.fwd, "must return a pair (out, residuals)")
        cts = bwd(forward[1], ct)
        if not isinstance(cts, tuple) or len(cts) != len(primals):
            raise self._malformed(bwd, f"must return a tuple of {len(primals)} cotangents, one "
                                  "an argument (None for zero)")
        kinds = list(self.leaves)
        for i, type in zip(self.operands, self._types(), strict=True):
            kinds[i] = type
        return self._matched(bwd, cts, "cotangent", unflatten(self.spec, kinds), self._types())

    def _matched(self, rule: Function, given: Any, what: str, like: Any,
                 wanted: Sequence[ArrayType]) -> tuple[Any, ...]:
        """Tangents or cotangents of the differentiable values, checked; None became zeros."""
        found = pairs(like, given)
        if found is None:
            raise self._malformed(rule, f"returned a {what} of another structure than its value")
        out = []
        for kind, value in found:
            if not isinstance(kind, ArrayType) or not kind.differentiable:
                continue
            if value is None or (is_python_number(value) and value == 0):
                value = np.zeros(kind.shape, kind.dtype)
            if not is_traceable(value):
                raise self._malformed(rule, f"returned {value!r} as the {what} of a number or "
                                      "array: it has another structure")
            if np.shape(value) != kind.shape:
                raise self._malformed(rule, f"returned a {what} of shape {np.shape(value)} for a "
                                      f"value of shape {kind.shape}")
            out.append(value)
        assert len(out) == sum(t.differentiable for t in wanted)
        return tuple(out)

    def _malformed(self, rule: Function, what: str) -> CustomRuleError:
        return CustomRuleError(f"The rule {function_name(rule)} of "
                               f"{function_name(self.custom.function)} {what}.", "",
                               definition(rule))


def pairs(like: Any, given: Any) -> list[tuple[Any, Any]] | None:
    """Leaves of two trees side by side; a None in the second stands for any subtree."""
    if given is None:
        return [(leaf, None) for leaf in flatten(like)[0]]
    if isinstance(like, ArrayType) or optree.tree_is_leaf(like, namespace=NAMESPACE):
        return [(like, given)]
    children, one, _, _ = optree.tree_flatten_one_level(like, namespace=NAMESPACE)[:4]
    if type(given) is not type(like):
        return None
    others, two, _, _ = optree.tree_flatten_one_level(given, namespace=NAMESPACE)[:4]
    if one != two or len(children) != len(others):
        return None
    out: list[tuple[Any, Any]] = []
    for child, other in zip(children, others, strict=True):
        inner = pairs(child, other)
        if inner is None:
            return None
        out += inner
    return out


def _zero_tangent(leaf: Any) -> Any:
    if not is_traceable(leaf) or isinstance(leaf, Tracer):
        return None
    type = type_of(leaf)
    return np.zeros(type.shape, type.dtype)[()] if type.differentiable else None


def _without_names(graph: Graph, n_operands: int, caller: Origin | None) -> Graph:
    """Linear nodes are named by the variables they are tangents of, not by the rule's own.

    Nodes of rules that are no user's code come from nowhere, rather than from the line that called
    the compiled function.
    """
    linear = set(graph.inputs[n_operands:])
    for node in graph.nodes:
        if node.origin and caller and node.origin[:2] == caller[:2]:
            node.origin = None
        if any(a in linear for a in node.args):
            linear.add(node)
            if node.origin:
                node.origin = node.origin._replace(name=None)
    return graph


def custom_jvp(function: Function | None = None, *, opaque: bool = False) -> Any:
    """A function with its own derivative rule, in forward form; both modes follow from it.

    The rule is plain NumPy, linear in the tangents, and is traced like any other function.
    Tangents are structured like the arguments (zeros for constants, None where an argument is
    not of floating-point numbers).

    Args:
        function: to be given a rule with ``@f.defjvp``.
        opaque: the function cannot be traced (it calls SciPy or C code). Generated code calls
            it by reference, so such code cannot be saved. Types of its results are found by
            running it once on the values at hand; they may depend on the types of the
            arguments only. Rules are traced nevertheless, and may call opaque functions.

    >>> import numpy as np, wengert as wg
    >>> @wg.custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t * (1 - 1 / (1 + np.exp(x)))
    >>> float(wg.grad(log1pexp)(0.0))
    0.5
    """
    if function is None:
        return functools.partial(CustomJVP, opaque=opaque)
    return CustomJVP(function, opaque)


def custom_vjp(function: Function | None = None, *, opaque: bool = False) -> Any:
    """A function with its own derivative rule, in reverse form.

    ``f.defvjp(fwd, bwd)`` declares it: ``fwd(*args) -> (out, residuals)`` and
    ``bwd(residuals, ct) -> cts``, a tuple of cotangents, one an argument (None for zero). Where
    ``bwd`` is linear in ``ct``, forward mode is derived by transposing it; a ``bwd`` that is not
    (such as one that clips the gradient) works in reverse mode only.

    Args:
        function: to be given a rule.
        opaque: as for :func:`custom_jvp`.

    >>> import numpy as np, wengert as wg
    >>> @wg.custom_vjp
    ... def square(x):
    ...     return x * x
    >>> square.defvjp(lambda x: (x * x, x), lambda x, ct: (2.0 * x * ct,))
    >>> float(wg.grad(square)(3.0))
    6.0
    """
    if function is None:
        return functools.partial(CustomVJP, opaque=opaque)
    return CustomVJP(function, opaque)
