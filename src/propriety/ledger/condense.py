"""`condense`: make a ledger from cases in arrays or in a data frame."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from narwhals.typing import IntoFrame
from numpy.typing import ArrayLike

from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.ledger.counted_cases import counted_ledger
from propriety.ledger.ledger import Kind, Ledger
from propriety.ledger.sources import open_ledger
from propriety.rules.families import Brier, Log
from propriety.rules.functions import Excess
from propriety.rules.ordinal import RankedProbability
from propriety.rules.penalized import Misclassification, PenalizedBrier
from propriety.rules.rule import Rule, check_rule
from propriety.tables.cases import TOLERANCE
from propriety.tables.labels import Labels
from propriety.tables.validation import Forecasts, Missing


def condense(  # noqa: PLR0913  (the data, what the cases share, and how they are read)
    y_true: ArrayLike | IntoFrame,
    forecasts: Forecasts | None = None,
    *,
    outcome: str | None = None,
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    cluster: ArrayLike | None = None,
    time: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    ordered: bool = False,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    tolerance: float = TOLERANCE,
    rules: Sequence[Any] = (),
    cells: int | None = None,
) -> Ledger:
    """Condense cases to a ledger: forecast tables by model, event and key, and moments of losses.

    All results of the package about several models, groups or days are functions of the ledger. Ledgers are small, can
    be added, and are stored as plain Parquet files. An engine fills one in at most three queries, whatever the number
    of models, classes, rules and keys: one counts the rows of each key, one makes the tables, one the moments.

    Parameters
    ----------
    y_true : array-like of shape (n,), or a data frame
        Outcomes; or, with `outcome`, a frame with one row per case, eager or lazy.
    forecasts : mapping of str to array-like, or array-like
        The forecasts of each model by name, or those of one model: the probability of the event, of shape (n,), or
        class probabilities, of shape (n, K). With a frame, the names of the columns: a list with one column per model,
        or a mapping of each model to its column, or to its columns of the classes, named like these or in the order of
        `labels`.
    outcome : str, optional
        With a frame, the column of the outcomes.
    by : mapping of str to array-like, or array-like; with a frame str or list of str; optional
        Keys by which results can be split, any number of them, such as day and site.
    cluster, time : array-like of shape (n,), or str with a frame, optional
        Cluster or time within which cases may be correlated; only one of the two.
    sample_weight : array-like of shape (n,), or str with a frame, optional
        Weights.
    counts : array-like of shape (n,), or str with a frame, optional
        Number of equal cases that each row stands for, as in a table of counts by forecast, outcome and key. The ledger
        is that of all these cases, without weights. The rows are read into memory.
    ordered : bool
        Whether the classes are ordered.
    pos_label, labels, missing, tolerance
        As in `propriety.mean_score`; ``missing="drop"`` drops a case with a missing value in any model.
    rules : sequence of Rule or Measure
        Scoring rules, or measures that are the mean of one such as `propriety.measures.NetBenefit`, whose moments are
        computed in addition to the usual ones.
    cells : int, optional
        Number of cells of the grid to which the forecasts are rounded, a power of two; each cell keeps the mean of its
        forecasts. By default arrays are exact, and so is a lazy frame of up to 2**22 forecasts. A larger one has at
        most one cell for 16 cases of a key, at most 2**20, and at most 2**22 over all keys, but never fewer than 16.

    Returns
    -------
    Ledger
        It has `table()`, `moments()`, `where()`, `over()`, ``+`` and `to_parquet()`.

    Examples
    --------
    >>> y, p, site = [0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], ["x", "x", "y", "y"]
    >>> ledger = condense(y, {"a": p}, by={"site": site})
    >>> ledger
    Ledger(models=['a'], kind=binary, n=4, keys={'site': 2})
    >>> (ledger + ledger).table("a", site="x").n
    4

    Rows that count equal cases give the same ledger:

    >>> cells = {"y": [0, 1, 1], "a": [0.2, 0.2, 0.7], "cases": [80, 20, 5]}
    >>> condense(cells["y"], {"a": cells["a"]}, counts=cells["cases"]).table("a")
    ForecastTable(rows=2, n=105, weight=105, event_rate=0.238095)
    """
    if isinstance(rules, Rule):
        raise InputTypeError("rules must be a list of rules", hint=f"pass [{rules!r}].")
    asked: list[Any] = [getattr(one, "rule", one) for one in (rules if isinstance(rules, Sequence) else [rules])]
    for rule in asked:
        check_rule(rule)
    if counts is not None and sample_weight is not None:
        raise InputValueError(Wording("rows have {counts=} or {sample_weight=}, not both"))
    options: dict[str, Any] = {"outcome": outcome, "by": by, "cluster": cluster, "time": time, "ordered": ordered}
    options |= {"pos_label": pos_label, "labels": labels, "missing": missing, "tolerance": tolerance}
    if counts is None:
        ledger = open_ledger(y_true, forecasts, sample_weight=sample_weight, **options, cells=cells)
        ledger.fill([*usual_rules(ledger.kind), *asked])
    else:
        ledger = counted_ledger(y_true, forecasts, counts, lambda kind: [*usual_rules(kind), *asked], **options)
    if cells is not None:
        return ledger.grid(cells)
    for model in ledger.models:
        for event in ledger.events:
            ledger.keyed_tables(model, event)
    return ledger


def usual_rules(kind: Kind) -> tuple[Rule, ...]:
    """Return the functions whose moments a ledger holds by default."""
    if kind == "binary":
        return (Brier(), Log(), Excess())
    if kind == "ordinal":
        return (RankedProbability(), Log(), Brier(), Misclassification())
    return (Brier(), Log(), PenalizedBrier(), Misclassification())
