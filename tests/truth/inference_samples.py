"""Maps, follow-up and forecasts on which recalibration, weights of censoring and tests of calibration are compared.

The functions of errors return how far the package is from exact arithmetic, for the tests here and a script of `quality`.
"""

from math import nextafter

import numpy as np
from adversarial import FORECASTS
from exact_censoring import followed, weights
from exact_maps import mpf, recalibrated
from exact_measures import cases_of
from exact_rules import ulps
from exact_tests import chi_squared_tail, components, joint_p_value

import propriety as pr
import propriety.recalibration as maps
from propriety.calibration.calibration_test import calibration_test
from propriety.tables.forecast_table import ForecastTable

DEGREES, FINE = (2, 3, 4, 5), tuple(range(6, 16))
SHARES = {1: (1.0,), 2: (0.8, 0.2), 3: (0.8, 0.12, 0.08)}
KINDS = ("event", "competing", "censored")


APPLIED = [
    maps.IdentityMap(),
    maps.IdentityMap(floor=1e-3),
    maps.OddsMap(intercept=0.0, slope=1.0, floor=1e-300),
    maps.OddsMap(intercept=-0.7, slope=1.3, floor=1e-6),
    maps.OddsMap(intercept=2.0, slope=-0.5, floor=1e-12),
    maps.OddsMap(intercept=0.3, slope=0.0, floor=1e-6),
    maps.OddsMap(intercept=0.3, slope=0.0, floor=0.0),
    maps.OddsMap(intercept=0.3, slope=0.7, floor=0.0),
    maps.OddsMap(intercept=0.2, slope=0.4, slope_at_1=1.7, floor=1e-6),
    maps.OddsMap(intercept=0.0, slope=0.0, slope_at_1=1.0, floor=1e-300),
    maps.OddsMap(intercept=0.0, slope=0.0, slope_at_1=1.0, floor=0.0),
    maps.SplineMap(knots=[-3.0, -0.5, 0.25, 2.0], level=-2.5, slopes=[0.0, 1.5, 0.7, 0.2], floor=1e-6),
    maps.SplineMap(knots=[-3.0, -0.5, 0.25, 2.0], level=-2.5, slopes=[0.0, 1.5, 0.7, 0.0], floor=0.0),
    maps.OddsMap(intercept=-4.6),
    maps.OddsMap(intercept=690.0),
    maps.IsotonicMap(forecast=[0.05, 0.3, nextafter(0.3, 1.0), 0.9], event_rate=[1e-300, 0.2, 0.6, 1.0]),
    maps.VennAbersMap(low_from=[0.2, 0.6], low=[0.1, 0.5], high_to=[0.3, 0.7], high=[0.3, 0.8]),
]


def _follow_up(seed, *, n=40, times=8, competing=False, groups=1):
    """Return follow-up with many ties, so that events and censoring coincide."""
    generator = np.random.default_rng(seed)
    time = generator.integers(1, times, n).astype(float)
    kind = generator.choice(3, n, p=[0.4, 0.2, 0.4] if competing else [0.5, 0.0, 0.5])
    time[kind == 2] = np.minimum(time[kind == 2], times - 2)  # The last ones are followed up until an event.
    time[:groups], kind[:groups] = times + 1.0, 0
    group = np.concatenate([np.arange(groups), generator.integers(0, groups, n - groups)])
    return time, np.array(KINDS)[kind], group


FOLLOWED = {
    "ties": (*_follow_up(1), None),
    "competing events": (*_follow_up(2, competing=True), None),
    "groups": (*_follow_up(3, groups=3), None),
    "weights": (*_follow_up(4), np.random.default_rng(4).uniform(0.1, 9.0, 40)),
    "weights of 30 orders": (*_follow_up(5, competing=True), 10.0 ** np.random.default_rng(5).uniform(-15.0, 15.0, 40)),
    "a light and a heavy group": (*_follow_up(6, groups=2), None),
    "neighbouring times": (
        np.array([1.0, nextafter(1.0, 2.0), 1.0, nextafter(1.0, 0.0), 2.0, 3.0]),
        np.array(["event", "censored", "censored", "censored", "event", "event"]),
        np.zeros(6, dtype=int),
        None,
    ),
}
_time, _kind, _group, _ = FOLLOWED["a light and a heavy group"]
FOLLOWED["a light and a heavy group"] = (_time, _kind, _group, np.where(_group == 0, 1e-12, 1e12))


def drawn(seed, n, *, shift=0.0, slope=1.0, forecasts=None):
    """Return outcomes of forecasts whose log-odds are shifted and stretched."""
    generator = np.random.default_rng(seed)
    x = generator.normal(-0.5, 1.2, n)
    p = 1.0 / (1.0 + np.exp(-x)) if forecasts is None else generator.choice(forecasts, n)
    x = np.log(p / (1.0 - p))
    return generator.random(n) < 1.0 / (1.0 + np.exp(-(shift + slope * x))), p


TESTED = {
    "calibrated": drawn(1, 150),
    "too extreme": drawn(2, 150, slope=0.4),
    "far off": drawn(3, 200, shift=3.0),
    "rounded": drawn(4, 300, forecasts=[0.1, 0.2, 0.3, 0.7]),
    "nearly certain": drawn(5, 200, forecasts=[1e-12, 0.1, 0.4, 0.5, 0.6, 0.9]),
    "many": drawn(6, 700, slope=1.3, forecasts=np.linspace(0.02, 0.98, 33)),
}


def map_errors(fitted):
    """Yield forecast, recalibrated forecast and its error in units of the last place."""
    for p, q in zip(FORECASTS, fitted(FORECASTS).tolist(), strict=True):
        yield p, q, ulps(q, recalibrated(fitted, p))


def followed_up(name, horizons):
    time, kind, group, weight = FOLLOWED[name]
    options = {"groups": group} if group.any() else {}
    options |= {} if weight is None else {"sample_weight": weight}
    options |= {"competing": kind == "competing"} if "competing" in kind else {}
    outcome = pr.censored(time, kind == "event", horizons=horizons, **options)
    return outcome, followed(time.tolist(), kind.tolist(), group.tolist(), weight)


def weight_errors(name, horizon):
    """Yield the relative error of the weight of every case whose outcome is known; 0 must be 0."""
    outcome, cases = followed_up(name, horizon)
    for value, exact in zip(outcome.known[0].weight.tolist(), weights(cases, horizon), strict=True):
        yield abs(float(followed([0.0], ["event"], weight=[value])[0].weight / exact - 1)) if exact else value


def p_values(name):
    """Return the test of calibration, and its exact statistics, degrees of freedom, p-values and joint p-value."""
    y, p = TESTED[name]
    found = calibration_test(ForecastTable.from_predictions(y, p), n_resamples=100, seed=1)
    shapes = (DEGREES, FINE) if found.information >= 100.0 else (DEGREES,)
    tested, information = components(cases_of(y, p, np.ones(len(y))), shapes)
    tails = [chi_squared_tail(statistic, df) for statistic, df in tested if df]
    return found, tested, information, tails, joint_p_value(tails, [mpf(share) for share in SHARES[len(tails)]])
