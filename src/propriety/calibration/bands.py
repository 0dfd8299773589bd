"""Bands in a reliability diagram: consistency bands around the diagonal and confidence bands around the curve.

A consistency band contains the curve of calibrated forecasts with the stated probability, at each forecast separately.
A confidence band contains the true event rate, at each forecast separately (pointwise) or at all forecasts together
(simultaneous). A curve leaves a pointwise band somewhere far more often than the level suggests; only a simultaneous
band can be read as a whole.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.special import airye, betainc, betaincinv, betaln

from propriety import checks
from propriety.calibration.blocks import Blocks, pool_adjacent_violators
from propriety.calibration.calibration_errors import neighbours_pooled
from propriety.calibration.resampling import quantiles, resampled_curves
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import InputValueError
from propriety.number_words import percent
from propriety.result import Floats, Result
from propriety.tables.forecast_table import ForecastTable

BandMethod: TypeAlias = Literal["auto", "resampling", "discrete", "continuous"]
FEW = 5  # Clopper-Pearson limits are clearly too wide with fewer events or non-events.
POINTS = 101  # Points of the continuous asymptotic band, evenly spaced.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Band(Result):
    """Lower and upper limits at given forecasts, and the method by which they were computed.

    Parameters
    ----------
    forecast, low, high : array of shape (points,)
        Limits are linear between the points, except for a simultaneous band, whose limits are steps: the lower limit
        holds up to the next forecast, the upper one from the previous forecast.
    kind : {"consistency", "confidence", "simultaneous"}
        Pointwise around the diagonal; pointwise around the curve; around the curve for all forecasts at once.
    level : float
        Coverage probability: at each forecast separately or, if simultaneous, at all forecasts together.
    method : str
        "resampling", "discrete" or "continuous" asymptotics, "pooled blocks", or "union bound".
    n_resamples, seed : int, optional
        Number and seed of the draws of a resampled band.
    note : str
        A caveat, if any.
    """

    forecast: Floats
    low: Floats
    high: Floats
    kind: str
    level: float
    method: str
    n_resamples: int | None = None
    seed: int | None = None
    note: str = ""

    @property
    def label(self) -> str:
        """Level and kind as text, which says whether the band is pointwise.

        Examples
        --------
        >>> Band(forecast=[0.5], low=[0.4], high=[0.6], kind="confidence", level=0.9, method="pooled blocks").label
        '90% pointwise confidence band'
        """
        pointwise = "" if self.kind == "simultaneous" else "pointwise "
        return f"{percent(self.level)} {pointwise}{self.kind} band"


def band_around_diagonal(
    table: ForecastTable, *, level: float, method: BandMethod, n_resamples: int, seed: int | None, progress: bool
) -> Band:
    """Make the consistency band of a table."""
    _check(level, method, n_resamples)
    chosen = _method_around_diagonal(table) if method == "auto" else method
    if chosen == "resampling":
        return _resampled(neighbours_pooled(table), level, n_resamples, fresh_seed(seed), progress=progress)
    if chosen == "discrete":
        return _band(table.forecast, _normal_half_width(table, level), level=level, method=chosen)
    grid = _grid(table)
    return _band(grid, _chernoff_half_width(table, grid, level), level=level, method=chosen)


def band_around_curve(table: ForecastTable, blocks: Blocks, *, level: float) -> Band:
    """Make the pointwise confidence band of a table from its pooled blocks, at the ends of each block."""
    lower, upper = pointwise_limits(table, blocks, level)
    first, last = blocks.start[:-1], blocks.start[1:] - 1
    ends, block = np.unique(np.concatenate([first, last]), return_index=True)
    block %= len(blocks)
    return Band(
        forecast=table.forecast[ends],
        low=lower[block],
        high=upper[block],
        kind="confidence",
        level=level,
        method="pooled blocks",
        note=_wide(blocks, table.effective_n / table.weight),
    )


def _wide(blocks: Blocks, cases_per_weight: float) -> str:
    """Say in how many blocks the limits are too wide because they contain few events or non-events."""
    rarest = np.minimum(blocks.events, blocks.non_events) * cases_per_weight
    few = int(np.count_nonzero(rarest < FEW))
    if not few:
        return ""
    blocks_of = f"{few} of {len(blocks)} pooled blocks {'has' if few == 1 else 'have'}"
    return f"{blocks_of} fewer than {FEW} events or non-events: the limits there are wider than needed"


def _grid(table: ForecastTable) -> Floats:
    """Return evenly spaced points over the range of the forecasts; one if they are all equal."""
    return np.unique(np.linspace(table.forecast[0], table.forecast[-1], POINTS))


def _method_around_diagonal(table: ForecastTable) -> BandMethod:
    """Choose the method as Dimitriadis, Gneiting & Jordan (2021) do, by the numbers of cases and distinct forecasts."""
    n, distinct = table.effective_n, len(table)
    if n <= max(1000, min(5000, 50 * distinct)):
        return "resampling"
    return "discrete" if n >= 8 * distinct**2 else "continuous"


def _cases(table: ForecastTable) -> Floats:
    r"""Return the cases in each row, with weights the cases without weights that have the same variance.

    With the mean squares :math:`a_1 = \sum w^2 / \sum w` of the events and :math:`a_0` of the non-events, the weighted
    rate of calibrated forecasts p has the variance :math:`p (1 - p) \{(1 - p) a_1 + p a_0\} / W`.
    """
    if not table.is_weighted:
        return table.weights
    events, non_events = usual_weights(table)
    return np.asarray(table.weights / ((1.0 - table.forecast) * events + table.forecast * non_events))


def _resampled(table: ForecastTable, level: float, n_resamples: int, seed: int, *, progress: bool) -> Band:
    effective = _cases(table)
    curves = resampled_curves(
        table.forecast,
        effective,
        table.forecast,
        cases=max(round(float(effective.sum())), 1),
        n_resamples=n_resamples,
        seed=seed,
        progress=progress,
    )
    lower, upper = quantiles(curves, (0.5 - level / 2.0, 0.5 + level / 2.0))
    return Band(
        forecast=table.forecast,
        low=lower,
        high=upper,
        kind="consistency",
        level=level,
        method="resampling",
        n_resamples=n_resamples,
        seed=seed,
    )


def _normal_half_width(table: ForecastTable, level: float) -> Floats:
    variance = table.forecast * (1.0 - table.forecast) / _cases(table)
    return special.ndtri(0.5 + level / 2.0) * np.sqrt(variance)


def _chernoff_half_width(table: ForecastTable, at: Floats, level: float) -> Floats:
    """Return the half-width for a rate that rises with slope one, from Chernoff's distribution (Wright 1981)."""
    cases = _cases(table)
    n = float(cases.sum())
    density = beta_kernel_density(at, table.forecast, cases, n=n)
    return chernoff_quantile(0.5 + level / 2.0) * np.cbrt(4.0 * at * (1.0 - at) / (n * density))


