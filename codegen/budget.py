"""Programs within a budget of memory: planned, ordered, printed, and predicted."""

from typing import NamedTuple

from ..compiler.arraytype import ArrayType
from ..compiler.cost import flops, nbytes, total_flops, workspace
from ..compiler.errors import BudgetError, Origin
from ..compiler.graph import CAPTURED, CONSTANT, INPUT, PICK, Graph, Node
from ..compiler.ops import layout
from ..compiler.passes.checkpoint import Plan, Step, Task, least, plan
from . import reuse
from .buffers import LARGE, augmented_symbol, can_call, is_ufunc, layouts, may_take, owns
from .expression import Expression
from .footprint import must_copy, peak_of
from .loop_budget import UNKNOWN, Attempt, fit_loops
from .numpy_source import NumpyPrinter
from .overwrites import array_inputs, check_overwrites
from .reuse import ReusingPrinter, array_printer
from .source import Source

_ATTEMPTS = 6            # plans with a lower target, where the printed program needs more
_LEAVES = (INPUT, CONSTANT, CAPTURED)


class Memory(NamedTuple):
    """What a plan costs and saves.

    Attributes:
        budget: bytes that were allowed.
        peak: bytes in use at most, as predicted; results included, arguments not.
        plain_peak: the same of the program without a budget.
        recomputed: how many applications are computed again; of a loop, how many steps.
        extra_work: arithmetic of those, as a share of that of the plain program.
        exact: whether no other choice of kept values needs less work.
    """

    budget: int
    peak: int
    plain_peak: int
    recomputed: int
    extra_work: float
    exact: bool

    def __str__(self) -> str:
        return (f"memory: {mebibytes(self.peak)} of {mebibytes(self.budget)}, predicted; "
                f"{mebibytes(self.plain_peak)} without a budget\n"
                f"{self.recomputed} applications are computed again, "
                f"{100 * self.extra_work:.0f} % more arithmetic"
                f"{'; no choice of kept values needs less' if self.exact else ''}")


def mebibytes(n: float) -> str:
    """A number of bytes, to read."""
    return f"{n / 2 ** 20:.3g} MiB"


class InOrder(ReusingPrinter):
    """Prints one graph with each value computed at its place in the order.

    An expression is written inside of another one only where nothing is computed in between, so
    that memory is in use exactly as long as was planned.
    """

    def __init__(self, graph: Graph, annotate: bool, threshold: int) -> None:
        super().__init__(graph, annotate, threshold)
        self.near = _adjacent(graph, self.uses)

    def _keep_inline(self, node: Node, expression: Expression) -> bool:
        if not super()._keep_inline(node, expression):
            return False
        return node in self.near or not self.current or node.op in _LEAVES or \
            self._is_trivial(node, expression)

    def _might_inline(self, node: Node) -> bool:
        return node in self.near and super()._might_inline(node)


def _adjacent(graph: Graph, uses: dict[Node, int]) -> set[Node]:
    """Values read once, by an expression that is computed right after them."""
    order = [n for n in graph.nodes if n.op not in _LEAVES]
    where = {n: i for i, n in enumerate(order)}
    start: dict[Node, int] = {}
    near: set[Node] = set()
    for i, node in enumerate(order):
        first = i
        for a in sorted((a for a in node.args if a in where), key=lambda a: -where[a]):
            if where[a] == first - 1 and uses.get(a, 0) == 1:
                near.add(a)
                first = start[a]
        start[node] = first
    return near


