"""Forecasts, rows and rules on which floating-point numbers give way: the ends, ties, and one step beside them."""

import math

import numpy as np
from exact_rules import binary_loss, class_loss, ulps

import propriety as pr
from propriety.rules.catalogue import RULES


def around(number):
    """Return a float with its two neighbours."""
    return [math.nextafter(number, 0.0), number, math.nextafter(number, 1.0)]


SUBNORMAL, SMALLEST_NORMAL = 5e-324, 2.0**-1022
STEP, BELOW_ONE = 2.0**-53, 1.0 - 2.0**-53

FORECASTS = sorted(
    {
        *(0.0, SUBNORMAL, 1e-310, SMALLEST_NORMAL, 1e-200, 1e-20, 1e-8, 1e-3, 0.12, 0.25),
        *(x for threshold in (STEP, 0.05, 0.2, 0.3, 0.5, 0.8) for x in around(threshold)),
        *(0.7, 0.95, 0.999, 1.0 - 1e-8, 1.0 - 2.0**-52, BELOW_ONE, 1.0),
    }
)

ROWS = [
    [1.0, 0.0, 0.0],
    [0.5, 0.5, 0.0],
    [1 / 3, 1 / 3, 1 / 3],
    [0.2, 0.3, 0.5],
    [1.0, SUBNORMAL, SUBNORMAL],
    [1e-310, 1.0, SMALLEST_NORMAL],
    [BELOW_ONE, STEP, 0.0],
    [STEP, 1e-20, BELOW_ONE],
    [0.5, math.nextafter(0.5, 0.0), STEP / 2],
    [math.nextafter(0.5, 1.0), math.nextafter(0.5, 0.0), 1e-300],
    [1e-160, 1e-165, 1.0],
    [1.0 - 1e-8, 1e-8 - 1e-20, 1e-20],
    [0.97, 0.02, 0.01],
    [0.25, 0.25, 0.25, 0.25],
    [1e-12, 0.3, math.nextafter(0.3, 1.0), 0.4 - 1e-12],
]

PARAMETERS = (
    pr.Log(clip=1e-300),
    pr.Pseudospherical(order=1.000001),
    pr.Pseudospherical(order=1.5),
    pr.Pseudospherical(order=40.0),
    pr.Tsallis(order=1.000001),
    pr.Tsallis(order=2.0),
    pr.Tsallis(order=3.5),
    pr.Tsallis(order=30.0),
    pr.Elementary(threshold=1e-310),
    pr.Elementary(threshold=BELOW_ONE),
    pr.Elementary(threshold=0.5),
    pr.BoundedBrier(low=1.0 - 2.0**-52, high=BELOW_ONE),
    pr.BoundedBrier(low=0.3, high=math.nextafter(0.3, 1.0)),
    pr.BoundedBrier(low=1e-310, high=1.0, normalize="none"),
    pr.BoundedLog(low=SUBNORMAL, high=BELOW_ONE),
    pr.BoundedLog(low=0.3, high=math.nextafter(0.3, 1.0)),
    pr.BoundedLog(low=1e-3, high=1.0, normalize="none"),
    pr.BoundedNetBenefit(low=0.0, high=BELOW_ONE),
    pr.BoundedNetBenefit(low=0.3, high=math.nextafter(0.3, 1.0)),
    pr.BoundedNetBenefit(low=0.0, high=0.2, normalize="none"),
    pr.BoundedNetBenefit(low=1e-12, high=0.9),
    pr.BetaRegret(alpha=1.0, beta=1.0),
    pr.BetaRegret(alpha=60.0, beta=3.0),
    pr.ShiftedBrier(mu=1e-310),
    pr.ShiftedBrier(mu=BELOW_ONE),
    pr.ShiftedBrier(mu=0.5),
)

BINARY = [rule for rule in (*RULES, *PARAMETERS) if isinstance(rule, pr.BinaryRule)]
BY_CLASS = [rule for rule in (*RULES, *PARAMETERS) if isinstance(rule, pr.ClassRule)]


def binary_errors(rule):
    """Yield forecast, event and error in ulps of every loss of one event."""
    for event in (False, True):
        losses = pr.case_scores(np.full(len(FORECASTS), event), FORECASTS, rule=rule)
        for p, loss in zip(FORECASTS, losses.tolist(), strict=True):
            yield p, event, ulps(loss, binary_loss(rule, p, event=event))


def class_errors(rule):
    """Yield row, outcome and error in ulps of every loss of rows."""
    for row in ROWS:
        for outcome in range(len(row)):
            (loss,) = pr.case_scores([outcome], [row], rule=rule).tolist()
            yield row, outcome, ulps(loss, class_loss(rule, row, outcome))
