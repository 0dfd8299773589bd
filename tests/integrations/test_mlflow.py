"""MLflow finds the evaluator by its entry point, and a real tracking store holds what it logged."""

import logging
import sys
from importlib import import_module
from importlib.metadata import entry_points

import mlflow
import numpy as np
import pandas as pd
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingDependencyError, MissingValuesError
from propriety.integrations.mlflow import Evaluator, Report
from propriety.tables.forecast_table import ForecastTable

pytestmark = [
    pytest.mark.slow,
    # MLflow calls newer pandas and SQLAlchemy in their old ways, and warns of types of its own.
    pytest.mark.usefixtures("mlflow_store"),
    pytest.mark.filterwarnings("ignore:.*Any type hint is inferred as AnyType:UserWarning"),
    pytest.mark.filterwarnings("ignore:Starting with pandas version 4.0 all arguments of all"),
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated"),
    pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.drop is deprecated"),
    # MLflow 3.0 does so with the import system and with newer pydantic, too.
    pytest.mark.filterwarnings("ignore:_ImportHookChainedLoader.exec_module:ImportWarning"),
    pytest.mark.filterwarnings("ignore:Using `@model_validator` with mode='after':DeprecationWarning"),
]

RNG = np.random.default_rng(1)
P = RNG.beta(1.0, 2.0, 150)
Y = (RNG.random(150) < P).astype(float)
TABLE = pd.DataFrame(
    {"y": Y, "p": P, "bold": P**2 / (P**2 + (1 - P) ** 2), "label": (P > 0.5) * 1.0, "w": RNG.uniform(1, 2, 150)}
).assign(site=np.where(np.arange(150) % 2, "north", "south"))
ROWS = RNG.dirichlet(np.ones(3), 150)
GRADES = pd.DataFrame(ROWS, columns=["none", "mild", "severe"]).assign(
    grade=np.array(["none", "mild", "severe"])[[RNG.choice(3, p=row) for row in ROWS]]
)
DRAWS = {"seed": 1, "n_resamples": 20}


def judge(data=TABLE, config=None, **arguments):
    """Evaluate as a user does, by the name of the evaluator."""
    settings = {"targets": "y", "model_type": "classifier", "evaluators": ["propriety"]} | arguments
    return mlflow.models.evaluate(
        data=data, evaluator_config=None if config is None else {"propriety": config}, **settings
    )


def run_of(result):
    """Return the id of the run, which MLflow 3.0 keeps to itself."""
    return result.run_id if hasattr(result, "run_id") else result._run_id


def logged(run_id):
    return mlflow.MlflowClient().get_run(run_id).data.metrics


def last_run():
    (run,) = mlflow.MlflowClient().search_runs(
        [mlflow.get_experiment_by_name("forecasts").experiment_id], order_by=["start_time DESC"], max_results=1
    )
    return run


def artifacts(run_id):
    return [artifact.path for artifact in mlflow.MlflowClient().list_artifacts(run_id)]


@pytest.mark.slow
def test_the_entry_point_is_the_evaluator():
    (found,) = entry_points(group="mlflow.model_evaluator", name="propriety")
    assert found.load() is Evaluator
    assert "propriety" in mlflow.models.list_evaluators()


@pytest.fixture(scope="module")
def result(mlflow_store):
    return judge(predictions="p", config={"thresholds": (0.1, 0.3), **DRAWS})


@pytest.mark.slow
def test_the_store_holds_the_numbers_and_the_report(result):
    expected = pr.evaluate(Y, {"p": P}, thresholds=(0.1, 0.3), **DRAWS).to_dict()
    assert result.metrics == pytest.approx(expected, rel=1e-15, nan_ok=True)
    assert logged(run_of(result)) == pytest.approx(expected, rel=1e-15, nan_ok=True)
    assert "net_benefit_at_0.1_low" in expected
    assert artifacts(run_of(result)) == ["propriety.html"]
    report = result.artifacts["propriety"]
    page = mlflow.artifacts.load_text(f"runs:/{run_of(result)}/propriety.html")
    assert page == report.content == Report(uri=report.uri).content
    assert page.startswith("<!doctype html>")
    assert "bounded Brier score" in page


