"""XGBoost trains for real: what it hands to a metric, whose value that is, and which metric stops it."""

import pickle
import sys
from importlib import import_module

import numpy as np
import pytest
import xgboost as xgb
from boosted import EVENT, GRADE, RULES_BY_TASK, TEST, TRAIN, WEIGHT, X
from scipy.special import expit, softmax
from sklearn.base import clone

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingDependencyError
from propriety.integrations.xgboost import CustomMetric, EvalMetric, early_stopping
from propriety.rules.catalogue import RULES

SIX_DECIMALS = 6e-7  # What XGBoost keeps of a metric.

BINARY = {"objective": "binary:logistic", "eta": 0.5, "nthread": 1, "seed": 0}
GRADED = BINARY | {"objective": "multi:softprob", "num_class": 3}


def matrices(task, weight=None):
    y = EVENT if task == "event" else GRADE
    return [
        xgb.DMatrix(X[part], label=y[part], weight=None if weight is None else weight[part]) for part in (TRAIN, TEST)
    ]


def train(params, data, metric, rounds=25, **options):
    history = {}
    model = xgb.train(
        params,
        data[0],
        rounds,
        evals=[(data[1], "test")],
        custom_metric=metric,
        evals_result=history,
        verbose_eval=False,
        **options,
    )
    return model, history["test"]


def score(rule, y, p, weight=None):
    """The score as a user would compute it from the booster's predictions."""
    p = p.astype(float)
    if p.ndim == 1 and isinstance(rule, pr.BinaryRule):
        return pr.mean_score(y, p, rule=rule, sample_weight=weight)
    rows = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    return pr.mean_score(y, rows, rule=rule, sample_weight=weight)


def recomputed(model, rule, task, rounds, weight=None):
    y = (EVENT if task == "event" else GRADE)[TEST]
    data = xgb.DMatrix(X[TEST])
    return [score(rule, y, model.predict(data, iteration_range=(0, k + 1)), weight) for k in range(rounds)]


@pytest.mark.parametrize(("task", "rule"), RULES_BY_TASK)
def test_the_history_is_that_of_the_predictions(task, rule):
    params = BINARY if task == "event" else GRADED
    model, history = train(params, matrices(task), CustomMetric(rule, output="probability"))
    np.testing.assert_allclose(history[rule.name], recomputed(model, rule, task, 25), atol=SIX_DECIMALS)


def test_weights_count():
    metric = CustomMetric(pr.PenalizedBrier(), output="probability")
    model, history = train(GRADED, matrices("grade", WEIGHT), metric, rounds=5)
    expected = recomputed(model, metric.rule, "grade", 5, WEIGHT[TEST])
    np.testing.assert_allclose(history["penalized_brier"], expected, atol=SIX_DECIMALS)
    assert not np.allclose(expected, recomputed(model, metric.rule, "grade", 5))


@pytest.mark.parametrize(("task", "rule"), RULES_BY_TASK)
def test_training_stops_where_the_asked_metric_is_lowest(task, rule):
    params = BINARY if task == "event" else GRADED
    metric = CustomMetric(rule, output="probability")
    stopped, history = train(params, matrices(task), metric, callbacks=[early_stopping(metric, 25)])
    path = np.array(recomputed(stopped, rule, task, 25))
    np.testing.assert_allclose(history[rule.name], path, rtol=1e-12)
    assert stopped.best_iteration == int(np.argmin(path))
    assert stopped.best_score == pytest.approx(path.min(), rel=1e-12)
    patient = 6
    _, seen = train(params, matrices(task), metric, callbacks=[early_stopping(metric, patient)])
    stalls = [k for k in range(patient, 25) if path[k - patient + 1 : k + 1].min() >= path[: k - patient + 1].min()]
    assert len(seen[rule.name]) == (stalls[0] + 1 if stalls else 25)


