"""
ROC curve
=========

How well forecasts rank cases with and without the event. Some points are labelled with their thresholds.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(5)
log_odds = rng.normal(-0.5, 1.8, 2_000)
y = rng.random(2_000) < 1 / (1 + np.exp(-log_odds))

ax = pr.roc_curve(y, 1 / (1 + np.exp(-log_odds))).plot()
