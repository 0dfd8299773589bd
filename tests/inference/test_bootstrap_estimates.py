"""Percentile intervals: against SciPy's, the same for any number of workers, and what draws cannot tell."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.bootstrap import Units
from propriety.inference.bootstrap_estimates import _loss_units
from propriety.inference.estimation import estimate
from propriety.inference.finding_words import caveats
from propriety.inference.measures.of_means import NetBenefit, Skill
from propriety.inference.measures.parts import Miscalibration
from propriety.inference.measures.ranking import AreaUnderRoc, TopKNetBenefit

RNG = np.random.default_rng(11)
N = 400
P = RNG.beta(1.5, 2.0, N)
Y = RNG.random(N) < P
WEIGHT = RNG.gamma(2.0, 1.0, N)
CLUSTER = np.arange(N) % 25


def name(measure):
    return type(measure).__name__


@pytest.mark.parametrize(
    ("measure", "values"),
    [
        pytest.param(pr.Brier(), (P - Y) ** 2, id="brier"),
        pytest.param(NetBenefit(0.3), np.where(P >= 0.3, np.where(Y, 1.0, -3 / 7), 0.0), id="benefit"),
    ],
)
def test_draws_agree_with_scipys_bootstrap(measure, values):
    ours = estimate(Y, P, measure, method="bootstrap", n_resamples=4000, seed=1)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=2000, batch=200, method="percentile", random_state=5)
    # The ends of 2,000 draws have a standard error of 0.06 of the spread.
    for one, other in zip((ours.low, ours.high), theirs.confidence_interval, strict=True):
        assert one == pytest.approx(other, abs=5 * 0.075 * theirs.standard_error)
    assert ours.error == pytest.approx(theirs.standard_error, rel=0.1)
    assert ours.extra == {"n_resamples": 4000, "seed": 1}


@pytest.mark.parametrize("measure", [pr.Brier(), AreaUnderRoc(), TopKNetBenefit(thresholds=0.2, share=0.1)], ids=name)
def test_draws_do_not_depend_on_the_workers(measure):
    one, two, other = (
        estimate(Y, P, measure, method="bootstrap", n_resamples=80, seed=seed, workers=workers)
        for seed, workers in ((1, 1), (1, 2), (2, 1))
    )
    assert (one.low, one.high) == (two.low, two.high)
    assert (one.low, one.high) != (other.low, other.high)


@pytest.mark.parametrize("measure", [pr.Log(), Skill(), AreaUnderRoc()], ids=name)
@pytest.mark.parametrize(
    "sampling", [{}, {"sample_weight": WEIGHT}, {"cluster": CLUSTER}], ids=["plain", "weights", "clusters"]
)
def test_draws_do_not_depend_on_the_order_of_the_cases(measure, sampling):
    order = RNG.permutation(N)
    mixed = {key: values[order] for key, values in sampling.items()}
    one = estimate(Y, P, measure, method="bootstrap", n_resamples=60, seed=1, **sampling)
    other = estimate(Y[order], P[order], measure, method="bootstrap", n_resamples=60, seed=1, **mixed)
    np.testing.assert_allclose([one.low, one.high], [other.low, other.high], rtol=1e-12)


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.3, 0.6, 0.9])), min_size=1, max_size=12),
    st.sampled_from([pr.Brier(), pr.Log()]),
)
def test_cells_of_a_table_are_as_good_as_its_cases(drawn, rule):
    y, p = (np.array(column) for column in zip(*drawn, strict=True))
    by_cell = _loss_units(pr.condense(y, {"a": p}), "a", rule, None)
    by_case = Units.of(pr.case_scores(y, p, rule=rule))
    assert by_cell.number == by_case.number == len(y)
    assert by_cell.mean == pytest.approx(by_case.mean, abs=1e-12)
    assert by_cell.count @ by_cell.deviation**2 == pytest.approx((by_case.deviation**2).sum(), abs=1e-12)


def test_many_cases_are_drawn_in_cells_and_the_method_says_so():
    p = RNG.random(20_000)
    found = estimate(RNG.random(20_000) < p, p, method="bootstrap", seed=1)
    told = re.fullmatch(
        r"percentile bootstrap of cases, in (\S+) cells of the loss with (\S+) of its variance inside, with imagined outcomes",
        found.method,
    )
    assert 900 < int(told[1].replace(",", "")) <= 1024
    assert float(told[2]) < 1e-5


def test_percentiles_never_hold_that_forecasts_are_calibrated():
    found = estimate(Y, P, Miscalibration(), method="bootstrap", n_resamples=60, seed=1)
    assert found.low > 0.0
    assert caveats(found).startswith("draws are higher than the value: the interval is not valid")


def test_one_case_has_no_interval_of_anything():
    found = estimate([1], [0.4], lambda table: table.event_rate, seed=1)
    assert (found.value, caveats(found)) == (1.0, "a single case or cluster has no spread")
    assert math.isnan(found.low)


@pytest.mark.parametrize(("level", "fewest"), [(0.95, 39), (0.9, 19), (0.5, 3)])
def test_percentiles_need_draws_beyond_them(level, fewest):
    found = estimate(Y, P, method="bootstrap", n_resamples=fewest, level=level, seed=1)
    assert found.low < found.high
    law = f"n_resamples must be at least {fewest} for percentiles at a level of {level}; got {fewest - 1}"
    with pytest.raises(InputValueError, match=law):
        estimate(Y, P, method="bootstrap", n_resamples=fewest - 1, level=level)
    assert estimate(Y, P, n_resamples=1, level=level).method == "Student's t, with imagined outcomes"


@pytest.mark.parametrize(
    "seed", ["a", -1, 1.5, True, np.random.default_rng(1)], ids=["text", "negative", "part", "bool", "generator"]
)
def test_seeds_are_judged(seed):
    with pytest.raises(InputValueError, match="seed must be a non-negative whole number; got"):
        estimate(Y, P, seed=seed)
    assert estimate(Y, P, method="bootstrap", seed=np.int64(3)).extra["seed"] == 3


@pytest.mark.parametrize(
    ("measure", "error", "law"),
    [
        pytest.param(
            lambda _: None, InputTypeError, "a measure must return a number; <lambda> returned NoneType", id="nothing"
        ),
        pytest.param(lambda _: "1", InputTypeError, "<lambda> returned str", id="text"),
        pytest.param(lambda _: np.array([0.5]), InputTypeError, "<lambda> returned ndarray", id="array"),
        pytest.param(lambda _: 1 // 0, InputValueError, "<lambda> failed with ZeroDivisionError", id="no value"),
    ],
)
def test_the_users_own_function_must_return_a_number(measure, error, law):
    with pytest.raises(error, match=law):
        estimate(Y, P, measure)


def test_draws_in_which_the_users_own_function_fails_have_no_value():
    y, p = [1] + [0] * 40, np.full(41, 0.1)
    found = estimate(y, p, lambda table: 1 / int(table.events.sum()), seed=1)
    assert caveats(found).endswith("of 1,000 draws have no value")


def test_infinite_draws_are_ends_as_others():
    found = estimate(Y, P, lambda table: math.inf if table.event_rate > Y.mean() else 0.0, n_resamples=50, seed=1)
    assert found.low == 0.0
    assert not math.isfinite(found.high)
    assert math.isnan(found.error)


def test_draws_without_a_value_are_counted():
    y, p = [0] * 30 + [1] * 4, np.append(np.arange(30) / 40, [0.31, 0.52, 0.6, 0.9])
    found = estimate(y, p, AreaUnderRoc(), method="bootstrap", seed=1)
    assert " of 1,000 draws have no value" in found.method
    assert 0.3 < found.low < found.value < found.high
    none = estimate(y[:31], p[:31], AreaUnderRoc(), method="bootstrap", seed=1)
    assert np.isnan([none.low, none.high]).all()
    assert caveats(none).endswith(" of 1,000 draws have no value")


def test_the_users_own_function():
    found = estimate(Y, P, lambda table: table.event_rate, seed=1)
    assert found.method == "percentile bootstrap of table cells"
    assert found.error == pytest.approx(stats.sem(Y), rel=0.1)
    clustered = estimate(Y, P, lambda table: table.event_rate, seed=1, cluster=CLUSTER)
    assert clustered.method == "percentile bootstrap of clusters"
    with pytest.raises(InputValueError, match="there is no formula for <lambda>"):
        estimate(Y, P, lambda table: table.event_rate, method="analytic")


def test_skill_under_an_improper_rule_is_drawn():
    rule = pr.ShiftedBrier(0.2, weighted=False)
    assert estimate(Y, P, Skill(rule), n_resamples=39, seed=1).method == (
        "percentile bootstrap of table cells, with imagined outcomes"
    )


def test_neighbours_in_time_count_as_independent_and_the_note_says_so():
    found = estimate(Y, P, lambda table: table.event_rate, period=np.arange(N), seed=1)
    assert caveats(found) == "neighbouring periods count as independent: the interval may be too narrow"
    assert found.units == N


@pytest.mark.parametrize("measure", [pr.Brier(), TopKNetBenefit(k=40, thresholds=0.2)], ids=name)
def test_times_are_drawn_whole_like_clusters(measure):
    how = {"method": "bootstrap", "n_resamples": 99, "seed": 1}
    timed, clustered = (estimate(Y, P, measure, **{unit: CLUSTER}, **how) for unit in ("period", "cluster"))
    assert timed.method.startswith("percentile bootstrap of periods")
    assert (timed.low, timed.high) == (clustered.low, clustered.high)
    pair = {"a": P, "b": np.roll(P, 1)}
    found = [pr.compare(Y, pair, measure, **{unit: CLUSTER}, **how) for unit in ("period", "cluster")]
    assert found[0].differences.error[0] == found[1].differences.error[0]
    assert found[0].differences.p[0] == found[1].differences.p[0]
