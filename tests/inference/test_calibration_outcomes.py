"""Limits, p-values and ways of calibration, at their bounds."""

import numpy as np
import pytest
from calibration_sample import SAMPLES
from scipy.special import chdtri, ndtri
from scipy.stats import chi2

import propriety as pr
from propriety.inference.calibration_findings import CALIBRATION, has_weights_by_outcome
from propriety.inference.calibration_numbers import CalibrationNumbers, ratio_limits
from propriety.inference.calibration_words import ways_of
from propriety.inference.finding import Finding
from propriety.inference.group_findings import ratio_p_values
from propriety.inference.notes import Note
from propriety.tables.forecast_table import ForecastTable

Z = float(ndtri(0.975))


def numbers(**columns):
    """Return numbers of a table for each element, by default well calibrated, with a slope of 1."""
    size = max((len(np.atleast_1d(one)) for one in columns.values()), default=1)
    plain = {"ratio": 1.0, "ratio_error": 0.01, "p_value": 0.5, "information": 100.0, "slope_gap": 0.0}
    plain |= {"slope_error": 0.01, "slope_sign": 5.0, "refuted": 0.0, "observed": 100.0, "expected": 100.0}
    plain |= {"is_rare": False, "units": np.inf, "worth": np.inf}
    return CalibrationNumbers(**{name: np.resize(columns.get(name, plain[name]), size) for name in plain})


def test_limits_of_the_ratio_are_normal_on_the_log_scale():
    low, high = ratio_limits(numbers(ratio=[1.2, 0.7], ratio_error=[0.1, 0.2], observed=[10.0, 40.0]), 0.95)
    np.testing.assert_allclose(low, [1.2 * np.exp(-0.1 * Z), 0.7 * np.exp(-0.2 * Z)])
    np.testing.assert_allclose(high, [1.2 * np.exp(0.1 * Z), 0.7 * np.exp(0.2 * Z)])
    ninety, wide = ratio_limits(numbers(ratio_error=0.1), 0.9), float(ndtri(0.95))
    np.testing.assert_allclose(ninety, np.exp([[-0.1 * wide], [0.1 * wide]]))


def test_limits_of_few_events_are_those_of_a_poisson_mean():
    found = numbers(observed=[4.0, 9.5, 0.0], expected=[8.0, 2.0, 3.0], ratio=[0.5, 4.75, 0.0])
    low, high = ratio_limits(found, 0.9)
    np.testing.assert_allclose(low[:2], [chi2.ppf(0.05, 8.0) / 16.0, chi2.ppf(0.05, 19.0) / 4.0])
    np.testing.assert_allclose(high, [chi2.ppf(0.95, 10.0) / 16.0, chi2.ppf(0.95, 21.0) / 4.0, -np.log(0.05) / 3.0])
    assert low[2] == 0.0
    assert chdtri(8.0, 0.95) == pytest.approx(chi2.ppf(0.05, 8.0))


def test_the_ratio_has_no_limits_if_no_event_was_expected():
    low, high = ratio_limits(numbers(observed=[0.0, 3.0, 3.0], expected=[0.0, 0.0, 0.5]), 0.95)
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, True, False]


def test_p_values_of_the_ratio_agree_with_its_limits():
    """At any level the limits exclude 1 just where the p-value is below one minus the level."""
    found = numbers(
        ratio=[1.2, 0.7, 1.02, 0.5, 4.0, 0.0],
        ratio_error=[0.1, 0.2, 0.3, 0.3, 0.2, np.nan],
        observed=[90.0, 40.0, 30.0, 4.0, 8.0, 0.0],
        expected=[75.0, 57.0, 29.0, 8.0, 2.0, 3.0],
    )
    p_values = ratio_p_values(found)
    for level in (0.5, 0.8, 0.9, 0.95, 0.99):
        low, high = ratio_limits(found, level)
        outside = (low > 1.0) | (high < 1.0)
        assert outside.tolist() == (p_values < 1.0 - level).tolist()


