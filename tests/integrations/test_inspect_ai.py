"""Logs of Inspect, made by Inspect itself; see `logs/README.md`."""

import json
import math
import random
import sys
import zipfile

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingDependencyError, MissingValuesError
from propriety.integrations import inspect_ai, logged_answers
from propriety.integrations.logged_answers import inside


@pytest.fixture
def folder(logs):
    return logs / "inspect"


@pytest.fixture
def write(folder, tmp_path):
    """Return a function that writes a log after a change to it."""
    log = json.loads((folder / "choices.json").read_text(encoding="utf-8"))

    def written(change):
        change(log)
        path = tmp_path / "changed.json"
        path.write_text(json.dumps(log), encoding="utf-8")
        return path

    return written


def stated(folder, **options):
    return pr.read_inspect(folder / "stated.eval", scorer="stated", confidence_from="confidence", **options)


def test_logprobs_are_normalised_over_the_choices(folder):
    answers = pr.read_inspect(folder / "choices.json")
    log = json.loads((folder / "choices.json").read_text(encoding="utf-8"))
    for row, sample in enumerate(log["samples"]):
        top = sample["output"]["choices"][0]["logprobs"]["content"][-1]["top_logprobs"]
        mass = [sum(math.exp(one["logprob"]) for one in top if one["token"].strip() == letter) for letter in "ABC"]
        np.testing.assert_allclose(answers.y_proba[row], np.array(mass) / sum(mass))
        assert answers.choice_mass[row] == pytest.approx(sum(mass))
        assert answers.choice_mass[row] < 0.98  # Not all tokens are choices, and not all choices are listed.
        assert "ABC"[answers.answer[row]] == sample["scores"]["choice"]["answer"]
        assert answers.confidence[row] == answers.y_proba[row, answers.answer[row]]
        assert "ABC"[answers.y_true[row]] == sample["target"]
        assert answers.correct[row] == (sample["scores"]["choice"]["value"] == "C")
    assert (answers.task, answers.model) == ("quiz", "mockllm/model")


def test_identifiers_of_messages_are_not_part_of_the_question(write):
    def asked(prefix, text="What?"):
        def change(log):
            for place, sample in enumerate(log["samples"]):
                sample["input"] = [{"id": f"{prefix}{place}", "role": "user", "content": text, "source": "input"}]

        return pr.read_inspect(write(change))

    same = {"a": asked("Xq"), "b": asked("r7")}
    assert pr.match_answers(same)["b"].dropped == 0
    with pytest.raises(InputValueError, match="the same question"):
        pr.match_answers({"a": same["a"], "b": asked("Xq", "Who?")})


def test_epochs_are_repeats_of_an_item_and_clusters_come_from_metadata(folder):
    answers = pr.read_inspect(folder / "choices.eval")
    assert list(answers.item[:4]) == ["q0", "q0", "q1", "q1"]
    assert list(answers.repeat[:4]) == [1, 2, 1, 2]
    assert list(answers.cluster) == list(answers.item)
    grouped = pr.read_inspect(folder / "choices.eval", cluster_from="passage")
    assert list(grouped.cluster[:6]) == ["0", "0", "0", "0", "1", "1"]
    with pytest.raises(InputValueError, match="'page' of type"):
        pr.read_inspect(folder / "choices.eval", cluster_from="page")
    curve = pr.risk_coverage_curve(pr.cases(answers.correct, answers.confidence, cluster=answers.cluster))
    assert curve.aurc.units == 8


def test_choices_that_the_solver_shuffled_are_rejected(folder, write):
    with pytest.raises(InputValueError, match=r"shuffled.*dataset.shuffle_choices\(\)"):
        pr.read_inspect(folder / "shuffled.eval")

    def token_of_another_letter(log):
        sample = log["samples"][0]
        token = sample["output"]["choices"][0]["logprobs"]["content"][-1]
        token["token"] = " B" if sample["scores"]["choice"]["answer"] != "B" else " A"

    with pytest.raises(InputValueError, match="solver shuffled"):
        pr.read_inspect(write(token_of_another_letter))


