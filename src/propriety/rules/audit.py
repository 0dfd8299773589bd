"""The audit of a rule: a search for violations of each declared property."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import checks
from propriety.checks import fresh_seed
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats, Result
from propriety.rules.rule import BinaryRule, ClassRule, Rule, check_rule
from propriety.rules.search import TOLERANCE, Counterexample, Search

MOST_CLASSES = 12  # The search takes about 10 s.


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of the search for one property.

    Parameters
    ----------
    name : str
        Name of the property.
    declared : bool or tuple of float, optional
        What the rule claims; None if it claims nothing. For the range, (best, worst).
    holds : bool
        Whether the search found no violation.
    counterexample : Counterexample, optional
        The clearest violation found, if any.
    """

    name: str
    declared: Any
    holds: bool
    counterexample: Counterexample | None = None

    @property
    def agrees(self) -> bool:
        """Whether the search confirms the claim, or the rule makes none."""
        return self.declared is None or bool(self.declared) == self.holds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AuditReport(Result):
    """The findings of `audit`, one per property.

    Parameters
    ----------
    rule : str
        Name of the rule.
    classes : int, optional
        Number of classes with which the rule was tried; None for one event.
    findings : tuple of Finding
        One for each property.
    """

    rule: str
    classes: int | None
    findings: tuple[Finding, ...]

    @property
    def agrees(self) -> bool:
        """Whether the search confirms every claim."""
        return all(finding.agrees for finding in self.findings)

    def __getitem__(self, name: str) -> Finding:
        """Return the finding for one property, such as ``report["proper"]``."""
        for finding in self.findings:
            if finding.name == name:
                return finding
        names = [finding.name for finding in self.findings]
        raise KeyError(f"no property {name!r} was audited; the properties are {names}.")

    def columns(self) -> dict[str, list[Any]]:
        """Columns of the tidy table: one row per property."""
        return {
            "property": [finding.name for finding in self.findings],
            "declared": [_word(finding.declared) for finding in self.findings],
            "holds": [finding.holds for finding in self.findings],
            "counterexample": [str(finding.counterexample or "") for finding in self.findings],
        }

    def __repr__(self) -> str:
        of = "one event" if self.classes is None else f"{self.classes} classes"
        lines = [f"AuditReport: {self.rule}, {of}"]
        for finding in self.findings:
            found = "holds" if finding.holds else "fails"
            line = f"  {finding.name:<19} declared {_word(finding.declared):<10} {found}"
            lines.append(f"{line}: {finding.counterexample}" if finding.counterexample else line)
        return "\n".join(lines)


def audit(
    rule: Rule,
    *,
    classes: int | None = None,
    truth: float | Sequence[float] | NDArray[Any] | None = None,
    seed: int = 0,
) -> AuditReport:
    """Search for a violation of each property that a rule can have.

    Propriety and strict propriety are tried for every truth against every report, on a grid over the simplex and at
    random points, including ties and certainties, and by local optimisation of the reports. The other properties are
    tried over all pairs of reports. A search can refute a claim but never prove it. If a rule is so flat that double
    precision cannot distinguish two forecasts, it counts as flat.

    Parameters
    ----------
    rule : Rule
        The rule: one of the package's or your own.
    classes : int, optional
        Number of classes to try the rule with, from 2 to 12. By default, a rule for one event is tried on one event,
        and any other rule on three classes.
    truth : float or sequence of float, optional
        Try only this true probability, or this distribution over the classes.
    seed : int
        Seed of the random points.

    Examples
    --------
    >>> import propriety as pr
    >>> report = pr.audit(pr.SquaredAbsoluteRankedProbability(), classes=3, truth=[1 / 3, 1 / 3, 1 / 3])
    >>> report["proper"].holds
    False
    >>> print(report["proper"].counterexample)
    truth (0.3333, 0.3333, 0.3333): (0.3333, 0.3333, 0.3333) costs 0.203704, (0, 1, 0) costs 0.166667
    >>> pr.audit(pr.Brier()).agrees
    True
    """
    check_rule(rule)
    if classes is None and not isinstance(rule, BinaryRule):
        classes = 3
    _check_classes(rule, classes)
    declared = rule.properties(classes)
    search = Search.of(rule, classes, truths=_truths(truth, classes), seed=fresh_seed(seed))
    lie = search.better_lie()
    found: dict[str, tuple[Any, Counterexample | None]] = {
        "proper": (declared.proper, lie),
        "strictly_proper": (declared.strictly_proper, lie or search.equal_lie()),
        "superior": (declared.superior, search.better_wrong_answer(declared.ties)),
        "right_before_wrong": (declared.right_before_wrong, search.better_wrong_answer(declared.ties, same=True)),
        "range": (
            _declared_range(declared.best, declared.worst),
            search.outside(declared.best, declared.worst),
        ),
    }
    if classes is not None and classes > 2:
        found["local"] = (declared.local, search.effect_of_other_classes())
        found["distance_sensitive"] = (declared.distance_sensitive, search.better_far_miss())
    findings = tuple(
        Finding(name=name, declared=claim, holds=violation is None, counterexample=violation)
        for name, (claim, violation) in found.items()
    )
    return AuditReport(rule=repr(rule), classes=classes, findings=findings)


def _declared_range(best: float | None, worst: float | None) -> tuple[float, float] | None:
    return None if best is None or worst is None else (best, worst)


def _check_classes(rule: Rule, classes: int | None) -> None:
    if classes is None:
        return
    if not isinstance(rule, ClassRule):
        raise InputValueError(f"{type(rule).__name__} scores the forecast of one event; omit classes")
    hint = "the search takes seconds with few classes, and minutes with many."
    checks.whole(classes, "classes", least=2, most=MOST_CLASSES, hint=hint)


def _truths(truth: float | Sequence[float] | NDArray[Any] | None, classes: int | None) -> Floats | None:
    if truth is None:
        return None
    try:
        given: NDArray[np.float64] = np.asarray(truth, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError("must be numbers", argument="truth", got=truth) from error
    if given.ndim == 0:
        given = np.array([1.0 - given, given])
    if given.shape != (classes or 2,) or not (given >= 0.0).all() or abs(given.sum() - 1.0) > TOLERANCE:
        law = f"must be a distribution over {classes or 2} classes"
        raise InputValueError(law, argument="truth", got=truth, hint="a single number is the probability of the event.")
    return given[None, :]


def _word(claim: object) -> str:
    if claim is None:
        return "-"
    return f"{claim[0]:g} to {claim[1]:g}" if isinstance(claim, tuple) else str(claim)
