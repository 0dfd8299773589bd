"""The streams of a monitor: what the next period needs of each, and how a period changes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.products.monitoring.e_process import StreamBets, calibration_paths, mean_paths
from propriety.products.monitoring.period_evidence import Evidence, PeriodSums
from propriety.products.monitoring.period_sums import PeriodRows, Question, Stream
from propriety.products.monitoring.stability_index import BINS
from propriety.result import Floats

Ints = NDArray[np.int64]

FIRST_SHARE = 0.75  # Of the error budget, for the streams of the first period; later ones share the rest.
NEVER = -1
DIRECTIONS = (
    *("too low", "too high", "too timid", "too extreme"),
    *("worse", "better", "higher", "lower", "refuted", "miscalibrated"),
)
# What is kept of each stream beside its evidence: the shape and what a new one starts with.
COLUMNS: dict[str, tuple[tuple[int, ...], Any]] = {
    "asked": ((), 0),  # Position of its question.
    "share": ((), 0.0),  # Of the error budget.
    "latest": ((), -np.inf),  # Logarithm of the latest and of the highest evidence.
    "highest": ((), -np.inf),
    "alarm": ((), NEVER),  # Positions of the periods of the alarm, of the likely change, and of good news.
    "since": ((), NEVER),
    "better": ((), NEVER),
    "direction": ((), 0),
    "change": ((), np.nan),  # The value from the change to the alarm.
    "n": ((), 0),
    "events": ((), 0.0),
    "total": ((), 0.0),
    "exposure": ((), 0.0),
    "spread": ((), 0.0),
    "df": ((), 0.0),
    "certain": ((), 0.0),
    "low": ((), np.nan),  # Limits of exact evidence.
    "high": ((), np.nan),
    "reference": ((BINS,), 0.0),  # Cases by forecast in the first periods.
}


class Chunk(NamedTuple):
    """The numbers of some periods, one row per stream and period in the order of the periods."""

    period: Ints
    stream: Ints
    n: Ints
    events: Floats
    total: Floats
    exposure: Floats
    error: Floats
    psi: Floats
    log_e_value: Floats

    @property
    def value(self) -> Floats:
        """The value of each period."""
        unknown = np.full(len(self.n), np.nan)
        return np.divide(self.total, self.exposure, out=unknown, where=self.exposure > 0.0)


@dataclass(frozen=True, slots=True)
class Rules:
    """What does not change while a monitor runs."""

    questions: tuple[Question, ...]
    level: float
    reference_days: int


@dataclass(frozen=True, slots=True, eq=False)
class Streams:
    """Streams in the order of their first period, with their evidence: of sums, or `bets` of single cases."""

    names: tuple[Stream, ...] = ()
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=lambda: Evidence.none(0))
    bets: tuple[StreamBets, ...] | None = None

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def number_of(self, chunk: Chunk) -> Ints:
        """Return which period of its stream each of the latest numbers is of, from 1."""
        order = np.argsort(chunk.stream, kind="stable")
        tested = (chunk.error > 0.0)[order]
        count = np.cumsum(tested)
        last = np.append(chunk.stream[order][1:] != chunk.stream[order][:-1], True)
        ends = np.zeros(len(self), dtype=np.int64)
        ends[chunk.stream[order][last]] = count[last]
        number = np.empty(len(order), dtype=np.int64)
        number[order] = count - ends[chunk.stream[order]] + self.evidence.periods[chunk.stream[order]]
        return number

    def log_thresholds(self, level: float) -> Floats:
        """Return the logarithm of the evidence at which each stream raises an alarm."""
        thresholds: Floats = -np.log1p(-level) - np.log(self["share"])
        return thresholds

    def joined(self, new: Sequence[Stream], asked: Sequence[int], questions: Sequence[Question]) -> Streams:
        """Return the streams and new ones, which get a part of the error budget that is left."""
        size = len(new)
        if not size:
            return self
        before, after = len(self), len(self) + size
        # Nothing is left unused in the limit: the shares of later streams add up to first * (1/first - 1/after).
        first = int((self["share"] == self["share"][0]).sum()) if before else 0
        whole = (1.0 - FIRST_SHARE) * first * (1.0 / before - 1.0 / after) if before else FIRST_SHARE
        columns = {}
        for name, (shape, value) in COLUMNS.items():
            column = np.full((size, *shape), value)
            columns[name] = np.concatenate([self[name], column]) if before else column
        columns["asked"][before:] = asked
        columns["share"][before:] = whole / size
        names = (*self.names, *new)
        places, learnt = np.arange(before, after), [questions[one].kind == "value" for one in asked]
        return replace(
            self, names=names, columns=columns, evidence=self.evidence.with_streams(places, Evidence.none(size, learnt))
        )

    def margins(self, questions: Sequence[Question], at: Ints) -> Floats:
        """Return the margins of some streams, in units of their values; shares are of the constant rate's score."""
        asked = self["asked"][at]
        margins = np.array([one.margin for one in questions])[asked]
        rate = np.divide(self["events"][at], self["n"][at], out=np.zeros(len(at)), where=self["n"][at] > 0)
        for place, question in enumerate(questions):
            rows = np.flatnonzero(asked == place)
            if question.of_no_model and question.measure.rule is not None and len(rows):
                margins[rows] *= constant_score(question, rate[rows])
        return margins


