"""Launches as CUDA: one function each, with what it needs of functions above it.

The text includes nothing and names no library, so that it compiles wherever NVRTC does.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..compiler.ops import arithmetic
from .c_source import CALLED, Printer, helpers
from .dialect import CUDA, TRANSCENDENTAL
from .element import literal
from .expression import Expression
from .kernel import (
    Buffer,
    Kernel,
    Load,
    Loop,
    Start,
    Statement,
    Store,
    Update,
    Wrap,
    atoms,
    walk,
)
from .launches import SLICE_NAME, Launch, Space, Total
from .template import render
from .wrap import WIDTH as PAGE

MOST_CALLS = 50          # of costly functions in one kernel; the compiler's time explodes with them
FAIL = "fail"


@dataclass(frozen=True)
class CudaText:
    """The text of one launch and what it is called with.

    Attributes:
        name: of the function.
        text: of the module.
        arguments: names of the kernel's buffers, in order; the last is ``fail`` if there is one.
        grid: number of blocks.
        block: number of threads of each.
    """

    name: str
    text: str
    arguments: tuple[str, ...]
    grid: int
    block: int


def cuda_source(kernel: Kernel, launch: Launch, by_pointer: frozenset[str] = frozenset()
                ) -> CudaText:
    """The CUDA text of one launch.

    Args:
        kernel: that it belongs to, with all buffers.
        launch: to print.
        by_pointer: names of single numbers that are in the GPU's memory.
    """
    return _CudaPrinter(kernel, launch, by_pointer).text()


class _CudaPrinter(Printer):
    def __init__(self, kernel: Kernel, launch: Launch, by_pointer: frozenset[str]) -> None:
        super().__init__(kernel, CUDA)
        self.launch = launch
        self.by_pointer = by_pointer
        self.parallel = dict(launch.space) | dict(launch.points)
        self.rows = launch.kind == "rows"
        self.depth = 0                       # loops of a row around what is printed
        self.later: set[str] = set()         # accumulators that loops after this one update
        self.changed: set[str] = set()       # buffers that launch stores into

    def text(self) -> CudaText:
        launch = self.launch
        everything = (*launch.before, *launch.body, *launch.ends)
        self.changed = {s.buffer for s in walk(everything) if isinstance(s, Store)} | {
            t.parts for t in launch.totals if t.parts and launch.kind != "finish"}
        self.read = {a.buffer for s in walk(everything) for a in atoms(s) if isinstance(a, Load)}
        lines = self.block(launch.before) + self._main(launch)
        if launch.kind == "owners":
            self.touched |= {launch.keys, launch.order}
        if launch.totals:
            lines += self._ends(launch)
        elif launch.ends:
            lines += self._once(launch.ends)
        given = [b for b in self.kernel.buffers if b.name in self.touched and b.role != "table"]
        parameters = [self._parameter(b) for b in given]
        names = [b.name for b in given]
        if any(isinstance(s, Wrap) for s in walk(everything)):
            parameters.append(f"unsigned long long *{FAIL}")
            names.append(FAIL)
        front = [f"const {self.type(b)} {b.name} = {b.name}_at[0];" for b in given
                 if b.name in self.by_pointer]
        lines = [*front, *lines]
        used = "\n".join(lines)
        above = [*self._tables(), *helpers(used, CUDA),
                 *self._blocks(used), *self._far(lines)]
        indent = len(f"void {launch.name}(")
        text = render("kernel.cu.j2", above=above, name=launch.name, block=launch.block,
                      parameters=_broken(parameters, indent), wraps=FAIL in names, lines=lines)
        return CudaText(launch.name, text, tuple(names), launch.grid, launch.block)

    # -- around the body --------------------------------------------------------------------------

    def _main(self, launch: Launch) -> list[str]:
        starts = [f"{self.type_of(t.start.dtype)} {t.start.name} = "
                  f"{literal(t.start.value, t.start.dtype, CUDA).text};" for t in launch.totals]
        if launch.kind == "finish":
            return [*starts, *[line for t in launch.totals for line in self._parts(t)]]
        body = self.block(launch.body)
        if launch.kind == "rows":
            first, step = "blockIdx.x", "gridDim.x"
        else:
            first = "(long long)blockIdx.x * blockDim.x + threadIdx.x"
            step = "(long long)gridDim.x * blockDim.x"
        inside = [f"    {line}" for line in body]
        head: list[str] = []
        if launch.kind == "owners":
            inside = self._owned(body)
            name = "thread"
        else:
            name, head = _unravelled("thread", launch.space)
        return [*starts, f"for (long long {name} = {first}; {name} < {launch.size};",
                f"     {name} += {step}) {{", *[f"    {line}" for line in head], *inside, "}"]

    def _owned(self, body: list[str]) -> list[str]:
        keys, order = self.launch.keys, self.launch.order
        n = 1
        for _, extent in self.launch.points:
            n *= extent
        rest = self.launch.size // n
        _, of_space = _unravelled("rest", self.launch.space, f"thread % {rest}")
        name, of_points = _unravelled("point", self.launch.points)
        point = [f"const long long {name} = {order}[q];", *of_points]
        return [f"    const long long first = thread{f' / {rest}' if rest > 1 else ''};",
                *[f"    {line}" for line in of_space],
                f"    const long long key = {keys}[{order}[first]];",
                f"    if (first > 0 && {keys}[{order}[first - 1]] == key) continue;",
                f"    for (long long q = first; q < {n} && {keys}[{order}[q]] == key; q++) {{",
                *[f"        {line}" for line in (*point, *body)], "    }"]

    def _parts(self, total: Total) -> list[str]:
        self.touched.add(total.parts)
        n = next(b.size for b in self.kernel.buffers if b.name == total.parts)
        value = Expression(f"{total.parts}[c]")
        return [f"for (int c = threadIdx.x; c < {n}; c += blockDim.x)",
                f"    {self.updated(total.start.name, total.update.op, value)}"]

    def _ends(self, launch: Launch) -> list[str]:
        out = [f"{t.start.name} = {self._combine(t.update)}({t.start.name});"
               for t in launch.totals]
        stores = [f"{t.parts}[blockIdx.x] = {t.start.name};" for t in launch.totals
                  if t.parts and launch.kind != "finish"]
        self.touched |= {t.parts for t in launch.totals if t.parts}
        return out + self._once(launch.ends, stores)

    def _once(self, ends: Sequence[Statement], stores: Sequence[str] = ()) -> list[str]:
        """Statements for one thread."""
        lines = [*stores, *self.block(ends)]
        return ["if (threadIdx.x == 0) {", *[f"    {line}" for line in lines], "}"] \
            if lines else []

    def _combine(self, update: Update) -> str:
        return f"block_{update.op.name}_{update.value.dtype.name}"

    def _blocks(self, used: str) -> list[str]:
        """Functions that combine a number of each thread of a block, in a tree."""
        out = []
        every = {self._combine(s): s for s in walk((*self.launch.body, *[
            t.update for t in self.launch.totals])) if isinstance(s, Update)}
        for name, s in sorted(every.items()):
            if f"{name}(" in used:
                t = self.type_of(s.value.dtype)
                step = self.updated("part[threadIdx.x]", s.op, Expression("other"))
                out.append(render("block.cu.j2", type=t, name=name, block=self.launch.block,
                                  step=step).rstrip())
        return out

    def _tables(self) -> list[str]:
        out = []
        for b in self.kernel.having("table"):
            if b.name in self.touched:
                numbers = ", ".join(literal(v, b.dtype, CUDA).text for v in b.value.ravel())
                out.append(f"static __device__ const {self.type(b)} {self.kernel.name}_{b.name}"
                           f"[{b.size}] = {{{numbers}}};")
        return out

    def _far(self, lines: list[str]) -> list[str]:
        """Where there are too many calls of costly functions: these, not to be expanded."""
        called = [n for line in lines for n in CALLED.findall(line) if n in TRANSCENDENTAL]
        if len(called) <= MOST_CALLS:
            return []
        out = []
        for name in sorted(set(called)):
            t = self.type_of_suffix(name)
            two = TRANSCENDENTAL[name] == 2
            out.append(f"static __device__ __noinline__ {t} call_{name}({t} x"
                       f"{f', {t} y' if two else ''})\n{{\n"
                       f"    return {name}(x{', y' if two else ''});\n}}")
        pattern = re.compile(rf"\b({'|'.join(set(called))})\(")
        lines[:] = [pattern.sub(r"call_\1(", line) for line in lines]
        return out

    def type_of_suffix(self, name: str) -> str:
        """The type that a function of the library takes."""
        single = name.endswith("f") and name not in ("erf",)
        return "float" if single else "double"

    def _parameter(self, b: Buffer) -> str:
        if b.role == "scalar":
            return f"const {self.type(b)} *__restrict__ {b.name}_at" if b.name in self.by_pointer \
                else f"const {self.type(b)} {b.name}"
        const = "" if b.name in self.changed else "const "
        return f"{const}{self.type(b)} *__restrict__ {b.name}"

    # -- statements -------------------------------------------------------------------------------

    def _loop(self, s: Loop, indent: str) -> None:
        if s.name in self.parallel:
            tests = [f"{s.start} <= {s.name}"] * (s.start > 0)
            tests += [f"{s.name} < {s.stop}"] * (s.stop < self.parallel[s.name])
            if not tests:
                self._print(s.body, indent)
                return
            self.lines.append(f"{indent}if ({' && '.join(tests)}) {{")
            self._print(s.body, indent + "    ")
            self.lines.append(f"{indent}}}")
            return
        low, high, step = str(s.start), str(s.stop), f"{s.name}++"
        cut = self.launch.cut
        if cut is not None and s.name == cut[0]:
            _, _, size = cut
            low = f"{SLICE_NAME} * {size}" if s.start == 0 else \
                f"max({SLICE_NAME} * {size}, {s.start}LL)"
            high = f"min(({SLICE_NAME} + 1) * {size}, {s.stop}LL)"
        outermost = self.rows and self.depth == 0
        if outermost:
            low = "threadIdx.x" if s.start == 0 else f"{s.start} + threadIdx.x"
            step = f"{s.name} += blockDim.x"
        self.lines.append(f"{indent}for (long long {s.name} = {low}; {s.name} < {high}; "
                          f"{step}) {{")
        self.depth += 1
        self._print(s.body, indent + "    ")
        self.depth -= 1
        self.lines.append(f"{indent}}}")
        if outermost:
            self._after_row(s, indent)

    def _after_row(self, s: Loop, indent: str) -> None:
        """Threads of a block wait for one another, and combine what each has of a row."""
        begun = {x.name for x in walk(s.body) if isinstance(x, Start)}
        totals = {t.start.name for t in self.launch.totals}
        updates = {x.name: x for x in walk(s.body) if isinstance(x, Update)
                   and x.name not in begun | totals | self.later}
        for name, x in updates.items():
            self.lines.append(f"{indent}{name} = {self._combine(x)}({name});")
        if any(isinstance(x, Store) and x.buffer in self.read for x in walk(s.body)):
            self.lines.append(f"{indent}__syncthreads();")

    def _print(self, statements: Sequence[Statement], indent: str) -> None:
        if not self.rows or self.depth > 0:
            super()._print(statements, indent)
            return
        totals = {t.start.name for t in self.launch.totals}
        for i, s in enumerate(statements):
            self.later = {x.name for x in walk(tuple(statements[i + 1:])) if isinstance(x, Update)}
            alone = isinstance(s, Store) or (isinstance(s, Update) and s.name in totals)
            if not alone:
                super()._print((s,), indent)
                continue
            self.lines.append(f"{indent}if (threadIdx.x == 0) {{")
            super()._print((s,), indent + "    ")
            self.lines.append(f"{indent}}}")
            if isinstance(s, Store) and s.buffer in self.read:
                self.lines.append(f"{indent}__syncthreads();")

    def stored_as(self, s: Store, target: str, new: Expression) -> str:
        """The statement of a store."""
        if self.launch.atomic and s.op is arithmetic.add:
            return f"atomicAdd(&{target}, {new.text});"
        return super().stored_as(s, target, new)


def _unravelled(name: str, space: Space, value: str = "") -> tuple[str, list[str]]:
    """Variables of a space from one number, and that number's name."""
    if len(space) == 1 and not value:
        return space[0][0], []
    if not space:
        return name, []
    out, below = [], 1
    source = value or name
    for i, (variable, extent) in enumerate(reversed(space)):
        text = source if below == 1 else \
            f"{f'({source})' if value else source} / {below}"
        if i < len(space) - 1:
            text = f"({text}) % {extent}" if " " in text else f"{text} % {extent}"
        out.append(f"const long long {variable} = {text};")
        below *= extent
    return name, out[::-1]


def _broken(parameters: Sequence[str], indent: int) -> list[str]:
    """Parameters in lines, the first of which begins further right."""
    lines = [""]
    for i, p in enumerate(parameters):
        piece = p + ("," if i < len(parameters) - 1 else "")
        width = PAGE - (indent if len(lines) == 1 else 4)
        if lines[-1] and len(lines[-1]) + len(piece) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {piece}" if lines[-1] else piece
    return lines

