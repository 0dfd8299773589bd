"""Results of monitoring a stream of forecasts: evidence that may be looked at after every case."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.estimates import counted
from propriety.result import Floats, Result
from propriety.tables.cases import Cases
from propriety.tables.censored_outcomes import CensoredOutcomes
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.table_holder import HoldsTables

# Nothing in a stream of single cases tells whether several of them are of one time, so every result says so.
ONE_BY_ONE = (
    "the level is for outcomes that become known one after another; if several of one time are correlated given their "
    "forecasts, false alarms are more likely: monitor one case of each time"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EProcess(Result):
    r"""Evidence against a claim about a stream of forecasts, one row per case.

    If the claim is true, the expected e-value is at most one at any stopping time, so that the probability of ever
    reaching :math:`1 / \alpha` is at most :math:`\alpha`, however often one looks.

    Parameters
    ----------
    log_e_value : ndarray of shape (n,)
        Natural logarithm of the e-value after each case.
    p_value : ndarray of shape (n,)
        Anytime-valid p-value: one over the largest e-value so far, at most 1.
    alarm : int, optional
        Number of cases after which the e-value first reached 1 / (1 - level); None if it never did.
    claim : str
        The claim that is tested.
    level : float
        One minus the probability of a false alarm, ever, if `note` holds.
    method : str
        How the e-values are computed.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    note : str
        The condition of the level.
    """

    log_e_value: Floats
    p_value: Floats
    alarm: int | None
    claim: str
    level: float
    method: str
    n: int
    dropped: int = 0
    note: str = field(default=ONE_BY_ONE, init=False)
    options: Mapping[str, Any] = field(metadata={"hidden": True})

    @property
    def e_value(self) -> Floats:
        """The e-value after each case; infinite if it is too large for a float."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_e_value)

    @property
    def threshold(self) -> float:
        """The e-value that raises the alarm."""
        return math.exp(log_threshold(self.level))

    @property
    def verdict(self) -> str:
        """The result of the stream in words."""
        if self.alarm is None:
            return f"No alarm in {counted(self.n, 'case')}."
        return f"Alarm after {self.alarm:,} of {counted(self.n, 'case')}: it is not true that {self.claim}."

    def __str__(self) -> str:
        return f"{self.verdict} Note: {self.note}."

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Return one row per case, numbered from 1."""
        arrays = {name: value for name, value in self._fields().items() if isinstance(value, np.ndarray)}
        return {"case": np.arange(1, self.n + 1), "e_value": self.e_value} | arrays

    def _facts(self) -> dict[str, Any]:
        facts = {"n": self.n, "e_value": self.e_value[-1], "p_value": self.p_value[-1], "alarm": self.alarm}
        return facts | {"level": self.level} | ({"dropped": self.dropped} if self.dropped else {})


def log_threshold(level: float) -> float:
    """Return the logarithm of the e-value that raises the alarm."""
    return -math.log1p(-level)


def first_reached(reached: NDArray[np.bool_]) -> int | None:
    """Return the number of cases after which the condition first held; None if never."""
    return int(reached.argmax()) + 1 if reached.any() else None


def anytime_p_values(log_e: Floats) -> Floats:
    """Return one over the largest e-value so far, at most 1."""
    return np.exp(-np.maximum(np.maximum.accumulate(log_e), 0.0))


def refuse_table(y_true: object) -> None:
    """Raise an error for a table, whose cases have no order, and for censored outcomes."""
    if isinstance(y_true, ForecastTable | HoldsTables):
        law = f"monitoring needs predictions in order of arrival; a {type(y_true).__name__} holds no individual cases"
        raise InputTypeError(law)
    if isinstance(y_true, CensoredOutcomes) or (isinstance(y_true, Cases) and y_true.censoring is not None):
        raise InputTypeError(demands.KNOWN_OUTCOMES, argument="y_true")
    if isinstance(y_true, Cases) and y_true.weight is not None:
        raise InputValueError("monitoring needs cases without weights, because its tests count cases")
