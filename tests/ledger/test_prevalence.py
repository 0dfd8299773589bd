"""Ledgers at another event rate: weights, values, and errors of two samples."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.finding_words import notes_of

RNG = np.random.default_rng(4)
Y = RNG.random(400) < 0.4
X = RNG.normal(size=400) + Y
FORECASTS = {"a": expit(X - 0.9), "b": expit(0.5 * X - 0.7)}
RATE = 0.03
SMOOTH = [pr.measures.ObservedExpected(), pr.measures.AreaUnderRoc(), pr.measures.CalibrationSlope()]
MEANS = [pr.Brier(), pr.Log(), pr.measures.NetBenefit(0.05), pr.measures.Skill()]


def test_values_are_those_of_weighted_cases():
    weight = np.where(Y, RATE / Y.mean(), (1 - RATE) / (1 - Y.mean()))
    ledger = pr.at_prevalence(pr.condense(Y, FORECASTS), RATE)
    assert ledger.table("a").event_rate == pytest.approx(RATE, abs=1e-14)
    assert ledger.table("a").weight == pytest.approx(len(Y))
    for measure in MEANS + SMOOTH:
        found = pr.estimate(ledger, "a", measure).value
        assert found == pytest.approx(pr.estimate(Y, FORECASTS["a"], measure, sample_weight=weight).value, rel=1e-10)


def fitted(*forecasts):
    """Return the rate of events at each forecast: a logistic regression by Newton's method."""
    design = np.column_stack([*(logit(p) for p in forecasts), np.ones(len(Y))])
    coefficients = np.zeros(design.shape[1])
    for _ in range(30):
        rate = expit(design @ coefficients)
        information = design.T @ (design * (rate * (1 - rate))[:, None])
        coefficients += np.linalg.solve(information, design.T @ (Y - rate))
    return expit(design @ coefficients)


def error(losses, rates=None):
    """Return the standard error of a mean with a fixed share of events: of the two samples, or at fitted rates."""
    square, sides = 0.0, (rates, None if rates is None else 1 - rates)
    for loss, own, share, rate in zip(losses, (Y, ~Y), (RATE, 1 - RATE), sides, strict=True):
        n = np.count_nonzero(own)
        spread = loss[own].var(ddof=1) if rate is None else np.cov(loss, aweights=rate, ddof=0) * n / (n - 1)
        square += share**2 * spread / n
    return math.sqrt(square)


def test_the_error_of_a_mean_is_that_of_two_samples():
    p, q = FORECASTS.values()
    losses = [(p - y) ** 2 for y in (1, 0)]
    found = pr.estimate(pr.at_prevalence(pr.condense(Y, p), RATE))
    assert found.error == pytest.approx(error(losses), rel=1e-9)
    plain = pr.estimate(pr.at_prevalence(pr.condense(Y, p), RATE), method="student")
    assert found.low <= plain.low < plain.high <= found.high
    gains = [(p - y) ** 2 - (q - y) ** 2 for y in (1, 0)]
    compared = pr.compare(pr.at_prevalence(pr.condense(Y, FORECASTS), RATE))
    assert compared.differences.error[0] == pytest.approx(error(gains), rel=1e-9)


def test_the_rate_of_the_sample_gives_the_value_of_the_sample():
    p = FORECASTS["a"]
    measures = (pr.Brier(), pr.measures.Regret(0.1), pr.measures.AreaUnderRoc(), pr.measures.ObservedExpected())
    for measure in measures:
        fixed = pr.estimate(pr.at_prevalence(pr.condense(Y, p), float(np.mean(Y))), measure=measure)
        assert fixed.value == pytest.approx(pr.estimate(Y, p, measure).value, rel=1e-9)
        assert fixed.low < fixed.value < fixed.high


def test_forecasts_of_0_and_1_and_separated_outcomes_have_errors():
    y, p = np.repeat([1, 0], 60), np.r_[np.linspace(0.2, 1.0, 60), np.linspace(0.0, 0.7, 60)]
    assert pr.estimate(pr.at_prevalence(pr.condense(y, p), RATE)).error > 0.0
    apart = np.r_[np.linspace(0.6, 0.9, 60), np.linspace(0.1, 0.4, 60)]
    found = pr.estimate(pr.at_prevalence(pr.condense(y, apart), RATE))
    loss = (apart - y) ** 2
    samples = sum(share**2 * loss[y == of].var(ddof=1) / 60 for of, share in ((1, RATE), (0, 1 - RATE)))
    assert found.error == pytest.approx(math.sqrt(samples))


