"""Few events: verdicts keep their level, limits hold, planning has a range, and ledgers say what arrays say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logit

import propriety as pr
from propriety.inference.comparison_words import comparison_words
from propriety.inference.few_events import tail_of_skewed
from propriety.inference.finding_words import caveats, notes_of
from propriety.inference.verdict import lead

COLUMNS = ("value", "low", "high", "error", "p")


def rare_sample(seed, n=600, rate=0.01):
    """Return outcomes and two forecasts of the same expected Brier score: half of the truth, and half as much again."""
    generator = np.random.default_rng(seed)
    q = generator.beta(1, 1 / rate - 1, n)
    return generator.random(n) < q, {"half": q / 2, "more": 1.5 * q}


def test_tails_are_those_of_pearsons_law():
    z, skewness = np.array([-2.5, -1.0, 0.3, 2.0, 4.0]), np.array([0.3, -0.8, 1.5, -0.2, 2.0])
    law = stats.pearson3(skewness)
    np.testing.assert_allclose(tail_of_skewed(z, skewness), 2 * np.minimum(law.cdf(z), law.sf(z)), rtol=1e-9)
    assert tail_of_skewed(np.array([1.96]), np.array([1e-9]))[0] == pytest.approx(2 * stats.norm.sf(1.96), rel=2e-5)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(20, 300), st.sampled_from(["plain", "cluster", "period"]))
def test_verdict_and_interval_agree(seed, n, kind):
    y, models = rare_sample(seed, n, rate=0.05)
    sampling = {} if kind == "plain" else {kind: np.arange(n) // 2}
    found = pr.compare(y, models, **sampling)
    if not y.any():
        assert found.differences.verdict.tolist() == ["not tested"]
        return
    told = lead(found.differences[0]) != 0
    assert (
        told == (found.differences.p[0] <= 0.05) == (found.differences.low[0] > 0.0 or found.differences.high[0] < 0.0)
    )


def test_without_events_there_is_no_verdict():
    y, models = rare_sample(3)
    found = pr.compare(y * 0, models)
    assert found.differences[0].note("one-outcome").parts == {"number": 0, "outcome": "event"}
    assert np.isnan([found.differences.low[0], found.differences.high[0], found.differences.p[0]]).all()
    assert comparison_words(found)[0].endswith("; with no event the difference cannot be tested.")
    assert pr.compare(y * 0, {"a": models["half"], "b": models["half"]}).differences[0].note("same")


@pytest.mark.simulation
@pytest.mark.parametrize("events", [2, 4, 10, 20])
def test_few_events_are_seldom_called_better(events):
    """Student's t alone says "is better" in 25, 14, 10 and 7% of samples of two models of equal expected score."""
    told, of_t, samples = 0, 0, 400
    for seed in range(samples):
        y, models = rare_sample(seed, 100 * events)
        told += lead(pr.compare(y, models).differences[0]) != 0
        d = np.subtract(*((p - y) ** 2 for p in models.values()))
        of_t += stats.ttest_1samp(d, 0).pvalue <= 0.05
    assert told <= 0.06 * samples
    assert of_t > told


@pytest.mark.simulation
@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log()], ids=repr)
def test_means_of_rare_events_hold(rule):
    """Of 600 samples with 5 events t held 88 and 91%."""
    generator = np.random.default_rng(8)
    q = np.clip(generator.beta(1, 99, 10**6), 1e-6, None)
    truth = np.mean(q * rule.loss(q, event=True) + (1 - q) * rule.loss(q, event=False))
    held = samples = 0
    for _ in range(600):
        p = np.clip(generator.beta(1, 99, 500), 1e-6, None)
        y = generator.random(500) < p
        if y.any():
            found = pr.estimate(y, p, rule)
            assert found.low <= found.value <= found.high
            held, samples = held + (found.low <= truth <= found.high), samples + 1
    assert 0.94 * samples <= held


def test_the_standings_of_a_comparison_are_the_estimates():
    y, models = rare_sample(4)
    ranked = pr.compare(y, models).ranks()
    for place, model in enumerate(ranked.model):
        one = pr.estimate(y, models[model])
        assert (ranked.low[place], ranked.high[place]) == pytest.approx((one.low, one.high), rel=1e-9)


def test_rare_non_events_are_rare_events_turned_around():
    y, models = rare_sample(5)
    turned = {name: 1 - p for name, p in models.items()}
    one, other = pr.compare(y, models), pr.compare(~y, turned)
    for name in COLUMNS:
        np.testing.assert_allclose(getattr(other.differences, name), getattr(one.differences, name), rtol=1e-7)
    first, second = pr.estimate(y, models["half"]), pr.estimate(~y, turned["half"])
    assert (first.low, first.high) == pytest.approx((second.low, second.high), rel=1e-9)


