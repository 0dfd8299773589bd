"""Cases by fold, and cross-fitting: the cases of each fold are recalibrated by maps fitted to the other folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.inference.measures.of_means import MeanScore
from propriety.ledger.case_moments import sums_of_cell
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import OUTCOME, Moments, Sums
from propriety.result import Floats
from propriety.rules.scoring import mean_score
from propriety.tables.cases import Cases
from propriety.tables.events import Event, events_of
from propriety.tables.forecast_table import ForecastTable

FOLD = "fold"
NONE = "none"
Fits: TypeAlias = Mapping[str, Callable[[Any], Any]]  # Functions of a table or of rows, which return a map.


class Source(NamedTuple):
    """The ledger of the cases as they were given, and the model."""

    ledger: Ledger
    model: str

    @property
    def pair(self) -> tuple[tuple[Any, Any], int] | None:
        """The labels of two columns, if forecasts were given so, and which of these is the event's; else None."""
        return None if self.ledger.source is None else self.ledger.source.pair

    def score(self, rule: Any) -> float:
        """Return the mean score: of the cases, if they are in memory, as `mean_score` does."""
        ledger, model = self
        if isinstance(ledger.source, Cases):
            return float(mean_score(ledger.source.of(model), rule=rule))
        if ledger.has_moments(rule):
            return float(ledger.moments(rule).means[ledger.models.index(model)])
        return float(MeanScore(rule).value(ledger.table(model)))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Folds:
    """Cases of one model, divided into folds.

    Parameters
    ----------
    whole : ForecastTable, ClassRows or SegmentRows
        All cases, as methods are fitted to them; forecasts may be grouped.
    tables : tuple of ForecastTable
        The table of each fold, if methods are fitted to tables.
    cases : Cases, optional
        The cases of one model; None if only tables are available.
    codes : array of shape (cases,), optional
        The fold of each case, counted from 0.
    rows : array or SegmentRows, optional
        The forecasts of the cases, one by one, as maps take them.
    dependence : {"cluster", "period"}, optional
        Whether cases may be correlated within clusters or within periods.
    words : str
        How the folds were made.
    dropped : int
        Rows left out because of missing values.
    source : Source
        The cases as they were given.
    again : callable, optional
        Draws other folds, given how often they were drawn before; None if they were not drawn at random.
    """

    whole: Any
    tables: tuple[ForecastTable, ...] = ()
    cases: Cases | None = None
    codes: NDArray[np.intp] | None = None
    rows: Any = None
    dependence: Literal["cluster", "period"] | None = None
    words: str = ""
    dropped: int = 0
    source: Source
    again: Callable[[int], Folds] | None = None

    def __post_init__(self) -> None:
        if len(self) < 2:
            raise InputValueError(f"cross-fitting needs at least two folds with cases; got {len(self)}")

    def __len__(self) -> int:
        return len(self.tables) if self.codes is None else int(self.codes.max()) + 1

    @property
    def classes(self) -> int | None:
        """Number of classes; None for forecasts of one event."""
        return None if self.cases is None else self.cases.classes

    @property
    def has_certain(self) -> bool:
        """Whether a forecast of an event is 0 or 1, or a probability of a class is 0."""
        forecast = self.whole.forecast
        return bool(((forecast == 0.0) | ((forecast == 1.0) & (self.classes is None))).any())

    @property
    def gathered(self) -> Any:
        """The forecasts, outcomes and weights of the cases, which must be available."""
        return None if self.cases is None else self.cases.gathered()

    @property
    def original(self) -> ForecastTable:
        """The table of the cases, with their forecasts as they are."""
        return replace(self.source.ledger.table(self.source.model), dropped=self.dropped)

    @property
    def is_counted(self) -> bool:
        """Whether tables of the folds are enough for the errors of gains; correlated cases are needed themselves."""
        return bool(self.tables) and (self.dependence is None or self.cases is None)

    def without(self, fold: int) -> Any:
        """Return the cases of all other folds, as methods are fitted to them."""
        if self.tables:
            return ForecastTable.merge(table for place, table in enumerate(self.tables) if place != fold)
        return self.whole[self.codes != fold]


