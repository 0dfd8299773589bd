"""evaluate() on lazy frames: the numbers of the arrays, whatever the engine, with groups, weights, clusters and times."""

import duckdb
import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError

N = 4000
RNG = np.random.default_rng(11)
TRUTH = np.round(RNG.beta(1, 3, N), 3)
Y = (RNG.random(N) < TRUTH).astype(int)
BOLD = TRUTH**2 / (TRUTH**2 + (1 - TRUTH) ** 2)
COLUMNS = {
    "y": Y,
    "honest": TRUTH,
    "bold": BOLD,
    "site": RNG.choice(["north", "south", "west"], N),
    "ward": RNG.integers(0, 30, N),
    "day": RNG.integers(0, 100, N),
    "w": RNG.gamma(2.0, 1.0, N),
}
ARRAYS = {"honest": TRUTH, "bold": BOLD}
DRAWS = {"seed": 1, "n_resamples": 40}


@pytest.fixture(params=["polars", "duckdb"])
def lazy(request):
    frame = pl.DataFrame(COLUMNS)
    return frame.lazy() if request.param == "polars" else duckdb.from_arrow(frame.to_arrow())


@pytest.mark.parametrize("thresholds", [None, 0.1, (0.05, 0.2)], ids=str)
def test_a_lazy_frame_gives_the_numbers_of_the_arrays(lazy, thresholds):
    found = pr.evaluate(lazy, ["honest", "bold"], outcome="y", by="site", thresholds=thresholds, **DRAWS)
    whole = pr.evaluate(Y, ARRAYS, by=COLUMNS["site"], thresholds=thresholds, **DRAWS)
    assert found.to_dict() == pytest.approx(whole.to_dict(), rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(found.comparison.difference, whole.comparison.difference, rtol=1e-11)
    np.testing.assert_array_equal(found.comparison.verdict, whole.comparison.verdict)
    assert len(found.summary().splitlines()) == len(whole.summary().splitlines())
    for name, column in whole.slices.rows().items():
        if column.dtype.kind == "f":
            np.testing.assert_allclose(found.slices.rows()[name], column, rtol=1e-9, atol=1e-12, err_msg=name)
        else:
            np.testing.assert_array_equal(found.slices.rows()[name], column)
    np.testing.assert_array_equal(
        found.reliability["bold"]["event"].event_rate, whole.reliability["bold"]["event"].event_rate
    )


def test_clusters_are_known_to_the_means_and_the_comparison(lazy):
    found = pr.evaluate(lazy, ["honest", "bold"], outcome="y", cluster="ward", **DRAWS)
    whole = pr.evaluate(Y, ARRAYS, cluster=COLUMNS["ward"], **DRAWS)
    for key in ("honest/brier", "honest/brier_low", "bold/log_high"):
        assert found.to_dict()[key] == pytest.approx(whole.to_dict()[key], rel=1e-11)
    assert str(found.comparison) == str(whole.comparison)
    row = found.scores.at("honest", "auc")
    assert row["estimate"] == pytest.approx(whole.to_dict()["honest/auc"])
    assert np.isnan(row["low"])
    assert "a table with clusters does not know its cases" in row["note"]


def test_times_are_compared_as_times(lazy):
    found = pr.evaluate(lazy, ["honest", "bold"], outcome="y", time="day", **DRAWS)
    assert str(found.comparison) == str(pr.compare(Y, ARRAYS, time=COLUMNS["day"]))


def test_weights_are_known_to_the_means(lazy):
    found = pr.evaluate(lazy, ["honest", "bold"], outcome="y", sample_weight="w", **DRAWS)
    whole = pr.evaluate(Y, ARRAYS, sample_weight=COLUMNS["w"], **DRAWS)
    for key in ("honest/brier", "honest/brier_low", "bold/log_high"):
        assert found.to_dict()[key] == pytest.approx(whole.to_dict()[key], rel=1e-11)
    assert found.to_dict()["bold/miscalibration"] == pytest.approx(whole.to_dict()["bold/miscalibration"], rel=1e-9)
    assert str(found.comparison) == str(whole.comparison)


def test_weighted_groups_know_how_many_events_they_have(lazy):
    light = COLUMNS | {"w": np.where(Y == 1, 0.02, 1.0) * COLUMNS["w"]}
    frame = pl.DataFrame(light)
    relation = frame.lazy() if isinstance(lazy, pl.LazyFrame) else duckdb.from_arrow(frame.to_arrow())
    found = pr.evaluate(relation, ["honest"], outcome="y", by="site", sample_weight="w", **DRAWS)
    whole = pr.evaluate(Y, {"honest": TRUTH}, by=light["site"], sample_weight=light["w"], **DRAWS)
    assert found.slices.events.tolist() == whole.slices.events.tolist()
    assert found.slices.events.tolist() == [int(Y[light["site"] == site].sum()) for site in ("north", "south", "west")]
    assert found.slices.rows()["note"].tolist() == whole.slices.rows()["note"].tolist()
    few = pr.evaluate(frame.head(150).lazy(), ["honest"], outcome="y", sample_weight="w", **DRAWS)
    assert f"{Y[:150].sum()} events" in few.scores.at("honest", "brier")["note"]


def test_missing_values_are_dropped_for_all_models():
    frame = pl.DataFrame(COLUMNS).with_columns(
        pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise(pl.col("bold")).alias("bold")
    )
    found = pr.evaluate(frame.lazy(), ["honest", "bold"], outcome="y", missing="drop", **DRAWS)
    assert (found.n, found.dropped) == (N - 5, 5)
    whole = pr.evaluate(Y[5:], {name: p[5:] for name, p in ARRAYS.items()}, **DRAWS)
    assert found.to_dict() == pytest.approx(whole.to_dict(), rel=1e-12, abs=1e-15)


def test_few_events_and_clusters_are_told_as_of_the_arrays(lazy):
    few = {name: column[:150] for name, column in COLUMNS.items()}
    frame = pl.DataFrame(few)
    relation = frame.lazy() if isinstance(lazy, pl.LazyFrame) else duckdb.from_arrow(frame.to_arrow())
    for options in ({}, {"cluster": "ward"}, {"time": "day"}):
        found = pr.evaluate(relation, ["honest", "bold"], outcome="y", **options, **DRAWS).scores
        whole = pr.evaluate(frame, ["honest", "bold"], outcome="y", **options, **DRAWS).scores
        assert "events" in whole.at("honest", "brier")["note"]
        for measure in ("brier", "log"):
            assert found.at("honest", measure)["note"] == whole.at("honest", measure)["note"]


def test_a_constant_loss_has_no_spread(lazy):
    flat = {name: COLUMNS["y"] * 0.0 + p for name, p in (("a", 0.5), ("b", 0.5))}
    frame = pl.DataFrame(COLUMNS | flat)
    relation = frame.lazy() if isinstance(lazy, pl.LazyFrame) else duckdb.from_arrow(frame.to_arrow())
    row = pr.evaluate(relation, ["a", "b"], outcome="y", **DRAWS).scores.at("a", "log")
    assert row["standard_error"] == 0.0
    assert row["note"] == pr.interval(Y, flat["a"], of=pr.Log()).note


@pytest.mark.parametrize(("key", "argument"), [("ward", "by"), ("ward", "cluster"), ("day", "time")])
def test_a_label_that_is_missing_is_refused_as_in_arrays(key, argument):
    frame = pl.DataFrame(COLUMNS).with_columns(
        pl.when(pl.int_range(pl.len()) < 7).then(None).otherwise(pl.col(key)).alias(key)
    )
    told = rf"{argument} must be known of every case.* \(7 of 4,000 rows\)"
    for given in (frame, frame.lazy()):
        with pytest.raises(MissingValuesError, match=told):
            pr.evaluate(given, ["honest"], outcome="y", **{argument: key}, **DRAWS)


def test_what_a_lazy_frame_cannot_have_is_refused():
    lazy = pl.DataFrame(COLUMNS).lazy()
    with pytest.raises(InputValueError, match="cluster= or time="):
        pr.evaluate(lazy, ["honest"], outcome="y", cluster="ward", time="day")
    with pytest.raises(InputValueError, match="ordered belongs"):
        pr.evaluate(lazy, ["honest"], outcome="y", ordered=True)


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_names_are_judged_before_anything_is_asked(lazy):
    frame = pl.DataFrame(COLUMNS).lazy() if lazy else pl.DataFrame(COLUMNS)
    for bad in ({"a": []}, {"a": 5}, {"a": ["honest", 3]}):
        with pytest.raises(InputTypeError, match="must name columns"):
            pr.evaluate(frame, bad, outcome="y")
    with pytest.raises(InputTypeError, match="must map the names of models"):
        pr.evaluate(frame, {1: "honest"}, outcome="y")
    with pytest.raises(InputValueError, match="control characters"):
        pr.evaluate(frame, {"a\nb": "honest"}, outcome="y")
