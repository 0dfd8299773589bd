"""Rules and measures of the user, imported by name."""

from __future__ import annotations

import sys
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from propriety.errors import InputTypeError, InputValueError, ProprietyError
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.reading import read_measure
from propriety.rules.rule import Rule
from propriety.tables.forecast_table import ForecastTable


def imported(name: str, what: str) -> Any:
    """Import an object, or a class that is then called, by ``package.module:name``; errors call it `what`.

    Examples
    --------
    >>> imported("propriety:Brier", "the rule")
    Brier()
    """
    module, colon, attribute = name.partition(":")
    if not (colon and module and attribute):
        hint = "my_code:Own means Own in the installed module my_code, or in the file my_code.py of this folder."
        raise InputValueError(f"{what} must be named as MODULE:NAME; got {name!r}", hint=hint)
    # Last, so that a file in the folder cannot replace an installed module.
    sys.path.append(str(Path.cwd()))
    try:
        found = getattr(import_module(module), attribute)
        return found() if isinstance(found, type) else found
    except Exception as error:
        raise InputValueError(f"{name} cannot be loaded; {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop()


def imported_rule(name: str) -> Rule:
    """Import a scoring rule."""
    found = imported(name, "the rule")
    if not isinstance(found, Rule):
        raise InputTypeError(f"{name} must be a scoring rule, or the class of one; it is {type(found).__name__}")
    return found


def imported_measure(name: str) -> Measure:
    """Import a measure, a scoring rule or a function of a table, and test it.

    Examples
    --------
    >>> imported_measure("propriety.measures:AreaUnderRoc").label
    'area under the ROC curve'
    """
    found = imported(name, "--measure")
    try:
        measure = read_measure(found)
    except InputTypeError as error:
        law = f"{name} must be a measure, a rule or a function of a ForecastTable; it is {type(found).__name__}"
        raise InputTypeError(law, hint="derive its class from propriety.measures.Measure.") from error
    _try(measure, name)
    return measure


def _try(measure: Measure, name: str) -> None:
    """Compute a measure of a few cases, so that an error in its formula is found before the work begins."""
    try:
        value = measure.value(ForecastTable(forecast=[0.25, 0.75], events=[1, 2], non_events=[2, 1]))  # type: ignore[arg-type]  # lists work, too
    except (ProprietyError, ArithmeticError):
        return  # The measure may be undefined for these cases.
    except Exception as error:  # The formula is the user's.
        raise InputValueError(f"{name} cannot be computed; {type(error).__name__}: {error}") from error
    if not isinstance(value, Real | np.bool_):
        raise InputTypeError(f"{name} must return a number; it returned {type(value).__name__}")
