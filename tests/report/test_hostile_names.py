"""Names of models and groups that look like markup, commands, queries or formulas stay text in every output.

Each output is read by a parser of its format. The Grafana dashboard and the Prometheus rules are fixed files without names.
"""

import csv
import io
import json
import re
import string
import unicodedata
from html.parser import HTMLParser
from importlib import import_module

import duckdb
import numpy as np
import pytest

import propriety as pr
import propriety.recalibration as maps
from propriety.cli.messages import visible

NAMES = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</style></title></svg><b>",
    "a'b\"c`d",
    "line\nbreak\r\nand\ttab",
    "\x1b[2J\x1b]0;title\x07",
    r"\input{/etc/passwd} \write18{rm} $x$ %",
    "'; DROP TABLE cases; --",
    'p" OR 1=1; --',
    "a|b||c",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "\u202eright to left\u202c\u200f",
    "null\x00byte",
    "${jndi:ldap://x}{{7*7}}<%= 1 %>",
    "x" * 10_000,
]
SHORT = [re.sub(r"\W+", " ", name[:20]).strip() or "signs" for name in NAMES]
HIDDEN = {"Cc", "Cf", "Co", "Cs"}
Y = np.tile([0, 1, 0, 0, 1, 1, 0, 1, 0, 1], 20)
P = np.tile(np.linspace(0.05, 0.95, 20), 10)


class Page(HTMLParser):
    """Collects the elements and their handlers, and the text outside scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.handlers, self.inside, self.text = [], [], "", []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inside = tag
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside not in ("script", "style"):
            self.text.append(data)


@pytest.fixture(scope="module")
def evaluations():
    """Return one evaluation with names as plain as names are, and one with all hostile ones in models and groups."""
    found = []
    for names in ([f"n{place}" for place in range(len(NAMES))], NAMES):
        models = {names[place]: np.clip(P + 0.01 * place, 0.0, 1.0) for place in range(3)}
        models |= {names[-1]: P**2}
        site = np.resize(np.array(names, dtype=object), len(Y))
        found.append((names, pr.evaluate(Y, models, by={names[0]: site}, seed=1, n_resamples=20)))
    return found


@pytest.fixture(scope="module")
def monitors():
    found = []
    for names in (["plain", "other"], None):
        pair = names or [NAMES[0], NAMES[7]]
        labels = ["a", "b", "c", "d"] if names else [NAMES[1], NAMES[5], NAMES[10], NAMES[12]]
        by = {"day": np.repeat([1, 2, 3, 4], 50), "site": np.resize(np.array(labels, dtype=object), len(Y))}
        found.append(pr.monitor(pr.condense(Y, {pair[0]: P, pair[1]: P**2}, by=by), period="day"))
    return found


@pytest.mark.slow
def test_the_page_has_the_elements_of_a_page_with_plain_names(evaluations):
    (_, plain), (names, hostile) = evaluations
    expected, found = Page(plain.to_html()), Page(hostile.to_html())
    assert set(found.tags) == set(expected.tags)
    assert found.tags.count("script") == expected.tags.count("script")
    assert found.handlers == expected.handlers == []
    shown = "".join(found.text)
    assert "<script>alert(1)</script>" in shown
    assert not {sign for sign in shown if unicodedata.category(sign) == "Cc"} - set("\n\t\r")
    assert names


@pytest.mark.slow
def test_the_page_is_well_formed_to_another_parser(evaluations):
    html = pytest.importorskip("lxml.html", reason="lxml is not installed")
    (_, plain), (_, hostile) = evaluations
    trees = [html.document_fromstring(one.to_html()) for one in (plain, hostile)]
    assert [len(tree.xpath("//script")) for tree in trees] == [len(trees[0].xpath("//script"))] * 2
    assert not trees[1].xpath("//img[@src='x'] | //@onerror")


@pytest.mark.product("monitoring")
@pytest.mark.slow
def test_the_page_of_a_monitor(monitors):
    expected, found = (Page(watch.to_html()) for watch in monitors)
    assert set(found.tags) == set(expected.tags)
    assert found.handlers == []
    shown = "".join(found.text)
    assert not {sign for sign in shown if unicodedata.category(sign) == "Cc"} - set("\n\t\r")


@pytest.mark.product("monitoring")
def test_openmetrics_are_read_by_their_own_parser(monitors):
    text = import_module("propriety.products.monitoring.command").openmetrics(monitors[1])
    assert text.endswith("# EOF\n")
    parser = pytest.importorskip("prometheus_client.openmetrics.parser", reason="prometheus-client is not installed")
    families = list(parser.text_string_to_metric_families(text))
    labels = {sample.labels["site"] for family in families for sample in family.samples if "site" in sample.labels}
    assert labels == {NAMES[1], NAMES[5], NAMES[10], NAMES[12]}


def test_latex_has_no_command_of_a_name(evaluations):
    (_, plain), (_, hostile) = evaluations
    commands = [set(re.findall(r"\\[a-zA-Z]+", one.to_latex())) for one in (plain, hostile)]
    escapes = {"\\textbackslash", "\\textasciitilde", "\\textasciicircum", "\\textquotesingle", "\\textbar"}
    escapes |= {"\\textless", "\\textgreater", "\\textquotedbl", "\\textasciigrave"}
    assert commands[1] - commands[0] <= escapes
    assert "\\input" not in hostile.to_latex()
    assert "\x00" not in hostile.to_latex()
    assert "\x1b" not in hostile.to_latex()


@pytest.mark.slow
def test_word_files_have_the_same_tables(evaluations, tmp_path):
    docx = pytest.importorskip("docx", reason="python-docx is not installed")
    shapes = []
    for place, (_, one) in enumerate(evaluations):
        one.to_word(tmp_path / f"{place}.docx")
        document = docx.Document(str(tmp_path / f"{place}.docx"))
        shapes.append([(len(table.rows), len(table.columns)) for table in document.tables])
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("name", NAMES, ids=SHORT)
def test_sql_of_a_map_reads_the_column_and_nothing_else(name):
    """The column is made by DuckDB's own quoting, apart from names that it does not take."""
    fitted = pr.prior_correction(event_weight=4.0)
    if "\x00" in name:
        with pytest.raises(pr.errors.ProprietyError):
            fitted.to_sql(name)
        return
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE cases (x DOUBLE)")
        connection.execute(f'ALTER TABLE cases RENAME x TO "{name.replace(chr(34), chr(34) * 2)}"')
        connection.execute("INSERT INTO cases VALUES (0.8), (0.5)")
        found = connection.execute(f"SELECT {fitted.to_sql(name)} FROM cases").fetchall()  # noqa: S608  (what is tested)
        assert [row[0] for row in found] == pytest.approx([0.5, 0.2])
        assert connection.execute("SELECT count(*) FROM cases").fetchone() == (2,)


