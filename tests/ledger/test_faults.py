"""Full disks, several writers and killed processes: what was stored stays whole, and nothing is half-written."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

import propriety as pr
from propriety.storage.places import Folder
from propriety.tables.forecast_table import ForecastTable

resource = pytest.importorskip("resource", reason="limits of file sizes are those of POSIX")
CASES = 400
DAYS = 6


def day_of(day, *, cases=CASES):
    rng = np.random.default_rng(day)
    p = rng.random(cases)
    y = [None, *(rng.random(cases) < p)[1:].astype(int).tolist()]  # One case of every day is dropped.
    by = {"day": [f"2026-01-{day + 1:02}"] * cases}
    return pr.condense(y, {"p": p, "q": p**2}, by=by, rules=[pr.Brier()], missing="drop")


@pytest.fixture(scope="module")
def days():
    return [day_of(day) for day in range(DAYS)]


@contextmanager
def full_disk(size=2000):
    """Let no file grow beyond some bytes, as on a disk on which so many are left."""
    limits, keeps_none = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # Python 3.11 would keep compiled modules that are cut off, and fail to read them.
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        sys.dont_write_bytecode = keeps_none
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_ledger_that_does_not_fit_leaves_nothing(days, tmp_path):
    with full_disk(), pytest.raises(OSError, match="too large"):
        days[0].to_parquet(tmp_path / "l")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [0, 100, 2000, 6000])
def test_a_day_that_does_not_fit_leaves_the_ledger_as_it_was(days, tmp_path, size):
    folder = tmp_path / "l"
    for one in days[:2]:
        one.to_parquet(folder, partition=["day"])
    before = contents(folder)
    with full_disk(size), pytest.raises(OSError, match="too large"):
        days[2].to_parquet(folder, partition=["day"])
    assert contents(folder) == before
    assert sorted(path.name for path in (folder / "tables").iterdir()) == ["day=2026-01-01", "day=2026-01-02"]
    days[2].to_parquet(folder, partition=["day"])
    assert pr.Ledger.from_parquet(folder).n == 3 * (CASES - 1)


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "added"])
def test_a_manifest_that_cannot_be_written_takes_the_day_back(days, tmp_path, monkeypatch, is_new):
    folder = tmp_path / "l"
    if not is_new:
        days[0].to_parquet(folder, partition=["day"])
    before = contents(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.replace", full)  # All other files are in their places.
        with pytest.raises(OSError, match="No space left"):
            days[1].to_parquet(folder, partition=["day"])
    assert contents(tmp_path) == before
    assert folder.exists() != is_new
    days[1].to_parquet(folder, partition=["day"])
    assert pr.Ledger.from_parquet(folder).n == (CASES - 1) * (1 if is_new else 2)


@pytest.mark.product("monitoring")
def test_a_monitor_that_does_not_fit_stays_as_it_was(days, tmp_path):
    first, both = days[0], days[0] + days[1]
    with full_disk(600), pytest.raises(OSError, match="too large"):
        pr.monitor(first).to_parquet(tmp_path / "m")
    assert contents(tmp_path) == {}
    pr.monitor(first).to_parquet(tmp_path / "m")
    before = contents(tmp_path)
    with full_disk(600), pytest.raises(OSError, match="too large"):
        pr.monitor(both).to_parquet(tmp_path / "m")
    assert contents(tmp_path) == before
    pr.monitor(both).to_parquet(tmp_path / "m")
    assert len(pr.results.Monitored.from_parquet(tmp_path / "m").times) == 2


def test_files_that_do_not_fit_leave_the_old_ones(tmp_path):
    y, p = np.tile([0, 1], 50), np.linspace(0.01, 0.99, 100)
    table, found = ForecastTable.from_predictions(y, p), pr.evaluate(y, p, seed=1)
    writes = {"t.parquet": table.to_parquet, "r.html": found.to_html}
    for name, write in writes.items():
        path = tmp_path / name
        path.write_bytes(b"old")
        with full_disk(1000), pytest.raises(OSError, match="too large") as told:
            write(path)
        assert str(path) in str(told.value)
        assert contents(tmp_path) == {name: b"old"}
        path.unlink()


def test_days_added_at_once_are_all_there_while_others_read(days, tmp_path):
    """Each day also has a label and a dropped case in the facts, which the next writer must not lose."""
    folder, failed, done = tmp_path / "l", [], threading.Event()
    days[0].to_parquet(folder, partition=["day"])

    def work(action):
        try:
            action()
        except Exception as error:  # noqa: BLE001  (shown by the assertion)
            failed.append(error)

    def read():
        while not done.is_set():
            ledger = pr.Ledger.from_parquet(folder)
            assert ledger.n == (CASES - 1) * len(ledger.keys["day"]) == (CASES - 1) * ledger.dropped

    writers = [
        threading.Thread(target=work, args=(lambda one=one: one.to_parquet(folder, partition=["day"]),))
        for one in days[1:]
    ]
    reader = threading.Thread(target=work, args=(read,))
    for one in (reader, *writers):
        one.start()
    for one in writers:
        one.join()
    done.set()
    reader.join()
    assert not failed
    whole = pr.Ledger.from_parquet(folder)
    assert (whole.n, whole.dropped, len(whole.keys["day"])) == (DAYS * (CASES - 1), DAYS, DAYS)


def test_a_day_is_replaced_while_others_read(days, tmp_path):
    """A reader of the earlier manifest may miss a file, and reads the later one."""
    folder, seen, done = tmp_path / "l", set(), threading.Event()
    for one in days[:2]:
        one.to_parquet(folder, partition=["day"])

    def read():
        while not done.is_set():
            seen.add(pr.Ledger.from_parquet(folder).n)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for one in readers:
        one.start()
    for size in (CASES - 1, CASES) * 10:
        day_of(1, cases=size).to_parquet(folder, partition=["day"], replace=True)
    done.set()
    for one in readers:
        one.join()
    assert seen == {2 * CASES - 3, 2 * CASES - 2}
    assert len(contents(folder)) == 5


def test_the_same_day_is_added_once(days, tmp_path, refusals_at_once):
    folder = tmp_path / "l"
    days[0].to_parquet(folder, partition=["day"])
    written = []
    refused = refusals_at_once([lambda: written.append(days[1].to_parquet(folder, partition=["day"]))] * 4)
    assert not refused
    assert sorted(one.added for one in written) == [(), (), (), ("day=2026-01-02",)]
    assert pr.Ledger.from_parquet(folder).dropped == 2


def test_of_two_versions_of_a_day_one_is_added(days, tmp_path, refusals_at_once):
    folder = tmp_path / "l"
    days[0].to_parquet(folder, partition=["day"])
    before = len(contents(folder))
    refused = refusals_at_once(
        [partial(one.to_parquet, folder, partition=["day"]) for one in (days[1], day_of(1, cases=CASES - 1))]
    )
    assert len(refused) == 1
    assert "holds other cases of day=2026-01-02" in refused[0]
    assert len(contents(folder)) == before + 2
    assert pr.Ledger.from_parquet(folder).n in (2 * (CASES - 1), 2 * CASES - 3)


def test_a_folder_without_locks_is_not_written_over(days, tmp_path, monkeypatch):
    """A writer that finds another manifest than it has read adds to that one."""
    folder, commit = tmp_path / "l", Folder.commit
    days[0].to_parquet(folder, partition=["day"])

    def no_locks(*_):
        raise OSError(37, "No locks available")

    def overtaken(place, name, data, seen):
        monkeypatch.setattr(Folder, "commit", commit)
        days[2].to_parquet(folder, partition=["day"])
        commit(place, name, data, seen)

    monkeypatch.setattr("fcntl.flock", no_locks)
    monkeypatch.setattr(Folder, "commit", overtaken)
    assert days[1].to_parquet(folder, partition=["day"]).added == ("day=2026-01-02",)
    assert pr.Ledger.from_parquet(folder).n == 3 * (CASES - 1)
    assert len(contents(folder)) == 7


@pytest.mark.product("monitoring")
def test_a_monitor_has_one_writer_at_a_time(days, tmp_path, refusals_at_once):
    """Both continue the same day with other cases: one is stored, and the other is told."""
    pr.monitor(days[0]).to_parquet(tmp_path)
    other = pr.condense([0, 1] * 50, {"p": [0.4] * 100, "q": [0.5] * 100}, by={"day": ["2026-01-02"] * 100})
    watches = [pr.monitor(days[0] + days[1]), pr.monitor(days[0] + other)]
    told = refusals_at_once([partial(watch.to_parquet, tmp_path) for watch in watches])
    assert len(told) == 1
    assert "holds a monitor of other cases" in told[0]
    assert pr.results.Monitored.from_parquet(tmp_path).days().n.sum() > 0


WRITER = """
    import sys
    import numpy as np
    import propriety as pr

    folder, first = sys.argv[1], int(sys.argv[2])
    for day in range(first, 10_000, 2):
        rng = np.random.default_rng(day)
        p = rng.random(50)
        by = {"day": [day] * 50}
        pr.condense(rng.random(50) < p, {"p": p}, by=by, rules=[pr.Brier()]).to_parquet(folder, partition=["day"])
        print(day, flush=True)
