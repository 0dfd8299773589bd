"""Errors of measures and of their differences, compared with sums over cases: moments, influence, draws and limits."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from brute_clusters import brute_errors
from scipy import stats

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference import paired_tests
from propriety.inference.bootstrap import Drawing, draw_from_cases, in_canonical_order, values_of_draws
from propriety.inference.censored_calibration import squared_weights
from propriety.inference.cluster_errors import ClusterSums, cluster_errors
from propriety.inference.dependence import Estimates, block_bootstrap, hac, student
from propriety.inference.estimates import Estimate, censoring_note, few, make_estimate, units_of, without_limits
from propriety.inference.few_events import errors_of_even_models, limits_of_rare
from propriety.inference.fitted_outcomes import fitted_error, fitted_error_of_pair
from propriety.inference.influence import (
    case_influence,
    error_of_table,
    errors_of_cases,
    errors_of_table,
    estimate_from_influence,
    fitted_error_of,
    fitted_errors,
    influence_in,
    influence_of,
    is_by_outcome,
)
from propriety.inference.mean_estimates import (
    errors_of_means,
    estimate_from_moments,
    measured,
    measured_moments,
    parts_in_time,
    within_range,
)
from propriety.inference.measures import Influence, MeanScore, NetBenefit, Skill
from propriety.inference.paired_tests import (
    _at_least,
    _widened,
    paired_by_bootstrap,
    paired_by_influence,
    paired_by_moments,
    paired_by_value,
)
from propriety.ledger.ledger import Ledger
from propriety.ledger.prevalence import at_prevalence
from propriety.tables.cases import Cases, Keys
from propriety.tables.events import Event

RNG = np.random.default_rng(11)
N = 240
P = np.round(RNG.beta(1.5, 2.0, N), 2) * 0.98 + 0.01
Q = np.clip(P + RNG.normal(0.0, 0.15, N), 0.01, 0.99)
Y = RNG.random(N) < P
WEIGHT = RNG.gamma(2.0, 1.0, N)
UNIT = RNG.integers(0, 30, N)
MODELS = {"p": P, "q": Q}
AUC, RATIO, SLOPE = pr.measures.AreaUnderRoc(), pr.measures.ObservedExpected(), pr.measures.CalibrationSlope()
DRAWING = Drawing(n_resamples=60, seed=3)
BRIER = [(one - Y) ** 2 for one in (P, Q)]
T = float(stats.t.ppf(0.95, N - 1))


def brier_series():
    return [*BRIER, BRIER[0] - BRIER[1]]


def mean_error(x, weight=None):
    w = np.ones(len(x)) if weight is None else weight
    mean = w @ x / w.sum()
    return np.sqrt(len(x) / (len(x) - 1) * (w**2 @ (x - mean) ** 2)) / w.sum()


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_means_of_independent_cases_have_the_error_of_a_mean(weight):
    moments = measured_moments(pr.condense(Y, MODELS, sample_weight=weight), MeanScore())
    found = errors_of_means(moments)
    np.testing.assert_allclose(found.standard_error, [mean_error(x, weight) for x in brier_series()])
    assert found.df.tolist() == [N - 1.0] * 3
    assert found.inflation.tolist() == [1.0] * 3


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_means_of_clusters_and_times_have_errors_of_their_sums(weight):
    w = np.ones(N) if weight is None else weight
    alone = np.array([mean_error(x, weight) for x in brier_series()])
    clusters = errors_of_means(
        measured_moments(pr.condense(Y, MODELS, sample_weight=weight, cluster=UNIT), MeanScore())
    )
    brute = np.array([brute_errors(x, UNIT, weight) for x in brier_series()])
    np.testing.assert_allclose(clusters.standard_error, brute[:, 0])
    np.testing.assert_allclose(clusters.df, brute[:, 1])
    np.testing.assert_allclose(clusters.inflation, np.maximum((brute[:, 0] / alone) ** 2, 1.0))
    moments = measured_moments(pr.condense(Y, MODELS, sample_weight=weight, time=UNIT), MeanScore())
    parts = np.zeros((30, 3))
    for column, x in enumerate(brier_series()):
        for time in range(30):
            here = time == UNIT
            parts[time, column] = w[here] @ (x[here] - w @ x / w.sum()) / w.sum()
    np.testing.assert_allclose(parts_in_time(moments), parts, atol=1e-15)
    for horizon in (None, 3):
        error, df = hac(parts, horizon=horizon)
        times = errors_of_means(moments, horizon)
        np.testing.assert_allclose(times.standard_error, error)
        np.testing.assert_allclose(times.df, df)
        np.testing.assert_allclose(times.inflation, np.maximum((error / alone) ** 2, 1.0))


def test_means_that_never_vary_are_not_inflated():
    y, p = np.arange(40) % 2, np.full(40, 0.5)
    found = errors_of_means(measured_moments(pr.condense(y, p, cluster=np.arange(40) // 4), MeanScore()))
    assert (found.standard_error.tolist(), found.inflation.tolist()) == ([0.0], [1.0])


def test_samples_by_outcome_have_errors_of_welch():
    ledger = at_prevalence(pr.condense(Y, MODELS), 0.1)
    found = errors_of_means(ledger.moments(pr.Brier()), by_outcome=True)
    for column, x in enumerate(brier_series()):
        parts = [share**2 * x[side].var(ddof=1) / side.sum() for share, side in ((0.1, Y), (0.9, ~Y))]
        freedom = [Y.sum() - 1, (~Y).sum() - 1]
        df = sum(parts) ** 2 / sum(part**2 / one for part, one in zip(parts, freedom, strict=True))
        assert found.standard_error[column] == pytest.approx(np.sqrt(sum(parts)))
        assert found.df[column] == pytest.approx(df)
    assert found.inflation.tolist() == [1.0] * 3
    equal = at_prevalence(pr.condense([0, 1, 0, 1, 1], [0.5] * 5), 0.1)
    flat = errors_of_means(equal.moments(pr.Brier()), by_outcome=True)
    assert (flat.standard_error.tolist(), flat.df.tolist()) == ([0.0], [3.0])


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_skill_is_the_mean_of_what_each_case_saves(weight):
    ledger = pr.condense(Y, MODELS, sample_weight=weight)
    w = np.ones(N) if weight is None else weight
    rate = w @ Y / w.sum()
    constant = (rate - Y) ** 2
    against = w @ constant / w.sum()
    saved = []
    for loss in BRIER:
        ratio = w @ loss / w.sum() / against
        saved.append(1.0 - ratio - (loss - ratio * constant) / against)
    moments = measured(ledger.moments(pr.Brier()), Skill(), None)
    series = [*saved, saved[0] - saved[1]]
    np.testing.assert_allclose(moments.means, [w @ x / w.sum() for x in series], atol=1e-14)
    np.testing.assert_allclose(moments.standard_errors(), [mean_error(x, weight) for x in series])
    plain, scaled = ledger.moments(pr.Brier()).over(), moments.over()
    np.testing.assert_allclose(scaled.even_squares, plain.even_squares / against**2)
    np.testing.assert_allclose(scaled.even_cubes, -plain.even_cubes / against**3)
    events = moments.over("outcome")
    for cell, side in enumerate((~Y, Y)):
        for column, x in enumerate(series):
            mean = w[side] @ x[side] / w[side].sum()
            assert events.mean[cell, column] == pytest.approx(mean)
            assert events.lean[cell, column] == pytest.approx(w[side] ** 2 @ (x[side] - mean), abs=1e-9)
            assert events.spread[cell, column] == pytest.approx(w[side] ** 2 @ (x[side] - mean) ** 2)


def test_skill_of_classes_is_relative_to_their_frequencies():
    rng = np.random.default_rng(12)
    p = rng.dirichlet([1.0, 1.0, 1.0, 1.0], 50)
    y = rng.integers(0, 3, 50)  # The last class never happens.
    moments = pr.condense(y, p, labels=[0, 1, 2, 3], rules=[pr.Brier()]).moments(pr.Brier())
    shares = np.bincount(y, minlength=4) / 50
    scores = [((one - np.eye(4)[y]) ** 2).sum(axis=1).mean() for one in (p, np.tile(shares, (50, 1)))]
    assert measured(moments, Skill(), 4).means[0] == pytest.approx(1.0 - scores[0] / scores[1])


def test_skill_needs_a_reference_with_a_loss():
    moments = pr.condense([1, 1, 1], [0.5, 0.6, 0.7]).moments(pr.Brier())
    with pytest.raises(InputValueError, match="positive, finite loss"):
        measured(moments, Skill(), None)


def test_a_negative_mean_turns_its_odd_moments():
    benefit = NetBenefit(0.3)
    moments = pr.condense(Y, MODELS).moments(benefit.rule)
    turned = measured(moments, benefit, None)
    for name, sign in (("mean", -1.0), ("lean", -1.0), ("spread", 1.0), ("even_squares", 1.0), ("even_cubes", -1.0)):
        np.testing.assert_allclose(getattr(turned, name), sign * getattr(moments, name))
    values = [(p >= 0.3) * np.where(Y, 1.0, -3 / 7) for p in (P, Q)]
    np.testing.assert_allclose(turned.means[:2], [one.mean() for one in values])
    assert measured(moments, MeanScore(benefit.rule), None) is moments


def test_moments_of_one_model_come_from_its_exact_table():
    rule = MeanScore(pr.Elementary(0.3))
    ledger, clusters = pr.condense(Y, MODELS), pr.condense(Y, MODELS, cluster=UNIT)
    assert measured_moments(ledger, rule, "q").models == ("q",)
    assert measured_moments(ledger, rule).models == ("p", "q")
    assert measured_moments(clusters, rule, "q").models == ("p", "q")
    kept = pr.condense(Y, MODELS, rules=[rule.rule])
    assert measured_moments(kept, rule, "q").models == ("p", "q")
    coarse = pr.condense(Y, MODELS, cells=8)
    with pytest.raises(InputValueError, match="has no moments of"):
        measured_moments(coarse, rule, "q")  # The table of a grid would not be exact.
    table = Ledger.of_tables({"q": coarse.table("q")})
    assert measured_moments(table, rule, "q").models == ("q",)


@pytest.mark.parametrize(
    ("options", "measure", "method"),
    [
        ({}, MeanScore(), "Student's t"),
        ({}, Skill(), "delta method, Student's t"),
        ({"cluster": UNIT}, MeanScore(), "Student's t, cluster-robust"),
        ({"cluster": UNIT}, Skill(), "delta method, Student's t, cluster-robust"),
        ({"time": UNIT}, MeanScore(), "Student's t, Bartlett weights over 8 times"),
        ({"time": np.zeros(N, dtype=int)}, MeanScore(), "Student's t, Bartlett weights over 1 time"),
        ({}, NetBenefit(0.3), "normal, one event and one non-event added"),
        ({"cluster": UNIT}, NetBenefit(0.3), "Student's t, cluster-robust"),
    ],
)
def test_methods_of_means_are_named(options, measure, method):
    ledger = pr.condense(Y, MODELS, **options)
    assert estimate_from_moments(ledger, "q", measure, 0.9).method == method


def test_an_estimated_mean_has_students_interval():
    found = estimate_from_moments(pr.condense(Y, MODELS), "q", MeanScore(), 0.9)
    error = mean_error(BRIER[1])
    np.testing.assert_allclose(
        (found.value, found.standard_error, found.low, found.high),
        (BRIER[1].mean(), error, BRIER[1].mean() - T * error, BRIER[1].mean() + T * error),
    )
    assert (found.n, found.units, found.level, found.note) == (N, N, 0.9, "")
    wider = estimate_from_moments(pr.condense(Y, MODELS), "q", MeanScore(), 0.9, least=2.0 * error)
    assert wider.standard_error == pytest.approx(2.0 * error)
    same = estimate_from_moments(pr.condense(Y, MODELS), "q", MeanScore(), 0.9, least=0.5 * error)
    assert same.standard_error == pytest.approx(error)
    fixed = at_prevalence(pr.condense(Y, MODELS), 0.1)
    by_outcome = estimate_from_moments(fixed, "q", MeanScore(), 0.9)
    assert by_outcome.method == "Student's t, by outcome"
    expected = errors_of_means(fixed.moments(pr.Brier()), by_outcome=True)
    assert by_outcome.standard_error == pytest.approx(expected.standard_error[1])
    t = stats.t.ppf(0.95, expected.df[1])
    assert by_outcome.high == pytest.approx(by_outcome.value + t * by_outcome.standard_error)


def test_a_single_case_keeps_its_mean_without_an_interval():
    found = estimate_from_moments(pr.condense([1], [0.4]), "forecast", MeanScore(), 0.9, least=0.1)
    assert found.value == pytest.approx(0.36)
    assert math.isnan(found.standard_error)
    assert found.note == "a single case or cluster has no spread"


def test_means_of_rare_events_have_the_limits_of_their_gamma_law():
    y, p = np.arange(300) < 12, np.linspace(0.2, 0.01, 300)
    for options, method in (({}, ""), ({"cluster": np.arange(300) // 3}, ", cluster-robust")):
        ledger = pr.condense(y, p, **options)
        found = estimate_from_moments(ledger, "forecast", MeanScore(), 0.9)
        moments = measured_moments(ledger, MeanScore(), "forecast")
        low, high = limits_of_rare(moments, errors_of_means(moments).inflation, 0.9)
        assert (found.low, found.high) == (pytest.approx(low[0]), pytest.approx(high[0]))
        assert found.method == f"gamma law of rare events{method}"
        assert found.note == ("" if not options else few(ledger, inflation=errors_of_means(moments).inflation[0]))


def estimate(value, low, high):
    facts = {"standard_error": 0.1, "level": 0.95, "method": "", "measure": MeanScore(), "n": 9, "units": 9}
    return Estimate(value=value, low=low, high=high, **facts)


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ((0.5, 0.4, 0.6), (0.4, 0.6)),
        ((0.1, -0.2, 0.6), (0.0, 0.6)),
        ((0.9, 0.4, 1.2), (0.4, 1.0)),
        ((0.5, -3.0, 4.0), (0.0, 1.0)),
        ((1.5, 1.2, 1.8), (1.0, 1.5)),
        ((-0.5, -0.8, -0.2), (-0.5, 0.0)),
        ((0.5, math.nan, math.nan), (math.nan, math.nan)),
    ],
)
def test_limits_are_clipped_to_the_range_of_the_rule_but_hold_the_value(given, limits):
    found = within_range(estimate(*given), MeanScore(), None)
    np.testing.assert_equal((found.low, found.high), limits)
    assert found.value == given[0]


def test_the_range_of_a_rule_may_depend_on_the_number_of_classes():
    assert within_range(estimate(1.0, 0.5, 3.0), MeanScore(), 3).high == 2.0
    assert within_range(estimate(1.0, 0.5, 3.0), MeanScore(), None).high == 1.0


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
@pytest.mark.parametrize("by_outcome", [False, True])
def test_errors_of_a_table_are_sums_of_squared_influence(weight, by_outcome):
    rng = np.random.default_rng(13)
    table = pr.ForecastTable.from_predictions(Y, P, sample_weight=weight)
    given = Influence(rng.normal(size=len(table)), rng.normal(size=len(table)))
    row, w = np.searchsorted(table.forecast, P), np.ones(N) if weight is None else weight
    part = w * np.where(Y, given.event[row], given.non_event[row]) / w.sum()
    sides = (Y, ~Y) if by_outcome else (np.ones(N, dtype=bool),)
    squares = [side.sum() / (side.sum() - 1) * (part[side] ** 2).sum() for side in sides]
    welch = sum(squares) ** 2 / sum(one**2 / (side.sum() - 1) for one, side in zip(squares, sides, strict=True))
    error, df = errors_of_table(table, given, by_outcome=by_outcome)
    assert error == pytest.approx(math.sqrt(sum(squares)))
    assert df == (pytest.approx(welch) if by_outcome else math.inf)
    assert error_of_table(table, given, by_outcome=by_outcome) == error
    huge = Influence(*(1e200 * one for one in given))
    assert error_of_table(table, huge, by_outcome=by_outcome) == pytest.approx(1e200 * error)
    cases = pr.condense(Y, P, sample_weight=weight).cases
    found = errors_of_cases(cases, np.stack([part, 2.0 * part]), by_outcome=by_outcome)
    np.testing.assert_allclose(found.standard_error, [error, 2.0 * error])
    np.testing.assert_allclose(found.df, welch)
    np.testing.assert_allclose(case_influence(cases, "forecast", table, given), part)


def test_a_sample_of_one_case_has_no_error_by_outcome():
    table = pr.ForecastTable.from_predictions([1, 0, 0], [0.5, 0.4, 0.2])
    given = Influence(np.ones(3), np.ones(3))
    assert math.isnan(error_of_table(table, given, by_outcome=True))
    assert error_of_table(table, given) == pytest.approx(math.sqrt(3 / 2 * 3) / 3)
    none = pr.ForecastTable.from_predictions([0, 0, 0], [0.5, 0.4, 0.2])
    assert errors_of_table(none, given, by_outcome=True) == (pytest.approx(math.sqrt(3 / 2 * 3) / 3), 2.0)
    nothing = Influence(np.zeros(3), np.zeros(3))
    more = pr.ForecastTable.from_predictions([1, 0, 0, 1], [0.5, 0.4, 0.2, 0.4])
    assert errors_of_table(more, nothing, by_outcome=True) == (0.0, 2.0)
    tiny = Influence(np.full(3, 1e-14), np.array([3e-14, 0.0, 0.0]))
    assert errors_of_table(more, tiny, by_outcome=True)[1] == 2.0


def test_cases_without_weight_contribute_nothing_even_if_their_influence_is_infinite():
    table = pr.ForecastTable.from_predictions([1, 0], [0.5, 0.2], sample_weight=[3.0, 1.0])
    cases = Cases(
        outcome=np.array([True, False, True]),
        forecasts={"m": np.array([0.5, 0.2, 0.2])},
        weight=np.array([3.0, 1.0, 0.0]),
    )
    given = Influence(np.array([np.inf, 2.0]), np.array([-4.0, 8.0]))
    with np.errstate(invalid="ignore"):
        assert case_influence(cases, "m", table, given).tolist() == [1.5, -1.0, 0.0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["cluster", "time"])
def test_errors_of_correlated_cases_ignore_units_without_weight(kind, weighted):
    rng = np.random.default_rng(14)
    weight = np.where(UNIT == 7, 0.0, WEIGHT) if weighted else None
    w = np.ones(N) if weight is None else weight
    x = rng.normal(size=(2, N)) + UNIT / 20.0
    x -= (x @ w / w.sum())[:, None]
    keys = {kind: Keys(tuple(range(30)), UNIT)}
    cases = Cases(outcome=Y, forecasts={"m": P}, weight=weight, **keys)
    found = errors_of_cases(cases, x * w / w.sum())
    if kind == "cluster":
        brute = np.array([brute_errors(one, UNIT, weight) for one in x])
        error, df = brute.T
    else:
        sums = np.array([[(w * one)[time == UNIT].sum() / w.sum() for time in range(30)] for one in x])
        error, df = hac(sums[:, np.arange(30) != 7].T if weighted else sums.T)
    np.testing.assert_allclose(found.standard_error, error)
    np.testing.assert_allclose(found.df, df)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_influence_of_means_and_skill_is_their_deviation(weight):
    table = pr.ForecastTable.from_predictions(Y, P, sample_weight=weight)
    w = np.ones(N) if weight is None else weight
    p, mean, rate = table.forecast, w @ BRIER[0] / w.sum(), w @ Y / w.sum()
    found = influence_of(MeanScore(), table)
    np.testing.assert_allclose(found.event, (1 - p) ** 2 - mean)
    np.testing.assert_allclose(found.non_event, p**2 - mean)
    against = rate * (1 - rate)
    skill = influence_of(Skill(), table)
    np.testing.assert_allclose(skill.event, -((1 - p) ** 2 - mean / against * (1 - rate) ** 2) / against)
    np.testing.assert_allclose(skill.non_event, -(p**2 - mean / against * rate**2) / against)
    benefit = influence_of(NetBenefit(0.3), table)
    value = w @ ((P >= 0.3) * np.where(Y, 1.0, -3 / 7)) / w.sum()
    act = (p >= 0.3).astype(float)
    np.testing.assert_allclose(benefit.event - benefit.non_event, act - (-3 / 7 * act), atol=1e-12)
    np.testing.assert_allclose(benefit.event, act - value, atol=1e-12)


def test_a_fixed_event_rate_leaves_the_influence_within_outcomes():
    plain, fixed = pr.condense(Y, MODELS), at_prevalence(pr.condense(Y, MODELS), 0.1)
    table = fixed.table("q")
    own, raw = influence_in(fixed, table, MeanScore()), influence_of(MeanScore(), table)
    of_events, of_others = BRIER[1][Y].mean(), BRIER[1][~Y].mean()
    np.testing.assert_allclose(own.event, raw.event + 0.9 * (of_others - of_events))
    np.testing.assert_allclose(table.events @ own.event, 0.0, atol=1e-9)
    np.testing.assert_allclose(table.non_events @ own.non_event, 0.0, atol=1e-9)
    same = influence_in(plain, plain.table("q"), MeanScore())
    np.testing.assert_allclose(same.event, influence_of(MeanScore(), plain.table("q")).event)
    clusters = at_prevalence(pr.condense(Y, MODELS, cluster=UNIT), 0.1)
    assert [is_by_outcome(one, MeanScore()) for one in (plain, fixed, clusters)] == [False, True, False]
    assert [is_by_outcome(one, AUC) for one in (plain, fixed, clusters)] == [True, True, True]
    assert [is_by_outcome(one, RATIO) for one in (plain, fixed)] == [False, True]


def test_errors_at_fitted_rates_are_those_of_tables_and_of_pairs():
    plain, fixed = (
        pr.condense(Y, {**MODELS, "r": 1.0 - P}),
        at_prevalence(pr.condense(Y, {**MODELS, "r": 1.0 - P}), 0.1),
    )
    assert fitted_errors(plain, MeanScore()) is None
    assert fitted_errors(fixed, AUC) is None
    assert math.isnan(fitted_error_of(plain, "q", MeanScore()))
    assert math.isnan(fitted_error_of(fixed, "q", AUC))
    tables = {model: fixed.table(model) for model in fixed.models}
    given = {model: influence_in(fixed, table, RATIO) for model, table in tables.items()}
    found = fitted_errors(fixed, RATIO)
    expected = [fitted_error(tables[model], given[model]) for model in "pqr"]
    for one, other in (("p", "q"), ("p", "r"), ("q", "r")):
        cases = replace(fixed.cases, forecasts={name: fixed.cases.forecasts[name] for name in (one, other)})
        expected.append(fitted_error_of_pair(cases, (tables[one], tables[other]), (given[one], given[other])))
    np.testing.assert_allclose(found, expected)
    assert np.isfinite(found).all()
    assert fitted_error_of(fixed, "q", RATIO) == pytest.approx(expected[1])


def added(forecasts, **options):
    """Return the sum of the ledgers of both halves, which has no cases."""
    halves = [slice(0, N // 2), slice(N // 2, N)]
    first, second = (
        pr.condense(
            Y[half],
            {name: one[half] for name, one in forecasts.items()},
            **{name: values[half] for name, values in options.items()},
        )
        for half in halves
    )
    return first + second


def test_without_cases_the_fitted_errors_of_pairs_are_unknown():
    stored = at_prevalence(added(MODELS), 0.1)
    found = fitted_errors(stored, RATIO)
    assert np.isnan(found).tolist() == [False, False, True]


@dataclass(frozen=True)
class MeanForecast:
    """A measure of one's own with a largest value and a caveat."""

    key: str = "mean_forecast"
    label: str = "mean forecast"
    higher_is_better: bool = False
    largest: float = 0.45
    caveat_text: str = "mind"

    def value(self, table):
        return table.mean_forecast

    def influence(self, table):
        deviation = table.forecast - table.mean_forecast
        return Influence(deviation, deviation)

    def caveat(self, table):
        return f"{self.caveat_text} {table.n}"


