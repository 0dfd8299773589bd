"""The value of forecasts for decisions: counts at thresholds, curves, bounded measures and advice."""
