"""Pictures of plans and of the uncertainty of decisions: their lines, goals, bands and labels."""

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputValueError

RNG = np.random.default_rng(1)
P = RNG.beta(1, 5, 300)
Y = RNG.random(300) < P


def test_widths_against_cases():
    plan = pr.plan(prevalence=0.1, auc=0.8, thresholds=0.1)
    ax = plan.plot(label="protocol")
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [dot.get_xydata()[0].tolist() for dot in dots] == list(map(list, zip(plan.n, plan.goal, strict=True)))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names[1] == f"Calibration slope: n = {plan.required:,.0f}"
    assert ax.get_ylabel() == "Width of the 95% interval"
    assert ax.get_title(loc="left") == "protocol"
    with pytest.raises(InputValueError, match="no criterion of power"):
        plan.plot(kind="power")


def test_power_against_cases():
    ax = pr.plan(difference=0.01, spread=0.1).plot()
    curve = ax.lines[0].get_ydata()
    assert (np.diff(curve) > 0).all()
    assert ax.get_ylabel() == "Power"


@pytest.mark.parametrize(
    ("kind", "label", "lines"),
    [
        ("curve", "Net benefit", 3),
        ("gain", "Gain in net benefit over treating all or none", 2),
        ("best", "Probability of the highest net benefit", 3),
        ("value", "Net true positives per 1,000 cases", 2),
    ],
)
def test_uncertain_decisions(kind, label, lines):
    found = pr.decision_uncertainty(Y, {"m": P}, thresholds=(0.05, 0.3), more_cases=100, n_resamples=100, seed=1)
    ax = found.plot(kind=kind)
    assert ax.get_ylabel() == label
    assert len(ax.lines) == lines
    if kind == "curve":
        np.testing.assert_allclose(ax.lines[0].get_ydata(), found.net_benefit[found.of("m")])
        assert len(ax.collections) == 2
