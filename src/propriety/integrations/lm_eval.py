"""Sample files of the lm-evaluation-harness: multiple-choice answers with the probabilities of the choices."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from propriety.checks import check_choice
from propriety.errors import InputTypeError, InputValueError
from propriety.integrations.log_files import field_of, file_at, object_lines
from propriety.integrations.logged_answers import AnswerRow, LoggedAnswers
from propriety.result import Floats

__all__ = ["read_lm_eval"]

TASK = re.compile(r"samples_(?P<task>.+?)(_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl(\.gz)?")
ROUNDING = 1e-3  # Log-likelihoods in half precision can exceed 0.


ACCURACIES = {"none": "acc", "characters": "acc_norm", "bytes": "acc_bytes"}


class Choices(NamedTuple):
    """The choices of an item: context and continuation of each request."""

    contexts: list[str]
    texts: list[str]


class Item(NamedTuple):
    """An item: its choices, and the right one by each reading of its target, which is a position or a text."""

    where: str
    name: str
    cluster: str
    content: str
    texts: list[str]
    values: Floats
    greedy: list[bool]
    right: dict[str, int]
    accuracies: dict[str, float]


def read_lm_eval(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    filter_name: str | None = None,
    length: Literal["none", "characters", "bytes"] = "none",
    cluster_from: str | None = None,
) -> LoggedAnswers:
    r"""Read multiple-choice answers from a sample file of the lm-evaluation-harness.

    The harness writes the file if it is called with ``--log_samples``. It contains the log-likelihood
    :math:`\ell_k` of each choice, and the probabilities are their softmax:

    .. math:: p_k = e^{\ell_k} / \sum_j e^{\ell_j}

    The answer is the most likely choice, as in the harness's `acc`, and its probability is the confidence.

    Parameters
    ----------
    paths : path or sequence of paths
        A file ``samples_{task}_{time}.jsonl``, or those of several tasks. It may be compressed with gzip.
    filter_name : str, optional
        The harness's filter whose answers to read. Required if the file has several.
    length : {"none", "characters", "bytes"}
        Divide each log-likelihood by the length of its choice before the softmax, as the harness's `acc_norm` and
        `acc_bytes` do. The results no longer are the probabilities of the model.
    cluster_from : str, optional
        A field of the harness's `doc` that identifies the cluster of an item, such as its passage. By default, each
        item is a cluster.

    Returns
    -------
    LoggedAnswers
        Arrays such as `correct`, `confidence`, `y_true`, `y_proba`, `item` and `cluster`. An item is its `doc_id`,
        with the task before it if several files are read.

    Raises
    ------
    InputValueError
        If the file is malformed, is not of a multiple-choice task, has several right choices for an item, contradicts
        the accuracies that the harness computed, or does not tell whether a target is the position or the text of a
        choice.

    See Also
    --------
    read_inspect : The same for logs of Inspect.
    match_answers : Matches the answers of several models.

    Notes
    -----
    If the task has repeats, the filter selects the answer that is read, usually the first. If the choices are in the
    contexts, as in Winogrande, the file does not contain the right choice. It is derived from `acc`, which requires two
    choices.

    Lengths are those of the choices without the blank that the harness puts before all of them; if this contradicts
    the logged accuracy, the blank is part of the choices. A target such as "1" is the position or the text of a choice;
    the logged accuracies of the items show which.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> requests = {f"gen_args_{k}": {"arg_0": "2 + 2 =", "arg_1": f" {k + 3}"} for k in range(2)}
    >>> row = {
    ...     "doc_id": 0,
    ...     "doc": {},
    ...     "target": "1",
    ...     "arguments": requests,
    ...     "filter": "none",
    ...     "doc_hash": "5f",
    ...     "filtered_resps": [["-3.0", "False"], ["-1.0", "True"]],
    ...     "acc": 1.0,
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "samples_sums_2026-11-16T06-00-00.000000.jsonl")
    ...     _ = file.write_text(json.dumps(row))
    ...     answers = read_lm_eval(file)
    >>> answers
    LoggedAnswers(rows=1, items=1, accuracy=1, mean_confidence=0.880797, task=sums)
    >>> answers.y_true, answers.y_proba.round(3)
    (array([1]), array([[0.119, 0.881]]))
    """
    check_choice("length", length, ("none", "characters", "bytes"))
    files = list(paths) if isinstance(paths, Iterable) and not isinstance(paths, str | PathLike) else [paths]
    if not files:
        raise InputTypeError("must be a path or a sequence of paths", argument="paths", offender="it is empty")
    rows: list[AnswerRow] = []
    tasks: list[str] = []
    for file in (file_at(one, "paths") for one in files):
        task = _task(file)
        tasks.append(task)
        prefix = f"{task}/" if len(files) > 1 else ""
        items = [_item(record, where, prefix, cluster_from) for where, record in _filtered(file, filter_name)]
        delimiters = _delimiters(items)
        right = _right_choices(items, delimiters)
        rows += map(_row, items, right, _sizes(items, right, length, delimiters))
    return LoggedAnswers.of_rows(rows, greedy=True, task=", ".join(tasks))


def _task(path: Path) -> str:
    named = TASK.fullmatch(path.name)
    return named["task"] if named else path.name.removesuffix(".gz").removesuffix(".jsonl")


def _filtered(path: Path, wanted: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the records of one filter, and raise an error if there are several and none is named."""
    found: set[str] = set()
    for where, record in object_lines(path):
        name = field_of(record, "filter", str, where)
        found.add(name)
        if wanted is None and len(found) > 1:
            law = "must be given if a file has the answers of several filters"
            hint = "choose one of them; it is usually the first."
            raise InputValueError(law, argument="filter_name", offender=f"{path.name} has {sorted(found)}", hint=hint)
        if wanted in (None, name):
            yield where, record
    if wanted is not None and wanted not in found:
        law = "must be a filter of the file"
        offender = f"got {wanted!r}; {path.name} has {sorted(found)}"
        raise InputValueError(law, argument="filter_name", offender=offender)


