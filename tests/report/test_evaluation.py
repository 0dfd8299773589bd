"""The report of an evaluation: for every kind of outcome, whole or not at all, of a size that cases do not change."""

import functools
import html
import os
import re

import numpy as np
import pytest
from sliced import Sliced

import propriety as pr
from propriety.number_words import percent
from propriety.report.cells import PValue, cells_of
from propriety.report.evaluation import page_of
from propriety.report.figures import without_pictures
from propriety.tables.forecast_table import ForecastTable

RNG = np.random.default_rng(3)
N = 800
TRUTH = RNG.beta(1, 4, N)
Y = RNG.random(N) < TRUTH
MODELS = {"honest": TRUTH, "bold": TRUTH**2 / (TRUTH**2 + (1 - TRUTH) ** 2), "flat": np.full(N, 0.2)}
SITE = RNG.choice(["north", "south"], N)
ROWS = {"sharp": RNG.dirichlet([1, 2, 1], N), "flat": np.full((N, 3), 1 / 3)}
GRADE = np.array([RNG.choice(3, p=row) for row in ROWS["sharp"]])


@functools.cache
def evaluated(kind):
    options = {"seed": 1, "n_resamples": 40}
    if kind == "event":
        return pr.evaluate(Y, MODELS, thresholds=(0.05, 0.2), by=SITE, **options)
    if kind == "one model":
        return pr.evaluate(Y, TRUTH, **options)
    by = {"by": {"site": SITE}} if "groups" in kind else {}
    return pr.evaluate(GRADE, ROWS, ordered="grades" in kind, **by, **options)


SECTIONS = {
    "event": [
        "scores",
        "calibration",
        "recalibration",
        "decisions",
        "comparison",
        "slices",
        "means",
        "methods",
    ],
    "one model": ["scores", "calibration", "recalibration", "decisions", "means", "methods"],
    "classes": ["scores", "calibration", "confusion", "abstention", "comparison", "means", "methods"],
    "grades": ["scores", "calibration", "confusion", "comparison", "means", "methods"],
    "classes in groups": [
        "scores",
        "calibration",
        "confusion",
        "abstention",
        "comparison",
        "slices",
        "means",
        "methods",
    ],
    "grades in groups": ["scores", "calibration", "confusion", "comparison", "slices", "means", "methods"],
}


def contents(result):
    """Return the sections of a page, whose pictures only the page itself needs."""
    with without_pictures():
        return page_of(result, title="A").sections


def item_named(title, result):
    items = [item for section in contents(result) for item in section.items]
    return next(item for item in items if getattr(item, "title", "") == title)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SECTIONS)
def test_every_kind_of_outcome_has_its_sections(kind, tmp_path):
    result = evaluated(kind)
    assert [section.id for section in contents(result)] == SECTIONS[kind]
    path = tmp_path / "report.html"
    page = result.to_html(path)
    assert path.read_text(encoding="utf-8") == page
    assert list(tmp_path.iterdir()) == [path]
    assert not re.search(r"\sstyle=|http-equiv=.refresh|<(?:link|iframe)|\ssrc=", page)
    assert "nan" not in re.sub(r"[\w-]*nan\w+|\w+nan", "", page.split("<main", 1)[1].split("<script", 1)[0].lower())


@pytest.mark.slow
def test_the_same_evaluation_is_the_same_page():
    assert evaluated("event").to_html() == evaluated.__wrapped__("event").to_html()


