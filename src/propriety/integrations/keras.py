"""Keras 3 with the PyTorch backend: rules as training losses, if they have a gradient, and as metrics.

The name of a metric in the logs is that of its rule. Early stopping by the ranked probability score of the validation
data is ``EarlyStopping(monitor="val_ranked_probability")``; the metric reports to Keras that lower is better.
"""

from __future__ import annotations

import math
from dataclasses import asdict, is_dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.decomposition import PARTS, decompose
from propriety.checks import check_cells
from propriety.errors import (
    InputTypeError,
    InputValueError,
    MissingDependencyError,
    UnsupportedOperationError,
)
from propriety.integrations.batch_sums import SHAPE, counts_of_batch, mean_of_sums, sums_of_batch, table_of_counts
from propriety.integrations.libraries import load_library
from propriety.integrations.tensors import Tensor, array_of, rounding_of
from propriety.rules.catalogue import RULES
from propriety.rules.rule import Rule, check_rule
from propriety.tables.cases import TOLERANCE
from propriety.tables.forecast_table import ForecastTable

__all__ = ["ForecastTableMetric", "RuleLoss", "RuleMetric"]

RULE_TYPES = {type(rule).__name__: type(rule) for rule in RULES}


def _load_keras() -> Any:
    try:
        return load_library("keras", extra="keras")
    except MissingDependencyError as error:
        if find_spec("keras") is None:
            raise
        hint = "set KERAS_BACKEND=torch before Keras is imported."
        raise MissingDependencyError("Keras cannot import its backend", hint=hint) from error


keras: Any = _load_keras()


class _IntegerMetric(keras.metrics.Metric):  # type: ignore[misc]  # Keras is optional, so its types are unknown here
    """A metric whose state is an array of integers to which batches add."""

    _direction = "down"  # Read by `EarlyStopping` and `ModelCheckpoint`.

    def __init__(self, shape: tuple[int, ...], name: str) -> None:
        _check_backend("these metrics need")
        super().__init__(name=name)
        self.state = np.zeros(shape, dtype=np.int64)

    def reset_state(self) -> None:
        """Reset the state."""
        self.state = np.zeros_like(self.state)


