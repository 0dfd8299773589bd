"""What is monitored, and the sums of each period that evidence is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from propriety.errors import UNDEFINED, InputValueError
from propriety.inference.measures.line import CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import MeanScore
from propriety.inference.measures.ratios import ObservedExpected
from propriety.inference.verdict import AREA_MARGIN, AREAS, MARGINS, SCORE_MARGIN
from propriety.ledger.keyed_tables import KeyedTables
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.rules.rule import Rule

Ints = NDArray[np.int64]
Kind = Literal["ratio", "slope", "mean", "pair", "value"]
CALIBRATION: tuple[Measure, ...] = (ObservedExpected(), CalibrationSlope())
KINDS: dict[str, Kind] = {"observed_expected": "ratio", "calibration_slope": "slope"}


class Stream(NamedTuple):
    """What is monitored: a measure of a model, or its difference to another model, for one combination of keys."""

    measure: str
    model: str
    against: str | None
    labels: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A measure that is monitored, and what is claimed of it.

    Parameters
    ----------
    measure : Measure
        The measure.
    kind : {"ratio", "slope", "mean", "pair", "value"}
        How its sums are made.
    claim : float, optional
        The value that is ideal, or was stated; None for that of the periods before the change.
    margin : float
        The largest departure that does not matter, in units of the measure.
    of_no_model : bool
        Whether the margin is a share of the score of the constant event rate.
    """

    measure: Measure
    kind: Kind
    claim: float | None
    margin: float
    of_no_model: bool = False

    @property
    def worse(self) -> int:
        """The direction that raises an alarm: 1 if higher is worse, -1 if lower is, and 0 if both are."""
        higher_is_better = self.measure.higher_is_better
        return 0 if self.kind in ("ratio", "slope") or higher_is_better is None else -1 if higher_is_better else 1

    @property
    def directions(self) -> tuple[str, str]:
        """What is said if the value is higher, and if it is lower, than was claimed."""
        named = {"ratio": ("too low", "too high"), "slope": ("too timid", "too extreme")}
        if self.kind in named:
            return named[self.kind]
        return {1: ("worse", "better"), -1: ("better", "worse"), 0: ("higher", "lower")}[self.worse]


def questions_of(
    measures: Sequence[Measure], rule: Rule | None, stated: Mapping[str, float], margin: float | None, models: int
) -> tuple[Question, ...]:
    """Return what is asked of each model, and of each pair of models under a rule."""
    unknown = next((key for key in stated if key not in [one.key for one in measures]), None)
    if unknown is not None:
        law = "must state values of the measures that are monitored, by their short names"
        raise InputValueError(law, argument="stated", got=unknown)
    asked = [_question(one, stated.get(one.key), margin) for one in measures]
    if rule is not None and models > 1:
        asked.append(Question(MeanScore(rule), "pair", 0.0, SCORE_MARGIN if margin is None else margin, margin is None))
    return tuple(asked)


def _question(measure: Measure, stated: float | None, margin: float | None) -> Question:
    kind = KINDS.get(measure.key, "value" if measure.sign is None else "mean")
    claim = stated if stated is not None else measure.ideal
    known = MARGINS.get(measure.key)
    usual = AREA_MARGIN if measure.key in AREAS else SCORE_MARGIN if kind == "mean" else 0.0
    if known is not None and not known.of_no_model:
        usual = known.near[1] - known.ideal
    return Question(measure, kind, claim, usual if margin is None else margin, kind == "mean" and margin is None)


@dataclass(frozen=True, slots=True, eq=False)
class PeriodRows:
    """The sums of streams and periods, one row each, in the order of the periods.

    Parameters
    ----------
    period, question, entry, stream : ndarray of int
        Position of the period among the labels, of the question, of the tables of the ledger, and of the stream among
        `streams`.
    n, events : ndarray
        Cases, and events among them.
    total, exposure : ndarray
        Sums whose ratio is the value: of events and forecasts, or of losses and cases.
    variance : ndarray
        Variance of the total if cases are independent; NaN if it is to be learnt from `spread` over `df` of all
        periods.
    spread, df : ndarray
        Sum of squares of single cases about their mean, and its degrees of freedom.
    certain : ndarray
        Number of forecasts of 0 or 1, but for 1e-12, that were wrong.
    """

    streams: list[Stream]
    period: Ints
    question: Ints
    entry: Ints
    stream: Ints
    n: Ints
    events: Floats
    total: Floats
    exposure: Floats
    variance: Floats
    spread: Floats
    df: Floats
    certain: Floats


def period_rows(ledger: Ledger, period: str, questions: Sequence[Question]) -> PeriodRows:
    """Return the sums of all streams of a ledger; a stream without a value in a period has no row."""
    others = tuple(name for name in ledger.index.names if name != period)
    index, own = ledger.index.only(others)
    labels = list(zip(*(index.column(name) for name in others), strict=True)) if others else [()]
    times = ledger.index.codes[:, ledger.index.place(period)].astype(np.int64)
    streams: list[Stream] = []
    parts: list[dict[str, Any]] = []
    for place, question in enumerate(questions):
        for model, against, columns in _columns(ledger, question):
            known = (columns["exposure"] > 0.0) & np.isfinite(columns["total"]) | (columns["certain"] > 0.0)
            rows = np.flatnonzero(known)
            part = {name: column[rows] for name, column in columns.items()}
            part |= {"stream": len(streams) + own[rows], "period": times[rows]}
            part |= {"question": np.full(len(rows), place), "entry": rows}
            parts.append(part)
            streams += [Stream(question.measure.key, model, against, one) for one in labels]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.lexsort((joined["stream"], joined["period"]))
    return PeriodRows(streams=streams, **{name: one[order] for name, one in joined.items()})


