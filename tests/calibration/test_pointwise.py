"""Pointwise confidence limits from pooled blocks: their formula, their laws, and how often they hold."""

import csv
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest, norm

import propriety as pr
from propriety.calibration.bands import CRITICAL, critical_value
from propriety.errors import InputValueError
from propriety.tables.forecast_table import ForecastTable

STUDY = Path(__file__).parents[2] / "studies" / "results"

samples = st.lists(st.tuples(st.booleans(), st.integers(0, 12).map(lambda k: k / 12)), min_size=1, max_size=60)


def band_of(y, p, level=0.9, **options):
    return pr.reliability_curve(y, p, **options).with_confidence_band(level=level).bands[0]


def limits_at(band, points):
    return np.interp(points, band.forecast, band.low), np.interp(points, band.forecast, band.high)


def test_limits_are_clopper_and_pearsons_with_the_critical_value():
    y = [1] * 4 + [0] * 46 + [1] * 25 + [0] * 25 + [1] * 20 + [0] * 30
    p = np.repeat([0.2, 0.6, 0.7], 50)
    band = band_of(y, p)
    level = 1.0 - 2.0 * norm.sf(1.9)
    low, high = (binomtest(k, n).proportion_ci(level) for k, n in ((4, 50), (45, 100)))
    np.testing.assert_allclose(band.forecast, [0.2, 0.6, 0.7])
    np.testing.assert_allclose(band.low, [low.low, high.low, high.low], rtol=1e-9)
    np.testing.assert_allclose(band.high, [low.high, high.high, high.high], rtol=1e-9)
    assert (band.kind, band.method, band.n_resamples, band.seed) == ("confidence", "pooled blocks", None, None)


def test_a_small_block_borrows_the_limits_of_the_large_ones_beside_it():
    y = [1] * 60 + [0] * 140 + [1, 0] + [1] * 150 + [0] * 50
    p = np.repeat([0.2, 0.5, 0.8], [200, 2, 200])
    band = band_of(y, p)
    alone = band_of([1, 0], [0.5, 0.5])
    assert alone.low[0] < band.low[0] == band.low[1]
    assert alone.high[0] > band.high[2] == band.high[1]


@given(sample=samples, level=st.sampled_from([0.5, 0.8, 0.9, 0.99]))
def test_limits_hold_the_curve_never_fall_and_widen_with_the_level(sample, level):
    y, p = [y for y, _ in sample], [p for _, p in sample]
    curve = pr.reliability_curve(y, p)
    (band,) = curve.with_confidence_band(level=level).bands
    centre = curve.at(band.forecast)
    assert (band.low >= 0).all()
    assert (band.high <= 1).all()
    assert (band.low <= centre + 1e-12).all()
    assert (centre <= band.high + 1e-12).all()
    assert (np.diff(band.low) >= 0).all()
    assert (np.diff(band.high) >= 0).all()
    wide = band_of(y, p, 0.999)
    assert (wide.low <= band.low).all()
    assert (wide.high >= band.high).all()


@given(sample=samples)
def test_the_mirror_image_has_the_mirrored_limits(sample):
    y, p = np.array([y for y, _ in sample]), np.array([p for _, p in sample])
    band, mirrored = band_of(y, p), band_of(~y, 1.0 - p)
    np.testing.assert_allclose(mirrored.low[::-1], 1.0 - band.high, atol=1e-12)
    np.testing.assert_allclose(mirrored.high[::-1], 1.0 - band.low, atol=1e-12)


def test_weighted_blocks_count_by_their_effective_number():
    y, p = np.array([1, 0, 0, 1, 0, 1, 1, 1] * 20), np.repeat([0.2, 0.4, 0.6, 0.8], 40)
    plain = band_of(y, p)
    np.testing.assert_allclose(band_of(y, p, sample_weight=np.full(160, 3.0)).low, plain.low, rtol=1e-12)
    weight = np.tile([1.0, 3.0], 80)
    rate = weight @ y / weight.sum()

    def weight_of_one(own):
        """Return that of the cases of an outcome and ten more, which are taken to be closer to all cases."""
        own_weight, cases = own @ own / own.sum(), own.sum() ** 2 / (own @ own)
        usual = own_weight ** (cases / (cases + 10)) * (weight @ weight / weight.sum()) ** (10 / (cases + 10))
        usual = max(usual, own_weight)
        return max(own_weight, (own @ own + 10 * usual**2) / (own.sum() + 10 * usual))

    size = weight.sum() / ((1.0 - rate) * weight_of_one(weight[y == 1]) + rate * weight_of_one(weight[y == 0]))
    (band,) = pr.reliability_curve(y, np.full(160, 0.4), sample_weight=weight).with_confidence_band().bands
    assert 120 < size < 160
    tail = norm.sf(1.9)
    assert band.low[0] == pytest.approx(beta.ppf(tail, rate * size, (1 - rate) * size + 1), rel=1e-9)
    assert band.high[0] == pytest.approx(beta.ppf(1 - tail, rate * size + 1, (1 - rate) * size), rel=1e-9)


