"""LightGBM: every rule as a metric of `lightgbm.train` and of the scikit-learn interface.

LightGBM passes probabilities to a metric if the objective is built in ("binary", "multiclass"), and margins if the
objective is a function. The rows of "multiclassova" do not sum to one and are rejected with an error. Ordered classes
must be numbered in their order; `LGBMClassifier` numbers text labels alphabetically.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from propriety.errors import InputValueError
from propriety.integrations import load_library
from propriety.integrations.batch_sums import BoosterMetric

__all__ = ["EarlyStopping", "EvalMetric", "Feval", "early_stopping"]

lightgbm = load_library("lightgbm", extra="lightgbm")


@dataclass(frozen=True)
class Feval(BoosterMetric):
    """A rule as the `feval` of `lightgbm.train` and `lightgbm.cv`.

    The parameters are those of `propriety.integrations.batch_sums.BoosterMetric`. Weights of the data are used.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> import numpy as np
    >>> import propriety as pr
    >>> data = lgb.Dataset(np.arange(90.0).reshape(90, 1), label=np.arange(90) // 30)
    >>> history = {}
    >>> model = lgb.train(
    ...     {"objective": "multiclass", "num_class": 3, "verbose": -1},
    ...     data,
    ...     5,
    ...     valid_sets=[data],
    ...     feval=Feval(pr.RankedProbability(), output="probability"),
    ...     callbacks=[lgb.record_evaluation(history)],
    ... )
    >>> list(history["training"])
    ['multi_logloss', 'ranked_probability']
    """

    def __call__(self, predictions: ArrayLike, data: Any) -> tuple[str, float, bool]:
        """Return the name, the mean loss of predictions for a `Dataset`, and False, because lower is better."""
        return self.name, self.loss(data.get_label(), predictions, data.get_weight()), False


@dataclass(frozen=True)
class EvalMetric(BoosterMetric):
    """A rule as the `eval_metric` of `LGBMClassifier.fit`.

    The parameters are those of `propriety.integrations.batch_sums.BoosterMetric`. `eval_sample_weight` is used.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> import numpy as np
    >>> import propriety as pr
    >>> X, y = np.arange(90.0).reshape(90, 1), np.arange(90) // 30 == 1
    >>> metric = EvalMetric(pr.PenalizedBrier(), output="probability")
    >>> model = lgb.LGBMClassifier(n_estimators=5, verbose=-1).fit(X, y, eval_X=X, eval_y=y, eval_metric=metric)
    >>> list(model.evals_result_["valid_0"])
    ['binary_logloss', 'penalized_brier']
    """

    # LightGBM counts the parameters, and passes weights if there are three.
    def __call__(
        self, y_true: ArrayLike, y_pred: ArrayLike, weight: ArrayLike | None = None
    ) -> tuple[str, float, bool]:
        """Return the name, the mean loss, and False, because lower is better."""
        return self.name, self.loss(y_true, y_pred, weight), False


class EarlyStopping:
    """LightGBM's early stopping restricted to one metric; made by `early_stopping`.

    Parameters
    ----------
    name : str
        Name of the metric in LightGBM's records.
    watch : callable
        The callback that `lightgbm.early_stopping` returned.

    Examples
    --------
    >>> import propriety as pr
    >>> stopping = early_stopping(EvalMetric(pr.Brier(), output="probability"), 5, verbose=False)
    >>> isinstance(stopping, EarlyStopping)
    True
    """

    def __init__(self, name: str, watch: Any) -> None:
        self.name = name
        self.watch = watch
        self.order = 30  # After the callbacks that record, like LightGBM's own, which reads this attribute.

    def __call__(self, env: Any) -> None:
        """Pass the values of the metric to LightGBM's callback."""
        own = [entry for entry in env.evaluation_result_list or () if self.name in _names(*entry[:2])]
        if not own:
            law = f"the metric {self.name!r} must be evaluated on some data for early stopping"
            raise InputValueError(law, hint="pass it to training as well, as feval= or eval_metric=.")
        self.watch(replace(env, evaluation_result_list=own))


def early_stopping(metric: BoosterMetric, rounds: int, **options: Any) -> EarlyStopping:
    """Return the callback that stops when this metric, and no other, has not decreased for a number of rounds.

    LightGBM's own callback stops as soon as any metric on any data has stalled, and its `first_metric_only` means the
    metric of the objective, which comes first unless ``metric="None"``.

    Parameters
    ----------
    metric : Feval or EvalMetric
        The metric, which must also be passed to training.
    rounds : int
        How many rounds to wait for a new best value.
    **options
        Options of `lightgbm.early_stopping`.

    Returns
    -------
    EarlyStopping
        To be passed in `callbacks`.

    Examples
    --------
    >>> import propriety as pr
    >>> early_stopping(Feval(pr.PenalizedBrier(), output="probability"), 10, verbose=False).name
    'penalized_brier'
    """
    return EarlyStopping(metric.name, lightgbm.early_stopping(rounds, **options))


def _names(data: str, metric: str) -> tuple[str, ...]:
    """Return the possible names of a recorded metric."""
    # In cross-validation, LightGBM before 4.7 prefixes the name of the metric with that of the data.
    return (metric, metric.split(" ", 1)[-1]) if data == "cv_agg" else (metric,)
