"""What goes wrong, in parts: argument, law, first offender, count and hint. Text is made of them when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

__all__ = [
    "UNDEFINED",
    "ImproperRuleError",
    "InputTypeError",
    "InputValueError",
    "MissingDependencyError",
    "MissingValuesError",
    "ProprietyError",
    "UnsupportedOperationError",
    "Wording",
    "parameter",
]


class Wording(str):
    """A text that names parameters, which other readers know by other names: an option, say.

    The names stand in braces, spelled as in Python. Data come as `values` and are never taken for a template.

    Examples
    --------
    >>> hint = Wording("pass {labels=}, which must hold {event!r}.", event="{yes}")
    >>> hint
    "pass labels=, which must hold '{yes}'."
    >>> hint.told({"labels=": "--classes"})
    "pass --classes, which must hold '{yes}'."
    """

    __slots__ = ("template", "values")

    template: str
    values: dict[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        """Fill the template as Python says it."""
        self = super().__new__(cls, template.format_map(_Fields(values)))
        self.template, self.values = template, values
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        """Return what a copy is made of."""
        return (self.template,), self.values

    def told(self, names: Mapping[str, str]) -> str:
        """Return the text with other names of parameters; a whole template may have another wording, too."""
        values = {key: told(one, names) if isinstance(one, str) else one for key, one in self.values.items()}
        return names.get(self.template, self.template).format_map(_Fields({**names, **values}))


class _Fields(dict[str, object]):
    """What the fields of a template are filled with; a name that has no other is told as it is."""

    def __missing__(self, name: str) -> str:
        return name


def parameter(name: str) -> str:
    """Return the name of a parameter as a text of its own, to be the value of a field of another."""
    return Wording(f"{{{name}}}") if name.isidentifier() else name


def told(text: str, names: Mapping[str, str]) -> str:
    """Return a text, with other names of parameters if it names any."""
    return text.told(names) if isinstance(text, Wording) else text


class ProprietyError(Exception):
    """Base of every error that the package raises on purpose.

    Parameters
    ----------
    law
        What must hold, such as "must lie in [0, 1]"; a whole clause where there is no argument.
    argument
        The parameter that breaks it.
    offender
        What was found instead; with `row` what this row "is".
    count
        How many offend, of how many.
    row, column
        Where the first offender is.
    hint
        What to do about it.

    Attributes
    ----------
    groups
        The groups of cases in which it went wrong, from the outermost.
    aliases
        What a parameter was called by the user, if not by its name.

    Examples
    --------
    >>> error = InputValueError("must lie in [0, 1]", argument="y_proba", row=1, offender="is 1.2", hint="Rescale it.")
    >>> str(error)
    'y_proba must lie in [0, 1]; row 1 is 1.2. Hint: Rescale it.'
    >>> error.told({"y_proba": "the forecast"})
    'the forecast must lie in [0, 1]; row 1 is 1.2. Hint: Rescale it.'
    """

    def __init__(
        self,
        law: str,
        *,
        argument: str = "",
        offender: str = "",
        count: str = "",
        row: int | None = None,
        column: int | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(law)  # All else is in `__dict__`, which copies and pickles keep.
        self.law = law
        self.argument = argument
        self.offender = offender
        self.count = count
        self.row = row
        self.column = column
        self.hint = hint
        self.groups: tuple[object, ...] = ()
        self.aliases: dict[str, str] = {}

    def __str__(self) -> str:
        return self.told({})

    def told(self, names: Mapping[str, str]) -> str:
        """Return the text; `names` are what the reader calls the parameters, by their names in Python."""
        names = {**names, **{name: told(alias, names) for name, alias in self.aliases.items()}}
        text = "".join(f"In the group {group!r}: " for group in self.groups)
        if self.argument:
            text += f"{told(parameter(self.argument), names)} "
        text += told(self.law, names)
        place = "" if self.row is None else f"row {self.row}"
        place += "" if self.column is None else f", column {self.column}"
        offender = " ".join(filter(None, (place, told(self.offender, names))))
        text += f"; {offender}" if offender else ""
        text += f" ({self.count})." if self.count else "."
        return f"{text} Hint: {told(self.hint, names)}" if self.hint else text


class InputValueError(ProprietyError, ValueError):
    """An argument has the right type and breaks a law, such as a probability above 1."""


class InputTypeError(ProprietyError, TypeError):
    """An argument is of a kind that cannot be read, such as strings for probabilities."""


class MissingValuesError(InputValueError):
    """An argument holds missing values (NaN, None, NA or a masked entry) and `missing="raise"`."""


class ImproperRuleError(InputValueError):
    """An analysis that needs a proper scoring rule was given one that is not."""


class UnsupportedOperationError(ProprietyError, NotImplementedError):
    """A formula needs an operation that the engine at hand does not have."""


class MissingDependencyError(ProprietyError, ImportError):
    """An optional library is needed and not installed; the hint says what to install."""


# What a number of some cases raises where they have none, such as an area without events; own measures may divide by 0.
UNDEFINED = (InputValueError, ArithmeticError)
