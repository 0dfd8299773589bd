"""Groups: each by itself, against the rest, and not judged where there are too few."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit
from sliced import slices

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.estimation import estimate
from propriety.inference.measures.of_means import NetBenefit
from propriety.inference.verdict import with_verdict
from propriety.ledger import moments

RNG = np.random.default_rng(9)
N = 1500
P = RNG.beta(1, 2, N)
SITE = RNG.choice(["a", "b", "c", "tiny"], N, p=[0.5, 0.3, 0.19, 0.01])
Y = RNG.random(N) < np.where(SITE == "c", expit(logit(P) + 1.0), P)
WEIGHT = RNG.gamma(2.0, 1.0, N)
CLUSTER = RNG.integers(0, 60, N)
SAMPLING = [{}, {"sample_weight": WEIGHT}, {"cluster": CLUSTER}, {"sample_weight": WEIGHT, "cluster": CLUSTER}]
KINDS = ["plain", "weights", "clusters", "both"]


def rows(found):
    columns = found.columns()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
def test_each_group_has_the_intervals_it_would_have_by_itself(sampling):
    found = slices(Y, P, pr.Log(), by=SITE, thresholds=0.3, **sampling)
    for row in rows(found)[:3]:
        own = row["group"] == SITE
        options = {name: values[own] for name, values in sampling.items()}
        for of, names in (
            (pr.Log(), ("value", "low", "high")),
            (NetBenefit(0.3), ("net_benefit", "net_benefit_low", "net_benefit_high")),
        ):
            alone = estimate(Y[own], P[own], of, **options)
            np.testing.assert_allclose([row[name] for name in names], [alone.value, alone.low, alone.high], rtol=1e-10)
        weight = options.get("sample_weight")
        assert row["event_rate"] == pytest.approx(np.average(Y[own], weights=weight))
        assert (row["n"], row["events"], row["note"]) == (own.sum(), Y[own].sum(), "")


def test_calibration_in_the_large_is_a_mean_of_residuals():
    found = slices(Y, P, by=SITE, level=0.9)
    for row in rows(found)[:3]:
        residual = (Y - P)[row["group"] == SITE]
        limits = stats.t.interval(0.9, len(residual) - 1, residual.mean(), stats.sem(residual))
        np.testing.assert_allclose([row["excess_low"], row["excess_high"]], limits, rtol=1e-9)
        assert row["excess"] == pytest.approx(residual.mean())
    assert found.excess_low[2] > 0.0


def test_the_difference_to_the_rest_is_welchs():
    found = slices(Y, P, by=SITE)
    loss = (P - Y) ** 2
    for row in rows(found)[:3]:
        own = row["group"] == SITE
        welch = stats.ttest_ind(loss[own], loss[~own], equal_var=False)
        assert row["difference"] == pytest.approx(loss[own].mean() - loss[~own].mean(), rel=1e-10)
        assert row["p_value"] == pytest.approx(welch.pvalue, rel=1e-8)


def welch_of_three(*samples):
    """Return the p-value of Welch (1951), doi:10.1093/biomet/38.3-4.330, for three samples."""
    mean, n = np.array([one.mean() for one in samples]), np.array([len(one) for one in samples])
    w = n / np.array([one.var(ddof=1) for one in samples])
    share = ((1 - w / w.sum()) ** 2 / (n - 1)).sum()
    f = (w * (mean - (w * mean).sum() / w.sum()) ** 2).sum() / 2 / (1 + 2 / 8 * share)
    return stats.f.sf(f, 2, 8 / (3 * share))


def test_groups_are_told_apart_one_after_the_other():
    """The joint test is Welch's analysis of variance; the group that deviates most is taken out, then the rest."""
    found = slices(Y, P, by=SITE)
    losses = [((P - Y) ** 2)[site == SITE] for site in "abc"]
    joint, rest = welch_of_three(*losses), stats.ttest_ind(*losses[:2], equal_var=False).pvalue
    (row,) = found.found.where(statistic="heterogeneity")
    assert row.p == pytest.approx(joint, rel=1e-6)
    assert joint <= 0.05 < rest
    np.testing.assert_allclose(found.p_adjusted, [rest, rest, joint, np.nan], rtol=1e-6)
    assert (row.keys, row.verdict) == ({"groups": "group"}, "bad")


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weights"])
def test_clusters_that_reach_across_groups(weight):
    found = slices(Y, P, by=SITE, cluster=CLUSTER, sample_weight=weight)
    loss, w = (P - Y) ** 2, np.ones(N) if weight is None else weight
    own = SITE == "b"
    influence = np.where(own, 1 / w[own].sum(), -1 / w[~own].sum()) * w
    influence *= loss - np.where(own, np.average(loss[own], weights=w[own]), np.average(loss[~own], weights=w[~own]))
    sums = np.bincount(CLUSTER, influence)
    error = math.sqrt(60 / 59 * (sums**2).sum())
    # Clusters are of about equal size, so that errors and degrees of freedom are close to the usual ones.
    assert found.p_value[1] == pytest.approx(2 * stats.t(59).sf(abs(found.difference[1]) / error), rel=0.02)
    assert found.units.tolist() == [60, 60, 60, len(np.unique(CLUSTER[SITE == "tiny"]))]


