"""Where functions come from."""

import functools

import numpy as np

from cases.case import A, case

_ns = {}
exec("def made_by_exec(x):\n    return np.sum(np.sin(x) ** 2)\n", globals(), _ns)

# function without source file (REPL, exec): inspect.getsource fails.
case("google/tangent#10", (A([0.3, 0.6]),), np.sin(2 * A([0.3, 0.6])), id="function_made_by_exec")(
    _ns["made_by_exec"]
)


def _scaled(k, x, power=1):
    return k * np.sum(x**power)


# functools.partial with positional and keyword parts.
case("HIPS/autograd#167", (A([1.0, 3.0]),), A([4.0, 12.0]), id="functools_partial")(
    functools.partial(_scaled, 2.0, power=2)
)


class _Model:
    def __init__(self, k):
        self.k = k

    def loss(self, w):
        return np.sum(self.k * w**2)

    def __call__(self, w):
        return self.loss(w) + np.sum(w)


# bound method using self.k.
case("HIPS/autograd#108", (A([1.0, 2.0]),), A([6.0, 12.0]), id="bound_method")(_Model(3.0).loss)


def _late():
    fs = [lambda x: i * x for i in range(3)]  # noqa: B023 (the point of the case)
    return lambda x: sum(f(x) for f in fs)


# closures over a loop variable all see its last value (2+2+2); another backend gave 0+1+2.
case("jaseci-labs/jac#8637", (1.0,), 6.0, id="late_binding_closures")(_late())

_other_name_for_numpy = np


@case("google/tangent#23", (A([0.5, -0.5]),), 1 - np.tanh(A([0.5, -0.5])) ** 2)
def numpy_under_another_name(x):
    """numpy imported under a name other than np: generated code referred to an undefined np."""
    return _other_name_for_numpy.sum(_other_name_for_numpy.tanh(x))
