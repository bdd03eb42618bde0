"""Calls of every function that stands for one of NumPy's or SciPy's: data for the tests.

``call(np.sum, a(2, 3), axis=-1)`` is ``np.sum(x, axis=-1)`` for an ``x`` of that shape; ``method``
calls a method, ``changed`` gives the array that a function changed in place, ``into`` passes
``out=``, and ``of`` is any expression.
"""

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.signal
import scipy.special as special


class A(NamedTuple):
    """An operand to draw: floats between -2 and 2, or positive, integer or complex ones."""

    shape: tuple[int, ...]
    kind: str = "f"


def a(*shape):
    return A(shape)


def positive(*shape):
    return A(shape, "p")


def whole(*shape):
    return A(shape, "i")


def mask(*shape):
    return A(shape, "b")


def cplx(*shape):
    return A(shape, "c")


class Call(NamedTuple):
    """One row of the table."""

    key: Any                                # what is registered
    function: Callable[..., Any]
    operands: tuple[Any, ...]
    text: str


def _text(value):
    if isinstance(value, A):
        return f"{value.kind}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{' '.join(map(_text, value))}]"
    return str(value).replace("\n", "")


def _key_of(function):
    owner = getattr(function, "__self__", None)
    return (owner, function.__name__) if isinstance(owner, np.ufunc) else function


def name_of(key):
    return f"{key[0].__name__}.{key[1]}" if isinstance(key, tuple) else \
        getattr(key, "__name__", str(key))


def _described(key, args, kwargs):
    parts = [*map(_text, args), *[f"{k}={_text(v)}" for k, v in kwargs.items()]]
    return f"{name_of(key)}({', '.join(parts)})"


def by_name(function):
    """The function as users reach it, by its public name at the time of the call."""
    for namespace in (np, np.linalg, np.fft, special, scipy.linalg, scipy.fft,
                      scipy.signal):
        if getattr(namespace, getattr(function, "__name__", ""), None) is function:
            return lambda *args, **kwargs: getattr(namespace, function.__name__)(*args, **kwargs)
    return function


def call(function, *args, **kwargs):
    """``function(*args, **kwargs)``, with the operands in ``args`` and ``kwargs`` drawn."""
    key, named = _key_of(function), by_name(function)
    names, values = tuple(kwargs), tuple(kwargs.values())

    def apply(positional, keywords):
        return named(*positional, **dict(zip(names, keywords, strict=True)))
    return Call(key, apply, (args, values), _described(key, args, kwargs))


def method(name, x, *args, **kwargs):
    """``x.name(*args, **kwargs)``."""
    def apply(array, *rest):
        return getattr(array, name)(*rest, **kwargs)
    return Call(name, apply, (x, *args), "." + _described(name, (x, *args), kwargs))


def changed(function, x, *args, **kwargs):
    """A copy of ``x``, after ``function`` has changed it in place."""
    key, named = _key_of(function), by_name(function)

    def apply(array, *rest):
        own = array.copy()
        named(own, *rest, **kwargs)
        return own
    return Call(key, apply, (x, *args), _described(key, (x, *args), kwargs))


def into(function, shape, *args, **kwargs):
    """``out`` after ``function(..., out=out)``."""
    key, named = _key_of(function), by_name(function)

    def apply(*operands):
        out = np.full(shape, 7.0, operands[0].dtype)
        returned = named(*operands, out=out, **kwargs)
        return out, returned + 1
    return Call(key, apply, args, _described(key, args, {**kwargs, "out": shape}))


def of(key, function, *operands):
    """Any expression, as a test of ``key``."""
    return Call(key, function, operands, f"{name_of(key)} in {zlib.crc32(repr(operands).encode())}")


W = np.array([[0.2, 0.5, 0.3], [1.0, 2.0, 0.5]])          # weights, a constant
M = np.array([[True, False, True], [False, True, True]])
ROWS = np.array([1, 0, 1])

