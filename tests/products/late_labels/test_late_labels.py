"""Labels that arrive late: delays, estimates from the reports so far, and their revision."""

from __future__ import annotations

import datetime as dt
import math
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.products.late_labels.delays import estimate_delays
from propriety.products.late_labels.words import summary_of_labels, summary_of_revision

mpl.use("agg")

DAYS = 40


def stream(rng, n, *, ratio=1.0):
    """Return forecasts, their days, and the days of the reports, with a median delay of 6 days."""
    made, p = rng.integers(0, DAYS, n), expit(rng.normal(-2, 1, n))
    delay = np.floor(rng.lognormal(np.log(6), 0.6, n))
    return p, made, np.where(rng.random(n) < ratio * p, made + delay, np.nan)


P, MADE, REPORTED = stream(np.random.default_rng(8), 8000)
FOUND = pr.late_labels(P, made=MADE, reported=REPORTED, now=DAYS - 1)


def test_delays_are_those_of_a_product_limit_by_hand():
    rng = np.random.default_rng(2)
    age, delay = rng.integers(0, 12, 300), rng.integers(0, 9, 300)
    age, delay = age[delay <= age], delay[delay <= age]
    share = [
        np.prod([1 - np.sum(delay == d) / np.sum((delay <= d) & (age >= d)) for d in range(a + 1, 12) if d in delay])
        for a in range(12)
    ]
    np.testing.assert_allclose(estimate_delays(delay, age, np.ones(len(age)), 12).share, share)


def test_the_share_reported_is_recovered():
    delays = np.floor(np.random.default_rng(0).lognormal(np.log(6), 0.6, 10**5))
    true = np.bincount(delays.astype(int)).cumsum()[:20] / len(delays)
    assert np.abs(FOUND.by_age.maturity[:20] - true).max() < 0.05


def test_reported_events_are_compared_with_those_expected_so_far():
    age, event = DAYS - 1 - MADE, REPORTED <= DAYS - 1
    share = FOUND.by_age.maturity[age]
    young = age < 7
    expected = np.sum((P * share)[young])
    assert FOUND.observed_expected[0] == pytest.approx(np.sum(event[young]) / expected)
    numerator = share * P**2 + event * (1 - 2 * P)
    assert FOUND.score[0] == pytest.approx(numerator[young].sum() / share[young].sum())
    assert FOUND.as_labelled[0] == pytest.approx(np.sum(event[young]) / P[young].sum())
    assert FOUND.score_as_labelled[0] == pytest.approx(np.mean((event - P)[young] ** 2))
    assert (FOUND.youngest[-2:].tolist(), FOUND.oldest[-2:].tolist()) == ([0, FOUND.age_at(0.95)], [DAYS - 1] * 2)
    assert FOUND.if_faster[0] < FOUND.observed_expected[0] < FOUND.if_slower[0]


def test_limits_and_tests_hold_where_plain_labels_fail():
    rng = np.random.default_rng(5)
    held, rejected, naive = np.zeros(2), 0, 0
    for _ in range(60):
        p, made, reported = stream(rng, 3000)
        found = pr.late_labels(p, made=made, reported=reported, now=DAYS - 1, windows=[7])
        held += found.low[0] <= 1.0 <= found.high[0], found.score_low[0] <= 0.1075 <= found.score_high[0]
        rejected += found.p_value[0] < 0.05
        naive += found.low[0] <= found.as_labelled[0]
    assert (held >= 53).all()
    assert rejected <= 8
    assert naive <= 3


@pytest.mark.parametrize(("p", "reports"), [(0.9, 60), (0.3, 60), (0.5, 195), (0.5, 200), (0.9, 2), (0.9, 1)])
def test_limits_with_all_labels_and_one_forecast_are_those_of_wilson_whatever_the_forecast(p, reports):
    reported = np.where(np.arange(200) < reports, 0.0, np.nan)
    found = pr.late_labels(np.full(200, p), made=np.zeros(200), reported=reported, windows=[])
    z, rate = 1.959963984540054, reports / 200
    middle, margin = rate + z**2 / 400, z * np.sqrt(rate * (1 - rate) / 200 + z**2 / 160_000)
    limits = np.array([middle - margin, middle + margin]) / (1 + z**2 / 200) / p
    np.testing.assert_allclose([found.low[0], found.high[0]], limits, rtol=1e-9)


