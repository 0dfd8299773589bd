"""`recalibrate`: fit a recalibration map to forecasts and outcomes, and estimate its gain out of sample."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propriety import checks
from propriety.calibration.decomposition import check_proper, proper_binary_rule
from propriety.checks import check_level
from propriety.decisions.recommendations import is_rare
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.design_effects import design_effect
from propriety.ledger.sources import Data
from propriety.recalibration.cross_fitting import NONE, Fits, Folds
from propriety.recalibration.folds import DEFAULT_FOLDS, folds_of
from propriety.recalibration.gains import Trial, near_note, tried
from propriety.recalibration.methods import CLASS_METHODS, METHODS
from propriety.recalibration.result import Recalibration
from propriety.rules.families import BRIER, Log
from propriety.rules.rule import BinaryRule, ClassRule, Rule, check_rule
from propriety.tables.cases import Cases
from propriety.tables.labels import Labels
from propriety.tables.reading import refuse_time
from propriety.tables.validation import Forecasts, Missing

LOG = Log()
AUTO, CHOOSE = "auto", "choose"
INDEPENDENT = 'The shrinkage of "auto" takes the cases as independent, so it may be too weak.'
CHOSEN = "It was chosen with the same folds, so its gain is slightly overestimated."


def recalibrate(  # noqa: PLR0913  (the data, their dependence, the methods, and how cases are read)
    y_true: Data,
    forecasts: Forecasts | None = None,
    *,
    outcome: str | None = None,
    method: str = "auto",
    candidates: Sequence[str] = (),
    rule: Rule | None = None,
    folds: object = DEFAULT_FOLDS,
    id: ArrayLike | None = None,  # noqa: A002  (what users call it)
    model: str | None = None,
    cluster: ArrayLike | None = None,
    period: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
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
    rule : Rule, optional
        The proper rule by which gains are measured and methods chosen, such as ``BoundedBrier(low=0.05, high=0.2)``. By
        default that of `evaluate`: the Brier score, or the log score for a rare event (below 10%), and for classes.
    folds : int, array-like of shape (n,), or str
        Number of random folds; or the fold of each case, a column of the frame, or a key of the cases or the ledger.
    id : array-like of shape (n,), or str with a frame, optional
        Identifier whose hash determines the fold; for lazy frames, a column of whole numbers.
    model : str, optional
        The model, if a ledger has several.
    cluster, period : array-like of shape (n,), or str with a frame, optional
        Clusters are kept in one fold, periods split into contiguous blocks; intervals allow for the correlation.
    level : float
        Level of the intervals.

    Returns
    -------
    Recalibration
        The map, which can be called like a function, and a row for each candidate.

    Notes
    -----
    The answer depends neither on a seed nor on the order of the rows. Random folds are drawn, always the same for the
    sorted cases, until their choice adds less than a tenth of its error to each gain: once if the maps of the folds
    hardly differ, as with many cases, else 4 to 20 times. Gains are means over all draws, and the rest is part of their
    error. A draw fits each method once per fold; it takes about 35 ms for the default in small samples.

    The interval is for the maps of the folds. If the gain rests on forecasts near 0 or 1 of which hardly any was wrong,
    `note` says so. Formulas and simulations: `docs/reference/methods.md`.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(1)
    >>> x = generator.normal(size=4000)
    >>> y = generator.random(4000) < 1 / (1 + np.exp(-x))
    >>> fix = recalibrate(y, 1 / (1 + np.exp(-2 * x)))
    >>> print(fix)
    Recalibration lowers the Brier score from 0.219 to 0.207: a gain of 0.0125, 5.7% (95% CI 0.00939 to 0.0156); out of
    sample, 10 random folds, drawn 4 times.
    The map (auto): logit q = g(logit p) with slopes 0.4655, 0.4936, 0.5169, 0.5507 from p = 0.0358 to 0.965, 98.7% of
    the way from the forecasts to the curve that fits best.
    >>> fix([0.1, 0.5, 0.9]).round(2)
    array([0.24, 0.48, 0.74])
    """
    check_level(level)
    refuse_time(time)
    options: dict[str, Any] = {"outcome": outcome, "cluster": cluster, "period": period, "sample_weight": sample_weight}
    options |= {"pos_label": pos_label, "labels": labels, "missing": missing}
    parts = folds_of(y_true, forecasts, folds=folds, id=id, model=model, **options)
    asked = rule_of(rule, parts)
    known = shrunk_as_dependent(METHODS if parts.classes is None else CLASS_METHODS, parts.cases)
    trial = tried(parts, known, candidates_of(method, candidates, known), asked, level)
    if method in trial.failed:
        raise trial.failed[method]
    chosen = simplest_of(trial) if method == CHOOSE else method
    notes = [CHOSEN] if method == CHOOSE and chosen != NONE else []
    if AUTO in trial.maps and parts.cases is None and parts.dependence is not None:
        notes.append(INDEPENDENT)
    return result_of(trial, chosen, is_adjusted=method == CHOOSE, notes=notes)


def rule_of(rule: Rule | None, parts: Folds) -> Rule:
    """Return the rule, by default the one that ranks models in `evaluate`; for classes, the log score."""
    if rule is not None:
        check_rule(rule)
        return proper_rule(rule, parts.classes)
    return LOG if parts.classes is not None or is_rare(parts.original.event_rate) else BRIER


def result_of(
    trial: Trial, chosen: str, *, is_adjusted: bool, notes: Sequence[str], maps: Mapping[str, Any] | None = None
) -> Recalibration:
    """Return the result with one of the maps."""
    first = trial.splits[0].fitted
    parts, gains, verdict = first.folds, trial.gains(), trial.verdict(chosen, adjusted=is_adjusted)
    labels = None if parts.cases is None else parts.cases.labels
    maps = trial.maps if maps is None else maps
    if labels is not None:
        maps = {name: own.with_labels(labels) for name, own in maps.items()}
    before = parts.original if labels is None else first.table(NONE)
    failures = (f"{name} could not be fitted: {why}" for name, why in trial.failed.items())
    near = near_note(before, maps[chosen], trial.rule, verdict)
    return Recalibration(
        candidate=np.array(trial.names),
        **{name: column for name, column in gains._asdict().items() if name != "paired"},
        method=chosen,
        map=maps[chosen],
        maps=maps,
        verdict=verdict,
        rule=trial.rule,
        level=trial.level,
        note=" ".join(filter(None, [trial.note, near, *notes, *failures])),
        n=len(parts.whole) if labels is not None else parts.original.n,
        dropped=parts.dropped,
        labels=labels,
        table_before=before,
        table_after=first.table(chosen),
        folds=trial.words,
        pair=None if labels is not None else parts.source.pair,
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


def simplest_of(trial: Trial) -> str:
    """Return the first method whose score is within half a standard error of the best."""
    names, score = trial.names, trial.gains().score
    best = names[int(np.argmin(score))]
    over = trial.gains(best)
    near = (-over.gain <= NEAR * over.paired) | (over.gain == 0.0)
    return next(name for name, is_near in zip(names, near.tolist(), strict=True) if is_near or name == best)
