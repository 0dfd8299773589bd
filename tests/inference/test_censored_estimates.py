"""Measures of censored outcomes and their errors: against riskRegression, and against definitions by brute force."""

import math

import numpy as np
import pytest
from sliced import slices

import propriety as pr
from propriety.calibration.calibration_test import null_scores
from propriety.errors import InputValueError
from propriety.inference.censored_calibration import censored_scores, squared_weights
from propriety.measures import AreaUnderRoc, CalibrationSlope, NetBenefit, ObservedExpected, Skill
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.validation import read_cases

HORIZON = 0.85
# Of riskRegression 2022.11.28: Score(list(a=p, b=q), Hist(time, status) ~ 1, times=.85, metrics=c("brier", "auc"),
# se.fit=TRUE, cens.model="km") for the cases of `follow_up`, made in R by the same arithmetic: Brier scores of a and b,
# their difference, the same for the AUC, and the standard errors of all.
PLAIN = {
    "brier": [0.22083103580318880, 0.25880491014164425, -0.037973874338455449],
    "auc": [0.69758570271576492, 0.68012259412283516, 0.017463108592929766],
    "brier_error": [0.017968042831957340, 0.014733412057497456, 0.014647746036877317],
    "auc_error": [0.057227046950701285, 0.058256874575464461, 0.032182915373131393],
}
TIES = {
    "brier": [0.21566190054182668, 0.26288666679305089, -0.047224766251224209],
    "auc": [0.71325842017958607, 0.68242359085940973, 0.030834829320176338],
}


def follow_up(*, ties=False, n=120):
    """Return times, how they ended (0 censored, 1 event, 2 competing event) and two forecasts, by plain arithmetic."""
    i = np.arange(1, n + 1)
    u, v, w = ((i * step) % 1.0 for step in (0.6180339887498949, 0.7548776662466927, 0.5698402909980532))
    x = 2.0 * u - 1.0
    of_event, of_censoring = -np.log(1.0 - v) / np.exp(x), -1.5 * np.log(1.0 - w)
    time = np.minimum(of_event, of_censoring)
    time = np.ceil(time * 10.0) / 10.0 if ties else time
    status = np.where(of_event <= of_censoring, np.where(i % 4 == 0, 2, 1), 0)
    p = 1.0 - np.exp(-0.6 * np.exp(x))
    return time, status, p, 1.0 - np.exp(-0.7 * np.exp(0.4 * x + 0.5 * ((i * 0.3) % 1.0)))


def outcome_of(time, status, **options):
    return pr.censored(time, status == 1, horizons=HORIZON, competing=status == 2, **options)


def influence(time, status, z, *, risk_after=True, groups=None):
    """Return the influence of each case on a sum of weighted contributions, including that on the weights."""
    groups = np.zeros(len(time)) if groups is None else groups
    kappa = np.zeros(len(time))
    for group in np.unique(groups):
        own = groups == group
        for u in np.unique(time[own & (status == 0) & (time < HORIZON)]):
            leaves = own & (time == u) & (status == 0)
            at_risk = leaves | (own & (time > u))
            c, r = np.count_nonzero(leaves), np.count_nonzero(at_risk)
            step = z[own & (time > u)].sum() / (r - c if risk_after else r)
            kappa += leaves * step - at_risk * step * c / r
    return z - z.mean() + kappa


def contributions(outcome, p):
    """Return the weighted contributions of all cases to the Brier score and to the AUC."""
    y, weight = outcome.only()[:2]
    area = float(pr.roc_curve(outcome, p).auc)
    ahead = np.where(p[:, None] > p, 1.0, np.where(p[:, None] == p, 0.5, 0.0))
    events, others = weight * y, weight * ~y
    below, above = ahead @ others / others.sum(), 1.0 - ahead @ events / events.sum()
    n = len(p)
    auc = events * (below - area) * n / events.sum() + others * (above - area) * n / others.sum()
    return {"brier": weight * (y - p) ** 2, "auc": auc}


