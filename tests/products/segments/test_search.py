"""The search for segments by hand: critical values, p-values, the order of the search, and every number of a result."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.products.segments import find as find_module
from propriety.products.segments import lattice as lattices
from propriety.products.segments import sums as sums_of_cases
from propriety.products.segments.columns import Cut, cut_of_numbers
from propriety.products.segments.find import Segments, _decimal, _in_words, _intercept, _note, _ratio, _times, _wider
from propriety.products.segments.lattice import Lattice, check_size
from propriety.products.segments.null_distribution import SMALLEST, deviations, evidence, largest_deviations
from propriety.products.segments.search import (
    Critical,
    Found,
    _discovered,
    _widest,
    adjusted_p,
    critical_deviation,
    search,
)
from propriety.products.segments.source import cut_cases, segment_source
from propriety.products.segments.sums import SegmentCases, SegmentSums, cases_of_arrays, cases_of_engine
from propriety.tables.forecast_table import ForecastTable

LAW = np.array([1.0, 1.5, 2.0, 2.2, 2.4, 2.6, 2.8, 3.0, 3.5, 4.0])


def sums_of(variance, n=None):
    """Return sums of which only the variances and numbers of cases matter."""
    variance = np.asarray(variance, dtype=float)
    n = np.full(len(variance), 100.0) if n is None else np.asarray(n, dtype=float)
    return SegmentSums(n, np.zeros(len(n)), np.zeros(len(n)), variance, np.zeros(len(n)))


def small_cases(n=240, seed=3, planted=((0, 1), (1, 0))):
    """Return cases of two columns with 3 and 2 labels; in the planted segment events are far more frequent."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 3, n), rng.integers(0, 2, n)]
    p = rng.uniform(0.2, 0.6, n)
    inside = np.all([codes[column] == code for column, code in planted], axis=0)
    y = rng.random(n) < np.where(inside, 0.97, p)
    return SegmentCases(p, y, codes, Lattice((3, 2), 2))


class TestCriticalDeviations:
    def found(self, sums, own=(), control="family", level=0.7, number=4):
        own = np.asarray(own, dtype=float)
        return critical_deviation(sums, own, law=LAW, control=control, level=level, number=number)

    def test_of_large_segments_are_a_quantile_of_the_law(self):
        """With 10 draws, 3 of 11 possible ranks are at most 30% or 35% of them, and 4 are at most 40%."""
        assert self.found(sums_of([5.0, 20.0])) == (3.0, math.inf)
        assert self.found(sums_of([5.0, 20.0]), level=0.65) == (3.0, math.inf)
        assert self.found(sums_of([5.0, 20.0]), level=0.6) == (2.8, math.inf)

    @pytest.mark.parametrize("draws", [19, 50, 99, 1000])
    @pytest.mark.parametrize("small", [False, True])
    def test_are_those_of_the_adjusted_p_value(self, draws, small):
        law = np.random.default_rng(draws).normal(3.0, 0.4, draws)
        sums = sums_of([0.01, 20.0] if small else [5.0, 20.0])
        own = np.array([1.0, 1.0])
        critical = critical_deviation(sums, own, law=law, control="family", level=0.95, number=2).normal
        for deviation in np.linspace(3.0, 5.0, 201):
            p_value = adjusted_p(Found(1, deviation, by_bound=False), law, 2, spared=small)
            assert (p_value <= 0.05 + 1e-12) == (deviation >= critical)

    def test_of_small_segments_have_a_tenth_of_the_error_rate(self):
        found = self.found(sums_of([4.999, 20.0]), level=0.65, number=7)
        assert found.normal == 3.0  # The quantile of 0.65 + 0.035.
        assert found.bound == pytest.approx(stats.norm.isf(0.1 * 0.35 / 2 / 7))

    def test_do_not_spare_anything_for_segments_without_cases(self):
        assert self.found(sums_of([0.0, 20.0], n=[0.0, 80.0])) == (3.0, math.inf)
        assert self.found(sums_of([0.1, 20.0], n=[1.0, 80.0])).bound < math.inf

    def test_without_large_segments_are_those_of_the_bound(self):
        found = self.found(sums_of([1.0, 2.0]), level=0.95, number=2)
        assert found.normal == math.inf
        assert found.bound == pytest.approx(stats.norm.isf(0.005 / 2 / 2))

    def test_of_false_discoveries_are_separate_for_small_segments(self):
        own = [3.0, -2.0, 1.0, 4.0, 0.5]
        found = self.found(sums_of([9.0, 9.0, 9.0, 2.0, 2.0]), own, control="discovery", level=0.9)
        assert found == (_discovered(np.array([3.0, -2.0, 1.0]), 0.09), _discovered(np.array([4.0, 0.5]), 0.01))
        assert found == (2.0, 4.0)
        assert self.found(sums_of([9.0, 9.0]), [3.0, 2.1], control="discovery", level=0.95) == (2.1, math.inf)

    def test_are_those_of_benjamini_and_hochberg(self):
        own = np.array([0.3, -2.3, 2.9, 1.2, 2.2, -0.1])
        p_values = np.sort(2.0 * stats.norm.sf(np.abs(own)))
        assert (p_values <= 0.06 * np.arange(1, 7) / 6).tolist() == [True, False, True, False, False, False]
        assert _discovered(own, 0.06) == 2.2
        assert _discovered(own, 0.04) == 2.9
        assert _discovered(own, 0.02) == math.inf
        assert _discovered(np.zeros(0), 0.05) == math.inf


