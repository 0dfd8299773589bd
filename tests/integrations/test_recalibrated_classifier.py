"""A recalibrated classifier follows scikit-learn's conventions, and its map is that of the held-out forecasts."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_checks

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.integrations.sklearn import MapTransformer, RecalibratedClassifier, get_scorer
from propriety.recalibration import CLASS_METHODS, METHODS, ClassRows, IsotonicMap
from propriety.tables.forecast_table import ForecastTable

frozen = pytest.importorskip("sklearn.frozen", reason="scikit-learn has frozen estimators from 1.6 on")

RNG = np.random.default_rng(3)
HIDDEN = RNG.normal(size=600)
X = np.column_stack([HIDDEN + 0.3 * RNG.normal(size=600) for _ in range(5)])  # Naive Bayes counts it five times.
EVENT = RNG.random(600) < 1 / (1 + np.exp(-HIDDEN))
WEIGHT = RNG.integers(1, 4, 600).astype(float)
GROUPS = np.arange(600) // 4

# "auto" shrinks its curve by how much evidence there is, which a weight of 2 is not as much of as two cases are.
WEIGHTS_ARE_NO_CASES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "weights are no further cases" for kind in ("dense", "sparse")
}


@pytest.mark.slow
@estimator_checks.parametrize_with_checks(
    [RecalibratedClassifier(LogisticRegression(), cv=2)], expected_failed_checks=lambda _: WEIGHTS_ARE_NO_CASES
)
def test_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_a_weight_counts_cases_where_the_map_counts_them():
    model = RecalibratedClassifier(LogisticRegression(), method="temperature")
    estimator_checks.check_sample_weight_equivalence_on_dense_data("RecalibratedClassifier", model)


@pytest.mark.parametrize("method", METHODS)
def test_the_map_is_that_of_the_forecasts_of_held_out_folds(method):
    model = RecalibratedClassifier(GaussianNB(), method=method, cv=4).fit(X, EVENT)
    held_out = cross_val_predict(GaussianNB(), X, EVENT, cv=4, method="predict_proba")[:, 1]
    wanted = METHODS[method](ForecastTable.from_predictions(EVENT, held_out))
    assert model.recalibration_.map == wanted
    rows = model.predict_proba(X)
    np.testing.assert_array_equal(rows[:, 1], wanted(GaussianNB().fit(X, EVENT).predict_proba(X)[:, 1]))
    np.testing.assert_array_equal(rows.sum(axis=1), 1.0)


def test_overconfident_forecasts_are_recalibrated():
    model = RecalibratedClassifier(GaussianNB()).fit(X[:400], EVENT[:400])
    assert model.recalibration_.verdict.outcome == "gain"
    assert model.recalibration_.folds == "5 folds as given"
    new = {"model": model.predict_proba(X[400:])[:, 1], "raw": model.estimator_.predict_proba(X[400:])[:, 1]}
    scores = {name: pr.log_score(EVENT[400:], p) for name, p in new.items()}
    assert scores["model"] < scores["raw"] - 0.1
    assert cross_val_score(model, X, EVENT, scoring=get_scorer("neg_log")).mean() > -0.67


def test_the_best_of_several_methods_can_be_chosen():
    chosen = RecalibratedClassifier(GaussianNB(), method="choose").fit(X, EVENT)
    assert chosen.recalibration_.method in METHODS
    search = GridSearchCV(RecalibratedClassifier(GaussianNB()), {"method": ["none", "slope"]}, scoring="neg_log_loss")
    assert search.fit(X, EVENT).best_params_ == {"method": "slope"}


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [1, 2], [-1, 1]], ids=str)
def test_the_event_is_the_second_class(labels):
    y = np.array(labels)[EVENT.astype(int)]
    model = RecalibratedClassifier(GaussianNB()).fit(X, y)
    plain = RecalibratedClassifier(GaussianNB()).fit(X, EVENT)
    assert model.classes_.tolist() == labels
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert set(model.predict(X).tolist()) == set(labels)


class Reversed(ClassifierMixin, BaseEstimator):
    """A classifier whose classes are not sorted."""

    def fit(self, features, y):
        self.inner_ = GaussianNB().fit(features, y)
        self.classes_ = self.inner_.classes_[::-1]
        return self

    def predict_proba(self, features):
        return self.inner_.predict_proba(features)[:, ::-1]


@pytest.mark.parametrize("labels", [[1, 2], ["no", "yes"]], ids=str)
def test_the_folds_are_fitted_to_the_labels(labels):
    weighted = LogisticRegression(class_weight={labels[0]: 10})
    y = np.array(labels)[EVENT.astype(int)]
    model = RecalibratedClassifier(weighted, method="logistic").fit(X, y)
    plain = RecalibratedClassifier(LogisticRegression(class_weight={0: 10}), method="logistic").fit(
        X, EVENT.astype(int)
    )
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-9)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(EVENT.mean(), abs=0.01)


def test_a_search_within_the_folds_may_name_the_labels():
    scorer = get_scorer("neg_ranked_probability", labels=["none", "mild", "severe"])
    search = GridSearchCV(LogisticRegression(), {"C": [1e-4, 1.0]}, scoring=scorer, cv=3, error_score="raise")
    y = np.array(["none", "mild", "severe"])[np.digitize(HIDDEN + RNG.logistic(size=600), [-1.0, 1.0])]
    model = RecalibratedClassifier(search, cv=3).fit(X, y)
    assert model.estimator_.best_params_ == {"C": 1.0}
    assert model.recalibration_.labels == ("mild", "none", "severe")
    rows = model.estimator_.predict_proba(X)
    named = pd.DataFrame(rows, columns=model.classes_)[["none", "mild", "severe"]]
    np.testing.assert_array_equal(model.recalibration_(named), model.recalibration_(rows))


def test_unsorted_classes_are_read_in_their_order():
    grades = np.digitize(HIDDEN + RNG.logistic(size=600), [-1.0, 1.0])
    for y in (np.where(EVENT, "yes", "no"), grades):
        own, plain = (RecalibratedClassifier(one).fit(X, y) for one in (Reversed(), GaussianNB()))
        assert own.classes_.tolist() == sorted(set(y.tolist()))
        np.testing.assert_array_equal(own.predict_proba(X), plain.predict_proba(X))
        known = RecalibratedClassifier(frozen.FrozenEstimator(Reversed().fit(X, y)), method="none").fit(X, y)
        np.testing.assert_allclose(known.predict_proba(X), known.estimator_.predict_proba(X), atol=1e-12)


def test_matrices_of_distances_are_split_on_both_sides():
    near = np.abs(HIDDEN[:, None] - HIDDEN)
    model = RecalibratedClassifier(KNeighborsClassifier(20, metric="precomputed"), method="logistic").fit(near, EVENT)
    plain = RecalibratedClassifier(KNeighborsClassifier(20), method="logistic").fit(HIDDEN[:, None], EVENT)
    assert model.recalibration_.map == plain.recalibration_.map


def test_folds_are_fitted_in_several_processes():
    in_processes = RecalibratedClassifier(GaussianNB(), n_jobs=2).fit(X, EVENT, sample_weight=WEIGHT.tolist())
    alone = RecalibratedClassifier(GaussianNB()).fit(X, EVENT, sample_weight=WEIGHT)
    assert in_processes.recalibration_.map == alone.recalibration_.map


def test_a_classifier_must_have_learnt_the_classes():
    class Renamed(Reversed):
        def fit(self, features, y):
            super().fit(features, y)
            self.classes_ = np.array(["0", "1"])
            return self

    with pytest.raises(InputValueError, match=r"one column for each of the classes \[False, True\]; .* \['0', '1'\]"):
        RecalibratedClassifier(Renamed()).fit(X, EVENT)


def test_of_a_fitted_classifier_only_the_map_is_fitted():
    fitted = GaussianNB().fit(X[:300], EVENT[:300])
    model = RecalibratedClassifier(frozen.FrozenEstimator(fitted), method="isotonic").fit(X[300:], EVENT[300:])
    assert model.estimator_.estimator is fitted
    table = ForecastTable.from_predictions(EVENT[300:], fitted.predict_proba(X[300:])[:, 1])
    assert model.recalibration_.map == METHODS["isotonic"](table)


def test_the_labels_of_a_frozen_classifier_are_its_own():
    words = np.where(EVENT, "churn", "stay")
    known = frozen.FrozenEstimator(GaussianNB().fit(X, EVENT.astype(int)))
    with pytest.raises(
        InputValueError, match=r"y must hold classes that the frozen classifier has learnt, \[0, 1\]; row"
    ):
        RecalibratedClassifier(known).fit(X, words)
    levels = np.digitize(HIDDEN + RNG.logistic(size=600), [-1.0, 1.0])
    three = frozen.FrozenEstimator(GaussianNB().fit(X, levels))
    model = RecalibratedClassifier(three).fit(X[levels > 0], levels[levels > 0])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X).shape == (600, 3)


def test_nothing_is_trained_of_a_frozen_classifier():
    known = frozen.FrozenEstimator(KNeighborsClassifier(20).fit(X, EVENT))
    lone = np.where(EVENT)[0][:1]  # All of one class are in one fold.
    rows = np.concatenate([np.where(~EVENT)[0][:200], lone])
    RecalibratedClassifier(known, method="none", cv=KFold(5)).fit(X[rows], EVENT[rows], sample_weight=WEIGHT[rows])


@pytest.mark.parametrize("method", CLASS_METHODS)
def test_classes_have_a_map_of_rows(method):
    labels = np.array(["low", "middle", "high"])
    y = labels[np.digitize(HIDDEN + RNG.logistic(size=600), [-1.0, 1.0])]
    model = RecalibratedClassifier(GaussianNB(), method=method, cv=4).fit(X, y, sample_weight=WEIGHT)
    held_out = cross_val_predict(GaussianNB(), X, y, cv=4, method="predict_proba", params={"sample_weight": WEIGHT})
    rows = ClassRows.from_predictions(y, held_out, labels=sorted(labels), sample_weight=WEIGHT)
    wanted = CLASS_METHODS[method](rows)(model.estimator_.predict_proba(X))
    assert model.classes_.tolist() == sorted(labels)
    np.testing.assert_allclose(model.predict_proba(X), wanted, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), np.array(sorted(labels))[wanted.argmax(axis=1)])
    again = model.recalibration_.to_sklearn().fit_transform(held_out)
    np.testing.assert_array_equal(again, model.recalibration_(held_out))


def test_weights_reach_the_map_and_a_classifier_that_takes_them():
    model = RecalibratedClassifier(GaussianNB(), method="logistic").fit(X, EVENT, sample_weight=WEIGHT)
    np.testing.assert_array_equal(model.estimator_.theta_, GaussianNB().fit(X, EVENT, WEIGHT).theta_)
    held_out = cross_val_predict(
        GaussianNB(), X, EVENT, cv=5, method="predict_proba", params={"sample_weight": WEIGHT}
    )[:, 1]
    table = ForecastTable.from_predictions(EVENT, held_out, sample_weight=WEIGHT)
    assert model.recalibration_.map == METHODS["logistic"](table)
    with pytest.warns(UserWarning, match="KNeighborsClassifier does not accept sample_weight"):
        lone = RecalibratedClassifier(KNeighborsClassifier(), method="logistic").fit(X, EVENT, sample_weight=WEIGHT)
    held_out = cross_val_predict(KNeighborsClassifier(), X, EVENT, cv=5, method="predict_proba")[:, 1]
    table = ForecastTable.from_predictions(EVENT, held_out, sample_weight=WEIGHT)
    assert lone.recalibration_.map == METHODS["logistic"](table)


def test_metadata_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        inner = make_pipeline(StandardScaler(), GaussianNB().set_fit_request(sample_weight=True))
        inner.steps[0][1].set_fit_request(sample_weight=False)
        asked = RecalibratedClassifier(inner, method="logistic").set_fit_request(sample_weight=True)
        asked.set_score_request(sample_weight=False)
        model = asked.fit(X, EVENT, sample_weight=WEIGHT)
        scaled = StandardScaler().fit_transform(X)
        np.testing.assert_allclose(model.estimator_[-1].theta_, GaussianNB().fit(scaled, EVENT, WEIGHT).theta_)
        outer = cross_val_score(asked, X, EVENT, params={"sample_weight": WEIGHT})
        assert len(outer) == 5
        with pytest.raises(ValueError, match=r"sample_weight.*not explicitly set"):
            RecalibratedClassifier(GaussianNB()).fit(X, EVENT, sample_weight=WEIGHT)
        renamed = RecalibratedClassifier(GaussianNB().set_fit_request(sample_weight="size")).fit(X, EVENT, size=WEIGHT)
        np.testing.assert_array_equal(renamed.estimator_.theta_, GaussianNB().fit(X, EVENT, WEIGHT).theta_)
        grouped = RecalibratedClassifier(GaussianNB(), cv=GroupKFold(5)).fit(X, EVENT, groups=GROUPS)
    held_out = cross_val_predict(GaussianNB(), X, EVENT, cv=GroupKFold(5), groups=GROUPS, method="predict_proba")
    folds = np.empty(600, dtype=int)
    for fold, (_, test) in enumerate(GroupKFold(5).split(X, EVENT, GROUPS)):
        folds[test] = fold
    wanted = pr.recalibrate(EVENT, held_out[:, 1], folds=folds, cluster=GROUPS)
    assert (grouped.recalibration_.map, grouped.recalibration_.verdict) == (wanted.map, wanted.verdict)


@pytest.mark.parametrize(
    "cv",
    [3, KFold(3, shuffle=True, random_state=1), list(StratifiedKFold(3).split(X, EVENT)), None],
    ids=["number", "splitter", "indices", "None"],
)
def test_folds_are_given_as_scikit_learn_takes_them(cv):
    model = RecalibratedClassifier(GaussianNB(), cv=cv).fit(X, EVENT)
    assert model.recalibration_.folds == f"{3 if cv else 5} folds as given"


def test_frames_and_sparse_features_go_to_the_classifier_as_they_are():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = RecalibratedClassifier(GaussianNB()).fit(frame, pd.Series(EVENT, index=range(600, 0, -1)))
    assert (model.n_features_in_, model.feature_names_in_.tolist()) == (5, list("abcde"))
    np.testing.assert_array_equal(
        model.predict_proba(frame), RecalibratedClassifier(GaussianNB()).fit(X, EVENT).predict_proba(X)
    )
    sparse = RecalibratedClassifier(LogisticRegression()).fit(csr_matrix(X), EVENT)
    assert sparse.predict_proba(csr_matrix(X)).shape == (600, 2)


def test_a_fitted_classifier_is_pickled_and_cloned():
    model = RecalibratedClassifier(GaussianNB()).fit(X, EVENT)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert not hasattr(clone(model), "recalibration_")


def test_what_cannot_be_fitted_is_refused():
    with pytest.raises(InputTypeError, match="estimator must have predict_proba; LinearSVC does not"):
        RecalibratedClassifier(LinearSVC()).fit(X, EVENT)
    with pytest.raises(InputValueError, match="method must be one of"):
        RecalibratedClassifier(GaussianNB(), method="platt").fit(X, EVENT)
    with pytest.raises(InputValueError, match="cv must have every case in exactly one test set; row 1 is in 0"):
        RecalibratedClassifier(GaussianNB(), cv=ShuffleSplit(3, test_size=0.2, random_state=1)).fit(X, EVENT)
    with pytest.raises(InputValueError, match=r"must have all 2 classes in each training set; .* fold 0 has 1"):
        RecalibratedClassifier(GaussianNB(), cv=LeaveOneOut()).fit(X[:4], [1, 0, 0, 0])


@pytest.mark.parametrize("labels", [[0.0, 1.0, np.nan], ["no", "yes", None]], ids=["numbers", "words"])
def test_missing_labels_are_named(labels):
    y = np.array(labels, dtype=None if labels[0] == 0.0 else object)[EVENT.astype(int)]
    y[[4, 9]] = labels[2]
    with pytest.raises(MissingValuesError, match=r"y must not hold missing values.*row 4 is missing \(2 of 600 rows\)"):
        RecalibratedClassifier(GaussianNB()).fit(X, y)


def test_a_map_is_a_transformer_of_columns():
    found = pr.recalibrate(EVENT, 1 / (1 + np.exp(-2 * HIDDEN)))
    own = found.to_sklearn()
    p = RNG.random((20, 1))
    np.testing.assert_array_equal(own.transform(p), found(p[:, 0])[:, None])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(clone(own))).transform(p), own.transform(p))
    frame = pd.DataFrame({"age": [40.0, 50.0], "risk": [0.2, 0.5]})
    columns = ColumnTransformer([("recalibrated", own, ["risk"])], remainder="passthrough").set_output(
        transform="pandas"
    )
    made = columns.fit_transform(frame)
    assert made.columns.tolist() == ["recalibrated__risk", "remainder__age"]
    np.testing.assert_array_equal(made["recalibrated__risk"], found([0.2, 0.5]))
    with pytest.raises(InputValueError, match=r"must lie in \[0, 1\]"):
        MapTransformer(IsotonicMap(forecast=[0.2], event_rate=[0.3])).transform([[1.2]])
    with pytest.raises(InputValueError, match="pass the column of the event"):
        own.fit_transform([[0.2, 0.8]])  # Mapped one by one, they would not sum to one.


def test_columns_of_a_frame_are_told_by_the_labels_of_the_map():
    rng = np.random.default_rng(1)
    y = rng.choice(list("abc"), 300)
    rows = pd.DataFrame(rng.dirichlet([1, 1, 1], 300), columns=list("abc"))
    fitted = pr.recalibrate(y, rows, labels=list("abc"), method="vector").map
    expected = pd.DataFrame(fitted(rows), columns=list("abc"))
    for order in (list("abc"), list("cab")):
        transformer = fitted.to_sklearn().set_output(transform="pandas").fit(rows[order])
        pd.testing.assert_frame_equal(transformer.transform(rows[order]), expected[order])
        with pytest.raises(InputValueError, match="must have the columns that the transformer was fitted to"):
            transformer.transform(rows[order[::-1]])


def test_a_frozen_classifier_must_be_fitted():
    frozen = pytest.importorskip("sklearn.frozen")
    with pytest.raises(NotFittedError):
        RecalibratedClassifier(frozen.FrozenEstimator(GaussianNB())).fit(np.ones((4, 1)), [0, 1, 0, 1])
