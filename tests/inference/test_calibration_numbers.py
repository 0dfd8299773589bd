"""The numbers of many calibration tests, compared with their formulas written out case by case."""

import numpy as np
import pytest
from calibration_sample import SAMPLES, fitted_line, sample
from scipy.special import logit, ndtri
from scipy.stats import chi2, pearson3
from scipy.stats import t as student_t

from propriety.calibration.calibration_test import log_weight_ratio
from propriety.inference.calibration_numbers import (
    CalibrationNumbers,
    Centres,
    calibration_numbers,
    numbers_of_event,
    spreads,
)
from propriety.ledger.keyed_tables import KeyedTables
from propriety.tables.cases import Cases
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.keys import Keys

Z = float(ndtri(0.975))
FIELDS = ("ratio", "ratio_error", "p_value", "information", "slope_gap", "slope_error", "slope_sign", "refuted")
FIELDS += ("observed", "expected", "is_rare", "units", "worth")


def cases_of(p, y, weight=None, cluster=None, period=None):
    def keys(codes):
        return None if codes is None else Keys(tuple(range(int(max(codes)) + 1)), np.asarray(codes, dtype=np.intp))

    weight = None if weight is None else np.asarray(weight, dtype=float)
    forecasts = {"m": np.asarray(p, dtype=float)}
    return Cases(
        outcome=np.asarray(y, dtype=bool),
        forecasts=forecasts,
        weight=weight,
        cluster=keys(cluster),
        period=keys(period),
    )


def stacked(samples):
    """Return the tables of some samples, each (p, y) or (p, y, weight), and the entry of each case."""
    entry = np.repeat(np.arange(len(samples)), [len(one[0]) for one in samples])
    columns = [np.concatenate(column) for column in zip(*samples, strict=True)]
    return KeyedTables.of_cases(cases_of(*columns), "m", Event("event"), entry, len(samples)), entry


def squares_in_time(series):
    """Return the variance of a sum over times with Bartlett weights, times what Student's t adds, term by term."""
    c, times = np.array(series) - np.mean(series), len(series)
    span = min(int(np.ceil(1.3 * np.sqrt(times))), times)
    weight = {lag: 1.0 - abs(lag) / span for lag in range(1 - span, span)}
    total = sum(v * sum(c[t] * c[t - abs(lag)] for t in range(abs(lag), times)) for lag, v in weight.items())
    kept = 1.0 - sum(v * (1.0 - abs(lag) / times) for lag, v in weight.items()) / times
    df = times / sum(v**2 for v in weight.values())
    return total / kept * (student_t.ppf(0.975, df) / ndtri(0.975)) ** 2


