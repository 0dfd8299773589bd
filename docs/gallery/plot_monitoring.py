"""
Monitoring
==========

Evidence that a model is off in every segment of a ledger, after each day. Lines are streams, and the dot is an alarm.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(4)
n = 120 * 2_000
day, site = np.repeat(np.arange(1, 121), 2_000), rng.choice(["north", "south", "east", "west"], n)
log_odds = rng.normal(-2.5, 1.0, n)
drift = np.where((day >= 80) & (site == "east"), 0.35, 0.0)
y = rng.random(n) < 1 / (1 + np.exp(-log_odds - drift))

ledger = pr.condense(y, {"live": 1 / (1 + np.exp(-log_odds))}, by={"day": day, "site": site}, cells=64)
ax = pr.monitor(ledger).plot()
