"""Monitoring models period by period: calibration, any measure, and comparisons, with one error budget."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from propriety import checks
from propriety.checks import check_level
from propriety.errors import InputValueError
from propriety.inference.finding import Findings
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.reading import AnyMeasure, read_measures
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import Data
from propriety.products.monitoring.period_sums import (
    CALIBRATION,
    PeriodRows,
    period_rows,
    questions_of,
)
from propriety.products.monitoring.reading import CASES, UNNAMED, chosen, read_ledger
from propriety.products.monitoring.rows import columns_of, days_of
from propriety.products.monitoring.stability_index import bin_of, stability_index
from propriety.products.monitoring.streams import (
    NEVER,
    Chunk,
    Rules,
    Streams,
    after_cases,
    after_periods,
    is_of_single_cases,
)
from propriety.products.monitoring.times import check_order, label_in_words, mature_labels
from propriety.rules.families import BRIER
from propriety.rules.rule import Rule, check_rule
from propriety.tables.labels import Labels
from propriety.tables.reading import refuse_time
from propriety.tables.validation import Forecasts, Missing

if TYPE_CHECKING:
    from os import PathLike

    from propriety.products.monitoring.files import StoredChunk

SAME = 1e-6  # Relative difference between sums of the same forecasts, which engines add in another order.
RESTART = "restore the folder from a copy, or monitor everything and write to another folder."


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a monitor, which do not change when periods are added."""

    period: str
    by: tuple[str, ...]
    models: tuple[str, ...]
    measures: tuple[Measure, ...]
    rule: Rule | None
    level: float
    stated: Mapping[str, float]
    margin: float | None
    reference_days: int
    mature_after: int

    @property
    def rules(self) -> Rules:
        """What is asked, and at which level."""
        asked = questions_of(self.measures, self.rule, self.stated, self.margin, len(self.models))
        return Rules(asked, self.level, self.reference_days)

    @property
    def noun(self) -> str:
        """What a period is called in words."""
        return "period" if self.period == UNNAMED else self.period


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Monitored(Findings):
    """What is monitored after some periods, a row for each stream, with alarms; see `monitor`.

    A stream is a measure of one model, or its difference to another model, for one combination of keys. Its verdict is
    `bad` after an alarm. Further columns: `alarm`, the period in which the evidence first reached its `threshold`;
    `since`, the most likely period of the change; `direction` and `change`, in which way and how far the value was off
    from then until the alarm; and `evidence`, the e-value after the last period.

    Parameters
    ----------
    options : Options
        The options.
    times, waiting : tuple
        The labels of the periods so far, and of later ones that are not mature.
    """

    options: Options
    times: tuple[Any, ...]
    waiting: tuple[Any, ...] = ()
    streams: Streams = field(metadata={"hidden": True})
    history: tuple[Any, ...] = field(metadata={"hidden": True})
    unfinished: Ledger | None = field(default=None, metadata={"hidden": True})

    @classmethod
    def after(
        cls,
        options: Options,
        times: tuple[Any, ...],
        streams: Streams,
        history: tuple[Chunk | StoredChunk, ...],
        **later: Any,
    ) -> Monitored:
        """Return the table of streams after some periods."""
        columns = columns_of(options, times, streams)
        return cls(**columns, options=options, times=times, streams=streams, history=history, **later)

    @property
    def alarms(self) -> int:
        """Number of streams that have raised an alarm."""
        return int((self.streams["alarm"] != NEVER).sum()) if len(self.streams) else 0

    def __str__(self) -> str:
        """Return the result in words: every alarm, those with the strongest evidence first."""
        from propriety.products.monitoring.words import summary_of

        return summary_of(self)

    def _facts(self) -> dict[str, Any]:
        facts = {"streams": len(self), "periods": len(self.times), "alarms": self.alarms}
        return facts | ({"waiting": len(self.waiting)} if self.waiting else {}) | {"level": self.options.level}

    def days(self) -> Findings:
        """Return the numbers of every stream in every period, as findings with the period as a key.

        Further columns are the expected number of events, the population stability index of the forecasts, and the
        logarithm of the evidence after the period.
        """
        return days_of(self)

    def numbers(self, *, last: bool = False) -> Chunk:
        """Return the numbers of all periods, or of the last one, as arrays."""
        chunks = [_read(one) for one in (self.history[-1:] if last else self.history)]
        joined = Chunk(*(np.concatenate(columns) for columns in zip(*chunks, strict=True)))
        if joined.stream.max(initial=-1) >= len(self.streams):
            raise InputValueError("the periods of a stored monitor must be of its streams", hint=RESTART)
        rows = joined.period == len(self.times) - 1
        return Chunk(*(column[rows] for column in joined)) if last else joined

    def immature(self) -> Chunk | None:
        """Return the numbers of the periods that are not mature; None if there are none, or after reading."""
        if self.unfinished is None:
            return None
        rows = period_rows(self.unfinished, self.options.period, self.options.rules.questions)
        known = {stream: place for place, stream in enumerate(self.streams.names)}
        stream = np.array([known.get(one, NEVER) for one in rows.streams])[rows.stream]
        nan = np.full(len(stream), math.nan)
        period = rows.period + len(self.times)
        found = Chunk(period, stream, rows.n, rows.events, rows.total, rows.exposure, nan, nan, nan)
        return Chunk(*(column[stream != NEVER] for column in found))

    def extend(
        self,
        y_true: Data,
        forecasts: Forecasts | None = None,
        *,
        period: ArrayLike | None = None,
        outcome: str | None = None,
        by: ArrayLike | Mapping[str, ArrayLike] | None = None,
        pos_label: Hashable | None = None,
        labels: Labels | None = None,
        missing: Missing = "raise",
    ) -> Monitored:
        """Return the monitor after later periods; the options do not change.

        The result is the same as for all periods at once. Periods that have been monitored already must not have
        changed; the others must follow them. Those that were not mature must be given again, with their new outcomes.
        Cases without a period are one period each, and follow those before.

        Examples
        --------
        >>> import propriety as pr
        >>> y, p, day = [0, 1, 0, 1] * 15, [0.2, 0.7, 0.4, 0.5] * 15, [1, 1, 2, 2] * 15
        >>> ledger = pr.condense(y, {"m": p}, by={"day": day})
        >>> one = pr.monitor(ledger.where(day=1))
        >>> both = one.extend(ledger.where(day=2))
        >>> one.times, both.times, str(both) == str(pr.monitor(ledger))
        ((1,), (1, 2), True)
        """
        reading = {"outcome": outcome, "pos_label": pos_label, "labels": labels, "missing": missing}
        first = int(self.times[-1]) + 1 if self.options.period == CASES and self.times else 1
        ledger, _ = read_ledger(y_true, forecasts, period, by, reading, known=self.options.period, first=first)
        return self.extended(ledger)

    def extended(self, ledger: Ledger) -> Monitored:
        """Return the monitor after the later periods of a ledger."""
        options, time = self.options, self.options.period
        facts = {"by": tuple(key for key in ledger.keys if key != time), "models": ledger.models}
        for name, found in facts.items():
            if found != getattr(options, name):
                law = f"a monitor must be continued with the same {'keys' if name == 'by' else name}"
                raise InputValueError(law, offender=f"it has {getattr(options, name)!r}, and the cases {found!r}")
        rules = options.rules
        ledger.fill([one.measure.rule for one in rules.questions if one.kind in ("mean", "pair") and one.measure.rule])
        labels = ledger.keys[time]
        absent = next((label for label in self.waiting if label not in labels), None)
        if absent is not None:
            law = f"the cases must have every {time} that was not mature, with its new outcomes"
            raise InputValueError(law, offender=f"they lack {label_in_words(absent)}")
        monitored = set(self.times)
        again = [label for label in labels if label in monitored]
        if again:
            self._check_same(ledger.where(**{time: again}))
        check_order([*self.times[-1:], *(label for label in labels if label not in monitored)], time)
        mature = set(mature_labels(labels, options.mature_after, time)) - monitored
        if not monitored and not mature:
            law = f"must be shorter than the time from the first {time} to the last"
            raise InputValueError(law, argument="mature_after", offender=f"got {options.mature_after}")
        later = tuple(label for label in labels if label not in monitored and label not in mature)
        unfinished = chosen(ledger, time, set(later)) if later else None
        streams, times, history = self.streams, self.times, self.history
        if mature:
            streams, chunk = _after(streams, chosen(ledger, time, mature), options, rules, len(times))
            times += tuple(label for label in labels if label in mature)
            history = (*history, chunk)
        return Monitored.after(options, times, streams, history, waiting=later, unfinished=unfinished)

    def _check_same(self, ledger: Ledger) -> None:
        """Raise an error if the cases of periods that have been monitored have changed."""
        position = {label: at for at, label in enumerate(self.times)}
        rows = period_rows(ledger, self.options.period, self.options.rules.questions)
        labels = ledger.keys[self.options.period]
        known = {stream: at for at, stream in enumerate(self.streams.names)}
        before = self.numbers()
        keys = before.period * len(self.streams) + before.stream
        order = np.argsort(keys)
        period = np.array([position[label] for label in labels])[rows.period]
        stream = np.array([known.get(one, -1) for one in rows.streams])[rows.stream]
        own = period * len(self.streams) + stream
        place = np.minimum(np.searchsorted(keys[order], own), len(keys) - 1)
        there = order[place]
        expected = int(np.isin(before.period, np.unique(period)).sum())
        found = (keys[there] == own) & (stream >= 0)
        same = found & (before.n[there] == rows.n)
        for name in ("total", "exposure"):
            same &= np.isclose(getattr(before, name)[there], getattr(rows, name), rtol=SAME, atol=SAME**2)
        if len(own) == expected and same.all():
            return
        what = "cases or forecasts" if len(own) == expected and found.all() else "models and keys"
        wrong = period[~same][0] if not same.all() else period[0]
        law = f"the {what} of a {self.options.noun} that has been monitored must not change"
        hint = f"add a {self.options.noun} when all outcomes are known; "
        hint += "to start again, monitor everything and write to another folder."
        raise InputValueError(law, offender=f"those of {label_in_words(self.times[wrong])} have", hint=hint)

    def to_html(self, path: str | PathLike[str] | None = None, *, title: str = "Monitor of forecasts") -> str:
        """Return a page with the alarms and figures of the streams as HTML, and write it to `path`, if given.

        The page works offline; needs Jinja2 and Matplotlib.
        """
        from propriety.products.monitoring.page import monitor_report

        return monitor_report(self, path, title=title)

    def to_parquet(self, folder: str | PathLike[str]) -> None:
        """Write the state and the periods to a folder of Parquet files, or only what is new; needs PyArrow."""
        from propriety.products.monitoring.files import write_monitor

        write_monitor(self, folder)

    @classmethod
    def from_parquet(cls, folder: str | PathLike[str], *, measures: Sequence[AnyMeasure] = ()) -> Monitored:
        """Read a monitor that `to_parquet` wrote, with your own `measures`; its periods are read when needed."""
        from propriety.products.monitoring.files import read_monitor

        return read_monitor(folder, read_measures(measures))