CREATION = [
    call(np.array, [a(), 1.0, a()]), call(np.array, [[a(), 2], [3, a()]]),
    call(np.array, a(3), dtype=float, ndmin=2), call(np.array, [a(2), [1.0, 2.0]]),
    call(np.array, (a(), a(), 5)), call(np.asarray, [a(), a()]), call(np.asarray, a(2, 3)),
    call(np.asarray, a(2), dtype=np.float32), call(np.asanyarray, [a(), a()]),
    call(np.ascontiguousarray, a(2, 3)), call(np.asfortranarray, a(2, 3)),
    call(np.require, a(2)), call(np.asarray_chkfinite, [a(), 1.0]),
    call(np.copy, a(2, 3)), call(np.zeros_like, a(2, 3)), call(np.zeros_like, a(2), dtype=int),
    call(np.zeros_like, a(2), shape=(3, 1)), call(np.ones_like, a(2, 3)),
    call(np.ones_like, a(3), dtype=np.float32), call(np.full_like, a(2, 3), a()),
    call(np.full_like, a(2, 3), a(3)), call(np.full_like, a(3), 2),
    call(np.full_like, whole(3), 2.5), call(np.full, 3, a()), call(np.full, (2, 3), a(3)),
    call(np.full, (2,), 1.5), of(np.zeros, lambda x: _filled(np.zeros(3), x), a(3)),
    of(np.zeros, lambda x: _filled(np.zeros((3,), dtype=np.float32), x), a(3)),
    of(np.ones, lambda x: _filled(np.ones(shape=3), x), a(3)),
    of(np.empty, lambda x: _filled(np.empty(3), x), a(3)),
    of(np.empty_like, lambda x: _filled(np.empty_like(x), x), a(3)),
    of(np.eye, lambda x: _written(np.eye(2, 3, k=1), x), a()),
    of(np.identity, lambda x: _written(np.identity(3), x), a()),
    of(np.arange, lambda x: _written(np.arange(1.0, 4.0), x), a()),
    of(np.logspace, lambda x: _written(np.logspace(0, 2, 3), x), a()),
    of(np.geomspace, lambda x: _written(np.geomspace(1, 100, 3), x), a()),
    call(np.linspace, a(), a(), 5), call(np.linspace, 0.0, a(), num=4, endpoint=False),
    call(np.linspace, a(2), a(2), 3), call(np.linspace, a(2), 4.0, 3, axis=-1),
    call(np.linspace, a(), a(), 1), call(np.linspace, a(), a(), 3, retstep=True),
    call(np.logspace, a(), a(), 4), call(np.logspace, a(), 2.0, 3, base=2.0),
    call(np.geomspace, positive(), positive(), 4),
    call(np.shape, a(2, 3)), call(np.size, a(2, 3)), call(np.size, a(2, 3), 1),
    call(np.size, a(2, 3), axis=-1), call(np.ndim, a(2, 3)),
    call(np.iscomplexobj, a(2)), call(np.isrealobj, a(2)), call(np.iscomplexobj, cplx(2)),
    of(np.result_type, lambda x: x.astype(np.result_type(x, np.float32)), a(2)),
    of(np.may_share_memory, lambda x: (np.may_share_memory(x, x[:1]), np.may_share_memory(
        x, x.copy())), a(2)),
    of(np.shares_memory, lambda x: np.shares_memory(x, x.reshape(-1)), a(2)),
    method("copy", a(2)), method("astype", a(2), np.float32), method("astype", a(2), int),
    method("astype", a(2), complex), method("astype", whole(2), float),
    method("item", a(1)), method("item", a(2, 3), 4), method("item", a(2, 3), 1, 2),
    method("item", a(2, 3), (1, 2)), method("tolist", a(2, 2)),
    of("fill", lambda x, y: _after(x, lambda z: z.fill(y)), a(2), a()),
]


def _filled(z, x):
    for i in range(len(x)):
        z[i] = x[i] * i
    return z


def _written(z, x):
    z[..., -1] = x
    return z


def _after(x, change):
    z = x.copy()
    change(z)
    return z


