"""Weights of thresholds: which decisions count, and how much."""

from propriety.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
