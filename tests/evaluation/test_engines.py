"""Answers of lazy frames: the numbers of the arrays, whatever the engine, with groups, weights, clusters and times."""

import functools

import numpy as np
import polars as pl
import pytest
from sliced import Sliced

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.inference.finding_words import caveats

N = 3000
RNG = np.random.default_rng(11)
TRUTH = np.round(RNG.beta(1, 3, N), 3).clip(0.001, 0.999)
Y = (RNG.random(N) < TRUTH).astype(int)
BOLD = TRUTH**2 / (TRUTH**2 + (1 - TRUTH) ** 2)
COLUMNS = {
    "y": Y,
    "honest": TRUTH,
    "bold": BOLD,
    "site": RNG.choice(["north", "south", "west"], N),
    "shift": RNG.choice([1, 2], N),
    "ward": RNG.integers(0, 60, N),
    "day": RNG.integers(0, 100, N),
    "w": RNG.gamma(2.0, 1.0, N) * (RNG.random(N) < 0.95),
}
FRAME = pl.DataFrame(COLUMNS)
ARRAYS = {"honest": TRUTH, "bold": BOLD}
MODELS = list(ARRAYS)
DRAWS = {"seed": 1, "n_resamples": 99}
OF_GROUPS = {"thresholds": 0.2, "seed": 1, "n_resamples": 40}
SHARED = {
    "plain": {},
    "keys": {"by": ["site", "shift"]},
    "clusters": {"cluster": "ward"},
    "weights": {"sample_weight": "w"},
    "times": {"period": "day"},
    "keys, clusters, weights": {"by": ["site", "shift"], "cluster": "ward", "sample_weight": "w"},
    "keys, times, weights": {"by": ["site"], "period": "day", "sample_weight": "w"},
}


def mean_forecast(table):
    return float((table.weights * table.forecast).sum() / table.weight)


MEASURES = {
    "mean": pr.Log(),
    "net benefit": pr.measures.NetBenefit(0.2),
    "skill": pr.measures.Skill(),
    "part": pr.measures.Miscalibration(),
    "area": pr.measures.AreaUnderRoc(),
    "smooth": pr.measures.CalibrationSlope(),
    "drawn": mean_forecast,
}


def arrays(case):
    """Return the columns of a case as arrays."""
    shared = dict(SHARED[case])
    keys = {"by": {name: COLUMNS[name] for name in shared.pop("by")}} if "by" in shared else {}
    return keys | {argument: COLUMNS[column] for argument, column in shared.items()}


@functools.cache
def evaluated(case, thresholds):
    return pr.evaluate(Y, ARRAYS, **arrays(case), thresholds=thresholds, **DRAWS)


@functools.cache
def answered(function, case, measure):
    """Return the answer for the arrays, with which that of every engine is compared."""
    options = {"measure": MEASURES[measure], **(OF_GROUPS if function is pr.slices else DRAWS)}
    return function(Y, BOLD if function is pr.estimate else ARRAYS, **arrays(case), **options)


@pytest.mark.slow
@pytest.mark.parametrize("thresholds", [None, 0.1, (0.05, 0.2)], ids=str)
@pytest.mark.parametrize("case", SHARED)
def test_an_evaluation_is_that_of_the_arrays(lazily, alike, case, thresholds):
    found = pr.evaluate(lazily(FRAME), MODELS, outcome="y", **SHARED[case], thresholds=thresholds, **DRAWS)
    whole = evaluated(case, thresholds)
    assert repr(found) == repr(whole)
    assert str(found) == str(whole)
    assert found.rates == pytest.approx(whole.rates, rel=1e-14)
    alike(found.scores, whole.scores)
    alike(found.comparison, whole.comparison)
    if whole.slices is not None:
        assert list(found.slices.keys) == list(whole.slices.keys)
        alike(found.slices, whole.slices, 1e-11)
    for model in MODELS:
        alike(found.tables[model]["event"], whole.tables[model]["event"])
        alike(found.decompositions[model], whole.decompositions[model])
        alike(found.reliability[model]["event"], whole.reliability[model]["event"])
    alike(found.ranking, whole.ranking)


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("case", [case for case in SHARED if "keys" not in case])
def test_an_estimate_is_that_of_the_arrays(lazily, alike, case, measure):
    options = {"measure": MEASURES[measure], **DRAWS}
    found = pr.estimate(lazily(FRAME), "bold", outcome="y", **SHARED[case], **options)
    alike(found, answered(pr.estimate, case, measure), beside=("model",))


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("case", [case for case in SHARED if "keys" not in case])
def test_a_comparison_is_that_of_the_arrays(lazily, alike, case, measure):
    options = {"measure": MEASURES[measure], **DRAWS}
    found = pr.compare(lazily(FRAME), MODELS, outcome="y", **SHARED[case], **options)
    whole = answered(pr.compare, case, measure)
    alike(found, whole, 1e-11)
    alike(found.ranks(), whole.ranks())
    assert str(found) == str(whole)


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("case", [case for case in SHARED if "keys" in case])
def test_groups_are_those_of_the_arrays(lazily, alike, case, measure):
    found = pr.slices(lazily(FRAME), MODELS, MEASURES[measure], outcome="y", **SHARED[case], **OF_GROUPS)
    alike(found, answered(pr.slices, case, measure), 1e-11)


