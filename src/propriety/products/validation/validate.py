"""`validate`: how well an estimator would forecast new cases, from the cases that it is fitted to."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from propriety import checks, demands
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import InputValueError
from propriety.inference.finding import Finding, Findings
from propriety.inference.measures.line import CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.inference.measures.reading import AnyMeasure, read_measure, read_measures
from propriety.inference.notes import Note
from propriety.inference.verdict import holm, with_verdict
from propriety.ledger.ledger import Ledger
from propriety.number_words import capitalized, counted, number, percent
from propriety.products.validation.columns import FoldValues, Work, columns_by_bootstrap, columns_by_folds
from propriety.products.validation.resampled_fits import Sample, folds_of, folds_of_sites, value_in
from propriety.result import Floats, Names, Result
from propriety.rules.families import Brier, Log
from propriety.tables.labels import Labels

ValidationMethod: TypeAlias = Literal["bootstrap", "cross-validation", "leave-one-site-out"]
OF_EVENT = (AreaUnderRoc(), CalibrationSlope(), Brier())
OF_CLASSES = (Brier(), Log())
FOLDS, DRAWS = 10, 200
METHOD = "t test with the error of Nadeau and Bengio"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Validation(Result):
    """Apparent and corrected values of measures, one row per model and measure; see `propriety.validate`.

    Parameters
    ----------
    model, measure : ndarray of str of shape (rows,)
        The learner, and the key of the measure.
    apparent : ndarray of shape (rows,)
        Value in the cases that the model was fitted to.
    optimism : ndarray of shape (rows,)
        Apparent minus corrected value.
    corrected, low, high : ndarray of shape (rows,)
        Estimate for new cases, and its interval; see the notes of `propriety.validate`.
    corrected_632 : ndarray of shape (rows,), optional
        By bootstrap, the .632+ estimate; NaN for measures without a value for forecasts without information, and if a
        class has a single case.
    fold_mean, fold_spread : ndarray of shape (rows,), optional
        By cross-validation, mean and standard deviation of the values in the parts.
    method : str
        How new cases were imitated.
    n, n_resamples, n_folds, n_repeats : int
        Number of cases that `corrected` is computed from, of draws, of parts in each repeat, and of repeats.
    seed : int
        Seed of the draws or folds.
    level : float
        Level of the intervals.
    note : str
        A caveat, if any.
    measures : tuple of Measure
        The measures.
    folds : FoldValues, optional
        By cross-validation, the values in the parts.
    ledger : Ledger, optional
        By cross-validation, the forecasts of each case by models that were not fitted to it, with the key "fold" (and
        "repeat"), or "site".
    """

    main_columns: ClassVar[tuple[str, ...]] = ("model", "measure", "apparent", "optimism", "corrected", "low", "high")
    facts: ClassVar[tuple[str, ...]] = ("models", "measures", "method", "n", "level")

    model: Names
    measure: Names
    apparent: Floats
    optimism: Floats
    corrected: Floats
    low: Floats
    high: Floats
    corrected_632: Floats | None = None
    fold_mean: Floats | None = None
    fold_spread: Floats | None = None
    method: ValidationMethod
    n: int
    n_resamples: int | None = None
    n_folds: int | None = None
    n_repeats: int | None = None
    seed: int
    level: float
    note: str
    measures: tuple[Measure, ...] = field(metadata={"hidden": True})
    folds: FoldValues | None = field(default=None, metadata={"hidden": True})
    ledger: Ledger | None = field(default=None, metadata={"hidden": True})

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the learners."""
        return tuple(dict.fromkeys(self.model.tolist()))

    def compare(self, measure: AnyMeasure | None = None, *, reference: str | None = None) -> Findings:
        """Compare learners by their values in the same parts, with the error of Nadeau and Bengio (`corrected_t`).

        Training parts overlap, so values in different parts are correlated, and a t test that ignores this finds
        differences far too often. The comparison is of learners trained on samples of this size, not of two models.

        Parameters
        ----------
        measure : measure or rule, optional
            One of the measures; by default the first.
        reference : str, optional
            The learner with which all others are compared; by default every pair is compared.

        Returns
        -------
        Findings
            A row for each pair, as of `propriety.compare`: the mean over the parts of the value of `model` minus that
            of `against`. `units` is the number of parts; those in which the measure is undefined are left out.

        References
        ----------
        Nadeau & Bengio (2003), doi:10.1023/A:1024068626366; Bouckaert & Frank (2004),
        doi:10.1007/978-3-540-24775-3_3, for repeated folds.
        """
        if self.folds is None or len(self.models) < 2:
            law = "learners are compared by the parts of a cross-validation of two learners or more"
            raise InputValueError(law, hint='pass estimator={"a": ..., "b": ...} and method="cross-validation".')
        if reference is not None:
            checks.choice(reference, "reference", self.models)
        asked = self.measure_named(measure)
        folds = self.folds
        rows = {name: (folds.model == name) & (folds.measure == asked.key) for name in self.models}
        first = rows[self.models[0]]
        pairs = list(itertools.combinations(self.models, 2))
        if reference is not None:
            pairs = [(name, reference) for name in self.models if name != reference]
        values = {name: folds.value[own] for name, own in rows.items()}
        return compare_learners(values, pairs, (folds.n_train[first], folds.n_test[first]), asked, self.level)

    def __str__(self) -> str:
        """Return the results in plain words, one sentence per model and measure."""
        return "\n".join(self._sentences())

    def measure_named(self, measure: AnyMeasure | None = None) -> Measure:
        """Return one of the measures, by default the first."""
        if measure is None:
            return self.measures[0]
        key = measure if isinstance(measure, str) else read_measure(measure).key
        measures = {one.key: one for one in self.measures}
        return measures[checks.choice(key, "measure", list(measures))]

    def _sentences(self) -> Iterator[str]:
        labels = {one.key: one.label for one in self.measures}
        several = len(self.models) > 1
        for row, key in enumerate(self.measure.tolist()):
            name = capitalized(labels[key]) + (f" of {self.model[row]}" if several else "")
            limits = ""
            if not math.isnan(self.low[row]):
                limits = f", {percent(self.level)} CI {number(self.low[row])} to {number(self.high[row])}"
            if math.isnan(self.corrected[row]):
                known = not math.isnan(self.apparent[row])
                yield f"{name}: undefined" + (f" (apparent {number(self.apparent[row])})." if known else ".")
                continue
            apparent = f"apparent {number(self.apparent[row])}, optimism {number(self.optimism[row])}"
            yield f"{name}: {number(self.corrected[row])}{limits} ({apparent})."
        yield f"{_in_words(self)}." + (f" {self.note}" if self.note else "")