def test_limits_with_all_labels_are_those_of_estimate_also_for_forecasts_that_rank_wrongly():
    rng = np.random.default_rng(3)
    p = rng.choice([0.1, 0.4, 0.9], 4000)
    y = rng.random(4000) < 1.0 - p
    found = pr.late_labels(p, made=np.zeros(4000), reported=np.where(y, 0.0, np.nan), windows=[])
    usual = pr.estimate(y, p, measure=pr.measures.ObservedExpected())
    np.testing.assert_allclose([found.low[0], found.high[0]], [usual.low, usual.high], rtol=0.003)


def test_limits_have_their_level_for_forecasts_far_too_high():
    rng = np.random.default_rng(4)
    held = np.zeros(2)
    for _ in range(100):
        made, delay = rng.integers(0, 20, 600), rng.geometric(0.3, 600) - 1
        reported = np.where((rng.random(600) < 0.3) & (delay < 20), made + delay, np.nan)
        found = pr.late_labels(np.full(600, 0.9), made=made, reported=reported, now=19, windows=[7])
        held += (found.low[:2] <= 1 / 3) & (found.high[:2] >= 1 / 3)
    assert (held >= 89).all()


def test_scores_and_their_limits_are_possible_ones():
    p, cases = [0.0, 1.0, 0.5, 1.0] * 2, {"made": [5, 5, 5, 4] * 2, "reported": [6, 5, 5, 5] * 2, "windows": []}
    assert pr.late_labels(p, **cases, level=0.9999).score_high[0] == 1.0
    certain = pr.late_labels(p, **cases, rule=pr.Log())
    assert (certain.score[0], np.isnan(certain.score_low[0])) == (np.inf, True)
    right = pr.late_labels([0.25, 1.0, 0.5, 1.0] * 2, made=[5] * 8, reported=[5] * 8, windows=[], rule=pr.Log())
    assert right.score[0] == pytest.approx(3 * np.log(2) / 4)
    assert right.note[0] == "a forecast has an infinite loss: no limits of the score"
    assert certain.note[0] == f"events are reported whose forecast was 0; {right.note[0]}"
    alike = pr.late_labels([0.6] * 8, made=[5] * 8, reported=[5] * 8, windows=[])
    assert np.isnan(alike.score_low[0])
    assert alike.note[0] == (
        "all forecasts are equal: calibration is not tested; nothing varies in the sample, so there is no interval of "
        "the score"
    )
    with pytest.raises(InputTypeError, match="earlier must be a result of late_labels"):
        alike.revision("yesterday")


def test_too_low_forecasts_are_found():
    p, made, reported = stream(np.random.default_rng(6), 20_000, ratio=1.4)
    found = pr.late_labels(p, made=made, reported=reported, now=DAYS - 1)
    assert (found.p_value[1:] < 0.001).all()
    assert (found.low[1:] > 1.0).all()
    assert "miscalibrated" in str(found)


def test_a_ledger_and_dates_give_the_same():
    start = dt.date(2026, 3, 1)
    dates = [start + dt.timedelta(days=int(day)) for day in MADE]
    reports = [None if np.isnan(day) else start + dt.timedelta(days=int(day)) for day in REPORTED]
    last = start + dt.timedelta(days=DAYS - 1)
    dated = pr.late_labels(P, made=dates, reported=reports, now=last)
    known = [one is not None and one <= last for one in reports]
    filled = [one if yes else last for one, yes in zip(reports, known, strict=True)]
    frame = pl.DataFrame({"p": P, "y": np.array(known, dtype=int), "made": dates, "reported": filled})
    ledger = pr.condense(frame.lazy(), "p", outcome="y", by=["made", "reported"])
    condensed = pr.late_labels(ledger, made="made", reported="reported", now=last)
    for name in ("observed_expected", "low", "high", "p_value", "score", "score_low", "if_slower"):
        expected = getattr(FOUND, name)
        np.testing.assert_allclose(getattr(dated, name), expected, rtol=1e-12)
        np.testing.assert_allclose(getattr(condensed, name), expected, rtol=1e-9)


