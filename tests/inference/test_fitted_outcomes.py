"""Errors of samples by outcome at fitted event rates: against the definition, and against the spread of samples."""

import numpy as np
import pytest
from scipy.special import expit, logit

import propriety as pr
from propriety.calibration.logistic import fit_logistic
from propriety.inference.fitted_outcomes import fitted_error
from propriety.inference.influence import errors_of_table, influence_in
from propriety.inference.measures.of_means import MeanScore
from propriety.tables.forecast_table import ForecastTable

PREVALENCE, EVENTS, OTHERS = 0.02, 100, 200


@pytest.fixture(scope="module")
def population():
    """Return the forecasts of events and of non-events; they are calibrated before cases are sampled by outcome."""
    generator = np.random.default_rng(1)
    p = expit(generator.normal(-4.4, 1.3, 300_000))
    event = generator.random(len(p)) < p
    return p[event], p[~event]


def sample_of(population, generator):
    parts = [generator.choice(own, n) for own, n in zip(population, (EVENTS, OTHERS), strict=True)]
    return np.repeat([1, 0], (EVENTS, OTHERS)), np.concatenate(parts)


def test_the_error_is_that_of_the_definition(population):
    y, p = sample_of(population, np.random.default_rng(2))
    ledger, measure = pr.at_prevalence(pr.condense(y, p), PREVALENCE), MeanScore(pr.Brier())
    found = fitted_error(ledger.table(), influence_in(ledger, ledger.table(), measure))
    design = np.column_stack([logit(p), np.ones(len(p))])
    rate = expit(design @ fit_logistic(design, 1.0 * y, 1.0 - y).coefficients)
    square = 0.0
    for loss, share, weight, n in (
        ((1.0 - p) ** 2, rate, PREVALENCE, EVENTS),
        (p**2, 1.0 - rate, 1.0 - PREVALENCE, OTHERS),
    ):
        square += weight**2 * np.cov(loss, aweights=share, ddof=0) / (n - 1)
    assert found == pytest.approx(np.sqrt(square), rel=1e-6)


def test_the_error_is_the_spread_of_samples(population):
    generator, measure = np.random.default_rng(3), MeanScore(pr.Brier())
    values, plain, fitted = [], [], []
    for _ in range(150):
        y, p = sample_of(population, generator)
        ledger = pr.at_prevalence(pr.condense(y, p), PREVALENCE)
        influence = influence_in(ledger, ledger.table(), measure)
        values.append(measure.value(ledger.table()))
        plain.append(errors_of_table(ledger.table(), influence, by_outcome=True)[0])
        fitted.append(fitted_error(ledger.table(), influence))
    # Most samples of non-events lack the high forecasts that decide the variance.
    assert np.median(plain) < 0.9 * np.median(fitted)
    assert np.mean(fitted) == pytest.approx(np.std(values), rel=0.15)


def test_without_a_fit_there_is_no_error():
    measure = MeanScore(pr.Brier())
    for table in (
        ForecastTable.from_predictions([0, 0, 1], [0.2, 0.4, 0.5]),  # One event.
        ForecastTable.from_predictions([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0]),  # No log-odds.
    ):
        ledger = pr.at_prevalence(pr.Ledger.of_tables({"p": table}), PREVALENCE)
        assert np.isnan(fitted_error(ledger.table(), influence_in(ledger, ledger.table(), measure)))
