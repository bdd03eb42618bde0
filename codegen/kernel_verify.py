"""The rules every kernel obeys, checked after lowering in the test-suite."""

from ..compiler.errors import VerifyError
from .kernel import (
    CHUNK,
    Const,
    Index,
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
    atoms,
)
from .kernel_text import format_statement

Ranges = dict[str, tuple[int, int]]


def verify_kernel(kernel: Kernel) -> Kernel:
    """Return the kernel if it is well formed.

    Rules: names are set before they are read, and once; every element that is read or stored lies
    within its buffer; arguments and tables are not stored into; updates are of accumulators.

    Raises:
        VerifyError: with the offending statement.
    """
    for nest in kernel.nests:
        _Check(kernel, nest).run()
    return kernel


class _Check:
    def __init__(self, kernel: Kernel, nest: Nest) -> None:
        self.nest = nest
        self.sizes = {b.name: b.size for b in kernel.buffers}
        self.fixed = {b.name for b in kernel.having("in", "scalar", "table")}
        self.scalars = {b.name for b in kernel.having("scalar")}

    def run(self) -> None:
        inside: Ranges = {CHUNK: (0, self.nest.chunks - 1)} if self.nest.axis else {}
        self.block(self.nest.body, inside, set(), set(self.scalars))
        self.block(self.nest.finish, {}, set(), set(self.scalars))

    def block(self, body: tuple[Statement, ...], ranges: Ranges, totals: set[str],
              known: set[str]) -> None:
        for s in body:
            problem = self.problem(s, ranges, totals, known)
            if problem:
                raise VerifyError(f"{problem}: {format_statement(s)[0]}")
            match s:
                case Let() | Start():
                    known.add(s.name)
                    if isinstance(s, Start):
                        totals.add(s.name)
                case Wrap():
                    ranges[s.name] = (0, s.size - 1)
                case Local():
                    self.sizes[s.name] = s.size
                case Loop():
                    inner = {**ranges, s.name: (s.start, s.stop - 1)}
                    self.block(s.body, inner, set(totals), set(known))

    def problem(self, s: Statement, ranges: Ranges, totals: set[str], known: set[str]
                ) -> str | None:
        for atom in atoms(s):
            if isinstance(atom, Ref) and atom.name not in known:
                return f"{atom.name} is read before it is set"
            if isinstance(atom, Load) and (found := self.outside(atom.buffer, atom.index, ranges)):
                return found
            if not isinstance(atom, (Const, Ref, Load)) and any(
                    n not in ranges for n in atom.index.names):
                return "an index uses a name that is not known"
        if isinstance(s, (Let, Start)) and s.name in known:
            return f"{s.name} is set twice"
        if isinstance(s, Update) and s.name not in totals:
            return f"{s.name} is no accumulator"
        if isinstance(s, Loop) and s.start >= s.stop:
            return "the loop is empty"
        if isinstance(s, Store):
            if s.buffer in self.fixed:
                return f"{s.buffer} must not be stored into"
            return self.outside(s.buffer, s.index, ranges)
        return None

    def outside(self, buffer: str, index: Index, ranges: Ranges) -> str | None:
        if buffer not in self.sizes:
            return f"there is no buffer {buffer}"
        low = high = index.offset
        for name, c in index.terms:
            if name not in ranges:
                return f"{name} in an index is not known"
            first, last = ranges[name]
            low += c * (first if c > 0 else last)
            high += c * (last if c > 0 else first)
        if low < 0 or high >= self.sizes[buffer]:
            return f"{low}..{high} is not within {buffer}, of {self.sizes[buffer]} elements"
        return None