"""


@pytest.mark.slow
def test_two_processes_of_which_one_is_killed(tmp_path):
    """What a killed writer has committed is there; its lock ends with it, and the other goes on."""
    script = tmp_path / "writer.py"
    script.write_text(textwrap.dedent(WRITER))
    folder = tmp_path / "l"
    pr.condense([0, 1], {"p": [0.2, 0.7]}, by={"day": [-1, -1]}, rules=[pr.Brier()]).to_parquet(
        folder, partition=["day"]
    )
    writers = [
        subprocess.Popen([sys.executable, script, folder, str(first)], stdout=subprocess.PIPE, text=True)  # noqa: S603  (made here)
        for first in (0, 1)
    ]
    try:
        for one in writers:
            for _ in range(3):
                one.stdout.readline()
        os.kill(writers[0].pid, signal.SIGKILL)
        writers[0].wait()
        for _ in range(3):
            last = int(writers[1].stdout.readline())
    finally:
        for one in writers:
            one.kill()
            one.wait()
            one.stdout.close()
    stored = pr.Ledger.from_parquet(folder)
    assert {0, 1, last} <= set(stored.keys["day"])
    assert stored.n == 2 + 50 * (len(stored.keys["day"]) - 1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can mount a small file system")
def test_a_real_full_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk]
    if subprocess.run(mount, check=False, capture_output=True).returncode:  # noqa: S603  (made here)
        pytest.skip("mounting is not allowed here")
    try:
        before, added = {}, 0
        while (told := _refusal(day_of(added), disk / "l")) is None:
            before, added = contents(disk), added + 1
        assert "No space left" in str(told)
        assert added > 1
        assert contents(disk) == before
        assert pr.Ledger.from_parquet(disk / "l").n == added * (CASES - 1)
    finally:
        subprocess.run(["umount", disk], check=True)  # noqa: S603, S607  (made here)


def _refusal(ledger, folder):
    """Return the error of the disk, if it is full."""
    try:
        ledger.to_parquet(folder, partition=["day"])
    except OSError as error:
        return error
    return None
