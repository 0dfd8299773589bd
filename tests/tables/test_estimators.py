"""Fitted estimators are evaluated by their own probabilities, with the columns in the right order."""

import numpy as np
import pandas as pd
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.tables.estimators import predicted

RNG = np.random.default_rng(4)
X = RNG.random((60, 2))
Y = (RNG.random(60) < X[:, 0]).astype(int)


class Classifier:
    """A classifier whose probabilities are its features."""

    def __init__(self, classes):
        self.classes_ = np.array(classes)

    def fit(self):
        return self

    def predict(self, X):  # noqa: N803  (as in scikit-learn)
        return X

    def predict_proba(self, X):  # noqa: N803  (as in scikit-learn)
        rows = np.asarray(X, dtype=float)
        if len(self.classes_) == 2:
            return np.column_stack([1 - rows[:, 0], rows[:, 0]])
        rows = np.column_stack([rows, np.full(len(rows), 0.5)])
        return rows / rows.sum(axis=1, keepdims=True)


def test_two_classes_are_one_event():
    found = pr.evaluate(Y, {"model": Classifier([0, 1]), "half": np.full(60, 0.5)}, X=X, seed=1)
    expected = pr.evaluate(Y, {"model": X[:, 0], "half": np.full(60, 0.5)}, seed=1)
    assert found.kind == "binary"
    assert found.to_dict() == expected.to_dict()
    assert pr.evaluate(Y, Classifier([False, True]), X=X, seed=1).kind == "binary"


@pytest.mark.parametrize("options", [{"pos_label": "ill"}, {"labels": ["well", "ill"]}], ids=["pos_label", "labels"])
def test_the_event_is_named_whatever_the_order_of_the_classes(options):
    model, y = Classifier(["ill", "well"]), np.where(Y, "ill", "well")
    found = pr.evaluate(y, {"model": model}, X=X, seed=1, **options)
    assert found.to_dict()["brier"] == pytest.approx(float(np.mean((1 - X[:, 0] - Y) ** 2)), rel=1e-12)
    with pytest.raises(InputValueError, match=r"pos_label is required.*\['ill', 'well'\].*pos_label='well' if"):
        pr.evaluate(y, {"model": model}, X=X)
    with pytest.raises(InputValueError, match=r'pos_label must be one of "ill", "well"; got .sick.'):
        pr.evaluate(y, {"model": model}, X=X, pos_label="sick")


def test_columns_of_classes_are_in_the_order_of_the_labels():
    names = ["high", "low", "medium"]
    y, frame = np.array(names)[RNG.integers(0, 3, 60)], pd.DataFrame(X)
    rows = Classifier(names).predict_proba(frame)
    ours = pr.evaluate(y, {"model": Classifier(names)}, X=frame, seed=1)
    assert ours.to_dict() == pr.evaluate(y, {"model": rows}, labels=names, seed=1).to_dict()
    order = ["low", "medium", "high"]
    ordered = pr.evaluate(y, {"model": Classifier(names)}, X=frame, labels=order, ordered=True, seed=1)
    assert (
        ordered.to_dict() == pr.evaluate(y, {"model": rows[:, [1, 2, 0]]}, labels=order, ordered=True, seed=1).to_dict()
    )
    with pytest.raises(
        InputValueError, match=r"forecasts\['b'\] must have the classes .*it has \['high', 'low', 'none'\]"
    ):
        pr.evaluate(y, {"a": Classifier(names), "b": Classifier(["high", "low", "none"])}, X=frame)
    _, labels = predicted(Classifier([0, 1, 2]), X)
    assert labels is None


def test_what_is_missing_is_named():
    with pytest.raises(
        InputTypeError, match=r"forecasts\['model'\] is an estimator and needs the features X.*pass X=X_test"
    ):
        pr.evaluate(Y, {"model": Classifier([0, 1])})
    with pytest.raises(InputTypeError, match=r"X is for fitted estimators"):
        pr.evaluate(Y, {"model": X[:, 0]}, X=X)
    with pytest.raises(InputTypeError, match=r"not a column.*frame\['y'\]"):
        pr.evaluate(pd.DataFrame({"y": Y}), {"model": Classifier([0, 1])}, outcome="y", X=X)
    unfitted = Classifier([0, 1])
    del unfitted.classes_
    with pytest.raises(InputTypeError, match=r"must have classes_; Classifier has none.*fit it first"):
        pr.evaluate(Y, {"model": unfitted}, X=X)


def test_classifiers_of_scikit_learn():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    assert sklearn
    model = LogisticRegression().fit(X, Y)
    found = pr.evaluate(Y, {"logistic": model}, X=X, seed=1).to_dict()
    assert found["brier"] == pytest.approx(float(pr.brier_score(Y, model.predict_proba(X)[:, 1])), rel=1e-12)
    with pytest.raises(InputTypeError, match=r"must have predict_proba; LinearSVC has none.*CalibratedClassifierCV"):
        pr.evaluate(Y, {"svm": LinearSVC().fit(X, Y)}, X=X)


def test_features_in_another_order_than_the_outcomes_are_not_mixed():
    frame, y = pd.DataFrame(X), pd.Series(Y)
    model = {"model": Classifier([0, 1])}
    shuffled = y.sample(frac=1, random_state=1)
    with pytest.raises(InputValueError, match="y_true and X carry different indices"):
        pr.evaluate(shuffled, model, X=frame)
    with pytest.raises(InputValueError, match="the forecasts and cluster carry different indices"):
        pr.evaluate(Y, model, X=frame, cluster=shuffled)
    with pytest.raises(InputValueError, match=r"y_true and X must be equally long"):
        pr.evaluate(y[:-1], model, X=frame)
    expected = pr.evaluate(Y, model, X=X, seed=1).to_dict()
    assert pr.evaluate(y, model, X=frame, seed=1).to_dict() == expected
    assert pr.evaluate(shuffled, model, X=frame.loc[shuffled.index], seed=1).to_dict()["brier"] == pytest.approx(
        expected["brier"]
    )


def test_several_estimators_need_names():
    with pytest.raises(InputTypeError, match="forecasts must be a mapping, so that each estimator has a name"):
        pr.evaluate(Y, [Classifier([0, 1]), Classifier([0, 1])], X=X)
