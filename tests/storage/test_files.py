"""Single files are replaced whole, with their permissions, through links, and never left half-written."""

import os
import stat
import threading
from pathlib import Path

import pytest

from propriety.storage.files import locked, replacing, write_whole


@pytest.mark.parametrize("mode", [0o640, 0o600, 0o444])
def test_a_file_is_replaced_whole_and_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "file.txt"
    write_whole(path, b"old")
    path.chmod(mode)
    with replacing(path) as beside:
        assert stat.S_IMODE(beside.stat().st_mode) == mode | stat.S_IWUSR
        beside.write_bytes(b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_names_the_target(tmp_path):
    path = tmp_path / "file.txt"
    path.write_bytes(b"old")

    def fill(error):
        with replacing(path) as beside:
            beside.write_bytes(b"half")
            raise error

    with pytest.raises(OSError, match=r"No space left.*file\.txt"):
        fill(OSError(28, "No space left on device", "/somewhere/.hidden"))
    with pytest.raises(KeyboardInterrupt):
        fill(KeyboardInterrupt())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_beside_that_was_left_is_taken_over(tmp_path):
    (tmp_path / ".file.part").write_bytes(b"longer, and left by a killed process")
    with replacing(tmp_path / "file", beside=".file.part") as beside:
        assert beside.read_bytes() == b""
        beside.write_bytes(b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_link_and_a_device_stay_what_they_are(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"
    write_whole(os.devnull, b"gone")
    assert not Path(os.devnull).is_file()


def test_a_lock_is_of_the_folder_that_is_there_now(tmp_path):
    """A writer that waits for a folder which its holder removes does not hold the lock of the new one."""
    pytest.importorskip("fcntl", reason="there are no locks of folders on this system")
    folder, order = tmp_path / "folder", []
    folder.mkdir()

    def wait():
        with locked(folder) as is_alone:
            order.append(("second", is_alone))

    with locked(folder) as is_alone:
        order.append(("first", is_alone))
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        folder.rmdir()
    waiting.join()
    assert order == [("first", True), ("second", False)]  # There is no folder any more.
