"""Conditions under which a pipeline fails, such as "miscalibrated" or "brier>0.2"."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from propriety.errors import InputValueError

__all__ = ["Gate", "Verdict", "check_gates", "parse_gate"]

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
WORDS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}
VERDICT = "miscalibrated"
# Greedy, because the name of a model may also contain these signs, and the last one counts.
CONDITION = re.compile(r"\s*(?P<key>.*[^\s<>=])\s*(?P<sign><=|>=|<|>)\s*(?P<limit>[^\s<>=]+)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition under which the command fails."""

    key: str
    sign: str
    limit: float

    def __str__(self) -> str:
        return f"{self.key}{self.sign}{self.limit:.15g}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a gate for one number."""

    gate: Gate
    key: str
    value: float
    failed: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {"gate": str(self.gate), "key": self.key, "value": self.value, "failed": self.failed}

    def __str__(self) -> str:
        head = f"Gate {'failed' if self.failed else 'passed'}: "
        if self.key.endswith(VERDICT) and self.gate.key.endswith(VERDICT):
            model = self.key.removesuffix(VERDICT).removesuffix("/") or "the model"
            if math.isnan(self.value):
                return f"{head}the calibration of {model} was not tested."
            return f"{head}{model} {'is' if self.value else 'was not found to be'} miscalibrated."
        condition = f"{WORDS[self.gate.sign]} {self.gate.limit:.15g}"
        if math.isnan(self.value):
            return f"{head}{self.key} could not be computed, so it may be {condition}."
        return f"{head}{self.key} is {self.value:.6g}, {'which is' if self.failed else 'not'} {condition}."


def parse_gate(text: str) -> Gate:
    """Read a condition: a comparison with a number, or a verdict such as "miscalibrated".

    Examples
    --------
    >>> parse_gate("model a/brier >= 0.2"), parse_gate("miscalibrated")
    (Gate(key='model a/brier', sign='>=', limit=0.2), Gate(key='miscalibrated', sign='>', limit=0.0))
    """
    hint = 'write it as "miscalibrated" or "brier>0.2", with <, <=, > or >=.'
    if text.strip().rpartition("/")[2] == VERDICT:
        return Gate(text.strip(), ">", 0.0)
    parts = CONDITION.fullmatch(text)
    if parts is None:
        raise InputValueError("must be a condition", argument="--fail-if", offender=f"got {text!r}", hint=hint)
    try:
        limit = float(parts["limit"])
    except ValueError:
        limit = math.nan
    if math.isnan(limit):
        raise InputValueError("must compare with a number", argument="--fail-if", offender=f"got {text!r}", hint=hint)
    return Gate(parts["key"], parts["sign"], limit)


def check_gates(gates: Sequence[Gate], numbers: Mapping[str, float], models: Sequence[str]) -> list[Verdict]:
    """Check every gate against the numbers of `Evaluation.to_dict`; a gate without a model applies to each.

    A number that is NaN fails its gate, because nothing shows that it would pass.
    """
    return [verdict for gate in gates for verdict in _verdicts(gate, numbers, models)]


def _verdicts(gate: Gate, numbers: Mapping[str, float], models: Sequence[str]) -> list[Verdict]:
    keys = [key for key in (gate.key, *(f"{model}/{gate.key}" for model in models)) if key in numbers]
    # The keys of a single model have no prefix, but a gate may name the model.
    bare = gate.key.removeprefix(f"{models[0]}/")
    if not keys and len(models) == 1 and bare in numbers:
        keys = [bare]
    if not keys:
        law = "must name a number of the evaluation"
        raise InputValueError(
            law, argument="--fail-if", offender=f"got {gate.key!r}", hint=f"its numbers are {', '.join(numbers)}."
        )
    return [Verdict(gate, key, numbers[key], _fails(gate, numbers[key])) for key in keys]


def _fails(gate: Gate, value: float) -> bool:
    return math.isnan(value) or OPERATORS[gate.sign](value, gate.limit)
