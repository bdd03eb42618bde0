"""Rewrites of selection: ``where``, reading and writing of elements.

EXACT, but that a zero may lose its sign.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import CONSTANT, Node
from ..ops import arithmetic, comparison, indexing, layout
from ..ops.index_form import getitem_shape
from ..ops.row import Op
from .rewriter import Rewrite, Rewriter, filled, is_true, is_zero, zeros
from .support import support

_SMALL = 32     # elements of an index range that are compared one by one
_KNOWN = 1 << 16        # elements of an array whose written places are marked one by one


def where(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """Known conditions, equal branches, branches that ask again; signs outwards.

    where(c, x, where(c, y, z)) = where(c, x, z), where(x < y, where(x == y, a, b), c) =
    where(x < y, b, c), and where(c, 0, where(d, x, 0)) = where(d and not c, x, 0).
    """
    condition, x, y = args
    if x is y or _selects_all(s, condition, x, y):
        return x
    if condition.op is CONSTANT and condition.type.size == 1:
        return x if is_true(condition) else y
    if condition.op is CONSTANT and (is_true(condition) or not np.any(condition.value)):
        branch = x if is_true(condition) else y
        kind = comparison.where.type_rule(*[a.type for a in args])
        if branch.type.dtype == kind.dtype:
            return filled(s, branch, kind.shape)
    if y.op is comparison.where and y.args[0] is condition:
        return s.make(comparison.where, (condition, x, y.args[2]))
    if x.op is comparison.where:
        if x.args[0] is condition:
            return s.make(comparison.where, (condition, x.args[1], y))
        if _excludes(condition, x.args[0]):
            return s.make(comparison.where, (condition, x.args[2], y))
    if x.type.dtype == bool and y.type.dtype == bool and condition.type.dtype == bool:
        return _logical(s, condition, x, y)
    if is_zero(x) and y.op is comparison.where and is_zero(y.args[2]) and \
            condition.type == y.args[0].type and condition.type.size < y.type.size:
        # One choice of large arrays instead of two, for one more of small ones.
        both = s.make(comparison.logical_and, (
            y.args[0], s.make(comparison.logical_not, (condition,))))
        return s.make(comparison.where, (both, y.args[1], x))
    if x.op is arithmetic.neg and is_zero(y):
        return s.make(arithmetic.neg, (s.make(comparison.where, (condition, x.args[0], y)),))
    if y.op is arithmetic.neg and is_zero(x):
        return s.make(arithmetic.neg, (s.make(comparison.where, (condition, x, y.args[0])),))
    return None


def _selects_all(s: Rewriter, condition: Node, x: Node, y: Node) -> bool:
    """Whether a constant choice between x and zero leaves out only what was never stored into x.

    The zeros of a product are others: they would be NaN without the choice.
    """
    if not is_zero(y) or condition.op is not CONSTANT or condition.type.shape != x.type.shape or \
            x.type.dtype.kind not in "fc":
        return False
    base = x
    while base.op in (indexing.setitem, indexing.scatter_add):
        base = base.args[0]
    if base is x or not is_zero(base):
        return False
    kept = support(s, x)
    return kept is not None and kept.op is CONSTANT and not np.any(kept.value & ~condition.value)


def _logical(s: Rewriter, condition: Node, x: Node, y: Node) -> Node | None:
    """A choice between truth values is a logical operation."""
    if is_zero(y):
        return condition if is_true(x) else s.make(comparison.logical_and, (condition, x))
    if is_true(y) and is_zero(x):
        return s.make(comparison.logical_not, (condition,))
    return None


def _excludes(condition: Node, other: Node) -> bool:
    """Whether the other comparison fails wherever the first one holds."""
    return condition.op in (comparison.less, comparison.greater) and \
        other.op is comparison.equal and set(condition.args) == set(other.args)


def sum_of_selections(s: Rewriter, op: Op, first: Node, second: Node) -> Node | None:
    """where(c, x, 0) ± where(c, y, 0) = where(c, x ± y, 0), and the like with branches swapped."""
    if not (first.op is comparison.where and second.op is comparison.where
            and first.args[0] is second.args[0]):
        return None
    if first.type != second.type or not any(map(is_zero, first.args[1:])) or not any(
            map(is_zero, second.args[1:])):
        return None
    branches = [s.make(op, pair) for pair in zip(first.args[1:], second.args[1:], strict=True)]
    return s.make(comparison.where, (first.args[0], *branches))


def getitem(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """Elements of what was just stacked, stored or stretched; new axes by reshaping."""
    x, *arrays = args
    (index,) = params
    if arrays:
        if _reads_elsewhere(x, arrays, index):
            return s.make(indexing.getitem, (x.args[0], *arrays), params)
        return _reads_back(s, x, arrays, index)
    if None in index:
        inner = s.make(indexing.getitem, (x,), (tuple(p for p in index if p is not None),))
        return s.make(layout.reshape, (inner,), (getitem_shape(x.type.shape, index, ()),))
    if _is_everything(index, x):
        return x
    if x.op is layout.broadcast_to and x.args[0].type.shape == () and not x.args[0].type.weak:
        return filled(s, x.args[0], getitem_shape(x.type.shape, index, ()))
    if x.op is layout.stack and x.params == (0,) and isinstance(index[0], int):
        part = x.args[index[0]]
        if part.type.weak or part.type.dtype != x.type.dtype:
            return None
        return s.make(indexing.getitem, (part,), (index[1:],)) if index[1:] else part
    if x.op is indexing.setitem and len(x.args) == 2:
        return _of_stored(s, x, index)
    return None


def _of_stored(s: Rewriter, x: Node, index: Any) -> Node | None:
    """Reading right after writing: what was written there, or what was there before."""
    base, value = x.args
    (stored,) = x.params
    if stored == index:
        if value.type.weak or value.type.dtype != x.type.dtype:
            return None
        return filled(s, value, getitem_shape(x.type.shape, index, ()))
    if disjoint(stored, index):
        return s.make(indexing.getitem, (base,), (index,))
    return None


def _reads_elsewhere(x: Node, arrays: Sequence[Node], index: Any) -> bool:
    """Whether an array that was stored into is read at other, constant, places."""
    if x.op is not indexing.setitem or x.type.size > _KNOWN or \
            not all(a.op is CONSTANT for a in (*arrays, *x.args[2:])):
        return False
    written = indexing.setitem.call(np.zeros(x.type.shape, bool), True,
                                    *[a.value for a in x.args[2:]], index=x.params[0])
    return not np.any(indexing.getitem.call(written, *[a.value for a in arrays], index=index))


def _reads_back(s: Rewriter, x: Node, arrays: Sequence[Node], index: Any) -> Node | None:
    """What was stored, where it is read at the same constant places and none of them repeats."""
    if x.op is not indexing.setitem or x.params != (index,) or x.type.size > _KNOWN or \
            list(x.args[2:]) != list(arrays) or any(a.op is not CONSTANT for a in arrays) or \
            any(isinstance(p, tuple) and p[0] == "m" for p in index):
        return None
    value = x.args[1]
    shape = getitem_shape(x.type.shape, index, [a.type.shape for a in arrays])
    if value.type.weak or value.type.dtype != x.type.dtype:
        return None
    written = indexing.setitem.call(np.zeros(x.type.shape, bool), True,
                                    *[a.value for a in arrays], index=index)
    return filled(s, value, shape) if np.count_nonzero(written) == math.prod(shape) else None


def _is_everything(index: Any, x: Node) -> bool:
    return len(index) == x.type.ndim and all(
        p == ("s", 0, n, 1) for p, n in zip(index, x.type.shape, strict=True))


def disjoint(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two basic indices select no common element, seen axis by axis."""
    a_parts = [p for p in a if p is not None]
    b_parts = [p for p in b if p is not None]
    return any(not _overlap(p, q) for p, q in zip(a_parts, b_parts, strict=True))


