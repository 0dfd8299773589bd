"""
Retention curve
===============

Remove the cases with the largest losses and evaluate the decisions on the rest. Here a fifth of the forecasts are
confident and wrong by one grade, and a few are less confident and wrong by several grades. The curve of a rule that
finds the harmful errors first rises first.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(10)
y = rng.integers(0, 4, 3_000)
kind = rng.random(3_000)
by_one, by_several = np.where(y < 3, y + 1, y - 1), np.where(y < 2, 3, 0)
centre = np.select([kind < 0.2, kind > 0.96], [by_one, by_several], y)
sharpness = np.select([kind < 0.2, kind > 0.96], [3.0, 1.2], 1.5)
P = np.exp(-sharpness[:, None] * np.abs(np.arange(4) - centre[:, None]))
P /= P.sum(axis=1, keepdims=True)

ax = pr.retention_curve(y, P, rule=[pr.RankedProbability(), pr.Brier()]).plot()
