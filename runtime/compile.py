"""From a traced function and a request to a graph and the packing of its results."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..compiler.errors import (
    ArgnumsError,
    ComplexOutputError,
    InputTypeError,
    NonScalarOutputError,
)
from ..compiler.graph import Graph
from ..compiler.passes.pipeline import PREPARE, run
from ..compiler.trace.stage import Staged, definition, is_traceable, leaf_names, leaf_type
from ..compiler.trace.tree import flatten, places, unflatten
from ..compiler.transforms import derive
from ..compiler.transforms.jvp import jvp
from ..compiler.transforms.vjp import vjp
from .pickling import pack_spec, unpack_spec

Argnums = int | str | tuple[int | str, ...]


@dataclass(frozen=True)
class Request:
    """What is wanted of a function.

    Attributes:
        kind: ``compile``, ``grad``, ``value_and_grad``, ``jacobian``, ``hessian``, ``jvp``,
            ``vjp``, ``hvp`` or ``vmap``.
        argnums: with respect to which arguments.
        has_aux: whether the function returns ``(value, auxiliary)``.
        mode: direction of the sweeps.
        holomorphic: whether a complex function is differentiated as one.
        in_axes: of ``vmap``: which axes of the arguments are mapped over.
        out_axes: of ``vmap``: where the results have the batch axis.
        sparse: "csr", "csc", "coo", "auto", or "" for dense.
    """

    kind: str
    argnums: Argnums = 0
    has_aux: bool = False
    mode: derive.Mode | Literal["substitution"] = "auto"
    holomorphic: bool = False
    in_axes: Any = None
    out_axes: Any = None
    sparse: str = ""

    @property
    def has_operand(self) -> bool:
        """Whether the last argument is a tangent, cotangent or vector."""
        return self.kind in ("jvp", "vjp", "hvp")


@dataclass(frozen=True)
class Selection:
    """The leaves that ``argnums`` selects."""

    leaves: tuple[int, ...]      # positions among all leaves
    inputs: tuple[int, ...]      # positions among the traced inputs
    spec: Any                    # structure of the selected argument(s)


def select(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
           leaves: Sequence[Any], argnums: Argnums) -> Selection:
    """Resolve ``argnums`` against a call.

    Raises:
        ArgnumsError: if there is no such argument.
        InputTypeError: if a selected leaf is not a floating-point number or array.
    """
    single = not isinstance(argnums, tuple)
    wanted = (argnums,) if not isinstance(argnums, tuple) else argnums
    offsets = _offsets(args, kwargs)
    chosen = [_resolve(function, args, kwargs, a) for a in wanted]
    if not chosen or len(set(chosen)) != len(chosen):
        raise ArgnumsError(f"argnums={argnums!r} selects "
                           f"{'an argument twice' if chosen else 'nothing'}.",
                           "Name each argument to differentiate with respect to once.",
                           definition(function))
    tree = [args[c] if isinstance(c, int) else kwargs[c] for c in chosen]
    positions = tuple(i for c in chosen for i in range(*offsets[c]))
    _, spec = flatten(tree[0] if single else tuple(tree))
    traced = [i for i, leaf in enumerate(leaves) if is_traceable(leaf)]
    for c, argument in zip(chosen, tree, strict=True):
        _check_argument(argument, _name_of(function, args, c), function)
    return Selection(positions, tuple(traced.index(i) for i in positions), spec)


def _offsets(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int | str, tuple[int, int]]:
    offsets: dict[int | str, tuple[int, int]] = {}
    start = 0
    for key, value in [*enumerate(args), *sorted(kwargs.items())]:
        n = len(flatten(value)[0])
        offsets[key] = (start, start + n)
        start += n
    return offsets


def _resolve(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
             argnum: int | str) -> int | str:
    """Position, or keyword, of an argument of this call."""
    where = definition(function)
    parameters = parameters_of(function)
    if isinstance(argnum, str):
        if argnum in kwargs:
            return argnum
        named = [p for p in parameters if p.kind in _POSITIONAL]
        for i, parameter in enumerate(named[:len(args)]):
            if parameter.name == argnum:
                return i
        raise ArgnumsError(f"argnums={argnum!r} names no argument of this call.",
                           _advice(parameters, argnum), where)
    if isinstance(argnum, bool) or not isinstance(argnum, (int, np.integer)):
        raise ArgnumsError(f"argnums={argnum!r} is not an integer, a name or a tuple of them.",
                           "Write argnums=0, argnums=\"x\" or argnums=(0, 1).", where)
    index = int(argnum) + (len(args) if argnum < 0 else 0)
    if 0 <= index < len(args):
        return index
    if 0 <= index < len(parameters) and parameters[index].name in kwargs:
        return parameters[index].name
    raise ArgnumsError(
        f"argnums={argnum} is out of range: the call has {len(args)} positional "
        f"argument{'' if len(args) == 1 else 's'}.",
        _advice(parameters, parameters[index].name) if 0 <= index < len(parameters)
        else "Count from 0, or give the argument's name.", where)


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Parameters of a function; none where its signature is not known."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _advice(parameters: Sequence[inspect.Parameter], name: str) -> str:
    """What to do about an argument that was not passed under that name."""
    for parameter in parameters:
        if parameter.name == name:
            if parameter.kind is parameter.VAR_POSITIONAL:
                return f"It collects the arguments of *{name}: give their positions."
            if parameter.kind is parameter.VAR_KEYWORD:
                return f"It collects the arguments of **{name}: give their own names."
            if parameter.default is not parameter.empty:
                return f"It was left to its default: pass {name}={parameter.default!r}."
            return f"Pass {name}."
    names = ", ".join(p.name for p in parameters)
    return f"The function's parameters are {names}." if names else "It has no known parameters."


def _name_of(function: Callable[..., Any], args: tuple[Any, ...], chosen: int | str) -> str:
    """The argument as its function calls it."""
    if isinstance(chosen, str):
        return chosen
    return leaf_names(function, tuple([0] * len(args)), {})[chosen]


def _check_argument(argument: Any, name: str, function: Any) -> None:
    """All leaves of a selected argument have derivatives, and there are some."""
    leaves, _ = flatten(argument)
    for leaf, place in zip(leaves, places(argument, name), strict=True):
        _check_leaf(leaf, place, function)
    if not leaves:
        raise InputTypeError(f"The argument {name} is {argument!r}, which holds no number.",
                             "Pass a float, an array or a container of them, or choose other "
                             "argnums.", definition(function))


def _check_leaf(leaf: Any, place: str, function: Any) -> None:
    kind = "floating-point (or complex) numbers have derivatives."
    if not is_traceable(leaf):
        dtype = f"an array of dtype {leaf.dtype}" if isinstance(leaf, np.ndarray) else \
            f"{leaf!r} of type {type(leaf).__name__}"
        raise InputTypeError(f"The argument {place} is {dtype}: only {kind}",
                             "Choose other argnums, or pass numbers.", definition(function))
    found = leaf_type(leaf)
    if found.dtype.kind in "fc":
        return
    if found.weak:
        raise InputTypeError(f"The argument {place} is the {type(leaf).__name__} {leaf!r}: only "
                             f"{kind}", f"Pass {float(leaf)!r}.", definition(function))
    raise InputTypeError(f"The argument {place} has dtype {found.dtype}: only {kind}",
                         f"Pass {place}.astype(float).", definition(function))


@dataclass(frozen=True)
class Packing:
    """How the flat results of a program become what the caller gets."""

    kind: str
    out_spec: Any
    in_spec: Any
    n_outputs: int
    n_inputs: int
    has_aux: bool

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"out_spec": pack_spec(self.out_spec),
                                "in_spec": pack_spec(self.in_spec)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"out_spec": unpack_spec(state["out_spec"]),
                                      "in_spec": unpack_spec(state["in_spec"])})

    def __call__(self, flat: Sequence[Any]) -> Any:
        """Pack the results."""
        n = self.n_outputs
        match self.kind:
            case "compile":
                return unflatten(self.out_spec, flat)
            case "grad":
                grads = unflatten(self.in_spec, flat[n:])
                return (grads, self._value(flat)[1]) if self.has_aux else grads
            case "value_and_grad":
                return self._value(flat), unflatten(self.in_spec, flat[n:])
            case "jvp":
                return unflatten(self.out_spec, flat[:n]), unflatten(self.out_spec, flat[n:])
            case "vjp":
                return unflatten(self.out_spec, flat[:n]), unflatten(self.in_spec, flat[n:])
            case "jacobian":
                return self._blocks(flat[n:], self.out_spec) if not self.has_aux else \
                    (self._blocks(flat[n:], flatten(self._value(range(n))[0])[1]),
                     self._value(flat)[1])
            case "hessian":
                return self._blocks(flat[n:], self.in_spec)
            case _:
                return unflatten(self.in_spec, flat[n:])

    def _value(self, flat: Sequence[Any]) -> Any:
        return unflatten(self.out_spec, flat[:self.n_outputs])

    def _blocks(self, flat: Sequence[Any], rows: Any) -> Any:
        k = self.n_inputs
        return unflatten(rows, [unflatten(self.in_spec, flat[i:i + k])
                                for i in range(0, len(flat), k)])


def build(request: Request, staged: Staged, selection: Selection | None, name: str
          ) -> tuple[Graph, Packing]:
    """Graph and packing of a request.

    The graph's outputs are the function's own results (only those that the request returns),
    then the derivatives; for ``compile`` also the arguments written to.
    """
    graph = run(staged.graph, PREPARE)
    graph = Graph(name, graph.inputs, graph.outputs, graph.nodes, graph.guards)
    n = staged.n_outputs
    if request.kind == "compile":
        return graph, Packing("compile", staged.out_spec, None, n, 0, False)
    assert selection is not None
    graph = derive.select_outputs(graph, range(n))
    wrt = selection.inputs
    n_main = check_aux(request, staged)
    match request.kind:
        case "grad" | "value_and_grad":
            check_scalar(graph, staged, n_main, request.kind, request.holomorphic)
            _check_complex(request, graph, wrt, n_main, staged)
            if request.mode == "forward":
                blocks = derive.jacobian(graph, wrt, [0], "forward", name)
                derived = with_values(graph, blocks, name)
            else:
                derived = vjp(graph, wrt, seeded=[0], unit=True, name=name)
            first = 0 if request.kind == "value_and_grad" else 1
            kept = range(first, n) if request.has_aux or first == 0 else range(0)
            derived = derive.select_outputs(derived, [*kept, *range(n, len(derived.outputs))])
            packing = Packing(request.kind, staged.out_spec, selection.spec, len(kept),
                              len(wrt), request.has_aux)
            if request.kind == "grad" and request.has_aux:
                packing = _aux_packing(packing, staged)
            return derived, packing
        case "jvp":
            derived = jvp(graph, wrt, name)
        case "vjp":
            derived = vjp(graph, wrt, name=name)
        case "jacobian":
            _check_complex(request, graph, wrt, n_main, staged)
            blocks = derive.jacobian(graph, wrt, range(n_main), request.mode, name)
            if not request.has_aux:
                return blocks, Packing("jacobian", staged.out_spec, selection.spec, 0, len(wrt),
                                       False)
            derived = with_values(graph, blocks, name)
        case "hessian":
            check_scalar(graph, staged, n_main, "hessian")
            if any(graph.inputs[i].type.dtype.kind == "c" for i in wrt):
                raise ComplexOutputError(
                    "hessian needs real arguments: the gradient by a complex one is not "
                    "holomorphic.", "Pass the real and imaginary part as two arguments, or use "
                    "hvp.", staged.where)
            blocks = derive.hessian(graph, wrt, mode=request.mode, name=name)
            return blocks, Packing("hessian", None, selection.spec, 0, len(wrt), False)
        case "hvp":
            check_scalar(graph, staged, n_main, "hvp")
            return derive.hvp(graph, wrt, name=name), Packing("hvp", None, selection.spec, 0,
                                                              len(wrt), False)
        case _:
            raise AssertionError(request.kind)
    return derived, Packing(request.kind, staged.out_spec, selection.spec, n, len(wrt),
                            request.has_aux)


def _aux_packing(packing: Packing, staged: Staged) -> Packing:
    """``grad`` with auxiliary results returns them without the value."""
    shown = unflatten(staged.out_spec, range(staged.n_outputs))
    _, spec = flatten((None, shown[1]))
    return Packing(packing.kind, spec, packing.in_spec, packing.n_outputs, packing.n_inputs, True)


def with_values(graph: Graph, derived: Graph, name: str) -> Graph:
    """Both graphs' outputs in one graph; they share their inputs."""
    from_derived = set(derived.nodes)
    nodes = [*derived.nodes, *[n for n in graph.nodes if n not in from_derived]]
    return Graph(name, graph.inputs, (*graph.outputs, *derived.outputs), tuple(nodes),
                 derived.guards or graph.guards)


