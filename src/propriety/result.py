"""Base classes of results: frozen dataclasses that convert to data frames, dicts and text."""

from __future__ import annotations

import dataclasses
import html
import importlib.util
import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from propriety import checks
from propriety.errors import MissingDependencyError
from propriety.plain_data import plain, strict_json
from propriety.upward import upward

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats: TypeAlias = NDArray[np.float64]
Names: TypeAlias = NDArray[np.str_]
Tuples: TypeAlias = NDArray[np.object_]  # A column of tuples of texts.

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]

BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")
ROWS_SHOWN = 10
ALL_SHOWN = 30  # A table of at most this many rows is shown in full, such as the scores of two models.
NUMBER = "white-space: nowrap"
TEXT = "text-align: left; overflow-wrap: break-word"


def frame_of(columns: Mapping[str, Any], *, backend: Backend | None = None) -> Any:
    """Make a data frame from `columns` with the given library: "pandas", "polars" or "pyarrow".

    Without `backend`, the first of the three that is installed is used.
    """
    if backend is None:
        backend = next((name for name in BACKENDS if importlib.util.find_spec(name)), None)
    if backend is None:
        law = "A frame needs pandas, polars or pyarrow, and none is installed"
        raise MissingDependencyError(law, hint="pip install pandas.")
    checks.choice(backend, "backend", BACKENDS)
    return nw.from_dict(dict(columns), backend=backend).to_native()


