"""The verdict on calibration is the same from arrays, from every engine, and from a ledger, to the last word."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

import propriety as pr

RNG = np.random.default_rng(51)
N = 1200
TRUTH = np.round(RNG.beta(1, 2, N), 3).clip(0.001, 0.999)
SHARP = RNG.dirichlet([1, 2, 1], N)
FRAME = pl.DataFrame(
    {
        "y": (RNG.random(N) < TRUTH).astype(np.int64),
        "honest": TRUTH,
        "extreme": expit(1.8 * logit(TRUTH)),
        "certain": np.where(TRUTH < 0.03, 0.0, TRUTH),
        "grade": np.array([RNG.choice(3, p=row) for row in SHARP]),
        **{f"p{place}": SHARP[:, place] for place in range(3)},
        "w": RNG.gamma(2.0, 1.0, N),
        "ward": RNG.integers(0, 150, N),
    }
)
FRAME = FRAME.with_columns(y=pl.when(pl.col("certain") == 0.0).then(0).otherwise(pl.col("y")))
MODELS = ["honest", "extreme", "certain"]
SHARED = {
    "plain": {},
    "weights": {"sample_weight": "w"},
    "clusters": {"cluster": "ward"},
    "weighted clusters": {"sample_weight": "w", "cluster": "ward"},
    "times": {"period": "ward"},
}
CLASSES = {"forecasts": {"m": ["p0", "p1", "p2"]}, "outcome": "grade", "labels": [0, 1, 2]}
DRAWS = {"seed": 1, "n_resamples": 40}


@pytest.fixture(scope="module")
def frame(lazy_engine):
    """Return the cases as a lazy frame of an engine, the same one for all tests."""
    return lazy_engine(FRAME)


def same_verdict(found, expected):
    one, other = found.columns(), expected.columns()
    assert list(one) == list(other)
    for name, values in other.items():
        for own, value in zip(one[name], values, strict=True):
            if isinstance(value, float):
                assert own == pytest.approx(value, rel=1e-8, abs=1e-12, nan_ok=True), name
            else:
                assert own == value, name
    assert str(found) == str(expected)


@pytest.mark.parametrize("shared", SHARED)
def test_a_lazy_frame_has_the_verdict_of_its_arrays(frame, shared):
    found, expected = (pr.evaluate(one, MODELS, outcome="y", **SHARED[shared], **DRAWS) for one in (frame, FRAME))
    same_verdict(found.calibration, expected.calibration)
    assert repr(found.miscalibrated) == repr(expected.miscalibrated)
    assert expected.miscalibrated["honest"] != 1.0
    assert expected.miscalibrated["extreme"] == 1.0


@pytest.mark.parametrize("shared", ["plain", "weighted clusters"])
def test_classes_of_a_lazy_frame_have_the_verdicts_of_their_arrays(frame, shared):
    found, expected = (pr.evaluate(one, **CLASSES, **SHARED[shared], **DRAWS) for one in (frame, FRAME))
    same_verdict(found.calibration, expected.calibration)
    assert "not tested" not in [row.verdict for row in expected.calibration.where(measure="calibration")]
    assert repr(found.miscalibrated) == repr(expected.miscalibrated)
    assert [line for line in found.card.sentences if "'m'" in line] == [
        line for line in expected.card.sentences if "'m'" in line
    ]


@pytest.mark.parametrize("shared", ["plain", "weights"])
def test_a_stored_ledger_has_the_verdict_of_its_arrays(shared, tmp_path):
    arrays = FRAME.select("y", "honest", "extreme", "w")
    for place, half in enumerate((arrays[:500], arrays[500:])):
        pr.condense(half, MODELS[:2], outcome="y", **SHARED[shared]).to_parquet(tmp_path / str(place))
    ledger = pr.Ledger.from_parquet(tmp_path / "0") + pr.Ledger.from_parquet(tmp_path / "1")
    expected = pr.evaluate(arrays, MODELS[:2], outcome="y", **SHARED[shared], **DRAWS)
    found = pr.evaluate(ledger, **DRAWS)
    same_verdict(found.calibration, expected.calibration)
    assert repr(found.miscalibrated) == repr(expected.miscalibrated)


@pytest.mark.parametrize("shared", SHARED)
def test_arrays_have_the_verdict_of_their_frame(shared):
    options = {name: FRAME[column].to_numpy() for name, column in SHARED[shared].items()}
    framed = pr.evaluate(FRAME, ["extreme"], outcome="y", **SHARED[shared], **DRAWS).calibration
    forecasts = {"extreme": FRAME["extreme"].to_numpy()}
    alone = pr.check_calibration(FRAME["y"].to_numpy(), forecasts, **options, **DRAWS)
    same_verdict(alone, framed)
    assert alone[0].verdict == "bad"
