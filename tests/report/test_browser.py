"""The page in a real browser, and its script under Node."""

import csv
import dataclasses
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import propriety as pr
from propriety.cli.program import program
from propriety.report import render
from propriety.report.labels import steady
from propriety.report.page import Page
from propriety.report.threshold_ranking import ThresholdRanking

HERE = Path(__file__).parent
NODE = shutil.which("node")
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
HOSTILE = (
    "</script><img src=x onerror=window.hacked=1>",
    '"><svg onload=window.hacked=1>',
    "\u202edesrever\u202c $\\frac{1}{$ {{ 7 * 7 }} ${window.hacked=1}",
    "a name that goes on and on " * 12 + "andthenoneverylongwordwithoutanyspace" * 4,
    "0",
)
TITLE = '</title></h1><script>window.hacked=1</script>\u202e" onload=window.hacked=1'
# Names of columns, as the head of a CSV file gives them: markup, addresses, ids of SVG, turned and endless text.
HEADERS = (
    "</script><script>window.hacked=1</script>",
    "javascript:window.hacked=1",
    "model-0' onload='window.hacked=1",
    "url(#f1-title)",
    "]]><!--\u202edesrever",
    "x" * 10_000,
)
CLASSES = 45
GROUPS = ("<b onclick=window.hacked=1>north</b>", "'); alert(1); ('", "\u2028line\u2029", "<!--", "&lt;south&gt;")


def run_node(file, **environment):
    tried = subprocess.run(  # noqa: S603  (our own script)
        [NODE, "--test", str(HERE / file)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert tried.returncode == 0, tried.stdout + tried.stderr


def report_of_a_csv_file(folder):
    """Return the report that the command line makes of a file whose columns, outcomes and groups have hostile names."""
    rng = np.random.default_rng(1)
    chance = rng.beta(1, 3, 300)
    happened = rng.random(300) < chance
    columns = {
        "<y>": np.where(happened, "<script>window.hacked=1</script>", "'no'"),
        "<by>": rng.choice([*GROUPS, "javascript:window.hacked=1", "g" * 10_000], 300),
        **{name: np.clip(chance + 0.1 * rng.standard_normal(300), 0, 1).round(4) for name in HEADERS},
    }
    with (folder / "cases.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    options = ["--outcome", "<y>", "--pos-label", "<script>window.hacked=1</script>", "--by", "<by>", "--seed", "1"]
    options += [part for name in HEADERS for part in ("--forecast", name)]
    files = [str(folder / name) for name in ("cases.csv", "cases.html")]
    result = CliRunner().invoke(program, ["evaluate", files[0], *options, "--resamples", "20", "--html", files[1]])
    assert result.exit_code == 0, result.stderr
    return (folder / "cases.html").read_text(encoding="utf-8")


def report_of_classes():
    """Return the report of two models of more classes than fit on a page."""
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.full(CLASSES, 0.3), 600)
    y = (rows.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1).clip(max=CLASSES - 1)
    models = {"one": rows, "other": (rows + 1.0 / CLASSES) / 2.0}
    by = {"site": rng.choice(["north", "south"], 600)}
    return pr.evaluate(y, models, labels=range(CLASSES), by=by, n_resamples=40, seed=1).to_html()


def needs_node():
    if NODE is None:
        pytest.skip("node is not installed")


def needs_browser():
    needs_node()
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    for package in ("playwright-core", "axe-core"):
        code = f"require.resolve('{package}/package.json', {{paths: ['{HERE}', ...(process.env.NODE_PATH || '').split(':')]}})"
        if subprocess.run([NODE, "-e", code], capture_output=True, check=False).returncode:  # noqa: S603
            pytest.skip(f"{package} is not installed; see tests/report/package.json")


def ranking_of(page: Page) -> ThresholdRanking:
    return next(item for section in page.sections for item in section.items if isinstance(item, ThresholdRanking))


def answers(page, y, forecasts):
    """Rank by the score itself, from the cases, and not from the page's sums."""
    ranking = ranking_of(page)
    grid = ranking.grid.tolist()
    intervals = [
        (ranking.low, ranking.high),
        (0.0, 1.0),
        (0.02, 0.05),
        (0.5, 0.9),
        (0.0, 0.001),
        (0.99, 1.0),
        (0.3, 0.31),
    ]
    for low, high in intervals:
        means = {name: float(pr.bounded_brier_score(y, p, thresholds=(low, high))) for name, p in forecasts.items()}
        order = sorted(means, key=lambda name: (round(means[name], 13), list(means).index(name)))
        start, stop = grid.index(low), grid.index(high)
        labels = ranking.payload()["labels"]
        yield {
            "start": start,
            "stop": stop,
            "low": labels[start],
            "ends": [f"{end:g}" for end in (low, high)],
            "models": order,
            "means": [f"{means[name]:.{ranking.places}f}" for name in order],
        }


def test_the_script_under_node():
    needs_node()
    run_node("script.test.cjs")


@pytest.fixture
def pages(tmp_path, demo):
    """Return a folder with pages, and what is expected of them."""
    needs_browser()
    n, groups = 1500, ("Aarhus", "Bergen", "Turku", "Uppsala", "Vaasa")
    page = demo.demo_page(n=n, groups=groups)
    y, forecasts, _ = demo.simulate(page.models, groups, n=n)
    hostile = dataclasses.replace(demo.demo_page(n=500, models=HOSTILE, groups=GROUPS), title=TITLE)
    expected = {
        "models": page.models,
        "hostile": {
            "hostile.html": [steady(name) for name in HOSTILE],
            "cases.html": [steady(name) for name in HEADERS],
        },
        "title": steady(TITLE),
        "steps": len(ranking_of(page).grid) - 1,
        "labels": ranking_of(page).payload()["labels"],
        "intervals": list(answers(page, y, forecasts)),
        "classes": CLASSES,
    }
    files = {
        "demo.html": render(page),
        "hostile.html": render(hostile),
        "cases.html": report_of_a_csv_file(tmp_path),
        "classes.html": report_of_classes(),
        "expected.json": json.dumps(expected),
    }
    for name, text in files.items():
        (tmp_path / name).write_bytes(text.encode())
    return {"PAGES": str(tmp_path), "CHROMIUM": CHROMIUM}


@pytest.mark.slow
def test_the_page_in_a_browser(pages):
    run_node("browser.test.cjs", **pages)


@pytest.mark.nightly
def test_the_page_is_accessible(pages):
    run_node("accessibility.test.cjs", **pages)
