"""Monitoring a ledger day by day: numbers and alarms for every model and key, with one error budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from propriety import checks, demands
from propriety.checks import check_level
from propriety.errors import InputTypeError, InputValueError
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import open_ledger
from propriety.products.monitoring.comparison_stream import range_of
from propriety.products.monitoring.daily_numbers import Day, Stream, days_of_ledger
from propriety.products.monitoring.evidence import mean_limits
from propriety.products.monitoring.history import History, MonitoredDays
from propriety.products.monitoring.states import DIRECTIONS, NEVER, DayRows, StreamStates
from propriety.products.monitoring.times import check_order, check_texts, label_in_words, mature_labels
from propriety.result import Floats, Result
from propriety.rules.families import BRIER
from propriety.rules.rule import Rule
from propriety.tables.cases import Cases
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.reading import refuse_time

if TYPE_CHECKING:
    from os import PathLike

# Columns of the results, which keys must not be called.
OF_DAYS = {"model", "reference", *(one.name for one in fields(MonitoredDays) if not one.metadata.get("hidden"))}
OF_STREAMS = {"days", "difference", "low", "high", "e_value", "threshold", "p_value", "alarm", "since", "direction"}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LedgerMonitor(Result):
    """The streams of a ledger after some days, one row each; see `monitor`.

    A stream is the calibration of one model for one combination of keys, or the difference between two models for it.

    Parameters
    ----------
    time : str
        The key whose labels are the days, or other times.
    keys : tuple of str
        The other keys.
    models : tuple of str
        The models.
    level : float
        One minus the probability of any false alarm, over all streams and days, if `note` is empty; else it holds only
        if the cases of a day are independent given their forecasts.
    reference_days : int
        Number of first days of a stream with which later forecasts are compared.
    rule : Rule
        The rule of the scores.
    mature_after : int
        Days after which the outcomes of a day are complete.
    times : tuple
        The labels of the days so far.
    waiting : tuple
        The labels of later days, which are not mature.
    """

    main_columns: ClassVar[tuple[str, ...]] = ("model", "observed_expected", "e_value", "threshold", "alarm", "since")

    time: str
    keys: tuple[str, ...]
    models: tuple[str, ...]
    level: float
    reference_days: int
    rule: Rule
    mature_after: int
    times: tuple[Any, ...]
    waiting: tuple[Any, ...]
    states: StreamStates = field(metadata={"hidden": True})
    history: History = field(metadata={"hidden": True})
    unfinished: Ledger | None = field(default=None, metadata={"hidden": True})

    def columns(self) -> Mapping[str, Any]:
        """Return one row per stream.

        `observed_expected` is that of all days, and `difference` is the mean loss of the model minus that of the
        reference. `low` and `high` bound the average so far of either; for independent cases, all of them together hold
        on all days with a probability of at least the level. `alarm` is the day on which the e-value first reached its
        threshold, `since` the most likely day of the change, and `direction` says how the model is wrong.
        """
        states = self.states
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            ratio = np.where(states.is_pair, np.nan, states.events / states.expected)
            difference = np.where(states.is_pair, self._width * states.sums / states.n, np.nan)
            low, high = self._limits()
            e_value, threshold = np.exp(states.evidence.log_e_value), np.exp(states.log_thresholds(self.level))
        alarmed = states.alarm != NEVER
        directions = [DIRECTIONS[place] if on else "" for place, on in zip(states.direction, alarmed, strict=True)]
        return {
            **self.labels_of(states.streams),
            "days": states.evidence.days,
            "n": states.n,
            "observed_expected": ratio,
            "difference": difference,
            "low": low,
            "high": high,
            "e_value": e_value,
            "threshold": threshold,
            "p_value": np.minimum(np.exp(-states.highest) / states.share, 1.0),
            "alarm": [self._label(place) for place in states.alarm.tolist()],
            "since": [self._label(place) for place in np.where(alarmed, states.since, NEVER).tolist()],
            "direction": directions,
        }

    @property
    def note(self) -> str:
        """A caveat if a stream has several cases of one day; else an empty text.

        The tests multiply the evidence of the cases of a day, which is right only if they are independent.
        """
        if not (self.states.n > self.states.evidence.days).any():
            return ""
        return (
            f"several cases of one {self.time} count as independent given their forecasts; if they are correlated, "
            "false alarms are more likely"
        )

    @property
    def alarms(self) -> int:
        """Number of streams that have raised an alarm."""
        return int((self.states.alarm != NEVER).sum())

    @cached_property
    def days(self) -> MonitoredDays:
        """The numbers of every stream on every day."""
        return self.history.days(self)

    @cached_property
    def immature(self) -> MonitoredDays | None:
        """The numbers of the days that are not mature, without evidence; None if there are none, or after reading."""
        if self.unfinished is None:
            return None
        provisional = History()
        for day in days_of_ledger(self.unfinished, self.time, self.rule, self._width):
            provisional = provisional.with_day([one.known(len(self.states)) for one in self._after(day)[1]])
        return provisional.days(self, len(self.times))

    @cached_property
    def changes(self) -> Floats:
        """Observed/expected, or the mean difference, of each stream from `since` to its alarm; NaN without an alarm."""
        states = self.states
        alarmed = states.alarm != NEVER
        return self.days.sizes(np.where(alarmed, states.since, len(self.times)), states.alarm)

    @property
    def latest(self) -> MonitoredDays:
        """The numbers of every stream on the last day."""
        return self.history.last(self)

    def __str__(self) -> str:
        """Return the result in words: every alarm, those with the strongest evidence first."""
        from propriety.products.monitoring.words import summary_of

        return summary_of(self)

    def extend(self, ledger: Ledger | Cases | LazyCases) -> LedgerMonitor:
        """Return the monitor after the later days of a ledger; the options do not change.

        The result is the same as for all days at once. Days that have been monitored already must not have changed;
        the others must follow them. Days that were not mature must be given again, with their new outcomes.

        Examples
        --------
        >>> import propriety as pr
        >>> y, p, day = [0, 1, 0, 1] * 15, [0.2, 0.7, 0.4, 0.5] * 15, [1, 1, 2, 2] * 15
        >>> ledger = pr.condense(y, {"m": p}, by={"day": day})
        >>> one = pr.monitor(ledger.where(day=1))
        >>> both = one.extend(ledger.where(day=2))
        >>> one.times, both.times, both.to_dict() == pr.monitor(ledger).to_dict()
        ((1,), (1, 2), True)
        """
        ledger = open_ledger(ledger) if isinstance(ledger, Cases | LazyCases) else ledger
        _check_ledger(ledger, self.time)
        facts = {"keys": tuple(key for key in ledger.keys if key != self.time), "models": ledger.models}
        for name, found in facts.items():
            if found != getattr(self, name):
                law = f"a monitor must be continued with the same {name}"
                raise InputValueError(law, offender=f"it has {getattr(self, name)!r}, and the ledger {found!r}")
        ledger.fill([self.rule])  # Before days are chosen, because their ledger has no cases.
        labels = ledger.keys[self.time]
        absent = next((label for label in self.waiting if label not in labels), None)
        if absent is not None:
            law = f"the ledger must have every {self.time} that was not mature, with its new outcomes"
            raise InputValueError(law, offender=f"it lacks {label_in_words(absent)}")
        monitored = set(self.times)
        known = [label for label in labels if label in monitored]
        if known:
            self.history.check_same(self, ledger.where(**{self.time: known}))
        check_order([*self.times[-1:], *(label for label in labels if label not in monitored)], self.time)
        mature = set(mature_labels(labels, self.mature_after, self.time)) - monitored
        if not monitored and not mature:
            law = f"must be shorter than the time from the first {self.time} to the last"
            raise InputValueError(law, argument="mature_after", offender=f"got {self.mature_after}")
        watch = self
        for day in days_of_ledger(self._chosen(ledger, mature), self.time, self.rule, self._width) if mature else ():
            states, rows = watch._after(day)
            times, history = (*watch.times, day.time), watch.history.with_day(rows)
            watch = replace(watch, states=states, times=times, history=history)
        later = [label for label in labels if label not in monitored and label not in mature]
        # Their numbers are computed when they are asked for: the next day replaces them.
        return replace(watch, waiting=tuple(later), unfinished=self._chosen(ledger, set(later)) if later else None)

    def _chosen(self, ledger: Ledger, labels: set[Any]) -> Ledger:
        """Return the ledger of some days."""
        chosen = [label for label in ledger.keys[self.time] if label in labels]
        return ledger if len(chosen) == len(ledger.keys[self.time]) else ledger.where(**{self.time: chosen})

    def _after(self, day: Day) -> tuple[StreamStates, list[DayRows]]:
        """Return the state after a day, and its rows."""
        return self.states.after(day, len(self.times), level=self.level, reference_days=self.reference_days)

    def to_html(self, path: str | PathLike[str] | None = None, *, title: str = "Monitor of forecasts") -> str:
        """Return a page with the alarms and figures of the streams as HTML, and write it to `path`, if given.

        The page works offline; needs Jinja2 and Matplotlib.
        """
        from propriety.products.monitoring.page import monitor_report

        return monitor_report(self, path, title=title)

    def to_parquet(self, folder: str | PathLike[str]) -> None:
        """Write the state and the days to a folder of Parquet files, or only what is new; needs PyArrow."""
        from propriety.products.monitoring.files import write_monitor

        write_monitor(self, folder)

    @classmethod
    def from_parquet(cls, folder: str | PathLike[str]) -> LedgerMonitor:
        """Read a monitor that `to_parquet` wrote; its days are read when they are needed."""
        from propriety.products.monitoring.files import read_monitor

        return read_monitor(folder)

    def labels_of(self, streams: Sequence[Stream]) -> dict[str, Any]:
        """Return the columns that identify streams."""
        columns: dict[str, Any] = {"model": [one.model for one in streams]}
        columns["reference"] = [one.reference for one in streams]
        return columns | {key: [one.labels[place] for one in streams] for place, key in enumerate(self.keys)}

    @property
    def _width(self) -> float:
        best, worst = range_of(self.rule, None)
        return worst - best

    def _label(self, place: int) -> Any:
        return None if place == NEVER else self.times[place]

    def _limits(self) -> tuple[Floats, Floats]:
        """Return the limits of observed/expected, or of the difference."""
        states = self.states
        thresholds = states.log_thresholds(self.level) + np.log(2.0)
        low, high = mean_limits(states.sums, states.squares, states.n.astype(np.float64), thresholds)
        ratios = [np.maximum(1.0 + states.n * limit / states.expected, 0.0) for limit in (low, high)]
        ends = zip(ratios, (low, high), strict=True)
        lowest, highest = (np.where(states.is_pair, self._width * limit, ratio) for ratio, limit in ends)
        return lowest, highest

    def _facts(self) -> dict[str, Any]:
        facts = {"streams": len(self.states), "days": len(self.times), "alarms": self.alarms}
        return facts | ({"waiting": len(self.waiting)} if self.waiting else {}) | {"level": self.level}


def monitor(
    ledger: Ledger | Cases | LazyCases,
    *,
    period: str = "day",
    rule: Rule = BRIER,
    level: float = 0.95,
    reference_days: int = 28,
    mature_after: int = 0,
    time: None = None,
) -> LedgerMonitor:
    r"""Monitor the models of a ledger day by day, for every combination of the other keys.

    For every day, model and key it computes the number of cases, the event rate, the mean forecast, observed/expected,
    the score with its standard error, the calibration slope and the population stability index of the forecasts. Two
    claims are tested after every day: that the forecasts of a model are calibrated, given all earlier days; and, for
    every pair of models, that their expected losses are equal on each day. An alarm names the most likely day of the
    change.

    Parameters
    ----------
    ledger : Ledger or Cases
        Cases by day and other keys: ``pr.condense(frame, ["a", "b"], outcome="y", by=["day", "site"])``. The cases of
        a day must be independent given the forecasts, and have no weights.
    period : str
        The key whose labels are the days, or other periods, in sorted order.
    time : None
        Not used; see `propriety.cases`.
    rule : Rule
        Any proper rule with a finite range, for the scores and for the comparison of models.
    level : float
        One minus the probability of any false alarm, over all streams and days, for independent cases.
    reference_days : int
        Number of first days of each model and key with which later forecasts are compared.
    mature_after : int
        Number of days after which the outcomes of a day are complete. Later days are shown, and not tested until then.

    Returns
    -------
    LedgerMonitor
        One row per model and key, and per pair of models and key; `days` has those of every day, `extend` adds days,
        and `to_parquet` stores the state.

    Notes
    -----
    **Correlated cases raise false alarms.** Calibrated forecasts for a dozen stations under one weather raise an alarm
    within months; `note` says so whenever a stream has several cases of one day. An alarm stays after the forecasts
    have been corrected: start a new monitor then. `monitor_calibration` and `monitor_comparison` test case by case.
    Evidence and error budget: `docs/reference/methods.md`.

    References
    ----------
    Shin, Ramdas & Rinaldo (2024), doi:10.51387/23-NEJSDS51, for e-detectors; Howard, Ramdas, McAuliffe & Sekhon (2021),
    doi:10.1214/20-AOS1991, for bounds at all times; Henzi & Ziegel (2022), doi:10.1093/biomet/asab047, for e-values.

    Examples
    --------
    >>> import numpy as np, propriety as pr
    >>> rng = np.random.default_rng(0)
    >>> day, p = np.repeat(np.arange(1, 61), 500), rng.beta(1, 9, 30_000)
    >>> y = rng.random(30_000) < np.where(day > 40, 1.3, 1.0) * p
    >>> watch = monitor(pr.condense(y, {"m": p}, by={"day": day}), period="day")
    >>> print(watch)
    1 alarm in 1 stream over 60 days (probability of any false alarm: at most 5% for independent cases):
    m: forecasts too low since day 41 (alarm on day 43), observed/expected 1.41 until the alarm.
    Note: several cases of one day count as independent given their forecasts; if they are correlated, false alarms are
    more likely.
    """
    check_level(level)
    checks.whole(reference_days, "reference_days", least=1)
    checks.whole(mature_after, "mature_after", least=0)
    range_of(rule, None)
    refuse_time(time)
    if isinstance(ledger, Cases | LazyCases):
        ledger = open_ledger(ledger)
    _check_ledger(ledger, period)
    empty = LedgerMonitor(
        time=period,
        keys=tuple(key for key in ledger.keys if key != period),
        models=ledger.models,
        level=level,
        reference_days=reference_days,
        rule=rule,
        mature_after=mature_after,
        times=(),
        waiting=(),
        states=StreamStates.none(),
        history=History(),
    )
    return empty.extend(ledger)


def _check_ledger(ledger: Ledger, time: str) -> None:
    if not isinstance(ledger, Ledger):
        hint = "condense the cases by day first, or use monitor_calibration for single cases in order."
        raise InputTypeError("monitor needs a Ledger", got_type=ledger, hint=hint)
    _check_keys(ledger, time)
    if ledger.labels is not None:
        law: str = demands.one_event("monitor")
        raise InputValueError(law, hint="condense the forecasts of one class, with its outcomes as 0 and 1.")
    if ledger.is_weighted:
        raise InputValueError("monitor needs cases without weights, because its tests count cases")
    if ledger.dependence is not None:
        law = f"monitor needs independent cases; those of this ledger may be correlated within its {ledger.dependence}"
        raise InputValueError(law, hint="condense them without it, if they are independent given the forecasts.")


def _check_keys(ledger: Ledger, time: str) -> None:
    if not isinstance(time, str) or time not in ledger.keys:
        keys = ", ".join(map(repr, ledger.keys)) or "no keys"
        hint = "condense with the days as a key of their own; at the command line, repeat --by for every key."
        raise InputValueError(f"the ledger has no key {time!r}", offender=f"it has {keys}", hint=hint)
    taken = next((key for key in ledger.keys if key in OF_DAYS or (key in OF_STREAMS and key != time)), None)
    if taken is not None:
        law = f"a monitored key must not be called {taken!r}, which is a column of the result"
        raise InputValueError(law, hint="give the key another name.")
    check_texts(ledger.keys[time], time)
