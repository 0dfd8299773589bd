"""`propriety evaluate`: the numbers of the package, whatever file holds the cases, and what is written of them."""

import gzip
import io
import json
import math
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from propriety.cli import cases
from propriety.evaluation.evaluate import evaluate

CLOSE = 1e-12
FEW = ("--resamples", "50", "--seed", "1")
BOTH = ("--outcome", "y", "--forecast", "honest", "--forecast", "bold", *FEW)


def ipc_stream(table):
    kept = io.BytesIO()
    with pa.ipc.new_stream(kept, table.schema) as writer:
        writer.write_table(table)
    return kept.getvalue()


def written(table, form):
    kept = io.BytesIO()
    if form == "stream":
        return ipc_stream(table)
    {"csv": csv.write_csv, "gzip": csv.write_csv, "parquet": parquet.write_table, "arrow": feather.write_feather}[form](
        table, kept
    )
    return gzip.compress(kept.getvalue()) if form == "gzip" else kept.getvalue()


def numbers(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["metrics"]


FORMS = ("csv", "gzip", "parquet", "arrow", "stream")
WAYS = [*((form, False, False) for form in FORMS), *((form, False, True) for form in FORMS)]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "piped", "lazy"), [*WAYS, ("csv", True, False), ("parquet", True, True)])
def test_the_numbers_are_those_of_arrays(run, folder, columns, monkeypatch, form, piped, lazy):
    monkeypatch.setattr(cases, "IN_MEMORY", 0 if lazy else 1_000_000)
    content = written(pa.table(columns), form)
    (folder / "cases").write_bytes(content)
    result = run("evaluate", "-" if piped else "cases", *BOTH, "--json", "-", input=content if piped else None)
    models = {name: columns[name] for name in ("honest", "bold")}
    expected = evaluate(columns["y"], models, n_resamples=50, seed=1).to_dict()
    found = numbers(result)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        told = np.nan if found[key] is None else found[key]  # JSON has no NaN.
        assert told == pytest.approx(value, rel=CLOSE, abs=CLOSE, nan_ok=True), key


def test_every_option_reaches_the_evaluation(run, columns):
    result = run(
        *("evaluate", "p.parquet", *BOTH, "--thresholds", "0.1", "0.3", "--by", "site", "--cluster", "patient"),
        *("--weight", "w", "--level", "0.8", "--json", "-"),
    )
    expected = evaluate(
        columns["y"],
        {name: columns[name] for name in ("honest", "bold")},
        thresholds=(0.1, 0.3),
        by=columns["site"],
        cluster=columns["patient"],
        sample_weight=columns["w"],
        level=0.8,
        n_resamples=50,
        seed=1,
    )
    found = json.loads(result.stdout)
    written = {name: math.nan if value is None else value for name, value in found["metrics"].items()}
    assert written == pytest.approx(expected.to_dict(), rel=CLOSE, nan_ok=True)
    assert found["summary"] == list(expected.card.words)
    assert (found["slices"]["by"], found["slices"]["measure"]) == (["site"], "bounded_brier")
    assert [row["site"] for row in found["slices"]["rows"]] == expected.slices.keys["group"].tolist()
    assert (found["level"], found["thresholds"], found["headline"]) == (0.8, [0.1, 0.3], "bounded_brier")


def test_a_known_threshold(run):
    result = run("evaluate", "p.csv", *BOTH, "--thresholds", "0.2", "--by", "site", "--json", "-")
    found = json.loads(result.stdout)
    assert found["thresholds"] == 0.2
    assert {row["measure"] for row in found["slices"]["rows"]} >= {"excess", "net_benefit_at_0.2"}


