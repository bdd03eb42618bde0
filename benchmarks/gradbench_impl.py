"""GradBench's problems in plain NumPy, and their derivatives by wengert.

``FUNCTIONS`` maps a problem's name to its functions, each called with the problem's arguments: the
layout in which GradBench's adapters offer them. The objectives are written as in the benchmark's
definition and differentiated as they stand. (GradBench and Microsoft's ADBench define them; see
there for the papers.)
"""

from collections.abc import Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import wengert as wg
from scipy.special import logsumexp, multigammaln

# -- Gaussian mixture ---------------------------------------------------------------------------


def gmm(alpha: Any, mu: Any, q: Any, lower: Any, x: Any, m: Any, gamma: Any) -> Any:
    """Log posterior of a mixture; precisions by Cholesky factors with diagonal exp(q)."""
    n, d = x.shape
    k = len(alpha)
    factors = np.zeros((k, d, d))
    column, row = np.triu_indices(d, 1)
    factors[:, row, column] = lower
    diagonal = np.arange(d)
    factors[:, diagonal, diagonal] = np.exp(q)
    logdet = np.sum(q, axis=1)
    terms = np.empty((n, k))
    for j in range(k):
        y = (x - mu[j]) @ factors[j].T
        terms[:, j] = alpha[j] + logdet[j] - 0.5 * np.sum(y ** 2, axis=1)
    likelihood = np.sum(logsumexp(terms, axis=1)) - n * (
        0.5 * d * np.log(2 * np.pi) + logsumexp(alpha))
    freedom = d + m + 1
    prior = (k * (freedom * d * np.log(gamma / np.sqrt(2)) - multigammaln(0.5 * freedom, d))
             - 0.5 * gamma ** 2 * np.sum(factors ** 2) + m * np.sum(logdet))
    return likelihood + prior


# -- k-means ------------------------------------------------------------------------------------


def kmeans(points: Any, centroids: Any) -> Any:
    """Sum of squared distances to the nearest centroid."""
    nearest = np.full(len(points), np.inf)
    for c in centroids:
        nearest = np.minimum(nearest, np.sum((points - c) ** 2, axis=1))
    return np.sum(nearest)


@cache
def _kmeans_direction(target: str) -> Callable[..., Any]:
    gradient, product = wg.grad(kmeans, argnums=1), wg.hvp(kmeans, argnums=1)

    def direction(points: Any, centroids: Any) -> Any:
        ones = np.ones_like(centroids)
        return gradient(points, centroids) / product(points, centroids, ones)
    return wg.compile(direction, target=target)


def kmeans_direction(points: Any, centroids: Any, target: str = "numpy") -> Any:
    """A Newton step: the gradient over the Hessian's diagonal, which is all of it."""
    return _kmeans_direction(target)(points, centroids)


# -- least squares, logsumexp, differential equations, determinants -------------------------------


def llsq(x: Any, n: Any) -> Any:
    """Misfit of a polynomial to a step."""
    t = -1.0 + np.arange(n) * 2.0 / (n - 1)
    residual = np.sign(t)
    power = np.ones(n)
    for c in x:
        residual -= c * power
        power *= t
    return 0.5 * np.sum(residual ** 2)


def lse(x: Any) -> Any:
    """log Σ exp, safely."""
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def ode(x: Any, steps: Any) -> Any:
    """Runge-Kutta on a chain of equations, from 0 to 2."""
    def slope(y: Any) -> Any:
        dy = np.empty_like(y)
        dy[0] = x[0]
        dy[1:] = x[1:] * y[:-1]
        return dy

    h = 2.0 / steps
    y = np.zeros(len(x))
    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y


def det(a: Any) -> Any:
    """Determinant by expansion along the first row."""
    if len(a) == 1:
        return a[0, 0]
    total = 0.0
    for j in range(len(a)):
        total += (-1) ** j * a[0, j] * det(np.delete(a[1:], j, axis=1))
    return total


# -- stacked LSTM -------------------------------------------------------------------------------


