"""The ledger: forecast tables and moments of some models on the same cases, by event and key."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety import checks, demands
from propriety.checks import check_cells
from propriety.errors import InputTypeError, InputValueError
from propriety.ledger.case_moments import moments_of_cases
from propriety.ledger.engine_moments import cases_of_engine, moments_of_engine, tables_of_engine
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.moments import OUTCOME, TAKEN, Moments
from propriety.result import Backend, frame_of
from propriety.rules.families import Brier
from propriety.rules.functions import Excess, NetLoss
from propriety.rules.rule import Rule, check_rule
from propriety.rules.scoring import observed_rates
from propriety.tables.cases import Cases
from propriety.tables.censoring import Censoring
from propriety.tables.events import Event, event_of, events_of
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.keys import check_period_labels
from propriety.tables.labels import ordered_labels
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.table_holder import HoldsTables
from propriety.tables.table_laws import check_same_cases

if TYPE_CHECKING:
    from propriety.storage.places import Location
    from propriety.storage.store import Written

Kind: TypeAlias = Literal["binary", "multiclass", "ordinal"]
Place: TypeAlias = tuple[str, Event]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Ledger(HoldsTables):
    """Forecast tables and moments of models on the same cases, by event and key; see `propriety.condense`.

    `estimate`, `compare`, `slices` and `evaluate` compute their results from it. Ledgers add: ``monday + tuesday`` is
    the ledger of the cases of both days, and a ledger stored on one day can be added to on the next.

    Parameters
    ----------
    models : tuple of str
        Names of the models.
    events : tuple of Event
        Events of the tables: the binary event; or each cut point, each class and the top class.
    labels : tuple, optional
        The labels of the classes in order; None for one event.
    index : KeyIndex
        The combinations of keys that occur.
    dependence : {"cluster", "period"}, optional
        Whether cases may be correlated within clusters or within periods.
    is_weighted : bool
        Whether the cases have weights.
    dropped : int
        Rows left out because of missing values.
    source : Cases or LazyCases, optional
        Cases from which more can be computed; None for a ledger from files.
    prevalence : float, optional
        The event rate that the weights give all cases together; see `propriety.at_prevalence`.
    """

    models: tuple[str, ...]
    events: tuple[Event, ...]
    labels: tuple[Any, ...] | None
    index: KeyIndex
    dependence: Literal["cluster", "period"] | None
    is_weighted: bool
    dropped: int = 0
    source: Cases | LazyCases | None = None
    prevalence: float | None = None
    _tables: dict[Place, KeyedTables] = field(default_factory=dict, metadata={"hidden": True})
    _whole: dict[Place, ForecastTable] = field(default_factory=dict, metadata={"hidden": True})
    _moments: dict[Rule, Moments] = field(default_factory=dict, metadata={"hidden": True})
    _collected: dict[str, Cases | None] = field(default_factory=dict, metadata={"hidden": True})

    @classmethod
    def of_source(cls, source: Cases | LazyCases, events: tuple[Event, ...], *, cells: int | None = None) -> Ledger:
        """Make the ledger of cases. Arrays are read when a result is needed; an engine counts its rows at once."""
        taken = next((name for name in source.keys if name in TAKEN), None)
        if taken is not None:
            law = f"by cannot have a key called {taken!r}, a name that moments use for their own cells"
            raise InputValueError(law, hint="give the key another name.")
        dependence: Literal["cluster", "period"] | None = "cluster" if source.cluster is not None else None
        dependence = "period" if source.period is not None else dependence
        shared: dict[str, Any] = {"models": source.models, "events": events, "labels": source.labels}
        shared |= {"dependence": dependence, "source": source}
        if isinstance(source, LazyCases):
            filled = tables_of_engine(source, cells=cells)
            shared |= {"index": filled.index, "dropped": filled.dropped, "_tables": filled.tables}
            return cls(**shared, is_weighted=source.weighted)
        weight = source.weight
        if weight is not None and not (weight > 0.0).all():
            # Cases and groups of zero weight are left out, as from the tables of an engine.
            shared["source"] = source = source.checked().where(weight > 0.0)
        if source.weight is not None and (source.weight == 1.0).all():
            shared["source"] = source = replace(source, weight=None, is_counted=False)  # Draws are those of cases.
        index, _ = KeyIndex.of_cases(source.keys, len(source))
        return cls(**shared, index=index, is_weighted=source.weight is not None, dropped=source.dropped)

    @classmethod
    def of_cases(cls, cases: Cases | LazyCases, *, cells: int | None = None) -> Ledger:
        """Make the ledger of cases as they were read, with the tables that suit their outcome."""
        if isinstance(cases, LazyCases):
            return cls.of_source(cases, cases.events, cells=cells)
        cases = cases.expanded()
        return cls.of_source(cases, events_of(cases.classes, ordered=cases.ordered))

    @classmethod
    def of_tables(cls, tables: Mapping[str, ForecastTable]) -> Ledger:
        """Make the ledger of the forecast tables of one event, by model, on the same cases; it has no moments."""
        check_same_cases(tables)
        first, event = next(iter(tables.values())), Event("event")
        return cls(
            models=tuple(tables),
            events=(event,),
            labels=None,
            index=KeyIndex.keyless(),
            dependence=None,
            is_weighted=first.is_weighted,
            dropped=first.dropped,
            _tables={(name, event): KeyedTables.of_tables([table], table.cells) for name, table in tables.items()},
            _whole={(name, event): table for name, table in tables.items()},
        )

    @property
    def kind(self) -> Kind:
        """What is forecast: an event, classes, or ordered classes."""
        if self.labels is None:
            return "binary"
        return "ordinal" if self.events[0].kind == "cut" else "multiclass"

    @property
    def event_note(self) -> str:
        """If the forecasts were given in two columns, which of them is the event's; else empty."""
        return "" if self.source is None else self.source.event_note

    @property
    def keys(self) -> dict[str, tuple[Any, ...]]:
        """The labels of each key."""
        return dict(zip(self.index.names, self.index.labels, strict=True))

    @property
    def n(self) -> int:
        """Number of cases with a positive weight."""
        if isinstance(self.source, Cases):
            return self.source.n
        return int(next(iter(self._tables.values())).n.sum())

    @property
    def classes(self) -> int | None:
        """Number of classes; None for one event."""
        return None if self.labels is None else len(self.labels)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The functions whose moments have been computed."""
        return tuple(self._moments)

    @property
    def rates(self) -> dict[Any, float]:
        """Observed frequency of the event, or of each class."""
        if self.labels is None:
            return {"event": self.table(self.models[0]).event_rate}
        if isinstance(self.source, Cases):
            shares = observed_rates(self.source).tolist()
        else:
            shares = [self.table(self.models[0], Event("class", place)).event_rate for place in range(len(self.labels))]
        return dict(zip(self.labels, shares, strict=True))

    def table(self, model: str | None = None, event: Any = None, **keys: Any) -> ForecastTable:
        """Return the forecast table of a model.

        Parameters
        ----------
        model : str, optional
            The model; may be omitted if there is only one.
        event : label, optional
            For classes, the class; for ordered classes the cut point "at most this class".
        **keys
            Labels of keys, such as ``site="x"``; the tables of keys not named are added up.

        Examples
        --------
        >>> import propriety as pr
        >>> ledger = pr.condense([0, 1, 1], {"a": [0.2, 0.7, 0.6]}, by={"site": ["x", "x", "y"]})
        >>> ledger.table("a", site="x").n
        2
        """
        place = (self.one_model(model), self._event(event))
        if not keys:
            return self._all(place)
        chosen, keyed = self.index.matches(keys), self.keyed_tables(*place)
        at = np.flatnonzero(chosen)
        return keyed.at(int(at[0])) if len(at) == 1 else keyed.where(chosen).whole()

    def tables(self, model: str | None = None) -> dict[Any, ForecastTable]:
        """Return the tables of a model by class, or by cut point "at most this class" if the classes are ordered.

        Examples
        --------
        >>> import propriety as pr
        >>> ledger = pr.condense([0, 2], [[0.7, 0.2, 0.1], [0.2, 0.3, 0.5]])
        >>> {label: table.n_events for label, table in ledger.tables().items()}
        {0: 1, 1: 0, 2: 1}
        """
        name = self.one_model(model)
        if self.labels is None:
            raise InputValueError("the ledger is of one event, whose table is ledger.table()")
        kind = "cut" if self.kind == "ordinal" else "class"
        return {self.labels[event.place]: self._all((name, event)) for event in self.events if event.kind == kind}

    def keyed_tables(self, model: str, event: Event) -> KeyedTables:
        """Return the tables of a model and event for every combination of keys."""
        place = (model, event)
        if place not in self._tables:
            if not isinstance(self.source, Cases):
                raise InputValueError(f"the ledger has no tables of {event}")
            self._tables[place] = KeyedTables.of_cases(self.source, model, event, self.entries(), len(self.index))
        return self._tables[place]

    def moments(self, rule: Rule) -> Moments:
        """Return the moments of a per-case function, such as a scoring rule, for all models.

        They are split by outcome, by every key, and by cluster or period; ``.over()`` adds them up.

        Examples
        --------
        >>> import propriety as pr
        >>> pr.condense([0, 1, 1], {"a": [0.2, 0.7, 0.6]}).moments(pr.Log()).means.round(4)
        array([0.3635])
        """
        check_rule(rule)
        self.fill([rule])
        return self._moments[rule]

    def fill(self, rules: Iterable[Rule]) -> None:
        """Compute the moments of functions that are still missing, on an engine in one query."""
        absent = [rule for rule in dict.fromkeys(rules) if rule not in self._moments]
        if not absent:
            return
        if isinstance(self.source, Cases):
            self._moments.update({rule: moments_of_cases(self.source, rule) for rule in absent})
        elif self.source is not None:
            names = [OUTCOME, *self.index.names, *([] if self.dependence is None else [self.dependence])]
            found = moments_of_engine(self.source, absent, rows=self.n, dropped=self.dropped)
            if any(int(one.n.sum()) != self.n for one in found.values()):
                raise InputValueError(demands.SAME_ROWS, argument="frame", hint="store it first.")
            self._moments.update({rule: one.over(*names) for rule, one in found.items()})
        else:
            law, known = f"the ledger has no moments of {absent[0]!r}", ", ".join(map(repr, self._moments)) or "none"
            hint = f"condense the cases with rules=[{_written(absent[0])}, ...]; there are those of {known}."
            raise InputValueError(f"{law}, and no cases to compute them from", hint=hint)

    def has_moments(self, rule: Rule) -> bool:
        """Whether the moments of a function are available or can be computed."""
        return rule in self._moments or self.source is not None

    @property
    def cases(self) -> Cases | None:
        """The cases themselves, from arrays or from a lazy frame small enough to load into memory."""
        if isinstance(self.source, LazyCases):
            if "cases" not in self._collected:
                self._collected["cases"] = cases_of_engine(self.source, self.dropped)
            found = self._collected["cases"]
            if found is None or len(found.keys) == len(self.index.names):
                return found
            return replace(found, keys={name: found.keys[name] for name in self.index.names})
        return self.source

    @property
    def censoring(self) -> Censoring | None:
        """How the weights of censored outcomes were estimated, if the ledger has its cases."""
        return self.source.censoring if isinstance(self.source, Cases) else None

    @property
    def uses_moments(self) -> bool:
        """Whether errors of means come from moments: always, unless they allow for estimated censoring weights."""
        return self.censoring is None

    def check_uncensored(self, done: str, hint: str) -> None:
        """Raise an error if the outcomes are censored, because the ledger would lose how their weights were made."""
        if self.censoring is not None:
            law = f"a ledger of censored outcomes cannot be {done}: it would lose how its weights were estimated"
            raise InputValueError(law, hint=hint)

    def check_own_weights(self, done: str) -> None:
        """Raise an error for weights of `at_prevalence`: the ledger would lose that the design fixed the event rate."""
        if self.prevalence is not None:
            law = f"a ledger weighted by at_prevalence cannot be {done}: its intervals would be too wide"
            raise InputValueError(law, hint=f"call at_prevalence after it was {done}.")

    def where(self, **keys: Any) -> Ledger:
        """Return the ledger of the cases with these labels; a list of labels means any of them."""
        return self.at_entries(self.index.matches(keys))

    def at_entries(self, chosen: NDArray[np.bool_]) -> Ledger:
        """Return the ledger of the cases in some entries of the index."""
        moments = {rule: one.where(chosen[self.index.entry_of(one.index)]) for rule, one in self._moments.items()}
        if isinstance(self.source, Cases):
            return replace(Ledger.of_source(self.source.where(chosen[self.entries()]), self.events), _moments=moments)
        tables = {place: one.where(chosen) for place, one in self._tables.items()}
        kept_index = self.index.where(chosen)
        return replace(
            self, index=kept_index, source=None, prevalence=None, _tables=tables, _whole={}, _moments=moments
        )

    def of_event(self, model: str, event: Any) -> Ledger:
        """Return the ledger of one event of classes, such as "y is this class", for one model; it has no moments."""
        found = self._event(event)
        # Tests of dependent cases need them; tables are enough for others.
        cases = self.cases if isinstance(self.source, Cases) or self.dependence is not None else None
        if cases is not None:
            own = Ledger.of_source(cases.event(found, model), (Event("event"),))
            return replace(own, _whole={(model, Event("event")): self.table(model, found)})
        return replace(Ledger.of_tables({model: self.table(model, found)}), dependence=self.dependence)

    def entries(self) -> NDArray[np.intp]:
        """Return the index entry of each case, for a ledger that has its cases."""
        cases = self.cases
        assert cases is not None  # noqa: S101  (for the type checker; such ledgers have cases)
        return KeyIndex.of_cases(cases.keys, len(cases))[1]

    def grid(self, cells: int) -> Ledger:
        """Return the ledger with its tables on a grid; each cell keeps the mean of its forecasts."""
        check_cells(cells)
        self.check_uncensored("put on a grid", "use it without cells.")
        places = [(model, event) for model in self.models for event in self.events]
        tables = {place: self.keyed_tables(*place).grid(cells) for place in places}
        return replace(self, source=None, _tables=tables, _whole={}, _moments=dict(self._moments))

    def periods(self) -> list[Any]:
        """Return the periods of the cases in order."""
        if isinstance(self.source, Cases) and self.source.period is not None:
            return list(self.source.period.labels)
        known = next(iter(self._moments.values()), None) or self.moments(Excess() if self.labels is None else Brier())
        return list(known.over("period").index.labels[0])

    @property
    def where_cases_are(self) -> str:
        """What is missing if the cases are not available, and why, for use in an error."""
        if isinstance(self.source, LazyCases):
            return "the individual cases in memory, and the frame has too many"
        return "the individual cases, which this ledger does not hold"

    def over(self, *names: str) -> Ledger:
        """Return the ledger in which the cases are added up over all labels of these keys.

        Examples
        --------
        >>> import propriety as pr
        >>> ledger = pr.condense([0, 1], {"a": [0.2, 0.7]}, by={"site": ["x", "y"], "day": [1, 2]})
        >>> list(ledger.over("day").keys)
        ['site']
        """
        if not names:
            return self
        for name in names:
            self.index.place(name)
        kept = tuple(name for name in self.index.names if name not in names)
        moments = {
            rule: one.over(*(name for name in one.index.names if name not in names))
            for rule, one in self._moments.items()
        }
        if isinstance(self.source, Cases):
            found = Ledger.of_source(self.source.with_keys(kept), self.events)
            return replace(found, prevalence=self.prevalence, _whole=dict(self._whole), _moments=moments)
        index, codes = self.index.only(kept)
        tables = {place: one.pooled(codes, len(index)) for place, one in self._tables.items()}
        return replace(self, index=index, _tables=tables, _moments=moments)

    @classmethod
    def merge(cls, ledgers: Iterable[Ledger]) -> Ledger:
        """Return the ledger of the cases of all parts, which must have the same models, events and keys.

        Tables are converted to the coarsest grid. Moments and the top class are kept if all parts have them.
        """
        parts = list(ledgers) if isinstance(ledgers, Iterable) else [ledgers]
        if not parts:
            raise InputValueError(demands.something_to_merge("ledger"))
        for one in parts:
            if not isinstance(one, Ledger):
                raise InputTypeError("must be ledgers", argument="ledgers", got_type=one)
        first = parts[0]
        if len(parts) == 1:
            return first
        for one in parts:
            one.check_uncensored("added", "pass the cases of all parts to censored together.")
            one.check_own_weights("added")
        for one in parts[1:]:
            checks.alike(first, one, ("models", "labels", "events", "dependence"), "ledgers")
        index, codes = KeyIndex.joined([one.index for one in parts]).distinct()
        ends = np.cumsum([0, *(len(one.index) for one in parts)])
        own = [codes[low:high] for low, high in itertools.pairwise(ends.tolist())]
        places = [(model, event) for model in first.models for event in first.events]
        tables = {
            place: KeyedTables.merge([one.keyed_tables(*place) for one in parts], own, len(index)) for place in places
        }
        asked = dict.fromkeys(rule for one in parts for rule in one.rules)
        common = [rule for rule in asked if all(one.has_moments(rule) for one in parts)]
        if first.dependence == "period":
            check_period_labels(ordered_labels(period for one in parts for period in one.periods()))
        return cls(
            models=first.models,
            events=first.events,
            labels=first.labels,
            index=index,
            dependence=first.dependence,
            is_weighted=any(one.is_weighted for one in parts),
            dropped=sum(one.dropped for one in parts),
            _tables=tables,
            _moments={rule: Moments.merge([one.moments(rule) for one in parts]) for rule in common},
        )

    def __add__(self, other: object) -> Ledger:
        return Ledger.merge([self, other]) if isinstance(other, Ledger) else NotImplemented

    def __radd__(self, other: object) -> Ledger:
        """Let `sum(ledgers)` start from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def to_parquet(self, folder: Location, *, partition: Sequence[str] = (), replace: bool = False) -> Written:
        """Write the ledger to a folder of Parquet files, or add its partitions to a stored one; needs PyArrow.

        A write is whole or not at all: if it is interrupted, the folder holds what it held before, and the same write
        run again completes it. A finished write that is run again does nothing, and says so.

        Parameters
        ----------
        folder : str, path or store of obstore
            A new folder, or one that holds a ledger of the same models, keys and rules. An address such as
            ``"s3://bucket/ledger"`` is one of an object store, which needs obstore.
        partition : list of str
            Keys whose labels have subfolders of their own, to which more can be added.
        replace : bool
            Whether partitions that the folder holds with other cases are replaced, for example because labels arrived
            late. By default they are an error.

        Returns
        -------
        Written
            The partitions that were added, and those that were held already.

        Examples
        --------
        >>> import tempfile
        >>> import propriety as pr
        >>> ledger = pr.condense([0, 1, 1], {"a": [0.2, 0.7, 0.6]}, by={"day": [1, 1, 2]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     monday = ledger.where(day=1).to_parquet(folder, partition=["day"])
        ...     week = ledger.to_parquet(folder, partition=["day"])
        >>> monday.added, week.added, week.held
        (('day=1',), ('day=2',), ('day=1',))
        """
        from propriety.ledger.ledger_files import write_ledger

        self.check_uncensored("stored", "store the cases, and call censored and condense after reading.")
        self.check_own_weights("stored")
        return write_ledger(self, folder, partition=partition, replace=replace)

    @classmethod
    def from_parquet(cls, folder: Location) -> Ledger:
        """Read a ledger that `to_parquet` wrote."""
        from propriety.ledger.ledger_files import read_ledger

        return read_ledger(folder)

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """Return the rows of all tables: model, event, keys, forecast, events, non_events and their squares."""
        from propriety.ledger.stored_rows import stored_tables

        return frame_of(stored_tables(self).to_pydict(), backend=backend)

    def _all(self, place: Place) -> ForecastTable:
        if place not in self._whole:
            if isinstance(self.source, Cases):
                self._whole[place] = ForecastTable.from_cases(self.source, *place)
            else:
                self._whole[place] = self.keyed_tables(*place).whole(dropped=self.dropped)
        return self._whole[place]

    def one_model(self, model: str | None) -> str:
        """Return the model named, or the only one if none is named."""
        if model is None and len(self.models) == 1:
            return self.models[0]
        if model is None:
            raise InputValueError(f"one model must be chosen; there are {list(self.models)}")
        return checks.choice(model, "model", self.models)

    def _event(self, event: Any) -> Event:
        if event is None and self.labels is not None:
            law = f"must name one of the classes {list(self.labels)}, each of which is an event"
            raise InputValueError(
                law, argument="event", hint="ledger.of_event(model, event) is the ledger of one of them."
            )
        return event if isinstance(event, Event) else event_of(event, self.labels, ordered=self.kind == "ordinal")

    def __repr__(self) -> str:
        keys = f", keys={ {name: len(labels) for name, labels in self.keys.items()} }" if self.keys else ""
        return f"Ledger(models={list(self.models)}, kind={self.kind}, n={self.n}{keys})"


def _written(rule: Rule) -> str:
    """Return a rule as the user writes it: the net loss is that of a measure."""
    return f"measures.NetBenefit({rule.threshold:g})" if isinstance(rule, NetLoss) else repr(rule)
