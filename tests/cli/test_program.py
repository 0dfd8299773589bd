"""The program as a process: exit codes, signals, pipes, help and completion."""

import json
import os
import signal
import subprocess
import sys
import time

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from click.shell_completion import ShellComplete
from pyarrow import parquet

import propriety
from propriety.cli import main
from propriety.cli.options import numbers_joined
from propriety.cli.program import program

posix = pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
COMMAND = (sys.executable, "-m", "propriety")
CASES = ("--outcome", "y", "--forecast", "honest", "--resamples", "50", "--seed", "1")


def start(*arguments, **options):
    return subprocess.Popen(  # noqa: S603
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


@pytest.mark.slow
def test_a_pipeline(folder):
    with (folder / "p.parquet").open("rb") as cases:
        process = start("evaluate", "-", *CASES, "--json", "-", "--fail-if", "brier>0.01", stdin=cases)
        told, errors = process.communicate()
    assert process.returncode == 1
    assert json.loads(told)["gates"][0]["failed"]
    assert errors.startswith("Gate failed: brier is ")


@pytest.mark.slow
def test_errors_take_one_line(folder):
    process = start("evaluate", "p.csv", "--outcome", "y", "--forecast", "day")
    told, errors = process.communicate()
    assert (process.returncode, told, errors.count("\n")) == (2, "", 1)


@pytest.mark.slow
@posix
def test_nobody_reads_the_output(folder):
    process = start("evaluate", "p.csv", *CASES)
    process.stdout.close()
    assert process.wait() == 141
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.fixture
def many(folder):
    """Write enough cases for an evaluation that takes a while."""
    rng = np.random.default_rng(1)
    columns = {"y": rng.integers(0, 2, 1_000_000), "p": rng.random(1_000_000)}
    parquet.write_table(pa.table(columns), folder / "many.parquet", compression="none")
    return folder


@pytest.mark.slow
@posix
@pytest.mark.parametrize("sign", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("delay", [0.05, 0.3])
def test_signals_leave_nothing_behind(many, sign, delay):
    if signal.getsignal(getattr(signal, sign)) == signal.SIG_IGN:
        pytest.skip("the signal is ignored here, as below nohup, and so it is by what is started")
    (many / "tmp").mkdir()
    (many / "r.json").write_text("old")
    environment = os.environ | {"TMPDIR": str(many / "tmp")}
    given = ("evaluate", "many.parquet", "--outcome", "y", "--forecast", "p", "--json", "r.json")
    process = start(*given, env=environment)
    limit = time.monotonic() + 30
    while not list((many / "tmp").glob("propriety-*")) and time.monotonic() < limit:
        time.sleep(0.02)
    time.sleep(delay)
    process.send_signal(getattr(signal, sign))
    told, errors = process.communicate(timeout=30)
    # Python may end itself by the signal in place of the code, which is the same to a shell.
    number = getattr(signal, sign)
    assert process.returncode in (128 + number, -number)
    assert told == ""
    assert errors.strip() == "Error: Interrupted; no incomplete files are left."
    assert sorted(path.name for path in many.iterdir()) == ["many.parquet", "p.csv", "p.parquet", "r.json", "tmp"]
    assert (many / "r.json").read_text() == "old"
    assert not list((many / "tmp").iterdir())


@pytest.mark.slow
@posix
def test_a_query_is_interrupted_at_once(many):
    """Python alone would hear of the signal when the query is over."""
    if duckdb.__version__ < "2":
        pytest.skip("DuckDB before 2.0 sometimes waits for the query when it is closed")
    code = (
        "import threading, os, signal, time\n"
        "from pathlib import Path\n"
        "import narwhals as nw\n"
        "from propriety.cli.files import open_relation\n"
        "with open_relation([Path('many.parquet')]) as opened:\n"
        "    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "    begin = time.monotonic()\n"
        "    try:\n"
        "        many = opened.join(opened, how='cross')\n"
        "        many.select(nw.col('p').sum()).collect()\n"
        "    except BaseException as error:\n"
        "        print(type(error).__name__, time.monotonic() - begin < 10)\n"
        "        raise SystemExit(0)\n"
    )
    finished = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60)  # noqa: S603
    assert finished.stdout.split()[-1:] == ["True"], finished.stderr


def test_a_missing_library_has_its_own_code(monkeypatch, capsys):
    monkeypatch.setattr("propriety.cli.find_spec", lambda name: None if name == "duckdb" else name)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 3
    assert capsys.readouterr().err == 'Error: The command line needs duckdb. Hint: pip install "propriety[cli]".\n'


def test_a_missing_extra_of_one_command_has_the_same_code(run, monkeypatch):
    from propriety.errors import MissingDependencyError
    from propriety.evaluation.evaluation import Evaluation

    def refuse(*_, **__):
        law = "A report needs jinja2"
        raise MissingDependencyError(law, hint='pip install "propriety[report]".')

    monkeypatch.setattr(Evaluation, "to_html", refuse)
    result = run("evaluate", "p.csv", *CASES, "--html", "r.html")
    assert result.exit_code == 3
    assert result.stderr == 'Error: A report needs jinja2. Hint: pip install "propriety[report]".\n'


def test_a_fault_of_the_program_is_no_failed_gate(folder, monkeypatch):
    from click.testing import CliRunner

    monkeypatch.setattr("propriety.cli.evaluate.found_files", lambda *_, **__: 1 / 0)
    result = CliRunner().invoke(program, ["evaluate", "p.csv", *CASES])
    assert result.exit_code == 70
    assert "ZeroDivisionError" in result.stderr
    assert "please report it" in result.stderr


def test_help_has_examples_and_exit_codes(run):
    told = run("--help").stdout
    for code in ("0    success", "1    a condition", "2    wrong usage", "3    an optional", "130  interrupted"):
        assert f"    {code}" in told
    assert "_PROPRIETY_COMPLETE=bash_source" in told
    for command in program.commands:
        told = run(command, "--help").stdout
        assert f"  Examples:\n    propriety {command}" in told


def test_every_example_of_the_help_parses():
    """Names of files are not looked at while options are read."""
    import shlex

    for name, command in program.commands.items():
        examples = [line.strip() for line in command.epilog.splitlines() if line.strip().startswith("propriety ")]
        assert examples
        for example in examples:
            arguments = shlex.split(example.split("  ")[0].split(" < ")[0])
            assert arguments[:2] == ["propriety", name]
            command.make_context(name, numbers_joined(arguments[2:]))


def test_the_version(run):
    assert run("--version").stdout.split()[-1] == propriety.__version__


def test_without_a_command_it_helps(run):
    result = run()
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


@pytest.mark.parametrize("command", list(program.commands))
def test_a_command_without_arguments_says_what_is_missing(refusal, command):
    missing = {"plan": "a plan needs --forecast", "apply": "Missing argument 'MAP'"}
    assert missing.get(command, "Missing argument 'FILE...'") in refusal(command)


def test_wrong_usage_takes_one_line(refusal):
    assert refusal("evaluate", "p.csv", "--bogus").endswith("See 'propriety evaluate --help'.\n")
    told = refusal("evaluate", "p.csv", "--outcom", "y").replace("'", "")  # Without quotes in click 8.2.
    assert "mean --outcome? See propriety" in told
    assert "No such command 'evaluat'" in refusal("evaluat")


@pytest.mark.slow
def test_the_shell_completes():
    environment = os.environ | {"_PROPRIETY_COMPLETE": "bash_complete", "COMP_WORDS": "propriety ev", "COMP_CWORD": "1"}
    finished = subprocess.run(COMMAND, check=False, capture_output=True, text=True, env=environment)  # noqa: S603
    assert finished.stdout == "plain,evaluate\n"


@pytest.mark.parametrize(
    ("words", "begun", "offered"),
    [
        ([], "", list(program.commands)),
        (["recalibrate"], "--met", ["--method"]),
        (["recalibrate", "--method"], "sp", ["spline"]),
        (["merge", "--cells", "4"], "--o", ["--output"]),
    ],
)
def test_completion_knows_commands_options_and_choices(words, begun, offered):
    completion = ShellComplete(program, {}, "propriety", "_PROPRIETY_COMPLETE")
    assert [item.value for item in completion.get_completions(words, begun)] == offered


@pytest.mark.slow
def test_help_loads_nothing_that_reads_or_draws():
    code = "import sys; from propriety.cli.program import program; print(*sys.modules, sep='\\n')"
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    assert not {"duckdb", "matplotlib", "pandas", "polars", "pyarrow"} & set(finished.stdout.split())


@pytest.mark.slow
@posix
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_closed_pipe_of_the_program_itself_is_no_failed_gate(option):
    read, written = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "propriety", option]
    with os.fdopen(written, "w") as closed:
        assert subprocess.run(command, stdout=closed, check=False).returncode == 141  # noqa: S603  (our own program)
