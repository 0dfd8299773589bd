"""Writes that are killed after each of their file operations, and then run again."""

import json
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputValueError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it kills forked processes")
DAYS, CASES = 5, 30

# For each place, a forked process writes and is killed there; the script prints the operations of each.
KILLER = """
    import os
    import shutil
    import signal
    import sys

    import propriety as pr

    source, before, targets, replace = *sys.argv[1:4], sys.argv[4] == "replace"
    CHANGES = ("open", "write", "fsync", "close", "mkdir", "rmdir", "unlink", "replace", "chmod")
    done, inside, last = [], False, -1

    def kill():
        print(*done, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    def counted(name, call):
        def operation(*arguments, **options):
            global inside
            if name == "write":  # Half of the data are written first, which is a place of its own.
                handle, data = arguments
                call(handle, data[: len(data) // 2])
                done.append("half")
                if len(done) == last:
                    kill()
                os.lseek(handle, 0, os.SEEK_SET)
            inside = True
            result = call(*arguments, **options)
            inside = False
            done.append(name)
            if len(done) == last:
                kill()
            return result
        return operation

    def watch(event, arguments):
        '''Let no change of a file pass uncounted.'''
        changes = event in ("os.mkdir", "os.rmdir", "os.remove", "os.rename", "os.chmod", "os.truncate", "os.link")
        changes |= event == "open" and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if changes and not inside:
            os.write(2, f"{event} {arguments} was not counted".encode())
            os._exit(3)

    ledger = pr.Ledger.from_parquet(source)
    for last in range(1, 1000):
        child = os.fork()
        if not child:
            if os.path.exists(before):
                shutil.copytree(before, os.path.join(targets, str(last)))
            for name in CHANGES:
                setattr(os, name, counted(name, getattr(os, name)))
            sys.addaudithook(watch)
            ledger.to_parquet(os.path.join(targets, str(last)), partition=["day"], replace=replace)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            sys.exit(os.WEXITSTATUS(status))
"""


def cases(days, seed=0):
    """Return the ledger of some days, of each of which a case was dropped."""
    parts = []
    for day in days:
        rng = np.random.default_rng(100 * seed + day)
        p = rng.random(CASES)
        y = [None, *(rng.random(CASES) < p)[1:].astype(int).tolist()]
        parts.append(pr.condense(y, {"p": p, "q": p**2}, by={"day": [day] * CASES}, rules=[pr.Brier()], missing="drop"))
    return sum(parts)


def files(folder):
    """Return the files of a folder, and the folders without files."""
    found = [path for path in folder.rglob("*") if path.is_file() or not any(path.iterdir())]
    return {path.relative_to(folder).as_posix() for path in found}


def named(folder):
    """Return the files that the manifest names, and the manifest."""
    entries = json.loads((folder / "ledger.json").read_text())["partitions"]
    parts = {f"{name}/part-{entry['file']}.parquet" for name, entry in entries.items()}
    return {"ledger.json", *(f"{kind}/{part}" for kind in ("tables", "moments") for part in parts)}


def read(folder):
    """Return the ledger of a folder, or None if there is none."""
    if not (folder / "ledger.json").exists():
        with pytest.raises(InputValueError, match="must be a folder that holds a ledger"):
            pr.Ledger.from_parquet(folder)
        return None
    return pr.Ledger.from_parquet(folder)


def states(before, written, *, replaced=()):
    """Return the ledgers before and after a write."""
    kept = [day for day in before if day not in replaced]
    return cases(before) if before else None, cases(kept) + written if kept else written


@pytest.mark.parametrize(
    ("before", "days", "seed"),
    [
        pytest.param([], [0, 1, 2], 0, id="new"),
        pytest.param([0, 1], [2, 3], 0, id="added"),
        pytest.param([0, 1, 2], [1, 3], 1, id="replaced"),
    ],
)
def test_a_killed_write_leaves_what_was_there_or_is_finished(before, days, seed, tmp_path, same):
    new, source, targets = cases(days, seed), tmp_path / "source", tmp_path / "targets"
    old, after = states(before, new, replaced=days)
    new.to_parquet(source, partition=["day"])
    targets.mkdir()
    for day in before:
        cases([day]).to_parquet(tmp_path / "old", partition=["day"])
    script = tmp_path / "killer.py"
    script.write_text(textwrap.dedent(KILLER))
    options = [source, tmp_path / "old", targets, "replace" if seed else "add"]
    run = subprocess.run([sys.executable, script, *options], capture_output=True, text=True, check=True)  # noqa: S603  (made here)
    operations = [line.split() for line in run.stdout.splitlines()]
    assert len(operations) >= 30
    assert {"half", "write", "fsync", "replace", *(["unlink"] if seed else [])} <= set(operations[-1])
    outcomes, another = [], cases([9])
    for place, done in enumerate(operations, start=1):
        folder = targets / str(place)
        found = read(folder)
        is_after = "replace" in done
        outcomes.append(is_after)
        assert (found is None) == (old is None and not is_after)
        if found is not None:
            same(found, after if is_after else old)
        if place % 2 or old is None:
            written = new.to_parquet(folder, partition=["day"], replace=bool(seed))
            assert bool(written.added) != is_after
            same(pr.Ledger.from_parquet(folder), after)
        else:  # Another write also leaves nothing of the one that was killed.
            another.to_parquet(folder, partition=["day"])
            same(pr.Ledger.from_parquet(folder), (after if is_after else old) + another)
        assert files(folder) == named(folder)
    assert set(outcomes) == {True, False} if seed else set(outcomes) <= {True, False}
