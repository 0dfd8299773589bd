"""Cases with class probabilities, by fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propriety.errors import InputValueError
from propriety.recalibration.class_rows import ClassRows
from propriety.tables.cases import Cases


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClassFolds:
    """Cases with class probabilities of one model, and their folds; class maps cannot be fitted to binary tables.

    Parameters
    ----------
    cases : Cases
        The cases, all with a positive weight.
    whole : ClassRows
        Their rows.
    codes : array of shape (cases,)
        The fold of each case, counted from 0; at least two folds.
    words : str
        How the folds were made.
    dropped : int
        Rows left out because of missing values.
    """

    cases: Cases
    whole: ClassRows
    codes: NDArray[np.intp]
    words: str = ""
    dropped: int = 0

    def __post_init__(self) -> None:
        if len(self) < 2:
            raise InputValueError(f"cross-fitting needs at least two folds with cases; got {len(self)}")

    def __len__(self) -> int:
        return int(self.codes.max()) + 1

    @property
    def has_certain(self) -> bool:
        """Whether a probability is 0."""
        return bool((self.whole.forecast == 0.0).any())

    def without(self, fold: int) -> ClassRows:
        """Return the rows of the cases of all other folds."""
        return self.whole.where(self.codes != fold)
