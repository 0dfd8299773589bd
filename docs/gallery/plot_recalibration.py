"""
Recalibration
=============

Reliability curves of forecasts that are too high and too extreme, before and after recalibration, out of sample.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(8)
log_odds = rng.normal(-1.0, 1.1, 4_000)
y = rng.random(4_000) < 1 / (1 + np.exp(-log_odds))

ax = pr.recalibrate(y, 1 / (1 + np.exp(-0.5 - 1.5 * log_odds))).plot()
