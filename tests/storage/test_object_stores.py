"""Ledgers in object stores: written whole by one conditional write, also by two writers and by killed ones."""

import json
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import propriety as pr
from propriety.errors import InputTypeError, InputValueError

obstore = pytest.importorskip("obstore", reason="object stores need obstore")
BUCKET, CASES = "bucket", 30


@pytest.fixture(scope="module")
def server():
    """Return the options of a real server of S3's protocol."""
    moto = pytest.importorskip("moto.server", reason="the server of moto is not installed")
    boto3 = pytest.importorskip("boto3")
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    endpoint = "http://{}:{}".format(*running.get_host_and_port())
    keys = {"aws_access_key_id": "me", "aws_secret_access_key": "secret"}
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys).create_bucket(Bucket=BUCKET)
    yield {"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-east-1", **{name.upper(): key for name, key in keys.items()}}
    running.stop()


@pytest.fixture(params=["memory", "s3"])
def store(request, tmp_path):
    """Return an empty store: in memory, or of the server."""
    if request.param == "memory":
        return obstore.store.MemoryStore()
    return opened(f"s3://{BUCKET}/{tmp_path.name}", request.getfixturevalue("server"))


def opened(address, options):
    """Return the store at an address of the server."""
    return obstore.store.from_url(address, config=options, client_options={"allow_http": True})


def cases(day, seed=0):
    """Return the ledger of a day, of which a case was dropped."""
    rng = np.random.default_rng(100 * seed + day)
    p = rng.random(CASES)
    y = [None, *(rng.random(CASES) < p)[1:].astype(int).tolist()]
    return pr.condense(y, {"p": p, "q": p**2}, by={"day": [day] * CASES}, rules=[pr.Brier()], missing="drop")


def objects(store):
    """Return the names of all objects, with their tags and times."""
    return {found["path"]: (found["e_tag"], found["last_modified"]) for several in store.list() for found in several}


def named(store):
    """Return the objects that the manifest names, and the manifest."""
    entries = json.loads(bytes(store.get("ledger.json").bytes()))["partitions"]
    parts = {f"{name}/part-{entry['file']}.parquet" for name, entry in entries.items()}
    return {"ledger.json", *(f"{kind}/{part}" for kind in ("tables", "moments") for part in parts)}


def equal(one, other):
    """Whether ledgers have the same tables, moments and dropped rows."""
    frames = (ledger.to_frame(backend="polars") for ledger in (one, other))
    spreads = (ledger.moments(pr.Brier()).spread.tolist() for ledger in (one, other))
    return next(frames).equals(next(frames)) and next(spreads) == next(spreads) and one.dropped == other.dropped


def test_days_are_added_repeated_and_replaced(store):
    days = [cases(day) for day in range(3)]
    for day in days:
        assert day.to_parquet(store, partition=["day"]).added
    assert equal(pr.Ledger.from_parquet(store), sum(days))
    before = objects(store)
    assert sum(days).to_parquet(store, partition=["day"]).held == ("day=0", "day=1", "day=2")
    assert objects(store) == before
    with pytest.raises(InputValueError, match="holds other cases of day=1"):
        cases(1, seed=1).to_parquet(store, partition=["day"])
    assert cases(1, seed=1).to_parquet(store, partition=["day"], replace=True).added == ("day=1",)
    assert equal(pr.Ledger.from_parquet(store), days[0] + cases(1, seed=1) + days[2])
    assert objects(store).keys() == named(store)


@pytest.mark.parametrize("label", ["a=1", "b/c", "..", "", "한", "x%y z", "*?~#\\", "2026-01-01 00:00:00+00:00"])
def test_labels_name_objects(label, store):
    ledger = pr.condense([0, 1], {"p": [0.1, 0.7]}, by={"key": [label, "other"]}, rules=[pr.Brier()])
    ledger.to_parquet(store, partition=["key"])
    assert equal(pr.Ledger.from_parquet(store), ledger)
    assert not ledger.to_parquet(store, partition=["key"]).added


