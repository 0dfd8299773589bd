"""CSV: labels stay what is written, and what cannot be read is named by line and column."""

import datetime as dt
import gzip
import json
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from sliced import groups_in_json

from propriety.cli.files import open_relation

COLUMNS = ("--outcome", "y", "--forecast", "p")
FEW = ("--resamples", "20")
BODY = "y,p,k\n" + "1,0.5,a\n0,0.2,b\n" * 20


def answer(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def groups(result):
    return [str(row["k"]) for row in groups_in_json(answer(result), "k")]


def cases(labels, extra="k"):
    rng = np.random.default_rng(1)
    rows = [f"{rng.integers(0, 2)},{rng.uniform():.3f},{label}" for label in labels]
    return "\n".join([f"y,p,{extra}", *rows]) + "\n"


def test_labels_that_look_like_numbers_stay_text(run, folder):
    labels = [f"{one}e{other}" for one in range(5) for other in range(7)]
    (folder / "x.csv").write_text(cases(labels * 12))
    assert groups(run("evaluate", "x.csv", *COLUMNS, "--by", "k", *FEW, "--json", "-")) == sorted(labels)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "2", "10"], ["1", "2", "10"]),
        (["007", "07", "7"], ["007", "07", "7"]),
        (["0.5", "-0.25"], ["-0.25", "0.5"]),
        (["0.5", "0.50"], ["0.5", "0.50"]),
        (["18446744073709551615", "9223372036854775807"], ["9223372036854775807", "18446744073709551615"]),
        (["1", "x"], ["1", "x"]),
        (["2024-01-02", "2024-01-10"], ["2024-01-02", "2024-01-10"]),
        (["1970-01-01 00:00:00+09:00", "1970-01-01 00:00:00+01:00"], None),
        (["inf", "infinity"], None),
        (["True", "true"], None),
    ],
    ids=str,
)
def test_groups_are_what_is_written(run, folder, labels, expected):
    (folder / "x.csv").write_text(cases(labels * 20))
    found = groups(run("evaluate", "x.csv", *COLUMNS, "--by", "k", *FEW, "--json", "-"))
    assert found == (sorted(labels) if expected is None else expected)


