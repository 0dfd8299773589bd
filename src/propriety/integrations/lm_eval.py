"""Sample files of the lm-evaluation-harness: multiple-choice answers with the probabilities of the choices."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from propriety import checks
from propriety.errors import InputTypeError, InputValueError
from propriety.integrations.logged_answers import AnswerRow, LoggedAnswers, field_of, file_at, inside, line_objects
from propriety.result import Floats

__all__ = ["read_lm_eval"]

TASK = re.compile(r"samples_(?P<task>.+?)(_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl(\.gz)?")
ROUNDING = 1e-3  # Log-likelihoods in half precision can exceed 0.


READINGS = ("position", "text")  # What a target may be: the number of the right choice, or the choice itself.
ACCURACIES = {"none": "acc", "characters": "acc_norm", "bytes": "acc_bytes"}


class Item(NamedTuple):
    """An item: its choices with their log-likelihoods, and the right one by each reading of its target."""

    where: str
    name: str
    cluster: str
    content: str
    texts: list[str]
    values: Floats
    greedy: list[bool]
    targets: dict[str, int]
    accuracies: dict[str, float]

    def sizes(self, length: str, delimiter: int) -> Floats:
        """Return the lengths of the choices without the first characters, at which the harness puts a delimiter."""
        if length == "none":
            return np.ones(len(self.texts))
        texts = [text[delimiter:] for text in self.texts]
        units = texts if length == "characters" else [text.encode("utf-8", "surrogatepass") for text in texts]
        return np.array([len(text) for text in units], dtype=np.float64)

    def answer(self, length: str, delimiter: int) -> int:
        """Return the most likely choice."""
        return int(np.argmax(self.values / np.maximum(self.sizes(length, delimiter), 1.0)))

    def agrees(self, reading: str, length: str, delimiter: int) -> bool:
        """Whether the accuracy that the harness computed is that of this reading, if it is logged."""
        accuracy = self.accuracies.get(ACCURACIES[length])
        return accuracy is None or bool(accuracy) == (self.answer(length, delimiter) == self.targets[reading])


def read_lm_eval(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
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
    path : path or sequence of paths
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
        the logged accuracies, or does not tell whether a target is the position or the text of a choice.

    See Also
    --------
    read_inspect : The same for logs of Inspect.
    match_answers : Matches the answers of several models.

    Notes
    -----
    If the task has repeats, the filter selects the answer that is read, usually the first. How lengths, targets and
    Winogrande are read: `docs/reference/methods.md`.

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
    checks.choice(length, "length", tuple(ACCURACIES))
    files = list(path) if isinstance(path, Iterable) and not isinstance(path, str | PathLike) else [path]
    if not files:
        raise InputTypeError("must be a path or a sequence of paths", argument="path", offender="it is empty")
    rows: list[AnswerRow] = []
    tasks: list[str] = []
    for file in (file_at(one, "path") for one in files):
        named = TASK.fullmatch(file.name)
        tasks.append(named["task"] if named else file.name.removesuffix(".gz").removesuffix(".jsonl"))
        prefix = f"{tasks[-1]}/" if len(files) > 1 else ""
        items = [_item(record, where, prefix, cluster_from) for where, record in _filtered(file, filter_name)]
        if items:
            reading, delimiter = _agreeing(items, length)
            rows += [_row(item, item.targets[reading], item.sizes(length, delimiter)) for item in items]
    return LoggedAnswers.of_rows(rows, greedy=True, task=", ".join(tasks))


def _filtered(path: Path, wanted: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the records of one filter, and raise an error if there are several and none is named."""
    names: set[str] = set()
    for where, record in line_objects(path):
        name = field_of(record, "filter", str, where)
        names.add(name)
        if wanted is None and len(names) > 1:
            law = "must be given if a file has the answers of several filters"
            hint = "choose one of them; it is usually the first."
            raise InputValueError(law, argument="filter_name", offender=f"{path.name} has {sorted(names)}", hint=hint)
        if wanted in (None, name):
            yield where, record
    if wanted is not None and wanted not in names:
        offender = f"got {wanted!r}; {path.name} has {sorted(names)}"
        raise InputValueError("must be a filter of the file", argument="filter_name", offender=offender)


def _item(record: Mapping[str, Any], where: str, prefix: str, cluster_from: str | None) -> Item:
    name = f"{prefix}{field_of(record, 'doc_id', (int, str), where)}"
    content = field_of(record, "doc_hash", str, where)
    cluster = name
    if cluster_from is not None:
        doc = field_of(record, "doc", dict, where)
        cluster = str(field_of(doc, cluster_from, (str, int, float, bool), f"the doc in {where}"))
    contexts, texts = _choices(record, where)
    values, greedy = _likelihoods(field_of(record, "filtered_resps", list, where), len(texts), where)
    if "acc_mutual_info" in record:  # The second half are log-likelihoods without the question.
        half, odd = divmod(len(values), 2)
        if odd or half < 2:
            law = "must have requests with and without the question for two or more choices, as acc_mutual_info needs"
            raise InputValueError(law, argument=where, offender=f"it has {len(values)} requests")
        contexts, texts, values = contexts[:half], texts[:half], values[:half]
    logged = {accuracy: record.get(accuracy) for accuracy in ACCURACIES.values()}
    accuracies = {accuracy: value for accuracy, value in logged.items() if isinstance(value, int | float)}
    if accuracies.get("acc", 0) not in (0, 1):
        offender = f"its accuracy is {accuracies['acc']!r}"
        raise InputValueError("must have one right choice", argument=where, offender=offender)
    if len(set(contexts)) == 1:
        targets = _targets(field_of(record, "target", (str, int), where), texts, where)
    elif len(texts) == 2 and "acc" in accuracies:
        likeliest = int(np.argmax(values))
        targets = dict.fromkeys(READINGS, likeliest if accuracies["acc"] else 1 - likeliest)
    else:
        hint = "if the choices are in the contexts, two choices and the metric acc are required."
        raise InputValueError("must name the right choice", argument=where, hint=hint)
    return Item(where, name, cluster, content, texts, values, greedy, targets, accuracies)


