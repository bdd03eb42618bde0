"""From a graph to NumPy source: one statement a meaningful node, the user's names and lines."""

import linecache
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..compiler.arraytype import ArrayType
from ..compiler.graph import CAPTURED, CONSTANT, INPUT, PICK, Graph, Guard, Node
from ..compiler.ops import calling, indexing, layout
from ..compiler.ops.index_form import index_text
from ..compiler.ops.row import Op
from .branch_source import freed, is_large
from .buffers import owns
from .expression import ATOM, COMPARISON, UNARY, Expression, bare, infix, number, prefix
from .factors import Factors, with_factor
from .literals import array_text
from .loop_source import mates
from .names import Names, identifier
from .plain_numbers import promotes, same_when_weak, to_widen
from .source import Event, Function, Source
from .structured_source import print_structured
from .template import render
from .wrap import WIDTH as PAGE
from .wrap import wrap

WIDTH = 88               # longest expression that is written in one line

# Functions of ``math`` that the scalar lane calls by their bare names.
MATH_NAMES = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos", "cosh",
    "degrees", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "fmod", "hypot", "isfinite",
    "isinf", "isnan", "log", "log10", "log1p", "log2", "pow", "radians", "sin", "sinh", "sqrt",
    "tan", "tanh")
SCIPY_MODULES = ("fft", "integrate", "interpolate", "linalg", "signal", "sparse",
                 "special")


