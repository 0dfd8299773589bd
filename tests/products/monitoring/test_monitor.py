"""Monitors: what is read, found, said, continued, stored and refused."""

import json
import math
import multiprocessing
import os
import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.products.monitoring.files import _checksum_of
from propriety.products.monitoring.rows import EXTRA
from propriety.products.monitoring.stability_index import BINS, bin_of, stability_index
from propriety.results import Monitored


def simulated(days=40, cases=300, sites=("a", "b"), change=None, seed=0, models=1):
    """Return the ledger of some days and sites; `change(day, site, p)` is the true probability."""
    rng = np.random.default_rng(seed)
    size = days * cases
    day, site = np.repeat(np.arange(days), cases), rng.choice(sites, size)
    p = expit(rng.normal(-1.5, 1.0, size))
    truth = p if change is None else change(day, site, p)
    forecasts = {"m": p} | ({"old": expit(logit(p) + rng.normal(0, 0.5, size))} if models == 2 else {})
    return pr.condense(rng.random(size) < truth, forecasts, by={"day": day, "site": site})


def single(n=600, seed=3, models=2):
    rng = np.random.default_rng(seed)
    p = expit(rng.normal(0.0, 1.0, n))
    forecasts = {"m": p} | ({"old": expit(logit(p) + rng.normal(0, 1.0, n))} if models == 2 else {})
    return rng.random(n) < p, forecasts


def frames(*watches):
    return [watch.to_frame(backend="pandas") for watch in watches]


def row_of(watch, measure, model="m", against=None, site=None):
    keys = {} if site is None else {"site": site}
    rows = [one for one in watch if (one.measure.key, one.model, one.against) == (measure, model, against)]
    (row,) = [one for one in rows if one.keys == keys]
    return row


@pytest.fixture(scope="module")
def two_models():
    return simulated(days=30, models=2)


@pytest.mark.parametrize(
    ("direction", "measure", "change"),
    [
        ("too low", "observed_expected", lambda p: expit(logit(p) + 0.5)),
        ("too high", "observed_expected", lambda p: expit(logit(p) - 0.5)),
        ("too extreme", "calibration_slope", lambda p: expit(-1.0 + 0.5 * (logit(p) + 1.0))),
        ("too timid", "calibration_slope", lambda p: expit(-1.0 + 2.0 * (logit(p) + 1.0))),
    ],
)
def test_a_change_is_found_with_its_day_and_direction(direction, measure, change):
    def truth(day, site, p):
        return np.where((day >= 25) & (site == "b"), change(p), p)

    watch = pr.monitor(simulated(days=45, change=truth, cases=1000, seed=2))
    assert all(row.verdict != "bad" for row in watch if row.keys["site"] == "a")
    found = row_of(watch, measure, site="b")
    assert (found.verdict, found.extra["direction"]) == ("bad", direction)
    assert 25 <= found.extra["alarm"] <= 45
    assert abs(found.extra["since"] - 25) <= 4
    name = "slope" if measure == "calibration_slope" else "observed/expected"
    assert f"m, {name} (site b): forecasts {direction} since day" in str(watch)
    assert watch.alarms == sum(row.verdict == "bad" for row in watch)


def test_numbers_are_those_of_the_cases(two_models):
    watch = pr.monitor(two_models, measures=["observed_expected", "brier", "auc"], stated={"auc": 0.5})
    own = pr.Ledger.of_tables({"m": two_models.table("m", site="a"), "old": two_models.table("old", site="a")})
    for key, measure in (("observed_expected", pr.measures.ObservedExpected()), ("brier", pr.Brier())):
        expected = pr.estimate(own, "m", measure).value
        assert row_of(watch, key, site="a").value == pytest.approx(expected)
    pair = row_of(watch, "brier", against="old", site="a")
    assert pair.value == pytest.approx(
        pr.compare(two_models.where(site="a").over("site")).where(model="m", against="old")[0].value
    )
    assert all(row.low <= row.value <= row.high for row in watch)
    day = watch.days().where(measure="auc", model="old", keys={"day": 7, "site": "b"})[0]
    assert day.value == pytest.approx(pr.measures.AreaUnderRoc().value(two_models.table("old", day=7, site="b")))
    ratio = watch.days().where(measure="observed_expected", model="m", keys={"day": 7, "site": "b"})[0]
    table = two_models.table("m", day=7, site="b")
    v = ((table.events + table.non_events) * table.forecast * (1.0 - table.forecast)).sum()
    assert (ratio.n, ratio.events) == (table.n, table.n_events)
    assert ratio.extra["expected"] == pytest.approx(table.n * table.mean_forecast)
    assert ratio.error == pytest.approx(math.sqrt(v) / (table.n * table.mean_forecast))


