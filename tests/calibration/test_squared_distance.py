"""The squared distance of event rates from forecasts: by its formula over pairs of cases, its limits, its laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propriety.calibration.squared_distance import _groups, _more, grouped_functions, squared_distance
from propriety.tables.forecast_table import ForecastTable

PARTS = ("miscalibration", "discrimination")
cases = st.lists(st.tuples(st.booleans(), st.floats(0.0, 1.0)), min_size=2, max_size=40)


def table(y, p, weight=None):
    return ForecastTable.from_predictions(y, p, sample_weight=weight)


def over_pairs(y, p, part):
    """Return the mean of the products of two residuals, times those of their functions, over all pairs of cases."""
    one = table(y, p)
    groups = _groups(one, None)
    row = np.searchsorted(one.forecast, p)
    functions = groups.functions[row]
    residual = y - p if part == "miscalibration" else y - y.mean()
    if part == "miscalibration":
        functions = np.column_stack([np.ones(len(p)), functions])
    np.testing.assert_allclose(functions.T @ functions / len(p), np.eye(functions.shape[1]), atol=1e-9)
    products = np.outer(residual, residual) * (functions @ functions.T)
    n = len(p)
    return (products.sum() - np.trace(products)) / (n * (n - 1))


@pytest.mark.parametrize("part", PARTS)
def test_the_value_is_the_mean_over_all_pairs_of_cases(part):
    rng = np.random.default_rng(1)
    p = np.round(rng.random(60), 1)
    y = (rng.random(60) < 1.0 - p).astype(float)
    expected = over_pairs(y, p, part)
    assert expected > 0.0
    assert squared_distance(table(y, p), part, level=0.95).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("part", PARTS)
def test_the_mean_over_samples_is_the_truth(part):
    rng = np.random.default_rng(2)
    p = rng.choice([0.2, 0.4, 0.7], 100_000, p=[0.5, 0.3, 0.2])
    rate = np.select([p == 0.2, p == 0.4], [0.3, 0.35], 0.9)
    y = rng.random(100_000) < rate
    truth = ((rate - p) ** 2).mean() if part == "miscalibration" else rate.var()
    found = squared_distance(table(y, p), part, level=0.95)
    assert found.value == pytest.approx(truth, abs=4 * found.standard_error)
    assert found.low < truth < found.high


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
@settings(max_examples=60)
@given(drawn=cases, level=st.floats(0.01, 0.999), seed=st.integers(0, 100))
def test_the_value_is_always_inside_its_limits(part, weighted, drawn, level, seed):
    y, p = (np.array(column) for column in zip(*drawn, strict=True))
    weight = np.random.default_rng(seed).gamma(2.0, 1.0, len(y)) if weighted else None
    found = squared_distance(table(y, p, weight), part, level=level)
    assert 0.0 <= found.low <= found.value <= found.high
    assert found.high <= max(1.0, found.value)
    assert found.standard_error >= 0.0


def test_rates_that_equal_their_forecasts_cost_nothing():
    p = np.repeat([0.2, 0.4, 0.6, 0.8], 250)
    y = np.concatenate([np.arange(250) < 250 * rate for rate in (0.2, 0.4, 0.6, 0.8)])
    found = squared_distance(table(y, p), "miscalibration", level=0.95)
    assert (found.value, found.low) == (0.0, 0.0)
    assert 0.0 < found.high < 0.01


def test_an_order_of_magnitude_more_cases_narrows_the_limits():
    rng = np.random.default_rng(3)
    widths = []
    for n in (300, 3000, 30_000):
        p = rng.random(n)
        found = squared_distance(table(rng.random(n) < p, p), "miscalibration", level=0.95)
        widths.append(found.high - found.low)
    assert widths[0] > 3 * widths[1] > 9 * widths[2]


@pytest.mark.simulation
@pytest.mark.parametrize("slope", [1.0, 0.6])
def test_the_limits_hold_the_truth(slope):
    rng = np.random.default_rng(4)
    held = []
    for _ in range(200):
        p = rng.uniform(0.1, 0.9, 500)
        rate = 0.5 + slope * (p - 0.5)
        found = squared_distance(table(rng.random(500) < rate, p), "miscalibration", level=0.9)
        held.append(found.low <= (1 - slope) ** 2 * 0.64 / 12 <= found.high)
    assert 0.84 < np.mean(held) <= 1.0


@settings(max_examples=40)
@given(cases)
def test_equal_weights_and_the_order_change_nothing(drawn):
    y, p = (np.array(column) for column in zip(*drawn, strict=True))
    one = squared_distance(table(y, p), "miscalibration", level=0.95)
    for other in (table(y[::-1], p[::-1]), table(y, p, np.full(len(y), 7.0))):
        found = squared_distance(other, "miscalibration", level=0.95)
        # Columns of shapes that nearly depend on each other magnify rounding.
        np.testing.assert_allclose(found, one, rtol=1e-6, atol=1e-6)


def test_a_large_table_sees_steps():
    rng = np.random.default_rng(5)
    p = rng.random(300_000)
    rate = np.clip(p + 0.05 * np.sign(np.sin(60 * p)), 0, 1)  # About twenty jumps.
    found = squared_distance(table(rng.random(300_000) < rate, p), "miscalibration", level=0.95)
    assert found.value == pytest.approx(((rate - p) ** 2).mean(), rel=0.2)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
def test_what_fine_steps_find_by_chance_is_as_large_as_stated(weighted):
    rng = np.random.default_rng(8)
    p = rng.random(3_000)
    weight = np.where(rng.random(3_000) < 0.5, 1.0, 3.0) if weighted else None
    drawn = [table(rng.random(3_000) < p, p, weight) for _ in range(200)]
    more, noise = np.array([_more(one, grouped_functions(one, 5), grouped_functions(one, 40)) for one in drawn]).T
    assert abs(more.mean()) < 3 * noise.mean() / np.sqrt(200)
    assert more.std() == pytest.approx(noise.mean(), rel=0.15)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("p", [[0.0, 1.0] * 5, [0.3] * 10, [1e-320, 1.0] * 5], ids=["certain", "equal", "tiny"])
@pytest.mark.parametrize("weight", [None, np.arange(1.0, 11.0)], ids=["plain", "weights"])
def test_odd_tables_have_finite_distances(part, p, weight):
    for y in ([0, 1] * 5, [1, 0] * 5, [0] * 10, [1] * 10):
        assert np.isfinite(squared_distance(table(y, p, weight), part, level=0.95)).all()


@pytest.mark.parametrize("certain", [lambda rate: rate > 0.5, np.ones_like], ids=["0 and 1", "1 alone"])
def test_the_limits_of_certain_forecasts_hold_the_truth(certain):
    rng = np.random.default_rng(5)
    held = []
    for _ in range(200):
        rate = rng.random(300)
        p = certain(rate).astype(float)
        truth = 0.25**2 if p.min() == 0.0 else 0.5**2
        found = squared_distance(table(rng.random(300) < rate, p), "miscalibration", level=0.9)
        held.append(found.low <= truth <= found.high)
    assert 0.84 < np.mean(held) < 0.98


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("base", [0.885, 0.5, 0.1, 1e-5, 0.999])
@pytest.mark.parametrize("width", [0.0, 1e-16, 1e-15, 1e-13, 1e-12, 1e-10, 1e-8, 1e-5])
def test_forecasts_that_hardly_vary_have_the_miscalibration_of_their_mean(base, width, weighted):
    rng = np.random.default_rng(3)
    y, weight = (rng.random(400) < 0.1).astype(float), rng.integers(1, 4, 400) if weighted else None
    for spread in (rng.random(400) < 0.5, rng.random(400)):
        p = np.clip(base + width * spread, 0.0, 1.0)
        one = table(y, p, weight)
        found = squared_distance(one, "miscalibration", level=0.95)
        exact = (one.event_rate - one.mean_forecast) ** 2
        assert found.value == pytest.approx(exact, abs=0.02)
        assert squared_distance(one, "discrimination", level=0.95).value < 0.01


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=2, max_size=40),
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 1e-16, 1e-14, 1e-11, 1e-8, 1e-4, 0.3]),
)
def test_miscalibration_is_at_most_the_score(outcomes, base, width):
    y, step = np.array(outcomes, dtype=float).T
    p = np.clip(base + width * step, 0.0, 1.0)
    found = squared_distance(table(y, p), "miscalibration", level=0.95)
    assert 0.0 <= found.low <= found.value <= np.mean((y - p) ** 2) + 1e-9