def _band(forecast: Floats, half: Floats, *, level: float, method: str) -> Band:
    lower, upper = np.maximum(forecast - half, 0.0), np.minimum(forecast + half, 1.0)
    return Band(forecast=forecast, low=lower, high=upper, kind="consistency", level=level, method=method)


def _check(level: float, method: str, n_resamples: int) -> None:
    check_level(level)
    check_resamples(n_resamples)
    checks.choice(method, "method", get_args(BandMethod))


Places = NDArray[np.intp]
LONGEST_RUN = 8
# Finer blocks than 1 / 65,536 of the cases would cost time without a visible effect.
FINEST = 16
BATCH = 2**12


def simultaneous_band(table: ForecastTable, level: float = 0.9) -> tuple[Floats, Floats, Floats]:
    r"""Confidence band for the whole calibration curve :math:`x \mapsto P(Y = 1 \mid \text{forecast} = x)`.

    With a probability of at least `level`, the curve lies within the band at all forecasts together. This holds for any
    number of cases and any curve that does not decrease, if the outcomes are independent given the forecasts; see the
    module for the construction.

    Parameters
    ----------
    table : ForecastTable
        Forecasts and outcomes of unweighted cases.
    level : float
        Coverage probability of the band, strictly between 0 and 1.

    Returns
    -------
    forecast, low, high : array of shape (rows,)
        The distinct forecasts and the limits there, which do not decrease and lie in [0, 1]. Between two forecasts, the
        lower limit is that of the left one and the upper limit that of the right one.

    Raises
    ------
    InputValueError
        If cases are weighted, because the guarantee is about counts of cases.

    Notes
    -----
    Event rates that clearly decrease as the forecasts increase contradict the assumption: the limits may then cross, or
    exclude the isotonic regression. There the band is widened to span both limits and the regression, which keeps the
    guarantee. The band therefore always contains the CORP curve.

    The curve of calibrated forecasts is the diagonal. Where the diagonal leaves the band, the forecasts are
    miscalibrated, and this conclusion is wrong with a probability of at most ``1 - level``.

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke & Ziegel (2023), doi:10.1093/biomet/asac068.

    Examples
    --------
    >>> table = ForecastTable.from_predictions([0, 0, 1, 0, 1, 1] * 50, [0.2, 0.4, 0.4, 0.6, 0.6, 0.8] * 50)
    >>> forecast, lower, upper = simultaneous_band(table)
    >>> lower.round(3), upper.round(3)
    (array([0.   , 0.369, 0.407, 0.899]), array([0.101, 0.593, 0.631, 1.   ]))
    """
    check_level(level)
    if table.is_weighted:
        law = "a simultaneous band needs cases without weights, because its guarantee is about counts of cases"
        raise InputValueError(law, hint="use the confidence band, which supports weights.")
    cases = np.concatenate([[0.0], np.cumsum(table.weights)])
    events = np.concatenate([[0.0], np.cumsum(table.events)])
    start, stop = _intervals(_block_ends(cases))
    delta = (1.0 - level) / (2.0 * len(start))
    lower = _lower_limits(events, cases, start, stop, delta)
    # Reversing the order and swapping events and non-events turns upper limits into lower ones.
    mirrored, rows = (events - cases)[::-1], len(table)
    upper = 1.0 - _lower_limits(mirrored, -cases[::-1], rows - stop, rows - start, delta)[::-1]
    held = np.stack([lower[1:], upper[:-1], pool_adjacent_violators(table).per_row()])
    return table.forecast, held.min(axis=0), held.max(axis=0)


