"""Straight-line Python on floats, for functions of numbers and small arrays.

``math``'s functions are several times faster on a float than NumPy's, but raise where NumPy
gives infinity or NaN. The array version of the same function stands below and takes over then.
"""

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..compiler.graph import CAPTURED, CONSTANT, INPUT, Graph, Node
from ..compiler.ops import arithmetic, comparison, indexing, layout, transcendental
from ..compiler.ops.row import Op
from ..compiler.ops.table import TABLE
from .expression import ATOM, COMPARISON, UNARY, Expression, infix, number, prefix
from .literals import SMALL, array_text
from .names import identifier
from .numpy_source import MATH_NAMES, NumpyPrinter, module_text
from .source import Function, Source
from .wrap import wrap

# Rows whose meaning on one float is that of a function of ``math``.
_MATH = {
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "exp": "exp", "exp2": "exp2", "expm1": "expm1",
    "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sqrt": "sqrt",
    "cbrt": "cbrt", "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign",
    "erf": "erf", "erfc": "erfc", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
    "fabs": "fabs", "fmod": "fmod", "deg2rad": "radians", "rad2deg": "degrees",
    "radians": "radians", "degrees": "degrees"}

_OPERATORS = frozenset((
    "add", "sub", "mul", "neg", "div", "less", "less_equal", "greater", "greater_equal", "equal",
    "not_equal", "mod"))
_ARITHMETIC = (arithmetic.add, arithmetic.sub, arithmetic.mul, arithmetic.div)
# Operators whose spelling gives an operand as it is, and the first operand that may be the result.
_HANDED_ON = {comparison.where: 1, comparison.maximum: 0, comparison.minimum: 0,
              comparison.absolute: 0, arithmetic.power: 0}
_SPARSE = 16             # elements
Spelling = Callable[[list[Expression], Node], Expression]


def _conditional(yes: str, test: str, no: str) -> Expression:
    return Expression(f"({yes} if {test} else {no})")


def _maximum(symbol: str) -> Spelling:
    def spell(args: list[Expression], node: Node) -> Expression:
        x, y = (a.within(ATOM) for a in args)
        return _conditional(x, f"{x} {symbol} {y} or {x} != {x}", y)     # NaN wins, as in NumPy
    return spell


def _power(args: list[Expression], node: Node) -> Expression:
    x, y = args
    exponent = node.args[1]
    if exponent.op is CONSTANT and float(exponent.value).is_integer():
        if exponent.value == 2 and x.text.isidentifier():
            return infix("*", 5, x, x)
        return infix("**", 7, x, number(int(exponent.value)))
    return Expression(f"pow({x.text}, {y.text})")       # math.pow, not Python's: no complex results


def _negated(x: Expression) -> str:
    return x.text[1:] if x.precedence == UNARY and x.text.startswith("-") else prefix("-", x).text


def _truth(args: Sequence[Expression], node: Node, position: int) -> str:
    """An operand as a truth value: ``x or y`` of numbers is a number."""
    if node.args[position].type.dtype == bool:
        return args[position].within(ATOM)
    return infix("!=", COMPARISON, args[position], number(0)).text


_SPELLINGS: dict[Op, Spelling] = {
    comparison.where: lambda a, n: _conditional(a[1].text, a[0].text, a[2].text),
    comparison.maximum: _maximum(">="), comparison.minimum: _maximum("<="),
    comparison.absolute: lambda a, n: Expression(f"abs({a[0].text})"),
    comparison.logical_not: lambda a, n: Expression(f"(not {a[0].within(ATOM)})"),
    comparison.logical_and: lambda a, n: Expression(f"({_truth(a, n, 0)} and {_truth(a, n, 1)})"),
    comparison.logical_or: lambda a, n: Expression(f"({_truth(a, n, 0)} or {_truth(a, n, 1)})"),
    arithmetic.power: _power,
    transcendental.square: lambda a, n: infix("*", 5, a[0], a[0]) if a[0].text.isidentifier()
        else infix("**", 7, a[0], number(2)),
    transcendental.reciprocal: lambda a, n: infix("/", 5, number(1.0), a[0]),
    transcendental.expit: lambda a, n: infix("/", 5, number(1.0), infix(
        "+", 4, number(1.0), Expression(f"exp({_negated(a[0])})"))),
    arithmetic.as_float: lambda a, n: a[0] if n.args[0].type.dtype.kind == "f" else
        Expression(f"float({a[0].text})"),
}


def _is_exact_integer(node: Node) -> bool:
    """Whether this is a Python integer that is a float as well."""
    return node.op is CONSTANT and type(node.value) is int and abs(node.value) < 2 ** 53


def can_print(graph: Graph) -> bool:
    """Whether every node has a spelling on floats."""
    return all(node.op in (INPUT, CONSTANT, CAPTURED, layout.stack, indexing.getitem)
               or (node.op is layout.reshape and node.args[0].op is layout.stack)
               or node.op.name in _MATH or node.op.name in _OPERATORS or node.op in _SPELLINGS
               for node in graph.nodes)


