"""Odd text files: what is read of each, or the refusal, which names the line and the cell."""

import datetime as dt
import gzip
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propriety.cli.files import open_relation
from propriety.cli.text_heads import Dialect
from propriety.errors import InputValueError

ROWS = "1,0.5,a\n0,0.2,b\n1,0.75,a\n"
PLAIN = "y,p,k\n" + ROWS
SEMI = "y;p;k\n1;0,5;a\n0;0,2;b\n1;0,75;a\n"
READ = [(1.0, 0.5, "a"), (0.0, 0.2, "b"), (1.0, 0.75, "a")]
NAN = pytest.approx(math.nan, nan_ok=True)

# Content, and the dialect if it is given.
FILES = {
    "plain": PLAIN,
    "semicolons": PLAIN.replace(",", ";"),
    "tabs": PLAIN.replace(",", "\t"),
    "bars": PLAIN.replace(",", "|"),
    "another delimiter": (PLAIN.replace(",", "#"), {"delimiter": "#"}),
    "spaces": (PLAIN.replace(",", " "), {"delimiter": "space"}),
    "decimal comma": SEMI,
    "decimal comma and tabs": SEMI.replace(";", "\t"),
    "decimal comma in quotes": 'y,p,k\n1,"0,5",a\n0,"0,2",b\n1,"0,75",a\n',
    "decimal comma by option": ("y;p;k\n1;1,000;a\n0;0;b\n", {"decimal": ","}),
    "decimal comma in doubt": "y;p;k\n1;1,000;a\n0;0;b\n",
    "mixed decimal signs": "y;p;k\n1;0,5;a\n0;0.2;b\n",
    "one decimal point among commas": "y;p;k\n1;0,5;a\n0;0,2;b\n1;0.7;b\n",
    "byte order mark": "\ufeff" + PLAIN,
    "byte order mark and quoted names": '\ufeff"y","p","k"\n' + ROWS,
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "CR": PLAIN.replace("\n", "\r"),
    "CRLF after LF": "y,p,k\n1,0.5,a\n0,0.2,b\r\n1,0.75,a\r\n",
    "no newline at the end": PLAIN[:-1],
    "empty lines": "y,p,k\n1,0.5,a\n\n0,0.2,b\n\n\n1,0.75,a\n\n",
    "NA without an option": "y,p,k\n1,0.5,a\n0,NA,b\n",
    "NA": ("y,p,k\n1,0.5,a\n0,NA,b\n", {"nulls": ["NA"]}),
    "several words for missing": ("y,p,k\n1,NA,a\n0,.,b\n1,0.5,-\n", {"nulls": ["NA", ".", "-"]}),
    "empty fields": 'y,p,k\n1,,a\n0,0.2,\n1,"",b\n',
    "percent": "y,p,k\n1,50%,a\n0,20%,b\n",
    "thousands in a weight": ('y,p,k,w\n1,0.5,a,"1,234"\n0,0.2,b,"2,500.5"\n', {}),
    "thousands by points": ("y;p;k;w\n1;0,5;a;1.234,5\n0;0,2;b;1\n", {"decimal": ","}),
    "thousands by apostrophes": ("y;p;k;w\n1;0.5;a;1'234\n0;0.2;b;1\n", {}),
    "thousands without an option": 'y,p,k,w\n1,0.5,a,"1,234"\n0,0.2,b,"2,500"\n',
    "quotes around everything": '"y","p","k"\n"1","0.5","a, b"\n"0","0.2","say ""so"""\n',
    "quoted newlines": 'y,p,k\n1,0.5,"a\nb"\n0,0.2,"c\r\nd"\n',
    "a quote that is not closed": 'y,p,k\n1,0.5,"a\n0,0.2,b\n',
    "a quote within a field": 'y,p,k\n1,0.5,5" pipe\n0,0.2,b\n',
    "spaces around numbers": "y,p,k\n1 , 0.5,a\n 0,0.2 ,b\n",
    "signs and exponents": "y,p,k\n1,+5e-1,a\n0,.25,b\n+1,1.,a\n",
    "UTF-16": PLAIN.encode("utf-16"),
    "latin-1": "y,p,k\n1,0.5,Köln\n0,0.2,Bonn\n".encode("latin-1"),
    "UTF-8 names": "y,p,k\n1,0.5,Köln\n0,0.2,東京\n",
    "a comment sign": "y,p,k\n1,0.5,#a\n#0,0.2,b\n",
    "lines before the header": "# exported today\ny,p,k\n1,0.5,a\n0,0.2,b\n",
    "too few fields": PLAIN + "1,0.5\n",
    "too many fields": PLAIN + "1,0.5,a,b\n",
    "codes with zeros": "y,p,k\n1,0.5,007\n0,0.2,07\n1,0.3,7\n",
    "codes beyond 64 bits": "y,p,k\n1,0.5,123456789012345678901\n0,0.2,123456789012345678902\n",
    "dates": "y,p,k\n1,0.5,2026-01-31\n0,0.2,2026-02-01\n",
    "local dates": "y,p,k\n1,0.5,01/02/26\n0,0.2,02/01/26\n",
    "words for truth": "y,p,k\ntrue,0.5,yes\nFALSE,0.2,no\n",
    "an underscore": "y,p,k\n1,0.5,a\n0,1_0,b\n",
    "a no-break space": "y,p,k\n1,0.5,a\n0,\u00a00.2,b\n",
    "not a number": "y,p,k\n1,nan,a\n0,0.2,b\n1,inf,b\n",
    "hexadecimal": "y,p,k\n1,0x1,a\n0,0.2,b\n",
    "gzip": gzip.compress(PLAIN.encode()),
    "a column without a name": ",y,p,k\n0,1,0.5,a\n1,0,0.2,b\n",
    "names that differ in case": "y,P,p,k\n1,1,0.5,a\n0,0,0.2,b\n",
    "a name twice": "y,p,p,k\n1,1,0.5,a\n0,0,0.2,b\n",
    "spaces around names": "y, p ,k\n1,0.5,a\n0,0.2,b\n",
    "decimals after 30,000 integers": "y,p,k\n" + "1,1,a\n0,1,b\n" * 15_000 + "0,0.4,b\n",
    "a word after 30,000 numbers": "y,p,k\n" + "1,0.5,a\n" * 30_000 + "0,high,b\n",
    "1e6 rows": "y,p,k\n" + "1,0.5,a\n0,0.25,b\n" * 500_000,
    "only a header": "y,p,k\n",
    "an outcome that is a word": PLAIN + "maybe,0.5,a\n",
    "a NUL": "y,p,k\n1,0.5,a\0b\n0,0.2,b\n",
}


