"""Cases in CSV: numbers are read as numbers, and labels stay as they are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from propriety.cli.expansion import check_expansion
from propriety.cli.inputs import shown
from propriety.cli.text_heads import LINE, Compression, Head, first_offender, ragged_line, read_heads
from propriety.cli.written_numbers import Dialect, NumberFormat, detected_format, quoted
from propriety.errors import InputValueError

if TYPE_CHECKING:
    import duckdb

__all__ = ["LabelRole", "Texts"]

# A label is read as a number or a time only if that is written back unchanged; a value may be written in several ways.
# A quantity is a label unless it has decimals: "1.50" is a number, and "01" is not.
LabelRole: TypeAlias = Literal["label", "value", "quantity"]

BUFFER = 2**22  # Bytes of text at a time; DuckDB takes longer to detect types with more.
WHOLE = ("BIGINT", "UBIGINT")
NUMBERS = (*WHOLE, "DOUBLE")
SIGNS = re.compile(r"\s*[-+]?\d*(?:[,.' \u00a0\u202f]\d+)+\s*")
CONVERSION = re.compile(
    r'Line: (?P<line>\d+).*Error when converting column "(?P<column>.*)"\. '
    r"Could not convert string \"(?P<text>.*)\" to '(?P<kind>\w+)'",
    re.DOTALL,
)
LONGEST = 200  # Characters of a field in an error message.
SHORT = 20  # Characters of text that may mean a missing value.


@dataclass(frozen=True, slots=True)
class Texts:
    """CSV files of one dialect, whose separator is taken from their headers and not guessed from their rows."""

    files: tuple[Path, ...]
    form: Compression
    nulls: tuple[str, ...]
    number_format: NumberFormat | None
    heads: Mapping[Path, Head]

    @classmethod
    def of(cls, files: Sequence[Path], form: Compression, dialect: Dialect) -> Texts:
        """Read the headers."""
        for path in files:
            check_expansion(path, shown(path), form)
        heads = read_heads(files, form, dialect.separator)
        return cls(tuple(files), form, ("", *dialect.nulls), dialect.number_format, heads)

    def relation(
        self,
        connection: duckdb.DuckDBPyConnection,
        names: list[str],
        labels: Mapping[str, LabelRole],
        numbers: Sequence[str],
    ) -> duckdb.DuckDBPyRelation:
        """Open the files; columns of labels are text unless they can be converted without loss.

        If a column of `numbers` contains text, numbers may be written in another format, or the first text is an error.
        """
        plain = self._read(connection, names)
        kinds = dict(zip(plain.columns, map(str, plain.types), strict=True))
        written = [name for name in dict.fromkeys(numbers) if name in kinds and name not in labels]
        wrong = [name for name in written if kinds[name] == "VARCHAR"]
        form = self.number_format or detected_format(plain, wrong)
        if form is None:
            self._check_numbers(wrong, self._is_number)
        wanted = {name: role for name, role in labels.items() if kinds.get(name, "VARCHAR") != "VARCHAR"}
        if not wanted and form is None:
            return plain
        texts = self._read(connection, names, [*wanted, *(written if form is not None else ())])
        converted = {
            name: f"CAST({quoted(name)} AS {_kind(texts, name, kinds[name], role)})" for name, role in wanted.items()
        }
        if form is not None and written:
            ((*mismatches,),) = texts.aggregate(", ".join(map(form.mismatches, written))).fetchall()
            wrong = [name for name, count in zip(written, mismatches, strict=True) if count]
            self._check_numbers(wrong, lambda text: text in self.nulls or form.is_number(text))
            converted |= {name: form.sql(name) for name in written}
        return texts.project(
            ", ".join(f"{converted.get(name, quoted(name))} AS {quoted(name)}" for name in texts.columns)
        )

    def reason(self, error: Exception) -> InputValueError | None:
        """Return an error with the line and column that DuckDB could not read, or None for other errors."""
        lines = (ragged_line(path, self.form, head) for path, head in self.heads.items())
        ragged = next((one for one in lines if one is not None), None)
        if ragged is not None:
            return ragged
        found = CONVERSION.search(str(error))
        if found is None:
            return None
        only = self.files[0] if len(self.files) == 1 else None
        return _not_a_number(found["column"], int(found["line"]), found["text"], path=only)

    def _check_numbers(self, names: Sequence[str], is_valid: Callable[[str], bool]) -> None:
        """Raise an error for the first field of some columns that is not a number."""
        for name in names:
            for path, head in self.heads.items():
                found = first_offender(path, self.form, head, name, is_valid)
                if found is not None:
                    raise _not_a_number(name, *found, path=path)

    def _read(
        self, connection: duckdb.DuckDBPyConnection, names: list[str], texts: Sequence[str] = ()
    ) -> duckdb.DuckDBPyRelation:
        """Open the files with columns matched by name, because their order may differ."""
        options: dict[str, Any] = {"dtype": dict.fromkeys(texts, "VARCHAR")} if texts else {}
        if self.heads:
            # With a guessed dialect, DuckDB would skip the lines before one with another number of fields.
            separator = next(iter(self.heads.values())).separator
            options |= {"sep": separator, "quotechar": '"', "escapechar": '"', "comment": ""}
            options |= {"header": True, "skiprows": 0}
        return connection.read_csv(
            names,  # type: ignore[arg-type]  # a list is accepted, too
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
    law = f"column {column!r} must contain numbers; line {line:,}{where} has {shortened!r}"
    hint = f"use --null {text} if this means a missing value." if text.isalnum() and len(text) <= SHORT else ""
    if SIGNS.fullmatch(text):
        hint = "--decimal and --thousands name the signs in numbers, such as --decimal , --thousands ."
    return InputValueError(law, hint=hint)


def _kind(texts: duckdb.DuckDBPyRelation, name: str, kind: str, role: LabelRole) -> str:
    """Return the type as which a column of labels can be read without merging or rewriting any."""
    for candidate in NUMBERS if kind in NUMBERS else (kind,):
        column, cast = quoted(name), f"TRY_CAST({quoted(name)} AS {candidate})"
        faithful = f"bool_and({column} IS NULL OR coalesce({cast}::VARCHAR = {column}, false))"
        if role == "value":
            faithful = f"count({column}) = count({cast}) AND count(DISTINCT {column}) = count(DISTINCT {cast})"
        if role == "quantity" and candidate == "DOUBLE":
            decimals = f"NOT bool_and(regexp_full_match({column}, '[-+]?[0-9]+'))"
            faithful = f"({faithful}) OR (count({column}) = count({cast}) AND {decimals})"
        if candidate in WHOLE:  # DuckDB would round numbers that are not integers.
            faithful += f" AND bool_and(regexp_full_match({column}, '[-+]?[0-9]+'))"
        (answer,) = texts.aggregate(f"coalesce({faithful}, true)").fetchall()
        if answer[0]:
            return candidate
    return "VARCHAR"
