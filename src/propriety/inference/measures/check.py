"""Tests of what a measure declares about itself, as scikit-learn's `check_estimator` tests an estimator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from propriety.errors import UNDEFINED, InputValueError
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.reading import AnyMeasure, read_measure
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

STEP = 1e-4  # Of the weight of a case, in the numerical derivative.
EXACT = 1e-9  # Largest relative difference between two values of the same cases.
CASES, SAMPLES = 90, 6
CLOSE = 2.0 / CASES  # Relative difference of influence and derivative: estimators are smooth but for terms of 1/n.


def check(measure: AnyMeasure) -> None:
    """Raise an error if a measure is not what it declares.

    The value may depend neither on the unit of the weights nor on whether equal cases stand in one row or in several.
    It lies in the range, is the ideal one for outcomes that are as forecast, and better for forecasts that know the
    outcomes than for their opposite. The influence is the derivative of the value, and its mean is zero.

    Parameters
    ----------
    measure : Measure, Rule or callable
        The measure, or what stands for one.

    Notes
    -----
    The derivative is that of the value by the weight of a case, in samples of 90 cases with and without weights. An
    influence may differ from it by a share of 2 / n, as that of the area under the risk-coverage curve does.

    Examples
    --------
    >>> from propriety.inference.measures.ranking import AreaUnderRoc
    >>> check(AreaUnderRoc())
    """
    asked = read_measure(measure)
    if not asked.key or not asked.key.strip():
        raise _broken(asked, "must have a key, by which results are found")
    for drawn in _samples():
        try:
            value = asked.value(drawn.table())
        except UNDEFINED:
            continue
        _check_value(asked, drawn, value)
        if asked.has_influence:
            _check_influence(asked, drawn)
    _check_ideal(asked)
    _check_direction(asked)


class _Sample(NamedTuple):
    """Cases of one event."""

    happens: Floats
    forecast: Floats
    weight: Floats

    def table(self) -> ForecastTable:
        return ForecastTable.from_predictions(self.happens, self.forecast, sample_weight=self.weight)


def _samples() -> Iterator[_Sample]:
    """Yield weighted and unweighted cases with ties, some of them badly calibrated."""
    generator = np.random.default_rng(0)
    for number in range(SAMPLES):
        forecast = generator.integers(1, 12, CASES) / 12.0
        happens = generator.random(CASES) < forecast ** (1.0 + number % 3 / 2.0)
        weight = generator.gamma(4.0, size=CASES) if number % 2 else np.ones(CASES)
        yield _Sample(happens.astype(np.float64), forecast, weight)


def _check_value(measure: Measure, drawn: _Sample, value: float) -> None:
    low, high = measure.range_of(None)
    if not low - EXACT <= value <= high + EXACT:
        raise _broken(measure, f"must lie in its range, {low:g} to {high:g}", f"a value is {value!r}")
    if measure.scale != "identity" and value <= 0.0:
        raise _broken(measure, f"must be positive on the {measure.scale} scale", f"a value is {value!r}")
    alike = {
        "with twice the weight": drawn._replace(weight=2.0 * drawn.weight),
        "in another order": _Sample(*(column[::-1] for column in drawn)),
    }
    for what, other in alike.items():
        again = measure.value(other.table())
        if not math.isclose(again, value, rel_tol=EXACT, abs_tol=EXACT):
            raise _broken(measure, f"must have the same value {what}", f"it is {again!r} instead of {value!r}")


def _check_influence(measure: Measure, drawn: _Sample) -> None:
    table = drawn.table()
    influence = measure.influence(table)
    size = float(np.abs(influence).max()) or 1.0
    mean = sum(float(w @ part) for w, part in zip((table.events, table.non_events), influence, strict=True))
    if abs(mean) / table.weight > CLOSE * size:
        raise _broken(measure, "must have an influence whose mean is zero", f"it is {mean / table.weight:.3g}")
    for case in range(0, CASES, 3):
        nudge = STEP * (np.arange(CASES) == case)
        more, less = (measure.value(drawn._replace(weight=drawn.weight + sign * nudge).table()) for sign in (1, -1))
        slope = (more - less) / (2.0 * STEP) * table.weight
        row = int(np.searchsorted(table.forecast, drawn.forecast[case]))
        declared = float((influence.event if drawn.happens[case] else influence.non_event)[row])
        if abs(slope - declared) > CLOSE * size:
            happened = "with the event" if drawn.happens[case] else "without the event"
            offender = f"at {drawn.forecast[case]:.3g} {happened} it is {declared:.5g} instead of {slope:.5g}"
            raise _broken(measure, "must have an influence that is its derivative", offender)


def _check_ideal(measure: Measure) -> None:
    """Check the value of outcomes that are exactly as forecast."""
    if measure.ideal is None:
        return
    events = np.arange(5.0, 100.0, 5.0)
    value = measure.value(ForecastTable(forecast=events / 100.0, events=events, non_events=100.0 - events))
    if not math.isclose(value, measure.ideal, rel_tol=1e-6, abs_tol=1e-6):
        raise _broken(measure, f"must be {measure.ideal:g}, its ideal, if outcomes are as forecast", f"it is {value!r}")


def _check_direction(measure: Measure) -> None:
    """Check that forecasts that know the outcomes are better than their opposite."""
    if measure.higher_is_better is None or measure.ideal is not None:
        return
    forecast = np.array([0.02, 0.1, 0.9, 0.98])
    happens = np.array([0.0, 1.0, 49.0, 99.0])
    try:
        knows = measure.value(ForecastTable(forecast=forecast, events=happens, non_events=happens[::-1]))
        mistakes = measure.value(ForecastTable(forecast=forecast, events=happens[::-1], non_events=happens))
    except UNDEFINED:
        return
    if knows != mistakes and (knows > mistakes) is not measure.higher_is_better:
        better = "higher" if measure.higher_is_better else "lower"
        offender = f"{knows:.4g} against {mistakes:.4g} of the opposite"
        raise _broken(measure, f"must be {better} for forecasts that know the outcomes, as it declares", offender)


def _broken(measure: Measure, demand: str, offender: str = "") -> InputValueError:
    return InputValueError(f"{measure.label} {demand}", offender=offender)
