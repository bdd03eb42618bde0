"""Types of numbers."""

import numpy as np

from cases.case import A, case


@case(
    "denizyuret/AutoGrad.jl#69",
    (np.ones((2, 2), np.float32),),
    np.full((2, 2), 0.2, np.float32),
    dtype="float32",
    tol=1e-06,
)
def float32_stays_float32(x):
    """float32 input times a Python float: gradient must be float32."""
    return np.sum(x * 0.2)


@case(
    "HIPS/autograd#199",
    (A([[1.0, 3.0], [2.0, 2.0]], np.float32),),
    A([[0.0, 1.0], [0.5, 0.5]], np.float32),
    dtype="float32",
    tol=1e-06,
    accept=[("first", A([[0.0, 1.0], [1.0, 0.0]], np.float32))],
)
def float32_max_axis(x):
    """max(axis=1) in float32 raised / upcast (divided by an int64 count)."""
    return np.sum(np.max(x, axis=1))


@case("Theano/Theano#4014", (A([0.5, 0.25]), A([1, 0], np.uint8)), A([-2.0, 4 / 3.0]))
def unsigned_labels(p, t):
    """cross entropy with uint8 labels: -t in the adjoint wraps to 255."""
    return -np.sum(t * np.log(p) + (1.0 - t) * np.log(1.0 - p))


@case("pytorch/pytorch#187460", (A([0.5, 3.0]),), A([0.5, 0.5]))
def ldexp_negative_int_exponent(x):
    """ldexp(x, -1): adjoint 2**-1 computed in integers gives 0."""
    return np.sum(np.ldexp(x, -1))


@case("HIPS/autograd#147", (A([1.0, 2.0]),), A([2.0, 4.0]), dtype="float64", tol=1e-06)
def astype_roundtrip(x):
    """astype(float32).astype(float64) in the middle: gradient passes, result float64."""
    return np.sum(x.astype(np.float32).astype(np.float64) ** 2)
