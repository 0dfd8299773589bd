"""Forecast tables and moments by key: what every analysis of several models, groups and days is made from."""
