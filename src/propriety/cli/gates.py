"""Gates: conditions under which a pipeline fails, and what became of them.

Whether a condition is true has three answers: yes, no, and that it cannot be told, because a number could not be
computed or a test was not possible. A gate passes only if the answer is no.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

from propriety.cli.gate_facts import Facts, GroupNumbers, Numbers
from propriety.cli.gate_grammar import (
    Condition,
    Group,
    Inequality,
    Miscalibrated,
    Number,
    Path,
    Relation,
    Sign,
)
from propriety.cli.options import near_names
from propriety.errors import InputValueError
from propriety.inference.comparison_words import pair_sentence, pairs_tested
from propriety.inference.finding import Verdict
from propriety.inference.verdict import gate as verdict_gate
from propriety.inference.verdict import lead
from propriety.number_words import counted

Answer: TypeAlias = Literal["yes", "no", "cannot be told"]
UNTOLD: Answer = "cannot be told"

OPERATORS: dict[Sign, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
FEW_NUMBERS = 8  # So many are listed in an error.
MIRRORED: dict[Sign, Sign] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
WORDS: dict[Sign, str] = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}
# Why the calibration of a model cannot be told.
WHY: dict[Verdict, str] = {
    "no error found": "no error was found, but the limits do not exclude a gross one",
    "too few": "there are too few events or cases",
    "not tested": "it was not tested",
}
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
        The number and what it was compared with; for a verdict 1 or 0, and NaN if it cannot be told.
    answer : {"yes", "no", "cannot be told"}
        Whether the condition is true.
    reason : str
        The result in words.
    is_allowed : bool
        Whether the gate passes if the condition cannot be told.
    """

    gate: str
    key: str
    value: float
    limit: float = math.nan
    answer: Answer
    reason: str
    is_allowed: bool = False

    @property
    def failed(self) -> bool:
        """Whether the gate failed, by default also if nothing shows that it would pass."""
        return self.answer == "yes" or (self.answer == UNTOLD and not self.is_allowed)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        names = ("gate", "key", "value", "limit", "answer", "failed", "reason")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        passed = "allowed" if self.answer == UNTOLD else "passed"
        return f"Gate {'failed' if self.failed else passed}: {self.reason}"


def check_gates(gates: Sequence[Condition], facts: Facts) -> list[GateResult]:
    """Check every gate; a gate without a model applies to each."""
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
                raise InputValueError(law, argument="--fail-if", got=str(gate), hint=hint)
            return [replace(_compared(gate, model, facts), gate=written) for model in models]


def _resolved(side: Path | Number, facts: Facts) -> Path | Number:
    """Return a side of an inequality; without an earlier evaluation, a model may be called baseline."""
    if isinstance(side, Path) and side.in_baseline and facts.baseline is None:
        if "baseline" not in facts.numbers.models or side.model is not None:
            law, hint = "needs an earlier evaluation", "name its JSON by --baseline."
            raise InputValueError(law, argument="--fail-if", got=str(side), hint=hint)
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
    condition = f"{WORDS[gate.sign]} {bound}"
    result = partial(GateResult, gate=str(gate), key=key, value=value, limit=limit)
    if math.isnan(value) or math.isnan(limit):
        absent = key if math.isnan(value) else bound
        reason = f"whether {key} is {condition} cannot be told: {absent} could not be computed."
        return result(answer=UNTOLD, reason=reason)
    # The same number may be computed in two ways, with other rounding errors.
    same = isinstance(right, Path) and math.isclose(value, limit, rel_tol=ROUNDING)
    is_true = OPERATORS[gate.sign](limit if same else value, limit)
    known = f" ({limit:.6g})" if isinstance(right, Path) else ""
    reason = f"{key} is {value:.6g}, {'which is' if is_true else 'not'} {condition}{known}."
    return result(answer=_answer(is_true), reason=reason)