class Result:
    """Base class of results: dataclasses whose array fields are the columns of one tidy table."""

    __slots__ = ()

    main_columns: ClassVar[tuple[str, ...]] = ()  # Those that a notebook shows; by default all.
    facts: ClassVar[tuple[str, ...]] = ()  # Attributes, also of a field ("verdict.gain"), that the one-line view shows.

    def columns(self) -> Mapping[str, Sequence[Any] | NDArray[Any]]:
        """Columns of the tidy table: the array fields, or one row of plain fields if there are no arrays."""
        fields = self._fields()
        arrays = {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
        return arrays or {name: [str(value) if hasattr(value, "stored") else value] for name, value in fields.items()}

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """Return the tidy table as a pandas, Polars or PyArrow frame (`backend`; the first installed if not given)."""
        return frame_of(self.columns(), backend=backend)

    def to_dict(self) -> dict[str, Any]:
        """Return every field as plain Python data, with arrays as lists; `to_json` makes it strict JSON."""
        return {name: plain(value) for name, value in self._fields().items()}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the data of `to_dict` as strict JSON, which every parser accepts."""
        return strict_json(self.to_dict(), indent)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the result on the given axes, or on new ones, and return them; needs matplotlib.

        The options are those of the plot function for this kind of result in `propriety.plots`.
        """
        return upward("figure", self, ax, **options)

    def _fields(self) -> dict[str, Any]:
        """Return the fields by name, without those marked `hidden`, which are kept only for further computation."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]  # a dataclass by contract
        return {field.name: _shown(getattr(self, field.name)) for field in fields if not field.metadata.get("hidden")}

    def _facts(self) -> dict[str, Any]:
        """Return what the one-line view shows: the `facts`, by default the number of rows and every plain field.

        Left out is what is not known, and a fact that has the default value of its field, such as no dropped rows.
        """
        fields = self._fields()
        arrays = [value for value in fields.values() if isinstance(value, np.ndarray)]
        rows = {"rows": len(arrays[0])} if arrays else {}
        if not self.facts:
            return rows | {name: v for name, v in fields.items() if v is not None and not isinstance(v, np.ndarray)}
        defaults = {field.name: field.default for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        values = {path: rows.get(path) if path == "rows" else attrgetter(path)(self) for path in self.facts}
        known = {path: value for path, value in values.items() if value not in (None, "", defaults.get(path))}
        return {path.rpartition(".")[2]: value for path, value in known.items()}

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={_brief(value)}" for name, value in self._facts().items())
        return f"{type(self).__name__}({facts})"

    def _repr_html_(self) -> str:
        """Return the notebook view: the first rows of the tidy table, or a list of the fields if there is one row."""
        columns = self.columns()
        length = max((len(column) for column in columns.values()), default=0)
        if length == 0:
            return f"<p>{html.escape(str(self))}</p>"
        if length == 1:
            fields = {name: _cell(column[0])[0] for name, column in columns.items()}
            known = {name: text for name, text in fields.items() if text}
            return html_table({type(self).__name__: [*known], "": [*known.values()]})
        shown = length if length <= ALL_SHOWN else ROWS_SHOWN
        first = {
            name: column[:shown]
            for name, column in columns.items()
            if not self.main_columns or name in self.main_columns
        }
        hidden = len(columns) - len(first)
        notes = [f"{length - shown:,} more rows"] if length > shown else []
        notes += [f"{hidden} more column{'s' * (hidden > 1)}: see to_frame()"] if hidden else []
        more = f"<p>{'; '.join(notes)}</p>" if notes else ""
        return f"<p><code>{html.escape(repr(self))}</code></p>{html_table(first)}{more}"


def html_table(columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> str:
    """Return an HTML table that fits the width of a notebook.

    Long names and texts are wrapped, numbers are not; columns without any entry are left out.

    Examples
    --------
    >>> html_table({"low_p": [0.123456, 2.0], "note": ["", None]})
    '<div style="overflow-x: auto"><table><thead><tr><th style="white-space: nowrap">low_<wbr>p</th></tr></thead>...'
    """
    cells = {name: [_cell(value) for value in column] for name, column in columns.items()}
    shown = {name: column for name, column in cells.items() if any(text for text, _ in column)}
    head = "".join(
        f'<th style="{column[0][1]}">{html.escape(name).replace("_", "_<wbr>")}</th>' for name, column in shown.items()
    )
    body = "".join(
        "<tr>" + "".join(f'<td style="{style}">{html.escape(text)}</td>' for text, style in row) + "</tr>"
        for row in zip(*shown.values(), strict=True)
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div style="overflow-x: auto">{table}</div>'  # A wide table scrolls, so that no column is cut off.


class Score(float):
    """A mean score: a number together with its rule, scale and number of cases.

    It behaves as a `float`.

    Parameters
    ----------
    value : float
        The number.
    rule : str
        The rule under which it was computed.
    scale : str
        The scale of the number.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    weight : float
        Total weight of the cases.
    higher_is_better : bool
        Whether higher values are better.

    Examples
    --------
    >>> import propriety as pr
    >>> score = pr.brier_score([0, 1, 1], [0.1, 0.8, 0.6])
    >>> score
    Score(0.07, rule='Brier()', scale='one component, 0 to 1, lower is better', n=3)
    >>> round(2 * score, 6), score.n, score.dropped
    (0.14, 3, 0)
    """

    rule: str
    scale: str
    n: int
    weight: float
    dropped: int
    higher_is_better: bool

    def __new__(
        cls,
        value: float,
        *,
        rule: str = "",
        scale: str = "",
        n: int = 0,
        weight: float = 0.0,
        dropped: int = 0,
        higher_is_better: bool = False,
    ) -> Self:
        """Make a score; `+ 0.0` turns the negative zero of `-log(1)` into zero."""
        score = super().__new__(cls, value + 0.0)
        score.__dict__.update(
            rule=rule, scale=scale, n=n, weight=weight, dropped=dropped, higher_is_better=higher_is_better
        )
        return score

    def __setattr__(self, name: str, value: object) -> None:
        message = f"a Score cannot be changed; {name!r} was assigned."
        raise AttributeError(message)

    def __repr__(self) -> str:
        direction = "higher is better" if self.higher_is_better else "lower is better"
        scale = ", ".join(part for part in (self.scale, direction) if part)
        dropped = f", dropped={self.dropped}" if self.dropped else ""
        return f"Score({float(self)!r}, rule={self.rule!r}, scale={scale!r}, n={self.n}{dropped})"

    def __str__(self) -> str:
        return float.__repr__(self)

    def turned(self, value: float, *, scale: str) -> Score:
        """Return a score of the same cases and rule for which higher is better."""
        return Score(value, **(self.__dict__ | {"scale": scale, "higher_is_better": True}))

    def to_dict(self) -> dict[str, Any]:
        """Return the value and its description as plain Python data."""
        return {"value": float(self), **self.__dict__}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the data of `to_dict` as strict JSON, which every parser accepts."""
        return strict_json(self.to_dict(), indent)

    def to_frame(self, *, backend: Backend | None = None) -> Any:
        """Return one row with the value and its description."""
        return frame_of({name: [value] for name, value in self.to_dict().items()}, backend=backend)


def tuples_of(rows: Iterable[tuple[str, ...]]) -> Tuples:
    """Return a column of tuples; tables and JSON show each as one text.

    Examples
    --------
    >>> tuples_of([("too low", "too timid"), ()])
    array([('too low', 'too timid'), ()], dtype=object)
    """
    entries = list(rows)
    column = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        column[place] = entry
    return column


def _shown(value: Any) -> Any:
    """Return a column of tuples as texts, a measure as its key, and anything else as it is."""
    if hasattr(value, "higher_is_better") and hasattr(value, "key"):
        return value.key
    if isinstance(value, np.ndarray) and value.dtype == object and value.size and isinstance(value.flat[0], tuple):
        return np.array([", ".join(map(str, entry)) for entry in value])
    return value


def _cell(value: object) -> tuple[str, str]:
    """Return the text of a cell, empty if nothing is known, and its style."""
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return "", NUMBER
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return (f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)), NUMBER
    return str(value), TEXT


def _brief(value: Any) -> str:
    """Return a value in one line: texts and measures as a list of names, and a result as its value."""
    if isinstance(value, tuple) and all(isinstance(_shown(one), str) for one in value):
        return str([_shown(one) for one in value])
    if isinstance(value, Result):
        return _brief(value.value) if hasattr(value, "value") else repr(value)
    if isinstance(value, Mapping) and any(isinstance(one, Result) for one in value.values()):
        return str(list(value))
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_brief(one)}' for key, one in value.items())}}}"
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