@pytest.mark.slow
@pytest.mark.parametrize("lazy", [False, True], ids=["read", "counted"])
def test_every_column_of_groups_is_reported_on(run, columns, monkeypatch, lazy):
    monkeypatch.setattr(cases, "IN_MEMORY", 0 if lazy else 1_000_000)
    given = ("evaluate", "p.csv", *BOTH, "--by", "site", "--by", "half")
    half = np.where(np.arange(300) < 150, "first", "second")
    csv.write_csv(pa.table(columns | {"half": half}), "p.csv")
    found = json.loads(run(*given, "--json", "-").stdout)["slices"]
    models = {name: columns[name] for name in ("honest", "bold")}
    expected = evaluate(columns["y"], models, by={"site": columns["site"], "half": half}, n_resamples=50, seed=1).slices
    assert found["by"] == ["site", "half"]
    for key in found["by"]:
        assert [row[key] for row in found["rows"]] == expected.keys[key].tolist()
    assert [row["value"] for row in found["rows"]] == pytest.approx(expected.value.tolist(), rel=CLOSE)
    assert "groups (site, half)?" in run(*given).stdout


def test_the_groups_of_classes(run, columns):
    result = run(
        *("evaluate", "p.csv", "--outcome", "grade", "--forecast", "m=g0,g1,g2", "--classes", "low,mid,high"),
        *("--by", "site", *FEW),
    )
    assert re.search(r" 3 classes\n", result.stdout)
    assert "\nAlike in " in result.stdout
    assert " groups (site)?\n" in result.stdout


@pytest.mark.parametrize("lazy", [False, True], ids=["read", "counted"])
@pytest.mark.parametrize("ordered", [False, True])
def test_classes_are_named_in_the_order_of_their_columns(run, columns, monkeypatch, ordered, lazy):
    monkeypatch.setattr(cases, "IN_MEMORY", 0 if lazy else 1_000_000)
    order = ["--ordered"] if ordered else []
    result = run(
        *("evaluate", "p.csv", "--outcome", "grade", "--forecast", "m=g0,g1,g2", "--classes", "low,mid,high"),
        *(*order, *FEW, "--json", "-"),
    )
    rows = np.column_stack([columns[f"g{place}"] for place in range(3)])
    expected = evaluate(
        columns["grade"], {"m": rows}, labels=["low", "mid", "high"], ordered=ordered, n_resamples=50, seed=1
    )
    written = {name: math.nan if value is None else value for name, value in numbers(result).items()}
    assert written == pytest.approx(expected.to_dict(), rel=CLOSE, nan_ok=True)


@pytest.mark.parametrize(
    ("outcome", "options"),
    [
        (["no", "yes", "no", "yes"], ["--pos-label", "yes"]),
        ([1, 2, 1, 2], ["--pos-label", "2"]),
        ([1.5, 2.5, 1.5, 2.5], ["--pos-label", "2.5"]),
        ([False, True, False, True], []),
        ([False, True, False, True], ["--pos-label", "TRUE"]),
        ([7, 9, 7, 9], ["--classes", "7,9"]),
    ],
)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_labels_are_typed_as_the_outcomes_are(run, folder, form, outcome, options):
    table = pa.table({"y": outcome, "p": [0.1, 0.8, 0.4, 0.3]})
    (folder / "cases").write_bytes(written(table, form))
    result = run("evaluate", "cases", "--outcome", "y", "--forecast", "p", *FEW, "--json", "-", *options)
    assert numbers(result)["brier"] == pytest.approx((0.01 + 0.04 + 0.16 + 0.49) / 4, rel=CLOSE)


def test_decimals_of_warehouses_are_read_as_numbers(run, folder):
    forecast = pa.array([0.1, 0.8]).cast(pa.decimal128(10, 4))
    parquet.write_table(pa.table({"y": [0, 1], "p": forecast}), folder / "d.parquet")
    result = run("evaluate", "d.parquet", "--outcome", "y", "--forecast", "p", *FEW, "--json", "-")
    assert numbers(result)["brier"] == pytest.approx(0.025, rel=CLOSE)


def test_missing_values_are_refused_or_dropped_and_counted(run, refusal, folder):
    (folder / "m.csv").write_text("y,p\n1,0.8\n0,\n0,NA\n0,0.3\n")
    given = ("evaluate", "m.csv", "--outcome", "y", "--forecast", "p", "--null", "NA", *FEW)
    assert "--missing drop" in refusal(*given)
    found = json.loads(run(*given, "--missing", "drop", "--json", "-").stdout)
    assert (found["n"], found["dropped"]) == (2, 2)


