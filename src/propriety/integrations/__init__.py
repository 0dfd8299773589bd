"""Adapters to libraries that train and track models, each imported with its library, and readers of logs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from propriety.errors import MissingDependencyError


def load_library(module: str, *, extra: str) -> Any:
    """Import a module of an optional library, or raise an error that names the extra to install.

    Examples
    --------
    >>> load_library("no_such_library", extra="sklearn")
    Traceback (most recent call last):
    propriety.errors.MissingDependencyError: This adapter needs no_such_library. Hint: pip install "propriety[sklearn]".
    """
    try:
        return import_module(module)
    except ImportError as error:
        law = f"This adapter needs {module.partition('.')[0]}"
        raise MissingDependencyError(law, hint=f'pip install "propriety[{extra}]".') from error
