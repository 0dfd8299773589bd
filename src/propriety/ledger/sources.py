"""Ledgers of user input: cases, arrays, a data frame or a ledger; condensed and reweighted ones."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import ArrayLike

from propriety import checks, demands
from propriety.errors import InputTypeError, InputValueError
from propriety.ledger.case_moments import moments_of_cases
from propriety.ledger.key_index import KeyIndex
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Kind, Ledger
from propriety.ledger.moments import OUTCOME, Moments
from propriety.rules.class_rules import Misclassification, PenalizedBrier, RankedProbability
from propriety.rules.families import Brier, Log
from propriety.rules.functions import Excess
from propriety.rules.rule import Rule, check_rule
from propriety.tables.cases import Cases, check_nothing_beside
from propriety.tables.censored_outcomes import CensoredOutcomes
from propriety.tables.events import Event
from propriety.tables.frames import check_number_of_models
from propriety.tables.labels import Labels
from propriety.tables.lazy_cases import LazyCases
from propriety.tables.reading import read_source, refuse_time
from propriety.tables.validation import Forecasts, Missing

# What is given in place of outcomes to functions that read cases, frames and ledgers.
Data: TypeAlias = ArrayLike | IntoFrame | Mapping[str, ArrayLike] | Cases | LazyCases | CensoredOutcomes | Ledger


def open_ledger(
    y_true: object,
    forecasts: object = None,
    *,
    by: object = None,
    fewest: int = 1,
    cells: int | None = None,
    rules: Sequence[Rule] | None = None,
    by_model: bool = False,
    **reading: Any,
) -> Ledger:
    """Make a ledger from user input; see `propriety.cases` for the arguments. Results are computed on demand.

    Beside a ledger or cases, `by` names those of their keys that are kept, by default all. With `rules`, rows that
    stand for several cases are not expanded: the ledger has the moments of these rules and the usual ones, and no
    cases. `by_model` allows outcomes by model.
    """
    kept = by
    if isinstance(y_true, Ledger):
        usual = {"missing": "raise", "ordered": False}
        given = {name: value for name, value in reading.items() if name not in usual or value is not usual[name]}
        check_nothing_beside("a Ledger", {"forecasts": forecasts, **given})
        ledger = y_true
    else:
        kept, by = (by, None) if isinstance(y_true, Cases | LazyCases) else (None, by)
        read = read_source(y_true, forecasts, by=by, fewest=fewest, by_model=by_model, **reading)
        if rules is not None and isinstance(read, Cases) and read.is_counted:
            ledger = counted_ledger(read, rules)
        else:
            ledger = Ledger.of_cases(read, cells=cells)
    check_number_of_models(len(ledger.models), fewest)
    return ledger if kept is None else ledger.over(*other_keys(ledger, kept))


def other_keys(ledger: Ledger, by: object) -> list[str]:
    """Return the keys of a ledger that are not among some names."""
    names: list[Any] = [by] if isinstance(by, str) else list(by) if isinstance(by, list | tuple) else [by]
    for name in names:
        if not isinstance(name, str):
            raise InputTypeError("must name keys of the cases, which were read before", argument="by", got_type=name)
        ledger.index.place(name)
    return [name for name in ledger.index.names if name not in names]


def usual_rules(kind: Kind) -> tuple[Rule, ...]:
    """Return the functions whose moments a ledger holds by default."""
    if kind == "binary":
        return (Brier(), Log(), Excess())
    if kind == "ordinal":
        return (RankedProbability(), Log(), Brier(), Misclassification())
    return (Brier(), Log(), PenalizedBrier(), Misclassification())


def counted_ledger(cases: Cases, more: Sequence[Rule]) -> Ledger:
    """Make the ledger of the cases that rows stand for, with the moments of more rules; it keeps no cases."""
    rows = Ledger.of_cases(replace(cases, is_counted=False))
    assert isinstance(rows.source, Cases)  # noqa: S101  (for the type checker; the rows are in memory)
    cases = rows.source  # Without rows that stand for no case.
    counts = cases.checked().weights()
    counts = np.ones(len(cases)) if counts is None else counts
    index, entry = KeyIndex.of_cases(cases.keys, len(cases))
    plain = replace(cases, weight=None)

    def keyed(model: str, event: Event) -> KeyedTables:
        weighted = KeyedTables.of_cases(cases, model, event, entry, len(index))
        happened = plain.event(event, model).outcomes()
        numbers: dict[str, Any] = {
            name: np.bincount(entry, column, minlength=len(index)).astype(np.int64)
            for name, column in (("n", counts), ("n_events", counts * happened))
        }
        return replace(weighted, event_squares=weighted.events, non_event_squares=weighted.non_events, **numbers)

    rules = dict.fromkeys([*usual_rules(rows.kind), *more])
    return replace(
        rows,
        source=None,
        is_weighted=False,
        index=index,
        _tables={(model, event): keyed(model, event) for model in rows.models for event in rows.events},
        _moments={rule: moments_of_cases(plain, rule, counts=counts.astype(np.int64)) for rule in rules},
    )


def condense(  # noqa: PLR0913  (the data, what the cases share, and how they are read)
    y_true: Data,
    forecasts: Forecasts | None = None,
    *,
    outcome: str | None = None,
    by: ArrayLike | Mapping[str, ArrayLike] | None = None,
    cluster: ArrayLike | None = None,
    period: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    ordered: bool = False,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
    missing: Missing = "raise",
    rules: Sequence[Any] = (),
    cells: int | None = None,
    time: None = None,
) -> Ledger:
    """Condense cases to a ledger: forecast tables by model, event and key, and moments of losses.

    All results of the package about several models, groups or days are functions of the ledger. Ledgers are small, can
    be added, and are stored as plain Parquet files. An engine fills one in at most three queries, whatever the number
    of models, classes, rules and keys: one counts the rows of each key, one makes the tables, one the moments.

    Parameters
    ----------
    y_true, forecasts, outcome, by, cluster, period, sample_weight, ordered, pos_label, labels, missing, time
        The cases, or what describes them; see `propriety.cases`. Beside cases, `by` names those of their keys that are
        kept, by default all.
    counts : array-like of shape (n,), or str with a frame, optional
        Number of equal cases that each row stands for, as in a table of counts by forecast, outcome and key. The ledger
        is that of all these cases, without weights. The rows are read into memory.
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
    refuse_time(time)
    if isinstance(rules, Rule):
        raise InputTypeError("rules must be a list of rules", hint=f"pass [{rules!r}].")
    asked: list[Any] = [
        getattr(one, "rule", None) or one for one in (rules if isinstance(rules, Sequence) else [rules])
    ]
    for rule in asked:
        check_rule(rule)
    reading: dict[str, Any] = {"outcome": outcome, "cluster": cluster, "period": period, "counts": counts}
    reading |= {"sample_weight": sample_weight, "ordered": ordered, "pos_label": pos_label, "labels": labels}
    ledger = open_ledger(y_true, forecasts, by=by, cells=cells, rules=asked, **reading, missing=missing)
    ledger.fill([*usual_rules(ledger.kind), *asked])
    if cells is not None:
        return ledger.grid(cells)
    for model in ledger.models:
        for event in ledger.events:
            ledger.keyed_tables(model, event)
    return ledger


