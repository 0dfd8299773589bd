"""Readings of class probabilities and of correlated cases, compared with sums written out case by case."""

import math

import numpy as np
import polars as pl
import pytest
from scipy.special import logit, ndtri
from scipy.stats import chi2, f, norm

import propriety as pr
from propriety.calibration import class_test as class_test_of_calibration
from propriety.calibration.calibration_test import NullScores, null_scores
from propriety.calibration.class_test import ClassTest, class_scores, part_of_class, standardised
from propriety.calibration.squared_distance import Regression
from propriety.inference import class_readings, class_views
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_testing import calibration_test_of
from propriety.inference.class_findings import class_findings
from propriety.inference.class_readings import ClassReading
from propriety.inference.class_views import Lines, class_tables, class_test_of_cases, class_test_of_tables, lines_of
from propriety.inference.dependent_calibration import dispersion_of_scores, spread_of_regression, units_of_cases
from propriety.ledger import ledger as ledgers
from propriety.tables.forecast_table import ForecastTable

DRAWING = Drawing(n_resamples=50, seed=1)
N, CLASSES = 600, 3


def sample(n=N, classes=CLASSES, seed=1, power=1.0, alpha=None):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes) if alpha is None else alpha, n)
    truth = p**power / (p**power).sum(axis=1, keepdims=True)
    return (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), p


def hac_by_hand(parts):
    """Return the squared error of sums over time with Bartlett weights, and its degrees of freedom."""
    times = len(parts)
    span = min(math.ceil(1.3 * math.sqrt(times)), times)
    weights = {lag: 1.0 - abs(lag) / span for lag in range(1 - span, span)}
    total = np.zeros(parts.shape[1])
    for lag, weight in weights.items():
        for at in range(abs(lag), times):
            total += weight * parts[at] * parts[at - abs(lag)]
    kept = 1.0 - sum(weight * (1.0 - abs(lag) / times) for lag, weight in weights.items()) / times
    return total / kept, times / sum(weight**2 for weight in weights.values())


def view_by_hand(sums, dispersion, df_of_noise=math.inf):
    """Return the p-value of squared sums with these variances, by the distribution with the same first two moments."""
    factor = max(1.0, dispersion.mean())
    uneven = 1.0 + (dispersion.var() / factor**2 if factor > 1.0 else 0.0)
    statistic, df = (sums**2).sum() / (factor * uneven), len(sums) / uneven
    if math.isinf(df_of_noise):
        return chi2.sf(statistic, df)
    return f.sf(statistic / df, df, df_of_noise * dispersion.sum() ** 2 / (dispersion**2).sum())


def added(y, p, **options):
    """Return the sum of the ledgers of both halves, which has no cases."""
    half, models = len(y) // 2, p if isinstance(p, dict) else {"forecast": p}
    first, second = (
        pr.condense(
            y[part],
            {name: one[part] for name, one in models.items()},
            labels=[0, 1, 2],
            **{name: values[part] for name, values in options.items()},
        )
        for part in (slice(0, half), slice(half, None))
    )
    return first + second


LINES = Lines(np.array([0.2, 0.04, np.nan]), np.full(3, 60.0), np.full(3, 60.0))


def of_cases(ledger):
    return class_test_of_cases(ledger.cases, class_scores(ledger.cases, ledger.models[0]), LINES)


@pytest.mark.parametrize("kind", ["weights", "cluster", "period", "both"])
def test_views_of_cases_compare_sums_with_their_dispersion(kind):
    y, p = sample(power=0.8)
    unit = np.arange(N) // 15
    y[unit % 5 == 0] = y[unit % 5 == 0][0]  # Cases of some units resemble each other.
    weight = np.random.default_rng(2).gamma(2.0, 1.0, N) if kind in ("weights", "both") else None
    options = {} if kind == "weights" else {"period" if kind == "period" else "cluster": unit}
    ledger = pr.condense(y, p, sample_weight=weight, **options)
    scores = class_scores(ledger.cases, ledger.models[0])
    residuals = standardised(scores.residuals, scores.variance)
    if kind != "weights":
        residuals = np.stack([residuals[unit == one].sum(axis=0) for one in range(40)])
    sums, dispersion, noise = residuals.sum(axis=0), (residuals**2).sum(axis=0), math.inf
    if kind == "period":
        dispersion, noise = hac_by_hand(residuals - sums / 40)
    found = of_cases(ledger)
    assert found.method == ("F" if kind == "period" else "chi-squared")
    assert found.temperature == pytest.approx(sums[0])
    assert found.p_values["temperature"] == pytest.approx(view_by_hand(sums[:1], dispersion[:1], noise), rel=1e-6)
    assert found.p_values["shape"] == pytest.approx(view_by_hand(sums[1:], dispersion[1:], noise), rel=1e-6)
    assert found.p_values["class-wise"] == pytest.approx(0.08)


