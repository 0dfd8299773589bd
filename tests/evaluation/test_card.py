"""The card: it fits on a screen, says the answer first, and its numbers are those of the tables."""

import io
import math
import re
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest

import propriety as pr
from propriety.cli.machine import evaluation_document
from propriety.evaluation.card import MOST_LINES
from propriety.evaluation.card_layout import WIDE
from propriety.evaluation.group_calibration import group_table
from propriety.evaluation.rows import UNITS, Row, cells_of, lines_of

RNG = np.random.default_rng(4)
N = 1500
TRUTH = RNG.beta(1, 3, N)
Y = RNG.random(N) < TRUTH
BOLD = TRUTH**2 / (TRUTH**2 + (1 - TRUTH) ** 2)
TWO = {"new": TRUTH, "old": BOLD}
MANY = {f"m{place}": np.clip(TRUTH + RNG.normal(0.0, 0.03 * place, N), 0.001, 0.999) for place in range(13)}
LONG = {
    f"gradient boosting with all of the features, tuned on the year 20{year}": p for year, p in enumerate(TWO.values())
}
SITE = RNG.integers(0, 24, N)
ROWS = RNG.dirichlet([3.0, 2.0, 1.5, 1.0, 0.5], N)
CLASS = (ROWS.cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1)
TIMID = np.sqrt(ROWS) / np.sqrt(ROWS).sum(axis=1, keepdims=True)
MODELS_OF_CLASSES = {"sound": ROWS, "timid": TIMID}
FOLLOW_UP, CENSORED = RNG.exponential(1.0 / (0.2 + TRUTH)), RNG.exponential(3.0, N)
BY_ONE = pr.censored(np.minimum(FOLLOW_UP, CENSORED), FOLLOW_UP <= CENSORED, horizons=1.0)
RANGE = {"thresholds": (0.05, 0.2)}
GIVEN = {
    "two models, 24 groups": (Y, TWO, RANGE | {"by": {"site": SITE}}),
    "five models, 24 groups": (Y, dict(list(MANY.items())[:5]), RANGE | {"by": {"site": SITE}}),
    "13 models, groups": (Y, MANY, {"by": {"site": SITE % 4, "half": SITE % 2}}),
    "one model": (Y, TRUTH, {}),
    "one model, one threshold": (Y, TRUTH, {"thresholds": 0.2}),
    "120 cases": (Y[:120], TRUTH[:120], {}),
    "six cases": (Y[:6], {"a": TRUTH[:6], "b": BOLD[:6]}, {}),
    "long names": (Y, LONG, RANGE | {"by": {"hospital and ward of the first admission": SITE % 5}}),
    "names that look alike": (
        Y,
        {" a": TRUTH, "a": BOLD, "\u2003a": MANY["m3"]},
        {"by": np.where(SITE % 2, "x\ny", "z")},
    ),
    "classes": (CLASS, MODELS_OF_CLASSES, {"by": {"site": SITE % 3}}),
    "ordered": (CLASS, MODELS_OF_CLASSES, {"ordered": True}),
    "weighted": (Y, TWO, RANGE | {"sample_weight": RNG.random(N) + 0.5}),
    "clustered": (Y, TWO, RANGE | {"cluster": SITE, "by": {"half": SITE % 2}}),
    "censored": (BY_ONE, {"cox": 1.0 - np.exp(-0.2 - TRUTH), "forest": TRUTH}, {"thresholds": (0.1, 0.3)}),
    "measures": (Y, TWO, {"measures": [pr.measures.NetBenefit(t / 10) for t in range(1, 7)]}),
    "no event": (np.zeros(20), TRUTH[:20], {}),
    "all at once": (
        RNG.random(N) < np.where(SITE % 6 == 2, np.clip(1.8 * TRUTH, 0, 1), TRUTH),
        LONG,
        RANGE | {"by": {"hospital": SITE % 6, "half": SITE % 2}, "measures": [pr.Log(), pr.measures.NetBenefit(0.1)]},
    ),
}
KEYS = {
    "skill": "brier_skill",
    "wrong": "misclassification",
    "O/E": "observed_expected",
    "slope": "calibration_slope",
    "AUC": "auc",
}


def plain(text):
    return text.replace("\N{MINUS SIGN}", "-").replace("\N{EN DASH}", "?")


@pytest.fixture(scope="module", params=GIVEN)
def result(request):
    y, forecasts, options = GIVEN[request.param]
    return pr.evaluate(y, forecasts, seed=1, n_resamples=40, **options)


def test_it_fits_on_a_screen_with_the_answer_first(result):
    text = str(result)
    lines = text.splitlines()
    assert len(lines) <= MOST_LINES == 35
    assert max(map(len, lines)) <= WIDE == 100
    assert " ".join(lines[: lines.index(next(line for line in lines if line.startswith("─")))]).startswith(
        result.card.answer
    )
    assert lines[-1].endswith('result.to_html("report.html")')
    assert text.isprintable() or set(text) - {"\n"} == {letter for letter in text if letter.isprintable()}


