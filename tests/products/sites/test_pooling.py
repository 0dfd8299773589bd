"""Pooled sites: the exchange of ledgers, sites without an error, small sites, and words."""

import json

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.measures.of_means import MeanScore
from propriety.inference.random_effects import random_effects


def sites(number=6, *, seed=1, spread=0.3):
    rng = np.random.default_rng(seed)
    parts = []
    for place in range(number):
        n = int(rng.integers(200, 500))
        x = rng.normal(size=n)
        y = rng.random(n) < expit(-1 + x + rng.normal(0, spread))
        parts.append((y, {"a": expit(-1 + x), "b": expit(-0.5 + 0.7 * x)}, np.full(n, f"site {place}")))
    return parts


MEASURES = [
    pr.measures.ObservedExpected(),
    pr.measures.CalibrationSlope(),
    pr.measures.CalibrationIntercept(),
    pr.measures.AreaUnderRoc(),
    pr.Brier(),
    pr.measures.NetBenefit(0.2),
]


def one_row(found, statistic="value", **names):
    (row,) = found.where(statistic=statistic, keys={}, **names)
    return row


def test_ledgers_of_hospitals_give_the_same_answer_as_all_rows(tmp_path):
    parts = sites()
    for place, (y, p, site) in enumerate(parts):
        pr.condense(y, p, by={"site": site}).to_parquet(tmp_path / str(place))
    sent = sum(pr.Ledger.from_parquet(tmp_path / str(place)) for place in range(len(parts)))
    y, site = (np.concatenate([part[column] for part in parts]) for column in (0, 2))
    p = {model: np.concatenate([part[1][model] for part in parts]) for model in "ab"}
    one, other = (pr.pool_sites(ledger, measures=MEASURES) for ledger in (sent, pr.condense(y, p, by={"site": site})))
    for name in ("value", "low", "high", "error", "p", "n", "events"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12, err_msg=name)
    for measure in MEASURES:
        together = one_row(one, measure=measure, model="a")
        assert together.value == pytest.approx(pr.estimate(y, p["a"], measure).value, rel=1e-12)


def test_sites_have_their_own_estimates_on_the_scale_of_the_measure():
    parts = sites(4)
    ledger = sum(pr.condense(y, p, by={"site": site}) for y, p, site in parts)
    found = pr.pool_sites(ledger, measures=MEASURES).where(measure="auc", model="b")
    own = [row for row in found if row.keys]
    alone = [pr.estimate(y, p["b"], pr.measures.AreaUnderRoc()) for y, p, _ in parts]
    np.testing.assert_allclose([row.value for row in own], [one.value for one in alone])
    assert [row.events for row in own] == [y.sum() for y, _, _ in parts]
    value, error = np.array([[row.value, row.error] for row in own]).T
    summary = random_effects(logit(value), error / (value * (1 - value)), method="paule-mandel", level=0.95)
    assert one_row(found, "mean of groups").value == pytest.approx(expit(summary.mean))
    assert one_row(found, "further group").low == pytest.approx(expit(summary.prediction_low))
    np.testing.assert_allclose([row.extra["weight"] for row in own], summary.weight)
    assert one_row(found, "tau").extra["scale"] == "logit"


def test_other_keys_are_added_up():
    parts = sites(3)
    half = [np.arange(len(y)) % 2 for y, _, _ in parts]
    split = sum(pr.condense(y, p, by={"half": own, "site": s}) for (y, p, s), own in zip(parts, half, strict=True))
    whole = sum(pr.condense(y, p, by={"site": s}) for y, p, s in parts)
    one, other = pr.pool_sites(split, by="site"), pr.pool_sites(whole)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-9, atol=1e-12)
    with pytest.raises(InputValueError, match="by must name the key of the sites; the keys are half, site"):
        pr.pool_sites(split)


def test_a_site_without_events_counts_for_the_ratio_and_is_named_for_the_area():
    parts = [*sites(3), (np.zeros(40, dtype=bool), {"a": np.full(40, 0.1), "b": np.full(40, 0.2)}, ["empty"] * 40)]
    found = pr.pool_sites(sum(pr.condense(y, p, by={"site": s}) for y, p, s in parts)).where(model="a")
    ratio, area = (one_row(found, "mean of groups", measure=name) for name in ("observed_expected", "auc"))
    assert (ratio.units, area.units) == (4, 3)
    assert ratio.note("groups-left-out") is None
    assert area.note("groups-left-out").parts["names"] == ("empty",)
    (empty,) = found.where(measure="auc", keys={"site": "empty"})
    assert empty.extra["weight"] == 0.0
    assert "1 group left out: empty" in str(found)


