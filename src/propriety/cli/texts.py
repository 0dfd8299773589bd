"""Cases in CSV: numbers are read as numbers, and labels stay as they are written."""

from __future__ import annotations

import re
import shlex
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from propriety.cli.column_names import check_distinct, check_given
from propriety.cli.expansion import check_expansion
from propriety.cli.inputs import shown
from propriety.cli.text_heads import LINE, Compression, Head, first_offender, ragged_line, read_heads
from propriety.cli.written_numbers import Dialect, NumberFormat, detected_format, quoted, sql_text
from propriety.errors import InputValueError
from propriety.inference.segment_columns import MOST_LABELS

if TYPE_CHECKING:
    import duckdb

# A label is read as a number or a time only if that is written back unchanged; a value may be written in several ways.
# A quantity is a label unless it has decimals: "1.50" is a number, and "01" is not. An outcome is no label unless its
# labels are named: it is read as what it is.
LabelRole: TypeAlias = Literal["label", "value", "quantity", "outcome"]

BUFFER = 2**22  # Bytes of text at a time; DuckDB takes longer to detect types with more.
WHOLE = ("BIGINT", "UBIGINT")
NUMBERS = (*WHOLE, "DOUBLE")
TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
YEAR_FIRST = "^[0-9]{4}[-/]"  # DuckDB would read the day of 01/02/26 as the year.
SIGNS = re.compile(r"\s*[-+]?\d*(?:[,.' \u00a0\u202f]\d+)+\s*")
CONVERSION = re.compile(
    r'Line: (?P<line>\d+).*Error when converting column "(?P<column>.*)"\. '
    r"Could not convert string \"(?P<text>.*)\" to '(?P<kind>\w+)'",
    re.DOTALL,
)
TEXTS = ("VARCHAR", "HUGEINT", "UHUGEINT")  # Parquet would store the integers as floats.
DIGITS = "[-+]?[0-9]+"
# Digits of which a number would lose some.
CODES = {"BIGINT": "[-+]?0[0-9]+", "UBIGINT": "[-+]?0[0-9]+", "DOUBLE": "[-+]?(0[0-9]+|[0-9]{16,})"}
LONGEST = 200  # Characters of a field in an error message.
SHORT = 20  # Characters of text that may mean a missing value.
FEW_WORDS = 5  # Different words for missing values in a column of numbers.
USUAL = (NumberFormat(".", ","), NumberFormat(",", "."))


