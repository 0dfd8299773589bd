"""PyTorch: every rule that has a gradient as a loss, from the same formula that scores NumPy arrays and engines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from propriety import checks
from propriety.errors import UnsupportedOperationError
from propriety.integrations import load_library
from propriety.integrations.model_outputs import (
    LogitOperations,
    array_of,
    event_or_rows,
    output_losses,
    rounding_of,
    single_column,
)
from propriety.rules.operations import Column, Operations
from propriety.rules.rule import BinaryRule, Rule, check_rule
from propriety.tables.probabilities import TOLERANCE
from propriety.tables.validation import read_cases

__all__ = ["TORCH", "Reduction", "RuleLoss", "TorchOperations"]

torch: Any = load_library("torch", extra="torch")
Module: Any = torch.nn.Module

Tensor: TypeAlias = Any
Reduction: TypeAlias = Literal["mean", "sum", "none"]

ANY_SUM = 0.9  # A softmax sums to one by construction, so its sum is not checked.


@dataclass(frozen=True, slots=True)
class TorchOperations:
    """The operations of formulas on tensors; see `propriety.rules.operations`.

    Parameters
    ----------
    dtype : torch.dtype
        Type of numbers that stand for all cases, that of the forecasts.
    bounded : bool
        Whether the loss is bounded. Logarithms and powers then have a gradient of zero at 0, where it is infinite:
        a loss that is clipped there is constant, and infinity times zero would be NaN.

    Examples
    --------
    >>> import propriety as pr
    >>> import torch
    >>> forecast = torch.tensor([0.5, 1.0], dtype=torch.float64)
    >>> pr.Log().loss(forecast, event=True, ops=TorchOperations(torch.float64))
    tensor([0.6931, -0.0000], dtype=torch.float64)
    """

    dtype: Any
    bounded: bool = False

    def log(self, x: Column) -> Column:
        """Natural logarithm, minus infinity at 0."""
        return self._apart_from_pole(torch.log, x, 0.0)

    def log1p(self, x: Column) -> Column:
        """Natural logarithm of 1 + x."""
        return self._apart_from_pole(torch.log1p, x, -1.0)

    def power(self, x: Column, exponent: float) -> Column:
        """Raise x to a constant."""
        return self._apart_from_pole(lambda base: base**exponent, x, 0.0)

    def abs(self, x: Column) -> Column:
        """Absolute value."""
        return torch.abs(x)

    def clip(self, x: Column, low: float, high: float) -> Column:
        """Clip x to [low, high]; the gradient is zero outside."""
        return torch.clamp(x, low, high)

    def minimum(self, *columns: Column) -> Column:
        """Smallest of the columns, case by case."""
        return torch.stack(columns).amin(0)

    def maximum(self, *columns: Column) -> Column:
        """Largest of the columns, case by case."""
        return torch.stack(columns).amax(0)

    def where(self, condition: Column, yes: Column, no: Column) -> Column:
        """`yes` where the condition holds, else `no`."""
        return torch.where(condition, self._tensor(yes, condition), self._tensor(no, condition))

    def number(self, condition: Column) -> Column:
        """1 where the condition holds, else 0."""
        return condition.to(self.dtype)

    def log_likelihood(self, p: Column, event: Column) -> Column:
        """Logarithm of p where the event happened, else of 1 - p."""
        return self.where(event, self.log(p), self.log1p(-p))

    def incomplete_beta(self, alpha: float, beta: float, x: Column, *, upper: bool = False) -> Column:
        """Raise an error, because PyTorch has no incomplete beta function."""
        del alpha, beta, x, upper
        hint = "train with BoundedBrier; metrics accept BetaRegret."
        raise UnsupportedOperationError("PyTorch has no incomplete beta function", hint=hint)

    def _apart_from_pole(self, function: Callable[[Tensor], Tensor], x: Tensor, pole: float) -> Tensor:
        """Return a function of x; of a bounded loss, without a gradient at its pole."""
        if not self.bounded:
            return function(x)
        # Numbers below the smallest normal one may have an infinite slope, too.
        inside = x >= torch.finfo(x.dtype).tiny if pole == 0.0 else x > pole
        return torch.where(inside, function(torch.where(inside, x, 1.0)), function(x.detach()))

    def _tensor(self, column: Column, beside: Tensor) -> Tensor:
        """Return a column as it is, or a number as a tensor on the device of another tensor."""
        return column if torch.is_tensor(column) else torch.tensor(column, dtype=self.dtype, device=beside.device)


TORCH: Operations = TorchOperations(torch.float64)


def torch_logits(formulas: TorchOperations) -> LogitOperations:
    """Return the operations on logits; see `propriety.integrations.model_outputs`."""
    # No finite logit means a probability of 0. A power below 1 has an infinite slope there, and its product with the
    # slope of the softmax, 0, would be NaN.
    smallest = torch.finfo(formulas.dtype).tiny
    return LogitOperations(
        formulas,
        sigmoid=lambda x: torch.sigmoid(x).clamp(min=smallest),
        log_sigmoid=torch.nn.functional.logsigmoid,
        softmax=lambda x: list(torch.softmax(x, dim=1).clamp(min=smallest).unbind(1)),
        log_softmax=lambda x: torch.log_softmax(x, dim=1),
        log_cumulated=lambda rows: torch.logcumsumexp(rows, dim=1),
        reversed=torch.fliplr,
        at=lambda rows, outcome: rows.gather(1, outcome.long()[:, None])[:, 0],
        two_classes=lambda x: torch.stack([torch.zeros_like(x), x], dim=1),
    )


class RuleLoss(Module):  # type: ignore[misc]  # PyTorch is optional, so its types are unknown here
    r"""Mean loss of a batch under a scoring rule, :math:`\frac{1}{n} \sum_i S(p_i, y_i)`, to be minimised.

    Parameters
    ----------
    rule : Rule
        The scoring rule, such as ``Brier()``, ``RankedProbability()`` or ``BoundedLog(0.05, 0.2)``; with two classes, a
        rule for one event scores the second class.
    from_logits : bool
        Whether forecasts are logits, :math:`p = 1 / (1 + e^{-x})` or :math:`p_k = e^{x_k} / \sum_j e^{x_j}`. It must be
        declared and is never guessed.
    reduction : {"mean", "sum", "none"}
        What is returned: the mean over the cases, their sum, or one loss per case.

    Notes
    -----
    A bounded score is flat, with a gradient of zero, if the forecast is outside its thresholds: start from a model
    trained with an unbounded score. The penalties of `PenalizedBrier` and `PenalizedLog` are steps and add nothing to
    the gradient; `Elementary` and `Misclassification` are step functions and have no gradient.

    Log scores of logits are computed by log-softmax, as in `torch.nn.CrossEntropyLoss`, and have finite gradients for
    all finite logits. Log scores of probabilities are infinite if a probability was rounded to 0: prefer logits.
    Bounded scores, such as ``Log(clip=1e-6)`` and ``Tsallis()``, have a gradient of zero there.

    Forecasts and outcomes are checked on the CPU, as everywhere in the package. Half precision is computed in single
    precision. Row sums may deviate from one by what rounding explains in the precision of the forecasts; see
    `propriety.tables.probabilities.rounding_of_rows`.

    Examples
    --------
    >>> import propriety as pr
    >>> import torch
    >>> logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 0.0]], requires_grad=True)
    >>> loss = RuleLoss(pr.RankedProbability(), from_logits=True)(logits, torch.tensor([0, 2]))
    >>> loss
    tensor(0.1965, grad_fn=<MeanBackward0>)
    >>> loss.backward()
    >>> logits.grad[0] < 0
    tensor([ True, False, False])
    """

    def __init__(
        self,
        rule: Rule,
        *,
        from_logits: bool = False,
        reduction: Reduction = "mean",
    ) -> None:
        check_rule(rule)
        checks.choice(reduction, "reduction", get_args(Reduction))
        super().__init__()
        self.rule = rule
        self.from_logits = from_logits
        self.reduction = reduction

    def forward(self, forecast: Tensor, target: Tensor) -> Tensor:
        """Return the loss of forecasts.

        Parameters
        ----------
        forecast : tensor of shape (n,), (n, 1) or (n, K)
            Probabilities of the event or of the classes, or their logits.
        target : tensor of shape (n,) or (n, 1)
            Whether the event happened, or the class index.
        """
        self.check(forecast, target)
        losses = self.losses(forecast, target)
        return losses if self.reduction == "none" else getattr(losses, self.reduction)()

    def losses(self, forecast: Tensor, target: Tensor) -> Tensor:
        """Return the loss of each case, without checks."""
        values, outcome = single_column(forecast), single_column(target)
        values = values if values.dtype == torch.float64 else values.float()
        event = isinstance(self.rule, BinaryRule) and (values.ndim == 1 or values.shape[1] == 2)
        classes = None if event else 2 if values.ndim == 1 else values.shape[1]
        worst = None if self.from_logits else self.rule.properties(classes).worst
        formulas = TorchOperations(values.dtype, bounded=worst is not None and worst < math.inf)
        return output_losses(self.rule, values, outcome, torch_logits(formulas), from_logits=self.from_logits)

    def check(self, forecast: Tensor, target: Tensor) -> None:
        """Raise an error for values that are not probabilities, logits or outcomes."""
        values = single_column(forecast).detach()
        tolerance = max(TOLERANCE, rounding_of(values))
        if self.from_logits:
            values, tolerance = values if values.dtype == torch.float64 else values.float(), ANY_SUM
            values = torch.sigmoid(values) if values.ndim == 1 else torch.softmax(values, dim=1)
        proba = event_or_rows(self.rule, array_of(values), tolerance=tolerance)
        read_cases(array_of(single_column(target)), proba, tolerance=tolerance, snapshot=False).checked()

    def extra_repr(self) -> str:
        """Return the settings for the representation of a module."""
        return f"{self.rule!r}, from_logits={self.from_logits}, reduction={self.reduction!r}"
