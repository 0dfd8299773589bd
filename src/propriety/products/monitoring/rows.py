"""The findings of a monitor: a row for each stream with its verdict, and one for each stream and period."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propriety.inference.finding import Findings, Objects, Verdict, objects
from propriety.inference.notes import Note
from propriety.inference.verdict import is_enough
from propriety.products.monitoring.period_sums import Question
from propriety.products.monitoring.streams import DIRECTIONS, NEVER, Streams
from propriety.result import Floats

if TYPE_CHECKING:
    from propriety.products.monitoring.monitor import Monitored, Options

EXTRA = (
    "since",
    "alarm",
    "direction",
    "change",
    "evidence",
    "threshold",
    "expected",
    "stability_index",
    "log_evidence",
)
OF_SUMS = "sums of periods with a learnt spread"
EXACT = "bets on single cases"
LARGEST = 700.0  # Logarithms of evidence above are too large for a number.


def columns_of(options: Options, times: Sequence[Any], streams: Streams) -> dict[str, Any]:
    """Return the columns of the streams after some periods."""
    size = len(streams)
    if not size:
        return _filled({}, 0)
    rules, asked, n = options.rules, streams["asked"], streams["n"].astype(np.float64)
    questions = [rules.questions[one] for one in asked.tolist()]
    claims = np.array([0.0 if one.claim is None else one.claim for one in questions])
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        value = streams["total"] / streams["exposure"]
    bars = streams.log_thresholds(rules.level)
    if streams.bets is None:
        low, high = (claims + limit for limit in streams.evidence.limits(bars))
        unsure = streams.evidence.correlated(rules.level)
        effect = 1.0 + _design_excess(streams)
        units = streams.evidence.periods.astype(np.float64)
    else:
        low, high = streams["low"], streams["high"]
        unsure, effect, units = np.zeros(size, dtype=bool), np.ones(size), n
    ranges = np.array([one.measure.range if one.kind != "pair" else (-math.inf, math.inf) for one in questions])
    low, high = np.maximum(low, ranges[:, 0]), np.minimum(high, ranges[:, 1])
    known = np.isfinite(low) & np.isfinite(high)  # After few periods they bound nothing.
    low, high = np.where(known, low, np.nan), np.where(known, high, np.nan)
    alarmed = streams["alarm"] != NEVER
    scarce = np.minimum(streams["events"], n - streams["events"]) / effect
    margins = streams.margins(rules.questions, np.arange(size))
    verdicts = [
        _verdict(question, (alarm, better), limits, margin, rare, count)
        for question, alarm, better, limits, margin, rare, count in zip(
            questions,
            alarmed.tolist(),
            (streams["better"] != NEVER).tolist(),
            zip(low.tolist(), high.tolist(), strict=True),
            margins.tolist(),
            scarce.tolist(),
            units.tolist(),
            strict=True,
        )
    ]
    columns: dict[str, Any] = {
        "measure": objects([one.measure for one in questions]),
        "model": objects([one.model for one in streams.names]),
        "against": objects([one.against for one in streams.names]),
        "value": value,
        "low": low,
        "high": high,
        "level": np.full(size, rules.level),
        "p": np.minimum(np.exp(-streams["highest"]), 1.0),
        "p_adjusted": np.minimum(np.exp(-streams["highest"]) / streams["share"], 1.0),
        "n": n,
        "events": streams["events"],
        "units": units,
        "enough": objects([is_enough(one.measure.key, rare) for one, rare in zip(questions, scarce, strict=True)]),
        "verdict": objects(verdicts),
        "method": objects([OF_SUMS if streams.bets is None else EXACT] * size),
        "notes": objects(_notes(options, streams, unsure)),
        "keys": {key: objects([one.labels[at] for one in streams.names]) for at, key in enumerate(options.by)},
        "extra": {
            "since": _labels(times, np.where(alarmed, streams["since"], NEVER)),
            "alarm": _labels(times, streams["alarm"]),
            "direction": objects(
                [DIRECTIONS[one] if on else None for one, on in zip(streams["direction"], alarmed, strict=True)]
            ),
            "change": objects([one if math.isfinite(one) else None for one in streams["change"].tolist()]),
            "evidence": objects([math.exp(one) if one < LARGEST else None for one in streams["latest"].tolist()]),
            "threshold": objects(np.exp(bars).tolist()),
        },
    }
    return _filled(columns, size)


def _filled(columns: dict[str, Any], size: int) -> dict[str, Any]:
    """Return the columns with those that are not named empty."""
    unknown: dict[str, Any] = dict.fromkeys(("error", "no_model", "low", "high", "value", "p", "p_adjusted"))
    unknown |= dict.fromkeys(("level", "n", "events", "units"))
    found = {name: np.full(size, np.nan) for name in unknown}
    found |= {name: objects([None] * size) for name in ("measure", "model", "against", "enough", "verdict")}
    found |= {"statistic": objects(["value"] * size), "method": objects([""] * size)}
    found |= {"notes": objects([()] * size)}
    return found | columns


def _design_excess(streams: Streams) -> Floats:
    """Return by how much correlated cases inflate the variance of a sum over all periods."""
    evidence = streams.evidence
    v, vv = evidence.totals[:, 3], evidence.totals[:, 4]
    inflated: Floats = np.divide(evidence.excess * vv, v, out=np.zeros(len(streams)), where=v > 0.0)
    return inflated


def _verdict(
    question: Question, told: tuple[bool, bool], limits: tuple[float, float], margin: float, rare: float, units: float
) -> Verdict:
    """Return the verdict on a stream: an alarm is `bad`; a departure that is shown and within the margin is `small`."""
    alarm, better = told
    low, high = limits
    enough = is_enough(question.measure.key, rare, units=units)
    if alarm:
        return "bad"
    if question.claim is None:
        return "good" if better else "no error found" if enough else "too few"
    shown = question.claim < low or question.claim > high
    inside = question.claim - margin <= low and high <= question.claim + margin
    if question.worse == 0:
        return "good" if inside else "small" if shown else "no error found" if enough else "too few"
    if better or (shown and (low - question.claim) * question.worse < 0.0):
        return "good"
    return "small" if shown else "no error found" if inside or (question.kind != "pair" and enough) else "too few"


def _notes(options: Options, streams: Streams, unsure: NDArray[np.bool_]) -> list[tuple[Note, ...]]:
    alike, certain = Note("correlated-neighbours", {"what": options.noun}), streams["certain"]
    return [
        (*([alike] if one else []), *([Note("refuted", {"number": wrong, "weighted": False})] if wrong else []))
        for one, wrong in zip(unsure.tolist(), certain.tolist(), strict=True)
    ]


def _labels(times: Sequence[Any], places: NDArray[Any]) -> Objects:
    return objects([None if place == NEVER else times[place] for place in places.tolist()])


def days_of(watch: Monitored) -> Findings:
    """Return a finding for each stream and period, in the order of the periods."""
    chunk, names, options = watch.numbers(), watch.streams.names, watch.options
    questions = [options.rules.questions[one] for one in watch.streams["asked"].tolist()]
    stream = chunk.stream.tolist()
    with np.errstate(invalid="ignore", divide="ignore"):
        value = chunk.total / chunk.exposure
    is_ratio = np.array([one.kind == "ratio" for one in questions])[chunk.stream]
    keys: dict[str, Objects] = {options.period: _labels(watch.times, chunk.period)}
    keys |= {key: objects([names[one].labels[at] for one in stream]) for at, key in enumerate(options.by)}
    columns: dict[str, Any] = {
        "measure": objects([questions[one].measure for one in stream]),
        "model": objects([names[one].model for one in stream]),
        "against": objects([names[one].against for one in stream]),
        "value": value,
        "error": chunk.error,
        "n": chunk.n.astype(np.float64),
        "events": chunk.events,
        "keys": keys,
        "extra": {
            "expected": objects(_known(np.where(is_ratio, chunk.exposure, np.nan))),
            "stability_index": objects(_known(chunk.psi)),
            "log_evidence": objects(_known(chunk.log_e_value)),
        },
    }
    return Findings(**_filled(columns, len(stream)))


def _known(column: Floats) -> list[float | None]:
    return [one if math.isfinite(one) else None for one in column.tolist()]
