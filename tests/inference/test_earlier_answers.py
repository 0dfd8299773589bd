"""What was said before there were ledgers is said still: the numbers of revision 37b4cd8, made by its own functions."""

import json
from pathlib import Path

import numpy as np
import pytest

import propriety as pr

BEFORE = json.loads(Path(__file__).with_name("earlier_answers.json").read_text(encoding="utf-8"))
K = np.arange(240)
P, Q = (K * 37 % 101 + 1) / 103, (K * 53 % 89 + 1) / 91
Y = (K * 61 % 97) / 97 < 0.2 + 0.6 * P
WEIGHT, CLUSTER, GROUP = (K * 7 % 5 + 1) / 2, K * 11 % 30, K % 3
MODELS = {"p": P, "q": Q}
SAMPLING = {
    "plain": {},
    "weights": {"sample_weight": WEIGHT},
    "clusters": {"cluster": CLUSTER},
    "both": {"sample_weight": WEIGHT, "cluster": CLUSTER},
}
MEASURES = {
    "brier": pr.Brier(),
    "log": pr.Log(),
    "bounded_brier": pr.BoundedBrier(0.2, 0.4),
    "spherical": pr.Spherical(),
    "brier_skill": pr.measures.Skill(),
    "log_skill": pr.measures.Skill(pr.Log()),
    "net_benefit_at_0.3": pr.measures.NetBenefit(0.3),
    "auc": pr.measures.AreaUnderRoc(),
}


def assert_before(name, found):
    # SciPy's quantiles of Student's t changed by some 1e-11 between versions.
    np.testing.assert_allclose(found, BEFORE[name], rtol=2e-10, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("kind", SAMPLING)
@pytest.mark.parametrize("name", MEASURES)
def test_estimates(name, kind):
    found = pr.estimate(Y, P, MEASURES[name], level=0.9, **SAMPLING[kind])
    assert found.measure.key == name
    value, low, high, error = BEFORE[f"estimate {name} {kind}"]
    assert found.value == pytest.approx(value, rel=2e-10, abs=1e-14)
    if kind == "both":  # Clusters of unequal weight have larger errors now, with fewer degrees of freedom.
        assert found.high - found.low > 0.98 * (high - low)
        return
    if name == "net_benefit_at_0.3" and kind == "plain":  # One event and one non-event are added now.
        np.testing.assert_allclose([found.low, found.high, found.standard_error], [low, high, error], rtol=0.02)
        return
    assert found.standard_error == pytest.approx(error, rel=2e-10)
    if name == "auc" and kind in ("plain", "weights"):  # Student's t with Welch's degrees of freedom, no normal law.
        assert low - 0.002 < found.low < low < high < found.high < high + 0.002
        return
    np.testing.assert_allclose([found.low, found.high], [low, high], rtol=2e-10, atol=1e-14)


@pytest.mark.parametrize("kind", SAMPLING)
@pytest.mark.parametrize("name", ["brier", "log", "auc"])
def test_comparisons(name, kind):
    found = pr.compare(Y, MODELS, MEASURES[name], **SAMPLING[kind])
    columns = ["difference", "low", "high", "standard_error", "p_value"]
    now, before = {column: getattr(found, column)[0] for column in columns}, BEFORE[f"compare {name} {kind}"]
    assert now["difference"] == pytest.approx(before[0], rel=2e-10)
    if kind == "both":  # As above.
        assert now["high"] - now["low"] > 0.98 * (before[2] - before[1])
        return
    if name == "auc" and kind in ("plain", "weights"):
        assert now["standard_error"] == pytest.approx(before[3], rel=2e-10)
        assert before[4] < now["p_value"] < 1.5 * before[4]
        return
    np.testing.assert_allclose(list(now.values()), before[: len(columns)], rtol=2e-10, atol=1e-14)


@pytest.mark.parametrize("horizon", [None, 3])
def test_comparisons_over_time(horizon):
    found = pr.compare(Y, MODELS, time=K // 2, horizon=horizon)
    columns = ("difference", "low", "high", "standard_error", "p_value", "df")
    assert_before(f"compare over time {horizon}", [getattr(found, column)[0] for column in columns])


@pytest.mark.parametrize("kind", SAMPLING)
def test_groups(kind):
    found = pr.slices(Y, P, by=GROUP, thresholds=0.3, **SAMPLING[kind])
    for name in BEFORE:
        what, _, column = name.partition(" ")
        column, _, of = column.rpartition(" ")
        if what != "slices" or of != kind:
            continue
        if "cluster" in SAMPLING[kind] and column.endswith(("low", "high", "p_value", "p_adjusted")):
            assert np.isfinite(getattr(found, column)).all()  # Errors of unequal clusters are others now.
        elif column == "net_benefit_high" and kind == "plain":  # As above.
            np.testing.assert_allclose(getattr(found, column), BEFORE[name], rtol=0.03)
        else:
            assert_before(name, getattr(found, column))


def test_moments():
    moments = pr.condense(Y, MODELS, cluster=CLUSTER, sample_weight=WEIGHT).moments(pr.Brier())
    counts = [moments.weight.sum(), moments.weight_squares.sum(), moments.cases, moments.units]
    means, _, known = BEFORE["moments"]  # The errors of clusters are others now.
    np.testing.assert_allclose(moments.means, means, rtol=1e-12)
    np.testing.assert_allclose(counts, known, rtol=1e-12)


def test_every_number_is_looked_at():
    asked = {f"estimate {name} {kind}" for name in MEASURES for kind in SAMPLING}
    asked |= {f"compare {name} {kind}" for name in ("brier", "log", "auc") for kind in SAMPLING}
    asked |= {"compare over time None", "compare over time 3", "moments"}
    assert set(BEFORE) - asked == {name for name in BEFORE if name.startswith("slices ")}
