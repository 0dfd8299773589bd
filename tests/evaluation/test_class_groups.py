"""Calibration of class probabilities by group: one level, the class and the group named, the same on engines."""

import functools

import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.evaluation import group_calibration

RNG = np.random.default_rng(8)
N, K = 2400, 4
TRUTH = RNG.dirichlet([1, 2, 1, 1], N)
Y = (TRUTH.cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1)
SITE = RNG.choice(["east", "north", "west"], N)
WRONG = TRUTH.copy()
WRONG[SITE == "north", 2] *= 3.0
WRONG /= WRONG.sum(axis=1, keepdims=True)
WEIGHT, CLUSTER = RNG.gamma(2.0, size=N), RNG.integers(0, 90, N)
MODELS = {"right": TRUTH, "wrong": WRONG}
NAMED = {model: [f"{model}_{place}" for place in range(K)] for model in MODELS}
FRAME = pl.DataFrame(
    {"y": Y, "site": SITE, "w": WEIGHT, "ward": CLUSTER}
    | {column: MODELS[model][:, place] for model, own in NAMED.items() for place, column in enumerate(own)}
)
DRAWS = {"seed": 1, "n_resamples": 40}
SHARED = {"plain": {}, "weights": {"sample_weight": "w"}, "clusters": {"cluster": "ward"}}


@functools.cache
def evaluated(case):
    return pr.evaluate(FRAME, NAMED, outcome="y", by="site", **SHARED[case], **DRAWS)


@pytest.mark.parametrize("case", SHARED)
def test_the_group_and_the_class_are_named(case):
    result = evaluated(case)
    found = group_calibration.group_table(result)
    (row,) = np.flatnonzero(found.verdict == "bad")
    assert (found.model[row], found.group[row]) == ("wrong", "north")
    assert any(one.startswith("class 2 too high") for one in found.ways[row])
    told = "; ".join(found.ways[row])
    assert f"'wrong' is miscalibrated in north: {told}." in result.card.sentences
    own = (found.group[0] == SITE) & (found.model[0] == "right")
    top = TRUTH[own].argmax(axis=1) == Y[own]
    weight = WEIGHT[own] if case == "weights" else np.ones(own.sum())
    assert found.observed_expected[0] == pytest.approx((weight @ top) / (weight @ TRUTH[own].max(axis=1)))


@pytest.mark.parametrize("case", SHARED)
def test_groups_confusion_and_classes_of_engines_are_those_of_arrays(lazily, alike, case):
    found = pr.evaluate(lazily(FRAME), NAMED, outcome="y", by="site", **SHARED[case], **DRAWS)
    whole = evaluated(case)
    alike(found.group_calibration, whole.group_calibration, 1e-12)
    alike(found.classes, whole.classes, 1e-12)
    for model in MODELS:
        alike(found.confusion[model], whole.confusion[model])
        names = {"measure": "calibration", "model": model, "statistic": "top label"}
        assert found.calibration.where(**names)[0].p == pytest.approx(whole.calibration.where(**names)[0].p, rel=1e-11)


def test_a_stored_ledger_has_the_same_groups_and_no_confusion(alike, tmp_path):
    pr.condense(FRAME, NAMED, outcome="y", by="site", rules=[pr.Brier(), pr.Log()]).to_parquet(tmp_path / "ledger")
    found = pr.evaluate(pr.Ledger.from_parquet(tmp_path / "ledger"), **DRAWS)
    alike(found.group_calibration, evaluated("plain").group_calibration)
    alike(found.classes, evaluated("plain").classes)
    assert found.confusion == {}


def test_calibrated_groups_are_found_wrong_as_rarely_as_the_level_says():
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(60):
        p = rng.dirichlet([1, 2, 1, 1], 1200)
        y = (p.cumsum(axis=1) < rng.random((1200, 1))).sum(axis=1)
        found = group_calibration.group_table(pr.evaluate(y, p, by={"g": np.arange(1200) % 6}, **DRAWS))
        wrong += bool(np.isin(found.verdict, ["small", "bad"]).any())
    assert wrong <= 7


def test_the_confusion_matrix_counts_and_expects():
    found = evaluated("plain").confusion["right"]
    top = TRUTH.argmax(axis=1)
    for true in range(K):
        for one in range(K):
            assert found.count[true, one] == ((true == Y) & (top == one)).sum()
            assert found.expected[true, one] == pytest.approx(TRUTH[top == one, true].sum())
    np.testing.assert_allclose(found.share.sum(axis=1), 1.0)
    pairs = found.most_confused(3)
    assert (np.diff(pairs["count"]) <= 0).all()
    assert (pairs["label"] != pairs["predicted"]).all()
    assert f"accuracy={(top == Y).mean():.6g}" in repr(found)
    axes = found.plot()
    assert [text.get_text() for text in axes.texts] == [f"{count:,.0f}" for count in found.count[found.count > 0]]


def test_forecasts_that_are_too_timid_by_far_are_called_so():
    """The slope is fitted: its first step from calibration has the wrong sign if the level is far off."""
    rng = np.random.default_rng(5)
    right = rng.dirichlet([0.05] * 4, 900)
    timid = right**0.3 / (right**0.3).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(4, p=row) for row in right])
    found = group_calibration.group_table(pr.evaluate(y, timid, by=np.arange(900) % 2, **DRAWS))
    assert (found.verdict == "bad").all()
    for ways in found.ways:
        assert "most likely class too low and too timid" in ways


def test_a_class_whose_level_and_slope_differ_only_together_is_said_in_words():
    assert group_calibration._way("class a", ("too high", "too timid")) == "class a too high and too timid"
    assert (
        group_calibration._way("class a", ("together",)) == "class a: intercept and slope jointly differ from 0 and 1"
    )
