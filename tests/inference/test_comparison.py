"""Comparisons agree with SciPy, with `scores`, with brute force and over shards, and say so in plain words."""

import datetime as dt
import itertools
import re

import numpy as np
import pandas as pd
import pytest
from brute_clusters import brute_errors
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import propriety as pr
from propriety.errors import InputTypeError, InputValueError, MissingValuesError
from propriety.inference.comparison import compare
from propriety.inference.comparison_words import comparison_words, standing_in_words
from propriety.inference.dependence import hac, span_of, student
from propriety.inference.finding_words import notes_of
from propriety.inference.verdict import lead

RNG = np.random.default_rng(7)
N = 400
TRUTH = RNG.beta(1.0, 2.0, N)
Y = RNG.random(N) < TRUTH
NEAR = np.clip(TRUTH + RNG.normal(0.0, 0.02, N), 0.001, 0.999)
FAR = np.clip(TRUTH + RNG.normal(0.0, 0.3, N), 0.001, 0.999)
MODELS = {"truth": TRUTH, "near": NEAR, "far": FAR}
COLUMNS = ("value", "low", "high", "error", "p", "p_adjusted")

# What scores 2.7.0 gives for these losses with diebold_mariano(..., method="HLN", statistic_distribution="t"):
# horizon, statistic, lower and upper end of the 95% interval.
OUTCOMES = [0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 0, 0]
ONE = [0.1, 0.7, 0.2, 0.3, 0.8, 0.6, 0.1, 0.9, 0.4, 0.2, 0.5, 0.3, 0.1, 0.2, 0.6, 0.7, 0.8, 0.4, 0.6, 0.3, 0.2, 0.9, 0.1, 0.3]  # fmt: skip
OTHER = [0.3, 0.6, 0.4, 0.2, 0.5, 0.7, 0.3, 0.6, 0.5, 0.4, 0.7, 0.2, 0.3, 0.4, 0.5, 0.4, 0.6, 0.6, 0.5, 0.5, 0.1, 0.6, 0.4, 0.2]  # fmt: skip
SCORES = [
    (1, -3.8913862737797245, -0.1238042641047783, -0.03786240256188835),
    (2, -4.156923230395254, -0.12105935650182957, -0.04060731016483708),
    (3, -3.4128046624257204, -0.12983012826172727, -0.031836538404939385),
    (5, -3.8554679866356385, -0.12420458962573905, -0.03746207704092761),
]


def codes(found):
    """Return the codes of the notes of each pair."""
    return [[note.code for note in row.notes] for row in found.differences]


def differences(rule=None, one=TRUTH, other=FAR, y=Y):
    rule = rule or pr.Brier()
    return pr.case_scores(y, one, rule=rule) - pr.case_scores(y, other, rule=rule)


def assert_same(one, other, names=COLUMNS, rtol=1e-9):
    for name in names:
        found, expected = (getattr(result.differences, name) for result in (one, other))
        np.testing.assert_allclose(found, expected, rtol=rtol, err_msg=name)


