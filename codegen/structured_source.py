"""Loops and branches as statements, and the way back through a loop.

A counted loop whose states take little memory keeps them all in a list. For all other loops the
step becomes a local function, and a class that the module brings along keeps some of the states
and computes the others again.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.arraytype import ArrayType
from ..compiler.graph import CONSTANT, PICK, Graph, Node, infer, reachable, signature
from ..compiler.ops import branching, calling, looping
from ..compiler.ops.body import with_outputs
from ..compiler.ops.looping import LOOP, PULL, Loop, Pull
from .expression import ATOM, Expression, number
from .plain_numbers import RAISING, to_widen, weak_type
from .source import Function
from .template import render

if TYPE_CHECKING:
    from .numpy_source import NumpyPrinter

KEEP_ALL = 2 ** 20           # bytes of states up to which all of them are kept
LARGE = 2 ** 16              # bytes of an array that is given up as soon as it can be
_OBJECT = 112                # bytes of an array or scalar beside its data


def print_structured(p: "NumpyPrinter", node: Node) -> None:
    """Print one application of a structured operator."""
    if node.op is branching.cond:
        _print_cond(p, node)
    elif node.op is calling.call:
        _print_call(p, node)
    elif node.op is looping.loop:
        _print_loop(p, node)
    else:
        _print_pull(p, node)


def owns_result(node: Node, index: int, owns: Callable[[Node], bool]) -> bool:
    """Whether a result is certainly memory of its own."""
    if node.op is branching.cond:
        return all(owns(body.outputs[index]) for body in node.bodies)
    settings = node.settings
    loop = Loop(**{name: settings[name] for name in LOOP})
    body, n_carried = (loop.body, loop.carried) if node.op is looping.loop else (
        settings["pulled"], len(settings["active"]))
    return index >= n_carried or (bool(loop.length) and owns(body.outputs[index]))


# -- parts ----------------------------------------------------------------------------------------


class _Body(NamedTuple):
    """A printed body: statements, and the outputs' expressions."""

    lines: list[str]
    outputs: list[Expression]
    widened: set[Node]


def _print_body(p: "NumpyPrinter", body: Graph, inputs: Sequence[Expression],
                widened: Sequence[Node] = (), owned: Sequence[Node] = ()) -> _Body:
    """Print a body whose inputs have these expressions.

    Args:
        p: printer of the graph around it.
        body: to print.
        inputs: expressions of its inputs.
        widened: inputs that are NumPy's although their type says a plain number.
        owned: inputs whose memory the body may overwrite.
    """
    child = type(p)(body, p.annotate, around=p)
    for node, expression in zip(body.inputs, inputs, strict=True):
        child.expressions[node] = expression
    child.widened.update(widened)
    child.owner.update({n: child.expressions[n].text for n in owned})
    child.spread_widened()
    child.last_origin = p.last_origin
    child.print_nodes()
    return _Body(child.lines, [_typed(child.expressions[n], n, n.type) for n in body.outputs],
                 child.widened)


def _typed(expression: Expression, node: Node, type: ArrayType) -> Expression:
    """A value as what its type says: NumPy's scalar, not a plain number."""
    if type.shape or type.weak or not (node.type.weak or node.op is CONSTANT):
        return expression
    return Expression(f"np.{type.dtype.name}({expression.text})")


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {piece}" for line in lines for piece in line.split("\n")]


def _reads(graph: Graph, node: Node) -> int:
    """How often a graph reads a node."""
    return sum(n.args.count(node) for n in graph.nodes) + graph.outputs.count(node)


def _live(graph: Graph) -> Graph:
    """The graph without what its outputs do not need."""
    kept = reachable([*graph.outputs, *graph.inputs])
    return Graph(graph.name, graph.inputs, graph.outputs,
                 tuple(n for n in graph.nodes if n in kept))


def _label(node: Node, otherwise: str) -> str:
    return node.origin.name if node.origin and node.origin.name else otherwise


def _picks(p: "NumpyPrinter", node: Node) -> dict[int, Node]:
    return {n.params[0]: n for n in p.graph.nodes if n.op is PICK and n.args[0] is node}


