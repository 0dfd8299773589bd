"""Answers that are made when they are asked for: once, and only those."""

import pytest

from propriety.evaluation.made_when_asked import MadeWhenAsked


def test_each_answer_is_made_once_and_when_it_is_asked_for():
    made = []

    def answer(label):
        made.append(label)
        return label.upper()

    answers = MadeWhenAsked(["a", "b", "c"], answer)
    assert (list(answers), len(answers), "b" in answers, made) == (["a", "b", "c"], 3, True, [])
    assert [answers["b"], answers["b"]] == ["B", "B"]
    assert made == ["b"]
    assert dict(answers) == {"a": "A", "b": "B", "c": "C"}
    assert made == ["b", "a", "c"]
    assert repr(answers) == "MadeWhenAsked(['a', 'b', 'c'])"


def test_a_label_that_is_not_there_is_not_made():
    with pytest.raises(KeyError, match="d"):
        MadeWhenAsked(["a"], str.upper)["d"]
