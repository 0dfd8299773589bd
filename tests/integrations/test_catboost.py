"""CatBoost trains for real: what it hands to a metric, whose value that is, and where it stops."""

import copy
import pickle
import sys
from importlib import import_module

import catboost as cb
import numpy as np
import pytest
from boosted import EVENT, GRADE, RULES_BY_TASK, TEST, TRAIN, UNEVEN, WEIGHT, X
from sklearn.base import clone

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingDependencyError, UnsupportedOperationError
from propriety.integrations.catboost import eval_metric


def train(y, metric, iterations=25, weight=None, **options):
    settings = {"learning_rate": 0.8, "depth": 4, "random_seed": 0, "thread_count": 1} | options
    loss = "Logloss" if len(set(y.tolist())) == 2 else "MultiClass"
    model = cb.CatBoostClassifier(
        **({"loss_function": loss} | settings),
        iterations=iterations,
        eval_metric=metric,
        verbose=False,
        allow_writing_files=False,
    )
    held_out = cb.Pool(X[TEST], y[TEST], weight=None if weight is None else weight[TEST])
    return model.fit(X[TRAIN], y[TRAIN], sample_weight=UNEVEN[TRAIN], eval_set=held_out)


def scores(model, rule, y, rounds, weight=None):
    """The scores after each round as a user would compute them."""
    found = []
    for k in range(rounds):
        p = model.predict_proba(X[TEST], ntree_end=k + 1)
        p = p[:, 1] if p.shape[1] == 2 and isinstance(rule, pr.BinaryRule) else p
        found.append(
            pr.mean_score(y[TEST], p, rule=rule, labels=model.classes_, sample_weight=weight)
            if p.ndim == 2
            else pr.mean_score(y[TEST], p, rule=rule, pos_label=model.classes_[1], sample_weight=weight)
        )
    return found


@pytest.mark.parametrize(("task", "rule"), RULES_BY_TASK)
def test_training_stops_where_the_asked_metric_is_lowest(task, rule):
    y = EVENT if task == "event" else GRADE
    whole = train(y, eval_metric(rule), use_best_model=False)
    history = whole.get_evals_result()["validation"][rule.name]
    expected = scores(whole, rule, y, 25)
    np.testing.assert_allclose(history, expected, rtol=1e-9)
    best = train(y, eval_metric(rule), early_stopping_rounds=25)
    assert best.get_best_iteration() == int(np.argmin(expected))
    assert best.tree_count_ == int(np.argmin(expected)) + 1
    patient = 5
    stopped = train(y, eval_metric(rule), early_stopping_rounds=patient)
    path = np.array(history)
    stalls = [k for k in range(patient, 25) if path[k - patient + 1 : k + 1].min() >= path[: k - patient + 1].min()]
    assert len(stopped.get_evals_result()["validation"][rule.name]) == (stalls[0] + 1 if stalls else 25)


@pytest.mark.parametrize(("y", "own"), [(EVENT, "Logloss"), (GRADE, "MultiClass")], ids=["event", "grade"])
def test_early_stopping_by_the_log_score_is_catboosts_own(y, own):
    by_own, by_rule = (train(y, metric, early_stopping_rounds=5) for metric in (own, eval_metric(pr.Log())))
    assert by_rule.get_best_iteration() == by_own.get_best_iteration() < 20
    losses, history = by_own.get_evals_result()["validation"][own], by_rule.get_evals_result()["validation"]["log"]
    np.testing.assert_allclose(history, losses, rtol=1e-9)


def test_weights_count():
    rule = pr.PenalizedBrier()
    model = train(GRADE, eval_metric(rule), 5, weight=WEIGHT, use_best_model=False)
    expected = scores(model, rule, GRADE, 5, WEIGHT[TEST])
    np.testing.assert_allclose(model.get_evals_result()["validation"]["penalized_brier"], expected, rtol=1e-6)
    assert not np.allclose(expected, scores(model, rule, GRADE, 5))


def test_ordered_classes_are_named_in_their_order():
    y = np.array(["none", "mild", "severe"])[GRADE]
    model = train(
        y, eval_metric(pr.RankedProbability()), 4, class_names=["none", "mild", "severe"], use_best_model=False
    )
    assert list(model.classes_) == ["none", "mild", "severe"]
    expected = scores(model, pr.RankedProbability(), y, 4)
    np.testing.assert_allclose(model.get_evals_result()["validation"]["ranked_probability"], expected, rtol=1e-9)


def test_the_event_is_the_second_class():
    y = np.array(["no", "yes"])[EVENT]
    rule = pr.BoundedBrier(0.1, 0.3)
    for names in (["no", "yes"], ["yes", "no"]):
        model = train(y, eval_metric(rule, name="bounded"), 3, class_names=names, use_best_model=False)
        history = model.get_evals_result()["validation"]["bounded"]
        np.testing.assert_allclose(history, scores(model, rule, y, 3), rtol=1e-9)


def test_the_gpu_is_refused_with_the_reason():
    with pytest.raises(UnsupportedOperationError, match=r"got 'GPU'.*compiles metrics for the GPU with numba"):
        eval_metric(pr.Brier(), task_type="GPU")


def test_an_infinite_loss_is_refused_before_catboost_stumbles_over_it():
    metric = eval_metric(pr.Log())
    assert metric.evaluate((np.array([-1000.0, 0.0]),), np.array([1.0, 0.0]), None)[0] == pytest.approx(
        1000.0 + np.log(2)
    )
    with pytest.raises(InputValueError, match=r"finite values only; Log\(\) is infinite.*clip"):
        metric.evaluate((np.array([-np.inf, 0.0]),), np.array([1.0, 0.0]), None)


def test_an_error_of_the_door_reaches_the_user():
    with pytest.raises(cb.CatBoostError, match=r"BoundedBrier\(.* scores the forecast of one event; got rows"):
        train(GRADE, eval_metric(pr.BoundedBrier(0.1, 0.2)), 2)


def test_metrics_can_be_copied_and_stored():
    metric = eval_metric(pr.BoundedBrier(0.1, 0.2), name="mine")
    for twin in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)):
        assert type(twin).__name__ == "mine"
        assert twin.metric == metric.metric


def test_a_model_with_a_metric_can_be_cloned():
    options = {"iterations": 2, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    model = clone(cb.CatBoostClassifier(**options, eval_metric=eval_metric(pr.Brier())))
    history = model.fit(X[TRAIN], EVENT[TRAIN], eval_set=(X[TEST], EVENT[TEST])).get_evals_result()
    assert "brier" in history["validation"]


def test_what_is_no_rule():
    with pytest.raises(InputTypeError, match="must be a scoring rule"):
        eval_metric(pr.Brier)


def test_without_catboost_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "catboost", None)
    monkeypatch.delitem(sys.modules, "propriety.integrations.catboost")
    with pytest.raises(MissingDependencyError, match=r'needs catboost\. Hint: pip install "propriety\[catboost\]"'):
        import_module("propriety.integrations.catboost")
