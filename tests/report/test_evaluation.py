"""The report of an evaluation: for every kind of outcome, whole or not at all, of a size that cases do not change."""

import builtins
import re
import sys

import numpy as np
import pytest

import propriety as pr
from propriety.report.evaluation import page_of

RNG = np.random.default_rng(3)
N = 800
TRUTH = RNG.beta(1, 4, N)
Y = RNG.random(N) < TRUTH
MODELS = {"honest": TRUTH, "bold": TRUTH**2 / (TRUTH**2 + (1 - TRUTH) ** 2), "flat": np.full(N, 0.2)}
SITE = RNG.choice(["north", "south"], N)
ROWS = {"sharp": RNG.dirichlet([1, 2, 1], N), "flat": np.full((N, 3), 1 / 3)}
GRADE = np.array([RNG.choice(3, p=row) for row in ROWS["sharp"]])


def evaluated(kind, **options):
    options = {"seed": 1, "n_resamples": 20} | options
    if kind == "event":
        return pr.evaluate(Y, MODELS, thresholds=(0.05, 0.2), by=SITE, **options)
    if kind == "one model":
        return pr.evaluate(Y, TRUTH, **options)
    return pr.evaluate(GRADE, ROWS, ordered=kind == "grades", **options)


SECTIONS = {
    "event": ["scores", "calibration", "decisions", "comparison", "slices", "means", "methods", "tripod"],
    "one model": ["scores", "calibration", "decisions", "means", "methods", "tripod"],
    "classes": ["scores", "calibration", "comparison", "means", "methods", "tripod"],
    "grades": ["scores", "calibration", "comparison", "means", "methods", "tripod"],
}


@pytest.mark.parametrize("kind", SECTIONS)
def test_every_kind_of_outcome_has_its_sections(kind, tmp_path):
    result = evaluated(kind)
    assert [section.id for section in page_of(result, title="A").sections] == SECTIONS[kind]
    path = tmp_path / "report.html"
    page = result.to_html(path)
    assert path.read_text(encoding="utf-8") == page
    assert list(tmp_path.iterdir()) == [path]
    assert not re.search(r"\sstyle=|http-equiv=.refresh|<(?:link|iframe)|\ssrc=", page)
    assert "nan" not in re.sub(r"[\w-]*nan\w+|\w+nan", "", page.split("<main", 1)[1].split("<script", 1)[0].lower())


def test_the_same_evaluation_is_the_same_page():
    assert evaluated("event").to_html() == evaluated("event").to_html()


def test_a_notebook_shows_the_report_in_a_sandbox(monkeypatch):
    result = evaluated("one model")
    shown = result._repr_html_()
    assert shown.startswith("<iframe")
    assert 'sandbox="allow-scripts"' in shown
    monkeypatch.setitem(sys.modules, "propriety.report.evaluation", None)
    monkeypatch.setattr(builtins, "__import__", without_reports(builtins.__import__))
    assert result._repr_html_().startswith("<p><code>Evaluation(")


def without_reports(real):
    def importing(name, *rest):
        if name == "propriety.report.evaluation":
            raise pr.errors.MissingDependencyError(name)
        return real(name, *rest)

    return importing


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


@pytest.mark.slow
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
