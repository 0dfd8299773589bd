"""Results of gates as JUnit XML and as Markdown, also with names that would change what is shown."""

import json
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from propriety.cli.gate_outputs import Summary, error_junit, junit, markdown
from propriety.cli.gates import GateResult

FEW = ("--resamples", "50", "--seed", "1")
BOTH = ("p.csv", "--outcome", "y", "--forecast", "honest", "--forecast", "bold", *FEW)
HOSTILE = [
    *(
        "<b>&amp;</b>",
        "a|b",
        "`x`",
        "[x](http://evil.example)",
        "![i](x.png)",
        "@everyone",
        "#12",
        "*a* _b_ ~~c~~",
        "$x$",
    ),
    *(
        "]]>",
        "<!-- -->",
        '"/><failure/>',
        "\x1b[2J",
        "\x00",
        "a\nb\r\n## c",
        "1. x",
        "- x",
        "www.evil.example",
        "\ud800",
    ),
    *("\\", "\\|", "<script>alert(1)</script>", "￾", "+ x", "https://evil.example"),
]


def result(name, *, failed):
    answer = "yes" if failed else "no"
    return GateResult(gate=f"{name}/brier > 1", key=f"{name}/brier", value=2.0, answer=answer, reason=f"{name} is 2.")


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_names_stay_text_in_junit(name):
    root = ET.fromstring(junit("evaluate", [result(name, failed=True), result(name, failed=False)]))  # noqa: S314
    assert [element.tag for element in root.iter()] == [
        *("testsuites", "testsuite", "testcase", "failure", "testcase", "system-out")
    ]
    assert root.attrib == {"name": "propriety", "tests": "2", "failures": "1", "errors": "0"}
    (error,) = ET.fromstring(error_junit("evaluate", name)).iter("error")  # noqa: S314
    assert error.attrib["message"].isprintable() or "\n" in name


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_names_stay_text_in_markdown(name):
    text = markdown(
        Summary("evaluate", [name, f"{name} is best."], [["", name], [name, "1"]]), [result(name, failed=True)]
    )
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inline = [token for token in tokens if token.type == "inline"]
    kinds = {child.type for token in inline for child in token.children}
    assert kinds <= {"text", "text_special"}
    counts = {
        kind: sum(token.type == kind for token in tokens) for kind in ("heading_open", "td_open", "list_item_open")
    }
    assert counts == {"heading_open": 1, "td_open": 5, "list_item_open": 2}
    shown = "".join(child.content for token in inline for child in token.children)
    assert "@e" not in shown
    assert "#1" not in shown
    assert not [line for line in text.splitlines() if "http://" in line or "https://" in line or "www.evil" in line]


def test_they_are_written(run, folder):
    given = ("--fail-if", "brier>0.5", "--fail-if", "bold better than honest", "--fail-if", "n<1000")
    done = run("evaluate", *BOTH, *given, "--junit", "g.xml", "--markdown", "g.md", "--json", "g.json")
    assert done.exit_code == 1
    root = ET.parse(folder / "g.xml").getroot()  # noqa: S314
    assert root.attrib == {"name": "propriety", "tests": "4", "failures": "2", "errors": "0"}
    assert [case.attrib["name"] for case in root.iter("testcase")] == [
        *("brier > 0.5 [honest/brier]", "brier > 0.5 [bold/brier]", "bold better than honest", "n < 1000 [n]")
    ]
    untold, few = [element.attrib["message"] for element in root.iter("failure")]
    assert untold.startswith(
        "whether bold is better than honest cannot be told: honest and bold are not shown to differ"
    )
    assert few == "n is 300, which is below 1000."
    text = (folder / "g.md").read_text(encoding="utf-8")
    assert text.startswith("## propriety evaluate: 2 of 4 gates failed\n")
    assert "| ❌ failed | n \\< 1000 | n is 300, which is below 1000. |" in text
    assert "- 2 models, 300 cases" in text
    assert "| Brier score | 0." in text
    assert [one["failed"] for one in json.loads((folder / "g.json").read_text())["gates"]] == [
        False,
        False,
        True,
        True,
    ]


def test_an_error_replaces_the_results_of_an_earlier_run(run, folder):
    given = ("evaluate", *BOTH, "--junit", "g.xml")
    assert run(*given, "--fail-if", "brier>0.5").exit_code == 0
    assert run(*given, "--fail-if", "briar>0.5").exit_code == 2
    root = ET.parse(folder / "g.xml").getroot()  # noqa: S314
    assert (root.attrib["tests"], root.attrib["errors"]) == ("1", "1")
    assert "did you mean" in next(root.iter("error")).attrib["message"]


def test_every_error_replaces_the_results_of_an_earlier_run(run, folder, monkeypatch):
    given = ("evaluate", "p.csv", "--outcome", "y", *FEW, "--junit", "g.xml", "--fail-if", "brier>0.5")
    assert run(*given, "--forecast", "honest").exit_code == 0
    assert run(*given).exit_code == 2
    assert '<error message="--outcome and at least one --forecast are required."' in (folder / "g.xml").read_text()
    assert run(*given, "--forecast", "honest").exit_code == 0
    assert 'errors="0"' in (folder / "g.xml").read_text()
    monkeypatch.setattr("propriety.cli.evaluate.Facts.of_evaluation", lambda *_: 1 / 0)
    with pytest.raises(AssertionError, match="This is a bug in propriety"):
        run(*given, "--forecast", "honest")
    assert '<error message="division by zero"' in (folder / "g.xml").read_text()


