"""Cross-validation: rows of corrected values and of values in the parts, and learners compared by the same parts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from propriety.inference.finding import Finding
from propriety.inference.measures.measure import Measure
from propriety.inference.notes import Note
from propriety.inference.verdict import holm, with_verdict
from propriety.ledger.ledger import Ledger
from propriety.ledger.sources import condense
from propriety.products.validation.resampled_fits import Fold, check_training, repeats_of
from propriety.products.validation.rows import Work, corrected_rows, means_of, notes_on_values
from propriety.progress import mapped
from propriety.result import Floats, tuples_of

METHOD = "t test with the error of Nadeau and Bengio"
LABELS = {"fold": "cross-validation", "site": "sites"}


def rows_by_folds(work: Work, folds: list[Fold], key: str) -> tuple[list[Finding], Ledger]:
    """Return the rows by parts that are left out in turn, and the ledger; `key` is "fold" or "site"."""
    check_training(work.sample, folds, key)
    total = len(folds)
    options: dict[str, Any] = {"workers": work.workers, "progress": work.progress, "label": LABELS[key]}
    parts = list(mapped(partial(_forecast_part, work), folds, total=total, **options))
    n_repeats = repeats_of(folds)
    repeated = n_repeats > 1
    ledger = _ledger(work, folds, parts, key, repeated=repeated)
    values = np.array([part.values for part in parts])
    together: list[Finding] = []
    by_part: list[Finding] = []
    notes = _notes_on_tests(folds, len(work.sample), n_repeats)
    tested = len(np.unique(np.concatenate([fold.test for fold in folds])))
    estimates, apparent_values, of_parts = work.estimates(ledger), work.values(work.apparent), means_of(values)
    columns = zip(estimates, apparent_values, of_parts, values.T, notes_on_values(values, "part"), strict=True)
    for row, apparent, mean, column, of_values in columns:
        extra = {f"{key}_mean": mean, f"{key}_sd": _deviation(column)}
        found = replace(row, notes=(*row.notes, *notes, *of_values), extra=extra)
        together += corrected_rows(work, found, apparent, tested)
        alone = Finding(measure=row.measure, model=row.model, level=work.level)
        for fold, value in zip(folds, column.tolist(), strict=True):
            keys = {key: fold.label} | ({"repeat": fold.repeat} if repeated else {})
            facts: dict[str, Any] = {"n": len(fold.test), "extra": {"n_train": float(len(fold.train))}}
            by_part.append(with_verdict(replace(alone, keys=keys, value=value, **facts)))
    by_model = values.T.reshape(len(work.apparent.models), len(work.measures), total)
    for place, measure in enumerate(work.measures):
        own = dict(zip(work.apparent.models, by_model[:, place], strict=True))
        together += compare_learners(own, folds, measure, work.level)
    return [*together, *by_part], ledger


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The forecasts of the cases of a part, and the values of the measures, of shape (rows,)."""

    forecasts: dict[str, NDArray[Any]]
    values: list[float]


def _forecast_part(work: Work, fold: Fold) -> _Part:
    forecasts, _ = work.sample.forecasts(work.sample.fitted(fold.train), fold.test)
    return _Part(forecasts, work.values(work.sample.ledger(fold.test, forecasts)))


def _notes_on_tests(folds: list[Fold], n: int, n_repeats: int) -> tuple[Note, ...]:
    """Return whether cases are never tested, or more often than once in a repeat."""
    times = np.bincount(np.concatenate([fold.test for fold in folds]), minlength=n)
    never, most = int((times == 0).sum()), int(times.max())
    notes = (Note("never-tested", {"number": never, "of": n}),) if never else ()
    return notes + (Note("tested-again", {"times": most, "all": bool((times == most).all())}),) * (most > n_repeats)


def _deviation(column: Floats) -> float:
    """Return the standard deviation of the defined values; NaN with fewer than two, or if one is infinite."""
    known = column[~np.isnan(column)]
    return float(known.std(ddof=1)) if len(known) > 1 and np.isfinite(known).all() else math.nan


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


