"""Groups by any measure, by several keys, of ledgers and lazy frames: each as it would be by itself."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit, logit
from sliced import slices

import propriety as pr
from propriety.inference.estimation import estimate

RNG = np.random.default_rng(9)
N = 1200
P = RNG.beta(1, 2, N)
Q = np.clip(P + RNG.normal(0, 0.2, N), 0.001, 0.999)
MODELS = {"p": P, "q": Q}
SITE = RNG.choice(["a", "b", "c", "tiny"], N, p=[0.5, 0.3, 0.19, 0.01])
DAY = RNG.integers(0, 2, N)
Y = RNG.random(N) < P
WEIGHT = RNG.gamma(2.0, 1.0, N)
CLUSTER = RNG.integers(0, 60, N)
SAMPLING = [{}, {"sample_weight": WEIGHT}, {"cluster": CLUSTER}, {"period": CLUSTER}]
KINDS = ["plain", "weights", "clusters", "times"]
COLUMNS = ("value", "low", "high", "difference", "p_value", "p_adjusted", "excess", "excess_low")
FRAME = pl.DataFrame({"y": Y, **MODELS, "site": SITE, "day": DAY, "w": WEIGHT, "c": CLUSTER})


def name(measure):
    return type(measure).__name__


def assert_same(one, other, rtol=1e-9):
    assert one.group.tolist() == other.group.tolist()
    assert one.note.tolist() == other.note.tolist()
    for column in COLUMNS:
        np.testing.assert_allclose(getattr(one, column), getattr(other, column), rtol=rtol, atol=1e-12, err_msg=column)
    assert one.overall == pytest.approx(other.overall, rel=1e-10)


@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
@pytest.mark.parametrize(
    "measure", [pr.measures.AreaUnderRoc(), pr.measures.ObservedExpected(), pr.measures.Skill(pr.Log())], ids=name
)
def test_each_group_is_estimated_as_by_itself(measure, sampling):
    found = slices(Y, MODELS, measure, by=SITE, **sampling)
    for row, (model, group) in enumerate(zip(found.model, found.group, strict=True)):
        own = group == SITE
        options = {key: values[own] for key, values in sampling.items()}
        alone = estimate(Y[own], MODELS[model][own], measure, **options)
        assert found.value[row] == pytest.approx(alone.value, rel=1e-10)
        limits = [math.nan, math.nan] if group == "tiny" else [alone.low, alone.high]
        np.testing.assert_allclose([found.low[row], found.high[row]], limits, rtol=1e-10)
    assert found.overall["q"] == pytest.approx(estimate(Y, Q, measure, **sampling).value, rel=1e-10)


def test_groups_are_tested_against_all_other_cases_by_both_errors():
    found = slices(Y, MODELS, pr.measures.AreaUnderRoc(), by=SITE)
    own = SITE == "b"
    here, there = (estimate(Y[chosen], P[chosen], pr.measures.AreaUnderRoc()) for chosen in (own, ~own))
    assert found.difference[1] == pytest.approx(here.value - there.value, rel=1e-10)
    statistic = (here.value - there.value) / math.hypot(here.error, there.error)
    assert 2 * stats.norm.sf(abs(statistic)) <= found.p_value[1] < 1.05 * 2 * stats.norm.sf(abs(statistic))
    assert np.isnan(found.p_value[3])


def test_groups_that_share_clusters_are_tested_by_the_contributions_of_the_clusters():
    """Observed/expected by hand: the influence of a case is (y - r p) / mean(p)."""
    own = SITE == "b"
    sums, errors = [], []
    for side in (own, ~own):
        ratio = Y[side].sum() / P[side].sum()
        sums.append(np.bincount(CLUSTER[side], (Y - ratio * P)[side] / P[side].sum(), minlength=60))
        errors.append(estimate(Y[side], P[side], pr.measures.ObservedExpected(), cluster=CLUSTER[side]).error)
    error = math.sqrt(errors[0] ** 2 + errors[1] ** 2 - 2.0 * (sums[0] * sums[1]).sum())
    assert abs(2.0 * (sums[0] * sums[1]).sum()) > 0.05 * error**2
    found = slices(Y, P, pr.measures.ObservedExpected(), by=SITE, cluster=CLUSTER)
    # Clusters are of about equal size, so that the degrees of freedom are about their number.
    assert found.p_value[1] == pytest.approx(2 * stats.t(59).sf(abs(found.difference[1]) / error), rel=0.02)
    assert found.note.tolist()[:3] == [""] * 3


@pytest.mark.simulation
@pytest.mark.parametrize("unit", ["cluster", "period"])
@pytest.mark.parametrize(
    "measure",
    [pr.Brier(), pr.measures.Skill(), pr.measures.AreaUnderRoc(), pr.measures.ObservedExpected()],
    ids=lambda one: type(one).__name__,
)
def test_two_groups_that_share_clusters_or_times_differ_as_often_as_chance_allows(measure, unit):
    """Both groups have a common and an own state in each cluster or time, and neighbouring periods are alike."""
    rng = np.random.default_rng(5)
    code, group = np.repeat(np.arange(90), 6), np.tile(np.arange(6) % 2, 90)
    rejected = 0
    for _ in range(60):
        state = rng.normal(size=(3, 90))
        for step in range(1, 90 if unit == "period" else 0):
            state[:, step] = 0.7 * state[:, step - 1] + 0.7 * state[:, step]
        p = expit(rng.normal(size=540))
        y = rng.random(540) < expit(logit(p) + state[0, code] + 0.7 * state[1 + group, code])
        rejected += slices(y, p, measure, by=group, **{unit: code}).p_value[0] < 0.05
    assert rejected <= 9


def test_calibration_in_the_large_of_groups_allows_for_neighbouring_times():
    """Days that follow each other are alike: with times as independent, a third of the intervals would miss."""
    rng = np.random.default_rng(6)
    code, group = np.repeat(np.arange(120), 6), np.tile(np.arange(6) % 2, 120)
    covered = {"period": 0, "cluster": 0}
    for _ in range(60):
        state = rng.normal(size=(2, 120))
        for step in range(1, 120):
            state[:, step] = 0.7 * state[:, step - 1] + 0.7 * state[:, step]
        y = rng.random(720) < expit(2.0 * state[group, code])
        for unit in covered:
            found = slices(y, np.full(720, 0.5), by=group, **{unit: code})
            covered[unit] += found.excess_low[0] < 0.0 < found.excess_high[0]
    assert covered["period"] >= 50
    assert covered["cluster"] <= 45


def test_the_limits_of_a_group_in_time_are_those_of_its_cases_alone():
    own = SITE == "b"
    found, alone = slices(Y, P, by=SITE, period=CLUSTER), estimate(Y[own], P[own], period=CLUSTER[own])
    assert [found.low[1], found.high[1]] == pytest.approx([alone.low, alone.high], rel=1e-10)


def test_groups_that_share_clusters_have_no_test_if_the_influence_of_cases_is_not_known(tmp_path):
    across, hint = slices(Y, P, pr.measures.Miscalibration(), by=SITE, cluster=CLUSTER), "shares clusters or periods"
    assert all(hint in note for note in across.note[:3])
    assert np.isfinite(across.difference[:3]).all()
    assert not across.is_too_small[:3].any()
    apart = [f"{site}{one}" for site, one in zip(SITE, CLUSTER, strict=True)]
    inside = slices(Y, P, pr.measures.Miscalibration(), by=SITE, cluster=apart)
    assert np.isfinite(inside.p_value[:3]).all()


@pytest.mark.parametrize("measure", [pr.measures.Miscalibration(), pr.measures.Discrimination(pr.Log())], ids=name)
def test_parts_of_scores_are_corrected_for_noise_in_small_groups_and_overall_too(measure):
    found = slices(Y, P, measure, by=SITE, n_resamples=99, seed=1)
    for group, value in zip(found.group, found.value, strict=True):
        own = group == SITE
        assert value == pytest.approx(estimate(Y[own], P[own], measure, n_resamples=99, seed=1).value)
    assert found.note[-1].startswith("too few")
    assert found.overall["forecast"] == pytest.approx(estimate(Y, P, measure, n_resamples=99, seed=1).value)


@pytest.mark.parametrize("unit", ["cluster", "period"])
def test_skill_in_groups_that_share_clusters_or_times_is_tested_from_a_stored_ledger_and_for_classes(unit, tmp_path):
    pr.condense(Y, MODELS, by={"site": SITE}, **{unit: CLUSTER}).to_parquet(tmp_path / "ledger")
    stored = slices(pr.Ledger.from_parquet(tmp_path / "ledger"), None, pr.measures.Skill())
    known = slices(Y, MODELS, pr.measures.Skill(), by={"site": SITE}, **{unit: CLUSTER})
    assert_same(stored, known)
    assert np.isfinite(known.p_value[:3]).all()
    rows = {model: np.column_stack([1.0 - p, p]) for model, p in MODELS.items()}
    classes = slices(Y, rows, pr.measures.Skill(), by={"site": SITE}, labels=[False, True], **{unit: CLUSTER})
    np.testing.assert_allclose(classes.p_value, known.p_value, rtol=1e-9)


def test_skill_by_moments_is_tested_as_by_influence():
    own = SITE == "b"
    rate = [Y[side].mean() for side in (own, ~own)]
    sums = [
        np.bincount(
            CLUSTER[side],
            -((P - Y)[side] ** 2 - (P - Y)[side].dot((P - Y)[side]) / (n * r * (1 - r)) * (Y[side] - r) ** 2)
            / (n * r * (1 - r)),
            minlength=60,
        )
        for side, r, n in zip((own, ~own), rate, (own.sum(), (~own).sum()), strict=True)
    ]
    errors = [estimate(Y[side], P[side], pr.measures.Skill(), cluster=CLUSTER[side]).error for side in (own, ~own)]
    error = math.sqrt(errors[0] ** 2 + errors[1] ** 2 - 2.0 * (sums[0] * sums[1]).sum())
    found = slices(Y, P, pr.measures.Skill(), by=SITE, cluster=CLUSTER)
    assert found.p_value[1] == pytest.approx(2 * stats.t(59).sf(abs(found.difference[1]) / error), rel=0.02)


def test_a_function_of_ones_own_is_drawn_in_every_group():
    found = slices(Y, P, lambda table: table.mean_forecast, by=SITE, n_resamples=60, seed=1)
    own = SITE == "a"
    alone = estimate(Y[own], P[own], lambda table: table.mean_forecast, n_resamples=60, seed=1)
    assert (found.value[0], found.low[0], found.high[0]) == (alone.value, alone.low, alone.high)
    again = slices(Y, P, lambda table: table.mean_forecast, by=SITE, n_resamples=60, seed=1)
    np.testing.assert_array_equal(found.p_value, again.p_value)


def test_groups_without_a_value_are_told_apart_from_the_others():
    y = np.where(SITE == "b", True, Y)  # noqa: FBT003  (there all are events)
    found = slices(y, P, pr.measures.AreaUnderRoc(), by=SITE)
    assert found.note.tolist()[1] == "too few to test: 0 non-events"
    assert np.isnan(found.value).tolist() == [False, True, False, False]


@pytest.mark.parametrize("measure", [pr.Brier(), pr.measures.AreaUnderRoc()], ids=name)
def test_keys_are_crossed_in_the_order_asked_for(measure):
    crossed = slices(Y, MODELS, measure, by={"day": DAY, "site": SITE})
    assert crossed.group.tolist()[:5] == ["0, a", "0, b", "0, c", "0, tiny", "1, a"]
    assert crossed.by == ("day", "site")
    ledger = pr.condense(Y, MODELS, by={"site": SITE, "day": DAY})
    assert_same(slices(ledger, None, measure, by=["day", "site"]), crossed)
    assert_same(slices(ledger, None, measure), slices(Y, MODELS, measure, by={"site": SITE, "day": DAY}))
    assert_same(slices(ledger, None, measure, by="site"), slices(Y, MODELS, measure, by={"site": SITE}))
    own = (DAY == 1) & (SITE == "b")
    at = crossed.group.tolist().index("1, b")
    assert crossed.value[at] == pytest.approx(estimate(Y[own], P[own], measure).value)


@pytest.mark.parametrize("engine", ["frame", "lazy", "stored"])
@pytest.mark.parametrize("measure", [pr.Log(), pr.measures.NetBenefit(0.3), pr.measures.AreaUnderRoc()], ids=name)
def test_frames_and_stored_ledgers_have_the_groups_of_arrays(measure, engine, tmp_path):
    expected = slices(Y, MODELS, measure, by={"site": SITE}, thresholds=0.3)
    if engine == "stored":
        rules = [pr.measures.NetBenefit(0.3).rule]
        pr.condense(Y, MODELS, by={"site": SITE, "day": DAY}, rules=rules).to_parquet(tmp_path / "l", partition=["day"])
        found = slices(pr.Ledger.from_parquet(tmp_path / "l"), None, measure, by="site", thresholds=0.3)
    else:
        frame = FRAME if engine == "frame" else FRAME.lazy()
        found = slices(frame, ["p", "q"], measure, outcome="y", by="site", thresholds=0.3)
    assert_same(found, expected)
    np.testing.assert_allclose(found.net_benefit_low, expected.net_benefit_low, rtol=1e-9)


@pytest.mark.parametrize(
    "sampling", [{"cluster": "c"}, {"period": "c"}, {"sample_weight": "w"}], ids=lambda one: next(iter(one))
)
@pytest.mark.parametrize("measure", [pr.Brier(), pr.measures.AreaUnderRoc()], ids=name)
def test_lazy_frames_keep_clusters_times_and_weights(measure, sampling):
    given = {key: FRAME[column].to_numpy() for key, column in sampling.items()}
    found = slices(FRAME.lazy(), ["p", "q"], measure, outcome="y", by="site", **sampling)
    assert_same(found, slices(Y, MODELS, measure, by={"site": SITE}, **given))
    several = pr.condense(FRAME.lazy(), ["p", "q"], outcome="y", by=["site", "day"], **sampling)
    assert_same(slices(several, None, measure, by="site"), found)


def test_what_a_stored_ledger_cannot_tell_of_groups_is_left_open(tmp_path):
    pr.condense(Y, MODELS, by={"site": SITE}, cluster=CLUSTER).to_parquet(tmp_path / "l")
    ledger = pr.Ledger.from_parquet(tmp_path / "l")
    assert_same(slices(ledger), slices(Y, MODELS, by={"site": SITE}, cluster=CLUSTER))
    found = slices(ledger, None, pr.measures.AreaUnderRoc())
    np.testing.assert_allclose(found.value, slices(Y, MODELS, pr.measures.AreaUnderRoc(), by=SITE).value, rtol=1e-12)
    assert np.isnan(found.low).all()
    assert set(found.note[:3]) == {"not tested, because it or the rest has no interval"}
    assert found.is_too_small.tolist() == [False, False, False, True] * 2


@pytest.mark.parametrize("measure", [pr.Brier(), pr.measures.Skill(), pr.RankedProbability()], ids=name)
def test_classes_in_groups(measure):
    rows = RNG.dirichlet([1, 2, 3], N)
    y = RNG.integers(0, 3, N)
    found = slices(y, {"m": rows}, measure, by=SITE)
    own = SITE == "b"
    alone = estimate(y[own], rows[own], measure)
    assert [found.value[1], found.low[1], found.high[1]] == pytest.approx([alone.value, alone.low, alone.high])
    assert found.overall["m"] == pytest.approx(estimate(y, rows, measure).value)
    assert set(found.events) == {None}
    assert {one.key for one in found.found.measure} == {found.measure.key}
    assert found.note.tolist()[3] == f"too few to test: {(SITE == 'tiny').sum()} cases"


def test_few_times_are_not_called_clusters():
    assert slices(Y, P, by=SITE, period=np.arange(N) % 5).note.tolist()[0] == "too few to test: 5 periods"


def answers_in_groups(wrong, size=60, seed=3):
    """Return outcomes and probabilities of three classes, and groups with given numbers of wrong answers."""
    rng = np.random.default_rng(seed)
    top = rng.uniform(0.4, 1.0, (len(wrong), size))
    y = np.zeros((len(wrong), size), dtype=int)
    for group, number in enumerate(wrong):
        y[group, rng.choice(size, number, replace=False)] = 1
    p = np.stack([top, (1 - top) / 2, (1 - top) / 2], axis=-1).reshape(-1, 3)
    return y.ravel(), p, np.repeat(np.arange(len(wrong)), size)


@pytest.mark.parametrize(
    "measure", [pr.measures.AreaUnderRiskCoverage(), pr.measures.AccuracyAtCoverage(0.8)], ids=name
)
def test_groups_with_few_wrong_or_right_answers_are_not_tested(measure):
    y, p, by = answers_in_groups([0, 1, 9, 10, 20, 55])
    found = slices(y, p, measure, by=by, n_resamples=50, seed=1)
    assert np.isfinite(found.p_value).tolist() == [False, False, False, True, True, False]
    assert np.isfinite(found.low).tolist() == np.isfinite(found.p_value).tolist()
    told = ["0 wrong answers", "1 wrong answer", "9 wrong answers", "10 wrong answers", "20 wrong answers and 40 right"]
    assert all(part in note for part, note in zip([*told, "5 right answers"], found.note.tolist(), strict=True))


def test_answers_are_counted_by_model():
    y, p, by = answers_in_groups([20, 20, 20])
    found = slices(y, {"p": p, "sure": np.eye(3)[y]}, pr.measures.AreaUnderRiskCoverage(), by=by)
    assert np.isfinite(found.p_value).tolist() == [True] * 3 + [False] * 3
    assert found.note.tolist()[3:] == ["too few to test: 0 wrong answers"] * 3


def test_events_do_not_matter_for_answers():
    rng = np.random.default_rng(5)
    p, by = np.where(np.arange(300) % 3 == 0, 0.4, 0.1) + rng.uniform(0, 0.05, 300), np.arange(300) // 100
    y = (p > 0.3) & (np.arange(300) % 2 == 0)
    for measure, noun in (
        (pr.measures.AreaUnderRiskCoverage(), "wrong answers"),
        (pr.measures.AreaUnderRoc(), "events"),
    ):
        assert all(noun in note for note in slices(y, p, measure, by=by).note)


def test_areas_of_answers_are_tested_on_the_log_scale():
    y, p, by = answers_in_groups([15, 25], size=100)
    measure = pr.measures.AreaUnderRiskCoverage()
    found = slices(y, p, measure, by=by)
    one, other = (estimate(y[by == group], p[by == group], measure) for group in (0, 1))
    error = math.hypot(one.error / one.value, other.error / other.value)
    expected = 2 * stats.norm.sf(abs(math.log(one.value / other.value)) / error)
    assert found.p_value == pytest.approx([expected, expected])


def test_clusters_of_censored_cases_widen_the_limits_of_groups_as_of_the_groups_alone():
    rng = np.random.default_rng(1)
    x, cluster = rng.normal(size=1500), np.repeat(np.arange(300), 5)
    event, leaves = rng.exponential(1.0 / np.exp(0.7 * x - 0.2)), rng.exponential(2.0, 1500)
    outcomes = pr.censored(np.minimum(event, leaves), event <= leaves, horizons=1.0)
    for measure in (pr.measures.AreaUnderRoc(), pr.measures.ObservedExpected()):
        noise, plain = (
            slices(outcomes, expit(x), measure, by=cluster % 3, **unit) for unit in ({"cluster": cluster}, {})
        )
        np.testing.assert_allclose(noise.high - noise.low, plain.high - plain.low, rtol=0.2)
        np.testing.assert_allclose(noise.p_value, plain.p_value, atol=0.1)


def test_lazy_frames_are_tested_if_their_groups_share_no_clusters():
    frame = FRAME.with_columns(pl.concat_str(["site", "c"]).alias("c"))
    found = [
        slices(one, "p", pr.measures.Miscalibration(), outcome="y", by="site", cluster="c", seed=1)
        for one in (frame, frame.lazy())
    ]
    assert_same(*found)
    assert np.isfinite(found[0].p_value[:3]).all()


def test_draws_in_time_say_that_neighbours_count_as_independent():
    time = np.arange(N) // 10
    apart, across = (
        slices(Y, P, lambda table: table.mean_forecast, by=by, period=time, n_resamples=60, seed=1).note.tolist()
        for by in (time >= N // 20, SITE)
    )
    assert apart == ["neighbouring periods count as independent: the interval may be too narrow"] * 2
    assert across[0] == f"{apart[0]}; not tested, because it shares clusters or periods with other groups"


def test_draws_without_an_error_are_not_said_to_share_clusters():
    rate = max(Y[site == SITE].mean() for site in "abc")
    found = slices(Y, P, lambda table: math.inf if table.event_rate > rate + 1e-9 else 0.5, by=SITE, seed=1)
    assert set(found.note[:3]) == {"not tested, because it or the rest has no interval"}


@pytest.mark.parametrize("unit", ["cluster", "period"])
@pytest.mark.parametrize("weight", [1.0, 0.7])
def test_groups_of_the_same_cases_do_not_differ(weight, unit):
    for measure in (pr.Brier(), pr.measures.Skill(), pr.measures.ObservedExpected(), pr.measures.AreaUnderRoc()):
        found = slices(
            *(np.tile(Y, 2), np.tile(P, 2), measure),
            by=np.repeat([0, 1], N),
            sample_weight=np.repeat([1.0, weight], N),
            **{unit: np.tile(CLUSTER, 2)},
        )
        assert found.p_value.tolist() == pytest.approx([1.0, 1.0])


def test_a_rest_that_has_no_weight_beside_a_group_leaves_the_other_groups():
    found = slices(Y, P, by=SITE, sample_weight=np.where(SITE == "a", 1e17, 1.0), period=CLUSTER)
    assert np.isfinite(found.p_value[1:3]).all()
