"""Displays from an estimator and from cross-validation: the right forecasts of the right event."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedKFold, cross_val_predict, cross_validate

import propriety as pr
from propriety.errors import InputValueError
from propriety.plots.display import DecisionCurveDisplay, ReliabilityDisplay

mpl.use("agg")

RNG = np.random.default_rng(4)
X = RNG.normal(size=(300, 2))
EVENT = RNG.random(300) < 1 / (1 + np.exp(-X[:, 0]))
Y = np.where(EVENT, "bad", "good")
WEIGHT = RNG.integers(0, 3, 300)


@pytest.fixture(scope="module")
def folds():
    return cross_validate(LogisticRegression(), X, Y, cv=4, return_estimator=True, return_indices=True)


@pytest.mark.parametrize("frame", [False, True], ids=["array", "frame"])
def test_held_out_forecasts_are_put_together(folds, frame):
    held_out = cross_val_predict(LogisticRegression(), X, Y, cv=4, method="predict_proba")[:, 0]
    expected = pr.reliability_curve(EVENT, held_out, sample_weight=WEIGHT)
    pandas = pytest.importorskip("pandas")
    features = pandas.DataFrame(X, index=np.arange(300)[::-1]).rename(columns=str) if frame else X
    models = cross_validate(LogisticRegression(), features, Y, cv=4, return_estimator=True, return_indices=True)
    display = ReliabilityDisplay.from_cv_results(models, features, Y, pos_label="bad", sample_weight=WEIGHT, level=None)
    np.testing.assert_allclose(display.curve.event_rate, expected.event_rate, rtol=1e-12)
    np.testing.assert_allclose(display.curve.forecast_min, expected.forecast_min, rtol=1e-12)
    assert display.ax_.get_title(loc="left") == "LogisticRegression"


def test_the_band_and_the_name_of_cross_validation(folds):
    display = ReliabilityDisplay.from_cv_results(folds, X, Y, name="held out", seed=1)
    assert [band.kind for band in display.curve.bands] == ["consistency"]
    assert display.ax_.get_title(loc="left") == "held out"
    assert display.curve.table.event_rate == pytest.approx(1 - EVENT.mean())


def test_decision_curves(folds):
    model = LogisticRegression().fit(X, Y)
    display = DecisionCurveDisplay.from_estimator(model, X, Y, pos_label="bad", grid=[0.1, 0.2, 0.3])
    expected = pr.decision_curve(EVENT, model.predict_proba(X)[:, 0], grid=[0.1, 0.2, 0.3])
    np.testing.assert_array_equal(display.curve.value, expected.value)
    assert display.figure_ is display.ax_.figure
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["LogisticRegression"]
    held_out = DecisionCurveDisplay.from_cv_results(folds, X, Y, pos_label="bad")
    assert held_out.curve.n == 300


def test_a_case_that_is_held_out_twice():
    folds = cross_validate(
        LogisticRegression(),
        X,
        Y,
        cv=RepeatedKFold(n_splits=2, n_repeats=2),
        return_estimator=True,
        return_indices=True,
    )
    with pytest.raises(InputValueError, match="every case must be held out once"):
        ReliabilityDisplay.from_cv_results(folds, X, Y)


def test_results_without_models():
    with pytest.raises(InputValueError, match="return_estimator=True and return_indices=True"):
        ReliabilityDisplay.from_cv_results(cross_validate(LogisticRegression(), X, Y, cv=3), X, Y)


def test_a_label_replaces_the_name_of_the_display():
    display = ReliabilityDisplay.from_predictions(EVENT, np.full(300, 0.5), name="triage", level=None)
    assert display.plot(label="triage, 2024").ax_.get_title(loc="left") == "triage, 2024"
    assert display.plot().ax_.get_title(loc="left") == "triage"
