"""Where a NaN or an infinity comes from: the statement, its operands and the user's line."""

import linecache
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..codegen.numpy_source import NumpyPrinter
from ..codegen.scalar_source import ScalarPrinter
from ..compiler.errors import Origin
from ..compiler.graph import CAPTURED, CONSTANT, INPUT, Graph, Node
from ..compiler.interpret import evaluate
from ..compiler.ops import comparison
from ..compiler.trace.tree import flatten
from .executable import Compiled, Program

Values = Mapping[Node, Any]


@dataclass(frozen=True)
class NanExplanation:
    """The operation that first gave a NaN or an infinity that reached a result.

    Attributes:
        value: what it gave: ``nan``, ``inf`` or ``-inf``.
        part: ``"input"``, ``"function"`` or ``"derivative"``.
        operation: name of the operation, or of the input.
        operands: its operands, at the element that is not finite where they have one.
        index: position of that element.
        line: number of the statement's line in the generated source.
        statement: the statement.
        origin: the user's line, if it is known.
    """

    value: float
    part: str
    operation: str
    operands: tuple[Any, ...]
    index: tuple[int, ...]
    line: int | None
    statement: str
    origin: Origin | None

    def __str__(self) -> str:
        at = f" at element {list(self.index)}" if self.index else ""
        if self.part == "input":
            return f"The input {self.operation} is {self.value}{at}."
        shown = ", ".join(f"{x:.17g}" if isinstance(x, float) else str(x) for x in self.operands)
        out = [f"{self.operation}({shown}) is {self.value}{at}, in the {self.part}."]
        if self.line is not None:
            out.append(f"Generated code, line {self.line}: {self.statement}")
        if self.origin is not None and self.origin.line:
            text = linecache.getline(self.origin.file, self.origin.line).strip()
            out.append(f"It comes from {self.origin.file}:{self.origin.line}: {text}")
        return "\n".join(out)


def explain_nan(compiled: Compiled, *args: Any, **kwargs: Any) -> NanExplanation:
    """The first operation behind a result that is NaN or infinite.

    Args:
        compiled: a compiled function or derivative.
        args: the arguments it was called with.
        kwargs: and those given by name.

    Raises:
        ValueError: if all results are finite.

    >>> import numpy as np, wengert as wg
    >>> slope = wg.grad(lambda x: np.sqrt(x - 1.0))
    >>> print(str(wg.explain_nan(slope, 1.0)).splitlines()[0])
    div(0.5, 0) is inf, in the derivative.
    """
    program, inputs = _program_of(compiled, args, kwargs)
    values = _evaluate(program.graph, inputs)
    source = _source(program.graph, values)
    if source is None:
        raise ValueError("All results are finite.")
    index, value = _first(values[source])
    if source.op is INPUT:
        name = source.origin.name if source.origin and source.origin.name else \
            f"number {program.graph.inputs.index(source)}"
        return NanExplanation(value, "input", name, (), index, None, "", None)
    found = values[source]
    shape = np.shape(next(v for v in found if not _is_finite(v)) if isinstance(found, tuple)
                     else found)
    operands = tuple(_element(values[a], index, shape) for a in source.args)
    # A loop or branch is many statements; the user's line tells which.
    line, statement = (None, "") if source.op.bodies else _statement(program, source)
    part = "function" if _function_fails(program, inputs) else "derivative"
    return NanExplanation(value, part, source.op.name, operands, index, line, statement,
                          source.origin)


def _program_of(compiled: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any]
                ) -> tuple[Program, list[Any]]:
    """The program that runs on these arguments, and its flat inputs."""
    with np.errstate(all="ignore"):
        compiled(*args, **kwargs)
    leaves, spec = flatten((args, kwargs))
    signature = compiled._signature(leaves, spec)
    inputs = [leaves[i] for i in signature.traced]
    for program in signature.programs:
        values = _evaluate(program.graph, inputs)
        if all(np.all(values[g.node] == g.expected) for g in program.graph.guards):
            return program, inputs
    raise ValueError("These arguments take a branch that is traced anew at every call.")


def _evaluate(graph: Graph, inputs: Sequence[Any]) -> dict[Node, Any]:
    values = dict(zip(graph.inputs, inputs, strict=True))
    evaluate(graph.nodes, values)
    return values


def _is_finite(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_finite, value))
    array = np.asarray(value)
    return array.dtype.kind not in "fc" or bool(np.all(np.isfinite(array)))


def _source(graph: Graph, values: Values) -> Node | None:
    """The first node that is not finite although its operands are, and that reaches an output."""
    reached = set()
    stack = [n for n in graph.outputs if not _is_finite(values[n])]
    sources = []
    while stack:
        node = stack.pop()
        if node in reached:
            continue
        reached.add(node)
        guilty = [a for a in node.args if a.op not in (CONSTANT, CAPTURED)
                  and not _is_finite(_selected(node, a, values))]
        stack += guilty
        if not guilty:
            sources.append(node)
    order = {node: i for i, node in enumerate(graph.nodes)}
    return min(sources, key=order.__getitem__) if sources else None


def _selected(node: Node, operand: Node, values: Values) -> Any:
    """The part of an operand that the node reads: of the branches of ``where``, what is chosen."""
    value = values[operand]
    if node.op is comparison.where and operand is not node.args[0]:
        condition = np.asarray(values[node.args[0]], bool)
        chosen = condition if operand is node.args[1] else ~condition
        if operand is node.args[1] and operand is node.args[2]:
            return value
        return np.where(chosen, value, 0.0)
    return value


def _first(value: Any) -> tuple[tuple[int, ...], float]:
    """Position and value of the first element that is not finite."""
    if isinstance(value, tuple):
        value = next(v for v in value if not _is_finite(v))
    array = np.asarray(value)
    bad = ~np.isfinite(array)
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    found = array[index]
    return index, float(found.real if np.iscomplexobj(found) and np.isnan(found.real) else
                        abs(found) if np.iscomplexobj(found) else found)


def _element(value: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The operand's element that meets this one by broadcasting; the whole operand otherwise."""
    array = np.asarray(value)
    try:
        wide = np.broadcast_to(array, shape)
    except ValueError:
        return value
    return wide[index].item()


def _statement(program: Program, node: Node) -> tuple[int | None, str]:
    """Line number and text of the generated statement that computes a node."""
    text = program.source.text
    by_element = any(n.op.name == "getitem" for n in program.graph.nodes) and \
        f"{program.source.name}_by_arrays" in text
    printer = (ScalarPrinter if by_element or "except (ArithmeticError" in text
               else NumpyPrinter)(program.graph, False)
    printer.print_function()
    wanted = printer.expressions[node].text
    statements = [s for s in printer.lines if not s.startswith(("#", "if "))]
    found = next((s for s in statements if s.startswith(f"{wanted} = ")), None) or next(
        (s for s in statements if wanted in s), None)
    if found is None:
        return None, wanted
    start = found.split("\n")[0][:40]
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().replace("(", "").startswith(start.replace("(", "")):
            return number, found
    return None, found


def _function_fails(program: Program, inputs: Sequence[Any]) -> bool:
    """Whether the traced function itself, before any derivative, has such a value in a result."""
    staged = program.staged
    if staged is None:
        return False
    graph = staged.graph
    values = _evaluate(graph, inputs[:len(graph.inputs)])
    return any(not _is_finite(values[n]) for n in graph.outputs)