def test_the_numbers_are_exactly_those_of_the_tables(result):
    headline, seen = result.problem.headline, 0
    for row in result.card.rows:
        key = KEYS.get(
            row.short, headline.key if row.measure in (headline.label.capitalize(), "Decision cost/1,000") else ""
        )
        if key not in result.estimates[row.model]:
            continue
        table = result.scores.at(row.model, key)
        np.testing.assert_array_equal(
            (row.value, row.low, row.high), [table[name] for name in ("value", "low", "high")]
        )
        seen += 1
    assert seen >= len(result.models)


def test_each_number_is_rounded_once_and_no_limit_crosses_the_ideal(result):
    for cells in lines_of(result.card.rows).values():
        for cell in cells:
            scale = UNITS[cell.row.unit].scale
            for written, exact in ((cell.value, cell.row.value), (cell.low, cell.row.low), (cell.high, cell.row.high)):
                if math.isfinite(exact):
                    assert abs(written - scale * exact) <= 0.5000001 * 10.0**-cell.places
            for written, exact in ((cell.low, cell.row.low), (cell.high, cell.row.high)):
                if cell.row.has_limits and abs(exact - cell.row.ideal) > 1e-4:
                    assert (written > scale * cell.row.ideal) == (exact > cell.row.ideal)


def test_the_numbers_of_groups_tests_gains_and_differences_are_those_of_the_tables():
    y, forecasts, options = GIVEN["two models, 24 groups"]
    result = pr.evaluate(y, forecasts, seed=1, n_resamples=40, **options)
    rows = {(row.short, row.model): row for row in result.card.rows}
    found = group_table(result)
    for model in TWO:
        own = found.model == model
        assert rows["O/E, lowest to highest", model].low == found.observed_expected[own].min()
        assert rows["miscalibrated", model].value == np.count_nonzero(found.verdict[own] == "bad")
        untold = np.count_nonzero(found.verdict[own] == "too few") + 24 - np.count_nonzero(own)
        assert rows["too few", model].value == untold
        test = result.calibration.where(model=model, measure="calibration")[0]
        assert (rows["calibration", model].value, rows["calibration", model].outcome) == (test.p, test.verdict)
        assert rows["ICI", model].value == result.smooth_calibration[model].ici
        gain = result.recalibration[model].verdict
        assert rows["recalibration", model].value == gain.gain / gain.before
    pair = result.comparison
    assert (rows["difference", "new"].value, rows["difference", "new"].low) == (
        pair.differences.value[0],
        pair.differences.low[0],
    )
    points = result.decision_curves["old"].operating_points(grid=[0.05])
    assert rows["net at 5%", "old"].high == points.gain_over_all_high[0]


def test_net_benefit_is_that_over_nobody_where_acting_on_everybody_is_worse():
    result = pr.evaluate(Y, TWO, thresholds=0.6, seed=1, n_resamples=40)
    (row,) = (row for row in result.card.rows if row.short == "net at 60%" and row.model == "new")
    found = result.estimates["new"]["net_benefit_at_0.6"]
    assert (row.value, row.low, row.high) == (found.value, found.low, found.high)
    assert "acting on 'old' is worse than acting on nobody" in " ".join(
        pr.evaluate(Y, {"new": TRUTH, "old": np.clip(TRUTH + 0.4, 0, 1)}, thresholds=0.6, seed=1).card.sentences
    )


def test_a_group_that_departs_is_named_with_its_ratio():
    y = RNG.random(N) < np.where(SITE % 6 == 2, np.clip(1.8 * TRUTH, 0, 1), TRUTH)
    site = np.array(["Aarhus", "Bergen", "Cork", "Delft", "Espoo", "Freiburg"])[SITE % 6]
    card = pr.evaluate(y, {"new": TRUTH}, by={"site": site}, seed=1).card
    (row,) = (row for row in card.rows if row.short == "Cork")
    (said,) = (one for one in card.sentences if one.startswith("'new' is miscalibrated in Cork: "))
    assert f"{100 * (cells_of([row])[0].value - 1):.0f}% more events" in said
    assert card.rows[-1].question == "Alike in all 6 groups (site)?"


def test_warnings_about_the_preferred_model_come_first_and_are_counted():
    low = np.clip(TRUTH - 0.05, 0.001, 1)
    card = pr.evaluate(Y, {"noise": np.clip(TRUTH[::-1], 0.01, 0.99), "low": low}, seed=1).card
    assert card.answer.startswith("Prefer 'low': ")
    assert card.answer.endswith("One warning below.")
    assert card.sentences[0].startswith("'low' is miscalibrated: ")


