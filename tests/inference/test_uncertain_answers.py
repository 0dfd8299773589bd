"""Certain forecasts that are drawn anew, and answers of classes."""

from dataclasses import replace

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.answers_ledger import answers_of_table, as_measured, forecasts_of_answers
from propriety.inference.measures.reading import read_measure
from propriety.inference.uncertain_forecasts import _number, without_certain
from propriety.ledger.ledger import Ledger
from propriety.tables.events import TOP, Event
from propriety.tables.forecast_table import ForecastTable


class TestUncertainForecasts:
    Y, P = np.array([0, 1, 0, 1, 1, 0]), np.array([0.0, 0.3, 0.6, 0.6, 1.0, 0.3])

    def test_of_cases_are_selected(self):
        ledger = pr.condense(self.Y, {"a": self.P, "b": np.full(6, 0.5)})
        found = without_certain(ledger, "a")
        assert found.models == ("a",)
        table = found.table("a")
        assert table.forecast.tolist() == [0.3, 0.6]
        assert (table.events.tolist(), table.non_events.tolist(), table.n) == ([1.0, 1.0], [1.0, 1.0], 4)
        assert without_certain(ledger, "b") is ledger

    def test_of_tables_are_selected(self):
        ledger = Ledger.of_tables({"m": ForecastTable.from_predictions(self.Y, self.P)})
        table = without_certain(ledger, "m").table("m")
        assert (table.forecast.tolist(), table.n, table.n_events) == ([0.3, 0.6], 4, 2)
        certain = Ledger.of_tables({"m": ForecastTable.from_predictions([0, 1], [0.0, 1.0])})
        assert without_certain(certain, "m") is certain

    def test_of_weighted_tables_have_about_their_number_of_cases(self):
        table = ForecastTable(
            forecast=np.array([0.0, 0.3, 0.6, 1.0]),
            events=np.array([1.0, 4.0, 6.0, 9.0]),
            non_events=np.array([10.0, 8.0, 2.0, 0.0]),
            event_squares=np.array([1.0, 3.0, 5.0, 16.0]),
            non_event_squares=np.array([30.0, 6.0, 2.0, 0.0]),
            n=40,
            n_events=18,
        )
        found = without_certain(Ledger.of_tables({"m": table}), "m").table("m")
        assert found.forecast.tolist() == [0.3, 0.6]
        assert (found.events.tolist(), found.non_events.tolist()) == ([4.0, 6.0], [8.0, 2.0])
        assert (found.event_squares.tolist(), found.non_event_squares.tolist()) == ([3.0, 5.0], [6.0, 2.0])
        # 18 events with half of their weight would be 9, but 10^2 / 8 are needed; of 22 others, half is 11; 100 / 8.
        assert (found.n_events, found.n) == (13, 26)

    def test_are_at_least_as_many_as_rows_and_squares_allow(self):
        assert _number(100, 0.3, np.array([1.0, 2.0]), np.array([1.0, 4.0])) == 30
        assert _number(2, 0.1, np.array([1.0, 2.0, 0.0]), np.array([1.0, 4.0, 0.0])) == 2
        assert _number(1, 0.1, np.array([2.0, 2.0]), np.array([1.0, 1.0])) == 8
        assert _number(5, 0.0, np.zeros(2), np.zeros(2)) == 0
        assert _number(0, 0.0, np.array([3.0]), np.array([3.0])) == 3


class TestAnswers:
    P = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.2, 0.7]])
    Y = np.array([0, 2, 1, 2])

    def test_of_class_probabilities_are_the_most_likely_class(self):
        ledger = pr.condense(self.Y, {"m": self.P, "sure": np.eye(3)[self.Y]})
        measure = pr.measures.AccuracyAtCoverage(0.5)
        found = as_measured(ledger, measure)
        assert found.labels is None
        assert found.models == ("m", "sure")
        forecast, right, _ = found.cases.gathered("m")
        assert right.tolist() == [True, False, False, True]
        # Confidences of 0.4, 0.5, 0.6 and 0.7 are ranks 1 to 4 of 5; the wrong answers are below one half.
        assert forecast.tolist() == pytest.approx([0.8, 0.7, 0.6, 0.9])
        other = found.cases.gathered("sure").forecast
        assert other.tolist() == pytest.approx([0.75, 0.25, 0.25, 0.75])
        assert as_measured(ledger, measure, "sure").models == ("sure",)
        assert as_measured(ledger, read_measure(pr.Brier())) is ledger

    def test_of_events_stay_as_they_are(self):
        ledger = pr.condense([0, 1], [0.2, 0.7])
        assert as_measured(ledger, pr.measures.AccuracyAtCoverage(0.5)) is ledger

    def test_of_a_table_have_confidences_from_one_half_to_one(self):
        ledger = pr.condense(self.Y, {"m": self.P})
        assert TOP in ledger.events
        found = answers_of_table(ledger, "m")
        table = found.table("m")
        assert table.forecast.tolist() == [0.6, 0.7, 0.8, 0.9]  # By rank
        assert table.events.tolist() == [0.0, 0.0, 1.0, 1.0]
        assert (found.models, found.labels, found.source) == (("m",), None, None)
        cells = pr.condense(self.Y, {"m": self.P}, cells=16)
        assert cells.keyed_tables("m", TOP).cells == 16
        assert answers_of_table(cells, "m").keyed_tables("m", Event("event")).cells == 32
        alone = as_measured(replace(ledger, source=None), pr.measures.AccuracyAtCoverage(0.5), "m")
        assert alone.table("m").forecast.tolist() == table.forecast.tolist()
        with pytest.raises(InputValueError, match=r"of class probabilities needs.*make a ledger of the answers"):
            as_measured(replace(ledger, source=None), pr.measures.AccuracyAtCoverage(0.5))

    def test_of_several_models_agree_or_disagree_with_the_first(self):
        right = {"a": np.array([True, False, False]), "b": np.array([False, False, True])}
        confidence = {"a": np.array([0.9, 0.9, 0.1]), "b": np.array([1, 2, 3])}
        event, forecasts = forecasts_of_answers(right, confidence)
        assert event.tolist() == [True, False, False]
        assert forecasts["a"].tolist() == pytest.approx([0.5 + 2 / 6, 0.5 + 2 / 6, 0.5 + 1 / 6])
        assert forecasts["b"].tolist() == pytest.approx([0.5 - 1 / 8, 0.5 + 2 / 8, 0.5 - 3 / 8])

    def test_of_classes_have_no_other_threshold(self):
        ledger = pr.condense(self.Y, {"m": self.P})
        measure = pr.measures.AreaUnderRiskCoverage(threshold=0.3)
        with pytest.raises(InputValueError, match=r"threshold must be 0.5 for class probabilities.*got 0.3"):
            as_measured(ledger, measure)
        plain = pr.measures.AreaUnderRiskCoverage()
        assert as_measured(ledger, plain).labels is None


@pytest.mark.parametrize(
    ("total", "share", "weight", "squares", "number"),
    [(100, 0.3, [1.0] * 5, [1.0] * 5, 30), (1, 0.1, [1.0] * 5, [100.0] * 5, 5), (1, 0.1, [4.0, 0.0], [2.0, 0.0], 8)],
    ids=["share", "rows", "squares"],
)
def test_numbers_of_cases_are_at_least_those_of_rows_and_of_squares(total, share, weight, squares, number):
    assert _number(total, share, np.array(weight), np.array(squares)) == number
