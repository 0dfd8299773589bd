"""Cases with the columns of their segments, by fold, and cross-fitting by segment."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from propriety import checks
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.ledger.ledger import Ledger
from propriety.products.segments.columns import Cut
from propriety.products.segments.lattice import Lattice, Place
from propriety.products.segments.null_distribution import SMALLEST
from propriety.products.segments.search import Critical, search
from propriety.products.segments.source import cut_cases, names_of_keys
from propriety.products.segments.sums import SegmentCases
from propriety.recalibration.cross_fitting import Fits, Folds
from propriety.recalibration.folds import MOST_FOLDS, folds_of_cases
from propriety.recalibration.maps import RecalibrationMap, floor_of, log_odds
from propriety.recalibration.methods import Fit
from propriety.recalibration.segment_map import Label, SegmentEffect, SegmentMap, checked_label
from propriety.result import Floats
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import known
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.queries import count_rows
from propriety.tables.reading import read_source

MOST_ROWS = 2**22  # Of a lazy frame, which is loaded.
BY_SEGMENT = " by segment"
QUANTILES = 5  # Parts into which numbers are cut.
SegmentColumns: TypeAlias = Mapping[str, tuple[Label, ...]]  # The labels of each column; of numbers, limits of parts.


def segment_folds_of(
    cases: object, by: str | Sequence[str] | None, *, folds: object, model: str | None
) -> tuple[Folds, SegmentColumns]:
    """Split cases into folds, with the columns of their segments; see `propriety.recalibrate_segments`."""
    number = checks.whole(folds, "folds", least=2, most=MOST_FOLDS)
    cut, cuts = cut_cases(_cases_with_columns(cases, by), QUANTILES, finite=True)
    ledger = Ledger.of_cases(cut.with_keys(()))
    found = folds_of_cases(ledger, cut, number, ledger.one_model(model))
    columns = {key: _labels(key, cuts.get(key), own.labels) for key, own in cut.keys.items()}
    return _with_columns(found, cut), columns


def _with_columns(found: Folds, cut: Cases) -> Folds:
    """Return folds of cases with the columns of their segments, of which tables know nothing."""
    forecast, happened, _ = found.gathered
    keys, again = cut.keys.values(), found.again
    rows = SegmentRows(
        forecast, happened.astype(np.bool_), tuple(key.codes for key in keys), tuple(len(key.labels) for key in keys)
    )
    drawn = None if again is None else lambda draw: _with_columns(again(draw), cut)
    return replace(found, whole=rows, rows=rows, tables=(), again=drawn)


def _cases_with_columns(cases: object, by: str | Sequence[str] | None) -> Cases:
    """Return the cases in memory with the columns of their segments as keys."""
    if not isinstance(cases, Cases | LazyCases):
        hint = Wording("pass propriety.cases(y_true, forecasts, {by=}columns).")
        raise InputTypeError("recalibration by segment needs the cases, with their columns", got_type=cases, hint=hint)
    names = names_of_keys(cases, by)
    if isinstance(cases, LazyCases):
        given = {**cases.confirmed().given, "id": None, "by": names}
        frame: Any = known(given.pop("y_true"))
        if (rows := count_rows(frame)) > MOST_ROWS:
            law = f"recalibration by segment loads the cases; the frame has {rows:,} rows, more than {MOST_ROWS:,}"
            raise InputValueError(law, hint="pass a random sample of the rows; the map applies to all of them.")
        read = read_source(frame.collect().to_native(), given.pop("forecasts"), **given)
        assert isinstance(read, Cases)  # noqa: S101  (for the type checker; the frame was collected)
    else:
        read = cases.expanded().with_keys(names)
    if read.labels is not None or read.censoring is not None:
        raise InputValueError("recalibration by segment is for forecasts of one event with known outcomes")
    if read.weight is not None:
        raise InputValueError("recalibration by segment is for cases without weights")
    return read


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


def _fit_table(fit: Fit, rows: SegmentRows) -> SegmentFit:
    return SegmentFit(fit(rows.table))


DEPTH = 2  # Columns of a segment that has an effect beyond those of its labels.
LEVEL = 0.95
MOST_FOUND = 20
MOST_LABELS = 4_000  # The cross products of all labels are a dense matrix.
SMALLEST_SPREAD, LARGEST_SPREAD = 1e-4, 3.0  # Standard deviations of effects; below, there are none.
FIRST_SPREAD, STEPS_OF_SPREAD = 0.2, 4  # The spreads are estimated in the first steps, and then kept.
LAST_STEP, LONGEST_STEP, MAX_STEPS = 1e-6, 2.0, 30


@dataclass(frozen=True, eq=False)
class SegmentRows:
    """Cases with the index of their label in each column."""

    forecast: Floats
    happened: NDArray[np.bool_]
    codes: tuple[NDArray[np.intp], ...]
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.forecast)

    def __getitem__(self, kept: NDArray[np.bool_]) -> SegmentRows:
        """Return some of the cases."""
        codes = tuple(own[kept] for own in self.codes)
        return SegmentRows(self.forecast[kept], self.happened[kept], codes, self.sizes)

    @cached_property
    def table(self) -> ForecastTable:
        """The forecast table of the cases."""
        return ForecastTable.from_predictions(self.happened, self.forecast)

    def members(self, segment: Sequence[Place]) -> NDArray[np.bool_]:
        """Return which cases are in a segment."""
        return np.logical_and.reduce([self.codes[column] == code for column, code in segment])


@dataclass(frozen=True, slots=True, eq=False)
class SegmentFit:
    """A map for all cases, the shift of each label of each column, and those of segments; labels are indices."""

    whole: RecalibrationMap
    floor: float = 0.0
    effects: tuple[Floats, ...] = ()
    segments: tuple[tuple[tuple[Place, ...], float], ...] = ()

    def recalibrated(self, rows: SegmentRows) -> Floats:
        """Return the recalibrated forecasts of cases with the same labels."""
        forecast = self.whole.recalibrated(rows.forecast)
        if not self.effects:
            return forecast
        shifted = log_odds(forecast, self.floor)
        for own, codes in zip(self.effects, rows.codes, strict=True):
            shifted += own[codes]
        for segment, own_shift in self.segments:
            shifted[rows.members(segment)] += own_shift
        return expit(shifted)

    def as_map(self, columns: SegmentColumns) -> RecalibrationMap | SegmentMap:
        """Return the fit as a map of the labels of the columns."""
        if not self.effects:
            return self.whole
        names, labels = tuple(columns), tuple(columns.values())
        shifts: dict[tuple[tuple[str, Any], ...], float] = {}
        for name, held, own_shifts in zip(names, labels, self.effects, strict=True):
            shifts |= {((name, label),): own for label, own in zip(held, own_shifts.tolist(), strict=True)}
        for segment, own in self.segments:
            places = tuple((names[column], labels[column][code]) for column, code in segment)
            shifts[places] = shifts.get(places, 0.0) + own
        effects = tuple(SegmentEffect(places, shift) for places, shift in shifts.items() if shift)
        return SegmentMap(whole=self.whole, effects=effects, floor=self.floor)


def fit_by_segment(rows: SegmentRows, fit: Fit) -> SegmentFit:
    r"""Fit a map to all cases, and then a shift of the log-odds for each label and for each segment that stands out.

    The shifts of the labels of a column are drawn from :math:`N(0, \tau^2)`, with a :math:`\tau` for each column. So
    are those of the segments of one or two columns whose deviation from the map is beyond Bonferroni's critical value.
    Labels that overlap in cases are fitted together, by penalised maximum likelihood. The :math:`\tau` maximise the
    marginal likelihood of the quadratic approximation at the fit (Laplace), and may be 0.
    """
    if sum(rows.sizes) > MOST_LABELS:
        law = f"the columns have {sum(rows.sizes):,} labels; at most {MOST_LABELS:,} can be fitted"
        raise InputValueError(law, argument="by", hint="leave out columns with many labels, such as identifiers.")
    whole = fit(rows.table)
    floor = floor_of(rows.table.moved(whole.recalibrated(rows.table.forecast)))
    base = log_odds(whole.recalibrated(rows.forecast), floor)
    found = _segments_found(rows, expit(base))
    terms = _Terms(rows, [np.flatnonzero(rows.members(segment)) for segment in found])
    effects = _fitted(terms, base, rows.happened)
    *columns, last = np.split(effects, np.cumsum(rows.sizes))
    return SegmentFit(whole, floor, tuple(columns), tuple(zip(found, last.tolist(), strict=True)))


def _segments_found(rows: SegmentRows, forecast: Floats) -> list[tuple[Place, ...]]:
    """Return the segments that stand out; Bonferroni's critical value needs no draws of outcomes."""
    lattice = Lattice(rows.sizes, min(DEPTH, len(rows.sizes)))
    cases = SegmentCases(forecast, rows.happened, list(rows.codes), lattice)
    sums = cases.sums()
    tested = int(np.count_nonzero(sums.variance >= SMALLEST))
    if not tested:
        return []
    critical = Critical(float(-ndtri((1.0 - LEVEL) / 2.0 / tested)), math.inf)
    found = search(cases, sums, lambda *_: critical, MOST_FOUND)
    return [lattice.segment(one.place) for one in found]