EXPECTED = {
    "plain": READ,
    "semicolons": READ,
    "tabs": READ,
    "bars": READ,
    "another delimiter": READ,
    "spaces": READ,
    "decimal comma": READ,
    "decimal comma and tabs": READ,
    "decimal comma in quotes": READ,
    "decimal comma by option": [(1.0, 1.0, "a"), (0.0, 0.0, "b")],
    "decimal comma in doubt": "column 'p' must contain numbers; line 2 of x.csv has '1,000'",
    "mixed decimal signs": "column 'p' must contain numbers; line 2 of x.csv has '0,5'",
    "one decimal point among commas": "column 'p' must contain numbers; line 4 of x.csv has '0.7'",
    "byte order mark": READ,
    "byte order mark and quoted names": READ,
    "CRLF": READ,
    "CR": READ,
    "CRLF after LF": "lines of text must all end alike",
    "no newline at the end": READ,
    "empty lines": READ,
    "NA without an option": "column 'p' must contain numbers; line 3 of x.csv has 'NA'",
    "NA": [(1.0, 0.5, "a"), (0.0, None, "b")],
    "several words for missing": [(1.0, None, "a"), (0.0, None, "b"), (1.0, 0.5, None)],
    "empty fields": [(1.0, None, "a"), (0.0, 0.2, None), (1.0, None, "b")],
    "percent": "column 'p' must contain numbers; line 2 of x.csv has '50%'",
    "thousands in a weight": "column 'w' must contain numbers; line 2 of x.csv has '1,234'. Hint: write numbers without separators",
    "thousands by points": "column 'w' must contain numbers; line 2 of x.csv has '1.234,5'",
    "thousands by apostrophes": "column 'w' must contain numbers; line 2 of x.csv has \"1'234\"",
    "thousands without an option": "column 'w' must contain numbers; line 2 of x.csv has '1,234'",
    "quotes around everything": [(1.0, 0.5, "a, b"), (0.0, 0.2, 'say "so"')],
    "quoted newlines": [(1.0, 0.5, "a\nb"), (0.0, 0.2, "c\r\nd")],
    "a quote that is not closed": "quotes must be closed, and doubled within a field; line 2 of x.csv has one that is not",
    "a quote within a field": [(1.0, 0.5, '5" pipe'), (0.0, 0.2, "b")],
    "spaces around numbers": [(1.0, 0.5, "a"), (0.0, 0.2, "b")],
    "signs and exponents": [(1.0, 0.5, "a"), (0.0, 0.25, "b"), (1.0, 1.0, "a")],
    "UTF-16": "text must be UTF-8; x.csv is not",
    "latin-1": "text must be UTF-8; x.csv is not",
    "UTF-8 names": [(1.0, 0.5, "Köln"), (0.0, 0.2, "東京")],
    "a comment sign": [("1", 0.5, "#a"), ("#0", 0.2, "b")],
    "lines before the header": "line 2 of x.csv has more fields than the header: it is 'y,p,k'",
    "too few fields": "every line must have a field for each column; line 5 of x.csv has 2 fields and the header 3: it ends before 'k'.",
    "too many fields": "line 5 of x.csv has more fields than the header: it is '1,0.5,a,b'",
    "codes with zeros": [(1.0, 0.5, "007"), (0.0, 0.2, "07"), (1.0, 0.3, "7")],
    "codes beyond 64 bits": [(1.0, 0.5, "123456789012345678901"), (0.0, 0.2, "123456789012345678902")],
    "dates": [(1.0, 0.5, dt.date(2026, 1, 31)), (0.0, 0.2, dt.date(2026, 2, 1))],
    "local dates": [(1.0, 0.5, "01/02/26"), (0.0, 0.2, "02/01/26")],
    "words for truth": [(True, 0.5, "yes"), (False, 0.2, "no")],
    "an underscore": "column 'p' must contain numbers; row 2 of the files has '1_0'",
    "a no-break space": "column 'p' must contain numbers; line 3 of x.csv has '\\xa00.2'",
    "not a number": [(1.0, NAN, "a"), (0.0, 0.2, "b"), (1.0, math.inf, "b")],
    "hexadecimal": "column 'p' must contain numbers; line 2 of x.csv has '0x1'",
    "gzip": READ,
    "a column without a name": [(1.0, 0.5, "a"), (0.0, 0.2, "b")],
    "names that differ in case": [(1.0, 0.5, "a"), (0.0, 0.2, "b")],
    "a name twice": "columns must have distinct names; line 1 of x.csv has 'p' twice",
    "spaces around names": [(1.0, 0.5, "a"), (0.0, 0.2, "b")],
    "decimals after 30,000 integers": [30001, 30000.4, (0.0, 0.4, "b")],
    "a word after 30,000 numbers": "column 'p' must contain numbers; line 30,002 of x.csv has 'high'",
    "1e6 rows": [1000000, 375000.0, (0.0, 0.25, "b")],
    "only a header": [],
    "an outcome that is a word": "column 'y' must contain numbers; line 5 of x.csv has 'maybe'",
    "a NUL": "files must be Parquet, CSV, Arrow or Excel (.xlsx); x.csv is in another format.",
}


