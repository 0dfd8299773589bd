"""Monitors of ledgers: exact e-values, the same state however days are added, alarms, and what is refused."""

import datetime as dt
import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit, ndtr

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.products.monitoring.betting import MeanBets, bet_on_mean
from propriety.products.monitoring.evidence import (
    ALTERNATIVES,
    SHIFTS,
    SLOPES,
    STAKES,
    Evidence,
    calibration_growth,
    comparison_growth,
    mean_limits,
)
from propriety.products.monitoring.files import _checksum_of
from propriety.products.monitoring.ledger_monitor import OF_DAYS, OF_STREAMS
from propriety.products.monitoring.stability_index import BINS, bin_counts, stability_index
from propriety.products.monitoring.states import StreamStates
from propriety.results import LedgerMonitor

P = np.array([0.1, 0.35, 0.8])


def outcomes_of(p):
    """Yield every outcome of some cases with its probability."""
    for events in itertools.product([0.0, 1.0], repeat=len(p)):
        y = np.array(events)
        yield y, float(np.prod(np.where(y == 1.0, p, 1.0 - p)))


def simulated(days=40, cases=300, sites=("a", "b"), change=None, seed=0, models=1):
    """Return the ledger of some days and sites; `change(day, site, p)` is the true probability."""
    rng = np.random.default_rng(seed)
    size = days * cases
    day, site = np.repeat(np.arange(days), cases), rng.choice(sites, size)
    p = expit(rng.normal(-1.5, 1.0, size))
    truth = p if change is None else change(day, site, p)
    forecasts = {"m": p} | ({"old": expit(logit(p) + rng.normal(0, 0.5, size))} if models == 2 else {})
    return pr.condense(rng.random(size) < truth, forecasts, by={"day": day, "site": site})


@pytest.fixture(scope="module")
def two_models():
    return simulated(days=30, models=2)


def test_growth_is_the_likelihood_ratio_of_each_case():
    y, entry = np.array([1.0, 0.0, 1.0]), np.zeros(3, dtype=int)
    growth = calibration_growth(entry, 1, P, y, 1.0 - y)[0]
    x, w = logit(P), P * (1.0 - P)
    centre = (w * x).sum() / w.sum()
    rates = [expit(x + shift) for shift in SHIFTS] + [expit(centre + slope * (x - centre)) for slope in SLOPES]
    expected = [np.sum(np.log(np.where(y == 1.0, q / P, (1.0 - q) / (1.0 - P)))) for q in rates]
    np.testing.assert_allclose(growth, expected, rtol=1e-12)


def test_growth_has_expected_value_one_and_at_most_one_on_a_grid():
    entry, pooled = np.zeros(3, dtype=int), np.full(1, P.mean())
    exact, grid = np.zeros(ALTERNATIVES), np.zeros(ALTERNATIVES)
    for y, chance in outcomes_of(P):
        exact += chance * np.exp(calibration_growth(entry, 1, P, y, 1.0 - y)[0])
        events = np.array([y.sum()])
        grid += chance * np.exp(calibration_growth(entry[:1], 1, pooled, events, 3.0 - events)[0])
    np.testing.assert_allclose(exact, 1.0, rtol=1e-12)
    assert (grid <= 1.0 + 1e-12).all()
    assert grid.min() < 0.99


@pytest.mark.parametrize("x", [(-0.2, 0.6), (-1.0, 0.01), (-0.5, 1.0)])
def test_stakes_on_differences_of_mean_zero_gain_nothing(x):
    chance = -x[0] / (x[1] - x[0])
    found = [np.exp(comparison_growth(np.array([one]), np.array([one**2]))[0]) for one in x]
    assert ((1.0 - chance) * found[0] + chance * found[1] <= 1.0 + 1e-12).all()


def test_the_e_value_has_expected_value_one_on_every_day():
    total = np.zeros(3)
    for y, chance in outcomes_of(P):
        evidence = Evidence.none(1)
        for day, (p, one) in enumerate(zip(P, y, strict=True)):
            row = np.array([p]), np.array([one]), np.array([1.0 - one])
            evidence = evidence.after(calibration_growth(np.zeros(1, dtype=int), 1, *row), day)
            total[day] += chance * math.exp(evidence.log_e_value[0])
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_limits_are_no_narrower_than_those_of_single_cases():
    x = np.random.default_rng(0).uniform(-0.3, 0.5, 400)
    _, bound, _ = bet_on_mean(x, MeanBets.start(), math.log(40.0))
    sums, squares, n = (np.array([value]) for value in (x.sum(), (x**2).sum(), 400.0))
    low, high = mean_limits(sums, squares, n, np.log([40.0]))
    assert bound[-1] - 0.02 < low[0] <= bound[-1]
    assert low[0] < x.mean() < high[0]