def _item(record: Mapping[str, Any], where: str, prefix: str, cluster_from: str | None) -> Item:
    item = f"{prefix}{field_of(record, 'doc_id', (int, str), where)}"
    content = field_of(record, "doc_hash", str, where)
    cluster = item if cluster_from is None else _cluster(record, cluster_from, where)
    choices = _choices(record, where)
    values, greedy = _likelihoods(field_of(record, "filtered_resps", list, where), len(choices.texts), where)
    if "acc_mutual_info" in record:  # The second half are log-likelihoods without the question.
        half, odd = divmod(len(values), 2)
        if odd or half < 2:
            law = "must have requests with and without the question for two or more choices, as acc_mutual_info needs"
            raise InputValueError(law, argument=where, offender=f"it has {len(values)} requests")
        choices = Choices(choices.contexts[:half], choices.texts[:half])
        values = values[:half]
    logged = {name: record.get(name) for name in ACCURACIES.values()}
    accuracies = {name: value for name, value in logged.items() if isinstance(value, int | float)}
    right = _readings(record, choices, values, where)
    return Item(where, item, cluster, content, choices.texts, values, greedy, right, accuracies)


def _row(item: Item, right: int, sizes: Floats) -> AnswerRow:
    scaled = item.values / sizes
    weights = np.exp(scaled - scaled.max())
    proba = weights / weights.sum()
    answer = int(np.argmax(scaled))
    return AnswerRow(
        item=item.name,
        repeat=1,
        cluster=item.cluster,
        content=item.content,
        correct=answer == right,
        confidence=float(proba[answer]),
        gold=right,
        answer=answer,
        proba=proba.tolist(),
        mass=float(np.exp(item.values).sum()),
        greedy=item.greedy[answer],
    )


def _cluster(record: Mapping[str, Any], name: str, where: str) -> str:
    doc = field_of(record, "doc", dict, where)
    found = field_of(doc, name, (str, int, float, bool), f"the doc in {where}")
    return str(found)


def _choices(record: Mapping[str, Any], where: str) -> Choices:
    requests = field_of(record, "arguments", dict, where)
    contexts, texts = [], []
    for number in range(len(requests)):
        request = field_of(requests, f"gen_args_{number}", dict, f"arguments in {where}")
        context = request.get("arg_0")
        contexts.append(context if isinstance(context, str) else json.dumps(context))
        if not isinstance(request.get("arg_1"), str):
            raise _not_multiple_choice(where)
        texts.append(request["arg_1"])
    if len(texts) < 2:
        raise _not_multiple_choice(where)
    return Choices(contexts, texts)


def _not_multiple_choice(where: str) -> InputValueError:
    law = "must be an answer to a multiple-choice question, with the log-likelihood of each choice"
    hint = "tasks with output_type: generate_until do not log probabilities."
    return InputValueError(law, argument=where, hint=hint)


def _likelihoods(pairs: list[Any], k: int, where: str) -> tuple[Floats, list[bool]]:
    """Return the log-likelihoods of the choices, and whether greedy decoding gives each."""
    if len(pairs) != k:
        raise _not_multiple_choice(where)
    try:
        values = np.array([float(value) for value, _ in pairs])
        greedy = [{"True": True, "False": False}[str(flag)] for _, flag in pairs]
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise _not_multiple_choice(where) from error
    wrong = np.isnan(values) | (values > ROUNDING)
    if wrong.any() or np.isneginf(values).all():
        place = int(np.argmax(wrong)) if wrong.any() else 0
        law = "must have log-likelihoods of at most 0, not all of them minus infinity"
        raise InputValueError(law, argument=where, offender=f"choice {place} has {values[place]}")
    return values, greedy


