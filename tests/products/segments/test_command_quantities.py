"""Numbers that define segments, in text files and sheets: their signs, and words for missing values among them."""

import json

import numpy as np
import polars as pl
import pytest

CASES = ("--outcome", "y", "--forecast", "p")
SEED = ("--seed", "1")


def people(n=1_500):
    rng = np.random.default_rng(4)
    age, p = rng.integers(2_000, 8_000, n) / 100.0, rng.uniform(0.2, 0.5, n)
    y = (rng.random(n) < np.where(age > 65.0, 1.8 * p, p)).astype(int)
    return pl.DataFrame({"y": y, "p": p.round(4), "age": age, "income": (1000 * age).astype(int)})


def lines(*, comma, changes=()):
    """Return the cases as lines of a text file: `changes` are texts of the age by row."""
    rows = [[str(y), f"{p:.4f}", f"{age:.2f}", f"{income:,}"] for y, p, age, income in people().rows()]
    for row, text in changes:
        rows[row][2] = text
    if comma:
        signs = str.maketrans(",.", ".,")
        return "\n".join(["y;p;age;income", *(";".join(one.translate(signs) for one in row) for row in rows)])
    return "\n".join(["y\tp\tage\tincome", *("\t".join(row) for row in rows)])


@pytest.fixture
def files(folder):
    (folder / "points.csv").write_text(lines(comma=False))
    (folder / "commas.csv").write_text(lines(comma=True))
    return folder


@pytest.mark.parametrize("options", [(), ("--decimal", ",")], ids=str)
def test_segments_are_those_of_the_numbers_however_they_are_written(files, run, options):
    expected = run("segments", "points.csv", *CASES, *SEED, "--by", "age")
    assert expected.exit_code == 1
    assert "age = above 6" in expected.stdout
    found = run("segments", "commas.csv", *CASES, *SEED, "--by", "age", *options)
    assert (found.exit_code, found.stdout) == (1, expected.stdout)


@pytest.mark.parametrize("file", ["points.csv", "commas.csv"])
def test_separators_of_thousands_are_refused(files, refusal, file):
    told = refusal("segments", file, *CASES, "--by", "income")
    assert "column 'income' must contain numbers; line 2" in told
    assert "without separators of thousands" in told


def test_maps_of_numbers_are_fitted_and_applied_however_they_are_written(files, run):
    maps, columns = [], []
    for name in ("points", "commas"):
        fit = ("--method", "logistic", "--folds", "3", "-o", f"{name}.json")
        result = run("recalibrate-segments", f"{name}.csv", *CASES, "--by", "age", *fit)
        assert result.exit_code == 0, result.output
        maps.append(json.loads((files / f"{name}.json").read_text()))
        result = run("apply", "points.json", f"{name}.csv", "--forecast", "p", "-o", f"{name}.parquet")
        assert result.exit_code == 0, result.output
        columns.append(pl.read_parquet(files / f"{name}.parquet")["recalibrated"])
    assert maps[0] == maps[1]
    assert all(isinstance(label, list) for one in maps[0]["effects"] for _, label in one["places"])
    assert columns[0].equals(columns[1])
    result = run("apply", "points.json", "commas.csv", "--forecast", "p", "--decimal", ",", "-o", "out.csv")
    assert result.exit_code == 0, result.output
    written = pl.read_csv(files / "out.csv")
    assert written["p"].to_list() == people()["p"].to_list()
    assert written["recalibrated"].to_list() == columns[0].to_list()


@pytest.mark.parametrize("file", ["points.csv", "commas.csv"])
@pytest.mark.parametrize("command", [("segments",), ("evaluate", "--resamples", "20")], ids=lambda one: one[0])
def test_a_column_may_hold_the_forecasts_and_define_the_groups(files, run, file, command):
    result = run(command[0], file, *CASES, "--by", "p", *command[1:], "--json", "-")
    assert result.exit_code in (0, 1), result.output
    assert json.loads(result.stdout)["schema"].startswith("propriety.")


@pytest.mark.parametrize(("word", "typed"), [("NA", "NA"), ("n/a", "n/a"), ("?", "'?'")])
@pytest.mark.parametrize("comma", [False, True])
def test_a_word_among_many_numbers_is_refused(files, run, refusal, word, typed, comma):
    """Each number would be a label of its own, and no segment would have enough cases."""
    (files / "x.csv").write_text(lines(comma=comma, changes=[(3, word), (900, word)]))
    told = refusal("segments", "x.csv", *CASES, "--by", "age")
    assert f"column 'age' must contain numbers; line 5 of x.csv has {word!r}. Hint: use --null {typed} if" in told
    run(
        "recalibrate-segments",
        "points.csv",
        *CASES,
        "--by",
        "age",
        "--method",
        "logistic",
        "--folds",
        "3",
        "-o",
        "map.json",
    )
    assert f"use --null {typed}" in refusal("apply", "map.json", "x.csv", "--forecast", "p", "-o", "out.csv")
    assert run("apply", "map.json", "x.csv", "--forecast", "p", "--null", word, "-o", "out.csv").exit_code == 0


@pytest.mark.parametrize(
    "labels",
    [
        ["1", "2", "3", "other"],
        ["1.5", "3.0", "unknown"],
        [*(f"0{place}" for place in range(100, 160)), "unknown"],
        [*(f"{place}.{place % 7}" for place in range(100, 160)), *(f"V{place}" for place in range(20))],
    ],
    ids=["few numbers", "few decimals", "codes", "many words"],
)
def test_numbers_and_words_may_be_labels(folder, run, labels):
    rows = [f"{place % 2},0.5,{labels[place % len(labels)]}" for place in range(40 * len(labels))]
    (folder / "x.csv").write_text("\n".join(["y,p,k", *rows]))
    found = json.loads(run("segments", "x.csv", *CASES, "--by", "k", "--json", "-").stdout)
    assert found["tested"] + found["too_small"] == len(labels)