def at_prevalence(ledger: Ledger, prevalence: float) -> Ledger:
    r"""Return the ledger in which events and non-events are weighted so that a given share of the weight is events.

    With the weights E of the events, N of the non-events and W = E + N, every event is weighted by
    :math:`\pi W / E` and every non-event by :math:`(1 - \pi) W / N`. Scores, net benefit, observed/expected and every
    curve are then those of a population with the event rate :math:`\pi`, provided that the forecasts of events are
    distributed there as they are here, and those of non-events too (label shift). This holds for cases sampled by
    outcome, such as a case-control study, and the population they were sampled from.

    Parameters
    ----------
    ledger : Ledger
        Cases of one event, from `propriety.condense`.
    prevalence : float
        The event rate of the population, strictly between 0 and 1.

    Returns
    -------
    Ledger
        What `estimate`, `compare`, `slices` and `evaluate` read; its ``.table()`` is what curves read.

    Notes
    -----
    The event rate is fixed, so standard errors of independent cases are those of two samples, the events and the
    non-events. This holds for means, skill and measures with an influence function, and for their differences between
    models. A score of rare events depends on a few non-events with high forecasts, which a small sample may lack, so
    that errors other than that of the AUC are at least those at fitted event rates (`fitted_error`); for differences
    between models this needs the cases. Intervals with clusters or periods, of parts of a score, by bootstrap, and of
    groups treat the weights as those of any other cases, which makes them too wide rather than too narrow.

    In `studies/prevalence.py`, with a prevalence of 2% and 100 to 1,000 events, the coverage of 95% intervals was 94 to
    98% for scores, net benefit, observed/expected, AUC and calibration slope, and 97 to 99% for the difference of two
    Brier scores. With 100 events and 200 non-events whose event rate is far from a logistic function of the forecast,
    it was 90% for the Brier score, 89% for the difference, and 94 to 96% for the others.

    A weighted ledger cannot be stored: store the ledger as it is, and weight it after reading.

    Only the weights change. Forecasts made for another event rate are then miscalibrated;
    `propriety.prior_correction` gives the corrected ones.

    Examples
    --------
    >>> import propriety as pr
    >>> ledger = condense([1, 1, 0, 0], [0.1, 0.6, 0.1, 0.6], counts=[20, 80, 60, 40])
    >>> rare = at_prevalence(ledger, 0.01)
    >>> round(rare.table().event_rate, 6), rare.n
    (0.01, 200)
    >>> pr.estimate(rare, measure=pr.measures.AreaUnderRoc()).value == pr.roc_curve(ledger).auc
    True
    """
    checks.number(prevalence, "prevalence", above=0.0, below=1.0)
    checks.instance(ledger, "ledger", Ledger, "a Ledger", hint="pass propriety.condense(y_true, forecasts).")
    if ledger.labels is not None:
        raise InputValueError(f"must hold one event; it holds {len(ledger.labels)} classes", argument="ledger")
    if ledger.censoring is not None:
        raise InputValueError(demands.KNOWN_OUTCOMES, argument="ledger")
    table = ledger.table(ledger.models[0])
    events, others = float(table.events.sum()), float(table.non_events.sum())
    if not (events > 0.0 and others > 0.0):
        absent = "non-events" if events > 0.0 else "events"
        raise InputValueError(f"must hold events and non-events; it holds no {absent}", argument="ledger")
    factors = (1.0 - prevalence) * (events + others) / others, prevalence * (events + others) / events
    if isinstance(ledger.source, Cases):
        found = Ledger.of_source(_weighted(ledger.source, *factors), ledger.events)
        return replace(found, prevalence=float(prevalence))
    return replace(
        ledger,
        prevalence=float(prevalence),
        is_weighted=True,
        source=None if ledger.source is None else _weighted_lazily(ledger.source, *factors),
        _tables={place: _weighted_tables(ledger.keyed_tables(*place), *factors) for place in ledger._tables},  # noqa: SLF001  (a ledger made of a ledger)
        _whole={},
        _moments={rule: _weighted_moments(ledger.moments(rule), *factors) for rule in ledger.rules},
        _collected={},
    )