def test_dates_as_text_and_times_of_any_unit_are_days():
    start = np.datetime64("2026-03-01")
    made, now = start + MADE.astype("timedelta64[D]"), start + np.timedelta64(DAYS - 1, "D")
    after = np.nan_to_num(REPORTED).astype(int).astype("timedelta64[D]")
    reported = np.where(np.isnan(REPORTED), np.datetime64("NaT", "D"), start + after)
    texts = [None if np.isnat(one) else str(one) for one in reported]
    for one, other, day in (
        (made.astype(str), texts, str(now)),
        ([f"{day}T23:59:00" for day in made], [one or "" for one in texts], now),
        (made.astype("datetime64[ms]"), reported.astype("datetime64[ms]"), f"{now}T10:00:00"),
        (pl.Series(made.astype(str)), pl.Series(texts), str(now)),
    ):
        found = pr.late_labels(P, made=one, reported=other, now=day)
        np.testing.assert_array_equal(found.score, FOUND.score)


def test_labels_of_a_ledger_may_be_texts_and_those_without_a_report_anything():
    made, reported = ["2026-03-01", "2026-03-01", "2026-03-02", "2026-03-02"], ["2026-03-02", "none", "2026-03-02", "-"]
    y, p = [1, 0, 1, 0], [0.25, 0.5, 0.75, 0.5]
    ledger = pr.condense(y, p, by={"made": made, "reported": reported})
    found = pr.late_labels(ledger, made="made", reported="reported", windows=[])
    assert found.reported.tolist() == [2, 1]
    assert found.oldest.tolist() == [1, 1]
    with pytest.raises(InputValueError, match="made must be one of"):
        pr.late_labels(ledger, made=["made"], reported="reported")


def test_a_past_day_is_evaluated_as_it_would_have_been_and_revised():
    past = pr.late_labels(P, made=MADE, reported=REPORTED, now=29)
    then = MADE <= 29
    seen = np.where(REPORTED[then] <= 29, REPORTED[then], np.nan)
    same = pr.late_labels(P[then], made=MADE[then], reported=seen, now=29)
    np.testing.assert_array_equal(past.score, same.score)
    revision = FOUND.revision(past)
    cohort = (MADE > 29 - 7) & (MADE <= 29)
    assert (revision.n_before[0], revision.n[0]) == (cohort.sum(), cohort.sum())
    assert revision.reported_before[0] == np.sum(REPORTED[cohort] <= 29)
    assert revision.reported[0] == np.sum(REPORTED[cohort] <= DAYS - 1)
    assert str(revision).startswith("10 days later:\nForecasts then 0 to 6 days old: ")
    with pytest.raises(InputValueError, match="no later day"):
        past.revision(FOUND)


def test_any_rule_and_the_words():
    found = pr.late_labels(P, made=MADE, reported=REPORTED, now=DAYS - 1, rule=pr.Log())
    event = FOUND.by_age.maturity[DAYS - 1 - MADE]
    assert found.score[-2] == pytest.approx(
        np.sum(-event * np.log1p(-P) + (REPORTED <= DAYS - 1) * (np.log1p(-P) - np.log(P))) / event.sum()
    )
    text = str(found)
    assert "Half of the events are reported within" in text
    assert "Assumed: delays do not depend on the forecast or the day" in text


