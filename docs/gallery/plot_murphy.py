"""
Murphy diagram
==============

The mean elementary score at every threshold, and the part that recalibration would remove. If the curve of one model
is below that of another everywhere, the model is better by every proper score.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(4)
log_odds = rng.normal(-0.5, 1.5, 4_000)
y = rng.random(4_000) < 1 / (1 + np.exp(-log_odds))
p = 1 / (1 + np.exp(-2 * log_odds))

ax = pr.murphy_curve(y, p).plot()
