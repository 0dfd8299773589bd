"""What comes back behaves as a number, a frame, a dict and a line of text."""

import copy
import dataclasses
import json
import pickle

import numpy as np
import polars as pl
import pytest

import propriety as pr
from propriety import result
from propriety.tables.forecast_table import ForecastTable


def test_a_score_is_a_number_that_knows_what_it_is():
    score = pr.brier_score(pr.cases([0, 1, None], [0.5, 1.0, 0.2], missing="drop"))
    assert score == 0.125
    assert f"{score:.3f}" == "0.125"
    assert str(score) == "0.125"
    assert type(score + 1) is float
    assert json.dumps({"brier": score}) == '{"brier": 0.125}'
    assert np.array([score, score]).dtype == np.float64
    assert score.to_dict() == {
        "value": 0.125,
        "rule": "Brier()",
        "scale": "one component, 0 to 1",
        "n": 2,
        "weight": 2.0,
        "dropped": 1,
        "higher_is_better": False,
    }
    assert score.to_frame(backend="polars")["value"].to_list() == [0.125]


def test_a_score_survives_copying_and_cannot_be_changed():
    score = pr.brier_score([0, 1], [0.5, 1.0])
    for again in (pickle.loads(pickle.dumps(score)), copy.deepcopy(score)):
        assert again == score
        assert again.rule == "Brier()"
    with pytest.raises(AttributeError, match="cannot be changed"):
        score.n = 5


def test_a_perfect_log_score_is_zero_and_not_minus_zero():
    assert repr(float(pr.log_score([1], [1.0]))) == "0.0"
    assert repr(pr.case_scores([1], [1.0], rule=pr.Log())[0].item()) == "0.0"


def test_frames_without_a_frame_library_say_what_to_install(monkeypatch):
    monkeypatch.setattr(result.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(pr.errors.MissingDependencyError, match="pip install pandas"):
        ForecastTable.from_predictions([0], [0.5]).to_frame()


def test_the_first_installed_library_makes_the_frame(monkeypatch):
    monkeypatch.setattr(result.importlib.util, "find_spec", lambda name: name == "polars" or None)
    assert isinstance(ForecastTable.from_predictions([0], [0.5]).to_frame(), pl.DataFrame)


def test_the_notebook_view_escapes_and_shortens():
    table = ForecastTable.from_predictions(np.arange(50) % 2, np.arange(50) / 100)
    shown = table._repr_html_()
    assert shown.count("<tr>") == 11
    assert "40 more rows" in shown
    report = pr.audit(pr.PenalizedBrier(ties="first"), classes=2)
    assert "ties=&#x27;first&#x27;" in report._repr_html_()


def test_the_notebook_view_of_one_row_lists_the_fields_that_are_known():
    shown = pr.estimate([0, 1, 0, 1], [0.1, 0.8, 0.3, 0.6])._repr_html_()
    assert shown.count("<th ") == 2
    assert ">error</td><td" in shown
    assert ">p</td>" not in shown


def test_the_notebook_view_has_the_main_columns_and_no_empty_ones():
    y, p = np.arange(40) % 2, np.linspace(0.1, 0.9, 40)
    shown = pr.compare(y, {"a": p, "b": p**2, "c": p**3})._repr_html_()
    assert ">verdict</th>" in shown
    assert ">df</th>" not in shown
    assert "more columns: see to_frame()" in shown
    scores = pr.evaluate(y, {"<a>": p}, seed=1).scores
    assert ">&lt;a&gt;</td>" in scores._repr_html_()
    assert ">call</th>" not in scores._repr_html_()
    assert result.html_table({"a": [1, 2], "b": ["", None], "c": [np.nan, np.nan]}).count("<th ") == 1
    for subject in (pr.results.Scores, pr.results.Evaluation):
        names = {field.name for field in dataclasses.fields(subject)} | set(pr.results.Scores.main_columns)
        assert names.issuperset(subject.main_columns)


def test_the_notebook_view_shows_a_table_of_moderate_length_in_full():
    found = pr.evaluate([0, 1, 1, 0, 1, 0] * 9, {"a": [0.2, 0.7, 0.4] * 18, "b": [0.3, 0.6, 0.5] * 18}, seed=1)
    shown = found.scores._repr_html_()
    assert shown.count("<tr>") == len(found.scores.value) + 1
    assert "more rows" not in shown


@pytest.mark.product("segments")
def test_a_result_without_rows_is_described_in_words():
    found = pr.find_segments(
        pr.cases([0, 1] * 300, [0.5] * 600, by={"side": ["left", "right", "right", "left"] * 150}), seed=1
    )
    assert found._repr_html_() == f"<p>{found}</p>"
    assert str(found).startswith("No segment stands out")


def test_numbers_in_mappings_are_rounded_in_the_repr():
    found = pr.ranking_map(
        [0, 1, 1] * 40, {"a": [0.3, 0.7, 0.2] * 40, "b": [0.4, 0.1, 0.3] * 40}, thresholds=(0.2, 0.4)
    )
    assert "regrets={'a': 0.275, 'b': 0.441667}" in repr(found.marked)
