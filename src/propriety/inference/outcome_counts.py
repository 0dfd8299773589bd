"""How many independent outcomes there are, on which it depends whether a gross error could have been found."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.inference.answers_ledger import as_measured
from propriety.inference.cluster_errors import effective_number
from propriety.inference.dependence import hac, places_of_groups, sums_of_units
from propriety.inference.dependent_calibration import units_of_cases
from propriety.inference.estimates import effective_by_outcome
from propriety.inference.finding import Finding
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import score_of_constant
from propriety.inference.verdict import MARGINS, has_ideal, is_enough, with_verdict
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable


class OutcomeCounts(NamedTuple):
    """Independent outcomes of equal weight, with the numbers of clusters or periods.

    Nothing here depends on the forecasts, so that it is the same for all models.

    Parameters
    ----------
    scarce : float
        Number of the rarer outcome, divided by the design effect.
    units, equal_units : float
        Number of clusters or periods, and of clusters of equal size that they are worth; infinite for others.
    """

    scarce: float
    units: float = math.inf
    equal_units: float = math.inf

    def enough(self, measure: str) -> bool:
        """Return whether they could have shown a gross error of a measure."""
        return is_enough(measure, self.scarce, units=self.units, equal_units=self.equal_units)


def outcome_counts(table: ForecastTable, correlated: Cases | None) -> OutcomeCounts:
    """Return the counts of one event, given its cases if these may be correlated."""
    scarce = min(effective_by_outcome(table))
    if correlated is None:
        return OutcomeCounts(scarce)
    (found,) = counts_of_tables(KeyedTables.of_tables([table]), correlated, np.zeros(len(correlated), dtype=np.intp))
    return found


def counts_of_tables(keyed: KeyedTables, correlated: Cases | None, entry: NDArray[np.intp]) -> list[OutcomeCounts]:
    """Return the counts of each table, given the cases of its event and their tables if they may be correlated."""
    tables = len(keyed.n)

    def summed(values: Floats) -> Floats:
        return np.bincount(keyed.entry, values, minlength=tables).astype(np.float64)

    events, others = summed(keyed.events), summed(keyed.non_events)
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = events**2 / summed(keyed.event_squares), others**2 / summed(keyed.non_event_squares)
        rate = events / (events + others)
    scarce = np.minimum(*(np.nan_to_num(side) for side in sides))
    if correlated is None:
        return [OutcomeCounts(one) for one in scarce.tolist()]
    effect, units, equal = _design(correlated, entry, rate)
    return [OutcomeCounts(*row) for row in zip((scarce / effect).tolist(), units.tolist(), equal.tolist(), strict=True)]


def _design(cases: Cases, entry: NDArray[np.intp], rate: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the design effects of the outcomes of each table, at least 1, and the numbers of its units."""
    _, event, weight = cases.gathered()
    w = np.ones(len(event)) if weight is None else weight
    residual = w * (event - rate[entry])
    units, codes = units_of_cases(cases)
    pair, place = np.unique(entry * units + codes, return_inverse=True)
    own, tables = pair // units, len(rate)
    sums, sizes = sums_of_units(np.stack([residual, w]), place, len(pair))
    if cases.period is None:
        squares = np.bincount(own, sums**2, minlength=tables)
        equal = np.array([effective_number(sizes[at]) for at in places_of_groups(own, tables)])
    else:
        squares = np.array([_square_in_time(sums[at]) for at in places_of_groups(own, tables)])
        equal = np.full(tables, np.inf)
    plain = np.bincount(entry, residual**2, minlength=tables)
    effect = np.maximum(np.divide(squares, plain, out=np.ones(tables), where=plain > 0.0), 1.0)
    return effect, np.bincount(own, sizes > 0.0, minlength=tables).astype(np.float64), equal


def _square_in_time(sums: Floats) -> float:
    """Return the variance of the sum over periods; infinite for one period."""
    if len(sums) < 2:
        return math.inf
    error, _ = hac((sums - sums.mean())[:, None])
    return float(error[0]) ** 2


def correlated_cases(ledger: Ledger, model: str, event: Event) -> Cases | None:
    """Return the cases of an event of a model if they may be correlated and are available."""
    cases = None if ledger.dependence is None else ledger.cases
    return None if cases is None else cases.event(event, model)


def counts_of(ledger: Ledger, model: str, event: Event) -> OutcomeCounts:
    """Return the counts of an event of a model, none if its cases may be correlated and are not available."""
    correlated = correlated_cases(ledger, model, event)
    if ledger.dependence is not None and correlated is None:
        return OutcomeCounts(0.0)
    return outcome_counts(ledger.table(model, event), correlated)


def no_model_score(ledger: Ledger, measure: Measure) -> float:
    """Return the score of the constant event rate, or rates of classes, if margins of a measure are shares of it."""
    margin, rule = MARGINS.get(measure.key), measure.rule
    if rule is None or not (measure.sign == 1.0 or (margin is not None and margin.of_no_model)):
        return math.nan
    if ledger.labels is None:
        rate = ledger.table(ledger.models[0]).event_rate
        return score_of_constant(rule, np.array([1.0 - rate, rate]))
    if not ledger.has_moments(rule):
        return math.nan
    outcomes = ledger.moments(rule).over(OUTCOME)
    shares = np.zeros(len(ledger.labels))
    shares[np.array(outcomes.index.column(OUTCOME), dtype=np.intp)] = outcomes.weight / outcomes.weight.sum()
    return score_of_constant(rule, shares, len(shares))


def are_enough(ledger: Ledger, model: str, measure: Measure) -> bool:
    """Return whether the outcomes of a ledger could have shown a gross error of a measure."""
    known = as_measured(ledger, measure, model)
    return counts_of(known, model, known.events[0]).enough(measure.key)


def judged(ledger: Ledger, row: Finding) -> Finding:
    """Return an estimate of all cases with its verdict, which depends on how many outcomes there are."""
    measure, events = row.measure, None if ledger.labels is not None else ledger.table(row.model).n_events
    if not has_ideal(measure):
        return replace(row, events=events)
    enough = are_enough(ledger, row.model, measure)
    return with_verdict(replace(row, events=events, enough=enough, no_model=no_model_score(ledger, measure)))
