"""The same cases and the same seed give the same answer, down to the last bit, wherever nothing else was asked."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import numpy as np
import polars as pl
import pytest
from answers import LARGE, THREADS, asked
from calls import (
    CALLS,
    DRAWN,
    DRAWS_OF_CASES,
    DRAWS_OF_WEIGHTED_CASES,
    OF_AN_EVENT,
    OF_CASES_IN_ORDER,
    OF_NO_CASES,
    QUICK,
    answers,
    cases,
    exact,
    flat,
    public_calls,
)
from layouts import CONTAINERS, KINDS, changed

import propriety as pr

N = 240
GIVEN = [name for name in QUICK if name not in OF_NO_CASES]
# Labels come back where an answer tells of single cases.
LABELLED = ("bayes_decisions", "check_calibration of classes", "check_calibration of grades", "worst_cases")
UNLABELLED = [name for name in GIVEN if name not in LABELLED]


@pytest.fixture(scope="module", params=[False, True], ids=["unweighted", "weighted"])
def given(request):
    """Return cases with the answers about them."""
    d = cases(N, weighted=request.param)
    return d, answers(d, GIVEN)


def test_every_public_function_is_in_the_matrix():
    """A new function, or a new method that draws, is added to the calls before it is released."""
    called = {name.split(" ")[0] for name in CALLS}
    assert called == public_calls()


@pytest.mark.slow
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_containers_and_layouts_do_not_matter(given, container):
    d, expected = given
    assert answers(container(d), GIVEN) == expected


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_kinds_of_outcomes_do_not_matter(given, kind):
    d, expected = given
    assert answers(replace(d, y=d.y.astype(kind), grade=d.grade.astype(kind)), GIVEN) == expected


def test_outcomes_may_be_truth_values_or_names(given):
    d, expected = given
    named = replace(
        d,
        y=np.array(["no", "yes"])[d.y],
        grade=np.array(list("abcd"))[d.grade],
        binary=d.binary | {"pos_label": "yes"},
        classes=d.classes | {"labels": list("abcd")},
    )
    for other in (replace(d, y=d.y.astype(bool)), named):
        assert answers(other, UNLABELLED) == {name: expected[name] for name in UNLABELLED}


def test_asking_twice_changes_nothing_and_nothing_that_was_given(given):
    d, expected = given
    before = [getattr(d, name).tobytes() for name in ("y", "p", "q", "grade", "rows", "group", "cluster")]
    assert answers(d, GIVEN) == expected
    assert [getattr(d, name).tobytes() for name in ("y", "p", "q", "grade", "rows", "group", "cluster")] == before


def test_the_order_of_the_cases_does_not_matter(given):
    """Beyond the rounding of sums; where draws are of single cases, their order is part of what is given."""
    d, expected = given
    order = np.random.default_rng(3).permutation(N)
    shuffled = changed(d, whole=lambda a: a[order], real=lambda a: a[order])
    by_case = {*OF_CASES_IN_ORDER, *DRAWS_OF_CASES, *(DRAWS_OF_WEIGHTED_CASES if d.binary else ())}
    for name in (name for name in GIVEN if name not in by_case):
        (numbers, words), (wanted, said) = flat(exact(CALLS[name](shuffled))), flat(expected[name])
        assert words == said, name
        assert numbers == pytest.approx(wanted, rel=1e-12, abs=1e-13, nan_ok=True), name


def same(one, other, name):
    """Assert that answers agree but for the order in which losses are added."""
    (numbers, words), (wanted, said) = flat(exact(one)), flat(exact(other))
    assert words == said, name
    assert numbers == pytest.approx(wanted, rel=1e-11, abs=1e-13, nan_ok=True), name


@pytest.mark.parametrize("shards", [2, 5])
def test_tables_of_shards_give_the_answers_of_the_whole(shards):
    d = cases(N)
    parts = [pr.condense(d.y[start::shards], d.p[start::shards]) for start in range(shards)]
    for name, call in (OF_AN_EVENT | DRAWN).items():
        expected = call(pr.condense(d.y, d.p))
        same(call(pr.Ledger.merge(parts)), expected, name)
        same(call(sum(parts[::-1])), expected, name)
    assert exact(pr.Ledger.merge(parts).table()) == exact(pr.condense(d.y, d.p).table())


CONNECTIONS = []


def on_duckdb(frame, threads):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(config={"threads": threads})
    CONNECTIONS.append(connection)  # Old versions close one that nobody holds.
    connection.register("frame", frame.to_arrow())
    return connection.sql("select * from frame")


ENGINES = {
    "Polars": lambda frame: frame.lazy(),
    "DuckDB, 1 thread": lambda frame: on_duckdb(frame, 1),
    "DuckDB, 2 threads": lambda frame: on_duckdb(frame, 2),
}


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_engines_give_the_answers_of_arrays(engine):
    d = cases(N)
    frame = engine(pl.DataFrame({"y": d.y, "p": d.p}))
    made, wanted = pr.condense(frame, "p", outcome="y"), pr.condense(d.y, {"p": d.p})
    assert exact(made.table()) == exact(wanted.table())
    for name, call in DRAWN.items():
        same(call(made), call(wanted), name)


@pytest.mark.parametrize(
    "measure", [pr.measures.Miscalibration(), lambda found: found.mean_forecast], ids=["overfit", "number"]
)
def test_the_number_of_workers_does_not_matter(measure):
    d = cases(N)
    answer, *others = (
        exact(pr.estimate(d.y, d.p, measure, n_resamples=200, seed=7, workers=workers)) for workers in (1, 2, 5)
    )
    assert others == [answer, answer]


@pytest.mark.nightly
def test_threads_do_not_disturb_each_other():
    """Two threads ask about the same cases and the others about other ones, all at once."""
    data = [cases(N, seed, weighted=seed % 2 == 0) for seed in (1, 2, 3, 4)] * 2
    expected = [answers(d, GIVEN) for d in data[:4]] * 2
    together = Barrier(THREADS)

    def work(d):
        together.wait()
        return answers(d, GIVEN)

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(work, data)) == expected


def test_threads_may_share_an_evaluation():
    """What it computes when it is first asked is the same, whoever asks first."""
    d = cases(N)
    expected, shared = (pr.evaluate(d.y, d.models, by=d.group, n_resamples=20, seed=7) for _ in range(2))
    together = Barrier(4)

    def work(_):
        together.wait()
        return exact(shared)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(4))) == {exact(expected)}


def process(threads, *, numerical_threads, hash_seed):
    """Start a process whose libraries use so many threads, and which asks from so many of its own."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
    settings = dict.fromkeys(names, str(numerical_threads)) | {"PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, str(Path(__file__).with_name("answers.py")), str(N), str(threads)]
    return subprocess.Popen(command, env=os.environ | settings, stdout=subprocess.PIPE)  # noqa: S603  (made here)


@pytest.mark.nightly
def test_processes_threads_and_hashes_do_not_matter():
    """One process asks alone; in the other, all threads import the package and ask at once."""
    processes = [process(1, numerical_threads=1, hash_seed=1), process(THREADS, numerical_threads=2, hash_seed=2)]
    expected = asked(cases(N), cases(30_000))
    for one, number in zip(processes, (1, THREADS), strict=True):
        printed, _ = one.communicate()
        assert one.returncode == 0
        found = json.loads(printed)
        assert len(found) == number
        assert set(found[0]) == {*CALLS, *(f"{name} of many" for name in LARGE)}
        assert found == [{name: expected[name] for name in own} for own in found]
