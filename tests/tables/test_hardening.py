"""Faults that a careful user could still have met: each once reproduced, now told or right."""

import decimal
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.tables.forecast_table import ForecastTable

Y, P = [0, 1, 1, 0], [0.2, 0.4, 0.9, 0.3]
ROWS = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
SCORE = float(pr.brier_score(Y, P))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"no", "yes"}, "labels must be a list of labels in the order of the columns; got set"),
        ("ny", "got str"),
        (1, "got int"),
        ([["no"], ["yes"]], "labels must be single values"),
    ],
)
def test_labels_without_an_order_are_refused(labels, message):
    with pytest.raises(InputTypeError, match=message):
        pr.brier_score(["no", "yes"], [0.2, 0.4], labels=labels)


@pytest.mark.parametrize("names", [[1, 0, 2], [1.0, 0.0, 2.0], ["1", "0", "2"]])
@pytest.mark.parametrize("labels", [None, [0, 1, 2]])
def test_columns_named_as_classes_are_matched_whatever_their_order(names, labels):
    rows = np.array(ROWS)[:, [1, 0, 2]]
    assert pr.brier_score([0, 1, 2], pd.DataFrame(ROWS, columns=names), labels=labels) == pr.brier_score(
        [0, 1, 2], rows
    )


def test_columns_with_other_names_are_refused():
    frame = pd.DataFrame(ROWS, columns=["p_low", "p_mid", "p_high"])
    with pytest.raises(InputValueError, match=r"like the labels \[0, 1, 2\]; got \['p_low', 'p_mid', 'p_high'\]"):
        pr.brier_score([0, 1, 2], frame)
    assert pr.brier_score([0, 1, 2], frame.to_numpy()) == pr.brier_score([0, 1, 2], ROWS)


@pytest.mark.parametrize(
    ("reference", "kind", "message"),
    [
        (np.ma.array([0.2, 0.3, 0.5], mask=[1, 0, 0]), MissingValuesError, "reference must not hold missing values"),
        (pd.Series({"A": 0.5, "B": 0.2, "C": 0.3}), InputValueError, "reference must have .* like the labels"),
        (["x", "y", "z"], InputTypeError, "reference must hold real numbers"),
        ([None, 0.5, 0.5], MissingValuesError, "reference must not hold missing values"),
        ([0.2, 0.3, 0.6], InputValueError, "the rows of reference must sum to 1"),
        ([0.2, 1.3, -0.5], InputValueError, "reference must lie in"),
        (0.5, InputTypeError, "reference must be an array"),
    ],
)
def test_a_reference_passes_the_same_door(reference, kind, message):
    with pytest.raises(kind, match=message):
        pr.skill_score(list("abc"), ROWS, rule=pr.Brier(), reference=reference, labels=list("abc"))


def test_a_rate_may_be_any_single_number():
    expected = pr.skill_score(Y, P, rule=pr.Brier(), reference=0.25)
    table = ForecastTable.from_predictions(Y, P)
    for rate in (np.float32(0.25), np.array(0.25), np.float64(0.25)):
        assert pr.skill_score(Y, P, rule=pr.Brier(), reference=rate) == expected
    assert pr.skill_score(table, rule=pr.Brier(), reference=np.float32(0.25)) == pytest.approx(expected)
    with pytest.raises(InputTypeError, match="reference must hold real numbers; got complex"):
        pr.skill_score(Y, P, rule=pr.Brier(), reference=1j)
    with pytest.raises(InputValueError, match=r"reference must lie in \[0, 1\]; got 1\.5"):
        pr.skill_score(table, rule=pr.Brier(), reference=1.5)


def test_an_infinite_reference_cannot_be_improved_on():
    with pytest.raises(InputValueError, match="positive, finite loss"):
        pr.skill_score([1, 0], [0.5, 0.5], rule=pr.Log(), reference=[0.0, 0.5])


def test_indices_are_compared_between_all_arguments():
    weight = pd.Series([1.0, 2.0, 3.0, 4.0], index=[3, 2, 1, 0])
    with pytest.raises(InputValueError, match="y_proba and sample_weight carry different indices"):
        pr.brier_score(Y, pd.Series(P), sample_weight=weight)


