"""The contract of a measure: a value of a forecast table, and what is declared of it, which nobody has to ask for."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from propriety.errors import InputValueError
from propriety.inference.notes import Note
from propriety.ledger.ledger import Ledger
from propriety.ledger.moments import Moments
from propriety.result import Floats
from propriety.rules.rule import Rule
from propriety.tables.forecast_table import ForecastTable

Scale: TypeAlias = Literal["identity", "log", "logit"]

HALF = 0.5
SCALES: dict[Scale, tuple[float, float]] = {
    "identity": (-math.inf, math.inf),
    "log": (0.0, math.inf),
    "logit": (0.0, 1.0),
}


class Influence(NamedTuple):
    """Influence of a case in each row of a table on a measure, with and without the event.

    It is the derivative of the measure in the direction of one more such case, times the number of cases; its weighted
    mean over the cases of the table is zero.

    Parameters
    ----------
    event, non_event : ndarray of shape (rows,)
        Influence of a case with the forecast of the row if the event happens, and if it does not.

    Examples
    --------
    The mean forecast moves by how far the forecast of a case is from it, whatever happens:

    >>> table = ForecastTable.from_predictions([0, 1, 1], [0.25, 0.5, 0.75])
    >>> away = table.forecast - table.mean_forecast
    >>> Influence(event=away, non_event=away).event
    array([-0.25,  0.  ,  0.25])
    """

    event: Floats
    non_event: Floats


# A jump that was neither seen nor foreseen counts 1 / (1 + DISCOUNT / N), with N the imagined number of jumps; studied
# in `studies/one_law`.
DISCOUNT = 0.2


class Imagination(NamedTuple):
    """How outcomes that have not been seen are imagined for the limits of a measure.

    Parameters
    ----------
    rate : ndarray of shape (rows,), optional
        Probability of the event in each row of the table; by default the forecast.
    skew : float
        Factor of the third moment, for a number that is no mean.
    discount : float
        How little a jump counts that was neither seen nor foreseen; 0 if it counts in full.
    edge : float
        For a measure at a threshold, the product of what one case near it can gain with the event and without it.
    differing : float, optional
        Number of cases that count; by default all.
    """

    rate: Floats | None = None
    skew: float = 1.0
    discount: float = DISCOUNT
    edge: float = 0.0
    differing: float = math.inf


class Measure:
    """A number computed from a forecast table. Your own measure sets `key` and `value`; all else has a default.

    Its interval is then computed by bootstrap. With `influence`, it has one by formula, with weights, clusters and
    periods, and a test of the difference between two models. A measure that is a function of the event rate and of
    two means is shorter as `propriety.measures.OfMeans`. `propriety.measures.check` tests what is declared.

    Attributes
    ----------
    key : str
        A short name, for columns, gates and files.
    label : str
        Name of the number in a sentence; by default the key with spaces.
    higher_is_better : bool, optional
        Whether higher values are better; None if that is not known.
    ideal : float, optional
        The best value, if values on both sides of it are worse.
    scale : {"identity", "log", "logit"}
        The scale on which limits are computed.
    range : (float, float)
        The smallest and the largest value; limits lie within.
    of_answers : bool
        Whether, for class probabilities, the event is that the most likely class was right.
    by_outcome : bool
        Whether events and non-events are two samples, as in DeLong's error.
    instead : Measure, optional
        What two models are compared by, if noise inflates this measure for each of them differently.

    Examples
    --------
    >>> class Tjur(Measure):
    ...     key = "tjur_r2"
    ...     higher_is_better = True
    ...     range = (-1.0, 1.0)
    ...
    ...     def value(self, table):
    ...         with_event, without = (w @ table.forecast / w.sum() for w in (table.events, table.non_events))
    ...         return float(with_event - without)
    >>> measure = Tjur()
    >>> measure.label, measure.value(ForecastTable.from_predictions([0, 1, 1], [0.25, 0.5, 0.75]))
    ('tjur r2', 0.375)
    """

    key: str = ""
    label: str = ""
    higher_is_better: bool | None = None
    ideal: float | None = None
    scale: Scale = "identity"
    range: tuple[float, float] = (-math.inf, math.inf)
    rule: Rule | None = None  # The function of a case of whose means the number is made; its moments are filled.
    sign: float | None = None  # 1 or -1 if the number is the mean of `rule`, or the negative mean.
    of_answers: bool = False
    threshold: float = HALF  # Of answers to forecasts of one event: the probability from which it is the event.
    by_outcome: bool = False
    takes_classes: bool = False  # Whether it is defined for class probabilities as they are.
    instead: Measure | None = None
    inverse_of: Measure | None = None  # The number of which this is the inverse, as are its limits.

    # Which of the optional methods a class defines.
    has_influence: ClassVar[bool] = False
    has_moments: ClassVar[bool] = False
    has_own_limits: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Check what is declared, and note which methods are defined."""
        cls.range = checked_range(cls.__name__, cls.scale, cls.range, cls.ideal)
        if not cls.label and isinstance(cls.key, str):
            cls.label = cls.key.replace("_", " ")
        cls.has_influence = cls.influence is not Measure.influence
        cls.has_moments = cls.of_moments is not Measure.of_moments
        cls.has_own_limits = cls.own_estimate is not Measure.own_estimate

    @property
    def filled(self) -> tuple[Rule, ...]:
        """The functions whose moments a ledger fills for it."""
        return (self.rule,) if self.has_moments and self.rule is not None else ()

    def declare(self, **facts: Any) -> None:
        """Set what depends on the parameters of a frozen dataclass, such as its key."""
        for name, fact in facts.items():
            object.__setattr__(self, name, fact)

    def value(self, table: ForecastTable) -> float:
        """Return the number for a table."""
        raise NotImplementedError(f"{type(self).__name__} must define value(table)")

    def influence(self, table: ForecastTable) -> Influence:
        """Return the influence of cases on the number; its weighted mean over the table is zero."""
        raise NotImplementedError(f"{type(self).__name__} does not define influence(table)")

    def of_moments(self, moments: Moments, classes: int | None) -> Moments:
        """Return the moments of contributions whose mean is the number, from the moments of `rule`."""
        raise NotImplementedError(f"{type(self).__name__} does not define of_moments(moments)")

    def own_estimate(self, ledger: Ledger, model: str, *, level: float, drawing: Any) -> Any:
        """Return a `Finding` with limits of its own, where those of other measures would not be valid."""
        raise NotImplementedError(f"{type(self).__name__} does not define own_estimate(...)")

    def has_formula(self, classes: int | None) -> bool:
        """Whether limits follow from a formula; otherwise they are drawn."""
        del classes
        return self.has_influence or self.has_own_limits

    def range_of(self, classes: int | None) -> tuple[float, float]:
        """Return the smallest and the largest value, which may depend on the number of classes."""
        del classes
        return self.range

    def imagination(self, table: ForecastTable) -> Imagination | None:
        """Return how outcomes that have not been seen are imagined for its limits; None if they are not."""
        del table
        return Imagination()

    def least_limits(self, table: ForecastTable, value: float, level: float) -> tuple[float, float]:
        """Return limits that an interval contains at least; NaN if there are none."""
        del table, value, level
        return math.nan, math.nan

    def error_of_independent(self, table: ForecastTable, variance_of: Any = None) -> float:
        """Return the standard error for independent cases, if it is not that of the influence; NaN if it is."""
        del table, variance_of
        return math.nan

    def caveat(self, table: ForecastTable) -> Note | None:
        """Return a note on why an interval may not be reliable; None if it is."""
        del table
        return None

    def left_out(self, table: ForecastTable) -> Note | None:
        """Return a note on the cases that the number leaves out; None if none."""
        del table
        return None


def checked_range(name: str, scale: Scale, given: tuple[float, float], ideal: float | None) -> tuple[float, float]:
    """Return the range of a measure, by default that of its scale, after checking that scale and ideal fit it.

    Examples
    --------
    >>> checked_range("ratio", "log", Measure.range, 1.0)
    (0.0, inf)
    """
    low, high = SCALES[scale]
    if given == Measure.range:
        given = low, high
    if not low <= given[0] <= given[1] <= high:
        law = f"the range of {name} must lie in [{low:g}, {high:g}], the numbers on the {scale} scale"
        raise InputValueError(law, got=given)
    if ideal is not None and not given[0] <= ideal <= given[1]:
        raise InputValueError(f"the ideal of {name} must lie in its range {given}", got=ideal)
    return given
