"""Branches as ``if`` statements, and calls of functions that the module brings along."""

from typing import TYPE_CHECKING

from ..compiler.arraytype import ArrayType
from ..compiler.graph import CONSTANT, Graph, Node, signature
from ..compiler.ops.body import with_outputs
from .bodies import (
    assign,
    indented,
    label,
    live,
    named,
    picks_of,
    plain_will_do,
    print_body,
    reads,
    typed,
)
from .expression import Expression, number
from .plain_numbers import to_widen
from .source import Function

if TYPE_CHECKING:
    from .numpy_source import NumpyPrinter

LARGE = 2 ** 16              # bytes of an array that is given up as soon as it can be


def print_cond(p: "NumpyPrinter", node: Node) -> None:
    """``if``, ``else``, and the results as variables that both set."""
    picks = picks_of(p, node)
    chosen = sorted(picks)
    bodies = [live(with_outputs(body, chosen)) for body in node.bodies]
    given = []
    for i, arg in enumerate(node.args[1:]):
        expression, inner = p.expressions[arg], [body.inputs[i] for body in bodies]
        if any(reads(b, n) > 1 for b, n in zip(bodies, inner, strict=True)):
            expression = named(p, expression, label(inner[0], "t"), arg)
        given.append(typed(expression, arg, inner[0].type))
    test = p.expressions[node.args[0]].text
    names = [p.name(picks[i]) for i in chosen]
    p.comment(node)
    for head, body in zip((f"if {test}:", "else:"), bodies, strict=True):
        inputs = list(given)
        lines: list[str] = []
        wide = set(to_widen(body))
        widened = [n for n, arg in zip(body.inputs, node.args[1:], strict=True)
                   if arg in p.widened]
        for i, n in enumerate(body.inputs):
            if n in wide and n not in widened:
                name = p.names.unique(label(n, "t"))
                lines.append(f"{name} = np.float64({given[i].text})")
                inputs[i] = Expression(name)
                widened.append(n)
        printed = print_body(p, body, inputs, widened)
        values = []
        for value, out, i in zip(printed.outputs, body.outputs, chosen, strict=True):
            plain = out.op is CONSTANT and plain_will_do(p.graph, picks[i])
            values.append(number(out.value) if plain else
                          typed(value, out, picks[i].type) if out.type.weak else value)
        lines += printed.lines
        assign(lines, names, values)
        p.lines += [head, *indented(lines or ["pass"])]
    for name, i in zip(names, chosen, strict=True):
        p.set_result(picks[i], name, widened=True)


def print_call(p: "NumpyPrinter", node: Node) -> None:
    """A call of a function of the module; equal bodies are one function."""
    picks = picks_of(p, node)
    chosen = sorted(picks)
    body = live(with_outputs(node.settings["body"], chosen))
    key = signature(body)
    if key not in p.functions:
        name = p.global_name(body.name)
        child = p.apart(Graph(name, body.inputs, body.outputs, body.nodes))
        _, parameters = child.print_function()
        p.functions[key] = Function(name, parameters, child.lines)
        p.printers[key] = child
    p.printed[node] = [p.printers[key]]
    given = [typed(p.expressions[a], a, n.type).text
             for a, n in zip(node.args, body.inputs, strict=True)]
    names = [p.name(picks[i]) for i in chosen]
    p.comment(node)
    p.lines.append(f"{', '.join(names)} = {p.functions[key].name}({', '.join(given)})")
    for name, i in zip(names, chosen, strict=True):
        p.set_result(picks[i], name)


def is_large(node: Node) -> bool:
    """Whether a value is an array that is worth giving up early."""
    return isinstance(node.type, ArrayType) and node.type.nbytes >= LARGE


def freed(p: "NumpyPrinter", position: int) -> list[str]:
    """``del`` of the large arrays that are read for the last time at a position."""
    dead = [n for n in p.dying.get(position, ()) if n in p.owner and is_large(n)]
    if not dead:
        return []
    live = {p.owner[n] for n in p.owner if p.lasts.get(n, -1) > position}
    names = sorted({p.owner[n] for n in dead} - live)
    return [f"del {', '.join(names)}"] if names else []
