"""Moments of losses are those of brute force, however the cases are weighted, keyed, chunked, split and merged."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import propriety as pr
from propriety.errors import InputTypeError, InputValueError
from propriety.ledger import case_moments as module
from propriety.ledger import moments as moments_module
from propriety.ledger.moments import OUTCOME, Moments, Sums, joined_sums, moments_of_table, pooled_sums
from propriety.tables.cases import CHUNK
from propriety.tables.forecast_table import ForecastTable

CLOSE = {"rtol": 1e-10, "atol": 1e-12}
RNG = np.random.default_rng(5)
FIELDS = ("n", "weight", "weight_squares", "mean", "lean", "spread")

cases = st.lists(
    st.tuples(
        st.booleans(),
        st.floats(0.0, 1.0),
        st.floats(0.0, 1.0),
        st.sampled_from([0.0, 0.5, 1.0, 3.0]),
        st.sampled_from("xy"),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=15,
).filter(lambda drawn: any(case[3] > 0 for case in drawn))


def columns(drawn):
    y, p, q, weight, group, cluster = (np.array(column) for column in zip(*drawn, strict=True))
    return y, {"a": p, "b": q}, weight, group, cluster


def moments_of(y, forecasts, rule=None, **options):
    return pr.condense(y, forecasts, rules=[rule or pr.Brier()], **options).moments(rule or pr.Brier())


def series_of(y, forecasts, rule):
    """Return the losses of each model and their differences, shape (cases, series)."""
    losses = [pr.case_scores(y, p, rule=rule) for p in forecasts.values()]
    return np.stack([*losses, *(one - other for one, other in itertools.combinations(losses, 2))], axis=1)


def brute(series, weight):
    """Return the moments of one cell by their definitions."""
    series, weight = series[weight > 0], weight[weight > 0][:, None]
    mean = (weight * series).sum(axis=0) / weight.sum()
    deviation = series - mean
    squares = weight**2
    sums = (len(series), weight.sum(), squares.sum(), mean)
    return (*sums, (squares * deviation).sum(axis=0), (squares * deviation**2).sum(axis=0))


def assert_same(one, other):
    for name in FIELDS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), err_msg=name, **CLOSE)
    assert one.index.names == other.index.names
    for key in one.index.names:
        assert one.index.column(key) == other.index.column(key)


@settings(max_examples=30)
@given(cases)
def test_every_cell_is_that_of_brute_force(drawn):
    y, forecasts, weight, group, cluster = columns(drawn)
    moments = moments_of(y, forecasts, by={"group": group}, cluster=cluster, sample_weight=weight)
    assert moments.index.names == (OUTCOME, "group", "cluster")
    series = series_of(y, forecasts, pr.Brier())
    expected = {}
    for label in sorted(set(zip(y.astype(int).tolist(), group.tolist(), cluster.tolist(), strict=True))):
        inside = (y == label[0]) & (group == label[1]) & (cluster == label[2])
        if weight[inside].any():
            expected[label] = brute(series[inside], weight[inside])
    assert list(zip(*map(moments.index.column, moments.index.names), strict=True)) == list(expected)
    for place, cell in enumerate(expected.values()):
        for name, value in zip(FIELDS, cell, strict=True):
            np.testing.assert_allclose(getattr(moments, name)[place], value, err_msg=name, **CLOSE)


@pytest.mark.slow
@settings(max_examples=30)
@given(cases)
def test_adding_up_gives_what_was_never_split(drawn):
    y, forecasts, weight, group, cluster = columns(drawn)
    moments = moments_of(y, forecasts, by={"group": group}, cluster=cluster, sample_weight=weight)
    assert_same(moments.over(OUTCOME), moments_of(y, forecasts, sample_weight=weight))
    assert_same(moments.over(OUTCOME, "group"), moments_of(y, forecasts, by={"group": group}, sample_weight=weight))
    assert_same(moments.over(OUTCOME, "cluster"), moments_of(y, forecasts, cluster=cluster, sample_weight=weight))
    total = brute(series_of(y, forecasts, pr.Brier()), weight)
    for name, value in zip(FIELDS, total, strict=True):
        np.testing.assert_allclose(getattr(moments.over(), name)[0], value, err_msg=name, **CLOSE)
    np.testing.assert_allclose(moments.means, total[3], **CLOSE)
    assert moments.over("group", OUTCOME).index.names == ("group", OUTCOME)


@settings(max_examples=30)
@given(cases, st.randoms(use_true_random=False), st.integers(1, 4), st.sampled_from(["by", "cluster", "both", "none"]))
def test_parts_merge_in_any_order_to_the_whole(drawn, random, pieces, keys):
    y, forecasts, weight, group, cluster = columns(drawn)
    options = {"by": {"by": group}, "cluster": {"cluster": cluster}, "both": {"by": group, "cluster": cluster}}
    chosen = options.get(keys, {}) | {"sample_weight": weight}
    whole = moments_of(y, forecasts, **chosen)
    place = np.array([random.randrange(pieces) for _ in y])
    parts = []
    for piece in range(pieces):
        inside = place == piece
        if weight[inside].any():
            own = {name: values[inside] for name, values in chosen.items()}
            parts.append(moments_of(y[inside], {name: p[inside] for name, p in forecasts.items()}, **own))
    random.shuffle(parts)
    assert_same(Moments.merge(parts), whole)
    assert_same(sum(parts), whole)


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_of_small_chunks_are_merged_as_they_come(weighted, monkeypatch):
    n = 120
    p, q = RNG.random((2, n))
    y, cluster = RNG.random(n) < p, RNG.integers(0, 12, n)
    options = {"cluster": cluster, "sample_weight": RNG.integers(0, 4, n).astype(float) if weighted else None}
    whole = moments_of(y, {"a": p, "b": q}, **options)
    monkeypatch.setattr("propriety.tables.cases.CHUNK", 16)
    monkeypatch.setattr(module, "KEPT", 0)
    assert_same(moments_of(y, {"a": p, "b": q}, **options), whole)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("keyed", [False, True])
def test_chunks_do_not_show(weighted, keyed, monkeypatch):
    n = 2 * CHUNK + 77
    p, q = RNG.random((2, n))
    y = RNG.random(n) < p
    weight = RNG.integers(0, 4, n).astype(float) if weighted else None
    cluster = RNG.integers(0, 9000, n) if keyed else None
    monkeypatch.setattr(module, "KEPT", 1000)  # So that the cells are put together in between.
    monkeypatch.setattr(moments_module, "BLOCK", 100)
    moments = moments_of(y, {"a": p, "b": q}, cluster=cluster, sample_weight=weight)
    w = np.ones(n) if weight is None else weight
    series = series_of(y, {"a": p, "b": q}, pr.Brier())
    total = brute(series, w)
    pooled = moments.over()
    for name, value in zip(FIELDS, total, strict=True):
        np.testing.assert_allclose(getattr(pooled, name)[0], value, err_msg=name, rtol=1e-9, atol=1e-9)
    if keyed:
        assert moments.units == len(np.unique(cluster[w > 0]))


def test_errors_are_those_of_a_mean():
    p, q = RNG.random((2, 40))
    y = RNG.random(40) < p
    moments = moments_of(y, {"a": p, "b": q})
    series = series_of(y, {"a": p, "b": q}, pr.Brier())
    np.testing.assert_allclose(moments.means, series.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.standard_errors(), series.std(axis=0, ddof=1) / np.sqrt(40), rtol=1e-12)


def test_whole_weights_do_not_count_as_repeated_cases_and_equal_weights_do_not_matter():
    y, p = [0, 1, 1], [0.2, 0.7, 0.4]
    plain = moments_of(y, {"a": p})
    doubled = moments_of(y, {"a": p}, sample_weight=[2.0, 2.0, 2.0])
    np.testing.assert_allclose(doubled.means, plain.means)
    np.testing.assert_allclose(doubled.standard_errors(), plain.standard_errors())


def test_parts_without_weight_add_nothing():
    parts = moments_of([0, 0, 1], {"a": [0.2, 0.7, 0.4], "b": [0.1, 0.9, 0.3]}, sample_weight=[1.0, 2.0, 3.0]).sums()
    width = parts.mean.shape[1]
    empty = Sums(*(np.zeros(1) for _ in range(3)), *(np.full((1, width), np.nan) for _ in range(3)))
    pooled = pooled_sums(np.array([0, 1, 0, 1]), 2, joined_sums([parts, empty, empty]))
    for name, column in parts._asdict().items():
        np.testing.assert_array_equal(getattr(pooled, name), column, err_msg=name)


def test_large_losses_keep_the_digits_of_their_spread():
    class Offset(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return 1e9 + (p - event) ** 2

    n = CHUNK + 500
    p, q = RNG.random((2, n))
    y = RNG.random(n) < p
    shifted = moments_of(y, {"a": p, "b": q}, Offset())
    plain = moments_of(y, {"a": p, "b": q})
    # A loss near 1e9 is known to 1e-7; sums of squares would have lost all of its spread.
    np.testing.assert_allclose(shifted.standard_errors(), plain.standard_errors(), rtol=1e-5)
    np.testing.assert_allclose(shifted.means[2], plain.means[2], atol=1e-8)
    rule = Offset()
    halves = [moments_of(y[half], {"a": p[half], "b": q[half]}, rule) for half in (slice(0, 99), slice(99, n))]
    np.testing.assert_allclose(sum(halves).standard_errors(), shifted.standard_errors(), rtol=1e-6)


def test_infinite_losses_stay_with_their_model():
    y, p, q = [1, 1, 0, 0], [0.0, 0.6, 0.2, 0.1], [0.7, 0.6, 0.4, 0.3]
    moments = moments_of(y, {"a": p, "b": q}, pr.Log(), cluster=[1, 1, 2, 2])
    assert moments.means[0] == np.inf
    assert moments.means[2] == np.inf
    assert moments.means[1] == pytest.approx(pr.log_score(y, q))
    errors = moments.standard_errors()
    assert np.isnan(errors[[0, 2]]).all()
    assert np.isfinite(errors[1])
    assert np.isfinite(moments.over("cluster").mean[1]).all()


def test_an_infinite_loss_without_weight_does_not_count():
    y, p, q, weight = [1, 1, 0, 0], [0.0, 0.6, 0.2, 0.1], [0.7, 0.6, 0.4, 0.3], [0.0, 1.0, 2.0, 1.0]
    moments = moments_of(y, {"a": p, "b": q}, pr.Log(), sample_weight=weight)
    without = moments_of(y[1:], {"a": p[1:], "b": q[1:]}, pr.Log(), sample_weight=weight[1:])
    assert_same(moments, without)
    assert moments.cases == 3


def test_a_cluster_without_weight_is_not_there():
    moments = moments_of([0, 1, 1], {"a": [0.2, 0.5, 0.9]}, cluster=["u", "v", "w"], sample_weight=[1, 0, 1])
    assert moments.over("cluster").index.column("cluster") == ["u", "w"]
    assert moments.units == 2


def test_one_unit_has_no_error():
    assert np.isnan(moments_of([1], {"a": [0.2], "b": [0.3]}).standard_errors()).all()
    assert np.isnan(pr.estimate([1, 0], [0.2, 0.4], cluster=["c", "c"]).error)


def test_classes_and_labels():
    rows = RNG.dirichlet([1, 1, 1], (2, 30))
    y = RNG.choice(["x", "y", "z"], 30)
    forecasts = {"a": rows[0], "b": rows[1]}
    moments = moments_of(y, forecasts, pr.RankedProbability(), labels=["x", "y", "z"])
    expected = [float(pr.ranked_probability_score(y, one, labels=["x", "y", "z"])) for one in rows]
    np.testing.assert_allclose(moments.means, [*expected, expected[0] - expected[1]], rtol=1e-12)
    assert moments.index.column(OUTCOME) == [0, 1, 2]
    assert moments.n.tolist() == [(y == label).sum() for label in "xyz"]


@settings(max_examples=30)
@given(cases, st.booleans(), st.sampled_from([pr.Brier(), pr.Log(), pr.Elementary(0.3)]))
def test_a_table_has_the_moments_of_its_cases(drawn, weighted, rule):
    y, forecasts, weight, _, _ = columns(drawn)
    w = weight if weighted else None
    table = ForecastTable.from_predictions(y, forecasts["a"], sample_weight=w)
    expected = moments_of(y, {"a": forecasts["a"]}, rule, sample_weight=w)
    assert_same(moments_of_table(table, rule, "a"), expected)


def test_a_table_of_one_outcome_has_moments_of_that_alone():
    moments = moments_of_table(ForecastTable.from_predictions([1, 1], [0.2, 0.4]), pr.Log(), "a")
    assert moments.index.column(OUTCOME) == [1]
    assert moments.cases == 2
    rows = moments_of_table(ForecastTable.from_predictions([1, 1], [0.2, 0.4]), pr.RankedProbability(), "a")
    np.testing.assert_allclose(rows.means, [0.5])


def test_pairs_are_first_minus_second_and_rows_are_tidy():
    moments = moments_of([0, 1], {"a": [0.1, 0.7], "b": [0.5, 0.5], "c": [0.0, 1.0]}, cluster=[7, 8])
    assert moments.pairs == (("a", "b"), ("a", "c"), ("b", "c"))
    rows = moments.columns()
    assert {len(column) for column in rows.values()} == {2 * 6}
    assert rows["cluster"][:6] == [7] * 6
    assert rows["reference"][:6] == [None, None, None, "b", "c", "c"]
    assert moments.to_frame(backend="polars").shape == (12, 10)
    shown = "Moments(models=['a', 'b', 'c'], rule=Brier(), n=2, keys=['outcome', 'cluster'])"
    assert repr(moments) == shown


def test_dropped_rows_are_counted_and_add():
    part = moments_of([0, 1, 1], {"a": [0.1, None, 0.7], "b": [0.5, 0.5, 0.6]}, missing="drop")
    assert part.dropped == 1
    assert repr(part).endswith("n=2, keys=['outcome'], dropped=1)")
    assert (part + part).dropped == 2
    assert (part + part).cases == 4


def test_what_does_not_belong_together_is_refused():
    y, p = [0, 1], [0.2, 0.7]
    plain = moments_of(y, {"a": p})
    for other, words in (
        (moments_of(y, {"b": p}), "same models"),
        (moments_of(y, {"a": p}, pr.Log()), "same rule"),
        (moments_of(y, {"a": p}, by=[1, 2]), "same keys"),
    ):
        with pytest.raises(InputValueError, match=words):
            plain + other
    with pytest.raises(InputValueError, match="at least one part"):
        Moments.merge([])
    with pytest.raises(InputTypeError, match=r"rule must be a scoring rule"):
        moments_of(y, {"a": p}, "brier")
    for number in (1, 0.0):  # Only `sum` starts from an integer, which is 0.
        with pytest.raises(TypeError):
            plain + number
        with pytest.raises(TypeError):
            number + plain


def test_more_differences_than_memory_is_kept_for_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MAX_VALUES", 100)
    models = {f"m{place}": RNG.random(40) for place in range(5)}
    with pytest.raises(InputValueError, match="5 models in 40 cells have too many differences to keep in memory"):
        moments_of(RNG.integers(0, 2, 40), models, cluster=np.arange(40))


def test_labels_of_several_kinds_merge():
    one = moments_of([0, 1], {"a": [0.2, 0.7]}, cluster=[1, "1"])
    other = moments_of([0, 1], {"a": [0.3, 0.6]}, cluster=["1", 2])
    merged = (one + other).over("cluster")
    assert (one + other).units == 3
    assert dict(zip(merged.index.column("cluster"), merged.n.tolist(), strict=True)) == {1: 1, "1": 2, 2: 1}