def test_no_case_is_on_the_page():
    rare = np.round(RNG.random(N), 12)
    page = pr.evaluate(Y, {"a": rare}, seed=1, n_resamples=20).to_html()
    assert not any(f"{value:.12f}".rstrip("0") in page for value in rare[:50])


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path, monkeypatch):
    result = evaluated("one model")
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match=r"report\.html"):
        result.to_html(tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_table_of_the_murphy_diagram_has_the_value_at_every_jump():
    p = np.round(np.random.default_rng(0).random(30), 1)
    y = (np.random.default_rng(1).random(30) < p).astype(int)
    table = item_named("Murphy diagram", pr.evaluate(y, {"a": p}, seed=1, n_resamples=20)).table
    alone = [pr.mean_score(y, p, rule=pr.Elementary(threshold)) for threshold in table["threshold"].tolist()]
    np.testing.assert_allclose(table["a"], alone, rtol=1e-12)


def test_the_table_of_net_benefit_has_the_value_at_every_threshold():
    p = np.round(np.random.default_rng(0).random(30), 1)
    y = (np.random.default_rng(1).random(30) < p).astype(int)
    table = item_named("Net benefit", pr.evaluate(y, {"a": p}, seed=1, n_resamples=20)).table
    whole = ForecastTable.from_predictions(y, p)
    alone = [pr.measures.NetBenefit(threshold).value(whole) for threshold in table["threshold"].tolist()]
    np.testing.assert_allclose(table["a"], alone, rtol=1e-12, atol=1e-15)


def test_the_table_of_abstention_is_that_of_the_answers():
    result = evaluated("classes")
    table = item_named("Accuracy of the most confident answers", result).columns
    curve = pr.risk_coverage_curve(ROWS["sharp"].argmax(axis=1) == GRADE, ROWS["sharp"].max(axis=1))
    assert table["all cases"][0] == curve.accuracy
    assert table["most confident 50%"][0] == curve.accuracy_at(0.5)
    assert table["AURC"][0].value == pytest.approx(curve.aurc.value, rel=1e-12)
    assert table["AURC"][0].low == pytest.approx(curve.aurc.low, rel=1e-9)


def test_no_p_value_is_zero():
    wrong = pr.evaluate(Y, {"honest": TRUTH, "wrong": 1.0 - TRUTH}, by=SITE, seed=1, n_resamples=20)
    assert wrong.comparison.differences.p_adjusted[0] < 1e-10
    written = cells_of(item_named("Paired differences", wrong).columns["adjusted p-value"])[1]
    assert [cell.text for cell in written] == ["< 0.0001"]
    behind = item_named("Differences", wrong).table["adjusted p-value"]
    assert behind == wrong.comparison.differences.p_adjusted.tolist()
    assert [cell.text for cell in cells_of(behind)[1]] == ["< 0.0001"]
    groups = item_named("Scores by group", wrong).columns["adjusted p-value"]
    assert groups == Sliced(wrong.slices).p_adjusted.tolist()
    assert [cell.text for cell in cells_of([PValue(1e-4), PValue(np.nan)])[1]] == ["0.0001", "\N{EN DASH}"]


@pytest.mark.parametrize("kind", ["event", "one model", "classes", "grades"])
def test_every_measure_stands_in_one_table_of_scores(kind):
    result = evaluated(kind)
    tables = contents(result)[0].items
    shown = [name for table in tables for name in table.columns if name != "model" and "in the sample" not in name]
    assert sorted(shown) == sorted(measure.label for measure in result.problem.measures)
    for table in tables:
        own = {name for name in table.columns if name != "model" and "in the sample" not in name}
        assert len(table.call.splitlines()) == len(own)
        ideal = {measure.label for measure in result.problem.measures if measure.ideal is not None}
        assert set(table.best) == own - ideal
    words = " ".join(contents(result)[0].words)
    assert all(measure.label in words for measure in result.problem.measures)


def test_measures_with_an_ideal_have_a_table_of_their_own():
    columns = item_named("Calibration measures", evaluated("event")).columns
    assert list(columns) == ["model", "observed/expected", "calibration intercept", "calibration slope"]


def test_groups_have_the_names_of_their_keys():
    half = np.where(np.arange(N) % 2, "odd", "even")
    options = {"thresholds": 0.2, "seed": 1, "n_resamples": 20}
    table = item_named("Scores by site", pr.evaluate(Y, MODELS, by={"site": SITE}, **options))
    shown = ["cases", "regret at 0.2", "event rate", "observed \N{MINUS SIGN} forecast", "net benefit at 0.2"]
    assert list(table.columns) == ["model", "site", *shown, "adjusted p-value"]
    assert table.note == ""
    result = pr.evaluate(Y, MODELS, by={"site": SITE, "half": half}, **options)
    sections = [section for section in contents(result) if section.id.startswith("slices")]
    assert [section.title for section in sections] == ["Groups by site", "Groups by half"]
    for section, key, labels in zip(sections, ("site", "half"), (["north", "south"], ["even", "odd"]), strict=True):
        assert [item.title for item in section.items] == [
            f"{what} by {key}" for what in ("Calibration", "Skill", "Scores")
        ]
        assert list(section.items[-1].columns) == ["model", key, *shown, "adjusted p-value"]
        assert all(item.columns[key][:2] == labels for item in section.items)


def test_groups_that_are_not_judged_say_why():
    small = np.where(np.arange(N) < 20, "small", SITE)
    table = item_named("Scores by group", pr.evaluate(Y, MODELS, by=small, seed=1, n_resamples=20))
    assert table.columns["note"][:3] == [None, "too few to test: 20 cases", None]
    assert "too small have neither" in table.note


@pytest.mark.parametrize("kind", ["classes in groups", "grades in groups"])
def test_groups_of_classes_have_no_event_rate(kind):
    result = evaluated(kind)
    columns = item_named("Scores by site", result).columns
    assert list(columns) == ["model", "site", "cases", result.problem.headline.label, "adjusted p-value"]
    assert [one.value for one in columns[result.problem.headline.label]] == Sliced(result.slices).value.tolist()


@pytest.mark.parametrize("key", ["model", "cases", "note", "Brier score"])
def test_a_key_may_be_called_as_another_column_is(key):
    result = pr.evaluate(Y, MODELS, by={key: SITE}, seed=1, n_resamples=20)
    columns = item_named(f"Scores by {key}", result).columns
    assert columns["group"] == Sliced(result.slices).group.tolist()
    assert columns["model"] == Sliced(result.slices).model.tolist()


def test_labels_that_are_taken_have_their_key_beside_them():
    class Copy(pr.measures.Measure):
        key, label, higher_is_better = "copy", "model", True

        def value(self, table):
            return table.event_rate

    result = pr.evaluate(Y, MODELS, measures=[Copy()], seed=1, n_resamples=40)
    table = item_named("Further measures", result)
    assert list(table.columns) == ["model", "model (copy)"]
    assert table.call == "pr.estimate(y, forecasts['honest'], Copy(), n_resamples=40, seed=1)"


def test_what_to_beware_of_says_where():
    words = contents(evaluated("event"))[0].words
    flat = [text for text in words if text.startswith("Note: ")]
    assert "Note: a calibration slope needs forecasts that differ; all are equal (calibration slope of flat)." in flat
    few = pr.evaluate(Y[:80], {"a": TRUTH[:80]}, seed=1, n_resamples=20)
    notes = [text for text in contents(few)[0].words if text.startswith("Note: ")]
    assert any(re.fullmatch(r"Note: based on \d+ events: the interval may be too narrow.*\.", note) for note in notes)


def test_levels_stand_on_the_page_as_they_are():
    result = pr.evaluate(Y, {"a": TRUTH}, seed=1, n_resamples=20, level=0.995)
    assert "Each estimate is followed by its 99.5% confidence interval." in contents(result)[0].words[0]
    band = item_named("Reliability of a", result)
    assert "with its 99.5% pointwise confidence band" in band.caption
    assert "smooth(level=0.995, n_resamples=20, seed=1)" in band.call


def test_a_weighted_event_rate_is_called_so():
    weight = np.where(Y, 3.0, 1.0)
    result = pr.evaluate(Y, {"a": TRUTH}, sample_weight=weight, seed=1, n_resamples=20)
    with without_pictures():
        page = page_of(result, title="A")
    assert f"weighted event rate {percent(result.rates['event'])}" in page.card


def test_close_thresholds_have_a_column_each():
    result = pr.evaluate(Y, {"a": TRUTH}, thresholds=(0.1234561, 0.1234562), seed=1, n_resamples=20)
    assert {"net benefit at 0.1234561", "net benefit at 0.1234562"} < set(
        item_named("At your thresholds", result).columns
    )


@pytest.mark.nightly
def test_the_size_does_not_depend_on_the_number_of_cases():
    def size(n):
        rng = np.random.default_rng(1)
        truth = rng.beta(1, 4, n)
        names = [f"model {place}" for place in range(5)]
        models = {name: np.clip(truth + rng.normal(0, 0.02 * place, n), 0, 1) for place, name in enumerate(names)}
        groups = rng.integers(0, 20, n)
        y = rng.random(n) < truth
        return len(pr.evaluate(y, models, by=groups, thresholds=(0.05, 0.2), seed=1, n_resamples=20).to_html())

    small, large = size(3_000), size(60_000)
    assert large <= 400_000
    assert large <= 1.15 * small


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_others_may_read_the_page_as_they_may_any_file(tmp_path):
    evaluated("one model").to_html(tmp_path / "report.html")
    (tmp_path / "plain.txt").touch()
    assert (tmp_path / "report.html").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


@pytest.mark.parametrize("kind", ["event", "one model", "classes in groups"])
def test_the_card_is_at_the_top_with_links_to_the_sections(kind):
    result = evaluated(kind)
    page = result.to_html(title="A")
    top = page.partition("<main")[2].partition("<nav")[0]
    text = html.unescape(re.sub(r"<[^>]+>", "", top))
    assert text.partition("Verdict")[2].strip().startswith(result.card.answer)
    assert all(sentence in text for sentence in result.card.sentences)
    written = [html.unescape(cell) for cell in re.findall(r'<td(?! class="r")[^>]*>([^<]+)</td>', top)]
    lines = [(table, line) for table in result.card.tables for line in table.lines]
    cells = [
        part for table, line in lines for place, cell in enumerate(line.cells) for part in table.parts(place, cell)
    ]
    assert written == [part for part in cells if part]
    links = re.findall(r'href="#(s-[a-z0-9-]+)"', top)
    assert len(links) == sum(bool(question) for table in result.card.tables for question, _ in table.blocks)
    assert all(f'<section id="{link}"' in page for link in links)
    assert "to_html" not in text
