"""Forecast tables and moments by key, from which every analysis of several models, groups and days is computed."""
