"""`propriety.cases` is read once and passed to any function, with the results of the arguments themselves."""

import inspect

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.ledger.ledger import Ledger
from propriety.tables.reading import read_beside, read_source

N = 240
RNG = np.random.default_rng(7)
P = RNG.beta(2, 3, N).round(3)
Q = np.clip(P**2, 0.01, 0.99).round(3)
Y = RNG.random(N) < P
W = RNG.choice([0.5, 1.0, 2.0], N)
SITE, PATIENT, DAY = RNG.choice(list("abc"), N), RNG.integers(0, 60, N), np.arange(N) // 6
ROWS = RNG.dirichlet([2, 2, 1], N)
GRADE = (ROWS.cumsum(axis=1) > RNG.random((N, 1))).argmax(axis=1)
FRAME = pl.DataFrame({"y": Y, "p": P, "q": Q, "w": W, "site": SITE, "patient": PATIENT, "day": DAY})
LAZY = {"polars": lambda frame: frame.lazy(), "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow())}
MODELS = {"p": P, "q": Q}
DRAWS = {"n_resamples": 60, "seed": 1}


def cases(**options):
    return pr.cases(Y, P, **options)


# Functions of one model, with the options that they need.
OF_ONE = {
    **{name: {} for name in ("brier_score", "log_score", "spherical_score", "reliability_curve", "roc_curve")},
    **{name: {} for name in ("decision_curve", "regret_curve", "cost_curve", "murphy_curve", "decompose")},
    **{name: {} for name in ("classical_decomposition", "cumulative_calibration_error", "probability_means")},
    **{name: {} for name in ("expected_calibration_error", "h_measure", "calibration_bracket", "risk_coverage_curve")},
    "mean_score": {"rule": pr.Log()},
    "skill_score": {"rule": pr.Log()},
    "top_k": {"k": [20, 50]},
    "weighted_regret": {"weight": pr.weights.BetaWeight(2, 3)},
    "bounded_brier_score": {"thresholds": (0.1, 0.4)},
    "bounded_log_score": {"thresholds": (0.1, 0.4)},
    "bounded_net_benefit": {"thresholds": (0.1, 0.4)},
    "estimate": DRAWS,
    "check_calibration": DRAWS,
}
OF_CASES = {
    "worst_cases": {},
    "case_scores": {"rule": pr.Log()},
}
OF_MODELS = {"compare": DRAWS, "evaluate": DRAWS, "ranking_map": {}, "decision_uncertainty": DRAWS}
OF_CLASSES = {
    **{name: {} for name in ("ranked_probability_score", "squared_absolute_ranked_probability_score")},
    **{name: {} for name in ("penalized_brier_score", "penalized_log_score", "quadratic_weighted_kappa")},
    **{name: {} for name in ("expected_cost", "retention_curve", "worst_cases")},
    "check_calibration": DRAWS,
}


def said(result):
    """Return all that a result says, to the letter."""
    if isinstance(result, np.ndarray):
        return result.tolist()
    found = result.to_dict() if hasattr(result, "to_dict") else result
    return repr((repr(result), found))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [*OF_ONE, *OF_CASES])
def test_of_one_model(name, weighted):
    if weighted and (name in OF_CASES or name == "calibration_bracket"):
        pytest.skip("takes no weights, or only a grid tells a difference")
    function, options = getattr(pr, name), {**OF_ONE, **OF_CASES}[name]
    given = {"sample_weight": W} if weighted else {}
    assert said(function(cases(**given), **options)) == said(function(Y, P, **given, **options))


@pytest.mark.parametrize("name", OF_MODELS)
def test_of_several_models(name):
    function, options = getattr(pr, name), OF_MODELS[name]
    assert said(function(pr.cases(Y, MODELS), **options)) == said(function(Y, MODELS, **options))


@pytest.mark.parametrize("name", OF_CLASSES)
def test_of_classes(name):
    function, options = getattr(pr, name), OF_CLASSES[name]
    assert said(function(pr.cases(GRADE, ROWS), **options)) == said(function(GRADE, ROWS, **options))