LAYOUT = [
    call(np.reshape, a(2, 3), (3, -1)), call(np.reshape, a(2, 3), 6),
    call(np.reshape, a(2, 3), (3, 2), order="F"), call(np.reshape, a(), (1, 1)),
    call(np.reshape, a(2, 3, 2), (4, 3), order="F"), call(np.reshape, [a(), a()], (2, 1)),
    call(np.ravel, a(2, 3)), call(np.ravel, a(2, 3), order="F"), call(np.ravel, a()),
    call(np.transpose, a(2, 3)), call(np.transpose, a(2, 3, 4), (1, -1, 0)),
    call(np.permute_dims, a(2, 3, 4), (2, 0, 1)), call(np.matrix_transpose, a(2, 3, 4)),
    call(np.linalg.matrix_transpose, a(2, 3)),
    call(np.swapaxes, a(2, 3, 4), 0, -1), call(np.moveaxis, a(2, 3, 4), 0, -1),
    call(np.moveaxis, a(2, 3, 4), [0, 1], [-1, 0]), call(np.rollaxis, a(2, 3, 4), 2),
    call(np.rollaxis, a(2, 3, 4), 0, 3), call(np.rollaxis, a(2, 3, 4), -1, 1),
    call(np.expand_dims, a(2, 3), 1), call(np.expand_dims, a(2, 3), (0, -1)),
    call(np.squeeze, a(1, 3, 1)), call(np.squeeze, a(1, 3, 1), axis=-1),
    call(np.squeeze, a(1, 3, 1), axis=(0, 2)),
    call(np.atleast_1d, a()), call(np.atleast_1d, a(), a(2, 3)), call(np.atleast_2d, a(3)),
    call(np.atleast_2d, a()), call(np.atleast_3d, a()), call(np.atleast_3d, a(3)),
    call(np.atleast_3d, a(2, 3)), call(np.atleast_3d, a(2, 3, 4), a()),
    call(np.broadcast_to, a(3), (2, 3)), call(np.broadcast_to, a(), 3),
    call(np.broadcast_to, a(2, 1), (4, 2, 3)), call(np.broadcast_arrays, a(3), a(2, 1)),
    call(np.broadcast_arrays, a(3), np.ones((2, 1))),
    call(np.concatenate, [a(2, 3), a(1, 3)]), call(np.concatenate, [a(2, 3), a(2, 1)], axis=-1),
    call(np.concatenate, [a(2, 3), a(2)], axis=None), call(np.concat, (a(2), [1.0, 2.0])),
    call(np.concatenate, [a(2), whole(2)]), call(np.concatenate, a(2, 3)),
    call(np.stack, [a(2, 3), a(2, 3)]), call(np.stack, [a(2, 3), a(2, 3)], axis=-1),
    call(np.stack, (a(), 2.0, a())), call(np.vstack, [a(3), a(2, 3)]), call(np.vstack, [a(), a()]),
    call(np.hstack, [a(3), a(2)]), call(np.hstack, [a(2, 3), a(2, 1)]), call(np.hstack, (a(), a())),
    call(np.dstack, [a(2, 3), a(2, 3)]), call(np.dstack, [a(3), a(3)]),
    call(np.column_stack, [a(2), a(2, 3)]), call(np.column_stack, (a(2), a(2))),
    call(np.append, a(2, 3), a(4)), call(np.append, a(2, 3), a(1, 3), axis=0),
    call(np.append, a(2), 3.0),
    call(np.array_split, a(7), 3), call(np.array_split, a(4, 5), [1, 3], axis=-1),
    call(np.split, a(6), 3), call(np.split, a(6), [2, 5]), call(np.split, a(2, 4), 2, axis=1),
    call(np.split, a(6), [2, -1]), call(np.split, a(4), [2, 9]),
    call(np.hsplit, a(2, 4), 2), call(np.hsplit, a(4), 2), call(np.vsplit, a(4, 2), 2),
    call(np.dsplit, a(2, 2, 4), 2), call(np.unstack, a(2, 3)), call(np.unstack, a(2, 3), axis=-1),
    call(np.flip, a(2, 3)), call(np.flip, a(2, 3), axis=0), call(np.flip, a(2, 3), axis=(0, -1)),
    call(np.fliplr, a(2, 3)), call(np.flipud, a(2, 3)),
    *[call(np.rot90, a(2, 3), k) for k in range(-1, 4)], call(np.rot90, a(2, 3, 4), axes=(1, 2)),
    call(np.rot90, a(2, 3, 4), 1, (2, 0)),
    call(np.roll, a(5), 2), call(np.roll, a(2, 3), 1), call(np.roll, a(2, 3), -1, axis=1),
    call(np.roll, a(2, 3), (1, 2), axis=(0, 1)), call(np.roll, a(2, 3), 1, axis=(0, -1)),
    call(np.roll, a(2, 3), (1, 1), axis=(0, 0)), call(np.roll, a(3), (1, 1)),
    call(np.pad, a(3), 2), call(np.pad, a(2, 3), (1, 2)), call(np.pad, a(2, 3), ((1, 0), (0, 2))),
    call(np.pad, a(3), (1, 2), constant_values=5.0), call(np.pad, a(3), 1, constant_values=a()),
    call(np.pad, a(2, 3), 1, constant_values=(3.0, 4.0)),
    call(np.pad, a(2, 3), 1, constant_values=((1.0, 2.0), (3.0, 4.0))),
    call(np.pad, a(3), 2, mode="edge"), call(np.pad, a(3), 2, mode="reflect"),
    call(np.pad, a(3), 2, mode="symmetric"), call(np.pad, a(3), 5, mode="wrap"),
    call(np.pad, a(2, 3), ((1, 0), (0, 2)), mode="edge"),
    call(np.pad, a(3), (2, 1), mode="linear_ramp"), call(np.pad, a(3), 1, mode="mean"),
    call(np.pad, a(2, 3), ((2, 0), (1, 3)), mode="linear_ramp", end_values=((1.0, 2.0), (a(), 0))),
    call(np.pad, a(2, 3), 1, mode="maximum"), call(np.pad, a(2, 3), 2, mode="minimum"),
    call(np.pad, a(2, 4), 1, mode="mean", stat_length=((1, 2), (3, 9))),
    call(np.pad, a(4, 4), ((0, 1), (3, 2)), mode="symmetric", reflect_type="odd"),
    call(np.pad, a(2, 3), {-1: (1, 2)}), call(np.pad, a(3), 1, mode="reflect",
                                              reflect_type="odd"),
    call(np.repeat, a(3), 2), call(np.repeat, a(2, 3), 2, axis=0),
    call(np.repeat, a(2, 3), [1, 2, 0], axis=-1), call(np.repeat, a(2, 3), 2),
    call(np.repeat, a(), 3),
    call(np.tile, a(3), 2), call(np.tile, a(2, 3), (2, 1)), call(np.tile, a(2), (2, 1, 3)),
    call(np.tile, a(2, 3), 2), call(np.tile, a(), 3), call(np.tile, a(3), 0),
    call(np.tril, a(3, 3)), call(np.tril, a(2, 3), 1), call(np.triu, a(3, 3), -1),
    call(np.triu, a(2, 3, 3)), call(np.tril, a(3)), call(np.triu, a(3), k=1),
    call(np.resize, a(3), (2, 4)), call(np.resize, a(2, 3), 4),
    call(np.meshgrid, a(2), a(3)), call(np.meshgrid, a(2), a(3), indexing="ij"),
    call(np.meshgrid, a(2), a(3), sparse=True), call(np.meshgrid, a(2), a(3), a(2)),
    method("reshape", a(2, 3), 3, 2), method("reshape", a(2, 3), (6,)),
    method("reshape", a(2, 3), -1, order="F"), method("ravel", a(2, 3)),
    method("flatten", a(2, 3)), method("flatten", a(2, 3), "F"), method("transpose", a(2, 3)),
    method("transpose", a(2, 3, 4), 1, 0, 2), method("transpose", a(2, 3), (1, 0)),
    method("swapaxes", a(2, 3), 0, 1), method("squeeze", a(1, 3)), method("repeat", a(3), 2),
    of("ravel", lambda x: _after(x, lambda z: z.ravel().__setitem__(0, 5.0)), a(2, 3)),
]

