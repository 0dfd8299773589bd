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
    "brier_skill": pr.Skill(),
    "log_skill": pr.Skill(pr.Log()),
    "net_benefit_at_0.3": pr.NetBenefit(0.3),
    "auc": pr.AreaUnderRoc(),
}


def assert_before(name, found):
    np.testing.assert_allclose(found, BEFORE[name], rtol=1e-12, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("kind", SAMPLING)
@pytest.mark.parametrize("name", MEASURES)
def test_estimates(name, kind):
    found = pr.estimate(Y, P, MEASURES[name], level=0.9, **SAMPLING[kind])
    assert found.measure.key == name
    assert_before(f"estimate {name} {kind}", [found.value, found.low, found.high, found.standard_error])


@pytest.mark.parametrize("kind", SAMPLING)
@pytest.mark.parametrize("name", ["brier", "log", "auc"])
def test_comparisons(name, kind):
    found = pr.compare(Y, MODELS, MEASURES[name], **SAMPLING[kind])
    columns = ["difference", "low", "high", "standard_error", "p_value", *(["needed"] if name != "auc" else [])]
    assert_before(f"compare {name} {kind}", [getattr(found, column)[0] for column in columns])


@pytest.mark.parametrize("horizon", [None, 3])
def test_comparisons_over_time(horizon):
    found = pr.compare(Y, MODELS, time=K // 2, horizon=horizon)
    columns = ("difference", "low", "high", "standard_error", "p_value", "df")
    assert_before(f"compare over time {horizon}", [getattr(found, column)[0] for column in columns])


@pytest.mark.parametrize("kind", SAMPLING)
def test_groups(kind):
    found = pr.slices(Y, P, by=GROUP, threshold=0.3, **SAMPLING[kind])
    for name in BEFORE:
        what, _, column = name.partition(" ")
        column, _, of = column.rpartition(" ")
        if what == "slices" and of == kind:
            assert_before(name, getattr(found, column))


def test_moments():
    moments = pr.condense(Y, MODELS, cluster=CLUSTER, sample_weight=WEIGHT).moments(pr.Brier())
    counts = [moments.weight.sum(), moments.weight_squares.sum(), moments.cases, moments.units]
    means, errors, known = BEFORE["moments"]
    np.testing.assert_allclose(moments.means, means, rtol=1e-12)
    np.testing.assert_allclose(moments.standard_errors(), errors, rtol=1e-12)
    np.testing.assert_allclose(counts, known, rtol=1e-12)


def test_every_number_is_looked_at():
    asked = {f"estimate {name} {kind}" for name in MEASURES for kind in SAMPLING}
    asked |= {f"compare {name} {kind}" for name in ("brier", "log", "auc") for kind in SAMPLING}
    asked |= {"compare over time None", "compare over time 3", "moments"}
    assert set(BEFORE) - asked == {name for name in BEFORE if name.startswith("slices ")}
