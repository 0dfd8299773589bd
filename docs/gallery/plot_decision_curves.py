"""
Decision curves
===============

Net benefit is true positives minus false positives, per case, with false positives weighted by the odds of the
threshold. Higher is better. The threshold range of interest is shaded.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(3)
log_odds = rng.normal(-2.0, 1.3, 4_000)
y = rng.random(4_000) < 1 / (1 + np.exp(-log_odds))
models = {"calibrated": 1 / (1 + np.exp(-log_odds)), "too high": 1 / (1 + np.exp(-log_odds - 1.5))}

curves = {name: pr.decision_curve(y, p, thresholds=(0.05, 0.2)) for name, p in models.items()}
ax = pr.plots.plot_threshold_curves(curves)
