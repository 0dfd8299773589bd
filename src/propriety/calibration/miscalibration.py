"""Miscalibration of forecasts, and a test of whether chance explains it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.calibration.blocks import pool_adjacent_violators
from propriety.calibration.decomposition import NOISE, FixedForecasts, parts_of, proper_binary_rule, scores_of
from propriety.checks import check_resamples, fresh_seed
from propriety.errors import InputValueError, Wording
from propriety.progress import track
from propriety.result import Floats, Result
from propriety.rules.families import BRIER
from propriety.rules.rule import Rule
from propriety.tables.censored_outcomes import check_known
from propriety.tables.forecast_table import ForecastTable, Outcomes
from propriety.tables.labels import Labels
from propriety.tables.table_holder import HoldsTables
from propriety.tables.validation import read_cases


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MiscalibrationTest(Result):
    """Result of `miscalibration_test`: the miscalibration, and how often calibrated forecasts reach it by chance.

    Parameters
    ----------
    statistic : float
        Miscalibration of the score, as in `propriety.decompose`.
    p_value : float
        Share of draws from calibrated forecasts with at least that miscalibration, counting the sample itself.
    spiegelhalter_z, spiegelhalter_p_value : float
        Spiegelhalter's statistic, standard normal for calibrated forecasts in large samples, and its two-sided p-value;
        NaN if all forecasts are 0, 1/2 or 1 and those of 0 and 1 came true.
    rule : Rule
        The rule.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    method : str
        What was drawn.
    n_resamples, seed : int
        Number and seed of the draws.
    """

    statistic: float
    p_value: float
    spiegelhalter_z: float
    spiegelhalter_p_value: float
    rule: Rule
    n: int
    dropped: int
    method: str
    n_resamples: int
    seed: int


def miscalibration_test(
    y_true: Outcomes,
    y_proba: ArrayLike | None = None,
    *,
    rule: Rule = BRIER,
    n_resamples: int = 1000,
    seed: int | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    progress: bool = False,
) -> MiscalibrationTest:
    r"""Test whether forecasts are calibrated, or deviate from the event rates by more than chance explains.

    If forecasts are calibrated, the event happens with the forecast probability. Outcomes are therefore redrawn with
    the forecasts as probabilities, as counts per distinct forecast, and the miscalibration of each draw is compared
    with that of the sample:

    .. math:: p = \frac{1 + \#\{\mathrm{MCB}^* \ge \mathrm{MCB}\}}{1 + B} .

    Given the forecasts, and for independent cases, the p-value is at most :math:`\alpha` with a probability of at most
    :math:`\alpha`, in samples of any size. The result also contains Spiegelhalter's test, which is fast but does not
    detect errors that cancel:

    .. math:: z = \frac{\sum_i (y_i - p_i) (1 - 2 p_i)}{\sqrt{\sum_i (1 - 2 p_i)^2 p_i (1 - p_i)}} .

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels
        As in `propriety.mean_score`: binary predictions, or a ledger of one model.
    rule : Rule
        Any proper rule for one event.
    n_resamples : int
        Number of draws :math:`B`.
    seed : int, optional
        Seed of the draws. By default a new seed is drawn and stored in the result.
    progress : bool
        Whether to show a progress bar.

    Notes
    -----
    With `sample_weight`, a case keeps its forecast and its weight and only its outcome is drawn. This assumes that,
    given the forecasts, weights carry no information about outcomes. Weights of cases and controls do, and the test is
    not valid with them. Whole-number weights are not read as counts of cases; pass counts to `propriety.condense`.
    A weighted ledger is rejected with an error, because it does not hold the weights of individual cases.

    References
    ----------
    Dimitriadis, Gneiting & Jordan (2021), doi:10.1073/pnas.2016191118; Spiegelhalter (1986),
    doi:10.1002/sim.4780050506; Phipson & Smyth (2010), doi:10.2202/1544-6115.1585, for counting the sample in.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p = [0, 1, 0, 1, 1] * 20, [0.1, 0.3, 0.5, 0.7, 0.9] * 20
    >>> test = pr.miscalibration_test(y, p, seed=1)
    >>> round(test.statistic, 3), round(test.p_value, 3), round(test.spiegelhalter_p_value, 3)
    (0.07, 0.001, 1.0)
    """
    binary = proper_binary_rule(rule)
    check_resamples(n_resamples)
    check_known(y_true, hint="use calibration_summary.")
    options = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    table = ForecastTable.of(y_true, y_proba, **options)
    cells = _weighted_cells(table, y_true, y_proba, options) if table.is_weighted else _cells(table)
    seed = fresh_seed(seed)
    generator = np.random.default_rng(seed)
    forecasts = FixedForecasts.of(binary, table.forecast)
    scores = np.empty((n_resamples + 1, 3))
    scores[0] = scores_of(table, pool_adjacent_violators(table), binary)
    for draw in track(range(1, n_resamples + 1), total=n_resamples, label="drawing outcomes", enabled=progress):
        scores[draw] = forecasts.scores(*cells.draw(generator))
    _, miscalibration, _, uncertainty = parts_of(binary, scores).T
    # Rounding must not exclude draws that are as miscalibrated as the sample.
    as_much = miscalibration[1:] >= miscalibration[0] * (1.0 - NOISE) - NOISE * uncertainty[0]
    z, p_value = _spiegelhalter(table, cells)
    return MiscalibrationTest(
        statistic=float(miscalibration[0]),
        p_value=float((1 + np.count_nonzero(as_much)) / (1 + n_resamples)),
        spiegelhalter_z=z,
        spiegelhalter_p_value=p_value,
        rule=rule,
        n=table.n,
        dropped=table.dropped,
        method="outcomes drawn given forecasts" + (" and weights" if table.is_weighted else ""),
        n_resamples=n_resamples,
        seed=seed,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Cases that share a forecast and a weight: their row in the table, and their number."""

    row: NDArray[np.intp]
    forecast: Floats
    weight: Floats
    count: NDArray[np.int64]

    def draw(self, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw outcomes with the forecasts as probabilities; return the weights of both outcomes in each table row."""
        several = self.count > 1
        events = (generator.random(len(self.count)) < self.forecast).astype(np.float64)  # Faster than binomials.
        if several.any():
            events[several] = generator.binomial(self.count[several], self.forecast[several])
        # Summed separately: the rest of a difference would be weight of an outcome that has an infinite loss.
        event, other = (np.bincount(self.row, own * self.weight) for own in (events, self.count - events))
        return event.astype(np.float64, copy=False), other.astype(np.float64, copy=False)


def _cells(table: ForecastTable) -> _Cells:
    rows = np.arange(len(table))
    return _Cells(rows, table.forecast, np.ones(len(table)), np.rint(table.weights).astype(np.int64))


def _weighted_cells(table: ForecastTable, y_true: object, y_proba: object, options: dict[str, Any]) -> _Cells:
    if isinstance(y_true, ForecastTable | HoldsTables):
        law = f"the test needs the weight of each case, which a weighted {type(y_true).__name__} does not hold"
        raise InputValueError(law, hint=Wording("pass {y_true}, {y_proba} and {sample_weight}."))
    forecast, _, weight = read_cases(y_true, y_proba, kind="event", **options).gathered()
    assert weight is not None  # noqa: S101  (for the type checker; the table of these cases is weighted)
    order = np.lexsort((weight, forecast))
    order = order[weight[order] > 0.0]
    forecast, weight = forecast[order], weight[order]
    is_new = (np.diff(forecast, prepend=np.nan) != 0.0) | (np.diff(weight, prepend=np.nan) != 0.0)
    count = np.diff(np.flatnonzero(is_new), append=len(order))
    return _Cells(np.searchsorted(table.forecast, forecast[is_new]), forecast[is_new], weight[is_new], count)


def _spiegelhalter(table: ForecastTable, cells: _Cells) -> tuple[float, float]:
    """Return the z statistic and its two-sided p-value."""
    excess = float((table.events - table.weights * table.forecast) @ (1.0 - 2.0 * table.forecast))
    spread = (1.0 - 2.0 * cells.forecast) ** 2 * cells.forecast * (1.0 - cells.forecast)
    variance = float((cells.count * cells.weight**2) @ spread)
    with np.errstate(divide="ignore", invalid="ignore"):  # Certain forecasts have zero variance.
        z = float(np.divide(excess, np.sqrt(variance)))
    return z, math.erfc(abs(z) / math.sqrt(2.0))
