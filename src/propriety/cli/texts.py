"""Cases in text files, read by DuckDB: labels stay as they are written, and errors name line and cell."""

from __future__ import annotations

import glob
import os
import re
import shlex
import string
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from propriety.cli.inputs import shown
from propriety.cli.text_heads import (
    LONGEST_LINE,
    Compression,
    DecimalSign,
    Dialect,
    line_too_long,
    lines_before,
    names_in_queries,
    not_utf8,
    read_heads,
)
from propriety.errors import InputValueError
from propriety.tables.keys import MOST_LABELS

if TYPE_CHECKING:
    import duckdb

# How a column is read that is not one of forecasts or weights, which are numbers. A label is a number or a date only if
# it is written back unchanged, and a value if different texts stay different. A quantity is a number if it has
# decimals, and an outcome if it is one at all. A column that is only copied is a number if it loses no digit. All else
# stays text.
Role: TypeAlias = Literal["label", "value", "quantity", "outcome", "copied", "text"]

NUMBER = r"\s*[-+]?(?:(?:\d+(?:SIGN\d*)?|SIGN\d+)(?:[eE][-+]?\d+)?|(?i:nan|inf|infinity))\s*"
PATTERNS: dict[DecimalSign, str] = {".": NUMBER.replace("SIGN", r"\."), ",": NUMBER.replace("SIGN", ",")}
AMBIGUOUS = r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*"  # With a decimal comma, or a separator of thousands.
LIKE_NUMBERS = r"\s*[-+]?[\d.,]*\d[\d.,]*(?:[eE][-+]?\d+)?\s*"
SIGNS = re.compile(r"\s*[-+]?\d*(?:[,.' \u00a0\u202f]\d+)+\s*")
DIGITS = "[-+]?[0-9]+"
CODES = "[-+]?(0[0-9]+|[0-9]{16,})"  # Digits of which a number would lose some.
YEAR_FIRST = "^[0-9]{4}[-/]"  # DuckDB would read the day of 01/02/26 as the year.
WHOLE = ("BIGINT", "UBIGINT")
NUMBERS = (*WHOLE, "DOUBLE")
KINDS = (*NUMBERS, "DATE", "TIMESTAMP", "BOOLEAN")  # In the order in which they are tried.
MOST_WORDS = 5  # Different words for missing values in a column of numbers.
BUFFER = 2**22  # Bytes of text at a time.
SECONDS_FOR_FAULTS = 10.0  # DuckDB records about 40,000 in a second.
FAULTS = 100_000  # Faulty lines of a file that are recorded, of which the first is reported.
LONGEST_CELL = 200  # Characters of a cell in an error message.
LONGEST_RECORD = 60  # Characters of a line in an error message.
LONGEST_WORD = 20  # Characters of text that may mean a missing value.
CONVERSION = re.compile(r'Could not convert string "(?P<cell>.*)" to', re.DOTALL)


# What is asked of the texts of a column, in SQL, to find its type.
FACTS = {
    "filled": "count(COLUMN)",
    "points": f"count(*) FILTER (regexp_full_match(COLUMN, '{PATTERNS['.']}'))",
    "commas": f"count(*) FILTER (regexp_full_match(COLUMN, '{PATTERNS[',']}'))",
    "sure_commas": f"count(*) FILTER (contains(COLUMN, ',') AND NOT regexp_full_match(COLUMN, '{AMBIGUOUS}'))",
    "digits": f"count(*) FILTER (regexp_full_match(COLUMN, '{DIGITS}'))",
    "codes": f"count(*) FILTER (regexp_full_match(COLUMN, '{CODES}'))",
    "truths": "count(*) FILTER (lower(COLUMN) IN ('true', 'false'))",
    "like_numbers": f"count(*) FILTER (regexp_full_match(COLUMN, '{LIKE_NUMBERS}'))",
    "distinct": f"count(DISTINCT COLUMN) FILTER (regexp_full_match(COLUMN, '{LIKE_NUMBERS}'))",
    "words": f"count(DISTINCT COLUMN) FILTER (NOT regexp_full_match(COLUMN, '{LIKE_NUMBERS}'))",
    "lowest": "min(COLUMN)",
    "highest": "max(COLUMN)",
}
MATCHES: dict[DecimalSign, str] = {".": "points", ",": "commas"}
BOUNDS = ("lowest", "highest")
FACTS_OF_ROLES: dict[Role | Literal["number"], tuple[str, ...]] = {
    "number": ("filled", "points", "commas", "sure_commas"),
    "outcome": ("filled", "points", "truths", "words"),
    "quantity": ("filled", "points", "commas", "digits", "codes", "like_numbers", "distinct", "words", *BOUNDS),
    "label": BOUNDS,
    "value": BOUNDS,
    "copied": BOUNDS,
    "text": (),
}