def test_every_function_of_outcomes_is_tried():
    tried = {*OF_ONE, *OF_CASES, *OF_MODELS, *OF_CLASSES, "slices", "condense", "recalibrate"}
    functions = {name: getattr(pr, name) for name in dir(pr)}
    of_outcomes = {
        name
        for name, one in functions.items()
        if inspect.isfunction(one) and next(iter(inspect.signature(one).parameters)) in ("y_true", "correct")
    }
    without = {"cases", "validate", "horizon_curve", "estimate_prevalence", "monitor"}
    assert of_outcomes - without == tried


def test_clusters_periods_and_keys_are_those_of_the_cases():
    by = {"site": SITE}
    for unit in ({"cluster": PATIENT}, {"period": DAY}):
        read = pr.cases(Y, MODELS, by=by, **unit)
        assert said(pr.compare(pr.cases(Y, MODELS, **unit), **DRAWS)) == said(pr.compare(Y, MODELS, **unit, **DRAWS))
        assert said(pr.slices(read, **DRAWS)) == said(pr.slices(Y, MODELS, by=by, **unit, **DRAWS))
        assert said(pr.evaluate(read, **DRAWS)) == said(pr.evaluate(Y, MODELS, by=by, **unit, **DRAWS))
        alone = read.of("p")
        assert said(pr.recalibrate(alone)) == said(pr.recalibrate(Y, P, **unit)).replace("'forecast'", "'p'")


def test_beside_cases_by_names_keys():
    read = pr.cases(Y, P, by={"site": SITE, "day": DAY % 2})
    assert tuple(pr.slices(read, by="site").keys) == ("site", "groups")
    assert tuple(pr.slices(read, by=["day", "site"]).keys) == ("day", "site")
    assert pr.condense(read, by="day").index.names == ("day",)
    with pytest.raises(InputValueError, match="has no key 'ward'; its keys are"):
        pr.slices(read, by="ward")
    with pytest.raises(InputTypeError, match="by must name keys of the cases, which were read before; got ndarray"):
        pr.slices(read, by=SITE)


def test_folds_are_a_key_an_array_or_those_of_identifiers():
    fold = np.arange(N) % 4
    given = pr.recalibrate(Y, P, folds=fold, method="logistic")
    read = pr.cases(Y, P, by={"fold": fold})
    for found in (
        pr.recalibrate(read, folds="fold", method="logistic"),
        pr.recalibrate(cases(), folds=fold, method="logistic"),
    ):
        assert found.gain.tolist() == given.gain.tolist()
    hashed = pr.recalibrate(Y, P, id=np.arange(N), method="logistic")
    assert pr.recalibrate(cases(id=np.arange(N)), method="logistic").gain.tolist() == hashed.gain.tolist()
    with pytest.raises(InputValueError, match=r"'ward' is none; there are \['fold'\]"):
        pr.recalibrate(read, folds="ward")


@pytest.mark.parametrize(
    "beside",
    [
        {"forecasts": P},
        *({name: W} for name in ("cluster", "period", "sample_weight")),
        *({"outcome": "y"}, {"pos_label": 1}, {"labels": [0, 1]}, {"missing": "drop"}, {"ordered": True}),
    ],
    ids=lambda beside: next(iter(beside)),
)
def test_what_cases_have_said_is_refused_beside_them(beside):
    (name,) = beside
    with pytest.raises(InputTypeError, match=f"cases hold .* already; pass them without {name}"):
        pr.evaluate(cases(), **beside)
    with pytest.raises(InputTypeError, match=r"cases hold .* already; pass them without sample_weight"):
        pr.brier_score(cases(), sample_weight=W)
    with pytest.raises(InputTypeError, match=r"cases hold .* already; pass them without y_proba"):
        pr.reliability_curve(cases(), P)


def test_several_models_need_a_choice():
    read = pr.cases(Y, MODELS)
    with pytest.raises(InputTypeError, match=r"must be the forecasts of one model; got those of \['p', 'q'\]"):
        pr.reliability_curve(read)
    assert pr.estimate(read, "q").value == pr.estimate(Y, Q).value
    assert pr.roc_curve(read.of("q")).auc == pr.roc_curve(Y, Q).auc
    with pytest.raises(InputValueError, match="two models or more; got 1"):
        pr.compare(read.of("p"))