def test_stability_index_by_hand():
    rng = np.random.default_rng(1)
    p, q = expit(rng.normal(-2, 1, 5000)), expit(rng.normal(-1.5, 1, 800))
    reference, counts = (bin_counts(np.zeros(len(one), dtype=int), 1, one, np.ones(len(one))) for one in (p, q))
    # Deciles of the reference, computed from the cases; the bins move them a little.
    edges = np.quantile(p, np.arange(1, 10) / 10)
    shares = [np.bincount(np.searchsorted(edges, one), minlength=10) / len(one) for one in (q, p)]
    by_hand = np.sum((shares[0] - shares[1]) * np.log(shares[0] / shares[1]))
    assert stability_index(counts, reference)[0] == pytest.approx(by_hand, rel=0.15)
    assert np.isnan(stability_index(counts, np.zeros((1, BINS)))[0])


def test_stability_index_does_not_depend_on_the_means_of_grid_cells():
    # The lowest of 64 cells has many cases, and its mean is near the edge of a bin.
    rng = np.random.default_rng(4)
    p = expit(rng.normal(-3.0, 1.2, 60 * 400))
    ledger = pr.condense(rng.random(len(p)) < p, {"m": p}, by={"day": np.repeat(np.arange(60), 400)}, cells=64)
    psi = pr.monitor(ledger, reference_days=20).days.psi[20:]
    assert psi.max() < 9 * (1 / 400 + 1 / 8000) * 3.5


def test_events_that_were_all_but_ruled_out_have_an_infinite_ratio():
    day = np.repeat(np.arange(3), 50)
    y = (np.arange(150) % 10 == 0).astype(int)
    days = pr.monitor(pr.condense(y, {"m": np.full(150, 1e-310)}, by={"day": day}), reference_days=1).days
    np.testing.assert_array_equal(days.observed_expected, np.inf)


def test_numbers_of_a_day(two_models):
    watch = pr.monitor(two_models, reference_days=7)
    days = watch.days.to_frame(backend="pandas")
    row = days.query("day == 12 and site == 'b' and model == 'm' and reference.isna()").iloc[0]
    own = two_models.where(day=12, site="b")
    table = own.table("m")
    alone = pr.Ledger.of_tables({"forecast": table})
    score = pr.estimate(alone, measure=pr.Brier())
    assert (row["n"], row["event_rate"]) == (table.n, pytest.approx(table.event_rate))
    ratio = pr.estimate(alone, measure=pr.measures.ObservedExpected())
    assert row["observed_expected"] == pytest.approx(ratio.value, rel=1e-12)
    assert row["score"] == pytest.approx(score.value, rel=1e-12)
    assert row["score_error"] == pytest.approx(score.standard_error, rel=1e-9)
    assert row["slope"] == pytest.approx(
        pr.estimate(pr.Ledger.of_tables({"forecast": table}), measure=pr.measures.CalibrationSlope()).value, rel=1e-6
    )
    pair = days.query("day == 12 and site == 'b' and reference == 'old'").iloc[0]
    difference = pr.compare(own).pairs[0]
    assert pair["score"] == pytest.approx(difference.difference, rel=1e-9)
    assert days.query("day < 7")["psi"].isna().all()
    assert days.query("day >= 7 and reference.isna()")["psi"].notna().all()


def test_days_one_by_one_through_files_give_the_same_state(two_models, tmp_path):
    whole = pr.monitor(two_models.where(day=list(range(12))), reference_days=4)
    for day in range(12):
        own = two_models.where(day=day)
        watch = pr.monitor(own, reference_days=4) if day == 0 else LedgerMonitor.from_parquet(tmp_path).extend(own)
        watch.to_parquet(tmp_path)
    found = LedgerMonitor.from_parquet(tmp_path)
    for one, other in ((found, whole), (found.days, whole.days), (found.latest, whole.latest)):
        frames = [result.to_frame(backend="pandas") for result in (one, other)]
        pd.testing.assert_frame_equal(*frames, rtol=1e-12, atol=0)
    np.testing.assert_array_equal(found.states.evidence.log_capital, whole.states.evidence.log_capital)
    assert str(found) == str(whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "days",
        "monitor.json",
        "state-12.parquet",
        "times-12.parquet",
    ]


