"""What an interval is made from: predictions with their clusters, or an unweighted table in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from propriety.errors import InputTypeError, InputValueError, sentence
from propriety.inference.bootstrap import Units
from propriety.inference.measures import Measure
from propriety.inference.samples import Sample
from propriety.inference.verdicts import counted
from propriety.results import Floats
from propriety.rules.rule import BinaryRule, Rule
from propriety.rules.scoring import losses_by_chunk, observed_rates
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.models import Keys, read_keys
from propriety.tables.predictions import BinaryPredictions, ClassPredictions, Predictions
from propriety.tables.validation import read_predictions

__all__ = ["Evidence", "few_in_words"]

FEWEST = {"cluster": 40, "event": 50, "non-event": 50}  # With fewer, an interval says that it may be too narrow.


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the interval is made from: predictions with their clusters, or an unweighted table in their place."""

    predictions: Predictions | None
    table: ForecastTable | None
    keys: Keys | None

    @classmethod
    def read(cls, y_true: object, y_proba: object, cluster: object, options: dict[str, Any]) -> Evidence:
        """Judge what the user gave; the options are those of the door."""
        if not isinstance(y_true, ForecastTable):
            predictions = read_predictions(y_true, y_proba, **options)
            keys = None
            if cluster is not None:
                keys = read_keys(cluster, "cluster", predictions, beside=y_true, forecasts=(y_proba,))
            return cls(predictions, None, keys)
        if cluster is not None:
            law = "clusters need predictions, y_true and y_proba; a ForecastTable no longer knows its cases"
            raise InputTypeError(sentence(law))
        beside = {name: value for name, value in options.items() if name != "tolerance"}
        return cls(None, ForecastTable.of(y_true, y_proba, **beside), None)

    @property
    def source(self) -> Predictions | ForecastTable:
        """Return what is there."""
        return self.table if self.predictions is None else self.predictions  # type: ignore[return-value]  # one is there

    @property
    def classes(self) -> int | None:
        """Number of classes of rows; None for one event."""
        return len(self.source.labels) if isinstance(self.source, ClassPredictions) else None

    @property
    def weight(self) -> Floats | None:
        """Weights of the cases, if they have any."""
        given = None if self.predictions is None else self.predictions.weight
        return None if given is None else given.astype(np.float64)

    @property
    def n(self) -> int:
        """Number of cases with weight."""
        if isinstance(self.source, ForecastTable):
            return self.source.n
        return len(self.source) if self.weight is None else int(np.count_nonzero(self.weight))

    @property
    def clusters(self) -> int | None:
        """Number of clusters with weight, if there are clusters."""
        if self.keys is None:
            return None
        return len(self.keys) if self.weight is None else len(np.unique(self.keys.codes[self.weight > 0.0]))

    def sample(self, measure: Measure) -> Sample:
        """Return the cases as those of one event."""
        if isinstance(self.source, ForecastTable):
            return Sample.of_table(self.source)
        if isinstance(self.source, BinaryPredictions):
            return Sample.of_predictions(self.source, None if self.keys is None else self.keys.codes)
        law = f"{measure.name} needs the forecast of one event; got shape {self.source.forecast.shape}"
        raise InputValueError(sentence(law, hint="pass the column of the event, such as y_proba[:, 1]."))

    def losses(self, rule: Rule, *, constant: bool = False) -> Floats:
        """Return the loss of each case, or cell of the table, or that of the constant observed rate."""
        if not isinstance(self.source, ForecastTable):
            predictions = _constant(self.source) if constant else self.source
            return np.concatenate([loss for loss, _ in losses_by_chunk(predictions, rule)])
        if not isinstance(rule, BinaryRule):
            law = f"{type(rule).__name__} scores rows with one column per class; a ForecastTable is of one event"
            raise InputValueError(sentence(law))
        rate = np.full(len(self.source), self.source.event_rate)
        return Sample.of_table(self.source).losses(rule, rate if constant else self.source.forecast)

    def units(self, values: Floats) -> Units:
        """Return the units of the mean of values of the cases, or cells of the table."""
        if isinstance(self.source, ForecastTable):
            return Sample.of_table(self.source).units(values)
        return Units.of(values, weight=self.weight, codes=None if self.keys is None else self.keys.codes)

    def few(self) -> str:
        """Say what there is too little of to trust an interval."""
        return few_in_words({"cluster": self.clusters} | self.outcomes())

    def outcomes(self) -> dict[str, int | None]:
        """Return the number of events and of non-events; nothing for classes."""
        if isinstance(self.source, ForecastTable):
            events = self.source.n_events
        elif isinstance(self.source, BinaryPredictions):
            chunks = self.source.chunks()
            events = sum(int(np.count_nonzero(event if w is None else event & (w > 0.0))) for _, event, w in chunks)
        else:
            return {}
        return {"event": events, "non-event": self.n - events}


def few_in_words(numbers: Mapping[str, int | None]) -> str:
    """Say which of the numbers of clusters, events and non-events are too small to trust an interval; "" if none is.

    Examples
    --------
    >>> few_in_words({"cluster": 20, "event": 60, "non-event": 1})
    'rests on 20 clusters, 1 non-event: it may be too narrow'
    """
    parts = [counted(number, name) for name, number in numbers.items() if number is not None and number < FEWEST[name]]
    return f"rests on {', '.join(parts)}: it may be too narrow" if parts else ""


def _constant(predictions: Predictions) -> Predictions:
    """Return the same cases, all forecast at the observed rates."""
    return replace(predictions, forecast=np.broadcast_to(observed_rates(predictions), predictions.forecast.shape))
