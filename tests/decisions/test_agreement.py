"""Quadratic weighted kappa: golden case, a peer, brute force, and what is refused."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from propriety.decisions.agreement import kappa_of, labels_at, quadratic_weighted_kappa
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.tables.cases import Cases

CLOSE = 1e-12
K = 4

pairs = st.lists(st.tuples(st.integers(0, K - 1), st.integers(0, K - 1)), min_size=1, max_size=12)


def columns(cases):
    return np.array([case[0] for case in cases]), np.array([case[1] for case in cases])


def pair_by_pair(y, d):
    """Kappa by the definition: squared distances of the pairs as they are, and of all outcomes with all decisions."""
    observed = np.mean([(a - b) ** 2 for a, b in zip(y, d, strict=True)])
    chance = np.mean([(a - b) ** 2 for a in y for b in d])
    return 1 - observed / chance if chance else math.nan


def test_golden(golden):
    inputs, expected = golden("qwk")
    score = quadratic_weighted_kappa(inputs["y"], inputs["pred"], labels=range(inputs["K"]))
    assert score == pytest.approx(expected, rel=CLOSE, abs=0)
    assert score.higher_is_better
    assert (score.n, score.weight, score.dropped) == (10, 10.0, 0)
    peer = cohen_kappa_score(inputs["y"], inputs["pred"], labels=range(K), weights="quadratic")
    assert score == pytest.approx(peer, rel=CLOSE)


@given(pairs)
def test_it_is_the_definition(cases):
    y, d = columns(cases)
    assert quadratic_weighted_kappa(y, d) == pytest.approx(pair_by_pair(y, d), abs=CLOSE, nan_ok=True)


@given(pairs)
def test_neither_the_number_of_classes_nor_the_direction_matters(cases):
    y, d = columns(cases)
    plain = quadratic_weighted_kappa(y, d)
    more = quadratic_weighted_kappa(y + 1, d + 1, labels=range(9))
    back = quadratic_weighted_kappa(y, d, labels=range(K - 1, -1, -1))
    assert [more, back] == pytest.approx([plain, plain], abs=CLOSE, nan_ok=True)


@given(pairs, st.data())
def test_whole_weights_are_repeated_cases(cases, data):
    y, d = columns(cases)
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y))))
    weight[0] += 1
    weighted = quadratic_weighted_kappa(y, d, sample_weight=weight)
    repeated = quadratic_weighted_kappa(np.repeat(y, weight), np.repeat(d, weight))
    assert weighted == pytest.approx(repeated, abs=CLOSE, nan_ok=True)
    assert weighted.n == np.count_nonzero(weight)


def test_rows_are_decided_by_the_first_of_the_largest_probabilities():
    rows = [[0.4, 0.2, 0.4], [0.1, 0.45, 0.45], [0.0, 0.3, 0.7]]
    assert quadratic_weighted_kappa([0, 1, 1], rows) == quadratic_weighted_kappa([0, 1, 1], [0, 1, 2])


@pytest.mark.parametrize("decided", [[1, 1], [[0.1, 0.9], [0.2, 0.8]]], ids=["labels", "rows"])
def test_one_class_alone_is_not_a_number(decided):
    assert math.isnan(quadratic_weighted_kappa([1, 1], decided))


def test_one_decision_alone_is_chance():
    assert quadratic_weighted_kappa([0, 1, 2], [1, 1, 1]) == 0.0


def test_matrices_go_in_stacks():
    stack = np.random.default_rng(1).random((3, 2, K, K))
    found = kappa_of(stack)
    assert found.shape == (3, 2)
    assert found[2, 1] == pytest.approx(float(kappa_of(stack[2, 1])), rel=CLOSE)


def test_labels_in_their_order():
    y, d = ["low", "high", "mid", "low"], ["low", "mid", "mid", "high"]
    found = quadratic_weighted_kappa(y, d, labels=["low", "mid", "high"])
    assert found == quadratic_weighted_kappa([0, 2, 1, 0], [0, 1, 1, 2])
    assert found != quadratic_weighted_kappa(y, d, labels=["low", "high", "mid"])


@pytest.mark.parametrize("frame", [pd.Series, pl.Series, list], ids=["pandas", "polars", "list"])
def test_missing_decisions_are_refused(frame):
    d = frame([0, 2, None, 1, 1])
    with pytest.raises(MissingValuesError, match="y_pred must not hold missing values"):
        quadratic_weighted_kappa([0, 1, 2, 0, 1], d)


@pytest.mark.parametrize(
    ("y", "d", "options", "match"),
    [
        pytest.param([0, 1], [0, 1, 1], {}, "y_true has 2 rows and y_pred 3", id="lengths"),
        pytest.param([0, 1], [0.2, 0.8], {}, r"row 0 is 0\.2 \(2 of 2 rows\)\. Hint: .*column_stack", id="a probability"),
        pytest.param([0, 1], [0, -1], {}, "row 1 is -1", id="negative"),
        pytest.param([0, 1], [0, 5], {"labels": [0, 1]}, r"y_pred must hold only the labels \[0, 1\]; row 1 is 5", id="unknown decision"),
        pytest.param([0, 5], [0, 1], {"labels": [0, 1]}, "y_true must hold only the labels", id="unknown outcome"),
        pytest.param(["a", "b"], ["a", "b"], {}, "y_true must hold whole numbers unless labels are given", id="no labels"),
        pytest.param([0, 1], ["a", "b"], {}, "y_pred must hold whole numbers", id="no labels of decisions"),
        pytest.param([0, 2000], [0, 1], {}, "class indices must be below 1,000", id="no indices"),
        pytest.param([0, 1], [0, 1], {"labels": [0, 1, 1]}, "labels must be distinct", id="labels twice"),
        pytest.param([0, 1], [0, 1], {"sample_weight": [-1, 2]}, "sample_weight must be finite and not negative", id="weights"),
        pytest.param([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0, 1], {}, "y_true must be 1-D", id="one-hot outcomes"),
    ],
)  # fmt: skip
def test_what_is_refused(y, d, options, match):
    with pytest.raises(InputValueError, match=match):
        quadratic_weighted_kappa(y, d, **options)


@pytest.mark.parametrize("labels", ["ab", {0, 1}, 3], ids=["text", "set", "number"])
def test_labels_have_an_order(labels):
    with pytest.raises(InputTypeError, match="labels must be a list of the classes in order"):
        quadratic_weighted_kappa([0, 1], [0, 1], labels=labels)


def test_many_classes_take_no_rows(monkeypatch):
    def no_rows(_):
        raise AssertionError

    monkeypatch.setattr(Cases, "gathered", no_rows)
    rng = np.random.default_rng(3)
    y, d, weight = rng.integers(0, 50, 5000), rng.integers(0, 50, 5000), rng.random(5000)
    peer = cohen_kappa_score(y, d, weights="quadratic", sample_weight=weight)
    assert quadratic_weighted_kappa(y, d, sample_weight=weight) == pytest.approx(peer, rel=1e-10)
    texts = np.array([f"{k:02}" for k in range(50)])
    named = quadratic_weighted_kappa(texts[y], texts[d], sample_weight=weight, labels=texts)
    assert named == pytest.approx(peer, rel=1e-10)


def test_indices_that_differ():
    with pytest.raises(InputValueError, match="y_true and y_pred carry different indices"):
        quadratic_weighted_kappa(pd.Series([0, 1]), pd.Series([0, 1], index=[1, 0]))


def test_labels_keep_their_kind():
    index = np.array([1, 0])
    assert labels_at((0, 1), index).dtype.kind == "i"
    assert labels_at(((0, 1), (1, 2)), index).tolist() == [(1, 2), (0, 1)]


def test_an_error_about_rows_says_which_argument_they_are():
    with pytest.raises(InputValueError, match=r"^y_pred must lie in \[0, 1\]"):
        quadratic_weighted_kappa([0, 1], [[1.2, 0.0], [0.5, 0.5]])


def test_outcomes_that_are_no_class_are_named_as_such():
    with pytest.raises(InputValueError, match=r"y_true must hold only the labels \[0, 1\]; row 0 is -1"):
        quadratic_weighted_kappa([-1, 0, 1], [0, 1, 1])
