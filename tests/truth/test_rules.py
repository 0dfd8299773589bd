"""The loss of every rule is the exact one, to a few units of the last place, on forecasts chosen to break it."""

import math

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest
from adversarial import BINARY, BY_CLASS, FORECASTS, SMALLEST_NORMAL, binary_errors, class_errors
from exact_rules import binary_loss, class_loss, ulps

import propriety as pr
from propriety.rules.operations import NARWHALS

# The largest error in units of the last place. The power families are differences of nearly equal numbers where the
# probability of what happened is large; series keep all but a factor of 32 of it. A power of high order multiplies
# the rounding of its base by the order.
ULPS = {pr.Log: 1.0, pr.Tsallis: 128.0, pr.BetaRegret: 16.0}
FEW = 8.0
ROUNDED_SUMS = (pr.RankedProbability, pr.SquaredAbsoluteRankedProbability, pr.RankedLog)
EPSILON = 2.0**-52


def bound(rule):
    return 2.0 * rule.order if isinstance(rule, pr.Pseudospherical) and rule.order > FEW else ULPS.get(type(rule), FEW)


@pytest.mark.parametrize("rule", BINARY, ids=repr)
def test_losses_of_one_event_are_exact(rule):
    worst = max(binary_errors(rule), key=lambda case: case[-1])
    assert worst[-1] <= bound(rule), worst


@pytest.mark.parametrize("rule", [rule for rule in BY_CLASS if not isinstance(rule, ROUNDED_SUMS)], ids=repr)
def test_losses_of_rows_are_exact(rule):
    worst = max(class_errors(rule), key=lambda case: case[-1])
    assert worst[-1] <= bound(rule), worst


@pytest.mark.parametrize("rule", [rule for rule in BY_CLASS if isinstance(rule, ROUNDED_SUMS)], ids=repr)
def test_losses_of_ordered_rows_are_exact_to_the_rounding_of_cumulative_sums(rule):
    """A sum of K probabilities near 1 is known to K units of its last place, and so is the logarithm of one."""
    for row, outcome, error in class_errors(rule):
        exact = class_loss(rule, row, outcome)
        if math.isinf(exact):
            assert error == 0.0
            continue
        rounding = len(row) * EPSILON * (2.0 * math.sqrt(exact) if not isinstance(rule, pr.RankedLog) else 1.0)
        assert error * math.ulp(float(exact)) <= FEW * math.ulp(float(exact)) + rounding, (row, outcome)


@pytest.mark.nightly
def test_losses_on_engines_are_exact():
    """Engines lack log1p, and power and logarithm are their own: what the series leave of that is a factor of 4."""
    rules = {f"loss_{place}": rule for place, rule in enumerate(BINARY) if not isinstance(rule, pr.BetaRegret)}
    cases = pl.DataFrame({"p": np.repeat(FORECASTS, 2), "y": np.tile([True, False], len(FORECASTS))})
    losses = {name: rule.case_loss(nw.col("p"), nw.col("y"), ops=NARWHALS) for name, rule in rules.items()}
    for frame in (cases.lazy(), duckdb.from_arrow(cases.to_arrow())):
        table = nw.from_native(frame).select(**losses).collect("pyarrow")
        for name, rule in rules.items():
            given = zip(table[name].to_list(), *cases, strict=True)
            assert max(ulps(loss, binary_loss(rule, p, event=y)) for loss, p, y in given) <= 4.0 * bound(rule), rule


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.5), (3.0, 0.25)])
def test_beta_regret_of_extreme_weights_is_exact(alpha, beta):
    rule = pr.BetaRegret(alpha, beta)
    for p in (SMALLEST_NORMAL, 0.3):
        for event in (False, True):
            (loss,) = pr.case_scores([event], [p], rule=rule)
            assert ulps(float(loss), binary_loss(rule, p, event=event)) <= 64.0
