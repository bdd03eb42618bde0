"""Arrays built from nothing, the functions of ``math``, branches on values, helper functions."""

import math
from math import exp, hypot, log, sqrt

import numpy as np

from .base import normal, positive, program

# -- arrays built and filled ------------------------------------------------------------------


@program(normal(5))
def filled_zeros(x):
    y = np.zeros(6)
    y[1:] = x * 2
    y[0] = x[-1]
    return y


@program(normal(4))
def finite_differences_matrix(x):
    n = len(x)
    A = np.zeros((n, n))
    for i in range(n):
        A[i, i] = 2 + x[i] ** 2
        if i > 0:
            A[i, i - 1] = A[i - 1, i] = -x[i]
    return A @ x


@program(0.3, 0.7)
def rotation(a, s):
    R = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    return s * R @ np.array([1.0, 2.0])


@program(normal(3))
def lorenz_as_array(state):
    x, y, z = state
    return np.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


@program(normal(2), 0.01)
def runge_kutta_step(y, h):
    def f(y):
        return np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]])
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    k4 = f(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@program(normal(4), 3)
def history_of_states(x, n):
    states = np.empty((n, 4))
    for i in range(n):
        x = np.tanh(x + np.roll(x, 1))
        states[i] = x
    return states.sum(axis=1)


@program(positive(4))
def list_of_values(x):
    values = []
    total = 0.0
    for v in x:
        total += v ** 2
        values.append(total)
    return np.array(values)


@program(normal(3, 3))
def ones_and_eyes(a):
    return a @ np.eye(3) + np.ones((3, 3)) * a.trace() + np.diag(np.diag(a)) + np.full((3, 3), 2.0)


@program(positive(5))
def polynomial_basis(x):
    basis = np.zeros((5, 3))
    for k in range(3):
        basis[:, k] = x ** k
    return basis.T @ basis


@program(normal(4))
def accumulated_in_place(x):
    total = np.zeros(3)
    total += x[:3]
    total[1:] *= x[2:]
    np.add.at(total, np.array([0, 0, 2]), x[1:])
    return total


@program(positive(3), positive(3))
def upwind_scheme(u, c):
    flux = np.zeros(4)
    flux[1:-1] = np.where(c[1:] > 0, u[:-1], u[1:]) * c[1:]
    flux[0], flux[-1] = u[0], u[-1] ** 2
    return u - 0.1 * np.diff(flux)


# -- math and branches --------------------------------------------------------------------------


@program(0.7, 1.9)
def math_functions(x, y):
    return math.sin(x) * exp(-y) + log(y) / sqrt(x) + math.pow(x, y) + hypot(x, y)


@program(0.4)
def math_of_arrays_elements(x):
    values = np.array([x, x ** 2, 1.0])
    return sum(math.atan2(v, 2.0) for v in values) + math.erf(x)


@program(0.5)
def branches(x):
    if x > 1:
        return x ** 2
    if x < 0:
        return -x
    return math.exp(x)


@program(2.0)
def newton_until_converged(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@program(1.3, 0.2)
def friction_factor(reynolds, roughness):
    re = 1e4 * reynolds
    if re < 2300:
        return 64 / re
    f = 0.02
    for _ in range(6):
        f = (-2 * math.log10(roughness / 370 + 2.51 / (re * math.sqrt(f)))) ** -2
    return f


@program(normal(5))
def largest_of_all(x):
    best = x[0]
    for v in x[1:]:
        best = max(best, v)
    return best * np.sum(x)


@program({"mass": 1.5, "position": normal(3), "velocity": normal(3)}, 0.1)
def kinetic_and_potential(body, g):
    kinetic = 0.5 * body["mass"] * np.dot(body["velocity"], body["velocity"])
    return {"kinetic": kinetic, "potential": body["mass"] * g * body["position"][2],
            "speed": np.linalg.norm(body["velocity"])}
