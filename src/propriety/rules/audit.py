"""The audit of a rule: a search for violations of each declared property, and its report."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import checks, demands
from propriety.checks import fresh_seed
from propriety.errors import InputTypeError, InputValueError
from propriety.result import Floats, Result
from propriety.rules.rule import BinaryRule, ClassRule, Rule, check_rule

TOLERANCE = 1e-11  # A gain smaller than this is rounding error.
EQUAL = 1e-13  # Expected losses closer than this count as equal.
POINTS = 2000  # Largest number of points of the grid.
RANDOM_POINTS = 200
TRUTHS_REFINED = 12
CANDIDATES = 10_000
INTERIOR = 0.02
HAIR = 1e-9
HUGE = 1e300  # Replaces an infinite loss, so that it contributes 0 if its outcome has probability 0.
MOST_CLASSES = 12  # The search takes about 10 s.


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Two forecasts whose expected losses under the truth violate a property.

    Distributions are over the classes; for one event, (1 - p, p). If a property is about one outcome, the truth is that
    outcome with certainty. If it is about two, the rival has its own truth.

    Parameters
    ----------
    truth : tuple of float
        The distribution of the outcome.
    forecast, rival : tuple of float
        The forecast that should score better, and the one that should not.
    loss, rival_loss : float
        Their expected losses, each under its own truth.
    rival_truth : tuple of float, optional
        The distribution of the outcome of the rival, if it differs from `truth`.
    """

    truth: tuple[float, ...]
    forecast: tuple[float, ...]
    rival: tuple[float, ...]
    loss: float
    rival_loss: float
    rival_truth: tuple[float, ...] | None = None

    def __str__(self) -> str:
        def shown(point: tuple[float, ...]) -> str:
            return "(" + ", ".join(f"{value:.4g}" for value in point) + ")"

        turn = ", " if self.rival_truth is None else f"; truth {shown(self.rival_truth)}: "
        first, second = (
            f"{shown(self.forecast)} costs {self.loss:.6g}",
            f"{shown(self.rival)} costs {self.rival_loss:.6g}",
        )
        return f"truth {shown(self.truth)}: {first}{turn}{second}"


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """A rule, the truths and reports to try it on, and the loss of each report under each outcome."""

    rule: Rule
    binary: bool
    truths: Floats
    reports: Floats
    losses: Floats

    @classmethod
    def of(cls, rule: Rule, classes: int | None, *, truths: Floats | None, seed: int) -> Search:
        """Prepare the search: `classes` is None for the forecast of one event."""
        grid = simplex_grid(classes or 2)
        random = np.random.default_rng(seed).dirichlet(np.ones(classes or 2), RANDOM_POINTS)
        reports = np.concatenate([grid, random])
        binary = classes is None
        losses = _losses(rule, reports, binary=binary)
        if np.isnan(losses).any():
            report = tuple(reports[np.isnan(losses).any(axis=1)][0].tolist())
            raise InputValueError(demands.numbers_as_losses(rule, f"the forecast {report}"))
        return cls(
            rule,
            binary,
            reports if truths is None else truths,
            reports,
            losses,
        )

    def better_lie(self) -> Counterexample | None:
        """Find a truth under which some report has a lower expected loss than the truth itself."""
        gain = self._honest() - _expected(self.truths, self.losses).min(axis=1)
        if gain.max() > TOLERANCE:
            # Of the truths with nearly the largest gain, the first is on the grid, and so easy to read.
            worst = int((gain > 0.95 * gain.max()).argmax())
            best = _expected(self.truths[[worst]], self.losses).argmin()
            return self._refined(self.truths[worst], self.reports[best])
        spread = np.linspace(0, len(self.truths) - 1, min(TRUTHS_REFINED, len(self.truths))).astype(int)
        for truth in self.truths[spread]:
            example = self._refined(truth, (truth + 1.0 / len(truth)) / 2.0)
            if example.loss - example.rival_loss > TOLERANCE:
                return example
        return None

    def equal_lie(self) -> Counterexample | None:
        """Find a truth under which some other report does exactly as well, for a rule without a better lie.

        Distant reports are tried first, because they make the clearest example. Differences within rounding error count
        as equal. Truths near the faces of the simplex are left out, because there even a strictly proper rule may
        differ by less than rounding error.
        """
        i, j = np.nonzero(_expected(self.truths, self.losses) - self._honest()[:, None] <= TOLERANCE)
        distance = np.abs(self.truths[i] - self.reports[j]).max(axis=1)
        far = np.argsort(-distance, kind="stable")[:CANDIDATES]
        kept = far[distance[far] > 0.0]
        truth, rival = self.truths[i[kept]], j[kept]
        own, other = _losses(self.rule, truth, binary=self.binary), self.losses[rival]
        honest = _expected_of_pairs(truth, own)
        rounding = 8.0 * np.finfo(float).eps * np.abs(honest)
        same = np.abs(_expected_of_pairs(truth, other) - honest) <= rounding
        equal = same & (truth.min(axis=1) >= INTERIOR)
        if not equal.any():
            return None
        first = int(equal.argmax())
        return self._example(truth[first], truth[first], self.reports[rival[first]])

    def better_wrong_answer(self, ties: str | None, *, same: bool = False) -> Counterexample | None:
        """Find a wrong answer, or a tie, that scores no worse than a right answer, possibly to another outcome.

        With `same`, both are about the same outcome. The clearest examples come first: plainly wrong answers, then
        ties, then answers that are right by a tiny margin.
        """
        hair = _by_a_hair(self.losses.shape[1])
        every = np.concatenate([self.reports, hair])
        every_loss = np.concatenate([self.losses, _losses(self.rule, hair, binary=self.binary)])
        seen = len(self.reports)
        right, plain = _right_answers(every, ties), every < every.max(axis=1, keepdims=True)
        for wrong, number in ((plain, seen), (~right, seen), (~right, len(every))):
            worst_right = np.where(right, every_loss, -np.inf)[:number]
            best_wrong = np.where(wrong, every_loss, np.inf)[:number]
            for outcomes in np.arange(right.shape[1])[:, None] if same else [np.arange(right.shape[1])]:
                i, k = np.unravel_index(worst_right[:, outcomes].argmax(), (number, len(outcomes)))
                j, m = np.unravel_index(best_wrong[:, outcomes].argmin(), (number, len(outcomes)))
                if best_wrong[j, outcomes[m]] <= worst_right[i, outcomes[k]]:
                    return self._of_two(every[i], int(outcomes[k]), every[j], int(outcomes[m]))
        return None

    def effect_of_other_classes(self) -> Counterexample | None:
        """Find two reports that give the outcome the same probability but have different losses."""
        for outcome in self._outcomes():
            loss = self.losses[:, outcome]
            order = np.lexsort((loss, self.reports[:, outcome]))
            hit, ordered = self.reports[order, outcome], np.minimum(loss[order], HUGE)
            gap = np.where(hit[1:] == hit[:-1], np.diff(ordered), 0.0)
            if gap.max() > TOLERANCE:
                place = int(gap.argmax())
                return self._at_outcome(outcome, int(order[place]), int(order[place + 1]))
        return None

    def better_far_miss(self) -> Counterexample | None:
        """Find two reports of which the one farther from the outcome at every cut point scores no worse."""
        heads = np.round(np.cumsum(self.reports, axis=1)[:, :-1], 12)
        for outcome in self._outcomes():
            away = np.abs(heads - (np.arange(heads.shape[1]) >= outcome))
            loss = self.losses[:, outcome]
            farther = np.ones((len(loss), len(loss)), dtype=bool)
            for cut in away.T:
                farther &= cut[:, None] <= cut[None, :]
            farther &= away.sum(axis=1)[:, None] < away.sum(axis=1)[None, :] - TOLERANCE
            farther &= np.isfinite(loss)[None, :]  # Nothing is worse than an infinite loss, so it violates nothing.
            excess = np.where(farther, np.minimum(loss, HUGE)[:, None] - np.minimum(loss, HUGE)[None, :], -np.inf)
            near, far = np.unravel_index(excess.argmax(), excess.shape)
            if excess[near, far] >= -EQUAL:
                return self._at_outcome(outcome, int(near), int(far))
        return None

    def outside(self, best: float | None, worst: float | None) -> Counterexample | None:
        """Find a loss outside the declared range, or an extreme that does not reach it."""
        for extreme, bound in ((self.losses.min(), best), (self.losses.max(), worst)):
            if bound is not None and not (extreme == bound or abs(extreme - bound) <= TOLERANCE):
                report, outcome = np.argwhere(self.losses == extreme)[0]
                return self._at_outcome(int(outcome), int(report), int(report))
        return None

    def _outcomes(self) -> range:
        return range(self.losses.shape[1])

    def _honest(self) -> Floats:
        own = _losses(self.rule, self.truths, binary=self.binary)
        return _expected_of_pairs(self.truths, own)

    def _refined(self, truth: Floats, start: Floats) -> Counterexample:
        """Return the best lie found by local optimisation from `start`, or `start` if it is as good."""
        from scipy import optimize

        def report(root: Floats) -> Floats:
            square: Floats = root * root  # Squares can reach the faces of the simplex, which contain the certainties.
            return square / square.sum()

        def cost(root: Floats) -> float:
            if not root.any():
                return HUGE
            return float(_expected(truth[None, :], _losses(self.rule, report(root)[None, :], binary=self.binary))[0, 0])

        found = report(optimize.fmin(cost, np.sqrt(start), xtol=1e-9, ftol=1e-15, maxiter=500, disp=False))
        # Rounding finds simple lies next to the one found, such as a certainty; the simplest that is as good is
        # returned.
        rivals = [np.round(found, 6), start, found]
        lie = min(
            (rival for rival in rivals if abs(rival.sum() - 1.0) <= TOLERANCE), key=lambda p: round(cost(np.sqrt(p)), 9)
        )
        return self._example(truth, truth, lie)

    def _example(self, truth: Floats, forecast: Floats, rival: Floats) -> Counterexample:
        pair = np.stack([forecast, rival])
        loss, rival_loss = _expected(truth[None, :], _losses(self.rule, pair, binary=self.binary))[0]
        shown = (loss if loss < HUGE else math.inf, rival_loss if rival_loss < HUGE else math.inf)
        return Counterexample(
            truth=tuple(truth.tolist()),
            forecast=tuple(forecast.tolist()),
            rival=tuple(rival.tolist()),
            loss=float(shown[0]),
            rival_loss=float(shown[1]),
        )

    def _of_two(self, forecast: Floats, outcome: int, rival: Floats, rival_outcome: int) -> Counterexample:
        """Return the example of two forecasts, each with the outcome under which it is scored."""
        certain = np.eye(self.losses.shape[1])
        own = self._example(certain[outcome], forecast, rival)
        if outcome == rival_outcome:
            return own
        other = self._example(certain[rival_outcome], forecast, rival)
        return replace(own, rival_loss=other.rival_loss, rival_truth=other.truth)

    def _at_outcome(self, outcome: int, report: int, rival: int) -> Counterexample:
        certainty = np.eye(self.losses.shape[1])[outcome]
        return self._example(certainty, self.reports[report], self.reports[rival])


