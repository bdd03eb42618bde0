"""The proof that reuse of memory loses no value that is still needed.

The function is run symbolically twice, as it was printed with and without reuse. Every array is a
*buffer* whose content is a *term* (an application, as a tuple of numbers of terms); names are bound
to buffers and to views, and a view is read through its buffer, at the time it is read. What is
returned, and what every guard sees, must be equal terms.
"""

import ast
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..compiler.errors import VerifyError
from ..compiler.graph import Graph
from .source import Source

# Functions of NumPy that may give a view of an operand, and methods that never do.
_VIEWS = frozenset(f"np.{name}" for name in (
    "asarray", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to", "conj",
    "conjugate", "diagonal", "einsum", "expand_dims", "flip", "imag", "moveaxis", "permute_dims",
    "ravel", "real", "real_if_close", "reshape", "rollaxis", "rot90", "split", "squeeze",
    "swapaxes", "transpose"))
_COPIES = frozenset((".all", ".any", ".astype", ".copy", ".item", ".sum", ".tolist"))
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
    ast.FloorDiv: "floor_divide", ast.Mod: "mod", ast.MatMult: "matmul", ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor", ast.LShift: "left_shift",
    ast.RShift: "right_shift", ast.USub: "negative", ast.Invert: "invert", ast.Lt: "less",
    ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal", ast.Eq: "equal",
    ast.NotEq: "not_equal"}
_COMMUTATIVE = frozenset(("np.add", "np.multiply", "np.maximum", "np.minimum", "np.equal",
                          "np.not_equal"))


class Number(NamedTuple):
    """What cannot be written to: its term."""

    term: int


class Buffer(NamedTuple):
    """Memory of its own."""

    id: int


class View(NamedTuple):
    """Read through the memory of others: a function of them, evaluated whenever it is read."""

    head: str
    parts: tuple[Any, ...]


Value = Number | Buffer | View


