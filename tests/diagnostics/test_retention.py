"""Retention curves: golden cases, a naive loop, the bootstrap by hand, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.decisions.agreement import quadratic_weighted_kappa
from propriety.decisions.expected_cost import expected_cost
from propriety.diagnostics.retention import retention_curve
from propriety.errors import InputTypeError, InputValueError

CLOSE = 1e-12
K = 3
RULES = {
    "rps": pr.RankedProbability(),
    "sarps": pr.SquaredAbsoluteRankedProbability(),
    "brier": pr.Brier(),
}
SEVERAL = [pr.RankedProbability(), pr.Brier(), pr.Log()]

rows_of_probabilities = (
    st.lists(st.integers(0, 4), min_size=K, max_size=K).filter(any).map(lambda r: np.array(r) / sum(r))
)
samples = st.lists(st.tuples(st.integers(0, K - 1), rows_of_probabilities), min_size=1, max_size=12)
grids = st.sets(st.integers(0, 99), min_size=2, max_size=5).map(lambda shares: np.array(sorted(shares)) / 100)
metrics = st.sampled_from(["qwk", "accuracy", "linear cost", "quadratic cost"])
COST = [[0, 1, 4], [2, 0, 1], [9, 3, 0]]


def arrays(cases):
    return np.array([case[0] for case in cases]), np.array([case[1] for case in cases])


def measured(y, rows, metric, weight=None):
    decided = rows.argmax(axis=1)
    options = {"labels": range(K), "sample_weight": weight}
    if isinstance(metric, str):
        if metric == "qwk":
            return float(quadratic_weighted_kappa(y, decided, **options))
        if metric == "accuracy":
            return 1.0 - float(expected_cost(y, decided, **options))
        metric = metric.removesuffix(" cost")
    return float(expected_cost(y, decided, cost=metric, **options))


def naive(y, rows, rule, metric, shares):
    """Remove, decide and measure anew for each share."""
    order = np.argsort(pr.case_scores(y, rows, rule=rule), kind="stable")
    values = []
    for percent in np.rint(100 * shares).astype(int):
        kept = order[: len(y) - int(percent) * len(y) // 100]
        values.append(measured(y[kept], rows[kept], metric))
    return values


def simulated(n, seed=0):
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.ones(K), n)
    y = np.array([generator.choice(K, p=row) for row in 0.5 * rows + 0.5 / K])
    return y, rows


@pytest.mark.parametrize("score", RULES)
def test_golden(golden, score):
    inputs, expected = golden(f"aursc_{score}")
    for metric, name in (("qwk", "qwk"), ("quadratic cost", "ec_quadratic")):
        curve = retention_curve(
            inputs["y"], inputs["P"], rule=RULES[score], metric=metric, removed=inputs["removed_fractions"]
        )
        values = expected[name]
        np.testing.assert_allclose(curve.value, values["curve"], rtol=CLOSE, atol=CLOSE)
        areas = [curve.areas.area[0], curve.areas.area_percent[0], curve.areas.mean_height[0]]
        np.testing.assert_allclose(
            areas, [values["area_fraction"], values["area_percent"], values["mean_height"]], rtol=CLOSE
        )


@pytest.mark.slow
@given(samples, grids, metrics | st.just(COST))
def test_it_is_the_naive_loop(cases, shares, metric):
    y, rows = arrays(cases)
    curve = retention_curve(y, rows, rule=SEVERAL, metric=metric, removed=shares)
    for place, rule in enumerate(SEVERAL):
        own = curve.rule == repr(rule)
        expected = naive(y, rows, rule, metric, shares)
        np.testing.assert_allclose(curve.value[own], expected, atol=CLOSE)
        area = sum(
            (b - a) * (u + v) / 2 for a, b, u, v in zip(shares, shares[1:], expected, expected[1:], strict=False)
        )
        assert curve.areas.area[place] == pytest.approx(area, abs=CLOSE, nan_ok=True)
    assert curve.n_retained[: len(shares)].tolist() == [len(y) - round(100 * f) * len(y) // 100 for f in shares]


def test_shares_that_should_be_whole_numbers_of_cases():
    # 0.29 * 100 is below 29.
    curve = retention_curve(*simulated(100), removed=np.arange(100) / 100)
    assert curve.n_retained.tolist() == list(range(100, 0, -1))


def test_the_grid_is_stated():
    curve = retention_curve(*simulated(50))
    np.testing.assert_allclose(curve.removed, np.linspace(0, 0.2, 21))
    assert (curve.areas.removed_from, curve.areas.removed_to) == (0.0, 0.2)
    assert "removed=0% to 20%" in repr(curve)
    assert curve.differences is None
    backwards = retention_curve(*simulated(50), removed=[0.3, 0.0, 0.3])
    assert backwards.removed.tolist() == [0.0, 0.3]


def test_unit_weights_change_nothing_and_cases_without_weight_are_not_there():
    y, rows = simulated(40)
    plain = retention_curve(y, rows, rule=SEVERAL)
    unit = retention_curve(y, rows, rule=SEVERAL, sample_weight=np.full(40, 0.1))
    np.testing.assert_allclose(unit.value, plain.value, atol=CLOSE)
    assert unit.n_retained.tolist() == plain.n_retained.tolist()
    weight = np.r_[np.zeros(10), np.ones(30)]
    part = retention_curve(y, rows, rule=SEVERAL, sample_weight=weight)
    alone = retention_curve(y[10:], rows[10:], rule=SEVERAL)
    np.testing.assert_allclose(part.value, alone.value, atol=CLOSE)
    assert part.n == 30


@given(samples, st.data())
def test_weights_are_removed_as_long_as_they_fit_the_share(cases, data):
    y, rows = arrays(cases)
    weight = np.array(data.draw(st.lists(st.integers(1, 5), min_size=len(y), max_size=len(y))))
    curve = retention_curve(y, rows, removed=[0.0, 0.25, 0.6], metric="accuracy", sample_weight=weight)
    order = np.argsort(pr.case_scores(y, rows, rule=pr.RankedProbability()), kind="stable").tolist()
    for percent, value, left in zip((0, 25, 60), curve.value, curve.n_retained, strict=True):
        kept = list(order)
        while 100 * weight[[case for case in order if case not in kept[:-1]]].sum() <= percent * weight.sum():
            kept.pop()
        assert value == pytest.approx(measured(y[kept], rows[kept], "accuracy", weight[kept]), abs=CLOSE)
        assert left == len(kept)


def test_later_cases_go_first_where_losses_are_equal():
    curve = retention_curve([0, 0, 1, 1], [[0.5, 0.5, 0.0]] * 4, rule=pr.Brier(), metric="accuracy", removed=[0, 0.5])
    assert curve.value.tolist() == [0.5, 1.0]


def test_infinite_losses_are_the_worst():
    y, rows = [0, 1, 2, 2], [[0.6, 0.4, 0], [0.1, 0.8, 0.1], [0.5, 0.5, 0], [0, 0.3, 0.7]]
    curve = retention_curve(y, rows, rule=pr.Log(), removed=[0, 0.25])
    assert curve.value[1] == 1.0


def test_a_single_class_has_no_kappa():
    curve = retention_curve([1, 1, 1, 0], [[0.1, 0.8, 0.1]] * 4, removed=[0, 0.25])
    assert curve.value[0] == 0.0
    assert math.isnan(curve.value[1])
    assert math.isnan(curve.areas.area[0])


def test_the_bootstrap_by_hand():
    y, rows = simulated(60)
    shares, draws, level = np.array([0.0, 0.07, 0.2]), 25, 0.8
    curve = retention_curve(y, rows, rule=SEVERAL, removed=shares).with_interval(level=level, n_resamples=draws, seed=4)
    generator = np.random.default_rng(4)
    values = np.empty((draws, len(SEVERAL), len(shares)))
    for draw in range(draws):
        # Drawn cases in the order of the data, so that equal losses stay in it.
        cases = np.sort(generator.integers(60, size=60))
        for place, rule in enumerate(SEVERAL):
            values[draw, place] = naive(y[cases], rows[cases], rule, "qwk", shares)
    areas = ((values[..., 1:] + values[..., :-1]) / 2 * np.diff(shares)).sum(axis=-1)
    quantiles = [(1 - level) / 2, (1 + level) / 2]
    np.testing.assert_allclose([curve.low, curve.high], np.quantile(values.reshape(draws, -1), quantiles, axis=0))
    np.testing.assert_allclose([curve.areas.low, curve.areas.high], np.quantile(areas, quantiles, axis=0))
    paired = areas[:, [0, 0, 1]] - areas[:, [1, 2, 2]]
    np.testing.assert_allclose(
        [curve.differences.low, curve.differences.high], np.quantile(paired, quantiles, axis=0), atol=CLOSE
    )
    names = [repr(rule) for rule in SEVERAL]
    assert curve.differences.rule.tolist() == [names[0], names[0], names[1]]
    assert curve.differences.minus.tolist() == [names[1], names[2], names[2]]
    area = curve.areas.area
    np.testing.assert_allclose(curve.differences.area, [area[0] - area[1], area[0] - area[2], area[1] - area[2]])
    assert (curve.level, curve.n_resamples, curve.seed) == (level, draws, 4)


def test_copies_of_a_weighted_case_are_removed_one_by_one():
    y, rows = simulated(8)
    weight = np.array([1, 2, 3, 1, 2, 3, 1, 2])
    curve = retention_curve(y, rows, metric="accuracy", removed=[0.1, 0.5], sample_weight=weight)
    counts = np.array([3, 0, 2, 0, 1, 0, 2, 0])
    repeated = retention_curve(
        np.repeat(y, counts), np.repeat(rows, counts, axis=0), metric="accuracy", removed=[0.1, 0.5],
        sample_weight=np.repeat(weight, counts),
    )  # fmt: skip
    shares = np.array([0.1, 0.5])
    found = curve.measure(curve.orders[0].retained(shares, counts))
    np.testing.assert_allclose(found, repeated.value, atol=CLOSE)


def test_the_same_seed_is_the_same_answer():
    curve = retention_curve(*simulated(30), rule=SEVERAL)
    one, same, other = (curve.with_interval(n_resamples=20, seed=seed) for seed in (1, 1, 2))
    assert one.low.tolist() == same.low.tolist()
    assert one.low.tolist() != other.low.tolist()
    fresh = curve.with_interval(n_resamples=2)
    assert fresh.low.tolist() == curve.with_interval(n_resamples=2, seed=fresh.seed).low.tolist()


def test_missing_cases_are_dropped_when_asked():
    y, rows = simulated(20)
    gone = rows.copy()
    gone[3] = np.nan
    left = np.delete(np.arange(20), 3)
    curve = retention_curve(pr.cases(y, gone, missing="drop"))
    np.testing.assert_array_equal(curve.value, retention_curve(y[left], rows[left]).value)
    assert (curve.dropped, curve.n) == (1, 19)
    assert "dropped=1" in repr(curve)


def test_views():
    curve = retention_curve(*simulated(30), rule=SEVERAL, metric="linear cost", removed=[0, 0.1])
    frame = curve.to_frame(backend="pandas")
    assert frame.columns.tolist() == ["rule", "removed", "n_retained", "value"]
    assert len(frame) == 6
    assert not curve.higher_is_better
    limited = curve.with_interval(n_resamples=5, seed=1)
    assert limited.to_frame(backend="polars").columns == [*frame.columns, "low", "high"]
    assert limited.differences.to_frame(backend="pandas").columns.tolist() == [
        "rule", "minus", "area", "area_percent", "mean_height", "low", "high",
    ]  # fmt: skip
    assert set(curve.to_dict()) >= {"areas", "differences", "value"}
    assert not {"orders", "measure"} & set(curve.to_dict())
    assert "level=0.95" in repr(limited)


def test_progress_is_shown_when_asked(capsys):
    retention_curve(*simulated(10)).with_interval(n_resamples=2, seed=1, progress=True)
    assert "resampling" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "match"),
    [
        pytest.param({"removed": [0, 1]}, r"removed must lie in \[0, 1\); entry 1 is 1 \(1 of 2", id="all removed"),
        pytest.param({"removed": [0, 5, 20]}, "entry 1 is 5.*percentages", id="percent"),
        pytest.param({"removed": [0.1, math.nan]}, "entry 1 is nan", id="nan"),
        pytest.param({"removed": [0.1]}, "two different shares or more; got 1", id="one share"),
        pytest.param({"metric": "f1"}, "metric must be one of", id="metric"),
        pytest.param({"metric": [[0, 1], [1, 0]]}, "for each of the 3 classes", id="cost matrix"),
        pytest.param({"rule": []}, "rule must hold one rule or several", id="no rule"),
        pytest.param({"rule": [pr.Brier(), pr.Brier()]}, "several that differ", id="twice"),
        pytest.param({"rule": pr.Elementary(0.3)}, "scores the forecast of one event; got rows", id="binary rule"),
    ],
)
def test_what_is_refused(options, match):
    with pytest.raises(InputValueError, match=match):
        retention_curve(*simulated(10), **options)


def test_what_has_the_wrong_type():
    with pytest.raises(InputTypeError, match="rule must be a scoring rule"):
        retention_curve(*simulated(10), rule="brier")
    with pytest.raises(InputTypeError, match="removed must be a 1-D array of shares"):
        retention_curve(*simulated(10), removed=["a"])
    curve = retention_curve(*simulated(10))
    with pytest.raises(InputValueError, match="level must lie strictly"):
        curve.with_interval(level=1.0)
    with pytest.raises(InputValueError, match="n_resamples must be a positive"):
        curve.with_interval(n_resamples=0)


def test_rules_that_return_no_number():
    class Broken(pr.ClassRule):
        def class_loss(self, p, *, outcome, ops=None):
            return p[0] * math.nan

    with pytest.raises(InputValueError, match=r"Broken\(\) must return numbers"):
        retention_curve(*simulated(10), rule=Broken())


@pytest.mark.filterwarnings("error")
def test_some_case_is_kept_at_every_share_below_one():
    rng = np.random.default_rng(0)
    found = pr.retention_curve(
        np.arange(30) % 3, rng.dirichlet(np.ones(3), 30), removed=[0, 1 - 1e-13], metric="accuracy"
    )
    assert np.isfinite(found.value).all()
