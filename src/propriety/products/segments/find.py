"""Search for segments of the cases in which forecasts are wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from propriety import checks, demands
from propriety.calibration.reliability import cumulative_calibration_error
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import InputValueError
from propriety.inference.estimation import estimate
from propriety.inference.measures.line import CalibrationIntercept
from propriety.inference.measures.parts import Miscalibration
from propriety.inference.measures.ratios import ObservedExpected
from propriety.ledger.ledger import Ledger
from propriety.number_words import counted, percent
from propriety.products.segments.columns import Cut
from propriety.products.segments.lattice import Lattice
from propriety.products.segments.null_distribution import SMALLEST, evidence, largest_deviations
from propriety.products.segments.search import Control, Found, adjusted_p, critical_deviation, search
from propriety.products.segments.source import segment_source
from propriety.products.segments.sums import SegmentSums, cases_of_arrays, cases_of_engine
from propriety.result import Floats, Names, Result, Tuples, tuples_of
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.lazy_cases import LazyCases

if TYPE_CHECKING:
    from os import PathLike

COLUMNS = (
    *("segment", "places", "n", "events", "expected", "observed_expected", "low", "high", "intercept"),
    *("miscalibration", "kuiper", "deviation", "p_adjusted"),
)
MOST_PARTS = 1000  # Of a column of numbers.
ROUNDING = 1e-9
FEWEST_BEYOND = 2.5  # Draws that are expected beyond the critical value.
ROWS_OF_LAW = 2**17  # Cases whose outcomes are drawn; of more, a sample.


class WiderSegment(NamedTuple):
    """A segment that contains one of those found, with one column less: its observed/expected, with its interval."""

    found: int
    segment: str
    n: int
    observed_expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Segments(Result):
    """Segments in which the forecasts are wrong, the strongest evidence first; see `find_segments`.

    Parameters
    ----------
    segment : ndarray of str
        The segment in words.
    places : ndarray of tuple
        The columns of the segment and their labels.
    n, events : ndarray
        Number of cases, and of events among them.
    expected : ndarray
        Sum of the forecasts.
    observed_expected, low, high : ndarray
        Events divided by expected events, and its interval; infinite, and without one, if all forecasts are 0.
    intercept : ndarray
        Calibration intercept: by how much the log-odds of the forecasts are too low; infinite if all cases of the
        segment have the event, or none.
    miscalibration : ndarray
        Miscalibration under the Brier score, corrected for sampling noise.
    kuiper : ndarray
        Kuiper's statistic of the cumulative calibration error, ECCE-R, in standard deviations.
    deviation : ndarray
        Difference between events and expected events in standard errors, corrected for skewness; of a segment with few
        expected events or non-events, the normal score of a bound of its probability. As the segments above are left
        out, this is the evidence of the remaining cases.
    p_adjusted : ndarray
        p-value, adjusted for all segments that were tested.
    by : tuple of str
        The columns searched.
    depth : int
        Largest number of columns of a segment.
    tested, too_small : int
        Number of segments that were tested, and of those that expect too few events or non-events for it and can only
        stand out by an extreme deviation.
    critical : float
        Deviation that counts as evidence; for segments that are too small, a larger one does. If false discoveries are
        controlled, it is that of the first segment, and is computed again from the remaining cases for each further
        one.
    control : {"family", "discovery"}
        What `level` is about.
    level : float
        One minus the error rate.
    n_cases, dropped : int
        Number of all cases, and of rows left out because of missing values.
    note : str
        A caveat, if any.
    seed : int
        Seed of the draws of outcomes.
    wider : tuple of WiderSegment
        For each segment of several columns, those with one column less, as the plot shows them.
    """

    segment: Names
    places: Tuples
    n: NDArray[np.int64]
    events: Floats
    expected: Floats
    observed_expected: Floats
    low: Floats
    high: Floats
    intercept: Floats
    miscalibration: Floats
    kuiper: Floats
    deviation: Floats
    p_adjusted: Floats
    by: tuple[str, ...]
    depth: int
    tested: int
    too_small: int
    critical: float
    control: Control
    level: float
    n_cases: int
    dropped: int
    note: str = ""
    seed: int
    wider: tuple[WiderSegment, ...] = field(default=(), metadata={"hidden": True})

    def to_html(
        self, path: str | PathLike[str] | None = None, *, title: str = "Search for miscalibrated segments"
    ) -> str:
        """Return a page with a figure and a table of the segments as HTML, and write it to `path`, if given.

        The page works offline; needs Jinja2 and Matplotlib.
        """
        from propriety.products.segments.page import segments_report

        return segments_report(self, path, title=title)

    def __str__(self) -> str:
        """Return the segments in words."""
        were = "segment was" if self.tested == 1 else "segments were"
        columns = "1 column" if len(self.by) == 1 else f"{len(self.by)} columns"
        searched = f"{self.tested:,} {were} tested, each of up to {self.depth} of the {columns}"
        searched = searched if len(self.by) > 1 else f"{self.tested:,} {were} tested, of {columns}"
        few = "1 more expects" if self.too_small == 1 else f"{self.too_small:,} more expect"
        rare = "few events or non-events and can only stand out by an extreme deviation."
        were_left = "was left out." if self.dropped == 1 else "were left out."
        left_out = f" {counted(self.dropped, 'row')} with missing values {were_left}" if self.dropped else ""
        others = f" {few} {rare}{left_out}" if self.too_small else left_out
        if not len(self.segment) and not self.tested:
            expect = "the only one expects" if self.too_small == 1 else f"all {self.too_small:,} expect"
            return f"No segment could be tested: {expect} {rare}{left_out}"
        if not len(self.segment):
            within = f", and none deviates by {self.critical:.1f} standard errors" * math.isfinite(self.critical)
            return f"No segment stands out: {searched}{within}.{others}"
        level = percent(self.level)
        rows = zip(self.segment, self.observed_expected, self.low, self.high, self.events, strict=True)
        lines = [
            f"{segment}: {_times(ratio, events)} ("
            + f"{level} CI {_decimal(low)} to {_decimal(high)}; "
            * math.isfinite(low + high)  # Without events there is no interval.
            + f"{counted(int(n), 'case')}, adjusted p {'< 0.0001' if p < 0.0001 else f'= {p:.2g}'})"
            for (segment, ratio, low, high, events), n, p in zip(rows, self.n, self.p_adjusted, strict=True)
        ]
        number = "1 segment stands out" if len(lines) == 1 else f"{len(lines)} segments stand out"
        return "\n".join([f"{number}; {searched}.{others}", *lines, *([self.note] if self.note else [])])


def find_segments(
    cases: Cases | LazyCases,
    *,
    by: str | Sequence[str] | None = None,
    depth: int = 2,
    quantiles: int = 5,
    control: Control = "family",
    level: float = 0.95,
    most: int = 10,
    n_resamples: int = 1000,
    seed: int | None = None,
    progress: bool = False,
) -> Segments:
    r"""Search all segments of up to `depth` columns for those in which the forecasts are wrong.

    A segment is a label of one column, or a combination of labels of several. If all forecasts are calibrated, the
    number of events of a segment has the mean :math:`E = \sum p` and the variance :math:`V = \sum p (1 - p)`. Segments
    are tested by their deviation :math:`(O - E) / \sqrt V`, and the p-values allow for the number of segments and for
    their overlap. The segment with the largest deviation is reported, or a wider one whose other cases deviate in the
    same way. Then its cases are left out, and the search is repeated, so segments that only share cases with a reported
    one are not reported.

    Parameters
    ----------
    cases : Cases or LazyCases
        Outcomes, the forecasts of one model, and the columns that define the segments as keys; see `propriety.cases`.
        Floats, and whole numbers with more than 50 values, are cut at their quantiles.
    by : str or sequence of str, optional
        The keys that define the segments, by default all.
    depth : int
        Largest number of columns of a segment.
    quantiles : int
        Number of parts into which numbers are cut, from 2 to 1,000.
    control : {"family", "discovery"}
        "family" keeps the probability of reporting any segment, if all forecasts are calibrated, at about 1 - `level`.
        "discovery" keeps the expected share of false reports below it; it finds more if many segments are wrong.
    level : float
        One minus the error rate, and the level of the intervals.
    most : int
        Largest number of segments reported.
    n_resamples, seed : int, optional
        Number and seed of the draws of outcomes.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Segments
        The segments found, the strongest evidence first.

    Notes
    -----
    **Clusters are not allowed for**: if the outcomes of cases are correlated, too many segments are reported. A segment
    was chosen because it deviates, so its true observed/expected is probably closer to 1. Method:
    `docs/reference/methods.md`.

    Examples
    --------
    >>> import propriety as pr
    >>> rng = np.random.default_rng(1)
    >>> p, site = rng.uniform(0.1, 0.5, 20_000), rng.choice(["a", "b", "c"], 20_000)
    >>> device = rng.choice(["phone", "desk"], 20_000)
    >>> y = rng.random(20_000) < np.where((site == "b") & (device == "phone"), 1.3 * p, p)
    >>> found = find_segments(pr.cases(y, p, by={"site": site, "device": device}), seed=1)
    >>> found.segment.tolist(), found.observed_expected.round(2)
    (['site = b and device = phone'], array([1.28]))
    """
    check_level(level)
    check_resamples(n_resamples)
    least = math.ceil(FEWEST_BEYOND / (1.0 - level) * (1.0 - ROUNDING))  # 1 - 0.9 is a little less than a tenth.
    if n_resamples < least:
        needed = demands.enough_for_level(least, level)
        raise InputValueError(needed, argument="n_resamples", offender=f"got {n_resamples:,}")
    checks.whole(depth, "depth", least=1)
    checks.whole(most, "most", least=1)
    checks.choice(control, "control", ("family", "discovery"))
    checks.whole(quantiles, "quantiles", least=2, most=MOST_PARTS)
    seed = fresh_seed(seed)
    source, ledger, cuts = segment_source(cases, by, quantiles, seed)
    searched: Any
    if isinstance(source, LazyCases):
        searched, sample, names = cases_of_engine(source, depth, ROWS_OF_LAW, seed)
    else:
        searched, sample, names = cases_of_arrays(source, depth, ROWS_OF_LAW, seed)
    sums = searched.sums()
    law = largest_deviations(sample, sums, n_resamples, seed, progress=progress)
    number = int(np.count_nonzero(sums.n > 0.5))
    tested = int(np.count_nonzero(sums.variance >= SMALLEST))
    critical_of = partial(critical_deviation, law=law, control=control, level=level, number=number)
    found = search(searched, sums, critical_of, most)
    p_values = [adjusted_p(one, law, number, spared=number > tested) for one in found]
    shown = [(key, _in_words(cuts.get(key), own)) for key, own in zip(source.keys, names, strict=True)]
    return Segments(
        **_columns(found, p_values, searched, shown, level),
        by=tuple(source.keys),
        depth=min(depth, len(names)),
        tested=tested,
        too_small=number - tested,
        critical=critical_of(sums, evidence(sums)).normal,
        control=control,
        level=level,
        n_cases=ledger.n,
        dropped=ledger.dropped,
        note=_note(len(sample.forecast), ledger, len(found), most),
        seed=seed,
        wider=tuple(_wider([one.place for one in found], searched.lattice, sums, shown, level)),
    )


def _wider(
    found: list[int], lattice: Lattice, sums: SegmentSums, names: list[tuple[str, tuple[Any, ...]]], level: float
) -> Iterator[WiderSegment]:
    """Yield the segments with one column less than those found, from their sums."""
    for place, segment in enumerate(map(lattice.segment, found)):
        for part in itertools.combinations(segment, len(segment) - 1) if len(segment) > 1 else ():
            n, observed, expected, variance, _ = (float(column[lattice.index(part)]) for column in sums)
            ratio = observed / expected if expected else math.inf
            # The variance of the events is that of the forecasts, times the ratio of the rates.
            error = ndtri(0.5 + level / 2.0) * math.sqrt(variance * ratio) / observed if observed else math.nan
            limits = (ratio * math.exp(-error), ratio * math.exp(error))
            words = segment_words((names[column][0], names[column][1][code]) for column, code in part)
            yield WiderSegment(place, words, round(n), ratio, *limits)


def _times(ratio: float, events: float) -> str:
    """Return observed/expected in words."""
    if math.isinf(ratio):
        return f"{events:,.0f} {'event' if events == 1.0 else 'events'}, although all forecasts are 0"
    return f"{_decimal(ratio)} times as many events as forecast"


def _decimal(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 1000.0 else f"{ratio:.2f}"


def segment_words(places: Iterable[tuple[str, Any]]) -> str:
    """Return a segment in words.

    Examples
    --------
    >>> segment_words([("country", "FR"), ("device", "phone")])
    'country = FR and device = phone'
    """
    return " and ".join(f"{column} = {label}" for column, label in places)


def _in_words(cut: Cut | None, labels: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the labels of a column; those of a cut are the indices of its parts."""
    return labels if cut is None else tuple(cut.labels[int(label)] for label in labels)


