"""The report of an evaluation: its text, figures and tables on one page."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from propriety.evaluation.card import page_html
from propriety.evaluation.card_rows import ALONE, ASKED, DECISIONS, FORECASTS, ORDER, question_of_groups
from propriety.evaluation.evaluation import Evaluation
from propriety.report import texts
from propriety.report.about import description_of, title_of
from propriety.report.abstention import abstention
from propriety.report.class_sections import classes, confusion
from propriety.report.group_sections import group_sections
from propriety.report.labels import steady
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
    sections = tuple(_sections(evaluation))
    return Page(
        title=title_of(evaluation) if title is None else title,
        about=description_of(evaluation, description or {}),
        card=steady(page_html(evaluation.card, _links(evaluation, sections))),
        models=evaluation.models,
        sections=sections,
    )


def _links(evaluation: Evaluation, sections: Iterable[Section]) -> dict[str, str]:
    """Return the section of the page that has more about each question of the card."""
    ids = [section.id for section in sections]
    questions = list(dict.fromkeys(row.question for row in evaluation.card.rows))
    known = {DECISIONS: "decisions", ORDER: "decisions", FORECASTS: "scores", ALONE: "scores", ASKED: "scores"}
    groups = next((name for name in ids if name.startswith("slices")), "")
    if evaluation.slices is not None:
        known[question_of_groups(evaluation.slices)] = groups
    found = {question: known.get(question, "calibration") for question in questions}
    return {question: f"#s-{name}" for question, name in found.items() if name in ids}


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
