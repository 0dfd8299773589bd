"""Errors as parts: argument, demand, first offender, count and hint, whose text is composed when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self


class Wording(str):
    """A text with the names of parameters in braces, for which a reader may know other names.

    In Python a name stands for itself. Data are passed as `values` and are never read as a template. `{argument}` is
    the argument of the error. A wording with a `code` can be replaced as a whole.

    Examples
    --------
    >>> hint = Wording("pass {labels=}, which must hold {event!r}.", event="{yes}")
    >>> hint
    "pass labels=, which must hold '{yes}'."
    >>> hint.text({"labels=": "--classes"})
    "pass --classes, which must hold '{yes}'."
    """

    __slots__ = ("code", "template", "values")

    code: str
    template: str
    values: dict[str, object]

    def __new__(cls, template: str, /, code: str = "", **values: object) -> Self:
        """Fill the template with the names used in Python."""
        self = super().__new__(cls, template.format_map(_Names(values)))
        self.code, self.template, self.values = code, template, values
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, object]]:
        """Return the arguments from which a copy is made."""
        return (self.template, self.code), self.values

    def text(self, names: Mapping[str, str]) -> str:
        """Return the text with the names that a reader knows: of parameters, or the wording for a whole code."""
        values = {key: _worded(value, names) for key, value in self.values.items()}
        return names.get(self.code, self.template).format_map(_Names({**names, **values}))


class _Names(dict[str, object]):
    """What stands in the braces of a template; a name that is not known to be another stands for itself."""

    def __missing__(self, name: str) -> str:
        return name


def _worded(value: object, names: Mapping[str, str]) -> object:
    """Return a value as a reader knows it, if it is a text about parameters."""
    return value.text(names) if isinstance(value, Wording) else value


def _known_as(name: str, names: Mapping[str, str]) -> str:
    """Return the name of a parameter, or of a part of one, as a reader knows it."""
    return name.text(names) if isinstance(name, Wording) else names.get(name, name)


ABSENT = object()  # An offender that is not given; None can be one.


class ProprietyError(Exception):
    """Base class of all errors that the package raises on purpose.

    Parameters
    ----------
    demand
        What must hold, such as "must lie in [0, 1]"; a full clause if there is no argument.
    argument
        The parameter that violates it.
    got, got_type
        The value that was found instead, or a value of the type that was found.
    offender
        What was found, in words; with `row`, what this row "is".
    count
        How many entries violate it, and of how many.
    row, column
        Position of the first offender.
    hint
        How to fix it.

    Attributes
    ----------
    code
        Short name of a demand that several functions share, such as "unit-interval"; else empty.
    groups
        The groups of cases in which the error occurred, outermost first.
    names
        What the parameters are called by the function that was called, where that differs.

    Examples
    --------
    >>> error = InputValueError("must lie in [0, 1]", argument="y_proba", row=1, offender="is 1.2", hint="Rescale it.")
    >>> str(error)
    'y_proba must lie in [0, 1]; row 1 is 1.2. Hint: Rescale it.'
    >>> error.text({"y_proba": "the forecast"})
    'the forecast must lie in [0, 1]; row 1 is 1.2. Hint: Rescale it.'
    """

    def __init__(
        self,
        demand: str,
        *,
        argument: str = "",
        got: object = ABSENT,
        got_type: object = ABSENT,
        offender: str = "",
        count: str = "",
        row: int | None = None,
        column: int | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(demand)  # The other parts are in `__dict__`, which copies and pickles keep.
        if got is not ABSENT:
            offender = f"got {got!r}"
        elif got_type is not ABSENT:
            offender = f"got {type(got_type).__name__}"
        self.demand = demand
        self.argument = argument
        self.offender = offender
        self.count = count
        self.row = row
        self.column = column
        self.hint = hint
        self.groups: tuple[object, ...] = ()
        self.names: dict[str, str] = {}

    def __str__(self) -> str:
        return self.text({})

    @property
    def code(self) -> str:
        """Short name of a demand that several functions share."""
        return self.demand.code if isinstance(self.demand, Wording) else ""

    def text(self, names: Mapping[str, str]) -> str:
        """Return the text; `names` maps the Python names of parameters to those that the reader knows."""
        names = {**names, **{name: _known_as(own, names) for name, own in self.names.items()}}
        names["argument"] = argument = _known_as(self.argument, names)
        row = "" if self.row is None else f"row {self.row}"
        row += "" if self.column is None else f", column {self.column}"
        demand, found, hint = (_worded(part, names) for part in (self.demand, self.offender, self.hint))
        text = "".join(f"In the group {group!r}: " for group in self.groups)
        leads = argument and not (isinstance(self.demand, Wording) and "{argument}" in self.demand.template)
        text += f"{argument} {demand}" if leads else f"{demand}"
        text += f"; {row} {found}" if row and found else f"; {row}{found}" if row or found else ""
        text += f" ({self.count})." if self.count else "."
        return f"{text} Hint: {hint}" if self.hint else text


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
