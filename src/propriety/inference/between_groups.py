"""What groups have in common, as findings: their mean, the range of a further one, I2 with a joint test, and tau."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from propriety.inference.events_by_group import EventsByGroup, mean_ratio
from propriety.inference.finding import FURTHER_GROUP, HETEROGENEITY, MEAN_OF_GROUPS, TAU, Finding
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.ratios import ObservedExpected, PredictedActual
from propriety.inference.notes import Note
from propriety.inference.random_effects import HeterogeneityMethod, PredictionMethod, RandomEffects, random_effects
from propriety.result import Floats

FEWEST_GROUPS = 5  # With fewer, the variance between groups is hardly known.
FEWEST_POOLED = 2
RATIOS = (ObservedExpected.key, PredictedActual.key)
Methods: TypeAlias = tuple[HeterogeneityMethod, PredictionMethod]
USUAL: Methods = ("paule-mandel", "profile")
LIMITS = ("low", "high", "prediction_low", "prediction_high")


class Pooled(NamedTuple):
    """The mean of a measure over groups with its limits, and the weight of each group, 0 if it is left out."""

    effects: RandomEffects | None
    weight: Floats
    scale: str
    notes: tuple[Note, ...] = ()


def pooled_events(
    measure: Measure, events: EventsByGroup, labels: Sequence[str], *, level: float, methods: Methods = USUAL
) -> Pooled:
    """Return the mean of observed/expected, or of its inverse, by the law of counts; see `mean_ratio`."""
    _, expected = events.counts
    used = (expected > 0.0) & (events.variances(events.keyed.forecast) > 0.0)
    notes, weight = _left_out(labels, used), np.zeros(len(used))
    if np.count_nonzero(used) < FEWEST_POOLED:
        return Pooled(None, weight, "identity", notes)
    effects = mean_ratio(events.where(used), level=level, method=methods[0], prediction=methods[1])
    weight[used] = effects.weight
    if measure.key == PredictedActual.key:
        effects = _inverted(effects)
    return Pooled(effects, weight, "identity", (*notes, *_few_groups(int(used.sum()))))


def pooled_estimates(
    measure: Measure,
    values: Floats,
    errors: Floats,
    labels: Sequence[str],
    *,
    level: float,
    methods: Methods = USUAL,
    classes: int | None = None,
) -> Pooled:
    """Return the mean of estimates, on the scale of the measure; infinite if the value of a group is."""
    scale, weight = measure.scale, np.zeros(len(values))
    inner, error = _on_scale(values, errors, scale)
    used = np.isfinite(inner) & np.isfinite(error) & (error > 0.0)
    infinite = np.isinf(values)
    notes = _left_out(labels, used)
    if infinite.any():
        # The mean of the other groups would flatter the model.
        notes = (Note("infinite-groups", {"names": chosen_labels(labels, infinite)}),)
        unknown = RandomEffects._make([float(values[infinite].sum()), *[math.nan] * 13, weight])
        return Pooled(unknown, weight, scale, notes)
    if np.count_nonzero(used) < FEWEST_POOLED:
        return Pooled(None, weight, scale, notes)
    effects = random_effects(inner[used], error[used], method=methods[0], prediction=methods[1], level=level)
    weight[used] = effects.weight
    turned: dict[str, Any] = {name: _back(getattr(effects, name), scale) for name in ("mean", *LIMITS)}
    effects = effects._replace(**turned)
    effects, is_clipped = _clipped(effects, *measure.range_of(classes))
    notes += (Note("clipped"),) if is_clipped else ()
    return Pooled(effects, weight, scale, (*notes, *_few_groups(int(used.sum()))))


def rows_between(pooled: Pooled, *, p: float | None = None, **facts: Any) -> Iterator[Finding]:
    """Yield the rows of a pooled measure without verdicts; `p` is that of another joint test than Cochran's.

    Parameters
    ----------
    pooled : Pooled
        The mean with its limits.
    p : float, optional
        The p-value of equal values in all groups.
    **facts
        What the rows have in common: measure, model, level, numbers of cases and events, keys.
    """
    effects = pooled.effects
    row = Finding(**facts, statistic=MEAN_OF_GROUPS, units=int(np.count_nonzero(pooled.weight)), notes=pooled.notes)
    if effects is None:
        yield row
        return
    yield replace(row, value=effects.mean, low=effects.low, high=effects.high, method="Hartung and Knapp")
    row = replace(row, notes=())
    if not math.isnan(effects.prediction_low):
        low, high = effects.prediction_low, effects.prediction_high
        further = replace(row, statistic=FURTHER_GROUP, method="prediction interval")
        yield replace(further, value=effects.mean, low=low, high=high)
    if not math.isnan(effects.tau):
        row = replace(row, method="generalized Q")
        share = replace(row, statistic=HETEROGENEITY, p=effects.p_value if p is None else p)
        yield replace(share, value=effects.i_squared, low=effects.i_squared_low, high=effects.i_squared_high)
        spread = replace(row, statistic=TAU, extra={"scale": pooled.scale})
        yield replace(spread, value=effects.tau, low=effects.tau_low, high=effects.tau_high)


def _left_out(labels: Sequence[str], used: NDArray[np.bool_]) -> tuple[Note, ...]:
    return () if used.all() else (Note("groups-left-out", {"names": chosen_labels(labels, ~used)}),)


def chosen_labels(labels: Sequence[str], chosen: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the labels of some groups, given as a mask."""
    return tuple(label for label, is_chosen in zip(labels, chosen.tolist(), strict=True) if is_chosen)


def _few_groups(number: int) -> tuple[Note, ...]:
    return (Note("few-groups", {"number": number}),) if number < FEWEST_GROUPS else ()


def _inverted(effects: RandomEffects) -> RandomEffects:
    """Return the mean of the inverse ratio, with tau to first order."""

    def inverse(value: float) -> float:
        return math.inf if value == 0.0 else 1.0 / value

    several: dict[str, Any] = {name: inverse(getattr(effects, name)) for name in ("mean", *LIMITS)}
    several |= {
        name: getattr(effects, name) * several["mean"] ** 2 for name in ("standard_error", "tau", "tau_low", "tau_high")
    }
    sides: dict[str, Any] = {"low": several["high"], "high": several["low"]}
    sides |= {"prediction_low": several["prediction_high"], "prediction_high": several["prediction_low"]}
    return effects._replace(**several | sides)


def _on_scale(values: Floats, errors: Floats, scale: str) -> tuple[Floats, Floats]:
    """Return values and standard errors on the scale of the analysis; not finite outside its range."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if scale == "log":
            return np.log(values), errors / values
        if scale == "logit":
            return logit(values), errors / (values * (1.0 - values))
    return values, errors


def _back(value: float, scale: str) -> float:
    if scale == "log":
        return math.inf if value >= 700.0 else math.exp(value)
    return float(expit(value)) if scale == "logit" else value


def _clipped(effects: RandomEffects, least: float, most: float) -> tuple[RandomEffects, bool]:
    """Clip limits to the values that a measure can have; return whether any has changed."""
    low, high = min(least, effects.mean), max(most, effects.mean)
    limits = {name: getattr(effects, name) for name in LIMITS}
    clipped: dict[str, Any] = {
        name: limit if math.isnan(limit) else min(max(limit, low), high) for name, limit in limits.items()
    }
    changed = any(clipped[name] != limit and not math.isnan(limit) for name, limit in limits.items())
    return effects._replace(**clipped), changed
