"""What `evaluate` returns: every analysis of every model, made when it is first asked for, and once."""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.decomposition import Decomposition
from propriety.calibration.reliability import ReliabilityCurve, reliability_curve
from propriety.calibration.resampling import check_level, check_resamples, fresh_seed
from propriety.decisions.advice import Advice
from propriety.decisions.murphy import MurphyCurve, murphy_curve
from propriety.decisions.net_benefit import DecisionCurve, decision_curve
from propriety.decisions.ranking_map import RankingMap
from propriety.decisions.regret import RegretCurve, regret_curve
from propriety.decisions.roc import RocCurve, roc_curve
from propriety.diagnostics.probability_means import ProbabilityMeans
from propriety.errors import InputValueError, MissingDependencyError
from propriety.evaluation import words
from propriety.evaluation.calibration_verdict import CalibrationVerdict, calibration_verdict
from propriety.evaluation.calls import TAKES, Calls
from propriety.evaluation.cases import PredictedCases
from propriety.evaluation.problem import RARE, Kind, Problem, Question
from propriety.evaluation.scores import Scores
from propriety.evaluation.tabled_cases import TabledCases
from propriety.evaluation.tabled_classes import TabledClasses
from propriety.inference.comparison import Comparison
from propriety.inference.intervals import Interval
from propriety.inference.moments import LossMoments
from propriety.inference.slices import Slices
from propriety.progress import track
from propriety.results import Result
from propriety.tables.forecast_table import ForecastTable

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure

__all__ = ["Cases", "Evaluation", "evaluation_of"]

