"""The laws that input must satisfy, and the error messages for violations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputValueError, MissingValuesError, Wording
from propriety.result import Floats

# An excess this small is rounding error rather than a wrong scale, and has its own hint.
ROUNDING_OF_FORECASTS = 1e-9
OVERSHOOT = 0.1  # Beyond 0 or 1, such as forecasts of linear regression; logits extend further.
PERCENT = 100.0
LEAST_PERCENT = 5.0  # Logits and typing errors are smaller.
BITS_OF_ONE = np.float64(1.0).view(np.uint64)
RowNumbers = NDArray[np.intp] | None


def in_unit_interval(values: NDArray[Any]) -> bool:
    """Whether all values lie in [0, 1]; a NaN does not."""
    # The bits of floats from 0 to 1, read as an integer, are at most those of 1; all others but -0.0 exceed them.
    if values.dtype == np.float64 and np.maximum.reduce(values.view(np.uint64), axis=None) <= BITS_OF_ONE:
        return True
    return bool(values.min() >= 0.0 and values.max() <= 1.0)


def are_events(outcome: NDArray[Any]) -> bool:
    """Whether all outcomes are 0 or 1."""
    if outcome.dtype.kind in "iu":
        return bool(0 <= np.bitwise_or.reduce(outcome) <= 1)
    return bool(np.count_nonzero(outcome == 0) + np.count_nonzero(outcome == 1) == len(outcome))


def are_class_indices(outcome: NDArray[Any], classes: int) -> bool:
    """Whether all outcomes are whole numbers from 0 to `classes` - 1."""
    if outcome.dtype.kind in "iu":
        return bool(outcome.min() >= 0 and outcome.max() < classes)
    return bool(_is_class_index(outcome, classes).all())


def _is_class_index(outcome: NDArray[Any], classes: int) -> NDArray[np.bool_]:
    known: NDArray[np.bool_] = (outcome >= 0) & (outcome < classes) & (outcome == np.floor(outcome))
    return known


def refuse(
    argument: str,
    law: str,
    bad: NDArray[np.bool_],
    values: NDArray[Any],
    rows: RowNumbers,
    *,
    hint: str,
    verb: str = "is",
) -> NoReturn:
    """Raise the error for the cases marked in `bad`, with the first of them as an example."""
    by_case = _by_case(bad)
    case = int(by_case.argmax())
    column = None if bad.ndim == 1 else int(bad[case].argmax())
    offender = f"{verb} {_shown(values[case] if column is None else values[case, column])}"
    place = _row(case, rows)
    raise InputValueError(
        law, argument=argument, row=place, column=column, offender=offender, count=_count(by_case), hint=hint
    )


def refuse_missing(
    argument: str, missing: NDArray[np.bool_], rows: RowNumbers = None, *, hint: str = demands.MISSING_HINT
) -> NoReturn:
    """Raise the error for missing values; functions that cannot drop them need a `hint` of their own."""
    by_case = _by_case(missing)
    row, count = _row(int(by_case.argmax()), rows), _count(by_case)
    raise MissingValuesError(demands.MISSING, argument=argument, row=row, offender="is missing", count=count, hint=hint)


def refuse_forecasts(argument: str, values: NDArray[Any], rows: RowNumbers) -> NoReturn:
    """Raise the error for forecasts that are missing or outside [0, 1]."""
    missing = np.isnan(values)
    if missing.any():
        refuse_missing(argument, missing, rows)
    hint = forecast_hint(values.min(), values.max())
    refuse(argument, demands.UNIT, ~((values >= 0.0) & (values <= 1.0)), values, rows, hint=hint)


def unknown_key(argument: str, count: str, row: int | None = None) -> MissingValuesError:
    """Return the error for cases whose group, cluster or period is missing."""
    return MissingValuesError(
        "must be known for every case",
        argument=argument,
        row=row,
        offender="" if row is None else "is missing",
        count=count,
        hint=Wording("leave these rows out, or give each of them a label of its own in {argument}."),
    )


def forecast_hint(low: float, high: float) -> str:
    """Return a hint at what forecasts from `low` to `high`, not all of them in [0, 1], may be."""
    if low >= -ROUNDING_OF_FORECASTS and high <= 1.0 + ROUNDING_OF_FORECASTS:
        return demands.ROUNDING_HINT
    if low >= -OVERSHOOT and high <= 1.0 + OVERSHOOT:
        return demands.OVERSHOOT_HINT
    if low >= 0.0 and LEAST_PERCENT < high <= PERCENT:
        return "divide by 100 if these are percentages."
    return "apply a sigmoid (or a softmax to rows) if these are logits."


def named_forecast(model: str) -> str:
    """Return the name of the forecasts of one of several models."""
    return Wording("forecasts[{model!r}]", "forecast-of", model=model)


def named_key(key: str) -> str:
    """Return the name of one of several keys."""
    return Wording("by[{key!r}]", "key-of", key=key)


def row_sum_law(tolerance: float) -> str:
    """Return the law for the sums of class probabilities."""
    return Wording("the rows of {argument} must sum to 1 within {tolerance:g}", "row-sums", tolerance=tolerance)


def place_law(classes: int) -> str:
    """Return the law for outcomes given as class indices."""
    law = "must hold whole numbers from 0 to {last}, one for each of the {classes} columns of {y_proba}"
    return Wording(law, "class-indices", last=classes - 1, classes=classes)


def labels_law(labels: Iterable[object]) -> str:
    """Return the law for outcomes given as labels."""
    return Wording("must hold only the labels {labels}", "labels", labels=list(labels))


def unnamed_event(found: str) -> InputValueError:
    """Return the error for labelled outcomes when the label of the event is not given."""
    return InputValueError(demands.OUTCOME, argument="y_true", offender=f"got {found}", hint=demands.EVENT_LABEL_HINT)


def unmatched_names(
    names: Sequence[object], labels: Sequence[object], what: str, *, listed: bool = False
) -> InputValueError:
    """Return the error for columns of a frame, or what else has names, that match no label."""
    law = f"must have {what} that are named like the labels {list(labels)}"
    hint = demands.LISTED_HINT if listed else demands.COLUMNS_HINT if what == "columns" else demands.NAMES_HINT
    return InputValueError(law, argument="y_proba", offender=f"got {list(names)}", hint=hint)


def unnamed_classes(found: str) -> InputValueError:
    """Return the error for labelled outcomes when the labels of the columns are not given."""
    law = Wording("holds {found}, which cannot be matched to the columns of {y_proba}", found=found)
    return InputValueError(law, argument="y_true", hint=demands.LABELS_HINT)


def other_kind(pos_label: object, found: str) -> InputValueError:
    """Return the error for outcomes whose type does not match the label of the event."""
    law = Wording("must hold labels of the same type as {pos_label}={event!r}", event=pos_label)
    return InputValueError(law, argument="y_true", offender=f"got {found}", hint=demands.LABELLED_HINT)


def none_left(rows: int, *, models: int = 1) -> InputValueError:
    """Return the error raised when all cases have been dropped."""
    missed = (
        "every row has a missing value" if models == 1 else "every row with weight has a missing value in some model"
    )
    return InputValueError(Wording('{missing="drop"} leaves no case: {missed}', missed=missed), count=f"{rows:,} rows")


def beyond_follow_up(argument: str, horizon: float, last: float, *, group: str = "") -> InputValueError:
    """Return the error for a horizon until which nobody is followed up, in the group if one is named."""
    where = f" in group {group}" if group else ""
    law = f"must be within the follow-up; nobody is followed up until {horizon:g}{where}"
    hint = "use an earlier horizon" + (" or fewer groups." if group else ".")
    return InputValueError(law, argument=argument, offender=f"the last time is {last:g}", hint=hint)


def event_of_classes() -> InputValueError:
    """Return the error for a `pos_label` given with class probabilities."""
    return InputValueError(demands.EVENT_OF_CLASSES, argument="pos_label")


def third_label(pos_label: object, other: object, third: object) -> InputValueError:
    """Return the error for outcomes with two labels besides that of the event."""
    return InputValueError(
        Wording("must hold {pos_label}={event!r} and one other label", event=pos_label),
        argument="y_true",
        offender=f"got both {other!r} and {third!r}",
        hint=Wording(demands.ONE_AGAINST_REST_HINT, "one-against-rest-hint", event=pos_label),
    )


def refuse_row_sums(
    argument: str, values: NDArray[Any], tolerance: float, rows: RowNumbers, *, hint: str = demands.ROW_SUM_HINT
) -> NoReturn:
    """Raise the error for class probabilities that do not sum to one."""
    sums = values.sum(axis=1, dtype=np.float64)
    bad = ~(np.abs(sums - 1.0) <= tolerance)
    refuse(argument, row_sum_law(tolerance), bad, sums, rows, hint=hint, verb="sums to")


def refuse_outcomes(values: NDArray[Any], rows: RowNumbers) -> NoReturn:
    """Raise the error for binary outcomes that are missing or neither 0 nor 1."""
    refuse_missing_floats("y_true", values, rows)
    fraction = values.dtype.kind == "f" and bool(((values > 0) & (values < 1)).any())
    bad = ~((values == 0) | (values == 1))
    refuse("y_true", demands.OUTCOME, bad, values, rows, hint=outcome_hint(fraction=fraction))


def outcome_hint(*, fraction: bool) -> str:
    """Return a hint at what outcomes other than 0 and 1 may be; a fraction looks like a forecast."""
    return demands.SWAPPED_HINT if fraction else demands.EVENT_LABEL_HINT


def refuse_class_indices(values: NDArray[Any], classes: int, rows: RowNumbers) -> NoReturn:
    """Raise the error for class outcomes that are missing or not among 0, ..., K - 1."""
    refuse_missing_floats("y_true", values, rows)
    refuse("y_true", place_law(classes), ~_is_class_index(values, classes), values, rows, hint=demands.LABELS_HINT)


def refuse_weights(values: NDArray[Any], rows: RowNumbers) -> NoReturn:
    """Raise the error for weights that are missing, negative or infinite."""
    refuse_missing_floats("sample_weight", values, rows)
    bad = ~((values >= 0.0) & (values < np.inf))
    refuse("sample_weight", demands.WEIGHT, bad, values, rows, hint=demands.WEIGHT_HINT)


def refuse_missing_floats(
    argument: str, values: NDArray[Any], rows: RowNumbers = None, *, hint: str = demands.MISSING_HINT
) -> None:
    """Raise an error if an array of floats holds NaN; other arrays pass."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        refuse_missing(argument, np.isnan(values), rows, hint=hint)


