"""Test functions of optimization, mechanics, kinetics, fields."""

import numpy as np
from scipy import special

from .base import Parameters, normal, positive, program

# -- classical test functions, mechanics, kinetics -----------------------------------------------


@program(normal(5))
def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@program(normal(2))
def rosenbrock_scalar(x):
    a, b = x
    return (1 - a) ** 2 + 100 * (b - a ** 2) ** 2


@program(2.0, 5.0)
def lecture(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


@program(2.0)
def square_times_sum(x):
    return x ** 2 * (x + 1)


@program(normal(3), 10.0, 28.0, 8 / 3)
def lorenz(state, sigma, rho, beta):
    x, y, z = state
    return np.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


@program(normal(4), 1.0, 0.7)
def double_pendulum(state, length, mass):
    a, b, p, q = state
    g = 9.81
    c, s = np.cos(a - b), np.sin(a - b)
    m = mass * length ** 2
    d = 1 + s ** 2
    da = (p - c * q) / (m * d)
    db = (2 * q - c * p) / (m * d)
    h = p * q * s / (m * d) - (p ** 2 + 2 * q ** 2 - 2 * p * q * c) * np.sin(2 * (a - b)) / (
        2 * m * d ** 2)
    return np.stack([da, db, -2 * mass * g * length * np.sin(a) - h,
                     -mass * g * length * np.sin(b) + h])


@program(positive(3), 0.04, 3.0, 1.0)
def robertson(y, k1, k2, k3):
    r1, r2, r3 = k1 * y[0], k2 * y[1] ** 2, k3 * y[1] * y[2]
    return np.stack([-r1 + r3, r1 - r2 - r3, r2])


@program(positive(8))
def hires(y):
    return np.stack([
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
        -280.0 * y[5] * y[7] + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        280.0 * y[5] * y[7] - 1.81 * y[6],
        -280.0 * y[5] * y[7] + 1.81 * y[6]])


@program(normal(2), 1.5)
def van_der_pol(y, mu):
    return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


@program(positive(2), 0.9, 0.05, 4)
def lotka_volterra_rk4(y, a, h, n):
    def f(y):
        prey, predator = y
        return np.stack([a * prey - prey * predator, prey * predator - predator])
    for _ in range(n):
        k1 = f(y)
        k2 = f(y + 0.5 * h * k1)
        k3 = f(y + 0.5 * h * k2)
        k4 = f(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@program(normal(4, 3))
def coulomb_energy(positions):
    i, j = np.triu_indices(4, 1)
    d = positions[i] - positions[j]
    return np.sum(1 / np.sqrt(np.sum(d ** 2, axis=-1)))


@program(1.2, 0.3, 0.8)
def kepler_newton(mean_anomaly, eccentricity, start):
    e = start
    for _ in range(5):
        e = e - (e - eccentricity * np.sin(e) - mean_anomaly) / (1 - eccentricity * np.cos(e))
    return e


@program(3.0)
def newton_sqrt(a):
    x = a
    for _ in range(6):
        x = 0.5 * (x + a / x)
    return x


@program(np.array([0.1, -0.4, 0.3, 1.0]), 0.7)
def horner(coefficients, x):
    total = 0.0
    for c in coefficients:
        total = total * x + c
    return total


@program(positive(6))
def product_chain(x):
    out = x[0]
    for i in range(1, 6):
        out = out * x[i]
    return out


@program(0.4, 3)
def repeated_sine(x, n):
    for _ in range(n):
        x = np.sin(x) + x
    return x


@program(300.0, 1.0e5, Parameters(1.2, 0.5))
def arrhenius(temperature, energy, parameters):
    return parameters.scale * np.exp(-energy / (8.314 * temperature) / 40) + parameters.offset


@program(1.4, 0.2, 2.0, 0.05, 1.0)
def black_scholes(spot, volatility, strike, rate, time):
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility ** 2) * time) / root
    d2 = d1 - root
    return spot * special.ndtr(d1) - strike * np.exp(-rate * time) * special.ndtr(d2)


# -- fields and stencils -------------------------------------------------------------------------


@program(normal(8), 0.1)
def heat_step(u, r):
    new = u.copy()
    new[1:-1] = u[1:-1] + r * (u[2:] - 2 * u[1:-1] + u[:-2])
    return new


@program(normal(6), 0.2, 3)
def heat_steps_in_place(u, r, n):
    u = u.copy()
    for _ in range(n):
        u[1:-1] += r * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@program(normal(5, 4))
def periodic_laplacian(u):
    return (np.roll(u, 1, axis=0) + np.roll(u, -1, axis=0) + np.roll(u, 1, axis=1)
            + np.roll(u, -1, axis=1) - 4 * u)


@program(normal(8), 0.1, 0.2)
def burgers(u, dt, nu):
    forward, backward = np.roll(u, -1), np.roll(u, 1)
    return u - dt * u * (forward - backward) / 2 + nu * dt * (forward - 2 * u + backward)


@program(positive(4, 4), positive(4, 4), 0.04, 0.06)
def gray_scott(u, v, f, k):
    def laplacian(a):
        p = np.pad(a, 1, mode="wrap")
        return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * a
    reaction = u * v * v
    return (u + 0.16 * laplacian(u) - reaction + f * (1 - u),
            v + 0.08 * laplacian(v) + reaction - (f + k) * v)


@program(normal(5, 4))
def total_variation(image):
    dx = np.diff(image, axis=0)
    dy = np.diff(image, axis=1)
    return np.sum(np.sqrt(dx[:, :-1] ** 2 + dy[:-1, :] ** 2 + 1e-3))


@program(normal(10), 3)
def moving_average(x, n):
    c = np.cumsum(x)
    return (c[n:] - c[:-n]) / n


@program(normal(7))
def autocorrelation(x):
    x = x - np.mean(x)
    return np.stack([np.sum(x[k:] * x[:len(x) - k]) for k in range(3)]) / np.sum(x ** 2)


@program(normal(6), normal(3))
def convolution(x, kernel):
    out = np.zeros_like(x[2:])
    for i in range(3):
        out = out + kernel[i] * x[i:i + 4]
    return out


@program(positive(5), positive(5))
def trapezoid(y, dx):
    return np.sum(0.5 * (y[1:] + y[:-1]) * dx[1:])


@program(0.9, 0.5, normal(5))
def kalman_scalar(a, noise, z):
    x, p = 0.0, 1.0
    total = 0.0
    for i in range(5):
        x, p = a * x, a * a * p + noise
        s = p + 1.0
        total = total + (z[i] - x) ** 2 / s + np.log(s)
        gain = p / s
        x, p = x + gain * (z[i] - x), (1 - gain) * p
    return total
