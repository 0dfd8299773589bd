"""What several products read in the same way."""

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError

LEDGER = pr.condense([0, 1] * 20, np.linspace(0.1, 0.9, 40), by={"day": np.arange(40) // 20})


@pytest.mark.product("late_labels")
@pytest.mark.parametrize("wrong", [pr.Brier, "bryer", None, 5, [], {"a": pr.Brier()}])
def test_measures_are_rules_measures_or_functions(wrong):
    kind = InputTypeError if wrong in (pr.Brier, None, 5) else InputValueError
    with pytest.raises(kind, match="measures must"):
        pr.before_labels([0.2], measures=wrong)


@pytest.mark.parametrize("wrong", [np.array(["site", "day"]), ["site"], np.array("site"), {"site"}, 5, None])
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda period: pr.monitor(LEDGER, period=period), marks=pytest.mark.product("monitoring")),
        pytest.param(
            lambda period: pr.before_labels([0.2], past=LEDGER, period=period), marks=pytest.mark.product("late_labels")
        ),
    ],
    ids=["monitor", "before_labels"],
)
def test_the_name_of_a_key_is_a_text(call, wrong, request):
    if wrong is None and "monitor" in request.node.callspec.id:
        pytest.skip("the period of a monitor has a default")
    with pytest.raises(InputValueError, match=r"must be|has no key"):
        call(wrong)