CONTRACTION = [
    call(np.matmul, a(2, 3), a(3, 4)), call(np.matmul, a(3), a(3)), call(np.matmul, a(3), a(3, 2)),
    call(np.matmul, a(5, 2, 3), a(3)), call(np.matmul, a(5, 2, 3), a(5, 3, 2)),
    call(np.linalg.matmul, a(2, 3), a(3, 2)), into(np.matmul, (2, 4), a(2, 3), a(3, 4)),
    call(np.matmul, a(2, 3), W.T), call(np.matmul, cplx(2, 3), cplx(3, 2)),
    call(np.dot, a(3), a(3)), call(np.dot, a(2, 3), a(3)), call(np.dot, a(), a(3)),
    call(np.dot, a(2, 3, 4), a(4)), call(np.dot, a(2, 3), a(5, 3, 2)), call(np.dot, a(3), 2.0),
    into(np.dot, (2, 2), a(2, 3), a(3, 2)), call(np.dot, a(3), a(5, 3, 2)),
    call(np.vdot, a(2, 3), a(2, 3)), call(np.vdot, cplx(3), cplx(3)),
    call(np.vecdot, a(2, 3), a(2, 3)), call(np.vecdot, a(2, 3), a(2, 1), axis=0),
    call(np.vecdot, cplx(2, 3), cplx(2, 3)), call(np.linalg.vecdot, a(2, 3), a(3)),
    call(np.inner, a(3), a(3)), call(np.inner, a(2, 3), a(4, 3)), call(np.inner, a(2, 3), a()),
    call(np.outer, a(2), a(3)), call(np.outer, a(2, 2), a(3)), call(np.linalg.outer, a(2), a(3)),
    into(np.outer, (2, 3), a(2), a(3)),
    *[call(ufunc.outer, a(2), positive(3)) for ufunc in (
        np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.hypot,
        np.arctan2, np.less, np.greater, np.equal)],
    call(np.power.outer, positive(2), a(3)), call(np.add.outer, a(2, 3), a(2)),
    call(np.tensordot, a(2, 3), a(3, 4), 1), call(np.tensordot, a(2, 3), a(2, 3)),
    call(np.tensordot, a(2, 3), a(4), 0),
    call(np.tensordot, a(2, 3, 4), a(4, 3), ([1, -1], [1, 0])),
    call(np.tensordot, a(2, 3), a(3, 4), axes=(1, 0)),
    call(np.tensordot, a(2, 3), a(4, 2), axes=[[0], [1]]),
    call(np.linalg.tensordot, a(2, 3), a(3, 4), axes=1),
    call(np.einsum, "ij,jk->ik", a(2, 3), a(3, 4)), call(np.einsum, "ij,jk", a(2, 3), a(3, 4)),
    call(np.einsum, "ji", a(2, 3)), call(np.einsum, "ii", a(3, 3)),
    call(np.einsum, "ii->i", a(3, 3)), call(np.einsum, "i,i->", a(3), a(3)),
    call(np.einsum, "...ij,...jk->...ik", a(5, 2, 3), a(3, 4)),
    call(np.einsum, "...i,...i", a(2, 3), a(3)), call(np.einsum, "i...->...", a(2, 3, 2)),
    call(np.einsum, "ij,kj->", a(2, 3), a(4, 3)), call(np.einsum, " i j , j -> i ", a(2, 3), a(3)),
    call(np.einsum, a(2, 3), [0, 1], a(3, 4), [1, 2]),
    call(np.einsum, a(2, 3), [0, 1], a(3, 4), [1, 2], [2, 0]),
    call(np.einsum, a(5, 2), [Ellipsis, 0], [0, Ellipsis]),
    call(np.einsum, "ij,jk,kl->il", a(2, 3), a(3, 2), a(2, 4), optimize=True),
    call(np.einsum, "bij,bjk->bik", a(2, 2, 3), a(2, 3, 2), optimize="greedy"),
    call(np.einsum, "ij,ij->i", a(2, 3), a(1, 3)), call(np.einsum, "i,j", a(2), a(3)),
    call(np.einsum, "ij->", a(2, 3)), call(np.einsum, "iij->ji", a(2, 2, 3)),
    call(np.einsum, "Ba,aB->a", a(2, 3), a(3, 2)), call(np.einsum, "ij,ik->jk", W, a(2, 3)),
    of(np.einsum_path, lambda x, y: x.sum() + len(np.einsum_path("ij,jk", x, y)[0]), a(2, 3),
       a(3, 2)),
    call(np.kron, a(2), a(3)), call(np.kron, a(2, 3), a(2)), call(np.kron, a(2, 2), a(2, 3)),
    call(np.kron, a(), a(3)), call(np.kron, a(2, 2), np.eye(2)),
    call(np.cross, a(3), a(3)), call(np.cross, a(4, 3), a(3)),
    call(np.cross, a(3, 4), a(3, 4), axis=0),
    call(np.cross, a(3, 4), a(4, 3), axisa=0, axisc=0), call(np.cross, a(2, 3), [1.0, 0.0, 2.0]),
    call(np.linalg.cross, a(4, 3), a(4, 3)), call(np.linalg.cross, a(3, 2), a(3, 2), axis=0),
    call(np.linalg.multi_dot, [a(2, 3), a(3, 4), a(4, 2)]),
    call(np.linalg.multi_dot, [a(3), a(3, 4), a(4, 2), a(2)]),
    call(np.linalg.multi_dot, [a(2, 3), a(3)]),
    call(np.linalg.multi_dot, [a(2, 9), a(9, 1), a(1, 9)]),
    method("dot", a(2, 3), a(3)),
]

