"""Intervals: formulas against brute force, draws against SciPy's, and what a sample cannot tell."""

import math
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import propriety as pr
from propriety.calibration.pav import pool_adjacent_violators
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.delong import delong
from propriety.inference.intervals import interval, interval_of_mean
from propriety.inference.measures import (
    AreaUnderRoc,
    Discrimination,
    Miscalibration,
    NetBenefit,
    Skill,
    TopKNetBenefit,
    read_measure,
)
from propriety.inference.moments import loss_moments
from propriety.inference.samples import Sample, overfits

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
]
SAMPLING = [{}, {"sample_weight": WEIGHT}, {"cluster": CLUSTER}, {"sample_weight": WEIGHT, "cluster": CLUSTER}]
KINDS = ["plain", "weights", "clusters", "both"]
short = partial(interval, n_resamples=40, seed=1)

samples = st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.25, 0.5, 0.9])), min_size=4, max_size=12).filter(
    lambda drawn: 0 < sum(case[0] for case in drawn) < len(drawn)
)


def name(of):
    return f"{type(of).__name__} {getattr(of, 'rule', '')}"


def test_the_interval_of_a_mean_is_students():
    losses = pr.case_scores(Y, P, rule=pr.Log())
    found = interval(Y, P, of=pr.Log(), level=0.9)
    low, high = stats.t.interval(0.9, N - 1, losses.mean(), stats.sem(losses))
    np.testing.assert_allclose([found.low, found.high], [low, high], rtol=1e-12)
    assert found.standard_error == pytest.approx(stats.sem(losses), rel=1e-12)
    assert (found.method, found.measure, found.n, found.seed) == ("Student's t", "mean Log()", N, None)


@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
def test_errors_of_means_are_those_of_the_moments(sampling):
    moments = loss_moments(Y, {"a": P}, **sampling)
    found = interval(Y, P, **sampling)
    assert found.estimate == pytest.approx(moments.means[0], rel=1e-12)
    assert found.standard_error == pytest.approx(moments.standard_errors()[0], rel=1e-12)
    margin = stats.t(moments.units - 1).ppf(0.975) * found.standard_error
    assert found.high - found.estimate == pytest.approx(margin, rel=1e-12)
    assert found.clusters == (25 if "cluster" in sampling else None)


@settings(max_examples=50)
@given(samples, st.sampled_from([0, 1, 3, 4, 5, 6, 7, 8]))
def test_a_table_stands_for_its_predictions(drawn, which):
    y, p = zip(*drawn, strict=True)
    one, other = short(y, p, of=FORMULAS[which]), short(pr.ForecastTable.from_predictions(y, p), of=FORMULAS[which])
    for field in ("estimate", "low", "high", "standard_error"):
        np.testing.assert_allclose(getattr(one, field), getattr(other, field), rtol=1e-9, atol=1e-12)
    assert (one.n, one.note, one.method) == (other.n, other.note, other.method)


@pytest.mark.parametrize("of", FORMULAS, ids=name)
def test_equal_weights_change_nothing(of):
    plain, weighted = (interval(Y, P, of=of, n_resamples=200, seed=1, sample_weight=w) for w in (None, np.full(N, 3.0)))
    # Outcomes are drawn by case or by row, so that only the drawn bias of the parts may differ.
    atol = 0.35 * plain.standard_error if plain.bias is not None else 0.0
    np.testing.assert_allclose([weighted.low, weighted.high], [plain.low, plain.high], rtol=1e-10, atol=atol)
    assert weighted.standard_error == pytest.approx(plain.standard_error, rel=1e-10)


@pytest.mark.parametrize("of", FORMULAS, ids=name)
@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
def test_the_formula_spreads_as_draws_do(of, sampling):
    formula = short(Y, P, of=of, **sampling)
    draws = interval(Y, P, of=of, method="bootstrap", n_resamples=200, seed=2, **sampling)
    assert formula.estimate == pytest.approx(draws.estimate, rel=1e-12)
    assert formula.standard_error == pytest.approx(draws.standard_error, rel=0.3)
    assert formula.low <= formula.high


