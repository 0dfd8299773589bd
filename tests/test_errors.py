"""Errors keep their parts, through copies and processes; text is made of them when it is read."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import propriety as pr
from propriety.errors import (
    ImproperRuleError,
    InputTypeError,
    InputValueError,
    MissingDependencyError,
    MissingValuesError,
    ProprietyError,
    UnsupportedOperationError,
    Wording,
)
from propriety.tables.forecast_table import ForecastTable

KINDS = [
    ImproperRuleError,
    InputTypeError,
    InputValueError,
    MissingDependencyError,
    MissingValuesError,
    UnsupportedOperationError,
]
PARTS = {
    "argument": "y_proba",
    "row": 3,
    "column": 1,
    "offender": "is 1.2",
    "count": "1 of 9 rows",
    "hint": Wording("pass {labels=}, not {given!r}.", given="{x}"),
}
COPIES = [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))]


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_is_made_of_the_parts(kind):
    error = kind("must lie in [0, 1]", **PARTS)
    told = "y_proba must lie in [0, 1]; row 3, column 1 is 1.2 (1 of 9 rows). Hint: pass labels=, not '{x}'."
    assert str(error) == told
    assert error.text({"y_proba": "the forecast", "labels=": "--classes"}) == (
        "the forecast must lie in [0, 1]; row 3, column 1 is 1.2 (1 of 9 rows). Hint: pass --classes, not '{x}'."
    )
    assert {name: getattr(error, name) for name in PARTS} == PARTS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copied", COPIES, ids=["copy", "deepcopy", "pickle"])
def test_copies_keep_the_parts(kind, copied):
    error = kind(Wording("must not be {y_true}"), **PARTS)
    error.groups, error.names = (
        ("north", ("a", 2)),
        {"y_proba": Wording("forecasts[{model!r}]", "forecast-of", model="b")},
    )
    error.add_note("Look at it.")
    found = copied(error)
    assert type(found) is kind
    assert vars(found) == vars(error)
    names = {"forecast-of": "the forecast of {model!r}", "y_true": "the outcome"}
    assert found.text(names) == error.text(names)
    assert found.text(names).startswith(
        "In the group 'north': In the group ('a', 2): the forecast of 'b' must not be the"
    )


def test_data_are_never_taken_for_a_template():
    data = "{y_true} {0} {"
    error = InputValueError(
        f"must not hold {data}", argument="by[{x}]", offender=f"got {data}", count=data, hint=f"drop {data}."
    )
    names = {"y_true": "the outcome", "0": "zero"}
    assert error.text(names) == f"by[{{x}}] must not hold {data}; got {data} ({data}). Hint: drop {data}."
    assert Wording("{argument} {value}", argument=data, value=[data]).text(names) == f"{data} {[data]}"
    with pytest.raises(InputValueError, match=r"must hold pos_label='{y_true}' and one other label") as caught:
        pr.brier_score(["{y_true}", "{", "}"], [0.1, 0.2, 0.3], pos_label="{y_true}")
    assert "the outcome must hold pos_label='{y_true}'" in caught.value.text(names)


def test_a_wording_is_a_text():
    text = Wording('pass {missing="drop"} to {rows} rows', rows=3)
    assert (text, f"{text}") == ('pass missing="drop" to 3 rows',) * 2
    assert text.text({'missing="drop"': "--missing drop"}) == "pass --missing drop to 3 rows"
    coded = Wording(text.template, "drop", rows=3)
    assert coded.text({"drop": "leave {rows} out"}) == "leave 3 out"
    assert (coded, InputValueError(coded).code, InputValueError("must be").code) == (text, "drop", "")


def test_a_row_at_fault_is_a_part():
    with pytest.raises(InputValueError) as caught:
        pr.brier_score([0, 1, 1], [0.1, 0.2, 1.2])
    error = caught.value
    assert (error.argument, error.demand, error.row, error.column) == ("y_proba", "must lie in [0, 1]", 2, None)
    assert (error.offender, error.count) == ("is 1.2", "1 of 3 rows")
    with pytest.raises(InputValueError) as caught:
        pr.mean_score([0, 1], np.array([[0.2, 0.8], [-0.1, 1.1]]), rule=pr.Log())
    assert (caught.value.row, caught.value.column) == (1, 0)
    assert "; row 1, column 0 is -0.1 (" in str(caught.value)


def test_a_group_at_fault_is_a_part():
    frame = pd.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.2, 1.2], "site": ["n", "n", "s"]})
    with pytest.raises(
        InputValueError, match=r"^In the group 's': y_proba must lie in \[0, 1\]; row 0 is 1.2"
    ) as caught:
        ForecastTable.from_frame(frame, outcome="y", forecast="p", by="site")
    assert caught.value.groups == ("s",)
    assert caught.value.demand == "must lie in [0, 1]"


def test_every_error_is_one_of_python():
    assert issubclass(ProprietyError, Exception)
    for kind, plain in zip(
        KINDS, [ValueError, TypeError, ValueError, ImportError, ValueError, NotImplementedError], strict=True
    ):
        assert issubclass(kind, plain)


def test_values_in_a_sentence_are_not_names_of_parameters():
    """A model or a key may be called as a parameter is."""
    known = {"period": "--period", "key-of": "--by {key!r}", "by['own']": "by['age']"}
    named = InputValueError(Wording("the forecast of {model!r} is wrong", model="period"))
    assert named.text(known) == "the forecast of 'period' is wrong."
    keyed = InputValueError("must be known", argument=Wording("by[{key!r}]", "key-of", key="period"))
    assert keyed.text(known) == "--by 'period' must be known."
    assert InputValueError("must be known", argument="by['own']").text(known) == "by['age'] must be known."


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda y, p: pr.measures.TopKNetBenefit(thresholds=0.2, k="a"), id="k of a measure"),
        pytest.param(lambda y, p: pr.top_k(y, p, k=[1, [2]]), id="k in lists"),
        pytest.param(lambda y, p: pr.reliability_curve(y, p).at("x"), id="text as a forecast"),
        pytest.param(lambda y, p: pr.weighted_regret(y, p, weight=lambda c: c * 1j), id="complex weight"),
        pytest.param(
            lambda y, p: pr.quadratic_weighted_kappa(y, np.array([{}, 1, 0, 1], dtype=object), labels=[0, 1]),
            id="decision without a hash",
        ),
        pytest.param(
            lambda y, p: pr.cumulative_calibration_error(pr.censored([1, 2, 3, 4], y, horizons=2), p),
            id="censored cumulative error",
        ),
    ],
)
@pytest.mark.filterwarnings("error")
def test_errors_of_other_libraries_are_not_seen(call):
    with pytest.raises(ProprietyError):
        call([0, 1, 0, 1], [0.1, 0.3, 0.4, 0.8])