@pytest.mark.slow
def test_metrics_belong_to_the_data_they_are_of():
    data = mlflow.data.from_pandas(TABLE, targets="y", predictions="p", name="april")
    result = judge(data, DRAWS, targets=None)
    (metric,) = mlflow.MlflowClient().get_metric_history(run_of(result), "brier")
    assert (metric.value, metric.step) == (pytest.approx(pr.brier_score(Y, P), rel=1e-12), 0)
    (known,) = mlflow.MlflowClient().get_run(run_of(result)).inputs.dataset_inputs
    assert (known.dataset.name, known.dataset.digest) == ("april", data.digest)
    with mlflow.start_run() as run:
        model = mlflow.initialize_logged_model("booster")
        judge(TABLE, DRAWS, predictions="p", model_id=model.model_id)
    stored = [metric for metric in mlflow.get_logged_model(model.model_id).metrics if metric.key == "brier"]
    assert {(metric.run_id, metric.value) for metric in stored} == {(run.info.run_id, metric.value)}


@pytest.mark.slow
def test_several_models_with_the_options_of_evaluate_and_a_prefix():
    config = {"forecasts": {"honest": "p", "bold": "bold"}, "by": "site", "sample_weight": "w", **DRAWS}
    result = judge(config=config | {"metric_prefix": "april_"})
    evaluation = pr.evaluate(
        Y, {"honest": P, "bold": TABLE["bold"].to_numpy()}, by=TABLE["site"], sample_weight=TABLE["w"], **DRAWS
    )
    expected = {f"april_{name}": value for name, value in evaluation.to_dict().items()}
    assert logged(run_of(result)) == pytest.approx(expected, rel=1e-15, nan_ok=True)
    assert "april_bold/brier_high" in result.metrics
    assert list(result.artifacts) == ["april_propriety"]
    assert artifacts(run_of(result)) == ["april_propriety.html"]
    assert "north" in result.artifacts["april_propriety"].content


@pytest.mark.slow
def test_classes_have_a_column_each():
    grades = ["none", "mild", "severe"]
    config = {"forecasts": {"model": grades}, "labels": grades, "ordered": True, **DRAWS}
    result = judge(GRADES, config, targets="grade")
    expected = pr.evaluate(GRADES["grade"], ROWS, labels=grades, ordered=True, **DRAWS).to_dict()
    assert logged(run_of(result)) == pytest.approx(expected, rel=1e-15, nan_ok=True)
    score = pr.ranked_probability_score(GRADES["grade"], ROWS, labels=grades)
    assert expected["ranked_probability"] == pytest.approx(score, rel=1e-12)


@pytest.mark.slow
def test_measures_of_ones_own_are_logged_and_reported():
    result = judge(TABLE, {"measures": [pr.measures.IntegratedCalibrationIndex()], **DRAWS}, predictions="p")
    table = ForecastTable.from_predictions(Y, P)
    value = pr.measures.IntegratedCalibrationIndex().value(table)
    assert logged(run_of(result))["ici"] == pytest.approx(value, rel=1e-12)
    assert "integrated calibration index" in result.artifacts["propriety"].content


@pytest.mark.slow
def test_beside_an_evaluator_of_labels():
    result = judge(
        TABLE[["y", "p", "label"]],
        {"forecasts": ["p"], **DRAWS},
        predictions="label",
        evaluators=["classifier", "propriety"],
    )
    assert result.metrics["brier"] == pytest.approx(pr.brier_score(Y, P), rel=1e-12)
    assert result.metrics["accuracy_score"] == np.mean(TABLE["label"] == Y)
    assert "propriety.html" in artifacts(run_of(result))


