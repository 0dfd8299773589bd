"""Scorers in scikit-learn's own model selection: signs, weights, classes in their order and classes that are not there."""

import pickle
import sys
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingDependencyError
from propriety.integrations.sklearn import check_columns, get_scorer, get_scorer_names, rule_scorer

RNG = np.random.default_rng(2)
X = RNG.normal(size=(240, 2))
GRADE = np.digitize(X[:, 0] + 0.5 * RNG.logistic(size=240), [-0.7, 0.7])
GRADES = ["none", "mild", "severe"]  # In alphabetical order this is mild, none, severe.
WORDS = np.array(GRADES)[GRADE]
EVENT = GRADE == 2
WEIGHT = RNG.integers(0, 4, 240).astype(float)
FUNCTIONS = {
    "neg_brier": pr.brier_score,
    "neg_log": pr.log_score,
    "neg_penalized_brier": pr.penalized_brier_score,
    "neg_penalized_log": pr.penalized_log_score,
    "neg_ranked_probability": pr.ranked_probability_score,
    "neg_spherical": pr.spherical_score,
}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Fixed(ClassifierMixin, BaseEstimator):
    """A classifier that forecasts its features, with columns for the classes that it is told."""

    def __init__(self, classes):
        self.classes = classes

    def fit(self, features, y=None):
        self.classes_ = np.array(self.classes)
        return self

    def predict_proba(self, features):
        return np.asarray(features)


def test_every_headline_rule_has_a_scorer():
    assert get_scorer_names() == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_scorer_is_the_negative_score_of_the_rows(name):
    model = LogisticRegression().fit(X, GRADE)
    score = FUNCTIONS[name](GRADE, model.predict_proba(X), sample_weight=WEIGHT)
    assert get_scorer(name)(model, X, GRADE, sample_weight=WEIGHT) == -score


@pytest.mark.parametrize("name", ["neg_brier", "neg_log", "neg_spherical"])
def test_two_classes_are_one_event_as_scikit_learn_has_it(name):
    model = LogisticRegression().fit(X, EVENT)
    scored = get_scorer(name)(model, X, EVENT)
    assert scored == -FUNCTIONS[name](EVENT, model.predict_proba(X)[:, 1])
    twin = {"neg_brier": "neg_brier_score", "neg_log": "neg_log_loss"}.get(name)
    if twin:
        assert scored == pytest.approx(sklearn.metrics.get_scorer(twin)(model, X, EVENT), rel=1e-12)


def test_rules_of_rows_get_both_columns_of_two_classes():
    model = LogisticRegression().fit(X, EVENT)
    score = pr.penalized_brier_score(EVENT.astype(int), model.predict_proba(X))
    assert get_scorer("neg_penalized_brier")(model, X, EVENT) == -score


@given(order=st.permutations(GRADES), data=st.data())
@settings(max_examples=30)
def test_columns_are_found_by_their_class_in_any_order(order, data):
    parts = np.array(data.draw(st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=1, max_size=6)))
    y = data.draw(st.lists(st.sampled_from(GRADES), min_size=len(parts), max_size=len(parts)))
    rows = parts / parts.sum(axis=1, keepdims=True)
    columns = [GRADES.index(label) for label in order]
    scorer = get_scorer("neg_ranked_probability", labels=GRADES)
    scored = scorer(Fixed(order).fit(rows), rows[:, columns], y)
    assert scored == pytest.approx(-pr.ranked_probability_score(y, rows, labels=GRADES), rel=1e-12, abs=1e-15)


def test_the_order_of_words_is_not_guessed():
    model = LogisticRegression().fit(X, WORDS)
    with pytest.raises(InputValueError, match=r"alphabetical order is \['mild', 'none', 'severe'\].*labels="):
        get_scorer("neg_ranked_probability")(model, X, WORDS)
    ordered = get_scorer("neg_ranked_probability", labels=GRADES)(model, X, WORDS)
    numbered = get_scorer("neg_ranked_probability")(LogisticRegression().fit(X, GRADE), X, GRADE)
    assert ordered == pytest.approx(numbered, rel=1e-4)
    two = LogisticRegression().fit(X, np.where(EVENT, "high", "low"))
    get_scorer("neg_ranked_probability")(two, X, np.where(EVENT, "high", "low"))