def test_arrays_frames_cases_and_ledgers_give_the_same():
    rng = np.random.default_rng(8)
    columns = {"day": np.repeat(np.arange(12), 60), "site": rng.choice(["a", "b"], 720), "p": rng.beta(1, 4, 720)}
    columns["y"] = (rng.random(720) < columns["p"]).astype(int)
    frame = pd.DataFrame(columns)
    ledger = pr.condense(frame, ["p"], outcome="y", by=["day", "site"])
    expected = pr.monitor(ledger)
    pl = pytest.importorskip("polars")
    reads = [
        pr.monitor(frame, ["p"], outcome="y", period="day", by=["site"]),
        pr.monitor(pl.DataFrame(columns).lazy(), ["p"], outcome="y", period="day", by=["site"]),
        pr.monitor(frame["y"], {"p": frame["p"]}, period=frame["day"], by={"site": frame["site"]}),
        pr.monitor(pr.cases(frame, ["p"], outcome="y", by=["site", "day"])),
        pr.monitor(pr.cases(frame, ["p"], outcome="y", by="site", period="day")),
    ]
    order = rng.permutation(720)
    reads.append(pr.monitor(frame.iloc[order], ["p"], outcome="y", period="day", by=["site"]))
    for found in reads:
        pd.testing.assert_frame_equal(*frames(found, expected), rtol=1e-9)
    assert pr.monitor(ledger, by=[]).keys == {}
    unnamed = pr.monitor(columns["y"], columns["p"], period=columns["day"])
    assert "over 12 periods" in str(unnamed)


@pytest.mark.parametrize("mature_after", [0, 3])
def test_days_one_by_one_through_files_give_the_same_state(two_models, tmp_path, mature_after):
    options = {"reference_days": 4, "mature_after": mature_after, "measures": ["observed_expected", "log", "auc"]}
    whole = pr.monitor(two_models, **options)
    for day in range(mature_after, 30):
        own = two_models.where(day=list(range(max(0, day - mature_after), day + 1)))
        first = day == mature_after
        watch = pr.monitor(own, **options) if first else Monitored.from_parquet(tmp_path).extend(own)
        watch.to_parquet(tmp_path)
    found = Monitored.from_parquet(tmp_path)
    pd.testing.assert_frame_equal(*frames(found, whole), rtol=1e-12, atol=0)
    pd.testing.assert_frame_equal(*frames(found.days(), whole.days()), rtol=1e-12, atol=0)
    assert (str(found), found.waiting) == (str(whole), whole.waiting)
    names = {path.name for path in tmp_path.glob("*.parquet")}
    assert names == {
        f"state-{30 - mature_after}-{mature_after}.parquet",
        f"times-{30 - mature_after}-{mature_after}.parquet",
    }


def test_single_cases_are_bet_on_exactly_and_continued(tmp_path):
    y, forecasts = single()
    whole = pr.monitor(y, forecasts)
    assert set(whole.method) == {"bets on single cases"}
    assert whole.options.period == "case"
    assert [(one.measure.key, one.against) for one in whole] == [
        *[("observed_expected", None)] * 2,
        ("brier", "old"),
    ]
    assert row_of(whole, "brier", against="old").verdict == "good"
    assert "m against old, Brier score: better (shown on case" in str(whole)
    pr.monitor(y[:250], {name: one[:250] for name, one in forecasts.items()}).to_parquet(tmp_path)
    read = Monitored.from_parquet(tmp_path)
    read.extend(y[250:], {name: one[250:] for name, one in forecasts.items()}).to_parquet(tmp_path)
    pd.testing.assert_frame_equal(*frames(Monitored.from_parquet(tmp_path), whole), rtol=1e-12)
    with pytest.raises(InputValueError, match="one case of each period"):
        pr.monitor(pr.condense([1, 0], [0.4, 0.5], by={"day": [1, 2]})).extend(
            pr.condense([1, 0], [0.4, 0.5], by={"day": [3, 3]})
        )