class Texts:
    """Text files of one dialect, whose separator is taken from their headers and not guessed from their rows."""

    def __init__(self, files: Sequence[Path], form: Compression, dialect: Dialect) -> None:
        """Read the headers."""
        self.form, self.dialect = form, dialect
        self.heads = read_heads(files, form, dialect.separators)

    def relation(
        self,
        connection: duckdb.DuckDBPyConnection,
        roles: Mapping[str, Role],
        numbers: Sequence[str],
        others: Role | None = None,
    ) -> duckdb.DuckDBPyRelation:
        """Open the files, after a query for the errors and the facts of columns, and another one for labels.

        With `others`, all columns are needed, and those without a role have this one.
        """
        reading = _Reading(connection, self, None if others is not None else [*roles, *numbers])
        if others is not None:
            roles = {**dict.fromkeys(reading.names, others), **roles}
        numbers = [name for name in dict.fromkeys(numbers) if name in reading.names]
        roles = {name: role for name, role in roles.items() if name in reading.names and name not in numbers}
        facts = reading.facts({**roles, **dict.fromkeys(numbers, "number")})
        decimal = self.dialect.decimal or _decimal_sign([facts[name] for name in numbers])
        signs: dict[str, DecimalSign] = dict.fromkeys(numbers, decimal)
        kinds = {}
        for name, role in roles.items():
            if role == "quantity" and _is_cut(facts[name], decimal):
                signs[name] = decimal
            elif role == "outcome" and (kind := _outcome_kind(facts[name])) != "VARCHAR":
                kinds[name] = kind
        outcomes: dict[str, DecimalSign] = {name: "." for name, kind in kinds.items() if kind == "DOUBLE"}
        for name, sign in {**signs, **outcomes}.items():
            if facts[name][MATCHES[sign]] < facts[name]["filled"]:
                reading.refuse_number(name, sign)
        labels = {name: role for name, role in roles.items() if "lowest" in facts[name] and name not in signs}
        kinds |= reading.kinds_of_labels(labels, facts)
        casts = {name: f"CAST({quoted(name)} AS {kind})" for name, kind in kinds.items()}
        typed = reading.read(dict.fromkeys(signs, "DOUBLE"), decimal)
        return typed.project(", ".join(f"{casts.get(name, quoted(name))} AS {quoted(name)}" for name in reading.names))