def test_an_address_is_read_with_the_options_of_the_environment(server, monkeypatch, tmp_path):
    for name, value in {**server, "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(name, value)
    address = f"s3://{BUCKET}/{tmp_path.name}/ledger"
    with pytest.raises(InputValueError, match=f"^{address} must be a folder that holds a ledger"):
        pr.Ledger.from_parquet(address)
    assert repr(cases(1).to_parquet(address)) == f"Written: {address}."
    assert equal(pr.Ledger.from_parquet(address), cases(1))


@pytest.mark.parametrize("wrong", [3, None, ["ledger"], object()], ids=["number", "none", "list", "object"])
def test_what_is_no_place_is_refused(wrong):
    with pytest.raises(InputTypeError, match="folder must be a path, the address of an object store, or a store"):
        cases(1).to_parquet(wrong)


def test_a_store_without_conditional_writes_is_refused(tmp_path):
    store = obstore.store.LocalStore(tmp_path)
    cases(1).to_parquet(store, partition=["day"])
    with pytest.raises(InputValueError, match=r"cannot replace an object on the condition .* pass its path"):
        cases(2).to_parquet(store, partition=["day"])
    assert equal(pr.Ledger.from_parquet(tmp_path), cases(1))
    assert objects(store).keys() == named(store)


class Meeting:
    """A store whose writers all look at the manifest before the first of them replaces it."""

    def __init__(self, store, writers):
        self.store, self.barrier, self.turn = store, threading.Barrier(writers), threading.Lock()
        self.met = threading.local()
        self.get, self.list, self.delete = store.get, store.list, store.delete

    def put(self, path, file, *, mode):
        if path != "ledger.json":
            return self.store.put(path, file, mode=mode)
        if not getattr(self.met, "done", False):
            self.met.done = True
            self.barrier.wait()
        with self.turn:
            return self.store.put(path, file, mode=mode)


def at_once(store, ledgers, **options):
    """Write ledgers at the same time, and return what was written and the messages of those refused."""
    meeting, written, refused = Meeting(store, len(ledgers)), [], []

    def write(ledger):
        try:
            written.append(ledger.to_parquet(meeting, partition=["day"], **options))
        except InputValueError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=write, args=(ledger,)) for ledger in ledgers]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return written, refused


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "added"])
def test_of_two_writers_of_a_day_one_wins_and_the_other_is_told(store, is_new):
    first = cases(0)
    if not is_new:
        first.to_parquet(store, partition=["day"])
    rivals = [cases(1), cases(1, seed=1)]
    written, refused = at_once(store, rivals)
    assert [one.added for one in written] == [("day=1",)]
    assert len(refused) == 1
    assert "holds other cases of day=1, which another process has written in the meantime" in refused[0]
    found = pr.Ledger.from_parquet(store).where(day=1)
    assert sum(found.table("p").forecast.tolist() == one.table("p").forecast.tolist() for one in rivals) == 1
    assert objects(store).keys() == named(store)


def test_of_two_writers_that_replace_a_day_one_wins_and_the_other_is_told(store):
    cases(1).to_parquet(store, partition=["day"])
    written, refused = at_once(store, [cases(1, seed=1), cases(1, seed=2)], replace=True)
    assert (len(written), len(refused)) == (1, 1)
    assert "which another process has written in the meantime" in refused[0]
    assert objects(store).keys() == named(store)


def test_writers_of_different_days_and_of_the_same_cases_all_succeed(store):
    written, refused = at_once(store, [cases(1), cases(2), cases(3), cases(3)])
    assert not refused
    assert sorted(one.added for one in written) == [(), ("day=1",), ("day=2",), ("day=3",)]
    assert equal(pr.Ledger.from_parquet(store), cases(1) + cases(2) + cases(3))
    assert objects(store).keys() == named(store)


