"""Cases with the columns of their segments, by fold, and cross-fitting by segment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.inference.measures import MeanScore
from propriety.inference.segment_columns import Cut
from propriety.inference.segment_source import cut_ledger, with_names
from propriety.ledger.ledger import Ledger
from propriety.recalibration.cross_fitting import Fits
from propriety.recalibration.folds import Folds, folds_of_cases
from propriety.recalibration.maps import RecalibrationMap
from propriety.recalibration.methods import Fit
from propriety.recalibration.segment_fit import SegmentFit, SegmentRows, fit_by_segment
from propriety.recalibration.segment_map import Label, SegmentEffect, SegmentMap, checked_label
from propriety.result import Floats
from propriety.rules.rule import BinaryRule
from propriety.tables.cases import Cases
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import known
from propriety.tables.queries import count_rows

MOST_ROWS = 2**22  # Of a lazy frame, which is loaded.
BY_SEGMENT = " by segment"
QUANTILES = 5  # Parts into which numbers are cut.


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SegmentFolds:
    """Cases of one model with their folds, and the label of each case in each column.

    Parameters
    ----------
    folds : Folds
        The folds, with their cases.
    names : tuple of str
        The columns.
    labels : tuple of tuple
        The labels of each column; of numbers, the limits of their parts.
    """

    folds: Folds
    cases: Cases
    codes: NDArray[np.intp]
    names: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    whole: SegmentRows = field(init=False)

    def __post_init__(self) -> None:
        forecast, happened, _ = self.cases.gathered()
        codes = tuple(key.codes for key in self.cases.keys.values())
        sizes = tuple(len(own) for own in self.labels)
        rows = SegmentRows(self.folds.whole, forecast, happened.astype(np.bool_), codes, sizes)
        object.__setattr__(self, "whole", rows)

    def __len__(self) -> int:
        return len(self.folds)

    @property
    def has_certain(self) -> bool:
        """Whether a forecast is 0 or 1."""
        return self.folds.has_certain

    @property
    def words(self) -> str:
        """How the folds were made."""
        return self.folds.words

    @property
    def dropped(self) -> int:
        """Rows left out because of missing values."""
        return self.folds.dropped

    def where(self, kept: NDArray[np.bool_], table: ForecastTable) -> SegmentRows:
        """Return some of the cases."""
        _, forecast, happened, codes, sizes = self.whole
        return SegmentRows(table, forecast[kept], happened[kept], tuple(own[kept] for own in codes), sizes)

    def of(self, fold: int) -> SegmentRows:
        """Return the cases of a fold."""
        return self.where(self.codes == fold, self.folds.tables[fold])

    def without(self, fold: int) -> SegmentRows:
        """Return the cases of all other folds."""
        return self.where(self.codes != fold, self.folds.without(fold))

    def map_of(self, fit: SegmentFit) -> SegmentMap:
        """Return a fit as a map of labels."""
        shifts: dict[tuple[tuple[str, Any], ...], float] = {}
        for name, labels, own_shifts in zip(self.names, self.labels, fit.effects, strict=True):
            shifts |= {((name, label),): own for label, own in zip(labels, own_shifts.tolist(), strict=True)}
        for segment, own in fit.segments:
            places = tuple((self.names[column], self.labels[column][code]) for column, code in segment)
            shifts[places] = shifts.get(places, 0.0) + own
        effects = tuple(SegmentEffect(places, shift) for places, shift in shifts.items() if shift)
        return SegmentMap(whole=fit.whole, effects=effects, floor=fit.floor)


def segment_folds_of(
    y_true: object,
    forecasts: object,
    by: object,
    *,
    folds: object,
    id: object,  # noqa: A002  (what users call it)
    seed: int,
    model: str | None,
    **options: Any,
) -> SegmentFolds:
    """Split cases into folds, with the columns of their segments; see `propriety.recalibrate` for the arguments."""
    if isinstance(y_true, Ledger | ForecastTable | dict):
        law = "recalibration by segment needs the cases, with their columns"
        raise InputTypeError(law, offender=f"got {type(y_true).__name__}", hint=Wording("pass arrays or a frame."))
    given = {"sample_weight": options.get("sample_weight"), "id": id}
    hints = {"sample_weight": "leave out the weights, or the segments.", "id": "{cluster=} keeps cases in one fold."}
    for argument, value in given.items():
        if value is not None:
            law, hint = Wording("cannot be combined with {by=}"), Wording(hints[argument])
            raise InputValueError(law, argument=argument, hint=hint)
    if not isinstance(folds, int | np.integer) or isinstance(folds, bool) or not 2 <= folds <= 100:
        law = Wording("must be a whole number from 2 to 100 with {by=}")
        raise InputValueError(law, argument="folds", offender=f"got {folds!r}")
    outcome = options.get("outcome")
    frame = None if outcome is None else known(y_true)
    if isinstance(frame, nw.LazyFrame) and (rows := count_rows(frame)) > MOST_ROWS:
        law = f"recalibration by segment loads the cases; the frame has {rows:,} rows, and at most {MOST_ROWS:,} can be"
        raise InputValueError(law, hint="pass a random sample of the rows; the map applies to all of them.")
    ledger, cuts = cut_ledger(y_true, forecasts, by, QUANTILES, finite=True, **{"outcome": None, **options})
    given_cases = ledger.cases
    if given_cases is None or ledger.labels is not None or ledger.censoring is not None:
        raise InputValueError("recalibration by segment is for forecasts of one event with known outcomes")
    name, cases = ledger.one_model(model), with_names(given_cases, by)
    found = folds_of_cases(ledger, cases, int(folds), name, seed)
    assert isinstance(found, Folds)  # noqa: S101  (for the type checker; there is one event)
    assert found.cases is not None and found.codes is not None  # noqa: S101, PT018  (as above)
    return SegmentFolds(
        folds=found,
        cases=replace(found.cases, keys=cases.keys),
        codes=found.codes,
        names=tuple(cases.keys),
        labels=tuple(_labels(key, cuts.get(key), own.labels) for key, own in cases.keys.items()),
    )


def _labels(column: str, cut: Cut | None, labels: tuple[Any, ...]) -> tuple[Label, ...]:
    """Return the labels of a column; those of a cut are the indices of its parts."""
    if cut is None:
        return tuple(checked_label(label, column) for label in labels)
    limits = [None, *cut.edges.tolist(), None]
    return tuple((limits[int(label)], limits[int(label) + 1]) for label in labels)


def segment_methods(method: str, fits: Fits) -> Fits:
    """Return the methods as functions of cases with columns, and the one that also fits shifts by segment."""
    known = {name: partial(_fit_table, fit) for name, fit in fits.items()}
    return {**known, f"{method}{BY_SEGMENT}": partial(fit_by_segment, fit=fits[method])}


def _fit_table(fit: Fit, rows: SegmentRows) -> RecalibrationMap:
    return fit(rows.table)


@dataclass(frozen=True, slots=True, eq=False)
class SegmentCrossFit:
    """The maps of each method, for all cases or by segment: one per fold, fitted to all other folds."""

    folds: SegmentFolds
    maps: dict[str, tuple[RecalibrationMap | SegmentFit, ...]]

    def recalibrated(self, method: str) -> Floats:
        """Return the forecasts of all cases, each recalibrated by a map that was fitted without it."""
        found = np.empty(len(self.folds.codes))
        for place, own in enumerate(self.maps[method]):
            found[self.folds.codes == place] = _applied(own, self.folds.of(place))
        return found

    def table(self, method: str) -> ForecastTable:
        """Return the table of all cases recalibrated by a method, each by a map that was fitted without it."""
        found = ForecastTable.from_predictions(self.folds.whole.happened, self.recalibrated(method))
        return replace(found, dropped=self.folds.dropped)

    def ledger(self, rule: BinaryRule) -> Ledger:  # noqa: ARG002  (the other versions need it for their moments)
        """Return the ledger of the methods as models on the same cases."""
        forecasts = {method: self.recalibrated(method) for method in self.maps}
        return Ledger.of_source(replace(self.folds.cases, forecasts=forecasts, keys={}), (Event("event"),))

    def scores(self, ledger: Ledger, rule: BinaryRule) -> Floats:
        """Return the mean score of each method, from its table."""
        return np.array([MeanScore(rule).value(ledger.table(method)) for method in self.maps])

    def noise(self, rule: BinaryRule, method: str, reference: str) -> float:
        """Return the variance that the estimation noise of a method's maps adds; see `map_noise`."""
        units = self.folds.cases.units
        total = squares = np.zeros(1)
        pairs = list(zip(self.maps[method], self.maps[reference], strict=True))
        for own, other in pairs:
            losses = self._losses(rule, own)
            with np.errstate(invalid="ignore"):  # The difference of infinite losses is undefined.
                losses = losses - self._losses(rule, other)
            parts = np.where(np.isfinite(losses), losses, 0.0)
            parts = parts if units is None else np.bincount(units.codes, parts)
            total, squares = total + parts, squares + parts**2
        spread = np.maximum(squares - total**2 / len(pairs), 0.0)
        return (len(pairs) - 1) / len(pairs) * float(np.sum(spread)) / len(self.folds.codes) ** 2

    def _losses(self, rule: BinaryRule, own: RecalibrationMap | SegmentFit) -> Floats:
        rows = self.folds.whole
        forecast = _applied(own, rows)
        losses = (np.broadcast_to(rule.loss(forecast, event=event), len(forecast)) for event in (True, False))
        return np.where(rows.happened, *losses)


def _applied(own: RecalibrationMap | SegmentFit, rows: SegmentRows) -> Floats:
    return own.recalibrated(rows) if isinstance(own, SegmentFit) else own.recalibrated(rows.forecast)
