"""Bands against golden values, against each other, and against what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.calibration import bands
from propriety.calibration.bands import band_around_diagonal
from propriety.calibration.resampling import pav_of_draws, quantiles, resampled_curves
from propriety.errors import InputValueError, MissingDependencyError
from propriety.tables.forecast_table import ForecastTable


def table_of(p, seed=0, **options):
    y = np.random.default_rng(seed).random(len(p)) < p
    return ForecastTable.from_predictions(y, p, **options)


def diagonal(table, **options):
    defaults = {"level": 0.9, "method": "auto", "n_resamples": 200, "seed": 1, "progress": False}
    return band_around_diagonal(table, **(defaults | options))


def test_the_discrete_band(golden):
    given_, expected = golden("band_discrete")
    p = np.repeat(given_["x"], given_["n"])
    band = diagonal(table_of(p), level=given_["level"], method="discrete")
    np.testing.assert_allclose(band.low, expected["lower"], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(band.high, expected["upper"], rtol=1e-12)
    assert (band.kind, band.level, band.method) == ("consistency", given_["level"], "discrete")


def test_the_continuous_band(golden, monkeypatch):
    given_, expected = golden("band_continuous")
    x, n = np.array(given_["x"]), given_["n"]
    monkeypatch.setattr(bands, "beta_kernel_density", lambda *_, **__: np.array(given_["density"]))
    half = bands._chernoff_half_width(table_of(np.full(n, 0.5)), x, given_["level"])
    np.testing.assert_allclose(half, expected["half_width"], rtol=1e-12)


def test_the_resampled_band_of_fixed_draws(golden):
    given_, expected = golden("band_resampling_fixed_draws")
    x = np.array(given_["x"])
    unique, place = np.unique(x, return_inverse=True)
    drawn, events = np.zeros((4, 4), dtype=int), np.zeros((4, 4), dtype=int)
    for draw, (indices, outcomes) in enumerate(zip(given_["indices"], given_["outcomes"], strict=True)):
        np.add.at(drawn[draw], place[indices], 1)
        np.add.at(events[draw], place[indices], outcomes)
    curves = pav_of_draws(unique, drawn, events)
    np.testing.assert_allclose(curves, expected["curves"], rtol=1e-12, atol=1e-15)
    lower, upper = quantiles(curves, (0.05, 0.95))
    np.testing.assert_allclose(lower, expected["lower"], rtol=1e-12)
    np.testing.assert_allclose(upper, expected["upper"], rtol=1e-12)


def test_a_forecast_that_was_not_drawn_lies_between_its_neighbours():
    forecast = np.array([0.1, 0.2, 0.4, 0.9])
    drawn = np.array([[2, 0, 2, 0], [0, 0, 3, 0], [0, 4, 0, 0]])
    events = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [0, 3, 0, 0]])
    curves = pav_of_draws(forecast, drawn, events)
    np.testing.assert_allclose(curves[0], [0, 1 / 6, 0.5, np.nan], rtol=1e-12)
    np.testing.assert_allclose(curves[1:], [[1 / 3] * 4, [3 / 4] * 4], rtol=1e-12)
    high = pav_of_draws(forecast, drawn[:1], np.array([[1, 0, 2, 0]]))
    np.testing.assert_allclose(high[0], [0.5, 2 / 3, 1.0, np.nan], rtol=1e-12)


@given(
    columns=st.lists(
        st.lists(st.one_of(st.floats(0, 1), st.just(np.nan)), min_size=6, max_size=6), min_size=1, max_size=4
    ),
    level=st.floats(0.01, 0.99),
)
def test_quantiles_are_numpys_without_the_nan(columns, level):
    curves = np.array(columns).T
    low, high = quantiles(curves, (1 - level, level))
    for column, (a, b) in zip(columns, zip(low, high, strict=True), strict=True):
        kept = [value for value in column if not np.isnan(value)]
        expected = np.quantile(kept, [1 - level, level]) if kept else [np.nan, np.nan]
        np.testing.assert_allclose([a, b], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("n", "distinct", "method"),
    [(1000, 900, "resampling"), (4000, 100, "resampling"), (4000, 20, "discrete"), (6000, 100, "continuous")],
)
def test_the_published_choice_of_method(n, distinct, method):
    p = (np.arange(n) % distinct + 0.5) / distinct
    assert diagonal(table_of(p)).method == method


def test_the_same_seed_gives_the_same_band_whatever_the_memory(monkeypatch):
    table = table_of(np.linspace(0.01, 0.99, 99).repeat(3))
    band = diagonal(table, seed=7)
    again = diagonal(table, seed=7)
    np.testing.assert_array_equal(band.low, again.low)
    assert not np.array_equal(band.low, diagonal(table, seed=8).low)
    assert band.seed == 7
    fresh = diagonal(table, seed=None)
    np.testing.assert_array_equal(fresh.high, diagonal(table, seed=fresh.seed).high)


@pytest.mark.nightly
def test_groups_change_a_band_by_less_than_resampling_does(monkeypatch):
    p = np.random.default_rng(3).beta(1, 3, 4000)
    table, at = table_of(p), np.linspace(0.02, 0.8, 30)

    def limits(seed):
        band = diagonal(table, method="resampling", n_resamples=2000, seed=seed)
        return np.stack([np.interp(at, band.forecast, band.low), np.interp(at, band.forecast, band.high)])

    grouped = limits(1)
    monkeypatch.setattr(bands, "neighbours_pooled", lambda table: table)
    exact, again = limits(2), limits(3)
    width = exact[1] - exact[0]
    assert np.abs((grouped - exact) / width).mean() < 1.5 * np.abs((again - exact) / width).mean()


def test_the_three_methods_agree_where_all_apply():
    p = np.random.default_rng(0).random(20_000)
    table, at = table_of(p), np.linspace(0.1, 0.9, 17)
    widths = {}
    for method in ("resampling", "continuous"):
        band = diagonal(table, method=method, n_resamples=1000)
        widths[method] = np.interp(at, band.forecast, band.high - band.low)
    assert np.mean(widths["resampling"] / widths["continuous"]) == pytest.approx(1, abs=0.05)
    few = table_of(np.repeat(np.linspace(0.1, 0.9, 5), 4000))
    resampled, discrete = diagonal(few, method="resampling", n_resamples=1000), diagonal(few, method="discrete")
    np.testing.assert_allclose(resampled.high - resampled.low, discrete.high - discrete.low, rtol=0.12)


def test_weights_count_by_their_effective_number():
    p = np.repeat(np.linspace(0.1, 0.9, 9), 100)
    y = np.random.default_rng(0).random(900) < p
    plain = ForecastTable.from_predictions(y, p)
    doubled = ForecastTable.from_predictions(y, p, sample_weight=np.full(900, 2.0))
    for method in ("resampling", "discrete", "continuous"):
        np.testing.assert_allclose(diagonal(doubled, method=method).low, diagonal(plain, method=method).low, rtol=1e-12)
    uneven = ForecastTable.from_predictions(y, p, sample_weight=np.tile([0.5, 1.5], 450))
    assert uneven.effective_n == pytest.approx(720)
    ratio = np.mean(
        (diagonal(uneven, method="discrete").high - uneven.forecast)
        / (diagonal(plain, method="discrete").high - plain.forecast)
    )
    assert ratio == pytest.approx(np.sqrt(900 / 720), rel=0.01)


@pytest.mark.parametrize(("events", "others"), [(60, 2000), (300, 300)])
def test_bands_hold_for_weights_of_the_outcome(events, others):
    rng = np.random.default_rng(12)
    p = rng.choice(np.linspace(0.05, 0.6, 12), 100_000, p=np.repeat([0.14, 0.16 / 6], 6))
    y = rng.random(len(p)) < p
    inside = []
    for _ in range(60):
        rows = np.concatenate([rng.choice(np.flatnonzero(y), events), rng.choice(np.flatnonzero(~y), others)])
        weight = np.where(y[rows], y.mean() / events, (1.0 - y.mean()) / others)
        curve = pr.reliability_curve(y[rows], p[rows], sample_weight=weight)
        around, confidence = curve.with_consistency_band(seed=1, n_resamples=100).with_confidence_band().bands
        at = curve.at(around.forecast)
        inside.append(
            [
                ((around.low - 1e-9 <= at) & (at <= around.high + 1e-9)).mean(),
                ((confidence.low <= confidence.forecast) & (confidence.forecast <= confidence.high)).mean(),
            ]
        )
    # 76 and 81% for the first if events count as other cases do.
    assert (np.mean(inside, axis=0) > 0.87).all()


def test_the_width_of_the_discrete_band_is_that_of_the_weighted_rate():
    p = np.repeat([0.1, 0.5], [1000, 500])
    y = np.arange(1500) < 100
    y[1000:1250] = True
    table = ForecastTable.from_predictions(y, p, sample_weight=np.where(y, 4.0, 1.0))
    # 1150 non-events of weight 1 are taken with ten cases of the weight of all.
    non_event = ((350 * 16.0 + 1150) / (350 * 4.0 + 1150)) ** (10 / 1160)
    variance = p[[0, -1]] * (1.0 - p[[0, -1]]) * ((1.0 - p[[0, -1]]) * 4.0 + p[[0, -1]] * non_event) / table.weights
    half = diagonal(table, method="discrete", level=0.9).high - table.forecast
    np.testing.assert_allclose(half, 1.6448536269514722 * np.sqrt(variance), rtol=1e-12)


def test_a_calibrated_curve_stays_within_its_consistency_band_as_often_as_promised():
    p = np.repeat(np.linspace(0.05, 0.95, 10), 50)
    band = diagonal(table_of(p), n_resamples=1000)
    curves = resampled_curves(np.unique(p), np.full(10, 50.0), np.unique(p), cases=500, n_resamples=1000, seed=99)
    inside = (curves >= band.low - 1e-12) & (curves <= band.high + 1e-12)
    assert inside.mean() == pytest.approx(0.9, abs=0.02)


def test_bands_of_different_kinds_stand_side_by_side_and_of_the_same_kind_replace():
    curve = pr.reliability_curve([0, 1, 0, 1] * 10, [0.2, 0.4, 0.6, 0.8] * 10)
    both = curve.with_consistency_band(seed=1).with_confidence_band().with_simultaneous_band()
    assert [band.kind for band in both.bands] == ["consistency", "confidence", "simultaneous"]
    assert len(both.with_consistency_band(level=0.5, seed=1).bands) == 3
    assert curve.bands == ()
    assert both.to_dict()["bands"][0]["level"] == 0.9
    assert list(both.bands[0].to_frame(backend="polars").columns) == ["forecast", "low", "high"]


def test_a_progress_bar_shows_when_asked_for(capsys):
    pytest.importorskip("rich")
    diagonal(table_of(np.full(20, 0.5)), progress=True)
    assert "resampling" in capsys.readouterr().out


def test_a_progress_bar_without_rich_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rich", None)
    with pytest.raises(MissingDependencyError, match="needs rich"):
        diagonal(table_of(np.full(20, 0.5)), progress=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "level must lie strictly between 0 and 1"),
        ({"level": 90}, "level must lie strictly between 0 and 1"),
        ({"method": "bootstrap"}, "method must be one of"),
        ({"n_resamples": 0}, "n_resamples must be a positive whole number"),
    ],
)
def test_what_a_band_refuses(options, message):
    with pytest.raises(InputValueError, match=message):
        diagonal(table_of(np.full(20, 0.5)), **options)


def unsampled(n, distinct):
    """Return a table of n cases over so many forecasts, half of them events."""
    count = np.diff(np.linspace(0, n, distinct + 1).astype(int)).astype(float)
    events = np.floor(count / 2)
    forecast = (np.arange(distinct) + 0.5) / distinct
    return ForecastTable(forecast=forecast, events=events, non_events=count - events)


@pytest.mark.parametrize(
    ("n", "distinct", "method"),
    [
        (1000, 10, "resampling"),
        (1001, 10, "discrete"),
        (2500, 50, "resampling"),
        (2501, 50, "continuous"),
        (19_999, 50, "continuous"),
        (20_000, 50, "discrete"),
        (5000, 200, "resampling"),
        (5001, 200, "continuous"),
    ],
)
def test_the_method_changes_where_it_is_published_to(n, distinct, method):
    assert bands._method_around_diagonal(unsampled(n, distinct)) == method


def test_what_a_band_is_by_default(capsys):
    curve = pr.reliability_curve([0, 1, 0, 1] * 10, [0.2, 0.4, 0.6, 0.8] * 10)
    both = curve.with_consistency_band().with_confidence_band().with_simultaneous_band()
    assert [band.level for band in both.bands] == [0.9, 0.9, 0.9]
    assert [band.n_resamples for band in both.bands] == [1000, None, None]
    assert [band.method for band in both.bands] == ["resampling", "pooled blocks", "union bound"]
    assert both.bands[0].seed != curve.with_consistency_band().bands[0].seed
    assert capsys.readouterr() == ("", "")


def test_the_options_of_a_band_reach_it(capsys):
    curve = pr.reliability_curve([0, 1, 0, 1] * 10, [0.2, 0.4, 0.6, 0.8] * 10)
    (band,) = curve.with_consistency_band(level=0.6, method="resampling", n_resamples=50, seed=3, progress=True).bands
    assert (band.level, band.method, band.n_resamples, band.seed) == (0.6, "resampling", 50, 3)
    assert "resampling" in capsys.readouterr().out
    (wide,) = curve.with_consistency_band(level=0.99, n_resamples=50, seed=3).bands
    assert (wide.high - wide.low >= band.high - band.low).all()
    assert (wide.high - wide.low > band.high - band.low).any()


def test_bands_say_whether_they_are_pointwise():
    curve = pr.reliability_curve([0, 1, 0, 1] * 10, [0.2, 0.4, 0.6, 0.8] * 10)
    all_three = curve.with_consistency_band(seed=1).with_confidence_band(level=0.95).with_simultaneous_band()
    assert [band.label for band in all_three.bands] == [
        "90% pointwise consistency band",
        "95% pointwise confidence band",
        "90% simultaneous band",
    ]


@pytest.mark.nightly
def test_a_calibrated_curve_leaves_its_pointwise_band_somewhere_in_most_samples():
    """Calibrated Beta(1, 3), 2,000 cases; the simultaneous band holds the diagonal in almost all of them."""
    rng, left, missed = np.random.default_rng(2), 0, 0
    for seed in range(60):
        q = rng.beta(1, 3, 2000)
        curve = pr.reliability_curve(rng.random(2000) < q, q)
        banded = curve.with_consistency_band(level=0.95, n_resamples=200, seed=seed).with_simultaneous_band(level=0.95)
        pointwise, simultaneous = banded.bands
        rate = curve.at(pointwise.forecast)
        left += bool(((rate < pointwise.low - 1e-12) | (rate > pointwise.high + 1e-12)).any())
        at = simultaneous.forecast
        missed += bool(((at < simultaneous.low) | (at > simultaneous.high)).any())
    assert left >= 48
    assert missed <= 6


def test_groups_keep_the_cases_and_the_ends():
    p = np.sort(np.random.default_rng(3).random(4000))
    table = table_of(p)
    grouped = bands.neighbours_pooled(table)
    assert 256 < len(grouped) <= 256 + 32
    np.testing.assert_array_equal(grouped.forecast[:16], table.forecast[:16])
    np.testing.assert_array_equal(grouped.forecast[-16:], table.forecast[-16:])
    assert grouped.n == table.n
    assert grouped.weight == pytest.approx(table.weight, rel=1e-12)
    assert grouped.events.sum() == pytest.approx(table.events.sum(), rel=1e-12)
    assert grouped.mean_forecast == pytest.approx(table.mean_forecast, rel=1e-12)
    assert grouped.effective_n == table.effective_n
    inner = grouped.weights[16:-16]
    assert inner.max() <= 1.5 * 4000 / 256
    few = unsampled(600, 256)
    assert bands.neighbours_pooled(few) is few


@pytest.mark.parametrize("seed", [-1, 1.5, True, "1"], ids=repr)
def test_what_is_no_seed(seed):
    with pytest.raises(InputValueError, match="seed must be a non-negative whole number"):
        diagonal(table_of(np.full(20, 0.5)), seed=seed)


@pytest.mark.parametrize("level", [0.0, 1.0, "0.9", np.nan], ids=repr)
def test_what_is_no_level(level):
    with pytest.raises(InputValueError, match="level must lie strictly"):
        diagonal(table_of(np.full(20, 0.5)), level=level)


@pytest.mark.parametrize("draws", [0, 2.5, "9"], ids=repr)
def test_what_is_no_number_of_draws(draws):
    with pytest.raises(InputValueError, match="n_resamples must be a positive"):
        diagonal(table_of(np.full(20, 0.5)), n_resamples=draws)


def test_one_draw_is_enough_and_seed_zero_is_a_seed():
    band = diagonal(table_of(np.full(20, 0.5)), n_resamples=1, seed=np.int64(0))
    assert band.seed == 0
    np.testing.assert_array_equal(band.low, band.high)
