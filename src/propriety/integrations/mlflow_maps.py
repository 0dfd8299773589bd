"""MLflow: log recalibration maps to a run, and load them again.

Import both functions from `propriety.integrations.mlflow`.
"""

from __future__ import annotations

from typing import Any

from propriety.errors import InputTypeError
from propriety.integrations.libraries import load_library
from propriety.recalibration.class_maps import ClassMap
from propriety.recalibration.maps import RecalibrationMap
from propriety.recalibration.result import Recalibration
from propriety.recalibration.written_maps import StoredMap

mlflow: Any = load_library("mlflow", extra="mlflow")

NAME = "recalibration"


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
    >>> fix = pr.recalibrate([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], folds=2, seed=1)
    >>> log_recalibration(fix)  # doctest: +SKIP
    'mlflow-artifacts:/0/7bd6/artifacts/recalibration.json'
    """
    if not isinstance(recalibration, Recalibration):
        law = "must be a result of propriety.recalibrate"
        raise InputTypeError(law, argument="recalibration", offender=f"got {type(recalibration).__name__}")
    verdict, name = recalibration.verdict, f"{metric_prefix}{NAME}"
    gain = {"gain": verdict.gain, "gain_low": verdict.low, "gain_high": verdict.high}
    metrics = {**gain, "score_before": verdict.before, "score_after": verdict.after}
    params = {"method": recalibration.method, "rule": recalibration.rule.name, "folds": recalibration.folds}
    mlflow.log_metrics({f"{name}_{one}": value for one, value in metrics.items()})
    mlflow.log_params({f"{name}_{one}": value for one, value in params.items()})
    mlflow.log_text(recalibration.summary(), f"{name}.txt")
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
    found: RecalibrationMap | ClassMap = StoredMap.from_json(mlflow.artifacts.load_text(uri))  # type: ignore[assignment]  # every kind is one of these
    return found
