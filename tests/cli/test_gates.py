"""Gates: how a condition is read, and on what it is tried."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from propriety.cli.gates import OPERATORS, Gate, check_gates, parse_gate
from propriety.errors import InputValueError

keys = st.text("aé/_. -+1", min_size=1).map(str.strip).filter(bool)


@given(keys, st.sampled_from(sorted(OPERATORS)), st.floats(allow_nan=False), st.sampled_from(["", " "]))
def test_what_is_written_is_read(key, sign, limit, space):
    assert parse_gate(f"{key}{space}{sign}{space}{limit!r}") == Gate(key, sign, limit)


def test_the_last_sign_counts():
    assert parse_gate("a<b/brier>=0.1") == Gate("a<b/brier", ">=", 0.1)


@pytest.mark.parametrize("text", ["", "brier", "brier=0.1", "brier==0.1", ">0.1", "brier>", "brier>x", "brier>nan"])
def test_what_is_no_condition(text):
    with pytest.raises(InputValueError, match="--fail-if must"):
        parse_gate(text)


@pytest.mark.parametrize(("sign", "fails"), [("<", False), ("<=", True), (">", False), (">=", True)])
def test_the_limit_itself(sign, fails):
    (verdict,) = check_gates([Gate("brier", sign, 0.25)], {"brier": 0.25}, ["a"])
    assert verdict.failed == fails


@pytest.mark.parametrize("sign", sorted(OPERATORS))
def test_a_number_that_is_not_known_fails(sign):
    (verdict,) = check_gates([Gate("auc", sign, 0.5)], {"auc": math.nan}, ["a"])
    assert verdict.failed
    assert "auc could not be computed" in str(verdict)


@pytest.mark.parametrize(
    ("key", "numbers", "models", "tried"),
    [
        ("brier", {"a/brier": 0.1, "b/brier": 0.2, "n": 3}, ["a", "b"], ["a/brier", "b/brier"]),
        ("b/brier", {"a/brier": 0.1, "b/brier": 0.2, "n": 3}, ["a", "b"], ["b/brier"]),
        ("n", {"a/brier": 0.1, "b/brier": 0.2, "n": 3}, ["a", "b"], ["n"]),
        ("brier", {"brier": 0.1}, ["a"], ["brier"]),
        ("a/brier", {"brier": 0.1}, ["a"], ["brier"]),
    ],
)
def test_the_model_may_be_left_out(key, numbers, models, tried):
    assert [verdict.key for verdict in check_gates([Gate(key, ">", 1.0)], numbers, models)] == tried


def test_an_unknown_key_lists_those_there_are():
    with pytest.raises(InputValueError, match=r"got 'c/brier'. Hint: its numbers are a/brier, b/brier, n\."):
        check_gates([Gate("c/brier", ">", 1.0)], {"a/brier": 0.1, "b/brier": 0.2, "n": 3}, ["a", "b"])


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("miscalibrated", 1.0, "Gate failed: the model is miscalibrated."),
        ("a/miscalibrated", 0.0, "Gate passed: a was not found to be miscalibrated."),
        ("a/miscalibrated", math.nan, "Gate failed: the calibration of a was not tested."),
    ],
)
def test_a_verdict_is_told_in_words(key, value, words):
    (verdict,) = check_gates([parse_gate("miscalibrated")], {key: value}, ["a"])
    assert str(verdict) == words