def test_the_event_is_the_last_class_or_the_one_asked_for():
    y = np.where(EVENT, "bad", "good")
    model = LogisticRegression().fit(X, y)
    rule = pr.BoundedBrier(0.1, 0.4)
    bad, good = model.predict_proba(X).T
    assert rule_scorer(rule)(model, X, y) == -pr.mean_score(~EVENT, good, rule=rule)
    assert rule_scorer(rule, pos_label="bad")(model, X, y) == -pr.mean_score(EVENT, bad, rule=rule)
    with pytest.raises(InputValueError, match="pos_label must be one of two classes; it is 'ugly'"):
        rule_scorer(rule, pos_label="ugly")(model, X, y)


@pytest.mark.parametrize("y", [GRADE, WORDS], ids=["numbers", "words"])
def test_a_class_that_is_missing_in_a_fold_is_scored_as_ever(y):
    order = np.argsort(GRADE == 2, kind="stable")  # The last fold holds one class only.
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    few = order[:40]
    assert 2 not in GRADE[few]
    scored = get_scorer("neg_penalized_brier")(model, X[few], y[few])
    labels = model.classes_
    assert scored == -pr.penalized_brier_score(y[few], model.predict_proba(X[few]), labels=labels)


def test_a_class_that_was_never_learnt():
    model = LogisticRegression().fit(X[GRADE < 2], GRADE[GRADE < 2])
    with pytest.raises(InputValueError, match=r"has learnt, \[0, 1\]; row \d+ is 2 .*name all classes in labels="):
        get_scorer("neg_penalized_brier")(model, X, GRADE)
    scored = get_scorer("neg_penalized_brier", labels=[0, 1, 2])(model, X, GRADE)
    rows = np.column_stack([model.predict_proba(X), np.zeros(len(X))])
    assert scored == -pr.penalized_brier_score(GRADE, rows)
    with pytest.raises(InputValueError, match=r"must name every class of the estimator, \[0, 1\]; got \[0, 2\]"):
        get_scorer("neg_brier", labels=[0, 2])(model, X, GRADE)


def test_cross_validation_with_several_scorers():
    scoring = {"rps": get_scorer("neg_ranked_probability"), "pbs": rule_scorer(pr.PenalizedBrier(ties="first"))}
    found = cross_validate(
        LogisticRegression(), X, GRADE, cv=3, scoring=scoring, return_estimator=True, return_indices=True
    )
    for fold, (model, test) in enumerate(zip(found["estimator"], found["indices"]["test"], strict=True)):
        rps = pr.ranked_probability_score(GRADE[test], model.predict_proba(X[test]))
        pbs = pr.penalized_brier_score(GRADE[test], model.predict_proba(X[test]), ties="first")
        assert (found["test_rps"][fold], found["test_pbs"][fold]) == (-rps, -pbs)


@pytest.mark.usefixtures("routing")
def test_weights_are_routed():
    plain = get_scorer("neg_brier").set_score_request(sample_weight=False)
    weighted = get_scorer("neg_brier").set_score_request(sample_weight=True)
    model = LogisticRegression().set_fit_request(sample_weight=True)
    found = cross_validate(
        model,
        X,
        GRADE,
        cv=3,
        scoring={"plain": plain, "weighted": weighted},
        params={"sample_weight": WEIGHT},
        return_estimator=True,
        return_indices=True,
    )
    for fold, (fitted, test) in enumerate(zip(found["estimator"], found["indices"]["test"], strict=True)):
        rows = fitted.predict_proba(X[test])
        assert found["test_plain"][fold] == -pr.brier_score(GRADE[test], rows)
        assert found["test_weighted"][fold] == -pr.brier_score(GRADE[test], rows, sample_weight=WEIGHT[test])
    assert not np.allclose(found["test_plain"], found["test_weighted"])


@pytest.mark.usefixtures("routing")
def test_weights_that_nobody_asked_about_are_refused_by_scikit_learn():
    with pytest.raises(ValueError, match="sample_weight"):
        cross_validate(
            LogisticRegression(), X, GRADE, scoring=get_scorer("neg_brier"), params={"sample_weight": WEIGHT}
        )
    with pytest.raises(TypeError, match="estimator"):
        get_scorer("neg_brier").set_score_request(estimator=True)


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
def test_grid_search_chooses_by_the_weighted_rule():
    scorer = get_scorer("neg_ranked_probability").set_score_request(sample_weight=True)
    model = LogisticRegression().set_fit_request(sample_weight=False)
    folds = KFold(3)
    strengths = [1e-3, 1e-1, 10.0]
    search = GridSearchCV(model, {"C": strengths}, scoring=scorer, cv=folds).fit(X, GRADE, sample_weight=WEIGHT)
    means = [
        np.mean(
            [
                pr.ranked_probability_score(
                    GRADE[test],
                    LogisticRegression(C=strength).fit(X[train], GRADE[train]).predict_proba(X[test]),
                    sample_weight=WEIGHT[test],
                )
                for train, test in folds.split(X)
            ]
        )
        for strength in strengths
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], np.negative(means), rtol=1e-12)
    assert search.best_params_["C"] == strengths[int(np.argmin(means))]