@pytest.mark.parametrize(
    ("direction", "change"),
    [
        ("too low", lambda p: expit(logit(p) + 0.4)),
        ("too high", lambda p: expit(logit(p) - 0.4)),
        ("too extreme", lambda p: expit(-1.0 + 0.5 * (logit(p) + 1.0))),
        ("too timid", lambda p: expit(-1.0 + 2.0 * (logit(p) + 1.0))),
    ],
)
def test_a_change_is_found_with_its_day_and_direction(direction, change):
    def truth(day, site, p):
        return np.where((day >= 25) & (site == "b"), change(p), p)

    watch = pr.monitor(simulated(days=45, change=truth, cases=1000, seed=2))
    found = watch.to_frame(backend="pandas").set_index("site")
    assert found.loc["a", "alarm"] is None or pd.isna(found.loc["a", "alarm"])
    assert found.loc["b", "direction"] == direction
    assert 25 <= found.loc["b", "alarm"] <= 45
    assert abs(found.loc["b", "since"] - 25) <= 4
    assert f"m (site b): forecasts {direction} since day" in str(watch)


def test_the_size_of_a_change_is_that_from_its_day_to_the_alarm():
    # Too few events on two days, and too many later: the alarm is about the first two.
    day, p = np.repeat(np.arange(1, 9), 400), np.full(3200, 0.5)
    y = np.arange(3200) % 400 < np.where(day <= 2, 120, 280)
    watch = pr.monitor(pr.condense(y, {"m": p}, by={"day": day}))
    row = watch.to_frame(backend="pandas").iloc[0]
    assert (row["direction"], row["since"], row["alarm"]) == ("too high", 1, 1)
    assert row["observed_expected"] == pytest.approx(1.2)
    assert watch.changes.tolist() == [pytest.approx(0.6)]
    assert "too high since day 1 (alarm on day 1), observed/expected 0.600 until the alarm." in str(watch)


def test_sizes_of_changes_are_those_of_the_days_of_each_stream(two_models):
    watch = pr.monitor(two_models)
    first, last = np.arange(len(watch.states)), np.arange(len(watch.states)) + 10
    found = watch.days.sizes(first, last)
    for place, stream in enumerate(watch.states.streams):
        own = watch.days.of_stream(place)
        rows = (own.position >= place) & (own.position <= place + 10)
        parts = (own.event_rate, own.mean_forecast) if stream.reference is None else (own.score, np.ones(len(rows)))
        above, below = ((part * own.n)[rows].sum() for part in parts)
        assert found[place] == pytest.approx(above / below, rel=1e-12)


def test_the_worse_model_is_named():
    rng = np.random.default_rng(3)
    size, day = 25_000, np.repeat(np.arange(50), 500)
    p = expit(rng.normal(0, 1, size))
    new = expit(logit(p) + np.where(day >= 30, 1.2, 0.3) * rng.normal(0, 1, size))
    old = expit(logit(p) + 0.3 * rng.normal(0, 1, size))
    ledger = pr.condense(rng.random(size) < p, {"new": new, "old": old}, by={"day": day})
    found = pr.monitor(ledger).to_frame(backend="pandas").set_index("reference").loc["old"]
    assert found["direction"] == "worse"
    assert abs(found["since"] - 30) <= 5
    assert found["low"] < found["difference"] < found["high"]


def test_a_certain_forecast_that_fails_is_an_alarm_for_ever():
    y, p, day = [0, 1, 1, 0, 1, 0], [0.2, 0.7, 0.0, 0.3, 0.6, 0.4], [1, 1, 2, 2, 3, 3]
    watch = pr.monitor(pr.condense(y, {"m": p}, by={"day": day}))
    row = watch.to_frame(backend="pandas").iloc[0]
    assert (row["alarm"], row["since"], row["direction"], row["e_value"]) == (2, 2, "refuted", math.inf)
    assert "a forecast of 0 or 1 was wrong on day 2" in str(watch)


def test_the_error_budget_is_not_exceeded_by_streams_that_appear_later():
    watch = pr.monitor(simulated(days=1, cases=60))
    for day in range(1, 20):
        sites = [f"s{number}" for number in range(day)]
        later = simulated(days=day + 1, cases=60, sites=["a", "b", *sites]).where(day=day)
        watch = watch.extend(later)
    assert len(watch.states) > 15
    assert watch.states.share.sum() < 1.0
    assert watch.states.share[:2].tolist() == [0.375, 0.375]


