"""Logs of language-model evaluations, mutated: a refusal in the package's own words, or answers that can be scored."""

from __future__ import annotations

import functools
import gzip
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from drawing import Drawing
from stored import changed, mutated

import propriety as pr
from propriety.errors import ProprietyError

__all__ = ["one"]

LOGS = Path(__file__).resolve().parents[2] / "tests" / "integrations" / "logs"
LINES = 6  # As many lines or samples of a log, so that a run is short.


@functools.cache
def _sound() -> tuple[tuple[str, bytes], ...]:
    """Return the names and the contents of short logs of both kinds."""
    samples = sorted((LOGS / "lm_eval").glob("samples_*.jsonl"))
    found = [(path.name, b"\n".join(path.read_bytes().splitlines()[:LINES])) for path in samples]
    for path in sorted((LOGS / "inspect").iterdir()):
        if path.suffix == ".json":
            log = json.loads(path.read_bytes())
            log["samples"] = log["samples"][:LINES]
            found.append((path.name, json.dumps(log).encode()))
        elif path.suffix == ".eval":
            found.append((path.name, path.read_bytes()))
    return tuple(found)


def one(data: bytes) -> None:
    """Read the log that the bytes say."""
    drawing = Drawing(data)
    how = drawing.number(7)
    name, content = drawing.choice(_sound())
    if how == 0:
        content = drawing.rest()
    elif how == 1:
        content = mutated(drawing, content)
    elif name.endswith(".jsonl"):
        records = [json.loads(line) for line in content.splitlines()]
        place = drawing.number(len(records) - 1)
        records[place] = _changed_somewhere(drawing, records[place])
        content = b"\n".join(json.dumps(record, default=str).encode() for record in records)
    elif name.endswith(".json"):
        log = json.loads(content)
        if drawing.number(1):
            place = drawing.number(len(log["samples"]) - 1)
            log["samples"][place] = _changed_somewhere(drawing, log["samples"][place])
        else:
            log = _changed_somewhere(drawing, log)
        content = json.dumps(log, default=str).encode()
    if drawing.number(7) == 7:
        name, content = f"{name}.gz", gzip.compress(content, mtime=0)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder) / name
        path.write_bytes(content)
        _read(drawing, path)


def _read(drawing: Drawing, path: Path) -> None:
    try:
        if ".jsonl" in path.name:
            length = drawing.choice(["none", "characters", "bytes"])
            answers = pr.read_lm_eval(path, length=length, filter_name=drawing.choice([None, "none"]))
        else:
            options = drawing.choice([{}, {"confidence_from": "confidence", "scorer": "stated"}, {"missing": "drop"}])
            answers = pr.read_inspect(path, **options)
    except ProprietyError:
        return
    repr(answers)
    confidence = np.asarray(answers.confidence)
    if not ((confidence >= 0.0).all() and (confidence <= 1.0).all()):
        message = f"confidences {confidence}"
        raise AssertionError(message)
    if len(confidence):
        pr.brier_score(answers.correct, confidence)


def _changed_somewhere(drawing: Drawing, data: Any) -> Any:
    """Change entries of a record or of something inside it."""
    inside = data
    while isinstance(inside, dict | list) and inside and drawing.number(3):
        holder = inside
        place = drawing.choice(list(holder)) if isinstance(holder, dict) else drawing.number(min(len(holder), 250) - 1)
        inside = holder[place]
        if isinstance(inside, dict) and drawing.number(1):
            holder[place] = changed(drawing, inside)
            return data
        if not isinstance(inside, dict | list):
            holder[place] = drawing.choice([None, drawing.real(), drawing.text(), [], {}, True, -1, "A", "C", 10**400])
            return data
    return changed(drawing, data) if isinstance(data, dict) else data
