"""Selection of the forecasts other than 0 and 1, which have log-odds."""

from __future__ import annotations

import math

import numpy as np

from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable

LEAST = np.finfo(np.float64).tiny


def without_certain(ledger: Ledger, model: str) -> Ledger:
    """Return the ledger of one model without forecasts of exactly 0 and 1, as far as possible."""
    table = ledger.table(model)
    inside = (table.forecast > 0.0) & (table.forecast < 1.0)
    if inside.all() or not inside.any():
        return ledger
    cases = ledger.cases if table.is_weighted or ledger.dependence is not None else None
    if isinstance(ledger.source, Cases):
        cases = ledger.source
    if cases is not None:
        forecast, _, _ = cases.gathered(model)
        return Ledger.of_source(cases.of(model).where((forecast > 0.0) & (forecast < 1.0)), ledger.events)
    if ledger.dependence is not None:
        return ledger
    names: tuple[str, ...] = ("forecast", "events", "non_events")
    if not table.is_weighted:
        return Ledger.of_tables({model: ForecastTable(**{name: getattr(table, name)[inside] for name in names})})
    names += ("event_squares", "non_event_squares")
    columns = {name: getattr(table, name)[inside] for name in names}
    # The number of cases in a row of weighted cases is not stored. Their share of the weight is close enough for its
    # use: a factor n / (n - 1), and a note if there are few.
    events, others = (
        _number(total, weight[inside].sum() / max(weight.sum(), LEAST), weight[inside], squares[inside])
        for total, weight, squares in (
            (table.n_events, table.events, table.event_squares),
            (table.n - table.n_events, table.non_events, table.non_event_squares),
        )
    )
    return Ledger.of_tables({model: ForecastTable(**columns, n=events + others, n_events=events)})


def _number(total: int, share: float, weight: Floats, squares: Floats) -> int:
    """Return roughly how many cases have a share of the weight; no fewer than rows and squares allow."""
    least = math.ceil(float(weight.sum()) ** 2 / max(float(squares.sum()), LEAST) - 1e-9)
    return max(round(total * share), least, int(np.count_nonzero(weight)))
