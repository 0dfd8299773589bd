"""Findings: what the cases show about one measure of one model, as a row, and tables of such rows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.inference.measures.measure import Measure
from propriety.inference.notes import Note
from propriety.plain_data import plain
from propriety.result import Floats, Result

Verdict: TypeAlias = Literal["good", "no error found", "small", "bad", "too few", "not tested"]
Label: TypeAlias = Hashable
Objects: TypeAlias = NDArray[np.object_]

NO_MODELS = ("rest", "no model", "itself recalibrated")  # What else a model is compared with.
GROUPS = "groups"  # The key of what is said over groups, with the names of the keys that form them.
ADDED_KEYS = ("class", "cut", "horizon", GROUPS)  # Keys that an analysis adds: no key of the cases may be called so.


BOUND = "bound"  # The statistic of limits between which a value lies for certain.
# Statistics over groups: their mean, the range of the value of a further one, I2 with the joint test, and tau.
MEAN_OF_GROUPS, FURTHER_GROUP, HETEROGENEITY, TAU = "mean of groups", "further group", "heterogeneity", "tau"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Finding(Result):
    """What the cases show about one measure of one model; `float(finding)` is its value.

    Parameters
    ----------
    measure : Measure
        The measure.
    statistic : str
        "value", or what else is said of the measure.
    model : str
        The model.
    against : str, optional
        What it is compared with: another model, "rest" of the groups, "no model"; None if it is not a difference.
    keys : mapping of str to label
        The group, class or cut point that it is about; empty for all cases.
    value, low, high, error : float
        The number, its limits and its standard error; NaN if unknown, or if there is only a test.
    level : float
        Level of the limits and of the verdict.
    method : str
        How limits or p-value were computed.
    p, p_adjusted : float
        p-value of its ideal value, or of no difference, and the same adjusted for all rows of its kind.
    n, events, units : int, optional
        Number of cases, of events among them, and of independent clusters or periods.
    enough : bool, optional
        Whether there are enough outcomes to have shown a gross error, whatever the forecasts.
    no_model : float
        The score of the constant event rate, of which margins are shares; NaN where they are not.
    verdict : {"good", "no error found", "small", "bad", "too few", "not tested"}, optional
        What follows; None if no value is ideal.
    notes : tuple of Note
        Facts and cautions.
    extra : mapping of str to float or str
        Further columns of a table, which no verdict reads.

    Examples
    --------
    >>> import propriety as pr
    >>> ratio = pr.check_calibration([0, 0, 0, 1] * 100, [0.25] * 400, seed=1)[1]
    >>> print(ratio)
    forecast: observed/expected: 1.00 (0.83 to 1.18), no error found
    >>> float(ratio), ratio.verdict
    (1.0, 'no error found')
    """

    measure: Measure
    model: str
    statistic: str = "value"
    against: str | None = None
    keys: Mapping[str, Label] = field(default_factory=dict)
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    error: float = math.nan
    level: float = 0.95
    method: str = ""
    p: float = math.nan
    p_adjusted: float = math.nan
    n: int = 0
    events: int | None = None
    units: int | None = None
    enough: bool | None = None
    no_model: float = math.nan
    verdict: Verdict | None = None
    notes: tuple[Note, ...] = ()
    extra: Mapping[str, float | str] = field(default_factory=dict)

    def __float__(self) -> float:
        return self.value

    @property
    def has_limits(self) -> bool:
        """Whether both limits are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def is_of_pair(self) -> bool:
        """Whether it is about the difference between two models."""
        return self.against is not None and self.against not in NO_MODELS

    @property
    def tested_p(self) -> float:
        """The adjusted p-value if there is one, else the p-value."""
        return self.p if math.isnan(self.p_adjusted) else self.p_adjusted

    def note(self, code: str) -> Note | None:
        """Return the note with a code, if there is one."""
        return next((note for note in self.notes if note.code == code), None)

    def columns(self) -> Mapping[str, Sequence[Any] | NDArray[Any]]:
        """Return the columns of a table of this row."""
        return Findings.of([self]).columns()

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain Python data."""
        counts = {name: getattr(self, name) for name in COUNTS}
        return {name: plain(column)[0] for name, column in self.columns().items()} | counts

    def _facts(self) -> dict[str, Any]:
        numbers = {name: value for name, value in self.to_dict().items() if value not in (None, "", "value")}
        return {name: value for name, value in numbers.items() if value == value}  # noqa: PLR0124  (not NaN)

    def __str__(self) -> str:
        from propriety.inference.finding_words import finding_words

        return finding_words(self)


NUMBERS = ("value", "low", "high", "error", "level", "p", "p_adjusted", "no_model")
COUNTS = ("n", "events", "units")
MAIN = ("value", "low", "high", "p", "p_adjusted", "verdict", "notes")
PLAIN = tuple(one.name for one in fields(Finding) if one.name not in ("keys", "extra"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Findings(Result):
    """A table of findings; `len`, iteration and indexing give its rows, each a `Finding`.

    Parameters
    ----------
    measure, model, statistic, against : ndarray of shape (rows,)
        As of a `Finding`; a row is the only one with these and its keys.
    value, low, high, error, level, p, p_adjusted, no_model : ndarray of float
        Its numbers, NaN where unknown.
    n, events, units : ndarray of float
        Its counts, NaN where unknown.
    method, enough, verdict, notes : ndarray
        How the limits were computed, and what follows.
    keys, extra : mapping of str to ndarray
        A column for each key, None where a row is about all of its labels; and further columns.
    dropped : int
        Rows of the data that were left out because of missing values.
    """

    measure: Objects
    model: Objects
    statistic: Objects
    against: Objects
    value: Floats
    low: Floats
    high: Floats
    error: Floats
    level: Floats
    p: Floats
    p_adjusted: Floats
    n: Floats
    events: Floats
    units: Floats
    enough: Objects
    no_model: Floats
    verdict: Objects
    method: Objects
    notes: Objects
    keys: Mapping[str, Objects] = field(default_factory=dict)
    extra: Mapping[str, Objects] = field(default_factory=dict)
    dropped: int = 0

    def __post_init__(self) -> None:
        names = zip(self.statistic, self.model, self.against, *self.keys.values(), strict=True)
        several = [(measure.key, *row) for measure, row in zip(self.measure, names, strict=True)]
        if len(set(several)) < len(several):
            raise InputValueError("findings must differ in measure, statistic, model, against or keys")

    @classmethod
    def of(cls, rows: Iterable[Finding], *, dropped: int = 0, **facts: Any) -> Self:
        """Make the table of some rows, in their order; `facts` are the other fields of a subclass."""
        rows = list(rows)
        columns: dict[str, Any] = {}
        for name in PLAIN:
            own = [getattr(row, name) for row in rows]
            if name in NUMBERS or name in COUNTS:
                columns[name] = np.array([math.nan if one is None else one for one in own], dtype=np.float64)
            else:
                columns[name] = objects(own)
        for name in ("keys", "extra"):
            known = sorted(dict.fromkeys(key for row in rows for key in getattr(row, name)), key=GROUPS.__eq__)
            columns[name] = {key: objects([getattr(row, name).get(key) for row in rows]) for key in known}
        return cls(**columns, dropped=dropped, **facts)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Finding]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, place: int) -> Finding:
        columns: dict[str, Any] = {name: getattr(self, name)[place] for name in PLAIN}
        columns |= {name: float(columns[name]) for name in NUMBERS}
        columns |= {name: None if math.isnan(columns[name]) else int(columns[name]) for name in COUNTS}
        for name in ("keys", "extra"):
            own = {key: column[place] for key, column in getattr(self, name).items()}
            columns[name] = {key: one for key, one in own.items() if one is not None}
        return Finding(**columns)

    def where(
        self,
        *,
        measure: Any = None,
        model: str | None = None,
        against: str | None = None,
        statistic: str | None = None,
        verdict: str | None = None,
        keys: Mapping[str, Label] | None = None,
    ) -> Findings:
        """Return the rows with these names; `keys={}` means those of all cases together.

        Examples
        --------
        >>> import propriety as pr
        >>> found = pr.check_calibration([0, 0, 1, 1] * 100, [0.2, 0.4, 0.6, 0.8] * 100, seed=1)
        >>> round(float(found.where(measure="observed_expected")[0]), 3)
        1.0
        """
        chosen = np.ones(len(self), dtype=np.bool_)
        named = {"model": model, "against": against, "statistic": statistic, "verdict": verdict}
        for name, wanted in named.items():
            if wanted is not None:
                chosen &= getattr(self, name) == wanted
        if measure is not None:
            from propriety.inference.measures.reading import read_measure  # Measures make findings.

            key = measure if isinstance(measure, str) else read_measure(measure).key
            chosen &= np.array([one.key == key for one in self.measure], dtype=np.bool_)
        for key, label in ({} if keys is None else keys).items():
            column = self.keys.get(key, [None] * len(self))
            chosen &= np.array([one == label for one in column], dtype=np.bool_)  # Labels may be tuples.
        if keys is not None:
            for key in self.keys.keys() - keys.keys():
                chosen &= np.array([one is None for one in self.keys[key]], dtype=np.bool_)
        return self.rows(np.flatnonzero(chosen))

    def rows(self, places: NDArray[np.intp]) -> Findings:
        """Return some rows, with the same columns."""
        columns: dict[str, Any] = {name: getattr(self, name)[places] for name in PLAIN}
        for name in ("keys", "extra"):
            columns[name] = {key: column[places] for key, column in getattr(self, name).items()}
        return Findings(**columns, dropped=self.dropped)

    @property
    def main_columns(self) -> tuple[str, ...]:  # type: ignore[override]  # keys differ from table to table
        """The columns that a notebook shows."""
        return (*self.keys, "model", "against", "measure", "statistic", *MAIN)

    @property
    def case_keys(self) -> tuple[str, ...]:
        """The keys of the cases, without those that an analysis adds."""
        return tuple(name for name in self.keys if name not in ADDED_KEYS)

    @property
    def differences(self) -> Findings:
        """The rows that compare two models."""
        return self.rows(np.flatnonzero([against is not None and against not in NO_MODELS for against in self.against]))

    def ranks(self) -> Findings:
        """Return the values of the models of a comparison, the best first, with their ranks as further columns.

        `rank` is that of the value, or of its distance from an ideal value, and 1 if it is not known which values are
        better. `best_rank` and `worst_rank` are those that the tests of differences do not exclude: after all models
        that are shown to be better, and before all that are shown to be worse.

        Examples
        --------
        >>> import propriety as pr
        >>> ranked = pr.compare(
        ...     [0, 1, 0, 1] * 50, {"a": [0.3, 0.6, 0.2, 0.8] * 50, "b": [0.2, 0.9, 0.1, 0.9] * 50}
        ... ).ranks()
        >>> list(zip(ranked.model, ranked.extra["rank"], ranked.extra["worst_rank"]))
        [('b', 1, 1), ('a', 2, 2)]
        """
        from propriety.inference.ranks import ranked

        return ranked(self)

    def columns(self) -> Mapping[str, Sequence[Any] | NDArray[Any]]:
        """Return one column for each number, key and further number; notes are shown by their codes."""
        shown: dict[str, Any] = {"model": self.model.tolist(), "measure": [one.key for one in self.measure]}
        # A key of the cases may be called like a column.
        shown |= {f"by_{name}" if name in COLUMNS else name: _texts(column) for name, column in self.keys.items()}
        shown |= {name: getattr(self, name).tolist() for name in ("statistic", "against")}
        shown |= {name: getattr(self, name) for name in (*NUMBERS, *COUNTS) if name != "no_model"}
        shown |= {name: getattr(self, name).tolist() for name in ("enough", "verdict", "method")}
        shown["notes"] = [", ".join(note.code for note in notes) for notes in self.notes]
        return shown | {name: _plain(column) for name, column in self.extra.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as plain Python data, with the number of rows left out."""
        return {name: plain(column) for name, column in self.columns().items()} | {"dropped": self.dropped}

    def _facts(self) -> dict[str, Any]:
        models = list(dict.fromkeys(self.model.tolist()))
        return {"rows": len(self), "models": models, "measures": list(dict.fromkeys(one.key for one in self.measure))}

    def __str__(self) -> str:
        from propriety.inference.finding_words import table_words

        return table_words(self)


COLUMNS = frozenset((*PLAIN, "notes", "dropped", "extra"))


def objects(values: Sequence[Any]) -> Objects:
    """Return values of any kind as one column, tuples included."""
    column = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        column[place] = value
    return column


def check_keys_of(names: Iterable[str]) -> None:
    """Raise an error if a key of the cases has a name that the analysis gives to a key of its own."""
    for name in names:
        if name in ADDED_KEYS:
            law = f"by cannot have a key called {name!r}, which is that of classes, cut points, horizons or groups"
            raise InputValueError(law, hint="give the key another name.")


def _texts(column: Objects) -> list[Any]:
    """Return labels as they are, or as texts if they are of several kinds, which no frame holds in one column."""
    kinds = {type(label) for label in column.tolist() if label is not None}
    return column.tolist() if len(kinds) < 2 else [None if one is None else str(one) for one in column]


def _plain(column: Objects) -> list[Any] | Floats:
    values = column.tolist()
    if all(one is None or isinstance(one, float | int) for one in values):
        return np.array([math.nan if one is None else one for one in values], dtype=np.float64)
    return cast("list[Any]", values)