@pytest.mark.parametrize("name", NAMES, ids=SHORT)
def test_sql_of_other_dialects_is_one_expression(name):
    sqlglot = pytest.importorskip("sqlglot", reason="SQLGlot is not installed")
    if "\x00" in name:
        return
    for dialect in ("postgres", "spark", "bigquery", "snowflake"):
        try:
            text = pr.prior_correction(event_weight=4.0).to_sql(name, dialect=dialect)
        except pr.errors.ProprietyError:
            continue  # A name that no column of this dialect has.
        (parsed,) = sqlglot.parse(f"SELECT {text} FROM cases", read=dialect)  # noqa: S608  (what is tested)
        assert {column.name for column in parsed.find_all(sqlglot.exp.Column)} == {name}


@pytest.mark.parametrize("name", NAMES, ids=SHORT)
def test_text_for_a_terminal_has_no_control_characters(name):
    shown = visible(name)
    assert all(unicodedata.category(sign) not in HIDDEN for sign in shown.replace("\n", "").replace("\t", ""))
    assert all(sign in shown for sign in set(name) & set(string.ascii_letters))


def test_results_as_json_and_as_csv_keep_the_names(evaluations):
    _, (names, hostile) = evaluations
    stored = json.loads(hostile.scores.to_json())
    assert set(names[:3]) <= set(stored["model"])
    frame = hostile.scores.to_frame(backend="pandas")
    text = frame.to_csv(index=False)
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["model"] for row in rows] == [model.replace("\r\n", "\r\n") for model in frame["model"]]


def test_stored_ledgers_and_maps_keep_the_names(tmp_path):
    site = np.resize(np.array(NAMES, dtype=object), len(Y))
    ledger = pr.condense(Y, {NAMES[0]: P, NAMES[12]: P**2}, by={NAMES[7]: site})
    ledger.to_parquet(tmp_path / "l")
    again = pr.Ledger.from_parquet(tmp_path / "l")
    assert again.models == ledger.models
    assert again.keys == ledger.keys
    effects = tuple(maps.SegmentEffect(places=((NAMES[7], name),), log_odds=0.1) for name in NAMES)
    fitted = maps.SegmentMap(whole=maps.IdentityMap(), effects=effects, floor=1e-6)
    assert maps.SegmentMap.from_json(fitted.to_json()) == fitted