def test_dropped_rows_are_counted_and_stay_aligned():
    y, p = [0, None, 1, 1, 0], [0.1, 0.2, None, 0.7, 0.4]
    with pytest.raises(MissingValuesError, match=r'propriety\.cases\(\.\.\., missing="drop"\)'):
        pr.brier_score([0, 1, 1], [0.1, None, 0.7])
    read = pr.cases(y, p, missing="drop")
    assert (read.n, read.dropped, pr.brier_score(read).dropped) == (3, 2, 2)
    np.testing.assert_allclose(pr.case_scores(read, rule=pr.Brier()), [0.01, np.nan, np.nan, 0.09, 0.16])
    skill = pr.skill_score(read, rule=pr.Brier(), reference=[0.5, 0.1, 0.1, 0.5, 0.5])
    assert skill == pr.skill_score([0, 1, 0], [0.1, 0.7, 0.4], rule=pr.Brier(), reference=[0.5] * 3)


@pytest.mark.parametrize("engine", LAZY)
def test_cases_of_a_lazy_frame_stay_on_the_engine(engine):
    frame = LAZY[engine](FRAME)
    read = pr.cases(frame, ["p", "q"], outcome="y", by="site", cluster="patient")
    assert repr(read).startswith("LazyCases(models=['p', 'q'], rows=240, keys=['site'], engine=")
    held = pr.cases(FRAME, ["p", "q"], outcome="y", by="site", cluster="patient")
    for name in ("compare", "slices", "evaluate"):
        found, expected = (getattr(pr, name)(one, **DRAWS) for one in (read, held))
        assert found.to_dict().keys() == expected.to_dict().keys()
        assert repr(found) == repr(expected)
    one = pr.cases(frame, "p", outcome="y")
    np.testing.assert_array_equal(pr.reliability_curve(one).event_rate, pr.reliability_curve(Y, P).event_rate)
    assert pr.roc_curve(read.of("q")).auc == pr.roc_curve(Y, Q).auc
    with pytest.raises(InputTypeError, match=r"must be the forecasts of one model.*cases\.of\(name\)"):
        pr.roc_curve(read)
    with pytest.raises(InputTypeError, match="needs cases in memory; these are rows of a lazy frame"):
        pr.worst_cases(one)


def test_a_lazy_frame_that_has_changed_is_refused():
    connection = duckdb.connect()
    connection.register("first", FRAME.to_arrow())
    connection.execute("CREATE TABLE visits AS FROM first")
    read = pr.cases(connection.table("visits"), "p", outcome="y")
    before = pr.evaluate(read, **DRAWS).n
    assert before == N
    connection.execute("INSERT INTO visits SELECT * FROM first LIMIT 1")
    for function in (pr.evaluate, pr.reliability_curve, pr.condense, pr.recalibrate):
        with pytest.raises(InputValueError, match="must be the rows from which the cases were read; they have changed"):
            function(read)


def test_counts_are_equal_cases():
    table = {"y": [0, 1, 1, 0], "p": [0.2, 0.2, 0.7, 0.7], "times": [30, 10, 25, 15]}
    read = pr.cases(table["y"], table["p"], counts=table["times"])
    y, p = (np.repeat(table[name], table["times"]) for name in ("y", "p"))
    assert (read.n, repr(read)) == (80, "Cases(models=['forecast'], cases=80)")
    assert pr.brier_score(read) == pr.brier_score(y, p)
    assert said(pr.estimate(read, **DRAWS)) == said(pr.estimate(y, p, **DRAWS))
    assert pr.condense(read).table() == pr.condense(y, p).table()
    frame = pl.DataFrame(table)
    for one in (frame, frame.lazy()):
        assert pr.brier_score(pr.cases(one, "p", outcome="y", counts="times")) == pr.brier_score(y, p)
    with pytest.raises(InputValueError, match="counts= or sample_weight=, not both"):
        pr.cases(table["y"], table["p"], counts=table["times"], sample_weight=table["times"])
    with pytest.raises(InputValueError, match=r"counts must be whole numbers; row 0 is 0\.5"):
        pr.cases(table["y"], table["p"], counts=[0.5, 1, 2, 3])
    many = pr.cases([0, 1], [0.2, 0.7], counts=[2**24, 1])
    assert pr.condense(many).n == 2**24 + 1
    with pytest.raises(InputValueError, match=r"more than 16,777,216 cases.*propriety\.condense"):
        pr.brier_score(many)