def test_files_are_put_together_by_the_names_of_their_columns(run, folder):
    (folder / "day 1.csv").write_text("y,p\n1,0.8\n0,0.3\n")
    (folder / "day 2.csv").write_text("p,y\n0.6,1\n0.2,0\n")
    found = run("evaluate", "day*.csv", "--outcome", "y", "--forecast", "p", *FEW, "--json", "-")
    assert numbers(found)["brier"] == pytest.approx((0.04 + 0.09 + 0.16 + 0.04) / 4, rel=CLOSE)


def test_a_model_has_the_name_that_it_is_given(run, folder):
    (folder / "n.csv").write_text('y,a=b,"c,d"\n1,0.8,0.7\n0,0.3,0.2\n')
    result = run(
        *("evaluate", "n.csv", "--outcome", "y", "--forecast", "a=b", "--forecast", 'mine="c,d"', *FEW),
        *("--json", "-"),
    )
    assert json.loads(result.stdout)["models"] == ["a=b", "mine"]


def test_it_prints_the_card(run):
    result = run("evaluate", "p.csv", *BOTH, "--by", "site")
    assert result.stdout.startswith("No model is shown to be better: keep the simpler one")
    assert "\n2 models, 300 cases, " in result.stdout
    assert re.search(r"\n  AUC +\(higher\) +0\.\d+  0\.\d+ to 0\.\d+", result.stdout)
    assert "groups (site)?" in result.stdout
    assert result.stdout.endswith("Seed 1.\n")
    assert "\x1b" not in result.stdout


def test_names_cannot_steer_the_terminal(run, refusal, folder):
    (folder / "h.csv").write_text(
        'y,"[red]x","[/]","\x1b[2Jx",g\n' + "1,0.8,0.7,0.5,\x1b[2J\n0,0.3,0.2,0.5,north\n" * 60
    )
    result = run("evaluate", "h.csv", "--outcome", "y", "--forecast", "[red]x", "--forecast", "[/]", "--by", "g", *FEW)
    assert result.exit_code == 0
    assert "[red]x" in result.stdout
    assert "[/]" in result.stdout
    assert "\x1b" not in result.output
    told = refusal("evaluate", "h.csv", "--outcome", "y", "--forecast", "\x1b[2Jx", *FEW)
    assert "control characters" in told
    assert "\x1b" not in told


@pytest.mark.slow
def test_the_report_and_the_json_are_written(run, folder):
    result = run("evaluate", "p.csv", *BOTH, "--html", "r.html", "--json", "r.json")
    assert result.exit_code == 0
    assert (folder / "r.html").read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")
    assert json.loads((folder / "r.json").read_text())["schema"] == "propriety.evaluation"
    assert sorted(path.name for path in folder.iterdir()) == ["p.csv", "p.parquet", "r.html", "r.json"]
    assert result.stderr == "Written: r.html\nWritten: r.json\n"
    assert "2 models" in result.stdout


def test_json_keeps_what_is_not_finite(run, folder):
    (folder / "i.csv").write_text("y,p\n1,0\n0,0.3\n1,0.5\n")
    result = run("evaluate", "i.csv", "--outcome", "y", "--forecast", "p", *FEW, "--json", "-")
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    assert found["metrics"]["log"] == "Infinity"
    assert found["metrics"]["log_low"] is None
    assert (found["schema"], found["version"]) == ("propriety.evaluation", 1)


@pytest.mark.parametrize(
    ("condition", "code", "told"),
    [
        ("miscalibration>0.5", 0, ["Gate passed: honest/miscalibration", "Gate passed: bold/miscalibration"]),
        ("brier>0.01", 1, ["Gate failed: honest/brier is", "Gate failed: bold/brier is"]),
        ("bold/brier >= 0.01", 1, ["Gate failed: bold/brier is"]),
        ("n<1e6", 1, ["Gate failed: n is 300, which is below 1000000."]),
        ("bold/recalibration_gain_low>0.5", 0, ["Gate passed: bold/recalibration_gain_low is"]),
        ("bold/brier>honest/brier", 1, ["Gate failed: bold/brier is"]),
        ("bold better than honest", 1, ["Gate failed: whether bold is better than honest cannot be told"]),
        ("recalibration_gain>-1", 1, [f"Gate failed: {one}/recalibration_gain is" for one in ("honest", "bold")]),
    ],
)
def test_gates_decide_on_the_exit_code(run, condition, code, told):
    result = run("evaluate", "p.csv", *BOTH, "--fail-if", condition, "--json", "-")
    assert result.exit_code == code
    lines = result.stderr.splitlines()
    assert len(lines) == len(told)
    assert all(line.startswith(words) for line, words in zip(lines, told, strict=True))
    assert [gate["failed"] for gate in json.loads(result.stdout)["gates"]] == [bool(code)] * len(told)


