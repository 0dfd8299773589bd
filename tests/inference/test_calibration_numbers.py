"""The numbers of many calibration tests, compared with their formulas written out case by case."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import chdtri, expit, logit, ndtri
from scipy.stats import chi2, pearson3

import propriety as pr
from propriety.calibration.null_scores import log_weight_ratio
from propriety.inference import calibration_summary
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_measures import ObservedExpected
from propriety.inference.calibration_numbers import (
    CalibrationNumbers,
    Centres,
    calibration_numbers,
    numbers_of_event,
    outcomes_of,
    ratio_limits,
    spreads,
)
from propriety.inference.calibration_summary import calibration_of, jointly_tested
from propriety.inference.estimation import estimate_or_note
from propriety.inference.recalibration_gain import RecalibrationGain
from propriety.ledger.keyed_tables import KeyedTables
from propriety.tables.cases import Cases, Keys
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable

Z = float(ndtri(0.975))
FIELDS = ("ratio", "ratio_error", "p_value", "information", "slope_gap", "slope_error", "slope_sign", "refuted")
FIELDS += ("observed", "expected", "is_rare", "units", "worth")


def sample(n, seed, power=1.0, shift=0.0, mean=-0.5):
    """Return forecasts with different log-odds, and outcomes whose log-odds are a line of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(mean, 1.2, n)
    return expit(x), rng.random(n) < expit(power * x + shift)


def cases_of(p, y, weight=None, cluster=None, time=None):
    def keys(codes):
        return None if codes is None else Keys(tuple(range(int(max(codes)) + 1)), np.asarray(codes, dtype=np.intp))

    weight = None if weight is None else np.asarray(weight, dtype=float)
    forecasts = {"m": np.asarray(p, dtype=float)}
    return Cases(
        outcome=np.asarray(y, dtype=bool), forecasts=forecasts, weight=weight, cluster=keys(cluster), time=keys(time)
    )


def stacked(samples):
    """Return the tables of some samples, each (p, y) or (p, y, weight), and the entry of each case."""
    entry = np.repeat(np.arange(len(samples)), [len(one[0]) for one in samples])
    columns = [np.concatenate(column) for column in zip(*samples, strict=True)]
    return KeyedTables.of_cases(cases_of(*columns), "m", Event("event"), entry, len(samples)), entry


def fitted_line(p, y, w):
    """Return the slope of a logistic regression on the log-odds, and its error, by a minimiser of its own."""
    x = logit(p)

    def loss(line):
        eta = line[0] + line[1] * x
        return float(w @ (np.logaddexp(0.0, eta) - y * eta)), np.array(
            [w @ (expit(eta) - y), w @ ((expit(eta) - y) * x)]
        )

    found = minimize(loss, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-9})
    rate = expit(found.x[0] + found.x[1] * x)
    design = np.stack([np.ones(len(x)), x], axis=1)
    bread = np.linalg.inv((design * (w * rate * (1 - rate))[:, None]).T @ design)
    meat = (design * (w**2 * rate * (1 - rate))[:, None]).T @ design
    return found.x[1], np.sqrt((bread @ meat @ bread)[1, 1])


def by_hand(p, y, w=None, *, log_ratio=None, unit=None, every_slope=False):
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


