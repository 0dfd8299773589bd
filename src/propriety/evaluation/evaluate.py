"""`evaluate`: evaluate forecasts given as arrays, a data frame or a ledger."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from propriety import demands
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.decisions.recommendations import is_rare
from propriety.errors import InputValueError, Wording
from propriety.evaluation.calls import Calls, DataKind
from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.problem import Problem
from propriety.inference.dependence import check_periods
from propriety.inference.measures.reading import AnyMeasure, read_measures
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import Data, open_ledger
from propriety.rules.weights import Thresholds
from propriety.tables.cases import Cases
from propriety.tables.labels import Labels
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.reading import refuse_time
from propriety.tables.validation import Forecasts, Missing

MOST_WRITTEN = 12  # More labels are not written out in calls.


def evaluate(  # noqa: PLR0913  (the data, what the cases share, the decision, and how it is drawn)
    y_true: Data,
    forecasts: Forecasts | None = None,
    *,
    X: Any = None,  # noqa: N803  (scikit-learn's name)
    outcome: str | None = None,
    thresholds: Thresholds | None = None,
    measures: Sequence[AnyMeasure] = (),
    ordered: bool = False,
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    cluster: ArrayLike | None = None,
    period: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int | None = None,
    progress: bool = False,
    time: None = None,
) -> Evaluation:
    """Evaluate models: scores with intervals, calibration, decisions, comparisons and groups.

    The measures are chosen to fit the outcome and the thresholds, as in `propriety.advise`. Each analysis is computed
    when it is first used. Every number can also be computed by itself, with the call shown next to it.

    Parameters
    ----------
    y_true, forecasts, X, outcome, ordered, by, cluster, period, sample_weight, pos_label, labels, missing, time
        The cases, or what describes them; see `propriety.cases`. Each key of `by` is reported separately. A ledger
        replaces all data; beside it, or beside cases, `by` names the keys to report, by default all.
    thresholds : float or (float, float), optional
        For binary outcomes, the probability at which somebody would act: one number, or a range.
    measures : sequence of measures
        Measures to report in addition to those that fit the outcome and the thresholds.
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
    Scores, comparisons and tests allow for clusters and periods. Intervals of miscalibration and discrimination treat
    neighbouring periods as independent, reliability bands all cases. With clusters or periods, the ranking map does not
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
    refuse_time(time)
    shared: dict[str, Any] = {"sample_weight": sample_weight, "by": by, "cluster": cluster, "period": period}
    ledger = open_ledger(
        y_true,
        forecasts,
        X=X,
        outcome=outcome,
        **shared,
        ordered=ordered,
        pos_label=pos_label,
        labels=labels,
        missing=missing,
    )
    problem = _problem(ledger, thresholds, measures)
    _learn(ledger, problem)
    if ledger.dependence == "period":
        check_periods(ledger.periods(), None)
    labels = labels if X is None else ledger.labels
    many = labels is not None and len(list(labels)) > MOST_WRITTEN
    named = shared | {"labels": labels if many else None}
    calls = Calls(
        shared=tuple(name for name, value in named.items() if value is not None),
        reading=_reading(pos_label, None if many else labels),
        data=_data(y_true),
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
        columns_used={} if ledger.source is None else dict(ledger.source.columns),
        progress=progress,
    )


def _problem(ledger: Ledger, thresholds: Any, measures: Sequence[AnyMeasure]) -> Problem:
    """Return the problem; raise an error for thresholds with class probabilities."""
    if ledger.kind != "binary" and thresholds is not None:
        law = Wording("{thresholds} apply to the probability of one event; the forecasts are class probabilities")
        raise InputValueError(law, hint=demands.CLASS_HINT)
    # Rounded, so that rates of exactly 10% and 90% are alike, whatever the weights and the order of their sums.
    rare = ledger.kind == "binary" and is_rare(ledger.rates["event"])
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


def _data(y_true: object) -> DataKind:
    """Return what the data were given as."""
    if isinstance(y_true, Cases | LazyCases):
        return "cases"
    return "ledger" if isinstance(y_true, Ledger) else "arrays"


def _reading(pos_label: object, labels: Labels | None) -> dict[str, Any]:
    """Return the options for reading the cases that differ from their defaults."""
    given = {"pos_label": pos_label, "labels": None if labels is None else list(labels)}
    return {name: value for name, value in given.items() if value is not None}
