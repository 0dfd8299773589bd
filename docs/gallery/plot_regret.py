"""
Regret curve
============

The mean cost of wrong decisions at every threshold, compared with treating everybody and treating nobody. The area
under the curve is half the Brier score.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(2)
log_odds = rng.normal(-1.0, 1.5, 5_000)
y = rng.random(5_000) < 1 / (1 + np.exp(-log_odds))
p = 1 / (1 + np.exp(-1.5 * log_odds))

ax = pr.regret_curve(y, p).plot()
