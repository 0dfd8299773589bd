"""Calibration of forecasts: PAV, reliability curves, decompositions, bands and tests."""