@dataclass(frozen=True, slots=True)
class Layout:
    """How CSV files are written, and the column that has each column as text."""

    head: Head
    decimal: str
    texts: Mapping[str, str]


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
        self._check_names(connection, names, [*labels, *numbers])
        plain = self._read(connection, names)
        kinds, written, form = self._numbers_of(plain, numbers)
        wanted = _converted(labels, kinds, written)
        # DuckDB guesses types from the first lines, and would round decimals that follow to integers.
        types = {name: "DOUBLE" for name, kind in kinds.items() if kind in WHOLE and name not in wanted}
        types |= dict.fromkeys([*wanted, *(written if form is not None else ())], "VARCHAR")
        if not types:
            return plain
        texts = self._read(connection, names, types)
        converted = self._labels(texts, kinds, wanted, form)
        if form is not None:
            converted |= self._numbers(texts, written, form)
        return texts.project(_projection(texts.columns, converted))

    def whole(
        self,
        connection: duckdb.DuckDBPyConnection,
        names: list[str],
        labels: Mapping[str, LabelRole],
        numbers: Sequence[str],
        *,
        typed: bool,
    ) -> tuple[duckdb.DuckDBPyRelation, Layout | None]:
        """Open the files to write all columns again, with types as far as nothing is lost, or else as text.

        As text, the columns `labels` and `numbers` are there twice: to be read, and as they are written.
        """
        for path, head in self.heads.items():
            check_distinct(head.names, f"line 1 of {shown(path)}")
        self._check_names(connection, names, [*labels, *numbers])
        plain = self._read(connection, names)
        kinds, written, form = self._numbers_of(plain, numbers)
        wanted = _converted(labels, kinds, written)
        every = dict.fromkeys(kinds, "VARCHAR")
        if typed:
            texts = self._read(connection, names, every)
            converted = self._labels(texts, kinds, wanted, form) | self._numbers(texts, written, form)
            others = {name: kind for name, kind in kinds.items() if kind not in TEXTS and name not in converted}
            return texts.project(_projection(texts.columns, converted | _others(texts, others))), None
        unused = "_" * (1 + max(map(len, kinds)))
        used = [name for name in kinds if name in labels or name in written]
        copies = {name: f"{unused}{place}" for place, name in enumerate(used)}
        again = [f"{quoted(name)} AS {quoted(copy)}" for name, copy in copies.items()]
        # Words for missing values stay in the columns that are only copied.
        absent = ", ".join(map(sql_text, self.nulls))
        read = {name: f"CASE WHEN {quoted(name)} NOT IN ({absent}) THEN {quoted(name)} END" for name in used}
        texts = self._read(connection, names, every, nulls=("",))
        texts = texts.project(", ".join([_projection(texts.columns, read), *again]))
        converted = self._labels(texts, kinds, wanted, form) | self._numbers(texts, written, form)
        layout = Layout(
            head=next(iter(self.heads.values()), Head(",", ())),
            decimal="." if form is None else form.decimal,
            texts={name: copies.get(name, name) for name in kinds},
        )
        return texts.project(_projection(texts.columns, converted)), layout

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

    def _numbers_of(
        self, plain: duckdb.DuckDBPyRelation, numbers: Sequence[str]
    ) -> tuple[dict[str, str], list[str], NumberFormat | None]:
        """Return the types that DuckDB guesses, the columns of numbers, and how these are written unless plainly."""
        kinds = dict(zip(plain.columns, map(str, plain.types), strict=True))
        written = [name for name in dict.fromkeys(numbers) if name in kinds]
        wrong = [name for name in written if kinds[name] == "VARCHAR"]
        form = self.number_format or detected_format(plain, wrong)
        if form is None and wrong and self.heads:
            self._check_numbers(wrong, None)
            form = NumberFormat()  # DuckDB takes a number with a plus sign for text, but can convert it.
        return kinds, written, form

    def _labels(
        self,
        texts: duckdb.DuckDBPyRelation,
        kinds: Mapping[str, str],
        wanted: Mapping[str, LabelRole],
        form: NumberFormat | None,
    ) -> dict[str, str]:
        """Return the SQL that converts columns of labels."""
        quantities = [name for name, role in wanted.items() if role == "quantity"]
        numbers = self._numbers(texts, [name for name in quantities if self._has_decimals(texts, name, form)], form)
        others = {name: role for name, role in wanted.items() if name not in numbers and kinds[name] != "VARCHAR"}
        casts = {name: _kind(texts, name, kinds[name], role) for name, role in others.items()}
        return numbers | {name: f"CAST({quoted(name)} AS {kind})" for name, kind in casts.items()}

    def _has_decimals(self, texts: duckdb.DuckDBPyRelation, name: str, form: NumberFormat | None) -> bool:
        """Return whether all texts of a column are numbers, some with decimals or separators.

        If only a few words are not, each of the many numbers would be a label of its own: this is an error.
        """
        column = quoted(name)
        plain = f"TRY_CAST({column} AS DOUBLE) IS NOT NULL"
        number = plain if form is None else form.matches(name)
        similar = f"({' OR '.join([number, plain, *(one.matches(name) for one in USUAL)])})"
        digits = f"coalesce(bool_and(regexp_full_match({column}, '{DIGITS}')), true)"
        counts = f"count({column}), count(*) FILTER ({number}), count(*) FILTER ({similar}), {digits}"
        ((filled, numbers, alike, whole),) = texts.aggregate(counts).fetchall()
        if numbers < filled < 2 * alike:
            distinct = f"count(DISTINCT {column}) FILTER ({similar}), count(DISTINCT {column}) FILTER (NOT {similar})"
            codes = f"bool_or(regexp_full_match({column}, '{CODES['BIGINT']}'))"
            ((values, words, coded),) = texts.aggregate(f"{distinct}, {codes}").fetchall()
            if values > MOST_LABELS and words <= FEW_WORDS and not coded:
                self._check_numbers([name], form)
        return bool(numbers == filled and not whole)

    def _numbers(
        self, texts: duckdb.DuckDBPyRelation, names: Sequence[str], form: NumberFormat | None
    ) -> dict[str, str]:
        """Return the SQL that converts columns of texts to numbers; raise an error for the first text that is none."""
        if not names:
            return {}
        counts = [_lost(name, "DOUBLE") if form is None else form.mismatches(name) for name in names]
        ((*mismatches,),) = texts.aggregate(", ".join(counts)).fetchall()
        wrong = [name for name, count in zip(names, mismatches, strict=True) if count]
        self._check_numbers(wrong, form)
        return {name: f"CAST({quoted(name)} AS DOUBLE)" if form is None else form.sql(name) for name in names}

    def _check_numbers(self, names: Sequence[str], form: NumberFormat | None) -> None:
        """Raise an error for the first field of some columns that is not a number."""
        is_valid = self._is_number if form is None else lambda text: text in self.nulls or form.is_number(text)
        for name in names:
            for path, head in self.heads.items():
                found = first_offender(path, self.form, head, name, is_valid)
                if found is not None:
                    raise _not_a_number(name, *found, path=path)

    def _check_names(self, connection: duckdb.DuckDBPyConnection, names: list[str], used: Sequence[str]) -> None:
        """Raise an error if DuckDB gives a used name to another column."""
        for (path, head), name in zip(self.heads.items(), names, strict=bool(self.heads)):
            own = [one.strip(string.whitespace) for one in head.names]  # As DuckDB does.
            check_given(own, partial(self._columns, connection, name), used, f"line 1 of {shown(path)}")

    def _columns(self, connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
        return self._read(connection, [name]).columns

    def _read(
        self,
        connection: duckdb.DuckDBPyConnection,
        names: list[str],
        types: Mapping[str, str] | None = None,
        nulls: Sequence[str] | None = None,
    ) -> duckdb.DuckDBPyRelation:
        """Open the files with columns matched by name, because their order may differ.

        In SQL, because the function `read_csv` of DuckDB before 2.0 forgets the types of columns matched by name.
        """
        options = {
            "union_by_name": "true",
            "nullstr": _sql_list(self.nulls if nulls is None else nulls),
            "compression": sql_text(self.form),
            "buffer_size": BUFFER,
            "max_line_size": LINE,
        }
        if types:
            given = (f"{sql_text(name)}: {sql_text(kind)}" for name, kind in types.items())
            options["types"] = f"{{{', '.join(given)}}}"
        if self.heads:
            # With a guessed dialect, DuckDB would skip the lines before one with another number of fields.
            separator = next(iter(self.heads.values())).separator
            options |= {"delim": sql_text(separator), "quote": "'\"'", "escape": "'\"'", "comment": "''"}
            options |= {"header": "true", "skip": 0}
        written = ", ".join(f"{name} = {value}" for name, value in options.items())
        return connection.sql(f"SELECT * FROM read_csv({_sql_list(names)}, {written})")  # noqa: S608  (all is quoted)

    def _is_number(self, text: str) -> bool:
        try:
            float(text)
        except ValueError:
            return text in self.nulls
        return True


def _sql_list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(sql_text, texts))}]"