SAMPLES = [
    sample(300, 1),  # Calibrated.
    sample(300, 2, power=0.5),  # Too extreme.
    sample(300, 3, shift=0.8),  # Too low.
    sample(300, 4, power=-1.0),  # Reversed.
    sample(200, 5, mean=-4.5),  # Few events.
    sample(120, 6, mean=-2.5, shift=1.0),  # Few but too many.
    sample(300, 7, mean=3.5, shift=-1.0),  # Few non-events, and many in one direction.
    (np.array([0.02, 0.05, 0.9, 0.01]), np.array([False, True, True, False])),  # A variance below 1.
]


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
@pytest.mark.parametrize("kind", ["cluster", "time"])
def test_numbers_of_correlated_cases_use_the_sums_of_their_clusters(kind, weighted):
    rng = np.random.default_rng(9)
    samples = weighted_samples() if weighted else SAMPLES
    keyed, entry = stacked(samples)
    p, y, *w = (np.concatenate(column) for column in zip(*samples, strict=True))
    order = np.argsort(y + rng.normal(0.0, 0.7, len(y)), kind="stable")  # Cases of one cluster resemble each other.
    unit = np.empty(len(y), dtype=int)
    unit[order] = np.arange(len(y)) // 12
    cases = cases_of(p, y, *w, **{kind: unit})
    log_ratio = np.linspace(-0.9, 0.6, len(samples)) if weighted else None
    found = calibration_numbers(
        keyed, log_ratio=log_ratio, spreads_of=lambda given: spreads(cases, entry, len(samples), given)
    )
    expected = [
        by_hand(*one, log_ratio=None if log_ratio is None else log_ratio[place], unit=unit[entry == place])
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


def test_times_come_before_clusters_and_cases_count_once_without_weights():
    p, y = sample(40, 14)
    given = Centres(*(np.array([one]) for one in (0.1, 0.9, 0.4, -0.2)))
    entry, unit = np.zeros(40, dtype=np.intp), np.arange(40) // 7
    alone = spreads(cases_of(p, y, np.ones(40), unit), entry, 1, given)
    both = spreads(cases_of(p, y, None, np.arange(40), unit), entry, 1, given)
    for one, other in zip(alone, both, strict=True):
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


def numbers(**columns):
    """Return numbers of a table for each element, by default well calibrated, with a slope of 1."""
    size = max((len(np.atleast_1d(one)) for one in columns.values()), default=1)
    plain = {"ratio": 1.0, "ratio_error": 0.01, "p_value": 0.5, "information": 100.0, "slope_gap": 0.0}
    plain |= {"slope_error": 0.01, "slope_sign": 5.0, "refuted": 0.0, "observed": 100.0, "expected": 100.0}
    plain |= {"is_rare": False, "units": np.inf, "worth": np.inf}
    return CalibrationNumbers(**{name: np.resize(columns.get(name, plain[name]), size) for name in plain})


def test_limits_of_the_ratio_are_normal_on_the_log_scale():
    low, high = ratio_limits(numbers(ratio=[1.2, 0.7], ratio_error=[0.1, 0.2], observed=[10.0, 40.0]), 0.95)
    np.testing.assert_allclose(low, [1.2 * np.exp(-0.1 * Z), 0.7 * np.exp(-0.2 * Z)])
    np.testing.assert_allclose(high, [1.2 * np.exp(0.1 * Z), 0.7 * np.exp(0.2 * Z)])
    ninety, wide = ratio_limits(numbers(ratio_error=0.1), 0.9), float(ndtri(0.95))
    np.testing.assert_allclose(ninety, np.exp([[-0.1 * wide], [0.1 * wide]]))


def test_limits_of_few_events_are_those_of_a_poisson_mean():
    found = numbers(observed=[4.0, 9.5, 0.0], expected=[8.0, 2.0, 3.0], ratio=[0.5, 4.75, 0.0])
    low, high = ratio_limits(found, 0.9)
    np.testing.assert_allclose(low[:2], [chi2.ppf(0.05, 8.0) / 16.0, chi2.ppf(0.05, 19.0) / 4.0])
    np.testing.assert_allclose(high, [chi2.ppf(0.95, 10.0) / 16.0, chi2.ppf(0.95, 21.0) / 4.0, -np.log(0.05) / 3.0])
    assert low[2] == 0.0
    assert chdtri(8.0, 0.95) == pytest.approx(chi2.ppf(0.05, 8.0))


def test_the_ratio_has_no_limits_if_no_event_was_expected():
    low, high = ratio_limits(numbers(observed=[0.0, 3.0, 3.0], expected=[0.0, 0.0, 0.5]), 0.95)
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, True, False]


def outcomes(found, *, low=1.0, high=1.0, p_adjusted=0.01, level=0.95):
    size = len(found.ratio)
    names, ways = outcomes_of(found, *(np.resize(one, size) for one in (low, high, p_adjusted)), level)
    return names.tolist(), ways.tolist()


def test_an_error_is_immaterial_only_if_all_limits_are_strictly_within_the_margins():
    ends = {"low": [0.96, 0.95, 0.96, 0.94], "high": [1.04, 1.04, 1.05, 1.04]}
    assert outcomes(numbers(), **{name: one[:1] for name, one in ends.items()})[0] == ["immaterial"]
    names, _ = outcomes(numbers(ratio=[1.0] * 4), **ends)
    assert names == ["immaterial", "miscalibrated", "miscalibrated", "miscalibrated"]
    gaps = {"slope_gap": [0.09, 0.1, -0.09, -0.1, 0.05, -0.05], "slope_error": [0.0, 0.0, 0.0, 0.0, 0.02, 0.03]}
    assert outcomes(numbers(**gaps))[0] == [
        "immaterial",
        "miscalibrated",
        "immaterial",
        "miscalibrated",
        "immaterial",
        "miscalibrated",
    ]
    assert outcomes(numbers(refuted=[0.0, 0.5, 1.0]))[0] == ["immaterial", "miscalibrated", "miscalibrated"]
    assert outcomes(numbers(slope_gap=[0.05], slope_error=[0.03]), level=0.5)[0] == ["immaterial"]


