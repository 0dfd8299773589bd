"""What the conditions of `--fail-if` can refer to: numbers, verdicts of tests, groups, and an earlier evaluation."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path as File
from typing import Any

from propriety.cli.inputs import shown
from propriety.cli.machine import VERSIONS
from propriety.cli.options import near_names
from propriety.errors import InputValueError
from propriety.evaluation.evaluation import Evaluation
from propriety.evaluation.group_calibration import group_table
from propriety.evaluation.words import verdict_of
from propriety.inference.finding import Finding, Findings, Verdict
from propriety.inference.group_rows import group_rows
from propriety.storage.files import checked_version

BOUNDED = "bounded_"  # Scores that depend on thresholds which their names do not tell.
GAIN = "recalibration_gain"  # In the headline score, which depends on thresholds and on how rare events are.

INFINITIES = ("Infinity", "-Infinity")  # As `machine.written` writes them.
LIMITS = ("", "_low", "_high")
NAMES = tuple(zip(LIMITS, ("value", "low", "high"), strict=True))
BESIDE = ("excess", "net_benefit")  # Further numbers of groups, after the measure that was asked for.
RATIOS = tuple(f"observed_expected{limit}" for limit in LIMITS)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers with flat keys, such as those of `Evaluation.to_dict`, which have no prefix if there is one model.

    `kind` is that of the outcome, `thresholds` are those of the bounded scores, and `headline` is the score in which
    gains are measured, if they are known.
    """

    models: tuple[str, ...]
    flat: Mapping[str, float]
    kind: str | None = None
    thresholds: tuple[float, ...] = ()
    headline: str | None = None

    def check_scale(self, metric: str, earlier: Numbers) -> None:
        """Raise an error if a number of an earlier evaluation is on another scale."""
        law = f"must be on the scale of this evaluation to compare {metric}"
        if None not in (self.kind, earlier.kind) and (self.kind == "binary") != (earlier.kind == "binary"):
            what = ("of classes", "of one event")
            offender = f"its outcomes are {what[earlier.kind == 'binary']}, these are {what[self.kind == 'binary']}"
            raise InputValueError(law, argument="--baseline", offender=offender)
        scores = self.headline, earlier.headline
        if metric.startswith(GAIN) and None not in scores and scores[0] != scores[1]:
            offender = f"its gains are in the score {scores[1]}, these in {scores[0]}"
            raise InputValueError(law, argument="--baseline", offender=offender)
        if metric.startswith((BOUNDED, GAIN)) and self.thresholds != earlier.thresholds:
            offender = f"it has {_in_words(earlier.thresholds)}, this has {_in_words(self.thresholds)}"
            raise InputValueError(law, argument="--baseline", offender=offender, hint="evaluate both with the same.")

    def is_shared(self, metric: str) -> bool:
        """Whether a number belongs to no model, such as the number of cases."""
        return len(self.models) > 1 and metric in self.flat

    def key(self, model: str | None, metric: str) -> str:
        """Return the flat key of a number."""
        return metric if model is None or len(self.models) == 1 else f"{model}/{metric}"


