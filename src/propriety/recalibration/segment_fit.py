"""The fit of a recalibration by segment: random intercepts on top of a map for all cases."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from propriety.errors import InputValueError
from propriety.inference.segment_lattice import Lattice, Place
from propriety.inference.segment_law import SMALLEST
from propriety.inference.segment_search import Critical, search
from propriety.inference.segment_sums import SegmentCases
from propriety.recalibration.maps import RecalibrationMap, floor_of, log_odds
from propriety.recalibration.methods import Fit
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

DEPTH = 2  # Columns of a segment that has an effect beyond those of its labels.
LEVEL = 0.95
MOST_FOUND = 20
MOST_LABELS = 4_000  # The cross products of all labels are a dense matrix.
SMALLEST_SPREAD, LARGEST_SPREAD = 1e-4, 3.0  # Standard deviations of effects; below, there are none.
FIRST_SPREAD, STEPS_OF_SPREAD = 0.2, 4  # The spreads are estimated in the first steps, and then kept.
LAST_STEP, LONGEST_STEP, MAX_STEPS = 1e-6, 2.0, 30


class SegmentRows(NamedTuple):
    """Cases with the index of their label in each column, and the forecast table of the cases."""

    table: ForecastTable
    forecast: Floats
    happened: NDArray[np.bool_]
    codes: tuple[NDArray[np.intp], ...]
    sizes: tuple[int, ...]

    def members(self, segment: Sequence[Place]) -> NDArray[np.bool_]:
        """Return which cases are in a segment."""
        found: NDArray[np.bool_] = np.logical_and.reduce([self.codes[column] == code for column, code in segment])
        return found


@dataclass(frozen=True, slots=True, eq=False)
class SegmentFit:
    """A map for all cases, the shift of each label of each column, and those of segments; labels are indices."""

    whole: RecalibrationMap
    floor: float
    effects: tuple[Floats, ...]
    segments: tuple[tuple[tuple[Place, ...], float], ...] = ()

    def recalibrated(self, rows: SegmentRows) -> Floats:
        """Return the recalibrated forecasts of cases with the same labels."""
        shifted = log_odds(self.whole.recalibrated(rows.forecast), self.floor)
        for own, codes in zip(self.effects, rows.codes, strict=True):
            shifted += own[codes]
        for segment, own_shift in self.segments:
            shifted[rows.members(segment)] += own_shift
        found: Floats = expit(shifted)
        return found


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
