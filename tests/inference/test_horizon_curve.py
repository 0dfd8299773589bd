"""A measure over several horizons: each as by itself, and the mean with an error that allows for their correlation."""

import math
import tracemalloc

import matplotlib as mpl
import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.inference.finding_words import caveats, note_words

mpl.use("agg")

HORIZONS = (0.3, 0.6, 0.85)


def mean_of(found):
    return found.where(statistic="mean over horizons")[0]


def cases(n=150):
    i = np.arange(1, n + 1)
    u, v, w = ((i * step) % 1.0 for step in (0.6180339887498949, 0.7548776662466927, 0.5698402909980532))
    hazard = np.exp(2.0 * u - 1.0)
    of_event, of_censoring = -np.log(1.0 - v) / hazard, -1.5 * np.log(1.0 - w)
    time, event = np.minimum(of_event, of_censoring), of_event <= of_censoring
    time = np.ceil(time * 20.0) / 20.0
    return time, event, 1.0 - np.exp(-np.outer(hazard, HORIZONS)), i % 2


@pytest.mark.parametrize("grouped", [False, True])
def test_each_horizon_is_estimated_as_by_itself(grouped):
    time, event, p, group = cases()
    outcomes = pr.censored(time, event, horizons=HORIZONS, groups=group if grouped else None)
    curve = pr.horizon_curve(outcomes, {"a": p, "b": p**2}, pr.measures.AreaUnderRoc())
    for place, horizon in enumerate(HORIZONS):
        alone = pr.estimate(outcomes.at(horizon), p[:, place], pr.measures.AreaUnderRoc())
        assert (curve.value[place], curve.low[place]) == (alone.value, alone.low)
        assert "; ".join(map(note_words, curve[place].notes)) == caveats(alone)
    assert curve.model.tolist() == ["a"] * 4 + ["b"] * 4
    few = pr.horizon_curve(pr.censored(time[:25], event[:25], horizons=HORIZONS), p[:25])
    assert note_words(few[0].notes[0]).startswith("based on ")
    assert curve.where(model="b", statistic="value").extra["event_free"].tolist() == outcomes.event_free.tolist()


def variance(time, event, parts, group):
    """Return the variance of a sum over horizons of weighted, centred contributions, from the influence of cases."""
    influence = np.sum(parts, axis=0)
    for z, horizon in zip(parts, HORIZONS, strict=True):
        for one in np.unique(group):
            own = group == one
            for u in np.unique(time[own & ~event & (time < horizon)]):
                leaves, stays = own & ~event & (time == u), own & (time > u)
                c, r = np.count_nonzero(leaves), np.count_nonzero(leaves | stays)
                step = z[stays].sum() / (r - c)
                influence += leaves * step - (leaves | stays) * step * c / r
    return np.sum(influence**2)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_error_of_the_integrated_score_is_that_of_the_definition(grouped):
    time, event, p, group = cases()
    group = group if grouped else np.zeros_like(group)
    outcomes = pr.censored(time, event, horizons=HORIZONS, groups=group)
    found = mean_of(pr.horizon_curve(outcomes, p))
    share = np.array([0.15, 0.275, 0.125]) / 0.55
    parts = []
    for place, horizon in enumerate(HORIZONS):
        y, weight = outcomes.at(horizon).only()[:2]
        loss = (y - p[:, place]) ** 2
        parts.append(share[place] * weight * (loss - np.average(loss, weights=weight)) / len(time))
    n = len(time)
    assert found.error == pytest.approx(math.sqrt(variance(time, event, parts, group) * n / (n - 1)), rel=1e-9)
    scores = [float(pr.brier_score(outcomes.at(one), p[:, place])) for place, one in enumerate(HORIZONS)]
    assert found.value == pytest.approx(share @ scores)


def test_the_picture_shows_values_and_cases():
    time, event, p, _ = cases()
    curve = pr.horizon_curve(pr.censored(time, event, horizons=HORIZONS), {"a": p})
    axes = curve.plot()
    assert axes.lines[0].get_ydata().tolist() == curve.where(statistic="value").value.tolist()
    assert next(tick.get_text() for tick in axes.get_xticklabels()) == f"0.3\n{curve[0].extra['event_free']}"
    assert "Brier score" in axes.get_ylabel()


