"""What a case holds.

The cases are failures that users reported against other tools for differentiation, told anew
with other functions and figures; ``source`` names the public thread. The docstring of a case
says what went wrong there, or which convention holds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

A = np.array


@dataclass(frozen=True, kw_only=True)
class Case:
    """A function, where it is differentiated, and the right answer.

    Attributes:
        id: unique.
        function: plain NumPy.
        source: the report.
        args: arguments of the call.
        expected: what is wanted; words, one of which the message must contain, for an error.
        argnum: with respect to which argument.
        want: ``grad``, ``jacobian``, ``hessian``, ``value`` or ``error``.
        order: how often ``grad`` is applied.
        tol: tolerance, relative to the larger of 1 and the expected magnitude.
        rel: whether the tolerance is relative to the expected magnitude alone.
        dtype: that the result must have.
        accept: other answers that are a legitimate convention, by name.
        or_error: words of an honest refusal that would be acceptable.
        args2: other arguments for the same derivative, with ``expected2``.
        mutate: changes what the function captures; ``expected_after`` is right then.
        reset: undoes it.
        how: ``pickle`` or ``time``, with ``limit_s`` seconds.
    """

    id: str
    function: Callable[..., Any]
    source: str
    args: tuple[Any, ...]
    expected: Any
    argnum: int = 0
    want: str = "grad"
    order: int = 1
    tol: float = 1e-9
    rel: bool = False
    dtype: str | None = None
    accept: tuple[tuple[str, Any], ...] | list[tuple[str, Any]] = ()
    or_error: tuple[str, ...] = ()
    args2: tuple[Any, ...] | None = None
    expected2: Any = None
    mutate: Callable[[], Any] | None = None
    reset: Callable[[], Any] | None = None
    expected_after: Any = None
    how: str = ""
    limit_s: float = 60.0


CASES: list[Case] = []


def case(
    source: str, args: tuple[Any, ...], expected: Any, *, id: str | None = None, **options: Any
) -> Callable[[Any], Any]:
    """Register a function as a case."""

    def register(function: Any) -> Any:
        CASES.append(
            Case(
                id=id or function.__name__,
                function=function,
                source=source,
                args=args,
                expected=expected,
                **options,
            )
        )
        return function

    return register
