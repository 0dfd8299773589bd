"""Errors from influence, and notes on small samples, computed case by case."""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from brute_clusters import brute_errors
from paired_sample import (
    AUC,
    BRIER,
    DRAWING,
    FITTED,
    MODELS,
    RATIO,
    SLOPE,
    UNIT,
    WEIGHT,
    N,
    P,
    Y,
)
from scipy import stats

import propriety as pr
from propriety.inference.dependence import hac
from propriety.inference.estimates import censoring_notes, few, make_estimate, units_of, without_limits
from propriety.inference.finding_words import caveats, note_words
from propriety.inference.influence import (
    case_influence,
    error_of_table,
    errors_of_cases,
    errors_of_table,
    estimate_from_influence,
    influence_in,
    is_by_outcome,
)
from propriety.inference.measures.measure import Influence
from propriety.inference.measures.of_means import MeanScore, NetBenefit, Skill
from propriety.inference.notes import Note
from propriety.inference.paired_tests import (
    paired_by_bootstrap,
    paired_by_influence,
)
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import at_prevalence
from propriety.tables.cases import Cases
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.keys import Keys


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
@pytest.mark.parametrize("by_outcome", [False, True])
def test_errors_of_a_table_are_sums_of_squared_influence(weight, by_outcome):
    rng = np.random.default_rng(13)
    table = ForecastTable.from_predictions(Y, P, sample_weight=weight)
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
    table = ForecastTable.from_predictions([1, 0, 0], [0.5, 0.4, 0.2])
    given = Influence(np.ones(3), np.ones(3))
    assert math.isnan(error_of_table(table, given, by_outcome=True))
    assert error_of_table(table, given) == pytest.approx(math.sqrt(3 / 2 * 3) / 3)
    none = ForecastTable.from_predictions([0, 0, 0], [0.5, 0.4, 0.2])
    assert errors_of_table(none, given, by_outcome=True) == (pytest.approx(math.sqrt(3 / 2 * 3) / 3), 2.0)
    nothing = Influence(np.zeros(3), np.zeros(3))
    more = ForecastTable.from_predictions([1, 0, 0, 1], [0.5, 0.4, 0.2, 0.4])
    assert errors_of_table(more, nothing, by_outcome=True) == (0.0, 2.0)
    tiny = Influence(np.full(3, 1e-14), np.array([3e-14, 0.0, 0.0]))
    assert errors_of_table(more, tiny, by_outcome=True)[1] == 2.0


def test_cases_without_weight_contribute_nothing_even_if_their_influence_is_infinite():
    table = ForecastTable.from_predictions([1, 0], [0.5, 0.2], sample_weight=[3.0, 1.0])
    cases = Cases(
        outcome=np.array([True, False, True]),
        forecasts={"m": np.array([0.5, 0.2, 0.2])},
        weight=np.array([3.0, 1.0, 0.0]),
    )
    given = Influence(np.array([np.inf, 2.0]), np.array([-4.0, 8.0]))
    with np.errstate(invalid="ignore"):
        assert case_influence(cases, "m", table, given).tolist() == [1.5, -1.0, 0.0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["cluster", "period"])
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
    table = ForecastTable.from_predictions(Y, P, sample_weight=weight)
    w = np.ones(N) if weight is None else weight
    p, mean, rate = table.forecast, w @ BRIER[0] / w.sum(), w @ Y / w.sum()
    found = MeanScore().influence(table)
    np.testing.assert_allclose(found.event, (1 - p) ** 2 - mean)
    np.testing.assert_allclose(found.non_event, p**2 - mean)
    against = rate * (1 - rate)
    skill = Skill().influence(table)
    np.testing.assert_allclose(skill.event, -((1 - p) ** 2 - mean / against * (1 - rate) ** 2) / against)
    np.testing.assert_allclose(skill.non_event, -(p**2 - mean / against * rate**2) / against)
    benefit = NetBenefit(0.3).influence(table)
    value = w @ ((P >= 0.3) * np.where(Y, 1.0, -3 / 7)) / w.sum()
    act = (p >= 0.3).astype(float)
    np.testing.assert_allclose(benefit.event - benefit.non_event, act - (-3 / 7 * act), atol=1e-12)
    np.testing.assert_allclose(benefit.event, act - value, atol=1e-12)


