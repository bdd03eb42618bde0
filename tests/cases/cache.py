"""Nothing goes stale."""

import numpy as np

from cases.case import A, case

_W = A([1.0, 2.0])


@case(
    "jax-ml/jax#5206",
    (A([1.0, 1.0]),),
    A([1.0, 2.0]),
    mutate=lambda: _W.__setitem__(slice(None), 7.0),
    reset=lambda: _W.__setitem__(slice(None), A([1.0, 2.0])),
    expected_after=A([7.0, 7.0]),
)
def captured_array_mutated(x):
    """captured array modified in place between derivations."""
    return np.sum(_W * x)


@case("Theano/Theano#689", (A([1.0, 2.0]),), A([3.0, 12.0]), how="pickle")
def derivative_pickles(x):
    """the derived function sent to a worker process (pickle) must work or say why not."""
    return np.sum(x**3)
