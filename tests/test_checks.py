"""Parameters are refused wherever they are of no use, with an error that names them."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from propriety import checks
from propriety.errors import InputValueError


@pytest.mark.parametrize("value", [1, 7, np.int64(3), 2**70])
def test_positive_whole_numbers(value):
    checks.whole(value, "bins", least=1)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, None, "3", np.float64(2.0), [1]])
def test_what_is_no_positive_whole_number(value):
    with pytest.raises(InputValueError, match="must be a positive whole number; got ") as caught:
        checks.whole(value, "bins", least=1)
    assert (caught.value.argument, caught.value.offender) == ("bins", f"got {value!r}")


@pytest.mark.parametrize("value", [0.5, 1e-300, np.float32(0.9), Fraction(1, 3)])
def test_levels(value):
    checks.check_level(value)


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.1, float("nan"), True, None, "0.9", [0.9], Decimal("0.9")])
def test_what_is_no_level(value):
    with pytest.raises(InputValueError, match="level must lie strictly between 0 and 1; got "):
        checks.check_level(value)


@pytest.mark.parametrize("value", ["c", None, ["a"], 1])
def test_what_is_no_choice(value):
    checks.choice("a", "method", ("a", "b"))
    with pytest.raises(InputValueError, match='method must be one of "a", "b"; got '):
        checks.choice(value, "method", ("a", "b"))


@pytest.mark.parametrize("value", [-1, 1.0, True, "1", np.random.default_rng(1)])
def test_what_is_no_seed(value):
    assert checks.fresh_seed(np.int64(4)) == 4
    with pytest.raises(InputValueError, match=r"seed must be a non-negative whole number.*pass seed=1, or None"):
        checks.fresh_seed(value)
