"""`horizon_curve`: a measure of censored outcomes at several horizons, and its mean over them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.checks import check_level
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.bootstrap import Drawing
from propriety.inference.estimation import estimate_of
from propriety.inference.finding import Finding, Findings
from propriety.inference.influence import case_influence
from propriety.inference.mean_estimates import clipped
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.reading import AnyMeasure, read_measure
from propriety.inference.outcome_counts import outcome_counts
from propriety.inference.verdict import with_verdict
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.result import Floats
from propriety.rules.families import BRIER
from propriety.tables import laws
from propriety.tables.arguments import check_indices, numbers_of
from propriety.tables.arrays import Reading, missing_cases, read_array
from propriety.tables.censored_outcomes import CensoredOutcomes
from propriety.tables.frames import check_names
from propriety.tables.validation import Forecasts

MEAN = "mean over horizons"  # The statistic of the row of all horizons.


def horizon_curve(
    y_true: CensoredOutcomes,
    forecasts: Forecasts,
    measure: AnyMeasure = BRIER,
    *,
    level: float = 0.95,
) -> Findings:
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
    Findings
        One row per model and horizon, with the cases censored before it and those still followed up without any event
        as further columns; and for each model the mean, ``where(statistic="mean over horizons")``.

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
    >>> curve.statistic.tolist(), curve.value.round(3)
    (['value', 'value', 'value', 'mean over horizons'], array([0.097, 0.175, 0.25 , 0.174]))
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
    rows: list[Finding] = []
    for model, values in columns.items():
        influence = np.empty((len(y_true.horizon), y_true.n))
        own: list[Finding] = []
        for place, horizon in enumerate(y_true.horizon.tolist()):
            ledger = open_ledger(y_true.at(horizon), {model: values[:, place]})
            found = estimate_of(ledger, asked, level=level, drawing=Drawing(1, 0))
            counts = {name: int(getattr(y_true, name)[place]) for name in ("events", "censored", "event_free")}
            facts: dict[str, Any] = {"keys": {"horizon": horizon}, "events": counts.pop("events"), "extra": counts}
            outcomes = outcome_counts(ledger.table(model), None)
            own.append(with_verdict(replace(found, enough=outcomes.enough(asked.key), **facts)))
            influence[place] = _influence(ledger, asked)
        rows += [*own, _integrated(own, _correlation(influence), y_true)]
    return Findings.of(rows)


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


def _integrated(rows: list[Finding], correlation: Floats, outcomes: CensoredOutcomes) -> Finding:
    r"""Return the mean of a measure over the horizons, with limits from those at the horizons.

    With the shares :math:`s_j` of the horizons, the correlations :math:`\rho_{jk}` of their influence over all cases,
    and the distances :math:`d_j` of the lower limits from the values, the lower limit of the mean is at the distance
    :math:`(\sum_{jk} \rho_{jk} s_j d_j s_k d_k)^{1/2}`; so is the upper limit, and so is the standard error. What the
    limits at the horizons allow for, such as few events, those of the mean then allow for, too.
    """
    gaps = np.diff(outcomes.horizon)
    share = (np.append(gaps, 0.0) + np.append(0.0, gaps)) / 2.0 / gaps.sum()
    value, low, high, error = (
        np.array([getattr(row, name) for row in rows]) for name in ("value", "low", "high", "error")
    )

    def combined(distance: Floats) -> float:
        parts = share * distance
        return math.sqrt(max(float(parts @ correlation @ parts), 0.0))

    mean, measure = share @ value, rows[0].measure
    limits = (np.array([mean - combined(value - low)]), np.array([mean + combined(high - value)]))
    (least,), (most,) = clipped(*limits, np.array([mean]), measure, None)
    first = {note.code: note for row in reversed(rows) for note in reversed(row.notes)}
    found = replace(
        rows[0],
        statistic=MEAN,
        keys={},
        value=float(mean),
        low=float(least),
        high=float(most),
        error=combined(error),
        method="trapezoidal rule over the horizons, influence function",
        n=outcomes.n,
        events=None,
        enough=all(row.enough for row in rows),
        verdict=None,
        notes=tuple(first.values()),
        extra={},
    )
    return with_verdict(found)


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