class ScalarPrinter(NumpyPrinter):
    """Prints a scalarized graph."""

    def __init__(self, graph: Graph, annotate: bool, taken: Iterable[str] = ()) -> None:
        super().__init__(graph, annotate, [*taken, *MATH_NAMES])
        self.first_lines: list[str] = []       # that turn parameters into floats
        self.rows = {n.args[0] for n in graph.nodes         # printed in their final shape only
                     if n.op is layout.reshape and self.uses.get(n.args[0], 0) == 1}

    def express(self, node: Node) -> Expression:
        """An application on floats."""
        op = node.op
        args = [self._of_kind(node, i) for i in range(len(node.args))]
        if op in _SPELLINGS:
            return _SPELLINGS[op](args, node)
        if op.name in _MATH:
            return Expression(f"{_MATH[op.name]}({', '.join(a.text for a in args)})")
        if op is layout.stack:
            if self._is_sparse(node) and node not in self.rows:
                return self._filled_in(node, node.type.shape)
            return Expression(f"np.array([{', '.join(a.text for a in args)}])")
        if op is layout.reshape and node.args[0].op is layout.stack:
            if self._is_sparse(node.args[0]) and node.args[0] in self.rows:
                return self._filled_in(node.args[0], node.params[0])
            shape = ", ".join(map(str, node.params[0]))         # faster than nested lists
            return Expression(f"{args[0].text}.reshape({shape})")
        return super().express(node)

    def _of_kind(self, user: Node, position: int) -> Expression:
        """An operand, as a float where it may be the result and that is one."""
        arg = user.args[position]
        expression = self.expressions[arg]
        kind = user.type.dtype.kind
        if position < _HANDED_ON.get(user.op, len(user.args)) or kind not in "fi" or \
                arg.type.dtype.kind in (kind, "f") or (user.op is arithmetic.power and position):
            return expression
        if arg.op is CONSTANT:
            return number(float(arg.value) if kind == "f" else int(arg.value))
        return Expression(f"{'float' if kind == 'f' else 'int'}({expression.text})")

    def operand(self, user: Node, position: int) -> Expression:
        """An operand as it appears in the user's expression."""
        arg = user.args[position]
        if user.op in _ARITHMETIC and user.type.dtype.kind == "f" and _is_exact_integer(arg):
            return number(float(arg.value))        # Python computes fastest with floats alone
        return super().operand(user, position)

    def _is_sparse(self, stack: Node) -> bool:
        """Whether most of many elements are constants, as in the Jacobian of a large system."""
        n = len(stack.args)
        return n >= _SPARSE and 2 * sum(a.op is CONSTANT for a in stack.args) >= n

    def _filled_in(self, stack: Node, shape: tuple[int, ...]) -> Expression:
        """A copy of the constants into which the other elements are put."""
        fixed = np.array([a.value if a.op is CONSTANT else 0 for a in stack.args],
                         stack.type.dtype).reshape(shape)
        spelled = array_text(fixed) if len(stack.args) <= SMALL else None
        self.flush()
        name = self.names.unique("out")
        if spelled is None:
            dtype = "" if fixed.dtype == np.float64 else f", np.{fixed.dtype.name}"
            self.lines.append(f"{name} = np.zeros({shape}{dtype})")
        else:
            table = self.names.unique("table")
            self.constants += wrap(f"{table} = {spelled}")
            self.lines.append(f"{name} = {table}.copy()")
        for index, a in zip(np.ndindex(shape), stack.args, strict=True):
            if a.op is not CONSTANT or (spelled is None and fixed[index] != 0):
                place = ", ".join(map(str, index))
                self.lines.append(f"{name}[{place}] = {self.expressions[a].text}")
        return Expression(name)

    def _keep_inline(self, node: Node, expression: Expression) -> bool:
        if node.op in (layout.stack, layout.reshape) and self.uses.get(node, 0) == 1:
            return True
        return super()._keep_inline(node, expression)

    def unpack_elements(self) -> None:
        """``x0, x1 = x.tolist()`` for every array that is read by element."""
        arrays: dict[Node, list[Node]] = {}
        for node in self.graph.nodes:
            if node.op is indexing.getitem:
                arrays.setdefault(node.args[0], []).append(node)
        for array, reads in arrays.items():
            base = self.expressions[array].text if array in self.expressions else \
                self.constant(array).text
            self.expressions.setdefault(array, Expression(base))
            by_index = {n.params[0]: n for n in reads}
            if len(by_index) * 3 < array.type.size:      # few of many: read one by one
                for index, node in by_index.items():
                    name = self._element_name(base, node)
                    place = ", ".join(map(str, index))
                    self.lines.append(f"{name} = {base}.item({place})")
                    self.expressions[node] = Expression(name)
                continue
            names = []
            for index in _indices(array.type.shape):
                read = by_index.get(index)
                name = "_" if read is None else self._element_name(base, read)
                names.append(name)
                if read is not None:
                    self.expressions[read] = Expression(name)
            flat = base if array.type.ndim == 1 else f"{base}.ravel()"
            comma = "," if len(names) == 1 else ""
            self.lines.append(f"{', '.join(names)}{comma} = {flat}.tolist()")

    def _element_name(self, base: str, node: Node) -> str:
        """The user's name for an element, or the array's with the index."""
        if node.origin and node.origin.name:
            return self.names.unique(node.origin.name)
        return self.names.unique(f"{base}{'_'.join(map(str, node.params[0]))}")

    def _widen(self) -> None:
        """NumPy scalars become Python floats; then the arrays' elements are read."""
        for node in self.graph.inputs:
            if node.type.shape == () and not node.type.weak and node.type.dtype.kind == "f" and \
                    self.uses.get(node, 0):
                name = self.expressions[node].text
                self.lines.append(f"{name} = float({name})")
        self.first_lines = list(self.lines)
        self.unpack_elements()

    def _result(self, node: Node) -> str:
        source = node.args[0] if node.op is layout.reshape else node
        if source.op in (INPUT, CAPTURED, CONSTANT) and node.type.shape:
            return f"{self.expressions[node].text}.copy()"
        return self.expressions[node].text


