"""XGBoost: every rule as a metric of `xgboost.train` and of the scikit-learn interface.

XGBoost passes probabilities to a metric if the objective is built in ("binary:logistic", "multi:softprob"), and margins
if the objective is a function or "binary:logitraw". "binary:hinge" and "multi:softmax" pass class labels: use
"binary:logistic" and "multi:softprob". Ordered classes must be numbered in their order. A declaration that contradicts
what XGBoost passes is rejected with an error.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from propriety.errors import InputValueError
from propriety.integrations import load_library
from propriety.integrations.batch_sums import BoosterMetric
from propriety.integrations.model_outputs import Output

__all__ = ["CustomMetric", "EarlyStopping", "EvalMetric", "early_stopping"]

Stopping: Any = load_library("xgboost.callback", extra="xgboost").EarlyStopping

ROUNDING_OF_TEXT = 1e-6  # XGBoost converts the value of a metric to text with six decimals, and back.
MOST_DATA = 1000  # Most datasets evaluated in a round; in cross-validation, two for each fold.
PREDICTIONS: dict[str, Output | Literal["label"]] = {  # What XGBoost's built-in objectives predict.
    "binary:hinge": "label",
    "multi:softmax": "label",
    "binary:logitraw": "margin",
    "binary:logistic": "probability",
    "reg:logistic": "probability",
    "multi:softprob": "probability",
}
KINDS = {"margin": "margins", "probability": "probabilities"}
MOST_CALLS = 8  # Most calls between a metric and the call that evaluates it, including the scikit-learn interface.


@dataclass(frozen=True)
class RememberedMetric(BoosterMetric):
    """A metric that keeps its latest values, because XGBoost rounds them."""

    latest: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_DATA), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if re.search(r"[\s:]", self.name):
            law = "must not hold white space or colons, at which XGBoost splits its text"
            raise InputValueError(law, argument="name", got=self.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # scikit-learn copies the parameters of a model one by one, and `EarlyStopping` must share the metric's values.
        return self

    def loss(self, outcome: ArrayLike, predictions: ArrayLike, weight: ArrayLike | None = None) -> float:
        """Return the mean loss and store it."""
        handed, objective = _handed_over()
        if handed == "label":
            law = f"a rule scores probabilities, but XGBoost passes class labels to metrics: {objective}"
            raise InputValueError(law, hint='use "binary:logistic" or "multi:softprob".')
        if handed is not None and handed != self.output:
            law = f'output="{self.output}" is declared, but XGBoost passes {KINDS[handed]} to metrics: {objective}'
            raise InputValueError(law, hint=f'declare output="{handed}".')
        self.latest.append(BoosterMetric.loss(self, outcome, predictions, weight))
        return self.latest[-1]


@dataclass(frozen=True)
class CustomMetric(RememberedMetric):
    """A rule as the `custom_metric` of `xgboost.train` and `xgboost.cv`.

    The parameters are those of `propriety.integrations.batch_sums.BoosterMetric`. Weights of the data are used.

    Examples
    --------
    >>> import numpy as np
    >>> import propriety as pr
    >>> import xgboost as xgb
    >>> data = xgb.DMatrix(np.arange(8.0).reshape(8, 1), label=[0, 0, 1, 0, 1, 1, 2, 2])
    >>> metric = CustomMetric(pr.RankedProbability(), output="probability")
    >>> history = {}
    >>> parameters = {"objective": "multi:softprob", "num_class": 3, "min_child_weight": 0}
    >>> model = xgb.train(
    ...     parameters, data, 5, evals=[(data, "all")], custom_metric=metric, evals_result=history, verbose_eval=False
    ... )
    >>> history["all"]["ranked_probability"][-1] < history["all"]["ranked_probability"][0]
    True
    """

    def __call__(self, predictions: ArrayLike, data: Any) -> tuple[str, float]:
        """Return the name and the mean loss of predictions for a `DMatrix`."""
        weight = data.get_weight()
        return self.name, self.loss(data.get_label(), predictions, weight if weight.size else None)


@dataclass(frozen=True)
class EvalMetric(RememberedMetric):
    """A rule as the `eval_metric` of `XGBClassifier`.

    The parameters are those of `propriety.integrations.batch_sums.BoosterMetric`. `sample_weight_eval_set` is used.

    Examples
    --------
    >>> import numpy as np
    >>> import propriety as pr
    >>> import xgboost as xgb
    >>> X, y = np.arange(8.0).reshape(8, 1), np.array([0, 0, 1, 0, 1, 1, 0, 1])
    >>> metric = EvalMetric(pr.BoundedBrier(0.2, 0.5), output="probability")
    >>> model = xgb.XGBClassifier(n_estimators=5, min_child_weight=0, eval_metric=metric)
    >>> len(model.fit(X, y, eval_set=[(X, y)], verbose=False).evals_result()["validation_0"]["bounded_brier"])
    5
    """

    @property
    def __name__(self) -> str:
        """The name under which XGBoost records the metric."""
        return self.name

    def __call__(self, y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean loss."""
        return self.loss(y_true, y_score, sample_weight)