def test_calibrated_forecasts_raise_few_alarms():
    watch = pr.monitor(simulated(days=12, cases=6000, sites=np.arange(300), seed=5))
    assert watch.alarms == 0
    # Of 300 streams, an e-value of 20 is ever reached by 15 on average at most.
    assert (watch.states.highest >= math.log(20.0)).sum() <= 15
    assert np.exp(watch.states.evidence.log_e_value).mean() < 1.5


def test_ledgers_of_engines_give_the_same_answers():
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(8)
    columns = {"day": np.repeat(np.arange(6), 200), "site": rng.choice(["a", "b"], 1200), "p": rng.beta(1, 4, 1200)}
    columns["y"] = (rng.random(1200) < columns["p"]).astype(int)
    by = {name: columns[name] for name in ("day", "site")}
    expected = pr.monitor(pr.condense(columns["y"], {"p": columns["p"]}, by=by))
    lazy = pr.condense(pl.DataFrame(columns).lazy(), ["p"], outcome="y", by=["day", "site"])
    first = pr.monitor(pr.condense(columns["y"], {"p": columns["p"]}, by=by).where(day=[0, 1, 2]))
    for found in (pr.monitor(lazy), first.extend(lazy)):
        frames = [one.days.to_frame(backend="pandas") for one in (found, expected)]
        pd.testing.assert_frame_equal(*frames, rtol=1e-9)


def test_days_that_change_or_come_late_are_refused(two_models):
    watch = pr.monitor(two_models.where(day=list(range(5, 20))))
    assert watch.extend(two_models.where(day=list(range(10, 20)))).times == watch.times
    assert watch.extend(two_models.where(day=list(range(10, 22)))).times == tuple(range(5, 22))
    with pytest.raises(InputValueError, match="must not change"):
        watch.extend(simulated(days=20, models=2, seed=9).where(day=list(range(10, 20))))
    y, p, day = [0, 1, 0, 1] * 6, [0.2, 0.7, 0.4, 0.5] * 6, [1, 1, 2, 2] * 6
    first = pr.monitor(pr.condense(y, {"m": p}, by={"day": day}))
    with pytest.raises(InputValueError, match="cases or forecasts of a day that has been monitored must not change"):
        first.extend(pr.condense(y, {"m": [1.0 - one for one in p]}, by={"day": day}))
    with pytest.raises(InputValueError, match="sorted order"):
        watch.extend(two_models.where(day=4))


def test_what_is_not_a_ledger_of_independent_cases_of_one_event_is_refused(two_models):
    y, p, by = [0, 1, 1, 0], [0.2, 0.7, 0.4, 0.3], {"day": [1, 1, 2, 2]}
    with pytest.raises(InputTypeError, match="needs a Ledger"):
        pr.monitor(y)
    with pytest.raises(InputValueError, match="no key 'day'"):
        pr.monitor(pr.condense(y, {"m": p}))
    for more, law in (({"sample_weight": [1, 2, 1, 1]}, "without weights"), ({"cluster": [1, 1, 2, 2]}, "independent")):
        with pytest.raises(InputValueError, match=law):
            pr.monitor(pr.condense(y, {"m": p}, by=by, **more))
    with pytest.raises(InputValueError, match="one event"):
        pr.monitor(pr.condense([0, 1, 2, 0], {"m": np.full((4, 3), 1 / 3)}, by=by))
    with pytest.raises(InputValueError, match="same models"):
        pr.monitor(two_models).extend(simulated())
    with pytest.raises(InputValueError, match="reference_days"):
        pr.monitor(two_models, reference_days=0)
    with pytest.raises(InputValueError, match="finite range"):
        pr.monitor(two_models, rule=pr.Log())


@pytest.mark.parametrize("key", ["model", "reference", "n", "days", "alarm", "e_value", "score"])
def test_keys_called_like_columns_of_the_result_are_refused(key):
    y, p = [0, 1, 1, 0], [0.2, 0.7, 0.4, 0.3]
    with pytest.raises(InputValueError, match=f"must not be called '{key}'"):
        pr.monitor(pr.condense(y, {"m": p}, by={"day": [1, 1, 2, 2], key: [1, 2, 1, 2]}))