def test_only_the_asked_metric_stops():
    """XGBoost looks at the metric that stands last."""
    metric = CustomMetric(pr.PenalizedBrier(), output="probability")

    def both(predictions, data):
        return [metric(predictions, data), ("last", 1.0)]

    _, history = train(GRADED, matrices("grade"), both)
    by_xgboost, _ = train(GRADED, matrices("grade"), both, early_stopping_rounds=25)
    by_metric, _ = train(GRADED, matrices("grade"), both, callbacks=[early_stopping(metric, 25)])
    lowest = int(np.argmin(history["penalized_brier"]))
    assert lowest > 0
    assert (by_xgboost.best_iteration, by_metric.best_iteration) == (0, lowest)


def test_losses_below_six_decimals_stop_too():
    """Where events are rare, XGBoost's own callback sees one value all the way."""
    rule = pr.BoundedBrier(0.001, 0.002, normalize="none")
    metric = CustomMetric(rule, output="probability")
    by_xgboost, seen = train(BINARY, matrices("event"), metric, early_stopping_rounds=25)
    assert len(set(seen[rule.name])) < 5
    stopped, history = train(BINARY, matrices("event"), metric, callbacks=[early_stopping(metric, 25)])
    path = recomputed(stopped, rule, "event", 25)
    np.testing.assert_allclose(history[rule.name], path, rtol=1e-12)
    assert stopped.best_iteration == int(np.argmin(path)) != by_xgboost.best_iteration


def test_a_clone_and_its_callback_share_the_unrounded_values():
    rule = pr.BoundedBrier(0.001, 0.002, normalize="none")
    metric = EvalMetric(rule, output="probability")
    settings = {"n_estimators": 25, "learning_rate": 0.5, "n_jobs": 1, "eval_metric": metric}
    model = clone(xgb.XGBClassifier(**settings, callbacks=[early_stopping(metric, 25)]))
    model.fit(X[TRAIN], EVENT[TRAIN], eval_set=[(X[TEST], EVENT[TEST])], verbose=False)
    path = [score(rule, EVENT[TEST], model.predict_proba(X[TEST], iteration_range=(0, k + 1))[:, 1]) for k in range(25)]
    np.testing.assert_allclose(model.evals_result()["validation_0"][rule.name], path, rtol=1e-12)
    assert model.best_iteration == int(np.argmin(path))


def test_cross_validation_stops_by_unrounded_values():
    rule = pr.BoundedBrier(0.05, 0.0501, normalize="none")
    metric, data = CustomMetric(rule, output="probability"), xgb.DMatrix(X, label=EVENT)
    values = []

    def kept(predictions, part):
        values.append(score(rule, part.get_label(), predictions))
        return rule.name, values[-1]

    options = {"nfold": 3, "seed": 0, "as_pandas": False}
    xgb.cv(BINARY, data, 25, **options, custom_metric=kept)
    path = np.array(values).reshape(25, 3, 2)[:, :, 1].mean(axis=1)  # By round, fold, and training or test set.
    stopped = xgb.cv(BINARY, data, 25, **options, custom_metric=metric, callbacks=[early_stopping(metric, 5)])
    assert len(stopped[f"test-{rule.name}-mean"]) == int(np.argmin(path)) + 1 > 1


def test_several_sets_of_data_keep_their_own_values():
    metric = CustomMetric(pr.PenalizedBrier(), output="probability")
    training, held_out = matrices("grade")
    history = {}
    model = xgb.train(
        GRADED,
        training,
        6,
        evals=[(held_out, "test"), (training, "train")],
        custom_metric=metric,
        evals_result=history,
        verbose_eval=False,
        callbacks=[early_stopping(metric, 6, data_name="test")],
    )
    for name, part in (("test", TEST), ("train", TRAIN)):
        p = model.predict(xgb.DMatrix(X[part]), iteration_range=(0, 6))
        assert history[name]["penalized_brier"][-1] == pytest.approx(score(metric.rule, GRADE[part], p), rel=1e-12)