def _indices(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    out: list[tuple[int, ...]] = [()]
    for n in shape:
        out = [(*index, i) for index in out for i in range(n)]
    return out


# What Python raises errors for where NumPy gives infinity or NaN.
_RAISING = re.compile(rf"\*\*|/|%|\b({'|'.join(MATH_NAMES)})\(")


# The same functions of NumPy and SciPy.
_NUMPY = {mathematical: str(TABLE[name].python) for name, mathematical in _MATH.items()} | {
    "pow": "np.power", "float": "np.float64"}
_CALL = re.compile(rf"(?<![\w.])({'|'.join(_NUMPY)})\(")


def _in_numpy(printer: ScalarPrinter, parameters: Sequence[str]) -> list[str]:
    """The statements with NumPy's functions on NumPy's numbers, which raise nothing."""
    numbers = [f"{p} = np.float64({p})" for p, n in zip(parameters, printer.graph.inputs,
                                                      strict=True)
               if n.type.dtype.kind == "f" and printer.uses.get(n, 0)]
    given = set(printer.first_lines)
    return numbers + [_CALL.sub(lambda m: f"{_NUMPY[m[1]]}(", line) for line in printer.lines
                      if not line.startswith("#") and line not in given]


def scalar_source(graph: Graph, arrays: Graph, annotate: bool = True) -> Source:
    """Source of a scalarized graph, with the array version to take over where ``math`` raises.

    Args:
        graph: scalarized and lowered.
        arrays: the same function on arrays, lowered; the same graph if it has numbers only.
        annotate: whether to put the user's lines above the statements that come from them.
    """
    name = f"{identifier(arrays.name)}_by_arrays"
    fallback = NumpyPrinter(Graph(name, arrays.inputs, arrays.outputs, arrays.nodes,
                                  arrays.guards), annotate=False)
    # The logistic function is spelled as a formula here, of which NumPy would warn.
    alike = graph is arrays and all(n.op is not transcendental.expit for n in graph.nodes)
    if not alike:
        fallback.print_function()
    taken = [line.split(" = ")[0] for line in fallback.constants]
    printer = ScalarPrinter(graph, annotate, taken=[name, *taken, *fallback.data,
                                                    *fallback.captured])
    function, parameters = printer.print_function()
    lines, constants = printer.lines, printer.constants
    functions = [Function(function, parameters, lines)]
    if any(_RAISING.search(line) for line in lines if not line.startswith("#")):
        inside = [f"    {piece}" for line in lines for piece in line.split("\n")]
        # The parameters may be plain floats by now; the array version takes NumPy's.
        given = [p if n.type.weak or n.type.shape else f"np.{n.type.dtype.name}({p})"
                 for p, n in zip(parameters, graph.inputs, strict=True)]
        lines = ["try:", *inside, "except (ArithmeticError, ValueError):",
                 f"    return {name}({', '.join(given)})"]
        others = _in_numpy(printer, parameters) if alike else fallback.lines
        functions.append(Function(name, parameters, others))
        functions[0] = functions[0]._replace(lines=lines)
        constants = [*printer.constants, *fallback.constants]
    hands_over = bool(graph.guards)
    text = module_text(functions, constants, hands_over)
    deferred = name if len(functions) > 1 and not hands_over else ""
    return Source(function, text, tuple(parameters), {**printer.data, **fallback.data},
                  {**printer.captured, **fallback.captured}, hands_over, deferred)
