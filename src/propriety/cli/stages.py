"""A progress line on the standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from propriety.cli.files import Opened
from propriety.cli.interrupts import check_interrupt
from propriety.cli.messages import beside

Scanned: TypeAlias = tuple[float, int | None]


class Stages:
    """A line with the name of the current stage and a bar of the rows that the running query has scanned.

    It is shown only on a terminal, and removed at the end.
    """

    def __init__(self) -> None:
        self._opened: Opened | None = None

    def watch(self, opened: Opened) -> None:
        """Show the progress of queries of these files from now on."""
        self._opened = opened

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show a stage while it is running."""
        console = beside()
        if console.is_terminal:
            with Progress(*self._columns(), console=console, transient=True) as bar:
                bar.add_task(name, total=None)
                yield
        else:  # Older versions of rich would print an empty line.
            yield
        check_interrupt()

    def _columns(self) -> tuple[ProgressColumn, ...]:
        return (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            RowsColumn(self._scanned),
            TimeElapsedColumn(),
        )

    def _scanned(self) -> Scanned | None:
        if self._opened is None:
            return None
        share = self._opened.scanned()
        return None if share is None else (share, self._opened.rows)


class RowsColumn(ProgressColumn):
    """The rows that the running query has scanned, updated whenever the line is drawn.

    Examples
    --------
    >>> task = Task(0, "reading", total=None, completed=0, _get_time=lambda: 0.0)
    >>> RowsColumn(lambda: (0.25, 8_000_000)).render(task).plain, task.total, task.completed
    ('2,000,000 of 8,000,000 rows', 1.0, 0.25)
    """

    def __init__(self, scanned: Callable[[], Scanned | None]) -> None:
        super().__init__()
        self._scanned = scanned

    def render(self, task: Task) -> Text:
        """Return the number of rows, or the share if the total is not known."""
        found = self._scanned()
        if found is None:
            task.total = None
            return Text("")
        share, rows = found
        task.total, task.completed = 1.0, share
        return Text(f"{share:.0%} scanned" if rows is None else f"{int(share * rows):,} of {rows:,} rows")