def _columns(ledger: Ledger, question: Question) -> list[tuple[str, str | None, dict[str, Any]]]:
    """Return the columns of every model, or pair of models, for a question."""
    if question.kind in ("ratio", "slope"):
        of = _ratio_columns if question.kind == "ratio" else _slope_columns
        return [(model, None, of(ledger.keyed_tables(model, ledger.events[0]))) for model in ledger.models]
    if question.kind == "value":
        return [(model, None, _value_columns(ledger, question.measure, model)) for model in ledger.models]
    assert question.measure.rule is not None  # noqa: S101  (for the type checker; means are of a rule)
    moments = ledger.moments(question.measure.rule).over(*ledger.index.names)
    cells = np.argsort(ledger.index.entry_of(moments.index), kind="stable")
    events = ledger.keyed_tables(ledger.models[0], ledger.events[0]).n_events
    named: list[tuple[str, str | None]] = [(model, None) for model in ledger.models]
    first, sign = 0, question.measure.sign or 1.0
    if question.kind == "pair":
        first, sign, named = len(ledger.models), 1.0, list(moments.pairs)
    found = []
    for series, (model, against) in enumerate(named, start=first):
        n = moments.n[cells]
        mean, spread = sign * moments.mean[cells, series], moments.spread[cells, series]
        columns = _shared(n, events, n * mean, n.astype(np.float64), np.full(len(n), math.nan))
        if question.kind == "pair":  # Squares about zero, the claim; models that are the same say nothing.
            columns |= {"variance": spread + n * mean**2}
        else:
            columns |= {"spread": spread, "df": n - 1.0}
        found.append((model, against, columns))
    return found


def _shared(n: Ints, events: Any, total: Floats, exposure: Floats, variance: Floats) -> dict[str, Any]:
    zeros = np.zeros(len(n))
    shared = {"n": n, "events": np.asarray(events, dtype=np.float64), "total": total, "exposure": exposure}
    return shared | {"variance": variance, "spread": zeros, "df": zeros, "certain": zeros}


def _sums(keyed: KeyedTables) -> Any:
    return lambda values: np.bincount(keyed.entry, values, minlength=len(keyed.n)).astype(np.float64)


def _ratio_columns(keyed: KeyedTables) -> dict[str, Any]:
    p, n, summed = keyed.forecast, keyed.events + keyed.non_events, _sums(keyed)
    wrong = np.where(p <= CERTAIN, keyed.events, np.where(p >= 1.0 - CERTAIN, keyed.non_events, 0.0))
    columns = _shared(keyed.n, keyed.n_events, summed(keyed.events), summed(n * p), summed(n * p * (1.0 - p)))
    return columns | {"certain": summed(wrong)}


def _slope_columns(keyed: KeyedTables) -> dict[str, Any]:
    r"""Return one plus the score of the slope: sums of residuals times centred log-odds, by their information.

    With the information :math:`I = \sum (x - \bar x)^2 p (1 - p)`, the total is :math:`I + \sum (x - \bar x)(y - p)`.
    """
    inside = (keyed.forecast > 0.0) & (keyed.forecast < 1.0)
    p = np.where(inside, keyed.forecast, 0.5)
    summed = _sums(keyed)
    w = np.where(inside, (keyed.events + keyed.non_events) * p * (1.0 - p), 0.0)
    x = logit(p)
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = x - np.nan_to_num(summed(w * x) / summed(w))[keyed.entry]
    residual = np.where(inside, keyed.events * (1.0 - p) - keyed.non_events * p, 0.0)
    information = summed(w * centred**2)
    information = np.where(information > LEAST_INFORMATION, information, 0.0)  # Forecasts that do not differ.
    return _shared(keyed.n, keyed.n_events, information + summed(residual * centred), information, information)


LEAST_INFORMATION = 1e-9
CERTAIN = 1e-12  # Forecasts this close to 0 or 1 count as certain, because no number of cases makes them plausible.


def _value_columns(ledger: Ledger, measure: Measure, model: str) -> dict[str, Any]:
    """Return the value of a measure for the table of each entry, weighted by its cases; its variance is learnt."""
    keyed = ledger.keyed_tables(model, ledger.events[0])
    values = np.array([_value(measure, keyed, entry) for entry in range(len(keyed.n))])
    n = keyed.n.astype(np.float64)
    return _shared(keyed.n, keyed.n_events, n * values, n, n)


def _value(measure: Measure, keyed: KeyedTables, entry: int) -> float:
    try:
        return measure.value(keyed.at(entry))
    except UNDEFINED:
        return math.nan