class Overtaken:
    """A store in which another write takes place just before the manifest is replaced for the first time."""

    def __init__(self, store, meanwhile):
        self.store, self.meanwhile = store, meanwhile
        self.get, self.list, self.delete = store.get, store.list, store.delete

    def put(self, path, file, *, mode):
        meanwhile, self.meanwhile = self.meanwhile, None if path == "ledger.json" else self.meanwhile
        if path == "ledger.json" and meanwhile is not None:
            meanwhile()
        return self.store.put(path, file, mode=mode)


def test_a_writer_keeps_its_files_of_a_partition_that_another_one_does_not_change(store):
    """The other write finds a day as it was, and must not remove the files that are about to replace it."""
    cases(1).to_parquet(store, partition=["day"])

    def meanwhile():
        assert (cases(1) + cases(2)).to_parquet(store, partition=["day"]).added == ("day=2",)

    cases(1, seed=1).to_parquet(Overtaken(store, meanwhile), partition=["day"], replace=True)
    assert equal(pr.Ledger.from_parquet(store), cases(1, seed=1) + cases(2))
    assert objects(store).keys() == named(store)


KILLER = """
    import json
    import os
    import signal
    import sys

    from obstore.store import from_url
    import propriety as pr

    source, address, config, before = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4:]

    done = []

    class Counted:
        '''A store whose process is killed after some of its requests.'''

        def __init__(self, store, last):
            self.get, self.put, self.list, self.delete = (
                self.counted(name, getattr(store, name), last) for name in ("get", "put", "list", "delete")
            )

        def counted(self, name, call, last):
            def request(path, *arguments, **options):
                try:
                    result = call(path, *arguments, **options)
                    return list(result) if name == "list" else result
                finally:
                    done.append(f"{name} manifest" if path == "ledger.json" else name)
                    if len(done) == last:
                        print(json.dumps(done), flush=True)
                        os.kill(os.getpid(), signal.SIGKILL)

            return request

    ledger = pr.Ledger.from_parquet(source)
    for last in range(1, 100):
        child = os.fork()
        if not child:
            store = from_url(f"{address}/{last}", config=config, client_options={"allow_http": True})
            for day in before:
                pr.Ledger.from_parquet(day).to_parquet(store, partition=["day"])
            ledger.to_parquet(Counted(store, last), partition=["day"], replace=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            sys.exit(os.WEXITSTATUS(status))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it kills forked processes")
@pytest.mark.parametrize("before", [[], [0, 1]], ids=["new", "replaced"])
def test_a_killed_writer_leaves_what_was_there_or_is_finished(before, server, tmp_path):
    new, old = cases(1, seed=1) + cases(2), sum(map(cases, before)) if before else None
    after = cases(0) + new if before else new
    new.to_parquet(tmp_path / "source")
    for day in before:
        cases(day).to_parquet(tmp_path / f"before{day}")
    script, address = tmp_path / "killer.py", f"s3://{BUCKET}/{tmp_path.name}"
    script.write_text(textwrap.dedent(KILLER))
    options = [tmp_path / "source", address, json.dumps(server), *(tmp_path / f"before{day}" for day in before)]
    run = subprocess.run([sys.executable, script, *options], capture_output=True, text=True, check=True)  # noqa: S603  (made here)
    requests = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(requests) >= 8
    for place, done in enumerate(requests, start=1):
        store = opened(f"{address}/{place}", server)
        is_after = "put manifest" in done
        if is_after or before:
            assert equal(pr.Ledger.from_parquet(store), after if is_after else old)
        else:
            with pytest.raises(InputValueError, match="must be a folder that holds a ledger"):
                pr.Ledger.from_parquet(store)
        assert bool(new.to_parquet(store, partition=["day"], replace=True).added) != is_after
        assert equal(pr.Ledger.from_parquet(store), after)
        assert objects(store).keys() == named(store)
