"""What a function and its derivative cost, before anything runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..codegen.budget import mebibytes
from ..codegen.emit import lowered
from ..codegen.footprint import TRIPS, peak_of
from ..codegen.reuse import array_printer
from ..compiler.arraytype import ArrayType
from ..compiler.cost import nbytes, seconds, total_flops
from ..compiler.errors import WengertError
from ..compiler.graph import CAPTURED, CONSTANT, INPUT, PICK, Builder, Graph, Node, reachable
from ..compiler.ops.row import Linear, Multilinear, ZeroDerivative
from ..compiler.passes.pipeline import PREPARE, SIMPLE, run
from ..compiler.trace.stage import Staged, leaf_names, stage
from ..compiler.trace.tree import flatten
from ..compiler.transforms import derive
from ..compiler.transforms.vjp import vjp
from .compile import Argnums, Request, Selection, build, check_aux, select
from .executable import Compiled
from .options import Options

_LEAVES = (INPUT, CONSTANT, CAPTURED, PICK)


@dataclass(frozen=True)
class Cost:
    """What one program takes.

    Attributes:
        nodes: applications, after simplification.
        flops: operations; elementary functions count as the additions that take as long.
        bytes: of all values that are computed.
        peak: bytes in use at most, results included, arguments not.
        seconds: a rough estimate for one call.
    """

    nodes: int
    flops: float
    bytes: int
    peak: int
    seconds: float

    def __str__(self) -> str:
        return (f"{self.nodes} nodes, {self.flops:.3g} flops, {mebibytes(self.bytes)} computed, "
                f"peak {mebibytes(self.peak)}, about {self.seconds:.2g} s")


@dataclass(frozen=True)
class Saves:
    """What the derivative of one operator reads of the way forward.

    Attributes:
        op: name of the operator.
        count: how often it is applied.
        keeps: ``"operand 0"`` (and so on), ``"result"`` or ``"mask"``, a byte for each element.
        bytes: of what is kept, each value of the way forward once.
        why: in words.
    """

    op: str
    count: int
    keeps: tuple[str, ...]
    bytes: int
    why: str

    def __str__(self) -> str:
        kept = " and ".join(self.keeps) or "nothing"
        return f"{self.op} (×{self.count}) keeps {kept}, {mebibytes(self.bytes)}: {self.why}"


@dataclass(frozen=True)
class Sweeps:
    """How the Jacobian is swept: the direction, how often if it is dense, and with colours."""

    direction: str
    dense: int
    colors: int | None

    def __str__(self) -> str:
        colored = "" if self.colors is None else f", {self.colors} with sparse=True"
        return f"{self.dense} {self.direction} sweeps{colored}"


@dataclass(frozen=True)
class Explanation:
    """See :func:`explain`."""

    name: str
    value: Cost
    gradient: Cost | None
    saves: tuple[Saves, ...]
    jacobian: Sweeps | None

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.value}"]
        if self.gradient is not None:
            lines.append(f"its {'vjp' if self.jacobian else 'gradient'}: {self.gradient}")
        if self.jacobian is not None:
            lines.append(f"its Jacobian: {self.jacobian}")
        return "\n".join([*lines, *[f"  {one}" for one in self.saves]])


def explain(function: Callable[..., Any], *args: Any, argnums: Argnums = 0, trips: int = TRIPS,
            **kwargs: Any) -> Explanation:
    """What a function and its derivative will cost, without running them.

    The function is traced and differentiated, and the programs are printed; memory is predicted
    from their statements.

    Args:
        function: of numbers, arrays and nested containers of them.
        args: example arguments.
        argnums: with respect to which arguments.
        trips: how many steps to assume of a loop for which nobody knows before it runs.
        kwargs: arguments by name.

    Returns:
        An :class:`Explanation`, to print or to read: ``value`` and ``gradient`` (of a result that
        is no scalar, ``vjp`` with one cotangent) with nodes, flops, bytes, predicted peak and
        time; ``saves``, what each operator's derivative keeps of the way forward; and
        ``jacobian``, the number of sweeps, if the result is no scalar.

    >>> import numpy as np, wengert as wg
    >>> found = wg.explain(lambda x: np.sum(np.maximum(x, 0.0) * x), np.ones(1 << 17))
    >>> found.value.flops, [f"{one.op}: {' and '.join(one.keeps)}" for one in found.saves]
    (393216.0, ['maximum: mask', 'mul: operand 0 and operand 1', 'sum: '])
    """
    leaves, spec = flatten((args, kwargs))
    selection = select(function, args, kwargs, leaves, argnums)
    staged = stage(function, leaves, spec, leaf_names(function, args, kwargs))
    name = staged.graph.name
    value, _ = build(Request("compile"), staged, None, name)
    kind = staged.graph.outputs[0].type if staged.n_outputs == 1 else None
    gradient: Cost | None = None
    jacobian: Sweeps | None = None
    if kind is not None and kind.shape == () and kind.dtype.kind == "f":
        derived, _ = build(Request("grad"), staged, selection, name)
        gradient = _cost(derived, trips)
    elif all(n.type.differentiable for n in staged.graph.outputs[:staged.n_outputs]):
        derived, _ = build(Request("vjp", argnums), staged, selection, name)
        gradient = _cost(derived, trips)
        jacobian = _sweeps(function, args, kwargs, staged, selection, argnums)
    graph = run(staged.graph, PREPARE)
    return Explanation(name, _cost(value, trips), gradient, _saved(graph, selection.inputs),
                       jacobian)


def _cost(graph: Graph, trips: int) -> Cost:
    graph = lowered(graph)
    printer = array_printer(graph)
    printer.run()
    computed = [n for n in graph.nodes if n.op not in _LEAVES]
    return Cost(len(computed), total_flops(graph, trips),
                sum(nbytes(n.type) for n in computed if n.op.fresh), peak_of(printer, trips),
                seconds(graph, trips))


def _sweeps(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
            staged: Staged, selection: Selection, argnums: Argnums) -> Sweeps:
    outputs = range(check_aux(Request("jacobian"), staged))
    graph = staged.graph
    direction = derive.sweeps(graph, selection.inputs, outputs, "auto")
    ends = [graph.inputs[i] for i in selection.inputs] if direction == "forward" else \
        [graph.outputs[o] for o in outputs]
    colors: int | None = None
    try:
        sparse = Compiled(function, Request("jacobian", argnums, sparse="csr"), Options())
        sparse.specialize(*args, **kwargs)
        colors = sparse.colors
    except WengertError:          # of complex numbers, or too large to colour
        pass
    return Sweeps(direction, sum(n.type.size for n in ends), colors)


def _saved(graph: Graph, wrt: tuple[int, ...]) -> tuple[Saves, ...]:
    """What the pullback of each operator reads, found by differentiating it alone."""
    varied = {graph.inputs[i] for i in wrt}
    found: dict[str, Saves] = {}
    counted: set[tuple[Node, bool]] = set()
    for node in graph.nodes:
        if node.op in _LEAVES or not any(a in varied for a in node.args):
            continue
        varied.add(node)
        if node.op.bodies or not isinstance(node.type, ArrayType):
            continue
        positions = [i for i, a in enumerate(node.args) if a in varied]
        kept = _reads(node, positions)
        size = 0
        for what in kept:
            whose = node.args[int(what.split()[1])] if what.startswith("operand") else node
            place = (whose, what == "mask")
            if place not in counted and whose.op not in (CONSTANT, CAPTURED):
                counted.add(place)
                size += whose.type.size if what == "mask" else whose.type.nbytes
        before = found.get(node.op.name)
        found[node.op.name] = Saves(
            node.op.name, 1 + (before.count if before else 0),
            tuple(dict.fromkeys([*(before.keeps if before else ()), *kept])),
            size + (before.bytes if before else 0), _why(node, kept))
    return tuple(found.values())


def _reads(node: Node, wrt: list[int]) -> tuple[str, ...]:
    """What the cotangents of one application depend on besides the cotangent of its result."""
    builder = Builder(node.op.name)
    args = [builder.constant(a.value) if a.op in (CONSTANT, CAPTURED) else builder.input(a.type)
            for a in node.args]
    inputs = {a: i for i, a in enumerate(args)}
    try:
        out = builder.emit(node.op, tuple(args), node.params)
        which = [builder.inputs.index(args[i]) for i in wrt]
        pulled = vjp(builder.graph([out]), which)
        pulled = run(derive.select_outputs(pulled, range(1, len(pulled.outputs))), SIMPLE)
    except WengertError:
        return ()
    cotangent = pulled.inputs[-1]
    moving, kept = {cotangent}, []
    for one in pulled.nodes:
        if any(a in moving for a in one.args):
            moving.add(one)
            kept += [a for a in one.args if a not in moving]
    names = []
    for one in kept:
        while not one.op.fresh and one.args:                    # a view is its operand's memory
            one = one.args[0]
        reached = reachable([one])
        if one.op is INPUT:
            names.append(f"operand {inputs[one]}")
        elif isinstance(one.type, ArrayType) and one.type.dtype == np.bool_:
            names += ["mask"] * any(n.op is INPUT for n in reached)
        elif any(n.op is node.op for n in reached):
            names.append("result")
        else:                                        # a factor, which is computed of operands
            names += [f"operand {inputs[n]}" for n in reached if n.op is INPUT]
    return tuple(sorted(set(names)))


def _why(node: Node, kept: tuple[str, ...]) -> str:
    derivative = node.op.derivative
    if isinstance(derivative, ZeroDerivative):
        return "its derivative is zero"
    if not kept:
        return "its derivative does not depend on values"
    if isinstance(derivative, (Linear, Multilinear)):
        return "it is linear in each operand, and the others are factors"
    if kept == ("mask",):
        return "its derivative only asks which elements were taken"
    if len(kept) == 1 and kept[0].startswith("operand"):
        return "its derivative is a function of its operand"
    if kept == ("result",):
        return "its derivative is a function of its result"
    return "its derivative is a function of them"


__all__ = ["Cost", "Explanation", "Saves", "Sweeps", "explain"]