def test_a_gate_that_cannot_be_told_may_be_allowed(run):
    asked = ("evaluate", "p.csv", *BOTH, "--fail-if", "bold better than honest", "--allow-untold")
    result = run(*asked, "--json", "-", "--markdown", "gate.md")
    assert result.exit_code == 0
    assert "Gate allowed: whether bold is better than honest cannot be told" in result.stderr
    assert [(gate["answer"], gate["failed"]) for gate in json.loads(result.stdout)["gates"]] == [
        ("cannot be told", False)
    ]
    assert run(*asked, "--fail-if", "brier>0.01").exit_code == 1


def test_levels_are_not_rounded(run):
    assert "\n99.5% intervals. " in run("evaluate", "p.csv", *BOTH, "--level", "0.995").stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["evaluate", "p.csv"], "--outcome and at least one --forecast are required. See 'propriety evaluate --help'."),
        (["evaluate", "p.csv", "--outcome", "y", "--forecast", "q"], "they lack ['q']"),
        (["evaluate", "p.csv", "--outcome", "Y", "--forecast", "honest"], "they lack ['Y']"),
        (["evaluate", "p.csv", "--outcome", "y", "--forecast", "day"], "the forecast of 'day' must lie in [0, 1]"),
        (["evaluate", "p.csv", "--outcome", "site", "--forecast", "honest"], "pass --pos-label"),
        (
            ["evaluate", "p.csv", "--outcome", "y", "--forecast", "honest", "--pos-label", "x"],
            "--pos-label must be a number",
        ),
        (
            ["evaluate", "p.csv", "--outcome", "y", "--forecast", "a=bold", "--forecast", "a=honest"],
            "'a' is named again",
        ),
        (["evaluate", "p.csv", "--outcome", "y", "--forecast", "a=bold,,"], "a list must be like a,b,c"),
        (
            ["evaluate", "p.csv", "--outcome", "y", "--forecast", "a=bold,\rh"],
            r"a list must be like a,b,c; got 'bold,\rh'",
        ),
        (["evaluate", "p.csv", "--outcome", "y", "--forecast", 'a=bold,"h'], "a list must be like a,b,c"),
        (["evaluate", "p.csv", *BOTH, "--thresholds", "0.1", "0.2", "0.3"], "one number such as 0.1, or two"),
        (["evaluate", "p.csv", *BOTH, "--thresholds", "low"], "one number such as 0.1, or two"),
        (["evaluate", "p.csv", *BOTH, "--thresholds", "0.3", "0.2"], "0.3"),
        (["evaluate", "p.csv", *BOTH, "--level", "2"], "level"),
        (["evaluate", "p.csv", *BOTH, "--seed", "-1"], "--seed"),
        (["evaluate", "p.csv", *BOTH, "--fail-if", "brier=3"], "--fail-if must be a condition"),
        (["evaluate", "p.csv", *BOTH, "--fail-if", "briar>0"], "did you mean brier"),
        (["evaluate", "p.csv", *BOTH, "--fail-if", "brier>baseline/brier"], "name its JSON by --baseline"),
        (
            ["evaluate", "p.csv", *BOTH, "--baseline", "p.csv"],
            "--baseline must be JSON that `propriety evaluate --json`",
        ),
        (["evaluate", "p.csv", *BOTH, "--ordered"], "ordered belongs to three or more classes"),
        (["evaluate", "p.csv", *BOTH, "--classes", '0,"1'], "a list must be like a,b,c; got '0,\"1'"),
        (["evaluate", "p.csv", *BOTH, "--by", "site", "--by", "site"], "--by must name each key once"),
        (["evaluate", "p.csv", *BOTH, "--by", "site,site"], "--by must cross different columns"),
        (["evaluate", "p.csv", *BOTH, "--by", "site,nowhere"], "they lack ['nowhere']"),
        (["evaluate", "p.csv", *BOTH, "--by", "nowhere"], "they lack ['nowhere']"),
        (["evaluate", "p.csv", *BOTH, "--json", "-", "--html", "-"], "it is named twice"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)