def within_budget(graph: Graph, memory: int | float, annotate: bool = True,
                  where: Origin | None = None) -> tuple[Source, Graph, Memory]:
    """Source of a lowered graph that takes no more memory than allowed.

    Args:
        graph: after the whole pipeline.
        memory: bytes, or a fraction of the predicted peak of the program that keeps everything.
        annotate: whether to put the user's lines above the statements that come from them.
        where: the user's function.

    Raises:
        BudgetError: if no plan fits, naming the least memory that one needs.
    """
    if any(node.op.bodies for node in graph.nodes):
        return _with_loops(graph, memory, annotate, where)
    printer = array_printer(graph, annotate)
    source = printer.run()
    plain = peak_of(printer)
    budget = int(memory * plain) if isinstance(memory, float) else memory
    if plain <= budget:
        return source, graph, Memory(budget, plain, plain, 0, 0.0, True)
    task = _task(graph)
    threshold = max(1, min(plain // 5000, LARGE))

    def printed(chosen: Plan) -> tuple[Source, Graph, Memory]:
        planned = _ordered(graph, chosen)
        in_order = InOrder(planned, annotate, threshold)
        source = in_order.run()
        if reuse.CHECK_EVERY_REUSE:
            check_overwrites(NumpyPrinter(planned, annotate).run(), source,
                             array_inputs(planned))
        return source, planned, Memory(
            budget, peak_of(in_order), plain, len(chosen.order) - len(set(chosen.order)),
            chosen.work / max(total_flops(graph), 1.0), chosen.exact)

    target = budget
    for _ in range(_ATTEMPTS):
        chosen = plan(task, target)
        if chosen.peak > target:
            break
        found = printed(chosen if target == budget else chosen._replace(exact=False))
        excess = found[2].peak - budget
        if excess <= 0:
            return found
        target = min(target, chosen.peak) - excess
    found = printed(least(task)._replace(exact=False))
    if found[2].peak <= budget:
        return found
    raise _infeasible(graph, budget, found[2].peak, where)


def _with_loops(graph: Graph, memory: int | float, annotate: bool, where: Origin | None
                ) -> tuple[Source, Graph, Memory]:
    """The same of a program with loops or branches: loops keep as many states as fit."""
    plain = Attempt(graph, None, annotate)
    budget = int(memory * plain.peak) if isinstance(memory, float) else memory
    found = plain if plain.peak <= budget else fit_loops(graph, budget, annotate)
    if found.peak > budget:
        raise _infeasible(graph, budget, min(found.peak, plain.peak), where)
    steps, work = found.repeated()
    return found.source, found.graph, Memory(
        budget, found.peak, plain.peak, steps, work / max(total_flops(graph, UNKNOWN), 1.0), False)


def _infeasible(graph: Graph, budget: int, needed: int, where: Origin | None) -> BudgetError:
    return BudgetError(f"No plan fits into {mebibytes(budget)}: the least that {graph.name} needs "
                       f"is {mebibytes(needed)} ({needed} bytes).",
                       f"Allow memory={needed}, or make arrays smaller where the function is "
                       "widest.", where)


def _task(graph: Graph) -> Task:
    """The graph as the planner sees it."""
    where = {node: i for i, node in enumerate(graph.nodes)}
    order = layouts(graph)
    steps = []
    for node in graph.nodes:
        filled = sum(nbytes(a.type) for a in node.args if _is_filled(a))
        fixed = node.op in _LEAVES or node.op is PICK or bool(node.op.bodies) or \
            node.op.reference is not None or not isinstance(node.type, ArrayType)
        owned = owns(node) and node.op not in _LEAVES and node.op is not PICK
        steps.append(Step(
            tuple([where[a] for a in node.args]),
            nbytes(node.type) if (owned and _is_array(node)) or must_copy(node) else 0, flops(node),
            not owned and bool(node.args),
            tuple([i for i, a in enumerate(node.args)
                   if is_ufunc(node) and _is_array(node) and may_take(a, node)
                   and order[a] == order[node]
                   and (augmented_symbol(node, i) or can_call(node))]),
            workspace(node) + filled, fixed))
    return Task(steps, frozenset(where[n] for n in graph.outputs))


def _is_array(node: Node) -> bool:
    return not isinstance(node.type, ArrayType) or node.type.ndim > 0


def _is_filled(node: Node) -> bool:
    return node.op is layout.broadcast_to and node.args[0].type.shape == ()


def _ordered(graph: Graph, chosen: Plan) -> Graph:
    """The graph in the order of a plan; what is computed again is a node of its own."""
    now: dict[Node, Node] = {}
    nodes: list[Node] = []
    for position in chosen.order:
        node = graph.nodes[position]
        args = tuple([now[a] for a in node.args])
        made = node
        if node in now or args != node.args:
            made = Node(node.op, args, node.params, node.type, node.origin, node.value)
        now[node] = made
        nodes.append(made)
    first = {n: n for n in graph.nodes}
    outputs = tuple([now[n] for n in graph.outputs])
    placed = set(nodes)
    guards = tuple([g if g.node in placed else g.__class__(now[first[g.node]], g.expected, g.origin)
                    for g in graph.guards])
    return Graph(graph.name, graph.inputs, outputs, tuple(nodes), guards)


__all__ = ["InOrder", "Memory", "mebibytes", "within_budget"]
