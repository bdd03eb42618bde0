"""The text form of a graph, which prints and parses back, and the lecture's notation.

::

    graph f(%0 x: f64[3]) {
      %1: f64[3] = sin(%0)
      %2: f64[] = sum(%1; axis=(0,), keepdims=False)
      guard %2 is 1.0
      return %2
    }

The bodies of structured operators follow as graphs of their own, ``body1: graph step(...)``, which
the nodes name: ``loop(%0; test=None, body=body1, ...)``.
"""

import ast
import re
from itertools import pairwise
from typing import Any

import numpy as np

from .arraytype import ArrayType, parse_type, python_number
from .errors import Origin, ParseError
from .graph import CAPTURED, CONSTANT, INPUT, PICK, Graph, Guard, Node
from .ops.row import Op
from .ops.table import TABLE

_SUBSCRIPTS = str.maketrans("-0123456789", "₋₀₁₂₃₄₅₆₇₈₉")


def format_graph(graph: Graph) -> str:
    """Text form; ``parse`` is its inverse."""
    bodies: list[Graph] = []
    blocks = [_block(graph, bodies)]
    for number, body in enumerate(bodies, 1):       # which grows as bodies hold others
        blocks.append(f"body{number}: {_block(body, bodies)}")
    return "\n".join(blocks)


def _block(graph: Graph, bodies: list[Graph]) -> str:
    index = {node: i for i, node in enumerate(graph.nodes)}
    inputs = ", ".join(f"%{index[n]}{_label(n)}: {n.type}" for n in graph.inputs)
    lines = [f"graph {graph.name}({inputs}) {{"]
    lines += [f"  {_line(node, index, bodies)}" for node in graph.nodes if node.op is not INPUT]
    lines += [f"  guard %{index[g.node]} is {g.expected!r}" for g in graph.guards]
    lines.append(f"  return {', '.join(f'%{index[n]}' for n in graph.outputs)}")
    return "\n".join([*lines, "}"])


def format_excerpt(graph: Graph, position: int, around: int = 10) -> str:
    """The lines around a node, with a marker."""
    index = {node: i for i, node in enumerate(graph.nodes)}
    first = max(0, position - around)
    out = []
    for i, node in enumerate(graph.nodes[first:position + around + 1], first):
        text = f"%{i}: input {node.type}" if node.op is INPUT else _line(node, index)
        out.append(("-> " if i == position else "   ") + text)
    return "\n".join(out)


def _label(node: Node) -> str:
    name = node.origin.name if node.origin else None
    if not name:
        return ""
    return f" {name}" if _PLAIN.fullmatch(name) else f" {name!r}"


def type_text(type: Any) -> str:
    """A type, or a tuple of types for several results."""
    if isinstance(type, ArrayType):
        return str(type)
    return f"({', '.join(map(str, type))})"


def _line(node: Node, index: dict[Node, int], bodies: list[Graph] | None = None) -> str:
    left = f"%{index.get(node, '?')}: {type_text(node.type)}"
    if node.op in (CONSTANT, CAPTURED):
        return f"{left} = {node.op.name}({value_text(node)})"
    operands = ", ".join(f"%{index.get(a, '?')}" for a in node.args)
    # Not ``settings``: the verifier shows nodes whose parameters do not fit, too.
    pairs = zip(node.op.params, node.params, strict=False)
    settings = ", ".join(f"{k}={setting_text(v, bodies)}" for k, v in pairs)
    return f"{left} = {node.op.name}({operands}{'; ' if settings else ''}{settings})"


def setting_text(value: Any, bodies: list[Graph] | None = None) -> str:
    """A static parameter; graphs by their place in the list of bodies, or by name."""
    if not isinstance(value, Graph):
        return repr(value)
    if bodies is None:
        return f"<{value.name}>"
    if value not in bodies:
        bodies.append(value)
    return f"body{bodies.index(value) + 1}"


def value_text(node: Node) -> str:
    """The value of a constant, so that every number reads back as itself."""
    array = np.asarray(node.value)
    numbers = [str(v) if isinstance(v, np.generic) else repr(v) for v in array.ravel().tolist()]
    return numbers[0] if array.ndim == 0 else f"[{', '.join(numbers)}]"


_NODE = re.compile(r"%(\d+): (.+?) = (\w+)\((.*)\)$", re.DOTALL)
_PLAIN = re.compile(r"[^\s:,%'\"()]+")
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_INPUT = re.compile(rf"%(\d+)(?: ({_PLAIN.pattern}|{_QUOTED}))?: (\S+?)(?:, |$)")


def parse(text: str, table: dict[str, Op] | None = None) -> Graph:
    """The graph a text stands for.

    Raises:
        ParseError: naming the line that is not understood.
    """
    table = TABLE if table is None else table
    lines = [line.strip() for line in text.strip().splitlines()]
    ends = [i for i, line in enumerate(lines) if line == "}"] or [len(lines) - 1]
    bodies: dict[str, Graph] = {}
    for start, end in reversed(list(pairwise([-1, *ends]))[1:]):    # bodies stand after their users
        name, _, first = lines[start + 1].partition(": ")
        bodies[name] = _parse_block([first, *lines[start + 2:end + 1]], table, bodies)
    return _parse_block(lines[:ends[0] + 1], table, bodies)


