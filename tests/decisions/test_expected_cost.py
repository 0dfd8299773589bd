"""Expected cost and Bayes decisions: golden cases, brute force, and the skill of ranked probabilities."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.decisions.expected_cost import bayes_decisions, cost_matrix, expected_cost
from propriety.errors import InputTypeError, InputValueError

CLOSE = 1e-12
K = 3
NAMED = ("zero-one", "linear", "quadratic")

rows_of_probabilities = (
    st.lists(st.integers(0, 8), min_size=K, max_size=K).filter(any).map(np.array).map(lambda r: r / r.sum())
)
samples = st.lists(st.tuples(st.integers(0, K - 1), rows_of_probabilities), min_size=1, max_size=8)
matrices = st.lists(st.integers(0, 5), min_size=K * K, max_size=K * K).map(lambda c: np.array(c).reshape(K, K))  # fmt: skip
costs = st.sampled_from(NAMED) | matrices


def arrays(cases):
    return np.array([case[0] for case in cases]), np.array([case[1] for case in cases])


@pytest.mark.parametrize("name", NAMED)
def test_golden(golden, name):
    inputs, expected = golden("expected_cost")
    expected = expected[name.replace("-", "_")]
    options = {"cost": name, "labels": range(inputs["K"])}
    found = expected_cost(inputs["y"], inputs["pred"], **options)
    normalized = expected_cost(inputs["y"], inputs["pred"], normalize="constant", **options)
    assert [found, normalized] == pytest.approx([expected["ec"], expected["ec_normalised"]], rel=CLOSE, abs=0)
    assert not found.higher_is_better
    assert "best constant decision" in normalized.scale


@given(samples, costs)
def test_no_decision_has_a_lower_expected_cost(cases, cost):
    _, rows = arrays(cases)
    matrix = cost_matrix(cost, range(K))
    for row, decided in zip(rows, bayes_decisions(rows, cost=cost), strict=True):
        expected = [sum(row[k] * matrix[k, d] for k in range(K)) for d in range(K)]
        ties = [d for d in range(K) if expected[d] <= min(expected) + 1e-9]
        assert decided == ties[0]


@pytest.mark.slow
@given(samples)
def test_zero_one_costs_lead_to_the_first_of_the_most_probable(cases):
    _, rows = arrays(cases)
    assert bayes_decisions(rows).tolist() == rows.argmax(axis=1).tolist()


def test_sums_that_round_do_not_break_ties():
    rows = np.array([[0.1, 0.2, 0.3, 0.1, 0.3], [0.3, 0.1, 0.2, 0.3, 0.1]])
    assert bayes_decisions(rows).tolist() == [2, 0]
    assert bayes_decisions([[0.1 + 0.2, 0.4, 0.3]], cost=[[0, 1, 1], [1, 0, 1], [1, 1, 0]]).tolist() == [1]
    thirds = [[0.1 + 0.2, 0.3, 0.4 - 1e-16]]
    assert bayes_decisions(thirds, cost=[[0, 1, 9], [1, 0, 9], [1, 1, 9]]).tolist() == [0]


@given(samples, costs)
def test_the_mean_cost_case_by_case(cases, cost):
    y, rows = arrays(cases)
    matrix = cost_matrix(cost, range(K))
    weight = np.arange(1, len(y) + 1) / 2
    decided = {"bayes": bayes_decisions(rows, cost=cost), "argmax": rows.argmax(axis=1)}
    constant = min(np.average([matrix[a, d] for a in y], weights=weight) for d in range(K))
    for way, decision in decided.items():
        mean = np.average([matrix[a, d] for a, d in zip(y, decision, strict=True)], weights=weight)
        found = expected_cost(y, rows, cost=cost, decision_rule=way, sample_weight=weight)
        assert found == pytest.approx(mean, abs=CLOSE)
        same = expected_cost(y, decision, cost=cost, labels=range(K), sample_weight=weight, decision_rule=way)
        assert same == pytest.approx(mean, abs=CLOSE)
        if constant:
            share = expected_cost(y, rows, cost=cost, decision_rule=way, sample_weight=weight, normalize="constant")
            assert share == pytest.approx(mean / constant, rel=1e-9, abs=CLOSE)


@given(samples)
def test_on_certain_forecasts_ranked_probability_scores_are_costs(cases):
    y, rows = arrays(cases)
    certain = np.eye(K)[rows.argmax(axis=1)]
    linear, quadratic = (expected_cost(y, certain, cost=cost) for cost in ("linear", "quadratic"))
    assert linear == pytest.approx(pr.ranked_probability_score(y, certain), abs=CLOSE)
    assert quadratic == pytest.approx(pr.squared_absolute_ranked_probability_score(y, certain), abs=CLOSE)


def test_ranked_probability_skill_is_over_climatology():
    y = [0, 0, 1, 2]
    rows = [[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]]
    climatology = np.tile([0.5, 0.25, 0.25], (4, 1))
    cumulative = np.cumsum([rows, climatology], axis=2)[:, :, :2]
    happened = np.array(y)[:, None] <= np.arange(2)
    score, reference = ((cumulative - happened) ** 2).mean(axis=(1, 2))
    skill = pr.skill_score(y, rows, rule=pr.RankedProbability())
    assert skill == pytest.approx(1 - score / reference, rel=CLOSE)
    assert skill.higher_is_better
    assert pr.skill_score(y, climatology, rule=pr.RankedProbability()) == pytest.approx(0.0, abs=CLOSE)
    assert pr.skill_score(y, np.eye(3)[y], rule=pr.RankedProbability()) == 1.0


def test_a_right_decision_may_cost_something():
    # Deciding 2 costs least whatever happens, so that even a certain forecast of 0 leads there.
    cost = [[2, 3, 1], [3, 2, 1], [3, 3, 1]]
    assert bayes_decisions(np.eye(3), cost=cost).tolist() == [2, 2, 2]
    assert expected_cost([0, 1], [0, 1], cost=cost) == 2.0
    assert expected_cost([0, 1], np.eye(3)[[0, 1]], cost=cost) == 1.0


def test_a_constant_decision_that_costs_nothing():
    assert math.isnan(expected_cost([1, 1], [1, 1], normalize="constant"))
    assert expected_cost([1, 1], [1, 0], normalize="constant") == math.inf


def test_rare_classes_are_counted_in_the_scale():
    assert expected_cost([0], [1], cost="linear", labels=range(5)) == 0.25
    with pytest.raises(
        InputValueError, match=r"labels must be given with decisions and linear costs.*labels=range\(5\)"
    ):
        expected_cost([0], [1], cost="linear")
    assert expected_cost([0, 4], [1, 4]) == 0.5
    assert expected_cost([0], [1], cost=[[0, 7], [1, 0]]) == 7.0


def test_labels_and_missing_cases():
    rows = [[0.6, 0.3, 0.1], [math.nan, 0.5, 0.5], [0.1, 0.2, 0.7]]
    score = expected_cost(pr.cases(["a", "b", "b"], rows, labels=["a", "b", "c"], missing="drop"), cost="linear")
    assert (score, score.dropped, score.n) == (0.25, 1, 2)
    assert bayes_decisions([[0.6, 0.4]], labels=["a", "b"]).tolist() == ["a"]


@pytest.mark.parametrize(
    ("cost", "match"),
    [
        pytest.param("cubic", 'cost must be "zero-one", "linear", "quadratic" or a matrix; got \'cubic\'', id="name"),
        pytest.param([[0, 1], [1, 0]], r"for each of the 3 classes; got shape \(2, 2\)", id="too small"),
        pytest.param([[0, 1, 2], [1, 0, 2]], r"got shape \(2, 3\)", id="not square"),
        pytest.param([[0, 1, 2], [1, 0, -1], [1, -2, 0]], r"row 1, column 2 is -1 \(2 of 9\)", id="negative"),
        pytest.param([[0, 1, 2], [1, 0, math.nan], [1, 2, 0]], "row 1, column 2 is nan", id="missing"),
    ],
)
def test_costs_that_are_refused(cost, match):
    with pytest.raises(InputValueError, match=match):
        expected_cost([0, 1], [[0.2, 0.3, 0.5]] * 2, cost=cost)
    with pytest.raises(InputValueError, match=match):
        bayes_decisions([[0.2, 0.3, 0.5]] * 2, cost=cost)


def test_costs_that_are_no_numbers():
    with pytest.raises(InputTypeError, match="cost must hold real numbers"):
        expected_cost([0, 1], [0, 1], cost=[["a", "b"], ["c", "d"]])


def test_other_words():
    with pytest.raises(InputValueError, match='decision_rule must be one of "bayes", "argmax"'):
        expected_cost([0, 1], [0, 1], decision_rule="median")


@pytest.mark.parametrize(
    ("rows", "options", "match"),
    [
        pytest.param([[0.2, 0.3]], {}, r"rows of y_proba must sum to 1", id="sums"),
        pytest.param([[0.2, 0.8]], {"labels": ["a"]}, "got 1 labels for 2 columns", id="labels"),
        pytest.param([[0.2, 0.8]], {"labels": ["a", "a"]}, "labels must be distinct", id="labels twice"),
        pytest.param([0.2, 1.8], {}, r"y_proba must lie in \[0, 1\]", id="one event"),
    ],
)
def test_rows_that_cannot_be_decided_on(rows, options, match):
    with pytest.raises(InputValueError, match=match):
        bayes_decisions(rows, **options)


def test_labels_may_be_read_once_only():
    rows = [[0.2, 0.8], [0.9, 0.1]]
    assert bayes_decisions(rows, labels=iter(["a", "b"])).tolist() == ["b", "a"]
    assert expected_cost(["a", "b"], ["a", "a"], labels=iter(["a", "b"])) == 0.5


def test_labels_that_are_none():
    with pytest.raises(InputTypeError, match="labels must be a list of labels"):
        bayes_decisions([[0.2, 0.8]], labels=3)


def test_the_cost_is_part_of_the_name():
    y, rows = [0, 1], [[0.9, 0.1], [0.2, 0.8]]
    assert expected_cost(y, rows).rule == "expected_cost(zero-one)"
    assert expected_cost(y, rows, cost="linear").rule == "expected_cost(linear)"
    assert expected_cost(y, rows, cost=[[0, 1], [3, 0]]).rule == "expected_cost(matrix)"


def test_a_huge_cost_of_an_impossible_class_does_not_tie_the_others():
    cost = [[1, 0, 0], [1, 0, 0], [0, 0, 1e15]]
    assert bayes_decisions([[0.5, 0.5, 0.0]], cost=cost).tolist() == [1]
    assert expected_cost([0, 1], [[0.5, 0.5, 0.0]] * 2, cost=cost) == 0.0


@pytest.mark.filterwarnings("error")
def test_one_class_is_refused_and_huge_costs_do_not_overflow():
    with pytest.raises(InputValueError, match="labels must name two classes or more"):
        expected_cost([0, 0], [0, 0], labels=[0])
    assert expected_cost([0, 1] * 9, [1, 0] * 9, cost=[[0, 1e308], [1e308, 0]]) == pytest.approx(1e308)
