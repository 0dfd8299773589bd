"""Ctrl-C and other signals: they stop a running query at once, but not a library while it is being loaded."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

# SIGHUP, for a closed terminal, does not exist on Windows.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
AGAIN = 0.1  # Seconds after which the next query is also stopped.

_heard = threading.Event()
_first: list[int] = []  # The numbers of the signals; the first one counts.
_holding = threading.Event()


def hear_signals() -> None:
    """Let the signals raise KeyboardInterrupt in this process, and remember them.

    By default, SIGTERM would end the process without removing incomplete files. A signal that is already ignored, as by
    `nohup`, stays ignored.
    """

    def interrupt(number: int, _: object) -> None:
        again = _heard.is_set()
        _first.append(number)
        _heard.set()
        if again or not _holding.is_set():
            raise KeyboardInterrupt

    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)


def was_interrupted() -> bool:
    """Return whether there was a signal."""
    return _heard.is_set()


def exit_code() -> int:
    """Return the exit code of a program that was stopped by a signal: 128 plus the number of the signal."""
    return 128 + (_first[0] if _first else signal.SIGINT)


def check_interrupt() -> None:
    """Raise KeyboardInterrupt if there was a signal; a library that was being imported may have caught it."""
    if _heard.is_set():
        raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[None]:
    """Raise a first signal only at the end, because raising it while an extension is loaded may crash the process.

    Queries are stopped nevertheless; see `stopped_by_interrupt`.
    """
    _holding.set()
    try:
        yield
    finally:
        _holding.clear()
    check_interrupt()


@contextmanager
def stopped_by_interrupt(stop: Callable[[], object]) -> Iterator[threading.Event]:
    """Call `stop` as soon as a signal arrives, and again for later queries; the yielded event is then set.

    Python writes a byte to a socket as soon as a signal arrives; its handlers wait until the main thread has left the
    query.
    """
    heard = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    reader, writer = socket.socketpair()
    writer.settimeout(0.0)  # A signal must never wait.
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    over = threading.Event()

    def listen() -> None:
        while (byte := reader.recv(1)) and byte[0] not in SIGNALS:
            pass
        if not byte:
            return
        heard.set()
        while not over.is_set():
            with suppress(Exception):  # There may be nothing to stop.
                stop()
            over.wait(AGAIN)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield heard
    finally:
        signal.set_wakeup_fd(before)
        over.set()
        writer.close()
        listener.join()
        reader.close()