@pytest.mark.parametrize("of", FORMULAS, ids=name)
def test_the_estimate_is_that_of_the_table(of):
    table = pr.ForecastTable.from_predictions(Y, P, sample_weight=WEIGHT)
    expected = of.of(table) if hasattr(of, "of") else pr.mean_score(table, rule=of)
    assert short(Y, P, of=of, sample_weight=WEIGHT).estimate == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("of", "rule"), [(pr.Brier(), (P - Y) ** 2), (NetBenefit(0.3), None)], ids=["brier", "benefit"]
)
def test_draws_agree_with_scipys_bootstrap(of, rule):
    values = np.where(P >= 0.3, np.where(Y, 1.0, -3 / 7), 0.0) if rule is None else rule
    ours = interval(Y, P, of=of, method="bootstrap", n_resamples=4000, seed=1)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=2000, batch=200, method="percentile", random_state=5)
    # The ends of 2,000 draws have a standard error of 0.06 of the spread.
    for one, other in zip((ours.low, ours.high), theirs.confidence_interval, strict=True):
        assert one == pytest.approx(other, abs=5 * 0.075 * theirs.standard_error)
    assert ours.standard_error == pytest.approx(theirs.standard_error, rel=0.1)
    assert (ours.n_resamples, ours.seed) == (4000, 1)


@pytest.mark.parametrize("of", [pr.Brier(), AreaUnderRoc(), TopKNetBenefit(cost=0.2, share=0.1)], ids=name)
def test_draws_do_not_depend_on_the_workers(of):
    one, two, other = (
        interval(Y, P, of=of, method="bootstrap", n_resamples=80, seed=seed, workers=workers)
        for seed, workers in ((1, 1), (1, 2), (2, 1))
    )
    assert (one.low, one.high) == (two.low, two.high)
    assert (one.low, one.high) != (other.low, other.high)


def test_many_cases_are_drawn_in_cells_and_the_method_says_so():
    p = RNG.random(20_000)
    found = interval(RNG.random(20_000) < p, p, method="bootstrap", seed=1)
    told = re.fullmatch(
        r"percentile bootstrap of cases, in (\S+) cells of the loss with (\S+) of its variance inside", found.method
    )
    assert 900 < int(told[1].replace(",", "")) <= 1024
    assert float(told[2]) < 1e-5


def test_auc_is_that_of_delong():
    for sampling in SAMPLING:
        found, areas = interval(Y, P, of=AreaUnderRoc(), **sampling), delong(Y, {"a": P}, **sampling)
        np.testing.assert_allclose(
            [found.estimate, found.standard_error, found.low, found.high],
            [areas.auc[0], areas.standard_error[0], areas.low[0], areas.high[0]],
            rtol=1e-10,
        )


def test_net_benefit_is_a_mean_of_which_more_is_better():
    values = np.where(P >= 0.3, np.where(Y, 1.0, -3 / 7), 0.0)
    found = interval(Y, P, of=NetBenefit(0.3))
    np.testing.assert_allclose(
        [found.low, found.high], stats.t.interval(0.95, N - 1, values.mean(), stats.sem(values)), rtol=1e-10
    )
    assert found.higher_is_better


@pytest.mark.parametrize("of", [Miscalibration(), Discrimination(), Miscalibration(pr.Log())], ids=name)
def test_parts_are_corrected_for_what_recalibration_overfits(of):
    found = interval(Y, P, of=of, n_resamples=300, seed=1)
    assert found.bias > 0.0
    centre = found.estimate - found.bias
    table = pr.ForecastTable.from_predictions(Y, P)
    rates = pool_adjacent_violators(table).per_row()
    varies = overfits(Sample.of_table(table), of.rule, rates, n_resamples=300, seed=1).std()
    margin = stats.norm.ppf(0.975) * math.hypot(found.standard_error, varies)
    assert found.low == pytest.approx(max(centre - margin, 0.0), abs=1e-12)
    assert found.high == pytest.approx(max(centre + margin, 0.0), abs=1e-12)


def test_the_bias_is_what_calibrated_forecasts_show():
    p = np.repeat([0.2, 0.4, 0.6, 0.8], 250)
    y = np.concatenate([np.arange(250) < 250 * rate for rate in (0.2, 0.4, 0.6, 0.8)])
    found = interval(y, p, of=Miscalibration(), n_resamples=400, seed=1)
    rng = np.random.default_rng(2)
    shown = [pr.decompose(rng.random(1000) < p, p).miscalibration for _ in range(400)]
    assert found.estimate == pytest.approx(0.0, abs=1e-12)
    assert found.bias == pytest.approx(np.mean(shown), rel=0.15)
    assert found.low == 0.0
    assert found.high == pytest.approx(max(stats.norm.ppf(0.975) * np.std(shown) - np.mean(shown), 0.0), rel=0.25)