@pytest.mark.parametrize("size", [1e308, 1e160, 1e-200])
def test_weights_beyond_their_squares_are_refused(size):
    for analysis in (pr.brier_score, ForecastTable.from_predictions):
        with pytest.raises(InputValueError, match=r"sample_weight must have squares.*divide the weights by their mean"):
            analysis(Y, P, sample_weight=[size] * 4)


@pytest.mark.parametrize("p", [np.nextafter(0.5, 0), np.nextafter(0.5, 1)])
def test_misclassification_next_to_an_even_chance(p):
    wrong = float(p < 0.5)
    assert pr.case_scores([1, 0], [p, p], rule=pr.Misclassification()).tolist() == [wrong, 1 - wrong]


@pytest.mark.parametrize("clip", [1e-17, 1e-16, 1e-15, 1e-3])
def test_a_clip_holds_on_both_sides(clip):
    expected = -math.log(clip)
    for y, p in ((1, 0.0), (0, 1.0)):
        assert pr.log_score([y], [p], clip=clip) == pytest.approx(expected, rel=1e-15)
        assert pr.log_score([y], [[1 - p, p]], clip=clip) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("label", [np.array(Y), [1], (1,)])
def test_a_positive_label_is_a_single_one(label):
    with pytest.raises(InputTypeError, match="pos_label must be a single label"):
        pr.brier_score(Y, P, pos_label=label)


def test_a_positive_label_of_another_kind_than_the_outcomes_is_refused():
    for y, label in (([1, 1], "1"), (["1", "1"], 1)):
        with pytest.raises(InputValueError, match=r"labels of the same type as pos_label.*labels="):
            pr.brier_score(y, [0.9, 0.9], pos_label=label)


def test_dropping_rows_does_not_change_the_kind_of_labels():
    y = np.array(["1", None, 1], dtype=object)
    losses = pr.case_scores(pr.cases(y, [0.9, 0.5, 0.9], pos_label="1", missing="drop"), rule=pr.Brier())
    np.testing.assert_allclose(losses, [0.01, np.nan, 0.81])


def test_a_masked_array_does_not_hide_other_missing_values():
    y = np.ma.array(["a", None, "a"], dtype=object)
    with pytest.raises(MissingValuesError, match="row 1 is missing"):
        pr.brier_score(y, [0.9, 0.5, 0.9], pos_label="a")


def test_beta_regret_near_impossibility():
    """Against mpmath at 30 digits."""
    assert pr.BetaRegret(0.1, 1).loss(np.array([1e-20]), event=True)[0] == pytest.approx(0.89909, abs=5e-6)


def test_a_high_order_does_not_underflow():
    assert pr.mean_score([0], [[0.3, 0.3, 0.4]], rule=pr.Pseudospherical(1100)) == pytest.approx(1 / 1099, rel=1e-9)
    with pytest.raises(InputValueError, match=r"Hint: closer to 1 the family is the log score"):
        pr.Tsallis(1 + 1e-13)


@pytest.mark.parametrize("low", [1e-9, 0.2])
@pytest.mark.parametrize("rule", [pr.BoundedBrier, pr.BoundedLog, pr.BoundedNetBenefit])
@pytest.mark.parametrize("event", [True, False])
def test_narrow_intervals_keep_their_digits(rule, low, event):
    """The mean over a narrow interval is the regret in its middle, times the weight there that the score has."""
    high = low * (1 + 1e-6)
    middle = (low + high) / 2
    p = 0.0 if event else 1.0
    regret = 1 - middle if event else middle
    factor = 1 / (1 - middle) if rule is pr.BoundedNetBenefit else 1.0
    assert rule(low, high).loss(p, event=event) == pytest.approx(regret * factor, rel=1e-8)


def test_a_grid_never_makes_certainties():
    table = ForecastTable.from_predictions([0], [1 - 2**-53])
    for cells in (2**53, 2**1100, True, 0, -4, 1.5):
        with pytest.raises(InputValueError, match="power of two"):
            table.grid(cells)
    assert table.grid(2**52).forecast[0] < 1


