"""Answers of a language model: which were right, the confidence in each, and the files of logs that hold them.

Logs are shared, so a small file must not fill the memory. No record is decompressed beyond a fixed size, and a
compressed file may not hold much more text than its size explains.
"""

from __future__ import annotations

import gzip
import itertools
import json
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from propriety import demands
from propriety.errors import InputTypeError, InputValueError
from propriety.integrations import load_library
from propriety.result import Floats, Result

LONGEST = 2**26  # Bytes of one record.
FOLD = 500  # Largest ratio of the text to its compressed file; logs that repeat their prompts reach about 50.
NESTED = 2**20  # Lists and objects in one compressed record: "[]," is 3 bytes of text and 64 of memory.
SHORTEST = 2**13  # What a shorter line counts as, so that empty lines do not keep the reader busy.
ZSTANDARD = 93  # The method of compression, which `zipfile` reads from Python 3.14 on.
# What the readers of gzip, zip and zstd raise for damaged files.
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError, OverflowError)


def file_at(path: object, argument: str) -> Path:
    """Return the path of a file; an absent one is reported when it is opened."""
    if not isinstance(path, str | PathLike):
        raise InputTypeError("must be the path of a file", argument=argument, got_type=path)
    file = Path(path)
    if file.is_dir():
        raise InputValueError("must be the path of a file", argument=argument, offender=f"{file} is a directory")
    return file


class Budget:
    """A limit on the text of a compressed file."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.left = max(LONGEST, FOLD * path.stat().st_size)

    def spend(self, size: int) -> None:
        """Count the bytes of a record, and raise an error if there are too many."""
        self.left -= size
        if size > LONGEST or self.left < 0:
            law = f"a record may have {LONGEST} bytes, and compressed text may be {FOLD} times as long as its file"
            raise InputValueError(law, offender=f"{self.name} exceeds this limit")


@contextmanager
def _readable(where: str, what: str) -> Iterator[None]:
    try:
        yield
    except InputValueError:
        raise
    except DAMAGED as error:
        raise InputValueError(f"must be {what}", argument=where, offender=str(error)) from error


def line_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the JSON object of each line with a description of its place; empty lines are skipped."""
    budget = Budget(path)
    with path.open("rb") as plain:
        zipped = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        source: Any = gzip.GzipFile(fileobj=plain) if zipped else plain
        number = 0
        while True:
            with _readable(path.name, "a complete gzip file"):
                line = source.readline(LONGEST + 1)
            if not line:
                return
            number += 1
            budget.spend(max(len(line), SHORTEST))
            if line.strip():
                where = f"line {number} of {path.name}"
                yield where, object_of(line, where, compressed=zipped)


