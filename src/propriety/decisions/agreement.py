"""Agreement of outcomes and decisions: the confusion matrix, and agreement beyond chance."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propriety.errors import InputTypeError, InputValueError, ProprietyError, Wording
from propriety.result import Floats, Score
from propriety.tables import laws
from propriety.tables.arrays import Reading, missing_cases, read_array
from propriety.tables.cases import Cases
from propriety.tables.censored_outcomes import check_known
from propriety.tables.labels import Labels
from propriety.tables.validation import read_cases, read_outcomes

CLASSES_HINT = Wording("pass {labels=}, the classes in order.")
MANY = 1000  # Larger numbers are not class indices, and their confusion matrix would not fit in memory.


@dataclass(frozen=True, slots=True, eq=False)
class DecidedCases:
    """Cases with the index of the class that happened and of the class decided on."""

    outcome: NDArray[np.intp]
    decision: NDArray[np.intp]
    weight: Floats | None
    labels: tuple[Any, ...]
    dropped: int

    @property
    def confusion(self) -> Floats:
        """Weight of the cases by class that happened (row) and class decided on (column)."""
        return confusion_matrix(self.outcome, self.decision, self.weight, len(self.labels))

    def score(self, value: float, **facts: Any) -> Score:
        """Return a score of these cases."""
        counted = len(self.outcome) if self.weight is None else int(np.count_nonzero(self.weight))
        weight = float(counted) if self.weight is None else float(self.weight.sum())
        return Score(value, n=counted, weight=weight, dropped=self.dropped, **facts)


def quadratic_weighted_kappa(
    y_true: ArrayLike | Cases,
    y_pred: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Labels | None = None,
) -> Score:
    r"""Agreement of decisions with ordered outcomes beyond chance, weighting far misses most; **higher is better**.

    With :math:`O_{ij}` the share of the cases with class :math:`i` and decision :math:`j`, and :math:`E_{ij} =
    O_{i\cdot} O_{\cdot j}` the share expected by chance,

    .. math:: \kappa = 1 - \frac{\sum_{ij} (i - j)^2 O_{ij}}{\sum_{ij} (i - j)^2 E_{ij}} ,

    which is 1 if all decisions are right, 0 for agreement by chance, and at least -1.

    Parameters
    ----------
    y_true : array-like of shape (n,), or Cases
        Outcomes, or cases with the probabilities of one model.
    y_pred : array-like of shape (n,) or (n, K)
        Decided classes, or class probabilities, from which the most probable class is decided on, the first of them in
        a tie.
    sample_weight
        As in `propriety.mean_score`.
    labels : sequence, optional
        The classes in order; needed unless they are 0, ..., K - 1.

    Returns
    -------
    Score
        NaN (0/0) if all outcomes and all decisions are the same class.

    Notes
    -----
    It depends on the class frequencies, so values from populations with other frequencies are not comparable, and a
    rare class counts little. To account for the costs of errors, use `propriety.expected_cost`.

    References
    ----------
    Cohen (1968), doi:10.1037/h0026256.

    Examples
    --------
    >>> from propriety.decisions.agreement import quadratic_weighted_kappa
    >>> quadratic_weighted_kappa([0, 1, 2, 2], [0, 1, 1, 2])
    Score(0.8, rule='quadratic_weighted_kappa', scale='-1 to 1, 0 by chance, higher is better', n=4)
    >>> rows = [[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]
    >>> float(quadratic_weighted_kappa(["low", "high"], rows, labels=["low", "mid", "high"]))
    1.0
    """
    cases = read_decisions(y_true, y_pred, sample_weight=sample_weight, labels=labels)
    return cases.score(
        float(kappa_of(cases.confusion)),
        rule="quadratic_weighted_kappa",
        scale="-1 to 1, 0 by chance",
        higher_is_better=True,
    )


def kappa_of(confusion: Floats) -> Floats:
    """Return the quadratic weighted kappa of confusion matrices of shape (..., K, K).

    Examples
    --------
    >>> import numpy as np
    >>> float(kappa_of(np.array([[2.0, 0.0], [1.0, 1.0]])))
    0.5
    """
    classes = np.arange(confusion.shape[-1])
    distance = np.subtract.outer(classes, classes) ** 2
    observed = (confusion * distance).sum(axis=(-2, -1))
    outcomes, decisions = confusion.sum(axis=-1), confusion.sum(axis=-2)
    chance = ((outcomes @ distance) * decisions).sum(axis=-1) / outcomes.sum(axis=-1)
    with np.errstate(invalid="ignore"):  # All outcomes and decisions are one class: 0/0.
        kappa: Floats = 1.0 - observed / chance
    return kappa


def confusion_matrix(
    outcome: NDArray[np.intp], decision: NDArray[np.intp], weight: Floats | None, classes: int
) -> Floats:
    """Return the weight of the cases by outcome (row) and decision (column)."""
    cells = np.bincount(outcome * classes + decision, weights=weight, minlength=classes * classes)
    return cells.reshape(classes, classes).astype(np.float64, copy=False)


def first_argmax(forecast: Floats) -> NDArray[np.intp]:
    """Return the most probable class for forecasts of shape (K, n), the first in a tie."""
    return np.argmax(forecast, axis=0)


def labels_at(labels: tuple[Any, ...], index: NDArray[np.intp]) -> NDArray[Any]:
    """Return the label of each index, in an array that preserves labels of mixed types.

    Examples
    --------
    >>> import numpy as np
    >>> labels_at(("low", "high"), np.array([1, 0])), labels_at((0, "rest"), np.array([1, 0]))
    (array(['high', 'low'], dtype='<U4'), array(['rest', 0], dtype=object))
    """
    plain = np.array(labels) if len({type(label) for label in labels}) == 1 else np.empty((0, 0))
    return (plain if plain.ndim == 1 else np.fromiter(labels, dtype=object, count=len(labels)))[index]


def read_decisions(
    y_true: object,
    y_pred: object,
    *,
    decide: Callable[[Floats, tuple[Any, ...]], NDArray[np.intp]] | None = None,
    classes: int | None = None,
    labels: Labels | None = None,
    **options: Any,
) -> DecidedCases:
    """Read outcomes with decisions, or with class probabilities, from which decisions are made.

    `decide` makes them of the probabilities and the labels; by default, the most probable class is decided. Whole
    numbers need no labels. They are then the indices of K `classes`, or of as many as occur.
    """
    check_known(y_true)
    if isinstance(y_true, Cases):
        cases = read_cases(y_true, y_pred, labels=labels, kind="classes", **options)
        return _decided_from(cases, decide)
    decided = read_array(y_pred, "y_pred", role="outcomes")
    if decided.values.ndim == 2 and decided.values.shape[1] == 1:
        missing_entries = None if decided.missing is None else decided.missing[:, 0]
        decided = replace(decided, values=decided.values[:, 0], missing=missing_entries, names=None)
    if decided.values.ndim != 1:
        try:
            cases = read_cases(y_true, y_pred, labels=labels, kind="classes", **options).checked()
        except ProprietyError as error:
            error.names["y_proba"] = "y_pred"
            raise
        return _decided_from(cases, decide)
    outcome = read_array(y_true, "y_true", role="outcomes")
    labels = None if labels is None else _listed(labels)
    names = _names(outcome, decided, classes) if labels is None else labels
    cases = read_outcomes(outcome, len(names), beside=decided, labels=labels, **options)
    decision = _places(decided, names, cases.rows)
    happened = _places(outcome, names, cases.rows) if labels is None else cases.outcomes()
    return DecidedCases(happened, decision, cases.weights(), cases.labels or (), dropped=cases.dropped)


def _decided_from(cases: Cases, decide: Callable[[Floats, tuple[Any, ...]], NDArray[np.intp]] | None) -> DecidedCases:
    """Return cases with the decisions made from their class probabilities."""
    forecast, outcomes, weight = cases.gathered()
    columns = cases.labels or ()
    decision = first_argmax(forecast) if decide is None else decide(forecast, columns)
    return DecidedCases(outcomes, decision, weight, columns, dropped=cases.dropped)


def _names(outcome: Reading, decided: Reading, classes: int | None) -> tuple[Any, ...]:
    """Return the labels of classes given as whole numbers: 0, ..., K - 1."""
    held = []
    for reading in (outcome, decided):
        values = np.asarray(reading.values[~missing_cases(reading)].tolist() or [0])
        if values.dtype.kind not in "biuf":
            law = Wording("must hold whole numbers unless {labels} are given")
            raise InputValueError(law, argument=reading.argument, hint=CLASSES_HINT)
        held.append(float(values.max()))
    if classes is not None:
        return tuple(range(classes))
    largest = max(held)
    if largest >= MANY:
        below = f"class indices must be below {MANY:,} unless labels are given; got {largest:g}"
        raise InputValueError(below, hint=CLASSES_HINT)
    return tuple(range(max(int(largest) + 1, 2)))


def _listed(labels: Labels) -> tuple[Any, ...]:
    if isinstance(labels, str | bytes | set | frozenset | dict) or not isinstance(labels, Iterable):
        raise InputTypeError("must be a list of the classes in order", argument="labels", got_type=labels)
    return tuple(labels)


def _places(decided: Reading, names: tuple[Any, ...], rows: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """Return the class index of each decision, or outcome, for the rows kept."""
    kept = decided.values if rows is None else decided.values[rows]
    laws.refuse_missing_floats(decided.argument, kept)
    place = {name: position for position, name in enumerate(names)}
    # Objects are looked up one by one; for numbers and text only the distinct values are looked up.
    values, inverse = np.unique(kept, return_inverse=True) if kept.dtype != object else (kept, None)
    index = np.array(
        [place.get(value, -1) if isinstance(value, Hashable) else -1 for value in values.tolist()], dtype=np.intp
    )
    index = index if inverse is None else index[inverse]
    if (index < 0).any():
        hint = Wording(
            "name every class in {labels=}, or pass rows of probabilities, such as {rows}.",
            rows="numpy.column_stack([1 - p, p])",
        )
        laws.refuse(decided.argument, laws.labels_law(names), index < 0, kept, rows, hint=hint)
    return index