def test_rows_must_sum_to_one_under_every_score():
    rows = np.array([[0.3, 0.69], [0.5, 0.5]])
    scores = [pr.brier_score, pr.log_score, pr.spherical_score, pr.ranked_probability_score]
    scores += [pr.squared_absolute_ranked_probability_score, pr.penalized_brier_score, pr.penalized_log_score]
    for score in scores:
        with pytest.raises(InputValueError, match="divide each row by its sum"):
            score([0, 1], rows)


def test_bounded_scores_say_that_they_are_of_one_event():
    for score in (pr.bounded_brier_score, pr.bounded_log_score, pr.bounded_net_benefit):
        with pytest.raises(InputValueError, match="scores the forecast of one event; got rows"):
            score([0, 1, 2], ROWS, thresholds=(0.1, 0.2))


CONTAINERS = {
    "arrow series": (pd.Series(Y), pd.Series(P, dtype="double[pyarrow]")),
    "polars decimals": (Y, pl.Series([decimal.Decimal(str(p)) for p in P])),
    "arrow decimals": (Y, pa.chunked_array([[decimal.Decimal(str(p)) for p in P]])),
    "decimals in a list": (Y, [decimal.Decimal(str(p)) for p in P]),
    "decimals and floats": (Y, [decimal.Decimal(str(P[0])), *P[1:]]),
    "pandas decimals": (pd.Series(Y).map(decimal.Decimal), pd.Series([decimal.Decimal(str(p)) for p in P])),
    "masked decimals": (Y, np.ma.array([decimal.Decimal(str(p)) for p in P])),
    "int128": (pl.Series(Y, dtype=getattr(pl, "Int128", pl.Int64)), P),
    "object floats as outcomes": (np.array([0.0, 1.0, 1.0, 0.0], dtype=object), P),
    "categories of floats": (pd.Series([0.0, 1.0, 1.0, 0.0], dtype="category"), P),
    "float16": (Y, np.array(P, dtype=np.float16)),
}


@pytest.mark.parametrize(("y", "p"), CONTAINERS.values(), ids=CONTAINERS)
def test_more_containers(y, p):
    assert pr.brier_score(y, p) == pytest.approx(SCORE, rel=1e-3 if getattr(p, "dtype", None) == np.float16 else 1e-15)


def test_rows_of_arrow_dtype_and_classes_held_as_categories():
    expected = pr.brier_score([0, 1, 2], ROWS)
    assert pr.brier_score([0, 1, 2], pd.DataFrame(ROWS).astype("double[pyarrow]")) == pytest.approx(expected)
    assert pr.brier_score(pd.Series([0, 1, 2], dtype="category"), ROWS) == expected
    assert pr.brier_score(np.array([0, 1, 2], dtype=object), ROWS) == expected


def test_decimals_of_pandas_are_numbers_wherever_they_stand():
    frame = pd.DataFrame({"y": Y, "w": [1, 2, 3, 4], "p": P}).map(lambda value: decimal.Decimal(str(value)))
    assert set(frame.dtypes) == {np.dtype(object)}
    expected = pr.brier_score(Y, P, sample_weight=[1, 2, 3, 4])
    assert pr.brier_score(frame["y"], frame["p"], sample_weight=frame["w"]) == expected
    assert pr.estimate(frame, "p", outcome="y", sample_weight="w").value == pytest.approx(expected, rel=1e-15)
    rows = pd.DataFrame(ROWS).map(lambda value: decimal.Decimal(str(value)))
    assert pr.brier_score([0, 1, 2], rows) == pr.brier_score([0, 1, 2], rows.to_numpy().tolist())
    assert pr.brier_score([0, 1, 2], rows) == pytest.approx(pr.brier_score([0, 1, 2], ROWS), rel=1e-15)


def test_missing_decimals_can_be_dropped():
    p = [decimal.Decimal(str(P[0])), decimal.Decimal("nan"), None, decimal.Decimal(str(P[3]))]
    for given in (p, pd.Series(p), np.array(p), np.ma.array(p)):
        expected = pr.brier_score([Y[0], Y[3]], [P[0], P[3]])
        assert pr.brier_score(pr.cases(Y, given, missing="drop")) == expected


