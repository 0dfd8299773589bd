"""The page of a monitor: alarms, the evidence, small figures of streams, volumes, and the last period."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure as Canvas

from propriety.number_words import capitalized, percent
from propriety.products.monitoring.monitor import Monitored, monitor
from propriety.products.monitoring.picture import draw_volume, of_stream
from propriety.products.monitoring.streams import NEVER, Chunk
from propriety.products.monitoring.words import (
    alarmed_streams,
    by_evidence,
    change_words,
    finite,
    measure_name,
    subject,
    summary_of,
)
from propriety.report.cells import Estimate, PValue
from propriety.report.figures import figure_of
from propriety.report.page import Facts, Figure, Page, Section, Table
from propriety.report.rendering import render, write_page
from propriety.result import Floats

if TYPE_CHECKING:
    from os import PathLike

MOST_SENTENCES = 6
MOST_FIGURES = 9
MOST_ROWS = 100  # Streams in a table; a row takes about 250 bytes of the page.
MOST_LISTED = 1000  # Periods in the table of a figure, the last ones.
WORDS = {"model", "against", "measure", "cases", "value", "PSI"}  # Columns of tables that a key may be called, too.


def monitor_report(
    watch: Monitored, path: str | PathLike[str] | None = None, *, title: str = "Monitor of forecasts"
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


def monitor_page(watch: Monitored, *, title: str) -> Page:
    """Return the contents of the page."""
    return Page(
        title=title,
        verdict=tuple(_verdict(watch)),
        models=watch.options.models,
        headline=_headline(watch),
        sections=tuple(_sections(watch)),
    )


def _verdict(watch: Monitored) -> Iterator[str]:
    head, *sentences = summary_of(watch).splitlines()
    alarms, rest = sentences[: watch.alarms], sentences[watch.alarms :]
    yield head
    yield from alarms[:MOST_SENTENCES]
    if len(alarms) > MOST_SENTENCES:
        yield f"{len(alarms) - MOST_SENTENCES} more are in the table of alarms."
    yield from rest


def _headline(watch: Monitored) -> dict[str, object]:
    noun, last = watch.options.noun.capitalize(), str(watch.times[-1])
    first = np.flatnonzero((watch.model == watch.options.models[0]) & (watch.measure == watch.measure[0]))
    return {
        "Alarms": watch.alarms,
        f"{noun}s": len(watch.times),
        f"Last {watch.options.noun}": last,
        **({f"Not mature: {watch.options.noun}s": len(watch.waiting)} if watch.waiting else {}),
        "Cases": int(watch.n[first].sum()),
        "Streams": len(watch),
    }


def _sections(watch: Monitored) -> Iterator[Section]:
    if watch.alarms:
        yield Section(id="alarms", title="Alarms", items=(_alarm_table(watch),))
    words = (_streams_words(watch),)
    yield Section(id="streams", title="Streams", words=words, items=tuple(_stream_figures(watch)))
    yield Section(id="evidence", title="Evidence", items=(_evidence_figure(watch),))
    if totals := totals_of(watch):
        yield Section(id="volume", title="Volume and rates", items=(_volume_figure(watch, totals),))
    yield Section(id="last", title=f"Last {watch.options.noun}", items=(_last_table(watch),))
    yield Section(id="methods", title="Methods", words=(_method(watch),), items=(_facts(watch),))


def _streams_words(watch: Monitored) -> str:
    noun = watch.options.noun
    return (
        "A stream is a measure of one model, or the difference between two models, for one combination of keys. Dots "
        f"are {noun}s, and the line is the average of the last seven. Streams with the strongest evidence come first; "
        "the shaded part runs from the most likely time of the change to the alarm."
        + (f" Circles are {noun}s that are not mature, which are not tested yet." if watch.waiting else "")
    )


def _names(watch: Monitored, places: list[int]) -> dict[str, Any]:
    """Return the columns that identify streams."""
    streams = [watch.streams.names[place] for place in places]
    columns: dict[str, Any] = {"model": [one.model for one in streams]}
    if any(one.against is not None for one in streams):
        columns["against"] = [one.against for one in streams]
    columns["measure"] = [measure_name(watch, place) for place in places]
    heads = [f"{key} (key)" if key in WORDS else key for key in watch.options.by]
    return columns | {head: [str(one.labels[at]) for one in streams] for at, head in enumerate(heads)}


def _alarm_table(watch: Monitored) -> Table:
    every, noun = alarmed_streams(watch), watch.options.noun
    places = every[:MOST_ROWS]
    extra = watch.extra
    return Table(
        title="Streams with an alarm, those with the strongest evidence first",
        columns={
            **_names(watch, places),
            "direction": [extra["direction"][place] for place in places],
            "since": [str(extra["since"][place]) for place in places],
            "alarm": [str(extra["alarm"][place]) for place in places],
            "until then": [extra["change"][place] for place in places],
            f"over all {noun}s": [_estimate(watch, place) for place in places],
            "p-value": [PValue(float(watch.p_adjusted[place])) for place in places],
        },
        call=_call(watch),
        note=f"Until then: the value from the change to the alarm. The limits over all {noun}s hold at all times for "
        "all streams together, and the p-value is that of a departure beyond the margin, adjusted for all streams."
        + _shown(len(places), len(every), "watch.to_frame()"),
    )


def _estimate(watch: Monitored, place: int) -> Estimate:
    return Estimate(*(float(getattr(watch, name)[place]) for name in ("value", "low", "high")))


def _call(watch: Monitored) -> str:
    """Return the call that gives the table; options are named if they are not the defaults."""
    named = {name: one.default for name, one in inspect.signature(monitor).parameters.items()}
    options = {name: getattr(watch.options, name) for name in ("margin", "level", "reference_days", "mature_after")}
    given = {"period": watch.options.period} | {name: own for name, own in options.items() if own != named[name]}
    said = ", ".join(f"{name}={own!r}" for name, own in given.items())
    return f"watch = pr.monitor(ledger, {said}); watch.to_frame()"


def _shown(shown: int, rows: int, call: str) -> str:
    """Return a sentence about the rows that a table lacks, if any."""
    return f" The {shown} streams with the strongest evidence of {rows:,}; {call} has all." if shown < rows else ""


def _stream_figures(watch: Monitored) -> Iterator[Figure]:
    alarm, chunk = watch.streams["alarm"], watch.numbers()
    for place in [*alarmed_streams(watch), *(one for one in by_evidence(watch) if alarm[one] == NEVER)][:MOST_FIGURES]:
        stream, own = watch.streams.names[place], of_stream(chunk, place)
        labels = [str(watch.times[at]) for at in own.period.tolist()]
        table = {watch.options.noun: labels, "cases": own.n.tolist(), "value": own.value.tolist()}
        models = (stream.model,) if stream.against is None else (stream.model, stream.against)
        yield figure_of(
            partial(watch.plot, stream=place, label=""),
            title=subject(watch, place),
            caption=capitalized(change_words(watch, place)) if alarm[place] != NEVER else "No alarm.",
            table=table if len(labels) <= MOST_LISTED else {name: one[-MOST_LISTED:] for name, one in table.items()},
            call=f"watch.plot(stream={place})",
            size=(4.1, 2.9),
            width="third",
            of_models=models,
        )


def _evidence_figure(watch: Monitored) -> Figure:
    places, thresholds = by_evidence(watch), watch.streams.log_thresholds(watch.options.level)
    return figure_of(
        watch.plot,
        title="Evidence in all streams",
        caption="The e-value measures the evidence that a stream is worse than was claimed, beyond the margin. It "
        "stays below the dashed line in all streams without a change, with a probability of at least "
        f"{percent(watch.options.level, 6)}.",
        table={
            **_names(watch, places[:MOST_ROWS]),
            "log e-value": [finite(watch.streams["latest"][place]) for place in places[:MOST_ROWS]],
            "log threshold": thresholds[places[:MOST_ROWS]].tolist(),
            "alarm": [_text(watch.extra["alarm"][place]) for place in places[:MOST_ROWS]],
        },
        call="watch.plot()",
        size=(9.4, 3.8),
        width="whole",
    )


def _text(label: object) -> str | None:
    return None if label is None else str(label)


def totals_of(watch: Monitored) -> dict[str, dict[str, Floats]]:
    """Return the cases, the event rate and the mean forecast of each period over all keys, by model.

    They follow from the streams of observed/expected; none are returned if it is not monitored.
    """
    later, chunk = watch.immature(), watch.numbers()
    if later is not None:
        chunk = Chunk(*(np.concatenate(pair) for pair in zip(chunk, later, strict=True)))
    found = {}
    for model in watch.options.models:
        names = watch.streams.names
        own = np.array([one.measure == "observed_expected" and one.model == model for one in names])[chunk.stream]
        if own.any():
            n, events, expected = (
                np.bincount(chunk.period[own], column[own], minlength=int(chunk.period.max()) + 1).astype(np.float64)
                for column in (chunk.n, chunk.events, chunk.exposure)
            )
            with np.errstate(invalid="ignore"):
                found[model] = {"n": n, "event_rate": events / n, "mean_forecast": expected / n}
    return found


def _volume_figure(watch: Monitored, totals: dict[str, dict[str, Floats]]) -> Figure:
    noun, first, mature = watch.options.noun, next(iter(totals.values())), len(watch.times)
    columns: dict[str, Any] = {noun: [str(label) for label in watch.times]}
    columns |= {"cases": first["n"][:mature].tolist(), "event rate": first["event_rate"][:mature].tolist()}
    columns |= {f"mean forecast of {name}": one["mean_forecast"][:mature].tolist() for name, one in totals.items()}

    def drawing(canvas: Canvas) -> None:
        draw_volume(watch, totals, canvas)

    return figure_of(
        drawing,
        title=f"Cases, events and forecasts by {noun}",
        caption="Left: number of cases. Right: share of events, and mean forecast of each model, over all keys.",
        table={name: one[-MOST_LISTED:] for name, one in columns.items()},
        call=f'watch.days().to_frame().groupby("{watch.options.period}")',
        models=watch.options.models,
        size=(9.4, 3.0),
        whole=True,
        width="whole",
    )


def _last_table(watch: Monitored) -> Table:
    day, noun = watch.numbers(last=True), watch.options.noun
    rank = np.empty(len(watch), dtype=np.int64)
    rank[by_evidence(watch)] = np.arange(len(watch))
    rows = np.sort(np.argsort(rank[day.stream], kind="stable")[:MOST_ROWS])
    places = day.stream[rows].tolist()
    is_ratio = np.array([watch.streams.names[place].measure == "observed_expected" for place in places], dtype=bool)
    expected = np.where(is_ratio, day.exposure[rows] / day.n[rows], np.nan)
    columns: dict[str, Any] = {**_names(watch, places), "cases": day.n[rows].tolist()}
    columns |= {"event rate": (day.events[rows] / day.n[rows]).tolist(), "mean forecast": expected.tolist()}
    columns |= {"value": day.value[rows].tolist(), "standard error": day.error[rows].tolist()}
    columns |= {"PSI": day.psi[rows].tolist(), "log e-value": [finite(one) for one in day.log_e_value[rows]]}
    columns |= {"alarm": ["yes" if watch.streams["alarm"][place] != NEVER else "no" for place in places]}
    psi = (
        "PSI is the population stability index of the forecasts against those of the first "
        f"{watch.options.reference_days} {noun}s of the stream; standard errors are those of independent cases."
    )
    return Table(
        title=f"Streams, {noun} {watch.times[-1]}",
        columns=columns,
        of_models=("model", "against") if "against" in columns else ("model",),
        call="watch.days().to_frame()",
        note=psi + _shown(len(rows), len(day.stream), "watch.days().to_frame()"),
    )


def _method(watch: Monitored) -> str:
    noun = watch.options.noun
    if watch.streams.bets is not None:
        return (
            f"Every {noun} is one case, and the evidence is the capital of exact bets: whatever is claimed, the "
            f"probability of any false alarm, over all streams, is at most {percent(1.0 - watch.options.level, 6)}."
        )
    return (
        f"Evidence comes from the sums of {noun}s, whose spread is learnt from earlier ones, so that cases of one "
        f"{noun} may be correlated. You may look after every {noun}: the probability of any false alarm, over all "
        f"streams and {noun}s, is at most {percent(1.0 - watch.options.level, 6)}. The claim is that forecasts are "
        f"calibrated given what happened before: a stretch of {noun}s that are too high is a departure, even if it "
        "passes."
    )


def _facts(watch: Monitored) -> Facts:
    from propriety import __version__

    options = watch.options
    unit = options.noun if isinstance(watch.times[-1], int | float) else "day"  # Between dates, days are counted.
    entries = {
        "propriety": __version__,
        "Python": platform.python_version(),
        "Key of time": options.period,
        "Level": options.level,
        "Margin": "by measure" if options.margin is None else options.margin,
        "Reference window": f"{options.reference_days} {options.noun}s",
        "Mature after": f"{options.mature_after} {unit}s",
        "Rule": repr(options.rule),
    }
    return Facts(title="Facts", entries=entries)
