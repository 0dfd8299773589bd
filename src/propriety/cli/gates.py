"""Gates: conditions under which a pipeline fails, and what became of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from propriety.cli.gate_facts import Facts, GroupNumbers, Numbers, near_names
from propriety.cli.gate_grammar import (
    Condition,
    Group,
    Inequality,
    Miscalibrated,
    Number,
    Path,
    Relation,
    Sign,
    parse_condition,
)
from propriety.errors import InputValueError
from propriety.inference.comparison_words import pair_sentence
from propriety.inference.verdicts import Pair

__all__ = ["GateResult", "check_gates", "parse_condition"]

OPERATORS: dict[Sign, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
FEW_NUMBERS = 8  # So many are listed in an error.
MIRRORED: dict[Sign, Sign] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
WORDS: dict[Sign, str] = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}
TESTED = ("better", "worse", "not distinguishable", "same")
TURNED = {"better": "worse", "worse": "better"}
MOST_NAMED = 5
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The result of a gate for one model.

    Parameters
    ----------
    gate : str
        The condition.
    key : str
        The number or verdict that was checked.
    value, limit : float
        The number and what it was compared with; for a verdict 1 or 0, and NaN if there was no test.
    failed : bool
        Whether the condition is true, or could not be checked.
    reason : str
        The result in words.
    """

    gate: str
    key: str
    value: float
    limit: float = math.nan
    failed: bool
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        return f"Gate {'failed' if self.failed else 'passed'}: {self.reason}"


def check_gates(gates: Sequence[Condition], facts: Facts) -> list[GateResult]:
    """Check every gate; a gate without a model applies to each.

    A number that is NaN fails its gate, because nothing shows that it would pass.
    """
    return [result for gate in gates for result in _results(gate, facts)]


def _results(gate: Condition, facts: Facts) -> list[GateResult]:
    match gate:
        case Relation():
            return [_related(gate, facts)]
        case Miscalibrated():
            return [_calibrated(gate, model, facts) for model in _models([gate.path], facts)]
        case Inequality():
            written = str(gate)
            gate = replace(gate, left=_resolved(gate.left, facts), right=_resolved(gate.right, facts))
            if isinstance(gate.left, Number):  # The reason is about the number of the evaluation.
                gate = replace(gate, left=gate.right, right=gate.left, sign=MIRRORED[gate.sign])
            sides = [side for side in (gate.left, gate.right) if isinstance(side, Path)]
            # A number is not compared with itself.
            models = [model for model in _models(sides, facts) if not _is_same(gate, model, facts)]
            if not models:
                law, hint = "must compare two numbers", "name another model, group or number."
                raise InputValueError(law, argument="--fail-if", offender=f"got {str(gate)!r}", hint=hint)
            return [replace(_compared(gate, model, facts), gate=written) for model in models]


def _resolved(side: Path | Number, facts: Facts) -> Path | Number:
    """Return a side of an inequality; without an earlier evaluation, a model may be called baseline."""
    if isinstance(side, Path) and side.in_baseline and facts.baseline is None:
        if "baseline" not in facts.numbers.models or side.model is not None:
            law, hint = "needs an earlier evaluation", "name its JSON by --baseline."
            raise InputValueError(law, argument="--fail-if", offender=f"got {str(side)!r}", hint=hint)
        return replace(side, in_baseline=False, model="baseline")
    return side


def _models(paths: Sequence[Path], facts: Facts) -> list[str | None]:
    """Return the models to which a gate applies; None if it names one or needs none."""
    for path in paths:
        is_shared = path.group is None and any(
            numbers.is_shared(path.metric) for numbers in (facts.numbers, _numbers(path, facts))
        )
        if path.model is None and not is_shared:
            return list(facts.numbers.models)
    return [None]


def _is_same(gate: Inequality, model: str | None, facts: Facts) -> bool:
    """Whether both sides of an inequality are the same number."""
    left, right = gate.left, gate.right
    return isinstance(left, Path) and isinstance(right, Path) and _key(left, model, facts) == _key(right, model, facts)


