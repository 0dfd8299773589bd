"""
Ordered grades by cut point
===========================

Each cut point of an ordered outcome defines an event, "at most this grade". Are its forecasts calibrated?
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(10)
grades = np.arange(4)
centre = rng.uniform(0, 3, 2_000)
truth = np.exp(-((grades - centre[:, None]) ** 2))
truth /= truth.sum(axis=1, keepdims=True)
y = (rng.random((2_000, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
P = truth**1.8 / (truth**1.8).sum(axis=1, keepdims=True)

tables = pr.condense(y, P, ordered=True).tables()
curves = {grade: pr.reliability_curve(t).with_consistency_band(seed=1) for grade, t in tables.items()}
figure = pr.plots.plot_cut_point_reliability(curves)
