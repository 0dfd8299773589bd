"""Logs of Inspect: answers with the confidence that a scorer recorded, or with the probabilities of choices."""

from __future__ import annotations

import bisect
import hashlib
import itertools
import json
import math
import re
import string
import zipfile
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from propriety import checks
from propriety.checks import is_number
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.integrations.logged_answers import (
    AnswerRow,
    LoggedAnswers,
    archived_objects,
    field_of,
    file_at,
    inside,
    object_of,
)
from propriety.tables.probabilities import TOLERANCE
from propriety.tables.validation import Missing

__all__ = ["read_inspect"]

Record: TypeAlias = Mapping[str, Any]

JSON_LOG = 2**30  # Bytes of a log that is one JSON file, which is read whole.
MARK = re.compile(r"ANSWER\s*:\s*(?=\S)", re.IGNORECASE)  # What Inspect asks models to write before the letter.
RIGHT: dict[object, bool] = {"C": True, "I": False, "N": False, 1: True, 0: False}  # True is 1 and False is 0.
# How the vocabularies of some tokenisers write a space, a line end and a tab.
WHITESPACE = str.maketrans({"Ġ": " ", "▁": " ", "Ċ": "\n", "ĉ": "\t"})
REQUEST = "request them with GenerateConfig(logprobs=True, top_logprobs=20)."
DROP = 'leave such samples out with missing="drop".'


class MissingFromLogError(MissingValuesError):
    """What an answer lacks, such as a score or logprobs; it is then dropped if the caller wishes."""


def read_inspect(
    path: str | PathLike[str],
    *,
    confidence_from: str | Callable[[Mapping[str, Any]], float] | None = None,
    scorer: str | None = None,
    cluster_from: str | None = None,
    missing: Missing = "raise",
) -> LoggedAnswers:
    """Read answers and their confidence from a log of Inspect.

    By default, the confidence comes from the logprobs of the token that answers a multiple-choice question. With
    `confidence_from`, it is a number that a scorer recorded, such as the confidence that the model stated.

    Parameters
    ----------
    path : path
        A log file, ``.eval`` or ``.json``. Reading ``.eval`` files needs zstandard.
    confidence_from : str or callable, optional
        The field of the score's `metadata` that contains the confidence in [0, 1], or a function of a sample, as a
        dict, that returns it. None means the logprobs.
    scorer : str, optional
        The scorer whose scores to read. Required if the log has several.
    cluster_from : str, optional
        A field of the sample's `metadata` that identifies the cluster of an item, such as its passage. By default,
        each item is a cluster, with all its epochs.
    missing : {"raise", "drop"}
        What to do with a sample that failed or that lacks a score or a confidence: raise an error or leave it out.

    Returns
    -------
    LoggedAnswers
        Arrays such as `correct`, `confidence`, `item` and `cluster`; with logprobs also `y_true`, `y_proba` and
        `choice_mass`.

    Raises
    ------
    InputValueError
        If the file is malformed, the evaluation did not succeed, an answer is only partly right, or the solver
        shuffled the choices: the log then does not say which choice a token was for.

    See Also
    --------
    read_lm_eval : The same for the lm-evaluation-harness.
    match_answers : Matches the answers of several models.

    Notes
    -----
    The answer to a multiple-choice question is the token after "ANSWER:" that is the letter of the scored answer, apart
    from spaces, also as vocabularies write them ("ĠB", "▁B"). Without "ANSWER:", it is the only token that is this
    letter, as a capital; an answer with several such tokens counts as missing. The probability of a choice is the sum
    over the `top_logprobs` of this token that are its letter. The probabilities are divided by their sum,
    `choice_mass`. A choice that is not among the `top_logprobs` has the probability 0. Request enough of them:
    ``GenerateConfig(logprobs=True, top_logprobs=20)``.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> score = {"value": "C", "answer": "42", "metadata": {"confidence": 0.9}}
    >>> sample = {"id": "q1", "epoch": 1, "input": "6 x 7?", "target": "42", "scores": {"match": score}}
    >>> log = {"status": "success", "eval": {"task": "sums", "model": "m"}, "plan": {}, "samples": [sample]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "log.json")
    ...     _ = file.write_text(json.dumps(log))
    ...     answers = read_inspect(file, confidence_from="confidence")
    >>> answers
    LoggedAnswers(rows=1, items=1, accuracy=1, mean_confidence=0.9, task=sums, model=m)
    """
    checks.choice(missing, "missing", ("raise", "drop"))
    if not (confidence_from is None or isinstance(confidence_from, str) or callable(confidence_from)):
        raise InputTypeError("must be a name or a function", argument="confidence_from", got_type=confidence_from)
    file = file_at(path, "path")
    header, samples = _header_and_samples(file)
    if (status := header.get("status")) != "success":
        hint = "complete it with inspect eval-retry."
        raise InputValueError("must have the status 'success'", argument=file.name, got=status, hint=hint)
    steps = inside(header, "plan", "steps")
    for step in steps if confidence_from is None and isinstance(steps, list) else []:
        if inside(step, "params", "shuffle"):  # The logprobs are then those of other letters.
            raise _shuffled(file.name)
    rows, dropped = [], 0
    for where, sample in samples:
        try:
            rows.append(_row(sample, where, confidence_from, scorer, cluster_from))
        except MissingFromLogError:
            if missing == "raise":
                raise
            dropped += 1
    task, model = (str(inside(header, "eval", name) or "") for name in ("task", "model"))
    return LoggedAnswers.of_rows(rows, greedy=False, model=model, task=task, dropped=dropped)


