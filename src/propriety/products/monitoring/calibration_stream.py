"""Monitoring the calibration of forecasts: a test that is valid after every case, however often one looks."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propriety.checks import check_level
from propriety.products.monitoring.betting import RECALIBRATIONS, CalibrationBets, bet_on_recalibration
from propriety.products.monitoring.comparison_stream import options_of
from propriety.products.monitoring.e_process import (
    EProcess,
    anytime_p_values,
    first_reached,
    log_threshold,
    refuse_table,
)
from propriety.tables.cases import Cases
from propriety.tables.labels import Labels
from propriety.tables.validation import read_cases


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MonitoredCalibration(EProcess):
    """Evidence after each case that forecasts are not calibrated; see `monitor_calibration` and `EProcess`."""

    bets: tuple[CalibrationBets, ...] = field(metadata={"hidden": True})

    def extend(self, y_true: object, y_proba: object = None) -> MonitoredCalibration:
        """Return the whole stream, continued by further cases; the options do not change.

        The result is the same as for all cases at once.

        Examples
        --------
        >>> y, p = [1, 0, 0, 0] * 25, [0.4, 0.3, 0.5, 0.6] * 25
        >>> monday = monitor_calibration(y, p)
        >>> tuesday = monday.extend(y, p)
        >>> monday.alarm, tuesday.alarm, monitor_calibration(y + y, p + p).alarm
        (23, 23, 23)
        """
        return _calibrated(y_true, y_proba, self.level, self.options, self)


def monitor_calibration(
    y_true: ArrayLike | Cases,
    y_proba: ArrayLike | None = None,
    *,
    level: float = 0.95,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> MonitoredCalibration:
    r"""Test, after every case, whether forecasts are calibrated.

    The claim is that :math:`P(y_t = 1 \mid p_t, \text{the cases before } t) = p_t` at all times. It is tested with
    likelihood ratios of alternative rates :math:`q_k(p)`, fixed in advance, to the forecasts,

    .. math:: \prod_{i \le t} \left(\frac{q_k(p_i)}{p_i}\right)^{y_i}
              \left(\frac{1 - q_k(p_i)}{1 - p_i}\right)^{1 - y_i} ,

    each of which is a martingale that starts at one if the claim is true. One half of the e-value is their mean over 45
    lines, :math:`\operatorname{logit} q = a + b \operatorname{logit} p` with shifts up to 0.8 and slopes from 0.71 to
    1.41; they detect forecasts that are too high, too low, too extreme or too timid. The other half is a product over
    twelve bins of forecasts, in each of which nine shifts share the capital; it detects errors that cancel elsewhere.

    Parameters
    ----------
    y_true, y_proba, pos_label, labels
        As in `propriety.mean_score`: binary outcomes, in the order in which they became known, and the probability of
        the event.
    level : float
        One minus the probability of a false alarm, strictly between 0 and 1, for outcomes that become known one after
        another.

    Returns
    -------
    MonitoredCalibration
        One row per case; `extend` continues it.

    Notes
    -----
    For batches of cases by day, and for many models and groups, see `monitor`. The notes of `monitor_comparison` on the
    order of the cases apply here too.

    **Several cases of one time raise false alarms if they are correlated given their forecasts**, because the claim is
    about each case given all before it, also those of its own time. Calibrated forecasts for a dozen stations under one
    weather raise an alarm within months. Monitor one case of each time, such as one station.

    A forecast of 0 or 1 adds no evidence as
    long as it comes true. Once it fails, the e-value is infinite, because the claim gave that outcome probability 0.

    References
    ----------
    Henzi & Ziegel (2022), doi:10.1093/biomet/asab047, and Arnold, Henzi & Ziegel (2023),
    doi:10.1214/22-AOAS1697, for sequential tests of forecasts; Henzi, Puke, Dimitriadis & Ziegel,
    arXiv:2203.00426, for a likelihood ratio with isotonic regression in place of lines and bins.

    Examples
    --------
    >>> from propriety.products.monitoring.calibration_stream import monitor_calibration
    >>> result = monitor_calibration([0, 0, 1, 0] * 15, [0.4, 0.3, 0.6, 0.4] * 15)
    >>> result.verdict
    'Alarm after 32 of 60 cases: it is not true that the forecasts are calibrated.'
    >>> result
    MonitoredCalibration(n=60, e_value=22975.9, p_value=4.35238e-05, alarm=32, level=0.95)
    """
    check_level(level)
    options = {"pos_label": pos_label, "labels": labels}
    options = options_of(y_true) if isinstance(y_true, Cases) else options
    return _calibrated(y_true, y_proba, level, options, None)


def _calibrated(
    y_true: object, y_proba: object, level: float, options: Mapping[str, Any], before: MonitoredCalibration | None
) -> MonitoredCalibration:
    """Bet on the lines and on the bins, starting from the end of the previous stream."""
    refuse_table(y_true)
    cases = read_cases(y_true, y_proba, kind="event", **({} if isinstance(y_true, Cases) else options))
    forecast, event, _ = cases.gathered()
    open_to_doubt = (forecast > 0.0) & (forecast < 1.0)
    bets = tuple(map(CalibrationBets.start, RECALIBRATIONS)) if before is None else before.bets
    halves, after = [], []
    for alternatives, one in zip(RECALIBRATIONS, bets, strict=True):
        path, end = bet_on_recalibration(forecast[open_to_doubt], event[open_to_doubt], alternatives, one)
        # A certain forecast leaves the capital unchanged.
        halves.append(np.append(one.log_product, path)[np.cumsum(open_to_doubt)])
        after.append(end)
    log_e = np.logaddexp(*halves) - math.log(2.0)
    failed = ~open_to_doubt & (event != (forecast == 1.0))
    log_e[np.logical_or.accumulate(failed)] = np.inf
    if before is not None:
        log_e = np.append(before.log_e_value, np.where(np.isinf(before.log_e_value[-1]), np.inf, log_e))
    return MonitoredCalibration(
        log_e_value=log_e,
        p_value=anytime_p_values(log_e),
        alarm=first_reached(log_e >= log_threshold(level)),
        claim="the forecasts are calibrated",
        level=level,
        method="likelihood ratios of recalibrated forecasts: lines and bins",
        n=len(log_e),
        dropped=cases.dropped + (0 if before is None else before.dropped),
        options=options,
        bets=tuple(after),
    )
