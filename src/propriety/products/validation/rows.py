"""What all methods of a validation share: what is validated, and the rows of corrected values."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.errors import UNDEFINED
from propriety.inference.bootstrap import Drawing
from propriety.inference.estimation import estimate_or_note
from propriety.inference.finding import Finding
from propriety.inference.measures.measure import Measure
from propriety.inference.notes import Note
from propriety.inference.outcome_counts import judged
from propriety.inference.verdict import with_verdict
from propriety.ledger.ledger import Ledger
from propriety.products.validation.resampled_fits import Sample, value_in
from propriety.result import Floats

DRAWING = Drawing(1000, 0)  # For intervals of measures without a formula.
CORRECTED = "corrected"  # The statistic of values for new cases; those beside it are named in `verdict.py`.


class Work(NamedTuple):
    """What is validated: the cases, the forecasts of models fitted to all of them, the measures, groups and options."""

    sample: Sample
    apparent: Ledger
    measures: tuple[Measure, ...]
    groups: NDArray[Any] | None
    level: float
    workers: int
    progress: bool

    @property
    def asked(self) -> list[tuple[str, Measure]]:
        """The models and measures, in the order of the rows."""
        return [(model, measure) for model in self.apparent.models for measure in self.measures]

    def estimates(self, ledger: Ledger) -> list[Finding]:
        """Estimate all measures of all models from a ledger."""
        return [
            judged(ledger, estimate_or_note(ledger, model, measure, level=self.level, drawing=DRAWING))
            for model, measure in self.asked
        ]

    def values(self, ledger: Ledger) -> list[float]:
        """Return the values in a ledger; NaN where one is undefined."""
        return [value_or_nan(ledger, measure, model) for model, measure in self.asked]


def value_or_nan(ledger: Ledger, measure: Measure, model: str) -> float:
    """Return the value of a measure in a ledger; NaN where it is undefined."""
    try:
        return value_in(ledger, measure, model)
    except UNDEFINED:
        return math.nan


def corrected_rows(work: Work, row: Finding, apparent: float, n: int) -> tuple[Finding, Finding, Finding]:
    """Return the corrected value within the range of its measure, the apparent value and the optimism."""
    least, most = row.measure.range_of(work.apparent.classes)
    value, low, high = (float(np.clip(one, least, most)) for one in (row.value, row.low, row.high))
    low, high = (low, high) if math.isfinite(value) else (math.nan, math.nan)
    corrected = replace(
        row, statistic=CORRECTED, value=value, low=low, high=high, n=n, events=row.events if n == row.n else None
    )
    alone = Finding(measure=row.measure, model=row.model, level=row.level, n=n)
    with np.errstate(invalid="ignore"):
        optimism = float(np.subtract(apparent, value))
    return (
        with_verdict(corrected),
        replace(alone, statistic="apparent", value=apparent),
        replace(alone, statistic="optimism", value=optimism),
    )


def notes_on_values(values: Floats, unit: str) -> list[tuple[Note, ...]]:
    """Return, for each column, in how many draws or parts, which are rows, its measure is undefined or infinite."""
    counts = {"undefined": np.isnan(values).sum(axis=0), "infinite": np.isinf(values).sum(axis=0)}
    return [
        tuple(
            Note("unusual-parts", {"what": what, "number": int(number[place]), "unit": unit})
            for what, number in counts.items()
            if number[place]
        )
        for place in range(values.shape[1])
    ]


def means_of(columns: Floats) -> list[float]:
    """Return the means of columns over the rows in which they are defined; NaN if there are none."""
    known = ~np.isnan(columns)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: list[float] = (np.where(known, columns, 0.0).sum(axis=0) / known.sum(axis=0)).tolist()
    return means
