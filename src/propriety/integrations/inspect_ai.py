"""Logs of Inspect: answers with the confidence that a scorer recorded, or with the probabilities of choices."""

from __future__ import annotations

import bisect
import hashlib
import itertools
import json
import math
import re
import string
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

from propriety.checks import check_options, is_number
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.integrations.inspect_files import header_and_samples
from propriety.integrations.log_files import field_of, file_at
from propriety.integrations.logged_answers import AnswerRow, LoggedAnswers
from propriety.tables.cases import TOLERANCE
from propriety.tables.validation import Missing

__all__ = ["read_inspect"]

MARK = re.compile(r"ANSWER\s*:\s*(?=\S)", re.IGNORECASE)  # What Inspect asks models to write before the letter.
RIGHT: dict[object, bool] = {"C": True, "I": False, "N": False, 1: True, 0: False}  # True is 1 and False is 0.
# How the vocabularies of some tokenisers write a space, a line end and a tab.
WHITESPACE = str.maketrans({"Ġ": " ", "▁": " ", "Ċ": "\n", "ĉ": "\t"})
REQUEST = "request them with GenerateConfig(logprobs=True, top_logprobs=20)."


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
        A log file, ``.eval`` or ``.json``. Reading ``.eval`` files needs PyArrow.
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
    check_options(missing, TOLERANCE)
    if not (confidence_from is None or isinstance(confidence_from, str) or callable(confidence_from)):
        offender = f"got {type(confidence_from).__name__}"
        raise InputTypeError("must be a name or a function", argument="confidence_from", offender=offender)
    file = file_at(path, "path")
    header, samples = header_and_samples(file)
    _check_status(header, file.name)
    if confidence_from is None:
        _check_order(header, file.name)
    rows, dropped = [], 0
    for where, sample in samples:
        try:
            rows.append(_row(sample, where, confidence_from, scorer, cluster_from))
        except MissingFromLogError:
            if missing == "raise":
                raise
            dropped += 1
    about = header.get("eval")
    named = about if isinstance(about, dict) else {}
    task, model = (str(named.get(name, "")) for name in ("task", "model"))
    return LoggedAnswers.of_rows(rows, greedy=False, model=model, task=task, dropped=dropped)


def _check_status(header: Mapping[str, Any], name: str) -> None:
    status = header.get("status")
    if status != "success":
        hint = "complete it with inspect eval-retry."
        raise InputValueError("must have the status 'success'", argument=name, offender=f"got {status!r}", hint=hint)


def _check_order(header: Mapping[str, Any], name: str) -> None:
    """Raise an error if a solver shuffled the choices, because the logprobs are then those of other letters."""
    plan = header.get("plan")
    steps = plan.get("steps") if isinstance(plan, dict) else None
    for step in steps if isinstance(steps, list) else []:
        params = step.get("params") if isinstance(step, dict) else None
        if isinstance(params, dict) and params.get("shuffle"):
            raise _shuffled(name)


def _shuffled(where: str) -> InputValueError:
    law = "must not have choices that the solver shuffled: the logprobs are not those of the logged letters"
    hint = "shuffle the dataset instead, with dataset.shuffle_choices(), or pass confidence_from."
    return InputValueError(law, argument=where, hint=hint)


