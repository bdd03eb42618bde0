"""Functions, their arguments, and their derivatives as a person would write them by hand.

A function is made by ``generic(np)``, for a library with NumPy's names, so that each peer gets it
over its own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Problem:
    """One function to be differentiated.

    Attributes:
        name: of the problem.
        generic: the function over a library with NumPy's names.
        args: to call it with.
        hand: the derivative by hand.
        argnums: with respect to which arguments.
        kind: ``grad`` or ``jacobian``.
        elements: whether the function computes with single numbers only.
    """

    name: str
    generic: Callable[[Any], Callable[..., Any]]
    args: tuple[Any, ...]
    hand: Callable[..., Any]
    argnums: Any = 0
    kind: str = "grad"
    elements: bool = False
    function: Any = None

    def __post_init__(self) -> None:
        if self.function is None:
            object.__setattr__(self, "function", self.generic(np))


# -- a function of two numbers ---------------------------------------------------------------


def _lecture(np: Any) -> Callable[..., Any]:
    return lambda x1, x2: np.log(x1) + x1 * x2 - np.sin(x2)


def lecture(x1: Any, x2: Any) -> Any:
    """The function of two numbers with which lectures on the subject begin."""
    return np.log(x1) + x1 * x2 - np.sin(x2)


def _lecture_by_hand(x1: float, x2: float) -> tuple[float, float]:
    return 1 / x1 + x2, x1 - math.cos(x2)


LECTURE = Problem("lecture", _lecture, (2.0, 5.0), _lecture_by_hand, (0, 1), elements=True,
                  function=lecture)


# -- arrays ---------------------------------------------------------------------------------------


def rosenbrock(n: int) -> Problem:
    """The valley of n numbers."""
    def generic(np: Any) -> Callable[..., Any]:
        return lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    def hand(x: Any) -> Any:
        d = x[1:] - x[:-1] ** 2
        out = np.zeros_like(x)
        out[:-1] = -400.0 * x[:-1] * d - 2.0 * (1.0 - x[:-1])
        out[1:] += 200.0 * d
        return out
    return Problem(f"rosenbrock({n})", generic, (np.linspace(0.5, 1.5, n),), hand)


def sine_exponential(n: int) -> Problem:
    """Sum of sin x · exp x."""
    def generic(np: Any) -> Callable[..., Any]:
        return lambda x: np.sum(np.sin(x) * np.exp(x))

    def hand(x: Any) -> Any:
        return np.exp(x) * (np.sin(x) + np.cos(x))
    return Problem("sum(sin x · exp x)", generic, (np.linspace(0.0, 2.0, n),), hand)


def tanh_log_sqrt(n: int) -> Problem:
    """Sum of tanh x · log x · sqrt x."""
    def generic(np: Any) -> Callable[..., Any]:
        return lambda x: np.sum(np.tanh(x) * np.log(x) * np.sqrt(x))

    def hand(x: Any) -> Any:
        t, log, root = np.tanh(x), np.log(x), np.sqrt(x)
        return (1.0 - t * t) * log * root + t * root / x + t * log * 0.5 / root
    return Problem("sum(tanh · log · sqrt)", generic, (np.linspace(0.5, 2.0, n),), hand)


def perceptron(batch: int = 64) -> Problem:
    """Cross entropy of a network with one hidden layer, 784-256-10."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch, 784))
    labels = np.eye(10)[rng.integers(0, 10, batch)]
    args = (rng.normal(size=(784, 256)) * 0.05, np.zeros(256),
            rng.normal(size=(256, 10)) * 0.05, np.zeros(10), x, labels)

    def generic(np: Any) -> Callable[..., Any]:
        def loss(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any) -> Any:
            z = np.tanh(x @ w1 + b1) @ w2 + b2
            top = np.max(z, axis=1, keepdims=True)
            total = np.log(np.sum(np.exp(z - top), axis=1)) + top[:, 0]
            return np.mean(total - np.sum(z * labels, axis=1))
        return loss

    def hand(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any) -> Any:
        hidden = np.tanh(x @ w1 + b1)
        z = hidden @ w2 + b2
        e = np.exp(z - np.max(z, axis=1, keepdims=True))
        dz = (e / np.sum(e, axis=1, keepdims=True) - labels) / len(x)
        dh = (dz @ w2.T) * (1.0 - hidden * hidden)
        return x.T @ dh, np.sum(dh, axis=0), hidden.T @ dz, np.sum(dz, axis=0)
    return Problem("MLP 784-256-10", generic, args, hand, (0, 1, 2, 3))