def validate(  # noqa: PLR0913  (the data, what is asked, and how new cases are imitated)
    estimator: Any,
    X: Any,  # noqa: N803  (scikit-learn's name)
    y_true: ArrayLike,
    *,
    measures: Sequence[AnyMeasure] = (),
    method: ValidationMethod = "bootstrap",
    cv: Any = None,
    n_repeats: int | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int | None = None,
    seed: int | None = None,
    workers: int = 1,
    progress: bool = False,
    pos_label: Hashable | None = None,
    labels: Labels | None = None,
) -> Validation:
    r"""Estimate how well a learner's model would forecast new cases, using only the cases that it is fitted to.

    A model looks better in the cases that it was fitted to (apparent value) than in new cases. Three methods correct
    for this optimism. They repeat every step of the fit, so put selection, scaling and tuning into the estimator.

    - ``"bootstrap"``: the optimism is the mean difference between the values of fits to drawn cases in the drawn cases
      and in all cases (Harrell); `corrected_632` has the .632+ estimate.
    - ``"cross-validation"``: every case is forecast by a model fitted to the other parts.
    - ``"leave-one-site-out"``: the same with sites (`groups`) as parts, which are a key of `ledger`.

    Parameters
    ----------
    estimator : estimator, or mapping of str to estimators
        Classifiers of scikit-learn, with `fit` and `predict_proba`; they are copied, not changed.
    X, y_true : array-like or data frame of shape (n, features), and array-like of shape (n,)
        Features and outcomes. The pandas indices of X, y_true and groups must be the same.
    measures : sequence of measures or rules
        By default the area under the ROC curve, calibration slope and Brier score; for classes Brier and log score.
    method : {"bootstrap", "cross-validation", "leave-one-site-out"}
        How new cases are imitated.
    cv : int or splitter, optional
        Number of stratified folds (10), a splitter of scikit-learn, or pairs of rows to fit to and to test.
    groups : array-like of shape (n,), optional
        Groups of cases, such as patients, that are drawn, or put into folds, as a whole; or the sites.
    n_repeats, n_resamples, seed : int, optional
        Repeats of a cross-validation with other folds (1), draws of the bootstrap (200), and seed. Estimators that draw
        random numbers need a `random_state` of their own.
    level, workers, progress, pos_label, labels
        Level of the intervals; number of threads, without effect on the result; the rest as in `propriety.evaluate`.

    Returns
    -------
    Validation
        Apparent value, optimism and corrected value of each model and measure; `compare` compares learners.

    Notes
    -----
    Intervals ignore that another sample would have given another model, so they may be too narrow in small samples.
    Harrell's correction is too small for learners that fit their training cases closely; `note` says so if .632+
    differs widely. Formulas and simulations: `docs/reference/methods.md`.

    References
    ----------
    Harrell, Lee & Mark (1996), doi:10.1002/(SICI)1097-0258(19960229)15:4<361::AID-SIM168>3.0.CO;2-4; Efron & Tibshirani
    (1997), doi:10.1080/01621459.1997.10474007; Noma et al. (2021), doi:10.1002/sim.9148; Steyerberg & Harrell (2016),
    doi:10.1016/j.jclinepi.2015.04.005, for sites.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(150, 8))
    >>> y = rng.random(150) < 1 / (1 + np.exp(-X[:, 0]))
    >>> found = validate(LogisticRegression(C=1e6), X, y, n_resamples=20, seed=1)
    >>> found
    Validation(models=['model'], measures=['auc', 'calibration_slope', 'brier'], method=bootstrap, n=150, level=0.95)
    >>> bool(found.corrected[0] < found.apparent[0])
    True
    """
    check_level(level)
    checks.choice(method, "method", get_args(ValidationMethod))
    checks.whole(workers, "workers", least=1)
    _check_options(method, {"cv": cv, "n_repeats": n_repeats, "n_resamples": n_resamples})
    asked = read_measures(measures)
    for one in asked:
        if one.instead is not None:
            law = f"cannot contain the {one.label}, which has no optimism: noise inflates it in every sample"
            hint = "pass the ledger of a cross-validation of another measure to propriety.estimate."
            raise InputValueError(law, argument="measures", hint=hint)
    sample = Sample.of(estimator, X, y_true, pos_label, labels, groups)
    parts = None if sample.groups is None else sample.groups.codes
    start = fresh_seed(seed)
    every = np.arange(len(sample))
    forecasts, known = sample.forecasts(sample.fitted(every), every)
    sample = replace(sample, labels=known)
    apparent = sample.ledger(every, forecasts, cluster=parts if method == "bootstrap" else None)
    asked = asked or read_measures(OF_EVENT if apparent.labels is None else OF_CLASSES)
    if apparent.labels is not None:
        for one in asked:
            value_in(apparent, one, apparent.models[0])  # Measures of one event raise an error here.
    work = Work(sample, apparent, asked, parts, level, workers, progress)
    if method == "bootstrap":
        draws = DRAWS if n_resamples is None else n_resamples
        check_resamples(draws)
        columns = columns_by_bootstrap(work, draws, start)
    elif method == "cross-validation":
        parts_of, repeats = FOLDS if cv is None else cv, 1 if n_repeats is None else n_repeats
        checks.whole(repeats, "n_repeats", least=1)
        # A splitter may know the labels.
        named = None if groups is None or isinstance(parts_of, int) else np.asarray(groups)
        columns = columns_by_folds(work, folds_of(sample, parts_of, repeats, named, start), "fold")
    else:
        columns = columns_by_folds(work, folds_of_sites(sample.groups), "site")
    return Validation(**columns, method=method, seed=start, level=level, measures=asked)


