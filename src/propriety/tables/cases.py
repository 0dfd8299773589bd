"""Cases in memory: outcomes, the forecasts of some models, weights and keys, read in checked chunks.

A chunk is small enough for the processor's cache, so that the checks, the conversion to float64 and the computation
that follows read memory once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.result import Floats
from propriety.tables import laws
from propriety.tables.censoring import Censoring
from propriety.tables.events import CUMULATIVE_DECIMALS, Event
from propriety.tables.keys import Keys
from propriety.tables.probabilities import ALL, TOLERANCE, checked_forecast

CHUNK = 2**14
FEWEST_ROWS = 1024  # With many classes a chunk may exceed the cache, because each class costs a call.
MOST_EXPANDED = 2**24  # Cases that rows with counts are expanded to, which bounds the memory.


class Chunk(NamedTuple):
    """Checked cases with the forecasts of one model. Read-only, because the arrays may be those of the cases.

    `forecast` has shape (cases,) for one event and (K, cases) for classes. `outcome` says whether the event happened,
    or is the index of the class that did.
    """

    forecast: Floats
    outcome: NDArray[Any]
    weight: Floats | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Cases:
    """Outcomes and the forecasts of some models, as read. Types, shapes and labels have been checked.

    The numbers of a model are checked once, the first time its chunks are iterated to the end.

    Parameters
    ----------
    outcome : array of shape (n,), or of shape (n, models) for outcomes by model
        Whether the event happened, as booleans or as numbers that must be 0 or 1; for classes, their indices. Outcomes
        by model are booleans in the order of the models.
    forecasts : mapping of str to array of shape (n,) or (n, K)
        The forecasts of each model, of the type in which the user holds them.
    labels : tuple, optional
        The labels of the classes in order; None for one event.
    weight : array of shape (n,), optional
        Weight of each case.
    keys : mapping of str to Keys
        Group labels of each case, by the name of the key.
    cluster, period, id : Keys, optional
        Clusters or periods within which cases may be correlated; identifiers by which they are assigned to folds.
    ordered : bool
        Whether the classes are ordered.
    is_counted : bool
        Whether the weights are numbers of equal cases.
    tolerance : float
        Allowed deviation of a row of class probabilities from summing to one.
    dropped : int
        Rows of the user's data left out because of missing values.
    rows : array of shape (n,), optional
        Row numbers of the cases in the user's data; None if all rows were kept.
    arguments : mapping of str to str
        Name of each model's forecasts in error messages; "y_proba" by default.
    sides : tuple
        For one event, the labels of the other outcome and of the event.
    pos_label : label, optional
        The label of the event, if it was given alone.
    event_note : str
        If the forecasts were given in two columns, which of them is the event's; else empty.
    pair : tuple, optional
        If the forecasts were given in two columns, the labels of these in order, and which of the two is the event's.
    censoring : Censoring, optional
        For outcomes by a horizon, how the weights were estimated.
    columns : mapping of str to str
        Names of the columns that outcomes, clusters, periods and weights came from, as far as they have names.

    Examples
    --------
    >>> cases = Cases(outcome=np.array([0, 1]), forecasts={"a": np.array([0.2, 0.7])})
    >>> cases
    Cases(models=['a'], cases=2)
    >>> cases.gathered().outcome
    array([False,  True])
    """

    outcome: NDArray[Any]
    forecasts: Mapping[str, NDArray[Any]]
    labels: tuple[Any, ...] | None = None
    weight: NDArray[Any] | None = None
    keys: Mapping[str, Keys] = field(default_factory=dict)
    cluster: Keys | None = None
    period: Keys | None = None
    id: Keys | None = None
    ordered: bool = False
    is_counted: bool = False
    tolerance: float = TOLERANCE
    dropped: int = 0
    rows: NDArray[np.intp] | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    sides: tuple[Any, Any] = (0, 1)
    pos_label: Any = None
    event_note: str = ""
    pair: tuple[tuple[Any, Any], int] | None = None
    censoring: Censoring | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    # Models whose chunks were iterated to the end. `dataclasses.replace` starts a new set, because the numbers may
    # change.
    _checked: set[str] = field(default_factory=set, init=False)

    def __len__(self) -> int:
        return len(self.outcome)

    def __repr__(self) -> str:
        classes = "" if self.labels is None else f", classes={len(self.labels)}"
        keys = f", keys={list(self.keys)}" if self.keys else ""
        dropped = f", dropped={self.dropped}" if self.dropped else ""
        return f"Cases(models={list(self.forecasts)}, cases={self._count:,}{classes}{keys}{dropped})"

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in the order given."""
        return tuple(self.forecasts)

    @property
    def classes(self) -> int | None:
        """Number of classes; None for one event."""
        return None if self.labels is None else len(self.labels)

    @property
    def has_outcomes_by_model(self) -> bool:
        """Whether each model has outcomes of its own, such as whether its answer was right."""
        return self.outcome.ndim > 1

    @property
    def units(self) -> Keys | None:
        """The clusters or periods, each of which is one observation; None if every case is."""
        return self.cluster if self.period is None else self.period

    @property
    def _count(self) -> int:
        return int(self.weight.sum()) if self.is_counted and self.weight is not None else len(self)

    @property
    def n(self) -> int:
        """Number of cases with a positive weight."""
        if self.is_counted:
            return self._count
        return len(self) if self.weight is None else int(np.count_nonzero(self.weight > 0.0))

    def chunks(self, model: str | None = None) -> Iterator[Chunk]:
        """Yield the cases in order, converted and checked, with the forecasts of a model (by default the only one)."""
        name = self._named(model)
        # The outcomes and weights were already checked with the first model.
        check, check_shared = name not in self._checked, not self._checked
        size = CHUNK if self.labels is None else max(CHUNK // len(self.labels), FEWEST_ROWS)
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield Chunk(
                self._forecast(name, part, check=check),
                self._outcome(part, name, check=check_shared),
                self._weight(part, check=check_shared),
            )
        self._checked.add(name)

    def top_chunks(self, model: str | None = None) -> Iterator[Chunk]:
        """Yield the cases of classes in order as those of the top class; see `Event`."""
        for forecast, outcome, weight in self.chunks(model):
            highest = forecast.max(axis=0)
            is_top = forecast == highest
            right = is_top[outcome, np.arange(len(outcome))]
            if np.count_nonzero(is_top) > len(outcome):
                right &= is_top.argmax(axis=0) == outcome
            yield Chunk(highest, right, weight)

    def gathered(self, model: str | None = None) -> Chunk:
        """Return all cases as one checked chunk, with the forecasts of a model (by default the only one)."""
        name = self._named(model)
        self._check(name)
        return Chunk(self._forecast(name, ALL, check=False), self._outcome(ALL, name), self._weight(ALL))

    def checked(self) -> Cases:
        """Return these cases after checking the numbers of all models."""
        for model in self.forecasts:
            self._check(model)
        return self

    def outcomes(self) -> NDArray[Any]:
        """Return the checked outcomes: whether the event happened, or the class index. Forecasts are not read."""
        self.check_one_outcome()
        return self._outcome(ALL, check=not self._checked)

    def weights(self) -> Floats | None:
        """Return the checked weights. Forecasts are not read."""
        return self._weight(ALL, check=not self._checked)

    def without_equal_weights(self) -> Cases:
        """Return the cases without their weights if all of these are equal."""
        weight = self.weights()
        return self if weight is None or not (weight == weight[0]).all() else replace(self, weight=None)

    def of(self, model: str) -> Cases:
        """Return the same cases with the forecasts of one model, and its outcomes if these are by model."""
        own = {"outcome": self._own_outcome(model), "forecasts": {model: self.forecasts[model]}}
        return self._changed(self._checked, **own)

    def with_forecast(self, model: str, forecast: Floats) -> Cases:
        """Return the cases with computed forecasts of one model in place of all others; they are not checked."""
        return self._changed({model}, outcome=self._own_outcome(model), forecasts={model: forecast})

    def check_one_outcome(self) -> None:
        """Raise an error for outcomes by model, where a case must have one outcome."""
        if self.has_outcomes_by_model:
            law = "has an outcome for each model, which only propriety.estimate and propriety.compare can read"
            hint = f"pass the cases of one model, such as cases.of({self.models[0]!r})."
            raise InputValueError(law, argument="y_true", hint=hint)

    def with_keys(self, names: Iterable[str]) -> Cases:
        """Return the same cases with only the named keys."""
        return self._changed(self._checked, keys={name: self.keys[name] for name in names})

    def as_rows(self) -> Cases:
        """Return the cases of one event as those of two classes, with the rows (1 - p, p); classes stay as they are.

        Examples
        --------
        >>> cases = Cases(outcome=np.array([0, 1]), forecasts={"a": np.array([0.25, 0.75])}, sides=("no", "yes"))
        >>> cases.as_rows().labels, cases.as_rows().forecasts["a"]
        (('no', 'yes'), array([[0.75, 0.25], [0.25, 0.75]]))
        """
        if self.labels is not None:
            return self
        events = {model: self.gathered(model).forecast for model in self.forecasts}
        rows = {model: np.stack([1.0 - p, p], axis=1) for model, p in events.items()}
        outcome = self.outcomes().astype(np.intp)
        return self._changed(set(rows), outcome=outcome, forecasts=rows, labels=self.sides)

    def expanded(self) -> Cases:
        """Return the cases that counted rows stand for, one row each.

        Examples
        --------
        >>> rows = Cases(outcome=np.array([0, 1]), forecasts={"a": np.array([0.2, 0.7])}, weight=np.array([2, 1]))
        >>> replace(rows, is_counted=True).expanded().forecasts["a"]
        array([0.2, 0.2, 0.7])
        """
        if not self.is_counted:
            return self
        counts = self.weights()
        if counts is None:
            return replace(self, is_counted=False)
        if counts.sum() > MOST_EXPANDED:
            law = f"rows that stand for more than {MOST_EXPANDED:,} cases are evaluated from their counts only"
            raise InputValueError(law, hint="pass propriety.condense of these cases.")
        rows = np.repeat(np.arange(len(self)), counts.astype(np.intp))
        return replace(self.where(rows), weight=None, rows=None, is_counted=False)

    def where(self, kept: NDArray[Any]) -> Cases:
        """Return some of the cases, by mask or index; keys keep only labels that still occur.

        Examples
        --------
        >>> cases = Cases(outcome=np.array([0, 1, 1]), forecasts={"a": np.array([0.2, 0.7, 0.4])})
        >>> cases.where(np.array([True, False, True])).rows
        array([0, 2])
        """
        return self._changed(
            set(self._checked),
            outcome=self.outcome[kept],
            forecasts={model: forecast[kept] for model, forecast in self.forecasts.items()},
            weight=None if self.weight is None else self.weight[kept],
            keys={name: key.where(kept) for name, key in self.keys.items()},
            cluster=None if self.cluster is None else self.cluster.where(kept),
            period=None if self.period is None else self.period.where(kept),
            id=None if self.id is None else self.id.where(kept),
            rows=np.arange(len(self))[kept] if self.rows is None else self.rows[kept],
            censoring=None if self.censoring is None else self.censoring.where(kept),
        )

    def event(self, event: Event, model: str | None = None) -> Cases:
        """Return the cases of one event: the binary event, one of a class or cut point, or that of the top class.

        Cumulative forecasts are rounded to 12 decimals. Those that exceed 1 by no more than the tolerance are set to 1.

        Examples
        --------
        >>> rows = np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]])
        >>> cases = Cases(outcome=np.array([2, 1]), forecasts={"a": rows}, labels=("low", "mid", "high"))
        >>> cases.event(Event("cut", 1)).gathered()
        Chunk(forecast=array([0.5, 0.9]), outcome=array([False,  True]), weight=None)
        >>> cases.event(Event("top")).gathered()
        Chunk(forecast=array([0.5, 0.7]), outcome=array([ True, False]), weight=None)
        """
        kind, place = event
        if kind == "event":
            return self.of(self._named(model))
        if kind == "cut":
            return next(itertools.islice(self.events("cut", model), place, None))
        name = self._named(model)
        if kind == "top":
            forecast, right, start = np.empty(len(self)), np.empty(len(self), dtype=np.bool_), 0
            for part in self.top_chunks(name):
                own = slice(start, start := start + len(part.outcome))
                forecast[own], right[own] = part.forecast, part.outcome
            return self._event(name, forecast, right)
        self._check(name)
        return self._event(name, self.forecasts[name][:, place], self.outcome == place)

    def events(self, kind: Literal["class", "cut"], model: str | None = None) -> Iterator[Cases]:
        """Yield the cases of every class, or of every cut point, in order; see `event`."""
        if kind == "class":
            yield from (self.event(Event("class", place), model) for place in range(self.classes or 0))
            return
        name = self._named(model)
        self._check(name)
        head: Floats = np.zeros(len(self))
        for place, column in enumerate(self.forecasts[name].T[:-1]):
            # Added one by one, as engines do, so that both round the same way.
            head = head + column.astype(np.float64, copy=False)
            forecast = np.minimum(np.round(head, CUMULATIVE_DECIMALS), 1.0)
            yield self._event(name, forecast, self.outcome <= place)

    def _event(self, model: str, forecast: NDArray[Any], happened: NDArray[np.bool_]) -> Cases:
        return self._changed({model}, outcome=happened, forecasts={model: forecast}, labels=None)

    def _changed(self, checked: set[str], **changes: Any) -> Cases:
        """Return changed cases. `checked` names models whose numbers are known to be valid.

        If the numbers are the same, it is the set of these cases, so that a check of either counts for both.
        """
        changed = replace(self, **changes)
        object.__setattr__(changed, "_checked", checked)
        return changed

    def _named(self, model: str | None) -> str:
        """Return the name of a model, by default of the only one."""
        if model is not None:
            return model
        if len(self.forecasts) > 1:
            offender, hint = f"got those of {list(self.forecasts)}", "pass those of one of them."
            raise InputTypeError(demands.ONE_MODEL, argument="y_proba", offender=offender, hint=hint)
        (only,) = self.forecasts
        return only

    def _check(self, model: str) -> None:
        if model not in self._checked:
            for _ in self.chunks(model):
                pass  # Iterating checks the numbers.

    def _forecast(self, model: str, part: slice, *, check: bool) -> Floats:
        whole = self.forecasts[model]
        if not check:
            return np.ascontiguousarray(whole[part].T, dtype=np.float64)
        argument = self.arguments.get(model, "y_proba")
        tolerance = None if self.labels is None else self.tolerance
        return checked_forecast(whole, part, argument=argument, tolerance=tolerance, rows=self.rows)

    def _own_outcome(self, model: str) -> NDArray[Any]:
        """Return the outcomes of a model, which are those of all models unless they are by model."""
        return self.outcome[:, self.models.index(model)] if self.has_outcomes_by_model else self.outcome

    def _outcome(self, part: slice, model: str | None = None, *, check: bool = False) -> NDArray[Any]:
        outcome = (self.outcome if model is None else self._own_outcome(model))[part]
        if self.labels is not None:
            if check and not laws.are_class_indices(outcome, len(self.labels)):
                laws.refuse_class_indices(self.outcome, len(self.labels), self.rows)
            return outcome.astype(np.intp, copy=False)
        if outcome.dtype == np.bool_:
            return outcome
        if check and not laws.are_events(outcome):
            laws.refuse_outcomes(self.outcome, self.rows)
        return outcome.astype(np.bool_)

    def _weight(self, part: slice, *, check: bool = False) -> Floats | None:
        if self.weight is None:
            return None
        weight = self.weight[part].astype(np.float64, copy=False)
        if check and not (weight.min() >= 0.0 and weight.max() < np.inf):
            laws.refuse_weights(self.weight, self.rows)
        return weight


def check_nothing_beside(what: str, beside: Mapping[str, Any]) -> None:
    """Raise an error if cases, or something made of them, are passed beside arguments that describe cases."""
    given = [name for name, value in beside.items() if value is not None]
    if given:
        verb, it = ("hold", "them") if what == "cases" else ("holds", "it")
        law = "{what} {verb} outcomes, forecasts, weights and keys already; pass {it} without {argument}"
        raise InputTypeError(Wording(law, what=what, verb=verb, it=it), argument=given[0])