class TestAdjustedPValues:
    def test_count_the_draws_that_reach_the_deviation(self):
        assert adjusted_p(Found(0, -2.8, by_bound=False), LAW, 9, spared=False) == pytest.approx(5 / 11)
        assert adjusted_p(Found(0, 9.0, by_bound=False), LAW, 9, spared=False) == pytest.approx(1 / 11)

    def test_are_larger_if_error_rate_is_spared_for_small_segments(self):
        assert adjusted_p(Found(0, 2.8, by_bound=False), LAW, 9, spared=True) == pytest.approx(5 / 11 / 0.9)
        assert adjusted_p(Found(0, 0.5, by_bound=False), LAW, 9, spared=True) == 1.0

    def test_of_bounds_are_multiplied_by_the_number_of_segments_and_by_ten(self):
        expected = 9 * 2.0 * stats.norm.sf(4.2) / 0.1
        for deviation in (4.2, -4.2):
            assert adjusted_p(Found(0, deviation, by_bound=True), LAW, 9, spared=True) == pytest.approx(expected)
        assert adjusted_p(Found(0, 1.0, by_bound=True), LAW, 9, spared=True) == 1.0


class TestSearch:
    def test_goes_on_with_the_cases_that_remain(self):
        rng = np.random.default_rng(8)
        codes = [rng.integers(0, 3, 900), rng.integers(0, 2, 900)]
        p = np.full(900, 0.4)
        y = np.where(codes[0] == 1, rng.random(900) < 0.75, rng.random(900) < 0.4)
        y = np.where((codes[0] == 2) & (codes[1] == 0), rng.random(900) < 0.05, y)
        cases = SegmentCases(p, y, codes, Lattice((3, 2), 2))
        found = search(cases, cases.sums(), lambda sums, own: Critical(5.0, math.inf), 10)
        assert [cases.lattice.segment(one.place) for one in found] == [((0, 1),), ((0, 2), (1, 0))]
        for one, kept in zip(found, (codes[0] == 1, (codes[0] == 2) & (codes[1] == 0)), strict=True):
            n, events = kept.sum(), y[kept].sum()
            v, third = n * 0.24, n * 0.24 * 0.2
            root = 2.0 / (third / v**1.5)
            z = (events - 0.4 * n) / math.sqrt(v)
            normal = 3.0 * root * (np.cbrt(1.0 + z / root) - 1.0 + 1.0 / (9.0 * root**2))
            assert one.deviation == pytest.approx(normal, rel=1e-9)
            assert one.by_bound is False
        assert len(search(cases, cases.sums(), lambda sums, own: Critical(5.0, math.inf), 1)) == 1
        assert search(cases, cases.sums(), lambda sums, own: Critical(1e3, math.inf), 10) == []

    def test_asks_for_the_critical_value_of_what_remains(self):
        cases, asked = small_cases(), []

        def critical(sums, own):
            asked.append((sums, own))
            return Critical(3.0, math.inf)

        found = search(cases, cases.sums(), critical, 5)
        assert len(asked) == len(found) + 1 == 2
        inside = (cases.codes[0] == 1) & (cases.codes[1] == 0)
        left = SegmentCases(cases.forecast[~inside], cases.happened[~inside], [c[~inside] for c in cases.codes], None)
        left.lattice = cases.lattice
        for own, expected in zip(asked[1][0], left.sums(), strict=True):
            np.testing.assert_allclose(own, expected, atol=1e-9)
        np.testing.assert_allclose(asked[1][1], evidence(asked[1][0]))

    def test_reports_each_segment_at_most_once(self):
        cases = small_cases(60)
        found = search(cases, cases.sums(), lambda sums, own: Critical(0.0, 0.0), 100)
        assert len(found) == len(cases.lattice)

    def test_overlapping_segments_are_left_out_once(self):
        """The second sums of cases left out must not contain those of the first segment again."""
        rng = np.random.default_rng(9)
        codes = [rng.integers(0, 2, 600), rng.integers(0, 2, 600)]
        y = rng.random(600) < np.where((codes[0] == 0) | (codes[1] == 0), 0.8, 0.4)
        cases, seen = SegmentCases(np.full(600, 0.4), y, codes, Lattice((2, 2), 1)), []

        def critical(sums, own):
            seen.append(sums.n.sum())
            return Critical(4.0, math.inf)

        found = search(cases, cases.sums(), critical, 5)
        assert len(found) == 2
        first, second = (cases._members(cases.lattice.segment(one.place)) for one in found)
        assert seen == [1200.0, 2.0 * (~first).sum(), 2.0 * (~first & ~second).sum()]

    def test_a_segment_that_is_too_small_stands_out_by_its_bound(self):
        codes = [np.repeat([0, 1], [400, 30])]
        p = np.repeat([0.3, 0.01], [400, 30])
        y = np.concatenate([np.arange(400) % 10 < 3, np.arange(30) < 12])
        cases = SegmentCases(p, y, codes, Lattice((2,), 1))
        (found,) = search(cases, cases.sums(), lambda sums, own: Critical(4.0, 4.0), 5)
        v = 30 * 0.01 * 0.99
        u = (12 - 0.3) / v
        bound = stats.norm.isf(math.exp(-v * ((1 + u) * math.log(1 + u) - u)))
        assert found == (1, pytest.approx(bound, rel=1e-9), True)
        assert search(cases, cases.sums(), lambda sums, own: Critical(4.0, math.inf), 5) == []


