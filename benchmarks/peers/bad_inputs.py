"""How every package handles invalid input and unusual valid input, checked against the definition.

Run: PYTHONPATH=quality python benchmarks/peers/bad_inputs.py, half a minute. Writes `peers_bad_inputs`.
"""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from packages import LIBRARIES
from probes import PACKAGES, Probe, area
from record import IN_THE_SCRIPT, table, write

VERDICTS = {
    "right": "the number given by the definition",
    "named": "an error that names the cause",
    "warned": "a number, with a warning that names the cause",
    "NaN": "NaN without a warning",
    "error": "an error that does not name the cause",
    "refused": "an error for valid input",
    "silent": "a wrong number without a warning, or a number for an undefined measure; the tables of inputs show it",
}
NOTES = (
    "An error names the cause if its text contains one of the words for that cause; the script lists them.",
    "Input for scores and torchmetrics is converted by `xarray.DataArray` and `torch.as_tensor`, whose errors count.",
    "By design, scores silently drops rows with NaN, and torchmetrics silently takes values outside [0, 1] for logits.",
    "The other functions of propriety are right if they say what they say of the same cases in plain lists.",
    "Two labels other than 0 and 1 count as right if the greater one is the event, as in scikit-learn.",
    "Ranking needs no probabilities: the area under the ROC curve is right for any forecasts that can be ordered.",
)
Findings = Mapping[tuple[Probe, str], tuple[str, float | None]]
Y = [0, 1, 1, 0, 1, 0, 0, 1]
P = [0.12, 0.81, 0.64, 0.33, 0.93, 0.45, 0.21, 0.56]
ONES = [1.0] * len(Y)
ROWS = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.5, 0.3, 0.2]]
CLASSES = [0, 1, 2, 1]


@dataclass(frozen=True)
class Case:
    """An input; the words of its cause if something is wrong with it; and what it means, if it means anything."""

    name: str
    y: Any
    p: Any
    w: Any = None
    cause: tuple[str, ...] = ()
    means: tuple[Any, Any, Any] | None = None
    rows: bool = False


RANGE = (
    "[0, 1]",
    "[0,1]",
    "0 and 1",
    "outside",
    "range",
    "greater than",
    "less than",
    "lower than",
    "negative",
    "within",
    "larger",
)
MISSING = ("nan", "missing", "none", "null", "mask", "finite")
LABELS = (
    "label",
    "{0, 1}",
    "{0,1}",
    "[0, 1]",
    "0, 1",
    "0 and 1",
    "binary",
    "class",
    "continuous",
    "string",
    "str_",
    "<u",
)
LENGTHS = ("length", "long", "inconsistent", "same", "shape", "dimension", "size", "broadcast", "column")
EMPTY = ("empty", "no cases", "at least", "0 sample", "zero-size", "minimum of 1", "no rows")
WEIGHTS = ("weight", "negative", "zero", "finite")
TEXT = ("string", "str", "numeric", "number", "float", "object", "dtype")
UNDEFINED = ("class", "one", "only", "both", "event", "undefined", "all are equal")  # One class, or one forecast.
SUMS = ("sum to", "sum up", "add up")


def changed(values, place, value):
    """Return the values with one of them replaced."""
    return [value if i == place else v for i, v in enumerate(values)]


