"""The page of a search for segments: what stands out, a figure, the table, and how it was searched."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING

from propriety.number_words import percent
from propriety.products.segments.find import Segments
from propriety.report.cells import Estimate, PValue
from propriety.report.figures import figure_of
from propriety.report.page import Facts, Page, Section, Table
from propriety.report.rendering import render, write_page

if TYPE_CHECKING:
    from os import PathLike

CALL = "found = pr.find_segments(..., by=[{}], depth={}, control={!r}, level={:g}, seed={})"
INFLATED = (
    "A segment is reported because it deviates. Its true observed/expected is therefore probably closer to 1 than the "
    "estimate."
)
WIDER = "Grey rows are wider segments, which contain the one above them."


def segments_report(
    found: Segments, path: str | PathLike[str] | None = None, *, title: str = "Search for miscalibrated segments"
) -> str:
    """Return the page as one HTML file, and write it to `path`, if given, completely or not at all.

    Examples
    --------
    >>> import propriety as pr
    >>> found = pr.find_segments(pr.cases([0, 1] * 40, [0.5] * 80, by={"site": ["a", "b"] * 40}), seed=1)
    >>> segments_report(found)[:15]
    '<!doctype html>'
    """
    first, *sentences = str(found).splitlines()
    facts = {"Segments found": len(found.segment), "Segments tested": found.tested, "Cases": found.n_cases}
    page = Page(
        title=title,
        verdict=(first, *sentences),
        models=(),
        headline=facts | ({"Rows left out": found.dropped} if found.dropped else {}),
        sections=tuple(_sections(found)),
    )
    text = render(page)
    if path is not None:
        write_page(text, path)
    return text


def _sections(found: Segments) -> Iterator[Section]:
    call = CALL.format(", ".join(repr(name) for name in found.by), found.depth, found.control, found.level, found.seed)
    if len(found.segment):
        columns = {
            "segment": found.segment.tolist(),
            "cases": found.n.tolist(),
            "events": found.events.tolist(),
            "observed/expected": [
                Estimate(*map(float, row)) for row in zip(found.observed_expected, found.low, found.high, strict=True)
            ],
        }
        figure = figure_of(
            found.plot,
            title="Observed/expected",
            caption=f"{INFLATED} {WIDER if found.wider else ''}".strip(),
            table={name: values for name, values in columns.items() if name != "observed/expected"}
            | {"observed/expected": found.observed_expected.tolist()},
            call="found.plot()",
            size=(9.4, 1.6 + 0.36 * (len(found.segment) + len(found.wider))),
            width="whole",
        )
        table = Table(
            title="Segments, the strongest evidence first",
            columns={
                **columns,
                "intercept": found.intercept.tolist(),
                "Kuiper": found.kuiper.tolist(),
                "deviation": found.deviation.tolist(),
                "adjusted p": [PValue(float(one)) for one in found.p_adjusted],
            },
            call=f"{call}; found.to_frame()",
            note="Intercept: shift of the log-odds. Kuiper: statistic of the cumulative calibration error (ECCE), in "
            "standard deviations. Deviation: events minus expected events in standard errors, without the cases of the "
            "segments above.",
        )
        yield Section(id="segments", title="Segments", items=(figure, table))
    yield Section(id="methods", title="Methods", words=(_method(found),), items=(_facts(found, call),))


def _method(found: Segments) -> str:
    rate = percent(1.0 - found.level, 6)
    controlled = (
        f"If all forecasts are calibrated, the probability of any report is about {rate}."
        if found.control == "family"
        else f"The expected share of false reports is at most {rate}."
    )
    return (
        "Every label of every column, and every combination of labels of several columns, is a segment. Events are "
        "compared with the sum of the forecasts; where few events or non-events are expected, by a bound that only "
        "extreme deviations exceed. The segment with the largest deviation is reported, its cases are left out, and "
        f"the search is repeated. {controlled} Cases are assumed to be independent."
    )


def _facts(found: Segments, call: str) -> Facts:
    from propriety import __version__

    entries = {
        "propriety": __version__,
        "Python": platform.python_version(),
        "Columns": ", ".join(found.by),
        "Depth": found.depth,
        "Tested": found.tested,
        "Tested for extreme deviations only": found.too_small,
        "Critical deviation": f"{found.critical:.2f} standard errors",
        "Level": found.level,
        "Seed": str(found.seed),
        "Call": call,
    }
    return Facts(title="Facts", entries=entries)