class TestWidest:
    """Columns with 2 labels each: segments 0 and 1, 2 and 3, 4 and 5, then pairs, then triples."""

    lattice = Lattice((2, 2, 2), 3)

    def widest(self, critical=2.0, **own):
        values = np.zeros(len(self.lattice))
        for name, value in own.items():
            segment = tuple((int(part[0]), int(part[1])) for part in name.split("_")[1:])
            values[self.lattice.index(segment)] = value
        best = int(np.argmax(np.abs(values)))
        return self.lattice.segment(_widest(self.lattice, values, best, np.full(len(values), critical)))

    def test_a_label_about_as_likely_is_preferred(self):
        """Twice the logarithm of 10 is 4.605, the difference of the squared deviations that is allowed."""
        limit = math.sqrt(25.0 - 2.0 * math.log(10.0))
        assert self.widest(s_00_11=5.0, s_00=limit + 1e-6) == ((0, 0),)
        assert self.widest(s_00_11=5.0, s_00=limit - 1e-6) == ((0, 0), (1, 1))
        assert self.widest(s_00_11=-5.0, s_11=-limit - 1e-6) == ((1, 1),)

    def test_it_deviates_in_the_same_direction(self):
        assert self.widest(s_00_11=5.0, s_00=-4.9) == ((0, 0), (1, 1))
        assert self.widest(s_00_11=-5.0, s_00=4.9) == ((0, 0), (1, 1))

    def test_it_is_beyond_its_own_critical_value(self):
        assert self.widest(s_00_11=5.0, s_00=4.9, critical=4.9) == ((0, 0),)
        assert self.widest(s_00_11=5.0, s_00=4.9, critical=4.91) == ((0, 0), (1, 1))

    def test_the_likeliest_of_those_with_the_fewest_columns_is_taken(self):
        assert self.widest(s_00_11_20=5.0, s_00_11=4.95, s_11=4.8, s_20=4.7) == ((1, 1),)
        assert self.widest(s_00_11_20=5.0, s_00_11=4.8, s_11_20=4.9) == ((1, 1), (2, 0))

    def test_other_labels_do_not_matter(self):
        assert self.widest(s_00_11=5.0, s_01=4.99, s_20=4.99) == ((0, 0), (1, 1))
        assert self.widest(s_00=5.0, s_11=4.99) == ((0, 0),)


class TestDeviations:
    def test_are_those_of_wilson_and_hilferty(self):
        """A gamma variable with the shape 4/g^2, whose cube root is nearly normal."""
        n, observed, expected, v, third = 50.0, 19.0, 12.0, 8.0, 4.0
        shape = 4.0 / (third / v**1.5) ** 2
        x = 1.0 + (observed - expected) / math.sqrt(v) / math.sqrt(shape)  # Relative to its mean.
        score = (x ** (1 / 3) - (1.0 - 1.0 / (9.0 * shape))) * 3.0 * math.sqrt(shape)
        sums = SegmentSums(*(np.array([one]) for one in (n, observed, expected, v, third)))
        assert deviations(sums)[0] == pytest.approx(score, rel=1e-12)
        mirrored = SegmentSums(*(np.array([one]) for one in (n, n - observed, n - expected, v, -third)))
        assert deviations(mirrored)[0] == pytest.approx(-score, rel=1e-12)

    def test_of_other_outcomes_use_the_same_forecasts(self):
        sums = SegmentSums(*(np.array([one]) for one in (50.0, 19.0, 12.0, 8.0, 0.0)))
        assert deviations(sums, np.array([14.0]))[0] == pytest.approx(2.0 / math.sqrt(8.0))
        assert deviations(sums)[0] == pytest.approx(7.0 / math.sqrt(8.0))

    def test_without_skewness_are_the_difference_in_standard_errors(self):
        for third in (0.0, 1e-12, -1e-12):
            sums = SegmentSums(*(np.array([one]) for one in (90.0, 30.0, 45.0, 22.5, third)))
            assert deviations(sums)[0] == pytest.approx(-15.0 / math.sqrt(22.5), rel=1e-12)

    def test_start_at_the_smallest_variance(self):
        values = [np.array([one, one]) for one in (30.0, 9.0, 6.0)]
        sums = SegmentSums(*values, np.array([5.0, 4.999]), np.zeros(2))
        assert deviations(sums) == pytest.approx([3.0 / math.sqrt(5.0), 0.0])

    def test_far_below_a_skewed_distribution_are_limited(self):
        sums = SegmentSums(*(np.array([one]) for one in (1000.0, 0.0, 40.0, 5.5, 5.5)))
        root = 2.0 * math.sqrt(5.5)
        assert deviations(sums)[0] == pytest.approx(3.0 * root * (-1.0 + 1.0 / (9.0 * root**2)))


class TestEvidence:
    @pytest.mark.parametrize("observed", [8.0, 30.0])
    def test_of_a_small_segment_is_the_normal_score_of_bennetts_bound(self, observed):
        sums = SegmentSums(*(np.array([one]) for one in (40.0, observed, 2.0, 1.5, 0.5)))
        u = (observed - 2.0) / 1.5
        bound = math.exp(-1.5 * ((1.0 + u) * math.log(1.0 + u) - u))
        assert evidence(sums)[0] == pytest.approx(stats.norm.isf(bound), rel=1e-9)
        other = SegmentSums(*(np.array([one]) for one in (40.0, 40.0 - observed, 38.0, 1.5, -0.5)))
        assert evidence(other)[0] == pytest.approx(-stats.norm.isf(bound), rel=1e-9)

    def test_of_a_bound_above_one_half_is_none(self):
        sums = SegmentSums(*(np.array([one]) for one in (40.0, 3.0, 2.0, 1.5, 0.5)))
        assert evidence(sums)[0] == 0.0

    def test_of_a_large_segment_is_the_larger_of_deviation_and_bound(self):
        sums = SegmentSums(*(np.array([one]) for one in (1000.0, 30.0, 20.0, 18.0, 16.0)))
        assert evidence(sums)[0] == deviations(sums)[0]
        extreme = SegmentSums(*(np.array([one]) for one in (4000.0, 0.0, 400.0, 300.0, 299.0)))
        u = 400.0 / 300.0
        bound = 300.0 * ((1.0 + u) * math.log(1.0 + u) - u)
        own = abs(deviations(extreme)[0])
        assert abs(evidence(extreme)[0]) == pytest.approx(max(own, math.sqrt(2.0 * bound)), rel=0.02)
        assert evidence(extreme)[0] < 0.0

    def test_of_no_cases_is_none(self):
        sums = SegmentSums(np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.zeros(2), np.zeros(2), np.zeros(2))
        none, some = evidence(sums)
        assert none == 0.0
        bound = -1e-9 * ((1.0 + 1e9) * math.log1p(1e9) - 1e9)
        assert some == pytest.approx(stats.norm.isf(math.exp(bound)), rel=1e-6)


