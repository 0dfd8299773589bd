"""A ranking map says of every interval what the bounded scores say of it, in one pass over the cases."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import propriety as pr
from propriety.decisions import ranking_map as module
from propriety.decisions.ranking_map import ranking_map
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.tables import cases as chunking
from propriety.tables.forecast_table import ForecastTable

RNG = np.random.default_rng(0)
P = RNG.beta(1, 3, 300)
Y = RNG.random(300) < P
MODELS = {
    "good": P,
    "noisy": np.clip(P + RNG.normal(0, 0.2, 300), 0, 1),
    "rounded": np.round(P, 1),
}
WEIGHT = RNG.integers(0, 4, 300).astype(float)
RULES = {"linear": pr.BoundedBrier, "log-odds": pr.BoundedLog}
GRIDS = {"linear": [0.0, 0.1, 0.15, 0.4, 0.75, 1.0], "log-odds": [0.001, 0.02, 0.1, 0.5, 0.9]}
SCALES = pytest.mark.parametrize("scale", RULES)
WEIGHTS = pytest.mark.parametrize("weight", [None, WEIGHT], ids=["even", "weighted"])


def direct(y, forecasts, rule, weight=None):
    """Return winner, margin and standard error from the losses of the cases, as one would by hand."""
    weight = np.ones(len(y)) if weight is None else weight
    losses = {name: pr.case_scores(y, forecast, rule=rule) for name, forecast in forecasts.items()}
    means = {name: np.average(loss, weights=weight) for name, loss in losses.items()}
    winner, runner_up = sorted(means, key=means.get)[:2]
    difference = losses[runner_up] - losses[winner]
    # Rounding errors of integrals are far below real differences.
    differs = (np.abs(difference) > 1e-12) & (weight > 0.0)
    fewest = min(np.count_nonzero(differs & (y == outcome)) for outcome in (0, 1))
    mean, n = np.average(difference, weights=weight), np.count_nonzero(weight)
    variance = n / (n - 1) * (weight**2 @ (difference - mean) ** 2) / weight.sum() ** 2
    return winner, mean, np.sqrt(variance), fewest


@SCALES
@WEIGHTS
def test_every_regret_is_a_bounded_score(scale, weight):
    score = {"linear": pr.bounded_brier_score, "log-odds": pr.bounded_log_score}[scale]
    frame = ranking_map(Y, MODELS, grid=GRIDS[scale], axis=scale, sample_weight=weight).to_frame()
    assert len(frame) == len(GRIDS[scale]) * (len(GRIDS[scale]) - 1) / 2
    for row in frame.to_dict("records"):
        for name, forecast in MODELS.items():
            expected = score(Y, forecast, thresholds=(row["low"], row["high"]), sample_weight=weight)
            assert row[f"regret {name}"] == pytest.approx(expected, abs=1e-10)


@SCALES
@WEIGHTS
def test_margins_and_errors_are_those_of_the_case_differences(scale, weight):
    ranking = ranking_map(Y, MODELS, grid=GRIDS[scale], axis=scale, sample_weight=weight, level=0.9)
    for row in ranking.to_frame().to_dict("records"):
        winner, margin, error, fewest = direct(Y, MODELS, RULES[scale](row["low"], row["high"]), weight)
        assert row["winner"] == winner
        assert row["margin"] == pytest.approx(margin, abs=1e-9)
        assert row["standard_error"] == pytest.approx(error, abs=1e-9)
        assert row["is_noise"] == (margin <= 1.6448536269514722 * error or fewest < 5)
        assert row["regret"] == min(row[f"regret {name}"] for name in MODELS)


probabilities = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]))


@pytest.mark.slow
@given(st.data(), st.integers(2, 12), st.sampled_from(list(RULES)))
def test_any_few_cases_on_any_grid(data, n, scale):
    y = data.draw(arrays(bool, n))
    forecasts = {name: data.draw(arrays(float, n, elements=probabilities)) for name in "ab"}
    inside = st.floats(0.01, 0.99).map(lambda c: round(c, 3))
    grid = data.draw(st.lists(inside, min_size=2, max_size=6, unique=True))
    weight = data.draw(arrays(float, n, elements=st.sampled_from([0.5, 1.0, 3.0])))
    ranking = ranking_map(y, forecasts, grid=grid, axis=scale, sample_weight=weight)
    for row in ranking.to_frame().to_dict("records"):
        _, margin, error, fewest = direct(np.asarray(y), forecasts, RULES[scale](row["low"], row["high"]), weight)
        assert row["margin"] == pytest.approx(margin, abs=1e-9)
        # A variance is known to a rounding error of the squares, so its root to the root of that.
        assert row["standard_error"] == pytest.approx(error, abs=1e-7)
        assert row["is_noise"] or fewest >= 5


@SCALES
def test_the_order_of_cases_and_models_does_not_matter(scale):
    order = RNG.permutation(len(Y))
    one = ranking_map(Y, MODELS, axis=scale, sample_weight=WEIGHT)
    other = ranking_map(
        Y[order],
        {name: MODELS[name][order] for name in reversed(MODELS)},
        axis=scale,
        sample_weight=WEIGHT[order],
    )
    untied = one.margin > 1e-12
    np.testing.assert_array_equal(one.winner[untied], other.winner[untied])
    for name in ("regret", "margin", "standard_error"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12)


def test_weights_repeat_cases_in_the_means_and_scale_out():
    counts = WEIGHT.astype(int)
    repeated = ranking_map(np.repeat(Y, counts), {name: np.repeat(p, counts) for name, p in MODELS.items()})
    weighted = ranking_map(Y, MODELS, sample_weight=WEIGHT)
    np.testing.assert_allclose(weighted.regrets, repeated.regrets, atol=1e-14)
    np.testing.assert_allclose(weighted.margin, repeated.margin, atol=1e-14)
    doubled = ranking_map(Y, MODELS, sample_weight=2 * WEIGHT)
    np.testing.assert_allclose(weighted.standard_error, doubled.standard_error)
    assert weighted.n == np.count_nonzero(WEIGHT)


@WEIGHTS
def test_models_that_decide_alike_are_tied_and_that_is_noise(weight):
    high = np.where(P > 0.5, P, P / 2)
    ranking = ranking_map(Y, {"a": P, "b": high, "c": P.copy()}, sample_weight=weight)
    assert (ranking.margin[ranking.low >= 0.5] == 0).all()
    assert (ranking.standard_error[ranking.low >= 0.5] == 0).all()
    tied = ranking_map(Y, {"a": P, "c": P.copy()}, sample_weight=weight)
    assert tied.is_noise.all()
    assert set(tied.winner) == {"a"}
    assert set(tied.runner_up) == {"c"}
    np.testing.assert_array_equal(tied.margin, 0)


def test_chunks_give_what_one_chunk_gives(monkeypatch):
    whole = ranking_map(Y, MODELS, sample_weight=WEIGHT)
    monkeypatch.setattr(chunking, "CHUNK", 7)
    parts = ranking_map(Y, MODELS, sample_weight=WEIGHT)
    for name in ("regrets", "margin", "standard_error"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-10, atol=1e-15)


@SCALES
def test_an_interval_off_the_grid_is_exact(scale):
    ranking = ranking_map(Y, MODELS, axis=scale, thresholds=(0.123, 0.456))
    winner, margin, error, _ = direct(Y, MODELS, RULES[scale](0.123, 0.456))
    for answer in (ranking.marked, ranking.at((0.123, 0.456))):
        assert (answer.winner, answer.low, answer.high) == (winner, 0.123, 0.456)
        assert answer.margin == pytest.approx(margin, abs=1e-12)
        assert answer.standard_error == pytest.approx(error, abs=1e-12)
    assert ranking.to_dict()["marked"]["winner"] == winner
    assert "regret noisy" in ranking.marked.to_frame().columns


@SCALES
def test_intervals_on_the_grid_agree_with_the_map(scale):
    ranking = ranking_map(Y, MODELS, axis=scale)
    for row in ranking.to_frame().iloc[::97].to_dict("records"):
        answer = ranking.at((row["low"], row["high"]))
        assert answer.regret == pytest.approx(row["regret"], abs=1e-12)
        assert answer.standard_error == pytest.approx(row["standard_error"], abs=1e-12)


def test_default_grids():
    linear, log_odds = ranking_map(Y, MODELS), ranking_map(Y, MODELS, axis="log-odds")
    assert len(linear.low) == len(log_odds.low) == 820
    np.testing.assert_allclose(linear.grid[[0, 20, 40]], [0, 0.5, 1])
    np.testing.assert_allclose(log_odds.grid[[0, 20, 40]], [0.001, 0.5, 0.999])
    assert repr(linear).startswith("RankingMap(rows=820, models=['good', 'noisy', 'rounded'], axis=linear")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames(backend):
    frame = ranking_map(Y, MODELS, grid=[0.1, 0.2, 0.3]).to_frame(backend=backend)
    assert frame.shape == (3, 11)


def test_a_case_that_one_model_misses_is_dropped_for_all():
    gaps = {name: p.copy() for name, p in MODELS.items()}
    gaps["good"][[3, 5]] = np.nan
    gaps["noisy"][[5, 8]] = np.nan
    keep = np.setdiff1d(np.arange(300), [3, 5, 8])
    with pytest.raises(MissingValuesError, match="row 3 is missing"):
        ranking_map(Y, gaps)
    for weight in (None, WEIGHT):
        dropped = ranking_map(pr.cases(Y, gaps, missing="drop", sample_weight=weight))
        kept = {name: p[keep] for name, p in MODELS.items()}
        expected = ranking_map(Y[keep], kept, sample_weight=None if weight is None else weight[keep])
        assert dropped.dropped == 3
        np.testing.assert_array_equal(dropped.regrets, expected.regrets)
        np.testing.assert_array_equal(dropped.standard_error, expected.standard_error)


def test_one_case_has_no_standard_error():
    ranking = ranking_map([1], {"a": [0.3], "b": [0.6]}, grid=[0.2, 0.5])
    assert np.isnan(ranking.standard_error).all()
    assert ranking.is_noise.all()
    assert ranking.winner.tolist() == ["b"]


def test_labels_and_certain_forecasts():
    words = np.where(Y, "ill", "well")
    certain = {"a": Y.astype(float), "b": 1.0 - Y}
    ranking = ranking_map(words, certain, pos_label="ill", axis="log-odds")
    assert set(ranking.winner) == {"a"}
    np.testing.assert_allclose(ranking.regret, 0, atol=1e-15)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"grid": [0.5]}, InputValueError, "two different thresholds or more; got 1"),
        ({"grid": [0.5, 1.5]}, InputValueError, r"grid must lie in \[0, 1\]; entry 1 is 1.5"),
        ({"grid": [0.0, 0.5], "axis": "log-odds"}, InputValueError, "strictly between 0 and 1"),
        ({"axis": "logit"}, InputValueError, "axis must be one of"),
        ({"level": 1.0}, InputValueError, "level must lie strictly"),
        ({"thresholds": (0.4, 0.2)}, InputValueError, "0 <= low < high <= 1"),
        ({"thresholds": (0.0, 0.2), "axis": "log-odds"}, InputValueError, "strictly between 0 and 1"),
        ({"thresholds": 0.2}, InputTypeError, "must be a pair"),
        ({"forecasts": {"a": P}}, InputValueError, "two models or more; got 1"),
        ({"forecasts": [P, P]}, InputTypeError, "must map the names of models"),
        ({"forecasts": {1: P, 2: P}}, InputTypeError, "must map the names of models"),
        ({"forecasts": {"a": P, "b": P + 0.5}}, InputValueError, r"forecasts\['b'\] must lie in \[0, 1\]"),
        ({"forecasts": {"a": P, "b": P[1:]}}, InputValueError, "equally long"),
        ({"y_true": ForecastTable.from_predictions(Y, P)}, InputTypeError, "holds no individual cases"),
    ],
)
def test_what_it_refuses(options, error, message):
    with pytest.raises(error, match=message):
        ranking_map(**({"y_true": Y, "forecasts": MODELS} | options))


def test_the_model_at_fault_is_named():
    with pytest.raises(InputValueError, match=r"^y_true and forecasts\['b'\] must be equally long"):
        ranking_map(Y, {"a": P, "b": P[1:]})


def test_no_case_that_all_models_have():
    one, other = P.copy(), P.copy()
    one[:150], other[150:] = np.nan, np.nan
    with pytest.raises(InputValueError, match="missing value in some model"):
        ranking_map(pr.cases(Y, {"a": one, "b": other}, missing="drop"))


def test_models_with_different_indices_are_refused():
    series = pd.Series(P)
    with pytest.raises(InputValueError, match="'a' and 'b' carry different indices"):
        ranking_map(Y, {"a": series, "b": series[::-1]})


@WEIGHTS
def test_pairs_that_are_looked_at_one_by_one_give_the_same_map(weight, monkeypatch):
    rng = np.random.default_rng(3)
    models = {f"m{place}": np.clip(P + rng.normal(0, 0.1, 300), 0, 1) for place in range(12)}
    whole = ranking_map(Y, models, sample_weight=weight)
    assert len(set(zip(whole.winner.tolist(), whole.runner_up.tolist(), strict=True))) > 5
    monkeypatch.setattr(module, "MOST_SUMS", 1)
    monkeypatch.setattr(chunking, "CHUNK", 70)
    parted = ranking_map(Y, models, sample_weight=weight)
    for name in ("winner", "runner_up"):
        assert getattr(parted, name).tolist() == getattr(whole, name).tolist()
    for name in ("regret", "margin", "standard_error"):
        np.testing.assert_allclose(getattr(parted, name), getattr(whole, name), rtol=1e-9, atol=1e-14)


def test_a_model_is_not_better_because_a_rare_event_did_not_happen():
    low = np.arange(1000) < 20
    y = (np.arange(1000) >= 20) & (np.arange(1000) % 3 == 0)
    forecasts = {"honest": np.where(low, 0.02, 0.3), "bold": np.where(low, 0.001, 0.3)}
    ranking = ranking_map(y, forecasts, thresholds=(0.003, 0.01))
    assert ranking.marked.winner == "bold"
    assert ranking.marked.is_noise
