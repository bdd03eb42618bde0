"""Bundle adjustment: cameras and points from their images, by sparse least squares.

Each residual depends on one camera and one point. A row of the Jacobian has eight entries, since
the horizontal place of an image does not depend on how far the camera is moved up, or vice versa.
"""

import numpy as np
import wengert as wg
from scipy.optimize import least_squares

N_CAMERAS, N_POINTS = 5, 40
CAMERA, POINT = (a.ravel() for a in np.indices((N_CAMERAS, N_POINTS)))


def project(cameras, points):
    """Images of points in cameras that are turned by a rotation vector and moved."""
    turn, move = cameras[:, :3], cameras[:, 3:]
    angle = np.sqrt(np.sum(turn ** 2, axis=1) + 1e-30)[:, None]
    axis = turn / angle
    along = np.sum(axis * points, axis=1)[:, None] * axis
    turned = along + np.cos(angle) * (points - along) + np.sin(angle) * np.cross(axis, points)
    seen = turned + move
    return seen[:, :2] / seen[:, 2:]


def residuals(unknowns, images):
    cameras = unknowns[:6 * N_CAMERAS].reshape(N_CAMERAS, 6)
    points = unknowns[6 * N_CAMERAS:].reshape(N_POINTS, 3)
    return (project(cameras[CAMERA], points[POINT]) - images).ravel()


def main() -> None:
    rng = np.random.default_rng(0)
    cameras = np.concatenate([rng.normal(0.0, 0.1, (N_CAMERAS, 3)),
                              rng.normal(0.0, 0.2, (N_CAMERAS, 3))], axis=1)
    cameras[:, 5] += 4.0
    true = np.concatenate([cameras.ravel(), rng.uniform(-1.0, 1.0, 3 * N_POINTS)])
    images = residuals(true, 0.0).reshape(-1, 2)
    start = true + rng.normal(0.0, 0.02, true.shape)

    jac = wg.jacobian(residuals, sparse=True)
    jac.specialize(start, images)
    print(f"{jac.pattern.shape[0]} residuals, {jac.pattern.shape[1]} unknowns, "
          f"{jac.pattern.nnz} entries, {jac.colors} colours")
    assert jac.pattern.nnz == 8 * 2 * N_CAMERAS * N_POINTS
    np.testing.assert_allclose(jac(start, images).toarray(), wg.jacobian(residuals)(start, images),
                               rtol=1e-9, atol=1e-12)

    exact = least_squares(residuals, start, jac, args=(images,), method="trf", xtol=1e-14,
                          ftol=1e-14, gtol=1e-12, tr_solver="lsmr")
    differences = least_squares(residuals, start, jac_sparsity=jac.pattern, args=(images,),
                                xtol=1e-14, ftol=1e-14, gtol=1e-12)
    print(f"cost {2.0 * exact.cost:.1e} with exact derivatives, "
          f"{2.0 * differences.cost:.1e} with differences")
    assert exact.cost < 1e-16
    seen = residuals(exact.x, 0.0)
    np.testing.assert_allclose(seen, images.ravel(), atol=1e-7)


if __name__ == "__main__":
    main()