def test_every_column_of_the_results_is_refused_as_a_key(two_models):
    watch = pr.monitor(two_models.where(day=[0, 1]))
    assert {*watch.columns(), *watch.days.columns()} - {"day", "site"} == OF_DAYS | OF_STREAMS
    ledger = pr.condense([0, 1, 1, 0], {"m": [0.2, 0.7, 0.4, 0.3]}, by={"days": [1, 1, 2, 2]})
    assert pr.monitor(ledger, period="days").days.to_frame(backend="pandas")["days"].tolist() == [1, 2]


def test_numbers_as_text_are_not_times():
    y, p = [0, 1, 1, 0], [0.2, 0.7, 0.4, 0.3]
    with pytest.raises(InputValueError, match=r"numbers as text.*got '1'.*use integers"):
        pr.monitor(pr.condense(y, {"m": p}, by={"day": ["1", "2", "10", "10"]}))


def test_texts_that_do_not_sort_in_the_order_of_time_are_refused():
    def of(labels):
        return pr.condense([0, 1] * len(labels), [0.3, 0.6] * len(labels), by={"week": np.repeat(labels, 2)})

    with pytest.raises(InputValueError, match="'week 10' sorts before 'week 9'"):
        pr.monitor(of(["week 9", "week 10"]), period="week")
    assert pr.monitor(of(["week 09", "week 10"]), period="week").times == ("week 09", "week 10")
    assert len(pr.monitor(of(["2026-W09", "2026-W10", "2027-W01"]), period="week").times) == 3


@pytest.mark.parametrize(
    "form", ["%d/%m/%Y", "%m/%d/%y", "%d.%m.%Y", "%d-%m-%Y", "%d %b %Y", "%B %d, %Y", "%Y-%b-%d", "%B"]
)
def test_dates_that_do_not_begin_with_the_year_are_refused(form):
    """They sort, but not in the order of time."""
    day = np.repeat([(dt.date(2026, 1, 20) + dt.timedelta(20 * one)).strftime(form) for one in range(3)], 4)
    with pytest.raises(InputValueError, match="must sort in the order of time, as the text of ISO dates does; got"):
        pr.monitor(pr.condense([0, 1] * 6, [0.3, 0.6] * 6, by={"day": day}))


def test_days_that_are_not_mature_are_shown_and_do_not_alarm(tmp_path):
    """A day whose labels are not complete looks like too few events; it is tested when it is."""
    rng = np.random.default_rng(5)
    day = np.repeat(np.arange(40), 400)
    p = expit(rng.normal(-1.0, 1.0, len(day)))
    y, delay = rng.random(len(day)) < p, rng.integers(0, 6, len(day))

    def until(today, first=0):
        rows = (day >= first) & (day <= today)
        reported = y[rows] & (day[rows] + delay[rows] <= today)
        return pr.condense(reported, {"m": p[rows]}, by={"day": day[rows]})

    tested = pr.monitor(until(39))
    assert tested.alarms == 1  # The last days seem to have too few events.
    whole = pr.monitor(until(39), mature_after=5)
    assert (whole.alarms, whole.times[-1], whole.waiting) == (0, 34, (35, 36, 37, 38, 39))
    shown = whole.immature
    assert shown.labels["day"] == shown.position.tolist() == [35, 36, 37, 38, 39]
    assert shown.observed_expected[-1] < 0.5
    assert np.isnan(shown.log_e_value).all()
    for name in ("n", "event_rate", "mean_forecast", "observed_expected", "score", "score_error", "slope", "psi"):
        np.testing.assert_array_equal(getattr(shown, name), getattr(tested.days, name)[35:], err_msg=name)
    assert "waiting=5" in repr(whole)

    pr.monitor(until(9), mature_after=5).to_parquet(tmp_path)
    for today in range(10, 40):
        read = LedgerMonitor.from_parquet(tmp_path)
        read.extend(until(today, today - 6)).to_parquet(tmp_path)
    found = LedgerMonitor.from_parquet(tmp_path)
    assert (found.times, found.waiting, found.immature) == (whole.times, whole.waiting, None)
    np.testing.assert_allclose(found.to_frame()["e_value"], whole.to_frame()["e_value"], rtol=1e-12)
    assert sorted(path.name for path in tmp_path.glob("times*")) == ["times-35-5.parquet"]
    with pytest.raises(InputValueError, match=r"must have every day that was not mature.*it lacks 35"):
        found.extend(until(39, 36))


