"""Gains of recalibration out of sample: scores of cross-fitted forecasts over several splits into folds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from propriety.errors import InputValueError
from propriety.inference.bootstrap import Drawing
from propriety.inference.comparison_methods import method_for
from propriety.inference.dependence import student
from propriety.inference.estimates import few, is_worth_too_little
from propriety.inference.finding_words import note_words
from propriety.inference.measures.of_means import MeanScore
from propriety.inference.paired_tests import Paired, paired_by_influence, paired_by_moments
from propriety.inference.verdict import holm
from propriety.ledger.ledger import Ledger
from propriety.number_words import capitalized
from propriety.recalibration.cross_fitting import NONE, CrossFit, Fits, Folds, fitted_maps, maps_by_fold
from propriety.recalibration.maps import RecalibrationMap
from propriety.recalibration.result import Gain, RecalibrationVerdict
from propriety.recalibration.segment_map import SegmentMap
from propriety.result import Floats
from propriety.tables.forecast_table import ForecastTable

FLOORED = "floored"
DRAWING = Drawing()  # Comparisons of mean losses need no resamples.
ROUNDING = 1e-12  # Smaller gains, relative to the score, are rounding error.
# Folds are drawn again until the choice of folds adds less than this share of the error of a gain to it.
STABLE, FEWEST_SPLITS, MOST_SPLITS = 0.1, 4, 20
SAME = 1e-9  # A relative change of a probability, or of its distance to 1, that is rounding error.
NEAR = 0.1  # Wrong outcomes that are expected of forecasts near 0 or 1 if all cases had them.
NOT_EXCLUDED = 3  # Wrong outcomes that a sample without any does not exclude at 95%.


class Gains(NamedTuple):
    """Scores of the candidates out of sample, and their gains over one of them, as in `Recalibration`.

    `paired` is the error of the gain without what maps and folds add to it.
    """

    score: Floats
    gain: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    p_value: Floats
    paired: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Methods that were cross-fitted on one draw of folds: their scores, and the errors of the gains."""

    fitted: CrossFit
    scores: Floats
    paired: Paired | None
    rule: Any
    _noise: dict[int, Floats] = field(default_factory=dict)

    def noise(self, at: int) -> Floats:
        """Return the variance that the noise of the maps adds to the gains over a method."""
        if at not in self._noise:
            names = list(self.fitted.maps)
            found = [0.0 if name == names[at] else self.fitted.noise(self.rule, name, names[at]) for name in names]
            self._noise[at] = np.array(found)
        return self._noise[at]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trial:
    """Methods that were tried: the map of each, fitted to all cases, and their gains over one or more splits.

    Parameters
    ----------
    maps : mapping of str to map
        Fitted to all cases.
    splits : tuple of Split
        One for each time that folds were drawn.
    fixed : Paired or None
        The scores of `maps` on the cases that they were fitted to, for their errors.
    before : float
        The score of the cases.
    """

    maps: Mapping[str, Any]
    splits: tuple[Split, ...]
    fixed: Paired | None
    failed: Mapping[str, InputValueError]
    rule: Any
    level: float
    before: float
    note: str

    @property
    def names(self) -> list[str]:
        """The methods."""
        return list(self.splits[0].fitted.maps)

    @property
    def scores(self) -> Floats:
        """The score of each method in each split."""
        return np.stack([one.scores for one in self.splits])

    @property
    def reference(self) -> str:
        """What gains are measured from: the forecasts, or if their score is infinite, the forecasts with a floor."""
        return FLOORED if FLOORED in self.names and math.isinf(self.before) else NONE

    @property
    def words(self) -> str:
        """How the folds were made."""
        words, number = self.splits[0].fitted.folds.words, len(self.splits)
        return words if number == 1 else f"{words}, drawn {number} times"

    def gains(self, reference: str | None = None) -> Gains:
        """Return the gains over a method, by default the reference."""
        names, scores = self.names, self.scores
        at = names.index(self.reference if reference is None else reference)
        with np.errstate(invalid="ignore"):  # Scores may be infinite.
            found = _gains(self, scores, at)
            score = np.where(np.arange(len(names)) == names.index(NONE), self.before, scores.mean(axis=0))
            finite = score[at] - found.gain
        return found._replace(score=np.where(np.isfinite(finite), finite, score))

    def verdict(self, name: str, *, reference: str | None = None, adjusted: bool = False) -> RecalibrationVerdict:
        """Return the verdict on a method; `adjusted` for the number of methods, of which it was chosen."""
        reference = self.reference if reference is None else reference
        found, place, before = self.gains(reference), self.names.index(name), self.names.index(reference)
        gain, low, high = (float(column[place]) for column in (found.gain, found.low, found.high))
        after, outcome = float(found.score[place]), self._outcome(place, before, found, adjusted=adjusted)
        known: dict[str, Any] = {"after": after, "reference": reference}
        if name == reference == FLOORED:  # From infinity to a finite score, whatever the folds.
            known |= {"reference": NONE}
            return RecalibrationVerdict("gain", gain=math.inf, low=math.inf, high=math.inf, before=math.inf, **known)
        return RecalibrationVerdict(outcome, gain=gain, low=low, high=high, before=float(found.score[before]), **known)

    def _outcome(self, place: int, before: int, found: Gains, *, adjusted: bool) -> Gain:
        """Return what is said of a gain. A map that makes a finite score infinite is a loss; no test is needed."""
        p_values = found.p_value
        if adjusted:
            p_values = holm(np.where(np.arange(len(p_values)) == before, math.nan, p_values))
        gain, p_value = float(found.gain[place]), float(p_values[place])
        if math.isinf(found.score[place]):
            return "loss" if math.isfinite(self.before) else "infinite"
        if math.isnan(gain):
            return "not tested"
        if self.moves_nothing(self.names[place]):
            return "unchanged"
        if math.isnan(p_value):
            return "not tested"
        if p_value > 1.0 - self.level or found.low[place] <= 0.0 <= found.high[place]:
            return "not shown"
        return "gain" if gain > 0.0 else "loss"

    def moves_nothing(self, name: str) -> bool:
        """Whether the map leaves the forecasts of all cases as they are, but for rounding."""
        return self.splits[0].fitted.moves_nothing(self.maps[name], SAME)