def test_scorers_are_values():
    scorer = get_scorer("neg_ranked_probability", labels=GRADES)
    for twin in (pickle.loads(pickle.dumps(scorer)), clone(scorer)):
        assert repr(twin) == repr(scorer)
        assert twin.rule == scorer.rule
    assert "set_score_request" in dir(scorer)


def test_frames_and_series():
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(240)[::-1])
    y = pd.Series(WORDS, index=frame.index, dtype="category")
    found = cross_validate(LogisticRegression(), frame, y, cv=3, scoring=get_scorer("neg_log"), error_score="raise")
    plain = cross_validate(LogisticRegression(), X, WORDS, cv=3, scoring=get_scorer("neg_log"), error_score="raise")
    np.testing.assert_allclose(found["test_score"], plain["test_score"], rtol=1e-9)


def test_a_column_of_labels_is_one_dimension():
    y = (X[:, 0] > X[:, 0].mean()).astype(int)
    model, scorer = LogisticRegression().fit(X, y), get_scorer("neg_brier")
    for column in (y[:, None], pd.DataFrame({"y": y})):
        assert scorer(model, X, column) == scorer(model, X, y)
        check_columns(model, column)


def test_both_columns_of_two_classes_are_checked():
    class Twice(LogisticRegression):
        def predict_proba(self, features):
            return super().predict_proba(features) * [2.0, 1.0]

    model = Twice().fit(X, np.arange(len(X)) % 2)
    with pytest.raises(InputValueError, match=r"must lie in|must sum to 1"):
        get_scorer("neg_brier")(model, X, np.arange(len(X)) % 2)


def test_what_is_refused():
    model = LogisticRegression().fit(X, GRADE)
    with pytest.raises(InputValueError, match=r'must be one of "neg_brier", .*got .brier..*rule_scorer'):
        get_scorer("brier")
    with pytest.raises(InputTypeError, match="must be a scoring rule"):
        rule_scorer(pr.Brier)
    with pytest.raises(InputTypeError, match="must have predict_proba; Ridge does not"):
        get_scorer("neg_brier")(Ridge().fit(X, GRADE), X, GRADE)
    with pytest.raises(InputValueError, match=r"BoundedBrier\(.* scores the forecast of one event"):
        rule_scorer(pr.BoundedBrier(0.1, 0.2))(model, X, GRADE)
    with pytest.raises(
        InputValueError, match=r"one column for each of the estimator's classes_; its shape is \(2, 2\)"
    ):
        get_scorer("neg_brier")(Fixed([0, 1, 2]).fit(None), np.full((2, 2), 0.5), [0, 1])


def test_check_columns():
    model = LogisticRegression().fit(X, WORDS)
    check_columns(model, ["mild", "none"])
    with pytest.raises(InputValueError, match=r"row 1 is 'dead' \(2 of 3 rows\)"):
        check_columns(model, ["mild", "dead", "gone"])


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "propriety.integrations.sklearn")
    with pytest.raises(MissingDependencyError, match=r'needs sklearn\. Hint: pip install "propriety\[sklearn\]"'):
        import_module("propriety.integrations.sklearn")


def test_a_class_without_a_column_does_not_change_the_precision_of_the_others():
    class Half(LogisticRegression):
        def predict_proba(self, X):  # noqa: N803  (scikit-learn's name)
            return super().predict_proba(X).astype(np.float16)

    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 3))
    y = np.digitize(features[:, 0] + rng.normal(size=200), [-1.0, 0.3])
    model = Half().fit(features, y)
    score, more = rule_scorer(pr.Brier()), rule_scorer(pr.Brier(), labels=[0, 1, 2, 3])
    assert more(model, features, y) == pytest.approx(score(model, features, y), rel=1e-12)
