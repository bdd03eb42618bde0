"""C functions that call one another: each is handed one array of pointers, as kernels are.

Pointers to the arguments come first, then those to the results, to room for what is computed in
between, and to where a failure is noted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..compiler.arraytype import ArrayType
from .kernel import Kernel

SCRATCH = "@scratch"     # stands for the bytes of a function's own, until they are known
_WIDTH = 96


@dataclass(frozen=True, eq=False)
class Routine:
    """A C function, and all that it calls.

    Attributes:
        name: of the function.
        kernels: that it is, or that are called.
        functions: lines of the other functions, those that are called first.
        scratch: bytes of memory that it needs while it runs.
        work: an estimate of its cost, in additions.
        inputs: types of the arguments.
        outputs: types of the results.
    """

    name: str
    kernels: tuple[Kernel, ...]
    functions: tuple[tuple[str, ...], ...]
    scratch: int
    work: int
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]


def finished(name: str, lines: Sequence[str], called: Sequence[Routine], room: int,
             inputs: Sequence[ArrayType], outputs: Sequence[ArrayType], work: int) -> Routine:
    """The routine with these lines, which has ``room`` bytes in front of those of what it calls."""
    text = tuple(line.replace(SCRATCH, str(room)) for line in lines)
    return Routine(name, tuple(k for r in called for k in r.kernels),
                   (*[f for r in called for f in r.functions], text),
                   room + max((r.scratch for r in called), default=0), work, tuple(inputs),
                   tuple(outputs))


def call(name: str, pointers: Sequence[str], indent: str) -> list[str]:
    """The statements of a call."""
    lines = [f"{indent}void *q[] = {{"]
    for text in pointers:
        if len(lines[-1]) + len(text) > _WIDTH:
            lines.append(f"{indent}    ")
        lines[-1] += text + ", "
    lines[-1] = lines[-1].rstrip(", ") + "};"
    return [*[line.rstrip() for line in lines], f"{indent}{name}(q, host);"]