class Terms:
    """Applications, each with a number of its own; equal ones have the same."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._negated: dict[int, int] = {}

    def __call__(self, head: str, *parts: Any) -> int:
        """Number of an application."""
        if head == "np.subtract" and len(parts) == 2:           # x − y is x + (−y)
            head, parts = "np.add", (parts[0], self("np.negative", parts[1]))
        if head == "np.negative" and parts[0] in self._negated:
            return self._negated[parts[0]]
        if head in _COMMUTATIVE:
            parts = tuple(sorted(parts))
        number = self._numbers.setdefault((head, *parts), len(self._numbers))
        if head == "np.negative":
            self._negated[number], self._negated[parts[0]] = parts[0], number
        return number


class Machine:
    """Runs one function; ``aliasing``: whether unknown functions give views of their operands."""

    def __init__(self, source: Source, terms: Terms, aliasing: bool, arrays: Sequence[int] = ()
                 ) -> None:
        self.terms = terms
        self.aliasing = aliasing
        self.content: dict[int, int] = {}
        self.protected: set[int] = set()
        self.names: dict[str, Value] = {}
        self.events: list[tuple[Any, ...]] = []         # guards and results, as terms
        self.foreign = 0                                # writes to arguments and constants
        self.shared: set[tuple[int, int]] = set()       # results that share memory
        self._ids = itertools.count()
        # Arrays, as constants, captured or given: as indices they copy.
        self.tables = {source.parameters[i] for i in arrays}
        module = ast.parse(source.text)
        self._bind_globals(source, module)
        function = next(s for s in module.body
                        if isinstance(s, ast.FunctionDef) and s.name == source.name)
        for i, parameter in enumerate(function.args.args):
            self.names[parameter.arg] = self._given("input", i)
        for statement in function.body:
            self.run(statement)

    def _bind_globals(self, source: Source, module: ast.Module) -> None:
        for i, name in enumerate(source.data):
            self.names[name] = self._given("data", i)
            self.tables.add(name)
        for statement in module.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                name = statement.targets[0].id
                self.names[name] = self._given("table", ast.unparse(statement.value))
                self.tables.add(name)
        for i, name in enumerate(source.captured):
            self.names[name] = self._given("captured", i)
            if not callable(source.captured[name]):
                self.tables.add(name)

    def _given(self, kind: str, which: Any) -> Buffer:
        """Memory that is not the function's."""
        made = self.fresh(self.terms(kind, which))
        self.protected.add(made.id)
        return made

    def fresh(self, term: int) -> Buffer:
        """A new array."""
        made = Buffer(next(self._ids))
        self.content[made.id] = term
        return made

    def read(self, value: Value) -> int:
        """The term a value is now."""
        if isinstance(value, Number):
            return value.term
        if isinstance(value, Buffer):
            return self.content[value.id]
        return self.terms(value.head, *[self.read(part) for part in value.parts])

    def memory(self, value: Value) -> set[int]:
        """Buffers a value may be a view of."""
        if isinstance(value, Buffer):
            return {value.id}
        return set().union(*map(self.memory, value.parts)) if isinstance(value, View) else set()

    def write(self, target: Value, term: int) -> None:
        """Change the content of the target's memory."""
        if isinstance(target, Buffer):
            if target.id in self.protected:
                self.foreign += 1
            self.content[target.id] = term
        elif isinstance(target, View):
            old = [self.read(part) for part in target.parts]
            for part in target.parts:
                if self.memory(part):
                    self.write(part, self.terms(f"put {target.head}", *old, term))
        else:
            raise VerifyError("A number is written to.")

    # -- statements ---------------------------------------------------------------------------

    def run(self, statement: ast.stmt) -> None:
        """One statement of the function."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.names[name] = self.value(value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                whole = self.read(self.value(value))
                for i, target in enumerate(targets):
                    assert isinstance(target, ast.Name)
                    self.names[target.id] = self.fresh(self.terms(f"result {i}", whole))
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                term = self.read(self.value(value))
                self.write(self.value(target), term)
            case ast.AugAssign(target=target, op=op, value=value):
                old = self.value(target)
                term = self.apply(op, [self.read(old), self.read(self.value(value))])
                self.write(old, term)
            case ast.Delete(targets=targets):
                for target in targets:
                    assert isinstance(target, ast.Name)
                    self.lookup(target.id)
                    del self.names[target.id]
            case ast.Expr(value=ast.Call() as call):
                self.value(call)
            case ast.If(test=test, body=[ast.Return(value=ast.Call() as call)], orelse=[]):
                self.events.append(("guard", self.read(self.value(test)),
                                    *[self.read(self.value(a)) for a in call.args]))
            case ast.Return(value=value) if value is not None:
                self._return(value)
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                self._block(statement)

    def _return(self, value: ast.expr) -> None:
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        results = [self.value(part) for part in parts]
        self.events.append(("return", *map(self.read, results)))
        memories = [self.protected, *map(self.memory, results)]
        for (i, one), (j, other) in itertools.combinations(enumerate(memories), 2):
            if one & other:
                self.shared.add((i, j))

    def _block(self, block: ast.stmt) -> None:
        """Any other statement: all it assigns is an unknown function of all it reads."""
        order: dict[str, int] = {}
        known = list(self.names)
        found = [n for n in ast.walk(block) if isinstance(n, ast.Name)]
        reads = [self.names[n.id] for n in found if n.id in self.names]
        term = self.terms("block", self._anonymous(block, order), *map(self.read, reads))
        for target in _written(block):
            name = target.id
            made = self.terms("block result", order[name], term)
            if name in known and not isinstance(target.ctx, ast.Store):
                self.write(self.names[name], made)
            else:
                self.names[name] = self.fresh(made)

    def _anonymous(self, block: ast.stmt, order: dict[str, int]) -> str:
        """The statement's text with names replaced by numbers."""
        class Rename(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.Name:
                return ast.Name(f"_{order.setdefault(node.id, len(order))}", node.ctx)
        return ast.unparse(Rename().visit(ast.parse(ast.unparse(block)).body[0]))

    # -- expressions --------------------------------------------------------------------------

    def lookup(self, name: str) -> Value:
        """What a name is bound to; functions stand for themselves."""
        if name in self.names:
            return self.names[name]
        if name in ("np", "float", "complex", "special", "linalg", "fft", "signal", "integrate",
                    "interpolate", "other_branch"):
            return Number(self.terms("module", name))
        raise VerifyError(f"{name} is read, but it is not there (any more).")

    def apply(self, op: ast.AST, terms: Sequence[int]) -> int:
        """Term of an operator."""
        name = _OPERATORS.get(type(op))
        return self.terms(f"np.{name}" if name else type(op).__name__, *terms)

    def value(self, node: ast.AST) -> Value:
        """Evaluate an expression."""
        match node:
            case ast.Constant(value=constant):
                return Number(self.terms("number", type(constant).__name__, repr(constant)))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=constant)):
                return Number(self.terms("number", type(constant).__name__, f"-{constant!r}"))
            case ast.Name(id=name):
                return self.lookup(name)
            case ast.UnaryOp(op=op, operand=operand):
                return self.fresh(self.apply(op, [self.read(self.value(operand))]))
            case ast.BinOp(left=left, op=op, right=right):
                terms = self._terms((left, right))
                return self.fresh(self.apply(op, terms))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                terms = self._terms((left, right))
                return self.fresh(self.apply(op, terms))
            case ast.BoolOp(op=op, values=values):
                return self.fresh(self.apply(op, self._terms(values)))
            case ast.Call():
                return self._call(node)
            case ast.Attribute(value=value, attr=name):
                return View(f".{name}", (self.value(value),))
            case ast.Subscript(value=value, slice=index):
                parts = (self.value(value), self.value(index))
                view = View("item", (parts[0], Number(self.read(parts[1]))))
                surely = any(isinstance(n, ast.Name) and n.id in self.tables
                             for n in ast.walk(index))
                by_array = surely or (self.memory(parts[1]) and not self.aliasing)
                if by_array and not isinstance(node.ctx, ast.Store):
                    return self.fresh(self.read(view))                 # a copy
                return view
            case ast.Slice(lower=lower, upper=upper, step=step):
                ends = [self.value(e or ast.Constant(None)) for e in (lower, upper, step)]
                return View("slice", tuple(ends))
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return View(type(node).__name__, tuple(map(self.value, elements)))
        found = [self.read(self.value(n)) for n in ast.walk(node) if isinstance(n, ast.Name)]
        return self.fresh(self.terms(f"expression {type(node).__name__}", ast.dump(node), *found))

    def _terms(self, nodes: Sequence[ast.expr]) -> list[int]:
        """All operands are evaluated before the first is read."""
        return [self.read(value) for value in list(map(self.value, nodes))]

    def _call(self, call: ast.Call) -> Value:
        """A function: a method's operand comes first; ``out=`` is written to."""
        name, args = self._callee(call.func)
        args += map(self.value, call.args)
        settings = {k.arg: self.value(k.value) for k in call.keywords}
        out = settings.pop("out", None)
        head = " ".join([name, *map(str, settings)])
        parts = (*args, *settings.values())
        if name == ".copy":
            return self.fresh(self.read(args[0]))
        if name.endswith(".at"):
            term = self.terms(head, *map(self.read, parts))
            self.write(args[0], term)
            return Number(term)
        if out is not None:
            self.write(out, self.terms(head, *map(self.read, parts)))
            return out
        if self.aliasing and not _is_fresh(name):
            return View(head, parts)
        return self.fresh(self.terms(head, *map(self.read, parts)))

    def _callee(self, function: ast.expr) -> tuple[str, list[Value]]:
        """Name of a module's function; or of a method, and its operand."""
        path, root = "", function
        while isinstance(root, ast.Attribute):
            path = f".{root.attr}{path}"
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.names:
            return f"{root.id}{path}", []
        if isinstance(function, ast.Attribute):
            return f".{function.attr}", [self.value(function.value)]
        return "", [self.value(function)]


