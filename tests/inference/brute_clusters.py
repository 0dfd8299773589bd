"""The errors of clusters by matrices, as the docstring of `cluster_errors` writes them."""

import numpy as np


def brute_errors(x, cluster, weight=None):
    """Return the standard error and the degrees of freedom of the weighted mean of x."""
    w = np.ones(len(x)) if weight is None else np.asarray(weight, dtype=float)
    x, cluster, w = x[w > 0], np.asarray(cluster)[w > 0], w[w > 0]
    mean = np.average(x, weights=w)
    labels = np.unique(cluster)
    size = np.array([w[cluster == one].sum() for one in labels])
    squares = np.array([(w[cluster == one] ** 2).sum() for one in labels])
    number = np.array([np.sum(cluster == one) for one in labels])
    r = np.array([(w * (x - mean))[cluster == one].sum() for one in labels])
    inside = sum(
        (
            w[cluster == one] ** 2 * (x[cluster == one] - np.average(x[cluster == one], weights=w[cluster == one])) ** 2
        ).sum()
        for one in labels
    )
    projection = np.eye(len(labels)) - np.outer(size / size.sum(), np.ones(len(labels)))

    def covariance(v):
        return projection @ np.diag(v) @ projection.T

    kept = (squares * (1 - 1 / number)).sum()
    sigma = inside / kept if kept > 0 else 0.0
    tau = max((r @ r - sigma * np.trace(covariance(squares))) / np.trace(covariance(size**2)), 0.0)
    v = sigma * squares + tau * size**2
    if not v.any():
        v = squares
    matrix = covariance(v)
    factor = v.sum() / np.trace(matrix)
    return np.sqrt(r @ r * factor) / w.sum(), np.trace(matrix) ** 2 / (matrix**2).sum()
