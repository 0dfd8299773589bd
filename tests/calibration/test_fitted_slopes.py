"""Slopes of many tables at once; those of separated events are not determined."""

import numpy as np
import pytest

from propriety.calibration.fitted_slopes import fitted_slopes
from propriety.ledger.keyed_tables import KeyedTables
from propriety.tables.forecast_table import ForecastTable


@pytest.mark.parametrize("y", [[0, 0, 0, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]], ids=["right", "reversed", "none"])
def test_separated_events_have_no_slope(y):
    tables = [ForecastTable.from_predictions(y, [0.1, 0.3, 0.4, 0.6, 0.8])]
    tables.append(ForecastTable.from_predictions([0, 1, 0, 1], [0.2, 0.3, 0.6, 0.7]))
    slope, error = fitted_slopes(KeyedTables.of_tables(tables), np.array([True, True]))
    assert np.isnan(slope[0])
    assert np.isinf(error[0])
    assert np.isfinite([slope[1], error[1]]).all()
