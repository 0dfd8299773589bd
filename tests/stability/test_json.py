"""Every result as JSON that any reader takes: no NaN, no Infinity, no keys but texts."""

import json

import pytest
from calls import CALLS, cases

import propriety as pr

DATA = cases(240)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_result_is_strict_json(name):
    answer = CALLS[name](DATA)
    if not isinstance(answer, pr.results.Result | pr.results.Score):
        pytest.skip("an array, a mapping or a ledger")
    text = answer.to_json()
    stored = json.loads(text, parse_constant=pytest.fail)
    assert set(stored) == {str(field) for field in answer.to_dict()}
    assert json.dumps(stored, allow_nan=False) == text
