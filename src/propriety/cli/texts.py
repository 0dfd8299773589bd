"""Cases in CSV: numbers where the text is one, and labels that stay what is written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from propriety.cli.expansion import check_expansion
from propriety.cli.inputs import shown
from propriety.cli.text_heads import LINE, Compression, Head, first_offender, ragged_line, read_heads
from propriety.errors import InputValueError

if TYPE_CHECKING:
    import duckdb

__all__ = ["LabelRole", "Texts"]

# A label is text unless a number or a time is written just so; a time or an outcome may be written in several ways.
LabelRole: TypeAlias = Literal["label", "value"]

BUFFER = 2**22  # Bytes of text at a time; the more, the longer DuckDB guesses.
WHOLE = ("BIGINT", "UBIGINT")
NUMBERS = (*WHOLE, "DOUBLE")
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+\s*")
CONVERSION = re.compile(
    r'Line: (?P<line>\d+).*Error when converting column "(?P<column>.*)"\. '
    r"Could not convert string \"(?P<text>.*)\" to '(?P<kind>\w+)'",
    re.DOTALL,
)
LONGEST = 200  # Letters of a field that is shown.
SHORT = 20  # Letters of one that may mean a missing value.


@dataclass(frozen=True, slots=True)
class Texts:
    """Files of CSV, read by one dialect, which is taken from their headers and not guessed from their rows."""

    files: tuple[Path, ...]
    form: Compression
    nulls: tuple[str, ...]
    heads: Mapping[Path, Head]

    @classmethod
    def of(cls, files: Sequence[Path], form: Compression, nulls: Sequence[str]) -> Texts:
        """Look at the headers."""
        for path in files:
            check_expansion(path, shown(path), form)
        return cls(tuple(files), form, ("", *nulls), read_heads(files, form))

    def relation(
        self, connection: duckdb.DuckDBPyConnection, names: list[str], labels: Mapping[str, LabelRole]
    ) -> duckdb.DuckDBPyRelation:
        """Open the files; columns of labels are text unless nothing is lost by reading them otherwise."""
        plain = self._read(connection, names)
        kinds = dict(zip(plain.columns, map(str, plain.types), strict=True))
        wanted = {name: role for name, role in labels.items() if kinds.get(name, "VARCHAR") != "VARCHAR"}
        if not wanted:
            return plain
        texts = self._read(connection, names, list(wanted))
        chosen = {name: _kind(texts, name, kinds[name], role) for name, role in wanted.items()}
        columns = [
            f"CAST({_quoted(name)} AS {chosen[name]}) AS {_quoted(name)}" if name in chosen else _quoted(name)
            for name in texts.columns
        ]
        return texts.project(", ".join(columns))

    def reason(self, error: Exception) -> InputValueError | None:
        """Return an error that says which line and column DuckDB could not read; None where it is something else."""
        told = (ragged_line(path, self.form, head) for path, head in self.heads.items())
        ragged = next((one for one in told if one is not None), None)
        if ragged is not None:
            return ragged
        found = CONVERSION.search(str(error))
        if found is None:
            return None
        only = self.files[0] if len(self.files) == 1 else None
        return _not_a_number(found["column"], int(found["line"]), found["text"], path=only)

    def check_numbers(self, relation: duckdb.DuckDBPyRelation, names: Sequence[str]) -> None:
        """Refuse columns of numbers in which there is text, and name the first of it."""
        kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
        for name in (name for name in names if kinds.get(name) == "VARCHAR"):
            for path, head in self.heads.items():
                found = first_offender(path, self.form, head, name, self._is_number)
                if found is not None:
                    raise _not_a_number(name, *found, path=path)

    def _read(
        self, connection: duckdb.DuckDBPyConnection, names: list[str], texts: Sequence[str] = ()
    ) -> duckdb.DuckDBPyRelation:
        """Open the files by name, because those whose columns stand in another order would be read askew."""
        options: dict[str, Any] = {"dtype": dict.fromkeys(texts, "VARCHAR")} if texts else {}
        if self.heads:
            # By a dialect that it guesses DuckDB would skip what stands before a line with another number of fields.
            separator = next(iter(self.heads.values())).separator
            options |= {"sep": separator, "quotechar": '"', "escapechar": '"', "comment": ""}
            options |= {"header": True, "skiprows": 0}
        return connection.read_csv(
            names,  # type: ignore[arg-type]  # a list is taken, too
            union_by_name=True,
            na_values=list(self.nulls),
            compression=self.form,
            buffer_size=BUFFER,
            max_line_size=LINE,
            **options,
        )

    def _is_number(self, text: str) -> bool:
        try:
            float(text)
        except ValueError:
            return text in self.nulls
        return True


def _not_a_number(column: str, line: int, text: str, *, path: Path | None) -> InputValueError:
    shortened = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    where = "" if path is None else f" of {shown(path)}"
    law = f"column {column!r} must hold numbers; line {line:,}{where} has {shortened!r}"
    hint = f"--null {text} if that means a missing value." if text.isalnum() and len(text) <= SHORT else ""
    if DECIMAL_COMMA.fullmatch(text):
        hint = 'write numbers with a decimal point; in Python, pandas.read_csv(..., decimal=",") reads them.'
    return InputValueError(law, hint=hint)


def _kind(texts: duckdb.DuckDBPyRelation, name: str, kind: str, role: LabelRole) -> str:
    """Return the kind by which a column of labels can be read without merging or rewriting any."""
    for candidate in NUMBERS if kind in NUMBERS else (kind,):
        column, cast = _quoted(name), f"TRY_CAST({_quoted(name)} AS {candidate})"
        faithful = f"bool_and({column} IS NULL OR coalesce({cast}::VARCHAR = {column}, false))"
        if role == "value":
            faithful = f"count({column}) = count({cast}) AND count(DISTINCT {column}) = count(DISTINCT {cast})"
        if candidate in WHOLE:  # DuckDB would round what is not whole.
            faithful += f" AND bool_and(regexp_full_match({column}, '[-+]?[0-9]+'))"
        (answer,) = texts.aggregate(f"coalesce({faithful}, true)").fetchall()
        if answer[0]:
            return candidate
    return "VARCHAR"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
