"""Contractions: matmul, tensordot and einsum; all others are written over these."""

import math
from functools import cache
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from ..errors import ShapeError
from .flow import contraction
from .layout import sum_to
from .row import Infix, Multilinear, Op, Rule, broadcast_shapes, sample


@cache
def _product_dtype(x: Any, y: Any) -> Any:
    return np.matmul(np.ones((1, 1), x), np.ones((1, 1), y)).dtype


def _matmul_type(x: Any, y: Any) -> Any:
    if not x.shape or not y.shape:
        raise ShapeError("matmul: an operand is a number; use * instead.")
    rows, inner = (x.shape[-2:-1], x.shape[-1])
    inner_y = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if inner != inner_y:
        raise ShapeError(f"matmul: shapes {x.shape} and {y.shape} do not fit: "
                         f"{inner} columns meet {inner_y} rows.")
    columns = y.shape[-1:] if y.ndim > 1 else ()
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return ArrayType((*batch, *rows, *columns), _product_dtype(x.dtype, y.dtype))


def _matmul_left(ct: Any, x: Any, y: Any) -> Any:
    if x.ndim == y.ndim == 1:
        return ct * y
    if y.ndim == 1:
        out = ct * y if x.ndim == 1 else ct[..., None] * y
    elif x.ndim == 1:
        out = y @ ct[..., :, None]
        out = np.reshape(out, out.shape[:-1])
    else:
        out = ct @ np.swapaxes(y, -1, -2)
    return sum_to(out, x.shape)


def _matmul_right(ct: Any, x: Any, y: Any) -> Any:
    if x.ndim == 1:
        out = x * ct if y.ndim == 1 else x[:, None] * ct[..., None, :]
    elif y.ndim == 1:
        if x.ndim == 2:
            return np.swapaxes(x, -1, -2) @ ct
        out = np.swapaxes(x, -1, -2) @ ct[..., :, None]
        out = np.reshape(out, out.shape[:-1])
    else:
        out = np.swapaxes(x, -1, -2) @ ct
    return sum_to(out, y.shape)


def _matmul_left_any(ct: Any, x: Any, y: Any) -> Any:
    if x.ndim == 1 and y.ndim == 2:
        return y @ ct
    return _matmul_left(ct, x, y)


def _matmul_batch(args: Any, batched: Any) -> Any:
    x, y = args
    x_batched, y_batched = batched
    x_vector, y_vector = x.ndim - x_batched == 1, y.ndim - y_batched == 1
    if not y_batched and (y_vector or (x_vector and y.ndim == 2)):
        return x @ y                                          # rows of x, one by one
    if not x_batched and x_vector:
        return y @ x if y_vector else x @ y
    if not x_batched and x.ndim == 2 and y_vector:
        return y @ np.swapaxes(x, 0, 1)
    if x_vector and y_vector and x.dtype.kind in "fc" and y.dtype.kind in "fc":
        return np.sum(x * y, axis=-1)
    if x_vector:
        x = np.expand_dims(x, -2)
    if y_vector:
        y = np.expand_dims(y, -1)
    ndim = max(x.ndim - x_batched, y.ndim - y_batched)
    x, y = (_rank(v, b, ndim) for v, b in ((x, x_batched), (y, y_batched)))
    out = x @ y
    shape = out.shape
    if y_vector:
        shape = shape[:-1]
    if x_vector:
        shape = shape[:-1] if y_vector else (*shape[:-2], shape[-1])
    return np.reshape(out, shape)


def _rank(x: Any, is_batched: Any, ndim: Any) -> Any:
    """Insert axes after the batch axis so that the remaining axes number ``ndim``."""
    if not is_batched:
        return x
    return np.reshape(x, (x.shape[0], *(1,) * (ndim - (x.ndim - 1)), *x.shape[1:]))


