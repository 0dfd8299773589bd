"""Random calls of the public functions, described as data, so that two versions of the package can make the same ones.

A call is drawn from its number alone. It names a question, the kind of outcome, the way in, and what the cases share.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

SIZES = (12, 40, 150, 600, 2500)
WAYS = {  # How often each way in is drawn.
    "arrays": 8,
    "lists": 2,
    "pandas": 2,
    "polars": 2,
    "pandas frame": 3,
    "polars frame": 2,
    "lazy polars": 3,
    "lazy duckdb": 2,
    "ledger": 3,
    "stored ledger": 2,
}
IN_MEMORY = ("arrays", "lists", "pandas", "polars")
CODES = ("0/1", "bool", "text", "other integers")


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of one question about some cases."""

    number: int
    question: str
    way: str
    outcome: str  # event, two columns, classes, grades
    n: int
    models: int
    code: str = "0/1"
    weighted: bool = False
    missing: bool = False
    unit: str | None = None  # cluster or period
    keys: tuple[str, ...] = ()
    choice: int = 0  # Which of the measures, rules or options of the question.
    data: Data | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Data:
    """The cases of a call as arrays."""

    y: np.ndarray
    forecasts: dict[str, np.ndarray]
    labels: tuple[Any, ...] | None
    event: Any
    weight: np.ndarray | None
    cluster: np.ndarray | None
    period: np.ndarray | None
    keys: dict[str, np.ndarray]
    follow_up: np.ndarray
    ended: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a question can be asked about."""

    outcomes: tuple[str, ...] = ("event",)
    models: tuple[int, ...] = (1,)
    ways: tuple[str, ...] = tuple(WAYS)
    units: bool = False
    keys: tuple[int, ...] = (0,)
    weights: bool = True
    missing: bool = True
    codes: bool = True
    most: int = 2500
    least: int = 12
    often: int = 1


def draw(number: int, questions: dict[str, Asked]) -> Call:
    """Return the call of this number."""
    generator = np.random.default_rng([20261119, number])
    names = [name for name, asked in questions.items() for _ in range(asked.often)]
    question = names[generator.integers(len(names))]
    asked = questions[question]

    def one_of(options: Any) -> Any:
        return options[generator.integers(len(options))]

    def sometimes(share: float) -> bool:
        return bool(generator.random() < share)

    way = one_of([way for way in asked.ways for _ in range(WAYS[way])])
    outcome = one_of(asked.outcomes)
    call = Call(
        number=number,
        question=question,
        way=way,
        outcome=outcome,
        n=one_of([n for n in SIZES if asked.least <= n <= asked.most]),
        models=one_of(asked.models),
        code=one_of(CODES) if asked.codes and sometimes(0.4) else "0/1",
        weighted=asked.weights and sometimes(0.3),
        missing=asked.missing and sometimes(0.15),
        unit=one_of(("cluster", "period")) if asked.units and sometimes(0.4) else None,
        keys=("site", "day")[: one_of(asked.keys)],
        choice=int(generator.integers(1000)),
    )
    return Call(**{**call.__dict__, "data": _data(call, generator)})


def _data(call: Call, generator: np.random.Generator) -> Data:
    n = call.n
    classes = {"event": None, "two columns": 2}.get(call.outcome, int(generator.integers(3, 6)))
    level, spread = generator.uniform(-3.0, 1.0), generator.uniform(0.3, 2.0)
    unit = generator.integers(0, max(n // 6, 3), n)
    shared = generator.normal(0.0, generator.choice([0.0, 0.7]), unit.max() + 1)[unit]
    if classes in (None, 2):
        logit = level + spread * generator.normal(size=n)
        p = 1.0 / (1.0 + np.exp(-logit - shared))
        y = (generator.random(n) < p).astype(np.int64)
        if n > 0:
            y[:2] = (0, 1)  # Both outcomes occur.
        slope = generator.choice([0.6, 1.0, 1.5], 3)
        shift = generator.normal(0.0, 0.3, 3)
        digits = int(generator.choice([2, 3, 12]))
        forecasts = {
            name: np.round(
                1.0 / (1.0 + np.exp(-(slope[i] * (logit + shift[i] + i * generator.normal(0, 0.5, n))))), digits
            )
            for i, name in enumerate("abc"[: call.models])
        }
        # The ends are left to a few calls: most measures of certain forecasts are infinite.
        if call.choice % 10:
            forecasts = {name: np.clip(values, 0.01, 0.99) for name, values in forecasts.items()}
        if classes == 2:
            forecasts = {name: np.stack([1.0 - values, values], axis=1) for name, values in forecasts.items()}
    else:
        logits = generator.normal(0.0, spread, (n, classes))
        rows = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        y = (generator.random(n)[:, None] > rows.cumsum(axis=1)[:, :-1]).sum(axis=1)
        y[:classes] = np.arange(classes)[:n]
        forecasts = {}
        for i, name in enumerate("abc"[: call.models]):
            own = np.exp(logits * generator.choice([0.6, 1.0, 1.5]) + i * generator.normal(0.0, 0.5, logits.shape))
            forecasts[name] = own / own.sum(axis=1, keepdims=True)
    if call.missing:
        for values in forecasts.values():
            values[generator.random(n) < 0.03] = np.nan
    weight = (
        generator.choice([generator.gamma(2.0, size=n), generator.integers(1, 4, n).astype(float)])
        if call.weighted
        else None
    )
    labels, event = _labels(call, classes)
    named = np.asarray(labels, dtype=object)[y] if labels is not None else y
    days = np.datetime64("2026-01-01") + np.sort(generator.integers(0, 4, n))
    keys = {"site": np.asarray(["north", "south", "west"], dtype=object)[generator.integers(0, 3, n)], "day": days}
    return Data(
        y=named.astype(bool) if call.code == "bool" and classes in (None, 2) else named,
        forecasts=forecasts,
        labels=labels,
        event=event,
        weight=weight,
        cluster=unit if call.unit == "cluster" else None,
        period=np.sort(unit) if call.unit == "period" else None,
        keys={name: keys[name] for name in call.keys},
        follow_up=np.round(generator.exponential(10.0, n) + 0.1, 2),
        ended=(generator.random(n) < 0.7).astype(np.int64),
    )


def _labels(call: Call, classes: int | None) -> tuple[tuple[Any, ...] | None, Any]:
    """Return the labels of the classes in order, and the label of the event where it must be named."""
    number = 2 if classes is None else classes
    if call.code == "text":
        labels: tuple[Any, ...] | None = ("apple", "berry", "cherry", "date", "elder")[:number]
    elif call.code == "other integers" and call.way not in ("ledger", "stored ledger"):
        labels = (3, 5, 8, 13, 21)[:number]
    else:
        labels = None
    return labels, labels[1] if labels is not None and number == 2 else None
