"""Excel files: the same numbers as CSV, and what cannot be read is named by its cell."""

import datetime as dt
import json
import os
import subprocess
import sys
import zipfile
from xml.sax.saxutils import escape

import pytest
from sliced import groups_in_json

pytest.importorskip("python_calamine")

SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
STYLES = (  # The second style is that of durations.
    f'<styleSheet xmlns="{SPREADSHEET}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="46"/></cellXfs></styleSheet>'
)
COLUMNS = ("--outcome", "y", "--forecast", "p")
FEW = ("--resamples", "20", "--seed", "1")
HEAD = ["y", "p", "k"]
ROWS = [[1, 0.8, "a"], [0, 0.25, 7], [0, 0.5, None], [1, 0.5, "a"]]


def cell(place, value):
    where = f'r="{place}"'
    if isinstance(value, dt.timedelta):
        return f'<c {where} s="1"><v>{value / dt.timedelta(days=1)}</v></c>'
    if isinstance(value, str):
        return f'<c {where} t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return "" if value is None else f"<c {where}><v>{value}</v></c>"


def write_sheets(path, **sheets):
    names = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, 1))
    targets = "".join(
        f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    targets += f'<Relationship Id="styles" Type="{OFFICE}/styles" Target="styles.xml"/>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("[Content_Types].xml", f'<Types xmlns="{PACKAGE}/content-types"/>')
        start = f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
        packed.writestr("_rels/.rels", f'<Relationships xmlns="{PACKAGE}/relationships">{start}</Relationships>')
        packed.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{SPREADSHEET}" xmlns:r="{OFFICE}"><sheets>{names}</sheets></workbook>'
        )
        packed.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{PACKAGE}/relationships">{targets}</Relationships>'
        )
        packed.writestr("xl/styles.xml", STYLES)
        for n, rows in enumerate(sheets.values(), 1):
            body = "".join(
                f'<row r="{line}">'
                + "".join(cell(f"{chr(65 + at)}{line}", one) for at, one in enumerate(row))
                + "</row>"
                for line, row in enumerate(rows, 1)
            )
            packed.writestr(
                f"xl/worksheets/sheet{n}.xml",
                f'<worksheet xmlns="{SPREADSHEET}"><sheetData>{body}</sheetData></worksheet>',
            )


def test_a_sheet_is_read(run, folder):
    write_sheets(folder / "x.xlsx", cases=[HEAD, *ROWS], other=[["y", "p"], [1, 0.9]])
    found = json.loads(run("evaluate", "x.xlsx", *COLUMNS, *FEW, "--json", "-").stdout)
    assert found["metrics"]["brier"] == pytest.approx((0.04 + 0.0625 + 0.25 + 0.25) / 4)
    found = json.loads(run("evaluate", "x.xlsx", *COLUMNS, "--sheet", "other", *FEW, "--json", "-").stdout)
    assert found["metrics"]["brier"] == pytest.approx(0.01)


def test_labels_are_as_the_sheet_shows_them(run, folder):
    rows = [[1, 0.8, "a"], [0, 0.25, 7]] * 60
    write_sheets(folder / "x.xlsx", cases=[HEAD, *rows])
    found = json.loads(run("evaluate", "x.xlsx", *COLUMNS, "--by", "k", *FEW, "--json", "-").stdout)
    assert [row["k"] for row in groups_in_json(found, "k")] == ["7", "a"]


def test_labels_may_be_numbers_in_one_file_and_text_in_another(run, folder):
    write_sheets(folder / "a.xlsx", cases=[HEAD, *[[1, 0.8, 7], [0, 0.25, 8]] * 20])
    write_sheets(folder / "b.xlsx", cases=[HEAD, *[[1, 0.8, "A"], [0, 0.25, 8]] * 20])
    write_sheets(folder / "c.xlsx", cases=[HEAD[:2], [1, 0.8]])
    found = json.loads(run("evaluate", "a.xlsx", "b.xlsx", *COLUMNS, "--by", "k", *FEW, "--json", "-").stdout)
    assert [(row["k"], row["n"]) for row in groups_in_json(found, "k")] == [("7", 20), ("8", 40), ("A", 20)]
    assert ", 41 cases" in run("evaluate", "a.xlsx", "c.xlsx", *COLUMNS, *FEW).stdout


