"""Kinds of arguments."""

import collections

import numpy as np

from cases.case import A, case

Point = collections.namedtuple("Point", "x y")


@case("jax-ml/jax#446", (Point(2.0, A([1.0, 3.0])),), Point(4.0, A([2.0, 2.0])))
def namedtuple_argument(p):
    """gradient wrt a namedtuple: same type back."""
    return p.x * np.sum(p.y)


@case(
    "HIPS/autograd#69",
    (({"layers": [(A([1.0, 2.0]), 0.5), (A([3.0, 4.0]), -1.0)]}, 2.0),),
    ({"layers": [(A([2.0, 2.0]), 2.0), (A([6.0, 6.0]), 6.0)]}, 21.5),
)
def nested_containers(tree):
    """tuple of dict of list of tuples."""
    params, scale = tree
    s = 0.0
    for k, (w, b) in enumerate(params["layers"]):
        s = s + (1 + 2 * k) * (np.sum(w) + b)
    return scale * s


@case("jax-ml/jax#10669", (3.0, 4.0), 6.0, argnum=-1, or_error=("argnum", "negative", "range"))
def negative_argnum(x, y):
    """argnum=-1 regressed; either supported or refused."""
    return x * 2.0 * y


_TABLE = A([1.0, 2.0])


def _kw(x, *, k=3.0, mode="sum", table=_TABLE):
    return k * np.sum(table * x) if mode == "sum" else None


# keyword-only parameters with scalar, string and array defaults.
case("candle-org/MindAct#1835", (A([1.0, 1.0]),), A([3.0, 6.0]), id="keyword_only_defaults")(_kw)


@case("HIPS/autograd#374", (A([1.0, 2.0]),), ("scalar", "jacobian", "shape"), want="error")
def grad_of_vector_output(x):
    """grad of a vector-valued function: error that says scalar output / use jacobian."""
    return x**2


@case("HIPS/autograd#64", (A([5.0, 3.0]),), A([10 / 3.0, -25 / 9.0 - 1 / 3.0]), want="jacobian")
def jacobian_of_scalar(x):
    """jacobian of a scalar function has the input's shape (raised TypeError)."""
    return x[0] ** 2 / x[1] - np.log(x[1])
