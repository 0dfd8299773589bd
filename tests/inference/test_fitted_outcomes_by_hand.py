"""Errors at fitted event rates, with the logistic regression and the variances written out."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.inference import fitted_outcomes
from propriety.inference.fitted_outcomes import _error, _rates, _spread, fitted_error, fitted_error_of_pair
from propriety.inference.measures.measure import Influence
from propriety.ledger.moments import MANY_EVENTS
from propriety.tables.cases import Cases
from propriety.tables.forecast_table import ForecastTable

P = np.array([0.05, 0.2, 0.2, 0.45, 0.5, 0.7, 0.75, 0.9, 0.35, 0.1])
Q = np.array([0.1, 0.3, 0.15, 0.4, 0.8, 0.5, 0.6, 0.85, 0.2, 0.3])
Y = np.array([0, 0, 1, 0, 1, 1, 0, 1, 1, 0], dtype=bool)
W = np.array([1.0, 2.0, 0.5, 1.5, 1.0, 3.0, 2.5, 1.0, 0.7, 1.2])


def fitted(design, events, others):
    """Return the rates of a logistic regression by Newton's method."""
    beta = np.zeros(design.shape[1])
    for _ in range(50):
        rate = expit(design @ beta)
        score = design.T @ (events - (events + others) * rate)
        beta += np.linalg.solve((design.T * ((events + others) * rate * (1.0 - rate))) @ design, score)
    return expit(design @ beta)


def variance(values, weight):
    mean = sum(v * w for v, w in zip(values, weight, strict=True)) / sum(weight)
    return sum(w * (v - mean) ** 2 for v, w in zip(values, weight, strict=True)) / sum(weight)


def weighted_table():
    """Return a table of 7 events and 9 non-events with weights, of which some have forecasts of 0 and 1."""
    return ForecastTable(
        forecast=np.array([0.0, 0.1, 0.3, 0.6, 0.8, 1.0]),
        events=np.array([0.5, 0.4, 1.5, 2.0, 2.6, 1.0]),
        non_events=np.array([3.0, 2.5, 2.0, 1.0, 0.5, 0.25]),
        event_squares=np.array([0.25, 0.16, 1.25, 2.0, 3.0, 1.0]),
        non_event_squares=np.array([5.0, 3.5, 2.0, 1.0, 0.25, 0.0625]),
        n=16,
        n_events=7,
    )