def _matmul_flow(i: Any, types: Any, out: Any, known: Any) -> Any:
    n_lead = max(t.ndim for t in types)
    lead = list(range(n_lead - 2)) if n_lead > 2 else []
    x, y = types
    letters = [[*lead[len(lead) - (x.ndim - 2):], "row", "inner"] if x.ndim > 1 else ["inner"],
               [*lead[len(lead) - (y.ndim - 2):], "inner", "column"] if y.ndim > 1 else ["inner"]]
    wanted = [*lead, *["row"] * (x.ndim > 1), *["column"] * (y.ndim > 1)]
    return contraction(i, [x.shape, y.shape], letters, wanted, known)


def _matmul_work(x: Any, y: Any) -> Any:
    return 2 * (x.shape[-1] if x.shape else 1) * _matmul_type(x, y).size


matmul = Op("matmul", np.matmul, _matmul_type, Multilinear((_matmul_left_any, _matmul_right)),
            infix=Infix("@", 5), batch=_matmul_batch, python="np.matmul", flow=_matmul_flow,
            work=_matmul_work,
            samples=(sample((2, 3), (3, 4)), sample((3,), (3,)), sample((2, 3), (3,)),
                     sample((3,), (3, 4)), sample((5, 2, 3), (3, 4)), sample((2, 3), (5, 3, 4)),
                     sample((1, 2, 3), (5, 3)[1:]), sample((3,), (5, 3, 4)),
                     sample((5, 2, 3), (1, 3, 2)), sample((0, 3), (3, 2))))


def _tensordot_type(x: Any, y: Any, axes: Any) -> Any:
    of_x, of_y = axes
    if [x.shape[a] for a in of_x] != [y.shape[a] for a in of_y]:
        raise ShapeError(f"tensordot: shapes {x.shape} and {y.shape} do not fit along {axes}.")
    shape = [n for i, n in enumerate(x.shape) if i not in of_x]
    shape += [n for i, n in enumerate(y.shape) if i not in of_y]
    return ArrayType(tuple(shape), _product_dtype(x.dtype, y.dtype))


def _tensordot_left(ct: Any, x: Any, y: Any, axes: Any) -> Any:
    of_x, of_y = axes
    free_y = [i for i in range(y.ndim) if i not in of_y]
    free_x = [i for i in range(x.ndim) if i not in of_x]
    n = len(free_x)
    out = tensordot(ct, y, axes=(tuple(range(n, n + len(free_y))), tuple(free_y)))
    order = [*free_x, *[of_x[of_y.index(a)] for a in sorted(of_y)]]
    return np.transpose(out, [order.index(i) for i in range(x.ndim)])


def _tensordot_right(ct: Any, x: Any, y: Any, axes: Any) -> Any:
    of_x, of_y = axes
    free_x = [i for i in range(x.ndim) if i not in of_x]
    free_y = [i for i in range(y.ndim) if i not in of_y]
    out = tensordot(x, ct, axes=(tuple(free_x), tuple(range(len(free_x)))))
    order = [*[of_y[of_x.index(a)] for a in sorted(of_x)], *free_y]
    return np.transpose(out, [order.index(i) for i in range(y.ndim)])


def _tensordot_batch(args: Any, batched: Any, axes: Any) -> Any:
    x, y = args
    of_x, of_y = axes
    if batched == (True, False):
        return tensordot(x, y, axes=(tuple(a + 1 for a in of_x), of_y))
    letters = iter(range(1, 1 + x.ndim + y.ndim))
    x_letters = [next(letters) for _ in range(x.ndim - batched[0])]
    y_letters = [next(letters) for _ in range(y.ndim - batched[1])]
    for a, b in zip(of_x, of_y, strict=True):
        y_letters[b] = x_letters[a]
    free = [v for i, v in enumerate(x_letters) if i not in of_x]
    free += [v for i, v in enumerate(y_letters) if i not in of_y]
    return np.einsum(x, [0] * batched[0] + x_letters, y, [0] * batched[1] + y_letters,
                     [0, *free])