class _Terms:
    """The labels of all columns and some segments: sums over each, and over the cases that two have in common."""

    def __init__(self, rows: SegmentRows, segments: list[NDArray[np.intp]]) -> None:
        self.codes, self.sizes, self.segments = rows.codes, rows.sizes, segments
        self.starts = np.concatenate([[0], np.cumsum(rows.sizes)]).astype(np.intp)
        self.number = int(self.starts[-1]) + len(segments)
        blocks = [np.arange(low, high) for low, high in itertools.pairwise(self.starts.tolist())]
        last = np.arange(int(self.starts[-1]), self.number)
        self.blocks = [*blocks, last] if segments else blocks

    def shifted(self, base: Floats, effects: Floats) -> Floats:
        """Return the log-odds with the effects added."""
        found = base.copy()
        for start, codes in zip(self.starts.tolist(), self.codes, strict=False):
            found += effects[start:][codes]
        for place, inside in enumerate(self.segments):
            found[inside] += effects[self.starts[-1] + place]
        return found

    def sums(self, values: Floats, inside: NDArray[np.intp] | None = None) -> Floats:
        """Return the sum of values over the cases of each term, or over those that are also in a segment."""
        own = values if inside is None else values[inside]
        parts = [
            np.bincount(codes if inside is None else codes[inside], own, minlength=size)
            for codes, size in zip(self.codes, self.sizes, strict=True)
        ]
        if inside is None:
            return np.concatenate([*parts, [values[rows].sum() for rows in self.segments]])
        kept = np.zeros(len(values))
        kept[inside] = own
        return np.concatenate([*parts, [kept[rows].sum() for rows in self.segments]])

    def products(self, values: Floats) -> Floats:
        """Return the sums over the cases of each pair of terms."""
        found = np.diag(self.sums(values))
        places = list(zip(self.starts.tolist(), self.sizes, self.codes, strict=False))
        for (row, rows, first), (column, columns, second) in itertools.combinations(places, 2):
            cells = np.bincount(first * columns + second, values, minlength=rows * columns).reshape(rows, columns)
            found[row : row + rows, column : column + columns] = cells
            found[column : column + columns, row : row + rows] = cells.T
        for place, inside in enumerate(self.segments, int(self.starts[-1])):
            found[place] = found[:, place] = self.sums(values, inside)
        return found