def _check_options(method: str, given: dict[str, Any]) -> None:
    """Raise an error for options of another method, which would have no effect."""
    for name, value in given.items():
        own = "bootstrap" if name == "n_resamples" else "cross-validation"
        if value is not None and method != own:
            offender = f"the method is {method!r}"
            raise InputValueError(demands.only_with(f'method="{own}"'), argument=name, offender=offender)


def _in_words(found: Validation) -> str:
    """Say how new cases were imitated."""
    if found.method == "bootstrap":
        samples = counted(found.n_resamples or 0, "bootstrap sample")
        return f"Corrected for optimism by {samples} of {counted(found.n, 'case')}"
    if found.method == "leave-one-site-out":
        return f"Each of {found.n_folds} sites forecast by a model fitted to the others, {counted(found.n, 'case')}"
    again = f", repeated {found.n_repeats} times" if (found.n_repeats or 1) > 1 else ""
    return f"{found.n_folds}-fold cross-validation{again}, {counted(found.n, 'case')}"


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


def compare_learners(
    values: dict[str, Floats],
    pairs: Sequence[tuple[str, str]],
    sizes: tuple[NDArray[np.int64], NDArray[np.int64]],
    measure: Measure,
    level: float,
) -> Findings:
    """Compare learners by their values in the same parts; `sizes` are the cases fitted to and those of the part."""
    if measure.instead is not None:
        law = f"differences in {measure.label} are not tested: noise inflates it, for each model differently"
        raise InputValueError(law, hint=f"compare the {measure.instead.label}.")
    known = ~np.isnan(np.array(list(values.values()))).any(axis=0)
    if known.sum() < 2:
        law = f"the {measure.label} must be defined in two parts or more"
        raise InputValueError(
            law, offender=f"it is defined in {known.sum()} of {len(known)}", hint="pass a smaller cv."
        )
    train, test = (size[known] for size in sizes)
    share = float((test / train).mean())
    with np.errstate(invalid="ignore"):
        gaps = [values[one][known] - values[other][known] for one, other in pairs]
    found = np.array([corrected_t(gap, share, level) for gap in gaps])
    facts: dict[str, Any] = {"measure": measure, "level": level, "n": int(test.sum()), "units": int(known.sum())}
    more = {"df": int(known.sum()) - 1, "unit": "part", "left_out": int((~known).sum())}
    left_out = (Note("left-out", {"number": more["left_out"], "label": measure.label}),) if more["left_out"] else ()
    rows = []
    for names, gap, p_adjusted in zip(pairs, found.tolist(), holm(found[:, -1]).tolist(), strict=True):
        numbers = dict(zip(("value", "low", "high", "error", "t", "p"), gap, strict=True))
        extra = {"t": numbers.pop("t"), **more}
        why = _why_untested(numbers["value"], numbers["error"])
        if why is not None and why.code == "no-spread":
            numbers |= {"low": math.nan, "high": math.nan}
        notes = left_out if why is None else (why, *left_out)
        one, other = names
        row = Finding(
            model=one, against=other, p_adjusted=p_adjusted, method=METHOD, notes=notes, extra=extra, **facts, **numbers
        )
        rows.append(with_verdict(row))
    return Findings.of(rows)


def _why_untested(gap: float, error: float) -> Note | None:
    """Return why the mean difference in the parts is not tested; None if it is."""
    if not math.isfinite(gap):
        return Note("infinite", {"both": math.isnan(gap)})
    if error > 0.0:
        return None
    return Note("same") if gap == 0.0 else Note("no-spread", {"unit": "part"})