def _tensordot_text(args: Any, params: Any, types: Any) -> Any:
    of_x, of_y = params["axes"]
    n = len(of_x)
    if of_x == tuple(range(types[0].ndim - n, types[0].ndim)) and of_y == tuple(range(n)):
        return f"np.tensordot({args[0]}, {args[1]}, {n})"
    return f"np.tensordot({args[0]}, {args[1]}, ({list(of_x)}, {list(of_y)}))"


def _tensordot_flow(i: Any, types: Any, out: Any, known: Any, axes: Any) -> Any:
    x: list[Any] = [("x", a) for a in range(types[0].ndim)]
    y: list[Any] = [("y", a) for a in range(types[1].ndim)]
    for a, b in zip(*axes, strict=True):
        y[b] = x[a]
    wanted = [c for a, c in enumerate(x) if a not in axes[0]]
    wanted += [c for b, c in enumerate(y) if b not in axes[1]]
    return contraction(i, [t.shape for t in types], [x, y], wanted, known)


def _tensordot_work(x: Any, y: Any, axes: Any) -> Any:
    return 2 * math.prod(x.shape[a] for a in axes[0]) * _tensordot_type(x, y, axes).size


tensordot = Op("tensordot", lambda x, y, axes: np.tensordot(x, y, axes)[()], _tensordot_type,
               Multilinear((_tensordot_left, _tensordot_right)), params=("axes",),
               batch=_tensordot_batch, python=_tensordot_text, flow=_tensordot_flow,
               work=_tensordot_work,
               samples=(sample((2, 3), (3, 4), axes=((1,), (0,))),
                        sample((2, 3, 4), (4, 3, 5), axes=((1, 2), (1, 0))),
                        sample((2, 3, 4), (4, 3, 5), axes=((2, 1), (0, 1))),
                        sample((2,), (3,), axes=((), ()))))


def _parse(subscripts: Any) -> Any:
    inputs, output = subscripts.split("->")
    return inputs.split(","), output


def _sizes(inputs: Any, shapes: Any) -> Any:
    sizes: dict[str, int] = {}
    for letters, shape in zip(inputs, shapes, strict=True):
        if len(letters) != len(shape):
            raise ShapeError(f"einsum: {letters!r} does not fit an operand of shape {shape}.")
        for letter, n in zip(letters, shape, strict=True):
            if sizes.setdefault(letter, n) != n:
                if 1 not in (n, sizes[letter]):
                    raise ShapeError(f"einsum: index {letter!r} is both {sizes[letter]} and {n}.")
                sizes[letter] = max(n, sizes[letter])
    return sizes


def _einsum_type(*types: Any, subscripts: Any) -> Any:
    inputs, output = _parse(subscripts)
    sizes = _sizes(inputs, [t.shape for t in types])
    dtype = np.result_type(*[t.dtype for t in types])
    return ArrayType(tuple(sizes[letter] for letter in output), dtype)


def _einsum_transpose(k: Any) -> Any:
    """Cotangent of operand k: contract the cotangent with all other operands.

    Letters that occur in operand k only are broadcast; letters it repeats are put on its
    diagonal.
    """
    def transpose(ct: Any, *args: Any, subscripts: Any) -> Any:
        inputs, output = _parse(subscripts)
        mine = inputs[k]
        sizes = _sizes(inputs, [np.shape(a) for a in args])
        others = [(a, s) for i, (a, s) in enumerate(zip(args, inputs, strict=True)) if i != k]
        known = set(output).union(*[s for _, s in others]) if others else set(output)
        wanted = "".join(dict.fromkeys(c for c in mine if c in known))
        operands = [ct, *[a for a, _ in others]]
        spec = ",".join([output, *[s for _, s in others]]) + "->" + wanted
        out = _contract(operands, spec)
        distinct = "".join(dict.fromkeys(mine))
        shape = tuple(sizes[c] if c in wanted else 1 for c in distinct)
        if len(wanted) < len(distinct):
            out = np.broadcast_to(np.reshape(out, shape), tuple(sizes[c] for c in distinct))
        out = sum_to(out, _stretched(distinct, mine, args[k]))
        if len(distinct) < len(mine):
            out = _on_diagonal(out, distinct, mine, np.shape(args[k]))
        return out
    return transpose


