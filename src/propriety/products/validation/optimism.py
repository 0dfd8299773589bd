"""Optimism by the bootstrap: rows of apparent and corrected values, and the .632+ estimate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from propriety.errors import InputValueError
from propriety.inference.finding import Finding
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.inference.notes import Note
from propriety.products.validation.resampled_fits import RareClass, Rows, Sample, drawn_rows, rare_class
from propriety.products.validation.rows import Work, corrected_rows, means_of, notes_on_values, value_or_nan
from propriety.progress import mapped
from propriety.result import Floats
from propriety.rules.scoring import losses_of_table
from propriety.tables.forecast_table import ForecastTable

FEW_GROUPS = 10  # The optimism of draws of fewer groups is noted.
FAR = 0.5  # A difference between both corrections above this share of the optimism is noted.
PLUS = ".632+"  # The statistic of rows of that estimate.


def rows_by_bootstrap(work: Work, n_resamples: int, seed: int) -> Iterator[Finding]:
    """Yield the rows by Harrell's bootstrap and the .632+ bootstrap."""
    if work.groups is not None and len(np.unique(work.groups)) < 2:
        raise InputValueError("must have two groups or more", argument="groups", offender="all cases are in one")
    seeds = np.random.SeedSequence(seed).spawn(n_resamples)
    rare = rare_class(work.sample.y, work.groups)
    drawing, by_class = _notes_on_drawing(work, rare), rare is not None and work.groups is None
    samples = (drawn_rows(work.sample, work.groups, one, by_class=by_class) for one in seeds)
    one_draw = partial(value_of_draw, work.sample, work.measures, by_class=by_class)
    done = mapped(one_draw, samples, total=n_resamples, workers=work.workers, progress=work.progress, label="bootstrap")
    draws = Draw(*(np.array(column).reshape(n_resamples, -1) for column in zip(*done, strict=True)))
    with np.errstate(invalid="ignore"):
        # A model that is infinitely bad in the original cases is so, also if it is in the drawn ones.
        gaps = np.where(np.isinf(draws.original), -draws.original, draws.drawn - draws.original)
    of_values = notes_on_values(gaps, "draw")
    columns = zip(work.estimates(work.apparent), means_of(gaps), means_of(draws.left_out), of_values, strict=True)
    for row, optimism, left_out, notes in columns:
        with np.errstate(invalid="ignore"):
            low, high, value = row.low - optimism, row.high - optimism, row.value - optimism
        shifted = replace(row, low=low, high=high, value=value, notes=(*row.notes, *drawing, *notes))
        corrected, apparent, gap = corrected_rows(work, shifted, row.value, len(work.sample))
        measure = row.measure
        chance = without_information(
            measure, None if work.apparent.labels is not None else work.apparent.table(row.model)
        )
        plus = corrected_632(row.value, left_out, chance, higher_is_better=measure.higher_is_better)
        with np.errstate(invalid="ignore"):
            far = np.abs(plus - corrected.value) > FAR * np.abs(gap.value)
        if far and not corrected.low <= plus <= corrected.high:
            corrected = replace(corrected, notes=(*corrected.notes, Note("too-flexible")))
        yield from (corrected, apparent, gap)
        if not math.isnan(plus):
            yield replace(apparent, statistic=PLUS, value=plus)


def _notes_on_drawing(work: Work, rare: RareClass | None) -> tuple[Note, ...]:
    """Return how a rare class was drawn, and whether there are too few groups to draw."""
    facts = {} if rare is None else rare._asdict()
    if work.groups is None:
        return () if rare is None else (Note("drawn-by-class", facts),)
    groups = len(np.unique(work.groups))
    few = (Note("groups-drawn", {"groups": groups}),) if groups < FEW_GROUPS else ()
    return few if rare is None else (*few, Note("drawn-again", facts))


SHARE = 1.0 - math.exp(-1.0)  # Of the cases, expected in a sample drawn with replacement.


