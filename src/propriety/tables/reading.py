"""`cases`: the one reader of outcomes and forecasts, from arrays, data frames or lazy frames."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_dataframe, is_into_series
from narwhals.typing import IntoFrame
from numpy.typing import ArrayLike

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, ProprietyError, Wording
from propriety.result import Floats
from propriety.tables import laws
from propriety.tables.arguments import about
from propriety.tables.arrays import read_array
from propriety.tables.cases import Cases, check_nothing_beside
from propriety.tables.estimators import predicted
from propriety.tables.frames import (
    check_key_names,
    check_names,
    check_number_of_models,
    checked_columns,
    columns_of,
    first_repeated,
    known,
)
from propriety.tables.labels import Labels
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.lazy_reading import read_lazy_cases
from propriety.tables.outcomes_by_model import read_by_model
from propriety.tables.validation import Forecasts, Missing, read_cases

MAX_EXACT_SUM = 2.0**53  # Sums up to here are exact as floats.


def cases(  # noqa: PLR0913  (the one place where everything about the cases is said)
    y_true: ArrayLike | IntoFrame | Mapping[str, ArrayLike],
    forecasts: Forecasts | None = None,
    *,
    outcome: str | None = None,
    X: Any = None,  # noqa: N803  (scikit-learn's name)
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    cluster: ArrayLike | None = None,
    period: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    ordered: bool = False,
    id: ArrayLike | None = None,  # noqa: A002  (what users call it)
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    time: None = None,
) -> Cases | LazyCases:
    """Read outcomes, forecasts and all that belongs to them once, for any function of the package.

    Pass the result as the first argument of any function in place of outcomes and forecasts. It holds copies: what
    happens to the arrays later changes nothing. The cases of a lazy frame stay on its engine, and are refused if the
    frame has changed since they were read.

    Parameters
    ----------
    y_true : array-like of shape (n,), data frame, outcomes by `propriety.censored`, or mapping of str to array-like
        Outcomes; or, with `outcome`, a frame with one row per case, eager or lazy. A mapping by model, with the names
        of the forecasts, says of each model whether its own answer was right; `propriety.compare` then pairs answers to
        the same question.
    forecasts : mapping of str to array-like, or array-like
        The forecasts of each model by name, or those of one model: the probability of the event, of shape (n,), or
        class probabilities, of shape (n, K). With a frame, the names of the columns: a list with one column per model,
        or a mapping of each model to its column, or to its columns of the classes, named like these or in the order of
        `labels`. With `X`, a value may also be a fitted classifier of scikit-learn, whose forecasts are those of its
        `predict_proba`.
    outcome : str, optional
        With a frame, the column of the outcomes.
    X : array-like or data frame of shape (n, features), optional
        Features of the cases, for fitted classifiers: those of held-out cases, not of the cases used for training.
    by : mapping of str to array-like, or array-like; with a frame str or list of str; optional
        Keys by which results can be split, any number of them, such as day and site.
    cluster, period : array-like of shape (n,), or str with a frame, optional
        Cluster (patient, site) or period (day, week) within which cases may be correlated; only one of the two.
    sample_weight : array-like of shape (n,), or str with a frame, optional
        Weights, finite and not negative.
    counts : array-like of shape (n,), or str with a frame, optional
        Number of equal cases that each row stands for.
    ordered : bool
        Whether the classes are ordered, as in `labels` or in the columns.
    id : array-like of shape (n,), or str with a frame, optional
        Identifier of each case, by whose hash `propriety.recalibrate` assigns it to a fold.
    pos_label, labels
        As in `propriety.mean_score`.
    missing : {"raise", "drop"}
        Whether missing values raise an error or drop their rows; a case with a missing value in any model is dropped
        for all. Results count the dropped rows.
    time : None
        Not used: follow-up belongs to `propriety.censored`, the order of cases to `period`.

    Returns
    -------
    Cases or LazyCases

    Examples
    --------
    >>> import propriety as pr
    >>> seen = pr.cases([0, 1, 1], {"a": [0.2, 0.7, 0.4], "b": [0.1, None, 0.3]}, missing="drop")
    >>> seen
    Cases(models=['a', 'b'], cases=2, dropped=1)
    >>> pr.compare(seen, measure=pr.Brier())[0].n
    2
    >>> right, confidence = {"a": [1, 0, 1], "b": [1, 1, 0]}, {"a": [0.9, 0.2, 0.7], "b": [0.6, 0.8, 0.5]}
    >>> pr.estimate(pr.cases(right, confidence), "b", pr.measures.AccuracyAtCoverage(0.5), seed=1).value
    1.0
    >>> import polars as pl
    >>> frame = pl.DataFrame({"ill": ["no", "yes"], "risk": [0.2, 0.7]})
    >>> pr.brier_score(pr.cases(frame, "risk", outcome="ill", pos_label="yes"))
    Score(0.06500000000000002, rule='Brier()', scale='one component, 0 to 1, lower is better', n=2)
    """
    refuse_time(time)
    reading = {"outcome": outcome, "X": X, "by": by, "cluster": cluster, "period": period, "counts": counts, "id": id}
    reading |= {"sample_weight": sample_weight, "ordered": ordered, "pos_label": pos_label, "labels": labels}
    found = read_source(y_true, forecasts, **reading, missing=missing, by_model=True)
    return found.with_sums() if isinstance(found, LazyCases) else found


def refuse_time(time: object) -> None:
    """Raise an error for `time`, which has two meanings elsewhere."""
    if time is not None:
        law = "{time=} is not an argument, because it could mean two things"
        hint = (
            "for follow-up pass propriety.censored(time, event, horizons=...) as {y_true}, R's Surv(time, status); "
            "for the order of the cases pass {period=}."
        )
        raise InputTypeError(Wording(law), hint=Wording(hint))


def read_source(  # noqa: PLR0913  (as `cases`)
    y_true: object,
    forecasts: object = None,
    *,
    outcome: str | None = None,
    X: Any = None,  # noqa: N803  (scikit-learn's name)
    by: object = None,
    cluster: object = None,
    period: object = None,
    sample_weight: object = None,
    counts: object = None,
    ordered: bool = False,
    id: object = None,  # noqa: A002  (what users call it)
    pos_label: Any = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    fewest: int = 1,
    by_model: bool = False,
) -> Cases | LazyCases:
    """Read cases; see `cases` for the arguments. Cases that were read before are returned after a check.

    `fewest` is the smallest allowed number of models, and `by_model` allows outcomes by model.
    """
    shared = {"by": by, "cluster": cluster, "period": period, "sample_weight": sample_weight, "id": id}
    options: dict[str, Any] = {"pos_label": pos_label, "labels": labels, "missing": missing}
    if isinstance(y_true, Cases | LazyCases):
        beside = {"forecasts": forecasts, "outcome": outcome, "X": X, **shared, "counts": counts, **options}
        beside |= {"ordered": ordered or None, "missing": None if missing == "raise" else missing}
        check_nothing_beside("cases", beside)
        return _read_before(y_true, fewest, by_model=by_model)
    if cluster is not None and period is not None:
        hint = (
            "pass only {cluster=} to allow for any correlation within a cluster, also over time; "
            "pass only {period=} to allow for any correlation between cases of the same period."
        )
        raise InputValueError(Wording("cases have {cluster=} or {period=}, not both"), hint=Wording(hint))
    if counts is not None:
        if sample_weight is not None:
            raise InputValueError(Wording("rows have {counts=} or {sample_weight=}, not both"))
        options |= {"ordered": ordered, "by_model": by_model}
        return _of_counts(y_true, forecasts, counts, outcome, shared, options)
    if outcome is not None:
        predicted(forecasts, X, outcome=outcome)
        return _of_columns(y_true, forecasts, outcome, shared, options, ordered=ordered, fewest=fewest)
    forecasts, options["labels"] = predicted(forecasts, X, pos_label=pos_label, labels=labels)
    _check_columns(y_true, forecasts)
    read = read_by_model if isinstance(y_true, Mapping) else _of_arrays
    made = read(y_true, forecasts, shared, options, ordered=ordered, fewest=fewest)  # type: ignore[arg-type]
    return _read_before(made, fewest, by_model=by_model)


def _read_before(read: Cases | LazyCases, fewest: int, *, by_model: bool) -> Cases | LazyCases:
    """Return cases after checking that they suit a function."""
    check_number_of_models(len(read.models), fewest)
    if isinstance(read, LazyCases):
        return read.confirmed()
    if not by_model:
        read.check_one_outcome()
    return read


def _of_columns(
    frame: object,
    forecasts: object,
    outcome: str,
    shared: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    ordered: bool,
    fewest: int,
) -> Cases | LazyCases:
    """Read the columns of a frame, eager or lazy."""
    columns = _column_names(outcome, {name: value for name, value in shared.items() if name != "by"})
    models = columns_of_models(forecasts)
    check_number_of_models(len(models), fewest)
    keys = key_columns(shared["by"])
    roles = {"forecasts": [name for own in models.values() for name in own], "by": keys}
    roles |= {role: [name] for role, name in columns.items() if name is not None}
    for role, names in roles.items():
        check_apart(outcome, role, names)
    table = known(frame)
    if isinstance(table, nw.LazyFrame):
        made = read_lazy_cases(
            table,
            {model: own[0] if len(own) == 1 else own for model, own in models.items()},
            outcome=outcome,
            weight=columns["sample_weight"],
            by=keys or None,
            cluster=columns["cluster"],
            period=columns["period"],
            ordered=ordered,
            **options,
        )
        _check_ordered(made.labels, ordered=ordered)
        given = {"outcome": outcome, **shared, **options, "ordered": ordered}
        return replace(made, given={"y_true": frame, "forecasts": forecasts, **given})
    arguments = _of_frame(frame, models, {"y_true": outcome, **columns}, keys)
    read: dict[str, Any] = {name: arguments.get(name) for name in columns}
    read["by"] = {name: arguments[f"by {name}"] for name in keys} or None
    values = {model: arguments[f"forecasts {model}"] for model in models}
    made_of = _of_arrays(arguments["y_true"], values, read, options, ordered=ordered, fewest=fewest)
    return replace(made_of, columns={"outcome": outcome, **{role: name for role, name in columns.items() if name}})


def _of_arrays(
    y_true: object,
    forecasts: object,
    shared: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    ordered: bool,
    fewest: int,
) -> Cases:
    read = read_cases(y_true, forecasts, **shared, **options, fewest=fewest)
    _check_ordered(read.labels, ordered=ordered)
    named = {"outcome": y_true, **{role: shared[role] for role in ("cluster", "period", "sample_weight")}}
    columns = {role: getattr(given, "name", None) for role, given in named.items()}
    known_columns = {role: name for role, name in columns.items() if isinstance(name, str) and name}
    return replace(read, ordered=ordered, columns=known_columns) if ordered or known_columns else read


def _of_counts(
    y_true: object,
    forecasts: object,
    counts: object,
    outcome: str | None,
    shared: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Cases:
    """Read rows that stand for several equal cases each. The rows of a lazy frame are collected."""
    if outcome is not None:
        columns = [outcome, shared["cluster"], shared["period"], shared["id"], counts]
        y_true = _collected(y_true, forecasts, shared["by"], *columns)
    try:
        # Counts are weights in everything but what is summed, so they are read and checked as such.
        read = read_source(y_true, forecasts, outcome=outcome, **{**shared, "sample_weight": counts}, **options)
        assert isinstance(read, Cases)  # noqa: S101  (for the type checker; the rows are in memory)
        numbers = read.checked().weights()
        if numbers is not None:  # Outcomes by a horizon keep no weights of their own.
            _check_counts(numbers, read)
    except ProprietyError as error:
        error.names["sample_weight"] = "counts"
        raise
    return replace(read, is_counted=True)


def _check_counts(counts: Floats, read: Cases) -> None:
    broken = counts != np.floor(counts)
    if broken.any():
        hint = Wording("pass weights as {sample_weight=}.")
        laws.refuse("counts", "must be whole numbers", broken, counts, read.rows, hint=hint)
    if counts.sum() > MAX_EXACT_SUM:
        raise InputValueError("must add up to at most 2**53", argument="counts", offender=f"got {counts.sum():.6g}")


def _collected(frame: object, forecasts: object, by: object, *others: object) -> object:
    """Return the columns of a lazy frame that are needed, in memory; an eager frame as it is."""
    lazy = known(frame)
    if not isinstance(lazy, nw.LazyFrame):
        return frame
    models = [name for own in columns_of_models(forecasts).values() for name in own]
    columns = dict.fromkeys([*models, *key_columns(by), *(name for name in others if isinstance(name, str))])
    checked_columns(lazy, list(columns))
    return lazy.select(*columns).collect().to_native()


def read_beside(read: Cases, forecast: object) -> Cases:
    """Read another forecast of cases that were read before, with an entry for each row that they were read from.

    Rows in which it is missing are left out.
    """
    outcome = read.outcomes()
    if read.labels is not None:
        outcome = np.fromiter(read.labels, dtype=object, count=len(read.labels))[outcome]
    if read.rows is not None:
        kept, outcome = outcome, np.full(len(read) + read.dropped, None, dtype=object)
        outcome[read.rows] = kept
    return read_cases(outcome, forecast, labels=read.labels, missing="drop", snapshot=False)


def _is_frame(value: object) -> bool:
    """Whether a value is a frame, eager or lazy. What is usual is recognized first, as narwhals takes its time."""
    if isinstance(value, np.ndarray | list | tuple) or is_into_series(value):
        return False
    return is_into_dataframe(value) or isinstance(nw.from_native(value, pass_through=True), nw.LazyFrame)


def _check_ordered(labels: tuple[Any, ...] | None, *, ordered: bool) -> None:
    if ordered and labels is None:
        raise InputValueError(demands.ORDERED_EVENT, argument="ordered")


def refuse_frame(y_true: object, y_proba: object) -> None:
    """Raise an error for a frame, or names of columns, where a function reads arrays only."""
    if isinstance(y_proba, str) or _is_frame(y_true):
        law = Wording("{y_true} and {y_proba} must be arrays, not a frame or names of columns")
        raise InputTypeError(law, hint="pass its columns, such as frame['y'] and frame['p'].")


def _check_columns(y_true: object, forecasts: object) -> None:
    """Raise an error if there is a frame, or column names, but no outcome column."""
    framed, names = _is_frame(y_true), isinstance(forecasts, str)
    if isinstance(forecasts, list | tuple) and forecasts:
        names = all(isinstance(one, str) for one in forecasts)
    if framed or names:
        law = (
            "a frame needs {outcome=}, the column of the outcomes" if framed else "{forecasts} names columns of a frame"
        )
        hint = Wording('pass a frame, its columns and {outcome=}: (frame, ["a", "b"], {outcome=}"y").')
        raise InputTypeError(Wording(law), hint=hint)


def _column_names(outcome: object, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Check that every argument of a frame is a column name."""
    for argument, column in {"outcome": outcome, **columns}.items():
        if column is not None and not isinstance(column, str):
            law = Wording("must be the name of a column, as {outcome=} says that there is a frame")
            raise InputTypeError(law, argument=argument, offender=f"it is {type(column).__name__}")
    return dict(columns)


