"""Late labels, computed by hand."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logit

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.products.late_labels.calibration import p_value_of_reports
from propriety.products.late_labels.cases import LateCases, _common, _limits_of_ratio, estimate_window, read_late_cases
from propriety.products.late_labels.delays import ReportingDelays
from propriety.rules.families import BRIER


class TestLateCases:
    """Ages of 0 to 2 days, at which 30%, 60% and all of the events are reported."""

    SHARE, STEPS = np.array([0.3, 0.6, 1.0]), np.array([0.0, 0.05, 0.02])
    DELAYS = ReportingDelays(share=SHARE, steps=STEPS)
    P = np.array([0.2, 0.5, 0.7, 0.2, 0.4, 0.7, 0.9, 0.35])
    AGE = np.array([0, 0, 1, 1, 2, 2, 1, 2])
    EVENT = np.array([False, True, True, False, False, True, True, True])
    COUNT = np.array([3.0, 1.0, 1.0, 2.0, 4.0, 1.0, 1.0, 2.0])

    def cases(self, p=P):
        return LateCases(p, -1.0 * self.AGE, np.where(self.EVENT, 0.0, np.nan), self.COUNT)

    def found(self, p=P, rule=BRIER, event=EVENT):
        return estimate_window(self.cases(p), self.AGE, event, self.DELAYS, rule, 1.96)

    def variance(self, *columns):
        """Return the covariance of sums over the ages: each step affects the sums of smaller ages."""
        total = np.zeros((len(columns), len(columns)))
        for age in range(3):
            before = np.array([column[age > self.AGE].sum() for column in columns])
            total += self.STEPS[age] * np.outer(before, before)
        return total

    def test_have_ratios_of_what_is_reported_and_expected(self):
        found, share = self.found(), self.SHARE[self.AGE]
        expected = (self.COUNT * self.P * share).sum()
        assert (found.n, found.reported) == (15, 6)
        assert found.expected == pytest.approx(expected)
        assert found.maturity == pytest.approx(expected / (self.COUNT @ self.P))
        assert found.observed_expected == pytest.approx(6.0 / expected)
        assert found.as_labelled == pytest.approx(6.0 / (self.COUNT @ self.P))
        for name, factor in (("if_slower", 1.2), ("if_faster", 0.8)):
            stretched = np.interp((self.AGE + 1.0) / factor, [0, 1, 2, 3], [0.0, 0.3, 0.6, 1.0])
            assert getattr(found, name) == pytest.approx(6.0 / (self.COUNT * self.P * stretched).sum())
        assert found.note == ""

    def test_have_limits_of_the_ratio_that_solve_its_equation(self):
        found, share = self.found(), self.SHARE[self.AGE]
        expected = self.COUNT * self.P * share
        rate = self.COUNT[self.EVENT].sum() / (self.COUNT @ share) * share  # One group, with the same rate for all.
        total = expected.sum()
        common = 2.0 * total * (self.COUNT * rate * self.P * share).sum() / (self.COUNT @ rate)
        common -= self.COUNT @ (self.P * share) ** 2
        delays = self.variance(expected)[0, 0]
        for r in (found.low, found.high):
            spread = r * total - r**2 * common + r**2 * delays
            assert (6.0 - r * total) ** 2 == pytest.approx(1.96**2 * spread)
        assert found.low < found.observed_expected < found.high

    def test_have_a_score_with_limits_on_the_log_scale(self):
        found, share = self.found(), self.SHARE[self.AGE]
        without, happened = self.P**2, (1.0 - self.P) ** 2
        loss = share * without + self.EVENT * (happened - without)
        total = self.COUNT @ share
        score = self.COUNT @ loss / total
        square = self.COUNT @ (loss - score * share) ** 2
        square += self.variance(self.COUNT * share * (without - score))[0, 0]
        away = math.exp(1.96 * math.sqrt(square) / total / score)
        assert found.score == pytest.approx(score)
        assert (found.score_low, found.score_high) == pytest.approx((score / away, min(score * away, 1.0)))
        naive = self.COUNT @ np.where(self.EVENT, happened, without) / 15.0
        assert found.score_as_labelled == pytest.approx(naive)

    def test_have_a_score_test_of_intercept_and_slope(self):
        share, count = self.SHARE[self.AGE], 5.0 * self.COUNT  # 23 reports are expected.
        p_value = p_value_of_reports(self.P, count, self.AGE, self.EVENT, self.DELAYS)
        rate, x = self.P * share, logit(self.P)
        x = x - np.average(x, weights=count)
        factor = (1.0 - self.P) / (1.0 - rate)
        one, two = factor, factor * x
        sums = np.array([(count * g * (self.EVENT - rate)).sum() for g in (one, two)])
        inner = np.array([[(count * rate * (1.0 - rate) * a * b).sum() for a in (one, two)] for b in (one, two)])
        inner += self.variance(count * rate * one, count * rate * two)
        assert p_value == pytest.approx(stats.chi2.sf(sums @ np.linalg.solve(inner, sums), 2))

    def test_with_certain_or_equal_forecasts_have_no_test_of_them(self):
        assert math.isnan(self.found(np.full(8, 0.4)).p_value)
        certain = self.P.copy()
        certain[[4, 5]] = [0.0, 1.0]
        kept = np.delete(np.arange(8), [4, 5])
        cases = LateCases(*(column[kept] for column in self.cases()))
        fewer = estimate_window(cases, self.AGE[kept], self.EVENT[kept], self.DELAYS, BRIER, 1.96)
        assert self.found(certain).p_value == pytest.approx(fewer.p_value)

    def test_with_few_reports_have_no_limits_of_the_score(self):
        few = self.found(0.8 * self.P)  # 3.6 are expected, and 6 came.
        assert few.note == "fewer than 4 expected reports: no limits of the score"
        assert math.isnan(few.score_low)
        assert few.low == pytest.approx(stats.gamma.ppf(stats.norm.sf(1.96), 6) / few.expected)
        event = np.zeros(8, dtype=bool)
        none = self.found(event=event)
        assert none.note == "no event is reported: no limits of the score"
        assert math.isnan(none.score_low)
        assert none.low == 0.0
        event[1] = True  # One came, and 4.5 are expected.
        assert self.found(event=event).note == ""
        assert self.found(event=event).score_low > 0.0

    def test_with_infinite_losses_have_no_limits_of_the_score(self):
        p = self.P.copy()
        p[5] = 1.0  # An event of full age, which a forecast of 1 expects.
        found = self.found(p, pr.Log())
        assert found.note == "a forecast has an infinite loss: no limits of the score"
        assert math.isfinite(found.score)
        assert math.isnan(found.score_low)

    def test_reported_when_nothing_should_be_are_not_estimable(self):
        delays = ReportingDelays(share=np.array([0.0, 0.6, 1.0]), steps=self.STEPS)
        found = estimate_window(self.cases(), self.AGE, self.EVENT, delays, BRIER, 1.96)
        assert found.note.startswith("events are reported at ages at which the estimated share of reported events is 0")
        names = ("observed_expected", "low", "high", "p_value", "score", "score_low", "score_high", "if_slower")
        assert all(math.isnan(getattr(found, name)) for name in (*names, "if_faster"))
        assert found.as_labelled == pytest.approx(6.0 / (self.COUNT @ self.P))
        assert found.reported == 6

    def test_group_forecasts_by_twenty_reports(self):
        rng = np.random.default_rng(3)
        p = np.sort(rng.uniform(0.1, 0.9, 60))
        event, count = rng.random(60) < p, np.full(60, 2.0)
        share = np.where(np.arange(60) % 2 == 0, 1.0, 0.6)
        cases = LateCases(p, np.zeros(60), np.zeros(60), count)
        groups = int(2.0 * event.sum() // 20)
        assert 1 < groups < 10
        expected = count * p * share
        middle = (np.cumsum(expected) - expected / 2.0) / expected.sum()
        group = np.floor(groups * middle)
        rate = np.array([count[(group == g) & event].sum() / (count * share)[group == g].sum() for g in group])
        rate = np.minimum(rate * share, 1.0)
        common = 2.0 * expected.sum() * (count * rate * p * share).sum() / (count @ rate) - count @ (p * share) ** 2
        assert _common(cases, share, event) == pytest.approx(common)

    def test_have_limits_that_may_be_infinite(self):
        low, high = _limits_of_ratio(5.0, 4.0, 0.5, 0.2, 2.0)
        for r in (low, high):
            assert (5.0 - 4.0 * r) ** 2 == pytest.approx(4.0 * (4.0 * r - 0.5 * r**2 + 0.2 * r**2))
        assert _limits_of_ratio(5.0, 4.0, 0.5, 9.0, 2.0)[1] == math.inf

    def test_are_read_from_arrays_or_a_ledger(self):
        made, reported = [0, 0, 1, 3], [2, None, 1, None]
        cases, now = read_late_cases([0.2, 0.3, 0.4, 0.5], made, reported)
        assert now == 3.0
        assert cases.made.tolist() == [0.0, 0.0, 1.0, 3.0]
        np.testing.assert_array_equal(cases.reported, [2.0, np.nan, 1.0, np.nan])
        assert cases.number.tolist() == [1.0] * 4
        assert read_late_cases([0.2, 0.3], [0, 1], [7, None])[1] == 7.0
        assert read_late_cases([0.2, 0.3], [0, 1], [7, None], now=4.5)[1] == 4.0
        ledger = pr.condense([1, 0, 1, 0], [0.2, 0.2, 0.4, 0.5], by={"made": [0, 0, 1, 3], "seen": [2, 2, 1, 99]})
        cells, now = read_late_cases(ledger, "made", "seen")
        rows = sorted(zip(*(np.nan_to_num(column, nan=-1.0).tolist() for column in cells), strict=True))
        assert rows == [(0.2, 0.0, -1.0, 1.0), (0.2, 0.0, 2.0, 1.0), (0.4, 1.0, 1.0, 1.0), (0.5, 3.0, -1.0, 1.0)]
        assert now == 3.0
        with pytest.raises(InputValueError, match=r"reported must not be before the day of the forecast.*2 cases"):
            read_late_cases([0.2, 0.3, 0.4], [3, 3, 3], [2, 1, None])
        with pytest.raises(InputValueError, match=r"reported must have shape \(2,\); it has \(3,\)"):
            read_late_cases([0.2, 0.3], [3, 3], [4, None, None])
        with pytest.raises(InputValueError, match=r"reported must be one of .*got 'x'"):
            read_late_cases(ledger, "made", "x")
        weighted = pr.condense([1, 0], [0.2, 0.3], by={"made": [0, 1], "seen": [2, 2]}, sample_weight=[1.0, 2.5])
        texts = pr.condense([1, 0], [0.2, 0.3], by={"made": ["x", "y"], "seen": [2, 2]})
        with pytest.raises(InputTypeError, match="made must hold dates or numbers of days"):
            read_late_cases(texts, "made", "seen")
        with pytest.raises(InputTypeError, match="reported must hold dates or numbers of days"):
            read_late_cases(texts, "seen", "made")
        with pytest.raises(InputValueError, match="forecasts must hold one event and no weights"):
            read_late_cases(weighted, "made", "seen")


class TestLateLabels:
    MADE = np.repeat(np.arange(12), 5)
    P = np.tile([0.2, 0.4, 0.5, 0.6, 0.8], 12)
    DELAY = (np.arange(60) * 7) % 4
    REPORTED = np.where((np.arange(60) * 11) % 10 < 10 * P, MADE + DELAY, np.nan)

    def test_have_windows_of_ages(self):
        found = pr.late_labels(self.P, made=self.MADE, reported=self.REPORTED, now=11, windows=[3, 11, 12])
        assert found.youngest.tolist()[:-1] == [0, 0, 0]
        assert found.oldest.tolist() == [2, 10, 11, 11]
        assert found.n.tolist()[:3] == [15, 55, 60]
        mature = int(np.argmax(found.by_age.maturity >= 0.95))
        assert found.youngest[-1] == mature
        age = 11 - self.MADE
        seen = self.REPORTED <= 11
        assert found.reported.tolist()[:3] == [int((seen & (age <= oldest)).sum()) for oldest in (2, 10, 11)]
        by_age = found.by_age
        assert by_age.age.tolist() == list(range(12))
        assert by_age.n.tolist() == [5] * 12
        assert by_age.reported.tolist() == [int((seen & (age == one)).sum()) for one in range(12)]
        assert by_age.expected.tolist() == pytest.approx([2.5] * 12)
        assert by_age.expected_so_far == pytest.approx(2.5 * by_age.maturity)
        assert (found.label, found.level, found.now) == ("Brier score", 0.95, 11.0)

    def test_of_a_past_day_do_not_know_later_cases(self):
        found = pr.late_labels(self.P, made=self.MADE, reported=self.REPORTED, now=6, windows=[2])
        kept = self.MADE <= 6
        known = np.where(self.REPORTED[kept] <= 6, self.REPORTED[kept], np.nan)
        alone = pr.late_labels(self.P[kept], made=self.MADE[kept], reported=known, now=6, windows=[2])
        for name in ("n", "reported", "observed_expected", "low", "high", "score", "p_value", "if_slower"):
            np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))
        later = pr.late_labels(self.P, made=self.MADE, reported=self.REPORTED, now=9, windows=[2])
        change = later.revision(found)
        assert (change.days, change.label) == (3, "Brier score")
        assert change.youngest.tolist() == found.youngest.tolist()
        assert change.n_before.tolist() == found.n.tolist() == change.n.tolist()
        inside = (self.MADE >= 5) & (self.MADE <= 6)
        assert change.reported[0] == (self.REPORTED[inside] <= 9).sum()
        assert change.reported_before[0] == (self.REPORTED[inside] <= 6).sum()
        np.testing.assert_array_equal(change.observed_expected_before, found.observed_expected)
        with pytest.raises(InputValueError, match="earlier must be of the same rule and level, and of no later day"):
            found.revision(later)
        assert found.revision(found).days == 0

    def test_have_ages_by_which_shares_are_reported(self):
        found = pr.late_labels(self.P, made=self.MADE, reported=self.REPORTED, now=11)
        for share in (0.25, 0.5, 1.0):
            assert found.age_at(share) == next(a for a, one in enumerate(found.by_age.maturity) if one >= share)
        for wrong in (0.0, 1.01, "1"):
            with pytest.raises(InputValueError, match=r"share must lie in \(0, 1\]"):
                found.age_at(wrong)
