"""
Evaluation
==========

The results of ``evaluate`` for two models in one figure.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(14)
honest = rng.beta(1, 3, 3_000)
y = rng.random(3_000) < honest
bold = honest**2 / (honest**2 + (1 - honest) ** 2)

figure = pr.evaluate(y, {"honest": honest, "bold": bold}, thresholds=(0.05, 0.2), seed=1).plot()
