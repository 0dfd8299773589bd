"""Answers of one version to the calls, as plain entries by path; `oracle.py` runs it in the environment of each."""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import names
import numpy as np
from calls import draw
from inputs import Inputs
from questions import ASKED, QUESTIONS

MOST_ENTRIES = 4000  # Of one answer; what is beyond repeats the same columns.


def answer(pr: Any, number: int, *, is_reference: bool) -> dict[str, Any]:
    """Return the entries of the answer to a call, or the class of the error that it raises."""
    call = draw(number, ASKED)
    inputs = Inputs(pr, call, is_reference=is_reference)
    shown = ("question", "outcome", "way", "n", "models", "code", "weighted", "missing", "unit", "keys", "choice")
    text = " ".join(f"{name}={getattr(call, name)}" for name in shown if getattr(call, name))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = QUESTIONS[call.question](pr, inputs, call.choice)
            entries = dict(_limited(flat(plain(pr, result), "", is_reference=is_reference)))
    except pr.errors.ProprietyError as error:
        entries = {"error": type(error).__name__, "message": str(error)}
    except Exception as error:  # noqa: BLE001  (an error that the package does not mean is an answer, too)
        entries = {"error": f"unexpected {type(error).__name__}", "message": str(error)[:300]}
    return {"call": text, "entries": entries}


def plain(pr: Any, result: Any) -> Any:
    """Return a result as plain data."""
    if isinstance(result, tuple):
        return [plain(pr, part) for part in result]
    if type(result).__name__ == "Ledger":
        frame = result.to_frame(backend="pyarrow").to_pydict()
        return {
            "n": result.n,
            "keys": {name: [str(label) for label in labels] for name, labels in result.keys.items()},
            "table": frame,
        }
    if (numbers := _numbers(result, type(result).__name__)) is not None:
        return numbers
    for method in ("to_dict", "tolist"):
        if hasattr(result, method):
            return getattr(result, method)()
    return result


def _numbers(result: Any, kind: str) -> dict[str, list[float]] | None:
    """Return the numbers of pairs, horizons, groups or curves, of which the reference has classes of their own."""
    if kind in names.CURVES:
        return {"threshold": result.threshold.tolist(), "value": getattr(result, names.CURVES[kind]).tolist()}
    return _numbers_of_rows(result, kind)


def _numbers_of_rows(result: Any, kind: str) -> dict[str, list[float]] | None:
    """Return the numbers of pairs, horizons or groups."""
    of_reference = {"Comparison": names.PAIRS, "HorizonCurve": names.HORIZONS, "Slices": names.GROUPS}
    if kind in of_reference:
        return {name: getattr(result, name).tolist() for name in of_reference[kind]}
    if kind != "Findings":
        return None
    if len(result.differences):
        return {name: getattr(result.differences, column).tolist() for name, column in names.PAIRS.items()}
    if "horizon" in result.keys:
        curve = result.where(statistic="value")
        return {name: getattr(curve, column).tolist() for name, column in names.HORIZONS.items()}
    if not (result.against == "rest").any():
        return None
    sides: dict[str | None, list[Any]] = {None: [], "rest": []}
    for row in result:
        if row.keys and row.measure.key == result.measure[0].key:
            sides[row.against].append(row)
    return {name: [getattr(row, column) for row in sides[against]] for name, (against, column) in names.GROUPS.items()}


def flat(value: Any, path: str, *, is_reference: bool) -> Iterator[tuple[str, Any]]:
    """Yield the numbers, and the words that are values, by path; sentences are left out."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        for name, entry in value.items():
            key = str(name) if is_reference else names.COLUMNS.get(str(name), str(name))
            yield from flat(entry, f"{path}/{key}", is_reference=is_reference)
    elif isinstance(value, list | tuple):
        for place, entry in enumerate(value):
            yield from flat(entry, f"{path}/{place}", is_reference=is_reference)
    elif isinstance(value, bool | int | float):
        number = float(value)
        yield path, number if math.isfinite(number) else str(number)
    elif value is not None and " " not in str(value):
        yield path, str(value) if is_reference else names.WORDS.get(str(value), str(value))


def _limited(entries: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for place, entry in enumerate(entries):
        if place == MOST_ENTRIES:
            return
        yield entry


def main(version: str, first: str, last: str, path: str) -> None:
    """Write the answers to some calls, one a line."""
    import propriety as pr

    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        for number in range(int(first), int(last)):
            start = time.perf_counter()
            found = answer(pr, number, is_reference=version == "reference")
            found |= {"number": number, "seconds": round(time.perf_counter() - start, 4)}
            file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
