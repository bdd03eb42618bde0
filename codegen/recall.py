"""Kernels that were printed before: what their text depends on, and how it is kept.

Lowering and printing are functions of the clusters' graphs, so their result can be kept from one
process to the next. The key says all that they read of a graph: operators, parameters, types,
numbers, and the names that values have.
"""

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..compiler.arraytype import ArrayType
from ..compiler.graph import CONSTANT, INPUT, Graph, Node, constant_key
from ..compiler.ops.table import TABLE

MOST = 1024              # bytes of a constant that stand in the key themselves
_PLAIN = (bool, int, float, complex, str, type(None), np.dtype)


class Shelf(Protocol):
    """Where texts are kept; whoever provides it sees to it that this library's code is the same."""

    def get(self, key: str) -> str | None:
        """The text that was put there, if it was."""

    def put(self, key: str, text: str) -> None:
        """Keep a text."""


class Printed(NamedTuple):
    """The C text of a module's kernels; each one's memory (bytes) and cost (additions)."""

    text: str
    scratch: dict[str, int]
    work: dict[str, int]


class _NotPlain(Exception):
    """A graph says something that has no text."""


def key_of(bodies: Iterable[Graph], *settings: str) -> str | None:
    """All that the text of kernels depends on; None if it depends on more than can be said."""
    try:
        return "\n".join([*settings, *map(_graph, bodies)])
    except _NotPlain:
        return None


def _graph(graph: Graph) -> str:
    number = {node: i for i, node in enumerate(graph.nodes)}
    lines = [graph.name]
    for node in graph.nodes:
        name = node.origin.name if node.origin else None
        args = [number[a] for a in node.args]
        lines.append(f"{_operator(node)} {args} {_said(node.params)} {_type(node.type)} {name!r}")
    lines += [str([number[n] for n in graph.inputs]), str([number[n] for n in graph.outputs])]
    return "\n".join(lines)


def _operator(node: Node) -> str:
    if node.op is INPUT:
        return "input"
    if node.op is CONSTANT:
        *kind, content = constant_key(node.value)
        if isinstance(content, bytes) and len(content) > MOST:
            content = hashlib.sha256(content).digest()
        return f"constant {kind} {content!r}"
    if TABLE.get(node.op.name) is not node.op:           # the user's own, or captured
        raise _NotPlain
    return node.op.name


@lru_cache(4096)
def _type(kind: ArrayType) -> str:
    return repr(kind)


def _said(params: Any) -> str:
    if isinstance(params, tuple):
        return f"({' '.join(map(_said, params))})"
    if not isinstance(params, _PLAIN):
        raise _NotPlain
    return repr(params)


def take(shelf: Shelf | None, key: str | None) -> Printed | None:
    """What was printed before."""
    found = None if shelf is None or key is None else shelf.get(key)
    return None if found is None else Printed(*json.loads(found))


def leave(shelf: Shelf | None, key: str | None, printed: Printed) -> None:
    """Keep what was printed."""
    if shelf is not None and key is not None:
        shelf.put(key, json.dumps(printed))
