"""The binned expected calibration error (ECE), and the part of it that is sampling noise."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf

from propriety.calibration.binning import Strategy, bin_starts
from propriety.checks import check_choice
from propriety.result import Floats, Result
from propriety.tables.events import TOP
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.validation import TOLERANCE, Labels, Missing, read_cases

__all__ = ["CalibrationError", "expected_calibration_error"]

Norm: TypeAlias = Literal["l1", "l2", "max"]
NAMES = {"l1": "an ECE", "max": "a maximum calibration error"}
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

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"value": self.value, "noise": self.noise, "debiased_square": self.debiased_square}
        facts |= {"norm": self.norm, "of": self.of, "bins": len(self.weight), "n": self.n}
        return facts | {name: value for name, value in (("dropped", self.dropped), ("note", self.note)) if value}


def expected_calibration_error(
    y_true: ArrayLike | ForecastTable,
    y_proba: ArrayLike | None = None,
    *,
    bins: int = 15,
    norm: Norm = "l1",
    strategy: Strategy = "uniform",
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
) -> CalibrationError:
    r"""Compute the binned calibration error: ECE, its root mean square, or its maximum.

    .. math::

       \mathrm{ECE} = \sum_b w_b\, |\bar y_b - \bar p_b|, \qquad
       \mathrm{RMSCE} = \sqrt{\sum_b w_b\, (\bar y_b - \bar p_b)^2}, \qquad
       \mathrm{MCE} = \max_b |\bar y_b - \bar p_b|

    with the mean forecast, the event rate and the share of the cases of each bin. For class probabilities it is the
    top-label error: the forecast is the highest probability of a row, and the event is that this class is the outcome;
    among ties, the first class counts. For the error of each class, pass the tables of `ForecastTable.per_class` one by
    one.

    Use the value for comparison with published values. It depends on the bins, it hides errors that cancel within a
    bin, and sampling noise makes it positive even for calibrated forecasts: `noise` is its expected value for them,
    :math:`\sum_b \sqrt{2 V_b / \pi} / n` for ECE with the variance :math:`V_b = \sum p (1 - p)` of the events of a bin.
    Models with different forecasts have different noise. To test calibration, use `propriety.calibration_summary`; to
    measure it, estimate the miscalibration with `propriety.estimate`.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels, missing, tolerance
        As in `propriety.mean_score`; a ForecastTable replaces binary predictions.
    bins : int
        Number of bins.
    norm : {"l1", "l2", "max"}
        ECE, root mean squared error, or maximum.
    strategy : {"uniform", "quantile"}
        Bins of equal width, closed on the left (the last on both sides), or bins of about equal weight. Equal
        forecasts are never split.

    Notes
    -----
    `debiased_square` subtracts from each squared difference the variance of the mean of outcome minus forecast within
    the bin, :math:`\sum (r - \bar r)^2 / (n_b (n_b - 1))`, or with weights that sum to 1
    :math:`\sum w^2 \sum w (r - \bar r)^2 / (1 - \sum w^2)`. If all forecasts of a bin are equal, this is the estimator
    of Kumar, Liang & Ma. In a bin with one case the variance is :math:`p (1 - p)`. `noise` treats the differences as
    normal. For "l2" it is the root of the expected square; for "max" with nearly empty bins it is slightly too high.

    For continuous forecasts and bins of equal width, the values are those of torchmetrics (``BinaryCalibrationError``,
    ``MulticlassCalibrationError``, same `norm`) and of other packages. They differ in these cases:

    - torchmetrics gives forecasts of exactly 1 a bin of their own; here they belong to the last bin. ``norm="max"``
      differs most;
    - torchmetrics computes class probabilities in single precision, so a forecast on the edge of a bin, such as one
      rounded to a tenth, may fall into the neighbouring bin;
    - netcal closes bins on either side, depending on rounding; packages that close them on the right differ for
      forecasts on an edge;
    - bins of equal weight differ between all packages that have them; netcal's ACE is the unweighted mean of their
      differences.

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
    check_choice("norm", norm, get_args(Norm))
    table, of = _table(
        y_true,
        y_proba,
        {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels, "missing": missing},
        tolerance,
    )
    start = bin_starts(table, bins=bins, strategy=strategy)
    weight = np.add.reduceat(table.weights, start)
    forecast = np.add.reduceat(table.weights * table.forecast, start) / weight
    rate = np.add.reduceat(table.events, start) / weight
    share, gap = weight / table.weight, rate - forecast
    spread = np.sqrt(np.add.reduceat(_null_variance(table), start)) / weight
    value, noise = _combined(norm, share, np.abs(gap)), _noise(norm, share, spread)
    square = float(share @ (gap**2 - _variance_of_gap(table, start, gap, spread**2)))
    return CalibrationError(
        forecast_min=table.forecast[start],
        forecast_max=table.forecast[np.append(start[1:], len(table)) - 1],
        forecast_mean=forecast,
        event_rate=rate,
        weight=weight,
        value=value,
        noise=noise,
        debiased_square=square,
        norm=norm,
        of=of,
        strategy=strategy,
        n=table.n,
        dropped=table.dropped,
        note=_note(norm, noise) if noise > 0.0 and noise >= NOISY * value else "",
    )


def _table(
    y_true: Any, y_proba: Any, options: dict[str, Any], tolerance: float
) -> tuple[ForecastTable, Literal["event", "top label"]]:
    """Return the table of the event, or of the answers that class probabilities imply."""
    if isinstance(y_true, ForecastTable):
        return ForecastTable.of(y_true, y_proba, **options), "event"
    cases = read_cases(y_true, y_proba, tolerance=tolerance, **options)
    if cases.labels is None:
        return ForecastTable.from_cases(cases), "event"
    return ForecastTable.from_cases(cases.event(TOP)), "top label"


def _null_variance(table: ForecastTable) -> Floats:
    """Return the variance of the weight of the events in each row, if the forecasts are calibrated."""
    squares: Floats = table.event_squares + table.non_event_squares
    return squares * table.forecast * (1.0 - table.forecast)


def _variance_of_gap(table: ForecastTable, start: Any, gap: Floats, null: Floats) -> Floats:
    """Return an unbiased variance of the mean residual of each bin; with one case, that under calibration.

    With weights, it is unbiased if the residuals of a bin have equal variances.
    """
    rows = np.diff(start, append=len(table))
    of_event = 1.0 - table.forecast - np.repeat(gap, rows)
    of_other = -table.forecast - np.repeat(gap, rows)
    weight = np.add.reduceat(table.weights, start)
    within = np.add.reduceat(table.events * of_event**2 + table.non_events * of_other**2, start) / weight
    # One over the effective number of cases.
    largest = np.add.reduceat(table.event_squares + table.non_event_squares, start) / weight**2
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