@keras.saving.register_keras_serializable(package="propriety")
class RuleMetric(_IntegerMetric):
    r"""Mean loss under a scoring rule, :math:`\sum_i w_i S(p_i, y_i) / \sum_i w_i`; lower is better.

    It is exact over batches: the value is the same to the last bit however the cases are batched.

    Parameters
    ----------
    rule : Rule
        The scoring rule; with two classes, a rule for one event scores the second class.
    from_logits : bool
        Whether forecasts are logits; log scores are then finite for all finite logits. It must be declared and is never
        guessed.
    name : str, optional
        Name of the metric in the logs, by default that of the rule.
    tolerance : float
        Allowed deviation of a row of class probabilities from summing to one, unless rounding in the precision of the
        forecasts explains more; see `propriety.tables.cases.rounding_of_rows`.

    Examples
    --------
    >>> import keras
    >>> import propriety as pr
    >>> metric = RuleMetric(pr.RankedProbability())
    >>> metric.update_state([0], [[0.25, 0.75, 0.0]])
    >>> metric.update_state([2, 2], [[0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    >>> round(float(metric.result()), 6)
    0.135417
    >>> keras.callbacks.EarlyStopping(monitor=f"val_{metric.name}").monitor
    'val_ranked_probability'
    """

    def __init__(
        self, rule: Rule, *, from_logits: bool = False, name: str | None = None, tolerance: float = TOLERANCE
    ) -> None:
        check_rule(rule)
        super().__init__(SHAPE, name or rule.name)
        self.rule = rule
        self.from_logits = from_logits
        self.tolerance = tolerance

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Add a batch.

        Parameters
        ----------
        y_true : tensor of shape (n,) or (n, 1)
            Whether the event happened, or the class index.
        y_pred : tensor of shape (n,), (n, 1) or (n, K)
            Probabilities of the event or of the classes, or their logits.
        sample_weight : tensor of shape (n,) or (n, 1), optional
            Weights, finite and not negative.
        """
        if _is_symbolic(y_pred):
            return
        self.state += sums_of_batch(
            self.rule,
            _array(y_true),
            _array(y_pred),
            None if sample_weight is None else _array(sample_weight),
            from_logits=self.from_logits,
            tolerance=max(self.tolerance, rounding_of(y_pred) if keras.ops.is_tensor(y_pred) else 0.0),
        )

    def result(self) -> Tensor:
        """Return the mean loss of all cases; NaN without cases."""
        return _scalar(mean_of_sums(self.state) if self.state.any() else math.nan)

    def get_config(self) -> dict[str, Any]:
        """Return the configuration stored with a saved model."""
        kept = {"from_logits": self.from_logits, "name": self.name, "tolerance": self.tolerance}
        return kept | {"rule": _stored(self.rule)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> RuleMetric:
        """Make the metric from a stored configuration."""
        return cls(**config | {"rule": _restored(config["rule"])})


@keras.saving.register_keras_serializable(package="propriety")
class RuleLoss(keras.losses.Loss):  # type: ignore[misc]  # as above
    """Training loss of a batch under a scoring rule; see `propriety.integrations.torch.RuleLoss`.

    Parameters
    ----------
    rule : Rule
        The scoring rule; with two classes, a rule for one event scores the second class.
    from_logits : bool
        Whether forecasts are logits; log scores are then finite for all finite logits. It must be declared and is never
        guessed.
    reduction : {"sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none"} or None
        As in `keras.losses.Loss`.
    name : str, optional
        Name of the loss, by default that of the rule.
    tolerance : float
        Allowed deviation of a row of class probabilities from summing to one, unless rounding in the precision of the
        forecasts explains more; see `propriety.tables.cases.rounding_of_rows`.

    Examples
    --------
    >>> import propriety as pr
    >>> loss = RuleLoss(pr.Log(), from_logits=True)
    >>> float(loss([[1.0], [0.0]], [[-17.0], [-100.0]]))
    8.5
    """

    def __init__(
        self,
        rule: Rule,
        *,
        from_logits: bool = False,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        check_rule(rule)
        _check_backend("this loss needs")
        super().__init__(name=name or rule.name, reduction=reduction)
        from propriety.integrations import torch

        self.by_case = torch.RuleLoss(rule, from_logits=from_logits, reduction="none", tolerance=tolerance)

    def __call__(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Check a batch in its own precision, before Keras converts it, and return its loss."""
        true, forecast = (keras.ops.convert_to_tensor(values) for values in (y_true, y_pred))
        if not _is_symbolic(forecast):
            self.by_case.check(forecast, true)
        return super().__call__(true, forecast, sample_weight)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Return the loss of each case."""
        return self.by_case.losses(y_pred, y_true)

    def get_config(self) -> dict[str, Any]:
        """Return the configuration stored with a saved model."""
        own = self.by_case
        kept = {"from_logits": own.from_logits, "tolerance": own.tolerance, "rule": _stored(own.rule)}
        return {"name": self.name, "reduction": self.reduction, **kept}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> RuleLoss:
        """Make the loss from a stored configuration."""
        return cls(**config | {"rule": _restored(config["rule"])})


@keras.saving.register_keras_serializable(package="propriety")
class ForecastTableMetric(_IntegerMetric):
    """The forecast table of an event on a grid, and the decomposition of its mean score at the end of an epoch.

    The logs hold four values: the name of the metric with ``_score``, ``_miscalibration``, ``_discrimination`` and
    ``_uncertainty``; see `propriety.decompose`. Forecasts are counted in equal cells of [0, 1], each of which keeps
    their mean; those of exactly 0 and 1 stay separate.

    Parameters
    ----------
    cells : int
        Number of cells, a power of two.
    from_logits : bool
        Whether forecasts are log-odds; it must be declared and is never guessed.
    name : str
        Prefix of the names in the logs.

    Examples
    --------
    >>> metric = ForecastTableMetric(cells=4)
    >>> metric.update_state([0, 1, 1, 1], [0.1, 0.2, 0.8, 1.0])
    >>> round(float(metric.result()["brier_miscalibration"]), 6)
    0.07125
    >>> metric.forecast_table()
    ForecastTable(rows=3, n=4, weight=4, event_rate=0.75, cells=4)
    """

    def __init__(self, cells: int = 2**10, *, from_logits: bool = False, name: str = "brier") -> None:
        check_cells(cells)
        super().__init__((3, int(cells) + 2), name)
        self.cells = int(cells)
        self.from_logits = from_logits

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Add a batch.

        Parameters
        ----------
        y_true : tensor of shape (n,) or (n, 1)
            Whether the event happened.
        y_pred : tensor of shape (n,) or (n, 1)
            Probability of the event, or its log-odds.
        sample_weight : None
            A grid of counts does not support weights; `RuleMetric` does.
        """
        if sample_weight is not None:
            raise InputTypeError("a grid of counts does not support sample_weight", hint="RuleMetric supports weights.")
        if not _is_symbolic(y_pred):
            self.state += counts_of_batch(
                _array(y_true), _array(y_pred), cells=self.cells, from_logits=self.from_logits
            )

    def result(self) -> dict[str, Tensor]:
        """Return the mean Brier score and its parts; NaN without cases."""
        parts = decompose(self.forecast_table()) if self.state.any() else None
        return {f"{self.name}_{part}": _scalar(getattr(parts, part, math.nan)) for part in PARTS}

    def forecast_table(self) -> ForecastTable:
        """Return the table of all cases, for any analysis that accepts one."""
        return table_of_counts(self.state)

    def get_config(self) -> dict[str, Any]:
        """Return the configuration stored with a saved model."""
        return {"cells": self.cells, "from_logits": self.from_logits, "name": self.name}


def _check_backend(need: str) -> None:
    if keras.backend.backend() != "torch":
        law = f"{need} PyTorch as the backend of Keras; it is {keras.backend.backend()!r}"
        hint = "other backends compile losses and metrics, and a rule is NumPy code; set KERAS_BACKEND=torch."
        raise UnsupportedOperationError(law, hint=hint)


def _stored(rule: Rule) -> dict[str, Any]:
    return {"type": type(rule).__name__, "parameters": asdict(rule) if is_dataclass(rule) else {}}


def _restored(kept: dict[str, Any]) -> Rule:
    if kept["type"] not in RULE_TYPES:
        law = f"a saved model can restore only the rules of the package; {kept['type']} is not one of them"
        raise InputValueError(law, hint="load it with compile=False, and compile it again.")
    return RULE_TYPES[kept["type"]](**kept["parameters"])


def _is_symbolic(values: Tensor) -> bool:
    """Whether a tensor is symbolic: Keras infers shapes with tensors that hold no values."""
    return getattr(getattr(values, "device", None), "type", None) == "meta"


def _array(values: Tensor) -> NDArray[Any]:
    """Return a tensor, or what Keras accepts as one, as an array."""
    return array_of(values) if keras.ops.is_tensor(values) else np.asarray(values)


def _scalar(value: float) -> Tensor:
    return keras.ops.convert_to_tensor(value, dtype="float64")