def corrected_t(differences: Floats, share: float, level: float) -> tuple[float, float, float, float, float, float]:
    r"""Return the mean of differences with limits, error, statistic and p-value by Nadeau and Bengio.

    .. math:: t = \bar d / \sqrt{\left(\frac1J + \frac{n_2}{n_1}\right) s^2}

    with J parts, the variance :math:`s^2` of their differences, and :math:`n_2 / n_1`, the cases of a part divided by
    those that the learner is fitted to. Student's t has J - 1 degrees of freedom.

    Examples
    --------
    >>> mean, low, high, error, statistic, p = corrected_t(np.array([0.1, 0.2, 0.3]), 0.5, 0.95)
    >>> round(mean, 2), round(error, 4), round(p, 3)
    (0.2, 0.0913, 0.16)
    """
    parts = len(differences)
    if not np.isfinite(differences).all():
        with np.errstate(invalid="ignore"):
            mean = float(differences.sum())
        return mean, math.nan, math.nan, math.nan, math.nan, math.nan
    mean, spread = float(differences.mean()), float(differences.var(ddof=1))
    error = math.sqrt((1.0 / parts + share) * spread)
    margin = float(stdtrit(parts - 1, (1.0 + level) / 2.0)) * error
    statistic = mean / error if error > 0.0 else math.nan
    p_value = float(2.0 * stdtr(parts - 1, -abs(statistic)))
    return mean, mean - margin, mean + margin, error, statistic, p_value


def compare_learners(values: dict[str, Floats], folds: list[Fold], measure: Measure, level: float) -> Iterator[Finding]:
    """Yield a row for each pair of learners: the mean difference of their values in the same parts."""
    if len(values) < 2:
        return
    known = ~np.isnan(np.array(list(values.values()))).any(axis=0)
    facts: dict[str, Any] = {"measure": measure, "level": level, "units": int(known.sum())}
    notes = (Note("left-out", {"number": int((~known).sum()), "label": measure.label}),) if not known.all() else ()
    pairs = list(itertools.combinations(values, 2))
    if known.sum() < 2:
        why = Note("undefined", {"why": f"the {measure.label} is defined in {known.sum()} of {len(known)} parts"})
        yield from (with_verdict(Finding(model=one, against=other, notes=(why,), **facts)) for one, other in pairs)
        return
    train, test = (
        np.array([len(rows) for rows in (getattr(fold, name) for fold in folds)]) for name in ("train", "test")
    )
    share = float((test[known] / train[known]).mean())
    facts |= {"n": int(test[known].sum()), "method": METHOD}
    with np.errstate(invalid="ignore"):
        found = np.array([corrected_t(values[one][known] - values[other][known], share, level) for one, other in pairs])
    for names, gap, p_adjusted in zip(pairs, found.tolist(), holm(found[:, -1]).tolist(), strict=True):
        numbers = dict(zip(("value", "low", "high", "error", "t", "p"), gap, strict=True))
        extra = {"t": numbers.pop("t"), "df": int(known.sum()) - 1, "unit": "part", "left_out": int((~known).sum())}
        why_not = _why_untested(numbers["value"], numbers["error"])
        if why_not is not None and why_not.code == "no-spread":
            numbers |= {"low": math.nan, "high": math.nan}
        row = Finding(model=names[0], against=names[1], p_adjusted=p_adjusted, extra=extra, **facts, **numbers)
        yield with_verdict(replace(row, notes=notes if why_not is None else (why_not, *notes)))


def _why_untested(gap: float, error: float) -> Note | None:
    """Return why the mean difference in the parts is not tested; None if it is."""
    if not math.isfinite(gap):
        return Note("infinite", {"both": math.isnan(gap)})
    if error > 0.0:
        return None
    return Note("same") if gap == 0.0 else Note("no-spread", {"unit": "part"})