def test_a_baseline_may_have_infinite_numbers(run, folder):
    (folder / "x.csv").write_text("y,p\n1,0\n" + "1,0.6\n0,0.3\n" * 20)
    given = ("evaluate", "x.csv", "--outcome", "y", "--forecast", "p", *FEW)
    assert run(*given, "--json", "old.json").exit_code == 0
    assert '"log": "Infinity"' in (folder / "old.json").read_text()
    done = run(*given, "--baseline", "old.json", "--fail-if", "brier>baseline/brier", "--fail-if", "log<baseline/log")
    assert done.exit_code == 0, done.output
    assert "log is inf, not below baseline/log (inf)" in done.stderr


def test_an_error_overwrites_no_other_file(run, folder):
    before = (folder / "p.csv").read_bytes()
    assert run("evaluate", "p.csv", "missing.csv", "--junit", "p.csv").exit_code == 2
    assert (folder / "p.csv").read_bytes() == before


def test_the_baseline_is_an_earlier_evaluation(run, folder):
    given = ("evaluate", "p.csv", "--outcome", "y", *FEW)
    run(*given, "--forecast", "honest", "--json", "old.json")
    done = run(*given, "--forecast", "bold", "--baseline", "old.json", "--fail-if", "brier>baseline/brier")
    assert done.exit_code == 1
    assert "which is above baseline/brier (0." in done.stderr
    done = run("compare", *BOTH, "--baseline", "old.json", "--fail-if", "honest/brier>baseline/brier")
    assert done.exit_code == 0
    assert run(*given, "--forecast", "bold", "--baseline", "old.json", "--json", "old.json").exit_code == 2


def test_comparisons_have_gates_and_rules(run, folder, refusal):
    done = run("compare", *BOTH, "--rule", "log", "--json", "-", "--fail-if", "bold/log>honest/log")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["measure"][0], found["gates"][0]["failed"]) == (1, "log", True)
    done = run(
        "compare", *BOTH, "--rule", "propriety:Spherical", "--markdown", "-", "--fail-if", "bold not worse than honest"
    )
    assert done.stdout.startswith("## propriety compare: ")
    assert "| model | against | difference | adjusted p | verdict |" in done.stdout
    assert "did you mean brier?" in refusal("compare", *BOTH, "--rule", "brjer")
    assert "did you mean bold/brier" in refusal("compare", *BOTH, "--fail-if", "bold/briar>1")


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "propriety.comparison"},
        {"version": 99},
        {"version": None},
        {"metrics": {"honest/brier": "0.1"}},
        {"metrics": {"honest/brier": True}},
        {"metrics": {"honest/brier": 10**400}},
        {"metrics": [1.0]},
        {"models": None},
    ],
    ids=lambda change: "-".join(f"{name} {str(value)[:24]}" for name, value in change.items()),
)
def test_a_baseline_that_no_evaluation_wrote_is_refused(refusal, folder, change):
    stored = {"schema": "propriety.evaluation", "version": 1, "models": ["honest"], "metrics": {"honest/brier": 0.1}}
    (folder / "old.json").write_text(json.dumps(stored | change))
    told = refusal("evaluate", *BOTH, *FEW, "--baseline", "old.json", "--fail-if", "honest/brier>baseline/honest/brier")
    assert "--baseline" in told or "version" in told
    assert "Hint: " in told or "schema" in change


def test_a_baseline_without_end_is_refused(refusal, folder):
    (folder / "old.json").write_text("[" * 100_000)
    assert "--baseline must be JSON" in refusal(
        "evaluate", *BOTH, "--baseline", "old.json", "--fail-if", "bold/brier>1"
    )


def test_the_help_says_what_becomes_of_unknown_numbers(run):
    told = " ".join(run("evaluate", "--help").stdout.split())
    assert (
        "It also fails if this cannot be told: a number could not be computed (for any group: in one of them)" in told
    )


@pytest.mark.parametrize("wrong", [("--resamples", "x"), ("--config", "bad.toml"), ("--unknown",)], ids=str)
@pytest.mark.parametrize("written", [("--junit", "g.xml"), ("--junit=g.xml",)], ids=str)
def test_options_that_cannot_be_read_replace_earlier_results(run, folder, wrong, written):
    (folder / "bad.toml").write_text('outcom = "y"\n')
    given = ("evaluate", *BOTH, "--fail-if", "brier>0.9", *written)
    assert run(*given).exit_code == 0
    assert "<error" not in (folder / "g.xml").read_text()
    assert run(*given, *wrong).exit_code == 2
    (error,) = ET.fromstring((folder / "g.xml").read_text()).iter("error")  # noqa: S314
    assert wrong[0] in error.get("message") or "outcom" in error.get("message")


def test_help_keeps_earlier_results(run, folder):
    assert run("evaluate", *BOTH, "--fail-if", "brier>0.9", "--junit", "g.xml").exit_code == 0
    before = (folder / "g.xml").read_text()
    assert run("evaluate", "--junit", "g.xml", "--help").exit_code == 0
    assert (folder / "g.xml").read_text() == before


@pytest.mark.parametrize("command", ["evaluate", "compare"])
@pytest.mark.parametrize(
    "arguments",
    [(), ("missing.csv", "--outcome", "y", "--forecast", "p"), ("p.csv",), (*BOTH, "--fail-if", "briar>1"), ("-x",)],
    ids=["nothing", "no file", "no columns", "no number", "no option"],
)
def test_an_error_says_nothing_of_files_written(refusal, folder, command, arguments):
    """The error message is all that the standard error has, though the JUnit file holds the error, too."""
    refusal(command, *arguments, "--junit", "g.xml")
    assert 'errors="1"' in (folder / "g.xml").read_text()