@dataclass(frozen=True, slots=True, eq=False)
class CrossFit:
    """The maps of each method: one per fold, fitted to all other folds."""

    folds: Folds
    maps: dict[str, tuple[Any, ...]]
    _tables: dict[str, ForecastTable] = field(default_factory=dict)

    def recalibrated(self, method: str) -> Floats:
        """Return the forecasts of all cases, each recalibrated by a map that was fitted without it."""
        codes, rows = self.folds.codes, self.folds.rows
        parts = [own.recalibrated(rows[codes == place]) for place, own in enumerate(self.maps[method])]
        found = np.empty((len(rows), *parts[0].shape[1:]))
        for place, part in enumerate(parts):
            found[codes == place] = part
        return found

    def table(self, method: str) -> ForecastTable:
        """Return the table of all cases recalibrated by a method; for classes, that of all probabilities together."""
        folds = self.folds
        if method == NONE and folds.tables:
            whole: ForecastTable = folds.whole
            return whole
        if method not in self._tables:
            if folds.tables:
                pairs = zip(folds.tables, self.maps[method], strict=True)
                parts = [table.moved(own.recalibrated(table.forecast)) for table, own in pairs]
            else:
                _, outcome, weight = folds.gathered
                forecast = self.recalibrated(method)
                columns = [(1, forecast)] if folds.classes is None else enumerate(np.clip(forecast, 0.0, 1.0).T)
                parts = [ForecastTable.from_predictions(outcome == place, column, sample_weight=weight)
                         for place, column in columns]  # fmt: skip
            self._tables[method] = replace(ForecastTable.merge(parts), dropped=folds.dropped)
        return self._tables[method]

    def ledger(self, rule: Any) -> Ledger:
        """Return the ledger of the methods as models on the same cases, with the moments of a rule.

        For independent cases, the tables of the folds give the moments. Others must be available themselves.
        """
        folds = self.folds
        if folds.cases is not None and not folds.is_counted:
            cases = replace(folds.cases, forecasts={method: self.recalibrated(method) for method in self.maps}, keys={})
            events = (Event("event"),) if folds.classes is None else events_of(folds.classes, ordered=False)
            return Ledger.of_source(cases, events)
        tables = Ledger.of_tables({method: self.table(method) for method in self.maps})
        if folds.dependence is not None:
            return replace(tables, dependence=folds.dependence)
        return replace(tables, _moments={rule: self._moments(rule)})

    def scores(self, ledger: Ledger, rule: Any) -> Floats:
        """Return the mean score of each method."""
        if self.folds.classes is not None:
            return ledger.moments(rule).means[: len(self.maps)]
        return np.array([MeanScore(rule).value(ledger.table(method)) for method in self.maps])

    def moves_nothing(self, own: Any, rounding: float) -> bool:
        """Whether a map leaves the forecasts of all cases as they are, but for a relative rounding error."""
        rows = self.folds.original.forecast if self.folds.tables else self.folds.rows
        forecast = getattr(rows, "forecast", rows)
        distance = np.minimum(forecast, 1.0 - forecast)
        return bool((np.abs(own.recalibrated(rows) - forecast) <= rounding * distance).all())

    def noise(self, rule: Any, method: str, reference: str) -> float:
        r"""Return how much the noise of a method's maps adds to the variance of its gain over another method.

        Each case is scored by a map fitted to the cases of the other folds, and contributes to the maps that score
        those. So the errors of two folds are correlated through the maps, and the spread of the losses shows only half
        of this. The other half is the jackknife variance over the :math:`K` maps. With the loss :math:`d_i^k` of case
        :math:`i` under map :math:`k` minus that under the other map of the fold, and the clusters, periods or single
        cases :math:`g`, it is

        .. math:: \frac{K - 1}{K} \sum_g \sum_k \Big(\sum_{i \in g} w_i (d_i^k - \bar d_i) \Big)^2
                  \Big/ \Big(\sum_i w_i\Big)^2 .

        The fold of a case does not matter here, so the table of all cases is enough.
        """
        losses, weight, total = self._losses(rule)
        units = None if self.folds.is_counted or self.folds.cases is None else self.folds.cases.units
        first: Any = None
        moved: Any = 0.0
        squares: Any = 0.0
        for own, other in zip(self.maps[method], self.maps[reference], strict=True):
            with np.errstate(invalid="ignore"):  # The difference of infinite losses is undefined.
                difference = losses(own) - losses(other)
            part = np.where(np.isfinite(difference), difference, 0.0) * weight
            part = part if units is None else np.bincount(units.codes, part).astype(np.float64)
            first = part if first is None else first  # Relative to these, equal maps have no noise at all.
            moved, squares = moved + (part - first), squares + (part - first) ** 2
        number = len(self.folds)
        return (number - 1) / number * float((squares - moved**2 / number).sum()) / total**2

    def _losses(self, rule: Any) -> tuple[Callable[[Any], Floats], Floats | float, float]:
        """Return the losses of all cases as a function of a map, the weight of each, and their sum."""
        folds, whole = self.folds, self.folds.whole
        if folds.is_counted:  # Each row counts twice, as cases with and without the event.
            roots = np.sqrt(np.stack([whole.event_squares, whole.non_event_squares]))

            def of_rows(own: Any) -> Floats:
                losses = (rule.loss(own.recalibrated(whole.forecast), event=event) for event in (True, False))
                return np.stack([np.broadcast_to(loss, len(whole)) for loss in losses])

            return of_rows, roots, whole.weight
        _, outcome, weight = folds.gathered

        def of_cases(own: Any) -> Floats:
            forecast = own.recalibrated(folds.rows)
            if folds.classes is not None:
                return np.broadcast_to(rule.class_case_loss(list(forecast.T), outcome), len(outcome))
            return np.broadcast_to(rule.case_loss(forecast, outcome == 1), len(outcome))

        return of_cases, 1.0 if weight is None else weight, float(len(outcome) if weight is None else weight.sum())

    def _moments(self, rule: Any) -> Moments:
        """Return the moments of the losses of all methods, by outcome and fold."""
        cells: dict[tuple[int, int], tuple[Any, ...]] = {}
        for fold, table in enumerate(self.folds.tables):
            forecasts = [maps[fold].recalibrated(table.forecast) for maps in self.maps.values()]
            sides = (
                (table.non_events, table.non_event_squares, table.n - table.n_events),
                (table.events, table.event_squares, table.n_events),
            )
            for outcome, (weight, squares, n) in enumerate(sides):
                met = weight > 0.0
                if met.any():
                    losses = [np.broadcast_to(rule.loss(one, event=bool(outcome)), len(table)) for one in forecasts]
                    found = sums_of_cell(np.stack(losses)[:, met], weight[met], squares[met])
                    cells[outcome, fold] = (n, float(weight.sum()), float(squares.sum()), *found)
        outcomes, places = zip(*cells, strict=True)
        sums = Sums(*(np.array(column) for column in zip(*cells.values(), strict=True)))
        index = KeyIndex.of_columns({OUTCOME: outcomes, FOLD: places})
        return Moments(**sums._asdict(), models=tuple(self.maps), rule=rule, index=index)


def fitted_maps(cases: Any, fits: Fits) -> tuple[dict[str, Any], dict[str, InputValueError]]:
    """Return the maps of the methods that can be fitted, and the errors of the others."""
    maps, failed = {}, {}
    for method, fit in fits.items():
        try:
            maps[method] = fit(cases)
        except InputValueError as error:
            failed[method] = error
    return maps, failed


def maps_by_fold(folds: Folds, fits: Fits) -> tuple[dict[str, tuple[Any, ...]], dict[str, InputValueError]]:
    """Fit each method once per fold, to all other folds; also return the errors of methods that cannot be fitted."""
    maps: dict[str, tuple[Any, ...]] = dict.fromkeys(fits, ())
    failed: dict[str, InputValueError] = {}
    for fold in range(len(folds)):
        found, reasons = fitted_maps(folds.without(fold), {name: fits[name] for name in maps})
        failed |= reasons
        maps = {name: (*maps[name], own) for name, own in found.items()}
    return maps, failed
