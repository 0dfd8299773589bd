"""scikit-learn: recalibrated classifiers, and scorers for model selection, for the main rules by name and for any rule.

A scorer is the negative mean loss, so that higher is better, as scikit-learn expects. It uses the classes that the
classifier learned, `classes_`, so that a fold without some class is scored like any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from propriety import checks, demands
from propriety.errors import InputTypeError, InputValueError, Wording
from propriety.integrations import load_library
from propriety.integrations.model_outputs import event_or_rows
from propriety.integrations.recalibrated_classifier import MapTransformer, RecalibratedClassifier
from propriety.rules.class_rules import PenalizedBrier, PenalizedLog, RankedProbability
from propriety.rules.families import Brier, Log, Spherical
from propriety.rules.rule import Rule, check_rule
from propriety.rules.scoring import mean_score
from propriety.tables.labels import Labels

__all__ = [
    "MapTransformer",
    "RecalibratedClassifier",
    "RuleScorer",
    "check_columns",
    "get_scorer",
    "get_scorer_names",
    "rule_scorer",
]

Estimator: Any = load_library("sklearn.base", extra="sklearn").BaseEstimator
validation: Any = load_library("sklearn.utils.validation", extra="sklearn")
UNUSED: str = load_library("sklearn.utils.metadata_routing", extra="sklearn").UNUSED

SCORED: dict[str, Rule] = {
    f"neg_{rule.name}": rule
    for rule in (Brier(), Log(), Spherical(), RankedProbability(), PenalizedBrier(), PenalizedLog())
}


class RuleScorer(Estimator):  # type: ignore[misc]  # scikit-learn ships no types
    r"""A scorer in the form that scikit-learn calls, made by `rule_scorer` or `get_scorer`.

    The score of a fitted classifier is :math:`-\sum_i w_i S(p_i, y_i) / \sum_i w_i`, where :math:`S` is the rule's loss
    and :math:`p_i` comes from `predict_proba`; higher is better. It is an estimator because `set_score_request`,
    through which metadata routing passes weights, requires one.

    Parameters
    ----------
    rule, labels, pos_label
        As in `rule_scorer`.

    Examples
    --------
    >>> import propriety as pr
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = [[0], [1], [2], [3], [4], [5]], [0, 0, 1, 0, 1, 1]
    >>> cross_val_score(LogisticRegression(), X, y, scoring=rule_scorer(pr.Brier()), cv=3).round(2)
    array([-0.3, -0.1, -0.3])
    """

    # `score` takes an estimator in addition to the data, which is not metadata.
    __metadata_request__score = {"estimator": UNUSED}  # noqa: RUF012  (scikit-learn's form)

    def __init__(self, rule: Rule, *, labels: Labels | None = None, pos_label: Any = None) -> None:
        self.rule = rule
        self.labels = labels
        self.pos_label = pos_label

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803  (scikit-learn's name)
        """Return the negative mean loss of a fitted classifier; higher is better."""
        return self.score(estimator, X, y, sample_weight=sample_weight)

    def score(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803  (scikit-learn's name)
        """Return the negative mean loss of a fitted classifier; higher is better."""
        rows, y = _rows(estimator, X), _one_column(y)
        classes = _plain_labels(estimator.classes_)
        labels = self._order(classes)
        check_columns(estimator, y, labels=labels)
        # A class that the classifier never saw has no column, and its probability is 0.
        none = np.zeros(len(rows), dtype=rows.dtype)  # Of the same precision, by which rows may deviate from 1.
        columns = [rows[:, classes.index(label)] if label in classes else none for label in labels]
        forecast = event_or_rows(self.rule, np.column_stack(columns))
        return 0.0 - float(mean_score(y, forecast, rule=self.rule, labels=labels, sample_weight=sample_weight))

    def _order(self, classes: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the labels in the order that the rule expects: as declared, with the event last."""
        labels = classes if self.labels is None else _plain_labels(self.labels)
        if set(classes) - set(labels):
            law = f"must name every class of the estimator, {list(classes)}"
            raise InputValueError(law, argument="labels", offender=f"got {list(labels)}")
        ordered = self.rule.properties(len(labels)).distance_sensitive
        if self.labels is None and len(labels) > 2 and ordered and any(isinstance(label, str) for label in labels):
            law = f"{type(self.rule).__name__} needs the order of the classes; alphabetical order is {list(labels)}"
            raise InputValueError(law, hint="pass labels=, from the lowest class to the highest.")
        if self.pos_label is None:
            return labels
        if len(labels) != 2 or self.pos_label not in labels:
            law = "must be one of two classes"
            raise InputValueError(
                law, argument="pos_label", offender=f"it is {self.pos_label!r} and the classes are {list(labels)}"
            )
        return (*(label for label in labels if label != self.pos_label), self.pos_label)


