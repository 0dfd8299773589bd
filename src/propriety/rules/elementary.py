"""The elementary score, which is the regret at one threshold, and mixtures of it over thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from propriety.checks import check_inside
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.rule import BinaryRule, Properties
from propriety.rules.weights import BetaWeight


@dataclass(frozen=True, slots=True, repr=False)
class Elementary(BinaryRule):
    r"""Regret of acting if the forecast reaches the threshold :math:`c`.

    Acting without the event costs :math:`c`; not acting on the event costs :math:`1 - c`: :math:`S(p, 1) = (1 - c) 1\{p
    < c\}` and :math:`S(p, 0) = c\, 1\{p \ge c\}`. The mean over cases is the regret :math:`R^*(c)`. Every proper score
    is a mixture of these over thresholds.

    Parameters
    ----------
    threshold : float
        :math:`c` in (0, 1), the cost of a false alarm as a share of the cost of both errors. It is one number: each
        threshold has its own rule, and a range has a mixture of them, such as `BoundedBrier`.

    References
    ----------
    Ehm, Gneiting, Jordan & Krüger (2016), doi:10.1111/rssb.12154.

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([0, 1], [0.2, 0.1], rule=pr.Elementary(0.2)))
    0.5
    """

    name: ClassVar[str] = "elementary"
    label: ClassVar[str] = "regret"

    threshold: float

    def __post_init__(self) -> None:
        check_inside("threshold", self.threshold)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: proper, but not strictly, because only the side of the threshold matters."""
        del classes
        worst = max(self.threshold, 1.0 - self.threshold)
        return Properties(
            proper=True,
            strictly_proper=False,
            superior=False,
            right_before_wrong=False,
            best=0.0,
            worst=worst,
            ties="act",
        )

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the cost of the decision if it is wrong, else 0."""
        acts = p >= self.threshold
        return ops.where(acts, 0.0, 1.0 - self.threshold) if event else ops.where(acts, self.threshold, 0.0)


@dataclass(frozen=True, slots=True, repr=False)
class ShiftedBrier(BinaryRule):
    r"""Brier score of a transformed forecast, so that thresholds around :math:`\mu` count most.

    With :math:`M(p) = p (1 - \mu) / (p (1 - \mu) + (1 - p) \mu)`, which maps :math:`\mu` to 1/2, the loss is :math:`(1
    - \mu) (1 - M(p))^2` for an event and :math:`\mu M(p)^2` for a non-event: the regret averaged over thresholds with
    density :math:`2 \mu^2 (1 - \mu)^2 / (\mu + c (1 - 2 \mu))^3`. For :math:`\mu = 1/2` it is half the Brier score.

    Parameters
    ----------
    mu : float
        The threshold that matters most, in (0, 1).
    weighted : bool
        False omits the factors :math:`1 - \mu` and :math:`\mu`, as in the publication. That form is improper unless
        :math:`\mu = 1/2`; it is provided to reproduce published numbers.

    References
    ----------
    Flores et al. (2025), appendix D, arXiv:2504.04528, corrected.

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([1, 0], [0.2, 0.2], rule=pr.ShiftedBrier(0.2)))
    0.125
    """

    name: ClassVar[str] = "shifted_brier"
    label: ClassVar[str] = "shifted Brier score"
    short: ClassVar[str] = "shifted Brier"

    mu: float
    weighted: bool = True

    def __post_init__(self) -> None:
        check_inside("mu", self.mu)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: with the factors strictly proper, without them only at 1/2; superior only at 1/2."""
        del classes
        even = self.mu == 0.5
        proper = self.weighted or even
        worst = max(self.mu, 1.0 - self.mu) if self.weighted else 1.0
        return Properties(
            proper=proper, strictly_proper=proper, superior=even, right_before_wrong=True, best=0.0, worst=worst
        )

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the weighted squared error of the transformed forecast."""
        del ops
        hit, miss = p * (1.0 - self.mu), (1.0 - p) * self.mu
        error = (miss if event else hit) / (hit + miss)
        factor = (1.0 - self.mu if event else self.mu) if self.weighted else 1.0
        return factor * error * error


@dataclass(frozen=True, slots=True, repr=False)
class BetaRegret(BinaryRule):
    r"""Regret averaged over thresholds drawn from Beta(:math:`\alpha, \beta`).

    :math:`S(p, 1) = \frac{\beta}{\alpha + \beta} \bigl(1 - I_p(\alpha, \beta + 1)\bigr)` and
    :math:`S(p, 0) = \frac{\alpha}{\alpha + \beta} I_p(\alpha + 1, \beta)` with the regularised incomplete beta
    function :math:`I`. Beta(1, 1) gives half the Brier score. On an engine it is computed from the forecast table.

    Parameters
    ----------
    alpha, beta : float
        Parameters of the distribution of thresholds, positive.

    References
    ----------
    Buja, Stuetzle & Shen (2005); Hand (2009), doi:10.1007/s10994-009-5119-5.

    Examples
    --------
    >>> import propriety as pr
    >>> float(pr.mean_score([1, 0], [0.5, 0.5], rule=pr.BetaRegret(1, 1)))
    0.125
    """

    name: ClassVar[str] = "beta_regret"
    label: ClassVar[str] = "beta regret"

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        BetaWeight(self.alpha, self.beta)  # This checks the parameters.

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims: strictly proper, because every threshold has weight; superior if weights are symmetric."""
        del classes
        even = self.alpha == self.beta
        worst = max(self.alpha, self.beta) / (self.alpha + self.beta)
        return Properties(
            proper=True, strictly_proper=True, superior=even, right_before_wrong=True, best=0.0, worst=worst
        )

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the mean cost over the thresholds on the wrong side of the forecast."""
        return BetaWeight(self.alpha, self.beta).loss(p, event=event, ops=ops)