# -- systems of differential equations, f(t, y) ----------------------------------------------------


def _system(name: str, function: Callable[..., Any], hand: Callable[..., Any], y: Any) -> Problem:
    """``function(t, y)`` gives a list; it needs ``sin`` and ``cos`` at most."""
    def generic(np: Any) -> Callable[..., Any]:
        if hasattr(np, "SX"):                                   # CasADi takes the list
            return lambda t, y: function(np, y)
        return lambda t, y: np.array(function(np, y))
    return Problem(name, generic, (0.0, np.array(y)), hand, 1, "jacobian", elements=True)


def _robertson(np: Any, y: Any) -> list[Any]:
    slow, fast, mixed = 0.04 * y[0], 3e7 * y[1] * y[1], 1e4 * y[1] * y[2]
    return [mixed - slow, slow - mixed - fast, fast]


def _robertson_by_hand(t: float, y: Any) -> Any:
    _, y1, y2 = y.tolist()
    a, b, c = 1e4 * y2, 1e4 * y1, 6e7 * y1
    return np.array([[-0.04, a, b], [0.04, -a - c, -b], [0.0, c, 0.0]])


ROBERTSON = _system("Robertson (3)", _robertson, _robertson_by_hand, [1.0, 1e-5, 0.1])


def _hires(np: Any, y: Any) -> list[Any]:
    y0, y1, y2, y3, y4, y5, y6, y7 = [y[i] for i in range(8)]
    loss = 280.0 * y5 * y7
    return [-1.71 * y0 + 0.43 * y1 + 8.32 * y2 + 0.0007, 1.71 * y0 - 8.75 * y1,
            -10.03 * y2 + 0.43 * y3 + 0.035 * y4, 8.32 * y1 + 1.71 * y2 - 1.12 * y3,
            -1.745 * y4 + 0.43 * y5 + 0.43 * y6,
            -loss + 0.69 * y3 + 1.71 * y4 - 0.43 * y5 + 0.69 * y6,
            loss - 1.81 * y6, -loss + 1.81 * y6]


def _hires_by_hand(t: float, y: Any) -> Any:
    a, b = 280.0 * y.item(7), 280.0 * y.item(5)
    return np.array([
        [-1.71, 0.43, 8.32, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1.71, -8.75, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, -10.03, 0.43, 0.035, 0.0, 0.0, 0.0],
        [0.0, 8.32, 1.71, -1.12, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, -1.745, 0.43, 0.43, 0.0],
        [0.0, 0.0, 0.0, 0.69, 1.71, -a - 0.43, 0.69, -b],
        [0.0, 0.0, 0.0, 0.0, 0.0, a, -1.81, b],
        [0.0, 0.0, 0.0, 0.0, 0.0, -a, 1.81, -b]])


HIRES = _system("HIRES (8)", _hires, _hires_by_hand,
                [1.0, 0.1, 0.02, 0.3, 0.05, 0.4, 0.005, 0.0057])

# Reactions of the Pollution problem: rate constant, reactants, products.
_REACTIONS = (
    (0.35, (0,), (1, 2)), (26.6, (1, 3), (0,)), (1.23e4, (1, 4), (5, 0)),
    (8.6e-4, (6,), (3, 4)), (8.2e-4, (6,), (3,)), (1.5e4, (6, 5), (7, 4)),
    (1.3e-4, (8,), (4, 7, 10)), (2.4e4, (8, 5), (10,)), (1.65e4, (10, 1), (0, 9)),
    (9e3, (10, 0), (12,)), (0.022, (12,), (10, 0)), (1.2e4, (9, 1), (13, 4)),
    (1.88, (13,), (6, 5)), (1.63e4, (0, 5), (14,)), (4.8e6, (2,), (3,)),
    (3.5e-4, (3,), (15,)), (0.0175, (3,), (2,)), (1e8, (15,), (5, 5)), (4.44e11, (15,), (2,)),
    (1.24e3, (16, 5), (17,)), (2.1, (18,), (16,)), (5.78, (18,), (0, 3)), (0.0474, (0, 3), (18,)),
    (1.78e3, (18, 0), (19,)), (3.12, (19,), (0, 18)))


