"""Error propagation: the covariance of a result from that of its measurements, C' = J·C·Jᵀ.

A planet's semi-major axis and orbital speed follow from its period and its star's mass; both
results share their errors. A large random sample confirms the linear estimate.
"""

import numpy as np
import wengert as wg

GRAVITY = 6.67430e-11        # m³ kg⁻¹ s⁻²
SUN = 1.98847e30             # kg
DAY = 86400.0                # s
AU = 1.495978707e11          # m


def orbit(measured):
    """Semi-major axis in au and orbital speed in km/s, from period in days and mass in suns."""
    period, mass = measured
    axis = np.cbrt(GRAVITY * mass * SUN * (period * DAY) ** 2 / (4 * np.pi ** 2))
    speed = 2 * np.pi * axis / (period * DAY)
    return np.array([axis / AU, speed / 1000])


def propagate(function, values, covariance):
    """Result and covariance of a function of uncertain values."""
    slope = wg.jacobian(function)(values)
    return function(values), slope @ covariance @ slope.T


def main() -> None:
    values = np.array([365.25, 1.0])
    deviations = np.array([0.5, 0.02])
    covariance = np.diag(deviations ** 2)
    result, spread = propagate(orbit, values, covariance)
    axis, speed = np.sqrt(np.diag(spread))
    correlation = spread[0, 1] / (axis * speed)
    print(f"axis  = ({result[0]:.4f} ± {axis:.4f}) au")
    print(f"speed = ({result[1]:.2f} ± {speed:.2f}) km/s")
    print(f"correlation {correlation:.3f}")
    np.testing.assert_allclose(result, [1.0, 29.785], rtol=1e-3)
    # By hand: a ∝ (M T²)^⅓ and v ∝ (M/T)^⅓.
    relative = deviations / values
    np.testing.assert_allclose(axis / result[0], np.hypot(2 * relative[0], relative[1]) / 3)
    np.testing.assert_allclose(speed / result[1], np.hypot(*relative) / 3)

    rng = np.random.default_rng(seed=3)
    sample = rng.multivariate_normal(values, covariance, size=20_000)
    found = np.cov(np.array([orbit(one) for one in sample]).T)
    np.testing.assert_allclose(found, spread, rtol=0.05)
    print("a random sample agrees within 5 %")


if __name__ == "__main__":
    main()
