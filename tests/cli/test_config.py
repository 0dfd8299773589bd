"""Options from a file: every one of them, and the command line takes precedence."""

import json
from pathlib import Path

import click
import pytest

from propriety.cli.options import option_names
from propriety.cli.program import program

FEW = ("--resamples", "50", "--seed", "1")
CASES = '[evaluate]\noutcome = "y"\nforecast = ["honest"]\nresamples = 50\nseed = 1\n'


def json_of(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_options_come_from_the_file(run, folder):
    (folder / "e.toml").write_text(
        f'{CASES}files = ["p.csv"]\nthresholds = [0.1, 0.3]\nlevel = 0.9\nby = ["site", "site,day"]\njson = "-"\n'
    )
    found = json_of(run("evaluate", "--config", "e.toml"))
    assert (found["models"], found["thresholds"], found["level"]) == (["honest"], [0.1, 0.3], 0.9)
    assert (found["n_resamples"], found["slices"]["by"]) == (50, ["site", "site, day"])


def test_the_command_line_wins(run, folder):
    (folder / "e.toml").write_text(
        CASES + 'fail-if = ["brier>0"]\nlevel = 0.8\n[compare]\noutcome = "y"\nlevel = 0.7\n'
    )
    given = ("p.csv", "--config", "e.toml")
    assert run("evaluate", *given).exit_code == 1
    found = json_of(
        run("evaluate", *given, "--forecast", "bold", "--fail-if", "brier>1", "--level", "0.99", "--json", "-")
    )
    assert (found["models"], found["level"], found["seed"]) == (["bold"], 0.99, 1)
    assert [one["gate"] for one in found["gates"]] == ["brier > 1"]
    compared = run("compare", *given, "--forecast", "bold", "--forecast", "honest", "--fail-if", "n<1", "--json", "-")
    assert set(json_of(compared)["level"]) == {0.7}
    assert "--config must name a file with the table [condense]; e.toml has none" in run("condense", *given).stderr


@pytest.mark.parametrize("name", ["pyproject.toml", "propriety.toml", ".propriety.toml", "evaluation.toml"])
def test_no_file_of_the_current_folder_is_read_unless_it_is_named(run, folder, name):
    """A folder that somebody sent must not choose the files that are written, or the code that is run."""
    (folder / "kept.html").write_text("kept")
    (folder / "own.py").write_text("open('executed', 'w').close()\n")
    options = 'html = "kept.html"\njson = "../outside.json"\nmeasure = ["own:Own"]\nlevel = 0.5\n'
    for table in ("[evaluate]\n", "[tool.propriety]\n", "[tool.propriety.evaluate]\n"):
        (folder / name).write_text(f"{table}{options}")
        done = run("evaluate", "p.csv", "--outcome", "y", "--forecast", "honest", *FEW)
        assert (done.exit_code, "95% intervals" in done.stdout, done.stderr) == (0, True, "")
    assert (folder / "kept.html").read_text() == "kept"
    assert not (folder.parent / "outside.json").exists()
    assert not (folder / "executed").exists()


def test_flags_and_lists(run, folder, columns):
    (folder / "e.toml").write_text(
        '[evaluate]\noutcome = "grade"\nforecast = "m=g0,g1,g2"\nclasses = ["low", "mid", "high"]\nordered = true\nresamples = 50\nseed = 1\n'
    )
    assert json_of(run("evaluate", "p.csv", "--config", "e.toml", "--json", "-"))["kind"] == "ordinal"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('outcome = "y"', "e.toml has no command 'outcome'"),
        ('[evaluat]\noutcome = "y"', "e.toml has no command 'evaluat'. Hint: did you mean evaluate?"),
        ('[compare]\noutcome = "y"', "must name a file with the table [evaluate]; e.toml has none"),
        ('[evaluate]\nbyy = "site"', "the table evaluate of e.toml has no option 'byy'. Hint: did you mean by?"),
        ("[evaluate]\nordered = 1", "ordered in e.toml must be true or false"),
        ("[evaluate]\nlevel = true", "level in e.toml must not be true or false"),
        ("[evaluate.by]\na = 1", "by in e.toml must be a value"),
        ("evaluate = 1", "the table [evaluate]; e.toml has none"),
        ("a b", "e.toml must be TOML"),
        ('[evaluate]\nlevel = "high"', "e.toml: Invalid value for '--level'"),
        ('[evaluate]\nconfig = "e.toml"', "has no option 'config'"),
        ('[evaluate]\nby = "a\\u0000b"', "by in e.toml must not hold the character NUL"),
        ('[evaluate]\nby = ["a", "\\u0000"]', "by in e.toml must not hold the character NUL"),
    ],
)
def test_files_that_are_wrong(refusal, folder, text, told):
    (folder / "e.toml").write_text(text)
    assert told in refusal("evaluate", "p.csv", "--outcome", "y", "--forecast", "honest", *FEW, "--config", "e.toml")


def test_a_file_that_is_missing_or_broken(refusal, folder):
    assert "No such file" in refusal("evaluate", "p.csv", "--config", "nowhere.toml")
    (folder / "e.toml").write_text("a b")
    assert "e.toml must be TOML" in refusal("evaluate", "p.csv", "--config", "e.toml")


def test_a_file_that_is_named_may_name_code(refusal, folder):
    (folder / "e.toml").write_text(f'{CASES}measure = ["own:Own"]\n')
    (folder / "own.py").write_text("open('executed', 'w').close()\n")
    assert "own:Own cannot be loaded" in refusal("evaluate", "p.csv", "--config", "e.toml")
    assert (folder / "executed").exists()


def test_every_option_that_imports_code_is_in_the_security_policy():
    policy = (Path(__file__).parents[2] / "SECURITY.md").read_text(encoding="utf-8")
    importing = [
        f"propriety {name} {one.opts[0]} {one.metavar}" if isinstance(one, click.Option) else f"{name} {one.metavar}"
        for name, command in program.commands.items()
        for one in command.params
        if "MODULE:" in f"{one.metavar} {getattr(one, 'help', '')}"
    ]
    assert len(importing) == 2
    for way in importing:
        assert way.replace("--rule RULE", "--rule MODULE:NAME") in policy


@pytest.mark.parametrize("name", list(program.commands))
def test_every_option_has_a_name_in_the_file(name):
    command = program.commands[name]
    named = set(map(id, option_names(command).values()))
    left = [one.name for one in command.params if id(one) not in named]
    assert left == ["config"]
    assert all(isinstance(one, click.Parameter) for one in command.params)


def test_a_file_is_not_named_for_what_was_typed(refusal, folder):
    (folder / "e.toml").write_text("[evaluate]\nlevel = 0.9\n")
    told = refusal(
        "evaluate", "p.csv", "--outcome", "y", "--forecast", "honest", "--level", "high", "--config", "e.toml"
    )
    assert told.startswith("Error: Invalid value for '--level'")
