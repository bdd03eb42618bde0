"""Loops and branches without what nobody needs: results, operands, and constants from outside."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..graph import CONSTANT, PICK, Builder, Graph, Node, inline, keep_leaf, rebuild
from ..ops import branching, calling, looping
from ..ops.body import as_type, with_inputs, with_outputs
from ..ops.looping import LOOP, PULL, Loop, Pull

Operands = tuple[Node, ...]


def narrow(graph: Graph) -> Graph:
    """The same graph with fewer operands and results of its loops and branches."""
    if not any(node.op.bodies for node in graph.nodes):
        return graph
    taken: dict[Node, set[int]] = {}
    for node in graph.nodes:
        if node.op is PICK:
            taken.setdefault(node.args[0], set()).add(node.params[0])
    pulled = {node.args for node in graph.nodes if node.op is looping.pull_loop}
    kept: dict[Node, list[int]] = {}

    def change(builder: Builder, node: Node, args: Operands) -> Node:
        if node.op is PICK and node.args[0] in kept:
            return builder.emit(PICK, args, (kept[node.args[0]].index(node.params[0]),))
        if not node.op.bodies:
            return builder.emit(node.op, args, node.params) if args else keep_leaf(builder, node)
        wanted = sorted(taken.get(node, ()))
        if node.op is branching.cond:
            kept[node] = wanted
            return _cond(builder, node, args, wanted)
        if node.op is calling.call:
            kept[node] = sorted({*wanted, *node.settings["saved"]})
            return _call(builder, node, args, kept[node])
        if node.op is looping.loop:
            recorded = any(a[:len(node.args)] == node.args for a in pulled)
            made, kept[node] = _loop(builder, node, args, wanted, recorded)
            return made
        made, kept[node] = _pull(builder, node, args, wanted)
        return made
    return rebuild(graph, change)


def _fixed(body: Graph, values: Sequence[Node | None]) -> Graph:
    """The body with constants in place of inputs."""
    if not any(values):
        return body
    builder = Builder(body.name)
    given = [keep_leaf(builder, n) if v is None else builder.constant(as_type(v.value, n.type))
             for n, v in zip(body.inputs, values, strict=True)]
    return builder.graph(inline(builder, body, given))


def _numbers(args: Sequence[Node]) -> list[Node | None]:
    return [a if a.op is CONSTANT and a.type.shape == () else None for a in args]


def _reads(graph: Graph, node: Node) -> bool:
    return node in graph.outputs or any(node in n.args for n in graph.nodes)


def _live(graph: Graph) -> Graph:
    """The graph without what its outputs do not need."""
    needed = set(graph.outputs) | set(graph.inputs)
    for node in reversed(graph.nodes):
        if node in needed:
            needed.update(node.args)
    return Graph(graph.name, graph.inputs, graph.outputs,
                 tuple(n for n in graph.nodes if n in needed), graph.guards)


def _cond(builder: Builder, node: Node, args: Operands, wanted: Sequence[int]) -> Node:
    pred, *operands = args
    settings = node.settings
    bodies = [_live(with_outputs(_fixed(body, _numbers(operands)), wanted))
              for body in (settings["yes"], settings["no"])]
    left = [a for a, n in zip(operands, _numbers(operands), strict=True) if n is None]
    read = [any(_reads(b, b.inputs[i]) for b in bodies) for i in range(len(left))]
    yes, no = [with_inputs(b, [n for n, r in zip(b.inputs, read, strict=True) if r])
               for b in bodies]
    types = tuple([settings["types"][i] for i in wanted])
    return builder.emit(branching.cond, (pred, *[a for a, r in zip(left, read, strict=True) if r]),
                        (types, yes, no))


def _call(builder: Builder, node: Node, args: Operands, wanted: Sequence[int]) -> Node:
    settings = node.settings
    body = _live(with_outputs(settings["body"], wanted))
    read = [_reads(body, n) for n in body.inputs]
    body = with_inputs(body, [n for n, r in zip(body.inputs, read, strict=True) if r])
    types = tuple([settings["types"][i] for i in wanted])
    saved = tuple([wanted.index(i) for i in settings["saved"]])
    return builder.emit(calling.call, tuple([a for a, r in zip(args, read, strict=True) if r]),
                        (types, body, saved))


def _without_numbers(own: Loop, args: Sequence[Node]) -> tuple[Loop, list[Node], list[int]]:
    """The loop with numbers that all steps read inside of it; the other operands, and which."""
    n = own.carried + own.sliced
    values = [None if i < n else v for i, v in enumerate(_numbers(args))]
    left = [i for i, v in enumerate(values) if v is None]
    test = own.test and _fixed(own.test, [None] * own.carried + values[n:])
    new = replace(own, body=_fixed(own.body, [None] * own.first + values), test=test)
    return new, [args[i] for i in left], left


def _loop(builder: Builder, node: Node, args: Operands, wanted: Sequence[int], recorded: bool
          ) -> tuple[Node, list[int]]:
    own, operands, _ = _without_numbers(Loop(**node.settings), args)
    n, k = own.carried, own.carried + own.sliced
    carry = list(range(n)) if recorded else _needed(own, wanted)
    results = [*carry, *[i for i in wanted if i >= n]]
    body = _live(with_outputs(own.body, results))
    test = own.test
    read = [i in carry if i < n else recorded or _reads(body, body.inputs[own.first + i]) or (
        test is not None and _reads(test, test.inputs[i])) for i in range(len(operands))]
    kept = [i for i, r in enumerate(read) if r]
    new = replace(
        own, carried=len(carry), sliced=sum(n <= i < k for i in kept),
        body=with_inputs(body, [*body.inputs[:own.first],
                                *[body.inputs[own.first + i] for i in kept]]),
        test=test and with_inputs(test, [test.inputs[i] for i in kept]))
    return builder.emit(looping.loop, tuple([operands[i] for i in kept]),
                        tuple(new.params.values())), results


def _needed(own: Loop, wanted: Sequence[int]) -> list[int]:
    """Which of the carry have a part in the wanted results or in the test."""
    inputs = own.inputs[:own.carried]
    found = {i for i in wanted if i < own.carried}
    if own.test is not None:
        found |= {i for i in range(own.carried) if _reads(own.test, own.test.inputs[i])}
    slices = [i for i in wanted if i >= own.carried]
    while True:
        part = _live(with_outputs(own.body, [*sorted(found), *slices]))
        more = found | {i for i, n in enumerate(inputs) if _reads(part, n)}
        if more == found:
            return sorted(found)
        found = more


def _pull(builder: Builder, node: Node, args: Operands, wanted: Sequence[int]
          ) -> tuple[Node, list[int]]:
    settings: dict[str, Any] = node.settings
    own = Loop(**{name: settings[name] for name in LOOP})
    pull = Pull(**{name: settings[name] for name in PULL})
    count = len(own.inputs)
    k, active = own.carried + own.sliced, len(pull.active)
    new, operands, left = _without_numbers(own, args[:count])
    gone = [None if i in left else args[i] for i in range(count)]
    pulled = _fixed(pull.pulled, [None] * own.first + gone + [None] * (
        len(pull.pulled.inputs) - own.first - count))
    # Sums and slices that nobody takes; the active carry may feed one another.
    results = [j for j in range(active + len(pull.returned)) if j < active or j in wanted]
    dropped = [j for j in range(active + len(pull.returned)) if j not in results]
    sums = pulled.inputs[own.first + len(left) + active + len(pull.seeded):]
    first_sum = active + sum(i < k for i in pull.returned)
    out = {total for j, total in enumerate(sums) if first_sum + j in dropped}
    pulled = _live(with_outputs(pulled, results))
    pulled = with_inputs(pulled, [x for x in pulled.inputs if x not in out])
    place = {old: i for i, old in enumerate(left)}
    returned = tuple([place[i] for j, i in enumerate(pull.returned) if active + j in results])
    new_pull = replace(pull, pulled=pulled, returned=returned)
    return builder.emit(looping.pull_loop, (*operands, *args[count:]), (
        *new.params.values(), *new_pull.params.values())), results