@pytest.mark.parametrize(("horizon", "statistic", "low", "high"), SCORES)
def test_diebold_mariano_is_that_of_scores(horizon, statistic, low, high):
    d = differences(one=ONE, other=OTHER, y=OUTCOMES)
    error, df = hac((d - d.mean())[:, None] / 24, horizon=horizon)
    found = student(d.mean()[None], error, df, 0.95)
    assert d.mean() / error[0] == pytest.approx(statistic, rel=1e-10)
    assert [found.low[0], found.high[0]] == pytest.approx([low, high], rel=1e-8)
    options = {"period": range(24), "horizon": horizon}
    result = compare(OUTCOMES, {"a": ONE, "b": OTHER}, method="diebold-mariano", **options)
    assert result.differences.value[0] == pytest.approx(-0.08083333333333333, rel=1e-12)
    assert result.differences.extra["df"][0] == 23
    assert [result.differences.low[0], result.differences.high[0]] == pytest.approx([low, high], rel=1e-8)
    # With imagined outcomes the interval of 10 events is wider.
    imagined = compare(OUTCOMES, {"a": ONE, "b": OTHER}, **options)
    assert imagined.differences.low[0] < low
    assert imagined.differences.high[0] > high


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log()], ids=repr)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_paired_t_is_that_of_scipy(rule, level):
    result = compare(Y, {"a": TRUTH, "b": FAR}, rule, level=level, method="paired t")
    one, other = (pr.case_scores(Y, p, rule=rule) for p in (TRUTH, FAR))
    expected = stats.ttest_rel(one, other)
    interval = expected.confidence_interval(level)
    assert result.differences.extra["t"][0] == pytest.approx(expected.statistic, rel=1e-10)
    assert result.differences.p[0] == pytest.approx(expected.pvalue, rel=1e-8)
    assert result.differences.extra["df"][0] == expected.df
    assert [result.differences.low[0], result.differences.high[0]] == pytest.approx(
        [interval.low, interval.high], rel=1e-8
    )
    assert result.differences[0].method == "paired t test"


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_clusters_by_brute_force(seed):
    generator = np.random.default_rng(seed)
    cluster, weight = generator.integers(0, 12, N), generator.choice([0.0, 0.5, 2.0], N)
    options = {"cluster": cluster, "sample_weight": weight, "method": "cluster"}
    result = compare(Y, {"a": TRUTH, "b": FAR}, **options)
    d = differences()
    mean = np.average(d, weights=weight)
    error, df = brute_errors(d, cluster, weight)
    assert result.differences.value[0] == pytest.approx(mean, rel=1e-9)
    assert result.differences.extra["df"][0] == pytest.approx(df, rel=1e-7)
    assert result.differences.error[0] == pytest.approx(error, rel=1e-9)
    assert result.differences.p[0] == pytest.approx(2 * stats.t.sf(abs(mean / error), df), rel=1e-7)
    assert result.differences[0].units == len(np.unique(cluster[weight > 0]))


def test_a_cluster_for_each_case_and_horizon_one_are_the_paired_t_test():
    plain = compare(Y, MODELS)
    assert_same(compare(Y, MODELS, cluster=np.arange(N)), plain)
    assert_same(compare(Y, MODELS, period=np.arange(N), horizon=1), plain)


def test_time_is_sorted_and_cases_of_one_time_are_one_observation():
    days = np.repeat(np.arange(40), 10)
    result = compare(Y, MODELS, period=days)
    shuffled = RNG.permutation(N)
    mixed = compare(Y[shuffled], {name: p[shuffled] for name, p in MODELS.items()}, period=days[shuffled])
    assert_same(mixed, result)
    # Equally many cases a day: the same as the daily means.
    daily = differences().reshape(40, 10).mean(axis=1)
    parts = (daily - daily.mean()) / 40
    span = span_of(40)
    weights = 1 - np.arange(span) / span
    lags = [np.sum(parts[k:] * parts[: 40 - k]) for k in range(span)]
    total = weights[0] * lags[0] + 2 * np.sum(weights[1:] * lags[1:])
    kept = 1 - (1 + 2 * np.sum(weights[1:] * (1 - np.arange(1, span) / 40))) / 40
    assert result.differences.error[1] == pytest.approx(np.sqrt(total / kept), rel=1e-9)
    assert result.differences[0].units == 40
    how = "Diebold-Mariano test (Bartlett weights over 9 periods) with imagined outcomes"
    assert result.differences[0].method == how
    assert f"{how} on 400 cases at 40 periods; verdicts adjusted for 3 pairs." in comparison_words(result)


def test_dates_order_as_numbers_do():
    dates = [dt.date(2024, 1, 1) + dt.timedelta(days=day) for day in range(N)]
    expected = compare(Y, MODELS, period=np.arange(N))
    for times in (dates, np.array(dates, dtype="datetime64[D]"), pd.Series(pd.to_datetime(dates))):
        assert_same(compare(Y, MODELS, period=times), expected)


