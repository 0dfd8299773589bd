"""
Monitoring
==========

Evidence that a model has become worse than another, updated after every case.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(11)
log_odds = rng.normal(0.0, 1.5, 3_000)
y = rng.random(3_000) < 1 / (1 + np.exp(-log_odds))
drift = np.where(np.arange(3_000) < 1_200, 0.0, 1.0)

drifting, steady = 1 / (1 + np.exp(-log_odds - drift)), 1 / (1 + np.exp(-0.9 * log_odds))
ax = pr.monitor_comparison(y, drifting, steady).plot()
