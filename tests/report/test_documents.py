"""The tables of a report for LaTeX and Word."""

import shutil
import subprocess

import numpy as np
import pytest

import propriety as pr
from propriety.report.cells import Estimate
from propriety.report.documents import latex_table
from propriety.report.page import Table

RNG = np.random.default_rng(1)
P = RNG.beta(1, 3, 200)
Y = RNG.random(200) < P


@pytest.mark.parametrize("name", ["\\input{secret}", "50% & $x_1$ #2 ~^{}", "a\nb"])
def test_names_cannot_become_commands(name):
    text = latex_table(Table(title=name, columns={name: [name]}, note=name))
    assert "\\input" not in text
    assert text.count("\\\\") == 2
    for mark in "%&#_":
        assert text.count(mark) == text.count(f"\\{mark}")


@pytest.mark.parametrize("name", ["[3cm]", "*"])
def test_names_cannot_become_arguments(name):
    lines = latex_table(Table(title="A", columns={name: [name, name], "b": [1.0, 2.0]})).splitlines()
    assert sum(line.startswith(f"{{}}{name}") for line in lines) == 3
    assert not any(line.startswith(name) for line in lines)


def test_an_interval_is_in_brackets():
    text = latex_table(Table(title="A", columns={"a": [Estimate(-0.1, -0.2, 0.3)]}))
    assert "$-$0.1000 ($-$0.2000 to 0.3000)" in text


@pytest.mark.slow
def test_an_evaluation_has_its_tables():
    result = pr.evaluate(Y, {"a_1": P, "b": P**2}, thresholds=0.2, seed=1, n_resamples=20)
    text = result.to_latex()
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") > 5
    assert r"a\_1" in text
    assert "Decisions at the threshold" in text


DOCUMENT = r"""\documentclass{{article}}
\usepackage[utf8]{{inputenc}}
\usepackage[T1]{{fontenc}}
\usepackage{{booktabs}}
\begin{{document}}
{}
\end{{document}}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_pdflatex_sets_hostile_names_as_text(tmp_path):
    names = [r"\input{/etc/hostname}", r"a&b_100%$#~^{}\write18{ls}", "[3cm] -- ''`<>|\"", "naïve “é” µ", "%"]
    forecasts = {name: P ** (1 + power / 5) for power, name in enumerate(names)}
    site = np.where(np.arange(len(Y)) % 2, r"A&B \hline", "50% _x_")
    result = pr.evaluate(Y, forecasts, thresholds=(0.1, 0.3), by={"si_te & {co}": site}, seed=1, n_resamples=20)
    (tmp_path / "tables.tex").write_text(DOCUMENT.format(result.to_latex()), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "tables.tex"]
    run = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True, errors="replace")  # noqa: S603
    assert run.returncode == 0, run.stdout[-2000:]
    assert (tmp_path / "tables.pdf").stat().st_size > 10_000


@pytest.mark.slow
def test_a_word_file_has_the_same_tables(tmp_path):
    docx = pytest.importorskip("docx")
    result = pr.evaluate(Y, {"a": P, "b": P**2}, thresholds=0.2, seed=1, n_resamples=20)
    result.to_word(tmp_path / "tables.docx")
    read = docx.Document(str(tmp_path / "tables.docx"))
    assert len(read.tables) == result.to_latex().count(r"\begin{table}")
    assert read.tables[0].rows[0].cells[0].text == "model"