def _right_answers(reports: Floats, ties: str | None) -> NDArray[np.bool_]:
    """Return for each report and outcome whether the answer is right, under the convention for ties."""
    leads: NDArray[np.bool_] = reports == reports.max(axis=1, keepdims=True)
    if ties == "first":
        return np.arange(reports.shape[1]) == leads.argmax(axis=1)[:, None]
    alone: NDArray[np.bool_] = leads & (leads.sum(axis=1, keepdims=True) == 1)
    return leads if ties == "correct" else alone


def _by_a_hair(classes: int) -> Floats:
    """Return the uniform distributions over two or more classes, each with one class larger by a tiny margin."""
    even = _uniform(classes)
    even = even[(even > 0.0).sum(axis=1) > 1]
    place, leader = np.nonzero(even)
    return (1.0 - HAIR) * even[place] + HAIR * np.eye(classes)[leader]


def _uniform(classes: int) -> Floats:
    """Return the uniform distributions over every subset of the classes, of the first ten if there are more."""
    subsets: NDArray[np.float64] = np.array(list(itertools.product((0.0, 1.0), repeat=min(classes, 10)))[1:])
    padded = np.pad(subsets, ((0, 0), (0, classes - subsets.shape[1])))
    return padded / padded.sum(axis=1, keepdims=True)


