"""The definition of a rule: a named loss with declared properties."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, Literal, cast

from propriety import checks
from propriety.errors import InputTypeError, InputValueError
from propriety.rules.operations import NUMPY, Column, Operations

Ties = Literal["split", "first", "correct"]

HAPPENED, FAILED = cast("bool", 1), cast("bool", 0)  # Numbers, because DuckDB does not subtract booleans.


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """The properties that a rule claims; None where it claims nothing.

    Claims are tested: those of the catalogue by the test suite, those of your own rules by `propriety.audit`, which
    returns a counterexample if a claim fails.

    Parameters
    ----------
    proper : bool, optional
        No forecast has a lower expected loss than the true distribution.
    strictly_proper : bool, optional
        Every other forecast has a higher expected loss.
    local : bool, optional
        The loss depends only on the probability of the class that happened (three classes or more).
    distance_sensitive : bool, optional
        Moving probability towards the class that happened, in the order of the classes, lowers the loss
        (three classes or more).
    superior : bool, optional
        A right answer, which gives the class that happened the largest probability, always scores better than a wrong
        one, whatever happened in either case (Ahmadian et al. 2024, definition 5, arXiv:2407.17697).
    right_before_wrong : bool, optional
        A right answer always scores better than a wrong one about the same outcome. Every superior rule has this
        property; a rule that charges more for one class than for another may have it without being superior.
    best, worst : float
        Range of the loss: both bounds are reached or approached.
    ties : str, optional
        Convention if the largest probability is shared, or if the forecast equals the threshold.
    """

    proper: bool | None = None
    strictly_proper: bool | None = None
    local: bool | None = None
    distance_sensitive: bool | None = None
    superior: bool | None = None
    right_before_wrong: bool | None = None
    best: float | None = None
    worst: float | None = None
    ties: str | None = None

    def __post_init__(self) -> None:
        if self.strictly_proper and not self.proper:
            raise InputValueError("a strictly proper rule is proper; declare proper=True as well")
        if self.superior and self.right_before_wrong is False:
            raise InputValueError("a superior rule also has right_before_wrong; declare both or neither")


class Rule(ABC):
    """Base class of all rules. A rule is a loss: lower is better."""

    __slots__ = ()

    name: ClassVar[str]
    label: ClassVar[str]  # Name of its mean in a sentence.
    short: ClassVar[str]  # Name in front of "skill", and in figures.

    def __init_subclass__(cls, **options: Any) -> None:
        """Set the names of a rule that its class does not set: from the name of the class, or from the label."""
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__
        if "short" not in cls.__dict__:
            cls.short = cls.__dict__.get("label", cls.name)
        if "label" not in cls.__dict__:
            cls.label = f"{cls.name} score"

    def __repr__(self) -> str:
        """Return the name of the rule with the parameters that differ from their defaults."""
        return f"{type(self).__name__}({self._given()})"

    @property
    def short_name(self) -> str:
        """The name of the rule in figures, with the parameters that differ from their defaults."""
        given = self._given()
        return f"{self.short} ({given})" if given else self.short

    def _given(self) -> str:
        values = ((name, getattr(self, name), default) for name, default in _defaults(type(self)))
        return ", ".join([f"{name}={value!r}" for name, value, default in values if value != default])

    def stored(self) -> dict[str, Any]:
        """Return the rule as plain data, under the name of its class; see `propriety.rules.catalogue`."""
        from propriety.rules.catalogue import rule_to_dict

        return rule_to_dict(self)

    def properties(self, classes: int | None = None) -> Properties:  # noqa: ARG002  (for rules that depend on it)
        """Return the claims of the rule for rows of K classes; None is a 1-D forecast of one event."""
        return Properties()

    def units(self, classes: int | None = None) -> str:
        """Return the scale of the loss for rows of K classes; None is a 1-D forecast of one event."""
        claimed = self.properties(classes)
        return "" if claimed.worst is None else f"{claimed.best:g} to {claimed.worst:g}"


@cache
def _defaults(kind: type[Rule]) -> tuple[tuple[str, Any], ...]:
    """Return the parameters of a kind of rule and their defaults."""
    return tuple((field.name, field.default) for field in fields(kind)) if is_dataclass(kind) else ()


class BinaryRule(Rule):
    """A rule for the forecast of one event, defined by its two partial losses.

    A subclass defines `loss` with the given operations; everything else follows from it.

    Examples
    --------
    >>> import numpy as np
    >>> import propriety as pr
    >>> pr.Brier().loss(np.array([0.2, 0.9]), event=True)
    array([0.64, 0.01])
    """

    __slots__ = ()

    # Whether the difference of the losses of two forecasts is the same with the event and without it.
    is_additive: ClassVar[bool] = False
    # Whether these losses are finite, and on average equal if the event has the mean of the two forecasts, or always.
    is_even_at_mean: ClassVar[bool] = False

    @abstractmethod
    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the loss of the forecast `p` if the event happens, or if it does not."""

    @property
    def changes_between(self) -> tuple[float, float] | None:
        """The forecasts between which alone the loss changes, equal for one threshold; None if everywhere."""
        return None

    def __init_subclass__(cls, **options: Any) -> None:
        """Drop inherited facts about another `loss` if a subclass defines its own."""
        super().__init_subclass__(**options)
        for name in ("case_loss", "is_additive", "is_even_at_mean") if "loss" in cls.__dict__ else ():
            if name not in cls.__dict__:
                setattr(cls, name, getattr(BinaryRule, name))

    def case_loss(self, p: Column, event: Column, *, ops: Operations = NUMPY) -> Column:
        """Return the loss of each case; `event` says whether its event happened."""
        return ops.where(event, self.loss(p, event=HAPPENED, ops=ops), self.loss(p, event=FAILED, ops=ops))


