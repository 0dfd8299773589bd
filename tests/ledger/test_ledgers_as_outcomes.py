"""Functions of one model that only look at numbers read a ledger, and cases on an engine, in place of outcomes."""

import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError

RNG = np.random.default_rng(3)
P = RNG.random(400).round(2)
Y = RNG.random(400) < P
FRAME = pl.DataFrame({"y": Y.astype(int), "p": P})
FUNCTIONS = {
    "mean_score": lambda *data: pr.mean_score(*data, rule=pr.Brier()),
    "brier_score": pr.brier_score,
    "skill_score": lambda *data: pr.skill_score(*data, rule=pr.Brier()),
    "bounded_net_benefit": lambda *data: pr.bounded_net_benefit(*data, thresholds=(0.1, 0.3)),
    "reliability_curve": lambda *data: float(pr.reliability_curve(*data).event_rate[0]),
    "decompose": lambda *data: pr.decompose(*data).discrimination,
    "expected_calibration_error": lambda *data: pr.expected_calibration_error(*data).value,
    "check_calibration": lambda *data: pr.check_calibration(*data, n_resamples=99, seed=1)[0].p,
    "calibration_bracket": lambda *data: pr.calibration_bracket(*data).miscalibration_low,
    "probability_means": lambda *data: float(pr.probability_means(*data).columns()["model"][0]),
    "roc_curve": lambda *data: pr.roc_curve(*data).auc,
    "decision_curve": lambda *data: float(pr.decision_curve(*data, grid=[0.2]).value[0]),
    "risk_coverage_curve": lambda *data: pr.risk_coverage_curve(*data).aurc.value,
    "top_k": lambda *data: float(pr.top_k(*data, k=20).precision),
    "estimate_prevalence": lambda *data: pr.estimate_prevalence(*data, unlabelled=P).value,
}


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(call, id=name, marks=[pytest.mark.product("late_labels")] * (name == "estimate_prevalence"))
        for name, call in FUNCTIONS.items()
    ],
)
def test_a_ledger_of_one_model_gives_what_its_cases_give(function):
    assert function(pr.condense(Y, P)) == pytest.approx(function(Y, P), rel=1e-12)
    assert function(pr.condense(FRAME.lazy(), "p", outcome="y")) == pytest.approx(function(Y, P), rel=1e-12)


@pytest.mark.parametrize("name", ["mean_score", "skill_score", "decompose", "probability_means", "roc_curve"])
def test_cases_on_an_engine_give_what_cases_in_memory_give(name):
    lazy = pr.cases(FRAME.lazy(), "p", outcome="y")
    assert FUNCTIONS[name](lazy) == pytest.approx(FUNCTIONS[name](Y, P), rel=1e-12)


def test_a_ledger_of_several_models_or_classes_asks_for_one():
    with pytest.raises(InputValueError, match=r"one model must be chosen; there are \['p', 'q'\]"):
        pr.roc_curve(pr.condense(Y, {"p": P, "q": P / 2}))
    classes = pr.condense([0, 1, 2, 1], np.full((4, 3), 1 / 3))
    with pytest.raises(InputValueError, match=r"event must name one of the classes \[0, 1, 2\], .* ledger.of_event\("):
        pr.roc_curve(classes)
    assert pr.roc_curve(classes.of_event("forecast", 1)).auc == 0.5
    with pytest.raises(InputTypeError, match="a Ledger holds outcomes, forecasts, weights and keys already"):
        pr.roc_curve(pr.condense(Y, P), P)


def test_functions_of_single_cases_say_that_a_ledger_has_none():
    for function in (pr.worst_cases, pr.retention_curve):
        with pytest.raises(InputTypeError, match="a Ledger holds no individual cases"):
            function(pr.condense(Y, P))


def test_the_tables_of_classes_are_those_of_their_events():
    y, rows = RNG.integers(0, 3, 100), RNG.dirichlet([1, 1, 1], 100)
    of_classes, of_cuts = pr.condense(y, rows).tables(), pr.condense(y, rows, ordered=True).tables()
    assert (list(of_classes), list(of_cuts)) == ([0, 1, 2], [0, 1])
    for label, table in of_classes.items():
        assert pr.brier_score(table) == pytest.approx(np.mean((rows[:, label] - (y == label)) ** 2))
    for label, table in of_cuts.items():
        assert pr.brier_score(table) == pytest.approx(np.mean((rows[:, : label + 1].sum(axis=1) - (y <= label)) ** 2))
    with pytest.raises(InputValueError, match="the ledger is of one event"):
        pr.condense(Y, P).tables()