def _block_ends(cases: Floats) -> Places:
    """Return the ends of the finest blocks as numbers of table rows; `cases` is the cumulative number of cases."""
    n = float(cases[-1])
    blocks = 2 ** min(int(math.log2(n) * 2.0 / 3.0), FINEST)
    return np.searchsorted(cases, n * np.arange(blocks + 1) / blocks)


def _intervals(ends: Places) -> tuple[Places, Places]:
    """Return the distinct runs of adjacent blocks: of the finest ones, of their pairs, of pairs of these, and so on."""
    rows = int(ends[-1])
    keys = []
    while True:
        cuts = np.unique(ends)
        keys += [cuts[:-run] * (rows + 1) + cuts[run:] for run in range(1, min(LONGEST_RUN, len(cuts) - 1) + 1)]
        if len(cuts) - 1 <= LONGEST_RUN:
            break
        ends = ends[::2]
    start, stop = np.divmod(np.unique(np.concatenate(keys)), rows + 1)
    return start, stop


def _lower_limits(events: Floats, cases: Floats, start: Places, stop: Places, delta: float) -> Floats:
    """Return the highest lower limit of the intervals that end after at most 0, 1, ... rows."""
    z, n = events[stop] - events[start], cases[stop] - cases[start]
    order = np.argsort(-n, kind="stable")
    order = order[z[order] > 0.0]
    limit = np.zeros(len(cases))
    # Long intervals come first: after them, few of the many short ones raise the limit and need the costly inverse.
    for batch in np.split(order, range(BATCH, len(order), BATCH)):
        end, successes, others = stop[batch], z[batch], n[batch] - z[batch] + 1.0
        higher = betainc(successes, others, limit[end]) < delta
        end = end[higher]
        np.maximum.at(limit, end, betaincinv(successes[higher], others[higher], delta))
        limit = np.maximum.accumulate(limit)
    return limit


_HALF = 0.5
_ROOT = 2.0 ** (1 / 3)
# The trapezoidal rule has an error of exp(-2 pi d / step), where d >= 1.3 is the distance to the first zero of Ai,
# -2.34.
_STEP = 0.2
_LEFT_CONTOUR = -1.0
_NEWTON_STEPS = 50
# Convergence is quadratic: after a step this small, the remaining error is far below rounding.
_LAST_STEP = 1e-13