def simplex_grid(classes: int) -> Floats:
    """Return a grid of distributions: multiples of a fraction, the uniform ones, and ones very close to those.

    The fraction is the smallest that the number of points allows, a sixtieth or a twelfth if possible.
    """
    steps = 1
    while math.comb(steps + classes, classes - 1) <= POINTS:
        steps += 1
    steps = next((steps - steps % unit for unit in (60, 12) if steps >= unit), steps)
    bars = np.array(list(itertools.combinations(range(steps + classes - 1), classes - 1)))
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, steps + classes - 1)))
    grid = (np.diff(edges, axis=1) - 1) / steps
    barely_ahead = np.full((classes, classes), 0.999 / classes) + 0.001 * np.eye(classes)
    return np.unique(np.concatenate([grid, _uniform(classes), barely_ahead]), axis=0)


def _losses(rule: Rule, reports: Floats, *, binary: bool) -> Floats:
    """Return the loss of each report under each outcome, of shape (reports, classes)."""
    if binary:
        assert isinstance(rule, BinaryRule)  # noqa: S101  (for the type checker; `audit` has checked)
        partial = [rule.loss(reports[:, 1], event=event) for event in (False, True)]
        return np.stack([np.broadcast_to(loss, len(reports)) for loss in partial], axis=1)
    assert isinstance(rule, ClassRule)  # noqa: S101  (as above)
    outcomes = np.eye(reports.shape[1]).tolist()
    columns = list(reports.T)
    losses = [rule.class_loss(columns, outcome=outcome) for outcome in outcomes]
    return np.stack([np.broadcast_to(loss, len(reports)) for loss in losses], axis=1)


def _expected(truths: Floats, losses: Floats) -> Floats:
    """Return the expected loss of every report under every truth, shape (truths, reports)."""
    return truths @ np.minimum(losses, HUGE).T


def _expected_of_pairs(truths: Floats, losses: Floats) -> Floats:
    return (truths * np.minimum(losses, HUGE)).sum(axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedClaim:
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
    findings : tuple of AuditedClaim
        One for each property.
    """

    rule: str
    classes: int | None
    findings: tuple[AuditedClaim, ...]

    @property
    def agrees(self) -> bool:
        """Whether the search confirms every claim."""
        return all(finding.agrees for finding in self.findings)

    def __getitem__(self, name: str) -> AuditedClaim:
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
        AuditedClaim(name=name, declared=claim, holds=violation is None, counterexample=violation)
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
        raise InputTypeError(demands.NUMBERS, argument="truth", got=truth) from error
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