@pytest.mark.parametrize(
    "options", [{}, {"cluster": True}, {"period": True}, {"period": True, "method": "block bootstrap"}]
)
def test_ledgers_of_shards_give_the_same_answer(options):
    keys = RNG.integers(0, 40, N)
    names = {"cluster", "period"} & set(options)
    method = options.get("method", "diebold-mariano" if "period" in options else "auto")
    whole = compare(Y, MODELS, method=method, seed=3, **dict.fromkeys(names, keys))
    parts = []
    for shard in np.array_split(RNG.permutation(N), 4):
        own = dict.fromkeys(names, keys[shard])
        parts.append(pr.condense(Y[shard], {name: p[shard] for name, p in MODELS.items()}, **own))
    merged = compare(sum(parts), method=method, seed=3)
    assert_same(merged, whole, rtol=1e-8)
    assert str(merged) == str(whole)


def test_block_bootstrap_keeps_its_seed_and_its_draws():
    result = compare(Y, MODELS, period=np.arange(N), method="block bootstrap", n_resamples=499)
    again = compare(
        Y,
        MODELS,
        period=np.arange(N),
        method="block bootstrap",
        n_resamples=499,
        seed=result.differences[0].extra["seed"],
    )
    assert_same(result, again)
    assert result.differences[0].extra["n_resamples"] == 499
    assert all(np.isnan(df) for df in result.differences.extra["df"])
    assert result.differences[0].method == "block bootstrap (499 draws of blocks of 26 periods)"
    assert "seed" not in compare(Y, MODELS).differences[0].extra
    plain = compare(Y, MODELS)  # Cases are independent, so it says about the same.
    np.testing.assert_allclose(
        result.differences.high - result.differences.low, plain.differences.high - plain.differences.low, rtol=0.5
    )


def test_a_reference_turns_the_pairs_to_it():
    every, chosen = compare(Y, MODELS), compare(Y, MODELS, reference="near")
    assert list(zip(chosen.differences.model, chosen.differences.against, strict=True)) == [
        ("truth", "near"),
        ("far", "near"),
    ]
    assert chosen.differences.value.tolist() == [every.differences.value[0], -every.differences.value[2]]
    assert [chosen.differences.low[1], chosen.differences.high[1]] == [
        -every.differences.high[2],
        -every.differences.low[2],
    ]
    assert chosen.differences.p[1] == every.differences.p[2]
    assert chosen.differences.p_adjusted[1] == 2 * every.differences.p[2]


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(2, 60))
def test_ranks_and_verdicts_follow_from_the_tests(seed, count, n):
    generator = np.random.default_rng(seed)
    p = generator.random(n)
    y = generator.random(n) < p
    models = {f"m{k}": np.clip(p + generator.normal(0, 0.2 * k, n), 0, 1) for k in range(count)}
    result = compare(y, models)
    ranked = result.ranks()
    assert sorted(ranked.model) == sorted(models)
    assert (np.diff(ranked.value) >= 0).all()
    assert (ranked.extra["best_rank"] <= ranked.extra["rank"]).all()
    assert (ranked.extra["rank"] <= ranked.extra["worst_rank"]).all()
    better = {(a, b): a for a, b in itertools.combinations(models, 2)}
    for row in result.differences:
        assert (row.verdict in {"good", "bad", "small"}) == (row.p_adjusted <= 0.05)
        better[row.model, row.against] = {1: row.model, -1: row.against, 0: None}[lead(row)]
    for model, best, worst in zip(ranked.model, ranked.extra["best_rank"], ranked.extra["worst_rank"], strict=True):
        wins = sum(winner == model for winner in better.values())
        losses = sum(model in pair and winner not in (model, None) for pair, winner in better.items())
        assert (best, worst) == (1 + losses, count - wins)


def test_standings_tell_scores_with_their_own_intervals():
    result = compare(Y, MODELS)
    ranked = result.ranks()
    row = ranked.model.tolist().index("far")
    losses = pr.case_scores(Y, FAR, rule=pr.Brier())
    alone = pr.estimate(Y, FAR)
    assert ranked.value[row] == pytest.approx(float(pr.brier_score(Y, FAR)))
    assert [ranked.low[row], ranked.high[row]] == pytest.approx([alone.low, alone.high])
    assert ranked.error[row] == pytest.approx(stats.sem(losses))
    assert standing_in_words(list(result.differences), "far") == "worse than truth and near"
    assert ranked.extra["rank"].tolist() == [1, 2, 3]
    assert ranked.extra["worst_rank"].tolist()[:2] == [2, 2]


