"""Monitoring a ledger: false alarms of 1,000 keys over 365 days, and the delay until a real change is found.

A day of a key has a Poisson number of cases, whose forecasts are drawn from twelve values with the given mean. Null
settings: the forecasts are calibrated; with one error budget of 5% over 1,000 keys, the share of years with any alarm
must be at most 5%, and so must the share of keys that ever reach an e-value of 20. Alternatives: observed/expected is
1.2 or 0.8 in one key from day 200 on; the delay is counted in days from the change to the alarm, with the threshold of
one key among 1,000. It is compared with the test that a dashboard would use: a z-test of events minus forecasts on each
day, two-sided at 5% with Bonferroni's correction for 1,000 keys and 365 days. `since_error` is the median distance of
the estimated day of the change from the true one. Writes `results/ledger_monitor.csv`.

Run: python studies/ledger_monitor.py [--years 40] [--keys 400]
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtri
from study_tables import write_rows

from propriety.products.monitoring.evidence import Evidence, calibration_growth

DAYS, KEYS, LEVEL, FIRST_SHARE, CHANGE = 365, 1000, 0.95, 0.75, 200
THRESHOLD = -np.log1p(-LEVEL) - np.log(FIRST_SHARE / KEYS)
CELLS = 12


class Setting(NamedTuple):
    """Cases of a key per day, mean of the log-odds of the forecasts, and observed/expected from day 200 on."""

    cases: int
    mean: float
    ratio: float = 1.0


NULL = {
    "calibrated, 200 cases, 5% events": Setting(200, -3.4),
    "calibrated, 20 cases, 1% events": Setting(20, -5.1),
    "calibrated, 1,000 cases, 20% events": Setting(1000, -1.7),
}
CHANGED = {
    f"observed/expected {ratio} from day 200, {cases:,} cases, {share} events": Setting(cases, mean, ratio)
    for ratio in (1.2, 0.8)
    for share, mean in (("5%", -3.4), ("20%", -1.7))
    for cases in (200, 1000, 5000)
}


class Stream:
    """The days of many independent keys of one setting."""

    def __init__(self, setting: Setting, keys: int, seed: int) -> None:
        self.setting, self.keys = setting, keys
        self.generator = np.random.default_rng(seed)
        self.p = expit(setting.mean + np.linspace(-2.0, 2.0, CELLS))
        share = np.exp(-0.5 * np.linspace(-2.0, 2.0, CELLS) ** 2)
        self.share = share / share.sum()
        self.entry, self.forecast = np.repeat(np.arange(keys), CELLS), np.tile(self.p, keys)

    def day(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the events and the non-events of each key and forecast."""
        truth = self.p * (self.setting.ratio if number >= CHANGE else 1.0)
        n = self.generator.poisson(self.setting.cases * self.share, (self.keys, CELLS))
        events = self.generator.binomial(n, truth)
        return events.astype(float), (n - events).astype(float)

    def monitored(self) -> dict[str, np.ndarray]:
        """Return, per key, the highest log e-value, the days of the alarms, and the estimated day of the change."""
        evidence = Evidence.none(self.keys)
        highest = np.zeros(self.keys)
        alarm, daily, since = (np.full(self.keys, np.inf) for _ in range(3))
        z_threshold = ndtri(1.0 - (1.0 - LEVEL) / 2.0 / KEYS / DAYS)
        for number in range(DAYS):
            events, non_events = self.day(number)
            growth = calibration_growth(self.entry, self.keys, self.forecast, events.ravel(), non_events.ravel())
            evidence = evidence.after(growth, number)
            log_e = evidence.log_e_value
            reached = (log_e >= THRESHOLD) & np.isinf(alarm)
            alarm[reached], since[reached] = number, evidence.since[reached]
            highest = np.maximum(highest, log_e)
            n = events + non_events
            z = (events - n * self.p).sum(axis=1) / np.sqrt(np.maximum((n * self.p * (1 - self.p)).sum(axis=1), 1e-9))
            daily[(np.abs(z) >= z_threshold) & np.isinf(daily)] = number
        return {"highest": highest, "alarm": alarm, "daily": daily, "since": since}


def null_row(name: str, setting: Setting, years: int) -> dict[str, object]:
    """Return how often there are false alarms."""
    any_alarm, any_daily, twenty = 0, 0, 0.0
    for year in range(years):
        found = Stream(setting, KEYS, seed=year).monitored()
        any_alarm += bool(np.isfinite(found["alarm"]).any())
        any_daily += bool(np.isfinite(found["daily"]).any())
        twenty += float((found["highest"] >= np.log(20.0)).mean()) / years
    row = {"setting": name, "truth": "null", "monitors": years, "alarms": round(any_alarm / years, 4)}
    return row | {"keys_above_20": round(twenty, 5), "daily_test_alarms": round(any_daily / years, 4)}


def changed_row(name: str, setting: Setting, keys: int) -> dict[str, object]:
    """Return the delay of the alarms of one key among 1,000; an alarm before the change is not counted."""
    found = Stream(setting, keys, seed=1).monitored()
    delays = {name: np.where(found[name] >= CHANGE, found[name] - CHANGE + 1, np.inf) for name in ("alarm", "daily")}
    in_time = np.isfinite(delays["alarm"])
    error = np.abs(found["since"][in_time] - CHANGE)
    row: dict[str, object] = {"setting": name, "truth": "alternative", "monitors": keys}
    row |= {"alarms": round(float(in_time.mean()), 4), "median_delay": median(delays["alarm"])}
    row |= {"delay_90": quantile(delays["alarm"], 0.9), "since_error": float(np.median(error)) if len(error) else ""}
    return row | {
        "daily_test_alarms": round(float(np.isfinite(delays["daily"]).mean()), 4),
        "daily_test_delay": median(delays["daily"]),
    }


def median(days: np.ndarray) -> object:
    """Return the median delay; empty if more than half of the changes were not found."""
    return quantile(days, 0.5)


def quantile(days: np.ndarray, share: float) -> object:
    """Return a quantile of the delays, empty if it is infinite."""
    found = float(np.quantile(days, share, method="higher"))
    return int(found) if np.isfinite(found) else ""


def main() -> None:
    """Monitor all settings, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--years", type=int, default=40)
    parser.add_argument("--keys", type=int, default=400)
    options = parser.parse_args()
    rows = [null_row(name, setting, options.years) for name, setting in NULL.items()]
    print(*rows, sep="\n", flush=True)
    for name, setting in CHANGED.items():
        rows.append(changed_row(name, setting, options.keys))
        print(rows[-1], flush=True)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    write_rows("ledger_monitor", rows, columns=columns)


if __name__ == "__main__":
    main()
