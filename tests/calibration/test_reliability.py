"""Reliability curves: blocks, bins, smooth curves, histograms, and what stands between."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.calibration.blocks import bin_starts, pool_adjacent_violators
from propriety.calibration.calibration_errors import forecast_histogram, is_discrete
from propriety.errors import InputTypeError, InputValueError
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.laws import weighted_quantile

NIAMEY = Path(__file__).parents[3] / "shared" / "data" / "niamey.csv"

samples = st.lists(
    st.tuples(st.booleans(), st.one_of(st.integers(0, 10).map(lambda k: k / 10), st.floats(0, 1))),
    min_size=1,
    max_size=60,
)


@pytest.mark.parametrize("case", ["pav", "pav_2"])
def test_pooled_adjacent_violators(golden, case):
    given_, expected = golden(case)
    table = ForecastTable.from_predictions(given_["y"], given_["s"])
    rate = dict(zip(table.forecast, pool_adjacent_violators(table).per_row(), strict=True))
    np.testing.assert_allclose([rate[s] for s in given_["s"]], expected["pav"], rtol=1e-12)


@given(sample=samples)
def test_blocks_are_the_least_squares_fit_that_does_not_fall(sample):
    """The greatest convex minorant of the cumulative diagram, corner by corner."""
    table = ForecastTable.from_predictions([y for y, _ in sample], [p for _, p in sample])
    blocks = pool_adjacent_violators(table)
    assert (np.diff(blocks.event_rate) > 0).all()
    assert (blocks.weight.sum(), blocks.events.sum()) == (table.weight, table.events.sum())
    diagram = np.concatenate([[0], np.cumsum(table.events)])
    width = np.concatenate([[0], np.cumsum(table.weights)])
    minorant = np.interp(width, width[blocks.start], diagram[blocks.start])
    assert (minorant <= diagram + 1e-9).all()


@given(sample=samples, weights=st.integers(1, 5))
def test_blocks_do_not_depend_on_the_unit_of_the_weights(sample, weights):
    y, p = [y for y, _ in sample], [p for _, p in sample]
    plain = pool_adjacent_violators(ForecastTable.from_predictions(y, p))
    weighted = pool_adjacent_violators(ForecastTable.from_predictions(y, p, sample_weight=[weights] * len(y)))
    np.testing.assert_array_equal(plain.start, weighted.start)
    np.testing.assert_allclose(plain.event_rate, weighted.event_rate, rtol=1e-12)


def test_equal_rates_are_one_block_in_spite_of_rounding():
    y = [0, 1, 0] * 7 + [0, 0, 1] * 11
    p = np.repeat([0.2, 0.4], [21, 33])
    assert len(pool_adjacent_violators(ForecastTable.from_predictions(y, p))) == 1


@pytest.mark.skipif(not NIAMEY.exists(), reason="the data lie beside the project, not in it")
def test_the_blocks_of_the_ensemble_forecast_of_rain_at_niamey():
    with NIAMEY.open() as file:
        rows = list(csv.DictReader(file))
    curve = pr.reliability_curve([float(row["obs"]) for row in rows], [float(row["ENS"]) for row in rows])
    blocks = dict(
        zip(
            np.round(curve.forecast_min * 52).astype(int),
            zip(np.round(curve.forecast_max * 52), curve.event_rate, strict=True),
            strict=True,
        )
    )
    assert blocks[9] == (20, pytest.approx(0.125))
    assert blocks[21][0] == 42
    assert blocks[21][1] == pytest.approx(0.481, abs=5e-4)
    assert curve.n == 92


def test_the_curve_between_and_beyond_its_blocks():
    curve = pr.reliability_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
    np.testing.assert_allclose(
        curve.at([0.0, 0.1, 0.2, 0.3, 0.35, 0.4, 0.6, 0.8, 0.9]),
        [np.nan, 0, 0.25, 0.5, 0.5, 0.5, 0.75, 1, np.nan],
    )
    assert curve.forecast_min.tolist() == [0.1, 0.3, 0.8]
    assert curve.forecast_max.tolist() == [0.1, 0.4, 0.8]
    assert curve.forecast_mean.tolist() == pytest.approx([0.1, 0.35, 0.8])
    assert curve.weight.tolist() == [1, 2, 1]


def test_a_curve_of_bins_is_linear_between_their_mean_forecasts():
    curve = pr.reliability_curve([0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.8, 1.0], method="bins", bins=2)
    np.testing.assert_allclose(curve.at([0.1, 0.2, 0.55, 0.9, 0.95]), [np.nan, 1 / 3, 2 / 3, 1, np.nan], rtol=1e-12)


def test_the_curve_as_text_frame_and_dict():
    curve = pr.reliability_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]).with_consistency_band(seed=1, n_resamples=10)
    assert repr(curve) == "ReliabilityCurve(method=corp, rows=3, n=4, miscalibration=0.05, bands=consistency)"
    columns = curve.to_frame(backend="polars").columns
    assert columns == ["forecast_min", "forecast_max", "forecast_mean", "event_rate", "weight"]
    stored = curve.to_dict()
    assert "table" not in stored
    assert stored["decomposition"]["miscalibration"] == pytest.approx(0.05)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_bins(strategy):
    rng = np.random.default_rng(0)
    p = np.round(rng.random(1000), 2)
    y = rng.random(1000) < p
    curve = pr.reliability_curve(y, p, method="bins", bins=5, strategy=strategy)
    assert curve.method == "bins"
    edges = np.arange(6) / 5 if strategy == "uniform" else None
    for low, high, mean, rate, weight in zip(
        curve.forecast_min, curve.forecast_max, curve.forecast_mean, curve.event_rate, curve.weight, strict=True
    ):
        inside = (p >= low) & (p <= high)
        assert inside.sum() == weight
        assert y[inside].mean() == pytest.approx(rate)
        assert p[inside].mean() == pytest.approx(mean)
        if edges is not None:
            assert np.searchsorted(edges, low, side="right") == min(np.searchsorted(edges, high, side="right"), 5)
    assert curve.weight.sum() == 1000
    if strategy == "quantile":
        assert curve.weight == pytest.approx(200, abs=25)


def test_a_forecast_on_the_edge_belongs_to_the_upper_bin():
    table = ForecastTable.from_predictions([0] * 11, np.arange(11) / 10)
    np.testing.assert_array_equal(bin_starts(table, bins=10, strategy="uniform"), np.arange(10))


def test_ties_are_never_split():
    table = ForecastTable.from_predictions([0, 1] * 50, [0.3] * 90 + [0.8] * 10)
    assert bin_starts(table, bins=10, strategy="quantile").tolist() == [0, 1]


@given(sample=samples, level=st.floats(0.01, 1.0))
def test_weighted_quantiles(sample, level):
    p = np.array([p for _, p in sample])
    table = ForecastTable.from_predictions([y for y, _ in sample], p)
    (quantile,) = weighted_quantile(table.forecast, table.weights, np.array([level]))
    assert np.mean(p <= quantile) >= level - 1e-9
    assert np.mean(p < quantile) <= level + 1e-9


def test_the_smooth_curve_rises_with_the_rate():
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 5000)
    curve = pr.reliability_curve(rng.random(5000) < p**2, p, method="smooth")
    inner = (curve.forecast_mean > 0.2) & (curve.forecast_mean < 0.8)
    np.testing.assert_allclose(curve.event_rate[inner], curve.forecast_mean[inner] ** 2, atol=0.06)
    assert np.isnan(curve.weight).all()


@pytest.mark.parametrize(("p", "discrete"), [(np.arange(101) / 100, True), ([0.1, 0.105], False), ([0.3], True)])
def test_discrete_forecasts_are_no_closer_than_a_hundredth(p, discrete):
    assert is_discrete(ForecastTable.from_predictions([1] * len(p), p)) == discrete


def test_the_histogram_counts_every_case():
    rng = np.random.default_rng(0)
    p = rng.random(5000)
    continuous = forecast_histogram(ForecastTable.from_predictions(p > 0.5, p))
    assert continuous.weight.sum() == 5000
    edges = np.linspace(0, 1, len(continuous.weight) + 1)
    np.testing.assert_allclose([continuous.left, continuous.right], [edges[:-1], edges[1:]], rtol=1e-12)
    np.testing.assert_array_equal(continuous.weight, np.histogram(p, edges)[0])
    width = 2 * 0.5 / np.cbrt(5000)
    assert len(continuous.weight) == pytest.approx(1 / width, abs=1)
    bars = forecast_histogram(ForecastTable.from_predictions([0, 1, 1], [0.1, 0.1, 0.5]))
    assert (bars.left.tolist(), bars.right.tolist(), bars.weight.tolist()) == ([0.1, 0.5], [0.1, 0.5], [2, 1])
    spike = forecast_histogram(ForecastTable.from_predictions(p > 0.5, np.where(p < 0.9, 0.5, p)))
    assert len(spike.weight) == 200


def test_a_table_takes_the_place_of_predictions():
    y, p = [0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8]
    table = ForecastTable.from_predictions(y, p)
    np.testing.assert_array_equal(pr.reliability_curve(table).event_rate, pr.reliability_curve(y, p).event_rate)
    with pytest.raises(InputTypeError, match="pass it without sample_weight"):
        pr.reliability_curve(table, sample_weight=np.ones(4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "loess"}, "method must be one of"),
        ({"method": "bins", "bins": 0}, "bins must be a positive whole number"),
        ({"method": "bins", "strategy": "equal"}, "strategy must be one of"),
        ({"bins": 5}, 'bins is for method="bins"; the method is \'corp\'. Hint: pass method="bins" too'),
        ({"strategy": "quantile"}, "strategy is for method=\"bins\"; the method is 'corp'"),
        ({"method": "smooth", "bins": 10}, "bins is for method=\"bins\"; the method is 'smooth'"),
        ({"y_proba": [[0.5, 0.5, 0.0]] * 4}, "must be the forecast of one event"),
    ],
)
def test_what_a_curve_refuses(options, message):
    with pytest.raises(InputValueError, match=message):
        pr.reliability_curve(**({"y_true": [0, 1, 0, 1], "y_proba": [0.1, 0.3, 0.4, 0.8]} | options))
