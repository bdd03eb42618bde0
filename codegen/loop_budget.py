"""Programs with loops within a budget of memory: how many states their loops keep.

The states that a loop keeps for the way back are what grows with the number of its steps; fewer of
them mean that more steps are computed again. One number serves all loops that have none of their
own, the largest with which the printed program fits. Straight-line code around them is as it is
without a budget.
"""

from collections.abc import Iterator
from dataclasses import replace

from ..compiler.cost import total_flops
from ..compiler.graph import Builder, Graph, Node, rebuild
from ..compiler.ops import looping
from .footprint import peak_of
from .kept import held, keeps_all, schedule, used
from .loop_source import loop_of, pull_of
from .reuse import array_printer
from .source import Source

UNKNOWN = 2_000          # steps that are planned for where their number is not known
_MOST = 100_000          # states; a longer loop never keeps more


class Attempt:
    """The program with a number of states for each loop; printed."""

    def __init__(self, graph: Graph, states: int | None, annotate: bool) -> None:
        self.graph = graph if states is None else _with_states(graph, states)
        printer = array_printer(self.graph, annotate)
        self.source: Source = printer.run()
        self.peak = peak_of(printer, UNKNOWN)

    def repeated(self) -> tuple[int, float]:
        """Steps that are computed again, and their arithmetic."""
        steps, work = 0, 0.0
        for node in _loops(self.graph):
            loop = loop_of(node)
            if node.op is looping.pull_loop and not keeps_all(loop, used(loop, pull_of(node))):
                n = held(schedule(loop), loop.length or UNKNOWN).repeated
                steps, work = steps + n, work + n * total_flops(loop.body)
        return steps, work


def fit_loops(graph: Graph, budget: int, annotate: bool) -> Attempt:
    """The program that keeps the most states within the budget, or else the fewest.

    Peak memory grows with the number of states, so the number is found by bisection.
    """
    low, high = 1, _most_states(graph)
    best = Attempt(graph, low, annotate)
    if best.peak > budget:
        return best
    while low < high:
        middle = (low + high + 1) // 2
        found = Attempt(graph, middle, annotate)
        if found.peak <= budget:
            low, best = middle, found
        else:
            high = middle - 1
    return best


def _loops(graph: Graph) -> Iterator[Node]:
    """Loops, and the ways back through them."""
    return (node for node in graph.nodes if node.op in (looping.loop, looping.pull_loop))


def _is_free(node: Node) -> bool:
    """Whether the number of states may be chosen."""
    loop = loop_of(node)
    return loop.snapshots is None and loop.on_disk is None


def _most_states(graph: Graph) -> int:
    lengths = [loop_of(node).length or UNKNOWN for node in _loops(graph) if _is_free(node)]
    return min(max(lengths, default=1), _MOST)


def _with_states(graph: Graph, states: int) -> Graph:
    chosen = {node for node in _loops(graph) if _is_free(node)}

    def change(builder: Builder, node: Node, args: tuple[Node, ...]) -> Node:
        if node not in chosen:
            return builder.again(node, args)
        loop = replace(loop_of(node), snapshots=min(states, loop_of(node).length or states))
        settings = node.settings | loop.params
        return builder.emit(node.op, args, tuple(settings[name] for name in node.op.params))
    return rebuild(graph, change)
