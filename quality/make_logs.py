"""Make the logs of language-model evaluations that the tests and the documentation read, with the tools themselves.

The lm-evaluation-harness and Inspect run offline here, with models that answer at random from a fixed seed. Run this in
an environment of its own with both tools: ``nox -s logs``, or ``python quality/make_logs.py tests/integrations/logs``.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

WORDS = ("red", "green", "blue", "pale yellow")
# How much each simulated model knows, and by how much it exaggerates its log-odds.
EXAM_MODELS = {"small": (1.5, 1.8), "large": (2.0, 1.3)}
ITEMS, PASSAGES = 300, 60

TASK = """
task: {task}
dataset_path: json
dataset_kwargs:
  data_files: {file}
test_split: train
output_type: {kind}
doc_to_text: {text}
doc_to_target: {target}
doc_to_choice: {choice}
{more}
metric_list:
{metrics}
"""
FILTERS = """
repeats: 2
filter_list:
  - name: first
    filter:
      - function: take_first
  - name: same
    filter:
      - function: take_first
"""


def write_task(
    folder: Path, task: str, docs: Sequence[Mapping[str, Any]], metrics: Sequence[str], **parts: str
) -> None:
    """Write a task of the harness: its settings and its documents."""
    file = folder / f"{task}.jsonl"
    file.write_text("".join(json.dumps(doc) + "\n" for doc in docs), encoding="utf-8")
    usual = {"kind": "multiple_choice", "text": '"{{question}}"', "target": "answer", "choice": '"{{choices}}"'}
    listed = "\n".join(f"  - metric: {metric}" for metric in metrics)
    filled = {**usual, "more": "", **parts}
    (folder / f"{task}.yaml").write_text(TASK.format(task=task, file=file, metrics=listed, **filled), encoding="utf-8")


def quiz_docs() -> list[dict[str, Any]]:
    """Return questions with two, three or four choices."""
    sizes = [2 + number % 3 for number in range(12)]
    return [
        {"question": f"Question {number}?", "choices": WORDS[:size], "answer": number % size, "topic": number // 4}
        for number, size in enumerate(sizes)
    ]


def exam_docs() -> list[dict[str, Any]]:
    """Return questions with four choices, five about each passage."""
    right = np.random.default_rng(1).integers(0, 4, ITEMS).tolist()
    return [
        {"question": f"Passage {number % PASSAGES}, question {number}:", "choices": list(WORDS), "answer": gold}
        | {"passage": number % PASSAGES}
        for number, gold in enumerate(right)
    ]


def exam_likelihoods(ability: float, exaggeration: float, seed: int) -> dict[tuple[str, str], float]:
    """Return the log-likelihood of each choice after each question.

    Evidence x is normal with mean `ability` for the right choice and 0 for the others, so the log-odds are
    `ability * x`, which the model multiplies by `exaggeration`. It knows more about some passages than about others.
    """
    rng = np.random.default_rng(seed)
    ease = np.exp(np.random.default_rng(2).normal(0.0, 0.4, PASSAGES))
    found = {}
    for doc in exam_docs():
        strength = ability * ease[doc["passage"]]
        evidence = rng.normal(0.0, 1.0, 4)
        evidence[doc["answer"]] += strength
        logits = exaggeration * strength * evidence
        values = logits - np.logaddexp.reduce(logits) - rng.exponential(0.3)
        for word, value in zip(WORDS, values.tolist(), strict=True):
            found[doc["question"], f" {word}"] = round(min(value, 0.0), 4)
    return found


def run_harness(tasks: Path, names: Sequence[str], into: Path, likelihood: Callable[[str, str], float]) -> list[Path]:
    """Run tasks of the harness with a simulated model, and return the files of samples."""
    from lm_eval.__main__ import cli_evaluate
    from lm_eval.api.model import LM
    from lm_eval.api.registry import model_registry

    class Simulated(LM):
        def __init__(self, **_: Any) -> None:
            super().__init__()

        def loglikelihood(self, requests: Any, **_: Any) -> list[tuple[float, bool]]:
            found = [likelihood(*request.args) for request in requests]
            return [(value, value > math.log(0.5)) for value in found]

        def generate_until(self, requests: Any, **_: Any) -> list[str]:
            return ["red" for _ in requests]

        def loglikelihood_rolling(self, requests: Any, **_: Any) -> list[float]:
            raise NotImplementedError

    name = f"simulated-{into.name}"
    model_registry.register(name, target=Simulated)
    sys.argv = ["lm-eval", "run", "--model", name, "--tasks", ",".join(names), "--include_path", str(tasks)]
    sys.argv += ["--output_path", str(into), "--log_samples"]
    cli_evaluate()
    return sorted(into.glob("*/samples_*.jsonl"))


def make_harness_logs(work: Path, folder: Path) -> None:
    """Write the logs of the lm-evaluation-harness, whose names contain the time."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    docs = quiz_docs()
    four = [{**doc, "choices": WORDS} for doc in docs]
    pairs = [{"one": "A cat", "two": "A dog", "end": " barks.", "answer": number % 2} for number in range(6)]
    small = {"quiz": ["acc", "acc_norm"], "named": ["acc", "brier_score"], "informed": ["acc", "acc_mutual_info"]}
    write_task(work, "quiz", docs, small["quiz"], more=FILTERS)
    write_task(work, "named", four, small["named"], target='"{{choices[answer]}}"')
    write_task(work, "informed", four, small["informed"])
    text, choice = "answer", '"{{[one, two]}}"'
    write_task(work, "contexts", pairs, ["acc"], text=text, target="end", choice=choice)
    write_task(
        work, "written", docs[:3], ["exact_match"], kind="generate_until", choice="null", target='"{{choices[answer]}}"'
    )
    rng = np.random.default_rng(3)
    made = run_harness(
        work,
        ["quiz", "named", "informed", "contexts", "written"],
        work / "quizzes",
        lambda _context, _text: round(-rng.exponential(2.0), 4),
    )
    for path in made:
        shutil.copy(path, folder / path.name)
    write_task(work, "exam", exam_docs(), ["acc", "brier_score"])
    for seed, (model, (ability, exaggeration)) in enumerate(EXAM_MODELS.items()):
        table = exam_likelihoods(ability, exaggeration, seed)
        (path,) = run_harness(work, ["exam"], work / model, lambda context, text, table=table: table[context, text])
        packed = gzip.compress(path.read_bytes(), mtime=0)
        (folder / model).mkdir()
        (folder / model / f"{path.name}.gz").write_bytes(packed)