def test_the_picture_shows_reported_and_expected_events():
    ax = FOUND.plot(label="a title")
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_array_equal(heights, FOUND.by_age.reported)
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    np.testing.assert_allclose(lines["expected so far, if calibrated"], FOUND.by_age.expected_so_far)
    np.testing.assert_allclose(lines["expected in the end"], np.bincount(DAYS - 1 - MADE, P))


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"reported": MADE - 1}, InputValueError, "not be before the day of the forecast"),
        ({"made": np.full(len(P), np.nan)}, InputValueError, "made must hold finite days"),
        (
            {"made": np.full(len(P), "today")},
            InputTypeError,
            "made must hold dates or numbers of days; row 0 is 'today'",
        ),
        (
            {"made": np.full(len(P), 1_773_792_000_000)},
            InputValueError,
            r"row 0 is 1773792000000 .* Hint: for millisec",
        ),
        ({"made": np.full(len(P), 20260131)}, InputValueError, "dates such as 20260131 as text"),
        ({"made": [dt.date(2026, 3, 1)] * len(P)}, InputTypeError, "reported must hold dates, as the days of the fo"),
        ({"made": [dt.date(2026, 3, 1), 5] * (len(P) // 2)}, InputTypeError, "got dates and numbers"),
        ({"made": [{}] * len(P)}, InputTypeError, "made must hold dates"),
        ({"now": dt.date(2026, 3, 1)}, InputTypeError, "now must hold numbers, as the days of the forecasts do"),
        ({"now": [5]}, InputTypeError, "now must be one day"),
        ({"reported": np.full(len(P), np.nan)}, InputValueError, "at least one report"),
        ({"made": MADE[:3]}, InputValueError, "made must have shape"),
        ({"now": -1}, InputValueError, "now must not be before every forecast"),
        ({"windows": 7}, InputTypeError, "windows must be a sequence"),
        ({"windows": [0]}, InputValueError, "windows must be a positive whole number"),
    ],
)
def test_wrong_input_is_rejected(given, error, words):
    with pytest.raises(error, match=words):
        pr.late_labels(P, **({"made": MADE, "reported": REPORTED, "now": DAYS - 1} | given))


@pytest.mark.parametrize("other", ["forecasts", "made", "reported"])
def test_rows_of_another_order_are_rejected(other):
    pandas = pytest.importorskip("pandas")
    given = {"forecasts": P, "made": MADE, "reported": REPORTED}
    columns = {name: pandas.Series(values) for name, values in given.items()}
    assert pr.late_labels(**columns, now=DAYS - 1).score.tolist() == FOUND.score.tolist()
    columns[other] = columns[other].sample(frac=1, random_state=1)
    with pytest.raises(InputValueError, match=f"{other}.* carry different indices"):
        pr.late_labels(**columns, now=DAYS - 1)


def test_keys_must_be_in_the_ledger():
    ledger = pr.condense([0, 1], [0.1, 0.2], by={"made": [1, 2]})
    with pytest.raises(InputValueError, match="reported must be one of"):
        pr.late_labels(ledger, made="made", reported="reported")


def test_few_reports_have_no_limits_of_the_score():
    made, reported = np.repeat(np.arange(30), 40), np.full(1200, np.nan)
    reported[[0, 10, 45, 80, 300, 400]] = made[[0, 10, 45, 80, 300, 400]] + [0, 1, 2, 3, 0, 1]
    reported[[1160, 1161]] = 29.0
    found = pr.late_labels(np.linspace(0.004, 0.01, 1200), made=made, reported=reported, now=29, windows=[7])
    assert found.reported.tolist() == [2, 8, 6]
    assert (found.expected < 4.0).tolist() == [True, False, False]
    assert np.isnan(found.score_low).tolist() == [True, False, False]
    assert np.isfinite(found.score).all()
    assert [one != "" for one in found.note] == [True, False, False]
    assert "fewer than 4 expected reports" in str(found).splitlines()[1]
    assert "nan" not in str(found)


def test_a_share_of_zero_at_ages_with_reports_is_noted():
    """The only event of an age of 18 days or more was reported after 18 days, so F is 0 up to day 17."""
    made, reported = np.tile(np.arange(20), 2), np.full(40, np.nan)
    reported[[0, 14, 15, 16, 17]] = [18, 15, 16, 17, 18]
    found = pr.late_labels(np.full(40, 0.2), made=made, reported=reported, now=19, windows=[7])
    assert found.by_age.maturity[17] == 0.0
    assert np.isnan([found.observed_expected[0], found.high[0], found.score[0], found.p_value[0]]).all()
    assert "share of reported events is 0" in found.note[0]
    assert "not estimable" in str(found)
    assert "nan" not in str(found)


def test_a_share_is_checked():
    with pytest.raises(InputValueError, match=r"share must lie in \(0, 1\]"):
        FOUND.age_at(1.5)


def test_times_with_a_time_zone_have_the_date_of_that_zone():
    zone = dt.timezone(dt.timedelta(hours=-5))
    start = dt.datetime(2026, 1, 1, 22, tzinfo=zone)
    made = [start + dt.timedelta(days=int(day)) for day in MADE[:500]]
    reported = [None if np.isnan(day) else start + dt.timedelta(days=int(day)) for day in REPORTED[:500]]
    now = dt.date(2026, 1, 1) + dt.timedelta(days=DAYS - 1)
    found = pr.late_labels(P[:500], made=made, reported=reported, now=now)
    plain = pr.late_labels(P[:500], made=MADE[:500], reported=REPORTED[:500], now=DAYS - 1)
    np.testing.assert_array_equal(found.score, plain.score)


def test_every_window_is_told_in_a_sentence():
    columns = {"n": [90, 300, 200], "youngest": [0, 0, 8], "oldest": [6, 30, 30], "reported": [1200, 30, 25]}
    columns |= {"expected": [40.0, 60.0, 24.0], "maturity": [0.25, 0.5, np.nan], "observed_expected": [1.5, 1.0, 1.2]}
    columns |= {"low": [1.1, 0.8, np.nan], "high": [2.0, 1.3, np.nan], "p_value": [0.01, 0.5, np.nan]}
    columns |= {"score": [0.1, 0.2, 0.3], "score_low": [0.05, 0.1, np.nan], "score_high": [0.15, 0.3, np.nan]}
    columns |= {"as_labelled": [0.5, 0.75, np.nan], "score_as_labelled": [0.125, 0.25, np.nan]}
    columns |= {"if_slower": [2.0, 1.0, 1.0], "if_faster": [np.nan, 1.0, 1.0]}
    ages = {0.5: 1, 0.9: 12}
    labels = SimpleNamespace(
        **{name: np.array(values) for name, values in columns.items()},
        age_at=ages.__getitem__,
        level=0.95,
        label="Brier score",
        note=["", "few", ""],
    )
    assert summary_of_labels(labels).splitlines() == [
        "Half of the events are reported within 1 day, 90% within 12 days.",
        (
            "Last 7 days: 1,200 events reported so far, 40.0 expected (25% of all). Observed/expected 1.50 (1.10 to 2.00); "
            "miscalibrated, p = 0.01. Brier score 0.100 (0.0500 to 0.150). With the labels as they are: 0.50 and 0.125."
        ),
        (
            "All forecasts: 30 events reported so far, 60.0 expected (50% of all). Observed/expected 1.00 (0.80 to 1.30); "
            "consistent with calibrated forecasts, p = 0.5. Brier score 0.200 (0.100 to 0.300). "
            "With the labels as they are: 0.75 and 0.250. Note: few."
        ),
        (
            "Forecasts at least 8 days old (mature): 25 events reported, 24.0 expected. "
            "Observed/expected 1.20; calibration is not tested. Brier score 0.300. "
            "With the labels as they are: not estimable and not estimable."
        ),
        (
            "If delays are 20% longer or shorter than estimated, observed/expected of the last 7 days is 2.00 or "
            "not estimable."
        ),
        "Assumed: delays do not depend on the forecast or the day, and every event is reported within 30 days.",
    ]


def test_every_window_is_revised_in_a_sentence():
    columns = {"n": [9, 9], "youngest": [0, 0], "oldest": [6, 1], "reported_before": [1500, 1], "reported": [2000, 4]}
    columns |= {"observed_expected_before": [1.0, np.nan], "observed_expected": [1.25, 1.5]}
    columns |= {"low_before": [0.75, np.nan], "high_before": [1.25, np.nan]}
    columns |= {"score_before": [0.1, 0.2], "score": [0.15, np.nan]}
    arrays = {name: np.array(values) for name, values in columns.items()}
    revision = SimpleNamespace(**arrays, days=1, label="Brier score")
    first = "Forecasts then 0 to 6 days old: 1,500 events were reported, now 2,000. Observed/expected was 1.00 (0.75 to 1.25)"
    assert summary_of_revision(revision).splitlines() == [
        "1 day later:",
        f"{first} and is 1.25, inside these limits. Brier score was 0.100 and is 0.150.",
        (
            "Forecasts then 0 to 1 day old: 1 event was reported, now 4. Observed/expected was not estimable and is 1.50. "
            "Brier score was 0.200 and is not estimable."
        ),
    ]
    revision.observed_expected[0] = 1.3
    assert f"{first} and is 1.30, outside these limits." in summary_of_revision(revision)


def test_what_cannot_be_estimated_is_named():
    rng = np.random.default_rng(4)
    p, made, reported = stream(rng, 3000)
    seen = np.where(reported < DAYS, reported, np.nan)
    equal = pr.late_labels(np.full(3000, 0.1), made=made, reported=seen, now=DAYS - 1)
    assert all("all forecasts are equal: calibration is not tested" in note for note in equal.note)
    assert np.isnan(equal.p_value).all()
    zero = pr.late_labels(np.zeros(3000), made=made, reported=seen, now=DAYS - 1)
    assert all("all forecasts are 0: no observed/expected" in note for note in zero.note)
    assert "expected. Observed/expected not estimable" in str(zero)
    late = pr.late_labels(p, made=made, reported=reported, now=made.max() + 30)
    assert "no forecasts of these ages" in late.note
    certain = pr.late_labels(np.where(np.arange(3000) % 50 == 0, 1.0, p), made=made, reported=reported, rule=pr.Log())
    assert any("infinite loss" in note for note in certain.note)
    assert "Log score" in str(certain)


def test_revisions_are_of_one_level():
    p, made, reported = stream(np.random.default_rng(5), 2000)
    one, other = (pr.late_labels(p, made=made, reported=reported, level=level) for level in (0.8, 0.95))
    with pytest.raises(InputValueError, match="must be of the same rule and level"):
        other.revision(one)


def test_a_reported_event_with_a_forecast_of_zero_refutes_calibration():
    p = np.where(np.arange(len(P)) < 500, 0.0, P)
    found = pr.late_labels(p, made=MADE, reported=REPORTED, now=DAYS - 1, windows=[])
    assert found.p_value.tolist() == [0.0, 0.0]
    assert "events are reported whose forecast was 0" in found.note[0]
    assert "miscalibrated, p < 0.001" in str(found)
    never = pr.late_labels(0.0 * p, made=MADE, reported=REPORTED, now=DAYS - 1, windows=[])
    assert never.p_value.tolist() == [0.0, 0.0]
    ruled_out = np.where(np.isnan(REPORTED) & (P < 0.02), 0.0, P)
    assert (pr.late_labels(ruled_out, made=MADE, reported=REPORTED, now=DAYS - 1, windows=[]).p_value > 0.01).all()


def test_scores_that_cannot_be_estimated_say_why():
    made, happens = np.repeat(np.arange(30), 10), np.tile([1] + [0] * 9, 30) == 1
    p, reported = np.where(happens, 0.95, 0.05), np.where(happens, made + 9, np.nan)
    found = pr.late_labels(p, made=made, reported=reported, now=29, windows=[5])
    assert math.isnan(found.score[0])
    assert found.note[0] == "no event of these ages can be reported yet: no observed/expected and no score"
    rng = np.random.default_rng(1)
    made, p = rng.integers(0, 30, 400), rng.beta(1, 4, 400)
    event = rng.random(400) < p
    reported = np.where(event, made + rng.integers(0, 10, 400), np.nan)
    certain = pr.late_labels(np.where(event, 1.0, 0.0), made=made, reported=reported, now=29)
    below = certain.score < 0.0
    assert below.any()
    assert all(note == "the estimated score is not positive: no limits of the score" for note in certain.note[below])


def test_correlated_cases_are_refused():
    reported = np.where(np.isnan(REPORTED) | (REPORTED >= DAYS), -1, REPORTED).astype(int)
    keys = {"made": MADE, "reported": reported}
    ledger = pr.condense(reported >= 0, P, by=keys, cluster=np.arange(len(P)) // 2)
    with pytest.raises(InputValueError, match="may be correlated within its cluster"):
        pr.late_labels(ledger, made="made", reported="reported", now=DAYS - 1)