FITTED = "variance of outcomes at the fitted rates"


@pytest.mark.parametrize(
    ("measure", "options", "prevalence", "method"),
    [
        (AUC, {}, None, "DeLong, on the logit scale"),
        (AUC, {"cluster": UNIT}, None, "DeLong, on the logit scale, cluster-robust"),
        (AUC, {}, 0.1, "DeLong, on the logit scale, by outcome"),
        (RATIO, {}, None, "influence function, on the log scale"),
        (RATIO, {"time": UNIT}, None, "influence function, on the log scale, over 8 times"),
        (RATIO, {}, 0.1, "influence function, on the log scale, by outcome"),
        (SLOPE, {}, None, FITTED),
        (SLOPE, {"cluster": UNIT}, None, f"{FITTED}, cluster-robust"),
        (MeanForecast(), {}, None, "influence function"),
    ],
)
def test_errors_from_influence_have_their_method_and_size(measure, options, prevalence, method):
    ledger = pr.condense(Y, MODELS, **options)
    ledger = ledger if prevalence is None else at_prevalence(ledger, prevalence)
    found, table = estimate_from_influence(ledger, "q", measure, 0.9), ledger.table("q")
    assert found.method == method
    assert found.value == measure.value(table)
    given = influence_in(ledger, table, measure)
    if options:
        parts = case_influence(ledger.cases, "q", table, given)
        errors = errors_of_cases(ledger.cases, parts[None])
        error, df = float(errors.standard_error[0]), float(errors.df[0])
    else:
        error, df = errors_of_table(table, given, by_outcome=is_by_outcome(ledger, measure))
    if prevalence is not None and measure is not AUC:
        error = max(error, fitted_error(table, given))
    if measure is SLOPE:
        known = SLOPE.error_of_independent(table)
        error = max(error, known) if options else known
    assert found.standard_error == pytest.approx(error)
    assert found.units == (30 if options else N)
    t = stats.norm.ppf(0.95) if math.isinf(df) else stats.t.ppf(0.95, df)
    value, margin = found.value, t * error
    if measure is AUC:
        odds, margin = math.log(value / (1 - value)), margin / value / (1 - value)
        expected = [1 / (1 + math.exp(-one)) for one in (odds - margin, odds + margin)]
    elif measure is RATIO:
        expected = [value * math.exp(-margin / value), value * math.exp(margin / value)]
    else:
        expected = [value - margin, value + margin]
    expected[1] = min(expected[1], getattr(measure, "largest", math.inf))
    np.testing.assert_allclose((found.low, found.high), expected)