def test_a_fixed_event_rate_leaves_the_influence_within_outcomes():
    plain, fixed = pr.condense(Y, MODELS), at_prevalence(pr.condense(Y, MODELS), 0.1)
    table = fixed.table("q")
    own, raw = influence_in(fixed, table, MeanScore()), MeanScore().influence(table)
    of_events, of_others = BRIER[1][Y].mean(), BRIER[1][~Y].mean()
    np.testing.assert_allclose(own.event, raw.event + 0.9 * (of_others - of_events))
    np.testing.assert_allclose(table.events @ own.event, 0.0, atol=1e-9)
    np.testing.assert_allclose(table.non_events @ own.non_event, 0.0, atol=1e-9)
    same = influence_in(plain, plain.table("q"), MeanScore())
    np.testing.assert_allclose(same.event, MeanScore().influence(plain.table("q")).event)
    clusters = at_prevalence(pr.condense(Y, MODELS, cluster=UNIT), 0.1)
    assert [is_by_outcome(one, MeanScore()) for one in (plain, fixed, clusters)] == [False, True, False]
    assert [is_by_outcome(one, AUC) for one in (plain, fixed, clusters)] == [True, True, True]
    assert [is_by_outcome(one, RATIO) for one in (plain, fixed)] == [False, True]


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


@dataclass(frozen=True)
class MeanForecast(pr.measures.Measure):
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
        return Note("measure", {"said": f"{self.caveat_text} {table.n}"})


@pytest.mark.parametrize(
    ("measure", "options", "prevalence", "method"),
    [
        (AUC, {}, None, "DeLong, on the logit scale"),
        (AUC, {"cluster": UNIT}, None, "DeLong, on the logit scale, cluster-robust"),
        (AUC, {}, 0.1, "DeLong, on the logit scale, by outcome"),
        (RATIO, {}, None, "influence function, on the log scale"),
        (RATIO, {"period": UNIT}, None, "influence function, on the log scale, over 8 periods"),
        (RATIO, {}, 0.1, "influence function, on the log scale, by outcome"),
        (SLOPE, {}, None, FITTED),
        (SLOPE, {"cluster": UNIT}, None, f"{FITTED}, cluster-robust"),
        (MeanForecast(), {}, None, "influence function"),
    ],
)
def test_errors_from_influence_have_their_method_and_size(measure, options, prevalence, method):
    ledger = pr.condense(Y, MODELS, **options)
    ledger = ledger if prevalence is None else at_prevalence(ledger, prevalence)
    found, table = estimate_from_influence(ledger, "q", measure, 0.9, imagine=False), ledger.table("q")
    assert found.method == method
    assert found.value == measure.value(table)
    given = influence_in(ledger, table, measure)
    if options:
        parts = case_influence(ledger.cases, "q", table, given)
        errors = errors_of_cases(ledger.cases, parts[None])
        error, df = float(errors.standard_error[0]), float(errors.df[0])
    else:
        error, df = errors_of_table(table, given, by_outcome=is_by_outcome(ledger, measure))
    if measure is SLOPE:
        known = SLOPE.error_of_independent(table)
        error = max(error, known) if options else known
    assert found.error == pytest.approx(error)
    assert found.units == (30 if options else None)
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


