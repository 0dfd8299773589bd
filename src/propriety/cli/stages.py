"""What is being done, and how far it is, on a line beside the output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from propriety.cli.files import Opened
from propriety.cli.interrupts import check_interrupt
from propriety.cli.messages import beside

__all__ = ["Stages"]

Scanned: TypeAlias = tuple[float, int | None]


class Stages:
    """A line that names the stage of the work, with a bar of the rows that the running query has scanned.

    It is shown only at a terminal, and leaves nothing behind.
    """

    def __init__(self) -> None:
        self._opened: Opened | None = None

    def watch(self, opened: Opened) -> None:
        """Show from now on how far queries of these files are."""
        self._opened = opened

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show a stage while it lasts."""
        console = beside()
        if console.is_terminal:
            with Progress(*self._columns(), console=console, transient=True) as bar:
                bar.add_task(name, total=None)
                yield
        else:  # Older versions of rich end a line that is not shown with an empty one.
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
    """The rows that the running query has scanned; whenever the line is drawn, it asks how far the query is.

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
        """Write the rows, or the share where the files do not tell their number."""
        found = self._scanned()
        if found is None:
            task.total = None
            return Text("")
        share, rows = found
        task.total, task.completed = 1.0, share
        return Text(f"{share:.0%} scanned" if rows is None else f"{int(share * rows):,} of {rows:,} rows")