def _row(case: int, rows: RowNumbers) -> int:
    return case if rows is None else int(rows[case])


def _by_case(bad: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return bad if bad.ndim == 1 else np.any(bad, axis=1)


def _count(by_case: NDArray[np.bool_]) -> str:
    return f"{np.count_nonzero(by_case):,} of {len(by_case):,} rows"


def _shown(value: object) -> str:
    return repr(value.item()) if isinstance(value, np.generic) else repr(value)


ROUNDING = 1e-12


def weighted_quantile(values: Floats, weight: Floats, levels: Floats) -> Floats:
    """Return weighted quantiles: the smallest values that at least the given shares of the weight do not exceed.

    If a value is not exceeded by exactly that share, it is the mean of this value and the next, so that the quantiles
    of mirrored values are the mirrored quantiles (type 2 of Hyndman & Fan 1996, doi:10.2307/2684934).

    Examples
    --------
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), np.array([0.25, 0.5, 0.9]))
    array([1.5, 2. , 3. ])
    """
    order = np.argsort(values, kind="stable")
    return quantile_of_sorted(values[order], np.cumsum(weight[order]), levels)


def quantile_of_sorted(values: Floats, share: Floats, levels: Floats) -> Floats:
    """Return the same for sorted values, given the cumulative weights."""
    # Rounding may put a share that is met exactly on either side of the level.
    sides = levels * share[-1] * np.array([[1.0 - ROUNDING], [1.0 + ROUNDING]])
    reached = np.minimum(np.searchsorted(share, sides), len(values) - 1)
    quantile: Floats = values[reached].mean(axis=0)
    return quantile
