"""MLflow: the evaluator "propriety" of `mlflow.models.evaluate`, and the logging of recalibration maps.

The evaluator logs the numbers of `propriety.evaluate` of a table as metrics of the run, and the report as an artifact.
MLflow finds it through an entry point, so nothing needs to be imported.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from propriety import checks
from propriety.errors import InputValueError, ProprietyError
from propriety.evaluation.evaluate import evaluate
from propriety.evaluation.evaluation import Evaluation
from propriety.integrations import load_library
from propriety.recalibration.class_maps import ClassMap
from propriety.recalibration.maps import RecalibrationMap
from propriety.recalibration.result import Recalibration
from propriety.recalibration.stored_maps import StoredMap

__all__ = ["Evaluator", "Report", "load_map", "log_recalibration"]

mlflow: Any = load_library("mlflow", extra="mlflow")
models = load_library("mlflow.models", extra="mlflow")
ModelEvaluator: Any = models.evaluation.ModelEvaluator
EvaluationArtifact: Any = models.EvaluationArtifact

SHARED = frozenset({"metric_prefix", "pos_label"})  # Options that MLflow's own evaluators also have.
OWN = frozenset(signature(evaluate).parameters) - {"X", "y_true", "outcome"} - SHARED

logger = logging.getLogger(__name__)


class Report(EvaluationArtifact):  # type: ignore[misc]  # known at run time only
    """The report as an artifact of an MLflow result; its `content` is the HTML page.

    Parameters
    ----------
    uri : str
        Where MLflow stores the page.
    content : str, optional
        The page.

    Examples
    --------
    >>> Report(uri="runs:/1/propriety.html", content="<!doctype html>").content
    '<!doctype html>'
    """

    def _save(self, output_artifact_path: str) -> None:
        Path(output_artifact_path).write_text(self._content, encoding="utf-8")

    def _load_content_from_file(self, local_artifact_path: str) -> str:
        return Path(local_artifact_path).read_text(encoding="utf-8")


class Evaluator(ModelEvaluator):  # type: ignore[misc]  # known at run time only
    """The evaluator that MLflow calls for ``evaluators=["propriety"]``; the model type is "classifier".

    The table is a pandas frame; `targets` names the column of the outcomes and `predictions` that of the probability of
    the event. ``evaluator_config={"propriety": {...}}`` takes the options of `propriety.evaluate`, where `by`,
    `cluster`, `time` and `sample_weight` name columns, and two more:

    - `forecasts` names the columns instead of `predictions`: a list with one column per model, or a mapping of each
      model to its column, or to the columns of its classes in order.
    - `metric_prefix` is prepended to the name of every metric and of the report.

    Characters that MLflow does not allow in the name of a metric, such as parentheses in the name of a model, become
    underscores.

    Without `evaluators`, MLflow runs every installed evaluator. If the table is then unsuitable and the
    configuration has no option of this evaluator, it logs a warning with the reason and leaves the run to the others.

    Examples
    --------
    >>> Evaluator.can_evaluate(model_type="classifier", evaluator_config={"thresholds": (0.1, 0.3)})
    True
    >>> Evaluator.can_evaluate(model_type="regressor", evaluator_config={})
    False
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: Mapping[str, Any] | None, **_: Any) -> bool:
        """Whether this is a classifier and the configuration is not meant for another evaluator."""
        config = evaluator_config or {}
        return model_type == "classifier" and (_asked(config) or config.keys() <= SHARED)

    def evaluate(
        self,
        *,
        dataset: Any,
        run_id: str,
        evaluator_config: Mapping[str, Any] | None,
        model: Any = None,
        model_id: str | None = None,
        **_: Any,
    ) -> Any:
        """Log metrics and the report to a run and return them, or None if this evaluator does not apply."""
        config = evaluator_config or {}
        prefix = config.get("metric_prefix", "")
        try:
            evaluation = _evaluation(model, dataset, config)
            report = evaluation.to_html()
        except ProprietyError as error:
            if _asked(config):
                raise
            logger.warning("propriety does not evaluate this table: %s", error)
            return None
        metrics = _named_metrics(prefix, evaluation.to_dict())
        client, page = mlflow.MlflowClient(), f"{prefix}propriety.html"
        about = {"model_id": model_id, "dataset_name": dataset.name, "dataset_digest": dataset.digest}
        now = time.time_ns() // 1_000_000
        client.log_batch(run_id, [mlflow.entities.Metric(*one, now, 0, **about) for one in metrics.items()])
        client.log_text(run_id, report, page)
        artifact = Report(uri=mlflow.get_artifact_uri(page), content=report)
        return models.evaluation.EvaluationResult(metrics, {f"{prefix}propriety": artifact}, run_id)


def _asked(config: Mapping[str, Any]) -> bool:
    """Whether a configuration is meant for this evaluator."""
    return not OWN.isdisjoint(config)