def _note(drawn: int, ledger: Ledger, found: int, most: int) -> str:
    sampled = f"Outcomes were drawn for a sample of {drawn:,} cases." if drawn < ledger.n else ""
    full = f"There may be more segments than the {most} reported." if found == most else ""
    return " ".join(filter(None, (sampled, full)))


def _intercept(table: ForecastTable) -> float:
    """Return the calibration intercept; infinite without events or without non-events, NaN if it is not defined."""
    if not table.events.any():
        return -math.inf
    if not table.non_events.any():
        return math.inf
    try:
        return CalibrationIntercept().value(table)
    except InputValueError:  # All other forecasts than 0 and 1 have the event, or none.
        return math.nan


def _ratio(table: ForecastTable, level: float) -> tuple[float, float, float]:
    """Return observed/expected and its interval; infinite, and without an interval, if all forecasts are 0."""
    if table.mean_forecast == 0.0:
        return math.inf, math.nan, math.nan
    ratio = estimate(Ledger.of_tables({"forecast": table}), measure=ObservedExpected(), level=level)
    return ratio.value, ratio.low, ratio.high


def _columns(
    found: list[Found],
    p_values: list[float],
    cases: Any,
    names: list[tuple[str, tuple[Any, ...]]],
    level: float,
) -> dict[str, Any]:
    """Return the columns of the result: the numbers of each segment by itself, from its forecast table."""
    rows: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for one, p_value in zip(found, p_values, strict=True):
        segment = cases.lattice.segment(one.place)
        table = cases.table(segment)
        curve = cumulative_calibration_error(table)
        places = tuple((names[column][0], names[column][1][code]) for column, code in segment)
        values = {
            "segment": segment_words(places),
            "places": places,
            "n": table.n,
            "events": float(table.events.sum()),
            "expected": table.mean_forecast * table.weight,
            **dict(zip(("observed_expected", "low", "high"), _ratio(table, level), strict=True)),
            "intercept": _intercept(table),
            "miscalibration": estimate(
                Ledger.of_tables({"forecast": table}), measure=Miscalibration(), level=level
            ).value,
            "kuiper": curve.kuiper / curve.sigma if curve.sigma else math.inf,
            "deviation": one.deviation,
            "p_adjusted": p_value,
        }
        for name, value in values.items():
            rows[name].append(value)
    joined = tuples_of(rows.pop("places"))
    return {name: np.array(values) for name, values in rows.items()} | {"places": joined}
