"""The report of an evaluation: its text, figures and tables on one page."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from propriety.evaluation.evaluation import Evaluation
from propriety.report import texts
from propriety.report.about import description_of, title_of
from propriety.report.abstention import abstention
from propriety.report.class_sections import classes, confusion
from propriety.report.group_sections import group_sections
from propriety.report.number_sections import comparison, means, scores
from propriety.report.page import Facts, Page, Section
from propriety.report.recalibration import recalibration
from propriety.report.rendering import render, write_page
from propriety.report.sections import calibration, decisions

if TYPE_CHECKING:
    from os import PathLike


def report_of(
    evaluation: Evaluation,
    path: str | PathLike[str] | None,
    *,
    title: str | None = None,
    description: Mapping[str, object] | None = None,
) -> str:
    """Return the report, and write it to `path`, if given, completely or not at all."""
    page = render(page_of(evaluation, title=title, description=description))
    if path is not None:
        write_page(page, path)
    return page


def page_of(
    evaluation: Evaluation, *, title: str | None = None, description: Mapping[str, object] | None = None
) -> Page:
    """Return the page of an evaluation.

    Examples
    --------
    >>> import propriety as pr
    >>> result = pr.evaluate([0, 1, 0, 1, 1, 0], {"a": [0.1, 0.6, 0.4, 0.8, 0.7, 0.3]}, seed=1)
    >>> [section.id for section in page_of(result, title="A").sections]
    ['scores', 'calibration', 'decisions', 'means', 'methods']
    """
    return Page(
        title=title_of(evaluation) if title is None else title,
        about=description_of(evaluation, description or {}),
        verdict=(evaluation.card.answer, *evaluation.card.sentences),
        models=evaluation.models,
        headline=_headline(evaluation),
        sections=tuple(_sections(evaluation)),
    )


def _headline(evaluation: Evaluation) -> dict[str, object]:
    facts: dict[str, object] = {"Cases": evaluation.n}
    rates = evaluation.rates
    if evaluation.kind == "binary":
        weighted = ", weighted" if evaluation.is_weighted else ""
        if (censoring := evaluation.ledger.censoring) is not None:
            horizon, unknown = f"{censoring.horizon:g}", censoring.n - evaluation.n - evaluation.dropped
            weighted = f" by {horizon}{', weighted' * censoring.is_weighted}"
            facts[f"Censored before {horizon}"] = f"{unknown:,} of {censoring.n:,} cases"
        facts["Event rate"] = f"{rates['event']:.2%}{weighted}"
    else:
        facts["Grades" if evaluation.kind == "ordinal" else "Classes"] = len(rates)
    facts["Models"] = len(evaluation.models)
    if evaluation.problem.interval is not None:
        low, high = evaluation.problem.interval
        facts["Thresholds"] = f"{100 * low:g}% to {100 * high:g}%"
    elif evaluation.thresholds is not None:
        facts["Threshold"] = f"{100 * float(evaluation.thresholds):g}%"  # type: ignore[arg-type]  # no interval
    if evaluation.slices is not None:
        facts["Groups"] = len(evaluation.slices.group) // len(evaluation.models)
    if evaluation.dropped:
        facts["Rows left out"] = evaluation.dropped
    return facts


def _sections(evaluation: Evaluation) -> Iterator[Section]:
    yield scores(evaluation)
    if evaluation.kind == "binary":
        yield calibration(evaluation)
        yield from recalibration(evaluation)
        yield decisions(evaluation)
    else:
        yield classes(evaluation)
    if evaluation.confusion:
        yield confusion(evaluation)
    if evaluation.risk_coverage:
        yield abstention(evaluation)
    if evaluation.comparison is not None:
        yield comparison(evaluation, evaluation.comparison)
    if evaluation.slices is not None:
        yield from group_sections(evaluation, evaluation.slices)
    yield means(evaluation)
    yield _methods(evaluation)


def _methods(evaluation: Evaluation) -> Section:
    entries: dict[str, Any] = {
        **evaluation.methods,
        "Python": platform.python_version(),
        "Cases": evaluation.n,
        "Rows left out because of missing values": evaluation.dropped,
    }
    advice = evaluation.advice
    return Section(
        id="methods",
        title="Methods and data",
        words=(
            f"The measures were chosen for {advice.problem}. {advice.recommended[0].why}",
            texts.calls_words(evaluation.calls, evaluation.dropped),
        ),
        items=(Facts(title="Reproducibility", entries=entries),),
    )
