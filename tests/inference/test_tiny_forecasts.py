"""Forecasts of almost 0, far below what floats add to 1: answers or the package's own errors, and no warning."""

import contextlib

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputValueError, ProprietyError

PLACE = np.arange(60)
Y = PLACE % 2
CENSORED = pr.censored(PLACE % 7 + 1, Y, horizons=4)
FORECASTS = {
    "some": np.where(PLACE % 3 == 0, 1e-160, 0.5),
    "some beside almost 1": np.where(PLACE % 3 == 0, 1e-160, 1 - 1e-9),
    "all": np.full(60, 1e-160),
}
MEASURES = [
    pr.Log(),
    pr.measures.ObservedExpected(),
    pr.measures.PredictedActual(),
    pr.measures.AreaUnderRoc(),
    pr.measures.CalibrationSlope(),
]
CALLS = {
    "check_calibration": lambda p: pr.check_calibration(Y, p),
    "check_calibration, censored": lambda p: pr.check_calibration(CENSORED, p),
    "estimates": lambda p: [pr.estimate(y, p, measure) for y in (Y, CENSORED) for measure in MEASURES[:-1]],
    "comparisons": lambda p: [pr.compare(Y, {"p": p, "q": np.full(60, 0.5)}, measure) for measure in MEASURES[:-1]],
    "before_labels": lambda p: pr.before_labels(p, past=pr.condense(Y, p, by={"day": PLACE // 10})),
    "find_segments": lambda p: pr.find_segments(pr.cases(Y, p, by={"group": PLACE % 3}), n_resamples=100, seed=1),
    "plan": lambda p: pr.plan(p, seed=1),
    "estimate_prevalence": lambda p: pr.estimate_prevalence(Y, p, unlabelled=np.full(60, 0.5), method="em"),
    "monitor": lambda p: str(pr.monitor(pr.condense(Y, p, by={"day": PLACE // 10}), reference_days=2)),
}
OF_PRODUCTS = {
    **dict.fromkeys(("before_labels", "estimate_prevalence"), "late_labels"),
    "find_segments": "segments",
    "monitor": "monitoring",
    "plan": "planning",
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("p", FORECASTS.values(), ids=FORECASTS)
@pytest.mark.parametrize(
    "call",
    [pytest.param(call, id=name, marks=pytest.mark.product(OF_PRODUCTS.get(name, ""))) for name, call in CALLS.items()],
)
def test_answers_and_refusals_come_without_warnings(call, p):
    with contextlib.suppress(ProprietyError):  # Such as for a study of cases that never vary.
        assert call(p) is not None


@pytest.mark.product("segments")
def test_the_segment_of_tiny_forecasts_stands_out():
    found = pr.find_segments(
        pr.cases(Y, np.where(PLACE % 3 == 0, 1e-100, 0.5), by={"group": PLACE % 3}), n_resamples=200, seed=1
    )
    assert "1 segment stands out" in str(found)


@pytest.mark.product("late_labels")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("tiny", [1e-10, 1e-20, 1e-50, 1e-200, 5e-324])
def test_late_labels_test_the_calibration_of_tiny_forecasts(tiny):
    made, p = PLACE // 10, np.where(PLACE % 3 == 0, tiny, 0.5)
    for first, expected in ((True, 0.0), (False, 1.0)):
        happened = ((PLACE == 0) & first) | ((PLACE % 3 > 0) & (PLACE % 2 == 1))
        found = pr.late_labels(p, made=made, reported=np.where(happened, made, np.nan))
        np.testing.assert_allclose(found.p_value, expected, atol=1e-6)


@pytest.mark.product("planning")
def test_plans_of_tiny_and_huge_differences():
    assert "nothing to detect" not in str(pr.plan(difference=1e-200, spread=1.0))
    assert "2 cases" in str(pr.plan(difference=1.0, spread=1e-200))
    with pytest.raises(InputValueError, match="no width can be planned"):
        pr.plan(np.where(PLACE % 3 == 0, 1e-16, 1 - 2**-53), seed=1)


def test_a_prior_that_a_tiny_share_was_sampled_at_has_a_finite_map():
    fix = pr.prior_correction(prior=0.9999999999999999, sampled_at=5e-324)
    assert np.isfinite(fix.intercept)
    assert fix([0.0, 5e-324, 0.5, 1.0]).tolist() == pytest.approx([0.0, 0.9999999999999999, 1.0, 1.0])


@pytest.mark.product("late_labels")
def test_one_day_with_almost_all_of_the_weight():
    rng = np.random.default_rng(1)
    p = np.where(np.arange(300) < 100, 1e-160, 0.3)
    y = (rng.random(300) < 0.3) & (np.arange(300) >= 100)
    past = pr.condense(y, p, by={"day": np.repeat([1, 2, 3], 100)})
    found = pr.before_labels(np.full(50, 0.3), past=past, measures=[pr.Brier()])
    assert np.isfinite(found.expected).all()
