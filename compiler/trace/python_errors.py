"""Errors that arithmetic on Python numbers raises where NumPy gives infinity or NaN.

They matter where the function handles them: there the condition is decided, and guarded, so that
``try``/``except`` takes the path it would take. Elsewhere NumPy's meaning is kept.
"""

from typing import Any

import numpy as np

from ..ops import arithmetic, comparison

RAISING = frozenset((arithmetic.div, arithmetic.mod, comparison.floor_divide, arithmetic.power))


def check_operands(op: Any, x: Any, y: Any) -> None:
    """Raise what ``x op y`` raises for plain numbers because of its operands.

    Raises:
        ZeroDivisionError: for a divisor of zero, or a negative power of zero.
    """
    if op is arithmetic.power:
        if y < 0 and x == 0:
            raise ZeroDivisionError("0.0 cannot be raised to a negative power")
    elif y == 0:
        raise ZeroDivisionError("division by zero")


def check_power(x: Any, y: Any, out: Any) -> None:
    """Raise what ``x ** y`` raises because of its result.

    Raises:
        OverflowError: if it is too large.
    """
    if np.isinf(out) and not (np.isinf(x) or np.isinf(y)):
        raise OverflowError(34, "Numerical result out of range")