def test_maturity_needs_days_that_can_be_subtracted():
    ledger = pr.condense([0, 1, 0, 1], [0.3, 0.6] * 2, by={"day": ["early", "early", "late", "late"]})
    with pytest.raises(InputValueError, match="mature_after needs labels of 'day' that are integers or dates"):
        pr.monitor(ledger, mature_after=1)
    days = pr.condense([0, 1, 0, 1], [0.3, 0.6] * 2, by={"day": ["2026-01-01"] * 2 + ["2026-01-03"] * 2})
    assert pr.monitor(days, mature_after=2).times == ("2026-01-01",)
    with pytest.raises(InputValueError, match="mature_after must be shorter"):
        pr.monitor(days, mature_after=3)
    for wrong in (-1, 1.5, True):
        with pytest.raises(InputValueError, match="mature_after must be a non-negative whole number"):
            pr.monitor(days, mature_after=wrong)


def test_other_days_that_are_not_mature_are_stored(tmp_path):
    """The same number of days may be waiting, but not the same days."""

    def of(days):
        return pr.condense([0, 1, 0] * len(days), [0.3, 0.6, 0.2] * len(days), by={"day": np.repeat(days, 3)})

    pr.monitor(of([1, 5, 6]), mature_after=3).to_parquet(tmp_path)
    found = pr.monitor(of([1, 5, 7]), mature_after=3)
    assert "Not tested yet: 2 days." in str(found).splitlines()
    found.to_parquet(tmp_path)
    assert LedgerMonitor.from_parquet(tmp_path).waiting == (5, 7)
    assert not list(tmp_path.rglob(".*"))


def test_a_crossed_key_is_refused_with_what_to_do():
    ledger = pr.condense([0, 1], {"m": [0.2, 0.7]}, by={"day, site": ["1, a", "2, a"]})
    with pytest.raises(InputValueError, match=r"it has 'day, site'.*repeat --by for every key"):
        pr.monitor(ledger)


def test_files_of_another_monitor_are_kept(two_models, tmp_path):
    watch = pr.monitor(two_models.where(day=[0, 1]))
    watch.to_parquet(tmp_path)
    with pytest.raises(InputValueError, match="another level"):
        pr.monitor(two_models.where(day=[0, 1]), level=0.9).to_parquet(tmp_path)
    with pytest.raises(InputValueError, match="more days"):
        pr.monitor(two_models.where(day=0)).to_parquet(tmp_path)
    with pytest.raises(InputValueError, match=r"other days.*it has 0, and this one 10.*another folder"):
        pr.monitor(two_models.where(day=[10, 11, 12])).to_parquet(tmp_path)
    with pytest.raises(InputValueError, match="other cases"):
        pr.monitor(simulated(days=3, models=2, seed=9)).to_parquet(tmp_path)
    watch.to_parquet(tmp_path)
    pr.monitor(two_models.where(day=[0, 1, 2])).to_parquet(tmp_path)
    assert LedgerMonitor.from_parquet(tmp_path).times == (0, 1, 2)
    facts = json.loads((tmp_path / "monitor.json").read_text())
    (tmp_path / "monitor.json").write_text(json.dumps(facts | {"version": 99}))
    with pytest.raises(InputValueError, match="version"):
        LedgerMonitor.from_parquet(tmp_path)
    with pytest.raises(InputValueError, match="holds a monitor"):
        LedgerMonitor.from_parquet(tmp_path / "days")


@pytest.fixture
def stored(two_models, tmp_path):
    """Return a folder with a monitor of two days."""
    pr.monitor(two_models.where(day=[0, 1])).to_parquet(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["state-2.parquet", "times-2.parquet", "days/day-1.parquet", "monitor.json"])
def test_stored_files_that_are_missing_or_changed_are_refused(stored, name):
    whole = (stored / name).read_bytes()
    changed = whole.replace(b"0.95", b"0.10") if name == "monitor.json" else whole + b" "
    for damaged in (whole[:-9], b"", changed, None):
        (stored / name).unlink()
        if damaged is not None:
            (stored / name).write_bytes(damaged)
        with pytest.raises(InputValueError, match="monitor"):
            LedgerMonitor.from_parquet(stored).days.to_dict()
        (stored / name).write_bytes(whole)
    assert LedgerMonitor.from_parquet(stored).days.n.sum() > 0


def test_a_folder_that_lost_its_facts_is_not_continued(stored, two_models):
    (stored / "monitor.json").unlink()
    with pytest.raises(InputValueError, match=r"no monitor.json.*another folder"):
        pr.monitor(two_models.where(day=[0, 1])).to_parquet(stored)


