"""Names of models and keys are texts that can be printed; anything else is refused by an error of the package."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import propriety as pr
from propriety.errors import InputValueError, ProprietyError
from propriety.tables.forecast_table import ForecastTable
from propriety.tables.frames import are_names

Y, P = [0, 1, 1, 0] * 3, [0.2, 0.7, 0.6, 0.4] * 3
FRAME = pd.DataFrame({"y": Y, "a": P, "b": P, "site": ["x", "z"] * 6})
TABLE = ForecastTable.from_predictions(Y, P)
LEDGER = pr.condense(Y, {"a": P, "b": P}, by={"site": FRAME["site"]})
NO_NAMES = [None, "", "  ", 3, float("nan"), b"a", "a\nb", "\ud800", ("a",), object(), True]
UNHASHABLE = [np.array(["a", "b"]), np.array(["a"]), pd.Series(["a"]), [["a"]], {"a": 1}, {"a"}]


@pytest.mark.parametrize("name", NO_NAMES)
@pytest.mark.parametrize(
    "call",
    [
        lambda name: pr.condense(Y, {name: P, "b": P}),
        lambda name: pr.evaluate(Y, {name: P, "b": P}),
        lambda name: pr.compare(Y, {name: P, "b": P}),
        lambda name: pr.evaluate({name: TABLE, "b": TABLE}),
        lambda name: pr.condense(FRAME, {name: "a"}, outcome="y"),
    ],
    ids=["condense", "evaluate", "compare", "tables", "frame"],
)
def test_what_is_no_name_is_refused(call, name):
    with pytest.raises(ProprietyError):
        call(name)


@pytest.mark.parametrize("name", [*UNHASHABLE, *NO_NAMES])
@pytest.mark.parametrize(
    "call",
    [
        lambda name: pr.condense(FRAME, [name, "b"], outcome="y"),
        lambda name: pr.condense(pl.DataFrame(FRAME).lazy(), [name, "b"], outcome="y"),
        lambda name: pr.condense(FRAME, {"m": [name, name]}, outcome="y"),
        LEDGER.table,
        lambda name: LEDGER.table("a", site=name),
        LEDGER.over,
        lambda name: pr.recalibrate(Y, {"a": P, "b": P}, model=name),
        lambda name: pr.compare(LEDGER, reference=["z"] if name is None else name),
        lambda name: pr.decision_uncertainty(LEDGER, thresholds=0.3, reference=["z"] if name is None else name),
        LEDGER.moments,
        LEDGER.grid,
        lambda name: pr.Ledger.merge([LEDGER, name]),
    ],
    ids=range(12),
)
def test_what_names_nothing_is_refused(call, name):
    with pytest.raises(ProprietyError):
        call(name)


def test_the_law_is_told():
    with pytest.raises(InputValueError, match=r"^names of models must not be empty; got ''"):
        pr.condense(Y, {"": P})
    with pytest.raises(InputValueError, match=r"^by must name its keys by texts that are not empty; got None"):
        pr.condense(Y, {"a": P}, by={None: P})
    assert are_names(["a", "b"])
    assert not are_names(["a", "a"])


@pytest.mark.parametrize("name", [None, "", "  ", 3, b"a", ("a",)])
def test_keys_have_names(name):
    with pytest.raises(InputValueError, match="must name its keys"):
        pr.condense(Y, {"a": P}, by={name: FRAME["site"]})


def test_a_key_may_have_the_name_of_a_column_with_a_line_end(tmp_path):
    """Headers of spreadsheets have them."""
    ledger = pr.condense(Y, {"a": P}, by={"site\nname": FRAME["site"]})
    ledger.to_parquet(tmp_path / "ledger")
    assert pr.Ledger.from_parquet(tmp_path / "ledger").keys == {"site\nname": ("x", "z")}