@pytest.mark.parametrize(("ties", "known"), [(False, PLAIN), (True, TIES)], ids=["without ties", "with ties"])
def test_values_are_those_of_risk_regression(ties, known):
    time, status, p, q = follow_up(ties=ties)
    outcome = outcome_of(time, status)
    for key, measure in (("brier", pr.Brier()), ("auc", AreaUnderRoc())):
        one, other = pr.estimate(outcome, p, measure).value, pr.estimate(outcome, q, measure).value
        assert [one, other, one - other] == pytest.approx(known[key], abs=1e-12)
        assert pr.compare(outcome, {"a": p, "b": q}, measure).differences.value[0] == pytest.approx(
            known[key][2], abs=1e-12
        )


def test_errors_are_those_of_risk_regression():
    """It divides by the cases at risk where the derivative of Kaplan and Meier's curve has those that stay."""
    time, status, p, q = follow_up()
    outcome, n = outcome_of(time, status), len(time)
    of_p, of_q = contributions(outcome, p), contributions(outcome, q)
    for key, measure in (("brier", pr.Brier()), ("auc", AreaUnderRoc())):
        sums = (of_p[key], of_q[key], of_p[key] - of_q[key])
        theirs, own = (
            [np.std(influence(time, status, z, risk_after=after), ddof=1) / math.sqrt(n) for z in sums]
            for after in (False, True)
        )
        assert theirs == pytest.approx(PLAIN[f"{key}_error"], rel=1e-9)
        estimates = [pr.estimate(outcome, one, measure).error for one in (p, q)]
        difference = pr.compare(outcome, {"a": p, "b": q}, measure).differences.error[0]
        assert [*estimates, difference] == pytest.approx(own, rel=1e-10)
        assert own == pytest.approx(theirs, rel=5e-4)


@pytest.mark.parametrize("ties", [False, True])
def test_errors_with_groups_are_those_of_the_definition(ties):
    time, status, p, _ = follow_up(ties=ties)
    groups = np.arange(len(time)) % 2
    outcome = outcome_of(time, status, groups=groups)
    for key, measure in (("brier", pr.Brier()), ("auc", AreaUnderRoc())):
        phi = influence(time, status, contributions(outcome, p)[key], groups=groups)
        expected = np.std(phi, ddof=1) / math.sqrt(len(time))
        assert pr.estimate(outcome, p, measure).error == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("measure", [Skill(), ObservedExpected(), NetBenefit(0.3), pr.Log(), AreaUnderRoc()])
def test_errors_are_those_of_leaving_cases_out(measure):
    """The jackknife estimates all weights again, and has the same error in large samples."""
    time, status, p, _ = follow_up(n=600)
    keep = ~np.eye(30, dtype=bool)
    block = np.arange(600) % 30  # Blocks of 20 cases.
    values = [
        pr.estimate(outcome_of(time[own], status[own]), p[own], measure).value for own in (row[block] for row in keep)
    ]
    jackknife = math.sqrt(29 / 30 * np.sum((np.array(values) - np.mean(values)) ** 2))
    found = pr.estimate(outcome_of(time, status), p, measure)
    assert found.error == pytest.approx(jackknife, rel=0.35)
    assert found.low < found.value < found.high
    assert "estimated censoring weights" in found.method


def test_decision_curves_are_those_of_vickers():
    """Net benefit of acting at a threshold, with event rates by Kaplan and Meier among those acted on."""
    time, status, p, _ = follow_up()
    event = status == 1
    outcome = pr.censored(time, event, horizons=HORIZON)
    curve = pr.decision_curve(outcome, p, thresholds=(0.2, 0.6))
    for threshold in (0.25, 0.4, 0.55):
        acted = p >= threshold
        survival = 1.0
        for u in np.unique(time[acted & event & (time <= HORIZON)]):
            survival *= 1.0 - np.count_nonzero(acted & event & (time == u)) / np.count_nonzero(acted & (time >= u))
        share, odds = acted.mean(), threshold / (1.0 - threshold)
        expected = (1.0 - survival) * share - survival * share * odds
        own = pr.censored(time, event, horizons=HORIZON, groups=acted)
        found = pr.estimate(own, p, NetBenefit(threshold)).value
        assert found == pytest.approx(expected, abs=1e-12)
        nearest = int(np.argmin(np.abs(curve.threshold - threshold)))
        assert curve.value[nearest] == pytest.approx(expected, abs=0.05)


