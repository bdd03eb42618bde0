"""Running kernels statement by statement: slow, obviously right, and the oracle for C."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..compiler.ops import arithmetic
from .kernel import (
    CHUNK,
    Atom,
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
)


def interpret_kernel(kernel: Kernel, args: Sequence[Any]) -> tuple[Any, ...]:
    """Results of a kernel.

    Args:
        kernel: to run.
        args: numbers and arrays, in the order of its arguments.

    Raises:
        IndexError: for an index that is out of range.
    """
    memory: dict[str, Any] = {}
    names: dict[str, Any] = {}
    given = kernel.having("in", "scalar")
    for buffer, value in zip(given, args, strict=True):
        flat = np.asarray(value, buffer.dtype).ravel()
        if buffer.role == "scalar":
            names[buffer.name] = flat[0]
        memory[buffer.name] = flat
    for buffer in kernel.having("out", "scratch"):
        memory[buffer.name] = np.empty(buffer.size, buffer.dtype)
    for buffer in kernel.having("table"):
        memory[buffer.name] = np.asarray(buffer.value).ravel()
    with np.errstate(all="ignore"):
        for nest in kernel.nests:
            for chunk in range(nest.chunks):
                _Run(memory, {**names, CHUNK: chunk}, nest).block(nest.body)
            _Run(memory, dict(names), None).block(nest.finish)
    return tuple(memory[b.name].reshape(b.shape)[()] for b in kernel.having("out"))


class _Run:
    def __init__(self, memory: dict[str, Any], names: dict[str, Any], nest: Nest | None) -> None:
        self.memory = dict(memory)
        self.names = names
        self.nest = nest

    def at(self, index: Index) -> int:
        return index.offset + sum(c * int(self.names[n]) for n, c in index.terms)

    def atom(self, a: Atom) -> Any:
        if isinstance(a, Const):
            return a.value
        if isinstance(a, Ref):
            return self.names[a.name]
        if isinstance(a, Load):
            place = self.at(a.index)
            assert place >= 0, a
            return self.memory[a.buffer][place]
        return np.int64(self.at(a.index))

    def block(self, body: Sequence[Statement]) -> None:
        for s in body:
            match s:
                case Let():
                    args = [self.atom(a) for a in s.args]
                    value = args[0] if s.op is arithmetic.convert else s.op.call(*args)
                    self.names[s.name] = np.asarray(value).astype(s.dtype)[()]
                case Wrap():
                    k = int(self.atom(s.value))
                    if not -s.size <= k < s.size:
                        raise IndexError(f"index {k} is out of bounds for axis with size {s.size}")
                    self.names[s.name] = k % s.size
                case Start():
                    self.names[s.name] = s.dtype.type(s.value)
                case Update():
                    self.names[s.name] = s.op.call(self.names[s.name], self.atom(s.value))
                case Local():
                    self.memory[s.name] = np.empty(s.size, s.dtype)
                case Store():
                    place, value = self.at(s.index), self.atom(s.value)
                    assert place >= 0, s
                    old = self.memory[s.buffer][place]
                    self.memory[s.buffer][place] = value if s.op is None else s.op.call(old, value)
                case Loop():
                    if s.when is None or self.atom(s.when):
                        self.loop(s)

    def loop(self, s: Loop) -> None:
        start, stop = s.start, s.stop
        if self.nest is not None and s.name == self.nest.axis:
            first = self.names[CHUNK] * self.nest.chunk
            start, stop = max(start, first), min(stop, first + self.nest.chunk, self.nest.extent)
        for i in range(start, stop):
            self.names[s.name] = i
            self.block(s.body)
