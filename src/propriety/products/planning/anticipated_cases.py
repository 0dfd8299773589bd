"""Cases that a study is expected to have: their forecasts, and how probable the event is for each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from propriety.errors import InputValueError
from propriety.inference.measures.measure import Influence, Measure
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

POINTS = 2001  # Log-odds at which the distribution of a prevalence and an area is evaluated.
REACH = 7.0  # Standard deviations of the log-odds that they cover.
WIDEST = 60.0  # Largest shift of log-odds that is searched.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnticipatedCases:
    """Kinds of cases by the forecasts of each model, with the share of each kind and the probability of its event.

    Parameters
    ----------
    forecasts : mapping of str to ndarray of shape (kinds,)
        Forecasts of each model.
    share, rate : ndarray of shape (kinds,)
        Share of the cases of each kind, which add up to 1, and the probability of the event.
    """

    forecasts: Mapping[str, Floats]
    share: Floats
    rate: Floats

    @classmethod
    def calibrated(cls, forecasts: Mapping[str, Floats], share: Floats | None = None) -> AnticipatedCases:
        """Return cases for which the forecasts of the first model are calibrated.

        Examples
        --------
        >>> AnticipatedCases.calibrated({"new": np.array([0.1, 0.3]), "old": np.array([0.2, 0.2])}).prevalence
        0.2
        """
        rate = next(iter(forecasts.values()))
        share = np.full(len(rate), 1.0 / len(rate)) if share is None else share / share.sum()
        return cls(forecasts=forecasts, share=share, rate=rate)

    @classmethod
    def of_table(cls, table: ForecastTable, model: str) -> AnticipatedCases:
        """Return the cases of a table, with the share of events in each of its rows."""
        return cls(forecasts={model: table.forecast}, share=table.weights / table.weight, rate=table.event_rates)

    @classmethod
    def binormal(cls, prevalence: float, auc: float, model: str) -> AnticipatedCases:
        r"""Return calibrated forecasts with this event rate and area under the ROC curve.

        The log-odds of events and of non-events are normal with the same variance :math:`\sigma^2 = 2 (\Phi^{-1}(A))^2`
        and means that differ by :math:`\sigma^2`; such forecasts are calibrated.

        Examples
        --------
        >>> cases = AnticipatedCases.binormal(0.02, 0.8, "forecast")
        >>> from propriety.inference.measures.ranking import AreaUnderRoc
        >>> round(cases.prevalence, 6), round(AreaUnderRoc().value(cases.table("forecast")), 4)
        (0.02, 0.8)
        """
        variance = 2.0 * float(ndtri(auc)) ** 2
        deviation, middle = math.sqrt(variance), float(logit(prevalence))
        x = np.linspace(-1.0, 1.0, POINTS) * (REACH * deviation + variance / 2.0) + middle
        away = (x - middle) / deviation
        density = (1.0 - prevalence) * np.exp(-0.5 * (away + deviation / 2.0) ** 2)
        density += prevalence * np.exp(-0.5 * (away - deviation / 2.0) ** 2)
        return cls.calibrated({model: expit(x)}, density)

    @property
    def prevalence(self) -> float:
        """Expected share of events."""
        return float(self.share @ self.rate)

    @property
    def first(self) -> str:
        """Name of the first model."""
        return next(iter(self.forecasts))

    def at_prevalence(self, prevalence: float) -> AnticipatedCases:
        """Shift the log-odds of the event and of all forecasts so that this share of the cases are events."""
        shift = _shift(self.rate, self.share, 1.0, prevalence, prevalence=prevalence)
        moved = {model: _moved(p, 1.0, shift) for model, p in self.forecasts.items()}
        return replace(self, forecasts=moved, rate=_moved(self.rate, 1.0, shift))

    def miscalibrated(self, slope: float, ratio: float) -> AnticipatedCases:
        """Return the cases if the forecasts of the first model had this calibration slope and observed/expected."""
        p = self.forecasts[self.first]
        shift = _shift(p, self.share, slope, ratio * float(self.share @ p), observed_expected=ratio)
        return replace(self, rate=_moved(p, slope, shift))

    def table(self, model: str) -> ForecastTable:
        """Return the expected table of a model."""
        distinct, row = np.unique(self.forecasts[model] + 0.0, return_inverse=True)
        happened = np.bincount(row, self.share * self.rate).astype(np.float64)
        without = np.bincount(row, self.share * (1.0 - self.rate)).astype(np.float64)
        return ForecastTable(
            forecast=distinct,
            events=happened,
            non_events=without,
            event_squares=happened**2,  # One case of each outcome; the influence does not depend on it.
            non_event_squares=without**2,
            n=int(np.count_nonzero(happened) + np.count_nonzero(without)),
            n_events=int(np.count_nonzero(happened)),
        )

    def influence(self, measure: Measure, model: str) -> Influence:
        """Return the influence of a case of each kind on a measure of a model, with the event and without it."""
        table = self.table(model)
        row = np.searchsorted(table.forecast, self.forecasts[model] + 0.0)
        return Influence(*(part[row] for part in measure.influence(table)))

    def mean_of(self, happened: Floats, without: Floats) -> float:
        """Return the mean of a number that a case of each kind has with the event, and without it."""
        sides = ((happened, self.rate), (without, 1.0 - self.rate))
        return float(sum(np.where(p > 0.0, part, 0.0) @ (self.share * p) for part, p in sides))

    def mean_square(self, influence: Influence) -> float:
        """Return the mean of the squared influence."""
        with np.errstate(over="ignore"):  # Events with a forecast of almost 0.
            return self.mean_of(influence.event**2, influence.non_event**2)

    def systematic(self, most: int, size: Floats | None = None) -> AnticipatedCases:
        """Return at most this many kinds: a systematic sample in the order of the probability of the event.

        Half of them are chosen by their share and half by their share times `size`, if it is given, so that rare kinds
        that matter much are not missed. The shares of those chosen allow for it.
        """
        if len(self.share) <= most:
            return self
        chance = self.share
        if size is not None:
            chance = (self.share + self.share * size / (self.share @ size)) / 2.0
        order = np.argsort(self.rate, kind="stable")
        places = (np.arange(most) + 0.5) / most
        kept = order[np.searchsorted(np.cumsum(chance[order]), places).clip(max=len(order) - 1)]
        chosen = {model: p[kept] for model, p in self.forecasts.items()}
        share = self.share[kept] / chance[kept]
        return AnticipatedCases(forecasts=chosen, share=share / share.sum(), rate=self.rate[kept])

    def draw(self, n: int, draws: int, generator: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw the number of events and non-events of each kind in samples of n cases, shape (draws, kinds)."""
        cases = generator.multinomial(n, self.share / self.share.sum(), size=draws)
        events = generator.binomial(cases, np.clip(self.rate, 0.0, 1.0))
        return events, cases - events