@pytest.mark.parametrize(
    ("of", "forecasts", "rates"),
    [
        pytest.param(Miscalibration(), [0.5], [0.52], id="MCB, one value"),
        pytest.param(Miscalibration(), [0.3, 0.5, 0.7], [0.35, 0.55, 0.65], id="MCB, three values"),
        pytest.param(Discrimination(), [0.4, 0.6], [0.48, 0.52], id="DSC, two values"),
        pytest.param(Discrimination(), [0.4, 0.6], [0.5, 0.5], id="no DSC"),
    ],
)
def test_parts_next_to_zero_hold_the_truth_and_never_claim_certainty(of, forecasts, rates):
    p, rate = np.resize(forecasts, 240), np.resize(rates, 240)
    truth = of.of(
        pr.ForecastTable.from_predictions(
            np.repeat([1, 0], 240), np.tile(p, 2), sample_weight=np.append(rate, 1 - rate)
        )
    )
    rng = np.random.default_rng(8)
    held = []
    for seed in range(60):
        found = interval(rng.random(240) < rate, p, of=of, n_resamples=40, seed=seed)
        assert found.high > 0.0
        held.append(found.low - 1e-12 <= truth <= found.high)
    assert np.mean(held) > 0.9


@pytest.mark.parametrize(("of", "truth"), [(Miscalibration(), 0.0), (Discrimination(), 1 / 12)], ids=["MCB", "DSC"])
def test_corrected_parts_hold_the_truth(of, truth):
    rng = np.random.default_rng(5)
    held = []
    for seed in range(20):
        p = rng.random(200)
        found = interval(rng.random(200) < p, p, of=of, n_resamples=30, seed=seed)
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) > 0.8


def test_percentiles_never_hold_that_forecasts_are_calibrated():
    assert interval(Y, P, of=Miscalibration(), method="bootstrap", n_resamples=60, seed=1).low > 0.0


def test_classes_have_means_and_skill():
    rng = np.random.default_rng(1)
    rows = rng.dirichlet([1, 2, 3], 300)
    y = np.array([rng.choice(3, p=row) for row in rows])
    losses = pr.case_scores(y, rows, rule=pr.RankedProbability())
    found = interval(y, rows, of=pr.RankedProbability())
    np.testing.assert_allclose(
        [found.low, found.high], stats.t.interval(0.95, 299, losses.mean(), stats.sem(losses)), rtol=1e-12
    )
    skill = interval(y, rows, of=Skill(pr.Log()))
    assert skill.estimate == pytest.approx(pr.skill_score(y, rows, rule=pr.Log()), rel=1e-12)
    picks = rng.integers(0, 300, (400, 300))
    draws = [pr.skill_score(y[pick], rows[pick], rule=pr.Log()) for pick in picks]
    assert skill.standard_error == pytest.approx(np.std(draws), rel=0.2)
    assert interval(y, rows, method="bootstrap", seed=1).method == "percentile bootstrap of cases"
    with pytest.raises(InputValueError, match=r"area under the ROC curve needs the forecast of one event; got shape"):
        interval(y, rows, of=AreaUnderRoc())
    with pytest.raises(InputValueError, match=r"skill under Log\(\) needs the forecast of one event"):
        interval(y, rows, of=Skill(pr.Log()), method="bootstrap")


@pytest.mark.parametrize("method", ["analytic", "bootstrap"])
def test_an_infinite_mean_has_no_interval(method):
    found = interval([0, 1, 1], [0.2, 0.0, 0.4], of=pr.Log(), method=method)
    assert found.estimate == math.inf
    assert np.isnan([found.low, found.high]).all()
    assert found.note == "what was called impossible happened: the mean is infinite"
    for of, estimate in ((Miscalibration(pr.Log()), math.inf), (Skill(pr.Log()), -math.inf)):
        other = interval([0, 1, 1], [0.2, 0.0, 0.4], of=of, method=method, n_resamples=39)
        assert (other.estimate, other.note) == (estimate, found.note)
        assert math.isnan(other.low)


