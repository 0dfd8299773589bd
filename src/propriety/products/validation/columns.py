"""The columns of a validation: apparent and corrected values, by bootstrap or by parts that are left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from propriety.errors import UNDEFINED, InputValueError
from propriety.inference.bootstrap import Drawing
from propriety.inference.estimation import estimate_or_note
from propriety.inference.finding import Finding
from propriety.inference.finding_words import caveats
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import condense
from propriety.number_words import capitalized, counted
from propriety.products.validation.resampled_fits import (
    Fold,
    RareClass,
    Rows,
    Sample,
    check_training,
    drawn_rows,
    rare_class,
    value_in,
)
from propriety.progress import mapped
from propriety.result import Floats, Names, Result, tuples_of
from propriety.rules.scoring import losses_of_table
from propriety.tables.forecast_table import ForecastTable

DRAWING = Drawing(1000, 0)  # For intervals of measures without a formula.
FEW_GROUPS = 10  # The optimism of draws of fewer groups is noted.
FAR = 0.5  # A difference between both corrections above this share of the optimism is noted.
TOO_FLEXIBLE = (
    "Harrell's correction is too small for learners that fit their training cases too closely. "
    "Use corrected_632 or cross-validation."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FoldValues(Result):
    """Values of measures in the parts of a cross-validation, one row per model, measure and part.

    Parameters
    ----------
    model, measure : ndarray of str of shape (rows,)
        The learner, and the key of the measure.
    repeat : ndarray of int of shape (rows,)
        Number of the repeat, from 0.
    fold : ndarray of shape (rows,)
        Number of the fold, from 0, or label of the site.
    n_train, n_test : ndarray of int of shape (rows,)
        Number of cases that the learner was fitted to, and of those in the part.
    value : ndarray of shape (rows,)
        Value of the measure in the part; NaN if it is undefined there.

    Examples
    --------
    >>> import propriety as pr
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = [[0.0]] * 12, [0, 0, 1] * 4
    >>> found = pr.validate(DummyClassifier(), X, y, measures=[pr.Brier()], method="cross-validation", cv=2, seed=1)
    >>> found.folds.n_train.tolist(), found.folds.n_test.tolist()
    ([6, 6], [6, 6])
    """

    model: Names
    measure: Names
    repeat: NDArray[np.int64]
    fold: NDArray[Any]
    n_train: NDArray[np.int64]
    n_test: NDArray[np.int64]
    value: Floats


class Work(NamedTuple):
    """What is validated: the cases, the forecasts of models fitted to all of them, the measures, groups and options."""

    sample: Sample
    apparent: Ledger
    measures: tuple[Measure, ...]
    groups: NDArray[Any] | None
    level: float
    workers: int
    progress: bool

    @property
    def rows(self) -> list[tuple[str, Measure]]:
        """The models and measures of the rows of the result."""
        return [(model, measure) for model in self.apparent.models for measure in self.measures]

    def estimates(self, ledger: Ledger) -> list[Finding]:
        """Estimate all rows from a ledger."""
        return [
            estimate_or_note(ledger, model, measure, level=self.level, drawing=DRAWING) for model, measure in self.rows
        ]

    def values(self, ledger: Ledger) -> list[float]:
        """Return the value of each row in a ledger; NaN where it is undefined."""
        return [_value(ledger, measure, model) for model, measure in self.rows]

    def columns(self, apparent: Floats, corrected: Floats, low: Floats, high: Floats) -> dict[str, Any]:
        """Return the columns that all methods share; what is corrected stays within the range of its measure."""
        least, most = np.array([measure.range_of(self.apparent.classes) for _, measure in self.rows]).T
        corrected, low, high = (np.clip(column, least, most) for column in (corrected, low, high))
        low, high = (np.where(np.isfinite(corrected), column, np.nan) for column in (low, high))
        with np.errstate(invalid="ignore"):
            optimism = apparent - corrected
        return {
            "model": np.array([model for model, _ in self.rows]),
            "measure": np.array([measure.key for _, measure in self.rows]),
            "apparent": apparent,
            "optimism": optimism,
            "corrected": corrected,
            "low": low,
            "high": high,
        }


def columns_by_bootstrap(work: Work, n_resamples: int, seed: int) -> dict[str, Any]:
    """Return the columns by Harrell's bootstrap and the .632+ bootstrap."""
    if work.groups is not None and len(np.unique(work.groups)) < 2:
        raise InputValueError("must have two groups or more", argument="groups", offender="all cases are in one")
    seeds = np.random.SeedSequence(seed).spawn(n_resamples)
    rare = rare_class(work.sample.y, work.groups)
    by_class = rare is not None and work.groups is None
    samples = (drawn_rows(work.sample, work.groups, one, by_class=by_class) for one in seeds)
    one_draw = partial(value_of_draw, work.sample, work.measures, by_class=by_class)
    done = mapped(one_draw, samples, total=n_resamples, workers=work.workers, progress=work.progress, label="bootstrap")
    draws = Draw(*(np.array(column) for column in zip(*done, strict=True)))
    original = draws.original.reshape(n_resamples, -1)
    with np.errstate(invalid="ignore"):
        # A model that is infinitely bad in the original cases is so, also if it is in the drawn ones.
        gaps = np.where(np.isinf(original), -original, draws.drawn.reshape(n_resamples, -1) - original)
    optimism, left_out = _means(gaps), _means(draws.left_out.reshape(n_resamples, -1))
    found = work.estimates(work.apparent)
    value, low, high = (np.array([getattr(one, name) for one in found]) for name in ("value", "low", "high"))
    shrunk = []
    for place, (model, measure) in enumerate(work.rows):
        table = work.apparent.table(model) if work.apparent.labels is None else None
        chance = without_information(measure, table)
        own = float(value[place]), float(left_out[place]), chance
        shrunk.append(corrected_632(*own, higher_is_better=measure.higher_is_better))
    columns = work.columns(value, value - optimism, low - optimism, high - optimism)
    plus = np.array(shrunk)
    notes = _notes_on_estimates(work, found) + _notes_on_draws(work, gaps, rare)
    with np.errstate(invalid="ignore"):
        far = np.abs(plus - columns["corrected"]) > FAR * np.abs(columns["optimism"])
    far &= ~((columns["low"] <= plus) & (plus <= columns["high"]))
    if far.any():
        named = ", ".join(dict.fromkeys(one.label for (_, one), is_far in zip(work.rows, far, strict=True) if is_far))
        notes.append(f"The .632+ estimate differs widely ({named}): {TOO_FLEXIBLE}")
    return columns | {
        "n": len(work.sample),
        "corrected_632": plus,
        "n_resamples": n_resamples,
        "note": " ".join(notes),
    }