def _readings(record: Mapping[str, Any], choices: Choices, values: Floats, where: str) -> dict[str, int]:
    """Return the right choice by each reading of the target that agrees with the accuracy that the harness computed."""
    likeliest, accuracy = int(np.argmax(values)), record.get("acc")
    known = isinstance(accuracy, int | float)
    if known and accuracy not in (0, 1):
        raise InputValueError("must have one right choice", argument=where, offender=f"its accuracy is {accuracy!r}")
    if len(set(choices.contexts)) > 1:
        if len(choices.texts) != 2 or not known:
            law = "must name the right choice"
            hint = "if the choices are in the contexts, two choices and the metric acc are required."
            raise InputValueError(law, argument=where, hint=hint)
        return {"accuracy": likeliest if accuracy else 1 - likeliest}
    found = _targets(field_of(record, "target", (str, int), where), choices.texts, where)
    agreeing = {
        reading: right for reading, right in found.items() if not known or bool(accuracy) == (likeliest == right)
    }
    if not agreeing:
        right = " or ".join(map(str, dict.fromkeys(found.values())))
        offender = f"the target is choice {right}, the most likely is choice {likeliest}, and acc is {accuracy!r}"
        law = "must have an accuracy that agrees with its target and log-likelihoods"
        raise InputValueError(law, argument=where, offender=offender)
    return agreeing


def _targets(target: str | int, texts: list[str], where: str) -> dict[str, int]:
    """Return the choices that the target may mean, by its position or by its text."""
    stripped, text, found = [one.strip() for one in texts], str(target).strip(), {}
    if re.fullmatch(r"\d{1,6}", text) and int(text) < len(texts):
        found["position"] = int(text)
    if isinstance(target, str) and stripped.count(text) == 1:
        found["text"] = stripped.index(text)
    if not found:
        law = "must have a target that is the position or the text of one choice"
        hint = "items with several right choices are not supported." if text.startswith("[") else ""
        raise InputValueError(law, argument=where, offender=f"got {target!r} of {len(texts)} choices", hint=hint)
    return found


def _right_choices(items: Sequence[Item], delimiters: Sequence[int]) -> list[int]:
    """Return the right choice of each item; the targets of a file are all positions, or all texts."""
    readings = [_agreeing(item, delimiters) for item in items]
    known = {reading for own in readings if len(own) == 1 for reading in own}
    right: list[int] = []
    for item, own in zip(items, readings, strict=True):
        possible = set(own.values())
        if len(possible) > 1:
            possible = {own[reading] for reading in own if reading in known}
        if len(possible) != 1:
            law = "must have a target that is either the position or the text of a choice"
            either = f"choice {own['position']} by its position or choice {own['text']} by its text"
            shown = "the accuracies of other items point to both" if possible else "no accuracy in the file shows which"
            offender = f"it may be {either}, and {shown}"
            raise InputValueError(law, argument=item.where, offender=offender)
        right += possible
    return right


def _agreeing(item: Item, delimiters: Sequence[int]) -> dict[str, int]:
    """Return the readings of the target; of different ones, those that agree with the accuracies by length, if any."""
    found = item.right
    if len(set(found.values())) == 1:
        return found
    counted = [one for one in delimiters if one < min(map(len, item.texts))]
    for length in ("characters", "bytes"):
        sizes = [_lengths(item, length, delimiter) for delimiter in counted]
        agreeing = {
            reading: right
            for reading, right in found.items()
            if any(_agrees(item, right, length, own) for own in sizes)
        }
        found = agreeing or found
    return found


def _agrees(item: Item, right: int, length: str, sizes: Floats) -> bool:
    """Whether a right choice and the lengths of the choices agree with the accuracy by length, if it is logged."""
    correct = int(np.argmax(item.values / sizes)) == right
    return item.accuracies.get(ACCURACIES[length], correct) == correct


def _delimiters(items: Sequence[Item]) -> list[int]:
    """Return how many characters before each choice the harness may not count: usually one blank, rarely more or none.

    It writes a delimiter before all choices of a task, but blanks may also be part of the choices.
    """
    shared = min((len(text) - len(text.lstrip()) for item in items for text in item.texts), default=0)
    return [*range(1, 1 + shared), 0]


def _sizes(items: Sequence[Item], right: Sequence[int], length: str, delimiters: Sequence[int]) -> list[Floats]:
    """Return the lengths of the choices of each item, which must agree with the accuracy that the harness computed."""
    if length == "none":
        return [np.ones(len(item.texts)) for item in items]
    wrong: Item | None = None
    for delimiter in delimiters:
        sizes = [_lengths(item, length, delimiter) for item in items]
        rows = zip(items, right, sizes, strict=True)
        contradicted = next((item for item, own, size in rows if not _agrees(item, own, length, size)), None)
        if contradicted is None:
            return sizes
        wrong = wrong or contradicted
    assert wrong is not None  # noqa: S101  (for the type checker; there is a delimiter)
    name = ACCURACIES[length]
    law = f"must have an {name} that agrees with the lengths of its choices"
    offender = (
        f"the answer is {'wrong' if wrong.accuracies[name] else 'right'}, and {name} is {wrong.accuracies[name]!r}"
    )
    raise InputValueError(law, argument=wrong.where, offender=offender, hint='use length="none".')


def _lengths(item: Item, length: str, delimiter: int) -> Floats:
    texts = [text[delimiter:] for text in item.texts]
    sizes = [len(text) if length == "characters" else len(text.encode("utf-8", "surrogatepass")) for text in texts]
    if 0 in sizes:
        raise InputValueError("must have no empty choices to divide by their length", argument=item.where)
    return np.array(sizes, dtype=np.float64)
