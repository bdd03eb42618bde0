"""Small functions as people write them: right value, both modes, no change to the function."""

import dataclasses
import functools
import itertools
import math
from math import log
from math import sin as sine

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats
import wengert as wg
from agreement import assert_agrees

A = np.array([[2.0, 1.0], [0.5, 3.0]])
X2 = np.array([0.7, 1.3])
X3 = np.array([0.7, 1.3, 0.4])
M = np.array([[1.0, 2.0, 0.55], [0.3, 0.2, 1.1]])
CASES = []


def case(*args):
    """Register a function with the arguments to call it with."""
    def register(function):
        CASES.append(pytest.param(function, args, id=function.__name__))
        return function
    return register


@case(X2)
def quadratic_form(x):
    return x @ (A @ x)


@case(X2)
def quadratic_form_by_methods(x):
    return A.dot(x).dot(x)


@case(X2)
def sum_of_squares(x):
    return (x * x).sum()


@case(X2)
def array_of_scalars(x):
    return np.array([x[0] * x[1], np.sin(x[0])])


@case(0.3)
def rotation_matrix(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


@case(X2)
def zeros_and_fill(x):
    y = np.zeros(3)
    y[0] = x[0] ** 2
    y[1:] = x
    return y


@case(X2)
def copy_and_assign(x):
    y = x.copy()
    y[0] = y[0] * y[1]
    return y


@case(X2)
def augmented_assignment(x):
    y = x * 1.0
    y += x
    y *= 2
    return y


@case(0.7)
def branch(x):
    if x > 0:
        return x ** 2
    return -x


@case(0.7)
def while_loop(x):
    n = 0
    while x < 100:
        x = x * 2 + n
        n += 1
    return x


@case(X2)
def math_function(x):
    return math.sin(x[0]) * x[1]


@case(X3)
def math_by_other_names(x):
    return log(x[0]) * sine(x[1]) + math.hypot(x[0], x[1]) + math.prod(x) + math.fsum(x)


@case(X2)
def einsum(x):
    return np.einsum("i,i->", x, x)


@case(np.ones((2, 1, 3)))
def broadcast_in_three_dimensions(x):
    return x * np.arange(8.0).reshape(2, 4, 1)


@case(np.array([-0.5, 0.6]))
def where(x):
    return np.where(x > 0, np.sqrt(np.abs(x)), 0)


@case(X3)
def sum_of_generator(x):
    return sum(v * v for v in x)


@case(2.0)
def newton_square_root(a):
    x = a
    while abs(x * x - a) > 1e-13:
        x = 0.5 * (x + a / x)
    return x


@case(1.3)
def recursion(x):
    def power(n):
        return x if n == 0 else power(n - 1) * x
    return power(4)


@case(1.2)
def late_binding(x):
    functions = [lambda y: y * i for i in range(3)]
    return sum(f(x) for f in functions)


@case(X3)
def iteration_tools(x):
    pairs = sum(a * b for a, b in zip(x, x[::-1], strict=True))
    running = list(itertools.accumulate(x))
    product = functools.reduce(lambda a, b: a * b, x)
    return np.array([pairs, product, *running, *[v ** 2 for v in x]])


@case(X3)
def dictionary_comprehension(x):
    table = {i: v ** 2 for i, v in enumerate(x)}
    return table[0] * table[2]


@case(X3)
def sorting_and_extremes(x):
    a, b, c = sorted(x)
    return a + 2 * b + 3 * c + max(x) * 2 + min(x[0], 5.0)


@case(1.7)
def divmod_and_round(x):
    quotient, rest = divmod(x, 0.5)
    return quotient * rest + rest + x * round(x)


@case(X3)
def unpacking(x):
    first, *rest = x
    return first * rest[0] ** rest[1]


@case(X3)
def item_and_len(x):
    return x[0].item() * x.item(1) * len(x) + x.tolist()[2]


@case(1.2)
def is_a_float(x):
    return x ** 2 if isinstance(x, float) else x * 100


@case(X3)
def is_an_array(x):
    return x ** 2 if isinstance(x, np.ndarray) else x * 100


@case(2.5)
def integers_by_int(x):
    total = 0.0
    for i in range(int(x)):
        total = total + x ** i
    return total * int(x)


@case(X3)
def index_by_position(x):
    return x[np.argmax(x)] ** 2 + x[int(x[1])] * x


@case(X3)
def text_of_values(x):
    return x * len(f"{x.shape} {x[0]:.3f}")


@case(X3)
def horner(x):
    value = 0.0
    for c in x:
        value = value * 1.5 + c
    return value


@case(np.array([[4.0, 1.0, 0.2], [1.0, 5.0, 0.3], [0.2, 0.3, 6.0]]))
def cholesky_by_loops(a):
    n = len(a)
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = sum(lower[i, k] * lower[j, k] for k in range(j))
            lower[i, j] = np.sqrt(a[i, i] - s) if i == j else (a[i, j] - s) / lower[j, j]
    return lower


@case(np.array([[0.4, 1.0, 0.2], [1.0, 5.0, 0.3], [0.2, 0.3, 6.0]]))
def gaussian_elimination(a):
    a, b = a.copy(), np.array([1.0, 2.0, 3.0])
    n = len(b)
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(a[r, i]))
        if p != i:
            a[[i, p]] = a[[p, i]]
            b[[i, p]] = b[[p, i]]
        for j in range(i + 1, n):
            factor = a[j, i] / a[i, i]
            a[j] -= factor * a[i]
            b[j] -= factor * b[i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1:] @ x[i + 1:]) / a[i, i]
    return x