def test_two_sites_have_a_mean_but_no_prediction():
    ledger = sum(pr.condense(y, p, by={"site": s}) for y, p, s in sites(2))
    found = pr.pool_sites(ledger)  # On all three scales.
    assert np.isfinite(found.where(statistic="mean of groups").value).all()
    assert len(found.where(statistic="further group")) == 0


def test_classes_have_their_scores():
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1, 1, 1], 600)
    y = (rng.random((600, 1)) > p.cumsum(axis=1)).sum(axis=1)
    found = pr.pool_sites(pr.condense(y, p, by={"site": np.arange(600) % 4}), measures=[pr.Brier(), pr.Log()])
    assert np.isnan(found.events).all()
    assert (found.where(statistic="mean of groups").units == 4).all()


def test_numbers_leave_as_strict_json_and_words():
    ledger = sum(pr.condense(y, p, by={"site": s}) for y, p, s in sites(5))
    found = pr.pool_sites(ledger)
    stored = json.loads(found.to_json())
    assert stored["site"][-2:] == ["site 3", "site 4"]
    assert stored["value"][0] == found.value[0]
    lines = [" ".join(line.split()) for line in str(found).splitlines()]
    assert lines[0].startswith("a observed/expected ")
    assert lines[1].startswith("a observed/expected (mean of groups) ")
    assert lines[2].startswith("a observed/expected (further group) ")
    assert lines[3].startswith("a observed/expected (I² between groups) ")
    assert ", p = " in lines[3] or ", p < " in lines[3]


def test_sites_are_told_apart_by_one_level():
    """The p-values of the sites are adjusted for their number, and the joint test says whether they differ."""
    rng = np.random.default_rng(4)
    p, site = rng.beta(1, 3, 6_000), np.arange(6_000) % 6
    y = rng.random(6_000) < np.where(site == 2, np.minimum(1.6 * p, 0.98), p)
    found = pr.pool_sites(pr.condense(y, p, by={"site": site}), measures=["observed_expected"])
    assert one_row(found, "heterogeneity").verdict == "bad"
    own = found.rows(np.flatnonzero(found.keys["site"] != None))  # noqa: E711
    assert [row.keys["site"] for row in own if row.verdict == "bad"] == [2]
    assert (own.p_adjusted >= own.p).all()


def test_wrong_arguments_are_named():
    y, p, s = sites(1)[0]
    with pytest.raises(InputValueError, match="two sites or more"):
        pr.pool_sites(pr.condense(y, p, by={"site": s}))
    with pytest.raises(InputValueError, match="the ledger has none"):
        pr.pool_sites(pr.condense(y, p))
    with pytest.raises(InputValueError, match="hospital"):
        pr.pool_sites(pr.condense(y, p, by={"site": s}), by="hospital")
    with pytest.raises(InputTypeError, match="must be a Ledger"):
        pr.pool_sites(y)
    ledger = sum(pr.condense(y, p, by={"site": s}) for y, p, s in sites(3))
    assert set(pr.pool_sites(ledger, measures=pr.Brier()).measure) == {MeanScore(pr.Brier())}
    with pytest.raises(InputValueError, match="measures must name at least one measure"):
        pr.pool_sites(ledger, measures=[])
    with pytest.raises(InputValueError, match="method"):
        pr.pool_sites(ledger, method="fixed")
    with pytest.raises(InputValueError, match="model"):
        pr.pool_sites(ledger).plot()


def test_a_sum_of_private_ledgers_is_pooled_through_its_ledger():
    y, p = np.arange(90) % 2, np.tile([0.1, 0.9, 0.3, 0.6, 0.5], 18)
    sites = [pr.condense(y, p, by={"site": np.repeat(name, 90)}) for name in "abc"]
    summed = sum(pr.coarsen(site, smallest=1) for site in sites)
    assert pr.pool_sites(summed.ledger).where(statistic="mean of groups").units.tolist() == [3] * 4


def test_private_ledgers_are_refused_with_a_hint():
    private = pr.coarsen(pr.condense([0, 1, 0, 1], [0.1, 0.9, 0.3, 0.6], by={"site": list("aabb")}))
    with pytest.raises(InputTypeError, match="pass its `ledger`"):
        pr.pool_sites(private)