def _weighted(cases: Cases, other: float, event: float) -> Cases:
    weight = np.where(cases.outcomes(), event, other)
    own = cases.weights()
    return replace(cases, weight=weight if own is None else weight * own)


def _weighted_lazily(cases: LazyCases, other: float, event: float) -> LazyCases:
    weight = other + (event - other) * cases.happened(Event("event"))
    weight = weight * nw.col("weight") if cases.weighted else weight
    return replace(cases, frame=cases.frame.with_columns(weight=weight), weighted=True)


def _weighted_tables(tables: KeyedTables, other: float, event: float) -> KeyedTables:
    return replace(
        tables,
        events=event * tables.events,
        non_events=other * tables.non_events,
        event_squares=event**2 * tables.event_squares,
        non_event_squares=other**2 * tables.non_event_squares,
    )


def _weighted_moments(moments: Moments, other: float, event: float) -> Moments:
    factor = np.where(np.array(moments.index.column(OUTCOME)) == 1, event, other)
    powers = {"weight": 1, "weight_squares": 2, "lean": 2, "spread": 2}
    scaled = {}
    for name, power in powers.items():
        values = getattr(moments, name)
        scaled[name] = values * (factor**power if values.ndim == 1 else (factor**power)[:, None])
    pairs = moments.pair_sums
    if pairs is not None:
        pairs = pairs.weighted(np.where(np.array(pairs.index.column(OUTCOME)) == 1, event, other))
    return replace(moments, **scaled, pair_sums=pairs)