def test_refusals(refusal, arguments, told):
    assert told in refusal(*arguments)


@pytest.mark.parametrize("lazy", [False, True], ids=["read", "counted"])
def test_columns_of_groups_are_crossed(run, columns, monkeypatch, lazy):
    monkeypatch.setattr(cases, "IN_MEMORY", 0 if lazy else 1_000_000)
    half = np.where(np.arange(300) < 150, 1, 2)
    csv.write_csv(pa.table(columns | {"half": half}), "p.csv")
    given = ("evaluate", "p.csv", "--outcome", "y", "--forecast", "honest", *FEW, "--by", "site", "--by", "site,half")
    found = json.loads(run(*given, "--json", "-").stdout)["slices"]
    crossed = np.array([f"{one}, {two}" for one, two in zip(columns["site"], half, strict=True)])
    by = {"site": columns["site"], "site, half": crossed}
    expected = evaluate(columns["y"], {"honest": columns["honest"]}, by=by, n_resamples=50, seed=1).slices
    assert found["by"] == ["site", "site, half"]
    for key in found["by"]:
        assert [row[key] for row in found["rows"]] == expected.keys[key].tolist()
    assert [row["value"] for row in found["rows"]] == pytest.approx(expected.value.tolist(), rel=CLOSE)


def test_a_cross_merges_no_labels(refusal, folder):
    rows = ['1,0.8,"a, b",c', '0,0.3,a,"b, c"'] * 60
    (folder / "c.csv").write_text("\n".join(["y,p,one,two", *rows]))
    told = refusal("evaluate", "c.csv", "--outcome", "y", "--forecast", "p", *FEW, "--by", "one,two")
    assert "--by cannot cross one and two" in told


def test_a_column_with_a_comma_is_no_cross(run, folder):
    (folder / "c.csv").write_text("\n".join(['y,p,"one,two"', *["1,0.8,a", "0,0.3,b"] * 60]))
    result = run("evaluate", "c.csv", "--outcome", "y", "--forecast", "p", *FEW, "--by", "one,two", "--json", "-")
    assert json.loads(result.stdout)["slices"]["by"] == ["one,two"]


@pytest.mark.slow
def test_the_report_has_its_title_and_file_and_its_tables_are_written(run, folder):
    docx = pytest.importorskip("docx")
    written_as = ("--html", "r.html", "--title", "A <trial>", "--word", "t.docx", "--latex", "t.tex")
    result = run("evaluate", "p.csv", *BOTH, *written_as)
    assert result.exit_code == 0, result.output
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "<h1>A &lt;trial&gt;</h1>" in page
    assert "<dt>File</dt><dd><bdi>p.csv</bdi></dd>" in page
    tables = (folder / "t.tex").read_text(encoding="utf-8").count(r"\begin{table}")
    assert len(docx.Document(str(folder / "t.docx")).tables) == tables > 3


def test_a_title_needs_a_page_and_word_a_file(run, refusal):
    assert "--title needs --html" in run("evaluate", "p.csv", *BOTH, "--title", "A").output
    assert "cannot be written to the standard output" in refusal("evaluate", "p.csv", *BOTH, "--word", "-")


@pytest.mark.slow
def test_calls_have_the_labels_of_the_file(run, folder):
    rows = [f"{'yes' if place % 3 else 'no'},{0.2 + place % 7 / 10:.1f}" for place in range(90)]
    (folder / "d.csv").write_text("\n".join(["died,risk", *rows]))
    options = ("--outcome", "died", "--forecast", "risk", "--pos-label", "yes", *FEW)
    assert run("evaluate", "d.csv", *options, "--html", "r.html").exit_code == 0
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "pos_label=&#39;yes&#39;" in page
    assert "pos_label=True" not in page
    assert "<dt>Event</dt><dd><bdi>yes</bdi></dd>" in page