def _moved(p: Floats, slope: float, shift: float) -> Floats:
    """Return probabilities with other log-odds; 0 and 1 stay."""
    inside = (p > 0.0) & (p < 1.0)
    moved = p.copy()
    moved[inside] = expit(slope * logit(p[inside]) + shift)
    return moved


def _shift(p: Floats, share: Floats, slope: float, mean: float, **given: float) -> float:
    """Return the shift of log-odds that gives probabilities this mean; `given` is the argument that asks for it."""
    from scipy.optimize import brentq  # Imported here, because it is slow to import.

    def excess(shift: float) -> float:
        return float(share @ _moved(p, slope, shift)) - mean

    if not 0.0 < mean < 1.0 or excess(-WIDEST) > 0.0 or excess(WIDEST) < 0.0:
        (argument, value), least, most = *given.items(), float(share @ (p == 1.0)), float(share @ (p > 0.0))
        law = f"must give a share of events between {least:.4g} and {most:.4g}"
        if np.any((p == 0.0) | (p == 1.0)):
            law += ", because forecasts of 0 and 1 cannot be shifted"
        raise InputValueError(law, argument=argument, offender=f"got {value!r}, a share of {mean:.4g}")
    return float(brentq(excess, -WIDEST, WIDEST, xtol=1e-12))
