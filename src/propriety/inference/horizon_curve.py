"""`horizon_curve`: a measure of censored outcomes at several horizons, and its mean over them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.checks import check_level
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.bootstrap import Drawing
from propriety.inference.estimates import Estimate
from propriety.inference.estimation import estimate_of
from propriety.inference.influence import case_influence
from propriety.inference.mean_estimates import within_range
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.reading import AnyMeasure, read_measure
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.result import Floats, Result
from propriety.rules.families import BRIER
from propriety.tables import laws
from propriety.tables.arguments import check_indices, numbers_of
from propriety.tables.arrays import Reading, missing_cases, read_array
from propriety.tables.censored_outcomes import CensoredOutcomes
from propriety.tables.frames import check_names
from propriety.tables.validation import Forecasts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class HorizonCurve(Result):
    """A measure at several horizons, one row per model and horizon; see `propriety.horizon_curve`.

    Parameters
    ----------
    model : ndarray of str
        The model.
    horizon : ndarray of float
        The horizon.
    value, low, high, standard_error : ndarray of float
        Estimate at the horizon, with the limits of its interval and its standard error.
    events, censored, event_free : ndarray of int
        Number of cases with the event by the horizon, censored before it, and still followed up without any event.
    note : ndarray of str
        What may be wrong with the interval, such as few events; "" if nothing.
    measure : Measure
        What was estimated.
    level : float
        Level of the intervals.
    n : int
        Number of cases.
    integrated : mapping of str to Estimate
        For each model, the mean over the interval from the first to the last horizon, by the trapezoidal rule.
    """

    main_columns: ClassVar[tuple[str, ...]] = ("model", "horizon", "value", "low", "high", "censored")

    model: NDArray[np.str_]
    horizon: Floats
    value: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    events: NDArray[np.int64]
    censored: NDArray[np.int64]
    event_free: NDArray[np.int64]
    note: NDArray[np.str_]
    measure: Measure
    level: float
    n: int
    integrated: Mapping[str, Estimate] = field(metadata={"hidden": True})

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in the order given."""
        return tuple(self.integrated)


def horizon_curve(
    y_true: CensoredOutcomes,
    forecasts: Forecasts,
    measure: AnyMeasure = BRIER,
    *,
    level: float = 0.95,
) -> HorizonCurve:
    r"""Estimate a measure at every horizon of censored outcomes, and its mean over the horizons.

    The mean over the interval from the first horizon :math:`t_1` to the last :math:`t_m`, by the trapezoidal rule, is
    the integrated score: for the Brier score, the integrated Brier score

    .. math:: \frac{1}{t_m - t_1} \int_{t_1}^{t_m} \operatorname{BS}(t) \, dt .

    Its limits are those at the horizons, combined according to the correlation between horizons (Zou & Donner 2008),
    and allow for the estimated weights. Cases are taken as independent; for cases in clusters, use `propriety.estimate`
    at one horizon.

    Parameters
    ----------
    y_true : CensoredOutcomes
        Outcomes by two horizons or more, from `propriety.censored`.
    forecasts : mapping of str to array-like of shape (n, horizons), or array-like
        Probability of the event by each horizon, one column per horizon, by model.
    measure : Rule or measure
        A rule for its mean score, or a measure with an influence function.
    level : float
        Level of the intervals.

    Returns
    -------
    HorizonCurve
        One row per model and horizon; `integrated` has the mean over the horizons.

    References
    ----------
    Graf et al. (1999), doi:10.1002/(SICI)1097-0258(19990915/30)18:17/18<2529::AID-SIM274>3.0.CO;2-5; Zou & Donner
    (2008), doi:10.1002/sim.3095, for limits of a sum from those of its terms.

    Examples
    --------
    >>> import numpy as np, propriety as pr
    >>> time, event = np.arange(1.0, 41.0), np.arange(40) % 3 == 0
    >>> outcomes = pr.censored(time, event, horizons=[10, 20, 30])
    >>> curve = horizon_curve(outcomes, {"a": np.full((40, 3), [0.1, 0.3, 0.5])})
    >>> curve.value.round(3), round(curve.integrated["a"].value, 3)
    (array([0.097, 0.175, 0.25 ]), 0.174)
    """
    check_level(level)
    asked = read_measure(measure)
    if not asked.has_influence:
        raise InputTypeError("must be a rule, or a measure with an influence function", argument="measure")
    if not isinstance(y_true, CensoredOutcomes) or len(y_true.horizon) < 2:
        raise InputTypeError("must be censored outcomes by two horizons or more", argument="y_true")
    several = forecasts if isinstance(forecasts, Mapping) else {"forecast": forecasts}
    check_names(several)
    readings = {model: read_array(values, laws.named_forecast(model)) for model, values in several.items()}
    columns = {model: _columns(reading, y_true) for model, reading in readings.items()}
    check_indices(Reading("y_true", y_true.horizon, index=y_true.index), *readings.values())
    rows: dict[str, list[Estimate]] = {}
    integrated = {}
    for model, values in columns.items():
        influence = np.empty((len(y_true.horizon), y_true.n))
        rows[model] = []
        for place, horizon in enumerate(y_true.horizon.tolist()):
            ledger = open_ledger(y_true.at(horizon), {model: values[:, place]})
            rows[model].append(estimate_of(ledger, asked, level=level, drawing=Drawing(1, 0)))
            influence[place] = _influence(ledger, asked)
        integrated[model] = _integrated(rows[model], _correlation(influence), asked, y_true, level)
    found = [one for own in rows.values() for one in own]
    counts = {name: getattr(y_true, name) for name in ("horizon", "events", "censored", "event_free")}
    return HorizonCurve(
        model=np.repeat(np.array(list(rows)), len(y_true.horizon)),
        **{name: np.tile(column, len(rows)) for name, column in counts.items()},
        **{name: np.array([getattr(one, name) for one in found]) for name in ("value", "low", "high")},
        standard_error=np.array([one.standard_error for one in found]),
        note=np.array([one.note for one in found]),
        measure=asked,
        level=level,
        n=y_true.n,
        integrated=integrated,
    )