# Separators of thousands make 12.34 and 1234 alike: whoever has them knows which it is.
REFUSED_FOR_A_REASON = {
    "thousands in a weight": "a separator of thousands",
    "thousands by points": "a separator of thousands",
    "thousands by apostrophes": "a separator of thousands",
    "an outcome that is a word": "one word among outcomes that are numbers is a fault of its line, not a label",
}


def read(folder, name):
    content, dialect = FILES[name] if isinstance(FILES[name], tuple) else (FILES[name], {})
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "x.csv").write_bytes(data)
    numbers = ["p", "w"] if b"w" in data[:8] else ["p"]
    roles = {"y": "outcome", "k": "label"}
    with open_relation([folder / "x.csv"], dialect=Dialect(**dialect), roles=roles, numbers=numbers) as frame:
        return frame.select("y", *numbers, "k").collect().rows()


@pytest.mark.parametrize("name", FILES)
def test_an_odd_file_is_read_or_refused_by_line_and_cell(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path.relative_to(tmp_path)
    expected = EXPECTED[name]
    if isinstance(expected, str):
        with pytest.raises(InputValueError, match=re.escape(expected)):
            read(folder, name)
        return
    found = read(folder, name)
    assert (summary(found) if len(found) > 10 else found) == expected


def summary(rows):
    return [len(rows), sum(row[1] for row in rows), rows[-1]]


def test_most_odd_files_are_read_and_the_others_have_a_reason():
    assert EXPECTED.keys() == FILES.keys()
    assert all(isinstance(EXPECTED[name], str) for name in REFUSED_FOR_A_REASON)
    assert sum(isinstance(expected, list) for expected in EXPECTED.values()) >= 34


CELLS = (
    *(
        "",
        "0",
        "1",
        "0.5",
        "1,5",
        "0,25",
        "1_0",
        "0x1",
        "1.234,5",
        "1,234",
        "1.234",
        "12.34",
        "nan",
        "1e-1",
        "+.5",
        "2.",
    ),
    *(
        " 3 ",
        "50%",
        "TRUE",
        "true",
        "--1",
        "1 000",
        "1'000",
        "5-",
        "0.5f",
        "1e",
        "\u00a00.5",
        "\u0663",
        "\uff11",
        "1/2",
        "1d",
    ),
)
POINT, COMMA = (re.compile(rf"[-+]?(\d+({sign}\d*)?|{sign}\d+)(e[-+]?\d+)?|nan", re.ASCII) for sign in (r"\.", ","))


@settings(max_examples=60, deadline=None)
@given(cells=st.lists(st.sampled_from(CELLS), min_size=1, max_size=4))
def test_a_number_is_the_one_that_is_written_or_the_file_is_refused(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("cells") / "x.csv"
    path.write_text("p;k\n" + "".join(f"{cell};a\n" for cell in cells), encoding="utf-8")
    filled = [cell.strip(" ") for cell in cells if cell]
    try:
        with open_relation([path], numbers=["p"]) as frame:
            found = [value for value in frame.select("p").collect()["p"].to_list() if value is not None]
    except InputValueError:
        assert not all(POINT.fullmatch(cell) for cell in filled)
        return
    forms = [form for form in (POINT, COMMA) if all(form.fullmatch(cell) for cell in filled)]
    assert forms
    assert len(found) == len(filled)
    written = [float(cell.replace(",", ".")) if forms[-1] is COMMA else float(cell) for cell in filled]
    assert found == pytest.approx(written, rel=1e-15, nan_ok=True)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize(
    ("bad", "told"), [("0,x,c", "has 'x'"), ("0,0.5", "has 2 fields"), ("0,0.5,c,d", "more fields")]
)
def test_the_line_is_that_of_an_editor(tmp_path, packed, end, bad, told):
    """DuckDB counts a record as one line, whatever lines its quotes hold."""
    lines = ["y,p,k", *['1,0.5,"a', 'b"'] * 3, "", "", bad, "1,0.5,c"]
    data = (end.join(lines) + end).encode()
    (tmp_path / "x").write_bytes(gzip.compress(data) if packed else data)
    with (
        pytest.raises(InputValueError, match=rf"line 10 of .*x .*{told}"),
        open_relation([tmp_path / "x"], numbers=["p"]),
    ):
        pass


def test_files_with_other_columns_are_matched_by_name_and_a_fault_names_its_file(tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n1,0.5\n")
    (tmp_path / "b.csv").write_text("p,z,y\n0.2,u,0\n")
    (tmp_path / "c.csv").write_text("p,z,y\n0.2,u,0\nx,v,1\n")
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    with open_relation(paths[:2], roles={"y": "outcome"}, numbers=["p"]) as frame:
        assert frame.select("y", "p", "z").collect().rows() == [(1.0, 0.5, None), (0.0, 0.2, "u")]
    with pytest.raises(InputValueError, match=r"line 3 of .*c\.csv has 'x'"), open_relation(paths, numbers=["p"]):
        pass
