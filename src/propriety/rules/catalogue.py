"""Every rule of the package, in one literal tuple; the tests check each declared property of each rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar

from propriety.errors import InputValueError, UnsupportedOperationError
from propriety.rules.class_rules import (
    Misclassification,
    PenalizedBrier,
    PenalizedLog,
    RankedLog,
    RankedProbability,
    SquaredAbsoluteRankedProbability,
)
from propriety.rules.families import (
    BetaRegret,
    BoundedBrier,
    BoundedLog,
    BoundedNetBenefit,
    Brier,
    Elementary,
    Log,
    Pseudospherical,
    ShiftedBrier,
    Spherical,
    Tsallis,
)
from propriety.rules.rule import Rule

RULES: tuple[Rule, ...] = (
    Brier(),
    Brier(scale="half"),
    Log(),
    Log(clip=0.05),
    Spherical(),
    Pseudospherical(order=3.0),
    Tsallis(order=1.5),
    Misclassification(),
    Elementary(threshold=0.3),
    BoundedBrier(low=0.05, high=0.2),
    BoundedBrier(low=0.2, high=0.8, normalize="width"),
    BoundedLog(low=0.05, high=0.2),
    BoundedLog(low=0.0, high=1.0, normalize="none"),
    BoundedNetBenefit(low=0.05, high=0.2),
    BetaRegret(alpha=2.0, beta=8.0),
    ShiftedBrier(mu=0.2),
    ShiftedBrier(mu=0.2, weighted=False),
    PenalizedBrier(),
    PenalizedBrier(ties="first"),
    PenalizedBrier(ties="correct"),
    PenalizedLog(),
    PenalizedLog(ties="first"),
    PenalizedLog(ties="correct"),
    RankedProbability(),
    SquaredAbsoluteRankedProbability(),
    RankedLog(),
)
_OWN: dict[str, type[Rule]] = {}


@dataclass(frozen=True, slots=True, repr=False)
class UnknownRule(Rule):
    """A rule of which only the name was stored, because its class is not registered."""

    name: ClassVar[str] = "unknown"
    label: ClassVar[str] = "score of an unknown rule"

    text: str

    def __repr__(self) -> str:
        return self.text

    def loss(self, *_: Any, **__: Any) -> Any:
        """Raise an error, because the formula is not known."""
        law = f"the formula of {self.text} is not known here"
        raise UnsupportedOperationError(law, hint="call propriety.register_rule with its class first.")


def register_rule(rule: type[Rule]) -> type[Rule]:
    """Register your own rule under the name of its class, so that stored results can be read back.

    It can be used as a decorator. A rule is stored as the name of its class and its parameters, so it must be a
    dataclass.

    Parameters
    ----------
    rule : type
        The class of the rule.

    Returns
    -------
    type
        The same class.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import propriety as pr
    >>> @register_rule
    ... @dataclass(frozen=True, slots=True, repr=False)
    ... class Absolute(pr.BinaryRule):
    ...     def loss(self, p, *, event, ops=None):
    ...         return 1 - p if event else p
    >>> rule_from_dict(rule_to_dict(Absolute()))
    Absolute()
    """
    if not (isinstance(rule, type) and issubclass(rule, Rule) and is_dataclass(rule)):
        raise InputValueError("must be the class of a rule that is a dataclass", argument="rule", got=rule)
    if _own_rules().get(rule.__name__, rule) is not rule:
        law = f"must not have the name of a rule of propriety, {rule.__name__}, by which stored ledgers find it"
        raise InputValueError(law, argument="rule", hint="rename the class.")
    _OWN[rule.__name__] = rule
    return rule


def rule_to_dict(rule: Rule) -> dict[str, Any]:
    """Return the name of the rule's class and the parameters that differ from their defaults."""
    parameters: dict[str, Any] = {}
    if is_dataclass(rule):
        given = {field.name: getattr(rule, field.name) for field in fields(rule)}
        parameters = {field.name: given[field.name] for field in fields(rule) if given[field.name] != field.default}
    if isinstance(rule, UnknownRule):
        return {"name": rule.text, "parameters": {}}
    return {"name": type(rule).__name__, "parameters": parameters}


def rule_from_dict(data: Mapping[str, Any]) -> Rule:
    """Return the stored rule; if its class is unknown, a rule with its name only.

    Examples
    --------
    >>> from propriety.rules.families import BoundedBrier
    >>> rule_from_dict(rule_to_dict(BoundedBrier(low=0.05, high=0.2)))
    BoundedBrier(low=0.05, high=0.2)
    """
    if not isinstance(data, Mapping):
        raise InputValueError("a stored rule must have a name and parameters", got_type=data)
    name, parameters = data.get("name"), data.get("parameters")
    if not isinstance(name, str) or not isinstance(parameters, Mapping):
        raise InputValueError(f"a stored rule must have a name and parameters; got {dict(data)!r}")
    known = _OWN.get(name) or _own_rules().get(name)
    if known is None:
        given = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
        return UnknownRule(name if "(" in name else f"{name}({given})")
    try:
        found = known(**parameters)
        hash(found)  # Moments are looked up by their rule.
    except TypeError as error:
        law = f"the parameters of {name} must be those of its class; got {dict(parameters)!r}"
        raise InputValueError(law) from error
    return found


@cache
def _own_rules() -> dict[str, type[Rule]]:
    from propriety.rules.functions import FUNCTIONS

    return {type(rule).__name__: type(rule) for rule in RULES} | {one.__name__: one for one in FUNCTIONS}
