"""
Risk-coverage curve
===================

If a model answers only the cases of which it is most confident, how many of its answers are wrong? The two confidences
here belong to the same answers, but one of them is noisy.
"""

import numpy as np
from matplotlib import pyplot as plt

import propriety as pr

rng = np.random.default_rng(3)
chance = rng.beta(4, 1.5, 2_000)
right = rng.random(2_000) < chance
noisy = np.clip(chance + rng.normal(0, 0.2, 2_000), 0, 1)

_, ax = plt.subplots(figsize=(4.8, 3.7), layout="constrained")
for index, (name, confidence) in enumerate({"exact": chance, "noisy": noisy}.items()):
    pr.risk_coverage_curve(right, confidence).plot(ax, label=name, color=index)