def test_durations_and_names_that_are_numbers_are_as_the_sheet_shows_them(run, folder):
    rows = [[1, 0.8, dt.timedelta(hours=36)], [0, 0.25, dt.timedelta(hours=12)]] * 20
    write_sheets(folder / "x.xlsx", cases=[["y", "p", 2024], *rows])
    found = json.loads(run("evaluate", "x.xlsx", *COLUMNS, "--by", "2024", *FEW, "--json", "-").stdout)
    assert [row["2024"] for row in groups_in_json(found, "2024")] == ["1 day, 12:00:00", "12:00:00"]


def test_numbers_beyond_all_integers_are_read(run, folder):
    write_sheets(folder / "x.xlsx", cases=[HEAD, *[[1, 0.8, 1e20], [0, 0.25, 1]] * 20])
    assert ", 40 cases" in run("evaluate", "x.xlsx", *COLUMNS, *FEW).stdout


def test_numbers_may_mean_a_missing_value(run, folder):
    rows = [[1, 0.8, 999], [0, 0.25, 1], [0, 0.5, 2], [1, 0.5, -9.5]] * 10
    write_sheets(folder / "x.xlsx", cases=[["y", "p", "w"], *rows])
    given = ("evaluate", "x.xlsx", *COLUMNS, "--weight", "w", "--missing", "drop", *FEW, "--json", "-")
    assert json.loads(run(*given, "--null", "999", "--null", "-9.50").stdout)["dropped"] == 20


def test_missing_values(run, refusal, folder):
    write_sheets(folder / "x.xlsx", cases=[HEAD, *ROWS, [1, "NA", "b"], [None, 0.2, "b"]])
    assert "column 'p' must contain numbers; cell B6 of x.xlsx has 'NA'" in refusal("evaluate", "x.xlsx", *COLUMNS)
    given = ("evaluate", "x.xlsx", *COLUMNS, "--null", "NA", "--missing", "drop", *FEW, "--json", "-")
    assert json.loads(run(*given).stdout)["dropped"] == 2


@pytest.mark.parametrize(
    ("rows", "options", "told"),
    [
        ([HEAD, [1, "0,8", "a"]], [], "cell B2 of x.xlsx has '0,8'"),
        ([["y", "p", "p"], [1, 0.8, 0.8]], [], "row 1 of x.xlsx has 'p' twice"),
        ([["y", "P", "p"], [1, 0.8, 0.8]], [], "has 'P' and 'p'"),
        ([], [], "the sheet of x.xlsx is empty"),
        (
            [HEAD, *ROWS],
            ["--sheet", "caces"],
            "--sheet must name a sheet of x.xlsx; got 'caces'. Hint: its sheets are cases.",
        ),
        ([["y", "q"], [1, 0.5]], [], "they lack ['p']"),
    ],
)
def test_refusals(refusal, folder, rows, options, told):
    write_sheets(folder / "x.xlsx", cases=rows)
    assert told in refusal("evaluate", "x.xlsx", *COLUMNS, *options)


def test_what_is_no_sheet(refusal, folder, monkeypatch):
    (folder / "x.xlsx").write_bytes(b"PK\x03\x04 cut")
    assert "x.xlsx is not a complete Excel file" in refusal("evaluate", "x.xlsx", *COLUMNS)
    with zipfile.ZipFile(folder / "y.xlsx", "w") as packed:
        packed.writestr("a", "b")
    assert "y.xlsx cannot be read" in refusal("evaluate", "y.xlsx", *COLUMNS)
    write_sheets(folder / "z.xlsx", cases=[HEAD, *ROWS])
    monkeypatch.setattr("propriety.cli.spreadsheets.MOST_CONTENT", 100)
    assert "z.xlsx has more" in refusal("evaluate", "z.xlsx", *COLUMNS)


def test_without_the_library_it_says_what_to_install(refusal, folder, monkeypatch):
    write_sheets(folder / "x.xlsx", cases=[HEAD, *ROWS])
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    told = refusal("evaluate", "x.xlsx", *COLUMNS, code=3)
    assert told.endswith('Hint: pip install "propriety[excel]", or save the sheet as CSV.\n')