class EarlyStopping(Stopping):  # type: ignore[misc]  # known at run time only
    """XGBoost's early stopping by one metric and its unrounded values; made by `early_stopping`.

    Parameters
    ----------
    metric, rounds, **options
        As in `early_stopping`.

    Examples
    --------
    >>> import propriety as pr
    >>> import xgboost as xgb
    >>> stopping = early_stopping(CustomMetric(pr.Brier(), output="probability"), 5, save_best=True)
    >>> isinstance(stopping, xgb.callback.EarlyStopping)
    True
    """

    def __init__(self, metric: RememberedMetric, rounds: int, **options: Any) -> None:
        super().__init__(rounds=rounds, metric_name=metric.name, maximize=False, **options)
        self.metric = metric

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> Any:
        """Replace the recorded values by the unrounded ones, then proceed as XGBoost does."""
        # Cross-validation evaluates fold after fold, and records the mean over the folds and its standard deviation.
        folds, sets = len(getattr(model, "cvfolds", [model])), len(evals_log)
        latest = list(self.metric.latest)[-folds * sets :]
        for place, record in enumerate(evals_log.values() if len(latest) == folds * sets else ()):
            value, recorded = float(np.mean(latest[place::sets])), record.get(self.metric.name)
            if recorded and abs(np.ravel(recorded[-1])[0] - value) <= ROUNDING_OF_TEXT:
                recorded[-1] = (value, recorded[-1][1]) if isinstance(recorded[-1], tuple) else value
        return super().after_iteration(model, epoch, evals_log)


def early_stopping(metric: RememberedMetric, rounds: int, **options: Any) -> EarlyStopping:
    """Return the callback that stops when this metric, and no other, has not decreased for a number of rounds.

    XGBoost's own `early_stopping_rounds` uses the last metric, infers from a metric's name whether higher is better,
    and sees six decimals, which is too few if events are rare; this callback avoids all three. The result of
    `xgboost.cv` still has six decimals. Use a new callback for each training, because it keeps its history.

    Parameters
    ----------
    metric : CustomMetric or EvalMetric
        The metric, which must also be passed to training.
    rounds : int
        How many rounds to wait for a new best value.
    **options
        Options of `xgboost.callback.EarlyStopping`.

    Returns
    -------
    EarlyStopping
        To be passed in `callbacks`.

    Examples
    --------
    >>> import propriety as pr
    >>> metric = CustomMetric(pr.PenalizedBrier(), output="probability")
    >>> early_stopping(metric, 10).metric_name
    'penalized_brier'
    """
    return EarlyStopping(metric, rounds, **options)


def _handed_over() -> tuple[Output | Literal["label"] | None, str]:
    """Return what XGBoost passes to the metric that it is calling, and why; None if that is not known.

    XGBoost does not pass the objective or the kind of predictions to a metric, and margins near zero look like
    probabilities. The call of `Booster.eval_set` further up the stack knows both.
    """
    frame = inspect.currentframe()
    for _ in range(MOST_CALLS):
        frame = None if frame is None else frame.f_back
        if frame is None:
            break
        known = frame.f_locals if frame.f_code.co_name == "eval_set" else {}
        if {"self", "output_margin"} <= known.keys() and hasattr(known["self"], "save_config"):
            if known["output_margin"]:
                return "margin", "the objective is a function"
            objective = json.loads(known["self"].save_config())["learner"]["objective"]["name"]
            return PREDICTIONS.get(objective), f"the objective is {objective!r}"
    return None, ""