def monitor(  # noqa: PLR0913  (the data, and what is asked of them)
    y_true: Data,
    forecasts: Forecasts | None = None,
    measures: Sequence[AnyMeasure] = (),
    *,
    period: ArrayLike | None = None,
    outcome: str | None = None,
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    stated: Mapping[str, float] | None = None,
    margin: float | None = None,
    rule: Rule | None = BRIER,
    level: float = 0.95,
    reference_days: int = 28,
    mature_after: int = 0,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    time: None = None,
) -> Monitored:
    r"""Monitor models period by period: are they still calibrated, and no worse than another or than was stated.

    For every model and combination of keys the sum of a period, such as of y - p, is compared with its spread, which is
    learnt from earlier periods. So cases of one period may be correlated in any way. You may look after every period.

    Parameters
    ----------
    y_true, forecasts, outcome, pos_label, labels, missing, time
        The cases, or what describes them; see `propriety.cases`. A ledger by period replaces all data.
    measures : sequence of measures, names, rules or functions of a table, optional
        What is monitored of each model, by default observed/expected and the calibration slope. Measures without an
        ideal value are compared with the one in `stated`, else with the periods before the change.
    period : array-like of shape (n,); with a frame, cases or a ledger str; optional
        Period of each case, sorted: days, weeks. Default: the only key, or "day"; of arrays, each case is a period.
    by : mapping of str to array-like, or array-like; with a frame, cases or a ledger str or list of str; optional
        Keys for whose combinations there are streams; for cases or a ledger by default all.
    stated : mapping of str to float, optional
        Stated values of measures, by their short names.
    margin : float, optional
        Largest departure that does not raise an alarm; by default .05 of observed/expected, .1 of the slope, .01 of an
        area, and for scores half a percent of the score of the constant event rate. With 0, any departure does.
    rule : Rule, optional
        Rule under which the models are compared; None if they are not.
    level : float
        One minus the probability of any false alarm, over all streams and periods.
    reference_days : int
        Number of first periods that changes without a stated value, and shifts of the forecasts, are compared with.
    mature_after : int
        Days after which the outcomes of a day are complete; later ones are shown, and not tested until then.

    Notes
    -----
    An alarm means beyond the margin, and always worse or miscalibrated; good news is said and raises none. Forecasts
    must be calibrated given what happened before: a stretch of days that are too high is a departure even if it passes,
    and where neighbours are shown to be correlated a note says so. An alarm stays: start a new monitor after a repair.
    If every period is one case, exact bets take the place of sums. Formulas: `docs/reference/methods.md`.

    References
    ----------
    Shin, Ramdas & Rinaldo (2024), doi:10.51387/23-NEJSDS51; Henzi & Ziegel (2022), doi:10.1093/biomet/asab047.

    Examples
    --------
    >>> import numpy as np, propriety as pr
    >>> rng = np.random.default_rng(0)
    >>> day, p = np.repeat(np.arange(1, 61), 500), rng.beta(1, 9, 30_000)
    >>> y = rng.random(30_000) < np.where(day > 40, 1.3, 1.0) * p
    >>> watch = monitor(pr.condense(y, {"m": p}, by={"day": day}))
    >>> print(watch)
    1 alarm in 2 streams over 60 days (probability of any false alarm: at most 5%):
    m, observed/expected: forecasts too low since day 41 (alarm on day 47, 1.41 until then).
    >>> watch.verdict.tolist()
    ['bad', 'good']
    """
    check_level(level)
    refuse_time(time)
    checks.whole(reference_days, "reference_days", least=1)
    checks.whole(mature_after, "mature_after", least=0)
    if margin is not None:
        checks.number(margin, "margin", least=0.0)
    if rule is not None:
        check_rule(rule)
    asked = read_measures(measures) or CALIBRATION
    reading = {"outcome": outcome, "pos_label": pos_label, "labels": labels, "missing": missing}
    ledger, key = read_ledger(y_true, forecasts, period, by, reading)
    options = Options(
        period=key,
        by=tuple(name for name in ledger.keys if name != key),
        models=ledger.models,
        measures=asked,
        rule=rule,
        level=level,
        stated=dict(stated or {}),
        margin=margin,
        reference_days=reference_days,
        mature_after=mature_after,
    )
    return Monitored.after(options, (), Streams(), ()).extended(ledger)