@pytest.mark.product("segments")
def test_a_word_among_many_numbers_that_define_segments_is_refused(run, refusal, folder):
    rows = [[place % 2, 0.5, 20.0 + place / 7] for place in range(200)]
    rows[3][2] = "NA"
    write_sheets(folder / "x.xlsx", cases=[HEAD, *rows])
    given = ("segments", "x.xlsx", *COLUMNS, "--by", "k", "--seed", "1")
    assert "column 'k' must contain numbers; cell C5 of x.xlsx has 'NA'. Hint: turn text into numbers" in refusal(
        *given
    )
    write_sheets(folder / "x.xlsx", cases=[HEAD, *([*row[:2], place % 3 or "NA"] for place, row in enumerate(rows))])
    assert run(*given).exit_code == 0


SHEET = f'<worksheet xmlns="{SPREADSHEET}"><sheetData>BODY</sheetData></worksheet>'
CASES = '<row r="1"><c r="A1" t="inlineStr"><is><t>y</t></is></c><c r="B1" t="inlineStr"><is><t>p</t></is></c></row>'
CASES += '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>0.8</v></c></row>'
FAR = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'


def write_xml(path, text):
    """Write a sheet as it is given."""
    write_sheets(path, cases=[HEAD])
    with zipfile.ZipFile(path) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in (members | {"xl/worksheets/sheet1.xml": text.encode()}).items():
            packed.writestr(name, content)


@pytest.mark.parametrize(
    "text",
    [
        SHEET.replace("BODY", CASES + FAR),
        SHEET.replace("BODY", CASES + FAR).replace("<worksheet", "<!-- a sheet --><worksheet"),
        SHEET.replace("BODY", CASES + FAR.replace(' r="XFD', ' s=">" r="XFD').replace('"', "'")),
        SHEET.replace("BODY", CASES + FAR).replace("<", "<x:").replace("<x:/", "</x:").replace("xmlns", "xmlns:x"),
        SHEET.replace("BODY", CASES + '<row r="1048576">' + "<c><v>1</v></c>" * 100 + "</row>"),
    ],
    ids=["far", "comment", "attributes", "prefix", "no place"],
)
def test_a_sheet_with_a_cell_far_away_is_refused(refusal, folder, text):
    write_xml(folder / "x.xlsx", text)
    told = refusal("evaluate", "x.xlsx", *COLUMNS)
    assert "sheets must have at most 20,000,000 cells; one of x.xlsx reaches " in told
    assert told.endswith("Hint: delete what is far from the cases, or save the sheet as CSV.\n")


def test_a_cell_far_away_that_is_only_formatted_is_no_cell(run, folder):
    write_xml(folder / "x.xlsx", SHEET.replace("BODY", CASES + FAR.replace("<v>1</v>", "")))
    assert run("evaluate", "x.xlsx", *COLUMNS, *FEW).exit_code == 0


def test_a_sheet_that_declares_entities_is_refused(refusal, folder):
    entity = '<!DOCTYPE worksheet [<!ENTITY a "1">]>'
    write_xml(folder / "x.xlsx", entity + SHEET.replace("BODY", CASES.replace("<v>1</v>", "<v>&a;</v>")))
    assert "it declares entities of XML" in refusal("evaluate", "x.xlsx", *COLUMNS)


MEASURE = """
import resource, subprocess, sys, time
begin = time.monotonic()
done = subprocess.run([sys.executable, "-m", "propriety", *sys.argv[1:]], capture_output=True, text=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(time.monotonic() - begin, usage * (1 if sys.platform == "darwin" else 1024) / 2**20, done.returncode)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows measures memory otherwise")
def test_it_is_refused_in_a_second_and_300_mb(folder):
    def measured(*arguments):
        command = [sys.executable, "-c", MEASURE, *arguments]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603  (our own program)
        return [float(number) for number in told.split()]

    write_xml(folder / "x.xlsx", SHEET.replace("BODY", CASES + FAR))
    begun = min(measured("--help")[0] for _ in range(3))
    runs = [measured("evaluate", "x.xlsx", *COLUMNS) for _ in range(3)]
    assert [code for _, _, code in runs] == [2, 2, 2]
    assert min(seconds for seconds, _, _ in runs) < begun + 1.0
    assert max(size for _, size, _ in runs) < 300