def _stretched(distinct: Any, mine: Any, arg: Any) -> Any:
    return tuple(np.shape(arg)[mine.index(c)] for c in distinct)


def _contract(operands: Any, spec: Any) -> Any:
    inputs, output = _parse(spec)
    if len(operands) == 1 and inputs[0] == output:
        return operands[0]
    return einsum(*operands, subscripts=spec)


def _on_diagonal(value: Any, distinct: Any, mine: Any, shape: Any) -> Any:
    """Place an array over the distinct letters where the repeated letters agree."""
    equal = np.ones((1,) * len(mine), bool)
    for letter in distinct:
        places = [i for i, c in enumerate(mine) if c == letter]
        for i in places[1:]:
            first = np.arange(shape[i]).reshape([-1 if a == places[0] else 1
                                                 for a in range(len(mine))])
            other = np.arange(shape[i]).reshape([-1 if a == i else 1 for a in range(len(mine))])
            equal = equal & (first == other)
    firsts = [mine.index(c) for c in distinct]           # ascending
    value = np.reshape(value, tuple(shape[i] if i in firsts else 1 for i in range(len(mine))))
    return np.where(equal, value, 0.0)


class _ByPosition(tuple[Rule, ...]):
    """One einsum transpose an operand, for any number of operands."""

    def __getitem__(self, k: Any) -> Any:
        return _einsum_transpose(k)


def _einsum_batch(args: Any, batched: Any, subscripts: Any) -> Any:
    inputs, output = _parse(subscripts)
    free = next(c for c in map(chr, range(ord("A"), ord("z"))) if c.isalpha()
                and c not in subscripts)
    inputs = [free + s if b else s for s, b in zip(inputs, batched, strict=True)]
    return einsum(*args, subscripts=f"{','.join(inputs)}->{free}{output}")


def _einsum_call(*args: Any, subscripts: Any) -> Any:
    return np.einsum(subscripts, *args, optimize=len(args) > 2)[()]


def _einsum_text(args: Any, params: Any, types: Any) -> Any:
    optimize = ", optimize=True" if len(args) > 2 else ""
    given, output = params["subscripts"].split("->")
    copy = ".copy()" if set(given) == set(output) else ""       # a diagonal would be a view
    return f"np.einsum(\"{params['subscripts']}\", {', '.join(args)}{optimize}){copy}"


def _einsum_flow(i: Any, types: Any, out: Any, known: Any, subscripts: Any) -> Any:
    inputs, output = _parse(subscripts)
    return contraction(i, [t.shape for t in types], inputs, output, known)


def _einsum_work(*types: Any, subscripts: Any) -> Any:
    inputs, _ = _parse(subscripts)
    lengths = {c: n for t, letters in zip(types, inputs, strict=True)
               for c, n in zip(letters, t.shape, strict=True)}
    return max(len(types), 1) * math.prod(lengths.values())


einsum = Op("einsum", _einsum_call, _einsum_type, Multilinear(_ByPosition()),
            params=("subscripts",), batch=_einsum_batch, python=_einsum_text, flow=_einsum_flow,
            work=_einsum_work,
            samples=(sample((2, 3), (3, 4), subscripts="ij,jk->ik"),
                     sample((3, 3), subscripts="ii->"), sample((3, 3), subscripts="ii->i"),
                     sample((2, 3), (3, 4), (4,), subscripts="ij,jk,k->i"),
                     sample((3, 3, 2), subscripts="iij->ij"),
                     sample((2, 3, 2, 3), subscripts="abcd->bd"),
                     sample((2, 3), (1, 3), subscripts="ij,ij->i")))
