"""How results of engines and of arrays are held side by side."""

import duckdb
import numpy as np
import pytest


@pytest.fixture(params=["polars", "duckdb"])
def lazily(request):
    """Return a function that hands a Polars frame to an engine."""

    def lazy(frame):
        return frame.lazy() if request.param == "polars" else duckdb.from_arrow(frame.to_arrow())

    return lazy


@pytest.fixture(scope="session")
def alike():
    """Return a function that compares the columns of two results: numbers closely, words exactly."""

    def compared(found, whole, rtol=1e-12, *, atol=1e-14, beside=()):
        assert type(found) is type(whole)
        one, other = found.columns(), whole.columns()
        assert list(one) == list(other)
        for name, column in other.items():
            if np.asarray(column).dtype.kind == "f" and name not in beside:
                np.testing.assert_allclose(one[name], column, rtol=rtol, atol=atol, err_msg=name)
            elif name not in beside:
                assert list(one[name]) == list(column), name

    return compared