def test_recalibration_and_decomposition_use_the_weights():
    time, status, p, q = follow_up(n=400)
    outcome = outcome_of(time, status)
    parts = pr.decompose(outcome, p)
    assert parts.score == pytest.approx(pr.brier_score(outcome, p), abs=1e-12)
    assert parts.uncertainty == pytest.approx(outcome.event_probability[0] * (1.0 - outcome.event_probability[0]))
    curve = pr.reliability_curve(outcome, p)
    assert curve.weight.sum() == pytest.approx(400.0)
    assert pr.ranking_map(outcome, {"a": p, "b": q}).n == 400 - outcome.censored[0]
    assert "taken as known" in pr.estimate(outcome, p, pr.measures.Miscalibration()).method
    assert "taken as known" in pr.estimate(outcome, p, lambda table: table.event_rate, seed=1).method


def test_scores_of_a_group_keep_the_curves_of_all():
    time, status, p, _ = follow_up(n=400)
    group = np.where(np.arange(400) % 2, "b", "a")
    outcome = outcome_of(time, status)
    found = slices(outcome, p, by=group)
    own = group == "a"
    y, weight = outcome.only()[:2]
    expected = np.average((y[own] - p[own]) ** 2, weights=weight[own])
    assert found.value.tolist()[0] == pytest.approx(expected)


@pytest.mark.simulation
def test_the_calibration_test_allows_for_estimated_weights():
    """Under calibration its sums have variance 1; estimating the weights makes them less variable."""
    statistics, known = [], []
    rng = np.random.default_rng(5)
    for _ in range(300):
        x = rng.normal(size=400)
        of_event, of_censoring = rng.exponential(np.exp(-x)), rng.exponential(1.2, 400)
        time, event = np.minimum(of_event, of_censoring), of_event <= of_censoring
        cases = read_cases(pr.censored(time, event, horizons=1.0), 1.0 - np.exp(-np.exp(x)))
        table = ForecastTable.from_cases(cases)
        statistics.append(np.sum(censored_scores(cases, cases.censoring, table).sums[:2] ** 2))
        spread = squared_weights(cases, cases.censoring, table).variance(table.forecast)
        known.append(np.sum(null_scores(table, spread).sums[:2] ** 2))
    assert np.mean(statistics) == pytest.approx(2.0, abs=0.35)
    assert np.mean(np.array(statistics) >= known) > 0.9


def test_the_slope_of_calibrated_forecasts_is_one():
    time, status, p, _ = follow_up(n=4000)
    outcome = pr.censored(time, status > 0, horizons=HORIZON)
    forecast = 1.0 - (1.0 - p) ** (HORIZON / 0.6)
    found = pr.estimate(outcome, forecast, CalibrationSlope())
    assert found.low < 1.0 < found.high
    assert found.error < 0.15


def test_scores_without_ties_are_those_of_scikit_survival():
    """Of scikit-survival 0.28.0: brier_score, cumulative_dynamic_auc and integrated_brier_score of the same cases."""
    time, status, p, _ = follow_up()
    horizons = [0.3, 0.6, HORIZON]
    outcomes = pr.censored(time, status > 0, horizons=horizons)
    forecasts = np.stack([1.0 - (1.0 - p) ** (horizon / HORIZON) for horizon in horizons], axis=1)
    last = outcomes.at(HORIZON)
    assert pr.brier_score(last, p) == pytest.approx(0.20310399218283512, abs=1e-12)
    assert pr.roc_curve(last, p).auc == pytest.approx(0.7729741949050422, abs=1e-12)
    integrated = pr.horizon_curve(outcomes, forecasts).where(statistic="mean over horizons").value[0]
    assert integrated == pytest.approx(0.20550791747288533, abs=1e-12)


def test_another_prevalence_is_rejected():
    time, status, p, _ = follow_up()
    with pytest.raises(InputValueError, match="weighted for censoring"):
        pr.at_prevalence(pr.condense(outcome_of(time, status), p), 0.1)
