"""What single cases and groups of forecasts tell: retention curves, worst cases, means of probabilities."""