ELEMENTARY = [
    call(np.clip, a(5), -0.5, 0.7), call(np.clip, a(5), None, 0.7), call(np.clip, a(5), 0.1, None),
    call(np.clip, a(2, 3), a(3), 5.0), call(np.clip, a(5), min=0.0), call(np.clip, a(5), max=a()),
    call(np.clip, a(5), a_min=-1.0, a_max=a()), call(np.clip, a(4), 0, 1),
    into(np.clip, (4,), a(4), a_min=-0.5, a_max=0.5),
    call(np.round, a(5)), call(np.round, a(5), 2), call(np.around, a(5), decimals=1),
    call(np.round, a(5), -1), call(np.fix, a(5)), call(np.real, a(3)), call(np.real, cplx(3)),
    call(np.imag, cplx(3)), call(np.imag, a(3)), call(np.conjugate, cplx(3)),
    call(np.conj, a(3)), call(np.angle, cplx(3)), call(np.angle, cplx(3), deg=True),
    call(np.angle, a(3)), call(np.divmod, a(4), positive(4)), call(np.modf, a(4)),
    call(np.nan_to_num, a(3)), call(np.nan_to_num, a(3), nan=1.0, posinf=2.0),
    of(np.nan_to_num, lambda x: np.nan_to_num(x + np.array([1.0, np.inf, np.nan]), neginf=-9.0),
       a(3)),
    call(np.sinc, a(4)), call(np.isposinf, a(3)), call(np.isneginf, a(3)),
    call(np.isclose, a(3), a(3)), call(np.isclose, a(3), a(3), rtol=0.1, atol=1.0),
    of(np.isclose, lambda x: np.isclose(x * np.inf, np.inf), a(3)),
    of(np.isclose, lambda x: np.isclose(x * np.nan, np.nan, equal_nan=True), a(3)),
    call(np.allclose, a(3), a(3)), call(np.allclose, a(3), 0.0, atol=5.0),
    call(np.array_equal, a(3), a(3)), of(np.array_equal, lambda x: np.array_equal(x, x), a(3)),
    of(np.array_equal, lambda x: np.array_equal(x * np.nan, x * np.nan, equal_nan=True), a(3)),
    method("clip", a(5), -0.5, 0.7), method("round", a(5), 1), method("conj", cplx(3)),
    method("conjugate", cplx(3)), method("conj", a(3)),
]

