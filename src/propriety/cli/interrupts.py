"""Ctrl-C: heard at once while a query runs, kept out of libraries that it would break, and heard to the end."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = ["check_interrupt", "exit_code", "hear_signals", "held", "stopped_by_interrupt", "was_interrupted"]

# A closed terminal, which Windows does not tell, is one of them.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
AGAIN = 0.1  # Seconds after which the next query is stopped, too.

_heard = threading.Event()
_first: list[int] = []  # The number of the signal that was heard first.
_holding = threading.Event()


def hear_signals() -> None:
    """Let the signals raise KeyboardInterrupt in this process, and remember them.

    Left to itself, SIGTERM would end the process without removing what it was writing. A signal that whoever started
    the process wants ignored, as `nohup` does, stays ignored.
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
    """Whether there was a signal."""
    return _heard.is_set()


def exit_code() -> int:
    """Return what shells expect of a program that a signal has stopped: 128 and the number of the signal."""
    return 128 + (_first[0] if _first else signal.SIGINT)


def check_interrupt() -> None:
    """Raise KeyboardInterrupt if there was a signal; a library that was just being imported may have swallowed it."""
    if _heard.is_set():
        raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[None]:
    """Raise a first signal only at the end, because one that is raised while an extension loads may take all down.

    Queries are stopped meanwhile; see `stopped_by_interrupt`.
    """
    _holding.set()
    try:
        yield
    finally:
        _holding.clear()
    check_interrupt()


@contextmanager
def stopped_by_interrupt(stop: Callable[[], object]) -> Iterator[threading.Event]:
    """Call `stop` as soon as a signal arrives, and again for whatever begins after it; set the event handed out.

    Python notes signals by a byte to a socket at once, though its own handlers wait until the main thread is out of
    the query.
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
