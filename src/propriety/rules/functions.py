"""Per-case functions that are not scoring rules, but whose means are reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from propriety import checks
from propriety.rules.families import BoundedNetBenefit
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule, Properties, Rule


@dataclass(frozen=True, slots=True, repr=False)
class Excess(BinaryRule):
    """Outcome minus forecast; its mean is calibration in the large.

    Examples
    --------
    >>> Excess().loss(0.25, event=True)
    0.75
    """

    name: ClassVar[str] = "excess"
    label: ClassVar[str] = "outcome less forecast"
    is_additive: ClassVar[bool] = True
    is_even_at_mean: ClassVar[bool] = True

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the outcome minus the forecast."""
        del ops
        return (1.0 if event else 0.0) - p

    def case_loss(self, p: Column, event: Column, *, ops: Operations = NUMPY) -> Column:
        """Return the outcome minus the forecast, for each case."""
        return ops.number(event) - p


@dataclass(frozen=True, slots=True, repr=False)
class NetLoss(BinaryRule):
    r"""Negative net benefit of a case: :math:`-1` for an event acted on, :math:`c / (1 - c)` for a false alarm.

    The mean of this function is the net benefit with the opposite sign. It is not a proper rule itself, but differs
    from one, the regret divided by :math:`1 - c`, by a term that does not depend on the forecast.

    Examples
    --------
    >>> import numpy as np
    >>> NetLoss(0.2).loss(np.array([0.1, 0.3]), event=False)
    array([0.  , 0.25])
    """

    name: ClassVar[str] = "net_loss"
    label: ClassVar[str] = "net benefit, sign turned"

    threshold: float

    def __post_init__(self) -> None:
        checks.number(self.threshold, "threshold", above=0.0, below=1.0)

    @property
    def changes_between(self) -> tuple[float, float]:
        """The threshold, beyond which all forecasts have one loss."""
        return self.threshold, self.threshold

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the cost of acting if the forecast reaches the threshold, else 0."""
        cost = -1.0 if event else self.threshold / (1.0 - self.threshold)
        return ops.where(p >= self.threshold, cost, 0.0)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the range: from acting on events only to acting on non-events only."""
        del classes
        return Properties(best=-1.0, worst=self.threshold / (1.0 - self.threshold))


@dataclass(frozen=True, slots=True, repr=False)
class NetLossOverAll(NetLoss):
    r"""Negative gain of a case over treating all: 1 for an event missed, :math:`-c / (1 - c)` for a true negative.

    Examples
    --------
    >>> import numpy as np
    >>> NetLossOverAll(0.2).loss(np.array([0.1, 0.3]), event=False)
    array([-0.25,  0.  ])
    """

    name: ClassVar[str] = "net_loss_over_all"
    label: ClassVar[str] = "gain over treating all, sign turned"

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return what acting on the case would have gained if it is not acted on, else 0."""
        gain = 1.0 if event else -self.threshold / (1.0 - self.threshold)
        return ops.where(p >= self.threshold, 0.0, gain)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the range: from passing over non-events only to passing over events only."""
        del classes
        return Properties(best=-self.threshold / (1.0 - self.threshold), worst=1.0)


@dataclass(frozen=True, slots=True, repr=False)
class MeanNetLoss(BinaryRule):
    """Mean of `NetLoss` over the thresholds from low to high: `BoundedNetBenefit` relative to never acting.

    Examples
    --------
    >>> float(MeanNetLoss(0.1, 0.3).loss(1.0, event=True))
    -1.0
    """

    name: ClassVar[str] = "mean_net_loss"
    label: ClassVar[str] = "mean net benefit, sign turned"

    low: float
    high: float

    def __post_init__(self) -> None:
        self._forgone()  # This checks the thresholds.

    @property
    def changes_between(self) -> tuple[float, float]:
        """The thresholds, beyond which all forecasts have one loss."""
        return self.low, self.high

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the mean cost of acting over the thresholds that the forecast reaches."""
        return self._forgone().loss(p, event=event, ops=ops) - (1.0 if event else 0.0)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the range: from acting on events only to acting on non-events only."""
        del classes
        return Properties(best=-1.0, worst=float(self.loss(1.0, event=False)))

    def _forgone(self) -> BoundedNetBenefit:
        return BoundedNetBenefit(self.low, self.high)


FUNCTIONS: tuple[type[Rule], ...] = (Excess, NetLoss, NetLossOverAll, MeanNetLoss)