INDEXING = [
    call(np.where, M, a(2, 3), a(3)), call(np.where, mask(3), a(3), 0.0),
    call(np.where, a(3), a(3), a()), call(np.where, a(2, 3)), call(np.where, mask(3)),
    call(np.where, M, a(2, 3), 1), call(np.nonzero, whole(2, 3)), call(np.nonzero, mask(4)),
    call(np.flatnonzero, whole(2, 3)), call(np.argwhere, mask(2, 3)),
    call(np.take, a(4), [0, 2, 2]), call(np.take, a(2, 3), [0, -1], axis=1),
    call(np.take, a(2, 3), 4), call(np.take, a(2, 3), [[0, 1], [2, 2]], axis=-1),
    call(np.take, a(4), [5, -7], mode="wrap"), call(np.take, a(4), [5, -7], mode="clip"),
    call(np.take, a(4), whole(2)), into(np.take, (2,), a(4), indices=[0, 3]),
    call(np.take, a(2, 3), 1, axis=0), call(np.take, W, whole(2)),
    call(np.take_along_axis, a(2, 3), np.array([[0, 2], [1, 1]]), axis=1),
    call(np.take_along_axis, a(2, 3), np.array([[0, 1, 1]]), 0),
    call(np.take_along_axis, a(2, 3), np.array([5, 0]), None),
    of(np.take_along_axis, lambda x: np.take_along_axis(x, np.argsort(x, axis=-1), -1), a(2, 3)),
    changed(np.put_along_axis, a(2, 3), np.array([[0], [2]]), a(2, 1), axis=1),
    changed(np.put_along_axis, a(2, 3), np.array([4, 0]), a(2), axis=None),
    changed(np.copyto, a(2, 3), a(3)), changed(np.copyto, a(2, 3), a(2, 3), where=M),
    changed(np.copyto, a(3), 1.0), changed(np.put, a(4), [0, 2], a(2)),
    changed(np.put, a(2, 3), [0, 5, 1], a(2)), changed(np.put, a(4), [5, -6], a(2), mode="wrap"),
    changed(np.put, a(4), [5, -6], a(2), mode="clip"), changed(np.put, a(4), 1, a()),
    changed(np.putmask, a(2, 3), M, a()), changed(np.putmask, a(2, 3), M, a(2, 3)),
    changed(np.putmask, a(2, 3), M, a(2)), changed(np.place, a(2, 3), M, a()),
    changed(np.place, a(2, 3), M, a(3)), changed(np.place, a(2, 3), M, a(6)),
    changed(np.add.at, a(4), [0, 2, 2], a(3)), changed(np.add.at, a(4), [0, 2, 2], a()),
    changed(np.add.at, a(2, 3), ([0, 0], [1, 1]), a(2)), changed(np.add.at, a(3), 1, a()),
    changed(np.add.at, a(2, 3), (slice(None), [0, 0]), a(2, 2)),
    changed(np.subtract.at, a(4), [0, 2, 2], a(3)),
    call(np.diagonal, a(3, 3)), call(np.diagonal, a(3, 4), 1), call(np.diagonal, a(3, 4), -1),
    call(np.diagonal, a(2, 3, 4), 1, 1, 2), call(np.diagonal, a(2, 3, 4), axis1=2, axis2=0),
    call(np.diagonal, a(3, 2), 5), call(np.linalg.diagonal, a(2, 3, 3)),
    call(np.linalg.diagonal, a(3, 4), offset=1),
    call(np.diag, a(3)), call(np.diag, a(3), 1), call(np.diag, a(3), k=-2), call(np.diag, a(3, 4)),
    call(np.diag, a(3, 4), 2), call(np.diagflat, a(2, 2)), call(np.diagflat, a(3), -1),
    call(np.trace, a(3, 3)), call(np.trace, a(3, 4), 1), call(np.trace, a(2, 3, 3), 0, 1, 2),
    call(np.trace, a(2, 3, 4)), call(np.linalg.trace, a(2, 3, 3)),
    call(np.linalg.trace, a(3, 4), offset=-1),
    changed(np.fill_diagonal, a(3, 3), a()), changed(np.fill_diagonal, a(3, 4), a(3)),
    changed(np.fill_diagonal, a(5, 2), 2.0), changed(np.fill_diagonal, a(5, 2), 2.0, wrap=True),
    changed(np.fill_diagonal, a(3, 3), a(2)), changed(np.fill_diagonal, a(2, 2, 2), a()),
    call(np.delete, a(5), 1), call(np.delete, a(2, 3), [0, 2], axis=1), call(np.delete, a(5), -1),
    call(np.delete, a(2, 3), slice(0, 2), axis=-1), call(np.delete, a(2, 3), 1),
    call(np.delete, a(4), [True, False, True, False]),
    call(np.insert, a(4), 1, a()), call(np.insert, a(4), -1, 5.0), call(np.insert, a(4), 2, a(2)),
    call(np.insert, a(2, 3), 1, a(2), axis=1), call(np.insert, a(2, 3), 1, a(3), axis=0),
    call(np.insert, a(2, 3), 1, a(), axis=-1), call(np.insert, a(4), [1, 3], a(2)),
    call(np.insert, a(4), [3, 1], a(2)), call(np.insert, a(4), [1, 1], a(2)),
    call(np.insert, a(2, 3), [0, 2], a(2, 2), axis=1), call(np.insert, a(4), [1, 3], a()),
    call(np.insert, a(2, 3), 4, a()), call(np.insert, a(2, 3), slice(0, 2), a(2, 2), axis=1),
    call(np.insert, a(2, 3), [1], a(2, 2), axis=1), call(np.insert, a(2, 3), [0, 2], a(3), axis=0),
    call(np.compress, [True, False, True], a(3)), call(np.compress, [True, False], a(2, 3), axis=0),
    call(np.compress, [False, True], a(2, 3), axis=-1), call(np.compress, [0, 1, 1], a(2, 3)),
    call(np.extract, M, a(2, 3)), call(np.extract, [1, 0, 1], a(3)),
    of(np.extract, lambda x: np.extract(x > 0, x), a(5)),
    call(np.choose, np.array([0, 1, 1]), [a(3), a(3)]), call(np.choose, ROWS, [a(), a(3)]),
    call(np.choose, np.array([0, 3, -1]), [a(3), a(3)], mode="wrap"),
    call(np.choose, np.array([0, 3, -1]), [a(3), a(3)], mode="clip"),
    call(np.choose, np.array([[0], [1]]), [a(3), a(3)]),
    of(np.select, lambda x: np.select([x > 1, x > 0], [x ** 2, x ** 3], default=-1.0), a(5)),
    of(np.select, lambda x: np.select([x > 1, x > 0], [x ** 2, x ** 3]), a(5)),
    of(np.select, lambda x, y: np.select([x > 1, x > 2], [x ** 2, x ** 3], y), a(5), a(5)),
    of(np.piecewise, lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda v: v ** 2, np.sqrt]), a(5)),
    of(np.piecewise, lambda x: np.piecewise(x, [x < 0], [lambda v: -v, 3.0]), a(5)),
    of(np.piecewise, lambda x: np.piecewise(x, x < 0, [lambda v: -v, lambda v: 2 * v]), a(5)),
    of(np.piecewise, lambda x: np.piecewise(x, [x < 0], [lambda v, k: k * v], 3.0), a(5)),
    call(np.searchsorted, np.array([-1.0, 0.0, 1.0]), a(4)),
    call(np.searchsorted, [-1.0, 0.0, 1.0], a(), side="right"),
    call(np.searchsorted, np.array([1.0, 0.0, -1.0]), a(4), sorter=[2, 1, 0]),
    of(np.searchsorted, lambda x, y: np.searchsorted(np.sort(x), y), a(4), a(2, 2)),
    call(np.digitize, a(5), [-1.0, 0.0, 1.0]),
    call(np.digitize, a(5), [-1.0, 0.0, 1.0], right=True),
    call(np.digitize, a(5), np.array([1.0, 0.0, -1.0])),
    call(np.digitize, a(5), [1.0, 0.0, -1.0], right=True),
    of(np.take, lambda x: x[np.ix_([0, 1], [2, 0])], a(2, 3)),
    of(np.take, lambda x: x[np.tril_indices(2)] + x[0, 0], a(2, 3)),
    of(np.take, lambda x: x[..., None, ::-2], a(2, 3)), of(np.take, lambda x: x[M], a(2, 3)),
    of(np.take, lambda x: x[np.array([0, 1]), :, np.array([3, 0])], a(2, 3, 4)),
    of(np.take, lambda x: x[:, np.array([[0, 1], [2, 2]])], a(2, 3)),
    method("nonzero", mask(3)), method("take", a(4), [0, 2]), method("diagonal", a(3, 3), 1),
    method("trace", a(3, 3)), method("compress", a(3), [True, False, True]),
    of("choose", lambda i, x, y: i.choose([x, y]), whole(2), a(2), a(2)),
    of("searchsorted", lambda x: np.sort(x).searchsorted(0.5), a(4)),
    of("put", lambda x, y: _after(x, lambda z: z.put([0, 2], y)), a(4), a(2)),
]

