"""Errors with separate parts: argument, law, first offender, count and hint. The text is composed when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self


class Wording(str):
    """A text that refers to parameters, whose names can be replaced, for example by command-line options.

    The names are in braces, spelled as in Python. Data are passed as `values` and are never read as a template.

    Examples
    --------
    >>> hint = Wording("pass {labels=}, which must hold {event!r}.", event="{yes}")
    >>> hint
    "pass labels=, which must hold '{yes}'."
    >>> hint.with_names({"labels=": "--classes"})
    "pass --classes, which must hold '{yes}'."
    """

    __slots__ = ("template", "values")

    template: str
    values: dict[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        """Fill the template with the names used in Python."""
        self = super().__new__(cls, template.format_map(_Fields(values)))
        self.template, self.values = template, values
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        """Return the arguments from which a copy is made."""
        return (self.template,), self.values

    def with_names(self, names: Mapping[str, str]) -> str:
        """Return the text with other parameter names; a whole template can also be replaced by another wording."""
        values = {key: with_names(one, names) if isinstance(one, str) else one for key, one in self.values.items()}
        return names.get(self.template, self.template).format_map(_Fields({**names, **values}))


class _Fields(dict[str, object]):
    """The values of the fields of a template; a name without a replacement is kept."""

    def __missing__(self, name: str) -> str:
        return name


class _Part(str):
    """A part of a parameter, such as ``by['age']``, which may have another name as a whole."""

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> Self:
        self = super().__new__(cls, text)
        self.text = text
        return self


def parameter(name: str) -> str:
    """Return the name of a parameter, or of a part of one, as a text that can be used as the value of a field."""
    return Wording(f"{{{name}}}") if name.isidentifier() else _Part(name)


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text, with other parameter names if it refers to any."""
    if isinstance(text, _Part):
        return names[text] if text in names else with_names(text.text, names)
    return text.with_names(names) if isinstance(text, Wording) else text


class ProprietyError(Exception):
    """Base class of all errors that the package raises on purpose.

    Parameters
    ----------
    law
        What must hold, such as "must lie in [0, 1]"; a full clause if there is no argument.
    argument
        The parameter that violates it.
    offender
        What was found instead; with `row`, what this row "is".
    count
        How many entries violate it, and of how many.
    row, column
        Position of the first offender.
    hint
        How to fix it.

    Attributes
    ----------
    groups
        The groups of cases in which the error occurred, outermost first.
    aliases
        The names under which the user knows the parameters, if they differ.

    Examples
    --------
    >>> error = InputValueError("must lie in [0, 1]", argument="y_proba", row=1, offender="is 1.2", hint="Rescale it.")
    >>> str(error)
    'y_proba must lie in [0, 1]; row 1 is 1.2. Hint: Rescale it.'
    >>> error.with_names({"y_proba": "the forecast"})
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
        super().__init__(law)  # The other parts are in `__dict__`, which copies and pickles keep.
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
        return self.with_names({})

    def with_names(self, names: Mapping[str, str]) -> str:
        """Return the text; `names` maps the Python names of parameters to those that the reader knows."""
        names = {**names, **{name: with_names(alias, names) for name, alias in self.aliases.items()}}
        text = "".join(f"In the group {group!r}: " for group in self.groups)
        if self.argument:
            text += f"{with_names(parameter(self.argument), names)} "
        text += with_names(self.law, names)
        place = "" if self.row is None else f"row {self.row}"
        place += "" if self.column is None else f", column {self.column}"
        offender = " ".join(filter(None, (place, with_names(self.offender, names))))
        text += f"; {offender}" if offender else ""
        text += f" ({self.count})." if self.count else "."
        return f"{text} Hint: {with_names(self.hint, names)}" if self.hint else text


class InputValueError(ProprietyError, ValueError):
    """An argument has the right type but an invalid value, such as a probability above 1."""


class InputTypeError(ProprietyError, TypeError):
    """An argument is of a type that cannot be read, such as strings for probabilities."""


class MissingValuesError(InputValueError):
    """An argument holds missing values (NaN, None, NA or a masked entry) and `missing="raise"`."""


class ImproperRuleError(InputValueError):
    """An analysis that needs a proper scoring rule was given an improper one."""


class UnsupportedOperationError(ProprietyError, NotImplementedError):
    """A formula needs an operation that the engine does not support."""


class MissingDependencyError(ProprietyError, ImportError):
    """An optional library is needed but not installed; the hint says what to install."""


# Errors raised if a number cannot be computed for some cases, such as an AUC without events. User-defined measures may
# divide by 0.
UNDEFINED = (InputValueError, ArithmeticError)
