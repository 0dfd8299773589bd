"""`evaluate`: from outcomes and forecasts, in arrays or in a frame, to an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
from narwhals.dependencies import is_into_dataframe

from propriety.errors import InputTypeError, InputValueError, ProprietyError, sentence
from propriety.evaluation.calls import Calls
from propriety.evaluation.cases import PredictedCases
from propriety.evaluation.engine_cases import cases_of_lazy_frame, classes_of_lazy_frame
from propriety.evaluation.evaluation import Cases, Evaluation, evaluation_of
from propriety.evaluation.problem import Kind
from propriety.inference.dependence import check_times
from propriety.tables.frames import columns_of, known
from propriety.tables.models import read_keys, read_models
from propriety.tables.predictions import ClassPredictions, Predictions
from propriety.tables.queries import Lazy
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
        Outcomes; or, with `outcome`, a frame with one row per case. Of a lazy frame the engine does the work.
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
        The group to report on, of binary outcomes; the cluster (patient, site) or the time within which cases may
        depend on each other, one of the two; weights.
    pos_label, labels, missing, tolerance
        As in `propriety.mean_score`; ``missing="drop"`` drops a case that any model misses.
    level : float
        Level of all intervals, and of the bands of reliability curves.
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
    Clusters are allowed for in the scores, the comparison and the groups, and times in the comparison and in the scores
    that are means; other scores, and groups, take neighbours in time for independent and say so. Reliability bands
    take all cases for independent, and with clusters or times the ranking map tells no lead from noise.

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
    door: dict[str, Any] = {"pos_label": pos_label, "labels": labels, "missing": missing, "tolerance": tolerance}
    _check_dependence(cluster, time)
    calls = Calls(
        shared=tuple(name for name in ("sample_weight", "by", "cluster", "time") if arguments[name] is not None),
        reading=_reading(pos_label, labels, tolerance),
    )
    if outcome is None:
        _check_columns(y_true, forecasts)
        models = forecasts if isinstance(forecasts, Mapping) else {"forecast": forecasts}
    else:
        columns = _named(arguments | {"y_true": outcome})
        frame = known(y_true)
        if isinstance(frame, nw.LazyFrame):
            named = _columns_of_models(forecasts)
            read_models([0, 1], {model: [0.5, 0.5] for model in named})  # The door judges the names.
            kind = _kind(any(len(own) > 1 for own in named.values()), thresholds, by, ordered=ordered)
            cases = _lazy_cases(frame, named, columns, kind, door, calls)
            return evaluation_of(cases, thresholds=thresholds, **drawing)
        arguments, models = _of_frame(y_true, forecasts, columns)
    predictions = _read(arguments, models, door)
    kind = _kind(isinstance(predictions[0], ClassPredictions), thresholds, arguments["by"], ordered=ordered)
    keys = {
        name: read_keys(
            arguments[argument], argument, predictions[0], beside=arguments["y_true"], forecasts=models.values()
        )
        for name, argument in (("group", "by"), ("cluster", "cluster"), ("time", "time"))
        if arguments[argument] is not None
    }
    if "time" in keys:
        check_times(keys["time"].labels, None)
    predicted = PredictedCases(kind=kind, models=tuple(models), predictions=predictions, calls=calls, **keys)
    return evaluation_of(predicted, thresholds=thresholds, **drawing)


def _read(arguments: Mapping[str, Any], models: Mapping[str, Any], door: Mapping[str, Any]) -> tuple[Predictions, ...]:
    """Judge the forecasts of every model, all laws at once: further in nothing is refused."""
    try:
        predictions = read_models(arguments["y_true"], models, sample_weight=arguments["sample_weight"], **door)
        for one in predictions:
            for _ in one.chunks():
                pass  # The laws are checked as the cases are handed out.
    except ProprietyError as error:
        if any(is_into_dataframe(one) for one in models.values()):
            error.add_note("If the columns of the frame are models, pass a mapping, {name: frame[name], ...}.")
        raise
    return predictions


def _kind(rows: bool, thresholds: object, by: object, *, ordered: bool) -> Kind:  # noqa: FBT001  (what is forecast)
    """Tell what is forecast, rows of classes or one event, and refuse what does not fit it."""
    if not rows:
        if ordered:
            raise InputValueError(sentence("ordered belongs to rows of classes; the forecasts are of one event"))
        return "binary"
    hint = "evaluate one class, such as y == 2 with y_proba[:, 2]."
    if thresholds is not None:
        law = "thresholds belong to the probability of one event; the forecasts are rows of classes"
        raise InputValueError(sentence(law, hint=hint))
    if by is not None:
        law = "by belongs to the probability of one event; the forecasts are rows of classes"
        raise InputValueError(sentence(law, hint=hint))
    return "ordinal" if ordered else "multiclass"


def _check_dependence(cluster: object, time: object) -> None:
    if cluster is not None and time is not None:
        hint = (
            "cluster= alone allows for any dependence within a cluster, over time too; "
            "time= alone allows for any between cases of one time."
        )
        raise InputValueError(sentence("evaluate takes cluster= or time=, not both", hint=hint))


def _check_columns(y_true: object, forecasts: object) -> None:
    """Refuse a frame, or names of columns, without the column of the outcomes."""
    names = isinstance(forecasts, str) or (
        isinstance(forecasts, list | tuple) and bool(forecasts) and all(isinstance(one, str) for one in forecasts)
    )
    if names or is_into_dataframe(y_true) or isinstance(y_true, nw.LazyFrame):
        law = (
            "a frame needs outcome=, the column of the outcomes" if not names else "forecasts names columns of a frame"
        )
        raise InputTypeError(sentence(law, hint='pass evaluate(frame, ["a", "b"], outcome="y").'))


def _reading(pos_label: object, labels: Labels | None, tolerance: float) -> dict[str, Any]:
    """Return how the cases are to be read, where that is not the usual way."""
    given = {"pos_label": pos_label, "labels": None if labels is None else list(labels)}
    usual = {} if tolerance == TOLERANCE else {"tolerance": tolerance}
    return {name: value for name, value in given.items() if value is not None} | usual


def _named(columns: Mapping[str, Any]) -> dict[str, str | None]:
    """Check that everything beside a frame is the name of a column."""
    for argument, column in columns.items():
        if column is not None and not isinstance(column, str):
            law = f"{argument} must be the name of a column, as outcome= says that there is a frame"
            raise InputTypeError(sentence(law, offender=f"it is {type(column).__name__}"))
    return dict(columns)


def _lazy_cases(
    frame: Lazy,
    models: Mapping[str, tuple[str, ...]],
    columns: Mapping[str, Any],
    kind: Kind,
    door: Mapping[str, Any],
    calls: Calls,
) -> Cases:
    shared: dict[str, Any] = {"outcome": columns["y_true"], "weight": columns["sample_weight"], "calls": calls}
    shared |= {name: columns[name] for name in ("cluster", "time")}
    if kind != "binary":
        return classes_of_lazy_frame(frame, models, kind=kind, options=door, **shared)
    own = {model: name for model, (name,) in models.items()}
    return cases_of_lazy_frame(frame, own, by=columns["by"], options=door, **shared)


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
        columns = {model: [own] if isinstance(own, str) else own for model, own in forecasts.items()}
        named = {model: tuple(own) if isinstance(own, Sequence) else () for model, own in columns.items()}
    elif isinstance(forecasts, Sequence):
        _check_once(forecasts)
        named = {name: (name,) for name in forecasts}
    else:
        named = {}
    if not named or not all(own and all(isinstance(name, str) for name in own) for own in named.values()):
        law = "forecasts must name columns of the frame: a list, or a mapping of models to their columns"
        raise InputTypeError(sentence(law, offender=f"it is {forecasts!r}"))
    return named


def _check_once(names: Sequence[object]) -> None:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        law = f"forecasts must name each column once; {twice!r} stands twice"
        raise InputValueError(sentence(law, hint='to give a model another name pass {"model": "column"}.'))


def _stacked(columns: list[Any]) -> Any:
    import numpy as np

    series = [nw.from_native(column, series_only=True) for column in columns]
    # What holds no numbers is left for the door to refuse.
    return np.column_stack([(one.cast(nw.Float64) if one.dtype.is_numeric() else one).to_numpy() for one in series])