def test_what_happens_to_the_arrays_later_changes_nothing():
    y, p, w = Y.astype(float), P.copy(), W.copy()
    read = pr.cases(y, {"p": p}, sample_weight=w, by={"site": SITE.copy()})
    before = said(pr.evaluate(read, **DRAWS))
    y[:], p[:], w[:] = 1.0, 0.5, 7.0
    assert said(pr.evaluate(read, **DRAWS)) == before


def test_fitted_estimators_are_asked_once():
    class Model:
        classes_ = (0, 1)
        calls = 0

        def predict_proba(self, features):
            self.calls += 1
            return np.column_stack([1.0 - features[:, 0], features[:, 0]])

    model = Model()
    read = pr.cases(Y, {"m": model, "q": Q}, X=P[:, None])
    assert said(pr.compare(read, **DRAWS)) == said(pr.compare(Y, {"m": P, "q": Q}, **DRAWS))
    pr.evaluate(read, **DRAWS)
    assert model.calls == 1


def test_outcomes_with_follow_up():
    time, event = RNG.exponential(300, N), RNG.random(N) < 0.7
    outcomes = pr.censored(time, event, horizons=200)
    assert pr.estimate(pr.cases(outcomes, P)).value == pr.estimate(outcomes, P).value


def test_cases_are_read_again_from_their_arguments():
    lazy = pr.cases(FRAME.lazy(), ["p", "q"], outcome="y", by="site", cluster="patient", missing="drop")
    again = read_source(**lazy.given)
    assert (again.models, again.keys, again.cluster, again.drop) == (("p", "q"), ("site",), "patient", True)
    columns = {f"p{place}": ROWS[:, place] for place in range(3)}
    frame = pl.LazyFrame({"y": GRADE, "day": DAY, **columns})
    rows = pr.cases(frame, {"m": list(columns)}, outcome="y", labels=range(3), period="day", ordered=True)
    same = read_source(**rows.given)
    ledgers = [Ledger.of_cases(one) for one in (rows, same)]
    assert [one.kind for one in ledgers] == ["ordinal"] * 2
    assert ledgers[0].periods() == ledgers[1].periods() == sorted(set(DAY.tolist()))
    held = pr.cases(GRADE, ROWS)
    assert pr.cases(held) is held


def test_another_forecast_is_read_for_the_rows_of_the_cases():
    y, p = ["no", "yes", None, "no"], [0.2, 0.8, 0.5, 0.3]
    read = pr.cases(y, p, labels=["no", "yes"], missing="drop")
    assert read_beside(read, [0.1, 0.2, 0.3, 0.4]).forecasts["forecast"].tolist() == [0.1, 0.2, 0.4]
    rows = pr.cases(["b", "a"], [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], labels=["a", "b", "c"])
    other = read_beside(rows, [[0.1, 0.1, 0.8], [0.3, 0.3, 0.4]])
    assert (other.outcomes().tolist(), other.labels) == ([1, 0], ("a", "b", "c"))


def test_counted_cases_are_condensed_by_some_of_their_keys():
    read = pr.cases([0, 1, 1], [0.2, 0.7, 0.7], counts=[30, 10, 5], by={"site": ["x", "x", "y"], "day": [1, 2, 2]})
    ledger = pr.condense(read, by="day")
    assert (ledger.index.names, ledger.n, ledger.table(day=2).n) == (("day",), 45, 15)


@pytest.mark.product("monitoring")
def test_a_monitor_reads_cases():
    day = np.repeat(np.arange(24), 10)
    read = pr.cases(Y, P, by={"day": day})
    assert said(pr.monitor(read)) == said(pr.monitor(pr.condense(Y, P, by={"day": day})))
    assert said(pr.monitor(pr.cases(Y, MODELS, period=day))) == said(pr.monitor(Y, MODELS, period=day))
    with pytest.raises(InputValueError, match="cases without weights"):
        pr.monitor(pr.cases(Y, P, by={"day": day}, sample_weight=W))


def test_calls_of_an_evaluation_name_the_cases():
    result = pr.evaluate(pr.cases(pd.Series(Y, name="ill"), MODELS, cluster=PATIENT), **DRAWS)
    assert result.call("compare") == "pr.compare(cases)"
    assert result.call("roc_curve", "p") == "pr.roc_curve(cases.of('p'))"
    assert result.call("estimate", "p") == "pr.estimate(cases, 'p')"
    assert result.columns_used == {"outcome": "ill"}
