"""Complex numbers in both modes: the convention, and holomorphic functions on request."""

import numpy as np
import pytest
import wengert as wg
from wengert.compiler.errors import ComplexOutputError

MODES = pytest.mark.parametrize("mode", ["forward", "reverse"])
Z = np.array([0.3 - 0.4j, 1.2 + 0.5j, -0.7 + 0.1j])


@MODES
@pytest.mark.parametrize(("function", "derivative"), [
    (lambda z: z ** 3, lambda z: 3 * z ** 2),
    (lambda z: np.exp(1j * z) / z, lambda z: np.exp(1j * z) * (1j / z - 1 / z ** 2)),
    (lambda z: np.sin(z) * np.log(z + 2), lambda z: np.cos(z) * np.log(z + 2) + np.sin(z) / (z + 2)),
])
def test_derivative_of_a_holomorphic_function(function, derivative, mode):
    z = 0.3 - 0.4j
    got = wg.grad(function, mode=mode, holomorphic=True)(z)
    np.testing.assert_allclose(got, derivative(z), rtol=1e-13)
    jacobian = wg.jacobian(function, mode=mode, holomorphic=True)(Z)
    np.testing.assert_allclose(jacobian, np.diag(derivative(Z)), rtol=1e-13, atol=1e-14)
    value, slope = wg.value_and_grad(function, mode=mode, holomorphic=True)(z)
    np.testing.assert_allclose([value, slope], [function(z), derivative(z)], rtol=1e-13)


@MODES
def test_second_derivative_of_a_holomorphic_function(mode):
    first = wg.grad(lambda z: z ** 4, mode=mode, holomorphic=True)
    second = wg.grad(first, mode=mode, holomorphic=True)
    np.testing.assert_allclose(second(0.5 + 1j), 12 * (0.5 + 1j) ** 2, rtol=1e-13)


@MODES
def test_jacobian_of_a_complex_result_by_real_arguments(mode):
    matrix = np.array([[1 + 2j, 0.5j], [3.0, -1j], [2 - 1j, 1.0]])
    jacobian = wg.jacobian(lambda x: np.exp(matrix @ x), mode=mode)
    x = np.array([0.2, -0.3])
    np.testing.assert_allclose(jacobian(x), np.exp(matrix @ x)[:, None] * matrix, rtol=1e-13)
    np.testing.assert_allclose(wg.jacobian(lambda t: np.exp(1j * t), mode=mode)(0.7),
                               1j * np.exp(0.7j), rtol=1e-13)


@MODES
def test_gradient_of_a_real_result_by_complex_arguments(mode):
    # ∂/∂x − i·∂/∂y of |z|² + Re(w z) is 2·conj(z) + w.
    got = wg.grad(lambda z: np.sum(np.abs(z) ** 2) + np.real(np.sum(2j * z)), mode=mode)(Z)
    np.testing.assert_allclose(got, 2 * np.conj(Z) + 2j, rtol=1e-13)


def test_what_is_ambiguous_is_refused():
    with pytest.raises(ComplexOutputError, match="holomorphic=True"):
        wg.grad(lambda z: z * 1.0)(1j)
    with pytest.raises(ComplexOutputError, match="holomorphic=True"):
        wg.jacobian(lambda z: z * 1.0)(Z)
    with pytest.raises(ComplexOutputError, match="Leave holomorphic=True out"):
        wg.grad(lambda x: x * x, holomorphic=True)(1.0)
    with pytest.raises(ComplexOutputError, match="hessian needs real arguments"):
        wg.hessian(lambda z: np.abs(z) ** 2)(1j)
