"""
Forest plot over sites
======================

Observed/expected of a risk model in 12 hospitals. The diamond is the mean over hospitals with its interval. The bar
below it is the prediction interval: the range of the true value in a further hospital.
"""

import numpy as np
from scipy.special import expit

import propriety as pr

rng = np.random.default_rng(3)
sizes = rng.integers(150, 900, 12)
site = np.repeat([f"Hospital {place + 1:02d}" for place in range(12)], sizes)
x, shift = rng.normal(size=sizes.sum()), np.repeat(rng.normal(0, 0.3, 12), sizes)
y = rng.random(len(x)) < expit(x - 1.5 + shift)

ledger = pr.condense(y, {"risk": expit(x - 1.5)}, by={"site": site})
ax = pr.pool_sites(ledger).plot()
