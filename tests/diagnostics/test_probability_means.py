"""Generalized means of probabilities: golden cases, their laws, and brute force from the definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import propriety as pr
from propriety.diagnostics.probability_means import EXPONENTS, power_mean, probability_means
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.tables.forecast_table import ForecastTable

CLOSE = 1e-12
EXPONENT = {"1": 1.0, "0": 0.0, "-2/3": -2 / 3, "-1": -1.0, "2": 2.0}

forecasts = st.integers(1, 19).map(lambda part: part / 20)
cases = st.lists(st.tuples(st.booleans(), forecasts), min_size=1, max_size=30)
probabilities = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=8)


@st.composite
def class_samples(draw):
    """Draw outcomes and rows of three or four classes, with ties and zeros among the probabilities."""
    n, classes = draw(st.integers(1, 15)), draw(st.integers(3, 4))
    parts = draw(st.lists(st.lists(st.integers(0, 5), min_size=classes, max_size=classes), min_size=n, max_size=n))
    rows = np.array(parts, dtype=float) + (np.sum(parts, axis=1) == 0)[:, None]
    outcome = draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n))
    return np.array(outcome), rows / rows.sum(axis=1, keepdims=True)


def arrays(sample):
    return np.array([case[0] for case in sample]), np.array([case[1] for case in sample])


def of_truth(q, weight=None):
    """Return the means of probabilities that were all given to the event that happened."""
    return probability_means(np.ones(len(q)), q, source="none", sample_weight=weight)


def same(one, other, **tolerances):
    np.testing.assert_allclose(one.model, other.model, **tolerances)
    np.testing.assert_allclose(one.source, other.source, **tolerances)
    assert one.angle == pytest.approx(other.angle, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("case", ["generalized_means", "generalized_means_weighted", "generalized_mean_zero"])
def test_golden_means(golden, case):
    inputs, expected = golden(case)
    means = of_truth(inputs["q"], inputs.get("w"))
    spectrum = means.spectrum([EXPONENT[m] for m in inputs["m"]])
    np.testing.assert_allclose(spectrum.model, expected, rtol=CLOSE, atol=0)
    np.testing.assert_allclose(means.model, expected[:3], rtol=CLOSE, atol=0)
    assert spectrum.source is None


@pytest.mark.parametrize("case", ["model_source_divergence", "source_below_model_counterexample"])
def test_golden_bins(golden, case):
    inputs, expected = golden(case)
    means = probability_means(inputs["y"], inputs["Q"], source="bins", bins=inputs["edges"])
    for name in ("model", "source", "divergence"):
        np.testing.assert_allclose(getattr(means, name), expected[name], rtol=CLOSE, atol=0)
    assert means.groups.pair_weight.tolist() == expected["N_k"]
    assert means.groups.weight.tolist() == expected["N_true_k"]
    assert means.groups.source.tolist() == expected["P_k"]
    assert means.bins == len(expected["P_k"])


@pytest.mark.parametrize("rows", [False, True], ids=["one event", "two columns"])
def test_golden_pav(golden, rows):
    inputs, expected = golden("model_source_pav")
    s = np.array(inputs["s"])
    means = probability_means(inputs["y"], np.column_stack([1 - s, s]) if rows else s)
    found = {name: getattr(means, name)[1] for name in expected}
    assert found == pytest.approx(expected, rel=CLOSE, abs=0)


def test_two_columns_are_one_event_with_bins_too(golden):
    inputs, _ = golden("source_below_model_counterexample")
    options = {"source": "bins", "bins": inputs["edges"]}
    same(
        probability_means(inputs["y"], inputs["Q"], **options),
        probability_means(inputs["y"], np.array(inputs["Q"])[:, 1], **options),
        rtol=CLOSE,
    )


@given(probabilities, st.lists(st.floats(-50, 50), min_size=2, max_size=6))
def test_means_rise_with_the_exponent_between_the_least_and_the_greatest(q, exponents):
    order = [-math.inf, *sorted(exponents), math.inf]
    model = of_truth(q).spectrum(order).model
    assert (np.diff(model) >= -CLOSE).all()
    assert (model[0], model[-1]) == (min(q), max(q))


@given(probabilities, st.floats(0.01, 1.0), st.floats(-5, 5))
def test_a_mean_scales_with_its_numbers(q, factor, exponent):
    weight = np.arange(1.0, len(q) + 1)
    scaled = power_mean(factor * np.array(q), weight, exponent)
    assert scaled == pytest.approx(factor * power_mean(np.array(q), weight, exponent), rel=1e-10)


@pytest.mark.slow
@given(probabilities, st.floats(-3, 3).filter(lambda exponent: abs(exponent) > 1e-3))
def test_a_mean_is_its_formula(q, exponent):
    weight = np.arange(1.0, len(q) + 1)
    direct = np.average(np.array(q) ** exponent, weights=weight) ** (1 / exponent)
    assert power_mean(np.array(q), weight, exponent) == pytest.approx(direct, rel=1e-9)


def test_small_and_large_exponents_lose_no_digits():
    q, weight = np.array([0.2, 0.5, 0.9]), np.ones(3)
    geometric = math.exp(np.log(q).mean())
    assert power_mean(q, weight, 1e-13) == pytest.approx(geometric, rel=CLOSE)
    assert power_mean(q, weight, -1e-13) == pytest.approx(geometric, rel=CLOSE)
    assert power_mean(q, weight, -4000.0) == pytest.approx(0.2, rel=1e-3)
    assert power_mean(q, weight, 4000.0) == pytest.approx(0.9, rel=1e-3)


@given(cases)
def test_divergence_is_the_miscalibration_of_the_log_score(sample):
    y, p = arrays(sample)
    means, parts = probability_means(y, p), pr.decompose(y, p, rule=pr.Log())
    assert means.divergence[1] == pytest.approx(math.exp(-parts.miscalibration), rel=CLOSE)
    assert means.accuracy == pytest.approx(math.exp(-parts.score), rel=CLOSE)
    assert means.divergence[1] <= 1 + CLOSE


def test_the_identity_holds_for_forecasts_that_only_differ_next_to_zero():
    y, p = [0, 0, 1, 0, 0, 1], [1e-20, 1e-20, 1e-18, 1e-18, 0.4, 1 - 1e-16]
    parts = pr.decompose(y, p, rule=pr.Log())
    assert probability_means(y, p).divergence[1] == pytest.approx(math.exp(-parts.miscalibration), rel=CLOSE)


@given(class_samples(), st.booleans())
def test_divergence_of_classes_never_exceeds_one(sample, weighted):
    y, rows = sample
    weight = np.arange(1.0, len(y) + 1) if weighted else None
    means = probability_means(y, rows, sample_weight=weight)
    assert means.divergence[1] <= 1 + CLOSE
    assert means.source[1] > 0


def test_divergence_exceeds_one_where_clipped_rows_sum_to_more():
    # Clipped to (0.5, 0.5, 0.2), rows are as the classes happen but for their sum, which is what the bound says.
    y, rows = np.repeat([0, 1, 2], [5, 5, 2]), [[0.5, 0.5, 0.0]] * 12
    assert probability_means(y, rows, precision=0.2).divergence[1] == pytest.approx(1.2, rel=CLOSE)
    assert probability_means(y, rows).divergence[1] == 0


@pytest.mark.slow
@given(class_samples())
def test_sources_by_brute_force(sample):
    y, rows = sample
    means = probability_means(y, rows, source="bins", bins=[0, 0.2, 0.45, 1])
    edges = [(0, 0.2), (0.2, 0.45), (0.45, 1.1)]
    place = np.array(
        [[next(k for k, (a, b) in enumerate(edges) if a <= round(q, 12) < b) for q in row] for row in rows]
    )
    true = np.eye(rows.shape[1])[y] == 1
    rate = {k: true[place == k].mean() for k in np.unique(place)}
    model, source = rows[true], np.array([rate[k] for k in place[true]])
    for index, m in enumerate(EXPONENTS):
        assert means.source[index] == pytest.approx(power_mean(source, np.ones(len(y)), m), rel=CLOSE)
        assert means.model[index] == pytest.approx(power_mean(model, np.ones(len(y)), m), rel=CLOSE)


@pytest.mark.slow
@given(class_samples())
def test_classes_are_recalibrated_one_by_one(sample):
    y, rows = sample
    means = probability_means(y, rows)
    source = np.empty(len(y))
    for label in range(rows.shape[1]):
        curve = pr.reliability_curve(y == label, rows[:, label])
        recalibrated = np.interp(rows[:, label], curve.table.forecast, curve.blocks.per_row())
        source[y == label] = recalibrated[y == label]
        part = means.parts[label]
        expected = power_mean(recalibrated[y == label], np.ones((y == label).sum()), 0.0)
        assert part.source[1] == pytest.approx(expected, rel=CLOSE, nan_ok=True)
    assert means.source[2] == pytest.approx(power_mean(source, np.ones(len(y)), -2 / 3), rel=CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["pav", "bins"])
@given(sample=cases)
def test_whole_weights_are_repeated_cases(source, sample):
    y, p = arrays(sample)
    weight = np.arange(len(y)) % 3 + (len(y) < 3)
    if not weight.any():
        return
    by_weight = probability_means(y, p, source=source, sample_weight=weight)
    by_case = probability_means(np.repeat(y, weight), np.repeat(p, weight), source=source)
    same(by_weight, by_case, rtol=CLOSE)
    for label, part in by_weight.parts.items():
        same(part, by_case.parts[label], rtol=CLOSE)


@pytest.mark.parametrize("source", ["pav", "bins", "none"])
def test_a_table_takes_the_place_of_predictions(source):
    y, p = [0, 1, 1, 0, 1], [0.1, 0.4, 0.4, 0.6, 0.95]
    table = ForecastTable.from_predictions(y, p)
    one, other = (probability_means(*given, source=source, precision=0.1) for given in ((table,), (y, p)))
    assert one.to_dict() == other.to_dict()


def test_the_pooled_mean_averages_over_the_classes():
    y, rows = np.array([0, 1, 2, 2]), [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.6, 0.3, 0.1]]
    means = probability_means(y, rows)
    weight = np.array([part.weight for part in means.parts.values()])
    assert weight.tolist() == [1, 1, 2]
    assert means.decisiveness == pytest.approx(
        np.average([p.decisiveness for p in means.parts.values()], weights=weight)
    )
    assert means.groups.weight.sum() == 4
    assert set(means.groups.label) == {"0", "1", "2"}


def test_forecasts_that_tie_up_to_rounding_are_never_split():
    # 1 - 0.9 is a little less than 0.1, the edge of a bin, and a tie of 0.1 in bins of equal weight.
    y, p = [1, 0, 1, 1], [0.9, 0.1, 0.9, 0.1]
    by_edges = probability_means(y, p, source="bins", bins=[0, 0.1, 1])
    assert by_edges.groups.pair_weight.tolist() == [8]
    by_weight = probability_means(y, p, source="bins", bins=8)
    assert by_weight.groups.pair_weight.tolist() == [4, 4]
    np.testing.assert_allclose(by_weight.groups.source, [1 / 4, 3 / 4])


def test_a_zero_probability_of_what_happened():
    means = probability_means([1, 1, 0], [0.0, 0.8, 0.4])
    assert means.decisiveness == pytest.approx(1.4 / 3)
    assert (means.accuracy, means.robustness, means.divergence[1]) == (0.0, 0.0, 0.0)
    clipped = probability_means([1, 1, 0], [0.0, 0.8, 0.4], precision=0.01)
    assert clipped.accuracy == pytest.approx((0.01 * 0.8 * 0.6) ** (1 / 3))
    assert (means.precision, clipped.precision) == (None, 0.01)
    assert "precision=None" in repr(means)


@pytest.mark.parametrize("source", ["pav", "bins"])
def test_one_class_only(source):
    means = probability_means([1, 1], [0.5, 0.8], source=source)
    assert means.source[0] == {"pav": 1, "bins": 0.75}[source]
    empty = means.parts["non-event"]
    assert np.isnan(empty.model).all()
    assert np.isnan(empty.source).all()
    assert math.isnan(empty.angle)
    assert empty.weight == 0


def test_constant_forecasts_have_no_angle():
    assert math.isnan(probability_means([1, 0], [0.5, 0.5]).angle)


@given(st.lists(forecasts, min_size=2, max_size=10, unique=True))
def test_a_calibrated_model_lies_on_the_diagonal(p):
    y = np.tile([1, 0], len(p))
    weight = np.stack([p, 1 - np.array(p)], axis=1).ravel()
    means = probability_means(y, np.repeat(p, 2), sample_weight=weight)
    np.testing.assert_allclose(means.divergence, 1, rtol=1e-9)
    assert math.isnan(means.angle) or means.angle == pytest.approx(45, abs=1e-3)


@pytest.mark.parametrize(("factor", "over"), [(2.0, True), (0.5, False)])
def test_the_angle_tells_confidence(factor, over):
    rng = np.random.default_rng(0)
    truth = rng.random(4000)
    odds = (truth / (1 - truth)) ** factor
    means = probability_means(rng.random(4000) < truth, odds / (1 + odds))
    assert (means.angle > 50) if over else (means.angle < 40)


def test_missing_rows_are_dropped_and_counted():
    means = probability_means(pr.cases([0, 1, np.nan], [0.2, 0.7, 0.5], missing="drop"))
    assert (means.n, means.dropped) == (2, 1)
    assert "dropped=1" in repr(means)
    with pytest.raises(MissingValuesError):
        probability_means([0, 1, np.nan], [0.2, 0.7, 0.5])


def test_labels_are_those_of_the_door():
    assert probability_means(["no", "yes"], [0.2, 0.7], pos_label="yes").decisiveness == 0.75
    rows = probability_means(["b", "a"], [[0.2, 0.8, 0.0], [0.7, 0.3, 0.0]], labels=["a", "b", "c"])
    assert list(rows.parts) == ["a", "b", "c"]
    assert rows.decisiveness == 0.75


def test_views():
    means = probability_means([0, 1, 1], [0.2, 0.7, 0.4])
    frame = means.to_frame(backend="pandas")
    assert frame.columns.tolist() == ["label", "exponent", "model", "source", "divergence"]
    assert frame["label"].tolist() == ["non-event"] * 3 + ["event"] * 3 + ["all"] * 3
    assert frame["model"].tolist()[-3:] == means.model.tolist()
    plain = probability_means([0, 1, 1], [0.2, 0.7, 0.4], source="none")
    assert plain.to_frame(backend="polars").columns == ["label", "exponent", "model"]
    assert (plain.source, plain.divergence, plain.angle, plain.groups) == (None, None, None, None)
    assert plain.to_dict()["parts"]["event"]["model"] == plain.parts["event"].model.tolist()
    assert len(means.spectrum().to_frame(backend="pandas")) == 41


@pytest.mark.parametrize("source", ["histogram", None, 1])
def test_sources_that_there_are_not(source):
    with pytest.raises(InputValueError, match='source must be one of "pav", "bins", "none"; got'):
        probability_means([0, 1], [0.2, 0.7], source=source)


@pytest.mark.parametrize("precision", [0, 0.5, -0.1, math.nan, "0.1", True])
def test_precisions_outside_their_range(precision):
    with pytest.raises(InputValueError, match=r"precision must lie strictly between 0 and 0\.5; got .* Hint: omit it"):
        probability_means([0, 1], [0.2, 0.7], precision=precision)


@pytest.mark.parametrize("bins", [0, 2.5, [0, 0.5], [0.1, 1], [0, 0.6, 0.4, 1], [0, math.nan, 1]], ids=str)
def test_bins_that_are_none(bins):
    with pytest.raises(InputValueError, match="bins must be"):
        probability_means([0, 1], [0.2, 0.7], source="bins", bins=bins)


@pytest.mark.parametrize("source", ["pav", "none"])
def test_bins_without_effect(source):
    with pytest.raises(
        InputValueError, match=f"bins is for source=\"bins\"; the source is '{source}'. Hint: pass source="
    ):
        probability_means([0, 1], [0.2, 0.7], source=source, bins=10)


@pytest.mark.parametrize("bins", [["a", "b"], [[0, 1]], [1.0]], ids=str)
def test_what_is_no_edges(bins):
    with pytest.raises(InputTypeError, match="edges that rise from 0 to 1; got shape"):
        probability_means([0, 1], [0.2, 0.7], source="bins", bins=bins)


@pytest.mark.parametrize("exponents", [["a"], [], [[1]], [math.nan]], ids=str)
def test_what_is_no_exponent(exponents):
    with pytest.raises(InputTypeError, match="exponents must be a 1-D array of numbers"):
        probability_means([0, 1], [0.2, 0.7]).spectrum(exponents)


def test_rows_have_no_pos_label():
    with pytest.raises(InputValueError, match="pos_label belongs to a binary outcome"):
        probability_means([0, 1], [[0.2, 0.8, 0.0], [0.7, 0.3, 0.0]], pos_label=1)


def test_a_table_holds_everything():
    table = ForecastTable.from_predictions([0, 1], [0.2, 0.7])
    with pytest.raises(InputTypeError, match="pass it without y_proba"):
        probability_means(table, [0.2, 0.7])
