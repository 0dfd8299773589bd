"""Evaluations of cases in time or in clusters: nothing on them takes the cases for independent without saying so."""

import math

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.special import expit, ndtr

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.evaluation.group_calibration import calibration_of_groups
from propriety.inference.estimates import NO_SPREAD
from propriety.inference.finding_words import note_words
from propriety.inference.notes import Note
from propriety.report.evaluation import page_of
from propriety.report.figures import without_pictures

# Sixty different cases, each fifty times: what looks like 3,000 is hardly more than 60.
RNG = np.random.default_rng(3)
TIMES = 3000
Y = np.repeat(RNG.random(60) < 0.4, 50).astype(int)
MODELS = {name: np.clip(np.repeat(RNG.random(60) * 0.8, 50), 0.02, 0.98) for name in "ab"}
BLOCK = np.repeat(np.arange(60), 50)
DRAWS = {"seed": 1, "n_resamples": 40}
MEANS = ("brier", "log", "regret_at_0.3", "net_benefit_at_0.3")

NEIGHBOURS = note_words(Note("neighbours"))


@pytest.fixture(scope="module")
def in_time():
    return pr.evaluate(Y, MODELS, period=np.arange(TIMES), thresholds=0.3, **DRAWS)


@pytest.fixture(scope="module")
def in_clusters():
    return pr.evaluate(Y, MODELS, cluster=BLOCK, thresholds=(0.1, 0.4), **DRAWS)


def test_the_interval_of_the_headline_is_that_of_the_comparison(in_time):
    standings = in_time.comparison.ranks()
    for model, low, high in zip(standings.model.tolist(), standings.low, standings.high, strict=True):
        row = in_time.scores.at(model, "regret_at_0.3")
        assert (row["low"], row["high"]) == (pytest.approx(low, rel=1e-12), pytest.approx(high, rel=1e-12))
        assert row["method"] == "Student's t, Bartlett weights over 72 periods, with imagined outcomes"


def test_means_are_as_wide_as_their_dependence_makes_them(in_time):
    independent = pr.evaluate(Y, MODELS, thresholds=0.3, **DRAWS)
    for measure in MEANS:
        one, other = (found.scores.at("a", measure) for found in (in_time, independent))
        assert one["value"] == pytest.approx(other["value"], rel=1e-12)
        assert one["high"] - one["low"] > 3.0 * (other["high"] - other["low"])
        assert NEIGHBOURS not in one["note"]


def test_net_benefit_in_time_is_that_of_the_comparison(in_time):
    found = pr.compare(Y, MODELS, pr.measures.NetBenefit(0.3), period=np.arange(TIMES)).ranks()
    row = in_time.scores.at("a", "net_benefit_at_0.3")
    place = found.model.tolist().index("a")
    for field in ("value", "low", "high"):
        assert row[field] == pytest.approx(getattr(found, field)[place], rel=1e-12)


def test_nothing_takes_times_for_independent(in_time):
    notes = {key: in_time.scores.at("a", key)["note"] for key in set(in_time.scores.measure.tolist())}
    assert not [key for key, note in notes.items() if note.endswith(NEIGHBOURS)]
    assert "as clusters" in in_time.scores.at("a", "miscalibration")["method"]


@pytest.mark.parametrize(
    "measure",
    [pr.measures.AreaUnderRoc(), pr.measures.ObservedExpected(), pr.measures.CalibrationSlope(), pr.measures.Skill()],
)
def test_smooth_measures_are_as_wide_as_their_dependence_makes_them(measure):
    one, other = (pr.estimate(Y, MODELS["a"], measure, **when) for when in ({"period": np.arange(TIMES)}, {}))
    assert one.high - one.low > 2.0 * (other.high - other.low)


