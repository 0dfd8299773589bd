"""Text that is too long or too wide, and errors that stay one line of a readable length."""

import json

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from propriety.cli.program import LONGEST
from propriety.cli.text_heads import LONGEST_LINE
from propriety.cli.texts import BUFFER

COLUMNS = ("--outcome", "y", "--forecast", "p")


@pytest.mark.parametrize(
    "content",
    [
        b"y,p\n1," + b"9" * (2 * BUFFER) + b"\n",
        b"9" * (2 * BUFFER),
        b"y,p\n" + b"1,0.5\n" * 9 + b'0,"' + b"9\n" * BUFFER,
    ],
    ids=["a line", "the head", "a quote that never ends"],
)
def test_text_that_has_no_end_of_line_is_refused_in_few_words(folder, refusal, content):
    (folder / "x.csv").write_bytes(content)
    told = refusal("evaluate", "x.csv", *COLUMNS)
    assert told == (
        "Error: lines of text must have at most 2 MB; one is longer. "
        "Hint: look for a quote that is not closed, and for too many columns.\n"
    )


def test_a_field_that_is_shown_is_cut(folder, refusal):
    (folder / "x.csv").write_text("y,p\n" + "1,0.5\n" * 30_000 + f"1,{'a' * 10_000}\n")
    told = refusal("evaluate", "x.csv", *COLUMNS)
    assert "column 'p' must contain numbers; line 30,002 of x.csv has 'aaaa" in told
    assert len(told) < 1000


def test_a_line_may_be_long(folder, run):
    (folder / "x.csv").write_text(f"y,p,note\n1,0.8,{'x' * (LONGEST_LINE - 100)}\n0,0.2,short\n")
    assert ", 2 cases" in run("evaluate", "x.csv", *COLUMNS, "--resamples", "20").stdout


def test_text_of_too_many_columns(folder, refusal):
    names = ["y", "p", *(f"c{place}" for place in range(20_000))]
    (folder / "x.csv").write_text("\n".join([",".join(names), *(",".join(["1"] * len(names)) for _ in range(3))]))
    assert "files must have at most 20,000 columns; got 20,002" in refusal("evaluate", "x.csv", *COLUMNS)


@pytest.mark.parametrize("size", [LONGEST_LINE + 100, 3 * BUFFER], ids=["in a buffer", "beyond a buffer"])
def test_a_long_line_among_others_is_not_left_out(folder, refusal, size):
    """DuckDB leaves out a line that is longer than its buffer, without a word."""
    lines = ["y,p,note", *["1,0.5,a", "0,0.2,b"] * 1000]
    (folder / "x.csv").write_text("\n".join([*lines, f"1,0.1,{'x' * size}", *lines[1:]]))
    assert "lines of text must have at most 2 MB; one is longer" in refusal("evaluate", "x.csv", *COLUMNS)


def test_columns_that_are_lacking(refusal):
    told = refusal("evaluate", "p.parquet", "--outcome", "y", "--forecast", "q")
    assert "Error: the files must have the columns ['y', 'q']; they lack ['q']. Hint: their columns are ['y', " in told


def test_a_list_of_all_columns_is_cut(folder, refusal):
    parquet.write_table(pa.table({f"c{place}": [1] for place in range(2000)}), folder / "x")
    told = refusal("evaluate", "x", *COLUMNS)
    assert told.startswith("Error: the files must have the columns ['y', 'p']; they lack ['y', 'p'].")
    assert len(told) < LONGEST + 20
    assert told.endswith("...\n")


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_names_that_differ_only_in_case_are_refused_if_they_are_used(folder, run, refusal, form):
    """DuckDB reads p as p_1, and p_1 as p_1_1."""
    columns = {"y": [0, 1] * 20, "P": [0.1] * 40, "p": [0.2] * 40, "p_1": [0.9] * 40}
    write = parquet.write_table if form == "parquet" else feather.write_feather
    write(pa.table(columns), str(folder / "x"))
    for name in ("p", "p_1"):
        told = refusal("evaluate", "x", "--outcome", "y", "--forecast", name)
        assert f"{'x' if form == 'parquet' else 'one of the files'} has 'P' and 'p'" in told
    result = run("evaluate", "x", "--outcome", "y", "--forecast", "P", "--resamples", "20", "--json", "-")
    assert json.loads(result.stdout)["metrics"]["brier"] == pytest.approx(0.41)


def test_arrow_files_are_joined_by_name_in_a_type_that_holds_all_values(folder, run, refusal):
    def write(name, *, stream=False, **columns):
        table = pa.table(columns)
        writer = pa.ipc.new_stream if stream else pa.ipc.new_file
        with writer(folder / name, table.schema) as sink:
            sink.write_table(table)

    y, p, q = [True, False] * 20, [0.7, 0.2] * 20, [0.6, 0.4] * 20
    compare = ("--outcome", "y", "--forecast", "p", "--forecast", "q")
    write("flags.arrow", y=y, p=p, q=q)
    write("counts.arrow", q=pa.array(q, pa.float32()), y=[1, 0] * 20, p=p)
    write("wrong.arrow", y=[2, 0] * 20, p=p, q=q)
    both = [
        run("compare", *names, *compare).stdout
        for names in (("flags.arrow", "counts.arrow"), ("counts.arrow", "flags.arrow"))
    ]
    assert both[0] == both[1]
    assert "80 cases" in both[0]
    assert "is 2 (20 of 80 rows)" in refusal("compare", "flags.arrow", "wrong.arrow", *compare)
    write("one.arrows", stream=True, y=y, p=p, q=q)
    write("two.arrows", stream=True, q=q, p=p, y=[1, 0] * 20)
    assert run("compare", "one.arrows", "two.arrows", *compare).stdout == both[0]