def _columns(reading: Reading, outcomes: CensoredOutcomes) -> NDArray[Any]:
    """Return the forecasts of a model, one column per horizon; each column is checked when it is used."""
    absent = missing_cases(reading)
    if absent.any():
        laws.refuse_missing(reading.argument, absent, hint=demands.CENSORED_MISSING_HINT)
    found = numbers_of(reading, None)
    if found.shape != (outcomes.n, len(outcomes.horizon)):
        law = "must have one row per case and one column per horizon"
        offender = f"got shape {found.shape}, not ({outcomes.n}, {len(outcomes.horizon)})"
        raise InputValueError(law, argument=reading.argument, offender=offender)
    return found


def _integrated(
    estimates: list[Estimate],
    correlation: Floats,
    measure: Measure,
    outcomes: CensoredOutcomes,
    level: float,
) -> Estimate:
    r"""Return the mean of a measure over the horizons, with limits from those at the horizons.

    With the shares :math:`s_j` of the horizons, the correlations :math:`\rho_{jk}` of their influence over all cases,
    and the distances :math:`d_j` of the lower limits from the values, the lower limit of the mean is at the distance
    :math:`(\sum_{jk} \rho_{jk} s_j d_j s_k d_k)^{1/2}`; so is the upper limit, and so is the standard error. What the
    limits at the horizons allow for, such as few events, those of the mean then allow for, too.
    """
    gaps = np.diff(outcomes.horizon)
    share = (np.append(gaps, 0.0) + np.append(0.0, gaps)) / 2.0 / gaps.sum()
    value, low, high, error = (
        np.array([getattr(one, name) for one in estimates]) for name in ("value", "low", "high", "standard_error")
    )

    def combined(distance: Floats) -> float:
        parts = share * distance
        return math.sqrt(max(float(parts @ correlation @ parts), 0.0))

    mean = float(share @ value)
    found = Estimate(
        value=mean,
        low=mean - combined(value - low),
        high=mean + combined(high - value),
        standard_error=combined(error),
        level=level,
        method="trapezoidal rule over the horizons, influence function",
        measure=measure,
        n=outcomes.n,
        units=outcomes.n,
        note="; ".join(dict.fromkeys(one.note for one in estimates if one.note)),
    )
    return within_range(found, measure, None)


def _influence(ledger: Ledger, measure: Measure) -> Floats:
    """Return the influence of every case on a measure at a horizon, also through the estimated weights."""
    cases, model = ledger.cases, ledger.models[0]
    assert cases is not None  # noqa: S101  (for the type checker; the outcomes are arrays)
    table = ledger.table(model)
    own = case_influence(cases, model, table, measure.influence(table))
    found: Floats = own if cases.censoring is None else cases.censoring.influence(own[None])[0]
    return found


def _correlation(influence: Floats) -> Floats:
    """Return the correlations between rows; that with a row of zeros is taken as 1, which makes limits the widest."""
    products = influence @ influence.T
    size = np.sqrt(np.outer(products.diagonal(), products.diagonal()))
    return np.divide(products, size, out=np.ones_like(products), where=size > 0.0)