def test_weighted_groups_know_how_many_events_they_have(lazily):
    light = COLUMNS | {"w": np.where(Y == 1, 0.02, 1.0) * np.maximum(COLUMNS["w"], 0.1)}
    frame = pl.DataFrame(light)
    found = pr.evaluate(lazily(frame), ["honest"], outcome="y", by="site", sample_weight="w", **DRAWS)
    whole = pr.evaluate(Y, {"honest": TRUTH}, by=light["site"], sample_weight=light["w"], **DRAWS)
    assert found.slices.to_dict()["events"] == whole.slices.to_dict()["events"]
    assert Sliced(found.slices).events.tolist() == [
        int(Y[light["site"] == site].sum()) for site in ("north", "south", "west")
    ]
    assert found.slices.columns()["notes"] == whole.slices.columns()["notes"]
    few = pr.evaluate(lazily(frame.head(150)), ["honest"], outcome="y", sample_weight="w", **DRAWS)
    assert f"{Y[:150].sum()} events" in few.scores.at("honest", "brier")["note"]


def test_missing_values_are_dropped_for_all_models(lazily):
    frame = FRAME.with_columns(pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise(pl.col("bold")).alias("bold"))
    found = pr.evaluate(lazily(frame), MODELS, outcome="y", missing="drop", **DRAWS)
    assert (found.n, found.dropped) == (N - 5, 5)
    whole = pr.evaluate(Y[5:], {name: p[5:] for name, p in ARRAYS.items()}, **DRAWS)
    assert found.to_dict() == pytest.approx(whole.to_dict(), rel=1e-12, abs=1e-15)


def test_few_events_and_clusters_are_told_as_of_the_arrays(lazily):
    frame = FRAME.head(30)
    for options in ({}, {"cluster": "ward"}, {"period": "day"}):
        found = pr.evaluate(lazily(frame), MODELS, outcome="y", **options, **DRAWS).scores
        whole = pr.evaluate(frame, MODELS, outcome="y", **options, **DRAWS).scores
        assert "events" in whole.at("honest", "brier")["note"]
        assert found.note.tolist() == whole.note.tolist()


def test_a_constant_loss_has_no_spread(lazily):
    flat = {name: COLUMNS["y"] * 0.0 + p for name, p in (("a", 0.5), ("b", 0.5))}
    row = pr.evaluate(lazily(pl.DataFrame(COLUMNS | flat)), ["a", "b"], outcome="y", **DRAWS).scores.at("a", "log")
    assert row["standard_error"] == 0.0
    assert row["note"] == caveats(pr.estimate(Y, flat["a"], pr.Log()))


def test_certain_forecasts_that_fail_are_told_as_of_the_arrays(lazily, alike):
    sure = pl.DataFrame(COLUMNS).with_columns(
        bold=pl.when(pl.int_range(pl.len()) < 20).then(pl.col("y") * 1.0).otherwise(pl.col("bold")),
        honest=pl.when(pl.int_range(pl.len()) == 7).then(1.0 - pl.col("y")).otherwise(pl.col("honest")),
    )
    found, whole = (pr.evaluate(one, MODELS, outcome="y", **DRAWS) for one in (lazily(sure), sure))
    assert found.scores.at("honest", "log")["value"] == np.inf
    assert "log-odds" in found.scores.at("bold", "calibration_slope")["note"]
    alike(found.scores, whole.scores)
    assert str(found) == str(whole)


@pytest.mark.parametrize(("key", "argument"), [("ward", "by"), ("ward", "cluster"), ("day", "period")])
def test_a_label_that_is_missing_is_refused_as_in_arrays(lazily, key, argument):
    frame = FRAME.with_columns(pl.when(pl.int_range(pl.len()) < 7).then(None).otherwise(pl.col(key)).alias(key))
    named = r"by\['ward'\]" if argument == "by" else argument
    told = rf"{named} must be known for every case.* \(7 of 3,000 rows\)"
    for given in (frame, lazily(frame)):
        with pytest.raises(MissingValuesError, match=told):
            pr.evaluate(given, ["honest"], outcome="y", **{argument: key}, **DRAWS)


def test_what_a_lazy_frame_cannot_have_is_refused(lazily):
    lazy = lazily(FRAME)
    with pytest.raises(InputValueError, match="cluster= or period="):
        pr.evaluate(lazy, ["honest"], outcome="y", cluster="ward", period="day")
    with pytest.raises(InputValueError, match="ordered belongs"):
        pr.evaluate(lazy, ["honest"], outcome="y", ordered=True)


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_names_are_judged_before_anything_is_asked(lazy):
    frame = FRAME.lazy() if lazy else FRAME
    for bad in ({"a": []}, {"a": 5}, {"a": ["honest", 3]}):
        with pytest.raises(InputTypeError, match="must name columns"):
            pr.evaluate(frame, bad, outcome="y")
    with pytest.raises(InputTypeError, match="must map the names of models"):
        pr.evaluate(frame, {1: "honest"}, outcome="y")
    with pytest.raises(InputValueError, match="control characters"):
        pr.evaluate(frame, {"a\nb": "honest"}, outcome="y")
