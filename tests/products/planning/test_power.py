"""Planned power: against distributions of SciPy, formulas written out, and samples drawn and tested one by one."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import propriety as pr
from propriety.calibration.calibration_test import calibration_test
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.measures.of_means import NetBenefit
from propriety.inference.measures.reading import read_measure
from propriety.products.planning import power as planned_power
from propriety.products.planning.anticipated_cases import AnticipatedCases
from propriety.products.planning.power import (
    PlannedPower,
    _grouped,
    _MeanTest,
    _refined,
    calibration_power,
    difference_power,
    spread_power,
)
from propriety.tables.forecast_table import ForecastTable

BRIER = read_measure(pr.Brier())
DRAWING = {"level": 0.95, "power": 0.8, "draws": 10, "seed": 3}


def pair(new, old, share=None):
    share = None if share is None else np.array(share)
    return AnticipatedCases.calibrated({"new": np.array(new), "old": np.array(old)}, share)


class Answers:
    """Shares of rejected samples that are told one after the other, with the sizes for which they are asked."""

    def __init__(self, *shares):
        self.shares, self.asked = list(shares), []

    def __call__(self, n, draws):
        self.asked.append((n, draws))
        return self.shares[len(self.asked) - 1]


class TestPower:
    @pytest.mark.parametrize(("n", "noncentrality", "critical"), [(50, 0.1, 1.96), (400, 0.02, 1.645), (7, 0.3, 2.5)])
    def test_of_a_normal_test(self, n, noncentrality, critical):
        found = PlannedPower(noncentrality, critical)
        assert found(n) == pytest.approx(stats.norm.sf(critical - math.sqrt(n * noncentrality)), rel=1e-12)

    @pytest.mark.parametrize("df", [1.0, 2.0, 3.0])
    def test_of_a_chi_squared_test(self, df):
        found = PlannedPower(0.05, 6.5, df)
        assert found(120) == pytest.approx(stats.ncx2.sf(6.5, df, 6.0), rel=1e-8)

    @pytest.mark.parametrize("df", [0.0, 1.0, 2.0])
    @pytest.mark.parametrize("power", [0.6, 0.8, 0.95])
    def test_cases_are_those_with_the_power(self, df, power):
        found = PlannedPower(0.03, 2.4, df)
        assert found(found.cases(power)) == pytest.approx(power, abs=1e-8)

    def test_cases_of_a_normal_test_follow_the_textbook_formula(self):
        expected = (1.96 + stats.norm.ppf(0.9)) ** 2 / 0.25
        assert PlannedPower(0.25, 1.96).cases(0.9) == pytest.approx(expected, rel=1e-12)

    def test_without_noncentrality_no_number_of_cases_is_enough(self):
        assert PlannedPower(0.0, 1.96).cases(0.8) == math.inf
        assert PlannedPower(0.0, 5.99, 2.0).cases(0.8) == math.inf
        assert PlannedPower(1e-3, 1.96).cases(0.8) < math.inf

    @pytest.mark.parametrize("df", [0.0, 2.0])
    def test_a_curve_through_a_point_has_its_power_and_the_same_test(self, df):
        found = PlannedPower(0.5, 2.2, df).through(70, 0.65)
        assert found(70) == pytest.approx(0.65, abs=1e-8)
        assert (found.critical, found.df) == (2.2, df)

    def test_of_a_difference_and_its_spread(self):
        found = spread_power(-0.3, 0.6, 0.9)
        assert found.noncentrality == pytest.approx(0.25)
        assert found.critical == pytest.approx(stats.norm.ppf(0.95))
        assert found.df == 0.0


class Curve:
    """A true power curve, simulated without noise, with the sizes for which it is asked."""

    def __init__(self, power):
        self.power, self.asked = power, []

    def __call__(self, n, draws):
        self.asked.append((n, draws))
        return self.power(n)


class TestRefinement:
    """Rounds of simulation search for the number of cases; the last, with all draws, gives the curve."""

    @pytest.mark.parametrize("df", [0.0, 2.0])
    def test_a_round_near_the_power_is_the_last_but_one(self, df):
        start, told = PlannedPower(0.01, 2.1, df), Answers(0.839, 0.81)
        found = _refined(start, 0.8, 4000, told)
        first = math.ceil(start.cases(0.8))
        second = math.ceil(start.through(first, 0.839).cases(0.8))
        assert told.asked == [(first, 1000), (second, 4000)]
        assert found.noncentrality == pytest.approx(start.through(second, 0.81).noncentrality, rel=1e-12)
        assert (found.critical, found.df) == (2.1, df)

    def test_rounds_on_both_sides_of_the_power_are_interpolated(self):
        told = Answers(0.82, 0.78)
        found = _refined(PlannedPower(0.01, 1.96), 0.8, 4000, told)
        high, wanted, low = stats.norm.ppf([0.82, 0.8, 0.78])
        above, below = (math.sqrt(n) for n, _ in told.asked)
        assert found.cases(0.8) == pytest.approx((below + (wanted - low) / (high - low) * (above - below)) ** 2)

    def test_the_search_goes_on_until_a_round_is_near_the_power(self):
        start, told = PlannedPower(0.01, 2.1), Answers(0.7, 0.85, 0.755, 0.77, 0.8)
        _refined(start, 0.8, 4000, told)
        ends = [(told.asked[0][0], 0.7), (told.asked[1][0], 0.85)]
        (a, low), (b, high) = ((math.sqrt(n), stats.norm.ppf(share)) for n, share in ends)
        third = (a + (stats.norm.ppf(0.8) - low) / (high - low) * (b - a)) ** 2
        assert told.asked[2] == (math.ceil(third), 1000)
        assert told.asked[2][0] < told.asked[3][0] < told.asked[1][0]
        assert [draws for _, draws in told.asked] == [1000, 1000, 1000, 1000, 4000]

    @pytest.mark.parametrize("steepness", [0.5, 1.0, 3.0, 8.0])
    @pytest.mark.parametrize("needed", [90, 700, 20_000])
    def test_curves_of_any_steepness_are_followed(self, steepness, needed):
        """Far from the power, the curves differ much from that of the normal formula, which asks for 785 cases."""
        start = PlannedPower(0.01, 1.96)
        told = Curve(lambda n: stats.norm.cdf(0.8416 + steepness * 2.8 * (math.sqrt(n / needed) - 1.0)))
        found = _refined(start, 0.8, 8000, told)
        assert told.power(found.cases(0.8)) == pytest.approx(0.8, abs=0.02)
        assert len(told.asked) <= 10

    def test_shares_of_none_or_all_samples_are_moved_by_one_of_two_more(self):
        start, told = PlannedPower(0.01, 5.99, 2.0), Answers(0.8, 1.0)
        assert _refined(start, 0.8, 40, told) == start.through(told.asked[1][0], 41 / 42)
        assert [draws for _, draws in told.asked] == [10, 40]

    def test_a_share_no_larger_than_the_level_doubles_the_number_of_cases(self):
        start, told = PlannedPower(0.01, 1.96), Answers(0.05, 0.0, 0.8, 0.8)
        _refined(start, 0.8, 4000, told)
        n = math.ceil(start.cases(0.8))
        assert [asked for asked, _ in told.asked[:3]] == [n, 2 * n, 4 * n]

    def test_rounds_are_at_most_twice_or_half_as_large_as_the_last(self):
        start, told = PlannedPower(0.01, 1.96), Answers(0.1, 0.8, 0.8)
        _refined(start, 0.8, 4000, told)
        assert told.asked[1][0] == 2 * told.asked[0][0]
        told = Answers(1.0, 0.8, 0.8)
        _refined(start, 0.8, 40_000, told)
        assert told.asked[1][0] == math.ceil(told.asked[0][0] / 2)

    def test_if_nothing_is_ever_detected_the_search_ends(self):
        start = PlannedPower(0.01, 1.96)
        told = Curve(lambda n: 0.0)
        found = _refined(start, 0.8, 400, told)
        n = math.ceil(start.cases(0.8))
        assert [asked for asked, _ in told.asked] == [n * 2**place for place in range(13)]
        assert found.cases(0.8) == pytest.approx(n * 2**13)

    def test_few_draws_cannot_tell_a_round_from_the_power(self):
        told = Answers(0.5, 0.6)
        _refined(PlannedPower(0.01, 1.96), 0.8, 10, told)
        assert [draws for _, draws in told.asked] == [2, 10]

    def test_at_least_four_cases_and_one_sample_are_drawn(self):
        told = Curve(lambda n: 1.0)
        _refined(PlannedPower(1e6, 1.96), 0.8, 1, told)
        assert told.asked[0] == (4, 1)
        told = Curve(lambda n: 1.0)
        _refined(PlannedPower(1e6, 1.96), 0.8, 4000, told)
        assert told.asked == [(4, 1000), (4, 4000)]

    def test_no_more_than_the_largest_number_of_cases_are_drawn(self):
        told = Curve(lambda n: 0.1)
        _refined(PlannedPower(0.0, 1.96), 0.8, 400, told)
        assert told.asked == [(10**12, 100), (10**12, 400)]


class TestDifference:
    def test_of_two_kinds_of_cases_by_hand(self):
        """The event has the probability of the new forecast; losses are squares."""
        cases = pair([0.1, 0.4], [0.1 + 0.01, 0.4 - 0.02], [0.75, 0.25])
        total = square = 0.0
        for share, new, old in ((0.75, 0.1, 0.11), (0.25, 0.4, 0.38)):
            for p, gap in ((new, (1 - new) ** 2 - (1 - old) ** 2), (1 - new, new**2 - old**2)):
                total, square = total + share * p * gap, square + share * p * gap**2
        spread = math.sqrt(square - total**2)
        difference, own, power, how = difference_power(cases, BRIER, **DRAWING)
        assert difference == pytest.approx(total, rel=1e-9)
        assert difference == pytest.approx(-(0.75 * 0.01**2 + 0.25 * 0.02**2), rel=1e-9)
        assert own == pytest.approx(spread, rel=1e-9)
        assert how == "normal"
        assert power.noncentrality == pytest.approx((total / spread) ** 2, rel=1e-9)
        assert power.critical == pytest.approx(1.959963984540054)

    @pytest.mark.parametrize("turned", [False, True], ids=["rare events", "rare non-events"])
    def test_is_simulated_up_to_500_cases_of_the_rarer_outcome(self, turned):
        new, old = np.array([0.05, 0.3]), np.array([0.08, 0.22])
        if turned:
            new, old = 1.0 - new, 1.0 - old
        cases = pair(new, old, [0.8, 0.2])
        rarer = 0.8 * 0.05 + 0.2 * 0.3
        formula = difference_power(cases, BRIER, level=0.95, power=1.0 - 1e-15, draws=1, seed=1)
        assert formula[3] == "normal"
        for number, how in ((499.0, "simulated"), (501.0, "normal")):
            power = stats.norm.cdf(math.sqrt(number / rarer * formula[2].noncentrality) - formula[2].critical)
            found = difference_power(cases, BRIER, level=0.95, power=power, draws=1, seed=1)
            assert found[:2] == formula[:2]
            assert found[3] == how
            assert (found[2] == formula[2]) == (how == "normal")

    def test_simulated_power_is_that_of_the_drawn_samples(self):
        cases = pair([0.05, 0.3, 0.6], [0.15, 0.2, 0.4], [0.6, 0.3, 0.1])
        difference, spread, power, how = difference_power(cases, BRIER, **DRAWING)
        generator = np.random.default_rng(3)
        test = _MeanTest.of(cases, BRIER, 0.95)
        start = spread_power(difference, spread, 0.95)
        expected = _refined(start, 0.8, 40, lambda n, draws: test.reject(n, draws, generator))
        assert how == "simulated"
        assert power.noncentrality == pytest.approx(expected.noncentrality, rel=1e-9)
        assert power.noncentrality != pytest.approx(start.noncentrality, rel=1e-3)
        assert power.critical == start.critical

    def test_of_many_kinds_scales_the_formula_by_the_ratio_of_a_thousand_of_them(self):
        x = np.random.default_rng(5).normal(-1.0, 1.0, 1500)
        cases = pair(expit(x), expit(0.5 * x))
        difference, spread, power, how = difference_power(cases, BRIER, **DRAWING)
        new, old = cases.forecasts.values()
        squares = new * ((1 - new) ** 2 - (1 - old) ** 2) ** 2 + (1 - new) * (new**2 - old**2) ** 2
        drawn = cases.systematic(1000, np.sqrt(squares))
        new, old = drawn.forecasts.values()
        mean = -(drawn.share @ (new - old) ** 2)
        square = drawn.share @ (new * ((1 - new) ** 2 - (1 - old) ** 2) ** 2 + (1 - new) * (new**2 - old**2) ** 2)
        own = (mean / math.sqrt(square - mean**2)) ** 2
        generator, test = np.random.default_rng(3), _MeanTest.of(drawn, BRIER, 0.95)
        simulated = _refined(
            PlannedPower(own, 1.959963984540054), 0.8, 40, lambda n, draws: test.reject(n, draws, generator)
        )
        assert how == "simulated"
        expected = (difference / spread) ** 2 * simulated.noncentrality / own
        assert power.noncentrality == pytest.approx(expected, rel=1e-9)

    def test_that_is_given_scales_the_simulated_noncentrality(self):
        cases = pair([0.05, 0.3, 0.6], [0.15, 0.2, 0.4], [0.6, 0.3, 0.1])
        value, own, power, _ = difference_power(cases, BRIER, **DRAWING)
        for given in ({"difference": value}, {"difference": -0.5 * value}, {"spread": 1.5 * own}):
            difference, spread = given.get("difference", value), given.get("spread", own)
            found = difference_power(cases, BRIER, **DRAWING, **given)
            assert found[:2] == (difference, spread)
            assert found[3] == "simulated"
            scale = (difference / value) ** 2 * (own / spread) ** 2
            assert found[2].noncentrality == pytest.approx(scale * power.noncentrality, rel=1e-9)

    def test_that_is_given_for_equally_good_models_uses_the_formula(self):
        mirrored = AnticipatedCases(
            forecasts={"new": np.array([0.4, 0.3]), "old": np.array([0.6, 0.7])},
            share=np.array([0.5, 0.5]),
            rate=np.array([0.5, 0.5]),
        )
        found = difference_power(mirrored, BRIER, difference=0.1, **DRAWING)
        assert found[2:] == (spread_power(0.1, found[1], 0.95), "normal")

    def test_of_equal_models_with_a_given_difference_is_never_detected(self):
        found = difference_power(pair([0.3, 0.6], [0.3, 0.6]), BRIER, difference=0.01, **DRAWING)
        assert found == (0.01, 0.0, PlannedPower(0.0, stats.norm.ppf(0.975)), "normal")

    def test_kinds_that_matter_much_are_chosen_more_often_with_smaller_shares(self):
        cases = AnticipatedCases.calibrated({"new": np.linspace(0.01, 0.4, 400)})
        size = np.where(np.arange(400) % 100 == 7, 300.0, 1.0)
        chosen = cases.systematic(80, size)
        assert chosen.share.sum() == pytest.approx(1.0)
        places = np.searchsorted(cases.rate, chosen.rate)
        assert np.isin([7, 107, 207, 307], places).all()
        chance = (1.0 + size / size.mean()) / 2.0
        np.testing.assert_allclose(chosen.share * chance[places], (chosen.share * chance[places])[0])
        assert chosen.prevalence == pytest.approx(cases.prevalence, rel=0.05)
        assert cases.systematic(400, size) is cases

    def test_of_an_area_uses_the_normal_formula_however_few_the_events(self):
        cases = pair([0.02, 0.3, 0.5], [0.2, 0.1, 0.3], [0.6, 0.3, 0.1])
        difference, spread, power, how = difference_power(cases, pr.measures.AreaUnderRoc(), **DRAWING)
        assert how == "normal"
        assert power == spread_power(difference, spread, 0.95)

    def test_of_models_that_are_equally_good_is_never_detected(self):
        found = difference_power(pair([0.3, 0.6], [0.3, 0.6]), BRIER, level=0.9, power=0.8, draws=1, seed=1)
        assert found == (0.0, 0.0, PlannedPower(0.0, stats.norm.ppf(0.95)), "normal")
        mirrored = AnticipatedCases(
            forecasts={"new": np.array([0.4, 0.3]), "old": np.array([0.6, 0.7])},
            share=np.array([0.5, 0.5]),
            rate=np.array([0.5, 0.5]),
        )
        difference, spread, power, how = difference_power(mirrored, BRIER, **DRAWING)
        assert difference == pytest.approx(0.0, abs=1e-12)
        assert spread == pytest.approx(math.sqrt((0.2**2 + 0.4**2) / 2.0))
        assert (power.noncentrality, how) == (0.0, "normal")

    def test_of_nearly_equal_models_is_measured_against_its_spread(self):
        found = difference_power(pair([0.3], [0.3 + 1e-4]), BRIER, **DRAWING)
        assert found[0] == pytest.approx(-1e-8, rel=1e-4)
        assert found[2].noncentrality == pytest.approx((found[0] / found[1]) ** 2, rel=1e-6)
        assert found[2].noncentrality > 0.0

    def test_needs_a_measure_with_an_influence(self):
        with pytest.raises(InputTypeError, match="measure must be a rule, or a measure that is a mean"):
            difference_power(pair([0.3], [0.4]), read_measure(lambda table: 1.0), **DRAWING)

    def test_needs_finite_scores(self):
        with pytest.raises(InputValueError, match="is infinite, so no number of cases can be planned"):
            difference_power(pair([0.3, 0.5], [0.0, 0.5]), read_measure(pr.Log()), **DRAWING)

    def test_with_ten_events_has_the_power_that_was_planned(self):
        """The normal formula asks for fewer cases; three rounds without a bracket asked for twice as many."""
        generator = np.random.default_rng(0)
        x = generator.normal(-7.0, 1.2, 1000)
        cases = pair(expit(x), expit(x + generator.normal(0.0, 1.5, 1000)))
        drawing = {"level": 0.95, "power": 0.8, "draws": 200, "seed": 1}
        value, spread, power, _ = difference_power(cases, BRIER, **drawing)
        test = _MeanTest.of(cases, BRIER, 0.95)
        assert test.reject(math.ceil(power.cases(0.8)), 1000, generator) == pytest.approx(0.8, abs=0.06)
        assert test.reject(math.ceil(spread_power(value, spread, 0.95).cases(0.8)), 500, generator) < 0.75
        given = difference_power(cases, BRIER, difference=value, **drawing)[2]
        assert given.cases(0.8) == pytest.approx(power.cases(0.8), rel=1e-6)


class TestMeanTest:
    def test_of_a_rule_takes_the_differences_of_its_losses(self):
        test = _MeanTest.of(pair([0.1, 0.4], [0.2, 0.3]), BRIER, 0.9)
        assert test.happened == pytest.approx([0.9**2 - 0.8**2, 0.6**2 - 0.7**2])
        assert test.without == pytest.approx([0.1**2 - 0.2**2, 0.4**2 - 0.3**2])
        assert (test.level, test.asked.edge) == (0.9, 0.0)

    def test_of_a_net_benefit_knows_what_a_case_at_its_threshold_changes(self):
        cases = pair([0.1, 0.4], [0.3, 0.1])
        test = _MeanTest.of(cases, NetBenefit(0.2), 0.95)
        assert test.asked.edge == pytest.approx(0.25)
        assert test.happened == pytest.approx([-1.0, 1.0])
        assert test.without == pytest.approx([0.25, -0.25])

    @staticmethod
    def samples(cases, n, draws, seed):
        return cases.draw(n, draws, np.random.default_rng(seed))

    @staticmethod
    def p_value(cases, events, others, measure=BRIER):
        """Return the p-value of `compare` on the cases of a sample."""
        number = np.concatenate([events, others])
        y = np.repeat(np.repeat([1, 0], len(events)), number)
        models = {name: np.repeat(np.tile(p, 2), number) for name, p in cases.forecasts.items()}
        return float(pr.compare(y, models, measure).differences.p[0])

    def test_agrees_with_the_comparison_of_each_sample(self):
        cases = pair([0.35, 0.5, 0.7], [0.5, 0.45, 0.55])
        test = _MeanTest.of(cases, BRIER, 0.95)
        events, others = self.samples(cases, 60, 40, 1)
        decided = []
        for happened, without in zip(events, others, strict=True):
            decided.append(self.p_value(cases, happened, without) <= 0.05)
            assert test._significant(happened[None], without[None], 60) == decided[-1]
        assert test._significant(events, others, 60) == sum(decided)
        assert 0 < sum(decided) < 40

    def test_of_few_events_is_more_careful_than_a_t_test(self):
        """Skewed differences: with 2 or 3 events in 50 cases, a t-test rejects what the test does not."""
        cases = pair([0.03, 0.08], [0.005, 0.25])
        test = _MeanTest.of(cases, BRIER, 0.95)
        events, others = self.samples(cases, 50, 60, 2)
        careful = plain = 0
        for happened, without in zip(events, others, strict=True):
            if happened.sum() == 0:
                continue
            values = np.concatenate([np.repeat(test.happened, happened), np.repeat(test.without, without)])
            careful += self.p_value(cases, happened, without) <= 0.05
            plain += stats.ttest_1samp(values, 0.0).pvalue <= 0.05
        assert test._significant(events, others, 50) == careful
        assert careful < plain

    def test_of_a_net_benefit_is_that_of_the_comparison(self):
        cases = pair([0.1, 0.4, 0.3], [0.3, 0.1, 0.35])
        test = _MeanTest.of(cases, NetBenefit(0.2), 0.95)
        events, others = self.samples(cases, 80, 40, 4)
        decided = [self.p_value(cases, *one, NetBenefit(0.2)) <= 0.05 for one in zip(events, others, strict=True)]
        assert test._significant(events, others, 80) == sum(decided)
        assert 0 < sum(decided) < 40

    @pytest.mark.parametrize("measure", [BRIER, NetBenefit(0.2)], ids=["Brier score", "net benefit"])
    def test_a_sample_is_significant_up_to_its_p_value(self, measure):
        cases = pair([0.15, 0.4, 0.7], [0.3, 0.1, 0.55])
        happened, without = np.array([[1, 5, 4]]), np.array([[6, 5, 3]])
        p_value = self.p_value(cases, happened[0], without[0], measure)
        assert 0.001 < p_value < 0.999
        for factor, expected in ((1.0 + 1e-7, 1), (1.0 - 1e-7, 0)):
            test = _MeanTest.of(cases, measure, 1.0 - factor * p_value)
            assert test._significant(happened, without, 24) == expected

    def test_samples_of_one_outcome_or_without_a_spread_are_not_significant(self):
        test = _MeanTest.of(pair([0.1, 0.8], [0.6, 0.3]), BRIER, 0.95)
        none = np.zeros(2, dtype=np.int64)
        for events, others in (([30, 30], none), (none, [30, 30]), (none, [60, 0])):
            assert test._significant(np.array([events]), np.array([others]), 60) == 0
        assert test._significant(np.array([[2, 28]]), np.array([[28, 2]]), 60) == 1
        alike = _MeanTest.of(pair([0.3, 0.6], [0.3, 0.6]), NetBenefit(0.4), 0.95)
        assert alike._significant(np.array([[5, 5]]), np.array([[5, 5]]), 20) == 0

    def test_a_sample_with_a_single_event_is_tested(self):
        test = _MeanTest.of(pair([0.02, 0.9], [0.5, 0.8]), BRIER, 0.95)
        assert test._significant(np.array([[0, 1]]), np.array([[59, 0]]), 60) == 1
        assert test._significant(np.array([[59, 0]]), np.array([[0, 1]]), 60) == 1

    def test_samples_are_drawn_in_blocks(self, monkeypatch):
        cases = pair([0.35, 0.5, 0.7], [0.5, 0.45, 0.55])
        test = _MeanTest.of(cases, BRIER, 0.9)
        monkeypatch.setattr(planned_power, "BLOCK", 7)
        assert test.reject(40, 5, np.random.default_rng(3)) == self.in_blocks(test, (2, 2, 1))
        monkeypatch.setattr(planned_power, "BLOCK", 1)
        assert test.reject(40, 5, np.random.default_rng(3)) == self.in_blocks(test, (1, 1, 1, 1, 1))

    @staticmethod
    def in_blocks(test, sizes):
        generator = np.random.default_rng(3)
        return sum(test._significant(*test.cases.draw(40, draws, generator), 40) for draws in sizes) / sum(sizes)

    def test_the_share_of_rejections_is_that_of_the_samples(self):
        cases = pair([0.35, 0.5, 0.7], [0.5, 0.45, 0.55])
        test = _MeanTest.of(cases, BRIER, 0.9)
        expected = test._significant(*self.samples(cases, 60, 50, 8), 60) / 50
        assert test.reject(60, 50, np.random.default_rng(8)) == expected
        assert 0.0 < expected < 1.0


class TestGroups:
    def test_of_equal_forecasts_have_weighted_means(self):
        found = _grouped(np.array([0.4, 0.1, 0.4]), np.array([0.2, 0.3, 0.1]), np.array([0.5, 0.2, 0.8]))
        assert found.forecasts["forecast"] == pytest.approx([0.1, 0.4])
        assert found.share == pytest.approx([0.5, 0.5])
        assert found.rate == pytest.approx([0.2, (0.2 * 0.5 + 0.1 * 0.8) / 0.3])

    def test_two_hundred_forecasts_stay_as_they_are(self):
        p = np.linspace(0.1, 0.9, 200)
        share = np.arange(1.0, 201.0)
        found = _grouped(p, share, p**2)
        assert found.forecasts["forecast"] == pytest.approx(p)
        assert found.share == pytest.approx(share / share.sum())

    def test_more_forecasts_are_pooled_by_the_middle_of_their_share(self):
        generator = np.random.default_rng(7)
        p, share = np.sort(generator.random(205)), generator.random(205) ** 3
        rate = generator.random(205)
        order = generator.permutation(205)
        found = _grouped(p[order], share[order], rate[order])
        cells, before = {}, 0.0
        for one in range(205):
            cell = int(200 * (before + share[one] / 2.0) / share.sum())
            cells.setdefault(cell, []).append(one)
            before += share[one]
        assert len(cells) < 200
        rows = list(cells.values())
        assert found.share == pytest.approx([share[row].sum() / share.sum() for row in rows])
        assert found.forecasts["forecast"] == pytest.approx([np.average(p[row], weights=share[row]) for row in rows])
        assert found.rate == pytest.approx([np.average(rate[row], weights=share[row]) for row in rows])


class TestCalibration:
    P, SHARE = np.array([0.1, 0.3, 0.6]), np.array([0.5, 0.3, 0.2])

    def cases(self, rate, p=P, share=SHARE):
        return (
            AnticipatedCases(forecasts={"m": p}, share=share, rate=p),
            AnticipatedCases(forecasts={"m": p}, share=share, rate=np.asarray(rate)),
        )

    @staticmethod
    def by_hand(p, share, rate, *, level, power, draws, seed):
        """Draw tables and test each of them, from the noncentrality of the score test of an intercept and a slope."""
        x, v = logit(p), share * p * (1.0 - p)
        a, b = (share * (rate - p)).sum(), (share * (rate - p) * x).sum()
        i, j, k = v.sum(), (v * x).sum(), (v * x * x).sum()
        shift = (k * a * a - 2.0 * j * a * b + i * b * b) / (i * k - j * j)
        start = PlannedPower(shift, stats.chi2.isf(0.8 * (1.0 - level), 2), 2.0)
        generator = np.random.default_rng(seed)

        def rejected(n, samples):
            cases = generator.multinomial(n, share, size=samples)
            events = generator.binomial(cases, rate)
            found = 0
            for number, happened in zip(cases, events, strict=True):
                kept = number > 0
                table = ForecastTable(
                    forecast=p[kept], events=1.0 * happened[kept], non_events=1.0 * (number - happened)[kept]
                )
                found += calibration_test(table, n_resamples=99, seed=seed).p_value <= 1.0 - level
            return found / samples

        return start, _refined(start, power, draws, rejected)

    @pytest.mark.parametrize(("level", "power"), [(0.95, 0.8), (0.9, 0.7)])
    def test_power_is_that_of_the_drawn_tables(self, level, power):
        rate = expit(0.6 * logit(self.P) - 0.2)
        options = {"level": level, "power": power, "draws": 24, "seed": 5}
        start, expected = self.by_hand(self.P, self.SHARE, rate, **options)
        found = calibration_power(*self.cases(rate), **options)
        assert found.noncentrality == pytest.approx(expected.noncentrality, rel=1e-6)
        assert found.noncentrality != pytest.approx(start.noncentrality, rel=1e-4)
        assert found.critical == pytest.approx(stats.chi2.isf(0.8 * (1.0 - level), 2))
        assert found.df == 2.0

    def test_rare_kinds_may_be_missing_in_a_drawn_table(self):
        share, rate = np.array([0.6, 0.39, 0.01]), expit(0.4 * logit(self.P) - 0.5)
        options = {"level": 0.95, "power": 0.8, "draws": 16, "seed": 2}
        _, expected = self.by_hand(self.P, share, rate, **options)
        found = calibration_power(*self.cases(rate, share=share), **options)
        assert found.noncentrality == pytest.approx(expected.noncentrality, rel=1e-6)

    def test_forecasts_of_0_and_1_are_left_out(self):
        rate = expit(0.6 * logit(self.P) - 0.2)
        options = {"level": 0.95, "power": 0.8, "draws": 8, "seed": 5}
        p, share = np.array([0.0, *self.P, 1.0]), np.array([0.1, *(0.8 * self.SHARE), 0.1])
        found = calibration_power(*self.cases([0.0, *rate, 1.0], p, share), **options)
        # The noncentrality per case is 0.8 of that without them, and the drawn tables are the same but larger.
        x, v = np.stack([np.ones(3), logit(self.P)]), self.SHARE * self.P * (1.0 - self.P)
        score = x @ (self.SHARE * (rate - self.P))
        shift = 0.8 * score @ np.linalg.solve((x * v) @ x.T, score)
        assert 0.3 * shift < found.noncentrality < 3.0 * shift
        assert found.df == 2.0

    @pytest.mark.parametrize("apart", [0.0, 1e-7])
    def test_of_a_single_forecast_has_one_degree_of_freedom(self, apart):
        p, share = np.array([0.2, 0.2 + apart]), np.array([0.5, 0.5])
        found = calibration_power(*self.cases([0.35, 0.35], p, share), level=0.95, power=0.8, draws=8, seed=1)
        assert found.df == 1.0
        assert found.critical == pytest.approx(stats.chi2.isf(0.04, 1))
        assert 0.0 < found.noncentrality < math.inf

    def test_of_calibrated_forecasts_finds_nothing(self):
        found = calibration_power(*self.cases(self.P), level=0.9, power=0.8, draws=8, seed=1)
        assert found == PlannedPower(0.0, stats.chi2.isf(0.08, 2), 2.0)
        assert found.cases(0.8) == math.inf
