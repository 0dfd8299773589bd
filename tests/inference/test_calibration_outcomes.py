"""Limits, directions and words of calibration, at their bounds."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from calibration_sample import SAMPLES, fitted_line
from scipy.special import chdtri, ndtri
from scipy.stats import chi2

import propriety as pr
from propriety.inference import calibration_summary
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_numbers import (
    CalibrationNumbers,
    outcomes_of,
    ratio_limits,
)
from propriety.inference.calibration_summary import calibration_of, jointly_tested
from propriety.inference.estimation import estimate_or_note
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.recalibration_gain import RecalibrationGain
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


def outcomes(found, *, low=1.0, high=1.0, p_adjusted=0.01, level=0.95):
    size = len(found.ratio)
    names, ways = outcomes_of(found, *(np.resize(one, size) for one in (low, high, p_adjusted)), level)
    return names.tolist(), ways.tolist()


def test_an_error_is_immaterial_only_if_all_limits_are_strictly_within_the_margins():
    ends = {"low": [0.96, 0.95, 0.96, 0.94], "high": [1.04, 1.04, 1.05, 1.04]}
    assert outcomes(numbers(), **{name: one[:1] for name, one in ends.items()})[0] == ["immaterial"]
    names, _ = outcomes(numbers(ratio=[1.0] * 4), **ends)
    assert names == ["immaterial", "miscalibrated", "miscalibrated", "miscalibrated"]
    gaps = {"slope_gap": [0.09, 0.1, -0.09, -0.1, 0.05, -0.05], "slope_error": [0.0, 0.0, 0.0, 0.0, 0.02, 0.03]}
    assert outcomes(numbers(**gaps))[0] == [
        "immaterial",
        "miscalibrated",
        "immaterial",
        "miscalibrated",
        "immaterial",
        "miscalibrated",
    ]
    assert outcomes(numbers(refuted=[0.0, 0.5, 1.0]))[0] == ["immaterial", "miscalibrated", "miscalibrated"]
    assert outcomes(numbers(slope_gap=[0.05], slope_error=[0.03]), level=0.5)[0] == ["immaterial"]


def test_a_p_value_at_the_level_is_an_error_and_little_information_is_too_little():
    limit = 1.0 - 0.95
    names, ways = outcomes(numbers(information=[100.0, 100.0, 20.0, 19.9]), p_adjusted=[limit, 0.06, 0.06, 0.06])
    assert names == ["immaterial", "consistent", "consistent", "too few events"]
    assert ways == [("together",), (), (), ()]
    assert outcomes(numbers(), p_adjusted=np.nan)[0] == ["consistent"]


@pytest.mark.parametrize(
    ("columns", "limits", "expected"),
    [
        ({}, {}, ("together",)),
        ({}, {"low": 0.8, "high": 0.9}, ("too high",)),
        ({}, {"low": 1.1, "high": 1.2}, ("too low",)),
        ({"slope_gap": -0.5}, {}, ("too extreme",)),
        ({"slope_gap": 0.5}, {}, ("too timid",)),
        ({"slope_gap": -0.5}, {"low": 1.1, "high": 1.2}, ("too low", "too extreme")),
        ({"slope_gap": 0.5}, {"low": 0.8, "high": 0.9}, ("too high", "too timid")),
        ({"slope_gap": -Z * 0.01}, {}, ("together",)),
        ({"slope_gap": Z * 0.01}, {}, ("together",)),
        ({"slope_gap": -1.5, "slope_sign": -3.0}, {}, ("reversed",)),
        ({"slope_gap": -1.5, "slope_sign": -Z}, {}, ("too extreme",)),
        ({"slope_gap": -1.5, "slope_sign": -1.0}, {}, ("too extreme",)),
        ({"slope_gap": -1.5, "slope_sign": -3.0, "is_rare": True, "ratio": 1.2}, {}, ("too low",)),
        ({"slope_gap": -1.5, "is_rare": True, "ratio": 0.8}, {}, ("too high",)),
        ({"slope_gap": 1.5, "is_rare": True, "ratio": 0.8}, {}, ("too high",)),
        ({"slope_gap": 1.5, "is_rare": True}, {}, ("together",)),
        ({"slope_error": 0.0, "ratio": 0.8}, {"low": 0.7, "high": 1.1}, ("too high",)),
        ({"slope_error": 0.0, "ratio": 1.2}, {"low": 0.7, "high": 1.4}, ("too low",)),
        ({"slope_error": 0.0, "ratio": 1.2, "refuted": 1.0}, {"low": 0.7, "high": 1.4}, ("refuted",)),
        ({"is_rare": True, "ratio": 0.8, "refuted": 0.5}, {"low": 0.7, "high": 1.4}, ("refuted",)),
        ({"ratio": 0.8}, {"low": 0.7, "high": 1.4}, ("together",)),
        ({"ratio": 1.2}, {"low": 0.7, "high": 1.4}, ("together",)),
        ({"refuted": 2.0, "slope_gap": -0.5}, {"low": 1.1, "high": 1.2}, ("refuted", "too low", "too extreme")),
    ],
)
def test_directions_follow_from_limits_of_ratio_and_slope(columns, limits, expected):
    _, ways = outcomes(numbers(**columns), **limits)
    assert ways == [expected]
    _, none = outcomes(numbers(**columns), **limits, p_adjusted=0.5)
    assert none == [()]


def estimated(value, low=np.nan, high=np.nan):
    return SimpleNamespace(value=value, low=low, high=high, note="")


def summarised(ratio=(1.0, 0.96, 1.04), slope=(1.0, 0.95, 1.05), cost=(0.0, 0.0, 0.001), **parts):
    plain = {"observed_expected": estimated(*ratio), "slope": estimated(*slope), "miscalibration": estimated(*cost)}
    return SimpleNamespace(**(plain | {"level": 0.95, "uncertainty": 0.2, "gain": None} | parts))


def shapes(*found):
    """Return a test in which these views reject, at a level of 5%."""

    def shows_shape(level):
        assert level == 1.0 - 0.95
        return "shape" in found or "fine" in found

    return SimpleNamespace(shows_shape=shows_shape, n_refuted=0.0, line_df=2.0)


NOTHING = shapes()


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, ["together"]),
        ({"ratio": (0.8, 0.7, 0.99)}, ["too high"]),
        ({"ratio": (0.8, 0.7, 1.0)}, ["together"]),
        ({"ratio": (1.2, 1.01, 1.3)}, ["too low"]),
        ({"ratio": (1.2, 1.0, 1.3)}, ["together"]),
        ({"ratio": (0.8,)}, ["too high"]),
        ({"ratio": (1.2,)}, ["too low"]),
        ({"slope": (-0.5, -0.8, -0.1)}, ["reversed"]),
        ({"slope": (-0.5, -0.8, 0.0)}, ["too extreme"]),
        ({"slope": (0.8, 0.7, 0.99)}, ["too extreme"]),
        ({"slope": (0.8, 0.7, 1.0)}, ["together"]),
        ({"slope": (1.2, 1.01, 1.4)}, ["too timid"]),
        ({"slope": (1.2, 1.0, 1.4)}, ["together"]),
        ({"ratio": (0.8, 0.7, 0.9), "slope": (1.2, 1.1, 1.4)}, ["too high", "too timid"]),
        ({"slope": (np.nan,)}, ["together"]),
    ],
)
def test_directions_of_a_summary_follow_from_its_intervals(parts, expected, monkeypatch):
    asked = []

    def again(*given):
        asked.append(given)
        return NOTHING

    monkeypatch.setattr(calibration_summary, "recalibrated_test_of", again)
    assert calibration_summary._directions(summarised(**parts), NOTHING, "inside", "m", "drawing") == expected
    assert asked == ([] if expected == ["together"] else [("inside", "m", "drawing")])


def test_a_shape_is_what_remains_after_recalibration(monkeypatch):
    def ways(found, test, again=NOTHING):
        monkeypatch.setattr(calibration_summary, "recalibrated_test_of", lambda *_: again)
        return calibration_summary._directions(found, test, None, "m", None)

    high, shape, fine = summarised(ratio=(0.8, 0.7, 0.9)), shapes("shape"), shapes("fine")
    assert ways(summarised(), shape) == ["other shape"]
    assert ways(summarised(), fine) == ["other shape"]
    assert ways(summarised(), shapes("line")) == ["together"]
    assert ways(high, shape) == ["too high"]
    assert ways(high, NOTHING, fine) == ["too high", "other shape"]
    assert ways(high, shape, None) == ["too high"]
    refuted = SimpleNamespace(**vars(NOTHING) | {"n_refuted": 0.5})
    assert ways(summarised(), refuted) == ["refuted"]
    equal = SimpleNamespace(**vars(NOTHING) | {"line_df": 1.0})
    unsloped = {"slope": (np.nan,)}
    assert ways(summarised(ratio=(0.9, 0.8, 1.1), **unsloped), equal) == ["too high"]
    assert ways(summarised(ratio=(1.0, 0.8, 1.1), **unsloped), equal) == ["too low"]
    assert ways(summarised(), equal) == ["together"]


@pytest.mark.parametrize(
    ("parts", "is_immaterial"),
    [
        ({}, True),
        ({"ratio": (1.0, 0.95, 1.04)}, False),
        ({"ratio": (1.0, 0.96, 1.05)}, False),
        ({"slope": (1.0, 0.9, 1.05)}, False),
        ({"slope": (1.0, 0.95, 1.1)}, False),
        ({"slope": (np.nan,)}, True),
        ({"ratio": (np.nan,)}, False),
        ({"cost": (0.0, 0.0, 0.0011)}, False),
        ({"cost": (np.nan,)}, False),
        ({"gain": (0.001, 0.2)}, True),
        ({"gain": (0.0011, 0.2)}, False),
        ({"gain": (0.001, 0.2), "cost": (0.01, 0.001, 0.1)}, True),
        ({"gain": (0.001, 0.2), "cost": (0.01, 0.0011, 0.1)}, False),
        ({"gain": (0.001, 0.2), "cost": (np.nan,)}, True),
    ],
)
def test_a_summary_is_immaterial_only_within_all_margins(parts, is_immaterial):
    if "gain" in parts:
        high, uncertainty = parts["gain"]
        parts = parts | {"gain": RecalibrationGain("Brier score", 0.1, 0.0, 0.0, high, uncertainty)}
    assert calibration_summary._immaterial(summarised(**parts), NOTHING) is is_immaterial
    refuted = SimpleNamespace(**vars(NOTHING) | {"n_refuted": 0.5})
    assert calibration_summary._immaterial(summarised(**parts), refuted) is False


def noted(*, test=None, weighted=False, prevalence=None, censoring=None, notes=("", ""), intercept=0.0, slope=1.0):
    y, p = np.arange(8) % 2 == 0, np.array([0.0, 0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0])
    table = ForecastTable.from_predictions(y, p, sample_weight=np.where(y, 1.0, 3.0) if weighted else None)
    ledger = SimpleNamespace(prevalence=prevalence, censoring=censoring, where_cases_are="the cases")
    numbers = {"intercept": estimated(intercept, 0.1, 0.2), "slope": estimated(slope, 0.1, 0.2)}
    for one, note in zip(numbers.values(), notes, strict=True):
        one.note = note
    return calibration_summary._note(ledger, table, test, numbers)


def timed(**parts):
    return SimpleNamespace(**({"n_certain": 0.0, "worth": np.inf, "units": 8, "depends_on_few": False} | parts))


def test_caveats_of_a_summary_are_said_once_each():
    assert noted() == "a test needs the cases"
    assert noted(test=timed()) == ""
    assert noted(test=timed(), notes=("few", "few")) == "few"
    assert noted(test=timed(), notes=("few", "narrow")) == "few; narrow"
    certain = "37.5% of the cases have a forecast of exactly 0 or 1"
    assert noted(test=timed(n_certain=3.0)) == f"{certain}; intercept and slope leave these out"
    assert noted(test=timed(n_certain=3.0), slope=np.nan) == f"{certain}; the intercept leaves these out"
    assert noted(test=timed(n_certain=3.0), slope=np.nan, intercept=np.nan) == certain
    by_outcome = (
        "all events have one weight and all non-events another: if a study fixed the numbers of both, these intervals "
        "are too wide; `at_prevalence` gives the right ones"
    )
    assert noted(test=timed(), weighted=True) == by_outcome
    assert noted(test=timed(), weighted=True, prevalence=0.1) == ""
    assert noted(test=timed(n_certain=2.0), weighted=True, prevalence=0.1) == (
        "12.5% of the weight has a forecast of exactly 0 or 1; intercept and slope leave these out"
    )
    often = "the test may reject too often"
    assert noted(test=timed(worth=24.9, units=300)) == (
        f"300 correlated periods are equivalent to about 25 independent ones: {often}"
    )
    assert noted(test=timed(worth=0.2, units=300)) == (
        f"300 correlated periods are equivalent to about 1 independent ones: {often}"
    )
    unknown = f"periods cannot show whether neighbours are correlated: if they are, {often}"
    assert noted(test=timed(worth=25.0, units=59)) == f"59 {unknown}"
    assert noted(test=timed(worth=25.0, units=60)) == ""
    assert noted(test=timed(units=30)) == ""
    followed = SimpleNamespace(is_estimated=True, has_groups=False, followed=7, horizon=5.0, dependence={})
    based = "based on 7 cases followed up until 5"
    narrow = f"{based}: the interval may be too narrow"
    assert noted(test=timed(), censoring=followed, notes=(f"few; {narrow}", narrow)) == (
        f"{based}: intervals may be too narrow and {often}; few"
    )


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
    assert calibration_summary._weighted_by_outcome(table) is expected


def test_a_summary_of_clusters_without_cases_is_not_tested_and_has_no_views():
    p, y = SAMPLES[0]
    first, second = (pr.condense(y[half], p[half], cluster=np.arange(150)) for half in (slice(150), slice(150, 300)))
    found = pr.calibration_summary(first + second, seed=1, n_resamples=20)
    fields = found.to_dict()
    assert (found.outcome, found.test, fields["directions"]) == ("not tested", None, "")
    for name in ("line_p_value", "shape_p_value", "fine_p_value", "n_certain", "n_refuted"):
        assert np.isnan(fields[name])
    assert fields["slope"] == found.slope.value
    assert fields["observed_expected_low"] is not None


def test_a_summary_holds_the_numbers_of_its_table():
    p, y = SAMPLES[2]
    found = pr.calibration_summary(y, p, level=0.9, seed=1, n_resamples=20)
    fields = found.to_dict()
    assert (found.outcome, found.n, found.n_events, found.dropped) == ("miscalibrated", 300, int(y.sum()), 0)
    assert (found.observed, found.expected) == (pytest.approx(y.mean()), pytest.approx(p.mean()))
    assert found.brier == pytest.approx(np.mean((p - y) ** 2))
    assert found.uncertainty == pytest.approx(y.mean() * (1 - y.mean()))
    assert found.p_value == found.test.p_value
    assert fields["line_p_value"] == found.test.line_p_value
    assert fields["intercept_high"] == found.intercept.high
    assert fields["directions"] == ", ".join(found.directions)
    assert fields["ici"] == found.smooth.ici
    assert fields["e90_low"] == found.smooth.e90_low
    slope, _ = fitted_line(p, y.astype(float), np.ones(300))
    assert found.slope.value == pytest.approx(slope, rel=1e-6)


def test_summaries_tested_jointly_are_cleared_by_their_adjusted_p_values():
    p, y = SAMPLES[0]
    found = pr.calibration_summary(y, p, seed=1, n_resamples=20)
    wrong = [replace(found, p_value=value, outcome="miscalibrated", directions=("too low",)) for value in (0.02, 0.03)]
    enough = replace(wrong[0].test, information=100.0)
    wrong = [replace(one, test=enough) for one in wrong]
    alone, together = jointly_tested(wrong[:1]), jointly_tested([*wrong, replace(found, p_value=0.5)])
    assert [(one.outcome, one.directions, p_value) for one, p_value in alone] == [("miscalibrated", ("too low",), 0.02)]
    assert [p_value for _, p_value in together] == pytest.approx([0.06, 0.06, 0.5])
    assert [one.outcome for one, _ in together] == ["consistent", "consistent", found.outcome]
    assert [one.directions for one, _ in together] == [(), (), ()]
    untested = replace(found, p_value=0.5, test=None, outcome="not tested")
    assert jointly_tested([untested])[0][0].outcome == "not tested"
    limit = replace(wrong[0], p_value=1.0 - 0.95)
    assert jointly_tested([limit])[0][0].outcome == "miscalibrated"


@pytest.mark.parametrize("options", [{}, {"cluster": np.arange(300) // 2}], ids=["independent", "clusters"])
def test_the_summary_of_one_of_several_models_is_its_own(options):
    (p, y), (other, _) = SAMPLES[1], SAMPLES[2]
    drawing = Drawing(n_resamples=20, seed=1)
    known = estimate_or_note(pr.condense(y, p), "forecast", ObservedExpected(), level=0.5, drawing=drawing)
    both = calibration_of(
        pr.condense(y, {"a": other, "b": p}, **options),
        "b",
        level=0.95,
        drawing=drawing,
        known={"observed_expected": known},
        gain=lambda: RecalibrationGain("Brier score", 0.2, 0.1, 0.05, 0.15, 0.25),
    )
    alone = pr.calibration_summary(y, p, seed=1, n_resamples=20, **options)
    assert (both.outcome, both.directions) == ("miscalibrated", alone.directions)
    assert both.p_value == alone.p_value
    assert both.observed_expected is known
    assert both.gain.low == 0.05
    for name in ("intercept", "slope", "miscalibration"):
        one, single = getattr(both, name), getattr(alone, name)
        assert (one.value, one.low, one.high) == (single.value, single.low, single.high)
    assert both.smooth.ici == alone.smooth.ici
    assert both.smooth.ici_low == pytest.approx(alone.smooth.ici_low, nan_ok=True)