def _row(
    sample: Mapping[str, Any],
    where: str,
    confidence_from: str | Callable[[Mapping[str, Any]], float] | None,
    scorer: str | None,
    cluster_from: str | None,
) -> AnswerRow:
    item = str(field_of(sample, "id", (str, int), where))
    metadata = sample.get("metadata")
    about = metadata if isinstance(metadata, dict) else {}
    kinds = (str, int, float, bool)
    cluster = item if cluster_from is None else str(field_of(about, cluster_from, kinds, f"the metadata of {where}"))
    question = json.dumps([_without_ids(sample.get("input")), sample.get("choices"), sample.get("target")])
    content = hashlib.sha256(question.encode()).hexdigest()
    repeat = field_of(sample, "epoch", int, where)
    score = _score(sample, scorer, where)
    correct = _correct(score, where)
    if confidence_from is not None:
        confidence = _confidence(sample, score, confidence_from, where)
        return AnswerRow(item, repeat, cluster, content, correct, confidence)
    letters = [_letter(place) for place in range(len(field_of(sample, "choices", list, where)))]
    right = _target(sample, letters, where)
    answer = str(score.get("answer") or "").strip().upper()
    if answer not in letters:
        raise MissingFromLogError("must have an answer that is a choice", argument=where, offender=f"got {answer!r}")
    if correct != (letters.index(answer) == right):
        offender = f"the answer is {answer!r}, the target {letters[right]!r} and the score {score.get('value')!r}"
        raise InputValueError("must have a score that agrees with its target", argument=where, offender=offender)
    masses = _masses(sample, letters, answer, str(score.get("explanation")), where)
    total = math.fsum(masses)
    proba = [mass / total for mass in masses]
    return AnswerRow(
        item=item,
        repeat=repeat,
        cluster=cluster,
        content=content,
        correct=correct,
        confidence=proba[letters.index(answer)],
        gold=right,
        answer=letters.index(answer),
        proba=proba,
        mass=total,
    )


def _score(sample: Mapping[str, Any], scorer: str | None, where: str) -> dict[str, Any]:
    scores = sample.get("scores")
    if sample.get("error") or not isinstance(scores, dict) or not scores:
        hint = 'leave such samples out with missing="drop".'  # An adapter is used from Python.
        raise MissingFromLogError("must have a score and no error", argument=where, hint=hint)
    if scorer is None and len(scores) > 1:
        law = "must be given if a log has several scores"
        raise InputValueError(law, argument="scorer", offender=f"{where} has {sorted(scores)}")
    name = next(iter(scores)) if scorer is None else scorer
    if name not in scores:
        law = "must be a scorer of the log"
        raise InputValueError(law, argument="scorer", offender=f"got {name!r}; {where} has {sorted(scores)}")
    found: dict[str, Any] = field_of(scores, name, dict, f"scores of {where}")
    return found


def _correct(score: Mapping[str, Any], where: str) -> bool:
    """Return whether an answer was right: "C" means correct, and is not a choice."""
    value = score.get("value")
    if not isinstance(value, str | int | float) or value not in RIGHT:
        law = "must have a score that is right or wrong: 'C', 'I', 'N', 1, 0, true or false"
        raise InputValueError(law, argument=where, offender=f"got {value!r}")
    return RIGHT[value]


def _confidence(
    sample: Mapping[str, Any],
    score: Mapping[str, Any],
    source: str | Callable[[Mapping[str, Any]], float],
    where: str,
) -> float:
    if isinstance(source, str):
        metadata = score.get("metadata")
        value = metadata.get(source) if isinstance(metadata, dict) else None
    else:
        value = source(sample)
    if value is None or (is_number(value) and math.isnan(value)):
        hint = 'leave such samples out with missing="drop".'
        raise MissingFromLogError("must have a confidence", argument=where, hint=hint)
    if not is_number(value) or not 0.0 <= value <= 1.0:
        law = "must have a confidence that is a number in [0, 1]"
        hint = "pass a function that converts it, for example from percent."
        raise InputValueError(law, argument=where, offender=f"got {value!r}", hint=hint)
    return float(value)


def _without_ids(messages: Any) -> Any:
    """Return the messages of a chat without their identifiers, which Inspect draws at random; a text as it is."""
    if not isinstance(messages, list):
        return messages
    return [
        {name: value for name, value in message.items() if name != "id"} if isinstance(message, dict) else message
        for message in messages
    ]


def _letter(place: int) -> str:
    """Return the letter of a choice; after Z, Inspect counts from 1."""
    return string.ascii_uppercase[place] if place < 26 else str(place - 25)