def wrong() -> list[Case]:
    """Return input that breaks a law."""
    p, y = np.array(P), np.array(Y)
    ordered = [3.0, -0.5, 2.2, -1.0, 4.1, 0.3, -2.0, 1.1]
    return [
        Case("forecast 1.2", y, np.array(changed(P, 1, 1.2)), cause=RANGE),
        Case("forecast 1 + 1e-9", y, np.array(changed(P, 1, 1 + 1e-9)), cause=RANGE),
        Case("forecast -0.1", y, np.array(changed(P, 0, -0.1)), cause=RANGE),
        Case("log-odds", y, np.array(ordered), cause=RANGE),
        Case("percentages", y, p * 100, cause=RANGE),
        Case("forecast NaN", y, np.array(changed(P, 2, math.nan)), cause=MISSING),
        Case("forecast infinite", y, np.array(changed(P, 2, math.inf)), cause=(*RANGE, "inf", "finite")),
        Case("forecast None", Y, changed(P, 2, None), cause=MISSING),
        Case(
            "forecast NA of pandas",
            pd.Series(Y),
            pd.Series(changed(P, 2, pd.NA), dtype="Float64"),
            cause=(*MISSING, "na"),
        ),
        Case("forecast masked", y, np.ma.masked_array(p, mask=np.arange(8) == 2), cause=MISSING),
        Case("forecasts are words", y, np.array(changed([str(v) for v in P], 2, "high")), cause=TEXT),
        Case("outcome NaN", np.array(changed(Y, 2, math.nan)), p, cause=MISSING),
        Case("outcome None", changed(Y, 2, None), P, cause=(*MISSING, *LABELS)),
        Case("outcomes 2 and 3", y + 2, p, cause=LABELS, means=(Y, P, ONES)),
        Case("a third outcome", np.array(changed(Y, 2, 2)), p, cause=LABELS),
        Case("outcome 0.5", np.array(changed(Y, 2, 0.5)), p, cause=LABELS),
        Case("outcomes yes and no", np.where(y, "yes", "no"), p, cause=LABELS, means=(Y, P, ONES)),
        Case("one forecast too few", y, p[:-1], cause=LENGTHS),
        Case("one forecast for all", y, p[:1], cause=LENGTHS),
        Case("forecasts in a column", y, p[:, None], cause=LENGTHS, means=(Y, P, ONES)),
        Case("nothing at all", y[:0], p[:0], cause=EMPTY),
        Case("weight negative", y, p, np.array(changed(ONES, 3, -1.0)), cause=WEIGHTS),
        Case("weight NaN", y, p, np.array(changed(ONES, 3, math.nan)), cause=(*WEIGHTS, *MISSING)),
        Case("weight infinite", y, p, np.array(changed(ONES, 3, math.inf)), cause=(*WEIGHTS, "inf")),
        Case("weights all zero", y, p, np.zeros(8), cause=WEIGHTS),
        Case("one weight too few", y, p, np.ones(7), cause=LENGTHS),
    ]


def right() -> list[Case]:
    """Return input that is unusual and in order."""
    p, y = np.array(P), np.array(Y)
    zeros = np.array(changed(ONES, 3, 0.0))
    frozen = p.copy()
    frozen.flags.writeable = False
    kinds = {
        "outcomes as booleans": (y.astype(bool), p),
        "outcomes as bytes": (y.astype(np.uint8), p),
        "outcomes as floats": (y.astype(float), p),
        "lists": (Y, P),
        "forecasts in single precision": (y, p.astype(np.float32)),
        "forecasts in half precision": (y, p.astype(np.float16)),
        "forecasts big-endian": (y, p.astype(">f8")),
        "forecasts read-only": (y, frozen),
        "forecasts every other one": (y, np.repeat(p, 2)[::2]),
        "forecasts as objects": (y, p.astype(object)),
        "forecasts masked, none of them": (y, np.ma.masked_array(p, mask=False)),
        "Series of pandas": (pd.Series(Y), pd.Series(P)),
        "nullable Series, none missing": (pd.Series(Y, dtype="Int64"), pd.Series(P, dtype="Float64")),
        "all forecasts equal": (y, np.full(8, 0.42)),
        "forecasts 0 and 1, right": (y, y.astype(float)),
        "forecasts 0 and 1 as integers": (y, y.copy()),
        "forecast 0 of what happened": (y, np.array(changed(P, 1, 0.0))),
        "the event never": (np.zeros(8, int), p),
        "the event always": (np.ones(8, int), p),
    }
    plain = [
        Case(name, y, p, means=([float(e) for e in y], [float(q) for q in p], ONES)) for name, (y, p) in kinds.items()
    ]
    return [*plain, Case("a weight of zero", y, p, zeros, means=(Y, P, list(zeros)))]


def of_rows() -> list[Case]:
    """Return the same for rows of probabilities."""
    y, rows = np.array(CLASSES), np.array(ROWS)
    ones = [1.0] * len(CLASSES)

    def with_row(row):
        return np.array([*ROWS[:1], row, *ROWS[2:]])

    return [
        Case("rows in order", y, rows, means=(CLASSES, ROWS, ones), rows=True),
        Case("row that sums to 1.1", y, with_row([0.2, 0.6, 0.3]), cause=SUMS, rows=True),
        Case("row with -0.1", y, with_row([-0.1, 0.8, 0.3]), cause=RANGE, rows=True),
        Case("row with NaN", y, with_row([math.nan, 0.6, 0.3]), cause=MISSING, rows=True),
        Case("class 7 of 3", np.array(changed(CLASSES, 1, 7)), rows, cause=LABELS, rows=True),
        Case("one row too few", y, rows[:-1], cause=LENGTHS, rows=True),
    ]


def expected(case: Case, probe: Probe) -> float | None:
    """Return what the definition says, or None where it says nothing."""
    if case.means is not None:
        return probe.answer(*case.means)
    sortable = case.name in {"forecast 1.2", "forecast 1 + 1e-9", "forecast -0.1", "log-odds", "percentages"}
    return area(Y, case.p.tolist(), ONES) if probe.answer is area and sortable else None