def _notes_on_estimates(work: Work, found: list[Finding]) -> list[str]:
    """Return the caveats of estimates, each of them once, with what it is about unless it is about all."""
    told: dict[str, list[int]] = {}
    for row, one in enumerate(found):
        if one.notes:
            told.setdefault(caveats(one), []).append(row)
    return [
        capitalized(note) + (f" ({', '.join(_named(work, rows))})." if len(rows) < len(found) else ".")
        for note, rows in told.items()
    ]


def _named(work: Work, rows: Sequence[int]) -> list[str]:
    """Name the measures of some rows of the result, with the models unless they are of all models."""
    models: dict[str, list[str]] = {}
    for row in rows:
        model, measure = work.rows[row]
        models.setdefault(measure.label, []).append(model)
    every = len(work.apparent.models)
    return [label if len(own) == every else f"{label} of {' and '.join(own)}" for label, own in models.items()]


def _notes_on_draws(work: Work, gaps: Floats, rare: RareClass | None) -> list[str]:
    """Say how a rare class was drawn, and in how many draws a measure is undefined or infinite."""
    groups = 0 if work.groups is None else len(np.unique(work.groups))
    notes = [f"Draws of only {groups} groups estimate the optimism poorly."] if 0 < groups < FEW_GROUPS else []
    if rare is not None and work.groups is None:
        cases = counted(rare.held, "case")
        notes.append(f"Samples were drawn within each class, because class {rare.label!r} has only {cases}.")
    elif rare is not None:
        those = f"Only {rare.held:,} of {counted(rare.units, 'group')}"
        again = "Samples without them were drawn again, which biases the optimism."
        notes.append(f"{those} {'has' if rare.held == 1 else 'have'} cases of class {rare.label!r}. {again}")
    return notes + _notes_on_values(work, gaps, "draw")


def _notes_on_values(work: Work, values: Floats, kind: str) -> list[str]:
    """Say in how many draws or parts, which are rows, a measure is undefined or infinite."""
    notes = []
    for what, found in (("undefined", np.isnan(values)), ("infinite", np.isinf(values))):
        counts = found.sum(axis=0)
        for count in dict.fromkeys(counts[counts > 0].tolist()):
            named = _named(work, np.flatnonzero(counts == count).tolist())
            notes += [f"{capitalized(name)} is {what} in {counted(count, kind)}." for name in named]
    return notes