def test_models_that_score_the_same():
    result = compare(Y, {"a": NEAR, "b": NEAR.copy(), "c": FAR})
    assert result.differences.verdict.tolist() == ["no error found", "good", "good"]
    assert codes(result) == [["same"], [], []]
    assert (
        result.differences.value[0],
        result.differences.low[0],
        result.differences.high[0],
        result.differences.p[0],
    ) == (0.0, 0.0, 0.0, 1.0)
    assert comparison_words(result)[0] == "a and b have the same score in every case."
    assert result.differences.p_adjusted[0] == 1.0
    assert result.differences.p_adjusted[1] == 2 * result.differences.p[1]  # Two pairs are tested.
    assert comparison_words(result)[-1].endswith("adjusted for 2 pairs.")
    assert result.ranks().extra["rank"].tolist() == [1, 1, 3]
    assert standing_in_words(list(result.differences), "a") == "better than c; the same as b"


@pytest.mark.parametrize("method", ["diebold-mariano", "block bootstrap"])
def test_models_that_score_the_same_in_time(method):
    result = compare(Y, {"a": NEAR, "b": NEAR}, period=np.arange(N), method=method, n_resamples=99, seed=1)
    assert (result.differences.verdict.tolist(), codes(result)) == (["no error found"], [["same"]])
    assert result.differences.p[0] == 1.0


def test_rounding_is_no_difference():
    result = compare(Y, {"a": NEAR, "b": NEAR * (1 + 2e-16)})
    assert codes(result) == [["same"]]
    assert result.differences.value[0] == 0.0


def test_a_constant_difference_is_not_tested():
    result = compare([0] * 7, {"a": [0.3] * 7, "b": [0.4] * 7})
    assert result.differences.value[0] == pytest.approx(-0.07)
    row = result.differences[0]
    assert np.isnan([row.low, row.high, row.extra["t"], row.p]).all()
    assert (row.verdict, codes(result)) == ("not tested", [["one-outcome"]])
    assert np.isnan(result.ranks().low).all()
    assert result.ranks().extra["worst_rank"].tolist() == [2, 2]
    assert comparison_words(result)[0] == (
        "a has a 0.070 lower Brier score than b; with no event the difference cannot be tested."
    )
    classes = np.eye(3)[[0, 1, 2]]
    flat = compare([0, 1, 2], {"a": classes, "b": classes * 0.7 + 0.1})
    assert flat.differences.error[0] == 0.0
    assert (flat.differences.verdict.tolist(), codes(flat)) == (["not tested"], [["no-spread"]])
    assert "the same in every case" in str(flat)


def test_tiny_differences_keep_their_digits():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.1, 0.9, 200)
    y = rng.random(200) < p
    said = comparison_words(compare(y, {"a": p, "b": p + 1e-11}))[0]
    assert re.search(r"is -?\d\.\de-\d+, 95% CI -\d\.\de-\d+ to \d\.\de-\d+\.", said), said


def test_one_case_and_one_cluster():
    result = compare([1], {"a": [0.3], "b": [0.4]})
    assert (result.differences.verdict.tolist(), codes(result)) == (["not tested"], [["one-unit"]])
    assert np.isnan(result.differences.p[0])
    assert str(result).endswith("; one case is too few to test the difference.\nNo test on 1 case.")
    clustered = compare([1, 0, 1], {"a": [0.3, 0.2, 0.6], "b": [0.4, 0.1, 0.5]}, cluster=[0, 0, 0])
    assert comparison_words(clustered)[-1] == "No test on 3 cases in 1 cluster."
    assert standing_in_words(list(result.differences), "b") == "not tested against a"
    assert codes(compare([1], {"a": [0.3], "b": [0.3]})) == [["same"]]
    together = compare(Y, MODELS, cluster=np.zeros(N))
    assert codes(together) == [["one-unit"]] * 3