@pytest.mark.parametrize(
    ("law", "change"),
    [
        ("add up to at most 1", {"share": np.full(6, 50.0)}),
        ("add up to at most 1", {"share": np.full(6, np.nan)}),
        ("one of 2 days", {"alarm": np.full(6, 2), "since": np.full(6, 2)}),
        ("directions", {"direction": np.full(6, 9)}),
        ("every stream must have a case", {"n": np.zeros(6, dtype=np.int64)}),
        ("missing", {"sums": np.full(6, np.nan)}),
        ("whole numbers", {"alarm": np.full(6, -1.0)}),
    ],
)
def test_states_that_no_monitor_has_are_refused(two_models, tmp_path, law, change):
    watch = pr.monitor(two_models.where(day=[0, 1]))
    replace(watch, states=replace(watch.states, **change)).to_parquet(tmp_path)
    with pytest.raises(InputValueError, match=law):
        LedgerMonitor.from_parquet(tmp_path)


def test_an_empty_state_is_refused(two_models, tmp_path):
    watch = pr.monitor(two_models.where(day=[0, 1]))
    replace(watch, states=StreamStates.none()).to_parquet(tmp_path)
    with pytest.raises(InputValueError, match="Hint: restore"):
        LedgerMonitor.from_parquet(tmp_path)


@pytest.mark.parametrize("facts", [{"level": 1.5}, {"reference_days": 0}, {"days": "2"}, {"models": []}, {"keys": [1]}])
def test_facts_that_no_monitor_has_are_refused(stored, facts):
    there = json.loads((stored / "monitor.json").read_text())
    assert LedgerMonitor.from_parquet(stored).times == (0, 1)
    changed = there | facts
    (stored / "monitor.json").write_text(json.dumps(changed | {"checksum": _checksum_of(changed)}))
    with pytest.raises(InputValueError, match="must"):
        LedgerMonitor.from_parquet(stored)


def test_stakes_lie_between_zero_and_one():
    assert (STAKES > 0).all()
    assert (STAKES < 1).all()
    assert 2 * len(STAKES) == ALTERNATIVES


def by_day(*days):
    """Return a ledger of two cases on each day."""
    return pr.condense([0, 1] * len(days), [0.25, 0.5] * len(days), by={"day": [day for day in days for _ in "ab"]})


@pytest.mark.parametrize("text", ["30.03.2026", "03/30/2026", "30 Mar 2026", "March", "Mon", "tuesday 3"])
def test_texts_of_dates_that_do_not_sort_are_rejected(text):
    with pytest.raises(
        InputValueError, match="'day' must sort in the order of time, as the text of ISO dates does; got"
    ):
        pr.monitor(by_day(text))


@pytest.mark.parametrize("label", [1_773_792_000_000, 1_773_792_000, 20260331, 1.7e12])
def test_numbers_that_do_not_count_days_have_no_maturity(label):
    ledger = by_day(label, label + 70)
    assert len(pr.monitor(ledger).times) == 2
    with pytest.raises(InputValueError, match="mature_after needs labels of 'day' that are dates or numbers of days"):
        pr.monitor(ledger, mature_after=7)


@pytest.mark.parametrize(
    "days",
    [
        (dt.date(2026, 3, 1), "2026-04-01"),
        (dt.date(2026, 3, 1), dt.datetime(2026, 3, 2)),  # noqa: DTZ001  (a time without a zone)
        (dt.datetime(2026, 3, 1), dt.datetime(2026, 3, 2, tzinfo=dt.UTC)),  # noqa: DTZ001
        (1, "2026-03-01"),
    ],
)
def test_days_of_different_types_are_rejected(days):
    with pytest.raises(InputTypeError, match="labels of 'day' must be of one type"):
        pr.monitor(by_day(*days), mature_after=1)
    with pytest.raises((InputTypeError, InputValueError), match="labels of 'day' must"):
        pr.monitor(by_day(days[0])).extend(by_day(days[1]))


def test_outcomes_of_a_monitored_day_that_change_places_are_noticed():
    p, days = [0.25, 0.5, 0.25, 0.5], [1, 1, 2, 2]
    watch = pr.monitor(pr.condense([0, 1, 0, 1], p, by={"day": days}))
    assert len(watch.extend(pr.condense([0, 1, 0, 1], p, by={"day": days})).times) == 2
    with pytest.raises(InputValueError, match="has been monitored must not change; those of 2 have"):
        watch.extend(pr.condense([0, 1, 1, 0], p, by={"day": days}))


