"""How the elements of a result depend on the elements of an operand; sparsity is found from this.

A *flow* is a sequence of steps from an operand to the result, on elements numbered in C order.
``()`` says that each element depends on the same element; None, that there is no dependence. A
flow may say too much, never too little. A row states it as ``flow(i, types, out, known, **params)``
for its operand ``i``: the types of all operands and of the result, and ``known(j)``, the value of
operand ``j`` if that can never change, else None. Only what a linear operator needs is asked for:
patterns are taken from tangents, and the graph of a tangent is linear.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Gather(NamedTuple):
    """For each new element, the old element it depends on; −1 for none.

    With ``weights`` the new element is that much of the old one; see ``Op.copies``.
    """

    index: Any
    weights: Any = None


class Collect(NamedTuple):
    """For each old element, the new element (of ``size``) that depends on it; −1 for none."""

    target: Any
    size: int


PAIRS = 20_000_000       # pairs of elements that are looked at one by one

Flow = tuple[Gather | Collect, ...] | None
Known = Callable[[int], Any]


def numbers(shape: Any) -> Any:
    """The elements of a shape, numbered in C order."""
    n = 1
    for length in shape:
        n *= length
    return np.arange(n).reshape(shape)


def everything(n_in: int, n_out: int) -> Flow:
    """Every element of the result depends on every element of the operand."""
    return Collect(np.zeros(n_in, np.intp), 1), Gather(np.zeros(n_out, np.intp))


def elements(i: Any, types: Any, out: Any, known: Any, **params: Any) -> Flow:
    """Operators that broadcast: each element depends on those at its place."""
    return spread(types[i].shape, out.shape)


def spread(shape: Any, to: Any) -> tuple[Gather, ...]:
    """Broadcasting."""
    if shape == to:
        return ()
    return (Gather(np.broadcast_to(numbers(shape), to).ravel()),)


def moves(call: Any) -> Any:
    """Operators that only rearrange: run on the numbers of the elements; zeros are new."""
    def flow(i: Any, types: Any, out: Any, known: Any, **params: Any) -> Flow:
        operands = [numbers(t.shape) + 1 if j == i else np.zeros(t.shape, np.intp)
                    for j, t in enumerate(types)]
        return (Gather(np.ravel(call(*operands, **params)) - 1),)
    return flow


def product(i: Any, types: Any, out: Any, known: Any) -> Flow:
    """Of two factors: nothing where the other one is zero for good."""
    other = known(1 - i)
    if other is None or np.all(other):
        return spread(types[i].shape, out.shape)
    return (Gather(np.where(np.broadcast_to(np.equal(other, 0), out.shape), -1,
                            np.broadcast_to(numbers(types[i].shape), out.shape)).ravel()),)


def along(axes: Any, shape: Any, out_shape: Any) -> Flow:
    """Everything along some axes, which may change their length, nothing across the others."""
    kept = [1 if a in axes else n for a, n in enumerate(shape)]
    lanes = numbers(kept)
    return (Collect(np.broadcast_to(lanes, shape).ravel(), lanes.size),
            Gather(np.broadcast_to(lanes, out_shape).ravel()))


def by_axes(name: str) -> Any:
    """Operators that mix everything along the axes in a parameter, such as transforms."""
    def flow(i: Any, types: Any, out: Any, known: Any, **params: Any) -> Flow:
        axes = params[name] if isinstance(params[name], tuple) else (params[name],)
        return along(axes, types[i].shape, out.shape)
    return flow


def reduces(i: Any, types: Any, out: Any, known: Any, axis: Any, keepdims: Any) -> Flow:
    """Reductions over the axes in ``axis``."""
    kept = [1 if a in axis else n for a, n in enumerate(types[i].shape)]
    return (Collect(np.broadcast_to(numbers(kept), types[i].shape).ravel(), out.size),)


def accumulates(i: Any, types: Any, out: Any, known: Any, axis: Any) -> Flow:
    """Running sums: each element depends on those up to it."""
    shape = types[i].shape
    if types[i].size * (shape[axis] + 1) // 2 > PAIRS:
        return along((axis,), shape, out.shape)
    later, earlier = np.nonzero(np.tri(shape[axis], dtype=bool))
    at = np.moveaxis(numbers(shape), axis, -1)
    return (Gather(at[..., earlier].ravel()), Collect(at[..., later].ravel(), out.size))


def blocks(n_core: Any) -> Any:
    """Operators on stacks: everything within one member, nothing across them.

    ``n_core(i, types)`` is how many trailing axes of an operand belong to a member.
    """
    def flow(i: Any, types: Any, out: Any, known: Any, **params: Any) -> Flow:
        shape = types[i].shape
        n_lead = len(shape) - n_core(i, types)
        n_stack = max(t.ndim - n_core(j, types) for j, t in enumerate(types))
        members = numbers(shape[:n_lead])
        inside = np.broadcast_to(members.reshape(shape[:n_lead] + (1,) * (len(shape) - n_lead)),
                                 shape)
        stacked = np.broadcast_to(members, out.shape[:n_stack])
        return (Collect(inside.ravel(), members.size),
                Gather(np.broadcast_to(stacked.reshape(
                    stacked.shape + (1,) * (out.ndim - n_stack)), out.shape).ravel()))
    return flow


# -- contractions ---------------------------------------------------------------------------------

def contraction(i: int, shapes: Any, letters: Any, out: Any, known: Known) -> Flow:
    """An einsum: what operand ``i`` meets, through the non-zeros of the other one if it is known.

    Args:
        i: the operand.
        shapes: of all operands.
        letters: of all operands, as sequences of hashable labels.
        out: labels of the result.
        known: value of an operand, or None.
    """
    sizes: dict[Any, int] = {}
    for names, shape in zip(letters, shapes, strict=True):
        for name, n in zip(names, shape, strict=True):
            if sizes.get(name, 1) == 1:
                sizes[name] = n
    if len(shapes) == 2:
        other = known(1 - i)
        if other is not None and not np.all(other):
            flow = _through(i, shapes, letters, out, sizes, np.asarray(other))
            if flow is not None:
                return flow
    mine, shape = letters[i], shapes[i]
    kept = [name for name in dict.fromkeys(mine) if name in out]
    # First onto the labels that stay; elements off a repeated label's diagonal go nowhere.
    at = np.indices(shape, sparse=True)
    lengths = [max(n for m, n in zip(mine, shape, strict=True) if m == name) for name in kept]
    place: Any = np.zeros((1,) * len(shape), np.intp)
    for name, n in zip(kept, lengths, strict=True):
        place = place * n + at[mine.index(name)]
    target = np.array(np.broadcast_to(place, shape))
    for a, name in enumerate(mine):
        if mine.index(name) != a:
            target[np.broadcast_to(at[a] != at[mine.index(name)], shape)] = -1
    n_kept = 1
    for n in lengths:
        n_kept *= n
    return (Collect(target.ravel(), n_kept),
            Gather(np.broadcast_to(_placed(kept, lengths, out), [sizes[c] for c in out]).ravel()))


def _placed(kept: Any, lengths: Any, out: Any) -> Any:
    """Numbers of elements over the labels ``kept``, with the axes of ``out``."""
    order = sorted(range(len(kept)), key=lambda k: out.index(kept[k]))
    shown = np.transpose(numbers(lengths), order)
    return shown.reshape([lengths[kept.index(c)] if c in kept else 1 for c in out])


def _through(i: int, shapes: Any, letters: Any, out: Any, sizes: Any, other: Any) -> Flow:
    """Pairs of elements that meet at a non-zero of the other operand; None if they are many."""
    mine, theirs = letters[i], letters[1 - i]
    if len(set(mine)) < len(mine) or len(set(theirs)) < len(theirs):
        return None
    where = np.nonzero(other)
    free = [c for c in mine if c not in theirs]
    n_free = 1
    for c in free:
        n_free *= sizes[c]
    if where[0].size * n_free > PAIRS:
        return None
    at: dict[Any, Any] = {}
    for c, axis in zip(theirs, where, strict=True):
        if other.shape[theirs.index(c)] == sizes[c]:
            at[c] = axis[:, None]
        else:                                        # of length one, stretched
            return None
    for c, axis in zip(free, np.indices([sizes[c] for c in free]).reshape(len(free), n_free),
                       strict=True):
        at[c] = axis[None, :]
    both = (where[0].size, n_free)

    def number(names: Any, lengths: Any) -> Any:
        place: Any = np.zeros((1, 1), np.intp)
        for c, n in zip(names, lengths, strict=True):
            place = place * n + (at[c] if n > 1 else 0)
        return np.broadcast_to(place, both).ravel()
    n_out = 1
    for c in out:
        n_out *= sizes[c]
    return (Gather(number(mine, shapes[i]), np.repeat(other[where], n_free)),
            Collect(number(out, [sizes[c] for c in out]), n_out))
