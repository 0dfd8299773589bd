"""Calibration as R computes it.

The numbers were computed with R 4.2.2 and rms 6.5.0 from the cases below, written with 17 digits:

    v <- val.prob(p, y, pl = FALSE)                          # Brier, Emax, E90, Eavg
    x <- qlogis(p)
    strict <- list(epsilon = 1e-14, maxit = 100)
    glm(y ~ offset(x), family = binomial, control = strict)  # the intercept
    glm(y ~ x, family = binomial, control = strict)          # the slope, val.prob's to 2e-8
    Hmisc::somers2(p, y)["C"]                                # val.prob's C is of forecasts rounded by lrm.fit
    k <- quantile(x, c(.05, .275, .5, .725, .95), type = 2)
    f <- glm(y ~ rcspline.eval(x, knots = k, inclx = TRUE), family = binomial, control = strict)
    e <- abs(fitted(f) - p); c(mean(e), quantile(e, c(.5, .9), type = 1), max(e))
"""

import csv
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri

import propriety as pr
from propriety.measures import AreaUnderRoc, CalibrationIntercept, CalibrationSlope, ObservedExpected
from propriety.tables.forecast_table import ForecastTable


def simulated():
    place = np.arange(1, 401)
    p = np.round(expit(1.1 * ndtri((place - 0.5) / 400) - 1.2), 3)
    return (place * 0.6180339887498949) % 1.0 < expit(0.7 * logit(p) + 0.2), p


def biopsies():
    """Return the cases of the case study, which come with dcurves, and the forecasts in their file."""
    package = find_spec("dcurves")
    if package is None:
        pytest.skip("the data come with dcurves")
    with (Path(package.origin).parent / "data" / "df_binary.csv").open() as file:
        rows = list(csv.DictReader(file))
    return np.array([row["cancer"] == "TRUE" for row in rows]), np.array(
        [float(row["cancerpredmarker"]) for row in rows]
    )


SIMULATED = {
    "observed/expected": 1.31075914801,
    "intercept": 0.484794783568,
    "slope": 0.761294092405,
    "Brier": 0.21022395,
    "C": 0.70751953125,
    "Emax": 0.111295967698,
    "E90": 0.110502466892,
    "Eavg": 0.0832925011289,
    "spline": (0.0860730591301, 0.0935319245071, 0.1246498428093, 0.1272169784594),
}
BIOPSIES = {
    "observed/expected": 1.0000000019,
    "intercept": 3.10890959832e-09,
    "slope": 1.0000000287,
    "Brier": 0.084929097797,
    "C": 0.860627537837,
    "Emax": 0.0458497674599,
    "E90": 0.0319914162819,
    "Eavg": 0.0126533651057,
    "spline": (0.00915645370587, 0.00931308934274, 0.0158227076083, 0.0179002036171),
}


@pytest.mark.parametrize(
    ("cases", "theirs"), [(simulated, SIMULATED), (biopsies, BIOPSIES)], ids=["simulated", "biopsy"]
)
def test_r_gives_the_same_numbers(cases, theirs):
    y, p = cases()
    table, curve = ForecastTable.from_predictions(y, p), pr.reliability_curve(y, p)
    loess, spline = curve.smooth(method="loess"), curve.smooth(n_resamples=50, seed=1)
    ours = {
        "observed/expected": ObservedExpected().value(table),
        "intercept": CalibrationIntercept().value(table),
        "slope": CalibrationSlope().value(table),
        "Brier": float(pr.brier_score(y, p)),
        "C": AreaUnderRoc().value(table),
        "Emax": loess.e_max,
        "E90": loess.e90,
        "Eavg": loess.ici,
    }
    for name, value in ours.items():
        assert value == pytest.approx(theirs[name], rel=1e-8, abs=1e-10), name
    assert (spline.ici, spline.e50, spline.e90, spline.e_max) == pytest.approx(theirs["spline"], rel=1e-8)