def test_whole_numbers_beyond_64_bits_are_told():
    with pytest.raises(InputValueError, match="y_true must hold 0 and 1"):
        pr.brier_score([0, 2**70, 1, 0], P)


def test_frames_with_strange_columns():
    frame = pd.DataFrame([[0, 0.2, "a"], [1, 0.7, "b"]], columns=[0, 1, 2])
    assert ForecastTable.from_frame(frame, outcome=0, forecast=1).n == 2
    twice = pd.DataFrame([[0, 0.2, 9], [1, 0.7, 9]], columns=["y", "p", "p"])
    with pytest.raises(InputValueError, match="frame must have distinct column names"):
        ForecastTable.from_frame(twice, outcome="y", forecast="p")
    with pytest.raises(InputValueError, match="y_proba must have distinct column names"):
        pr.brier_score([0, 1], twice[["p"]])


def test_groups_come_in_order_and_name_themselves_in_errors():
    frame = pl.DataFrame({"y": [0, 1, 1, 0], "p": [0.1, 0.2, 0.3, 0.4], "g": ["b", "a", None, "b"]})
    assert list(ForecastTable.from_frame(frame, outcome="y", forecast="p", by="g")) == ["a", "b", None]
    numbers = pl.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.2, 0.3], "g": [10, 9, 2]})
    assert list(ForecastTable.from_frame(numbers, outcome="y", forecast="p", by="g")) == [2, 9, 10]
    assert None in ForecastTable.from_frame(frame.to_pandas(), outcome="y", forecast="p", by="g")
    with pytest.raises(InputValueError, match=r"In the group 'a': y_proba must lie in \[0, 1\]"):
        ForecastTable.from_frame(frame.with_columns(p=pl.col("p") * 6), outcome="y", forecast="p", by="g")
    with pytest.raises(InputValueError, match="by must name at least one column"):
        ForecastTable.from_frame(frame, outcome="y", forecast="p", by=[])


def test_a_table_neither_freezes_nor_follows_the_callers_arrays():
    forecast = np.array([0.1, 0.4])
    table = ForecastTable(forecast=forecast, events=np.ones(2), non_events=np.ones(2))
    forecast[0] = 0.9
    assert table.forecast.tolist() == [0.1, 0.4]


@pytest.mark.parametrize(
    "fault",
    [
        *({"dropped": -1}, {"dropped": "x"}, {"cells": 3}, {"cells": "a"}, {"n": True}, {"n": 1}),
        *({"n_events": None}, {"n_events": -1}, {"n_events": 3}, {"n_events": 1.0}, {"event_squares": [1.0] * 4}),
    ],
    ids=str,
)
def test_the_plain_fields_of_a_table_are_checked(fault):
    stored = ForecastTable.from_predictions(Y, P).to_dict()
    with pytest.raises(InputValueError):
        ForecastTable.from_dict(stored | fault)


def test_numpy_numbers_in_the_fields_become_plain(tmp_path):
    table = ForecastTable(
        forecast=[0.1], events=[1], non_events=[1], n=np.int64(2), n_events=np.int16(1), dropped=np.int8(0)
    )
    table.to_parquet(tmp_path / "t.parquet")
    assert ForecastTable.from_parquet(tmp_path / "t.parquet").n == 2


def test_many_tables_merge_at_once():
    tables = [ForecastTable.from_predictions(Y, np.array(P) + k / 100) for k in range(5)]
    merged = ForecastTable.merge(tables)
    np.testing.assert_array_equal(merged.forecast, sum(tables).forecast)
    np.testing.assert_array_equal(merged.events, sum(tables).events)
    with pytest.raises(InputValueError, match="at least one table"):
        ForecastTable.merge([])


class Plain(pr.BinaryRule):
    def loss(self, p, *, event, ops=None):
        return abs(p - event)


class Flat(pr.BinaryRule):
    def loss(self, p, *, event, ops=None):
        return 1.0 if event else 0.5


class Broken(pr.BinaryRule):
    def loss(self, p, *, event, ops=None):
        return p * math.nan


class FlatByClass(pr.ClassRule):
    def class_loss(self, p, *, outcome, ops=None):
        return 1.0


