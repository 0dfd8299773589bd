"""LightGBM trains for real: what it hands to a metric, whose value that is, and which metric stops it."""

import pickle
import sys
from importlib import import_module

import lightgbm as lgb
import numpy as np
import pytest
from boosted import EVENT, GRADE, RULES_BY_TASK, TEST, TRAIN, WEIGHT, X
from scipy.special import expit, softmax

import propriety as pr
from propriety.errors import InputValueError, MissingDependencyError
from propriety.integrations.lightgbm import EarlyStopping, EvalMetric, Feval, early_stopping

BINARY = {"objective": "binary", "learning_rate": 0.3, "num_threads": 1, "verbose": -1, "seed": 0}
GRADED = BINARY | {"objective": "multiclass", "num_class": 3}


def train(params, task, metric, rounds=25, callbacks=(), weight=None):
    y = EVENT if task == "event" else GRADE
    data = lgb.Dataset(X[TRAIN], label=y[TRAIN])
    held_out = lgb.Dataset(X[TEST], label=y[TEST], weight=None if weight is None else weight[TEST], reference=data)
    history = {}
    model = lgb.train(
        params,
        data,
        rounds,
        valid_sets=[held_out],
        feval=metric,
        callbacks=[lgb.record_evaluation(history), *callbacks],
    )
    return model, history["valid_0"]


def score(rule, y, p, weight=None):
    """The score as a user would compute it from the booster's predictions."""
    if p.ndim == 1 and not isinstance(rule, pr.BinaryRule):
        p = np.column_stack([1 - p, p])
    return pr.mean_score(y, p, rule=rule, sample_weight=weight)


def recomputed(model, rule, task, rounds, weight=None):
    y = (EVENT if task == "event" else GRADE)[TEST]
    return [score(rule, y, model.predict(X[TEST], num_iteration=k + 1), weight) for k in range(rounds)]


@pytest.mark.parametrize(("task", "rule"), RULES_BY_TASK)
def test_training_stops_where_the_asked_metric_is_lowest(task, rule):
    params = BINARY if task == "event" else GRADED
    metric = Feval(rule, output="probability")
    whole, history = train(params, task, metric)
    expected = recomputed(whole, rule, task, 25)
    np.testing.assert_allclose(history[rule.name], expected, rtol=1e-9)
    stopped, _ = train(params, task, metric, callbacks=[early_stopping(metric, 25, verbose=False)])
    assert stopped.best_iteration == int(np.argmin(expected)) + 1
    patient = 4
    stopped, seen = train(params, task, metric, callbacks=[early_stopping(metric, patient, verbose=False)])
    path = np.array(history[rule.name])
    stalls = [k for k in range(patient, 25) if path[k - patient + 1 : k + 1].min() >= path[: k - patient + 1].min()]
    assert len(seen[rule.name]) == (stalls[0] + 1 if stalls else 25)


def test_only_the_asked_metric_stops():
    """LightGBM's own callback goes by any metric, and by the objective's where it goes by the first only."""
    metric = Feval(pr.PenalizedBrier(), output="probability")
    worse = iter(range(1000))

    def both(predictions, data):
        return [("first", float(next(worse)), False), metric(predictions, data)]

    params = GRADED | {"metric": "None"}
    by_any, _ = train(params, "grade", both, callbacks=[lgb.early_stopping(5, verbose=False)])
    by_metric, history = train(params, "grade", both, callbacks=[early_stopping(metric, 25, verbose=False)])
    lowest = int(np.argmin(history["penalized_brier"])) + 1
    assert lowest > 1
    assert (by_any.best_iteration, by_metric.best_iteration) == (1, lowest)
    assert set(by_metric.best_score["valid_0"]) == {"penalized_brier"}


def test_stopping_alone_by_the_library():
    """Without the metric of the objective there is only one to go by."""
    metric = Feval(pr.PenalizedBrier(), output="probability")
    model, history = train(
        GRADED | {"metric": "None"}, "grade", metric, callbacks=[lgb.early_stopping(25, verbose=False)]
    )
    assert list(history) == ["penalized_brier"]
    assert model.best_iteration == int(np.argmin(history["penalized_brier"])) + 1


@pytest.mark.parametrize(("task", "own"), [("event", "binary_logloss"), ("grade", "multi_logloss")])
def test_early_stopping_by_the_log_score_is_lightgbms_own(task, own):
    params = (BINARY if task == "event" else GRADED) | {"learning_rate": 0.5}
    by_own, losses = train(params, task, None, callbacks=[lgb.early_stopping(5, verbose=False)])
    metric = Feval(pr.Log(), output="probability")
    by_rule, history = train(
        params | {"metric": "None"}, task, metric, callbacks=[early_stopping(metric, 5, verbose=False)]
    )
    assert by_rule.best_iteration == by_own.best_iteration < 20
    np.testing.assert_allclose(history["log"], losses[own], rtol=1e-12)


def test_weights_count():
    metric = Feval(pr.PenalizedBrier(), output="probability")
    model, history = train(GRADED, "grade", metric, rounds=5, weight=WEIGHT)
    expected = recomputed(model, metric.rule, "grade", 5, WEIGHT[TEST])
    np.testing.assert_allclose(history["penalized_brier"], expected, rtol=1e-9)
    assert not np.allclose(expected, recomputed(model, metric.rule, "grade", 5))


