"""Judged cases hand out their numbers in chunks, checked once and copied only where they must be converted."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.tables import cases as chunking
from propriety.tables import laws
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.keys import Keys
from propriety.tables.validation import read_cases, read_forecast

Y = [0, 1, 1, 0]
P = [0.2, 0.7, 0.9, 0.4]
Q = [0.3, 0.6, 0.8, 0.1]
ROWS = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.4, 0.3, 0.3]])


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunking, "CHUNK", 3)
    monkeypatch.setattr(chunking, "FEWEST_ROWS", 2)


@pytest.fixture
def checks(monkeypatch):
    """How often forecasts were checked to lie in [0, 1]."""
    made = []
    inside = laws.in_unit_interval
    monkeypatch.setattr(laws, "in_unit_interval", lambda values: made.append(len(values)) or inside(values))
    return made


@pytest.mark.usefixtures("small_chunks")
def test_chunks_are_the_cases_in_order():
    cases = read_cases(Y, {"a": P, "b": Q}, sample_weight=[1, 2, 3, 4])
    chunks = list(cases.chunks("b"))
    assert [len(chunk.outcome) for chunk in chunks] == [3, 1]
    assert np.concatenate([chunk.forecast for chunk in chunks]).tolist() == Q
    assert np.concatenate([chunk.outcome for chunk in chunks]).tolist() == [False, True, True, False]
    assert np.concatenate([chunk.weight for chunk in chunks]).tolist() == [1.0, 2.0, 3.0, 4.0]
    rows = list(read_cases([0, 1, 2, 0], ROWS).chunks())
    assert [chunk.forecast.shape for chunk in rows] == [(3, 2), (3, 2)]
    assert rows[1].outcome.tolist() == [2, 0]


@pytest.mark.usefixtures("small_chunks")
def test_what_is_float64_already_is_not_copied():
    p, weight = np.array(P), np.ones(4)
    cases = read_cases(np.array(Y, dtype=bool), p, sample_weight=weight, snapshot=False)
    for chunk in (*cases.chunks(), cases.gathered()):
        assert np.shares_memory(chunk.forecast, p)
        assert np.shares_memory(chunk.weight, weight)
        assert np.shares_memory(chunk.outcome, cases.outcome)
    assert np.shares_memory(cases.forecasts["forecast"], p)


@pytest.mark.parametrize("weight", [None, np.ones(4)], ids=["plain", "weighted"])
def test_cases_own_what_they_keep(weight):
    y, p = np.array(Y), np.asfortranarray(np.stack([P, Q], axis=1))
    cases = read_cases(y, {"a": p[:, 0], "b": p[:, 1]} if weight is not None else p[:, 0], sample_weight=weight)
    kept = [cases.outcome, *cases.forecasts.values(), *([] if cases.weight is None else [cases.weight])]
    assert not any(np.shares_memory(own, given) for own in kept for given in (y, p, weight) if given is not None)
    assert all(own.flags.c_contiguous for own in kept)


@pytest.mark.usefixtures("small_chunks")
def test_numbers_are_checked_when_first_walked_to_the_end_and_not_again(checks):
    cases = read_cases(Y, {"a": P, "b": Q})
    next(cases.chunks("a"))
    assert len(checks) == 1
    list(cases.chunks("a"))
    assert len(checks) == 3
    cases.gathered("a")
    list(cases.of("a").chunks())
    list(cases.where(np.array([True, True, False, False])).chunks("a"))
    assert len(checks) == 3
    cases.of("b").checked()
    cases.checked()
    assert len(checks) == 5


def test_some_of_the_cases_say_nothing_about_the_others():
    cases = read_cases(Y, [0.2, 0.7, 1.5, 0.4])
    some = cases.where(np.array([True, True, False, True]))
    assert some.checked().gathered().forecast.tolist() == [0.2, 0.7, 0.4]
    with pytest.raises(InputValueError, match=r"row 2 is 1\.5 \(1 of 4 rows\)"):
        cases.gathered()


def test_other_forecasts_are_checked_anew():
    cases = read_cases(Y, P).checked()
    with pytest.raises(InputValueError, match="must lie in"):
        replace(cases, forecasts={"forecast": np.array([2.0] * 4)}).gathered()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"forecasts": {"a": np.array([0.1, np.nan, 0.2])}}, MissingValuesError, "y_proba .* row 7 is missing"),
        ({"outcome": np.array([0.0, 1.0, np.nan])}, MissingValuesError, "y_true .* row 9 is missing"),
        ({"outcome": np.array([0, 1, 2])}, InputValueError, "row 9 is 2"),
        ({"weight": np.array([np.nan, 1.0, 1.0])}, MissingValuesError, "sample_weight .* row 5 is missing"),
        ({"weight": np.array([1.0, -1.0, 1.0])}, InputValueError, "row 7 is -1.0"),
    ],
    ids=["forecast", "outcome", "third", "weight", "negative"],
)
def test_errors_name_rows_by_their_numbers_in_the_data(change, error, message):
    given = {"outcome": np.array([0, 1, 1]), "forecasts": {"a": np.array(P[:3])}, "rows": np.array([5, 7, 9])}
    with pytest.raises(error, match=message):
        Cases(**(given | change)).checked()


masks = st.lists(st.booleans(), min_size=4, max_size=4).map(lambda kept: np.array(kept, dtype=bool))


@given(masks, masks)
def test_some_of_the_cases_are_what_reading_them_alone_gives(first, second):
    site, day = np.array(["b", "a", "b", "c"]), np.array([3, 1, 2, 1])
    whole = read_cases(Y, {"a": P, "b": Q}, by={"site": site}, cluster=day, period=day, sample_weight=[1, 0, 2, 3])
    some = whole.where(first).where(second[first])
    kept = first & second
    assert len(some) == kept.sum()
    assert some.rows.tolist() == np.flatnonzero(kept).tolist()
    assert some.n == np.count_nonzero(np.array([1, 0, 2, 3])[kept])
    for keys, values in ((some.keys["site"], site), (some.cluster, day), (some.period, day)):
        labels, codes = np.unique(values[kept], return_inverse=True)
        assert keys.labels == tuple(labels.tolist())
        assert keys.codes.tolist() == codes.tolist()
    for model, values in (("a", P), ("b", Q)):
        assert some.gathered(model).forecast.tolist() == np.array(values)[kept].tolist()


def test_one_model_is_taken_by_its_name_unless_it_is_the_only_one():
    cases = read_cases(Y, {"a": P, "b": Q})
    assert cases.of("b").gathered().forecast.tolist() == Q
    with pytest.raises(InputTypeError, match=r"must be the forecasts of one model; got those of \['a', 'b'\]"):
        cases.gathered()
    with pytest.raises(KeyError):
        cases.of("c")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weight", [None, [1.0, 0.0, 2.0, 0.5]])
def test_events_of_classes_give_the_tables_of_classes_and_cut_points(dtype, weight):
    rows, y = ROWS.astype(dtype), np.array([0, 1, 2, 0])
    cases = read_cases(y, {"a": rows}, sample_weight=weight)
    for place in range(3):
        own = ForecastTable.from_cases(cases, "a", ("class", place))
        expected = ForecastTable.from_predictions(y == place, rows[:, place], sample_weight=weight)
        assert own.to_dict() == expected.to_dict()
    head = np.round(np.cumsum(rows.astype(np.float64), axis=1)[:, 1], 12)
    expected = ForecastTable.from_predictions(y <= 1, head, sample_weight=weight)
    assert ForecastTable.from_cases(cases, event=("cut", 1)).to_dict() == expected.to_dict()


def test_an_event_of_rows_that_are_no_probabilities_is_refused():
    cases = read_cases([0, 1], [[0.5, 0.6, 0.0], [0.5, 0.5, 0.0]])
    with pytest.raises(InputValueError, match="sum to 1"):
        cases.event(("class", 0))


def test_cases_say_what_they_are():
    assert repr(read_cases([0, 1, 2, 0], {"a": ROWS})) == "Cases(models=['a'], cases=4, classes=3)"
    assert repr(read_cases(Y, [None, *P[1:]], missing="drop")) == "Cases(models=['forecast'], cases=3, dropped=1)"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_cases_can_be_copied(copied):
    cases = read_cases(Y, {"a": P}, by=list("abab")).checked()
    again = copied(cases)
    assert again.gathered().forecast.tolist() == P
    assert again.keys["group"].labels == ("a", "b")


def test_keys_without_cases_are_none():
    assert Keys(("a", "b"), np.array([1, 0])).where(np.array([False, False])).labels == ()


def test_a_result_is_no_outcomes():
    with pytest.raises(InputTypeError, match="y_true must hold outcomes; a ForecastTable holds no individual cases"):
        read_cases(ForecastTable.of(Y, P), P)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (np.stack([ROWS, ROWS]), {}, r"y_proba must be of shape \(n,\), \(n, 1\), \(n, 2\) or \(n, K\); got"),
        (np.empty((0, 2)), {}, "y_proba must hold at least one case; it is empty"),
        (np.ma.array(ROWS, mask=ROWS == 0.8), {}, "y_proba must not hold missing values"),
        (ROWS * 2, {}, r"y_proba must lie in \[0, 1\]"),
        (ROWS, {"labels": ["a", "b"]}, "got 2 labels for 3 columns"),
    ],
    ids=["three dimensions", "empty", "missing", "outside", "labels"],
)
def test_forecasts_alone_are_checked_as_well(rows, options, message):
    with pytest.raises(InputValueError, match=message):
        read_forecast(rows, **options)
