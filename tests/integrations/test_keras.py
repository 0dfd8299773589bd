"""Keras trains for real on PyTorch: metrics of all cases, stopping by the rule that is watched, and saved models."""

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingDependencyError, UnsupportedOperationError

os.environ.setdefault("KERAS_BACKEND", "torch")  # Keras reads it when it is imported.

import keras

from propriety.integrations.keras import ForecastTableMetric, RuleLoss, RuleMetric

# Keras turns tensors into arrays by a call that NumPy is about to change.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(160, 6)).astype(np.float32)
MARGIN = X[:, 0] + 1.5 * RNG.logistic(size=160)
GRADE, EVENT = np.digitize(MARGIN, [-1.0, 1.0]), (MARGIN > 0.5).astype(np.float32)
WEIGHT = RNG.integers(0, 3, 160).astype(np.float32)
TRAIN, TEST = slice(0, 60), slice(60, 160)
PATIENCE = 2


class Forecasts(keras.callbacks.Callback):
    """What the model forecasts of the test cases after each epoch."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def on_epoch_end(self, epoch, logs=None):
        self.rows.append(self.model.predict(X[TEST], verbose=0))


def model_of(outputs, activation, loss, metrics, **options):
    keras.utils.set_random_seed(2)
    layers = [keras.layers.Dense(64, activation="tanh"), keras.layers.Dense(outputs, activation=activation)]
    model = keras.Sequential([keras.Input((6,)), *layers])
    model.compile(keras.optimizers.Adam(0.05), loss=loss, metrics=metrics, **options)
    return model


def fit(model, y, *callbacks, epochs=30, weight=None):
    held_out = (X[TEST], y[TEST]) if weight is None else (X[TEST], y[TEST], weight[TEST])
    return model.fit(
        X[TRAIN],
        y[TRAIN],
        sample_weight=None if weight is None else weight[TRAIN],
        validation_data=held_out,
        batch_size=20,
        epochs=epochs,
        callbacks=list(callbacks),
        verbose=0,
    ).history


@pytest.mark.slow
@pytest.mark.parametrize("watched", ["ranked_probability", "penalized_brier"])
def test_training_stops_by_the_rule_that_is_watched(watched, tmp_path):
    metrics = [RuleMetric(pr.RankedProbability()), RuleMetric(pr.PenalizedBrier())]
    model = model_of(3, "softmax", "sparse_categorical_crossentropy", metrics)
    # No mode is given: Keras learns from the metric that lower is better.
    stopping = keras.callbacks.EarlyStopping(monitor=f"val_{watched}", patience=PATIENCE, restore_best_weights=True)
    path = tmp_path / "best.keras"
    checkpoint = keras.callbacks.ModelCheckpoint(path, monitor=f"val_{watched}", save_best_only=True)
    forecasts = Forecasts()
    history = fit(model, GRADE, forecasts, stopping, checkpoint)
    values = history[f"val_{watched}"]
    best = int(np.argmin(values))
    assert best + PATIENCE == stopping.stopped_epoch == len(values) - 1 < 29
    for metric in metrics:
        expected = [pr.mean_score(GRADE[TEST], rows, rule=metric.rule) for rows in forecasts.rows]
        assert history[f"val_{metric.name}"] == pytest.approx(expected, rel=1e-5)
    kept = keras.saving.load_model(path)
    np.testing.assert_allclose(kept.predict(X[TEST], verbose=0), forecasts.rows[best], rtol=1e-5)
    evaluated = kept.evaluate(X[TEST], GRADE[TEST], verbose=0, return_dict=True)
    assert evaluated[watched] == pytest.approx(values[best], rel=1e-5)


def test_events_logits_and_weights():
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    metrics = {
        "metrics": [ForecastTableMetric(from_logits=True), RuleMetric(pr.Brier(), from_logits=True, name="plain")],
        "weighted_metrics": [RuleMetric(pr.BoundedLog(0.2, 0.6), from_logits=True)],
    }
    model, forecasts = model_of(1, None, loss, **metrics), Forecasts()
    history = fit(model, EVENT, forecasts, epochs=2, weight=WEIGHT)
    for epoch, logits in enumerate(forecasts.rows):
        p = 1.0 / (1.0 + np.exp(-logits[:, 0].astype(float)))
        y, w = EVENT[TEST], WEIGHT[TEST]
        expected = pr.mean_score(y, p, rule=pr.BoundedLog(0.2, 0.6), sample_weight=w)
        assert history["val_bounded_log"][epoch] == pytest.approx(expected, rel=1e-5)
        assert history["val_plain"][epoch] == pytest.approx(pr.brier_score(y, p), rel=1e-5)
        parts = pr.decompose(pr.ForecastTable.from_predictions(y, p).grid(2**10))
        for part in ("score", "miscalibration", "discrimination", "uncertainty"):
            assert history[f"val_brier_{part}"][epoch] == pytest.approx(getattr(parts, part), abs=2e-3)


def test_batches_do_not_change_a_bit_and_a_reset_forgets():
    rows, y = RNG.dirichlet(np.ones(3), 50), RNG.integers(0, 3, 50)
    metric = RuleMetric(pr.RankedProbability())
    values = []
    for cuts in ([], [1, 20, 33]):
        metric.reset_state()
        for part in np.split(np.arange(50), cuts):
            metric.update_state(y[part], keras.ops.convert_to_tensor(rows[part], dtype="float64"))
        values.append(float(metric.result()))
    assert values[0] == values[1] == pytest.approx(pr.ranked_probability_score(y, rows), rel=1e-14)


def test_without_cases_there_is_no_value():
    assert np.isnan(float(RuleMetric(pr.Brier()).result()))
    assert all(np.isnan(float(value)) for value in ForecastTableMetric().result().values())


@pytest.mark.parametrize(
    "rule", [pr.Brier(scale="half"), pr.BoundedLog(0.1, 0.3), pr.PenalizedLog(ties="first")], ids=repr
)
def test_a_saved_metric_is_the_same_metric(rule):
    metric = RuleMetric(rule, from_logits=True, name="mine", tolerance=1e-3)
    kept = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(metric))
    assert (kept.rule, kept.from_logits, kept.name, kept.tolerance) == (rule, True, "mine", 1e-3)
    table = ForecastTableMetric(cells=16, from_logits=True, name="b")
    assert ForecastTableMetric.from_config(table.get_config()).get_config() == table.get_config()


def test_a_users_own_rule_is_saved_and_not_brought_back():
    @dataclass(frozen=True)
    class Mine(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return 1.0 - p if event else p

    with pytest.raises(InputValueError, match=r"Mine is not one of them\. Hint: load it with compile=False"):
        RuleMetric.from_config(RuleMetric(Mine()).get_config())


def test_a_clipped_log_score_of_wrong_certainties_keeps_the_weights_finite():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, activation="sigmoid")])
    model.set_weights([np.ones((1, 1)), np.zeros(1)])
    model.compile(keras.optimizers.SGD(0.1), loss=RuleLoss(pr.Log(clip=1e-6)))
    model.fit(np.array([[1000.0], [-1000.0], [0.0]]), np.array([0.0, 1.0, 1.0]), verbose=0)
    slope, intercept = model.get_weights()
    assert slope.item() == 1.0
    assert intercept.item() == pytest.approx(0.1 / 6.0)


@pytest.mark.parametrize("kind", [RuleLoss, RuleMetric])
def test_both_columns_of_two_classes_are_checked(kind):
    with pytest.raises(InputValueError, match="must sum to 1 within"):
        kind(pr.Brier())(np.array([1, 0]), np.array([[0.9, 0.9], [0.1, 0.2]], dtype=np.float32))


def test_refusals(monkeypatch):
    with pytest.raises(InputTypeError, match="instantiate the class"):
        RuleMetric(pr.Brier)
    with pytest.raises(InputValueError, match="cells must be a power of two"):
        ForecastTableMetric(cells=3)
    with pytest.raises(InputTypeError, match="does not support sample_weight"):
        ForecastTableMetric().update_state([1], [0.5], sample_weight=[1.0])
    with pytest.raises(InputValueError, match="apply a sigmoid"):
        RuleMetric(pr.Brier()).update_state([1], [2.5])
    with pytest.raises(InputValueError, match="one-hot"):
        RuleMetric(pr.Brier()).update_state([[0, 0, 1]], [[0.2, 0.2, 0.6]])
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(UnsupportedOperationError, match="need PyTorch as the backend of Keras; it is 'jax'"):
        RuleMetric(pr.Brier())


def test_without_the_library_one_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", None)
    monkeypatch.delitem(sys.modules, "propriety.integrations.keras")
    with pytest.raises(MissingDependencyError, match=r"needs keras\. Hint: pip install \"propriety\[keras\]"):
        import_module("propriety.integrations.keras")


@pytest.mark.slow
def test_without_a_backend_the_error_names_the_setting():
    absent = next(name for name in ("tensorflow", "jax") if find_spec(name) is None)
    environment = os.environ | {"KERAS_BACKEND": absent}
    command = [sys.executable, "-c", "import propriety.integrations.keras"]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603  (our own)
    assert "Keras cannot import its backend. Hint: set KERAS_BACKEND=torch" in told.stderr
