"""The items of TRIPOD+AI that an evaluation can fill in, and those that it leaves to the authors."""

from __future__ import annotations

from collections.abc import Mapping

from propriety.errors import InputValueError
from propriety.report.page import Section, Table

ABSENT = "not provided"
# What each item asks for, paraphrased; the statement has the full text.
FILLABLE = {
    "12d": "How differences in performance between clusters, such as hospitals or countries, were measured",
    "12e": "Measures and plots of performance, why they were chosen, and how models were compared",
    "12f": "Whether the model was updated after the evaluation, such as by recalibration",
    "12g": "How the predictions were calculated",
    "15": "What the model outputs, and how decision thresholds were chosen",
    "20a": "The flow of participants, with and without the outcome",
    "20b": "The participants, overall and by source: events, missing values",
    "20c": "How the evaluation data compare with the development data",
    "21": "Participants and events in each analysis",
    "23a": "Performance with confidence intervals, also in key subgroups",
    "23b": "Differences in performance between clusters",
    "24": "Results of updating the model",
}
AUTHORS = {
    "1": "Title",
    "2": "Abstract",
    "3a": "Context and rationale",
    "3b": "Target population and use of the model",
    "3c": "Known health inequalities",
    "4": "Objectives",
    "5a": "Sources of data",
    "5b": "Dates of the data",
    "6a": "Setting",
    "6b": "Eligibility",
    "6c": "Treatments received",
    "7": "Preparation of the data",
    "8a": "Outcome and when it was assessed",
    "8b": "Who assessed the outcome",
    "8c": "Blinding of outcome assessment",
    "9a": "Choice of predictors",
    "9b": "Definition and measurement of predictors",
    "9c": "Who assessed the predictors",
    "10": "Sample size",
    "11": "Missing data",
    "12a": "Use of the data in the analysis",
    "12b": "Handling of predictors",
    "12c": "Type of model and how it was built",
    "13": "Class imbalance",
    "14": "Fairness",
    "16": "Differences between training and evaluation",
    "17": "Ethical approval",
    "18a": "Funding",
    "18b": "Conflicts of interest",
    "18c": "Protocol",
    "18d": "Registration",
    "18e": "Sharing of data",
    "18f": "Sharing of code",
    "19": "Involvement of patients and the public",
    "22": "The full model",
    "25": "Interpretation",
    "26": "Limitations",
    "27a": "Handling of poor-quality or missing input when the model is used",
    "27b": "User interaction and expertise required",
    "27c": "Next steps",
}


def tripod_items(provided: Mapping[str, str]) -> Section:
    """Return the appendix that supports reporting by TRIPOD+AI: what was provided, and "not provided" for the rest.

    Parameters
    ----------
    provided : mapping of str to str
        Text of each item, such as ``{"21": "5,000 cases, 1,200 events"}``.

    References
    ----------
    Collins et al. (2024), doi:10.1136/bmj-2023-078378.

    Examples
    --------
    >>> section = tripod_items({"21": "5,000 cases, 1,200 events"})
    >>> dict(zip(section.items[0].columns["item"], section.items[0].columns["in this report"]))["21"]
    '5,000 cases, 1,200 events'
    >>> section.items[0].columns["in this report"][0]
    'not provided'
    """
    unknown = [name for name in provided if name not in FILLABLE and name not in AUTHORS]
    if unknown:
        hint = "items are written as in the statement, such as '12e' or '21'."
        raise InputValueError(
            "must name items of TRIPOD+AI", argument="provided", offender=f"got {unknown[0]!r}", hint=hint
        )
    return Section(
        id="tripod",
        title="Appendix: TRIPOD+AI",
        words=(
            "This appendix supports reporting by TRIPOD+AI (Collins et al. 2024, doi:10.1136/bmj-2023-078378).",
            "It lists what the evaluation can report. The authors remain responsible for reporting the study in full.",
            "The texts of the items are our short paraphrases; the statement has the full wording.",
        ),
        items=(
            _table("Items that an evaluation can fill in", FILLABLE, provided, folded=False),
            _table("Items for the authors", AUTHORS, provided, folded=True),
        ),
    )


def _table(title: str, asked: Mapping[str, str], provided: Mapping[str, str], *, folded: bool) -> Table:
    columns = {
        "item": list(asked),
        "what it asks for": list(asked.values()),
        "in this report": [provided.get(name, ABSENT) or ABSENT for name in asked],
    }
    return Table(title=title, columns=columns, folded=folded)
