"""`censored`: outcomes by a horizon that are unknown for cases whose follow-up ended before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety import checks, demands
from propriety.checks import is_number
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.result import Floats, Result
from propriety.tables import laws
from propriety.tables.arguments import check_indices, numbers_of
from propriety.tables.arrays import Reading, missing_cases, read_array, read_forecasts
from propriety.tables.censoring import Censoring, FollowUp, censoring_curves, dependence_p_value
from propriety.tables.keys import Keys, code_keys
from propriety.tables.laws import weighted_quantile

FIFTHS = 5
WEIGHTS_HINT = "for known weights, pass a function that returns the probabilities of being uncensored."
LANDMARK = "restart the clock: use the time since entry, with forecasts made at entry."
# How arguments are read if not as numbers of shape (n,).
READERS: Mapping[str, Callable[[object, str], Reading]] = {
    "groups": partial(read_array, role="keys"),
    "forecast": read_forecasts,
}


class KnownOutcomes(NamedTuple):
    """Outcomes by one horizon, with weights.

    Parameters
    ----------
    outcome : ndarray of bool, of shape (n,)
        Whether the event happened by the horizon; False if that is not known.
    weight : ndarray of shape (n,)
        Weight of each case, times its sample weight; 0 if its outcome is not known.
    censoring : Censoring
        What errors need to know about the weights.
    """

    outcome: NDArray[np.bool_]
    weight: Floats
    censoring: Censoring


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CensoredOutcomes(Result):
    """Whether the event happened by each horizon, with censored cases; see `propriety.censored`.

    With one horizon, it takes the place of `y_true` in every function of predictions. ``numpy.asarray`` of it is 1, 0,
    or NaN for an unknown outcome.

    Parameters
    ----------
    horizon : ndarray of shape (horizons,)
        The horizons.
    events, competing, censored, event_free : ndarray of int, of shape (horizons,)
        Number of cases with the event by the horizon, with a competing event by then, censored before it, and still
        followed up without any event.
    event_probability : ndarray of shape (horizons,)
        Probability of the event by the horizon: that of Kaplan and Meier, or of Aalen and Johansen if events compete.
    largest_weight : ndarray of shape (horizons,)
        Largest weight of a case, without its sample weight.
    n : int
        Number of cases.
    """

    horizon: Floats
    events: NDArray[np.int64]
    competing: NDArray[np.int64]
    censored: NDArray[np.int64]
    event_free: NDArray[np.int64]
    event_probability: Floats
    largest_weight: Floats
    n: int
    known: tuple[KnownOutcomes, ...] = field(metadata={"hidden": True})
    follow_up: FollowUp = field(metadata={"hidden": True})
    tests_dependence: bool = field(default=True, metadata={"hidden": True})
    index: Any = field(default=None, metadata={"hidden": True})

    def at(self, horizon: float) -> CensoredOutcomes:
        """Return the outcomes by one of the horizons."""
        places = np.flatnonzero(self.horizon == horizon) if is_number(horizon) else np.array([], dtype=np.intp)
        if not len(places):
            checks.choice(horizon, "horizon", self.horizon.tolist())
        one = slice(int(places[0]), int(places[0]) + 1)
        columns: dict[str, Any] = {name: column[one] for name, column in self.columns().items()}
        return replace(self, **columns, known=self.known[one])

    def only(self) -> KnownOutcomes:
        """Return the outcomes by the only horizon."""
        if len(self.horizon) > 1:
            hint = f"pass .at({self.horizon[0]:g}), or all horizons to horizon_curve."
            raise InputValueError(f"one horizon is needed; there are {len(self.horizon)}", hint=hint)
        return self.known[0]

    @property
    def sample_weight(self) -> Floats | float:
        """Sample weight of each case; 1 if none were given."""
        return 1.0 if self.follow_up.weight is None else self.follow_up.weight

    def dependence(self, y_proba: ArrayLike) -> float:
        """Return the p-value of Cox's score test of whether censoring before the last horizon depends on a forecast.

        If it is small, weights that ignore the forecast are biased: pass the forecast to `propriety.censored`.
        """
        reading = read_forecasts(y_proba)
        forecast = _numbers(reading)
        _check_shape(forecast, "y_proba", self.n)
        check_indices(Reading("the outcomes", forecast, index=self.index), reading)
        return dependence_p_value(self.follow_up, forecast, float(self.horizon.max()))

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        """Return 1, 0, or NaN for an unknown outcome, by the only horizon."""
        known = self.only()
        return np.where(known.weight > 0.0, known.outcome, np.nan).astype(dtype or np.float64)

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"n": self.n}
        if len(self.horizon) == 1:
            return facts | {name: column[0] for name, column in self.columns().items() if column[0] or name == "events"}
        return facts | {"horizons": self.horizon.tolist()}


def censored(
    time: ArrayLike,
    event: ArrayLike,
    *,
    horizons: float | Sequence[float],
    competing: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    forecast: ArrayLike | None = None,
    weights: Literal["km"] | Callable[[Floats], ArrayLike] = "km",
    entry: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CensoredOutcomes:
    r"""Make outcomes "the event happened by the horizon" from follow-up that is censored for some cases.

    The result takes the place of `y_true`. The outcome by the horizon t is known for cases with an event by t, or
    followed up until t. A known case i stands for the censored ones by its weight

    .. math:: W_i = 1 / \hat G(\min(T_i, t)-) ,

    with the Kaplan-Meier estimate :math:`\hat G` of the probability of being uncensored.

    Parameters
    ----------
    time, event : array-like of shape (n,)
        Time at which follow-up ended, and whether it ended with the event, as 0/1 or booleans.
    horizons : float or sequence of float
        The times by which the event is forecast, none of them after the last `time` of all cases.
    competing : array-like of shape (n,), optional
        Whether it ended with another event, after which the event can no longer happen. Such a case has the outcome 0.
    groups : array-like of shape (n,), optional
        Groups that differ in how soon cases are censored; each has its own censoring curve.
    forecast : array-like of shape (n,), optional
        A forecast on which censoring depends; each fifth of it has its own censoring curve, within `groups` if given.
        To compare models, pass the same forecast for all of them.
    weights : "km" or callable
        A function of one time per case that returns the probability of being uncensored just before it, such as that of
        a regression model. Such weights are treated as known.
    entry : array-like of shape (n,), optional
        Time at which follow-up began. Only 0 is supported: cases that enter later are rejected with an error.
    sample_weight : array-like of shape (n,), optional
        Positive sample weights, which also weight the censoring curve and the fifths of `forecast`.

    Returns
    -------
    CensoredOutcomes
        One row per horizon. With several horizons, `at(horizon)` selects one.

    Notes
    -----
    **Censoring must be independent of the outcome within the groups.** If cases with a high forecast are censored
    sooner and the groups ignore it, scores are biased; the notes of most analyses report a test of this. Pass `cluster`
    to the function that takes the outcomes. Ties, limits and simulations: `docs/reference/methods.md`.

    References
    ----------
    Graf et al. (1999), doi:10.1002/(SICI)1097-0258(19990915/30)18:17/18<2529::AID-SIM274>3.0.CO;2-5; Gerds & Schumacher
    (2006), doi:10.1002/bimj.200610301; Blanche, Dartigues & Jacqmin-Gadda (2013), doi:10.1002/sim.5958.

    Examples
    --------
    >>> time, event = [1, 2, 3, 4, 5, 6], [1, 0, 1, 0, 1, 0]
    >>> outcome = censored(time, event, horizons=4.5)
    >>> outcome.events[0], outcome.censored[0], outcome.event_free[0]
    (np.int64(2), np.int64(2), np.int64(2))
    >>> round(float(outcome.event_probability[0]), 4)
    0.375
    """
    options = {"competing": competing, "groups": groups, "forecast": forecast, "entry": entry}
    given = _readings(time, event, options | {"sample_weight": sample_weight})
    follow_up, happened, other = _follow_up(given)
    asked = _horizons(horizons)
    own = _sample_weights(given["sample_weight"]) if "sample_weight" in given else None
    keys = _strata(given, np.ones(len(happened)) if own is None else own)
    follow_up = follow_up._replace(group=keys.codes, groups=len(keys), weight=own)
    known, rows = [], []
    for horizon in asked:
        one = _known(follow_up, happened, horizon, keys, weights)
        weight, by_then = one.weight, (follow_up.time <= horizon) & ~follow_up.censored
        known.append(one)
        rows.append(
            {
                "events": int(np.count_nonzero(one.outcome)),
                "competing": int(np.count_nonzero(by_then & other)),
                "censored": int(np.count_nonzero(weight == 0.0)),
                "event_free": int(np.count_nonzero((weight > 0.0) & ~by_then)),
                "event_probability": float(weight @ one.outcome / weight.sum()),
                "largest_weight": float((weight if own is None else weight / own).max()),
            }
        )
    columns: dict[str, Any] = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    n = len(happened)
    return CensoredOutcomes(
        horizon=np.array(asked),
        **columns,
        n=n,
        known=tuple(known),
        follow_up=follow_up,
        tests_dependence=isinstance(weights, str),
        index=next((one.index.copy(deep=True) for one in given.values() if one.index is not None), None),
    )


def _readings(time: object, event: object, options: Mapping[str, object]) -> dict[str, Reading]:
    """Read the arguments that are given, and check that their rows belong together."""
    given = {"time": time, "event": event} | {name: one for name, one in options.items() if one is not None}
    found = {name: READERS.get(name, read_array)(values, name) for name, values in given.items()}
    for name in list(found)[1:]:
        _check_shape(found[name].values, name, len(found["time"].values))
    check_indices(*found.values())
    return found


def _known(
    cases: FollowUp,
    happened: NDArray[np.bool_],
    horizon: float,
    keys: Keys,
    weights: Literal["km"] | Callable[[Floats], ArrayLike],
) -> KnownOutcomes:
    """Return the outcomes by a horizon with their weights."""
    outcome = happened & (cases.time <= horizon)
    is_known = (cases.time >= horizon) | ~cases.censored
    own = 1.0 if cases.weight is None else cases.weight
    last = float(cases.time.max())
    if last < horizon and cases.censored.any():
        # The curves do not show this if the last case had an event.
        raise laws.beyond_follow_up("horizons", horizon, last)
    if callable(weights):
        until = np.minimum(cases.time, horizon)
        uncensored = numbers_of(read_array(weights(until), "weights"), None).astype(np.float64)
        _check_shape(uncensored, "weights", len(outcome))
        if not ((uncensored > 0.0) & (uncensored <= 1.0))[is_known].all():
            raise InputValueError("must return probabilities above 0 and at most 1", argument="weights")
        weight = np.where(is_known, own, 0.0) / np.where(is_known, uncensored, 1.0)
        return KnownOutcomes(outcome, weight, Censoring.known(cases, ~is_known, horizon))
    if not isinstance(weights, str) or weights != "km":
        offender = f"got {weights!r}" if isinstance(weights, str) else f"got {type(weights).__name__}"
        hint = "pass competing= for the Aalen-Johansen estimate." if isinstance(weights, str) else WEIGHTS_HINT
        raise InputValueError('must be "km" or a function', argument="weights", offender=offender, hint=hint)
    curves = censoring_curves(cases, horizon)
    if curves.exhausted >= 0:
        last = float(cases.time[cases.group == curves.exhausted].max())
        raise laws.beyond_follow_up("horizons", horizon, last, group=repr(keys.labels[curves.exhausted]))
    weight = np.where(is_known, own, 0.0) / curves.uncensored[curves.slot]
    free = is_known & ~((cases.time <= horizon) & ~cases.censored)
    followed = int(np.bincount(cases.group[free], minlength=cases.groups).min())
    return KnownOutcomes(outcome, weight, Censoring.of_curves(curves, cases, ~is_known, horizon, followed))


def _sample_weights(reading: Reading) -> Floats:
    values = _numbers(reading)
    wrong = ~(np.isfinite(values) & (values > 0.0))
    if wrong.any():
        law, hint = "must be finite and positive", "leave out cases with a weight of 0."
        laws.refuse("sample_weight", law, wrong, values, None, hint=hint)
    return values


def _follow_up(given: Mapping[str, Reading]) -> tuple[FollowUp, NDArray[np.bool_], NDArray[np.bool_]]:
    """Check the follow-up; return it, the events and the competing events."""
    if given["time"].values.dtype == np.bool_:
        hint = Wording("are {time} and {event} swapped?")
        raise InputTypeError(demands.NUMBERS, argument="time", offender="got booleans", hint=hint)
    times = _numbers(given["time"])
    wrong = ~(np.isfinite(times) & (times >= 0.0))
    if wrong.any():
        laws.refuse("time", demands.WEIGHT, wrong, times, None, hint="count the time from the forecast.")
    happened = _flags(given["event"])
    other = _flags(given["competing"]) if "competing" in given else np.zeros_like(happened)
    if (happened & other).any():
        row = int(np.argmax(happened & other))
        law = "a case must end with the event or with a competing one, not with both"
        raise InputValueError(law, offender=f"row {row} has both")
    if "entry" in given and (entries := _numbers(given["entry"])).any():
        law = "must be 0: cases that enter late are not supported, because they are missing from earlier risk sets"
        offender = f"row {int(np.argmax(entries != 0.0))} enters at {entries[np.argmax(entries != 0.0)]:g}"
        raise InputValueError(law, argument="entry", offender=offender, hint=LANDMARK)
    whole = np.zeros(len(times), dtype=np.intp)
    return FollowUp(times, ~(happened | other), whole, 1), happened, other


def _numbers(reading: Reading) -> Floats:
    absent = missing_cases(reading)
    if absent.any():
        laws.refuse_missing(reading.argument, absent, hint=demands.CENSORED_MISSING_HINT)
    values = numbers_of(reading, None).astype(np.float64)
    if not values.size:
        raise InputValueError(demands.SOME_CASE, argument=reading.argument, offender="it is empty")
    if values.ndim != 1:
        offender = f"got shape {values.shape}"
        raise InputValueError(demands.ONE_COLUMN, argument=reading.argument, offender=offender)
    return values


def _flags(reading: Reading) -> NDArray[np.bool_]:
    numbers = _numbers(reading)
    wrong = (numbers != 0.0) & (numbers != 1.0)
    if wrong.any():
        row = int(np.argmax(wrong))
        hint = "pass event=(status == 1) and competing=(status == 2) if one column holds both."
        offender = f"row {row} is {numbers[row]:g}"
        raise InputValueError("must hold 0 and 1, or booleans", argument=reading.argument, offender=offender, hint=hint)
    return np.asarray(numbers == 1.0)


def _check_shape(values: NDArray[Any], argument: str, n: int) -> None:
    if values.shape != (n,):
        law = Wording("must have one entry per case, as {time} has")
        raise InputValueError(law, argument=argument, offender=f"got shape {values.shape}, not ({n},)")


def _horizons(horizons: object) -> list[float]:
    given: list[Any] = np.asarray(horizons).reshape(-1).tolist() if isinstance(horizons, np.ndarray) else [horizons]
    given = list(horizons) if isinstance(horizons, Sequence) else given
    if not given or not all(is_number(one) and 0.0 < float(one) < np.inf for one in given):
        raise InputTypeError("must be one or more positive numbers", argument="horizons", got=horizons)
    if sorted(set(given)) != given:
        raise InputValueError("must increase", argument="horizons", offender=f"got {given}")
    return [float(one) for one in given]


def _strata(given: Mapping[str, Reading], weight: Floats) -> Keys:
    """Return the groups with a censoring curve of their own: given ones, fifths of a forecast, or both."""
    n = len(weight)
    keys = Keys(("all",), np.zeros(n, dtype=np.intp))
    if "groups" in given:
        absent = missing_cases(given["groups"])
        if absent.any():
            laws.refuse_missing("groups", absent, hint=demands.CENSORED_MISSING_HINT)
        keys = code_keys(given["groups"].values, "groups")
    if "forecast" not in given:
        return keys
    values = _numbers(given["forecast"])
    fifth = np.searchsorted(weighted_quantile(values, weight, np.arange(1, FIFTHS) / FIFTHS), values, side="left")
    names = [f"fifth {place + 1}" for place in range(FIFTHS)]
    labels = tuple(name if len(keys) == 1 else f"{label}, {name}" for label in keys.labels for name in names)
    return Keys(labels, keys.codes * FIFTHS + fifth).where(np.ones(n, dtype=bool))


def check_known(y_true: object, *, hint: str = "") -> None:
    """Raise an error for censored outcomes, where outcomes must be known."""
    if isinstance(y_true, CensoredOutcomes) or getattr(y_true, "censoring", None) is not None:
        raise InputTypeError(demands.KNOWN_OUTCOMES, argument="y_true", hint=hint)
