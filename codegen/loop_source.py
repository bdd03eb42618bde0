"""Loops as statements, and the way back through a loop.

A counted loop whose states take little memory keeps them all in a list. For all other loops the
step becomes a local function, and a class that the module brings along keeps some of the states
and computes the others again; ``kept.py`` decides.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..compiler.arraytype import ArrayType
from ..compiler.graph import Graph, Node, signature
from ..compiler.ops import looping
from ..compiler.ops.body import with_outputs
from ..compiler.ops.looping import LOOP, PULL, Loop, Pull
from .bodies import (
    Body,
    assign,
    indented,
    label,
    live,
    named,
    overwritten,
    own_memory,
    picks_of,
    plain_will_do,
    print_body,
    reads,
    typed,
)
from .expression import ATOM, Expression
from .kept import keeps_all, schedule, used, used_by
from .plain_numbers import to_widen
from .template import render

if TYPE_CHECKING:
    from .numpy_source import NumpyPrinter


class _Record(NamedTuple):
    """What a loop has kept: a list of all states, or some, and the step to compute others."""

    saved: str
    step: str | None
    used: list[int]         # the carry that a list of states holds


def _advance(loop: Loop) -> Graph:
    """The body, without the results that are made of slices."""
    return live(with_outputs(loop.body, range(loop.carried)))


def _same_loop(node: Node, pull: Node) -> bool:
    """Whether a ``pull_loop`` of the same operands goes back through this loop."""
    mine, other = loop_of(node), loop_of(pull)
    if replace(mine, body=other.body) != other:
        return False
    return signature(_advance(mine)) == signature(_advance(other))


def mates(graph: Graph) -> dict[Node, Node]:
    """For each ``pull_loop``, the loop that is computed anyhow and can keep states for it."""
    loops: dict[tuple[Node, ...], list[Node]] = {}
    found: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op is looping.loop:
            loops.setdefault(node.args, []).append(node)
        elif node.op is looping.pull_loop and loops:
            operands = node.args[:len(_split(node)[0].inputs)]
            mate = next((n for n in loops.get(operands, ()) if _same_loop(n, node)), None)
            if mate is not None:
                found[node] = mate
    return found


def loop_of(node: Node) -> Loop:
    """The loop of a node, or that which it goes back through."""
    return Loop(**{name: node.settings[name] for name in LOOP})


def pull_of(node: Node) -> Pull:
    """The way back of a node."""
    return Pull(**{name: node.settings[name] for name in PULL})


def _split(node: Node) -> tuple[Loop, Pull]:
    return loop_of(node), pull_of(node)


class _Given(NamedTuple):
    """A loop's operands as the body sees them."""

    carry: list[str]
    slices: list[Expression]
    fixed: list[Expression]
    widened: list[Node]
    wide: list[bool]           # of the carry


def _operands(p: "NumpyPrinter", node: Node, loop: Loop, pulls: Sequence[Pull],
              names: Sequence[str], owned: Sequence[Node] = ()) -> _Given:
    """Print the statements in front of a loop; without names, those of the carry are left out.

    Owned inputs of the body are arrays that it assigns into.
    """
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
        elif source.type.shape:
            pass
        elif i >= loop.carried or not (loop.length and all(
                plain_will_do(graph, n) for (graph, _), n in zip(graphs, twins, strict=True))):
            expression = typed(expression, source, inner.type)
        if i < loop.carried:
            given.wide.append(is_wide)
            if names:
                p.lines.append(f"{names[i]} = " + (
                    own_memory(p, source) if inner in owned else expression.text))
        else:
            read = any(reads(graph, n) for (graph, _), n in zip(graphs, twins, strict=True))
            if read:
                expression = named(p, expression, label(inner, "t"), source)
            (given.slices if i < loop.carried + loop.sliced else given.fixed).append(expression)
    return given


def _carry_names(p: "NumpyPrinter", loop: Loop, picks: dict[int, Node]) -> list[str]:
    out = []
    for i, inner in enumerate(loop.inputs[:loop.carried]):
        pick = picks.get(i)
        wish = label(pick, "") if pick is not None else ""
        out.append(p.names.unique(wish or label(inner, "carry")))
    return out