def _airy_transform(t: Floats, contour: float) -> Floats:
    r"""Return :math:`g(t)` of the module's formula, by the trapezoidal rule on :math:`\Re z = c`.

    The integrand decays like :math:`\exp(-0.47\, |\Im z|^{3/2})`, with conjugate values at conjugate points.
    """
    height = 20.0 + 4.0 * math.sqrt(abs(contour))
    z = contour + 1j * np.arange(0.0, height, _STEP)
    # The scaled Airy function is e^(2/3 z^(3/2)) Ai(z); its factor is added to the exponent to avoid overflow.
    exponent = 2 / 3 * z**1.5 - _ROOT * np.multiply.outer(t, z)
    integrand = (np.exp(exponent) / airye(z)[0]).real
    integral: Floats = _STEP * (integrand.sum(axis=-1) - integrand[..., 0] / 2)
    return _ROOT**2 / np.pi * integral


def _density(t: Floats) -> Floats:
    """Return the density at non-negative points, with full relative accuracy near the smallest of them."""
    # Through the saddle point, 2^(2/3) t^2, the integrand does not oscillate, so nothing cancels.
    saddle = _ROOT**2 * float(t.min()) ** 2
    return 0.5 * _airy_transform(t, saddle) * _airy_transform(-t, _LEFT_CONTOUR)


@functools.cache
def _unit_quadrature() -> tuple[Floats, Floats]:
    """Return the nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(32)
    return (nodes + 1.0) / 2.0, weights / 2.0


def _tail(x: float) -> tuple[float, float]:
    """Return the probability of exceeding ``x >= 0`` and the density at ``x``."""
    nodes, weights = _unit_quadrature()
    # The density decays faster than exp(-2/3 t^3); beyond this end only exp(-40) of the total remains.
    width = float(np.cbrt(x**3 + 60.0)) - x
    density = _density(np.concatenate([[x], x + width * nodes]))
    return width * float(weights @ density[1:]), float(density[0])


@functools.lru_cache(maxsize=64)  # Bands of the same level need the same quantile.
def chernoff_quantile(probability: float) -> float:
    r"""Quantile function of Chernoff's distribution, the :math:`x` with :math:`F(x) = p`.

    Parameters
    ----------
    probability : float
        The probability :math:`p`, strictly between 0 and 1.

    Returns
    -------
    float
        The quantile.

    Notes
    -----
    Verified against 45-digit arithmetic for 1e-16 <= p <= 1 - 1e-6: the absolute error is below 2e-15. Closer to 1, the
    accuracy is limited by the spacing of floating-point numbers.

    Examples
    --------
    >>> round(chernoff_quantile(0.95), 12)
    0.845081188802
    """
    # By symmetry, use the smaller tail, which is known to full relative accuracy; the median is exactly zero.
    target = min(float(probability), 1.0 - float(probability))
    if target == _HALF:
        return 0.0
    x = float(np.cbrt(1.5 * math.log(_HALF / target)))
    # Newton's method converges from any start, because the log of the tail is concave.
    for _ in range(_NEWTON_STEPS):
        tail, density = _tail(x)
        step = math.log(tail / target) * tail / density
        x += step
        if abs(step) < _LAST_STEP:
            break
    return math.copysign(x, probability - _HALF)


# Half a megabyte of kernel values, so that a block stays in the processor's cache.
_BLOCK_CELLS = 2**16
_CELLS = 2**16
# A finite substitute for log 0: times a zero exponent it is 0 (0^0 = 1), times any other it is below the floor.
_LOG_ZERO = -1e100
# Arithmetic with subnormal numbers is a hundred times slower, and callers that divide by a density need it positive.
_LOG_FLOOR = -600.0


def _logs(v: Floats) -> Floats:
    """Return the rows log v, log(1 - v) and 1, which the exponents of the kernel multiply."""
    rows = np.full((3, v.size), _LOG_ZERO)
    np.log(v, out=rows[0], where=v > 0.0)
    np.log1p(-v, out=rows[1], where=v < 1.0)
    rows[2] = 1.0
    return rows


def _in_cells(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Replace values that are close to each other by their mean, if there are many."""
    if values.size <= _CELLS:
        return values, weight
    cell = np.minimum(values * _CELLS, _CELLS - 1).astype(np.intp)
    total = np.bincount(cell, weight).astype(np.float64)
    moment, held = np.bincount(cell, weight * values), total > 0.0
    return np.minimum(moment[held] / total[held], 1.0), total[held]


