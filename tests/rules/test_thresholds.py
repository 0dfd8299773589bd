"""The decision maker's thresholds and the grid of a curve are each read in one way, by every function."""

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.rules.weights import read_grid, read_range, read_thresholds

Y, P = [0, 1, 0, 1, 1, 0], [0.1, 0.6, 0.4, 0.8, 0.7, 0.3]
MODELS = {"a": P, "b": [0.3, 0.4, 0.5, 0.9, 0.6, 0.2]}

TAKES_THRESHOLDS = {
    "decision_curve": lambda own: pr.decision_curve(Y, P, thresholds=own),
    "regret_curve": lambda own: pr.regret_curve(Y, P, thresholds=own),
    "cost_curve": lambda own: pr.cost_curve(Y, P, thresholds=own),
    "murphy_curve": lambda own: pr.murphy_curve(Y, P, thresholds=own),
    "roc_curve": lambda own: pr.roc_curve(Y, P, thresholds=own),
    "advise": lambda own: pr.advise(thresholds=own),
    "evaluate": lambda own: pr.evaluate(Y, MODELS, thresholds=own),
}
TAKES_A_RANGE = {
    "ranking_map": lambda own: pr.ranking_map(Y, MODELS, thresholds=own),
    "bounded_brier_score": lambda own: pr.bounded_brier_score(Y, P, thresholds=own),
    "bounded_log_score": lambda own: pr.bounded_log_score(Y, P, thresholds=own),
    "bounded_net_benefit": lambda own: pr.bounded_net_benefit(Y, P, thresholds=own),
    "area of regret": lambda own: pr.regret_curve(Y, P).area(own),
    "area of net benefit": lambda own: pr.decision_curve(Y, P).area(own),
    "RankingMap.at": lambda own: pr.ranking_map(Y, MODELS).at(own),
}
TAKES_A_GRID = {
    "decision_curve": lambda grid: pr.decision_curve(Y, P, grid=grid),
    "regret_curve": lambda grid: pr.regret_curve(Y, P, grid=grid),
    "cost_curve": lambda grid: pr.cost_curve(Y, P, grid=grid),
    "murphy_curve": lambda grid: pr.murphy_curve(Y, P, grid=grid),
}


@pytest.mark.parametrize("take", TAKES_THRESHOLDS.values(), ids=TAKES_THRESHOLDS)
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        (0.1, 0.1),
        (np.float32(0.25), 0.25),
        ((0, 0.2), (0.0, 0.2)),
        ([0.05, 0.2], (0.05, 0.2)),
        (np.array([0.05, 0.2]), (0.05, 0.2)),
    ],
    ids=str,
)
def test_a_number_or_a_pair_is_kept_as_floats(take, given, expected):
    found = take(given).thresholds
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("take", (TAKES_THRESHOLDS | TAKES_A_RANGE).values(), ids=[*TAKES_THRESHOLDS, *TAKES_A_RANGE])
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((0.2, 0.1), InputValueError, r"0 <= low < high <= 1; got \(0.2, 0.1\).*not odds or percentages"),
        ((0.1, 0.1), InputValueError, "low < high"),
        ((5, 20), InputValueError, "low < high"),
        ((0.1, float("nan")), InputValueError, "low < high"),
        ((0.1, None), InputValueError, "low < high"),
        ((0.1, 0.2, 0.3), InputTypeError, r"a pair \(low, high\)"),
        ("01", InputTypeError, r"a pair \(low, high\)"),
        (True, InputTypeError, r"a pair \(low, high\)"),
    ],
    ids=str,
)
def test_what_is_no_threshold_is_refused_in_the_same_words(take, given, error, message):
    with pytest.raises(error, match=message):
        take(given)


@pytest.mark.parametrize("take", TAKES_THRESHOLDS.values(), ids=TAKES_THRESHOLDS)
@pytest.mark.parametrize("given", [0.0, 1.0, 10, float("nan")])
def test_one_threshold_lies_strictly_between_0_and_1(take, given):
    with pytest.raises(InputValueError, match="thresholds must lie strictly between 0 and 1"):
        take(given)


@pytest.mark.parametrize("take", TAKES_A_GRID.values(), ids=TAKES_A_GRID)
def test_a_grid_is_where_the_curve_is_evaluated(take):
    assert take([0.4, 0.2]).threshold.tolist() == [0.4, 0.2]
    assert take(0.3).threshold.tolist() == [0.3]
    assert take([0.4, 0.2]).thresholds is None
    with pytest.raises(InputValueError, match=r"grid must lie in \[0, 1\]; entry 1 is 1.5"):
        take([0.5, 1.5])
    with pytest.raises(InputTypeError, match="grid must hold real numbers"):
        take(["low"])
    for shape in ((0,), (1, 2)):
        with pytest.raises(InputValueError, match=rf"grid must be a number or a 1-D array; got shape \({shape[0]}, ?"):
            take(np.full(shape, 0.5))


def test_a_range_alone_takes_no_number():
    assert read_range([0, 1]) == (0.0, 1.0)
    with pytest.raises(InputTypeError, match="must be a pair"):
        read_range(0.2)
    assert read_thresholds(0.2) == 0.2
    np.testing.assert_array_equal(read_grid((0.1, 0.2)), [0.1, 0.2])
