"""Fourier transforms: adjoints against matrices, conventions of complex gradients, precision."""

import numpy as np
import pytest
import scipy.fft
import wengert as wg
from wengert.compiler.ops import fft as rows

MODES = ("reverse", "forward")
RNG = np.random.default_rng(0)


def matrix(function, n, dtype=float):
    """The matrix of a linear function of vectors, column by column."""
    return np.stack([function(e) for e in np.eye(n, dtype=dtype)], axis=-1)


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize(("m", "n"), [(4, 4), (5, 5), (6, 4), (3, 6), (1, 1), (2, 3)])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_the_pullback_is_the_transpose_of_the_matrix(name, m, n, norm):
    def function(x):
        return getattr(np.fft, name)(x, n, norm=norm)
    is_real = name in ("rfft", "ihfft")
    x = RNG.normal(size=m) if is_real else RNG.normal(size=m) + 1j * RNG.normal(size=m)
    y = function(x)
    ct = RNG.normal(size=y.shape).astype(y.dtype)
    if y.dtype.kind == "c":
        ct = ct + 1j * RNG.normal(size=y.shape)
    found = wg.vjp(function)(x, ct)[1]
    # ∂/∂x − i ∂/∂y of Re Σ ct·y, from the columns of the real and imaginary directions
    wanted = np.real(ct @ matrix(function, m))
    if not is_real:
        wanted = wanted - 1j * np.real(ct @ matrix(lambda e: function(1j * e), m))
    close(found, wanted)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_cosine_and_sine_transforms_pull_back_by_the_transpose(name, kind, norm, n):
    def function(x):
        return getattr(scipy.fft, name)(x, kind, norm=norm)
    ct = RNG.normal(size=n)
    close(wg.vjp(function)(np.ones(n), ct)[1], ct @ matrix(function, n))


@pytest.mark.parametrize("mode", MODES)
def test_power_in_some_modes(mode):
    x, keep = np.array([1.0, 2.0, -1.0, 3.0]), np.array([1.0, 1.0, 0.0, 0.0])

    def power(x):
        return np.sum(np.abs(np.fft.fft(x) * keep) ** 2)
    f = np.exp(-2j * np.pi * np.outer(np.arange(4), np.arange(4)) / 4)[:2]
    close(wg.grad(power, mode=mode)(x), 2.0 * np.real(f.conj().T @ (f @ x)))


@pytest.mark.parametrize("mode", MODES)
def test_gradient_of_a_complex_signal_is_not_conjugated(mode):
    z = np.array([1.0 + 2.0j, -0.5j, 3.0])

    def energy(z):
        w = np.fft.fft(z)
        return np.sum(np.real(w) ** 2 + np.imag(w) ** 2)
    close(wg.grad(energy, mode=mode)(z), 2.0 * 3 * np.conj(z))         # Parseval; ∂/∂x − i ∂/∂y


def test_second_derivative_of_the_power_spectrum():
    def fourth(x):
        return np.sum(np.abs(np.fft.rfft(x)) ** 4)
    x = np.array([1.0, -2.0, 0.5, 3.0, 1.5])
    f = np.exp(-2j * np.pi * np.outer(np.arange(3), np.arange(5)) / 5)
    q = [np.real(np.outer(row.conj(), row)) for row in f]              # |f x|² = xᵀ q x
    wanted = sum(8.0 * np.outer(p @ x, p @ x) + 4.0 * (x @ p @ x) * p for p in q)
    for mode in MODES:
        close(wg.hessian(fourth, mode=mode)(x), wanted)


def test_a_filter_in_the_frequency_domain_is_its_own_transpose():
    h = np.array([1.0, 0.5, 0.25])

    def smooth(w):
        return np.fft.irfft(np.fft.rfft(w) * h, n=5)
    w, ct = RNG.normal(size=5), RNG.normal(size=5)
    close(wg.vjp(smooth)(w, ct)[1], smooth(ct))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "fft2", "irfft2"])
def test_single_precision_stays_single(name):
    x = np.ones((3, 4), np.float32)

    def loss(x):
        y = getattr(np.fft, name)(x)
        return np.sum(np.real(y) ** 2)
    assert wg.trace(getattr(np.fft, name))(x).outputs[0].type.dtype in (np.float32, np.complex64)
    for mode in MODES:
        assert wg.grad(loss, mode=mode)(x).dtype == np.float32


def test_batches_transform_along_their_own_axis():
    x = RNG.normal(size=(3, 4))
    close(wg.jacobian(np.fft.fft)(x[0]), matrix(np.fft.fft, 4))
    close(wg.jacobian(lambda v: np.fft.rfft(v, 6))(x[0]), matrix(lambda v: np.fft.rfft(v, 6), 4))


def test_source_is_spelled_as_a_person_would():
    cases = {
        "np.fft.fft(x)": lambda x: np.fft.fft(x), "np.fft.fft2(x)": lambda x: np.fft.fft2(x),
        "np.fft.fft(x, 8, axis=0)": lambda x: np.fft.fft(x, 8, axis=0),
        "np.fft.irfft(x, 5)": lambda x: np.fft.irfft(x, 5),
        "np.fft.rfft2(x, axes=(1, 0))": lambda x: np.fft.rfft2(x, axes=(1, 0)),
        "np.fft.fft(x, norm='ortho')": lambda x: np.fft.fft(x, norm="ortho"),
        "fft.dct(x, 3, axis=0)": lambda x: scipy.fft.dct(x, 3, axis=0),
    }
    for text, function in cases.items():
        compiled = wg.compile(function)
        compiled(np.ones((4, 4)))
        assert text in compiled.source


def test_shapes_that_numpy_refuses_are_refused():
    with pytest.raises(ValueError, match="data points"):
        wg.compile(lambda x: np.fft.fft(x, 0))(np.ones(3))
    with pytest.raises(ValueError, match="same length"):
        wg.compile(lambda x: np.fft.fftn(x, (2,), (0, 1)))(np.ones((3, 3)))
    with pytest.raises(ValueError, match="norm"):
        wg.compile(lambda x: np.fft.fft(x, norm="unitary"))(np.ones(3))


def test_resizing_crops_and_pads():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(rows.resize(x, (3, 2), (0, 1)), [[0, 1], [3, 4], [0, 0]])