def test_a_wrong_single_model_is_found_and_a_stated_score_kept():
    rng = np.random.default_rng(5)
    p = rng.random(2000)
    y = rng.random(2000) < np.clip(0.8 * p, 0, 1)
    watch = pr.monitor(y, p, ["observed_expected", "brier"], stated={"brier": 0.3})
    ratio, score = watch
    assert (ratio.verdict, ratio.extra["direction"]) == ("bad", "too high")
    assert ratio.high < 1.0
    assert score.verdict == "good"
    assert score.low <= float(pr.brier_score(y, p)) <= score.high


def test_a_certain_forecast_that_fails_is_an_alarm_for_ever_and_never_infinite_in_words():
    y, p, day = [0, 1, 1, 0, 1, 0], [0.2, 0.7, 0.0, 0.3, 0.6, 0.4], [1, 1, 2, 2, 3, 3]
    watch = pr.monitor(pr.condense(y, {"m": p}, by={"day": day}))
    row = row_of(watch, "observed_expected")
    assert (row.extra["alarm"], row.extra["since"], row.extra["direction"]) == (2, 2, "refuted")
    assert "evidence" not in row.extra
    assert row.note("refuted").parts["number"] == 1
    assert "a forecast of 0 or 1 was wrong on day 2" in str(watch)
    assert "inf" not in str(watch)
    assert json.loads(watch.to_json())["evidence"][0] is None


def test_departures_within_the_margin_are_small_and_raise_no_alarm():
    rng = np.random.default_rng(1)
    day, p = np.repeat(np.arange(60), 2000), rng.beta(2, 6, 120_000)
    ledger = pr.condense(rng.random(len(p)) < 1.04 * p, {"m": p}, by={"day": day})
    watch = pr.monitor(ledger)
    assert (watch.alarms, row_of(watch, "observed_expected").verdict) == (0, "small")
    assert "Shown, but not beyond the margin: m, observed/expected (1.0" in str(watch)
    assert row_of(pr.monitor(ledger, margin=0), "observed_expected").verdict == "bad"
    assert row_of(pr.monitor(ledger, margin=0.1), "observed_expected").verdict == "good"


def test_the_worse_model_raises_an_alarm_and_the_better_one_is_good_news():
    rng = np.random.default_rng(3)
    size, day = 25_000, np.repeat(np.arange(50), 500)
    p = expit(rng.normal(0, 1, size))
    new = expit(logit(p) + np.where(day >= 30, 1.2, 0.3) * rng.normal(0, 1, size))
    old = expit(logit(p) + 0.3 * rng.normal(0, 1, size))
    y = rng.random(size) < p
    found = row_of(pr.monitor(pr.condense(y, {"new": new, "old": old}, by={"day": day})), "brier", "new", "old")
    assert (found.verdict, found.extra["direction"]) == ("bad", "worse")
    assert abs(found.extra["since"] - 30) <= 5
    watch = pr.monitor(pr.condense(y, {"old": old, "new": new}, by={"day": day}), measures=["observed_expected"])
    assert row_of(watch, "brier", "old", "new").verdict == "good"
    assert (watch.alarms, "old against new, Brier score: better (shown on day" in str(watch)) == (0, True)


def test_models_that_are_the_same_for_a_while_leave_no_evidence():
    rng = np.random.default_rng(4)
    day, p = np.repeat(np.arange(60), 100), rng.random(6000)
    shadow = np.where(day < 40, p, np.clip(p + 0.1 * rng.normal(size=6000), 0.01, 0.99))
    y = rng.random(6000) < p
    same = pr.monitor(y, {"live": p, "shadow": p}, period=day)
    assert row_of(same, "brier", "live", "shadow").value == 0.0
    watch = pr.monitor(y, {"live": p, "shadow": shadow}, period=day)
    row = row_of(watch, "brier", "live", "shadow")
    assert row.verdict != "bad"
    assert row.p <= 1.0
    assert not np.isnan(watch.numbers().log_e_value).any()


