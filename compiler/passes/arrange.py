"""Rewrites of what only rearranges or repeats elements, and of sums and products over it.

EXACT where nothing is added up; sums of repeated elements become products, which round less.
"""

import math
from typing import Any

import numpy as np

from ..graph import CONSTANT, Node
from ..ops import arithmetic, comparison, contraction, indexing, layout, reduction
from ..ops.index_form import getitem_shape
from ..ops.row import Op, broadcast_shapes
from .rewriter import Rewrite, Rewriter, Shape, constant_number, filled, is_zero, reshapes_by_ones

_FLOATING = "fc"


def _outwards(s: Rewriter, op: Op, x: Node, params: tuple[Any, ...]) -> Node | None:
    """op(−x) = −op(x) and op(c·x) = c·op(x), for an operator that only rearranges."""
    if x.op is arithmetic.neg:
        return s.make(arithmetic.neg, (s.make(op, x.args, params),))
    if x.op is arithmetic.scale and constant_number(x.args[0]) is not None:
        return s.make(arithmetic.scale, (x.args[0], s.make(op, (x.args[1],), params)))
    return None


def reshape(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """To the same shape; of a reshaped array; of one repeated number."""
    (x,), (shape,) = args, params
    if x.type.shape == shape and not x.type.weak:
        return x
    if x.op is layout.reshape:
        return s.make(layout.reshape, x.args, params)
    if x.op is layout.broadcast_to and x.args[0].type.shape == ():
        return s.make(layout.broadcast_to, x.args, params)
    if x.type.shape == ():
        return s.make(layout.broadcast_to, args, params)
    if x.op is layout.broadcast_to:
        narrow = _narrow_shape(x.args[0].type.shape, x.type.shape, shape)
        if narrow is not None:
            return filled(s, s.make(layout.reshape, x.args, (narrow,)), shape)
    return _outwards(s, layout.reshape, x, params)


def _narrow_shape(small: Shape, whole: Shape, new: Shape) -> Shape | None:
    """Shape of the small array where its stretched form only gains or loses axes of length one."""
    lengths = (1,) * (len(whole) - len(small)) + small
    long = [n for n, m in zip(lengths, whole, strict=True) if m != 1]
    if [m for m in whole if m != 1] != [m for m in new if m != 1]:
        return None
    left = iter(long)
    return tuple(1 if m == 1 else next(left) for m in new)


def transpose(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """The composed order; (A B)ᵀ = Bᵀ Aᵀ where that leaves fewer transposes."""
    (x,), (axes,) = args, params
    if axes == tuple(range(len(axes))):
        return x
    if x.op is layout.transpose:
        (inner,) = x.params
        return s.make(layout.transpose, x.args, (tuple(inner[a] for a in axes),))
    if x.op is contraction.matmul and axes == (1, 0) and all(a.type.ndim == 2 for a in x.args) \
            and any(a.op is layout.transpose for a in x.args):
        left, right = x.args
        return s.make(contraction.matmul, (s.make(layout.transpose, (right,), params),
                                           s.make(layout.transpose, (left,), params)))
    if x.op is layout.stack:
        (at,) = x.params
        to = axes.index(at)
        if sorted(axes[:to] + axes[to + 1:]) == list(axes[:to] + axes[to + 1:]):
            return s.make(layout.stack, x.args, (to,))       # only the new axis moves
    undone = _undone(s, x, axes, _DEEP)
    return undone or _outwards(s, layout.transpose, x, params)


_DEEP = 4         # levels of elementwise operators through which transposes are followed


def _undone(s: Rewriter, node: Node, axes: tuple[int, ...], depth: int) -> Node | None:
    """The reordered value, where that undoes transposes: (sin(Aᵀ) + 2 Bᵀ)ᵀ = sin(A) + 2 B."""
    if node.type.shape == ():
        return node
    if node.op is layout.transpose:
        undone = len(axes) == node.type.ndim and all(
            node.params[0][a] == i for i, a in enumerate(axes))
        return node.args[0] if undone else None
    if not depth or not node.args or node.params or node.op.batch is not None or \
            node.op.expand is not None or node.op.reference is not None:
        return None
    back = [_undone(s, a, axes, depth - 1) for a in node.args]
    if any(a is None for a in back):
        return None
    return s.make(node.op, tuple([a for a in back if a is not None]))


def read(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """xᵀ[:, i] = x[i]: integers and slices are taken before axes are reordered."""
    x, (index,) = args[0], params
    if len(args) > 1 or x.op is not layout.transpose or None in index:
        return None
    axes = x.params[0]
    parts: list[Any] = [None] * len(axes)
    for part, axis in zip(index, axes, strict=True):
        parts[axis] = part
    left = [axis for part, axis in zip(index, axes, strict=True) if not isinstance(part, int)]
    out = s.make(indexing.getitem, x.args, (tuple(parts),))
    order = tuple(sorted(left).index(axis) for axis in left)
    return s.make(layout.transpose, (out,), (order,)) if left else out


def broadcast(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """To the same shape; of a stretched array; of one with axes of length one in front."""
    (x,), (shape,) = args, params
    if x.type.shape == shape and not x.type.weak:
        return x
    if x.op is layout.broadcast_to or (x.op is layout.reshape and reshapes_by_ones(
            x.args[0].type.shape, x.type.shape)):
        return s.make(layout.broadcast_to, x.args, params)
    return None


def convert(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """To the dtype there is already."""
    (x,), (dtype,) = args, params
    return x if x.type.dtype == np.dtype(dtype) and not x.type.weak else None


def as_float(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """float(x) of what is a float already, or where the difference cannot matter."""
    (x,) = args
    return x if x.type.weak or not s.narrow else None


def elementwise(op: Op) -> Rewrite:
    """f(broadcast(x), y) = f(x, y), stretched afterwards if y has not the whole shape."""
    def rewrite(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
        if all(a.op is not layout.broadcast_to and a.op is not layout.reshape for a in args):
            return None
        for narrowed in (_without_ones, _unstretched):
            small = tuple([narrowed(a) for a in args])
            if small == args:
                continue
            whole = broadcast_shapes(*[a.type.shape for a in args])
            inner = broadcast_shapes(*[a.type.shape for a in small])
            if inner == whole:
                return s.make(op, small, params)
            if narrowed is _unstretched:
                return filled(s, s.make(op, small, params), whole)
        return None
    return rewrite


def _unstretched(node: Node) -> Node:
    return node.args[0] if node.op is layout.broadcast_to else node


def _without_ones(node: Node) -> Node:
    node = _unstretched(node)
    if node.op is layout.reshape and reshapes_by_ones(node.args[0].type.shape, node.type.shape):
        return node.args[0]
    return node


_MIXED = (arithmetic.add, arithmetic.sub, arithmetic.mul, arithmetic.div, arithmetic.scale)


def without_conversion(op: Op) -> Rewrite:
    """f(x, float(n)) = f(x, n) for an integer n, which NumPy converts just so."""
    def rewrite(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
        for i, a in enumerate(args):
            other = args[1 - i]
            if a.op is arithmetic.convert and a.args[0].type.dtype.kind in "iu" and \
                    not a.args[0].type.weak and other.type.dtype == a.type.dtype and \
                    other.op is not arithmetic.convert:
                small = (a.args[0], other) if i == 0 else (other, a.args[0])
                return s.make(op, small, params)
        return None
    return rewrite


def of_one(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """A sum, product or extremum of one element is that element."""
    (x,), (axis, keepdims) = args, params
    shape = x.type.shape
    if x.type.weak or x.type.dtype.kind not in _FLOATING or any(shape[a] != 1 for a in axis):
        return None
    if keepdims or not axis:
        return x
    rest = tuple(n for a, n in enumerate(shape) if a not in axis)
    if not rest:
        return s.make(indexing.getitem, (x,), ((0,) * len(shape),))
    return s.make(layout.reshape, (x,), (rest,))


def total(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """Sums over no axis, of negated, repeated and scattered elements."""
    (x,), (axis, keepdims) = args, params
    if x.type.weak or x.type.dtype.kind not in _FLOATING:
        return None
    single = of_one(s, args, params)
    if single is not None:
        return single
    if x.op is arithmetic.neg:
        return s.make(arithmetic.neg, (s.make(reduction.sum, x.args, params),))
    if x.op is layout.broadcast_to:
        return _sum_of_repeated(s, x, axis, keepdims)
    if len(axis) < x.type.ndim or keepdims:
        return None
    if x.op is layout.reshape:
        inner = x.args[0]
        return s.make(reduction.sum, (inner,), (tuple(range(inner.type.ndim)), False))
    if x.op is indexing.scatter_add and is_zero(x.args[0]) and len(x.args) > 2 and \
            x.args[1].type.shape == _selected(x):
        value = x.args[1]
        return s.make(reduction.sum, (value,), (tuple(range(value.type.ndim)), False))
    return None


def _selected(scatter: Node) -> Shape:
    from_arrays = getitem_shape(scatter.type.shape, scatter.params[0],
                                         [a.type.shape for a in scatter.args[2:]])
    return tuple(from_arrays)


def _sum_of_repeated(s: Rewriter, x: Node, axis: tuple[int, ...], keepdims: bool) -> Node | None:
    """Σ over an axis along which elements are repeated n times: n·x."""
    (small,) = x.args
    whole = x.type.shape
    added = len(whole) - small.type.ndim
    lengths = (1,) * added + small.type.shape
    repeated = [a for a in axis if a < added or lengths[a] != whole[a]]
    count = math.prod(whole[a] for a in repeated)
    if count == 0 or small.type.weak:
        return None
    rest = tuple(a - added for a in axis if a not in repeated)
    out = s.make(reduction.sum, (small,), (rest, False)) if rest else small
    if count > 1:
        out = s.make(arithmetic.scale, (s.builder.constant(count), out))
    kept = tuple(1 if a in axis else n for a, n in enumerate(lengths) if keepdims or a not in axis)
    final = tuple(1 if a in axis else n for a, n in enumerate(whole) if keepdims or a not in axis)
    return filled(s, s.make(layout.reshape, (out,), (kept,)), final)


def matmul(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """Signs outwards; rows that were not selected take no part; 1 A = A.

    A @ scatter(rows, v) = A[..., rows] @ v, so that what else is in A is not even looked at;
    scatter(rows, v) @ B = scatter(rows, v @ B).
    """
    x, y = args
    if x.op is arithmetic.neg or y.op is arithmetic.neg:
        inner = tuple(a.args[0] if a.op is arithmetic.neg else a for a in args)
        out = s.make(contraction.matmul, inner)
        both = x.op is arithmetic.neg and y.op is arithmetic.neg
        return out if both else s.make(arithmetic.neg, (out,))
    for one, other in ((x, y), (y, x)):
        if _is_identity(one) and other.type.ndim == 2 and other.type.dtype == one.type.dtype:
            return other
    if _scatters_rows(y) and x.type.ndim == 2:
        _, value, *arrays = y.args
        rows = y.params[0][0]
        columns = (("s", 0, x.type.shape[0], 1), rows)
        picked = s.make(indexing.getitem, (x, *arrays), (columns,))
        return s.make(contraction.matmul, (picked, value))
    if _scatters_rows(x) and x.type.ndim == y.type.ndim == 2:
        base, value, *arrays = x.args
        shape = (x.type.shape[0], y.type.shape[1])
        inside = s.make(contraction.matmul, (value, y))
        index = (x.params[0][0], ("s", 0, shape[1], 1))
        return s.make(indexing.scatter_add,
                      (filled(s, _unstretched(base), shape), inside, *arrays), (index,))
    return None


def _is_identity(node: Node) -> bool:
    """Whether this is the basis of unit vectors that a Jacobian starts from."""
    if node.op is not comparison.where or node.type.ndim != 2 or \
            node.type.shape[0] != node.type.shape[1]:
        return False
    chosen, one, zero = node.args
    return chosen.op is CONSTANT and constant_number(one) == 1 and constant_number(zero) == 0 and \
        bool(np.array_equal(chosen.value, np.eye(node.type.shape[0])))


def _scatters_rows(node: Node) -> bool:
    """Whether whole rows are added into zeros, by a list of rows or a mask of rows."""
    if node.op is not indexing.scatter_add or not is_zero(node.args[0]) or len(node.args) != 3 \
            or node.args[2].type.ndim != 1 or node.args[1].type.shape != _selected(node):
        return False
    first, *rest = node.params[0]
    return not isinstance(first, int) and first is not None and first[0] in "am" and all(
        p == ("s", 0, n, 1) for p, n in zip(rest, node.type.shape[1:], strict=True))


def einsum(s: Rewriter, args: tuple[Node, ...], params: tuple[Any, ...]) -> Node | None:
    """Scalar operands become factors; a single operand with its axes reordered, a transpose."""
    given, output = params[0].split("->")
    inputs = given.split(",")
    numbers = [a for a, letters in zip(args, inputs, strict=True) if not letters]
    others = [(a, letters) for a, letters in zip(args, inputs, strict=True) if letters]
    if numbers and others:
        spec = ",".join(letters for _, letters in others) + "->" + output
        out = s.make(contraction.einsum, tuple(a for a, _ in others), (spec,))
        for number in numbers:
            out = s.make(arithmetic.mul, (number, out))
        return out
    if len(args) == 1 and sorted(inputs[0]) == sorted(output) and len(set(output)) == len(output):
        return s.make(layout.transpose, args, (tuple(inputs[0].index(c) for c in output),))
    return None




REWRITES: tuple[tuple[Op, Rewrite], ...] = (
    (layout.reshape, reshape), (layout.transpose, transpose), (layout.broadcast_to, broadcast),
    (arithmetic.convert, convert), (arithmetic.as_float, as_float),
    (reduction.prod, of_one), (reduction.max, of_one), (reduction.min, of_one),
    (indexing.getitem, read), (reduction.sum, total), (contraction.matmul, matmul),
    (contraction.einsum, einsum), *[(op, without_conversion(op)) for op in _MIXED])
