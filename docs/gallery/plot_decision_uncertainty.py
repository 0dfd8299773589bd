"""
Decision curves with bands
==========================

Net benefit with limits at each threshold (dark) and at all thresholds together (light), and what it would be worth to
know the best strategy for sure.
"""

import numpy as np
from matplotlib import pyplot as plt

import propriety as pr

rng = np.random.default_rng(2)
new = rng.beta(1, 7, 800)
old = np.clip(new + rng.normal(0, 0.06, 800), 0, 1)
y = rng.random(800) < new

found = pr.decision_uncertainty(y, {"new": new, "old": old}, thresholds=(0.05, 0.3), more_cases=1_000, seed=1)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.9), layout="constrained")
found.plot(left)
found.plot(right, kind="value")
