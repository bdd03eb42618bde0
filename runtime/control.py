"""Loops and branches that stay loops and branches in the generated code."""

import functools
from collections.abc import Callable, Collection
from typing import Any

from ..compiler.trace import structured

Function = Callable[..., Any]


def cond(pred: Any, yes: Function, no: Function, *operands: Any) -> Any:
    """``yes(*operands)`` if ``pred`` holds, else ``no(*operands)``; only one of them is computed.

    In a traced function a plain ``if`` makes one program for each path; this makes one program
    with a real ``if``, and can stand in the body of a loop. Its derivative is that of the branch
    that is taken; the other one contributes nothing, not even a NaN.

    Args:
        pred: one truth value.
        yes: of the operands and of anything around it.
        no: likewise; it returns the same structure, shapes and dtypes.
        operands: numbers, arrays and nested containers of them.

    Raises:
        BranchMismatchError: if the branches return different structures, shapes or dtypes.
        PredicateError: if ``pred`` is not a single truth value.

    >>> import numpy as np, wengert as wg
    >>> f = lambda x: wg.cond(x > 0.0, lambda: np.sqrt(x), lambda: 0.0 * x)
    >>> float(wg.grad(f)(4.0)), float(wg.grad(f)(-4.0))
    (0.25, 0.0)
    """
    return structured.cond(pred, yes, no, *operands)


def while_loop(test: Function, body: Function, init: Any, *, snapshots: int | None = None) -> Any:
    """``while test(carry): carry = body(carry)``, starting from ``init``; gives the last carry.

    The body is traced once, so what is carried keeps its structure, shapes and dtypes. Reverse mode
    keeps a number of states that grows with the square root of the number of steps.

    Args:
        test: of the carry, one truth value.
        body: of the carry, the next one.
        init: numbers, arrays and nested containers of them.
        snapshots: how many states reverse mode may keep at a time, instead.

    Raises:
        CarryError: if the body changes the structure, a shape or a dtype of the carry.
        BodyBranchError: if a Python ``if`` inside depends on what is carried.

    >>> import wengert as wg
    >>> def root(a):
    ...     return wg.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)
    >>> round(float(wg.grad(root)(4.0)), 12)
    0.25
    """
    return structured.while_loop(test, body, init, snapshots)


def fori_loop(lower: Any, upper: Any, body: Function, init: Any, *, snapshots: int | None = None,
              on_disk: int | None = None) -> Any:
    """``for i in range(lower, upper): carry = body(i, carry)``; gives the last carry.

    Args:
        lower: first value of the counter.
        upper: one past its last; both may be traced integers.
        body: of the counter and the carry, the next carry.
        init: numbers, arrays and nested containers of them.
        snapshots: how many states reverse mode keeps at a time. The steps between them are
            computed again, as few as possible (Griewank and Walther, Algorithm 799, ACM TOMS 26,
            2000). Without it all states are kept as long as they take at most 1 MiB, and √(2n) of
            them where they would take more.
        on_disk: how many more states it keeps in a temporary file, evenly spaced; ``snapshots`` are
            then those between two of them. The file has no name, and nothing is left of it however
            the process ends.

    Raises:
        CarryError: if the body changes the structure, a shape or a dtype of the carry.
        BodyBranchError: if a Python ``if`` inside depends on what is carried.

    >>> import wengert as wg
    >>> power = lambda x: wg.fori_loop(0, 5, lambda i, y: y * x, 1.0)
    >>> float(wg.grad(power)(2.0))
    80.0
    """
    return structured.fori_loop(lower, upper, body, init, snapshots, on_disk)


def scan(body: Function, init: Any, xs: Any = None, length: int | None = None, *,
         snapshots: int | None = None, on_disk: int | None = None) -> Any:
    """``carry, y = body(carry, x)`` for each slice x of ``xs``; gives the last carry and all y.

    Args:
        body: of the carry and one slice; it returns the next carry and y, which may be None.
        init: numbers, arrays and nested containers of them.
        xs: arrays (nested) of equal length along their first axis, or None.
        length: number of steps; needed if ``xs`` is None.
        snapshots: as in :func:`fori_loop`.
        on_disk: likewise.

    Raises:
        CarryError: if the body changes the structure, a shape or a dtype of the carry.
        TripCountError: if the number of steps is not given, or not the same everywhere.

    >>> import numpy as np, wengert as wg
    >>> total, sums = wg.scan(lambda s, x: (s + x, s + x), 0.0, np.array([1.0, 2.0, 3.0]))
    >>> sums
    array([1., 3., 6.])
    """
    return structured.scan(body, init, xs, length, snapshots, on_disk)


def checkpoint(function: Function | None = None, *, policy: str | Collection[str] = "nothing"
               ) -> Any:
    """The same function, whose inner values reverse mode computes again instead of keeping them.

    Args:
        function: of numbers, arrays and nested containers of them; usable as a decorator.
        policy: what is kept besides the arguments: ``"nothing"``, ``"everything"``,
            ``"contractions"`` (the results of products of matrices), or names of variables.

    Raises:
        PolicyError: if the function computes no variable of a name in the policy.
        MutationError: if it assigns into its arguments.

    >>> import numpy as np, wengert as wg
    >>> @wg.checkpoint
    ... def layer(w, x):
    ...     return np.tanh(w * x)
    >>> float(wg.grad(lambda w: layer(w, layer(w, 1.0)))(0.0))
    0.0
    """
    if function is None:
        return functools.partial(checkpoint, policy=policy)

    @functools.wraps(function)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return structured.checkpoint(function, policy, args, kwargs)
    return checkpointed