def _not_a_number(column: str, line: int, text: str, *, path: Path | None) -> InputValueError:
    shortened = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    where = "" if path is None else f" of {shown(path)}"
    law = f"column {column!r} must contain numbers; line {line:,}{where} has {shortened!r}"
    hint = f"use --null {shlex.quote(text)} if this means a missing value." if len(text) <= SHORT else ""
    if text.strip().endswith("%"):
        hint = "divide percentages by 100, and write them without the sign."
    elif SIGNS.fullmatch(text):
        hint = "--decimal and --thousands name the signs in numbers, such as --decimal , --thousands ."
    if text.strip() != text.strip(string.whitespace):
        hint = "remove the no-break or other special space beside the number."
    return InputValueError(law, hint=hint)


def _converted(
    labels: Mapping[str, LabelRole], kinds: Mapping[str, str], numbers: Sequence[str]
) -> dict[str, LabelRole]:
    """Return the columns of labels that may have to be converted; those of numbers are converted anyway."""
    found = {name: role for name, role in labels.items() if name in kinds and name not in numbers}
    found = {name: role for name, role in found.items() if role != "outcome" or kinds[name] == "BOOLEAN"}
    return {name: role for name, role in found.items() if role == "quantity" or kinds[name] != "VARCHAR"}


def _projection(columns: Sequence[str], converted: Mapping[str, str]) -> str:
    return ", ".join(f"{converted.get(name, quoted(name))} AS {quoted(name)}" for name in columns)