def _named(p: "NumpyPrinter", expression: Expression, wish: str) -> Expression:
    """The expression itself if it is a name, else a new name for it."""
    if expression.text.isidentifier() and expression.text not in ("True", "False"):
        return expression
    name = p.names.unique(wish)
    p.lines.append(f"{name} = {expression.text}")
    return Expression(name)


def _plain_will_do(graph: Graph, node: Node) -> bool:
    """Whether a NumPy scalar may as well be a plain number, wherever the graph uses it."""
    if node.type.shape:
        return True
    if node.type.dtype not in (np.float64, np.int64, np.bool_):
        return False
    for user in graph.nodes:
        if node in user.args:
            if user.op in RAISING or user.op.bodies:
                return False
            types = tuple([weak_type(a.type) if a is node or (
                a.op is CONSTANT and not a.type.shape) else a.type for a in user.args])
            found = infer(user.op, types, user.params)
            if found != user.type:
                return False
    return True


def _assign(lines: list[str], names: Sequence[str], values: Sequence[Expression]) -> None:
    """Assign all at once, or one by one where no value reads what has been assigned."""
    pairs = [(n, v.text) for n, v in zip(names, values, strict=True) if n != v.text]
    for i, (name, _) in enumerate(pairs):
        if any(re.search(rf"(?<![\w.]){name}\b", text) for _, text in pairs[i + 1:]):
            lines.append(f"{', '.join(n for n, _ in pairs)} = {', '.join(t for _, t in pairs)}")
            return
    lines += [f"{n} = {t}" for n, t in pairs]


# -- branches -------------------------------------------------------------------------------------


def _print_cond(p: "NumpyPrinter", node: Node) -> None:
    picks = _picks(p, node)
    chosen = sorted(picks)
    bodies = [_live(with_outputs(body, chosen)) for body in node.bodies]
    given = []
    for i, arg in enumerate(node.args[1:]):
        expression, inner = p.expressions[arg], [body.inputs[i] for body in bodies]
        if any(_reads(b, n) > 1 for b, n in zip(bodies, inner, strict=True)):
            expression = _named(p, expression, _label(inner[0], "t"))
        given.append(_typed(expression, arg, inner[0].type))
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
                name = p.names.unique(_label(n, "t"))
                lines.append(f"{name} = np.float64({given[i].text})")
                inputs[i] = Expression(name)
                widened.append(n)
        printed = _print_body(p, body, inputs, widened)
        values = []
        for value, out, i in zip(printed.outputs, body.outputs, chosen, strict=True):
            plain = out.op is CONSTANT and _plain_will_do(p.graph, picks[i])
            values.append(number(out.value) if plain else
                          _typed(value, out, picks[i].type) if out.type.weak else value)
        lines += printed.lines
        _assign(lines, names, values)
        p.lines += [head, *_indented(lines or ["pass"])]
    for name, i in zip(names, chosen, strict=True):
        p.set_result(picks[i], name, widened=True)


# -- calls ----------------------------------------------------------------------------------------