class TestLaw:
    def test_of_the_largest_deviation_is_that_of_drawn_outcomes(self):
        cases = small_cases()
        found = largest_deviations(cases, cases.sums(), 6, 11)
        generator, expected = np.random.default_rng([11, 2025]), []
        order = np.lexsort([cases.forecast, *cases.codes])
        for _ in range(6):
            y = np.empty(240, dtype=bool)
            y[order] = generator.random(240) < cases.forecast[order]
            drawn = SegmentCases(cases.forecast, y, cases.codes, cases.lattice)
            expected.append(np.abs(deviations(drawn.sums())).max())
        assert found == pytest.approx(expected, rel=1e-12)

    def test_of_columns_counted_apart_is_the_same(self, monkeypatch):
        rng = np.random.default_rng(2)
        codes = [rng.integers(0, size, 300) for size in (3, 2, 4)]
        p = rng.uniform(0.2, 0.7, 300)
        law = []
        for most in (2**12, 1):
            monkeypatch.setattr(lattices, "MOST_CELLS", most)
            cases = SegmentCases(p, p > 0.5, codes, Lattice((3, 2, 4), 2))
            law.append(largest_deviations(cases, cases.sums(), 5, 1))
        assert law[0] == pytest.approx(law[1], rel=1e-12)

    def test_of_segments_that_are_small_only_in_the_sample_adds_independent_normals(self):
        cases = small_cases(30)
        own = cases.sums()
        assert (own.variance < SMALLEST).any()
        whole = own._replace(variance=20.0 * own.variance)
        small = int(((whole.variance >= SMALLEST) & (own.variance < SMALLEST)).sum())
        found = largest_deviations(cases, whole, 4, 5)
        generator = np.random.default_rng([5, 2025])
        drawn = []
        for _ in range(4):
            y = generator.random(30) < cases.forecast
            drawn.append(np.abs(deviations(SegmentCases(cases.forecast, y, cases.codes, cases.lattice).sums())).max())
        others = stats.norm.ppf(0.5 + 0.5 * generator.random(4) ** (1.0 / small))
        assert found == pytest.approx(np.maximum(drawn, others), rel=1e-12)

    def test_without_segments_to_test_is_zero(self):
        cases = small_cases(8)
        assert largest_deviations(cases, cases.sums(), 3, 1).tolist() == [0.0, 0.0, 0.0]