def by_hand(p, y, w=None, *, log_ratio=None, unit=None, every_slope=False, in_time=False):
    """Return the numbers of one table whose forecasts differ, from sums over its cases."""
    p, y, weight = np.asarray(p, float), np.asarray(y, float), np.ones(len(p)) if w is None else np.asarray(w, float)
    inner = (p > 0) & (p < 1)
    q, happened, v = p[inner], y[inner], weight[inner]
    x, residual, variance = logit(q), v * (happened - q), v * q * (1 - q)
    own = variance
    if log_ratio is not None:
        b = np.exp(log_ratio)
        own = v**2 * q * (1 - q) * np.where(happened == 1, (1 - q) + q / b, (1 - q) * b + q)
    centre = own @ x / own.sum()
    sums = np.array([residual.sum(), residual @ (x - centre)])
    variances = np.array([own.sum(), own @ (x - centre) ** 2])
    observed, expected = weight @ y, weight @ p
    ratio = observed / expected
    excess, middle, rate = weight * (y - ratio * p), v @ x / v.sum(), v @ happened / v.sum()
    trend = v * (happened - rate) * (x - middle)
    factor, units = np.ones(2), (np.inf, np.inf)
    ratio_variance, trend_variance = (excess**2).sum(), (trend**2).sum()
    if unit is not None:
        unit = np.asarray(unit)

        def squares(part, codes):
            if in_time:
                return squares_in_time([part[codes == one].sum() for one in np.unique(unit)])
            return sum(part[codes == one].sum() ** 2 for one in np.unique(codes))

        factor = np.array([squares(residual, unit[inner]), squares(residual * (x - centre), unit[inner])]) / variances
        ratio_variance, trend_variance = squares(excess, unit), squares(trend, unit[inner])
        sizes = np.array([weight[unit == one].sum() for one in np.unique(unit)])
        units = ((sizes > 0).sum(), sizes.sum() ** 2 / (sizes**2).sum())
    mean_factor, inflated = max(factor.mean(), 1.0), max(factor[0], 1.0)
    information = variance.sum() ** 2 / own.sum() / mean_factor
    copies = own.sum() / variance.sum() * inflated
    rare = information < 20 or min(observed, weight.sum() - observed) / copies < 10
    if rare:
        third = (own * own / variance * (1 - 2 * q)).sum()
        skewness = third / variances[0] ** 1.5 * np.sqrt(inflated)
        z = np.sign(sums[0]) * max(abs(sums[0]) - copies / 2, 0.0) / np.sqrt(variances[0] * inflated)
        law = pearson3(skewness)
        p_value = min(2 * min(law.cdf(z), law.sf(z)), 1.0)
    else:
        uneven = 1.0 + (factor.var() / mean_factor**2 if mean_factor > 1 else 0.0)
        p_value = chi2.sf((sums**2 / variances).sum() / (mean_factor * uneven), 2.0 / uneven)
    slope_gap, slope_error = 0.0, np.inf
    if every_slope or (p_value <= 0.25 and not rare):
        slope, slope_error = fitted_line(q, happened, v)
        slope_gap, slope_error = slope - 1.0, slope_error * np.sqrt(max(factor[1], 1.0))
    return CalibrationNumbers(
        ratio,
        np.sqrt(ratio_variance) / observed,
        p_value,
        information,
        slope_gap,
        slope_error,
        trend.sum() / np.sqrt(trend_variance),
        weight @ (((p == 0) & (y == 1)) | ((p == 1) & (y == 0))),
        observed / copies,
        expected / copies,
        rare,
        *units,
    )


def assert_same(found, expected, **tolerance):
    for name in FIELDS:
        np.testing.assert_allclose(
            getattr(found, name), [getattr(one, name) for one in expected], err_msg=name, **{"rtol": 1e-6, **tolerance}
        )


@pytest.mark.parametrize("every_slope", [False, True])
def test_numbers_of_independent_cases_are_sums_over_them(every_slope):
    keyed, _ = stacked(SAMPLES[:4] if every_slope else SAMPLES)
    found = calibration_numbers(keyed, every_slope=every_slope)
    expected = [by_hand(p, y, every_slope=every_slope) for p, y in (SAMPLES[:4] if every_slope else SAMPLES)]
    assert_same(found, expected)
    assert len({one.is_rare for one in expected}) == (1 if every_slope else 2)
    if not every_slope:
        assert sum(np.isinf(one.slope_error) for one in expected) >= 3


def weighted_samples():
    rng = np.random.default_rng(8)
    return [(p, y, rng.gamma(2.0, 1.0, len(p)) * np.where(y, 0.6, 1.3)) for p, y in SAMPLES]


def test_numbers_of_weighted_cases_are_sums_of_their_weights():
    samples = weighted_samples()
    keyed, _ = stacked(samples)
    log_ratio = np.linspace(-0.9, 0.6, len(samples))
    found = calibration_numbers(keyed, log_ratio=log_ratio)
    expected = [by_hand(*one, log_ratio=b) for one, b in zip(samples, log_ratio, strict=True)]
    assert_same(found, expected)
    assert {bool(one.is_rare) for one in expected} == {False, True}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["cluster", "period"])