def test_what_does_not_fit_is_counted_and_in_the_json():
    y, forecasts, options = GIVEN["13 models, groups"]
    result = pr.evaluate(y, forecasts, seed=1, n_resamples=40, **options)
    shown = sum(f"\n{number}. " in str(result) for number in range(1, 10))
    left = len(result.card.sentences) - shown
    assert left > 0
    assert f"{left} more finding{'s' * (left > 1)}: result.card.sentences." in str(result).replace("\n", " ")
    assert evaluation_document(result, [])["summary"] == [
        result.card.answer,
        result.card.about,
        *result.card.sentences,
    ]


def test_outputs_that_have_no_other_characters_get_ascii(monkeypatch):
    y, forecasts, options = GIVEN["two models, 24 groups"]
    result = pr.evaluate(y, forecasts, seed=1, n_resamples=40, **options)
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="cp1252"))
    text = str(result)
    monkeypatch.undo()
    assert text.isascii()
    assert "new less old, paired" in text
    assert text == str(result).replace("─", "-").replace("\N{MINUS SIGN}", "-")


@pytest.mark.parametrize(
    ("numbers", "ideal", "unit", "written"),
    [
        ((1.08123, 1.0312, 1.1298), 1.0, "ratio", "1.08, 1.03 to 1.13"),
        ((0.926, 0.86, 0.99796), 1.0, "ratio", "0.926, 0.860 to 0.998"),
        ((0.065, 0.0613, 0.0686), math.nan, "per 1,000", "65.0, 61.3 to 68.6"),
        ((-0.0203, -0.0249, -0.0158), 0.0, "difference per 1,000", "-20.3, -24.9 to -15.8"),
        ((0.0203, 0.0158, 0.0249), 0.0, "difference per 1,000", "+20.3, +15.8 to +24.9"),
        ((0.3, 0.2612, 0.339), 0.0, "share", "30.0%, 26.1 to 33.9"),
        ((0.0049, -0.0021, 0.0109), 0.0, "share", "0.5%, -0.2 to 1.1"),
        ((math.inf, math.nan, math.nan), math.nan, "score", "∞, "),
        ((math.nan, math.nan, math.nan), math.nan, "score", "?, "),
        ((1e-9, 1e-10, 2e-9), 0.0, "score", "0.0000, 0.0000 to 0.0000"),
    ],
)
def test_numbers_as_they_are_written(numbers, ideal, unit, written):
    value, low, high = numbers
    (cell,) = cells_of(
        [Row(question="", measure="", short="", model="", value=value, low=low, high=high, unit=unit, ideal=ideal)]
    )
    assert plain(f"{cell.number}, {cell.limits}") == written


@pytest.mark.parametrize(
    ("p", "written"), [(0.2, "0.20"), (0.0496, "0.0496"), (0.0504, "0.0504"), (0.012, "0.012"), (0.0004, "<0.001")]
)
def test_a_p_value_stays_on_its_side_of_the_level(p, written):
    (cell,) = cells_of([Row(question="", measure="", short="", model="", value=p, unit="p", ideal=0.05)])
    assert cell.number == written


class Reader(HTMLParser):
    """The elements of a fragment: whether they are closed in order, and the text of each cell."""

    def __init__(self, text):
        super().__init__()
        self.open, self.names, self.cells, self.text = [], Counter(), [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.names[tag] += 1
        self.open += [] if tag in ("path", "circle") else [tag]
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        if tag not in ("path", "circle"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data


def test_the_notebook_has_the_same_card_without_script_and_in_less_than_15_kb(result):
    shown = result._repr_html_()
    assert len(shown.encode()) < 15_000
    read = Reader(shown)
    assert not {"script", "iframe", "img", "link"} & set(read.names)
    assert "".join(read.text).startswith(result.card.answer)
    for table in result.card.tables:
        for line in table.lines:
            parts = [part for place, cell in enumerate(line.cells) for part in table.parts(place, cell) if part]
            assert set(parts) <= set(read.cells)
    assert all(sentence in "".join(read.text) for sentence in result.card.sentences[:8])


def test_the_notebook_can_be_read_on_dark_pages(result):
    # Text, lines and drawings have the colour of the text around the card, and no background of their own.
    shown = result._repr_html_()
    assert not re.search(r"#[0-9a-f]{3,6}\b|rgb|(?<!-)color:|background(?!:none|: none)", shown)
    assert shown.count('stroke="currentColor"') == shown.count("<svg")


def test_names_are_text_in_the_notebook():
    hostile = "<script>alert(1)</script>&"
    shown = pr.evaluate(Y, {hostile: TRUTH, "b": BOLD}, by={"<i>": SITE % 2}, seed=1, n_resamples=20)._repr_html_()
    assert "<script" not in shown
    assert "<i>" not in shown
    assert not {"script", "i"} & set(Reader(shown).names)