def _fitted(terms: _Terms, base: Floats, happened: NDArray[np.bool_]) -> Floats:
    """Return the effects by Newton's method, with the spread of each block estimated in the first steps."""
    effects, spread = np.zeros(terms.number), np.zeros(len(terms.blocks))
    for number in range(MAX_STEPS):
        forecast = expit(terms.shifted(base, effects))
        hessian = terms.products(forecast * (1.0 - forecast))
        target = terms.sums(happened - forecast) + hessian @ effects
        if number < STEPS_OF_SPREAD:
            spread = _spreads(hessian, target, terms.blocks)
        step = _estimated(hessian, target, terms.blocks, spread)[0] - effects
        effects = effects + np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        if np.abs(step).max(initial=0.0) < LAST_STEP:
            break
    for block, own in zip(terms.blocks, spread.tolist(), strict=True):
        if own <= SMALLEST_SPREAD * 1.01:
            effects[block] = 0.0
    return effects


def _estimated(
    hessian: Floats, target: Floats, blocks: Sequence[NDArray[np.intp]], spread: Floats
) -> tuple[Floats, Floats, float]:
    """Return the effects for given spreads, their variances, and the logarithm of the determinant of the precision."""
    precision = np.empty(len(target))
    for block, own in zip(blocks, spread.tolist(), strict=True):
        precision[block] = own**-2
    most = _largest_diagonal(hessian, blocks)  # It is eliminated, which takes less time than the whole matrix.
    rest = np.setdiff1d(np.arange(len(target)), most, assume_unique=True)
    diagonal = hessian[most, most] + precision[most]
    shares = hessian[np.ix_(most, rest)] / diagonal[:, None]
    effects, variance, determinant = np.empty(len(target)), np.empty(len(target)), float(np.log(diagonal).sum())
    effects[most], variance[most] = target[most] / diagonal, 1.0 / diagonal
    if len(rest):
        reduced = hessian[np.ix_(rest, rest)] + np.diag(precision[rest]) - shares.T @ hessian[np.ix_(most, rest)]
        from scipy.linalg import cho_factor, cho_solve  # Imported here, because it is slow to import.

        factor = cho_factor(reduced, lower=True)
        inverse = cho_solve(factor, np.eye(len(rest)))
        effects[rest], variance[rest] = inverse @ (target[rest] - shares.T @ target[most]), np.diag(inverse)
        effects[most] -= shares @ effects[rest]
        variance[most] += np.einsum("ij,ij->i", shares @ inverse, shares)
        determinant += 2.0 * float(np.log(np.diag(factor[0])).sum())
    return effects, variance, determinant