class TestCuts:
    def test_parts_include_their_upper_edge(self):
        cut = Cut(np.array([1.5, 3.0, 1234567.8]))
        assert cut.codes(np.array([1.4, 1.5, 1.6, 3.0, 9.0, 2e6, np.inf, -np.inf])).tolist() == [0, 0, 1, 1, 2, 3, 3, 0]
        assert cut.labels == ("up to 1.5", "1.5 to 3", "3 to 1.23457e+06", "above 1.23457e+06")
        assert Cut(np.array([2.0])).labels == ("up to 2", "above 2")

    def test_edges_are_values_at_quantiles(self):
        values = np.random.default_rng(1).permutation(np.arange(1.0, 101.0))
        assert cut_of_numbers(values, 5).edges.tolist() == [20.0, 40.0, 60.0, 80.0]
        assert cut_of_numbers(values.astype(np.uint8), 4).edges.tolist() == [25.0, 50.0, 75.0]
        assert cut_of_numbers(values.astype(np.int32), 2).edges.tolist() == [50.0]
        assert cut_of_numbers(values.astype(np.float32), 2).edges.dtype == np.float64

    def test_labels_are_not_cut(self):
        assert cut_of_numbers(np.arange(200) % 2 == 0, 2) is None
        assert cut_of_numbers(np.arange(50.0), 2) is None
        assert cut_of_numbers(np.arange(51.0), 2).edges.tolist() == [25.0]
        assert cut_of_numbers(np.array(["1.5", "2.5"]), 2) is None
        assert cut_of_numbers(np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"), 2) is None
        assert cut_of_numbers(np.array([1, 2.5], dtype=object), 2) is None

    def test_ties_and_infinite_numbers_leave_fewer_edges(self):
        values = np.array([0.5] * 8 + [1.5, np.inf, -np.inf, np.nan])
        assert cut_of_numbers(values, 4).edges.tolist() == [0.5]
        assert cut_of_numbers(np.array([0.5, 1.5, 1.5, 1.5]), 4).edges.tolist() == [0.5]
        assert cut_of_numbers(np.array([0.5, 0.5]), 4) is None
        assert cut_of_numbers(np.array([0.5, 1.0] + [1.5] * 8), 2).edges.tolist() == [1.0]

    def test_columns_of_labels_stay_and_columns_of_numbers_become_parts(self):
        by = {"x": [0.5, 1.5, 2.5, 3.5], "g": ["a", "b", "a", "b"], "k": [1, 2, 3, 4], "t": [(1, 2)] * 4}
        cases = pr.cases([0, 1, 0, 1], [0.1, 0.4, 0.2, 0.6], by=by)
        found, cuts = cut_cases(cases, 2)
        assert found.keys["x"].codes.tolist() == [0, 0, 1, 1]
        assert [found.keys[name] for name in "gkt"] == [cases.keys[name] for name in "gkt"]
        assert list(cuts) == ["x"]
        assert cuts["x"].edges.tolist() == [1.5]

    def test_infinite_numbers_are_refused_if_limits_are_stored(self):
        cases = pr.cases([0, 1, 0, 1], [0.1, 0.4, 0.2, 0.6], by={"x": [0.5, 1.5, np.inf, -np.inf]})
        assert cut_cases(cases, 2)[0].keys["x"].codes.tolist() == [0, 1, 1, 0]
        with pytest.raises(InputValueError, match=r"by\['x'\] must be finite.*row 2 is inf"):
            cut_cases(cases, 2, finite=True)


class TestLattice:
    def test_counts_labels_and_their_combinations(self):
        assert len(Lattice((2, 3, 4), 1)) == 9
        assert len(Lattice((2, 3, 4), 2)) == 9 + 6 + 8 + 12
        assert len(Lattice((2, 3, 4), 7)) == 9 + 26 + 24
        assert Lattice((2, 3, 4), 2).starts.tolist() == [0, 2, 5, 9, 15, 23, 35]
        assert Lattice((2, 3, 4), 2).largest == ((0, 1), (0, 2), (1, 2))
        assert Lattice((2, 3), 5).largest == ((0, 1),)

    def test_blocks_contain_every_largest_combination(self):
        for sizes, depth, most in itertools.product([(2, 3, 4, 5), (7, 2, 2), (3, 3, 3, 3, 3)], (1, 2, 3), (4, 30, 90)):
            lattice = Lattice(sizes, depth)
            blocks = lattice.blocks(most)
            for own in lattice.largest:
                assert any(set(own) <= set(block) for block in blocks)
            for block in blocks:
                fits = math.prod(sizes[column] for column in block) <= most
                assert fits or block in lattice.largest
        assert Lattice((3, 3, 3, 3), 2).blocks(81) == ((0, 1, 2, 3),)
        assert Lattice((3, 3, 3, 3), 2).blocks(80) == ((0, 1, 2), (0, 1, 3), (2, 3))

    def test_a_block_that_adds_nothing_is_not_widened(self):
        assert Lattice((2, 2), 1).blocks(4) == ((0, 1),)
        assert Lattice((2, 2), 1).blocks(3) == ((0,), (1,))

    def test_too_many_segments_are_refused(self, monkeypatch):
        monkeypatch.setattr(lattices, "MOST_SEGMENTS", 35)
        check_size(Lattice((2, 3, 4), 2))
        with pytest.raises(InputValueError, match="there are 59 segments; at most 35 can be searched"):
            check_size(Lattice((2, 3, 4), 3))


class TestCases:
    def test_the_table_of_a_segment_has_its_cases_only(self):
        cases = small_cases(50)
        inside = (cases.codes[0] == 2) & (cases.codes[1] == 1)
        table = cases.table(((0, 2), (1, 1)))
        expected = ForecastTable.from_predictions(cases.happened[inside], cases.forecast[inside])
        assert table.n == inside.sum()
        np.testing.assert_array_equal(table.forecast, expected.forecast)
        np.testing.assert_array_equal(table.events, expected.events)

    def test_a_sample_has_distinct_cases_in_order(self):
        cases = small_cases(50)
        assert cases.sampled(50, 1) is cases
        found = cases.sampled(49, 1)
        rows = np.sort(np.random.default_rng(1).choice(50, 49, replace=False))
        np.testing.assert_array_equal(found.forecast, cases.forecast[rows])
        np.testing.assert_array_equal(found.happened, cases.happened[rows])
        for own, every in zip(found.codes, cases.codes, strict=True):
            np.testing.assert_array_equal(own, every[rows])
        assert found.lattice is cases.lattice

    def test_labels_are_those_of_the_columns(self):
        by = {"g": np.array(["b", "a", "b", "a"]), "k": np.array([3, 3, 1, 3])}
        source, *_ = segment_source(pr.cases([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], by=by), None, 5, 1)
        cases, sample, labels = cases_of_arrays(source, 2, 3, 7)
        assert labels == [("a", "b"), (1, 3)]
        assert [own.tolist() for own in cases.codes] == [[1, 0, 1, 0], [1, 1, 0, 1]]
        assert cases.happened.tolist() == [False, True, True, False]
        assert len(sample.forecast) == 3
        assert len(cases.lattice) == 8


class TestSources:
    def test_keys_have_the_names_given(self):
        frame = pd.DataFrame(
            {"y": [0, 1, 0, 1], "p": [0.1, 0.4, 0.2, 0.6], "age": [0.5, 1.5, 2.5, 3.5], "g": list("abab")}
        )
        read = pr.cases(frame, "p", outcome="y", by=["g", "age"])
        cases, ledger, cuts = segment_source(read, None, 2, 1)
        assert list(cases.keys) == ["g", "age"]
        assert ledger.n == 4
        assert cuts["age"].edges.tolist() == [1.5]
        assert list(segment_source(read, "age", 2, 1)[0].keys) == ["age"]

    @pytest.mark.parametrize("lazy", [False, True])
    def test_need_keys(self, lazy):
        pl = pytest.importorskip("polars")
        frame = pl.DataFrame({"y": [0, 1], "p": [0.2, 0.7], "g": ["a", "b"]})
        frame = frame.lazy() if lazy else frame
        with pytest.raises(InputTypeError, match=r"by must name one key or more.*got none"):
            pr.find_segments(pr.cases(frame, "p", outcome="y"))
        with pytest.raises(InputValueError, match=r"'h' is none; there are \['g'\]"):
            pr.find_segments(pr.cases(frame, "p", outcome="y", by="g"), by="h")

    def test_need_cases(self):
        with pytest.raises(InputTypeError, match=r"searched in cases.*got list. Hint: pass propriety.cases\("):
            pr.find_segments([0, 1])

    def test_need_known_outcomes_of_one_event_and_one_model_without_weights(self):
        by = {"g": ["a", "b"] * 20}
        outcomes = pr.censored(np.arange(1.0, 41.0), np.arange(40) % 3 == 0, horizons=20.0)
        with pytest.raises(InputTypeError, match="must hold known outcomes"):
            pr.find_segments(pr.cases(outcomes, np.full(40, 0.3), by=by))
        with pytest.raises(InputValueError, match=r"forecasts must be the forecasts of one model.*got 2"):
            pr.find_segments(pr.cases([0, 1] * 20, {"a": [0.3] * 40, "b": [0.3] * 40}, by=by))
        with pytest.raises(InputValueError, match="without weights"):
            pr.find_segments(pr.cases([0, 1] * 20, [0.3] * 40, by=by, sample_weight=np.arange(1, 41)))


def result(**changes):
    """Return a result with one segment."""
    columns = {
        "segment": ["site = b"],
        "n": [1200],
        "events": [300.0],
        "expected": [240.0],
        "observed_expected": [1.25],
    }
    columns |= {"low": [1.1], "high": [1.42], "intercept": [0.2], "miscalibration": [0.01], "kuiper": [2.0]}
    columns |= {"deviation": [4.0], "p_adjusted": [0.0123]}
    columns = {name: np.array(values) for name, values in columns.items()}
    columns["places"] = np.array([None], dtype=object)
    facts = {"by": ("site", "device"), "depth": 2, "tested": 1234, "too_small": 0, "critical": 3.456, "level": 0.95}
    return Segments(**(columns | facts | {"control": "family", "n_cases": 9000, "dropped": 0, "seed": 1} | changes))


class TestWords:
    def test_of_one_segment(self):
        assert str(result()) == (
            "1 segment stands out; 1,234 segments were tested, each of up to 2 of the 2 columns.\n"
            "site = b: 1.25 times as many events as forecast (95% CI 1.10 to 1.42; 1,200 cases, adjusted p = 0.012)"
        )

    def test_of_several_segments_with_a_note(self):
        two = {name: np.repeat(column, 2) for name, column in result().columns().items()}
        two["segment"] = np.array(["a = 1", "a = 2"])
        two["observed_expected"] = np.array([math.inf, 1234.4])
        two["low"], two["high"] = np.array([math.nan, 1000.0]), np.array([math.nan, 1500.2])
        two["events"], two["p_adjusted"] = np.array([1.0, 40.0]), np.array([0.0001, 0.00009])
        two["places"] = np.array([None, None], dtype=object)
        found = result(**two, by=("a",), tested=1, too_small=1, level=0.9, note="There may be more.")
        assert str(found) == (
            "2 segments stand out; 1 segment was tested, of 1 column. "
            "1 more expects few events or non-events and can only stand out by an extreme deviation.\n"
            "a = 1: 1 event, although all forecasts are 0 (1,200 cases, adjusted p = 0.0001)\n"
            "a = 2: 1,234 times as many events as forecast (90% CI 1,000 to 1,500; 1,200 cases, adjusted p < 0.0001)\n"
            "There may be more."
        )

    def test_of_no_segment(self):
        none = {name: column[:0] for name, column in result().columns().items()} | {"places": np.zeros(0, dtype=object)}
        assert str(result(**none, too_small=2000)) == (
            "No segment stands out: 1,234 segments were tested, each of up to 2 of the 2 columns, and none deviates by "
            "3.5 standard errors. 2,000 more expect few events or non-events and can only stand out by an extreme deviation."
        )
        assert str(result(**none, by=("a",), critical=math.inf)) == (
            "No segment stands out: 1,234 segments were tested, of 1 column."
        )

    def test_of_ratios(self):
        assert _times(math.inf, 1200.0) == "1,200 events, although all forecasts are 0"
        assert _times(0.5, 3.0) == "0.50 times as many events as forecast"
        assert [_decimal(one) for one in (999.994, 1000.0, 0.0)] == ["999.99", "1,000", "0.00"]

    def test_of_labels(self):
        assert _in_words(None, ("a", "b")) == ("a", "b")
        assert _in_words(Cut(np.array([1.5])), (1, 0)) == ("above 1.5", "up to 1.5")

    def test_of_notes(self):
        ledger = SimpleNamespace(n=5000)
        assert _note(5000, ledger, 2, 10) == ""
        assert _note(4999, ledger, 2, 10) == "Outcomes were drawn for a sample of 4,999 cases."
        assert _note(5000, ledger, 10, 10) == "There may be more segments than the 10 reported."
        assert _note(10, ledger, 1, 1) == (
            "Outcomes were drawn for a sample of 10 cases. There may be more segments than the 1 reported."
        )


class TestNumbers:
    def test_of_segments_with_one_column_less(self):
        cases = small_cases()
        names = [("site", ("a", "b", "c")), ("device", ("phone", "desk"))]
        both = cases.lattice.index(((0, 1), (1, 0)))
        found = list(_wider([0, both], cases.lattice, cases.sums(), names, 0.9))
        assert [(one.found, one.segment) for one in found] == [(1, "site = b"), (1, "device = phone")]
        for one, kept in zip(found, (cases.codes[0] == 1, cases.codes[1] == 0), strict=True):
            p, events = cases.forecast[kept], cases.happened[kept].sum()
            ratio = events / p.sum()
            error = stats.norm.ppf(0.95) * math.sqrt((p * (1.0 - p)).sum() * ratio) / events
            assert one.n == kept.sum()
            expected = [ratio, ratio * math.exp(-error), ratio * math.exp(error)]
            assert [one.observed_expected, one.low, one.high] == pytest.approx(expected, rel=1e-9)

    def test_of_wider_segments_without_events_or_expected_events(self):
        lattice = Lattice((1, 1), 2)
        both, names = lattice.index(((0, 0), (1, 0))), [("a", ("x",)), ("b", ("y",))]
        sums = SegmentSums(
            *(np.array(one) for one in ([5.0] * 3, [0.0, 3.0, 0.0], [2.0, 0.0, 0.0], [1.0] * 3, [0.0] * 3))
        )
        first, second = _wider([both], lattice, sums, names, 0.95)
        assert first.observed_expected == 0.0
        assert math.isnan(first.low)
        assert math.isnan(first.high)
        assert second.observed_expected == math.inf

    def test_of_intercepts_at_the_limits(self):
        def table(y, p):
            return ForecastTable.from_predictions(y, p)

        assert _intercept(table([0, 0], [0.2, 0.3])) == -math.inf
        assert _intercept(table([1, 1], [0.2, 0.3])) == math.inf
        assert math.isnan(_intercept(table([1, 0, 0], [1.0, 0.2, 0.3])))
        p, y = np.array([0.2, 0.3, 0.6]), np.array([0, 1, 1])
        found = _intercept(table(y, p))
        assert expit(logit(p) + found).sum() == pytest.approx(2.0)

    def test_of_ratios_and_their_intervals(self):
        assert _ratio(ForecastTable.from_predictions([0, 1], [0.0, 0.0]), 0.95)[0] == math.inf
        assert np.isnan(_ratio(ForecastTable.from_predictions([0, 1], [0.0, 0.0]), 0.95)[1:]).all()
        y, p = np.arange(60) % 3 == 0, np.linspace(0.1, 0.5, 60)
        own = pr.estimate(y, p, pr.measures.ObservedExpected(), level=0.8)
        assert _ratio(ForecastTable.from_predictions(y, p), 0.8) == (own.value, own.low, own.high)

    def test_of_a_search_are_those_of_its_segment(self):
        rng = np.random.default_rng(6)
        site, age = rng.choice(["a", "b", "c"], 600), rng.uniform(20.0, 80.0, 600)
        p = rng.uniform(0.2, 0.6, 600)
        y = rng.random(600) < np.where(site == "b", 0.85, p)
        found = pr.find_segments(
            pr.cases(y, p, by={"site": site, "age": age}), quantiles=2, level=0.9, n_resamples=50, seed=4
        )
        inside = site == "b"
        assert found.segment.tolist() == ["site = b"]
        assert found.places.tolist() == [(("site", "b"),)]
        table = ForecastTable.from_predictions(y[inside], p[inside])
        own = pr.estimate(pr.Ledger.of_tables({"forecast": table}), measure=pr.measures.ObservedExpected(), level=0.9)
        curve = pr.cumulative_calibration_error(table)
        assert found.n.tolist() == [inside.sum()]
        assert found.events.tolist() == [y[inside].sum()]
        assert found.expected[0] == pytest.approx(p[inside].sum())
        assert [found.observed_expected[0], found.low[0], found.high[0]] == [own.value, own.low, own.high]
        assert expit(logit(p[inside]) + found.intercept[0]).sum() == pytest.approx(y[inside].sum())
        assert (
            found.miscalibration[0]
            == pr.estimate(pr.Ledger.of_tables({"forecast": table}), measure=pr.measures.Miscalibration()).value
        )
        assert found.kuiper[0] == pytest.approx(curve.kuiper / curve.sigma)
        assert (found.by, found.depth, found.tested, found.too_small) == (("site", "age"), 2, 11, 0)
        assert (found.control, found.level, found.n_cases, found.dropped, found.seed) == ("family", 0.9, 600, 0, 4)
        assert found.note == ""
        codes = [np.unique(site, return_inverse=True)[1], (age > np.sort(age)[299]).astype(np.intp)]
        cases = SegmentCases(p, y, codes, Lattice((3, 2), 2))
        law = largest_deviations(cases, cases.sums(), 50, 4)
        assert found.critical == np.quantile(law, 0.9, method="higher")
        assert found.deviation[0] == pytest.approx(deviations(cases.sums())[1])
        assert found.p_adjusted[0] == pytest.approx(1 / 51)
        assert found.wider == ()

    def test_of_a_search_of_one_column_are_limited_to_it(self):
        y, p = np.arange(200) % 2 == 0, np.full(200, 0.5)
        found = pr.find_segments(pr.cases(y, p, by={"g": np.arange(200) % 5}), depth=3, n_resamples=50, seed=1)
        assert (found.depth, found.tested, found.by) == (1, 5, ("g",))

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"n_resamples": 24, "level": 0.9}, "n_resamples must be at least 25 for a level of 0.9.*got 24"),
            ({"n_resamples": 9, "level": 0.75}, "n_resamples must be at least 10 for a level of 0.75.*got 9"),
            ({"depth": 0}, "depth"),
            ({"most": 0}, "most"),
            ({"quantiles": 0}, "quantiles"),
            ({"control": "fdr"}, "control"),
        ],
    )
    def test_arguments_are_checked(self, options, text):
        with pytest.raises(InputValueError, match=text):
            pr.find_segments(pr.cases([0, 1], [0.2, 0.6], by={"g": ["a", "b"]}), **options)

    def test_just_enough_draws_are_accepted(self):
        y, p = np.arange(100) % 2 == 0, np.full(100, 0.5)
        found = pr.find_segments(pr.cases(y, p, by={"g": np.arange(100) % 2}), level=0.75, n_resamples=10, seed=1)
        assert find_module.FEWEST_BEYOND == 2.5
        assert found.segment.tolist() == ["g = 0", "g = 1"]

    def test_of_a_search_that_is_full_are_noted(self):
        rng = np.random.default_rng(6)
        site, device = rng.choice(["a", "b", "c"], 900), rng.choice(["x", "y"], 900)
        p = rng.uniform(0.2, 0.6, 900)
        y = ((site == "b") & (device == "x")) | (rng.random(900) < np.where(site == "c", 0.1 * p, p))
        options = {"n_resamples": 50, "seed": 4, "control": "discovery"}
        longer = {"site": ["a", *site], "device": ["x", *device]}
        found = pr.find_segments(pr.cases([None, *y], [0.3, *p], by=longer, missing="drop"), **options, most=2)
        assert found.segment.tolist() == ["site = c", "site = b and device = x"]
        assert found.note == "There may be more segments than the 2 reported."
        assert (found.control, found.dropped, found.n_cases) == ("discovery", 1, 900)
        codes = [np.unique(one, return_inverse=True)[1] for one in (site, device)]
        cases = SegmentCases(p, y, codes, Lattice((3, 2), 2))
        sums = cases.sums()
        assert found.critical == pytest.approx(_discovered(evidence(sums), 0.05))
        assert [one.segment for one in found.wider] == ["site = b", "device = x"]
        assert [one.found for one in found.wider] == [1, 1]
        full = pr.find_segments(pr.cases(y, p, by={"site": site, "device": device}), **options)
        assert full.segment.tolist()[:2] == found.segment.tolist()
        assert full.note == ""

    def test_of_parts_of_numbers_are_named_by_their_limits(self):
        rng = np.random.default_rng(6)
        age, p = rng.permutation(np.arange(0.5, 600.0)), rng.uniform(0.2, 0.6, 600)
        y = rng.random(600) < np.where(age > 400.0, 0.9, p)
        found = pr.find_segments(pr.cases(y, p, by={"age": age}), quantiles=3, n_resamples=50, seed=4)
        assert found.segment.tolist() == ["age = above 399.5"]
        assert found.places.tolist() == [(("age", "above 399.5"),)]