def _others(texts: duckdb.DuckDBPyRelation, kinds: Mapping[str, str]) -> dict[str, str]:
    """Return the SQL that converts columns to the types that DuckDB guesses, if they lose nothing."""
    if not kinds:
        return {}
    counts = [_lost(name, kind, CODES.get(kind, "")) for name, kind in kinds.items()]
    ((*lost,),) = texts.aggregate(", ".join(counts)).fetchall()
    kept = {name for name, count in zip(kinds, lost, strict=True) if not count}
    decimals = {name: "DOUBLE" for name, kind in kinds.items() if kind in WHOLE and name not in kept}
    return _others(texts, decimals) | {name: f"CAST({quoted(name)} AS {kinds[name]})" for name in kept}


def _lost(name: str, kind: str, codes: str = "") -> str:
    """Return the SQL that counts the texts that a type does not represent, or that match the pattern of codes."""
    column = quoted(name)
    lost = f"TRY_CAST({column} AS {kind}) IS NULL"
    if kind in TIMES:
        lost = f"({lost} OR NOT regexp_matches({column}, '{YEAR_FIRST}'))"
    if kind in WHOLE:
        lost = f"({lost} OR NOT regexp_full_match({column}, '{DIGITS}'))"
    if codes:
        lost = f"({lost} OR regexp_full_match({column}, '{codes}'))"
    return f"count(*) FILTER ({column} IS NOT NULL AND {lost})"


def _kind(texts: duckdb.DuckDBPyRelation, name: str, kind: str, role: LabelRole) -> str:
    """Return the type as which a column of labels can be read without merging or rewriting any."""
    for candidate in NUMBERS if kind in NUMBERS else (kind,):
        column, cast = quoted(name), f"TRY_CAST({quoted(name)} AS {candidate})"
        faithful = f"bool_and({column} IS NULL OR coalesce({cast}::VARCHAR = {column}, false))"
        if role == "value":
            faithful = f"count({column}) = count({cast}) AND count(DISTINCT {column}) = count(DISTINCT {cast})"
        if candidate == "BOOLEAN" and role != "label":  # DuckDB would also read yes, no, t and f as such.
            faithful = f"bool_and(lower({column}) IN ('true', 'false'))"
        if candidate in TIMES:
            faithful += f" AND bool_and(regexp_matches({column}, '{YEAR_FIRST}'))"
        if candidate in WHOLE:  # DuckDB would round numbers that are not integers.
            faithful += f" AND bool_and(regexp_full_match({column}, '{DIGITS}'))"
        (answer,) = texts.aggregate(f"coalesce({faithful}, true)").fetchall()
        if answer[0]:
            return candidate
    return "VARCHAR"
