"""Which arguments ``vmap`` takes apart, and what one example of them is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

from ..compiler.arraytype import ArrayType
from ..compiler.errors import BatchAxisError, ConcreteValueError, MutationError, Origin
from ..compiler.graph import Graph, Node
from ..compiler.ops import indexing
from ..compiler.passes.elements import by_elements
from ..compiler.passes.pipeline import PREPARE, run
from ..compiler.trace.captures import Captures
from ..compiler.trace.stage import Staged, definition, is_traceable, leaf_type, stage
from ..compiler.trace.tracer import Tracer
from ..compiler.trace.tree import NAMESPACE, flatten, places, unflatten
from ..compiler.transforms.batch import batch_along, batched_branch
from .compile import Packing, parameters_of

Axes = Any       # an int, None, or a tuple, list or dict of them, nested as the arguments are


@dataclass(frozen=True)
class Mapped:
    """A call of a batched function, leaf by leaf.

    Attributes:
        size: length of the batch axis.
        axes: of the traced leaves: the position of their batch axis, or None.
        examples: all leaves, those with a batch axis as the first example of it (only its type,
            if the batch is empty).
    """

    size: int
    axes: tuple[int | None, ...]
    examples: tuple[Any, ...]


def map_leaves(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
               in_axes: Axes) -> Mapped:
    """Resolve ``in_axes`` against a call.

    Raises:
        BatchAxisError: if it has another structure than the arguments, an array lacks the axis,
            the lengths differ, or no argument has a batch axis.
    """
    where = definition(function)
    leaves, axes, names = [], [], []
    for name, value, given in _entries(function, args, kwargs, in_axes):
        own, _ = flatten(value)
        leaves += own
        axes += _spread(given, value, name, function)
        names += places(value, name)
    found: list[int | None] = []
    sizes: dict[str, int] = {}
    for leaf, axis, name in zip(leaves, axes, names, strict=True):
        if not is_traceable(leaf):
            continue
        if axis is None:
            found.append(None)
            continue
        shape = leaf_type(leaf).shape
        position = _position(axis, len(shape))
        if position is None:
            raise BatchAxisError(
                f"The argument {name} has shape {shape}, so it has no axis {axis} to map over."
                if shape else f"The argument {name} is a single number: there is no axis to map "
                "over.", "Say None for it in in_axes if all examples share it, for example "
                "in_axes=(0, None).", where)
        found.append(position)
        sizes[f"{name} has {shape[position]} along axis {axis}"] = shape[position]
    if not sizes:
        raise BatchAxisError("vmap has no argument to map over.",
                             "Give at least one array an axis in in_axes.", where)
    if len(set(sizes.values())) > 1:
        raise BatchAxisError(f"The arguments' batches differ in length: {', '.join(sizes)}.",
                             "Give all mapped arguments the same length, or say None in in_axes "
                             "for those that all examples share.", where)
    size = next(iter(sizes.values()))
    along = iter(found)
    examples = tuple(_example(leaf, next(along), size) if is_traceable(leaf) else leaf
                     for leaf in leaves)
    return Mapped(size, tuple(found), examples)


def _entries(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
             in_axes: Axes) -> list[tuple[str, Any, Axes]]:
    """Name, value and axes of each argument, in the order of the leaves."""
    parameters = parameters_of(function)
    names = [_name(parameters, i) for i in range(len(args))]
    given = [*zip(names, args, strict=True), *sorted(kwargs.items())]
    if in_axes is None or _is_axis(in_axes):
        return [(name, value, in_axes) for name, value in given]
    where = definition(function)
    if isinstance(in_axes, Mapping):
        unknown = [key for key in in_axes if key not in dict(given) and key not in
                   [p.name for p in parameters]]
        if unknown:
            raise BatchAxisError(f"in_axes names {unknown[0]!r}, which is no argument.",
                                 f"The arguments are {', '.join(n for n, _ in given)}.", where)
        return [(name, value, in_axes.get(name)) for name, value in given]
    if not isinstance(in_axes, (tuple, list)):
        raise BatchAxisError(f"in_axes={in_axes!r} is not understood.",
                             "Use an integer, None, a tuple with one entry for each argument, or "
                             "a dictionary by name.", where)
    if len(in_axes) < len(args) or (len(in_axes) > len(args) and not kwargs):
        raise BatchAxisError(
            f"in_axes has {len(in_axes)} entries, the call has {len(args)} positional arguments.",
            "Give one entry for each argument.", where)
    by_name = {p.name: axis for p, axis in zip(parameters, in_axes, strict=False)}
    missing = [key for key in kwargs if key not in by_name]
    if missing:
        raise BatchAxisError(
            f"The tuple in_axes says nothing of the keyword argument {missing[0]}.",
            "Use a dictionary by name, such as in_axes={"
            f"{given[0][0]!r}: 0, {missing[0]!r}: None}}.", where)
    axes = [*in_axes[:len(args)], *[by_name[key] for key in sorted(kwargs)]]
    return [(name, value, axis) for (name, value), axis in zip(given, axes, strict=True)]


def _name(parameters: Sequence[Any], i: int) -> str:
    if not parameters:
        return f"x{i}"
    parameter = parameters[min(i, len(parameters) - 1)]
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"{parameter.name}{i - len(parameters) + 1}"
    return str(parameter.name) if i < len(parameters) else f"x{i}"


def _is_axis(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _position(axis: int, ndim: int) -> int | None:
    """The axis counted from the front; None if there is no such axis."""
    axis = int(axis)
    return axis % ndim if -ndim <= axis < ndim else None


def _spread(axes: Axes, tree: Any, name: str, function: Any, option: str = "in_axes",
            owner: str = "the argument") -> list[int | None]:
    """One axis a leaf: an entry for a container holds for everything inside of it."""
    if axes is None or _is_axis(axes):
        return [axes] * len(flatten(tree)[0])
    flatten(tree)                                    # dataclasses become known
    if not optree.tree_is_leaf(tree, namespace=NAMESPACE):
        children, _, keys, _ = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)[:4]
        given = _children(axes, tree, keys)
        if given is not None:
            return [axis for key, child, one in zip(keys, children, given, strict=True)
                    for axis in _spread(one, child, f"{name}[{key!r}]", function, option, owner)]
    raise BatchAxisError(
        f"{option} has {axes!r} for {owner} {name}, which has another structure.",
        "Use an integer or None for all of it, or the same structure with integers and None.",
        function if isinstance(function, Origin) else definition(function))


def _children(axes: Axes, tree: Any, keys: Sequence[Any]) -> list[Axes] | None:
    """Entries in the order of a container's children; None if they do not fit."""
    if isinstance(axes, Mapping):
        by_name = isinstance(tree, Mapping) or all(isinstance(k, str) for k in keys)
        return [axes[k] for k in keys] if by_name and set(axes) == set(keys) else None
    if isinstance(axes, (tuple, list)) and len(axes) == len(keys) and \
            not isinstance(tree, Mapping):
        return list(axes)
    return None


