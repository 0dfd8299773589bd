"""
Scores over horizons
====================

Forecasts of an event by one, two, ... years, of cases that were not all followed up so long. The second row of labels
counts the cases that were.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(3)
n, horizons = 2_000, [1.0, 2.0, 3.0, 4.0, 5.0]
x = rng.normal(size=n)
event, left = rng.exponential(4 * np.exp(-x)), rng.exponential(6, n)
outcomes = pr.censored(np.minimum(event, left), event <= left, horizons=horizons)
risk, vague = (1 - np.exp(-np.outer(np.exp(slope * x) / 4, horizons)) for slope in (1.0, 0.4))

ax = pr.horizon_curve(outcomes, {"sharp": risk, "vague": vague}).plot()