def test_cross_validation_stops_by_the_mean_over_folds():
    metric = CustomMetric(pr.RankedProbability(), output="probability")
    data = xgb.DMatrix(X, label=GRADE)
    options = {"nfold": 3, "custom_metric": metric, "seed": 0, "as_pandas": False}
    whole = xgb.cv(GRADED, data, 20, **options)["test-ranked_probability-mean"]
    stopped = xgb.cv(GRADED, data, 20, **options, callbacks=[early_stopping(metric, 8)])
    assert stopped["test-ranked_probability-mean"] == whole[: int(np.argmin(whole)) + 1]
    assert len(whole) == 20


def test_margins_of_a_custom_objective_are_declared():
    def logistic(margin, data):
        p = expit(margin)
        return p - data.get_label(), p * (1 - p)

    params = {"eta": 0.5, "nthread": 1, "base_score": 0.5}
    model, history = train(
        params, matrices("event"), CustomMetric(pr.PenalizedLog(), output="margin"), rounds=5, obj=logistic
    )
    margins = model.predict(xgb.DMatrix(X[TEST]), output_margin=True)
    final = score(pr.PenalizedLog(), EVENT[TEST], expit(margins.astype(float)))
    assert history["penalized_log"][-1] == pytest.approx(final, abs=SIX_DECIMALS)
    with pytest.raises(InputValueError, match=r"passes margins.*the objective is a function.*output=\"margin\""):
        train(params, matrices("event"), CustomMetric(pr.Brier(), output="probability"), rounds=5, obj=logistic)


def test_margins_of_classes():
    def multinomial(margin, data):
        p = softmax(margin, axis=1)
        return p - np.eye(3)[data.get_label().astype(int)], p * (1 - p)

    params = {"eta": 0.5, "nthread": 1, "num_class": 3}
    metric = CustomMetric(pr.RankedProbability(), output="margin")
    model, history = train(params, matrices("grade"), metric, rounds=4, obj=multinomial)
    margins = model.predict(xgb.DMatrix(X[TEST]), output_margin=True).astype(float)
    final = pr.ranked_probability_score(GRADE[TEST], softmax(margins, axis=1))
    assert history["ranked_probability"][-1] == pytest.approx(final, abs=SIX_DECIMALS)


@pytest.mark.parametrize(("params", "task"), [(BINARY, "event"), (GRADED, "grade")], ids=["event", "grade"])
def test_probabilities_declared_as_margins_are_refused(params, task):
    """A built-in objective hands over probabilities; their sigmoid would be recorded as a score."""
    told = f'output="margin" is declared.*passes probabilities.*{params["objective"]}.*output="probability"'
    with pytest.raises(InputValueError, match=told):
        train(params, matrices(task), CustomMetric(pr.Brier(), output="margin"), rounds=1)
    with pytest.raises(InputValueError, match=told):
        xgb.cv(params, matrices(task)[0], 1, nfold=2, custom_metric=CustomMetric(pr.Brier(), output="margin"))


def test_the_scikit_learn_interface_refuses_them_too():
    model = xgb.XGBClassifier(n_estimators=1, eval_metric=EvalMetric(pr.Brier(), output="margin"))
    with pytest.raises(InputValueError, match="passes probabilities"):
        model.fit(X[TRAIN], EVENT[TRAIN], eval_set=[(X[TEST], EVENT[TEST])], verbose=False)


def test_an_objective_of_raw_logits_hands_over_margins():
    params = BINARY | {"objective": "binary:logitraw"}
    model, history = train(params, matrices("event"), CustomMetric(pr.Log(), output="margin"), rounds=3)
    margins = model.predict(xgb.DMatrix(X[TEST])).astype(float)
    assert history["log"][-1] == pytest.approx(pr.log_score(EVENT[TEST], expit(margins)), abs=SIX_DECIMALS)
    with pytest.raises(InputValueError, match="passes margins"):
        train(params, matrices("event"), CustomMetric(pr.Log(), output="probability"), rounds=1)


