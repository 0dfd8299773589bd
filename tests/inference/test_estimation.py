"""Estimates by formula: against SciPy and brute force, of tables as of cases, and what a sample cannot tell."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from brute_clusters import brute_errors
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.inference.estimation import estimate
from propriety.inference.finding_words import caveats, notes_of
from propriety.inference.measures.of_means import NetBenefit, Skill
from propriety.inference.measures.parts import Discrimination, Miscalibration
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.tables.forecast_table import ForecastTable

RNG = np.random.default_rng(11)
N = 400
P = RNG.beta(1.5, 2.0, N)
Y = RNG.random(N) < P
WEIGHT = RNG.gamma(2.0, 1.0, N)
CLUSTER = np.arange(N) % 25
FORMULAS = [
    pr.Brier(),
    pr.Log(),
    pr.BoundedBrier(0.2, 0.4),
    Skill(),
    Skill(pr.Log()),
    NetBenefit(0.3),
    AreaUnderRoc(),
    Miscalibration(),
    Discrimination(pr.Log()),
    pr.measures.Regret(0.3),
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationIntercept(),
    pr.measures.CalibrationSlope(),
]
SAMPLING = [{}, {"sample_weight": WEIGHT}, {"cluster": CLUSTER}, {"sample_weight": WEIGHT, "cluster": CLUSTER}]
KINDS = ["plain", "weights", "clusters", "both"]
FIELDS = ("value", "low", "high", "error")
short = partial(estimate, n_resamples=40, seed=1)

samples = st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.25, 0.5, 0.9])), min_size=4, max_size=12).filter(
    lambda drawn: 0 < sum(case[0] for case in drawn) < len(drawn)
)


def name(measure):
    return f"{type(measure).__name__} {getattr(measure, 'rule', '')}"


def test_the_interval_of_a_mean_is_students():
    losses = pr.case_scores(Y, P, rule=pr.Log())
    found = estimate(Y, P, pr.Log(), level=0.9, method="student")
    low, high = stats.t.interval(0.9, N - 1, losses.mean(), stats.sem(losses))
    np.testing.assert_allclose([found.low, found.high], [low, high], rtol=1e-12)
    assert found.error == pytest.approx(stats.sem(losses), rel=1e-12)
    assert (found.method, found.measure.label, found.n, found.extra) == ("Student's t", "log score", N, {})


@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
def test_errors_of_means_are_those_of_the_moments(sampling):
    moments = pr.condense(Y, {"a": P}, **sampling).moments(pr.Brier())
    found = estimate(Y, P, method="student", **sampling)
    assert found.value == pytest.approx(moments.means[0], rel=1e-12)
    error, df = moments.standard_errors()[0], N - 1
    if "cluster" in sampling:
        error, df = brute_errors((P - Y) ** 2, sampling["cluster"], sampling.get("sample_weight"))
    assert found.error == pytest.approx(error, rel=1e-9)
    margin = stats.t(df).ppf(0.975) * found.error
    assert found.high - found.value == pytest.approx(margin, rel=1e-7)
    assert found.units == (25 if "cluster" in sampling else None)


@settings(max_examples=50)
def table_alone(y, p, **options):
    """Return a ledger of a table, without moments and cases."""
    return pr.Ledger.of_tables({"forecast": ForecastTable.from_predictions(y, p, **options)})


@given(samples, st.sampled_from([0, 1, 3, 4, 5, 6, 7, 8, 9, 10]))
def test_a_table_and_a_ledger_stand_for_their_predictions(drawn, which):
    y, p = zip(*drawn, strict=True)
    one = short(y, p, FORMULAS[which])
    for held in (table_alone(y, p), pr.condense(y, {"forecast": p})):
        other = short(held, None, FORMULAS[which])
        for field in FIELDS:
            np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=1e-9, atol=1e-12)
        assert (one.n, one.notes, one.method) == (other.n, other.notes, other.method)


@pytest.mark.parametrize("measure", [one for one in FORMULAS if one != Discrimination(pr.Log())], ids=name)
def test_a_weighted_table_has_the_error_of_its_cases(measure):
    table = table_alone(Y, np.round(P, 2), sample_weight=WEIGHT)
    one, other = estimate(table, None, measure), estimate(Y, np.round(P, 2), measure, sample_weight=WEIGHT)
    for field in FIELDS:
        assert getattr(one, field) == pytest.approx(getattr(other, field), rel=1e-12)


@pytest.mark.slow
def test_a_weighted_table_alone_has_no_draws():
    table = table_alone(Y, P, sample_weight=WEIGHT)
    for measure, method in (
        (pr.Brier(), "bootstrap"),
        (Miscalibration(), "bootstrap"),
        (lambda one: one.event_rate, "auto"),
    ):
        found = estimate(table, None, measure, method=method)
        whole = estimate(Y, P, measure, sample_weight=WEIGHT, seed=1, method=method)
        assert found.value == pytest.approx(whole.value, rel=1e-12)
        assert np.isnan([found.low, found.high, found.error]).all()
        assert (
            caveats(found) == "an interval of this measure needs the individual cases, which this ledger does not hold"
        )
        assert found.note("needs-cases")


def test_a_ledger_on_a_grid_does_not_make_up_means_that_were_not_condensed():
    ledger = pr.condense(Y, {"a": P}, cells=64)
    assert estimate(ledger).value == pytest.approx(pr.brier_score(Y, P), rel=1e-12)
    with pytest.raises(InputValueError, match=r"no moments of Spherical\(\).*there are those of Brier\(\), Log\(\)"):
        estimate(ledger, None, pr.Spherical())
    grid = ForecastTable.from_predictions(Y, P).grid(64)  # It never had any.
    assert estimate(pr.Ledger.of_tables({"a": grid}), None, pr.Spherical()).value == pytest.approx(
        pr.mean_score(grid, rule=pr.Spherical())
    )


@pytest.mark.parametrize("measure", FORMULAS, ids=name)
def test_equal_weights_change_nothing(measure):
    plain, weighted = (
        estimate(Y, P, measure, n_resamples=200, seed=1, sample_weight=w) for w in (None, np.full(N, 3.0))
    )
    # Outcomes are drawn by case or by row, so that only the drawn bias of the parts may differ.
    atol = 0.35 * plain.error if "seed" in plain.extra else 0.0
    np.testing.assert_allclose([weighted.low, weighted.high], [plain.low, plain.high], rtol=1e-10, atol=atol)
    assert weighted.error == pytest.approx(plain.error, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("measure", FORMULAS, ids=name)
@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
def test_the_formula_spreads_as_draws_do(measure, sampling):
    formula = short(Y, P, measure, **sampling)
    draws = estimate(Y, P, measure, method="bootstrap", n_resamples=200, seed=2, **sampling)
    value = formula.extra.get("raw", formula.value)
    assert value == pytest.approx(draws.value, rel=1e-12)
    # What draws add to the noise of the sample makes the miscalibration of calibrated forecasts vary more.
    rel = 0.3 if not isinstance(measure, Miscalibration) else 0.6
    assert formula.error == pytest.approx(draws.error, rel=rel)
    assert formula.low <= formula.high


@pytest.mark.parametrize("measure", FORMULAS, ids=name)
def test_the_value_is_that_of_the_table(measure):
    table = ForecastTable.from_predictions(Y, P, sample_weight=WEIGHT)
    expected = measure.value(table) if hasattr(measure, "value") else pr.mean_score(table, rule=measure)
    found = short(Y, P, measure, sample_weight=WEIGHT)
    assert found.extra.get("raw", found.value) == pytest.approx(expected, rel=1e-10)


def test_net_benefit_is_a_mean_of_which_more_is_better():
    values = np.where(P >= 0.3, np.where(Y, 1.0, -3 / 7), 0.0)
    found = estimate(Y, P, NetBenefit(0.3), method="student")
    limits = stats.t.interval(0.95, N - 1, values.mean(), stats.sem(values))
    np.testing.assert_allclose([found.low, found.high], limits, rtol=1e-10)
    assert found.measure.higher_is_better


def test_classes_have_means_and_skill():
    rng = np.random.default_rng(1)
    rows = rng.dirichlet([1, 2, 3], 300)
    y = np.array([rng.choice(3, p=row) for row in rows])
    losses = pr.case_scores(y, rows, rule=pr.RankedProbability())
    found = estimate(y, rows, pr.RankedProbability())
    np.testing.assert_allclose(
        [found.low, found.high], stats.t.interval(0.95, 299, losses.mean(), stats.sem(losses)), rtol=1e-12
    )
    skill = estimate(y, rows, Skill(pr.Log()))
    assert skill.value == pytest.approx(pr.skill_score(y, rows, rule=pr.Log()), rel=1e-12)
    picks = rng.integers(0, 300, (400, 300))
    draws = [pr.skill_score(y[pick], rows[pick], rule=pr.Log()) for pick in picks]
    assert skill.error == pytest.approx(np.std(draws), rel=0.2)
    assert estimate(y, rows, method="bootstrap", seed=1).method == "percentile bootstrap of cases"
    with pytest.raises(
        InputValueError, match="area under the ROC curve needs the forecast of one event; the forecasts"
    ):
        estimate(y, rows, AreaUnderRoc())
    with pytest.raises(InputValueError, match="log skill needs the forecast of one event"):
        estimate(y, rows, Skill(pr.Log()), method="bootstrap")


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log(), pr.RankedProbability()], ids=repr)
def test_skill_is_against_all_classes_also_those_that_never_happened(rule):
    rows = RNG.dirichlet([1, 1, 1], 80)
    y = RNG.integers(0, 2, 80)
    assert estimate(y, rows, Skill(rule)).value == pytest.approx(pr.skill_score(y, rows, rule=rule), rel=1e-12)
    weight = np.where(y == 1, 0.0, 1.0 + (y == 0))
    two = np.where(np.arange(80) < 9, 2, y)
    expected = pr.skill_score(two, rows, rule=rule, sample_weight=weight)
    assert estimate(two, rows, Skill(rule), sample_weight=weight).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log(), pr.PenalizedBrier()], ids=repr)
def test_skill_of_two_columns_is_that_of_two_classes(rule):
    rows = np.column_stack([1 - P, P])
    expected = pr.skill_score(Y.astype(int), rows, rule=rule)
    assert estimate(Y.astype(int), rows, Skill(rule)).value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", ["analytic", "bootstrap"])
def test_an_infinite_mean_has_no_interval(method):
    found = estimate([0, 1, 1], [0.2, 0.0, 0.4], pr.Log(), method=method)
    assert found.value == math.inf
    assert np.isnan([found.low, found.high]).all()
    assert caveats(found) == "an outcome with a forecast of 0 happened, so the mean is infinite"
    for measure, value in ((Miscalibration(pr.Log()), math.inf), (Skill(pr.Log()), -math.inf)):
        other = estimate([0, 1, 1], [0.2, 0.0, 0.4], measure, method=method, n_resamples=39)
        assert (other.value, caveats(other)) == (value, caveats(found))
        assert math.isnan(other.low)


@pytest.mark.parametrize("method", ["analytic", "bootstrap"])
def test_a_single_case_has_no_interval(method):
    found = estimate([1], [0.7], method=method)
    assert found.value == pytest.approx(0.09)
    assert np.isnan([found.low, found.high, found.error]).all()
    assert caveats(found) == "a single case or cluster has no spread"
    assert np.isnan(estimate([1, 0], [0.7, 0.2], cluster=["a", "a"]).low)
    assert caveats(estimate([1], [0.7], Miscalibration(), n_resamples=2)) == caveats(found)


@pytest.mark.parametrize(
    "measure",
    [lambda table: table.event_rate, Miscalibration(), AreaUnderRoc(), pr.measures.ObservedExpected()],
    ids=["own", "part", "area", "influence"],
)
@pytest.mark.parametrize("method", ["auto", "bootstrap"])
def test_one_cluster_has_no_interval(measure, method):
    found = estimate(Y, P, measure, cluster=np.zeros(N), method=method, seed=1)
    assert np.isnan([found.low, found.high]).all()
    assert caveats(found).endswith("cluster has no spread")


def test_one_time_has_no_interval():
    for measure in (pr.Brier(), Skill(), AreaUnderRoc()):
        found = estimate(Y, P, measure, period=np.zeros(N))
        assert np.isnan([found.low, found.high]).all()
        assert (caveats(found), found.units) == ("a single period has no spread", 1)


@pytest.mark.parametrize("method", ["auto", "bootstrap"])
@pytest.mark.parametrize(
    ("y", "p", "measure"),
    [
        pytest.param([0, 1] * 10, [0, 1] * 10, pr.Brier(), id="a perfect model"),
        pytest.param([0, 1] * 10, [0, 1] * 10, Skill(), id="its skill"),
        pytest.param([0, 1] * 10, [0, 1] * 10, Miscalibration(), id="its miscalibration"),
        pytest.param([0, 0, 1] * 100, [0.5] * 300, pr.Log(), id="rounding"),
        pytest.param([1] * 20, [0.3, 0.4] * 10, lambda table: table.event_rate, id="events alone"),
    ],
)
def test_what_does_not_vary_has_no_interval(y, p, measure, method):
    found = estimate(y, p, measure, method=method, n_resamples=40, seed=1)
    assert np.isnan([found.low, found.high]).all()
    assert found.error == 0.0
    assert caveats(found) == "nothing varies in the sample, so there is no interval"


def test_errors_that_did_not_happen_are_imagined():
    found = estimate([0, 1] * 10, [0.1, 0.9] * 10, pr.Misclassification())
    assert (found.value, found.low, found.error, caveats(found)) == (0.0, 0.0, 0.0, "")
    assert found.high == pytest.approx(0.149, abs=1e-3)
    assert np.isnan(estimate([0, 1] * 10, [0.1, 0.9] * 10, pr.Misclassification(), method="student").high)


def test_limits_stay_in_the_range_of_the_rule():
    found = estimate([0, 1, 1], [0.05, 0.95, 0.4], method="student")
    assert found.low == 0.0
    assert found.value + stats.t(2).ppf(0.975) * found.error == pytest.approx(found.high)
    assert estimate([0, 1, 1], [0.95, 0.05, 0.4]).high == 1.0
    classes = np.eye(3)[[1, 2, 0, 0]] * 0.9 + 0.1 / 3
    assert 1.0 < estimate([0, 1, 2, 0], classes, level=0.999).high <= 2.0
    worth = estimate([0, 1, 1], [0.6, 0.7, 0.8], NetBenefit(0.5), level=0.999)
    assert (worth.low, worth.high) == (-1.0, 1.0)
    assert estimate(pr.condense([0, 1, 1], {"a": [0.05, 0.95, 0.4]})).low == 0.0
    # Log losses have no upper end.
    assert estimate([0, 1, 1], [0.95, 0.05, 0.4], pr.Log()).high > 4.0


def test_skill_needs_something_to_improve_on():
    with pytest.raises(InputValueError, match="the reference must have a positive, finite loss"):
        estimate([1, 1], [0.5, 0.7], Skill())


def test_few_events_and_few_clusters_are_told():
    y = np.arange(100) < 5
    assert caveats(estimate(y, np.full(100, 0.1))) == "based on 5 events: the interval may be too narrow"
    told = caveats(estimate(~y[:30], np.full(30, 0.1), cluster=np.arange(30) % 4))
    assert told == "based on 25 events, 5 non-events and 4 clusters: the interval may be too narrow"
    assert (
        caveats(estimate(np.arange(100) < 1, np.full(100, 0.1))) == "based on 1 event: the interval may be too narrow"
    )
    assert caveats(estimate(Y, P)) == ""


def test_a_wider_level_is_wider():
    for measure in FORMULAS[:7] + FORMULAS[9:]:
        narrow, wide = (estimate(Y, P, measure, level=level) for level in (0.8, 0.99))
        assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_missing_values_are_dropped_from_everything():
    y = [None, *Y.tolist()]
    found = estimate(y, [0.5, *P], cluster=["x", *CLUSTER.tolist()], missing="drop")
    whole = estimate(Y, P, cluster=CLUSTER)
    assert (found.low, found.high, found.note("dropped").parts, found.n) == (whole.low, whole.high, {"rows": 1}, N)
    with pytest.raises(MissingValuesError, match="y_true must not hold missing values"):
        estimate(y, [0.5, *P])


@pytest.mark.parametrize("key", ["cluster", "period"])
def test_cases_without_weight_do_not_count(key):
    kept = np.arange(N) < 300
    weight = np.where(kept, 1.0, 0.0)
    for measure in FORMULAS:
        found = short(Y, P, measure, sample_weight=weight, **{key: np.where(kept, CLUSTER, -1)})
        alone = short(Y[:300], P[:300], measure, **{key: CLUSTER[:300]})
        assert (found.n, found.units) == (300, alone.units)
        assert found.error == pytest.approx(alone.error, rel=1e-10)


def test_indices_of_clusters_are_compared_with_the_forecasts():
    reversed_, cluster = pd.Series(P, index=np.arange(N)[::-1]), pd.Series(CLUSTER)
    with pytest.raises(InputValueError, match="the forecasts and cluster carry different indices"):
        estimate(Y, reversed_, cluster=cluster)
    assert estimate(Y, pd.Series(P), cluster=cluster).units == 25


def test_times_depend_on_their_neighbours():
    time = np.arange(N) // 4
    found = estimate(Y, P, period=time)
    compared = pr.compare(Y, {"a": P, "b": P + 0.5 * (0.5 - P)}, period=time)
    place = compared.ranks().model.tolist().index("a")
    assert (found.units, found.method) == (100, "Student's t, Bartlett weights over 13 periods, with imagined outcomes")
    assert found.error == pytest.approx(compared.ranks().error[place], rel=1e-12)
    assert found.low == pytest.approx(compared.ranks().low[place], rel=1e-12)


def test_views():
    found = estimate(Y, P, NetBenefit(0.3))
    assert repr(found).startswith("Finding(model=forecast, measure=net_benefit_at_0.3, value=")
    assert "dropped" not in repr(found)
    assert found.to_frame(backend="pandas").loc[0, "measure"] == "net_benefit_at_0.3"
    assert found.to_dict()["level"] == 0.95
    assert found.to_dict()["n"] == N
    assert isinstance(found.to_dict()["n"], int)


def test_what_is_refused():
    table = table_alone(Y, P)
    with pytest.raises(InputTypeError, match="holds no individual cases"):
        estimate(table.table())
    with pytest.raises(InputTypeError, match="pass it without cluster"):
        estimate(table, cluster=CLUSTER)
    with pytest.raises(InputTypeError, match="pass it without sample_weight"):
        estimate(table, sample_weight=WEIGHT)
    with pytest.raises(InputValueError, match="method must be one of"):
        estimate(Y, P, method="exact")
    with pytest.raises(InputValueError, match="level must lie strictly between 0 and 1"):
        estimate(Y, P, level=95)
    with pytest.raises(InputValueError, match="cluster must have one entry per case, 400 in all"):
        estimate(Y, P, cluster=CLUSTER[:5])
    with pytest.raises(InputValueError, match="n_resamples must be a positive whole number"):
        estimate(Y, P, n_resamples=0)
    for workers in (-1, 1.5):
        with pytest.raises(InputValueError, match="workers must be a positive whole number"):
            estimate(Y, P, workers=workers)
    with pytest.raises(InputValueError, match=r"one model must be chosen; there are \['a', 'b'\]"):
        estimate(pr.condense(Y, {"a": P, "b": P}))
    assert estimate(pr.condense(Y, {"a": P, "b": 1 - P}), "b").value == pytest.approx(pr.brier_score(Y, 1 - P))


@pytest.mark.parametrize("given", [(Y, P), (table_alone(Y, P), None)], ids=["cases", "table"])
def test_a_rule_for_rows_scores_one_event(given):
    rows, event = (estimate(*given, rule) for rule in (pr.RankedProbability(), pr.Brier()))
    assert rows.value == pytest.approx(event.value, rel=1e-12)
    assert rows.error == pytest.approx(event.error, rel=1e-9)


@pytest.mark.parametrize("key", ["cluster", "period"])
def test_a_stored_ledger_knows_its_clusters_and_times(key, tmp_path):
    pr.condense(Y, {"a": P}, **{key: CLUSTER}).to_parquet(tmp_path / "l")
    ledger = pr.Ledger.from_parquet(tmp_path / "l")
    for measure in (pr.Brier(), Skill(pr.Log())):
        one, other = estimate(ledger, None, measure), estimate(Y, P, measure, **{key: CLUSTER})
        assert (one.units, caveats(one), one.method) == (25, caveats(other), other.method)
        assert [one.low, one.high] == pytest.approx([other.low, other.high], rel=1e-10)
    part = short(ledger, None, Miscalibration())
    assert part.extra["raw"] == pytest.approx(Miscalibration().value(ForecastTable.from_predictions(Y, P)))
    assert part.units == 25
    assert np.isnan([part.low, part.high]).all()
    assert np.isnan(part.value)  # How large the noise is, clusters tell.
    assert caveats(part) == "an estimate of this measure needs the individual cases, which this ledger does not hold"


def test_few_cases_outside_the_most_frequent_class_are_told():
    rng = np.random.default_rng(5)
    rows = rng.dirichlet([30.0, 1.0, 1.0], 400)
    y = np.where(np.arange(400) < 12, 1 + np.arange(400) % 2, 0)
    told = "based on 12 cases outside the most frequent class: the interval may be too narrow"
    assert caveats(estimate(y, rows, pr.Brier())) == told
    found = pr.compare(y, {"a": rows, "b": rows[:, [0, 2, 1]]})
    assert notes_of(found.differences[0]) == f"{told[0].upper()}{told[1:]}.".replace("the interval", "intervals")
    even = np.arange(400) % 3
    assert caveats(estimate(even, rows, pr.Brier())) == ""


@pytest.mark.parametrize("measure", [pr.Brier(), pr.measures.AreaUnderRoc()], ids=["mean", "area"])
def test_an_interval_that_depends_on_few_heavy_cases_says_so(measure):
    weight = np.ones(len(Y))
    assert estimate(Y, P, measure, sample_weight=1 + np.arange(len(Y)) % 2).notes == ()
    weight[:6] = 1e6
    assert caveats(estimate(Y, P, measure, sample_weight=weight)) == (
        f"based on {len(Y)} cases (worth 6 of equal weight): the interval may be too narrow"
    )


@pytest.mark.parametrize("heavy", [1, 2])
def test_cases_that_outweigh_all_others_have_no_interval(heavy):
    rng = np.random.default_rng(1)
    p = rng.beta(2, 3, 300)
    y = (rng.random(300) < p).astype(int)
    weight = np.r_[np.full(heavy, 1e6), np.ones(300 - heavy)]
    ratio, area = pr.measures.ObservedExpected(), pr.measures.AreaUnderRoc()
    for measure in (pr.Brier(), pr.measures.NetBenefit(0.3), ratio, area):
        found = pr.estimate(y, p, measure, sample_weight=weight)
        assert np.isnan([found.low, found.high, found.error]).all()
        assert caveats(found) == "the cases are worth fewer than 3 of equal weight, too few for an interval"
    many = np.r_[np.full(4, 1e6), np.ones(296)]
    assert np.isfinite(pr.estimate(y, p, sample_weight=many).low)