REDUCTION = [
    call(np.sum, a(2, 3)), call(np.sum, a(2, 3), axis=-1), call(np.sum, a(2, 3, 4), axis=(0, -1)),
    call(np.sum, a(2, 3), axis=0, keepdims=True), call(np.sum, a(2, 3), where=M),
    call(np.sum, a(2, 3), axis=1, initial=5.0), call(np.sum, a(2, 3), axis=(), keepdims=True),
    call(np.sum, a(2, 3), axis=0, initial=a(), where=M), call(np.sum, a(2, 3), dtype=np.float32),
    call(np.sum, [a(), a()]), call(np.sum, mask(2, 3), axis=0), call(np.sum, whole(2, 3)),
    into(np.sum, (3,), a(2, 3), axis=0), call(np.sum, a(2, 3), 0, np.float64, None, True),
    call(np.sum, a(0, 3), axis=0), call(np.sum, cplx(2, 3), axis=0), call(np.sum, a()),
    call(np.add.reduce, a(2, 3)), call(np.add.reduce, a(2, 3), axis=None),
    call(np.add.reduce, a(2, 3), axis=1, keepdims=True), call(np.add.reduce, a(2, 3), where=M),
    call(np.prod, a(2, 3)), call(np.prod, a(2, 3), axis=-1, keepdims=True),
    call(np.prod, a(2, 3), axis=(0, 1)), call(np.prod, a(2, 3), where=M, initial=2.0),
    call(np.prod, whole(2, 3), axis=0), into(np.prod, (3,), a(2, 3), axis=0),
    call(np.multiply.reduce, a(2, 3)), call(np.multiply.reduce, a(2, 3), axis=-1),
    *[call(f, a(2, 3), **options) for f in (np.max, np.min) for options in (
        {}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)},
        {"axis": 1, "initial": 0.5}, {"where": M, "initial": -0.5})],
    call(np.amax, a(2, 3), 1), call(np.amin, a(2, 3), 1), into(np.max, (2,), a(2, 3), axis=1),
    call(np.max, whole(2, 3), axis=0), call(np.min, a()),
    call(np.maximum.reduce, a(2, 3)), call(np.minimum.reduce, a(2, 3), axis=1),
    call(np.maximum.reduce, [a(3), a(3), a(3)]), call(np.maximum.reduce, a(2, 3), axis=None),
    of(np.any, lambda x: np.any(x > 0, axis=0), a(2, 3)), of(np.any, lambda x: np.any(x > 9), a(2)),
    of(np.any, lambda x: np.any(x > 0, axis=0, where=M), a(2, 3)), call(np.any, a(2, 3)),
    of(np.all, lambda x: np.all(x > 0, axis=-1, keepdims=True), a(2, 3)),
    of(np.all, lambda x: np.all(x > 0, axis=0, where=M), a(2, 3)), call(np.all, whole(2, 3)),
    call(np.count_nonzero, whole(2, 3)), call(np.count_nonzero, whole(2, 3), axis=0),
    call(np.count_nonzero, mask(2, 3), axis=1, keepdims=True),
    call(np.mean, a(2, 3)), call(np.mean, a(2, 3), axis=-1), call(np.mean, a(2, 3), axis=(0, 1)),
    call(np.mean, a(2, 3), axis=0, keepdims=True), call(np.mean, a(2, 3), where=M),
    call(np.mean, a(2, 3), axis=0, where=M, keepdims=True), call(np.mean, whole(2, 3), axis=0),
    call(np.mean, mask(2, 3)), call(np.mean, a(2, 3), dtype=np.float32), call(np.mean, cplx(3)),
    into(np.mean, (3,), a(2, 3), axis=0), into(np.mean, (3,), a(2, 3), axis=0, where=M),
    call(np.mean, [a(), a(), 2.0]),
    call(np.average, a(2, 3)), call(np.average, a(2, 3), axis=1),
    call(np.average, a(3), weights=W[0]),
    call(np.average, a(2, 3), axis=1, weights=positive(3)), call(np.average, a(2, 3), weights=W),
    call(np.average, a(2, 3), axis=0, weights=positive(2, 3)),
    call(np.average, a(2, 3), axis=0, weights=[1, 2], returned=True),
    call(np.average, a(2, 3), axis=-1, keepdims=True), call(np.average, whole(2, 3), axis=0),
    call(np.average, a(2, 3), returned=True), call(np.average, a(2, 3), axis=(0, 1), weights=W),
    *[call(f, a(2, 3), **options) for f in (np.var, np.std) for options in (
        {}, {"axis": 0}, {"axis": -1, "ddof": 1}, {"axis": (0, 1)}, {"keepdims": True},
        {"where": M}, {"axis": 1, "where": M, "keepdims": True, "ddof": 0.5},
        {"correction": 1})],
    call(np.var, cplx(4)), call(np.std, cplx(2, 3), axis=0), call(np.var, whole(2, 3), axis=0),
    of(np.var, lambda x: np.var(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)), a(2, 3)),
    into(np.var, (3,), a(2, 3), axis=0), into(np.std, (3,), a(2, 3), axis=0),
    call(np.ptp, a(2, 3)), call(np.ptp, a(2, 3), axis=1),
    call(np.ptp, a(2, 3), axis=0, keepdims=True),
    call(np.cumsum, a(2, 3)), call(np.cumsum, a(2, 3), axis=-1), call(np.cumsum, whole(3)),
    call(np.cumsum, a(3), dtype=np.float32), into(np.cumsum, (2, 3), a(2, 3), axis=0),
    call(np.cumprod, a(2, 3)), call(np.cumprod, a(2, 3), axis=0), call(np.cumsum, mask(3)),
    call(np.add.accumulate, a(2, 3)), call(np.add.accumulate, a(2, 3), axis=1),
    call(np.multiply.accumulate, a(2, 3)),
    *[call(f, a(2, 3), **options) for f in (np.argmax, np.argmin) for options in (
        {}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"keepdims": True})],
    call(np.argsort, a(2, 3)), call(np.argsort, a(2, 3), axis=0),
    call(np.argsort, a(2, 3), axis=None),
    call(np.argsort, a(5), kind="stable"),
    call(np.sort, a(2, 3)), call(np.sort, a(2, 3), axis=0), call(np.sort, a(2, 3), axis=None),
    call(special.logsumexp, a(2, 3)), call(special.logsumexp, a(2, 3), axis=-1),
    call(special.logsumexp, a(2, 3), axis=0, keepdims=True),
    call(special.logsumexp, a(2, 3), axis=(0, 1)), call(special.logsumexp, a(2, 3), b=W),
    call(special.logsumexp, a(2, 3), axis=0, b=W, keepdims=True),
    call(special.logsumexp, a(2, 3), axis=1, b=positive(2, 3)),
    call(special.log_softmax, a(2, 3)), call(special.log_softmax, a(2, 3), axis=-1),
    call(special.softmax, a(2, 3)), call(special.softmax, a(2, 3), axis=0),
    call(special.softmax, a(2, 3), axis=(0, 1)),
    *[call(np.linalg.norm, a(2, 3), **options) for options in (
        {}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"keepdims": True}, {"ord": "fro"},
        {"ord": 1}, {"ord": -1}, {"ord": np.inf}, {"ord": -np.inf}, {"ord": 1, "axis": 0},
        {"ord": np.inf, "axis": 1}, {"ord": 3, "axis": 1}, {"ord": -np.inf, "axis": 1},
        {"ord": 0, "axis": 1}, {"ord": 2.5, "axis": 0, "keepdims": True},
        {"ord": 1, "axis": (1, 0)}, {"ord": "fro", "axis": (0, 1), "keepdims": True},
        {"ord": np.inf, "keepdims": True})],
    call(np.linalg.norm, a(4)), call(np.linalg.norm, a(4), 1), call(np.linalg.norm, a(4), np.inf),
    call(np.linalg.norm, a(4), 3), call(np.linalg.norm, a(4), 0), call(np.linalg.norm, cplx(3)),
    call(np.linalg.norm, a(4), -2), call(np.linalg.norm, cplx(3), 1),
    call(np.linalg.norm, a(2, 3, 2), axis=(0, 2)), call(np.linalg.norm, a(2, 3, 2)),
    call(np.linalg.norm, a(2, 3, 2), ord=1, axis=(-1, 0), keepdims=True),
    call(np.linalg.norm, whole(3)), call(np.linalg.norm, [a(), a()]),
    call(np.linalg.vector_norm, a(2, 3)), call(np.linalg.vector_norm, a(2, 3), axis=1, ord=1),
    call(np.linalg.vector_norm, a(2, 3), ord=3, keepdims=True),
    call(np.linalg.vector_norm, a(2, 3, 2), axis=(0, 1)),
    call(np.linalg.vector_norm, a(2, 3), ord=np.inf),
    *[method(name, a(2, 3), **options) for name in (
        "sum", "prod", "max", "min", "mean", "var", "std") for options in (
        {}, {"axis": 0}, {"axis": -1, "keepdims": True})],
    method("sum", a(2, 3), 1), method("any", mask(2, 3), 0), method("all", mask(2, 3)),
    method("cumsum", a(2, 3)), method("cumsum", a(2, 3), 1), method("cumprod", a(2, 3), 0),
    method("argmax", a(2, 3)), method("argmin", a(2, 3), 1), method("argsort", a(2, 3)),
    of("sort", lambda x: _after(x, lambda z: z.sort()), a(2, 3)),
    of("sort", lambda x: _after(x, lambda z: z.sort(axis=0)), a(2, 3)),
]

