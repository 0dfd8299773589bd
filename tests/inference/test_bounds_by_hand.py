"""Bounds of measures of private ledgers, computed by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.measure_bounds import (
    _area,
    _Cells,
    _extreme,
    _intercept,
    _inverse,
    _mean,
    _ratio,
)
from propriety.inference.verdict import with_verdict


class TestBounds:
    """Four cells: forecasts of 0, two cells in between, and forecasts of 1."""

    FIRST, LAST = np.array([0.0, 0.1, 0.5, 1.0]), np.array([0.0, 0.4, 0.9, 1.0])
    LOW = np.array([[1.0, 0.0], [2.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    HIGH = np.array([[1.0, 0.0], [4.0, 2.0], [1.0, 3.0], [0.0, 1.0]])

    def cells(self, low=None, high=None):
        return _Cells(self.FIRST, self.LAST, self.LOW if low is None else low, self.HIGH if high is None else high)

    def counts(self):
        ranges = [range(int(a), int(b) + 1) for a, b in zip(self.LOW.ravel(), self.HIGH.ravel(), strict=True)]
        for numbers in itertools.product(*ranges):
            yield np.array(numbers, dtype=float).reshape(4, 2)

    def test_of_observed_expected_are_extremes_over_all_counts(self):
        most = max(c[:, 1].sum() / (c.sum(axis=1) @ self.FIRST) for c in self.counts())
        least = min(c[:, 1].sum() / (c.sum(axis=1) @ self.LAST) for c in self.counts())
        assert _ratio(self.cells(), largest=True) == pytest.approx(most, rel=1e-9)
        assert _ratio(self.cells(), largest=False) == pytest.approx(least, rel=1e-9)

    def test_of_a_mean_are_extremes_over_all_counts(self):
        rule = pr.Brier()
        for largest, chosen in ((True, max), (False, min)):
            up, down = (self.LAST, self.FIRST) if largest else (self.FIRST, self.LAST)
            expected = chosen((c[:, 1] @ (1.0 - down) ** 2 + c[:, 0] @ up**2) / c.sum() for c in self.counts())
            assert _mean(rule, self.cells(), largest=largest) == pytest.approx(expected, rel=1e-9)

    def test_of_a_mean_are_infinite_if_an_infinite_loss_is_possible_or_certain(self):
        low, high = self.LOW.copy(), self.HIGH.copy()
        assert _mean(pr.Log(), self.cells(), largest=True) < math.inf
        high[0, 1] = 1.0
        assert _mean(pr.Log(), self.cells(low, high), largest=True) == math.inf
        assert _mean(pr.Log(), self.cells(low, high), largest=False) < math.inf
        low[0, 1] = 1.0
        assert _mean(pr.Log(), self.cells(low, high), largest=False) == math.inf

    def test_of_an_intercept_solve_its_equation(self):
        for largest, odds in ((True, logit(self.FIRST[1:3])), (False, logit(self.LAST[1:3]))):
            found = _intercept(self.cells(), largest=largest)
            rate = expit(odds + found)
            residuals = [c[1:3, 1].sum() - c[1:3].sum(axis=1) @ rate for c in self.counts()]
            assert (max if largest else min)(residuals) == pytest.approx(0.0, abs=1e-9)

    def test_of_an_intercept_may_be_infinite(self):
        none = np.zeros((4, 2))
        only_events = none.copy()
        only_events[1, 1] = 3.0
        assert _intercept(self.cells(only_events, only_events), largest=True) == math.inf
        assert _intercept(self.cells(only_events[:, ::-1], only_events[:, ::-1]), largest=False) == -math.inf
        assert _intercept(self.cells(none, none), largest=True) == math.inf

    def test_of_an_area_are_extremes_over_all_counts(self):
        won = np.array([[0.5, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0.5]])
        most = max(c[:, 1] @ won @ c[:, 0] / (c[:, 1].sum() * c[:, 0].sum()) for c in self.counts())
        won[[1, 2], [1, 2]] = 0.0
        least = min(c[:, 1] @ won @ c[:, 0] / (c[:, 1].sum() * c[:, 0].sum()) for c in self.counts())
        assert _area(self.cells(), largest=True) == pytest.approx(most)
        assert _area(self.cells(), largest=False) == pytest.approx(least)
        one = np.zeros((4, 2))
        one[1, 0] = 2.0
        with pytest.raises(InputValueError, match="needs events and non-events"):
            _area(self.cells(one, one), largest=True)

    def test_of_a_measure_that_is_undefined_have_no_value(self):
        private = pr.coarsen(pr.condense([0, 1, 0, 0], [0.1, 0.1, 0.1, 0.1]), cells=2, smallest=3)
        found = pr.measure_bounds(private, pr.measures.AreaUnderRoc())
        assert found.extra["suppressed"] == 1

    def test_of_a_ratio_reach_as_far_as_powers_of_two(self):
        def found(ratio, *, largest=True):
            one = np.array([[0.0, 1.0]])
            cells = _Cells(np.array([0.5]), np.array([0.5]), one, one)
            below = np.array([[1.0 / ratio, 1.0 / ratio]])
            return _extreme(one, below, cells, (0.0, math.inf), largest=largest)

        assert found(0.75 * 2.0**39) == pytest.approx(0.75 * 2.0**39)
        assert found(1.5 * 2.0**39) == math.inf
        for ratio in (3.7, 1e-9, 1e6):
            assert found(ratio) == pytest.approx(ratio, rel=1e-9, abs=1e-12)
            assert found(ratio, largest=False) == pytest.approx(ratio, rel=1e-9, abs=1e-12)

    def test_of_an_inverse_are_turned_round(self):
        assert (_inverse(0.0), _inverse(4.0), _inverse(math.inf)) == (math.inf, 0.25, 0.0)
        private = pr.coarsen(pr.condense([0, 1, 1, 0, 1], [0.1, 0.6, 0.7, 0.4, 0.9]), cells=4, smallest=1)
        ratio = pr.measure_bounds(private, pr.measures.ObservedExpected())
        found = pr.measure_bounds(private, pr.measures.PredictedActual())
        assert (found.low, found.high) == pytest.approx((1.0 / ratio.high, 1.0 / ratio.low))

    def test_are_a_finding_without_a_verdict(self):
        private = pr.coarsen(pr.condense([0, 1, 1, 0, 1], [0.1, 0.6, 0.7, 0.4, 0.9]), cells=4, smallest=1)
        found = pr.measure_bounds(private, pr.measures.ObservedExpected())
        assert (found.statistic, found.verdict, found.n) == ("bound", None, 5)
        assert with_verdict(found).verdict is None
        assert str(found) == "forecast: observed/expected (bound): 1.14 (0.92 to 1.50)"
        assert found.to_dict()["measure"] == "observed_expected"
        assert found.to_frame(backend="pandas")["high"][0] == found.high
