"""CatBoost: every rule as an evaluation metric, for early stopping and the choice of the best iteration.

CatBoost passes raw predictions to a metric, whatever its objective: the log-odds of the event, or one margin per class.
They are read as those of the objectives "Logloss", "CrossEntropy" and "MultiClass", whose probabilities are their
logistic function or softmax; "MultiClassOneVsAll" has no probabilities that sum to one. Ordered classes must be
numbered, or named in `class_names`, in their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError, UnsupportedOperationError
from propriety.integrations import load_library
from propriety.integrations.batch_sums import BoosterMetric
from propriety.rules.rule import Rule, check_rule

__all__ = ["EvalMetric", "eval_metric"]

load_library("catboost", extra="catboost")


class EvalMetric:
    """The metric object returned by `eval_metric`; CatBoost calls its methods.

    Parameters
    ----------
    rule : Rule
        The scoring rule.
    name : str
        Name of the metric in CatBoost's records.

    Examples
    --------
    >>> import numpy as np
    >>> import propriety as pr
    >>> metric = eval_metric(pr.Brier())
    >>> error, weight = metric.evaluate([np.array([0.0, 0.0])], np.array([0, 1]), None)
    >>> metric.get_final_error(error, weight)
    0.25
    """

    no_jit = True  # Otherwise CatBoost tries numba, which cannot compile a rule, and warns.

    def __init__(self, rule: Rule, name: str) -> None:
        self.metric = BoosterMetric(rule, output="margin", name=name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _named_metric, (self.metric.rule, self.metric.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> EvalMetric:
        # CatBoost copies its parameters, and scikit-learn clones only models that keep those they were given.
        return self

    def is_max_optimal(self) -> bool:
        """Return False: lower is better."""
        return False

    def evaluate(
        self, approxes: Sequence[NDArray[Any]], target: NDArray[Any], weight: NDArray[Any] | None
    ) -> tuple[float, float]:
        """Return the sum of the losses and the sum of the weights, given raw predictions in one array per class."""
        margins = approxes[0] if len(approxes) == 1 else np.column_stack(approxes)
        total = float(len(target)) if weight is None else float(np.sum(weight, dtype=np.float64))
        loss = self.metric.loss(target, margins, weight)
        if math.isinf(loss):
            law = f"CatBoost records finite values only; {self.metric.rule!r} is infinite"
            raise InputValueError(law, hint="clip the forecasts, as Log(clip=1e-6) does.")
        return loss * total, total

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the mean loss."""
        return error / weight


def eval_metric(rule: Rule, *, name: str = "", task_type: str = "CPU") -> EvalMetric:
    """Return a rule as the `eval_metric` of a CatBoost model, for early stopping and `use_best_model`.

    Parameters
    ----------
    rule : Rule
        The scoring rule; with two classes, a rule for one event scores the second class.
    name : str, optional
        Name of the metric in CatBoost's records, by default that of the rule.
    task_type : {"CPU"}
        Where the model is trained. "GPU" is rejected with an error, because CatBoost compiles metrics for it with
        numba, and a rule is NumPy code.

    Returns
    -------
    EvalMetric
        An instance of a class with the metric's name, because CatBoost records a metric under the name of its class.

    Examples
    --------
    >>> import catboost as cb
    >>> import numpy as np
    >>> import propriety as pr
    >>> X, y = np.arange(90.0).reshape(90, 1), np.arange(90) // 30
    >>> model = cb.CatBoostClassifier(
    ...     iterations=5,
    ...     loss_function="MultiClass",
    ...     eval_metric=eval_metric(pr.RankedProbability()),
    ...     verbose=False,
    ...     allow_writing_files=False,
    ... )
    >>> sorted(model.fit(X, y, eval_set=(X, y)).get_evals_result()["validation"])
    ['MultiClass', 'ranked_probability']
    """
    if task_type != "CPU":
        law = f'a rule can be a metric only with task_type="CPU"; got {task_type!r}'
        hint = "CatBoost compiles metrics for the GPU with numba, which cannot compile a rule; train on the CPU."
        raise UnsupportedOperationError(law, hint=hint)
    check_rule(rule)
    return _named_metric(rule, name or rule.name)


def _named_metric(rule: Rule, name: str) -> EvalMetric:
    """Make the metric with a class of its own, because CatBoost records a metric under the name of its class."""
    named: type[EvalMetric] = type(name, (EvalMetric,), {})
    return named(rule, name)
