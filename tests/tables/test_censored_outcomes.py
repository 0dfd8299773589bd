"""Outcomes by a horizon: weights of inverse probability of censoring, their sums, and what is rejected."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sliced import slices

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.inference.finding_words import caveats, note_words, notes_of
from propriety.tables.forecast_table import ForecastTable


def follow_ups():
    """Return lists of (time, how it ended, group): few distinct times, so that ties are common."""
    case = st.tuples(st.integers(1, 8), st.sampled_from([0, 0, 1, 2]), st.integers(0, 1))
    return st.lists(case, min_size=2, max_size=40)


def aalen_johansen(time, status, horizon):
    """Probability of the event (status 1) by the horizon with competing events (status 2), step by step."""
    survival, found = 1.0, 0.0
    for u in np.unique(time[time <= horizon]):
        at_risk = np.count_nonzero(time >= u)
        here = time == u
        found += survival * np.count_nonzero(here & (status == 1)) / at_risk
        survival *= 1.0 - np.count_nonzero(here & (status != 0)) / at_risk
    return found


@given(cases=follow_ups(), horizon=st.sampled_from([1, 2.5, 4, 6, 8]))
def test_weights_sum_to_the_number_of_cases_and_give_aalen_johansen(cases, horizon):
    time, status, _ = map(np.array, zip(*cases, strict=True))
    time, status = np.append(time, 9), np.append(status, 0)  # Somebody is followed up.
    found = pr.censored(time, status == 1, horizons=horizon, competing=status == 2)
    assert found.only().weight.sum() == pytest.approx(len(time), abs=1e-10)
    assert found.event_probability[0] == pytest.approx(aalen_johansen(time, status, horizon), abs=1e-12)
    assert found.events[0] + found.competing[0] + found.event_free[0] + found.censored[0] == len(time)


@given(cases=follow_ups())
def test_each_group_has_its_own_curve(cases):
    time, status, group = map(np.array, zip(*cases, strict=True))
    time = np.append(time, [9, 9])  # Both groups are followed up.
    status, group = np.append(status, [0, 0]), np.append(group, [0, 1])
    found = pr.censored(time, status == 1, horizons=6, competing=status == 2, groups=group).only()
    for one in (0, 1):
        own = group == one
        alone = pr.censored(time[own], status[own] == 1, horizons=6, competing=status[own] == 2).only()
        assert np.allclose(found.weight[own], alone.weight, rtol=1e-12)


def test_without_censoring_nothing_changes():
    time, event = np.array([1.0, 2.0, 3.0, 4.0]), [1, 0, 1, 0]
    p = [0.7, 0.2, 0.6, 0.3]
    outcome = pr.censored(time + 10.0 * (np.array(event) == 0), event, horizons=5)
    assert outcome.only().weight.tolist() == [1.0] * 4
    assert pr.brier_score(outcome, p) == pr.brier_score(event, p)
    assert pr.condense(outcome, p).censoring is None
    found, plain = pr.estimate(outcome, p), pr.estimate(event, p)
    assert (found.low, found.high, found.method, found.notes) == (plain.low, plain.high, plain.method, plain.notes)


def test_events_come_before_censoring_at_tied_times():
    found = pr.censored([1, 1, 2, 3], [1, 0, 1, 0], horizons=2.5).only()
    # The event at 1 is not at risk of censoring at 1, so one of the other three is censored.
    assert found.weight.tolist() == pytest.approx([1.0, 0.0, 1.5, 1.5])


def test_censored_exactly_at_the_horizon_is_followed_up():
    found = pr.censored([1, 2, 2], [1, 0, 0], horizons=2)
    assert (found.censored[0], found.event_free[0]) == (0, 2)


def test_as_an_array_unknown_outcomes_are_nan():
    values = np.asarray(pr.censored([1, 2, 3], [1, 0, 0], horizons=2.5))
    assert values[[0, 2]].tolist() == [1.0, 0.0]
    assert np.isnan(values[1])


def test_weights_of_a_function_are_used_as_given():
    time, event = [1.0, 2.0, 3.0], [1, 0, 1]
    outcome = pr.censored(time, event, horizons=2.5, weights=lambda t: 0.9**t)
    assert outcome.only().weight.tolist() == pytest.approx([1 / 0.9, 0.0, 1 / 0.9**2.5])
    assert not outcome.only().censoring.is_estimated


def test_fifths_of_the_forecast_have_curves_of_their_own():
    time, event = np.tile([1.0, 2.0, 3.0], 20), np.tile([0, 1, 0], 20)
    p = np.arange(60) / 60
    by_fifth = pr.censored(time, event, horizons=2.5, forecast=p)
    by_group = pr.censored(time, event, horizons=2.5, groups=np.arange(60) // 12)
    assert by_fifth.only().weight.tolist() == by_group.only().weight.tolist()


def test_a_test_shows_that_censoring_depends_on_the_forecast():
    place = np.arange(400)
    p, late = place / 400, (place * 0.6180339887498949) % 1.0
    time = 1.0 + late * (0.2 + 2.0 * (1.0 - p))  # High forecasts are censored sooner.
    outcome = pr.censored(time, place % 3 == 0, horizons=1.15)
    assert outcome.dependence(p) < 1e-4
    assert "depends on the forecasts" in notes_of(pr.estimate(outcome, p))
    assert "depends on the forecasts" in notes_of(pr.compare(outcome, {"a": p, "b": p**2}).differences[0])
    said = note_words(pr.check_calibration(outcome, p, seed=1)[0].note("censoring"))
    assert said.count("depends on the forecasts") == 1
    groups = slices(outcome, p, by=place % 2)
    assert all("depends on the forecasts" in one for one in groups.note[np.isfinite(groups.p_value)])
    assert not pr.estimate(pr.censored(time, place % 3 == 0, horizons=1.15, forecast=p), p).note("censoring")
    assert outcome.dependence((place * 0.7548776662466927) % 1.0) > 0.05


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"event": [1, 0, 2]}, InputValueError, "competing="),
        ({"event": [1, 0]}, InputValueError, "one entry per case"),
        ({"time": [], "event": []}, InputValueError, "time must hold at least one case"),
        ({"time": [1, -2, 3]}, InputValueError, "not negative"),
        ({"time": [1, np.nan, 3]}, MissingValuesError, "missing"),
        ({"competing": [1, 0, 0]}, InputValueError, "both"),
        ({"entry": [0, 0, 1]}, InputValueError, "restart the clock"),
        ({"horizons": [2, 1]}, InputValueError, "increase"),
        ({"horizons": "1"}, InputTypeError, "positive numbers"),
        ({"horizons": 4}, InputValueError, "nobody is followed up until 4"),
        ({"weights": "cox"}, InputValueError, "km"),
        ({"weights": lambda t: 0.0 * t}, InputValueError, "above 0"),
        ({"weights": "aalen-johansen"}, InputValueError, "competing="),
        ({"weights": np.ones(3)}, InputValueError, "got ndarray.*function"),
        ({"groups": [1, 1]}, InputValueError, "one entry per case"),
    ],
)
def test_what_is_rejected(given, error, said):
    arguments = {"time": [1, 2, 3], "event": [1, 0, 0], "horizons": 2.5} | given
    with pytest.raises(error, match=said):
        pr.censored(arguments.pop("time"), arguments.pop("event"), **arguments)


def test_the_group_without_follow_up_is_named():
    with pytest.raises(InputValueError, match="until 5 in group 'b'"):
        pr.censored([9, 1, 1], [0, 1, 0], horizons=5, groups=["a", "b", "b"])


def test_entry_at_zero_is_accepted():
    assert pr.censored([1, 3], [1, 0], horizons=2, entry=[0, 0]).n == 2


def test_several_horizons_are_used_one_at_a_time():
    both = pr.censored([1, 2, 3], [1, 0, 0], horizons=[1.5, 2.5])
    with pytest.raises(InputValueError, match=r"one horizon is needed.*\.at\(1\.5\)"):
        pr.brier_score(both, [0.1, 0.2, 0.3])
    alone = pr.censored([1, 2, 3], [1, 0, 0], horizons=2.5)
    assert pr.brier_score(both.at(2.5), [0.1, 0.2, 0.3]) == pr.brier_score(alone, [0.1, 0.2, 0.3])
    with pytest.raises(InputValueError, match=r"one of 1\.5, 2\.5"):
        both.at(2)


@pytest.mark.parametrize("shared", ["sample_weight", "period"])
def test_weights_and_periods_are_rejected(shared):
    outcome = pr.censored([1, 2, 3], [1, 0, 0], horizons=2.5)
    with pytest.raises(InputValueError, match="not supported with censored outcomes"):
        pr.estimate(outcome, [0.1, 0.2, 0.3], **{shared: [1, 2, 3]})


@pytest.mark.parametrize("coding", [{"pos_label": 0}, {"labels": [1, 0]}])
def test_labels_are_rejected(coding):
    outcome = pr.censored([1, 2, 3], [1, 0, 0], horizons=2.5)
    with pytest.raises(InputValueError, match=f"{next(iter(coding))} is not supported with censored outcomes"):
        pr.estimate(outcome, [0.1, 0.2, 0.3], **coding)


def test_a_horizon_may_be_an_array_without_dimensions():
    assert pr.censored([1, 2, 3], [1, 0, 0], horizons=np.array(2)).horizon.tolist() == [2.0]


def test_ledgers_are_neither_stored_nor_added(tmp_path):
    def ledger(horizon):
        return pr.condense(pr.censored([1, 2, 3, 4], [1, 0, 1, 0], horizons=horizon), [0.4, 0.2, 0.3, 0.1])

    with pytest.raises(InputValueError, match=r"cannot be stored.*store the cases"):
        ledger(3.5).to_parquet(tmp_path / "ledger")
    with pytest.raises(InputValueError, match="cannot be added"):
        ledger(3.5) + ledger(2.5)
    with pytest.raises(InputValueError, match="put on a grid"):
        ledger(3.5).grid(16)
    assert sum([ledger(3.5)]).n == 3
    assert not any(tmp_path.iterdir())


def test_classes_are_rejected():
    outcome = pr.censored([1, 2, 3], [1, 0, 0], horizons=2.5)
    with pytest.raises(InputValueError, match="one event"):
        pr.brier_score(outcome, np.full((3, 3), 1 / 3))


def test_rows_keep_their_numbers_and_indices():
    pandas = pytest.importorskip("pandas")
    time = pandas.Series([1.0, 2.0, 3.0], index=[7, 8, 9])
    outcome = pr.censored(time, [1, 0, 0], horizons=2.5)
    assert pr.worst_cases(outcome, [0.9, 0.5, 0.8]).case.tolist() == [2, 0]
    with pytest.raises(InputValueError, match="different indices"):
        pr.brier_score(outcome, pandas.Series([0.1, 0.2, 0.3], index=[1, 2, 3]))


def test_dropped_rows_keep_their_weights():
    outcome = pr.censored([1, 2, 3, 4], [1, 0, 0, 1], horizons=2.5)
    table = ForecastTable.from_predictions(outcome, [0.1, 0.2, np.nan, 0.3], missing="drop")
    assert table.dropped == 1
    assert table.weights.tolist() == pytest.approx([1.0, 1.5])


def test_a_note_says_if_few_cases_are_followed_up():
    time, event = np.append(np.arange(1.0, 100.0), [200.0] * 5), np.arange(104) % 3 == 0
    p = np.linspace(0.1, 0.6, 104)
    outcome = pr.censored(time, event, horizons=150)
    assert "followed up until 150: the interval may be too narrow" in caveats(pr.estimate(outcome, p))
    said = note_words(pr.check_calibration(outcome, p, seed=1)[0].note("few-followed"))
    assert said.count("followed up until 150") == 1
    assert "the test may reject too often" in said
    assert not pr.estimate(pr.censored(time, event, horizons=50), p).note("few-followed")


def test_a_test_of_known_outcomes_is_rejected():
    outcome = pr.censored([1, 2, 3], [1, 0, 0], horizons=2.5)
    with pytest.raises(InputValueError, match="must hold known outcomes"):
        pr.compare(outcome, {"a": [0.1, 0.2, 0.3], "b": [0.2, 0.2, 0.1]}, method="paired t")


def test_losses_of_censored_cases_are_nan():
    losses = pr.case_scores(pr.censored([1, 2, 3], [1, 0, 0], horizons=2.5), [0.5, 0.5, 0.5], rule=pr.Brier())
    assert losses.tolist() == pytest.approx([0.25, math.nan, 0.25], nan_ok=True)


def test_functions_without_weights_reject_censored_outcomes():
    outcome = pr.censored([1, 2, 3], [1, 0, 0], horizons=2.5)
    for called in (
        lambda: pr.quadratic_weighted_kappa(pr.cases(outcome, [1, 0, 1], missing="drop")),
        lambda: pr.expected_cost(pr.cases(outcome, [1, 0, 1], missing="drop"), cost=[[0, 1], [2, 0]]),
    ):
        with pytest.raises(InputTypeError, match="weighted for censoring"):
            called()


@pytest.mark.product("monitoring")
def test_monitors_reject_censored_outcomes():
    outcome, p = pr.censored([1, 2, 3], [1, 0, 0], horizons=2.5), [0.5, 0.4, 0.5]
    with pytest.raises(InputValueError, match="cases without weights"):
        pr.monitor(outcome, p, period=[1, 2, 3])


@pytest.mark.product("segments")
def test_the_search_for_segments_rejects_censored_outcomes():
    outcome, p = pr.censored([1, 2, 3], [1, 0, 0], horizons=2.5), [0.5, 0.4, 0.5]
    with pytest.raises(InputTypeError, match="weighted for censoring"):
        pr.find_segments(pr.cases(outcome, p, by={"site": ["a", "b", "a"]}))


@pytest.mark.parametrize("horizon", [[2.0], np.array([1.0, 2.0]), "2", None, 5.0])
def test_an_unknown_horizon_is_named(horizon):
    outcomes = pr.censored([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1], horizons=[1.5, 2.0])
    with pytest.raises(InputValueError, match=r"horizon must be one of 1\.5, 2\.0"):
        outcomes.at(horizon)


PER_CASE = {
    "time": [1.0, 2.0, 3.0, 4.0, 5.0],
    "event": [1, 0, 1, 0, 0],
    "competing": [0, 0, 0, 1, 0],
    "groups": ["a", "a", "a", "a", "a"],
    "forecast": [0.5, 0.5, 0.5, 0.5, 0.5],
    "entry": [0, 0, 0, 0, 0],
    "sample_weight": [1.0, 2.0, 1.0, 2.0, 1.0],
}


@pytest.mark.parametrize("other", list(PER_CASE))
def test_the_same_labels_in_another_order_are_rejected(other):
    pandas = pytest.importorskip("pandas")
    given = {name: pandas.Series(values) for name, values in PER_CASE.items()}
    assert pr.censored(**given, horizons=3).n == 5
    given[other] = given[other].sample(frac=1, random_state=1)
    with pytest.raises(InputValueError, match=f"{other}.* carry different indices"):
        pr.censored(**given, horizons=3)
    given[other] = PER_CASE[other]
    assert pr.censored(**given, horizons=3).n == 5  # A list goes by position.
    given[other] = pandas.Series(PER_CASE[other][:4])
    with pytest.raises(InputValueError, match="must have one entry per case"):
        pr.censored(**given, horizons=3)


def test_an_index_of_any_argument_is_that_of_the_outcomes():
    pandas = pytest.importorskip("pandas")
    event = pandas.Series([1, 0, 0], index=[7, 8, 9])
    outcome = pr.censored([1.0, 2.0, 3.0], event, horizons=2.5)
    forecast = pandas.Series([0.1, 0.2, 0.3], index=[7, 8, 9])
    assert pr.brier_score(outcome, forecast) == pr.brier_score(outcome, forecast.to_numpy())
    assert outcome.dependence(forecast) == outcome.dependence(forecast.to_numpy())
    for called in (lambda p: pr.brier_score(outcome, p), outcome.dependence):
        with pytest.raises(InputValueError, match="different indices"):
            called(forecast[::-1])


@pytest.mark.parametrize("options", [{}, {"weights": lambda t: 0.9**t}, {"groups": ["a", "a", "b", "b", "b"]}])
@pytest.mark.parametrize("last", [0, 1])
def test_a_horizon_after_the_last_time_is_rejected_however_it_ended(options, last):
    time, event = [1, 2, 3, 4, 5], [1, 0, 1, 0, last]
    said = r"horizons must be within the follow-up; nobody is followed up until 1000; the last time is 5\. Hint: use an"
    with pytest.raises(InputValueError, match=said):
        pr.censored(time, event, horizons=[1, 1000], **options)


def test_a_horizon_at_the_last_time_is_accepted():
    found = pr.censored([1, 2, 3, 4, 5], [1, 0, 1, 0, 1], horizons=5)
    assert (found.events[0], found.event_probability[0]) == (3, 1.0)


def test_all_cases_of_a_group_may_have_the_event_before_the_horizon():
    found = pr.censored([1, 2, 3, 9], [1, 0, 1, 0], horizons=5, groups=["a", "a", "a", "b"])
    assert found.only().weight.tolist() == [1.0, 0.0, 2.0, 1.0]


@pytest.mark.parametrize("argument", list(PER_CASE))
def test_a_missing_value_cannot_be_dropped_here(argument):
    given = PER_CASE | {argument: [*PER_CASE[argument][:4], None]}
    said = rf"{argument} must not hold missing values .*row 4 .*Hint: leave such cases out of both the outcomes and"
    with pytest.raises(MissingValuesError, match=said):
        pr.censored(**given, horizons=3)


def test_a_missing_forecast_cannot_be_tested():
    outcome = pr.censored([1, 2, 3], [1, 0, 0], horizons=2.5)
    with pytest.raises(MissingValuesError, match=r"y_proba must not hold missing values .*leave such cases out"):
        outcome.dependence([0.1, math.nan, 0.3])


@pytest.mark.parametrize(
    ("time", "hint"),
    [
        (np.array([3, 4], dtype="m8[D]"), "divide it by a unit, such as numpy.timedelta64"),
        (np.array(["2026-01-01", "2026-01-02"], dtype="M8[D]"), "subtract the moment from which it counts"),
    ],
    ids=["durations", "dates"],
)
def test_times_with_units_of_their_own_are_refused_with_advice(time, hint):
    with pytest.raises(InputTypeError, match=hint):
        pr.censored(time, [1, 0], horizons=3.5)