def choice_output(rng: np.random.Generator) -> Callable[..., Any]:
    """Return a model that answers with a letter and the logprobs of some of the letters."""
    from inspect_ai.model import Logprob, Logprobs, ModelOutput, ModelUsage, TopLogprob

    def answer(messages: Any, *_: Any) -> Any:
        letters = [line[0] for line in messages[-1].text.splitlines() if line[1:3] == ") "]
        chances = rng.dirichlet(np.ones(len(letters)))
        place = int(np.argmax(chances))
        # The likeliest letter, another spelling of it, the second letter, and a token that is no choice.
        second = int(np.argsort(chances)[-2])
        top = {f" {letters[place]}": 0.8 * chances[place], letters[place]: 0.1 * chances[place]}
        top |= {f" {letters[second]}": 0.9 * chances[second], " The": 0.02}
        listed = [TopLogprob(token=token, logprob=math.log(chance)) for token, chance in top.items()]
        first = Logprob(token="ANSWER:", logprob=-0.01, top_logprobs=[])  # noqa: S106  (a word)
        chosen = Logprob(token=listed[0].token, logprob=listed[0].logprob, top_logprobs=listed)
        output = ModelOutput.from_content("mockllm/model", f"ANSWER: {letters[place]}")
        output.usage = ModelUsage(input_tokens=20, output_tokens=3, total_tokens=23)
        output.choices[0].logprobs = Logprobs(content=[first, chosen])
        return output

    return answer


def stated_output(rng: np.random.Generator) -> Callable[..., Any]:
    """Return a model that states its confidence, except once in eight answers."""
    from inspect_ai.model import ModelOutput, ModelUsage

    def answer(*_: Any) -> Any:
        stated = "" if rng.random() < 0.125 else f"\nCONFIDENCE: {rng.integers(50, 101)}%"
        output = ModelOutput.from_content("mockllm/model", f"ANSWER: {rng.choice(WORDS[:2])}{stated}")
        output.usage = ModelUsage(input_tokens=20, output_tokens=8, total_tokens=28)
        return output

    return answer


def stated_scorer() -> Any:
    """Return a scorer that records the stated confidence."""
    import re

    from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer

    @scorer(metrics=[accuracy()])
    def stated() -> Any:
        async def score(state: Any, target: Any) -> Any:
            text = state.output.completion
            answer = re.search(r"ANSWER: (.*)", text)[1]
            found = re.search(r"CONFIDENCE: (\d+)%", text)
            confidence = int(found[1]) / 100 if found else None
            value = CORRECT if answer == target.text else INCORRECT
            return Score(value=value, answer=answer, metadata={"confidence": confidence})

        return score

    return stated()


def make_inspect_logs(work: Path, folder: Path) -> None:
    """Write the logs of Inspect."""
    from inspect_ai import Task
    from inspect_ai import eval as run
    from inspect_ai.dataset import Sample
    from inspect_ai.model import get_model
    from inspect_ai.scorer import choice, includes
    from inspect_ai.solver import generate, multiple_choice

    folder.mkdir(parents=True, exist_ok=True)

    def log(name: str, task: Any, outputs: Callable[..., Any], **options: Any) -> None:
        model = get_model("mockllm/model", custom_outputs=outputs)
        (made,) = run(task, model=model, log_dir=str(work / "inspect"), display="none", **options)
        shutil.copy(Path(made.location.removeprefix("file://")), folder / name)

    samples = [
        Sample(
            id=f"q{number}",
            input=f"Question {number}?",
            choices=list(WORDS[:3]),
            target="ABC"[number % 3],
            metadata={"passage": number // 2},
        )
        for number in range(8)
    ]
    quiz = Task(dataset=samples, solver=multiple_choice(), scorer=choice(), name="quiz")
    log("choices.eval", quiz, choice_output(np.random.default_rng(1)), epochs=2, log_format="eval")
    log("choices.json", quiz, choice_output(np.random.default_rng(1)), limit=3, log_format="json")
    shuffled = Task(dataset=samples, solver=multiple_choice(shuffle=True), scorer=choice(), name="shuffled")
    log("shuffled.eval", shuffled, choice_output(np.random.default_rng(1)), limit=3, log_format="eval")
    asked = [Sample(id=number, input=f"Question {number}?", target=WORDS[number % 2]) for number in range(10)]
    stated = Task(dataset=asked, solver=generate(), scorer=[stated_scorer(), includes()], name="stated")
    log("stated.eval", stated, stated_output(np.random.default_rng(2)), epochs=2, log_format="eval")


def main(folder: Path) -> None:
    """Write all logs below a folder."""
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        os.environ.update({"HF_HOME": str(work / "cache"), "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"})
        target = folder.resolve()
        os.chdir(work)  # Inspect records the Git repository in which it runs.
        make_inspect_logs(work, target / "inspect")
        make_harness_logs(work, target / "lm_eval")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