def test_margins_of_a_custom_objective_are_declared():
    def logistic(margin, data):
        p = expit(margin)
        return p - data.get_label(), p * (1 - p)

    params = BINARY | {"objective": logistic}
    model, history = train(params, "event", Feval(pr.PenalizedLog(), output="margin"), rounds=5)
    final = score(pr.PenalizedLog(), EVENT[TEST], expit(model.predict(X[TEST])))
    assert history["penalized_log"][-1] == pytest.approx(final, rel=1e-9)
    with pytest.raises(InputValueError, match=r"custom objective, metrics are passed margins.*output=\"margin\""):
        train(params, "event", Feval(pr.Brier(), output="probability"), rounds=5)


def test_margins_of_classes():
    def multinomial(margin, data):
        p = softmax(margin, axis=1)
        return p - np.eye(3)[data.get_label().astype(int)], p * (1 - p)

    metric = Feval(pr.RankedProbability(), output="margin")
    model, history = train(GRADED | {"objective": multinomial}, "grade", metric, rounds=4)
    final = pr.ranked_probability_score(GRADE[TEST], softmax(model.predict(X[TEST]), axis=1))
    assert history["ranked_probability"][-1] == pytest.approx(final, rel=1e-9)


def test_one_against_all_is_no_distribution():
    with pytest.raises(InputValueError, match="must sum to 1"):
        train(GRADED | {"objective": "multiclassova"}, "grade", Feval(pr.Brier(), output="probability"), rounds=2)


def test_a_metric_that_is_not_evaluated_cannot_stop():
    metric = Feval(pr.PenalizedBrier(), output="probability")
    with pytest.raises(InputValueError, match=r"'penalized_brier' must be evaluated.*feval="):
        train(GRADED, "grade", None, rounds=2, callbacks=[early_stopping(metric, 5)])


def test_names_of_several_words_stop_too():
    metric = EvalMetric(pr.Brier(), output="probability", name="Brier score")
    stopping = early_stopping(metric, 3, verbose=False)
    model = lgb.LGBMClassifier(n_estimators=30, learning_rate=0.5, n_jobs=1, verbose=-1)
    model.fit(X[TRAIN], EVENT[TRAIN], eval_X=X[TEST], eval_y=EVENT[TEST], eval_metric=metric, callbacks=[stopping])
    history = model.evals_result_["valid_0"]["Brier score"]
    assert model.best_iteration_ == int(np.argmin(history)) + 1 < 30


@pytest.mark.parametrize("entry", [("cv_agg", "valid Brier score", 0.2, False, 0.1), ("valid", "Brier score", 0.2, False, 0.1)])  # fmt: skip
def test_names_in_cross_validation_by_any_version(entry):
    seen = []
    env = lgb.callback.CallbackEnv(None, {}, 0, 0, 1, [entry])
    EarlyStopping("Brier score", seen.append)(env)
    assert seen[0].evaluation_result_list == [entry]
    with pytest.raises(InputValueError, match="'score' must be evaluated"):
        EarlyStopping("score", seen.append)(env)


def test_cross_validation_stops_by_the_mean_over_folds():
    metric = Feval(pr.RankedProbability(), output="probability")
    stop = early_stopping(metric, 20, verbose=False)
    data = lgb.Dataset(X, label=GRADE)
    result = lgb.cv(GRADED, data, 20, nfold=3, feval=metric, callbacks=[stop], seed=0)
    whole = lgb.cv(GRADED, lgb.Dataset(X, label=GRADE), 20, nfold=3, feval=metric, seed=0)
    path = whole["valid ranked_probability-mean"]
    assert len(result["valid ranked_probability-mean"]) == int(np.argmin(path)) + 1 < 20


@pytest.mark.parametrize("y", [EVENT, GRADE], ids=["event", "grade"])
def test_the_scikit_learn_interface(y):
    metric = EvalMetric(pr.PenalizedBrier(), output="probability", name="PBS")
    model = lgb.LGBMClassifier(n_estimators=25, learning_rate=0.3, n_jobs=1, verbose=-1)
    model.fit(
        X[TRAIN],
        y[TRAIN],
        eval_X=X[TEST],
        eval_y=y[TEST],
        eval_sample_weight=[WEIGHT[TEST]],
        eval_metric=metric,
        callbacks=[early_stopping(metric, 25, verbose=False)],
    )
    expected = [
        pr.penalized_brier_score(
            y[TEST],
            model.predict_proba(X[TEST], num_iteration=k + 1),
            labels=model.classes_,
            sample_weight=WEIGHT[TEST],
        )
        for k in range(model.best_iteration_)
    ]
    np.testing.assert_allclose(model.evals_result_["valid_0"]["PBS"][: len(expected)], expected, rtol=1e-9)
    assert model.best_iteration_ == int(np.argmin(model.evals_result_["valid_0"]["PBS"])) + 1


@pytest.mark.filterwarnings("ignore:.*eval_set.*")
def test_text_is_numbered_alphabetically():
    y = np.array(["c", "a", "b"])[GRADE]
    metric = EvalMetric(pr.Brier(), output="probability")
    model = lgb.LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1)
    model.fit(X[TRAIN], y[TRAIN], eval_set=[(X[TEST], y[TEST])], eval_metric=metric)
    final = pr.brier_score(y[TEST], model.predict_proba(X[TEST]), labels=["a", "b", "c"])
    assert model.evals_result_["valid_0"]["brier"][-1] == pytest.approx(final, rel=1e-9)


def test_metrics_are_values():
    metric = Feval(pr.BoundedBrier(0.1, 0.2), output="probability", name="bounded")
    assert pickle.loads(pickle.dumps(metric)) == metric


def test_without_lightgbm_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    monkeypatch.delitem(sys.modules, "propriety.integrations.lightgbm")
    with pytest.raises(MissingDependencyError, match=r'needs lightgbm\. Hint: pip install "propriety\[lightgbm\]"'):
        import_module("propriety.integrations.lightgbm")