def test_a_caveat_of_the_measure_comes_first_and_few_events_do_not_matter():
    y, p = np.arange(60) % 6 == 0, np.linspace(0.2, 0.6, 60)
    plain = pr.condense(y, p)
    assert estimate_from_influence(plain, "forecast", MeanForecast(), 0.9).note == "mind 60"
    assert estimate_from_influence(plain, "forecast", RATIO, 0.9).note == few(plain)
    assert few(plain) == "based on 10 events: the interval may be too narrow"
    assert estimate_from_influence(plain, "forecast", AUC, 0.9).note == ""
    clusters = pr.condense(y, p, cluster=np.arange(60) // 10)
    found = estimate_from_influence(clusters, "forecast", MeanForecast(), 0.9)
    assert found.note == "mind 60; based on 6 clusters: the interval may be too narrow"
    assert estimate_from_influence(clusters, "forecast", AUC, 0.9).note == (
        "based on 10 events and 6 clusters: the interval may be too narrow"
    )
    alone = estimate_from_influence(pr.condense([1], [0.3]), "forecast", MeanForecast(), 0.9)
    assert alone.note == "a single case or cluster has no spread"
    bounded = estimate_from_influence(plain, "forecast", MeanForecast(largest=10.0), 0.9)
    assert bounded.high > bounded.value


def test_separate_outcomes_keep_the_error_of_their_area():
    y, p = np.arange(40) >= 20, np.linspace(0.1, 0.9, 40)
    found = estimate_from_influence(pr.condense(y, p), "forecast", AUC, 0.9)
    assert (found.value, found.note) == (1.0, "events and non-events do not overlap")
    assert math.isnan(found.low)
    assert found.standard_error == 0.0


def test_correlated_cases_that_are_not_available_have_no_interval():
    stored = added({"m": P}, cluster=UNIT)
    found = estimate_from_influence(stored, stored.models[0], RATIO, 0.9)
    assert found.is_without
    assert found.note == f"an interval of this measure needs {stored.where_cases_are}"
    assert found.value == pytest.approx(Y.sum() / P.sum())
    paired = paired_by_influence(stored, RATIO, 0.9)
    assert paired.untested == f"a test of this measure needs {stored.where_cases_are}"
    assert (paired.units, paired.values[0]) == (N, pytest.approx(Y.sum() / P.sum()))
    drawn = paired_by_bootstrap(stored, RATIO, 0.9, DRAWING)
    assert drawn.untested == paired.untested
    assert np.isnan(drawn.found.low).all()
    same = without_limits(stored, RATIO, 0.5, 0.9)
    assert (same.value, same.n, same.level, same.method) == (0.5, N, 0.9, "without an interval")
    assert math.isnan(same.low)
    assert math.isnan(same.high)


def test_units_are_clusters_or_times_with_weight():
    weight = np.where(UNIT == 7, 0.0, 1.0)
    assert units_of(pr.condense(Y, P)) == N
    assert units_of(pr.condense(Y, P, cluster=UNIT)) == 30
    assert units_of(pr.condense(Y, P, cluster=UNIT, sample_weight=weight)) == 29
    assert units_of(pr.condense(Y, P, time=UNIT, sample_weight=weight)) == 29
    assert units_of(pr.condense(Y, P, time=UNIT, sample_weight=weight, rules=[pr.Brier()])) == 29


def test_small_samples_are_described_from_the_ledger():
    y, p = np.arange(90) < 60, np.full(90, 0.5)
    narrow = ": the interval may be too narrow"
    assert few(pr.condense(y, p)) == f"based on 30 non-events{narrow}"
    assert few(pr.condense(y, p), fewest=30) == ""
    assert few(pr.condense(y, p), fewest=30, inflation=1.5, what="it") == (
        "based on 30 non-events (worth 20 independent ones): it may be too narrow"
    )
    weight = np.where(np.arange(90) % 30 == 0, 100.0, 1.0)
    worth = weight.sum() ** 2 / (weight**2).sum()
    weighted = pr.condense(y, p, sample_weight=weight)
    assert few(weighted, fewest=10) == f"based on 90 cases (worth {worth:.0f} of equal weight){narrow}"
    unequal = np.repeat([0, 1, 2, 3], [60, 10, 10, 10])
    equal = 90**2 / (60**2 + 3 * 10**2)
    assert few(pr.condense(y, p, cluster=unequal), fewest=10) == (
        f"based on 4 clusters (worth {equal:.0f} of equal size){narrow}"
    )
    assert few(pr.condense(y, p, time=unequal), fewest=10) == ""
    classes = pr.condense(np.repeat([0, 1, 2], [60, 20, 10]), np.full((90, 3), 1 / 3), rules=[pr.Brier()])
    assert few(classes) == f"based on 30 cases outside the most frequent class{narrow}"
    assert few(classes, fewest=30) == ""
    assert few(classes, inflation=2.0, what="it") == (
        "based on 30 cases outside the most frequent class (worth 15 independent ones): it may be too narrow"
    )
    heavy = pr.condense(np.repeat([0, 1, 2], [60, 20, 10]), np.full((90, 3), 1 / 3), sample_weight=weight)
    assert few(heavy, fewest=31) == (
        f"based on 30 cases outside the most frequent class and 90 cases (worth {worth:.0f} of equal weight){narrow}"
    )
    assert few(heavy, fewest=30, what="it") == (
        f"based on 90 cases (worth {worth:.0f} of equal weight): it may be too narrow"
    )
    unknown = Ledger.of_source(classes.cases, classes.events)
    assert few(unknown) == ""


def test_clusters_without_moments_are_counted_from_their_cases():
    weight = np.where(UNIT == 7, 0.0, 1.0) * WEIGHT
    for kind in ("cluster", "time"):
        whole = pr.condense(Y, P, sample_weight=weight, **{kind: UNIT})
        bare = Ledger.of_source(whole.cases, (Event("event"),))
        assert bare.rules == ()
        assert units_of(bare) == units_of(whole) == 29
        assert few(bare, fewest=10) == few(whole, fewest=10)
    clusters, weight = np.repeat([0, 1, 2], 80), np.repeat([30.0, 1.0, 1.0], 80)
    bare = Ledger.of_source(pr.condense(Y, P, cluster=clusters, sample_weight=weight).cases, (Event("event"),))
    assert few(bare, fewest=10) == "based on 3 clusters (worth 1 of equal size): the interval may be too narrow"


def censored(*, followed=30, groups=False, estimated=True, **dependence):
    found = SimpleNamespace(is_estimated=estimated, has_groups=groups, followed=followed, horizon=5.0)
    found.dependence = dependence
    return SimpleNamespace(censoring=found)


def test_notes_on_censoring_name_the_followed_and_what_it_depends_on():
    assert censoring_note(SimpleNamespace(censoring=None)) == ""
    assert censoring_note(censored(followed=1, estimated=False, m=0.0)) == ""
    assert censoring_note(censored(m=0.5)) == ""
    assert censoring_note(censored()) == ""
    assert censoring_note(censored(followed=29)) == (
        "based on 29 cases followed up until 5: the interval may be too narrow"
    )
    assert censoring_note(censored(followed=1, groups=True), "mind") == (
        "based on 1 case followed up until 5 in one of the groups: mind"
    )
    depends = "censoring depends on the forecasts"
    assert censoring_note(censored(m=0.01)) == (
        f"{depends} (p = 0.01), which may bias the results: pass forecast= to censored"
    )
    assert censoring_note(censored(m=0.006, q=0.5)) == ""
    assert censoring_note(censored(m=0.5, q=0.002, groups=True)) == (
        f"{depends} within groups (p = 0.004), which may bias the results: pass finer groups= or weights= to censored"
    )
    assert censoring_note(censored(followed=2, m=0.0)) == (
        "based on 2 cases followed up until 5: the interval may be too narrow; "
        f"{depends} (p < 0.001), which may bias the results: pass forecast= to censored"
    )


@pytest.mark.parametrize(
    ("value", "error", "options", "units", "note"),
    [
        (math.inf, 0.1, {}, N, "an outcome with a forecast of 0 happened, so the mean is infinite"),
        (0.5, 0.1, {}, 1, "a single case or cluster has no spread"),
        (0.5, 0.1, {"time": UNIT}, 1, "a single time has no spread"),
        (0.5, math.nan, {}, 2, "a single event, non-event or cluster has no spread"),
        (0.5, 0.0, {}, N, "nothing varies in the sample, so there is no interval"),
        (1.0, 1e-12 / 2.0, {}, 4, "nothing varies in the sample, so there is no interval"),
    ],
)
def test_estimates_without_a_spread_have_no_interval_and_say_why(value, error, options, units, note):
    ledger = pr.condense(Y, P, **options)
    found = make_estimate(ledger, MeanScore(), value, error, 9.0, 0.9, "by hand", units=units, raw=0.3)
    assert (found.note, found.value, found.method, found.level) == (note, value, "by hand", 0.9)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.standard_error == 0.0 if note.startswith("nothing") else math.isnan(found.standard_error)
    assert (found.n, found.units, found.raw, found.dropped) == (N, units, 0.3, 0)


def test_an_estimate_with_a_small_spread_has_an_interval():
    ledger = pr.condense([0, 1, 1, np.nan] * 20, [0.3] * 80, missing="drop")
    found = make_estimate(ledger, MeanScore(), 1.0, 1.1e-12 / 2.0, 9.0, 0.9, "by hand", units=4)
    assert found.low < 1.0 < found.high
    assert (found.dropped, found.n) == (20, 60)
    assert found.note == "based on 40 events and 20 non-events: the interval may be too narrow"
    log = make_estimate(ledger, MeanScore(), 2.0, 0.5, math.inf, 0.9, "by hand", units=9, scale="log", fewest=20)
    z = stats.norm.ppf(0.95)
    np.testing.assert_allclose((log.low, log.high), (2.0 * math.exp(-z / 4), 2.0 * math.exp(z / 4)))
    assert log.note == ""
    inflated = make_estimate(ledger, MeanScore(), 2.0, 0.5, 9.0, 0.9, "by hand", units=9, fewest=20, inflation=2.0)
    assert inflated.note == "based on 20 non-events (worth 10 independent ones): the interval may be too narrow"


def assert_students(paired, values, error, df, level=0.9):
    expected = student(np.array(values), np.array(error), np.asarray(df, dtype=float), level)
    np.testing.assert_allclose(paired.values, values)
    for name in ("standard_error", "low", "high", "p_value"):
        np.testing.assert_allclose(getattr(paired.found, name), getattr(expected, name), rtol=1e-6, err_msg=name)


def test_mean_scores_are_compared_by_a_paired_t_test():
    paired = paired_by_moments(pr.condense(Y, MODELS), MeanScore(), "", None, 0.9, DRAWING)
    assert_students(paired, [x.mean() for x in brier_series()], [mean_error(x) for x in brier_series()], N - 1)
    assert paired.found.p_value[2] == pytest.approx(stats.ttest_rel(*BRIER).pvalue)
    assert (paired.units, paired.untested, paired.inflation, paired.fewest) == (N, "", 1.0, 10)
    assert not paired.allowed


@pytest.mark.parametrize("kind", ["cluster", "time"])
def test_mean_scores_of_correlated_cases_are_compared_with_their_errors(kind):
    ledger = pr.condense(Y, MODELS, **{kind: UNIT})
    errors = errors_of_means(measured_moments(ledger, MeanScore()), 2 if kind == "time" else None)
    paired = paired_by_moments(ledger, MeanScore(), "", 2 if kind == "time" else None, 0.9, DRAWING)
    assert_students(paired, [x.mean() for x in brier_series()], errors.standard_error, errors.df)
    assert (paired.units, paired.fewest) == (30, 50)
    assert paired.inflation == pytest.approx(errors.inflation[2])


def test_a_fixed_event_rate_is_compared_by_outcome_with_errors_at_fitted_rates():
    ledger = at_prevalence(pr.condense(Y, MODELS), 0.1)
    for measure, compared in ((MeanScore(), "moments"), (RATIO, "influence")):
        least = fitted_errors(ledger, measure)
        if compared == "moments":
            errors = errors_of_means(ledger.moments(pr.Brier()), by_outcome=True)
            values, error, df = ledger.moments(pr.Brier()).means, errors.standard_error, errors.df
            paired = paired_by_moments(ledger, measure, "", None, 0.9, DRAWING)
        else:
            tables = [ledger.table(model) for model in ledger.models]
            parts = np.stack(
                [
                    case_influence(ledger.cases, model, table, influence_in(ledger, table, measure))
                    for model, table in zip(ledger.models, tables, strict=True)
                ]
            )
            parts = np.vstack([parts, parts[0] - parts[1]])
            error, df = errors_of_cases(ledger.cases, parts, by_outcome=True)
            values = [measure.value(table) for table in tables]
            values = [*values, values[0] - values[1]]
            paired = paired_by_influence(ledger, measure, 0.9)
        assert (least > error).any()
        assert_students(paired, values, np.maximum(error, least), df)
        assert paired.fewest == (10 if compared == "moments" or is_by_outcome(ledger, measure) else 50)


@pytest.mark.parametrize("measure", [AUC, RATIO], ids=["auc", "ratio"])
@pytest.mark.parametrize(
    "options", [{}, {"sample_weight": WEIGHT}, {"cluster": UNIT}], ids=["plain", "weights", "units"]
)
def test_smooth_measures_are_compared_by_influence(measure, options):
    ledger = pr.condense(Y, MODELS, **options)
    tables = [ledger.table(model) for model in "pq"]
    values = [measure.value(table) for table in tables]
    parts = [case_influence(ledger.cases, m, t, measure.influence(t)) for m, t in zip("pq", tables, strict=True)]
    errors = errors_of_cases(ledger.cases, np.stack([*parts, parts[0] - parts[1]]), by_outcome=measure is AUC)
    paired = paired_by_influence(ledger, measure, 0.9)
    assert_students(paired, [*values, values[0] - values[1]], *errors)
    assert (paired.untested, paired.units) == ("", 30 if "cluster" in options else N)
    assert paired.fewest == (10 if measure is AUC and "cluster" not in options else 50)


def test_outcomes_that_are_all_the_same_are_not_tested():
    paired = paired_by_moments(pr.condense(np.ones(9), {"a": P[:9], "b": Q[:9]}), MeanScore(), "", None, 0.9, DRAWING)
    assert paired.untested == "all outcomes are the same"
    assert np.isnan(paired.found.standard_error).all()
    assert np.isnan(paired.found.p_value).all()
    assert paired.values[2] == pytest.approx(np.mean((1 - P[:9]) ** 2 - (1 - Q[:9]) ** 2))
    same = paired_by_moments(pr.condense(np.ones(9), {"a": P[:9], "b": P[:9]}), MeanScore(), "", None, 0.9, DRAWING)
    assert same.found.standard_error[2] == 0.0
    single = paired_by_moments(pr.condense([1], {"a": [0.4], "b": [0.5]}), MeanScore(), "", None, 0.9, DRAWING)
    assert single.untested == ""
    assert single.units == 1


def test_a_single_event_has_no_spread_of_its_own():
    y = np.arange(20) == 3
    paired = paired_by_influence(pr.condense(y, {"a": P[:20], "b": Q[:20]}), AUC, 0.9)
    assert paired.untested == "a single event or non-event has no spread"
    assert paired.units == 20
    assert np.isfinite(paired.values).all()


def test_net_benefit_of_pairs_with_the_same_decisions_has_no_error():
    benefit = NetBenefit(0.3)
    same = {"a": P, "b": np.where(P >= 0.3, 0.9, 0.1), "c": Q}
    paired = paired_by_moments(pr.condense(Y, same), benefit, "", None, 0.9, DRAWING)
    assert paired.found.standard_error[3] == 0.0
    values = [(one >= 0.3) * np.where(Y, 1.0, -3 / 7) for one in same.values()]
    gap = values[1] - values[2]
    # Of the added event and non-event, half favours either model; the error is that of the sum, over the given cases.
    n, total, squares = N + 2, gap.sum(), (gap**2).sum() + 1 + (3 / 7) ** 2
    error = math.sqrt(n * (squares / n - (total / n) ** 2)) / N
    assert paired.found.standard_error[4:] == pytest.approx([error, error])
    assert paired.found.high[5] == pytest.approx(paired.values[5] + T * error)
    alone = estimate_from_moments(pr.condense(Y, same), "c", benefit, 0.9)
    assert (paired.found.low[2], paired.found.high[2]) == (pytest.approx(alone.low), pytest.approx(alone.high))
    assert paired.found.standard_error[2] == pytest.approx(alone.standard_error)


def test_rare_events_widen_the_errors_and_have_limits_of_their_own():
    rng = np.random.default_rng(15)
    y, p = np.arange(300) < 6, rng.uniform(0.005, 0.05, 300)
    ledger = pr.condense(y, {"p": p, "q": 2.0 * p})
    paired = paired_by_moments(ledger, MeanScore(), "", None, 0.9, DRAWING)
    plain = errors_of_means(ledger.moments(pr.Brier()))
    assert paired.allowed
    widened = errors_of_even_models(ledger.moments(pr.Brier()), paired.values, *plain)
    assert paired.found.standard_error[2] == pytest.approx(widened[2])
    assert widened[2] > plain.standard_error[2]
    for place, model in enumerate("pq"):
        alone = estimate_from_moments(ledger, model, MeanScore(), 0.9)
        assert (paired.found.low[place], paired.found.high[place]) == (
            pytest.approx(alone.low),
            pytest.approx(alone.high),
        )
    assert paired.found.low[2] < paired.values[2] < paired.found.high[2]


def test_the_block_bootstrap_is_that_of_the_parts_in_time():
    ledger = pr.condense(Y, MODELS, time=UNIT)
    paired = paired_by_moments(ledger, MeanScore(), "block bootstrap", None, 0.9, DRAWING)
    moments = ledger.moments(pr.Brier())
    drawn = block_bootstrap(moments.means, parts_in_time(moments), level=0.9, n_resamples=60, seed=3)
    for name in ("standard_error", "low", "high", "p_value"):
        np.testing.assert_allclose(getattr(paired.found, name), getattr(drawn, name), err_msg=name)


def test_draws_are_widened_only_where_few_events_ask_for_it():
    values, ones = np.array([1.0, 1.0, 1.0]), np.ones(3)
    given = Estimates(ones, np.full(3, np.nan), 0.5 * ones, 2.0 * ones, np.array([0.01, 0.01, 0.9]))
    found = _widened(values, given, np.array([1.0, 2.0, 2.0]), 9.0 * ones)
    assert found.low.tolist() == [0.5, 0.0, 0.0]
    assert found.high.tolist() == [2.0, 3.0, 3.0]
    assert found.standard_error.tolist() == [1.0, 2.0, 2.0]
    wide = 2.0 * stats.t.sf(0.5, 9.0)
    np.testing.assert_allclose(found.p_value, [0.01, wide, 0.9])


def test_an_error_of_zero_stays_zero():
    error, least = np.array([0.0, 1.0, 1.0, 1.0, np.nan]), np.array([2.0, 2.0, 0.5, np.nan, 2.0])
    np.testing.assert_array_equal(_at_least(error, least), [0.0, 2.0, 1.0, 1.0, np.nan])
    assert _at_least(error, None) is error


@pytest.mark.parametrize("options", [{}, {"cluster": UNIT}], ids=["plain", "units"])
def test_drawn_differences_have_their_quantiles(options):
    ledger = pr.condense(Y, MODELS, **options)
    paired = paired_by_bootstrap(ledger, RATIO, 0.9, DRAWING)
    tables = tuple(ledger.table(model) for model in "pq")
    draw = draw_from_cases(in_canonical_order(ledger.cases), tables)
    drawn = values_of_draws(draw, lambda some: np.array([RATIO.value(one) for one in some]), 2, DRAWING)
    drawn = np.column_stack([drawn, drawn[:, 0] - drawn[:, 1]])
    np.testing.assert_allclose((paired.found.low, paired.found.high), np.quantile(drawn, (0.05, 0.95), axis=0))
    np.testing.assert_allclose(paired.found.standard_error, drawn.std(axis=0, ddof=1))
    beyond = np.minimum((drawn <= 0.0).sum(axis=0), (drawn >= 0.0).sum(axis=0))
    np.testing.assert_allclose(paired.found.p_value, np.minimum(2.0 * (1 + beyond) / 61, 1.0))
    assert np.isnan(paired.found.df).all()
    assert paired.units == (30 if options else N)
    values = [Y.sum() / P.sum(), Y.sum() / Q.sum()]
    np.testing.assert_allclose(paired.values, [*values, values[0] - values[1]])


@dataclass(frozen=True)
class Peculiar:
    """A measure that is undefined, or far from its value, in some of the draws."""

    n_events: int
    shift: float = 0.0
    key: str = "peculiar"
    label: str = "peculiarity"
    higher_is_better: bool = False

    def value(self, table):
        if table.n_events < self.n_events:
            raise InputValueError("undefined")
        return table.mean_forecast + (self.shift if table.n_events != int(Y.sum()) else 0.0)


def test_draws_without_a_value_or_with_a_bias_are_not_tested():
    ledger = pr.condense(Y, MODELS)
    events = int(Y.sum())
    paired = paired_by_bootstrap(ledger, Peculiar(events), 0.9, DRAWING)
    drawn = int(paired.untested.split()[0])
    assert 3 < drawn < 60
    assert paired.untested == f"{drawn} of 60 draws have no value"
    assert paired.units == N
    biased = paired_by_bootstrap(ledger, Peculiar(0, shift=1.0), 0.9, DRAWING)
    assert biased.untested == (
        "the peculiarity of draws is biased, as if noise inflates it, so the difference is not tested: compare a score"
    )
    assert np.isnan(biased.found.p_value).all()
    assert paired_by_bootstrap(ledger, Peculiar(0), 0.9, DRAWING).untested == ""


def test_a_twentieth_of_the_draws_may_be_undefined():
    ledger = pr.condense(Y, MODELS)
    tables = tuple(ledger.table(model) for model in "pq")
    draw = draw_from_cases(in_canonical_order(ledger.cases), tables)
    events = np.sort(values_of_draws(draw, lambda some: np.array([some[0].n_events] * 2), 2, DRAWING)[:, 0])
    for least in np.unique(events).astype(int).tolist():
        lost = int((events < least).sum())
        found = paired_by_bootstrap(ledger, Peculiar(least), 0.9, DRAWING) if least <= Y.sum() else None
        if found is not None:
            assert found.untested == ("" if lost <= 3 else f"{lost} of 60 draws have no value")
    assert np.count_nonzero(events < events[3]) > 0


def test_a_fixed_event_rate_keeps_students_limits_for_rare_events():
    y = np.arange(N) < 12
    ledger = at_prevalence(pr.condense(y, MODELS), 0.05)
    paired = paired_by_moments(ledger, MeanScore(), "", None, 0.9, DRAWING)
    errors = errors_of_means(ledger.moments(pr.Brier()), by_outcome=True)
    error = np.maximum(errors.standard_error, np.nan_to_num(fitted_errors(ledger, MeanScore())))
    assert_students(paired, ledger.moments(pr.Brier()).means, error, errors.df)


def test_distances_from_a_fitted_curve_are_compared_by_value_only():
    measure = pr.measures.IntegratedCalibrationIndex()
    ledger = pr.condense(Y, MODELS, cluster=UNIT)
    paired = paired_by_value(ledger, measure)
    values = [measure.value(ledger.table(model)) for model in "pq"]
    np.testing.assert_allclose(paired.values, [*values, values[0] - values[1]])
    assert paired.untested == (
        "noise inflates the integrated calibration index, for each model differently, so the difference is not tested: "
        "compare the Brier score"
    )
    assert paired.units == 30
    assert np.isnan(paired.found.standard_error).all()


def censored_cases(everyone, *, weight=None, cluster=None, row=None, share=0.2):
    """Return the cases with censoring that takes a share of the squares, and passes contributions on to everyone."""
    size = 0 if everyone is None else len(everyone.leaves)

    def influence(parts):
        spread = np.zeros((len(parts), size))
        spread[:, row] = parts
        return spread + 0.01 * np.sin(np.arange(size))

    censoring = SimpleNamespace(
        everyone=everyone, row=row, influence=influence, variance=lambda parts: share * (parts**2).sum(axis=1)
    )
    keys = None if cluster is None else Keys(tuple(range(int(cluster.max()) + 1)), cluster)
    return Cases(outcome=Y, forecasts={"m": P}, weight=weight, cluster=keys, censoring=censoring)


def test_estimated_censoring_weights_lower_the_error_of_independent_cases():
    parts = np.random.default_rng(16).normal(size=(2, N))
    squares = 0.8 * (parts**2).sum(axis=1)
    found = errors_of_cases(censored_cases(None, weight=WEIGHT), parts)
    n = WEIGHT.sum()
    np.testing.assert_allclose(found.standard_error, np.sqrt(squares * n / (n - 1.0)))
    np.testing.assert_allclose(found.df, [n - 1.0] * 2)
    everyone = SimpleNamespace(weight=np.array([1.0, 3.0, 2.0]), cluster=None, leaves=np.zeros(3, dtype=bool))
    halved = errors_of_cases(censored_cases(everyone, weight=WEIGHT), parts)
    np.testing.assert_allclose(halved.standard_error, np.sqrt(squares * n / 2.0 / (n / 2.0 - 1.0)))
    np.testing.assert_allclose(halved.df, [n / 2.0 - 1.0] * 2)
    plain = errors_of_cases(censored_cases(None), parts)
    np.testing.assert_allclose(plain.standard_error, np.sqrt(squares))
    none = errors_of_cases(censored_cases(None, weight=WEIGHT, share=1.5), parts)
    assert none.standard_error.tolist() == [0.0, 0.0]
    tiny = errors_of_cases(censored_cases(None, weight=np.full(N, 1.5 / N)), parts)
    np.testing.assert_allclose(tiny.standard_error, np.sqrt(squares * 1.5))


@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_of_censored_cases_are_those_of_everyone(weighted):
    """Left out is a cluster without a known outcome some of whose cases stay; it has no case among the rows."""
    rng = np.random.default_rng(17)
    size = N + 20
    codes = np.append(UNIT, np.repeat([30, 31], 10))  # Two clusters more, in which no outcome is known.
    leaves = np.append(np.zeros(N, dtype=bool), np.repeat([True, False], 10))
    weight = rng.gamma(2.0, 1.0, size) if weighted else None
    everyone = SimpleNamespace(weight=weight, cluster=codes, leaves=leaves)
    parts = rng.normal(size=(2, N)) / N
    cases = censored_cases(everyone, weight=WEIGHT, cluster=UNIT, row=np.arange(N))
    found = errors_of_cases(cases, parts)
    influence = np.concatenate([parts, np.zeros((2, 20))], axis=1) + 0.01 * np.sin(np.arange(size))
    w = np.ones(size) if weight is None else weight / weight.mean()
    columns = []
    for one in range(31):
        here = codes == one
        x = influence[:, here] / w[here] * w.sum()
        mean = (w[here] * x).sum(axis=1) / w[here].sum()
        spread = (w[here] ** 2 * (x - mean[:, None]) ** 2).sum(axis=1)
        columns.append((here.sum(), w[here].sum(), (w[here] ** 2).sum(), (w[here] * x).sum(axis=1), spread))
    expected = cluster_errors(ClusterSums(*(np.array(column) for column in zip(*columns, strict=True))))
    np.testing.assert_allclose(found.standard_error, expected.standard_error[0])
    np.testing.assert_allclose(found.df, expected.df[0])


def test_censored_estimates_name_their_weights_and_use_the_known_error():
    rng = np.random.default_rng(18)
    time, cluster = rng.exponential(1.0, N), np.arange(N) // 4
    follow = {"event": rng.random(N) < 0.6 + 0.3 * P, "horizons": 0.8}
    outcome = pr.censored(time, **follow)
    for measure, options in ((SLOPE, {}), (SLOPE, {"cluster": cluster}), (RATIO, {}), (RATIO, {"cluster": cluster})):
        ledger = pr.condense(outcome, {"p": P, "q": Q}, **options)
        found, table, cases = estimate_from_influence(ledger, "q", measure, 0.9), ledger.table("q"), ledger.cases
        parts = case_influence(cases, "q", table, measure.influence(table))[None]
        errors = errors_of_cases(cases, parts)
        error, robust = float(errors.standard_error[0]), ", cluster-robust" if options else ""
        first = "influence function, on the log scale" if measure is RATIO else FITTED
        assert found.method == f"{first}{robust}, with estimated censoring weights"
        if measure is SLOPE:
            squares = squared_weights(cases.of("q"), cases.censoring, table)
            known = measure.error_of_independent(table, squares.variance) ** 2 - cases.censoring.variance(parts)[0]
            error = max(error, math.sqrt(known)) if options else math.sqrt(known)
        assert found.standard_error == pytest.approx(error)
        assert found.units == units_of(ledger)
    area = estimate_from_influence(pr.condense(outcome, Q), "forecast", AUC, 0.9)
    assert area.method == "influence function, on the logit scale, with estimated censoring weights"


@pytest.mark.parametrize("slope", [False, True])
def test_errors_at_fitted_rates_are_those_of_a_logistic_regression(slope):
    measure = SLOPE if slope else pr.measures.CalibrationIntercept()
    p, y = np.append(Q, [0.0, 1.0]), np.append(Y, [False, True])
    x, n = np.log(Q / (1 - Q)), N + 2
    for weight in (None, np.full(n, 3.0)):
        table = pr.ForecastTable.from_predictions(y, p, sample_weight=weight)
        value = measure.value(table)
        level = float(np.log(Y.mean() / (1 - Y.mean())))
        for _ in range(50):  # The intercept that belongs to the slope, by Newton's method.
            rate = 1 / (1 + np.exp(-(level + (value if slope else 1.0) * x)))
            level += (Y - rate).sum() / (rate * (1 - rate)).sum()
        assert (level == pytest.approx(value)) is not slope
        design = np.stack([np.ones(N), x]) if slope else np.ones((1, N))
        inverse = np.linalg.inv((design * rate * (1 - rate)) @ design.T)
        np.testing.assert_allclose(design @ (Y - rate), 0.0, atol=1e-6)
        assert measure.error_of_independent(table) == pytest.approx(math.sqrt(inverse[-1, -1]), rel=1e-6)
        given = measure.influence(table)
        row = np.searchsorted(table.forecast, Q)
        moved = n * (inverse @ design)[-1]
        np.testing.assert_allclose(given.event[row], moved * (1 - rate), rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(given.non_event[row], -moved * rate, rtol=1e-5, atol=1e-8)
        assert (given.event[0], given.non_event[0], given.event[-1]) == (0.0, 0.0, 0.0)

        def doubled(rates, table=table):
            return 2.0 * table.weights * rates * (1.0 - rates)

        scale = 1.0 if weight is None else 3.0
        expected = math.sqrt(2.0 * inverse[-1, -1] / scale)
        assert measure.error_of_independent(table, doubled) == pytest.approx(expected, rel=1e-6)


def test_ratios_of_means_have_the_derivative_of_a_ratio():
    table = pr.ForecastTable.from_predictions(Y, P, sample_weight=WEIGHT)
    observed, expected = np.average(Y, weights=WEIGHT), np.average(P, weights=WEIGHT)
    ratio = RATIO.influence(table)
    assert RATIO.value(table) == pytest.approx(observed / expected)
    np.testing.assert_allclose(ratio.event, 1 / expected - observed / expected**2 * table.forecast)
    np.testing.assert_allclose(ratio.non_event, -observed / expected**2 * table.forecast)
    inverse = pr.measures.PredictedActual()
    assert inverse.value(table) == pytest.approx(expected / observed)
    given = inverse.influence(table)
    np.testing.assert_allclose(given.event, table.forecast / observed - expected / observed**2)
    np.testing.assert_allclose(given.non_event, table.forecast / observed)


def test_moments_that_few_events_need_are_asked_for_unless_there_are_many(monkeypatch):
    ledger = pr.condense(Y, MODELS)
    whole = ledger.moments(pr.Brier())
    bare = replace(whole, even_squares=np.full_like(whole.even_squares, np.nan))
    monkeypatch.setattr(paired_tests, "measured_moments", lambda *_: bare)
    lacking = paired_by_moments(ledger, MeanScore(), "", None, 0.9, DRAWING)
    assert lacking.untested == (
        "the ledger lacks the moments that tests with few events need: condense these cases separately"
    )
    assert np.isnan(lacking.found.p_value).all()
    rarest = int(min(Y.sum(), (~Y).sum()))
    monkeypatch.setattr(paired_tests, "MANY_EVENTS", rarest)
    found = paired_by_moments(ledger, MeanScore(), "", None, 0.9, DRAWING)
    assert found.untested == ""
    assert_students(found, [x.mean() for x in brier_series()], [mean_error(x) for x in brier_series()], N - 1)
    monkeypatch.setattr(paired_tests, "MANY_EVENTS", rarest + 1)
    assert paired_by_moments(ledger, MeanScore(), "", None, 0.9, DRAWING).untested == lacking.untested


@pytest.mark.parametrize("own", [None, RNG.gamma(2.0, 1.0, N)], ids=["plain", "sample weights"])
def test_squared_weights_have_the_mean_of_their_group_and_outcome(own):
    group = UNIT % 3
    event = Y & (group < 2)  # The last group has no events, and takes the mean of all groups.
    censoring = SimpleNamespace(sample_weight=lambda: own, groups=lambda: (group, 3))
    cases = Cases(outcome=event, forecasts={"m": P}, weight=WEIGHT)
    table = pr.ForecastTable.from_predictions(event, P, sample_weight=WEIGHT)
    once = WEIGHT if own is None else WEIGHT * own
    expected = []
    for side in (event, ~event):
        overall = (WEIGHT[side] ** 2).sum() / once[side].sum()
        means = [
            (WEIGHT[here] ** 2).sum() / once[here].sum() if here.any() else overall
            for here in (side & (group == one) for one in range(3))
        ]
        expected.append([(once * np.array(means)[group])[one == P].sum() for one in table.forecast])
    found = squared_weights(cases, censoring, table)
    np.testing.assert_allclose(found.event, expected[0])
    np.testing.assert_allclose(found.non_event, expected[1])
    rate = np.linspace(0.1, 0.9, len(table))
    variance = rate * (1 - rate) * ((1 - rate) * found.event + rate * found.non_event)
    np.testing.assert_allclose(found.variance(rate), variance)