def _example(leaf: Any, axis: int | None, size: int) -> Any:
    """The first example of a leaf; what is traced stays traced, but is recorded nowhere."""
    if axis is None:
        return leaf
    kind = leaf_type(leaf)
    one = ArrayType(kind.shape[:axis] + kind.shape[axis + 1:], kind.dtype)
    if size == 0 or isinstance(leaf, ArrayType):
        return one
    if isinstance(leaf, Tracer):
        index = (*[("s", 0, n, 1) for n in kind.shape[:axis]], 0,
                 *[("s", 0, n, 1) for n in kind.shape[axis + 1:]])
        return Tracer(leaf.builder, Node(indexing.getitem, (leaf.node,), (index,), one))
    return np.take(leaf, 0, axis)


def trace_example(function: Callable[..., Any], mapped: Mapped, spec: Any, names: Sequence[str],
                  captures: Captures | None) -> Staged:
    """Trace the function on the first example.

    Raises:
        BatchedBranchError: if a decision is met in an empty batch, which has no example.
    """
    try:
        return stage(function, mapped.examples, spec, names, captures=captures)
    except ConcreteValueError as error:
        if mapped.size:
            raise
        raise batched_branch(error.where) from None


def build_mapped(staged: Staged, mapped: Mapped, out_axes: Axes, name: str, is_last: bool
                 ) -> tuple[Graph, Packing]:
    """Batched graph of a function's example, and the packing of its results.

    Args:
        staged: the example.
        mapped: the axes of its inputs.
        out_axes: of its results.
        name: of the graph.
        is_last: whether the graph will be run as it is, rather than be part of another one.

    Raises:
        BatchAxisError: if ``out_axes`` does not fit the results.
        MutationError: if the function assigns into an array that all examples share.
    """
    lifted = [None] * len(staged.lifted)
    graph = run(staged.graph, PREPARE)
    if is_last:
        graph = by_elements(graph, [axis is not None for axis in (*mapped.axes, *lifted)])
    for position in staged.written:
        if mapped.axes[position] is None:
            origin = graph.inputs[position].origin
            raise MutationError(
                f"The function assigns into {origin.name if origin else 'an argument'}, which all "
                "examples of the batch share: what it holds would depend on their order.",
                "Work on a copy, or map over it.", staged.where)
    n = staged.n_outputs
    shown = unflatten(staged.out_spec, [node.type for node in graph.outputs[:n]])
    wanted = _spread(out_axes, shown, "it returns", staged.where, "out_axes", "what")
    along: list[int | None] = []
    for axis, node in zip(wanted, graph.outputs, strict=False):
        position = None if axis is None else _position(axis, node.type.ndim + 1)
        if axis is not None and position is None:
            raise BatchAxisError(
                f"out_axes={axis} is out of range: with the batch axis the result has "
                f"{node.type.ndim + 1} axes.", "", staged.where)
        along.append(position)
    finals = [mapped.axes[position] for position in staged.written]
    try:
        batched = batch_along(graph, mapped.size, [*mapped.axes, *lifted], [*along, *finals], name)
    except BatchAxisError as error:
        error.where = staged.where
        raise
    return batched, Packing("compile", staged.out_spec, None, n, 0, False)
