"""The law of pairs: interval and test agree, models mirror, and limits are those of the definition."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

import propriety as pr
from propriety.inference.imagined import Imagined
from propriety.inference.pair_limits import PairLaw, Seen

sizes = st.floats(1e-2, 10.0)


@given(
    st.floats(-3.0, 3.0),
    *(sizes, sizes, sizes),
    *(st.floats(-5.0, 5.0) for _ in range(4)),
    st.sampled_from([4.0, 25.0, 999.0]),
)
def test_interval_and_test_agree(value, error, alone, deviation, third, of_units, skewness, away, df):
    seen = Seen(*map(np.array, (value, error, df, alone**2, third, of_units)))
    imagined = Imagined(*map(np.array, (away * deviation, deviation**2, skewness * deviation**3)))
    law = PairLaw.of(seen, imagined)
    low, high = law.limits(0.95)
    assert low <= value <= high
    if min(abs(low), abs(high)) > 1e-9:
        assert (low > 0 or high < 0) == (law.p_value() < 0.05)
    mirrored = PairLaw.of(
        seen._replace(value=-seen.value, third=-seen.third, third_of_units=-seen.third_of_units),
        Imagined(-imagined.centre, imagined.variance, -imagined.third),
    )
    np.testing.assert_allclose(mirrored.limits(0.95), (-high, -low), rtol=1e-9, atol=1e-9)


def drawn(seed, n=300):
    generator = np.random.default_rng(seed)
    x = generator.normal(-2.5, 1.2, n)
    models = {"a": expit(x), "b": expit(x + generator.normal(0.0, 0.6, n))}
    return generator, generator.random(n) < models["a"], models


MEASURES = ("brier", "log", "regret_at_0.1", "net_benefit_from_0.05_to_0.2", "brier_skill", "observed_expected", "auc")


@pytest.mark.parametrize("how", ["plain", "weights", "cluster", "period"])
@pytest.mark.parametrize("measure", MEASURES)
def test_models_mirror_and_intervals_agree_with_tests(measure, how):
    for seed in range(3):
        generator, y, models = drawn(seed)
        options = {
            "plain": {},
            "weights": {"sample_weight": generator.gamma(1.0, size=len(y))},
            "cluster": {"cluster": generator.integers(0, 40, len(y))},
            "period": {"period": np.arange(len(y)) // 6},
        }[how]
        found = pr.compare(y, models, measure, **options)
        turned = pr.compare(y, dict(reversed(models.items())), measure, **options)
        np.testing.assert_allclose(
            (found.differences.low, found.differences.high),
            (-turned.differences.high, -turned.differences.low),
            rtol=1e-7,
        )
        np.testing.assert_allclose(found.differences.p, turned.differences.p, rtol=1e-6)
        excludes = (found.differences.low > 0) | (found.differences.high < 0)
        assert (excludes == (found.differences.p < 0.05)).all()


def test_models_that_decide_alike_have_limits_of_what_could_differ():
    generator = np.random.default_rng(1)
    p = np.where(generator.random(200) < 0.5, 0.2, 0.8)
    found = pr.compare(generator.random(200) < p, {"a": p, "b": p**1.01}, pr.measures.NetBenefit(0.5))
    assert (found.differences[0].verdict, bool(found.differences[0].note("same"))) == ("too few", True)
    assert found.differences.low[0] == pytest.approx(-1.96 / 200, rel=0.02)
    assert found.differences.high[0] == -found.differences.low[0]
    assert pr.compare(generator.random(200) < p, {"a": p, "b": p}).differences.high[0] == 0.0


def test_the_cited_tests_stay_beside_it():
    _, y, models = drawn(4)
    plain = pr.compare(y, models, method="paired t")
    gaps = np.subtract(*(pr.case_scores(y, p, rule=pr.Brier()) for p in models.values()))
    error = gaps.std(ddof=1) / np.sqrt(len(y))
    assert plain.differences.error[0] == pytest.approx(error)
    np.testing.assert_allclose(plain.differences.p, pr.compare(y, models, method="student").differences.p)
    few = slice(0, 60)
    own = {name: p[few] for name, p in models.items()}
    pairs = [pr.compare(y[few], own, method=method).differences[0] for method in ("auto", "student")]
    limits = [(pair.low, pair.high) for pair in pairs]
    assert limits[0] != limits[1]


def test_few_events_seldom_make_a_model_better():
    """Two models of the same expected Brier score: half of the truth, and half as much again."""
    called = {"auto": 0, "student": 0}
    for seed, method in itertools.product(range(300), called):
        generator = np.random.default_rng(seed)
        q = generator.beta(1, 99, 400)
        y = generator.random(400) < q
        if y.any():
            called[method] += bool(
                pr.compare(y, {"half": q / 2, "more": 1.5 * q}, method=method).differences.p[0] <= 0.05
            )
    assert called["auto"] <= 0.065 * 300 + 8
    assert called["student"] > called["auto"]
