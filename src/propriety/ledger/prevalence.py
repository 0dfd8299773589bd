"""Weights that give the cases of a ledger another event rate: cases sampled by outcome, and other populations."""

from __future__ import annotations

from dataclasses import replace

import narwhals as nw
import numpy as np

from propriety.checks import check_inside
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME, Moments
from propriety.tables.cases import Cases
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.lazy_cases import LazyCases


def at_prevalence(ledger: Ledger | ForecastTable, prevalence: float) -> Ledger:
    r"""Return the ledger in which events and non-events are weighted so that a given share of the weight is events.

    With the weights E of the events, N of the non-events and W = E + N, every event is weighted by
    :math:`\pi W / E` and every non-event by :math:`(1 - \pi) W / N`. Scores, net benefit, observed/expected and every
    curve are then those of a population with the event rate :math:`\pi`, provided that the forecasts of events are
    distributed there as they are here, and those of non-events too (label shift). This holds for cases sampled by
    outcome, such as a case-control study, and the population they were sampled from.

    Parameters
    ----------
    ledger : Ledger or ForecastTable
        Cases of one event, from `propriety.condense`.
    prevalence : float
        The event rate of the population, strictly between 0 and 1.

    Returns
    -------
    Ledger
        What `estimate`, `compare`, `slices` and `evaluate` read; its ``.table()`` is what curves read.

    Notes
    -----
    The event rate is fixed, so standard errors of independent cases are those of two samples, the events and the
    non-events. This holds for means, skill and measures with an influence function, and for their differences between
    models. A score of rare events depends on a few non-events with high forecasts, which a small sample may lack, so
    that errors other than that of the AUC are at least those at fitted event rates (`fitted_error`); for differences
    between models this needs the cases. Intervals with clusters or times, of parts of a score, by bootstrap, and of
    groups treat the weights as those of any other cases, which makes them too wide rather than too narrow.

    In `studies/prevalence.py`, with a prevalence of 2% and 100 to 1,000 events, the coverage of 95% intervals was 94 to
    98% for scores, net benefit, observed/expected, AUC and calibration slope, and 97 to 99% for the difference of two
    Brier scores. With 100 events and 200 non-events whose event rate is far from a logistic function of the forecast,
    it was 90% for the Brier score, 89% for the difference, and 94 to 96% for the others.

    A weighted ledger cannot be stored: store the ledger as it is, and weight it after reading.

    Only the weights change. Forecasts made for another event rate are then miscalibrated;
    `propriety.prior_correction` gives the corrected ones.

    Examples
    --------
    >>> import propriety as pr
    >>> table = pr.ForecastTable(forecast=[0.1, 0.6], events=[20, 80], non_events=[60, 40])
    >>> rare = at_prevalence(table, 0.01)
    >>> round(rare.table().event_rate, 6), rare.n
    (0.01, 200)
    >>> pr.estimate(rare, measure=pr.measures.AreaUnderRoc()).value == pr.roc_curve(table).auc
    True
    """
    check_inside("prevalence", prevalence)
    if isinstance(ledger, ForecastTable):
        ledger = Ledger.of_tables({"forecast": ledger})
    if not isinstance(ledger, Ledger):
        law = "must be a Ledger or a ForecastTable"
        hint = Wording("pass propriety.condense(y_true, forecasts).")
        raise InputTypeError(law, argument="ledger", offender=f"it is {type(ledger).__name__}", hint=hint)
    if ledger.labels is not None:
        raise InputValueError(f"must hold one event; it holds {len(ledger.labels)} classes", argument="ledger")
    if ledger.censoring is not None:
        raise InputValueError(
            "must hold known outcomes; those of a horizon are weighted for censoring", argument="ledger"
        )
    table = ledger.table(ledger.models[0])
    events, others = float(table.events.sum()), float(table.non_events.sum())
    if not (events > 0.0 and others > 0.0):
        absent = "non-events" if events > 0.0 else "events"
        raise InputValueError(f"must hold events and non-events; it holds no {absent}", argument="ledger")
    factors = (1.0 - prevalence) * (events + others) / others, prevalence * (events + others) / events
    if isinstance(ledger.source, Cases):
        found = Ledger.of_source(_weighted(ledger.source, *factors), ledger.events)
        return replace(found, prevalence=float(prevalence))
    return replace(
        ledger,
        prevalence=float(prevalence),
        is_weighted=True,
        source=None if ledger.source is None else _weighted_lazily(ledger.source, *factors),
        _tables={place: _weighted_tables(ledger.keyed_tables(*place), *factors) for place in ledger._tables},  # noqa: SLF001  (a ledger made of a ledger)
        _whole={},
        _moments={rule: _weighted_moments(ledger.moments(rule), *factors) for rule in ledger.rules},
        _collected={},
    )


def _weighted(cases: Cases, other: float, event: float) -> Cases:
    weight = np.where(cases.outcomes(), event, other)
    own = cases.weights()
    return replace(cases, weight=weight if own is None else weight * own)


def _weighted_lazily(cases: LazyCases, other: float, event: float) -> LazyCases:
    weight = other + (event - other) * cases.happened(Event("event"))
    weight = weight * nw.col("weight") if cases.weighted else weight
    return replace(cases, frame=cases.frame.with_columns(weight=weight), weighted=True)


def _weighted_tables(tables: KeyedTables, other: float, event: float) -> KeyedTables:
    return replace(
        tables,
        events=event * tables.events,
        non_events=other * tables.non_events,
        event_squares=event**2 * tables.event_squares,
        non_event_squares=other**2 * tables.non_event_squares,
    )


def _weighted_moments(moments: Moments, other: float, event: float) -> Moments:
    factor = np.where(np.array(moments.index.column(OUTCOME)) == 1, event, other)
    powers = {"weight": 1, "weight_squares": 2, "lean": 2, "spread": 2, "even_squares": 2, "even_cubes": 3}
    scaled = {}
    for name, power in powers.items():
        values = getattr(moments, name)
        scaled[name] = values * (factor**power if values.ndim == 1 else (factor**power)[:, None])
    return replace(moments, **scaled)