def test_a_single_time_has_no_span_and_equal_probabilities_no_temperature():
    y, p = sample(200)
    single = of_cases(pr.condense(y, p, period=np.zeros(200, dtype=int)))
    alone = of_cases(pr.condense(y, p, cluster=np.zeros(200, dtype=int)))
    assert single.method == "chi-squared"
    assert single.p_values["temperature"] == pytest.approx(alone.p_values["temperature"])
    equal = of_cases(pr.condense(np.arange(300) % 3, np.full((300, 3), 1 / 3), cluster=np.arange(300)))
    assert set(equal.p_values) == {"class-wise"}
    assert math.isnan(equal.temperature)


def line_by_hand(y, p):
    """Return the p-value of intercept and slope of one class from independent cases, and its information."""
    inner = (p > 0) & (p < 1)
    p, y = p[inner], y[inner]
    x, v, residual = logit(p), p * (1 - p), y - p
    centre = v @ x / v.sum()
    statistic = residual.sum() ** 2 / v.sum() + (residual @ (x - centre)) ** 2 / (v @ (x - centre) ** 2)
    return chi2.sf(statistic * v.sum() / (v.sum() + 1.0), 2), v.sum()


def test_lines_of_independent_classes_are_coxs_tests():
    y, p = sample(power=0.9, alpha=[4.0, 3.0, 0.1])
    p[:30] = [0.6, 0.4, 0.0]
    y[:30] = np.minimum(y[:30], 1)
    for weight in (None, np.full(N, 2.5)):
        ledger = pr.condense(y, p, sample_weight=weight)
        found = lines_of(class_tables(ledger, ledger.models[0]), DRAWING)
        expected = [line_by_hand(y == k, p[:, k]) for k in range(3)]
        np.testing.assert_allclose(found.p_values[:2], [one[0] for one in expected[:2]], rtol=1e-8)
        assert expected[2][1] < 50.0
        assert np.isnan(found.p_values[2])
        np.testing.assert_allclose(found.information, [one[1] for one in expected], rtol=1e-8)
        np.testing.assert_allclose(found.uncorrelated, found.information)


