"""The sizes of errors of calibration: against independent computations, under laws, and where there is no answer."""

import math

import numpy as np
import pytest
from checked import checked
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit

import propriety as pr
from propriety import estimate
from propriety.calibration import logistic
from propriety.calibration.logistic import LogisticFit
from propriety.inference.finding_words import caveats
from propriety.measures import CalibrationIntercept, CalibrationSlope
from propriety.tables.forecast_table import ForecastTable

Z = 1.959963984540054
SIZES = ("ratio", "slope", "cost")


def summarised(y, p=None, **options):
    return checked(y, p, **({"n_resamples": 50} | options))


def numbers(found, *, limits=False):
    values = []
    for name in ("ratio", "slope"):
        row = getattr(found, name)
        values += [row.value, *((row.low, row.high) if limits else ())]
    return np.array(values)


def intercept(y, p, **options):
    return estimate(y, p, CalibrationIntercept(), **options)


def sample(n, seed=0, intercept=0.0, slope=1.0):
    """Return outcomes whose calibration intercept and slope are the given ones, and their forecasts."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return rng.random(n) < expit(intercept + slope * x), expit(x)


def test_intercept_and_slope_maximise_the_likelihood_and_their_errors_are_at_the_rates_of_the_line():
    y, p = sample(300, intercept=0.5, slope=0.7)
    x = logit(p)
    found = summarised(y, p)

    def loss(beta):
        eta = beta[0] + beta[1] * x
        return np.sum(np.logaddexp(0.0, eta) - y * eta)

    def errors(design, rate):
        return np.sqrt(np.diag(np.linalg.inv((design * (rate * (1.0 - rate))[:, None]).T @ design)))

    beta = minimize(loss, [0.0, 1.0], tol=1e-12).x
    error = errors(np.column_stack([np.ones(300), x]), expit(beta[0] + beta[1] * x))[1]
    assert found.slope.value == pytest.approx(beta[1], abs=1e-5)
    assert (found.slope.low, found.slope.high) == pytest.approx((beta[1] - Z * error, beta[1] + Z * error), rel=1e-4)

    (alpha,) = minimize(lambda a: loss([a[0], 1.0]), [0.0], tol=1e-12).x
    rate, line = expit(alpha + x), expit(beta[0] + beta[1] * x)
    # The slope is not 1, so that residuals from a line of slope 1 have more than the variance of its rates.
    error = math.sqrt((line * (1.0 - line) + (line - rate) ** 2).sum()) / (rate * (1.0 - rate)).sum()
    assert error > 1.01 * errors(np.ones((300, 1)), rate)[0]
    own = intercept(y, p)
    assert own.value == pytest.approx(alpha, abs=1e-5)
    limits = (alpha - Z * error, alpha + Z * error)
    assert (own.low, own.high) == pytest.approx(limits, rel=1e-4)


def test_the_interval_of_the_intercept_holds_whatever_the_slope():
    """At a slope of 0.3, with errors at the rates of slope 1, it would be 88%."""
    rng, covered = np.random.default_rng(1), 0
    x = rng.normal(-1.0, 1.5, 200_000)
    truth = brentq(lambda a: (expit(0.3 * x) - expit(a + x)).mean(), -5.0, 5.0)
    for _ in range(200):
        own = rng.normal(-1.0, 1.5, 300)
        found = estimate(rng.random(300) < expit(0.3 * own), expit(own), CalibrationIntercept())
        covered += found.low <= truth <= found.high
    assert covered >= 183


def test_the_error_of_the_intercept_with_separated_outcomes_is_that_of_its_influence():
    p, y = np.repeat([0.05, 0.95], 100), np.arange(200) < 100
    found = estimate(y, p, CalibrationIntercept())
    influence = (y - p) / (200 * 0.05 * 0.95)
    assert found.error == pytest.approx(np.sqrt((influence**2).sum()), rel=1e-6)
    equal = estimate(np.arange(200) < 60, np.full(200, 0.3), CalibrationIntercept())
    assert equal.error == pytest.approx(1.0 / math.sqrt(200 * 0.3 * 0.7), rel=1e-6)


def test_calibrated_forecasts_are_near_the_truth():
    found = summarised(*sample(200_000))
    assert found.slope.value == pytest.approx(1.0, abs=0.02)
    assert intercept(*sample(200_000)).value == pytest.approx(0.0, abs=0.02)
    assert found.ratio.value == pytest.approx(1.0, abs=0.02)
    assert found.cost.high < 1e-4


@pytest.mark.simulation
@pytest.mark.parametrize(("level", "slope"), [(0.0, 1.0), (0.4, 1.0), (-0.2, 0.6)])
def test_intervals_cover_the_truth_as_often_as_they_say(level, slope):
    samples = [sample(400, seed, level, slope) for seed in range(200)]
    draws = [estimate(*own, CalibrationSlope(), level=0.8) for own in samples]
    assert 0.7 < np.mean([draw.low <= slope <= draw.high for draw in draws]) < 0.9
    if slope == 1.0:
        draws = [intercept(*own, level=0.8) for own in samples]
        assert 0.7 < np.mean([draw.low <= level <= draw.high for draw in draws]) < 0.9


cases = st.lists(st.tuples(st.booleans(), st.floats(-4.0, 4.0)), min_size=6, max_size=40)


@pytest.mark.slow
@given(sample=cases, factor=st.floats(0.2, 5.0))
def test_logits_times_a_factor_divide_the_slope_by_it(sample, factor):
    y, x = (np.array(column) for column in zip(*sample, strict=True))
    slope = summarised(y, expit(x)).slope.value
    # Nearly separated and nearly constant forecasts are determined by the last digits of their log-odds.
    assume(0.01 < abs(slope) < 10 and np.ptp(x) > 0.1)
    stretched = summarised(y, expit(factor * x)).slope.value
    assume(math.isfinite(stretched))
    assert stretched == pytest.approx(slope / factor, rel=1e-6)


@pytest.mark.slow
@given(sample=cases, shift=st.floats(-3.0, 3.0))
def test_shifted_logits_shift_the_intercept(sample, shift):
    y, x = (np.array(column) for column in zip(*sample, strict=True))
    assume(1 < y.sum() < len(y) - 1)
    found, moved = (intercept(y, expit(x + c)) for c in (0.0, shift))
    assert moved.value == pytest.approx(found.value - shift, abs=1e-8)
    assert moved.high == pytest.approx(found.high - shift, abs=1e-8)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_weights_mean_repetition_for_the_values(seed):
    rng = np.random.default_rng(seed)
    p, weight = np.round(rng.uniform(0.1, 0.9, 40), 1), rng.integers(1, 4, 40)
    y = rng.random(40) < 0.5
    found = summarised(y, p, sample_weight=weight)
    repeated = summarised(np.repeat(y, weight), np.repeat(p, weight))
    np.testing.assert_allclose(numbers(found), numbers(repeated), atol=1e-8)


def test_equal_weights_change_nothing():
    y, p = sample(100)
    found, weighted = summarised(y, p), summarised(y, p, sample_weight=np.full(100, 2.5))
    np.testing.assert_allclose(numbers(weighted, limits=True), numbers(found, limits=True), atol=1e-9)
    assert weighted.verdict == found.verdict


def test_the_table_four_times_over_has_half_the_errors():
    y, p = sample(100)
    table = ForecastTable.from_predictions(y, p, sample_weight=np.tile([1.0, 3.0], 50))
    weighted, fourfold = (pr.Ledger.of_tables({"p": one}) for one in (table, ForecastTable.merge([table] * 4)))
    for measure in (CalibrationIntercept(), CalibrationSlope()):
        once, more = (one.high - one.value for one in (estimate(own, None, measure) for own in (weighted, fourfold)))
        assert more == pytest.approx(once / 2, rel=0.01)


def test_clusters_of_copies_widen_all_intervals():
    y, p = sample(200)
    alone = summarised(y, p)
    copies = summarised(np.repeat(y, 5), np.repeat(p, 5), cluster=np.repeat(np.arange(200), 5))
    naive = summarised(np.repeat(y, 5), np.repeat(p, 5))
    for name in ("ratio", "slope"):
        limits, own = (getattr(one, name) for one in (copies, alone))
        assert limits.value == pytest.approx(own.value, rel=1e-9)
        assert limits.high - limits.low == pytest.approx(own.high - own.low, rel=0.05)
    assert copies.p > naive.p
    # Copies taken for cases of their own look like fine shapes of the curve.
    assert copies.cost.high == pytest.approx(alone.cost.high, rel=0.1)
    assert naive.cost.value > copies.cost.value


LOG_ODDS = "forecasts of exactly 0 or 1"


@pytest.mark.parametrize(
    ("y", "p", "unknown"),
    [
        ([0, 0], [0.2, 0.5], {"slope": "with and without the event"}),
        ([1, 1], [0.2, 0.5], {"slope": "with and without the event"}),
        ([0, 1], [0.0, 0.0], {"ratio": "", "slope": LOG_ODDS}),
        ([0, 1, 1], [0.4, 0.4, 0.4], {"slope": "all are equal"}),
        ([0, 0, 1], [0.1, 0.2, 0.3], {"slope": "separate"}),
        ([1, 1, 0], [0.1, 0.2, 0.3], {"slope": "separate"}),
        ([0, 1, 0, 1], [0.1, 0.2, 0.2, 0.3], {"slope": "separate"}),
        ([0, 1, 0], [0.3, 0.3 + 1e-15, 0.3 + 2e-15], {"slope": ""}),
    ],
)
def test_what_the_data_do_not_determine_is_nan_with_the_reason(y, p, unknown):
    found = summarised(y, p)
    for name in ("ratio", "slope"):
        row = getattr(found, name)
        assert math.isnan(row.value) == (name in unknown)
        if name in unknown:
            assert math.isnan(row.low)
            assert math.isnan(row.high)
            assert unknown[name] in caveats(row)
            assert row.verdict == "not tested"
    assert math.isfinite(found.p)
    assert "nan" not in f"{found.words} {found.found}"


def test_certain_forecasts_leave_intercept_and_slope_of_the_others():
    y, p = sample(500)
    for options in ({}, {"sample_weight": np.linspace(1, 2, 502)}, {"cluster": np.arange(502) // 2}):
        inside = {name: column[:500] for name, column in options.items()}
        whole = summarised(np.append(y, [0, 1]), np.append(p, [0.0, 1.0]), **options)
        alone = summarised(y, p, **inside)
        assert (whole.slope.value, whole.slope.high) == pytest.approx((alone.slope.value, alone.slope.high))
        what = "weight has" if "sample_weight" in options else "cases have"
        assert f"of the {what} a forecast of exactly 0 or 1" in whole.note


def test_weights_that_are_those_of_cases_and_controls_are_noted():
    y, p = sample(200)
    note = summarised(y, p, sample_weight=np.where(y, 1.0, 10.0)).note
    assert "these intervals are too wide; `at_prevalence` gives the right ones" in note
    assert not summarised(y, p, sample_weight=np.linspace(1, 2, 200)).note


def test_a_fit_that_did_not_come_to_rest_is_told(monkeypatch):
    restless = LogisticFit(coefficients=np.zeros(2), covariance=np.eye(2), converged=False)
    monkeypatch.setattr(logistic, "fit_logistic", lambda *data: restless)
    found = summarised(*sample(50))
    assert math.isnan(found.slope.value)
    assert caveats(found.slope) == "the fit of the calibration line did not converge"


def test_a_stored_weighted_ledger_has_the_slope_of_its_cases(tmp_path):
    rng = np.random.default_rng(8)
    p = np.round(rng.beta(1, 3, 800), 2)
    y, weight = rng.random(800) < p, rng.lognormal(0, 0.5, 800)
    assert (p == 0.0).any()
    pr.condense(y, {"m": p}, sample_weight=weight).to_parquet(tmp_path / "l")
    stored, whole = summarised(pr.Ledger.from_parquet(tmp_path / "l")), summarised(y, p, sample_weight=weight)
    one, other = stored.slope, whole.slope
    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), rel=1e-3)


@pytest.mark.simulation
def test_the_slope_is_held_as_often_as_its_level_says_with_weights():
    rng = np.random.default_rng(12)
    held = []
    for _ in range(400):
        p = rng.beta(1, 3, 500)
        found = estimate(rng.random(500) < p, p, CalibrationSlope(), sample_weight=rng.lognormal(0, 1, 500))
        held.append(found.low <= 1.0 <= found.high)
    assert np.mean(held) >= 0.94  # By the squared residuals it was 92%.


@pytest.mark.parametrize("shared", [{}, {"cluster": np.arange(400) % 40}], ids=["independent", "clusters"])
@pytest.mark.parametrize("scale", [1e-57, 1e-20, 1e20, 1e57])
def test_the_scale_of_weights_does_not_matter(scale, shared):
    rng = np.random.default_rng(4)
    p = rng.beta(1, 3, 400)
    y, weight = rng.random(400) < p, rng.gamma(2.0, size=400)
    found, same = (summarised(y, p, sample_weight=by * weight, **shared) for by in (1.0, scale))
    assert same.row.extra["p_shape"] == pytest.approx(found.row.extra["p_shape"])
    for name in SIZES:
        one, other = getattr(found, name), getattr(same, name)
        assert (other.low, other.value, other.high) == pytest.approx((one.low, one.value, one.high))
    area, scaled = (
        pr.estimate(y, p, pr.measures.AreaUnderRoc(), sample_weight=by * weight, **shared) for by in (1.0, scale)
    )
    assert (scaled.low, scaled.high) == pytest.approx((area.low, area.high))


def test_one_dominating_cluster_is_too_little_to_tell():
    rng = np.random.default_rng(9)
    cluster = np.repeat(np.arange(12), [1000] + [30] * 11)
    x = rng.normal(size=len(cluster)) * 1.2 - 1.0
    y, p = (rng.random(len(cluster)) < expit(x)).astype(int), expit(x + 1.0)
    found = summarised(y, p, cluster=cluster)
    assert (found.verdict, found.row.note("scarce").parts["what"]) == ("too few", "clusters")
    assert summarised(y, p, cluster=np.arange(len(y)) % 12).verdict == "bad"
    rows = np.column_stack([0.5 * (1 - p), 0.5 * (1 - p), p])
    classes = np.where(y == 1, 2, rng.integers(0, 2, len(y)))
    assert summarised(pr.cases(classes, rows, cluster=cluster)).verdict == "too few"


def test_a_slope_that_one_case_determines_is_tested_by_draws():
    rng = np.random.default_rng(71)
    p = np.append(np.full(300, 0.5), 0.13)
    wrong = 0
    for seed in range(60):
        found = summarised((rng.random(301) < p).astype(int), p, seed=seed, n_resamples=400)
        assert "draws of outcomes" in found.row.method
        wrong += found.p <= 0.05
    assert wrong <= 8
    weight = rng.random(301) + 0.5
    weighted = summarised((rng.random(301) < p).astype(int), p, sample_weight=weight)
    assert "few cases determine the slope: the test may reject too often" in weighted.note
    spread = summarised((rng.random(301) < p).astype(int), rng.uniform(0.1, 0.9, 301))
    assert spread.row.note("few-decide") is None
