"""`evaluate`: from outcomes and forecasts, in arrays, a frame or a ledger, to an evaluation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from narwhals.typing import IntoFrame
from numpy.typing import ArrayLike

from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import InputValueError, Wording
from propriety.evaluation.calls import Calls
from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.problem import RARE, Problem
from propriety.inference.dependence import check_times
from propriety.inference.estimation import rules_of
from propriety.inference.measure_reading import read_measure
from propriety.inference.slices import rules_of_slices
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.rules.thresholds import Thresholds
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.validation import TOLERANCE, Forecasts, Labels, Missing

__all__ = ["evaluate"]


def evaluate(  # noqa: PLR0913  (the data, what the cases share, the decision, and how it is drawn)
    y_true: ArrayLike | IntoFrame | ForecastTable | Mapping[str, ForecastTable] | Ledger,
    forecasts: Forecasts | None = None,
    *,
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
    """Judge models by what their forecasts are for: scores with intervals, calibration, decisions, comparisons, groups.

    It chooses the measures that fit the outcome and the thresholds, as `propriety.advise` does, and computes each
    analysis when it is first asked for. Every number can be had alone, by the call that stands beside it.

    Parameters
    ----------
    y_true : array-like of shape (n,), data frame, or Ledger
        Outcomes; or, with `outcome`, a frame with one row per case. Of a lazy frame the engine does the work. A ledger,
        or a mapping of models to their ForecastTable, takes the place of all data.
    forecasts : mapping of str to array-like, or array-like
        The forecasts of each model by name, or those of one model: the probability of the event, of shape (n,), or rows
        of classes, of shape (n, K). With a frame, the names of the columns: a list with one column per model, or a
        mapping of each model to its column, or to the columns of the classes in order.
    outcome : str, optional
        With a frame, the column of the outcomes.
    thresholds : float or (float, float), optional
        The probability from which somebody would act: one number, or the interval it lies in. Of binary outcomes.
    ordered : bool
        Whether the classes have an order, that of `labels` or of the columns.
    by : mapping of str to array-like, or array-like; with a frame str or list of str; optional
        Keys whose groups are to be reported on, each key by itself.
    cluster, time, sample_weight : array-like of shape (n,), or str with a frame, optional
        The cluster (patient, site) or the time within which cases may depend on each other, one of the two; weights.
    measures : sequence of measures
        What to report beside the measures that fit the outcome and the thresholds.
    pos_label, labels, missing, tolerance
        As in `propriety.mean_score`; ``missing="drop"`` drops a case that any model misses.
    level : float
        Level of all intervals, and of the pointwise bands of reliability curves.
    n_resamples, seed : int, optional
        Number and seed of the draws; without a seed one is made and kept with the result.
    progress : bool
        Whether to show a bar.

    Returns
    -------
    Evaluation
        With `summary()`, `scores`, `plot()`, `to_frame()`, `to_dict()` and `to_html(path)`.

    Notes
    -----
    Clusters and times are allowed for in the scores and in the comparison, but for miscalibration and discrimination,
    whose intervals take neighbours in time for independent, as groups do. Reliability bands take all cases for
    independent, and with clusters or times the ranking map tells no lead from noise.

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
    calls = Calls(
        shared=tuple(name for name, value in shared.items() if value is not None),
        reading=_reading(pos_label, labels, tolerance),
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
        progress=progress,
    )


def _problem(ledger: Ledger, thresholds: Any, measures: Sequence[object]) -> Problem:
    """Return what is asked; refuse thresholds of rows of classes."""
    if ledger.kind != "binary" and thresholds is not None:
        law = Wording("{thresholds} belong to the probability of one event; the forecasts are rows of classes")
        raise InputValueError(law, hint=Wording("evaluate one class, such as y == 2 with {y_proba}[:, 2]."))
    rare = ledger.kind == "binary" and min(ledger.rates["event"], 1.0 - ledger.rates["event"]) < RARE
    more = tuple(read_measure(measure) for measure in measures)
    return Problem(kind=ledger.kind, thresholds=thresholds, rare=rare, more=more)


def _learn(ledger: Ledger, problem: Problem) -> None:
    """Have the moments that the problem asks for, as far as there are cases, and all numbers checked."""
    rules = [rule for measure in problem.measures for rule in rules_of(measure)]
    if isinstance(ledger.source, Cases) and ledger.kind == "binary" and ledger.dependence is None:
        # Means of independent cases are read from the tables; differences are not.
        rules = [problem.headline.rule] if len(ledger.models) > 1 else []
    if ledger.index.names:
        rules += rules_of_slices(problem.headline, problem.threshold, binary=ledger.kind == "binary")
    ledger.fill(rule for rule in rules if ledger.has_moments(rule))


def _reading(pos_label: object, labels: Labels | None, tolerance: float) -> dict[str, Any]:
    """Return how the cases are to be read, where that is not the usual way."""
    given = {"pos_label": pos_label, "labels": None if labels is None else list(labels)}
    usual = {} if tolerance == TOLERANCE else {"tolerance": tolerance}
    return {name: value for name, value in given.items() if value is not None} | usual