def test_a_p_value_at_the_level_is_an_error_and_little_information_is_too_little():
    limit = 1.0 - 0.95
    names, ways = outcomes(numbers(information=[100.0, 100.0, 20.0, 19.9]), p_adjusted=[limit, 0.06, 0.06, 0.06])
    assert names == ["immaterial", "consistent", "consistent", "too few events"]
    assert ways == [("together",), (), (), ()]
    assert outcomes(numbers(), p_adjusted=np.nan)[0] == ["consistent"]


@pytest.mark.parametrize(
    ("columns", "limits", "expected"),
    [
        ({}, {}, ("together",)),
        ({}, {"low": 0.8, "high": 0.9}, ("too high",)),
        ({}, {"low": 1.1, "high": 1.2}, ("too low",)),
        ({"slope_gap": -0.5}, {}, ("too extreme",)),
        ({"slope_gap": 0.5}, {}, ("too timid",)),
        ({"slope_gap": -0.5}, {"low": 1.1, "high": 1.2}, ("too low", "too extreme")),
        ({"slope_gap": 0.5}, {"low": 0.8, "high": 0.9}, ("too high", "too timid")),
        ({"slope_gap": -Z * 0.01}, {}, ("together",)),
        ({"slope_gap": Z * 0.01}, {}, ("together",)),
        ({"slope_gap": -1.5, "slope_sign": -3.0}, {}, ("reversed",)),
        ({"slope_gap": -1.5, "slope_sign": -Z}, {}, ("too extreme",)),
        ({"slope_gap": -1.5, "slope_sign": -1.0}, {}, ("too extreme",)),
        ({"slope_gap": -1.5, "slope_sign": -3.0, "is_rare": True, "ratio": 1.2}, {}, ("too low",)),
        ({"slope_gap": -1.5, "is_rare": True, "ratio": 0.8}, {}, ("too high",)),
        ({"slope_gap": 1.5, "is_rare": True, "ratio": 0.8}, {}, ("too high",)),
        ({"slope_gap": 1.5, "is_rare": True}, {}, ("together",)),
        ({"slope_error": 0.0, "ratio": 0.8}, {"low": 0.7, "high": 1.1}, ("too high",)),
        ({"slope_error": 0.0, "ratio": 1.2}, {"low": 0.7, "high": 1.4}, ("too low",)),
        ({"slope_error": 0.0, "ratio": 1.2, "refuted": 1.0}, {"low": 0.7, "high": 1.4}, ("refuted",)),
        ({"is_rare": True, "ratio": 0.8, "refuted": 0.5}, {"low": 0.7, "high": 1.4}, ("refuted",)),
        ({"ratio": 0.8}, {"low": 0.7, "high": 1.4}, ("together",)),
        ({"ratio": 1.2}, {"low": 0.7, "high": 1.4}, ("together",)),
        ({"refuted": 2.0, "slope_gap": -0.5}, {"low": 1.1, "high": 1.2}, ("refuted", "too low", "too extreme")),
    ],
)
def test_directions_follow_from_limits_of_ratio_and_slope(columns, limits, expected):
    _, ways = outcomes(numbers(**columns), **limits)
    assert ways == [expected]
    _, none = outcomes(numbers(**columns), **limits, p_adjusted=0.5)
    assert none == [()]


def estimated(value, low=np.nan, high=np.nan):
    return SimpleNamespace(value=value, low=low, high=high, note="")


def summarised(ratio=(1.0, 0.96, 1.04), slope=(1.0, 0.95, 1.05), cost=(0.0, 0.0, 0.001), **parts):
    plain = {"observed_expected": estimated(*ratio), "slope": estimated(*slope), "miscalibration": estimated(*cost)}
    return SimpleNamespace(**(plain | {"level": 0.95, "uncertainty": 0.2, "gain": None} | parts))


