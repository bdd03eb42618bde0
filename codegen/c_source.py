"""Kernels as C: one function a kernel, one more for each nest that is cut into chunks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..compiler.ops import arithmetic, comparison
from ..compiler.ops.row import Op
from .dialect import HELPERS, C, Dialect
from .element import (
    calls,
    express,
    index_expression,
    is_conditional,
    literal,
    times_used,
)
from .expression import ATOM, UNARY, Expression
from .kernel import (
    Atom,
    Buffer,
    Const,
    DType,
    Kernel,
    Let,
    Load,
    Local,
    Loop,
    Nest,
    Ref,
    Start,
    Statement,
    Store,
    Update,
    Wrap,
    names_in,
    walk,
)
from .template import render

WIDTH = 80
ALIGNMENT = 64
_INT = 4                 # bytes of C's int, in which it computes with shorter numbers
CALLED = re.compile(r"\b([a-z]\w*)\(")
SIGNS: dict[Op, str] = {arithmetic.add: "+", arithmetic.mul: "*",
                         comparison.logical_or: "||", comparison.logical_and: "&&"}


@dataclass(frozen=True)
class CText:
    """The C text of a module's kernels, and how much memory each needs while it runs."""

    text: str
    scratch: dict[str, int]


def c_source(kernels: Sequence[Kernel], accuracy: str = "fast", dialect: Dialect = C,
             below: Sequence[Sequence[str]] = ()) -> CText:
    """The C text of kernels.

    Args:
        kernels: to print.
        accuracy: ``"fast"`` for glibc's vector functions, in error by at most 4 units in the last
            place; ``"strict"`` for the functions of the C library.
        dialect: the language.
        below: lines of functions that call them.
    """
    functions: list[list[str]] = []
    tables: list[str] = []
    scratch = {}
    for kernel in kernels:
        printer = Printer(kernel, dialect)
        functions += printer.run()
        tables += printer.tables
        scratch[kernel.name] = printer.scratch_size
    functions += [list(lines) for lines in below]
    body = "\n".join(line for lines in functions for line in lines)
    functions_used = helpers(body, dialect)
    called = set(CALLED.findall(body + "\n".join(functions_used)))
    vector = dialect.vectorised if accuracy == "fast" else ((), ())
    declarations = [[_declared(n, f) for n in names for f in ("", "f") if n + f in called]
                    for names in vector]
    text = render("kernels.c.j2", name=kernels[0].name, tables=tables, helpers=functions_used,
                  functions=functions, base=declarations[0], later=declarations[1],
                  reductions=_reductions(kernels, dialect), wraps="wrap(" in body,
                  limits=[m for m in ("MAX", "MIN") if f"{m}(" in body],
                  host="host->" in body, copies="memcpy(" in body or "memset(" in body)
    return CText(text, scratch)


def _declared(name: str, suffix: str) -> str:
    kind = "float" if suffix else "double"
    several = ", ".join([kind] * (2 if name in ("atan2", "hypot", "pow") else 1))
    return f"{kind} {name}{suffix}({several}) VECTOR;"


def helpers(text: str, dialect: Dialect) -> list[str]:
    """Functions that no library has, as far as a text calls them."""
    out = []
    called = set(CALLED.findall(text))
    for name, body in HELPERS.items():
        for suffix, kind in (("", "float64"), ("f", "float32")):
            if name + suffix in called:
                t = dialect.types[kind]
                arguments = f"{t} x, {t} y" if re.search(r"\by\b", body) and \
                    name != "sinc" else f"{t} x"
                inside = body.replace("{t}", t).replace("{f}", suffix)
                out.append(f"{dialect.inline} {t} {name}{suffix}({arguments})\n"
                           f"{{\n    {inside}\n}}")
    return out


def _reductions(kernels: Sequence[Kernel], dialect: Dialect) -> list[str]:
    """What the compiler must be told about maxima and minima in loops with SIMD."""
    found = set()
    for kernel in kernels:
        for nest in kernel.nests:
            for s in walk((*nest.body, *nest.finish)):
                if isinstance(s, Update) and s.op not in SIGNS:
                    found.add((s.op.name, dialect.types[s.value.dtype.name]))
    out = []
    for name, kind in sorted(found):
        sign = ">" if name == "maximum" else "<"
        out.append(f"#pragma omp declare reduction({name} : {kind} : omp_out = "
                   f"omp_in {sign} omp_out || omp_in != omp_in ? omp_in : omp_out) "
                   "initializer(omp_priv = omp_orig)")
    return out