def print_loop(p: "NumpyPrinter", node: Node) -> None:
    """A loop, which keeps states if there is a way back through it."""
    loop = loop_of(node)
    picks = picks_of(p, node)
    pulls = [n for n, mate in p.mates.items() if mate is node]
    names = _carry_names(p, loop, picks)
    p.comment(node)
    backward = [_split(n)[1] for n in pulls]
    owned = [] if pulls and not keeps_all(loop, used_by(loop, backward)) else \
        overwritten(loop.body, [(n, i) for i, n in enumerate(loop.inputs[:loop.carried])], p.owns)
    given = _operands(p, node, loop, backward, names, owned)
    record = _begin_record(p, loop, given, backward) if pulls else None
    for n in pulls:
        p.records[n] = record, given, n is pulls[-1], picks
    rows = [i for i in range(loop.n_slices) if loop.carried + i in picks]
    made = {i: p.names.unique(label(picks[loop.carried + i], "ys")) for i in rows}
    for i in rows:
        kind = picks[loop.carried + i].type
        p.lines.append(f"{made[i]} = {_empty(kind)}")
    _print_steps(p, loop, given, record, made, owned)
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
    read = used_by(loop, pulls)
    if keeps_all(loop, read):
        if not read:
            return None
        saved = p.names.unique("states")
        p.lines.append(f"{saved} = []")
        return _Record(saved, None, read)
    name = _helper(p, "Snapshots", "snapshots.py.j2")
    chosen = schedule(loop)
    options = str(chosen.slots) if chosen.steps is None else f"{chosen.slots}, {chosen.steps}"
    if chosen.bounded:
        options += ", bounded=True"
    if chosen.steps is not None and loop.start:
        options += f", {loop.start}"
    if chosen.on_disk:
        name = _helper(p, "SnapshotsOnDisk", "snapshots_on_disk.py.j2", base=name)
        options += f", on_disk={chosen.on_disk}"
    step = p.names.unique(loop.body.name)
    _print_step(p, loop, given, step)
    saved = p.names.unique("saved")
    p.lines.append(f"{saved} = {name}({options})")
    return _Record(saved, step, [])


def _helper(p: "NumpyPrinter", wish: str, template: str, **values: str) -> str:
    """The name of a class that keeps states, which the module brings along."""
    if wish not in p.helpers:
        name = p.global_name(wish)
        p.helpers[wish] = name, render(template, name=name, **values).rstrip("\n")
    return p.helpers[wish][0]


def _print_step(p: "NumpyPrinter", loop: Loop, given: _Given, name: str) -> None:
    """The step as a local function of the counter and the state."""
    body = _advance(loop)
    state = given.carry[0] if loop.carried == 1 else "state"
    lines = [] if loop.carried == 1 else [f"{', '.join(given.carry)} = state"]
    index, counter, slices, _ = _header(p, loop, body, given, lines)
    printed = print_body(p, body, [*counter, *map(Expression, given.carry), *slices,
                                    *given.fixed], given.widened)
    lines += printed.lines
    lines.append(f"return {', '.join(e.text for e in _next(loop, body, printed, given))}")
    p.lines += [f"def {name}({index}, {state}):", *indented(lines)]


def _next(loop: Loop, body: Graph, printed: Body, given: _Given) -> list[Expression]:
    """The next carry, each as what it is from the start."""
    out = []
    for i, inner in enumerate(loop.inputs[:loop.carried]):
        value, node = printed.outputs[i], body.outputs[i]
        if given.wide[i] and node not in printed.widened:
            value = Expression(f"np.float64({value.text})")
        elif node.type.weak:
            value = typed(value, node, inner.type)
        out.append(value)
    return out


def _header(p: "NumpyPrinter", loop: Loop, body: Graph, given: _Given, lines: list[str],
            more: bool = False) -> tuple[str, list[Expression], list[Expression], str]:
    """Name of the counter, the body's first inputs, its slices, and the steps as a range."""
    counted = bool(loop.first) and bool(reads(body, body.inputs[0]))
    read = [bool(reads(body, n)) for n in body.inputs[
        loop.first + loop.carried:loop.first + loop.carried + loop.sliced]]
    index = "_"
    if counted or any(read) or more:
        index = p.names.unique(label(body.inputs[0], "i") if loop.first else "i")
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
        if reads(body, inner) > 1:
            name = p.names.unique(label(inner, "x"))
            lines.append(f"{name} = {part.text}")
            part = Expression(name)
        out.append(part)
    return out


def _print_steps(p: "NumpyPrinter", loop: Loop, given: _Given, record: _Record | None,
                 made: dict[int, str], owned: Sequence[Node] = ()) -> None:
    """The loop itself, forward."""
    with_step = record is not None and record.step is not None and not made
    body = live(with_outputs(loop.body, [*range(loop.carried),
                                          *[loop.carried + i for i in made]]))
    lines: list[str] = []
    index, counter, slices, steps = _header(p, loop, body, given, [] if with_step else lines,
                                            more=bool(made))
    if record is not None:
        kept = [given.carry[i] + (".copy()" if loop.inputs[i] in owned else "")
                for i in record.used] or given.carry
        state = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
        lines.insert(0, f"{record.saved}.{'keep' if record.step else 'append'}({state})")
    if with_step:
        assert record is not None
        target = ", ".join(given.carry)
        counter_text = "None" if loop.test is not None or index == "_" else index
        lines.append(f"{target} = {record.step}({counter_text}, "
                     f"{target if loop.carried == 1 else f'({target})'})")
    else:
        printed = print_body(p, body, [*counter, *map(Expression, given.carry), *slices,
                                        *given.fixed], given.widened, owned, repeats=True)
        lines += printed.lines
        for (_, name), value in zip(made.items(), printed.outputs[loop.carried:], strict=True):
            lines.append(f"{name}[{index}] = {value.text}")
        assign(lines, given.carry, _next(loop, body, printed, given))
    if loop.test is None:
        p.lines += [f"for {index} in {steps}:", *indented(lines or ["pass"])]
        return
    test = print_body(p, loop.test, [*map(Expression, given.carry), *given.fixed], given.widened)
    if test.lines:
        lines = [*test.lines, f"if not {test.outputs[0].within(ATOM)}:", "    break", *lines]
    p.lines += ["while True:" if test.lines else f"while {test.outputs[0].text}:",
                *indented(lines)]


