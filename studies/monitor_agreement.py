"""Monitors: whether the verdict of a comparison and its confidence sequence ever contradict each other.

10,000 streams of 1,000 cases whose forecasts are Beta(1, 3) and calibrated. Model and reference are these forecasts
with a constant added to each: the same, the model off by 0.04, 0.08 or 0.15, the reference off by 0.08, or the model
off in the first half and the reference in the second. Verdict and sequence agree if the alarm is at the first case
after which the lower limit is above 0, the clear at the first after which the upper one is below 0, the p-value is at
most 5% exactly where an alarm was raised, and the words describe the limits after the last case. The previous method,
an alarm at an e-value of 20 with limits at 2.5% on each side, is shown for comparison.
Writes `results/monitor_agreement.csv`; takes some minutes.

Run: python studies/monitor_agreement.py [--streams 10000]
"""

from __future__ import annotations

import argparse

import numpy as np
from study_tables import write_rows

import propriety as pr

CASES, LEVEL = 1000, 0.95
HALF = np.arange(CASES) < CASES // 2
SETTINGS: dict[str, tuple[float | np.ndarray, float | np.ndarray]] = {
    "the same": (0.0, 0.0),
    "off by 0.04": (0.04, 0.0),
    "off by 0.08": (0.08, 0.0),
    "off by 0.15": (0.15, 0.0),
    "reference off by 0.08": (0.0, 0.08),
    "off by 0.2 first, then the reference": (np.where(HALF, 0.2, 0.0), np.where(HALF, 0.0, 0.2)),
}
WORDS = {"worse": ("is worse",), "better": ("is better",), "not distinguishable": ("No alarm", "not distinguishable")}


def first(reached: np.ndarray) -> int | None:
    """Return after how many cases it was first so."""
    return int(reached.argmax()) + 1 if reached.any() else None


def agrees(found: pr.results.MonitoredComparison) -> bool:
    """Return whether the verdict is that of the limits, at every case and in words."""
    same = found.alarm == first(found.low > 0.0) and found.better_at == first(found.high < 0.0)
    same &= first(found.p_value <= 1.0 - LEVEL) == found.alarm
    standing = "worse" if found.low[-1] > 0.0 else "better" if found.high[-1] < 0.0 else "not distinguishable"
    return bool(same and found.standing == standing and any(word in found.verdict for word in WORDS[standing]))


def agreed_before(found: pr.results.MonitoredComparison) -> bool:
    """Return whether the rule that was used before agrees with the limits."""
    bar = -np.log1p(-LEVEL)
    sides = ((found.log_e_value, found.low > 0.0), (found.log_e_better, found.high < 0.0))
    return all(first(log_e >= bar) == first(outside) for log_e, outside in sides)


def monitor(name: str, streams: int) -> dict[str, object]:
    """Return the row of a setting."""
    counts = {"alarms": 0, "clears": 0, "disagree": 0, "disagreed_before": 0}
    for stream in range(streams):
        generator = np.random.default_rng([list(SETTINGS).index(name), stream])
        q = generator.beta(1.0, 3.0, CASES)
        y = generator.random(CASES) < q
        model, reference = (np.clip(q + shift, 0.0, 1.0) for shift in SETTINGS[name])
        found = pr.monitor_comparison(y, model, reference, level=LEVEL)
        counts["alarms"] += found.alarm is not None
        counts["clears"] += found.better_at is not None
        counts["disagree"] += not agrees(found)
        counts["disagreed_before"] += not agreed_before(found)
    return {"setting": name, "streams": streams} | counts


def main() -> None:
    """Monitor streams of every setting, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=10_000)
    options = parser.parse_args()
    rows = []
    for place, name in enumerate(SETTINGS):
        share = options.streams // len(SETTINGS) + (place < options.streams % len(SETTINGS))
        rows.append(monitor(name, share))
        print(rows[-1], flush=True)
    write_rows("monitor_agreement", rows)


if __name__ == "__main__":
    main()