def test_numbers_of_correlated_cases_use_the_sums_of_their_clusters(kind, weighted):
    rng = np.random.default_rng(9)
    samples = weighted_samples() if weighted else SAMPLES
    keyed, entry = stacked(samples)
    p, y, *w = (np.concatenate(column) for column in zip(*samples, strict=True))
    order = np.argsort(y + rng.normal(0.0, 0.7, len(y)), kind="stable")  # Cases of one cluster resemble each other.
    unit = np.empty(len(y), dtype=int)
    unit[order] = np.arange(len(y)) // 12
    unit = rng.permutation(unit.max() + 1)[unit]  # Neighbours do not.
    cases = cases_of(p, y, *w, **{kind: unit})
    log_ratio = np.linspace(-0.9, 0.6, len(samples)) if weighted else None
    found = calibration_numbers(
        keyed, log_ratio=log_ratio, spreads_of=lambda given: spreads(cases, entry, len(samples), given)
    )
    expected = [
        by_hand(
            *one,
            log_ratio=None if log_ratio is None else log_ratio[place],
            unit=unit[entry == place],
            in_time=kind == "period",
        )
        for place, one in enumerate(samples)
    ]
    assert_same(found, expected)
    assert {bool(one.is_rare) for one in expected} == {False, True}


def test_clusters_with_less_spread_than_chance_change_neither_p_value_nor_information():
    p, y = sample(400, 10, power=0.9)
    order = np.argsort(y, kind="stable")
    unit = np.empty(400, dtype=int)
    unit[order] = np.arange(400) % 40  # Each cluster has about as many events as every other.
    keyed, entry = stacked([(p, y)])
    found = calibration_numbers(keyed, spreads_of=lambda given: spreads(cases_of(p, y, None, unit), entry, 1, given))
    alone = calibration_numbers(keyed)
    expected = by_hand(p, y, unit=unit)
    assert_same(found, [expected])
    np.testing.assert_allclose([found.p_value, found.information], [alone.p_value, alone.information])
    assert found.units[0] == 40


