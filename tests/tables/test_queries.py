"""What queries return: values encoded by engines and files, as they come."""

import numpy as np
import pyarrow as pa
import pytest

from propriety.tables.queries import encoded


@pytest.mark.parametrize(
    ("dictionary", "indices", "values"),
    [
        (["a", "b", "c"], [2, 0, 2], ["c", "a", "c"]),  # A value that no row has.
        (["a", "b", "a"], [0, 2, 1], ["a", "a", "b"]),  # One that is there twice.
        (["a", "b"], [1, None, 1], ["b", None, "b"]),
        (["a", None], [0, 1, 0], ["a", None, "a"]),
    ],
)
def test_values_that_are_encoded_already_are_distinct_and_occur(dictionary, indices, values):
    column = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(dictionary))
    for given in (column, pa.chunked_array([column, column])):
        held, places = encoded(given)
        assert [held[place] for place in places] == values * (len(given) // len(values))
        assert set(held) == set(values)
        assert len(held) == len(set(held))
        assert places.dtype == np.intp
