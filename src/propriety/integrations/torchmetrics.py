"""torchmetrics and Lightning: every rule, and the forecast table, as metrics over batches and processes.

The states are integers that are summed, so that the value at the end of an epoch is the same to the last bit however
the cases were divided into batches and among processes, and in whatever order they came.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from propriety.calibration.decomposition import PARTS, decompose, proper_binary_rule
from propriety.checks import check_cells
from propriety.integrations import load_library
from propriety.integrations.batch_sums import SHAPE, counts_of_batch, mean_of_sums, sums_of_batch, table_of_counts
from propriety.integrations.model_outputs import array_of, rounding_of
from propriety.rules.families import BRIER
from propriety.rules.rule import Rule, check_rule
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.probabilities import TOLERANCE

__all__ = ["ForecastTableMetric", "RuleMetric"]

Tensor: TypeAlias = Any

torch: Any = load_library("torch", extra="torchmetrics")
Metric: Any = load_library("torchmetrics", extra="torchmetrics").Metric


class _IntegerMetric(Metric):  # type: ignore[misc]  # torchmetrics is optional, so its types are unknown here
    """A metric whose state is an array of integers to which batches and processes add."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False
    state_name: str

    def set_dtype(self, dst_type: Any) -> _IntegerMetric:
        """Return the metric unchanged: its state is integers, which low-precision floats would round."""
        del dst_type
        return self

    def _apply(self, fn: Any, *given: Any, **options: Any) -> _IntegerMetric:
        """Move the state; a result that is already known would be rounded, so it is computed again."""
        moved: _IntegerMetric = super()._apply(fn, *given, **options)
        moved._computed = None
        return moved

    def _state(self) -> Tensor:
        return getattr(self, self.state_name)


class RuleMetric(_IntegerMetric):
    r"""Mean loss under a scoring rule, exact over batches and processes; lower is better.

    The mean is :math:`\sum_i w_i S(p_i, y_i) / \sum_i w_i`. Its value is the exact sum of the float64 losses divided by
    that of the weights, rounded once: it is within half a unit in the last place, and does not depend on how the cases
    are divided. Up to 2**36 cases are summed. Losses are computed in float64 whatever the precision of the forecasts,
    and `set_dtype` has no effect. An empty batch adds nothing.

    Parameters
    ----------
    rule : Rule
        The scoring rule; with two classes, a rule for one event scores the second class.
    from_logits : bool
        Whether forecasts are logits; log scores are then finite for all finite logits. It must be declared and is never
        guessed.
    **options
        Options of `torchmetrics.Metric`.

    Notes
    -----
    A `DistributedSampler` repeats cases so that all processes have the same number; the repeated ones then count twice.
    Give them a weight of zero, or divide the cases without repetition.

    Examples
    --------
    >>> import propriety as pr
    >>> import torch
    >>> metric = RuleMetric(pr.RankedProbability())
    >>> metric.update(torch.tensor([[0.25, 0.75, 0.0]]), torch.tensor([0]))
    >>> metric.update(torch.tensor([[0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]), torch.tensor([2, 2]))
    >>> metric.compute()
    tensor(0.1354, dtype=torch.float64)
    """

    def __init__(self, rule: Rule, *, from_logits: bool = False, **options: Any) -> None:
        check_rule(rule)
        super().__init__(**options)
        self.rule = rule
        self.from_logits = from_logits
        # A MetricCollection merges metrics whose states have equal names and, after one batch, equal values.
        self.state_name = f"sums of {rule!r}{' of logits' * from_logits}"
        self.add_state(self.state_name, torch.zeros(SHAPE, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> None:
        """Add a batch.

        Parameters
        ----------
        preds : tensor of shape (n,), (n, 1) or (n, K)
            Probabilities of the event or of the classes, or their logits.
        target : tensor of shape (n,) or (n, 1)
            Whether the event happened, or the class index.
        sample_weight : tensor of shape (n,) or (n, 1), optional
            Weights, finite and not negative.
        """
        sums = sums_of_batch(
            self.rule,
            array_of(target),
            array_of(preds),
            None if sample_weight is None else array_of(sample_weight),
            from_logits=self.from_logits,
            tolerance=max(TOLERANCE, rounding_of(preds)),
        )
        setattr(self, self.state_name, self._state() + torch.from_numpy(sums).to(self.device))

    def compute(self) -> Tensor:
        """Return the mean loss of all cases, as a float64 on the CPU; NaN without cases."""
        sums = self._state().cpu().numpy()
        return torch.tensor(mean_of_sums(sums) if sums.any() else math.nan, dtype=torch.float64)


class ForecastTableMetric(_IntegerMetric):
    """The forecast table of an event on a grid, and the decomposition of its mean score at the end of an epoch.

    Forecasts are counted in equal cells of [0, 1], each of which keeps their mean; those of exactly 0 and 1 stay
    separate. The counts are exact over batches and processes.

    Parameters
    ----------
    cells : int
        Number of cells, a power of two.
    rule : BinaryRule
        The proper rule whose mean score is decomposed.
    from_logits : bool
        Whether forecasts are log-odds; it must be declared and is never guessed.
    **options
        Options of `torchmetrics.Metric`.

    Examples
    --------
    >>> import torch
    >>> metric = ForecastTableMetric(cells=4)
    >>> metric.update(torch.tensor([0.1, 0.2, 0.8]), torch.tensor([0, 1, 1]))
    >>> metric.update(torch.tensor([1.0]), torch.tensor([1]))
    >>> metric.compute()["miscalibration"]
    tensor(0.0712, dtype=torch.float64)
    >>> metric.forecast_table()
    ForecastTable(rows=3, n=4, weight=4, event_rate=0.75, cells=4)
    """

    def __init__(self, cells: int = 2**10, *, rule: Rule = BRIER, from_logits: bool = False, **options: Any) -> None:
        check_cells(cells)
        super().__init__(**options)
        self.cells = int(cells)
        self.rule = proper_binary_rule(rule)
        self.from_logits = from_logits
        self.state_name = f"counts{' of logits' * from_logits}"
        self.add_state(self.state_name, torch.zeros((3, self.cells + 2), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Add a batch.

        Parameters
        ----------
        preds : tensor of shape (n,) or (n, 1)
            Probability of the event, or its log-odds; for one of several classes, the column of that class.
        target : tensor of shape (n,) or (n, 1)
            Whether the event happened.
        """
        counts = counts_of_batch(array_of(target), array_of(preds), cells=self.cells, from_logits=self.from_logits)
        setattr(self, self.state_name, self._state() + torch.from_numpy(counts).to(self.device))

    def compute(self) -> dict[str, Tensor]:
        """Return the mean score, its miscalibration, discrimination and uncertainty; NaN without cases.

        See `propriety.decompose`.
        """
        counts = self._state().cpu().numpy()
        parts = decompose(table_of_counts(counts), rule=self.rule) if counts.any() else None
        return {part: torch.tensor(getattr(parts, part, math.nan), dtype=torch.float64) for part in PARTS}

    def forecast_table(self) -> ForecastTable:
        """Return the table of all cases of all processes, for any analysis that accepts one.

        Like `compute`, it must be called in every process.
        """
        with self.sync_context(dist_sync_fn=self.dist_sync_fn, process_group=self.process_group):
            return table_of_counts(self._state().cpu().numpy())