@pytest.mark.parametrize("measure", [pr.Brier(), pr.measures.ObservedExpected()], ids=["mean", "smooth"])
def test_intervals_in_time_hold_the_truth(measure):
    rng = np.random.default_rng(8)
    held = 0
    truth = 0.21 if measure == pr.Brier() else 1.0
    for _ in range(100):
        state, times = np.empty(400, dtype=int), np.arange(400)
        state[0] = rng.random() < 0.3
        stays = rng.random(400) < 0.8
        fresh = rng.random(400) < 0.3
        for place in range(1, 400):
            state[place] = state[place - 1] if stays[place] else fresh[place]
        found = pr.estimate(state, np.full(400, 0.3), measure, period=times)
        held += found.low <= truth <= found.high
    assert held >= 85  # As if independent it is about 55.


@pytest.mark.parametrize("library", ["polars", "duckdb"])
@pytest.mark.parametrize("weight", [None, "w"], ids=["plain", "weights"])
def test_a_lazy_frame_in_time_gives_the_numbers_and_notes_of_the_arrays(library, weight, in_time):
    columns = {"y": Y, **MODELS, "t": np.arange(TIMES), "w": RNG.gamma(2.0, 1.0, TIMES)}
    frame = pl.DataFrame(columns)
    lazy = frame.lazy() if library == "polars" else duckdb.from_arrow(frame.to_arrow())
    whole = in_time
    if weight is not None:
        whole = pr.evaluate(Y, MODELS, period=columns["t"], sample_weight=columns["w"], thresholds=0.3, **DRAWS)
    found = pr.evaluate(lazy, ["a", "b"], outcome="y", period="t", sample_weight=weight, thresholds=0.3, **DRAWS)
    for place, measure in enumerate(whole.scores.measure.tolist()):
        one, other = (
            {name: column[place] for name, column in each.scores.columns().items()} for each in (found, whole)
        )
        for field in ("value", "low", "high"):
            assert one[field] == pytest.approx(other[field], rel=1e-9), measure
        for field in ("method", "call", "note"):
            assert one[field] == other[field], measure


def test_a_single_time_and_losses_that_do_not_vary_have_no_interval():
    alone = pr.evaluate([0, 1, 0, 1], [0.2, 0.6, 0.4, 0.8], period=[1, 1, 1, 1], **DRAWS).scores.at("forecast", "brier")
    assert math.isnan(alone["low"])
    assert alone["note"] == "a single period has no spread"
    flat = pr.evaluate([0, 1] * 30, np.full(60, 0.5), period=np.arange(60), **DRAWS).scores.at("forecast", "brier")
    assert (math.isnan(flat["low"]), flat["standard_error"], flat["note"]) == (True, 0.0, note_words(NO_SPREAD))
    sure = pr.evaluate([0, 1] * 30, [0.0, *[0.5] * 59], period=np.arange(60), **DRAWS)
    assert sure.scores.at("forecast", "log")["low"] > 0.0
    wrong = pr.evaluate([0, 1] * 30, [1.0, *[0.5] * 59], period=np.arange(60), **DRAWS).scores.at("forecast", "log")
    assert (wrong["value"], math.isnan(wrong["low"])) == (math.inf, True)
    assert "infinite" in wrong["note"]


def test_limits_in_time_stay_in_the_range_of_the_score():
    y, p = [0, 1, 1, 0], [0.05, 0.95, 0.4, 0.1]
    row = pr.evaluate(y, p, period=range(4), **DRAWS).scores.at("forecast", "brier")
    assert row["low"] == 0.0
    assert row["high"] <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("found", ["in_time", "in_clusters"])
def test_the_ranking_map_says_nothing_of_noise(found, request):
    result = request.getfixturevalue(found)
    assert "not shown to differ" in str(result.comparison)
    assert np.isnan(result.ranking.standard_error).all()
    assert result.ranking.is_noise.all()
    assert result.ranking.marked is None or math.isnan(result.ranking.marked.standard_error)
    figure = figure_named("Best model over each threshold range", result)
    assert "is_noise" not in figure.table
    assert f"here they may be correlated ({result.dependence})" in figure.caption
    assert "hatched" not in figure.caption
    axes = result.ranking.plot()
    assert not [patch for patch in axes.patches if patch.get_hatch()]
    told = " ".join(text.get_text() for text in axes.get_legend().get_texts())
    assert "no standard error is available" in told.replace("\n", " ")
    assert "hatched" not in told
    assert not [text for text in axes.texts if "SE" in text.get_text()]
    axes.figure.clear()