def check_aux(request: Request, staged: Staged) -> int:
    """How many outputs come before the auxiliary ones."""
    if not request.has_aux:
        return staged.n_outputs
    shown = unflatten(staged.out_spec, range(staged.n_outputs))
    if not isinstance(shown, tuple) or len(shown) != 2:
        raise NonScalarOutputError("With has_aux=True the function must return a pair "
                                   "(value, auxiliary).", "Write return value, auxiliary.",
                                   staged.where)
    return len(flatten(shown[0])[0])


def _check_complex(request: Request, graph: Graph, wrt: Sequence[int], n_main: int,
                   staged: Staged) -> None:
    """A complex derivative is of complex results by complex arguments, and asked for.

    Raises:
        ComplexOutputError: for complex results and arguments without ``holomorphic=True``, or
            with it for real ones.
    """
    outputs = {node.type.dtype.kind == "c" for node in graph.outputs[:n_main]}
    inputs = {graph.inputs[i].type.dtype.kind == "c" for i in wrt}
    if request.holomorphic and (outputs != {True} or inputs != {True}):
        raise ComplexOutputError(
            f"{request.kind} with holomorphic=True needs complex arguments and a complex result.",
            "Leave holomorphic=True out for real ones.", staged.where)
    if not request.holomorphic and True in outputs and True in inputs:
        raise ComplexOutputError(
            f"{request.kind} of a complex result by a complex argument is only defined for a "
            "holomorphic function.", "Say holomorphic=True if it is one; else differentiate its "
            "real and imaginary part.", staged.where)