def _any_group(gate: Inequality, left: Path, model: str | None, facts: Facts) -> GateResult:
    """Check a number in every group."""
    limit, values = _value(gate.right, model, facts), _of_groups(left, model, facts)
    bound = f" ({limit:.6g})" if isinstance(gate.right, Path) else ""
    right = _key(gate.right, model, facts)
    key, condition = _key(left, model, facts), f"{WORDS[gate.sign]} {right}{bound}"
    known, unknown = _known(values)
    wrong = [group for group, value in known.items() if OPERATORS[gate.sign](value, limit)]
    value = (max if gate.sign in (">", ">=") else min)(known.values(), default=math.nan)
    result = partial(GateResult, gate=str(gate), key=key, value=value, limit=limit)
    if wrong:
        return result(answer="yes", reason=f"{key} is {condition} in {_counted(wrong, known)}.")
    if math.isnan(limit) or unknown or not known:
        where = f"{right} could not be computed"
        where = where if math.isnan(limit) else f"it could not be computed in {_counted(unknown, values)}"
        return result(answer=UNTOLD, reason=f"whether {key} is {condition} cannot be told: {where}.")
    return result(answer="no", reason=f"{key} is {condition} in none of {counted(len(known), 'group')}.")


def _calibrated(gate: Miscalibrated, model: str | None, facts: Facts) -> GateResult:
    path, subject = gate.path, gate.path.model or model or facts.numbers.models[0]
    key = _key(path, model, facts)
    if path.group == Group():
        return _any_group_calibrated(gate, key, subject, facts)
    value = _value(path, model, facts)
    where = "" if path.group is None else f" in {path.group}"
    result = partial(GateResult, gate=str(gate), key=key, value=value)
    if math.isnan(value):
        group = None if path.group is None else _group_text(path, path.group, facts)
        reason = f"whether {subject} is miscalibrated{where} cannot be told: {WHY[facts.verdict(subject, group)]}."
        return result(answer=UNTOLD, reason=reason)
    claim = "is" if value else "is not, or only slightly,"
    return result(answer=_answer(bool(value)), reason=f"{subject} {claim} miscalibrated{where}.")


def _any_group_calibrated(gate: Miscalibrated, key: str, subject: str, facts: Facts) -> GateResult:
    """Check the calibration of a model in every group."""
    values = _of_groups(gate.path, subject, facts)
    known, unknown = _known(values)
    wrong = [group for group, verdict in known.items() if verdict]
    result = partial(GateResult, gate=str(gate), key=key)
    if wrong:
        return result(value=1.0, answer="yes", reason=f"{subject} is miscalibrated in {_counted(wrong, known)}.")
    if unknown or not known:
        verdicts = dict.fromkeys(facts.verdict(subject, group) for group in unknown)
        why = " or ".join(WHY[verdict] for verdict in verdicts)
        reason = f"whether {subject} is miscalibrated in any group cannot be told: {why}"
        return result(value=math.nan, answer=UNTOLD, reason=f"{reason} in {_counted(unknown, values)}.")
    groups = counted(len(known), "group")
    reason = f"{subject} is not, or only slightly, miscalibrated in any of {groups}."
    return result(value=0.0, answer="no", reason=reason)


def _answer(is_true: bool) -> Answer:  # noqa: FBT001  (the condition is the argument)
    return "yes" if is_true else "no"


def _related(gate: Relation, facts: Facts) -> GateResult:
    """Look up whether a model is shown to be better or worse than another, by more than a small difference."""
    comparison, names = facts.comparison, (gate.model, gate.other)
    for name in names:
        _check_model(name, facts.numbers, gate)
    if comparison is None:
        hint = (
            "pass the files of cases, or a ledger condensed with the same --thresholds; the numbers of models can be "
            "compared in any case, as in new/brier>old/brier."
        )
        raise InputValueError("needs models that were tested on the same cases", argument="--fail-if", hint=hint)
    if gate.model == gate.other:
        raise InputValueError("must compare two models", argument="--fail-if", offender=f"got {gate}")
    row = next(row for row in comparison.differences if {row.model, row.against} == set(names))
    sentence = pair_sentence(row, pairs_tested(comparison))
    result = partial(GateResult, gate=str(gate), key=str(gate))
    if verdict_gate(row) == UNTOLD:
        relation = f"{gate.model} is {gate.verdict} than {gate.other}"
        return result(value=math.nan, answer=UNTOLD, reason=f"whether {relation} cannot be told: {sentence}")
    asked = (1 if gate.verdict == "better" else -1) * (1 if row.model == gate.model else -1)
    is_found = row.verdict != "small" and lead(row) == asked
    return result(value=float(is_found), answer=_answer(is_found != gate.negated), reason=sentence)


