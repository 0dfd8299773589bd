"""`evaluate`: from outcomes and forecasts, in arrays or in a frame, to an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw

from propriety.errors import InputTypeError, InputValueError, sentence
from propriety.evaluation.cases import PredictedCases
from propriety.evaluation.engine_cases import cases_of_lazy_frame
from propriety.evaluation.evaluation import Evaluation, evaluation_of
from propriety.evaluation.problem import Kind
from propriety.evaluation.tabled_cases import TabledCases
from propriety.tables.engine_source import Lazy
from propriety.tables.frames import columns_of, known
from propriety.tables.models import read_keys, read_models
from propriety.tables.predictions import ClassPredictions
from propriety.tables.validation import TOLERANCE, Labels, Missing

__all__ = ["evaluate"]


def evaluate(  # noqa: PLR0913  (the data, what the cases share, the decision, and how it is drawn)
    y_true: object,
    forecasts: Mapping[str, object] | Sequence[str] | object,
    *,
    outcome: str | None = None,
    thresholds: float | tuple[float, float] | None = None,
    ordered: bool = False,
    by: object = None,
    cluster: object = None,
    time: object = None,
    sample_weight: object = None,
    pos_label: object = None,
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
    y_true : array-like of shape (n,), or a data frame
        Outcomes; or, with `outcome`, a frame with one row per case.
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
    by, cluster, time, sample_weight : array-like of shape (n,), or str with a frame, optional
        The group to report on; the cluster (patient, site) or the time within which cases may depend on each other;
        weights.
    pos_label, labels, missing, tolerance
        As in `propriety.mean_score`; ``missing="drop"`` drops a case that any model misses.
    level : float
        Level of all intervals.
    n_resamples, seed : int, optional
        Number and seed of the draws; without a seed one is made and kept with the result.
    progress : bool
        Whether to show a bar.

    Returns
    -------
    Evaluation
        With `summary()`, `scores`, `plot()`, `to_frame()`, `to_dict()` and `to_html(path)`.

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
    arguments: dict[str, Any] = {"y_true": y_true, "by": by, "cluster": cluster, "time": time}
    arguments["sample_weight"] = sample_weight
    drawing: dict[str, Any] = {"level": level, "n_resamples": n_resamples, "seed": seed, "progress": progress}
    if outcome is None:
        models = forecasts if isinstance(forecasts, Mapping) else {"forecast": forecasts}
    else:
        columns = _named(arguments | {"y_true": outcome})
        frame = known(y_true)
        if isinstance(frame, nw.LazyFrame):
            labelling = {"pos_label": pos_label, "labels": labels, "missing": missing}
            cases = _lazy_cases(frame, forecasts, columns, labelling, ordered=ordered)
            return evaluation_of(cases, thresholds=thresholds, **drawing)
        arguments, models = _of_frame(y_true, forecasts, columns)
    predictions = read_models(
        arguments["y_true"],
        models,
        sample_weight=arguments["sample_weight"],
        pos_label=pos_label,
        labels=labels,
        missing=missing,
        tolerance=tolerance,
    )
    kind: Kind = "binary"
    if isinstance(predictions[0], ClassPredictions):
        kind = "ordinal" if ordered else "multiclass"
    if kind != "binary" and thresholds is not None:
        law = "thresholds belong to the probability of one event; the forecasts are rows of classes"
        raise InputValueError(sentence(law, hint="evaluate one class, such as y == 2 with y_proba[:, 2]."))
    if kind == "binary" and ordered:
        raise InputValueError(sentence("ordered belongs to rows of classes; the forecasts are of one event"))
    keys = {
        name: read_keys(arguments[argument], argument, predictions[0], beside=arguments["y_true"])
        for name, argument in (("group", "by"), ("cluster", "cluster"), ("time", "time"))
        if arguments[argument] is not None
    }
    predicted = PredictedCases(kind=kind, models=tuple(models), predictions=predictions, **keys)
    return evaluation_of(predicted, thresholds=thresholds, **drawing)


def _named(columns: Mapping[str, Any]) -> dict[str, str | None]:
    """Check that everything beside a frame is the name of a column."""
    for argument, column in columns.items():
        if column is not None and not isinstance(column, str):
            law = f"{argument} must be the name of a column, as outcome= says that there is a frame"
            raise InputTypeError(sentence(law, offender=f"it is {type(column).__name__}"))
    return dict(columns)


def _lazy_cases(
    frame: Lazy, forecasts: object, columns: Mapping[str, Any], labelling: Mapping[str, Any], *, ordered: bool
) -> TabledCases:
    if ordered:
        raise InputValueError(sentence("ordered belongs to rows of classes; a lazy frame is evaluated for one event"))
    return cases_of_lazy_frame(
        frame,
        _columns_of_models(forecasts),
        outcome=columns["y_true"],
        by=columns["by"],
        cluster=columns["cluster"],
        time=columns["time"],
        weight=columns["sample_weight"],
        options=labelling,
    )


def _of_frame(frame: object, forecasts: object, columns: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments and the forecasts of each model as columns of a frame."""
    models = _columns_of_models(forecasts)
    wanted = {argument: column for argument, column in columns.items() if column is not None}
    places = {(model, place): name for model, own in models.items() for place, name in enumerate(own)}
    found = columns_of(frame, wanted | {str(place): name for place, name in places.items()})
    given = {argument: found.get(argument) for argument in columns}
    read: dict[str, Any] = {}
    for model, own in models.items():
        parts = [found[str((model, place))] for place in range(len(own))]
        read[model] = parts[0] if len(parts) == 1 else _stacked(parts)
    return given, read


def _columns_of_models(forecasts: object) -> dict[str, tuple[str, ...]]:
    """Return the columns of each model: one of the event, or one per class."""
    if isinstance(forecasts, str):
        forecasts = [forecasts]
    if isinstance(forecasts, Mapping):
        named = {model: (own,) if isinstance(own, str) else tuple(own) for model, own in forecasts.items()}
    elif isinstance(forecasts, Sequence):
        named = {name: (name,) for name in forecasts}
    else:
        named = {}
    if not named or not all(isinstance(name, str) for own in named.values() for name in own):
        law = "forecasts must name columns of the frame: a list, or a mapping of models to their columns"
        raise InputTypeError(sentence(law, offender=f"it is {forecasts!r}"))
    return named


def _stacked(columns: list[Any]) -> Any:
    import numpy as np

    series = [nw.from_native(column, series_only=True) for column in columns]
    return np.column_stack([one.cast(nw.Float64).to_numpy() for one in series])
