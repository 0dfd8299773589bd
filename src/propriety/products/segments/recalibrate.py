"""`recalibrate_segments`: a recalibration map with shifts of the log-odds in segments, and its gain out of sample."""

from __future__ import annotations

import math
from collections.abc import Sequence

from propriety import checks
from propriety.checks import check_level
from propriety.number_words import number, percent
from propriety.products.segments.folds import BY_SEGMENT, segment_folds_of, segment_methods
from propriety.recalibration.folds import DEFAULT_FOLDS
from propriety.recalibration.gains import ROUNDING, tried
from propriety.recalibration.methods import METHODS
from propriety.recalibration.recalibrate import candidates_of, result_of, rule_of, shrunk_as_dependent
from propriety.recalibration.result import Recalibration, RecalibrationVerdict
from propriety.rules.rule import Rule
from propriety.tables.cases import Cases
from propriety.tables.lazy_cases import LazyCases


def recalibrate_segments(
    cases: Cases | LazyCases,
    *,
    by: str | Sequence[str] | None = None,
    method: str = "auto",
    candidates: Sequence[str] = (),
    rule: Rule | None = None,
    folds: int = DEFAULT_FOLDS,
    model: str | None = None,
    level: float = 0.95,
) -> Recalibration:
    r"""Fit a recalibration map with shifts of the log-odds in segments, and estimate its gain by cross-fitting.

    On top of the map for all cases, the log-odds are shifted for each label of each column, and for each segment of two
    columns that stands out. The shifts are shrunk towards 0, completely if the labels of a column do not differ. If the
    cross-fitted score is not better than that of the map for all cases, the result has that map, and `note` says so.

    Parameters
    ----------
    cases : Cases or LazyCases
        Outcomes, the forecasts, and the columns that define the segments as keys; see `propriety.cases`. Floats, and
        whole numbers with more than 50 values, are cut at their quantiles into five parts. A lazy frame is loaded.
    by : str or sequence of str, optional
        The keys that define the segments, by default all.
    method, candidates, rule
        The map for all cases, further methods to evaluate, and the rule by which gains are measured, as in
        `propriety.recalibrate`.
    folds : int
        Number of folds; clusters are kept in one fold, and periods split into contiguous blocks.
    model : str, optional
        The model, if the cases have several.
    level : float
        Level of the intervals.

    Returns
    -------
    Recalibration
        The map, which can be called like a function with `by`, the columns, and a row for each candidate; `note`
        compares the map by segment with that for all cases.

    Notes
    -----
    Formulas: `docs/reference/methods.md`.

    Examples
    --------
    >>> import numpy as np
    >>> import propriety as pr
    >>> generator = np.random.default_rng(1)
    >>> p, site = generator.uniform(0.1, 0.5, 6_000), generator.choice(["a", "b", "c"], 6_000)
    >>> y = generator.random(6_000) < np.where(site == "b", 1.4 * p, p)
    >>> fix = recalibrate_segments(pr.cases(y, p, by={"site": site}), method="logistic", folds=3)
    >>> fix([0.3, 0.3], by={"site": ["a", "b"]}).round(2)
    array([0.31, 0.44])
    """
    check_level(level)
    checks.choice(method, "method", [*METHODS])
    parts, columns = segment_folds_of(cases, by, folds=folds, model=model)
    known = shrunk_as_dependent(METHODS, parts.cases)
    by_segment = f"{method}{BY_SEGMENT}"
    names = [*candidates_of(method, candidates, known), by_segment]
    trial = tried(parts, segment_methods(method, known), names, rule_of(rule, parts), level)
    if by_segment in trial.failed:
        raise trial.failed[by_segment]
    over = trial.verdict(by_segment, reference=method)
    is_better = over.gain > (ROUNDING * abs(over.before) if math.isfinite(over.before) else 0.0)
    return result_of(
        trial,
        by_segment if is_better else method,
        maps={name: fit.as_map(columns) for name, fit in trial.maps.items()},
        is_adjusted=False,
        notes=[_words(over, method, level, is_used=is_better)],
    )


def _words(over: RecalibrationVerdict, method: str, level: float, *, is_used: bool) -> str:
    """Return the gain of a map by segment over the map for all cases in words."""
    interval = "" if math.isnan(over.low) else f" ({percent(level)} CI {number(over.low)} to {number(over.high)})"
    gain = f"Relative to the map for all cases ({method}), the gain of the map by segment is {number(over.gain)}"
    return f"{gain}{interval}{'' if is_used else ', so the map for all cases is used'}."