@dataclass(frozen=True, slots=True)
class GroupNumbers:
    """Numbers of groups, by the model and the text of the group; NaN if a group was not tested."""

    by: tuple[str, ...]
    rows: Mapping[tuple[str, str], Mapping[str, float]]

    def text(self, key: str, label: str) -> str:
        """Return the text of a group; the labels of a cross are joined by commas, with or without spaces."""
        known = {group for _, group in self.rows}
        for name, value in ((key, label), (_spaced(key), _spaced(label))):
            text = f"{name}: {value}" if len(self.by) > 1 else value
            if name in self.by and text in known:
                return text
        groups = [f"{name}={group}" for name in self.by for group in known] if len(self.by) == 1 else sorted(known)
        typed = f"{key}={label}" if len(self.by) == 1 else f"{key}: {label}"
        hint = near_names(typed, groups) or f"the keys are {', '.join(self.by)}."
        raise InputValueError("must name a group", argument="--fail-if", offender=f"got {key}={label}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Numbers and verdicts of an evaluation or a comparison.

    `verdict` returns the verdict on the calibration of a model, on all cases or in a group.
    """

    numbers: Numbers
    comparison: Findings | None
    baseline: Numbers | None = None
    groups: Callable[[], GroupNumbers | None] = field(default=lambda: None)
    verdict: Callable[[str, str | None], Verdict] = field(default=lambda model, group: "not tested")  # noqa: ARG005

    @classmethod
    def of_evaluation(cls, evaluation: Evaluation, baseline: Numbers | None = None) -> Facts:
        """Return what is known of the models of an evaluation."""
        return cls(
            numbers=Numbers(evaluation.models, evaluation.to_dict(), *_problem(evaluation)),
            comparison=evaluation.comparison,
            baseline=baseline,
            groups=cache(lambda: _groups(evaluation)),  # Made once, and only if a gate is about groups.
            verdict=partial(_verdict, evaluation),
        )

    @classmethod
    def of_comparison(
        cls, found: Findings, baseline: Numbers | None = None, evaluation: Evaluation | None = None
    ) -> Facts:
        """Return what is known of the models of a comparison, in an evaluation: one measure of each."""
        values = [row for row in found if row.against is None]
        flat = {
            f"{row.model}/{row.measure.key}{suffix}": getattr(row, name) for row in values for suffix, name in NAMES
        }
        models = tuple(row.model for row in values)
        numbers = Numbers(models, flat | {"n": values[0].n}, *(() if evaluation is None else _problem(evaluation)))
        return cls(numbers=numbers, comparison=found, baseline=baseline)


def read_baseline(path: File) -> Numbers:
    """Read the numbers of an earlier evaluation from its JSON."""
    law = f"must be JSON that `propriety evaluate --json` wrote; {shown(path)} is not"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["schema"] != "propriety.evaluation":
            raise InputValueError(law, argument="--baseline")
        checked_version(found, found["schema"], VERSIONS["evaluation"])
        numbers = {str(key): _number(value) for key, value in found["metrics"].items()}
        problem = found.get("kind"), _thresholds(found.get("thresholds")), found.get("headline")
        return Numbers(tuple(map(str, found["models"])), numbers, *problem)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        if isinstance(error, InputValueError):
            raise
        raise InputValueError(law, argument="--baseline", hint="evaluate again with --json.") from error


def _problem(evaluation: Evaluation) -> tuple[str, tuple[float, ...], str]:
    return evaluation.kind, _thresholds(evaluation.thresholds), evaluation.problem.headline.key


def _thresholds(given: Any) -> tuple[float, ...]:
    """Return the thresholds of a problem, given as none, one, or the limits of a range."""
    return () if given is None else tuple(map(float, given)) if isinstance(given, list | tuple) else (float(given),)


def _in_words(thresholds: tuple[float, ...]) -> str:
    return f"thresholds {' to '.join(f'{one:g}' for one in thresholds)}" if thresholds else "no thresholds"


def _number(value: object) -> float:
    """Return a metric; it is missing if it could not be computed."""
    if value is None:
        return math.nan
    if value in INFINITIES:
        return float(str(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _verdict(evaluation: Evaluation, model: str, group: str | None) -> Verdict:
    """Return the verdict on the calibration of a model, on all cases or in a group."""
    if group is None:
        return verdict_of(evaluation, model)
    if (tested := group_table(evaluation)) is None:
        return "not tested"
    verdicts = tested.verdict[(tested.model == model) & (tested.group == group)].tolist()
    return verdicts[0] if verdicts else "not tested"


def _groups(evaluation: Evaluation) -> GroupNumbers | None:
    slices = evaluation.slices
    if slices is None:
        return None
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for row in group_rows(slices):
        own: dict[str, float] = {"n": row.value.n} | _with_limits(slices.measure[0].key, row.value)
        if evaluation.kind == "binary":
            own |= {"events": float(row.value.events or 0), "event_rate": float(row.value.extra["event_rate"])}
            own |= dict.fromkeys(RATIOS, math.nan)
        if evaluation.kind != "ordinal":  # Groups that are too small are not tested.
            own["miscalibrated"] = math.nan
        rest = row.rest
        own |= {"difference": math.nan if rest is None else rest.value}
        own |= {"p_adjusted": math.nan if rest is None else rest.p_adjusted}
        rows[row.model, row.group] = own
    for name, measure in zip(BESIDE, dict.fromkeys(slices.measure[slices.measure != slices.measure[0]]), strict=False):
        for row in group_rows(slices, measure.key):
            rows[row.model, row.group] |= _with_limits(name, row.value)
    if (calibration := group_table(evaluation)) is not None:
        columns = [getattr(calibration, name).tolist() for name in (*RATIOS, "miscalibrated")]
        for numbers_of_group in rows.values():
            numbers_of_group.update(dict.fromkeys(RATIOS, math.nan))
        for model, group, *numbers in zip(calibration.model, calibration.group, *columns, strict=True):
            rows[model, group] |= dict(zip((*RATIOS, "miscalibrated"), numbers, strict=True))
    return GroupNumbers(slices.case_keys, rows)


def _with_limits(name: str, row: Finding) -> dict[str, float]:
    return {f"{name}{limit}": number for limit, number in zip(LIMITS, (row.value, row.low, row.high), strict=True)}


def _spaced(text: str) -> str:
    return ", ".join(part.strip() for part in text.split(","))
