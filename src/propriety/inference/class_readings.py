"""What the verdict on class probabilities uses: the numbers of each class, the test, and the summed miscalibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from propriety.calibration.class_test import (
    MOST_EXACT,
    ClassTest,
    DistanceSum,
    class_scores,
    class_test,
    pooled_cases,
    pooled_table,
)
from propriety.inference.bootstrap import Drawing
from propriety.inference.calibration_numbers import CalibrationNumbers, numbers_of_event
from propriety.inference.class_views import Lines, class_tables, class_test_of_cases, class_test_of_tables, lines_of
from propriety.inference.estimates import effective_by_outcome
from propriety.inference.outcome_counts import OutcomeCounts, outcome_counts
from propriety.ledger.ledger import Ledger
from propriety.result import Floats
from propriety.tables.events import Event


class ClassReading:
    """One pass over the classes of a model of a ledger, and the test of its probabilities.

    `test` is None if cases may be correlated and are not available. `refuted` is the weight of the cases of each class
    whose probability of it was 0.
    """

    test: ClassTest | None
    lines: Lines
    refuted: Floats

    def __init__(self, ledger: Ledger, model: str, drawing: Drawing, level: float) -> None:
        self.level = level
        self.independent = ledger.dependence is None
        self._read_classes(ledger, model)
        self._test(ledger, model, drawing)

    def _read_classes(self, ledger: Ledger, model: str) -> None:
        cases = ledger.cases
        weight = None if cases is None else cases.weights()
        distances = DistanceSum(np.ones(len(cases)) if cases is not None and weight is None else weight)
        numbers, self.counts, refuted = [], [], []
        self.outcomes: list[OutcomeCounts] = []
        self.outside: list[float] = []  # Share of the rarer outcome that cases of other classes are.
        for place in range(ledger.classes or 0):
            event, own = Event("class", place), None
            if cases is None:
                table = pooled_table(ledger.table(model, event))
                distances.add(table)
            else:
                own = cases.event(event, model)
                known = ledger.table(model, event) if own.n <= MOST_EXACT else None
                table, rows = pooled_cases(own, known)
                distances.add(table, rows, own)
            correlated = own if ledger.dependence is not None else None
            numbers.append(numbers_of_event(table, correlated))
            self.outcomes.append(outcome_counts(table, correlated))
            inside, outside = effective_by_outcome(table)
            self.outside.append(outside / min(inside, outside) if min(inside, outside) > 0.0 else 1.0)
            self.counts.append((table.n_events, table.event_rate, table.mean_forecast))
            refuted.append(float(table.events[table.forecast == 0.0].sum()))
        self.distance = distances.result(self.level)
        self.refuted = np.array(refuted)
        joined = CalibrationNumbers(*(np.concatenate(column) for column in zip(*numbers, strict=True)))
        # The slopes of rare classes are tested too.
        self.numbers = joined._replace(refuted=self.refuted, is_rare=np.zeros(len(refuted), dtype=np.bool_))

    def _test(self, ledger: Ledger, model: str, drawing: Drawing) -> None:
        self.test = None
        if ledger.cases is None:
            self.lines = lines_of(class_tables(ledger, model), drawing)
            if ledger.dependence is None:
                self.test = class_test_of_tables(ledger, model, self.lines)
            return
        cases = ledger.cases.without_equal_weights()
        scores = class_scores(cases, model)
        if cases.weight is None and ledger.dependence is None:
            draws: dict[str, Any] = {"n_resamples": drawing.n_resamples, "seed": drawing.seed}
            self.test = class_test(cases, model, scores, level=self.level, **draws)
            information = scores.line_variance[:, 0]
            self.lines = Lines(self.test.class_p_values, information, information)
        else:
            self.lines = lines_of(class_tables(ledger, model), drawing)
            self.test = class_test_of_cases(cases, scores, self.lines)

    @property
    def counts_of_all(self) -> OutcomeCounts:
        """The outcomes outside the most frequent class, which of two classes is the rarer outcome."""
        place = int(np.argmax([rate for _, rate, _ in self.counts]))
        found = self.outcomes[place]
        return found._replace(scarce=found.scarce * self.outside[place])

    @property
    def is_reversed(self) -> bool:
        """Whether classes are rarer where their probability is higher, on average over the classes."""
        sign = self.numbers.slope_sign[self.numbers.slope_sign != 0.0]
        # The variance of a mean of standard normal variables is at most 1, however they are correlated.
        return len(sign) > 0 and float(sign.mean()) < -float(ndtri(0.5 + self.level / 2.0))
