"""The text form of kernels, which prints and parses back.

::

    kernel f_kernel
      x: f64[1000] in
      x_bar: f64[1000] out
      nest i in 1000 by 512 work 5000
        for i in 0..1000 simd
          t: f64 = sin(x[i])
          x_bar[i] = t
      finish
"""

import ast
import re
from typing import Any

import numpy as np

from ..compiler.arraytype import ArrayType, dtype_of_short, parse_type, short_dtype
from ..compiler.errors import ParseError
from ..compiler.ops.table import TABLE
from .kernel import (
    Atom,
    Buffer,
    Const,
    Index,
    Kernel,
    Let,
    Load,
    Local,
    Loop,
    Nest,
    Position,
    Ref,
    Start,
    Statement,
    Store,
    Update,
    Wrap,
)


def format_kernel(kernel: Kernel) -> str:
    """Text form; ``parse_kernel`` is its inverse."""
    lines = [f"kernel {kernel.name}"]
    for b in kernel.buffers:
        value = f" = {_numbers(b.value)}" if b.role == "table" else ""
        lines.append(f"  {b.name}: {ArrayType(b.shape, b.dtype)} {b.role}{value}")
    for nest in kernel.nests:
        axis = f" {nest.axis} in {nest.extent} by {nest.chunk}" if nest.axis else ""
        lines.append(f"  nest{axis} work {nest.work}")
        lines += [f"    {line}" for s in nest.body for line in format_statement(s)]
        if nest.finish:
            lines.append("  finish")
            lines += [f"    {line}" for s in nest.finish for line in format_statement(s)]
    return "\n".join(lines)


def _numbers(value: Any) -> str:
    return "[" + ", ".join(_number(v) for v in np.asarray(value).ravel()) + "]"


def _number(value: Any) -> str:
    return str(value.item() if isinstance(value, np.generic) and value.dtype.kind in "bi"
               else value)


def index_text(index: Index) -> str:
    """``2*i + j - 1``."""
    parts = [n if c == 1 else f"{c}*{n}" for n, c in index.terms]
    if index.offset or not parts:
        parts.append(str(index.offset))
    return " + ".join(parts).replace("+ -", "- ")


def atom_text(atom: Atom) -> str:
    """An operand; numbers carry their dtype."""
    if isinstance(atom, Const):
        return f"{_number(atom.value)}:{short_dtype(atom.dtype)}"
    if isinstance(atom, Ref):
        return f"{atom.name}:{short_dtype(atom.dtype)}"
    if isinstance(atom, Load):
        return f"{atom.buffer}[{index_text(atom.index)}]"
    return f"<{index_text(atom.index)}>"


def format_statement(s: Statement) -> list[str]:
    """Lines of one statement."""
    match s:
        case Let():
            return [f"{s.name}: {short_dtype(s.dtype)} = {s.op.name}"
                    f"({', '.join(map(atom_text, s.args))})"]
        case Wrap():
            return [f"{s.name} = wrap({atom_text(s.value)}, {s.size})"]
        case Start():
            return [f"{s.name}: {short_dtype(s.dtype)} = start {_number(s.value)}"]
        case Update():
            return [f"{s.name} <- {s.op.name} {atom_text(s.value)}"]
        case Local():
            return [f"{s.name}: {short_dtype(s.dtype)} = local {s.size}"]
        case Store():
            sign = "=" if s.op is None else f"<- {s.op.name}"
            return [f"{s.buffer}[{index_text(s.index)}] {sign} {atom_text(s.value)}"]
        case Loop():
            head = f"for {s.name} in {s.start}..{s.stop}{' simd' if s.simd else ''}"
            head += "" if s.when is None else f" when {atom_text(s.when)}"
            return [head, *[f"  {line}" for b in s.body for line in format_statement(b)]]


# -- parsing --------------------------------------------------------------------------------------

_BUFFER = re.compile(r"(\w+): (\S+) (in|out|scalar|scratch|table)(?: = (.*))?$")
_NEST = re.compile(r"nest(?: (\w+) in (\d+) by (\d+))? work (\d+)$")
_LOOP = re.compile(r"for (\w+) in (-?\d+)\.\.(-?\d+)( simd)?(?: when (.*))?$")
_NAMED = re.compile(r"(\w+): (\w+) = (?:(start|local) (\S+)|(\w+)\((.*)\))$")
_WRAP = re.compile(r"(\w+) = wrap\((.*), (\d+)\)$")
_STORE = re.compile(r"(\w+)\[(.*?)\] (?:=|<- (\w+)) (.*)$")
_UPDATE = re.compile(r"(\w+) <- (\w+) (.*)$")


