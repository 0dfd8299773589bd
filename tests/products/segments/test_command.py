"""`propriety segments`: exit codes, the table, JSON and the page."""

import json

import numpy as np
import polars as pl
import pytest
from pyarrow import parquet

import propriety as pr
from propriety.recalibration import IdentityMap, SegmentEffect, SegmentMap

BY = ("--by", "country", "--by", "device", "--by", "age")
EVENT = ("--outcome", "clicked", "--forecast", "p")
CASES = (*EVENT, "--seed", "1")


def visits(factor, n=6_000):
    rng = np.random.default_rng(3)
    country, device = rng.choice(["DE", "FR", "US"], n), rng.choice(["desk", "phone"], n)
    p = rng.beta(2.0, 8.0, n)
    wrong = (country == "FR") & (device == "phone")
    clicked = (rng.random(n) < np.where(wrong, np.minimum(factor * p, 1.0), p)).astype(int)
    columns = {"clicked": clicked, "p": p, "country": country, "device": device, "age": rng.normal(40.0, 12.0, n)}
    return pl.DataFrame(columns)


@pytest.fixture
def files(folder):
    visits(1.0).write_csv(folder / "calm.csv")
    visits(1.7).write_parquet(folder / "wrong.parquet")
    return folder


def test_no_segment_is_success(files, run):
    result = run("segments", "calm.csv", *CASES, *BY)
    assert result.exit_code == 0, result.output
    assert "No segment stands out" in result.stdout


def test_a_segment_is_exit_code_1(files, run):
    result = run("segments", "wrong.parquet", *CASES, *BY, "--json", "s.json", "--html", "s.html")
    assert result.exit_code == 1, result.output
    assert "country = FR and device = phone" in result.stdout
    found = json.loads((files / "s.json").read_text())
    assert (found["schema"], found["version"]) == ("propriety.segments", 1)
    frame = visits(1.7)
    expected = pr.find_segments(pr.cases(frame, "p", outcome="clicked", by=["country", "device", "age"]), seed=1)
    (segment,) = found["segments"]
    assert segment["observed_expected"] == pytest.approx(expected.observed_expected[0], rel=1e-12)
    assert segment["places"] == [{"column": "country", "label": "FR"}, {"column": "device", "label": "phone"}]
    page = (files / "s.html").read_text()
    assert "<h1>Search for miscalibrated segments</h1>" in page
    assert "all of country = FR" in page
    assert page.count("<figure") == 1


def test_events_that_were_not_expected_are_exit_code_1(files, run):
    rare = (pl.col("country") == "FR") & (pl.col("device") == "phone")
    unexpected = visits(1.0).with_columns(
        p=pl.when(rare).then(0.0).otherwise("p"), clicked=pl.when(rare).then(pl.col("age") < 25).otherwise("clicked")
    )
    unexpected.write_parquet(files / "rare.parquet")
    result = run("segments", "rare.parquet", *CASES, *BY, "--json", "s.json")
    assert result.exit_code == 1, result.output
    assert "events, although all forecasts are 0" in result.stdout
    assert json.loads((files / "s.json").read_text())["segments"][0]["observed_expected"] == "Infinity"


def test_numbers_of_text_files_are_cut(files, run):
    visits(1.0).with_columns(clicked=pl.col("age") > 50).write_csv(files / "age.csv")
    result = run("segments", "age.csv", *CASES, "--by", "age", "--quantiles", "4", "--json", "-")
    assert result.exit_code == 1, result.output
    assert "above 48" in result.stdout


@pytest.mark.parametrize("command", ["segments", "recalibrate-segments"])
def test_decimals_of_text_files_are_numbers_and_codes_are_not(files, run, command):
    """As text, "40.10" would be a label of its own, and no segment would have enough cases."""
    rows = visits(1.0, 3_000).with_columns(clicked=(pl.col("age") > 50).cast(int)).rows()
    lines = [f"{y},{p},{age:.2f},0{place % 5}" for place, (y, p, _, _, age) in enumerate(rows)]
    (files / "decimals.csv").write_text("\n".join(["clicked,p,age,zip", *lines]))
    folds = ("--folds", "3", "--output", "map.json") if command != "segments" else ("--json", "map.json")
    result = run(
        command, "decimals.csv", *(CASES if command == "segments" else EVENT), "--by", "age", "--by", "zip", *folds
    )
    assert result.exit_code == (command == "segments"), result.output
    found = json.loads((files / "map.json").read_text())
    if command == "segments":
        assert found["segments"][0]["segment"].startswith("age = above 5")
        assert found["tested"] + found["too_small"] == 5 + 5 + 25
    else:
        labels = {(column, str(label)) for one in found["effects"] for column, label in one["places"]}
        assert all(label.startswith("[") for column, label in labels if column == "age")
        assert {label for column, label in labels if column == "zip"} <= {f"0{place}" for place in range(5)}