def test_measures_without_an_ideal_are_compared_with_the_periods_before():
    def spread(table):
        """Return the standard deviation of the forecasts, a measure of ten lines."""
        return float(
            np.sqrt(np.average((table.forecast - table.mean_forecast) ** 2, weights=table.events + table.non_events))
        )

    rng = np.random.default_rng(2)
    day = np.repeat(np.arange(80), 200)
    p = expit(-1.0 + np.where(day < 50, 1.0, 0.6) * rng.normal(size=len(day)))
    ledger = pr.condense(rng.random(len(p)) < p, {"m": p}, by={"day": day})
    watch = pr.monitor(ledger, measures=[spread, "auc"], reference_days=20)
    row = row_of(watch, "spread")
    assert (row.verdict, row.extra["direction"], abs(row.extra["since"] - 50) <= 3) == ("bad", "lower", True)
    assert row_of(watch, "auc").extra["direction"] == "worse"
    calm = pr.monitor(ledger.where(day=list(range(50))), measures=[spread, "auc"], reference_days=20)
    assert calm.alarms == 0
    assert pr.monitor(ledger, measures=["auc"], stated={"auc": 0.1}).alarms == 0


def test_measures_of_your_own_are_named_when_a_monitor_is_read(two_models, tmp_path):
    def rate(table):
        return float(table.event_rate)

    pr.monitor(two_models.where(day=[0, 1, 2]), measures=[rate], reference_days=1).to_parquet(tmp_path)
    with pytest.raises(InputValueError, match="must hold your own measures that are monitored; 'rate' is missing"):
        Monitored.from_parquet(tmp_path)
    assert Monitored.from_parquet(tmp_path, measures=[rate]).extend(two_models.where(day=3)).times == (0, 1, 2, 3)


def test_neighbours_that_are_alike_are_noted():
    rng, effect = np.random.default_rng(0), np.zeros(120)
    for place in range(1, 120):
        effect[place] = 0.7 * effect[place - 1] + 0.7 * rng.normal()
    day = np.repeat(np.arange(120), 500)
    p = rng.beta(2, 8, len(day))
    y = rng.random(len(day)) < np.clip(p * np.exp(0.25 * effect[day]), 0, 1)
    watch = pr.monitor(pr.condense(y, {"m": p}, by={"day": day}))
    assert row_of(watch, "observed_expected").note("correlated-neighbours").parts == {"what": "day"}
    assert "Note: m, observed/expected: neighbouring days are alike" in str(watch)
    assert row_of(watch, "calibration_slope").notes == ()


def test_the_error_budget_is_not_exceeded_by_streams_that_appear_later():
    watch = pr.monitor(simulated(days=1, cases=60))
    for day in range(1, 12):
        sites = [f"s{number}" for number in range(day)]
        watch = watch.extend(simulated(days=day + 1, cases=60, sites=["a", "b", *sites]).where(day=day))
    assert len(watch) > 20
    assert watch.streams["share"].sum() < 1.0
    assert watch.streams["share"][:4].tolist() == [0.75 / 4] * 4


def test_calibrated_forecasts_raise_few_alarms():
    watch = pr.monitor(simulated(days=12, cases=6000, sites=np.arange(300), seed=5))
    assert watch.alarms == 0
    assert (watch.streams["highest"] >= math.log(20.0)).mean() <= 0.05


def test_days_that_are_not_mature_are_shown_and_do_not_alarm(two_models):
    watch = pr.monitor(two_models, mature_after=5)
    assert (watch.times[-1], watch.waiting) == (24, (25, 26, 27, 28, 29))
    later, tested = watch.immature(), pr.monitor(two_models).numbers()
    rows = tested.period >= 25
    np.testing.assert_array_equal(later.n, tested.n[rows])
    np.testing.assert_array_equal(later.total, tested.total[rows])
    assert "Not tested yet: 5 days." in str(watch).splitlines()
    assert repr(watch) == f"Monitored(streams={len(watch)}, periods=25, alarms=0, waiting=5, level=0.95)"
    with pytest.raises(InputValueError, match=r"must have every day that was not mature.*they lack 25"):
        watch.extend(two_models.where(day=[26, 27]))
    with pytest.raises(InputValueError, match="mature_after must be shorter"):
        pr.monitor(two_models, mature_after=99)


def test_days_that_change_or_come_late_are_refused(two_models):
    watch = pr.monitor(two_models.where(day=list(range(5, 20))))
    assert watch.extend(two_models.where(day=list(range(10, 20)))).times == watch.times
    with pytest.raises(InputValueError, match="cases or forecasts of a day that has been monitored must not change"):
        watch.extend(simulated(days=20, models=2, seed=9).where(day=list(range(10, 20))))
    with pytest.raises(InputValueError, match="models and keys of a day that has been monitored must not change"):
        watch.extend(two_models.where(day=12, site="a"))
    with pytest.raises(InputValueError, match="sorted order"):
        watch.extend(two_models.where(day=4))
    with pytest.raises(InputValueError, match="same models"):
        watch.extend(simulated())


