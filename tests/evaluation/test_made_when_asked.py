"""Answers that are made when they are asked for: once, and only those."""

import copy
import pickle

import numpy as np
import pytest

import propriety as pr
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


@pytest.mark.parametrize("labels", [None, ["a", "b", "c"]], ids=["event", "classes"])
def test_an_evaluation_that_was_read_can_be_pickled(labels):
    rng = np.random.default_rng(1)
    p = rng.random(60) if labels is None else rng.dirichlet([1.0, 1.0, 1.0], 60)
    y = (rng.random(60) < p).astype(int) if labels is None else rng.choice(labels, 60)
    result = pr.evaluate(y, {"m": p}, labels=labels, n_resamples=20, seed=1)
    told = str(result), result.to_dict()
    for name in ("tables", "calibration", "reliability", "recalibration"):
        getattr(result, name)
    again = pickle.loads(pickle.dumps(result))
    assert (str(again), str(again.to_dict())) == (told[0], str(told[1]))
    assert repr(copy.deepcopy(result)) == repr(result)