class _Reading:
    """Files that are read by a connection, with the names of their columns in queries."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, files: Texts, used: Sequence[str] | None) -> None:
        self.connection, self.files = connection, files
        self.columns = {
            path: names_in_queries(head.names, used, f"line 1 of {shown(path)}") for path, head in files.heads.items()
        }
        self.names = list(dict.fromkeys(name for names in self.columns.values() for name in names))
        self.texts = self.read({})

    def read(
        self, kinds: Mapping[str, str], decimal: DecimalSign = ".", *, rejects: bool = False
    ) -> duckdb.DuckDBPyRelation:
        """Return all rows, with columns matched by name; those without a type are text.

        Rejected lines are left out and recorded with `rejects`, and otherwise end a query by an error.
        """
        separator = next(iter(self.files.heads.values())).separator
        options = {
            "auto_detect": "false",
            "header": "true",
            "delim": sql_text(separator),
            "quote": "'\"'",
            "escape": "'\"'",
            "comment": "''",
            "nullstr": sql_list(["", *self.files.dialect.nulls]),
            "decimal_separator": sql_text(decimal),
            "compression": sql_text(self.files.form),
            "buffer_size": BUFFER,
            "max_line_size": LONGEST_LINE,
        }
        if rejects:
            options |= {"store_rejects": "true", "rejects_limit": FAULTS}
        written = ", ".join(f"{name} = {value}" for name, value in options.items())
        groups: dict[tuple[str, ...], list[Path]] = {}
        for path, own in self.columns.items():
            groups.setdefault(tuple(own), []).append(path)
        parts = []
        for names, paths in groups.items():
            columns = ", ".join(f"{sql_text(name)}: {sql_text(kinds.get(name, 'VARCHAR'))}" for name in names)
            listed = sql_list(literal(path) for path in paths)
            parts.append(f"SELECT * FROM read_csv({listed}, columns = {{{columns}}}, {written})")  # noqa: S608  (all is quoted)
        return self.connection.sql(" UNION ALL BY NAME ".join(parts))

    def facts(self, roles: Mapping[str, Role | Literal["number"]]) -> dict[str, dict[str, Any]]:
        """Return what is known of the texts of columns; raise an error for the first faulty line."""
        asked = [(name, fact) for name, role in roles.items() for fact in FACTS_OF_ROLES[role]]
        answers = self._answers({}, ".", [FACTS[fact].replace("COLUMN", quoted(name)) for name, fact in asked])
        facts: dict[str, dict[str, Any]] = {name: {} for name in roles}
        for (name, fact), answer in zip(asked, answers, strict=True):
            facts[name][fact] = answer
        return facts

    def kinds_of_labels(self, roles: Mapping[str, Role], facts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        """Return the types as which columns are read that keep what their roles need."""
        possible = []
        for name in roles:
            bounds = [facts[name][fact] for fact in BOUNDS]
            casts = (f"TRY_CAST(? AS {kind}) IS NOT NULL AND TRY_CAST(? AS {kind}) IS NOT NULL" for kind in KINDS)
            query = f"SELECT {', '.join(casts)}"
            answers = self.connection.execute(query, bounds * len(KINDS)).fetchall()[0]
            possible += [(name, kind) for kind, answer in zip(KINDS, answers, strict=True) if answer]
        if not possible:
            return {}
        conditions = ", ".join(_faithful(quoted(name), kind, roles[name]) for name, kind in possible)
        answers = self.texts.aggregate(conditions).fetchall()[0]
        # The first type that is faithful comes last, and replaces others.
        return {name: kind for (name, kind), answer in reversed(list(zip(possible, answers, strict=True))) if answer}

    def refuse_number(self, name: str, decimal: DecimalSign) -> NoReturn:
        """Raise an error for the first cell of a column that is not a number."""
        column = quoted(name)
        self._answers({name: "DOUBLE"}, decimal, [f"count({column})"])
        # DuckDB would read 1_0 as a number, and records no line for it.
        numbered = self.texts.project(f"row_number() OVER () AS row, {column}")
        wrong = f"{column} IS NOT NULL AND NOT regexp_full_match({column}, {sql_text(PATTERNS[decimal])})"
        row, cell = numbered.filter(wrong).order("row").limit(1).fetchall()[0]
        _refuse_cell(name, cell, f"row {row:,} of the files")

    def _answers(self, kinds: Mapping[str, str], decimal: DecimalSign, asked: Sequence[str]) -> tuple[Any, ...]:
        """Return the answers to a query; raise an error for the first line that DuckDB cannot read."""
        import duckdb

        query = ", ".join(asked or ["count(*)"])
        try:
            return tuple(self.read(kinds, decimal).aggregate(query).fetchall()[0][: len(asked)])
        except duckdb.Error:
            self._refuse_first_fault(kinds, decimal, query)
            raise

    def _refuse_first_fault(self, kinds: Mapping[str, str], decimal: DecimalSign, query: str) -> None:
        """Raise an error for the first line that DuckDB rejects, unless there are too many to record them in time."""
        import duckdb

        clock = threading.Timer(SECONDS_FOR_FAULTS, self.connection.interrupt)
        clock.start()
        try:
            self.read(kinds, decimal, rejects=True).aggregate(query).fetchall()
        except duckdb.Error:
            return
        finally:
            clock.cancel()
        found = self.connection.sql(
            "SELECT file_path, line_byte_position, error_type, column_idx, column_name, csv_line, error_message "
            "FROM reject_errors JOIN reject_scans USING (scan_id, file_id) ORDER BY file_path, line, column_idx LIMIT 1"
        ).fetchall()
        if found:
            self._refuse(*found[0])

    def _refuse(
        self, file: str, position: int | None, kind: str, place: int, name: str, record: str, problem: str
    ) -> NoReturn:
        """Raise an error with what DuckDB records of a line."""
        path = next((each for each in self.columns if str(each.absolute()) == file), Path(file))
        if kind == "LINE SIZE OVER MAXIMUM":
            raise line_too_long()
        if kind == "INVALID ENCODING":
            raise not_utf8(path)
        # DuckDB counts bytes from 1, a record with lines in quotes as one line, and empty lines as part of the next.
        empty = record[: len(record) - len(record.lstrip("\r\n"))]
        line = 1 + lines_before(path, self.files.form, (position or 1) - 1) + (empty.count("\n") or empty.count("\r"))
        where = f"line {line:,} of {shown(path)}"
        if kind == "CAST":
            cell = CONVERSION.search(problem)
            _refuse_cell(name, "" if cell is None else cell["cell"], where)
        if kind == "UNQUOTED VALUE":
            raise InputValueError(f"quotes must be closed, and doubled within a field; {where} has one that is not")
        head = self.files.heads[path]
        law = "every line must have a field for each column"
        if kind == "MISSING COLUMNS":
            short = f"{where} has {_fields(place)} and the header {len(head.names):,}"
            raise InputValueError(law, offender=f"{short}: it ends before {name!r}")
        if kind == "TOO MANY COLUMNS":
            text = record.strip("\r\n")
            text = text if len(text) <= LONGEST_RECORD else f"{text[:LONGEST_RECORD]}..."
            hint = f"put a field that contains {head.separator!r} in double quotes."
            raise InputValueError(law, offender=f"{where} has more fields than the header: it is {text!r}", hint=hint)
        raise InputValueError(f"text must be CSV; {where} is not", offender=problem.splitlines()[0])


def _decimal_sign(facts: Sequence[Mapping[str, int]]) -> DecimalSign:
    """Return the comma if more numbers have it beyond doubt than do not have it; these are errors then."""
    without = sum(each["filled"] - each["commas"] for each in facts)
    return "," if sum(each["sure_commas"] for each in facts) > without else "."


def _is_cut(facts: Mapping[str, int], decimal: DecimalSign) -> bool:
    """Return whether a quantity is read as numbers: all texts are numbers, some with decimals.

    If only a few words are not, each of the many numbers would be a label of its own; then the first word is an error.
    """
    numbers, filled = facts[MATCHES[decimal]], facts["filled"]
    if numbers == filled:
        return facts["digits"] < filled
    is_nearly = filled < 2 * facts["like_numbers"] and facts["words"] <= MOST_WORDS
    return is_nearly and facts["distinct"] > MOST_LABELS and not facts["codes"]


def _outcome_kind(facts: Mapping[str, int]) -> str:
    """Return the type of outcomes whose labels are not named; a few words among numbers are errors."""
    filled = facts["filled"]
    if filled < 2 * facts["points"] and (facts["points"] == filled or facts["words"] <= MOST_WORDS):
        return "DOUBLE"
    return "BOOLEAN" if filled and facts["truths"] == filled else "VARCHAR"


def _faithful(column: str, kind: str, role: Role) -> str:
    """Return the SQL for whether a type keeps what the role of a column needs."""
    cast, is_number = f"TRY_CAST({column} AS {kind})", kind in NUMBERS
    conditions = [f"count({column}) = count({cast})"]
    if role == "value":
        conditions.append(f"count(DISTINCT {column}) = count(DISTINCT {cast})")
    elif role != "copied" or not is_number:
        conditions.append(f"bool_and({cast}::VARCHAR = {column})")
    if is_number:
        pattern = sql_text(DIGITS if kind in WHOLE else PATTERNS["."])  # DuckDB would round to whole numbers.
        conditions.append(f"bool_and(regexp_full_match({column}, {pattern}))")
        if role == "copied":
            conditions.append(f"NOT bool_or(regexp_full_match({column}, '{CODES}'))")
    elif kind == "BOOLEAN":
        conditions.append(f"bool_and(lower({column}) IN ('true', 'false'))")
    else:
        conditions.append(f"bool_and(regexp_matches({column}, '{YEAR_FIRST}'))")
    return " AND ".join(conditions)


def _refuse_cell(column: str, cell: str, where: str) -> NoReturn:
    shortened = cell if len(cell) <= LONGEST_CELL else f"{cell[:LONGEST_CELL]}..."
    law = f"column {column!r} must contain numbers; {where} has {shortened!r}"
    hint = f"use --null {shlex.quote(cell)} if this means a missing value." if len(cell) <= LONGEST_WORD else ""
    if cell.strip().endswith("%"):
        hint = "divide percentages by 100, and write them without the sign."
    elif SIGNS.fullmatch(cell):
        hint = "write numbers without separators of thousands; --decimal names the decimal sign, a point or a comma."
    if cell.strip() != cell.strip(string.whitespace):
        hint = "remove the no-break or other special space beside the number."
    raise InputValueError(law, hint=hint)


def _fields(number: int) -> str:
    return "1 field" if number == 1 else f"{number:,} fields"


def quoted(name: str) -> str:
    """Write the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """Write a text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def sql_list(texts: Iterable[str]) -> str:
    """Write texts in SQL."""
    return f"[{', '.join(map(sql_text, texts))}]"


def literal(path: Path) -> str:
    """Escape a path so that DuckDB finds only this file, whatever characters its name contains."""
    return glob.escape(os.path.abspath(path))  # noqa: PTH100  (a leading `~` or scheme is part of the name)