def _print_call(p: "NumpyPrinter", node: Node) -> None:
    """A call of a function of the module; equal bodies are one function."""
    picks = _picks(p, node)
    chosen = sorted(picks)
    body = _live(with_outputs(node.settings["body"], chosen))
    key = signature(body)
    if key not in p.functions:
        name = p.global_name(body.name)
        child = type(p)(Graph(name, body.inputs, body.outputs, body.nodes), p.annotate, around=p,
                        apart=True)
        _, parameters = child.print_function()
        p.functions[key] = Function(name, parameters, child.lines)
    given = [_typed(p.expressions[a], a, n.type).text
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


# -- loops ----------------------------------------------------------------------------------------


class _Record(NamedTuple):
    """What a loop has kept: a list of all states, or some, and the step to compute others."""

    saved: str
    step: str | None
    used: list[int]         # the carry that a list of states holds


def _state_bytes(loop: Loop, carry: Sequence[int] | None = None) -> int:
    """Memory of a state, with that of the objects."""
    return sum(loop.inputs[i].type.nbytes + _OBJECT
               for i in (range(loop.carried) if carry is None else carry))


def _used(loop: Loop, pull: Pull) -> list[int]:
    """Of the carry, what pulling back reads."""
    return [i for i in range(loop.carried) if _reads(pull.pulled, pull.pulled.inputs[
        loop.first + i])]


def _keeps_all(loop: Loop, used: Sequence[int]) -> bool:
    return loop.length is not None and (not used or (
        loop.snapshots is None and loop.length * _state_bytes(loop, used) <= KEEP_ALL))


def _advance(loop: Loop) -> Graph:
    """The body, without the results that are made of slices."""
    return _live(with_outputs(loop.body, range(loop.carried)))


def _same_loop(node: Node, pull: Node) -> bool:
    """Whether a ``pull_loop`` goes back through a loop that is computed anyhow."""
    if pull.op is not looping.pull_loop or pull.args[:len(node.args)] != node.args:
        return False
    mine, other = (Loop(**{name: n.settings[name] for name in LOOP}) for n in (node, pull))
    if (mine.length, mine.start, mine.carried, mine.sliced, mine.snapshots) != (
            other.length, other.start, other.carried, other.sliced, other.snapshots):
        return False
    return mine.test == other.test and signature(_advance(mine)) == signature(_advance(other))


def mates(graph: Graph) -> dict[Node, Node]:
    """For each ``pull_loop``, the loop that is computed anyhow and can keep states for it."""
    loops = [n for n in graph.nodes if n.op is looping.loop]
    found: dict[Node, Node] = {}
    before: set[Node] = set()
    for node in graph.nodes if loops else ():
        mate = next((n for n in loops if n in before and _same_loop(n, node)), None)
        if mate is not None:
            found[node] = mate
        before.add(node)
    return found


def _split(node: Node) -> tuple[Loop, Pull]:
    settings = node.settings
    return (Loop(**{name: settings[name] for name in LOOP}),
            Pull(**{name: settings[name] for name in PULL}))


class _Given(NamedTuple):
    """A loop's operands as the body sees them."""

    carry: list[str]
    slices: list[Expression]
    fixed: list[Expression]
    widened: list[Node]
    wide: list[bool]           # of the carry


def _operands(p: "NumpyPrinter", node: Node, loop: Loop, pulls: Sequence[Pull],
              names: Sequence[str]) -> _Given:
    """Print the statements in front of a loop; without names, those of the carry are left out."""
    graphs = [(loop.body, loop.first), *[(pull.pulled, loop.first) for pull in pulls]]
    if loop.test is not None:
        graphs.append((loop.test, 0))               # such a loop takes no slices
    wide = {n for graph, _ in graphs for n in to_widen(graph)}
    given = _Given(list(names), [], [], [], [])
    for i, inner in enumerate(loop.inputs):
        source = node.args[i]
        expression = p.expressions[source]
        twins = [graph.inputs[first + i] for graph, first in graphs]
        is_wide = any(n in wide for n in twins) or source in p.widened
        if is_wide:
            given.widened.extend(twins)
            if source not in p.widened:
                expression = Expression(f"np.float64({expression.text})")
        elif i >= loop.carried or not (loop.length and all(
                _plain_will_do(graph, n) for (graph, _), n in zip(graphs, twins, strict=True))):
            expression = _typed(expression, source, inner.type)
        if i < loop.carried:
            given.wide.append(is_wide)
            if names:
                p.lines.append(f"{names[i]} = {expression.text}")
        else:
            read = any(_reads(graph, n) for (graph, _), n in zip(graphs, twins, strict=True))
            if read:
                expression = _named(p, expression, _label(inner, "t"))
            (given.slices if i < loop.carried + loop.sliced else given.fixed).append(expression)
    return given


def _carry_names(p: "NumpyPrinter", loop: Loop, picks: dict[int, Node]) -> list[str]:
    out = []
    for i, inner in enumerate(loop.inputs[:loop.carried]):
        pick = picks.get(i)
        wish = _label(pick, "") if pick is not None else ""
        out.append(p.names.unique(wish or _label(inner, "carry")))
    return out


def _print_loop(p: "NumpyPrinter", node: Node) -> None:
    loop = Loop(**{name: node.settings[name] for name in LOOP})
    picks = _picks(p, node)
    pulls = [n for n, mate in p.mates.items() if mate is node]
    names = _carry_names(p, loop, picks)
    p.comment(node)
    backward = [_split(n)[1] for n in pulls]
    given = _operands(p, node, loop, backward, names)
    record = _begin_record(p, loop, given, backward) if pulls else None
    for n in pulls:
        p.records[n] = record, given, n is pulls[-1], picks
    rows = [i for i in range(loop.n_slices) if loop.carried + i in picks]
    made = {i: p.names.unique(_label(picks[loop.carried + i], "ys")) for i in rows}
    for i in rows:
        kind = picks[loop.carried + i].type
        p.lines.append(f"{made[i]} = {_empty(kind)}")
    _print_steps(p, loop, given, record, made)
    for i, pick in picks.items():
        p.set_result(pick, names[i] if i < loop.carried else made[i - loop.carried],
                     i < loop.carried and given.wide[i])


def _empty(kind: ArrayType) -> str:
    shape = str(kind.shape[0]) if len(kind.shape) == 1 else repr(kind.shape)
    dtype = "" if kind.dtype == np.float64 else f", np.{kind.dtype.name}"
    return f"np.empty({shape}{dtype})"


def _begin_record(p: "NumpyPrinter", loop: Loop, given: _Given, pulls: Sequence[Pull]
                  ) -> _Record | None:
    """Print what is to be kept in; None if nothing needs to be."""
    used = sorted({i for pull in pulls for i in _used(loop, pull)})
    if _keeps_all(loop, used):
        if not used:
            return None
        saved = p.names.unique("states")
        p.lines.append(f"{saved} = []")
        return _Record(saved, None, used)
    name = _helper(p)
    if loop.length is None:
        options = str(loop.snapshots or max(1, KEEP_ALL // _state_bytes(loop)))
    else:
        slots = loop.snapshots or math.isqrt(2 * loop.length) + 1
        options = f"{slots}, {loop.length}" + (f", {loop.start}" if loop.start else "")
    step = p.names.unique(loop.body.name)
    _print_step(p, loop, given, step)
    saved = p.names.unique("saved")
    p.lines.append(f"{saved} = {name}({options})")
    return _Record(saved, step, [])


def _helper(p: "NumpyPrinter") -> str:
    """The name of the class that keeps states, which the module brings along."""
    if not p.helpers:
        name = p.global_name("Snapshots")
        p.helpers[name] = render("snapshots.py.j2", name=name).rstrip("\n")
    return next(iter(p.helpers))


def _print_step(p: "NumpyPrinter", loop: Loop, given: _Given, name: str) -> None:
    """The step as a local function of the counter and the state."""
    body = _advance(loop)
    state = given.carry[0] if loop.carried == 1 else "state"
    lines = [] if loop.carried == 1 else [f"{', '.join(given.carry)} = state"]
    index, counter, slices, _ = _header(p, loop, body, given, lines)
    printed = _print_body(p, body, [*counter, *map(Expression, given.carry), *slices,
                                    *given.fixed], given.widened)
    lines += printed.lines
    lines.append(f"return {', '.join(e.text for e in _next(loop, body, printed, given))}")
    p.lines += [f"def {name}({index}, {state}):", *_indented(lines)]


def _next(loop: Loop, body: Graph, printed: _Body, given: _Given) -> list[Expression]:
    """The next carry, each as what it is from the start."""
    out = []
    for i, inner in enumerate(loop.inputs[:loop.carried]):
        value, node = printed.outputs[i], body.outputs[i]
        if given.wide[i] and node not in printed.widened:
            value = Expression(f"np.float64({value.text})")
        elif node.type.weak:
            value = _typed(value, node, inner.type)
        out.append(value)
    return out


def _header(p: "NumpyPrinter", loop: Loop, body: Graph, given: _Given, lines: list[str],
            more: bool = False) -> tuple[str, list[Expression], list[Expression], str]:
    """Name of the counter, the body's first inputs, its slices, and the steps as a range."""
    counted = bool(loop.first) and bool(_reads(body, body.inputs[0]))
    read = [bool(_reads(body, n)) for n in body.inputs[
        loop.first + loop.carried:loop.first + loop.carried + loop.sliced]]
    index = "_"
    if counted or any(read) or more:
        index = p.names.unique(_label(body.inputs[0], "i") if loop.first else "i")
    start, stop = loop.start or 0, (loop.start or 0) + (loop.length or 0)
    steps = f"range({stop})" if start == 0 else f"range({start}, {stop})"
    return index, [Expression(index)] * loop.first, _take_slices(
        p, lines, given.slices, body.inputs[loop.first + loop.carried:], body, index), steps


def _take_slices(p: "NumpyPrinter", lines: list[str], arrays: Sequence[Expression],
                 inputs: Sequence[Node], body: Graph, index: str) -> list[Expression]:
    """The slices of a step; those read more than once get a name."""
    out = []
    for x, inner in zip(arrays, inputs, strict=False):
        part = Expression(f"{x.text}[{index}]")
        if _reads(body, inner) > 1:
            name = p.names.unique(_label(inner, "x"))
            lines.append(f"{name} = {part.text}")
            part = Expression(name)
        out.append(part)
    return out


def _print_steps(p: "NumpyPrinter", loop: Loop, given: _Given, record: _Record | None,
                 made: dict[int, str]) -> None:
    """The loop itself, forward."""
    with_step = record is not None and record.step is not None and not made
    body = _live(with_outputs(loop.body, [*range(loop.carried),
                                          *[loop.carried + i for i in made]]))
    lines: list[str] = []
    index, counter, slices, steps = _header(p, loop, body, given, [] if with_step else lines,
                                            more=bool(made))
    if record is not None:
        kept = [given.carry[i] for i in record.used] or given.carry
        state = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
        lines.insert(0, f"{record.saved}.{'keep' if record.step else 'append'}({state})")
    if with_step:
        assert record is not None
        target = ", ".join(given.carry)
        counter_text = "None" if loop.test is not None or index == "_" else index
        lines.append(f"{target} = {record.step}({counter_text}, "
                     f"{target if loop.carried == 1 else f'({target})'})")
    else:
        printed = _print_body(p, body, [*counter, *map(Expression, given.carry), *slices,
                                        *given.fixed], given.widened)
        lines += printed.lines
        for (_, name), value in zip(made.items(), printed.outputs[loop.carried:], strict=True):
            lines.append(f"{name}[{index}] = {value.text}")
        _assign(lines, given.carry, _next(loop, body, printed, given))
    if loop.test is None:
        p.lines += [f"for {index} in {steps}:", *_indented(lines or ["pass"])]
        return
    test = _print_body(p, loop.test, [*map(Expression, given.carry), *given.fixed], given.widened)
    if test.lines:
        lines = [*test.lines, f"if not {test.outputs[0].within(ATOM)}:", "    break", *lines]
    p.lines += ["while True:" if test.lines else f"while {test.outputs[0].text}:",
                *_indented(lines)]


# -- back through a loop --------------------------------------------------------------------------


def _print_pull(p: "NumpyPrinter", node: Node) -> None:
    loop, pull = _split(node)
    picks = _picks(p, node)
    n_args, n_active = len(loop.inputs), len(pull.active)
    if node in p.records:
        record, given, is_last, finals = p.records[node]
    else:
        (record, given), is_last, finals = _print_forward(p, node, loop, pull), True, {}
    pulled, inner = pull.pulled, pull.pulled.inputs
    cts = inner[n_args + loop.first:]
    names = []
    for j in range(n_active):
        pick = picks.get(j)
        wish = _label(pick, "") if pick is not None else ""
        names.append(p.names.unique(wish or _label(cts[j], "ct")))
        source = node.args[n_args + j]
        start = p.expressions[source]
        if not (loop.length and _plain_will_do(pulled, cts[j])):
            start = _typed(start, source, cts[j].type)
        p.lines.append(f"{names[j]} = {start.text}")
    seeds = [_named(p, p.expressions[node.args[n_args + j]], _label(cts[j], "ct"))
             for j in range(n_active, n_active + len(pull.seeded))]
    sliced = [i for i in pull.returned if i < loop.carried + loop.sliced]
    made = []
    for j, _ in enumerate(sliced):
        pick = picks.get(n_active + j)
        made.append(p.names.unique(_label(pick, "") if pick is not None and pick.origin and
                                   pick.origin.name else "ct"))
        p.lines.append(f"{made[j]} = {_empty(node.type[n_active + j])}")
    sums = []
    for j, total in enumerate(cts[n_active + len(pull.seeded):]):
        sums.append(p.names.unique(_label(total, "ct")))
        p.lines.append(f"{sums[j]} = {_zero(total, loop, pulled)}")
    # The variables of the way forward serve again, unless their last values are still needed.
    carry = [name if i not in finals or p.lasts.get(finals[i], -1) <= p.position else
             p.names.unique(name) for i, name in enumerate(given.carry)]
    lines: list[str] = []
    index, slices, states, head = _way_back(p, loop, pulled, record, given._replace(carry=carry),
                                            is_last, lines, bool(made or seeds))
    rows = _take_slices(p, lines, seeds, cts[n_active:], pulled, index)
    printed = _print_body(
        p, pulled, [*[Expression(index)] * loop.first, *states, *slices, *given.fixed,
                    *map(Expression, names), *rows, *map(Expression, sums)],
        [w for n, w in zip(loop.body.inputs, inner, strict=False) if n in given.widened],
        owned=[n for n in cts[n_active + len(pull.seeded):] if n.type.shape])
    lines += printed.lines
    for name, value in zip(made, printed.outputs[n_active:], strict=False):
        lines.append(f"{name}[{index}] = {value.text}")
    outputs = [*printed.outputs[:n_active], *printed.outputs[n_active + len(made):]]
    _assign(lines, [*names, *sums], outputs)
    p.lines += [head, *_indented(lines or ["pass"])]
    for j, name in enumerate([*names, *made, *sums]):
        if j in picks:
            p.set_result(picks[j], name)


def _zero(total: Node, loop: Loop, pulled: Graph) -> str:
    """The start of a sum."""
    kind = total.type
    if kind.shape:
        return _empty(kind).replace("np.empty", "np.zeros")
    plain = loop.length and _plain_will_do(pulled, total)
    return "0.0" if plain and kind.dtype.kind == "f" else f"np.{kind.dtype.name}(0.0)"


def _print_forward(p: "NumpyPrinter", node: Node, loop: Loop, pull: Pull
                   ) -> tuple[_Record | None, _Given]:
    """The way forward for the way back's sake alone."""
    p.comment(node)
    if _keeps_all(loop, _used(loop, pull)) and not _used(loop, pull):
        return None, _operands(p, node, loop, [pull], [])
    given = _operands(p, node, loop, [pull], _carry_names(p, loop, {}))
    record = _begin_record(p, loop, given, [pull])
    _print_steps(p, loop, given, record, {})
    return record, given


def _way_back(p: "NumpyPrinter", loop: Loop, pulled: Graph, record: _Record | None, given: _Given,
              is_last: bool, lines: list[str], stacks: bool
              ) -> tuple[str, list[Expression], list[Expression], str]:
    """Name of the counter, expressions of slices and states, and the head of the loop."""
    index, _, slices, steps = _header(p, loop, pulled, given, lines, more=stacks)
    carry = list(given.carry)
    states = [*map(Expression, carry)] or [Expression("")] * loop.carried
    read = [_reads(pulled, n) for n in pulled.inputs[loop.first:loop.first + loop.carried]]
    carry = [name if r else "_" for name, r in zip(carry, read, strict=False)]
    if record is None:
        return index, slices, states, f"for {index} in reversed({steps}):"
    if record.step is not None:
        target = carry[0] if len(carry) == 1 else f"({', '.join(carry)})"
        copy = "" if is_last else ".copy()"
        return index, slices, states, f"for {index}, {target} in {record.saved}{copy}.backwards(" \
            f"{record.step}):"
    kept = [carry[i] for i in record.used]
    target = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
    if index == "_":
        return index, slices, states, f"for {target.strip('()')} in reversed({record.saved}):"
    return index, slices, states, f"for {index}, {target} in zip(reversed({steps}), " \
        f"reversed({record.saved})):"
