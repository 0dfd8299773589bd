"""Calibration by group: of each the same as alone, with one level for all, and words only where it was found."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit
from sliced import Sliced

import propriety as pr
from propriety.evaluation.group_calibration import group_table

RNG = np.random.default_rng(41)
N = 3000
TRUTH = RNG.beta(1, 3, N)
Y = RNG.random(N) < TRUTH
SITE = RNG.choice(["east", "north", "south"], N)
YEAR = RNG.integers(2024, 2026, N)
WEIGHT = RNG.gamma(2.0, 1.0, N)
WARD = 3 * RNG.integers(0, 40, N) + np.searchsorted(["east", "north", "south"], SITE)  # No ward is in two sites.
FORECASTS = {"honest": TRUTH, "off": np.where(SITE == "south", expit(logit(TRUTH) - 0.8), TRUTH)}
DRAWS = {"seed": 1, "n_resamples": 50}
SHARED = {
    "plain": {},
    "weights": {"sample_weight": WEIGHT},
    "clusters": {"cluster": WARD},
    "weighted clusters": {"cluster": WARD, "sample_weight": WEIGHT},
    "times": {"period": WARD},
}


@pytest.mark.parametrize("shared", SHARED)
def test_a_group_is_judged_as_its_cases_alone(shared):
    options = SHARED[shared]
    found = group_table(pr.evaluate(Y, FORECASTS, by={"site": SITE}, **options, **DRAWS))
    assert list(zip(found.model, found.group, strict=True)) == [
        (model, site) for model in FORECASTS for site in ("east", "north", "south")
    ]
    for row, (model, site) in enumerate(zip(found.model, found.group, strict=True)):
        own = site == SITE
        some = {name: column[own] for name, column in options.items()}
        alone = pr.check_calibration(Y[own], FORECASTS[model][own], **some, **DRAWS)
        # Neighbours in time count as independent, and how weights go with outcomes is learnt from all groups.
        if shared in ("plain", "clusters"):
            assert found.p_value[row] == pytest.approx(alone[0].extra["p_cox"], rel=1e-9)
        numbers = [getattr(found, f"observed_expected{limit}")[row] for limit in ("", "_low", "_high")]
        (one,) = alone.where(measure="observed_expected")
        assert numbers == pytest.approx([one.value, one.low, one.high], rel=1e-9)
    assert (found.verdict == "bad").tolist() == [False] * 5 + [True]
    assert (found.p_adjusted >= found.p_value).all()


@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("measure", ["observed_expected", "calibration_slope"])
def test_sizes_in_groups_are_those_of_slices(measure, shared):
    checked = pr.check_calibration(Y, FORECASTS, by={"site": SITE}, **SHARED[shared], **DRAWS).where(measure=measure)
    for row in pr.slices(Y, FORECASTS, measure, by={"site": SITE}, **SHARED[shared]).where(measure=measure):
        if "site" in row.keys and row.against is None:
            (one,) = checked.where(model=row.model, keys=row.keys, statistic=row.statistic)
            assert (one.low, one.high, one.p) == pytest.approx((row.low, row.high, row.p), rel=1e-9, nan_ok=True)


def test_the_words_name_the_group_and_its_ratio():
    result = pr.evaluate(Y, FORECASTS, by={"site": SITE}, **DRAWS)
    found = group_table(result)
    (row,) = np.flatnonzero(found.verdict == "bad")
    ratio = found.observed_expected[row]
    (said,) = [one for one in result.card.sentences if "miscalibrated in south" in one]
    assert said.startswith(
        f"'off' is miscalibrated in south: {100 * (ratio - 1):.0f}% more events happened than forecast"
    )
    assert not [one for one in result.card.sentences if one.startswith("'honest'")]
    assert "No group with enough data was found to be miscalibrated." not in result.card.sentences


def test_groups_of_several_keys_are_named_with_their_key():
    found = group_table(pr.evaluate(Y, FORECASTS, by={"site": SITE, "year": YEAR}, **DRAWS))
    assert set(found.group) == {"site: east", "site: north", "site: south", "year: 2024", "year: 2025"}
    alone = pr.check_calibration(Y[YEAR == 2024], TRUTH[YEAR == 2024], **DRAWS)[0]
    row = np.flatnonzero((found.model == "honest") & (found.group == "year: 2024"))[0]
    assert found.p_value[row] == pytest.approx(alone.extra["p_cox"], rel=1e-9)


def test_one_level_is_held_over_all_groups():
    rng = np.random.default_rng(42)
    flagged, alone = [], []
    for _ in range(60):
        p = rng.beta(1, 2, 2000)
        found = group_table(pr.evaluate(rng.random(2000) < p, p, by={"g": np.arange(2000) % 10}, **DRAWS))
        flagged.append(bool(np.isin(found.verdict, ["small", "bad"]).any()))
        alone.append((found.p_value <= 0.05).any())
    assert np.mean(flagged) <= 0.13
    assert np.mean(alone) > 0.2
    assert set(found.verdict) <= {"no error found", "too few", "bad"}


def test_small_groups_are_not_judged():
    group = np.where(np.arange(N) < 15, "few", SITE)
    found = group_table(pr.evaluate(Y, TRUTH, by={"g": group}, **DRAWS))
    assert "few" not in found.group
    assert pr.evaluate(Y[:90], TRUTH[:90], by={"g": np.arange(90)}, **DRAWS).group_calibration is None


def test_there_is_none_without_groups_or_of_ordered_classes():
    assert pr.evaluate(Y, TRUTH, **DRAWS).group_calibration is None
    assert pr.evaluate(Y, TRUTH, **DRAWS).group_skill is None
    rows = np.column_stack([1 - TRUTH, TRUTH / 2, TRUTH / 2])
    graded = pr.evaluate(Y * (1 + np.arange(N) % 2), rows, by={"site": SITE}, ordered=True, **DRAWS)
    assert graded.group_calibration is None
    assert not [one for one in graded.card.sentences if " in " in one and "miscalibrated" in one]


@pytest.mark.slow
@pytest.mark.parametrize("shared", ["plain", "weights", "clusters", "weighted clusters"])
def test_a_lazy_frame_has_the_groups_of_its_arrays(lazily, alike, shared):
    names = {"sample_weight": "w", "cluster": "ward"}
    frame = pl.DataFrame({"y": Y.astype(int), **FORECASTS, "site": SITE, "w": WEIGHT, "ward": WARD})
    options = {name: names[name] for name in SHARED[shared]}
    found = pr.evaluate(lazily(frame), list(FORECASTS), outcome="y", by="site", **options, **DRAWS)
    whole = pr.evaluate(Y, FORECASTS, by={"site": SITE}, **SHARED[shared], **DRAWS)
    alike(found.group_calibration, whole.group_calibration, rtol=1e-8)


def test_a_stored_ledger_with_clusters_says_that_groups_were_not_tested(tmp_path):
    pr.condense(Y, FORECASTS, by={"site": SITE}, cluster=WARD).to_parquet(tmp_path / "l")
    result = pr.evaluate(pr.Ledger.from_parquet(tmp_path / "l"), **DRAWS)
    assert result.group_calibration is None
    assert not [row for row in result.card.rows if "groups (site)" in row.question and "calibrated" in row.measure]
    assert "No group with enough data was found to be miscalibrated." not in result.card.sentences


@pytest.mark.parametrize(
    ("change", "way"),
    [
        (lambda x: x + 0.8, "too high"),
        (lambda x: x - 0.8, "too low"),
        (lambda x: 2.0 * x - logit(0.25), "too extreme"),
        (lambda x: 0.5 * x + 0.5 * logit(0.25), "too timid"),
    ],
)
def test_how_a_group_is_wrong_is_said(change, way):
    p = np.where(SITE == "south", expit(change(logit(TRUTH))), TRUTH)
    result = pr.evaluate(Y, {"m": p}, by={"site": SITE}, **DRAWS)
    found = group_table(result)
    directions = dict(zip(found.group, found.ways, strict=True))
    assert directions["north"] == ()
    assert way in directions["south"]
    (line,) = [one for one in result.card.sentences if one.startswith("'m' is miscalibrated in south: ")]
    level = {"too high": "fewer events", "too low": "more events"}
    assert all(level.get(direction, direction) in line for direction in directions["south"])


def test_a_refuted_group_is_told_as_such():
    p = np.where((np.arange(N) == np.flatnonzero(Y & (SITE == "south"))[0]), 0.0, TRUTH)
    said = pr.evaluate(Y, {"m": p}, by={"site": SITE}, **DRAWS).card.words
    assert "'m' is miscalibrated in south: forecasts of exactly 0 or 1 were wrong." in said


@pytest.mark.slow
def test_groups_with_small_errors_are_told_as_such():
    rng = np.random.default_rng(43)
    p = rng.uniform(0.05, 0.95, 200_000)
    y = rng.random(200_000) < np.minimum(p + 0.008, 1.0)
    result = pr.evaluate(y, {"m": p}, by={"g": np.arange(200_000) % 2}, **DRAWS)
    assert group_table(result).verdict.tolist() == ["small", "small"]
    assert "'m' is miscalibrated, but only slightly, in 0 and 1." in result.card.sentences
    assert "No group with enough data was found to be miscalibrated." not in result.card.sentences


def test_the_only_group_is_judged_though_there_is_no_rest():
    said = pr.evaluate(Y, {"m": TRUTH**2}, by={"g": np.zeros(N)}, **DRAWS).card.words
    assert any(one.startswith("'m' is miscalibrated in most or all groups with enough events, ") for one in said)


def test_the_skill_of_many_groups_is_not_estimated_unasked():
    group = np.arange(N) % 101
    result = pr.evaluate(Y, FORECASTS, by={"g": group}, **DRAWS)
    assert result.group_skill is None
    assert not [one for one in result.card.sentences if "skill" in one]
    few = pr.evaluate(Y, FORECASTS, by={"g": group % 2}, **DRAWS)
    assert Sliced(few.group_skill).group.tolist() == ["0", "1"] * 2


def test_a_group_without_the_events_that_were_forecast_is_miscalibrated():
    y = Y & (SITE != "south")
    p = np.where(SITE == "south", TRUTH / 5, TRUTH)
    assert 40 < p[SITE == "south"].sum() < 60
    result = pr.evaluate(y, {"m": p}, by={"site": SITE}, **DRAWS)
    found = group_table(result)
    row = found.group.tolist().index("south")
    assert (found.verdict[row], found.ways[row]) == ("bad", ("too high",))
    assert (found.observed_expected[row], found.observed_expected_low[row]) == (0.0, 0.0)
    own = SITE == "south"
    alone = pr.estimate(y[own], p[own], pr.measures.ObservedExpected())
    assert found.observed_expected_high[row] == pytest.approx(alone.high)
    assert any(one.startswith("'m' is miscalibrated in south: 100% fewer events") for one in result.card.sentences)


def test_events_that_were_hardly_forecast_are_found():
    p = np.where(SITE == "south", 0.001, TRUTH)
    y = np.where(SITE == "south", np.cumsum(SITE == "south") <= 9, Y)
    found = group_table(pr.evaluate(y, {"m": p}, by={"site": SITE}, **DRAWS))
    row = found.group.tolist().index("south")
    assert (found.verdict[row], found.ways[row]) == ("bad", ("too low",))


def test_a_group_whose_forecasts_are_reversed_is_told_as_such():
    p = np.where(SITE == "south", expit(2 * logit(0.25) - logit(TRUTH)), TRUTH)
    result = pr.evaluate(Y, {"m": p}, by={"site": SITE}, **DRAWS)
    found = group_table(result)
    directions = dict(zip(found.group, found.ways, strict=True))
    assert "reversed" in directions["south"]
    assert "too extreme" not in directions["south"]
    (slope,) = result.group_calibration.where(measure="calibration_slope", keys={"site": "south"})
    assert slope.high < 0.0
    # Overconfidence, however gross, is no reversal.
    bold = group_table(pr.evaluate(Y, {"m": expit(8 * logit(TRUTH))}, by={"site": SITE}, **DRAWS))
    assert all("too extreme" in one and "reversed" not in one for one in bold.ways)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
def test_few_events_keep_the_level_over_all_groups(weighted):
    rng = np.random.default_rng(44)
    groups, n = 400, 100
    p = rng.beta(1, 30, groups * n)
    y, g = rng.random(len(p)) < p, np.repeat(np.arange(groups), n)
    weight = {"sample_weight": rng.lognormal(0, 0.7, len(p))} if weighted else {}
    found = group_table(pr.evaluate(y, p, by={"g": g}, **weight, **DRAWS))
    assert len(found.group) == groups
    assert set(found.verdict) == {"too few"}
    assert 0.002 < (found.p_value <= 0.05).mean() <= 0.05


def test_a_group_of_equal_forecasts_is_wrong_in_its_level():
    site = np.repeat(["a", "b"], 200)
    said = []
    for events in range(5, 12):
        y = np.concatenate([np.arange(200) < events, np.arange(200) < 20])
        found = group_table(pr.evaluate(y, {"m": np.full(400, 0.1)}, by=site, seed=1, n_resamples=40))
        said += found.ways[found.verdict == "bad"].tolist()
    assert set(said) == {("too high",)}


def test_groups_of_certain_forecasts_have_limits_of_observed_expected():
    rng = np.random.default_rng(2)
    p, site = (rng.random(400) < 0.3).astype(float), np.repeat(["a", "b"], 200)
    y = np.where(rng.random(400) < 0.2, 1 - p, p)
    found = group_table(pr.evaluate(y, p, by=site, seed=1, n_resamples=20))
    for row, group in enumerate(found.group):
        alone = pr.estimate(y[site == group], p[site == group], pr.measures.ObservedExpected())
        limits = found.observed_expected_low[row], found.observed_expected_high[row]
        assert limits == pytest.approx((alone.low, alone.high))
    never = pr.evaluate(y, np.zeros(400), by=site, seed=1, n_resamples=20)
    (limits,) = {(row.low, row.high) for row in never.card.rows if row.measure == "O/E, lowest to highest"}
    assert limits == (np.inf, np.inf)
