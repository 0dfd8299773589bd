"""The binned expected calibration error (ECE), and the part of it that is sampling noise."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf

from propriety import checks
from propriety.calibration.blocks import Strategy, bin_starts
from propriety.result import Floats, Result
from propriety.tables.cases import Cases
from propriety.tables.events import TOP
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.labels import Labels
from propriety.tables.laws import quantile_of_sorted
from propriety.tables.validation import read_cases

Norm: TypeAlias = Literal["l1", "l2", "max"]
NAMES = {"l1": "an ECE", "max": "a maximum calibration error"}
MAX_BINS_UNSORTED = 2**10  # With more bins, cases are sorted first.
NOISY = 0.25  # If the noise is at least this share of the value, a note says how large it is.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CalibrationError(Result):
    """A binned calibration error, with one row per non-empty bin; see `expected_calibration_error`.

    Parameters
    ----------
    forecast_min, forecast_max : array of shape (bins,)
        Lowest and highest forecast of each bin.
    forecast_mean, event_rate : array of shape (bins,)
        Mean forecast and event rate of each bin; for classes, mean confidence and accuracy.
    weight : array of shape (bins,)
        Weight of the cases of each bin.
    value : float
        The error as usually reported. It is biased upwards, because the noise of each bin adds to it.
    noise : float
        The expected error of calibrated forecasts with these bins, which is only sampling noise.
    debiased_square : float
        Unbiased estimate of the weighted mean of squared differences of the bins; it can be negative. Its square root
        would be biased again. With weights, it is approximately unbiased.
    norm : {"l1", "l2", "max"}
        How the differences of the bins are combined.
    of : {"event", "top label"}
        What the forecasts are about.
    strategy : {"uniform", "quantile"}
        How the bins are formed.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    note : str
        The size of the noise, if it may be a large part of the value.
    """

    facts: ClassVar[tuple[str, ...]] = (
        "value",
        "noise",
        "debiased_square",
        "norm",
        "of",
        "rows",
        "n",
        "dropped",
        "note",
    )

    forecast_min: Floats
    forecast_max: Floats
    forecast_mean: Floats
    event_rate: Floats
    weight: Floats
    value: float
    noise: float
    debiased_square: float
    norm: Norm
    of: Literal["event", "top label"]
    strategy: Strategy
    n: int
    dropped: int = 0
    note: str = ""

    def __float__(self) -> float:
        return self.value


def expected_calibration_error(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    bins: int = 15,
    norm: Norm = "l1",
    strategy: Strategy = "uniform",
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> CalibrationError:
    r"""Compute the binned calibration error: ECE, its root mean square, or its maximum.

    .. math::

       \mathrm{ECE} = \sum_b w_b\, |\bar y_b - \bar p_b|, \qquad
       \mathrm{RMSCE} = \sqrt{\sum_b w_b\, (\bar y_b - \bar p_b)^2}, \qquad
       \mathrm{MCE} = \max_b |\bar y_b - \bar p_b|

    with the mean forecast, the event rate and the share of the cases of each bin. For class probabilities it is the
    top-label error: the forecast is the highest probability of a row, and the event is that this class is the outcome;
    among ties, the first class counts. For the error of each class, pass the tables of `Ledger.tables` one by one.

    Use the value for comparison with published values. It depends on the bins, it hides errors that cancel within a
    bin, and sampling noise makes it positive even for calibrated forecasts: `noise` is its expected value for them.
    Models with different forecasts have different noise. To test calibration, use `propriety.check_calibration`; to
    measure it, estimate the miscalibration with `propriety.estimate`.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`; a ledger of one model replaces binary predictions.
    bins : int
        Number of bins.
    norm : {"l1", "l2", "max"}
        ECE, root mean squared error, or maximum.
    strategy : {"uniform", "quantile"}
        Bins of equal width, closed on the left (the last on both sides), or bins of about equal weight. Equal
        forecasts are never split.

    Notes
    -----
    `debiased_square` subtracts the variance of the mean of outcome minus forecast within each bin from its squared
    difference. For continuous forecasts and bins of equal width, the values are those of torchmetrics
    (``BinaryCalibrationError``, ``MulticlassCalibrationError``, same `norm`) and of other packages. Formulas, and the
    cases in which packages differ: `docs/reference/methods.md`.

    References
    ----------
    Naeini, Cooper & Hauskrecht (2015), doi:10.1609/aaai.v29i1.9602; Guo et al. (2017), arXiv:1706.04599; Kumar, Liang &
    Ma (2019), arXiv:1909.10155, for the debiased square; Bröcker (2012), doi:10.1007/s00382-011-1191-1, for the bias.

    Examples
    --------
    >>> import numpy as np
    >>> import propriety as pr
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(500)
    >>> found = pr.expected_calibration_error(rng.random(500) < p, p)
    >>> round(found.value, 4), round(found.noise, 4), round(found.debiased_square, 4)
    (0.0593, 0.0546, 0.0001)
    >>> found.note
    'calibrated forecasts would have an ECE of 0.055 on average with these bins'
    """
    checks.choice(norm, "norm", get_args(Norm))
    checks.choice(strategy, "strategy", get_args(Strategy))
    checks.whole(bins, "bins", least=1)
    options = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    table = ForecastTable.given(y_true, y_proba, **options)
    source = read_cases(y_true, y_proba, **options) if table is None else table  # type: ignore[arg-type]  # by name
    of_classes = isinstance(source, Cases) and source.labels is not None
    sums = _bin_sums(source, bins, strategy)
    share, rate, forecast = sums.weight / sums.weight.sum(), sums.events / sums.weight, sums.forecasts / sums.weight
    gap, spread = rate - forecast, np.sqrt(sums.null_variance) / sums.weight
    value, noise = _combined(norm, share, np.abs(gap)), _noise(norm, share, spread)
    square = float(share @ (gap**2 - _variance_of_gap(sums, gap, spread**2)))
    return CalibrationError(
        forecast_min=sums.lowest,
        forecast_max=sums.highest,
        forecast_mean=forecast,
        event_rate=rate,
        weight=sums.weight,
        value=value,
        noise=noise,
        debiased_square=square,
        norm=norm,
        of="top label" if of_classes else "event",
        strategy=strategy,
        n=source.n,
        dropped=source.dropped,
        note=_note(norm, noise) if noise > 0.0 and noise >= NOISY * value else "",
    )


class _BinSums(NamedTuple):
    """Sums over the cases of each non-empty bin."""

    lowest: Floats
    highest: Floats
    weight: Floats
    forecasts: Floats  # Weight times forecast.
    events: Floats
    squares: Floats  # Of the weights.
    null_variance: Floats  # Of the weight of the events, if the forecasts are calibrated.
    residuals: Floats  # Weight times the square of outcome minus forecast.


def _bin_sums(source: ForecastTable | Cases, bins: int, strategy: Strategy) -> _BinSums:
    """Return the sums of a table or of cases; for classes, of the answers that their probabilities imply."""
    if isinstance(source, ForecastTable):
        return _sums_of_table(source, bin_starts(source, bins=bins, strategy=strategy))
    # Bins of equal width need no order of the cases, and to sort them takes most of the time.
    if strategy == "uniform" and bins <= MAX_BINS_UNSORTED:
        return _sums_of_cases(source, bins)
    table = ForecastTable.from_cases(source, event=None if source.labels is None else TOP)
    return _sums_of_table(table, bin_starts(table, bins=bins, strategy=strategy))


def _sums_of_table(table: ForecastTable, start: NDArray[np.intp]) -> _BinSums:
    p, squares = table.forecast, table.event_squares + table.non_event_squares
    columns = (
        *(table.weights, table.weights * p, table.events, squares, squares * p * (1.0 - p)),
        table.events * (1.0 - p) ** 2 + table.non_events * p**2,
    )
    last = np.append(start[1:], len(table)) - 1
    return _BinSums(p[start], p[last], *(np.add.reduceat(column, start) for column in columns))


def _sums_of_cases(cases: Cases, bins: int) -> _BinSums:
    """Return the sums of bins of equal width, which are added up chunk by chunk while the cases are checked."""
    edges = np.append(np.arange(bins) / bins, np.inf)  # As in `bin_starts`; the last bin is closed.
    lowest, highest = np.full(bins, np.inf), np.full(bins, -np.inf)
    sums = np.zeros((len(_BinSums._fields) - 2, bins))
    for chunk in cases.chunks() if cases.labels is None else cases.top_chunks():
        p, happened, weight = chunk
        if weight is not None and not weight.all():
            heavy = weight > 0.0
            p, happened, weight = p[heavy], happened[heavy], weight[heavy]
        place = np.minimum((p * bins).astype(np.intp), bins - 1)
        # The product is rounded, so it may be just across an edge.
        place -= p < edges[place]
        place += p >= edges[place + 1]
        np.minimum.at(lowest, place, p)
        np.maximum.at(highest, place, p)
        square = None if weight is None else weight * weight
        columns = (
            *(weight, _times(p, weight), _times(happened, weight), square, _times(p * (1.0 - p), square)),
            _times(np.square(happened - p), weight),
        )
        sums += [np.bincount(place, column, minlength=bins) for column in columns]
    occupied = sums[0] > 0.0
    return _BinSums(lowest[occupied] + 0.0, highest[occupied] + 0.0, *sums[:, occupied])


def _times(values: NDArray[Any], weight: Floats | None) -> NDArray[Any]:
    return values if weight is None else values * weight


def _variance_of_gap(sums: _BinSums, gap: Floats, null: Floats) -> Floats:
    """Return an unbiased variance of the mean residual of each bin; with one case, that under calibration.

    With weights, it is unbiased if the residuals of a bin have equal variances.
    """
    within = np.maximum(sums.residuals / sums.weight - gap**2, 0.0)
    largest = sums.squares / sums.weight**2  # One over the effective number of cases.
    single = largest > 1.0 - 1e-12
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(single, null, largest * within / (1.0 - largest))


def _note(norm: Norm, noise: float) -> str:
    """Say which error is expected of calibrated forecasts."""
    if norm == "l2":
        return f"for calibrated forecasts, the root mean square of this error would be {noise:.2g} with these bins"
    return f"calibrated forecasts would have {NAMES[norm]} of {noise:.2g} on average with these bins"


def _combined(norm: Norm, share: Floats, distance: Floats) -> float:
    match norm:
        case "l1":
            return float(share @ distance)
        case "l2":
            return math.sqrt(float(share @ distance**2))
        case "max":
            return float(distance.max())


def _noise(norm: Norm, share: Floats, spread: Floats) -> float:
    """Return the expected error if differences are normal with these standard deviations; for l2, the RMS."""
    if norm != "max":
        return _combined(norm, share, spread * (math.sqrt(2.0 / math.pi) if norm == "l1" else 1.0))
    widest = float(spread.max())
    if widest == 0.0:
        return 0.0
    grid = np.linspace(0.0, 8.0 * widest, 2001)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(spread > 0.0, erf(grid[:, None] / (math.sqrt(2.0) * spread)), 1.0)
    beyond = 1.0 - np.prod(below, axis=1)
    return float((beyond[1:] + beyond[:-1]).sum() * grid[1] / 2.0)


FEWEST_GROUPS = 256
ENDS = 16


def rows_of(table: ForecastTable, forecast: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the row of a table to which each forecast of its cases belongs.

    A case of zero weight may have a forecast above all others of the table; it is assigned the last row.

    Examples
    --------
    >>> rows_of(ForecastTable.from_predictions([0, 1], [0.2, 0.7]), np.array([0.7, 0.2, 0.9]))
    array([1, 0, 1])
    """
    return np.minimum(np.searchsorted(table.forecast, forecast), len(table) - 1)


def starts_by_share(share: NDArray[np.float64], groups: int) -> NDArray[np.intp]:
    """Return the first row of each group when increasing shares are cut into equal parts.

    Examples
    --------
    >>> starts_by_share(np.array([0.1, 0.3, 0.6, 0.9]), 2), starts_by_share(np.array([0.2, 0.7]), 2)
    (array([0, 2]), array([0, 1]))
    """
    if len(share) <= groups:
        return np.arange(len(share))
    return np.flatnonzero(np.diff(np.floor(groups * share), prepend=-1.0))


def group_starts(table: ForecastTable) -> NDArray[np.intp]:
    """Return the first row of groups of neighbouring forecasts that are much smaller than the blocks of PAV.

    A block of an increasing curve holds about n^(2/3) cases. Groups of a tenth of that move a band by less than
    resampling noise does, and make the work grow with the cube root of n. Both ends are left ungrouped, because the
    blocks there are small.
    """
    groups = max(int(np.ceil(10.0 * np.cbrt(table.effective_n))), FEWEST_GROUPS)
    if len(table) <= groups:
        return np.arange(len(table))
    share = (np.cumsum(table.weights) - table.weights / 2.0) / table.weight
    group = np.floor(groups * share)
    group[:ENDS] = np.arange(ENDS) - ENDS
    group[-ENDS:] = groups + np.arange(ENDS)
    return np.flatnonzero(np.diff(group, prepend=-np.inf))


def neighbours_pooled(table: ForecastTable) -> ForecastTable:
    """Return the table of the groups, each with its mean forecast.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 1] * 5000, np.linspace(0.1, 0.9, 10_000))
    >>> len(neighbours_pooled(table))
    288
    """
    start = group_starts(table)
    if len(start) == len(table):
        return table
    mean = np.add.reduceat(table.weights * table.forecast, start) / np.add.reduceat(table.weights, start)
    return table.moved(np.repeat(mean, np.diff(start, append=len(table))))


SMALLEST_GAP = 0.01  # Forecasts no closer than this count as discrete (Dimitriadis, Gneiting & Jordan 2021).
MAX_HISTOGRAM_BINS = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ForecastHistogram(Result):
    """Weight of the forecasts between `left` and `right`, or of a single value if the two are equal."""

    left: Floats
    right: Floats
    weight: Floats


def is_discrete(table: ForecastTable) -> bool:
    """Whether no two distinct forecasts are closer than 0.01."""
    few = len(table) <= 1.0 / SMALLEST_GAP + 1.0  # No more fit between 0 and 1.
    rounding = 1e-12  # In floating point, hundredths may differ by slightly less than 0.01.
    return len(table) == 1 or (few and bool(np.diff(table.forecast).min() >= SMALLEST_GAP - rounding))


def forecast_histogram(table: ForecastTable) -> ForecastHistogram:
    """Count the forecasts: each value if they are discrete, else in bins by the Freedman-Diaconis rule.

    The bins span [0, 1], and their width is twice the interquartile range over the cube root of the sample size. There
    are at most 200.

    References
    ----------
    Freedman & Diaconis (1981), doi:10.1007/BF01025868.
    """
    if is_discrete(table):
        return ForecastHistogram(left=table.forecast, right=table.forecast, weight=table.weights)
    share = np.cumsum(table.weights)
    lower, upper = quantile_of_sorted(table.forecast, share, np.array([0.25, 0.75]))
    width = 2.0 * (upper - lower) / np.cbrt(table.effective_n)
    bins = int(np.clip(np.ceil(1.0 / max(width, 1e-9)), 1, MAX_HISTOGRAM_BINS))
    edges = np.arange(bins + 1) / bins
    start = np.append(np.searchsorted(table.forecast, edges[:-1]), len(table))  # A forecast of 1 is in the last bin.
    below = np.where(start > 0, share[start - 1], 0.0)
    return ForecastHistogram(left=edges[:-1], right=edges[1:], weight=np.diff(below))
