"""Maxima, minima, absolute values, sorting and clipping at ties."""

import numpy as np

from cases.case import A, case


@case("Theano/Theano#6470", (A([1.0, -2.0]),), A([1.0, 1.0]))
def maximum_of_itself(x):
    """maximum(x, x) is x: both sides got 0 or both got 1."""
    return np.sum(np.maximum(x, x))


@case("jax-ml/jax#2195", (A([0.0, 1.0, -1.0]),), A([1.0, 1.0, 1.0]))
def max_plus_min_is_identity(x):
    """maximum(x,0) + minimum(x,0) = x: tie rules must be consistent (0.5 + 0.5)."""
    return np.sum(np.maximum(x, 0.0) + np.minimum(x, 0.0))


@case("jax-ml/jax#37821", (0.0,), 0.5, accept=[("0", 0.0), ("1", 1.0)])
def maximum_zero_tie(x):
    """maximum(x, 0) at 0: 0.5 (autograd, JAX, torch.maximum, casadi); 0 = relu convention; 1 =
    pytensor."""
    return np.maximum(x, 0.0)


@case(
    "HIPS/autograd#212",
    (A([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]),),
    A([[0.0, 0.5, 0.5], [1 / 3.0, 1 / 3.0, 1 / 3.0]]),
    accept=[("first", A([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))],
)
def max_ties_split(x):
    """np.max(axis=1) with ties: even split (autograd, JAX, torch.amax/max); first-winner
    (torch.max(dim)) is the other convention; 1 to every tied entry (pytensor) is wrong
    (directional derivative doubled)."""
    return np.sum(np.max(x, axis=1))


@case("jax-ml/jax#37820", (A([0.0, -2.0]),), A([0.0, -1.0]), accept=[("1 at 0", A([1.0, -1.0]))])
def abs_at_zero(x):
    """|x|'(0) = sign(0) = 0 (autograd, torch, pytensor, casadi); JAX gives 1."""
    return np.sum(np.abs(x))


@case("jax-ml/jax#2140", (0.0,), 0.5)
def log_sigmoid_stable_form(x):
    """min(x,0) - log1p(exp(-|x|)) is smooth, derivative 0.5 at 0; inconsistent min/abs tie rules
    give 0 or 1."""
    return np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x)))


@case("jax-ml/jax#2107", (0.0,), 0.5)
def logaddexp_tie(x):
    """softplus = logaddexp(x, 0) at 0: 0.5; a max inside it gave 0 or 1."""
    return np.logaddexp(x, 0.0)


@case("Theano/Theano#633", (5.0,), 1.0)
def clip_with_traced_bound(x):
    """clip(x, 0, x) = x for x > 0; the bound's own gradient was dropped (result 0)."""
    return np.clip(x, 0.0, x)


@case("Theano/Theano#1010", (A([-3.0, 0.5, 9.0]), 1.0), 1.0, argnum=1)
def clip_gradient_wrt_bounds(x, hi):
    """clip(x, -1, hi): d/dhi = number of entries above hi."""
    return np.sum(np.clip(x, -1.0, hi))


@case("PaddlePaddle/Paddle#42385", (A([2.0, 2.0, 1.0, 5.0]),), A([0.5, 0.5, 0.0, 0.0]))
def median_even_count(x):
    """even count: the two middle entries (here equal) get 1/2 each."""
    return np.median(x)


@case("numpy/numpy#12282", (A([4.0, 1.0, 3.0, 2.0, 5.0]),), A([0.0, 0.0, 0.2, 0.8, 0.0]))
def percentile_between(x):
    """30th percentile = 0.8*x(2) + 0.2*x(3), weights at the original places."""
    return np.percentile(x, 30)
