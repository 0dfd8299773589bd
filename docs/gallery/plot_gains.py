"""
Gain, lift, and precision and recall
====================================

What is found if the cases with the highest forecasts are acted on: the share of the events (gain), how many times more
frequent events are among these cases than among all (lift), and the share of correct alerts against the share of the
events found (precision and recall).
"""

import numpy as np
from matplotlib import pyplot as plt

import propriety as pr

rng = np.random.default_rng(7)
log_odds = rng.normal(-2.0, 1.5, 4_000)
y = rng.random(4_000) < 1 / (1 + np.exp(-log_odds))
noise = {"sharp": 0.3, "vague": 1.5}
curves = {
    name: pr.roc_curve(y, 1 / (1 + np.exp(-log_odds - spread * rng.standard_normal(4_000)))).gains()
    for name, spread in noise.items()
}

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
pr.plots.plot_gains(curves, axes[0])
pr.plots.plot_lifts(curves, axes[1])
ax = pr.plots.plot_precision_recall(curves, axes[2])