def _parse_block(lines: list[str], table: dict[str, Op], bodies: dict[str, Graph]) -> Graph:
    header = re.match(r"graph (\w+)\((.*)\) \{$", lines[0])
    if header is None or lines[-1] != "}":
        raise ParseError(f"{lines[0]!r} is not the first line of a graph.")
    nodes: dict[int, Node] = {}
    inputs, guards, outputs = [], [], []
    end = 0
    while end < len(header[2]):
        found = _INPUT.match(header[2], end)
        if found is None:
            raise ParseError(f"{header[2][end:]!r} does not begin with an input.")
        end = found.end()
        name = found[2] if found[2] is None or _PLAIN.fullmatch(found[2]) \
            else ast.literal_eval(found[2])
        origin = Origin("", 0, name) if name else None
        node = nodes[int(found[1])] = Node(INPUT, (), (), parse_type(found[3]), origin)
        inputs.append(node)
    for line in lines[1:-1]:
        if line.startswith("return"):
            outputs = [nodes[int(n)] for n in re.findall(r"%(\d+)", line)]
        elif line.startswith("guard"):
            reference, expected = line[len("guard %"):].split(" is ")
            guards.append(Guard(nodes[int(reference)], _number(expected)))
        else:
            number, node = _parse_node(line, nodes, table, bodies)
            nodes[number] = node
    ordered = tuple(nodes[i] for i in sorted(nodes))
    return Graph(header[1], tuple(inputs), tuple(outputs), ordered, tuple(guards))


def _parse_node(line: str, nodes: dict[int, Node], table: dict[str, Op],
                bodies: dict[str, Graph]) -> tuple[int, Node]:
    found = _NODE.match(line)
    if found is None:
        raise ParseError(f"{line!r} is not a node.")
    number, kind, name, inside = found.groups()
    type = tuple(map(parse_type, kind[1:-1].split(", "))) if kind.startswith("(") \
        else parse_type(kind)
    if name in (CONSTANT.name, CAPTURED.name):
        leaf = CONSTANT if name == CONSTANT.name else CAPTURED
        return int(number), Node(leaf, (), (), type, None, _parse_value(inside, type))
    op = PICK if name == PICK.name else table.get(name)
    if op is None:
        raise ParseError(f"There is no operator named {name!r}.")
    operands, _, settings = inside.partition("; ") if "; " in inside or not inside.startswith(
        tuple(op.params)) or not op.params else ("", "", inside)
    args = tuple(nodes[int(n)] for n in re.findall(r"%(\d+)", operands))
    values = {}
    if settings:
        call = ast.parse(f"f({settings})", mode="eval").body
        assert isinstance(call, ast.Call)
        values = {k.arg: bodies[k.value.id] if isinstance(k.value, ast.Name)
                  else ast.literal_eval(k.value) for k in call.keywords}
    return int(number), Node(op, args, tuple(values[p] for p in op.params), type)


def _number(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    if "j" in text:
        return complex(text)
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def _long_complex(text: str) -> Any:
    """A complex number in more digits than Python's have."""
    found = re.fullmatch(r"(?:(.*[^e])(?=[+-]))?([+-]?[^+-]+(?:e[+-]\d+)?)j", text.strip("()"))
    if found is None:
        raise ParseError(f"{text!r} is not a complex number.")
    real, imaginary = (np.longdouble(part or "0") for part in found.groups())
    return real + np.clongdouble(1j) * imaginary


def _parse_value(text: str, type: Any) -> Any:
    numbers = text.strip("[]")
    read: Any = {"g": np.longdouble, "G": _long_complex}.get(type.dtype.char, _number)
    values = [read(t) for t in numbers.split(", ")] if numbers else []
    if type.weak:
        return python_number(values[0], type.dtype)
    array = np.array(values, dtype=type.dtype).reshape(type.shape)
    return array[()] if type.shape == () else array


def format_wengert(graph: Graph) -> str:
    """The lecture's notation: inputs v₋₁, v₀ and then v₁, v₂, … one application a line."""
    return "\n".join(f"{name} = {text}" for _, name, text in wengert_lines(graph))


def wengert_lines(graph: Graph) -> list[tuple[Node, str, str]]:
    """Each node but constants, with its name and expression in that notation."""
    names: dict[Node, str] = {}
    first = 1 - len(graph.inputs)
    for i, node in enumerate(graph.inputs):
        names[node] = f"v{first + i}".translate(_SUBSCRIPTS)
    lines = [(n, names[n], n.origin.name if n.origin and n.origin.name else "input")
             for n in graph.inputs]
    count = 0
    for node in graph.nodes:
        if node in names:
            continue
        if node.op in (CONSTANT, CAPTURED):
            names[node] = value_text(node) if np.size(node.value) <= 4 else f"<{node.type}>"
            continue
        count += 1
        names[node] = f"v{count}".translate(_SUBSCRIPTS)
        lines.append((node, names[node], _application(node, names)))
    return lines


_SIGNS = {"mul": "·", "scale": "·", "sub": "−", "log": "ln"}


def _application(node: Node, names: dict[Node, str]) -> str:
    args = [names[a] for a in node.args]
    if node.op.infix is not None and len(args) == 2:
        sign = _SIGNS.get(node.op.name, node.op.infix.symbol)
        return f"{args[0]}{sign}{args[1]}" if sign == "·" else f"{args[0]} {sign} {args[1]}"
    if node.op.name == "neg":
        return f"−{args[0]}"
    name = _SIGNS.get(node.op.name, node.op.name)
    return f"{name} {args[0]}" if len(args) == 1 else f"{name}({', '.join(args)})"


# Graph is defined below this module, which knows how graphs look.
Graph.__str__ = format_graph  # type: ignore[method-assign,assignment]
