"""The laws that numbers must keep, and the sentences in which their violations are told."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError, MissingValuesError, sentence

__all__ = [
    "are_class_indices",
    "forecast_hint",
    "in_unit_interval",
    "outcome_hint",
    "refuse",
    "refuse_class_indices",
    "refuse_forecasts",
    "refuse_missing",
    "refuse_missing_floats",
    "refuse_outcomes",
    "refuse_row_sums",
    "refuse_weights",
]

# An excess this small is rounding error rather than a wrong scale, and gets its own hint.
ROUNDING = 1e-9
PERCENT = 100.0
SURELY_PERCENT = 5.0  # Logits and slips are smaller.

OUTCOME_LAW = "y_true must hold 0 and 1 (or False and True) where no pos_label is given"
POS_LABEL_HINT = "pass pos_label=, the label whose probability y_proba gives."
ROW_SUM_HINT = "divide each row by its sum if these are unnormalised, or pass tolerance= if this is rounding error."
WEIGHT_LAW = "sample_weight must be finite and not negative"
NO_WEIGHT = "sample_weight must be positive for at least one case; all are 0"
WEIGHT_HINT = "give a weight of 0 to leave a case out."

Rows = NDArray[np.intp] | None


def in_unit_interval(values: NDArray[Any]) -> bool:
    """Whether all values lie in [0, 1]; a NaN does not."""
    return bool(values.min() >= 0.0 and values.max() <= 1.0)


def are_class_indices(outcome: NDArray[Any], classes: int) -> NDArray[np.bool_]:
    """Which outcomes are whole numbers from 0 to `classes` - 1."""
    known: NDArray[np.bool_] = (outcome >= 0) & (outcome < classes) & (outcome == np.floor(outcome))
    return known


def refuse(law: str, bad: NDArray[np.bool_], values: NDArray[Any], rows: Rows, hint: str) -> NoReturn:
    """Raise the error for the cases marked in `bad`, showing the first of them."""
    raise InputValueError(_told(law, bad, values, rows, hint))


def refuse_missing(argument: str, missing: NDArray[np.bool_], rows: Rows = None) -> NoReturn:
    """Raise the error for missing values."""
    by_case = _by_case(missing)
    law = f"{argument} must not hold missing values (NaN, None, NA or masked)"
    case = int(by_case.argmax())
    offender = f"row {case if rows is None else int(rows[case])} is missing"
    hint = 'drop such rows yourself, or pass missing="drop" to drop and count them.'
    raise MissingValuesError(sentence(law, offender=offender, count=_count(by_case), hint=hint))


def refuse_forecasts(argument: str, values: NDArray[Any], rows: Rows) -> NoReturn:
    """Raise the error for forecasts that are missing or outside [0, 1]."""
    missing = np.isnan(values)
    if missing.any():
        refuse_missing(argument, missing, rows)
    hint = forecast_hint(argument, values.min(), values.max())
    refuse(f"{argument} must lie in [0, 1]", ~((values >= 0.0) & (values <= 1.0)), values, rows, hint)


def forecast_hint(argument: str, low: float, high: float) -> str:
    """Return what forecasts from `low` to `high`, not all of them in [0, 1], may be."""
    if low >= -ROUNDING and high <= 1.0 + ROUNDING:
        return f"this looks like rounding error; if it is, apply numpy.clip({argument}, 0, 1) yourself."
    if low >= 0.0 and SURELY_PERCENT < high <= PERCENT:
        return "divide by 100 if these are percentages."
    return "apply a sigmoid (or a softmax to rows) if these are logits."


def refuse_row_sums(argument: str, values: NDArray[Any], tolerance: float, rows: Rows) -> NoReturn:
    """Raise the error for rows of probabilities that do not sum to one."""
    sums = values.sum(axis=1, dtype=np.float64)
    law = f"the rows of {argument} must sum to 1 within {tolerance:g}"
    bad = ~(np.abs(sums - 1.0) <= tolerance)
    raise InputValueError(_told(law, bad, sums, rows, ROW_SUM_HINT, verb="sums to"))


def refuse_outcomes(values: NDArray[Any], rows: Rows) -> NoReturn:
    """Raise the error for binary outcomes that are missing or neither 0 nor 1."""
    refuse_missing_floats("y_true", values, rows)
    fraction = values.dtype.kind == "f" and bool(((values > 0) & (values < 1)).any())
    refuse(OUTCOME_LAW, ~((values == 0) | (values == 1)), values, rows, outcome_hint(fraction=fraction))


def outcome_hint(*, fraction: bool) -> str:
    """Return what outcomes that are neither 0 nor 1 may be; a fraction looks like a forecast."""
    return "are y_true and y_proba swapped?" if fraction else POS_LABEL_HINT


def refuse_class_indices(values: NDArray[Any], classes: int, rows: Rows) -> NoReturn:
    """Raise the error for class outcomes that are missing or not among 0, ..., K - 1."""
    refuse_missing_floats("y_true", values, rows)
    law = f"y_true must hold whole numbers from 0 to {classes - 1}, one for each of the {classes} columns of y_proba"
    hint = "pass labels=, the label of each column in order."
    refuse(law, ~are_class_indices(values, classes), values, rows, hint)


def refuse_weights(values: NDArray[Any], rows: Rows) -> NoReturn:
    """Raise the error for weights that are missing, negative or infinite."""
    refuse_missing_floats("sample_weight", values, rows)
    bad = ~((values >= 0.0) & (values < np.inf))
    refuse(WEIGHT_LAW, bad, values, rows, WEIGHT_HINT)


def refuse_missing_floats(argument: str, values: NDArray[Any], rows: Rows = None) -> None:
    """Raise the error for NaN in an array of floats; return for anything else."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        refuse_missing(argument, np.isnan(values), rows)


def _told(law: str, bad: NDArray[np.bool_], values: NDArray[Any], rows: Rows, hint: str, *, verb: str = "is") -> str:
    by_case = _by_case(bad)
    case = int(by_case.argmax())
    row = case if rows is None else int(rows[case])
    if bad.ndim == 1:
        offender = f"row {row} {verb} {_shown(values[case])}"
    else:
        column = int(bad[case].argmax())
        offender = f"row {row}, column {column} {verb} {_shown(values[case, column])}"
    return sentence(law, offender=offender, count=_count(by_case), hint=hint)


def _by_case(bad: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return bad if bad.ndim == 1 else np.any(bad, axis=1)


def _count(by_case: NDArray[np.bool_]) -> str:
    return f"{np.count_nonzero(by_case):,} of {len(by_case):,} rows"


def _shown(value: object) -> str:
    return repr(value.item()) if isinstance(value, np.generic) else repr(value)