def tried(parts: Folds, known: Fits, names: Sequence[str], rule: Any, level: float) -> Trial:
    """Fit methods to all cases and to those outside each fold, and estimate their gains.

    If a forecast is 0 or 1, forecasts that are kept away from these are tried, too. Folds that are drawn at random are
    drawn again until their choice adds less than a tenth of the error of each gain to it: after the first time if the
    maps of the folds hardly differ, else at least 4 and at most 20 times.
    """
    chosen = {name: known[name] for name in known if name in names or (parts.has_certain and name == FLOORED)}
    maps, failed = fitted_maps(parts.whole, chosen)
    by_fold, failed_in_folds = maps_by_fold(parts, {name: known[name] for name in maps})
    maps = {name: own for name, own in maps.items() if name in by_fold}
    fixed = CrossFit(parts, {name: (own,) * len(parts) for name, own in maps.items()})
    fitted = CrossFit(parts, by_fold)
    ledger = fitted.ledger(rule)
    first = _split(fitted, ledger, rule, level)
    trial = Trial(
        maps=maps,
        splits=(first,),
        fixed=None if first.paired is None else _paired(fixed.ledger(rule), rule, level),
        failed=failed | failed_in_folds,
        rule=rule,
        level=level,
        before=parts.source.score(rule),
        note=_note(ledger, first.paired),
    )
    while parts.again is not None and not _is_stable(trial) and len(trial.splits) < MOST_SPLITS:
        drawn = parts.again(len(trial.splits))
        again, lost = maps_by_fold(drawn, {name: known[name] for name in trial.names})
        if lost:
            break  # A method that cannot be fitted to some folds is judged by the others.
        fitted = CrossFit(drawn, again)
        trial = replace(trial, splits=(*trial.splits, _split(fitted, fitted.ledger(rule), rule, level)))
    return trial


