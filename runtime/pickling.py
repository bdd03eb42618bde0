"""Pickling: programs travel as source, graphs as flat tables, functions by reference.

A decorated function of a module is pickled as a reference to it. Any other compiled function
ships what it has compiled; it can compile more at the other end if its function can be imported
there.
"""

import functools
import pickle
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ..compiler.errors import UnavailableFunctionError
from ..compiler.graph import CAPTURED, CONSTANT, INPUT, PICK, Graph, Guard, Node
from ..compiler.ops.row import NoDerivative, Op
from ..compiler.ops.table import TABLE
from ..compiler.trace.stage import function_name
from ..compiler.trace.tree import flatten, unflatten

_LEAVES = {op.name: op for op in (INPUT, CONSTANT, CAPTURED, PICK)}


class Unavailable:
    """Stands for a function that could not be pickled."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Refuse."""
        raise UnavailableFunctionError(
            f"{self.__name__} was pickled without its function, which cannot be imported; only "
            "the programs compiled before travelled with it, and this call needs another.",
            "Define the function at the top level of a module, or compile for these types "
            "before pickling.")


# -- structures: as an example tree, so that dataclasses are registered on arrival ----------------

def pack_spec(spec: Any) -> Any:
    """A structure in picklable form."""
    return None if spec is None else (unflatten(spec, list(range(spec.num_leaves))),)


def unpack_spec(packed: Any) -> Any:
    """Inverse of :func:`pack_spec`."""
    return None if packed is None else flatten(packed[0])[1]


# -- graphs: nested as nodes are, pickle's recursion would not reach far --------------------------

class _Body(NamedTuple):
    """A packed graph among a node's parameters."""

    packed: Any


def pack_graph(graph: Graph) -> Any:
    """A graph as a flat table."""
    index = {node: i for i, node in enumerate(graph.nodes)}
    rows = [(_op_name(node), tuple(index[a] for a in node.args), tuple(
                 _Body(pack_graph(p)) if isinstance(p, Graph) else p for p in node.params),
             node.type, node.origin, node.value) for node in graph.nodes]
    guards = [(index[g.node], g.expected, g.origin) for g in graph.guards]
    return (graph.name, [index[n] for n in graph.inputs], [index[n] for n in graph.outputs], rows,
            guards)


def unpack_graph(packed: Any) -> Graph:
    """Inverse of :func:`pack_graph`."""
    name, inputs, outputs, rows, guards = packed
    nodes: list[Node] = []
    for op, args, params, type, origin, value in rows:
        row = (_LEAVES.get(op) or TABLE[op]) if isinstance(op, str) else op
        params = tuple(unpack_graph(p.packed) if isinstance(p, _Body) else p for p in params)
        nodes.append(Node(row, tuple(nodes[i] for i in args), params, type, origin, value))
    return Graph(name, tuple(nodes[i] for i in inputs), tuple(nodes[i] for i in outputs),
                 tuple(nodes), tuple(Guard(nodes[i], e, o) for i, e, o in guards))


def _op_name(node: Node) -> Any:
    op = node.op
    if op.reference is not None:         # its rule stays behind: a program is not derived further
        return Op(op.name, op.reference, op.reference, NoDerivative("It has been compiled."),
                  reference=op.reference, fresh=False)
    return op.name if TABLE.get(op.name) is op or _LEAVES.get(op.name) is op else op


# -- compiled functions --------------------------------------------------------------------------

def reduce_compiled(compiled: Any, base: type) -> Any:
    """What ``Compiled.__reduce__`` returns."""
    if _find(compiled.__dict__.get("__module__"), compiled.__dict__.get("__qualname__")) \
            is compiled:
        return compiled.__qualname__
    function = compiled.function
    if not _is_picklable(function):
        function = Unavailable(function_name(function))
    signatures = [(_portable(key), signature) for key, signature in compiled._signatures.items()]
    return restore, (base, function, compiled.request, compiled.options, compiled.name, signatures)


def _portable(key: Any) -> Any:
    spec, leaves = key
    return pack_spec(spec), leaves


def restore(base: Callable[..., Any], function: Any, request: Any, options: Any, name: str,
            signatures: Any) -> Any:
    """Inverse of :func:`reduce_compiled`."""
    compiled = base(function, request, options)
    compiled.name = name
    for (packed, leaves), signature in signatures:
        compiled._signatures[unpack_spec(packed), leaves] = signature
        for position, program in enumerate(signature.programs):
            program.raw.__globals__["other_branch"] = functools.partial(
                compiled._other_branch, signature, position)
            compiled._latest = program
    return compiled


def _find(module: str | None, qualname: str | None) -> Any:
    found: Any = sys.modules.get(module or "")
    for part in (qualname or "").split("."):
        found = getattr(found, part, None)
    return found


def _is_picklable(function: Any) -> bool:
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


class Slot:
    """Holds an instance's bound method in its ``__dict__``; copies of the instance start anew."""

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def __reduce__(self) -> Any:
        return Slot, ()
