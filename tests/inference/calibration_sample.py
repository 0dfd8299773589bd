"""Samples of calibrated and other forecasts, and the line that is fitted to them."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit


def sample(n, seed, power=1.0, shift=0.0, mean=-0.5):
    """Return forecasts with different log-odds, and outcomes whose log-odds are a line of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(mean, 1.2, n)
    return expit(x), rng.random(n) < expit(power * x + shift)


def fitted_line(p, y, w):
    """Return the slope of a logistic regression on the log-odds, and its error, by a minimiser of its own."""
    x = logit(p)

    def loss(line):
        eta = line[0] + line[1] * x
        return float(w @ (np.logaddexp(0.0, eta) - y * eta)), np.array(
            [w @ (expit(eta) - y), w @ ((expit(eta) - y) * x)]
        )

    found = minimize(loss, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-9})
    rate = expit(found.x[0] + found.x[1] * x)
    design = np.stack([np.ones(len(x)), x], axis=1)
    bread = np.linalg.inv((design * (w * rate * (1 - rate))[:, None]).T @ design)
    meat = (design * (w**2 * rate * (1 - rate))[:, None]).T @ design
    return found.x[1], np.sqrt((bread @ meat @ bread)[1, 1])


SAMPLES = [
    sample(300, 1),  # Calibrated.
    sample(300, 2, power=0.5),  # Too extreme.
    sample(300, 3, shift=0.8),  # Too low.
    sample(300, 4, power=-1.0),  # Reversed.
    sample(200, 5, mean=-4.5),  # Few events.
    sample(120, 6, mean=-2.5, shift=1.0),  # Few but too many.
    sample(300, 7, mean=3.5, shift=-1.0),  # Few non-events, and many in one direction.
    (np.array([0.02, 0.05, 0.9, 0.01]), np.array([False, True, True, False])),  # A variance below 1.
]
