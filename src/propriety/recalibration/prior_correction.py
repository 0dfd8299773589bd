"""Correction of forecasts from a model that was trained with class weights or on sampled cases."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import ClassVar

from propriety.checks import check_inside, is_number
from propriety.errors import InputValueError
from propriety.recalibration.maps import RecalibrationMap
from propriety.recalibration.written_maps import Column, Written
from propriety.result import Floats

LARGEST = sys.float_info.max


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OddsMap(RecalibrationMap):
    r"""The odds times a factor, :math:`q / (1 - q) = r \, p / (1 - p)`; forecasts of 0 and 1 do not change.

    Parameters
    ----------
    factor : float
        r, positive.

    Examples
    --------
    >>> OddsMap(factor=0.25)([0.0, 0.5, 0.8, 1.0])
    array([0. , 0.2, 0.5, 1. ])
    """

    kind: ClassVar[str] = "odds"

    factor: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", _checked_positive("factor", self.factor))

    def recalibrated(self, forecast: Floats) -> Floats:
        """Return the recalibrated forecasts."""
        raised = self.factor * forecast
        return raised / (raised + (1.0 - forecast))

    def written(self, p: Column, ops: Written) -> Column:
        """Return the map applied to a column."""
        del ops
        raised = self.factor * p
        return raised / (raised + (1.0 - p))

    @property
    def is_monotone(self) -> bool:
        """True."""
        return True

    @property
    def formula(self) -> str:
        """The map in one line."""
        return f"q / (1 - q) = {self.factor:.4g} p / (1 - p)"


def prior_correction(
    *,
    prior: float | None = None,
    sampled_at: float | None = None,
    event_weight: float | None = None,
    non_events_kept: float | None = None,
) -> OddsMap:
    r"""Return the map that undoes class weights or the sampling of cases by their outcome.

    For a model that was trained at an event rate of :math:`\tau` and is used at an event rate of :math:`\pi`, Bayes'
    theorem gives the corrected odds

    .. math:: \frac{q}{1 - q} = \frac{p}{1 - p} \cdot \frac{\pi / (1 - \pi)}{\tau / (1 - \tau)},

    provided that sampling and weights depended only on the outcome. Giving events w times the weight of non-events
    multiplies the odds by w, and so does keeping a share of 1 / w of the non-events. The map divides the odds by w.

    Parameters
    ----------
    prior : float
        The event rate among the cases for which the forecasts are used.
    sampled_at : float
        The event rate in training, as sampled and weighted.
    event_weight : float
        Instead of the rates: the weight of an event in training relative to that of a non-event, such as
        ``scale_pos_weight``, a ratio of class weights, or the number of copies of each event.
    non_events_kept : float
        Instead of the rates: the share of the non-events kept in training. It can be combined with `event_weight`.

    Returns
    -------
    OddsMap
        The map. It can be called with forecasts or written as an expression or SQL; there is nothing to fit.

    Notes
    -----
    The map corrects only the effect of the sampling. Evaluate the corrected forecasts on cases that were not sampled;
    see `evaluate` and `recalibrate`.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning; Saerens, Latinne & Decaestecker (2002),
    doi:10.1162/089976602753284446; King & Zeng (2001), doi:10.1093/oxfordjournals.pan.a004868.

    Examples
    --------
    >>> fix = prior_correction(prior=0.01, sampled_at=0.5)
    >>> fix([0.5, 0.99]).round(3)
    array([0.01, 0.5 ])
    >>> prior_correction(non_events_kept=0.1)
    OddsMap(factor=0.1)
    """
    rates, scheme = (prior, sampled_at), (event_weight, non_events_kept)
    if any(one is None for one in rates) if scheme == (None, None) else rates != (None, None):
        law = "pass prior= and sampled_at=, or else event_weight=, non_events_kept=, or both"
        raise InputValueError(law, hint="for example prior=0.01, sampled_at=0.5.")
    if prior is not None and sampled_at is not None:
        check_inside("prior", prior)
        check_inside("sampled_at", sampled_at)
        return OddsMap(factor=prior / (1.0 - prior) / sampled_at * (1.0 - sampled_at))
    weight = 1.0 if event_weight is None else _checked_positive("event_weight", event_weight)
    kept = 1.0 if non_events_kept is None else _checked_positive("non_events_kept", non_events_kept, high=1.0)
    return OddsMap(factor=kept / weight)


def _checked_positive(name: str, value: object, *, high: float = math.inf) -> float:
    if not is_number(value) or not 0.0 < value <= high or value > LARGEST:  # type: ignore[operator]  # a number
        law = "must be a finite number above 0" + ("" if math.isinf(high) else f", up to {high:g}")
        raise InputValueError(law, argument=name, offender=f"got {value!r}")
    return float(value)  # type: ignore[arg-type]  # a number
