"""Every partial derivative of every elementwise row, against SymPy's derivative of the function.

The partial is traced into a graph, the graph becomes a formula, and the difference of both
derivatives must vanish: by SymPy's simplification, or else at random points of the domain with
30 digits. Rows that SymPy has no function for are differentiated by mpmath instead.
"""

import math
import zlib

import mpmath
import numpy as np
import pytest
import scipy.special as special
import sympy
from wengert.compiler.arraytype import ArrayType
from wengert.compiler.ops.row import DerivativeNotImplemented, Elementwise, Op
from wengert.compiler.ops.table import FAMILIES
from wengert.compiler.trace.tracer import TraceBuilder, Tracer
from wengert.runtime.sympy_bridge import to_sympy
from wengert.runtime.sympy_functions import TO_SYMPY

DIGITS = 30
POINTS = 4
SMALL = 25               # operations in a formula that SymPy is asked to simplify

ROWS = {row.name: row for family in FAMILIES for row in vars(family).values()
        if isinstance(row, Op) and isinstance(row.derivative, Elementwise)}
PARTIALS = [(name, i) for name, row in sorted(ROWS.items())
            for i, p in enumerate(row.derivative.partials)
            if p is not None and not isinstance(p, DerivativeNotImplemented)]
ZEROS = [(name, i) for name, row in sorted(ROWS.items())
         for i, p in enumerate(row.derivative.partials) if p is None]


# What mpmath computes where SymPy has no function, or none that it can differentiate or evaluate.
ORACLES = {
    "gammaincinv": lambda a, y: mpmath.findroot(
        lambda x: mpmath.gammainc(a, 0, x, regularized=True) - y, _start("gammaincinv", a, y)),
    "gammainccinv": lambda a, y: mpmath.findroot(
        lambda x: mpmath.gammainc(a, x, regularized=True) - y, _start("gammainccinv", a, y)),
    "betaincinv": lambda a, b, y: mpmath.findroot(
        lambda x: mpmath.betainc(a, b, 0, x, regularized=True) - y, _start("betaincinv", a, b, y)),
    "owens_t": lambda h, a: mpmath.quad(
        lambda x: mpmath.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), [0, a]) / (2 * mpmath.pi),
    "betainc": lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
    "betaincc": lambda a, b, x: mpmath.betainc(a, b, x, 1, regularized=True),
    "zeta": lambda s, q: mpmath.zeta(s, q), "elliprd": mpmath.elliprd,
    "erfcinv": lambda y: mpmath.erfinv(1 - y),
    "spence": lambda x: mpmath.polylog(2, 1 - x),
}


def _start(name, *args):
    """A double to start the search for a root from."""
    return mpmath.mpf(float(getattr(special, name)(*map(float, args))))


def _partial_graph(row, i):
    """The partial derivative as a graph of scalar inputs."""
    builder = TraceBuilder(row.name)
    types = [ArrayType((), np.dtype(int if isinstance(d[0], int) else float)) for d in row.domain]
    inputs = [Tracer(builder, builder.input(t, f"x{k}")) for k, t in enumerate(types)]
    partial = row.derivative.partials[i]
    out = partial(*inputs, row(*inputs)) if callable(partial) else partial
    builder.closed = True
    return builder.graph([builder.lift(out)])


def _symbols(row):
    return [sympy.Symbol(f"x{k}", integer=True) if isinstance(d[0], int)
            else sympy.Symbol(f"x{k}", real=True, positive=True if d[0] > 0 else None)
            for k, d in enumerate(row.domain)]


def _opaque(name):
    """A function that SymPy knows by name only."""
    return lambda s, *args: s.Function(name)(*args)


FUNCTIONS = {**TO_SYMPY, **{name: _opaque(name) for name in ORACLES}}
MODULES = [{**ORACLES, "uppergamma": mpmath.gammainc,
            "lowergamma": lambda a, x: mpmath.gammainc(a, 0, x),
            "expint": mpmath.expint, "fresnels": mpmath.fresnels}, "mpmath"]


def _points(row):
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    for _ in range(POINTS):
        yield [int(rng.integers(d[0], d[1] + 1)) if isinstance(d[0], int)
               else mpmath.mpf(float(rng.uniform(*d))) for d in row.domain]


def _derivative(row, i, symbols):
    """The derivative as a function of mpmath numbers, and as a formula if there is one."""
    function = FUNCTIONS[row.name](sympy, *symbols)
    if row.name in ORACLES:
        def numeric(*point):
            def along(x):
                return ORACLES[row.name](*point[:i], x, *point[i + 1:])
            return mpmath.diff(along, point[i], h=mpmath.mpf(10) ** -12)
        return numeric, None
    steps = {e: sympy.Dummy() for e in function.atoms(sympy.floor, sympy.ceiling)}
    back = {v: k for k, v in steps.items()}
    formula = sympy.diff(function.xreplace(steps), symbols[i]).xreplace(back)  # steps are flat
    return sympy.lambdify(symbols, formula, MODULES), formula


def _is_zero_by_simplification(difference):
    return difference.count_ops() <= SMALL and sympy.simplify(difference) == 0


@pytest.mark.parametrize(("name", "i"), PARTIALS)
def test_partial(name, i):
    row = ROWS[name]
    symbols = _symbols(row)
    (partial,) = to_sympy(_partial_graph(row, i), symbols, FUNCTIONS)
    if isinstance(partial, sympy.core.relational.Relational):
        partial = sympy.Piecewise((1, partial), (0, True))
    with mpmath.workdps(2 * DIGITS if name in ORACLES else DIGITS + 10):
        expected, formula = _derivative(row, i, symbols)
        if formula is not None and _is_zero_by_simplification(partial - formula):
            return
        found = sympy.lambdify(symbols, partial, MODULES)
        for point in _points(row):
            a, b = found(*point), expected(*point)
            # A truncated Taylor series near a removable singularity is right to double precision.
            close = mpmath.mpf(10) ** -DIGITS if not partial.has(sympy.Piecewise) else 4e-16
            if name in ORACLES:
                close = mpmath.mpf(10) ** -20
            assert abs(a - b) <= close * max(1, abs(b)), (name, i, point, a, b)


@pytest.mark.parametrize(("name", "i"), ZEROS)
def test_operand_without_influence(name, i):
    """None means that the function is constant in the operand almost everywhere, or a count."""
    row = ROWS[name]
    rng = np.random.default_rng(0)
    for _ in range(20):
        point = [rng.uniform(*d) if isinstance(d[0], float) else int(rng.integers(*d))
                 for d in row.domain]
        if isinstance(row.domain[i][0], int):
            continue                                   # an integer has no tangent
        moved = [*point[:i], math.nextafter(point[i], math.inf), *point[i + 1:]]
        assert row.call(*point) == row.call(*moved)


def test_every_elementwise_row_has_a_formula_or_an_oracle():
    assert set(ROWS) <= set(TO_SYMPY) | set(ORACLES)
    assert len(PARTIALS) >= 150
