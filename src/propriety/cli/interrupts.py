"""Ctrl-C and other signals, after which a command removes what is not complete and ends with the code of the signal."""

from __future__ import annotations

import signal

# SIGHUP, for a closed terminal, does not exist on Windows.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

_heard: list[int] = []  # The numbers of the signals; the first one counts.


def hear_signals() -> None:
    """Let the signals raise KeyboardInterrupt in this process, and remember them.

    By default, SIGTERM would end the process without removing incomplete files. A signal that is already ignored, as by
    `nohup`, stays ignored.
    """

    def interrupt(number: int, _: object) -> None:
        _heard.append(number)
        raise KeyboardInterrupt

    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)


def was_interrupted() -> bool:
    """Return whether there was a signal."""
    return bool(_heard)


def exit_code() -> int:
    """Return the exit code of a program that was stopped by a signal: 128 plus the number of the signal."""
    return 128 + (_heard[0] if _heard else signal.SIGINT)


def check_interrupt() -> None:
    """Raise KeyboardInterrupt if there was a signal; a library may have caught the one that was raised."""
    if _heard:
        raise KeyboardInterrupt