def check_scalar(graph: Graph, staged: Staged, n_main: int, kind: str,
                 holomorphic: bool = False) -> None:
    """The function has one real scalar result (a complex one if it is holomorphic).

    Raises:
        NonScalarOutputError: else, naming its shape.
        ComplexOutputError: if it is complex.
    """
    types = [node.type for node in graph.outputs[:n_main]]
    if n_main != 1 or types[0].shape != ():
        shown = f"has shape {types[0].shape}" if n_main == 1 else \
            f"is made of {n_main} values of shapes {', '.join(str(t.shape) for t in types)}"
        raise NonScalarOutputError(
            f"{kind} needs a function with a scalar result, but the result {shown}.",
            "Use jacobian for all derivatives, vjp for their product with a cotangent, or return "
            "a sum.", staged.where)
    if types[0].dtype.kind == "c" and holomorphic:
        return
    if types[0].dtype.kind == "c":
        raise ComplexOutputError(
            f"{kind} needs a real result, but the result is complex.",
            "Differentiate its real and imaginary part, or use vjp; say holomorphic=True if it is "
            "a holomorphic function of a complex argument.", staged.where)
    if types[0].dtype.kind != "f":
        raise NonScalarOutputError(
            f"{kind} needs a floating-point result, but the result has dtype {types[0].dtype}.",
            "Return a float.", staged.where)