@pytest.mark.parametrize("measure", SMOOTH, ids=lambda one: one.key)
def test_the_error_of_a_smooth_measure_is_that_of_draws_by_outcome(measure):
    rng, p = np.random.default_rng(1), FORECASTS["a"]
    sides = [p[Y], p[~Y]]
    values = []
    for _ in range(200):
        drawn = [rng.choice(side, len(side)) for side in sides]
        y = np.repeat([1, 0], [len(side) for side in drawn])
        table = pr.at_prevalence(pr.condense(y, np.concatenate(drawn)), RATE).table()
        values.append(measure.value(table))
    found = pr.estimate(pr.at_prevalence(pr.condense(Y, p), RATE), measure=measure)
    assert found.error == pytest.approx(np.std(values), rel=0.2)


@pytest.mark.parametrize("kind", ["tables", "lazy", "stored"])
def test_every_ledger_gives_the_same(kind, tmp_path):
    frame = pl.DataFrame({"y": Y.astype(int), **FORECASTS})
    expected = pr.at_prevalence(pr.condense(Y, FORECASTS), RATE)
    if kind == "tables":
        ledger = pr.Ledger.of_tables({"a": pr.condense(Y, FORECASTS["a"]).table()})
    elif kind == "lazy":
        ledger = pr.condense(frame.lazy(), ["a", "b"], outcome="y")
    else:
        pr.condense(frame, ["a", "b"], outcome="y", rules=[pr.Brier()]).to_parquet(tmp_path)
        ledger = pr.Ledger.from_parquet(tmp_path)
    found = pr.at_prevalence(ledger, RATE)
    assert (found.is_weighted, found.prevalence, found.dropped) == (True, RATE, 0)
    for measure in (pr.Brier(), *SMOOTH):
        one, other = pr.estimate(found, "a", measure), pr.estimate(expected, "a", measure)
        assert (one.value, one.error, one.high) == pytest.approx((other.value, other.error, other.high))
    if kind == "stored":
        assert "without the cases: intervals may be too narrow" in notes_of(pr.compare(found).differences[0])
    if kind == "lazy":
        assert pr.compare(found).differences.p == pytest.approx(pr.compare(expected).differences.p)


def test_a_weighted_ledger_is_weighted_after_it_was_stored_or_added(tmp_path):
    plain = pr.condense(Y, FORECASTS)
    found = pr.at_prevalence(plain, RATE)
    law = "a ledger weighted by at_prevalence cannot be {0}: .* Hint: call at_prevalence after it was {0}"
    with pytest.raises(InputValueError, match=law.format("stored")):
        found.to_parquet(tmp_path)
    assert not list(tmp_path.iterdir())
    for one, other in ((found, found), (plain, found)):
        with pytest.raises(InputValueError, match=law.format("added")):
            pr.Ledger.merge([one, other])
    assert pr.at_prevalence(plain + plain, RATE).n == 2 * plain.n


def test_calibration_is_tested_without_the_note_on_weights():
    test, ratio, _, _ = pr.check_calibration(pr.at_prevalence(pr.condense(Y, FORECASTS["a"]), RATE))
    assert test.note("fixed-numbers") is None
    assert "by outcome" in ratio.method


@pytest.mark.slow
def test_evaluate_and_slices_read_it():
    site = np.where(X > 0, "x", "z")
    ledger = pr.at_prevalence(pr.condense(Y, FORECASTS, by={"site": site}), RATE)
    assert pr.evaluate(ledger, seed=1).scores.columns()
    assert ledger.where(site="x").prevalence is None
    assert ledger.over("site").prevalence == RATE


def test_what_is_not_one_event_is_rejected():
    with pytest.raises(InputTypeError, match="condense"):
        pr.at_prevalence(Y, 0.1)
    with pytest.raises(InputValueError, match="3 classes"):
        pr.at_prevalence(pr.condense([0, 1, 2], np.full((3, 3), 1 / 3)), 0.1)
    with pytest.raises(InputValueError, match="holds no events"):
        pr.at_prevalence(pr.condense([0, 0], [0.1, 0.2]), 0.1)
    with pytest.raises(InputValueError, match="prevalence must lie strictly between 0 and 1"):
        pr.at_prevalence(pr.condense(Y, FORECASTS), 1.0)


def test_weights_of_an_engine_are_multiplied():
    frame = pl.LazyFrame({"y": Y.astype(int), "a": FORECASTS["a"], "w": 1.0 + (X > 0)})
    found = pr.at_prevalence(pr.condense(frame, ["a"], outcome="y", sample_weight="w"), RATE)
    expected = pr.at_prevalence(pr.condense(Y, {"a": FORECASTS["a"]}, sample_weight=1.0 + (X > 0)), RATE)
    one, other = (pr.estimate(ledger, "a") for ledger in (found, expected))
    assert (one.value, one.error) == pytest.approx((other.value, other.error), rel=1e-12)