def _choices(record: Mapping[str, Any], where: str) -> tuple[list[str], list[str]]:
    """Return the contexts and the continuations of the requests."""
    requests = field_of(record, "arguments", dict, where)
    names = [f"gen_args_{number}" for number in range(len(requests))]
    pairs = [field_of(requests, name, dict, f"arguments in {where}") for name in names]
    texts = [inside(pair, "arg_1") for pair in pairs]
    if len(texts) < 2 or not all(isinstance(text, str) for text in texts):
        raise _not_multiple_choice(where)
    return [json.dumps(pair.get("arg_0")) for pair in pairs], texts


def _not_multiple_choice(where: str) -> InputValueError:
    law = "must be an answer to a multiple-choice question, with the log-likelihood of each choice"
    return InputValueError(law, argument=where, hint="tasks with output_type: generate_until do not log probabilities.")


def _likelihoods(pairs: list[Any], k: int, where: str) -> tuple[Floats, list[bool]]:
    """Return the log-likelihoods of the choices, and whether greedy decoding gives each."""
    try:
        values = np.array([float(value) for value, _ in pairs])
        greedy = [{"True": True, "False": False}[str(flag)] for _, flag in pairs]
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise _not_multiple_choice(where) from error
    if len(pairs) != k:
        raise _not_multiple_choice(where)
    wrong = np.isnan(values) | (values > ROUNDING)
    if wrong.any() or np.isneginf(values).all():
        choice = int(np.argmax(wrong))
        law = "must have log-likelihoods of at most 0, not all of them minus infinity"
        raise InputValueError(law, argument=where, offender=f"choice {choice} has {values[choice]}")
    return values, greedy


def _targets(target: str | int, texts: list[str], where: str) -> dict[str, int]:
    """Return the choices that the target may mean, by its position or by its text."""
    stripped, text, targets = [choice.strip() for choice in texts], str(target).strip(), {}
    if re.fullmatch(r"\d{1,6}", text) and int(text) < len(texts):
        targets["position"] = int(text)
    if isinstance(target, str) and stripped.count(text) == 1:
        targets["text"] = stripped.index(text)
    if not targets:
        law = "must have a target that is the position or the text of one choice"
        hint = "items with several right choices are not supported." if text.startswith("[") else ""
        raise InputValueError(law, argument=where, offender=f"got {target!r} of {len(texts)} choices", hint=hint)
    return targets


def _agreeing(items: Sequence[Item], length: str) -> tuple[str, int]:
    """Return how targets are read and how long the delimiter is, by which a file agrees with its accuracies.

    The harness writes a delimiter before all choices of a task, usually one blank, but blanks may also be part of them.
    """
    blanks = min(len(text) - len(text.lstrip()) for item in items for text in item.texts)
    readings = [reading for reading in READINGS if all(reading in item.targets for item in items)]
    if not readings:
        law = "must have targets that are all positions or all texts of choices"
        raise InputValueError(law, argument=items[0].where.partition(" of ")[2])
    ways = list(product(readings, [*range(1, 1 + blanks), 0]))
    for counted in dict.fromkeys(("none", length, *ACCURACIES)):
        demanded = counted in ("none", length)
        if not demanded and len({reading for reading, _ in ways}) == 1:
            break
        first_wrong = {
            way: next((row for row, item in enumerate(items) if not item.agrees(way[0], counted, way[1])), None)
            for way in ways
        }
        agreeing = [way for way in ways if first_wrong[way] is None]
        if demanded and not agreeing:
            raise _contradiction(items, {way: row for way, row in first_wrong.items() if row is not None}, counted)
        ways = agreeing or ways
    for item in items:
        if len({item.targets[reading] for reading, _ in ways}) > 1:
            law = "must have a target that is either the position or the text of a choice"
            either = " or ".join(f"choice {item.targets[reading]} by its {reading}" for reading in readings)
            offender = f"it may be {either}, and no accuracy in the file shows which"
            raise InputValueError(law, argument=item.where, offender=offender)
    return ways[0]


def _contradiction(items: Sequence[Item], wrong: Mapping[tuple[str, int], int], length: str) -> InputValueError:
    """Return the error for the item that contradicts the best reading, the one that agrees for longest."""
    (reading, delimiter), row = max(wrong.items(), key=lambda entry: entry[1])
    item, name = items[row], ACCURACIES[length]
    law = f"must have an {name} that agrees with its target and log-likelihoods"
    offender = f"by its {reading}, the target is choice {item.targets[reading]}, the most likely is choice "
    offender += f"{item.answer(length, delimiter)}, and {name} is {item.accuracies[name]!r}"
    hint = "" if length == "none" else 'use length="none".'
    return InputValueError(law, argument=item.where, offender=offender, hint=hint)


def _row(item: Item, right: int, sizes: Floats) -> AnswerRow:
    if not sizes.all():
        raise InputValueError("must have no empty choices to divide by their length", argument=item.where)
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