def names(text: str, cause: tuple[str, ...]) -> bool:
    """Return whether a text holds one of the words of a cause."""
    return any(word in text.lower() for word in cause)


def precision(case: Case) -> float:
    """Return how near a right answer must be: 1e-5, or the resolution of forecasts in half precision."""
    return 2e-3 if getattr(case.p, "dtype", None) == np.float16 else 1e-5


def verdict(case: Case, probe: Probe) -> tuple[str, float | None]:
    """Return what the function did, and the number that came back, if one did."""
    answer = expected(case, probe)
    cause = case.cause or (UNDEFINED if answer is None else ())
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        try:
            number = float(probe.call(case.y, case.p, case.w))
        except Exception as error:  # noqa: BLE001  (every error is classified)
            text = f"{type(error).__name__}: {error}"
            return ("named" if names(text, cause) else "error") if cause else "refused", None
    if answer is not None and (
        str(number) == str(answer) or math.isclose(number, answer, rel_tol=precision(case), abs_tol=1e-9)
    ):
        return "right", number
    if cause and any(names(str(each.message), cause) for each in caught):
        return "warned", number
    return "NaN" if cause and math.isnan(number) else "silent", number


def shown(found: tuple[str, float | None] | None) -> str:
    """Return the text of a cell: a verdict, or the number where it is silently wrong."""
    if found is None:
        return ""
    word, number = found
    return f"{number:.3g}" if word == "silent" else word


def matrix(cases: list[Case], columns: Mapping[str, Probe], found: Findings) -> list[dict[str, str]]:
    """Return a row for every case, with what the function of each column did."""
    return [
        {"input": case.name, **{column: shown(found.get((probe, case.name))) for column, probe in columns.items()}}
        for case in cases
    ]


def suits(case: Case, probe: Probe) -> bool:
    """Whether a function takes what the case is about: rows, weights, or outcomes other than the usual ones."""
    usual = case.y is not None and len(case.y) == len(Y) == len(case.p) and list(case.y) == Y
    return probe.rows == case.rows and (case.w is None or probe.weights) and (usual or probe.outcomes)


def main() -> None:
    """Probe every function with every case, and write the record."""
    probes = [probe for package in PACKAGES for probe in package()]
    found = {
        (probe, case.name): verdict(case, probe)
        for probe in probes
        for case in [*wrong(), *right(), *of_rows()]
        if suits(case, probe)
    }
    packages = dict.fromkeys(probe.package for probe in probes)
    totals = [total(package, found) for package in packages]
    firsts = {package: next(probe for probe in probes if probe.package == package) for package in packages}
    used = ", ".join(f"{package} `{probe.name}`" for package, probe in firsts.items())
    rows = {f"{probe.package} `{probe.name}`": probe for probe in probes if probe.rows}
    tables = [
        table("All probes: number of answers of each kind", totals),
        table("Invalid input to the first function of each package", matrix(wrong(), firsts, found)),
        table("Unusual but valid input to the same functions", matrix(right(), firsts, found)),
        table("Rows of probabilities", matrix(of_rows(), rows, found)),
    ]
    for each in tables:
        print(*each["rows"], sep="\n")
    write(
        "peers_bad_inputs",
        title="Bad input",
        summary=summary(totals),
        command="PYTHONPATH=quality python benchmarks/peers/bad_inputs.py",
        tables=tables,
        notes=[*(f"{word}: {meaning}." for word, meaning in VERDICTS.items()), f"First functions: {used}.", *NOTES],
        seed=IN_THE_SCRIPT,
        libraries=LIBRARIES,
    )


def total(package: str, found: Findings) -> dict[str, Any]:
    """Return the row of a package: how often it did what."""
    counts = Counter(word for (probe, _), (word, _) in found.items() if probe.package == package)
    functions = {probe for probe, _ in found if probe.package == package}
    return {
        "package": package,
        "functions": len(functions),
        "probes": counts.total(),
        **{word: counts[word] for word in VERDICTS},
    }


def summary(totals: list[dict[str, Any]]) -> str:
    """Return the counts of ours and of the others."""
    mine, *others = totals
    bad = sum(row["silent"] for row in others)
    probes = sum(row["probes"] for row in others)
    return (
        f"propriety answers {mine['right'] + mine['named']} of {mine['probes']} probes correctly or with an error that "
        f"names the cause, and {mine['silent']} with a wrong number. The other packages answer {bad} of {probes} with "
        "a wrong number and no warning."
    )


if __name__ == "__main__":
    main()
