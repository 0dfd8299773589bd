"""
Decomposition of scores
=======================

Each point is a model. Models further left are better calibrated, models further up discriminate better, and models on
one line have the same score.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(1)
honest = rng.beta(1, 3, 5_000)
y = rng.random(5_000) < honest
models = {
    "honest": honest,
    "bold": honest**2 / (honest**2 + (1 - honest) ** 2),
    "timid": 0.25 + 0.4 * (honest - 0.25),
    "coarse": np.where(honest < 0.2, 0.1, np.where(honest < 0.5, 0.3, 0.6)),
}

ax = pr.plots.plot_decompositions({name: pr.decompose(y, p) for name, p in models.items()})
