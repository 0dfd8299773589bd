"""Sample files of the lm-evaluation-harness, made by the harness itself; see `logs/README.md`."""

import gzip
import json
import random

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError


@pytest.fixture
def find(logs):
    def found(task):
        (path,) = logs.glob(f"lm_eval/samples_{task}_*.jsonl")
        return path

    return found


@pytest.fixture
def write(find, tmp_path):
    """Return a function that writes the records of a task with a change to the first of them."""

    def written(task="named", **changes):
        records = [json.loads(line) for line in find(task).read_text(encoding="utf-8").splitlines()]
        records[0] |= changes
        records[0] = {name: value for name, value in records[0].items() if value is not ...}
        path = tmp_path / "samples_changed.jsonl"
        path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
        return path

    return written


def records(path, name=None):
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [record for record in found if name in (None, record["filter"])]


def test_items_with_different_numbers_of_choices(find):
    answers = pr.read_lm_eval(find("quiz"), filter_name="first", cluster_from="topic")
    logged = records(find("quiz"), "first")
    assert answers.task == "quiz"
    assert list(answers.item) == [str(record["doc_id"]) for record in logged]
    assert list(answers.cluster) == [str(record["doc"]["topic"]) for record in logged]
    assert list(answers.y_true) == [record["doc"]["answer"] for record in logged]
    assert list(answers.n_choices) == [len(record["doc"]["choices"]) for record in logged]
    assert list(answers.correct) == [record["acc"] == 1.0 for record in logged]
    with pytest.raises(InputValueError, match=r"4 with 2, 4 with 3, 4 with 4.*with_choices\(2\)"):
        _ = answers.y_proba
    three = answers.with_choices(3)
    assert three.y_proba.shape == (4, 3)
    assert three.dropped == 8
    np.testing.assert_allclose(three.y_proba.sum(axis=1), 1.0)
    with pytest.raises(InputValueError, match="got 5, not one of"):
        answers.with_choices(5)


def test_probabilities_are_the_softmax_of_the_log_likelihoods(find):
    answers = pr.read_lm_eval(find("named"))
    for row, record in enumerate(records(find("named"))):
        likelihood = np.exp([float(value) for value, _ in record["filtered_resps"]])
        np.testing.assert_allclose(answers.y_proba[row], likelihood / likelihood.sum())
        assert answers.choice_mass[row] == pytest.approx(likelihood.sum())
        assert answers.confidence[row] == answers.y_proba[row].max()
        assert str(answers.greedy[row]) == record["filtered_resps"][answers.answer[row]][1]
        assert answers.y_true[row] == record["doc"]["answer"]
        # The harness's own probabilities, which it writes as text.
        gold, text = record["brier_score"]
        assert gold == answers.y_true[row]
        np.testing.assert_allclose(np.array(text.strip("[]").split(), dtype=float), answers.y_proba[row], atol=1e-8)


def test_log_likelihoods_are_divided_by_the_length_of_the_choice(find):
    answers = pr.read_lm_eval(find("quiz"), filter_name="first", length="characters")
    assert list(answers.correct) == [record["acc_norm"] == 1.0 for record in records(find("quiz"), "first")]
    assert answers.confidence.max() < pr.read_lm_eval(find("quiz"), filter_name="first").confidence.max()
    in_bytes = pr.read_lm_eval(find("quiz"), filter_name="first", length="bytes")
    assert np.array_equal(in_bytes.confidence, answers.confidence)  # All choices are ASCII.


def test_a_filter_must_be_chosen_if_there_are_several(find):
    with pytest.raises(InputValueError, match=r"filter_name must be given.*\['first', 'same'\]"):
        pr.read_lm_eval(find("quiz"))
    with pytest.raises(InputValueError, match="got 'other'"):
        pr.read_lm_eval(find("quiz"), filter_name="other")


def test_log_likelihoods_without_the_question_are_left_out(find):
    answers = pr.read_lm_eval(find("informed"))
    assert answers.y_proba.shape == (12, 4)
    assert list(answers.correct) == [record["acc"] == 1.0 for record in records(find("informed"))]


def test_the_right_context_follows_from_the_accuracy(find, write):
    answers = pr.read_lm_eval(find("contexts"))
    assert list(answers.y_true) == [record["doc"]["answer"] for record in records(find("contexts"))]
    with pytest.raises(InputValueError, match="must name the right choice"):
        pr.read_lm_eval(write("contexts", acc=...))


def test_several_tasks_are_read_together(find):
    answers = pr.read_lm_eval([find("named"), find("informed")])
    assert answers.task == "named, informed"
    assert answers.item[0] == "named/0"
    assert answers.item[-1] == "informed/11"
    for wrong in ([], 3, [3]):
        with pytest.raises((InputTypeError, TypeError)):
            pr.read_lm_eval(wrong)


