"""NumPy source that computes large arrays in the memory of those nobody reads any more.

A name may be overwritten only when all that reads it has been *evaluated*. An expression that is
written where it is used is evaluated there; if it reads what is about to be overwritten, it gets a
name first.
"""

from ..compiler.graph import Graph, Node
from .buffers import LARGE, augmented_symbol, can_call, elides, is_large, plan
from .expression import UNARY, Expression
from .numpy_source import WIDTH, NumpyPrinter
from .overwrites import array_inputs, check_overwrites
from .source import Event, Source

CHECK_EVERY_REUSE = False      # switched on by the test-suite
NOTHING = frozenset[Node]()


class ReusingPrinter(NumpyPrinter):
    """Prints one graph with its large arrays computed in place; see :func:`array_source`."""

    def __init__(self, graph: Graph, annotate: bool, threshold: int = LARGE,
                 around: NumpyPrinter | None = None) -> None:
        super().__init__(graph, annotate, around=around, apart=around is not None)
        self.frees = False                               # it gives up what is dead by its plan
        self.plan = plan(graph, self.uses, threshold)
        self.takers = {n.args[i]: n for n, i in self.plan.into.items()}
        self.reads: dict[Node, frozenset[Node]] = {}     # memory that a value's text reads
        self.waiting: set[Node] = set()                  # expressions that are yet to be evaluated
        self.readers: dict[Node, list[Node]] = {}        # those that read some memory
        self.consumed: set[Node] = set()                 # those within the node that is printed
        self.current: frozenset[Node] = NOTHING          # memory that this one reads
        self.holders: dict[Node, list[str]] = {}         # names that keep memory alive
        self.condemned: list[Node] = []                  # memory to be given up
        self.given_up: set[str] = set()                  # names

    # -- accounts -----------------------------------------------------------------------------

    def visit(self, node: Node, position: int) -> None:
        """Print one node; keep account of what unevaluated expressions read."""
        self.condemned += self.plan.released.get(node, ())
        self.current = NOTHING.union(*[self.reads.get(a, NOTHING) for a in node.args])
        self.consumed = {a for a in node.args if a in self.waiting}
        self.waiting -= self.consumed
        super().visit(node, position)
        if node not in self.inlined:
            self._bind(node)
            return
        self.reads[node] = self.current
        if self.uses.get(node, 0) == 1:
            self.waiting.add(node)
            for memory in self.current:
                self.readers.setdefault(memory, []).append(node)

    def _bind(self, node: Node) -> None:
        """A value has a name now."""
        self.reads[node] = self.plan.roots[node]
        name = self.expressions[node].text if node in self.expressions else ""
        if node.args and name.isidentifier():
            for memory in self.reads[node]:
                names = self.holders.setdefault(memory, [])
                if name not in names:
                    names.append(name)

    def _readers(self, memory: Node) -> list[Node]:
        """Expressions yet to be evaluated that read some memory."""
        return [node for node in self.readers.get(memory, ()) if node in self.waiting]

    def _evaluate_readers(self, memory: Node) -> None:
        """Give names to the expressions that read what will be overwritten."""
        for node in self._readers(memory):
            self.waiting.remove(node)
            self.inlined.remove(node)
            super().assign(node, self.expressions[node])
            self._bind(node)

    def _release(self) -> None:
        """``del`` what is dead, so that its memory is free for what comes next."""
        if not self.condemned:
            return
        kept = [m for m in self.condemned if m in self.current or self._readers(m)]
        names = list(dict.fromkeys(name for m in self.condemned if m not in kept
                                   for name in self.holders.pop(m, ())))
        names = [name for name in names if name not in self.given_up]
        self.given_up.update(names)
        self.condemned = kept
        self.trail += [Event(None, name) for name in names]
        for name in names:
            longer = f"{self.lines[-1]}, {name}" if name is not names[0] else ""
            if longer and len(longer) <= WIDTH:
                self.lines[-1] = longer
            else:
                self.lines.append(f"del {name}")

    # -- statements -----------------------------------------------------------------------------

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

    def store(self, node: Node, position: int) -> None:
        """``setitem`` and ``scatter_add``: what reads the old elements is evaluated first."""
        self.flush()
        base = node.args[0]
        if node in self.plan.stores and base in self.owner and base in self.holders:
            self._evaluate_readers(base)
            self.lasts[base] = position
        self._release()
        super().store(node, position)

    def unpack(self, node: Node) -> None:
        """A function with several results."""
        self.flush()
        self._release()
        super().unpack(node)

    def assign(self, node: Node, expression: Expression) -> None:
        """``name = expression``, or the same in the memory of an operand."""
        i = self.plan.into.get(node)
        self.flush()
        if i is None or node.args[i] in self.inlined:
            self._release()
            super().assign(node, expression)
            return
        taken = node.args[i]
        self._evaluate_readers(taken)
        self._release()
        name = self.expressions[taken].text
        symbol, wish = augmented_symbol(node, i), _users_name(node)
        self.comment(node)
        if wish and wish != _without_number(name) and can_call(node):
            self.lines.append(f"{self.names.unique(wish)} = {self._call(node, name)}")
            name = self.lines[-1].split(" = ")[0]
        else:
            self.lines.append(self._augmented(node, i, symbol) if symbol else
                              self._call(node, name))
        self.trail.append(Event(node, name, self.expressions[taken].text))
        self.expressions[node] = Expression(name)
        self.owner[node] = name
        self.holders[node] = self.holders.pop(taken, [])

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


