"""
Labels that arrive late
=======================

Events are reported days after the forecast, so the newest forecasts have few events so far. The blue line is the number
of reports that calibrated forecasts would have by now.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(11)
n, today = 40_000, 59
made = rng.integers(0, 60, n)
p = 1 / (1 + np.exp(3.8 - rng.normal(size=n)))
delay = np.floor(rng.lognormal(np.log(10), 0.6, n))
reported = np.where(rng.random(n) < p, made + delay, np.nan)

ax = pr.late_labels(p, made=made, reported=reported, now=today).plot()
