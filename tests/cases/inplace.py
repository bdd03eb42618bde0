"""Assignment into arrays."""

import numpy as np

from cases.case import A, case


@case("pytorch/pytorch#17455", (A([0.0, 1000.0]),), A([0.5, 0.0]))
def overwritten_nan(x):
    """r = log(exp(x)+1); r[1] = 0: the overwritten (overflowed) element must contribute exactly
    0."""
    r = np.log(np.exp(x) + 1.0)
    r[1] = 0.0
    return np.sum(r)


@case("google/tangent#69", (A([2.0, 3.0]),), A([4.0, 0.0]))
def overwrite_after_use(x):
    """buffer element used, then overwritten by a constant: gradient of the first use stays."""
    b = x * 1.0
    s = b[0] ** 2
    b[0] = 5.0
    b[1] = b[0] * 1.0
    return s + b[1]


@case(
    "pytorch/pytorch#182012",
    (A([[1.0, 2.0], [3.0, 4.0]]), A([5.0, 6.0])),
    A([[0.0, 1.0], [1.0, 0.0]]),
)
def diagonal_overwritten(x, s):
    """diagonal of a copy overwritten by another input: zero gradient on it, 1 elsewhere
    (compiled code gave all zeros)."""
    y = np.copy(x)
    y[np.arange(2), np.arange(2)] = s
    return np.sum(y)


@case("google/tangent#64", (2.0, 5.0), 15.0)
def augmented_assign_scalar(w, e):
    """p = ...; p += ...; returned derivative belonged to the value before the update."""
    p = w * e * 2.0
    q = p
    p += w * e
    return p + 0.0 * q


@case(
    "scipy/scipy#19463",
    (A([1.0, 2.0, 3.0]),),
    A([0.0, 4.0, 6.0]),
    or_error=("in-place", "inplace", "mutat", "assign", "read-only", "immutable"),
)
def argument_mutated(x):
    """function overwrites part of its argument: right gradient and caller's array untouched, or
    a clear refusal."""
    x[0] = 10.0
    return np.sum(x**2)


@case("HIPS/autograd#373", (A([1.0, 2.0, 3.0]),), A([2.0, 4.0, 6.0]), or_error=("out",))
def ufunc_out_buffer(x):
    """out= buffer: gradient silently lost or obscure error."""
    b = np.empty(3)
    np.multiply(x, x, out=b)
    return np.sum(b)


@case(
    "HIPS/autograd#159",
    (A([-50.0, 0.0, 50.0]),),
    A([0.0, 0.5, 1.0]),
    or_error=("bool", "mask", "data-dependent", "shape"),
)
def copy_then_masked_assign(x):
    """r = copy(x); r[mask] = f(x[mask]) (piecewise by masks)."""
    r = np.copy(x)
    mid = np.abs(x) < 30
    r[mid] = np.log(1.0 + np.exp(x[mid]))
    r[x <= -30] = 0.0
    return np.sum(r)