def test_generated_text_has_no_probabilities(find):
    with pytest.raises(InputValueError, match="generate_until do not log probabilities"):
        pr.read_lm_eval(find("written"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"filter": ...}, "line 1 of samples_changed.jsonl must have a field 'filter' of type str; it is absent"),
        ({"filtered_resps": [["nan", "False"]] + [["-1", "False"]] * 3}, "choice 0 has nan"),
        ({"filtered_resps": [["-1", "False"], ["2.5", "False"]] + [["-1", "False"]] * 2}, "choice 1 has 2.5"),
        ({"filtered_resps": [["-inf", "False"]] * 4}, "not all of them minus infinity"),
        ({"filtered_resps": [["-1", "maybe"]] * 4}, "multiple-choice question"),
        ({"filtered_resps": [["-1", "False"]] * 3}, "multiple-choice question"),
        ({"filtered_resps": "lol"}, "of type list; got str"),
        ({"target": "[0, 2]", "acc": ...}, "several right choices"),
        ({"target": "4", "acc": ...}, "got '4' of 4 choices"),
        ({"target": "violet", "acc": ...}, "got 'violet'"),
        ({"acc": 0.4}, "must have one right choice; its accuracy is 0.4"),
        ({"doc_id": True}, "'doc_id' of type int or str; got bool"),
        ({"doc_id": 5}, "item '5' occurs twice"),
        ({"arguments": {"gen_args_1": {}}}, "field 'gen_args_0'"),
    ],
)
def test_malformed_records_are_rejected(write, changes, message):
    with pytest.raises(InputValueError) as raised:
        pr.read_lm_eval(write(**changes))
    assert message in str(raised.value)


def test_an_accuracy_that_contradicts_the_target_is_rejected(write, find):
    first = records(find("named"))[0]
    with pytest.raises(InputValueError, match="must have an acc that agrees with its target"):
        pr.read_lm_eval(write(acc=1.0 - first["acc"]))


def test_compressed_files_are_read_and_broken_ones_rejected(find, tmp_path):
    packed = gzip.compress(find("named").read_bytes())
    path = tmp_path / "samples_named.jsonl.gz"
    path.write_bytes(packed)
    assert len(pr.read_lm_eval(path).item) == 12
    path.write_bytes(packed[:-20])
    with pytest.raises(InputValueError, match="complete gzip file"):
        pr.read_lm_eval(path)


def test_damaged_files_give_one_kind_of_error(find, tmp_path):
    """Bytes are cut and changed at random; a file is either read or rejected with an error of the package."""
    text, rng, rejected = find("quiz").read_bytes(), random.Random(1), 0  # noqa: S311  (no secret)
    path = tmp_path / "samples_damaged.jsonl"
    for _ in range(150):
        damaged = bytearray(text[: rng.randrange(1, len(text))] if rng.random() < 0.5 else text)
        for _ in range(rng.randrange(4)):
            damaged[rng.randrange(len(damaged))] = rng.choice(b'{}[]",:0-e\xff\x00')
        path.write_bytes(damaged)
        try:
            pr.read_lm_eval(path, filter_name="first")
        except InputValueError:
            rejected += 1
    assert rejected > 50


def test_deeply_nested_text_is_rejected(tmp_path):
    path = tmp_path / "deep.jsonl"
    path.write_bytes(b"[" * 10**6)
    with pytest.raises(InputValueError, match="must be JSON"):
        pr.read_lm_eval(path)


def test_an_accuracy_that_contradicts_the_lengths_is_rejected(write, find):
    first = records(find("named"))[0]
    for length, name in (("characters", "acc_norm"), ("bytes", "acc_bytes")):
        correct = pr.read_lm_eval(find("named"), length=length).correct[0]
        pr.read_lm_eval(write(**{name: float(correct)}), length=length)
        path = write(**{name: float(not correct)})
        with pytest.raises(InputValueError, match=rf"must have an {name} that agrees with its target"):
            pr.read_lm_eval(path, length=length)
        assert pr.read_lm_eval(path).correct[0] == (first["acc"] == 1.0)


@pytest.fixture
def answered(tmp_path):
    """Return a function that writes items, given by choices, log-likelihoods, target and accuracies, and reads them."""

    def read(*items, **options):
        rows = []
        for place, (texts, values, target, accuracies) in enumerate(items):
            requests = {f"gen_args_{k}": {"arg_0": "?", "arg_1": text} for k, text in enumerate(texts)}
            row = {"doc_id": place, "doc": {}, "target": target, "arguments": requests, "filter": "none"}
            row |= {"doc_hash": str(place), "filtered_resps": [[str(value), "False"] for value in values]}
            rows.append(json.dumps(row | accuracies))
        path = tmp_path / "samples_sums.jsonl"
        path.write_text("\n".join(rows), encoding="utf-8")
        return pr.read_lm_eval(path, **options)

    return read


