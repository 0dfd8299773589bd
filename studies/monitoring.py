"""Monitors: how often there is a false alarm where cases are correlated, and how soon a change is found.

Evidence of many streams at once, at a level of 95% for each; false alarms should be in at most 5% of streams.

- Twelve stations a day for 120 days, whose outcomes have a latent correlation of 0, .2 or .5, with forecasts of their
  own or one for all: calibrated, and two models that are equally far from the truth.
- 300 days of 2,000 cases on average, 5% events, with day effects of standard deviation .2 (log): days of lognormal
  size, weekends of a fifth, growth by a factor of twenty.
- A constant excess of 3% or -5% in 200 days of 2,000 or 20,000 cases, with day effects of 0 or .1; margin .05.
- Day effects that are correlated from day to day (0, .3, .6): how often a note says so.
- A drift of 20% in observed/expected from day 200 of 365: the median delay of the alarm in days, beside that of the
  monitor before (likelihood ratios of independent cases, with the same streams), and the error of its estimated start.
- One case a period, 10,000 of them: calibrated forecasts, two equal models, forecasts 15% too low.
- Seconds: 100,000 single cases; 1,000 keys and 365 days of 20 cases at once; one more day of them.

Writes `results/monitoring.csv`; takes about ten minutes.

Run: python studies/monitoring.py [--streams 400]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit, ndtri
from study_tables import write_rows

import propriety as pr
from propriety.products.monitoring.period_evidence import Evidence, PeriodSums

LEVEL = 0.95
STATIONS, CELLS, DRIFT = 12, 40, 200
FORECASTS = expit(-3.2 + 0.8 * ndtri((np.arange(CELLS) + 0.5) / CELLS))
# Median delays of the monitor before (commit b0f0c7c6) in the same streams of 200, 1,000 and 5,000 cases a day.
BEFORE = {200: 50.5, 1000: 13, 5000: 3}
Days = Callable[[int], PeriodSums]


def alarms_of(
    days: Days, streams: int, periods: int, margin: float, *, two_sided: bool = True
) -> dict[str, np.ndarray]:
    """Return the day of the alarm and its estimated start of each stream, and whether neighbours are noted."""
    evidence, none = Evidence.none(streams), np.zeros(streams, dtype=np.int64)
    alarm, since = np.full(streams, np.inf), np.zeros(streams)
    for day in range(periods):
        evidence = evidence.after(days(day), day)
        sides = evidence.sides(np.full(streams, margin), none)
        both = np.logaddexp(sides.higher, sides.lower) - np.log(2.0)
        new = ((both if two_sided else sides.higher) >= -np.log1p(-LEVEL)) & np.isinf(alarm)
        alarm[new] = day
        since[new] = np.where(sides.higher >= sides.lower, sides.higher_since, sides.lower_since)[new]
    each = [evidence.at(np.array([stream])).correlated(LEVEL)[0] for stream in range(streams)]
    return {"alarm": alarm, "since": since, "note": np.array(each)}


def stations(correlation: float, streams: int, *, shared: bool, equal: bool, seed: int = 1) -> Days:
    """Return the days of stations: sums of y - p, or of the differences in Brier score of two equal models."""
    generator = np.random.default_rng(seed)

    def days(_: int) -> PeriodSums:
        shape = (streams, 1 if shared else STATIONS)
        p = np.broadcast_to(generator.beta(2, 5, shape), (streams, STATIONS))
        z = np.sqrt(correlation) * generator.standard_normal((streams, 1))
        y = z + np.sqrt(1.0 - correlation) * generator.standard_normal((streams, STATIONS)) < ndtri(p)
        if not equal:
            return PeriodSums((y - p).sum(1), p.sum(1), (p * (1.0 - p)).sum(1))
        one, other = (expit(logit(p) + 0.5 * generator.standard_normal(shape)) for _ in range(2))
        difference = (y - one) ** 2 - (y - other) ** 2
        return PeriodSums(difference.sum(1), np.full(streams, float(STATIONS)), (difference**2).sum(1))

    return days


def counts(
    cases: int,
    effect: float,
    size: str,
    streams: int,
    periods: int,
    *,
    alike: float = 0.0,
    excess: float = 1.0,
    drift: float = 1.0,
    seed: int = 2,
) -> Days:
    """Return days of many cases, whose rates share an effect of the day, also with that of the day before."""
    generator, last = np.random.default_rng(seed), np.zeros(streams)

    def days(day: int) -> PeriodSums:
        noise = generator.standard_normal(streams)
        last[:] = noise if day == 0 else alike * last + np.sqrt(1.0 - alike**2) * noise
        n = np.full(streams, float(cases))
        if size == "lognormal":
            n = cases * np.exp(generator.standard_normal(streams) - 0.5)
        elif size == "weekends" and day % 7 >= 5:
            n /= 5.0
        elif size == "growing":
            n *= np.exp(-1.5 + 3.0 * day / (periods - 1))
        cells = generator.poisson(n[:, None] / CELLS, (streams, CELLS))
        factor = np.exp(effect * last - effect**2 / 2.0) * excess * (drift if day >= DRIFT else 1.0)
        y = generator.binomial(cells, np.clip(FORECASTS * factor[:, None], 0.0, 0.999))
        expected = cells * FORECASTS
        return PeriodSums((y - expected).sum(1), expected.sum(1), (expected * (1.0 - FORECASTS)).sum(1))

    return days


def null_rows(streams: int) -> list[dict[str, object]]:
    """Return how often there are false alarms."""
    settings: list[tuple[str, Days, int, float, bool]] = []
    for equal in (False, True):
        for shared in (False, True):
            for correlation in (0.0, 0.2, 0.5):
                what = f"{'two equal models' if equal else 'calibrated'}, {'shared' if shared else 'own'} forecasts"
                days = stations(correlation, streams, shared=shared, equal=equal)
                settings.append((f"12 stations, correlation {correlation:g}, {what}", days, 120, 0.0, not equal))
    for size in ("lognormal", "weekends", "growing"):
        days = counts(2000, 0.2, size, streams, 300)
        settings.append((f"2,000 cases, effects .2, sizes {size}", days, 300, 0.0, True))
    for cases in (2000, 20_000):
        for effect in (0.0, 0.1):
            for excess in (1.03, 0.95):
                days = counts(cases, effect, "lognormal", streams, 200, excess=excess)
                name = f"{cases:,} cases, effects {effect:g}, constant excess {excess - 1.0:+.0%}"
                settings.append((name, days, 200, 0.05, True))
    settings.append(("20 cases, 5% events", counts(20, 0.0, "same", streams, 365), 365, 0.0, True))
    rows = []
    for name, days, periods, margin, two_sided in settings:
        found = alarms_of(days, streams, periods, margin, two_sided=two_sided)
        row = {"setting": name, "streams": streams, "periods": periods, "margin": margin}
        rows.append(row | {"alarms": round(float(np.isfinite(found["alarm"]).mean()), 4)})
        print(rows[-1], flush=True)
    for alike in (0.0, 0.3, 0.6):
        found = alarms_of(counts(2000, 0.2, "same", streams, 300, alike=alike), streams, 300, 0.05)
        row = {"setting": f"2,000 cases, effects .2, neighbouring days correlated by {alike:g}", "streams": streams}
        row |= {"periods": 300, "margin": 0.05, "alarms": round(float(np.isfinite(found["alarm"]).mean()), 4)}
        rows.append(row | {"notes": round(float(found["note"].mean()), 4)})
        print(rows[-1], flush=True)
    return rows


def drift_row(cases: int, margin: float, streams: int) -> dict[str, object]:
    """Return the median delay until a drift of 20% is found."""
    found = alarms_of(counts(cases, 0.0, "same", streams, 365, drift=1.2), streams, 365, margin)
    delay = np.where(found["alarm"] >= DRIFT, found["alarm"] - DRIFT + 1, np.inf)
    in_time, median = np.isfinite(delay), float(np.median(delay))
    row: dict[str, object] = {"setting": f"drift of 20% from day 200, {cases:,} cases, 5% events", "streams": streams}
    row |= {"periods": 365, "margin": margin, "alarms": round(float(in_time.mean()), 4)}
    row |= {"median_delay": int(median) if np.isfinite(median) else "", "delay_before": BEFORE[cases]}
    return row | {"since_error": float(np.median(np.abs(found["since"][in_time] - DRIFT))) if in_time.any() else ""}


def single_rows(streams: int, cases: int = 10_000) -> list[dict[str, object]]:
    """Return how often exact bets on single cases raise an alarm."""
    rows = []
    for name, factor in (("calibrated", 1.0), ("two equal models", 1.0), ("15% too low", 1.15)):
        reached = []
        for stream in range(streams):
            generator = np.random.default_rng([stream, 7])
            p = expit(generator.normal(-1.0, 1.0, cases))
            y = generator.random(cases) < np.clip(p * factor, 0.0, 1.0)
            forecasts = {"a": p}
            if name == "two equal models":
                forecasts = {one: expit(logit(p) + 0.5 * generator.standard_normal(cases)) for one in "ab"}
            watch = pr.monitor(y, forecasts, margin=0.0)
            row = watch.against == "b" if name == "two equal models" else watch.model == "a"
            alarm = watch.extra["alarm"][np.flatnonzero(row)[-1]]
            reached.append(np.inf if alarm is None else float(alarm))
        median = float(np.median(reached))
        told: dict[str, object] = {"setting": f"one case a period, {name}", "streams": streams, "periods": cases}
        told |= {"margin": 0.0, "alarms": round(float(np.isfinite(reached).mean()), 4)}
        rows.append(told | {"median_delay": int(median) if np.isfinite(median) else ""})
        print(rows[-1], flush=True)
    return rows


def timing_rows(keys: int = 1000, days: int = 365, cases: int = 20) -> list[dict[str, object]]:
    """Return seconds of the processor; the last day of the keys is added to a monitor of the days before."""
    generator = np.random.default_rng(1)
    p = generator.random(100_000)
    y = generator.random(len(p)) < p
    start = time.process_time()
    pr.monitor(y, p)
    rows = [{"setting": "100,000 single cases", "seconds": round(time.process_time() - start, 3)}]
    n = keys * days * cases
    by = {"day": np.repeat(np.arange(days), keys * cases), "key": np.tile(np.repeat(np.arange(keys), cases), days)}
    p = np.clip(np.round(generator.beta(1, 9, n) * 64) / 64, 1 / 64, 63 / 64)
    ledger = pr.condense(generator.random(n) < p, {"m": p}, by=by)
    before, last = ledger.where(day=list(range(days - 1))), ledger.where(day=days - 1)
    for part in (before, last):
        part.keyed_tables("m", part.events[0])  # Counting is no part of monitoring.
    start = time.process_time()
    watch = pr.monitor(before)
    rows.append({"setting": f"{keys:,} keys, {days - 1} days", "seconds": round(time.process_time() - start, 3)})
    watch.extend(last)
    start = time.process_time()
    watch.extend(last)
    return [*rows, {"setting": f"one more day of {keys:,} keys", "seconds": round(time.process_time() - start, 4)}]


def main() -> None:
    """Monitor streams of every setting, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=400)
    streams = parser.parse_args().streams
    rows = null_rows(streams)
    for cases in BEFORE:
        rows += [drift_row(cases, margin, streams // 2) for margin in (0.0, 0.05)]
        print(*rows[-2:], sep="\n", flush=True)
    rows += single_rows(streams // 2)
    rows += timing_rows()
    columns = list(dict.fromkeys(column for row in rows for column in row))
    write_rows("monitoring", rows, columns=columns)


if __name__ == "__main__":
    main()