def test_unsigned_identifiers_of_clusters_stay_distinct(run, folder):
    (folder / "x.csv").write_text(cases([2**63 + one // 2 for one in range(400)]))
    found = answer(run("evaluate", "x.csv", *COLUMNS, "--cluster", "k", *FEW, "--json", "-"))
    assert "2 clusters" not in found["scores"][0]["note"]
    with open_relation([folder / "x.csv"], roles={"k": "label"}) as opened:
        assert opened.select("k").unique().collect().shape[0] == 200


def test_times_are_in_order_however_they_are_written(run, folder):
    times = [f"{one}.0" for one in range(1, 13)]
    (folder / "x.csv").write_text(cases(times * 20))
    with open_relation([folder / "x.csv"], roles={"k": "value"}) as opened:
        assert sorted(opened.select("k").unique().collect()["k"].to_list()) == list(map(float, range(1, 13)))


@pytest.mark.parametrize("form", ["%d/%m/%y", "%d/%m/%Y", "%y-%m-%d", "%m-%d-%y", "%d.%m.%Y"])
def test_local_dates_are_refused_as_times(refusal, folder, form):
    """DuckDB would read 01/02/26 as the 26th of February of the year 1."""
    days = [(dt.date(2026, 1, 1) + dt.timedelta(one)).strftime(form) for one in range(40)]
    (folder / "x.csv").write_text(cases(days * 5))
    for command in (("evaluate", *FEW), ("recalibrate",), ("condense", "-o", "ledger")):
        told = refusal(command[0], "x.csv", *COLUMNS, "--period", "k", *command[1:])
        assert "--period must hold numbers or dates" in told
        assert "write all dates as 2026-01-31" in told


@pytest.mark.product("monitoring")
@pytest.mark.parametrize("form", ["%d/%m/%y", "%d.%m.%Y"])
def test_local_dates_are_refused_as_days_of_a_monitor(run, refusal, folder, form):
    days = [(dt.date(2026, 1, 1) + dt.timedelta(one)).strftime(form) for one in range(40)]
    (folder / "x.csv").write_text(cases(days * 5))
    assert run("condense", "x.csv", *COLUMNS, "--by", "k", "-o", "ledger").exit_code == 0
    assert "must sort in the order of time" in refusal("monitor", "ledger", "--period", "k")


def test_iso_texts_of_parquet_are_times(run, folder):
    days = [str(dt.date(2026, 1, 1) + dt.timedelta(one)) for one in range(40)] * 5
    (folder / "x.csv").write_text(cases(days))
    table = csv.read_csv(folder / "x.csv", convert_options=csv.ConvertOptions(column_types={"k": pa.string()}))
    parquet.write_table(table, folder / "x.parquet")
    one, other = (
        run("evaluate", file, *COLUMNS, "--period", "k", *FEW, "--seed", 1).stdout for file in ("x.csv", "x.parquet")
    )
    assert one == other
    assert "Brier score" in one


def test_a_label_of_the_outcome_may_turn_up_late(run, folder):
    (folder / "x.csv").write_text("y,p\n" + "0,0.1\n" * 30_000 + "yes,0.5\n")
    assert ", 30,001 cases" in run("evaluate", "x.csv", *COLUMNS, "--pos-label", "yes", *FEW).stdout


def test_large_labels_of_the_outcome_are_told_apart(run, folder):
    (folder / "x.csv").write_text("y,p\n" + f"{2**53},0.2\n{2**53 + 1},0.8\n" * 20)
    result = run("evaluate", "x.csv", *COLUMNS, "--classes", f"{2**53},{2**53 + 1}", *FEW, "--json", "-")
    assert answer(result)["metrics"]["brier"] == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (BODY + "1,0.5\n", "line 42 of x.csv has 2 fields and the header 3: it ends before 'k'."),
        (
            BODY + "1,0.5,c,d\n",
            "line 42 of x.csv has more fields than the header: it is '1,0.5,c,d'. Hint: put a field",
        ),
        ("y,p,k\n" + "1,0.5,a\n" * 30_000 + "1,0.5\n", "line 30,002 of x.csv has 2 fields and the header 3"),
        ("y,p,p\n1,0.5,0.2\n", "columns must have distinct names; line 1 of x.csv has 'p' twice"),
        ("y,p\n" + "1,0.5\n" * 30_000 + "abc,0.5\n", "column 'y' must contain numbers; line 30,002 of x.csv has 'abc'"),
        ("y,p\n1,0.5\n0,25%\n", "line 3 of x.csv has '25%'. Hint: divide percentages by 100, and write them without"),
        ("y,p\n1,0.5\n0,abc\n", "column 'p' must contain numbers; line 3 of x.csv has 'abc'. Hint: use --null abc"),
        ("y;p\n1;0,5\n0;0.2\n", "column 'p' must contain numbers; line 2 of x.csv has '0,5'. Hint: write numbers"),
        ("y;p\n1;0,5\n0;0,25\n0;abc\n", "column 'p' must contain numbers; line 4 of x.csv has 'abc'. Hint: use --null"),
        ("y,p\n1,0.5\n0,\u00a00.107\n", "line 3 of x.csv has '\\xa00.107'. Hint: remove the no-break"),
        ("y,p\n1,0.5\n0,1_0\n", "column 'p' must contain numbers; row 2 of the files has '1_0'."),
        ("y;p\n1;1.234,5\n", "line 2 of x.csv has '1.234,5'. Hint: write numbers without separators of thousands"),
        (
            BODY + '1,0.5,"a\n1,0.5,b\n',
            "quotes must be closed, and doubled within a field; line 42 of x.csv has one that is not",
        ),
    ],
    ids=[
        "short",
        "long",
        "late",
        "twice",
        "late word",
        "percent",
        "word",
        "mixed signs",
        "word among commas",
        "no-break space",
        "underscore",
        "thousands",
        "open quote",
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_faults_are_named_by_line_and_column(folder, refusal, content, told, packed):
    data = content.encode()
    (folder / "x.csv").write_bytes(gzip.compress(data) if packed else data)
    assert told in refusal("evaluate", "x.csv", *COLUMNS)


def test_text_of_another_encoding_is_refused(folder, refusal):
    (folder / "x.csv").write_bytes(BODY.encode("utf-16"))
    assert "text must be UTF-8; x.csv is not. Hint: convert it" in refusal("evaluate", "x.csv", *COLUMNS)


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with a mark"])
def test_the_separator_is_that_of_the_header(run, folder, sign, mark):
    (folder / "x.csv").write_text(mark + BODY.replace(",", sign), encoding="utf-8")
    assert ", 40 cases" in run("evaluate", "x.csv", *COLUMNS, *FEW).stdout


def test_files_of_different_separators_are_refused(folder, refusal):
    (folder / "a.csv").write_text(BODY)
    (folder / "b.csv").write_text(BODY.replace(",", ";"))
    assert "files must have the same separator; a.csv has ','; b.csv has ';'." in refusal(
        "evaluate", "a.csv", "b.csv", *COLUMNS
    )


def test_a_column_without_a_name_is_none_of_ours(run, folder):
    lines = BODY.splitlines()
    (folder / "x.csv").write_text("\n".join(["," + lines[0], *(f"{one},{line}" for one, line in enumerate(lines[1:]))]))
    assert ", 40 cases" in run("evaluate", "x.csv", *COLUMNS, *FEW).stdout


def test_a_sign_of_comments_is_no_comment(run, folder):
    (folder / "x.csv").write_text("y,p,k\n" + "1,0.5,#a\n0,0.2,b\n" * 20)
    assert groups(run("evaluate", "x.csv", *COLUMNS, "--by", "k", *FEW, "--json", "-")) == ["#a", "b"]


COMMA = "y;p;w\n1;0,8;1,5\n0;0,25;2\n0;;1\n"


@pytest.mark.parametrize("body", [COMMA, COMMA.replace(";", "\t"), 'y,p,w\n1,"0,8","1,5"\n0,"0,25",2\n0,,1\n'])
def test_a_decimal_comma_is_found(run, folder, body):
    (folder / "x.csv").write_text(body)
    found = answer(run("evaluate", "x.csv", *COLUMNS, "--weight", "w", "--missing", "drop", *FEW, "--json", "-"))
    assert found["metrics"]["brier"] == pytest.approx((1.5 * 0.04 + 2 * 0.0625) / 3.5)
    assert found["dropped"] == 1


@pytest.mark.parametrize(
    ("body", "options", "weight"),
    [
        ("y;p;w\n1;0,8;1,234\n0;0,3;1\n", [], 1.234),
        ("y#p#w\n1#0.8#2\n0#0.3#1\n", ["--delimiter", "#"], 2.0),
        ("y;p;w\n1;8e-1;2\n0;0,3;1\n", ["--decimal", ","], 2.0),
    ],
)
def test_numbers_are_read_as_the_user_says(run, folder, body, options, weight):
    (folder / "x.csv").write_text(body)
    found = answer(run("evaluate", "x.csv", *COLUMNS, "--weight", "w", *options, *FEW, "--json", "-"))
    assert found["metrics"]["brier"] == pytest.approx((weight * 0.04 + 0.09) / (weight + 1))


def test_a_plus_sign_is_part_of_a_number(run, folder):
    (folder / "x.csv").write_text("y,p,k\n1,+0.8,a\n0,+.3,b\n0,0.3,a\n")
    found = answer(run("evaluate", "x.csv", *COLUMNS, *FEW, "--json", "-"))
    assert found["metrics"]["brier"] == pytest.approx((0.04 + 0.09 + 0.09) / 3)


def test_names_in_another_unicode_form_are_told(folder, refusal):
    composed, split = (unicodedata.normalize(form, "prédiction") for form in ("NFC", "NFD"))
    for own, named in ((composed, split), (split, composed)):
        (folder / "x.csv").write_text(f"y,{own}\n1,0.5\n0,0.2\n", encoding="utf-8")
        told = refusal("evaluate", "x.csv", "--outcome", "y", "--forecast", named)
        assert (
            f"they lack ['{named}']. Hint: their columns are ['y', '{own}']. '{named}' is among them in another" in told
        )


@pytest.mark.parametrize(
    ("body", "options", "told"),
    [
        ("y;p\n1;0.8\n0;0,3\n", ["--decimal", ","], "line 2 of x.csv has '0.8'"),
        (
            "y;p;w\n1;0.8;1,234\n0;0.3;2,500\n",
            ["--weight", "w"],
            "column 'w' must contain numbers; line 2 of x.csv has '1,234'",
        ),
        ("y;p\n" + "1;1.0\n" * 30_000 + "1;0,5\n", [], "line 30,002 of x.csv has '0,5'. Hint: write numbers"),
        (BODY, ["--decimal", ";"], "Invalid value for '--decimal'"),
        (BODY, ["--delimiter", "ab"], "--delimiter must be one sign; got 'ab'"),
    ],
)
def test_numbers_in_doubt_are_refused_with_their_cell(refusal, folder, body, options, told):
    (folder / "x.csv").write_text(body)
    assert told in refusal("evaluate", "x.csv", *COLUMNS, *options)


def test_maps_are_applied_to_forecasts_with_a_decimal_comma(run, folder):
    run("recalibrate", "p.csv", "--outcome", "y", "--forecast", "honest", "-o", "map.json")
    (folder / "x.csv").write_text("p;k\n0,8;a\n0,25;b\n")
    assert run("apply", "map.json", "x.csv", "--forecast", "p", "-o", "q.csv").exit_code == 0
    assert (folder / "q.csv").read_text().splitlines()[0] == "p,k,recalibrated"
    assert (folder / "q.csv").read_text().splitlines()[1].startswith("0.8,a,0.")


LATE = "y,p,w\n" + "1,1,1\n0,1,1\n" * 15_000  # DuckDB guesses types from fewer lines.


def test_decimals_after_many_integers_are_not_rounded(run, folder):
    (folder / "x.csv").write_text(LATE + "0,0.4,1.4\n" * 5000)
    found = answer(run("evaluate", "x.csv", *COLUMNS, *FEW, "--json", "-"))
    assert found["metrics"]["brier"] == pytest.approx((15_000 + 5000 * 0.16) / 35_000)
    found = answer(run("evaluate", "x.csv", *COLUMNS, "--weight", "w", *FEW, "--json", "-"))
    assert found["metrics"]["brier"] == pytest.approx((15_000 + 5000 * 1.4 * 0.16) / (30_000 + 5000 * 1.4))


def test_an_outcome_with_a_late_decimal_is_refused(refusal, folder):
    (folder / "x.csv").write_text(LATE + "0.4,0.4,1\n")
    told = refusal("evaluate", "x.csv", *COLUMNS)
    assert "the outcome must hold 0 and 1 (or False and True)" in told
    assert "row 30000 is 0.4" in told


ROWS = ((1, 1, 0.8, 0.4), (0, 0, 0.3, 0.45))


@pytest.mark.parametrize(
    ("head", "outcome", "forecast", "place"),
    [
        ("y,P,p,p_1", "y", "p_1", 3),
        ("y,P,p,q", "y", "p", 2),
        ("y,p,P,y_1", "y", "p", 1),
        (",y,column0,q", "y", "column0", 2),
        (",column0,p,q", "column0", "p", 2),
        ("y,p,P,p_", "y", "p_", 3),
        (",y, p ,q", "y", "p", 2),
    ],
)
def test_the_column_that_is_named_is_read(run, folder, head, outcome, forecast, place):
    """DuckDB renames columns without names, and those whose names differ only in the case of letters."""
    lines = [",".join(map(str, row)) for row in ROWS * 20]
    (folder / "x.csv").write_text("\n".join([head, *lines]) + "\n")
    given = ("evaluate", "x.csv", "--outcome", outcome, "--forecast", forecast, *FEW, "--json", "-")
    brier = sum((row[place] - row[0]) ** 2 for row in ROWS) / 2
    assert answer(run(*given))["metrics"]["brier"] == pytest.approx(brier)


@pytest.mark.parametrize(
    ("head", "used", "told"),
    [
        ("y,P,p,q", ("y", "P", "p"), "line 1 of x.csv has 'P' and 'p'"),
        ("y,,p,q", ("y", "column1"), "they lack ['column1']"),
        ("y,P,q,r", ("y", "p"), "they lack ['p']"),
    ],
)
def test_a_column_that_is_not_there_or_not_alone_is_refused(refusal, folder, head, used, told):
    (folder / "x.csv").write_text(f"{head}\n" + "1,1,0.8,0.4\n0,0,0.3,0.4\n" * 20)
    forecasts = [part for name in used[1:] for part in ("--forecast", name)]
    assert told in refusal("evaluate", "x.csv", "--outcome", used[0], *forecasts)


def test_words_for_outcomes_are_what_is_written(run, folder):
    """DuckDB reads yes, no, t and f as booleans; then labels that no line has would be found."""
    lines = [f"{'yes' if event else 'no'},{0.1 + 0.02 * row}" for row, event in enumerate([0, 1, 1] * 13)]
    (folder / "x.csv").write_text("y,p\n" + "\n".join(lines) + "\n")
    assert answer(run("evaluate", "x.csv", *COLUMNS, "--pos-label", "yes", *FEW, "--json", "-"))["n"] == 39
    for typed in ([], ["--pos-label", "Y"], ["--pos-label", "true"]):
        refused = run("evaluate", "x.csv", *COLUMNS, *typed, *FEW)
        assert refused.exit_code == 2
        assert "the outcome must hold" in refused.output
    (folder / "x.csv").write_text("y,p\n" + "True,0.6\nFALSE,0.2\ntrue,0.5\nfalse,0.4\n" * 5)
    assert answer(run("evaluate", "x.csv", *COLUMNS, *FEW, "--json", "-"))["n"] == 20


@pytest.mark.parametrize(
    ("name", "typed", "told"),
    [
        ("x.parquet", ["--decimal", ","], "--decimal does not apply to Parquet files. Hint: leave it out."),
        ("x.parquet", ["--null", "NA"], "--null does not apply to Parquet files. Hint: leave it out."),
        ("x.csv", ["--sheet", "a"], "--sheet does not apply to CSV files. Hint: leave it out."),
    ],
)
def test_options_of_other_files_are_refused(run, folder, name, typed, told):
    (folder / "x.csv").write_text(BODY)
    parquet.write_table(csv.read_csv(folder / "x.csv"), folder / "x.parquet")
    result = run("evaluate", name, *COLUMNS, *FEW, *typed)
    assert result.exit_code == 2
    assert told in result.output


def test_capital_letters_at_the_end_of_a_file_name_are_no_other_format(run, folder):
    (folder / "x.csv").write_text(cases("ab" * 20))
    assert run("recalibrate", "x.csv", *COLUMNS, "--method", "logistic", "-o", "map.json").exit_code == 0
    for name in ("new.CSV", "new.PARQUET"):
        result = run("apply", "map.json", "x.csv", "--forecast", "p", "-o", name)
        assert result.exit_code == 0, result.output
    assert parquet.read_table(folder / "new.PARQUET").column_names == ["y", "p", "k", "recalibrated"]
    assert (folder / "new.CSV").read_text().startswith("y,p,k,recalibrated\n")
