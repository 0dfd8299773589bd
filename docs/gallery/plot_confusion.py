"""
Confusion matrix
================

Which class does the model find most likely, and which one happens? Shades are shares of the row.
"""

import numpy as np

import propriety as pr

rng = np.random.default_rng(2)
names = ["cat", "dog", "fox", "wolf"]
likeness = np.array([[3.0, 0.5, 0.2, 0.0], [0.3, 2.2, 0.4, 1.6], [0.4, 0.6, 2.6, 0.5], [0.0, 1.5, 0.5, 2.0]])
truth = rng.integers(0, 4, 1_500)
scores = likeness[truth] + rng.normal(0, 0.9, (1_500, 4))
p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

ax = pr.evaluate(np.array(names)[truth], p, labels=names, seed=1).confusion["forecast"].plot()
