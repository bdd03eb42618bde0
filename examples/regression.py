"""Linear regression on build times: the main job of this project, end to end.

The first 52 rows of ``data/builds.csv`` tell how long a site of so many pages took to build. A
straight line and a parabola are fitted by gradient descent, with gradients that are compiled
from the plain loss functions below. Every printed figure is checked.
"""

import csv
import math
from pathlib import Path

import numpy as np
import wengert as wg

DATA = Path(__file__).parent / "data" / "builds.csv"


def read(path: Path, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Pages and build seconds of the first rows."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[:n_rows]
    return (np.array([float(row["pages"]) for row in rows]),
            np.array([float(row["build_seconds"]) for row in rows]))


def line_loss(w, b, x, y):
    error = w * x + b - y
    return np.mean(error ** 2)


def parabola_loss(a, b, c, z, y):
    error = a * z ** 2 + b * z + c - y
    return np.mean(error ** 2)


line_step = wg.value_and_grad(line_loss, argnums=(0, 1))
parabola_step = wg.value_and_grad(parabola_loss, argnums=(0, 1, 2))


def descend(step, start, data, rate, n_steps):
    """Parameters after each step of gradient descent, the start first."""
    path = [tuple(start)]
    for _ in range(n_steps):
        _, slopes = step(*path[-1], *data)
        path.append(tuple(p - rate * s for p, s in zip(path[-1], slopes, strict=True)))
    return path


def check(value, expected, tolerance=0.5e-6):
    """Let the value pass if it is the expected one."""
    assert math.isclose(value, expected, rel_tol=0, abs_tol=tolerance), (value, expected)
    return float(value)


def check_digits(value, expected):
    """Let the value pass if its printed digits are the expected ones."""
    digits = len(expected.split("e")[0].split(".")[1])
    assert f"{value:.{digits}e}" == f"{float(expected):.{digits}e}", (value, expected)
    return expected


def show_closed_form(x, y):
    """The best line, from the normal equations."""
    w = np.sum((x - x.mean()) * (y - y.mean())) / np.sum((x - x.mean()) ** 2)
    b = y.mean() - w * x.mean()
    print("Closed form")
    print(f"  w = {check(w, 0.041707):.6f}, b = {check(b, 9.708880):.6f}")
    return w, b


def show_start(x, y):
    """Loss and gradient where both parameters are zero."""
    value, (dw, db) = line_step(0.0, 0.0, x, y)
    print("At w = b = 0")
    print(f"  loss {check(value, 314.923077):.6f}, "
          f"dw = {check(dw, -6724.461538):.6f}, db = {check(db, -34.769231):.6f}")


def show_raw_descent(x, y, rate, losses, end):
    """Descent on the pages as they are."""
    path = descend(line_step, (0.0, 0.0), (x, y), rate, 1000)
    print(f"Gradient descent, rate {rate:g}")
    for n, expected in losses.items():
        loss = line_loss(*path[n], x, y)
        print(f"  loss after step {n:4}: {check_digits(loss, expected)}")
    w, b = path[-1]
    print(f"  w = {check_digits(w, end[0])}, b = {check_digits(b, end[1])}")


def show_standardised(x, y, closed_form, dtype):
    """Descent on pages of mean 0 and deviation 1 finds the closed form."""
    mean, deviation = x.mean(), x.std()
    z, y = ((x - mean) / deviation).astype(dtype), y.astype(dtype)
    zero = dtype(0)
    path = descend(line_step, (zero, zero), (z, y), dtype(0.1), 100)
    ws, bs = path[-1]
    assert ws.dtype == bs.dtype == dtype
    w, b = float(ws) / deviation, float(bs) - float(ws) * mean / deviation
    gap = max(abs(w - closed_form[0]), abs(b - closed_form[1]))
    print(f"Standardised pages, rate 0.1, 100 steps, {np.dtype(dtype).name}")
    if dtype is np.float64:
        print(f"  ws = {check(ws, 2.605694):.6f}, bs = {check(bs, 17.384615):.6f}")
        print(f"  w = {check(w, 0.041707):.6f}, b = {check(b, 9.708880):.6f}")
        assert 1e-9 < gap < 3e-9, gap
        print(f"  gap to the closed form {gap:.0e}")
    else:
        check(ws, 2.605694, 1e-5)
        check(bs, 17.384615, 1e-5)
        assert 5e-7 < gap < 1e-5, gap
        print(f"  ws = {ws:.4f}, bs = {bs:.4f}, both {ws.dtype}; the sixth decimal is missed")
    return z


def show_parabola(z, y, x, line):
    """The parabola, whose loss ends below the line's."""
    path = descend(parabola_step, (0.0, 0.0, 0.0), (z, y), 0.05, 2000)
    print("Parabola a·z² + b·z + c, rate 0.05")
    for n, expected in {1: 208.415392, 100: 5.952060, 2000: 5.899971}.items():
        loss = parabola_loss(*path[n], z, y)
        print(f"  loss after step {n:4}: {check(loss, expected):.6f}")
    a, b, c = path[-1]
    print(f"  a = {check(a, -0.096816):.6f}, b = {check(b, 2.603830):.6f}, "
          f"c = {check(c, 17.481431):.6f}")
    print(f"  loss of the straight line: {check(line_loss(*line, x, y), 5.908583):.6f}")


def main() -> None:
    x, y = read(DATA, 52)
    closed_form = show_closed_form(x, y)
    show_start(x, y)
    show_raw_descent(x, y, 3e-5, {1: "4.957e+02", 10: "3.373e+04", 1000: "4.538e+207"},
                     ("-3.4661e+101", "-1.6887e+99"))
    show_raw_descent(x, y, 1e-5, {1: "3.354e+01", 10: "1.565e+01", 1000: "1.561e+01"},
                     ("8.8911e-02", "2.0477e-02"))
    z = show_standardised(x, y, closed_form, np.float64)
    show_standardised(x, y, closed_form, np.float32)
    show_parabola(z, y, x, closed_form)
    print("The gradient that did this")
    line_step(0.0, 0.0, x, y)
    print(line_step.source)


if __name__ == "__main__":
    main()
