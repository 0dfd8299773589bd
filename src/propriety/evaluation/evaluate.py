"""`evaluate`: evaluate forecasts given as arrays, a data frame or a ledger."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from narwhals.typing import IntoFrame
from numpy.typing import ArrayLike

from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import InputValueError, Wording
from propriety.evaluation.calls import Calls
from propriety.evaluation.estimators import predicted
from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.problem import RARE, Problem
from propriety.inference.dependence import check_times
from propriety.inference.measure_reading import read_measures
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.rules.weights import Thresholds
from propriety.tables.cases import TOLERANCE, Cases
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.labels import Labels
from propriety.tables.validation import Forecasts, Missing

MOST_WRITTEN = 12  # More labels are not written out in calls.


def evaluate(  # noqa: PLR0913  (the data, what the cases share, the decision, and how it is drawn)
    y_true: ArrayLike | IntoFrame | ForecastTable | Mapping[str, ForecastTable] | Ledger,
    forecasts: Forecasts | None = None,
    *,
    X: Any = None,  # noqa: N803  (scikit-learn's name)
    outcome: str | None = None,
    thresholds: Thresholds | None = None,
    measures: Sequence[object] = (),
    ordered: bool = False,
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    cluster: ArrayLike | None = None,
    time: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int | None = None,
    progress: bool = False,
) -> Evaluation:
    """Evaluate models: scores with intervals, calibration, decisions, comparisons and groups.

    The measures are chosen to fit the outcome and the thresholds, as in `propriety.advise`. Each analysis is computed
    when it is first used. Every number can also be computed by itself, with the call shown next to it.

    Parameters
    ----------
    y_true : array-like of shape (n,), data frame, or Ledger
        Outcomes; or, with `outcome`, a frame with one row per case. For a lazy frame, the engine does the work. A
        ledger, or a mapping of models to their ForecastTable, replaces all data.
    forecasts : mapping of str to array-like, or array-like
        The forecasts of each model by name, or those of one model: the probability of the event, of shape (n,), or
        class probabilities, of shape (n, K). With a frame, the names of the columns: a list with one column per model,
        or a mapping of each model to its column, or to its columns of the classes, named like these or in the order of
        `labels`. With `X`, a value may also be a fitted classifier of scikit-learn, whose forecasts are those of its
        `predict_proba`.
    X : array-like or data frame of shape (n, features), optional
        Features of the cases, for fitted classifiers: those of held-out cases, not of the cases used for training.
    outcome : str, optional
        With a frame, the column of the outcomes.
    thresholds : float or (float, float), optional
        For binary outcomes, the probability at which somebody would act: one number, or a range.
    ordered : bool
        Whether the classes are ordered, as in `labels` or in the columns.
    by : mapping of str to array-like, or array-like; with a frame str or list of str; optional
        Keys whose groups are reported, each key separately.
    cluster, time, sample_weight : array-like of shape (n,), or str with a frame, optional
        The cluster (patient, site) or the time within which cases may be correlated, one of the two; weights.
    measures : sequence of measures
        Measures to report in addition to those that fit the outcome and the thresholds.
    pos_label, labels, missing, tolerance
        As in `propriety.mean_score`; ``missing="drop"`` drops a case with a missing value in any model.
    level : float
        Level of all intervals, and of the pointwise bands of reliability curves.
    n_resamples, seed : int, optional
        Number and seed of the draws; without a seed, a new one is drawn and stored in the result.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Evaluation
        `print` shows its card; it has `scores`, `plot()`, `to_frame()`, `to_dict()` and `to_html(path)`.

    Notes
    -----
    Scores, comparisons and tests allow for clusters and times. Intervals of miscalibration and discrimination treat
    neighbouring times as independent, reliability bands all cases. With clusters or times, the ranking map does not
    test margins.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> honest = rng.beta(1, 3, 2000)
    >>> y = rng.random(2000) < honest
    >>> bold = honest**2 / (honest**2 + (1 - honest) ** 2)
    >>> result = evaluate(y, {"honest": honest, "bold": bold}, seed=1)
    >>> result
    Evaluation(models=['honest', 'bold'], kind=binary, n=2000)
    >>> result.best, round(result.to_dict()["honest/brier"], 3)
    ('honest', 0.154)
    """
    check_level(level)
    check_resamples(n_resamples)
    forecasts, labels = predicted(forecasts, X, outcome=outcome, pos_label=pos_label, labels=labels)
    shared = {"sample_weight": sample_weight, "by": by, "cluster": cluster, "time": time}
    ledger = open_ledger(
        y_true,
        forecasts,
        outcome=outcome,
        **shared,  # type: ignore[arg-type]  # by name
        ordered=ordered,
        pos_label=pos_label,
        labels=labels,
        missing=missing,
        tolerance=tolerance,
    )
    problem = _problem(ledger, thresholds, measures)
    _learn(ledger, problem)
    if ledger.dependence == "time":
        check_times(ledger.times(), None)
    many = labels is not None and len(list(labels)) > MOST_WRITTEN
    named = shared | {"labels": labels if many else None}
    calls = Calls(
        shared=tuple(name for name, value in named.items() if value is not None),
        reading=_reading(pos_label, None if many else labels, tolerance),
        is_ledger=isinstance(y_true, Ledger | ForecastTable) or (isinstance(y_true, Mapping) and outcome is None),
    )
    return Evaluation(
        models=ledger.models,
        kind=ledger.kind,
        thresholds=problem.thresholds,
        n=ledger.n,
        dropped=ledger.dropped,
        level=level,
        n_resamples=n_resamples,
        seed=fresh_seed(seed),
        ledger=ledger,
        problem=problem,
        calls=calls,
        columns_used=_columns_used(y_true, outcome, cluster=cluster, time=time, sample_weight=sample_weight),
        progress=progress,
    )


def _problem(ledger: Ledger, thresholds: Any, measures: Sequence[object]) -> Problem:
    """Return the problem; raise an error for thresholds with class probabilities."""
    if ledger.kind != "binary" and thresholds is not None:
        law = Wording("{thresholds} apply to the probability of one event; the forecasts are class probabilities")
        raise InputValueError(law, hint=Wording("evaluate one class, such as y == 2 with {y_proba}[:, 2]."))
    # Rounded, so that rates of exactly 10% and 90% are alike, whatever the weights and the order of their sums.
    rare = ledger.kind == "binary" and round(min(ledger.rates["event"], 1.0 - ledger.rates["event"]), 12) < RARE
    more = read_measures(measures)
    return Problem(kind=ledger.kind, thresholds=thresholds, rare=rare, more=more)


def _learn(ledger: Ledger, problem: Problem) -> None:
    """Compute the moments that the problem needs, if there are cases, and check all numbers."""
    rules = problem.rules
    if isinstance(ledger.source, Cases) and ledger.kind == "binary" and ledger.dependence is None:
        # Means of independent cases are computed from the tables; differences are not.
        rules = [problem.headline.rule] if len(ledger.models) > 1 else []
    if ledger.index.names:
        rules += problem.rules_of_groups
    ledger.fill(rule for rule in rules if ledger.has_moments(rule))


def _columns_used(y_true: object, outcome: str | None, **shared: object) -> dict[str, str]:
    """Return the names of the columns that the data come from, as far as they have names."""
    name = outcome if outcome is not None else getattr(y_true, "name", None)
    named = {"outcome": name} | {role: getattr(given, "name", given) for role, given in shared.items()}
    return {role: given for role, given in named.items() if isinstance(given, str) and given}


def _reading(pos_label: object, labels: Labels | None, tolerance: float) -> dict[str, Any]:
    """Return the options for reading the cases that differ from their defaults."""
    given = {"pos_label": pos_label, "labels": None if labels is None else list(labels)}
    usual = {} if tolerance == TOLERANCE else {"tolerance": tolerance}
    return {name: value for name, value in given.items() if value is not None} | usual