@pytest.mark.parametrize("method", ["analytic", "bootstrap"])
def test_a_single_case_has_no_interval(method):
    found = interval([1], [0.7], method=method)
    assert found.estimate == pytest.approx(0.09)
    assert np.isnan([found.low, found.high, found.standard_error]).all()
    assert found.note == "a single case or cluster has no spread"
    assert np.isnan(interval([1, 0], [0.7, 0.2], cluster=["a", "a"]).low)
    assert interval([1], [0.7], of=Miscalibration(), n_resamples=2).note == found.note


@pytest.mark.parametrize(
    "of", [lambda table: table.event_rate, Miscalibration(), AreaUnderRoc()], ids=["own", "part", "area"]
)
@pytest.mark.parametrize("method", ["auto", "bootstrap"])
def test_one_cluster_has_no_interval(of, method):
    found = interval(Y, P, of=of, cluster=np.zeros(N), method=method, seed=1)
    assert np.isnan([found.low, found.high]).all()
    assert found.note.endswith("cluster has no spread")


def test_one_case_has_no_interval_of_anything():
    found = interval([1], [0.4], of=lambda table: table.event_rate, seed=1)
    assert (found.estimate, found.note) == (1.0, "a single case or cluster has no spread")
    assert math.isnan(found.low)


@pytest.mark.parametrize("method", ["auto", "bootstrap"])
@pytest.mark.parametrize(
    ("y", "p", "of"),
    [
        pytest.param([0, 1] * 10, [0.1, 0.9] * 10, pr.Misclassification(), id="no errors"),
        pytest.param([0, 1] * 10, [0.1, 0.2] * 10, NetBenefit(0.5), id="nobody acted on"),
        pytest.param([0, 1] * 10, [0, 1] * 10, pr.Brier(), id="a perfect model"),
        pytest.param([0, 1] * 10, [0, 1] * 10, Skill(), id="its skill"),
        pytest.param([0, 1] * 10, [0, 1] * 10, Miscalibration(), id="its miscalibration"),
        pytest.param([0, 0, 1] * 100, [0.5] * 300, pr.Log(), id="rounding"),
        pytest.param([1] * 20, [0.3, 0.4] * 10, lambda table: table.event_rate, id="events alone"),
    ],
)
def test_what_does_not_vary_has_no_interval(y, p, of, method):
    found = interval(y, p, of=of, method=method, n_resamples=40, seed=1)
    assert np.isnan([found.low, found.high]).all()
    assert found.standard_error == 0.0
    assert found.note == "nothing varies in the sample: there is no spread to make an interval from"


def test_limits_stay_in_the_range_of_the_rule():
    found = interval([0, 1, 1], [0.05, 0.95, 0.4])
    assert found.low == 0.0
    assert found.estimate + stats.t(2).ppf(0.975) * found.standard_error == pytest.approx(found.high)
    assert interval([0, 1, 1], [0.95, 0.05, 0.4]).high == 1.0
    classes = np.eye(3)[[1, 2, 0, 0]] * 0.9 + 0.1 / 3
    assert 1.0 < interval([0, 1, 2, 0], classes, level=0.999).high <= 2.0
    worth = interval([0, 1, 1], [0.6, 0.7, 0.8], of=NetBenefit(0.5), level=0.999)
    assert (worth.low, worth.high) == (-1.0, 1.0)
    moments = loss_moments([0, 1, 1], {"a": [0.05, 0.95, 0.4]})
    assert interval_of_mean(moments, 0, read_measure(pr.Brier())).low == 0.0
    # Log losses have no upper end.
    assert interval([0, 1, 1], [0.95, 0.05, 0.4], of=pr.Log()).high > 4.0


def test_many_rows_take_fewer_draws_and_the_method_says_so(monkeypatch):
    monkeypatch.setattr("propriety.inference.samples.WORK", 10_000)
    found = interval(Y, P, of=Miscalibration(), seed=1)
    assert found.n_resamples == 10_000 // N
    assert found.method.endswith(f"at the recalibrated rates, {10_000 // N} of them for {N} rows")
    assert interval(Y, P, of=Miscalibration(), seed=1, n_resamples=22).method.endswith("at the recalibrated rates")


def test_weights_of_any_size_are_drawn():
    large, plain = (
        interval(Y, P, of=Miscalibration(), sample_weight=w, n_resamples=40, seed=1) for w in (WEIGHT * 1e20, WEIGHT)
    )
    assert (large.low, large.high) == pytest.approx((plain.low, plain.high), rel=1e-9)


