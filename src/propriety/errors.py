"""What goes wrong, said in one sentence: the argument, the law, the first offender, the count, a hint."""

from __future__ import annotations

__all__ = [
    "UNDEFINED",
    "ImproperRuleError",
    "InputTypeError",
    "InputValueError",
    "MissingDependencyError",
    "MissingValuesError",
    "ProprietyError",
    "UnsupportedOperationError",
    "sentence",
]


class ProprietyError(Exception):
    """Base of every error that the package raises on purpose."""


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
    """An optional library is needed and not installed; the message names what to install."""


# What a number of some cases raises where they have none, such as an area without events; own measures may divide by 0.
UNDEFINED = (InputValueError, ArithmeticError)


def sentence(law: str, *, offender: str = "", count: str = "", hint: str = "") -> str:
    """Put the parts of an error message together.

    Examples
    --------
    >>> sentence("y_proba must lie in [0, 1]", offender="row 1 is 1.2", count="1 of 2 rows", hint="Rescale it.")
    'y_proba must lie in [0, 1]; row 1 is 1.2 (1 of 2 rows). Hint: Rescale it.'
    """
    text = law
    if offender:
        text += f"; {offender}"
    if count:
        text += f" ({count})"
    text += "."
    return f"{text} Hint: {hint}" if hint else text