def test_what_is_rejected():
    time, event, p, _ = cases()
    outcomes = pr.censored(time, event, horizons=HORIZONS)
    with pytest.raises(InputValueError, match="one column per horizon"):
        pr.horizon_curve(outcomes, p[:, :2])
    with pytest.raises(InputTypeError, match="two horizons"):
        pr.horizon_curve(outcomes.at(0.3), p[:, :1])
    with pytest.raises(InputTypeError, match="influence function"):
        pr.horizon_curve(outcomes, p, pr.measures.Miscalibration())


def test_rows_of_another_order_are_rejected():
    pandas = pytest.importorskip("pandas")
    time, event, p, _ = cases()
    outcomes = pr.censored(pandas.Series(time), event, horizons=HORIZONS)
    frame = pandas.DataFrame(p)
    shuffled = frame.sample(frac=1, random_state=1)
    assert pr.horizon_curve(outcomes, frame).value.tolist() == pr.horizon_curve(outcomes, p).value.tolist()
    with pytest.raises(InputValueError, match=r"y_true and forecasts\['forecast'\] carry different indices"):
        pr.horizon_curve(outcomes, shuffled)
    with pytest.raises(InputValueError, match=r"forecasts\['a'\] and forecasts\['b'\] carry different indices"):
        pr.horizon_curve(pr.censored(time, event, horizons=HORIZONS), {"a": frame, "b": shuffled})


@pytest.mark.parametrize("kind", ["nan", "masked", "null"])
def test_a_missing_forecast_cannot_be_dropped_here(kind):
    time, event, p, _ = cases()
    outcomes = pr.censored(time, event, horizons=HORIZONS)
    absent = np.zeros(p.shape, dtype=bool)
    absent[7, 1] = True
    given = {"nan": np.where(absent, np.nan, p), "masked": np.ma.array(p, mask=absent)}
    if kind == "null":
        pandas = pytest.importorskip("pandas")
        given["null"] = pandas.DataFrame(np.round(p)).astype("Int64").mask(absent)
    said = (
        r"forecasts\['a'\] must not hold missing values .*row 7 .*Hint: leave such cases out of both the outcomes and"
    )
    with pytest.raises(MissingValuesError, match=said):
        pr.horizon_curve(outcomes, {"a": given[kind]})


def test_the_mean_over_horizons_has_limits_within_its_range():
    rng = np.random.default_rng(9)
    time, end = rng.exponential(1.0 / 0.002, 1000), rng.uniform(0.0, 6.0, 1000)
    horizons = [1.0, 2.0, 4.0]
    rows = 1.0 - np.exp(-0.002 * np.outer(np.exp(rng.normal(0.0, 0.3, 1000)), horizons))
    found = pr.horizon_curve(pr.censored(np.minimum(time, end), time <= end, horizons=horizons), rows)
    integrated = mean_of(found)
    assert integrated.value - 1.96 * integrated.error < 0.0 < integrated.low
    assert found.low.min() < integrated.low < integrated.value < integrated.high < found.high.max()


@pytest.mark.parametrize("measure", [pr.measures.CalibrationSlope(), pr.measures.AreaUnderRoc(), pr.Brier()])
def test_the_mean_over_equal_horizons_is_that_of_one(measure):
    """What the limits at a horizon allow for, such as few events, those of the mean allow for, too."""
    time, event, p, _ = cases()
    outcomes = pr.censored(time, event, horizons=[0.12, 0.12 + 1e-9])
    curve = pr.horizon_curve(outcomes, np.column_stack([p[:, 0], p[:, 0]]), measure)
    for name in ("value", "low", "high", "error"):
        assert getattr(mean_of(curve), name) == pytest.approx(getattr(curve, name)[0], rel=1e-9), name


def test_memory_grows_by_the_influence_of_each_horizon_alone():
    rng, peaks, n = np.random.default_rng(1), [], 5_000
    time, end = rng.exponential(2.0, n), rng.uniform(0.0, 4.0, n)
    for many in (2, 2, 12):  # The first also imports.
        outcomes = pr.censored(np.minimum(time, end), time <= end, horizons=np.linspace(1.0, 2.0, many))
        rows = rng.random((n, many))
        tracemalloc.start()
        pr.horizon_curve(outcomes, rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (peaks[2] - peaks[1]) / (10 * 8 * n) < 2.0
