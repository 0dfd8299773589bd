"""
Operating points
================

What happens at each threshold: how many of the events are found, how many alerts are right, and how many cases
are acted on. The shaded bands are confidence limits for one threshold at a time.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(7)
log_odds = rng.normal(-2.0, 1.5, 2_000)
y = rng.random(2_000) < 1 / (1 + np.exp(-log_odds))

curve = pr.decision_curve(y, 1 / (1 + np.exp(-log_odds)))
ax = curve.operating_points(grid=np.linspace(0.02, 0.6, 59)).plot()
