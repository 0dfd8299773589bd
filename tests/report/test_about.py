"""A report names what it is about."""

import re

import numpy as np
import pandas as pd
import pytest

import propriety as pr
from propriety.report.about import description_of, title_of
from propriety.report.page import Page
from propriety.report.rendering import render

RNG = np.random.default_rng(1)
FRAME = pd.DataFrame({"risk": RNG.random(60), "site": RNG.choice(["a", "b"], 60), "doctor": np.arange(60) // 3})
FRAME["cancer"] = np.where(RNG.random(60) < FRAME["risk"], "yes", "no")


def test_a_frame_gives_the_names_of_its_columns():
    result = pr.evaluate(
        FRAME, ["risk"], outcome="cancer", by="site", cluster="doctor", pos_label="yes", seed=7, n_resamples=20
    )
    found = description_of(result, {})
    assert title_of(result) == "Evaluation of forecasts of cancer"
    assert {name: found[name] for name in ("Outcome", "Event", "Models", "Group variables", "Clusters", "Seed")} == {
        "Outcome": "cancer",
        "Event": "yes",
        "Models": "risk",
        "Group variables": "site",
        "Clusters": "doctor",
        "Seed": "7",
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["Date"])


def test_a_series_has_a_name_and_an_array_has_none():
    happened = (FRAME["cancer"] == "yes").rename("cancer")
    assert title_of(pr.evaluate(happened, FRAME["risk"], seed=1)) == "Evaluation of forecasts of cancer"
    without = pr.evaluate(happened.to_numpy(), FRAME["risk"].to_numpy(), seed=1)
    assert title_of(without) == "Evaluation of forecasts"
    assert "Outcome" not in description_of(without, {})


def test_what_is_given_replaces_what_is_known():
    result = pr.evaluate(FRAME["cancer"], FRAME["risk"], pos_label="yes", seed=1)
    found = description_of(result, {"Outcome": "Cancer at biopsy", "File": "a.csv", "Date": None})
    assert (found["Outcome"], found["File"], "Date" in found) == ("Cancer at biopsy", "a.csv", False)


def test_the_date_can_be_fixed(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert description_of(pr.evaluate([0, 1], [0.2, 0.7], seed=1), {})["Date"] == "1970-01-02"


def test_the_page_shows_it_escaped():
    page = render(Page(title="A", verdict=(), models=(), sections=(), about={"File": "<b>.csv"}))
    assert "<dt>File</dt><dd><bdi>&lt;b&gt;.csv</bdi></dd>" in page


@pytest.mark.slow
def test_a_report_has_title_and_description():
    result = pr.evaluate(FRAME["cancer"], FRAME["risk"], pos_label="yes", seed=1, n_resamples=20)
    page = result.to_html(title="Biopsies", description={"File": "biopsies.csv"})
    assert "<h1>Biopsies</h1>" in page
    assert "biopsies.csv" in page
