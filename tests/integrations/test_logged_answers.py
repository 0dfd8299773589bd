"""Answers from logs go into the functions of the package as they are."""

from pathlib import Path

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.integrations.logged_answers import AnswerRow, LoggedAnswers


def answers(*rows, **options):
    return LoggedAnswers.of_rows(
        [AnswerRow(item, repeat, item, content, correct=True, confidence=0.5) for item, repeat, content in rows],
        greedy=False,
        **options,
    )


@pytest.fixture(scope="module")
def exam(logs):
    found = {
        name: pr.read_lm_eval(next((logs / "lm_eval" / name).iterdir()), cluster_from="passage")
        for name in ("small", "large")
    }
    return pr.match_answers(found)


def test_probabilities_of_choices_go_into_evaluate_and_recalibrate(exam):
    small, large = exam["small"], exam["large"]
    assert small.y_proba.shape == (300, 4)
    assert len(set(small.cluster)) == 60
    evaluation = pr.evaluate(
        small.y_true, {"small": small.y_proba, "large": large.y_proba}, cluster=small.cluster, n_resamples=99, seed=1
    )
    assert evaluation.card.answer.startswith("Prefer 'large': ")
    temperature = pr.recalibrate(small.y_true, small.y_proba, method="temperature", cluster=small.cluster)
    # The model was simulated with log-odds that are 1.8 times too large.
    assert 1.5 < 1.0 / temperature.map.matrix < 2.5


def test_answers_go_into_functions_of_abstention(exam):
    curve = pr.risk_coverage_curve(
        pr.cases(exam["small"].correct, exam["small"].confidence, cluster=exam["small"].cluster)
    )
    assert curve.accuracy == exam["small"].correct.mean()
    compared = pr.compare(
        {name: own.correct for name, own in exam.items()},
        {name: own.confidence for name, own in exam.items()},
        pr.measures.AreaUnderRiskCoverage(),
        cluster=exam["small"].cluster,
    )
    assert "large is better than small" in str(compared)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_a_column_for_each_choice(exam, backend):
    frame = exam["small"].to_frame(backend=backend)
    names = list(frame.column_names if backend == "pyarrow" else frame.columns)
    assert names[:2] == ["item", "repeat"]
    assert names[-4:] == ["p_0", "p_1", "p_2", "p_3"]
    assert len(frame) == 300


def test_matching_keeps_what_all_models_answered_in_one_order():
    one = answers(("a", 1, "?"), ("a", 2, "?"), ("b", 1, "?"))
    two = answers(("b", 1, "?"), ("c", 1, "?"), ("a", 2, "?"))
    matched = pr.match_answers({"one": one, "two": two})
    for own in matched.values():
        assert list(zip(own.item, own.repeat, strict=True)) == [("a", 2), ("b", 1)]
        assert own.dropped == 1


def test_logs_that_cannot_be_matched_are_rejected():
    with pytest.raises(InputValueError, match="item 'a' differs between 'one' and 'two'"):
        pr.match_answers({"one": answers(("a", 1, "?")), "two": answers(("a", 1, "!"))})
    with pytest.raises(InputValueError, match="items in common"):
        pr.match_answers({"one": answers(("a", 1, "?")), "two": answers(("b", 1, "?"))})
    for wrong in ({}, [answers(("a", 1, "?"))], {"one": np.zeros(3)}):
        with pytest.raises(InputTypeError, match="logs must map the names of models"):
            pr.match_answers(wrong)


def test_an_item_that_is_logged_twice_is_rejected():
    with pytest.raises(InputValueError, match="repeat 1 of item 'a' occurs twice"):
        answers(("a", 1, "?"), ("b", 1, "?"), ("a", 1, "?"))
    with pytest.raises(InputValueError, match="it has none"):
        answers()


def test_answers_without_choices_have_no_probabilities():
    found = answers(("a", 1, "?"), dropped=2)
    assert found.dropped == 2
    assert found.y_true is None
    assert "p_0" not in found.columns()
    with pytest.raises(InputValueError, match="no probabilities of choices"):
        _ = found.y_proba
    with pytest.raises(InputValueError, match="no choices"):
        found.with_choices(2)


def test_the_readme_of_the_logs_names_each_of_them(logs):
    text = Path(__file__).parent.joinpath("logs", "README.md").read_text(encoding="utf-8")
    for path in logs.rglob("*.*"):
        name = path.parent.name if path.suffix == ".gz" else path.stem.split("_20")[0]
        assert path.name == "README.md" or name in text


def test_choices_that_only_unmatched_items_have_are_left_out():
    def row(item, k):
        return AnswerRow(item, 1, item, "?", correct=True, confidence=1 / k, gold=0, answer=0, proba=[1 / k] * k)

    logs = {"a": [row("x", 2), row("y", 4)], "b": [row("x", 2), row("z", 3)]}
    matched = pr.match_answers({name: LoggedAnswers.of_rows(rows, greedy=False) for name, rows in logs.items()})
    for own in matched.values():
        np.testing.assert_array_equal(own.y_proba, [[0.5, 0.5]])
