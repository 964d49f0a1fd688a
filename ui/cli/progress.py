"""How far a long command is: a bar on a terminal, nothing anywhere else."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(said: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Shows a bar on stderr where that is a terminal, and takes it away at the end.

    Gives what to call with the number of things done since the last call; `total` is how many there are, where known.
    """
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console  # noqa: PLC0415  # Rich takes 50 ms, and only a terminal needs it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415  # the same

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(said, total=total)
        yield lambda done: bar.advance(task, done)