def _header_and_samples(path: Path) -> tuple[Record, Iterator[tuple[str, Record]]]:
    """Return the header of a log, and its samples with a description of the place of each."""
    size = path.stat().st_size  # An absent file is reported as such.
    if path.suffix == ".eval" or zipfile.is_zipfile(path):
        entries = archived_objects(path, "header.json", "samples/")
        _, header = next(entries, ("", None))
        if header is None:
            hint = "its evaluation may be running or may have been interrupted; see inspect eval-retry."
            raise InputValueError("must contain header.json", argument=path.name, hint=hint)
        return header, entries
    if size > JSON_LOG:
        hint = "convert it to the .eval format: inspect log convert --to eval."
        raise InputValueError(f"a JSON log may have {JSON_LOG} bytes; {path.name} has more", hint=hint)
    log = object_of(path.read_bytes(), path.name)
    samples = field_of(log, "samples", list, path.name)
    return log, ((f"sample {number} of {path.name}", sample) for number, sample in enumerate(samples))


def _shuffled(where: str) -> InputValueError:
    law = "must not have choices that the solver shuffled: the logprobs are not those of the logged letters"
    hint = "shuffle the dataset instead, with dataset.shuffle_choices(), or pass confidence_from."
    return InputValueError(law, argument=where, hint=hint)


def _row(
    sample: Record,
    where: str,
    confidence_from: str | Callable[[Record], float] | None,
    scorer: str | None,
    cluster_from: str | None,
) -> AnswerRow:
    if not isinstance(sample, dict):
        raise InputValueError("must be a JSON object", argument=where, got_type=sample)
    item = str(field_of(sample, "id", (str, int), where))
    cluster = item
    if cluster_from is not None:
        metadata = sample.get("metadata")
        about = metadata if isinstance(metadata, dict) else {}
        cluster = str(field_of(about, cluster_from, (str, int, float, bool), f"the metadata of {where}"))
    question = json.dumps([_without_ids(sample.get("input")), sample.get("choices"), sample.get("target")])
    score = _score(sample, scorer, where)
    value = score.get("value")
    if not isinstance(value, str | int | float) or value not in RIGHT:  # "C" means correct, and is not a choice.
        law = "must have a score that is right or wrong: 'C', 'I', 'N', 1, 0, true or false"
        raise InputValueError(law, argument=where, got=value)
    row = AnswerRow(
        item=item,
        repeat=field_of(sample, "epoch", int, where),
        cluster=cluster,
        content=hashlib.sha256(question.encode()).hexdigest(),
        correct=RIGHT[value],
        confidence=math.nan,
    )
    if confidence_from is None:
        return _with_choices(row, sample, score, where)
    return row._replace(confidence=_confidence(sample, score, confidence_from, where))


def _score(sample: Record, scorer: str | None, where: str) -> Record:
    scores = sample.get("scores")
    if sample.get("error") or not isinstance(scores, dict) or not scores:
        raise MissingFromLogError("must have a score and no error", argument=where, hint=DROP)
    if scorer is None and len(scores) > 1:
        law = "must be given if a log has several scores"
        raise InputValueError(law, argument="scorer", offender=f"{where} has {sorted(scores)}")
    name = next(iter(scores)) if scorer is None else scorer
    if name not in scores:
        law = "must be a scorer of the log"
        raise InputValueError(law, argument="scorer", offender=f"got {name!r}; {where} has {sorted(scores)}")
    return field_of(scores, name, dict, f"scores of {where}")


def _confidence(sample: Record, score: Record, source: str | Callable[[Record], float], where: str) -> float:
    value = inside(score, "metadata", source) if isinstance(source, str) else source(sample)
    if value is None or (is_number(value) and math.isnan(value)):
        raise MissingFromLogError("must have a confidence", argument=where, hint=DROP)
    if not is_number(value) or not 0.0 <= value <= 1.0:
        hint = "pass a function that converts it, for example from percent."
        raise InputValueError("must have a confidence that is a number in [0, 1]", argument=where, got=value, hint=hint)
    return float(value)


