"""Tables and moments of rows of classes, made in an engine, as an evaluation asks them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from propriety.calibration.decomposition import Decomposition, decompose_table
from propriety.diagnostics.probability_groups import by_blocks, joined
from propriety.diagnostics.probability_means import ProbabilityMeans, confidence_angle, probability_means
from propriety.errors import InputValueError, sentence
from propriety.evaluation.calls import Calls
from propriety.evaluation.problem import Kind, Question
from propriety.evaluation.times import as_if_independent, interval_in_time
from propriety.inference.comparison import Comparison, Method, compare_moments
from propriety.inference.evidence import few_in_words
from propriety.inference.intervals import Interval, interval_of_mean
from propriety.inference.measures import MeanScore, Skill, read_measure, rule_of
from propriety.inference.moments import LossMoments
from propriety.results import Floats
from propriety.rules.families import Brier
from propriety.rules.operations import NUMPY, Column, Operations
from propriety.rules.ordinal import RankedProbability
from propriety.rules.rule import BinaryRule, ClassRule, Rule
from propriety.tables.forecast_table import ForecastTable

__all__ = ["TabledClasses"]


@dataclass(frozen=True, kw_only=True, eq=False)
class TabledClasses:
    """Forecast tables of every class, and of every cut point of ordered ones, with moments of the losses.

    `class_tables` and `cut_tables` are by model and label. The groups of the `moments` are the places of the classes
    that happened: what all cases of a class share, such as the loss of a constant forecast, is then known beside
    their losses. `clusters` says what the clusters of the moments are, if there are any: clusters, or times.
    """

    kind: Kind
    labels: tuple[Any, ...]
    class_tables: Mapping[str, Mapping[Any, ForecastTable]]
    cut_tables: Mapping[str, Mapping[Any, ForecastTable]] | None
    moments: Mapping[str, LossMoments]
    is_weighted: bool
    clusters: str | None = None
    calls: Calls = field(default_factory=Calls)

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(self.class_tables)

    @property
    def dependence(self) -> str | None:
        """Within what cases may depend on each other: clusters, times, or nothing."""
        return self.clusters

    @property
    def n(self) -> int:
        """Number of cases with weight."""
        return next(iter(self.moments.values())).cases

    @property
    def dropped(self) -> int:
        """Rows left out because of missing values."""
        return next(iter(self.moments.values())).dropped

    @property
    def rates(self) -> Mapping[Any, float]:
        """Observed share of each class."""
        return dict(zip(self.labels, self._shares.tolist(), strict=True))

    @property
    def _shares(self) -> Floats:
        by_class = next(iter(self.moments.values())).pooled("group")
        weight = np.zeros(len(self.labels))
        weight[_places(by_class)] = by_class.weight
        shares: Floats = weight / weight.sum()
        return shares

    def tables(self, model: str) -> Mapping[Any, ForecastTable]:
        """Return the tables of a model, one per class or cut point."""
        return (self.class_tables if self.cut_tables is None else self.cut_tables)[model]

    def decomposition(self, model: str) -> Decomposition:
        """Return the decomposition of the score of a model: the sum over classes, or the mean over cut points."""
        parts = {label: decompose_table(table, Brier()) for label, table in self.tables(model).items()}
        rule, share = (Brier(), 1.0) if self.cut_tables is None else (RankedProbability(), 1.0 / len(parts))

        def total(name: str) -> float:
            return share * math.fsum(getattr(part, name) for part in parts.values())

        return Decomposition(
            score=total("score"),
            miscalibration=total("miscalibration"),
            discrimination=total("discrimination"),
            uncertainty=total("uncertainty"),
            rule=repr(rule),
            n=self.n,
            dropped=self.dropped,
            parts=parts,
        )

    def stands_alone(self, model: str, question: Question) -> bool:
        """Return whether `interval` gives this answer alone; it knows no times."""
        del model
        return self.clusters != "times" or rule_of(read_measure(question.of)) is None

    def interval(self, model: str, question: Question, *, level: float, **_: Any) -> Interval:
        """Answer a question about a model, a mean or a skill, from the moments."""
        measure, place, classes = read_measure(question.of), self.models.index(model), len(self.labels)
        if isinstance(measure, Skill):
            found = self._skill(measure, place, level)
            return as_if_independent(found) if self.clusters == "times" else found
        rule = rule_of(measure)
        assert rule is not None  # noqa: S101  (for the type checker; of classes means and skill are asked)
        moments = self._pooled(rule)
        if self.clusters == "times":
            return interval_in_time(moments, place, measure, level=level, classes=classes)
        return _warned(interval_of_mean(moments, place, measure, level=level, classes=classes))

    def comparison(self, rule: Rule, **options: Any) -> Comparison | None:
        """Compare the models, if there are several."""
        if len(self.models) < 2:
            return None
        method: Method = "diebold-mariano" if self.clusters == "times" else "auto"
        proper = rule.properties(len(self.labels)).proper
        return compare_moments(self._pooled(rule), method=method, proper=proper, **options)

    def ranking(self, **_: Any) -> None:
        """Return nothing: thresholds are of the probability of one event."""

    def slices(self, rule: Rule, **_: Any) -> None:
        """Return nothing: groups are judged by the probability of one event."""

    def means(self, model: str) -> ProbabilityMeans:
        """Average the probabilities of what happened."""
        parts: dict[Any, ProbabilityMeans] = {}
        for label, table in self.class_tables[model].items():
            own = probability_means(table).parts
            assert own is not None  # noqa: S101  (for the type checker; a table has the parts of both outcomes)
            parts[label] = replace(own["event"], groups=by_blocks(table).groups(label))
        model_, source, weight = (
            np.concatenate(column) for column in zip(*(part.probabilities for part in parts.values()), strict=True)
        )
        whole = replace(
            next(iter(parts.values())),
            probabilities=(model_, source, weight),
            weight=float(weight.sum()),
            groups=joined(part.groups for part in parts.values() if part.groups is not None),
            parts=parts,
        )
        found = whole.spectrum(whole.exponent)
        assert found.source is not None  # noqa: S101  (for the type checker; the tables were recalibrated)
        angle = confidence_angle(found.model, found.source)
        return replace(whole, model=found.model, source=found.source, divergence=found.divergence, angle=angle)

    def _pooled(self, rule: Rule) -> LossMoments:
        """Return the moments of all cases under a rule, by cluster where there are clusters."""
        found = self.moments[repr(rule)]
        return found.pooled() if found.cluster is None else found.pooled("cluster")

    def _skill(self, measure: Skill, place: int, level: float) -> Interval:
        """Return the interval of a skill by the delta method, as `interval` makes it."""
        moments = self.moments[repr(measure.rule)]
        saved = _saved(moments, _constant_losses(measure.rule, self._shares), place)
        if self.clusters == "clusters":
            found = interval_of_mean(saved.pooled("cluster"), place, MeanScore(_Saved()), level=level)
        else:
            found = interval_of_mean(saved.pooled(), place, MeanScore(_Saved()), level=level)
        found = replace(found, measure=measure.name, higher_is_better=True, method=f"delta method, {found.method}")
        return _warned(found)


@dataclass(frozen=True, slots=True, repr=False)
class _Saved(BinaryRule):
    """What a case saves of the loss of the constant forecast; it has no range, so that its mean may be any number."""

    name: ClassVar[str] = "saved"

    def loss(self, p: Column, *, event: bool, ops: Operations = NUMPY) -> Column:
        """Return what is given, which is known already."""
        del event, ops
        return p


def _saved(moments: LossMoments, constant: Floats, place: int) -> LossMoments:
    r"""Return the moments of :math:`1 - S / R - (l_i - (S / R)\, r_i) / R`, whose mean is the skill.

    S and R are the mean losses of the series at `place` and of the constant forecast, l and r those of a case; r is the
    same for all cases of a class.
    """
    losses = constant[_places(moments)]
    against = float(np.average(losses, weights=moments.weight))
    if not 0.0 < against < math.inf:
        law = f"the reference must have a positive, finite loss to be improved on; its mean is {against!r}"
        raise InputValueError(sentence(law, hint="y_true holds one class only?"))
    ratio = float(moments.means[place]) / against
    with np.errstate(invalid="ignore"):  # Of an infinite mean.
        mean = 1.0 - ratio - (moments.mean - ratio * losses[:, None]) / against
    return replace(moments, mean=mean, lean=-moments.lean / against, spread=moments.spread / against**2)


def _constant_losses(rule: Rule, shares: Floats) -> Floats:
    """Return the loss of the constant forecast of these shares for each class that may happen."""
    assert isinstance(rule, ClassRule)  # noqa: S101  (for the type checker; the questions are about classes)
    places = np.arange(len(shares))
    return np.asarray(rule.class_case_loss([np.full(len(shares), share) for share in shares], places))


def _places(moments: LossMoments) -> Any:
    """Return the place of the class of each cell."""
    assert moments.group is not None  # noqa: S101  (for the type checker; the moments are by class)
    return moments.group.astype(np.intp)


def _warned(found: Interval) -> Interval:
    """Say on an interval, if there is one, that it rests on too few clusters."""
    return found if found.note else replace(found, note=few_in_words({"cluster": found.clusters}))
