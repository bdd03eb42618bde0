"""Operators that hold graphs, as statements."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..compiler.graph import Node
from ..compiler.ops import branching, calling, looping
from ..compiler.ops.looping import LOOP, Loop
from .branch_source import print_call, print_cond
from .loop_source import print_loop, print_pull

if TYPE_CHECKING:
    from .numpy_source import NumpyPrinter


def print_structured(p: "NumpyPrinter", node: Node) -> None:
    """Print one application of a structured operator."""
    if node.op is branching.cond:
        print_cond(p, node)
    elif node.op is calling.call:
        print_call(p, node)
    elif node.op is looping.loop:
        print_loop(p, node)
    else:
        print_pull(p, node)


def owns_result(node: Node, index: int, owns: Callable[[Node], bool]) -> bool:
    """Whether a result is certainly memory of its own."""
    if node.op is branching.cond:
        return all(owns(body.outputs[index]) for body in node.bodies)
    settings = node.settings
    loop = Loop(**{name: settings[name] for name in LOOP})
    body, n_carried = (loop.body, loop.carried) if node.op is looping.loop else (
        settings["pulled"], len(settings["active"]))
    return index >= n_carried or (bool(loop.length) and owns(body.outputs[index]))