def key_columns(by: object) -> list[str]:
    """Return the key columns of a frame."""
    if by is None:
        return []
    keys: list[Any] = list(by) if isinstance(by, list | tuple) else [by]
    wrong = next((key for key in keys if not isinstance(key, str)), None)
    if wrong is not None:
        law = Wording("must name columns, as {outcome=} says that there is a frame")
        raise InputTypeError(law, argument="by", offender=f"it is {type(wrong).__name__}")
    _check_once("by", keys)
    check_key_names(keys)
    return keys


def columns_of_models(forecasts: object) -> dict[str, tuple[str, ...]]:
    """Return the columns of each model: one for the event, or one per class."""
    if isinstance(forecasts, str):
        forecasts = [forecasts]
    elif hasattr(forecasts, "tolist") and getattr(forecasts, "ndim", 0) == 1:  # Such as the columns of a pandas frame.
        forecasts = forecasts.tolist()
    if isinstance(forecasts, Mapping):
        columns = {model: [own] if isinstance(own, str) else own for model, own in forecasts.items()}
        named = {model: tuple(own) if isinstance(own, Sequence) else () for model, own in columns.items()}
    elif isinstance(forecasts, Sequence) and all(isinstance(name, str) for name in forecasts):
        _check_once("forecasts", forecasts)
        named = {name: (name,) for name in forecasts}
    else:
        named = {}
    if not named or not all(own and all(isinstance(name, str) for name in own) for own in named.values()):
        law = "must name columns of the frame: a list, or a mapping of models to their columns"
        raise InputTypeError(law, argument="forecasts", offender=f"it is {forecasts!r}")
    check_names(named)
    for own in named.values():
        _check_once("forecasts", own)
    return named


