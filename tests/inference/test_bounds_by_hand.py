"""Bounds of measures of private ledgers, computed by hand."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.measure_bounds import (
    MeasureBounds,
    _area,
    _Cells,
    _distribution,
    _extreme,
    _intercept,
    _inverse,
    _mean,
    _noisy_area,
    _ratio,
)
from propriety.inference.noisy_counts import NoisyCounts


class TestBounds:
    """Four cells: forecasts of 0, two cells in between, and forecasts of 1."""

    FIRST, LAST = np.array([0.0, 0.1, 0.5, 1.0]), np.array([0.0, 0.4, 0.9, 1.0])
    LOW = np.array([[1.0, 0.0], [2.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    HIGH = np.array([[1.0, 0.0], [4.0, 2.0], [1.0, 3.0], [0.0, 1.0]])
    NONE = NoisyCounts(np.zeros((4, 2)), np.zeros(0))

    def cells(self, low=None, high=None, noisy=NONE):
        return _Cells(
            self.FIRST, self.LAST, self.LOW if low is None else low, self.HIGH if high is None else high, noisy
        )

    def counts(self):
        ranges = [range(int(a), int(b) + 1) for a, b in zip(self.LOW.ravel(), self.HIGH.ravel(), strict=True)]
        for numbers in itertools.product(*ranges):
            yield np.array(numbers, dtype=float).reshape(4, 2)

    def test_of_observed_expected_are_extremes_over_all_counts(self):
        most = max(c[:, 1].sum() / (c.sum(axis=1) @ self.FIRST) for c in self.counts())
        least = min(c[:, 1].sum() / (c.sum(axis=1) @ self.LAST) for c in self.counts())
        assert _ratio(self.cells(), 0.0, largest=True) == pytest.approx(most, rel=1e-9)
        assert _ratio(self.cells(), 0.0, largest=False) == pytest.approx(least, rel=1e-9)

    def test_of_a_mean_are_extremes_over_all_counts(self):
        rule = pr.Brier()
        for largest, chosen in ((True, max), (False, min)):
            up, down = (self.LAST, self.FIRST) if largest else (self.FIRST, self.LAST)
            expected = chosen((c[:, 1] @ (1.0 - down) ** 2 + c[:, 0] @ up**2) / c.sum() for c in self.counts())
            assert _mean(rule, self.cells(), 0.0, largest=largest) == pytest.approx(expected, rel=1e-9)

    def test_of_a_mean_are_infinite_if_an_infinite_loss_is_possible_or_certain(self):
        low, high = self.LOW.copy(), self.HIGH.copy()
        assert _mean(pr.Log(), self.cells(), 0.0, largest=True) < math.inf
        high[0, 1] = 1.0
        assert _mean(pr.Log(), self.cells(low, high), 0.0, largest=True) == math.inf
        assert _mean(pr.Log(), self.cells(low, high), 0.0, largest=False) < math.inf
        low[0, 1] = 1.0
        assert _mean(pr.Log(), self.cells(low, high), 0.0, largest=False) == math.inf

    def test_of_an_intercept_solve_its_equation(self):
        for largest, odds in ((True, logit(self.FIRST[1:3])), (False, logit(self.LAST[1:3]))):
            found = _intercept(self.cells(), 0.0, largest=largest)
            rate = expit(odds + found)
            residuals = [c[1:3, 1].sum() - c[1:3].sum(axis=1) @ rate for c in self.counts()]
            assert (max if largest else min)(residuals) == pytest.approx(0.0, abs=1e-9)

    def test_of_an_intercept_may_be_infinite(self):
        none = np.zeros((4, 2))
        only_events = none.copy()
        only_events[1, 1] = 3.0
        assert _intercept(self.cells(only_events, only_events), 0.0, largest=True) == math.inf
        assert _intercept(self.cells(only_events[:, ::-1], only_events[:, ::-1]), 0.0, largest=False) == -math.inf
        assert _intercept(self.cells(none, none), 0.0, largest=True) == math.inf

    def test_of_an_area_are_extremes_over_all_counts(self):
        won = np.array([[0.5, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0.5]])
        most = max(c[:, 1] @ won @ c[:, 0] / (c[:, 1].sum() * c[:, 0].sum()) for c in self.counts())
        won[[1, 2], [1, 2]] = 0.0
        least = min(c[:, 1] @ won @ c[:, 0] / (c[:, 1].sum() * c[:, 0].sum()) for c in self.counts())
        assert _area(self.cells(), 0.0, largest=True) == pytest.approx(most)
        assert _area(self.cells(), 0.0, largest=False) == pytest.approx(least)
        one = np.zeros((4, 2))
        one[1, 0] = 2.0
        with pytest.raises(InputValueError, match="needs events and non-events"):
            _area(self.cells(one, one), 0.0, largest=True)

    @pytest.mark.parametrize("upper", [True, False])
    @pytest.mark.parametrize("outcome", [0, 1])
    def test_of_a_distribution_add_the_margin_of_the_noise(self, upper, outcome):
        noisy = np.array([[3.0, 4.0], [-6.0, -5.0], [8.0, 9.0], [1.0, 4.0]])
        asked = []

        def margins(rows, risk):
            asked.append((rows, risk))
            return np.array([0.0, 0.5, 0.8, 1.0, 1.1])

        stub = SimpleNamespace(counts=noisy, bounds_of_sums=margins)
        found = _distribution(self.cells(noisy=stub), 0.04, outcome=outcome, upper=upper)
        margin, sign, expected = [0.0, 0.5, 0.8, 1.0, 1.1], 1.0 if upper else -1.0, []
        inside, outside = (self.HIGH, self.LOW) if upper else (self.LOW, self.HIGH)
        for row in range(4):
            up_to = inside[: row + 1, outcome].sum() + noisy[: row + 1, outcome].sum() + sign * margin[row + 1]
            beyond = outside[row + 1 :, outcome].sum() + noisy[row + 1 :, outcome].sum() - sign * margin[3 - row]
            up_to, beyond = max(up_to, 0.0), max(beyond, 0.0)
            expected.append(up_to / (up_to + beyond) if up_to + beyond > 0.0 else float(upper))
        expected[-1] = 1.0
        for row in range(4):
            limits = expected[row:] if upper else expected[: row + 1]
            assert found[row] == pytest.approx(min(limits) if upper else max(limits))
        assert asked == [(4, 0.04 / 16.0)]

    def test_of_a_distribution_without_cases_are_its_widest(self):
        stub = SimpleNamespace(counts=np.zeros((4, 2)), bounds_of_sums=lambda rows, risk: np.zeros(rows + 1))
        cells = self.cells(np.zeros((4, 2)), np.zeros((4, 2)), stub)
        assert _distribution(cells, 0.05, outcome=1, upper=True).tolist() == [1.0, 1.0, 1.0, 1.0]
        assert _distribution(cells, 0.05, outcome=1, upper=False).tolist() == [0.0, 0.0, 0.0, 1.0]

    def test_of_a_measure_that_is_undefined_have_no_value(self):
        private = pr.coarsen(pr.condense([0, 1, 0, 0], [0.1, 0.1, 0.1, 0.1]), cells=2, minimum=3)
        found = pr.measure_bounds(private, pr.measures.AreaUnderRoc())
        assert found.suppressed == 1
        none = pr.coarsen(pr.condense([0] * 9, np.linspace(0.1, 0.9, 9)), cells=2, epsilon=20.0, seed=1)
        assert math.isnan(pr.measure_bounds(none, pr.measures.AreaUnderRoc()).value)

    def test_of_a_noisy_area_are_areas_between_the_bands(self):
        noisy = NoisyCounts(np.array([[30.0, 5.0], [50.0, 20.0], [20.0, 60.0], [10.0, 40.0]]), np.array([2.0]))
        cells = self.cells(noisy=noisy)
        for largest in (True, False):
            others = _distribution(cells, 0.05, outcome=0, upper=largest)
            events = _distribution(cells, 0.05, outcome=1, upper=not largest)
            expected, before = 0.0, 0.0
            for row in range(4):
                share = events[row] - (events[row - 1] if row else 0.0)
                expected += share * (others[row] if largest else before)
                before = others[row]
            assert _noisy_area(cells, 0.05, largest=largest) == pytest.approx(expected)

    def test_of_a_ratio_reach_as_far_as_powers_of_two(self):
        def found(ratio, *, largest=True):
            one = np.array([[0.0, 1.0]])
            cells = _Cells(np.array([0.5]), np.array([0.5]), one, one, NoisyCounts(np.zeros((1, 2)), np.zeros(0)))
            below = np.array([[1.0 / ratio, 1.0 / ratio]])
            return _extreme(one, below, cells, 0.0, (0.0, math.inf), largest=largest)

        assert found(0.75 * 2.0**39) == pytest.approx(0.75 * 2.0**39)
        assert found(1.5 * 2.0**39) == math.inf
        for ratio in (3.7, 1e-9, 1e6):
            assert found(ratio) == pytest.approx(ratio, rel=1e-9, abs=1e-12)
            assert found(ratio, largest=False) == pytest.approx(ratio, rel=1e-9, abs=1e-12)

    def test_of_an_inverse_are_turned_round(self):
        assert (_inverse(0.0), _inverse(4.0), _inverse(math.inf)) == (math.inf, 0.25, 0.0)
        private = pr.coarsen(pr.condense([0, 1, 1, 0, 1], [0.1, 0.6, 0.7, 0.4, 0.9]), cells=4, minimum=1)
        ratio = pr.measure_bounds(private, pr.measures.ObservedExpected())
        found = pr.measure_bounds(private, pr.measures.PredictedActual())
        assert (found.low, found.high) == pytest.approx((1.0 / ratio.high, 1.0 / ratio.low))

    def test_of_noise_are_shared_by_the_models(self):
        y, p = np.arange(60) % 2, np.linspace(0.05, 0.95, 60)
        private = pr.coarsen(pr.condense(y, {"a": p, "b": p[::-1]}), cells=4, epsilon=3.0, seed=2)
        found = pr.measure_bounds(private, pr.measures.ObservedExpected(), model="b", level=0.9)
        noisy = NoisyCounts(private.published[1].sum(axis=0).astype(float), np.array([1.5]))
        first = np.array([0.0, np.nextafter(0.0, 1.0), 0.25, 0.5, 0.75, 1.0])
        last = np.array([0.0, *np.nextafter([0.25, 0.5, 0.75, 1.0], 0.0), 1.0])
        zero = np.zeros((6, 2))
        cells = _Cells(first, last, zero, zero, noisy)
        assert found.high == pytest.approx(_ratio(cells, 0.05, largest=True))
        assert found.low == pytest.approx(_ratio(cells, 0.05, largest=False))
        assert (found.model, found.level, found.suppressed) == ("b", 0.9, 0)

    @pytest.mark.parametrize(
        ("low", "high", "level", "words"),
        [
            (0.1, 0.2, 1.0, "lies between 0.100 and 0.200."),
            (0.1, 0.2, 0.95, "lies between 0.100 and 0.200 with probability 95%."),
            (math.inf, math.inf, 0.9, "is infinite with probability 90%."),
            (-math.inf, math.inf, 0.9, "is not bounded by the published counts."),
            (-math.inf, 2.0, 0.9, "is at most 2.00 with probability 90%."),
            (0.5, math.inf, 1.0, "is at least 0.500."),
        ],
    )
    def test_have_words(self, low, high, level, words):
        found = MeasureBounds(
            value=0.1,
            low=low,
            high=high,
            level=level,
            model="m",
            measure=pr.measures.CalibrationIntercept(),
            suppressed=2,
        )
        assert str(found) == f"Calibration intercept of m {words}"
        assert found.to_dict()["measure"] == "calibration_intercept"