@pytest.mark.slow
def test_a_result_is_saved_and_loaded(result, tmp_path):
    result.save(str(tmp_path))
    again = mlflow.models.EvaluationResult.load(str(tmp_path))
    assert again.metrics == pytest.approx(result.metrics, rel=1e-15, nan_ok=True)
    assert again.artifacts["propriety"].content == result.artifacts["propriety"].content


@pytest.mark.slow
def test_what_is_not_finite():
    result = judge(TABLE.assign(y=1.0, p=np.where(P < 0.1, 0.0, P)), DRAWS, predictions="p")
    assert result.metrics["log"] == np.inf
    # MLflow keeps NaN in SQL and has the largest number stand for infinity.
    assert logged(run_of(result))["log"] == np.finfo(float).max
    assert np.isnan(logged(run_of(result))["auc"])


@pytest.mark.slow
def test_a_verdict_that_cannot_be_told_passes_no_threshold():
    result = judge(TABLE.head(15).assign(y=[0.0] * 14 + [1.0], p=0.05), DRAWS, predictions="p")
    assert np.isnan(result.metrics["miscalibrated"])
    assert np.isnan(logged(run_of(result))["miscalibrated"])
    calibrated = mlflow.models.MetricThreshold(threshold=0.5, greater_is_better=False)
    with pytest.raises(mlflow.models.evaluation.validation.ModelValidationFailedException, match="miscalibrated"):
        mlflow.validate_evaluation_results({"miscalibrated": calibrated}, result)
    mlflow.validate_evaluation_results({"brier": calibrated}, result)


@pytest.mark.slow
def test_missing_values_raise_or_are_dropped():
    gaps = TABLE.assign(p=np.where(P < 0.1, np.nan, P))
    with pytest.raises(MissingValuesError, match='missing="drop"'):
        judge(gaps, DRAWS, predictions="p")
    assert judge(gaps, {"missing": "drop", **DRAWS}, predictions="p").metrics["n"] == np.sum(P >= 0.1)


@pytest.mark.parametrize(
    ("arguments", "config", "error", "message"),
    [
        pytest.param({"model": lambda data: data["p"]}, {}, InputValueError, r"in a table; got a model\. Hint: put its prob", id="model"),
        pytest.param({"predictions": "label"}, {}, InputValueError, r"'label' .* all are 0 or 1, like class labels.* predict_proba", id="labels"),
        pytest.param({"predictions": "site"}, {}, InputTypeError, r"forecasts\['site'\] must hold real numbers", id="words"),
        pytest.param({"predictions": "p"}, {"treshold": 0.1}, InputValueError, r"got \['treshold'\]\. Hint: they are \['by', 'cluster'", id="unknown"),
        pytest.param({}, {}, InputValueError, r"predictions= must name the column of the forecasts; it is missing", id="no-forecast"),
        pytest.param({}, {"forecasts": ["q"]}, InputValueError, r"it lacks \['q'\]", id="no-column"),
        pytest.param({"predictions": "p"}, {"by": "city"}, InputValueError, r"it lacks \['city'\]", id="no-group"),
        pytest.param({"predictions": "p"}, {"outcome": "y"}, InputValueError, r"got \['outcome'\]", id="outcome"),
        pytest.param({"data": TABLE.assign(p=list(ROWS)), "predictions": "p"}, {}, InputValueError, "'p' .* holds several. Hint: name one column per class", id="arrays"),
        pytest.param({"data": TABLE.assign(p=ROWS.tolist()), "predictions": "p"}, {}, InputValueError, "holds several", id="lists"),
        pytest.param({"data": TABLE[["p"]].to_numpy(), "targets": Y}, {"forecasts": ["p"]}, InputValueError, "data must be a pandas frame", id="array"),
    ],
)  # fmt: skip
def test_what_does_not_suit_is_refused_before_anything_is_logged(arguments, config, error, message):
    with pytest.raises(error, match=message):
        judge(config=DRAWS | config, **arguments)
    run = last_run()
    assert (run.info.status, run.data.metrics, artifacts(run.info.run_id)) == ("FAILED", {}, [])


