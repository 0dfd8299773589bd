"""Comparison of learners by cross-validation, with an error that allows for overlapping training parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from propriety.errors import InputValueError
from propriety.inference.estimates import counted
from propriety.inference.measures import FittedDistance, Measure
from propriety.inference.number_words import capitalized, number, p_value_words, percent
from propriety.inference.verdicts import Names, holm
from propriety.result import Floats, Result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LearnerComparison(Result):
    """Differences between learners in a cross-validated measure, one row per pair; see `Validation.compare`.

    Parameters
    ----------
    model, reference : ndarray of str of shape (pairs,)
        Names of the two learners.
    difference, low, high, standard_error : ndarray of shape (pairs,)
        Mean over the parts of the value of the model minus that of the reference, its interval and standard error. If
        the value of a learner is infinite in a part, the difference is too, or NaN if both are; it is not tested.
    statistic, p_value, p_adjusted : ndarray of shape (pairs,)
        Difference divided by its error, the two-sided p-value, and the same with Holm's adjustment for all pairs.
    df : int
        Degrees of freedom: the number of parts that are compared, minus 1.
    left_out : int
        Number of parts in which the measure is undefined for a learner; they are left out.
    measure : Measure
        The measure.
    level : float
        Level of the intervals.
    """

    main_columns: ClassVar[tuple[str, ...]] = ("model", "reference", "difference", "low", "high", "p_adjusted")

    model: Names
    reference: Names
    difference: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    statistic: Floats
    p_value: Floats
    p_adjusted: Floats
    df: int
    left_out: int
    measure: Measure
    level: float

    def summary(self) -> str:
        """Return the results in plain words, one sentence per pair."""
        said = []
        for row, (model, reference) in enumerate(zip(self.model, self.reference, strict=True)):
            found = capitalized(f"{self.measure.label} of {model} minus {reference}")
            if not math.isfinite(self.difference[row]):
                told = "undefined" if math.isnan(self.difference[row]) else number(self.difference[row])
                said.append(f"{found}: {told}, as a value is infinite in a part; not tested.")
                continue
            limits = f"{percent(self.level)} CI {number(self.low[row])} to {number(self.high[row])}"
            test = p_value_words(float(self.p_adjusted[row])) if math.isfinite(self.p_adjusted[row]) else "not tested"
            said.append(f"{found}: {number(self.difference[row])} ({limits}; {test}).")
        if self.left_out:
            parts = counted(self.left_out, "part")
            said.append(f"{capitalized(self.measure.label)} is undefined in {parts}, left out.")
        return "\n".join(said)

    def __str__(self) -> str:
        return self.summary()

    def _fields(self) -> dict[str, Any]:
        return Result._fields(self) | {"measure": self.measure.key}


def corrected_t(differences: Floats, share: float, level: float) -> tuple[float, float, float, float, float, float]:
    r"""Return the mean of differences with limits, error, statistic and p-value by Nadeau and Bengio.

    .. math:: t = \bar d / \sqrt{\left(\frac1J + \frac{n_2}{n_1}\right) s^2}

    with J parts, the variance :math:`s^2` of their differences, and :math:`n_2 / n_1`, the cases of a part divided by
    those that the learner is fitted to. Student's t has J - 1 degrees of freedom.

    Examples
    --------
    >>> mean, low, high, error, statistic, p = corrected_t(np.array([0.1, 0.2, 0.3]), 0.5, 0.95)
    >>> round(mean, 2), round(error, 4), round(p, 3)
    (0.2, 0.0913, 0.16)
    """
    parts = len(differences)
    if not np.isfinite(differences).all():
        with np.errstate(invalid="ignore"):
            mean = float(differences.sum())
        return mean, math.nan, math.nan, math.nan, math.nan, math.nan
    mean, spread = float(differences.mean()), float(differences.var(ddof=1))
    error = math.sqrt((1.0 / parts + share) * spread)
    margin = float(stdtrit(parts - 1, (1.0 + level) / 2.0)) * error
    statistic = mean / error if error > 0.0 else math.nan
    p_value = float(2.0 * stdtr(parts - 1, -abs(statistic)))
    return mean, mean - margin, mean + margin, error, statistic, p_value


def compare_learners(
    values: dict[str, Floats],
    pairs: Sequence[tuple[str, str]],
    sizes: tuple[NDArray[np.int64], NDArray[np.int64]],
    measure: Measure,
    level: float,
) -> LearnerComparison:
    """Compare learners by their values in the same parts; `sizes` are the cases fitted to and those of the part."""
    if isinstance(measure, FittedDistance):
        law = f"differences in {measure.label} are not tested: noise inflates it, for each model differently"
        raise InputValueError(law, hint=f"compare the {measure.compare_instead.label}.")
    known = ~np.isnan(np.array(list(values.values()))).any(axis=0)
    if known.sum() < 2:
        law = f"the {measure.label} must be defined in two parts or more"
        raise InputValueError(
            law, offender=f"it is defined in {known.sum()} of {len(known)}", hint="pass a smaller cv."
        )
    train, test = (size[known] for size in sizes)
    share = float((test / train).mean())
    with np.errstate(invalid="ignore"):
        gaps = [values[one][known] - values[other][known] for one, other in pairs]
    found = [corrected_t(gap, share, level) for gap in gaps]
    mean, low, high, error, statistic, p_value = (np.array(column) for column in zip(*found, strict=True))
    return LearnerComparison(
        model=np.array([one for one, _ in pairs]),
        reference=np.array([other for _, other in pairs]),
        difference=mean,
        low=low,
        high=high,
        standard_error=error,
        statistic=statistic,
        p_value=p_value,
        p_adjusted=holm(p_value),
        df=int(known.sum()) - 1,
        left_out=int((~known).sum()),
        measure=measure,
        level=level,
    )