def constant_score(question: Question, rate: Floats) -> Floats:
    """Return the expected loss of forecasting the event rate."""
    inside = np.clip(rate, 1e-12, 1.0 - 1e-12)
    rule: Any = question.measure.rule
    score: Floats = np.abs(
        (1.0 - inside) * rule.case_loss(inside, np.zeros(len(rate), dtype=bool))
        + inside * rule.case_loss(inside, np.ones(len(rate), dtype=bool))
    )
    return score


def after_periods(streams: Streams, rows: PeriodRows, places: Ints, rules: Rules) -> tuple[Streams, list[Chunk]]:
    """Return the streams after more periods, at these positions, and their numbers."""
    found = replace(streams, columns={name: one.copy() for name, one in streams.columns.items()})
    bounds = np.searchsorted(rows.period, np.arange(len(places) + 1))
    known = {stream: place for place, stream in enumerate(streams.names)}
    own = np.full(len(rows.streams), NEVER)
    own[:] = [known.get(stream, NEVER) for stream in rows.streams]
    chunks = []
    for number, place in enumerate(places.tolist()):
        part = slice(bounds[number], bounds[number + 1])
        ids = rows.stream[part]
        new = ids[own[ids] == NEVER]
        if len(new):
            own[new] = len(found) + np.arange(len(new))
            asked = rows.question[part][np.isin(ids, new)]
            found = found.joined([rows.streams[one] for one in new.tolist()], asked.tolist(), rules.questions)
        at = own[ids]
        found, chunk = _after_period(found, rows, part, at, place, rules)
        chunks.append(chunk)
    return found, chunks


def _after_period(
    found: Streams, rows: PeriodRows, part: slice, at: Ints, place: int, rules: Rules
) -> tuple[Streams, Chunk]:
    total, exposure = rows.total[part], rows.exposure[part]
    for name in ("n", "events", "total", "exposure", "spread", "df", "certain"):
        found[name][at] += getattr(rows, name)[part]
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = found["spread"][at] / found["df"][at]
    pooled = np.where(found["df"][at] > 0.0, pooled, 1.0)
    given = rows.variance[part]
    v = np.where(np.isnan(given), pooled * rows.n[part], given)
    asked = found["asked"][at]
    claims = np.array([0.0 if one.claim is None else one.claim for one in rules.questions])[asked]
    everyone = len(at) == len(found) and bool((at == np.arange(len(found))).all())
    before = found.evidence if everyone else found.evidence.at(at)
    tested = np.flatnonzero((exposure > 0.0) & (v > 0.0))  # Certain forecasts, and equal models, do not vary.
    own = before if len(tested) == len(at) else before.at(tested)
    sums = PeriodSums((total - claims * exposure)[tested], exposure[tested], v[tested])
    own = own.after(sums, place)
    after = own if len(tested) == len(at) else before.with_streams(tested, own)
    evidence = after if everyone else found.evidence.with_streams(at, after)
    found = replace(found, evidence=evidence)
    against, better, since, direction = evidence_against(after, found, at, rules)
    _record(found, at, place, against, better, since, direction, rules)
    _record_changes(found, at, place, after, claims)
    error = np.sqrt(np.maximum(v, 0.0)) / np.where(exposure > 0.0, exposure, np.nan)
    kinds = [one.kind == "value" for one in rules.questions]
    error = np.where(np.array(kinds)[asked], np.nan, error)
    n, events = rows.n[part], rows.events[part]
    psi = np.full(len(at), np.nan)  # Filled in for all periods at once.
    return found, Chunk(np.full(len(at), place), at, n, events, total, exposure, error, psi, against)


