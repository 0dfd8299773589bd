"""PyTorch: every rule as a differentiable loss, from the same formula that scores NumPy arrays and engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from propriety.errors import InputValueError, UnsupportedOperationError, sentence
from propriety.integrations.libraries import load_library
from propriety.rules.operations import Column, Operations
from propriety.rules.rule import BinaryRule, ClassRule, Rule, check_rule
from propriety.tables.validation import TOLERANCE, read_cases

__all__ = ["TORCH", "Reduction", "RuleLoss", "TorchOperations"]

torch: Any = load_library("torch", extra="torch")
Module: Any = torch.nn.Module

Tensor: TypeAlias = Any
Reduction: TypeAlias = Literal["mean", "sum", "none"]

SOFTMAX_ROUNDING = 0.1  # A softmax sums to one by construction, up to the rounding of very many classes.


@dataclass(frozen=True, slots=True)
class TorchOperations:
    """The operation vocabulary on tensors; see `propriety.rules.operations`.

    Parameters
    ----------
    dtype : torch.dtype
        The type of a number that stands for all cases, which is that of the forecasts.

    Examples
    --------
    >>> import propriety as pr
    >>> import torch
    >>> forecast = torch.tensor([0.5, 1.0], dtype=torch.float64)
    >>> pr.Log().loss(forecast, event=True, ops=TorchOperations(torch.float64))
    tensor([0.6931, -0.0000], dtype=torch.float64)
    """

    dtype: Any

    def log(self, x: Column) -> Column:
        """Natural logarithm, minus infinity at 0."""
        return torch.log(x)

    def log1p(self, x: Column) -> Column:
        """Natural logarithm of 1 + x."""
        return torch.log1p(x)

    def power(self, x: Column, exponent: float) -> Column:
        """Raise x to a constant."""
        return x**exponent

    def abs(self, x: Column) -> Column:
        """Absolute value."""
        return torch.abs(x)

    def clip(self, x: Column, low: float, high: float) -> Column:
        """Bring x into [low, high]; outside, its gradient is zero."""
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

    def incomplete_beta(self, alpha: float, beta: float, x: Column, *, upper: bool = False) -> Column:
        """Refuse: PyTorch has no incomplete beta function."""
        del alpha, beta, x, upper
        message = "PyTorch has no incomplete beta function. Hint: train by BoundedBrier; metrics take BetaRegret."
        raise UnsupportedOperationError(message)

    def _tensor(self, column: Column, beside: Tensor) -> Tensor:
        """Return a column as it is, and a number as a tensor on the same device as another."""
        return column if torch.is_tensor(column) else torch.tensor(column, dtype=self.dtype, device=beside.device)


TORCH: Operations = TorchOperations(torch.float64)


class RuleLoss(Module):  # type: ignore[misc]  # PyTorch is optional, so its types are unknown here
    r"""Mean loss of a batch under a scoring rule, :math:`\frac{1}{n} \sum_i S(p_i, y_i)`, to be minimised.

    Parameters
    ----------
    rule : Rule
        The scoring rule, such as ``Brier()``, ``RankedProbability()`` or ``BoundedLog(0.05, 0.2)``; of two classes, a
        rule for one event scores the second.
    from_logits : bool
        Whether forecasts are logits, :math:`p = 1 / (1 + e^{-x})` or :math:`p_k = e^{x_k} / \sum_j e^{x_j}`. It is
        declared and never guessed.
    reduction : {"mean", "sum", "none"}
        What is returned: the mean over the cases, their sum, or one loss per case.
    tolerance : float
        How far a row of probabilities may be from summing to one.

    Notes
    -----
    A bounded score is flat, with a gradient of zero, where the forecast is outside its thresholds: start from a model
    that was trained by an unbounded score. The penalties of `PenalizedBrier` and `PenalizedLog` are steps, and add
    nothing to the gradient; `Elementary` and `Misclassification` are nothing but steps, and have none. The log score of
    extreme logits is infinite, because their probabilities round to 0 and 1; `torch.nn.CrossEntropyLoss` is that score
    without this limit.

    Forecasts and outcomes are judged as everywhere in the package, on the CPU; half precision is computed in single.

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
        tolerance: float = TOLERANCE,
    ) -> None:
        check_rule(rule)
        if reduction not in get_args(Reduction):
            raise InputValueError(sentence(f'reduction must be "mean", "sum" or "none"; got {reduction!r}'))
        super().__init__()
        self.rule = rule
        self.from_logits = from_logits
        self.reduction = reduction
        self.tolerance = tolerance

    def forward(self, forecast: Tensor, target: Tensor) -> Tensor:
        """Return the loss of forecasts.

        Parameters
        ----------
        forecast : tensor of shape (n,), (n, 1) or (n, K)
            Probabilities of the event or of the classes, or their logits.
        target : tensor of shape (n,) or (n, 1)
            Whether the event happened, or the number of the class.
        """
        proba = self._probabilities(_column(forecast))
        outcome = _column(target)
        self._judge(proba, outcome)
        losses = self._losses(proba, outcome, TorchOperations(proba.dtype))
        return losses if self.reduction == "none" else getattr(losses, self.reduction)()

    def extra_repr(self) -> str:
        """Name the settings, for the view of a module."""
        return f"{self.rule!r}, from_logits={self.from_logits}, reduction={self.reduction!r}"

    def _probabilities(self, forecast: Tensor) -> Tensor:
        """Return the probabilities in the shape that the rule scores."""
        proba = forecast if forecast.dtype == torch.float64 else forecast.float()
        if self.from_logits:
            proba = torch.sigmoid(proba) if proba.ndim == 1 else torch.softmax(proba, dim=1)
        if isinstance(self.rule, BinaryRule):
            return proba[:, 1] if proba.ndim == 2 and proba.shape[1] == 2 else proba
        return torch.stack([1.0 - proba, proba], dim=1) if proba.ndim == 1 else proba

    def _losses(self, proba: Tensor, outcome: Tensor, ops: TorchOperations) -> Tensor:
        if isinstance(self.rule, BinaryRule) and proba.ndim == 1:
            return _event_losses(self.rule, proba, outcome == 1, ops)
        if isinstance(self.rule, ClassRule):
            return self.rule.class_case_loss(list(proba.unbind(1)), outcome, ops=ops)
        law = f"{type(self.rule).__name__} scores the forecast of one event; got shape {tuple(proba.shape)}"
        raise InputValueError(sentence(law, hint="pass the column of the event, such as forecast[:, 1]."))

    def _judge(self, proba: Tensor, outcome: Tensor) -> None:
        """Refuse what is no probability or no outcome."""
        tolerance = SOFTMAX_ROUNDING if self.from_logits else self.tolerance
        arrays = (tensor.detach().cpu().numpy() for tensor in (outcome, proba))
        read_cases(*arrays, tolerance=tolerance).checked()


def _event_losses(rule: BinaryRule, proba: Tensor, event: Tensor, ops: TorchOperations) -> Tensor:
    # Each partial loss sees its own cases only. Where the other one is infinite, its gradient times zero would be NaN.
    happened = rule.loss(ops.where(event, proba, 0.5), event=True, ops=ops)
    did_not = rule.loss(ops.where(event, 0.5, proba), event=False, ops=ops)
    return ops.where(event, happened, did_not)


def _column(values: Tensor) -> Tensor:
    """Return a single column, shape (n, 1), as one dimension."""
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
