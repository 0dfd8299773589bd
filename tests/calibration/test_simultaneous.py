"""The simultaneous band: its construction written out, its coverage counted exactly and by draws, its laws."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from propriety.calibration import bands as module
from propriety.calibration.bands import simultaneous_band
from propriety.calibration.blocks import pool_adjacent_violators
from propriety.errors import InputValueError
from propriety.tables.forecast_table import ForecastTable

cases = st.lists(
    st.tuples(st.booleans(), st.one_of(st.integers(0, 8).map(lambda k: k / 8), st.floats(0, 1))),
    min_size=1,
    max_size=60,
)


def table_of(forecast, events, non_events):
    return ForecastTable(forecast=forecast, events=events, non_events=non_events)


def predicted(sample):
    return ForecastTable.from_predictions([case[0] for case in sample], [case[1] for case in sample])


def intervals_by_hand(weights):
    """Return the intervals as (first row, row after the last), by the words of the module."""
    total = np.concatenate([[0], np.cumsum(weights)])
    n = int(total[-1])
    found = set()
    for level in range(math.floor(2 / 3 * math.log2(n) + 1e-9) + 1):
        blocks = 2**level
        ends = sorted(
            {next(row for row, count in enumerate(total) if count >= n * k / blocks) for k in range(blocks + 1)}
        )
        for run in range(1, 9):
            found |= set(zip(ends, ends[run:], strict=False))
    return found


def limits_by_hand(table, level, intervals):
    """Return the limits before any widening, from those of each interval at each forecast."""
    delta = (1 - level) / (2 * len(intervals))
    runs = [slice(*interval) for interval in intervals]
    z, n = (np.array([column[run].sum() for run in runs]) for column in (table.events, table.weights))
    lows = np.where(z > 0, beta.ppf(delta, np.maximum(z, 1), n - z + 1), 0.0)
    highs = np.where(z < n, beta.isf(delta, z + 1, np.maximum(n - z, 1)), 1.0)
    lower, upper = np.zeros(len(table)), np.ones(len(table))
    for run, low, high in zip(runs, lows, highs, strict=True):
        lower[run.stop - 1 :] = np.maximum(lower[run.stop - 1 :], low)
        upper[: run.start + 1] = np.minimum(upper[: run.start + 1], high)
    return lower, upper


def widened(table, lower, upper):
    rate = pool_adjacent_violators(table).per_row()
    return np.minimum(np.minimum(lower, upper), rate), np.maximum(np.maximum(lower, upper), rate)


@given(sample=cases, level=st.sampled_from([0.5, 0.9, 0.99]))
def test_the_band_is_what_the_words_say(sample, level):
    table = predicted(sample)
    forecast, lower, upper = simultaneous_band(table, level)
    expected = widened(table, *limits_by_hand(table, level, intervals_by_hand(table.weights)))
    np.testing.assert_array_equal(forecast, table.forecast)
    np.testing.assert_allclose((lower, upper), expected, atol=1e-12)


@pytest.mark.parametrize("n", [3, 100, 1000])
def test_many_distinct_forecasts_have_the_same_construction(n, monkeypatch):
    rng = np.random.default_rng(n)
    x = rng.random(n)
    table = ForecastTable.from_predictions(rng.random(n) < x**2, x)
    monkeypatch.setattr(module, "BATCH", 7)
    expected = widened(table, *limits_by_hand(table, 0.9, intervals_by_hand(table.weights)))
    np.testing.assert_allclose(simultaneous_band(table)[1:], expected, atol=1e-12)


def test_few_forecasts_with_many_cases_have_the_published_band():
    # Up to eight forecasts of enough cases: all pairs, each side at alpha / (m (m + 1)), as in Dimitriadis et al.
    weight, rate = np.array([300, 200, 500, 400, 350]), np.array([0.1, 0.15, 0.3, 0.6, 0.8])
    events = np.round(weight * rate)
    table = table_of(np.arange(1, 6) / 10, events, weight - events)
    m, alpha = 5, 0.1
    lower, upper = np.zeros(m), np.ones(m)
    for j, k in itertools.combinations_with_replacement(range(m), 2):
        z, n = events[j : k + 1].sum(), weight[j : k + 1].sum()
        lower[k:] = np.maximum(lower[k:], beta.ppf(alpha / (m * (m + 1)), z, n - z + 1))
        upper[: j + 1] = np.minimum(upper[: j + 1], beta.ppf(1 - alpha / (m * (m + 1)), z + 1, n - z))
    np.testing.assert_allclose(simultaneous_band(table, 0.9)[1:], (lower, upper), rtol=1e-9)


def test_the_intervals_do_not_depend_on_the_outcomes():
    x = np.linspace(0.1, 0.9, 50)
    seen = []
    for seed in range(3):
        table = ForecastTable.from_predictions(np.random.default_rng(seed).random(50) < x, x)
        total = np.concatenate([[0.0], np.cumsum(table.weights)])
        seen.append(np.array(module._intervals(module._block_ends(total))))
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[0], seen[2])


def test_the_number_of_intervals_is_bounded():
    for n in (1, 2, 10, 1000, 50_000):
        start, stop = module._intervals(module._block_ends(np.arange(n + 1.0)))
        assert (start < stop).all()
        assert 1 <= len(start) <= 16 * n ** (2 / 3)
        assert ((start == 0) & (stop == n)).any()


@pytest.mark.parametrize("counts", [(6,), (5, 5), (2, 6, 3), (1, 1, 1, 1, 1, 1, 1), (9, 1, 9)])
@pytest.mark.parametrize("level", [0.2, 0.5, 0.9])
def test_coverage_counted_over_all_outcomes_is_at_least_nominal(counts, level):
    m = len(counts)
    outcomes = np.array(list(itertools.product(*(range(count + 1) for count in counts))))
    tables = [table_of(np.arange(1, m + 1) / 10, events, counts - events) for events in outcomes]
    bands = [simultaneous_band(table, level)[1:] for table in tables]
    # The limits before any widening are the stricter claim.
    limits = [limits_by_hand(table, level, intervals_by_hand(counts)) for table in tables]
    rng = np.random.default_rng(1)
    curves = [np.full(m, p) for p in (0.0, 0.03, 0.2, 0.5, 0.81, 1.0)] + [np.sort(rng.random(m)) for _ in range(40)]
    curves += [np.where(np.arange(m) < step, 0.0, 1.0) for step in range(m)]
    for curve, (lower, upper) in itertools.product(curves, (np.array(x).transpose(1, 0, 2) for x in (bands, limits))):
        chance = binom.pmf(outcomes, counts, curve).prod(axis=1)
        held = ((lower <= curve) & (curve <= upper)).all(axis=1)
        assert chance[held].sum() >= level - 1e-12


CURVES = {
    "calibrated": lambda x: x,
    "flat": lambda x: np.full(len(x), 0.3),
    "one step": lambda x: np.where(x < 0.6, 0.1, 0.7),
    "stairs": lambda x: np.floor(4 * x) / 4,
    "rare": lambda x: 0.03 * x**2,
    "steep": lambda x: 1.0 / (1.0 + np.exp(-30 * (x - 0.5))),
}
DESIGNS = {
    "distinct": lambda rng: rng.random(150),
    "heavy ties": lambda rng: rng.choice([0.0, 0.1, 0.5, 0.55, 1.0], 150, p=[0.6, 0.2, 0.1, 0.05, 0.05]),
    "mixed": lambda rng: np.where(rng.random(150) < 0.5, 0.2, rng.beta(0.5, 0.5, 150)),
}


@pytest.mark.simulation
@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("design", DESIGNS)
def test_coverage_in_draws_is_at_least_nominal(curve, design):
    rng = np.random.default_rng(7)
    level, draws, held = 0.5, 200, 0
    for _ in range(draws):
        x = DESIGNS[design](rng)
        forecast, lower, upper = simultaneous_band(
            ForecastTable.from_predictions(rng.random(len(x)) < CURVES[curve](x), x), level
        )
        truth = CURVES[curve](forecast)
        held += bool(((lower <= truth) & (truth <= upper)).all())
    # Three standard errors below nominal; the union bound leaves the true coverage far above.
    assert held / draws >= level - 3 * math.sqrt(level * (1 - level) / draws)


@given(sample=cases, level=st.floats(0.01, 0.999))
def test_the_limits_rise_lie_in_the_unit_interval_and_hold_the_isotonic_regression(sample, level):
    table = predicted(sample)
    _, lower, upper = simultaneous_band(table, level)
    rate = pool_adjacent_violators(table).per_row()
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) >= 0).all()
    assert ((lower >= 0) & (lower <= rate) & (rate <= upper) & (upper <= 1)).all()


@given(sample=cases)
def test_rising_event_rates_need_no_widening(sample):
    table = predicted(sample)
    order = np.argsort(table.event_rates, kind="stable")
    rising = table_of(table.forecast, table.events[order], table.non_events[order])
    lower, upper = limits_by_hand(rising, 0.9, intervals_by_hand(rising.weights))
    assert (lower <= rising.event_rates).all()
    assert (upper >= rising.event_rates).all()
    np.testing.assert_allclose(simultaneous_band(rising)[1:], (lower, upper), atol=1e-12)


def test_falling_event_rates_widen_the_band_instead_of_crossing_it():
    table = table_of([0.2, 0.8], [90, 10], [10, 90])
    lower, upper = limits_by_hand(table, 0.9, intervals_by_hand(table.weights))
    assert (lower > upper).all()
    _, *band = simultaneous_band(table)
    np.testing.assert_allclose(band, (upper, lower), atol=1e-12)


@given(sample=cases, seed=st.integers(0, 99))
def test_neither_order_nor_partition_matters(sample, seed):
    rng = np.random.default_rng(seed)
    shuffled = [sample[i] for i in rng.permutation(len(sample))]
    cut = int(rng.integers(0, len(sample) + 1))
    parts = [predicted(part) for part in (shuffled[:cut], shuffled[cut:]) if part]
    np.testing.assert_array_equal(simultaneous_band(sum(parts)), simultaneous_band(predicted(sample)))


def test_only_the_order_of_the_forecasts_matters():
    rng = np.random.default_rng(2)
    x = rng.random(200)
    y = rng.random(200) < x
    one, other = (simultaneous_band(ForecastTable.from_predictions(y, p))[1:] for p in (x, x**3))
    np.testing.assert_array_equal(one, other)


def test_the_mirror_image_has_the_mirrored_band():
    # 64 distinct forecasts are cut into blocks of four, so that both orders have the same blocks.
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2**20, 64) / 2**20
    y = rng.random(64) < x
    _, lower, upper = simultaneous_band(ForecastTable.from_predictions(y, x))
    _, low, high = simultaneous_band(ForecastTable.from_predictions(~y, 1.0 - x))
    np.testing.assert_allclose((low, high), (1.0 - upper[::-1], 1.0 - lower[::-1]), atol=1e-12)


def test_a_higher_level_is_wider_and_more_cases_are_narrower():
    forecast = np.arange(1, 10) / 10
    events = np.round(1000 * forecast)
    table = table_of(forecast, events, 1000 - events)
    _, lower, upper = simultaneous_band(table, 0.8)
    _, low, high = simultaneous_band(table, 0.99)
    assert (low < lower).all()
    assert (high > upper).all()
    _, low, high = simultaneous_band(table_of(forecast, 100 * events, 100 * (1000 - events)), 0.8)
    assert (low > lower).all()
    assert (high < upper).all()


def test_the_sparse_system_is_narrower_than_all_pairs():
    rng = np.random.default_rng(4)
    x = rng.random(300)
    table = ForecastTable.from_predictions(rng.random(300) < x, x)
    _, lower, upper = simultaneous_band(table)
    low, high = limits_by_hand(table, 0.9, list(itertools.combinations(range(301), 2)))
    assert np.mean(upper - lower) < 0.95 * np.mean(high - low)


def test_miscalibration_leaves_the_band_and_calibration_does_not():
    rng = np.random.default_rng(5)
    x = rng.random(20_000)
    for curve, calibrated in ((x, True), (x**1.5, False)):
        forecast, lower, upper = simultaneous_band(ForecastTable.from_predictions(rng.random(20_000) < curve, x), 0.95)
        assert ((lower <= forecast) & (forecast <= upper)).all() == calibrated


def test_billions_of_cases_are_no_trouble():
    rng = np.random.default_rng(6)
    forecast = (np.arange(1024) + 0.5) / 1024
    weight = rng.multinomial(3_000_000_000, rng.dirichlet(np.ones(1024))) + 1
    events = rng.binomial(weight, forecast)
    _, lower, upper = simultaneous_band(table_of(forecast, events, weight - events))
    assert ((lower <= forecast) & (forecast <= upper)).all()
    assert np.mean(upper - lower) < 0.01


@pytest.mark.parametrize(("events", "limits"), [(0, (0.0, 1.0 - 0.05 ** (1 / 3))), (3, (0.05 ** (1 / 3), 1.0))])
def test_one_forecast_has_the_clopper_pearson_interval(events, limits):
    _, lower, upper = simultaneous_band(table_of([0.4], [events], [3 - events]), 0.9)
    np.testing.assert_allclose((lower[0], upper[0]), limits, atol=1e-12)


def test_weighted_cases_are_refused():
    table = ForecastTable.from_predictions([0, 1], [0.2, 0.7], sample_weight=[1.0, 2.0])
    with pytest.raises(InputValueError, match=r"without weights.* Hint: use the confidence band"):
        simultaneous_band(table)


@pytest.mark.parametrize("level", [0.0, 1.0, 90, math.nan])
def test_bad_levels_are_refused(level):
    with pytest.raises(InputValueError, match="level must lie strictly between 0 and 1"):
        simultaneous_band(ForecastTable.from_predictions([0, 1], [0.2, 0.7]), level)
