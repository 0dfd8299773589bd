"""The worst cases of each rule: by a plain sort, with their rows in the data, and side by side."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.diagnostics.worst_cases import worst_cases
from propriety.errors import InputTypeError, InputValueError

K = 3
LABELS = ["low", "mid", "high"]
RULES = [pr.RankedProbability(), pr.Log(), pr.Brier()]

rows_of_probabilities = (
    st.lists(st.integers(0, 3), min_size=K, max_size=K).filter(any).map(lambda r: np.array(r) / sum(r))
)
samples = st.lists(st.tuples(st.integers(0, K - 1), rows_of_probabilities), min_size=1, max_size=12)


@given(samples, st.integers(1, 15))
def test_they_are_those_of_a_plain_sort(cases, n):
    y, rows = (np.array([case[part] for case in cases]) for part in (0, 1))
    worst = worst_cases(y, rows, rule=RULES, most=n)
    losses = {repr(rule): pr.case_scores(y, rows, rule=rule) for rule in RULES}
    shown = min(n, len(y))
    assert len(worst.case) == shown * len(RULES)
    for place, (name, loss) in enumerate(losses.items()):
        own = worst.rule == name
        case = worst.case[own]
        assert case.tolist() == sorted(range(len(y)), key=lambda row: (-loss[row], row))[:shown]
        assert worst.loss[own].tolist() == loss[case].tolist()
        assert worst.rank[own].tolist() == [1 + int((loss > loss[row]).sum()) for row in case]
        assert worst.rank[own].tolist() == worst.ranks[own, place].tolist()
    for row, case in enumerate(worst.case):
        assert worst.outcome[row] == y[case]
        assert worst.decision[row] == rows[case].argmax()
        assert worst.probability[row] == rows[case][y[case]]
        assert worst.forecast[row].tolist() == rows[case].tolist()
        assert worst.ranks[row].tolist() == [1 + int((loss > loss[case]).sum()) for loss in losses.values()]


def test_rows_are_those_of_the_data_as_given():
    y = ["low", None, "high", "low"]
    rows = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.9, 0.1, 0.0], [0.2, 0.4, 0.4]]
    worst = worst_cases(pr.cases(y, rows, labels=LABELS, missing="drop"), rule=RULES, most=2)
    assert worst.case.tolist() == [2, 3] * 3
    assert worst.outcome.tolist() == ["high", "low"] * 3
    assert worst.decision.tolist() == ["low", "mid"] * 3
    assert worst.loss[2] == math.inf
    assert (worst.n, worst.dropped) == (3, 1)


def test_all_cases_where_there_are_fewer():
    worst = worst_cases([0, 1], [[0.5, 0.5], [0.5, 0.5]], rule=pr.Brier())
    assert worst.case.tolist() == [0, 1]
    assert worst.rank.tolist() == [1, 1]


def test_views():
    y, rows = ["low", "high"], [[0.2, 0.7, 0.1], [0.6, 0.3, 0.1]]
    worst = worst_cases(y, rows, rule=RULES[:2], most=1, labels=LABELS)
    assert repr(worst) == "WorstCases(rules=['RankedProbability()', 'Log()'], rows=2, n=2)"
    frame = worst.to_frame(backend="pandas")
    assert frame.columns.tolist() == [
        "rule", "rank", "case", "outcome", "decision", "probability", "loss", "rank by RankedProbability()", "rank by Log()",
    ]  # fmt: skip
    assert frame["rank by Log()"].tolist() == [1, 1]
    first, line = str(worst).splitlines()
    assert first.split() == ["RankedProbability()", "Log()"]
    assert line.count("case 1: high classified as low, p 0.1, loss") == 2
    page = worst._repr_html_()
    assert ">Log()</th>" in page
    assert page.count("case 1: high classified as low") == 2
    alone = worst_cases(y, rows, most=1, labels=LABELS)
    assert "rank by RankedProbability()" not in alone.to_frame(backend="polars").columns
    assert alone.to_dict()["forecast"] == [[0.6, 0.3, 0.1]]


def test_the_notebook_view_escapes_labels():
    assert "<b>" not in worst_cases(["<b>", "a"], [[0.2, 0.8]] * 2, labels=["<b>", "a"])._repr_html_()


def test_a_right_decision_is_said_to_be():
    worst = worst_cases(["low", "high"], [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], most=2, labels=LABELS)
    assert str(worst).splitlines()[1].startswith("1   case 0: low classified correctly, p 0.5, loss ")
    assert "classified as" not in worst._repr_html_()


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", True])
def test_numbers_of_cases_that_there_are_not(n):
    with pytest.raises(InputValueError, match="most must be a positive whole number"):
        worst_cases([0, 1], [[0.5, 0.5]] * 2, most=n)


def test_what_is_no_rule():
    with pytest.raises(InputTypeError, match="rule must be a scoring rule"):
        worst_cases([0, 1], [[0.5, 0.5]] * 2, rule=pr.Brier)


def test_nominal_classes_are_not_ranked_by_a_rule_for_ordered_ones():
    rows = [[0.0, 0.5, 0.5], [0.0, 0.6, 0.4], [0.4, 0.6, 0.0]]
    assert worst_cases([0, 0, 0], rows).rules == ("Brier()",)
    swapped = np.array(rows)[:, [0, 2, 1]]
    np.testing.assert_array_equal(worst_cases([0, 0, 0], rows).loss, worst_cases([0, 0, 0], swapped).loss)