def test_an_error_is_raised_whichever_own_option_was_given():
    with pytest.raises(InputValueError, match=r"it lacks \['q'\]"):
        judge(config={"forecasts": ["q"]})


@pytest.mark.slow
def test_names_that_mlflow_forbids_are_changed():
    result = judge(config={"forecasts": {"p(yes)": "p", "größer-1.5": "bold"}, **DRAWS})
    assert {"p_yes_/brier", "größer-1.5/brier"} <= result.metrics.keys() == logged(run_of(result)).keys()


@pytest.mark.slow
def test_names_that_would_be_the_same_are_refused_before_anything_is_logged():
    with pytest.raises(InputValueError, match=r"two metrics become 'a_b/brier'. Hint: rename a model"):
        judge(config={"forecasts": {"a+b": "p", "a*b": "bold"}, **DRAWS})
    run = last_run()
    assert (run.data.metrics, artifacts(run.info.run_id)) == ({}, [])


@pytest.mark.slow
@pytest.mark.parametrize("config", [None, {"pos_label": 1.0}, {"metric_prefix": "april_"}], ids=str)
def test_unasked_it_leaves_labels_to_the_other_evaluators(config, caplog):
    with caplog.at_level(logging.WARNING, logger="propriety"):
        result = mlflow.models.evaluate(
            data=TABLE[["y", "label"]],
            targets="y",
            predictions="label",
            model_type="classifier",
            evaluator_config=config,
        )
    prefix = (config or {}).get("metric_prefix", "")
    assert f"{prefix}accuracy_score" in result.metrics
    assert f"{prefix}brier" not in result.metrics
    assert "propriety.html" not in "".join(artifacts(run_of(result)))
    (told,) = [record.getMessage() for record in caplog.records if record.name.startswith("propriety")]
    assert told.startswith("propriety does not evaluate this table: the column 'label' of predictions must hold prob")


def test_unasked_it_leaves_a_model_to_the_other_evaluators(caplog):
    result = mlflow.models.evaluate(
        lambda data: (data["p"] > 0.5) * 1.0, TABLE[["y", "p"]], targets="y", model_type="classifier"
    )
    assert "accuracy_score" in result.metrics
    assert "propriety" not in result.artifacts
    assert "got a model" in caplog.text


def test_asked_by_name_alone_the_reason_stands_before_the_error_of_mlflow(caplog):
    with pytest.raises(mlflow.exceptions.MlflowException, match="could not be evaluated by any"):
        judge(predictions="label")
    assert "all are 0 or 1" in caplog.text


@pytest.mark.parametrize(
    ("model_type", "config", "expected"),
    [
        ("classifier", None, True),
        ("classifier", {}, True),
        ("classifier", {"pos_label": 1}, True),
        ("classifier", {"thresholds": 0.2}, True),
        ("classifier", {"thresholds": 0.2, "treshold": 0.2}, True),
        ("classifier", {"log_model_explainability": False}, False),
        ("classifier", {"pos_label": 1, "average": "macro"}, False),
        ("regressor", {}, False),
        ("text", {"thresholds": 0.2}, False),
        (None, {}, False),
    ],
)
def test_what_it_can_evaluate(model_type, config, expected):
    assert Evaluator.can_evaluate(model_type=model_type, evaluator_config=config) is expected


def test_a_regressor_is_left_to_others():
    result = judge(TABLE[["y", "p"]], predictions="p", model_type="regressor", evaluators=None)
    assert "mean_squared_error" in result.metrics
    assert "brier" not in result.metrics


def test_without_mlflow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    monkeypatch.delitem(sys.modules, "propriety.integrations.mlflow")
    with pytest.raises(MissingDependencyError, match=r'needs mlflow\. Hint: pip install "propriety\[mlflow\]"'):
        import_module("propriety.integrations.mlflow")


def test_without_what_the_report_needs_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    for module in ("propriety.report", "propriety.report.evaluation"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(MissingDependencyError, match=r"propriety\[report\]"):
        judge(predictions="p", config=DRAWS)
    assert last_run().data.metrics == {}
