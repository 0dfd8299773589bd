"""Recalibration maps in a real tracking store of MLflow: what is logged, and loaded again."""

import math

import mlflow
import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.integrations.mlflow import load_map, log_recalibration

pytestmark = [
    pytest.mark.slow,
    # MLflow calls newer SQLAlchemy, pydantic and the import system in their old ways.
    pytest.mark.usefixtures("mlflow_store"),
    pytest.mark.filterwarnings("ignore:.*Any type hint is inferred as AnyType:UserWarning"),
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated"),
    pytest.mark.filterwarnings("ignore:_ImportHookChainedLoader.exec_module:ImportWarning"),
    pytest.mark.filterwarnings("ignore:Using `@model_validator` with mode='after':DeprecationWarning"),
]

RNG = np.random.default_rng(1)
X = RNG.normal(size=800)
Y = RNG.random(800) < 1 / (1 + np.exp(-X))
P = 1 / (1 + np.exp(-2 * X))


@pytest.mark.slow
def test_the_map_its_gain_and_how_it_was_found_are_logged():
    fix = pr.recalibrate(Y, P)
    with mlflow.start_run() as run:
        uri = log_recalibration(fix)
    data = mlflow.get_run(run.info.run_id).data
    assert data.metrics == {
        "recalibration_gain": fix.verdict.gain,
        "recalibration_gain_low": fix.verdict.low,
        "recalibration_gain_high": fix.verdict.high,
        "recalibration_score_before": fix.verdict.before,
        "recalibration_score_after": fix.verdict.after,
    }
    assert data.params == {
        "recalibration_method": "auto",
        "recalibration_rule": "brier",
        "recalibration_folds": fix.folds,
    }
    assert load_map(uri) == fix.map
    assert load_map(f"runs:/{run.info.run_id}/recalibration.json") == fix.map
    assert mlflow.artifacts.load_text(uri.replace(".json", ".txt")) == str(fix)


def test_maps_of_classes_and_several_maps_go_into_one_run():
    rows = np.column_stack([P, 1 - P]) @ np.array([[0.8, 0.1, 0.1], [0.1, 0.3, 0.6]])
    classes = pr.recalibrate(RNG.integers(0, 3, 800), rows, method="temperature")
    event = pr.recalibrate(Y, P, method="isotonic", rule=pr.Brier())
    with mlflow.start_run() as run:
        uris = [log_recalibration(classes, metric_prefix="grade_"), log_recalibration(event)]
    assert [load_map(uri) for uri in uris] == [classes.map, event.map]
    params = mlflow.get_run(run.info.run_id).data.params
    assert (params["grade_recalibration_method"], params["recalibration_rule"]) == ("temperature", "brier")


def test_an_infinite_score_is_logged_as_mlflow_stores_it():
    certain = pr.recalibrate(Y, np.where(P < 0.3, 0.0, P), method="none", rule=pr.Log())
    assert math.isinf(certain.verdict.after)
    with mlflow.start_run() as run:
        uri = log_recalibration(certain)
    assert mlflow.get_run(run.info.run_id).data.metrics["recalibration_score_after"] > 1e300
    assert load_map(uri) == certain.map


def test_what_is_no_recalibration_is_refused():
    with mlflow.start_run(), pytest.raises(InputTypeError, match="recalibration must be a result"):
        log_recalibration(pr.recalibrate(Y, P).map)
    with mlflow.start_run():
        mlflow.log_text("{}", "other.json")
        uri = mlflow.get_artifact_uri("other.json")
    with pytest.raises(InputValueError, match="must be a stored"):
        load_map(uri)
