"""All arguments that carry a pandas index are compared with one another, so that misaligned rows are refused."""

import numpy as np
import pandas as pd
import pytest

import propriety as pr
from propriety.errors import InputValueError
from propriety.recalibration import IdentityMap, SegmentEffect, SegmentMap

N = 120
RNG = np.random.default_rng(0)
P = RNG.random(N)
Q = np.clip(P + 0.1 * RNG.normal(size=N), 0.0, 1.0)
Y = (RNG.random(N) < P).astype(int)
NUMBER = RNG.random(N)
CLUSTER = np.arange(N) % 20
WEIGHT = 1.0 + CLUSTER
FOLLOW_UP = pr.censored(CLUSTER + 1.0, Y, horizons=5.0)
SEGMENTS = SegmentMap(whole=IdentityMap(), effects=(SegmentEffect((("site", 1),), 0.3),), floor=1e-6)


def rows(values):
    """Return a column with the index of the first rows."""
    return pd.Series(values)


def other(values):
    """Return a column whose index is in another order."""
    return pd.Series(values, index=np.arange(N)[::-1])


AURC = pr.measures.AreaUnderRiskCoverage()
DRAWS = {"n_resamples": 60, "seed": 1}
OF_PRODUCTS = {
    **dict.fromkeys(("find_segments", "find_segments, columns"), "segments"),
    "monitor": "monitoring",
}


def marked(calls):
    """Return the calls as parameters, those of products with their mark."""
    return [
        pytest.param(call, id=name, marks=pytest.mark.product(OF_PRODUCTS.get(name, "")))
        for name, call in calls.items()
    ]


MISALIGNED = {
    "outcomes by model, answers": lambda: pr.compare({"a": rows(Y), "b": other(Y)}, {"a": P, "b": Q}, AURC),
    "outcomes by model, confidences": lambda: pr.compare({"a": Y, "b": Y}, {"a": rows(P), "b": other(Q)}, AURC),
    "outcomes by model, models": lambda: pr.compare({"a": rows(Y), "b": other(Y)}, {"a": rows(P), "b": other(Q)}, AURC),
    "outcomes by model, cluster": lambda: pr.compare(
        {"a": rows(Y), "b": Y}, {"a": P, "b": Q}, AURC, cluster=other(CLUSTER)
    ),
    "outcomes by model, weights": lambda: pr.compare(
        {"a": Y, "b": Y}, {"a": P, "b": rows(Q)}, AURC, sample_weight=other(WEIGHT)
    ),
    "slices, keys": lambda: pr.slices(Y, P, by={"a": rows(CLUSTER % 2), "b": other(CLUSTER % 3)}, smallest=1),
    "slices, cluster": lambda: pr.slices(Y, P, by=rows(CLUSTER % 2), cluster=other(CLUSTER), smallest=1),
    "condense, keys": lambda: pr.condense(Y, P, by={"a": rows(CLUSTER % 2), "b": CLUSTER, "c": other(CLUSTER % 3)}),
    "condense, time": lambda: pr.condense(Y, P, by={"a": rows(CLUSTER % 2)}, period=other(CLUSTER)),
    "evaluate": lambda: pr.evaluate(Y, P, by=rows(CLUSTER % 2), cluster=other(CLUSTER), **DRAWS),
    "estimate": lambda: pr.estimate(Y, P, sample_weight=rows(WEIGHT), cluster=other(CLUSTER)),
    "censored outcomes": lambda: pr.slices(
        FOLLOW_UP, P, by={"a": rows(CLUSTER % 2), "b": other(CLUSTER % 2)}, smallest=1
    ),
    "find_segments": lambda: pr.find_segments(pr.cases(rows(Y), P, by={"a": other(NUMBER)}), **DRAWS),
    "find_segments, columns": lambda: pr.find_segments(
        pr.cases(Y, P, by={"a": rows(NUMBER), "b": other(NUMBER)}), **DRAWS
    ),
    "skill_score": lambda: pr.skill_score(Y, rows(P), rule=pr.Brier(), reference=other(Q)),
    "monitor": lambda: pr.monitor(Y, rows(P), period=other(NUMBER)),
    "quadratic_weighted_kappa": lambda: pr.quadratic_weighted_kappa(rows(Y), other((P > 0.5) * 1).to_frame()),
    "SegmentMap": lambda: SEGMENTS(rows(P), by={"site": other(CLUSTER % 2)}),
    "recalibrate": lambda: pr.recalibrate(Y, P, cluster=rows(CLUSTER), folds=other(CLUSTER % 5)),
}


@pytest.mark.parametrize("call", marked(MISALIGNED))
def test_misaligned_arguments_are_refused(call):
    with pytest.raises(InputValueError, match="carry different indices, so their rows may not belong together"):
        call()


ALIGNED = {
    "outcomes by model": lambda of: pr.compare(
        {"a": of(Y), "b": Y}, {"a": of(P), "b": Q}, AURC, cluster=of(CLUSTER), sample_weight=WEIGHT
    ),
    "slices": lambda of: pr.slices(Y, P, by={"a": of(CLUSTER % 2), "b": CLUSTER % 3}, smallest=1),
    "find_segments": lambda of: pr.find_segments(pr.cases(of(Y), P, by={"a": of(NUMBER), "b": CLUSTER}), **DRAWS),
    "skill_score": lambda of: pr.skill_score(Y, of(P), rule=pr.Brier(), reference=Q),
}


@pytest.mark.parametrize("call", marked(ALIGNED))
@pytest.mark.parametrize("of", [rows, other], ids=["first", "other"])
def test_a_series_may_stand_beside_arrays(call, of):
    assert str(call(of)) == str(call(np.asarray))