def test_stability_index_of_forecasts_in_few_groups():
    def counts(forecast):
        return bin_counts(np.zeros(len(forecast), dtype=int), 1, forecast, np.ones(len(forecast)))

    same, other = counts(np.full(100, 0.05)), counts(np.full(100, 0.9))
    reference = counts(np.full(10_000, 0.05))
    assert stability_index(same, reference)[0] == 0.0
    shares = np.array([[0.5, 100.5], [10_000.5, 0.5]])
    shares /= shares.sum(axis=1, keepdims=True)
    by_hand = (shares[0] - shares[1]) @ np.log(shares[0] / shares[1])
    assert stability_index(other, reference)[0] == pytest.approx(by_hand)
    # Six of the ten groups have cases; chance gives (6 - 1) (1/100 + 1/10,000).
    rng = np.random.default_rng(0)
    drawn = [[counts(expit(rng.normal(-3.0, 0.3, n))) for n in (100, 10_000)] for _ in range(200)]
    assert np.mean([stability_index(*one)[0] for one in drawn]) == pytest.approx(0.0505, rel=0.1)


def test_moments_must_sort_as_time_does_whatever_their_offsets():
    hours = ["2024-10-27T01:00+02:00", "2024-10-27T02:00+02:00", "2024-10-27T02:00+01:00", "2024-10-27T03:00+01:00"]
    y, p = [0, 1] * 20, np.linspace(0.1, 0.9, 40)
    with pytest.raises(InputValueError, match="must sort in the order of time"):
        pr.monitor(pr.condense(y, p, by={"hour": np.repeat(hours, 10)}), period="hour")
    one = [hour.replace("+02:00", "+01:00") for hour in ("2024-10-27T01:00+02:00", "2024-10-27T02:00+02:00")]
    assert pr.monitor(pr.condense(y, p, by={"hour": np.repeat(one, 20)}), period="hour").times == tuple(one)


def test_the_last_days_of_a_model_that_expects_nothing_have_no_ratio():
    watch = pr.monitor(pr.condense([0, 1] * 20, np.zeros(40), by={"day": np.arange(40) // 10}))
    assert np.isnan(watch.days.rolling()).all()


def test_labels_of_two_kinds_are_not_stored(tmp_path):
    rng = np.random.default_rng(1)
    p, day = rng.beta(1, 4, 400), rng.integers(0, 12, 400)
    site = np.array([1 if place % 2 else "1" for place in range(400)], dtype=object)
    found = pr.monitor(pr.condense(rng.random(400) < p, {"m": p}, by={"day": day, "site": site}))
    with pytest.raises(InputTypeError, match="the labels of site must be of one kind"):
        found.to_parquet(tmp_path / "state")


def stations(correlation, *, days=120, number=12):
    """Return calibrated forecasts of stations, one forecast a day for all, whose latent outcomes are correlated."""
    rng = np.random.default_rng(2)
    q, day = np.repeat(rng.beta(2, 6, days), number), np.repeat(np.arange(days), number)
    shared = np.repeat(rng.standard_normal(days), number)
    latent = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.standard_normal(len(q))
    return ndtr(latent) < q, q, day


@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.5])
def test_several_cases_of_one_day_are_noted(correlation, tmp_path):
    """With a correlation of 0.5, calibrated forecasts raised an alarm in 25 of 25 streams, "at most 5%"."""
    y, q, day = stations(correlation)
    watch = pr.monitor(pr.condense(y, {"m": q}, by={"day": day}))
    assert "(probability of any false alarm: at most 5% for independent cases)" in str(watch)
    assert watch.note.startswith("several cases of one day count as independent given their forecasts")
    assert str(watch).endswith(f"Note: {watch.note}.")
    watch.to_parquet(tmp_path)
    assert LedgerMonitor.from_parquet(tmp_path).note == watch.note


def test_a_monitor_of_one_case_a_day_has_no_note():
    y, q, _ = stations(0.0)
    ledger = pr.condense(y[:120], {"m": q[:120]}, by={"day": np.arange(120) // 2, "site": np.arange(120) % 2})
    watch = pr.monitor(ledger)
    assert (watch.note, "(probability of any false alarm: at most 5%)" in str(watch)) == ("", True)
    whole = pr.monitor(ledger.over("site"))
    assert whole.note