def test_limits_are_values_that_a_measure_can_have():
    rng = np.random.default_rng(1)
    site, p = np.repeat(np.arange(5), 60), rng.random(300)
    sharp = (site % 2 == 0) & (rng.random(300) < 0.9)
    y = np.where(sharp, p > 0.5, rng.random(300) < 0.5)
    measures = [pr.Brier(), pr.Log(), pr.measures.AreaUnderRoc(), pr.measures.Skill(), pr.measures.NetBenefit(0.4)]
    measures += [pr.measures.AccuracyAtCoverage(0.5)]
    found = pr.pool_sites(
        pr.condense(y, np.clip(p, 0.01, 0.99), by={"site": site}), measures=measures, n_resamples=100, seed=1
    )
    least = [0.0, 0.0, 0.0, -np.inf, -2 / 3, 0.0]
    most = [1.0, np.inf, 1.0, 1.0, 1.0, 1.0]
    means, ranges = (found.where(statistic=one) for one in ("mean of groups", "further group"))
    for rows in (means, ranges):
        assert (least <= rows.low).all()
        assert (rows.low < rows.high).all()
        assert (rows.high <= most).all()
    assert (ranges.low[0], ranges.high[3]) == (0.0, 1.0)
    assert means[0].note("clipped") is not None
    assert means[2].note("clipped") is None


@pytest.mark.parametrize("wrong", [pr.Brier, "bryer", None, 5, [], {"a": pr.Brier()}])
def test_measures_are_rules_measures_or_functions(wrong):
    ledger = pr.condense([0, 1] * 20, np.linspace(0.1, 0.9, 40), by={"site": np.arange(40) // 20})
    kind = InputTypeError if wrong in (pr.Brier, None, 5) else InputValueError
    with pytest.raises(kind, match="measures must"):
        pr.pool_sites(ledger, measures=wrong)
    for right in (pr.Brier(), [pr.Brier()], np.array([pr.Brier()], dtype=object)):
        assert {one.key for one in pr.pool_sites(ledger, measures=right).measure} == {"brier"}


@pytest.mark.parametrize("wrong", [np.array(["site", "day"]), ["site"], np.array("site"), {"site"}, 5])
def test_names_of_keys_and_models_must_be_texts(wrong):
    ledger = pr.condense([0, 1] * 20, np.linspace(0.1, 0.9, 40), by={"site": np.arange(40) // 20})
    for call in (
        lambda: pr.pool_sites(ledger, by=wrong),
        lambda: pr.pool_sites(ledger).plot(model=wrong),
        lambda: ledger.one_model(wrong),
    ):
        with pytest.raises(InputValueError, match=r"must be|has no key"):
            call()


@pytest.mark.parametrize("measure", [pr.measures.Miscalibration(), pr.measures.Discrimination()], ids=repr)
def test_distances_from_a_fitted_curve_have_no_mean_over_sites(measure):
    ledger = pr.condense([0, 1] * 20, np.linspace(0.1, 0.9, 40), by={"site": np.arange(40) // 20})
    with pytest.raises(InputValueError, match="noise inflates it at every site"):
        pr.pool_sites(ledger, measures=[measure])


@pytest.mark.parametrize("number", [0, "a", 2.5])
def test_the_number_of_draws_is_checked(number):
    ledger = pr.condense([0, 1] * 20, np.linspace(0.1, 0.9, 40), by={"site": np.arange(40) // 20})
    with pytest.raises((InputValueError, InputTypeError), match="n_resamples"):
        pr.pool_sites(ledger, n_resamples=number)


def test_measures_of_one_key_are_refused():
    rng = np.random.default_rng(1)
    p, site = rng.beta(1, 2, 400), np.arange(400) % 4
    ledger = pr.condense(rng.random(400) < p, p, by={"site": site})
    with pytest.raises(InputValueError, match="measures must each have a key of its own; 'log' occurs twice"):
        pr.pool_sites(ledger, measures=[pr.Log(), pr.Log(clip=0.2)])


def test_a_site_with_an_infinite_score_is_not_averaged_away():
    rng = np.random.default_rng(1)
    p, site = rng.uniform(0.1, 0.9, 400), np.arange(400) % 4
    y = rng.random(400) < p
    p[np.flatnonzero(y & (site == 2))[0]] = 0.0
    found = pr.pool_sites(pr.condense(y, p, by={"site": site}), measures=[pr.Log(), pr.Brier()])
    (log, brier) = found.where(statistic="mean of groups")
    assert log.value == np.inf
    assert np.isnan([log.low, log.high]).all()
    assert np.isfinite(brier.value)
    assert log.note("infinite-groups").parts["names"] == ("2",)
    assert "∞" in [text.get_text() for text in found.plot(measure="log").texts]