def shapes(*found):
    """Return a test in which these views reject, at a level of 5%."""

    def views_against(level):
        assert level == 1.0 - 0.95
        return tuple(view in found for view in ("line", "shape", "fine"))

    return SimpleNamespace(views_against=views_against, n_refuted=0.0, line_df=2.0)


NOTHING = shapes()


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, ["together"]),
        ({"ratio": (0.8, 0.7, 0.99)}, ["too high"]),
        ({"ratio": (0.8, 0.7, 1.0)}, ["together"]),
        ({"ratio": (1.2, 1.01, 1.3)}, ["too low"]),
        ({"ratio": (1.2, 1.0, 1.3)}, ["together"]),
        ({"ratio": (0.8,)}, ["too high"]),
        ({"ratio": (1.2,)}, ["too low"]),
        ({"slope": (-0.5, -0.8, -0.1)}, ["reversed"]),
        ({"slope": (-0.5, -0.8, 0.0)}, ["too extreme"]),
        ({"slope": (0.8, 0.7, 0.99)}, ["too extreme"]),
        ({"slope": (0.8, 0.7, 1.0)}, ["together"]),
        ({"slope": (1.2, 1.01, 1.4)}, ["too timid"]),
        ({"slope": (1.2, 1.0, 1.4)}, ["together"]),
        ({"ratio": (0.8, 0.7, 0.9), "slope": (1.2, 1.1, 1.4)}, ["too high", "too timid"]),
        ({"slope": (np.nan,)}, ["together"]),
    ],
)
def test_directions_of_a_summary_follow_from_its_intervals(parts, expected, monkeypatch):
    asked = []

    def again(*given):
        asked.append(given)
        return NOTHING

    monkeypatch.setattr(calibration_summary, "recalibrated_test_of", again)
    assert calibration_summary._directions(summarised(**parts), NOTHING, "inside", "m", "drawing") == expected
    assert asked == ([] if expected == ["together"] else [("inside", "m", "drawing")])


def test_a_shape_is_what_remains_after_recalibration(monkeypatch):
    def ways(found, test, again=NOTHING):
        monkeypatch.setattr(calibration_summary, "recalibrated_test_of", lambda *_: again)
        return calibration_summary._directions(found, test, None, "m", None)

    high, shape, fine = summarised(ratio=(0.8, 0.7, 0.9)), shapes("shape"), shapes("fine")
    assert ways(summarised(), shape) == ["other shape"]
    assert ways(summarised(), fine) == ["other shape"]
    assert ways(summarised(), shapes("line")) == ["together"]
    assert ways(high, shape) == ["too high"]
    assert ways(high, NOTHING, fine) == ["too high", "other shape"]
    assert ways(high, shape, None) == ["too high"]
    refuted = SimpleNamespace(**vars(NOTHING) | {"n_refuted": 0.5})
    assert ways(summarised(), refuted) == ["refuted"]
    equal = SimpleNamespace(**vars(NOTHING) | {"line_df": 1.0})
    unsloped = {"slope": (np.nan,)}
    assert ways(summarised(ratio=(0.9, 0.8, 1.1), **unsloped), equal) == ["too high"]
    assert ways(summarised(ratio=(1.0, 0.8, 1.1), **unsloped), equal) == ["too low"]
    assert ways(summarised(), equal) == ["together"]


@pytest.mark.parametrize(
    ("parts", "is_immaterial"),
    [
        ({}, True),
        ({"ratio": (1.0, 0.95, 1.04)}, False),
        ({"ratio": (1.0, 0.96, 1.05)}, False),
        ({"slope": (1.0, 0.9, 1.05)}, False),
        ({"slope": (1.0, 0.95, 1.1)}, False),
        ({"slope": (np.nan,)}, True),
        ({"ratio": (np.nan,)}, False),
        ({"cost": (0.0, 0.0, 0.0011)}, False),
        ({"cost": (np.nan,)}, False),
        ({"gain": (0.001, 0.2)}, True),
        ({"gain": (0.0011, 0.2)}, False),
        ({"gain": (0.001, 0.2), "cost": (0.01, 0.001, 0.1)}, True),
        ({"gain": (0.001, 0.2), "cost": (0.01, 0.0011, 0.1)}, False),
        ({"gain": (0.001, 0.2), "cost": (np.nan,)}, True),
    ],
)
def test_a_summary_is_immaterial_only_within_all_margins(parts, is_immaterial):
    if "gain" in parts:
        high, uncertainty = parts["gain"]
        parts = parts | {"gain": RecalibrationGain("Brier score", 0.1, 0.0, 0.0, high, uncertainty)}
    assert calibration_summary._immaterial(summarised(**parts), NOTHING) is is_immaterial
    refuted = SimpleNamespace(**vars(NOTHING) | {"n_refuted": 0.5})
    assert calibration_summary._immaterial(summarised(**parts), refuted) is False


