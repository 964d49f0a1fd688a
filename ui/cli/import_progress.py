"""How far an import is: a bar with the file in hand on a terminal, nothing anywhere else."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from ui.views.visible import visible_line


class Progresses(Protocol):
    """Is told how far the import is."""

    def begin(self, path: str) -> None:
        """The next file, or what else comes next."""
        ...

    def advance(self) -> None:
        """One more trace."""
        ...


@contextmanager
def import_progress(files: int) -> Iterator[Progresses]:
    """Shows how far an import of this many files is, on stderr where that is a terminal."""
    if not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console  # noqa: PLC0415  # Rich takes 50 ms, and only a terminal needs it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415  # the same

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[traces]} traces"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=files, traces=0)

        class ProgressBarReport:
            traces = 0
            done = -1

            def begin(self, path: str) -> None:
                self.done += 1
                bar.update(task, description=visible_line(path)[-40:], completed=self.done)

            def advance(self) -> None:
                self.traces += 1
                bar.update(task, traces=self.traces)

        yield ProgressBarReport()


class _Silent:
    def begin(self, path: str) -> None:
        """Nothing to show."""

    def advance(self) -> None:
        """Nothing to show."""