SPECIAL = [
    call(np.i0, a(4)), call(special.zeta, 2.5, positive(3)), call(special.zeta, 2, positive(2, 3)),
    call(special.multigammaln, np.array([2.5, 3.0]), 3), call(special.multigammaln, 4.5, 1),
    call(special.polygamma, 0, positive(3)), call(special.polygamma, 2, positive(2, 3)),
    call(special.polygamma, np.array([[0], [1], [3]]), positive(2)),
    call(special.lambertw, positive(3)), call(special.lambertw, positive(3), k=-1),
    of(special.lambertw, lambda x: np.real(special.lambertw(x)), positive(3)),
    call(special.sici, positive(3)), call(special.shichi, a(3)), call(special.fresnel, a(3)),
    of(special.shichi, lambda x: special.shichi(x)[0], a(2, 3)),
    call(special.expm1, a(3)), call(special.log1p, positive(3)), call(special.exp2, a(3)),
    call(special.cbrt, positive(3)), call(np.frexp, a(4)), call(np.matvec, a(4, 2, 3), a(3)),
    call(np.vecmat, a(2), a(4, 2, 3)), call(np.vecmat, cplx(2), cplx(2, 3)),
    into(np.sin, (3,), a(3)), into(np.add, (2, 3), a(2, 3), a(3)),
    call(np.add, a(3), a(3), dtype=np.float32), call(np.sqrt, whole(3), dtype=np.float64),
]

TABLE = CREATION + LAYOUT + CONTRACTION + ELEMENTARY + INDEXING + REDUCTION + SPECIAL
