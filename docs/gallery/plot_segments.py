"""
Segments
========

In which combinations of country, device and age are the forecasts wrong? All segments are tested at one error rate.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(5)
n = 100_000
country, device = rng.choice(["DE", "FR", "PL", "US"], n), rng.choice(["desk", "phone", "tablet"], n)
age = rng.normal(45, 14, n)
p = rng.beta(1, 8, n)
wrong = np.where((country == "FR") & (device == "phone"), 1.4, np.where(country == "PL", 0.75, 1.0))
y = rng.random(n) < np.minimum(wrong * p, 1.0)

ax = pr.find_segments(pr.cases(y, p, by={"country": country, "device": device, "age": age}), seed=1).plot()
