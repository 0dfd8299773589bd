"""The result of `slices`: one table for the groups of one or several keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propriety.inference.measures.measure import Measure
from propriety.inference.part_estimates import ONLY_INDEPENDENT
from propriety.inference.verdicts import Names, holm
from propriety.ledger.key_index import KeyIndex
from propriety.result import Floats, Result
from propriety.rules.weights import Thresholds

TOO_FEW = "too few to test"
INFINITE = "the value is infinite"
ACROSS = "not tested, because it shares clusters or periods with other groups"
MANY = "not tested, because there are too many groups"
NO_INTERVAL = "not tested, because it or the rest has no interval"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Slices(Result):
    """Scores, calibration and decision value of groups, one row per model and group; see `slices`.

    Parameters
    ----------
    model, group : ndarray of str of shape (rows,)
        The model and the label of the group; labels of several keys are joined by commas.
    n, events : ndarray of shape (rows,)
        Number of cases, and of events among them; for classes `events` is None.
    event_rate : ndarray of shape (rows,)
        Weighted share of events; None for classes.
    value, low, high : ndarray of shape (rows,)
        Value of the measure, and its interval.
    excess, excess_low, excess_high : ndarray of shape (rows,)
        Calibration in the large: the event rate minus the mean forecast, and its interval; positive if events are more
        frequent than forecast. None for classes.
    miscalibration : ndarray of shape (rows,)
        Miscalibration of the score; the fewer the cases, the larger it is by chance. None for classes.
    net_benefit, net_benefit_low, net_benefit_high : ndarray of shape (rows,), optional
        Net benefit at the thresholds, higher is better, and its interval; None without thresholds.
    difference : ndarray of shape (rows,)
        Value of the group minus that of all other cases.
    p_value, p_adjusted : ndarray of shape (rows,)
        Two-sided p-value of no such difference, and the same with Holm's adjustment for all rows.
    note : ndarray of str of shape (rows,)
        Why a group is not tested, or that its test is approximate because it has few events; else empty.
    overall : mapping of str to float
        Value of each model on all cases.
    by : tuple of str
        Names of the keys.
    measure : Measure
        The measure.
    thresholds : float or (float, float), optional
        The decision maker's threshold or range, for the net benefit.
    level : float
        Level of the intervals.
    units : int, optional
        Number of clusters or periods.
    dropped : int
        Rows left out because of missing values.
    """

    main_columns: ClassVar[tuple[str, ...]] = (
        "model",
        "group",
        "n",
        "events",
        "value",
        "low",
        "high",
        "difference",
        "p_adjusted",
    )

    model: Names
    group: Names
    n: NDArray[np.int64]
    events: NDArray[np.int64] | None
    event_rate: Floats | None
    value: Floats
    low: Floats
    high: Floats
    excess: Floats | None
    excess_low: Floats | None
    excess_high: Floats | None
    miscalibration: Floats | None
    net_benefit: Floats | None
    net_benefit_low: Floats | None
    net_benefit_high: Floats | None
    difference: Floats
    p_value: Floats
    p_adjusted: Floats
    note: Names
    overall: Mapping[str, float]
    by: tuple[str, ...]
    measure: Measure
    thresholds: Thresholds | None
    level: float
    units: int | None = None
    dropped: int = 0
    # Whether a group has enough cases for a test, whatever their outcomes.
    in_family: NDArray[np.bool_] = field(metadata={"hidden": True})

    @property
    def is_tested(self) -> NDArray[np.bool_]:
        """Whether a group, and all other cases together, are large enough for a test of the difference."""
        return np.asarray(np.isfinite(self.p_value) | (self.note == ""))

    @property
    def is_too_small(self) -> NDArray[np.bool_]:
        """Whether a group has neither interval nor test because it has too few cases, events or clusters."""
        unknown = np.isnan(self.low) & np.isnan(self.p_value)
        others = ["", INFINITE, ACROSS, MANY, NO_INTERVAL, ONLY_INDEPENDENT]
        return np.asarray(unknown & ~np.isin(self.note, others))


def holm_in_family(p_value: Floats, in_family: NDArray[np.bool_]) -> Floats:
    """Adjust p-values by Holm's method for all groups of the family; those without a p-value count as 1.

    Examples
    --------
    >>> holm_in_family(np.array([0.01, np.nan, np.nan]), np.array([True, True, False]))
    array([0.02,  nan,  nan])
    """
    adjusted = holm(np.where(np.isnan(p_value) & in_family, 1.0, p_value))
    return np.where(np.isnan(p_value), np.nan, adjusted)


def stacked_slices(parts: Sequence[Slices]) -> Slices:
    """Stack the groups of several keys, and adjust the p-values for all of them."""
    first = parts[0]
    columns: dict[str, Any] = {}
    for name in (one.name for one in fields(first)):
        own = [getattr(part, name) for part in parts]
        if isinstance(own[0], np.ndarray):
            columns[name] = np.concatenate(own)
    columns["group"] = np.concatenate([[f"{part.by[0]}: {group}" for group in part.group] for part in parts])
    columns["p_adjusted"] = holm_in_family(columns["p_value"], columns["in_family"])
    order = np.concatenate([np.flatnonzero(columns["model"] == model) for model in dict.fromkeys(columns["model"])])
    by = tuple(name for part in parts for name in part.by)
    return replace(first, **{name: column[order] for name, column in columns.items()}, by=by)


def group_names(index: KeyIndex) -> Names:
    """Return the labels of groups as text; labels that would look alike, such as 1 and "1", as written in code."""
    columns = [texts_of_labels(index.column(name)) for name in index.names]
    return np.array([", ".join(parts) for parts in zip(*columns, strict=True)])


def text_of_label(label: object) -> str:
    """Return a label as text; as written in code if it is empty or has several lines.

    Examples
    --------
    >>> text_of_label("a"), text_of_label("")
    ('a', "''")
    """
    text = str(label)
    return text if text.strip() and len(text.splitlines()) == 1 else repr(label)


def texts_of_labels(labels: Sequence[Any]) -> list[str]:
    """Return labels as text; as written in code if empty, of several lines, or alike, such as 1 and "1"."""
    distinct = dict.fromkeys(labels)
    often = Counter(str(label) for label in distinct)
    text = {label: text_of_label(label) if often[str(label)] == 1 else repr(label) for label in distinct}
    return [text[label] for label in labels]