def _split(fitted: CrossFit, ledger: Ledger, rule: Any, level: float) -> Split:
    """Score the methods of a cross-fit, which are the models of a ledger, and compare them."""
    return Split(fitted, fitted.scores(ledger, rule), _paired(ledger, rule, level), rule)


def _is_stable(trial: Trial) -> bool:
    """Whether the choice of folds adds little to the error of each gain."""
    scores, at, number = trial.scores, trial.names.index(trial.reference), len(trial.splits)
    with np.errstate(invalid="ignore"):
        found = _gains(trial, scores, at)
        # Before they have been drawn again, the spread of the maps of the folds says how much is to be expected.
        added = np.sqrt(trial.splits[0].noise(at)) if number == 1 else _error_of_folds(scores, at)
    judged = np.isfinite(found.gain) & np.isfinite(found.standard_error) & (np.arange(len(found.gain)) != at)
    if 1 < number < FEWEST_SPLITS:
        return not judged.any()
    if number > 1:  # Of a map that moves no forecast, no more has to be known.
        judged &= [not trial.moves_nothing(name) for name in trial.names]
    return bool((added[judged] <= STABLE * found.standard_error[judged]).all())


def _gains(trial: Trial, scores: Floats, at: int) -> Gains:
    """Return the gains over a method, averaged over all splits, with what maps and folds add to their errors."""
    gain = np.mean(scores[:, [at]] - scores, axis=0)
    noise = ROUNDING * float(np.abs(scores[:, at]).mean())
    gain = np.where((np.abs(gain) <= noise) & np.isfinite(gain), 0.0, gain)
    known = [one.paired for one in trial.splits if one.paired is not None]
    own = np.arange(len(gain)) == at
    if not known or len(gain) == 1:
        unknown = np.where(own, 0.0, math.nan)
        p_value = np.where(own, 1.0, math.nan)
        return Gains(scores[0], np.where(own, 0.0, gain), unknown, unknown, unknown, p_value, unknown)
    found = np.array([_against(one, len(gain), at) for one in known])  # By split: gain, error, limits, df.
    paired = np.sqrt(np.mean(found[:, 1] ** 2, axis=0))
    below, above = np.mean(found[:, 0] - found[:, 2], axis=0), np.mean(found[:, 3] - found[:, 0], axis=0)
    df = found[:, 4].min(axis=0)
    least = _against(trial.fixed, len(gain), at)[1] if trial.fixed is not None else np.zeros(len(gain))
    of_maps = np.mean([one.noise(at) for one in trial.splits], axis=0)
    error = np.sqrt(paired**2 + of_maps + _error_of_folds(scores, at) ** 2)
    # Maps of folds that hardly move a forecast show no spread, but the map of all cases may move some.
    error = np.where(error < least / 2.0, least, error)
    half = student(gain, error, df, trial.level)
    wider = np.where(paired > 0.0, error / np.where(paired > 0.0, paired, 1.0), np.nan)
    low = np.where(paired > 0.0, gain - wider * below, half.low)
    high = np.where(paired > 0.0, gain + wider * above, half.high)
    # An error that is rounding error leaves nothing to test: a gain of 0 is exact, and another is not known to be one.
    none = (error <= noise) & np.isfinite(error)
    exact, sure = none & (gain == 0.0), np.where(none, math.nan, 1.0)
    low, high = (np.where(own | exact, 0.0, limit * sure) for limit in (low, high))
    return Gains(
        score=scores[0],
        gain=np.where(own, 0.0, gain),
        low=low,
        high=high,
        standard_error=np.where(own | none, 0.0, error),
        p_value=np.where(own | exact, 1.0, half.p_value * sure),
        paired=np.where(own, 0.0, paired),
    )


