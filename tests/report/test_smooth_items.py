"""The notes of the table of smooth calibration curves."""

import numpy as np

import propriety as pr
from propriety.report.smooth_items import smooth_of, smooth_table


def test_the_table_says_which_models_have_no_curve_and_that_events_are_few():
    rng = np.random.default_rng(2)
    p = rng.uniform(0.02, 0.2, 400)
    y = np.zeros(400, dtype=bool)
    y[rng.permutation(400)[:38]] = True
    models = {"risk": p, "certain": (p > 0.15).astype(float), "apart": np.where(y, 0.6, 0.3)}
    result = pr.evaluate(y, models, n_resamples=20, seed=1)
    (table,) = smooth_table(result, smooth_of(result))
    assert "Based on 38 events: the intervals may be too narrow." in table.note
    assert "certain: there is no smooth curve, which needs forecasts strictly between 0 and 1." in table.note
    assert "apart: there is no smooth curve, because the forecasts strictly between 0 and 1 separate" in table.note


def test_clustered_cases_have_no_interval_and_no_band_in_the_legend():
    rng = np.random.default_rng(4)
    p = rng.beta(2, 5, 600)
    result = pr.evaluate(rng.random(600) < p, {"a": p}, cluster=np.arange(600) // 10, seed=1, n_resamples=100)
    html = result.to_html()
    assert "Distance of the forecasts from the smooth calibration curve" in html
    assert "\N{EN DASH} to \N{EN DASH}" not in html
    assert "pointwise confidence band" not in html