def test_texts_of_a_map_are_texts_in_every_file(files, run, refusal):
    """A text file whose labels are all numbers is read as numbers, which are not those of the map."""
    effects = tuple(SegmentEffect((("zip", label),), 1.0) for label in ("01", "2", "x"))
    own = SegmentMap(whole=IdentityMap(), effects=effects, floor=1e-6)
    (files / "map.json").write_text(own.to_json())
    (files / "new.csv").write_text("p,zip\n0.5,1\n0.5,2\n0.5,\n")
    result = run("apply", "map.json", "new.csv", "--forecast", "p", "--output", "q.parquet")
    assert result.exit_code == 0, result.output
    found = pl.read_parquet(files / "q.parquet")["recalibrated"].to_list()
    assert found == pytest.approx(own([0.5] * 3, by={"zip": ["1", "2", None]}).tolist())
    pl.DataFrame({"p": [0.5], "zip": [1]}).write_parquet(files / "new.parquet")
    told = refusal("apply", "map.json", "new.parquet", "--forecast", "p", "--output", "q.parquet")
    assert "--by 'zip' must hold texts, like the column to which the map was fitted; got values of dtype Int64" in told


def test_a_high_level_needs_more_draws(files, run, refusal):
    level = ("--level", "0.999")
    assert "--resamples must be at least 2,500" in refusal("segments", "calm.csv", *CASES, *BY, *level)
    assert run("segments", "calm.csv", *CASES, *BY, *level, "--resamples", "2500").exit_code == 0


def test_rows_that_were_left_out_are_counted(files, run):
    visits(1.0).with_columns(p=pl.when(pl.col("p") > 0.01).then("p")).write_csv(files / "holes.csv")
    holes = (visits(1.0)["p"] <= 0.01).sum()
    assert holes > 1
    result = run("segments", "holes.csv", *CASES, *BY, "--missing", "drop", "--html", "s.html")
    told = f"{holes} rows with missing values were left out."
    assert told in result.stdout
    assert told in (files / "s.html").read_text()


def test_what_it_cannot_do_is_said(files, refusal):
    assert "No such option" in refusal("segments", "calm.csv", *CASES, *BY, "--weight", "p")
    assert "they lack ['planet']" in refusal("segments", "calm.csv", *CASES, "--by", "planet")
    pr.condense([0, 1], [0.2, 0.7]).to_parquet(files / "ledger")
    for command in ("segments", "recalibrate-segments"):
        assert "these are ledgers" in refusal(command, "ledger", *EVENT, *BY)


def test_recalibration_by_segment_is_fitted_and_applied(files, run):
    columns = ("--by", "country", "--by", "device")
    result = run("recalibrate-segments", "wrong.parquet", *EVENT, *columns, "--folds", "3", "--output", "map.json")
    assert result.exit_code == 0, result.output
    assert "auto by segment" in result.stdout
    result = run("apply", "map.json", "calm.csv", "--forecast", "p", "--output", "q.parquet")
    assert result.exit_code == 0, result.output
    frame = pl.from_arrow(parquet.read_table(files / "q.parquet"))  # Polars 1.12 misreads some such files.
    ratio = (frame["recalibrated"] / frame["p"]).to_numpy()
    wrong = ((frame["country"] == "FR") & (frame["device"] == "phone")).to_numpy()
    assert ratio[wrong].min() > ratio[~wrong].max()


@pytest.mark.parametrize("column", ["country", "age"])
def test_a_missing_key_is_named_as_on_the_command_line(column, folder, run):
    row = pl.int_range(pl.len()) == 4
    visits(1.0, 200).with_columns(pl.when(~row).then(pl.col(column)).alias(column)).write_parquet(folder / "v.parquet")
    result = run("segments", "v.parquet", *CASES, *BY)
    assert result.exit_code == 2
    assert f"--by '{column}' must be known for every case" in result.output


def test_errors_name_the_option(files, refusal):
    visits(1.0).write_csv(files / "age.csv")
    told = refusal("segments", "age.csv", *CASES, "--by", "age", "--quantiles", "1")
    assert "--quantiles must be a whole number from 2 to 1,000" in told
    rows = visits(1.0, 60).with_columns(time=pl.when(pl.col("age") > 40).then(pl.lit("a")))
    rows.write_csv(files / "time.csv")
    told = refusal("evaluate", "time.csv", *CASES, "--by", "time")
    assert "--by 'time' must be known for every case" in told


def test_segments_are_columns_and_not_crosses(refusal):
    given = ("p.csv", "--outcome", "y", "--forecast", "bold", "--by", "site,day")
    for command in ("recalibrate-segments", "segments"):
        assert "they lack ['site,day']" in refusal(command, *given)
