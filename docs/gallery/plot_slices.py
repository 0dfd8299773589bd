"""
Groups
======

Is the model equally good in every group, or does a group differ from the rest by more than chance would explain?
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(13)
site = rng.choice(["north", "east", "south", "west"], 4_000, p=[0.4, 0.3, 0.2, 0.1])
log_odds = rng.normal(-1.2, 1.3, 4_000)
y = rng.random(4_000) < 1 / (1 + np.exp(-log_odds - np.where(site == "west", 1.2, 0.0)))

ax = pr.slices(y, 1 / (1 + np.exp(-log_odds)), by=site).plot()