def _overlap(p: Any, q: Any) -> bool:
    first, second = _range(p), _range(q)
    if first is None or second is None:
        return True
    if len(first) > len(second):
        first, second = second, first
    if len(first) <= _SMALL:
        return any(i in second for i in first)
    return max(min(first), min(second)) <= min(max(first), max(second))


def _range(part: Any) -> range | None:
    if isinstance(part, int):
        return range(part, part + 1)
    if part[0] != "s":
        return None
    _, start, stop, step = part
    return range(start, -1 if stop is None else stop, step)


def setitem(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """A store of what is there, of everything, or to the place of the last one."""
    x, value, *arrays = args
    (index,) = params
    if is_zero(value) and is_zero(x):
        return x
    if arrays:
        return None
    if _is_everything(index, x) and value.type.dtype == x.type.dtype:
        return filled(s, value, x.type.shape)
    if value.op is indexing.getitem and value.args == (x,) and value.params == params:
        return x
    if x.op is indexing.setitem and x.params == params and len(x.args) == 2:
        return s.make(indexing.setitem, (x.args[0], value), params)
    return None


def scatter_add(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """Adding to a place just cleared stores; adding everywhere adds; twice in a place, once.

    What has been scattered before is not scattered again, but added.
    """
    x, value, *arrays = args
    (index,) = params
    if is_zero(value):
        return x
    if arrays and not is_zero(x):
        nothing = zeros(s, x.type.dtype, x.type.shape)
        before = s.builder.memo.get((indexing.scatter_add, (nothing, *args[1:]), params))
        return None if before is None else s.make(arithmetic.add, (x, before))
    if arrays or value.type.dtype != x.type.dtype:
        return None
    if None in index:
        kept = tuple(p for p in index if p is not None)
        shape = getitem_shape(x.type.shape, kept, ())
        value = filled(s, value, getitem_shape(x.type.shape, index, ()))
        return s.make(indexing.scatter_add, (x, s.make(layout.reshape, (value,), (shape,))),
                      (kept,))
    if _is_everything(index, x):
        return s.make(arithmetic.add, (x, value))
    if len(x.args) == 2 and x.params == params:
        if x.op is indexing.setitem and is_zero(x.args[1]):
            return s.make(indexing.setitem, (x.args[0], value), params)
        if x.op is indexing.scatter_add:
            both = s.make(arithmetic.add, (x.args[1], value))
            return s.make(indexing.scatter_add, (x.args[0], both), params)
    return None


def unequal(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """x < x holds nowhere, NaN or not."""
    x, y = args
    return zeros(s, bool, x.type.shape) if x is y else None


_OF_TRUTH = {arithmetic.add: comparison.logical_or, arithmetic.mul: comparison.logical_and}


def truth(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...], op: Op) -> Node | None:
    """What sums and products of truth values mean to NumPy; printed as such they might count."""
    if any(a.type.dtype != bool for a in args):
        return None
    return s.make(_OF_TRUTH[op], args)


def equal(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """x == x holds everywhere, where there are no NaN."""
    x, y = args
    same = x is y or (x.op is y.op is CONSTANT and x.type == y.type and x.type.size <= _KNOWN
                      and np.array_equal(x.value, y.value))
    if not same or x.type.dtype.kind not in "ib":
        return None
    return filled(s, s.builder.constant(np.bool_(True)), x.type.shape)


REWRITES: tuple[tuple[Op, Rewrite], ...] = (
    *[(op, functools.partial(truth, op=op)) for op in _OF_TRUTH],
    (comparison.where, where), (comparison.less, unequal), (comparison.greater, unequal),
    (comparison.equal, equal),
    (indexing.getitem, getitem), (indexing.setitem, setitem),
    (indexing.scatter_add, scatter_add))
