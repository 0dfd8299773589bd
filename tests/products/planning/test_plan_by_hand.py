"""Plans of studies, computed by hand."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.inference.measures.reading import read_measure
from propriety.products.planning.anticipated_cases import AnticipatedCases
from propriety.products.planning.inputs import KnownCases, read_widths
from propriety.products.planning.plan import Criterion, _miscalibration, _plan, _smallest, _tested_label
from propriety.products.planning.precision import PlannedWidth, planned_width

Z = 1.959963984540054


class TestPlannedWidths:
    def test_on_each_scale(self):
        away = stats.norm.ppf(0.95) * math.sqrt((2.0 + 3.0 / 50) / 50)
        assert PlannedWidth(0.4, 2.0, "identity", 0.9, 3.0)(50) == pytest.approx(2.0 * away)
        log = 0.4 * (math.exp(away / 0.4) - math.exp(-away / 0.4))
        assert PlannedWidth(0.4, 2.0, "log", 0.9, 3.0)(50) == pytest.approx(log)
        centre, step = math.log(0.4 / 0.6), away / 0.24
        on_logit = 1.0 / (1.0 + math.exp(-centre - step)) - 1.0 / (1.0 + math.exp(-centre + step))
        assert PlannedWidth(0.4, 2.0, "logit", 0.9, 3.0)(50) == pytest.approx(on_logit)

    def test_of_hardly_any_cases_are_finite(self):
        assert PlannedWidth(0.001, 5.0, "log", 0.95)(1e-6) == pytest.approx(2.0 * 0.001 * math.sinh(700.0))
        assert PlannedWidth(0.5, 0.1, "identity", 0.95, -2.0)(10) == 0.0

    def test_of_observed_expected_and_area_follow_riley(self):
        cases = AnticipatedCases.calibrated({"m": np.array([0.1, 0.2, 0.6])})
        ratio = planned_width(cases, pr.measures.ObservedExpected(), 0.95, "riley")
        assert ratio.variance == pytest.approx(0.7 / 0.3)
        assert (ratio.value, ratio.scale, ratio.excess) == (pytest.approx(1.0), "log", 0.0)
        found = planned_width(cases, pr.measures.AreaUnderRoc(), 0.95, "riley")
        pairs = [(0.1, 0.9), (0.2, 0.8), (0.6, 0.4)]
        won = sum(
            a[0] * b[1] * (1.0 if i > j else 0.5 if i == j else 0.0)
            for i, a in enumerate(pairs)
            for j, b in enumerate(pairs)
        )
        area = won / (0.9 * 2.1)
        assert found.value == pytest.approx(area)
        n = 80
        inner = (1.0 - area) / (2.0 - area) + area / (1.0 + area)
        variance = area * (1.0 - area) * (1.0 + (n / 2.0 - 1.0) * inner) / (n**2 * 0.3 * 0.7)
        assert found(n) == pytest.approx(2.0 * Z * math.sqrt(variance), rel=1e-9)

    def test_of_a_mean_are_those_of_its_spread(self):
        cases = AnticipatedCases.calibrated({"m": np.array([0.1, 0.6])}, np.array([3.0, 1.0]))
        found = planned_width(cases, read_measure(pr.Brier()), 0.95, "influence")
        losses, weights = [0.81, 0.01, 0.16, 0.36], [0.075, 0.675, 0.15, 0.1]
        mean = np.average(losses, weights=weights)
        assert found.value == pytest.approx(mean)
        assert found.variance == pytest.approx(np.average((np.array(losses) - mean) ** 2, weights=weights))
        assert (found.scale, found.level) == ("identity", 0.95)

    def test_need_a_spread(self):
        certain = AnticipatedCases(
            forecasts={"m": np.array([0.0, 1.0])}, share=np.array([0.5, 0.5]), rate=np.array([0.0, 1.0])
        )
        with pytest.raises(InputValueError, match="Brier score of these forecasts has no spread"):
            planned_width(certain, read_measure(pr.Brier()), 0.95, "influence")


class TestSmallestNumbers:
    @pytest.mark.parametrize("most", [1.0, 2.0, 3.0, 7.0, 8.0, 9.0, 1000.0, 1023.0, 1025.0])
    def test_are_found_by_halving(self, most):
        assert _smallest(lambda n: 1.0 / n, 1.0 / most) == max(most, 2.0)

    def test_are_infinite_beyond_the_most(self):
        assert _smallest(lambda n: 1.0 / n, 1e-15) == math.inf
        assert _smallest(lambda n: 1.0, 0.5) == math.inf
        assert _smallest(lambda n: 1.0 / n, 1e-11) == pytest.approx(1e11)


class TestPlans:
    @staticmethod
    def criterion(size, kind="width", key="a", rate=0.5):
        return Criterion(key, f"{key} in words", kind, 0.2, 1.5, "normal", lambda n: 1.0 / n, size, rate)

    def test_take_the_largest_number_of_cases(self):
        criteria = [self.criterion(100.2), self.criterion(150.0, "power", "b", 0.31), self.criterion(1.0, key="c")]
        found = _plan(criteria, 1.25, 0.8, 0.9, ["", "Careful."], (20, 7))
        assert found.n.tolist() == [126.0, 188.0, 3.0]
        assert found.events.tolist() == [63.0, 59.0, 2.0]
        assert (found.required, found.required_events, found.binding) == (188.0, 59.0, "b")
        assert found.criterion.tolist() == ["a", "b", "c"]
        assert found.label.tolist() == ["a in words", "b in words", "c in words"]
        assert found.kind.tolist() == ["width", "power", "width"]
        assert found.goal.tolist() == [0.2] * 3
        assert found.value.tolist() == [1.5] * 3
        assert found.method.tolist() == ["normal"] * 3
        assert (found.prevalence, found.level, found.share, found.design_effect) == (0.31, 0.9, 0.8, 1.0)
        assert (found.note, found.n_resamples, found.seed) == ("Careful.", 20, 7)
        assert found.at(10.0) == {"a": 0.125, "b": 0.125, "c": 0.125}

    def test_round_up_but_not_for_rounding_errors(self):
        found = _plan([self.criterion(100.0)], 1.1, 1.0, 0.95, [], (None, None))
        assert 100.0 * 1.1 > 110.0
        assert (found.n[0], found.events[0]) == (110.0, 55.0)

    def test_out_of_reach_say_why(self):
        never = _plan([self.criterion(math.inf, "power")], 1.0, 1.0, 0.95, ["First."], (None, None))
        assert never.note == "First. No number of cases reaches the power of a test: there is nothing to detect."
        assert never.n[0] == math.inf
        for size in (1e12, math.inf):
            far = _plan([self.criterion(size)], 1.0, 1.0, 0.95, [], (None, None))
            assert far.note == "A criterion needs more than 1,000,000,000,000 cases."
            assert far.n[0] == math.inf
        assert _plan([self.criterion(9e11)], 1.0, 1.0, 0.95, [], (None, None)).note == ""

    def test_of_a_calibration_test_have_words(self):
        assert _tested_label(0.8, None) == "calibration test, true calibration slope 0.8"
        assert _tested_label(None, 1.25) == "calibration test, true observed/expected 1.25"
        assert _tested_label(0.8, 1.25) == "calibration test, true calibration slope 0.8 and observed/expected 1.25"

    def test_of_a_calibration_test_take_one_for_what_is_not_given(self):
        assert _miscalibration(0.8, None) == (0.8, 1.0)
        assert _miscalibration(None, 1.25) == (1.0, 1.25)
        for wrong in (0.0, -1.0, math.inf, math.nan, "1"):
            with pytest.raises(InputValueError, match="slope must be a positive number"):
                _miscalibration(wrong, None)
            with pytest.raises(InputValueError, match="observed_expected must be a positive number"):
                _miscalibration(1.0, wrong)

    def test_of_a_calibration_test_are_a_criterion_among_others(self):
        p = expit(np.linspace(-3.0, 1.0, 40))
        found = pr.plan(p, slope=0.6, widths={"auc": 0.3}, n_resamples=8, seed=3)
        assert found.criterion.tolist() == ["auc", "calibration_test"]
        labels = ["area under the ROC curve", "calibration test, true calibration slope 0.6"]
        assert found.label.tolist() == labels
        assert found.kind.tolist() == ["width", "power"]
        assert found.goal.tolist() == [0.3, 0.8]
        assert found.method.tolist() == ["influence", "simulated"]
        assert math.isnan(found.value[1])
        assert (found.n_resamples, found.seed) == (8, 3)
        assert found.curves[1](found.curves[1].cases(0.8)) == pytest.approx(0.8)
        assert found.n[1] == math.ceil(found.curves[1].cases(0.8))

    def test_have_a_short_form(self):
        assert repr(pr.plan(difference=0.1, spread=1.0, prevalence=0.5)) == (
            "Plan(required=785, required_events=393, binding=brier_difference)"
        )

    def test_of_widths_tell_whose_formula_they_follow(self):
        options = {"prevalence": 0.2, "auc": 0.7, "widths": {"observed_expected": 0.5}}
        assert pr.plan(**options, method="riley").method.tolist() == ["Riley et al."]
        assert pr.plan(**options).method.tolist() == ["influence"]
        riley = math.asinh(0.25) / Z  # The half-width is a hyperbolic sine on the log scale.
        assert pr.plan(**options, method="riley").required == math.ceil(0.8 / 0.2 / riley**2)

    def test_of_a_difference_and_a_spread_follow_the_normal_formula(self):
        found = pr.plan(difference=-0.01, spread=0.1, power=0.9, level=0.99, prevalence=0.2)
        n = math.ceil((10.0 * (stats.norm.ppf(0.995) + stats.norm.ppf(0.9))) ** 2)
        assert found.n.tolist() == [n]
        assert found.events.tolist() == [math.ceil(0.2 * n)]
        assert (found.n_resamples, found.seed, found.note) == (None, None, "")
        assert str(found) == (
            f"A study needs {n:,} cases with about {math.ceil(0.2 * n)} events.\n"
            f"- Difference in Brier score: 90% power to detect -0.01 with {n:,} cases ({math.ceil(0.2 * n)} events)."
        )

    def test_of_two_models_may_be_given_a_difference_or_a_spread(self):
        models = {"new": np.array([0.1, 0.4, 0.7]), "old": np.array([0.3, 0.3, 0.5])}
        value = -np.mean((models["new"] - models["old"]) ** 2)
        square = 0.0
        for new, old in zip(*models.values(), strict=True):
            square += new * ((1 - new) ** 2 - (1 - old) ** 2) ** 2 + (1 - new) * (new**2 - old**2) ** 2
        spread = math.sqrt(square / 3.0 - value**2)
        factor = (Z + stats.norm.ppf(0.8)) ** 2
        with_difference = pr.plan(models, difference=0.004, seed=1)
        assert with_difference.n[0] == math.ceil(factor * (spread / 0.004) ** 2)
        assert (with_difference.value[0], with_difference.method[0]) == (0.004, "normal")
        with_spread = pr.plan(models, spread=1.2, seed=1)
        assert with_spread.n[0] == math.ceil(factor * (1.2 / value) ** 2)
        assert with_spread.value[0] == pytest.approx(value)
        few = pr.plan(models, difference=0.02, seed=1)
        assert few.n[0] == pytest.approx(factor * (spread / 0.02) ** 2, rel=0.2)
        assert (few.method[0], few.seed, few.note) == ("simulated", 1, "")
        beyond = pr.plan(models, difference=-1.3 * value, seed=1)
        assert beyond.method[0] == "simulated"
        assert beyond.note.startswith("The difference to detect is larger, relative to its spread, than that of the")
        assert pr.plan(models, difference=1.2 * value, seed=1).note == ""
        assert pr.plan(models, spread=0.7 * spread, seed=1).note == beyond.note
        area = pr.plan(models, measure=pr.measures.AreaUnderRoc(), difference=0.9)
        assert (area.method[0], area.note) == ("normal", "")

    def test_of_a_pilot_use_its_difference_and_error(self):
        rng = np.random.default_rng(2)
        p = rng.uniform(0.1, 0.6, 90)
        q = np.clip(p + rng.normal(0.0, 0.15, 90), 0.01, 0.99)
        y = rng.random(90) < p
        ledger = pr.condense(y, {"p": p, "q": q})
        seen = pr.compare(ledger, seed=1)
        found = pr.plan(ledger, seed=1)
        spread = seen.differences.error[0] * math.sqrt(90)
        assert found.value[0] == seen.differences.value[0]
        assert found.method[0] == "pilot"
        expected = ((Z + stats.norm.ppf(0.8)) * spread / seen.differences.value[0]) ** 2
        assert found.n[0] == math.ceil(expected)
        rarer = int(min(y.sum(), 90 - y.sum()))
        assert found.note == (
            f"The difference was estimated from a pilot with {rarer} cases of the rarer outcome (interval "
            f"{seen.differences.low[0]:.3g} to {seen.differences.high[0]:.3g}), so the number of cases is uncertain; pass the smallest "
            "difference worth detecting, or forecasts without outcomes."
        )
        given = pr.plan(ledger, spread=0.5, seed=1)
        assert given.n[0] == math.ceil(((Z + stats.norm.ppf(0.8)) * 0.5 / seen.differences.value[0]) ** 2)

    @pytest.mark.parametrize("n", [0.0, -1.0, "5", math.nan])
    def test_are_read_at_a_positive_number_of_cases(self, n):
        with pytest.raises(InputValueError, match="n must be a positive number"):
            pr.plan(difference=0.1, spread=1.0).at(n)

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            ({"share": 1.01}, r"share must lie in \(0, 1\]"),
            ({"share": "1"}, r"share must lie in \(0, 1\]"),
            ({"cluster_size": 0.99}, "cluster_size must be a number of at least 1"),
            ({"cluster_size": math.inf}, "cluster_size must be a number of at least 1"),
            ({"icc": -0.01, "cluster_size": 2.0}, r"icc must lie in \[0, 1\]"),
            ({"icc": 1.01, "cluster_size": 2.0}, r"icc must lie in \[0, 1\]"),
            ({"power": 1.0}, "power must"),
            ({"level": 1.0}, "level must"),
            ({"method": "other"}, "method must"),
            ({"difference": 0.0}, "difference must be a number other than 0"),
            ({"spread": 0.0}, "spread must be a number other than 0"),
            ({"spread": math.inf}, "spread must be a number other than 0"),
        ],
    )
    def test_check_their_arguments(self, change, text):
        with pytest.raises(InputValueError, match=text):
            pr.plan(**({"difference": 0.1, "spread": 1.0} | change))

    def test_accept_arguments_at_the_ends_of_their_ranges(self):
        assert pr.plan(difference=0.1, spread=1.0, share=1.0, cluster_size=1.0, icc=0.0).design_effect == 1.0
        assert pr.plan(difference=0.1, spread=1.0, cluster_size=3.0, icc=1.0).design_effect == 3.0


class TestInputsOfPlans:
    def test_of_forecasts_are_calibrated(self):
        found = KnownCases.read([0.1, 0.3], None, None, needed=True)
        assert found.cases.forecasts["forecast"].tolist() == [0.1, 0.3]
        assert (found.pilot, found.prevalence, found.n_models) == (None, None, 1)
        assert found.rate == pytest.approx(0.2)
        assert found.single() is found.cases

    def test_of_forecasts_are_shifted_to_a_prevalence(self):
        found = KnownCases.read({"a": [0.1, 0.3], "b": [0.2, 0.2]}, 0.4, None, needed=True)
        shift = logit(found.cases.forecasts["a"]) - logit(np.array([0.1, 0.3]))
        assert shift[0] == pytest.approx(shift[1])
        assert found.cases.rate.mean() == pytest.approx(0.4)
        assert (found.n_models, found.prevalence) == (2, 0.4)

    def test_of_numbers_alone_have_no_cases_unless_needed(self):
        found = KnownCases.read(None, 0.3, None, needed=False)
        assert (found.cases, found.pilot, found.rate, found.n_models) == (None, None, 0.3, 1)
        assert math.isnan(KnownCases.read(None, None, None, needed=False).rate)
        assert KnownCases.read(None, 0.3, 0.7, needed=False).cases.prevalence == pytest.approx(0.3)
        with pytest.raises(InputTypeError, match="widths and the calibration test need"):
            found.single()
        for wrong in ({"prevalence": None, "auc": 0.7}, {"prevalence": 0.3, "auc": None}):
            with pytest.raises(InputTypeError, match="a plan needs"):
                KnownCases.read(None, **wrong, needed=True)
        with pytest.raises(InputValueError, match=r"auc must be above 0.5"):
            KnownCases.read(None, 0.3, 0.5, needed=True)

    def test_of_a_ledger_have_its_event_rates(self):
        table = pr.condense([0, 1, 1, 0], [0.2, 0.2, 0.6, 0.6])
        found = KnownCases.read(table, None, None, needed=True)
        assert found.cases.rate.tolist() == [0.5, 0.5]
        assert found.pilot.models == ("forecast",)
        with pytest.raises(InputTypeError, match="prevalence= is for forecasts without outcomes"):
            KnownCases.read(table, 0.1, None, needed=True)
        with pytest.raises(InputTypeError, match="the ledger is of classes"):
            KnownCases.read(pr.condense([0, 1, 2], np.eye(3)), None, None, needed=True)

    def test_of_widths_have_names_and_usual_sizes(self):
        found = read_widths(None, 0.2, default=True)
        assert {one.key: width for one, width in found.items()} == {
            "observed_expected": 0.2,
            "calibration_slope": 0.2,
            "auc": 0.1,
            pr.measures.StandardizedNetBenefit(0.2).key: 0.2,
        }
        assert [one.key for one in read_widths(None, None, default=True)] == [
            "observed_expected",
            "calibration_slope",
            "auc",
        ]
        assert read_widths(None, None, default=False) == {}
        for widths in (None, {}, {"auc": 0.1}):
            with pytest.raises(InputValueError, match="thresholds is for the width of the standardized net benefit"):
                read_widths(widths, 0.2, default=False)
        asked = read_widths({"auc": 1, "standardized_net_benefit": 0.5, pr.Brier(): 0.05}, 0.3, default=False)
        assert list(asked.values()) == [1.0, 0.5, 0.05]
        assert asked[pr.measures.StandardizedNetBenefit(0.3)] == 0.5

    @pytest.mark.parametrize("wrong", [0.0, -0.1, math.inf, math.nan, "1"])
    def test_of_widths_must_be_positive(self, wrong):
        with pytest.raises(InputValueError, match=r"widths must be positive numbers; got .* for 'auc'"):
            read_widths({"auc": wrong}, None, default=True)
        with pytest.raises(InputTypeError, match="widths must be a mapping of measures to widths; got list"):
            read_widths([wrong], None, default=True)