class Draw(NamedTuple):
    """Values of the models fitted to drawn cases, of shape (models, measures): there, in all cases, and in the rest."""

    drawn: Floats
    original: Floats
    left_out: Floats


def value_of_draw(sample: Sample, measures: tuple[Measure, ...], rows: Rows, *, by_class: bool = False) -> Draw:
    """Fit the estimators to drawn rows, and evaluate them there, in all cases, and in those that were not drawn.

    Drawn `by_class`, cases of a rare class are left out less often than others, so those left out are weighted.
    """
    every = np.arange(len(sample))
    forecasts, _ = sample.forecasts(sample.fitted(rows), every)
    left_out = np.setdiff1d(every, rows)
    values = partial(_values, sample, measures, forecasts)
    return Draw(values(rows), values(every), values(left_out, _shares(sample, left_out) if by_class else None))


def _shares(sample: Sample, rows: Rows) -> Floats:
    """Return weights that give each class of some rows its share of all cases; none if a class is absent."""
    classes, codes = np.unique(sample.y, return_inverse=True)
    held = np.bincount(codes[rows], minlength=len(classes))
    return (np.bincount(codes) / held)[codes[rows]] if held.all() else np.empty(0)


def _values(
    sample: Sample,
    measures: tuple[Measure, ...],
    forecasts: dict[str, Floats],
    rows: Rows,
    weight: Floats | None = None,
) -> Floats:
    """Return the values of all measures in some rows, of shape (models, measures); NaN if undefined."""
    if not len(rows if weight is None else weight):
        return np.full((len(forecasts), len(measures)), np.nan)
    ledger = sample.ledger(rows, {name: own[rows] for name, own in forecasts.items()}, sample_weight=weight)
    return np.array([[value_or_nan(ledger, measure, name) for measure in measures] for name in forecasts])


def without_information(measure: Measure, table: ForecastTable | None) -> float:
    """Return the value of a measure if forecasts and outcomes were independent; NaN if it is not defined.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore
    >>> table = ForecastTable.from_predictions([0, 1], [0.0, 1.0])
    >>> MeanScore().value(table), without_information(MeanScore(), table)
    (0.0, 0.5)
    """
    if measure == AreaUnderRoc():
        return 0.5
    if table is None or measure.sign is None or measure.rule is None:
        return math.nan
    of_non_event, of_event = losses_of_table(table, measure.rule)
    share, rate = table.weights / table.weight, table.event_rate
    return measure.sign * float((share * (rate * of_event + (1.0 - rate) * of_non_event)).sum())


def corrected_632(apparent: float, left_out: float, chance: float, *, higher_is_better: bool | None) -> float:
    r"""Return the .632+ estimate from the apparent value, that of cases left out, and that without information.

    With the values :math:`A`, :math:`B` and :math:`G` of a loss, and the share :math:`p = 1 - 1/e` of the cases that
    are drawn, :math:`R = (B - A) / (G - A)` is the relative overfitting, limited to [0, 1], and

    .. math:: (1 - w) A + w \min(B, G), \qquad w = p / (1 - (1 - p) R) .

    If :math:`A` or :math:`B` is infinite, the estimate is.

    References
    ----------
    Efron & Tibshirani (1997), doi:10.1080/01621459.1997.10474007.

    Examples
    --------
    >>> round(corrected_632(0.0, 0.5, 0.5, higher_is_better=False), 3)
    0.5
    >>> round(corrected_632(0.9, 0.8, 0.5, higher_is_better=True), 3)
    0.83
    """
    sign = -1.0 if higher_is_better else 1.0
    a, b, g = sign * apparent, sign * left_out, sign * chance
    if higher_is_better is None or math.isnan(a) or math.isnan(b) or math.isnan(g):
        return math.nan
    if math.isinf(a) or math.isinf(b):
        return sign * max(a, b)
    b = min(b, g)
    overfitting = min((b - a) / (g - a), 1.0) if b > a and g > a else 0.0
    weight = SHARE / (1.0 - (1.0 - SHARE) * overfitting)
    return sign * ((1.0 - weight) * a + weight * b)
