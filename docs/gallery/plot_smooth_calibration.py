"""
Smooth calibration curve
========================

A smooth calibration curve with its confidence band, next to the CORP curve with its consistency band. The histogram
shows events upwards and non-events downwards. These forecasts are too extreme.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(6)
log_odds = rng.normal(-0.8, 1.2, 2_000)
y = rng.random(2_000) < 1 / (1 + np.exp(-log_odds))
curve = pr.reliability_curve(y, 1 / (1 + np.exp(-1.6 * log_odds))).with_consistency_band(seed=1)

smooth = curve.smooth(seed=1)
ax = smooth.plot(label=f"ICI {smooth.ici:.3f} ({smooth.ici_low:.3f} to {smooth.ici_high:.3f})", curve=curve)