def evidence_against(
    after: Evidence, found: Streams, at: Ints, rules: Rules
) -> tuple[Floats, Floats, Ints, NDArray[np.intp]]:
    """Return the log evidence that streams are worse than claimed, and better, since when, and in which direction."""
    asked = found["asked"][at]
    facts = [(one.worse, one.claim is None, *map(DIRECTIONS.index, one.directions)) for one in rules.questions]
    worse, unstated, if_higher, if_lower = np.array(facts).T[:, asked]
    reference = np.where(unstated, rules.reference_days, 0)
    sides = after.sides(found.margins(rules.questions, at), reference)
    both = np.logaddexp(sides.higher, sides.lower) - np.log(2.0)
    against = np.where(worse == 0, both, np.where(worse > 0, sides.higher, sides.lower))
    better = np.where(worse == 0, -np.inf, np.where(worse > 0, sides.lower, sides.higher))
    is_higher = np.where(worse == 0, sides.higher >= sides.lower, worse > 0)
    since = np.where(is_higher, sides.higher_since, sides.lower_since)
    direction = np.where(is_higher, if_higher, if_lower)
    refuted = found["certain"][at] > 0.0
    against = np.where(refuted, np.inf, against)
    return against, better, since, np.where(refuted, DIRECTIONS.index("refuted"), direction)


def _record(
    found: Streams, at: Ints, place: Any, against: Floats, better: Floats, since: Ints, direction: Any, rules: Rules
) -> None:
    """Record the evidence of streams, with the first alarm and the first good news."""
    thresholds = found.log_thresholds(rules.level)[at]
    found["latest"][at] = against
    found["highest"][at] = np.maximum(against, found["highest"][at])
    first = (against >= thresholds) & (found["alarm"][at] == NEVER)
    new = at[first]
    since = np.where(direction == DIRECTIONS.index("refuted"), place, since)
    found["alarm"][new] = np.broadcast_to(place, at.shape)[first]
    found["since"][new], found["direction"][new] = since[first], direction[first]
    good = at[(better >= thresholds) & (found["better"][at] == NEVER)]
    found["better"][good] = place


def _record_changes(found: Streams, at: Ints, place: int, after: Evidence, claims: Floats) -> None:
    """Record how large the departure is since the change of the streams that raise an alarm now."""
    new = np.flatnonzero(found["alarm"][at] == place)
    if len(new):
        own = after.at(new)
        column = (own.place == found["since"][at[new], None]).argmax(axis=1)
        changes = own.changes[np.arange(len(new)), column]
        found["change"][at[new]] = np.where(np.isfinite(changes), changes + claims[new], np.nan)


def is_of_single_cases(rows: PeriodRows, questions: Sequence[Question]) -> bool:
    """Whether every period of every stream is one case, and all that is asked can be bet on exactly."""
    return bool((rows.n == 1).all()) and all(width_of(one) is not None for one in questions)


def width_of(question: Question) -> float | None:
    """Return the largest departure of a case from the claim; None if it has no bound, or nothing is claimed."""
    if question.kind in ("ratio", "slope"):
        return 1.0
    if question.kind == "value" or question.claim is None or question.measure.rule is None:
        return None
    claims = question.measure.rule.properties(None)
    if claims.best is None or claims.worst is None or not np.isfinite(claims.worst - claims.best):
        return None
    if question.kind == "pair":
        return float(claims.worst - claims.best)
    sign = question.measure.sign or 1.0
    return float(max(abs(sign * claims.best - question.claim), abs(sign * claims.worst - question.claim)))


