"""A lecture's example: f(x₁, x₂) = ln x₁ + x₁·x₂ − sin x₂ at (2, 5), by hand and compiled.

The lecture prints the function's evaluation trace as a table and both derivatives. Wengert lists
are that table; here it is printed from the graph, next to forward and reverse mode.
"""

import numpy as np
import wengert as wg
from wengert.compiler.interpret import evaluate
from wengert.compiler.text import format_wengert


def f(x1, x2):
    logarithm = np.log(x1)
    product = x1 * x2
    sine = np.sin(x2)
    return logarithm + product - sine


def table(graph, *args):
    """The lecture's notation, with the value of every line."""
    values = dict(zip(graph.inputs, args, strict=True))
    evaluate(graph.nodes, values)
    rows = [*graph.inputs, *[n for n in graph.nodes if n.args]]
    lines = format_wengert(graph).splitlines()
    return "\n".join(f"{line:<16} = {values[node]:.3f}"
                     for line, node in zip(lines, rows, strict=True))


def main() -> None:
    trace = table(wg.trace(f)(2.0, 5.0), 2.0, 5.0)
    assert trace.splitlines()[4:] == ["v₃ = sin v₀      = -0.959", "v₄ = v₁ + v₂     = 10.693",
                                      "v₅ = v₄ − v₃     = 11.652"]
    print(trace)

    reverse = wg.value_and_grad(f, argnums=(0, 1))
    value, (d1, d2) = reverse(2.0, 5.0)
    np.testing.assert_allclose([value, d1, d2], [11.652, 5.5, 1.716], atol=5e-4)
    print(f"Reverse mode: f = {value:.3f}, ∂f/∂x₁ = {d1:.3f}, ∂f/∂x₂ = {d2:.3f}")

    print(reverse.source)

    pushed = wg.jvp(f, argnums=(0, 1))
    forward = [pushed(2.0, 5.0, seed)[1] for seed in ((1.0, 0.0), (0.0, 1.0))]
    np.testing.assert_allclose(forward, [d1, d2], rtol=1e-14)
    print(f"Forward mode: ∂f/∂x₁ = {forward[0]:.3f}, ∂f/∂x₂ = {forward[1]:.3f}")

    # The lecture's two weaknesses of taping: higher derivatives, and control flow.
    second = wg.grad(wg.grad(f))(2.0, 5.0)
    np.testing.assert_allclose(second, -0.25)
    print(f"Second derivative: ∂²f/∂x₁² = {second:.3f}")

    @wg.grad
    def root(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = (x + a / x) / 2
        return x

    np.testing.assert_allclose([root(2.0), root(1e4)], [0.5 / 2.0 ** 0.5, 0.005], rtol=1e-6)
    print(f"Through a while loop: √a′ = {root(2.0):.6f} at 2, {root(1e4):.6f} at 10000")


if __name__ == "__main__":
    main()