def rule_scorer(rule: Rule, *, labels: Labels | None = None, pos_label: Any = None) -> RuleScorer:
    """Return the scorer of any rule: the negative of its mean loss, so that higher is better.

    Parameters
    ----------
    rule : Rule
        The scoring rule. With two classes, a rule for one event scores the second class, or `pos_label`.
    labels : sequence, optional
        All classes, in order for rules of ordered classes that are not numbers; include those that a training fold may
        lack, whose probability is then 0. The default is the classifier's `classes_`.
    pos_label : label, optional
        Which of two classes is the event, by default the last of `labels`, as in scikit-learn.

    Returns
    -------
    RuleScorer
        To be passed as `scoring`. With metadata routing, `set_score_request(sample_weight=True)` requests weights.

    Examples
    --------
    >>> import propriety as pr
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0], [1], [2], [3]], ["no", "yes", "no", "yes"]
    >>> scorer = rule_scorer(pr.BoundedBrier(0.2, 0.5), pos_label="yes")
    >>> round(scorer(LogisticRegression().fit(X, y), X, y), 6)
    -0.142795
    """
    check_rule(rule)
    return RuleScorer(rule, labels=labels, pos_label=pos_label)


def get_scorer(name: str, *, labels: Labels | None = None, pos_label: Any = None) -> RuleScorer:
    """Return the scorer of one of the main rules by name.

    Parameters
    ----------
    name : str
        One of `get_scorer_names`: the rule's name after ``neg_``.
    labels, pos_label
        As in `rule_scorer`.

    Returns
    -------
    RuleScorer
        To be passed as `scoring`.

    Examples
    --------
    >>> get_scorer("neg_ranked_probability", labels=["none", "mild", "severe"])
    RuleScorer(labels=['none', 'mild', 'severe'], rule=RankedProbability())
    """
    checks.choice(name, "name", get_scorer_names(), hint="rule_scorer(rule) makes the scorer of any rule.")
    return rule_scorer(SCORED[name], labels=labels, pos_label=pos_label)


def get_scorer_names() -> list[str]:
    """Return the names that `get_scorer` accepts.

    Returns
    -------
    list of str
        In alphabetical order.

    Examples
    --------
    >>> get_scorer_names()
    ['neg_brier', 'neg_log', 'neg_penalized_brier', 'neg_penalized_log', 'neg_ranked_probability', 'neg_spherical']
    """
    return sorted(SCORED)


def check_columns(estimator: Any, y: Any, *, labels: Labels | None = None) -> None:
    """Check that every outcome has a column in a classifier's `predict_proba`.

    Parameters
    ----------
    estimator : classifier
        A fitted classifier; its `classes_` name the columns.
    y : array-like of shape (n,)
        Outcomes.
    labels : sequence, optional
        The allowed labels, by default `classes_`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> check_columns(LogisticRegression().fit([[0], [1]], ["a", "b"]), ["a", "c", "b"])
    Traceback (most recent call last):
    propriety.errors.InputValueError: y must hold classes that LogisticRegression has learnt, ['a', 'b']; row 1 is 'c'
    (1 of 3 rows). Hint: stratify the folds, or name all classes in labels=.
    """
    known = _plain_labels(estimator.classes_ if labels is None else labels)
    outcomes, allowed = _plain_labels(_one_column(y)), set(known)
    unknown = [row for row, outcome in enumerate(outcomes) if outcome not in allowed]
    if unknown:
        law = f"must hold classes that {type(estimator).__name__} has learnt, {list(known)}"
        row, offender = int(unknown[0]), f"is {outcomes[unknown[0]]!r}"
        count = f"{len(unknown):,} of {len(outcomes):,} rows"
        hint = Wording("stratify the folds, or name all classes in {labels=}.")
        raise InputValueError(law, argument="y", row=row, offender=offender, count=count, hint=hint)


def _rows(estimator: Any, X: Any) -> NDArray[Any]:  # noqa: N803  (scikit-learn's name)
    if not hasattr(estimator, "predict_proba"):
        raise InputTypeError(demands.probabilities_of(estimator), argument="estimator")
    rows = np.asarray(estimator.predict_proba(X))
    if rows.ndim != 2 or rows.shape[1] != len(estimator.classes_):
        law = "predict_proba must return one column for each of the estimator's classes_"
        raise InputValueError(law, offender=f"its shape is {rows.shape}", hint="score one output at a time.")
    return rows


def _one_column(y: Any) -> Any:
    """Return a column of labels, of shape (n, 1), in one dimension, as scikit-learn's scorers read it."""
    return validation.column_or_1d(y) if np.ndim(y) == 2 else y


def _plain_labels(labels: Any) -> tuple[Any, ...]:
    """Return labels as plain Python values, which compare equal if they look equal."""
    return tuple(np.asarray(labels).tolist()) if not isinstance(labels, list | tuple) else tuple(labels)
