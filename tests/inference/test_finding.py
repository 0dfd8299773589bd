"""Tables of findings: rows, columns, selection, and what is refused."""

import json
import math

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputValueError
from propriety.inference.finding import Finding, Findings
from propriety.inference.finding_words import NOTES_IN_WORDS, note_words
from propriety.inference.notes import NOTES, Note

RATIO, SLOPE = pr.measures.ObservedExpected(), pr.measures.CalibrationSlope()


def rows():
    yield Finding(measure=RATIO, model="a", value=1.1, low=1.0, high=1.2, n=50, events=9, enough=False, verdict="small")
    yield Finding(measure=SLOPE, model="a", value=0.9, n=50, notes=(Note("few-decide"),), extra={"rate": 0.2})
    yield Finding(measure=RATIO, model="a", keys={"site": "x"}, value=1.0, n=20, units=3)
    yield Finding(measure=RATIO, model="b", keys={"site": "x"}, value=0.8, p=0.02, p_adjusted=0.04)


def test_a_table_gives_its_rows_back():
    found = Findings.of(rows(), dropped=2)
    assert (len(found), found.dropped) == (4, 2)
    for row, own in zip(found, rows(), strict=True):
        for name in Finding.__dataclass_fields__:
            assert getattr(row, name) == getattr(own, name) or math.isnan(getattr(own, name))
    assert float(found[0]) == 1.1


def test_rows_are_chosen_by_name():
    found = Findings.of(rows())
    assert [row.model for row in found.where(measure="observed_expected")] == ["a", "a", "b"]
    assert [row.model for row in found.where(measure=RATIO, keys={"site": "x"})] == ["a", "b"]
    assert len(found.where(keys={})) == 2
    assert len(found.where(model="b", statistic="value")) == 1
    assert len(found.where(keys={"day": 1})) == 0
    assert len(found.where(verdict="small")) == 1


def test_every_row_is_the_only_one_of_its_name():
    with pytest.raises(InputValueError, match="must differ"):
        Findings.of([*rows(), *rows()])


def test_a_key_may_be_called_like_a_column_but_not_like_the_classes():
    y, p = [0, 1] * 60, [0.4, 0.6] * 60
    found = pr.check_calibration(y, p, by={"low": [1, 2] * 60}, seed=1)
    assert {"low", "by_low"} <= set(found.columns())
    assert len(found.where(keys={"low": 1})) == len(found.where(keys={"low": 2})) > 0
    for name in ("class", "cut"):
        with pytest.raises(InputValueError, match=f"key called '{name}'"):
            pr.check_calibration(y, p, by={name: [1, 2] * 60})


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_table_is_a_frame(backend):
    frame = Findings.of(rows()).to_frame(backend=backend)
    columns = list(frame.column_names if backend == "pyarrow" else frame.columns)
    assert columns[:3] == ["model", "measure", "site"]
    assert {"value", "low", "p_adjusted", "verdict", "notes", "rate"} <= set(columns)


def test_a_table_is_strict_json_text_and_a_notebook_view():
    found = Findings.of(rows(), dropped=1)
    data = json.loads(found.to_json())
    assert (data["dropped"], data["notes"][1], data["low"][1]) == (1, "few-decide", None)
    assert "few cases determine the slope" in str(found)
    assert "<table>" in found._repr_html_()
    assert repr(found).startswith("Findings(rows=4, models=['a', 'b']")
    assert str(found[0]) == "a: observed/expected: 1.10 (1.00 to 1.20), small"
    assert str(Findings.of([])) == ""


def test_labels_of_several_kinds_are_texts_in_a_frame():
    found = Findings.of(Finding(measure=RATIO, model="a", keys={"site": site}) for site in (1, "1b"))
    assert found.columns()["site"] == ["1", "1b"]
    assert found[0].keys == {"site": 1}


def test_every_note_has_words():
    assert NOTES_IN_WORDS.keys() == NOTES.keys()
    assert all(isinstance(note_words(Note(code)), str) for code in ("adjusted", "shape", "few-decide"))


def test_measures_are_selected_as_they_are_asked_for():
    found = pr.check_calibration([0, 1, 0, 1] * 50, [0.2, 0.7, 0.4, 0.8] * 50, seed=1)
    assert found.where(measure=pr.measures.Miscalibration())[0].measure == pr.measures.Miscalibration()
    assert np.isnan(found.where(measure="calibration")[0].value)