def noted(*, test=None, weighted=False, prevalence=None, censoring=None, notes=("", ""), intercept=0.0, slope=1.0):
    y, p = np.arange(8) % 2 == 0, np.array([0.0, 0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0])
    table = ForecastTable.from_predictions(y, p, sample_weight=np.where(y, 1.0, 3.0) if weighted else None)
    ledger = SimpleNamespace(prevalence=prevalence, censoring=censoring, where_cases_are="the cases")
    numbers = {"intercept": estimated(intercept, 0.1, 0.2), "slope": estimated(slope, 0.1, 0.2)}
    for one, note in zip(numbers.values(), notes, strict=True):
        one.note = note
    return calibration_summary._note(ledger, table, test, numbers)


def timed(**parts):
    return SimpleNamespace(**({"n_certain": 0.0, "worth": np.inf, "units": 8} | parts))


def test_caveats_of_a_summary_are_said_once_each():
    assert noted() == "a test needs the cases"
    assert noted(test=timed()) == ""
    assert noted(test=timed(), notes=("few", "few")) == "few"
    assert noted(test=timed(), notes=("few", "narrow")) == "few; narrow"
    certain = "37.5% of the cases have a forecast of exactly 0 or 1"
    assert noted(test=timed(n_certain=3.0)) == f"{certain}; intercept and slope leave these out"
    assert noted(test=timed(n_certain=3.0), slope=np.nan) == f"{certain}; the intercept leaves these out"
    assert noted(test=timed(n_certain=3.0), slope=np.nan, intercept=np.nan) == certain
    by_outcome = (
        "all events have one weight and all non-events another: if a study fixed the numbers of both, these intervals "
        "are too wide; `at_prevalence` gives the right ones"
    )
    assert noted(test=timed(), weighted=True) == by_outcome
    assert noted(test=timed(), weighted=True, prevalence=0.1) == ""
    assert noted(test=timed(n_certain=2.0), weighted=True, prevalence=0.1) == (
        "12.5% of the weight has a forecast of exactly 0 or 1; intercept and slope leave these out"
    )
    often = "the test may reject too often"
    assert noted(test=timed(worth=24.9, units=300)) == (
        f"300 correlated times are equivalent to about 25 independent ones: {often}"
    )
    assert noted(test=timed(worth=0.2, units=300)) == (
        f"300 correlated times are equivalent to about 1 independent ones: {often}"
    )
    unknown = f"times cannot show whether neighbours depend on each other: if they do, {often}"
    assert noted(test=timed(worth=25.0, units=59)) == f"59 {unknown}"
    assert noted(test=timed(worth=25.0, units=60)) == ""
    assert noted(test=timed(units=30)) == ""
    followed = SimpleNamespace(is_estimated=True, has_groups=False, followed=7, horizon=5.0, dependence={})
    based = "based on 7 cases followed up until 5"
    narrow = f"{based}: the interval may be too narrow"
    assert noted(test=timed(), censoring=followed, notes=(f"few; {narrow}", narrow)) == (
        f"{based}: intervals may be too narrow and {often}; few"
    )


@pytest.mark.parametrize(
    ("y", "weight", "expected"),
    [
        ([1, 1, 0, 0], None, False),
        ([1, 1, 0, 0], [1.0, 1.0, 2.0, 2.0], True),
        ([1, 1, 0, 0], [2.0, 2.0, 2.0, 2.0], False),
        ([1, 1, 0, 0], [1.0, 1.5, 2.0, 2.0], False),
        ([1, 1, 0, 0], [1.0, 1.0, 2.0, 2.5], False),
        ([1, 0, 0, 0], [1.0, 2.0, 2.0, 2.0], True),
        ([1, 0, 0, 0], [2.0, 2.0, 2.0, 2.0], False),
        ([1, 1, 1, 1], [2.0, 2.0, 2.0, 2.0], False),
        ([0, 0, 0, 0], [2.0, 2.0, 2.0, 2.0], False),
    ],
)
def test_weights_by_outcome_are_recognised(y, weight, expected):
    table = ForecastTable.from_predictions(y, [0.2, 0.4, 0.4, 0.7], sample_weight=weight)
    assert calibration_summary._weighted_by_outcome(table) is expected