def test_a_caveat_of_the_measure_comes_first():
    y, p = np.arange(60) % 6 == 0, np.linspace(0.2, 0.6, 60)
    plain = pr.condense(y, p)
    found = estimate_from_influence(plain, "forecast", MeanForecast(), 0.9, imagine=False)
    assert caveats(found) == f"mind 60; {note_words(*few(plain))}"
    assert estimate_from_influence(plain, "forecast", RATIO, 0.9, imagine=False).notes == few(plain)
    assert caveats(estimate_from_influence(plain, "forecast", MeanForecast(), 0.9)) == "mind 60"
    assert "; ".join(map(note_words, few(plain))) == "based on 10 events: the interval may be too narrow"
    assert estimate_from_influence(plain, "forecast", AUC, 0.9).notes == ()
    clusters = pr.condense(y, p, cluster=np.arange(60) // 10)
    found = estimate_from_influence(clusters, "forecast", MeanForecast(), 0.9, imagine=False)
    assert caveats(found) == "mind 60; based on 10 events and 6 clusters: the interval may be too narrow"
    assert caveats(estimate_from_influence(clusters, "forecast", AUC, 0.9, imagine=False)) == (
        "based on 10 events and 6 clusters: the interval may be too narrow"
    )
    alone = estimate_from_influence(pr.condense([1], [0.3]), "forecast", MeanForecast(), 0.9)
    assert caveats(alone) == "a single case or cluster has no spread"
    bounded = estimate_from_influence(plain, "forecast", MeanForecast(largest=10.0), 0.9)
    assert bounded.high > bounded.value


def test_separate_outcomes_keep_the_error_of_their_area():
    y, p = np.arange(40) >= 20, np.linspace(0.1, 0.9, 40)
    found = estimate_from_influence(pr.condense(y, p), "forecast", AUC, 0.9)
    assert (found.value, caveats(found)) == (1.0, "events and non-events do not overlap")
    assert 0.8 < found.low < found.high == 1.0
    assert found.error == 0.0


def test_correlated_cases_that_are_not_available_have_no_interval():
    stored = added({"m": P}, cluster=UNIT)
    found = estimate_from_influence(stored, stored.models[0], RATIO, 0.9)
    assert found.note("needs-cases")
    assert caveats(found) == f"an interval of this measure needs {stored.where_cases_are}"
    assert found.value == pytest.approx(Y.sum() / P.sum())
    paired = paired_by_influence(stored, RATIO, 0.9, imagine=False)
    assert paired.untested == Note("needs-cases", {"what": "a test of this measure", "where": stored.where_cases_are})
    assert (paired.units, paired.values[0]) == (len(np.unique(UNIT)), pytest.approx(Y.sum() / P.sum()))
    drawn = paired_by_bootstrap(stored, RATIO, 0.9, DRAWING)
    assert drawn.untested == paired.untested
    assert np.isnan(drawn.found.low).all()
    same = without_limits(stored, "m", RATIO, 0.5, 0.9)
    assert (same.value, same.n, same.level, same.method) == (0.5, N, 0.9, "")
    assert math.isnan(same.low)
    assert math.isnan(same.high)


def test_units_are_clusters_or_times_with_weight():
    weight = np.where(UNIT == 7, 0.0, 1.0)
    assert units_of(pr.condense(Y, P)) == N
    assert units_of(pr.condense(Y, P, cluster=UNIT)) == 30
    assert units_of(pr.condense(Y, P, cluster=UNIT, sample_weight=weight)) == 29
    assert units_of(pr.condense(Y, P, period=UNIT, sample_weight=weight)) == 29
    assert units_of(pr.condense(Y, P, period=UNIT, sample_weight=weight, rules=[pr.Brier()])) == 29


def test_small_samples_are_described_from_the_ledger():
    y, p = np.arange(90) < 60, np.full(90, 0.5)
    narrow = ": the interval may be too narrow"
    assert "; ".join(map(note_words, few(pr.condense(y, p)))) == f"based on 30 non-events{narrow}"
    assert few(pr.condense(y, p), fewest=30) == ()

    def said(ledger, **options):
        return "; ".join(map(note_words, few(ledger, **options)))

    assert said(pr.condense(y, p), fewest=30, inflation=1.5) == (
        f"based on 30 non-events (worth 20 independent ones){narrow}"
    )
    weight = np.where(np.arange(90) % 30 == 0, 100.0, 1.0)
    worth = weight.sum() ** 2 / (weight**2).sum()
    weighted = pr.condense(y, p, sample_weight=weight)
    assert said(weighted, fewest=10) == f"based on 90 cases (worth {worth:.0f} of equal weight){narrow}"
    unequal = np.repeat([0, 1, 2, 3], [60, 10, 10, 10])
    equal = 90**2 / (60**2 + 3 * 10**2)
    assert said(pr.condense(y, p, cluster=unequal), fewest=10) == (
        f"based on 4 clusters (worth {equal:.0f} of equal size){narrow}"
    )
    assert few(pr.condense(y, p, period=unequal), fewest=10) == ()
    classes = pr.condense(np.repeat([0, 1, 2], [60, 20, 10]), np.full((90, 3), 1 / 3), rules=[pr.Brier()])
    assert said(classes) == f"based on 30 cases outside the most frequent class{narrow}"
    assert few(classes, fewest=30) == ()
    assert said(classes, inflation=2.0) == (
        f"based on 30 cases outside the most frequent class (worth 15 independent ones){narrow}"
    )
    heavy = pr.condense(np.repeat([0, 1, 2], [60, 20, 10]), np.full((90, 3), 1 / 3), sample_weight=weight)
    assert said(heavy, fewest=31) == (
        f"based on 30 cases outside the most frequent class and 90 cases (worth {worth:.0f} of equal weight){narrow}"
    )
    assert said(heavy, fewest=30) == (f"based on 90 cases (worth {worth:.0f} of equal weight){narrow}")
    unknown = Ledger.of_source(classes.cases, classes.events)
    assert few(unknown) == ()


def test_clusters_without_moments_are_counted_from_their_cases():
    weight = np.where(UNIT == 7, 0.0, 1.0) * WEIGHT
    for kind in ("cluster", "period"):
        whole = pr.condense(Y, P, sample_weight=weight, **{kind: UNIT})
        bare = Ledger.of_source(whole.cases, (Event("event"),))
        assert bare.rules == ()
        assert units_of(bare) == units_of(whole) == 29
        assert few(bare, fewest=10) == few(whole, fewest=10)
    clusters, weight = np.repeat([0, 1, 2], 80), np.repeat([30.0, 1.0, 1.0], 80)
    bare = Ledger.of_source(pr.condense(Y, P, cluster=clusters, sample_weight=weight).cases, (Event("event"),))
    assert (
        "; ".join(map(note_words, few(bare, fewest=10)))
        == "based on 3 clusters (worth 1 of equal size): the interval may be too narrow"
    )


def censored(*, followed=30, groups=False, estimated=True, **dependence):
    found = SimpleNamespace(is_estimated=estimated, has_groups=groups, followed=followed, horizon=5.0)
    found.dependence = dependence
    return SimpleNamespace(censoring=found)


def test_notes_on_censoring_name_the_followed_and_what_it_depends_on():
    def said(ledger):
        return "; ".join(map(note_words, censoring_notes(ledger)))

    assert said(SimpleNamespace(censoring=None)) == ""
    assert said(censored(followed=1, estimated=False, m=0.0)) == ""
    assert said(censored(m=0.5)) == ""
    assert said(censored()) == ""
    assert said(censored(followed=29)) == ("based on 29 cases followed up until 5: the interval may be too narrow")
    assert said(censored(followed=1, groups=True)) == (
        "based on 1 case followed up until 5 in one of the groups: the interval may be too narrow"
    )
    depends = "censoring depends on the forecasts"
    assert said(censored(m=0.01)) == (f"{depends} (p = 0.01), which may bias the results: pass forecast= to censored")
    assert said(censored(m=0.006, q=0.5)) == ""
    assert said(censored(m=0.5, q=0.002, groups=True)) == (
        f"{depends} within groups (p = 0.004), which may bias the results: pass finer groups= or weights= to censored"
    )
    assert said(censored(followed=2, m=0.0)) == (
        "based on 2 cases followed up until 5: the interval may be too narrow; "
        f"{depends} (p < 0.001), which may bias the results: pass forecast= to censored"
    )


@pytest.mark.parametrize(
    ("value", "error", "options", "units", "note"),
    [
        (math.inf, 0.1, {}, N, "an outcome with a forecast of 0 happened, so the mean is infinite"),
        (0.5, 0.1, {}, 1, "a single case or cluster has no spread"),
        (0.5, 0.1, {"period": UNIT}, 1, "a single period has no spread"),
        (0.5, math.nan, {}, 2, "a single event, non-event or cluster has no spread"),
        (0.5, 0.0, {}, N, "nothing varies in the sample, so there is no interval"),
        (1.0, 1e-12 / 2.0, {}, 4, "nothing varies in the sample, so there is no interval"),
    ],
)
def test_estimates_without_a_spread_have_no_interval_and_say_why(value, error, options, units, note):
    ledger = pr.condense(Y, P, **options)
    found = make_estimate(ledger, "forecast", MeanScore(), value, error, 9.0, 0.9, "by hand", units=units, raw=0.3)
    assert (caveats(found), found.value, found.method, found.level) == (note, value, "by hand", 0.9)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.error == 0.0 if note.startswith("nothing") else math.isnan(found.error)
    assert (found.n, found.units, found.extra["raw"]) == (N, units if options else None, 0.3)


def test_an_estimate_with_a_small_spread_has_an_interval():
    ledger = pr.condense([0, 1, 1, np.nan] * 20, [0.3] * 80, missing="drop")
    found = make_estimate(ledger, "forecast", MeanScore(), 1.0, 1.1e-12 / 2.0, 9.0, 0.9, "by hand", units=4)
    assert found.low < 1.0 < found.high
    assert found.n == 60
    assert caveats(found) == "based on 40 events and 20 non-events: the interval may be too narrow"
    log = make_estimate(
        ledger, "forecast", MeanScore(), 2.0, 0.5, math.inf, 0.9, "by hand", units=9, scale="log", fewest=20
    )
    z = stats.norm.ppf(0.95)
    np.testing.assert_allclose((log.low, log.high), (2.0 * math.exp(-z / 4), 2.0 * math.exp(z / 4)))
    assert log.notes == ()
    inflated = make_estimate(
        ledger, "forecast", MeanScore(), 2.0, 0.5, 9.0, 0.9, "by hand", units=9, fewest=20, inflation=2.0
    )
    assert caveats(inflated) == "based on 20 non-events (worth 10 independent ones): the interval may be too narrow"