def archived_objects(path: Path, first: str, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the JSON objects of a zip archive with a description of their place: `first`, then those in a folder."""
    budget = Budget(path)
    with _readable(path.name, "a zip archive"):
        archive = zipfile.ZipFile(path)
    with archive:
        names = archive.NameToInfo
        inside = [name for name in names if name.startswith(folder) and name.endswith(".json")]
        for name in [first, *inside] if first in names else []:
            where = f"{name} of {path.name}"
            with _readable(where, "a readable entry"):
                text = _entry_text(archive, names[name], budget)
            yield where, object_of(text, where, compressed=True)


def _entry_text(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, budget: Budget) -> bytes:
    """Return the text of an entry, after checking the size that it declares."""
    budget.spend(max(entry.file_size, entry.compress_size))
    if entry.compress_type != ZSTANDARD:
        with archive.open(entry) as source:
            return source.read(entry.file_size)  # It checks the sum itself, and reads no more than is declared.
    zstandard = load_library("zstandard", extra="inspect")
    stored = copy(entry)  # The compressed bytes, whose sum is not known.
    stored.compress_type, stored.file_size, stored.CRC = zipfile.ZIP_STORED, entry.compress_size, None  # type: ignore[assignment]  # not checked
    with archive.open(stored) as source:
        try:
            text: bytes = zstandard.ZstdDecompressor().stream_reader(source).read(entry.file_size + 1)
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from error
    if len(text) != entry.file_size or zlib.crc32(text) != entry.CRC:
        message = "its length or its checksum is not the declared one"
        raise zipfile.BadZipFile(message)
    return text


def object_of(text: bytes, where: str, *, compressed: bool = False) -> dict[str, Any]:
    """Return the JSON object that a text contains."""
    if compressed and text.count(b"[") + text.count(b"{") > NESTED:
        raise InputValueError(f"must have at most {NESTED} lists and objects", argument=where)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = "the file may be truncated, or another kind of file."
        raise InputValueError(demands.JSON, argument=where, offender=str(error), hint=hint) from error
    if not isinstance(found, dict):
        raise InputValueError("must be a JSON object", argument=where, got_type=found)
    return found


def field_of(record: Mapping[str, Any], name: str, kind: type | tuple[type, ...], where: str) -> Any:
    """Return a field of a record, or raise an error if it is absent or of another type.

    Examples
    --------
    >>> field_of({"doc_id": "x"}, "doc_id", int, "line 1 of a.jsonl")
    Traceback (most recent call last):
    propriety.errors.InputValueError: line 1 of a.jsonl must have a field 'doc_id' of type int; got str.
    """
    value = record.get(name)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        law = f"must have a field {name!r} of type {' or '.join(allowed.__name__ for allowed in kinds)}"
        offender = f"got {type(value).__name__}" if name in record else "it is absent"
        raise InputValueError(law, argument=where, offender=offender)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InputValueError(f"must have a field {name!r} of 64 bits", argument=where, offender="it is larger")
    return value


def inside(value: Any, *path: str | int) -> Any:
    """Return what nested objects and lists hold at a path of names and positions, or None.

    Examples
    --------
    >>> inside({"a": [{"b": 1}]}, "a", 0, "b"), inside({"a": []}, "a", 0, "b")
    (1, None)
    """
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


class AnswerRow(NamedTuple):
    """One answer, as a reader finds it; without `proba`, only the answer and its confidence are known."""

    item: str
    repeat: int
    cluster: str
    content: str
    correct: bool
    confidence: float
    gold: int = -1
    answer: int = -1
    proba: Sequence[float] = ()
    mass: float = np.nan
    greedy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LoggedAnswers(Result):
    """Answers to the items of an evaluation, one row per answer; see `read_lm_eval` and `read_inspect`.

    Parameters
    ----------
    item : array of str, shape (n,)
        Identifier of the item. Answers to the same item are dependent.
    repeat : array of int, shape (n,)
        Number of the repeat (epoch) of the item, from 1.
    cluster : array of str, shape (n,)
        The cluster of each answer: its item, or what `cluster_from` names. Pass it as `cluster`.
    correct : array of bool, shape (n,)
        Whether the answer was right.
    confidence : array of shape (n,)
        Confidence in the answer, in [0, 1].
    y_true, answer : array of int, shape (n,), or None
        Positions of the right choice and of the answer among the choices, from 0.
    n_choices : array of int, shape (n,), or None
        Number of choices of the item.
    choice_mass : array of shape (n,), or None
        Probability that the model gave to all choices together, before they were normalised to sum to 1.
    greedy : array of bool, shape (n,), or None
        Whether greedy decoding gives the answer.
    model, task : str
        Model and task, as the log names them; empty if it does not.
    dropped : int
        Number of answers left out.
    """

    item: NDArray[np.object_]
    repeat: NDArray[np.int64]
    cluster: NDArray[np.object_]
    correct: NDArray[np.bool_]
    confidence: Floats
    y_true: NDArray[np.int64] | None
    answer: NDArray[np.int64] | None
    n_choices: NDArray[np.int64] | None
    choice_mass: Floats | None
    greedy: NDArray[np.bool_] | None
    model: str = ""
    task: str = ""
    dropped: int = 0
    content: NDArray[np.object_] = field(metadata={"hidden": True})
    proba: Floats | None = field(metadata={"hidden": True})  # NaN where an item has fewer choices.

    @classmethod
    def of_rows(
        cls, rows: Iterable[AnswerRow], *, greedy: bool, model: str = "", task: str = "", dropped: int = 0
    ) -> Self:
        """Collect rows, in the order in which their items first occur, and by repeat."""
        answers = list(rows)
        if not answers:
            raise InputValueError("the log must contain an answer; it has none")
        first = {row.item: number for number, row in reversed(list(enumerate(answers)))}
        answers.sort(key=lambda row: (first[row.item], row.repeat))
        for row, after in itertools.pairwise(answers):
            if (row.item, row.repeat) == (after.item, after.repeat):
                law = (
                    f"each item must be answered once per repeat; repeat {row.repeat} of item {row.item!r} occurs twice"
                )
                raise InputValueError(law, hint="the log may have been written twice into one file.")
        columns = dict(zip(AnswerRow._fields, zip(*answers, strict=True), strict=True))
        sizes = np.array([len(row.proba) for row in answers], dtype=np.int64)
        proba = np.full((len(answers), sizes.max()), np.nan)
        for number, row in enumerate(answers):
            proba[number, : len(row.proba)] = row.proba
        choices: dict[str, Any] = dict.fromkeys(("y_true", "answer", "n_choices", "choice_mass", "proba"))
        if sizes.any():
            choices = {"y_true": np.array(columns["gold"], dtype=np.int64)}
            choices |= {"answer": np.array(columns["answer"], dtype=np.int64), "n_choices": sizes}
            choices |= {"choice_mass": np.array(columns["mass"]), "proba": proba}
        return cls(
            **{name: np.array(columns[name], dtype=object) for name in ("item", "cluster", "content")},
            repeat=np.array(columns["repeat"], dtype=np.int64),
            correct=np.array(columns["correct"], dtype=np.bool_),
            confidence=np.array(columns["confidence"], dtype=np.float64),
            **choices,
            greedy=np.array(columns["greedy"]) if greedy else None,
            model=model,
            task=task,
            dropped=dropped,
        )

    @property
    def y_proba(self) -> Floats:
        """Probabilities of the choices, of shape (n, k); an error if items have different numbers of choices."""
        if self.proba is None or self.n_choices is None:
            law = "these answers have a confidence, and no probabilities of choices"
            raise InputValueError(law, hint="use correct and confidence.")
        if np.isnan(self.proba).any():
            sizes, counts = np.unique(self.n_choices, return_counts=True)
            law = "all items must have the same number of choices to form one array of probabilities"
            listed = ", ".join(f"{count} with {size}" for size, count in zip(sizes, counts, strict=True))
            hint = f"use correct and confidence, or keep some items: answers.with_choices({sizes[counts.argmax()]})."
            raise InputValueError(law, offender=f"there are {listed}", hint=hint)
        return self.proba

    def with_choices(self, k: int) -> Self:
        """Return the answers to items with `k` choices; the others count as dropped."""
        if self.n_choices is None or self.proba is None:
            raise InputValueError("these answers have no choices")
        rows = np.flatnonzero(self.n_choices == k)
        if not len(rows):
            sizes = sorted({int(size) for size in self.n_choices})
            raise InputValueError(
                "must be a number of choices that occurs", argument="k", offender=f"got {k!r}, not one of {sizes}"
            )
        return self._taken(rows)

    def columns(self) -> Mapping[str, Sequence[Any] | NDArray[Any]]:
        """Columns of the tidy table; the probabilities are `p_0`, `p_1`, ..., NaN where an item has fewer choices."""
        named = {
            name: column.tolist() if isinstance(column, np.ndarray) and column.dtype == object else column
            for name, column in Result.columns(self).items()
        }
        return named if self.proba is None else {**named, **{f"p_{k}": column for k, column in enumerate(self.proba.T)}}

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"rows": len(self.item), "items": len(set(self.item.tolist()))}
        facts |= {"accuracy": float(self.correct.mean()), "mean_confidence": float(self.confidence.mean())}
        named = {"task": self.task, "model": self.model, "dropped": self.dropped}
        return facts | {name: value for name, value in named.items() if value}

    def _taken(self, rows: NDArray[np.intp]) -> Self:
        """Return some rows; the others count as dropped."""
        columns = {column.name: getattr(self, column.name) for column in fields(self)}
        taken: dict[str, Any] = {
            name: values[rows] for name, values in columns.items() if isinstance(values, np.ndarray)
        }
        if self.proba is not None and self.n_choices is not None:
            taken["proba"] = self.proba[rows, : self.n_choices[rows].max()]
        return replace(self, **taken, dropped=self.dropped + len(self.item) - len(rows))


def match_answers(logs: Mapping[str, LoggedAnswers]) -> dict[str, LoggedAnswers]:
    """Keep the answers of several models to the same items, in the same order, as comparisons need them.

    Answers are matched by item and repeat. Those that another model lacks count as dropped. If the same item has a
    different question or right answer in another log, an error says so.

    Parameters
    ----------
    logs : mapping of str to LoggedAnswers
        The answers of each model.

    Returns
    -------
    dict of str to LoggedAnswers
        For each model, the answers that all models gave.

    See Also
    --------
    propriety.compare : Compares models by their answers and confidences.

    Examples
    --------
    >>> from propriety.integrations.logged_answers import AnswerRow, LoggedAnswers
    >>> def answers(*items):
    ...     rows = [AnswerRow(item, 1, item, "?", correct=True, confidence=0.5) for item in items]
    ...     return LoggedAnswers.of_rows(rows, greedy=False)
    >>> matched = match_answers({"a": answers("x", "y", "z"), "b": answers("z", "x")})
    >>> matched["b"].item, matched["a"].dropped
    (array(['x', 'z'], dtype=object), 1)
    """
    if not isinstance(logs, Mapping) or not all(isinstance(log, LoggedAnswers) for log in logs.values()) or not logs:
        hint = 'pass {"a": read_lm_eval(...), "b": read_lm_eval(...)}.'
        raise InputTypeError("must map the names of models to their answers", argument="logs", hint=hint)
    rows = {
        model: {key: row for row, key in enumerate(zip(log.item.tolist(), log.repeat.tolist(), strict=True))}
        for model, log in logs.items()
    }
    (reference, keys), *_ = rows.items()
    shared = [key for key in keys if all(key in answered for answered in rows.values())]
    if not shared:
        raise InputValueError("the logs must have items in common; they have none", hint="were they made by one task?")
    matched = {
        model: log._taken(np.array([rows[model][key] for key in shared], dtype=np.intp))  # noqa: SLF001  (its own module)
        for model, log in logs.items()
    }
    for model, log in matched.items():
        unlike = np.flatnonzero(log.content != matched[reference].content)
        if len(unlike):
            differs = f"item {log.item[unlike[0]]!r} differs between {reference!r} and {model!r}"
            law = "an item must be the same question in all logs"
            hint = "the models must have been evaluated on the same version of the task."
            raise InputValueError(law, offender=differs, count=f"{len(unlike)} of {len(shared)} answers", hint=hint)
    return matched