@pytest.mark.parametrize("unit", [None, np.arange(300) // 5], ids=["independent", "clusters"])
def test_forecasts_of_zero_and_one_count_in_the_ratio_only(unit):
    p, y = sample(300, 11, shift=0.4)
    p, y = p.copy(), y.copy()
    p[:20], y[:20] = 0.0, False
    p[20:50], y[20:50] = 1.0, True
    keyed, entry = stacked([(p, y)])
    cases = cases_of(p, y, None, unit)
    own = None if unit is None else lambda given: spreads(cases, entry, 1, given)
    found = calibration_numbers(keyed, spreads_of=own, every_slope=True)
    assert_same(found, [by_hand(p, y, unit=unit, every_slope=True)])
    assert found.refuted[0] == 0.0
    rest = calibration_numbers(stacked([(p[50:], y[50:])])[0], every_slope=True)
    for name in ("slope_gap",) if unit is not None else ("information", "slope_gap", "slope_sign", "p_value"):
        np.testing.assert_allclose(getattr(found, name), getattr(rest, name), err_msg=name)


def test_certain_forecasts_that_fail_are_counted_and_refute():
    p, y = sample(200, 12)
    p, y, w = p.copy(), y.copy(), np.full(200, 2.0)
    p[:3], y[:3] = 0.0, [True, False, True]
    p[3:9], y[3:9] = 1.0, [False, True, False, False, True, True]
    keyed, _ = stacked([(p, y, w), (p[9:], y[9:], w[9:])])
    found = calibration_numbers(keyed)
    assert found.refuted.tolist() == [10.0, 0.0]
    assert found.p_value[0] == 0.0
    assert found.p_value[1] > 0.0


def test_tables_of_certain_forecasts_only_have_no_evidence():
    samples = [(np.array([0.0, 0.0, 1.0]), np.array([False, False, True]), np.array([1.0, 2.0, 5.0]))]
    samples.append((np.array([0.0, 1.0]), np.array([True, True]), np.array([3.0, 1.0])))
    samples.append((np.array([0.0, 0.0]), np.array([True, False]), np.array([1.0, 1.0])))
    found = calibration_numbers(stacked(samples)[0], log_ratio=np.zeros(3), every_slope=True)
    assert found.p_value.tolist() == [1.0, 0.0, 0.0]
    assert found.information.tolist() == [0.0, 0.0, 0.0]
    assert found.slope_sign.tolist() == [0.0, 0.0, 0.0]
    assert found.refuted.tolist() == [0.0, 3.0, 1.0]
    assert found.ratio.tolist() == [1.0, 4.0, np.inf]
    # In units of the mean weight of a case: 30 / 8, 10 / 4 and 1.
    np.testing.assert_allclose(found.observed, [5.0 / 3.75, 4.0 / 2.5, 1.0])
    np.testing.assert_allclose(found.expected, [5.0 / 3.75, 1.0 / 2.5, 0.0])
    assert found.is_rare.all()
    assert np.isnan(found.slope).all()


@pytest.mark.parametrize("unit", [None, np.arange(400) // 2], ids=["independent", "clusters"])
def test_equal_forecasts_have_one_degree_of_freedom_and_no_slope(unit):
    p, y = np.full(400, 0.3), np.arange(400) < 140
    keyed, entry = stacked([(p, y)])
    cases = cases_of(p, y, None, unit)
    own = None if unit is None else lambda given: spreads(cases, entry, 1, given)
    found = calibration_numbers(keyed, spreads_of=own, every_slope=True)
    factor = 1.0
    if unit is not None:
        factor = sum(((y[unit == one]) - 0.3).sum() ** 2 for one in range(200)) / 84.0
        assert factor > 1.0
    assert found.p_value[0] == pytest.approx(chi2.sf(20.0**2 / 84.0 / factor, 1), rel=1e-9)
    assert found.information[0] == pytest.approx(84.0 / factor)
    assert (found.slope_gap[0], found.slope_error[0], found.slope_sign[0]) == (0.0, 0.0, 0.0)
    assert np.isnan(found.slope[0])
    assert not found.is_rare[0]


def test_forecasts_that_differ_by_rounding_are_equal():
    p, y = np.where(np.arange(400) < 200, 0.3, 0.3 + 1e-11), np.arange(400) % 200 < np.repeat([90, 50], 200)
    found = calibration_numbers(stacked([(p, y)])[0], every_slope=True)
    assert found.p_value[0] == pytest.approx(chi2.sf(20.0**2 / 84.0, 1), rel=1e-6)
    assert (found.slope_gap[0], found.slope_error[0], found.slope_sign[0]) == (0.0, 0.0, 0.0)


def test_a_variance_of_20_and_10_events_are_enough_for_the_test_of_a_line():
    half = (np.full(80, 0.5), np.arange(80) < 40)
    less = (np.full(79, 0.5), np.arange(79) < 40)
    ten = (np.where(np.arange(300) < 150, 0.1, 0.08), np.arange(300) % 30 == 0)
    nine = (ten[0], ten[1] & (np.arange(300) > 0))
    turned = [(1 - p, ~y) for p, y in (ten, nine)]
    found = calibration_numbers(stacked([half, less, ten, nine, *turned])[0])
    assert found.is_rare.tolist() == [False, True, False, True, False, True]
    assert found.information[0] == 20.0
    assert ten[1].sum() == 10


def test_the_tail_of_a_small_excess_is_one():
    """An excess of at most half an event is no evidence; with copies, of half as many as there are copies."""
    p = np.full(50, 0.1)
    for events, weight in ((5, 1.0), (5, 3.0)):
        samples = [(p, np.arange(50) < events, np.full(50, weight))]
        found = calibration_numbers(stacked(samples)[0], log_ratio=np.zeros(1))
        law = pearson3(0.8 / np.sqrt(4.5))
        assert found.p_value[0] == pytest.approx(2 * min(law.cdf(0.0), law.sf(0.0)), rel=1e-9)
    found = calibration_numbers(stacked([(p, np.arange(50) < 9, np.full(50, 3.0))])[0], log_ratio=np.zeros(1))
    z = (4.0 - 0.5) / np.sqrt(4.5)
    assert found.p_value[0] == pytest.approx(2 * pearson3(0.8 / np.sqrt(4.5)).sf(z), rel=1e-9)


def test_an_entry_without_cases_is_not_tested_and_leaves_the_others_alone():
    p, y = SAMPLES[1]
    cases = cases_of(p, y)
    keyed = KeyedTables.of_cases(cases, "m", Event("event"), np.ones(len(p), dtype=np.intp), 3)
    found, alone = calibration_numbers(keyed), calibration_numbers(stacked([(p, y)])[0])
    assert found.p_value.tolist() == [1.0, alone.p_value[0], 1.0]
    assert found.information.tolist() == [0.0, alone.information[0], 0.0]
    assert found.refuted.tolist() == [0.0, 0.0, 0.0]


def test_spreads_are_sums_of_squares_over_the_clusters_of_each_table():
    rng = np.random.default_rng(13)
    n, tables = 60, 3
    p, y, w = rng.random(n), rng.random(n) < 0.4, rng.gamma(2.0, 1.0, n)
    p[:6] = [0.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    entry, unit = rng.integers(0, tables, n), rng.integers(0, 9, n)
    w[unit == 4] = 0.0
    given = Centres(*rng.normal(0.5, 0.3, (4, tables)))
    found = spreads(cases_of(p, y, w, unit), entry, tables, given)
    for table in range(tables):
        sums = np.zeros((5, 9))
        for place in np.flatnonzero(entry == table):
            is_inner = 0.0 < p[place] < 1.0
            x = logit(p[place]) if is_inner else 0.0
            residual = w[place] * (float(y[place]) - p[place]) * is_inner
            sums[:, unit[place]] += [
                residual,
                residual * (x - given.log_odds[table]),
                w[place] * (float(y[place]) - given.ratio[table] * p[place]),
                is_inner * w[place] * (float(y[place]) - given.rate[table]) * (x - given.middle[table]),
                w[place],
            ]
        squares = (sums**2).sum(axis=1)
        np.testing.assert_allclose(found.sums[:, table], squares[:2])
        np.testing.assert_allclose(found.ratio[table], squares[2])
        np.testing.assert_allclose(found.sign[table], squares[3])
        expected = [np.count_nonzero(sums[4]), sums[4].sum() ** 2 / squares[4]]
        np.testing.assert_allclose(found.units[:, table], expected)


def test_times_come_before_clusters():
    p, y = sample(40, 14)
    given = Centres(*(np.array([one]) for one in (0.1, 0.9, 0.4, -0.2)))
    entry, unit = np.zeros(40, dtype=np.intp), np.arange(40) // 4
    both = spreads(cases_of(p, y, None, np.arange(40), unit), entry, 1, given)
    series = [(y - 0.9 * p)[unit == one].sum() for one in range(10)]
    np.testing.assert_allclose(both.ratio, squares_in_time(series))


def test_cases_count_once_without_weights():
    p, y = sample(40, 14)
    given = Centres(*(np.array([one]) for one in (0.1, 0.9, 0.4, -0.2)))
    entry, unit = np.zeros(40, dtype=np.intp), np.arange(40) // 7
    alone = spreads(cases_of(p, y, np.ones(40), unit), entry, 1, given)
    none = spreads(cases_of(p, y, None, unit), entry, 1, given)
    for one, other in zip(alone, none, strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_of_one_event_always_have_a_slope(weighted):
    p, y = SAMPLES[0]
    w = weighted_samples()[0][2] if weighted else None
    unit = np.arange(len(p)) // 3
    cases = cases_of(p, y, w, unit)
    table = ForecastTable.from_cases(cases)
    log_ratio = log_weight_ratio(table) if weighted else None
    assert_same(numbers_of_event(table, None), [by_hand(p, y, w, log_ratio=log_ratio, every_slope=True)])
    found = numbers_of_event(table, cases)
    assert_same(found, [by_hand(p, y, w, log_ratio=log_ratio, unit=unit, every_slope=True)])
    assert found.slope[0] == 1.0 + found.slope_gap[0]