@pytest.mark.slow
def test_a_users_plain_rule_is_scored_and_audited():
    assert pr.mean_score(Y, P, rule=Plain()).rule == "Plain()"
    assert Plain().name == "Plain"
    assert not pr.audit(Plain())["proper"].holds
    table = ForecastTable.from_predictions(Y, P)
    assert pr.mean_score(Y, P, rule=Flat()) == pr.mean_score(table, rule=Flat()) == 0.75
    assert pr.audit(Flat())["proper"].holds
    assert pr.mean_score([0, 1, 2], ROWS, rule=FlatByClass()) == 1.0
    assert not pr.audit(FlatByClass())["strictly_proper"].holds
    for broken in (lambda: pr.mean_score(Y, P, rule=Broken()), lambda: pr.audit(Broken())):
        with pytest.raises(InputValueError, match=r"Broken\(\) must return numbers"):
            broken()


def test_half_a_declared_range_is_checked():
    class Claimed(Plain):
        def properties(self, classes=None):
            return pr.Properties(worst=2.0)

    assert pr.audit(Claimed())["range"].counterexample is not None


@pytest.mark.parametrize("thresholds", [(0.1, 0.2, 0.3), (0.1,), 0.1, None, "ab"])
def test_thresholds_are_a_pair(thresholds):
    with pytest.raises(InputTypeError, match="thresholds must be a pair"):
        pr.bounded_brier_score(Y, P, thresholds=thresholds)


WRONG_KINDS = {
    "thresholds": lambda: pr.BoundedBrier("a", "b"),
    "clip": lambda: pr.Log(clip="a"),
    "order": lambda: pr.Tsallis("2"),
    "threshold": lambda: pr.Elementary(np.array([0.1, 0.2])),
    "alpha": lambda: pr.BetaRegret("a", 1),
    "classes": lambda: pr.audit(pr.Brier(), classes=3.0),
    "truth": lambda: pr.audit(pr.Brier(), truth="a"),
    "missing": lambda: pr.brier_score(pr.cases(Y, P, missing=np.array([1, 2]))),
    "backend": lambda: ForecastTable.from_predictions(Y, P).to_frame(backend="foo"),
}


@pytest.mark.parametrize("make", WRONG_KINDS.values(), ids=WRONG_KINDS)
def test_parameters_of_the_wrong_kind_are_told(make):
    with pytest.raises(pr.errors.ProprietyError):
        make()


def test_a_table_does_not_know_its_cases():
    with pytest.raises(InputTypeError, match="holds no individual cases"):
        pr.case_scores(ForecastTable.from_predictions(Y, P), None, rule=pr.Brier())


def test_many_labels_are_resolved_by_one_sort():
    rng = np.random.default_rng(0)
    labels = [f"class {k}" for k in range(40)]
    index = rng.integers(0, 40, 500)
    rows = rng.dirichlet(np.ones(40), 500)
    assert pr.brier_score(np.array(labels)[index], rows, labels=labels) == pr.brier_score(index, rows)
    with pytest.raises(InputValueError, match="row 0 is 'other'"):
        pr.brier_score(np.array(["other", *labels[1:]]), rows[:40], labels=labels)


def test_a_null_outcome_on_an_engine_is_not_a_non_event():
    import narwhals as nw

    from propriety.rules.operations import NARWHALS

    frame = nw.from_native(pl.LazyFrame({"p": [0.5, 0.5, 0.5], "y": [False, True, None]}))
    losses = frame.select(pr.Brier().case_loss(nw.col("p"), nw.col("y"), ops=NARWHALS).alias("loss"))
    assert losses.collect().to_native()["loss"].to_list() == [0.25, 0.25, None]


@pytest.mark.nightly
@pytest.mark.parametrize(("classes", "superior"), [(4, True), (5, False), (6, False)])
def test_split_ties_of_the_penalized_log_score_with_many_classes(classes, superior):
    finding = pr.audit(pr.PenalizedLog(), classes=classes)["superior"]
    assert finding.declared == finding.holds == superior
    assert pr.audit(pr.PenalizedBrier(), classes=classes)["superior"].holds