@pytest.mark.parametrize(
    ("y", "weight", "expected"),
    [
        ([1, 1, 0, 0], None, False),
        ([1, 1, 0, 0], [1.0, 1.0, 2.0, 2.0], True),
        ([1, 1, 0, 0], [2.0, 2.0, 2.0, 2.0], False),
        ([1, 1, 0, 0], [1.0, 1.5, 2.0, 2.0], False),
        ([1, 1, 0, 0], [1.0, 1.0, 2.0, 2.5], False),
        ([1, 0, 0, 0], [1.0, 2.0, 2.0, 2.0], True),
        ([1, 0, 0, 0], [2.0, 2.0, 2.0, 2.0], False),
        ([1, 1, 1, 1], [2.0, 2.0, 2.0, 2.0], False),
        ([0, 0, 0, 0], [2.0, 2.0, 2.0, 2.0], False),
    ],
)
def test_weights_by_outcome_are_recognised(y, weight, expected):
    table = ForecastTable.from_predictions(y, [0.2, 0.4, 0.4, 0.7], sample_weight=weight)
    assert has_weights_by_outcome(table) is expected


def row_and_sizes(ratio=(1.0, 0.96, 1.04), slope=(1.0, 0.95, 1.05), codes=()):
    """Return a test that shows an error, and its sizes as value and limits."""
    row = Finding(measure=CALIBRATION, model="m", p=0.01, notes=tuple(Note(code) for code in codes))
    limits = [(one, np.nan, np.nan) if np.isscalar(one) else one for one in (ratio, slope)]
    measures = pr.measures.ObservedExpected(), pr.measures.CalibrationSlope()
    named = [dict(zip(("value", "low", "high"), own, strict=True)) for own in limits]
    return row, [Finding(measure=one, model="m", **own) for one, own in zip(measures, named, strict=True)]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, ("together",)),
        ({"ratio": (0.8, 0.7, 0.99)}, ("too high",)),
        ({"ratio": (0.8, 0.7, 1.0)}, ("together",)),
        ({"ratio": (1.2, 1.01, 1.3)}, ("too low",)),
        ({"ratio": (1.2, 1.0, 1.3)}, ("together",)),
        ({"ratio": 0.8}, ("too high",)),
        ({"ratio": 1.2}, ("too low",)),
        ({"slope": (-0.5, -0.8, -0.1)}, ("reversed",)),
        ({"slope": (-0.5, -0.8, 0.0)}, ("too extreme",)),
        ({"slope": (0.8, 0.7, 0.99)}, ("too extreme",)),
        ({"slope": (0.8, 0.7, 1.0)}, ("together",)),
        ({"slope": (1.2, 1.01, 1.4)}, ("too timid",)),
        ({"slope": (1.2, 1.0, 1.4)}, ("together",)),
        ({"ratio": (0.8, 0.7, 0.9), "slope": (1.2, 1.1, 1.4)}, ("too high", "too timid")),
        ({"codes": ("shape",)}, ("other shape",)),
        ({"ratio": (0.8, 0.7, 0.9), "codes": ("shape",)}, ("too high", "other shape")),
        ({"slope": np.nan, "ratio": (0.9, 0.8, 1.1)}, ("too high",)),
        ({"slope": np.nan, "ratio": (1.0, 0.8, 1.1)}, ("too low",)),
    ],
)
def test_ways_follow_from_limits_and_notes(parts, expected):
    assert ways_of(*row_and_sizes(**parts)) == expected


def test_what_a_model_is_told_is_that_of_it_alone():
    (p, y), (other, _) = SAMPLES[1], SAMPLES[2]
    for options in ({}, {"cluster": np.arange(300) // 2}):
        both = pr.check_calibration(y, {"a": other, "b": p}, seed=1, n_resamples=20, **options).where(model="b")
        alone = pr.check_calibration(y, {"b": p}, seed=1, n_resamples=20, **options)
        assert both.to_json() == alone.to_json()
