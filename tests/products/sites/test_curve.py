"""The pooled calibration curve: from ledgers as from rows, its limits, and what it draws."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy.special import expit, logit

import propriety as pr
from propriety.errors import InputValueError

mpl.use("agg")


def hospitals(number, *, spread=0.3, seed=1, cases=400):
    rng = np.random.default_rng(seed)
    for place in range(number):
        x = rng.normal(size=cases)
        a, b = rng.normal([0.1, 0.9], [spread, spread / 2])
        yield rng.random(cases) < expit(-1.5 + a + b * x), expit(-1.5 + x), np.full(cases, f"site {place}")


def together(parts):
    return (np.concatenate(columns) for columns in zip(*parts, strict=True))


def test_ledgers_give_the_same_curve_as_all_rows(tmp_path):
    parts = list(hospitals(8))
    for place, (y, p, site) in enumerate(parts):
        pr.condense(y, {"m": p}, by={"site": site}).to_parquet(tmp_path / str(place))
    sent = sum(pr.Ledger.from_parquet(tmp_path / str(place)) for place in range(8))
    y, p, site = together(parts)
    one, other = pr.pooled_curve(sent), pr.pooled_curve(pr.condense(y, {"m": p}, by={"site": site}))
    for name in ("forecast", "event_rate", "low", "high", "further_low", "further_high", "site_rate"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-8, err_msg=name)
    assert one.site.tolist() == [f"site {place}" for place in range(8)]


def test_equal_sites_have_the_curve_of_all_cases():
    y, p, site = together(hospitals(10, spread=0.0, cases=1_000))
    curve = pr.pooled_curve(pr.condense(y, {"m": p}, by={"site": site}))
    smooth = pr.reliability_curve(y, p, method="smooth")
    alone = np.interp(curve.forecast, smooth.forecast_max, smooth.event_rate)
    np.testing.assert_allclose(logit(curve.event_rate), logit(alone), atol=0.03)
    assert curve.tau_level < 0.1


def test_limits_contain_the_truth():
    """A thinned run of `studies/pooled_curves.py`."""
    points = np.linspace(-1.5, 1.5, 7)
    covered, predicted = [], []
    for seed in range(40):
        y, p, site = together(hospitals(12, seed=seed))
        curve = pr.pooled_curve(pr.condense(y, {"m": p}, by={"site": site}))
        low, high, further_low, further_high = (
            np.interp(points - 1.5, logit(curve.forecast), logit(column))
            for column in (curve.low, curve.high, curve.further_low, curve.further_high)
        )
        truth = -1.4 + 0.9 * points
        a, b = np.random.default_rng([seed, 1]).normal([0.1, 0.9], [0.3, 0.15])
        covered.append((low <= truth) & (truth <= high))
        predicted.append((further_low <= -1.5 + a + b * points) & (-1.5 + a + b * points <= further_high))
    assert np.mean(covered) > 0.88
    assert np.mean(predicted) > 0.85


def test_copies_of_cases_in_clusters_are_no_more_evidence():
    y, p, site = together(hospitals(6, cases=200))
    alone = pr.pooled_curve(pr.condense(y, {"m": p}, by={"site": site}))
    y, p, site = (np.repeat(one, 4) for one in (y, p, site))
    ledger = pr.condense(y, {"m": p}, by={"site": site}, cluster=np.arange(len(y)) // 4)
    copied = pr.pooled_curve(ledger)
    np.testing.assert_allclose(copied.high - copied.low, alone.high - alone.low, rtol=0.15)


def test_the_picture_shows_the_curve_its_limits_and_each_site():
    y, p, site = together(hospitals(5))
    curve = pr.pooled_curve(pr.condense(y, {"m": p}, by={"site": site}))
    ax = curve.plot(label="a title")
    lines = [line for line in ax.get_lines() if line.get_label() == "_site"]
    np.testing.assert_array_equal([line.get_ydata() for line in lines], curve.site_rate)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "further site (95%)",
        "mean site (95% band)",
        "each of 5 sites",
    ]
    plt.close("all")


def test_wrong_data_are_named():
    y, p, site = together(hospitals(3))
    with pytest.raises(InputValueError, match="at least 4 sites"):
        pr.pooled_curve(pr.condense(y, {"m": p}, by={"site": site}))
    ledger = pr.condense([0, 1, 2, 1] * 4, np.full((16, 3), 1 / 3), by={"site": list("aabbccdd") * 2})
    with pytest.raises(InputValueError, match="one event"):
        pr.pooled_curve(ledger)
    with pytest.raises(InputValueError, match="different forecasts"):
        pr.pooled_curve(pr.condense([0, 1] * 8, {"m": [0.5] * 16}, by={"site": list("aabbccdd") * 2}))