def test_early_stopping_by_the_log_score_is_xgboosts_own():
    own, watched = {}, CustomMetric(pr.Log(), output="probability")
    params = BINARY | {"eta": 1.0, "eval_metric": "logloss"}
    by_own = xgb.train(
        params,
        matrices("event")[0],
        25,
        evals=[(matrices("event")[1], "test")],
        evals_result=own,
        early_stopping_rounds=5,
        verbose_eval=False,
    )
    by_rule, history = train(params, matrices("event"), watched, callbacks=[early_stopping(watched, 5)])
    assert by_rule.best_iteration == by_own.best_iteration
    np.testing.assert_allclose(history["log"], own["test"]["logloss"], atol=2e-6)


def test_labels_of_softmax_are_refused():
    two = GRADED | {"objective": "multi:softmax", "num_class": 2}
    for params, task in (
        (GRADED | {"objective": "multi:softmax"}, "grade"),
        (two, "event"),
        (BINARY | {"objective": "binary:hinge"}, "event"),
    ):
        for output in ("probability", "margin"):
            with pytest.raises(InputValueError, match=f"passes class labels to metrics.*{params['objective']}"):
                train(params, matrices(task), CustomMetric(pr.Brier(), output=output), rounds=1)


@pytest.mark.parametrize("y", [EVENT, GRADE], ids=["event", "grade"])
def test_the_scikit_learn_interface(y):
    rule = pr.PenalizedBrier()
    metric = EvalMetric(rule, output="probability", name="PBS")
    settings = {"n_estimators": 25, "learning_rate": 0.5, "n_jobs": 1, "eval_metric": metric}
    evaluated = {"eval_set": [(X[TEST], y[TEST])], "sample_weight_eval_set": [WEIGHT[TEST]], "verbose": False}
    model = xgb.XGBClassifier(**settings, early_stopping_rounds=25).fit(X[TRAIN], y[TRAIN], **evaluated)
    history = model.evals_result()["validation_0"]["PBS"]
    expected = [
        pr.mean_score(
            y[TEST],
            _rows(model.predict_proba(X[TEST], iteration_range=(0, k + 1))),
            rule=rule,
            sample_weight=WEIGHT[TEST],
        )
        for k in range(25)
    ]
    np.testing.assert_allclose(history, expected, atol=SIX_DECIMALS)
    assert model.best_iteration == int(np.argmin(expected))
    by_callback = xgb.XGBClassifier(**settings, callbacks=[early_stopping(metric, 25)])
    assert by_callback.fit(X[TRAIN], y[TRAIN], **evaluated).best_iteration == model.best_iteration
    np.testing.assert_allclose(by_callback.evals_result()["validation_0"]["PBS"], expected, rtol=1e-6)


def _rows(p):
    p = p.astype(float)
    return p / p.sum(axis=1, keepdims=True)


def test_xgboost_minimises_every_rule_of_the_catalogue():
    """It decides by the beginning of a name, unless told, as `early_stopping` does."""
    assert not [rule.name for rule in RULES if rule.name.startswith(("auc", "pre", "map", "ndcg"))]
    assert early_stopping(CustomMetric(pr.Brier(), output="margin", name="precious"), 3).maximize is False


def test_metrics_are_values():
    metric = EvalMetric(pr.BoundedBrier(0.1, 0.2), output="probability")
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert metric.__name__ == metric.name == "bounded_brier"
    assert EvalMetric.__name__ == "EvalMetric"


def test_what_is_refused():
    with pytest.raises(TypeError, match="output"):
        CustomMetric(pr.Brier())
    with pytest.raises(InputValueError, match=r"must be one of .probability., .margin.; got 'logit'"):
        CustomMetric(pr.Brier(), output="logit")
    with pytest.raises(InputTypeError, match="must be a scoring rule"):
        CustomMetric(pr.Brier, output="margin")
    for name in ("Brier score", "brier:test", "brier\n"):
        with pytest.raises(InputValueError, match="name must not hold white space or colons"):
            EvalMetric(pr.Brier(), output="margin", name=name)


def test_without_xgboost_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost.callback", None)
    monkeypatch.delitem(sys.modules, "propriety.integrations.xgboost")
    with pytest.raises(MissingDependencyError, match=r'needs xgboost\. Hint: pip install "propriety\[xgboost\]"'):
        import_module("propriety.integrations.xgboost")
