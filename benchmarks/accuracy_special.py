"""How accurate the derivatives of the other elementwise rows are, special functions first.

``accuracy.py`` has exact formulas and inputs of all magnitudes for NumPy's functions. Here the
exact derivative of every other row with a meaning in SymPy is taken numerically at 40 digits, at
points of the row's test domain. A derivative is made of SciPy's functions and no better than they
are. Three columns tell the two apart: the error of the derivative, in units in the last place and
beyond what one ulp of the operands changes; the same when SciPy's functions in the formula give
their exact values, rounded, beyond what that rounding changes; and the largest error of those
functions themselves. A row passes if the first or the second is within 8.

Run ``python benchmarks/accuracy_special.py [points a row] [row ...]``.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import sympy
from accuracy import LIMIT, ROWS, Row, error_in_ulp
from wengert.compiler.arraytype import ArrayType
from wengert.compiler.graph import Graph, Node
from wengert.compiler.interpret import compute
from wengert.compiler.ops.row import DerivativeNotImplemented, Elementwise, Op
from wengert.compiler.ops.table import TABLE
from wengert.compiler.passes.dead import remove_dead
from wengert.compiler.trace.tracer import TraceBuilder, Tracer
from wengert.runtime.sympy_functions import TO_SYMPY

# SymPy 1.14 evaluates these by mpmath with operands in the wrong places.
MISSPELLED = ("betainc", "betaincc")

@dataclass
class Found:
    """What is worst of a row, in ulp, and where."""

    error: float = 0.0
    partial: int = 0
    at: tuple[float, ...] = ()
    formula: float = 0.0        # with exact functions in the formula
    functions: float = 0.0      # of SciPy's functions in it


@dataclass
class Formula:
    """A partial as a graph, in which SciPy's functions may be replaced by exact values."""

    graph: Graph
    known: dict[Node, Callable[..., Any]]

    def evaluate(self, at: Sequence[float], correct: bool, moved: Node | None = None
                 ) -> tuple[Any, float]:
        """The slope, and the largest error of a function; one of them perhaps half an ulp off."""
        values: dict[Node, Any] = dict(zip(self.graph.inputs, at, strict=True))
        largest = 0.0
        for node in self.graph.nodes:
            if node in values:
                continue
            operands = [values[a] for a in node.args]
            value = compute(node, operands)
            function = self.known.get(node)
            if function is not None and np.isfinite(value):
                exact = function(*[mpmath.mpf(float(v)) for v in operands])
                unit = float(np.spacing(abs(float(exact)))) or 1.0
                largest = max(largest, float(abs(mpmath.mpf(float(value)) - exact) / unit))
                value = np.float64(exact) if correct else value
                if node is moved:
                    value = value * (1.0 + 2.0 ** -52)
            values[node] = value
        return values[self.graph.outputs[0]], largest

    def at_best(self, at: Sequence[float]) -> tuple[float, float]:
        """The slope with exact functions, and what their rounding may change in it."""
        slope = float(self.evaluate(at, True)[0])
        return slope, sum(abs(float(self.evaluate(at, True, node)[0]) - slope) / 2
                          for node in self.known)


def formula_of(op: Op, i: int, points: list[Any]) -> Formula:
    """The partial of a row by one operand, as a graph of scalars."""
    builder = TraceBuilder(op.name)
    inputs = [Tracer(builder, builder.input(ArrayType((), np.asarray(p).dtype))) for p in points]
    partial = op.derivative.partials[i]
    out = partial(*inputs, op(*inputs)) if callable(partial) else partial
    builder.closed = True
    graph = remove_dead(builder.graph([builder.lift(out)]))
    known = {node: meaning for node in graph.nodes if node.args
             and (meaning := meaning_of(node.op)) is not None}
    return Formula(graph, known)


def meaning_of(op: Op) -> Callable[..., Any] | None:
    """SciPy's functions among the rows, in mpmath."""
    is_scipy = str(op.python).startswith("special.")
    if not is_scipy or op.name not in TO_SYMPY or op.name in MISSPELLED:
        return None
    symbols = sympy.symbols(f"y0:{len(op.derivative.partials)}", real=True)
    return sympy.lambdify(symbols, TO_SYMPY[op.name](sympy, *symbols), "mpmath")


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
    found = Found()
    for i, partial in enumerate(op.derivative.partials):
        if partial is None or isinstance(partial, DerivativeNotImplemented):
            continue
        slopes = np.broadcast_to(partial(*points, out) if callable(partial) else partial, n)
        order = tuple(int(j == i) for j in range(len(symbols)))

        def exact(*at: Any, order: tuple[int, ...] = order) -> Any:
            return mpmath.diff(function, at, order)
        formula = formula_of(op, i, [p[0] for p in points])
        for j in range(n):
            at = tuple(float(p[j]) for p in points)
            error = error_in_ulp(float(slopes[j]), row, exact, at)
            if error > found.error:
                found.error, found.partial, found.at = error, i, at
            if error > LIMIT:
                plain = [p[j] for p in points]
                best, rounding = formula.at_best(plain)
                unit = float(np.spacing(abs(float(exact(*at)))))
                own = max(error_in_ulp(best, row, exact, at) - rounding / unit, 0.0)
                found.formula = max(found.formula, own)
                found.functions = max(found.functions, formula.evaluate(plain, False)[1])
    return found


def main(arguments: list[str]) -> int:
    """Print the table; 1 if a row is worse than the limit and its functions are not to blame."""
    n = int(arguments[0]) if arguments else 100
    failed = 0
    print(f"{'row':<16}{'derivative':>12}{'formula':>10}{'SciPy':>10}")
    with mpmath.workdps(40), np.errstate(all="ignore"):
        for op in others(arguments[1:]):
            known = op.name in TO_SYMPY and op.name not in MISSPELLED
            found = worst(op, n) if known else None
            if found is None:
                print(f"{op.name:<16}{'no formula':>12}")
                continue
            is_bad = found.formula > LIMIT
            failed += is_bad
            blame = f"{found.formula:>10.3g}{found.functions:>10.3g}" \
                if found.error > LIMIT else f"{'':20}"
            where = ", ".join(f"{v:.8g}" for v in found.at)
            print(f"{op.name:<16}{found.error:>12.3g}{blame}  {'FAIL' if is_bad else '':<6}"
                  f"∂{found.partial} at {where}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