def test_infinite_losses_are_said_and_not_tested():
    sure = np.where(Y & (np.arange(N) % 50 == 0), 0.0, NEAR)
    assert (Y & (sure == 0.0)).any()
    result = compare(Y, {"near": NEAR, "sure": sure, "surer": sure, "far": FAR}, pr.Log())
    told = {(row.model, row.against): row for row in result.differences}
    assert all(told[names].note("infinite") for names in (("near", "sure"), ("sure", "surer")))
    assert (told["near", "sure"].verdict, told["near", "far"].verdict) == ("not tested", "good")
    assert result.differences.value[0] == -np.inf
    assert np.isnan(result.differences.p[0])
    # The one pair that is tested is not adjusted for the others.
    assert result.differences.p_adjusted[2] == result.differences.p[2]
    assert "sure has an infinite log score and near does not, so the difference cannot be tested." in str(result)
    ranked = result.ranks()
    assert ranked.model.tolist() == ["near", "far", "sure", "surer"]
    assert ranked.extra["rank"].tolist() == [1, 2, 3, 3]
    assert ranked.value[2:].tolist() == [np.inf, np.inf]
    for method in ("diebold-mariano", "block bootstrap"):
        timed = compare(Y, {"near": NEAR, "sure": sure}, pr.Log(), period=np.arange(N), method=method, n_resamples=99)
        assert codes(timed) == [["infinite"]]


def test_the_words_of_a_comparison():
    result = compare(Y, MODELS)
    low, high = -result.differences.high[1], -result.differences.low[1]
    assert str(result).splitlines()[:2] == [
        "truth  Brier score  0.174 (0.154 to 0.195)",
        "near   Brier score  0.172 (0.153 to 0.193)",
    ]
    lines = str(result).splitlines()[3:]
    assert lines == comparison_words(result)
    assert len(lines) == 5
    assert lines[0].startswith(
        "truth and near are not shown to differ: the difference in Brier score is 0.0013, 95% CI -0.000"
    )
    assert lines[1] == (
        f"truth is better than far: its Brier score is {-result.differences.value[1]:.3f} lower, 95% CI {low:.3f} to {high:.3f}."
    )
    assert lines[3] == "To plan a study that can distinguish models, see propriety.plan."
    assert lines[4] == "Paired t test with imagined outcomes on 400 cases; verdicts adjusted for 3 pairs."


def test_many_pairs_are_told_model_by_model():
    models = MODELS | {"half": np.full(N, 0.5), "third": np.full(N, 1 / 3)}
    lines = comparison_words(compare(Y, models))
    assert len(lines) == 7
    assert lines[-3] == "half (ranks 4 to 5): worse than truth, near and third; not shown to differ from far."