def _pollution(np: Any, y: Any) -> list[Any]:
    out: list[Any] = [0.0] * 20
    for k, reactants, products in _REACTIONS:
        rate = k
        for i in reactants:
            rate = rate * y[i]
        for i in reactants:
            out[i] = out[i] - rate
        for i in products:
            out[i] = out[i] + rate
    return out


def _pollution_by_hand(t: float, y: Any) -> Any:
    v = y.tolist()
    out = np.zeros((20, 20))
    for k, reactants, products in _REACTIONS:
        for i in reactants:
            slope = k
            for j in reactants:
                if j != i:
                    slope *= v[j]
            for j in reactants:
                out[j, i] -= slope
            for j in products:
                out[j, i] += slope
    return out


POLLUTION = _system("Pollution (20)", _pollution, _pollution_by_hand,
                    np.linspace(0.1, 0.5, 20).tolist())


def _pendulum(np: Any, y: Any) -> list[Any]:
    """Two unit masses on unit rods: angles and their velocities."""
    a, b, v, w = y[0], y[1], y[2], y[3]
    s, c = np.sin(a - b), np.cos(a - b)
    d = 1.0 + s * s
    p, q = w * w * s + 2.0 * 9.81 * np.sin(a), v * v * s - 9.81 * np.sin(b)
    return [v, w, (-p - c * q) / d, (2.0 * q + c * p) / d]


def _pendulum_by_hand(t: float, y: Any) -> Any:
    a, b, v, w = y.tolist()
    s, c = math.sin(a - b), math.cos(a - b)
    d = 1.0 + s * s
    p, q = w * w * s + 19.62 * math.sin(a), v * v * s - 9.81 * math.sin(b)
    pa, pb = w * w * c + 19.62 * math.cos(a), -w * w * c
    qa, qb = v * v * c, -v * v * c - 9.81 * math.cos(b)
    n1, n2, d2 = -p - c * q, 2.0 * q + c * p, 2.0 * s * c / d
    return np.array([
        [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0],
        [(-pa - c * qa + s * q - n1 * d2) / d, (-pb - c * qb - s * q + n1 * d2) / d,
         -2.0 * c * v * s / d, -2.0 * w * s / d],
        [(2.0 * qa + c * pa - s * p - n2 * d2) / d, (2.0 * qb + c * pb + s * p + n2 * d2) / d,
         4.0 * v * s / d, 2.0 * c * w * s / d]])


PENDULUM = _system("double pendulum (4)", _pendulum, _pendulum_by_hand, [1.0, 0.5, 0.3, -0.2])


def lorenz(steps: int) -> Callable[[Any], Any]:
    """A coordinate of the Lorenz system after Runge-Kutta steps, by its three parameters."""
    def slope(u: Any, p: Any) -> list[Any]:
        x, y, z = u
        return [p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z]

    def last(p: Any) -> Any:
        h = 0.01
        u: list[Any] = [1.0, 1.0, 1.0]
        for _ in range(steps):
            k1 = slope(u, p)
            k2 = slope([a + 0.5 * h * k for a, k in zip(u, k1, strict=True)], p)
            k3 = slope([a + 0.5 * h * k for a, k in zip(u, k2, strict=True)], p)
            k4 = slope([a + h * k for a, k in zip(u, k3, strict=True)], p)
            u = [a + h / 6.0 * (q + 2.0 * r + 2.0 * s + t)
                 for a, q, r, s, t in zip(u, k1, k2, k3, k4, strict=True)]
        return u[0]
    return last