def check_apart(outcome: str, argument: str, names: Iterable[object]) -> None:
    """Raise an error if the column of the outcomes also has another role, which would tell what is to be forecast."""
    if outcome in names:
        raise InputValueError(f"must not name {outcome!r}, the column of the outcomes", argument=argument)


def _check_once(argument: str, names: Sequence[object]) -> None:
    twice = first_repeated(names)
    if twice is not None:
        hint = 'to give a model another name pass {"model": "column"}.' if argument == "forecasts" else ""
        raise InputValueError(demands.named_once("column", twice), argument=argument, hint=hint)


def _of_frame(
    frame: object, models: Mapping[str, tuple[str, ...]], columns: Mapping[str, str | None], keys: Sequence[str]
) -> dict[str, Any]:
    """Return the arguments, the keys and the forecasts of each model from the columns of an eager frame."""
    wanted: dict[str, str] = {argument: column for argument, column in columns.items() if column is not None}
    wanted |= {f"by {name}": name for name in keys}
    wanted |= {f"forecasts {model}": own[0] for model, own in models.items() if len(own) == 1}
    rows = {model: own for model, own in models.items() if len(own) > 1}
    table = known(frame)
    checked_columns(table, [*wanted.values(), *(name for own in rows.values() for name in own)])
    found = columns_of(frame, wanted)
    for model, own in rows.items():
        with about(laws.named_forecast(model)):
            found[f"forecasts {model}"] = replace(read_array(table.select(*own).to_native(), "y_proba"), listed=True)
    return found
