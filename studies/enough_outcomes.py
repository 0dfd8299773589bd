"""How many of the rarer outcome show a gross error of calibration: the numbers by which a verdict says "too few".

Forecasts are wrong by a factor of 1.5: the number of events is 1.5 times that expected, or the log-odds are stretched
by 1.5 (slope 0.67). With so many events expected, each at three event rates, `results/enough_outcomes.csv` has how
often observed/expected, the slope and the test of calibration show it at 5%. The log-odds of the true probabilities
have a standard deviation of 1, the spread of a model with an area under the ROC curve of about 0.75. What is enough
may depend on the outcomes only: a worse model must not be told that it has too few.

Run: python studies/enough_outcomes.py [--samples 1000]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri
from study_tables import write_rows

from propriety.calibration.calibration_test import calibration_test
from propriety.errors import UNDEFINED
from propriety.inference.measures.line import CalibrationSlope
from propriety.inference.measures.ratios import ObservedExpected
from propriety.tables.forecast_table import ForecastTable

RATES = (0.03, 0.1, 0.3)
EVENTS = (24, 36, 48, 60, 72, 96, 120, 144, 192)
FACTOR, Z = 1.5, float(ndtri(0.975))


def centred(rate: float, draws: np.ndarray) -> np.ndarray:
    """Return true probabilities with this mean, whose log-odds have a standard deviation of 1."""
    middle = brentq(lambda a: float(expit(a + draws).mean()) - rate, -10.0, 10.0)
    return np.asarray(expit(middle + draws))


def shown(y: np.ndarray, p: np.ndarray, seed: int) -> tuple[bool, bool, bool]:
    """Return whether observed/expected, the slope and the test of calibration reject calibrated forecasts."""
    table = ForecastTable.from_predictions(y, p)
    test = calibration_test(table, n_resamples=500, seed=seed).p_value <= 0.05
    ratio = ObservedExpected()
    try:
        influence = ratio.influence(table)
        squares = table.events @ influence.event**2 + table.non_events @ influence.non_event**2
        off = abs(np.log(ratio.value(table))) > Z * np.sqrt(squares) / table.n / ratio.value(table)
    except UNDEFINED:
        off = False
    slope = CalibrationSlope()
    try:
        tilted = abs(slope.value(table) - 1.0) > Z * slope.error_of_independent(table)
    except UNDEFINED:
        tilted = False
    return bool(off), bool(tilted), bool(test)


def row(rate: float, events: int, samples: int) -> dict[str, Any]:
    """Return how often each error is found with so many events expected."""
    generator, n = np.random.default_rng(20_005), round(events / rate)
    population = np.random.default_rng(1).standard_normal(100_000)
    middle = float(logit(centred(rate, population)[:1])[0] - population[0])
    low = np.zeros(3)
    stretched = np.zeros(3)
    for seed in range(samples):
        x = middle + generator.standard_normal(n)
        y = generator.random(n) < expit(x)
        low += shown(y, expit(x) / FACTOR, seed)
        stretched += shown(y, expit(middle + FACTOR * (x - middle)), seed)
    return {
        "rate": rate,
        "events": events,
        "n": n,
        "samples": samples,
        "observed/expected 1.5: by itself": round(low[0] / samples, 3),
        "observed/expected 1.5: by the test": round(low[2] / samples, 3),
        "slope 0.67: by itself": round(stretched[1] / samples, 3),
        "slope 0.67: by the test": round(stretched[2] / samples, 3),
    }


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    options = parser.parse_args()
    rows = []
    for rate in RATES:
        for events in EVENTS:
            rows.append(row(rate, events, options.samples))
            print(rows[-1], flush=True)
    write_rows("enough_outcomes", rows)


if __name__ == "__main__":
    main()