def _is_fresh(name: str) -> bool:
    """Whether a function's result surely shares no memory: not so for the user's own."""
    if name.startswith("."):
        return name in _COPIES
    return name not in _VIEWS and ("." in name or name in ("float", "complex", "int", "bool"))


def _written(block: ast.AST) -> Iterator[ast.Name]:
    """Names that a statement assigns, and arrays it writes into."""
    for node in ast.walk(block):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            base: ast.AST = node
            while not isinstance(base, ast.Name):
                base = next(ast.iter_child_nodes(base))
            yield base


def array_inputs(graph: Graph) -> tuple[int, ...]:
    """Positions of the inputs that are arrays, not numbers."""
    return tuple(i for i, node in enumerate(graph.inputs) if node.type.shape)


def check_overwrites(plain: Source, reusing: Source, arrays: Sequence[int] = ()) -> None:
    """Both sources return the same values and see the same guards, as far as symbols tell.

    Args:
        plain: printed without reuse of memory.
        reusing: the same function, with reuse.
        arrays: positions of parameters that are arrays; as indices they copy what they read.

    Raises:
        VerifyError: if a value is overwritten, or given up, before it has been read for the last
            time; if an argument or a constant is written to; if results share memory.
    """
    terms = Terms()
    for aliasing in (False, True):
        wanted, found = (Machine(source, terms, aliasing, arrays) for source in (plain, reusing))
        problem = ""
        if wanted.events != found.events:
            problem = "a value is overwritten or given up before it has been read"
        elif found.foreign > wanted.foreign:
            problem = "an argument or a constant is written to"
        elif not found.shared <= wanted.shared:
            problem = "results share memory"
        if problem:
            raise VerifyError(f"In {plain.name}, {problem}.\n{reusing.text}")
