"""Murphy diagrams: the elementary score at every threshold, with its miscalibration and discrimination."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from numpy.typing import ArrayLike

from propriety.calibration.decomposition import PARTS, Decomposition, decompose_table
from propriety.checks import check_choice
from propriety.decisions.regret import regret_curve
from propriety.result import Floats, Result
from propriety.rules.families import BRIER
from propriety.rules.thresholds import Thresholds, read_grid, read_thresholds
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.labels import Labels
from propriety.tables.validation import Missing

MurphyNormalize: TypeAlias = Literal["regret", "brier", "expectile"]

FACTORS: dict[MurphyNormalize, float] = {"regret": 1.0, "brier": 2.0, "expectile": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MurphyCurve(Result):
    """Mean elementary score at each threshold, and its parts.

    Parameters
    ----------
    threshold : array of shape (rows,)
        Cost ratio, which is also the optimal threshold for acting.
    score : array of shape (rows,)
        Mean elementary score: miscalibration - discrimination + uncertainty.
    miscalibration, discrimination, uncertainty : array of shape (rows,), optional
        Its parts, none of them negative.
    normalize : {"regret", "brier", "expectile"}
        Scale of the elementary score; see `murphy_curve`.
    area : float
        Area under `score` over [0, 1], exact.
    exact : bool
        Whether straight lines through the rows are the exact curves.
    thresholds : float or (float, float), optional
        The decision maker's threshold or range, around which the curves are drawn.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    """

    threshold: Floats
    score: Floats
    miscalibration: Floats | None = None
    discrimination: Floats | None = None
    uncertainty: Floats | None = None
    normalize: MurphyNormalize
    area: float
    exact: bool
    thresholds: Thresholds | None = None
    n: int
    dropped: int = 0
    decomposition: Decomposition | None = field(default=None, metadata={"hidden": True})

    @property
    def areas(self) -> dict[str, float]:
        """Exact areas under the score and, if available, its parts."""
        if self.decomposition is None:
            return {"score": self.area}
        return {name: FACTORS[self.normalize] / 2.0 * getattr(self.decomposition, name) for name in PARTS}

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "rows": len(self.threshold),
            "normalize": self.normalize,
            "area": self.area,
            "n": self.n,
        }
        return facts | ({"dropped": self.dropped} if self.dropped else {})


def murphy_curve(
    y_true: ArrayLike | ForecastTable,
    y_proba: ArrayLike | None = None,
    *,
    thresholds: Thresholds | None = None,
    grid: ArrayLike | None = None,
    normalize: MurphyNormalize = "regret",
    parts: bool = True,
    sample_weight: ArrayLike | None = None,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
) -> MurphyCurve:
    r"""Compute the mean elementary score at every threshold, with its miscalibration and discrimination.

    .. math:: R^*(c) = \mathrm{MCB}(c) - \mathrm{DSC}(c) + \mathrm{UNC}(c)

    A forecast whose curve is nowhere above that of another is at least as good under every proper score.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label, labels, missing
        As in `propriety.mean_score`; a ForecastTable replaces predictions.
    thresholds : float or (float, float), optional
        The probability at which one would act, or its range. The curves are drawn around it.
    grid : array-like in [0, 1], optional
        Where to evaluate the curves. Without it they are exact: linear between the rows; at a jump the threshold occurs
        twice, first with the value there and then with the limit from above.
    normalize : {"regret", "brier", "expectile"}
        "regret" is the mean of ``Elementary(c)``, and the area is half the Brier score, as in model-diagnostics.
        "brier" is twice that, and the area is the Brier score, as in triptych. "expectile" is half of it, the
        elementary score of the expectile at level 1/2, and the area is a quarter of the Brier score, as in scores.
    parts : bool
        Whether to recalibrate the forecasts and return the parts.

    References
    ----------
    Ehm, Gneiting, Jordan & Krüger (2016), doi:10.1111/rssb.12154; Dimitriadis, Gneiting & Jordan (2021),
    doi:10.1073/pnas.2016191118, for the parts.

    Examples
    --------
    >>> from propriety.decisions.murphy import murphy_curve
    >>> murphy_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], normalize="brier")
    MurphyCurve(rows=11, normalize=brier, area=0.175, n=4)
    >>> curve = murphy_curve([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], grid=[0.35])
    >>> curve.score, curve.uncertainty
    (array([0.25]), array([0.175]))
    """
    check_choice("normalize", normalize, get_args(MurphyNormalize))
    table = ForecastTable.of(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels, missing=missing
    )
    factor, given = FACTORS[normalize], None if grid is None else read_grid(grid)
    facts: dict[str, Any] = {"normalize": normalize, "exact": given is None, "thresholds": read_thresholds(thresholds)}
    facts |= {"n": table.n, "dropped": table.dropped}
    if not parts:
        regret = regret_curve(table, grid=given)
        return MurphyCurve(
            threshold=regret.threshold, score=factor * regret.regret, area=factor * regret.area(), **facts
        )
    whole = decompose_table(table, BRIER, curve=True, grid=given)
    curves: dict[str, Any] = {name: factor * getattr(whole, f"{name}_curve") for name in PARTS}
    curves["threshold"] = whole.threshold
    return MurphyCurve(**curves, area=factor / 2.0 * whole.score, **facts, decomposition=whole)
