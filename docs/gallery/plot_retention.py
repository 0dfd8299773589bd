"""
Retention curve
===============

Remove the cases with the largest loss and measure the decisions on the rest. The rule that finds the harmful errors
first rises first.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(9)
grades = np.arange(5)
centre = rng.uniform(0, 4, 3_000)
truth = np.exp(-((grades - centre[:, None]) ** 2))
truth /= truth.sum(axis=1, keepdims=True)
y = (rng.random((3_000, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
P = np.where(rng.random((3_000, 1)) < 0.05, truth[:, ::-1], truth)  # some cases are mixed up, end for end

ax = pr.retention_curve(y, P, rule=[pr.RankedProbability(), pr.Brier()]).plot()
