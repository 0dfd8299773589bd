"""The common part of metrics for gradient boosting libraries: a rule, the kind of predictions, and a name."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from propriety.integrations.batch_sums import mean_of_sums, sums_of_batch
from propriety.integrations.model_outputs import Output, check_output, event_or_rows, probabilities
from propriety.rules.rule import Rule, check_rule
from propriety.rules.scoring import mean_score


@dataclass(frozen=True)
class BoosterMetric:
    """Mean loss under a rule, for a library that calls it with outcomes and predictions after every round.

    Parameters
    ----------
    rule : Rule
        The scoring rule; with two classes, a rule for one event scores the second class.
    output : {"probability", "margin"}
        What the library passes to the metric. It is never guessed, because margins near zero look like probabilities.
    name : str, optional
        Name of the metric in the library's records, by default that of the rule.
    """

    rule: Rule
    _: KW_ONLY
    output: Output
    name: str = ""

    def __post_init__(self) -> None:
        check_rule(self.rule)
        check_output(self.output)
        object.__setattr__(self, "name", self.name or self.rule.name)

    def loss(self, outcome: ArrayLike, predictions: ArrayLike, weight: ArrayLike | None = None) -> float:
        """Return the mean loss for class indices 0, ..., K - 1 and predictions as the library passes them."""
        if self.output == "margin":
            weights = None if weight is None else np.asarray(weight)
            classes, margins = np.asarray(outcome), np.asarray(predictions)
            return mean_of_sums(sums_of_batch(self.rule, classes, margins, weights, from_logits=True))
        forecast = event_or_rows(self.rule, probabilities(predictions, self.output))
        return float(mean_score(outcome, forecast, rule=self.rule, sample_weight=weight))
