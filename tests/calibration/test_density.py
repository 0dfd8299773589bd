"""Chen's beta-kernel density against golden numbers, SciPy's beta density and its own laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import beta

from propriety.calibration import bands as module
from propriety.calibration.bands import beta_kernel_density

Floats = NDArray[np.float64]

VALUES = np.array([0.1, 0.15, 0.4, 0.8, 0.95])
AT = np.array([0.0, 0.3, 1.0])
# Case chen_beta_kernel of shared/reference/golden.json.
DENSITY = np.array([1.1500635622371633, 0.9310289712145033, 1.0308800803362392])
GRID = np.linspace(0.0, 1.0, 101)

samples = arrays(np.float64, st.integers(1, 20), elements=st.floats(0.0, 1.0))


def _by_scipy(at: Floats, values: Floats, weight: Floats, b: float) -> Floats:
    kernels = beta.pdf(values, at[:, None] / b + 1.0, (1.0 - at[:, None]) / b + 1.0)
    return np.asarray(kernels @ weight / weight.sum())


def test_golden_values() -> None:
    np.testing.assert_allclose(beta_kernel_density(AT, VALUES, np.ones(5)), DENSITY, rtol=1e-14)


@pytest.mark.parametrize("bandwidth", [0.5, 0.05, 0.005])
def test_agrees_with_scipy_beta(bandwidth: float) -> None:
    rng = np.random.default_rng(1)
    values, weight = rng.random(300), rng.random(300)
    expected = _by_scipy(GRID, values, weight, bandwidth)
    np.testing.assert_allclose(beta_kernel_density(GRID, values, weight, bandwidth), expected, rtol=1e-11)


def test_ends_are_kernels_of_powers() -> None:
    # At x = 0 the kernel is (1/b + 1) (1 - v)^(1/b) and at x = 1 its mirror: 0^0 = 1 and 0^(1/b) = 0.
    values, b = np.array([0.0, 1.0]), 0.1
    density = beta_kernel_density(np.array([0.0, 0.5, 1.0]), values, np.array([3.0, 1.0]), b)
    np.testing.assert_allclose(density, [0.75 * 11.0, 0.0, 0.25 * 11.0], rtol=1e-14, atol=1e-200)


@given(values=samples)
def test_finite_positive_and_silent(values: Floats) -> None:
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        density = beta_kernel_density(GRID, values, np.ones(values.size))
    assert np.all(np.isfinite(density))
    assert np.all(density > 0.0)


@given(values=samples)
def test_mirrored_sample_has_mirrored_density(values: Floats) -> None:
    weight = np.ones(values.size)
    # 1 - v must be exact for the two samples to be mirror images.
    values = np.round(values * 1024.0) / 1024.0
    mirrored = beta_kernel_density(1.0 - GRID, 1.0 - values, weight)
    np.testing.assert_allclose(beta_kernel_density(GRID, values, weight), mirrored, rtol=1e-9, atol=1e-200)


@given(values=samples, data=st.data())
def test_weights_mean_repeated_values(values: Floats, data: st.DataObject) -> None:
    counts = data.draw(arrays(np.int64, values.size, elements=st.integers(1, 5)))
    repeated = np.repeat(values, counts)
    np.testing.assert_allclose(
        beta_kernel_density(GRID, values, counts.astype(np.float64)),
        beta_kernel_density(GRID, repeated, np.ones(repeated.size)),
        rtol=1e-12,
    )


def test_sample_size_sets_the_default_bandwidth() -> None:
    by_size = beta_kernel_density(AT, VALUES, np.full(5, 0.2), n=5.0)
    np.testing.assert_allclose(by_size, DENSITY, rtol=1e-14)
    by_bandwidth = beta_kernel_density(AT, VALUES, np.full(5, 0.2), bandwidth=5.0**-0.4)
    np.testing.assert_array_equal(by_size, by_bandwidth)


def test_mass_is_about_one() -> None:
    # The kernels integrate to one over v, not over x: the mass tends to 1 as b tends to 0.
    values = (np.arange(5000) + 0.5) / 5000
    nodes, weights = np.polynomial.legendre.leggauss(100)
    density = beta_kernel_density((nodes + 1.0) / 2.0, values, np.ones(5000))
    assert weights @ density / 2.0 == pytest.approx(1.0, abs=1e-3)


def test_expectation_on_a_known_density() -> None:
    # E f_b(x) = E f(V) with V ~ Beta(x/b + 1, (1 - x)/b + 1): here f(v) = 12 v (1 - v)^2, that of Beta(2, 3).
    n, b = 20000, 0.02
    values = beta.ppf((np.arange(n) + 0.5) / n, 2.0, 3.0)
    first, second, both = GRID / b + 1.0, (1.0 - GRID) / b + 1.0, 1.0 / b + 2.0
    expected = 12.0 * first * second * (second + 1.0) / (both * (both + 1.0) * (both + 2.0))
    np.testing.assert_allclose(beta_kernel_density(GRID, values, np.ones(n), b), expected, atol=2e-4)


def test_blocks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).random(1000)
    whole = beta_kernel_density(GRID, values, np.ones(1000))
    monkeypatch.setattr(module, "_BLOCK_CELLS", 707)
    np.testing.assert_allclose(beta_kernel_density(GRID, values, np.ones(1000)), whole, rtol=1e-13)