def test_stated_confidence_comes_from_the_score(folder):
    answers = stated(folder, missing="drop")
    assert answers.dropped > 0
    assert len(answers.item) + answers.dropped == 20
    assert set(np.round(answers.confidence, 2)) <= {number / 100 for number in range(50, 101)}
    assert answers.y_true is None
    with pytest.raises(
        MissingValuesError, match=r'must have a confidence\. Hint: leave such samples out with missing="drop"'
    ):
        stated(folder)


def test_a_function_of_the_sample_gives_the_confidence(folder):
    def doubt(sample):
        found = sample["scores"]["stated"]["metadata"]["confidence"]
        return None if found is None else 1 - found

    answers = pr.read_inspect(folder / "stated.eval", scorer="stated", confidence_from=doubt, missing="drop")
    np.testing.assert_allclose(answers.confidence, 1 - stated(folder, missing="drop").confidence)
    with pytest.raises(InputValueError, match=r"number in \[0, 1\]; got 85.*from percent"):
        pr.read_inspect(folder / "stated.eval", scorer="stated", confidence_from=lambda _: 85)
    with pytest.raises(InputTypeError, match="a name or a function"):
        pr.read_inspect(folder / "stated.eval", confidence_from=3)


def test_a_scorer_must_be_chosen_if_there_are_several(folder):
    with pytest.raises(InputValueError, match=r"scorer must be given.*\['includes', 'stated'\]"):
        pr.read_inspect(folder / "stated.eval", confidence_from="confidence")
    with pytest.raises(InputValueError, match="got 'other'"):
        pr.read_inspect(folder / "stated.eval", scorer="other", confidence_from="confidence")


def sample_change(**changes):
    def change(log):
        log["samples"][0] |= changes

    return change


def score_change(**changes):
    def change(log):
        log["samples"][0]["scores"]["choice"] |= changes

    return change


def logprob_change(value):
    def change(log):
        for one in log["samples"][0]["output"]["choices"][0]["logprobs"]["content"][-1]["top_logprobs"]:
            one["logprob"] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log: log.update(status="error"), "changed.json must have the status 'success'; got 'error'"),
        (lambda log: log.update(samples={}), "'samples' of type list"),
        (lambda log: log.update(samples=[3]), "sample 0 of changed.json must be a JSON object"),
        (sample_change(id=None), "'id' of type str or int; got NoneType"),
        (sample_change(epoch="1"), "'epoch' of type int"),
        (sample_change(target=["A", "B"]), "the letter of one choice; got ['A', 'B']"),
        (sample_change(choices=None), "'choices' of type list"),
        (sample_change(output=[]), "'output' of type dict"),
        (score_change(value="P"), "right or wrong"),
        (score_change(value=0.5), "got 0.5"),
        (score_change(value=[1]), "got [1]"),
        (logprob_change(math.nan), "has nan"),
        (logprob_change("-1"), "logprobs of at most 0"),
        (logprob_change(-math.inf), "positive probability"),
    ],
)
def test_malformed_logs_are_rejected(write, change, message):
    with pytest.raises(InputValueError) as raised:
        pr.read_inspect(write(change), missing="drop")
    assert message in str(raised.value)


def test_a_score_that_contradicts_the_target_is_rejected(write):
    def turn(log):
        score = log["samples"][0]["scores"]["choice"]
        score["value"] = "I" if score["value"] == "C" else "C"

    with pytest.raises(InputValueError, match="score that agrees with its target"):
        pr.read_inspect(write(turn))


@pytest.mark.parametrize(
    "change",
    [
        sample_change(error={"message": "no answer"}),
        sample_change(scores=None),
        sample_change(output={"choices": [{}]}),
        score_change(answer=None),
    ],
    ids=["error", "no score", "no logprobs", "no answer"],
)
def test_samples_that_lack_something_are_dropped_on_request(write, change):
    path = write(change)
    with pytest.raises(MissingValuesError):
        pr.read_inspect(path)
    assert pr.read_inspect(path, missing="drop").dropped == 1


