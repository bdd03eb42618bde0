"""Products of arrays: matmul, dot, inner, outer, tensordot, einsum, kron, cross."""

from typing import Any

import numpy as np

from ...ops import contraction
from .. import mutation
from ..registry import FUNCTIONS, stands_for
from .common import as_array, axes_of, one_axis, refuse
from .layout import ravel


@stands_for(np.matmul, np.linalg.matmul)
def matmul(x1: Any, x2: Any, /, out: Any = None) -> Any:
    """Matrix product, broadcast over leading axes."""
    return mutation.write_out(contraction.matmul(as_array(x1), as_array(x2)), out)


@stands_for(np.dot, method="dot")
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Sum over the last axis of ``a`` and the second to last of ``b``."""
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        result = a * b
    elif b.ndim <= 2 and a.ndim <= 2:
        result = contraction.matmul(a, b)
    else:
        last = b.ndim - 2 if b.ndim > 1 else 0
        result = contraction.tensordot(a, b, axes=((a.ndim - 1,), (last,)))
    return mutation.write_out(result, out)


@stands_for(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    """Sum of conj(a)·b over all elements."""
    return dot(np.conj(ravel(a)), ravel(b))


@stands_for(np.vecdot, np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Sum of conj(x1)·x2 along an axis."""
    return np.sum(np.conj(as_array(x1)) * as_array(x2), axis=axis)


@stands_for(np.matvec)
def matvec(x1: Any, x2: Any, /) -> Any:
    """Product of matrices and vectors."""
    return matmul(as_array(x1), as_array(x2)[..., None])[..., 0]


@stands_for(np.vecmat)
def vecmat(x1: Any, x2: Any, /) -> Any:
    """Product of conjugated vectors and matrices."""
    return matmul(np.conj(as_array(x1))[..., None, :], as_array(x2))[..., 0, :]


@stands_for(np.inner)
def inner(a: Any, b: Any) -> Any:
    """Sum over the last axes."""
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim == b.ndim == 1:
        return contraction.matmul(a, b)
    return contraction.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


@stands_for(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """All products of elements."""
    return mutation.write_out(ravel(a)[:, None] * ravel(b), out)


@stands_for(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    """All products of elements of two rows."""
    return outer(x1, x2)


def _ufunc_outer(ufunc: Any) -> Any:
    def apply(a: Any, b: Any) -> Any:
        a, b = as_array(a), as_array(b)
        return ufunc(np.reshape(a, a.shape + (1,) * b.ndim), b)
    return apply


for _ufunc in (np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum, np.minimum,
               np.hypot, np.arctan2, np.less, np.greater, np.equal):
    FUNCTIONS[(_ufunc, "outer")] = _ufunc_outer(_ufunc)


@stands_for(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum over pairs of axes."""
    a, b = as_array(a), as_array(b)
    if isinstance(axes, (int, np.integer)):
        n = int(axes)
        of_a, of_b = tuple(range(a.ndim - n, a.ndim)), tuple(range(n))
    else:
        of_a, of_b = (axes_of(x, v.ndim) for x, v in zip(axes, (a, b), strict=True))
    return contraction.tensordot(a, b, axes=(of_a, of_b))


@stands_for(np.einsum)
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **options: Any) -> Any:
    """Einstein summation, with ellipses, implicit outputs and index lists."""
    refuse("einsum", **{k: (v, None) for k, v in options.items()
                        if k not in ("order", "casting")})
    subscripts, arrays = _subscripts_of(operands)
    subscripts = _explicit(subscripts, [a.ndim for a in arrays])
    return mutation.write_out(contraction.einsum(*arrays, subscripts=subscripts), out)


def _subscripts_of(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), [as_array(a) for a in operands[1:]]
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def spell(labels: Any) -> str:
        return "".join("..." if v is Ellipsis else letters[v] for v in labels)
    pairs = operands[:len(operands) // 2 * 2]
    arrays = [as_array(a) for a in pairs[::2]]
    spec = ",".join(spell(labels) for labels in pairs[1::2])
    if len(operands) % 2:
        spec += "->" + spell(operands[-1])
    return spec, arrays


def _explicit(subscripts: str, ndims: list[int]) -> str:
    """With ellipses replaced by letters and the output spelled out."""
    given, arrow, output = subscripts.partition("->")
    inputs = given.split(",")
    if len(inputs) != len(ndims):
        raise ValueError("einsum: the number of subscripts and operands differ")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
            if c not in subscripts]
    n_dots = [n - len(s.replace("...", "")) if "..." in s else 0
              for s, n in zip(inputs, ndims, strict=True)]
    dots = "".join(free[:max(n_dots)])
    inputs = [s.replace("...", dots[len(dots) - n:]) for s, n in zip(inputs, n_dots, strict=True)]
    joined = "".join(inputs)
    if arrow:
        output = output.replace("...", dots)
    else:
        output = dots + "".join(sorted(c for c in set(joined) - set(dots) if joined.count(c) == 1))
    return f"{','.join(inputs)}->{output}"


@stands_for(np.einsum_path)
def einsum_path(*operands: Any, **options: Any) -> Any:
    """The contraction path, from shapes alone."""
    values: list[Any] = [np.broadcast_to(np.zeros(()), v.shape) if hasattr(v, "builder") else v
              for v in operands]
    return np.einsum_path(*values, **options)


@stands_for(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Kronecker product."""
    a, b = as_array(a), as_array(b)
    n = max(a.ndim, b.ndim)
    sa = (1,) * (n - a.ndim) + a.shape
    sb = (1,) * (n - b.ndim) + b.shape
    left = np.reshape(a, tuple(v for s in sa for v in (s, 1)))
    right = np.reshape(b, tuple(v for s in sb for v in (1, s)))
    return np.reshape(left * right, tuple(p * q for p, q in zip(sa, sb, strict=True)))


@stands_for(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1,
          axis: Any = None) -> Any:
    """Cross product of vectors of length 3 (or 2, deprecated in NumPy)."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_array(a), as_array(b)
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if a.shape[-1] == b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    x0, x1, x2 = a[..., 0], a[..., 1], a[..., 2] if a.shape[-1] == 3 else 0.0 * a[..., 0]
    y0, y1, y2 = b[..., 0], b[..., 1], b[..., 2] if b.shape[-1] == 3 else 0.0 * b[..., 0]
    parts = [x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0]
    out = np.stack(parts, axis=-1)
    return np.moveaxis(out, -1, one_axis(axisc, out.ndim))


@stands_for(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Cross product of vectors of length 3."""
    return cross(x1, x2, axis=axis)


@stands_for(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """Product of several matrices, in the order of least work."""
    parts = [as_array(a) for a in arrays]
    if len(parts) == 2:
        return dot(*parts)
    first, last = parts[0].ndim == 1, parts[-1].ndim == 1
    sizes = [1 if first else parts[0].shape[0],
             *[p.shape[0] for p in (parts if first else parts[1:])],
             1 if last else parts[-1].shape[1]]
    order = _cheapest_split(sizes)

    def product(i: int, j: int) -> Any:
        if i == j:
            return parts[i]
        k = order[i, j]
        return matmul(product(i, k), product(k + 1, j))
    return product(0, len(parts) - 1)


def _cheapest_split(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each chain of products (dynamic programming; Cormen et al., 15.2)."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            options = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                       for k in range(i, j)]
            cost[i, j], split[i, j] = min(options)
    return split
