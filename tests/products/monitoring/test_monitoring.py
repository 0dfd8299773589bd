"""Monitoring: no way of stopping beats the null, by enumeration; bounds, alarms, streams in parts, and refusals."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import propriety as pr
from propriety.errors import ImproperRuleError, InputTypeError, InputValueError
from propriety.products.monitoring import betting
from propriety.products.monitoring.betting import BETS, LOG_SHARE, RECALIBRATIONS
from propriety.products.monitoring.calibration_stream import monitor_calibration
from propriety.products.monitoring.comparison_stream import monitor_comparison
from propriety.rules.rule import BinaryRule, Properties
from propriety.tables.forecast_table import ForecastTable

ARRAYS = ("log_e_value", "log_e_better", "p_value", "difference", "low", "high")
DEPTH = 6

inner = st.floats(0.01, 0.99)
streams = st.lists(st.tuples(st.booleans(), inner, inner), min_size=1, max_size=12)


def columns(cases):
    return tuple(np.array(column) for column in zip(*cases, strict=True))


def random_stream(n, seed=1):
    rng = np.random.default_rng(seed)
    p, q = rng.random((2, n))
    return rng.random(n) < p, p, q


# --- Trees: `case(history)` gives the forecasts of the next case and the true rate of its event. ---


def tree(case, monitor, depth=DEPTH):
    """Return, for every history, its probability and the result of monitoring it."""
    found = {}
    for outcomes in itertools.product((0, 1), repeat=depth):
        steps = [case(outcomes[:t]) for t in range(depth)]
        chance = math.prod(rate if y else 1 - rate for y, (*_, rate) in zip(outcomes, steps, strict=True))
        if chance > 0:
            *forecasts, _ = zip(*steps, strict=True)
            found[outcomes] = chance, monitor(outcomes, *map(list, forecasts))
    return found


def best_stopping(case, e_of, history=(), depth=DEPTH):
    """Return the largest expected e-value of any stopping rule, by dynamic programming; stopping at once gives 1."""
    now = e_of(history) if history else 1.0
    if len(history) == depth:
        return now
    *_, rate = case(history)
    follow = [
        chance * best_stopping(case, e_of, (*history, y), depth) for y, chance in ((1, rate), (0, 1 - rate)) if chance
    ]
    return max(now, sum(follow))


def e_values(found):
    e = {outcomes[: t + 1]: result.e_value[t] for outcomes, (_, result) in found.items() for t in range(len(outcomes))}
    return e.__getitem__


def means_of_tree(found, t):
    return sum(chance * result.e_value[t] for chance, result in found.values())


def brier_mean(p, r, rate):
    return rate * ((1 - p) ** 2 - (1 - r) ** 2) + (1 - rate) * (p**2 - r**2)


def equal(history):
    """Brier loses as much with either forecast if the rate is halfway between them; forecasts depend on the past."""
    p, r = 0.2 + 0.1 * (sum(history) % 5), 0.9 - 0.1 * len(history)
    return p, r, (p + r) / 2


def never_worse(history):
    p, r, middle = equal(history)
    return p, r, (p + 2 * middle) / 3


def better_then_worse(history):
    """Worse in every second case, given the past, but by less than it was better before."""
    if len(history) % 2 == 0:
        return 0.3 + 0.1 * sum(history) / DEPTH, 0.9, 0.3
    return 0.9, 0.6, 0.6


def worse(history):
    return 0.2, 0.8, 0.7


@pytest.mark.parametrize("case", [equal, never_worse, better_then_worse])
def test_no_stopping_makes_evidence_against_a_model_that_is_no_worse(case):
    for outcomes in itertools.product((0, 1), repeat=DEPTH):
        assert np.all(np.cumsum([brier_mean(*case(outcomes[:t])) for t in range(DEPTH)]) <= 1e-12)
    found = tree(case, monitor_comparison)
    assert best_stopping(case, e_values(found)) <= 1 + 1e-12


def test_evidence_grows_if_the_model_is_worse():
    found = tree(worse, monitor_comparison)
    assert best_stopping(worse, e_values(found)) > 1.5
    assert means_of_tree(found, DEPTH - 1) > 1.5


@settings(max_examples=30)
@given(st.lists(st.tuples(inner, inner), min_size=4, max_size=4))
def test_evidence_is_a_martingale_between_models_that_are_equal(pairs):
    def case(history):
        p, r = pairs[len(history)]
        return p, r, (p + r) / 2

    found = tree(case, monitor_comparison, depth=4)
    for t in range(4):
        assert means_of_tree(found, t) == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("case", [equal, never_worse, better_then_worse, worse])
def test_bounds_hold_at_all_times_as_often_as_they_say(case, level):
    found = tree(case, lambda y, p, r: monitor_comparison(y, p, r, level=level), depth=8)
    missed = 0.0
    for outcomes, (chance, result) in found.items():
        means = np.cumsum([brier_mean(*case(outcomes[:t])) for t in range(8)]) / np.arange(1, 9)
        missed += chance * np.any((means < result.low) | (means > result.high))
    assert missed <= 1 - level


def calibrated(history):
    p = (0.005, 0.3, 0.62, 0.95)[(len(history) + sum(history)) % 4]
    return p, p


def sometimes_certain(history):
    p = (0.4, 0.0, 0.7, 1.0)[(len(history) + sum(history)) % 4]
    return p, p


def too_low(history):
    return 0.1 + 0.1 * (sum(history) % 2), 0.6


@pytest.mark.parametrize("case", [calibrated, sometimes_certain])
def test_no_stopping_makes_evidence_against_calibrated_forecasts(case):
    found = tree(case, monitor_calibration)
    for t in range(DEPTH):
        assert means_of_tree(found, t) == pytest.approx(1, abs=1e-12)
    assert best_stopping(case, e_values(found)) <= 1 + 1e-12


def test_evidence_grows_if_forecasts_are_not_calibrated():
    assert means_of_tree(tree(too_low, monitor_calibration), DEPTH - 1) > 2


# --- Formulas, term by term. ---


@given(streams)
def test_the_capital_of_bets_and_its_bound(cases):
    y, p, r = columns(cases)
    result = monitor_comparison(y, p, r, level=0.9)
    losses = (p - y) ** 2 - (r - y) ** 2
    for t in range(1, len(y) + 1):
        capital = np.exp(LOG_SHARE) * [math.prod(1 + b * d for d in losses[:t]) for b in BETS]
        assert result.e_value[t - 1] == pytest.approx(sum(capital), rel=1e-12)
        if result.low[t - 1] > -1:
            discounted = capital * np.exp(-BETS * t * result.low[t - 1])
            assert discounted.sum() == pytest.approx(20, rel=1e-9)


@given(st.lists(st.tuples(st.booleans(), inner), min_size=1, max_size=12))
def test_the_capital_on_lines_and_bins(cases):
    y, p = columns(cases)
    halves = []
    for alternatives in RECALIBRATIONS:
        place = np.searchsorted(alternatives.edges, p, side="right")
        capital = 1.0
        for own in np.unique(place):
            rows = np.flatnonzero(place == own)
            total = 0.0
            for a, b, share in zip(alternatives.shift, alternatives.slope, alternatives.share, strict=True):
                odds = math.e**a * (p[rows] / (1 - p[rows])) ** b
                q = odds / (1 + odds)
                total += share * np.prod(np.where(y[rows], q / p[rows], (1 - q) / (1 - p[rows])))
            capital *= total
        halves.append(capital)
    assert monitor_calibration(y, p).e_value[-1] == pytest.approx(sum(halves) / 2, rel=1e-10)


def test_shares_are_of_one_unit():
    assert np.exp(LOG_SHARE).sum() == pytest.approx(1, abs=1e-14)
    for alternatives in RECALIBRATIONS:
        assert alternatives.share.sum() == pytest.approx(1, abs=1e-14)
    assert np.all((BETS > 0) & (BETS < 1))


# --- What follows from the e-values. ---


@given(streams, st.floats(0.05, 0.95))
def test_alarm_p_value_and_bounds_tell_the_same(cases, level):
    y, p, r = columns(cases)
    result = monitor_comparison(np.tile(y, 20), np.tile(p, 20), np.tile(r, 20), level=level)
    reached = np.flatnonzero(result.low > 0.0)
    assert result.alarm == (reached[0] + 1 if len(reached) else None)
    assert (result.p_value[-1] <= 1 - level + 1e-12) == (result.alarm is not None)
    np.testing.assert_allclose(result.p_value, np.minimum(1, 2 / np.maximum.accumulate(result.e_value)), rtol=1e-12)
    assert result.threshold == pytest.approx(2 / (1 - level))
    margin = np.abs(result.log_e_value - math.log(result.threshold)) > 1e-9
    assert np.array_equal((result.low > 0)[margin], (result.log_e_value > math.log(result.threshold))[margin])
    assert np.all((result.low <= result.difference) & (result.difference <= result.high))


@given(streams)
def test_swapping_the_models_turns_everything_around(cases):
    y, p, r = columns(cases)
    one, other = monitor_comparison(y, p, r), monitor_comparison(y, r, p)
    np.testing.assert_allclose(one.log_e_value, other.log_e_better, atol=1e-12)
    np.testing.assert_allclose(one.difference, -other.difference, atol=1e-12)
    np.testing.assert_allclose(one.low, -other.high, atol=1e-9)
    assert one.alarm == other.better_at


def test_differences_are_golden(golden):
    inputs, expected = golden("brier_multi_sum")
    result = monitor_comparison(inputs["y"], inputs["P"], np.full(4, 0.25), rule=pr.Brier(scale="sum"))
    cases = np.arange(1, 7)
    np.testing.assert_allclose(result.difference, np.cumsum(expected["per_sample"]) / cases - 0.75, atol=1e-12)
    inputs, expected = golden("brier_binary")
    result = monitor_comparison(inputs["y"], inputs["s"], 0.5)
    assert result.difference[-1] == pytest.approx(expected - 0.25, abs=1e-12)


@pytest.mark.parametrize("rule", [pr.RankedProbability(), pr.Spherical(), pr.Misclassification()], ids=repr)
def test_the_difference_is_that_of_the_mean_scores(rule):
    rows = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5], [0.05, 0.15, 0.8]])
    y, rates = [0, 1, 0, 2], [0.2, 0.3, 0.5]
    result = monitor_comparison(y, rows, rates, rule=rule)
    scores = [pr.mean_score(y, p, rule=rule) for p in (rows, np.tile(rates, (4, 1)))]
    assert result.difference[-1] == pytest.approx(scores[0] - scores[1], abs=1e-12)


def test_losses_count_as_shares_of_their_range():
    y, p, q = random_stream(200)
    rows = (np.column_stack([1 - p, p, 0 * p]), np.column_stack([1 - q, q, 0 * q]))
    sum_form = monitor_comparison(y.astype(int), *rows, rule=pr.Brier(scale="sum"))
    one = monitor_comparison(y, p, q)
    np.testing.assert_allclose(sum_form.log_e_value, one.log_e_value, atol=1e-10)
    np.testing.assert_allclose(sum_form.low, 2 * one.low, atol=1e-10)


def test_models_that_are_the_same_leave_no_evidence():
    y, p, _ = random_stream(500)
    result = monitor_comparison(y, p, p)
    np.testing.assert_allclose(result.log_e_value, 0, atol=1e-12)
    assert result.alarm is None
    assert result.better_at is None
    assert np.all((result.low < 0) & (result.high > 0))
    assert result.high[-1] < 0.02
    assert result.verdict == "No alarm in 500 cases."


def test_verdicts():
    y = [1, 0] * 100
    good, bad = [0.9, 0.1] * 100, [0.4, 0.6] * 100
    assert monitor_comparison(y, good, bad).verdict.startswith("The model is better than the reference: clear after ")
    both = monitor_comparison(y * 4, good + bad * 3, bad + good * 3)
    assert both.better_at < 200 < both.alarm
    first, then, now = (
        "On average over the first {} cases the model was {} than the reference",
        "over the first {} it was {}",
        "and over all {} {}.",
    )
    assert both.verdict == ", ".join(
        [first.format(both.better_at, "better"), then.format(both.alarm, "worse"), now.format(800, "it is worse")]
    )
    back = monitor_comparison(y * 4, bad + good * 3, good + bad * 3)
    assert back.verdict == ", ".join(
        [first.format(back.alarm, "worse"), then.format(back.better_at, "better"), now.format(800, "it is better")]
    )
    even = monitor_comparison(y * 2, bad + good, good + bad)
    assert even.standing == "not distinguishable"
    assert even.verdict == f"{first.format(even.alarm, 'worse')}, {now.format(400, 'they are not distinguishable')}"
    assert monitor_comparison([1], [0.5], [0.5]).verdict == "No alarm in 1 case."
    assert monitor_calibration([1], [0.5]).verdict == "No alarm in 1 case."
    assert "it is not true that the forecasts are calibrated" in monitor_calibration(y, bad).verdict


def test_errors_that_cancel_are_found_in_the_bins():
    p = np.tile([0.15, 0.3, 0.45, 0.6], 600)
    y = np.random.default_rng(4).random(2400) < p + np.tile([0.1, -0.1, 0.1, -0.1], 600)
    assert monitor_calibration(y, p).alarm < 1500


def test_evidence_beyond_the_largest_float_is_kept_as_a_logarithm():
    y = np.tile([True, False], 5000)
    result = monitor_comparison(y, np.where(y, 0.1, 0.9), np.where(y, 0.9, 0.1))
    assert result.log_e_value[-1] > 1000
    assert result.e_value[-1] == np.inf
    assert result.p_value[-1] == 0
    assert result.low[-1] > 0


# --- Certain forecasts. ---


def test_a_certain_forecast_that_fails_settles_it():
    result = monitor_calibration([1, 0, 1, 0], [0.5, 1.0, 0.5, 0.5])
    assert np.isinf(result.log_e_value).tolist() == [False, True, True, True]
    assert result.alarm == 2
    assert result.p_value[-1] == 0
    assert np.isinf(result.extend([0], [0.5]).log_e_value[-1])


def test_certain_forecasts_that_come_true_say_nothing():
    with_them = monitor_calibration([0, 1, 1, 0, 1], [0.0, 0.3, 1.0, 0.6, 1.0])
    without = monitor_calibration([1, 0], [0.3, 0.6])
    np.testing.assert_array_equal(with_them.log_e_value[[1, 3]], without.log_e_value)
    np.testing.assert_allclose(with_them.log_e_value[[0, 2, 4]], [0, *without.log_e_value], atol=1e-15)
    assert monitor_calibration([0, 1], [0.0, 1.0]).log_e_value.tolist() == pytest.approx([0, 0], abs=1e-15)


def test_forecasts_next_to_certain_are_numbers():
    result = monitor_calibration([1, 0], [5e-324, np.nextafter(1, 0)])
    assert np.all(np.isfinite(result.log_e_value))


# --- A stream in parts. ---


@settings(max_examples=40)
@given(st.integers(1, 299), st.integers(1, 299))
def test_a_stream_in_parts_is_the_whole(cut, other):
    y, p, q = random_stream(300)
    first, second = sorted((cut, other))
    whole = monitor_comparison(y, p, q)
    parts = monitor_comparison(y[:first], p[:first], q[:first])
    if first < second:
        parts = parts.extend(y[first:second], p[first:second], q[first:second])
    parts = parts.extend(y[second:], p[second:], q[second:])
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    assert (parts.alarm, parts.better_at, parts.n) == (whole.alarm, whole.better_at, whole.n)
    p[150] = 1.0
    calibration = monitor_calibration(y, p)
    continued = monitor_calibration(y[:cut], p[:cut]).extend(y[cut:], p[cut:])
    np.testing.assert_array_equal(continued.log_e_value, calibration.log_e_value)
    assert continued.alarm == calibration.alarm


def test_a_stream_case_by_case_is_the_whole():
    y, p, q = random_stream(40)
    comparison, calibration = monitor_comparison(y[:1], p[:1], q[:1]), monitor_calibration(y[:1], p[:1])
    for t in range(1, 40):
        comparison = comparison.extend(y[t : t + 1], p[t : t + 1], q[t : t + 1])
        calibration = calibration.extend(y[t : t + 1], p[t : t + 1])
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(comparison, name), getattr(monitor_comparison(y, p, q), name))
    np.testing.assert_array_equal(calibration.log_e_value, monitor_calibration(y, p).log_e_value)


def test_the_answer_does_not_depend_on_the_blocks(monkeypatch):
    y, p, q = random_stream(500)
    before = monitor_comparison(y, p, q), monitor_calibration(y, p)
    monkeypatch.setattr(betting, "BLOCK", 7)
    after = monitor_comparison(y, p, q), monitor_calibration(y, p)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(after[0], name), getattr(before[0], name))
    np.testing.assert_array_equal(after[1].log_e_value, before[1].log_e_value)


def test_options_and_counts_stay_with_the_stream():
    y, p = ["no", "yes", None, "yes"], [0.2, None, 0.5, 0.7]
    result = monitor_comparison(
        pr.cases(y, p, pos_label="yes", missing="drop"), reference=[0.5, 0.5, 0.5, 0.4], level=0.8
    )
    assert (result.n, result.dropped) == (2, 2)
    more = pr.cases(["yes", "no"], {"m": [0.6, 0.1], "r": [0.5, None]}, pos_label="yes", missing="drop")
    longer = result.extend(more)
    assert (longer.n, longer.dropped, longer.level) == (3, 3, 0.8)
    assert longer.difference[-1] == pytest.approx(np.mean([0.04 - 0.25, 0.09 - 0.36, 0.16 - 0.25]))
    calibration = monitor_calibration(pr.cases(y, p, pos_label="yes", missing="drop")).extend(["no"], [0.3])
    assert (calibration.n, calibration.dropped) == (3, 2)


def test_a_stream_goes_on_with_forecasts_of_the_same_kind():
    result = monitor_comparison([0, 1], [0.2, 0.7], 0.5)
    with pytest.raises(InputValueError, match="it forecasts one event, and these cases 3 classes"):
        result.extend([0, 1], [[0.2, 0.7, 0.1], [0.3, 0.3, 0.4]], [0.3, 0.3, 0.4])


# --- What the results look like. ---


def test_views():
    y, p, q = random_stream(50)
    result = monitor_comparison(y, p, q)
    frame = result.to_frame(backend="pandas")
    assert frame.columns.tolist() == [
        *("case", "e_value", "log_e_value", "p_value", "difference", "low", "high", "log_e_better")
    ]
    assert frame["case"].tolist() == list(range(1, 51))
    assert repr(result).startswith("MonitoredComparison(n=50, e_value=")
    assert result.to_dict()["claim"] == "the model is no worse than the reference"
    assert "bets" not in result.to_dict()
    calibration = monitor_calibration(y, p)
    assert calibration.to_frame(backend="polars").columns == ["case", "e_value", "log_e_value", "p_value"]
    assert calibration.threshold == pytest.approx(20)


def test_a_rate_stands_for_a_forecast():
    y, p, _ = random_stream(50)
    np.testing.assert_array_equal(
        monitor_comparison(y, p, 0.3).log_e_value, monitor_comparison(y, p, np.full(50, 0.3)).log_e_value
    )


# --- Refusals. ---


@dataclass(frozen=True)
class Understated(BinaryRule):
    """A rule whose losses leave the range that it declares."""

    def properties(self, classes=None):
        return Properties(proper=True, strictly_proper=True, best=0.0, worst=0.5)

    def loss(self, p, *, event, ops=None):
        return (p - event) ** 2


@pytest.mark.parametrize("rule", [pr.Log(), pr.BoundedLog(0.0, 0.5, normalize="none")], ids=repr)
def test_rules_without_a_finite_range(rule):
    with pytest.raises(InputValueError, match=r"finite range.*Hint: use Brier\(\), or BoundedLog\(low, high\)"):
        monitor_comparison([0, 1], [0.2, 0.7], 0.5, rule=rule)


def test_bounded_rules_and_a_clipped_log_will_do():
    y, p, q = random_stream(100)
    for rule in (pr.Log(clip=0.01), pr.BoundedLog(0.05, 0.3), pr.BoundedBrier(0.0, 0.2), pr.Elementary(0.3)):
        assert np.all(np.isfinite(monitor_comparison(y, p, q, rule=rule).log_e_value))


def test_rules_that_are_not_proper():
    with pytest.raises(ImproperRuleError, match="declared proper"):
        monitor_comparison([0, 1], [0.2, 0.7], 0.5, rule=pr.ShiftedBrier(0.2, weighted=False))
    with pytest.raises(ImproperRuleError, match=r"Log\(clip=0.1\)"):
        monitor_comparison([0, 1], np.full((2, 3), 1 / 3), [0.2, 0.3, 0.5], rule=pr.Log(clip=0.1))


def test_losses_outside_their_declared_range():
    with pytest.raises(InputValueError, match=r"declares, 0 to 0.5; one is 0.6.*audit"):
        monitor_comparison([0, 1], [0.2, 0.2], 0.5, rule=Understated())


def test_what_is_no_rule():
    with pytest.raises(InputTypeError, match="rule must be a scoring rule"):
        monitor_comparison([0, 1], [0.2, 0.7], 0.5, rule=pr.Brier)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, math.nan])
def test_levels_outside_their_range(level):
    for monitor in (
        lambda **o: monitor_comparison([0], [0.5], 0.5, **o),
        lambda **o: monitor_calibration([0], [0.5], **o),
    ):
        with pytest.raises(InputValueError, match="level must lie strictly between 0 and 1"):
            monitor(level=level)


def test_tables_have_no_order():
    table = ForecastTable.from_predictions([0, 1], [0.2, 0.7])
    for monitor in (lambda: monitor_comparison(table, None, 0.5), lambda: monitor_calibration(table, None)):
        with pytest.raises(InputTypeError, match="in order of arrival"):
            monitor()


def test_bad_references_are_named():
    with pytest.raises(InputValueError, match=r"forecasts\['reference'\] must lie in \[0, 1\]; row 1 is 1.5"):
        monitor_comparison([0, 1], [0.2, 0.7], [0.5, 1.5])
    with pytest.raises(InputValueError, match="forecasts must be of one kind"):
        monitor_comparison([0, 1], [0.2, 0.7], [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    with pytest.raises(InputValueError, match="must be equally long"):
        monitor_comparison([0, 1], [0.2, 0.7], [0.5, 0.5, 0.5])


def test_calibration_is_monitored_for_one_event():
    with pytest.raises(InputValueError, match="y_proba must be the forecast of one event"):
        monitor_calibration([0, 1], [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])


def test_no_alarm_is_raised_that_the_limits_do_not_bear_out():
    """This stream was called worse after 786 cases, while its lower limit never exceeds 0."""
    generator = np.random.default_rng(9999)
    q = generator.beta(1, 3, 1500)
    y = generator.random(1500) < q
    result = monitor_comparison(y, np.clip(q + 0.08, 0, 1), q)
    assert (result.low <= 0.0).all()
    assert result.log_e_value.max() > math.log(20)
    assert (result.alarm, result.standing) == (None, "not distinguishable")
    assert result.verdict == "No alarm in 1,500 cases."
    assert result.p_value[-1] > 0.05


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_results_say_that_cases_of_one_time_must_not_be_correlated(correlation):
    """With 12 correlated stations a day, calibrated forecasts raised an alarm in 99% of the streams."""
    rng = np.random.default_rng(2)
    q = rng.beta(2, 6, 1440)
    latent = np.sqrt(correlation) * np.repeat(rng.standard_normal(120), 12)
    y = ndtr(latent + np.sqrt(1 - correlation) * rng.standard_normal(1440)) < q
    for found in (
        monitor_calibration(y, q),
        monitor_comparison(y, q, np.roll(q, 1)),
        monitor_calibration(y, q).extend(y, q),
    ):
        assert found.note.startswith("the level is for outcomes that become known one after another")
        assert str(found) == f"{found.verdict} Note: {found.note}."
        assert found.to_dict()["note"] == found.note