def after_cases(streams: Streams, rows: PeriodRows, places: Ints, rules: Rules) -> tuple[Streams, list[Chunk]]:
    """Return the streams after more periods of one case each, by exact bets, and their numbers."""
    found = replace(streams, columns={name: one.copy() for name, one in streams.columns.items()})
    bets = list(streams.bets or ())
    order = np.argsort(rows.stream, kind="stable")
    bounds = np.searchsorted(rows.stream[order], np.arange(len(rows.streams) + 1))
    known = {stream: place for place, stream in enumerate(streams.names)}
    # The streams of the first period share most of the error budget, whatever comes later.
    first = [
        (int(rows.period[order[bounds[one]]]), one) for one in range(len(rows.streams)) if bounds[one + 1] > bounds[one]
    ]
    for start in sorted({start for start, _ in first}):
        new = [one for when, one in first if when == start and rows.streams[one] not in known]
        asked = [int(rows.question[order[bounds[one]]]) for one in new]
        known |= {rows.streams[one]: len(found) + place for place, one in enumerate(new)}
        found = found.joined([rows.streams[one] for one in new], asked, rules.questions)
        bets += [StreamBets.start(of_calibration=rules.questions[one].kind == "ratio") for one in asked]
    log_e = np.empty(len(rows.n))
    for _, number in first:
        own, stream = order[bounds[number] : bounds[number + 1]], known[rows.streams[number]]
        log_e[own], bets[stream] = _after_own_cases(found, rows, own, stream, places, rules, bets[stream])
    unknown = np.full(len(rows.n), np.nan)
    ids = np.array([known.get(one, NEVER) for one in rows.streams])[rows.stream]
    chunk = Chunk(places[rows.period], ids, rows.n, rows.events, rows.total, rows.exposure, unknown, unknown, log_e)
    return replace(found, bets=tuple(bets)), [chunk]


def _after_own_cases(
    found: Streams, rows: PeriodRows, own: NDArray[np.intp], stream: int, places: Ints, rules: Rules, bets: StreamBets
) -> tuple[Floats, StreamBets]:
    """Bet on the cases of one stream, record what is found, and return its evidence."""
    question = rules.questions[int(found["asked"][stream])]
    margin = _margins_before(found, rows, own, stream, question)
    for name in ("n", "events", "total", "exposure", "certain"):
        found[name][stream] += getattr(rows, name)[own].sum()
    bar = float(found.log_thresholds(rules.level)[stream])
    total = rows.total[own]
    claim, n = 0.0 if question.claim is None else question.claim, float(found["n"][stream])
    if question.kind == "ratio":
        paths = calibration_paths(rows.exposure[own], total > 0.5, bets, question.margin, bar + np.log(2.0))
        scale, middle = n / max(float(found["exposure"][stream]), 1e-300), 1.0
    else:
        width = width_of(question) or 1.0
        paths = mean_paths(total - claim, width, bets, margin, question.worse, bar + np.log(2.0))
        scale, middle = 1.0, claim
    found["low"][stream] = middle + scale * paths.low[-1]
    found["high"][stream] = middle + scale * paths.high[-1]
    found["latest"][stream] = paths.against[-1]
    found["highest"][stream] = max(float(found["highest"][stream]), float(paths.against.max()))
    when = places[rows.period[own]]
    if found["alarm"][stream] == NEVER and (paths.against >= bar).any():
        reached = int((paths.against >= bar).argmax())
        finite = np.where(np.isfinite(paths.against[: reached + 1]), paths.against[: reached + 1], np.inf)
        start = int(finite.argmin()) + 1 if finite.min() < 0.0 else 0  # Where the evidence was lowest before.
        start = reached if np.isposinf(paths.against[reached]) else min(start, reached)
        found["alarm"][stream], found["since"][stream] = when[reached], when[start]
        cases = own[start : reached + 1]
        change = rows.total[cases].sum() / max(rows.exposure[cases].sum(), 1e-300)
        found["change"][stream] = change
        found["direction"][stream] = DIRECTIONS.index(_direction(question, change, bool(found["certain"][stream])))
    if found["better"][stream] == NEVER and (paths.better >= bar).any():
        found["better"][stream] = when[int((paths.better >= bar).argmax())]
    return paths.against, paths.bets


def _margins_before(found: Streams, rows: PeriodRows, own: NDArray[np.intp], stream: int, question: Question) -> Floats:
    """Return the margin of each case, of which a share of a score is that at the event rate of the cases before."""
    n = float(found["n"][stream]) + np.arange(len(own))
    events = float(found["events"][stream]) + np.cumsum(np.append(0.0, rows.events[own][:-1]))
    scores = constant_score(question, (events + 0.5) / (n + 1.0)) if question.of_no_model else 1.0
    margins: Floats = np.minimum(question.margin * scores * np.ones(len(own)), width_of(question) or 1.0)
    return margins


def _direction(question: Question, change: float, refuted: bool) -> str:  # noqa: FBT001  (whether a certainty failed)
    if question.kind == "ratio":
        inside = 1.0 / LARGE <= change <= LARGE
        return "refuted" if refuted else "miscalibrated" if inside else question.directions[int(change < 1.0)]
    if question.worse:
        return "worse"
    return question.directions[int(change < (question.claim or 0.0))]


LARGE = 1.1  # Observed/expected beyond which an alarm of a whole calibration curve is called too low or too high.