# -- back through a loop --------------------------------------------------------------------------


def print_pull(p: "NumpyPrinter", node: Node) -> None:
    """The way back through a loop, and first the way forward if there was none."""
    loop, pull = _split(node)
    picks = picks_of(p, node)
    n_args, n_active = len(loop.inputs), len(pull.active)
    if node in p.records:
        record, given, is_last, finals = p.records[node]
    else:
        (record, given), is_last, finals = _print_forward(p, node, loop, pull), True, {}
    pulled, inner = pull.pulled, pull.pulled.inputs
    cts = inner[n_args + loop.first:]
    owned = overwritten(pulled, [(cts[j], j) for j in range(n_active)], p.owns)
    names = []
    for j in range(n_active):
        pick = picks.get(j)
        wish = label(pick, "") if pick is not None else ""
        names.append(p.names.unique(wish or label(cts[j], "ct")))
        source = node.args[n_args + j]
        start = p.expressions[source]
        if not (loop.length and plain_will_do(pulled, cts[j])):
            start = typed(start, source, cts[j].type)
        p.lines.append(f"{names[j]} = " + (
            own_memory(p, source) if cts[j] in owned else start.text))
    seeds = [named(p, p.expressions[source], label(ct, "ct"), source) for source, ct in zip(
        node.args[n_args + n_active:], cts[n_active:n_active + len(pull.seeded)], strict=True)]
    sliced = [i for i in pull.returned if i < loop.carried + loop.sliced]
    made = []
    for j, _ in enumerate(sliced):
        pick = picks.get(n_active + j)
        made.append(p.names.unique(label(pick, "") if pick is not None and pick.origin and
                                   pick.origin.name else "ct"))
        p.lines.append(f"{made[j]} = {_empty(node.type[n_active + j])}")
    sums = []
    for j, total in enumerate(cts[n_active + len(pull.seeded):]):
        sums.append(p.names.unique(label(total, "ct")))
        p.lines.append(f"{sums[j]} = {_zero(total, loop, pulled)}")
    # The variables of the way forward serve again, unless their last values are still needed.
    carry = [p.names.unique(name) if i in finals and _is_needed(p, name) else name
             for i, name in enumerate(given.carry)]
    lines: list[str] = []
    index, slices, states, head = _way_back(p, loop, pulled, record, given._replace(carry=carry),
                                            is_last, lines, bool(made or seeds))
    rows = _take_slices(p, lines, seeds, cts[n_active:], pulled, index)
    printed = print_body(
        p, pulled, [*[Expression(index)] * loop.first, *states, *slices, *given.fixed,
                    *map(Expression, names), *rows, *map(Expression, sums)],
        [w for n, w in zip(loop.body.inputs, inner, strict=False) if n in given.widened],
        owned=[*owned, *[n for n in cts[n_active + len(pull.seeded):] if n.type.shape]],
        repeats=True)
    lines += printed.lines
    for name, value in zip(made, printed.outputs[n_active:], strict=False):
        lines.append(f"{name}[{index}] = {value.text}")
    outputs = [*printed.outputs[:n_active], *printed.outputs[n_active + len(made):]]
    assign(lines, [*names, *sums], outputs)
    p.lines += [head, *indented(lines or ["pass"])]
    for j, name in enumerate([*names, *made, *sums]):
        if j in picks:
            p.set_result(picks[j], name)


def _is_needed(p: "NumpyPrinter", name: str) -> bool:
    """Whether what is in a variable, also after it was assigned into, is read later on."""
    return any(e.text == name and p.lasts.get(n, -1) > p.position
               for n, e in p.expressions.items())


def _zero(total: Node, loop: Loop, pulled: Graph) -> str:
    """The start of a sum."""
    kind = total.type
    if kind.shape:
        return _empty(kind).replace("np.empty", "np.zeros")
    plain = loop.length and plain_will_do(pulled, total)
    return "0.0" if plain and kind.dtype.kind == "f" else f"np.{kind.dtype.name}(0.0)"


def _print_forward(p: "NumpyPrinter", node: Node, loop: Loop, pull: Pull
                   ) -> tuple[_Record | None, _Given]:
    """The way forward for the way back's sake alone."""
    p.comment(node)
    if keeps_all(loop, used(loop, pull)) and not used(loop, pull):
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
    read = [reads(pulled, n) for n in pulled.inputs[loop.first:loop.first + loop.carried]]
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
