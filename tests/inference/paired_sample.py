"""Two models on the same cases, for tests that compute their errors by hand."""

import numpy as np
from scipy import stats

import propriety as pr
from propriety.inference.bootstrap import Drawing
from propriety.inference.dependence import student

RNG = np.random.default_rng(11)
N = 240
P = np.round(RNG.beta(1.5, 2.0, N), 2) * 0.98 + 0.01
Q = np.clip(P + RNG.normal(0.0, 0.15, N), 0.01, 0.99)
Y = RNG.random(N) < P
WEIGHT = RNG.gamma(2.0, 1.0, N)
UNIT = RNG.integers(0, 30, N)
MODELS = {"p": P, "q": Q}
AUC, RATIO, SLOPE = pr.measures.AreaUnderRoc(), pr.measures.ObservedExpected(), pr.measures.CalibrationSlope()
DRAWING = Drawing(n_resamples=60, seed=3)
BRIER = [(one - Y) ** 2 for one in (P, Q)]
T = float(stats.t.ppf(0.95, N - 1))


def brier_series():
    return [*BRIER, BRIER[0] - BRIER[1]]


def mean_error(x, weight=None):
    w = np.ones(len(x)) if weight is None else weight
    mean = w @ x / w.sum()
    return np.sqrt(len(x) / (len(x) - 1) * (w**2 @ (x - mean) ** 2)) / w.sum()


FITTED = "variance of outcomes at the fitted rates"


def assert_students(paired, values, error, df, level=0.9, models=()):
    """Assert the numbers of Student's t; `models` are estimates of single models, if they have other limits."""
    expected = student(np.array(values), np.array(error), np.asarray(df, dtype=float), level)
    np.testing.assert_allclose(paired.values, values)
    for name in ("standard_error", "low", "high", "p_value"):
        wanted = getattr(expected, name).copy()
        if name != "p_value":
            wanted[: len(models)] = [getattr(one, name.removeprefix("standard_")) for one in models]
        np.testing.assert_allclose(getattr(paired.found, name), wanted, rtol=1e-6, err_msg=name)
