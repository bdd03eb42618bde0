"""The gradient of an equilibrium: the pH of a carbonate buffer as an implicit function.

The pH solves the charge balance. Its derivative by the alkalinity is the inverse of the buffer
capacity, for which Van Slyke (1922) gave a formula; its second derivative says where the buffer
is at its best.
"""

import numpy as np
import wengert as wg

K1, K2, KW = 10.0 ** -6.35, 10.0 ** -10.33, 1e-14       # mol/l, at 25 °C


def charge(ph, alkalinity, carbon):
    """Alkalinity less the charge that carbonate and water carry, in mol/l."""
    h = 10.0 ** -ph
    ions = carbon * (K1 * h + 2.0 * K1 * K2) / (h * h + K1 * h + K1 * K2)
    return alkalinity - ions - KW / h + h


acidity = wg.implicit_root(charge)


def van_slyke(ph, carbon):
    h = 10.0 ** -ph
    below = h * h + K1 * h + K1 * K2
    return np.log(10.0) * (h + KW / h + carbon * K1 * h * (
        h * h + 4.0 * K2 * h + K1 * K2) / below ** 2)


def main() -> None:
    slope = wg.grad(acidity, argnums=(1, 2))
    carbon = 2e-3
    for alkalinity in (5e-4, 1e-3, 1.9e-3):
        ph = acidity(7.0, alkalinity, carbon)
        by_alkalinity, by_carbon = slope(7.0, alkalinity, carbon)
        print(f"alkalinity {alkalinity:.1e}: pH {ph:.4f}, dpH/dA = {by_alkalinity:.1f}, "
              f"dpH/dC = {by_carbon:.1f} l/mol")
        np.testing.assert_allclose(by_alkalinity, 1.0 / van_slyke(ph, carbon), rtol=1e-10)
        h = 1e-7
        difference = (acidity(7.0, alkalinity, carbon + h) - acidity(7.0, alkalinity, carbon - h)
                      ) / (2.0 * h)
        np.testing.assert_allclose(by_carbon, difference, rtol=1e-6)

    # The best buffer: where the slope of the titration curve is least, its curvature is zero.
    curvature = wg.grad(wg.grad(lambda a: acidity(7.0, a, carbon)))
    best = wg.implicit_root(lambda a: curvature(a) * 1e-6)(1e-3)
    ph = acidity(7.0, best, carbon)
    print(f"best buffered at alkalinity {best:.3e}, pH {ph:.3f}")
    around = [van_slyke(ph + d, carbon) for d in (-0.05, 0.0, 0.05)]
    assert around[1] > max(around[0], around[2])
    np.testing.assert_allclose(ph, -np.log10(K1), atol=0.02)

    # A titration curve, and its slope, at all points at once.
    amounts = np.linspace(2e-4, 1.9e-3, 6)
    curve = wg.vmap(wg.value_and_grad(lambda a: acidity(7.0, a, carbon)))(amounts)
    np.testing.assert_allclose(curve[1], 1.0 / van_slyke(curve[0], carbon), rtol=1e-10)
    print("titration:", " ".join(f"{v:.2f}" for v in curve[0]))


if __name__ == "__main__":
    main()
