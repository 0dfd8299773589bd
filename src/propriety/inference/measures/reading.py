"""Reading a measure argument: a rule, a measure, or any function of a forecast table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from propriety.errors import InputTypeError, InputValueError
from propriety.inference.measures.keys import measure_of
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore
from propriety.rules.rule import Rule
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import first_repeated

OfTable: TypeAlias = Callable[[ForecastTable], float]
AnyMeasure: TypeAlias = Measure | Rule | OfTable | str  # What stands for a measure: its short name is a text.


@dataclass(frozen=True, repr=False)
class _Own(Measure):
    """A measure given as the user's own function of a table, which does not say whether higher is better."""

    function: OfTable

    def __post_init__(self) -> None:
        name = str(getattr(self.function, "__name__", type(self.function).__name__))
        self.declare(key=name, label=name.replace("_", " "))

    def __repr__(self) -> str:
        return self.key

    def value(self, table: ForecastTable) -> float:
        """Return the value of the function after checking that it is one number."""
        try:
            value = self.function(table)
        except ArithmeticError as error:
            law = f"a measure must return a number; {self.key} failed with {type(error).__name__}: {error}"
            raise InputValueError(law) from error
        if not isinstance(value, Real | np.bool_) and not (isinstance(value, np.ndarray) and value.ndim == 0):
            law = f"a measure must return a number; {self.key} returned {type(value).__name__}"
            raise InputTypeError(law)
        return float(value)


def read_measures(measures: Any, *, needed: bool = False) -> tuple[Measure, ...]:
    """Return the distinct measures of a sequence of rules, measures or functions of a table, or of a single one.

    If `needed`, an empty sequence raises an error.

    Examples
    --------
    >>> from propriety.rules.families import Brier
    >>> [one.key for one in read_measures([Brier(), len])], [one.key for one in read_measures(Brier())]
    (['brier', 'len'], ['brier'])
    """
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        measures = [measures]
    found: tuple[Measure, ...] = ()
    for one in measures:
        measure = read_measure(one, "measures")
        found += () if measure in found else (measure,)
    if needed and not found:
        raise InputValueError("must name at least one measure", argument="measures", offender="it is empty")
    check_keys(found)
    return found


def check_keys(measures: Iterable[Measure], argument: str = "measures") -> None:
    """Raise an error if two measures have the same short name, by which results are found."""
    twice = first_repeated(measure.key for measure in measures)
    if twice is not None:
        law, hint = "must each have a key of its own", "ask for one of them at a time."
        raise InputValueError(law, argument=argument, offender=f"{twice!r} occurs twice", hint=hint)


def read_measure(measure: Any, argument: str = "measure") -> Measure:
    """Return the measure for a rule (its mean score), a measure, or any function of a table.

    Examples
    --------
    >>> from propriety.rules.families import Brier
    >>> read_measure(Brier()).label
    'Brier score'
    >>> read_measure(lambda table: table.event_rate).key
    '<lambda>'
    """
    if isinstance(measure, str):
        return measure_of(measure, argument)
    if isinstance(measure, Rule):
        return MeanScore(measure)
    if isinstance(measure, type):
        law = "must be a rule, a measure or a function of a ForecastTable"
        raise InputTypeError(
            law,
            argument=argument,
            offender=f"got the class {measure.__name__}",
            hint=f"instantiate it, {measure.__name__}(...).",
        )
    if isinstance(measure, Measure):
        return measure
    if callable(measure):
        return _Own(measure)
    law = "must be a rule, a measure or a function of a ForecastTable"
    raise InputTypeError(
        law,
        argument=argument,
        offender=f"got {type(measure).__name__}",
        hint='pass "auc", "net_benefit_at_0.1", Skill(Log()), ...; derive its class from propriety.measures.Measure.',
    )
