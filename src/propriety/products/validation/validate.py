"""`validate`: how well an estimator would forecast new cases, from the cases that it is fitted to."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from propriety import checks, demands
from propriety.checks import check_level, check_resamples, fresh_seed
from propriety.errors import InputValueError
from propriety.inference.finding import Findings
from propriety.inference.measures.line import CalibrationSlope
from propriety.inference.measures.measure import Measure
from propriety.inference.measures.ranking import AreaUnderRoc
from propriety.inference.measures.reading import AnyMeasure, read_measure, read_measures
from propriety.ledger.ledger import Ledger
from propriety.products.validation.optimism import PLUS, rows_by_bootstrap
from propriety.products.validation.parts import rows_by_folds
from propriety.products.validation.resampled_fits import Sample, folds_of, folds_of_sites, repeats_of, value_in
from propriety.products.validation.rows import CORRECTED, Work
from propriety.rules.families import Brier, Log
from propriety.tables.labels import Labels

ValidationMethod: TypeAlias = Literal["bootstrap", "cross-validation", "leave-one-site-out"]
OF_EVENT = (AreaUnderRoc(), CalibrationSlope(), Brier())
OF_CLASSES = (Brier(), Log())
FOLDS, DRAWS = 10, 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Validation(Findings):
    """Corrected and apparent values of measures of learners, as findings; see `propriety.validate`.

    The statistic of a row is "corrected", the value for new cases with its limits; "apparent", that in the cases which
    the model was fitted to; "optimism", apparent minus corrected; or, by bootstrap, ".632+". By cross-validation there
    is a row for each part, with the key "fold" (and "repeat") or "site", and for each pair of learners.

    Parameters
    ----------
    imitation : {"bootstrap", "cross-validation", "leave-one-site-out"}
        How new cases were imitated.
    seed : int
        Seed of the draws or folds.
    n_resamples, n_folds, n_repeats : int
        Number of draws, of parts in each repeat, and of repeats.
    ledger : Ledger, optional
        By cross-validation, the forecasts of each case by models that were not fitted to it, by part.
    """

    imitation: ValidationMethod
    seed: int
    n_resamples: int | None = None
    n_folds: int | None = None
    n_repeats: int | None = None
    ledger: Ledger | None = field(default=None, metadata={"hidden": True})

    @property
    def corrected(self) -> Findings:
        """The values for new cases, a row for each learner and measure."""
        return self.where(statistic=CORRECTED)

    @property
    def apparent(self) -> Findings:
        """The values in the cases that the models were fitted to, in the same order."""
        return self.where(statistic="apparent")

    @property
    def optimism(self) -> Findings:
        """Apparent minus corrected values, in the same order."""
        return self.where(statistic="optimism")

    @property
    def corrected_632(self) -> Findings:
        """The .632+ estimates, of measures with a value for forecasts without information."""
        return self.where(statistic=PLUS)

    @property
    def parts(self) -> Findings:
        """The values in the parts of a cross-validation."""
        return self.rows(np.flatnonzero((self.statistic == "value") & (self.against == None)))  # noqa: E711  (of each row)

    def measure_named(self, measure: AnyMeasure | None = None) -> Measure:
        """Return one of the measures, by default the first."""
        measures = {one.key: one for one in self.corrected.measure}
        if measure is None:
            return next(iter(measures.values()))
        key = measure if isinstance(measure, str) else read_measure(measure).key
        return measures[checks.choice(key, "measure", list(measures))]

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as plain Python data, with how new cases were imitated."""
        facts = {name: getattr(self, name) for name in ("imitation", "seed", "n_resamples", "n_folds", "n_repeats")}
        return Findings.to_dict(self) | {name: fact for name, fact in facts.items() if fact is not None}

    def _facts(self) -> dict[str, Any]:
        return {"learners": list(dict.fromkeys(self.model.tolist())), "imitation": self.imitation, "seed": self.seed}

    def __str__(self) -> str:
        """Return the results in plain words, one sentence per learner and measure."""
        from propriety.products.validation.words import validation_words

        return "\n".join(validation_words(self))


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
        A row for each learner, measure and statistic; of a cross-validation, also for each part and pair of learners.

    Notes
    -----
    Intervals ignore that another sample would have given another model, so they may be too narrow in small samples.
    Harrell's correction is too small for learners that fit their training cases closely; a note says so if .632+
    differs widely. Formulas and simulations: `docs/reference/methods.md`.

    References
    ----------
    Harrell, Lee & Mark (1996), doi:10.1002/(SICI)1097-0258(19960229)15:4<361::AID-SIM168>3.0.CO;2-4; Efron & Tibshirani
    (1997), doi:10.1080/01621459.1997.10474007; Nadeau & Bengio (2003), doi:10.1023/A:1024068626366; Noma et al. (2021),
    doi:10.1002/sim.9148; Steyerberg & Harrell (2016), doi:10.1016/j.jclinepi.2015.04.005, for sites.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(150, 8))
    >>> y = rng.random(150) < 1 / (1 + np.exp(-X[:, 0]))
    >>> found = validate(LogisticRegression(C=1e6), X, y, n_resamples=20, seed=1)
    >>> found.corrected.measure[0].key, bool(found.corrected[0].value < found.apparent[0].value)
    ('auc', True)
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
    facts: dict[str, Any] = {}
    if method == "bootstrap":
        facts["n_resamples"] = DRAWS if n_resamples is None else n_resamples
        check_resamples(facts["n_resamples"])
        rows = list(rows_by_bootstrap(work, facts["n_resamples"], start))
    else:
        repeats = 1 if n_repeats is None else n_repeats
        checks.whole(repeats, "n_repeats", least=1)
        if method == "cross-validation":
            # A splitter may know the labels.
            named = None if groups is None or isinstance(cv, int | None) else np.asarray(groups)
            folds, key = folds_of(sample, FOLDS if cv is None else cv, repeats, named, start), "fold"
        else:
            folds, key = folds_of_sites(sample.groups), "site"
        rows, facts["ledger"] = rows_by_folds(work, folds, key)
        repeats = repeats_of(folds)
        facts |= {"n_repeats": repeats, "n_folds": len(folds) // repeats}
    return Validation.of(rows, imitation=method, seed=start, **facts)


def _check_options(method: str, given: dict[str, Any]) -> None:
    """Raise an error for options of another method, which would have no effect."""
    for name, value in given.items():
        own = "bootstrap" if name == "n_resamples" else "cross-validation"
        if value is not None and method != own:
            offender = f"the method is {method!r}"
            raise InputValueError(demands.only_with(f'method="{own}"'), argument=name, offender=offender)