@pytest.mark.parametrize(("length", "name"), [("characters", "acc_norm"), ("bytes", "acc_bytes")])
def test_only_the_blank_before_all_choices_is_not_counted(answered, length, name):
    """The harness divides by the length of a choice as it is: here -4 / 2 and -7.8 / 4."""
    found = answered(([" ab", " abc "], [-4.0, -7.8], "1", {"acc": 0.0, name: 1.0}), length=length)
    assert found.correct.tolist() == [True]
    np.testing.assert_allclose(np.log(found.y_proba[0, 1] / found.y_proba[0, 0]), 2.0 - 1.95)


def test_a_blank_that_is_part_of_the_choices_is_counted_if_the_accuracy_says_so(answered):
    """-2 / 1 is less than -3.1 / 2; with the blank, -2 / 2 is more than -3.1 / 3."""
    item = ([" a", " ab"], [-2.0, -3.1], "0", {"acc": 1.0})
    longer = (item[0], [-1.0, -6.0], "0", {"acc": 1.0})
    assert answered(item, longer, length="characters").answer.tolist() == [1, 0]
    found = answered((*item[:3], {"acc_norm": 1.0}), longer, length="characters")
    assert found.answer.tolist() == [0, 0]
    np.testing.assert_allclose(np.log(found.y_proba[1, 0] / found.y_proba[1, 1]), 6.0 / 3 - 1.0 / 2)
    without = (["a", " ab"], [-2.0, -3.1], "0", {})
    assert answered(without, length="characters").answer.tolist() == [1]  # -2 / 1 and -3.1 / 3.
    with pytest.raises(InputValueError, match="no empty choices"):
        answered(([" ", " b"], [-2.0, -3.1], "0", {}), length="characters")


DIGITS = [" 1", " 2", " 3"]


@pytest.mark.parametrize(
    ("values", "target", "accuracies", "right"),
    [
        ([-1.0, -5.0, -3.0], "1", {"acc": 1.0}, 0),
        ([-1.0, -5.0, -3.0], "1", {"acc": 0.0}, 1),
        ([-1.0, -5.0, -3.0], "1", {"acc_norm": 1.0}, 0),
        ([-1.0, -5.0, -3.0], "1", {"acc_bytes": 0.0}, 1),
        ([-5.0, -1.0, -3.0], 1, {"acc": 1.0}, 1),
        ([-1.0, -5.0, -3.0], "3", {}, 2),
        ([-1.0, -5.0, -3.0], "0", {}, 0),
    ],
)
def test_a_target_of_digits_is_the_text_or_the_position_that_agrees(answered, values, target, accuracies, right):
    assert answered((DIGITS, values, target, accuracies)).y_true.tolist() == [right]


def test_other_items_of_the_file_show_what_a_target_is(answered):
    doubtful = (DIGITS, [-3.0, -5.0, -1.0], "1", {"acc": 0.0})  # The answer is wrong either way.
    with pytest.raises(InputValueError, match="it may be choice 1 by its position or choice 0 by its text"):
        answered(doubtful)
    text, position = ((DIGITS, [-1.0, -5.0, -3.0], "1", {"acc": accuracy}) for accuracy in (1.0, 0.0))
    assert answered(doubtful, text).y_true.tolist() == [0, 0]
    assert answered(doubtful, position).y_true.tolist() == [1, 1]
    with pytest.raises(
        InputValueError, match=r"line [23] .*must have an acc that agrees .* by its text, the target is choice 0"
    ):
        answered(doubtful, text, position)


@pytest.mark.parametrize("requests", [2, 3])
def test_mutual_information_needs_two_requests_for_each_of_two_choices(write, requests):
    arguments = {f"gen_args_{k}": {"arg_0": "2 + 2 =", "arg_1": f" {k + 3}"} for k in range(requests)}
    resps = [["-1.0", "True"], ["-3.0", "False"], ["-2.0", "False"]][:requests]
    path = write(arguments=arguments, filtered_resps=resps, target="0", acc=1.0, acc_mutual_info=1.0)
    with pytest.raises(InputValueError, match=f"it has {requests} requests"):
        pr.read_lm_eval(path)


def test_a_path_must_be_one_of_a_file(tmp_path):
    for wrong in (None, [None]):
        with pytest.raises(InputTypeError, match="path must be the path of a file; got NoneType"):
            pr.read_lm_eval(wrong)
    with pytest.raises(InputValueError, match="is a directory"):
        pr.read_lm_eval(tmp_path)
