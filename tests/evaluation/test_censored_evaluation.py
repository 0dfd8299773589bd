"""An evaluation of censored outcomes says how many cases are censored, and every analysis uses the weights."""

import numpy as np
import pytest

import propriety as pr


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(4)
    x = rng.normal(size=600)
    of_event, of_censoring = rng.exponential(np.exp(-x)), rng.exponential(1.5, 600)
    outcome = pr.censored(np.minimum(of_event, of_censoring), of_event <= of_censoring, horizons=1)
    models = {"a": 1.0 - np.exp(-np.exp(x)), "b": 1.0 - np.exp(-np.exp(0.5 * x))}
    site = np.where(np.arange(600) % 2, "east", "west")
    return outcome, models, pr.evaluate(outcome, models, thresholds=(0.2, 0.6), by={"site": site}, seed=1)


def test_the_summary_has_the_horizon_and_the_censored_cases(found):
    outcome, _, evaluation = found
    about = evaluation.card.about
    assert about.startswith(f"2 models, 600 cases; {outcome.censored[0]} of them censored before 1, ")
    assert f"; event rate by 1: {100 * outcome.event_probability[0]:.3g}%; act from 20% to 60%" in about


def test_scores_and_the_comparison_are_those_of_single_calls(found):
    outcome, models, evaluation = found
    assert evaluation.estimates["a"]["auc"].low == pr.estimate(outcome, models["a"], pr.measures.AreaUnderRoc()).low
    alone = pr.compare(outcome, models, pr.BoundedBrier(0.2, 0.6))
    assert evaluation.comparison.differences.p.tolist() == alone.differences.p.tolist()
    tests = {row.model: row for row in evaluation.calibration.where(measure="calibration")}
    assert tests["b"].verdict == "bad"
    assert tests["a"].verdict != "bad"


@pytest.mark.slow
def test_the_report_has_the_horizon(found):
    outcome, _, evaluation = found
    page = evaluation.to_html()
    assert f"{outcome.censored[0]} of them censored before 1" in page
    assert "by 1" in page


def test_a_weighted_event_rate_says_so():
    rng = np.random.default_rng(3)
    x, time = rng.normal(size=300), rng.exponential(300, 300)
    p, event = 1 / (1 + np.exp(-x)), rng.random(300) < 0.7
    how = {"n_resamples": 99, "seed": 1}
    plain = pr.evaluate(pr.censored(time, event, horizons=200), p, **how)
    weighted = pr.evaluate(pr.censored(time, event, horizons=200, sample_weight=np.where(x > 0, 5.0, 1.0)), p, **how)
    assert "; event rate by 200:" in plain.card.about
    assert "; weighted event rate by 200:" in weighted.card.about
    assert "weighted event rate by 200" in weighted.to_html()
