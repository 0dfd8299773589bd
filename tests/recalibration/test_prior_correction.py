"""Class weights and sampling by outcome are undone exactly."""

import math
from fractions import Fraction

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import propriety as pr
from propriety.errors import InputValueError
from propriety.recalibration import OddsMap, RecalibrationMap

RATES = st.floats(1e-9, 1.0 - 1e-9)
FORECASTS = np.concatenate([[0.0, 5e-324, 1e-310, 1.0 - 2.0**-53, 1.0], np.random.default_rng(1).random(2000)])


def bayes(p, prior, sampled_at):
    """The forecast at the rate of use, from the likelihoods of the case under event and non-event, exactly."""
    p, prior, sampled_at = Fraction(p), Fraction(prior), Fraction(sampled_at)
    event, non_event = p / sampled_at, (1 - p) / (1 - sampled_at)  # Up to the density of the case.
    return prior * event / (prior * event + (1 - prior) * non_event)


@given(p=st.floats(0.0, 1.0), prior=RATES, sampled_at=RATES)
def test_it_is_bayes_theorem(p, prior, sampled_at):
    (found,) = pr.prior_correction(prior=prior, sampled_at=sampled_at)([p])
    assert found == pytest.approx(float(bayes(p, prior, sampled_at)), rel=3e-14, abs=1e-300)


@pytest.mark.parametrize("factor", [1e-300, 1e-3, 1.0, 7.0, 1e300])
def test_certain_forecasts_stay(factor):
    np.testing.assert_array_equal(OddsMap(intercept=math.log(factor))([0.0, 1.0]), [0.0, 1.0])


def test_a_rate_that_stays_changes_nothing():
    np.testing.assert_allclose(
        pr.prior_correction(prior=0.07, sampled_at=0.07)(FORECASTS), FORECASTS, rtol=1e-15, atol=0
    )


def test_weights_and_shares_are_ratios_of_odds():
    # 1,000 non-events of which 100 are kept and 50 events that count three times: 150 of 250.
    known = pr.prior_correction(prior=50 / 1050, sampled_at=150 / 250)
    found = pr.prior_correction(event_weight=3.0, non_events_kept=0.1)
    assert found.factor == pytest.approx(known.factor, rel=1e-14)
    assert pr.prior_correction(event_weight=4).factor == pytest.approx(0.25, rel=1e-15)
    assert pr.prior_correction(non_events_kept=0.1).factor == pytest.approx(0.1, rel=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize(
    "training", ["all", "balanced weights", "a tenth of the non-events"], ids=lambda name: name.replace(" ", "_")
)
def test_a_model_of_sampled_cases_has_the_coefficients_of_the_population(training):
    generator = np.random.default_rng(3)
    x = generator.normal(size=(400_000, 1))
    y = generator.random(400_000) < expit(1.1 * x[:, 0] - 3.5)
    model = LogisticRegression(C=np.inf, tol=1e-10, class_weight="balanced" if training == "balanced weights" else None)
    fix = pr.prior_correction(event_weight=1.0)
    rows = np.full(len(y), fill_value=True)
    if training == "balanced weights":
        fix = pr.prior_correction(prior=y.mean(), sampled_at=0.5)
    if training == "a tenth of the non-events":
        rows = y | (generator.random(len(y)) < 0.1)
        fix = pr.prior_correction(non_events_kept=0.1)
    model.fit(x[rows], y[rows])
    grid = np.linspace(-3.0, 3.0, 13)
    found = fix(model.predict_proba(grid[:, None])[:, 1])
    np.testing.assert_allclose(np.log(found / (1.0 - found)), 1.1 * grid - 3.5, atol=0.12)


def test_sql_and_expressions_are_the_same_to_the_last_bit():
    fix = pr.prior_correction(prior=0.013, sampled_at=0.4)
    frame = pl.DataFrame({"p": [*FORECASTS.tolist(), None, -0.5, 2.0]})
    wanted = [*fix(FORECASTS).tolist(), None, None, None]
    assert duckdb.from_arrow(frame.to_arrow()).project(f"{fix.to_sql('p')} as q").pl()["q"].to_list() == wanted
    assert nw.from_native(frame).select(fix.expression("p").alias("q"))["q"].to_list() == wanted


def test_it_survives_its_round_trip():
    fix = pr.prior_correction(non_events_kept=1 / 3)
    again = RecalibrationMap.from_json(fix.to_json())
    assert again == fix
    assert isinstance(again, OddsMap)
    assert fix.is_monotone
    assert fix.formula == "q / (1 - q) = 0.3333 p / (1 - p)"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "pass prior= and sampled_at=, or else"),
        ({"prior": 0.1}, "pass prior= and sampled_at=, or else"),
        ({"prior": 0.1, "sampled_at": 0.5, "event_weight": 2.0}, "pass prior= and sampled_at=, or else"),
        ({"prior": 0.1, "event_weight": 2.0}, "pass prior= and sampled_at=, or else"),
        ({"prior": 0.0, "sampled_at": 0.5}, "prior must lie strictly between 0 and 1; got 0.0"),
        ({"prior": 0.1, "sampled_at": 1}, "sampled_at must lie strictly between 0 and 1; got 1"),
        ({"event_weight": 0.0}, "event_weight must be a positive number; got 0.0"),
        ({"event_weight": float("nan")}, "event_weight must be a positive number; got nan"),
        ({"event_weight": True}, "event_weight must be a positive number; got True"),
        ({"non_events_kept": 1.5}, "non_events_kept must lie in \\(0, 1\\]; got 1.5"),
    ],
)
def test_what_is_no_scheme_is_refused(options, said):
    with pytest.raises(InputValueError, match=said):
        pr.prior_correction(**options)


def test_what_is_no_shift_is_refused():
    with pytest.raises(InputValueError, match="intercept must be a finite number"):
        OddsMap(intercept=math.inf)