def _compared(gate: Inequality, model: str | None, facts: Facts) -> GateResult:
    left, right = gate.left, gate.right
    if isinstance(left, Path) and left.group == Group():
        return _any_group(gate, left, model, facts)
    value, limit = (_value(side, model, facts) for side in (left, right))
    key, bound = (_key(side, model, facts) for side in (left, right))
    unknown = math.isnan(value) or math.isnan(limit)
    # The same number may be computed in two ways, with other rounding errors.
    same = isinstance(right, Path) and math.isclose(value, limit, rel_tol=ROUNDING)
    failed = unknown or OPERATORS[gate.sign](limit if same else value, limit)
    known = f" ({limit:.6g})" if isinstance(right, Path) else ""
    reason = f"{key} is {value:.6g}, {'which is' if failed else 'not'} {WORDS[gate.sign]} {bound}{known}."
    if unknown:
        absent = key if math.isnan(value) else bound
        reason = f"{absent} could not be computed, so {key} may be {WORDS[gate.sign]} {bound}."
    return GateResult(gate=str(gate), key=key, value=value, limit=limit, failed=failed, reason=reason)


def _any_group(gate: Inequality, left: Path, model: str | None, facts: Facts) -> GateResult:
    """Check a number in every group in which it is known."""
    limit, known = _value(gate.right, model, facts), _of_groups(left, model, facts)
    bound = f" ({limit:.6g})" if isinstance(gate.right, Path) else ""
    key, condition = _key(left, model, facts), f"{WORDS[gate.sign]} {_key(gate.right, model, facts)}{bound}"
    if not known or math.isnan(limit):
        reason = f"{key} could not be computed, so it may be {condition}."
        return GateResult(gate=str(gate), key=key, value=math.nan, limit=limit, failed=True, reason=reason)
    wrong = [group for group, value in known.items() if OPERATORS[gate.sign](value, limit)]
    value = (max if gate.sign in (">", ">=") else min)(known.values())
    reason = f"{key} is {condition} in {_counted(wrong, known)}."
    return GateResult(gate=str(gate), key=key, value=value, limit=limit, failed=bool(wrong), reason=reason)


def _calibrated(gate: Miscalibrated, model: str | None, facts: Facts) -> GateResult:
    path, subject = gate.path, gate.path.model or model or facts.numbers.models[0]
    key = _key(path, model, facts)
    if path.group == Group():
        known = _of_groups(path, model, facts)
        wrong = [group for group, verdict in known.items() if verdict]
        value = float(bool(wrong)) if known else math.nan
        reason = f"{subject} is miscalibrated in {_counted(wrong, known)}."
    else:
        value = _value(path, model, facts)
        where = "" if path.group is None else f" in {path.group}"
        reason = f"{subject} {'is' if value else 'was not found to be'} miscalibrated{where}."
    if math.isnan(value):
        where = "" if path.group is None else f" in {path.group}"
        reason = f"the calibration of {subject}{where} was not tested."
    return GateResult(gate=str(gate), key=key, value=value, failed=value != 0.0, reason=reason)


def _related(gate: Relation, facts: Facts) -> GateResult:
    """Look up the verdict of the test of two models."""
    found, names = facts.comparison, (gate.model, gate.other)
    for name in names:
        _check_model(name, facts.numbers, gate)
    if found is None:
        hint = (
            "pass the files of cases, or a ledger condensed with the same --thresholds; the numbers of models can be "
            "compared in any case, as in new/brier>old/brier."
        )
        raise InputValueError("needs models that were tested on the same cases", argument="--fail-if", hint=hint)
    if gate.model == gate.other:
        raise InputValueError("must compare two models", argument="--fail-if", offender=f"got {gate}")
    row = next(row for row, pair in enumerate(found.pairs) if {pair.model, pair.reference} == set(names))
    pair: Pair = found.pairs[row]
    verdict = str(found.verdict[row])
    verdict = verdict if pair.model == gate.model else TURNED.get(verdict, verdict)
    value = float(verdict == gate.verdict) if verdict in TESTED else math.nan
    failed = math.isnan(value) or bool(value) != gate.negated
    return GateResult(
        gate=str(gate), key=str(gate), value=value, failed=failed, reason=pair_sentence(pair, found.tested)
    )


def _of_groups(path: Path, model: str | None, facts: Facts) -> dict[str, float]:
    """Return a number of each group in which it is known."""
    _numbers(path, facts)  # Raises an error for groups of the baseline.
    groups, name = _group_numbers(path, facts), _owner(path, model, facts.numbers)
    known = {group: _group_number(path, row, facts) for (own, group), row in groups.rows.items() if own == name}
    return {group: value for group, value in known.items() if not math.isnan(value)}