def _after(streams: Streams, ledger: Ledger, options: Options, rules: Rules, first: int) -> tuple[Streams, Chunk]:
    """Return the streams after the periods of a ledger, and the numbers of these."""
    rows = period_rows(ledger, options.period, rules.questions)
    places = np.arange(first, first + len(ledger.keys[options.period]))
    if not len(streams) and is_of_single_cases(rows, rules.questions):
        streams = replace(streams, bets=())
    if streams.bets is None:
        streams, chunks = after_periods(streams, rows, places, rules)
        chunk = Chunk(*(np.concatenate(columns) for columns in zip(*chunks, strict=True)))
        return streams, _with_shifts(streams, chunk, rows, ledger, options.reference_days)
    if not is_of_single_cases(rows, rules.questions):
        law = "a monitor of single cases must be continued with one case of each period and stream"
        raise InputValueError(law, hint="start a new monitor with all periods.")
    streams, chunks = after_cases(streams, rows, places, rules)
    return streams, chunks[0]


def _with_shifts(streams: Streams, chunk: Chunk, rows: PeriodRows, ledger: Ledger, first: int) -> Chunk:
    """Return the numbers with the stability of the forecasts; those of first periods are added to the references."""
    psi, reference, number = chunk.psi, streams["reference"], streams.number_of(chunk)
    for base, stream in enumerate(rows.streams):
        if stream.measure != "observed_expected" or (base and rows.streams[base - 1][:3] == stream[:3]):
            continue
        size = sum(one[:3] == stream[:3] for one in rows.streams)
        own = np.flatnonzero((rows.stream >= base) & (rows.stream < base + size))
        row = np.full(len(ledger.index), NEVER)
        row[rows.entry[own]] = own
        keyed = ledger.keyed_tables(stream.model, ledger.events[0])
        bins, n = bin_of(keyed.forecast, cells=keyed.cells), keyed.events + keyed.non_events
        at = row[keyed.entry]
        early = (at >= 0) & (number[at] <= first)
        np.add.at(reference, (chunk.stream[at[early]], bins[early]), n[early])
        late = own[number[own] > first]
        place = np.full(len(chunk.stream) + 1, NEVER)  # The last one is for tables without a row.
        place[late] = np.arange(len(late))
        kept = place[at] >= 0
        psi[late] = stability_index(place[at[kept]], bins[kept], n[kept], chunk.stream[late], reference)
    return chunk


def _read(block: Chunk | StoredChunk) -> Chunk:
    if isinstance(block, Chunk):
        return block
    from propriety.products.monitoring.files import read_chunk

    return read_chunk(block)
