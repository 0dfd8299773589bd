"""The page of a monitored ledger: alarms, the evidence, small figures of streams, volumes, and the last day."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure as Canvas

from propriety.number_words import capitalized, percent
from propriety.products.monitoring.ledger_monitor import LedgerMonitor, monitor
from propriety.products.monitoring.picture import draw_volume
from propriety.products.monitoring.states import NEVER
from propriety.products.monitoring.words import alarmed_streams, change_words, stream_name, summary_of
from propriety.report.cells import Estimate, PValue
from propriety.report.figures import figure_of
from propriety.report.page import Facts, Figure, Page, Section, Table
from propriety.report.rendering import render, write_page

if TYPE_CHECKING:
    from os import PathLike

MOST_SENTENCES = 6
MOST_FIGURES = 9
MOST_ROWS = 100  # Streams in a table; a row takes about 250 bytes of the page.
WORDS = {"against", "cases", "PSI"}  # Columns of tables that a key may be called, too.


def monitor_report(
    watch: LedgerMonitor, path: str | PathLike[str] | None = None, *, title: str = "Monitor of forecasts"
) -> str:
    """Return the page as one HTML file, and write it to `path`, if given, completely or not at all.

    Examples
    --------
    >>> import propriety as pr
    >>> ledger = pr.condense([0, 1, 0, 1] * 9, {"m": [0.1, 0.6, 0.4, 0.8] * 9}, by={"day": [1, 1, 2, 2] * 9})
    >>> monitor_report(pr.monitor(ledger))[:15]
    '<!doctype html>'
    """
    page = render(monitor_page(watch, title=title))
    if path is not None:
        write_page(page, path)
    return page


def monitor_page(watch: LedgerMonitor, *, title: str) -> Page:
    """Return the contents of the page."""
    return Page(
        title=title,
        verdict=tuple(_verdict(watch)),
        models=watch.models,
        headline=_headline(watch),
        sections=tuple(_sections(watch)),
    )


def _verdict(watch: LedgerMonitor) -> Iterator[str]:
    head, *sentences = summary_of(watch).splitlines()
    alarms, rest = sentences[: watch.alarms], sentences[watch.alarms :]
    yield head
    yield from alarms[:MOST_SENTENCES]
    if len(alarms) > MOST_SENTENCES:
        yield f"{len(alarms) - MOST_SENTENCES} more are in the table of alarms."
    yield from rest


def _headline(watch: LedgerMonitor) -> dict[str, object]:
    pairs = watch.states.is_pair
    own = np.array([stream.model == watch.models[0] for stream in watch.states.streams]) & ~pairs
    return {
        "Alarms": watch.alarms,
        f"{watch.time.capitalize()}s": len(watch.times),
        f"Last {watch.time}": str(watch.times[-1]),
        **({f"Not mature: {watch.time}s": len(watch.waiting)} if watch.waiting else {}),
        "Cases": int(watch.states.n[own].sum()),
        "Streams": len(watch.states),
    }


def _sections(watch: LedgerMonitor) -> Iterator[Section]:
    if watch.alarms:
        yield Section(id="alarms", title="Alarms", items=(_alarm_table(watch),))
    yield Section(
        id="streams",
        title="Streams",
        words=(_streams_words(watch),),
        items=tuple(_stream_figures(watch)),
    )
    yield Section(id="evidence", title="Evidence", items=(_evidence_figure(watch),))
    yield Section(id="volume", title="Volume and rates", items=(_volume_figure(watch),))
    yield Section(id="last", title=f"Last {watch.time}", items=tuple(_last_tables(watch)))
    yield Section(id="methods", title="Methods", words=(_method(watch),), items=(_facts(watch),))


def _streams_words(watch: LedgerMonitor) -> str:
    return (
        "A stream is one model for one combination of keys, or the difference between two models. Dots are "
        f"{watch.time}s, and the line is the average of the last seven. Streams with the strongest evidence come "
        "first; the shaded part runs from the most likely time of the change to the alarm."
        + (f" Circles are {watch.time}s that are not mature, which are not tested yet." if watch.waiting else "")
    )


def _names(watch: LedgerMonitor, places: list[int]) -> dict[str, Any]:
    """Return the columns that identify streams."""
    streams = [watch.states.streams[place] for place in places]
    columns: dict[str, Any] = {"model": [one.model for one in streams]}
    if any(one.reference is not None for one in streams):
        columns["against"] = [one.reference for one in streams]
    heads = [f"{key} (key)" if key in WORDS or key == watch.rule.name else key for key in watch.keys]
    return columns | {head: [str(one.labels[at]) for one in streams] for at, head in enumerate(heads)}


def _alarm_table(watch: LedgerMonitor) -> Table:
    every, columns = alarmed_streams(watch), watch.columns()
    places = every[:MOST_ROWS]
    estimates = [
        Estimate(*(float(columns[name][place]) for name in (_value_of(watch, place), "low", "high")))
        for place in places
    ]
    return Table(
        title="Streams with an alarm, those with the strongest evidence first",
        columns={
            **_names(watch, places),
            "direction": [columns["direction"][place] for place in places],
            "since": [str(columns["since"][place]) for place in places],
            "alarm": [str(columns["alarm"][place]) for place in places],
            f"over all {watch.time}s": estimates,
            "p-value": [PValue(columns["p_value"][place]) for place in places],
        },
        call=_call(watch),
        note=f"Over all {watch.time}s: observed/expected, or the difference of losses if two models are compared. Its "
        "limits hold at all times for all streams together, and the p-value is adjusted for all streams."
        + _shown(len(places), len(every), "watch.to_frame()"),
    )


def _call(watch: LedgerMonitor) -> str:
    """Return the call that gives the table; `level` and the like are named if they are not the defaults."""
    named = {name: one.default for name, one in inspect.signature(monitor).parameters.items()}
    options = {name: getattr(watch, name) for name in ("level", "reference_days", "mature_after")}
    given = {"period": watch.time} | {name: own for name, own in options.items() if own != named[name]}
    return (
        f"watch = pr.monitor(ledger, {', '.join(f'{name}={own!r}' for name, own in given.items())}); watch.to_frame()"
    )


def _shown(shown: int, rows: int, call: str) -> str:
    """Return a sentence about the rows that a table lacks, if any."""
    return f" The {shown} streams with the strongest evidence of {rows:,}; {call} has all." if shown < rows else ""


def _value_of(watch: LedgerMonitor, place: int) -> str:
    return "observed_expected" if watch.states.streams[place].reference is None else "difference"


def _stream_figures(watch: LedgerMonitor) -> Iterator[Figure]:
    alarm = watch.states.alarm
    order = np.argsort(-watch.states.highest, kind="stable").tolist()
    for place in [*alarmed_streams(watch), *(other for other in order if alarm[other] == NEVER)][:MOST_FIGURES]:
        stream = watch.states.streams[place]
        model = stream.model if stream.reference is None else f"{stream.model} against {stream.reference}"
        keys = stream_name(watch, place)
        days = watch.days.of_stream(place)
        value = "observed/expected" if stream.reference is None else "difference"
        table = {watch.time: [str(label) for label in days.labels[watch.time]], "cases": days.n.tolist()}
        table |= {value: (days.observed_expected if stream.reference is None else days.score).tolist()}
        yield figure_of(
            partial(watch.plot, stream=place, label=""),
            title=f"{model}, {keys}" if keys else model,
            caption=capitalized(change_words(watch, place)) if alarm[place] != NEVER else "No alarm.",
            table=table,
            call=f"watch.plot(stream={place})",
            size=(4.1, 2.9),
            width="third",
            of_models=(stream.model,) if stream.reference is None else (stream.model, stream.reference),
        )


def _evidence_figure(watch: LedgerMonitor) -> Figure:
    columns, places = watch.columns(), np.argsort(-watch.states.highest, kind="stable").tolist()
    return figure_of(
        watch.plot,
        title="Evidence in all streams",
        caption="The e-value measures the evidence that the forecasts of a stream are not calibrated, or that two "
        "models differ. It stays below the dashed line in all streams without a change, with a probability of at least "
        f"{percent(watch.level, 6)}.",
        table={
            **_names(watch, places),
            "log e-value": watch.states.evidence.log_e_value[places].tolist(),
            "log threshold": watch.states.log_thresholds(watch.level)[places].tolist(),
            "alarm": [None if columns["alarm"][place] is None else str(columns["alarm"][place]) for place in places],
        },
        call="watch.plot()",
        size=(9.4, 3.8),
        width="whole",
    )


def _volume_figure(watch: LedgerMonitor) -> Figure:
    totals = watch.days.totals(watch.models)
    columns: dict[str, Any] = {watch.time: [str(label) for label in watch.times]}
    columns["cases"] = totals[watch.models[0]].n.tolist()
    columns["event rate"] = totals[watch.models[0]].event_rate.tolist()
    columns |= {f"mean forecast of {name}": one.mean_forecast.tolist() for name, one in totals.items()}

    def drawing(canvas: Canvas) -> None:
        draw_volume(watch, totals, canvas)

    return figure_of(
        drawing,
        title=f"Cases, events and forecasts by {watch.time}",
        caption="Left: number of cases. Right: share of events, and mean forecast of each model, over all keys.",
        table=columns,
        call='watch.days.to_frame().groupby("' + watch.time + '")',
        models=watch.models,
        size=(9.4, 3.0),
        whole=True,
        width="whole",
    )


def _last_tables(watch: LedgerMonitor) -> Iterator[Table]:
    day, pairs = watch.latest, watch.states.is_pair
    psi = (
        "PSI is the population stability index of the forecasts against those of the first "
        f"{watch.reference_days} {watch.time}s of the stream."
    )
    for pair in (False, True):
        every = np.flatnonzero(pairs[day.stream] == pair)
        if not len(every):
            continue
        strongest = np.argsort(-watch.states.highest[day.stream[every]], kind="stable")[:MOST_ROWS]
        rows = every[np.sort(strongest)]
        places = day.stream[rows].tolist()
        columns: dict[str, Any] = {**_names(watch, places), "cases": day.n[rows].tolist()}
        if not pair:
            columns |= {
                "event rate": day.event_rate[rows].tolist(),
                "mean forecast": day.mean_forecast[rows].tolist(),
                "observed/expected": day.observed_expected[rows].tolist(),
                "slope": day.slope[rows].tolist(),
                "PSI": day.psi[rows].tolist(),
            }
        columns |= {"difference" if pair else watch.rule.name: day.score[rows].tolist()}
        columns |= {"standard error": day.score_error[rows].tolist()}
        columns |= {"log e-value": day.log_e_value[rows].tolist()}
        columns |= {"alarm": ["yes" if watch.states.alarm[place] >= 0 else "no" for place in places]}
        yield Table(
            title=f"Pairs of models, {watch.time} {watch.times[-1]}"
            if pair
            else f"Models, {watch.time} {watch.times[-1]}",
            columns=columns,
            of_models=("model", "against") if pair else ("model",),
            call="watch.latest.to_frame()",
            note=(("" if pair else psi) + _shown(len(rows), len(every), "watch.latest.to_frame()")).strip(),
        )


def _method(watch: LedgerMonitor) -> str:
    return (
        "Calibration is tested by likelihood ratios of recalibrated forecasts to the forecasts, and pairs of models by "
        f"bets on the sign of their loss difference. Both can be looked at after every {watch.time}: the probability "
        f"of any false alarm, over all streams and {watch.time}s, is at most {percent(1.0 - watch.level, 6)} if the "
        f"cases of a {watch.time} are independent given the forecasts. If they are correlated, it is higher."
    )


def _facts(watch: LedgerMonitor) -> Facts:
    from propriety import __version__

    unit = watch.time if isinstance(watch.times[-1], int | float) else "day"  # Between dates, days are counted.
    entries = {
        "propriety": __version__,
        "Python": platform.python_version(),
        "Key of time": watch.time,
        "Level": watch.level,
        "Reference window": f"{watch.reference_days} {watch.time}s",
        "Mature after": f"{watch.mature_after} {unit}s",
        "Rule": repr(watch.rule),
    }
    return Facts(title="Facts", entries=entries)
