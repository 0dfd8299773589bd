"""
Calibration curve over sites
============================

One curve for 12 hospitals, fitted to their ledgers: the mean hospital with its band, the curve of each, and the range
of that of a further hospital.
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
ax = pr.pooled_curve(ledger).plot()
