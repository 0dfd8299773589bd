"""Columns that have names are matched to the labels or refused; they are never read by position without a word."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.recalibration import IdentityMap, MatrixMap

RNG = np.random.default_rng(0)
N = 120
ROWS = RNG.dirichlet(np.ones(3), N)
GRADE = np.array([RNG.choice(3, p=row) for row in ROWS])
WORD = np.array(["low", "mid", "high"])[GRADE]
P = RNG.random(N)
Y = (RNG.random(N) < P).astype(int)
YES = np.where(Y == 1, "yes", "no")
FRAMES = {"pandas": pd.DataFrame, "Polars": pl.DataFrame, "PyArrow": pa.table}


def polars_struct(columns):
    return pl.DataFrame(columns).to_struct("forecast")


def arrow_struct(columns):
    return pa.StructArray.from_arrays([pa.array(values) for values in columns.values()], names=list(columns))


def pandas_struct(columns):
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([arrow_struct(columns)])))


STRUCTS = {"Polars struct": polars_struct, "PyArrow struct": arrow_struct, "pandas struct": pandas_struct}
NAMED = FRAMES | STRUCTS


@pytest.fixture(params=NAMED.values(), ids=NAMED)
def named(request):
    """Return what makes columns with names of a mapping."""
    return request.param


def pair(first, second):
    """Return the columns of the event and of its complement under these names."""
    return {first: P, second: 1.0 - P}


@pytest.mark.parametrize("names", [("yes", "no"), ("p_yes", "p_no"), ("prob.yes", "prob.no"), ("yes_risk", "no_risk")])
def test_two_columns_are_read_by_name(named, names):
    """The fields of a Polars struct were read as those of the complement."""
    columns = pair(*names)
    assert pr.brier_score(YES, named(columns)) == pr.brier_score(Y, P)
    assert pr.brier_score(YES, named(columns), labels=["no", "yes"]) == pr.brier_score(Y, P)
    assert pr.brier_score(YES, named(columns), pos_label="no") == pr.brier_score(1 - Y, 1.0 - P)


@pytest.mark.parametrize("names", [("1", "0"), ("p1", "p0"), ("proba_1", "proba_0"), ("True", "False")])
@pytest.mark.parametrize("kind", [int, bool, float])
def test_two_columns_of_numbers_are_read_by_name(named, names, kind):
    assert pr.brier_score(Y.astype(kind), named(pair(*names))) == pr.brier_score(Y, P)


@pytest.mark.parametrize("names", ["{}", "prob_{}", "p{}", "{}_proba", "class {}"])
def test_columns_of_classes_are_read_by_name(named, names):
    columns = {names.format(k): ROWS[:, k] for k in (2, 1, 0)}
    score = pr.brier_score(GRADE, ROWS)
    assert pr.brier_score(GRADE, named(columns)) == score
    assert pr.brier_score(GRADE, named(columns), labels=[0, 1, 2]) == score
    assert pr.brier_score(GRADE + 5, named({names.format(k + 5): ROWS[:, k] for k in (1, 2, 0)})) == score
    words = {names.format(word): ROWS[:, k] for k, word in ((2, "high"), (0, "low"), (1, "mid"))}
    assert pr.brier_score(WORD, named(words)) == pytest.approx(score, rel=1e-12)
    assert pr.brier_score(WORD, named(words), labels=["low", "mid", "high"]) == score


def test_a_beginning_is_not_cut_inside_a_number():
    columns = {f"x{k}": ROWS[:, k - 10] for k in (10, 11, 12)}
    with pytest.raises(InputValueError, match=r"like the labels \[0, 1, 2\]; got \['x10', 'x11', 'x12'\]"):
        pr.brier_score(GRADE, pd.DataFrame(columns))


@pytest.mark.parametrize(
    ("y", "columns", "options"),
    [
        (YES, pair("pos", "neg"), {}),
        (YES, pair("pos", "neg"), {"labels": ["no", "yes"]}),
        (Y, pair("pos", "neg"), {}),
        (Y, pair("p_2", "p_1"), {}),
        (GRADE, dict(zip(["high", "mid", "low"], ROWS.T, strict=True)), {}),
        (GRADE, dict(zip(["q_2", "q_1", "q_3"], ROWS.T, strict=True)), {}),
        (WORD, dict(zip(["High", "Mid", "Low"], ROWS.T, strict=True)), {"labels": ["low", "mid", "high"]}),
        (WORD, dict(zip(["high", "Mid", "low"], ROWS.T, strict=True)), {"labels": ["low", "mid", "high"]}),
        (WORD, dict(zip(["p2", "p1", "p0"], ROWS.T, strict=True)), {"labels": ["low", "mid", "high"]}),
    ],
)
def test_names_that_match_no_label_are_refused(named, y, columns, options):
    for call in (pr.brier_score, pr.condense):
        with pytest.raises(InputValueError, match="y_proba must have columns that are named like the labels"):
            call(y, named(columns), **options)
    with pytest.raises(InputValueError, match=r"forecasts\['a'\] must have columns that are named like the labels"):
        pr.condense(y, {"a": named(columns)}, **options)


def test_columns_that_are_models_are_still_told_apart():
    with pytest.raises(InputValueError, match="if the columns are models, pass a mapping"):
        pr.brier_score(Y, pd.DataFrame({"old": P, "new": P}))


@pytest.mark.parametrize("names", [[0, 1, 2], ["column_0", "column_1", "column_2"], ["0", "1", "2"]])
def test_columns_that_are_only_numbered_keep_their_order(names):
    frame = pd.DataFrame(dict(zip(names, ROWS.T, strict=True)))
    assert pr.brier_score(WORD, frame, labels=["low", "mid", "high"]) == pr.brier_score(GRADE, ROWS)
    assert pr.brier_score(GRADE, frame) == pr.brier_score(GRADE, ROWS)
    assert pr.brier_score(GRADE + 1, pd.DataFrame(ROWS), labels=[1, 2, 3]) == pr.brier_score(GRADE, ROWS)
    two = pd.DataFrame({names[0]: 1.0 - P, names[1]: P})
    assert pr.brier_score(YES, two) == pr.brier_score(YES, two, labels=["no", "yes"]) == pr.brier_score(Y, P)


@pytest.mark.parametrize("of", [lambda frame: frame, lambda frame: frame.lazy()], ids=["eager", "lazy"])
def test_columns_listed_with_their_labels_are_in_that_order(of):
    frame = pl.DataFrame({"y": GRADE, "word": WORD, **dict(zip("abc", ROWS.T, strict=True))})
    expected = pr.condense(GRADE, {"m": ROWS}).table("m", 2)
    for outcome, labels in (("y", [0, 1, 2]), ("word", ["low", "mid", "high"])):
        found = pr.condense(of(frame), {"m": ["a", "b", "c"]}, outcome=outcome, labels=labels)
        assert found.table("m", labels[2]) == expected
    with pytest.raises(InputValueError, match=r"like the labels \[0, 1, 2\]; got \['a', 'b', 'c'\]"):
        pr.condense(of(frame), {"m": ["a", "b", "c"]}, outcome="y")
    prefixed = frame.rename({"a": "p_0", "b": "p_1", "c": "p_2"})
    found = pr.condense(of(prefixed), {"m": ["p_2", "p_1", "p_0"]}, outcome="y")
    assert found.table("m", 2) == expected
    with pytest.raises(InputValueError, match=r"like the labels .*; got \['b', 'q', 'a'\]"):
        pr.condense(
            of(frame.with_columns(word=pl.col("y").replace_strict({0: "a", 1: "b", 2: "c"}), q=pl.col("c"))),
            {"m": ["b", "q", "a"]},
            outcome="word",
            labels=["a", "b", "c"],
        )


@pytest.mark.parametrize("of", [lambda frame: frame, lambda frame: frame.lazy()], ids=["eager", "lazy"])
def test_two_listed_columns_follow_the_same_rule(of):
    frame = pl.DataFrame({"y": Y, "word": YES, "p_yes": P, "p_no": 1 - P, "pos": P, "neg": 1 - P, "p2": P, "p1": 1 - P})
    expected = pr.condense(Y, {"m": P}).table("m")
    assert pr.condense(of(frame), {"m": ["p_yes", "p_no"]}, outcome="word").table("m") == expected
    listed = pr.condense(of(frame), {"m": ["neg", "pos"]}, outcome="word", labels=["no", "yes"])
    assert listed.table("m") == expected
    for outcome in ("y", "word"):
        with pytest.raises(InputValueError, match=r"like the labels .*; got \['pos', 'neg'\]"):
            pr.condense(of(frame), {"m": ["pos", "neg"]}, outcome=outcome)
    with pytest.raises(InputValueError, match=r"like the labels .*; got \['p2', 'p1'\]"):
        pr.condense(of(frame), {"m": ["p2", "p1"]}, outcome="y")
    later = frame.with_columns(y=pl.col("y") + 1)
    assert pr.condense(of(later), {"m": ["p2", "p1"]}, outcome="y").table("m") == expected


def test_structs_in_a_frame_are_read_by_name():
    frame = pl.DataFrame({"y": Y, "forecast": polars_struct(pair("1", "0"))})
    assert pr.condense(frame, ["forecast"], outcome="y").table("forecast") == pr.condense(Y, P).table()
    with pytest.raises(InputTypeError, match="must hold real numbers"):
        pr.condense(frame.lazy(), ["forecast"], outcome="y")


def test_missing_structs_are_missing():
    columns = polars_struct({"yes": [0.2, None, 0.5], "no": [0.8, None, 0.5]})
    assert pr.brier_score(pr.cases(["yes", "no", "no"], columns, missing="drop")).dropped == 1


@pytest.mark.parametrize("make", [pl.DataFrame, polars_struct], ids=["frame", "struct"])
def test_without_outcomes_columns_are_matched_too(make):
    words = ["low", "mid", "high"]
    rows = make({f"p_{word}": ROWS[:, k] for word, k in (("high", 2), ("low", 0), ("mid", 1))})
    decided = pr.bayes_decisions(ROWS, labels=words)
    assert pr.bayes_decisions(rows, labels=words).tolist() == decided.tolist()
    with pytest.raises(InputValueError, match=r"like the labels \[0, 1, 2\]"):
        pr.bayes_decisions(rows)


@pytest.mark.product("late_labels")
@pytest.mark.parametrize("make", [pl.DataFrame, polars_struct], ids=["frame", "struct"])
def test_before_labels_columns_are_matched_too(make):
    events = make(pair("p_1", "p_0"))
    assert pr.before_labels(events, measures=[pr.Brier()]).forecasts.tolist() == pytest.approx(P.tolist())
    with pytest.raises(InputValueError, match=r"forecasts must have columns .* like the labels \[0, 1\]"):
        pr.before_labels(make(pair("event", "other")), measures=[pr.Brier()])


def test_maps_match_the_columns_of_a_frame():
    plain, labelled = MatrixMap(matrix=0.5, floor=1e-9), MatrixMap(matrix=0.5, floor=1e-9, labels=tuple("abc"))
    expected = plain(ROWS)
    frame = pd.DataFrame({f"p_{name}": ROWS[:, k] for k, name in ((2, "c"), (0, "a"), (1, "b"))})
    assert labelled(frame).tolist() == labelled(ROWS).tolist() == expected.tolist()
    assert plain(pd.DataFrame({f"p_{k}": ROWS[:, k] for k in (2, 0, 1)})).tolist() == expected.tolist()
    assert labelled(pd.DataFrame(ROWS)).tolist() == expected.tolist()
    for own, other in ((labelled, frame.rename(columns={"p_c": "x"})), (plain, frame)):
        with pytest.raises(InputValueError, match="like the labels"):
            own(other)
    assert labelled.to_sql(["p_c", "p_a", "p_b"]) == labelled.to_sql(["p_a", "p_b", "p_c"])
    assert "u" in labelled.to_sql(["u", "v", "w"])[0]  # Listed, and so in the order of the classes.
    assert IdentityMap()(pd.Series(P)).tolist() == P.tolist()


def test_a_reference_of_rates_is_matched_by_name():
    rates = pd.Series(WORD).value_counts(normalize=True)
    order = ["low", "mid", "high"]
    expected = pr.skill_score(WORD, ROWS, rule=pr.Brier(), labels=order, reference=rates[order].to_numpy())
    assert pr.skill_score(WORD, ROWS, rule=pr.Brier(), labels=order, reference=rates) == expected
    shares = pd.Series({"2": 0.5, "0": 0.2, "1": 0.3})
    expected = pr.skill_score(GRADE, ROWS, rule=pr.Brier(), reference=[0.2, 0.3, 0.5])
    assert pr.skill_score(GRADE, ROWS, rule=pr.Brier(), reference=shares) == expected
    assert pr.skill_score(GRADE, ROWS, rule=pr.Brier(), reference=pd.Series([0.2, 0.3, 0.5])) == expected
    with pytest.raises(
        InputValueError, match=r"reference must have entries that are named like the labels \[0, 1, 2\]"
    ):
        pr.skill_score(GRADE, ROWS, rule=pr.Brier(), reference=pd.Series([0.2, 0.3, 0.5], index=list("abc")))


def test_costs_in_a_frame_are_matched_by_name():
    words = ["low", "mid", "high"]
    matrix = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]])
    expected = pr.expected_cost(WORD, ROWS, cost=matrix, labels=words)
    frame = pd.DataFrame(matrix, index=words, columns=words)
    mixed = frame.loc[["high", "low", "mid"], ["mid", "high", "low"]]
    for cost in (frame, mixed, pl.DataFrame(matrix, schema=words), pd.DataFrame(matrix)):
        assert float(pr.expected_cost(WORD, ROWS, cost=cost, labels=words)) == float(expected)
    decided = pr.bayes_decisions(ROWS, cost=matrix, labels=words).tolist()
    assert pr.bayes_decisions(ROWS, cost=mixed, labels=words).tolist() == decided
    curve = pr.retention_curve(WORD, ROWS, labels=words, metric=matrix)
    assert pr.retention_curve(WORD, ROWS, labels=words, metric=mixed).value.tolist() == curve.value.tolist()
    with pytest.raises(InputValueError, match=r"cost must have columns that are named like the labels \['low', "):
        pr.expected_cost(WORD, ROWS, cost=frame.rename(columns={"mid": "middle"}), labels=words)
    with pytest.raises(InputValueError, match="cost must have rows that are named like the labels"):
        pr.expected_cost(WORD, ROWS, cost=frame.rename(index={"mid": "middle"}), labels=words)
    with pytest.raises(InputValueError, match="cost must name its rows as its columns"):
        pr.expected_cost(WORD, ROWS, cost=pl.DataFrame(matrix, schema=words)[words[::-1]], labels=words)
