"""Gains of candidates over the original forecasts, by paired comparison of cross-fitted losses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.inference.bootstrap import Drawing
from propriety.inference.comparison import Comparison, compare_of
from propriety.inference.dependence import Estimates, student
from propriety.inference.measures import MeanScore
from propriety.inference.verdicts import holm, verdicts_of
from propriety.ledger.ledger import Ledger
from propriety.recalibration.class_cross_fitting import ClassCrossFit
from propriety.recalibration.cross_fitting import CrossFit
from propriety.recalibration.result import Gain, RecalibrationVerdict
from propriety.recalibration.segment_folds import SegmentCrossFit
from propriety.result import Floats

NEAR = 0.5  # A simpler method is chosen if it is within this many standard errors of the best.
DRAWING = Drawing()  # Comparisons of mean losses need no resamples.
OUTCOMES: dict[str, Gain] = {
    "better": "gain",
    "worse": "loss",
    "not distinguishable": "not shown",
    "same": "unchanged",
    "infinite": "infinite",
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Gains:
    """Cross-fitted scores of candidates, and their gains; see `propriety.recalibration.result.Recalibration`.

    `tested` classifies each gain by its own p-value, and `adjusted` by the p-value adjusted for all candidates.
    """

    candidate: NDArray[np.str_]
    score: Floats
    gain: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    p_value: Floats
    tested: tuple[Gain, ...]
    adjusted: tuple[Gain, ...]
    reference: str
    note: str

    def columns(self) -> dict[str, Any]:
        """Return the columns, one row for each candidate."""
        names = ("candidate", "score", "gain", "low", "high", "standard_error", "p_value")
        return {name: getattr(self, name) for name in names}

    def verdict(self, candidate: str, *, adjusted: bool) -> RecalibrationVerdict:
        """Return the verdict on a candidate."""
        place, before = (self.candidate.tolist().index(name) for name in (candidate, self.reference))
        return RecalibrationVerdict(
            outcome=(self.adjusted if adjusted else self.tested)[place],
            gain=float(self.gain[place]),
            low=float(self.low[place]),
            high=float(self.high[place]),
            before=float(self.score[before]),
            after=float(self.score[place]),
            reference=self.reference,
        )


def gains_of(
    fitted: CrossFit | ClassCrossFit | SegmentCrossFit,
    ledger: Ledger,
    rule: Any,
    level: float,
    *,
    reference: str | None = None,
) -> Gains:
    """Return the gains of all methods over a reference; `ledger` is `fitted.ledger(rule)`.

    The default reference is "none", the original forecasts, or "floored" if their score is infinite.
    """
    names, measure = list(fitted.maps), MeanScore(rule)
    score = fitted.scores(ledger, rule)
    if reference is None:
        reference = "floored" if "floored" in names and math.isinf(score[names.index("none")]) else "none"
    why = _why_untested(ledger)
    if len(names) == 1 or why:
        return _untested(names, score, reference, why)
    compared = compare_of(ledger, measure, reference=reference, level=level, drawing=DRAWING)
    noise = np.array([fitted.noise(rule, method, reference) for method in compared.model.tolist()])
    wide = _widened(compared, noise, level)
    place = {model: row for row, model in enumerate(compared.model.tolist())}
    rows = [place.get(name, len(place)) for name in names]

    def column(of_pairs: Floats, of_reference: float) -> Floats:
        return np.append(of_pairs, of_reference)[rows]

    def outcomes(p_value: Floats) -> tuple[Gain, ...]:
        verdicts = verdicts_of(compared.difference, wide.standard_error, p_value, compared.tested)
        known = (OUTCOMES.get([*verdicts.tolist(), "same"][row], "not tested") for row in rows)
        return _with_infinite_losses(known, score, score[names.index("none")])

    return Gains(
        candidate=np.array(names),
        score=score,
        gain=0.0 - column(compared.difference, 0.0),
        low=0.0 - column(wide.high, 0.0),
        high=0.0 - column(wide.low, 0.0),
        standard_error=column(wide.standard_error, 0.0),
        p_value=column(wide.p_value, 1.0),
        tested=outcomes(wide.p_value),
        adjusted=outcomes(holm(wide.p_value)),
        reference=reference,
        note=compared.note,
    )


def _widened(compared: Comparison, noise: Floats, level: float) -> Estimates:
    """Return standard errors, limits and p-values of differences, with the noise of the maps added to the variance."""
    error = compared.standard_error
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(error > 0.0, np.sqrt(1.0 + noise / error**2), 1.0)
        low, high = (
            compared.difference + factor * (limit - compared.difference) for limit in (compared.low, compared.high)
        )
    found = student(compared.difference, factor * error, compared.df, level)
    tested = (error > 0.0) & ~np.isnan(compared.p_value)
    return Estimates(factor * error, compared.df, low, high, np.where(tested, found.p_value, compared.p_value))


def simplest_of(ledger: Ledger, rule: Any, gains: Gains, level: float) -> str:
    """Return the first method whose score is within half a standard error of the best; for `ledger`, see `gains_of`."""
    names: list[str] = gains.candidate.tolist()
    best = names[int(np.argmin(gains.score))]
    if len(names) == 1 or _why_untested(ledger):
        return best
    compared = compare_of(ledger, MeanScore(rule), reference=best, level=level, drawing=DRAWING)
    columns = (column.tolist() for column in (compared.model, compared.difference, compared.standard_error))
    near = {model for model, behind, error in zip(*columns, strict=True) if behind <= NEAR * error or behind == 0.0}
    return next(name for name in names if name in near or name == best)


def _why_untested(ledger: Ledger) -> str:
    """Return why there are no standard errors if correlated cases are not available."""
    if ledger.dependence is None or ledger.source is not None:
        return ""
    return f"Gains have no intervals; these need {ledger.where_cases_are}."


def _with_infinite_losses(outcomes: Iterable[Gain], score: Floats, before: float) -> tuple[Gain, ...]:
    """Call it a loss if a map makes a finite score infinite; no test is needed."""
    harmful = (np.isinf(score) & np.isfinite(before)).tolist()
    return tuple("loss" if harms else outcome for outcome, harms in zip(outcomes, harmful, strict=True))


def _untested(names: list[str], score: Floats, reference: str, why: str) -> Gains:
    """Return the gains without intervals or tests."""
    place = names.index(reference)
    own = np.arange(len(names)) == place
    with np.errstate(invalid="ignore"):  # Scores may be infinite.
        gain = np.where(own, 0.0, score[place] - score)
    unknown = np.where(own, 0.0, math.nan)
    untested: list[Gain] = ["unchanged" if name == reference else "not tested" for name in names]
    outcomes = _with_infinite_losses(untested, score, score[names.index("none")])
    return Gains(
        candidate=np.array(names),
        score=score,
        gain=gain,
        low=unknown,
        high=unknown,
        standard_error=unknown,
        p_value=np.where(own, 1.0, math.nan),
        tested=outcomes,
        adjusted=outcomes,
        reference=reference,
        note=why,
    )