def test_a_class_with_a_variance_of_50_is_tested():
    tables = [ForecastTable.from_predictions(np.arange(n) < n // 2, np.full(n, 0.5)) for n in (200, 199)]
    found = lines_of([(table, None) for table in tables], DRAWING)
    assert np.isnan(found.p_values).tolist() == [False, True]
    assert found.information.tolist() == [50.0, 49.75]


@pytest.mark.parametrize("kind", ["cluster", "period"])
def test_lines_of_correlated_classes_are_those_of_each_event(kind):
    y, p = sample(power=0.8)
    unit = {kind: np.arange(N) // 3}
    ledger = pr.condense(y, p, **unit)
    found = lines_of(class_tables(ledger, ledger.models[0]), DRAWING)
    for place in range(CLASSES):
        own = calibration_test_of(pr.condense(y == place, p[:, place], **unit), "forecast", DRAWING)
        assert found.information[place] == pytest.approx(own.information, rel=1e-9)
        assert found.uncorrelated[place] == pytest.approx(float((p[:, place] * (1 - p[:, place])).sum()))
        if own.information >= 50.0:
            assert found.p_values[place] == pytest.approx(own.line_p_value, rel=1e-9)
    assert not np.isnan(found.p_values).all()
    assert (found.information != found.uncorrelated).any()


def temperature_by_hand(y, p, weight):
    """Return drift and variance of the temperature, and the bound on the variance that class tables allow."""
    log = np.log(np.where(p > 0.0, p, 1.0))
    drift = float(weight @ (log[np.arange(len(y)), y] - (p * log).sum(axis=1)))
    second, entropy = float(weight**2 @ (p * log**2).sum(axis=1)), (p * log).sum(axis=1)
    exact = second - float(weight**2 @ entropy**2)
    bound = second - float(weight**2 @ entropy) ** 2 / float((weight**2).sum())
    return drift, exact, bound


UNTESTED = Lines(np.full(3, np.nan), np.zeros(3), np.zeros(3))


def with_zeros(*, weighted):
    y, p = sample(400, power=0.9)
    p[:20] = [0.5, 0.5, 0.0]
    y[:20] = np.minimum(y[:20], 1)
    return y, p, np.random.default_rng(3).gamma(2.0, 1.0, 400) if weighted else np.ones(400)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_temperature_of_tables_is_a_normal_score(weighted):
    y, p, weight = with_zeros(weighted=weighted)
    drift, _, bound = temperature_by_hand(y, p, weight)
    stored = added(y, p, **({"sample_weight": weight} if weighted else {}))
    found = class_test_of_tables(stored, stored.models[0], UNTESTED)
    assert found.temperature == pytest.approx(drift / math.sqrt(bound), rel=1e-9)
    assert found.p_values == {"temperature": pytest.approx(2.0 * norm.sf(abs(found.temperature)), rel=1e-9)}
    assert found.method == "chi-squared"


@pytest.mark.parametrize("weighted", [False, True])
def test_engines_compute_the_variance_of_the_temperature_exactly(weighted, monkeypatch):
    y, p, weight = with_zeros(weighted=weighted)
    drift, exact, _ = temperature_by_hand(y, p, weight)
    monkeypatch.setattr(ledgers, "cases_of_engine", lambda *_: None)  # As if the frame had too many rows.
    frame = pl.DataFrame({"y": y, "w": weight, **dict(zip("abc", p.T, strict=True))}).lazy()
    options = {"sample_weight": "w"} if weighted else {}
    models = {"m": ["a", "b", "c"], "n": ["b", "a", "c"]}
    lazy = pr.condense(frame, models, outcome="y", labels=[0, 1, 2], **options)
    assert class_test_of_tables(lazy, "m", UNTESTED).temperature == pytest.approx(drift / math.sqrt(exact), rel=1e-9)
    turned, variance, _ = temperature_by_hand(y, p[:, [1, 0, 2]], weight)
    assert class_test_of_tables(lazy, "n", UNTESTED).temperature == pytest.approx(
        turned / math.sqrt(variance), rel=1e-9
    )


def test_a_temperature_that_cannot_vary_is_not_tested():
    stored = added(np.arange(30) % 3, np.full((30, 3), 1 / 3))
    found = class_test_of_tables(stored, stored.models[0], Lines(np.array([0.2, 0.3, 0.9]), np.zeros(3), np.zeros(3)))
    assert found.p_values == {"class-wise": pytest.approx(0.6)}
    assert math.isnan(found.temperature)


def reading(y, p, level=0.95, **options):
    ledger = pr.condense(y, p, **options)
    return ClassReading(ledger, ledger.models[0], DRAWING, level)


def distance_by_hand(y, p, weight, level, *, with_cases=True):
    """Return the summed distance and its limits from the fitted differences of the classes."""
    share, linear, parts, noise, errors = weight / weight.sum(), np.zeros(len(y)), [], 0.0, 0.0
    is_weighted = not (weight == 1.0).all()
    for k in range(p.shape[1]):
        table = ForecastTable.from_predictions(y == k, p[:, k], sample_weight=weight if is_weighted else None)
        part = part_of_class(table)
        fitted = part.fitted[np.searchsorted(table.forecast, p[:, k])]
        linear += fitted * (2.0 * ((y == k) - p[:, k]) - fitted)
        parts.append(part.distance)
        noise += part.noise
        errors += math.sqrt(part.spread)
    spread = float((share**2) @ (linear - share @ linear) ** 2) if with_cases else errors**2
    half = float(ndtri(0.5 + level / 2.0)) * math.sqrt(max(spread - noise, noise))
    total = sum(parts)
    return max(total, 0.0), max(total - half, 0.0), max(total, 0.0) + half, parts


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_distance_uses_the_cases_of_all_classes_together(weighted, power):
    y, p = sample(power=power)
    weight = np.random.default_rng(4).gamma(2.0, 1.0, N) if weighted else np.ones(N)
    found = reading(y, p, 0.9, sample_weight=weight if weighted else None).distance
    value, low, high, parts = distance_by_hand(y, p, weight, 0.9)
    np.testing.assert_allclose(found[:3], (value, low, high), rtol=1e-7, atol=1e-13)
    np.testing.assert_allclose(found.of_class, parts, rtol=1e-7)


def test_without_cases_the_errors_of_the_classes_are_added():
    y, p = sample(power=0.5)
    stored = added(y, p)
    found = ClassReading(stored, stored.models[0], DRAWING, 0.9)
    value, low, high, _ = distance_by_hand(y, p, np.ones(N), 0.9, with_cases=False)
    np.testing.assert_allclose(found.distance[:3], (value, low, high), rtol=1e-7)
    assert set(found.test.p_values) == {"temperature", "class-wise"}
    np.testing.assert_allclose(found.lines.information, (p * (1 - p)).sum(axis=0))


def test_classes_in_clusters_have_the_numbers_of_their_clusters():
    y, p = sample(300)
    cluster = np.arange(300) // 6
    found, alone = reading(y, p, cluster=cluster), reading(y, p)
    assert found.numbers.units.tolist() == [50, 50, 50]
    assert np.isinf(alone.numbers.units).all()
    assert found.test.method == alone.test.method.replace("50 draws of outcomes", "chi-squared")
    information = (p * (1 - p)).sum(axis=0)
    np.testing.assert_allclose(alone.lines.information, information)
    np.testing.assert_allclose(alone.lines.uncorrelated, information)


def test_draws_of_rare_classes_follow_number_and_seed():
    y, p = sample(120, alpha=[3.0, 3.0, 0.3])
    first, again, other = (
        ClassReading(ledger, ledger.models[0], drawing, 0.95).test
        for ledger in [pr.condense(y, p)]
        for drawing in (Drawing(40, 1), Drawing(40, 1), Drawing(41, 1))
    )
    assert first.method.startswith("40 ")
    assert other.method.startswith("41 ")
    assert first.p_values == again.p_values


@pytest.mark.parametrize("kind", ["cluster", "period"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_dispersion_of_scores_is_that_of_their_sums_by_unit(kind, weighted):
    rng = np.random.default_rng(6)
    p = np.round(rng.beta(1.0, 2.0, 200), 2)
    p[:10], unit = [0.0] * 6 + [1.0] * 4, rng.integers(0, 30, 200)
    y = rng.random(200) < p
    y[unit < 8] = True
    weight = rng.gamma(2.0, 1.0, 200) if weighted else None
    ledger = pr.condense(y, p, sample_weight=weight, **{kind: unit})
    model, w = ledger.models[0], np.ones(200) if weight is None else weight
    table = ledger.table(model)
    scores = null_scores(table)
    inner = table.forecast[(table.forecast > 0) & (table.forecast < 1)]
    sums = np.zeros((30, len(scores.sums)))
    for case in range(200):
        if 0.0 < p[case] < 1.0:
            function = scores.functions[np.searchsorted(inner, p[case])]
            sums[unit[case]] += w[case] * (float(y[case]) - p[case]) * function
    np.testing.assert_allclose(sums.sum(axis=0), scores.sums, rtol=1e-8)
    found = dispersion_of_scores(ledger.cases.of(model), table, scores)
    if kind == "cluster":
        np.testing.assert_allclose(found.variance, (sums**2).sum(axis=0))
        assert (found.df, found.worth) == (math.inf, math.inf)
        return
    centred = sums - sums.mean(axis=0)
    variance, df = hac_by_hand(centred)
    np.testing.assert_allclose(found.variance, variance)
    assert found.df == pytest.approx(df)
    line = centred[:, : scores.sizes[0]]
    r = (line[1:] * line[:-1]).sum() / (line**2).sum()
    assert found.worth == pytest.approx(30.0 * (1.0 - r) / (1.0 + r) if r > 0.0 else 30.0)


@pytest.mark.parametrize("trend", [1.0, -1.0])
def test_times_are_worth_fewer_if_neighbours_resemble_each_other(trend):
    """Of equal forecasts the only sum is the number of events, so that r is its correlation with the time before."""
    events = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0] if trend > 0 else [9, 0] * 5
    y = np.concatenate([np.arange(10) < one for one in events])
    ledger = pr.condense(y, np.full(100, 0.4), period=np.repeat(np.arange(10), 10))
    table = ledger.table(ledger.models[0])
    found = dispersion_of_scores(ledger.cases, table, null_scores(table))
    centred = np.array(events) - 4.5
    r = (centred[1:] @ centred[:-1]) / (centred @ centred)
    assert (r > 0.0) == (trend > 0)
    assert found.worth == pytest.approx(10.0 * (1.0 - r) / (1.0 + r) if trend > 0 else 10.0)


def test_times_without_any_spread_are_worth_their_number():
    y = np.tile([True, False], 10)
    ledger = pr.condense(y, np.full(20, 0.5), period=np.arange(20) // 2)
    table = ledger.table(ledger.models[0])
    found = dispersion_of_scores(ledger.cases, table, null_scores(table))
    assert (found.variance.tolist(), found.worth) == ([0.0], 10.0)
    single = pr.condense(y, np.full(20, 0.5), period=np.zeros(20, dtype=int))
    found = dispersion_of_scores(single.cases, table, null_scores(table))
    assert (found.variance.tolist(), found.df, found.worth) == ([0.0], math.inf, math.inf)


def test_certain_forecasts_have_no_scores_and_no_dispersion():
    ledger = pr.condense([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0], cluster=[0, 0, 1, 1])
    table = ledger.table(ledger.models[0])
    scores = null_scores(table)
    assert isinstance(scores, NullScores)
    found = dispersion_of_scores(ledger.cases, table, scores)
    assert (found.variance.shape, found.df, found.worth) == ((0,), math.inf, math.inf)


@pytest.mark.parametrize("around_forecast", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_spread_of_a_regression_is_that_of_sums_by_unit(around_forecast, weighted):
    rng = np.random.default_rng(7)
    n, units = 80, 12
    p, unit = np.round(rng.random(n), 1), np.concatenate([np.arange(units), rng.integers(0, units, n - units)])
    y, weight = rng.random(n) < p, rng.gamma(2.0, 1.0, n) if weighted else None
    ledger = pr.condense(y, p, sample_weight=weight, cluster=unit)
    table, w = ledger.table(ledger.models[0]), np.ones(n) if weight is None else weight
    start = np.array([0, 3, 7])
    given = Regression(
        functions=rng.normal(size=(3, 2)),
        start=start,
        centre=np.array([0.2, 0.5, 0.8]),
        fitted=rng.normal(0.0, 0.2, 3),
        around_forecast=around_forecast,
    )
    group = np.searchsorted(start, np.searchsorted(table.forecast, p), side="right") - 1
    sums, noise, linear = np.zeros((2, units)), np.zeros(units), np.zeros(units)
    mean = (w @ given.fitted[group] ** 2) / w.sum()
    for case in range(n):
        centre = p[case] if around_forecast else given.centre[group[case]]
        residual, fitted, share = float(y[case]) - centre, given.fitted[group[case]], w[case] / w.sum()
        sums[:, unit[case]] += share * residual * given.functions[group[case]]
        noise[unit[case]] += share * 2.0 * (residual - fitted) * fitted
        linear[unit[case]] += share * (2.0 * (residual - fitted) * fitted + fitted**2 - mean)
    found = spread_of_regression(ledger.cases, table, given)
    np.testing.assert_allclose(found[0], sums @ sums.T)
    np.testing.assert_allclose(found[1:3], (linear @ linear, noise @ noise))
    assert found[3] == units


def test_units_are_times_if_there_are_any_else_clusters():
    y, p = [0, 1, 1], [0.2, 0.5, 0.6]
    units, codes = units_of_cases(pr.condense(y, p, cluster=["b", "a", "b"]).cases)
    assert (units, codes.tolist()) == (2, [1, 0, 1])
    units, codes = units_of_cases(pr.condense(y, p, period=[5, 4, 3]).cases)
    assert (units, codes.tolist()) == (3, [2, 1, 0])


def test_a_reading_is_that_of_its_model(monkeypatch):
    y, p = sample(300)
    both = {"m": p, "n": p[:, [1, 0, 2]]}
    for options in ({}, {"cluster": np.arange(300)}, {"sample_weight": np.arange(300) % 4 + 1.0}):
        ledger, alone = pr.condense(y, both, **options), pr.condense(y, both["n"], **options)
        found = ClassReading(ledger, "n", DRAWING, 0.95)
        expected = ClassReading(alone, alone.models[0], DRAWING, 0.95)
        np.testing.assert_allclose(found.numbers, expected.numbers)
        assert found.test.p_values == pytest.approx(expected.test.p_values)
        assert found.distance[:3] == pytest.approx(expected.distance[:3])
        assert found.counts == expected.counts
        rows = class_findings(ledger, "n", level=0.95, drawing=DRAWING)
        (top,) = (row for row in rows if (row.statistic, row.measure.key) == ("top label", "observed_expected"))
        right = both["n"].argmax(axis=1) == y
        assert top.extra["event_rate"] == np.average(right, weights=options.get("sample_weight"))
    stored = added(y, both)
    found = ClassReading(stored, "n", DRAWING, 0.95)
    assert found.counts == ClassReading(pr.condense(y, both), "n", DRAWING, 0.95).counts
    assert found.lines.information == pytest.approx((both["n"] * (1 - both["n"])).sum(axis=0))
    # With many cases, tables are pooled and not kept.
    for module in (class_readings, class_views, class_test_of_calibration):
        monkeypatch.setattr(module, "MOST_EXACT", 100)
    ledger = pr.condense(y, both)
    pooled = ClassReading(ledger, "n", DRAWING, 0.95)
    assert pooled.numbers.ratio == pytest.approx(found.numbers.ratio)
    assert pooled.numbers.slope_gap == pytest.approx(found.numbers.slope_gap, abs=0.01)
    tables = list(class_tables(ledger, "n"))
    assert [table.n_events for table, _ in tables] == np.bincount(y).tolist()
    np.testing.assert_allclose([table.mean_forecast for table, _ in tables], both["n"].mean(axis=0))
    np.testing.assert_allclose([own.gathered().forecast for _, own in tables], both["n"].T)
    assert [own for _, own in class_tables(stored, "n")] == [None] * 3


def test_a_class_or_direction_is_named_at_its_share_of_the_level(monkeypatch):
    """With all three views the share of temperature and classes is 0.4 each; without a shape it is one half."""
    y, p = sample(300, power=0.9)
    ledger = pr.condense(y, p)
    for views, total in ((("temperature", "class-wise", "shape"), 1.0), (("temperature", "class-wise"), 0.8)):
        for step, is_named in ((0.0, True), (1e-9, False)):
            limit = (1.0 - 0.9) * 0.4 / total + step
            test = ClassTest(
                p_value=0.05,
                p_values=dict.fromkeys(views, 0.9) | {"temperature": limit},
                decided_by="temperature",
                temperature=1.5 if is_named else -1.5,
                class_p_values=np.array([limit / 3, 0.5, 0.6]),
                class_p_adjusted=np.array([limit, 1.0, 1.0]),
                method="by hand",
            )
            monkeypatch.setattr(class_readings, "class_test", lambda *_, found=test, **__: found)
            rows = class_findings(ledger, ledger.models[0], level=0.9, drawing=DRAWING)
            tests = [row for row in rows if row.measure.key == "calibration" and row.statistic == "value"]
            whole, *of_class = tests
            assert [row.verdict in ("small", "bad") for row in of_class] == [is_named, False, False]
            assert (whole.note("classes") is not None, whole.note("temperature") is not None) == (is_named, is_named)
            assert (whole.p, whole.extra["p_temperature"], whole.extra["p_classwise"]) == (0.05, limit, 0.9)
            assert whole.method == "by hand"