@pytest.mark.parametrize(("level", "fewest"), [(0.95, 39), (0.9, 19), (0.5, 3)])
def test_percentiles_need_draws_beyond_them(level, fewest):
    found = interval(Y, P, method="bootstrap", n_resamples=fewest, level=level, seed=1)
    assert found.low < found.estimate < found.high
    law = f"n_resamples must be at least {fewest} for percentiles at a level of {level}; got {fewest - 1}"
    with pytest.raises(InputValueError, match=law):
        interval(Y, P, method="bootstrap", n_resamples=fewest - 1, level=level)
    assert interval(Y, P, n_resamples=1, level=level).method == "Student's t"


@pytest.mark.parametrize(
    "seed", ["a", -1, 1.5, True, np.random.default_rng(1)], ids=["text", "negative", "part", "bool", "generator"]
)
def test_seeds_are_judged(seed):
    with pytest.raises(InputValueError, match="seed must be a whole number, not negative, or None for a new one; got"):
        interval(Y, P, seed=seed)
    assert interval(Y, P, method="bootstrap", seed=np.int64(3)).seed == 3


@pytest.mark.parametrize(
    ("of", "error", "law"),
    [
        pytest.param(
            lambda _: None, InputTypeError, "of must return a number; <lambda> returned NoneType", id="nothing"
        ),
        pytest.param(lambda _: "1", InputTypeError, "<lambda> returned str", id="text"),
        pytest.param(lambda _: np.array([0.5]), InputTypeError, "<lambda> returned ndarray", id="array"),
        pytest.param(lambda _: 1 // 0, InputValueError, "<lambda> failed with ZeroDivisionError", id="no value"),
    ],
)
def test_the_users_own_function_must_return_a_number(of, error, law):
    with pytest.raises(error, match=law):
        interval(Y, P, of=of)


def test_draws_in_which_the_users_own_function_fails_have_no_value():
    y, p = [1] + [0] * 40, np.full(41, 0.1)
    found = interval(y, p, of=lambda table: 1 / int(table.events.sum()), seed=1)
    assert found.note.endswith("of 1,000 draws have no value")


def test_indices_of_clusters_are_compared_with_the_forecasts():
    reversed_, cluster = pd.Series(P, index=np.arange(N)[::-1]), pd.Series(CLUSTER)
    with pytest.raises(InputValueError, match="the forecasts and cluster carry different indices"):
        interval(Y, reversed_, cluster=cluster)
    assert interval(Y, pd.Series(P), cluster=cluster).clusters == 25


def test_infinite_draws_are_ends_as_others():
    found = interval(Y, P, of=lambda table: math.inf if table.event_rate > Y.mean() else 0.0, n_resamples=50, seed=1)
    assert found.low == 0.0
    assert not math.isfinite(found.high)
    assert math.isnan(found.standard_error)


def test_areas_without_an_interval_say_why():
    apart = interval([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], of=AreaUnderRoc())
    assert (apart.estimate, apart.note) == (1.0, "events and non-events do not overlap")
    single = interval([0, 0, 1], [0.1, 0.7, 0.5], of=AreaUnderRoc())
    assert single.note == "a single event, non-event or cluster has no spread"
    with pytest.raises(InputValueError, match="needs cases with and without the event; there are no events"):
        interval([0, 0], [0.1, 0.2], of=AreaUnderRoc())


def test_skill_needs_something_to_improve_on():
    with pytest.raises(InputValueError, match="the reference must have a positive, finite loss"):
        interval([1, 1], [0.5, 0.7], of=Skill())


def test_few_events_and_few_clusters_are_told():
    y = np.arange(100) < 5
    assert interval(y, np.full(100, 0.1)).note == "rests on 5 events: it may be too narrow"
    told = interval(~y[:30], np.full(30, 0.1), cluster=np.arange(30) % 4).note
    assert told == "rests on 4 clusters, 25 events, 5 non-events: it may be too narrow"
    assert interval(np.arange(100) < 1, np.full(100, 0.1)).note == "rests on 1 event: it may be too narrow"
    assert interval(Y, P).note == ""


def test_draws_without_a_value_are_counted():
    y, p = [0] * 30 + [1] * 4, np.append(np.arange(30) / 40, [0.31, 0.52, 0.6, 0.9])
    found = interval(y, p, of=AreaUnderRoc(), method="bootstrap", seed=1)
    assert " of 1,000 draws have no value" in found.method
    assert 0.3 < found.low < found.estimate < found.high
    none = interval(y[:31], p[:31], of=AreaUnderRoc(), method="bootstrap", seed=1)
    assert np.isnan([none.low, none.high]).all()
    assert none.note.endswith(" of 1,000 draws have no value")


def test_the_users_own_function():
    found = interval(Y, P, of=lambda table: table.event_rate, seed=1)
    assert found.method == "percentile bootstrap of table cells"
    assert found.standard_error == pytest.approx(stats.sem(Y), rel=0.1)
    clustered = interval(Y, P, of=lambda table: table.event_rate, seed=1, cluster=CLUSTER)
    assert clustered.method == "percentile bootstrap of clusters"
    with pytest.raises(InputValueError, match="there is no formula for <lambda>"):
        interval(Y, P, of=lambda table: table.event_rate, method="analytic")


def test_skill_under_an_improper_rule_is_drawn():
    rule = pr.ShiftedBrier(0.2, weighted=False)
    assert interval(Y, P, of=Skill(rule), n_resamples=39, seed=1).method == "percentile bootstrap of table cells"


def test_a_wider_level_is_wider():
    for of in FORMULAS[:-2]:
        narrow, wide = (interval(Y, P, of=of, level=level) for level in (0.8, 0.99))
        assert wide.low < narrow.low < narrow.estimate < narrow.high < wide.high


def test_missing_values_are_dropped_from_everything():
    y = [None, *Y.tolist()]
    found = interval(y, [0.5, *P], cluster=["x", *CLUSTER.tolist()], missing="drop")
    whole = interval(Y, P, cluster=CLUSTER)
    assert (found.low, found.high, found.dropped, found.n) == (whole.low, whole.high, 1, N)


def test_cases_without_weight_do_not_count():
    weight = np.where(np.arange(N) < 300, 1.0, 0.0)
    for of in FORMULAS:
        found = short(Y, P, of=of, sample_weight=weight, cluster=CLUSTER * (np.arange(N) < 300) - (np.arange(N) >= 300))
        kept = short(Y[:300], P[:300], of=of, cluster=CLUSTER[:300])
        assert (found.n, found.clusters) == (300, 25)
        assert found.standard_error == pytest.approx(kept.standard_error, rel=1e-10)


def test_views():
    found = interval(Y, P, of=NetBenefit(0.3))
    assert repr(found).startswith("Interval(estimate=")
    assert "dropped" not in repr(found)
    assert found.to_frame(backend="pandas").loc[0, "measure"] == "net benefit at 0.3"
    assert found.to_dict()["level"] == 0.95


def test_what_is_refused():
    table = pr.ForecastTable.from_predictions(Y, P)
    with pytest.raises(InputTypeError, match="clusters need predictions, y_true and y_proba"):
        interval(table, cluster=CLUSTER)
    with pytest.raises(InputTypeError, match="pass no sample_weight beside it"):
        interval(table, sample_weight=WEIGHT)
    weighted = pr.ForecastTable.from_predictions(Y, P, sample_weight=WEIGHT)
    with pytest.raises(InputValueError, match="needs the weight of each case, which a weighted ForecastTable"):
        interval(weighted)
    with pytest.raises(InputValueError, match="RankedProbability scores rows with one column per class"):
        interval(table, of=pr.RankedProbability())
    with pytest.raises(InputValueError, match="method must be one of"):
        interval(Y, P, method="exact")
    with pytest.raises(InputValueError, match="level must lie strictly between 0 and 1"):
        interval(Y, P, level=95)
    with pytest.raises(InputValueError, match="cluster must have one entry per case, 400 in all"):
        interval(Y, P, cluster=CLUSTER[:5])
    with pytest.raises(InputValueError, match="n_resamples must be a positive whole number"):
        interval(Y, P, n_resamples=0)


def test_an_estimate_beyond_its_limits_says_why():
    rng = np.random.default_rng(1)
    p = rng.random(500)
    found = interval(rng.random(500) < p, p, of=Miscalibration(), seed=1)
    assert found.estimate > found.high
    assert "chance alone adds to the estimate" in found.note
    bold = interval(rng.random(500) < 0.5 + 0.3 * (p - 0.5), p, of=Miscalibration(), seed=1)
    assert bold.low < bold.estimate < bold.high
    assert not bold.note
