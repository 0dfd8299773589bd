"""Displays in the manner of scikit-learn: from predictions or from an estimator, then `.plot()`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from propriety.calibration.reliability import ReliabilityCurve, reliability_curve
from propriety.errors import InputTypeError, InputValueError, sentence

__all__ = ["ReliabilityDisplay"]


class ReliabilityDisplay:
    """A reliability diagram as scikit-learn shows things.

    Parameters
    ----------
    curve : ReliabilityCurve
        What is drawn; with its bands.
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

    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, curve: ReliabilityCurve, *, name: str = "") -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        y_true: object,
        y_proba: object,
        *,
        name: str = "",
        level: float | None = 0.9,
        seed: int | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Make and draw the diagram; `level=None` leaves the consistency band out.

        The options are those of `propriety.reliability_curve`.
        """
        curve = reliability_curve(y_true, y_proba, **options)
        if level is not None:
            curve = curve.with_consistency_band(level=level, seed=seed)
        return cls(curve, name=name).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,  # noqa: N803  (scikit-learn's name)
        y: Any,
        *,
        pos_label: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Make and draw the diagram of a fitted binary classifier.

        The column of `predict_proba` is that of `pos_label` among the estimator's `classes_`, by default the last,
        as scikit-learn has it.
        """
        if not hasattr(estimator, "predict_proba"):
            law = f"estimator must have predict_proba; {type(estimator).__name__} has not"
            raise InputTypeError(sentence(law))
        classes = list(estimator.classes_)
        if len(classes) != 2:
            law = f"estimator must tell two classes apart; it has {len(classes)}"
            hint = "draw one curve per class with ForecastTable.per_class and plots.plot_grid."
            raise InputValueError(sentence(law, hint=hint))
        event = classes[-1] if pos_label is None else pos_label
        if event not in classes:
            raise InputValueError(sentence(f"pos_label must be one of {classes}; got {event!r}"))
        proba = np.asarray(estimator.predict_proba(X))[:, classes.index(event)]
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(np.asarray(y), proba, name=name, pos_label=event, **options)

    def plot(self, ax: Axes | None = None, **options: Any) -> Self:
        """Draw the diagram on `ax`, or on new axes."""
        self.ax_ = self.curve.plot(ax, label=self.name, **options)
        self.figure_ = self.ax_.figure
        return self