@pytest.mark.parametrize(
    ("rule", "words"),
    [(pr.Brier(), ""), (pr.ShiftedBrier(0.2, weighted=False), "is not proper: "), (None, "is not declared proper; ")],
    ids=["proper", "improper", "silent"],
)
def test_a_rule_that_is_not_proper_is_warned_of(rule, words):
    class Absolute(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return abs(p - event)

    result = compare(Y, MODELS, rule or Absolute())
    assert words in notes_of(result.differences[0])
    assert bool(notes_of(result.differences[0])) == bool(words)
    assert str(result).endswith(notes_of(result.differences[0]))


def test_classes_and_ordered_classes():
    rows = RNG.dirichlet([2, 1, 1], (2, 200))
    y = np.array([RNG.choice(3, p=row) for row in rows[0]])
    for rule in (pr.Brier(), pr.Log(), pr.RankedProbability(), pr.PenalizedBrier()):
        result = compare(y, {"a": rows[0], "b": rows[1]}, rule)
        one, other = (pr.case_scores(y, p, rule=rule) for p in rows)
        assert result.differences.p[0] == pytest.approx(stats.ttest_rel(one, other).pvalue, rel=1e-7)
    improper = compare(y, {"a": rows[0], "b": rows[1]}, pr.SquaredAbsoluteRankedProbability())
    assert "is not proper" in notes_of(improper.differences[0])
    two = {name: p[:, :2] / p[:, :2].sum(axis=1, keepdims=True) for name, p in (("a", rows[0]), ("b", rows[1]))}
    assert not notes_of(compare(y % 2, two, pr.SquaredAbsoluteRankedProbability()).differences[0])
    named = compare(np.array(["x", "y", "z"])[y], {"a": rows[0], "b": rows[1]}, labels=["x", "y", "z"])
    assert_same(named, compare(y, {"a": rows[0], "b": rows[1]}))


def test_one_class_says_nothing_of_the_others_so_that_there_is_no_test():
    generator = np.random.default_rng(1)
    forecasts = {"a": generator.dirichlet(np.ones(3), 200), "b": generator.dirichlet([3.0, 1.0, 1.0], 200)}
    for options in ({}, {"cluster": np.arange(200) // 2}, {"period": np.arange(200)}):
        found = compare(np.zeros(200, dtype=int), forecasts, pr.Log(), **options)
        assert found.differences.verdict.tolist() == ["not tested"]
        assert np.isnan([found.differences.p, found.differences.low, found.differences.high]).all()
        assert codes(found) == [["one-outcome"]]
        assert "with no case of another class the difference cannot be tested." in str(found)


def test_weights_and_dropped_rows():
    weight = RNG.random(N)
    assert_same(compare(Y, MODELS, sample_weight=5 * weight), compare(Y, MODELS, sample_weight=weight), rtol=1e-8)
    holes = np.where(np.arange(N) % 10 == 0, np.nan, FAR)
    kept = ~np.isnan(holes)
    result = compare(Y, MODELS | {"far": holes}, missing="drop", cluster=np.arange(N) % 30)
    expected = compare(Y[kept], {name: p[kept] for name, p in MODELS.items()}, cluster=(np.arange(N) % 30)[kept])
    assert_same(result, expected)
    assert result.dropped == 40
    with pytest.raises(MissingValuesError):
        compare(Y, MODELS | {"far": holes})


def test_indices_of_clusters_and_times_are_compared_with_the_forecasts():
    models = {"a": pd.Series(TRUTH, index=np.arange(N)[::-1]), "b": FAR}
    for argument in ("cluster", "period"):
        with pytest.raises(InputValueError, match=f"the forecasts and {argument} carry different indices"):
            compare(Y, models, **{argument: pd.Series(np.arange(N))})
    with pytest.raises(InputValueError, match="the forecasts and by carry different indices"):
        pr.condense(Y, models, by=pd.Series(np.arange(N)))


def test_differences_within_rounding_are_none():
    # The losses of the two swap places, so that their means are equal but for the order of summation.
    y = np.tile([1, 0, 0, 0, 0, 1], 50)
    p = RNG.random(300)
    result = compare(y, {"a": p, "b": p[::-1]})
    assert differences(one=p, other=p[::-1], y=y).std() > 0.1
    assert (result.differences.value[0], result.differences.extra["t"][0]) == (0.0, 0.0)
    assert result.differences.p[0] == 1.0
    assert result.differences.low[0] < 0.0 < result.differences.high[0]
    said = comparison_words(result)[0]
    assert said.startswith("a and b are not shown to differ: the difference in Brier score is 0.000, 95% CI ")


def test_few_clusters_and_events_are_told():
    assert notes_of(compare(Y, MODELS).differences[0]) == ""
    told = "Based on 19 clusters: intervals may be too narrow."
    clustered = compare(Y, MODELS, cluster=np.arange(N) % 19)
    assert notes_of(clustered.differences[0]) == told
    assert str(clustered).endswith(f"\n{told}")
    assert notes_of(compare(pr.condense(Y, MODELS, cluster=np.arange(N) % 19)).differences[0]) == told
    rare = np.arange(N) < 7
    assert notes_of(compare(rare, MODELS).differences[0]) == "Based on 7 events: intervals may be too narrow."
    weight = np.where(Y, 1.0, np.arange(N) < 12)
    few = int((weight[~Y] > 0.0).sum())
    assert f"Based on {few} non-events:" in notes_of(compare(Y, MODELS, sample_weight=weight).differences[0])
    # Times are not clusters, identical models are not tested, and the warnings of a rule stay.
    assert notes_of(compare(Y, MODELS, period=np.arange(N) % 20).differences[0]) == ""
    assert codes(compare(rare, {"a": TRUTH, "b": TRUTH})) == [["same"]]
    both = notes_of(compare(rare, MODELS, pr.ShiftedBrier(0.2, weighted=False)).differences[0])
    assert both.endswith("lower need not mean better. Based on 7 events: intervals may be too narrow.")


def test_a_seed_is_judged_even_where_nothing_is_drawn():
    with pytest.raises(InputValueError, match="seed must be a non-negative whole number"):
        compare(Y, MODELS, seed=-1)
    assert "seed" not in compare(Y, MODELS, seed=1).extra


def test_frames_dicts_and_views():
    result = compare(Y, MODELS)
    frame = result.to_frame(backend="pandas")
    assert {"model", "against", *COLUMNS, "n", "verdict", "t", "df"} <= set(frame.columns)
    assert frame["n"].tolist() == [N] * 6
    plain = result.to_dict()
    assert plain["against"] == [None, None, None, "near", "far", "far"]
    assert plain["measure"] == ["brier"] * 6
    assert repr(result) == "Findings(rows=6, models=['truth', 'near', 'far'], measures=['brier'])"
    assert ">truth</td>" in result._repr_html_()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"cluster": Y, "period": Y},
            InputValueError,
            "cluster= or period=, not both. Hint: pass only cluster= to allow",
        ),
        (
            {"method": "cluster"},
            InputValueError,
            "method='cluster' is for cases in clusters; neither cluster= nor period= is given",
        ),
        (
            {"method": "diebold-mariano", "cluster": Y},
            InputValueError,
            "is for cases in periods; the cases are in clusters",
        ),
        (
            {"method": "paired t", "period": range(N)},
            InputValueError,
            "is for independent cases; the cases are in periods",
        ),
        ({"method": "t"}, InputValueError, "method must be one of"),
        ({"method": ["cluster"]}, InputValueError, "method must be one of"),
        ({"horizon": 2}, InputValueError, "horizon is for method=\"diebold-mariano\"; the method is 'paired t'"),
        ({"horizon": 2, "period": range(N), "method": "block bootstrap"}, InputValueError, "horizon is for"),
        ({"horizon": N, "period": range(N)}, InputValueError, "horizon must be a whole number from 1 to"),
        ({"period": ["1/2/2024"] * N}, InputTypeError, "period must hold numbers or dates; '1/2/2024' is text"),
        ({"reference": "none"}, InputValueError, r'reference must be one of "truth", "near", "far"'),
        ({"level": 1.0}, InputValueError, "level must lie strictly between 0 and 1"),
        ({"n_resamples": 0}, InputValueError, "n_resamples must be a positive whole number"),
        (
            {"measure": 3.0},
            InputTypeError,
            "measure must be a rule, a measure or a function of a ForecastTable; got float",
        ),
        ({"cluster": [1, 2]}, InputValueError, "cluster must have one entry per case"),
    ],
    ids=[
        *("both", "no-cluster", "no-time", "surplus", "method", "list", "horizon", "bootstrap", "far", "text"),
        *("reference", "level", "draws", "rule", "length"),
    ],
)
def test_what_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        compare(Y, MODELS, **options)