def test_a_summary_of_clusters_without_cases_is_not_tested_and_has_no_views():
    p, y = SAMPLES[0]
    first, second = (pr.condense(y[half], p[half], cluster=np.arange(150)) for half in (slice(150), slice(150, 300)))
    found = pr.calibration_summary(first + second, seed=1, n_resamples=20)
    fields = found.to_dict()
    assert (found.outcome, found.test, fields["directions"]) == ("not tested", None, "")
    for name in ("line_p_value", "shape_p_value", "fine_p_value", "n_certain", "n_refuted"):
        assert np.isnan(fields[name])
    assert fields["slope"] == found.slope.value
    assert fields["observed_expected_low"] is not None


def test_a_summary_holds_the_numbers_of_its_table():
    p, y = SAMPLES[2]
    found = pr.calibration_summary(y, p, level=0.9, seed=1, n_resamples=20)
    fields = found.to_dict()
    assert (found.outcome, found.n, found.n_events, found.dropped) == ("miscalibrated", 300, int(y.sum()), 0)
    assert (found.observed, found.expected) == (pytest.approx(y.mean()), pytest.approx(p.mean()))
    assert found.brier == pytest.approx(np.mean((p - y) ** 2))
    assert found.uncertainty == pytest.approx(y.mean() * (1 - y.mean()))
    assert found.p_value == found.test.p_value
    assert fields["line_p_value"] == found.test.line_p_value
    assert fields["intercept_high"] == found.intercept.high
    assert fields["directions"] == ", ".join(found.directions)
    assert fields["ici"] == found.smooth.ici
    assert fields["e90_low"] == found.smooth.e90_low
    slope, _ = fitted_line(p, y.astype(float), np.ones(300))
    assert found.slope.value == pytest.approx(slope, rel=1e-6)


def test_summaries_tested_jointly_are_cleared_by_their_adjusted_p_values():
    p, y = SAMPLES[0]
    found = pr.calibration_summary(y, p, seed=1, n_resamples=20)
    wrong = [replace(found, p_value=value, outcome="miscalibrated", directions=("too low",)) for value in (0.02, 0.03)]
    enough = replace(wrong[0].test, information=100.0)
    wrong = [replace(one, test=enough) for one in wrong]
    alone, together = jointly_tested(wrong[:1]), jointly_tested([*wrong, replace(found, p_value=0.5)])
    assert [(one.outcome, one.directions, p_value) for one, p_value in alone] == [("miscalibrated", ("too low",), 0.02)]
    assert [p_value for _, p_value in together] == pytest.approx([0.06, 0.06, 0.5])
    assert [one.outcome for one, _ in together] == ["consistent", "consistent", found.outcome]
    assert [one.directions for one, _ in together] == [(), (), ()]
    untested = replace(found, p_value=0.5, test=None, outcome="not tested")
    assert jointly_tested([untested])[0][0].outcome == "not tested"
    limit = replace(wrong[0], p_value=1.0 - 0.95)
    assert jointly_tested([limit])[0][0].outcome == "miscalibrated"


@pytest.mark.parametrize("options", [{}, {"cluster": np.arange(300) // 2}], ids=["independent", "clusters"])
def test_the_summary_of_one_of_several_models_is_its_own(options):
    (p, y), (other, _) = SAMPLES[1], SAMPLES[2]
    drawing = Drawing(n_resamples=20, seed=1)
    known = estimate_or_note(pr.condense(y, p), "forecast", ObservedExpected(), level=0.5, drawing=drawing)
    both = calibration_of(
        pr.condense(y, {"a": other, "b": p}, **options),
        "b",
        level=0.95,
        drawing=drawing,
        known={"observed_expected": known},
        gain=lambda: RecalibrationGain("Brier score", 0.2, 0.1, 0.05, 0.15, 0.25),
    )
    alone = pr.calibration_summary(y, p, seed=1, n_resamples=20, **options)
    assert (both.outcome, both.directions) == ("miscalibrated", alone.directions)
    assert both.p_value == alone.p_value
    assert both.observed_expected is known
    assert both.gain.low == 0.05
    for name in ("intercept", "slope", "miscalibration"):
        one, single = getattr(both, name), getattr(alone, name)
        assert (one.value, one.low, one.high) == (single.value, single.low, single.high)
    assert both.smooth.ici == alone.smooth.ici
    assert both.smooth.ici_low == alone.smooth.ici_low