def test_outcomes_of_a_monitored_day_that_change_places_are_noticed():
    p, days = [0.25, 0.5, 0.25, 0.5], [1, 1, 2, 2]
    watch = pr.monitor(pr.condense([0, 1, 0, 1], p, by={"day": days}))
    with pytest.raises(InputValueError, match="has been monitored must not change; those of 2 have"):
        watch.extend(pr.condense([0, 1, 1, 0], p, by={"day": days}))


def test_what_cannot_be_monitored_is_refused(two_models):
    y, p, by = [0, 1, 1, 0], [0.2, 0.7, 0.4, 0.3], {"day": [1, 1, 2, 2]}
    with pytest.raises(InputValueError, match="no key of periods"):
        pr.monitor(pr.condense(y, {"m": p}))
    with pytest.raises(InputValueError, match="several keys, so that period= must name one"):
        pr.monitor(pr.condense(y, {"m": p}, by={"week": [1, 1, 2, 2], "site": [1, 2, 1, 2]}))
    with pytest.raises(InputValueError, match="no key 'week'"):
        pr.monitor(two_models, period="week")
    for more, law in (({"sample_weight": [1, 2, 1, 1]}, "without weights"), ({"cluster": [1, 1, 2, 2]}, "clusters")):
        with pytest.raises(InputValueError, match=law):
            pr.monitor(pr.condense(y, {"m": p}, by=by, **more))
    with pytest.raises(InputValueError, match="one event"):
        pr.monitor(pr.condense([0, 1, 2, 0], {"m": np.full((4, 3), 1 / 3)}, by=by))
    with pytest.raises(InputValueError, match="reference_days"):
        pr.monitor(two_models, reference_days=0)
    with pytest.raises(InputValueError, match="margin"):
        pr.monitor(two_models, margin=-0.1)
    with pytest.raises(
        InputValueError, match=r"stated must state values of the measures that are monitored.*got 'auc'"
    ):
        pr.monitor(two_models, stated={"auc": 0.8})
    with pytest.raises(InputTypeError, match="period must be the period of each case"):
        pr.monitor(y, p, period="day")


@pytest.mark.parametrize("key", EXTRA)
def test_keys_called_like_columns_of_the_result_are_refused(key):
    y, p = [0, 1, 1, 0], [0.2, 0.7, 0.4, 0.3]
    with pytest.raises(InputValueError, match=f"must not be called '{key}'"):
        pr.monitor(pr.condense(y, {"m": p}, by={"day": [1, 1, 2, 2], key: [1, 2, 1, 2]}))


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
    assert Monitored.from_parquet(tmp_path).times == (0, 1, 2)
    assert sorted(path.name for path in (tmp_path / "periods").iterdir()) == [
        "periods-1-2.parquet",
        "periods-3-3.parquet",
    ]


@pytest.fixture
def stored(two_models, tmp_path):
    """Return a folder with a monitor of two days."""
    pr.monitor(two_models.where(day=[0, 1])).to_parquet(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["state-2-0.parquet", "times-2-0.parquet", "periods/periods-1-2.parquet", "monitor.json"]
)
def test_stored_files_that_are_missing_or_changed_are_refused(stored, name):
    whole = (stored / name).read_bytes()
    changed = whole.replace(b"0.95", b"0.10") if name == "monitor.json" else whole + b" "
    for damaged in (whole[:-9], b"", changed, None):
        (stored / name).unlink()
        if damaged is not None:
            (stored / name).write_bytes(damaged)
        with pytest.raises(InputValueError, match="monitor"):
            Monitored.from_parquet(stored).days()
        (stored / name).write_bytes(whole)
    assert Monitored.from_parquet(stored).days().n.sum() > 0


def test_a_folder_that_lost_its_facts_is_not_continued(stored, two_models):
    (stored / "monitor.json").unlink()
    with pytest.raises(InputValueError, match=r"no monitor.json.*another folder"):
        pr.monitor(two_models.where(day=[0, 1])).to_parquet(stored)