def _named_metrics(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values under names that MLflow allows; an error if two names become one."""
    metrics: dict[str, Any] = {}
    for name, value in values.items():
        allowed = re.sub(r"[^/\w.\- :]", "_", f"{prefix}{name}")
        if allowed in metrics:
            law = "the names of models must differ in characters that MLflow allows in names of metrics"
            raise InputValueError(law, offender=f"two metrics become {allowed!r}", hint="rename a model.")
        metrics[allowed] = value
    return metrics


def _evaluation(model: Any, dataset: Any, config: Mapping[str, Any]) -> Evaluation:
    """Return the evaluation of a static table."""
    if model is not None:
        hint = "put its probabilities in a column, name the column in predictions=, and pass no model."
        raise InputValueError("this evaluator evaluates forecasts in a table; got a model", hint=hint)
    unknown = sorted(config.keys() - OWN - SHARED)
    if unknown:
        law = "must only have options of this evaluator"
        raise InputValueError(
            law, argument="evaluator_config", offender=f"got {unknown}", hint=f"they are {sorted(OWN | SHARED)}."
        )
    if dataset.targets_name is None:
        raise InputValueError("must be a pandas frame, with targets= the name of a column", argument="data")
    columns = {dataset.targets_name: dataset.labels_data}
    if dataset.has_predictions:
        columns[dataset.predictions_name] = dataset.predictions_data
    options = {name: value for name, value in config.items() if name not in ("forecasts", "metric_prefix")}
    forecasts = config["forecasts"] if "forecasts" in config else [_checked_predictions(dataset)]
    return evaluate(dataset.features_data.assign(**columns), forecasts, outcome=dataset.targets_name, **options)


def _checked_predictions(dataset: Any) -> str:
    """Return the name of the predictions column, which MLflow's own evaluators would read as class labels."""
    name, values = dataset.predictions_name, dataset.predictions_data
    if name is None:
        raise InputValueError("predictions= must name the column of the forecasts; it is missing")
    if values.dtype == object and any(np.ndim(value) for value in values):
        law = f"the column {name!r} of predictions must hold one probability per row; it holds several"
        hint = 'name one column per class, as {"forecasts": {"model": ["low", "middle", "high"]}}.'
        raise InputValueError(law, hint=hint)
    if np.isin(values, [0, 1]).all():
        law = f"the column {name!r} of predictions must hold probabilities; all are 0 or 1, like class labels"
        raise InputValueError(law, hint="use the column of the event in predict_proba.")
    return str(name)


def log_recalibration(recalibration: Recalibration, *, metric_prefix: str = "") -> str:
    """Log a recalibration map and its gain to the active run of MLflow.

    The map is logged as an artifact, `recalibration.json`, which `load_map` reads; `recalibration.txt` is the summary.
    Metrics are the scores before and after, and the gain with its interval. Parameters are the method, the rule and how
    the folds were made.

    Parameters
    ----------
    recalibration : Recalibration
        The result of `propriety.recalibrate`, or `recalibration_` of a `RecalibratedClassifier`.
    metric_prefix : str
        Prefix of the name of every metric, parameter and artifact.

    Returns
    -------
    str
        The URI of the map.

    Examples
    --------
    >>> import propriety as pr
    >>> fix = pr.recalibrate([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], folds=2)
    >>> log_recalibration(fix)  # doctest: +SKIP
    'mlflow-artifacts:/0/7bd6/artifacts/recalibration.json'
    """
    checks.instance(recalibration, "recalibration", Recalibration, "a result of propriety.recalibrate")
    verdict, name = recalibration.verdict, f"{metric_prefix}recalibration"
    gain = {"gain": verdict.gain, "gain_low": verdict.low, "gain_high": verdict.high}
    metrics = {**gain, "score_before": verdict.before, "score_after": verdict.after}
    params = {"method": recalibration.method, "rule": recalibration.rule.name, "folds": recalibration.folds}
    mlflow.log_metrics({f"{name}_{one}": value for one, value in metrics.items()})
    mlflow.log_params({f"{name}_{one}": value for one, value in params.items()})
    mlflow.log_text(str(recalibration), f"{name}.txt")
    mlflow.log_text(recalibration.map.to_json(indent=2), f"{name}.json")
    return str(mlflow.get_artifact_uri(f"{name}.json"))


def load_map(uri: str) -> RecalibrationMap | ClassMap:
    """Load a recalibration map that `log_recalibration` logged.

    Parameters
    ----------
    uri : str
        What `log_recalibration` returned, or ``runs:/<run id>/recalibration.json``.

    Returns
    -------
    RecalibrationMap or ClassMap
        The map.

    Examples
    --------
    >>> load_map("runs:/7bd6/recalibration.json")([0.1, 0.5])  # doctest: +SKIP
    array([0.24, 0.48])
    """
    return StoredMap.from_json(mlflow.artifacts.load_text(uri))  # type: ignore[return-value]  # every kind is one of these
