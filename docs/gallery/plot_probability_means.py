"""
Means of probabilities
======================

Decisiveness, accuracy and robustness of a model, against their values for calibrated forecasts. The line has an angle
of 45 degrees if the forecasts are calibrated, up to sampling noise; these are far too extreme.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(8)
log_odds = rng.normal(0.0, 1.6, 5_000)
y = rng.random(5_000) < 1 / (1 + np.exp(-log_odds))

ax = pr.probability_means(y, 1 / (1 + np.exp(-2 * log_odds))).plot()
