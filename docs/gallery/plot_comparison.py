"""
Comparison
==========

Differences between models on the same cases, with a confidence interval and a verdict for each pair.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(12)
truth = rng.beta(1, 2, 1_500)
y = rng.random(1_500) < truth
models = {
    "sharp": truth,
    "bold": truth**1.5 / (truth**1.5 + (1 - truth) ** 1.5),
    "vague": 0.1 + 0.7 * truth,
    "nearly sharp": 0.01 + 0.98 * truth,
}

ax = pr.compare(y, models).plot()
