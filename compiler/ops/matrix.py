"""What the linear algebra rows share: transposes, types asked of NumPy, batching."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..arraytype import ArrayType
from .row import Op, Rule


def transposed(x: Any) -> Any:
    """Transpose of the last two axes."""
    return np.swapaxes(x, -1, -2)


def conj(x: Any) -> Any:
    """Complex conjugate; a real array itself."""
    return np.conj(x) if x.dtype.kind == "c" else x


def adjoint(x: Any) -> Any:
    """Conjugate transpose of the last two axes."""
    return conj(np.swapaxes(x, -1, -2))


def apply(a: Any, x: Any, is_vector: bool) -> Any:
    """``a @ x`` where x is a stack of matrices, or of vectors along its last axis."""
    if is_vector and a.ndim > 2:
        return (a @ x[..., None])[..., 0]
    return a @ x


def square_shape(name: str, a: ArrayType) -> tuple[int, ...]:
    """The shape of a stack of square matrices.

    Raises:
        LinAlgError: as NumPy does, if it is not one.
    """
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{name}: {a.ndim}-dimensional array given. Array must be "
                                    "at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(f"{name}: last 2 dimensions of the array must be square, but "
                                    f"the shape is {a.shape}")
    return a.shape


@cache
def dtype_of(call: Callable[..., Any], *dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Dtype of a function's result, asked of the function itself with small matrices."""
    out = call(*[np.eye(2, dtype=dtype) for dtype in dtypes])
    return np.asarray(out[0] if isinstance(out, tuple) else out).dtype


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Dtype of the absolute value."""
    return np.zeros((), dtype).real.dtype


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The complex dtype of the same precision."""
    return np.result_type(dtype, np.complex64)


def astype_text(dtype: np.dtype[Any]) -> str:
    """The method call that converts to a dtype, in source code."""
    return ".astype(complex)" if dtype == np.complex128 else f".astype(np.{dtype.name})"


def batch_leading(row: Callable[[], Op]) -> Rule:
    """Batching rule of an operator on one stack of matrices: one more leading axis."""
    def batch(args: tuple[Any, ...], batched: tuple[bool, ...], **params: Any) -> Any:
        return row()(*args, **params)
    return batch


def batch_one_by_one(row: Callable[[], Op]) -> Rule:
    """Batching rule of an operator that takes no stacks: one application an example."""
    def batch(args: tuple[Any, ...], batched: tuple[bool, ...], **params: Any) -> Any:
        size = next(a.shape[0] for a, b in zip(args, batched, strict=True) if b)
        outs = [row()(*[a[i] if b else a for a, b in zip(args, batched, strict=True)], **params)
                for i in range(size)]
        if isinstance(outs[0], tuple):
            return tuple(np.stack(parts) for parts in zip(*outs, strict=True))
        return np.stack(outs)
    return batch


def as_columns(b: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A batch of right-hand sides, side by side as columns of one matrix; and the way back.

    ``b`` has shape (size, n) or (size, n, k); the function given back undoes it.
    """
    moved = np.moveaxis(b, 0, -1)                          # (n, size) or (n, k, size)
    matrix = np.reshape(moved, (moved.shape[0], math.prod(moved.shape[1:])))

    def back(x: Any) -> Any:
        return np.moveaxis(np.reshape(x, (x.shape[0], *moved.shape[1:])), -1, 0)
    return matrix, back


def identity(n: int, like: Any) -> Any:
    """The identity in the precision of another array (always real)."""
    return np.eye(n, dtype=real_dtype(like.dtype))


# A matrix and a Hermitian one, far from singular, to draw samples for tests from.
GENERAL = np.array([[2.0, -0.6, 0.3], [0.5, 1.7, -0.8], [-0.4, 0.9, 2.4]])
STACK = np.stack([GENERAL, GENERAL[::-1] + 0.3])
POSITIVE = GENERAL @ GENERAL.T + np.eye(3)
COMPLEX = GENERAL + 1j * np.array([[0.2, 0.5, -0.3], [0.1, -0.4, 0.6], [0.7, 0.3, 0.2]])
TALL = np.array([[1.2, -0.5], [0.4, 1.9], [-0.8, 0.6], [0.3, 0.7]])
