"""The smooth calibration curve and its indices."""

import shutil
import subprocess

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.calibration.smooth_calibration import INDICES, smooth_calibration_of, split_histogram
from propriety.inference.calibration_measures import CalibrationIntercept, CalibrationSlope, ObservedExpected
from propriety.inference.ranking_measures import AreaUnderRoc


def sample(n, change=lambda x: x, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(-1.2, 1.1, n)
    return rng.random(n) < expit(change(x)), expit(x)


def table_of(*arguments, **options):
    return pr.ForecastTable.from_predictions(*sample(*arguments, **options))


def test_a_miscalibrated_sample_is_rejected_and_its_limits_exclude_zero():
    found = smooth_calibration_of(table_of(2000, lambda x: 0.5 * x), seed=1, n_resamples=200)
    assert found.p_value < 1e-6
    for name in INDICES:
        value, low, high = found.index(name)
        assert 0.0 < low <= value <= high


def test_a_calibrated_sample_has_a_lower_limit_of_zero():
    found = smooth_calibration_of(table_of(2000), seed=1, n_resamples=200)
    assert found.p_value > 0.05
    assert all(found.index(name)[1] == 0.0 for name in INDICES)


def test_the_band_contains_the_curve_and_a_large_sample_finds_the_truth():
    found = smooth_calibration_of(table_of(40_000, lambda x: 0.6 * x - 0.3), seed=1, n_resamples=100)
    assert ((found.low <= found.event_rate) & (found.event_rate <= found.high)).all()
    inside = (found.forecast > 0.05) & (found.forecast < 0.7)
    truth = expit(0.6 * logit(found.forecast[inside]) - 0.3)
    np.testing.assert_allclose(found.event_rate[inside], truth, atol=0.02)


def test_equal_weights_change_nothing_and_one_seed_gives_one_answer():
    y, p = sample(300)
    plain, twice = (pr.reliability_curve(y, p, sample_weight=weight).smooth(seed=3) for weight in (None, [2.0] * 300))
    assert plain.ici == pytest.approx(twice.ici, rel=1e-9)
    assert plain.ici_high == pytest.approx(twice.ici_high, rel=1e-6)
    assert plain.p_value == pytest.approx(twice.p_value, rel=1e-9)


@pytest.mark.parametrize(("y", "p"), [([0, 1], [0.5, 0.5]), ([0, 1, 1, 0], [0.0, 0.4, 0.4, 1.0]), ([0, 1], [0.0, 1.0])])
def test_what_has_no_smooth_curve_is_rejected(y, p):
    with pytest.raises(pr.errors.InputValueError, match="different forecasts other than 0 and 1"):
        pr.reliability_curve(y, p).smooth()


def test_the_histogram_counts_every_case_once():
    table = table_of(500)
    found = split_histogram(table)
    assert found.events.sum() == table.n_events
    assert found.non_events.sum() == table.n - table.n_events


R = """
suppressMessages(library(rms))
d <- read.csv(commandArgs(TRUE)[1]); k <- scan(commandArgs(TRUE)[2], quiet=TRUE)
v <- val.prob(d$p, d$y, pl=FALSE)
d$x <- qlogis(d$p)
g <- glm(y ~ offset(x), family=binomial, data=d, control=list(epsilon=1e-14))
f <- glm(y ~ rcspline.eval(x, knots=k, inclx=TRUE), family=binomial, data=d, control=list(epsilon=1e-14, maxit=100))
e <- abs(fitted(f) - d$p)
cat(sprintf("%.12g", c(sum(d$y)/sum(d$p), coef(g)[1], v["Slope"], v["Brier"], v["C (ROC)"],
    mean(e), quantile(e, .5, type=1), quantile(e, .9, type=1), max(e))), sep="\\n")
"""


@pytest.mark.slow
def test_r_gives_the_same_numbers(tmp_path):
    if shutil.which("Rscript") is None or "yes" not in run_r(tmp_path, 'cat(if (require(rms, quietly=TRUE)) "yes")'):
        pytest.skip("R with rms is not installed")
    y, p = sample(750, lambda x: 0.7 * x + 0.2)
    table = pr.ForecastTable.from_predictions(y, p)
    knots = np.quantile(logit(p), np.linspace(0.05, 0.95, 5), method="inverted_cdf")
    np.savetxt(tmp_path / "d.csv", np.column_stack([y, p]), delimiter=",", header="y,p", comments="", fmt="%.17g")
    np.savetxt(tmp_path / "k.txt", knots, fmt="%.17g")
    theirs = [float(line) for line in run_r(tmp_path, R, tmp_path / "d.csv", tmp_path / "k.txt").split()]
    smooth = smooth_calibration_of(table, seed=1, n_resamples=100)
    ours = [
        ObservedExpected().value(table),
        CalibrationIntercept().value(table),
        CalibrationSlope().value(table),
        float(pr.brier_score(y, p)),
        AreaUnderRoc().value(table),
        *(getattr(smooth, name) for name in INDICES),
    ]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def run_r(folder, code, *arguments):
    (folder / "script.R").write_text(code)
    command = ["Rscript", str(folder / "script.R"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout  # noqa: S603  (our own script)