class TestEngines:
    """The same cases in a lazy frame and in arrays."""

    @staticmethod
    def frame(n=300):
        pl = pytest.importorskip("polars")
        rng = np.random.default_rng(12)
        columns = {"p": rng.uniform(0.1, 0.7, n), "site": rng.choice(["a", "b", "c"], n), "k": rng.integers(0, 2, n)}
        columns["x"] = rng.normal(size=n).round(3)
        columns["y"] = rng.random(n) < np.where(columns["site"] == "b", 0.95, columns["p"])
        return pl.DataFrame(columns).lazy(), columns

    def both(self, by=("site", "k"), seed=3):
        lazy, columns = self.frame()
        source, _, cuts = segment_source(pr.cases(lazy, "p", outcome="y", by=list(by)), None, 2, seed)
        held = {name: columns[name] for name in by}
        arrays, _, same = segment_source(pr.cases(columns["y"], columns["p"], by=held), None, 2, seed)
        assert list(cuts) == list(same)
        for name, cut in cuts.items():
            np.testing.assert_array_equal(cut.edges, same[name].edges)
        return source, arrays

    @pytest.mark.parametrize("most", [0, 2**21], ids=["queries", "fetched"])
    def test_sums_and_tables_are_those_of_arrays(self, most, monkeypatch):
        monkeypatch.setattr(sums_of_cases, "MOST_FETCHED", most)
        lazy, arrays = self.both(("site", "k", "x"))
        found, sample, labels = cases_of_engine(lazy, 2, 1000, 1)
        expected, _, names = cases_of_arrays(arrays, 2, 1000, 1)
        assert [sorted(map(str, own)) for own in labels] == [sorted(map(str, own)) for own in names]
        place = [
            expected.lattice.index(
                [
                    (c, [str(one) for one in names[c]].index(str(labels[c][code])))
                    for c, code in found.lattice.segment(at)
                ]
            )
            for at in range(len(found.lattice))
        ]
        within, outside = found.lattice.segment(0), [found.lattice.segment(4)]
        own = [expected.lattice.segment(place[at]) for at in (0, 4)]
        for ours, theirs in (
            (found.sums(), expected.sums()),
            (sample.sums(), expected.sums()),
            (found.sums(within), expected.sums(own[0])),
            (found.sums(within, outside), expected.sums(own[0], [own[1]])),
        ):
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(one, other[place], rtol=1e-9, atol=1e-12)
        both = len(found.lattice) - 1
        table = found.table(found.lattice.segment(both))
        alike = expected.table(expected.lattice.segment(place[both]))
        np.testing.assert_allclose(table.forecast, alike.forecast)
        np.testing.assert_array_equal(table.events, alike.events)

    def test_segments_are_those_of_arrays(self):
        lazy, columns = self.frame()
        by = ["site", "k", "x"]
        options = {"n_resamples": 50, "seed": 2, "quantiles": 3}
        found = pr.find_segments(pr.cases(lazy, "p", outcome="y", by=by), **options)
        expected = pr.find_segments(
            pr.cases(columns["y"], columns["p"], by={name: columns[name] for name in by}), **options
        )
        assert found.segment.tolist() == expected.segment.tolist() != []
        for name in ("n", "events", "expected", "observed_expected", "low", "deviation", "kuiper"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)
        assert (found.tested, found.too_small, found.n_cases) == (expected.tested, expected.too_small, 300)
        assert found.by == ("site", "k", "x")

    def test_a_missing_label_is_refused(self):
        pl = pytest.importorskip("polars")
        lazy = pl.DataFrame({"y": [0, 1, 0], "p": [0.1, 0.5, 0.3], "g": ["a", None, "b"]}).lazy()
        with pytest.raises(InputValueError, match=r"by\['g'\] must be known for every case"):
            pr.find_segments(pr.cases(lazy, "p", outcome="y", by=["g"]), n_resamples=50)