def test_models_that_cannot_be_compared():
    with pytest.raises(InputValueError, match="two models or more; got 1"):
        compare(Y, {"a": TRUTH})
    with pytest.raises(InputValueError, match="two models or more; got 1"):
        compare(pr.condense(Y, {"a": TRUTH}))
    keyed = compare(pr.condense(Y, MODELS, by={"group": Y}))  # All groups together.
    assert_same(keyed, compare(Y, MODELS))

    class Broken(pr.BinaryRule):
        def loss(self, p, *, event, ops=None):
            return np.where(p > 0.5, np.nan, p)

    with pytest.raises(InputValueError, match=r"Broken\(\) must return numbers; its loss of some case is NaN"):
        compare(Y, MODELS, Broken())


@pytest.mark.parametrize("measure", [pr.Brier(), pr.measures.AreaUnderRoc(), pr.measures.Skill(pr.Brier())])
def test_models_are_not_compared_by_the_weight_of_one_case(measure):
    rng = np.random.default_rng(61)
    y, weight = rng.integers(0, 2, 200), np.ones(200)
    weight[0] = 800.0
    found = pr.compare(y, {"a": rng.random(200), "b": rng.random(200)}, measure, sample_weight=weight)
    assert found.differences.verdict[0] == "not tested"
    assert np.isnan([found.differences.low[0], found.differences.p[0]]).all()
    assert "worth fewer than 3 of equal weight, too few for a test" in notes_of(found.differences[0])
