"""
Reliability diagram
===================

Does the event happen as often as forecast? The curve pools forecasts without a choice of bins. The pointwise band
shows where the curve would lie at each forecast if the forecasts were calibrated.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(1)
honest = rng.beta(1, 3, 2_000)
y = rng.random(2_000) < honest
bold = honest**2 / (honest**2 + (1 - honest) ** 2)

curve = pr.reliability_curve(y, bold).with_consistency_band(level=0.9, seed=1)
ax = curve.plot()
