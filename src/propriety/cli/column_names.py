"""Names of columns that DuckDB changes, because they differ only in the case of letters or are empty."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from propriety.errors import InputValueError


def check_distinct(names: Sequence[str], where: str) -> None:
    """Raise an error for names that differ only in the case of letters."""
    seen: dict[str, str] = {}
    for name in filter(None, names):
        if name.lower() in seen:
            law = f"columns must have names that differ not only in the case of letters; {where} has"
            offender = f"{seen[name.lower()]!r} and {name!r}"
            raise InputValueError(f"{law} {offender}", hint="rename one of them.")
        seen[name.lower()] = name


def check_given(names: Sequence[str], given: Callable[[], Sequence[str]], used: Sequence[str], where: str) -> None:
    """Raise an error if a used name was given to another column; `given` are the names that DuckDB gives.

    It reads P and p as P and p_1, even if another column is called p_1.
    """
    if len({name.lower() for name in names if name}) == len(names):
        return
    wrong = {one for pair in zip(given(), names, strict=False) if pair[0] != pair[1] for one in pair}
    found = next((name for name in used if name in wrong), None)
    if found is None:
        return
    check_distinct(names, where)
    if "" in names:
        law = f"columns must have names; {where} has none for column {names.index('') + 1:,}"
        raise InputValueError(law, offender=f"so {found!r} is ambiguous", hint="give it a name.")
