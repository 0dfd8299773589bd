"""Measures: what `estimate`, `compare`, `slices` and `evaluate` estimate of a model's forecasts."""

from propriety.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
