"""The result of `evaluate`: every analysis of every model, computed from a ledger once, on first use."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propriety.calibration.decomposition import Decomposition, decompose_table, summed_decomposition
from propriety.calibration.reliability import ReliabilityCurve
from propriety.calibration.smooth_calibration import SmoothCalibration, smooth_calibration_of
from propriety.decisions.decision_curves import decision_curve, murphy_curve, regret_curve
from propriety.decisions.ranking_map import RankingMap, ranking_of
from propriety.decisions.recommendations import Advice
from propriety.decisions.roc import RocCurve, roc_curve
from propriety.decisions.threshold_curve import ThresholdCurve
from propriety.diagnostics.probability_means import ProbabilityMeans, probability_means
from propriety.errors import UNDEFINED
from propriety.evaluation import words
from propriety.evaluation.calls import Calls, takes, versions
from propriety.evaluation.card import Card, card_of
from propriety.evaluation.class_table import ClassAnalyses, class_means
from propriety.evaluation.group_calibration import calibration_of_groups
from propriety.evaluation.made_when_asked import MadeWhenAsked, RecalibrationGains
from propriety.evaluation.problem import Problem
from propriety.inference.check_calibration import calibration_findings, parts_of
from propriety.inference.comparison import compare_of
from propriety.inference.estimation import estimate_or_note
from propriety.inference.finding import Finding, Findings
from propriety.inference.finding_words import caveats
from propriety.inference.group_rows import REST
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.of_means import Skill
from propriety.inference.part_estimates import ONLY_INDEPENDENT
from propriety.inference.slices import slices_of
from propriety.inference.verdict import as_number, gate
from propriety.ledger.ledger import Kind, Ledger
from propriety.progress import track
from propriety.result import Floats, Result
from propriety.rules.class_rules import RankedProbability
from propriety.rules.families import Brier
from propriety.rules.weights import Thresholds
from propriety.tables.events import Event
from propriety.tables.forecast_table import ForecastTable
from propriety.upward import upward

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure

Names = NDArray[np.str_]


MOST_ROWS = 200  # Most rows of models and groups whose skill is estimated by default; `propriety.slices` has no limit.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Scores(Result):
    """Numbers of each model with their intervals, one row per model and measure.

    Parameters
    ----------
    model, measure : ndarray of str
        The model, and the short key of the measure.
    label : ndarray of str
        The name of the measure.
    value, low, high, standard_error : ndarray of float
        The estimate and its interval; NaN if the sample does not determine them.
    raw : ndarray of float
        For bias-corrected measures, the estimate before the correction; NaN for all others.
    higher_is_better : ndarray of object
        Whether higher values are better; None for a function, which does not say so.
    ideal : ndarray of float
        The best value of a measure that can be too high and too low; NaN for all others.
    method, note, call : ndarray of str
        How the interval was computed, a caveat, and the call that reproduces the number.
    level : float
        Level of the intervals.
    """

    main_columns: ClassVar[tuple[str, ...]] = ("model", "label", "value", "low", "high", "note")

    model: Names
    measure: Names
    label: Names
    value: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    raw: Floats
    higher_is_better: NDArray[np.object_]
    ideal: Floats
    method: Names
    note: Names
    call: Names
    level: float

    def columns(self) -> Mapping[str, Sequence[Any] | NDArray[Any]]:
        """Return one row per model and measure."""
        # Polars reads a list with None as a column of booleans, but not an array.
        return {**Result.columns(self), "higher_is_better": self.higher_is_better.tolist()}

    def at(self, model: str, measure: str) -> dict[str, Any]:
        """Return one row, by the model and the key of the measure."""
        place = int(np.flatnonzero((self.model == model) & (self.measure == measure))[0])
        return {name: np.asarray(column).tolist()[place] for name, column in self.columns().items()}


def scores_of(rows: Sequence[tuple[str, Finding, str]], level: float) -> Scores:
    """Return the table of estimates, each with its model and its call."""
    models, found, calls = zip(*rows, strict=True)
    return Scores(
        model=np.array(models),
        measure=np.array([one.measure.key for one in found]),
        label=np.array([one.measure.label for one in found]),
        **{name: np.array([getattr(one, name) for one in found]) for name in ("value", "low", "high", "method")},
        standard_error=np.array([one.error for one in found]),
        note=np.array([caveats(one) for one in found]),
        higher_is_better=np.array([one.measure.higher_is_better for one in found], dtype=object),
        raw=np.array([one.extra.get("raw", math.nan) for one in found]),
        ideal=np.array([math.nan if one.measure.ideal is None else one.measure.ideal for one in found]),
        call=np.array(calls),
        level=level,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Evaluation(ClassAnalyses, Result):
    """The evaluation of some models on the same cases; see `propriety.evaluate`.

    Each analysis is computed on first use and kept. `print` shows the card: the answer, its numbers and the findings.
    `plot()` draws them on one page, and `to_html(path)` writes the report.

    Parameters
    ----------
    models : tuple of str
        The names of the models, in the order given.
    kind : {"binary", "multiclass", "ordinal"}
        What is forecast.
    thresholds : float or (float, float), optional
        The decision maker's threshold or range.
    n, dropped : int
        Number of cases, and of rows left out because of missing values.
    level : float
        Level of all intervals.
    n_resamples, seed : int
        Number and seed of the draws.
    """

    main_columns: ClassVar[tuple[str, ...]] = Scores.main_columns
    facts: ClassVar[tuple[str, ...]] = ("models", "kind", "ledger.event_note", "thresholds", "n", "dropped")

    models: tuple[str, ...]
    kind: Kind
    thresholds: Thresholds | None
    n: int
    dropped: int = 0
    level: float
    n_resamples: int
    seed: int
    ledger: Ledger = field(metadata={"hidden": True})
    problem: Problem = field(metadata={"hidden": True})
    calls: Calls = field(metadata={"hidden": True})
    columns_used: Mapping[str, str] = field(default_factory=dict, metadata={"hidden": True})
    progress: bool = field(default=False, metadata={"hidden": True})

    @property
    def advice(self) -> Advice:
        """Advice on which measures fit this decision and which mislead."""
        return self.problem.advice

    @property
    def rates(self) -> dict[Any, float]:
        """Observed frequency of the event, or of each class."""
        return self.ledger.rates

    @property
    def is_weighted(self) -> bool:
        """Whether the cases have weights."""
        return self.ledger.is_weighted

    @property
    def dependence(self) -> str | None:
        """What cases may be correlated within: "cluster", "period" or None."""
        return None if self.ledger.dependence is None else f"{self.ledger.dependence}s"

    @cached_property
    def estimates(self) -> dict[str, dict[str, Finding]]:
        """Estimate of every measure for every model with its interval, by model and key of the measure."""
        asked = [(model, measure) for model in self.models for measure in self.problem.measures]
        bar = track(asked, total=len(asked), label="scores", enabled=self.progress)
        found: dict[str, dict[str, Finding]] = {model: {} for model in self.models}
        for model, measure in bar:
            one = estimate_or_note(self.ledger, model, measure, level=self.level, drawing=self._drawing)
            found[model][measure.key] = one
        return found

    @cached_property
    def scores(self) -> Scores:
        """Every measure of every model with its interval, as one table."""
        rows = [
            (model, one, self._call_of(model, one)) for model, own in self.estimates.items() for one in own.values()
        ]
        return scores_of(rows, self.level)

    @cached_property
    def decompositions(self) -> dict[str, Decomposition]:
        """Parts of each model's score; the miscalibration of classes is corrected for sampling noise."""
        if self.kind == "binary":
            return {model: decompose_table(own["event"], Brier()) for model, own in self.tables.items()}
        if self.kind == "multiclass":
            return self.class_decompositions
        return {
            model: replace(summed_decomposition(own, RankedProbability()), n=self.n, dropped=self.dropped)
            for model, own in self.tables.items()
        }

    @cached_property
    def calibration(self) -> Findings:
        """The calibration of each model on all cases, also of each class or cut point; see `check_calibration`."""
        known = {"known": self.estimates} if self.kind == "binary" else {}
        ledger = self.ledger if self.kind == "binary" else self._ledger_of_cases
        read = self.class_readings if self.kind == "multiclass" else None
        return calibration_findings(ledger, level=self.level, drawing=self._drawing, read=read, groups=False, **known)

    @cached_property
    def smooth_calibration(self) -> dict[str, SmoothCalibration | None]:
        """Smooth calibration curve of each model with ICI, of binary outcomes; None if it could not be fitted."""
        found: dict[str, SmoothCalibration | None] = {}
        for model, table in self._event_tables.items():
            try:
                curve = smooth_calibration_of(table, level=self.level, n_resamples=self.n_resamples, seed=self.seed)
                found[model] = curve if self.dependence is None else curve.without_limits(ONLY_INDEPENDENT)
            except UNDEFINED:
                found[model] = None
        return found

    @cached_property
    def recalibration(self) -> RecalibrationGains:
        """What recalibrating each model would gain out of sample, and its map; of binary outcomes."""
        return RecalibrationGains(self._ledger_of_cases, self.problem, level=self.level)

    @property
    def miscalibrated(self) -> dict[str, float]:
        """For each model 1 if a gate on its calibration fails, 0 if it holds, and NaN if that cannot be told.

        It fails for the verdict "bad". It holds for "good" and "small", and for "no error found" if the limits exclude
        a gross error.
        """
        rows = {model: words.calibration_row(self, model) for model in self.models}
        return {model: as_number(gate(row, parts_of(self.calibration, row))) for model, row in rows.items()}

    @cached_property
    def reliability(self) -> dict[str, Mapping[Any, ReliabilityCurve]]:
        """Reliability curves of each model, by event, with consistency bands; each is computed on first use."""
        return {model: MadeWhenAsked(own, partial(self._banded_at, model)) for model, own in self.tables.items()}

    @cached_property
    def decision_curves(self) -> dict[str, ThresholdCurve]:
        """Net benefit of each model at every threshold, for binary outcomes."""
        return {model: decision_curve(table, thresholds=self.thresholds) for model, table in self._event_tables.items()}

    @cached_property
    def regret_curves(self) -> dict[str, ThresholdCurve]:
        """Regret of each model at every threshold, for binary outcomes."""
        return {model: regret_curve(table, thresholds=self.thresholds) for model, table in self._event_tables.items()}

    @cached_property
    def murphy_curves(self) -> dict[str, ThresholdCurve]:
        """Murphy curve of each model, for binary outcomes."""
        return {model: murphy_curve(table, thresholds=self.thresholds) for model, table in self._event_tables.items()}

    @cached_property
    def roc_curves(self) -> dict[str, RocCurve]:
        """ROC curve of each model, for binary outcomes that are not all the same."""
        if self.kind != "binary" or not 0.0 < self.rates["event"] < 1.0:
            return {}
        return {model: roc_curve(table, thresholds=self.thresholds) for model, table in self._event_tables.items()}

    @cached_property
    def ranking(self) -> RankingMap | None:
        """The best model on every threshold range, for several models of binary outcomes with available cases.

        With clusters or periods, its standard errors are NaN and every margin is marked as possible noise: they are
        known only for independent cases.
        """
        if self.kind != "binary" or len(self.models) < 2 or (cases := self.ledger.cases) is None:
            return None
        found = ranking_of(cases, thresholds=self.problem.interval, level=self.level)
        if self.dependence is None:
            return found
        marked = None if found.marked is None else replace(found.marked, standard_error=math.nan, is_noise=True)
        unknown, noise = np.full_like(found.margin, np.nan), np.ones_like(found.is_noise)
        return replace(found, standard_error=unknown, is_noise=noise, marked=marked)

    @cached_property
    def comparison(self) -> Findings | None:
        """Pairwise comparison of several models, by the measure that fits the problem."""
        headline = self.problem.headline
        if len(self.models) < 2 or not self.ledger.has_moments(headline.rule):
            return None
        return compare_of(self.ledger, headline, level=self.level, drawing=self._drawing)

    @cached_property
    def slices(self) -> Findings | None:
        """The models in each group of each key, if there are keys; `propriety.slices` can combine several keys."""
        headline = self.problem.headline
        if not self.ledger.index.names or not self.ledger.has_moments(headline.rule):
            return None
        return self._by_group(headline)

    @cached_property
    def group_calibration(self) -> Findings | None:
        """Calibration of each model in each group, if there are keys; not for ordered classes."""
        if self.slices is None or self.kind == "ordinal":
            return None
        return calibration_of_groups(self._ledger_of_cases, level=self.level)

    @cached_property
    def group_skill(self) -> Findings | None:
        """Skill score of each model in each group, which is not affected by the event rate; at most 200 rows."""
        rule = Brier() if self.kind == "binary" else self.problem.headline.rule
        if self.slices is None or not self.ledger.has_moments(rule):
            return None
        if len(self.slices.where(against=REST)) > MOST_ROWS:
            return None
        return self._by_group(Skill(rule))

    @cached_property
    def probability_means(self) -> dict[str, ProbabilityMeans]:
        """Decisiveness, accuracy and robustness of each model."""
        if self.kind == "binary":
            return {model: probability_means(table) for model, table in self._event_tables.items()}
        if self.kind == "multiclass":
            return {model: class_means(own) for model, own in self.tables.items()}
        events = [(label, Event("class", place)) for place, label in enumerate(self.ledger.labels or ())]
        table = self.ledger.table
        return {model: class_means({label: table(model, one) for label, one in events}) for model in self.models}

    @property
    def best(self) -> str:
        """The model with the best main score; the difference may be due to chance, see `comparison`."""
        key = self.problem.headline.key
        return min(self.models, key=lambda model: self.estimates[model][key].value)

    @property
    def best_estimate(self) -> Finding:
        """The main score of the best model, with limits adjusted for choosing the best."""
        options: dict[str, Any] = {"level": 1.0 - (1.0 - self.level) / len(self.models), "drawing": self._drawing}
        return estimate_or_note(self.ledger, self.best, self.problem.headline, **options)

    @cached_property
    def card(self) -> Card:
        """The answer, its numbers and the findings on one screen, which `print` and a notebook show."""
        return card_of(self)

    def columns(self) -> Mapping[str, Sequence[Any] | NDArray[Any]]:
        """Return the scores, one row per model and measure."""
        return self.scores.columns()

    def to_dict(self) -> dict[str, float]:
        """Return the scores with flat keys, as experiment trackers expect.

        For one model the keys are like ``brier``, ``brier_low`` and ``brier_high``; for several, like ``model/brier``.
        What is not known is NaN; the verdict ``miscalibrated`` is 1, 0, or NaN if it cannot be told.
        """
        numbers: dict[str, float] = {}
        prefixes = {model: f"{model}/" if len(self.models) > 1 else "" for model in self.models}
        for model, own in self.estimates.items():
            for measure, one in own.items():
                key = f"{prefixes[model]}{measure}"
                numbers |= {key: float(one.value), f"{key}_low": float(one.low), f"{key}_high": float(one.high)}
        for model, verdict in self.miscalibrated.items():
            more = {"miscalibrated": verdict, **self.recalibration.numbers(model)}
            numbers |= {f"{prefixes[model]}{name}": value for name, value in more.items()}
        return numbers | {"n": self.n}

    def plot(self, figure: Figure | None = None) -> Figure:  # type: ignore[override]  # a page has several axes
        """Draw a page of plots on a figure, new or given, and return it; needs matplotlib."""
        return upward("page of plots", self, figure)

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        title: str | None = None,
        description: Mapping[str, object] | None = None,
    ) -> str:
        """Return the report, one HTML page that works offline; it is also written to `path` if given.

        Parameters
        ----------
        path : path, optional
            File to write.
        title : str, optional
            Title of the page; by default it names the outcome, if the outcomes are a column with a name.
        description : mapping of str to object, optional
            What the page is about, such as ``{"Outcome": "Cancer at biopsy", "File": "validation.csv"}``, in addition
            to what the evaluation knows. An entry replaces the one of the same name, and None removes it.
        """
        return upward("report", self, path, title=title, description=description)

    def to_latex(self) -> str:
        r"""Return the tables of the report with their captions for LaTeX; they need ``\usepackage{booktabs}``."""
        return upward("LaTeX", self)

    def to_word(self, path: str | PathLike[str]) -> None:
        """Write the tables of the report with their captions to a Word file; needs python-docx."""
        upward("Word", self, path)

    @property
    def methods(self) -> dict[str, object]:
        """What is needed to reproduce the numbers: versions, level, draws and seed."""
        return versions() | {"level of intervals": self.level, "draws": self.n_resamples, "seed": self.seed}

    def call(self, function: str, model: object = None, *given: Any, **options: Any) -> str:
        """Return the complete call of a function of the package on the data of this evaluation.

        Parameters
        ----------
        function : str
            Name of the function.
        model : str, optional
            The model; by default all models together.
        *given, **options
            Further arguments.

        Examples
        --------
        >>> import propriety as pr
        >>> result = pr.evaluate([0, 1], {"a": [0.2, 0.7]}, sample_weight=[1, 2], level=0.9)
        >>> result.call("estimate", "a", pr.Log())
        "pr.estimate(y, forecasts['a'], pr.Log(), sample_weight=sample_weight, level=0.9)"
        """
        level = {"level": self.level} if self.level != 0.95 and "level" in takes(function) else {}
        return self.calls.write(function, model, *given, **(options | level))

    def _call_of(self, model: str, found: Finding) -> str:
        """Return the call that reproduces a single estimate."""
        drawn = {name: found.extra[name] for name in ("n_resamples", "seed") if name in found.extra}
        return self.call("estimate", model, found.measure, **drawn)

    def _by_group(self, measure: Measure) -> Findings:
        """Evaluate the groups of each key by a measure."""
        options: dict[str, Any] = {"thresholds": self.problem.threshold, "level": self.level}
        by = [(name,) for name in self.ledger.index.names]
        return slices_of(self.ledger, measure, by=by, drawing=self._drawing, **options)

    def _banded_at(self, model: str, label: Any) -> ReliabilityCurve:
        return self._banded(self.tables[model][label])

    @property
    def _event_tables(self) -> dict[str, ForecastTable]:
        tables = self.tables if self.kind == "binary" else {}
        return {model: own["event"] for model, own in tables.items()}

    def __str__(self) -> str:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        return str(self.card) if encoding.lower().startswith("utf") else self.card.plain()

    def _repr_html_(self) -> str:
        """Return the notebook view: the card."""
        return self.card._repr_html_()
