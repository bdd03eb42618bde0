"""Structured loops and branches: they stay what they are in the generated code."""

import numpy as np
import wengert as wg

from .base import normal, positive, program


@program(normal(4), 0.3)
def damped_steps(x, h):
    def step(i, x):
        return x + h * np.sin(np.roll(x, 1)) / (1 + i)
    return wg.fori_loop(0, 5, step, x)


@program(normal(3), positive(3))
def two_carried(position, velocity):
    def step(i, state):
        q, p = state
        p = p - 0.1 * np.sin(q)
        return q + 0.1 * p, p
    return wg.fori_loop(0, 4, step, (position, velocity))


@program(0.7, 1.3)
def fibonacci_like(a, b):
    def step(i, pair):
        return {"x": pair["y"], "y": pair["x"] * b + pair["y"]}
    return wg.fori_loop(1, 6, step, {"x": a, "y": 1.0})["y"]


@program(2.0)
def newton_root(a):
    def goes_on(x):
        return abs(x * x - a) > 1e-13

    def step(x):
        return (x + a / x) / 2
    return wg.while_loop(goes_on, step, a)


@program(positive(3))
def relaxation(b):
    A = np.array([[4.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 6.0]])

    def goes_on(state):
        _, change = state
        return change > 1e-14

    def step(state):
        x, _ = state
        new = (b - (A - np.diag(np.diag(A))) @ x) / np.diag(A)
        return new, np.max(np.abs(new - x))
    return wg.while_loop(goes_on, step, (np.zeros(3), np.inf))[0]


@program(normal(5), 0.4)
def running_filter(x, a):
    def step(y, x):
        y = a * y + (1 - a) * x
        return y, y ** 2
    last, squares = wg.scan(step, 0.5, x)
    return squares * last


@program(normal(4, 3), normal(3))
def recurrent_network(inputs, h):
    W = np.array([[0.5, -0.2, 0.1], [0.3, 0.4, -0.6], [-0.1, 0.2, 0.7]])

    def step(h, x):
        h = np.tanh(W @ h + x)
        return h, None
    return wg.scan(step, h, inputs)[0]


@program(1.5)
def chosen_branch(x):
    return wg.cond(x > 0, lambda: np.sqrt(x) * x, lambda: np.log(x))


@program(normal(3), 0.8)
def branch_with_operands(x, a):
    def scaled(x):
        return a * x, np.sum(x)

    def shifted(x):
        return x - a, np.prod(x)
    return wg.cond(np.sum(x) > a, scaled, shifted, x)


@program(normal(4))
def branch_in_a_loop(x):
    def step(i, y):
        return wg.cond(i % 2 == 0, lambda y: np.sin(y) * x, lambda y: y + x ** 2, y)
    return wg.fori_loop(0, 5, step, x)


@program(normal(3))
def loop_in_a_loop(x):
    def outer(i, y):
        def inner(j, z):
            return z + 0.1 * np.cos(z) * x * (i + j)
        return wg.fori_loop(0, 3, inner, y)
    return wg.fori_loop(0, 2, outer, x)


@program(normal(5))
def loop_by_index(x):
    def step(i, total):
        return total + x[i] * x[i - 1] * np.exp(total / 10)
    return wg.fori_loop(1, 5, step, 0.0)


@program(normal(5))
def filled_by_index(x):
    def step(i, y):
        y[i] = y[i - 1] * x[i] + x[0]
        return y
    return wg.fori_loop(1, 5, step, np.ones(5))


@program(normal(3), 0.2)
def adaptive_steps(y, tolerance):
    def goes_on(state):
        t, _, _ = state
        return t < 1.0

    def step(state):
        t, h, y = state
        full = y - h * y ** 3
        half = y - h / 2 * y ** 3
        half = half - h / 2 * half ** 3
        error = np.max(np.abs(full - half))
        good = error < 0.05
        new_h = wg.cond(good, lambda: min_of(1.5 * h, 1.0 - t), lambda: 0.5 * h)
        return (wg.cond(good, lambda: t + h, lambda: t), new_h,
                np.where(good, half, y) * (1 + 0 * tolerance))
    return wg.while_loop(goes_on, step, (0.0, tolerance, y))[2]


def min_of(a, b):
    return np.minimum(a, b) + 1e-3


@program(normal(3), 4)
def dynamic_count(x, n):
    return wg.fori_loop(0, n, lambda i, y: y * x + np.sin(x), x)


@program(np.float32(0.5) * np.arange(1, 5, dtype=np.float32))
def single_precision_loop(x):
    return wg.fori_loop(0, 3, lambda i, y: np.tanh(y) * x + 0.5, x)


@program(normal(3))
def snapshots_of_states(x):
    return wg.fori_loop(0, 9, lambda i, y: y + 0.1 * np.sin(y) * x, x, snapshots=3)


@program(normal(3), normal(3, 3))
def checkpointed_layers(x, W):
    def layer(x):
        h = W @ x
        return np.tanh(h)
    layer = wg.checkpoint(layer, policy=["h"])
    return layer(layer(x))
