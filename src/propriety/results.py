"""Classes of results, for annotations and `isinstance`; they are returned by functions."""

from propriety.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