@pytest.mark.simulation
def test_areas_of_few_events_hold():
    """DeLong's interval held 76 and 85% of the areas with 2 and 5 events; Welch's degrees of freedom help."""
    generator = np.random.default_rng(2)

    def draw(n):
        q = np.clip(generator.beta(1, 99, n), 1e-6, 1 - 1e-6)
        return generator.random(n) < q, {"a": expit(logit(q) + generator.normal(0, 1, n)), "b": q}

    many, forecasts = draw(10**6)
    truth = {name: pr.roc_curve(many, p).auc for name, p in forecasts.items()}
    held = {"a": 0, "difference": 0}
    samples = 0
    for _ in range(300):
        y, models = draw(500)
        if y.sum() < 2:
            continue
        samples += 1
        one, both = (
            pr.estimate(y, models["a"], pr.measures.AreaUnderRoc()),
            pr.compare(y, models, pr.measures.AreaUnderRoc()),
        )
        held["a"] += one.low <= truth["a"] <= one.high
        held["difference"] += both.differences.low[0] <= truth["a"] - truth["b"] <= both.differences.high[0]
        assert (y.sum() < 10) == ("event" in caveats(one)) == ("event" in notes_of(both.differences[0]))
    assert held["a"] >= 0.91 * samples
    assert held["difference"] >= 0.91 * samples


def test_undecided_pairs_report_the_interval_and_refer_to_planning():
    generator = np.random.default_rng(0)
    q = generator.beta(1, 3, 1000)
    y = generator.random(1000) < q
    found = pr.compare(y, {"a": q, "b": np.clip(q + 0.04, 0, 1)})
    assert found.differences.verdict[0] == "too few"
    first, second, *_ = comparison_words(found)
    assert "the difference in Brier score is" in first
    assert "power" not in first
    assert second == "To plan a study that can distinguish models, see propriety.plan."


@pytest.mark.parametrize("horizon", [100, 500, 2000])
def test_rare_events_in_time_are_told(horizon):
    """With an autocorrelation of 0.9 and 1% events intervals held 55, 74 and 86%."""
    generator = np.random.default_rng(6)
    noted = tested = 0
    for _ in range(10):
        z = np.zeros(horizon)
        for t in range(1, horizon):
            z[t] = 0.9 * z[t - 1] + np.sqrt(1 - 0.81) * generator.normal()
        p = stats.norm.cdf((z - 2.3263 * np.sqrt(2)) / 1.0)
        y = generator.random(horizon) < p
        if not y.any():
            continue
        found = pr.compare(y, {"p": p, "rate": np.full(horizon, 0.01)}, period=np.arange(horizon))
        tested += 1
        noted += "intervals may be too narrow" in notes_of(found.differences[0])
        assert "the interval may be too narrow" in caveats(pr.estimate(y, p, period=np.arange(horizon)))
    assert noted == tested > 0


def test_dependence_makes_events_worth_less():
    generator = np.random.default_rng(7)
    cluster = np.arange(20_000) // 200
    p = expit(generator.normal(-4, 2, 100))[cluster]
    y = generator.random(20_000) < p
    note = caveats(pr.estimate(y, np.full(20_000, y.mean()), cluster=cluster))
    assert y.sum() > 500
    assert f"based on {y.sum():,} events (worth " in note
    assert caveats(pr.estimate(y, p)) == ""


@pytest.mark.parametrize("rule", [pr.Brier(), pr.Log()], ids=repr)
@pytest.mark.parametrize("kind", ["plain", "weights", "clusters", "times"])
def test_a_ledger_says_what_arrays_say(kind, rule, tmp_path):
    y, models = rare_sample(21, 900)
    assert 3 < y.sum() < 20
    options = {
        "plain": {},
        "weights": {"sample_weight": np.arange(900) % 3 + 0.5},
        "clusters": {"cluster": np.arange(900) // 7},
        "times": {"period": np.arange(900)},
    }[kind]
    expected = pr.compare(y, models, rule, **options)
    day = np.arange(900) % 2
    parts = [
        pr.condense(
            y[day == one],
            {name: p[day == one] for name, p in models.items()},
            rules=[rule],
            **{name: column[day == one] for name, column in options.items()},
        )
        for one in range(2)
    ]
    sum(parts).to_parquet(tmp_path / "ledger")
    stored = pr.Ledger.from_parquet(tmp_path / "ledger")
    found = pr.compare(stored, measure=rule)
    for name in COLUMNS:
        np.testing.assert_allclose(getattr(found.differences, name), getattr(expected.differences, name), rtol=1e-8)
    assert (found.differences.verdict.tolist(), notes_of(found.differences[0])) == (
        expected.differences.verdict.tolist(),
        notes_of(expected.differences[0]),
    )
    if kind != "times":
        estimated, stored_estimate = pr.estimate(y, models["half"], rule, **options), pr.estimate(stored, "half", rule)
        assert (stored_estimate.low, stored_estimate.high) == pytest.approx((estimated.low, estimated.high), rel=1e-9)
