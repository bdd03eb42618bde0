"""An element of a node's value, in terms of elements of what it is computed from.

One rule an operator. A rule is a generator: it asks for elements of operands, ``yield (node,
index)``, is sent their atoms, and returns its own. So no array is made in between, and chains of
any length need no deep recursion.
"""

from bisect import bisect_right
from collections.abc import Callable, Generator
from typing import Any, Protocol

import numpy as np

from ..compiler.graph import Node
from ..compiler.ops import arithmetic, comparison, indexing, layout
from ..compiler.ops.row import Op
from ..compiler.passes.computable import as_range, computing_dtype, is_elementwise
from .kernel import Atom, Const, DType, Index, Position

Request = tuple[Node, tuple[Index, ...]]
Rule = Generator[Request, Atom, Atom]


class Undecided(Exception):
    """A loop must be split at a value of its variable."""

    def __init__(self, name: str, at: int) -> None:
        super().__init__(name, at)
        self.name = name
        self.at = at


class Unreachable(Exception):
    """An element at such an index can only be had from memory."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.node = node


class Context(Protocol):
    """What a rule may use."""

    def bounds(self, index: Index) -> tuple[int, int]:
        """Smallest and largest value of an index."""

    def is_loop(self, name: str) -> bool:
        """Whether a name is a loop variable."""

    def let(self, op: Any, dtype: DType, args: tuple[Atom, ...], hint: str | None = None) -> Atom:
        """A named intermediate value."""

    def wrap(self, value: Atom, size: int) -> Index:
        """A value as an index along an axis."""

    def memory(self, node: Node, place: Index) -> Atom | None:
        """The element at a place in memory of a node that is stored before this nest."""


def to_dtype(context: Context, atom: Atom, dtype: DType) -> Atom:
    """The atom converted."""
    if atom.dtype == dtype:
        return atom
    if isinstance(atom, Const):
        return Const(np.asarray(atom.value).astype(dtype)[()], dtype)
    return context.let(arithmetic.convert, dtype, (atom,))


def addition(dtype: DType) -> Op:
    """What adding means to NumPy."""
    return comparison.logical_or if dtype.kind == "b" else arithmetic.add


def broadcast_index(index: tuple[Index, ...], shape: tuple[int, ...]) -> tuple[Index, ...]:
    """The index into an operand of a shape that broadcasts to the indexed one."""
    tail = index[len(index) - len(shape):]
    return tuple(Index() if n == 1 else i for i, n in zip(tail, shape, strict=True))


def linear(index: tuple[Index, ...], shape: tuple[int, ...]) -> Index:
    """Place of an element in memory, row by row."""
    place = Index()
    for i, n in zip(index, shape, strict=True):
        place = place.times(n) + i
    return place


def unravel(context: Context, place: Index, shape: tuple[int, ...]) -> tuple[Index, ...] | None:
    """The inverse of :func:`linear`, where it is affine; else None."""
    out: list[Index] = []
    stride = int(np.prod(shape, dtype=np.int64))
    for n in shape:
        stride //= n
        if n == 1:
            out.append(Index())
            continue
        whole = tuple((v, c // stride) for v, c in place.terms if c % stride == 0)
        rest = Index(tuple((v, c) for v, c in place.terms if c % stride),
                     place.offset % stride)
        low, high = context.bounds(rest)
        if low < 0 or high >= stride:
            return None
        quotient = Index(whole, place.offset // stride)
        low, high = context.bounds(quotient)
        if low < 0 or high >= n:
            return None
        out.append(quotient)
        place = rest
    return tuple(out)


def piece(context: Context, node: Node, index: Index, starts: list[int]) -> int:
    """In which of the pieces that begin at ``starts`` (ascending, the first at 0) the index is."""
    low, high = context.bounds(index)
    first, last = (bisect_right(starts, v) - 1 for v in (low, high))
    if first == last:
        return first
    if len(index.terms) == 1 and context.is_loop(index.terms[0][0]):
        (name, coefficient), = index.terms
        cut = starts[first + 1] if coefficient > 0 else starts[last]
        if coefficient == 1:
            raise Undecided(name, cut - index.offset)
        if coefficient == -1:
            raise Undecided(name, index.offset - cut + 1)
    raise Unreachable(node)


# -- rules ----------------------------------------------------------------------------------------


def _elementwise(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    dtype = computing_dtype(node)
    args = []
    for i, a in enumerate(node.args):
        atom = yield a, broadcast_index(index, a.type.shape)
        wanted = np.dtype(bool) if node.op is comparison.where and i == 0 else dtype
        args.append(to_dtype(context, atom, wanted))
    hint = node.origin.name if node.origin else None
    if hint is not None and hint.endswith(("_bar", "_dot")):
        hint = None                                  # a name of ours: no reason to keep it
    return context.let(node.op, node.type.dtype, tuple(args), hint)


def _convert(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    atom = yield node.args[0], index
    return to_dtype(context, atom, node.type.dtype)


def _broadcast(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    return (yield node.args[0], broadcast_index(index, node.args[0].type.shape))


def _reshape(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    source = node.args[0]
    found = unravel(context, linear(index, node.type.shape), source.type.shape)
    if found is None:
        atom = context.memory(source, linear(index, node.type.shape))
        if atom is None:
            raise Unreachable(source)
        return atom
    return (yield source, found)


def _transpose(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    axes = node.params[0]
    return (yield node.args[0], tuple(index[axes.index(i)] for i in range(len(axes))))


def array_positions(template: Any) -> tuple[int, bool]:
    """Which result axis the axes of index arrays begin at: its part, and whether they adjoin."""
    places = [i for i, p in enumerate(template) if p == ("a",) or isinstance(p, int)]
    return places[0], places[-1] - places[0] == len(places) - 1


def selection(node: Node, template: Any, arrays: tuple[Node, ...], shape: tuple[int, ...],
              index: tuple[Index, ...], context: Context) -> Generator[Request, Atom, Any]:
    """Indices into an array of which ``template`` selects the indexed elements."""
    fancy = np.broadcast_shapes(*[a.type.shape for a in arrays]) if arrays else ()
    first, adjoin = array_positions(template) if arrays else (0, True)
    before = sum(p is None or isinstance(p, tuple) for p in template[:first]) if adjoin else 0
    of_arrays = index[before:before + len(fancy)]
    rest = iter(index[:before] + index[before + len(fancy):])
    operands = iter(arrays)
    out: list[Index] = []
    for part in template:
        if part is None:
            next(rest)
        elif isinstance(part, int):
            out.append(Index((), part))
        elif part[0] == "s":
            out.append(next(rest).times(part[3]) + part[1])
        else:
            array = next(operands)
            atom = yield array, broadcast_index(of_arrays, array.type.shape)
            out.append(context.wrap(atom, shape[len(out)]))
    out += list(rest)
    return tuple(out)


def _getitem(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    source, *arrays = node.args
    found = yield from selection(node, node.params[0], tuple(arrays), source.type.shape, index,
                                 context)
    return (yield source, found)


def _written(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    """``setitem`` and ``scatter_add`` at a static place."""
    base, value, *arrays = node.args
    if arrays:
        return (yield from _one_in_each_row(node, index, context))
    inside = yield from _inside(node, index, context)
    adds = node.op is indexing.scatter_add
    if inside is None:
        return (yield base, index)
    atom = yield value, broadcast_index(inside, value.type.shape)
    atom = to_dtype(context, atom, node.type.dtype)
    if not adds:
        return atom
    old = yield base, index
    if isinstance(old, Const) and old.value == 0:
        return atom
    return context.let(addition(node.type.dtype), node.type.dtype, (old, atom))


def _one_in_each_row(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    """``x[arange(n), k]`` assigned or added to: in row i only element k[i] changes."""
    base, value, *arrays = node.args
    n = node.type.shape[0]
    shapes = {a.type.shape for a in arrays}
    if node.params[0] != (("a",),) * node.type.ndim or shapes != {(n,)} or \
            as_range(arrays[0]) != (0, 1) or node.type.ndim != 2 or n < 2:
        raise Unreachable(node)
    row, column = index
    chosen = yield arrays[1], (row,)
    place = context.wrap(chosen, node.type.shape[1])
    here = context.let(comparison.equal, np.dtype(bool), (Position(column), Position(place)))
    new = yield value, broadcast_index((row,), value.type.shape)
    new = to_dtype(context, new, node.type.dtype)
    old = yield base, index
    if node.op is indexing.scatter_add and not (isinstance(old, Const) and old.value == 0):
        new = context.let(addition(node.type.dtype), node.type.dtype, (old, new))
    return context.let(comparison.where, node.type.dtype, (here, new, old))


def _inside(node: Node, index: tuple[Index, ...], context: Context
            ) -> Generator[Request, Atom, tuple[Index, ...] | None]:
    """The index into the written part, or None outside of it."""
    axes = iter(index)
    out: list[Index] = []
    for part in node.params[0]:
        if part is None:
            out.append(Index())
            continue
        i = next(axes)
        if isinstance(part, int):
            start, stop = part, part + 1
        else:
            _, start, stop, step = part
            if step != 1:
                raise Unreachable(node)
        if start >= stop:
            return None
        if piece(context, node, i, _starts((start, stop))) != (start > 0):
            return None
        if not isinstance(part, int):
            out.append(i + -start)
    out += list(axes)
    return tuple(out)
    yield                                            # a generator like the other rules


def _starts(cuts: tuple[int, int]) -> list[int]:
    return sorted({0, *cuts})


def _roll(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    shifts, axes = node.params
    moved = list(index)
    for shift, axis in zip(shifts, axes, strict=True):
        n = node.type.shape[axis]
        by = shift % n
        if by:
            at = piece(context, node, moved[axis], [0, by])
            moved[axis] = moved[axis] + (-by if at else n - by)
    return (yield node.args[0], tuple(moved))


def _pad(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    moved = []
    source = node.args[0]
    for i, (before, _), n in zip(index, node.params[0], source.type.shape, strict=True):
        cuts = _starts((before, before + n))
        if cuts[piece(context, node, i, cuts)] != before:
            return Const(node.type.dtype.type(0), node.type.dtype)
        moved.append(i + -before)
    return (yield source, tuple(moved))


def _concatenate(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    axis = node.params[0]
    starts = np.cumsum([0, *[a.type.shape[axis] for a in node.args]]).tolist()
    which = piece(context, node, index[axis], starts[:-1])
    moved = (*index[:axis], index[axis] + -starts[which], *index[axis + 1:])
    atom = yield node.args[which], moved
    return to_dtype(context, atom, node.type.dtype)


def _stack(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    axis = node.params[0]
    which = piece(context, node, index[axis], list(range(len(node.args))))
    atom = yield node.args[which], index[:axis] + index[axis + 1:]
    return to_dtype(context, atom, node.type.dtype)


def _triangle(node: Node, index: tuple[Index, ...], context: Context) -> Rule:
    atom = yield node.args[0], index
    k = node.params[0]
    row, column = Position(index[-2] + k), Position(index[-1])
    keep = context.let(comparison.less_equal if node.op is layout.tril
                       else comparison.greater_equal, np.dtype(bool), (column, row))
    return context.let(comparison.where, atom.dtype,
                       (keep, atom, Const(atom.dtype.type(0), atom.dtype)))


_RULES: dict[Any, Callable[[Node, tuple[Index, ...], Context], Rule]] = {
    arithmetic.convert: _convert, arithmetic.as_float: _convert, layout.broadcast_to: _broadcast,
    layout.reshape: _reshape, layout.transpose: _transpose, indexing.getitem: _getitem,
    indexing.setitem: _written, indexing.scatter_add: _written, layout.roll: _roll,
    layout.pad: _pad, layout.concatenate: _concatenate, layout.stack: _stack,
    layout.tril: _triangle, layout.triu: _triangle}


def rule(node: Node) -> Callable[[Node, tuple[Index, ...], Context], Rule]:
    """The rule of a node."""
    found = _RULES.get(node.op)
    if found is not None:
        return found
    assert is_elementwise(node), node
    return _elementwise