def _target(sample: Mapping[str, Any], letters: list[str], where: str) -> int:
    target = field_of(sample, "target", (str, list), where)
    named = [target] if isinstance(target, str) else target
    if len(named) != 1 or named[0] not in letters:
        law = "must have a target that is the letter of one choice"
        raise InputValueError(law, argument=where, offender=f"got {target!r} of {len(letters)} choices")
    return letters.index(named[0])


def _masses(sample: Mapping[str, Any], letters: list[str], answer: str, explanation: str, where: str) -> list[float]:
    """Return the probability of each letter at the token that is the answer."""
    if explanation.startswith("Choices were shuffled"):
        raise _shuffled(where)
    token = _answer_token(_tokens(sample, where), letters, answer, where)
    alternatives = _alternatives(token)
    if len(alternatives) < 2:
        law = "must have the top_logprobs of the token that is the answer: with its own, the confidence would be 1"
        raise MissingFromLogError(law, argument=where, hint=REQUEST)
    if all(_text(alternative) != _text(token) for alternative in alternatives):
        alternatives.append(token)
    masses = [0.0] * len(letters)
    for alternative in alternatives:
        if (letter := _text(alternative).strip().upper()) in letters:
            value = alternative.get("logprob")
            if not is_number(value) or not value <= TOLERANCE:  # type: ignore[operator]  # a number, not NaN
                law = "must have logprobs of at most 0"
                raise InputValueError(law, argument=where, offender=f"token {alternative['token']!r} has {value!r}")
            masses[letters.index(letter)] += math.exp(value)  # type: ignore[arg-type]  # a number
    if not math.fsum(masses) > 0.0:
        raise InputValueError("must have a choice with a positive probability", argument=where)
    return masses


def _alternatives(token: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the listed alternatives of a token; one that is listed twice alike counts once.

    Different tokens can have the same text, such as those of several bytes; they differ in these or in their logprob.
    """
    listed = token.get("top_logprobs")
    found: dict[str, Mapping[str, Any]] = {}
    for alternative in listed if isinstance(listed, list) else []:
        if isinstance(alternative, dict):
            found.setdefault(repr([alternative.get(name) for name in ("token", "bytes", "logprob")]), alternative)
    return list(found.values())


def _answer_token(tokens: list[dict[str, Any]], letters: list[str], answer: str, where: str) -> dict[str, Any]:
    """Return the token that is the answer: after "ANSWER:", or the only one that is its letter."""
    texts = [_text(token) for token in tokens]
    ends = list(itertools.accumulate(map(len, texts)))
    marks = [found.end() for found in MARK.finditer("".join(texts))]
    if marks:
        marked = [tokens[bisect.bisect_right(ends, mark)] for mark in marks]
        found = [token for token in marked if _text(token).strip().upper() in letters]
        own = [token for token in found if _text(token).strip().upper() == answer][-1:]
    else:
        found = [token for token in tokens if _text(token).strip() in letters]  # In lower case, "a" may be the article.
        own = [token for token in found if _text(token).strip() == answer]
    if not found:
        raise MissingFromLogError("must have logprobs of a token that is a choice", argument=where, hint=REQUEST)
    if not own:
        raise _shuffled(where)
    if len(own) > 1:
        law = f"must have one token that is the answer {answer!r}, or a token after 'ANSWER:'"
        raise MissingFromLogError(law, argument=where, offender=f"got {len(own)}")
    return own[0]


def _tokens(sample: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    output = field_of(sample, "output", dict, where)
    generated = output.get("choices")
    first = generated[0] if isinstance(generated, list) and generated else None
    logprobs = first.get("logprobs") if isinstance(first, dict) else None
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    return [token for token in content if isinstance(token, dict)] if isinstance(content, list) else []


def _text(token: Mapping[str, Any]) -> str:
    """Return the text of a token, with spaces where a vocabulary writes them in its own way."""
    return str(token.get("token")).translate(WHITESPACE)
