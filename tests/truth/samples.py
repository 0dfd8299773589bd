"""Weighted samples on which sums and differences lose digits."""

import math

import numpy as np
from adversarial import BELOW_ONE, FORECASTS, around

TIED = [0.1, *around(0.3), 0.5, 0.7, 0.9]
THRESHOLDS = [0.0, 1e-310, 0.05, *around(0.3), 0.5, 0.7, *around(0.9), BELOW_ONE]


def _drawn(seed, forecasts, *, weighted):
    generator = np.random.default_rng(seed)
    p = generator.choice(forecasts, 40)
    y = generator.random(40) < np.clip(p, 0.1, 0.9)
    return y, p, 10.0 ** generator.uniform(-15.0, 15.0, 40) if weighted else np.ones(40)


# The weights of the last two span 30 orders of magnitude along the forecasts, so that a sum taken from the wrong end, or
# as what is left of another sum, has no digit of the small ones.
FORECAST_ORDER = np.array([0.1, 0.3, math.nextafter(0.3, 1.0), 0.5, 0.7, BELOW_ONE])
RISING = np.array([1e-15, 1e-14, 1e-10, 1e10, 1e15, 1e15])

SAMPLES = {
    "adversarial forecasts": _drawn(1, FORECASTS, weighted=False),
    "adversarial forecasts with weights": _drawn(2, FORECASTS, weighted=True),
    "ties with weights": _drawn(3, TIED, weighted=True),
    "rare non-events": (np.array([0, 1, 0, 1, 1, 1]), FORECAST_ORDER, RISING),
    "rare events": (np.array([1, 0, 1, 0, 0, 0]), FORECAST_ORDER, RISING),
}