def sigmoid(x: Any) -> Any:
    """Logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


def layer(weight: Any, bias: Any, x: Any, hidden: Any, cell: Any) -> tuple[Any, Any]:
    """The next hidden state and cell of one layer."""
    b = len(x)
    forget = sigmoid(x * weight[:b] + bias[:b])
    ingate = sigmoid(hidden * weight[b:2 * b] + bias[b:2 * b])
    outgate = sigmoid(x * weight[2 * b:3 * b] + bias[2 * b:3 * b])
    change = np.tanh(hidden * weight[3 * b:] + bias[3 * b:])
    cell = cell * forget + ingate * change
    return outgate * np.tanh(cell), cell


def lstm(weights: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """Loss of a stacked LSTM with diagonal weights over a sequence of characters."""
    b = sequence.shape[1]
    state = state.copy()
    total = 0.0
    for t in range(len(sequence) - 1):
        x = sequence[t] * extra[0]
        for i in range(0, len(state), 2):
            x, state[i + 1] = layer(weights[i], weights[i + 1], x, state[i], state[i + 1])
            state[i] = x
        y = x * extra[1] + extra[2]
        y = y - np.log(np.sum(np.exp(y)) + 2.0)
        total += np.dot(sequence[t + 1], y)
    return -total / (b * (len(sequence) - 1))


def lstm_by_scan(weights: Any, extra: Any, state: Any, sequence: Any) -> Any:
    """The same with the loop over the sequence as a loop of the graph, which is not unrolled."""
    b = sequence.shape[1]

    def step(carry: Any, characters: Any) -> Any:
        state, total = carry
        now, following = characters
        x = now * extra[0]
        rows = []
        for i in range(0, len(state), 2):
            x, cell = layer(weights[i], weights[i + 1], x, state[i], state[i + 1])
            rows += [x, cell]
        y = x * extra[1] + extra[2]
        y = y - np.log(np.sum(np.exp(y)) + 2.0)
        return (np.stack(rows), total + np.dot(following, y)), None

    (_, total), _ = wg.scan(step, (state, 0.0), (sequence[:-1], sequence[1:]))
    return -total / (b * (len(sequence) - 1))


# -- bundle adjustment --------------------------------------------------------------------------


def _rotated(rotation: Any, v: Any) -> Any:
    angle = np.sqrt(np.sum(rotation ** 2, axis=1))[:, None]
    axis = rotation / angle
    along = np.sum(axis * v, axis=1)[:, None]
    return (v * np.cos(angle) + np.cross(axis, v) * np.sin(angle)
            + axis * along * (1.0 - np.cos(angle)))


def reprojection(cam: Any, point: Any, weight: Any, feature: Any) -> Any:
    """Weighted differences of projected points and features, one row an observation."""
    local = _rotated(cam[:, 0:3], point - cam[:, 3:6])
    plane = local[:, :2] / local[:, 2:]
    r2 = np.sum(plane ** 2, axis=1)
    distortion = 1.0 + cam[:, 9] * r2 + cam[:, 10] * r2 ** 2
    image = plane * (distortion * cam[:, 6])[:, None] + cam[:, 7:9]
    return weight[:, None] * (image - feature)


def ba(cams: Any, points: Any, weights: Any, obs: Any, features: Any) -> Any:
    """All errors: of projections and of weights."""
    errors = reprojection(cams[obs[:, 0]], points[obs[:, 1]], weights, features)
    return errors, 1.0 - weights ** 2


def _coordinate(i: int) -> Callable[..., Any]:
    def error(cam: Any, point: Any, weight: Any, feature: Any) -> Any:
        return np.sum(reprojection(cam, point, weight, feature)[:, i])
    return error


@cache
def _reprojection_gradients(target: str) -> list[Callable[..., Any]]:
    return [wg.grad(_coordinate(i), argnums=(0, 1, 2), target=target) for i in (0, 1)]


def ba_jacobian(cams: Any, points: Any, weights: Any, obs: Any, features: Any,
                target: str = "numpy") -> Any:
    """The sparse Jacobian as CSR arrays; an error depends on one camera, point and weight."""
    own = (cams[obs[:, 0]], points[obs[:, 1]], weights, features)
    blocks = [np.concatenate([cam, point, weight[:, None]], axis=1)
              for cam, point, weight in (gradient(*own)
                                        for gradient in _reprojection_gradients(target))]
    n, m, p = len(cams), len(points), len(obs)
    columns = np.empty((p, 15), dtype=np.int32)
    columns[:, :11] = 11 * obs[:, :1] + np.arange(11)
    columns[:, 11:14] = 11 * n + 3 * obs[:, 1:] + np.arange(3)
    columns[:, 14] = 11 * n + 3 * m + np.arange(p)
    values = np.concatenate([np.stack(blocks, axis=1).reshape(-1), -2.0 * weights])
    columns = np.concatenate([np.repeat(columns, 2, axis=0).reshape(-1), columns[:, 14]])
    rows = np.concatenate([15 * np.arange(2 * p + 1), 30 * p + 1 + np.arange(p)])
    return rows.astype(np.int32), columns, values


# -- hand tracking ------------------------------------------------------------------------------


def _pose(theta: Any, n_bones: int) -> Any:
    pose = np.zeros((n_bones + 3, 3))
    pose[0] = theta[:3]
    pose[1] = 1.0
    pose[2] = theta[3:6]
    k, row = 6, 5
    for _finger in range(5):
        for joint in range(3):
            pose[row, 0] = theta[k]
            k += 1
            if joint == 0:
                pose[row, 1] = theta[k]
                k += 1
            row += 1
        row += 1
    return pose


def _rotation_by_angles(angles: Any) -> Any:
    about_x, about_z, about_y = angles
    rx, ry, rz = np.eye(3), np.eye(3), np.eye(3)
    rx[1, 1] = rx[2, 2] = np.cos(about_x)
    rx[2, 1] = np.sin(about_x)
    rx[1, 2] = -rx[2, 1]
    ry[0, 0] = ry[2, 2] = np.cos(about_y)
    ry[0, 2] = np.sin(about_y)
    ry[2, 0] = -ry[0, 2]
    rz[0, 0] = rz[1, 1] = np.cos(about_z)
    rz[1, 0] = np.sin(about_z)
    rz[0, 1] = -rz[1, 0]
    return rz @ ry @ rx


def _rotation_by_axis(v: Any) -> Any:
    angle = np.sqrt(np.sum(v ** 2))
    if angle < 1e-4:
        return np.eye(3)
    x, y, z = v / angle
    s, c = np.sin(angle), np.cos(angle)
    return np.array([
        [x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
        [x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s],
        [x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c]])


def _vertices(theta: Any, model: Any) -> Any:
    n_bones = len(model.parents)
    pose = _pose(theta, n_bones)
    absolute = np.zeros((n_bones, 4, 4))
    positions = np.zeros((len(model.base_positions), 3))
    for b in range(n_bones):
        local = np.eye(4)
        local[:3, :3] = _rotation_by_angles(pose[b + 3])
        relative = model.base_relatives[b] @ local
        parent = model.parents[b]
        absolute[b] = relative if parent == -1 else absolute[parent] @ relative
        transform = absolute[b] @ model.inverse_base_absolutes[b]
        positions += model.weights[:, b:b + 1] * (model.base_positions @ transform[:3].T)
    if model.is_mirrored:
        positions[:, 0] *= -1
    return positions @ (_rotation_by_axis(pose[0]) * pose[1]).T + pose[2]


def ht(theta: Any, us: Any, model: SimpleNamespace, correspondences: Any, points: Any) -> Any:
    """Distances from points to a posed hand; ``us`` are barycentric coordinates on it."""
    vertices = _vertices(theta, model)
    corners = np.take(model.triangles, correspondences, axis=0)     # arguments are traced
    u, v = us[:, 0:1], us[:, 1:2]
    on_hand = (u * vertices[corners[:, 0]] + v * vertices[corners[:, 1]]
               + (1 - u - v) * vertices[corners[:, 2]])
    return points - on_hand


@cache
def _ht_derivatives(target: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return wg.jacobian(ht, argnums=0, target=target), wg.jvp(ht, argnums=1, target=target)


def ht_jacobian(theta: Any, us: Any, model: Any, correspondences: Any, points: Any,
                target: str = "numpy") -> Any:
    """Columns: the two coordinates of an error's own point, then theta."""
    by_theta, along = _ht_derivatives(target)
    rows = 3 * len(points)
    columns = [along(theta, us, model, correspondences, points,
                     np.broadcast_to(direction, us.shape).copy())[1].reshape(rows, 1)
               for direction in np.eye(2)]
    dense = by_theta(theta, us, model, correspondences, points).reshape(rows, len(theta))
    return np.concatenate([*columns, dense], axis=1)


def functions(target: str = "numpy") -> dict[str, dict[str, Callable[..., Any]]]:
    """All objectives and their derivatives."""
    def grad(function: Callable[..., Any], argnums: Any = 0) -> Any:
        return wg.grad(function, argnums=argnums, target=target)

    return {
        "gmm": {"objective": gmm, "jacobian": grad(gmm, (0, 1, 2, 3))},
        "ba": {"objective": ba, "jacobian": partial(ba_jacobian, target=target)},
        "ht": {"objective": ht, "jacobian": partial(ht_jacobian, target=target)},
        "lstm": {"objective": lstm,
                 "jacobian": grad(lstm_by_scan if target == "native" else lstm, (0, 1))},
        "kmeans": {"cost": kmeans, "dir": partial(kmeans_direction, target=target)},
        "llsq": {"primal": llsq, "gradient": grad(llsq)},
        "lse": {"primal": lse, "gradient": grad(lse)},
        "ode": {"primal": ode, "gradient": grad(lambda x, steps: ode(x, steps)[-1])},
        "det": {"primal": det, "gradient": grad(det)},
    }


FUNCTIONS = functions()