class NumpyPrinter:
    """Prints one graph; see :func:`numpy_source`."""

    def __init__(self, graph: Graph, annotate: bool, taken: Iterable[str] = (),
                 around: "NumpyPrinter | None" = None, apart: bool = False) -> None:
        """Args as of :func:`numpy_source`, and for a body the printer around it.

        A body that is printed ``apart``, as a function of the module, has names of its own.
        """
        self.graph = graph
        self.annotate = annotate
        self.around = around
        self.globals: set[str] = around.globals if around else set(taken)
        self.names: Names = around.names if around and not apart else Names(self.globals)
        self.functions: dict[Any, Function] = around.functions if around else {}
        self.printers: dict[Any, NumpyPrinter] = around.printers if around else {}
        self.frees: bool = apart or (around.frees if around else any(
            node.op is calling.call for node in graph.nodes))
        self.handed = {a for node in graph.nodes if self.frees and node.op.bodies
                       for a in node.args if is_large(a)}      # to functions, which outlive them
        self.expressions: dict[Node, Expression] = {}
        self.lines: list[str] = []
        self.constants: list[str] = around.constants if around else []
        self.data: dict[str, Any] = around.data if around else {}
        self.captured: dict[str, Any] = around.captured if around else {}
        self.references: dict[Any, str] = around.references if around else {}
        self.helpers: dict[str, tuple[str, str]] = around.helpers if around else {}
        self.records: dict[Node, Any] = {}      # what loops keep for their pulling back
        self.printed: dict[Node, list[NumpyPrinter]] = {}       # bodies, by the node that has them
        self.structured: Node | None = None     # the one that is being printed
        self.repeats = False                    # a body of a loop, whose variables stay
        self.position = 0
        self.trail: list[Event] = []            # what the statements do, in their order
        self.uses = _count_uses(graph)
        self.factors = Factors(graph)
        self.picks: dict[Node, dict[int, Node]] = {}        # of operators with several results
        for node in graph.nodes:
            if node.op is PICK:
                self.picks.setdefault(node.args[0], {})[node.params[0]] = node
        self.mates = mates(graph)               # a way back through a loop: the way forward
        for loop in self.mates.values():
            for a in loop.args:
                self.uses[a] -= 1
        self.owner: dict[Node, str] = {}        # variables whose memory is this function's own
        self.last_origin: Any = None
        self.widened: set[Node] = set()
        self.inlined: set[Node] = set()
        self.lasts: dict[Node, int] = {}
        self.guards: dict[Node, list[Guard]] = {}
        self.pending: list[tuple[Expression, bool]] = []
        self.pending_from: Node | None = None
        for guard in graph.guards:
            self.guards.setdefault(guard.node, []).append(guard)

    def apart(self, graph: Graph) -> "NumpyPrinter":
        """What prints a function of the module of its own."""
        return type(self)(graph, self.annotate, around=self, apart=True)

    # -- names and literals -----------------------------------------------------------------

    def global_name(self, wish: str) -> str:
        """A name of the module, which no function that is being printed uses otherwise."""
        scopes = [self]
        while scopes[-1].around is not None:
            scopes.append(scopes[-1].around)
        name = self.names.unique(wish)
        while name in self.globals or any(s.names is not self.names and name in s.names
                                          for s in scopes):
            name = self.names.unique(wish)
        self.globals.add(name)
        for scope in scopes:
            scope.names.take(name)
        return name

    def constant(self, node: Node) -> Expression:
        """A constant: a number in place, an array under a name."""
        value = node.value
        if node.op is CONSTANT and np.ndim(value) == 0:
            return number(value)
        name = self.global_name("table" if node.op is CONSTANT else "data")
        spelled = array_text(np.asarray(value))
        if spelled is None:
            self.constants.append(f"# {name}: {value.dtype} array of shape {value.shape}, "
                                  "stored beside this source")
            self.data[name] = value
        else:
            self.constants.append(f"{name} = {spelled}")
        if node.op is CAPTURED:
            self.captured[name] = value
        return Expression(name)

    def operand(self, user: Node, position: int) -> Expression:
        """An operand as it appears in the user's expression."""
        arg = user.args[position]
        expression = self.expressions[arg]
        if arg.op is CONSTANT and arg.type.shape == () and not arg.type.weak:
            if not same_when_weak(user, position):
                return Expression(f"np.{arg.type.dtype.name}({expression.text})")
        elif arg in self.widened and promotes(user, position):
            return Expression(f"float({expression.text})")
        return expression

    # -- expressions --------------------------------------------------------------------------

    def express(self, node: Node) -> Expression:
        """The application as an expression of its operands' expressions."""
        op = node.op
        args = [self.operand(node, i) for i in range(len(node.args))]
        if op is layout.broadcast_to:
            filled = self._filled(node, args[0])
            if filled is not None:
                return filled
        if op is layout.stack and node.params == (0,):
            rows = [_row_text(a.text) for a in args]
            if all(row is not None for row in rows):
                return Expression(f"np.array([{', '.join(row for row in rows if row)}])")
        if op.reference is not None:
            return Expression(f"{self.reference(op)}({', '.join(a.text for a in args)})")
        if op.infix is not None:
            if len(args) == 1:
                return prefix(op.infix.symbol, args[0])
            return infix(op.infix.symbol, op.infix.precedence, *args)
        if callable(op.python):
            types = [a.type for a in node.args]
            if op.factor is not None:
                args = with_factor(self, node, args)
            text = op.python([a.text for a in args], node.settings, types)
            if text.startswith((args[0].text + ".", args[0].text + "[")):
                text = op.python([args[0].within(ATOM), *[a.text for a in args[1:]]],
                                 node.settings, types)
            return Expression(text)
        return Expression(f"{op.python}({', '.join(a.text for a in args)})")

    def reference(self, op: Op) -> str:
        """Name of a function of the user's that the loader puts into the module."""
        name = self.references.get(op)
        if name is None:
            name = self.references[op] = self.global_name(op.name)
            self.constants.append(f"# {name}: a function that is called as it is, not traced")
            self.captured[name] = op.reference
        return name

    def _filled(self, node: Node, value: Expression) -> Expression | None:
        """``broadcast_to`` of a number as a fresh array, where the result must be one."""
        source = node.args[0]
        if source.type.shape != ():
            return None
        shape = node.params[0]
        text = str(shape[0]) if len(shape) == 1 else repr(shape)
        dtype = "" if node.type.dtype == np.float64 else f", np.{node.type.dtype.name}"
        if source.op is CONSTANT and not np.signbit(np.real(source.value)):
            if source.value == 0:
                return Expression(f"np.zeros({text}{dtype})")
            if source.value == 1:
                return Expression(f"np.ones({text}{dtype})")
        return Expression(f"np.full({text}, {value.text}{dtype})")

    # -- statements ---------------------------------------------------------------------------

    def comment(self, node: Node) -> None:
        """The user's line above the first statement that comes from it."""
        origin = node.origin
        if not self.annotate or origin is None or not origin.line:
            return
        place = (origin.file, origin.line)
        if place == self.last_origin:
            return
        self.last_origin = place
        text = linecache.getline(origin.file, origin.line).strip()
        if text:
            self.lines.append(f"# {text}")

    def name(self, node: Node) -> str:
        """A name for a node's value."""
        named = node
        while named.op in (indexing.setitem, indexing.scatter_add) and not (
                named.origin and named.origin.name):
            named = named.args[0]
        if named.origin and named.origin.name and named.op is not INPUT:
            return self.names.unique(named.origin.name)
        if len(node.args) == 1 and node.args[0] in self.expressions:
            operand = self.expressions[node.args[0]].text
            if operand.isidentifier():
                if node.op is indexing.getitem and all(isinstance(p, int) for p in node.params[0]):
                    return self.names.unique(f"{operand}{'_'.join(map(str, node.params[0]))}")
                suffix = {indexing.getitem: "part", layout.reshape: "reshaped",
                          layout.transpose: "T"}.get(node.op)
                return self.names.unique(f"{operand}_{suffix}" if suffix else
                                         f"{node.op.name}_{operand}")
        return self.names.unique("t")

    def assign(self, node: Node, expression: Expression) -> None:
        """``name = expression``."""
        self.flush()
        name = self.name(node)
        self.comment(node)
        self.lines.append(f"{name} = {expression.text}")
        self.trail.append(Event(node, name))
        self.expressions[node] = Expression(name)
        if owns(node) or _is_filled(node):
            self.owner[node] = name

    @staticmethod
    def owns(node: Node) -> bool:
        """Whether a value is certainly memory of its own, or a number."""
        return owns(node) or (node.op is indexing.getitem and node.type.shape == ())

    def set_result(self, pick: Node, name: str, widened: bool = False) -> None:
        """A result of a loop or branch stands in a variable."""
        self.expressions[pick] = Expression(name)
        if owns(pick):
            self.owner[pick] = name
        if widened and pick.type.weak:
            self.widened.add(pick)
            self.spread_widened()

    def unpack(self, node: Node) -> None:
        """``w, v = np.linalg.eigh(a)``: a name for each result that is used."""
        self.flush()
        picks = self.picks.get(node, {})
        names = [self._result_name(picks[i], i) if i in picks else "_"
                 for i in range(len(node.type))]
        self.comment(node)
        self.lines.append(f"{', '.join(names)} = {self.express(node).text}")
        self.trail.append(Event(node))
        for i, pick in picks.items():
            self.trail.append(Event(pick, names[i]))
            self.expressions[pick] = Expression(names[i])
            self.owner[pick] = names[i]

    def _result_name(self, pick: Node, i: int) -> str:
        """The user's name for one of several results, or the row's."""
        results = pick.args[0].op.results
        if results and not (pick.origin and pick.origin.name):
            return self.names.unique(results[i])
        return self.name(pick)

    def store(self, node: Node, position: int) -> None:
        """``setitem`` and ``scatter_add`` as statements on an array of our own."""
        self.flush()
        base, value = node.args[0], self.operand(node, 1)
        if base in self.owner and self.lasts.get(base, position) <= position:
            name = self.owner[base]
            if self.expressions[base].text != name:
                name = self.expressions[base].text
            self.comment(node)
            self.trail.append(Event(node, name, name))
        else:
            name = self.name(node)
            self.comment(node)
            made = self.expressions[base]
            fresh = base in self.inlined and (owns(base) or _is_filled(base))
            self.lines.append(f"{name} = {made.text if fresh else made.within(ATOM) + '.copy()'}")
            self.trail.append(Event(node, name))
        arrays = [self.expressions[a].text for a in node.args[2:]]
        index = index_text(node.params[0], arrays, node.type.shape)
        target = f"{name}[{index or '()'}]"
        first = _is_filled(base) and base in self.inlined and base.args[0].op is CONSTANT \
            and base.args[0].value == 0
        if node.op is indexing.setitem or (first and not arrays):      # 0 + v is v
            self.lines.append(f"{target} = {value.text}")
        elif any(p == ("a",) for p in node.params[0]) and any(a.type.shape for a in node.args[2:]):
            spelled = f"({index})" if ":" not in index and "," in index else index
            if ":" in index or "None" in index:
                spelled = f"np.s_[{index}]"
            self.lines.append(f"np.add.at({name}, {spelled}, {value.text})")
        elif value.precedence == UNARY and value.text.startswith("-"):
            self.lines.append(f"{target} -= {bare(value.text[1:])}")
        else:
            self.lines.append(f"{target} += {value.text}")
        self.expressions[node] = Expression(name)
        self.owner[node] = name

    def check(self, node: Node) -> None:
        """Note the guards on a value; they are printed before the next statement."""
        for guard in self.guards.get(node, ()):
            condition = self.expressions[node]
            if guard.expected is True:
                self.pending.append((condition, True))
            elif guard.expected is False:
                self.pending.append((condition, False))
            else:
                self.pending.append((infix("==", COMPARISON, condition, number(guard.expected)),
                                     True))
            self.pending_from = node

    def flush(self) -> None:
        """Print the noted guards: hand over unless all of them hold."""
        if not self.pending:
            return
        pending, self.pending = self.pending, []
        assert self.pending_from is not None
        self.trail.append(Event(self.pending_from))
        self.comment(self.pending_from)
        self.lines.append(f"if {_any_fails(pending)}:")
        inputs = ", ".join(self.expressions[n].text for n in self.graph.inputs)
        self.lines.append(f"    return other_branch({inputs})")

    def run(self) -> Source:
        """The module of the graph's function."""
        function, parameters = self.print_function()
        functions = [Function(function, parameters, self.lines), *self.functions.values()]
        text = module_text(functions, self.constants,
                           bool(self.graph.guards), [text for _, text in self.helpers.values()])
        return Source(function, text, tuple(parameters), self.data, self.captured,
                      bool(self.graph.guards))

    def print_function(self) -> tuple[str, list[str]]:
        """Print all nodes; gives the function's name and parameters."""
        graph = self.graph
        parameters = []
        for i, node in enumerate(graph.inputs):
            wish = node.origin.name if node.origin and node.origin.name else f"x{i}"
            parameters.append(self.names.unique(wish))
            self.expressions[node] = Expression(parameters[-1])
        function = identifier(graph.name)
        if function in self.globals:                    # what the module's code calls, say exp
            function += "_"
        self.names.unique(function)
        self._widen()
        for guard_node in [n for n in graph.inputs if n in self.guards]:
            self.check(guard_node)
        self.print_nodes()
        self._return()
        return function, parameters

    def print_nodes(self) -> None:
        """Print what the outputs need; the inputs have their expressions."""
        order = [n for n in self.graph.nodes if n.op is not INPUT]
        self._plan(order)
        for position, node in enumerate(order):
            self.position = position
            self.visit(node, position)
            if node in self.guards:
                self.check(node)
            if self.frees:
                self.give_up(freed(self, position))

    def visit(self, node: Node, position: int) -> None:
        """Print one node, or keep its expression for where it is used."""
        if node in self.expressions:                    # a result of an unpacked tuple
            return
        if node.op in (CONSTANT, CAPTURED):
            self.expressions[node] = self.constant(node)
        elif node.op.bodies:
            self.flush()
            self.structured = node
            print_structured(self, node)
            self.trail.append(Event(node))
            for pick in self.picks.get(node, {}).values():
                self.trail.append(Event(pick, self.expressions[pick].text))
        elif not isinstance(node.type, ArrayType):
            self.unpack(node)
        elif node.op in (indexing.setitem, indexing.scatter_add):
            self.store(node, position)
        else:
            expression = self.express(node)
            if self._keep_inline(node, expression):
                self.inlined.add(node)
                self.expressions[node] = expression
            else:
                self.assign(node, expression)

    def give_up(self, lines: Sequence[str]) -> None:
        """Print ``del`` statements."""
        self.lines += lines
        self.trail += [Event(None, name) for line in lines
                       for name in line.removeprefix("del ").split(", ")]

    def _widen(self) -> None:
        """Plain Python numbers become NumPy's where Python's arithmetic would raise."""
        for a in to_widen(self.graph):
            name = self.expressions[a].text
            self.lines.append(f"{name} = np.float64({name})")
            self.widened.add(a)
        self.spread_widened()

    def spread_widened(self) -> None:
        """Plain numbers computed from such numbers are NumPy's, too."""
        for node in self.graph.nodes:
            if any(a in self.widened for a in node.args) and node.type is not None and \
                    isinstance(node.type, ArrayType) and node.type.weak:
                self.widened.add(node)

    def _plan(self, order: Sequence[Node]) -> None:
        """Last position at which each value, or a view or expression of it, is read."""
        where = {n: i for i, n in enumerate(order)}
        last = {n: len(order) for n in self.graph.outputs}
        for node in reversed(self.graph.nodes):
            mine = where.get(node, -1)
            reaches = mine
            if not owns(node) or self._might_inline(node):
                reaches = max(mine, last.get(node, mine))
            for a in node.args:
                last[a] = max(last.get(a, -1), reaches)
        for guard in self.graph.guards:
            last[guard.node] = max(last.get(guard.node, -1), where.get(guard.node, -1))
        self.lasts = last
        self.dying: dict[int, list[Node]] = {}
        for node, position in last.items():
            self.dying.setdefault(position, []).append(node)

    def _might_inline(self, node: Node) -> bool:
        return self.uses.get(node, 0) <= 1 and not node.op.bodies and node.op not in (
            indexing.setitem, indexing.scatter_add) and not self._at_once(node) and not (
            self.frees and _users_name(node) and node not in self.graph.outputs)

    def _at_once(self, node: Node) -> bool:
        """Whether a value is computed early, so that the large arrays it reads can be freed."""
        if not self.frees or node in self.handed:
            return self.frees
        large = len({a for a in node.args if is_large(a)})
        if is_large(node):
            return large > 1 and node not in self.graph.outputs
        return large > 0 and node in self.graph.outputs

    def _keep_inline(self, node: Node, expression: Expression) -> bool:
        """Whether a value is written where it is used rather than under a name."""
        if node in self.guards and self.uses.get(node, 0) == 0:
            return True
        if self.uses.get(node, 0) != 1 or node in self.guards:
            return self._is_trivial(node, expression)
        if len(expression.text) > WIDTH:
            return False
        if self._at_once(node):
            return False
        return not _users_name(node) or node in self.graph.outputs

    def _is_trivial(self, node: Node, expression: Expression) -> bool:
        """Cheap to write again: a transpose by attribute, or a filled array, fresh each time."""
        if node.op is layout.broadcast_to and node.args[0].op is CONSTANT and \
                node.args[0].type.shape == () and node not in self.guards:
            return True
        return node.op is layout.transpose and expression.text.endswith(".T") and \
            expression.text[:-2].isidentifier() and node not in self.guards

    def _return(self) -> None:
        self.flush()
        if self.lines and self.lines[-1].startswith("del "):
            self.lines.pop()
        results = [self._result(n) for n in self.graph.outputs]
        self.lines.append(f"return {', '.join(results)}")

    def _result(self, node: Node) -> str:
        """An output must not share memory with inputs, constants or other outputs."""
        expression = self.expressions[node]
        shares = not owns(node) or list(self.graph.outputs).count(node) > 1
        if node.op is layout.broadcast_to and self._filled(node, expression) is not None:
            shares = list(self.graph.outputs).count(node) > 1
        if node.op in (CONSTANT, CAPTURED) and node.type.shape == ():
            if node.type.weak or node.type.dtype in (np.float64, np.int64, np.bool_,
                                                     np.complex128):
                return expression.text
            return f"np.{node.type.dtype.name}({expression.text})"
        if shares and node.type.shape != ():
            return f"{expression.within(ATOM)}.copy()"
        return expression.text


