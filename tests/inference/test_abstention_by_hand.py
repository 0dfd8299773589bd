"""Abstention and risk by coverage, computed by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.finding_words import caveats, note_words
from propriety.tables.forecast_table import ForecastTable

AURC = pr.measures.AreaUnderRiskCoverage()


class TestAbstention:
    RIGHT = np.array([1, 1, 0, 1, 0, 1, 1, 0])
    CONFIDENCE = np.array([0.9, 0.8, 0.8, 0.7, 0.7, 0.7, 0.6, 0.5])

    def test_has_one_row_for_each_confidence(self):
        curve = pr.risk_coverage_curve(self.RIGHT, self.CONFIDENCE, level=0.9)
        assert curve.threshold.tolist() == [0.9, 0.8, 0.7, 0.6, 0.5]
        assert curve.coverage.tolist() == pytest.approx([1 / 8, 3 / 8, 6 / 8, 7 / 8, 1.0])
        assert curve.risk.tolist() == pytest.approx([0.0, 1 / 3, 2 / 6, 2 / 7, 3 / 8])
        assert curve.generalized_risk.tolist() == pytest.approx([0.0, 1 / 8, 2 / 8, 2 / 8, 3 / 8])
        assert (curve.accuracy, curve.level, curve.n, curve.dropped) == (0.625, 0.9, 8, 0)
        # Equal confidences are averaged over their orders: of two, half an error comes first.
        wrong = [0.0, 0.5, 1.0, 1.0 + 1 / 3, 1.0 + 2 / 3, 2.0, 2.0, 3.0]
        mean = np.mean([number / (place + 1) for place, number in enumerate(wrong)])
        assert curve.aurc.value == pytest.approx(mean)
        least = np.mean([0.0] * 5 + [1 / 6, 2 / 7, 3 / 8])
        assert curve.excess_aurc == pytest.approx(mean - least)
        won = 0.0
        for right, wrong in itertools.product(self.CONFIDENCE[self.RIGHT == 1], self.CONFIDENCE[self.RIGHT == 0]):
            won += 1.0 if right > wrong else 0.5 if right == wrong else 0.0
        area = (1.0 - won / 15) * 0.625 * 0.375 + 0.375**2 / 2.0
        assert curve.augrc.value == pytest.approx(area)
        assert (curve.aurc.level, curve.augrc.level) == (0.9, 0.9)

    def test_may_have_weights_labels_and_missing_answers(self):
        right = ["C" if one else "I" for one in self.RIGHT]
        weight = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 2.0])
        found = pr.risk_coverage_curve(
            pr.cases(
                [None, *right], [0.9, *self.CONFIDENCE], sample_weight=[1.0, *weight], pos_label="C", missing="drop"
            )
        )
        assert (found.n, found.dropped) == (8, 1)
        assert found.accuracy == pytest.approx(weight[self.RIGHT == 1].sum() / 12.0)
        assert found.coverage.tolist() == pytest.approx([1 / 12, 4 / 12, 9 / 12, 10 / 12, 1.0])
        assert found.generalized_risk.tolist() == pytest.approx([0.0, 1 / 12, 4 / 12, 4 / 12, 0.5])
        plain = pr.risk_coverage_curve(self.RIGHT, self.CONFIDENCE)
        assert repr(plain) == (
            f"RiskCoverageCurve(rows=5, accuracy=0.625, aurc={plain.aurc.value:.6g}, augrc={plain.augrc.value:.6g}, n=8)"
        )
        assert repr(found).endswith("n=8, dropped=1)")

    def test_of_models_is_compared_with_weights(self):
        rng = np.random.default_rng(3)
        right = {"a": rng.random(60) < 0.7, "b": rng.random(60) < 0.6}
        confidence = {name: rng.random(60) for name in "ab"}
        weight = rng.uniform(0.5, 2.0, 60)
        found = pr.compare(right, confidence, AURC, sample_weight=weight, level=0.9)
        areas = [
            pr.risk_coverage_curve(right[name], confidence[name], sample_weight=weight).aurc.value for name in "ab"
        ]
        assert abs(found.differences.value[0]) == pytest.approx(abs(areas[0] - areas[1]))
        assert found.differences[0].level == 0.9
        with pytest.raises(InputTypeError, match=r"measure must be a measure of abstention.*got Brier"):
            pr.compare(right, confidence, pr.Brier())

    def test_of_a_table_takes_no_confidences(self):
        table = ForecastTable.from_predictions(self.RIGHT, self.CONFIDENCE)
        assert (
            pr.risk_coverage_curve(table).aurc.value == pr.risk_coverage_curve(self.RIGHT, self.CONFIDENCE).aurc.value
        )
        for given in ({"confidence": self.CONFIDENCE}, {"sample_weight": self.RIGHT}):
            with pytest.raises(InputTypeError, match="a ForecastTable"):
                pr.risk_coverage_curve(table, **given)

    @pytest.mark.parametrize(("reject", "error"), [(0.3, 1.0), (0.36, 1.0), (1.0, 2.5), (2.0, 1.0), (0.01, 1.0)])
    def test_has_the_threshold_of_the_lowest_cost(self, reject, error):
        curve = pr.risk_coverage_curve(self.RIGHT, self.CONFIDENCE)
        found = curve.reject_threshold(reject, error)

        def cost(threshold):
            kept = threshold <= self.CONFIDENCE
            return reject * np.mean(~kept) + error * np.mean(kept & (self.RIGHT == 0))

        costs = {one: cost(one) for one in (math.inf, 0.9, 0.8, 0.7, 0.6, 0.5)}
        best = next(one for one, own in costs.items() if own <= min(costs.values()) + 1e-12)
        assert found.threshold == best
        assert found.cost == pytest.approx(costs[best])
        kept = best <= self.CONFIDENCE
        assert found.coverage == pytest.approx(kept.mean())
        np.testing.assert_allclose(found.risk, 1.0 - self.RIGHT[kept].mean() if kept.any() else math.nan)
        assert found.chow_threshold == pytest.approx(1.0 - reject / error)
        assert found.chow_cost == pytest.approx(cost(1.0 - reject / error - 1e-9))
        by_chow = 1.0 - reject / error - 1e-9 <= self.CONFIDENCE
        assert found.chow_coverage == pytest.approx(by_chow.mean())
        np.testing.assert_allclose(found.chow_risk, 1.0 - self.RIGHT[by_chow].mean() if by_chow.any() else math.nan)
        assert found.cost_of_answering == pytest.approx(error * 3 / 8)
        assert (found.cost_of_abstaining, found.reject_cost, found.error_cost, found.n) == (reject, reject, error, 8)

    def test_needs_positive_costs(self):
        curve = pr.risk_coverage_curve(self.RIGHT, self.CONFIDENCE)
        for name, costs in (("reject_cost", (0.0, 1.0)), ("error_cost", (1.0, math.inf)), ("reject_cost", ("1", 1.0))):
            with pytest.raises(InputValueError, match=f"{name} must be a positive number"):
                curve.reject_threshold(*costs)

    def test_has_accuracies_and_coverages(self):
        table = ForecastTable.from_predictions(self.RIGHT, self.CONFIDENCE)
        assert pr.measures.AccuracyAtCoverage(3 / 8, threshold=0.0).value(table) == pytest.approx(2 / 3)
        assert pr.measures.AccuracyAtCoverage(0.5, threshold=0.0).value(table) == pytest.approx((2 + 2 / 3) / 4)
        for accuracy, coverage in ((1.0, 1 / 8), (2 / 3, 7 / 8), (5 / 7, 7 / 8), (0.72, 1 / 8), (0.0, 1.0)):
            found = pr.measures.CoverageAtAccuracy(accuracy, threshold=0.0).value(table)
            assert found == pytest.approx(coverage)
        none = ForecastTable.from_predictions([0, 1], [0.9, 0.2])
        assert pr.measures.CoverageAtAccuracy(0.6, threshold=0.0).value(none) == 0.0
        for wrong in (-0.1, 1.1, "1"):
            with pytest.raises(InputValueError, match=r"accuracy must lie in \[0, 1\]"):
                pr.measures.CoverageAtAccuracy(wrong)
            with pytest.raises(InputValueError, match=r"threshold must lie in \[0, 1\]"):
                pr.measures.AreaUnderRiskCoverage(wrong)
        for wrong in (0.0, 1.1, "1"):
            with pytest.raises(InputValueError, match=r"coverage must lie in \(0, 1\]"):
                pr.measures.AccuracyAtCoverage(wrong)
        assert pr.measures.CoverageAtAccuracy(1).key == "coverage_at_accuracy_1.0"
        assert pr.measures.AccuracyAtCoverage(1).label == "accuracy at a coverage of 1.0"

    def test_limits_of_few_confident_answers_contain_those_of_a_binomial_share(self):
        right = np.append(np.ones(50), np.tile([1, 0], 75))  # No draw of the first 20 has a wrong answer.
        confidence = np.linspace(1.0, 0.5, 200)
        found = pr.estimate(right, confidence, pr.measures.AccuracyAtCoverage(0.1, threshold=0.0), seed=1)
        exact = stats.binomtest(20, 20).proportion_ci()
        assert (found.value, found.low, found.high) == (1.0, pytest.approx(exact.low), 1.0)
        assert "no interval" not in caveats(found)
        at_half = pr.estimate(right, confidence, pr.measures.AccuracyAtCoverage(0.5, threshold=0.0), seed=1)
        exact = stats.binomtest(75, 100).proportion_ci()
        assert at_half.low <= exact.low < exact.high <= at_half.high
        weight = np.repeat([1.0, 3.0], 100)
        table = ForecastTable.from_predictions(right, confidence, sample_weight=weight)
        assert table.effective_n < 200
        low, high = pr.measures.AccuracyAtCoverage(0.5, threshold=0.0).least_limits(table, 0.75, 0.95)
        half = table.effective_n / 2.0
        assert low == pytest.approx(stats.beta.ppf(0.025, 0.75 * half, 0.25 * half + 1.0))
        assert high == pytest.approx(stats.beta.ppf(0.975, 0.75 * half + 1.0, 0.25 * half))

    def test_limits_of_the_highest_forecasts_contain_those_of_a_binomial_share(self):
        y, p = np.append(np.ones(50), np.tile([1, 0], 75)), np.linspace(1.0, 0.5, 200)  # The first 50 are events.
        for k, events in ((10, 10), (100, 75)):
            share = stats.binomtest(events, k).proportion_ci()
            low, value, high = ((k * rate - 0.2 * k) / (200 * 0.8) for rate in (share.low, events / k, share.high))
            measure = pr.measures.TopKNetBenefit(thresholds=0.2, k=k)
            found = pr.estimate(y, p, measure, seed=1)
            assert found.value == pytest.approx(value)
            assert measure.least_limits(ForecastTable.from_predictions(y, p), value, 0.95) == pytest.approx((low, high))
            assert found.low <= low + 1e-12
            assert found.high >= high - 1e-12
            as_share = pr.measures.TopKNetBenefit(thresholds=0.2, share=k / 200)
            assert pr.estimate(y, p, as_share, seed=1).low == pytest.approx(found.low)
        weighted = ForecastTable.from_predictions(y, p, sample_weight=np.repeat([1.0, 3.0], 100))
        heavy = pr.measures.TopKNetBenefit(thresholds=0.2, share=0.25)
        share = stats.beta.ppf(0.025, 0.75 * weighted.effective_n / 4, 0.25 * weighted.effective_n / 4 + 1.0)
        low, _ = heavy.least_limits(weighted, heavy.value(weighted), 0.95)
        assert low == pytest.approx(0.25 * (share - 0.2) / 0.8)

    def test_limits_of_a_coverage_contain_those_of_binomial_tests(self):
        right = np.random.default_rng(3).random(120) < np.linspace(1.0, 0.4, 120)
        table = ForecastTable.from_predictions(right, np.linspace(1.0, 0.5, 120))
        for accuracy in (0.0, 0.7, 0.9, 0.99, 1.0):
            surely = may_be = 0
            for k in range(1, 121):
                count = int(right[:k].sum())
                surely = k if stats.binomtest(count, k, accuracy, "greater").pvalue <= 0.025 else surely
                may_be = k if stats.binomtest(count, k, accuracy, "less").pvalue > 0.025 else may_be
            measure = pr.measures.CoverageAtAccuracy(accuracy, threshold=0.0)
            assert measure.least_limits(table, 0.5, 0.95) == pytest.approx((surely / 120, may_be / 120))
            found = pr.estimate(pr.Ledger.of_tables({"forecast": table}), measure=measure, seed=1)
            assert found.low <= surely / 120 + 1e-12
            assert found.high >= may_be / 120 - 1e-12

    def test_warns_of_few_right_or_wrong_answers(self):
        def caveat(right, wrong):
            table = ForecastTable.from_predictions([1] * right + [0] * wrong, np.full(right + wrong, 0.7))
            return pr.measures.AreaUnderRiskCoverage(0.0).caveat(table)

        assert caveat(50, 50) is None
        assert "based on 49 wrong answers" in note_words(caveat(50, 49))
        assert "right" not in note_words(caveat(50, 49))
        assert "based on 1 right answer" in note_words(caveat(1, 60))
        assert "based on 2 wrong answers and 3 right answers" in note_words(caveat(3, 2))