def test_archives_with_other_compression_are_read(folder, tmp_path):
    """Older versions of Inspect compress with Deflate."""
    header, samples = inspect_ai._header_and_samples(folder / "choices.eval")
    path = tmp_path / "older.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (_, sample) in enumerate(samples):
            archive.writestr(f"samples/{number}.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(header))
    assert np.array_equal(pr.read_inspect(path).y_proba, pr.read_inspect(folder / "choices.eval").y_proba)


def test_an_archive_without_header_is_unfinished(tmp_path):
    path = tmp_path / "running.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    with pytest.raises(InputValueError, match=r"must contain header.json. Hint: its evaluation may be running"):
        pr.read_inspect(path)


def test_zstandard_is_needed_for_archives(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "propriety\[inspect\]"'):
        pr.read_inspect(folder / "choices.eval")


def test_a_log_is_read_as_inspect_itself_reads_it(folder):
    reader = pytest.importorskip("inspect_ai.log")
    for name in ("choices.eval", "choices.json", "shuffled.eval", "stated.eval"):
        log = reader.read_eval_log(str(folder / name))
        header, samples = inspect_ai._header_and_samples(folder / name)
        assert (header["status"], header["eval"]["task"]) == (log.status, log.eval.task)
        read = {(sample["id"], sample["epoch"]): sample for _, sample in samples}
        assert len(read) == len(log.samples)
        for sample in log.samples:
            ours, theirs = read[sample.id, sample.epoch], json.loads(sample.model_dump_json())
            for field in ("choices", "target", "metadata"):
                assert ours.get(field) == theirs[field] or (field not in ours and not theirs[field])
            assert ours["scores"].keys() == theirs["scores"].keys()
            for scorer, score in ours["scores"].items():
                assert all(theirs["scores"][scorer][name] == value for name, value in score.items())
            logprobs, expected = (inside(log, "output", "choices", 0, "logprobs", "content") for log in (ours, theirs))
            tokens = [
                [(token["token"], token["logprob"]) for token in content or []] for content in (logprobs, expected)
            ]
            assert tokens[0] == tokens[1]


def test_large_records_are_rejected(folder, monkeypatch):
    monkeypatch.setattr(logged_answers, "LONGEST", 3000)
    with pytest.raises(InputValueError, match="exceeds this limit"):
        pr.read_inspect(folder / "choices.eval")
    monkeypatch.setattr(inspect_ai, "JSON_LOG", 3000)
    with pytest.raises(InputValueError, match="inspect log convert"):
        pr.read_inspect(folder / "choices.json")


@pytest.mark.parametrize("name", ["choices.eval", "choices.json"])
def test_damaged_files_give_one_kind_of_error(folder, tmp_path, name):
    """Bytes are cut and changed at random; a file is either read or rejected with an error of the package."""
    data, rng, rejected = (folder / name).read_bytes(), random.Random(1), 0  # noqa: S311  (no secret)
    path = tmp_path / name
    for _ in range(80):
        damaged = bytearray(data[: rng.randrange(len(data))] if rng.random() < 0.3 else data)
        for _ in range(rng.randrange(1, 30)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged)
        try:
            pr.read_inspect(path)
        except InputValueError:
            rejected += 1
    assert rejected > 40


def answer_change(*tokens, top=True):
    """Return a change of the first sample: its answer is B, its tokens are these, and "B" has the probability 0.8."""

    def change(log):
        sample = log["samples"][0]
        right = "C" if sample["target"] == "B" else "I"
        sample["scores"]["choice"] |= {"answer": "B", "value": right}
        content = [{"token": token, "logprob": -0.5, "top_logprobs": None} for token in tokens]
        for token in content:
            if top and token["token"].strip("ĠĊ▁").strip() == "B":
                shares = {token["token"]: 0.8, "A": 0.1, "a": 0.1}
                token["top_logprobs"] = [{"token": one, "logprob": math.log(p)} for one, p in shares.items()]
        sample["output"]["choices"][0]["logprobs"]["content"] = content

    return change


def test_the_token_of_an_answer_is_not_another_word(folder, write):
    path = write(answer_change("I", " have", " a", " dog", ".", " Vitamin", " B", "\n", "ANSWER", ":", " B"))
    assert pr.read_inspect(path).confidence[0] == pytest.approx(0.8)

    def article(log):
        answer_change("ANSWER", ":", " ", "A", "\n", "It", " is", " a", " dog")(log)
        sample = log["samples"][0]
        sample["scores"]["choice"] |= {"answer": "A", "value": "C" if sample["target"] == "A" else "I"}
        tokens = sample["output"]["choices"][0]["logprobs"]["content"]
        tokens[3]["top_logprobs"] = [{"token": "A", "logprob": math.log(0.6)}, {"token": "B", "logprob": math.log(0.2)}]
        tokens[7]["top_logprobs"] = [{"token": " a", "logprob": -0.001}, {"token": " the", "logprob": -7.0}]

    assert pr.read_inspect(write(article)).confidence[0] == pytest.approx(0.75)
    assert pr.read_inspect(write(answer_change(" B", " is", " a", " vitamin"))).confidence[0] == pytest.approx(0.8)
    with pytest.raises(MissingValuesError, match=r"one token that is the answer 'B', or .* 'ANSWER:'; got 2"):
        pr.read_inspect(write(answer_change("B", ":", " vitamin", " B")))


def test_a_confidence_needs_the_probabilities_of_other_tokens(folder, write):
    path = write(answer_change("ANSWER", ":", " B", top=False))
    with pytest.raises(MissingValuesError, match=r"must have the top_logprobs .* top_logprobs=20"):
        pr.read_inspect(path)
    assert pr.read_inspect(path, missing="drop").dropped == 1


def test_a_missing_number_of_any_type_is_a_missing_confidence(folder):
    own = {"scorer": "stated", "confidence_from": lambda sample: np.float32(0.5 if sample["epoch"] == 1 else math.nan)}
    with pytest.raises(MissingValuesError, match="must have a confidence"):
        pr.read_inspect(folder / "stated.eval", confidence_from=lambda _: np.float32(math.nan), scorer="stated")
    answers = pr.read_inspect(folder / "stated.eval", missing="drop", **own)
    assert set(answers.confidence) == {0.5}


def test_a_path_must_be_one_of_a_file(folder):
    with pytest.raises(InputTypeError, match="path must be the path of a file; got NoneType"):
        pr.read_inspect(None)
    with pytest.raises(InputValueError, match="is a directory"):
        pr.read_inspect(folder)
    for name in ("nofile.eval", "nofile.json"):
        with pytest.raises(FileNotFoundError, match=name):
            pr.read_inspect(folder / name)


def listed(*alternatives):
    """Return a change after which the first sample answers B with these alternatives: token, probability, bytes."""

    def change(log):
        answer_change(alternatives[0][0])(log)
        (token,) = log["samples"][0]["output"]["choices"][0]["logprobs"]["content"]
        token["top_logprobs"] = [
            {"token": text, "logprob": math.log(share), "bytes": held} for text, share, held in alternatives
        ]

    return change


@pytest.mark.parametrize("space", ["Ġ", "▁", "Ċ", " "])
def test_tokens_may_write_a_space_in_their_own_way(write, space):
    """The letter was not found in its most likely token, so that the confidence was .889 instead of .556."""
    tokens = [("B", 0.4, None), (f"{space}A", 0.35, None), ("A", 0.05, None), (f"{space}B", 0.1, None)]
    answers = pr.read_inspect(write(listed(*tokens)))
    assert answers.confidence[0] == pytest.approx(0.5 / 0.9)
    assert answers.choice_mass[0] == pytest.approx(0.9)
    marked = write(answer_change(f"{space}ANSWER", ":", f"{space}B"))
    assert pr.read_inspect(marked).confidence[0] == pytest.approx(0.8)


def test_tokens_of_the_same_text_add_up(write):
    """They are different tokens; one that is listed twice counts once."""
    tokens = [("B", 0.5, [66]), ("B", 0.2, [239, 188]), ("A", 0.2, [65]), ("C", 0.1, None)]
    for alternatives in (tokens, [*tokens, tokens[0]]):
        answers = pr.read_inspect(write(listed(*alternatives)))
        assert answers.confidence[0] == pytest.approx(0.7)
        assert answers.choice_mass[0] == pytest.approx(1.0)
