"""Reading and checking user input, and pooling it into forecast tables."""

from __future__ import annotations

from propriety.tables.forecast_table import ForecastTable

__all__ = ["ForecastTable"]