def beta_kernel_density(
    at: Floats,
    values: Floats,
    weight: Floats,
    bandwidth: float | None = None,
    n: float | None = None,
) -> Floats:
    r"""Chen's beta-kernel density estimate of a weighted sample on [0, 1].

    .. math:: f(x) = \frac{\sum_i w_i\, \mathrm{Beta}(v_i;\, x/b + 1,\, (1 - x)/b + 1)}{\sum_i w_i},
              \qquad \mathrm{Beta}(v;\, \alpha, \beta)
              = \frac{v^{\alpha - 1} (1 - v)^{\beta - 1}}{B(\alpha, \beta)} .

    Parameters
    ----------
    at : numpy.ndarray, shape (m,)
        Points :math:`x` in [0, 1].
    values : numpy.ndarray, shape (k,)
        Values :math:`v_i` in [0, 1], in any order.
    weight : numpy.ndarray, shape (k,)
        Weights :math:`w_i`; whole numbers mean the same as repeated values.
    bandwidth : float, optional
        The bandwidth :math:`b > 0`; by default :math:`n^{-2/5}`.
    n : float, optional
        The sample size of the default bandwidth; by default :math:`\sum_i w_i`.

    Returns
    -------
    numpy.ndarray, shape (m,)
        The density at each point.

    Notes
    -----
    Up to 65,536 values, every kernel is evaluated. More values are averaged within that many equal cells, which changes
    the density by a relative 1e-6 or so. A kernel below exp(-600) counts as exp(-600).

    References
    ----------
    Chen, S. X. (1999). Beta kernel estimators for density functions. Computational Statistics & Data Analysis
    31, 131-145. https://doi.org/10.1016/S0167-9473(99)00010-9

    Examples
    --------
    >>> values = np.array([0.1, 0.15, 0.4, 0.8, 0.95])
    >>> beta_kernel_density(np.array([0.0, 0.3, 1.0]), values, np.ones(5)).round(6).tolist()
    [1.150064, 0.931029, 1.03088]
    """
    total = float(weight.sum())
    b = (total if n is None else n) ** -0.4 if bandwidth is None else bandwidth
    first, second = at / b, (1.0 - at) / b
    # The normalising constant is subtracted in the exponent, because the product of powers underflows for small
    # bandwidths.
    exponents = np.column_stack([first, second, -betaln(first + 1.0, second + 1.0)])
    block = max(1, _BLOCK_CELLS // max(1, at.size))
    density = np.zeros(at.size)
    values, weight = _in_cells(values, weight)
    for start in range(0, values.size, block):
        v = values[start : start + block]
        kernel = np.matmul(exponents, _logs(v))
        np.maximum(kernel, _LOG_FLOOR, out=kernel)
        np.exp(kernel, out=kernel)
        density += kernel @ weight[start : start + block]
    return density / total


CRITICAL = {0.5: 0.9, 0.6: 1.1, 0.7: 1.3, 0.8: 1.5, 0.9: 1.9, 0.95: 2.2, 0.98: 2.7, 0.99: 3.1, 0.995: 3.5, 0.999: 4.3}
MORE = 10.0  # Cases of the usual weight that are added to a group.
LEAST = 1e-12  # Replaces zero events, for which the beta quantile is not defined.


def critical_value(level: float) -> float:
    """Return the critical value c of the module; between tabulated levels it is linear in the normal quantile.

    Examples
    --------
    >>> critical_value(0.9), round(critical_value(0.97), 2)
    (1.9, 2.49)
    """
    known = list(CRITICAL)
    if not isinstance(level, float | int) or not known[0] <= level <= known[-1]:
        law = f"the level of a confidence band must lie between {known[0]:g} and {known[-1]:g}; got {level!r}"
        raise InputValueError(law, hint="its critical values were simulated for these levels.")
    normal = special.ndtri(0.5 + np.array([level, *known]) / 2.0)
    return float(np.interp(normal[0], normal[1:], list(CRITICAL.values())))


def pointwise_limits(table: ForecastTable, blocks: Blocks, level: float) -> tuple[Floats, Floats]:
    r"""Return the lower and the upper limit of the true event rate in each block.

    Parameters
    ----------
    table : ForecastTable
        Forecasts and outcomes. A block of weighted cases counts as the number of cases without weights whose rate
        has the same variance.
    blocks : Blocks
        The blocks of isotonic regression of the table.
    level : float
        Coverage probability of the limits at each forecast separately, from 0.5 to 0.999.

    Examples
    --------
    >>> from propriety.calibration.blocks import pool_adjacent_violators
    >>> table = ForecastTable(forecast=[0.2, 0.6, 0.7], events=[4, 25, 20], non_events=[46, 25, 30])
    >>> lower, upper = pointwise_limits(table, pool_adjacent_violators(table), 0.9)
    >>> lower.round(3), upper.round(3)
    (array([0.023, 0.353]), array([0.189, 0.55 ]))
    """
    tail = special.ndtr(-critical_value(level))
    cases_per_weight = 1.0 / _usual_weight(table, blocks)
    events, non_events = blocks.events * cases_per_weight, blocks.non_events * cases_per_weight
    lower, upper = _least_rate(events, non_events, tail), 1.0 - _least_rate(non_events, events, tail)
    return np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]