class TestOneModel:
    def test_rates_are_fitted_inside_and_observed_at_0_and_1(self):
        table = weighted_table()
        events, others = table.events * 7 / 8.0, table.non_events * 9 / 9.25
        inside = slice(1, 5)
        rate = events / (events + others)
        design = np.column_stack([logit(table.forecast[inside]), np.ones(4)])
        rate[inside] = fitted(design, events[inside], others[inside])
        influence = Influence(np.array([0.3, 1.0, -0.4, 0.2, 0.7, -1.1]), np.array([0.1, -0.2, 0.5, 0.9, -0.8, 0.4]))
        number = events + others
        square = variance(influence.event, number * rate) * 7.66 * 7 / 6
        square += variance(influence.non_event, number * (1.0 - rate)) * 11.8125 * 9 / 8
        assert fitted_error(table, influence) == pytest.approx(math.sqrt(square) / 17.25, rel=1e-9)

    @pytest.mark.parametrize(("events", "others"), [(1, 5), (5, 1), (1, 1)])
    def test_one_case_of_an_outcome_has_no_error(self, events, others):
        p = np.linspace(0.1, 0.9, events + others)
        y = np.r_[np.zeros(others), np.ones(events)]
        y[[0, -1]] = y[[-1, 0]]
        table = ForecastTable.from_predictions(y, p)
        assert math.isnan(fitted_error(table, Influence(table.forecast, table.forecast)))

    def test_two_cases_of_an_outcome_have_one(self):
        table = ForecastTable.from_predictions([0, 1, 0, 0, 1, 0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        influence = Influence(table.forecast**2, table.forecast)
        rate = fitted(np.column_stack([logit(table.forecast), np.ones(6)]), table.events, table.non_events)
        square = variance(influence.event, rate) * 2 * 2 / 1 + variance(influence.non_event, 1.0 - rate) * 4 * 4 / 3
        assert fitted_error(table, influence) == pytest.approx(math.sqrt(square) / 6.0, rel=1e-9)

    def test_many_cases_of_both_outcomes_need_none(self):
        def found(events, others):
            table = ForecastTable(
                forecast=np.array([0.3, 0.6]),
                events=np.array([1000.0, events - 1000.0]),
                non_events=np.array([others - 1000.0, 1000.0]),
            )
            return fitted_error(table, Influence(np.array([0.1, 0.2]), np.array([0.3, 0.5])))

        assert MANY_EVENTS == 10_000
        assert math.isnan(found(10_000, 10_000))
        assert math.isnan(found(20_000, 10_000))
        assert found(9_999, 10_000) > 0.0
        assert found(20_000, 9_999) > 0.0

    def test_an_infinite_influence_has_no_error(self):
        table = ForecastTable.from_predictions(Y, P)
        influence = Influence(np.where(table.forecast < 0.1, np.inf, 1.0), np.ones(len(table)))
        assert math.isnan(fitted_error(table, influence))


class TestPair:
    @staticmethod
    def found(y=Y, p=P, q=Q, weight=None):
        cases = Cases(outcome=y, forecasts={"p": p, "q": q}, weight=weight)
        tables = tuple(ForecastTable.from_predictions(y, own, sample_weight=weight) for own in (p, q))
        influences = tuple(
            Influence((1.0 - own.forecast) ** 2, scale * own.forecast**2)
            for own, scale in zip(tables, (1.0, 1.5), strict=True)
        )
        return fitted_error_of_pair(cases, tables, influences)

    @staticmethod
    def by_hand(y, p, q, weight, design):
        n1, n0 = y.sum(), (~y).sum()
        number = np.where(y, weight * n1 / weight[y].sum(), weight * n0 / weight[~y].sum())
        rate = fitted(design, number * y, number * ~y)
        square = variance((1.0 - p) ** 2 - (1.0 - q) ** 2, number * rate) * (weight[y] ** 2).sum() * n1 / (n1 - 1)
        square += variance(p**2 - 1.5 * q**2, number * (1.0 - rate)) * (weight[~y] ** 2).sum() * n0 / (n0 - 1)
        return math.sqrt(square) / weight.sum()

    @pytest.mark.parametrize("weight", [None, W], ids=["plain", "weights"])
    def test_rates_are_fitted_to_both_log_odds(self, weight):
        design = np.column_stack([logit(P), logit(Q), np.ones(10)])
        expected = self.by_hand(Y, P, Q, np.ones(10) if weight is None else weight, design)
        assert self.found(weight=weight) == pytest.approx(expected, rel=1e-9)

    def test_rates_are_fitted_to_the_first_model_if_the_second_adds_nothing(self):
        q = expit(0.5 * logit(P) + 0.3)
        design = np.column_stack([logit(P), np.ones(10)])
        assert self.found(q=q) == pytest.approx(self.by_hand(Y, P, q, np.ones(10), design), rel=1e-9)

    def test_cases_with_a_certain_forecast_of_either_model_have_their_observed_rate(self):
        p, q = np.append(P, [0.0, 0.4, 0.6]), np.append(Q, [0.5, 1.0, 0.0])
        y = np.append(Y, [False, True, False])
        rate = np.append(fitted(np.column_stack([logit(P), logit(Q), np.ones(10)]), 1.0 * Y, 1.0 * ~Y), [0.0, 1.0, 0.0])
        square = variance((1.0 - p) ** 2 - (1.0 - q) ** 2, rate) * 6 * 6 / 5
        square += variance(p**2 - 1.5 * q**2, 1.0 - rate) * 7 * 7 / 6
        assert self.found(y, p, q) == pytest.approx(math.sqrt(square) / 13.0, rel=1e-9)

    def test_without_two_cases_of_an_outcome_or_a_fit_there_is_no_error(self):
        one = np.zeros(10, dtype=bool)
        one[4] = True
        assert math.isnan(self.found(one))
        assert math.isnan(self.found(~one))
        two = one.copy()
        two[0] = True
        assert self.found(two) > 0.0
        assert self.found(~two) > 0.0
        assert math.isnan(self.found(P > 0.4, P, P))  # Outcomes are separated by the forecasts.

    def test_more_than_the_most_cases_are_not_fitted(self, monkeypatch):
        assert fitted_outcomes.MOST_CASES == 131_072
        monkeypatch.setattr(fitted_outcomes, "MOST_CASES", 10)
        assert self.found() > 0.0
        monkeypatch.setattr(fitted_outcomes, "MOST_CASES", 9)
        assert math.isnan(self.found())

    def test_a_comparison_at_another_prevalence_uses_the_larger_error(self):
        rng = np.random.default_rng(4)
        p = expit(rng.normal(-1.0, 1.2, 240))
        q = expit(logit(p) + rng.normal(0.0, 0.6, 240))
        y = rng.random(240) < p
        found = pr.compare(pr.at_prevalence(pr.condense(y, {"p": p, "q": q}), 0.05), seed=1)
        weight = np.where(y, 0.05 / y.mean(), 0.95 / (~y).mean())
        n1, n0 = y.sum(), (~y).sum()
        rate = fitted(np.column_stack([logit(p), logit(q), np.ones(240)]), 1.0 * y, 1.0 * ~y)
        events, others = (1.0 - p) ** 2 - (1.0 - q) ** 2, p**2 - q**2
        square = variance(events, rate) * (weight[y] ** 2).sum() * n1 / (n1 - 1)
        square += variance(others, 1.0 - rate) * (weight[~y] ** 2).sum() * n0 / (n0 - 1)
        own = 0.05**2 * events[y].var(ddof=1) / n1 + 0.95**2 * others[~y].var(ddof=1) / n0
        assert found.standard_error[0] >= max(math.sqrt(square) / 240, math.sqrt(own)) * (1.0 - 1e-9)


class TestParts:
    def test_rates_without_log_odds_are_not_fitted(self):
        assert _rates([np.array([0.0, 1.0, 1.0])], np.array([0.0, 1.0, 1.0]), np.array([2.0, 0.5, 0.0])) is None

    def test_rates_of_one_forecast_are_not_fitted(self):
        assert _rates([np.full(4, 0.3)], np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0, 1.0])) is None

    def test_a_variance_needs_weight_and_finite_values(self):
        assert math.isnan(_spread(np.array([1.0, 2.0]), np.zeros(2)))
        assert math.isnan(_spread(np.array([1.0, np.inf]), np.ones(2)))
        assert _spread(np.array([1.0, 2.0]), np.array([0.25, 0.25])) == pytest.approx(0.25)
        assert _spread(np.array([1.0, 5.0]), np.array([3.0, 1.0])) == pytest.approx(3.0)

    def test_the_error_adds_both_variances(self):
        expected = math.sqrt(0.5 * 3.0 * 4 / 3 + 0.2 * 7.0 * 9 / 8) / 10.0
        assert _error([0.5, 0.2], (3.0, 7.0), (4, 9), 10.0) == pytest.approx(expected, rel=1e-12)
