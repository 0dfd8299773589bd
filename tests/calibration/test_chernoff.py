"""Chernoff's distribution against golden and 45-digit numbers, and its own laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from propriety.calibration.bands import _density, _tail, chernoff_quantile


def chernoff_density(at):
    """Return the density that the quantiles are computed from."""
    return _density(np.abs(np.asarray(at, dtype=np.float64)))


def chernoff_cdf(at):
    """Return the distribution function that the quantiles invert."""
    tail, _ = _tail(abs(at))
    return 1.0 - tail if at > 0.0 else tail


# mpmath at 45 digits: the contour integral by quadrature, checked against the series over the zeros of Ai.
QUANTILES = {
    0.51: 0.0131879196203660948,
    0.55: 0.0660966408193072159,
    0.6: 0.1331963767907188199,
    0.7: 0.2751512847420818902,
    0.75: 0.3533080352394837042,
    0.8: 0.4398276660763855883,
    0.9: 0.6642351965062528717,
    0.95: 0.8450811888024724568,
    0.975: 0.9981810949948065731,
    0.98: 1.043038299417195531,
    0.99: 1.171534342131534054,
    0.995: 1.286658796803429728,
    0.999: 1.516663563374270187,
    0.9999: 1.784954633952432544,
    0.99999: 2.007324849974743264,
    0.999999: 2.198813598795571374,
    1e-06: -2.198813598797809625,
    1e-08: -2.520098655584137052,
    1e-12: -3.016569221268072982,
    1e-16: -3.403431121485032012,
}
# Case chernoff_quantiles of tests/golden/golden.json.
GOLDEN = {
    0.55: 0.06609664081930561,
    0.6: 0.1331963767907188,
    0.75: 0.3533080352394837,
    0.8: 0.4398276660763871,
    0.9: 0.6642351965062534,
    0.95: 0.8450811888024734,
    0.975: 0.9981810949948084,
    0.99: 1.1715343421315314,
    0.995: 1.2866587968034278,
    0.999: 1.5166635633742276,
}

Floats = NDArray[np.float64]

probabilities = st.floats(1e-6, 1.0 - 1e-6)


def _nodes_on_positive_axis() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(80)
    return 2.5 * (nodes + 1.0), 2.5 * weights


@pytest.mark.parametrize(("probability", "quantile"), QUANTILES.items())
def test_quantile_matches_high_precision(probability: float, quantile: float) -> None:
    assert chernoff_quantile(probability) == pytest.approx(quantile, rel=0.0, abs=1e-13)


@pytest.mark.parametrize(("probability", "quantile"), GOLDEN.items())
def test_quantile_matches_golden_case(probability: float, quantile: float) -> None:
    assert chernoff_quantile(probability) == pytest.approx(quantile, rel=0.0, abs=1e-12)


def test_median_is_exactly_zero() -> None:
    assert chernoff_quantile(0.5) == 0.0


@pytest.mark.slow
@given(probability=probabilities)
@settings(max_examples=30, deadline=None)
def test_quantile_is_odd_about_the_median(probability: float) -> None:
    # The complement is rounded, so that its quantile moves by the rounding over the density.
    rounding = float(np.finfo(np.float64).eps / chernoff_density(chernoff_quantile(probability)))
    mirrored = -chernoff_quantile(1.0 - probability)
    assert mirrored == pytest.approx(chernoff_quantile(probability), rel=0.0, abs=1e-13 + rounding)


@given(probability=probabilities)
@settings(max_examples=30, deadline=None)
def test_cdf_undoes_quantile(probability: float) -> None:
    assert chernoff_cdf(chernoff_quantile(probability)) == pytest.approx(probability, rel=1e-12, abs=0.0)


def test_cdf_keeps_relative_accuracy_in_the_lower_tail() -> None:
    for probability in (1e-8, 1e-16, 1e-50, 1e-100):
        assert chernoff_cdf(chernoff_quantile(probability)) == pytest.approx(probability, rel=1e-10, abs=0.0)


def test_quantile_increases() -> None:
    quantiles = [chernoff_quantile(p) for p in np.linspace(0.49, 0.51, 41)]
    assert np.all(np.diff(quantiles) > 0.0)


def test_density_at_zero() -> None:
    # This and the variance below: mpmath, as above.
    assert chernoff_density(0.0) == pytest.approx(0.7583445580537333, rel=1e-14)


def test_density_is_symmetric_and_keeps_the_shape() -> None:
    at = np.array([[-2.0, -0.3], [0.0, 1.1]])
    density = chernoff_density(at)
    assert density.shape == at.shape
    np.testing.assert_array_equal(density, chernoff_density(-at))


def test_density_has_unit_mass_and_known_variance() -> None:
    nodes, weights = _nodes_on_positive_axis()
    density = chernoff_density(nodes)
    assert 2.0 * weights @ density == pytest.approx(1.0, rel=1e-13)
    assert 2.0 * weights @ (nodes**2 * density) == pytest.approx(0.2635596412996102, rel=1e-13)


def test_cdf_differences_are_integrals_of_the_density() -> None:
    nodes, weights = np.polynomial.legendre.leggauss(40)
    low, high = -0.4, 0.9
    half = (high - low) / 2.0
    mass = half * weights @ chernoff_density(low + half * (nodes + 1.0))
    assert chernoff_cdf(high) - chernoff_cdf(low) == pytest.approx(mass, rel=1e-13)


def test_quantiles_are_plain_floats() -> None:
    assert type(chernoff_quantile(np.float64(0.9))) is float
    assert math.isfinite(chernoff_quantile(1.0 - 2.0**-53))
