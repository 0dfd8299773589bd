"""What an interval is made from: predictions with their clusters, or an unweighted table in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from propriety.errors import InputTypeError, InputValueError, sentence
from propriety.inference.bootstrap import Sample, Units
from propriety.inference.measures import Measure
from propriety.inference.verdicts import counted
from propriety.results import Floats
from propriety.rules.rule import BinaryRule, Rule
from propriety.rules.scoring import losses_of, observed_rates
from propriety.tables.cases import Cases, Keys
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.validation import read_cases

__all__ = ["Evidence", "few_in_words"]

FEWEST = {"cluster": 40, "event": 50, "non-event": 50}  # With fewer, an interval says that it may be too narrow.


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the interval is made from: the cases of one model, or an unweighted table in their place."""

    source: Cases | ForecastTable

    @classmethod
    def read(cls, y_true: object, y_proba: object, cluster: object, options: dict[str, Any]) -> Evidence:
        """Read what the user gave; the options are those of `read_cases`."""
        if not isinstance(y_true, ForecastTable):
            return cls(read_cases(y_true, y_proba, cluster=cluster, **options))
        if cluster is not None:
            law = "clusters need predictions, y_true and y_proba; a ForecastTable no longer knows its cases"
            raise InputTypeError(sentence(law))
        beside = {name: value for name, value in options.items() if name != "tolerance"}
        return cls(ForecastTable.of(y_true, y_proba, **beside))

    @property
    def keys(self) -> Keys | None:
        """Clusters of the cases, if there are clusters."""
        return None if isinstance(self.source, ForecastTable) else self.source.cluster

    @property
    def classes(self) -> int | None:
        """Number of classes of rows; None for one event."""
        return None if isinstance(self.source, ForecastTable) else self.source.classes

    @property
    def weight(self) -> Floats | None:
        """Weights of the cases, if they have any."""
        return None if isinstance(self.source, ForecastTable) else self.source.weights()

    @property
    def n(self) -> int:
        """Number of cases with weight."""
        return self.source.n

    @property
    def clusters(self) -> int | None:
        """Number of clusters with weight, if there are clusters."""
        if self.keys is None:
            return None
        weight = self.weight
        return len(self.keys) if weight is None else len(np.unique(self.keys.codes[weight > 0.0]))

    def sample(self, measure: Measure) -> Sample:
        """Return the cases as those of one event."""
        if isinstance(self.source, ForecastTable):
            return Sample.of_table(self.source)
        if self.source.classes is None:
            return Sample.of_cases(self.source, None if self.keys is None else self.keys.codes)
        shape = (len(self.source), self.source.classes)
        law = f"{measure.name} needs the forecast of one event; got shape {shape}"
        raise InputValueError(sentence(law, hint="pass the column of the event, such as y_proba[:, 1]."))

    def losses(self, rule: Rule, *, constant: bool = False) -> Floats:
        """Return the loss of each case, or cell of the table, or that of the constant observed rate."""
        if not isinstance(self.source, ForecastTable):
            return losses_of(_constant(self.source) if constant else self.source, rule)
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
            events = round(float(self.source.events.sum()))
        elif self.source.classes is None:
            event, weight = self.source.outcomes(), self.source.weights()
            events = int(np.count_nonzero(event if weight is None else event & (weight > 0.0)))
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


def _constant(cases: Cases) -> Cases:
    """Return the same cases, all forecast at the observed rates."""
    rates = observed_rates(cases)
    return replace(
        cases, forecasts={model: np.broadcast_to(rates, one.shape) for model, one in cases.forecasts.items()}
    )