def usual_weights(table: ForecastTable) -> tuple[float, float]:
    """Return the sum of the squared weights over that of the weights, of events and of non-events.

    Outcomes may have weights of very different size, as in a case-control study, but those of a few cases may also be
    small by chance. So each is at least the geometric mean of its own and of that of all cases, which counts as ten
    cases.
    """
    everywhere = table.weight_squares / table.weight

    def usual(total: float, squares: float) -> float:
        if total == 0.0:
            return everywhere
        own, cases = squares / total, total**2 / squares
        return max(own, float(own ** (cases / (cases + MORE)) * everywhere ** (MORE / (cases + MORE))))

    events = usual(float(table.events.sum()), float(table.event_squares.sum()))
    return events, usual(float(table.non_events.sum()), float(table.non_event_squares.sum()))


def weight_of_one(total: Floats, squares: Floats, usual: ArrayLike) -> Floats:
    r"""Return the weight of a case of a group in the variance of a share, :math:`\sum w^2 / \sum w`.

    The few cases of a group may have small weights by chance, which would make limits too narrow. So it is at least
    that of its cases and ten more of the usual weight, which is the weight of a group without cases.

    Parameters
    ----------
    total, squares : ndarray
        Sums of the weights of the groups and of their squares.
    usual : float or ndarray
        The same quotient for all cases of the outcome.

    Examples
    --------
    >>> weight_of_one(np.array([0.0, 5.0, 5000.0]), np.array([0.0, 5.0, 5000.0]), 2.0).round(2)
    array([2. , 1.8, 1. ])
    """
    usual = np.asarray(usual, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.fmax(squares / total, (squares + MORE * usual**2) / (total + MORE * usual)))


def _usual_weight(table: ForecastTable, blocks: Blocks) -> Floats:
    """Return the weight of a case that gives the rate of each block its variance; 1 without weights.

    It is that of the rarer outcome rather than of the other.
    """
    if not table.is_weighted:
        return np.ones(len(blocks))
    start, usual = blocks.start[:-1], []
    sides = (blocks.events, table.event_squares), (blocks.non_events, table.non_event_squares)
    for (own, squares), everywhere in zip(sides, usual_weights(table), strict=True):
        usual.append(weight_of_one(own, np.add.reduceat(squares, start), everywhere))
    rate = blocks.events / blocks.weight
    return np.asarray((1.0 - rate) * usual[0] + rate * usual[1])


def rate_limits(rate: float, n: float, level: float) -> tuple[float, float]:
    """Return the Clopper-Pearson limits of a rate of n cases; n need not be whole.

    Examples
    --------
    >>> [round(limit, 3) for limit in rate_limits(1.0, 20, 0.95)]
    [0.832, 1.0]
    """
    hits, misses = (np.array([one * n]) for one in (rate, 1.0 - rate))
    outside = (1.0 - level) / 2.0
    return float(_least_rate(hits, misses, outside)[0]), 1.0 - float(_least_rate(misses, hits, outside)[0])


def _least_rate(hits: Floats, misses: Floats, tail: float) -> Floats:
    """Return the lower Clopper-Pearson limit of a rate; 0 without a hit."""
    limit = special.betaincinv(np.maximum(hits, LEAST), misses + 1.0, tail)
    return np.where(hits > 0.0, limit, 0.0)