class CallingPrinter(NumpyPrinter):
    """Prints a graph with loops, branches and calls; functions without them compute in place."""

    threshold = LARGE

    def apart(self, graph: Graph) -> NumpyPrinter:
        """What prints a function of the module of its own."""
        if any(node.op.bodies for node in graph.nodes) or \
                not any(is_large(node, self.threshold) for node in graph.nodes):
            return super().apart(graph)
        if CHECK_EVERY_REUSE:
            array_source(graph, self.annotate, threshold=self.threshold)
        return ReusingPrinter(graph, self.annotate, self.threshold, around=self)


def _users_name(node: Node) -> str:
    return node.origin.name if node.origin and node.origin.name and node.args else ""


def _without_number(name: str) -> str:
    """A name without what made it unique."""
    head, _, tail = name.rpartition("_")
    return head if head and tail.isdigit() else name


def array_source(graph: Graph, annotate: bool = True, reuse: bool | str = "auto",
                 threshold: int = LARGE) -> Source:
    """NumPy source of a lowered graph.

    Args:
        graph: after the whole pipeline.
        annotate: whether to put the user's lines above the statements that come from them.
        reuse: whether large arrays are computed in the memory of dead ones: ``"auto"``; True:
            all arrays, however small; False: none. Loops and branches give up what is dead, but
            overwrite nothing; functions of checkpoints compute in place.
        threshold: size in bytes from which on an array is large.
    """
    printer = array_printer(graph, annotate, reuse, threshold)
    source = printer.run()
    if CHECK_EVERY_REUSE and isinstance(printer, ReusingPrinter):
        check_overwrites(NumpyPrinter(graph, annotate).run(), source, array_inputs(graph))
    return source


def array_printer(graph: Graph, annotate: bool = True, reuse: bool | str = "auto",
                  threshold: int = LARGE) -> NumpyPrinter:
    """What prints such a source; see :func:`array_source`."""
    threshold = 0 if reuse is True else threshold
    if reuse and any(node.op.bodies for node in graph.nodes):
        calling = CallingPrinter(graph, annotate)
        calling.threshold = threshold
        return calling
    if not reuse or not any(is_large(node, threshold) for node in graph.nodes):
        return NumpyPrinter(graph, annotate)
    return ReusingPrinter(graph, annotate, threshold)
