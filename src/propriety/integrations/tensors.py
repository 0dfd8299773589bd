"""Conversion of PyTorch tensors to arrays, and their precision; PyTorch is imported when needed."""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

from propriety.integrations.libraries import load_library
from propriety.tables.cases import rounding_of_rows

Tensor: TypeAlias = Any


def array_of(tensor: Tensor) -> NDArray[Any]:
    """Return a tensor as an array, with floats as float64, because NumPy has no bfloat16.

    Examples
    --------
    >>> import torch
    >>> array_of(torch.tensor([0.5], dtype=torch.bfloat16, requires_grad=True))
    array([0.5])
    """
    values = tensor.detach().cpu()
    array: NDArray[Any] = (values.double() if values.is_floating_point() else values).numpy()
    return array


def rounding_of(proba: Tensor) -> float:
    """Return how far rounding in a tensor's precision can move row sums from one; 0 for one event.

    Examples
    --------
    >>> import torch
    >>> round(rounding_of(torch.ones((4, 3), dtype=torch.bfloat16)), 4)
    0.0078
    """
    if proba.ndim != 2 or not proba.is_floating_point():
        return 0.0
    limits = load_library("torch", extra="torch").finfo(proba.dtype)
    return rounding_of_rows(proba.shape[1], eps=float(limits.eps), tiny=float(limits.tiny))


def single_column(values: Any) -> Any:
    """Convert a single column, of shape (n, 1), to one dimension."""
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