@pytest.mark.parametrize(
    ("law", "change"),
    [
        ("add up to at most 1", {"share": 50.0}),
        ("add up to at most 1", {"share": np.nan}),
        ("one of 2 periods", {"alarm": 2, "since": 2}),
        ("directions", {"direction": 99}),
        ("every stream must have a case", {"n": 0}),
        ("missing", {"total": np.nan}),
        ("of its measures", {"asked": 9}),
        ("whole numbers", {"alarm": -1.0}),
    ],
)
def test_states_that_no_monitor_has_are_refused(two_models, tmp_path, law, change):
    watch = pr.monitor(two_models.where(day=[0, 1]))
    columns = watch.streams.columns | {name: np.full(len(watch), value) for name, value in change.items()}
    replace(watch, streams=replace(watch.streams, columns=columns)).to_parquet(tmp_path)
    with pytest.raises(InputValueError, match=law):
        Monitored.from_parquet(tmp_path)


@pytest.mark.parametrize(
    "facts", [{"level": 1.5}, {"reference_days": 0}, {"periods": "2"}, {"models": []}, {"by": [1]}]
)
def test_facts_that_no_monitor_has_are_refused(stored, facts):
    changed = json.loads((stored / "monitor.json").read_text()) | facts
    (stored / "monitor.json").write_text(json.dumps(changed | {"checksum": _checksum_of(changed)}))
    with pytest.raises(InputValueError, match="must"):
        Monitored.from_parquet(stored)


def _write_and_die(folder, ledger, after):
    """Write the next day, and be killed after some file operations."""
    real, done = os.replace, [0]

    def dying(*paths, **options):
        if done[0] >= after:
            os.kill(os.getpid(), signal.SIGKILL)
        done[0] += 1
        return real(*paths, **options)

    os.replace = dying
    Monitored.from_parquet(folder).extend(ledger).to_parquet(folder)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("after", [0, 1, 2, 3, 9])
def test_a_killed_write_leaves_the_monitor_as_it_was_or_as_it_is_to_be(two_models, stored, after):
    own = two_models.where(day=[2, 3])
    process = multiprocessing.get_context("fork").Process(target=_write_and_die, args=(stored, own, after))
    process.start()
    process.join(60)
    found = Monitored.from_parquet(stored)
    assert found.times in ((0, 1), (0, 1, 2, 3))
    assert (found.times == (0, 1, 2, 3)) == (process.exitcode == 0 or after > 3)
    found.extend(own).to_parquet(stored)
    expected = pr.monitor(two_models.where(day=[0, 1, 2, 3]))
    pd.testing.assert_frame_equal(*frames(Monitored.from_parquet(stored), expected), rtol=1e-12)


def test_labels_of_two_kinds_are_not_stored(tmp_path):
    rng = np.random.default_rng(1)
    p, day = rng.beta(1, 4, 400), rng.integers(0, 12, 400)
    site = np.array([1 if place % 2 else "1" for place in range(400)], dtype=object)
    found = pr.monitor(pr.condense(rng.random(400) < p, {"m": p}, by={"day": day, "site": site}))
    with pytest.raises(InputTypeError, match="the labels of site must be of one kind"):
        found.to_parquet(tmp_path / "state")


def test_stability_index_by_hand():
    rng = np.random.default_rng(1)
    p, q = expit(rng.normal(-2, 1, 5000)), expit(rng.normal(-1.5, 1, 800))
    reference = np.bincount(bin_of(p), minlength=BINS).astype(float)[None]
    zeros = np.zeros(800, dtype=int)
    found = stability_index(zeros, bin_of(q), np.ones(800), zeros[:1], reference)
    # Deciles of the reference, computed from the cases; the bins move them a little.
    edges = np.quantile(p, np.arange(1, 10) / 10)
    shares = [np.bincount(np.searchsorted(edges, one), minlength=10) / len(one) for one in (q, p)]
    assert found[0] == pytest.approx(np.sum((shares[0] - shares[1]) * np.log(shares[0] / shares[1])), rel=0.15)
    assert np.isnan(stability_index(zeros, bin_of(q), np.ones(800), zeros[:1], 0.0 * reference)[0])


def test_stability_is_that_of_later_days_only(two_models):
    days = pr.monitor(two_models, reference_days=7).days()
    psi = days.extra["stability_index"]
    is_ratio = np.array([one.key == "observed_expected" for one in days.measure])
    late = np.array([day >= 7 for day in days.keys["day"]])
    assert all((one is not None) == kept for one, kept in zip(psi, is_ratio & late, strict=True))
    assert max(one for one in psi if one is not None) < 1.0
