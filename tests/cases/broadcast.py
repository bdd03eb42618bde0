"""Broadcasting, reductions and their shapes."""

import numpy as np
import scipy.special as sp

from cases.case import A, case


@case("raskr/rust-autograd#38", (A(2.0), np.arange(6.0).reshape(2, 3)), A(15.0))
def zero_d_times_matrix(a, b):
    """0-d operand: gradient must be 0-d, not (1,) or (2,3)."""
    return np.sum(a * b)


@case(
    "pytorch/pytorch#1787",
    (np.arange(4.0).reshape(4, 1), A([[1.0, 2.0, 3.0]])),
    np.full((4, 1), 6.0),
)
def outer_by_broadcast(a, b):
    """(4,1)*(1,3): sum over the broadcast axis but keep it."""
    return np.sum(a * b)


@case(
    "tracel-ai/burn#181",
    (np.ones((2, 3)), A([[0.5], [1.0], [-1.0]]), A([1.0, 2.0])),
    A([9.0, 15.0]),
    argnum=2,
)
def bias_row_and_column(x, w, b):
    """(2,1) + (2,) -> (2,2): bias gradient sums over rows (broadcast by accident)."""
    return np.sum((x @ w + b) ** 2 * A([[1.0], [2.0]]))


def _centred(w):
    return w - w.mean(axis=(0, 2), keepdims=True)


@case(
    "HIPS/autograd#61",
    (np.arange(12.0).reshape(2, 3, 2),),
    _centred(np.arange(12.0).reshape(2, 3, 2) ** 2),
)
def mean_tuple_axis_keepdims(x):
    """centring with axis=(0,-1), keepdims=True: negative axis inside a tuple."""
    c = x - np.mean(x, axis=(0, -1), keepdims=True)
    return np.sum(np.arange(12.0).reshape(2, 3, 2) ** 2 * c)


@case(
    "HIPS/autograd#42", (A([[3.0, 4.0], [0.0, 2.0]]),), A([[16 / 125.0, -12 / 125.0], [0.5, 0.0]])
)
def norm_axis_keepdims(x):
    """row normalisation x / norm(x, axis=1, keepdims=True): axis ignored in the rule."""
    u = x / np.linalg.norm(x, axis=1, keepdims=True)
    return u[0, 0] + u[1, 0]


@case("HIPS/autograd#695", (A([0.7]),), A([1.0]))
def logsumexp_length_one(x):
    """logsumexp of a length-1 vector: () against (1,) mismatch while accumulating."""
    return sp.logsumexp(x)


@case("HIPS/autograd#78", (A([0.7]),), A([0.0]))
def diff_of_single_element(x):
    """diff of a length-1 vector is empty: gradient [0.], was an empty array."""
    return np.sum(np.diff(x))


@case("pytorch/pytorch#53407", (np.zeros((0, 3)),), np.zeros((0, 3)))
def empty_input_sum(x):
    """zero-size input: gradient of shape (0,3)."""
    return np.sum(x**2) + 1.0


@case("scipy/scipy#8532", (A([5.0]),), A([4.0]), or_error=("scalar", "shape"))
def output_shape_one(x):
    """objective returning shape (1,) for shape (1,) input: gradient (1,), or a clear refusal."""
    return (x - 3.0) ** 2