class ClassRule(Rule):
    """A rule for rows of K probabilities and the class that happened."""

    __slots__ = ()

    @abstractmethod
    def class_loss(self, p: Sequence[Column], *, outcome: Sequence[Column], ops: Operations = NUMPY) -> Column:
        """Return the loss of a forecast in K columns, with the outcome in K columns of 0.0 and 1.0."""

    def class_case_loss(self, p: Sequence[Column], outcome: Column, *, ops: Operations = NUMPY) -> Column:
        """Return the loss of each case; `outcome` holds the index of the class that happened."""
        happened = [ops.where(outcome == k, 1.0, 0.0) for k in range(len(p))]
        return self.class_loss(p, outcome=happened, ops=ops)


@dataclass(frozen=True, slots=True, repr=False)
class _OfRows(BinaryRule):
    """A rule for classes, applied to the forecast of one event as the row (1 - p, p)."""

    rule: ClassRule

    def __repr__(self) -> str:
        return repr(self.rule)

    def properties(self, classes: int | None = None) -> Properties:
        """Return the claims of the rule."""
        return self.rule.properties(classes)

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return the loss of the row (1 - p, p)."""
        happened = p * 0.0 + float(event)
        return self.rule.class_loss([1.0 - p, p], outcome=[1.0 - happened, happened], ops=ops)


def binary_rule(rule: Rule) -> BinaryRule:
    """Return the rule for one event; a rule for classes only scores it as the row (1 - p, p).

    Examples
    --------
    >>> import numpy as np
    >>> import propriety as pr
    >>> binary_rule(pr.RankedProbability()).loss(np.array([0.25]), event=True)
    array([0.5625])
    """
    check_rule(rule)
    if isinstance(rule, BinaryRule):
        return rule
    if isinstance(rule, ClassRule):
        return _OfRows(rule)
    raise InputTypeError(f"{rule!r} must be a BinaryRule or a ClassRule")


def check_rule(rule: object) -> None:
    """Raise an error for anything that is not a rule, such as the class of a rule, or that cannot be looked up."""
    hint = "instantiate the class if you passed one."
    checks.instance(rule, "rule", Rule, "a scoring rule such as propriety.Brier()", hint=hint)
    try:
        hash(rule)
    except TypeError as error:
        hint = "make its class a frozen dataclass, with numbers, texts and tuples as parameters."
        raise InputTypeError("must be hashable", argument="rule", offender=str(error), hint=hint) from error