def _value(side: Path | Number, model: str | None, facts: Facts) -> float:
    if isinstance(side, Number):
        return side.value
    numbers = _numbers(side, facts)
    if side.group is not None and side.group.key is not None:
        groups = _group_numbers(side, facts)
        text = groups.text(side.group.key, side.group.label)
        return _group_number(side, groups.rows[_owner(side, model, numbers), text], facts)
    key = _flat_key(side, model, facts)
    if key not in numbers.flat:
        # A condition without a model applies to every model, so the names suggested have none either.
        prefix = "" if side.model is not None else key.removesuffix(side.metric)
        known = [name.removeprefix(prefix) for name in numbers.flat if name.startswith(prefix)]
        few = f"the numbers are {', '.join(known)}." if len(known) <= FEW_NUMBERS else ""
        hint = near_names(key.removeprefix(prefix), known) or few or "--json lists the numbers under metrics."
        law = "must name a number of the evaluation"
        raise InputValueError(law, argument="--fail-if", offender=f"got {str(side)!r}", hint=hint)
    return numbers.flat[key]


def _group_number(path: Path, row: Mapping[str, float], facts: Facts) -> float:
    if path.metric not in row:
        hint = near_names(path.metric, row) or f"the numbers of groups are {', '.join(row)}."
        headline = facts.numbers.headline
        if path.metric.removesuffix("_low").removesuffix("_high") in ("brier", "log") and headline in ("brier", "log"):
            hint = f"groups have the score {headline}: log if fewer than 10% of the cases are events, else brier."
        law = "must name a number of a group"
        raise InputValueError(law, argument="--fail-if", offender=f"got {str(path)!r}", hint=hint)
    return row[path.metric]


def _numbers(path: Path, facts: Facts) -> Numbers:
    """Return the numbers of the evaluation, or of the earlier one."""
    if not path.in_baseline or facts.baseline is None:
        return facts.numbers
    if path.group is not None:
        raise InputValueError("cannot refer to groups of the baseline", argument="--fail-if", offender=f"got {path}")
    facts.numbers.check_scale(path.metric, facts.baseline)
    return facts.baseline


def _owner(path: Path, model: str | None, numbers: Numbers) -> str:
    """Return the model of a path; an earlier evaluation of one model need not have the same one."""
    if path.in_baseline and path.model is None and len(numbers.models) == 1:
        return numbers.models[0]
    name = path.model or model or ""
    _check_model(name, numbers, path)
    return name


def _flat_key(path: Path, model: str | None, facts: Facts) -> str:
    numbers = _numbers(path, facts)
    if path.model is None and numbers.is_shared(path.metric):
        return path.metric
    return numbers.key(_owner(path, model, numbers), path.metric)


def _key(side: Path | Number, model: str | None, facts: Facts) -> str:
    """Return the name of a number, with its model if there are several."""
    if isinstance(side, Number):
        return str(side)
    if side.group is not None:
        owner = [_owner(side, model, facts.numbers)] if len(facts.numbers.models) > 1 else []
        return "/".join([*owner, str(side.group), side.metric])
    return "/".join([*(["baseline"] if side.in_baseline else []), _flat_key(side, model, facts)])


def _group_numbers(path: Path, facts: Facts) -> GroupNumbers:
    groups = facts.groups()
    if groups is None:
        hint = "name their columns by --by; a ledger must be condensed with them, and with the same --thresholds."
        raise InputValueError("needs groups", argument="--fail-if", offender=f"got {str(path)!r}", hint=hint)
    return groups


def _check_model(name: str, numbers: Numbers, asked: object) -> None:
    if name not in numbers.models:
        hint = near_names(name, numbers.models) or f"the models are {', '.join(numbers.models[:MOST_NAMED])}."
        raise InputValueError("must name a model", argument="--fail-if", offender=f"got {str(asked)!r}", hint=hint)


def _counted(wrong: Sequence[str], known: Mapping[str, float]) -> str:
    if not wrong:
        return f"none of {len(known):,} groups"
    more = f" and {len(wrong) - MOST_NAMED:,} more" if len(wrong) > MOST_NAMED else ""
    return f"{len(wrong):,} of {len(known):,} groups: {'; '.join(wrong[:MOST_NAMED])}{more}"