@case(X3)
def runge_kutta(y):
    def slope(y):
        return np.array([y[1], -y[0] + 0.1 * y[2], y[0] * y[1]])
    h = 0.1
    for _ in range(3):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3))
    return y


@case(X3)
def heat_equation(x):
    u = np.zeros(8)
    u[2:5] = x
    for _ in range(5):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@case(X3)
def tridiagonal_solver(x):
    a, b, c = np.array([0.0, 1.0, 1.0]), 4.0 + x, np.array([1.0, 1.0, 0.0])
    d = np.array([1.0, 2.0, 3.0])
    for i in range(1, 3):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    out = np.zeros(3)
    out[-1] = d[-1] / b[-1]
    for i in range(1, -1, -1):
        out[i] = (d[i] - c[i] * out[i + 1]) / b[i]
    return out


@case(np.array([3.0, 1.0, 2.0]))
def bubble_sort(x):
    y = x.copy()
    for i in range(len(y)):
        for j in range(len(y) - 1 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return y * np.array([1.0, 2.0, 3.0])


@dataclasses.dataclass
class Rectangle:
    width: float
    height: float

    @property
    def area(self):
        return self.width * self.height

    def scaled(self, power=2):
        return self.area ** power


@case(X2)
def dataclass_with_property(x):
    return Rectangle(x[0], x[1]).scaled() + Rectangle(*x).area


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return 2 * function(*args, **kwargs)
    return wrapper


@case(X3)
@doubled
def decorated(x):
    return x ** 2


@functools.lru_cache
def cached_table(n):
    return np.arange(n) * 1.0


@functools.lru_cache
def cached_square(v):
    return v * v


@case(1.3)
def cached_functions(x):
    return cached_square(x) * cached_table(3) + cached_square(2.0)


@case(M)
def rows_of_a_loop(x):
    y = np.zeros_like(x)
    for i, row in enumerate(x):
        y[i] = row / row.sum()
    return y


@case(X3)
def vectorized(x):
    return np.vectorize(lambda v: v * v + 1)(x)


@case(X3)
def object_arrays(x):
    squares = np.empty(3, dtype=object)
    for i in range(3):
        squares[i] = x[i] ** 2
    pair = np.array([x[0], x[1]], dtype=object)
    return squares.sum() + pair.dot(pair)


@case(X3)
def flat_iteration(x):
    return sum(i * v for (i,), v in np.ndenumerate(x)) + sum(v * v for v in x.flat)


@case(X3)
def array_from_iterator(x):
    return np.fromiter((v * v for v in x), float)


@case(X3)
def arrays_made_by_compiled_code(x):
    noise = np.random.default_rng(0).normal(size=(3, 3))     # C code that calls np.empty
    steps = scipy.special.roots_legendre(3)[0]
    return np.tanh(noise @ x) + steps * x


@case(1000.0)
def overflow_is_caught(x):
    try:
        return math.exp(x)
    except OverflowError:
        return x * 3


@case(-1.0)
def domain_error_is_caught(x):
    try:
        return math.log(x)
    except ValueError:
        return x * 3


@case(X3)
def scipy_rosen(x):
    return scipy.optimize.rosen(x)


@case(X3)
def scipy_softmax(x):
    return scipy.special.logsumexp(x) * scipy.special.softmax(x)


@pytest.mark.parametrize(("function", "args"), CASES)
def test_plain_function(function, args):
    exact = function.__name__ not in ("scipy_softmax",)
    assert_agrees(function, *args, exact=exact)


@pytest.mark.parametrize("argnum", [0, 1, 2])
@pytest.mark.parametrize("args", [(0.3, 0.1, 1.2),
                                  (np.array([0.3, -1.0]), np.array([0.1, 0.2]),
                                   np.array([1.2, 0.5]))])
def test_density_of_scipy_stats(args, argnum):
    def logpdf(x, mu, sigma):
        return scipy.stats.norm.logpdf(x, mu, sigma)
    x, mu, sigma = args
    z = (x - mu) / sigma
    expected = [-z / sigma, z / sigma, (z * z - 1) / sigma][argnum]
    got = wg.jacobian(logpdf, argnum)(*args)
    np.testing.assert_allclose(got, np.diag(expected) if np.ndim(x) else expected, rtol=1e-12)