@pytest.mark.parametrize("spread", ["lognormal", "by forecast"])
def test_limits_allow_for_few_events_that_have_small_weights_by_chance(spread):
    rng, held = np.random.default_rng(5), []
    for _ in range(300):
        p, y = rng.random(200), rng.random(200) < 0.03
        weight = np.exp(rng.standard_normal(200))
        if spread == "by forecast":
            weight = rng.choice([5.0, 0.5], 200, p=[0.2, 0.8]) * np.where(p < 0.5, 1.0, 3.0)
        low, high = limits_at(band_of(y, p, sample_weight=weight), [0.1, 0.5, 0.9])
        held.append((low <= 0.03) & (high >= 0.03))
    assert (np.mean(held, axis=0) >= 0.88).all()


def test_arrays_engines_and_tables_have_the_same_band():
    rng = np.random.default_rng(4)
    p = np.round(rng.beta(1, 3, 3000), 2)
    y = rng.random(3000) < p
    direct = band_of(y, p)
    lazy = pl.DataFrame({"y": y, "p": p}).lazy()
    table = ForecastTable.from_frame(lazy, outcome="y", forecast="p")
    halves = sum(ForecastTable.from_predictions(y[part], p[part]) for part in (slice(1000), slice(1000, None)))
    stored = pr.condense(y, {"m": p}).table("m")
    for other in (table, halves, stored):
        (band,) = pr.reliability_curve(other).with_confidence_band().bands
        np.testing.assert_array_equal(band.forecast, direct.forecast)
        np.testing.assert_allclose([band.low, band.high], [direct.low, direct.high], rtol=1e-12)


@pytest.mark.parametrize("level", [0.3, 0.9999, 90, "0.9", np.nan], ids=repr)
def test_levels_without_a_critical_value_are_refused(level):
    with pytest.raises(InputValueError, match=r"level of a confidence band must lie between 0\.5 and 0\.999"):
        band_of([0, 1], [0.2, 0.7], level)


def test_critical_values_rise_with_the_level_and_are_those_simulated():
    levels = np.linspace(0.5, 0.999, 500)
    values = [critical_value(level) for level in levels]
    assert (np.diff(values) > 0).all()
    with (STUDY / "pointwise_critical.csv").open() as file:
        rows = list(csv.DictReader(file))
    simulated = {
        level: max(float(row["quantile"]) for row in rows if float(row["level"]) == level and row["used"] == "yes")
        for level in CRITICAL
    }
    for level, value in CRITICAL.items():
        assert simulated[level] <= value + 0.02, level
        assert value < simulated[level] + 0.12, level


def test_a_flat_rate_is_held_at_the_ends():
    """A flat truth of 0.3 with 500 cases, where a bootstrap from the fit held 26 to 33% at the 2% point."""
    rng, held = np.random.default_rng(7), []
    x = (np.arange(500) + 0.5) / 500
    for _ in range(300):
        lower, upper = limits_at(band_of(rng.random(500) < 0.3, x), [0.02, 0.1, 0.5, 0.9])
        held.append((lower <= 0.3) & (upper >= 0.3))
    assert (np.mean(held, axis=0) >= 0.86).all()


def test_the_study_holds_what_the_docs_say():
    with (STUDY / "pointwise.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["level"] == "0.9" and row["design"] == "plain"]
    required = {"flat 0.3", "flat 0.02", "linear", "steep", "cubic"}
    assert required < {row["truth"] for row in rows}
    assert {row["n"] for row in rows} == {"200", "500", "5000"}
    assert all(int(row["samples"]) >= 1000 for row in rows)
    assert min(float(row["coverage"]) for row in rows) >= 0.88


def test_a_band_says_where_it_is_wider_than_needed():
    plenty = ForecastTable(forecast=[0.2, 0.6], events=[20, 60], non_events=[80, 40])
    assert pr.reliability_curve(plenty).with_confidence_band().bands[0].note == ""
    rare = ForecastTable(forecast=[0.2, 0.6], events=[3, 60], non_events=[97, 40])
    told = "1 of 2 pooled blocks has fewer than 5 events or non-events: the limits there are wider than needed"
    assert pr.reliability_curve(rare).with_confidence_band().bands[0].note == told
