"""Cases that are repeated within a cluster or a time are no more evidence than the cases alone."""

import dataclasses

import numpy as np
import pytest

import propriety as pr
from propriety.measures import (
    AccuracyAtCoverage,
    AreaUnderGeneralizedRiskCoverage,
    AreaUnderRiskCoverage,
    AreaUnderRoc,
    CalibrationIntercept,
    CalibrationSlope,
    Discrimination,
    IntegratedCalibrationIndex,
    Miscalibration,
    NetBenefit,
    NormalizedEntropy,
    ObservedExpected,
    Skill,
    StandardizedNetBenefit,
)

RNG = np.random.default_rng(7)
N, TIMES = 240, 9
P = RNG.beta(2, 3, N)
Y = RNG.random(N) < P
OTHER = np.clip(P + RNG.normal(0, 0.1, N), 0.01, 0.99)
ROWS = RNG.dirichlet(np.ones(3), N)
CLASS = (ROWS.cumsum(axis=1) > RNG.random((N, 1))).argmax(axis=1)
GROUP = np.arange(N) % 2
AGAIN = np.repeat(np.arange(N), TIMES)
DRAWN = {"seed": 1, "n_resamples": 99}
MEASURES = [
    pr.Brier(),
    pr.Log(),
    Skill(),
    AreaUnderRoc(),
    ObservedExpected(),
    CalibrationSlope(),
    CalibrationIntercept(),
    NormalizedEntropy(),
    NetBenefit(0.3),
    StandardizedNetBenefit(0.3),
    Miscalibration(),
    Miscalibration(pr.Log()),
    Discrimination(),
    Discrimination(pr.Log()),
    IntegratedCalibrationIndex(),
    AreaUnderRiskCoverage(),
    AreaUnderGeneralizedRiskCoverage(),
    AccuracyAtCoverage(0.8),
]
CALLS = {
    **{
        f"estimate {read.label if hasattr(read, 'label') else read}": lambda y, p, q, rows, k, g, read=read, **unit: (
            pr.estimate(y, p, read, **DRAWN, **unit)
        )
        for read in MEASURES
    },
    "estimate by bootstrap": lambda y, p, q, rows, k, g, **unit: pr.estimate(y, p, method="bootstrap", **DRAWN, **unit),
    "check_calibration": lambda y, p, q, rows, k, g, **unit: pr.check_calibration(y, p, by=g, **DRAWN, **unit),
    "check_calibration of classes": lambda y, p, q, rows, k, g, **unit: pr.check_calibration(k, rows, **DRAWN, **unit),
    "recalibrate": lambda y, p, q, rows, k, g, **unit: pr.recalibrate(y, p, **unit).verdict,
    "recalibrate classes": lambda y, p, q, rows, k, g, **unit: pr.recalibrate(k, rows, **unit).verdict,
    "slices": lambda y, p, q, rows, k, g, **unit: pr.slices(y, p, by=g, **DRAWN, **unit),
    "slices of the area": lambda y, p, q, rows, k, g, **unit: pr.slices(y, p, AreaUnderRoc(), by=g, **DRAWN, **unit),
    **{
        f"compare {read.label if hasattr(read, 'label') else read}": lambda y, p, q, rows, k, g, read=read, **unit: (
            pr.compare(y, {"p": p, "q": q}, read, **DRAWN, **unit)
        )
        for read in (pr.Brier(), pr.Log(), AreaUnderRoc(), ObservedExpected(), NetBenefit(0.3), AccuracyAtCoverage(0.8))
    },
    "evaluate": lambda y, p, q, rows, k, g, **unit: pr.evaluate(y, p, **DRAWN, **unit).scores,
    "evaluate, calibration": lambda y, p, q, rows, k, g, **unit: pr.evaluate(y, p, **DRAWN, **unit).calibration,
    "evaluate, classes": lambda y, p, q, rows, k, g, **unit: pr.evaluate(k, rows, **DRAWN, **unit).classes,
    "evaluate, abstention": lambda y, p, q, rows, k, g, **unit: pr.evaluate(k, rows, **DRAWN, **unit).risk_coverage[
        "forecast"
    ],
    "evaluate, groups": lambda y, p, q, rows, k, g, **unit: pr.evaluate(y, p, by=g, **DRAWN, **unit).group_calibration,
    "pool_sites": lambda y, p, q, rows, k, g, **unit: pr.pool_sites(
        pr.condense(y, p, by={"site": g}, **unit), measures=[pr.Brier(), ObservedExpected()], **DRAWN
    ),
}


def numbers(result, path=""):
    """Yield the limits and p-values of a result and of those in its fields, by name."""
    for field in dataclasses.fields(result):
        value, name = getattr(result, field.name, None), f"{path}{field.name}"
        if dataclasses.is_dataclass(value) and field.name not in ("measure", "table", "rule", "histogram"):
            yield from numbers(value, f"{name}.")
        elif value is None:
            continue
        elif field.name.endswith("low"):
            yield name, np.asarray(getattr(result, f"{field.name[:-3]}high")) - np.asarray(value)
        elif "p_value" in field.name or "p_adjusted" in field.name:
            yield name, value


@pytest.mark.parametrize("unit", ["cluster", "period"])
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.product("sites")) if name == "pool_sites" else name for name in CALLS],
)
def test_repeated_cases_are_no_more_evidence(name, unit):
    data = (Y, P, OTHER, ROWS, CLASS, GROUP)
    alone = dict(numbers(CALLS[name](*data)))
    found = dict(numbers(CALLS[name](*(column[AGAIN] for column in data), **{unit: AGAIN})))
    assert alone
    for key, own in found.items():
        before, after = (np.asarray(one, dtype=np.float64) for one in (alone[key], own))
        if "p_" in key.rpartition(".")[2]:
            # Those of as many independent cases would be below 1e-4 where these are above 0.01.
            assert not (after < np.minimum(before / 20.0, 0.01)).any(), key
        else:
            # Without the units, limits would be a third as far apart.
            assert not (after < 0.7 * before).any(), key
