"""Options that take one or more numbers, separated by spaces or commas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

OPTIONS = ("--thresholds",)

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # It takes no type in the oldest supported version of click.


def numbers_of(text: str) -> tuple[float, ...]:
    """Read numbers that are separated by spaces or commas.

    Examples
    --------
    >>> numbers_of("0.05 0.2"), numbers_of("0.1,")
    ((0.05, 0.2), (0.1,))
    """
    return tuple(float(part) for part in text.replace(",", " ").split())


def numbers_joined(arguments: Sequence[str]) -> list[str]:
    """Join the numbers that follow such an option into one argument, because click requires a fixed number of them.

    Examples
    --------
    >>> numbers_joined(["compare", "--thresholds", "0.05", "0.2", "p.csv"])
    ['compare', '--thresholds', '0.05 0.2', 'p.csv']
    """
    joined: list[str] = []
    taking = False
    for argument in arguments:
        if taking and _is_number(argument):
            joined[-1] += f" {argument}"
            continue
        taking = argument.startswith(tuple(f"{option}=" for option in OPTIONS)) or (
            bool(joined) and joined[-1] in OPTIONS and _is_number(argument)
        )
        joined.append(argument)
    return joined


class _Thresholds(_ParamType):
    """One number, or two."""

    name = "thresholds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return one number as a float and several as a tuple."""
        if not isinstance(value, str):
            return value
        try:
            found = numbers_of(value)
        except ValueError:
            found = ()
        if len(found) not in (1, 2):
            self.fail(f"write one number such as 0.1, or two, 0.05 0.2; got {value!r}.", param, ctx)
        return found[0] if len(found) == 1 else found


THRESHOLDS = _Thresholds()


def _is_number(text: str) -> bool:
    try:
        return bool(numbers_of(text))
    except ValueError:
        return False