@pytest.mark.slow
def test_independent_cases_have_their_noise():
    result = pr.evaluate(Y, MODELS, **DRAWS)
    figure = figure_named("Best model over each threshold range", result)
    assert "is_noise" in figure.table
    assert "hatched where its difference from the next model is within sampling error" in figure.caption
    assert "independent" not in figure_named("Reliability of a", result).caption


@pytest.mark.slow
@pytest.mark.parametrize("found", ["in_time", "in_clusters"])
def test_bands_say_that_they_take_cases_for_independent(found, request):
    result = request.getfixturevalue(found)
    caption = figure_named("Reliability of a", result).caption
    assert "only known for independent cases, and the CORP curve" in caption
    assert f"assumes independent cases too. Here they may be correlated ({result.dependence})" in caption


def figure_named(title, result):
    with without_pictures():
        items = [item for section in page_of(result, title="A").sections for item in section.items]
    return next(item for item in items if getattr(item, "title", "") == title)


@pytest.mark.parametrize("outcome", [None, "y"], ids=["arrays", "frame"])
def test_clusters_and_times_together_are_refused_at_once(outcome):
    frame = pl.DataFrame({"y": Y, **MODELS, "t": BLOCK})
    given = (Y, MODELS, BLOCK) if outcome is None else (frame, ["a"], "t")
    with pytest.raises(InputValueError, match="cases have cluster= or period=, not both"):
        pr.evaluate(*given[:2], outcome=outcome, cluster=given[2], period=given[2])


@pytest.mark.parametrize("lazy", [False, True])
def test_times_without_an_order_are_refused_at_once(lazy):
    frame = pl.DataFrame({"y": Y, **MODELS, "t": BLOCK.astype(str)})
    with pytest.raises(InputTypeError, match="period must hold numbers or dates"):
        pr.evaluate(frame.lazy() if lazy else frame, ["a"], outcome="y", period="t")


@pytest.mark.slow
def test_groups_of_a_lazy_frame_in_time_are_those_of_the_arrays():
    time = np.arange(TIMES) // 3
    columns = {"y": Y, **MODELS, "t": time, "g": BLOCK % 2}
    lazy = pl.DataFrame(columns).lazy()
    whole = pr.evaluate(Y, MODELS, period=time, by=BLOCK % 2, **DRAWS)
    found = pr.evaluate(lazy, ["a", "b"], outcome="y", period="t", by="g", **DRAWS)
    alone = pr.slices(Y, MODELS, by=BLOCK % 2, period=time)
    for result in (whole, found):
        np.testing.assert_allclose(result.slices.p, alone.p, rtol=1e-9)
        np.testing.assert_allclose(result.group_calibration.p, whole.group_calibration.p, rtol=1e-9)
        assert "groups treat" not in str(result)


def test_calibration_of_groups_allows_for_neighbouring_times():
    """Days that follow each other are alike: with times as independent, a third of calibrated groups seem wrong."""
    rng = np.random.default_rng(3)
    time, group, rejected = np.repeat(np.arange(100), 6), np.tile(np.arange(6) % 2, 100), 0
    for _ in range(60):
        state = rng.normal(size=(2, 100))
        for step in range(1, 100):
            state[:, step] = 0.8 * state[:, step - 1] + 0.6 * state[:, step]
        p = expit(rng.normal(size=600))
        y = ndtr(np.sqrt(0.4) * state[group, time] + np.sqrt(0.6) * rng.normal(size=600)) < p
        ledger = pr.condense(y, p, by={"group": group}, period=time)
        found = calibration_of_groups(ledger, level=0.95)
        rejected += found.where(measure="calibration")[0].p < 0.05
    assert rejected <= 9
