"""Events and grades on which the boosting libraries are trained, and the rules that follow the training."""

import numpy as np
import pytest
from scipy.special import expit

import propriety as pr

RNG = np.random.default_rng(1)
X = RNG.normal(size=(600, 4))
MARGIN = X[:, 0] + 0.8 * X[:, 1]
EVENT = (RNG.random(600) < expit(MARGIN)).astype(int)
GRADE = np.digitize(MARGIN + RNG.logistic(size=600), [-1.0, 1.0])
WEIGHT = RNG.integers(0, 4, 600).astype(float)
UNEVEN = RNG.uniform(0.9, 1.1, 600)  # So that no two classes tie in a leaf, where rounding would decide.
TRAIN, TEST = slice(0, 300), slice(300, 600)

RULES_BY_TASK = [
    pytest.param("event", pr.PenalizedBrier(), id="event-PBS"),
    pytest.param("event", pr.PenalizedLog(), id="event-PLL"),
    pytest.param("event", pr.BoundedBrier(0.2, 0.6), id="event-bounded"),
    pytest.param("event", pr.Brier(), id="event-Brier"),
    pytest.param("grade", pr.PenalizedBrier(), id="grade-PBS"),
    pytest.param("grade", pr.PenalizedLog(), id="grade-PLL"),
    pytest.param("grade", pr.RankedProbability(), id="grade-RPS"),
]