def _error_of_folds(scores: Floats, at: int) -> Floats:
    """Return the error of mean gains that the choice of folds adds; 0 if they were drawn once."""
    if len(scores) == 1:
        return np.zeros(scores.shape[1])
    found: Floats = np.std(scores[:, [at]] - scores, axis=0, ddof=1) / math.sqrt(len(scores))
    return np.where(np.isnan(found), 0.0, found)  # Infinite losses.


def _against(paired: Paired, models: int, at: int) -> Floats:
    """Return the gain of each method over one of them, its error and limits, and the degrees of freedom."""
    columns = np.zeros((5, models))
    columns[4] = np.inf
    for place, (one, other) in enumerate(itertools.combinations(range(models), 2), models):
        if at not in (one, other):
            continue
        error, df, low, high, _ = (float(column[place]) for column in paired.found)
        value = float(paired.values[place])
        row = (value, error, low, high, df) if at == one else (-value, error, -high, -low, df)
        columns[:, other if at == one else one] = row
    return columns


def _paired(ledger: Ledger, rule: Any, level: float) -> Paired | None:
    """Compare the methods, which are the models of a ledger; None if errors need cases that are not there."""
    if _why_untested(ledger) or len(ledger.models) == 1 or is_worth_too_little(ledger):
        return None
    measure = MeanScore(rule)
    if not ledger.uses_moments:
        return paired_by_influence(ledger, measure, level, imagine=True)
    method = method_for("auto", ledger, measure)
    return paired_by_moments(ledger, measure, method, None, level, DRAWING, imagine=True)


def _note(ledger: Ledger, paired: Paired | None) -> str:
    """Return why there are no intervals, or why they may be too narrow."""
    if paired is None:
        return _why_untested(ledger)
    if paired.units > 1 and np.isnan(paired.found.low[len(ledger.models) :]).all():
        return "All outcomes are the same, so gains are not tested."
    correlated = {"inflation": paired.inflation, "independent_periods": paired.independent_periods}
    notes = few(ledger, fewest=paired.fewest, **correlated)
    return " ".join(f"{capitalized(note_words(note, 'intervals'))}." for note in notes)


def _why_untested(ledger: Ledger) -> str:
    """Return why there are no standard errors if correlated cases are not available."""
    if ledger.dependence is None or ledger.source is not None:
        return ""
    return f"Gains have no intervals; these need {ledger.where_cases_are}."


def near_note(table: ForecastTable, fitted: Any, rule: Any, verdict: RecalibrationVerdict) -> str:
    """Say that a gain rests on forecasts near 0 or 1 of which hardly any was wrong; "" if it does not.

    An interval comes from losses that occurred. It cannot show the gain of a floor under forecasts of 1e-7 of which
    none was wrong, nor that of a map if three such failures, as many as the sample cannot exclude, would exceed it.
    """
    own = fitted.whole if isinstance(fitted, SegmentMap) else fitted
    if not isinstance(own, RecalibrationMap):
        return ""
    p, q = table.forecast, own.recalibrated(table.forecast)
    distance, unlikely = np.minimum(p, 1.0 - p), p < 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        saved = [np.where(unlikely, rule.loss(one, event=True), rule.loss(one, event=False)) for one in (p, q)]
        decide = NOT_EXCLUDED / table.n * np.abs(saved[0] - saved[1]) > (verdict.high - verdict.low) / 2.0
    by_floor = distance < getattr(own, "floor", 0.0)
    near = (distance > 0.0) & (distance < NEAR / table.n) & (by_floor | decide)
    share = table.n / table.weight
    number = round(share * float(table.weights[near].sum()))
    wrong = round(share * float(np.where(unlikely, table.events, table.non_events)[near].sum()))
    if not near.any() or wrong >= NOT_EXCLUDED:
        return ""
    lie = "1 forecast lies" if number == 1 else f"{number:,} forecasts lie"
    were = "none was wrong" if not wrong else f"{wrong} {'was' if wrong == 1 else 'were'} wrong"
    return (
        f"{lie} within {distance[near].max():.1g} of 0 or 1, and {were}: the gain rests on how often such forecasts "
        f"are wrong, which its interval does not show."
    )
