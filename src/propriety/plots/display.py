"""Displays like those of scikit-learn: from predictions, an estimator or cross-validation, then `.plot()`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from propriety import checks, demands
from propriety.calibration.reliability import ReliabilityCurve, reliability_curve
from propriety.decisions.decision_curves import decision_curve
from propriety.errors import InputTypeError, InputValueError


class Display:
    """A curve with the interface of a scikit-learn display, and the axes that it was drawn on."""

    ax_: Axes
    figure_: Figure | SubFigure
    compute: ClassVar[Callable[..., Any]]

    def __init__(self, curve: Any, *, name: str = "") -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_proba: ArrayLike, *, name: str = "", ax: Axes | None = None, **options: Any
    ) -> Self:
        """Compute and draw the curve of predictions; the options are those of the curve."""
        return cls(cls.compute(y_true, y_proba, **options), name=name).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> Self:  # noqa: N803  (scikit-learn's name)
        """Compute and draw the curve of a fitted binary classifier.

        The column of `predict_proba` is that of `pos_label` among the `classes_` of the estimator, by default the last,
        as in scikit-learn. The other arguments are those of `from_predictions`.
        """
        everything = {"estimator": [estimator], "indices": {"test": [np.arange(len(y))]}}
        return cls.from_cv_results(everything, X, y, **options)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,  # noqa: N803  (scikit-learn's name)
        y: Any,
        *,
        sample_weight: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Compute and draw the curve of all held-out forecasts of a cross-validation, one per case.

        `cv_results` is what scikit-learn's `cross_validate` returns for the same `X` and `y` with
        ``return_estimator=True, return_indices=True``. The other arguments are those of `from_estimator`.
        """
        if not {"estimator", "indices"} <= set(cv_results):
            hint = "pass return_estimator=True and return_indices=True to cross_validate."
            raise InputValueError("must contain the estimators and the indices", argument="cv_results", hint=hint)
        estimators, tests = cv_results["estimator"], cv_results["indices"]["test"]
        rows = np.concatenate(tests)
        if len(np.unique(rows)) < len(rows):
            law = "every case must be held out once; some are held out several times"
            raise InputValueError(law, hint="split by KFold, or draw each repetition separately.")
        event, columns = pos_label, []
        for estimator, test in zip(estimators, tests, strict=True):
            column, event = _event_column(estimator, pos_label)
            of_fold = X.iloc[test] if hasattr(X, "iloc") else (np.asarray(X) if isinstance(X, list) else X)[test]
            columns.append(np.asarray(estimator.predict_proba(of_fold))[:, column])
        return cls.from_predictions(
            np.asarray(y)[rows],
            np.concatenate(columns),
            name=type(estimators[0]).__name__ if name is None else name,
            pos_label=event,
            sample_weight=None if sample_weight is None else np.asarray(sample_weight)[rows],
            **options,
        )

    def plot(self, ax: Axes | None = None, **options: Any) -> Self:
        """Draw the curve on `ax`, or on new axes; the options are those of its `plot` method."""
        self.ax_ = self.curve.plot(ax, **({"label": self.name} if self.name else {}) | options)
        self.figure_ = self.ax_.figure
        return self


def _with_band(
    y_true: ArrayLike, y_proba: ArrayLike, *, level: float | None = 0.9, seed: int | None = None, **options: Any
) -> ReliabilityCurve:
    curve = reliability_curve(y_true, y_proba, **options)
    return curve if level is None else curve.with_consistency_band(level=level, seed=seed)


class ReliabilityDisplay(Display):
    """A reliability diagram with the interface of a scikit-learn display.

    The options are those of `propriety.reliability_curve`, and `level` and `seed` of the consistency band, 0.9 by
    default; `level=None` omits the band.

    Parameters
    ----------
    curve : ReliabilityCurve
        The curve to draw, with its bands.
    name : str
        Name of the model.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> import propriety as pr
    >>> display = pr.ReliabilityDisplay.from_predictions([0, 1, 0, 1] * 10, [0.1, 0.3, 0.4, 0.8] * 10, seed=1)
    >>> display.ax_.get_xlabel()
    'Forecast probability'
    """

    compute = staticmethod(_with_band)


class DecisionCurveDisplay(Display):
    """A decision curve with the interface of a scikit-learn display.

    The options are those of `propriety.decision_curve`.

    Parameters
    ----------
    curve : ThresholdCurve
        The curve to draw.
    name : str
        Name of the model.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> from propriety.plots.display import DecisionCurveDisplay
    >>> display = DecisionCurveDisplay.from_predictions([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8], name="triage")
    >>> display.ax_.get_ylabel()
    'Net benefit (true positives per case)'
    """

    compute = staticmethod(decision_curve)


def _event_column(estimator: Any, pos_label: Any) -> tuple[int, Any]:
    """Return the column of the event in the probabilities of a classifier, and its label."""
    if not hasattr(estimator, "predict_proba"):
        raise InputTypeError(demands.probabilities_of(estimator), argument="estimator")
    classes = list(estimator.classes_)
    if len(classes) != 2:
        hint = "draw one curve per class with propriety.condense(y, rows).tables() and plots.plot_grid."
        offender = f"it has {len(classes)}"
        raise InputValueError("must be a classifier of two classes", argument="estimator", offender=offender, hint=hint)
    event = classes[-1] if pos_label is None else pos_label
    return classes.index(checks.choice(event, "pos_label", classes)), event