def _largest_diagonal(hessian: Floats, blocks: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Return the largest block without cases in common, such as the labels of a column; empty if there is none."""
    for block in sorted(blocks, key=len, reverse=True):
        own = hessian[block[0] : block[-1] + 1, block[0] : block[-1] + 1]
        if np.count_nonzero(own) == np.count_nonzero(own.diagonal()):
            return block
    return np.zeros(0, dtype=np.intp)


def _spreads(hessian: Floats, target: Floats, blocks: Sequence[NDArray[np.intp]]) -> Floats:
    """Return the standard deviations of the effects of each block that maximise the marginal likelihood."""
    from scipy.optimize import minimize  # Imported here, because it is slow to import.

    sizes = np.array([len(block) for block in blocks])

    def objective(scaled: Floats) -> tuple[float, Floats]:
        variances = scaled * FIRST_SPREAD**2
        effects, errors, determinant = _estimated(hessian, target, blocks, np.sqrt(variances))
        squares = np.array([(effects[block] ** 2 + errors[block]).sum() for block in blocks])
        value = determinant + float(sizes @ np.log(variances)) - float(target @ effects)
        return value / 2.0, (sizes - squares / variances) / scaled / 2.0

    # Of the logarithm of a small variance, the likelihood is flat, and the search would stop anywhere.
    limits = [((SMALLEST_SPREAD / FIRST_SPREAD) ** 2, (LARGEST_SPREAD / FIRST_SPREAD) ** 2)] * len(blocks)
    found = minimize(objective, np.ones(len(blocks)), jac=True, method="L-BFGS-B", bounds=limits)
    return FIRST_SPREAD * np.sqrt(found.x)
