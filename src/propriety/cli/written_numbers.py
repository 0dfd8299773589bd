"""Numbers in CSV that are written with a decimal comma or with separators of thousands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from propriety.errors import InputValueError

if TYPE_CHECKING:
    import duckdb

NAMED = {"tab": "\t", "\\t": "\t", "space": " "}
OPTIONS = {
    "nulls": "--null",
    "delimiter": "--delimiter",
    "decimal": "--decimal",
    "thousands": "--thousands",
    "sheet": "--sheet",
}
# It may be a decimal comma or a separator of thousands.
AMBIGUOUS = r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*"


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How numbers are written."""

    decimal: str = "."
    thousands: str = ""

    @property
    def pattern(self) -> str:
        r"""Regular expression of a number, for Python and DuckDB; groups must have three digits.

        Examples
        --------
        >>> [bool(re.fullmatch(NumberFormat(",", ".").pattern, text)) for text in ("1.234,5", "0,5", "12.34", "0.5")]
        [True, True, False, False]
        """
        point, comma = re.escape(self.decimal), re.escape(self.thousands)
        whole = rf"(?:\d{{1,3}}(?:{comma}\d{{3}})+|\d+)" if self.thousands else r"\d+"
        return rf"\s*[-+]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][-+]?\d+)?\s*"

    def is_number(self, text: str) -> bool:
        """Whether a text is such a number."""
        # As in DuckDB, digits and spaces are those of ASCII.
        return re.fullmatch(self.pattern, text, re.ASCII) is not None

    def sql(self, name: str) -> str:
        """Return the SQL that converts a column of texts."""
        text = quoted(name)
        if self.thousands:
            text = f"replace({text}, {sql_text(self.thousands)}, '')"
        return f"CAST(replace({text}, {sql_text(self.decimal)}, '.') AS DOUBLE)"

    def matches(self, name: str) -> str:
        """Return the SQL for whether a text of a column is such a number."""
        return f"regexp_full_match({quoted(name)}, {sql_text(self.pattern)})"

    def mismatches(self, name: str) -> str:
        """Return the SQL that counts the texts of a column that are not such numbers."""
        return f"count(*) FILTER ({quoted(name)} IS NOT NULL AND NOT {self.matches(name)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How CSV or Excel files are written, as far as the user says so."""

    nulls: Sequence[str] = ()
    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None

    def given(self) -> list[str]:
        """Return the given options."""
        return [option for name, option in OPTIONS.items() if getattr(self, name)]

    def check_used(self, form: str, used: Sequence[str]) -> None:
        """Raise an error for an option that files of this form do not use."""
        for option in self.given():
            if option not in used:
                raise InputValueError(f"does not apply to {form} files", argument=option, hint="leave it out.")

    @property
    def separator(self) -> str | None:
        """The separator of fields."""
        return _sign(self.delimiter, "--delimiter")

    @property
    def number_format(self) -> NumberFormat | None:
        """How numbers are written; None to find out."""
        decimal, thousands = _sign(self.decimal, "--decimal"), _sign(self.thousands, "--thousands")
        if decimal is None and thousands is None:
            return None
        found = NumberFormat(decimal or ("," if thousands == "." else "."), thousands or "")
        if found.decimal == found.thousands:
            law = "must not be the sign of --decimal, too"
            raise InputValueError(law, argument="--thousands", offender=f"both are {found.decimal!r}")
        return found


def detected_format(texts: duckdb.DuckDBPyRelation, names: Sequence[str]) -> NumberFormat | None:
    """Return the format with a decimal comma if more texts have it beyond doubt than do not have it.

    Texts without it are errors then, and not those with it.
    """
    comma = NumberFormat(",")
    if not names:
        return None
    commas = [
        f"contains({quoted(name)}, ',') AND NOT regexp_full_match({quoted(name)}, {sql_text(AMBIGUOUS)})"
        for name in names
    ]
    certain = " + ".join(f"count(*) FILTER ({one})" for one in commas)
    ((mismatches, found),) = texts.aggregate(f"{' + '.join(map(comma.mismatches, names))}, {certain}").fetchall()
    return comma if found > mismatches else None


def quoted(name: str) -> str:
    """Write the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """Write a text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def _sign(text: str | None, option: str) -> str | None:
    if text is None:
        return None
    sign = NAMED.get(text, text)
    if len(sign) != 1 or sign.isalnum() or sign in '"+-\n\r':
        hint = "write one character, or tab or space."
        raise InputValueError("must be one sign", argument=option, offender=f"got {text!r}", hint=hint)
    return sign