def _notes_on_tests(folds: list[Fold], n: int, n_repeats: int) -> list[str]:
    """Say if cases are never tested, or more often than once in a repeat."""
    periods = np.bincount(np.concatenate([fold.test for fold in folds]), minlength=n)
    never, most = int((periods == 0).sum()), int(periods.max())
    notes = [f"{never:,} of {n:,} cases {'is' if never == 1 else 'are'} never tested."] if never else []
    if most > n_repeats:
        alike = bool((periods == most).all())
        notes.append(f"{'Each case is tested' if alike else 'Cases are tested up to'} {most:,} times.")
    return notes


def _means(columns: Floats) -> Floats:
    """Return the means of columns over the rows in which they are defined; NaN if there are none."""
    known = ~np.isnan(columns)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = np.where(known, columns, 0.0).sum(axis=0) / known.sum(axis=0)
    return means


def _spreads(columns: Floats, means: Floats) -> Floats:
    """Return the standard deviations of columns over the rows in which they are defined.

    They are NaN if there are fewer than two such rows, or if a value is infinite.
    """
    known = ~np.isnan(columns)
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = np.where(known, columns - means, 0.0) ** 2
        spreads: Floats = np.sqrt(squares.sum(axis=0) / (known.sum(axis=0) - 1))
    return np.where(known.sum(axis=0) > 1, spreads, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The forecasts of the cases of a part, and the values of the measures, of shape (rows,)."""

    forecasts: dict[str, NDArray[Any]]
    values: list[float]


def _forecast_part(work: Work, fold: Fold) -> _Part:
    forecasts, _ = work.sample.forecasts(work.sample.fitted(fold.train), fold.test)
    return _Part(forecasts, work.values(work.sample.ledger(fold.test, forecasts)))


def columns_by_folds(work: Work, folds: list[Fold], key: str) -> dict[str, Any]:
    """Return the columns by parts that are left out in turn; `key` is "fold" or "site"."""
    check_training(work.sample, folds, key)
    done = mapped(
        partial(_forecast_part, work),
        folds,
        total=len(folds),
        workers=work.workers,
        progress=work.progress,
        label="cross-validation" if key == "fold" else "sites",
    )
    parts = list(done)
    n_repeats = 1 + max(fold.repeat for fold in folds)
    ledger = _ledger(work, folds, parts, key, repeated=n_repeats > 1)
    found = work.estimates(ledger)
    corrected, low, high = (np.array([getattr(one, name) for one in found]) for name in ("value", "low", "high"))
    apparent = np.array(work.values(work.apparent))
    values = np.array([part.values for part in parts])
    counts = {"repeat": [fold.repeat for fold in folds]}
    counts |= {"n_train": [len(fold.train) for fold in folds], "n_test": [len(fold.test) for fold in folds]}
    columns = work.columns(apparent, corrected, low, high)
    mean = _means(values)
    notes = _notes_on_estimates(work, found) + _notes_on_tests(folds, len(work.sample), n_repeats)
    notes += _notes_on_values(work, values, "part")
    return columns | {
        "n": len(np.unique(np.concatenate([fold.test for fold in folds]))),
        "fold_mean": mean,
        "fold_spread": _spreads(values, mean),
        "n_folds": len(folds) // n_repeats,
        "n_repeats": n_repeats,
        "note": " ".join(notes),
        "folds": FoldValues(
            model=np.repeat(columns["model"], len(folds)),
            measure=np.repeat(columns["measure"], len(folds)),
            fold=np.tile(_labels(folds, key), len(work.rows)),
            **{name: np.tile(np.array(column), len(work.rows)) for name, column in counts.items()},
            value=values.T.ravel(),
        ),
        "ledger": ledger,
    }


def _labels(folds: list[Fold], key: str) -> NDArray[Any]:
    """Return the labels of the parts; those of sites stay as they are, because 1 and "1" are two sites."""
    labels = [fold.label for fold in folds]
    return tuples_of(labels) if key == "site" else np.array(labels)


def _ledger(work: Work, folds: list[Fold], parts: list[_Part], key: str, *, repeated: bool) -> Ledger:
    """Return the ledger of the forecasts of all parts; if cases or groups occur more than once, they are clusters."""
    rows = np.concatenate([fold.test for fold in folds])
    sizes = [len(fold.test) for fold in folds]
    keys = {key: np.repeat(_labels(folds, key), sizes)}
    if repeated:
        keys["repeat"] = np.repeat([fold.repeat for fold in folds], sizes)
    groups = None if key == "site" else work.groups
    again = len(np.unique(rows)) < len(rows)  # In repeats, or in the parts of a splitter that repeats.
    cluster = groups[rows] if groups is not None else rows if again else None
    return condense(
        work.sample.y[rows],
        {model: np.concatenate([part.forecasts[model] for part in parts]) for model in work.apparent.models},
        by=keys,
        cluster=cluster,
        pos_label=work.sample.pos_label,
        labels=work.sample.labels,
    )


SHARE = 1.0 - math.exp(-1.0)  # Of the cases, expected in a sample drawn with replacement.


class Draw(NamedTuple):
    """Values of the models fitted to drawn cases, of shape (models, measures): there, in all cases, and in the rest."""

    drawn: Floats
    original: Floats
    left_out: Floats


def value_of_draw(sample: Sample, measures: tuple[Measure, ...], rows: Rows, *, by_class: bool = False) -> Draw:
    """Fit the estimators to drawn rows, and evaluate them there, in all cases, and in those that were not drawn.

    Drawn `by_class`, cases of a rare class are left out less often than others, so those left out are weighted.
    """
    every = np.arange(len(sample))
    forecasts, _ = sample.forecasts(sample.fitted(rows), every)
    left_out = np.setdiff1d(every, rows)
    values = partial(_values, sample, measures, forecasts)
    return Draw(values(rows), values(every), values(left_out, _shares(sample, left_out) if by_class else None))


def _shares(sample: Sample, rows: Rows) -> Floats:
    """Return weights that give each class of some rows its share of all cases; none if a class is absent."""
    classes, codes = np.unique(sample.y, return_inverse=True)
    held = np.bincount(codes[rows], minlength=len(classes))
    return (np.bincount(codes) / held)[codes[rows]] if held.all() else np.empty(0)


def _values(
    sample: Sample,
    measures: tuple[Measure, ...],
    forecasts: dict[str, Floats],
    rows: Rows,
    weight: Floats | None = None,
) -> Floats:
    """Return the values of all measures in some rows, of shape (models, measures); NaN if undefined."""
    if not len(rows if weight is None else weight):
        return np.full((len(forecasts), len(measures)), np.nan)
    ledger = sample.ledger(rows, {name: own[rows] for name, own in forecasts.items()}, sample_weight=weight)
    return np.array([[_value(ledger, measure, name) for measure in measures] for name in forecasts])


def _value(ledger: Ledger, measure: Measure, model: str) -> float:
    try:
        return value_in(ledger, measure, model)
    except UNDEFINED:
        return math.nan


def without_information(measure: Measure, table: ForecastTable | None) -> float:
    """Return the value of a measure if forecasts and outcomes were independent; NaN if it is not defined.

    Examples
    --------
    >>> from propriety.inference.measures.of_means import MeanScore
    >>> table = ForecastTable.from_predictions([0, 1], [0.0, 1.0])
    >>> MeanScore().value(table), without_information(MeanScore(), table)
    (0.0, 0.5)
    """
    if measure == AreaUnderRoc():
        return 0.5
    if table is None or measure.sign is None or measure.rule is None:
        return math.nan
    of_non_event, of_event = losses_of_table(table, measure.rule)
    share, rate = table.weights / table.weight, table.event_rate
    return measure.sign * float((share * (rate * of_event + (1.0 - rate) * of_non_event)).sum())


def corrected_632(apparent: float, left_out: float, chance: float, *, higher_is_better: bool | None) -> float:
    r"""Return the .632+ estimate from the apparent value, that of cases left out, and that without information.

    With the values :math:`A`, :math:`B` and :math:`G` of a loss, and the share :math:`p = 1 - 1/e` of the cases that
    are drawn, :math:`R = (B - A) / (G - A)` is the relative overfitting, limited to [0, 1], and

    .. math:: (1 - w) A + w \min(B, G), \qquad w = p / (1 - (1 - p) R) .

    If :math:`A` or :math:`B` is infinite, the estimate is.

    References
    ----------
    Efron & Tibshirani (1997), doi:10.1080/01621459.1997.10474007.

    Examples
    --------
    >>> round(corrected_632(0.0, 0.5, 0.5, higher_is_better=False), 3)
    0.5
    >>> round(corrected_632(0.9, 0.8, 0.5, higher_is_better=True), 3)
    0.83
    """
    sign = -1.0 if higher_is_better else 1.0
    a, b, g = sign * apparent, sign * left_out, sign * chance
    if higher_is_better is None or math.isnan(a) or math.isnan(b) or math.isnan(g):
        return math.nan
    if math.isinf(a) or math.isinf(b):
        return sign * max(a, b)
    b = min(b, g)
    overfitting = min((b - a) / (g - a), 1.0) if b > a and g > a else 0.0
    weight = SHARE / (1.0 - (1.0 - SHARE) * overfitting)
    return sign * ((1.0 - weight) * a + weight * b)
