"""The k highest forecasts: golden cases, ties by brute force, and the ranks that all its measures share."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propriety.decisions.top_k import top_k
from propriety.errors import InputTypeError, InputValueError
from propriety.tables.forecast_table import ForecastTable

CLOSE = 1e-12
FIELDS = {
    "true_positives": "TP",
    "precision": "precision",
    "recall": "recall",
    "total_cost": "total_cost",
    "net_benefit": "net_benefit",
}

samples = st.lists(st.tuples(st.booleans(), st.integers(0, 4).map(lambda part: part / 4)), min_size=1, max_size=7)


def arrays(cases):
    return np.array([case[0] for case in cases]), np.array([case[1] for case in cases])


@pytest.mark.parametrize("case", ["topk", "topk_tie_at_cut"])
def test_golden(golden, case):
    inputs, expected = golden(case)
    result = top_k(inputs["y"], inputs["s"], k=inputs["K"], thresholds=inputs["c"])
    several = top_k(inputs["y"], inputs["s"], k=[1, inputs["K"]], thresholds=inputs["c"])
    for field, name in FIELDS.items():
        assert getattr(result, field) == pytest.approx(expected[name], rel=CLOSE)
        assert getattr(several, field)[1] == getattr(result, field)


@given(samples, st.data())
def test_ties_share_the_places_as_a_draw_among_them_does_on_average(cases, data):
    y, p = arrays(cases)
    k = data.draw(st.integers(1, len(y)))
    result = top_k(y, p, k=k)
    best = max(p[list(chosen)].sum() for chosen in itertools.combinations(range(len(y)), k))
    drawn = [
        y[list(chosen)].sum()
        for chosen in itertools.combinations(range(len(y)), k)
        if math.isclose(p[list(chosen)].sum(), best)
    ]
    assert result.true_positives == pytest.approx(np.mean(drawn), abs=1e-12)
    assert result.threshold == np.sort(p)[-k]


@given(samples, st.floats(0.01, 0.99), st.data())
def test_net_benefit_ranks_models_as_precision_and_as_the_cost_do(cases, cost, data):
    y, p = arrays(cases)
    q = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.3, 0.8]), min_size=len(y), max_size=len(y))))
    k = data.draw(st.integers(1, len(y)))
    one, other = (top_k(y, forecast, k=k, thresholds=cost) for forecast in (p, q))
    difference = one.true_positives - other.true_positives
    if abs(difference) < 1e-9:
        assert one.net_benefit == pytest.approx(other.net_benefit, abs=1e-9)
        return
    assert (one.precision > other.precision) == (difference > 0)
    assert (one.net_benefit > other.net_benefit) == (difference > 0)
    assert (one.total_cost < other.total_cost) == (difference > 0)


@given(samples, st.floats(0.01, 0.99))
def test_the_cost_is_that_of_never_acting_less_the_net_benefit(cases, cost):
    y, p = arrays(cases)
    result = top_k(y, p, k=np.arange(1, len(y) + 1), thresholds=cost)
    never = (1 - cost) * y.sum()
    np.testing.assert_allclose(result.total_cost, never - len(y) * (1 - cost) * result.net_benefit, atol=1e-12)


@given(samples)
def test_whole_weights_are_repeated_cases(cases):
    y, p = arrays(cases)
    weight = np.arange(1, len(y) + 1) * 2
    ks = np.arange(1, weight.sum() + 1)
    by_weight = top_k(y, p, k=ks, sample_weight=weight, thresholds=0.3)
    by_case = top_k(np.repeat(y, weight), np.repeat(p, weight), k=ks, thresholds=0.3)
    for field in (*FIELDS, "threshold"):
        np.testing.assert_allclose(getattr(by_weight, field), getattr(by_case, field), rtol=1e-12, atol=1e-15)


def test_a_capacity_in_weight_may_be_any_number_up_to_all_of_it():
    result = top_k([1, 0, 1], [0.9, 0.5, 0.1], k=[0.05, 0.25, 0.6], sample_weight=[0.1, 0.2, 0.3])
    np.testing.assert_allclose(result.true_positives, [0.05, 0.1, 0.4])
    assert result.threshold.tolist() == [0.9, 0.5, 0.1]


def test_sums_of_weights_that_round_do_not_move_the_cut():
    weight = np.full(10, 0.1)
    p = np.arange(10) / 10
    table = ForecastTable.from_predictions(np.arange(10) % 2, p, sample_weight=weight)
    result = top_k(table, k=[0.1 + 0.2, 1.0])
    assert result.threshold.tolist() == [0.7, 0.0]
    assert result.recall[-1] == pytest.approx(1.0)


def test_everybody_is_found_where_everybody_is_taken():
    result = top_k([1, 0, 0, 1], [0.2, 0.4, 0.4, 0.1], k=4)
    assert (result.precision, result.recall, result.threshold) == (0.5, 1.0, 0.1)
    assert result.net_benefit is None
    assert result.total_cost is None


def test_without_events_there_is_no_recall():
    result = top_k([0, 0], [0.2, 0.4], k=1, thresholds=0.5)
    assert result.precision == 0.0
    assert math.isnan(result.recall)


def test_views_of_one_capacity_and_of_several():
    one = top_k([1, 0, 0, 1], [0.2, 0.4, 0.4, 0.1], k=2, thresholds=0.5)
    assert repr(one).startswith("TopK(k=2, threshold=0.4, true_positives=0, precision=0, recall=0, net_benefit=-0.5")
    assert one.to_dict()["k"] == 2
    assert one.thresholds == 0.5
    assert list(one.to_frame(backend="polars")["k"]) == [2]
    several = top_k([1, 0, 0, 1], [0.2, 0.4, 0.4, 0.1], k=[1, 2])
    assert several.to_frame(backend="pandas").columns.tolist() == [
        "k",
        "threshold",
        "true_positives",
        "precision",
        "recall",
    ]
    assert repr(several) == "TopK(rows=2, event_rate=0.5, n=4, weight=4, dropped=0)"


@pytest.mark.parametrize("k", [0, -1, 4, 1.5, math.nan, math.inf])
def test_capacities_that_there_are_not(k):
    with pytest.raises(InputValueError, match="k must be a whole number from 1 to the number of cases, 3; it is "):
        top_k([0, 1, 1], [0.1, 0.2, 0.3], k=k)


def test_the_first_bad_capacity_is_named():
    with pytest.raises(InputValueError, match=r"entry 1 is 9 \(2 of 3 entries\)"):
        top_k([0, 1, 1], [0.1, 0.2, 0.3], k=[1, 9, 0])


def test_capacities_beyond_the_weight():
    with pytest.raises(InputValueError, match=r"the total weight, 1\.5; it is 2\. Hint: k is a capacity in weight"):
        top_k([0, 1, 1], [0.1, 0.2, 0.3], k=2, sample_weight=[0.5, 0.5, 0.5])


@pytest.mark.parametrize("k", ["3", True, [], [[1]], None])
def test_what_is_no_capacity(k):
    with pytest.raises(InputTypeError, match="k must be a number"):
        top_k([0, 1, 1], [0.1, 0.2, 0.3], k=k)


@pytest.mark.parametrize("cost", [0.0, 1.0, 2, math.nan])
def test_costs_outside_their_range(cost):
    with pytest.raises(InputValueError, match="thresholds must lie strictly between 0 and 1"):
        top_k([0, 1, 1], [0.1, 0.2, 0.3], k=1, thresholds=cost)


@pytest.mark.parametrize(("weight", "rate"), [(None, 0.25), ([3.0, 1.0, 1.0, 1.0], 0.5)], ids=["cases", "weights"])
def test_the_event_rate_is_that_of_all_cases(weight, rate):
    assert top_k([1, 0, 0, 0], [0.1, 0.4, 0.5, 0.7], k=1, sample_weight=weight).event_rate == rate
