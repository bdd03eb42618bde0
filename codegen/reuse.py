"""NumPy source that computes large arrays in the memory of those nobody reads any more.

A name may be overwritten only when all that reads it has been *evaluated*. An expression that is
written where it is used is evaluated there; if it reads what is about to be overwritten, it gets a
name first.
"""

from collections.abc import Iterable

from ..compiler.graph import Graph, Node
from .buffers import LARGE, augmented_symbol, can_call, elides, is_large, owns, plan
from .expression import UNARY, Expression
from .numpy_source import NumpyPrinter
from .overwrites import check_overwrites
from .source import Source

CHECK_EVERY_REUSE = False      # switched on by the test-suite


class ReusingPrinter(NumpyPrinter):
    """Prints one graph with its large arrays computed in place; see :func:`array_source`."""

    def __init__(self, graph: Graph, annotate: bool, threshold: int = LARGE,
                 taken: Iterable[str] = ()) -> None:
        super().__init__(graph, annotate, taken)
        self.plan = plan(graph, self.uses, threshold)
        self.takers = {n.args[i]: n for n, i in self.plan.into.items()}
        self.roots: dict[Node, frozenset[Node]] = {}     # whose memory a value or its text reads
        self.waiting: dict[Node, frozenset[Node]] = {}   # expressions that are yet to be evaluated
        self.reads: frozenset[Node] = frozenset()        # by the node that is being printed
        self.consumed: set[Node] = set()                 # expressions that are part of its own
        self.bound: dict[str, frozenset[Node]] = {}      # whose memory a name keeps alive
        self.condemned: list[Node] = []                  # values to be given up

    def visit(self, node: Node, position: int) -> None:
        """Print one node; keep account of what unevaluated expressions read."""
        self.condemned += self.plan.released.get(node, ())
        self.reads = frozenset[Node]().union(*[self.roots.get(a, ()) for a in node.args])
        self.consumed = {a for a in node.args if a in self.waiting}
        for a in self.consumed:
            del self.waiting[a]
        super().visit(node, position)
        if node in self.inlined:
            self.roots[node] = self.reads
            if self.uses.get(node, 0) == 1:
                self.waiting[node] = self.reads
        else:
            self._bind(node, self.reads)

    def _bind(self, node: Node, reads: frozenset[Node]) -> None:
        """A value has a name now."""
        self.roots[node] = frozenset((node,)) if owns(node) or not node.args else reads
        name = self.expressions[node].text if node in self.expressions else ""
        if node.args and name.isidentifier():
            self.bound[name] = self.roots[node]

    def _keep_inline(self, node: Node, expression: Expression) -> bool:
        i = self.plan.into.get(node)
        if i is not None and not (node.args[i] in self.consumed and elides(node, i)):
            return False
        taker = self.takers.get(node)
        if taker is not None and not elides(taker, self.plan.into[taker]):
            return False
        return super()._keep_inline(node, expression)

    def name(self, node: Node) -> str:
        """A value that will be replaced by one of the user's variables has that one's name."""
        named = node
        while named in self.takers and not _users_name(named):
            named = self.takers[named]
        wish = _users_name(named)
        return self.names.unique(wish) if wish else super().name(node)

    def assign(self, node: Node, expression: Expression) -> None:
        """``name = expression``, or the same in the memory of an operand."""
        i = self.plan.into.get(node)
        self.flush()
        if i is None or node.args[i] in self.inlined:
            self._release()
            super().assign(node, expression)
            return
        a = node.args[i]
        self._evaluate_readers(a)
        self._release()
        old = self.expressions[a].text
        wish = _users_name(node)
        symbol = augmented_symbol(node, i)
        if wish and wish != _base(old) and can_call(node):
            new = self.names.unique(wish)
            self.comment(node)
            self.lines.append(f"{new} = {self._call(node, old)}")
        else:
            new = old
            self.comment(node)
            self.lines.append(self._augmented(node, i, symbol) if symbol else
                              self._call(node, old))
        self.expressions[node] = Expression(new)
        self.owner[node] = new
        for name, roots in self.bound.items():
            if a in roots:
                self.bound[name] = roots - {a} | {node}

    def store(self, node: Node, position: int) -> None:
        """``setitem`` and ``scatter_add``."""
        self.flush()
        self._release()
        super().store(node, position)

    def unpack(self, node: Node) -> None:
        """A function with several results."""
        self.flush()
        self._release()
        super().unpack(node)

    def _augmented(self, node: Node, i: int, symbol: str) -> str:
        """``a *= b``."""
        name = self.expressions[node.args[i]].text
        other = self.operand(node, 1 - i)
        if symbol in "+-" and other.precedence == UNARY and other.text.startswith("-"):
            symbol, other = "-" if symbol == "+" else "+", Expression(other.text[1:])
        return f"{name} {symbol}= {other.text}"

    def _call(self, node: Node, out: str) -> str:
        """``np.f(a, b, out=a)``."""
        args = [self.operand(node, i).text for i in range(len(node.args))]
        return f"{node.op.python}({', '.join(args)}, out={out})"

    def _evaluate_readers(self, overwritten: Node) -> None:
        """Give names to the expressions that read what will be overwritten."""
        for node, reads in list(self.waiting.items()):
            if overwritten in reads:
                del self.waiting[node]
                self.inlined.discard(node)
                super().assign(node, self.expressions[node])
                self._bind(node, reads)

    def _release(self) -> None:
        """``del`` what is dead, so that its memory is free for what comes next."""
        unread = self.reads.union(*self.waiting.values())
        dead = frozenset(node for node in self.condemned if node not in unread)
        self.condemned = [node for node in self.condemned if node in unread]
        names = [name for name, roots in self.bound.items() if roots and roots <= dead]
        self.lines += [f"del {', '.join(names[i:i + 8])}" for i in range(0, len(names), 8)]
        for name in names:
            del self.bound[name]


def _users_name(node: Node) -> str:
    return node.origin.name if node.origin and node.origin.name and node.args else ""


def _base(name: str) -> str:
    """A name without the number that made it unique."""
    head, _, tail = name.rpartition("_")
    return head if head and tail.isdigit() else name


def array_source(graph: Graph, annotate: bool = True, reuse: bool | str = "auto",
                 threshold: int = LARGE) -> Source:
    """NumPy source of a lowered graph.

    Args:
        graph: after the whole pipeline.
        annotate: whether to put the user's lines above the statements that come from them.
        reuse: whether large arrays are computed in the memory of dead ones; ``"auto"``: where
            there are any.
        threshold: size in bytes from which on an array is large.
    """
    plain = NumpyPrinter(graph, annotate)
    if not reuse or not any(is_large(node, threshold) for node in graph.nodes):
        return plain.run()
    source = ReusingPrinter(graph, annotate, threshold).run()
    if CHECK_EVERY_REUSE:
        check_overwrites(plain.run(), source)
    return source
