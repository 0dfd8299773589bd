"""What a report is about: its title, and the facts below it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime

from propriety.evaluation.evaluation import Evaluation

TITLE = "Evaluation of forecasts"
MOST_NAMED = 8  # More models are counted and not named.
ROLES = {"cluster": "Clusters", "period": "Periods", "sample_weight": "Weights"}


def title_of(evaluation: Evaluation) -> str:
    """Return the title of a report that was given none; it names the outcome if the outcome has a name."""
    outcome = evaluation.columns_used.get("outcome")
    return TITLE if outcome is None else f"{TITLE} of {outcome}"


def description_of(evaluation: Evaluation, given: Mapping[str, object]) -> dict[str, object]:
    """Return what the evaluation knows about its data, and what was given in addition.

    An entry that was given replaces the one of the same name; None removes it. The date is that of
    ``SOURCE_DATE_EPOCH`` if it is set, so that a page can be reproduced.

    Examples
    --------
    >>> import pandas as pd
    >>> import propriety as pr
    >>> frame = pd.DataFrame({"cancer": [0, 1, 0, 1], "risk": [0.1, 0.6, 0.4, 0.8]})
    >>> result = pr.evaluate(frame, ["risk"], outcome="cancer", seed=1)
    >>> facts = description_of(result, {"File": "biopsies.csv", "Date": None})
    >>> facts["Outcome"], facts["Models"], facts["File"], facts["Seed"], "Date" in facts
    ('cancer', 'risk', 'biopsies.csv', '1', False)
    """
    columns, reading = evaluation.columns_used, evaluation.calls.reading
    models, groups = evaluation.models, evaluation.ledger.index.names
    known: dict[str, object] = {
        "Outcome": columns.get("outcome"),
        "Event": reading.get("pos_label") if evaluation.kind == "binary" else None,
        "File": None,
        "Models": ", ".join(models) if len(models) <= MOST_NAMED else len(models),
        "Group variables": ", ".join(map(str, groups)) or None,
        **{name: columns.get(role) for role, name in ROLES.items()},
        "Date": _today(),
        "propriety": evaluation.methods["propriety"],
        "Seed": str(evaluation.seed),
    }
    return {name: value for name, value in (known | dict(given)).items() if value is not None}


def _today() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.now().astimezone() if epoch is None else datetime.fromtimestamp(int(epoch), tz=UTC)
    return now.date().isoformat()
