"""Values that get loops: what they are, which loops, and what their iterations contribute to."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..compiler.graph import Node
from ..compiler.ops import indexing, layout
from ..compiler.ops.index_form import getitem_shape
from .emission import Emission, loop_name
from .evaluate import Unreachable, selection
from .kernel import Index, variable

# One assignment to a part of a value: the index, the value, index arrays, whether it adds.
Write = tuple[Any, Node, tuple[Node, ...], bool]


@dataclass(eq=False)
class Root:
    """A value with loops.

    ``kind`` is ``map`` (an element an iteration), ``reduce``, ``writes`` (a base and assignments
    to parts of it) or ``scalars`` (numbers put side by side).
    """

    node: Node
    kind: str
    shape: tuple[int, ...]                       # of the iteration space
    outputs: tuple[Index, ...] = ()              # index of what an iteration contributes to
    index: tuple[Index, ...] = ()                # of the iteration
    domain: tuple[int, ...] = ()                 # the space without axes of length one
    frame: int | None = None                     # of a reduction of rows: how many outer axes
    full: bool = False                           # a reduction to one number
    writes: list[Write] = field(default_factory=list)
    reads: list[tuple[Node, tuple[Index, ...] | None]] = field(default_factory=list)
    computed: int = 0                            # a bit for each element it is computed from

    @property
    def is_row(self) -> bool:
        """Whether this is a reduction that keeps the outer axes."""
        return self.frame is not None

    @property
    def is_column(self) -> bool:
        """Whether this is a reduction that keeps inner axes."""
        return self.kind == "reduce" and not self.is_row and not self.full


def index_of(shape: tuple[int, ...]) -> tuple[Index, ...]:
    """The index of an iteration: a loop variable an axis, none for axes of length one."""
    out, position = [], 0
    for n in shape:
        out.append(Index() if n == 1 else variable(loop_name(position)))
        position += n != 1
    return tuple(out)


def space(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that have loops."""
    return tuple(n for n in shape if n != 1)


def nested(emission: Emission, domain: tuple[int, ...], first: int, body: Any) -> None:
    """Loops over the axes of a domain from the ``first`` on."""
    if first == len(domain):
        body()
        return
    emission.loop(loop_name(first), 0, domain[first],
                  lambda: nested(emission, domain, first + 1, body))


def run_writes(emission: Emission, root: Root, store: Any) -> None:
    """Loops that fill a value and assign to its parts; ``store(index, atom, adds)`` stores."""
    node = root.node
    base = _base(node, len(root.writes))
    if base is not None:
        nested(emission, root.domain, 0,
               lambda: store(root.index, emission.value(base, root.index), False))
    for template, value, arrays, adds in root.writes:
        shape = _selected(node.type.shape, template, arrays)
        if 0 in shape:
            continue
        index = index_of(shape)

        def write(template: Any = template, value: Node = value,
                  arrays: tuple[Node, ...] = arrays, adds: bool = adds,
                  index: tuple[Index, ...] = index) -> None:
            running = selection(node, template, arrays, node.type.shape, index, emission)
            answer: Any = None
            while True:
                try:
                    wanted = next(running) if answer is None else running.send(answer)
                except StopIteration as end:
                    place = end.value
                    break
                answer = emission.value(*wanted)
            n = len(index) - len(value.type.shape)
            inner = tuple(Index() if m == 1 else i
                          for i, m in zip(index[n:], value.type.shape, strict=True))
            store(place, emission.value(value, inner), adds)
        nested(emission, space(shape), 0, write)


def _selected(shape: tuple[int, ...], template: Any, arrays: tuple[Node, ...]) -> tuple[int, ...]:
    from_index: tuple[int, ...] = getitem_shape(shape, template,
                                                         [a.type.shape for a in arrays])
    return from_index


def chain(node: Node, users: dict[Node, list[Node]]) -> list[Node]:
    """Assignments that follow one another on the same array, the last first."""
    out = [node]
    while (before := out[-1].args[0]).op in (indexing.setitem, indexing.scatter_add) and \
            len(users[before]) == 1:
        out.append(before)
    return out


def writes_of(node: Node, users: dict[Node, list[Node]]
            ) -> list[Write]:
    """The assignments that a value is put together by."""
    if node.op in (layout.stack, layout.concatenate):
        axis, start = node.params[0], 0
        out: list[Write] = []
        whole = [("s", 0, n, 1) for n in node.type.shape]
        for a in node.args:
            template: list[Any] = list(whole)
            width = a.type.shape[axis] if node.op is layout.concatenate else 1
            template[axis] = ("s", start, start + width, 1) if node.op is layout.concatenate \
                else start
            start += width
            out.append((tuple(template), a, (), False))
        return out
    if node.op not in (indexing.setitem, indexing.scatter_add):
        raise Unreachable(node)
    return [(n.params[0], n.args[1], n.args[2:], n.op is indexing.scatter_add)
            for n in reversed(chain(node, users))]


def _base(node: Node, n_writes: int) -> Node | None:
    """What assignments begin with; None if they cover everything."""
    if node.op in (layout.stack, layout.concatenate):
        return None
    for _ in range(n_writes):
        node = node.args[0]
    return node


def are_numbers(node: Node) -> bool:
    """Whether a value is numbers side by side."""
    return node.op is layout.stack and node.type.ndim == 1


def reduction(node: Node) -> Root:
    """The root of a reduction."""
    operand, (axis, keepdims) = node.args[0], node.params
    shape = operand.type.shape
    index = index_of(shape)
    kept = [p for p, i in enumerate(i for i in range(len(shape)) if shape[i] != 1)
            if i not in axis]
    outputs = tuple(Index() if a in axis else i for a, i in enumerate(index)
                    if keepdims or a not in axis)
    rows = kept == list(range(len(kept)))
    return Root(node, "reduce", shape, outputs, index, space(shape),
                len(kept) if kept and rows else None, not kept)


def shape_size(shape: tuple[int, ...]) -> int:
    """Number of elements."""
    return int(np.prod(shape, dtype=np.int64))
