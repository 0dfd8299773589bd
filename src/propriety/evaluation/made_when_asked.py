"""Answers made when asked: those of many events, of which a page shows a few, and the gains of recalibration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from propriety.errors import InputValueError
from propriety.evaluation.problem import Problem
from propriety.inference.recalibration_gain import RecalibrationGain
from propriety.ledger.ledger import Ledger
from propriety.recalibration.recalibrate import recalibrate
from propriety.recalibration.result import Recalibration

Answer = TypeVar("Answer")
FEWEST = 50  # Cases; with fewer, the gain cannot be estimated reliably.
KEY = "recalibration_gain"


class MadeWhenAsked(Mapping[Any, Answer]):
    """A mapping with a result for each label, computed on first use.

    Parameters
    ----------
    labels : iterable
        The labels, in order.
    make : callable
        Computes the result for a label.
    keep : bool
        Whether results are kept; otherwise each is computed whenever it is used.

    Examples
    --------
    >>> squares = MadeWhenAsked([2, 3], lambda number: number**2)
    >>> list(squares), squares[3]
    ([2, 3], 9)
    """

    def __init__(self, labels: Iterable[Any], make: Callable[[Any], Answer], *, keep: bool = True) -> None:
        self._made: dict[Any, Answer | None] = dict.fromkeys(labels)
        self._make, self._keep = make, keep

    def __getitem__(self, label: Any) -> Answer:
        found = self._made[label]
        if found is None:
            found = self._make(label)
            self._made[label] = found if self._keep else None
        return found

    def __contains__(self, label: object) -> bool:
        return label in self._made

    def __iter__(self) -> Iterator[Any]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __repr__(self) -> str:
        return f"MadeWhenAsked({list(self)})"


class RecalibrationGains(Mapping[str, Recalibration]):
    """The recalibration of each model by the default map, with its cross-fitted gain; computed on first access.

    Gains are in units of the score that ranks the models. Independent cases without weights are assigned to folds from
    their forecast table; other cases must be in memory. Models whose cases cannot be assigned are missing, and
    `reasons` says why.

    Parameters
    ----------
    ledger : Ledger
        The models; there are no gains for classes.
    problem : Problem
        The problem, with the score that ranks the models.
    level : float
        Level of the intervals.

    Examples
    --------
    >>> import propriety as pr
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1] * 100, [0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.8, 0.8] * 100
    >>> result = pr.evaluate(y, {"a": p}, seed=1)
    >>> verdict = result.recalibration["a"].verdict
    >>> verdict.outcome, round(verdict.before, 4), round(verdict.gain, 4)
    ('gain', 0.2, 0.0115)
    """

    def __init__(self, ledger: Ledger, problem: Problem, *, level: float) -> None:
        self._problem, self._rates = problem, ledger.rates
        made = partial(_recalibrated, ledger, problem, level)
        self._made: Mapping[str, Recalibration | str] = MadeWhenAsked(
            ledger.models if ledger.kind == "binary" else (), made
        )

    @property
    def reasons(self) -> dict[str, str]:
        """Why models have no gain, by model."""
        return {model: found for model in self._made if isinstance(found := self._made[model], str)}

    def gain(self, model: str) -> RecalibrationGain | None:
        """Return the gain for the verdict on calibration; None if it has no interval or the score is infinite."""
        found = self._made[model]
        if isinstance(found, str) or math.isnan(found.verdict.low) or found.verdict.reference != "none":
            return None
        rule, rate = self._problem.headline.rule, self._rates["event"]
        losses: Any = rule
        uncertainty = rate * losses.loss(rate, event=True) + (1.0 - rate) * losses.loss(rate, event=False)
        label, verdict = self._problem.headline.label, found.verdict
        return RecalibrationGain(label, verdict.before, verdict.gain, verdict.low, verdict.high, float(uncertainty))

    def numbers(self, model: str) -> dict[str, float]:
        """Return the gain and its limits under the names used by gates and experiment trackers; NaN if unknown."""
        if model not in self._made:
            return {}
        found = self.get(model)
        limits = (math.nan,) * 3 if found is None else (found.verdict.gain, found.verdict.low, found.verdict.high)
        return dict(zip((KEY, f"{KEY}_low", f"{KEY}_high"), map(float, limits), strict=True))

    def __getitem__(self, model: str) -> Recalibration:
        found = self._made[model]
        if isinstance(found, str):
            raise KeyError(f"{model}: {found}")
        return found

    def __iter__(self) -> Iterator[str]:
        return (model for model in self._made if not isinstance(self._made[model], str))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"RecalibrationGains({list(self._made)})"


def _recalibrated(ledger: Ledger, problem: Problem, level: float, model: str) -> Recalibration | str:
    """Return the recalibration of a model, or why there is none."""
    if ledger.n < FEWEST:
        return f"the gain of recalibration needs at least {FEWEST} cases"
    try:
        return recalibrate(ledger, model=model, rule=problem.headline.rule, level=level)
    except InputValueError as error:
        return error.demand
