"""How accurate the derivatives of the other elementwise rows are, special functions first.

``accuracy.py`` has exact formulas and inputs of all magnitudes for NumPy's functions. Here the
exact derivative of every other row with a meaning in SymPy is taken numerically at 40 digits, at
points of the row's test domain. A derivative is made of SciPy's functions and no better than they
are; near its own zero it loses digits by cancellation, as any formula does.

Run ``python benchmarks/accuracy_special.py [points a row] [row ...]``.
"""

import sys
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import sympy
from accuracy import LIMIT, ROWS, Row, error_in_ulp
from wengert.compiler.ops.row import DerivativeNotImplemented, Elementwise, Op
from wengert.compiler.ops.table import TABLE
from wengert.runtime.sympy_functions import TO_SYMPY

# SymPy 1.14 evaluates these by mpmath with operands in the wrong places.
MISSPELLED = ("betainc", "betaincc")

Found = tuple[float, int, tuple[float, ...]]       # ulp, partial, point


def others(wanted: list[str]) -> Iterator[Op]:
    """Elementwise rows that ``accuracy.py`` does not have."""
    known = {row.name for row in ROWS}
    for op in TABLE.values():
        if isinstance(op.derivative, Elementwise) and op.name not in known and (
                not wanted or op.name in wanted):
            yield op


def draw(op: Op, n: int, rng: np.random.Generator) -> list[Any]:
    """Points of the row's domain; whole numbers where its limits are whole."""
    k = len(op.derivative.partials)
    return [rng.integers(low, high, n) if isinstance(low, int) and isinstance(high, int)
            else rng.uniform(low, high, n) for low, high in (op.domain * k)[:k]]


def worst(op: Op, n: int) -> Found | None:
    """The largest error of a row's partials; None if mpmath cannot evaluate the formula."""
    symbols = sympy.symbols(f"x0:{len(op.derivative.partials)}", real=True)
    function = sympy.lambdify(symbols, TO_SYMPY[op.name](sympy, *symbols), "mpmath")
    points = draw(op, n, np.random.default_rng(0))
    out, row = op.call(*points), Row(op.name, op.call, ())
    try:
        function(*[mpmath.mpf(float(p[0])) for p in points])
    except (NameError, TypeError, NotImplementedError):
        return None
    found: Found = (0.0, 0, ())
    for i, partial in enumerate(op.derivative.partials):
        if partial is None or isinstance(partial, DerivativeNotImplemented):
            continue
        slopes = np.broadcast_to(partial(*points, out) if callable(partial) else partial, n)
        order = tuple(int(j == i) for j in range(len(symbols)))

        def exact(*at: Any, order: tuple[int, ...] = order) -> Any:
            return mpmath.diff(function, at, order)
        for j in range(n):
            at = tuple(float(p[j]) for p in points)
            found = max(found, (error_in_ulp(float(slopes[j]), row, exact, at), i, at))
    return found


def main(arguments: list[str]) -> int:
    """Print the table; 1 if a row is worse than the limit."""
    n = int(arguments[0]) if arguments else 100
    failed = 0
    with mpmath.workdps(40), np.errstate(all="ignore"):
        for op in others(arguments[1:]):
            known = op.name in TO_SYMPY and op.name not in MISSPELLED
            found = worst(op, n) if known else None
            if found is None:
                print(f"{op.name:<16}{'no formula':>12}")
                continue
            error, partial, at = found
            failed += error > LIMIT
            where = ", ".join(f"{v:.8g}" for v in at)
            print(f"{op.name:<16}{error:>12.3g}  {'FAIL' if error > LIMIT else '':<6}"
                  f"∂{partial} at {where}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