def parse_kernel(text: str) -> Kernel:
    """The kernel a text stands for.

    Raises:
        ParseError: naming the line that is not understood.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or not lines[0].startswith("kernel "):
        raise ParseError("A kernel's text begins with its name.")
    parser = _Parser(lines[1:])
    return parser.kernel(lines[0].split()[1])


class _Parser:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.types: dict[str, Any] = {}

    def kernel(self, name: str) -> Kernel:
        buffers, nests = [], []
        while self.at < len(self.lines) and (
                found := _BUFFER.match(self.lines[self.at].strip())):
            kind = parse_type(found[2])
            value = None
            if found[4] is not None:
                value = np.array([_parsed_number(t) for t in found[4][1:-1].split(", ")],
                                 kind.dtype).reshape(kind.shape)
            buffers.append(Buffer(found[1], kind.dtype, kind.shape, found[3], value))
            self.types[found[1]] = kind.dtype
            self.at += 1
        while self.at < len(self.lines):
            head = _NEST.match(self.lines[self.at].strip())
            if head is None:
                raise ParseError(f"{self.lines[self.at].strip()!r} does not begin a nest.")
            self.at += 1
            body = self.block(4)
            finish: tuple[Statement, ...] = ()
            if self.at < len(self.lines) and self.lines[self.at].strip() == "finish":
                self.at += 1
                finish = self.block(4)
            nests.append(Nest(body, head[1], int(head[2] or 1), int(head[3] or 1), finish,
                              int(head[4])))
        return Kernel(name, tuple(buffers), tuple(nests))

    def block(self, indent: int) -> tuple[Statement, ...]:
        out: list[Statement] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if len(line) - len(line.lstrip()) < indent:
                break
            self.at += 1
            out.append(self.statement(line.strip(), indent))
        return tuple(out)

    def statement(self, line: str, indent: int) -> Statement:
        if found := _LOOP.match(line):
            return Loop(found[1], int(found[2]), int(found[3]), self.block(indent + 2),
                        bool(found[4]), self.atom(found[5]) if found[5] else None)
        if found := _WRAP.match(line):
            return Wrap(found[1], self.atom(found[2]), int(found[3]))
        if found := _NAMED.match(line):
            dtype = dtype_of_short(found[2])
            self.types[found[1]] = dtype
            if found[3] == "start":
                return Start(found[1], dtype, dtype.type(_parsed_number(found[4])))
            if found[3] == "local":
                return Local(found[1], dtype, int(found[4]))
            args = tuple(self.atom(a) for a in re.split(r", ", found[6]))
            return Let(found[1], dtype, self.op(found[5]), args)
        if found := _STORE.match(line):
            return Store(found[1], parse_index(found[2]), self.atom(found[4]),
                         self.op(found[3]) if found[3] else None)
        if found := _UPDATE.match(line):
            return Update(found[1], self.op(found[2]), self.atom(found[3]))
        raise ParseError(f"{line!r} is not a statement of a kernel.")

    def op(self, name: str) -> Any:
        if name not in TABLE:
            raise ParseError(f"There is no operator named {name!r}.")
        return TABLE[name]

    def atom(self, text: str) -> Atom:
        if text.startswith("<"):
            return Position(parse_index(text[1:-1]))
        if text.endswith("]"):
            buffer, _, inside = text[:-1].partition("[")
            if buffer not in self.types:
                raise ParseError(f"There is no buffer named {buffer!r}.")
            return Load(buffer, parse_index(inside), self.types[buffer])
        value, _, kind = text.rpartition(":")
        dtype = dtype_of_short(kind)
        if value.isidentifier() and value not in ("nan", "inf", "True", "False"):
            return Ref(value, dtype)
        return Const(dtype.type(_parsed_number(value)), dtype)


def _parsed_number(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    return float(text) if "n" in text or "." in text or "e" in text else ast.literal_eval(text)


def parse_index(text: str) -> Index:
    """Inverse of :func:`index_text`."""
    total = Index()
    for part in text.replace("- ", "+ -").split(" + "):
        factor, star, name = part.partition("*")
        if star:
            total = total + Index(((name, int(factor)),))
        elif part.lstrip("-").isdigit():
            total = total + int(part)
        else:
            total = total + Index(((part, 1),))
    return total
