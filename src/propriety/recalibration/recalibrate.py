"""`recalibrate`: fit a recalibration map to forecasts and outcomes, and estimate its gain out of sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import checks
from propriety.calibration.decomposition import check_proper, proper_binary_rule
from propriety.checks import check_level, fresh_seed
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.bootstrap import Drawing
from propriety.inference.comparison import compare_of
from propriety.inference.comparison_words import caveats_of_pairs
from propriety.inference.dependence import Estimates, student
from propriety.inference.design_effects import design_effect
from propriety.inference.finding import Finding, Findings
from propriety.inference.measures.of_means import MeanScore
from propriety.inference.verdict import holm, lead, with_verdict
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import Data
from propriety.recalibration.class_rows import ClassRows
from propriety.recalibration.cross_fitting import (
    AnyCrossFit,
    ClassCrossFit,
    CrossFit,
    Fits,
    fitted_maps,
    maps_by_fold,
)
from propriety.recalibration.folds import DEFAULT_FOLDS, ClassFolds, folds_of
from propriety.recalibration.methods import CLASS_METHODS, METHODS
from propriety.recalibration.result import Gain, Recalibration, RecalibrationVerdict
from propriety.result import Floats
from propriety.rules.families import Log
from propriety.rules.rule import BinaryRule, ClassRule, Rule, check_rule
from propriety.tables.cases import Cases
from propriety.tables.labels import Labels
from propriety.tables.reading import refuse_time
from propriety.tables.validation import Forecasts, Missing

LOG = Log()
NONE, FLOORED, AUTO, CHOOSE = "none", "floored", "auto", "choose"
ROUNDING = 1e-12  # Smaller gains, relative to the score, are rounding error.
INDEPENDENT = 'The shrinkage of "auto" takes the cases as independent, so it may be too weak.'
CHOSEN = "It was chosen with the same folds, so its gain is slightly overestimated."


def recalibrate(  # noqa: PLR0913  (the data, their dependence, the methods, and how cases are read)
    y_true: Data,
    forecasts: Forecasts | None = None,
    *,
    outcome: str | None = None,
    method: str = "auto",
    candidates: Sequence[str] = (),
    rule: Rule = LOG,
    folds: object = DEFAULT_FOLDS,
    id: ArrayLike | None = None,  # noqa: A002  (what users call it)
    model: str | None = None,
    cluster: ArrayLike | None = None,
    period: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    seed: int | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    time: None = None,
) -> Recalibration:
    r"""Fit a recalibration map, and estimate its gain on new cases by cross-fitting.

    The map is fitted to all cases. Its gain is the mean loss of the forecasts minus that of the recalibrated forecasts,
    where the cases of each fold are recalibrated by a map fitted to the other folds. Its interval is that of a paired
    comparison (`compare`), widened to allow for the variation of the maps between folds.

    Parameters
    ----------
    y_true, forecasts, outcome, sample_weight, pos_label, labels, missing, time
        The cases, with the forecasts of one model; see `propriety.cases`. A ledger replaces all data.
    method : str
        "auto", a monotone spline in log-odds, shrunk if the evidence of miscalibration is weak; "intercept", "slope",
        "logistic", "beta", "spline", "venn-abers" or "isotonic"; "none" or "floored" (kept away from 0 and 1); or
        "choose", the simplest within half a standard error of the best. For classes also "temperature", "vector",
        "matrix" (all three, shrunk, in "auto"), and "one-vs-rest auto", "one-vs-rest logistic", "one-vs-rest beta",
        "one-vs-rest isotonic".
    candidates : sequence of str
        Further methods to evaluate; with ``method="choose"``, those to choose from, by default all.
    rule : Rule
        The proper rule by which gains are measured and methods chosen, such as ``BoundedLog(low=0.05, high=0.2)``.
    folds : int, array-like of shape (n,), or str
        Number of folds; or the fold of each case, a column of the frame, or a key of the cases or the ledger.
    id : array-like of shape (n,), or str with a frame, optional
        Identifier whose hash determines the fold; for lazy frames, a column of whole numbers, without which folds are
        random.
    model : str, optional
        The model, if a ledger has several.
    cluster, period : array-like of shape (n,), or str with a frame, optional
        Clusters are kept in one fold, periods split into contiguous blocks; intervals allow for the correlation.
    level, seed : float, and int, optional
        Level of the intervals, and seed of the folds; without it, a new one is drawn and stored in the result.

    Returns
    -------
    Recalibration
        The map, which can be called like a function, and a row for each candidate.

    Notes
    -----
    The interval is for the maps of the folds. Formulas, limits and simulations: `docs/reference/methods.md`. For
    intervals of cross-validated scores if maps vary little: Bayle, Bayle, Janson & Mackey (2020), arXiv:2007.12671.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(1)
    >>> x = generator.normal(size=4000)
    >>> y = generator.random(4000) < 1 / (1 + np.exp(-x))
    >>> fix = recalibrate(y, 1 / (1 + np.exp(-2 * x)), seed=1)
    >>> print(fix)
    Recalibration lowers the log score from 0.655 to 0.600: a gain of 0.0543, 8.3% (95% CI 0.0426 to 0.0661);
    out of sample, 10 random folds.
    The map (auto): logit q = g(logit p) with slopes 0.4655, 0.4936, 0.5169, 0.5507 from p = 0.0358 to 0.965, 98.7% of
    the way from the forecasts to the curve that fits best.
    >>> fix([0.1, 0.5, 0.9]).round(2)
    array([0.24, 0.48, 0.74])
    """
    check_rule(rule)
    check_level(level)
    refuse_time(time)
    drawn = fresh_seed(seed)
    options: dict[str, Any] = {"outcome": outcome, "cluster": cluster, "period": period, "sample_weight": sample_weight}
    options |= {"pos_label": pos_label, "labels": labels, "missing": missing}
    parts = folds_of(y_true, forecasts, folds=folds, id=id, model=model, seed=drawn, **options)
    asked: Any = proper_rule(rule, parts.cases.classes if isinstance(parts, ClassFolds) else None)
    known = shrunk_as_dependent(CLASS_METHODS if isinstance(parts, ClassFolds) else METHODS, parts.cases)
    cross_fit = ClassCrossFit if isinstance(parts, ClassFolds) else CrossFit
    trial = tried(parts, cross_fit, known, candidates_of(method, candidates, known), asked, level)
    if method in trial.failed:
        raise trial.failed[method]
    chosen = simplest_of(trial.ledger, asked, trial.gains, level) if method == CHOOSE else method
    notes = [CHOSEN] if method == CHOOSE and chosen != NONE else []
    if AUTO in trial.maps and parts.cases is None and trial.ledger.dependence is not None:
        notes.append(INDEPENDENT)
    labels_of_classes = parts.cases.labels if isinstance(parts, ClassFolds) else None
    if isinstance(parts, ClassFolds):
        trial = replace(trial, maps={name: own.with_labels(labels_of_classes) for name, own in trial.maps.items()})
    return trial.result(
        chosen,
        is_adjusted=method == CHOOSE,
        notes=notes,
        rule=asked,
        folds=parts.words,
        level=level,
        n=len(parts.whole) if isinstance(parts.whole, ClassRows) else parts.whole.n,
        labels=labels_of_classes,
        dropped=parts.dropped,
        seed=drawn,
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trial:
    """Methods that were tried: the map of each, their cross-fitted forecasts as models of a ledger, and their gains."""

    maps: Mapping[str, Any]
    fitted: AnyCrossFit
    ledger: Ledger
    gains: Gains
    failed: Mapping[str, InputValueError]

    def result(self, chosen: str, *, is_adjusted: bool, notes: Sequence[str], **facts: Any) -> Recalibration:
        """Return the result with the map of one method."""
        failures = (f"{name} could not be fitted: {why}" for name, why in self.failed.items())
        return Recalibration(
            **self.gains.columns(),
            method=chosen,
            map=self.maps[chosen],
            maps=self.maps,
            verdict=self.gains.verdict(chosen, adjusted=is_adjusted),
            note=" ".join(filter(None, [self.gains.note, *notes, *failures])),
            table_before=self.fitted.table(NONE),
            table_after=self.fitted.table(chosen),
            **facts,
        )


def tried(
    parts: Any, cross_fit: Callable[..., AnyCrossFit], known: Fits, names: Sequence[str], rule: Any, level: float
) -> Trial:
    """Fit methods to all cases and to those outside each fold, and estimate their gains.

    If a forecast is 0 or 1, forecasts that are kept away from these are tried, too.
    """
    chosen = {name: known[name] for name in known if name in names or (parts.has_certain and name == FLOORED)}
    maps, failed = fitted_maps(parts.whole, chosen)
    by_fold, failed_in_folds = maps_by_fold(parts, {name: known[name] for name in maps})
    fitted = cross_fit(parts, by_fold)
    ledger = fitted.ledger(rule)
    return Trial(
        maps={name: own for name, own in maps.items() if name in by_fold},
        fitted=fitted,
        ledger=ledger,
        gains=gains_of(fitted, ledger, rule, level),
        failed=failed | failed_in_folds,
    )


def shrunk_as_dependent(known: Fits, cases: Cases | None) -> Fits:
    """Return the methods, of which the default takes correlated cases as fewer."""
    if cases is None or cases.units is None:
        return known
    shrunk: Callable[..., Any] = known[AUTO]
    return {**known, AUTO: partial(shrunk, design_effect=design_effect(cases))}


def proper_rule(rule: Rule, classes: int | None) -> Rule:
    """Return the rule, which must be proper and of the same kind as the forecasts, binary or for so many classes."""
    if classes is None:
        proper_binary_rule(rule)
        if isinstance(rule, BinaryRule):
            return rule
        law = f"{rule!r} is a rule for classes; the forecasts are those of one event"
        raise InputValueError(law, hint="use a rule for one event, such as Brier() or Log().")
    check_proper(rule, classes)
    if isinstance(rule, ClassRule):
        return rule
    law = f"{rule!r} is a rule for binary forecasts; the forecasts are rows of {classes} classes"
    raise InputValueError(law, hint="use a rule for classes, such as Brier() or Log().")


def candidates_of(method: object, candidates: object, methods: Fits) -> list[str]:
    """Return the methods to evaluate, the simplest first; the unchanged forecasts are always one of them."""
    if isinstance(candidates, str) or not isinstance(candidates, Sequence):
        raise InputTypeError("must be a list of methods", argument="candidates", hint='such as ["logistic", "beta"].')
    checks.choice(method, "method", [*methods, CHOOSE])
    for one in candidates:
        checks.choice(one, "candidates", [*methods])
    asked = [*candidates, method]
    return [name for name in methods if name == NONE or name in asked or (method == CHOOSE and not candidates)]


NEAR = 0.5  # A simpler method is chosen if it is within this many standard errors of the best.
DRAWING = Drawing()  # Comparisons of mean losses need no resamples.
UNCHANGED: Gain = "unchanged"


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
    fitted: AnyCrossFit,
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
    compared = compare_of(ledger, measure, reference=reference, level=level, drawing=DRAWING).differences
    noise = np.array([fitted.noise(rule, method, reference) for method in compared.model.tolist()])
    wide = _widened(compared, noise, level)
    place = {model: row for row, model in enumerate(compared.model.tolist())}
    rows = [place.get(name, len(place)) for name in names]

    def column(of_pairs: Floats, of_reference: float) -> Floats:
        return np.append(of_pairs, of_reference)[rows]

    def outcomes(p_value: Floats) -> tuple[Gain, ...]:
        columns = zip(compared, wide.low.tolist(), wide.high.tolist(), p_value.tolist(), strict=True)
        found = [*(_outcome(replace(row, low=low, high=high, p_adjusted=p)) for row, low, high, p in columns)]
        return _with_infinite_losses(([*found, UNCHANGED][row] for row in rows), score, score[names.index("none")])

    return Gains(
        candidate=np.array(names),
        score=score,
        gain=0.0 - column(compared.value, 0.0),
        low=0.0 - column(wide.high, 0.0),
        high=0.0 - column(wide.low, 0.0),
        standard_error=column(wide.standard_error, 0.0),
        p_value=column(wide.p_value, 1.0),
        tested=outcomes(wide.p_value),
        adjusted=outcomes(holm(wide.p_value)),
        reference=reference,
        note=" ".join(caveats_of_pairs(compared, said=("same", "infinite", "adjusted"))),
    )


def _outcome(row: Finding) -> Gain:
    """Return what the difference between recalibrated and original forecasts shows."""
    row = with_verdict(row)
    if row.note("same"):
        return UNCHANGED
    if row.note("infinite"):
        return "infinite"
    if row.verdict == "not tested":
        return "not tested"
    return "gain" if lead(row) > 0 else "loss" if lead(row) < 0 else "not shown"


def _widened(compared: Findings, noise: Floats, level: float) -> Estimates:
    """Return standard errors, limits and p-values of differences, with the noise of the maps added to the variance."""
    error, df = compared.error, np.array(compared.extra["df"], dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(error > 0.0, np.sqrt(1.0 + noise / error**2), 1.0)
        low, high = (compared.value + factor * (limit - compared.value) for limit in (compared.low, compared.high))
    found = student(compared.value, factor * error, df, level)
    tested = (error > 0.0) & ~np.isnan(compared.p)
    return Estimates(factor * error, df, low, high, np.where(tested, found.p_value, compared.p))


def simplest_of(ledger: Ledger, rule: Any, gains: Gains, level: float) -> str:
    """Return the first method whose score is within half a standard error of the best; for `ledger`, see `gains_of`."""
    names: list[str] = gains.candidate.tolist()
    best = names[int(np.argmin(gains.score))]
    if len(names) == 1 or _why_untested(ledger):
        return best
    compared = compare_of(ledger, MeanScore(rule), reference=best, level=level, drawing=DRAWING).differences
    columns = (column.tolist() for column in (compared.model, compared.value, compared.error))
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