class Printer:
    """Prints one kernel."""

    def __init__(self, kernel: Kernel, dialect: Dialect) -> None:
        self.kernel = kernel
        self.dialect = dialect
        self.buffers = {b.name: b for b in kernel.buffers}
        self.places: dict[str, str] = {}
        self.tables: list[str] = []
        self.scratch_size = 0
        self.expressions: dict[str, Expression] = {}
        self.lines: list[str] = []
        self.nest: Nest | None = None
        self.uses: dict[str, int] = {}
        self.touched: set[str] = set()          # buffers that what is being printed uses
        self.stored: set[str] = set()
        self.bound: set[str] = set()

    def run(self) -> list[list[str]]:
        """The functions: for the nests that are cut, and the kernel's own."""
        self._lay_out()
        kernel, functions, own = self.kernel, [], []
        of_own: set[str] = set()
        several = len(kernel.nests) > 1
        for number, nest in enumerate(kernel.nests, 1):
            self.nest = nest
            if nest.axis:
                name = f"{kernel.name}_{number}" if several else f"{kernel.name}_part"
                functions.append(self._chunked(name, nest))
                own.append(f"host->parallel({name}, p, {nest.chunks}, {nest.work});")
                self.touched = of_own
                own += self.block(nest.finish)
            else:
                self.touched = of_own
                body = self.block(nest.body)
                own += ["{", *[f"    {line}" for line in body], "}"] if several else body
        head = self._pointers(of_own, own)
        functions.append([f"void {kernel.name}(void **p, const struct host *host)", "{",
                          *[f"    {line}" for line in (*head, *own)], "}"])
        return functions

    def _lay_out(self) -> None:
        position = 0
        given = self.kernel.having("in", "scalar")
        for b in (*given, *self.kernel.having("out")):
            self.places[b.name] = f"p[{position}]"
            position += 1
        offset = 0
        for b in self.kernel.having("scratch"):
            self.places[b.name] = f"(char *)p[{position}] + {offset}" if offset else \
                f"p[{position}]"
            offset += -(-b.size * b.dtype.itemsize // ALIGNMENT) * ALIGNMENT
        self.scratch_size = offset
        self.fail = f"p[{position + 1}]"
        for b in self.kernel.having("table"):
            numbers = ", ".join(literal(v, b.dtype, self.dialect).text
                                for v in np.asarray(b.value).ravel())
            self.tables.append(f"static const {self.type(b)} {self.kernel.name}_{b.name}"
                               f"[{b.size}] = {{{numbers}}};")

    def type(self, b: Buffer) -> str:
        """The C type of a buffer's elements."""
        return self.dialect.types[b.dtype.name]

    def type_of(self, dtype: DType) -> str:
        """The type of a dtype's numbers."""
        return self.dialect.types[dtype.name]

    def _pointers(self, touched: set[str], lines: Sequence[str]) -> list[str]:
        """Declarations of the buffers that lines use."""
        out = []
        for b in self.kernel.buffers:
            if b.name not in touched or b.role == "table":
                continue
            place = self.places[b.name]
            if b.role == "scalar":
                out.append(f"const {self.type(b)} {b.name} = *(const {self.type(b)} *){place};")
                continue
            const = "const " if b.role == "in" else ""
            cast = f"(void *)({place})" if "+" in place else place
            out.append(f"{const}{self.type(b)} *restrict {b.name} = {cast};")
        if any(", fail);" in line for line in lines):
            out.append(f"long *fail = {self.fail};")
        return out

    def _chunked(self, name: str, nest: Nest) -> list[str]:
        size, extent = nest.chunk, nest.extent
        touched: set[str] = set()
        self.touched = touched
        body = self.block(nest.body)
        low = f"const long lo = chunk * {size}, hi = MIN(lo + {size}, {extent});"
        loop = ["for (long chunk = first; chunk < last; chunk++) {", f"    {low}",
                *[f"    {line}" for line in body], "}"]
        head = self._pointers(touched, loop)
        return [f"static void {name}(void **p, long first, long last)", "{",
                *[f"    {line}" for line in (*head, *loop)], "}"]

    # -- statements -------------------------------------------------------------------------------

    def block(self, statements: Sequence[Statement]) -> list[str]:
        """Lines of statements."""
        self.uses, self.stored = {}, set()
        for s in walk(tuple(statements)):
            weights = times_used(s) if isinstance(s, Let) else [1]
            if isinstance(s, Let):
                for a, n in zip(s.args, weights, strict=True):
                    for name in [a.name] if isinstance(a, Ref) else \
                            a.index.names if not isinstance(a, Const) else ():
                        self.uses[name] = self.uses.get(name, 0) + n
                    if is_conditional(s) and isinstance(a, Ref):
                        self.bound.add(a.name)
                continue
            for name in names_in(s):
                self.uses[name] = self.uses.get(name, 0) + 1
            if isinstance(s, Store):
                self.stored.add(s.buffer)
        self.lines = []
        self._print(statements, "")
        return self.lines

    def _print(self, statements: Sequence[Statement], indent: str) -> None:
        here = {n for s in statements for n in names_in(s)}
        for s in statements:
            match s:
                case Let():
                    self._let(s, indent, here)
                case Wrap():
                    self.lines.append(f"{indent}const {self.type_of(np.dtype(np.int64))} "
                                      f"{s.name} = wrap({self.atom(s.value).text}, {s.size}, "
                                      "fail);")
                case Start():
                    value = literal(s.value, s.dtype, self.dialect).text
                    self.lines.append(f"{indent}{self.dialect.types[s.dtype.name]} {s.name} = "
                                      f"{value};")
                case Update():
                    self.lines.append(indent + self.updated(
                        s.name, s.op, self.atom(s.value)))
                case Local():
                    self.lines.append(f"{indent}{self.dialect.types[s.dtype.name]} "
                                      f"{s.name}[{s.size}];")
                case Store():
                    self.touched.add(s.buffer)
                    target = f"{s.buffer}[{index_expression(s.index)}]"
                    new = self.atom(s.value)
                    self.lines.append(indent + self.stored_as(s, target, new))
                case Loop():
                    self._loop(s, indent)

    def stored_as(self, s: Store, target: str, new: Expression) -> str:
        """The statement of a store."""
        return f"{target} = {new.text};" if s.op is None else self.updated(target, s.op, new)

    def updated(self, target: str, op: Op, value: Expression) -> str:
        """A statement that combines what stands in a place with a value."""
        if op in (arithmetic.add, arithmetic.mul):
            return f"{target} {SIGNS[op]}= {value.text};"
        if op in SIGNS:
            return f"{target} = {target} {SIGNS[op]} {value.within(ATOM)};"
        v = value.within(ATOM)
        sign = ">" if op is comparison.maximum else "<"
        return f"{target} = {v} {sign} {target} || {v} != {v} ? {v} : {target};"

    def _let(self, s: Let, indent: str, here: set[str]) -> None:
        expression = express(s, [self.atom(a) for a in s.args], self.dialect)
        reads = {a.buffer for a in s.args if isinstance(a, Load)}
        may_move = not (reads & self.stored) and s.hint is None and \
            not (calls(s) and s.name in self.bound) and len(expression.text) < WIDTH - 30
        if self.uses.get(s.name, 0) == 1 and s.name in here and may_move and not (
                s.name in self.bound and "(" in expression.text):
            if s.dtype.kind == "i" and s.dtype.itemsize < _INT:       # C computes in int
                expression = Expression(f"({self.type_of(s.dtype)}){expression.within(ATOM)}",
                                        UNARY)
            self.expressions[s.name] = expression
            return
        kind = self.dialect.types[s.dtype.name]
        self.lines.append(f"{indent}const {kind} {s.name} = {expression.text};")

    def atom(self, a: Atom) -> Expression:
        """An operand."""
        if isinstance(a, Const):
            return literal(a.value, a.dtype, self.dialect)
        if isinstance(a, Ref):
            if a.name in self.buffers:
                self.touched.add(a.name)
            return self.expressions.get(a.name, Expression(a.name))
        if isinstance(a, Load):
            self.touched.add(a.buffer)
            b = self.buffers.get(a.buffer)
            name = f"{self.kernel.name}_{a.buffer}" if b is not None and b.role == "table" \
                else a.buffer
            return Expression(f"{name}[{index_expression(a.index)}]")
        text = index_expression(a.index)
        return Expression(text, ATOM if text.isalnum() else 4.0)

    def _loop(self, s: Loop, indent: str) -> None:
        nest = self.nest
        clipped = nest is not None and s.name == nest.axis
        low = str(s.start) if not clipped else "lo" if s.start == 0 else f"MAX(lo, {s.start})"
        high = str(s.stop) if not clipped or nest is None else \
            "hi" if s.stop >= nest.extent else f"MIN(hi, {s.stop})"
        if s.when is not None:
            self.lines.append(f"{indent}if ({self.atom(s.when).text}) {{")
            self._loop(s._replace(when=None), indent + "    ")
            self.lines.append(f"{indent}}}")
            return
        if s.simd:
            self.lines.append(f"{indent}#pragma omp simd{self._clauses(s)}")
        self.lines.append(f"{indent}for (long {s.name} = {low}; {s.name} < {high}; "
                          f"{s.name}++) {{")
        self._print(s.body, indent + "    ")
        self.lines.append(f"{indent}}}")

    def _clauses(self, s: Loop) -> str:
        """The accumulators of a loop with SIMD that began outside."""
        begun = {b.name for b in s.body if isinstance(b, Start)}
        groups: dict[str, list[str]] = {}
        for b in s.body:
            if isinstance(b, Update) and b.name not in begun:
                names = groups.setdefault(SIGNS.get(b.op, b.op.name), [])
                if b.name not in names:
                    names.append(b.name)
        return "".join(f" reduction({sign} : {', '.join(names)})"
                       for sign, names in groups.items())
