"""Rewrites that depend on shapes, axes and indices, as functions rather than patterns.

Each takes the simplifier, the operands and the parameters of one application and returns an
equivalent node, or None. All are EXACT but those on ``scale``, which use that a structural zero
(an element that was not selected, or was overwritten) annihilates any partial, NaN included.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph import CONSTANT, Node
from ..ops import arithmetic, comparison, indexing, layout, reduction, transcendental
from ..ops.index_form import getitem_shape
from ..ops.row import Op
from ..ops.table import TABLE
from .products import sum_of_products

Structural = Callable[[Any, tuple[Node, ...], tuple[Any, ...]], Node | None]


def is_zero(node: Node) -> bool:
    """Whether the node is zero everywhere by construction."""
    if node.op is layout.broadcast_to:
        node = node.args[0]
    return node.op is CONSTANT and node.type.size == 1 and not np.any(node.value)


def reshape(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """reshape(reshape(x)) = reshape(x); reshape to the same shape = x."""
    (x,), (shape,) = args, params
    if x.type.shape == shape and not x.type.weak:
        return x
    if x.op is layout.reshape:
        return s.make(layout.reshape, x.args, params)  # type: ignore[no-any-return]
    if x.op is layout.broadcast_to and x.args[0].type.shape == ():
        return s.make(layout.broadcast_to, x.args, params)  # type: ignore[no-any-return]
    if x.type.shape == () and x.op is CONSTANT and not x.type.weak:
        return s.make(layout.broadcast_to, args, params)  # type: ignore[no-any-return]
    return None


def transpose(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """transpose(transpose(x)) = transpose(x) with the composed order."""
    (x,), (axes,) = args, params
    if axes == tuple(range(len(axes))):
        return x
    if x.op is layout.transpose:
        inner = x.params[0]
        return s.make(layout.transpose, x.args,  # type: ignore[no-any-return]
                      (tuple(inner[a] for a in axes),))
    return None


def broadcast(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """broadcast(broadcast(x)) = broadcast(x); to the same shape = x."""
    (x,), (shape,) = args, params
    if x.type.shape == shape and not x.type.weak:
        return x
    if x.op is layout.broadcast_to:
        return s.make(layout.broadcast_to, x.args, params)  # type: ignore[no-any-return]
    if x.op is layout.reshape and x.args[0].type.shape == () and not x.args[0].type.weak:
        return s.make(layout.broadcast_to, x.args, params)  # type: ignore[no-any-return]
    return None


def convert(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """Conversion to the dtype there is already."""
    (x,), (dtype,) = args, params
    return x if x.type.dtype == np.dtype(dtype) and not x.type.weak else None


def as_float(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """float(x) of what is a float already, or where the difference cannot matter."""
    (x,) = args
    return x if x.type.weak or not s.narrow else None


def elementwise(op: Op) -> Structural:
    """f(broadcast(x), y) = f(x, y) where y has the whole shape anyway."""
    def rewrite(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
        for i, a in enumerate(args):
            if a.op is not layout.broadcast_to:
                continue
            small = a.args[0]
            if small.type.weak:
                continue
            others = [b.type.shape for j, b in enumerate(args) if j != i]
            whole = np.broadcast_shapes(a.type.shape, *others)
            if others and np.broadcast_shapes(small.type.shape, *others) == whole:
                new = (*args[:i], small, *args[i + 1:])
                return s.make(op, new, params)  # type: ignore[no-any-return]
        return None
    return rewrite


def unary_of_broadcast(op: Op) -> Structural:
    """f(broadcast(x)) = broadcast(f(x))."""
    def rewrite(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
        (x,) = args
        if x.op is not layout.broadcast_to or x.args[0].type.weak:
            return None
        inner = s.make(op, x.args, params)
        return s.make(layout.broadcast_to, (inner,), x.params)  # type: ignore[no-any-return]
    return rewrite


def where(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """where(True, x, y) = x; where(c, x, x) = x; where(c, x, where(c, y, z)) = where(c, x, z)."""
    condition, x, y = args
    if x is y:
        return x
    if condition.op is CONSTANT and condition.type.size == 1:
        return x if np.all(condition.value) else y
    if y.op is comparison.where and y.args[0] is condition:
        return s.make(comparison.where, (condition, x, y.args[2]))  # type: ignore[no-any-return]
    if x.op is comparison.where and x.args[0] is condition:
        return s.make(comparison.where, (condition, x.args[1], y))  # type: ignore[no-any-return]
    return None


def add(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """X + zeros = x; sums of products that have a better form."""
    for x, y in (args, args[::-1]):
        if is_zero(y) and x.type.shape == np.broadcast_shapes(x.type.shape, y.type.shape):
            return x
    return sum_of_products(s, args[0], args[1], +1.0)


def sub(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """Differences of products that have a better form."""
    return sum_of_products(s, args[0], args[1], -1.0)


def scale(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """Structural zeros pass through the product, so that they meet no infinite partial."""
    c, p = args
    shape = np.broadcast_shapes(c.type.shape, p.type.shape)
    if is_zero(c) or is_zero(p):
        zero = s.builder.constant(np.result_type(c.type.dtype, p.type.dtype).type(0))
        return s.make(layout.broadcast_to, (zero,), (shape,)) if shape else zero  # type: ignore[no-any-return]
    if c.op is comparison.where:
        condition, x, y = c.args
        if is_zero(x):
            return s.make(comparison.where, (condition, x, s.make(arithmetic.scale, (y, p))))  # type: ignore[no-any-return]
        if is_zero(y):
            return s.make(comparison.where, (condition, s.make(arithmetic.scale, (x, p)), y))  # type: ignore[no-any-return]
    if c.op is indexing.setitem and is_zero(c.args[1]) and c.type.shape == shape:
        inner = s.make(arithmetic.scale, (c.args[0], p))
        return s.make(indexing.setitem, (inner, *c.args[1:]), c.params)  # type: ignore[no-any-return]
    if c.op is indexing.scatter_add and is_zero(c.args[0]) and c.type.shape == shape:
        _, value, *arrays = c.args
        if p.type.shape:
            wide = s.make(layout.broadcast_to, (p,), (shape,)) if p.type.shape != shape else p
            p = s.make(indexing.getitem, (wide, *arrays), c.params)
        inner = s.make(arithmetic.scale, (value, p))
        if inner.type.dtype == c.type.dtype:
            return s.make(indexing.scatter_add, (c.args[0], inner, *arrays), c.params)  # type: ignore[no-any-return]
    return None


def getitem(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """Elements of what was just stacked, stored or broadcast."""
    x, *arrays = args
    (index,) = params
    if arrays:
        return None
    if x.op is layout.broadcast_to and x.args[0].type.shape == () and not x.args[0].type.weak:
        shape = getitem_shape(x.type.shape, index, ())
        return s.make(layout.broadcast_to, x.args, (shape,)) if shape else x.args[0]
    if x.op is layout.stack and x.params == (0,) and isinstance(index[0], int):
        part = x.args[index[0]]
        rest = index[1:]
        if part.type.weak or part.type.dtype != x.type.dtype:
            return None
        return s.make(indexing.getitem, (part,), (rest,)) if rest else part
    while x.op is indexing.setitem and len(x.args) == 2:
        stored = x.params[0]
        if stored == index:
            value = x.args[1]
            shape = getitem_shape(x.type.shape, index, ())
            if value.type.weak or value.type.dtype != x.type.dtype:
                return None
            return value if value.type.shape == shape else s.make(
                layout.broadcast_to, (value,), (shape,))
        if not disjoint(stored, index):
            return None
        x = x.args[0]
        return s.make(indexing.getitem, (x,), params)  # type: ignore[no-any-return]
    if all(p == ("s", 0, n, 1) for p, n in zip(index, x.type.shape, strict=False)) \
            and len(index) == x.type.ndim:
        return x
    return None


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
    if len(first) <= 32:
        return any(i in second for i in first)
    return first[0] <= second[-1] and second[0] <= first[-1] if first.step > 0 < second.step \
        else True


def _range(part: Any) -> range | None:
    if isinstance(part, int):
        return range(part, part + 1)
    if part[0] != "s":
        return None
    _, start, stop, step = part
    return range(start, -1 if stop is None else stop, step)


def setitem(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """A store that overwrites everything, or the same place again."""
    x, value, *arrays = args
    (index,) = params
    if arrays:
        return None
    if is_zero(value) and is_zero(x):
        return x
    if all(p == ("s", 0, n, 1) for p, n in zip(index, x.type.shape, strict=False)) \
            and len(index) == x.type.ndim and value.type.dtype == x.type.dtype:
        return value if value.type.shape == x.type.shape else s.make(
            layout.broadcast_to, (value,), (x.type.shape,))
    if x.op is indexing.setitem and x.params == params and len(x.args) == 2:
        return s.make(indexing.setitem, (x.args[0], value), params)  # type: ignore[no-any-return]
    return None


def total(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """A sum over no axis."""
    (x,), (axis, _) = args, params
    return x if not axis and not x.type.weak and x.type.dtype.kind in "fc" else None


def log(s: Any, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """log(sum(exp(x))) = logsumexp(x)."""
    (x,) = args
    if x.op is reduction.sum and x.args[0].op is transcendental.exp:
        return s.make(reduction.logsumexp, x.args[0].args, x.params)  # type: ignore[no-any-return]
    return None


STRUCTURAL: dict[Op, tuple[Structural, ...]] = {}
for _op in TABLE.values():
    if _op.batch is None and not _op.params and isinstance(_op.domain, tuple):
        _n = len(_op.domain)
        STRUCTURAL[_op] = (unary_of_broadcast(_op),) if _n == 1 else (elementwise(_op),)
for _op, _rewrite in ((layout.reshape, reshape), (layout.transpose, transpose),
                      (layout.broadcast_to, broadcast), (arithmetic.convert, convert),
                      (arithmetic.as_float, as_float),
                      (comparison.where, where), (arithmetic.add, add), (arithmetic.sub, sub),
                      (arithmetic.scale, scale), (indexing.getitem, getitem),
                      (indexing.setitem, setitem), (reduction.sum, total),
                      (transcendental.log, log)):
    STRUCTURAL[_op] = (_rewrite, *STRUCTURAL.get(_op, ()))

