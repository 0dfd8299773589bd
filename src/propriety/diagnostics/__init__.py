"""Diagnostics of single cases and groups of forecasts: retention curves, worst cases, mean probabilities."""
