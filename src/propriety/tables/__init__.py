"""From what a user holds to the forecast table."""

from __future__ import annotations

from propriety.tables.forecast_table import ForecastTable

__all__ = ["ForecastTable"]