def _without_ids(messages: Any) -> Any:
    """Return the messages of a chat without their identifiers, which Inspect draws at random; a text as it is."""
    if not isinstance(messages, list):
        return messages
    return [
        {name: value for name, value in message.items() if name != "id"} if isinstance(message, dict) else message
        for message in messages
    ]


def _with_choices(row: AnswerRow, sample: Record, score: Record, where: str) -> AnswerRow:
    """Add the choices of a question and their probabilities."""
    size = len(field_of(sample, "choices", list, where))
    # After Z, Inspect counts from 1.
    letters = [*string.ascii_uppercase[:size], *(str(place - 25) for place in range(26, size))]
    target = field_of(sample, "target", (str, list), where)
    named = [target] if isinstance(target, str) else target
    if len(named) != 1 or named[0] not in letters:
        law = "must have a target that is the letter of one choice"
        raise InputValueError(law, argument=where, offender=f"got {target!r} of {size} choices")
    answer = str(score.get("answer") or "").strip().upper()
    if answer not in letters:
        raise MissingFromLogError("must have an answer that is a choice", argument=where, offender=f"got {answer!r}")
    if row.correct != (answer == named[0]):
        offender = f"the answer is {answer!r}, the target {named[0]!r} and the score {score.get('value')!r}"
        raise InputValueError("must have a score that agrees with its target", argument=where, offender=offender)
    if str(score.get("explanation")).startswith("Choices were shuffled"):
        raise _shuffled(where)
    masses = _masses(sample, letters, answer, where)
    total, place = math.fsum(masses), letters.index(answer)
    proba = [mass / total for mass in masses]
    return row._replace(confidence=proba[place], gold=letters.index(named[0]), answer=place, proba=proba, mass=total)


def _masses(sample: Record, letters: list[str], answer: str, where: str) -> list[float]:
    """Return the probability of each letter at the token that is the answer."""
    token = _answer_token(sample, letters, answer, where)
    listed = token.get("top_logprobs")
    # Different tokens can have the same text, such as those of several bytes. One that is listed twice counts once.
    alternatives: dict[str, Record] = {
        repr([alternative.get(name) for name in ("token", "bytes", "logprob")]): alternative
        for alternative in (listed if isinstance(listed, list) else [])
        if isinstance(alternative, dict)
    }
    if len(alternatives) < 2:
        law = "must have the top_logprobs of the token that is the answer: with its own, the confidence would be 1"
        raise MissingFromLogError(law, argument=where, hint=REQUEST)
    if all(_text(alternative) != _text(token) for alternative in alternatives.values()):
        alternatives["the answer itself"] = token
    masses = [0.0] * len(letters)
    for alternative in alternatives.values():
        if (letter := _text(alternative).strip().upper()) in letters:
            value = alternative.get("logprob")
            if not is_number(value) or not value <= TOLERANCE:  # type: ignore[operator]  # a number, not NaN
                law = "must have logprobs of at most 0"
                raise InputValueError(law, argument=where, offender=f"token {alternative['token']!r} has {value!r}")
            masses[letters.index(letter)] += math.exp(value)  # type: ignore[arg-type]  # a number
    if not math.fsum(masses) > 0.0:
        raise InputValueError("must have a choice with a positive probability", argument=where)
    return masses


def _answer_token(sample: Record, letters: list[str], answer: str, where: str) -> Record:
    """Return the token that is the answer: after "ANSWER:", or the only one that is its letter."""
    content = inside(field_of(sample, "output", dict, where), "choices", 0, "logprobs", "content")
    tokens = [token for token in content if isinstance(token, dict)] if isinstance(content, list) else []
    texts = [_text(token) for token in tokens]
    ends = list(itertools.accumulate(map(len, texts)))
    marks = [mark.end() for mark in MARK.finditer("".join(texts))]
    if marks:
        marked = [bisect.bisect_right(ends, mark) for mark in marks]
        candidates = {place: letter for place in marked if (letter := texts[place].strip().upper()) in letters}
        answers = [place for place, letter in candidates.items() if letter == answer][-1:]
    else:  # In lower case, "a" may be the article.
        candidates = {place: text.strip() for place, text in enumerate(texts) if text.strip() in letters}
        answers = [place for place, letter in candidates.items() if letter == answer]
    if not candidates:
        raise MissingFromLogError("must have logprobs of a token that is a choice", argument=where, hint=REQUEST)
    if not answers:
        raise _shuffled(where)
    if len(answers) > 1:
        law = f"must have one token that is the answer {answer!r}, or a token after 'ANSWER:'"
        raise MissingFromLogError(law, argument=where, offender=f"got {len(answers)}")
    return tokens[answers[0]]


def _text(token: Record) -> str:
    """Return the text of a token, with spaces where a vocabulary writes them in its own way."""
    return str(token.get("token")).translate(WHITESPACE)
