"""The live ranking's sums: the bounded Brier score on every interval of the grid."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.report.threshold_ranking import STEPS, reading, threshold_ranking
from propriety.tables.forecast_table import ForecastTable

samples = st.lists(
    st.tuples(st.booleans(), st.one_of(st.sampled_from([0.0, 0.01, 0.5, 1.0]), st.floats(0, 1)), st.floats(0.1, 5)),
    min_size=1,
    max_size=12,
)


def table(y, p, weight=None):
    return ForecastTable.from_predictions(y, p, sample_weight=weight, labels=[0, 1])


@given(samples, st.sampled_from(STEPS), st.sampled_from(STEPS))
def test_every_interval_of_the_grid_is_the_bounded_brier_score(cases, one, other):
    low, high = sorted((float(one), float(other)))
    if low == high:
        return
    y, p, weight = (np.array(values) for values in zip(*cases, strict=True))
    y = y.astype(int)
    regret = threshold_ranking({"a": table(y, p, weight)}).mean_regret(low, high)["a"]
    score = pr.bounded_brier_score(y, p, thresholds=(low, high), sample_weight=weight, labels=[0, 1])
    assert regret == pytest.approx(float(score), rel=1e-11, abs=1e-12)


@given(samples, st.floats(0, 1), st.floats(0, 1))
def test_the_users_own_interval_is_exact_too(cases, one, other):
    low, high = sorted((one, other))
    if high - low < 1e-6:
        return
    y, p, _ = (np.array(values) for values in zip(*cases, strict=True))
    y = y.astype(int)
    ranking = threshold_ranking({"a": table(y, p)}, thresholds=(low, high))
    score = pr.bounded_brier_score(y, p, thresholds=(low, high), labels=[0, 1])
    assert ranking.mean_regret()["a"] == pytest.approx(float(score), rel=1e-8, abs=1e-11)


def test_treating_all_and_none_are_the_constant_forecasts():
    y = [0, 0, 0, 1]
    ranking = threshold_ranking({"all": table(y, [1.0] * 4), "none": table(y, [0.0] * 4)})
    # A forecast of 0 reaches the threshold 0, which has no width.
    np.testing.assert_allclose(ranking.cumulative, list(ranking.trivial.values()), atol=1e-15)


@pytest.mark.parametrize("case", ["bounded_brier", "bounded_brier_full"])
def test_golden(golden, case):
    inputs, expected = golden(case)
    ranking = threshold_ranking({"B": table(inputs["y"], inputs["s"])}, thresholds=(inputs["a"], inputs["b"]))
    assert ranking.mean_regret()["B"] == pytest.approx(expected["average_regret"], rel=1e-12)


def test_the_payload_holds_sums_and_no_case():
    rng = np.random.default_rng(1)
    shapes = []
    for n in (100, 20_000):
        y, p = rng.integers(2, size=n), rng.random(n)
        payload = threshold_ranking({"a": table(y, p)}, thresholds=(0.0166, 0.03)).payload()
        assert json.loads(json.dumps(payload)) == payload
        shapes.append((list(payload), len(payload["grid"]), [len(row) for row in payload["cumulative"]]))
        assert payload["labels"][payload["start"]] == "1.66%"
        assert payload["grid"][payload["stop"]] == 0.03
    assert shapes[0] == shapes[1]
    assert shapes[0][1:] == (128, [128] * 3)


def test_steps_are_numbers_that_people_say():
    assert len(STEPS) == 127
    assert np.all(np.diff(STEPS) > 0)
    assert all(len(reading(step)) <= len("99.5% (19 in 100)") for step in STEPS.tolist())


def test_what_is_refused():
    one, other = table([0, 1], [0.1, 0.9]), table([1, 1], [0.1, 0.9])
    with pytest.raises(InputValueError, match=r"steps of the grid; 0\.123 is not"):
        threshold_ranking({"a": one}).mean_regret(0.123, 0.5)
    with pytest.raises(InputValueError, match="one model or more"):
        threshold_ranking({})
    with pytest.raises(InputValueError, match=r"'a' has 2 with event rate 0\.5 and 'b' 2 with 1"):
        threshold_ranking({"a": one, "b": other})
    with pytest.raises(InputTypeError, match="must be a pair"):
        threshold_ranking({"a": one}, thresholds=0.3)
    with pytest.raises(InputValueError, match="0 <= low < high <= 1"):
        threshold_ranking({"a": one}, thresholds=(0.3, 0.1))