Cases: TypeAlias = PredictedCases | TabledCases | TabledClasses


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Evaluation(Result):
    """Everything that can be said of some models on the same cases; see `propriety.evaluate`.

    Each analysis is computed when it is first asked for, and kept. `summary()` says the most important in words,
    `plot()` shows it on one page, `to_html(path)` writes the report.

    Parameters
    ----------
    models : tuple of str
        The names of the models, in the order given.
    kind : {"binary", "multiclass", "ordinal"}
        What is forecast.
    thresholds : float or (float, float), optional
        The thresholds that matter.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    level : float
        Level of all intervals.
    n_resamples, seed : int
        Number and seed of the draws.
    """

    models: tuple[str, ...]
    kind: Kind
    thresholds: float | tuple[float, float] | None
    n: int
    dropped: int
    level: float
    n_resamples: int
    seed: int
    cases: Cases = field(metadata={"hidden": True})
    problem: Problem = field(metadata={"hidden": True})
    progress: bool = field(default=False, metadata={"hidden": True})

    @classmethod
    def from_tables(
        cls,
        tables: Mapping[str, ForecastTable],
        moments: LossMoments | Sequence[LossMoments] = (),
        *,
        thresholds: float | tuple[float, float] | None = None,
        level: float = 0.95,
        n_resamples: int = 1000,
        seed: int | None = None,
        progress: bool = False,
    ) -> Evaluation:
        """Evaluate models from tables that were made elsewhere: on shards, day by day, in an engine.

        Parameters
        ----------
        tables : mapping of str to ForecastTable
            The forecasts of each model for the same cases.
        moments : LossMoments, or several
            Those of the rule that ranks the models are needed to compare them, because tables do not know which cases
            are the same; see `propriety.loss_moments`.
        thresholds, level, n_resamples, seed, progress
            As in `propriety.evaluate`.

        Examples
        --------
        >>> import propriety as pr
        >>> monday, tuesday = (pr.ForecastTable.from_predictions([0, 1, 1], [0.2, 0.7, p]) for p in (0.6, 0.9))
        >>> Evaluation.from_tables({"model": monday + tuesday}, seed=1)
        Evaluation(models=['model'], kind=binary, n=6)
        """
        given = (moments,) if isinstance(moments, LossMoments) else tuple(moments)
        names = (
            ["moments"] if isinstance(moments, LossMoments) else [f"moments[{place}]" for place in range(len(given))]
        )
        whole = {one.rule: _whole(name, one) for name, one in zip(names, given, strict=True)}
        cases = TabledCases(event_tables=tables, moments=given, calls=Calls(tabled=True, moments=whole))
        return evaluation_of(
            cases, thresholds=thresholds, level=level, n_resamples=n_resamples, seed=seed, progress=progress
        )

    @property
    def advice(self) -> Advice:
        """Which measures fit this decision, and which mislead."""
        return self.problem.advice

    @cached_property
    def scores(self) -> Scores:
        """Every measure of every model, with its interval."""
        asked = [(model, question) for model in self.models for question in self.problem.questions]
        bar = track(asked, total=len(asked), label="scores", enabled=self.progress)
        found = [self._answer(model, question) for model, question in bar]
        return Scores(
            model=np.array([model for model, _ in asked]),
            measure=np.array([question.key for _, question in asked]),
            name=np.array([question.name for _, question in asked]),
            **{name: np.array([getattr(one, name) for one in found]) for name in ("estimate", "low", "high")},
            standard_error=np.array([one.standard_error for one in found]),
            bias=np.array([math.nan if one.bias is None else one.bias for one in found]),
            higher_is_better=np.array([one.higher_is_better for one in found]),
            method=np.array([one.method for one in found]),
            note=np.array([one.note for one in found]),
            call=np.array([self._call_of(*one, interval) for one, interval in zip(asked, found, strict=True)]),
            level=self.level,
        )

    @cached_property
    def tables(self) -> dict[str, Mapping[Any, ForecastTable]]:
        """The forecast tables of each model: of the event, or one per class or cut point."""
        return {model: self.cases.tables(model) for model in self.models}

    @cached_property
    def decompositions(self) -> dict[str, Decomposition]:
        """The score of each model as miscalibration, discrimination and uncertainty."""
        return {model: self.cases.decomposition(model) for model in self.models}

    @cached_property
    def reliability(self) -> dict[str, dict[Any, ReliabilityCurve]]:
        """The reliability curves of each model, by event, with their consistency bands."""
        return {
            model: {
                label: reliability_curve(table).with_consistency_band(
                    level=self.level, n_resamples=self.n_resamples, seed=self.seed
                )
                for label, table in own.items()
            }
            for model, own in self.tables.items()
        }

    @cached_property
    def calibration_verdicts(self) -> dict[str, CalibrationVerdict]:
        """What tests say about the calibration of each model; of binary outcomes."""
        return {
            model: calibration_verdict(table, level=self.level, n_resamples=self.n_resamples, seed=self.seed)
            for model, table in self._event_tables.items()
        }

    @cached_property
    def decision_curves(self) -> dict[str, DecisionCurve]:
        """Net benefit of each model at every threshold; of binary outcomes."""
        return {model: decision_curve(table) for model, table in self._event_tables.items()}

    @cached_property
    def regret_curves(self) -> dict[str, RegretCurve]:
        """Regret of each model at every threshold; of binary outcomes."""
        return {model: regret_curve(table) for model, table in self._event_tables.items()}

    @cached_property
    def murphy_curves(self) -> dict[str, MurphyCurve]:
        """Murphy curve of each model; of binary outcomes."""
        return {model: murphy_curve(table) for model, table in self._event_tables.items()}

    @cached_property
    def roc_curves(self) -> dict[str, RocCurve]:
        """ROC curve of each model; of binary outcomes that are not all the same."""
        if not 0.0 < next(iter(self.cases.rates.values())) < 1.0:
            return {}
        return {model: roc_curve(table) for model, table in self._event_tables.items()}

    @cached_property
    def ranking(self) -> RankingMap | None:
        """Who wins on every interval of thresholds; of several models of binary outcomes.

        With clusters or times its standard errors are NaN and every lead may be noise: they are known of
        independent cases only.
        """
        return self.cases.ranking(level=self.level, interval=self.problem.interval)

    @cached_property
    def comparison(self) -> Comparison | None:
        """The models in pairs, by the measure that fits the problem; of several models."""
        return self.cases.comparison(self.problem.rule, level=self.level, seed=self.seed)

    @cached_property
    def slices(self) -> Slices | None:
        """The models in each group, if there are groups; of binary outcomes."""
        threshold = self.thresholds if isinstance(self.thresholds, float) else None
        return self.cases.slices(self.problem.rule, level=self.level, threshold=threshold)

    @cached_property
    def probability_means(self) -> dict[str, ProbabilityMeans]:
        """Decisiveness, accuracy and robustness of each model."""
        return {model: self.cases.means(model) for model in self.models}

    @property
    def best(self) -> str:
        """The model with the best headline score; it may be so by chance, as `comparison` tells."""
        headline = self.scores.measure == self.problem.headline.key
        return str(self.scores.model[headline][np.argmin(self.scores.estimate[headline])])

    def summary(self) -> str:
        """Return the most important in plain words."""
        return "\n".join(words.summary(self))

    def rows(self) -> Mapping[str, Sequence[Any] | NDArray[Any]]:
        """Return the scores, one row per model and measure."""
        return self.scores.rows()

    def to_dict(self) -> dict[str, float]:
        """Return the scores with flat keys, as experiment trackers want them.

        Of one model they are such as ``brier``, ``brier_low`` and ``brier_high``; of several, ``model/brier``.
        """
        several = len(self.models) > 1
        scores, numbers = self.scores, {}
        for place, (model, measure) in enumerate(zip(scores.model.tolist(), scores.measure.tolist(), strict=True)):
            key = f"{model}/{measure}" if several else measure
            numbers[key] = float(scores.estimate[place])
            numbers |= {f"{key}_{end}": float(getattr(scores, end)[place]) for end in ("low", "high")}
        return numbers | {"n": self.n}

    def plot(self, figure: Figure | None = None) -> Figure:  # type: ignore[override]  # a page has several axes
        """Draw the page of pictures on a figure, new or given, and return it; needs matplotlib."""
        from propriety.plots.evaluation import plot_evaluation

        return plot_evaluation(self, figure)

    def to_html(self, path: str | PathLike[str] | None = None, *, title: str = "Evaluation of forecasts") -> str:
        """Return the report, one HTML page that works offline, and write it to `path` if that is given."""
        from propriety.report.evaluation import report_of

        return report_of(self, path, title=title)

    @property
    def methods(self) -> dict[str, object]:
        """What is needed to have the same numbers again: versions, level, draws and seed."""
        return {
            "propriety": importlib.metadata.version("propriety"),
            "NumPy": np.__version__,
            "SciPy": importlib.metadata.version("scipy"),
            "level of intervals": self.level,
            "draws": self.n_resamples,
            "seed": self.seed,
        }

    def _answer(self, model: str, question: Question) -> Interval:
        """Answer a question; where the sample has no answer, say why instead."""
        try:
            return self.cases.interval(model, question, level=self.level, n_resamples=self.n_resamples, seed=self.seed)
        except InputValueError as error:
            return Interval(
                estimate=math.nan,
                low=math.nan,
                high=math.nan,
                standard_error=math.nan,
                level=self.level,
                method="",
                measure=question.name,
                higher_is_better=question.higher_is_better,
                n=self.n,
                note=str(error).rstrip("."),
            )

    def call(self, function: str, model: object = None, **options: Any) -> str:
        """Return the call of a function of the package on the data of this evaluation, with all that it needs.

        Parameters
        ----------
        function : str
            Its name.
        model : str, optional
            The model it is for; without one, all together.
        **options
            Further arguments.

        Examples
        --------
        >>> import propriety as pr
        >>> result = pr.evaluate([0, 1], {"a": [0.2, 0.7]}, sample_weight=[1, 2], level=0.9)
        >>> result.call("interval", "a", of=pr.Log())
        "pr.interval(y, forecasts['a'], sample_weight=sample_weight, of=pr.Log(), level=0.9)"
        """
        level = {"level": self.level} if self.level != 0.95 and "level" in TAKES[function] else {}
        return self.cases.calls.write(function, model, **(options | level))

    def _call_of(self, model: str, question: Question, found: Interval) -> str:
        """Return the call that makes a score alone; where `interval` does not know all there is, that of its row."""
        if self.cases.stands_alone(model, question):
            drawn = {} if found.seed is None else {"n_resamples": found.n_resamples, "seed": found.seed}
            return self.call("interval", model, of=question.of, **drawn)
        asked = {} if self.thresholds is None else {"thresholds": self.thresholds}
        asked |= {"ordered": True} if self.kind == "ordinal" else {}
        whole = self.call("evaluate", **asked, n_resamples=self.n_resamples, seed=self.seed)
        return f"{whole}.scores.at({model!r}, {question.key!r})"

    @property
    def _event_tables(self) -> dict[str, ForecastTable]:
        if self.kind != "binary":
            return {}
        return {model: own["event"] for model, own in self.tables.items()}

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"models": list(self.models), "kind": self.kind}
        facts |= {} if self.thresholds is None else {"thresholds": self.thresholds}
        return facts | {"n": self.n} | ({"dropped": self.dropped} if self.dropped else {})

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """Return the notebook view: the report in a frame of its own, or the scores where it cannot be made."""
        try:
            from propriety.report.evaluation import framed
        except MissingDependencyError:
            return Result._repr_html_(self)
        return framed(self)


def _whole(name: str, moments: LossMoments) -> str:
    """Return the expression of moments of all cases."""
    if moments.group is None:
        return name
    return f"{name}.pooled()" if moments.cluster is None else f"{name}.pooled('cluster')"


def evaluation_of(
    cases: Cases,
    *,
    thresholds: float | tuple[float, float] | None,
    level: float,
    n_resamples: int,
    seed: int | None,
    progress: bool,
) -> Evaluation:
    """Make the evaluation of cases that the door let through; see `propriety.evaluate`."""
    check_level(level)
    check_resamples(n_resamples)
    rare = cases.kind == "binary" and min(cases.rates["event"], 1.0 - cases.rates["event"]) < RARE
    problem = Problem(kind=cases.kind, thresholds=thresholds, rare=rare)
    return Evaluation(
        models=cases.models,
        kind=cases.kind,
        thresholds=problem.thresholds,
        n=cases.n,
        dropped=cases.dropped,
        level=level,
        n_resamples=n_resamples,
        seed=fresh_seed(seed),
        cases=cases.prepared(problem) if isinstance(cases, TabledCases) else cases,
        problem=problem,
        progress=progress,
    )
