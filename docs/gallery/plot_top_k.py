"""
Top k
=====

If only a limited number of cases can be treated, how many of the events are among the highest forecasts?
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(7)
log_odds = rng.normal(-3.0, 1.5, 5_000)
y = rng.random(5_000) < 1 / (1 + np.exp(-log_odds))

ax = pr.top_k(y, 1 / (1 + np.exp(-log_odds)), k=[50, 100, 200, 300, 400, 600, 800, 1_000]).plot()