# A name that is not an attribute, and whether it is called or has an attribute taken.
_NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)([.(])")


def module_text(functions: Sequence[Function], constants: Sequence[str], hands_over: bool,
                helpers: Sequence[str] = ()) -> str:
    """A module of functions, with the imports and the helpers it needs."""
    code = [*constants, *[line for f in functions for line in f.lines]]
    everything = "\n".join(line for line in code if not line.lstrip().startswith("#"))
    used = set(_NAME.findall(everything))
    imports = ["import numpy as np"] if ("np", ".") in used else []
    imports += [f"from scipy import {name}" for name in SCIPY_MODULES if (name, ".") in used]
    if any("tempfile." in text for text in helpers):
        imports.insert(0, "import tempfile\n")
    mathematics = [name for name in MATH_NAMES if (name, "(") in used]
    if mathematics:
        imports.insert(0, f"from math import {', '.join(mathematics)}\n")
    printed = [f._replace(lines=_broken(f.lines)) for f in functions]
    return render("module.py.j2", imports=imports, constants=constants, helpers=helpers,
                  functions=printed, hands_over=hands_over).lstrip("\n")


def _broken(lines: Iterable[str]) -> list[str]:
    """Statements in lines of the page's width."""
    out: list[str] = []
    for line in lines:
        if len(line) <= PAGE and "\n" not in line:
            out.append(line)
        else:
            out += [part for piece in line.split("\n") for part in wrap(piece)]
    return out


def _row_text(text: str) -> str | None:
    """The list in ``np.array([...])``, for nesting; None for any other expression."""
    inside = text[len("np.array("):-1]
    whole = text.startswith("np.array([") and text.endswith("])") and "], " not in inside
    return inside if whole else None


def _any_fails(conditions: Sequence[tuple[Expression, bool]]) -> str:
    """The test that some condition does not have its expected truth value."""
    if len(conditions) == 1:
        (condition, expected), = conditions
        return f"not {condition.within(COMPARISON)}" if expected else condition.text
    parts = [c.within(COMPARISON) if expected else f"not {c.within(COMPARISON)}"
             for c, expected in conditions]
    joined = " and ".join(parts)
    if len(joined) <= WIDTH - 8:
        return f"not ({joined})"
    lines = "\n        and ".join(parts)
    return f"not ({lines})"


def _users_name(node: Node) -> bool:
    """Whether a value has a name of the user's, rather than one made of it."""
    return node.origin is not None and node.origin.name is not None and \
        not node.origin.name.endswith(("_bar", "_dot"))


def _is_filled(node: Node) -> bool:
    """Whether this is one number everywhere, which is printed as ``np.full`` and its like."""
    return node.op is layout.broadcast_to and node.args[0].type.shape == ()


def _count_uses(graph: Graph) -> dict[Node, int]:
    uses: dict[Node, int] = {}
    for node in graph.nodes:
        for a in node.args:
            uses[a] = uses.get(a, 0) + 1
    for node in graph.outputs:
        uses[node] = uses.get(node, 0) + 1
    return uses


def numpy_source(graph: Graph, annotate: bool = True) -> Source:
    """NumPy source of a lowered graph.

    Args:
        graph: after the whole pipeline.
        annotate: whether to put the user's lines above the statements that come from them.
    """
    return NumpyPrinter(graph, annotate).run()