def _of_groups(path: Path, model: str | None, facts: Facts) -> dict[str, float]:
    """Return a number of each group, NaN where it is not known."""
    _numbers(path, facts)  # Raises an error for groups of the baseline.
    groups, owner = _group_numbers(path, facts), _owner(path, model, facts.numbers)
    return {group: _group_number(path, row, facts) for (name, group), row in groups.rows.items() if name == owner}


def _known(values: Mapping[str, float]) -> tuple[dict[str, float], list[str]]:
    """Return the numbers that are known, and the groups in which they are not."""
    known = {group: value for group, value in values.items() if not math.isnan(value)}
    return known, [group for group in values if group not in known]


def _value(side: Path | Number, model: str | None, facts: Facts) -> float:
    if isinstance(side, Number):
        return side.value
    numbers = _numbers(side, facts)
    if side.group is not None and side.group.key is not None:
        text = _group_text(side, side.group, facts)
        return _group_number(side, _group_numbers(side, facts).rows[_owner(side, model, numbers), text], facts)
    key = _flat_key(side, model, facts)
    if key not in numbers.flat:
        # A condition without a model applies to every model, so the names suggested have none either.
        prefix = "" if side.model is not None else key.removesuffix(side.metric)
        known = [name.removeprefix(prefix) for name in numbers.flat if name.startswith(prefix)]
        few = f"the numbers are {', '.join(known)}." if len(known) <= FEW_NUMBERS else ""
        hint = near_names(key.removeprefix(prefix), known) or few or "--json lists the numbers under metrics."
        raise InputValueError("must name a number of the evaluation", argument="--fail-if", got=str(side), hint=hint)
    return numbers.flat[key]


def _group_number(path: Path, row: Mapping[str, float], facts: Facts) -> float:
    if path.metric not in row:
        hint = near_names(path.metric, row) or f"the numbers of groups are {', '.join(row)}."
        headline = facts.numbers.headline
        if path.metric.removesuffix("_low").removesuffix("_high") in ("brier", "log") and headline in ("brier", "log"):
            hint = f"groups have the score {headline}: log if fewer than 10% of the cases are events, else brier."
        raise InputValueError("must name a number of a group", argument="--fail-if", got=str(path), hint=hint)
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


def _group_text(path: Path, group: Group, facts: Facts) -> str:
    """Return the text of a group of one key, as `group_rows` writes it."""
    return _group_numbers(path, facts).text(group.key or "", group.label)


def _group_numbers(path: Path, facts: Facts) -> GroupNumbers:
    groups = facts.groups()
    if groups is None:
        hint = "name their columns by --by; a ledger must be condensed with them, and with the same --thresholds."
        raise InputValueError("needs groups", argument="--fail-if", got=str(path), hint=hint)
    return groups


def _check_model(name: str, numbers: Numbers, asked: object) -> None:
    if name not in numbers.models:
        hint = near_names(name, numbers.models) or f"the models are {', '.join(numbers.models[:MOST_NAMED])}."
        raise InputValueError("must name a model", argument="--fail-if", got=str(asked), hint=hint)


def _counted(groups: Sequence[str], among: Mapping[str, float]) -> str:
    """Say how many groups of all, and which."""
    more = f" and {len(groups) - MOST_NAMED:,} more" if len(groups) > MOST_NAMED else ""
    return f"{len(groups):,} of {counted(len(among), 'group')}: {'; '.join(groups[:MOST_NAMED])}{more}"
