"""Reading and checking user input; data are validated nowhere else.

`read_cases` takes any supported input and returns `Cases` with checked types, shapes, lengths and labels. The numbers
are checked by `propriety.tables.laws` as chunks are read, so that no argument is scanned twice. Nothing is clipped,
renormalised, dropped or guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import checks, demands
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.result import Floats, Result
from propriety.tables import laws
from propriety.tables.arguments import FORECAST, Arguments, ForecastKind, about, check_event, check_rows, numbers_of
from propriety.tables.arrays import PAIR, Reading, decimals_as_floats, owned, read_array, read_forecasts
from propriety.tables.cases import Cases, check_nothing_beside
from propriety.tables.censored_outcomes import CensoredOutcomes
from propriety.tables.censoring import dependence_p_value
from propriety.tables.forecast_columns import places_of_columns, read_columns
from propriety.tables.frames import check_key_names, check_names
from propriety.tables.keys import check_period_labels, read_keys
from propriety.tables.labels import Labels, class_labels, places_of
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.probabilities import TOLERANCE, checked_forecast, rounding_of_rows
from propriety.tables.table_holder import HoldsTables

Missing: TypeAlias = Literal["raise", "drop"]
# The forecasts of one model, or of several by name; for a frame, the names of its columns.
Forecasts: TypeAlias = ArrayLike | Mapping[str, ArrayLike]


def read_cases(  # noqa: PLR0913  (the data, what the cases belong to, and how they are to be read)
    y_true: object,
    forecasts: Mapping[str, object] | object,
    *,
    by: Mapping[str, object] | object = None,
    cluster: object = None,
    period: object = None,
    id: object = None,  # noqa: A002  (what users call it)
    sample_weight: object = None,
    pos_label: object = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
    fewest: int = 1,
    kind: ForecastKind = "any",
    snapshot: bool = True,
) -> Cases:
    """Read outcomes and the forecasts of some models: of one event in one or two columns, or of K classes.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes.
    forecasts : mapping of str to array-like of shape (n,), (n, 1), (n, 2) or (n, K), or array-like
        Probability of the event, of both outcomes, or of each class, by model; see `propriety.mean_score`. The model of
        a single array-like is called "forecast", and its forecasts are called y_proba in errors.
    by : array-like of shape (n,), or mapping of str to array-like, optional
        Groups to report on; the key of a single array-like is called "group".
    cluster, period, id : array-like of shape (n,), optional
        Clusters or periods within which cases may be correlated, and identifiers.
    sample_weight : array-like of shape (n,), optional
        Weights, finite and not negative.
    pos_label : label, optional
        The label of the event. One column needs it unless the labels are 0/1 or boolean; of two columns it chooses the
        event's, by default the second.
    labels : sequence, optional
        The label of each column in order; of one column the two labels, the event last. Needed for three or more
        classes unless the labels are 0, ..., K - 1 or the names of a frame's columns.
    missing : {"raise", "drop"}
        What to do about NaN, None, NA and masked entries in the outcomes, forecasts and weights. A case with a missing
        value in any model is dropped for all. Keys must be known for every case that is kept.
    tolerance : float
        Allowed deviation of a row of class probabilities from summing to one, for forecasts of low precision.
    fewest : int
        Smallest allowed number of models.
    kind : {"any", "event", "classes"}
        Which cases to return: those of the event or the classes, only those of an event, or always those of classes;
        one event then has the rows (1 - p, p).
    snapshot : bool
        Whether the cases own their arrays, so that what the caller does to his later changes nothing. Only functions
        that keep no cases after they have returned pass False, to save a copy.

    Examples
    --------
    >>> read_cases([0, 1, 1], {"a": [0.2, 0.7, 0.4], "b": [0.1, None, 0.3]}, missing="drop")
    Cases(models=['a', 'b'], cases=2, dropped=1)
    >>> read_cases([0, 1, 1], [0.2, 0.7, 0.4], by=["x", "y", "x"]).keys["group"].labels
    ('x', 'y')
    """
    if isinstance(y_true, Cases | LazyCases):
        beside = {"y_proba": forecasts, "by": by, "cluster": cluster, "period": period, "id": id}
        beside |= {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
        check_nothing_beside("cases", beside)
        return _as_kind(y_true, kind, fewest)
    checks.choice(missing, "missing", ("raise", "drop"))
    if isinstance(y_true, CensoredOutcomes):
        shared = {"sample_weight": sample_weight, "period": period}
        _check_censored(y_true, shared, {"pos_label": pos_label, "labels": labels}, kind)
        options: dict[str, Any] = {"by": by, "cluster": cluster, "missing": missing, "fewest": fewest, "kind": "event"}
        options |= {"id": id, "snapshot": snapshot}
        known = Reading("y_true", y_true.only().outcome, index=y_true.index, is_new=True)
        weight = y_true.only().weight
        if (weight == (own := y_true.sample_weight)).all():  # Nobody is censored.
            return read_cases(known, forecasts, **options, sample_weight=None if isinstance(own, float) else own)
        return _known_of(read_cases(known, forecasts, **options, sample_weight=weight), y_true)
    if (
        (fewest, missing) == (1, "raise")
        and by is cluster is period is id is sample_weight is pos_label is labels is None
        and (plain := _plain_cases(y_true, forecasts, kind, tolerance, snapshot=snapshot)) is not None
    ):
        return plain
    models, names = _models(y_true, forecasts, fewest)
    given = _arguments(y_true, models, sample_weight, names)
    given.check(kind)
    rows = given.settle_missing(drop=missing == "drop")
    tolerance = max(tolerance, *(_rounding(one) for one in given.forecasts.values()))
    weights = given.weights(rows)
    read = read_columns(given, rows, labels=labels, pos_label=pos_label, tolerance=tolerance)
    outcome, values = read.outcome, read.forecasts
    if snapshot:
        outcome = owned(outcome, given.outcome)
        values = {model: owned(own, given.forecasts[model]) for model, own in values.items()}
        weights = weights if weights is None or given.weight is None else owned(weights, given.weight)
    groups: Mapping[str, object] = by if isinstance(by, Mapping) else {} if by is None else {"group": by}
    check_key_names(groups)
    arguments = {name: "by" if values is by else laws.named_key(name) for name, values in groups.items()}
    labelled = {argument: groups[name] for name, argument in arguments.items()}
    beside = {"cluster": cluster, "period": period, "id": id}
    labelled |= {name: values for name, values in beside.items() if values is not None}
    keys = read_keys(labelled, beside=given, rows=rows)
    if period is not None:
        check_period_labels(keys["period"].labels)
    cases = Cases(
        outcome=outcome,
        forecasts=values,
        labels=read.labels,
        weight=weights,
        keys={name: keys[argument] for name, argument in arguments.items()},
        cluster=keys.get("cluster"),
        period=keys.get("period"),
        id=keys.get("id"),
        tolerance=tolerance,
        dropped=0 if rows is None else len(given) - len(rows),
        rows=rows,
        arguments=names,
        sides=read.sides,
        pos_label=pos_label if labels is None else None,
        event_note=read.event_note,
        pair=read.pair,
    )
    return cases.as_rows() if kind == "classes" else cases


def _as_kind(cases: Cases | LazyCases, kind: ForecastKind, fewest: int) -> Cases:
    """Return cases that were read before, after checking that they suit a function; see `read_cases`."""
    if isinstance(cases, LazyCases):
        hint = "pass propriety.condense(cases) to functions of a ledger, or collect the frame first."
        raise InputTypeError("needs cases in memory; these are rows of a lazy frame", argument="y_true", hint=hint)
    cases.check_one_outcome()
    cases = cases.expanded()
    if len(cases.models) < fewest:
        check_names(cases.forecasts, fewest)
    if kind == "event" and cases.labels is not None:
        (first, *_) = cases.forecasts.items()
        check_event(first[1].shape, cases.arguments.get(first[0], FORECAST))
    return cases.as_rows() if kind == "classes" else cases


def _plain_cases(
    y_true: object, y_proba: object, kind: ForecastKind, tolerance: float, *, snapshot: bool
) -> Cases | None:
    """Return the cases of two arrays of numbers that need no conversion; None for anything else.

    A small sample takes less time to score than to read in general.
    """
    for values in (y_true, y_proba):
        if type(values) is not np.ndarray or values.dtype.kind not in "biuf":
            return None
    assert isinstance(y_true, np.ndarray)  # noqa: S101  (for the type checker)
    assert isinstance(y_proba, np.ndarray)  # noqa: S101  (for the type checker)
    event = y_proba.ndim == 1
    classes = y_proba.ndim == PAIR and y_proba.shape[1] > PAIR
    fits = (event and kind != "classes") or (classes and kind != "event")
    if not fits or y_true.ndim != 1 or not 0 < len(y_true) == len(y_proba):
        return None
    return Cases(
        outcome=y_true.copy(order="K") if snapshot else y_true,
        forecasts={"forecast": y_proba.copy(order="K") if snapshot else y_proba},
        labels=None if event else class_labels(y_proba.shape[1], None),
        tolerance=tolerance,
        arguments={"forecast": "y_proba"},
    )


def _check_censored(
    outcomes: CensoredOutcomes, shared: Mapping[str, object], coding: Mapping[str, object], kind: ForecastKind
) -> None:
    """Raise an error for several horizons, classes, and arguments that censored outcomes do not support."""
    outcomes.only()
    given = next((name for name, value in shared.items() if value is not None), None)
    if given is not None:
        hint = "pass it to censored, which weights the censoring curve by it too." if given == "sample_weight" else ""
        raise InputValueError("is not supported with censored outcomes", argument=given, hint=hint)
    given = next((name for name, value in coding.items() if value is not None), None)
    if given is not None:
        raise InputValueError("is not supported with censored outcomes, which are 0 and 1", argument=given)
    if kind == "classes":
        raise InputValueError("an outcome by a horizon is one event; class probabilities need classes")


def _known_of(cases: Cases, outcomes: CensoredOutcomes) -> Cases:
    """Return the cases whose outcome by the horizon is known, after testing whether censoring depends on forecasts."""
    rows = np.arange(outcomes.n) if cases.rows is None else cases.rows
    censoring = outcomes.only().censoring.among(rows, None if cases.cluster is None else cases.cluster.codes)
    cases = replace(cases.checked(), censoring=censoring)
    if outcomes.tests_dependence:
        own = outcomes.follow_up.where(rows)
        forecasts = {model: cases.gathered(model).forecast for model in cases.models}
        tested = {model: dependence_p_value(own, one, censoring.horizon) for model, one in forecasts.items()}
        cases = replace(cases, censoring=replace(censoring, dependence=tested))
    return cases.checked().where(outcomes.only().weight[rows] > 0.0)


def read_outcomes(
    y_true: object,
    classes: int,
    *,
    beside: Reading,
    labels: Labels | None = None,
    sample_weight: object = None,
    missing: Missing = "raise",
) -> Cases:
    """Read outcomes of K classes given with something other than forecasts, such as decisions.

    Examples
    --------
    >>> read_outcomes(["b", "a"], 2, beside=read_array([0, 1], "y_pred"), labels=["a", "b"]).outcomes()
    array([1, 0])
    """
    checks.choice(missing, "missing", ("raise", "drop"))
    given = _arguments(y_true, {"beside": beside}, sample_weight, {"beside": beside.argument})
    given.check("any")
    rows = given.settle_missing(drop=missing == "drop")
    weights, columns = given.weights(rows), class_labels(classes, labels)
    truth = given.truth(rows, labelled=labels is not None)
    return Cases(
        outcome=places_of(truth, columns, rows, labelled=labels is not None),
        forecasts={},
        labels=columns,
        weight=weights,
        dropped=0 if rows is None else len(given) - len(rows),
        rows=rows,
    )


def read_forecast(
    y_proba: object, *, labels: Labels | None = None, tolerance: float = TOLERANCE
) -> tuple[Floats, tuple[Any, ...]]:
    """Read probabilities without outcomes; return them in shape (K, n) with the labels of the classes.

    The forecast of one event, in one column or two, is the row (1 - p, p) of two classes.

    Examples
    --------
    >>> read_forecast([[0.25, 0.75]], labels=["no", "yes"])
    (array([[0.25], [0.75]]), ('no', 'yes'))
    >>> read_forecast([0.75])
    (array([[0.25], [0.75]]), (0, 1))
    """
    values, names = _numbers_alone(y_proba)
    if len(values) == 0:
        raise InputValueError(demands.SOME_CASE, argument="y_proba", offender="it is empty")
    if values.ndim == 1:
        columns = class_labels(PAIR, labels)
        event = checked_forecast(values, argument="y_proba", tolerance=None)
        return np.stack([1.0 - event, event]), columns
    columns = class_labels(values.shape[1], labels)
    places = None if names is None else places_of_columns(names, columns)
    forecast = checked_forecast(
        values if places is None else values[:, places], argument="y_proba", tolerance=tolerance
    )
    return (np.stack([1.0 - forecast[1], forecast[1]]) if len(forecast) == PAIR else forecast), columns


def read_event_forecast(y_proba: object) -> Floats:
    """Read probabilities of one event without outcomes: one number, or an array of shape (n,) or (n, 1).

    Two columns are rejected, because without outcomes nothing says which of them is the event's.

    Examples
    --------
    >>> read_event_forecast([0.2, 1]), read_event_forecast(0.5), read_event_forecast([[0.2]])
    (array([0.2, 1. ]), array(0.5), array([0.2]))
    """
    if y_proba is None:
        raise InputTypeError(demands.NUMBERS, argument="y_proba", offender="got None")
    if np.ndim(y_proba) == 0 and not isinstance(y_proba, str | bytes):  # type: ignore[arg-type]  # anything
        single = Reading("y_proba", decimals_as_floats(np.asarray(y_proba)))
        values = numbers_of(single, None).astype(np.float64)
        laws.refuse_missing_floats("y_proba", np.atleast_1d(values), hint=demands.LEAVE_OUT_HINT)
    else:
        values, _ = _numbers_alone(y_proba)
        if values.ndim != 1:
            law = "must be the forecast of one event, of shape (n,) or (n, 1)"
            offender = f"got shape {values.shape}"
            raise InputValueError(law, argument="y_proba", offender=offender, hint=demands.ONE_COLUMN_HINT)
    found = checked_forecast(np.atleast_1d(values), argument="y_proba", tolerance=None) if values.size else values
    return found.astype(np.float64, copy=False).reshape(values.shape)


def read_unlabelled(values: object, argument: str) -> Floats:
    """Read forecasts of one event without outcomes, in one column or two; of two, the second is the event's.

    Examples
    --------
    >>> read_unlabelled([[0.75, 0.25], [0.5, 0.5]], "forecasts")
    array([0.25, 0.5 ])
    """
    with about(argument):
        forecast, _ = read_forecast(values)
        check_event(forecast.T.shape, FORECAST)
    event: Floats = forecast[1]
    return event


def _numbers_alone(y_proba: object) -> tuple[NDArray[Any], tuple[Any, ...] | None]:
    """Return forecasts given without outcomes, none of them missing, and the names of their columns."""
    reading = read_forecasts(y_proba)
    check_rows(reading)
    if reading.missing is not None:
        laws.refuse_missing("y_proba", reading.missing, hint=demands.LEAVE_OUT_HINT)
    values = numbers_of(reading, None)
    laws.refuse_missing_floats("y_proba", values, hint=demands.LEAVE_OUT_HINT)
    return values, reading.names


def read_rates(values: object, cases: Cases) -> NDArray[Any] | None:
    """Read a constant forecast for all cases: one rate, or one per class; None if it is not constant."""
    shape = () if cases.classes is None else (cases.classes,)
    if np.ndim(values) == 0 and not shape and not isinstance(values, str | bytes):  # type: ignore[arg-type]  # anything
        reading = Reading("reference", np.asarray(values))
    else:
        reading = read_array(values, "reference")
        if not shape or reading.values.shape != shape:
            return None
    if reading.missing is not None:
        laws.refuse_missing("reference", reading.missing)
    rates = numbers_of(reading, None)
    if cases.labels is None or reading.index is None:
        return rates
    with about("reference"):
        places = places_of_columns(tuple(reading.index), cases.labels, what="entries")
    return rates if places is None else rates[list(places)]


def _models(y_true: object, forecasts: object, fewest: int) -> tuple[Mapping[str, object], dict[str, str]]:
    """Return the forecasts by model, and their names in errors."""
    several = isinstance(forecasts, Mapping) or fewest > 1
    if isinstance(y_true, Result | HoldsTables):
        need = "several models need predictions, {y_true} and {forecasts}" if several else "{y_true} must hold outcomes"
        kind = type(y_true).__name__
        hint = "pass the ledger that it is from." if kind == "ForecastTable" else ""
        raise InputTypeError(Wording(need + "; a {kind} holds no individual cases", kind=kind), hint=hint)
    if several:
        check_names(forecasts, fewest)
    models: Mapping[str, object] = forecasts if isinstance(forecasts, Mapping) else {"forecast": forecasts}
    return models, {model: laws.named_forecast(model) if several else "y_proba" for model in models}


def _arguments(
    y_true: object, forecasts: Mapping[str, object], sample_weight: object, names: Mapping[str, str]
) -> Arguments:
    """Read each argument once."""
    for model, values in forecasts.items():
        if values is None:
            with about(names[model]):
                raise InputTypeError(
                    Wording("is required with {y_true}"), argument="y_proba", hint="or pass cases or a ledger alone."
                )
    outcome = read_array(y_true, "y_true", role="outcomes")
    readings = {}
    for model, values in forecasts.items():
        with about(names[model]):
            readings[model] = read_forecasts(values)
    weight = None if sample_weight is None else read_array(sample_weight, "sample_weight")
    return Arguments(outcome, readings, weight, names)


def _rounding(reading: Reading) -> float:
    """Return how far rounding moves row sums from one if the original number type is one that NumPy lacks, else 0."""
    rows = reading.values.ndim == PAIR and reading.eps > 0.0
    return rounding_of_rows(reading.values.shape[1], eps=reading.eps, tiny=0.0) if rows else 0.0
