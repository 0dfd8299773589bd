"""
Ranking map
===========

The model with the lowest mean regret on every range of thresholds. In the hatched area, the difference may be due to
chance.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(6)
signal, detail = rng.normal(-2.0, 1.2, 4_000), rng.normal(0.0, 0.9, 4_000)
y = rng.random(4_000) < 1 / (1 + np.exp(-signal - detail))
models = {"A": 1 / (1 + np.exp(-0.9 * signal)), "B": 1 / (1 + np.exp(-1.9 * (signal + detail) - 0.9))}

ranks = pr.ranking_map(y, models, axis="log-odds", thresholds=(0.05, 0.2))
ax = ranks.plot()