def test_groups_of_very_unequal_clusters_are_not_judged():
    """Twelve clusters, one of which has most of the cases, are worth few of equal size."""
    cluster = np.where(np.arange(N) < N // 2, 0, np.arange(N) % 11 + 1)
    found = slices(Y, P, by=np.arange(N) % 2, cluster=cluster)
    assert set(found.note) == {"too few to test: 12 clusters that are worth 4 of equal size"}
    assert np.isnan(found.p_value).all()
    assert set(slices(Y, P, by=np.arange(N) % 2, cluster=np.arange(N) % 15).note) == {""}


def test_copies_in_clusters_are_no_news():
    twice = slices(np.tile(Y, 2), np.tile(P, 2), by=np.tile(SITE, 2), cluster=np.tile(np.arange(N), 2), smallest=100)
    alone = slices(Y, P, by=SITE, cluster=np.arange(N), smallest=50)
    np.testing.assert_allclose(twice.p_value, alone.p_value, rtol=1e-9)
    np.testing.assert_allclose(twice.low, alone.low, rtol=1e-9)


def test_too_few_are_said_to_be_and_not_judged():
    found = slices(Y, P, by=SITE, thresholds=0.3)
    row = rows(found)[3]
    assert row["note"] == f"too few to test: {(SITE == 'tiny').sum()} cases"
    assert row["value"] == pytest.approx(((P - Y) ** 2)[SITE == "tiny"].mean())
    unknown = ("low", "high", "excess_low", "net_benefit_high", "p_value", "p_adjusted")
    assert np.isnan([row[name] for name in unknown]).all()
    assert found.is_tested.tolist() == [True, True, True, False]


def test_why_a_group_is_not_judged():
    y = np.concatenate([np.arange(100) < 9, np.arange(100) >= 9, np.arange(100) < 50])
    by, p = np.repeat(["few events", "few non-events", "many"], 100), np.tile(np.arange(100) / 100, 3)
    assert slices(y, p, by=by).note.tolist() == [
        "too few to test: 9 events",
        "too few to test: 9 non-events",
        "",
    ]
    assert slices(y, p, by=by, cluster=np.arange(300) // 20).note[2] == "too few to test: 5 clusters"
    assert slices(y, p, by=by, smallest=101).note[2] == "too few to test: 100 cases"


def test_several_models_on_the_same_cases_are_adjusted_together():
    models = {"p": P, "steep": expit(2 * logit(P))}
    found = slices(Y, models, by=SITE)
    assert found.model.tolist() == ["p"] * 4 + ["steep"] * 4
    assert found.group.tolist() == ["a", "b", "c", "tiny"] * 2
    assert found.overall == {name: pytest.approx(pr.brier_score(Y, one)) for name, one in models.items()}
    alone = slices(Y, models["steep"], by=SITE).found.where(statistic="heterogeneity").p
    np.testing.assert_allclose(found.p_adjusted[4:7], np.fmax(min(2.0 * float(alone[0]), 1.0), found.p_value[4:7]))
    np.testing.assert_allclose(found.value[:4], slices(Y, P, by=SITE).value, rtol=1e-14)


def test_false_alarms_are_as_rare_as_the_level_says():
    rng = np.random.default_rng(2)
    alarms = []
    for _ in range(60):
        p = rng.random(400)
        alarms.append((slices(rng.random(400) < p, p, by=np.arange(400) % 4).p_adjusted < 0.05).any())
    assert np.mean(alarms) < 0.15


def test_infinite_scores_and_constant_ones():
    p = P.copy()
    p[np.flatnonzero((SITE == "a") & Y)[0]] = 0.0
    found = slices(Y, p, pr.Log(), by=SITE)
    assert (found.value[0], found.note[0]) == (math.inf, "the value is infinite")
    assert np.isnan([found.low[0], found.p_value[0], found.p_value[1]]).all()
    assert np.isfinite(found.low[1])
    flat = slices(Y, np.full(N, 0.5), by=SITE)
    assert flat.p_value[:3].tolist() == [1.0, 1.0, 1.0]
    assert flat.low[0] == flat.value[0] == 0.25


def test_an_infinite_score_leaves_the_rest_of_its_row():
    p = P.copy()
    p[np.flatnonzero((SITE == "a") & Y)[0]] = 0.0
    for sampling in SAMPLING:
        found = slices(Y, p, pr.Log(), by=SITE, thresholds=0.3, **sampling)
        known = slices(Y, p, by=SITE, thresholds=0.3, **sampling)
        for name in ("excess_low", "excess_high", "net_benefit_low", "net_benefit_high"):
            np.testing.assert_array_equal(getattr(found, name), getattr(known, name))
        assert np.isnan(found.p_value).all()
        assert found.difference[:2].tolist() == [math.inf, -math.inf]


@pytest.mark.parametrize("sampling", [{}, {"sample_weight": WEIGHT}], ids=["plain", "weights"])
@pytest.mark.parametrize("few", [1, 2, 49])
def test_a_rest_of_few_cases_is_not_tested(sampling, few):
    p = np.append(P[few:], np.where(Y[:few], 0.999, 0.001))  # These losses hardly vary.
    by = np.repeat(["a", "b"], [N - few, few])
    for measure in (pr.Brier(), pr.measures.NetBenefit(0.3), pr.measures.ObservedExpected(), pr.measures.Skill()):
        found = slices(np.append(Y[few:], Y[:few]), p, measure, by=by, smallest=50, **sampling)
        assert np.isnan(found.p_value).all()
        assert found.note[0] == f"too few others to test against: {few} case{'s' * (few > 1)}"
        assert found.note[1].startswith("too few to test: ")
        assert np.isfinite([found.low[0], found.high[0]]).all()
        assert (found.is_tested.tolist(), found.is_too_small.tolist()) == ([False, False], [False, True])
    texts = [one.get_text() for one in found.found.plot().texts]
    assert {found.note[0], "too few to test"} <= set(texts)


def test_why_the_rest_is_not_tested_against():
    p, by = np.tile(np.arange(100) / 100, 3), np.repeat(["a", "b", "b"], 100)
    cluster = np.where(by == "a", np.arange(300) // 4, np.arange(300) % 5)
    few = "too few others to test against: "
    assert slices(np.arange(300) % 2, p, by=by, cluster=cluster).note[0] == f"{few}5 clusters"
    assert slices(np.arange(300) < 109, p, by=np.repeat(["a", "b"], [100, 200])).note[0].startswith("too few to test")
    y = np.concatenate([np.arange(100) < 50, np.arange(200) < 9])
    assert slices(y, p, by=by).note[0] == f"{few}9 events"
    uneven = np.where(by == "a", np.arange(300) // 4, np.where(np.arange(300) < 250, 99, np.arange(300)))
    assert (
        slices(np.arange(300) % 2, p, by=by, cluster=uneven).note[0]
        == f"{few}51 clusters that are worth 2 of equal size"
    )
    shared = np.arange(300) % 60  # Clusters on both sides count on both.
    assert slices(np.arange(300) % 2, p, by=by, cluster=shared).note[0] == ""
    approximate = slices(np.arange(300) % 2, p, by=np.repeat(["a", "b"], [240, 60])).note.tolist()
    assert approximate == [
        "the test is approximate: the rest has only 30 events and 30 non-events",
        "the test is approximate: the group has only 30 events and 30 non-events",
    ]


def test_rounding_error_is_no_difference():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = rng.integers(200, 3000)
        found = slices(rng.random(n) < 0.5, np.full(n, 0.5), pr.Log(), by=rng.integers(0, 3, n))
        assert found.difference.tolist() == [0.0, 0.0, 0.0]
        assert found.p_adjusted.tolist() == [1.0, 1.0, 1.0]


def test_losses_that_differ_between_groups_and_vary_in_none_are_not_tested():
    y, by = np.arange(200) % 2 == 0, np.arange(200) // 100
    found = slices(y, np.where(y, np.array([0.9, 0.6])[by], np.array([0.1, 0.4])[by]), by=by)
    np.testing.assert_allclose(found.difference, [-0.15, 0.15])
    assert np.isnan(found.p_value).all()


@pytest.mark.parametrize("sampling", SAMPLING, ids=KINDS)
def test_many_groups_are_each_compared_with_the_others(sampling):
    by = RNG.integers(0, 9, N)
    found = slices(Y, {"p": P, "steep": expit(2 * logit(P))}, pr.Log(), by=by, **sampling)
    for place in range(9):
        two = slices(Y, {"p": P, "steep": expit(2 * logit(P))}, pr.Log(), by=by == place, **sampling)
        own = [1, 3]  # The group, of either model; the others are called False.
        np.testing.assert_allclose(found.difference[[place, 9 + place]], two.difference[own], rtol=1e-9)
        np.testing.assert_allclose(found.p_value[[place, 9 + place]], two.p_value[own], rtol=1e-7)


def test_work_grows_with_the_groups_and_not_with_their_square(monkeypatch):
    pooled = []
    pool = moments.pooled_sums

    def counting(codes, cells, parts):
        pooled.append(len(codes))
        return pool(codes, cells, parts)

    monkeypatch.setattr(moments, "pooled_sums", counting)
    slices(Y, P, by=np.arange(N) % 150)
    assert sum(pooled) < 20 * 150


def test_labels_that_read_alike_are_told_apart():
    by = np.empty(N, dtype=object)
    by[:] = [1, "1"] * (N // 2)
    assert sorted(slices(Y, P, by=by).group.tolist()) == ["'1'", "1"]


def test_ordered_categories_keep_their_order():
    grade = pd.Categorical(np.array(["low", "mid", "high"])[np.arange(N) % 3], ["low", "mid", "high"], ordered=True)
    for sampling in SAMPLING:
        found = slices(Y, P, by=pd.Series(grade), **sampling)
        assert found.group.tolist() == ["low", "mid", "high"]
        plain = slices(Y, P, by=np.arange(N) % 3, **sampling)
        for name in ("value", "low", "excess", "difference", "p_value"):
            np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-10)


def test_indices_of_groups_are_compared_with_the_forecasts():
    with pytest.raises(InputValueError, match="the forecasts and by carry different indices"):
        slices(Y, pd.Series(P, index=np.arange(N)[::-1]), by=pd.Series(SITE))


def test_verdicts_follow_from_the_rows():
    for measure, shown in (("brier", "bad"), ("observed_expected", "bad"), ("auc", "bad")):
        p = np.where(SITE == "c", 1.0 - P, P)
        found = pr.slices(Y, p, measure, by={"site": SITE}, thresholds=0.3)
        differences = found.where(measure=measure, against="rest")
        assert differences.where(keys={"site": "c"}).verdict.tolist() == [shown]
        assert differences.where(keys={"site": "tiny"}).verdict.tolist() == ["not tested"]
        for row in found:
            assert with_verdict(replace(row, verdict=None)).verdict == row.verdict
            if row.against == "rest" and row.has_limits:
                assert (row.p <= 0.05) == (not row.low <= 0.0 <= row.high)
    (other,) = differences.where(keys={"site": "a"})
    assert other.verdict == "too few"  # It differs from a rest that contains the group that is wrong.
    assert other.note("adjusted") is not None


def test_one_group_has_no_rest():
    found = slices(Y, P, by=np.zeros(N))
    assert np.isnan([found.difference[0], found.p_value[0]]).all()
    assert np.isfinite(found.low[0])


def test_a_group_without_weight_is_not_there():
    found = slices(Y, P, by=SITE, sample_weight=np.where(SITE == "b", 0.0, 1.0))
    assert found.group.tolist() == ["a", "c", "tiny"]


def test_missing_values_and_views():
    found = slices([None, *Y], [0.3, *P], by=["new", *SITE], missing="drop")
    assert found.dropped == 1
    assert "new" not in found.group
    frame = found.found.to_frame(backend="pandas")
    assert set(frame["measure"]) == {"brier", "excess"}
    assert list(frame)[:4] == ["model", "measure", "group", "groups"]
    with_benefit = slices(Y, P, by=SITE, thresholds=0.2).found.to_frame(backend="polars")
    assert with_benefit["measure"].unique().sort().to_list() == ["brier", "excess", "net_benefit_at_0.2"]
    assert found.overall == {"forecast": pytest.approx(pr.brier_score(Y, P))}


def test_what_is_refused():
    with pytest.raises(InputValueError, match="by must have one entry per case"):
        slices(Y, P, by=SITE[:3])
    with pytest.raises(InputValueError, match="smallest must be a positive whole number"):
        slices(Y, P, by=SITE, smallest=0)
    with pytest.raises(InputValueError, match="thresholds must lie strictly between 0 and 1"):
        slices(Y, P, by=SITE, thresholds=1.0)
    with pytest.raises(InputTypeError, match=r"by must name keys of the cases, which were read before; got ndarray"):
        slices(pr.condense(Y, P), by=SITE)
    with pytest.raises(InputTypeError, match="measure must be a rule, a measure or a function"):
        slices(Y, P, 3.0, by=SITE)
    with pytest.raises(InputValueError, match="slices needs by=, the group of each case"):
        slices(Y, P)
    ledger = pr.condense(Y, {"p": P})
    with pytest.raises(InputValueError, match="the cases have no keys that define groups"):
        slices(ledger)
    with pytest.raises(InputValueError, match=r"the ledger has no key 'day'; its keys are \['site'\]"):
        slices(pr.condense(Y, {"p": P}, by={"site": SITE}), by="day")


def test_groups_have_the_mean_net_benefit_of_a_range():
    found = slices(Y, P, by=SITE, thresholds=(0.1, 0.4))
    for row, group in enumerate(found.group.tolist()):
        own = group == SITE
        expected = pr.bounded_net_benefit(Y[own], P[own], thresholds=(0.1, 0.4))
        assert found.net_benefit[row] == pytest.approx(expected, rel=1e-9)


def test_groups_selected_by_their_events_are_adjusted_for_all_groups():
    rng = np.random.default_rng(41)
    alarms = 0
    for _ in range(10):
        y = (rng.random(50_000) < 0.03).astype(int)
        found = slices(y, 0.03 + rng.normal(0.0, 1e-4, 50_000), by=np.repeat(np.arange(500), 100))
        tested = np.isfinite(found.p_value)
        if not tested.any():
            continue
        assert tested.sum() < 20
        alarms += bool((found.p_adjusted[tested] <= 0.05).any())
    assert alarms <= 1


def test_groups_that_are_too_small_do_not_count():
    rng = np.random.default_rng(42)
    groups = np.repeat(np.arange(22), [300, 300] + [10] * 20)
    y, p = rng.integers(0, 2, len(groups)), rng.random(len(groups))
    found = slices(y, p, by=groups)
    tested = np.isfinite(found.p_value)
    assert tested.tolist() == [True, True] + [False] * 20
    joint = found.found.where(statistic="heterogeneity").p[0]
    assert found.p_adjusted[tested].tolist() == np.fmax(joint, found.p_value[tested]).tolist()


def test_a_group_whose_weight_is_that_of_one_case_is_not_tested():
    rng = np.random.default_rng(43)
    y, p, weight = rng.integers(0, 2, 1000), rng.random(1000), np.ones(1000)
    weight[0] = 100.0
    found = slices(y, p, by=np.repeat(np.arange(5), 200), sample_weight=weight)
    assert found.note[0] == "too few to test: 200 cases that are worth 9 of equal weight"
    assert np.isnan([found.low[0], found.p_value[0]]).all()
    assert np.isfinite(found.p_value[1:]).all()
    even = slices(y, p, by=np.repeat(np.arange(5), 200), sample_weight=np.full(1000, 0.001))
    assert np.isfinite(even.p_value).all()
