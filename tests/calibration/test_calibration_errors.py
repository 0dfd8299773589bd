"""Binned and cumulative calibration errors: by definition, against torchmetrics, and for calibrated forecasts."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import propriety as pr
from propriety.calibration.reliability import absolute_exceeds, range_exceeds
from propriety.errors import InputValueError
from propriety.tables.forecast_table import ForecastTable

cases = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.7, 0.95, 1.0]), st.sampled_from([0.5, 1.0, 3.0])),
    min_size=1,
    max_size=12,
)


def sample(n=600, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < p**1.3, p


def class_sample(n=500, classes=5, seed=2):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(classes), n)
    return (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), p


def by_definition(y, p, w, bins, norm):
    """Return the error from a loop over the bins, closed on the left, the last on both sides."""
    gaps, shares = [], []
    for low in range(bins):
        inside = (p >= low / bins) & ((p < (low + 1) / bins) | (low == bins - 1))
        if inside.any():
            gaps.append(abs(np.average(y[inside] - p[inside], weights=w[inside])))
            shares.append(w[inside].sum() / w.sum())
    gaps, shares = np.array(gaps), np.array(shares)
    return {"l1": shares @ gaps, "l2": np.sqrt(shares @ gaps**2), "max": gaps.max()}[norm]


@settings(max_examples=60, deadline=None)
@given(drawn=cases, bins=st.sampled_from([1, 4, 10, 15]), norm=st.sampled_from(["l1", "l2", "max"]))
def test_the_value_is_that_of_the_definition(drawn, bins, norm):
    y, p, w = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    found = pr.expected_calibration_error(y, p, bins=bins, norm=norm, sample_weight=w)
    assert found.value == pytest.approx(by_definition(y, p, w, bins, norm), abs=1e-12)
    assert float(found) == found.value


def test_bins_are_rows():
    found = pr.expected_calibration_error([0, 1, 1, 1], [0.1, 0.15, 0.5, 0.9], bins=10)
    np.testing.assert_allclose(found.forecast_mean, [0.125, 0.5, 0.9])
    np.testing.assert_allclose(found.event_rate, [0.5, 1.0, 1.0])
    np.testing.assert_array_equal(found.weight, [2, 1, 1])
    assert (found.forecast_min[0], found.forecast_max[0]) == (0.1, 0.15)


def test_classes_are_binned_by_the_probability_of_the_likeliest():
    y, p = class_sample()
    found = pr.expected_calibration_error(y, p)
    assert found.of == "top label"
    right, top = p.argmax(axis=1) == y, p.max(axis=1)
    assert found.value == pytest.approx(by_definition(right, top, np.ones(500), 15, "l1"), abs=1e-12)
    words = pr.expected_calibration_error(np.array(list("abcde"))[y], p, labels=list("abcde"))
    assert words.value == found.value


@pytest.mark.slow  # Importing torchmetrics takes seconds.
@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_torchmetrics_agrees_for_continuous_forecasts(norm):
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("torchmetrics.functional.classification")
    y, p = sample()
    value = theirs.binary_calibration_error(torch.tensor(p), torch.tensor(y).int(), n_bins=15, norm=norm)
    assert pr.expected_calibration_error(y, p, norm=norm).value == pytest.approx(float(value), abs=1e-12)
    y, p = class_sample()
    value = theirs.multiclass_calibration_error(torch.tensor(p), torch.tensor(y), num_classes=5, n_bins=15, norm=norm)
    assert pr.expected_calibration_error(y, p, norm=norm).value == pytest.approx(float(value), abs=1e-6)


@pytest.mark.slow
def test_torchmetrics_gives_certain_forecasts_a_bin_of_their_own():
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("torchmetrics.functional.classification")
    y, p = np.array([0, 1, 1, 0]), np.array([1.0, 0.95, 0.95, 0.2])
    value = theirs.binary_calibration_error(torch.tensor(p), torch.tensor(y), n_bins=10, norm="max")
    assert float(value) == pytest.approx(1.0)
    assert pr.expected_calibration_error(y, p, bins=10, norm="max").value == pytest.approx(0.9 + 0.2 / 3 - 2 / 3)


def test_tables_ledgers_and_engines_give_the_same_error():
    pl = pytest.importorskip("polars")
    y, p = sample()
    frame = pl.DataFrame({"y": y, "p": p}).lazy()
    expected = pr.expected_calibration_error(y, p)
    for table in (
        ForecastTable.from_predictions(y, p),
        pr.condense(y, {"a": p}).table("a"),
        ForecastTable.from_frame(frame, outcome="y", forecast="p"),
    ):
        same_but_for_rounding(pr.expected_calibration_error(table), expected)


def same_but_for_rounding(one, other):
    for name, value in other.to_dict().items():
        found = one.to_dict()[name]
        assert found == (value if isinstance(value, str) else pytest.approx(value, rel=1e-12, abs=1e-14)), name


@settings(max_examples=100, deadline=None)
@given(
    drawn=st.lists(
        st.tuples(
            st.booleans(),
            st.one_of(
                st.floats(0.0, 1.0),
                st.integers(0, 49).map(lambda k: k / 49),
                st.integers(1, 49).map(lambda k: np.nextafter(k / 49, 0.0)),
            ),
            st.sampled_from([0.0, 0.5, 1.0, 3.0]),
        ),
        min_size=1,
        max_size=30,
    ).filter(lambda rows: any(weight for *_, weight in rows)),
    bins=st.sampled_from([1, 3, 10, 49, 1024]),
    weighted=st.booleans(),
)
def test_cases_need_not_be_sorted(drawn, bins, weighted):
    y, p, w = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    weight = w if weighted else None
    table = ForecastTable.from_predictions(y, p, sample_weight=weight)
    expected = pr.expected_calibration_error(table, bins=bins)
    same_but_for_rounding(pr.expected_calibration_error(y, p, bins=bins, sample_weight=weight), expected)


def test_many_chunks_are_one_sample():
    y, p = class_sample(40_000, 4, seed=9)
    weight = np.random.default_rng(9).integers(0, 3, len(y))
    for bins in (15, 2_000):
        found = pr.expected_calibration_error(y, p, bins=bins, sample_weight=weight)
        table = ForecastTable.from_predictions(p.argmax(axis=1) == y, p.max(axis=1), sample_weight=weight)
        expected = pr.expected_calibration_error(table, bins=bins)
        np.testing.assert_allclose(found.weight, expected.weight)
        assert (found.value, found.n, found.of) == (pytest.approx(expected.value), expected.n, "top label")


def test_of_equal_probabilities_the_first_class_counts():
    rows = [[0.25, 0.25, 0.5], [0.4, 0.4, 0.2], [0.2, 0.4, 0.4]]
    found = pr.expected_calibration_error([2, 1, 1], rows, bins=2)
    assert found.event_rate.tolist() == [0.5, 1.0]


def test_the_debiased_square_is_kumar_s_for_equal_forecasts_within_bins():
    rng = np.random.default_rng(3)
    p = rng.choice([0.1, 0.5, 0.8], 90)
    y = rng.random(90) < 0.4
    expected = 0.0
    for one in np.unique(p):
        inside = y[p == one]
        rate, size = inside.mean(), len(inside)
        expected += size / 90 * ((one - rate) ** 2 - rate * (1 - rate) / (size - 1))
    assert pr.expected_calibration_error(y, p, bins=10).debiased_square == pytest.approx(expected, abs=1e-14)


def test_noise_explains_the_error_of_calibrated_forecasts():
    rng = np.random.default_rng(4)
    found = []
    for _ in range(200):
        p = rng.beta(2, 2, 400)
        one = pr.expected_calibration_error(rng.random(400) < p, p)
        found.append((one.value, one.noise, one.debiased_square))
    value, noise, square = np.mean(found, axis=0)
    assert value == pytest.approx(noise, abs=0.002)
    assert value > 0.04
    assert abs(square) < 3 * np.std([one[2] for one in found]) / np.sqrt(200)


@pytest.mark.parametrize("norm", ["l2", "max"])
def test_noise_of_other_norms_is_close(norm):
    rng = np.random.default_rng(5)
    p = rng.random(2000)
    values = [pr.expected_calibration_error(rng.random(2000) < p, p, norm=norm, bins=8).value for _ in range(200)]
    assert pr.expected_calibration_error(p > 2, p, norm=norm, bins=8).noise == pytest.approx(np.mean(values), rel=0.06)


def test_the_debiased_square_estimates_that_of_the_bins():
    rng = np.random.default_rng(6)
    found = []
    for _ in range(300):
        p = rng.random(300)
        found.append(pr.expected_calibration_error(rng.random(300) < 0.2 + 0.6 * p, p, bins=4).debiased_square)
    # In the bin around m, outcome minus forecast has the mean 0.2 - 0.4 m.
    expected = np.mean([(0.2 - 0.4 * middle) ** 2 for middle in (1 / 8, 3 / 8, 5 / 8, 7 / 8)])
    assert np.mean(found) == pytest.approx(expected, abs=3 * np.std(found) / np.sqrt(300))


def test_weights_of_the_same_size_change_nothing():
    y, p = sample()
    one, other = (
        pr.expected_calibration_error(y, p),
        pr.expected_calibration_error(y, p, sample_weight=np.full(600, 2.0)),
    )
    assert (one.value, one.noise, one.debiased_square) == pytest.approx(
        (other.value, other.noise, other.debiased_square)
    )


@pytest.mark.parametrize("weight", [[1.0, 1.0, 1.0], [1.0, 3.0, 0.5]])
def test_the_debiased_square_of_equal_calibrated_forecasts_is_zero_on_average(weight):
    p, mean = 0.3, 0.0
    for y in itertools.product([0, 1], repeat=3):
        chance = p ** sum(y) * (1 - p) ** (3 - sum(y))
        mean += chance * pr.expected_calibration_error(y, [p] * 3, sample_weight=weight).debiased_square
    assert mean == pytest.approx(0.0, abs=1e-14)


def test_without_noise_there_is_no_note():
    for norm in ("l1", "l2", "max"):
        assert pr.expected_calibration_error([0, 1], [0.0, 1.0], norm=norm).note == ""


def test_a_note_says_how_large_the_noise_is():
    y, p = sample()
    assert "an ECE of 0.05" in pr.expected_calibration_error(y, p).note
    assert "the root mean square of this error would be 0.0" in pr.expected_calibration_error(y, p, norm="l2").note
    assert "a maximum calibration error of" in pr.expected_calibration_error(y, p, norm="max").note
    assert pr.expected_calibration_error(np.zeros(5000), np.full(5000, 0.9)).note == ""


def test_bins_with_one_case_are_calibrated_in_expectation():
    found = pr.expected_calibration_error([0, 1], [0.25, 0.75], bins=2)
    assert found.debiased_square == pytest.approx(0.25**2 - 0.25 * 0.75)


def test_unknown_norms_are_rejected():
    with pytest.raises(InputValueError, match='norm must be one of "l1", "l2", "max"; got \'l3\''):
        pr.expected_calibration_error([0, 1], [0.1, 0.9], norm="l3")


@settings(max_examples=60, deadline=None)
@given(drawn=cases)
def test_cumulative_statistics_are_those_of_the_definition(drawn):
    y, p, w = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    sums = [0.0] + [float((w * (y - p))[p <= one].sum() / w.sum()) for one in np.unique(p)]
    found = pr.cumulative_calibration_error(y, p, sample_weight=w)
    assert found.kuiper == pytest.approx(max(sums) - min(sums), abs=1e-12)
    assert found.kolmogorov_smirnov == pytest.approx(max(map(abs, sums)), abs=1e-12)
    assert found.sigma == pytest.approx(np.sqrt((w**2 * p * (1 - p)).sum()) / w.sum(), abs=1e-12)
    assert 0.0 <= found.kuiper_p_value <= 1.0


def test_p_values_are_those_of_brownian_motion():
    rng = np.random.default_rng(7)
    paths = np.cumsum(rng.choice([-1.0, 1.0], (4000, 1600)), axis=1) / 40
    ranges = np.maximum(paths.max(axis=1), 0) - np.minimum(paths.min(axis=1), 0)
    for size in (1.2, 1.8, 2.4):
        # A walk of finite steps has a slightly smaller range.
        assert range_exceeds(size) == pytest.approx((ranges > size - 0.03).mean(), abs=0.025)
        assert absolute_exceeds(size) == pytest.approx((np.abs(paths).max(axis=1) > size - 0.015).mean(), abs=0.025)
    assert range_exceeds(0.1) == absolute_exceeds(0.1) == 1.0


def test_calibrated_forecasts_are_rejected_as_often_as_the_level():
    rng = np.random.default_rng(8)
    small = []
    for _ in range(300):
        p = rng.beta(1, 3, 800)
        found = pr.cumulative_calibration_error(rng.random(800) < p, p)
        small.append((found.kuiper_p_value <= 0.1, found.kolmogorov_smirnov_p_value <= 0.1))
    assert np.all(np.mean(small, axis=0) < 0.1 + 3 * np.sqrt(0.09 / 300))
    assert np.all(np.mean(small, axis=0) > 0.03)


def test_certain_forecasts_have_no_noise():
    assert pr.cumulative_calibration_error([0, 1], [0.0, 1.0]).kuiper_p_value == 1.0
    assert pr.cumulative_calibration_error([1, 1], [0.0, 1.0]).kuiper_p_value == 0.0
    assert pr.expected_calibration_error([0, 1], [0.0, 1.0], norm="max").noise == 0.0


def test_few_uncertain_outcomes_are_noted():
    y, p = sample()
    assert pr.cumulative_calibration_error(y, p).note == ""
    assert pr.cumulative_calibration_error(y[:50], p[:50]).note.startswith("based on few uncertain outcomes")


def stepwise(y, p, w):
    """Return ECCE and ECCE in standard deviations with one step per case, in the order of the rows among ties."""
    order = np.argsort(p, kind="stable")
    y, p, w = y[order], p[order], w[order]
    sums = np.concatenate([[0.0], np.cumsum(w * (y - p)) / w.sum()])
    size = sums.max() - sums.min()
    return size, size / (np.sqrt((w**2 * p * (1 - p)).sum()) / w.sum())


@pytest.mark.parametrize(
    ("weighted", "recorded"),  # ecce, ecce_sigma and ecce_pvalue of mcgrad 0.1.5.
    [
        (False, (0.04561338908272099, 2.489742190151655, 0.05112921478821397)),
        (True, (0.029979923227968892, 1.3834112616560652, 0.6212688094240765)),
    ],
)
def test_mcgrad_defines_ecce_alike_without_ties(weighted, recorded):
    rng = np.random.default_rng(12)
    p = rng.beta(1, 4, 400)
    y = (rng.random(400) < p**0.9).astype(float)
    w = rng.choice([0.5, 1.0, 2.5], 400)
    w = w if weighted else np.ones(400)
    found = pr.cumulative_calibration_error(y, p, sample_weight=w)
    np.testing.assert_allclose([found.kuiper, found.kuiper / found.sigma], stepwise(y, p, w), rtol=1e-12)
    np.testing.assert_allclose(
        [found.kuiper, found.kuiper / found.sigma, found.kuiper_p_value], recorded, rtol=0, atol=1e-9
    )
    # Equal forecasts are one step here; with a step per case, ECCE depends on the order of the rows and is larger.
    tied = p.round(1)
    found = pr.cumulative_calibration_error(y, tied, sample_weight=w)
    sizes = [stepwise(y[order], tied[order], w[order])[0] for order in (rng.permutation(400) for _ in range(5))]
    assert np.ptp(sizes) > 1e-4
    assert found.kuiper < min(sizes)


def test_the_note_on_few_outcomes_does_not_depend_on_the_unit_of_the_weights():
    rng = np.random.default_rng(3)
    for n, few in ((300, True), (5000, False)):
        p = rng.beta(1, 60, n) if few else rng.random(n)
        y, weight = rng.random(n) < p, rng.random(n) + 0.5
        notes = {pr.cumulative_calibration_error(y, p, sample_weight=weight * unit).note for unit in (1e-4, 1.0, 100.0)}
        assert {bool(note) for note in notes} == {few}
